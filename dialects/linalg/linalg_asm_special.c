/* Text of map, reduce, transpose and broadcast:
 *   map       ::= short? parts attr-dict? (args region)?
 *   reduce    ::= short? parts "dimensions" "=" "[" ints "]" attr-dict? (args region)?
 *   transpose ::= parts "permutation" "=" "[" ints "]" attr-dict?
 *   broadcast ::= parts "dimensions" "=" "[" ints "]" attr-dict?
 *   short     ::= "{" op-name attr-dict? "}"      for a body of just that op
 * Tests: lit/dialects/linalg/ops.mir */
#include "dialects/arith/arith.h"
#include "dialects/common/common.h"
#include "dialects/linalg/internal.h"
#include "dialects/linalg/linalg.h"

/* The one op of a short body. */
typedef struct LinalgPayload {
    const Ident *name; /* NULL: the body is written out */
    const Attr *attrs;
} LinalgPayload;

/* "{" op-name attr-dict? "}" */
static bool parse_payload(OpParser *p, LinalgPayload *out)
{
    Str name;
    *out = (LinalgPayload){0};
    if (!parser_try(p, "{")) return true;
    if (!parser_keyword(p, &name)) return false;
    out->name = ident_get(parser_ctx(p), name);
    out->attrs = attr_dict(parser_ctx(p), NULL, 0);
    if (parser_at(p, "{") && !(out->attrs = parser_attr(p, NULL))) return false;
    return parser_expect(p, "}");
}

/* A body that applies the payload to all arguments; init_first: the last argument first. */
static void build_payload(OpParser *p, const LinalgPayload *payload, Block *body,
                          const Type *result, bool init_first)
{
    const Attr *loc = parser_loc_at(p, parser_op_pos(p));
    VEC(Value *) operands = {0};
    uint32_t count = body->arg_count;
    if (init_first) *vec_push(&operands) = body->args[count - 1];
    for (uint32_t i = 0; i < count - init_first; i++) *vec_push(&operands) = body->args[i];
    OpState state = {.name = payload->name,
                     .loc = loc,
                     .operands = operands.data,
                     .operand_count = (uint32_t)operands.len,
                     .result_types = &result,
                     .result_count = 1,
                     .attrs = payload->attrs};
    Op *op = op_create(parser_ctx(p), &state);
    op_append(op, body);
    Builder b = builder_at_end(body, loc);
    Value *value = op_result(op, 0);
    b.ctx = parser_ctx(p);
    linalg_yield(&b, &value, 1);
    vec_free(&operands);
}

/* "(" args ")" region */
static bool parse_long_body(OpParser *p)
{
    ArgDecls args = {0};
    bool ok = parser_expect_in(p, "(", " in argument list");
    if (ok && !parser_try(p, ")")) {
        do {
            ok = parser_arg(p, vec_push(&args), true, true);
        } while (ok && parser_try(p, ","));
        ok = ok && parser_expect_in(p, ")", " in argument list");
    }
    ok = ok && parser_region(p, args.data, args.len);
    vec_free(&args);
    return ok;
}

/* name "=" "[" ints "]" as an array<i64> */
static bool parse_int_list_attr(OpParser *p, const char *name)
{
    DimList values = {0};
    bool ok = parser_expect(p, name) && parser_expect(p, "=") && parser_expect(p, "[");
    if (ok && !parser_try(p, "]")) {
        do {
            ok = parser_int(p, vec_push(&values));
        } while (ok && parser_try(p, ","));
        ok = ok && parser_expect(p, "]");
    }
    if (ok) parser_set_attr(p, name, attr_i64_array(parser_ctx(p), values.data, values.len));
    vec_free(&values);
    return ok;
}

/* Parts, the list attribute if any, attributes; tensor inits give results. */
static bool parse_header(OpParser *p, StructuredParts *parts, const char *list_attr)
{
    if (!linalg_parse_parts(p, parts, false)) return false;
    for (size_t i = 0; i < parts->inits.len; i++)
        if (parts->inits.data[i]->kind == TYPE_RANKED_TENSOR)
            parser_add_result(p, parts->inits.data[i]);
    return (!list_attr || parse_int_list_attr(p, list_attr)) && parser_attr_dict(p, false);
}

bool linalg_parse_map(OpParser *p)
{
    StructuredParts parts = {0};
    LinalgPayload payload;
    bool ok = parse_payload(p, &payload) && parse_header(p, &parts, NULL);
    if (ok && !payload.name)
        ok = parse_long_body(p);
    else if (ok && parts.inits.len > 0)
        build_payload(p, &payload, linalg_parse_new_body(p, &parts.inputs, NULL),
                      linalg_payload_type(parts.inits.data[parts.inits.len - 1]), false);
    else if (ok)
        parser_add_empty_region(p);
    linalg_parts_free(&parts);
    return ok;
}

bool linalg_parse_reduce(OpParser *p)
{
    StructuredParts parts = {0};
    LinalgPayload payload;
    bool ok = parse_payload(p, &payload) && parse_header(p, &parts, "dimensions");
    if (ok && !payload.name)
        ok = parse_long_body(p);
    else if (ok && parts.inits.len > 0)
        build_payload(p, &payload, linalg_parse_new_body(p, &parts.inputs, &parts.inits),
                      linalg_payload_type(parts.inits.data[parts.inits.len - 1]), true);
    else if (ok)
        parser_add_empty_region(p);
    linalg_parts_free(&parts);
    return ok;
}

/* Input and init only; the body hands the element on. */
static bool parse_forwarding(OpParser *p, const char *list_attr)
{
    static const StructuredDef forward = {.body = BODY_FORWARD};
    StructuredParts parts = {0};
    bool ok = parse_header(p, &parts, list_attr);
    if (ok && parts.inputs.len > 0 && parts.inits.len > 0)
        linalg_fill_body(&forward, linalg_parse_new_body(p, &parts.inputs, &parts.inits), NULL);
    else if (ok)
        parser_add_empty_region(p);
    linalg_parts_free(&parts);
    return ok;
}

bool linalg_parse_transpose(OpParser *p)
{
    return parse_forwarding(p, "permutation");
}

bool linalg_parse_broadcast(OpParser *p)
{
    return parse_forwarding(p, "dimensions");
}

/* The body's only op before the yield, if it takes the arguments in order and its result is
 * yielded; NULL: the body must be written out. */
static const Op *payload_of(const Op *op, bool init_first)
{
    const Block *body = linalg_body(op);
    const Op *payload = body ? body->first : NULL, *yield = body ? body->last : NULL;
    if (!payload || payload->next != yield || payload == yield) return NULL;
    uint32_t count = payload->operand_count;
    if (count == 0 || count != body->arg_count) return NULL;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t want = !init_first ? i : i == 0 ? count - 1 : i - 1;
        if (op_operand(payload, i) != body->args[want]) return NULL;
    }
    bool yielded = yield->operand_count == 1 && value_def(op_operand(yield, 0)) == payload;
    return yielded ? payload : NULL;
}

/* " { arith.addf }" */
static void print_payload(OpPrinter *p, const Op *payload)
{
    const Attr *flags = op_attr(payload, "fastmath");
    bool plain = flags && attr_is_a(flags, &arith_fastmath) && enum_attr_value(flags) == 0;
    const char *const hidden[] = {plain ? "fastmath" : NULL, NULL};
    printer_text(p, " { ");
    strbuf_add_str(printer_out(p), op_name(payload));
    printer_attr_dict(p, payload, hidden);
    printer_text(p, " }");
}

/* On a line of its own: "(%in: f32) { … }" */
static void print_long_body(OpPrinter *p, const Op *op)
{
    const Block *body = linalg_body(op);
    printer_nest(p, 1);
    printer_newline(p);
    printer_text(p, "(");
    for (uint32_t i = 0; i < body->arg_count; i++) {
        if (i > 0) printer_text(p, ", ");
        printer_region_arg(p, body->args[i], NULL);
    }
    printer_text(p, ") ");
    printer_region(p, op_region(op, 0), false, true);
    printer_nest(p, -1);
}

/* " dimensions = [1] " with the blank that upstream leaves at the end */
static void print_int_list_attr(OpPrinter *p, const Op *op, const char *name)
{
    const Attr *list = op_attr(op, name);
    StrBuf *out = printer_out(p);
    strbuf_printf(out, " %s = [", name);
    for (size_t i = 0; i < list->u.dense_array.count; i++) {
        strbuf_add_c(out, i > 0 ? ", " : "");
        strbuf_add_int(out, dense_array_i64(list, i));
    }
    strbuf_add_c(out, "] ");
}

void linalg_print_map(OpPrinter *p, const Op *op)
{
    const Op *payload = payload_of(op, false);
    if (payload) print_payload(p, payload);
    linalg_print_parts(p, op);
    printer_attr_dict(p, op, NULL);
    if (!payload) print_long_body(p, op);
}

void linalg_print_reduce(OpPrinter *p, const Op *op)
{
    static const char *const hidden[] = {"dimensions", NULL};
    const Op *payload = payload_of(op, true);
    if (payload) print_payload(p, payload);
    linalg_print_parts(p, op);
    print_int_list_attr(p, op, "dimensions");
    printer_attr_dict(p, op, hidden);
    if (!payload) print_long_body(p, op);
}

static void print_forwarding(OpPrinter *p, const Op *op, const char *list_attr)
{
    const char *const hidden[] = {list_attr, NULL};
    linalg_print_parts(p, op);
    print_int_list_attr(p, op, list_attr);
    printer_attr_dict(p, op, hidden);
}

void linalg_print_transpose(OpPrinter *p, const Op *op)
{
    print_forwarding(p, op, "permutation");
}

void linalg_print_broadcast(OpPrinter *p, const Op *op)
{
    print_forwarding(p, op, "dimensions");
}
