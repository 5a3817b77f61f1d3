/* normalize-layout: makes the row-major order of every tensor the order in which it streams: pixels row
 * by row, channels innermost. What a window slides over comes before the dimensions it does not, a
 * leading batch dimension stays first. Payloads do not change, only maps and types, and the loops of
 * kernels behind a collapse_shape that would need another order; a function's arguments and results
 * record the change as dfg.layout, a map from the model's index to the stream's.
 * Requires: named ops generalized, straight-line functions of linalg on static tensors.
 * Changes: types, indexing maps, padding, initial constants, signatures.
 * Tests: lit/passes/normalize-layout.mir */
#include "passes/normalize_layout.h"

#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "dialects/linalg/structured.h"
#include "dialects/tensor/tensor.h"
#include "ir/builder.h"
#include "ir/diag.h"
#include "ir/pass.h"
#include "passes/kernel.h"
#include "passes/passes.h"
#include "passes/reshape.h"

#include <string.h>

typedef struct Chooser {
    Arena *arena;
    PtrMap wanted;  /* Value* -> Layout*: what a reader would like */
    PtrMap layouts; /* Value* -> Layout*: what it gets */
} Chooser;

bool layout_is_identity(const Layout *layout)
{
    for (uint32_t i = 0; i < layout->rank; i++)
        if (layout->perm[i] != i)
            return false;
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

/* Whether elements arrive one by one: not a fill nor, as a pool's window, a mere shape. */
static bool is_streamed(const Value *value)
{
    const Op *def = value_def(value);
    return has_layout(value) && !(def && (def->def == TENSOR(EMPTY) || kernel_fill_value(def)));
}

static void remember(Chooser *c, PtrMap *map, const Value *value, const Layout *layout)
{
    ptrmap_put(map, value, arena_copy(c->arena, layout, sizeof(*layout)));
}

static Layout identity(uint32_t rank)
{
    Layout layout = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++)
        layout.perm[i] = i;
    return layout;
}

static Layout layout_of(const Chooser *c, const Value *value)
{
    const Layout *found = ptrmap_get(&c->layouts, value);
    return found ? *found : identity(value->type->u.shaped.rank);
}

/* --- what kernels want --------------------------------------------------------------------- */

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

static bool map_uses_loop(const AffineMap *map, uint32_t loop)
{
    for (uint32_t r = 0; r < map->result_count; r++)
        if (affine_uses_dim(map->results[r], loop))
            return true;
    return false;
}

/* Whether an index of an operand is a channel: summed up, or an index of other inputs (weights). */
static bool is_channel_index(const Kernel *kernel, uint32_t operand, const AffineExpr *expr)
{
    if (!is_parallel_dim(kernel, expr))
        return true;
    for (uint32_t i = 0; i < linalg_input_count(kernel->op); i++)
        if (i != operand && map_uses_loop(linalg_operand_map(kernel->op, i), (uint32_t)expr->value))
            return true;
    return false;
}

/* Positions in their order, channels behind them; false if nothing slides. Of the dimensions that do
 * not slide, the first is the batch and the others are channels if there are enough for both; where
 * there are more, some are positions with a window of one. */
static bool wanted_by_window(const Kernel *kernel, uint32_t operand, Layout *out)
{
    const AffineMap *map = linalg_operand_map(kernel->op, operand);
    uint32_t windows = 0, n = 0;
    bool is_channel[LAYOUT_MAX_RANK];
    for (uint32_t r = 0; r < map->result_count; r++)
        windows += is_window_index(kernel, map->results[r]);
    if (windows == 0)
        return false;
    bool batch = map->result_count >= windows + 2, only_batch = map->result_count == windows + 2;
    for (uint32_t r = 0; r < map->result_count; r++) {
        const AffineExpr *expr = map->results[r];
        is_channel[r] = !is_window_index(kernel, expr) &&
                        (!batch || (only_batch && r > 0) ||
                         is_channel_index(kernel, operand, expr));
        if (!is_channel[r])
            out->perm[n++] = r;
    }
    for (uint32_t r = 0; r < map->result_count; r++)
        if (is_channel[r])
            out->perm[n++] = r;
    out->rank = n;
    return true;
}

static const AffineMap *output_map(const Op *generic)
{
    return linalg_operand_map(generic, linalg_input_count(generic));
}

static bool is_input_loop(const Op *generic, uint32_t loop)
{
    for (uint32_t i = 0; i < linalg_input_count(generic); i++)
        if (map_uses_loop(linalg_operand_map(generic, i), loop))
            return true;
    return false;
}

/* The first result of an output map, not placed yet, whose loop no input has: what is left of a
 * dimension that is summed up. -1: none. */
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
    if (r < 0 || placed[r])
        return;
    placed[r] = true;
    out->perm[out->rank++] = (uint32_t)r;
}

/* The result of an operand's map that a loop walks, in steps or one by one; -1: none. */
static int result_of_loop(const Kernel *kernel, const AffineMap *map, uint32_t loop)
{
    KernelIndex index;
    int bare = map_result_of_dim(map, loop);
    for (uint32_t r = 0; bare < 0 && r < map->result_count; r++)
        if (kernel_index(kernel, map->results[r], &index) && index.parallel == (int)loop)
            return (int)r;
    return bare;
}

/* Layout of an operand in which the loops run in the order of `order` (loop positions). What is left
 * of a summed dimension takes its place; dimensions that no loop walks come last. */
static void layout_in_order(const Kernel *kernel, const AffineMap *map, const uint32_t *order,
                            uint32_t count, Layout *out)
{
    bool placed[LAYOUT_MAX_RANK] = {false};
    out->rank = 0;
    for (uint32_t i = 0; i < count; i++) {
        int r = result_of_loop(kernel, map, order[i]);
        if (r < 0 && kernel->is_reduction[order[i]])
            r = next_summed(kernel->op, map, placed);
        place(out, placed, r);
    }
    for (uint32_t r = 0; r < map->result_count; r++)
        place(out, placed, (int)r);
}

/* Loops in the order in which a laid-out operand's dimensions meet them; windows count as their
 * parallel loop. */
static uint32_t loop_order(const Kernel *kernel, const AffineMap *map, const Layout *layout,
                           uint32_t *order)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < layout->rank; i++) {
        KernelIndex index;
        if (!kernel_index(kernel, map->results[layout->perm[i]], &index))
            continue;
        int loop = index.parallel >= 0 ? index.parallel : index.reduction;
        if (loop >= 0 && count < KERNEL_MAX_LOOPS)
            order[count++] = (uint32_t)loop;
    }
    return count;
}

static void want_of_generic(Chooser *c, const Op *op)
{
    Kernel kernel;
    uint32_t order[KERNEL_MAX_LOOPS];
    Layout layout;
    if (!kernel_analyze(op, &kernel))
        return; /* check_kernels: never */
    const Layout *result = ptrmap_get(&c->wanted, op_result(op, 0));
    if (!result)
        result = ptrmap_get(&c->layouts, op_result(op, 0));
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        const AffineMap *map = linalg_operand_map(op, i);
        if (!is_streamed(op_operand(op, i)) || map->result_count > LAYOUT_MAX_RANK)
            continue;
        if (result && kernel.class == KERNEL_PURE_PARALLEL) {
            uint32_t count = loop_order(&kernel, output_map(op), result, order);
            layout_in_order(&kernel, map, order, count, &layout);
        } else if (!wanted_by_window(&kernel, i, &layout)) {
            continue;
        }
        remember(c, &c->wanted, op_operand(op, i), &layout);
    }
}

static void want_of_reshape(Chooser *c, const Op *op)
{
    const Layout *wish = ptrmap_get(&c->wanted, op_result(op, 0));
    Layout layout;
    if (wish && layout_before_reshape(op, wish, &layout))
        remember(c, &c->wanted, op_operand(op, 0), &layout);
}

/* Wishes travel from readers to what they read. Where no reader further on has one, element-wise
 * kernels want the layout that was chosen for their result. */
static void collect_wishes(Chooser *c, Block *body)
{
    for (Op *op = body->last; op; op = op->prev) {
        if (op->def == LINALG(GENERIC) && op->result_count == 1) {
            want_of_generic(c, op);
        } else if (op->def == TENSOR(PAD)) {
            const Layout *wish = ptrmap_get(&c->wanted, op_result(op, 0));
            if (wish)
                remember(c, &c->wanted, op_operand(op, 0), wish);
        } else if (is_reshape(op)) {
            want_of_reshape(c, op);
        }
    }
}

/* --- what values get ------------------------------------------------------------------------- */

/* The streamed input that the others follow: the first that is reordered, else the first. */
static const Value *leading_input(const Chooser *c, const Op *generic, uint32_t *operand)
{
    const Value *first = NULL;
    for (uint32_t i = 0; i < linalg_input_count(generic); i++) {
        const Value *input = op_operand(generic, i);
        const Layout *layout = ptrmap_get(&c->layouts, input);
        bool leads = layout && !layout_is_identity(layout);
        if (!is_streamed(input) || (first && !leads))
            continue;
        *operand = i;
        if (leads)
            return input;
        first = input;
    }
    return first;
}

/* The result's loops run in the order in which the input arrives. */
static void choose_generic(Chooser *c, const Op *op)
{
    Kernel kernel;
    Layout layout;
    uint32_t operand = 0, order[KERNEL_MAX_LOOPS];
    const Value *input = leading_input(c, op, &operand);
    if (!input || !kernel_analyze(op, &kernel) || !has_layout(op_result(op, 0)))
        return;
    Layout in = layout_of(c, input);
    uint32_t count = loop_order(&kernel, linalg_operand_map(op, operand), &in, order);
    layout_in_order(&kernel, output_map(op), order, count, &layout);
    remember(c, &c->layouts, op_result(op, 0), &layout);
}

/* Values that have no op of their own to decide: the initial tensors follow the kernel's result. */
static void choose_initial(Chooser *c, Value *init, const Layout *layout)
{
    const Op *def = value_def(init);
    if (!has_layout(init))
        return;
    remember(c, &c->layouts, init, layout);
    if (def && kernel_fill_value(def))
        choose_initial(c, op_operand(def, def->operand_count - 1), layout);
}

static void choose_reshape(Chooser *c, const Op *op)
{
    Layout source = layout_of(c, op_operand(op, 0)), layout;
    if (layout_of_reshaped(op, &source, &layout))
        remember(c, &c->layouts, op_result(op, 0), &layout);
}

static void choose_layouts(Chooser *c, Block *body)
{
    for (uint32_t i = 0; i < body->arg_count; i++) {
        const Layout *wish = ptrmap_get(&c->wanted, body->args[i]);
        if (wish)
            remember(c, &c->layouts, body->args[i], wish);
    }
    FOR_EACH_OP(op, body)
    {
        if (op->def == LINALG(GENERIC) && op->result_count == 1) {
            choose_generic(c, op);
            const Layout *result = ptrmap_get(&c->layouts, op_result(op, 0));
            if (result)
                choose_initial(c, op_operand(op, op->operand_count - 1), result);
        } else if (op->def == TENSOR(PAD)) {
            Layout layout = layout_of(c, op_operand(op, 0));
            remember(c, &c->layouts, op_result(op, 0), &layout);
        } else if (is_reshape(op)) {
            choose_reshape(c, op);
        }
    }
}

/* --- the pass ------------------------------------------------------------------------------------ */

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

static bool knows_layouts(const Chooser *c, const Op *op)
{
    if (is_reshape(op))
        return keeps_order(c, op);
    return is_kernel(op) || op->def == LINALG(FILL) || op->def == TENSOR(EMPTY) ||
           op->def == TENSOR(PAD) || op->def == FUNC(RETURN) ||
           op_has_trait(op, TRAIT_CONSTANT_LIKE);
}

typedef struct ReaderCheck {
    const Chooser *chooser;
    bool ok;
} ReaderCheck;

/* An op that reads a reordered tensor without knowing of layouts cannot stay. */
static bool check_reader(Op *op, void *user)
{
    ReaderCheck *check = user;
    if (knows_layouts(check->chooser, op))
        return true;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Layout *layout = ptrmap_get(&check->chooser->layouts, op_operand(op, i));
        if (!is_reshape(op) && (!layout || layout_is_identity(layout)))
            continue;
        check->ok = op_error(op, "reads a tensor whose stream order is not its row-major order; "
                                 "that needs a transposition");
        break;
    }
    return true;
}

/* Gives each kernel initial tensors of its own, since their order follows the kernel's. */
static void unshare_initial(Op *user, uint32_t operand)
{
    Op *def = value_def(op_operand(user, operand));
    if (!def || (!kernel_fill_value(def) && def->def != TENSOR(EMPTY)))
        return;
    if (!value_has_one_use(op_result(def, 0))) {
        Op *copy = op_clone(def, NULL);
        op_insert_before(copy, user);
        op_set_operand(user, operand, op_result(copy, 0));
        def = copy;
    }
    if (kernel_fill_value(def))
        unshare_initial(def, def->operand_count - 1);
}

static void choose_all(Chooser *c, Block *body)
{
    ptrmap_clear(&c->wanted);
    ptrmap_clear(&c->layouts);
    for (int round = 0; round < 2; round++) { /* the second wishes for what the first chose */
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
    if (op->def == TENSOR(COLLAPSE_SHAPE) && is_reshape(op) && !keeps_order(c, op))
        *vec_push(&misfits) = op;
    for (size_t i = 0; i < misfits.len; i++)
        any |= layout_sink_collapse(misfits.data[i]);
    vec_free(&misfits);
    return any;
}

static bool check_kernels(const Block *body)
{
    Kernel kernel;
    bool ok = true;
    FOR_EACH_OP(op, body)
    if (is_kernel(op))
        ok &= kernel_analyze(op, &kernel);
    return ok;
}

static bool normalize_layout(Pass *pass, Op *func)
{
    Chooser c = {.arena = &pass->scratch};
    ReaderCheck check = {&c, true};
    Block *body = func_entry(func);
    if (!body)
        return true;
    if (op_region(func, 0)->first != op_region(func, 0)->last)
        return op_error(func, "has control flow; a streaming network is straight-line code");
    if (!check_kernels(body))
        return false;
    FOR_EACH_OP(op, body)
    if (is_kernel(op))
        unshare_initial(op, op->operand_count - 1);
    do
        choose_all(&c, body);
    while (sink_collapses(&c, body));
    op_walk(func, check_reader, &check);
    if (check.ok)
        layout_apply(func, &c.layouts);
    ptrmap_free(&c.wanted);
    ptrmap_free(&c.layouts);
    return check.ok;
}

const PassDef pass_normalize_layout = {
    .name = "normalize-layout",
    .summary = "Store every tensor in stream order: pixels row by row, channels innermost",
    .anchor = "func.func",
    .run = normalize_layout,
};
