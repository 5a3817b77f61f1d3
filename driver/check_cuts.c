/* Where a network can be cut at a layer that does not compile: the tensors in front of it for --to,
 * those behind it for --from. A cut is named only if nothing else that does not compile is on the
 * side that stays.
 * Tests: lit/driver/ming-check.test, lit/driver/partition.test, test/e2e/partition_check.py */
#include <stdlib.h>

#include "driver/internal.h"
#include "import/import.h"

/* A search from tensors back to what they need. */
typedef struct Reach {
    const Check *check;
    bool takes_unknown; /* layers that were not checked do not stand in the way */
    bool *is_start;     /* tensors at which it ends */
    bool *is_met;       /* those of them that are needed */
    bool *is_reached;   /* layers */
    bool is_blocked, has_work;
    uint32_t *stack; /* tensors */
    size_t depth;
} Reach;

static void reach_init(Reach *r, const Check *check)
{
    const ImportReport *report = check->report;
    size_t edges = report->tensor_count + 1;
    for (size_t i = 0; i < check->count; i++) edges += report->nodes[i].input_count;
    *r = (Reach){.check = check};
    r->is_start = xcalloc(report->tensor_count + 1, sizeof *r->is_start);
    r->is_met = xcalloc(report->tensor_count + 1, sizeof *r->is_met);
    r->is_reached = xcalloc(check->count + 1, sizeof *r->is_reached);
    r->stack = xcalloc(edges, sizeof *r->stack);
}

static void reach_free(Reach *r)
{
    free(r->is_start);
    free(r->is_met);
    free(r->is_reached);
    free(r->stack);
}

/* Goes back from the tensors on the stack. */
static void reach(Reach *r)
{
    const ImportReport *report = r->check->report;
    while (r->depth > 0) {
        uint32_t tensor = r->stack[--r->depth], producer = report->tensors[tensor].producer;
        r->is_met[tensor] |= r->is_start[tensor];
        if (r->is_start[tensor] || producer == IMPORT_NO_NODE || r->is_reached[producer]) continue;
        const CheckLayer *layer = &r->check->layers[producer];
        bool is_unknown = layer->status == LAYER_NOT_CHECKED;
        r->is_reached[producer] = true;
        r->is_blocked |= layer->status == LAYER_UNSUPPORTED || layer->status == LAYER_LEFT_OUT ||
                         (is_unknown && !r->takes_unknown);
        r->has_work |= layer->status == LAYER_COMPILES || is_unknown;
        for (uint32_t i = 0; i < report->nodes[producer].input_count; i++)
            r->stack[r->depth++] = report->nodes[producer].inputs[i];
    }
}

static void add_name(Check *check, Texts *names, uint32_t tensor)
{
    *vec_push(names) = driver_keep_name(check, check->report->tensors[tensor].name);
}

/* Whether a node takes a tensor for the first time with that input. */
static bool is_first_use(const NodeReport *node, uint32_t input)
{
    for (uint32_t i = 0; i < input; i++)
        if (node->inputs[i] == node->inputs[input]) return false;
    return true;
}

/* " --to=a" */
static void add_end(Check *check, const NodeReport *node, StrBuf *out)
{
    Reach r;
    Texts names = {0};
    reach_init(&r, check);
    for (uint32_t i = 0; i < node->input_count; i++) {
        const TensorReport *tensor = &check->report->tensors[node->inputs[i]];
        if (!tensor->varies || tensor->producer == IMPORT_NO_NODE || !is_first_use(node, i))
            continue;
        add_name(check, &names, node->inputs[i]);
        r.stack[r.depth++] = node->inputs[i];
    }
    reach(&r);
    if (r.has_work && !r.is_blocked && driver_add_names(out, "to", names.data, names.len))
        strbuf_add_c(out, " ends before it");
    vec_free(&names);
    reach_free(&r);
}

/* The shape of a tensor for the command line; of one that is not known a word in its place. */
static void add_shape(Check *check, Texts *shapes, uint32_t tensor)
{
    const TensorReport *row = &check->report->tensors[tensor];
    const char *shape = driver_input_shape(check, row);
    StrBuf text = {0};
    if (!shape && row->type && type_is_tensor(row->type) && type_is_static(row->type)) return;
    strbuf_add_str(&text, row->name);
    strbuf_add_c(&text, ":SHAPE");
    *vec_push(shapes) = shape ? shape : driver_keep_name(check, strbuf_str(&text));
    strbuf_free(&text);
}

/* " --from=b --input-shape=b:1x3" for the tensors in `starts`, which all are used. */
static bool add_starts(Check *check, const uint32_t *starts, size_t count, StrBuf *out)
{
    Texts names = {0}, shapes = {0};
    for (size_t i = 0; i < count; i++) {
        add_name(check, &names, starts[i]);
        add_shape(check, &shapes, starts[i]);
    }
    bool ok = driver_add_names(out, "from", names.data, names.len) &&
              driver_add_names(out, "input-shape", shapes.data, shapes.len);
    vec_free(&names);
    vec_free(&shapes);
    return ok;
}

static void add_begin(Check *check, const NodeReport *node, StrBuf *out)
{
    Reach r;
    StrBuf text = {0};
    VEC(uint32_t) starts = {0};
    bool is_result = false;
    reach_init(&r, check);
    for (uint32_t i = 0; i < node->output_count; i++) {
        const TensorReport *tensor = &check->report->tensors[node->outputs[i]];
        r.is_start[node->outputs[i]] = true;
        r.takes_unknown |= !tensor->type || !type_is_static(tensor->type);
        is_result |= tensor->is_result;
    }
    for (uint32_t i = 0; i < check->report->tensor_count; i++)
        if (check->report->tensors[i].is_result) r.stack[r.depth++] = i;
    reach(&r);
    for (uint32_t i = 0; i < node->output_count; i++)
        if (r.is_met[node->outputs[i]]) *vec_push(&starts) = node->outputs[i];
    if (starts.len > 0 && r.has_work && !r.is_blocked && !is_result &&
        add_starts(check, starts.data, starts.len, &text))
        strbuf_printf(out, "%s%s begins behind it", out->len ? "," : "", text.data);
    strbuf_free(&text);
    vec_free(&starts);
    reach_free(&r);
}

/* What a layer uses that nothing is known of. */
static void add_unknown(Check *check, const NodeReport *node, StrBuf *out)
{
    const TensorReport *tensors = check->report->tensors;
    VEC(uint32_t) starts = {0};
    StrBuf text = {0};
    for (uint32_t i = 0; i < node->input_count; i++) {
        const TensorReport *tensor = &tensors[node->inputs[i]];
        bool is_known = tensor->type && type_is_static(tensor->type);
        if (tensor->varies && !is_known && is_first_use(node, i))
            *vec_push(&starts) = node->inputs[i];
    }
    if (starts.len > 0 && add_starts(check, starts.data, starts.len, &text))
        strbuf_add_str(out, strbuf_str(&text));
    strbuf_free(&text);
    vec_free(&starts);
}

void driver_check_cuts(Check *check)
{
    StrBuf text = {0};
    for (size_t i = 0; check->report && i < check->count; i++) {
        CheckLayer *layer = &check->layers[i];
        const NodeReport *node = &check->report->nodes[i];
        strbuf_clear(&text);
        if (layer->status == LAYER_UNSUPPORTED) {
            add_end(check, node, &text);
            add_begin(check, node, &text);
        } else if (layer->status == LAYER_NOT_CHECKED) {
            add_unknown(check, node, &text);
        }
        layer->cuts = (Str){arena_copy(&check->arena, strbuf_str(&text).data, text.len), text.len};
    }
    strbuf_free(&text);
}
