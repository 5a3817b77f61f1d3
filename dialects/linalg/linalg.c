/* The linalg dialect: rows, enumeration attributes, builders. Named ops come from linalg_named.def;
 * text is in linalg_asm*.c, checks are in linalg_verify*.c, patterns in linalg_canon*.c.
 * Tests: lit/dialects/linalg */
#include "dialects/arith/arith.h"
#include "dialects/common/common.h"
#include "dialects/linalg/internal.h"
#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"

static const char *const UNARY_NAMES[] = {"exp",    "log",        "abs",   "ceil", "floor",
                                          "negf",   "reciprocal", "round", "sqrt", "rsqrt",
                                          "square", "tanh",       "erf",   NULL};
static const char *const BINARY_NAMES[] = {
    "add",          "sub",          "mul",  "div", "div_unsigned", "max_signed", "min_signed",
    "max_unsigned", "min_unsigned", "powf", NULL};
static const char *const TERNARY_NAMES[] = {"select", NULL};
static const char *const TYPE_NAMES[] = {"cast_signed", "cast_unsigned", NULL};
static const char *const ITERATOR_NAMES[] = {"parallel", "reduction", NULL};

#define ENUM_ATTR(DEF, NAME, SUMMARY, CPP, TD, NAMES)                                              \
    static const EnumSpec DEF##_spec = {&DEF, CPP, TD, NAMES, NULL, NULL};                         \
    static const Attr *parse_##DEF(OpParser *p, const Type *type)                                  \
    {                                                                                              \
        (void)type;                                                                                \
        return enum_attr_parse(p, &DEF##_spec);                                                    \
    }                                                                                              \
    static void print_##DEF(StrBuf *out, const Attr *attr)                                         \
    {                                                                                              \
        enum_attr_print(out, attr, &DEF##_spec);                                                   \
    }                                                                                              \
    const AttrDef DEF = {.name = NAME,                                                             \
                         .dialect = &linalg_dialect,                                               \
                         .summary = SUMMARY,                                                       \
                         .parse = parse_##DEF,                                                     \
                         .print = print_##DEF};
ENUM_ATTR(linalg_unary_fn, "unary_fn", "A scalar function of one argument.",
          "::mlir::linalg::UnaryFn", "UnaryFnAttr", UNARY_NAMES)
ENUM_ATTR(linalg_binary_fn, "binary_fn", "A scalar function of two arguments.",
          "::mlir::linalg::BinaryFn", "BinaryFnAttr", BINARY_NAMES)
ENUM_ATTR(linalg_ternary_fn, "ternary_fn", "A scalar function of three arguments.",
          "::mlir::linalg::TernaryFn", "TernaryFnAttr", TERNARY_NAMES)
ENUM_ATTR(linalg_type_fn, "type_fn", "How a body converts its inputs.", "::mlir::linalg::TypeFn",
          "TypeFnAttr", TYPE_NAMES)
ENUM_ATTR(linalg_iterator_type_def, "iterator_type",
          "Whether iterations of a loop are independent.", "::mlir::utils::IteratorType",
          "IteratorTypeEnum", ITERATOR_NAMES)

static bool is_unary_fn(const Attr *attr)
{
    return attr_is_a(attr, &linalg_unary_fn);
}

static bool is_binary_fn(const Attr *attr)
{
    return attr_is_a(attr, &linalg_binary_fn);
}

static bool is_type_fn(const Attr *attr)
{
    return attr_is_a(attr, &linalg_type_fn);
}

static bool is_iterator_type(const Attr *attr)
{
    return attr_is_a(attr, &linalg_iterator_type_def);
}

const Attr *linalg_iterator_type(Context *ctx, bool is_reduction)
{
    return enum_attr_get(ctx, &linalg_iterator_type_def_spec, is_reduction);
}

bool linalg_iterator_is_reduction(const Attr *iterator_type)
{
    return enum_attr_value(iterator_type) == 1;
}

static bool is_array_of(const Attr *attr, bool (*test)(const Attr *item))
{
    if (attr->kind != ATTR_ARRAY) return false;
    for (uint32_t i = 0; i < attr->u.array.count; i++)
        if (!test(attr->u.array.items[i])) return false;
    return true;
}

static bool is_map(const Attr *attr)
{
    return attr->kind == ATTR_AFFINE_MAP;
}

static bool is_map_array(const Attr *attr)
{
    return is_array_of(attr, is_map);
}

static bool is_iterator_array(const Attr *attr)
{
    return is_array_of(attr, is_iterator_type);
}

static bool is_loop(const Attr *attr)
{
    return attr->kind == ATTR_INTEGER && type_is_int_width(attr->type, 64) &&
           attr_int_value(attr) >= 0;
}

static bool is_increasing(const Attr *attr)
{
    if (attr->kind != ATTR_DENSE_ARRAY || !type_is_int_width(attr->u.dense_array.elem, 64))
        return false;
    for (size_t i = 1; i < attr->u.dense_array.count; i++)
        if (dense_array_i64(attr, i - 1) >= dense_array_i64(attr, i)) return false;
    return true;
}

/* Elements of a window attribute: i64, one per window dimension. */
static bool is_window(const Attr *attr, int64_t count)
{
    return attr->kind == ATTR_DENSE && attr->type->u.shaped.rank == 1 &&
           attr->type->u.shaped.dims[0] == count && type_is_int_width(type_elem(attr->type), 64);
}

static bool is_window_1(const Attr *attr)
{
    return is_window(attr, 1);
}

static bool is_window_2(const Attr *attr)
{
    return is_window(attr, 2);
}

static bool is_window_3(const Attr *attr)
{
    return is_window(attr, 3);
}

static bool is_tensor_or_memref(const Type *type)
{
    return type->kind == TYPE_RANKED_TENSOR || type->kind == TYPE_MEMREF;
}

static bool is_tensor_4d(const Type *type)
{
    return type->kind == TYPE_RANKED_TENSOR && type->u.shaped.rank == 4;
}

static bool is_tensor_6d(const Type *type)
{
    return type->kind == TYPE_RANKED_TENSOR && type->u.shaped.rank == 6;
}

static const Type *bare_i64(Context *ctx)
{
    return type_i(ctx, 64);
}

static const TypeConstraint TYPE_TENSOR_OR_MEMREF = {.test = is_tensor_or_memref, .what = ""};
static const TypeConstraint TYPE_4D_TENSOR = {.test = is_tensor_4d,
                                              .what = "4D tensor of any type values"};
static const TypeConstraint TYPE_6D_TENSOR = {.test = is_tensor_6d,
                                              .what = "6D tensor of any type values"};
static const AttrConstraint ATTR_IS_MAP_ARRAY = {
    .test = is_map_array, .stores = constraint_is_array, .what = "AffineMap array attribute"};
static const AttrConstraint ATTR_IS_ITERATOR_ARRAY = {.test = is_iterator_array,
                                                      .stores = constraint_is_array,
                                                      .what = "Iterator type should be an enum."};
static const AttrConstraint ATTR_IS_LOOP = {
    .test = is_loop,
    .stores = constraint_is_integer,
    .what = "64-bit signless integer attribute whose minimum value is 0",
    .syntax = ATTR_SYNTAX_BARE_INT,
    .bare_type = bare_i64};
static const AttrConstraint ATTR_IS_INCREASING = {
    .test = is_increasing,
    .stores = constraint_is_i64_array,
    .what = "i64 dense array attribute should be in increasing order"};
static const AttrConstraint ATTR_IS_WINDOW_1 = {
    .test = is_window_1,
    .stores = constraint_is_dense_ints,
    .what = "64-bit signless int elements attribute of shape [1]"};
static const AttrConstraint ATTR_IS_WINDOW_2 = {
    .test = is_window_2,
    .stores = constraint_is_dense_ints,
    .what = "64-bit signless int elements attribute of shape [2]"};
static const AttrConstraint ATTR_IS_WINDOW_3 = {
    .test = is_window_3,
    .stores = constraint_is_dense_ints,
    .what = "64-bit signless int elements attribute of shape [3]"};
static const AttrConstraint ATTR_IS_UNARY_FN = {
    .test = is_unary_fn,
    .what = "allowed 32-bit signless integer cases: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12",
    .param = &linalg_unary_fn};
static const AttrConstraint ATTR_IS_BINARY_FN = {
    .test = is_binary_fn,
    .what = "allowed 32-bit signless integer cases: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9",
    .param = &linalg_binary_fn};
static const AttrConstraint ATTR_IS_TYPE_FN = {.test = is_type_fn,
                                               .what =
                                                   "allowed 32-bit signless integer cases: 0, 1",
                                               .param = &linalg_type_fn};

/* yield ::= (ssa-use-list)? attr-dict? (":" types)? */
static bool parse_yield(OpParser *p)
{
    OperandRefs refs = {0};
    TypeList types = {0};
    SrcPos at = parser_pos(p);
    bool ok = parser_operand_list(p, &refs) && parser_attr_dict(p, false);
    if (ok && refs.len > 0) ok = parser_expect(p, ":") && parser_type_list(p, &types);
    ok = ok && parser_resolve_all(p, &refs, types.data, types.len, at);
    vec_free(&refs);
    vec_free(&types);
    return ok;
}

static void print_yield(OpPrinter *p, const Op *op)
{
    if (op->operand_count > 0) {
        printer_text(p, " ");
        printer_values(p, op, 0, op->operand_count);
    }
    printer_attr_dict(p, op, NULL);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        printer_text(p, i == 0 ? " : " : ", ");
        printer_type(p, op_operand(op, i)->type);
    }
}

const Type *linalg_payload_type(const Type *type)
{
    return is_tensor_or_memref(type) ? type_elem(type) : type;
}

static bool verify_yield(Op *op)
{
    const Op *parent = op_parent(op);
    if (!parent || parent->region_count != 1 || region_is_empty(op_region(parent, 0)))
        return op_error(op, "expected single non-empty parent region");
    if (!linalg_is_structured(parent))
        return op_error(op, "expected parent op with LinalgOp interface");
    uint32_t inputs = linalg_input_count(parent), inits = linalg_init_count(parent);
    if (op->operand_count != inits)
        return op_error(op,
                        "expected number of yield values (%u) to match the number of inits / outs "
                        "operands of the enclosing LinalgOp (%u)",
                        op->operand_count, inits);
    for (uint32_t i = 0; i < inits; i++) {
        const Type *want = linalg_payload_type(op_operand(parent, inputs + i)->type);
        if (op_operand(op, i)->type != want)
            return op_error(op,
                            "type of yield operand %u ('%s') doesn't match the element type of "
                            "the enclosing linalg.generic op ('%s')",
                            i + 1, type_str(op->ctx, op_operand(op, i)->type),
                            type_str(op->ctx, want));
    }
    return true;
}

static bool verify_index(Op *op)
{
    const Op *parent = op_parent(op);
    int64_t dim = attr_int_value(op_attr(op, "dim"));
    if (!parent || !linalg_is_structured(parent))
        return op_error(op, "expected parent op with LinalgOp interface");
    if (dim >= linalg_loop_count(parent))
        return op_error(op,
                        "expected dim (%lld) to be lower than the number of loops (%u) of the "
                        "enclosing LinalgOp",
                        (long long)dim, linalg_loop_count(parent));
    return true;
}

#define NAME_RESULT(FN, TEXT)                                                                      \
    static const char *name_##FN(const Op *op, uint32_t index, StrBuf *scratch)                    \
    {                                                                                              \
        (void)op;                                                                                  \
        (void)scratch;                                                                             \
        return index == 0 ? TEXT : NULL;                                                           \
    }
NAME_RESULT(map, "mapped")
NAME_RESULT(reduce, "reduced")
NAME_RESULT(transpose, "transposed")
NAME_RESULT(broadcast, "broadcasted")

static const char *name_generic_arg(const Op *op, const Value *arg, StrBuf *scratch)
{
    (void)scratch;
    if (arg->owner.block != linalg_body(op)) return NULL;
    return arg->index < linalg_input_count(op) ? "in" : "out";
}

static const char *name_map_arg(const Op *op, const Value *arg, StrBuf *scratch)
{
    (void)op;
    (void)arg;
    (void)scratch;
    return "in";
}

static const char *name_reduce_arg(const Op *op, const Value *arg, StrBuf *scratch)
{
    (void)scratch;
    return arg->index < linalg_input_count(op) ? "in" : "init";
}

static bool verify_op_attr(Op *op, const NamedAttr *attr)
{
    if (str_eq_c(attr->name->str, "linalg.memoized_indexing_maps")) return true;
    return op_emit_error(op, "attribute '\"%.*s\"' not supported by the linalg dialect",
                         STR_ARG(attr->name->str));
}

Op *linalg_yield(Builder *b, Value *const *values, uint32_t count)
{
    return build(b, LINALG(YIELD), values, count, NULL, 0, NULL, 0);
}

Value *linalg_index(Builder *b, uint32_t loop)
{
    const Type *type = type_index(b->ctx);
    NamedAttr attr = build_named_attr(b->ctx, "dim", attr_i64(b->ctx, loop));
    return op_result(build(b, LINALG(INDEX), NULL, 0, &type, 1, &attr, 1), 0);
}

typedef VEC(NamedAttr) AttrList;

static Op *build_structured(Builder *b, const OpDef *def, Value *const *inputs,
                            uint32_t input_count, Value *const *inits, uint32_t init_count,
                            const NamedAttr *attrs, uint32_t attr_count)
{
    ValueList operands = {0};
    AttrList all = {0};
    VEC(const Type *) results = {0};
    int32_t segments[] = {(int32_t)input_count, (int32_t)init_count};
    for (uint32_t i = 0; i < input_count; i++) *vec_push(&operands) = inputs[i];
    for (uint32_t i = 0; i < init_count; i++) {
        *vec_push(&operands) = inits[i];
        if (type_is_tensor(inits[i]->type)) *vec_push(&results) = inits[i]->type;
    }
    for (uint32_t i = 0; i < attr_count; i++) *vec_push(&all) = attrs[i];
    if (def->traits & TRAIT_ATTR_SIZED_OPERANDS)
        *vec_push(&all) = build_named_attr(b->ctx, "operandSegmentSizes",
                                           attr_dense_array(type_i(b->ctx, 32), segments, 2));
    Op *op = build(b, def, operands.data, (uint32_t)operands.len, results.data,
                   (uint32_t)results.len, all.data, (uint32_t)all.len);
    Block *body = region_add_block(op_region(op, 0));
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Value *operand = op_operand(op, i);
        const Attr *loc = linalg_structured_def(op) ? loc_unknown(b->ctx) : value_loc(operand);
        block_add_arg(body, linalg_payload_type(operand->type), loc);
    }
    vec_free(&operands);
    vec_free(&all);
    vec_free(&results);
    return op;
}

Op *linalg_build_named(Builder *b, const OpDef *def, Value *const *inputs, uint32_t input_count,
                       Value *const *inits, uint32_t init_count, const NamedAttr *attrs,
                       uint32_t attr_count)
{
    Op *op = build_structured(b, def, inputs, input_count, inits, init_count, attrs, attr_count);
    linalg_fill_body(linalg_structured_def(op), linalg_body(op), op->props);
    return op;
}

Op *linalg_build_forwarding(Builder *b, const OpDef *def, Value *input, Value *init,
                            const NamedAttr *list)
{
    Op *op = build_structured(b, def, &input, 1, &init, 1, list, 1);
    Builder body = builder_at_end(linalg_body(op), b->loc);
    (void)linalg_yield(&body, body.block->args, 1);
    return op;
}

Op *linalg_build_generic(Builder *b, Value *const *inputs, uint32_t input_count,
                         Value *const *inits, uint32_t init_count, const Attr *maps,
                         const Attr *iterators)
{
    NamedAttr attrs[] = {build_named_attr(b->ctx, "indexing_maps", maps),
                         build_named_attr(b->ctx, "iterator_types", iterators)};
    return build_structured(b, LINALG(GENERIC), inputs, input_count, inits, init_count, attrs,
                            COUNT_OF(attrs));
}

void linalg_add_structured(PatternSet *set, const char *name,
                           bool (*rewrite)(Rewriter *rw, Op *op, void *user))
{
    for (size_t i = 0; i < LINALG_OP_COUNT; i++)
        if (linalg_is_structured_row(&linalg_ops[i]))
            pattern_add(set, name, &linalg_ops[i], 1, rewrite);
}

Value *linalg_fill(Builder *b, Value *scalar, Value *init)
{
    return op_result(linalg_build_named(b, LINALG(FILL), &scalar, 1, &init, 1, NULL, 0), 0);
}

#define NAMED_OP(...)                                                                              \
    .operands = ARGS(MANY("inputs", TYPE_ANY), MANY("outputs", TYPE_ANY_SHAPED)),                  \
    .results = ARGS(MANY("result_tensors", TYPE_RANKED_TENSOR_ONLY)),                              \
    .regions = REGIONS(BLOCKS("region")),                                                          \
    .traits = TRAIT_MEMREF_EFFECTS | TRAIT_SINGLE_BLOCK | TRAIT_ATTR_SIZED_OPERANDS,               \
    .parse = linalg_parse_named, .print = linalg_print_named, .verify = linalg_verify_named,       \
    .verify_regions = linalg_verify_structured, .data = &(const StructuredDef)                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define STRUCTURED(LOOPS, MAPS, BODY_KIND, FN) NAMED_OP(LOOPS, MAPS, 0, BODY_KIND, FN)
#define ELEMENTWISE(COUNT, BODY_KIND, FN) NAMED_OP(NULL, NULL, COUNT, BODY_KIND, FN)
#define WINDOW_ATTRS(COUNT)                                                                        \
    ATTRS(OPTIONAL("strides", ATTR_IS_WINDOW_##COUNT),                                             \
          OPTIONAL("dilations", ATTR_IS_WINDOW_##COUNT))
#define WINOGRAD(IN, IN_RANK, OUT, OUT_RANK)                                                       \
    .operands = ARGS(ONE(IN, TYPE_##IN_RANK##D_TENSOR), ONE(OUT, TYPE_##OUT_RANK##D_TENSOR)),      \
    .results = ARGS(ONE("result", TYPE_##OUT_RANK##D_TENSOR)),                                     \
    .attrs = ATTRS(REQUIRED("m", ATTR_IS_I64), REQUIRED("r", ATTR_IS_I64)), .traits = TRAIT_PURE,  \
    .format = "attr-dict `m` `(` $m `)` `r` `(` $r `)` `ins` `(` $" IN " `:` type($" IN ") `)`"    \
              "`outs` `(` $" OUT " `:` type($" OUT ") `)` `->` type($result)"

#define OP(ID, NAME, ...)                                                                          \
    [LINALG_##ID] = {.id = #ID, .name = NAME, .dialect = &linalg_dialect, __VA_ARGS__},
const OpDef linalg_ops[] = {
/* clang-format off */
#include "dialects/linalg/linalg_ops.def"
#include "dialects/linalg/linalg_named.def"
    /* clang-format on */
};
#undef OP

static const AttrDef *const ATTR_DEFS[] = {&linalg_unary_fn,          &linalg_binary_fn,
                                           &linalg_ternary_fn,        &linalg_type_fn,
                                           &linalg_iterator_type_def, NULL};

const DialectDef linalg_dialect = {
    .name = "linalg",
    .summary = "Loops implied by indexing maps.",
    .ops = linalg_ops,
    .destination = linalg_destination,
    .op_count = LINALG_OP_COUNT,
    .inlining = INLINE_OPS | INLINE_INTO,
    .attrs = ATTR_DEFS,
    .materialize = arith_materialize,
    .verify_op_attr = verify_op_attr,
    .canonicalize = linalg_canonicalize,
};
