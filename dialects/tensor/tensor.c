/* The tensor dialect: rows, and the text and checks of small ops. Slicing, reshaping and packing
 * have files of their own; folders are in tensor_fold.c, patterns in tensor_canon*.c.
 * Tests: lit/dialects/tensor */
#include "dialects/arith/arith.h"
#include "dialects/common/common.h"
#include "dialects/tensor/internal.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"

static bool has_dims(const Type *type)
{
    return type->kind == TYPE_UNRANKED_TENSOR ||
           (type->kind == TYPE_RANKED_TENSOR && type->u.shaped.rank > 0);
}

static bool is_index_elem(const Type *elem)
{
    return elem->kind == TYPE_INDEX || (type_is_integer(elem) && type_is_signless(elem));
}

static bool is_index_tensor(const Type *type)
{
    return type->kind == TYPE_RANKED_TENSOR && is_index_elem(type_elem(type));
}

static bool is_shape_tensor(const Type *type)
{
    return is_index_tensor(type) && type->u.shaped.rank == 1;
}

static bool is_number(const Type *type)
{
    return is_index_elem(type) || type_is_float(type);
}

static const TypeConstraint TYPE_HAS_DIMS = {.test = has_dims,
                                             .what = "non-0-ranked or unranked tensor"};
static const TypeConstraint TYPE_INDEX_TENSOR = {
    .test = is_index_tensor, .what = "ranked tensor of signless integer or index values"};
static const TypeConstraint TYPE_SHAPE_TENSOR = {
    .test = is_shape_tensor, .what = "1D tensor of signless integer or index values"};
static const TypeConstraint TYPE_NUMBER = {.test = is_number, .what = "integer/index/float type"};

static bool is_i64_list(const Attr *attr)
{
    if (attr->kind != ATTR_ARRAY) return false;
    for (uint32_t i = 0; i < attr->u.array.count; i++) {
        const Attr *item = attr->u.array.items[i];
        if (item->kind != ATTR_INTEGER || !type_is_int_width(item->type, 64)) return false;
    }
    return true;
}

static bool is_reassociation(const Attr *attr)
{
    if (attr->kind != ATTR_ARRAY) return false;
    for (uint32_t i = 0; i < attr->u.array.count; i++)
        if (!is_i64_list(attr->u.array.items[i])) return false;
    return true;
}

static const AttrConstraint ATTR_IS_REASSOCIATION = {
    .test = is_reassociation,
    .stores = constraint_is_array,
    .what = "Array of 64-bit integer array attributes"};

bool tensor_shapes_compatible(const Type *a, const Type *b)
{
    if (!type_is_ranked(a) || !type_is_ranked(b)) return true;
    if (a->u.shaped.rank != b->u.shaped.rank) return false;
    for (uint32_t i = 0; i < a->u.shaped.rank; i++) {
        int64_t x = a->u.shaped.dims[i], y = b->u.shaped.dims[i];
        if (x != y && x != DIM_DYNAMIC && y != DIM_DYNAMIC) return false;
    }
    return true;
}

Value *tensor_dim(Builder *b, Value *tensor, uint32_t dim)
{
    Value *operands[] = {tensor, arith_constant_index(b, dim)};
    const Type *type = type_index(b->ctx);
    return op_result(build(b, TENSOR(DIM), operands, 2, &type, 1, NULL, 0), 0);
}

MixedIndex tensor_mixed_dim(Builder *b, Value *tensor, uint32_t dim)
{
    int64_t extent = tensor->type->u.shaped.dims[dim];
    if (extent != DIM_DYNAMIC) return mixed_constant(extent);
    Value *operands[] = {tensor, arith_constant_index(b, dim)};
    return mixed_value(rewrite_build_or_fold(b, TENSOR(DIM), operands, 2, type_index(b->ctx)));
}

Value *tensor_empty(Builder *b, const MixedIndex *sizes, size_t rank, const Type *elem)
{
    ValueList values = {0};
    IntList dims = {0};
    for (size_t i = 0; i < rank; i++) {
        *vec_push(&dims) = sizes[i].value ? DIM_DYNAMIC : sizes[i].constant;
        if (sizes[i].value) *vec_push(&values) = sizes[i].value;
    }
    const Type *type = type_tensor(elem, dims.data, (uint32_t)rank, NULL);
    Op *op = build(b, TENSOR(EMPTY), values.data, (uint32_t)values.len, &type, 1, NULL, 0);
    vec_free(&values);
    vec_free(&dims);
    return op_result(op, 0);
}

Value *tensor_cast(Builder *b, Value *source, const Type *type)
{
    return source->type == type ? source : build_unary(b, TENSOR(CAST), type, source);
}

static bool cast_error(Op *op)
{
    return op_error(op, "operand type '%s' and result type '%s' are cast incompatible",
                    type_str(op->ctx, op_operand(op, 0)->type),
                    type_str(op->ctx, op_result(op, 0)->type));
}

static bool verify_cast(Op *op)
{
    const Type *from = op_operand(op, 0)->type, *to = op_result(op, 0)->type;
    if (type_elem(from) == type_elem(to) && tensor_shapes_compatible(from, to)) return true;
    return cast_error(op);
}

static bool verify_bitcast(Op *op)
{
    const Type *from = op_operand(op, 0)->type, *to = op_result(op, 0)->type;
    if (type_width(type_elem(from)) == type_width(type_elem(to)) &&
        tensor_shapes_compatible(from, to))
        return true;
    return cast_error(op);
}

static bool infer_extract(Op *op, const Type **results)
{
    results[0] = type_elem(op_operand(op, 0)->type);
    return true;
}

static bool verify_extract(Op *op)
{
    const Type *tensor = op_operand(op, 0)->type;
    if (op_result(op, 0)->type != type_elem(tensor))
        return op_error(op, "failed to verify that result type matches element type of tensor");
    if (op->operand_count - 1 != tensor->u.shaped.rank)
        return op_error(op, "incorrect number of indices for extract_element");
    return true;
}

/* insert ::= ssa-use "into" ssa-use "[" ssa-use-list "]" attr-dict? ":" type */
static bool parse_insert(OpParser *p)
{
    OperandRef scalar, dest;
    OperandRefs indices = {0};
    const Type *type = NULL, *index = type_index(parser_ctx(p));
    bool ok = parser_operand(p, &scalar) && parser_expect(p, "into") && parser_operand(p, &dest) &&
              parser_expect(p, "[") && parser_operand_list(p, &indices) && parser_expect(p, "]") &&
              parser_attr_dict(p, false) && parser_expect(p, ":");
    SrcPos at = parser_pos(p);
    ok = ok && (type = parser_type(p)) != NULL;
    if (ok && type->kind != TYPE_RANKED_TENSOR)
        ok = parser_error_at(p, at, "invalid kind of type specified");
    ok = ok && parser_resolve(p, &scalar, type_elem(type)) && parser_resolve(p, &dest, type);
    for (size_t i = 0; ok && i < indices.len; i++) ok = parser_resolve(p, &indices.data[i], index);
    if (ok) parser_add_result(p, type);
    vec_free(&indices);
    return ok;
}

static void print_insert(OpPrinter *p, const Op *op)
{
    printer_text(p, " ");
    printer_value(p, op_operand(op, 0));
    printer_text(p, " into ");
    printer_value(p, op_operand(op, 1));
    printer_text(p, "[");
    printer_values(p, op, 2, op->operand_count - 2);
    printer_text(p, "]");
    printer_attr_dict(p, op, NULL);
    printer_text(p, " : ");
    printer_type(p, op_operand(op, 1)->type);
}

static bool verify_insert(Op *op)
{
    const Type *dest = op_operand(op, 1)->type;
    if (op_result(op, 0)->type != dest)
        return op_error(op, "failed to verify that result type matches type of dest");
    if (op_operand(op, 0)->type != type_elem(dest))
        return op_error(op, "failed to verify that scalar type matches element type of dest");
    if (op->operand_count - 2 != dest->u.shaped.rank)
        return op_error(op, "incorrect number of indices");
    return true;
}

/* from_elements ::= ssa-use-list attr-dict? ":" type */
static bool parse_from_elements(OpParser *p)
{
    OperandRefs refs = {0};
    const Type *type = NULL;
    int64_t count = 0;
    SrcPos at = parser_pos(p);
    bool ok = parser_operand_list(p, &refs) && parser_attr_dict(p, false) && parser_expect(p, ":");
    SrcPos type_at = parser_pos(p);
    ok = ok && (type = parser_type(p)) != NULL;
    if (ok && type->kind != TYPE_RANKED_TENSOR)
        ok = parser_error_at(p, type_at, "invalid kind of type specified");
    if (ok && !type_element_count(type, &count))
        ok = parser_error_at(p, parser_op_pos(p),
                             "'result' must be statically shaped tensor of any type values, but "
                             "got '%s'",
                             type_str(parser_ctx(p), type));
    if (ok && (size_t)count != refs.len)
        ok = parser_error_at(p, at, "%zu operands present, but expected %lld", refs.len,
                             (long long)count);
    for (size_t i = 0; ok && i < refs.len; i++)
        ok = parser_resolve(p, &refs.data[i], type_elem(type));
    if (ok) parser_add_result(p, type);
    vec_free(&refs);
    return ok;
}

static void print_from_elements(OpPrinter *p, const Op *op)
{
    printer_text(p, " "); /* also without elements, as upstream */
    printer_values(p, op, 0, op->operand_count);
    printer_attr_dict(p, op, NULL);
    printer_text(p, " : ");
    printer_type(p, op_result(op, 0)->type);
}

static bool verify_from_elements(Op *op)
{
    const Type *type = op_result(op, 0)->type;
    int64_t count;
    bool ok = type_element_count(type, &count) && count == op->operand_count;
    for (uint32_t i = 0; ok && i < op->operand_count; i++)
        ok = op_operand(op, i)->type == type_elem(type);
    return ok || op_error(op, "failed to verify that operand types match result element type");
}

uint32_t tensor_dynamic_dims(const Type *type)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < type->u.shaped.rank; i++)
        count += type->u.shaped.dims[i] == DIM_DYNAMIC;
    return count;
}

static bool verify_dynamic_sizes(Op *op, uint32_t given)
{
    uint32_t want = tensor_dynamic_dims(op_result(op, 0)->type);
    if (given == want) return true;
    return op_error(op, "incorrect number of dynamic sizes, has %u, expected %u", given, want);
}

static bool verify_empty(Op *op)
{
    return verify_dynamic_sizes(op, op->operand_count);
}

/* splat ::= ssa-use ("[" ssa-use-list "]")? attr-dict? ":" type */
static bool parse_splat(OpParser *p)
{
    OperandRef input;
    OperandRefs sizes = {0};
    const Type *type = NULL, *index = type_index(parser_ctx(p));
    bool ok = parser_operand(p, &input);
    if (ok && parser_try(p, "[")) ok = parser_operand_list(p, &sizes) && parser_expect(p, "]");
    ok = ok && parser_attr_dict(p, false) && parser_expect(p, ":");
    SrcPos at = parser_pos(p);
    ok = ok && (type = parser_type(p)) != NULL;
    if (ok && type->kind != TYPE_RANKED_TENSOR)
        ok = parser_error_at(p, at, "invalid kind of type specified");
    ok = ok && parser_resolve(p, &input, type_elem(type));
    for (size_t i = 0; ok && i < sizes.len; i++) ok = parser_resolve(p, &sizes.data[i], index);
    if (ok) parser_add_result(p, type);
    vec_free(&sizes);
    return ok;
}

static void print_splat(OpPrinter *p, const Op *op)
{
    printer_text(p, " ");
    printer_value(p, op_operand(op, 0));
    if (op->operand_count > 1) {
        printer_text(p, "[");
        printer_values(p, op, 1, op->operand_count - 1);
        printer_text(p, "]");
    }
    printer_attr_dict(p, op, NULL);
    printer_text(p, " : ");
    printer_type(p, op_result(op, 0)->type);
}

static bool verify_splat(Op *op)
{
    if (op_operand(op, 0)->type != type_elem(op_result(op, 0)->type))
        return op_error(op, "failed to verify that operand type matches element type of result");
    return verify_dynamic_sizes(op, op->operand_count - 1);
}

static bool verify_generate(Op *op)
{
    if (op->operand_count == tensor_dynamic_dims(op_result(op, 0)->type)) return true;
    return op_emit_error(op,
                         "must have as many index operands as dynamic extents in the result type");
}

static bool verify_generate_body(Op *op)
{
    const Block *body = region_entry(op_region(op, 0));
    const Type *type = op_result(op, 0)->type;
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (body->args[i]->type->kind != TYPE_INDEX)
            return op_emit_error(op, "all body arguments must be index");
    if (body->arg_count != type->u.shaped.rank)
        return op_emit_error(op, "must have one body argument per input dimension");
    const Op *yield = body->last;
    if (yield->def == TENSOR(YIELD) && op_operand(yield, 0)->type == type_elem(type)) return true;
    return op_error(op,
                    "body must be terminated with a `yield` operation of the tensor element type");
}

#define NAME_RESULT(FN, TEXT)                                                                      \
    static const char *name_##FN(const Op *op, uint32_t index, StrBuf *scratch)                    \
    {                                                                                              \
        (void)op;                                                                                  \
        (void)index;                                                                               \
        (void)scratch;                                                                             \
        return TEXT;                                                                               \
    }
NAME_RESULT(cast, "cast")
NAME_RESULT(concat, "concat")
NAME_RESULT(dim, "dim")
NAME_RESULT(extract, "extracted")
NAME_RESULT(extract_slice, "extracted_slice")
NAME_RESULT(from_elements, "from_elements")
NAME_RESULT(gather, "gather")
NAME_RESULT(generate, "generated")
NAME_RESULT(insert, "inserted")
NAME_RESULT(insert_slice, "inserted_slice")
NAME_RESULT(rank, "rank")
NAME_RESULT(reshape, "reshape")
NAME_RESULT(expand_shape, "expanded")
NAME_RESULT(collapse_shape, "collapsed")
NAME_RESULT(pad, "padded")
NAME_RESULT(scatter, "scatter")
NAME_RESULT(splat, "splat")
NAME_RESULT(pack, "pack")
NAME_RESULT(unpack, "unpack")

#define SLICE_ATTRS                                                                                \
    ATTRS(REQUIRED("static_offsets", ATTR_IS_I64_ARRAY),                                           \
          REQUIRED("static_sizes", ATTR_IS_I64_ARRAY),                                             \
          REQUIRED("static_strides", ATTR_IS_I64_ARRAY))
#define SLICE_FORMAT                                                                               \
    "custom<DynamicIndexList>($offsets, $static_offsets)"                                          \
    "custom<DynamicIndexList>($sizes, $static_sizes)"                                              \
    "custom<DynamicIndexList>($strides, $static_strides)"
#define PACK_ATTRS                                                                                 \
    ATTRS(OPTIONAL("outer_dims_perm", ATTR_IS_I64_ARRAY),                                          \
          REQUIRED("inner_dims_pos", ATTR_IS_I64_ARRAY),                                           \
          REQUIRED("static_inner_tiles", ATTR_IS_I64_ARRAY))
#define PACK_FORMAT                                                                                \
    "(`outer_dims_perm` `=` $outer_dims_perm^)? `inner_dims_pos` `=` $inner_dims_pos"              \
    "`inner_tiles` `=` custom<DynamicIndexList>($inner_tiles, $static_inner_tiles)"                \
    "`into` $dest attr-dict `:` type($source) `->` type($dest)"

#define OP(ID, NAME, ...)                                                                          \
    [TENSOR_##ID] = {.id = #ID, .name = NAME, .dialect = &tensor_dialect, __VA_ARGS__},
const OpDef tensor_ops[] = {
#include "dialects/tensor/tensor_ops.def"
};
#undef OP

static Value *tensor_destination(const Op *op, uint32_t result)
{
    (void)result; /* these have one */
    bool writes = op->def == TENSOR(INSERT) || op->def == TENSOR(INSERT_SLICE) ||
                  op->def == TENSOR(PACK) || op->def == TENSOR(UNPACK);
    return writes ? op_operand(op, 1) : NULL;
}

const DialectDef tensor_dialect = {
    .name = "tensor",
    .summary = "Making, slicing and reshaping tensors.",
    .ops = tensor_ops,
    .destination = tensor_destination,
    .op_count = TENSOR_OP_COUNT,
    .inlining = INLINE_OPS | INLINE_INTO,
    .materialize = arith_materialize,
};
