/* Builders of seq ops.
 * Tests: test/unit/dialects/seq/build_test.c */
#include <assert.h>

#include "dialects/seq/seq.h"

static NamedAttr segments(Context *ctx, const int32_t *sizes, size_t count)
{
    return build_named_attr(ctx, "operandSegmentSizes",
                            attr_dense_array(type_i(ctx, 32), sizes, count));
}

/* The operands that are there, and the size of each group. */
typedef struct Groups {
    Value *values[6];
    int32_t sizes[6];
    uint32_t value_count, count;
} Groups;

static void add_group(Groups *groups, Value *value)
{
    groups->sizes[groups->count++] = value != NULL;
    if (value) groups->values[groups->value_count++] = value;
}

static const OpDef *register_def(const SeqRegister *reg, uint32_t cycles)
{
    if (cycles > 1) return SEQ(SHIFTREG);
    return reg->enable ? SEQ(COMPREG_CE) : SEQ(COMPREG);
}

Value *seq_build_register(Builder *b, const Type *type, const SeqRegister *reg, uint32_t cycles,
                          const char *name)
{
    Context *ctx = b->ctx;
    Groups groups = {0};
    assert(cycles >= 1 && (cycles == 1 || (reg->enable && !reg->reset)));
    add_group(&groups, reg->input ? reg->input : reg->clock); /* the clock holds the place */
    add_group(&groups, reg->clock);
    if (reg->enable) add_group(&groups, reg->enable);
    add_group(&groups, reg->reset);
    add_group(&groups, reg->reset_value);
    add_group(&groups, reg->initial);
    NamedAttr attrs[3] = {segments(ctx, groups.sizes, groups.count)};
    uint32_t count = 1;
    if (name) attrs[count++] = build_named_attr(ctx, "name", attr_string_c(ctx, name));
    if (cycles > 1) attrs[count++] = build_named_attr(ctx, "numElements", attr_i64(ctx, cycles));
    Op *op = build(b, register_def(reg, cycles), groups.values, groups.value_count, &type, 1, attrs,
                   count);
    if (!reg->input) op_set_operand(op, 0, op_result(op, 0));
    return op_result(op, 0);
}

void seq_connect(Value *reg, Value *input)
{
    op_set_operand(value_def(reg), 0, input);
}

Value *seq_build_memory(Builder *b, const SeqMemory *memory)
{
    Context *ctx = b->ctx;
    const Type *i32 = type_i(ctx, 32);
    const Type *type = seq_firmem(ctx, memory->depth, memory->width, memory->mask);
    const NamedAttr attrs[] = {
        build_named_attr(ctx, "readLatency", attr_int(i32, memory->read_latency)),
        build_named_attr(ctx, "writeLatency", attr_int(i32, 1)),
        build_named_attr(ctx, "ruw", attr_int(i32, 1)), /* old */
        build_named_attr(ctx, "wuw", attr_int(i32, 0)), /* undefined */
        build_named_attr(ctx, "name", attr_string_c(ctx, memory->name)),
    };
    Op *op = build(b, SEQ(FIRMEM), NULL, 0, &type, 1, attrs, COUNT_OF(attrs));
    if (memory->style) op_set_attr(op, SEQ_ATTR_STYLE, attr_string_c(ctx, memory->style));
    if (memory->contents) {
        const Attr *params[] = {attr_string_c(ctx, memory->file), attr_bool(ctx, false),
                                attr_bool(ctx, false)};
        op_set_attr(op, "init", attr_dialect(ctx, &seq_attr_init, params, COUNT_OF(params)));
        op_set_attr(op, SEQ_ATTR_CONTENTS, memory->contents);
    }
    return op_result(op, 0);
}

Value *seq_build_read(Builder *b, Value *memory, Value *address, Value *clock, Value *enable)
{
    Value *operands[] = {memory, address, clock, enable};
    const Type *word = type_i(b->ctx, seq_firmem_width(memory->type));
    return op_result(build(b, SEQ(FIRMEM_READ_PORT), operands, enable ? 4 : 3, &word, 1, NULL, 0),
                     0);
}

void seq_build_write(Builder *b, Value *memory, Value *address, Value *data, Value *clock,
                     Value *enable, Value *mask)
{
    Groups groups = {0};
    add_group(&groups, memory);
    add_group(&groups, address);
    add_group(&groups, clock);
    add_group(&groups, enable);
    add_group(&groups, data);
    add_group(&groups, mask);
    const NamedAttr attr = segments(b->ctx, groups.sizes, groups.count);
    build(b, SEQ(FIRMEM_WRITE_PORT), groups.values, groups.value_count, NULL, 0, &attr, 1);
}
