/* normalize-layout: makes the row-major order of every tensor the order in which it streams: pixels
 * row by row, channels innermost. The dimensions that a window slides over come before those that
 * it does not, and a leading batch dimension stays first.
 *
 * Payloads do not change, only maps and types, and the loops of kernels that read a collapse_shape
 * which would need another order. A tensor that still does not fit is copied into its row-major
 * order. The function's arguments and results record the change as dfg.layout, a map from the
 * model's index to the stream's; those of a function that is called stay as they are.
 * Requires: named ops generalized, straight-line functions of linalg on static tensors.
 * Changes: types, indexing maps, padding, initial constants, signatures.
 * Tests: lit/passes/linalg/normalize-layout.mir */
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "passes/linalg/layout/internal.h"
#include "passes/linalg/passes.h"

typedef struct Chooser {
    Arena *arena;
    PtrMap wanted;  /* Value* -> Layout*: what a reader would like */
    PtrMap layouts; /* Value* -> Layout*: what it gets */
    bool keeps_moves;
    bool is_called; /* so that arguments and results stay as callers have them */
} Chooser;

bool layout_is_identity(const Layout *layout)
{
    for (uint32_t i = 0; i < layout->rank; i++)
        if (layout->perm[i] != i) return false;
    return true;
}

/* Constants keep their order. */
static bool has_layout(const Value *value)
{
    const Op *def = value_def(value);
    return value->type->kind == TYPE_RANKED_TENSOR &&
           value->type->u.shaped.rank <= LAYOUT_MAX_RANK &&
           !(def && op_has_trait(def, TRAIT_CONSTANT_LIKE));
}

/* Whether elements arrive one by one. A fill does not stream, nor does a tensor of which only the
 * shape matters, like that of a pool's window. */
static bool is_streamed(const Value *value)
{
    const Op *def = value_def(value);
    return has_layout(value) && !(def && (def->def == TENSOR(EMPTY) || kernel_fill_value(def)));
}

static void remember(Chooser *c, PtrMap *map, const Value *value, const Layout *layout)
{
    if (map == &c->layouts && layout_is_captured(value)) return;
    ptrmap_put(map, value, arena_copy(c->arena, layout, sizeof(*layout)));
}

static Layout identity(uint32_t rank)
{
    Layout layout = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) layout.perm[i] = i;
    return layout;
}

static Layout layout_of(const Chooser *c, const Value *value)
{
    const Layout *found = ptrmap_get(&c->layouts, value);
    return found ? *found : identity(value->type->u.shaped.rank);
}

static bool is_window_index(const Kernel *kernel, const AffineExpr *expr)
{
    KernelIndex index;
    return kernel_index(kernel, expr, &index) && index.parallel >= 0 &&
           (index.reduction >= 0 || expr->kind != AFFINE_DIM);
}

static bool is_parallel_dim(const Kernel *kernel, const AffineExpr *expr)
{
    return expr->kind == AFFINE_DIM && !kernel->is_reduction[expr->value];
}

/* Whether an index of an operand is a channel: summed up, or an index of other inputs (weights). */
static bool is_channel_index(const Kernel *kernel, uint32_t operand, const AffineExpr *expr)
{
    if (!is_parallel_dim(kernel, expr)) return true;
    for (uint32_t i = 0; i < linalg_input_count(kernel->op); i++)
        if (i != operand && map_uses_dim(linalg_operand_map(kernel->op, i), (uint32_t)expr->value))
            return true;
    return false;
}

/* Positions in their order, channels behind them; false if nothing slides. Of the dimensions that
 * do not slide, the first is the batch and the others are channels if there are enough for both;
 * where there are more, some are positions with a window of one. */
static bool wanted_by_window(const Kernel *kernel, uint32_t operand, Layout *out)
{
    const AffineMap *map = linalg_operand_map(kernel->op, operand);
    uint32_t windows = 0, n = 0;
    bool is_channel[LAYOUT_MAX_RANK];
    for (uint32_t r = 0; r < map->result_count; r++)
        windows += is_window_index(kernel, map->results[r]);
    if (windows == 0) return false;
    bool batch = map->result_count >= windows + 2, only_batch = map->result_count == windows + 2;
    for (uint32_t r = 0; r < map->result_count; r++) {
        const AffineExpr *expr = map->results[r];
        is_channel[r] = !is_window_index(kernel, expr) && (!batch || (only_batch && r > 0) ||
                                                           is_channel_index(kernel, operand, expr));
        if (!is_channel[r]) out->perm[n++] = r;
    }
    for (uint32_t r = 0; r < map->result_count; r++)
        if (is_channel[r]) out->perm[n++] = r;
    out->rank = n;
    return true;
}

/* The second dimension behind the others. */
static Layout channels_last(uint32_t rank)
{
    Layout layout = identity(rank);
    for (uint32_t r = 1; r < rank; r++) layout.perm[r] = r + 1 < rank ? r + 1 : 1;
    return layout;
}

/* Of a tensor whose elements are repeated behind its second dimension: channels behind the others. False:
 * none is. */
static bool wanted_by_repeat(const Kernel *kernel, uint32_t operand, Layout *out)
{
    const AffineMap *map = linalg_operand_map(kernel->op, operand);
    bool repeats = false;
    for (uint32_t r = 0; r < map->result_count; r++) {
        bool is_quotient = map->results[r]->kind == AFFINE_FLOORDIV;
        if (r < 2 && is_quotient) return false;
        repeats |= is_quotient;
    }
    *out = channels_last(map->result_count);
    return repeats;
}

static bool reduces_operand(const Kernel *kernel, const AffineMap *map)
{
    for (uint32_t loop = 0; loop < kernel->loop_count; loop++)
        if (kernel->is_reduction[loop] && map_uses_dim(map, loop)) return true;
    return false;
}

/* Where constants differ along one dimension of a tensor alone, that is its channels. False: they do not, or
 * along others. */
static bool wanted_by_constants(const Kernel *kernel, uint32_t operand, Layout *out)
{
    const AffineMap *map = linalg_operand_map(kernel->op, operand);
    int channel = -1;
    if (map->result_count < 3 || reduces_operand(kernel, map)) return false;
    for (uint32_t r = 0; r < map->result_count; r++) {
        bool is_read = false;
        if (map->results[r]->kind != AFFINE_DIM) return false;
        const uint32_t loop = (uint32_t)map->results[r]->value;
        for (uint32_t i = 0; i < linalg_input_count(kernel->op) && kernel->extents[loop] > 1; i++) {
            const Op *def = value_def(op_operand(kernel->op, i));
            is_read |= def && op_has_trait(def, TRAIT_CONSTANT_LIKE) &&
                       map_uses_dim(linalg_operand_map(kernel->op, i), loop);
        }
        if (is_read && channel >= 0) return false;
        if (is_read) channel = (int)r;
    }
    out->rank = 0;
    for (uint32_t r = 0; r < map->result_count; r++)
        if ((int)r != channel) out->perm[out->rank++] = r;
    if (channel >= 0) out->perm[out->rank++] = (uint32_t)channel;
    return channel > 0;
}

static const AffineMap *output_map(const Op *generic)
{
    return linalg_operand_map(generic, linalg_input_count(generic));
}

static bool is_input_loop(const Op *generic, uint32_t loop)
{
    for (uint32_t i = 0; i < linalg_input_count(generic); i++)
        if (map_uses_dim(linalg_operand_map(generic, i), loop)) return true;
    return false;
}

/* The first result of an output map that is not placed yet and whose loop no input has: the remains
 * of a dimension that is summed up. -1: there is none. */
static int next_summed(const Op *generic, const AffineMap *map, const bool *placed)
{
    for (uint32_t r = 0; r < map->result_count; r++)
        if (!placed[r] && map->results[r]->kind == AFFINE_DIM &&
            !is_input_loop(generic, (uint32_t)map->results[r]->value))
            return (int)r;
    return -1;
}

static void place(Layout *out, bool *placed, int r)
{
    if (r < 0 || placed[r]) return;
    placed[r] = true;
    out->perm[out->rank++] = (uint32_t)r;
}

/* The loop that walks an index: of a window the parallel one; of other expressions, as divisions,
 * the only one. -1: none. */
static int loop_of_index(const Kernel *kernel, const AffineExpr *expr)
{
    KernelIndex index;
    int only = -1;
    if (kernel_index(kernel, expr, &index))
        return index.parallel >= 0 ? index.parallel : index.reduction;
    for (uint32_t loop = 0; loop < kernel->loop_count; loop++) {
        if (!affine_uses_dim(expr, loop)) continue;
        if (only >= 0) return -1;
        only = (int)loop;
    }
    return only;
}

/* The result of an operand's map that a loop walks, in steps or one by one; -1: none. */
static int result_of_loop(const Kernel *kernel, const AffineMap *map, uint32_t loop)
{
    int bare = map_result_of_dim(map, loop);
    for (uint32_t r = 0; bare < 0 && r < map->result_count; r++)
        if (loop_of_index(kernel, map->results[r]) == (int)loop) return (int)r;
    return bare;
}

/* Layout of an operand in which the loops run in the order of `order` (loop positions). What is
 * left of a summed dimension takes its place; dimensions that no loop walks come last. */
static void layout_in_order(const Kernel *kernel, const AffineMap *map, const uint32_t *order,
                            uint32_t count, Layout *out)
{
    bool placed[LAYOUT_MAX_RANK] = {false};
    out->rank = 0;
    for (uint32_t i = 0; i < count; i++) {
        int r = result_of_loop(kernel, map, order[i]);
        if (r < 0 && kernel->is_reduction[order[i]]) r = next_summed(kernel->op, map, placed);
        place(out, placed, r);
    }
    for (uint32_t r = 0; r < map->result_count; r++) place(out, placed, (int)r);
}

/* Loops in the order in which a laid-out operand's dimensions meet them; windows count as their
 * parallel loop. */
static uint32_t loop_order(const Kernel *kernel, const AffineMap *map, const Layout *layout,
                           uint32_t *order)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < layout->rank; i++) {
        int loop = loop_of_index(kernel, map->results[layout->perm[i]]);
        if (loop >= 0 && count < KERNEL_MAX_LOOPS) order[count++] = (uint32_t)loop;
    }
    return count;
}

/* Whether each index of the result is the input's at the same place, or repeats the only element there. */
static bool repeats_in_place(const Kernel *kernel, const AffineMap *in, const AffineMap *out)
{
    if (in->result_count != out->result_count) return false;
    for (uint32_t r = 0; r < in->result_count; r++) {
        int loop = loop_of_index(kernel, in->results[r]);
        bool is_one = affine_is_const(in->results[r]);
        if (!is_one && (loop < 0 || loop != loop_of_index(kernel, out->results[r]))) return false;
    }
    return true;
}

/* What is no part of a reduction, as an element whose thresholds are counted, arrives in the order of the
 * result. */
static void want_of_generic(Chooser *c, const Op *op)
{
    Kernel kernel;
    uint32_t order[KERNEL_MAX_LOOPS];
    Layout layout;
    if (!kernel_analyze(op, &kernel)) return; /* check_kernels: never */
    const Layout *result = ptrmap_get(&c->wanted, op_result(op, 0));
    if (!result) result = ptrmap_get(&c->layouts, op_result(op, 0));
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        const AffineMap *map = linalg_operand_map(op, i);
        if (!is_streamed(op_operand(op, i)) || map->result_count > LAYOUT_MAX_RANK) continue;
        if (result && !reduces_operand(&kernel, map)) {
            uint32_t count = loop_order(&kernel, output_map(op), result, order);
            if (c->keeps_moves && repeats_in_place(&kernel, map, output_map(op)))
                layout = *result;
            else
                layout_in_order(&kernel, map, order, count, &layout);
        } else if (!wanted_by_window(&kernel, i, &layout) &&
                   !(c->keeps_moves && (wanted_by_repeat(&kernel, i, &layout) ||
                                        wanted_by_constants(&kernel, i, &layout)))) {
            continue;
        }
        remember(c, &c->wanted, op_operand(op, i), &layout);
    }
}

/* Where moves are kept, they begin with channels behind the others, also with the only one. */
static void want_of_reshape(Chooser *c, const Op *op)
{
    const Value *source = op_operand(op, 0);
    const Layout *wish = ptrmap_get(&c->wanted, op_result(op, 0));
    const Layout last = channels_last(source->type->u.shaped.rank);
    bool is_kept = c->keeps_moves && op->def == TENSOR(EXPAND_SHAPE) && has_layout(source);
    Layout layout;
    if (wish && layout_before_reshape(op, wish, &layout)) {
        bool is_last =
            is_kept && layout_is_same_order(source->type, &layout, &last) && layout_begins_move(op);
        remember(c, &c->wanted, source, is_last ? &last : &layout);
    } else if (is_kept && !ptrmap_get(&c->wanted, source) &&
               ((wish && layout_splits_channels(op)) || layout_begins_move(op))) {
        remember(c, &c->wanted, source, &last);
    }
}

/* Of widths that are numbers, around by what does not depend on the index; widths that are values, and
 * indices, are in the order of the model. */
static bool is_pad(const Op *op)
{
    if (op->def != TENSOR(PAD) || op->operand_count != 1) return false;
    const Block *body = region_entry(op_region(op, 0));
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (value_has_uses(body->args[i])) return false;
    return true;
}

static void want_of_move(Chooser *c, const Op *op)
{
    const Layout *wish = ptrmap_get(&c->wanted, op_result(op, 0));
    Layout layout;
    for (uint32_t i = 0; wish && i < op->operand_count; i++)
        if (layout_before_move(op, i, wish, &layout))
            remember(c, &c->wanted, op_operand(op, i), &layout);
}

static bool is_too_wide(const Type *type)
{
    return type->kind == TYPE_RANKED_TENSOR && type->u.shaped.rank > LAYOUT_MAX_RANK;
}

/* Whether a tensor has more dimensions than a layout has: then all keep their order. */
static bool exceeds_layouts(const Op *op)
{
    bool found = false;
    for (uint32_t i = 0; i < op->operand_count; i++) found |= is_too_wide(op_operand(op, i)->type);
    for (uint32_t i = 0; i < op->result_count; i++) found |= is_too_wide(op_result(op, i)->type);
    return found;
}

/* Wishes are propagated from readers to their operands. If no later reader has a wish, element-wise
 * kernels wish for the layout that was chosen for their result. */
static void collect_wishes(Chooser *c, Block *body)
{
    for (Op *op = body->last; op; op = op->prev) {
        if (exceeds_layouts(op)) continue;
        if (op->def == LINALG(GENERIC) && op->result_count == 1) {
            want_of_generic(c, op);
        } else if (is_pad(op)) {
            const Layout *wish = ptrmap_get(&c->wanted, op_result(op, 0));
            if (wish) remember(c, &c->wanted, op_operand(op, 0), wish);
        } else if (reshape_is(op)) {
            want_of_reshape(c, op);
        } else if (layout_is_move(op)) {
            want_of_move(c, op);
        }
    }
}

/* Loops of more than one turn that walk an operand. */
static uint32_t count_walking_loops(const Kernel *kernel, const AffineMap *map)
{
    bool walks[KERNEL_MAX_LOOPS] = {false};
    uint32_t count = 0;
    for (uint32_t r = 0; r < map->result_count; r++) {
        int loop = loop_of_index(kernel, map->results[r]);
        if (loop < 0 || walks[loop] || kernel->extents[loop] == 1) continue;
        walks[loop] = true;
        count++;
    }
    return count;
}

/* How much of a kernel's order an operand tells; what is broadcast, as a number for each channel, tells
 * less than the others. Operands of a move (no kernel) tell as much as each other. */
static uint32_t weight_of_input(const Op *op, const Kernel *kernel, uint32_t operand)
{
    return kernel ? 1 + count_walking_loops(kernel, linalg_operand_map(op, operand)) : 1;
}

/* The streamed operand among the first `count` that the others follow: of those of most weight the
 * first one that is reordered, else the first. */
static const Value *leading_input(const Chooser *c, const Op *op, const Kernel *kernel,
                                  uint32_t count, uint32_t *operand)
{
    const Value *leader = NULL;
    bool is_reordered = false;
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        const Value *input = op_operand(op, i);
        if (!is_streamed(input)) continue;
        const Layout *layout = ptrmap_get(&c->layouts, input);
        bool leads = layout && !layout_is_identity(layout);
        uint32_t weight = weight_of_input(op, kernel, i);
        if (weight < most || (weight == most && (is_reordered || !leads))) continue;
        leader = input;
        is_reordered = leads;
        most = weight;
        *operand = i;
    }
    return leader;
}

static bool reads_streams(const Op *op)
{
    for (uint32_t i = 0; i < linalg_input_count(op); i++)
        if (is_streamed(op_operand(op, i))) return true;
    return false;
}

/* The result's loops run in the order in which the input arrives. Where moves are kept, so do rows and
 * columns of which the input has one alone. */
static void choose_generic(Chooser *c, const Op *op)
{
    Kernel kernel;
    Layout layout;
    uint32_t operand = 0, order[KERNEL_MAX_LOOPS];
    if (!reads_streams(op) || !has_layout(op_result(op, 0)) || !kernel_analyze(op, &kernel)) return;
    const Value *input = leading_input(c, op, &kernel, linalg_input_count(op), &operand);
    Layout in = layout_of(c, input);
    const AffineMap *map = linalg_operand_map(op, operand);
    uint32_t count = loop_order(&kernel, map, &in, order);
    if (c->keeps_moves && repeats_in_place(&kernel, map, output_map(op)))
        layout = in;
    else
        layout_in_order(&kernel, output_map(op), order, count, &layout);
    remember(c, &c->layouts, op_result(op, 0), &layout);
}

/* Values that have no op of their own to decide: the initial tensors follow the kernel's result. */
static void choose_initial(Chooser *c, Value *init, const Layout *layout)
{
    const Op *def = value_def(init);
    if (!has_layout(init) || is_streamed(init)) return;
    remember(c, &c->layouts, init, layout);
    if (def && kernel_fill_value(def))
        choose_initial(c, op_operand(def, def->operand_count - 1), layout);
}

/* The result streams as the leading operand does; operands that are no streams take its order. */
static void choose_move(Chooser *c, const Op *op)
{
    uint32_t operand = 0;
    Layout result, layout;
    const Value *input = leading_input(c, op, NULL, op->operand_count, &operand);
    if (!input) return;
    layout = layout_of(c, input);
    if (!layout_of_moved(op, operand, &layout, &result)) return;
    remember(c, &c->layouts, op_result(op, 0), &result);
    result = layout_of(c, op_result(op, 0)); /* another one if it is captured */
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!is_streamed(op_operand(op, i)) && layout_before_move(op, i, &result, &layout))
            choose_initial(c, op_operand(op, i), &layout);
}

/* Where moves are kept, a map that is left of one pixel, or one channel, has its channels behind the others. */
static void choose_reshape(Chooser *c, const Op *op)
{
    const Value *result = op_result(op, 0);
    const Layout source = layout_of(c, op_operand(op, 0));
    const Layout *wish = ptrmap_get(&c->wanted, result);
    Layout layout;
    if (layout_of_reshaped(op, &source, &layout)) {
        const Layout last = wish ? *wish : channels_last(layout.rank);
        bool is_last = c->keeps_moves && op->def == TENSOR(COLLAPSE_SHAPE) &&
                       layout_is_same_order(result->type, &layout, &last) && layout_ends_move(op);
        remember(c, &c->layouts, result, is_last ? &last : &layout);
    } else if (wish && layout_before_reshape(op, wish, &layout)) { /* its source will be copied */
        remember(c, &c->layouts, result, wish);
    }
}

static void choose_layouts(Chooser *c, Block *body)
{
    for (uint32_t i = 0; i < body->arg_count && !c->is_called; i++) {
        const Layout *wish = ptrmap_get(&c->wanted, body->args[i]);
        if (wish) remember(c, &c->layouts, body->args[i], wish);
    }
    FOR_EACH_OP(op, body) {
        if (exceeds_layouts(op)) continue;
        if (op->def == LINALG(GENERIC) && op->result_count == 1) {
            choose_generic(c, op);
            const Layout *result = ptrmap_get(&c->layouts, op_result(op, 0));
            if (result) choose_initial(c, op_operand(op, op->operand_count - 1), result);
        } else if (is_pad(op)) {
            Layout layout = layout_of(c, op_operand(op, 0));
            remember(c, &c->layouts, op_result(op, 0), &layout);
        } else if (reshape_is(op)) {
            choose_reshape(c, op);
        } else if (layout_is_move(op)) {
            choose_move(c, op);
        }
    }
}

static bool is_kernel(const Op *op)
{
    return op->def == LINALG(GENERIC) && op->result_count == 1;
}

/* A reshape's result streams as its source does; a kernel that starts from it may want another. */
static bool keeps_order(const Chooser *c, const Op *reshape)
{
    Layout source = layout_of(c, op_operand(reshape, 0)), got = layout_of(c, op_result(reshape, 0));
    Layout want;
    return layout_of_reshaped(reshape, &source, &want) &&
           memcmp(got.perm, want.perm, got.rank * sizeof *got.perm) == 0;
}

/* Whether elements come in an order of their own. Those of a constant are permuted, if they are at hand. */
static bool has_order(const Value *value)
{
    const Op *def = value_def(value);
    bool is_constant = def && op_has_trait(def, TRAIT_CONSTANT_LIKE);
    const Attr *elements =
        is_constant && type_is_tensor(value->type) ? op_attr(def, "value") : NULL;
    return is_streamed(value) || (elements && elements->kind != ATTR_DENSE);
}

/* The layout that an operand must have; false: any will do. */
static bool required_layout(const Chooser *c, const Op *op, uint32_t operand, Layout *out)
{
    const Value *value = op_operand(op, operand);
    bool is_initial = is_kernel(op) && operand + 1 == op->operand_count;
    if (has_order(value) && is_initial) *out = layout_of(c, op_result(op, 0));
    if (!has_order(value) || is_kernel(op)) return has_order(value) && is_initial;
    if (op->def == FUNC(RETURN) && !c->is_called) return false;
    *out = identity(value->type->u.shaped.rank);
    if (exceeds_layouts(op)) return true;
    if (reshape_is(op) && keeps_order(c, op)) return false;
    if (is_pad(op)) *out = layout_of(c, op_result(op, 0));
    if (!layout_is_move(op) && !reshape_is(op)) return true;
    Layout result = layout_of(c, op_result(op, 0));
    return reshape_is(op) ? layout_before_reshape(op, &result, out)
                          : layout_before_move(op, operand, &result, out);
}

/* A kernel that copies the operand for this reader, to the layout. */
static void copy_operand(Chooser *c, Op *op, uint32_t operand, const Layout *layout)
{
    Value *value = op_operand(op, operand);
    uint32_t rank = value->type->u.shaped.rank;
    MixedIndex sizes[LAYOUT_MAX_RANK];
    bool is_reduction[LAYOUT_MAX_RANK] = {false};
    const AffineMap *maps[2] = {map_identity(op->ctx, rank), map_identity(op->ctx, rank)};
    for (uint32_t i = 0; i < rank; i++) sizes[i] = mixed_constant(value->type->u.shaped.dims[i]);
    Builder b = builder_before(op);
    Value *init = tensor_empty(&b, sizes, rank, type_elem(value->type));
    Op *copy = linalg_build_generic(&b, &value, 1, &init, 1, linalg_maps_attr(op->ctx, maps, 2),
                                    linalg_iterators_attr(op->ctx, is_reduction, rank));
    Builder body = builder_at_end(linalg_body(copy), op->loc);
    Value *element = linalg_body(copy)->args[0];
    linalg_yield(&body, &element, 1);
    op_set_operand(op, operand, op_result(copy, 0));
    remember(c, &c->layouts, init, layout);
    remember(c, &c->layouts, op_result(copy, 0), layout);
}

/* A tensor that streams in another order than its reader can take is copied, which takes a
 * transposition. */
static void copy_misfits(Chooser *c, Block *body)
{
    Layout want;
    FOR_EACH_OP(op, body)
        for (uint32_t i = 0; i < op->operand_count; i++) {
            if (!required_layout(c, op, i, &want)) continue;
            Layout got = layout_of(c, op_operand(op, i));
            if (memcmp(got.perm, want.perm, got.rank * sizeof *got.perm) != 0)
                copy_operand(c, op, i, &want);
        }
}

static void choose_all(Chooser *c, Block *body)
{
    ptrmap_clear(&c->wanted);
    ptrmap_clear(&c->layouts);
    for (int round = 0; round < 2; round++) { /* the second round wishes for what the first chose */
        collect_wishes(c, body);
        choose_layouts(c, body);
    }
}

/* Makes readers of tensors that do not stream in the order of their collapse_shape do without it;
 * true if any can. */
static bool sink_collapses(const Chooser *c, Block *body)
{
    VEC(Op *) misfits = {0};
    bool any = false;
    FOR_EACH_OP(op, body)
        if (op->def == TENSOR(COLLAPSE_SHAPE) && reshape_is(op) && !exceeds_layouts(op) &&
            !keeps_order(c, op) && !(c->keeps_moves && layout_ends_move(op)))
            *vec_push(&misfits) = op;
    for (size_t i = 0; i < misfits.len; i++) any |= layout_sink_collapse(misfits.data[i]);
    vec_free(&misfits);
    return any;
}

static bool check_kernels(const Block *body, bool keeps_going)
{
    Kernel kernel;
    bool ok = true;
    FOR_EACH_OP(op, body)
        if (is_kernel(op) && (ok || keeps_going)) ok &= kernel_analyze(op, &kernel);
    return ok;
}

static bool check_recorded(Op *func, const char *name, const Type *const *types)
{
    const Attr *all = op_attr(func, name);
    for (uint32_t i = 0; all && i < all->u.array.count; i++) {
        const Attr *layout = attr_dict_get_c(all->u.array.items[i], DFG_ATTR_LAYOUT);
        bool fits = !layout || (type_is_ranked(types[i]) &&
                                layout->u.map->result_count == types[i]->u.shaped.rank);
        if (!fits)
            return op_error(func, "dfg.layout must permute the dimensions of '%s'",
                            type_str(func->ctx, types[i]));
    }
    return true;
}

bool layout_check_recorded(Op *func)
{
    const Type *type = func_type(func);
    return check_recorded(func, "arg_attrs", type->u.function.types) &&
           check_recorded(func, "res_attrs", type->u.function.types + type->u.function.input_count);
}

static bool normalize_layout(Pass *pass, Op *func)
{
    if (!layout_check_recorded(func)) return false;

    Chooser c = {.arena = &pass->scratch,
                 .keeps_moves = pass_bool(pass, "keep-moves"),
                 .is_called = pass_op_is_referred(pass)};
    Block *body = func_entry(func);
    if (!body) return true;
    if (op_region(func, 0)->first != op_region(func, 0)->last)
        return op_error(func, "has control flow; a streaming network is straight-line code");
    if (!check_kernels(body, pass_bool(pass, "keep-going"))) return false;
    FOR_EACH_OP(op, body)
        for (uint32_t i = 0; i < op->operand_count; i++)
            if ((is_kernel(op) && i + 1 == op->operand_count) || layout_is_move(op))
                layout_unshare_initial(op, i);
    do choose_all(&c, body);
    while (sink_collapses(&c, body));
    copy_misfits(&c, body);
    layout_apply(func, &c.layouts);
    ptrmap_free(&c.wanted);
    ptrmap_free(&c.layouts);
    return true;
}

const PassDef pass_normalize_layout = {
    .name = "normalize-layout",
    .summary = "Store every tensor in stream order: pixels row by row, channels innermost",
    .anchor = "func.func",
    .options = OPTIONS({.name = "keep-going",
                        .kind = OPTION_BOOL,
                        .help = "report every kernel that cannot be analysed, not only the first"},
                       {.name = "keep-moves",
                        .kind = OPTION_BOOL,
                        .help = "leave depth to space, and what else moves elements from one "
                                "dimension to another one, a kernel of its own, and repeat a "
                                "dimension of one element where it is"}),
    .run = normalize_layout,
};
