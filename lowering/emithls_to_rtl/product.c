/* Products of LUTs and carry chains: the multiplier's digits, each times the multiplicand, are added
 * by a tree, which takes about what FINN's formula says (docs/rtl.md). Wide multipliers have digits of
 * two bits, which choose 0, b, 2 b or 3 b; the choice goes into the LUTs of an adder. A constant has
 * digits of 1 and -1. Cycles that the product takes lie between levels of the tree.
 * Tests: lit/lowering/emithls_to_rtl/products.mir, test/e2e/product_check.py */
#include <assert.h>

#include "dialects/comb/comb.h"
#include "dialects/emithls/emithls.h"
#include "dialects/hw/hw.h"
#include "lowering/emithls_to_rtl/internal.h"

enum { MOST_TERMS = 64, MOST_CYCLES = 8, LEAST_PAIRED = 6 };

/* A value in the cycles of a product; those that it is not needed in are NULL. */
typedef struct Timed {
    Value *at[MOST_CYCLES];
} Timed;

/* What is added: a value, or a digit of the multiplier times the multiplicand, which is made where it
 * is added. */
typedef struct Term {
    Value *value;         /* NULL: of the digit */
    uint32_t digit, bits; /* first bit of the multiplier; how many */
    bool is_top;          /* the digit's highest bit counts negative */
    bool is_subtracted;   /* of constants */
    uint32_t shift;       /* places to the left */
    int64_t cycle;        /* in which the value is there */
} Term;

typedef struct Product {
    const Datapath *d;
    Builder *b;
    int64_t first, cycles; /* cycle of an iteration in which it begins; cycles that it takes */
    Timed multiplier, multiplicand, triple;
    uint32_t width; /* of a digit's product */
    Term terms[MOST_TERMS];
    uint32_t count;
} Product;

bool to_rtl_is_fabric_product(const Node *n)
{
    if (n->kind != NODE_MUL) return false;
    return !n->op || !product_is(n->op) || op_attr(n->op, EMITHLS_ATTR_BIND) ||
           product_dsp_of(n->op) == 0;
}

/* The value in a cycle of the product. */
static Value *in_cycle(const Product *p, Timed *value, int64_t cycle)
{
    int64_t from = cycle;
    while (!value->at[from]) from--;
    if (from < cycle)
        value->at[cycle] = to_rtl_delayed(p->d, value->at[from], p->first + from, cycle - from);
    return value->at[cycle];
}

static Value *extended(const Product *p, Value *value, uint32_t width)
{
    return comb_build_resize(p->b, value, width, true);
}

static Value *doubled(const Product *p, Value *value)
{
    Value *parts[] = {value, hw_build_int(p->b, 1, 0)};
    return comb_build_concat(p->b, parts, COUNT_OF(parts));
}

/* A digit times the multiplicand; of the highest digit, if it counts negative, the complement, to
 * which 1 has to be added. */
static Value *of_digit(Product *p, const Term *t, int64_t cycle)
{
    Builder *b = p->b;
    Value *digit = in_cycle(p, &p->multiplier, cycle), *once = in_cycle(p, &p->multiplicand, cycle);
    Value *low = comb_build_extract(b, digit, t->digit, 1);
    Value *none = hw_build_int(b, p->width, 0), *wide = extended(p, once, p->width);
    if (t->bits == 1)
        return comb_build_mux(b, low, t->is_top ? comb_build_not(b, wide) : wide, none);
    Value *high = comb_build_extract(b, digit, t->digit + 1, 1);
    Value *twice = extended(p, doubled(p, once), p->width);
    Value *two = t->is_top ? comb_build_not(b, twice) : twice;
    Value *three = t->is_top ? comb_build_not(b, wide) : in_cycle(p, &p->triple, cycle);
    return comb_build_mux(b, high, comb_build_mux(b, low, three, two),
                          comb_build_mux(b, low, wide, none));
}

static Value *value_of(Product *p, const Term *t, int64_t cycle)
{
    if (!t->value) return of_digit(p, t, cycle);
    return to_rtl_delayed(p->d, t->value, p->first + t->cycle, cycle - t->cycle);
}

/* The bit that the complement of a digit's product lacks. */
static Value *carry_of(Product *p, const Term *t, int64_t cycle)
{
    if (t->value || !t->is_top) return NULL;
    return comb_build_extract(p->b, in_cycle(p, &p->multiplier, cycle), t->digit + t->bits - 1, 1);
}

/* The bits of a signed number from `low` on, at least its sign. */
static Value *from_bit(const Product *p, Value *value, uint32_t low)
{
    uint32_t width = type_width(value->type);
    if (low >= width) low = width - 1;
    return comb_build_extract(p->b, value, low, width - low);
}

/* x + y + carry, or x - y: the carry comes in below the lowest bit. */
static Value *sum_of(const Product *p, Value *x, Value *y, Value *carry, bool subtracts)
{
    uint32_t x_width = type_width(x->type), y_width = type_width(y->type);
    uint32_t width = (x_width > y_width ? x_width : y_width) + 1;
    x = extended(p, x, width);
    y = extended(p, y, width);
    if (!carry) return comb_build_binary(p->b, subtracts ? COMB(SUB) : COMB(ADD), x, y);
    Value *left[] = {x, hw_build_int(p->b, 1, 1)}, *right[] = {y, carry};
    Value *sum = comb_build_binary(p->b, COMB(ADD), comb_build_concat(p->b, left, COUNT_OF(left)),
                                   comb_build_concat(p->b, right, COUNT_OF(right)));
    return comb_build_extract(p->b, sum, 1, width);
}

/* The low bits of a number below a sum, which begins behind them. */
static Value *behind(const Product *p, Value *sum, Value *low, uint32_t count)
{
    if (count == 0) return sum;
    uint32_t there = type_width(low->type) < count ? type_width(low->type) : count;
    Value *parts[] = {sum, extended(p, comb_build_extract(p->b, low, 0, there), count)};
    return comb_build_concat(p->b, parts, COUNT_OF(parts));
}

/* The value so many places to the left. */
static Value *shifted(const Product *p, Value *value, uint32_t places)
{
    if (places == 0) return value;
    Value *parts[] = {value, hw_build_int(p->b, places, 0)};
    return comb_build_concat(p->b, parts, COUNT_OF(parts));
}

/* The sum of two terms, y no further to the right than x. */
static Term add_terms(Product *p, const Term *x, const Term *y, int64_t cycle)
{
    uint32_t places = y->shift - x->shift;
    Value *low = value_of(p, x, cycle), *high = value_of(p, y, cycle);
    Term sum = {.shift = x->shift, .cycle = cycle};
    if (x->is_subtracted && !y->is_subtracted) {
        sum.value = sum_of(p, shifted(p, high, places), low, NULL, true);
        return sum;
    }
    bool subtracts = x->is_subtracted != y->is_subtracted;
    sum.is_subtracted = x->is_subtracted;
    sum.value = sum_of(p, from_bit(p, low, places), high, carry_of(p, y, cycle), subtracts);
    sum.value = behind(p, sum.value, low, places);
    return sum;
}

/* Pairs neighbours, level by level. `done`: levels in front of the tree, of `levels` in all. */
static void add_all(Product *p, int64_t done, int64_t levels)
{
    for (; p->count > 1; p->count = (p->count + 1) / 2, done++)
        for (uint32_t i = 0; 2 * i < p->count; i++)
            p->terms[i] = 2 * i + 1 < p->count
                              ? add_terms(p, &p->terms[2 * i], &p->terms[2 * i + 1],
                                          done * (p->cycles + 1) / levels)
                              : p->terms[2 * i];
}

/* Digits of the multiplier, which counts `bits`, of one bit each or two. */
static void add_digits(Product *p, uint32_t bits, bool is_signed)
{
    uint32_t each = bits >= LEAST_PAIRED ? 2 : 1;
    for (uint32_t at = 0; at < bits; at += each) {
        uint32_t size = bits - at < each ? bits - at : each;
        p->terms[p->count++] = (Term){
            .digit = at, .bits = size, .is_top = is_signed && at + size == bits, .shift = at};
    }
}

/* 1 and -1 at places of which no two are neighbours: 7 is 8 - 1. */
static void add_constant_digits(Product *p, int64_t number)
{
    for (uint32_t at = 0; number != 0; at++) {
        int64_t digit = number & 1 ? 2 - (number & 3) : 0;
        if (digit)
            p->terms[p->count++] =
                (Term){.value = p->multiplicand.at[0], .is_subtracted = digit < 0, .shift = at};
        number = (number >> 1) + (digit < 0);
    }
}

/* The last term, with what is still to be added to it; of its bits those that the product needs. */
static Value *finish(Product *p, uint32_t bits, uint32_t width)
{
    if (p->count == 0) return hw_build_int(p->b, width, 0);
    Term *t = &p->terms[0];
    int64_t cycle = t->cycle;
    Value *value = value_of(p, t, cycle), *carry = carry_of(p, t, cycle);
    Value *zero = hw_build_int(p->b, type_width(value->type), 0);
    if (carry) value = sum_of(p, value, zero, carry, false);
    if (t->is_subtracted) value = sum_of(p, zero, value, NULL, true);
    value = shifted(p, value, t->shift);
    if (type_width(value->type) > bits) value = comb_build_extract(p->b, value, 0, bits);
    value = to_rtl_delayed(p->d, value, p->first + cycle, p->cycles - cycle);
    return extended(p, value, width);
}

static Value *operand(const Datapath *d, NodeId id, int64_t stage, uint32_t bits)
{
    return comb_build_extract(&d->m->b, to_rtl_at(d, id, stage), 0, bits);
}

/* Levels of a tree of so many terms. */
static int64_t tree_levels(uint32_t count)
{
    return count > 1 ? i64_log2_up(count) : 0;
}

Value *to_rtl_build_product(const Datapath *d, NodeId id)
{
    const Node *n = to_rtl_node(d->g, id);
    Product p = {.d = d, .b = &d->m->b, .first = n->stage - n->latency, .cycles = n->latency};
    NodeId a = to_rtl_in(d->g, id, 0), b = to_rtl_in(d->g, id, 1);
    NodeRange x = to_rtl_range(d->g, a), y = to_rtl_range(d->g, b);
    int64_t number;
    assert(p.cycles < MOST_CYCLES);
    if (to_rtl_is_const(d->g, b, &number) ||
        (y.bits < x.bits && !to_rtl_is_const(d->g, a, &number))) {
        NodeId other = a;
        NodeRange range = x;
        a = b;
        b = other;
        x = y;
        y = range;
    }
    p.multiplicand.at[0] = operand(d, b, p.first, y.bits);
    if (to_rtl_is_const(d->g, a, &number)) {
        add_constant_digits(&p, to_rtl_signed(number, n->width));
        add_all(&p, 0, tree_levels(p.count));
        return finish(&p, to_rtl_range(d->g, id).bits, n->width);
    }
    bool is_signed = !x.is_known || x.low < 0 || x.bits == 1;
    uint32_t bits = is_signed ? x.bits : x.bits - 1;
    p.multiplier.at[0] = operand(d, a, p.first, bits);
    add_digits(&p, bits, is_signed);
    bool is_paired = bits >= LEAST_PAIRED;
    p.width = y.bits + (is_paired ? 2 : 0);
    if (is_paired)
        p.triple.at[0] =
            sum_of(&p, p.multiplicand.at[0], doubled(&p, p.multiplicand.at[0]), NULL, false);
    add_all(&p, is_paired, is_paired + tree_levels(p.count));
    return finish(&p, to_rtl_range(d->g, id).bits, n->width);
}
