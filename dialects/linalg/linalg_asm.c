/* Text of linalg.generic and of named ops:
 *   parts   ::= ("<" props ">")? attr-dict? ("ins" part)? ("outs" part)?
 *   part    ::= "(" operands ":" types ")"
 *   generic ::= attributes parts ("attrs" "=" attr-dict)? region ("->" types)?
 *   named   ::= parts attr-dict? ("->" types)?        the region follows from the row
 * Tests: lit/dialects/linalg/ops.mir */
#include "dialects/linalg/internal.h"
#include "dialects/linalg/linalg.h"

/* One side's operands with their types; `at` is the place of messages about their number. */
typedef struct OperandPart {
    OperandRefs refs;
    TypeList *types;
    SrcPos at;
} OperandPart;

static bool parse_operand_part(OpParser *p, OperandPart *part)
{
    return parser_operand_list(p, &part->refs) && parser_expect(p, ":") &&
           parser_type_list(p, part->types) && parser_expect(p, ")");
}

static bool parse_inputs(OpParser *p, OperandPart *part)
{
    if (!parser_try(p, "ins")) return true;
    if (!parser_expect(p, "(")) return false;
    part->at = parser_pos(p);
    return parse_operand_part(p, part);
}

static bool parse_inits(OpParser *p, OperandPart *part)
{
    if (!parser_try(p, "outs")) return true;
    part->at = parser_pos(p);
    return parser_expect(p, "(") && parse_operand_part(p, part);
}

static bool resolve_part(OpParser *p, const OperandPart *part)
{
    return parser_resolve_all(p, &part->refs, part->types->data, part->types->len, part->at);
}

static void set_segments(OpParser *p, const OperandPart *inputs, const OperandPart *inits,
                         bool in_props)
{
    int32_t sizes[] = {(int32_t)inputs->refs.len, (int32_t)inits->refs.len};
    const Attr *attr = attr_dense_array(type_i(parser_ctx(p), 32), sizes, COUNT_OF(sizes));
    if (in_props)
        parser_set_prop(p, "operandSegmentSizes", attr);
    else
        parser_set_attr(p, "operandSegmentSizes", attr);
}

bool linalg_parse_parts(OpParser *p, StructuredParts *parts, bool segments)
{
    OperandPart inputs = {.types = &parts->inputs}, inits = {.types = &parts->inits};
    bool in_props;
    if (!parser_props(p, &in_props)) return false;
    SrcPos at = parser_pos(p);
    bool ok = parser_attr_dict(p, false) && parse_inputs(p, &inputs) && parse_inits(p, &inits) &&
              resolve_part(p, &inputs) && resolve_part(p, &inits);
    if (ok && segments) set_segments(p, &inputs, &inits, in_props);
    ok = ok && (in_props || parser_check_attrs(p, at));
    vec_free(&inputs.refs);
    vec_free(&inits.refs);
    return ok;
}

void linalg_parts_free(StructuredParts *parts)
{
    vec_free(&parts->inputs);
    vec_free(&parts->inits);
}

static void print_operand_part(OpPrinter *p, const Op *op, const char *open, uint32_t begin,
                               uint32_t count)
{
    if (count == 0) return;
    printer_text(p, open);
    printer_values(p, op, begin, count);
    for (uint32_t i = 0; i < count; i++) {
        printer_text(p, i == 0 ? " : " : ", ");
        printer_type(p, op_operand(op, begin + i)->type);
    }
    printer_text(p, ")");
}

void linalg_print_parts(OpPrinter *p, const Op *op)
{
    uint32_t inputs = linalg_input_count(op);
    print_operand_part(p, op, " ins(", 0, inputs);
    print_operand_part(p, op, " outs(", inputs, op->operand_count - inputs);
}

/* "->" types, with parentheses unless there is one that needs none. */
static void print_results(OpPrinter *p, const Op *op)
{
    if (op->result_count == 0) return;
    bool bare = op->result_count == 1 && op_result(op, 0)->type->kind != TYPE_FUNCTION;
    printer_text(p, bare ? " -> " : " -> (");
    printer_result_types(p, op);
    if (!bare) printer_text(p, ")");
}

static bool parse_results(OpParser *p)
{
    TypeList results = {0};
    bool ok = parser_optional_arrow_types(p, &results);
    if (ok) parser_add_results(p, results.data, results.len);
    vec_free(&results);
    return ok;
}

/* ["parallel", …] as enumeration attributes; already converted ones stay. */
static bool parse_iterators(OpParser *p, const Attr *array, const Attr **out)
{
    VEC(const Attr *) items = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < array->u.array.count; i++) {
        const Attr *item = array->u.array.items[i];
        if (item->kind != ATTR_STRING) {
            *vec_push(&items) = item;
            continue;
        }
        bool is_reduction = str_eq_c(item->u.string, "reduction");
        if (!is_reduction && !str_eq_c(item->u.string, "parallel"))
            ok = parser_error(p, "unexpected iterator_type (%.*s)", STR_ARG(item->u.string));
        *vec_push(&items) = linalg_iterator_type(parser_ctx(p), is_reduction);
    }
    if (ok) *out = attr_array(parser_ctx(p), items.data, items.len);
    vec_free(&items);
    return ok;
}

static bool parse_generic_attrs(OpParser *p)
{
    SrcPos at = parser_pos(p);
    const Attr *dict = parser_attr(p, NULL), *iterators;
    if (!dict) return false;
    if (dict->kind != ATTR_DICT)
        return parser_error_at(p, at, "invalid kind of attribute specified");
    iterators = attr_dict_get_c(dict, "iterator_types");
    if (!iterators || iterators->kind != ATTR_ARRAY)
        return parser_error_at(p, at, "expected \"iterator_types\" array attribute");
    if (!parse_iterators(p, iterators, &iterators)) return false;
    for (uint32_t i = 0; i < dict->u.dict.count; i++)
        parser_set_attr(p, dict->u.dict.items[i].name->str.data, dict->u.dict.items[i].value);
    parser_set_attr(p, "iterator_types", iterators);
    return true;
}

bool linalg_parse_generic(OpParser *p)
{
    StructuredParts parts = {0};
    bool ok = parse_generic_attrs(p) && linalg_parse_parts(p, &parts, true);
    if (ok && parser_try(p, "attrs")) ok = parser_expect(p, "=") && parser_attr_dict(p, false);
    ok = ok && parser_region(p, NULL, 0) && parse_results(p);
    linalg_parts_free(&parts);
    return ok;
}

static const char *const GENERIC_ATTRS[] = {"doc", "indexing_maps", "iterator_types",
                                            "library_call"};

static const Attr *iterators_as_strings(const Attr *iterators)
{
    VEC(const Attr *) items = {0};
    for (uint32_t i = 0; i < iterators->u.array.count; i++) {
        bool is_reduction = linalg_iterator_is_reduction(iterators->u.array.items[i]);
        *vec_push(&items) = attr_string_c(iterators->ctx, is_reduction ? "reduction" : "parallel");
    }
    const Attr *strings = attr_array(iterators->ctx, items.data, items.len);
    vec_free(&items);
    return strings;
}

static const Attr *generic_dict(const Op *op)
{
    NamedAttr items[COUNT_OF(GENERIC_ATTRS)];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(GENERIC_ATTRS); i++) {
        const Attr *value = op_attr(op, GENERIC_ATTRS[i]);
        if (!value) continue;
        const Ident *name = ident_get_c(op->ctx, GENERIC_ATTRS[i]);
        if (str_eq_c(name->str, "iterator_types")) value = iterators_as_strings(value);
        items[count++] = (NamedAttr){name, value};
    }
    return attr_dict(op->ctx, items, count);
}

void linalg_print_generic(OpPrinter *p, const Op *op)
{
    static const char *const hidden[] = {"doc",          "indexing_maps",       "iterator_types",
                                         "library_call", "operandSegmentSizes", NULL};
    printer_text(p, " ");
    printer_attr(p, generic_dict(op));
    linalg_print_parts(p, op);
    if (op->attrs->u.dict.count > 0) {
        printer_text(p, " attrs = ");
        printer_attr_dict(p, op, hidden);
    }
    if (!region_is_empty(op_region(op, 0))) {
        printer_text(p, " ");
        printer_region(p, op_region(op, 0), true, true);
    }
    print_results(p, op);
}

Block *linalg_parse_new_body(OpParser *p, const TypeList *inputs, const TypeList *inits)
{
    const Attr *loc = loc_unknown(parser_ctx(p));
    parser_add_empty_region(p);
    Block *body = block_create(parser_ctx(p));
    block_append(body, parser_last_region(p));
    for (size_t i = 0; i < inputs->len; i++)
        block_add_arg(body, linalg_payload_type(inputs->data[i]), loc);
    for (size_t i = 0; inits && i < inits->len; i++)
        block_add_arg(body, linalg_payload_type(inits->data[i]), loc);
    return body;
}

static uint32_t operand_count(const StructuredDef *def)
{
    uint32_t count = 1;
    if (!def->maps) return def->operand_count;
    for (const char *at = def->maps; *at; at++) count += *at == '|';
    return count;
}

/* "fun" and "cast" as given so far. */
static const Attr *body_attrs(OpParser *p)
{
    static const char *const names[] = {"cast", "fun"};
    NamedAttr items[COUNT_OF(names)];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const Attr *value = parser_get_attr(p, names[i]);
        if (value) items[count++] = (NamedAttr){ident_get_c(parser_ctx(p), names[i]), value};
    }
    return attr_dict(parser_ctx(p), items, count);
}

static const StructuredDef *parsed_def(OpParser *p)
{
    return opinfo_lookup(parser_ctx(p), parser_op_name(p))->def->data;
}

bool linalg_parse_named(OpParser *p)
{
    StructuredParts parts = {0};
    const StructuredDef *def = parsed_def(p);
    uint32_t want = operand_count(def);
    bool ok = linalg_parse_parts(p, &parts, true) && parser_attr_dict(p, false) && parse_results(p);
    size_t got = parts.inputs.len + parts.inits.len;
    if (ok && got != want)
        ok = parser_error(p,
                          "[parseNamedStructuredOpRegion] ods-gen generated region expects %u "
                          "args, got %zu",
                          want, got);
    if (ok)
        linalg_fill_body(def, linalg_parse_new_body(p, &parts.inputs, &parts.inits), body_attrs(p));
    linalg_parts_free(&parts);
    return ok;
}

void linalg_print_named(OpPrinter *p, const Op *op)
{
    static const char *const hidden[] = {"operandSegmentSizes", "linalg.memoized_indexing_maps",
                                         NULL};
    printer_attr_dict(p, op, hidden);
    linalg_print_parts(p, op);
    print_results(p, op);
}
