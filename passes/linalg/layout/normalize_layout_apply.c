/* The rewriting step of normalize-layout: types, maps, padding, initial constants and signatures.
 * Tests: lit/passes/linalg/normalize-layout.mir */
#include <assert.h>

#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/core/core.h"
#include "passes/linalg/layout/internal.h"

static const Layout *reordered(const PtrMap *layouts, const Value *value)
{
    const Layout *layout = ptrmap_get(layouts, value);
    return layout && !layout_is_identity(layout) ? layout : NULL;
}

static const Type *permuted_type(const Type *type, const Layout *layout)
{
    int64_t dims[LAYOUT_MAX_RANK];
    for (uint32_t i = 0; i < layout->rank; i++) dims[i] = type->u.shaped.dims[layout->perm[i]];
    return type_with_shape(type, dims, layout->rank);
}

static const AffineMap *permuted_map(const AffineMap *map, const Layout *layout)
{
    const AffineExpr *results[LAYOUT_MAX_RANK];
    for (uint32_t i = 0; i < layout->rank; i++) results[i] = map->results[layout->perm[i]];
    return map_get(map->ctx, map->dim_count, map->symbol_count, layout->rank, results);
}

static void permute_maps(Op *generic, const PtrMap *layouts)
{
    VEC(const AffineMap *) maps = {0};
    for (uint32_t i = 0; i < generic->operand_count; i++) {
        const AffineMap *map = linalg_operand_map(generic, i);
        bool is_init = i + 1 == generic->operand_count;
        const Layout *layout =
            reordered(layouts, is_init ? op_result(generic, 0) : op_operand(generic, i));
        *vec_push(&maps) = layout ? permuted_map(map, layout) : map;
    }
    op_set_attr(generic, "indexing_maps", linalg_maps_attr(generic->ctx, maps.data, maps.len));
    vec_free(&maps);
}

void layout_permute_list(Op *op, const char *name, const Layout *layout)
{
    int64_t old[LAYOUT_MAX_RANK], new[LAYOUT_MAX_RANK];
    size_t count = 0;
    if (!attr_int_list(op_attr(op, name), old, LAYOUT_MAX_RANK, &count)) return;
    for (size_t i = 0; i < count; i++) new[i] = old[layout->perm[i]];
    op_set_attr(op, name, attr_i64_array(op->ctx, new, count));
}

/* A dense constant with its dimensions permuted. */
static const Attr *permuted_elements(const Attr *value, const Layout *layout, Arena *arena)
{
    const Type *type = permuted_type(value->type, layout);
    const Type *elem = type_elem(type);
    uint32_t bytes = dense_elem_bytes(elem);
    int64_t count = dense_count(value), strides[LAYOUT_MAX_RANK], stride = 1;
    if (value->u.dense.is_splat)
        return attr_dense_raw(type, value->u.dense.data, value->u.dense.size, true);
    for (uint32_t i = layout->rank; i-- > 0;) {
        strides[i] = stride;
        stride *= value->type->u.shaped.dims[i];
    }
    uint8_t *data = arena_alloc(arena, value->u.dense.size);
    for (int64_t n = 0; n < count; n++) {
        int64_t rest = n, from = 0;
        for (uint32_t i = layout->rank; i-- > 0;) {
            from += rest % type->u.shaped.dims[i] * strides[layout->perm[i]];
            rest /= type->u.shaped.dims[i];
        }
        dense_copy_elem(data, n, value->u.dense.data, from, bytes);
    }
    return attr_dense_raw(type, data, value->u.dense.size, false);
}

/* Constants keep their order, except one whose type must be a result's: a kernel starts from it, or
 * it is put together with others. */
static void permute_constant(Op *user, uint32_t operand, const Layout *layout)
{
    Op *def = value_def(op_operand(user, operand));
    if (layout_is_identity(layout) || !def || !op_has_trait(def, TRAIT_CONSTANT_LIKE)) return;
    assert(op_attr(def, "value")->kind == ATTR_DENSE); /* others were copied */
    Arena scratch;
    arena_init(&scratch);
    Op *copy = op_clone(def, NULL);
    const Attr *value = permuted_elements(op_attr(def, "value"), layout, &scratch);
    op_set_attr(copy, "value", value);
    op_result(copy, 0)->type = value->type;
    op_insert_after(copy, def);
    op_set_operand(user, operand, op_result(copy, 0));
    arena_free(&scratch);
}

static void permute_move(Op *op, const PtrMap *layouts)
{
    bool extract = op->def == TENSOR(EXTRACT_SLICE);
    const Layout *full = reordered(layouts, extract ? op_operand(op, 0) : op_result(op, 0));
    Layout part;
    if (!full) return;
    for (uint32_t i = 0; !extract && i < op->operand_count; i++)
        if (layout_before_move(op, i, full, &part)) permute_constant(op, i, &part);
    layout_permute_move(op, full);
}

/* The groups of a reshape whose types are in stream order now. */
static void regroup(Op *op)
{
    const Type *source = op_operand(op, 0)->type, *result = op_result(op, 0)->type;
    bool expands = op->def == TENSOR(EXPAND_SHAPE);
    const Attr *groups =
        expands ? reshape_reassociation(result, source) : reshape_reassociation(source, result);
    assert(groups); /* layout_of_reshaped sees to it */
    op_set_attr(op, "reassociation", groups);
    if (expands)
        op_set_attr(op, "static_output_shape",
                    attr_i64_array(op->ctx, result->u.shaped.dims, result->u.shaped.rank));
}

/* type: of the value as it streams. */
static const Attr *with_layout(const Attr *dict, const Layout *layout, const Type *type)
{
    Context *ctx = dict->ctx;
    const Attr *old = attr_dict_get_c(dict, DFG_ATTR_LAYOUT);
    const AffineMap *map = map_permutation(ctx, layout->rank, layout->perm);
    if (old && old->kind == ATTR_AFFINE_MAP) map = map_compose(map, old->u.map);
    dict = attr_dict_set(dict, ident_get_c(ctx, DFG_ATTR_LAYOUT), attr_map(map));
    const Attr *tensors = attr_dict_get_c(dict, DFG_ATTR_TENSORS);
    if (!tensors) return dict;
    tensors = dfg_tensors_reorder(tensors, type, layout->perm);
    return attr_dict_set(dict, ident_get_c(ctx, DFG_ATTR_TENSORS),
                         tensors ? tensors : attr_array(ctx, NULL, 0));
}

/* Records reordered values in arg_attrs or res_attrs. */
static void record_layouts(Op *func, const char *name, Value *const *values, uint32_t count,
                           const PtrMap *layouts)
{
    const Attr *old = op_attr(func, name), *empty = attr_dict(func->ctx, NULL, 0);
    VEC(const Attr *) dicts = {0};
    bool changed = false;
    for (uint32_t i = 0; i < count; i++) {
        const Attr *dict = old ? old->u.array.items[i] : empty;
        const Layout *layout = reordered(layouts, values[i]);
        *vec_push(&dicts) = layout ? with_layout(dict, layout, values[i]->type) : dict;
        changed |= layout != NULL;
    }
    if (changed) op_set_attr(func, name, attr_array(func->ctx, dicts.data, dicts.len));
    vec_free(&dicts);
}

static void update_signature(Op *func, const PtrMap *layouts)
{
    Block *body = func_entry(func);
    Op *ret = body->last;
    VEC(Value *) results = {0};
    for (uint32_t i = 0; i < ret->operand_count; i++) *vec_push(&results) = op_operand(ret, i);
    record_layouts(func, "arg_attrs", body->args, body->arg_count, layouts);
    record_layouts(func, "res_attrs", results.data, ret->operand_count, layouts);
    func_update_type(func);
    vec_free(&results);
}

bool layout_is_captured(const Value *value)
{
    FOR_EACH_USE(use, value)
        if (use->owner->block != value_block(value)) return true;
    return false;
}

static bool is_initial(const Op *op)
{
    return op->def == TENSOR(EMPTY) || kernel_fill_value(op);
}

static void empty_operand(Op *op, uint32_t operand)
{
    const Type *type = op_operand(op, operand)->type;
    Builder b = builder_before(op);
    if (type_is_tensor(type) && type_is_static(type))
        op_set_operand(op, operand,
                       op_result(build(&b, TENSOR(EMPTY), NULL, 0, &type, 1, NULL, 0), 0));
}

void layout_unshare_initial(Op *user, uint32_t operand)
{
    Op *def = value_def(op_operand(user, operand));
    if (!def || !is_initial(def)) return;
    if (!value_has_one_use(op_result(def, 0))) {
        Op *copy = op_clone(def, NULL);
        op_insert_before(copy, user);
        op_set_operand(user, operand, op_result(copy, 0));
        def = copy;
    }
    if (!kernel_fill_value(def)) return;
    const uint32_t init = def->operand_count - 1;
    const Op *filled = value_def(op_operand(def, init));
    if (filled && is_initial(filled))
        layout_unshare_initial(def, init);
    else
        empty_operand(def, init);
}

void layout_apply(Op *func, const PtrMap *layouts)
{
    Block *body = func_entry(func);
    FOR_EACH_OP(op, body) {
        if (op->def == LINALG(GENERIC) && op->result_count == 1) {
            const Layout *result = reordered(layouts, op_result(op, 0));
            permute_maps(op, layouts);
            if (result) permute_constant(op, op->operand_count - 1, result);
        }
        if (layout_is_move(op)) permute_move(op, layouts);
        const Layout *layout = op->result_count == 1 ? reordered(layouts, op_result(op, 0)) : NULL;
        if (layout && op->def == TENSOR(PAD)) {
            layout_permute_list(op, "static_low", layout);
            layout_permute_list(op, "static_high", layout);
        }
    }
    for (uint32_t i = 0; i < body->arg_count; i++) {
        const Layout *layout = reordered(layouts, body->args[i]);
        if (layout) body->args[i]->type = permuted_type(body->args[i]->type, layout);
    }
    FOR_EACH_OP(op, body)
        for (uint32_t i = 0; i < op->result_count; i++) {
            const Layout *layout = reordered(layouts, op_result(op, i));
            if (!layout || op_has_trait(op, TRAIT_CONSTANT_LIKE)) continue;
            op_result(op, i)->type = permuted_type(op_result(op, i)->type, layout);
            const Attr *list = op_attr(op, DFG_ATTR_TENSORS);
            if (list)
                op_set_attr(op, DFG_ATTR_TENSORS,
                            dfg_tensors_reorder(list, op_result(op, i)->type, layout->perm));
        }
    FOR_EACH_OP(op, body)
        if (reshape_is(op) &&
            (reordered(layouts, op_operand(op, 0)) || reordered(layouts, op_result(op, 0))))
            regroup(op);
    update_signature(func, layouts);
}
