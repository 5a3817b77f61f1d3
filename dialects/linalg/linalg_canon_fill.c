/* Canonicalization patterns of fill: reading, reshaping, copying a tensor of equal elements.
 * Tests: lit/dialects/linalg/canonicalize.mir */
#include "dialects/linalg/linalg.h"
#include "dialects/linalg/linalg_impl.h"
#include "dialects/linalg/structured.h"
#include "dialects/rewrite_util.h"
#include "dialects/tensor/tensor.h"

/* The fill that made a value, or NULL. */
static Op *fill_of(Value *value)
{
    Op *fill = value_def_of(value, LINALG(FILL));
    return fill && fill->result_count == 1 ? fill : NULL;
}

static Value *fill_value(const Op *fill)
{
    return op_operand(fill, 0);
}

static void replace_by_fill(Rewriter *rw, Op *op, Value *value, Value *init)
{
    Op *made = linalg_build_named(&rw->b, LINALG(FILL), &value, 1, &init, 1, NULL, 0);
    rewriter_replace(rw, op, (Value *[]){made->result_count ? op_result(made, 0) : NULL},
                     op->result_count);
}

/* extract(fill(c)) -> c */
static bool extract_of_fill(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *fill = fill_of(op_operand(op, 0));
    if (!fill || fill_value(fill)->type != op_result(op, 0)->type)
        return false;
    rewriter_replace_one(rw, op, fill_value(fill));
    return true;
}

/* reshape(fill(c into x)) -> fill(c into reshape(x)) */
static bool reshape_of_fill(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *fill = fill_of(op_operand(op, 0));
    if (!fill)
        return false;
    Op *init = op_clone(op, NULL);
    op_set_operand(init, 0, op_operand(fill, 1));
    init->loc = fill->loc;
    op_insert_before(init, op);
    rw->inserted(rw, init);
    replace_by_fill(rw, op, fill_value(fill), op_result(init, 0));
    return true;
}

/* pad(fill(c)) by c -> fill(c) of the padded shape, where that is static */
static bool pad_of_fill(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *fill = fill_of(op_operand(op, 0));
    const Type *type = op_result(op, 0)->type;
    if (!fill || tensor_padding(op) != fill_value(fill) || !type_is_static(type))
        return false;
    MixedIndices sizes = {0};
    for (uint32_t i = 0; i < type->u.shaped.rank; i++)
        *vec_push(&sizes) = mixed_constant(type->u.shaped.dims[i]);
    Value *init = tensor_empty(&rw->b, sizes.data, sizes.len, type_elem(type));
    rw->b.loc = fill->loc;
    replace_by_fill(rw, op, fill_value(fill), init);
    vec_free(&sizes);
    return true;
}

/* pack(fill(c) into x) -> fill(c into x) when nobody else reads x */
static bool pack_of_fill(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *fill = fill_of(op_operand(op, 0));
    uint32_t begin, count;
    op_operand_group(op, 2, &begin, &count);
    if (!fill || !value_has_one_use(op_operand(op, 1)) ||
        (count > 0 && op_operand(op, begin) != fill_value(fill)))
        return false;
    replace_by_fill(rw, op, fill_value(fill), op_operand(op, 1));
    return true;
}

/* copy(fill(c) into x) -> fill(c into x);  copy(x into fill(y)) -> copy(x into y) */
static bool copy_of_fill(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *source = fill_of(op_operand(op, 0)), *target = fill_of(op_operand(op, 1));
    if (source) {
        replace_by_fill(rw, op, fill_value(source), op_operand(op, 1));
        return true;
    }
    if (!target)
        return false;
    Value *input = op_operand(op, 0), *init = op_operand(target, 1);
    Op *made = linalg_build_named(&rw->b, LINALG(COPY), &input, 1, &init, 1, NULL, 0);
    rewriter_replace_one(rw, op, op_result(made, 0));
    return true;
}

/* transpose(fill(c) into x) -> fill(c into x) */
static bool transpose_of_fill(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *fill = fill_of(op_operand(op, 0));
    if (!fill)
        return false;
    replace_by_fill(rw, op, fill_value(fill), op_operand(op, 1));
    return true;
}

void linalg_canonicalize_fill(PatternSet *set)
{
    pattern_add(set, "copy-of-fill", LINALG(COPY), 1, copy_of_fill);
    pattern_add(set, "extract-of-fill", TENSOR(EXTRACT), 1, extract_of_fill);
    pattern_add(set, "pack-of-fill", TENSOR(PACK), 1, pack_of_fill);
    pattern_add(set, "pad-of-fill", TENSOR(PAD), 1, pad_of_fill);
    pattern_add(set, "collapse-of-fill", TENSOR(COLLAPSE_SHAPE), 1, reshape_of_fill);
    pattern_add(set, "expand-of-fill", TENSOR(EXPAND_SHAPE), 1, reshape_of_fill);
    pattern_add(set, "transpose-of-fill", LINALG(TRANSPOSE), 1, transpose_of_fill);
}
