/* The cf dialect: rows, text and checks; simplifications are in cf_canon.c. The operands of a
 * branch become the arguments of its successors, in order.
 * Tests: lit/dialects/cf */
#include "dialects/cf/cf.h"
#include "dialects/cf/internal.h"
#include "dialects/common/common.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

/* Operand groups of cond_br and switch. */
enum { GROUP_FIRST = 1, GROUP_SECOND = 2 };

static void switch_case_operands(const Op *op, uint32_t index, uint32_t *begin, uint32_t *count)
{
    const Attr *sizes = op_attr(op, "case_operand_segments");
    uint32_t all;
    op_operand_group(op, GROUP_SECOND, begin, &all);
    *count = 0;
    if (all == 0) return; /* as in most switches: do not add up zeros for every case */
    for (uint32_t i = 0; i < index; i++) *begin += (uint32_t)dense_array_i64(sizes, i);
    *count = (uint32_t)dense_array_i64(sizes, index);
}

void cf_successor_operands(const Op *branch, uint32_t index, uint32_t *begin, uint32_t *count)
{
    if (branch->def == CF(BR))
        op_operand_group(branch, 0, begin, count);
    else if (branch->def == CF(COND_BR) || index == 0)
        op_operand_group(branch, GROUP_FIRST + index, begin, count);
    else
        switch_case_operands(branch, index - 1, begin, count);
}

static void set_case_size(Op *op, uint32_t index, uint32_t size)
{
    const Attr *segments = op_attr(op, "case_operand_segments");
    size_t count = segments->u.dense_array.count;
    int32_t *sizes = xcalloc(count, sizeof *sizes);
    for (size_t i = 0; i < count; i++) sizes[i] = (int32_t)dense_array_i64(segments, i);
    sizes[index] = (int32_t)size;
    op_set_attr(op, "case_operand_segments",
                attr_dense_array(segments->u.dense_array.elem, sizes, count));
    free_ptr((void **)&sizes);
}

/* The cases share an operand group, in which they have sizes of their own. */
static void set_case_operands(Op *op, uint32_t index, Value *const *values, uint32_t count)
{
    uint32_t begin, old, group_begin, group_size;
    switch_case_operands(op, index, &begin, &old);
    op_operand_group(op, GROUP_SECOND, &group_begin, &group_size);
    uint32_t size = group_size - old + count, before = begin - group_begin;
    Value **all = xcalloc(size, sizeof *all);
    for (uint32_t i = 0; i < before; i++) all[i] = op_operand(op, group_begin + i);
    for (uint32_t i = 0; i < count; i++) all[before + i] = values[i];
    for (uint32_t i = before + old; i < group_size; i++)
        all[i - old + count] = op_operand(op, group_begin + i);
    op_set_operand_group(op, GROUP_SECOND, all, size);
    set_case_size(op, index, count);
    free_ptr((void **)&all);
}

static void set_successor_operands(Op *op, uint32_t index, Value *const *values, uint32_t count)
{
    if (op->def == CF(BR))
        op_set_operand_group(op, 0, values, count);
    else if (op->def == CF(COND_BR) || index == 0)
        op_set_operand_group(op, GROUP_FIRST + index, values, count);
    else
        set_case_operands(op, index - 1, values, count);
}

static bool verify_successor(Op *op, uint32_t index)
{
    const Block *block = op->successors[index].block;
    uint32_t begin, count;
    cf_successor_operands(op, index, &begin, &count);
    if (count != block->arg_count)
        return op_emit_error(op,
                             "branch has %u operands for successor #%u, but target block has %u",
                             count, index, block->arg_count);
    for (uint32_t i = 0; i < count; i++)
        if (op_operand(op, begin + i)->type != block->args[i]->type)
            return op_emit_error(op, "type mismatch for bb argument #%u of successor #%u", i,
                                 index);
    return true;
}

static bool verify_branch(Op *op)
{
    for (uint32_t i = 0; i < op->successor_count; i++)
        if (!verify_successor(op, i)) return false;
    return true;
}

static bool is_int_elements(const Attr *attr)
{
    return attr->kind == ATTR_DENSE && type_is_integer(type_elem(attr->type));
}

static bool is_i32_array(const Attr *attr)
{
    return attr->kind == ATTR_DENSE_ARRAY && type_is_int_width(attr->u.dense_array.elem, 32);
}

static const AttrConstraint ATTR_IS_INT_ELEMENTS = {.test = is_int_elements,
                                                    .what = "integer elements attribute"};
static const AttrConstraint ATTR_IS_I32_ARRAY = {.test = is_i32_array,
                                                 .what = "i32 dense array attribute"};

static bool verify_switch_shape(Op *op)
{
    const Attr *values = op_attr(op, "case_values");
    const Attr *sizes = op_attr(op, "case_operand_segments");
    uint32_t begin, operands, cases = op->successor_count - 1;
    op_operand_group(op, GROUP_SECOND, &begin, &operands);
    int64_t total = 0;
    for (size_t i = 0; i < sizes->u.dense_array.count; i++) total += dense_array_i64(sizes, i);
    if (total != operands)
        return op_error(op,
                        "caseOperands count (%u) does not match with the total size (%lld) "
                        "specified in attribute 'case_operand_segments'",
                        operands, (long long)total);
    if (!values && cases == 0) return true;
    const Type *flag = op_operand(op, 0)->type;
    const Type *type = values ? type_elem(values->type) : flag;
    if (type != flag)
        return op_error(op, "'flag' type ('%s') should match case value type ('%s')",
                        type_str(op->ctx, flag), type_str(op->ctx, type));
    int64_t count = values ? dense_count(values) : 0;
    if (count != cases)
        return op_error(op,
                        "number of case values (%lld) should match number of case "
                        "destinations (%u)",
                        (long long)count, cases);
    if (sizes->u.dense_array.count != cases)
        return op_error(op,
                        "number of case operand segments (%zu) should match number of case "
                        "destinations (%u)",
                        sizes->u.dense_array.count, cases);
    return true;
}

static bool verify_switch(Op *op)
{
    return verify_switch_shape(op) && verify_branch(op);
}

typedef struct SwitchParse {
    OperandRefs refs; /* of all successors, in order */
    TypeList types;
    VEC(int64_t) values;
    VEC(int32_t) counts; /* operands per successor; first the default's */
} SwitchParse;

/* successor ("(" operands ":" types ")")? */
static bool parse_switch_target(OpParser *p, SwitchParse *s)
{
    size_t before = s->refs.len;
    if (!parser_successor(p)) return false;
    if (parser_try(p, "(")) {
        if (!parser_operand_list(p, &s->refs) || !parser_expect(p, ":") ||
            !parser_type_list(p, &s->types) || !parser_expect(p, ")"))
            return false;
    }
    *vec_push(&s->counts) = (int32_t)(s->refs.len - before);
    return true;
}

/* cases ::= "default" ":" target ("," integer ":" target)* */
static bool parse_switch_cases(OpParser *p, SwitchParse *s)
{
    if (!parser_expect(p, "default") || !parser_expect(p, ":") || !parse_switch_target(p, s))
        return false;
    while (parser_try(p, ",")) {
        if (!parser_int(p, vec_push(&s->values)) || !parser_expect(p, ":") ||
            !parse_switch_target(p, s))
            return false;
    }
    return true;
}

static void set_switch_attrs(OpParser *p, const SwitchParse *s, const Type *flag)
{
    Context *ctx = parser_ctx(p);
    const Type *i32 = type_i(ctx, 32);
    int64_t count = (int64_t)s->values.len;
    int32_t segments[] = {1, s->counts.data[0], (int32_t)s->refs.len - s->counts.data[0]};
    if (count > 0) {
        const Type *type = type_vector(flag, &count, 1, NULL);
        parser_set_attr(p, "case_values", attr_dense_i64(type, s->values.data, s->values.len));
    }
    parser_set_attr(p, "case_operand_segments",
                    attr_dense_array(i32, s->counts.data + 1, s->counts.len - 1));
    parser_set_attr(p, "operandSegmentSizes", attr_dense_array(i32, segments, 3));
}

static const Type *parse_flag_type(OpParser *p)
{
    SrcPos at = parser_pos(p);
    const Type *type = parser_type(p);
    if (!type || type_is_integer(type)) return type;
    parser_error_at(p, at, "invalid kind of type specified");
    return NULL;
}

/* switch ::= flag ":" type "," "[" cases "]" attr-dict? */
static bool parse_switch(OpParser *p)
{
    SwitchParse s = {0};
    OperandRef flag;
    const Type *type = NULL;
    bool ok = parser_operand(p, &flag) && parser_expect(p, ":") &&
              (type = parse_flag_type(p)) != NULL && parser_expect(p, ",") && parser_expect(p, "[");
    SrcPos at = parser_pos(p);
    ok = ok && parse_switch_cases(p, &s) && parser_expect(p, "]") && parser_attr_dict(p, false);
    if (ok) set_switch_attrs(p, &s, type);
    ok = ok && parser_resolve(p, &flag, type) &&
         parser_resolve_all(p, &s.refs, s.types.data, s.types.len, at);
    vec_free(&s.refs);
    vec_free(&s.types);
    vec_free(&s.values);
    vec_free(&s.counts);
    return ok;
}

static void print_switch_target(OpPrinter *p, const Op *op, uint32_t index)
{
    uint32_t begin, count;
    cf_successor_operands(op, index, &begin, &count);
    printer_successor(p, op->successors[index].block);
    if (count == 0) return;
    printer_text(p, "(");
    printer_values(p, op, begin, count);
    printer_text(p, " : ");
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) printer_text(p, ", ");
        printer_type(p, op_operand(op, begin + i)->type);
    }
    printer_text(p, ")");
}

static void print_switch(OpPrinter *p, const Op *op)
{
    static const char *const hidden[] = {"case_values", "case_operand_segments",
                                         "operandSegmentSizes", NULL};
    const Attr *values = op_attr(op, "case_values");
    printer_text(p, " ");
    printer_value(p, op_operand(op, 0));
    printer_text(p, " : ");
    printer_type(p, op_operand(op, 0)->type);
    printer_text(p, ", [");
    printer_newline(p);
    printer_text(p, "  default: ");
    print_switch_target(p, op, 0);
    for (uint32_t i = 1; values && i < op->successor_count; i++) {
        printer_text(p, ",");
        printer_newline(p);
        printer_text(p, "  ");
        /* Case values print unsigned, as upstream prints them. */
        bigint_print(printer_out(p), &dense_elem(values, i - 1)->u.integer, false);
        printer_text(p, ": ");
        print_switch_target(p, op, i);
    }
    if (values) printer_newline(p);
    printer_text(p, "]");
    printer_attr_dict(p, op, hidden);
}

#define OP(ID, NAME, ...)                                                                          \
    [CF_##ID] = {.id = #ID, .name = NAME, .dialect = &cf_dialect, __VA_ARGS__},
const OpDef cf_ops[] = {
#include "dialects/cf/cf_ops.def"
};
#undef OP

const DialectDef cf_dialect = {
    .name = "cf",
    .summary = "Branches between blocks.",
    .ops = cf_ops,
    .op_count = CF_OP_COUNT,
    .inlining = INLINE_OPS,
};
