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

static bool is_kernel(const Op *op)
{
    return op->def == LINALG(GENERIC) && op->result_count == 1;
}

/* A reshape's result streams as its source does; a kernel that starts from it may want another. */
static bool keeps_order(const Chooser *c, const Op *reshape)
{
    Layout source = layout_chosen(c, op_operand(reshape, 0)),
           got = layout_chosen(c, op_result(reshape, 0));
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
    return layout_is_streamed(value) || (elements && elements->kind != ATTR_DENSE);
}

/* The layout that an operand must have; false: any will do. */
static bool required_layout(const Chooser *c, const Op *op, uint32_t operand, Layout *out)
{
    const Value *value = op_operand(op, operand);
    bool is_initial = is_kernel(op) && operand + 1 == op->operand_count;
    if (has_order(value) && is_initial) *out = layout_chosen(c, op_result(op, 0));
    if (!has_order(value) || is_kernel(op)) return has_order(value) && is_initial;
    if (op->def == FUNC(RETURN) && !c->is_called) return false;
    *out = layout_identity(value->type->u.shaped.rank);
    if (layout_exceeds(op)) return true;
    if (reshape_is(op) && keeps_order(c, op)) return false;
    if (layout_is_pad(op)) *out = layout_chosen(c, op_result(op, 0));
    if (!layout_is_move(op) && !reshape_is(op)) return true;
    Layout result = layout_chosen(c, op_result(op, 0));
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
    layout_remember(c, &c->layouts, init, layout);
    layout_remember(c, &c->layouts, op_result(copy, 0), layout);
}

/* A tensor that streams in another order than its reader can take is copied, which takes a
 * transposition. */
static void copy_misfits(Chooser *c, Block *body)
{
    Layout want;
    FOR_EACH_OP(op, body)
        for (uint32_t i = 0; i < op->operand_count; i++) {
            if (!required_layout(c, op, i, &want)) continue;
            Layout got = layout_chosen(c, op_operand(op, i));
            if (memcmp(got.perm, want.perm, got.rank * sizeof *got.perm) != 0)
                copy_operand(c, op, i, &want);
        }
}

/* Makes readers of tensors that do not stream in the order of their collapse_shape do without it;
 * true if any can. */
static bool sink_collapses(const Chooser *c, Block *body)
{
    VEC(Op *) misfits = {0};
    bool any = false;
    FOR_EACH_OP(op, body)
        if (op->def == TENSOR(COLLAPSE_SHAPE) && reshape_is(op) && !layout_exceeds(op) &&
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
    do layout_choose(&c, body);
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
