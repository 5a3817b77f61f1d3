/* Layouts that kernels would like for their operands, and that follow from one side of a kernel for the
 * other.
 * Tests: lit/passes/linalg/normalize-layout.mir */
#include "analysis/analysis.h"
#include "dialects/linalg/linalg.h"
#include "passes/linalg/layout/internal.h"

bool layout_is_identity(const Layout *layout)
{
    for (uint32_t i = 0; i < layout->rank; i++)
        if (layout->perm[i] != i) return false;
    return true;
}

Layout layout_identity(uint32_t rank)
{
    Layout layout = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) layout.perm[i] = i;
    return layout;
}

Layout layout_channels_last(uint32_t rank)
{
    Layout layout = layout_identity(rank);
    for (uint32_t r = 1; r < rank; r++) layout.perm[r] = r + 1 < rank ? r + 1 : 1;
    return layout;
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
    *out = layout_channels_last(map->result_count);
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

bool layout_wanted_by_kernel(const Kernel *kernel, uint32_t operand, bool keeps_moves, Layout *out)
{
    return wanted_by_window(kernel, operand, out) ||
           (keeps_moves &&
            (wanted_by_repeat(kernel, operand, out) || wanted_by_constants(kernel, operand, out)));
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

bool layout_before_kernel(const Kernel *kernel, uint32_t operand, const Layout *result,
                          bool keeps_moves, Layout *out)
{
    const AffineMap *map = linalg_operand_map(kernel->op, operand);
    uint32_t order[KERNEL_MAX_LOOPS];
    if (reduces_operand(kernel, map)) return false;
    uint32_t count = loop_order(kernel, output_map(kernel->op), result, order);
    if (keeps_moves && repeats_in_place(kernel, map, output_map(kernel->op)))
        *out = *result;
    else
        layout_in_order(kernel, map, order, count, out);
    return true;
}

void layout_behind_kernel(const Kernel *kernel, uint32_t operand, const Layout *input,
                          bool keeps_moves, Layout *out)
{
    const AffineMap *map = linalg_operand_map(kernel->op, operand);
    uint32_t order[KERNEL_MAX_LOOPS];
    uint32_t count = loop_order(kernel, map, input, order);
    if (keeps_moves && repeats_in_place(kernel, map, output_map(kernel->op)))
        *out = *input;
    else
        layout_in_order(kernel, output_map(kernel->op), order, count, out);
}

uint32_t layout_walking_loops(const Kernel *kernel, const AffineMap *map)
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
