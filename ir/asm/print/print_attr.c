/* Spelling of attributes, as upstream's printer writes them. Elements are in print_dense.c,
 * locations in print_loc.c.
 * Tests: test/unit/ir/attr/attr_test.c, lit/ir/asm/parse/attributes.mir */
#include "ir/asm/print/internal.h"
#include "ir/attr/attr.h"

void attr_print(StrBuf *out, const Attr *attr)
{
    AsmWriter w = asm_writer(out);
    write_attr(&w, attr);
}

void write_named_attr(AsmWriter *w, const Ident *name, const Attr *value)
{
    write_attr_name(w->out, name->str);
    if (value->kind == ATTR_UNIT) return;
    strbuf_add_c(w->out, " = ");
    write_attr(w, value);
}

/* {a, b = 1}; the braces are written for an empty dictionary too. */
static void write_dict(AsmWriter *w, const Attr *dict)
{
    strbuf_add_char(w->out, '{');
    for (uint32_t i = 0; i < dict->u.dict.count; i++) {
        if (i) strbuf_add_c(w->out, ", ");
        write_named_attr(w, dict->u.dict.items[i].name, dict->u.dict.items[i].value);
    }
    strbuf_add_char(w->out, '}');
}

static void write_array(AsmWriter *w, const Attr *attr)
{
    strbuf_add_char(w->out, '[');
    for (uint32_t i = 0; i < attr->u.array.count; i++) {
        if (i) strbuf_add_c(w->out, ", ");
        write_attr_elided(w, attr->u.array.items[i], TYPE_ELIDE_MAY);
    }
    strbuf_add_char(w->out, ']');
}

static void write_symbol(AsmWriter *w, const Attr *attr)
{
    for (uint32_t i = 0; i < attr->u.symbol.count; i++) {
        if (i) strbuf_add_c(w->out, "::");
        write_symbol_name(w->out, attr->u.symbol.names[i]->str);
    }
}

static bool is_elided(const AsmWriter *w, const Attr *attr)
{
    if (w->elide_elements_above < 0) return false;
    bool is_splat = (attr->kind == ATTR_DENSE && attr->u.dense.is_splat) ||
                    (attr->kind == ATTR_DENSE_STRINGS && attr->u.dense_strings.is_splat);
    return !is_splat && dense_count(attr) > w->elide_elements_above;
}

static void write_dense(AsmWriter *w, const Attr *attr)
{
    if (is_elided(w, attr)) {
        strbuf_add_c(w->out, "dense_resource<__elided__>");
        return;
    }
    strbuf_add_c(w->out, "dense<");
    write_dense_elements(w, attr, true);
    strbuf_add_char(w->out, '>');
}

static void write_sparse(AsmWriter *w, const Attr *attr)
{
    if (is_elided(w, attr->u.sparse.indices) || is_elided(w, attr->u.sparse.values)) {
        strbuf_add_c(w->out, "dense_resource<__elided__>");
        return;
    }
    strbuf_add_c(w->out, "sparse<");
    if (dense_count(attr->u.sparse.indices) != 0) {
        write_dense_elements(w, attr->u.sparse.indices, false);
        strbuf_add_c(w->out, ", ");
        write_dense_elements(w, attr->u.sparse.values, true);
    }
    strbuf_add_char(w->out, '>');
}

static void write_dense_array(AsmWriter *w, const Attr *attr)
{
    strbuf_add_c(w->out, "array<");
    write_type(w, attr->u.dense_array.elem);
    if (attr->u.dense_array.count) strbuf_add_c(w->out, ": ");
    write_dense_array_elements(w, attr);
    strbuf_add_char(w->out, '>');
}

static void write_extent(StrBuf *out, int64_t value)
{
    if (value == DIM_DYNAMIC)
        strbuf_add_char(out, '?');
    else
        strbuf_add_int(out, value);
}

static void write_strided_layout(StrBuf *out, const Attr *attr)
{
    strbuf_add_c(out, "strided<[");
    for (uint32_t i = 0; i < attr->u.layout.rank; i++) {
        if (i) strbuf_add_c(out, ", ");
        write_extent(out, attr->u.layout.strides[i]);
    }
    strbuf_add_char(out, ']');
    if (attr->u.layout.offset != 0) {
        strbuf_add_c(out, ", offset: ");
        write_extent(out, attr->u.layout.offset);
    }
    strbuf_add_char(out, '>');
}

static void write_distinct(AsmWriter *w, const Attr *attr)
{
    uint64_t id = w->distinct_id ? w->distinct_id(w->user, attr) : attr->u.distinct.id;
    strbuf_add_c(w->out, "distinct[");
    strbuf_add_uint(w->out, id);
    strbuf_add_c(w->out, "]<");
    if (attr->u.distinct.inner->kind != ATTR_UNIT) write_attr(w, attr->u.distinct.inner);
    strbuf_add_char(w->out, '>');
}

static void write_dialect_attr(AsmWriter *w, const Attr *attr)
{
    const AttrDef *def = attr->u.dialect.def;
    size_t begin = write_dialect_begin(w->out, '#', str_from(def->dialect->name));
    strbuf_add_c(w->out, def->name);
    if (def->bracketed && def->print) strbuf_add_char(w->out, ' ');
    if (def->print) def->print(w->out, attr);
    write_dialect_end(w->out, begin);
}

static bool is_bool(const Attr *attr)
{
    return attr->kind == ATTR_INTEGER && type_is_int_width(attr->type, 1);
}

static void write_integer(StrBuf *out, const Attr *attr)
{
    const Type *type = attr->type;
    bool is_unsigned = type->kind == TYPE_INTEGER && type->u.integer.sign == UNSIGNED;
    if (is_bool(attr))
        strbuf_add_c(out, attr_is_true(attr) ? "true" : "false");
    else
        bigint_print(out, &attr->u.integer, !is_unsigned);
}

static void write_affine(StrBuf *out, const Attr *attr)
{
    bool is_map = attr->kind == ATTR_AFFINE_MAP;
    strbuf_add_c(out, is_map ? "affine_map<" : "affine_set<");
    if (is_map)
        map_print(out, attr->u.map);
    else
        set_print(out, attr->u.set);
    strbuf_add_char(out, '>');
}

static void write_loc_attr(AsmWriter *w, const Attr *attr)
{
    if (w->pretty_locs) {
        write_loc_body(w, attr, true, true);
        return;
    }
    strbuf_add_c(w->out, "loc(");
    write_loc_body(w, attr, false, true);
    strbuf_add_char(w->out, ')');
}

static void write_value(AsmWriter *w, const Attr *attr)
{
    StrBuf *out = w->out;
    switch (attr->kind) {
    case ATTR_UNIT: strbuf_add_c(out, "unit"); return;
    case ATTR_INTEGER: write_integer(out, attr); return;
    case ATTR_FLOAT:
        float_print_words(out, (int)attr->type->kind,
                          (const uint64_t[]){attr->u.float_bits, attr->u.float_high});
        return;
    case ATTR_STRING: write_string_escaped(out, attr->u.string); return;
    case ATTR_TYPE: write_type(w, attr->u.type_value); return;
    case ATTR_ARRAY: write_array(w, attr); return;
    case ATTR_DICT: write_dict(w, attr); return;
    case ATTR_SYMBOL_REF: write_symbol(w, attr); return;
    case ATTR_AFFINE_MAP:
    case ATTR_INTEGER_SET: write_affine(out, attr); return;
    case ATTR_DENSE:
    case ATTR_DENSE_STRINGS: write_dense(w, attr); return;
    case ATTR_DENSE_RESOURCE:
        strbuf_add_c(out, "dense_resource<");
        write_attr_name(out, attr->u.resource.key->str);
        strbuf_add_char(out, '>');
        return;
    case ATTR_SPARSE: write_sparse(w, attr); return;
    case ATTR_DENSE_ARRAY: write_dense_array(w, attr); return;
    case ATTR_STRIDED_LAYOUT: write_strided_layout(out, attr); return;
    case ATTR_OPAQUE:
        write_dialect_symbol(out, '#', attr->u.opaque.dialect->str, attr->u.opaque.text,
                             attr->u.opaque.is_dotted);
        return;
    case ATTR_DISTINCT: write_distinct(w, attr); return;
    case ATTR_DIALECT: write_dialect_attr(w, attr); return;
    case ATTR_LOC_UNKNOWN:
    case ATTR_LOC_FILE:
    case ATTR_LOC_NAME:
    case ATTR_LOC_FUSED:
    case ATTR_LOC_CALLSITE: write_loc_attr(w, attr); return;
    }
}

/* Whether the parser assumes that type for a number that stands alone. An f64 that is printed as its
 * bits would be read as an integer. */
static bool is_default_type(const Attr *attr, Str text)
{
    if (attr->kind == ATTR_INTEGER) return type_is_int_width(attr->type, 64);
    return attr->kind == ATTR_FLOAT && attr->type->kind == TYPE_F64 && !str_starts_with(text, "0x");
}

static void write_whole(AsmWriter *w, const Attr *attr, TypeElision elision)
{
    size_t begin = w->out->len;
    write_value(w, attr);
    if (!attr->type || is_bool(attr) || elision == TYPE_ELIDE_MUST) return;
    const Str text = {w->out->data + begin, w->out->len - begin};
    if (elision == TYPE_ELIDE_MAY && is_default_type(attr, text)) return;
    strbuf_add_c(w->out, " : ");
    write_type(w, attr->type);
}

void write_attr_elided(AsmWriter *w, const Attr *attr, TypeElision elision)
{
    const char *alias = w->alias_of_attr ? w->alias_of_attr(w->user, attr) : NULL;
    if (alias)
        strbuf_add_c(w->out, alias);
    else
        write_whole(w, attr, elision);
}

void write_attr(AsmWriter *w, const Attr *attr)
{
    write_attr_elided(w, attr, TYPE_ELIDE_NEVER);
}

void write_attr_no_type(AsmWriter *w, const Attr *attr)
{
    write_attr_elided(w, attr, TYPE_ELIDE_MUST);
}

void write_attr_unaliased(AsmWriter *w, const Attr *attr)
{
    write_whole(w, attr, TYPE_ELIDE_NEVER);
}
