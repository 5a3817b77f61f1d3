/* Ops that take elements from elsewhere: reverse, tile, gather, table.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-linalg-move.mir */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "lowering/tosa_to_linalg/internal.h"

static Value *build_extract(Builder *b, Value *tensor, Values indices)
{
    Value **operands = xcalloc(indices.count + 1, sizeof *operands);
    const Type *type = type_elem(tensor->type);
    operands[0] = tensor;
    for (uint32_t i = 0; i < indices.count; i++) operands[i + 1] = indices.items[i];
    Op *op = build(b, TENSOR(EXTRACT), operands, indices.count + 1, &type, 1, NULL, 0);
    free_ptr((void **)&operands);
    return op_result(op, 0);
}

static Value *to_index(Builder *b, Value *value)
{
    return build_unary(b, ARITH(INDEX_CAST), type_index(b->ctx), value);
}

/* out[…, i, …] = in[…, size - 1 - i, …] */
bool tosa_lower_reverse(Lower *l)
{
    Value *input = op_operand(l->op, 0);
    const Type *type = result_type(l->op);
    uint32_t axis = (uint32_t)tosa_build_int_attr(l->op, "axis");
    if (!tosa_lower_all_ranked(l->op) || axis >= rank_of(input->type)) return false;
    uint32_t rank = rank_of(input->type);
    Values dims = tosa_build_dynamic_dims(l, input->type, input);
    Value *size = tensor_dim(l->b, input, axis);
    Value *empty = tosa_build_empty_tensor(l->b, input->type, type_elem(input->type), dims);
    GenericDef def = {.inits = VALUES(empty), .loops = rank_of(type)};
    Builder b;
    Op *op = tosa_build_generic(l->b, &def, &type, &b);
    Value **indices = ARENA_ARRAY(l->arena, Value *, rank);
    for (uint32_t i = 0; i < rank; i++) {
        indices[i] = linalg_index(&b, i);
        if (i != axis) continue;
        Value *last = tosa_build_same(&b, ARITH(SUBI), size, arith_constant_index(&b, 1));
        indices[i] = tosa_build_same(&b, ARITH(SUBI), last, indices[i]);
    }
    tosa_build_yield(&b, build_extract(&b, input, (Values){indices, rank}));
    rewriter_replace_one(l->rw, l->op, op_result(op, 0));
    return true;
}

/* Whether that many repetitions of dimension i make the result's; -1, unknown, is upstream's. Where
 * they do not, what upstream builds does not verify. */
static bool repeats(const Type *from, const Type *to, uint32_t i, int64_t multiple)
{
    int64_t extent;
    if (multiple == -1) return !is_dynamic(from, i);
    if (multiple < 1 || is_dynamic(from, i) || is_dynamic(to, i)) return multiple >= 1;
    return i64_mul(extent_of(from, i), multiple, &extent) && extent == extent_of(to, i);
}

/* Each dimension gets one of its repetitions in front, which a reshape joins with it. */
bool tosa_lower_tile(Lower *l)
{
    Value *input = op_operand(l->op, 0), *joined;
    const Type *from = input->type, *to = result_type(l->op);
    IntList multiples = tosa_build_list_attr(l->op, "multiples");
    bool ok = tosa_lower_all_ranked(l->op) && multiples.len == rank_of(from) &&
              rank_of(to) == rank_of(from);
    for (uint32_t i = 0; ok && i < multiples.len; i++) ok = repeats(from, to, i, multiples.data[i]);
    if (!ok) {
        vec_free(&multiples);
        return false;
    }
    uint32_t rank = rank_of(from), count = 0;
    int64_t *shape = ARENA_ARRAY(l->arena, int64_t, 2 * rank);
    Value **dims = ARENA_ARRAY(l->arena, Value *, rank);
    const AffineExpr **index = ARENA_ARRAY(l->arena, const AffineExpr *, rank);
    for (uint32_t i = 0; i < rank; i++) {
        shape[2 * i] = multiples.data[i] == -1 ? DIM_DYNAMIC : multiples.data[i];
        shape[2 * i + 1] = extent_of(from, i);
        if (is_dynamic(from, i) || multiples.data[i] == -1)
            dims[count++] = tensor_dim(l->b, input, i);
        index[i] = affine_dim(l->ctx, 2 * i + 1);
    }
    vec_free(&multiples);
    const Type *type = type_tensor(type_elem(from), shape, 2 * rank, NULL);
    Value *empty = tosa_build_empty_tensor(l->b, type, type_elem(from), (Values){dims, count});
    const AffineMap *maps[] = {map_get(l->ctx, 2 * rank, 0, rank, index), NULL};
    GenericDef def = {
        .inputs = VALUES(input), .inits = VALUES(empty), .maps = maps, .loops = 2 * rank};
    Builder body;
    Op *op = tosa_build_generic(l->b, &def, &type, &body);
    tosa_build_yield(&body, body.block->args[0]);
    joined = op_result(op, 0);
    NamedAttr attr = build_named_attr(l->ctx, "new_shape",
                                      attr_i64_array(l->ctx, to->u.shaped.dims, rank_of(to)));
    op = build(l->b, TOSA(RESHAPE), &joined, 1, &to, 1, &attr, 1);
    rewriter_replace_one(l->rw, l->op, op_result(op, 0));
    return true;
}

/* out[n, i, c] = values[n, indices[n, i], c] */
bool tosa_lower_gather(Lower *l)
{
    const Type *type = result_type(l->op);
    if (!tosa_lower_all_ranked(l->op)) return false;
    Value *values = conversion_remap(l->rw, op_operand(l->op, 0), NULL);
    Value *indices = conversion_remap(l->rw, op_operand(l->op, 1), NULL);
    Value *sources[] = {values, indices, values}, *dims[3];
    uint32_t count = 0;
    for (uint32_t i = 0; i < 3; i++)
        if (is_dynamic(sources[i]->type, i))
            dims[count++] = tensor_mixed_dim(l->b, sources[i], i).value;
    Value *empty = tosa_build_empty_tensor(l->b, type, type_elem(type), (Values){dims, count});
    const AffineExpr *index[] = {affine_dim(l->ctx, 0), affine_dim(l->ctx, 1)};
    const AffineMap *maps[] = {map_get(l->ctx, 3, 0, 2, index), NULL};
    GenericDef def = {.inputs = VALUES(indices), .inits = VALUES(empty), .maps = maps, .loops = 3};
    Builder b;
    Op *op = tosa_build_generic(l->b, &def, &type, &b);
    Value *at[3];
    at[0] = linalg_index(&b, 0);
    at[1] = to_index(&b, b.block->args[0]);
    at[2] = linalg_index(&b, 2);
    tosa_build_yield(&b, build_extract(&b, values, (Values){at, 3}));
    rewriter_replace_one(l->rw, l->op, op_result(op, 0));
    return true;
}

/* table[x + 128] */
static Value *look_up_i8(Builder *b, Value *table)
{
    Value *index = to_index(b, b->block->args[0]);
    index = tosa_build_same(b, ARITH(ADDI), index, arith_constant_index(b, 128));
    return build_extract(b, table, VALUES(index));
}

/* i = (x + 32768) >> 7, f = (x + 32768) & 127:  (table[i] << 7) + (table[i + 1] - table[i]) * f */
static Value *look_up_i16(Builder *b, Value *table)
{
    const Type *i32 = type_i(b->ctx, 32);
    Value *x = build_unary(b, ARITH(EXTSI), i32, b->block->args[0]);
    Value *offset = tosa_build_i32(b, 32768), *seven = tosa_build_i32(b, 7);
    Value *one = tosa_build_i32(b, 1), *mask = tosa_build_i32(b, 127);
    x = tosa_build_same(b, ARITH(ADDI), x, offset);
    Value *index = tosa_build_same(b, ARITH(SHRUI), x, seven);
    Value *fraction = tosa_build_same(b, ARITH(ANDI), x, mask);
    Value *next = tosa_build_same(b, ARITH(ADDI), index, one);
    index = to_index(b, index);
    next = to_index(b, next);
    Value *base = build_extract(b, table, VALUES(index));
    next = build_extract(b, table, VALUES(next));
    base = build_unary(b, ARITH(EXTSI), i32, base);
    next = build_unary(b, ARITH(EXTSI), i32, next);
    Value *scaled = tosa_build_same(b, ARITH(SHLI), base, seven);
    Value *step = tosa_build_same(b, ARITH(SUBI), next, base);
    step = tosa_build_same(b, ARITH(MULI), step, fraction);
    return tosa_build_same(b, ARITH(ADDI), scaled, step);
}

bool tosa_lower_table(Lower *l)
{
    Value *input = op_operand(l->op, 0), *table = op_operand(l->op, 1);
    const Type *type = result_type(l->op), *out = type_elem(type);
    const Type *in = type_elem(input->type), *entry = type_elem(table->type);
    bool is_i8 =
        type_is_int_width(in, 8) && type_is_int_width(entry, 8) && type_is_int_width(out, 8);
    bool is_i16 =
        type_is_int_width(in, 16) && type_is_int_width(entry, 16) && type_is_int_width(out, 32);
    if (!tosa_lower_all_ranked(l->op) || (!is_i8 && !is_i16)) return false;
    Values dims = tosa_build_dynamic_dims(l, input->type, input);
    Value *empty = tosa_build_empty_tensor(l->b, type, out, dims);
    Builder body;
    Op *op = tosa_build_map(l->b, input, empty, type, &body);
    tosa_build_relocate_args(&body);
    tosa_build_yield(&body, is_i8 ? look_up_i8(&body, table) : look_up_i16(&body, table));
    rewriter_replace_one(l->rw, l->op, op_result(op, 0));
    return true;
}
