/* The tensors of the network that the streams and ports of a design carry (dfg.tensors), taken from
 * its simulation frame by frame.
 * Tests: lit/tools/ming-sim-trace.mir, test/e2e/trace_check.py */
#include <stdlib.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "driver/trace/internal.h"
#include "ir/asm/print/print.h"

/* Where a tensor of the trace is taken from: a stream, or a port's array. */
typedef struct Carrier {
    bool is_port;
    uint32_t number; /* of the stream, or of the top function's argument */
    HlsPort order;   /* of the stream's elements */
    const Type *frame;
    size_t first, count; /* tensors */
} Carrier;

struct DesignTrace {
    Trace *trace;
    const HlsDesign *design;
    HlsValues *values;
    Arena arena;
    VEC(Carrier) carriers;
    PtrMap known; /* name -> place in the network's list + 1 */
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

static bool add_tensor(DesignTrace *t, const Attr *tensor, const Type *frame, Str where)
{
    const Ident *name = ident_of(t->design, attr_dict_get_c(tensor, DFG_TENSOR_NAME));
    uintptr_t place = (uintptr_t)ptrmap_get(&t->known, name);
    Tensor made = {.name = name->str,
                   .op = where,
                   .number = place - 1,
                   .shape = attr_dict_get_c(tensor, DFG_TENSOR_SHAPE)};
    if (place == 0) return true; /* another stream has it */
    if (!init_boundary(t, tensor, frame, &made.boundary)) return false;
    *vec_push(&t->trace->tensors) = made;
    ptrmap_remove(&t->known, name);
    return true;
}

static bool add_carrier(DesignTrace *t, const Attr *list, Carrier carrier, Str where)
{
    if (!dfg_tensors_are_valid(list))
        return op_error(t->design->top, "has a stream whose dfg.tensors is no list of tensors");
    carrier.first = t->trace->tensors.len;
    for (uint32_t i = 0; i < list->u.array.count; i++)
        if (!add_tensor(t, list->u.array.items[i], carrier.frame, where)) return false;
    carrier.count = t->trace->tensors.len - carrier.first;
    if (carrier.count == 0) return true;
    if (!carrier.is_port) hls_sim_values_keep_frame(t->values, carrier.number);
    *vec_push(&t->carriers) = carrier;
    return true;
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
        const Type *frame = design_argument_frame(design, i);
        if (!list || !frame || design_argument_direction(design, i) == HLS_NO_DATA) continue;
        if (!add_carrier(t, list, (Carrier){.is_port = true, .number = i, .frame = frame},
                         names->u.array.items[i]->u.string))
            return false;
    }
    return true;
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
    for (uint32_t i = 0; i < names->u.array.count; i++)
        ptrmap_put(&t->known, ident_of(design, names->u.array.items[i]),
                   (void *)(uintptr_t)(i + 1));
    bool ok = add_streams(t) && add_ports(t);
    for (uint32_t i = 0; ok && i < names->u.array.count; i++)
        if (ptrmap_has(&t->known, ident_of(design, names->u.array.items[i])))
            *vec_push(&t->trace->fused) = names->u.array.items[i]->u.string;
    if (ok) return t;
    trace_free_design(t);
    return NULL;
}

void trace_free_design(DesignTrace *t)
{
    if (!t) return;
    trace_free(t->trace);
    vec_free(&t->carriers);
    ptrmap_free(&t->known);
    arena_free(&t->arena);
    free(t);
}

/* The frame with the shape that the boundary's type has. */
static bool leave(DesignTrace *t, size_t tensor, const Array *frame, StrBuf *why)
{
    Array shaped = *frame;
    shaped.type = t->trace->tensors.data[tensor].boundary.type;
    return trace_leave(t->trace, tensor, &shaped, why);
}

bool trace_design_frame(DesignTrace *t, int64_t frame, Array *const *ports, StrBuf *why)
{
    bool ok = true;
    trace_begin_frame(t->trace, frame, t->trace->frames);
    for (size_t i = 0; ok && i < t->carriers.len; i++) {
        Carrier *c = &t->carriers.data[i];
        Array *array = c->is_port ? array_ref(ports[c->number]) : array_new(c->frame);
        c->order.array = array;
        ok = array != NULL || strbuf_fail(why, "there are too many elements");
        if (ok && !c->is_port) hls_sim_values_last_frame(t->values, c->number, &c->order);
        for (size_t k = c->first; ok && k < c->first + c->count; k++) ok = leave(t, k, array, why);
        array_unref(array);
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
