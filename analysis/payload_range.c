/* Intervals and dependences of payload values, found by walking back from the value. The walk stops
 * at a depth that real payloads do not reach; beyond it the bounds of the type are assumed.
 * Tests: lit/lowering/dfg_to_emithls/packing.mir */
#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"

enum { MAX_BITS = 62, MAX_DEPTH = 8 };

/* A range if it is known; if not, the value may be any number. */
typedef struct KnownRange {
    PayloadRange range;
    bool is_known;
} KnownRange;

int64_t payload_range_bits(int64_t low, int64_t high)
{
    int64_t bits = 1;
    while (bits < 64 &&
           (low < -((int64_t)1 << (bits - 1)) || high > ((int64_t)1 << (bits - 1)) - 1))
        bits++;
    return bits;
}

static bool is_narrow_integer(const Type *type)
{
    return type_is_integer(type) && type_width(type) > 0 && type_width(type) <= MAX_BITS;
}

static KnownRange type_bounds(const Type *type, uint32_t loops)
{
    KnownRange known = {.range.loops = loops};
    if (!is_narrow_integer(type)) return known;
    int64_t half = (int64_t)1 << (type_width(type) - 1);
    return (KnownRange){{-half, half - 1, loops}, true};
}

/* The bounds, unless the value wraps: then the type's. */
static KnownRange bounded(const Type *type, int64_t low, int64_t high, uint32_t loops)
{
    KnownRange all = type_bounds(type, loops);
    if (!all.is_known || low < all.range.low || high > all.range.high) return all;
    return (KnownRange){{low, high, loops}, true};
}

static KnownRange number(const Type *type, const Attr *value)
{
    int64_t n;
    if (value->kind != ATTR_INTEGER || !is_narrow_integer(type)) return type_bounds(type, 0);
    n = attr_int_value(value);
    return (KnownRange){{n, n, 0}, true};
}

static uint32_t map_loops(const AffineMap *map)
{
    uint32_t loops = 0;
    for (uint32_t i = 0; i < map->dim_count; i++)
        for (uint32_t r = 0; r < map->result_count; r++)
            if (affine_uses_dim(map->results[r], i)) loops |= 1u << i;
    return loops;
}

/* Loops along which a reorder repeats the operand's elements: attribute dfg.repeated. */
static uint32_t repeated_loops(const Op *generic, uint32_t index)
{
    const Attr *masks = op_attr(generic, DFG_ATTR_REPEATED);
    int64_t mask[KERNEL_MAX_LOOPS];
    size_t count = 0;
    if (!masks || !attr_int_list(masks, mask, KERNEL_MAX_LOOPS, &count) || index >= count) return 0;
    return (uint32_t)mask[index];
}

static KnownRange argument(const Op *generic, uint32_t index)
{
    const Value *operand = op_operand(generic, index);
    const Type *elem = type_elem(operand->type);
    const Op *def = value_def(operand);
    if (def && def->def == LINALG(FILL)) def = value_def(op_operand(def, 0));
    if (def && op_has_trait(def, TRAIT_CONSTANT_LIKE)) {
        const Attr *value = op_attr(def, "value");
        if (value->kind == ATTR_DENSE && value->u.dense.is_splat) value = dense_elem(value, 0);
        if (value->kind == ATTR_INTEGER) return number(elem, value);
    }
    return type_bounds(elem, map_loops(linalg_operand_map(generic, index)) &
                                 ~repeated_loops(generic, index));
}

static KnownRange value_known(const Op *generic, const Value *value, uint32_t depth);

static KnownRange extend_unsigned(const Op *op, KnownRange x)
{
    const Type *from = op_operand(op, 0)->type, *to = op_result(op, 0)->type;
    if (!is_narrow_integer(from)) return type_bounds(to, x.range.loops);
    if (x.is_known && x.range.low >= 0)
        return bounded(to, x.range.low, x.range.high, x.range.loops);
    return bounded(to, 0, ((int64_t)1 << type_width(from)) - 1, x.range.loops);
}

static KnownRange op_known(const Op *op, const KnownRange *x, uint32_t loops)
{
    const Type *type = op_result(op, 0)->type;
    if (op->def == ARITH(EXTUI)) return extend_unsigned(op, x[0]);
    if (op->def == ARITH(SELECT) && x[1].is_known && x[2].is_known)
        return bounded(type, i64_min(x[1].range.low, x[2].range.low),
                       i64_max(x[1].range.high, x[2].range.high), loops);
    if (!x[0].is_known || (op->operand_count == 2 && !x[1].is_known))
        return type_bounds(type, loops);
    const PayloadRange *a = &x[0].range, *b = &x[1].range;
    if (op->def == ARITH(EXTSI) || op->def == ARITH(TRUNCI))
        return bounded(type, a->low, a->high, loops);
    if (op->def == ARITH(ADDI)) return bounded(type, a->low + b->low, a->high + b->high, loops);
    if (op->def == ARITH(SUBI)) return bounded(type, a->low - b->high, a->high - b->low, loops);
    return type_bounds(type, loops);
}

static KnownRange result_known(const Op *generic, const Op *op, uint32_t depth)
{
    KnownRange x[3] = {{.is_known = false}, {.is_known = false}, {.is_known = false}};
    uint32_t loops = 0;
    if (op->def == LINALG(INDEX))
        return type_bounds(op_result(op, 0)->type, 1u << attr_int_value(op_attr(op, "dim")));
    for (uint32_t i = 0; i < op->operand_count; i++) {
        KnownRange operand = value_known(generic, op_operand(op, i), depth - 1);
        loops |= operand.range.loops;
        if (i < COUNT_OF(x)) x[i] = operand;
    }
    return op_known(op, x, loops);
}

static KnownRange value_known(const Op *generic, const Value *value, uint32_t depth)
{
    const Block *body = linalg_body(generic);
    if (value->is_arg && value_block(value) == body) return argument(generic, value->index);
    const Op *op = value_def(value);
    if (op && op->def == ARITH(CONSTANT)) return number(value->type, op_attr(op, "value"));
    if (op && op->block == body && depth > 0) return result_known(generic, op, depth);
    return type_bounds(value->type, UINT32_MAX);
}

bool payload_range(const Op *generic, const Value *value, PayloadRange *out)
{
    KnownRange known = value_known(generic, value, MAX_DEPTH);
    *out = known.range;
    return known.is_known;
}
