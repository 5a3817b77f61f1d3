/* The seq dialect: rows, readers, checks. Text is in seq_syntax.c, types in seq_type.c, builders in
 * seq_build.c.
 * Tests: lit/dialects/seq */
#include "dialects/common/common.h"
#include "dialects/hw/hw.h"
#include "dialects/seq/internal.h"

static bool is_clock(const Type *type)
{
    return type_is_a(type, &seq_type_clock);
}

static bool is_firmem(const Type *type)
{
    return type_is_a(type, &seq_type_firmem);
}

static bool is_immutable(const Type *type)
{
    return type_is_a(type, &seq_type_immutable) && HW_IS_INTEGER.test(seq_immutable_inner(type));
}

static const TypeConstraint IS_CLOCK = {.test = is_clock,
                                        .what = "A type for clock-carrying wires"};
static const TypeConstraint IS_FIRMEM = {.test = is_firmem, .what = "a FIRRTL-flavored memory"};
static const TypeConstraint IS_IMMUTABLE = {.test = is_immutable,
                                            .what = "an immutable integer of one bit or more"};

static bool is_case(const Attr *attr, int64_t count)
{
    return attr->kind == ATTR_INTEGER && type_is_int_width(attr->type, 32) &&
           attr_int_value(attr) >= 0 && attr_int_value(attr) < count;
}

static bool is_ruw(const Attr *attr)
{
    return is_case(attr, 3);
}

static bool is_wuw(const Attr *attr)
{
    return is_case(attr, 2);
}

static bool is_init(const Attr *attr)
{
    return attr_is_a(attr, &seq_attr_init);
}

static const AttrConstraint ATTR_IS_RUW = {
    .test = is_ruw, .stores = constraint_is_integer, .what = "Read-Under-Write Behavior"};
static const AttrConstraint ATTR_IS_WUW = {
    .test = is_wuw, .stores = constraint_is_integer, .what = "Write-Under-Write Behavior"};
static const AttrConstraint ATTR_IS_INIT = {.test = is_init,
                                            .what = "Memory initialization information"};

static Value *group(const Op *op, uint32_t index)
{
    uint32_t begin, count;
    op_operand_group(op, index, &begin, &count);
    return count ? op_operand(op, begin) : NULL;
}

SeqRegister seq_register(const Op *op)
{
    bool enabled = op->def != SEQ(COMPREG);
    uint32_t behind = enabled ? 3 : 2;
    return (SeqRegister){.input = group(op, 0),
                         .clock = group(op, 1),
                         .enable = enabled ? group(op, 2) : NULL,
                         .reset = group(op, behind),
                         .reset_value = group(op, behind + 1),
                         .initial = group(op, behind + 2)};
}

SeqPort seq_port(const Op *op)
{
    bool writes = op->def == SEQ(FIRMEM_WRITE_PORT);
    return (SeqPort){.memory = group(op, 0),
                     .address = group(op, 1),
                     .clock = group(op, 2),
                     .enable = group(op, 3),
                     .data = writes ? group(op, 4) : NULL,
                     .mask = writes ? group(op, 5) : NULL};
}

uint32_t seq_read_latency(const Op *firmem)
{
    return (uint32_t)attr_int_value(op_attr(firmem, "readLatency"));
}

/* Operands that hold a value of the register have its type. */
static bool has_type(Op *op, const Value *value, const char *what)
{
    const Type *type = op_result(op, 0)->type;
    return !value || value->type == type ||
           op_error(op, "%s must be of type '%s', but is of type '%s'", what,
                    type_str(op->ctx, type), type_str(op->ctx, value->type));
}

static bool verify_register(Op *op)
{
    SeqRegister reg = seq_register(op);
    if (!has_type(op, reg.input, "the input") || !has_type(op, reg.reset_value, "the reset value"))
        return false;
    if (!reg.reset != !reg.reset_value)
        return op_error(op, "a reset and a reset value come together");
    if (op->def == SEQ(SHIFTREG)) {
        if (!has_type(op, reg.initial, "the power-on value")) return false;
        return attr_int_value(op_attr(op, "numElements")) >= 1 ||
               op_error(op, "must have one element or more");
    }
    return !reg.initial || seq_immutable_inner(reg.initial->type) == op_result(op, 0)->type ||
           op_error(op, "the initial value must be of type '%s'",
                    type_str(op->ctx, seq_immutable(op_result(op, 0)->type)));
}

static bool verify_initial(Op *op)
{
    const Op *yield = region_entry(op_region(op, 0))->last;
    if (op->operand_count) return op_error(op, "must not have inputs");
    if (yield->operand_count != op->result_count)
        return op_error(op, "has %u results, but yields %u values", op->result_count,
                        yield->operand_count);
    for (uint32_t i = 0; i < op->result_count; i++) {
        const Value *value = op_operand(yield, i);
        const Op *def = value_def(value);
        if (!def || def->def != HW(CONSTANT) ||
            seq_immutable(value->type) != op_result(op, i)->type)
            return op_error(op, "result #%u must be a constant of type '%s'", i,
                            type_str(op->ctx, seq_immutable_inner(op_result(op, i)->type)));
    }
    return true;
}

static bool verify_contents(Op *op, const Attr *contents)
{
    const Type *memory = op_result(op, 0)->type;
    bool fits = contents->kind == ATTR_DENSE && contents->type->kind == TYPE_RANKED_TENSOR &&
                contents->type->u.shaped.rank == 1 &&
                contents->type->u.shaped.dims[0] == (int64_t)seq_firmem_depth(memory) &&
                type_is_int_width(type_elem(contents->type), seq_firmem_width(memory));
    if (!fits)
        return op_error(op, "contents must be dense elements of type 'tensor<%lluxi%u>'",
                        (unsigned long long)seq_firmem_depth(memory), seq_firmem_width(memory));
    return op_attr(op, "init") || op_error(op, "with contents needs a file for them, 'init'");
}

static bool verify_style(Op *op, const Attr *style)
{
    static const char *const styles[] = {"block", "ultra", "distributed", "registers"};
    for (size_t i = 0; style->kind == ATTR_STRING && i < COUNT_OF(styles); i++)
        if (str_eq_c(style->u.string, styles[i])) return true;
    return op_error(op, "style must be block, ultra, distributed or registers");
}

static bool verify_firmem(Op *op)
{
    int64_t read = attr_int_value(op_attr(op, "readLatency"));
    if (read < 0 || read > 1 || attr_int_value(op_attr(op, "writeLatency")) != 1)
        return op_error(op, "must read in 0 or 1 cycles and write in 1");
    const Attr *contents = op_attr(op, SEQ_ATTR_CONTENTS), *style = op_attr(op, SEQ_ATTR_STYLE);
    return (!contents || verify_contents(op, contents)) && (!style || verify_style(op, style));
}

static bool verify_port(Op *op)
{
    SeqPort port = seq_port(op);
    const Type *memory = port.memory->type;
    const Value *data = port.data ? port.data : op_result(op, 0);
    uint32_t mask = seq_firmem_mask(memory);
    if (type_width(port.address->type) != seq_firmem_address_width(memory))
        return op_error(op, "address must have %u bits", seq_firmem_address_width(memory));
    if (type_width(data->type) != seq_firmem_width(memory))
        return op_error(op, "data must have %u bits", seq_firmem_width(memory));
    return !port.mask || (mask && type_width(port.mask->type) == mask) ||
           op_error(op, "mask must be the memory's, of %u bits", mask);
}

static const char *name_by_attr(const Op *op, uint32_t index, StrBuf *scratch)
{
    (void)index, (void)scratch;
    const Attr *name = op_attr(op, "name");
    return name && name->kind == ATTR_STRING && name->u.string.len ? name->u.string.data : NULL;
}

#define OP(ID, NAME, ...)                                                                          \
    [SEQ_##ID] = {.id = #ID, .name = NAME, .dialect = &seq_dialect, __VA_ARGS__},
const OpDef seq_ops[] = {
#include "dialects/seq/seq_ops.def"
};
#undef OP

static const TypeDef *const seq_types[] = {&seq_type_clock, &seq_type_firmem, &seq_type_immutable,
                                           NULL};
static const AttrDef *const seq_attrs[] = {&seq_attr_init, NULL};

const DialectDef seq_dialect = {
    .name = "seq",
    .summary = "Registers and memories.",
    .ops = seq_ops,
    .op_count = SEQ_OP_COUNT,
    .types = seq_types,
    .attrs = seq_attrs,
};
