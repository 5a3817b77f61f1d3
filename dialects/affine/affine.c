/* The affine dialect: rows, hooks and builders of affine.apply.
 * Tests: lit/dialects/affine */
#include "dialects/affine/affine.h"
#include "dialects/arith/arith.h"
#include "dialects/common/common.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"

static const AffineMap *apply_map(const Op *op)
{
    return op_attr(op, "map")->u.map;
}

static bool resolve_indices(OpParser *p, const OperandRefs *refs)
{
    for (size_t i = 0; i < refs->len; i++)
        if (!parser_resolve(p, &refs->data[i], type_index(parser_ctx(p)))) return false;
    return true;
}

/* apply ::= affine-map "(" ssa-use-list? ")" ("[" ssa-use-list? "]")? attr-dict? */
static bool parse_apply(OpParser *p)
{
    OperandRefs dims = {0}, symbols = {0};
    SrcPos at = parser_pos(p);
    const Attr *map = parser_attr(p, NULL);
    if (map && map->kind != ATTR_AFFINE_MAP)
        return parser_error_at(p, at, "invalid kind of attribute specified");
    bool ok =
        map && parser_expect(p, "(") && parser_operand_list(p, &dims) && parser_expect(p, ")");
    if (ok && parser_try(p, "[")) ok = parser_operand_list(p, &symbols) && parser_expect(p, "]");
    ok = ok && resolve_indices(p, &dims) && resolve_indices(p, &symbols) &&
         parser_attr_dict(p, false);
    if (ok && (map->u.map->dim_count != dims.len || map->u.map->symbol_count != symbols.len))
        ok = parser_error_at(p, parser_op_pos(p), "dimension or symbol index mismatch");
    if (ok) {
        parser_set_attr(p, "map", map);
        for (uint32_t i = 0; i < map->u.map->result_count; i++)
            parser_add_result(p, type_index(parser_ctx(p)));
    }
    vec_free(&dims);
    vec_free(&symbols);
    return ok;
}

static void print_apply(OpPrinter *p, const Op *op)
{
    static const char *const hidden[] = {"map", NULL};
    uint32_t dims = apply_map(op)->dim_count;
    printer_text(p, " ");
    printer_attr(p, op_attr(op, "map"));
    printer_text(p, "(");
    printer_values(p, op, 0, dims);
    printer_text(p, ")");
    if (op->operand_count > dims) {
        printer_text(p, "[");
        printer_values(p, op, dims, op->operand_count - dims);
        printer_text(p, "]");
    }
    printer_attr_dict(p, op, hidden);
}

static bool verify_apply(Op *op)
{
    const AffineMap *map = apply_map(op);
    if (op->operand_count != map->dim_count + map->symbol_count)
        return op_error(op, "operand count and affine map dimension and symbol count must match");
    if (map->result_count != 1) return op_error(op, "mapping must produce one value");
    return true;
}

static bool eval_apply(const AffineMap *map, const Attr *const *operands, uint32_t count,
                       int64_t *out)
{
    int64_t *values = xcalloc(count, sizeof *values);
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = operands[i] && operands[i]->kind == ATTR_INTEGER;
        values[i] = ok ? attr_int_value(operands[i]) : 0;
    }
    ok = ok && map_eval(map, values, values + map->dim_count, out);
    free_ptr((void **)&values);
    return ok;
}

/* An operand as it is, or the value on constants. */
static bool fold_apply(Op *op, const Attr *const *operands, FoldResult *results)
{
    const AffineMap *map = apply_map(op);
    const AffineExpr *expr = map->results[0];
    int64_t value;
    if (expr->kind == AFFINE_DIM)
        results[0].value = op_operand(op, (uint32_t)expr->value);
    else if (expr->kind == AFFINE_SYMBOL)
        results[0].value = op_operand(op, map->dim_count + (uint32_t)expr->value);
    else if (affine_is_const(expr))
        results[0].attr = attr_index(op->ctx, expr->value);
    else if (eval_apply(map, operands, op->operand_count, &value))
        results[0].attr = attr_index(op->ctx, value);
    return results[0].value || results[0].attr;
}

Value *affine_apply(Builder *b, const AffineMap *map, Value *const *operands, uint32_t count)
{
    const Type *type = type_index(b->ctx);
    NamedAttr attr = build_named_attr(b->ctx, "map", attr_map(map));
    return op_result(build(b, AFFINE(APPLY), operands, count, &type, 1, &attr, 1), 0);
}

#define OP(ID, NAME, ...)                                                                          \
    [AFFINE_OP_##ID] = {.id = #ID, .name = NAME, .dialect = &affine_dialect, __VA_ARGS__},
const OpDef affine_ops[] = {
#include "dialects/affine/affine_ops.def"
};
#undef OP

const DialectDef affine_dialect = {
    .name = "affine",
    .summary = "Index arithmetic by affine maps.",
    .ops = affine_ops,
    .op_count = AFFINE_OP_COUNT,
    .materialize = arith_materialize,
};
