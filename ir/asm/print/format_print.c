/* Printing of an op by its compiled assembly format. Blanks were decided when it was compiled.
 * Tests: test/unit/ir/asm/format/format_test.c, lit/dialects */
#include "ir/asm/format/format.h"
#include "ir/asm/print/internal.h"
#include "ir/attr/attr.h"

static void print_elements(const Format *format, OpPrinter *p, const Op *op,
                           const ElementList *list, const Element *elided);

static const Attr *attr_at(const Format *format, const Op *op, uint32_t index)
{
    return op_attr_id(op, format->info->attr_names[index]);
}

static bool types_present(const Op *op, TypeTarget target)
{
    uint32_t begin, count;
    switch (target.source) {
    case TYPES_OF_OPERAND: op_operand_group(op, target.group, &begin, &count); return count > 0;
    case TYPES_OF_RESULT: op_result_group(op, target.group, &begin, &count); return count > 0;
    case TYPES_OF_OPERANDS: return op->operand_count > 0;
    case TYPES_OF_RESULTS: return op->result_count > 0;
    }
    return false;
}

static bool is_present(const Format *format, const Op *op, const Element *element)
{
    uint32_t begin, count;
    const Attr *attr;
    switch (element->kind) {
    case ELEMENT_ATTR:
        attr = attr_at(format, op, element->index);
        return attr && attr != format->info->attr_defaults[element->index];
    case ELEMENT_REGION: return !region_is_empty(op_region(op, element->index));
    case ELEMENT_SUCCESSOR: return element->index < op->successor_count;
    case ELEMENT_TYPE: return types_present(op, element->types);
    case ELEMENT_FUNCTIONAL_TYPE:
        return types_present(op, element->types) || types_present(op, element->results);
    case ELEMENT_OPERANDS: return op->operand_count > 0;
    case ELEMENT_INDEX_LIST:
        attr = attr_at(format, op, element->static_attr);
        return attr && attr->u.dense_array.count > 0;
    case ELEMENT_OPERAND: op_operand_group(op, element->index, &begin, &count); return count > 0;
    default: return true;
    }
}

static void print_enum(OpPrinter *p, const AttrConstraint *constraint, const Attr *attr)
{
    int64_t value = attr_int_value(attr);
    int64_t count = 0;
    while (constraint->enum_names[count]) count++;
    if (value >= 0 && value < count)
        printer_text(p, constraint->enum_names[value]);
    else
        printer_attr(p, attr);
}

static void print_int_list(OpPrinter *p, const Attr *attr)
{
    StrBuf *out = printer_out(p);
    strbuf_add_char(out, '[');
    for (size_t i = 0; i < attr->u.dense_array.count; i++) {
        if (i > 0) strbuf_add_c(out, ", ");
        strbuf_add_int(out, dense_array_i64(attr, i));
    }
    strbuf_add_char(out, ']');
}

static void print_attr_element(const Format *format, OpPrinter *p, const Op *op,
                               const Element *element)
{
    const Attr *attr = attr_at(format, op, element->index);
    const AttrConstraint *constraint = format->info->def->attrs[element->index].attr;
    if (!attr) return;
    if (constraint->syntax == ATTR_SYNTAX_ENUM && attr->kind == ATTR_INTEGER)
        print_enum(p, constraint, attr);
    else if (constraint->syntax == ATTR_SYNTAX_INT_LIST && attr->kind == ATTR_DENSE_ARRAY)
        print_int_list(p, attr);
    else if (constraint->syntax == ATTR_SYNTAX_SYMBOL_NAME && attr->kind == ATTR_STRING)
        printer_symbol_name(p, attr->u.string);
    else if (constraint->bare_type || constraint->syntax == ATTR_SYNTAX_BARE_INT ||
             constraint->syntax == ATTR_SYNTAX_STRING)
        printer_attr_without_type(p, attr);
    else if (constraint->param && attr_is_a(attr, constraint->param) && !element->qualified)
        printer_attr_stripped(p, attr);
    else
        printer_attr(p, attr);
}

static void print_types(OpPrinter *p, const Op *op, TypeTarget target)
{
    uint32_t begin, count;
    switch (target.source) {
    case TYPES_OF_OPERAND:
        op_operand_group(op, target.group, &begin, &count);
        printer_operand_types(p, op, begin, count);
        return;
    case TYPES_OF_RESULT:
        op_result_group(op, target.group, &begin, &count);
        printer_result_types_in(p, op, begin, count);
        return;
    case TYPES_OF_OPERANDS: printer_operand_types(p, op, 0, op->operand_count); return;
    case TYPES_OF_RESULTS: printer_result_types_in(p, op, 0, op->result_count); return;
    }
}

/* A single type has no parentheses unless it is a function type. */
static bool results_are_bare(const Op *op, TypeTarget target)
{
    uint32_t begin = 0, count = op->result_count;
    if (target.source == TYPES_OF_OPERANDS) count = op->operand_count;
    if (target.source == TYPES_OF_RESULT) op_result_group(op, target.group, &begin, &count);
    if (target.source == TYPES_OF_OPERAND) op_operand_group(op, target.group, &begin, &count);
    if (count != 1) return false;
    bool of_results = target.source == TYPES_OF_RESULT || target.source == TYPES_OF_RESULTS;
    const Value *value = of_results ? op_result(op, begin) : op_operand(op, begin);
    return value->type->kind != TYPE_FUNCTION;
}

static void print_functional_type(OpPrinter *p, const Op *op, const Element *element)
{
    bool bare = results_are_bare(op, element->results);
    printer_text(p, "(");
    print_types(p, op, element->types);
    printer_text(p, bare ? ") -> " : ") -> (");
    print_types(p, op, element->results);
    if (!bare) printer_text(p, ")");
}

/* An implicit terminator is left out if it says nothing. */
static void print_region_element(OpPrinter *p, const Op *op, uint32_t index)
{
    Region *region = op_region(op, index);
    bool print_terminator = true;
    const Block *entry = region_entry(region);
    const Op *last = entry ? block_terminator(entry) : NULL;
    if (op->def->implicit_terminator && last)
        print_terminator = last->operand_count > 0 || last->result_count > 0 ||
                           last->attrs->u.dict.count > 0 || last->props->u.dict.count > 0;
    printer_region(p, region, true, print_terminator);
}

static void print_regions(OpPrinter *p, const Op *op)
{
    for (uint32_t i = 0; i < op->region_count; i++) {
        if (i > 0) printer_text(p, ", ");
        print_region_element(p, op, i);
    }
}

static void print_successors(OpPrinter *p, const Op *op, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++) {
        if (i > begin) printer_text(p, ", ");
        printer_successor(p, op->successors[i].block);
    }
}

/* $name of a variadic row's only successor variable means all of them. */
static void print_successor_element(OpPrinter *p, const Op *op, uint32_t index)
{
    uint32_t end = op->def->variadic_successors ? op->successor_count : index + 1;
    print_successors(p, op, index, end);
}

static void print_operand_element(OpPrinter *p, const Op *op, uint32_t group)
{
    uint32_t begin, count;
    op_operand_group(op, group, &begin, &count);
    printer_values(p, op, begin, count);
}

/* [%a, 4, 8]: constants, and an operand for each dynamic one. A diagnostic may print an op that has
 * fewer, the number then stands for itself. */
static void print_index_list(const Format *format, OpPrinter *p, const Op *op,
                             const Element *element)
{
    const Attr *constants = attr_at(format, op, element->static_attr);
    uint32_t operand, operand_count;
    op_operand_group(op, element->index, &operand, &operand_count);
    const uint32_t end = operand + operand_count;
    printer_text(p, "[");
    for (size_t i = 0; constants && i < constants->u.dense_array.count; i++) {
        if (i > 0) printer_text(p, ", ");
        int64_t value = dense_array_i64(constants, i);
        if (value == DIM_DYNAMIC && operand < end)
            printer_value(p, op_operand(op, operand++));
        else
            strbuf_add_int(p->out, value);
    }
    printer_text(p, "]");
}

typedef struct DictFilter {
    const Format *format;
    const Op *op;
} DictFilter;

/* Keeps the attributes that no other element of the format prints and that differ from their
 * default. */
static bool keep_in_dict(const void *user, const NamedAttr *item)
{
    const DictFilter *filter = user;
    const Format *format = filter->format;
    const OpInfo *info = format->info;
    for (uint32_t i = 0; i < info->attr_count; i++)
        if (info->attr_names[i] == item->name)
            return !format->elided[i] && item->value != format->info->attr_defaults[i];
    if (item->name == info->operand_segments) return format->has_operands_directive;
    return item->name != info->result_segments || format->all_result_types;
}

static void print_dict(const Format *format, OpPrinter *p, const Op *op, bool with_keyword)
{
    DictFilter filter = {.format = format, .op = op};
    printer_attr_dict_filtered(p, op, !format->has_prop_dict, with_keyword, keep_in_dict, &filter);
}

/* " <{a = 1}>" of the inherent attributes that nothing else prints. */
static void print_props(const Format *format, OpPrinter *p, const Op *op)
{
    DictFilter filter = {.format = format, .op = op};
    Context *ctx = op->ctx;
    VEC(NamedAttr) kept = {0};
    for (uint32_t i = 0; i < op->props->u.dict.count; i++)
        if (keep_in_dict(&filter, &op->props->u.dict.items[i]))
            *vec_push(&kept) = op->props->u.dict.items[i];
    if (kept.len > 0) {
        printer_text(p, " <");
        printer_attr(p, attr_dict(ctx, kept.data, kept.len));
        printer_text(p, ">");
    }
    vec_free(&kept);
}

static void print_group(const Format *format, OpPrinter *p, const Op *op, const Element *group)
{
    bool then = is_present(format, op, group->anchor) != group->inverted;
    print_elements(format, p, op, then ? &group->then_part : &group->else_part,
                   group->elides_anchor ? group->anchor : NULL);
}

/* Elements without types, attributes or ops have nothing for the dry walk. */
static bool is_plain(ElementKind kind)
{
    switch (kind) {
    case ELEMENT_LITERAL:
    case ELEMENT_SPACE:
    case ELEMENT_NEWLINE:
    case ELEMENT_OPERAND:
    case ELEMENT_OPERANDS:
    case ELEMENT_SUCCESSOR:
    case ELEMENT_SUCCESSORS:
    case ELEMENT_INDEX_LIST: return true;
    default: return false;
    }
}

static void print_element(const Format *format, OpPrinter *p, const Op *op, const Element *element)
{
    if (p->dry && is_plain(element->kind)) return;
    if (element->space_before) printer_text(p, " ");
    switch (element->kind) {
    case ELEMENT_LITERAL:
    case ELEMENT_SPACE: strbuf_add(p->out, element->text, element->text_len); return;
    case ELEMENT_NEWLINE: printer_newline(p); return;
    case ELEMENT_OPERAND: print_operand_element(p, op, element->index); return;
    case ELEMENT_ATTR: print_attr_element(format, p, op, element); return;
    case ELEMENT_REGION: print_region_element(p, op, element->index); return;
    case ELEMENT_SUCCESSOR: print_successor_element(p, op, element->index); return;
    case ELEMENT_ATTR_DICT: print_dict(format, p, op, element->with_keyword); return;
    case ELEMENT_PROP_DICT: print_props(format, p, op); return;
    case ELEMENT_OPERANDS: printer_values(p, op, 0, op->operand_count); return;
    case ELEMENT_REGIONS: print_regions(p, op); return;
    case ELEMENT_SUCCESSORS: print_successors(p, op, 0, op->successor_count); return;
    case ELEMENT_TYPE: print_types(p, op, element->types); return;
    case ELEMENT_FUNCTIONAL_TYPE: print_functional_type(p, op, element); return;
    case ELEMENT_INDEX_LIST: print_index_list(format, p, op, element); return;
    case ELEMENT_OPTIONAL: print_group(format, p, op, element); return;
    }
}

static void print_elements(const Format *format, OpPrinter *p, const Op *op,
                           const ElementList *list, const Element *elided)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (&list->items[i] != elided) print_element(format, p, op, &list->items[i]);
}

void print_by_format(const Format *format, OpPrinter *p, const Op *op)
{
    print_elements(format, p, op, &format->elements, NULL);
}
