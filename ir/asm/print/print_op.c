/* Printing of ops, blocks and regions, in custom or generic form.
 * Tests: lit/ir/asm/print/generic.mir, lit/ir/asm/print/names.mir */
#include <stdlib.h>
#include <string.h>

#include "ir/asm/format/format.h"
#include "ir/asm/print/internal.h"

/* Columns per level. */
#define INDENT 2

static void print_generic(OpPrinter *p, const Op *op);

static void print_op_name(OpPrinter *p, const Op *op)
{
    Str name = op_name(op);
    Str prefix = str_from(op->def->dialect->name);
    bool short_name = op->def->dialect == p->default_dialect &&
                      !memchr(name.data + prefix.len + 1, '.', name.len - prefix.len - 1);
    size_t skip = short_name ? prefix.len + 1 : 0;
    strbuf_add(p->out, name.data + skip, name.len - skip);
}

static void print_custom_or_generic(OpPrinter *p, const Op *op)
{
    const OpInfo *info = op->name->op;
    if (p->options->generic || !info || (!info->format && !op->def->print)) {
        print_generic(p, op);
        return;
    }
    if (!p->dry) print_op_name(p, op);
    if (info->format)
        print_by_format(info->format, p, op);
    else
        op->def->print(p, op);
}

void printer_op(OpPrinter *p, const Op *op)
{
    if (p->dry) {
        if (p->options->debug_info) asm_aliases_visit_attr(p->aliases, op->loc, true);
        print_custom_or_generic(p, op);
        return;
    }
    printer_indent(p);
    if (op->result_count > 0) {
        asm_names_results(p->names, p->out, op);
        strbuf_add_c(p->out, " = ");
    }
    print_custom_or_generic(p, op);
    printer_op_loc(p, op->loc);
    if (p->options->value_users) printer_users_of_op(p, op);
}

static int compare_orders(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* One or more predecessors, in block order. */
static void print_preds(OpPrinter *p, const Block *block)
{
    VEC(uint32_t) orders = {0};
    for (const BlockUse *use = block->uses; use; use = use->next)
        *vec_push(&orders) = asm_names_block_order(p->names, use->owner->block);
    qsort(orders.data, orders.len, sizeof(*orders.data), compare_orders);
    if (orders.len == 1)
        strbuf_add_c(p->out, "  // pred: ");
    else
        strbuf_printf(p->out, "  // %zu preds: ", orders.len);
    for (size_t i = 0; i < orders.len; i++)
        strbuf_printf(p->out, "%s^bb%u", i > 0 ? ", " : "", (unsigned)orders.data[i]);
    vec_free(&orders);
}

static void print_block_args(OpPrinter *p, const Block *block)
{
    for (uint32_t i = 0; i < block->arg_count; i++) {
        if (i > 0) printer_text(p, ", ");
        printer_block_arg(p, block->args[i]);
    }
}

static void print_block_header(OpPrinter *p, const Block *block)
{
    if (p->dry) {
        print_block_args(p, block);
        return;
    }
    printer_indent(p);
    asm_names_block(p->names, p->out, block);
    if (block->arg_count > 0) {
        strbuf_add_char(p->out, '(');
        print_block_args(p, block);
        strbuf_add_char(p->out, ')');
    }
    strbuf_add_char(p->out, ':');
    if (block->uses)
        print_preds(p, block);
    else if (block != block->parent->first)
        strbuf_add_c(p->out, "  // no predecessors");
    strbuf_add_char(p->out, '\n');
}

static void print_block(OpPrinter *p, const Block *block, bool header, bool print_terminator)
{
    if (header) print_block_header(p, block);
    p->indent += INDENT;
    if (p->options->value_users && !p->dry)
        for (uint32_t i = 0; i < block->arg_count; i++) printer_users_of_arg(p, block->args[i]);
    const Op *end = print_terminator ? NULL : block_terminator(block);
    for (const Op *op = block->first; op != end; op = op->next) {
        printer_op(p, op);
        if (p->dry) continue;
        strbuf_add_char(p->out, '\n');
        asm_writer_pass_on(&p->w);
    }
    p->indent -= INDENT;
}

/* The dialect whose prefix ops may drop inside an op's regions. */
static const DialectDef *default_dialect_inside(const Op *op)
{
    return op->def && op->def->dialect->is_default_in_functions ? op->def->dialect : NULL;
}

static void print_region(OpPrinter *p, const Region *region, bool entry_args, bool terminators,
                         bool empty_block)
{
    if (p->options->skip_regions) {
        printer_text(p, "{...}");
        return;
    }
    printer_text(p, "{\n");
    const DialectDef *outer = p->default_dialect;
    p->default_dialect = default_dialect_inside(region->parent);
    FOR_EACH_BLOCK(block, region) {
        bool is_entry = block == region->first;
        bool header =
            !is_entry || (empty_block && !block->first) || (entry_args && block->arg_count > 0);
        print_block(p, block, header, !is_entry || terminators);
    }
    p->default_dialect = outer;
    if (p->dry) return;
    printer_indent(p);
    strbuf_add_char(p->out, '}');
}

void printer_region(OpPrinter *p, Region *region, bool print_entry_args, bool print_terminator)
{
    print_region(p, region, print_entry_args, print_terminator, false);
}

/* Visits the parts that the generic form prints in the order in which upstream looks for aliases,
 * which skips the properties of unregistered ops. */
static void visit_generic(OpPrinter *p, const Op *op)
{
    for (uint32_t i = 0; i < op->region_count; i++)
        print_region(p, op_region(op, i), true, true, true);
    printer_operand_types(p, op, 0, op->operand_count);
    printer_result_types(p, op);
    if (op->def)
        printer_attr_dict(p, op, NULL);
    else
        printer_dict(p, op->attrs, false);
}

static void print_successors(OpPrinter *p, const Op *op)
{
    if (op->successor_count == 0) return;
    strbuf_add_char(p->out, '[');
    for (uint32_t i = 0; i < op->successor_count; i++) {
        if (i > 0) strbuf_add_c(p->out, ", ");
        printer_successor(p, op->successors[i].block);
    }
    strbuf_add_char(p->out, ']');
}

static void print_generic_regions(OpPrinter *p, const Op *op)
{
    if (op->region_count == 0) return;
    strbuf_add_c(p->out, " (");
    for (uint32_t i = 0; i < op->region_count; i++) {
        if (i > 0) strbuf_add_c(p->out, ", ");
        print_region(p, op_region(op, i), true, true, true);
    }
    strbuf_add_char(p->out, ')');
}

static void print_generic(OpPrinter *p, const Op *op)
{
    if (p->dry) {
        visit_generic(p, op);
        return;
    }
    write_string_escaped(p->out, op_name(op));
    strbuf_add_char(p->out, '(');
    printer_values(p, op, 0, op->operand_count);
    strbuf_add_char(p->out, ')');
    print_successors(p, op);
    if (op->props && (!op->def || op->props->u.dict.count > 0)) {
        strbuf_add_c(p->out, " <");
        write_attr(&p->w, op->props);
        strbuf_add_char(p->out, '>');
    }
    print_generic_regions(p, op);
    printer_dict(p, op->attrs, false);
    strbuf_add_c(p->out, " : ");
    printer_functional_type(p, op);
}
