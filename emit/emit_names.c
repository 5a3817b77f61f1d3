/* Names at file scope and in functions, and spellings of types. Symbols of a module may hold
 * anything; the names that are printed are unique identifiers that collide neither with C++ nor with
 * the headers. A top function keeps its symbol if that is such an identifier, because users call it
 * by name. Scopes of functions give names back in the opposite order of taking them, and the time
 * for a name does not depend on how many there are.
 * Tests: test/unit/emit/emit_test.c, lit/emit/names.mir, lit/emit/invalid.mir,
 * lit/emit/shared-values.test */
#include <assert.h>
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/emithls/emithls.h"
#include "emit/internal.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"

enum { MAX_INT_WIDTH = 4096 }; /* of ap_int in Vitis HLS */

static bool is_listed(const char *const *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0) return true;
    return false;
}

/* The text, with _2, _3, … behind it while it is in use; the arena keeps it. */
static const char *make_unique(Emitter *e, StrBuf *text, const char *const *used, size_t used_count)
{
    size_t stem = text->len;
    for (unsigned n = 2; is_listed(used, used_count, text->data) ||
                         ptrmap_has(&e->taken, ident_get_c(e->ctx, text->data));
         n++) {
        text->len = stem;
        strbuf_printf(text, "_%u", n);
    }
    const char *name = arena_copy(&e->arena, text->data, text->len + 1);
    strbuf_free(text);
    return name;
}

const char *cpp_fresh_name(Emitter *e, Str raw, const char *const *used, size_t used_count)
{
    StrBuf text = {0};
    identifier_append(&text, raw);
    return make_unique(e, &text, used, used_count);
}

static void set_number(NameScope *scope, const Ident *name, uintptr_t number)
{
    uintptr_t before = (uintptr_t)ptrmap_get(&scope->taken, name);
    *vec_push(&scope->changes) = (NameChange){name, before};
    ptrmap_put(&scope->taken, name, (void *)number);
}

const char *emit_scope_add(NameScope *scope, Context *ctx, const PtrMap *outer, Str raw)
{
    StrBuf text = {0};
    identifier_append(&text, raw);
    const Ident *stem = ident_get(ctx, strbuf_str(&text)), *name = stem;
    uintptr_t number = (uintptr_t)ptrmap_get(&scope->taken, stem);
    if (number == 0) number = 1;
    while (ptrmap_has(&scope->taken, name) || (outer && ptrmap_has(outer, name))) {
        text.len = stem->str.len;
        strbuf_printf(&text, "_%llu", (unsigned long long)++number);
        name = ident_get(ctx, strbuf_str(&text));
    }
    strbuf_free(&text);
    set_number(scope, stem, number);
    if (name != stem) set_number(scope, name, 1);
    return name->str.data;
}

void emit_scope_leave(NameScope *scope, size_t mark)
{
    while (scope->changes.len > mark) {
        NameChange change = scope->changes.data[--scope->changes.len];
        if (change.before)
            ptrmap_put(&scope->taken, change.name, (void *)change.before);
        else
            ptrmap_remove(&scope->taken, change.name);
    }
}

void emit_scope_free(NameScope *scope)
{
    ptrmap_free(&scope->taken);
    vec_free(&scope->changes);
}

static const char *take_name(Emitter *e, StrBuf *text)
{
    const char *name = make_unique(e, text, NULL, 0);
    ptrmap_put(&e->taken, ident_get_c(e->ctx, name), e);
    return name;
}

const char *cpp_file_name(Emitter *e, const char *stem)
{
    StrBuf text = {0};
    strbuf_add_c(&text, stem);
    return take_name(e, &text);
}

bool emit_top_name_is_valid(Str name)
{
    bool has_lower = false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool lower = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
        bool joint = c == '_' && i > 0 && name.data[i - 1] != '_';
        if (!lower && !(c >= 'A' && c <= 'Z') && !joint && !(digit && i > 0)) return false;
        has_lower |= lower;
    }
    /* Macros are in capitals. */
    return has_lower && name.len <= NAME_MAX_LENGTH && !identifier_is_reserved(name);
}

static void name_top(Emitter *e)
{
    const Ident *symbol = symbol_name(e->top);
    StrBuf text = {0};
    if (emit_top_name_is_valid(symbol->str))
        strbuf_add_str(&text, symbol->str);
    else if (identifier_is_reserved(symbol->str)) /* main */
        identifier_append(&text,
                          str_from(emit_arena_printf(&e->arena, "%s_top", symbol->str.data)));
    else
        identifier_append(&text, symbol->str);
    e->top_name = take_name(e, &text);
    ptrmap_put(&e->globals, symbol, (void *)(uintptr_t)e->top_name);
}

/* No function of the C library is called like that, and a table cannot share a function's name. */
static bool is_table_name(const char *name)
{
    static const char *const roles[] = {"_weights", "_params", "_initial"};
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        if (strstr(name, roles[i])) return true;
    return false;
}

static void name_symbol(Emitter *e, const Op *op)
{
    const Ident *symbol = symbol_name(op);
    StrBuf text = {0};
    identifier_append(&text, symbol->str);
    if (op->def == EMITHLS(TABLE) && !is_table_name(text.data)) strbuf_add_c(&text, "_table");
    ptrmap_put(&e->globals, symbol, (void *)(uintptr_t)take_name(e, &text));
}

const char *cpp_global(const Emitter *e, const Ident *symbol)
{
    const char *name = ptrmap_get(&e->globals, symbol);
    assert(name);
    return name;
}

static bool has_cpp_scalar(const Type *type)
{
    if (type_is_integer(type))
        return type_is_signless(type) && type_width(type) >= 1 && type_width(type) <= MAX_INT_WIDTH;
    return type->kind == TYPE_F32 || type->kind == TYPE_F64 || type->kind == TYPE_INDEX;
}

/* i8x27_t, f32x4_t */
static void name_word(Emitter *e, const Type *vector)
{
    StrBuf text = {0};
    const Type *elem = type_elem(vector);
    strbuf_printf(&text, "%c%ux%lld_t", type_is_float(elem) ? 'f' : 'i', type_width(elem),
                  (long long)emithls_lanes(vector));
    const char *alias = take_name(e, &text);
    ptrmap_put(&e->word_aliases, vector, (void *)(uintptr_t)alias);
    *vec_push(&e->words) = vector;
}

static bool collect_type(Emitter *e, const Op *op, const Type *type)
{
    const Type *word = type_is_a(type, &emithls_type_stream)  ? emithls_stream_word(type)
                       : type_is_a(type, &emithls_type_array) ? emithls_array_elem(type)
                                                              : type;
    bool is_vector = word->kind == TYPE_VECTOR && word->u.shaped.rank == 1;
    const Type *scalar = is_vector ? type_elem(word) : word;
    if (!has_cpp_scalar(scalar))
        return op_error(op, "has no C++ form: type %s has none", type_str(op->ctx, type));
    if (type_is_integer(scalar)) e->needs |= EMIT_NEEDS_AP_INT;
    if (is_vector && !ptrmap_has(&e->word_aliases, word)) name_word(e, word);
    return true;
}

/* If the last dimension of a table is reshaped, the table is a memory of words. */
static void collect_packed(Emitter *e, const Op *reshape)
{
    const Value *array = op_operand(reshape, 0);
    const Op *get = value_def(array);
    if (get && get->def == EMITHLS(GET) &&
        attr_int_value(op_attr(reshape, "dim")) == emithls_array_rank(array->type))
        ptrmap_put(&e->packed, op_attr(get, EMITHLS_ATTR_TABLE)->u.symbol.names[0], e);
}

/* A table whose words are read as a whole. */
static bool collect_words(Emitter *e, const Op *get)
{
    const Ident *table = op_attr(get, EMITHLS_ATTR_TABLE)->u.symbol.names[0];
    const Type *elem = emithls_array_elem(op_result(get, 0)->type),
               *other = ptrmap_get(&e->word_tables, table);
    if (other && other != elem)
        return op_error(get, "reads elements of type '%s' of a table of which others are '%s'",
                        type_str(get->ctx, elem), type_str(get->ctx, other));
    ptrmap_put(&e->word_tables, table, (void *)(uintptr_t)elem);
    return true;
}

/* What is loaded has no constant in C++: memories take its place. */
static bool check_get(Op *get)
{
    const Attr *symbol = op_attr(get, EMITHLS_ATTR_TABLE);
    const Op *table = symbol_lookup(get, symbol);
    return !op_attr(table, EMITHLS_ATTR_LOADED) ||
           op_error(get, "has no C++ form: table '@%s' is loaded at start-up",
                    symbol->u.symbol.names[0]->str.data);
}

static bool collect_op(Op *op, void *user)
{
    Emitter *e = user;
    if (op->def == EMITHLS(GET) && !check_get(op)) return false;
    if (op->def == EMITHLS(GET) && !collect_words(e, op)) return false;
    if (op->def == EMITHLS(ARRAY_RESHAPE)) collect_packed(e, op);
    if (cpp_is_math_call(op->def)) e->needs |= EMIT_NEEDS_HLS_MATH;
    if (op->def == EMITHLS(POPCOUNT)) e->needs |= EMIT_NEEDS_POPCOUNT;
    for (uint32_t i = 0; i < op->result_count; i++)
        if (!collect_type(e, op, op_result(op, i)->type)) return false;
    for (uint32_t r = 0; r < op->region_count; r++)
        FOR_EACH_BLOCK(block, op_region(op, r))
            for (uint32_t i = 0; i < block->arg_count; i++)
                if (!collect_type(e, op, block->args[i]->type)) return false;
    return true;
}

const char *cpp_type(Emitter *e, const Type *type)
{
    if (type_is_a(type, &emithls_type_stream))
        return emit_arena_printf(&e->arena, "hls::stream<%s>",
                                 cpp_type(e, emithls_stream_word(type)));
    if (type->kind == TYPE_VECTOR) return ptrmap_get(&e->word_aliases, type);
    if (type_is_float(type)) return type->kind == TYPE_F64 ? "double" : "float";
    if (type_is_int_width(type, 1)) return "ap_uint<1>";
    return emit_arena_printf(&e->arena, "ap_int<%u>", type_width(type));
}

void emit_print_type(const Type *type, StrBuf *out)
{
    if (type_is_a(type, &emithls_type_stream)) {
        strbuf_add_c(out, "hls::stream<");
        emit_print_type(emithls_stream_word(type), out);
        strbuf_add_char(out, '>');
    } else if (type->kind == TYPE_VECTOR && type_is_int_width(type_elem(type), 1)) {
        strbuf_printf(out, "ap_uint<%lld>", (long long)emithls_lanes(type));
    } else if (type->kind == TYPE_VECTOR) {
        strbuf_add_c(out, "hls::vector<");
        emit_print_type(type_elem(type), out);
        strbuf_printf(out, ", %lld>", (long long)emithls_lanes(type));
    } else if (type_is_float(type)) {
        strbuf_add_c(out, type->kind == TYPE_F64 ? "double" : "float");
    } else if (type_is_int_width(type, 1)) {
        strbuf_add_c(out, "ap_uint<1>");
    } else {
        strbuf_printf(out, "ap_int<%u>", type_width(type));
    }
}

/* Bits of the smallest builtin integer that holds the width. */
static uint32_t builtin_width(uint32_t width)
{
    uint32_t bits = 8;
    while (bits < width) bits *= 2;
    return bits;
}

static TableForm word_form(Emitter *e, const Type *word)
{
    int64_t bits = emithls_lanes(word);
    bool is_builtin = bits <= PACKED_BITS;
    const char *elem =
        is_builtin ? emit_arena_printf(&e->arena, "std::uint%u_t", builtin_width((uint32_t)bits))
                   : cpp_type(e, word);
    return (TableForm){elem, 1, !is_builtin, bits};
}

TableForm emit_table_form(Emitter *e, const Op *table)
{
    const Type *elem = type_elem(op_attr(table, "value")->type),
               *word = ptrmap_get(&e->word_tables, symbol_name(table));
    if (word && word->kind == TYPE_VECTOR) return word_form(e, word);
    uint32_t width = type_is_integer(elem) ? type_width(elem) : 0;
    if (width == 0 || width > PACKED_BITS) return (TableForm){cpp_type(e, elem), 1, true, 0};
    bool is_exact = width == 1 || builtin_width(width) == width;
    if (ptrmap_has(&e->packed, symbol_name(table)) && width < PACKED_BITS / 2 &&
        builtin_width(width) != width)
        return (TableForm){"std::uint64_t", PACKED_BITS / width, false, 0};
    const char *builtin =
        width == 1 ? "bool" : emit_arena_printf(&e->arena, "std::int%u_t", builtin_width(width));
    return (TableForm){builtin, 1, is_exact, 0};
}

static bool check_table(Emitter *e, const Op *op)
{
    const Attr *value = op_attr(op, "value");
    const ResourceBlob *blob =
        value->kind == ATTR_DENSE_RESOURCE
            ? context_resource(op->ctx, ident_get_c(op->ctx, "builtin"), value->u.resource.key)
            : NULL;
    int64_t count;
    if (value->kind != ATTR_DENSE && !(blob && blob->data))
        return op_error(op, "has no C++ form: its elements are not given");
    if (!type_element_count(value->type, &count) || count == 0)
        return op_error(op, "has no C++ form: it has no elements");
    return collect_type(e, op, type_elem(value->type));
}

static bool check_top_level(Emitter *e, Op *op)
{
    if (op->def == EMITHLS(TABLE)) return check_table(e, op);
    if (op->def != EMITHLS(FUNC))
        return op_error(op, "has no C++ form: only functions and tables of emithls have one");
    if (e->top && e->top != op && op_attr(op, EMITHLS_ATTR_TOP))
        return op_error(op, "is a second top function; an accelerator has one");
    return op_walk(op, collect_op, e);
}

bool emit_prepare(Emitter *e)
{
    Block *body = region_entry(op_region(e->module, 0));
    e->top = emithls_top(e->module);
    FOR_EACH_OP(op, body)
        if (!check_top_level(e, op)) return false;
    if (!e->top) return op_emit_error(e->module, "there is no top function to emit");
    name_top(e);
    FOR_EACH_OP(op, body)
        if (op != e->top && !op_attr(op, EMITHLS_ATTR_LOADED)) name_symbol(e, op);
    return emit_ports(e);
}
