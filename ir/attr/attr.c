/* Constructors of attributes other than locations (loc.c) and dense elements (dense.c).
 * Canonical forms: dictionaries are sorted by name, the type of a plain string is NULL, the
 * integers of an index attribute have 64 bits.
 * Tests: test/unit/ir/attr/attr_test.c */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ir/attr/attr.h"
#include "ir/attr/internal.h"

const Attr *attr_unit(Context *ctx)
{
    if (ctx->unit) return ctx->unit;
    return attr_intern(&(Attr){.kind = ATTR_UNIT, .ctx = ctx});
}

const Attr *attr_bool(Context *ctx, bool value)
{
    return attr_int(type_i(ctx, 1), value);
}

const Attr *attr_int(const Type *type, int64_t value)
{
    BigInt big = bigint_from_i64(&type->ctx->arena, type_width(type), value);
    return attr_bigint(type, &big);
}

const Attr *attr_bigint(const Type *type, const BigInt *value)
{
    assert(type->kind == TYPE_INTEGER || type->kind == TYPE_INDEX);
    assert(value->width == type_width(type));
    return attr_intern(
        &(Attr){.kind = ATTR_INTEGER, .ctx = type->ctx, .type = type, .u.integer = *value});
}

const Attr *attr_i64(Context *ctx, int64_t value)
{
    return attr_int(type_i(ctx, 64), value);
}

const Attr *attr_index(Context *ctx, int64_t value)
{
    return attr_int(type_index(ctx), value);
}

const Attr *attr_float(const Type *type, double value)
{
    uint64_t words[2];
    float_to_words((int)type->kind, value, words);
    return attr_float_words(type, words);
}

const Attr *attr_float_bits(const Type *type, uint64_t bits)
{
    return attr_float_words(type, (const uint64_t[]){bits, 0});
}

const Attr *attr_float_words(const Type *type, const uint64_t words[2])
{
    assert(type_is_float(type));
    Attr key = {.kind = ATTR_FLOAT, .ctx = type->ctx, .type = type};
    uint64_t settled[] = {words[0], words[1]};
    float_settle((int)type->kind, settled);
    key.u.float_bits = settled[0];
    key.u.float_high = settled[1];
    return attr_intern(&key);
}

const Attr *attr_string(Context *ctx, Str value)
{
    return attr_intern(&(Attr){.kind = ATTR_STRING, .ctx = ctx, .u.string = value});
}

const Attr *attr_string_c(Context *ctx, const char *value)
{
    return attr_string(ctx, str_from(value));
}

/* The type of a typed attribute, whose default is none. */
static const Type *unless_none(const Type *type)
{
    return type && type->kind == TYPE_NONE ? NULL : type;
}

const Attr *attr_typed_string(const Type *type, Str value)
{
    return attr_intern(&(Attr){
        .kind = ATTR_STRING, .ctx = type->ctx, .type = unless_none(type), .u.string = value});
}

const Attr *attr_type(const Type *value)
{
    return attr_intern(&(Attr){.kind = ATTR_TYPE, .ctx = value->ctx, .u.type_value = value});
}

const Attr *attr_array(Context *ctx, const Attr *const *items, size_t count)
{
    Attr key = {.kind = ATTR_ARRAY, .ctx = ctx};
    key.u.array.count = (uint32_t)count;
    key.u.array.items = items;
    return attr_intern(&key);
}

static int compare_names(const void *a, const void *b)
{
    const NamedAttr *x = a, *y = b;
    return str_cmp(x->name->str, y->name->str);
}

static bool is_sorted(const NamedAttr *items, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (compare_names(&items[i - 1], &items[i]) >= 0) return false;
    return true;
}

static const Attr *dict_of_sorted(Context *ctx, const NamedAttr *items, size_t count)
{
    assert(is_sorted(items, count));
    Attr key = {.kind = ATTR_DICT, .ctx = ctx};
    key.u.dict.count = (uint32_t)count;
    key.u.dict.items = items;
    return attr_intern(&key);
}

const Attr *attr_dict_empty(const Context *ctx)
{
    return ctx->empty_dict;
}

const Attr *attr_dict(Context *ctx, const NamedAttr *items, size_t count)
{
    if (count == 0 && ctx->empty_dict) return ctx->empty_dict;
    if (is_sorted(items, count)) return dict_of_sorted(ctx, items, count);
    VEC(NamedAttr) sorted = {0};
    vec_reserve(&sorted, count);
    for (size_t i = 0; i < count; i++) *vec_push(&sorted) = items[i];
    qsort(sorted.data, count, sizeof(NamedAttr), compare_names);
    const Attr *dict = dict_of_sorted(ctx, sorted.data, count);
    vec_free(&sorted);
    return dict;
}

/* Up to this many items comparing for equality one by one beats comparing for order. */
enum { LINEAR_DICT = 12 };

/* The index at which `name` is, or would be inserted. */
static uint32_t dict_lower_bound(const Attr *dict, Str name)
{
    uint32_t low = 0, high = dict->u.dict.count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (str_cmp(dict->u.dict.items[mid].name->str, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const Attr *attr_dict_get(const Attr *dict, const Ident *name)
{
    if (!dict || dict->kind != ATTR_DICT) return NULL;
    const NamedAttr *items = dict->u.dict.items;
    uint32_t count = dict->u.dict.count;
    if (count <= LINEAR_DICT) {
        for (uint32_t i = 0; i < count; i++)
            if (items[i].name == name) return items[i].value;
        return NULL;
    }
    uint32_t at = dict_lower_bound(dict, name->str);
    return at < count && items[at].name == name ? items[at].value : NULL;
}

/* Most names that are not the one differ in the first byte. */
static bool is_named(const NamedAttr *item, const char *name)
{
    const char *own = item->name->str.data;
    return own[0] == name[0] && strcmp(own, name) == 0;
}

const Attr *attr_dict_get_c(const Attr *dict, const char *name)
{
    if (!dict || dict->kind != ATTR_DICT) return NULL;
    const NamedAttr *items = dict->u.dict.items;
    uint32_t count = dict->u.dict.count, at = 0;
    if (count > LINEAR_DICT)
        at = dict_lower_bound(dict, str_from(name));
    else
        while (at < count && !is_named(&items[at], name)) at++;
    return at < count && is_named(&items[at], name) ? items[at].value : NULL;
}

int64_t attr_dict_int(const Attr *dict, const char *name, int64_t fallback)
{
    const Attr *item = attr_dict_get_c(dict, name);
    bool is_number = item && item->kind == ATTR_INTEGER && bigint_fits_i64(&item->u.integer, true);
    return is_number ? attr_int_value(item) : fallback;
}

const Attr *attr_dict_set(const Attr *dict, const Ident *name, const Attr *value)
{
    assert(dict->kind == ATTR_DICT);
    const NamedAttr *items = dict->u.dict.items;
    uint32_t count = dict->u.dict.count, at = dict_lower_bound(dict, name->str);
    bool is_present = at < count && items[at].name == name;
    if (is_present ? items[at].value == value : !value) return dict;
    VEC(NamedAttr) changed = {0};
    vec_reserve(&changed, (size_t)count + 1);
    for (uint32_t i = 0; i < at; i++) *vec_push(&changed) = items[i];
    if (value) *vec_push(&changed) = (NamedAttr){name, value};
    for (uint32_t i = at + is_present; i < count; i++) *vec_push(&changed) = items[i];
    const Attr *result = attr_dict(dict->ctx, changed.data, changed.len);
    vec_free(&changed);
    return result;
}

const Attr *attr_symbol(Context *ctx, const Ident *name)
{
    return attr_symbol_nested(ctx, &name, 1);
}

const Attr *attr_symbol_nested(Context *ctx, const Ident *const *names, size_t count)
{
    assert(count > 0);
    Attr key = {.kind = ATTR_SYMBOL_REF, .ctx = ctx};
    key.u.symbol.count = (uint32_t)count;
    key.u.symbol.names = names;
    return attr_intern(&key);
}

const Attr *attr_map(const AffineMap *map)
{
    return attr_intern(&(Attr){.kind = ATTR_AFFINE_MAP, .ctx = map->ctx, .u.map = map});
}

const Attr *attr_set(const IntegerSet *set)
{
    return attr_intern(&(Attr){.kind = ATTR_INTEGER_SET, .ctx = set->ctx, .u.set = set});
}

const Attr *attr_strided_layout(Context *ctx, int64_t offset, const int64_t *strides, uint32_t rank)
{
    Attr key = {.kind = ATTR_STRIDED_LAYOUT, .ctx = ctx};
    key.u.layout.offset = offset;
    key.u.layout.rank = rank;
    key.u.layout.strides = strides;
    return attr_intern(&key);
}

const Attr *attr_opaque(Context *ctx, const Ident *dialect, Str text, bool is_dotted,
                        const Type *type)
{
    (void)is_dotted; /* as in type_opaque */
    Attr key = {.kind = ATTR_OPAQUE, .ctx = ctx, .type = unless_none(type)};
    key.u.opaque.dialect = dialect;
    key.u.opaque.text = text;
    key.u.opaque.is_dotted = attr_opaque_is_dotted(text);
    return attr_intern(&key);
}

const Attr *attr_distinct(Context *ctx, uint64_t id, const Attr *inner)
{
    Attr key = {.kind = ATTR_DISTINCT, .ctx = ctx};
    key.u.distinct.id = id;
    key.u.distinct.inner = inner;
    return attr_intern(&key);
}

const Attr *attr_dialect(Context *ctx, const AttrDef *def, const Attr *const *params, size_t count)
{
    return attr_dialect_typed(ctx, def, NULL, params, count);
}

const Attr *attr_dialect_typed(Context *ctx, const AttrDef *def, const Type *type,
                               const Attr *const *params, size_t count)
{
    Attr key = {.kind = ATTR_DIALECT, .ctx = ctx, .type = type};
    key.u.dialect.def = def;
    key.u.dialect.param_count = (uint32_t)count;
    key.u.dialect.params = params;
    return attr_intern(&key);
}

bool attr_is_a(const Attr *attr, const AttrDef *def)
{
    return attr->kind == ATTR_DIALECT && attr->u.dialect.def == def;
}

bool attr_is_true(const Attr *attr)
{
    return attr->kind == ATTR_INTEGER && attr->u.integer.width == 1 &&
           !bigint_is_zero(&attr->u.integer);
}

int64_t attr_int_value(const Attr *attr)
{
    assert(attr->kind == ATTR_INTEGER);
    const Type *type = attr->type;
    bool is_unsigned = type->kind == TYPE_INTEGER && type->u.integer.sign == UNSIGNED;
    return is_unsigned ? (int64_t)bigint_to_u64(&attr->u.integer) : bigint_to_i64(&attr->u.integer);
}

double attr_float_value(const Attr *attr)
{
    assert(attr->kind == ATTR_FLOAT);
    const uint64_t words[] = {attr->u.float_bits, attr->u.float_high};
    return float_from_words((int)attr->type->kind, words);
}

static bool array_int_list(const Attr *attr, int64_t *out)
{
    for (uint32_t i = 0; i < attr->u.array.count; i++) {
        const Attr *item = attr->u.array.items[i];
        if (item->kind != ATTR_INTEGER || !bigint_fits_i64(&item->u.integer, true)) return false;
        out[i] = attr_int_value(item);
    }
    return true;
}

static bool is_int_elements(const Attr *attr)
{
    if (attr->kind != ATTR_DENSE) return false;
    const Type *elem = type_elem(attr->type);
    return (type_is_integer(elem) && type_width(elem) <= 64) || elem->kind == TYPE_INDEX;
}

bool attr_int_list(const Attr *attr, int64_t *out, size_t max, size_t *count)
{
    if (attr->kind == ATTR_ARRAY) {
        *count = attr->u.array.count;
        return *count <= max && array_int_list(attr, out);
    }
    if (attr->kind == ATTR_DENSE_ARRAY && type_is_integer(attr->u.dense_array.elem)) {
        *count = attr->u.dense_array.count;
        if (*count > max) return false;
        for (size_t i = 0; i < *count; i++) out[i] = dense_array_i64(attr, i);
        return true;
    }
    if (!is_int_elements(attr)) return false;
    *count = (size_t)dense_count(attr);
    if (*count > max) return false;
    for (size_t i = 0; i < *count; i++) out[i] = dense_i64(attr, (int64_t)i);
    return true;
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_alnum(char c)
{
    return is_alpha(c) || (c >= '0' && c <= '9');
}

bool attr_body_is_dotted(Str body)
{
    if (body.len == 0 || !is_alpha(body.data[0])) return false;
    size_t i = 1;
    while (i < body.len && (is_alnum(body.data[i]) || body.data[i] == '.' || body.data[i] == '_'))
        i++;
    return i == body.len || (body.data[i] == '<' && body.data[body.len - 1] == '>');
}

/* Whether what begins with '<' ends with its '>'. */
static bool is_bracketed(Str text)
{
    int64_t open = 0;
    bool is_quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '"') is_quoted = !is_quoted;
        if (is_quoted) {
            i += text.data[i] == '\\';
            continue;
        }
        bool is_arrow = text.data[i] == '>' && i > 0 && text.data[i - 1] == '-';
        open += text.data[i] == '<' ? 1 : text.data[i] == '>' && !is_arrow ? -1 : 0;
        if (open == 0) return i + 1 == text.len;
    }
    return false;
}

bool attr_opaque_is_dotted(Str text)
{
    const char *open = memchr(text.data, '<', text.len);
    if (!attr_body_is_dotted(text)) return false;
    return !open || is_bracketed((Str){open, text.len - (size_t)(open - text.data)});
}
