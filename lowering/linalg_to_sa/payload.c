/* Bodies of kernels as numbers. A value of iN becomes a number that is equal to it modulo 2^N, so
 * sums, products and truncations cost nothing beside themselves; what reads the sign takes the
 * number of that reading, which mostly is the same.
 * Tests: lit/lowering/linalg_to_sa */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_sa/internal.h"

typedef struct Payload {
    Numbers *n;
    const Block *body;
    const uint32_t *args;
    PtrMap known; /* Value* -> number + 1 */
} Payload;

static uint32_t number_of(Payload *p, const Value *value);

static uint32_t operand(Payload *p, const Op *op, uint32_t index)
{
    return number_of(p, op_operand(op, index));
}

/* Operand `index` of op, read with or without its sign. */
static uint32_t reading(Payload *p, const Op *op, uint32_t index, bool is_signed)
{
    uint32_t width = type_width(op_operand(op, index)->type), number = operand(p, op, index);
    return (is_signed ? number_signed : number_unsigned)(p->n, number, width);
}

static uint32_t binary(Payload *p, const Op *op, NumberKind kind, bool is_signed)
{
    return number_binary(p->n, kind, reading(p, op, 0, is_signed), reading(p, op, 1, is_signed));
}

/* Products and sums need no reading, but one that fits keeps their ranges small. */
static uint32_t modular(Payload *p, const Op *op, NumberKind kind)
{
    return number_binary(p->n, kind, operand(p, op, 0), operand(p, op, 1));
}

/* x & (2^k - 1) */
static uint32_t mask(Payload *p, const Op *op)
{
    uint32_t x = operand(p, op, 0), y = operand(p, op, 1);
    int64_t value;
    if (x == NO_NUMBER || y == NO_NUMBER) return NO_NUMBER;
    if (number_is_const(p->n, x, &value)) {
        uint32_t other = x;
        x = y;
        y = other;
    }
    bool is_mask = number_is_const(p->n, y, &value) && value >= 0 && (value & (value + 1)) == 0;
    if (!is_mask) return number_fail(p->n, "has '%s' of other than low bits", op_name(op).data);
    return number_mod(p->n, x, value == 0 ? 0 : (uint32_t)i64_log2_up(value + 1));
}

/* x * 2^k */
static uint32_t shift_up(Payload *p, const Op *op)
{
    uint32_t by = reading(p, op, 1, false);
    if (by == NO_NUMBER) return NO_NUMBER;
    const Number number = *number_at(p->n, by);
    if (number.kind != NUMBER_CONST || number.lo < 0 || number.hi > 61)
        return number_fail(p->n, "shifts by a number that is no constant");
    int64_t *factors = ARENA_ARRAY(p->n->arena, int64_t, number.count);
    for (size_t i = 0; i < number.count; i++) factors[i] = INT64_C(1) << number.values[i];
    return number_binary(p->n, NUMBER_MUL, operand(p, op, 0),
                         number_consts(p->n, factors, number.count));
}

static uint32_t shift_down(Payload *p, const Op *op, bool is_signed)
{
    return number_binary(p->n, NUMBER_SHIFT, reading(p, op, 0, is_signed),
                         reading(p, op, 1, false));
}

static uint32_t literal(Payload *p, int64_t value)
{
    return number_const(p->n, value);
}

/* x ^ y of single bits: x + y - 2 x y */
static uint32_t differ(Payload *p, const Op *op)
{
    uint32_t x = reading(p, op, 0, false), y = reading(p, op, 1, false);
    uint32_t both = number_binary(p->n, NUMBER_MUL, x, y);
    return number_binary(p->n, NUMBER_SUB, number_binary(p->n, NUMBER_ADD, x, y),
                         number_binary(p->n, NUMBER_MUL, both, literal(p, 2)));
}

/* x ^ -1 = -1 - x */
static uint32_t invert(Payload *p, const Op *op)
{
    int64_t value;
    if (type_width(op_result(op, 0)->type) == 1) return differ(p, op);
    uint32_t x = reading(p, op, 0, true), y = reading(p, op, 1, true);
    if (x == NO_NUMBER || y == NO_NUMBER) return NO_NUMBER;
    if (!number_is_const(p->n, y, &value) || value != -1)
        return number_fail(p->n, "has 'arith.xori' of other than all bits");
    return number_binary(p->n, NUMBER_SUB, y, x);
}

/* 1 where a > b, else 0. */
static uint32_t is_greater(Payload *p, uint32_t a, uint32_t b)
{
    uint32_t above =
        number_binary(p->n, NUMBER_MAX, number_binary(p->n, NUMBER_SUB, a, b), literal(p, 0));
    return number_binary(p->n, NUMBER_MIN, above, literal(p, 1));
}

static uint32_t negation(Payload *p, uint32_t bit)
{
    return number_binary(p->n, NUMBER_SUB, literal(p, 1), bit);
}

static uint32_t compare(Payload *p, const Op *op)
{
    int64_t predicate = attr_int_value(op_attr(op, "predicate"));
    bool is_signed = predicate < CMPI_ULT;
    uint32_t a = reading(p, op, 0, is_signed), b = reading(p, op, 1, is_signed);
    switch (predicate) {
    case CMPI_SGT:
    case CMPI_UGT: return is_greater(p, a, b);
    case CMPI_SLT:
    case CMPI_ULT: return is_greater(p, b, a);
    case CMPI_SLE:
    case CMPI_ULE: return negation(p, is_greater(p, a, b));
    case CMPI_SGE:
    case CMPI_UGE: return negation(p, is_greater(p, b, a));
    default: break;
    }
    uint32_t differ = number_binary(p->n, NUMBER_ADD, is_greater(p, a, b), is_greater(p, b, a));
    return predicate == CMPI_NE ? differ : negation(p, differ);
}

/* b + condition * (a - b) */
static uint32_t choose(Payload *p, const Op *op)
{
    uint32_t a = operand(p, op, 1), b = operand(p, op, 2);
    uint32_t step = number_binary(p->n, NUMBER_SUB, a, b);
    return number_binary(p->n, NUMBER_ADD, b,
                         number_binary(p->n, NUMBER_MUL, step, reading(p, op, 0, false)));
}

/* x / d = (x * m) >> s for 0 <= x <= hi, with m = floor(2^s / d) + 1 and e = m d - 2^s: exact where
 * hi * e < 2^s (Granlund and Montgomery). */
static uint32_t divide(Payload *p, const Op *op, bool is_signed)
{
    uint32_t x = reading(p, op, 0, is_signed), y = reading(p, op, 1, is_signed);
    int64_t divisor;
    if (x == NO_NUMBER || y == NO_NUMBER) return NO_NUMBER;
    if (!number_is_const(p->n, y, &divisor) || divisor < 1 || number_at(p->n, x)->lo < 0)
        return number_fail(p->n, "divides by no constant, or negative numbers");
    for (int shift = 0; shift < 61; shift++) {
        int64_t size = INT64_C(1) << shift, factor = size / divisor + 1, error, product;
        bool is_exact = i64_mul(factor, divisor, &error) &&
                        i64_mul(number_at(p->n, x)->hi, error - size, &product) && product < size;
        if (is_exact)
            return number_binary(p->n, NUMBER_SHIFT,
                                 number_binary(p->n, NUMBER_MUL, x, literal(p, factor)),
                                 literal(p, shift));
    }
    return number_fail(p->n, "divides by %lld, for which no product has room", (long long)divisor);
}

/* What is truncated to bits that a logical shift takes from the number itself has no sign: that of an
 * arithmetic shift is the same. */
static uint32_t truncate(Payload *p, const Op *op)
{
    const Op *shift = value_def(op_operand(op, 0));
    int64_t by;
    if (!shift || shift->def != ARITH(SHRUI)) return operand(p, op, 0);
    uint32_t count = reading(p, shift, 1, false);
    bool is_known = count != NO_NUMBER && number_is_const(p->n, count, &by);
    int64_t width = type_width(op_operand(op, 0)->type), kept = type_width(op_result(op, 0)->type);
    if (!is_known || by < 0 || kept + by > width) return operand(p, op, 0);
    return shift_down(p, shift, true);
}

static uint32_t number_of_op(Payload *p, const Op *op)
{
    const OpDef *def = op->def;
    if (def == ARITH(EXTSI)) return reading(p, op, 0, true);
    if (def == ARITH(EXTUI)) return reading(p, op, 0, false);
    if (def == ARITH(TRUNCI)) return truncate(p, op);
    if (def == ARITH(ADDI)) return modular(p, op, NUMBER_ADD);
    if (def == ARITH(SUBI)) return modular(p, op, NUMBER_SUB);
    if (def == ARITH(MULI)) return modular(p, op, NUMBER_MUL);
    if (def == ARITH(MAXSI) || def == ARITH(MAXUI))
        return binary(p, op, NUMBER_MAX, def == ARITH(MAXSI));
    if (def == ARITH(MINSI) || def == ARITH(MINUI))
        return binary(p, op, NUMBER_MIN, def == ARITH(MINSI));
    if (def == ARITH(SHRSI) || def == ARITH(SHRUI)) return shift_down(p, op, def == ARITH(SHRSI));
    if (def == ARITH(SHLI)) return shift_up(p, op);
    if (def == ARITH(ANDI)) return mask(p, op);
    if (def == ARITH(XORI)) return invert(p, op);
    if (def == ARITH(CMPI)) return compare(p, op);
    if (def == ARITH(SELECT)) return choose(p, op);
    if (def == ARITH(DIVUI) || def == ARITH(DIVSI)) return divide(p, op, def == ARITH(DIVSI));
    Str name = op_name(op);
    return number_fail(p->n, "has '%.*s', which the processing unit has not", STR_ARG(name));
}

static uint32_t number_of_table(Payload *p, const Op *op)
{
    const Op *cast = table_index(p->n, op);
    if (!cast) return number_fail(p->n, "reads a table by other indices");
    return table_read(p->n, op, reading(p, cast, 0, cast->def == ARITH(INDEX_CAST)));
}

static bool has_width(const Type *type)
{
    return type_is_integer(type) && type_width(type) <= 64;
}

static uint32_t number_of(Payload *p, const Value *value)
{
    uintptr_t known = (uintptr_t)ptrmap_get(&p->known, value);
    if (known) return (uint32_t)(known - 1);
    if (p->n->why.len > 0) return NO_NUMBER; /* what failed is not tried again on every way to it */
    if (value->is_arg && value_block(value) == p->body) return p->args[value->index];
    const Attr *constant = fold_constant_of(value);
    if (constant && constant->kind == ATTR_INTEGER && has_width(value->type))
        return number_const(p->n, attr_int_value(constant));
    const Op *op = value_def(value);
    if (!op) return number_fail(p->n, "uses a value from outside that is no constant");
    if (op->def == TENSOR(EXTRACT) && has_width(value->type)) return number_of_table(p, op);
    if (!has_width(value->type) || (op->operand_count > 0 && !has_width(op_operand(op, 0)->type))) {
        Str name = op_name(op);
        return number_fail(p->n, "has '%.*s' of other than integers", STR_ARG(name));
    }
    uint32_t number = number_of_op(p, op);
    if (number != NO_NUMBER) ptrmap_put(&p->known, value, (void *)((uintptr_t)number + 1));
    return number;
}

/* Programs of the processing unit are much shorter, and values are followed call by call. */
enum { MOST_OPS = 1024 };

uint32_t payload_number(Numbers *n, const Value *value, const Block *body, const uint32_t *args)
{
    Payload p = {.n = n, .body = body, .args = args};
    size_t count = 0;
    FOR_EACH_OP(op, body) count++;
    if (count > MOST_OPS) return number_fail(n, "has a body of more than %d operations", MOST_OPS);
    uint32_t number = number_of(&p, value);
    ptrmap_free(&p.known);
    return number;
}

static int64_t read_element(const Attr *attr, int64_t index)
{
    return attr->kind == ATTR_INTEGER ? attr_int_value(attr) : dense_i64(attr, index);
}

/* The flat index of the operand's element for a channel. */
static int64_t element_of(const AffineMap *map, const Type *type, const int64_t *loops)
{
    int64_t at[KERNEL_MAX_LOOPS], index = 0;
    if (!map_eval(map, loops, NULL, at)) return -1;
    for (uint32_t i = 0; i < map->result_count; i++) index = index * type->u.shaped.dims[i] + at[i];
    return index;
}

const int64_t *payload_constants(Arena *arena, const Op *generic, uint32_t operand, int channel,
                                 int64_t channels, const int64_t *at, size_t *count)
{
    const Value *value = op_operand(generic, operand);
    const Attr *attr = fold_constant_of(value);
    const AffineMap *map = linalg_operand_map(generic, operand);
    int64_t extents[KERNEL_MAX_LOOPS], loops[KERNEL_MAX_LOOPS] = {0};
    bool is_scalar = attr && attr->kind == ATTR_INTEGER;
    bool is_dense = attr && dense_is_complete(attr);
    if (!is_scalar && !is_dense) return NULL;
    if (!type_is_integer(linalg_payload_type(value->type))) return NULL;
    if (!linalg_loop_extents(generic, extents)) return NULL;
    bool is_uniform = is_scalar || dense_count(attr) == 1;
    for (uint32_t i = 0; i < map->dim_count && !is_uniform; i++) {
        bool is_fixed = at && linalg_is_reduction(generic, i);
        if (is_fixed) loops[i] = at[i];
        if (!is_fixed && (int)i != channel && extents[i] > 1 && map_uses_dim(map, i)) return NULL;
    }
    *count = is_uniform || channel < 0 ? 1 : (size_t)channels;
    int64_t *values = ARENA_ARRAY(arena, int64_t, *count);
    for (size_t i = 0; i < *count; i++) {
        if (channel >= 0) loops[channel] = (int64_t)i;
        values[i] = read_element(attr, is_uniform ? 0 : element_of(map, value->type, loops));
    }
    return values;
}
