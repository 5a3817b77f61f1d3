/* split-batch.
 *
 * Requires: verified IR, kernels that are linalg.generic.  Changes: a function whose arguments and results
 * are batches, of as many items as their first dimension has, becomes the function of one item, where
 * some tensor has rows, columns and channels besides: no map has a batch. Nothing may compute an item
 * from others; what all items share stays, and constants that are equal for all lose their repetitions.
 * Whoever runs the function takes arrays of several frames.
 * Tests: lit/lowering/linalg_to_sa/batch.mir, test/e2e/overlay_check.py */
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_sa/internal.h"
#include "lowering/linalg_to_sa/linalg_to_sa.h"

enum { MOST_COPIES = 1 << 16 };

typedef struct Split {
    Op *func;
    int64_t batch;
    PtrMap items; /* Value* whose first dimension is the batch -> itself */
} Split;

/* Extent of the first dimension; 0: there is none, or more dimensions than are looked at. */
static int64_t first_extent(const Type *type)
{
    bool has_shape = type->kind == TYPE_RANKED_TENSOR && type->u.shaped.rank > 0 &&
                     type->u.shaped.rank <= RESHAPE_MAX_RANK;
    return has_shape ? type->u.shaped.dims[0] : 0;
}

static bool is_item(const Split *s, const Value *value)
{
    return ptrmap_has(&s->items, value);
}

static void add_item(Split *s, const Value *value)
{
    ptrmap_put(&s->items, value, (void *)(uintptr_t)value);
}

static bool mixes(const Split *s, const Op *op)
{
    return op_error(op, "mixes the %lld items of a batch, which an overlay computes one by one",
                    (long long)s->batch);
}

/* What all items have alike. */

static bool has_equal_rows(const Split *s, const Attr *attr)
{
    if (!dense_is_complete(attr)) return false;
    int64_t row = dense_count(attr) / s->batch;
    if (dense_view(attr).is_splat) return true;
    for (int64_t i = row; i < row * s->batch; i++)
        if (dense_elem(attr, i) != dense_elem(attr, i % row)) return false;
    return true;
}

/* Whether a kernel's results do not depend on the loop of their first dimension. */
static bool ignores_first(const Op *generic)
{
    uint32_t inputs = linalg_input_count(generic);
    const AffineMap *out = linalg_operand_map(generic, inputs);
    if (out->result_count == 0 || out->results[0]->kind != AFFINE_DIM) return false;
    const uint32_t loop = (uint32_t)out->results[0]->value;
    for (uint32_t i = 0; i < inputs; i++)
        if (map_uses_dim(linalg_operand_map(generic, i), loop)) return false;
    FOR_EACH_OP(op, linalg_body(generic))
        if (op->def == LINALG(INDEX) || op->region_count > 0) return false;
    return !linalg_is_reduction(generic, loop);
}

static bool makes_alike(const Op *op)
{
    return linalg_is_structured(op) && linalg_init_count(op) == 1 && ignores_first(op);
}

/* What a kernel that makes items alike begins with; NULL: a value is no such kernel's. */
static const Value *alike_from(const Split *s, const Value *value)
{
    const Op *op = value_def(value);
    bool is_alike =
        op && !is_item(s, value) && first_extent(value->type) == s->batch && makes_alike(op);
    return is_alike ? op_operand(op, linalg_input_count(op)) : NULL;
}

/* Lets a value that no item gives be one: an empty tensor, a constant, or what kernels make alike. */
static bool claim(Split *s, const Value *value)
{
    const Value *start = value, *from;
    while ((from = alike_from(s, start))) start = from;
    if (!is_item(s, start)) {
        const Op *op = value_def(start);
        if (!op || first_extent(start->type) != s->batch) return false;
        const Attr *constant = fold_constant_of(start);
        if (op->def != TENSOR(EMPTY) && !(constant && has_equal_rows(s, constant))) return false;
    }
    for (; value != start; value = from) {
        from = alike_from(s, value);
        add_item(s, value);
    }
    add_item(s, start);
    return true;
}

/* Ops that read items. */

/* The loop that counts items: that of the first dimension of an item. */
static bool find_loop(const Split *s, const Op *op, uint32_t *loop)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (!is_item(s, op_operand(op, i))) continue;
        const AffineMap *map = linalg_operand_map(op, i);
        *loop = (uint32_t)map->results[0]->value;
        return map->results[0]->kind == AFFINE_DIM && !linalg_is_reduction(op, *loop);
    }
    return false;
}

static bool split_kernel(Split *s, const Op *op)
{
    uint32_t loop, inputs = linalg_input_count(op);
    if (!find_loop(s, op, &loop) || linalg_body_has_regions(op)) return mixes(s, op);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const AffineMap *map = linalg_operand_map(op, i);
        bool is_first = map->result_count > 0 && map->results[0]->kind == AFFINE_DIM &&
                        (uint32_t)map->results[0]->value == loop;
        bool is_used = i >= inputs || is_item(s, op_operand(op, i)) || map_uses_dim(map, loop);
        for (uint32_t r = 1; r < map->result_count; r++)
            if (affine_uses_dim(map->results[r], loop)) return mixes(s, op);
        if (is_used && (!is_first || !claim(s, op_operand(op, i)))) return mixes(s, op);
    }
    FOR_EACH_OP(inner, linalg_body(op))
        if (inner->def == LINALG(INDEX) && sa_int(inner, "dim", 0) == (int64_t)loop)
            return mixes(s, op);
    return true;
}

/* Whether the first dimension stays one, beside others of one element. */
static bool splits_reshape(const Split *s, const Op *op)
{
    Reshape reshape;
    if (!reshape_read(op, &reshape) || reshape.wide->u.shaped.dims[0] != s->batch) return false;
    return reshape.narrow->u.shaped.dims[0] == s->batch;
}

/* The first of an attribute's numbers. */
static bool is_first(const Op *op, const char *name, int64_t number)
{
    int64_t list[RESHAPE_MAX_RANK];
    size_t count = 0;
    const Attr *attr = op_attr(op, name);
    return attr && attr_int_list(attr, list, RESHAPE_MAX_RANK, &count) && count > 0 &&
           list[0] == number;
}

static bool is_whole(const Split *s, const Op *op)
{
    return is_first(op, "static_offsets", 0) && is_first(op, "static_sizes", s->batch) &&
           is_first(op, "static_strides", 1);
}

static bool split_move(Split *s, const Op *op)
{
    if (op->def == TENSOR(PAD))
        return is_first(op, "static_low", 0) && is_first(op, "static_high", 0);
    if (op->def == TENSOR(EXTRACT_SLICE)) return is_whole(s, op);
    if (op->def == TENSOR(INSERT_SLICE))
        return is_whole(s, op) && claim(s, op_operand(op, 0)) && claim(s, op_operand(op, 1));
    return splits_reshape(s, op);
}

static bool reads_items(const Split *s, const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (is_item(s, op_operand(op, i))) return true;
    return false;
}

static bool split_op(Split *s, const Op *op)
{
    if (!reads_items(s, op)) return true;
    if (linalg_is_structured(op) ? !split_kernel(s, op) : !split_move(s, op) && !mixes(s, op))
        return false;
    for (uint32_t i = 0; i < op->result_count; i++) {
        if (first_extent(op_result(op, i)->type) != s->batch) return mixes(s, op);
        add_item(s, op_result(op, i));
    }
    return true;
}

static bool find_items(Split *s)
{
    const Block *body = func_entry(s->func);
    for (uint32_t i = 0; i < body->arg_count; i++) {
        if (first_extent(body->args[i]->type) != s->batch)
            return op_error(s->func, "has a batch of %lld in argument #0, and none in #%u",
                            (long long)s->batch, i);
        add_item(s, body->args[i]);
    }
    FOR_EACH_OP(op, body)
        if (op != body->last && !split_op(s, op)) return false;
    for (uint32_t i = 0; i < body->last->operand_count; i++)
        if (!claim(s, op_operand(body->last, i)))
            return op_error(s->func, "has a batch of %lld, which result #%u is no part of",
                            (long long)s->batch, i);
    return true;
}

/* The change. */

static const Type *item_type(const Type *type)
{
    int64_t dims[RESHAPE_MAX_RANK];
    for (uint32_t i = 0; i < type->u.shaped.rank; i++) dims[i] = type->u.shaped.dims[i];
    dims[0] = 1;
    return type_with_shape(type, dims, type->u.shaped.rank);
}

static void set_first(Op *op, const char *name)
{
    int64_t list[RESHAPE_MAX_RANK];
    size_t count = 0;
    const Attr *attr = op_attr(op, name);
    if (!attr || !attr_int_list(attr, list, RESHAPE_MAX_RANK, &count) || count == 0) return;
    list[0] = 1;
    op_set_attr(op, name, attr_dense_array(type_i(op->ctx, 64), list, count));
}

/* The elements of the first item. */
static const Attr *item_of(Arena *arena, const Attr *attr, const Type *type)
{
    DenseView view = dense_view(attr);
    const int64_t count = dense_count(attr) / first_extent(attr->type);
    if (view.is_splat || count == 0) return attr_dense_splat(type, dense_elem(attr, 0));
    if (!view.is_packed)
        return attr_dense_raw(type, view.data, (size_t)count * dense_elem_bytes(view.elem), false);
    int64_t *bits = ARENA_ARRAY(arena, int64_t, count);
    for (int64_t i = 0; i < count; i++) bits[i] = dense_view_bit(&view, i);
    return attr_dense_i64(type, bits, (size_t)count);
}

static void shrink(Value *value)
{
    value->type = item_type(value->type);
}

static void shrink_results(Pass *pass, const Split *s, Op *op)
{
    const Attr *constant = op->result_count == 1 ? fold_constant_of(op_result(op, 0)) : NULL;
    bool is_changed = false;
    for (uint32_t i = 0; i < op->result_count; i++) {
        if (!is_item(s, op_result(op, i))) continue;
        shrink(op_result(op, i));
        is_changed = true;
    }
    if (!is_changed) return;
    if (constant)
        op_set_attr(op, "value", item_of(&pass->scratch, constant, op_result(op, 0)->type));
    if (op->def == TENSOR(EXPAND_SHAPE)) set_first(op, "static_output_shape");
    if (op->def == TENSOR(EXTRACT_SLICE) || op->def == TENSOR(INSERT_SLICE))
        set_first(op, "static_sizes");
}

static void apply(Pass *pass, const Split *s)
{
    Block *body = func_entry(s->func);
    for (uint32_t i = 0; i < body->arg_count; i++) shrink(body->args[i]);
    FOR_EACH_OP(op, body) shrink_results(pass, s, op);
    func_update_type(s->func);
}

/* Values that readers may want in two ways get a copy for each reader: constants, empty tensors and
 * what kernels make of them, behind their readers first. Copies of kernels that read each other's
 * results twice double with each kernel. False: they are more than may be. */
static bool part_readers(Op *func)
{
    uint32_t copies = 0;
    for (Op *op = func_entry(func)->last; op; op = op->prev) {
        bool is_free =
            op->result_count == 1 && !op_has_trait(op, TRAIT_TERMINATOR) &&
            (op->def == TENSOR(EMPTY) || op_has_trait(op, TRAIT_CONSTANT_LIKE) || makes_alike(op));
        if (!is_free || first_extent(op_result(op, 0)->type) < 2) continue;
        while (op_result(op, 0)->uses && !value_has_one_use(op_result(op, 0))) {
            if (copies++ == MOST_COPIES) return false;
            Builder b = builder_before(op);
            Op *copy = builder_insert(&b, op_clone(op, NULL));
            use_set(op_result(op, 0)->uses, op_result(copy, 0));
        }
    }
    return true;
}

/* Rows, columns and channels behind the first dimension. */
static bool is_map_batch(const Type *type, int64_t batch)
{
    enum { MAP_RANK = 4 };
    return first_extent(type) == batch && type->u.shaped.rank >= MAP_RANK;
}

/* Whether an argument says that there is a batch; else whether a value looks like it. */
static bool has_batch(const Op *func, int64_t batch, bool *is_certain)
{
    const Block *body = func_entry(func);
    *is_certain = false;
    for (uint32_t i = 0; i < body->arg_count; i++)
        *is_certain |= is_map_batch(body->args[i]->type, batch);
    if (*is_certain) return true;
    FOR_EACH_OP(op, body)
        for (uint32_t i = 0; i < op->result_count; i++)
            if (!op_has_trait(op, TRAIT_CONSTANT_LIKE) &&
                is_map_batch(op_result(op, i)->type, batch))
                return true;
    return false;
}

/* Whether frames of the model's arrays are items here: its first dimension is the first one. */
static bool keeps_first(const Attr *all)
{
    for (uint32_t i = 0; all && i < all->u.array.count; i++) {
        const Attr *layout = attr_dict_get_c(all->u.array.items[i], DFG_ATTR_LAYOUT);
        const AffineMap *map = layout ? layout->u.map : NULL;
        if (map && map->result_count > 0 && map->results[0] != affine_dim(map->ctx, 0))
            return false;
    }
    return true;
}

static bool run_split(Pass *pass, Op *func)
{
    const Block *body = func_entry(func);
    Split s = {.func = func};
    bool is_certain;
    pass->unchanged = true;
    if (!body || body->arg_count == 0) return true;
    s.batch = first_extent(body->args[0]->type);
    if (s.batch < 2 || !has_batch(func, s.batch, &is_certain) ||
        !keeps_first(op_attr(func, "arg_attrs")) || !keeps_first(op_attr(func, "res_attrs")))
        return true;
    pass->unchanged = false;
    if (!part_readers(func))
        return !is_certain || op_error(func,
                                       "has a batch of %lld, and what all items share has "
                                       "more than %d readers",
                                       (long long)s.batch, MOST_COPIES);
    DiagHold hold;
    diag_hold_begin(&hold, func->ctx);
    bool ok = find_items(&s);
    diag_hold_end(&hold);
    if (ok) apply(pass, &s);
    if (!ok && is_certain) diag_hold_report(&hold);
    diag_hold_free(&hold);
    ptrmap_free(&s.items);
    return ok || !is_certain;
}

const PassDef pass_split_batch = {
    .name = "split-batch",
    .summary = "Make a function of a batch the function of one item",
    .description =
        "Where the first dimension of all arguments and results is a batch of several items, none "
        "of "
        "which depends on others, it becomes 1: whoever runs the function takes arrays of several "
        "frames. Functions whose tensors have rows, columns and channels at most stay as they are.",
    .anchor = "func.func",
    .run = run_split,
};
