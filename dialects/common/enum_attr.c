/* Enumeration attributes, whose one parameter is an i32.
 * Tests: lit/dialects/arith/ops.mir, lit/dialects/linalg/invalid.mir */
#include "dialects/common/common.h"
#include "ir/attr/attr.h"

const Attr *enum_attr_get(Context *ctx, const EnumSpec *spec, int64_t value)
{
    const Attr *param = attr_int(type_i(ctx, 32), value);
    return attr_dialect(ctx, spec->def, &param, 1);
}

int64_t enum_attr_value(const Attr *attr)
{
    return attr_int_value(attr->u.dialect.params[0]);
}

static int64_t all_bits(const EnumSpec *spec)
{
    int count = 0;
    while (spec->names[count]) count++;
    return ((int64_t)1 << (count - 1)) - 1;
}

/* Value of a keyword; false if there is no such keyword. */
static bool value_of(const EnumSpec *spec, Str keyword, int64_t *out)
{
    if (spec->all && str_eq_c(keyword, spec->all)) {
        *out = all_bits(spec);
        return true;
    }
    for (int i = 0; spec->names[i]; i++)
        if (str_eq_c(keyword, spec->names[i])) {
            *out = !spec->separator ? i : i == 0 ? 0 : (int64_t)1 << (i - 1);
            return true;
        }
    return false;
}

static bool error_choices(OpParser *p, SrcPos at, const EnumSpec *spec)
{
    StrBuf list = {0};
    for (int i = 0; spec->names[i]; i++)
        strbuf_printf(&list, "%s%s", i ? ", " : "", spec->names[i]);
    if (spec->all) strbuf_printf(&list, ", %s", spec->all);
    parser_error_at(p, at, "expected %s to be one of: %s", spec->cpp_name, list.data);
    strbuf_free(&list);
    return false;
}

static bool parse_value(OpParser *p, const EnumSpec *spec, int64_t *out)
{
    SrcPos at = parser_pos(p);
    *out = 0;
    do {
        Str keyword;
        int64_t value;
        if (!parser_keyword(p, &keyword)) return false;
        if (!value_of(spec, keyword, &value)) return error_choices(p, at, spec);
        *out |= value;
    } while (spec->separator && parser_try(p, ","));
    return true;
}

const Attr *enum_attr_parse(OpParser *p, const EnumSpec *spec)
{
    int64_t value;
    if (!parser_expect(p, "<")) return NULL;
    if (!parse_value(p, spec, &value)) {
        parser_error(p, "failed to parse %s parameter 'value' which is to be a `%s`", spec->td_name,
                     spec->cpp_name);
        return NULL;
    }
    if (!parser_expect(p, ">")) return NULL;
    return enum_attr_get(parser_ctx(p), spec, value);
}

static void print_flags(StrBuf *out, int64_t value, const EnumSpec *spec)
{
    if (value == 0) strbuf_add_c(out, spec->names[0]);
    if (spec->all && value == all_bits(spec)) {
        strbuf_add_c(out, spec->all);
        return;
    }
    bool first = true;
    for (int i = 1; spec->names[i]; i++) {
        if (!(value >> (i - 1) & 1)) continue;
        strbuf_printf(out, "%s%s", first ? "" : spec->separator, spec->names[i]);
        first = false;
    }
}

void enum_attr_print(StrBuf *out, const Attr *attr, const EnumSpec *spec)
{
    int64_t value = enum_attr_value(attr);
    strbuf_add_char(out, '<');
    if (spec->separator)
        print_flags(out, value, spec);
    else
        strbuf_add_c(out, spec->names[value]);
    strbuf_add_char(out, '>');
}
