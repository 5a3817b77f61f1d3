/* Patterns for what a linalg.generic need not read from memory: inputs of equal elements become
 * scalars of its body, and inits whose elements are not read become empty tensors. A transpose of a
 * constant becomes a constant.
 * Tests: lit/passes/linalg/linalg-fuse-elementwise-constants.mir */
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"
#include "passes/linalg/internal.h"

/* generic(fill(c)) reads c */
static bool read_fill_value(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    bool found = false;
    if (!linalg_has_tensor_semantics(op)) return false;
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        Op *fill = rewrite_def_of(op_operand(op, i), LINALG(FILL));
        if (!fill || !linalg_reads_operand(op, i)) continue;
        rw->b.loc = fill->loc;
        Value *value = linalg_cast_scalar(&rw->b, op_operand(fill, 0),
                                          type_elem(op_operand(op, i)->type), CAST_SIGNED);
        rewriter_replace_value(rw, linalg_body(op)->args[i], value);
        found = true;
    }
    return found;
}

static bool is_number(const Type *type)
{
    return type_is_integer(type) || type_is_float(type);
}

/* The element of a scalar constant or of a tensor of equal numbers, else NULL. */
static const Attr *constant_element(const Value *value)
{
    const Attr *attr = fold_constant_of(value);
    if (!attr || attr->kind == ATTR_INTEGER || attr->kind == ATTR_FLOAT) return attr;
    bool is_splat = attr->kind == ATTR_DENSE && attr->u.dense.is_splat;
    return is_splat && is_number(type_elem(attr->type)) ? dense_elem(attr, 0) : NULL;
}

/* The op's parts without one input, and the locations that the op without it comes from. */
static const Attr *collect_others(const Op *op, uint32_t dropped, GenericParts *parts)
{
    VEC(const Attr *) locs = {0};
    *vec_push(&locs) = op->loc;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        Value *value = op_operand(op, i);
        if (i == dropped) continue;
        if (i >= linalg_input_count(op)) {
            parts_add_init(parts, value, linalg_operand_map(op, i));
            continue;
        }
        parts_add_input(parts, value, linalg_operand_map(op, i));
        *vec_push(&locs) = value_loc(value);
    }
    const Attr *loc = loc_fused(op->ctx, locs.data, locs.len, NULL);
    vec_free(&locs);
    return loc;
}

/* Copies the body without the argument of that input, which `scalar` replaces. */
static void copy_body_with(Rewriter *rw, Op *made, Op *op, uint32_t input, Value *scalar)
{
    PtrMap values = {0};
    Block *from = linalg_body(op), *to = linalg_body(made);
    ptrmap_put(&values, from->args[input], scalar);
    for (uint32_t i = 0, next = 0; i < from->arg_count; i++) {
        if (i == input) continue;
        to->args[next]->loc = from->args[i]->loc;
        ptrmap_put(&values, from->args[i], to->args[next++]);
    }
    parts_body_copy(rw, to, from, NULL, &values);
    ptrmap_free(&values);
}

static void replace_by(Rewriter *rw, Op *op, Op *made)
{
    ValueList values = {0};
    for (uint32_t i = 0; i < op->result_count; i++) *vec_push(&values) = op_result(made, i);
    rewriter_replace(rw, op, values.data, op->result_count);
    vec_free(&values);
}

static bool read_constant(Rewriter *rw, Op *op, uint32_t input, const Attr *element)
{
    GenericParts parts = {0};
    const Attr *loc = collect_others(op, input, &parts);
    bool ok = parts_maps_cover_loops(op->ctx, &parts.maps);
    if (ok) {
        rw->b.loc = value_loc(op_operand(op, input));
        Value *scalar = arith_constant(&rw->b, element);
        rw->b.loc = loc;
        Op *made = parts_build(&rw->b, &parts, op_attr(op, "iterator_types"));
        const Attr *name = op_attr(op, DFG_ATTR_NAME);
        if (name) op_set_attr(made, DFG_ATTR_NAME, name);
        op_set_attr(made, DFG_ATTR_TENSORS, op_attr(op, DFG_ATTR_TENSORS));
        copy_body_with(rw, made, op, input, scalar);
        replace_by(rw, op, made);
    }
    parts_free(&parts);
    return ok;
}

/* generic(constant of equal elements c) reads c; one input at a time. */
static bool read_constants(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    if (!linalg_has_tensor_semantics(op)) return false;
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        const Attr *element = constant_element(op_operand(op, i));
        if (element) return read_constant(rw, op, i, element);
    }
    return false;
}

/* An op keeps one input: what only repeats a constant is read as that constant, elsewhere. */
static bool read_elementwise_constants(Rewriter *rw, Op *op, void *user)
{
    return !linalg_reduces(op) && linalg_input_count(op) > 1 && read_constants(rw, op, user);
}

/* generic(… into x) that ignores x's elements -> generic(… into empty) */
static bool empty_inits(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    bool changed = false;
    for (uint32_t i = linalg_input_count(op); i < op->operand_count; i++) {
        Value *init = op_operand(op, i);
        if (linalg_reads_operand(op, i) || !linalg_reaches_all(op, i) ||
            init->type->kind != TYPE_RANKED_TENSOR || rewrite_def_of(init, TENSOR(EMPTY)))
            continue;
        op_set_operand(op, i, parts_empty_like(&rw->b, init));
        changed = true;
    }
    if (changed) rewriter_modified(rw, op);
    return changed;
}

void fuse_add_constants(PatternSet *set)
{
    pattern_add(set, "read-fill-value", LINALG(GENERIC), 1, read_fill_value);
    pattern_add(set, "read-constants", LINALG(GENERIC), 1, read_constants);
    pattern_add(set, "empty-inits", LINALG(GENERIC), 1, empty_inits);
}

void fuse_add_elementwise_constants(PatternSet *set)
{
    pattern_add(set, "read-constants", LINALG(GENERIC), 1, read_elementwise_constants);
}

static bool only_forwards(const Op *op)
{
    const Block *body = linalg_body(op);
    return body->first == body->last && body->last->def == LINALG(YIELD) &&
           op_operand(body->last, 0) == body->args[0];
}

/* One tensor in, one out, of the same numbers in an order that both maps permute. */
static bool is_transpose(const Op *op)
{
    if (!linalg_is_structured(op) || linalg_input_count(op) != 1 || linalg_init_count(op) != 1)
        return false;
    const Type *in = op_operand(op, 0)->type, *out = op_operand(op, 1)->type;
    return linalg_has_tensor_semantics(op) && type_is_tensor(in) && type_is_static(out) &&
           type_elem(in) == type_elem(out) && is_number(type_elem(out)) &&
           map_is_permutation(linalg_operand_map(op, 0)) &&
           map_is_permutation(linalg_operand_map(op, 1)) && !linalg_reads_operand(op, 1) &&
           only_forwards(op);
}

/* Per dimension of the output, how far apart its neighbours are in the input. */
static void input_strides(const Op *op, int64_t *strides)
{
    const AffineMap *in = linalg_operand_map(op, 0), *out = linalg_operand_map(op, 1);
    const int64_t *dims = op_operand(op, 0)->type->u.shaped.dims;
    int64_t stride = 1;
    for (uint32_t i = in->result_count; i-- > 0;) {
        strides[map_result_of_dim(out, (uint32_t)in->results[i]->value)] = stride;
        stride *= dims[i];
    }
}

static const Attr *permuted(const Attr *dense, const Type *type, const int64_t *strides)
{
    uint32_t rank = type->u.shaped.rank, bytes = dense_elem_bytes(type_elem(type));
    int64_t count = dense_count(dense), from = 0;
    size_t size = bytes ? (size_t)count * bytes : (size_t)(count + 7) / 8;
    uint8_t *data = xcalloc(size, 1);
    int64_t *index = xcalloc(rank, sizeof *index);
    for (int64_t at = 0; at < count; at++) {
        dense_copy_elem(data, at, dense->u.dense.data, from, bytes);
        for (uint32_t d = rank; d-- > 0;) {
            from += strides[d];
            if (++index[d] < type->u.shaped.dims[d]) break;
            from -= strides[d] * index[d];
            index[d] = 0;
        }
    }
    free_ptr((void **)&index);
    return attr_dense_adopt(type, data, size, false);
}

/* transpose(constant that nobody else reads) -> constant */
static bool transpose_constant(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    if (!is_transpose(op)) return false;
    Value *input = op_operand(op, 0);
    const Type *type = op_result(op, 0)->type;
    const Attr *dense = fold_constant_of(input);
    if (!dense || dense->kind != ATTR_DENSE || !parts_op_has_one_use(value_def(input)))
        return false;
    int64_t *strides = xcalloc(type->u.shaped.rank, sizeof *strides);
    input_strides(op, strides);
    const Attr *result = dense->u.dense.is_splat ? attr_dense_splat(type, dense_elem(dense, 0))
                                                 : permuted(dense, type, strides);
    free_ptr((void **)&strides);
    rewriter_replace_one(rw, op, arith_constant(&rw->b, result));
    return true;
}

void fuse_add_transpose_constants(PatternSet *set)
{
    pattern_add(set, "transpose-constant", NULL, 1, transpose_constant);
}
