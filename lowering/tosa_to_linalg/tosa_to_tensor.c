/* tosa-to-tensor: concat, pad, slice and reshape become the ops of the tensor dialect that move
 * elements. Ops are built in upstream's order, constants that folding leaves unused included, so
 * that text agrees.
 * Requires: verified IR.
 * Changes: these four ops. Unsigned elements of their operands and of reshape's result become
 * signless, with casts to the ops that stay.
 * Preserves: all else.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-tensor.mir,
 * lit/lowering/tosa_to_linalg/tosa-to-tensor-reshape.mir */
#include "dialects/arith/arith.h"
#include "dialects/tensor/tensor.h"
#include "dialects/tosa/tosa.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/tosa_to_linalg/internal.h"

static Value *build_dim(Builder *b, Value *tensor, Value *index)
{
    return rewrite_build_or_fold(b, TENSOR(DIM), (Value *[]){tensor, index}, 2, type_index(b->ctx));
}

static bool has_rank(const Value *value, uint32_t rank)
{
    return type_is_ranked(value->type) && value->type->u.shaped.rank == rank;
}

/* A size of -1 reaches to the end. */
static MixedIndex slice_extent(Builder *b, Value *input, uint32_t dim, int64_t start, int64_t size)
{
    if (size != -1) return mixed_constant(size);
    Value *extent = tensor_dim(b, input, dim);
    Value *begin = arith_constant_index(b, start);
    return mixed_value(build_binary(b, ARITH(SUBI), extent->type, extent, begin));
}

static bool lower_slice(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    SliceParams slice = {0};
    const Type *type = op_result(op, 0)->type;
    const Attr *starts = op_attr(op, "start"), *sizes = op_attr(op, "size");
    Value *input = tosa_lower_remap(rw, op_operand(op, 0));
    uint32_t rank = (uint32_t)starts->u.dense_array.count;
    if (!has_rank(op_result(op, 0), rank) || !has_rank(input, rank)) return false;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t start = dense_array_i64(starts, i), size = dense_array_i64(sizes, i);
        *vec_push(&slice.offsets) = mixed_constant(start);
        *vec_push(&slice.sizes) = slice_extent(&rw->b, input, i, start, size);
        *vec_push(&slice.strides) = mixed_constant(1);
    }
    Op *extract = tensor_build_extract_slice(&rw->b, input, type, &slice);
    tensor_slice_free(&slice);
    rewriter_replace_one(rw, op, op_result(extract, 0));
    return true;
}

static Value *element(Builder *b, Value *tensor, Value *const *indices, uint32_t rank)
{
    Builder detached = builder_detached(b);
    Value *operands[3] = {tensor};
    const Type *type = type_elem(tensor->type);
    for (uint32_t i = 0; i < rank; i++) operands[i + 1] = indices[i];
    return fold_build(b, build(&detached, TENSOR(EXTRACT), operands, rank + 1, &type, 1, NULL, 0));
}

static Value *as_index(Builder *b, Value *value)
{
    Builder detached = builder_detached(b);
    return fold_build(
        b, value_def(build_unary(&detached, ARITH(INDEX_CAST), type_index(b->ctx), value)));
}

/* The padding element. NULL: the element type has none. */
static Value *pad_value(Builder *b, const Op *op)
{
    const Type *elem = type_elem(op_operand(op, 0)->type);
    if (op->operand_count > 2) return element(b, op_operand(op, 2), NULL, 0);
    if (type_is_float(elem)) return arith_constant(b, attr_float(elem, 0.0));
    if (!type_is_integer(elem)) return NULL;
    int64_t zero_point = tosa_zero_point(op_attr(op, "quantization_info"), 0);
    return arith_constant(b, attr_int(elem, zero_point));
}

/* Appends both widths of one dimension's border. */
static void add_widths(Builder *b, Value *padding, Value *dim, Value *const *sides,
                       PadBorders *borders)
{
    Value *low = element(b, padding, (Value *[]){dim, sides[0]}, 2);
    Value *high = element(b, padding, (Value *[]){dim, sides[1]}, 2);
    low = as_index(b, low);
    high = as_index(b, high);
    *vec_push(&borders->low) = mixed_value(low);
    *vec_push(&borders->high) = mixed_value(high);
}

static bool lower_pad(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Builder *b = &rw->b;
    Value *input = op_operand(op, 0), *padding = op_operand(op, 1);
    PadBorders borders = {0};
    if (!has_rank(padding, 2)) return false;
    Value *value = pad_value(b, op);
    if (!value) return false;
    Value *low_side = arith_constant_index(b, 0);
    Value *high_side = arith_constant_index(b, 1);
    for (uint32_t i = 0; i < input->type->u.shaped.rank; i++)
        add_widths(b, padding, arith_constant_index(b, i), (Value *[]){low_side, high_side},
                   &borders);
    Op *pad = tensor_build_pad(b, input, op_result(op, 0)->type, &borders, false);
    tensor_fill_pad(pad, value);
    tensor_pad_free(&borders);
    rewriter_replace_one(rw, op, op_result(pad, 0));
    return true;
}

static MixedIndex known_or_value(Value *value)
{
    int64_t constant;
    bool is_known = mixed_known(mixed_value(value), &constant) && constant != DIM_DYNAMIC;
    return is_known ? mixed_constant(constant) : mixed_value(value);
}

/* Appends the offset at which each part begins, and the offset at which the last one ends. */
static void add_begins(Rewriter *rw, const Op *op, Value *axis, MixedIndex first_end,
                       MixedIndices *begins)
{
    Builder *b = &rw->b, detached = builder_detached(b);
    *vec_push(begins) = mixed_constant(0);
    *vec_push(begins) = first_end;
    for (uint32_t i = 1; i < op->operand_count; i++) {
        Value *extent = build_dim(b, tosa_lower_remap(rw, op_operand(op, i)), axis);
        Value *begin = mixed_materialize(b, begins->data[i]);
        Value *end = build_binary(&detached, ARITH(ADDI), begin->type, begin, extent);
        *vec_push(begins) = known_or_value(fold_build(b, value_def(end)));
    }
}

static Value *empty_result(Builder *b, const Type *type, const MixedIndex *sizes)
{
    uint32_t rank = type->u.shaped.rank;
    ValueList extents = {0};
    for (uint32_t i = 0; i < rank; i++)
        if (type->u.shaped.dims[i] == DIM_DYNAMIC)
            *vec_push(&extents) = mixed_materialize(b, sizes[i]);
    const Type *plain = type_tensor(type_elem(type), type->u.shaped.dims, rank, NULL);
    Op *empty = build(b, TENSOR(EMPTY), extents.data, (uint32_t)extents.len, &plain, 1, NULL, 0);
    vec_free(&extents);
    return op_result(empty, 0);
}

static void add_sizes(Builder *b, Value *tensor, MixedIndices *out)
{
    for (uint32_t i = 0; i < tensor->type->u.shaped.rank; i++)
        *vec_push(out) = tensor_mixed_dim(b, tensor, i);
}

static Value *insert_part(Builder *b, Value *part, Value *whole, uint32_t axis, MixedIndex begin)
{
    SliceParams slice = {0};
    Builder detached = builder_detached(b);
    add_sizes(b, part, &slice.sizes);
    for (uint32_t i = 0; i < slice.sizes.len; i++) {
        *vec_push(&slice.offsets) = i == axis ? begin : mixed_constant(0);
        *vec_push(&slice.strides) = mixed_constant(1);
    }
    Op *insert = tensor_build_insert_slice(&detached, part, whole, &slice);
    tensor_slice_free(&slice);
    return fold_build(b, insert);
}

static bool is_ranked_concat(const Op *op)
{
    const Type *type = op_result(op, 0)->type;
    bool ok = type_is_ranked(type);
    for (uint32_t i = 0; ok && i < op->operand_count; i++)
        ok = has_rank(op_operand(op, i), type->u.shaped.rank);
    return ok;
}

/* Each part is inserted where the former ends. */
static bool lower_concat(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Builder *b = &rw->b;
    uint32_t axis = (uint32_t)attr_int_value(op_attr(op, "axis"));
    MixedIndices sizes = {0}, begins = {0};
    if (!is_ranked_concat(op)) return false;
    Value *axis_value = arith_constant_index(b, axis);
    add_sizes(b, tosa_lower_remap(rw, op_operand(op, 0)), &sizes);
    add_begins(rw, op, axis_value, sizes.data[axis], &begins);
    sizes.data[axis] = begins.data[op->operand_count];
    Value *whole = empty_result(b, op_result(op, 0)->type, sizes.data);
    for (uint32_t i = 0; i < op->operand_count; i++)
        whole =
            insert_part(b, tosa_lower_remap(rw, op_operand(op, i)), whole, axis, begins.data[i]);
    vec_free(&sizes);
    vec_free(&begins);
    rewriter_replace_one(rw, op, whole);
    return true;
}

static Legality legality(const Op *op, void *user)
{
    (void)user;
    bool is_lowered = op->def == TOSA(CONCAT) || op->def == TOSA(RESHAPE) ||
                      op->def == TOSA(SLICE) || op->def == TOSA(PAD);
    return is_lowered ? ILLEGAL : LEGAL_IF_ASKED;
}

static bool lower_reshape(Rewriter *rw, Op *op, void *user)
{
    if (!tosa_lower_reshape_to_tensor(rw, op, user)) return false;
    tosa_lower_hand_note_on(rw, op);
    return true;
}

static bool run(Pass *pass, Op *root)
{
    static const char *const legal[] = {"arith", "tensor", NULL};
    const ConversionTarget target = {
        .legal_dialects = legal, .op_legality = legality, .partial = true, .cast = tosa_lower_cast};
    PatternSet patterns;
    patterns_init(&patterns, pass->ctx);
    pattern_add(&patterns, "tosa-concat", TOSA(CONCAT), 1, lower_concat);
    pattern_add(&patterns, "tosa-pad", TOSA(PAD), 1, lower_pad);
    pattern_add(&patterns, "tosa-reshape", TOSA(RESHAPE), 1, lower_reshape);
    pattern_add(&patterns, "tosa-slice", TOSA(SLICE), 1, lower_slice);
    bool ok = conversion_apply(root, &patterns, &target);
    patterns_free(&patterns);
    return ok;
}

const PassDef pass_tosa_to_tensor = {
    .name = "tosa-to-tensor",
    .summary = "Lower TOSA to the Tensor dialect",
    .description = "Turns tosa.concat, tosa.pad, tosa.reshape and tosa.slice into ops of the "
                   "tensor dialect.",
    .title = "TosaToTensor",
    .run = run,
};
