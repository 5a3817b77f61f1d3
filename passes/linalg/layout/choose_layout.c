/* Chooses a layout for every tensor of a function: readers tell what they would like, against the stream,
 * and results follow from operands, along it.
 * Tests: lit/passes/linalg/normalize-layout.mir */
#include "analysis/analysis.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "passes/linalg/layout/internal.h"

/* Constants keep their order. */
static bool has_layout(const Value *value)
{
    const Op *def = value_def(value);
    return value->type->kind == TYPE_RANKED_TENSOR &&
           value->type->u.shaped.rank <= LAYOUT_MAX_RANK &&
           !(def && op_has_trait(def, TRAIT_CONSTANT_LIKE));
}

bool layout_is_streamed(const Value *value)
{
    const Op *def = value_def(value);
    return has_layout(value) && !(def && (def->def == TENSOR(EMPTY) || kernel_fill_value(def)));
}

void layout_remember(Chooser *c, PtrMap *map, const Value *value, const Layout *layout)
{
    if (map == &c->layouts && layout_is_captured(value)) return;
    ptrmap_put(map, value, arena_copy(c->arena, layout, sizeof(*layout)));
}

Layout layout_chosen(const Chooser *c, const Value *value)
{
    const Layout *found = ptrmap_get(&c->layouts, value);
    return found ? *found : layout_identity(value->type->u.shaped.rank);
}

/* What is no part of a reduction, as an element whose thresholds are counted, arrives in the order of the
 * result. */
static void want_of_generic(Chooser *c, const Op *op)
{
    Kernel kernel;
    Layout layout;
    if (!kernel_analyze(op, &kernel)) return; /* check_kernels: never */
    const Layout *result = ptrmap_get(&c->wanted, op_result(op, 0));
    if (!result) result = ptrmap_get(&c->layouts, op_result(op, 0));
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        const AffineMap *map = linalg_operand_map(op, i);
        if (!layout_is_streamed(op_operand(op, i)) || map->result_count > LAYOUT_MAX_RANK) continue;
        if ((result && layout_before_kernel(&kernel, i, result, c->keeps_moves, &layout)) ||
            layout_wanted_by_kernel(&kernel, i, c->keeps_moves, &layout))
            layout_remember(c, &c->wanted, op_operand(op, i), &layout);
    }
}

/* Where moves are kept, they begin with channels behind the others, also with the only one. */
static void want_of_reshape(Chooser *c, const Op *op)
{
    const Value *source = op_operand(op, 0);
    const Layout *wish = ptrmap_get(&c->wanted, op_result(op, 0));
    const Layout last = layout_channels_last(source->type->u.shaped.rank);
    bool is_kept = c->keeps_moves && op->def == TENSOR(EXPAND_SHAPE) && has_layout(source);
    Layout layout;
    if (wish && layout_before_reshape(op, wish, &layout)) {
        bool is_last =
            is_kept && layout_is_same_order(source->type, &layout, &last) && layout_begins_move(op);
        layout_remember(c, &c->wanted, source, is_last ? &last : &layout);
    } else if (is_kept && !ptrmap_get(&c->wanted, source) &&
               ((wish && layout_splits_channels(op)) || layout_begins_move(op))) {
        layout_remember(c, &c->wanted, source, &last);
    }
}

bool layout_is_pad(const Op *op)
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
            layout_remember(c, &c->wanted, op_operand(op, i), &layout);
}

static bool is_too_wide(const Type *type)
{
    return type->kind == TYPE_RANKED_TENSOR && type->u.shaped.rank > LAYOUT_MAX_RANK;
}

bool layout_exceeds(const Op *op)
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
        if (layout_exceeds(op)) continue;
        if (op->def == LINALG(GENERIC) && op->result_count == 1) {
            want_of_generic(c, op);
        } else if (layout_is_pad(op)) {
            const Layout *wish = ptrmap_get(&c->wanted, op_result(op, 0));
            if (wish) layout_remember(c, &c->wanted, op_operand(op, 0), wish);
        } else if (reshape_is(op)) {
            want_of_reshape(c, op);
        } else if (layout_is_move(op)) {
            want_of_move(c, op);
        }
    }
}

/* How much of a kernel's order an operand tells; what is broadcast, as a number for each channel, tells
 * less than the others. Operands of a move (no kernel) tell as much as each other. */
static uint32_t weight_of_input(const Op *op, const Kernel *kernel, uint32_t operand)
{
    return kernel ? 1 + layout_walking_loops(kernel, linalg_operand_map(op, operand)) : 1;
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
        if (!layout_is_streamed(input)) continue;
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
        if (layout_is_streamed(op_operand(op, i))) return true;
    return false;
}

/* The result's loops run in the order in which the input arrives. Where moves are kept, so do rows and
 * columns of which the input has one alone. */
static void choose_generic(Chooser *c, const Op *op)
{
    Kernel kernel;
    Layout layout;
    uint32_t operand = 0;
    if (!reads_streams(op) || !has_layout(op_result(op, 0)) || !kernel_analyze(op, &kernel)) return;
    const Value *input = leading_input(c, op, &kernel, linalg_input_count(op), &operand);
    Layout in = layout_chosen(c, input);
    layout_behind_kernel(&kernel, operand, &in, c->keeps_moves, &layout);
    layout_remember(c, &c->layouts, op_result(op, 0), &layout);
}

/* Values that have no op of their own to decide: the initial tensors follow the kernel's result. */
static void choose_initial(Chooser *c, Value *init, const Layout *layout)
{
    const Op *def = value_def(init);
    if (!has_layout(init) || layout_is_streamed(init)) return;
    layout_remember(c, &c->layouts, init, layout);
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
    layout = layout_chosen(c, input);
    if (!layout_of_moved(op, operand, &layout, &result)) return;
    layout_remember(c, &c->layouts, op_result(op, 0), &result);
    result = layout_chosen(c, op_result(op, 0)); /* another one if it is captured */
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!layout_is_streamed(op_operand(op, i)) && layout_before_move(op, i, &result, &layout))
            choose_initial(c, op_operand(op, i), &layout);
}

/* Where moves are kept, a map that is left of one pixel, or one channel, has its channels behind the others. */
static void choose_reshape(Chooser *c, const Op *op)
{
    const Value *result = op_result(op, 0);
    const Layout source = layout_chosen(c, op_operand(op, 0));
    const Layout *wish = ptrmap_get(&c->wanted, result);
    Layout layout;
    if (layout_of_reshaped(op, &source, &layout)) {
        const Layout last = wish ? *wish : layout_channels_last(layout.rank);
        bool is_last = c->keeps_moves && op->def == TENSOR(COLLAPSE_SHAPE) &&
                       layout_is_same_order(result->type, &layout, &last) && layout_ends_move(op);
        layout_remember(c, &c->layouts, result, is_last ? &last : &layout);
    } else if (wish && layout_before_reshape(op, wish, &layout)) { /* its source will be copied */
        layout_remember(c, &c->layouts, result, wish);
    }
}

static void choose_layouts(Chooser *c, Block *body)
{
    for (uint32_t i = 0; i < body->arg_count && !c->is_called; i++) {
        const Layout *wish = ptrmap_get(&c->wanted, body->args[i]);
        if (wish) layout_remember(c, &c->layouts, body->args[i], wish);
    }
    FOR_EACH_OP(op, body) {
        if (layout_exceeds(op)) continue;
        if (op->def == LINALG(GENERIC) && op->result_count == 1) {
            choose_generic(c, op);
            const Layout *result = ptrmap_get(&c->layouts, op_result(op, 0));
            if (result) choose_initial(c, op_operand(op, op->operand_count - 1), result);
        } else if (layout_is_pad(op)) {
            Layout layout = layout_chosen(c, op_operand(op, 0));
            layout_remember(c, &c->layouts, op_result(op, 0), &layout);
        } else if (reshape_is(op)) {
            choose_reshape(c, op);
        } else if (layout_is_move(op)) {
            choose_move(c, op);
        }
    }
}

void layout_choose(Chooser *c, Block *body)
{
    ptrmap_clear(&c->wanted);
    ptrmap_clear(&c->layouts);
    for (int round = 0; round < 2; round++) { /* the second round wishes for what the first chose */
        collect_wishes(c, body);
        choose_layouts(c, body);
    }
}
