/* The dlti dialect: attributes that describe data layouts and targets, and the checks of them on an
 * op. It has no ops. The parameters of an entry are its key (a type or a string) and its value; the
 * other attributes are lists of entries.
 * Tests: lit/dialects/dlti */
#include "dialects/dlti/dlti.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"

static const AttrDef entry_def, spec_def, device_def, system_def;

typedef VEC(const Attr *) AttrList;

static const Attr *entry_key(const Attr *entry)
{
    return entry->u.dialect.params[0];
}

static const Attr *entry_value(const Attr *entry)
{
    return entry->u.dialect.params[1];
}

/* A type between quotes, a name bare. */
static const char *key_text(const Attr *key)
{
    return key->kind == ATTR_TYPE ? attr_str(key->ctx, key) : key->u.string.data;
}

static const Attr *parse_key(OpParser *p)
{
    Str name;
    const Type *type;
    if (!parser_try_type(p, &type)) return NULL;
    if (type) return attr_type(type);
    if (parser_at(p, "\""))
        return parser_string(p, &name) ? attr_string(parser_ctx(p), name) : NULL;
    parser_error(p, "expected a type or a quoted string");
    return NULL;
}

/* dl_entry ::= '<' (type | string) ',' attribute '>' */
static const Attr *parse_entry(OpParser *p, const Type *type)
{
    (void)type;
    const Attr *params[2];
    if (!parser_expect(p, "<") || !(params[0] = parse_key(p)) || !parser_expect(p, ",") ||
        !(params[1] = parser_attr(p, NULL)) || !parser_expect(p, ">"))
        return NULL;
    return attr_dialect(parser_ctx(p), &entry_def, params, COUNT_OF(params));
}

static void print_entry(StrBuf *out, const Attr *attr)
{
    const Attr *key = entry_key(attr);
    strbuf_add_char(out, '<');
    if (key->kind == ATTR_TYPE)
        type_print(out, key->u.type_value);
    else
        strbuf_printf(out, "\"%.*s\"", STR_ARG(key->u.string));
    strbuf_add_c(out, ", ");
    attr_print(out, entry_value(attr));
    strbuf_add_char(out, '>');
}

/* An attribute of one kind, pushed onto the list. */
static bool parse_item(OpParser *p, const AttrDef *def, AttrList *items)
{
    SrcPos at = parser_pos(p);
    const Attr *attr = parser_attr(p, NULL);
    if (!attr) return false;
    *vec_push(items) = attr;
    return attr_is_a(attr, def) || parser_error_at(p, at, "invalid kind of attribute specified");
}

static bool parse_items(OpParser *p, AttrList *items)
{
    do {
        if (!parse_item(p, &entry_def, items)) return false;
    } while (parser_try(p, ","));
    return true;
}

static bool verify_keys(OpParser *p, const AttrList *items, bool with_types)
{
    PtrMap seen = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < items->len; i++) {
        const Attr *key = entry_key(items->data[i]);
        if (key->kind == ATTR_TYPE && !with_types)
            ok = parser_error_at(p, parser_symbol_pos(p),
                                 "dlti.target_device_spec does not allow type as a key: '%s'",
                                 key_text(key));
        else if (ptrmap_put(&seen, key, (void *)(uintptr_t)key))
            ok = parser_error_at(p, parser_symbol_pos(p), "repeated layout entry key: %s%s%s",
                                 key->kind == ATTR_TYPE ? "'" : "", key_text(key),
                                 key->kind == ATTR_TYPE ? "'" : "");
    }
    ptrmap_free(&seen);
    return ok;
}

static bool parse_entries(OpParser *p, AttrList *items, bool is_device)
{
    if (!parser_expect(p, "<")) return false;
    if (!is_device && parser_try(p, ">")) return true;
    if (!parse_items(p, items))
        return is_device && parser_error(p, "failed to parse DLTI_TargetDeviceSpecAttr parameter "
                                            "'entries' which is to be a "
                                            "`::llvm::ArrayRef<DataLayoutEntryInterface>`");
    return parser_expect(p, ">") && verify_keys(p, items, !is_device);
}

static const Attr *parse_entry_list(OpParser *p, const AttrDef *def)
{
    AttrList items = {0};
    bool ok = parse_entries(p, &items, def == &device_def);
    const Attr *attr = ok ? attr_dialect(parser_ctx(p), def, items.data, items.len) : NULL;
    vec_free(&items);
    return attr;
}

/* dl_spec ::= '<' (entry (',' entry)*)? '>' */
static const Attr *parse_spec(OpParser *p, const Type *type)
{
    (void)type;
    return parse_entry_list(p, &spec_def);
}

/* target_device_spec ::= '<' entry (',' entry)* '>' */
static const Attr *parse_device(OpParser *p, const Type *type)
{
    (void)type;
    return parse_entry_list(p, &device_def);
}

static void print_entries(StrBuf *out, const Attr *attr)
{
    strbuf_add_char(out, '<');
    for (uint32_t i = 0; i < attr->u.dialect.param_count; i++) {
        if (i) strbuf_add_c(out, ", ");
        attr_print(out, attr->u.dialect.params[i]);
    }
    strbuf_add_char(out, '>');
}

/* string ':' target_device_spec */
static bool parse_device_entry(OpParser *p, AttrList *items)
{
    Str name;
    if (!parser_string(p, &name))
        return parser_error(p, "DeviceID is missing, or is not of string type");
    if (!parser_expect(p, ":")) return parser_error(p, "Missing colon");
    *vec_push(items) = attr_string(parser_ctx(p), name);
    return parse_item(p, &device_def, items) ||
           parser_error(p, "Error in parsing target device spec");
}

static bool parse_devices(OpParser *p, AttrList *items)
{
    do {
        if (!parse_device_entry(p, items))
            return parser_error(p, "failed to parse DLTI_TargetSystemSpecAttr parameter 'entries' "
                                   "which is to be a "
                                   "`::llvm::ArrayRef<DeviceIDTargetDeviceSpecPair>`");
    } while (parser_try(p, ","));
    return parser_expect(p, ">");
}

static bool verify_devices(OpParser *p, const AttrList *items)
{
    PtrMap seen = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < items->len; i += 2)
        if (ptrmap_put(&seen, items->data[i], (void *)(uintptr_t)items->data[i]))
            ok = parser_error_at(p, parser_symbol_pos(p),
                                 "repeated Device ID in dlti.target_system_spec: %s",
                                 attr_str(parser_ctx(p), items->data[i]));
    ptrmap_free(&seen);
    return ok;
}

/* target_system_spec ::= '<' device (',' device)* '>'     device ::= string ':' attribute */
static const Attr *parse_system(OpParser *p, const Type *type)
{
    (void)type;
    AttrList items = {0};
    bool ok = parser_expect(p, "<") && parse_devices(p, &items) && verify_devices(p, &items);
    const Attr *attr = ok ? attr_dialect(parser_ctx(p), &system_def, items.data, items.len) : NULL;
    vec_free(&items);
    return attr;
}

static void print_system(StrBuf *out, const Attr *attr)
{
    for (uint32_t i = 0; i < attr->u.dialect.param_count; i++) {
        strbuf_add_c(out, i == 0 ? "<" : i % 2 ? " : " : ", ");
        attr_print(out, attr->u.dialect.params[i]);
    }
    strbuf_add_char(out, '>');
}

static bool verify_number_entry(const Op *op, const Attr *entry)
{
    const Attr *value = entry_value(entry);
    if (value->kind != ATTR_DENSE || !type_is_int_width(type_elem(value->type), 64))
        return op_emit_error(op,
                             "expected a dense i64 elements attribute in the data layout entry %s",
                             attr_str(op->ctx, entry));
    int64_t count = dense_count(value);
    if (count < 1 || count > 2)
        return op_emit_error(op, "expected 1 or 2 elements in the data layout entry %s",
                             attr_str(op->ctx, entry));
    if (count == 1 || (uint64_t)dense_i64(value, 1) >= (uint64_t)dense_i64(value, 0)) return true;
    return op_emit_error(op,
                         "preferred alignment is expected to be greater than or equal to the abi "
                         "alignment in data layout entry %s",
                         attr_str(op->ctx, entry));
}

static bool verify_type_entry(const Op *op, const Attr *entry)
{
    const Type *type = entry_key(entry)->u.type_value;
    if (type->kind == TYPE_OPAQUE || type->kind == TYPE_DIALECT) return true;
    if (type_is_integer(type) || type_is_float(type)) return verify_number_entry(op, entry);
    if (type->kind != TYPE_INDEX)
        return op_emit_error(op, "unexpected data layout for a built-in type");
    return entry_value(entry)->kind == ATTR_INTEGER ||
           op_emit_error(op, "expected integer attribute in the data layout entry for '%s'",
                         type_str(op->ctx, type));
}

static bool verify_name_entry(const Op *op, const Attr *entry)
{
    static const char *const free_form[] = {"dlti.alloca_memory_space", "dlti.program_memory_space",
                                            "dlti.global_memory_space", "dlti.stack_alignment"};
    Str name = entry_key(entry)->u.string;
    if (!str_eq_c(dialect_prefix(name), "dlti")) return true;
    if (str_eq_c(name, "dlti.endianness")) {
        const Attr *value = entry_value(entry);
        bool known = value->kind == ATTR_STRING &&
                     (str_eq_c(value->u.string, "big") || str_eq_c(value->u.string, "little"));
        return known || op_emit_error(op, "'dlti.endianness' data layout entry is expected to be "
                                          "either 'big' or 'little'");
    }
    for (size_t i = 0; i < COUNT_OF(free_form); i++)
        if (str_eq_c(name, free_form[i])) return true;
    return op_emit_error(op, "unknown data layout entry name: %.*s", STR_ARG(name));
}

static const Attr *layout_of(const Op *op)
{
    const Attr *spec = op_attr(op, "dlti.dl_spec");
    return spec && attr_is_a(spec, &spec_def) ? spec : NULL;
}

/* Whether no name has another value in the outer layout. */
static bool layouts_combine(const Attr *inner, const Attr *outer)
{
    PtrMap values = {0};
    bool ok = true;
    for (uint32_t i = 0; i < outer->u.dialect.param_count; i++) {
        const Attr *entry = outer->u.dialect.params[i];
        ptrmap_put(&values, entry_key(entry), (void *)(uintptr_t)entry);
    }
    for (uint32_t i = 0; ok && i < inner->u.dialect.param_count; i++) {
        const Attr *entry = inner->u.dialect.params[i];
        const Attr *other = ptrmap_get(&values, entry_key(entry));
        ok = !other || other == entry || entry_key(entry)->kind == ATTR_TYPE;
    }
    ptrmap_free(&values);
    return ok;
}

static bool verify_combination(Op *op, const Attr *spec)
{
    bool ok = true;
    for (Op *outer = op_parent(op); ok && outer; outer = op_parent(outer)) {
        const Attr *layout = layout_of(outer);
        ok = !layout || layouts_combine(spec, layout);
    }
    if (ok) return true;
    (void)op_emit_error(op, "data layout does not combine with layouts of enclosing ops");
    for (Op *outer = op_parent(op); outer; outer = op_parent(outer))
        if (layout_of(outer)) (void)op_note(outer, "enclosing op with data layout");
    return false;
}

static bool verify_layout(Op *op, const Attr *spec)
{
    for (int types = 1; types >= 0; types--)
        for (uint32_t i = 0; i < spec->u.dialect.param_count; i++) {
            const Attr *entry = spec->u.dialect.params[i];
            bool is_type = entry_key(entry)->kind == ATTR_TYPE;
            if (is_type != types) continue;
            if (is_type ? !verify_type_entry(op, entry) : !verify_name_entry(op, entry))
                return false;
        }
    return verify_combination(op, spec);
}

static bool verify_op_attr(Op *op, const NamedAttr *attr)
{
    if (str_eq_c(attr->name->str, "dlti.dl_spec")) {
        if (!attr_is_a(attr->value, &spec_def))
            return op_emit_error(op, "'dlti.dl_spec' is expected to be a #dlti.dl_spec attribute");
        bool is_module = str_eq_c(op_name(op), "builtin.module");
        return !is_module || verify_layout(op, attr->value);
    }
    if (str_eq_c(attr->name->str, "dlti.target_system_spec"))
        return attr_is_a(attr->value, &system_def) ||
               op_emit_error(op, "'dlti.target_system_spec' is expected to be a "
                                 "#dlti.target_system_spec attribute");
    return op_emit_error(op, "attribute '%.*s' not supported by dialect", STR_ARG(attr->name->str));
}

static const AttrDef entry_def = {.name = "dl_entry",
                                  .dialect = &dlti_dialect,
                                  .summary = "A type or a name, and what is said of it.",
                                  .parse = parse_entry,
                                  .print = print_entry};
static const AttrDef spec_def = {.name = "dl_spec",
                                 .dialect = &dlti_dialect,
                                 .summary = "Layouts of types in memory.",
                                 .parse = parse_spec,
                                 .print = print_entries};
static const AttrDef device_def = {.name = "target_device_spec",
                                   .dialect = &dlti_dialect,
                                   .summary = "Properties of a device.",
                                   .parse = parse_device,
                                   .print = print_entries};
static const AttrDef system_def = {.name = "target_system_spec",
                                   .dialect = &dlti_dialect,
                                   .summary = "The devices of a system.",
                                   .parse = parse_system,
                                   .print = print_system};

static const AttrDef *const ATTR_DEFS[] = {&device_def, &entry_def, &spec_def, &system_def, NULL};

const DialectDef dlti_dialect = {
    .name = "dlti",
    .summary = "Data layouts and target descriptions.",
    .attrs = ATTR_DEFS,
    .verify_op_attr = verify_op_attr,
};
