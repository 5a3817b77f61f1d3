/* Orders of a kernel's operands. A kernel's loops run in one order, so all of its streams must come
 * and go in that order:
 *   order        the loops that streams depend on, parallel ones as the output has them
 *   operand      fits if its own dimensions, windows seen through, are loops in that order; it need
 *                not have all of them, since the process keeps words that are wanted again
 *   other        generic(x) -> generic(reorder(x))
 *   the output   generic -> reorder(generic), if that moves less
 * A kernel that only passes its operand on becomes the reorder itself.
 * Tests: lit/lowering/linalg_to_dfg/insert-reorders.mir */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_dfg/internal.h"

/* Loops with more than one trip. */
typedef LoopOrder Order;

/* A streamed operand. */
typedef struct OperandStream {
    uint32_t operand;
    bool fits;   /* a process can take it in the order `order` */
    Order order; /* of its dimensions; of the loops that its map uses, if it does not fit */
    int64_t elems;
} OperandStream;

typedef struct OrderFitting {
    Op *op;
    Kernel kernel;
    OperandStream streams[SCHED_MAX_STREAMS];
    uint32_t count;
    bool has_window; /* an operand slides, strides or is padded */
    Order out;       /* of the output's dimensions */
} OrderFitting;

static bool order_has(const Order *order, uint32_t loop)
{
    for (uint32_t i = 0; i < order->count; i++)
        if (order->loops[i] == loop) return true;
    return false;
}

static void order_add(const OrderFitting *f, Order *order, uint32_t loop)
{
    if (f->kernel.extents[loop] > 1 && !order_has(order, loop)) order->loops[order->count++] = loop;
}

static bool order_equal(const Order *a, const Order *b)
{
    return a->count == b->count && memcmp(a->loops, b->loops, a->count * sizeof *a->loops) == 0;
}

/* Whether b has all loops of a. */
static bool order_covers(const Order *b, const Order *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (!order_has(b, a->loops[i])) return false;
    return true;
}

static Order order_of_map(const OrderFitting *f, const AffineMap *map)
{
    Order order = {.count = 0};
    for (uint32_t r = 0; r < map->result_count; r++)
        for (uint32_t loop = 0; loop < f->kernel.loop_count; loop++)
            if (affine_uses_dim(map->results[r], loop)) order_add(f, &order, loop);
    return order;
}

static int64_t order_elems(const OrderFitting *f, const Order *order)
{
    int64_t elems = 1;
    for (uint32_t i = 0; i < order->count; i++) elems *= f->kernel.extents[order->loops[i]];
    return elems;
}

static const AffineMap *output_map(const Op *op)
{
    return linalg_operand_map(op, linalg_input_count(op));
}

/* Parallel loops of an order that runs the loops a stream does not have behind it. */
static Order parallel_order(const OrderFitting *f, const Order *order)
{
    Order parallel = {.count = 0};
    for (uint32_t i = 0; i < order->count; i++)
        if (!f->kernel.is_reduction[order->loops[i]]) order_add(f, &parallel, order->loops[i]);
    for (uint32_t i = 0; i < f->out.count; i++) order_add(f, &parallel, f->out.loops[i]);
    return parallel;
}

/* Whether loops that no stream has may run outside of the order's innermost ones: the reductions are
 * outside of both, so there are as many accumulators, and only words of the innermost are kept. */
static bool puts_free_loops_outside(const OrderFitting *f, const Order *order)
{
    uint32_t next = order->count;
    if (f->has_window) return false;
    for (uint32_t i = f->out.count; i-- > 0;) {
        if (!order_has(order, f->out.loops[i])) continue;
        if (next == 0 || order->loops[--next] != f->out.loops[i]) return false;
        if (i > 0 && !order_has(order, f->out.loops[i - 1])) break;
    }
    for (uint32_t i = next; i < order->count; i++)
        if (f->kernel.is_reduction[order->loops[i]]) return false;
    return next < order->count;
}

/* Parallel loops that streams have, in the order and as the output has them. */
static bool agrees_with_output(const OrderFitting *f, const Order *order)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < order->count; i++) {
        if (f->kernel.is_reduction[order->loops[i]]) continue;
        while (next < f->out.count && f->out.loops[next] != order->loops[i]) next++;
        if (next++ == f->out.count) return false;
    }
    return true;
}

static bool computes_in_order(const OrderFitting *f, const Order *order)
{
    Order parallel = parallel_order(f, order);
    return order_equal(&parallel, &f->out) ||
           (agrees_with_output(f, order) && puts_free_loops_outside(f, order));
}

/* Bare loops, each once, and constants where there is one element. */
static bool is_projection(const OrderFitting *f, const StreamInput *in)
{
    Order seen = {.count = 0};
    for (uint32_t r = 0; r < in->map->result_count; r++) {
        const AffineExpr *expr = in->map->results[r];
        if (in->operand->u.shaped.dims[r] == 1) continue;
        if (expr->kind != AFFINE_DIM || order_has(&seen, (uint32_t)expr->value)) return false;
        order_add(f, &seen, (uint32_t)expr->value);
    }
    return map_is_projected_permutation(in->map, true);
}

static bool read_stream(OrderFitting *f, uint32_t operand)
{
    OperandStream *s = &f->streams[f->count++];
    StreamInput in;
    *s = (OperandStream){.operand = operand};
    if (!to_dfg_can_stream_input(f->op, operand, &in, &s->fits)) return false;
    f->has_window |= s->fits && in.has_window;
    s->fits = s->fits && is_projection(f, &in);
    s->order = order_of_map(f, s->fits ? in.map : linalg_operand_map(f->op, operand));
    if (!type_element_count(op_operand(f->op, operand)->type, &s->elems))
        s->elems = 0; /* kernel_analyze: never */
    return true;
}

static bool read_kernel(Op *op, OrderFitting *f)
{
    *f = (OrderFitting){.op = op};
    if (!kernel_analyze(op, &f->kernel)) return false;
    f->out = order_of_map(f, output_map(op));
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        if (to_dfg_is_constant_value(op_operand(op, i))) continue;
        if (f->count == SCHED_MAX_STREAMS)
            return op_error(op, "reads more than %d streams", SCHED_MAX_STREAMS);
        if (!read_stream(f, i)) return false;
    }
    return true;
}

/* The output's own order, then the reductions: nothing has to be moved behind the kernel. */
static Order output_order(const OrderFitting *f, const Order *used)
{
    Order order = {.count = 0};
    for (uint32_t i = 0; i < f->out.count; i++)
        if (order_has(used, f->out.loops[i])) order_add(f, &order, f->out.loops[i]);
    for (uint32_t i = 0; i < used->count; i++)
        if (f->kernel.is_reduction[used->loops[i]]) order_add(f, &order, used->loops[i]);
    return order;
}

/* The loops of `order` that a stream has. Beside a window, where words hold whole dimensions,
 * streams have all of them. */
static Order stream_part(const OrderFitting *f, const OperandStream *stream, const Order *order)
{
    Order part = {.count = 0};
    for (uint32_t i = 0; i < order->count; i++)
        if (f->has_window || order_has(&stream->order, order->loops[i]))
            order_add(f, &part, order->loops[i]);
    return part;
}

static bool stream_fits(const OrderFitting *f, const OperandStream *stream, const Order *order)
{
    Order part = stream_part(f, stream, order);
    return stream->fits && order_equal(&stream->order, &part);
}

/* Elements that pass through reorders with this order. */
static int64_t moved_elems(const OrderFitting *f, const Order *order)
{
    int64_t moved = computes_in_order(f, order) ? 0 : order_elems(f, &f->out);
    for (uint32_t s = 0; s < f->count; s++) {
        const OperandStream *stream = &f->streams[s];
        Order part = stream_part(f, stream, order);
        if (!stream_fits(f, stream, order)) moved += i64_max(order_elems(f, &part), stream->elems);
    }
    return moved;
}

/* Accumulators that are in use at once: one per value of the parallel loops inside a reduction. */
static int64_t live_accumulators(const OrderFitting *f, const Order *order)
{
    int64_t count = 1;
    bool reduces = false;
    for (uint32_t i = 0; i < order->count; i++) {
        if (f->kernel.is_reduction[order->loops[i]])
            reduces = true;
        else if (reduces)
            count *= f->kernel.extents[order->loops[i]];
    }
    return count;
}

/* Whether an order moves less, or as much and needs fewer accumulators. */
static bool is_better(const OrderFitting *f, const Order *order, const Order *than)
{
    int64_t moved = moved_elems(f, order), least = moved_elems(f, than);
    return moved < least ||
           (moved == least && live_accumulators(f, order) < live_accumulators(f, than));
}

/* An order in which all streams come as they are, and in which the output leaves as it is. False:
 * there is none. */
static bool natural_order(const OrderFitting *f, const Order *used, Order *out)
{
    Order orders[SCHED_MAX_STREAMS + 1];
    for (uint32_t s = 0; s < f->count; s++) orders[s] = f->streams[s].order;
    Order *last = &orders[f->count];
    *last = (Order){.count = 0};
    for (uint32_t i = 0; i < f->out.count; i++)
        if (order_has(used, f->out.loops[i])) order_add(f, last, f->out.loops[i]);
    return sched_merge_orders(orders, f->count + 1, out);
}

static Order choose_order(const OrderFitting *f)
{
    Order used = {.count = 0};
    for (uint32_t s = 0; s < f->count; s++)
        for (uint32_t i = 0; i < f->streams[s].order.count; i++)
            order_add(f, &used, f->streams[s].order.loops[i]);
    Order best = output_order(f, &used), natural;
    for (uint32_t s = 0; s < f->count; s++) {
        const Order *order = &f->streams[s].order;
        if (f->streams[s].fits && order_covers(order, &used) && is_better(f, order, &best))
            best = *order;
    }
    if (natural_order(f, &used, &natural) && is_better(f, &natural, &best)) best = natural;
    return best;
}

static void set_map(Op *generic, uint32_t operand, const AffineMap *map)
{
    VEC(const AffineMap *) maps = {0};
    for (uint32_t i = 0; i < generic->operand_count; i++)
        *vec_push(&maps) = i == operand ? map : linalg_operand_map(generic, i);
    op_set_attr(generic, "indexing_maps", linalg_maps_attr(generic->ctx, maps.data, maps.len));
    vec_free(&maps);
}

/* The order with the loops of one trip that a map uses in front: their trips must still be told by
 * some operand. */
static Order with_units(const OrderFitting *f, const AffineMap *map, const Order *order)
{
    Order all = {.count = 0};
    for (uint32_t loop = 0; loop < f->kernel.loop_count; loop++)
        for (uint32_t r = 0; f->kernel.extents[loop] == 1 && r < map->result_count; r++)
            if (affine_uses_dim(map->results[r], loop) && !order_has(&all, loop))
                all.loops[all.count++] = loop;
    for (uint32_t i = 0; i < order->count; i++) all.loops[all.count++] = order->loops[i];
    return all;
}

/* Loops as the dimensions of a tensor in the given order: their expressions over its index, and its
 * shape. */
static const Type *tensor_of_order(const OrderFitting *f, const Order *order, const Type *elem,
                                   const AffineExpr **loops)
{
    int64_t dims[KERNEL_MAX_LOOPS];
    for (uint32_t i = 0; i < f->kernel.loop_count; i++) loops[i] = affine_const(f->op->ctx, 0);
    for (uint32_t i = 0; i < order->count; i++) {
        loops[order->loops[i]] = affine_dim(f->op->ctx, i);
        dims[i] = f->kernel.extents[order->loops[i]];
    }
    return type_tensor(elem, dims, order->count, NULL);
}

/* The map from the loops to that tensor's index. */
static const AffineMap *map_of_order(const OrderFitting *f, const Order *order)
{
    const AffineExpr *results[KERNEL_MAX_LOOPS];
    for (uint32_t i = 0; i < order->count; i++)
        results[i] = affine_dim(f->op->ctx, order->loops[i]);
    return map_get(f->op->ctx, f->kernel.loop_count, 0, order->count, results);
}

/* x read by `map`, seen through padding; the fill value is NULL if nothing pads. */
static bool see_through_pad(Value **x, const AffineMap **map, const Attr **fill)
{
    Padding pad;
    const AffineExpr *index[DFG_MAX_RANK];
    const Op *def = value_def(*x);
    *fill = NULL;
    if (!def || def->def != TENSOR(PAD)) return true;
    if (!to_dfg_read_padding(def, &pad)) return false;
    for (uint32_t r = 0; r < (*map)->result_count; r++)
        index[r] = affine_add_c((*map)->results[r], -pad.low[r]);
    *map = map_get((*map)->ctx, (*map)->dim_count, 0, (*map)->result_count, index);
    *x = op_operand(def, 0);
    *fill = pad.value;
    return true;
}

/* Notes in dfg.repeated, a bit mask of loops per input, for which loops the operand that `map`
 * reads becomes copies of one element: products of such lanes have a factor in common. */
static void note_repeated(const OrderFitting *f, uint32_t operand, const AffineMap *map,
                          const Order *dims)
{
    uint32_t inputs = linalg_input_count(f->op);
    const Attr *known = op_attr(f->op, DFG_ATTR_REPEATED);
    VEC(int64_t) masks = {0};
    for (uint32_t i = 0; i < inputs; i++) *vec_push(&masks) = known ? dense_array_i64(known, i) : 0;
    for (uint32_t i = 0; i < dims->count; i++) {
        bool is_used = false;
        for (uint32_t r = 0; r < map->result_count; r++)
            is_used |= affine_uses_dim(map->results[r], dims->loops[i]);
        masks.data[operand] |= is_used ? 0 : (int64_t)1 << dims->loops[i];
    }
    if (known || masks.data[operand])
        op_set_attr(f->op, DFG_ATTR_REPEATED, attr_i64_array(f->op->ctx, masks.data, inputs));
    vec_free(&masks);
}

static bool reorder_operand(OrderFitting *f, uint32_t operand, const Order *order)
{
    const AffineExpr *loops[KERNEL_MAX_LOOPS];
    Value *x = op_operand(f->op, operand);
    const AffineMap *map = linalg_operand_map(f->op, operand);
    const Attr *fill;
    Op *pad = value_def(x);
    if (!see_through_pad(&x, &map, &fill)) return false;
    Order dims = with_units(f, map, order);
    note_repeated(f, operand, map, &dims);
    const Type *type = tensor_of_order(f, &dims, type_elem(x->type), loops);
    const AffineMap *to_loops = map_get(f->op->ctx, dims.count, 0, f->kernel.loop_count, loops);
    Builder b = builder_before(f->op);
    op_set_operand(
        f->op, operand,
        to_dfg_build_reorder(&b, x, type, map_simplify(map_compose(map, to_loops)), fill));
    set_map(f->op, operand, map_of_order(f, &dims));
    if (pad && pad->def == TENSOR(PAD) && !value_has_uses(op_result(pad, 0))) op_erase(pad);
    return true;
}

/* The initial tensor in the order of the loops; NULL: it is neither empty nor one value. */
static Value *reordered_initial(Builder *b, const Value *initial, const Type *type)
{
    const Op *def = value_def(initial);
    MixedIndex sizes[KERNEL_MAX_LOOPS];
    if (!def || (def->def != TENSOR(EMPTY) && !kernel_fill_value(def))) return NULL;
    for (uint32_t i = 0; i < type->u.shaped.rank; i++)
        sizes[i] = mixed_constant(type->u.shaped.dims[i]);
    Value *empty = tensor_empty(b, sizes, type->u.shaped.rank, type_elem(type));
    Value *fill = kernel_fill_value(def);
    return fill ? linalg_fill(b, fill, empty) : empty;
}

/* Computes the output in the order of the loops and moves it behind the kernel. */
static bool reorder_result(OrderFitting *f, const Order *order)
{
    const AffineExpr *loops[KERNEL_MAX_LOOPS], *index[KERNEL_MAX_LOOPS];
    Value *result = op_result(f->op, 0);
    uint32_t init = linalg_input_count(f->op), rank = result->type->u.shaped.rank;
    Order parallel = parallel_order(f, order);
    const AffineMap *out = output_map(f->op);
    parallel = with_units(f, out, &parallel);
    const Type *type = tensor_of_order(f, &parallel, type_elem(result->type), loops);
    Builder b = builder_before(f->op);
    Value *initial = reordered_initial(&b, op_operand(f->op, init), type);
    if (!initial)
        return op_error(f->op,
                        "writes its output (map %s) in another order than its loops run, and "
                        "starts from a tensor of several values",
                        map_str(f->op->ctx, out));
    for (uint32_t i = 0; i < parallel.count; i++)
        index[i] = affine_dim(f->op->ctx, (uint32_t)map_result_of_dim(out, parallel.loops[i]));
    const Type *old = result->type;
    const AffineMap *map = map_get(f->op->ctx, rank, 0, parallel.count, index);
    set_map(f->op, init, map_of_order(f, &parallel));
    op_set_operand(f->op, init, initial);
    result->type = type;
    b = builder_after(f->op);
    const NamedAttr attr = build_named_attr(b.ctx, "map", attr_map(map));
    Op *reorder = build(&b, DFG(REORDER), &result, 1, &old, 1, &attr, 1);
    value_replace_all(result, op_result(reorder, 0));
    op_set_operand(reorder, 0, result);
    return true;
}

static uint32_t constant_results(const AffineMap *map)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < map->result_count; r++) count += affine_is_const(map->results[r]);
    return count;
}

/* The map over `extra` more loops; the constants of an output become these loops. */
static const AffineMap *widened_map(const AffineMap *map, uint32_t extra, bool is_output)
{
    const AffineExpr *results[2 * DFG_MAX_RANK];
    uint32_t next = map->dim_count;
    for (uint32_t r = 0; r < map->result_count; r++) {
        bool is_unit = is_output && affine_is_const(map->results[r]);
        results[r] = is_unit ? affine_dim(map->ctx, next++) : map->results[r];
    }
    return map_get(map->ctx, map->dim_count + extra, 0, map->result_count, results);
}

/* A constant index of an output's dimension of extent 1 becomes a loop of one trip. It is what a sum
 * leaves of a dimension: (d0, d1) -> (d0, 0) => (d0, d1, d2) -> (d0, d2) */
static void loop_unit_dims(Op *generic)
{
    uint32_t init = linalg_input_count(generic), loops = linalg_loop_count(generic);
    uint32_t extra = constant_results(linalg_operand_map(generic, init));
    VEC(const AffineMap *) maps = {0};
    bool is_reduction[KERNEL_MAX_LOOPS] = {false};
    if (extra == 0 || loops + extra > KERNEL_MAX_LOOPS || !linalg_reaches_all(generic, init))
        return;
    for (uint32_t i = 0; i < generic->operand_count; i++)
        *vec_push(&maps) = widened_map(linalg_operand_map(generic, i), extra, i == init);
    for (uint32_t i = 0; i < loops; i++) is_reduction[i] = linalg_is_reduction(generic, i);
    op_set_attr(generic, "indexing_maps", linalg_maps_attr(generic->ctx, maps.data, maps.len));
    op_set_attr(generic, "iterator_types",
                linalg_iterators_attr(generic->ctx, is_reduction, loops + extra));
    vec_free(&maps);
}

/* generic(x) { yield x } -> reorder(x) */
static bool is_copy(const OrderFitting *f)
{
    const Op *yield = linalg_body(f->op)->last;
    const Value *yielded = op_operand(yield, 0);
    return f->count == 1 && f->kernel.class == KERNEL_PURE_PARALLEL &&
           map_is_permutation(output_map(f->op)) && yielded->is_arg &&
           value_block(yielded) == linalg_body(f->op) && yielded->index == f->streams[0].operand;
}

static bool replace_copy(OrderFitting *f)
{
    uint32_t operand = f->streams[0].operand;
    Value *x = op_operand(f->op, operand);
    const AffineMap *map = linalg_operand_map(f->op, operand);
    const Attr *fill;
    if (!see_through_pad(&x, &map, &fill)) return false;
    const AffineMap *to_loops = map_inverse_permutation(output_map(f->op));
    Builder b = builder_before(f->op);
    Value *moved = to_dfg_build_reorder(&b, x, op_result(f->op, 0)->type,
                                        map_simplify(map_compose(map, to_loops)), fill);
    value_replace_all(op_result(f->op, 0), moved);
    op_erase(f->op);
    return true;
}

static bool is_matrix(const OrderFitting *f, const OperandStream *stream)
{
    return f->count > 1 && f->kernel.class != KERNEL_PURE_PARALLEL && !f->has_window &&
           stream->order.count > 1;
}

static bool is_reorder(const Op *op)
{
    return op && op->def == DFG(REORDER);
}

/* A reorder that moves nothing. */
static Value *build_regrouping(Builder *b, Value *x)
{
    const Type *type = x->type;
    const AffineMap *map = map_identity(b->ctx, type->u.shaped.rank);
    const NamedAttr attr = build_named_attr(b->ctx, "map", attr_map(map));
    return op_result(build(b, DFG(REORDER), &x, 1, &type, 1, &attr, 1), 0);
}

/* Whether a kernel continues the one before it element by element, so that one process runs both. */
static bool is_epilogue(const Op *op, const Value *flow)
{
    uint32_t inputs, streams = 0;
    if (op->def != LINALG(GENERIC)) return false;
    inputs = linalg_input_count(op);
    for (uint32_t i = 0; i < linalg_loop_count(op); i++)
        if (linalg_is_reduction(op, i)) return false;
    for (uint32_t i = 0; i < inputs; i++) {
        if (!to_dfg_is_constant_value(op_operand(op, i))) streams++;
        if (op_operand(op, i) == flow &&
            linalg_operand_map(op, i) != linalg_operand_map(op, inputs))
            return false;
    }
    return streams == 1;
}

/* A product of matrices works on blocks of them, in which they do not come and its result does not
 * go. Reorders that move nothing let the search choose such words; where it does not, they are left
 * out of the design. */
static void regroup_result(Value *result)
{
    while (value_has_one_use(result) && is_epilogue(result->uses->owner, result))
        result = op_result(result->uses->owner, 0);
    FOR_EACH_USE(use, result)
        if (is_reorder(use->owner)) return;
    Builder b = builder_after(value_def(result));
    Value *moved = build_regrouping(&b, result);
    value_replace_all(result, moved);
    op_set_operand(value_def(moved), 0, result);
}

void to_dfg_regroup_product(Op *generic)
{
    OrderFitting f;
    uint32_t matrices = 0;
    DiagHold hold;
    diag_hold_begin(&hold, generic->ctx);
    bool ok = read_kernel(generic, &f);
    diag_hold_drop(&hold);
    if (!ok) return;
    for (uint32_t s = 0; s < f.count; s++) matrices += is_matrix(&f, &f.streams[s]);
    if (matrices < 2) return;
    for (uint32_t s = 0; s < f.count; s++) {
        uint32_t operand = f.streams[s].operand;
        Builder b = builder_before(generic);
        if (is_matrix(&f, &f.streams[s]) && !is_reorder(value_def(op_operand(generic, operand))))
            op_set_operand(generic, operand, build_regrouping(&b, op_operand(generic, operand)));
    }
    if (f.out.count > 1) regroup_result(op_result(generic, 0));
}

bool to_dfg_fit_kernel(Op *generic)
{
    OrderFitting f;
    loop_unit_dims(generic);
    if (!read_kernel(generic, &f)) return false;
    if (f.count == 0 || !map_is_projected_permutation(output_map(generic), false))
        return true; /* convert-linalg-to-dfg says what is wrong */
    if (is_copy(&f)) return replace_copy(&f);
    Order order = choose_order(&f);
    for (uint32_t s = 0; s < f.count; s++) {
        const OperandStream *stream = &f.streams[s];
        Order part = stream_part(&f, stream, &order);
        if (!stream_fits(&f, stream, &order) && !reorder_operand(&f, stream->operand, &part))
            return false;
    }
    return computes_in_order(&f, &order) || reorder_result(&f, &order);
}
