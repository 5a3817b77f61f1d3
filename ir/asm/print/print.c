/* The functions that print hooks call: values, types, attributes, dictionaries, locations.
 * Tests: lit/ir, test/unit/ir/asm/format/format_test.c */
#include <assert.h>

#include "ir/asm/print/internal.h"
#include "ir/asm/print/print.h"

const PrintOptions PRINT_DEFAULT = {.elide_elements_above = -1, .elide_resources_above = -1};

StrBuf *printer_out(OpPrinter *p)
{
    if (p->dry) strbuf_clear(p->out);
    return p->out;
}

void printer_text(OpPrinter *p, const char *text)
{
    if (!p->dry) strbuf_add_c(p->out, text);
}

bool printer_is_dry(const OpPrinter *p)
{
    return p->dry;
}

void printer_indent(OpPrinter *p)
{
    static const char blanks[] = "                                ";
    for (uint32_t left = p->indent; left > 0;) {
        uint32_t step = left < sizeof(blanks) - 1 ? left : (uint32_t)sizeof(blanks) - 1;
        strbuf_add(p->out, blanks, step);
        left -= step;
    }
}

void printer_newline(OpPrinter *p)
{
    if (p->dry) return;
    strbuf_add_char(p->out, '\n');
    printer_indent(p);
}

void printer_nest(OpPrinter *p, int levels)
{
    p->indent += (uint32_t)(2 * levels);
}

void printer_value(OpPrinter *p, const Value *value)
{
    if (!p->dry) asm_names_value(p->names, p->out, value, true);
}

void printer_values(OpPrinter *p, const Op *op, uint32_t begin, uint32_t count)
{
    if (p->dry) return;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) strbuf_add_c(p->out, ", ");
        printer_value(p, op_operand(op, begin + i));
    }
}

void printer_successor(OpPrinter *p, const Block *block)
{
    if (!p->dry) asm_names_block(p->names, p->out, block);
}

void printer_symbol_name(OpPrinter *p, Str name)
{
    if (!p->dry) write_symbol_name(p->out, name);
}

void printer_type(OpPrinter *p, const Type *type)
{
    if (!p->dry)
        write_type(&p->w, type);
    else
        asm_aliases_visit_type(p->aliases, type);
}

void printer_attr(OpPrinter *p, const Attr *attr)
{
    if (!p->dry)
        write_attr(&p->w, attr);
    else
        asm_aliases_visit_attr(p->aliases, attr, false);
}

void printer_attr_without_type(OpPrinter *p, const Attr *attr)
{
    if (!p->dry)
        write_attr_no_type(&p->w, attr);
    else
        asm_aliases_visit_attr(p->aliases, attr, false);
}

void printer_attr_stripped(OpPrinter *p, const Attr *attr)
{
    assert(attr->kind == ATTR_DIALECT);
    const char *alias = p->aliases && !p->dry ? asm_aliases_of(p->aliases, attr) : NULL;
    if (p->dry)
        asm_aliases_visit_attr(p->aliases, attr, false);
    else if (alias)
        strbuf_add_c(p->out, alias);
    else
        attr->u.dialect.def->print(p->out, attr);
}

void printer_operand_types(OpPrinter *p, const Op *op, uint32_t begin, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const Value *operand = op_operand(op, begin + i);
        if (i > 0) printer_text(p, ", ");
        if (operand)
            printer_type(p, operand->type);
        else
            printer_text(p, "<<NULL TYPE>>");
    }
}

void printer_result_types_in(OpPrinter *p, const Op *op, uint32_t begin, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) printer_text(p, ", ");
        printer_type(p, op_result(op, begin + i)->type);
    }
}

void printer_result_types(OpPrinter *p, const Op *op)
{
    printer_result_types_in(p, op, 0, op->result_count);
}

void printer_functional_type(OpPrinter *p, const Op *op)
{
    bool bare = op->result_count == 1 && op_result(op, 0)->type->kind != TYPE_FUNCTION;
    printer_text(p, "(");
    printer_operand_types(p, op, 0, op->operand_count);
    printer_text(p, bare ? ") -> " : ") -> (");
    printer_result_types(p, op);
    if (!bare) printer_text(p, ")");
}

static bool is_elided(const Ident *name, const char *const *elided)
{
    for (; elided && *elided; elided++)
        if (str_eq_c(name->str, *elided)) return true;
    return false;
}

/* Writes one item of a dictionary; the first opens it. */
static void print_item(OpPrinter *p, const NamedAttr *item, bool with_keyword, bool *opened)
{
    if (p->dry) {
        asm_aliases_visit_attr(p->aliases, item->value, false);
        return;
    }
    if (*opened)
        strbuf_add_c(p->out, ", ");
    else
        strbuf_add_c(p->out, with_keyword ? " attributes {" : " {");
    *opened = true;
    write_named_attr(&p->w, item->name, item->value);
}

void printer_attr_dict_filtered(OpPrinter *p, const Op *op, bool inherent, bool with_keyword,
                                bool (*keep)(const void *user, const NamedAttr *item),
                                const void *user)
{
    const NamedAttr *a = op->attrs->u.dict.items, *a_end = a + op->attrs->u.dict.count;
    const Attr *props = inherent && op->def ? op->props : attr_dict_empty(op->ctx);
    const NamedAttr *b = props->u.dict.items, *b_end = b + props->u.dict.count;
    bool opened = false;
    while (a < a_end || b < b_end) {
        bool take_a = b == b_end || (a < a_end && str_cmp(a->name->str, b->name->str) < 0);
        const NamedAttr *item = take_a ? a++ : b++;
        if (!keep || keep(user, item)) print_item(p, item, with_keyword, &opened);
    }
    if (opened) strbuf_add_char(p->out, '}');
}

static bool keep_unless_elided(const void *user, const NamedAttr *item)
{
    return !is_elided(item->name, user);
}

void printer_attr_dict(OpPrinter *p, const Op *op, const char *const *elided)
{
    printer_attr_dict_filtered(p, op, true, false, keep_unless_elided, elided);
}

void printer_attr_dict_keyword(OpPrinter *p, const Op *op, const char *const *elided)
{
    printer_attr_dict_filtered(p, op, true, true, keep_unless_elided, elided);
}

void printer_dict(OpPrinter *p, const Attr *dict, bool with_keyword)
{
    bool opened = false;
    for (uint32_t i = 0; dict && i < dict->u.dict.count; i++)
        print_item(p, &dict->u.dict.items[i], with_keyword, &opened);
    if (opened) strbuf_add_char(p->out, '}');
}

void printer_op_loc(OpPrinter *p, const Attr *loc)
{
    if (!p->options->debug_info) return;
    strbuf_add_char(p->out, ' ');
    write_loc(&p->w, loc, p->options->pretty_debug_info);
}

/* An argument's location never is an alias itself. */
static void printer_arg_loc(OpPrinter *p, const Attr *loc)
{
    if (!p->options->debug_info) return;
    if (p->dry) {
        asm_aliases_visit_attr(p->aliases, loc, false);
        return;
    }
    bool pretty = p->options->pretty_debug_info;
    strbuf_add_c(p->out, pretty ? " " : " loc(");
    write_loc_body(&p->w, loc, pretty, true);
    if (!pretty) strbuf_add_char(p->out, ')');
}

void printer_block_arg(OpPrinter *p, const Value *arg)
{
    printer_region_arg(p, arg, NULL);
}

void printer_region_arg(OpPrinter *p, const Value *arg, const Attr *attrs)
{
    printer_value(p, arg);
    printer_text(p, ": ");
    printer_type(p, arg->type);
    if (!p->dry) printer_dict(p, attrs, false); /* these are not searched for aliases */
    printer_arg_loc(p, value_loc(arg));
}
