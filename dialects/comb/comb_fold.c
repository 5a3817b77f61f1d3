/* Folders of comb ops: constants, neutral elements, and bits that a concatenation holds as they
 * are. A folder either fills results[0] and returns true, or changes nothing.
 * Tests: lit/dialects/comb/canonicalize.mir */
#include "dialects/comb/internal.h"
#include "dialects/common/common.h"

/* An op in a loop of logic, which a graph may hold, does not become itself. */
static bool gives_value(Op *op, FoldResult *results, Value *value)
{
    if (value == op_result(op, 0)) return false;
    results[0].value = value;
    return true;
}

static bool gives_number(Op *op, FoldResult *results, const BigInt *value)
{
    results[0].attr = attr_bigint(op_result(op, 0)->type, value);
    return true;
}

typedef BigInt BinaryFn(Arena *arena, const BigInt *a, const BigInt *b);

static bool are_constant(const Op *op, const Attr *const *operands)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!operands[i]) return false;
    return true;
}

/* All operands constant: their sum, product, … from left to right. */
static bool folds_numbers(Op *op, const Attr *const *operands, FoldResult *results, BinaryFn *fn)
{
    if (op->operand_count == 0 || !are_constant(op, operands)) return false;
    Arena arena;
    arena_init(&arena);
    BigInt value = operands[0]->u.integer;
    for (uint32_t i = 1; i < op->operand_count; i++)
        value = fn(&arena, &value, &operands[i]->u.integer);
    gives_number(op, results, &value);
    arena_free(&arena);
    return true;
}

/* One operand: itself. x op neutral -> x */
static bool folds_neutral(Op *op, const Attr *const *operands, FoldResult *results,
                          bool (*is_neutral)(const Attr *value))
{
    if (op->operand_count == 1) return gives_value(op, results, op_operand(op, 0));
    if (op->operand_count != 2) return false;
    for (uint32_t i = 0; i < 2; i++)
        if (operands[i] && is_neutral(operands[i]))
            return gives_value(op, results, op_operand(op, 1 - i));
    return false;
}

static bool is_zero(const Attr *value)
{
    return const_is_int(value, 0);
}

static bool is_one(const Attr *value)
{
    return const_is_int(value, 1);
}

/* x op absorbing -> absorbing */
static bool folds_absorbing(Op *op, const Attr *const *operands, FoldResult *results,
                            bool (*is_absorbing)(const Attr *value))
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (!operands[i] || !is_absorbing(operands[i])) continue;
        results[0].attr = operands[i];
        return true;
    }
    return false;
}

bool comb_fold_add(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_neutral(op, operands, results, is_zero) ||
           folds_numbers(op, operands, results, bigint_add);
}

bool comb_fold_sub(Op *op, const Attr *const *operands, FoldResult *results)
{
    /* x - 0 -> x */
    if (operands[1] && is_zero(operands[1])) return gives_value(op, results, op_operand(op, 0));
    return folds_numbers(op, operands, results, bigint_sub);
}

bool comb_fold_mul(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_absorbing(op, operands, results, is_zero) ||
           folds_neutral(op, operands, results, is_one) ||
           folds_numbers(op, operands, results, bigint_mul);
}

bool comb_fold_and(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_absorbing(op, operands, results, is_zero) ||
           folds_neutral(op, operands, results, const_is_all_ones) ||
           folds_numbers(op, operands, results, bigint_and);
}

bool comb_fold_or(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_absorbing(op, operands, results, const_is_all_ones) ||
           folds_neutral(op, operands, results, is_zero) ||
           folds_numbers(op, operands, results, bigint_or);
}

bool comb_fold_xor(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_neutral(op, operands, results, is_zero) ||
           folds_numbers(op, operands, results, bigint_xor);
}

/* An amount of the width or more counts as the width. */
static uint64_t shift_amount(const BigInt *amount)
{
    bool fits = amount->width <= 64 || bigint_fits_i64(amount, false);
    uint64_t value = fits ? bigint_to_u64(amount) : amount->width;
    return value < amount->width ? value : amount->width;
}

static BigInt shift_left(Arena *arena, const BigInt *a, const BigInt *amount)
{
    return bigint_shl(arena, a, shift_amount(amount));
}

static BigInt shift_right(Arena *arena, const BigInt *a, const BigInt *amount)
{
    return bigint_shr(arena, a, shift_amount(amount), false);
}

static BigInt shift_signed(Arena *arena, const BigInt *a, const BigInt *amount)
{
    return bigint_shr(arena, a, shift_amount(amount), true);
}

/* x shifted by 0 -> x */
static bool folds_shift(Op *op, const Attr *const *operands, FoldResult *results, BinaryFn *fn)
{
    if (operands[1] && is_zero(operands[1])) return gives_value(op, results, op_operand(op, 0));
    return folds_numbers(op, operands, results, fn);
}

bool comb_fold_shl(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_shift(op, operands, results, shift_left);
}

bool comb_fold_shru(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_shift(op, operands, results, shift_right);
}

bool comb_fold_shrs(Op *op, const Attr *const *operands, FoldResult *results)
{
    return folds_shift(op, operands, results, shift_signed);
}

static bool compares(CombPredicate predicate, const BigInt *a, const BigInt *b)
{
    bool is_signed = predicate >= COMB_SLT && predicate <= COMB_SGE;
    int order = bigint_cmp(a, b, is_signed);
    switch (predicate) {
    case COMB_EQ: return order == 0;
    case COMB_NE: return order != 0;
    case COMB_SLT:
    case COMB_ULT: return order < 0;
    case COMB_SLE:
    case COMB_ULE: return order <= 0;
    case COMB_SGT:
    case COMB_UGT: return order > 0;
    case COMB_SGE:
    case COMB_UGE: break;
    }
    return order >= 0;
}

/* What an order holds for the least and for the greatest number, it holds for all: x < 0 unsigned. */
static bool folds_always(const Op *op, const Attr *const *operands, FoldResult *results)
{
    CombPredicate predicate = comb_predicate(op);
    uint32_t width = type_width(op_operand(op, 0)->type);
    if (predicate == COMB_EQ || predicate == COMB_NE || !operands[0] == !operands[1]) return false;
    Arena arena;
    arena_init(&arena);
    BigInt ones = bigint_from_i64(&arena, width, -1);
    BigInt ends[] = {bigint_from_i64(&arena, width, 0), ones};
    if (predicate >= COMB_SLT && predicate <= COMB_SGE) {
        ends[0] = bigint_shl(&arena, &ones, width - 1);
        ends[1] = bigint_xor(&arena, &ends[0], &ones);
    }
    bool holds[2];
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        holds[i] = compares(predicate, operands[0] ? &operands[0]->u.integer : &ends[i],
                            operands[1] ? &operands[1]->u.integer : &ends[i]);
    arena_free(&arena);
    if (holds[0] == holds[1]) results[0].attr = attr_bool(op->ctx, holds[0]);
    return holds[0] == holds[1];
}

bool comb_fold_icmp(Op *op, const Attr *const *operands, FoldResult *results)
{
    if (!are_constant(op, operands)) return folds_always(op, operands, results);
    bool holds = compares(comb_predicate(op), &operands[0]->u.integer, &operands[1]->u.integer);
    results[0].attr = attr_bool(op->ctx, holds);
    return true;
}

/* The operand of a concatenation that is just the bits [low, low + width), or NULL. */
static Value *part_of_concat(const Op *concat, uint32_t low, uint32_t width)
{
    uint32_t begin = 0;
    for (uint32_t i = concat->operand_count; i-- > 0 && begin <= low;) {
        Value *part = op_operand(concat, i);
        uint32_t size = type_width(part->type);
        if (begin == low && size == width) return part;
        begin += size;
    }
    return NULL;
}

bool comb_fold_extract(Op *op, const Attr *const *operands, FoldResult *results)
{
    Value *input = op_operand(op, 0);
    uint32_t low = comb_low_bit(op), width = type_width(op_result(op, 0)->type);
    if (width == type_width(input->type)) return gives_value(op, results, input);
    if (operands[0]) {
        Arena arena;
        arena_init(&arena);
        BigInt shifted = bigint_shr(&arena, &operands[0]->u.integer, low, false);
        BigInt value = bigint_resize(&arena, &shifted, width, false);
        gives_number(op, results, &value);
        arena_free(&arena);
        return true;
    }
    /* bits of {…, x, …} that are just x -> x */
    const Op *def = value_def(input);
    Value *part = def && def->def == COMB(CONCAT) ? part_of_concat(def, low, width) : NULL;
    return part && gives_value(op, results, part);
}

/* {a, b, …} of constants, a in front */
bool comb_fold_concat(Op *op, const Attr *const *operands, FoldResult *results)
{
    if (op->operand_count == 1) return gives_value(op, results, op_operand(op, 0));
    if (!are_constant(op, operands)) return false;
    Arena arena;
    arena_init(&arena);
    uint32_t width = type_width(op_result(op, 0)->type);
    BigInt value = bigint_from_i64(&arena, width, 0);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        BigInt part = bigint_resize(&arena, &operands[i]->u.integer, width, false);
        value = bigint_shl(&arena, &value, type_width(op_operand(op, i)->type));
        value = bigint_or(&arena, &value, &part);
    }
    gives_number(op, results, &value);
    arena_free(&arena);
    return true;
}

bool comb_fold_replicate(Op *op, const Attr *const *operands, FoldResult *results)
{
    Value *input = op_operand(op, 0);
    uint32_t from = type_width(input->type), width = type_width(op_result(op, 0)->type);
    if (from == width) return gives_value(op, results, input);
    if (!operands[0]) return false;
    Arena arena;
    arena_init(&arena);
    BigInt part = bigint_resize(&arena, &operands[0]->u.integer, width, false), value = part;
    for (uint32_t i = from; i < width; i += from) {
        value = bigint_shl(&arena, &value, from);
        value = bigint_or(&arena, &value, &part);
    }
    gives_number(op, results, &value);
    arena_free(&arena);
    return true;
}

bool comb_fold_mux(Op *op, const Attr *const *operands, FoldResult *results)
{
    Value *if_true = op_operand(op, 1), *if_false = op_operand(op, 2);
    /* c ? x : x -> x;  true ? x : y -> x;  false ? x : y -> y */
    if (if_true == if_false) return gives_value(op, results, if_true);
    if (!operands[0]) return false;
    return gives_value(op, results, attr_is_true(operands[0]) ? if_true : if_false);
}
