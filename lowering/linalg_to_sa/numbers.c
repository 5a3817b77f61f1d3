/* Arithmetic on whole numbers, simplified where it is built: constants are folded, for each channel
 * too; what a range makes superfluous is left out; (x + 2^(s-1)) >> s and the form that rounds to
 * even become one number.
 * Tests: lit/lowering/linalg_to_sa, test/unit/lowering/linalg_to_sa/numbers_test.c */
#include <stdarg.h>

#include "lowering/linalg_to_sa/internal.h"

enum { MOST_BITS = 62 };

void numbers_free(Numbers *n)
{
    vec_free(&n->all);
    strbuf_free(&n->why);
}

uint32_t number_fail(Numbers *n, const char *format, ...)
{
    va_list args;
    if (n->why.len > 0) return NO_NUMBER;
    va_start(args, format);
    strbuf_vprintf(&n->why, format, args);
    va_end(args);
    return NO_NUMBER;
}

const Number *number_at(const Numbers *n, uint32_t a)
{
    return &n->all.data[a];
}

static bool is_same(const Number *x, const Number *y)
{
    return x->kind == y->kind && x->a == y->a && x->b == y->b && x->shift == y->shift &&
           x->values == y->values && x->kind != NUMBER_CONST;
}

static uint32_t add(Numbers *n, const Number *number)
{
    const int64_t most = INT64_C(1) << MOST_BITS;
    if (number->lo < -most || number->hi >= most)
        return number_fail(n, "has numbers of more than %d bits", MOST_BITS + 1);
    for (size_t i = 0; i < n->all.len; i++)
        if (is_same(&n->all.data[i], number)) return (uint32_t)i;
    *vec_push(&n->all) = *number;
    return (uint32_t)n->all.len - 1;
}

uint32_t number_leaf(Numbers *n, NumberKind kind, int64_t lo, int64_t hi)
{
    return add(n, &(Number){.kind = kind, .lo = lo, .hi = hi});
}

static int64_t least_of(const int64_t *values, size_t count)
{
    int64_t least = values[0];
    for (size_t i = 1; i < count; i++) least = i64_min(least, values[i]);
    return least;
}

static int64_t most_of(const int64_t *values, size_t count)
{
    int64_t most = values[0];
    for (size_t i = 1; i < count; i++) most = i64_max(most, values[i]);
    return most;
}

uint32_t number_leaf_of_channels(Numbers *n, NumberKind kind, const int64_t *lows,
                                 const int64_t *highs)
{
    return add(n, &(Number){.kind = kind,
                            .lo = least_of(lows, n->channels),
                            .hi = most_of(highs, n->channels),
                            .lows = lows,
                            .highs = highs});
}

uint32_t number_consts(Numbers *n, const int64_t *values, size_t count)
{
    Number number = {.kind = NUMBER_CONST,
                     .lo = least_of(values, count),
                     .hi = most_of(values, count),
                     .values = values,
                     .count = count};
    if (number.lo == number.hi) number.count = 1;
    if (number.count > 1 && number.count == n->channels) number.lows = number.highs = values;
    return add(n, &number);
}

uint32_t number_const(Numbers *n, int64_t value)
{
    int64_t *values = ARENA_NEW(n->arena, int64_t);
    *values = value;
    return number_consts(n, values, 1);
}

static bool is_constant(const Numbers *n, uint32_t a)
{
    return number_at(n, a)->kind == NUMBER_CONST;
}

bool number_is_const(const Numbers *n, uint32_t a, int64_t *value)
{
    const Number *number = number_at(n, a);
    if (number->kind != NUMBER_CONST || number->count != 1) return false;
    *value = number->lo;
    return true;
}

static bool is_value(const Numbers *n, uint32_t a, int64_t value)
{
    int64_t have;
    return number_is_const(n, a, &have) && have == value;
}

static int64_t shift_down(int64_t value, int64_t by)
{
    return value >> (by > 63 ? 63 : by);
}

/* False: overflow, or a shift that nothing does. */
static bool compute(NumberKind kind, int64_t a, int64_t b, int64_t *out)
{
    switch (kind) {
    case NUMBER_ADD: return i64_add(a, b, out);
    case NUMBER_SUB: return b != INT64_MIN && i64_add(a, -b, out);
    case NUMBER_MUL: return i64_mul(a, b, out);
    case NUMBER_MAX: *out = i64_max(a, b); return true;
    case NUMBER_MIN: *out = i64_min(a, b); return true;
    default: *out = shift_down(a, b); return b >= 0;
    }
}

static uint32_t fold(Numbers *n, NumberKind kind, uint32_t a, uint32_t b)
{
    const Number x = *number_at(n, a), y = *number_at(n, b);
    size_t count = x.count > y.count ? x.count : y.count;
    int64_t *values = ARENA_ARRAY(n->arena, int64_t, count);
    for (size_t i = 0; i < count; i++)
        if (!compute(kind, x.values[x.count > 1 ? i : 0], y.values[y.count > 1 ? i : 0],
                     &values[i]))
            return number_fail(n, "has constants of more than 64 bits");
    return number_consts(n, values, count);
}

static IntRange range_at(const Number *x, size_t channel)
{
    return x->lows ? (IntRange){x->lows[channel], x->highs[channel]} : (IntRange){x->lo, x->hi};
}

/* All of the operations are monotone in each operand, or products: the extremes are at corners. */
static bool combine(NumberKind kind, const IntRange *x, const IntRange *y, IntRange *out)
{
    const int64_t xs[] = {x->lo, x->hi}, ys[] = {y->lo, y->hi};
    for (int i = 0; i < 4; i++) {
        int64_t value;
        if (!compute(kind, xs[i / 2], ys[i % 2], &value)) return false;
        out->lo = i == 0 ? value : i64_min(out->lo, value);
        out->hi = i == 0 ? value : i64_max(out->hi, value);
    }
    return true;
}

/* x / 2^shift, with what rounding adds before. */
static void round_range(const Number *number, IntRange *range)
{
    int64_t half = INT64_C(1) << (number->shift - 1);
    range->lo =
        (range->lo + (number->kind == NUMBER_ROUND_EVEN ? half - 1 : half)) >> number->shift;
    range->hi = (range->hi + half) >> number->shift;
}

/* The number's range from those of its operands, for each channel where these have one. False:
 * numbers of more than 64 bits. */
static bool bound(const Numbers *n, Number *number)
{
    const Number *x = number_at(n, number->a), *y = number_at(n, number->b);
    bool is_rounding = number->kind == NUMBER_ROUND_UP || number->kind == NUMBER_ROUND_EVEN;
    bool has_channels = x->lows || (!is_rounding && y->lows);
    size_t count = has_channels ? n->channels : 1;
    int64_t *lows = ARENA_ARRAY(n->arena, int64_t, 2 * count), *highs = lows + count;
    for (size_t c = 0; c < count; c++) {
        IntRange a = range_at(x, c), b = range_at(y, c), out = a;
        if (is_rounding)
            round_range(number, &out);
        else if (!combine(number->kind, &a, &b, &out))
            return false;
        lows[c] = out.lo;
        highs[c] = out.hi;
    }
    number->lo = least_of(lows, count);
    number->hi = most_of(highs, count);
    number->lows = has_channels ? lows : NULL;
    number->highs = has_channels ? highs : NULL;
    return true;
}

/* The operand that the result always is; NO_NUMBER: neither. b is a constant where one of them is. */
static uint32_t simplify(const Numbers *n, NumberKind kind, uint32_t a, uint32_t b)
{
    const Number *x = number_at(n, a), *y = number_at(n, b);
    switch (kind) {
    case NUMBER_ADD:
    case NUMBER_SUB:
    case NUMBER_SHIFT: return is_value(n, b, 0) ? a : NO_NUMBER;
    case NUMBER_MUL: return is_value(n, b, 1) ? a : is_value(n, b, 0) ? b : NO_NUMBER;
    case NUMBER_MAX: return x->lo >= y->hi ? a : y->lo >= x->hi ? b : NO_NUMBER;
    case NUMBER_MIN: return x->hi <= y->lo ? a : y->hi <= x->lo ? b : NO_NUMBER;
    default: return NO_NUMBER;
    }
}

/* x of (x >> shift) modulo 2, or NO_NUMBER. */
static uint32_t odd_of(const Numbers *n, uint32_t a, uint32_t shift)
{
    const Number *mod = number_at(n, a);
    if (mod->kind != NUMBER_MOD || mod->shift != 1) return NO_NUMBER;
    const Number *down = number_at(n, mod->a);
    return down->kind == NUMBER_SHIFT && is_value(n, down->b, shift) ? down->a : NO_NUMBER;
}

/* The terms of a sum of up to three. */
static size_t terms_of(const Numbers *n, uint32_t a, uint32_t terms[3])
{
    const Number *sum = number_at(n, a);
    if (sum->kind != NUMBER_ADD) return 0;
    const Number *left = number_at(n, sum->a), *right = number_at(n, sum->b);
    terms[0] = sum->a;
    terms[1] = sum->b;
    if (right->kind == NUMBER_ADD) {
        terms[1] = right->a;
        terms[2] = right->b;
        return 3;
    }
    if (left->kind != NUMBER_ADD) return 2;
    terms[0] = left->a;
    terms[1] = left->b;
    terms[2] = sum->b;
    return 3;
}

/* x + ((x >> s) mod 2) + 2^(s-1) - 1, of which s - 1 = 0 leaves out the last term: x, else
 * NO_NUMBER. */
static uint32_t even_source(const Numbers *n, uint32_t sum, uint32_t shift)
{
    uint32_t terms[3];
    size_t count = terms_of(n, sum, terms);
    int64_t addend = (INT64_C(1) << (shift - 1)) - 1, have = 0;
    uint32_t odd = NO_NUMBER, source = NO_NUMBER;
    if (count != (addend == 0 ? 2 : 3)) return NO_NUMBER;
    for (size_t i = 0; i < count; i++)
        if (odd_of(n, terms[i], shift) != NO_NUMBER && odd == NO_NUMBER)
            odd = odd_of(n, terms[i], shift);
        else if (!number_is_const(n, terms[i], &have))
            source = terms[i];
    return odd != NO_NUMBER && source == odd && have == addend ? source : NO_NUMBER;
}

static uint32_t add_rounding(Numbers *n, NumberKind kind, uint32_t a, uint32_t shift)
{
    Number number = {.kind = kind, .a = a, .b = a, .shift = shift};
    return bound(n, &number) ? add(n, &number) : NO_NUMBER;
}

/* A shift that rounds otherwise than down; NO_NUMBER: it is none. */
static uint32_t rounding(Numbers *n, uint32_t a, int64_t shift)
{
    if (shift < 1 || shift >= MOST_BITS) return NO_NUMBER;
    const Number *sum = number_at(n, a);
    uint32_t source = even_source(n, a, (uint32_t)shift);
    if (source != NO_NUMBER) return add_rounding(n, NUMBER_ROUND_EVEN, source, (uint32_t)shift);
    if (sum->kind == NUMBER_ADD && is_value(n, sum->b, INT64_C(1) << (shift - 1)))
        return add_rounding(n, NUMBER_ROUND_UP, sum->a, (uint32_t)shift);
    return NO_NUMBER;
}

/* Constants come second in what commutes. */
uint32_t number_binary(Numbers *n, NumberKind kind, uint32_t a, uint32_t b)
{
    if (a == NO_NUMBER || b == NO_NUMBER) return NO_NUMBER;
    if (is_constant(n, a) && is_constant(n, b)) return fold(n, kind, a, b);
    bool commutes =
        kind == NUMBER_ADD || kind == NUMBER_MUL || kind == NUMBER_MAX || kind == NUMBER_MIN;
    if (commutes && is_constant(n, a)) {
        uint32_t other = a;
        a = b;
        b = other;
    }
    if (kind == NUMBER_SUB && is_constant(n, b))
        return number_binary(n, NUMBER_ADD, a, fold(n, NUMBER_SUB, number_const(n, 0), b));
    if (kind == NUMBER_SHIFT && !is_constant(n, b))
        return number_fail(n, "shifts by a number that is no constant");
    uint32_t simple = simplify(n, kind, a, b);
    if (simple != NO_NUMBER) return simple;
    int64_t shift;
    if (kind == NUMBER_SHIFT && number_is_const(n, b, &shift)) {
        uint32_t rounded = rounding(n, a, shift);
        if (rounded != NO_NUMBER) return rounded;
    }
    Number number = {.kind = kind, .a = a, .b = b};
    if (!bound(n, &number)) return number_fail(n, "has numbers of more than 64 bits");
    return add(n, &number);
}

static int64_t bits_at(const Numbers *n, uint32_t a)
{
    return payload_range_bits(number_at(n, a)->lo, number_at(n, a)->hi);
}

/* value * 2^shift as an addend in front of a rounding shift; 0: it does not come out the same. */
static int64_t addend_before(const Numbers *n, const Number *shift, int64_t value)
{
    int64_t by = shift->shift;
    bool is_even = shift->kind == NUMBER_ROUND_EVEN;
    if (shift->kind == NUMBER_SHIFT && !number_is_const(n, shift->b, &by)) return 0;
    return by > 32 || (is_even && value % 2 != 0) ? 0 : value * (INT64_C(1) << by);
}

/* In front of a shift the addend is part of a constant that is added there, if that takes no more to
 * load: a vector of them, or one that an instruction holds. */
static uint32_t offset_before(Numbers *n, const Number *shift, int64_t value)
{
    const Number inner = *number_at(n, shift->a);
    int64_t addend = addend_before(n, shift, value);
    if (addend == 0 || inner.kind != NUMBER_ADD || !is_constant(n, inner.b)) return NO_NUMBER;
    const Number *constant = number_at(n, inner.b);
    if (constant->count == 1 && (constant->lo + addend < NUMBER_LEAST_IMMEDIATE ||
                                 constant->lo + addend > NUMBER_MOST_IMMEDIATE))
        return NO_NUMBER;
    uint32_t sum = number_offset(n, shift->a, addend);
    if (sum == NO_NUMBER || bits_at(n, sum) > bits_at(n, shift->a)) return NO_NUMBER;
    return shift->kind == NUMBER_SHIFT ? number_binary(n, NUMBER_SHIFT, sum, shift->b)
                                       : add_rounding(n, shift->kind, sum, shift->shift);
}

uint32_t number_offset(Numbers *n, uint32_t a, int64_t value)
{
    if (a == NO_NUMBER || value == 0) return a;
    const Number x = *number_at(n, a);
    uint32_t moved = NO_NUMBER;
    bool has_constant = x.kind != NUMBER_CONST && is_constant(n, x.b);
    bool is_clamp = x.kind == NUMBER_MAX || x.kind == NUMBER_MIN;
    if (x.kind == NUMBER_ADD && has_constant)
        return number_binary(n, NUMBER_ADD, x.a, number_offset(n, x.b, value));
    if (is_clamp && (has_constant || number_at(n, x.a)->kind == NUMBER_ADD))
        return number_binary(n, x.kind, number_offset(n, x.a, value), number_offset(n, x.b, value));
    if (x.kind == NUMBER_SHIFT || x.kind == NUMBER_ROUND_UP || x.kind == NUMBER_ROUND_EVEN)
        moved = offset_before(n, &x, value);
    return moved != NO_NUMBER ? moved : number_binary(n, NUMBER_ADD, a, number_const(n, value));
}

uint32_t number_mod(Numbers *n, uint32_t a, uint32_t bits)
{
    if (a == NO_NUMBER) return NO_NUMBER;
    const Number *x = number_at(n, a);
    if (x->lo >= 0 && (bits >= MOST_BITS || x->hi < INT64_C(1) << bits)) return a;
    if (bits >= MOST_BITS) return number_fail(n, "has numbers of more than %d bits", MOST_BITS);
    int64_t size = INT64_C(1) << bits;
    if (x->kind == NUMBER_CONST) {
        int64_t *values = ARENA_ARRAY(n->arena, int64_t, x->count);
        for (size_t i = 0; i < x->count; i++) values[i] = x->values[i] & (size - 1);
        return number_consts(n, values, x->count);
    }
    return add(n, &(Number){.kind = NUMBER_MOD, .a = a, .shift = bits, .lo = 0, .hi = size - 1});
}

uint32_t number_lookup(Numbers *n, uint32_t a, const int64_t *values, size_t count, size_t length)
{
    if (a == NO_NUMBER) return NO_NUMBER;
    Number table = {.kind = NUMBER_LOOKUP, .a = a, .b = a, .values = values, .count = count};
    table.length = length;
    table.lo = least_of(values, count * length);
    table.hi = most_of(values, count * length);
    while (table.hi >> (1u << table.shift) != 0) table.shift++;
    return add(n, &table);
}

uint32_t number_unsigned(Numbers *n, uint32_t a, uint32_t bits)
{
    return number_mod(n, a, bits);
}

/* ((x + 2^(N-1)) mod 2^N) - 2^(N-1) */
uint32_t number_signed(Numbers *n, uint32_t a, uint32_t bits)
{
    if (a == NO_NUMBER) return NO_NUMBER;
    const Number *x = number_at(n, a);
    if (bits > MOST_BITS) return a; /* a range has no more bits */
    int64_t half = INT64_C(1) << (bits - 1);
    if (x->lo >= -half && x->hi < half) return a;
    uint32_t up = number_const(n, half);
    uint32_t moved = number_mod(n, number_offset(n, a, half), bits);
    return number_binary(n, NUMBER_SUB, moved, up);
}
