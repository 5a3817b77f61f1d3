/* The parser as custom parse hooks and assembly formats see it (ir/asm/parse/parse.h): thin
 * functions over the parser's own. Messages given through parser_error name the op that is being
 * parsed.
 * Tests: lit/dialects, test/unit/ir/asm/parse/parse_test.c */
#include <ctype.h>

#include "ir/asm/parse/internal.h"

Context *parser_ctx(OpParser *p)
{
    return p->ctx;
}

Str parser_op_name(OpParser *p)
{
    return p->op->name->str;
}

SrcPos parser_pos(OpParser *p)
{
    return p->tok.text.data;
}

SrcPos parser_symbol_pos(OpParser *p)
{
    return p->symbol;
}

SrcPos parser_op_pos(OpParser *p)
{
    return p->op ? p->op->at : p->tok.text.data;
}

const Attr *parser_loc(OpParser *p)
{
    return parser_loc_at(p, p->tok.text.data);
}

static bool report(OpParser *p, SrcPos at, const char *fmt, va_list args)
{
    StrBuf text = {0};
    if (p->op && p->op->is_custom)
        strbuf_printf(&text, "custom op '%.*s' ", STR_ARG(p->op->name->str));
    strbuf_vprintf(&text, fmt, args);
    parse_fail_at(p, at, "%s", text.data ? text.data : "");
    strbuf_free(&text);
    return false;
}

bool parser_error(OpParser *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    report(p, p->tok.text.data, fmt, args);
    va_end(args);
    return false;
}

bool parser_error_at(OpParser *p, SrcPos at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    report(p, at ? at : parser_op_pos(p), fmt, args);
    va_end(args);
    return false;
}

static bool is_word(const char *literal)
{
    return isalpha((unsigned char)literal[0]) || literal[0] == '_';
}

bool parser_at(OpParser *p, const char *literal)
{
    return is_word(literal) ? parse_at_word(p, literal) : parse_at(p, token_kind_of(literal));
}

bool parser_try(OpParser *p, const char *literal)
{
    if (!parser_at(p, literal)) return false;
    parse_advance(p);
    return true;
}

bool parser_expect(OpParser *p, const char *literal)
{
    if (parser_try(p, literal)) return true;
    if (is_word(literal)) return parser_error(p, "expected '%s'", literal);
    return parse_fail_missing(p, "expected '%s'", literal);
}

bool parser_expect_in(OpParser *p, const char *literal, const char *context)
{
    return parser_try(p, literal) || parse_fail_missing(p, "expected '%s'%s", literal, context);
}

bool parser_try_keyword(OpParser *p, Str *out)
{
    if (!token_is_word(p->tok)) return false;
    *out = p->tok.text;
    parse_advance(p);
    return true;
}

bool parser_keyword(OpParser *p, Str *out)
{
    return parser_try_keyword(p, out) || parser_error(p, "expected valid keyword");
}

bool parser_try_int(OpParser *p, int64_t *out, bool *present)
{
    return parse_optional_i64(p, out, present);
}

bool parser_int(OpParser *p, int64_t *out)
{
    bool present;
    if (!parse_optional_i64(p, out, &present)) return false;
    return present || parser_error(p, "expected integer value");
}

static bool read_float(OpParser *p, const Type *type, uint64_t words[2])
{
    bool negative = parse_accept(p, TOK_MINUS);
    if (!parse_at(p, TOK_FLOAT) && !parse_at(p, TOK_INT))
        return parser_error(p, "expected floating point literal");
    if (!parse_float_words(p, type, negative, p->tok, words)) return false;
    parse_advance(p);
    return true;
}

bool parser_float(OpParser *p, double *out)
{
    uint64_t words[2];
    if (!read_float(p, type_float(p->ctx, TYPE_F64), words)) return false;
    *out = float_from_bits(TYPE_F64, words[0]);
    return true;
}

const Attr *parser_float_of(OpParser *p, const Type *type)
{
    uint64_t words[2];
    return read_float(p, type, words) ? attr_float_words(type, words) : NULL;
}

bool parser_string(OpParser *p, Str *out)
{
    if (!parse_at(p, TOK_STRING)) return parser_error(p, "expected string");
    Str text = token_string(p->tok, &p->scratch);
    *out = (Str){arena_copy(context_arena(p->ctx), text.data, text.len), text.len};
    parse_advance(p);
    return true;
}

bool parser_try_symbol_name(OpParser *p, const Attr **out)
{
    if (!parse_at(p, TOK_AT)) return false;
    *out = attr_string(p->ctx, token_string(p->tok, &p->scratch));
    parse_advance(p);
    return true;
}

const Attr *parser_symbol_name(OpParser *p)
{
    const Attr *name = NULL;
    if (!parser_try_symbol_name(p, &name)) {
        parser_error(p, "expected valid '@'-identifier for symbol name");
    }
    return name;
}

bool parser_operand(OpParser *p, OperandRef *out)
{
    return parse_operand(p, out, true);
}

bool parser_try_operand(OpParser *p, OperandRef *out, bool *present)
{
    *present = parse_at(p, TOK_PERCENT);
    return !*present || parse_operand(p, out, true);
}

OperandRefs parser_borrow_refs(OpParser *p)
{
    OperandRefs refs = p->spare_refs;
    p->spare_refs = (OperandRefs){0};
    refs.len = 0;
    return refs;
}

void parser_return_refs(OpParser *p, OperandRefs *refs)
{
    vec_free(&p->spare_refs);
    p->spare_refs = *refs;
}

TypeList parser_borrow_types(OpParser *p)
{
    TypeList types = p->spare_types;
    p->spare_types = (TypeList){0};
    types.len = 0;
    return types;
}

void parser_return_types(OpParser *p, TypeList *types)
{
    vec_free(&p->spare_types);
    p->spare_types = *types;
}

bool parser_operand_list(OpParser *p, OperandRefs *out)
{
    if (!parse_at(p, TOK_PERCENT)) return true;
    do {
        OperandRef ref;
        if (!parse_operand(p, &ref, true)) return false;
        *vec_push(out) = ref;
    } while (parse_accept(p, TOK_COMMA));
    return true;
}

bool parser_resolve(OpParser *p, const OperandRef *ref, const Type *type)
{
    Value *value = parse_resolve(p, ref, type);
    if (!value) return false;
    *vec_push(&p->operands) = value;
    return true;
}

bool parser_resolve_all(OpParser *p, const OperandRefs *refs, const Type *const *types,
                        size_t count, SrcPos at)
{
    if (refs->len != count) {
        return parser_error_at(p, at, "%zu operands present, but expected %zu", refs->len, count);
    }
    for (size_t i = 0; i < count; i++) {
        if (!parser_resolve(p, &refs->data[i], types[i])) return false;
    }
    return true;
}

const Type *parser_type(OpParser *p)
{
    return parse_type(p);
}

bool parser_at_type(const OpParser *p)
{
    return parse_at_type(p);
}

bool parser_try_type(OpParser *p, const Type **out)
{
    *out = NULL;
    return !parse_at_type(p) || (*out = parse_type(p));
}

/* Moves the types from `base` on to a hook's list. */
static void pop_types(OpParser *p, size_t base, size_t end, TypeList *out)
{
    for (size_t i = base; i < end; i++) *vec_push(out) = p->types.data[i];
}

bool parser_type_list(OpParser *p, TypeList *out)
{
    size_t base = p->types.len;
    if (!parse_type_list(p)) return false;
    pop_types(p, base, p->types.len, out);
    p->types.len = base;
    return true;
}

bool parser_function_type(OpParser *p, TypeList *inputs, TypeList *results)
{
    SrcPos at = p->tok.text.data;
    size_t base = p->types.len;
    if (!parse_at(p, TOK_LPAREN)) {
        return parse_type(p) && parser_error_at(p, at, "invalid kind of type specified");
    }
    if (!parse_type_list_parens(p)) return false;
    size_t middle = p->types.len;
    if (!parse_token(p, TOK_ARROW, "expected '->' in function type")) return false;
    if (!parse_function_results(p)) return false;
    pop_types(p, base, middle, inputs);
    pop_types(p, middle, p->types.len, results);
    p->types.len = base;
    return true;
}

bool parser_optional_arrow_types(OpParser *p, TypeList *out)
{
    if (!parse_accept(p, TOK_ARROW)) return true;
    size_t base = p->types.len;
    if (!parse_function_results(p)) return false;
    pop_types(p, base, p->types.len, out);
    p->types.len = base;
    return true;
}

bool parser_dims(OpParser *p, DimList *out, bool allow_dynamic, bool trailing_x)
{
    return parse_dims(p, out, allow_dynamic, trailing_x);
}

const Attr *parser_attr(OpParser *p, const Type *type)
{
    return parse_attr(p, type);
}

bool parser_try_attr(OpParser *p, const Type *type, const Attr **out)
{
    *out = NULL;
    return !parse_at_attr(p) || (*out = parse_attr(p, type));
}

bool parser_attr_dict(OpParser *p, bool with_keyword)
{
    if (with_keyword ? !parse_accept(p, KW_attributes) : !parse_at(p, TOK_LBRACE)) return true;
    p->op->dict_begin = p->named.len;
    bool ok = parse_attr_entries(p);
    p->op->dict_end = p->named.len;
    return ok;
}

/* Did the text's {…} give that entry? There an assembly format's own value yields to it. */
static bool is_overruled(const OpBuild *op, size_t entry)
{
    return entry >= op->dict_begin && entry < op->dict_end && !op->info->def->parse;
}

void parser_set_attr(OpParser *p, const char *name, const Attr *value)
{
    const Ident *ident = ident_get_c(p->ctx, name);
    for (size_t i = p->op->attrs; i < p->named.len; i++) {
        if (p->named.data[i].name != ident) continue;
        if (is_overruled(p->op, i)) return;
        if (value)
            p->named.data[i].value = value;
        else
            p->named.data[i] = p->named.data[--p->named.len];
        return;
    }
    if (value) *vec_push(&p->named) = (NamedAttr){ident, value};
}

const Attr *parser_get_attr(OpParser *p, const char *name)
{
    for (size_t i = p->named.len; i > p->op->attrs; i--) {
        const NamedAttr *item = &p->named.data[i - 1];
        if (str_eq_c(item->name->str, name)) return item->value;
    }
    return NULL;
}

bool parser_props(OpParser *p, bool *present)
{
    *present = parse_at(p, TOK_LESS);
    if (!*present) return true;
    parse_advance(p);
    p->op->props = parse_attr(p, NULL);
    return p->op->props && parse_token(p, TOK_GREATER, "expected '>'");
}

void parser_set_prop(OpParser *p, const char *name, const Attr *value)
{
    if (p->op->props->kind == ATTR_DICT)
        p->op->props = attr_dict_set(p->op->props, ident_get_c(p->ctx, name), value);
}

/* The attribute of that name; what an assembly format reads by itself is left to the verifier. */
static const Attr *given_attr(const OpParser *p, const Ident *name)
{
    const OpBuild *op = p->op;
    bool by_format = op->is_custom && op->info->format;
    size_t begin = by_format ? op->dict_begin : op->attrs;
    size_t end = by_format ? op->dict_end : p->named.len;
    for (size_t i = begin; i < end; i++)
        if (p->named.data[i].name == name) return p->named.data[i].value;
    return NULL;
}

bool parser_check_attrs(OpParser *p, SrcPos at)
{
    const OpInfo *info = p->op->info;
    for (uint32_t i = 0; info && i < info->attr_count; i++) {
        const AttrArgDef *row = &info->def->attrs[info->attr_order[i]];
        const Attr *value = given_attr(p, info->attr_names[info->attr_order[i]]);
        if (value && row->attr->test && !row->attr->test(value))
            return parser_error_at(p, at,
                                   "'%.*s' op attribute '%s' failed to satisfy constraint: %s",
                                   STR_ARG(info->name->str), row->name, row->attr->what);
    }
    return true;
}

void parser_add_result(OpParser *p, const Type *type)
{
    *vec_push(&p->results) = type;
}

void parser_add_results(OpParser *p, const Type *const *types, size_t count)
{
    for (size_t i = 0; i < count; i++) parser_add_result(p, types[i]);
}

void parser_infer_results(OpParser *p, uint32_t count)
{
    p->op->inferred = count;
}

uint32_t parser_result_count(OpParser *p)
{
    uint32_t count = 0;
    for (size_t i = 0; i < p->op->result_name_count; i++)
        count += p->result_names.data[p->op->result_names + i].count;
    return count;
}

Str parser_result_name(OpParser *p)
{
    if (p->op->result_name_count == 0) return (Str){0};
    Str name = p->result_names.data[p->op->result_names].name;
    bool is_number = isdigit((unsigned char)name.data[1]) != 0;
    return is_number ? (Str){0} : (Str){name.data + 1, name.len - 1};
}

bool parser_successor(OpParser *p)
{
    Block *block;
    if (!parse_successor(p, &block)) return false;
    *vec_push(&p->successors) = block;
    return true;
}

bool parser_try_loc(OpParser *p, const Attr **out)
{
    return parse_trailing_loc(p, out);
}

bool parser_arg(OpParser *p, ArgDecl *out, bool with_type, bool with_attrs)
{
    OperandRef ref;
    if (!parse_operand(p, &ref, false)) return false;
    *out = (ArgDecl){.at = ref.at, .name = ref.name};
    if (with_type) {
        if (!parse_token(p, TOK_COLON, "expected ':'")) return false;
        if (!(out->type = parse_type(p))) return false;
    }
    size_t base = p->named.len;
    if (with_attrs && parse_at(p, TOK_LBRACE) && !parse_attr_entries(p)) return false;
    out->attrs = parse_entries_as_dict(p, base);
    return parse_trailing_loc(p, &out->loc);
}

bool parser_region(OpParser *p, const ArgDecl *args, size_t count)
{
    return parse_region(p, args, count);
}

bool parser_try_region(OpParser *p, const ArgDecl *args, size_t count, bool *present)
{
    *present = parse_at(p, TOK_LBRACE);
    return !*present || parse_region(p, args, count);
}

void parser_add_empty_region(OpParser *p)
{
    parse_push_region(p);
}

Region *parser_last_region(OpParser *p)
{
    return p->regions.data[p->regions.len - 1];
}

void parser_ensure_block(OpParser *p)
{
    Region *region = parser_last_region(p);
    if (region_is_empty(region)) parse_new_block(p, region);
}
