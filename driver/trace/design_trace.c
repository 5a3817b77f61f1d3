/* The tensors of the network that the streams and ports of a design carry (dfg.tensors), taken from
 * its simulation frame by frame. Of a tile each frame is taken from the instance that has it.
 * Tests: lit/tools/ming-sim-trace.mir, test/e2e/trace_check.py */
#include <stdlib.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "driver/trace/internal.h"
#include "ir/asm/print/print.h"

/* Where a tensor of the trace is taken from: a stream, or a port's array. */
typedef struct Carrier {
    bool is_port;
    uint32_t number; /* of the stream, or of the top function's argument */
    HlsPort order;   /* of the stream's elements */
    const Type *frame;
    int64_t instance;
    size_t first, count; /* of what is taken */
} Carrier;

/* A tensor of the trace as an instance's stream or port has it. */
typedef struct Taken {
    size_t tensor;
    Boundary boundary;
} Taken;

struct DesignTrace {
    Trace *trace;
    const HlsDesign *design;
    HlsValues *values;
    Arena arena;
    VEC(Carrier) carriers;
    VEC(Taken) taken;
    int64_t instances;
    PtrMap
        *known;  /* of each instance: name -> place in the network's list + 1, until it is taken */
    PtrMap made; /* name -> the trace's tensor + 1 */
};

static const Attr *names_of(const HlsDesign *design)
{
    const Op *module = block_parent_op(design->top->block);
    const Attr *names = module ? op_attr(module, DFG_ATTR_TENSORS) : NULL;
    return names && names->kind == ATTR_ARRAY ? names : NULL;
}

static const Ident *ident_of(const HlsDesign *design, const Attr *name)
{
    return ident_get(design->ctx, name->u.string);
}

/* The boundary that a tensor of the list has for frames in the order of the stream. */
static bool init_boundary(const DesignTrace *t, const Attr *tensor, const Type *frame,
                          Boundary *out)
{
    Context *ctx = t->design->ctx;
    const Type *type = dfg_tensor_stream_type(tensor, frame);
    const Attr *layout = attr_dict_get_c(tensor, DFG_TENSOR_LAYOUT),
               *quant = attr_dict_get_c(tensor, DFG_TENSOR_QUANT);
    if (!type) return op_error(t->design->top, "has a stream whose dfg.tensors do not fit it");
    NamedAttr items[2];
    uint32_t n = 0;
    if (layout) items[n++] = build_named_attr(ctx, DFG_ATTR_LAYOUT, layout);
    if (quant) items[n++] = build_named_attr(ctx, DFG_ATTR_QUANT, quant);
    return boundary_init(t->design->top, type, attr_dict(ctx, items, n), out);
}

/* The trace's tensor of that name, which the first instance that has it makes. */
static size_t tensor_of(DesignTrace *t, const Attr *tensor, uintptr_t place, Str where)
{
    const Ident *name = ident_of(t->design, attr_dict_get_c(tensor, DFG_TENSOR_NAME));
    uintptr_t made = (uintptr_t)ptrmap_get(&t->made, name);
    if (made > 0) return made - 1;
    *vec_push(&t->trace->tensors) = (Tensor){.name = name->str,
                                             .op = where,
                                             .number = place - 1,
                                             .shape = attr_dict_get_c(tensor, DFG_TENSOR_SHAPE)};
    ptrmap_put(&t->made, name, (void *)(uintptr_t)t->trace->tensors.len);
    return t->trace->tensors.len - 1;
}

static bool add_tensor(DesignTrace *t, const Attr *tensor, const Carrier *carrier, Str where)
{
    const Ident *name = ident_of(t->design, attr_dict_get_c(tensor, DFG_TENSOR_NAME));
    uintptr_t place = (uintptr_t)ptrmap_get(&t->known[carrier->instance], name);
    Taken taken;
    if (place == 0) return true; /* another stream of the instance has it */
    if (!init_boundary(t, tensor, carrier->frame, &taken.boundary)) return false;
    taken.tensor = tensor_of(t, tensor, place, where);
    *vec_push(&t->taken) = taken;
    ptrmap_remove(&t->known[carrier->instance], name);
    return true;
}

static bool add_carrier(DesignTrace *t, const Attr *list, Carrier carrier, Str where)
{
    carrier.first = t->taken.len;
    for (uint32_t i = 0; i < list->u.array.count; i++)
        if (!add_tensor(t, list->u.array.items[i], &carrier, where)) return false;
    carrier.count = t->taken.len - carrier.first;
    if (carrier.count == 0) return true;
    if (!carrier.is_port) hls_sim_values_keep_frame(t->values, carrier.number);
    *vec_push(&t->carriers) = carrier;
    return true;
}

/* The instance of the processes that are joined by a stream. */
static int64_t instance_of(const Op *stream)
{
    for (const Use *use = op_result(stream, 0)->uses; use; use = use->next) {
        if (use->owner->def != EMITHLS(CALL)) continue;
        const Op *process = symbol_lookup(use->owner, op_attr(use->owner, "callee"));
        const Attr *instance = op_attr(process, SYS_ATTR_INSTANCE);
        return instance ? attr_int_value(instance) : 0;
    }
    return 0;
}

static bool add_streams(DesignTrace *t)
{
    const HlsDesign *design = t->design;
    for (size_t i = design->port_count; i < design->streams.len; i++) {
        const HlsStream *stream = &design->streams.data[i];
        const Attr *list = stream->op ? op_attr(stream->op, DFG_ATTR_TENSORS) : NULL;
        Carrier carrier = {.number = (uint32_t)i};
        if (!list || stream->is_once) continue;
        carrier.frame = design_stream_frame(stream);
        carrier.instance = t->instances > 1 ? instance_of(stream->op) : 0;
        if (!design_stream_port_init(design, stream, &t->arena, &carrier.order) ||
            !add_carrier(t, list, carrier, stream->name))
            return false;
    }
    return true;
}

static bool add_ports(DesignTrace *t)
{
    const HlsDesign *design = t->design;
    const Attr *all = op_attr(design->top, DFG_ATTR_PORT_ATTRS),
               *names = op_attr(design->top, EMITHLS_ATTR_ARG_NAMES);
    for (uint32_t i = 0; all && i < all->u.array.count; i++) {
        const Attr *list = attr_dict_get_c(all->u.array.items[i], DFG_ATTR_TENSORS);
        Carrier carrier = {.is_port = true, .number = i, .frame = design_argument_frame(design, i)};
        int64_t first;
        if (!list || !carrier.frame || design_argument_direction(design, i) == HLS_NO_DATA)
            continue;
        if (t->instances == 1 ||
            !sys_port_instance(all->u.array.items[i], &carrier.instance, &first))
            carrier.instance = 0;
        if (!add_carrier(t, list, carrier, names->u.array.items[i]->u.string)) return false;
    }
    return true;
}

/* Tensors that no stream carries. Instances are alike, so what one has all have. */
static bool add_fused(DesignTrace *t, const Attr *names)
{
    for (uint32_t i = 0; i < names->u.array.count; i++) {
        const Ident *name = ident_of(t->design, names->u.array.items[i]);
        bool is_made = ptrmap_has(&t->made, name);
        for (int64_t n = 0; is_made && n < t->instances; n++)
            if (ptrmap_has(&t->known[n], name))
                return op_error(t->design->top,
                                "has no stream or port of instance %lld with tensor '%.*s'",
                                (long long)n + 1, STR_ARG(name->str));
        if (!is_made) *vec_push(&t->trace->fused) = name->str;
    }
    return true;
}

static void init_known(DesignTrace *t, const Attr *names)
{
    t->known = xcalloc((size_t)t->instances, sizeof *t->known);
    for (int64_t n = 0; n < t->instances; n++)
        for (uint32_t i = 0; i < names->u.array.count; i++)
            ptrmap_put(&t->known[n], ident_of(t->design, names->u.array.items[i]),
                       (void *)(uintptr_t)(i + 1));
}

static int by_number(const void *a, const void *b)
{
    const Tensor *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

DesignTrace *trace_create_design(const HlsDesign *design, HlsValues *values, int64_t frames)
{
    const Attr *names = names_of(design);
    if (!names) {
        op_error(design->top, "has no names of the network's tensors; compile it anew");
        return NULL;
    }
    DesignTrace *t = xcalloc(1, sizeof *t);
    t->trace = xcalloc(1, sizeof *t->trace);
    *t->trace = (Trace){.frames = frames, .source = "ming sim"};
    t->design = design;
    t->values = values;
    arena_init(&t->arena);
    t->instances = sys_tile_size(block_parent_op(design->top->block));
    init_known(t, names);
    bool ok = add_streams(t) && add_ports(t) && add_fused(t, names);
    if (ok) return t;
    trace_free_design(t);
    return NULL;
}

void trace_free_design(DesignTrace *t)
{
    if (!t) return;
    trace_free(t->trace);
    vec_free(&t->carriers);
    vec_free(&t->taken);
    for (int64_t n = 0; n < t->instances; n++) ptrmap_free(&t->known[n]);
    free(t->known);
    ptrmap_free(&t->made);
    arena_free(&t->arena);
    free(t);
}

/* The frame with the shape that the boundary's type has. */
static bool leave(DesignTrace *t, const Taken *taken, const Array *frame, StrBuf *why)
{
    Array shaped = *frame;
    shaped.type = taken->boundary.type;
    t->trace->tensors.data[taken->tensor].boundary = taken->boundary;
    return trace_leave(t->trace, taken->tensor, &shaped, why);
}

static bool take(DesignTrace *t, Carrier *c, Array *const *ports, StrBuf *why)
{
    Array *array = c->is_port ? array_ref(ports[c->number]) : array_new(c->frame);
    c->order.array = array;
    bool ok = array != NULL || strbuf_fail(why, "there are too many elements");
    if (ok && !c->is_port) hls_sim_values_last_frame(t->values, c->number, &c->order);
    for (size_t k = c->first; ok && k < c->first + c->count; k++)
        ok = leave(t, &t->taken.data[k], array, why);
    array_unref(array);
    return ok;
}

bool trace_design_turn(DesignTrace *t, int64_t turn, Array *const *ports, StrBuf *why)
{
    bool ok = true;
    for (int64_t n = 0; ok && n < t->instances; n++) {
        const int64_t frame = turn * t->instances + n;
        if (frame >= t->trace->frames) break; /* the last frame again */
        trace_begin_frame(t->trace, frame, t->trace->frames);
        for (size_t i = 0; ok && i < t->carriers.len; i++)
            if (t->carriers.data[i].instance == n) ok = take(t, &t->carriers.data[i], ports, why);
    }
    return ok;
}

bool trace_write_design(DesignTrace *t, const char *dir, StrBuf *why)
{
    if (t->trace->tensors.len > 0)
        qsort(t->trace->tensors.data, t->trace->tensors.len, sizeof(Tensor), by_number);
    return trace_write(t->trace, dir, why);
}

void trace_count_design(const DesignTrace *t, size_t *traced, size_t *fused)
{
    *traced = t->trace->tensors.len;
    *fused = t->trace->fused.len;
}
