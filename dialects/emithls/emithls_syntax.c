/* Text of emithls types, functions and loops.
 * Tests: lit/dialects/emithls/ops.mir */
#include <assert.h>

#include "dialects/emithls/emithls.h"
#include "dialects/emithls/internal.h"

/* "<" type ">" */
const Type *emithls_parse_stream(OpParser *p)
{
    const Attr *loc = parser_loc(p);
    const Type *word = parser_expect(p, "<") ? parser_type(p) : NULL;
    if (!word || !parser_expect(p, ">")) return NULL;
    const Attr *param = attr_type(word);
    if (!emithls_type_stream.verify(parser_ctx(p), loc, &param, 1)) return NULL;
    return emithls_stream(word);
}

void emithls_print_stream(StrBuf *out, const Type *type)
{
    strbuf_add_char(out, '<');
    type_print(out, emithls_stream_word(type));
    strbuf_add_char(out, '>');
}

/* "<" (int "x")* type ">" */
const Type *emithls_parse_array(OpParser *p)
{
    DimList dims = {0};
    const Attr *loc = parser_loc(p);
    const Type *elem = NULL, *array = NULL;
    if (parser_expect(p, "<") && parser_dims(p, &dims, false, true)) elem = parser_type(p);
    if (elem && parser_expect(p, ">")) {
        const Attr *params[2] = {attr_type(elem),
                                 attr_i64_array(parser_ctx(p), dims.data, dims.len)};
        if (emithls_type_array.verify(parser_ctx(p), loc, params, 2))
            array = emithls_array(elem, dims.data, (uint32_t)dims.len);
    }
    vec_free(&dims);
    return array;
}

void emithls_print_array(StrBuf *out, const Type *type)
{
    strbuf_add_char(out, '<');
    for (uint32_t i = 0; i < emithls_array_rank(type); i++) {
        strbuf_add_int(out, emithls_array_dim(type, i));
        strbuf_add_char(out, 'x');
    }
    type_print(out, emithls_array_elem(type));
    strbuf_add_char(out, '>');
}

/* C++ names of arguments and counters are their SSA names; a list attribute keeps them where the
 * printer had to rename a value. */
static const Attr *ssa_names(OpParser *p, const ArgDecls *args)
{
    VEC(const Attr *) names = {0};
    Context *ctx = parser_ctx(p);
    for (size_t i = 0; i < args->len; i++) {
        Str name = args->data[i].name;
        *vec_push(&names) = attr_string(ctx, (Str){name.data + 1, name.len - 1});
    }
    const Attr *list = attr_array(ctx, names.data, names.len);
    vec_free(&names);
    return list;
}

/* Prints a value and says whether it was spelt "%" + name. */
static bool print_named(OpPrinter *p, const Value *value, const Attr *name)
{
    StrBuf *out = printer_out(p);
    size_t start = out->len;
    if (printer_is_dry(p)) return true;
    printer_value(p, value);
    Str spelt = {out->data + start + 1, out->len - start - 1};
    return str_eq(spelt, name->u.string);
}

/* region; "{}" holds an empty block */
static bool parse_body(OpParser *p, const ArgDecls *args)
{
    if (!parser_region(p, args->data, args->len)) return false;
    if (region_is_empty(parser_last_region(p)))
        block_append(block_create(parser_ctx(p)), parser_last_region(p));
    return true;
}

/* "(" (%name ":" type ("," …)*)? ")" */
static bool parse_args(OpParser *p, ArgDecls *args)
{
    if (!parser_expect(p, "(")) return false;
    if (parser_try(p, ")")) return true;
    do {
        ArgDecl arg = {0};
        if (!parser_arg(p, &arg, true, false)) return false;
        *vec_push(args) = arg;
    } while (parser_try(p, ","));
    return parser_expect(p, ")");
}

/* @name args ("attributes" dict)? region */
bool emithls_parse_func(OpParser *p)
{
    ArgDecls args = {0};
    TypeList types = {0};
    const Attr *name = parser_symbol_name(p);
    bool ok = name && parse_args(p, &args) && parser_attr_dict(p, true);
    if (ok) {
        for (size_t i = 0; i < args.len; i++) *vec_push(&types) = args.data[i].type;
        const Type *type = type_function(parser_ctx(p), types.data, types.len, NULL, 0);
        parser_set_attr(p, "sym_name", name);
        parser_set_attr(p, "function_type", attr_type(type));
        if (!parser_get_attr(p, "arg_names")) parser_set_attr(p, "arg_names", ssa_names(p, &args));
    }
    ok = ok && parse_body(p, &args);
    vec_free(&args);
    vec_free(&types);
    return ok;
}

void emithls_print_func(OpPrinter *p, const Op *op)
{
    const char *elided[] = {"sym_name", "function_type", "arg_names", NULL};
    Block *body = region_entry(op_region(op, 0));
    const Attr *names = op_attr(op, "arg_names");
    bool same = true;
    printer_text(p, " ");
    printer_symbol_name(p, op_attr(op, "sym_name")->u.string);
    printer_text(p, "(");
    for (uint32_t i = 0; i < body->arg_count; i++) {
        if (i) printer_text(p, ", ");
        same &= print_named(p, body->args[i], names->u.array.items[i]);
        printer_text(p, ": ");
        printer_type(p, body->args[i]->type);
    }
    printer_text(p, ")");
    if (!same) elided[2] = NULL;
    printer_attr_dict_keyword(p, op, elided);
    printer_text(p, " ");
    printer_region(p, op_region(op, 0), false, true);
}

/* "(" %a ("," %b)* ")" */
static bool parse_counters(OpParser *p, ArgDecls *args)
{
    if (!parser_expect(p, "(")) return false;
    do {
        ArgDecl arg = {0};
        if (!parser_arg(p, &arg, false, false)) return false;
        arg.type = type_index(parser_ctx(p));
        *vec_push(args) = arg;
    } while (parser_try(p, ","));
    return parser_expect(p, ")");
}

/* "[" int ("," int)* "]" */
static bool parse_extents(OpParser *p, DimList *out)
{
    if (!parser_expect(p, "[")) return false;
    do {
        if (!parser_int(p, vec_push(out))) return false;
    } while (parser_try(p, ","));
    return parser_expect(p, "]");
}

/* ("range" "(" int "," int ")")? */
static bool parse_range(OpParser *p)
{
    int64_t begin, end;
    if (!parser_try(p, "range")) return true;
    if (!parser_expect(p, "(") || !parser_int(p, &begin) || !parser_expect(p, ",") ||
        !parser_int(p, &end) || !parser_expect(p, ")"))
        return false;
    parser_set_attr(p, "begin", attr_i64(parser_ctx(p), begin));
    parser_set_attr(p, "end", attr_i64(parser_ctx(p), end));
    return true;
}

/* "name" counters "in" extents range? ("attributes" dict)? region */
bool emithls_parse_for(OpParser *p)
{
    ArgDecls args = {0};
    DimList extents = {0};
    Context *ctx = parser_ctx(p);
    Str name;
    bool ok = parser_string(p, &name) && parse_counters(p, &args) && parser_expect(p, "in") &&
              parse_extents(p, &extents) && parse_range(p) && parser_attr_dict(p, true);
    if (ok) {
        parser_set_attr(p, "name", attr_string(ctx, name));
        parser_set_attr(p, "extents", attr_i64_array(ctx, extents.data, extents.len));
        if (!parser_get_attr(p, "counters")) parser_set_attr(p, "counters", ssa_names(p, &args));
    }
    ok = ok && parse_body(p, &args);
    vec_free(&args);
    vec_free(&extents);
    return ok;
}

void emithls_print_for(OpPrinter *p, const Op *op)
{
    const char *elided[] = {"name", "extents", "begin", "end", "counters", NULL};
    StrBuf *out = printer_out(p);
    Block *body = region_entry(op_region(op, 0));
    const Attr *extents = op_attr(op, "extents"), *begin = op_attr(op, "begin");
    const Attr *names = op_attr(op, "counters");
    bool same = true;
    printer_text(p, " ");
    printer_attr(p, op_attr(op, "name"));
    printer_text(p, " (");
    for (uint32_t i = 0; i < body->arg_count; i++) {
        if (i) printer_text(p, ", ");
        same &= print_named(p, body->args[i], names->u.array.items[i]);
    }
    printer_text(p, ") in [");
    for (size_t i = 0; i < extents->u.dense_array.count; i++) {
        if (i) printer_text(p, ", ");
        strbuf_add_int(out, dense_array_i64(extents, i));
    }
    printer_text(p, "]");
    if (begin)
        strbuf_printf(out, " range(%lld, %lld)", (long long)attr_int_value(begin),
                      (long long)attr_int_value(op_attr(op, "end")));
    if (!same) elided[4] = NULL;
    printer_attr_dict_keyword(p, op, elided);
    printer_text(p, " ");
    printer_region(p, op_region(op, 0), false, true);
}
