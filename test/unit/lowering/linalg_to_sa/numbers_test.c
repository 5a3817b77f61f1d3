/* Numbers of the processing unit: however they are simplified, they are what plain arithmetic gives for
 * every element and channel, and lie within their ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "lowering/linalg_to_sa/internal.h"
#include "test/unit/random.h"

enum {
    CHANNELS = 3,
    LEAST = -20,
    MOST = 43,
    ELEMENTS = MOST - LEAST + 1,
    STEPS = 9,
    ROUNDS = 1000
};

/* What each element of each channel gives, beside the number that should give it. */
typedef struct Expected {
    uint32_t number;
    int64_t values[CHANNELS][ELEMENTS];
} Expected;

typedef struct Fixture {
    Arena arena;
    Numbers n;
    Random random;
    Expected made[STEPS + 1];
    uint32_t count;
} Fixture;

static int64_t floor_of(int64_t value, uint32_t shift)
{
    int64_t size = INT64_C(1) << shift, quotient = value / size;
    return quotient - (value % size < 0);
}

static int64_t even_of(int64_t value, uint32_t shift)
{
    int64_t size = INT64_C(1) << shift, down = floor_of(value, shift), rest = value - down * size;
    bool is_up = 2 * rest > size || (2 * rest == size && down % 2 != 0);
    return down + is_up;
}

/* A number as its nodes say. */
static int64_t evaluate(const Numbers *n, uint32_t number, size_t channel, int64_t element)
{
    const Number *x = number_at(n, number);
    if (x->kind == NUMBER_CONST) return x->values[x->count > 1 ? channel : 0];
    if (x->kind == NUMBER_SUMS) return element;
    int64_t a = evaluate(n, x->a, channel, element), b = evaluate(n, x->b, channel, element);
    switch (x->kind) {
    case NUMBER_ADD: return a + b;
    case NUMBER_SUB: return a - b;
    case NUMBER_MUL: return a * b;
    case NUMBER_MAX: return a > b ? a : b;
    case NUMBER_MIN: return a < b ? a : b;
    case NUMBER_SHIFT: return floor_of(a, (uint32_t)b);
    case NUMBER_ROUND_UP: return floor_of(a + (INT64_C(1) << (x->shift - 1)), x->shift);
    case NUMBER_ROUND_EVEN: return even_of(a, x->shift);
    case NUMBER_MOD: return a - floor_of(a, x->shift) * (INT64_C(1) << x->shift);
    case NUMBER_LOOKUP: return x->values[(x->count > 1 ? channel * x->length : 0) + (size_t)a];
    default: fail(); return 0;
    }
}

static void check(const Fixture *f, const Expected *e)
{
    assert_int_not_equal(e->number, NO_NUMBER);
    const Number *x = number_at(&f->n, e->number);
    for (size_t c = 0; c < CHANNELS; c++)
        for (int64_t i = 0; i < ELEMENTS; i++) {
            int64_t value = e->values[c][i];
            assert_int_equal(evaluate(&f->n, e->number, c, i + LEAST), value);
            assert_true(value >= x->lo && value <= x->hi);
            assert_true(!x->lows || (value >= x->lows[c] && value <= x->highs[c]));
        }
}

static int64_t draw(Fixture *f, int64_t least, int64_t most)
{
    return least + random_below(&f->random, (uint32_t)(most - least + 1));
}

/* A constant of all channels, or of each. */
static uint32_t draw_constant(Fixture *f, int64_t values[CHANNELS])
{
    bool is_one = draw(f, 0, 1) == 0;
    int64_t *own = ARENA_ARRAY(&f->arena, int64_t, CHANNELS);
    for (size_t c = 0; c < CHANNELS; c++)
        own[c] = values[c] = is_one && c > 0 ? values[0] : draw(f, -300, 300);
    return is_one ? number_const(&f->n, values[0]) : number_consts(&f->n, own, CHANNELS);
}

static int64_t apply(NumberKind kind, int64_t a, int64_t b)
{
    switch (kind) {
    case NUMBER_ADD: return a + b;
    case NUMBER_SUB: return a - b;
    case NUMBER_MUL: return a * b;
    case NUMBER_MAX: return a > b ? a : b;
    default: return a < b ? a : b;
    }
}

static void combine(Fixture *f, const Expected *x, Expected *out)
{
    static const NumberKind kinds[] = {NUMBER_ADD, NUMBER_SUB, NUMBER_MAX, NUMBER_MIN, NUMBER_MUL};
    int64_t constant[CHANNELS];
    const Expected *y = &f->made[draw(f, 0, f->count - 1)];
    bool has_constant = draw(f, 0, 3) > 0;
    NumberKind kind = kinds[draw(f, 0, has_constant ? 4 : 3)];
    uint32_t second = has_constant ? draw_constant(f, constant) : y->number;
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < ELEMENTS; i++)
            out->values[c][i] =
                apply(kind, x->values[c][i], has_constant ? constant[c] : y->values[c][i]);
    out->number = number_binary(&f->n, kind, x->number, second);
}

/* Down, halves up, or halves to even, as kernels write them. */
static void round_down(Fixture *f, const Expected *x, Expected *out)
{
    uint32_t shift = (uint32_t)draw(f, 1, 5), by = number_const(&f->n, shift), sum = x->number;
    int64_t half = INT64_C(1) << (shift - 1), way = draw(f, 0, 2);
    if (way == 2) {
        uint32_t odd = number_mod(&f->n, number_binary(&f->n, NUMBER_SHIFT, sum, by), 1);
        sum = number_binary(&f->n, NUMBER_ADD, sum, odd);
    }
    if (way > 0)
        sum = number_binary(&f->n, NUMBER_ADD, sum, number_const(&f->n, half - (way == 2)));
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < ELEMENTS; i++) {
            int64_t value = x->values[c][i];
            out->values[c][i] =
                way == 2 ? even_of(value, shift) : floor_of(value + (way == 1 ? half : 0), shift);
        }
    out->number = number_binary(&f->n, NUMBER_SHIFT, sum, by);
}

static void wrap(Fixture *f, const Expected *x, Expected *out)
{
    uint32_t bits = (uint32_t)draw(f, 1, 9);
    bool is_signed = draw(f, 0, 1) == 1;
    int64_t size = INT64_C(1) << bits, half = is_signed ? size / 2 : 0;
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < ELEMENTS; i++) {
            int64_t value = x->values[c][i];
            out->values[c][i] = value - floor_of(value + half, bits) * size;
        }
    out->number =
        is_signed ? number_signed(&f->n, x->number, bits) : number_unsigned(&f->n, x->number, bits);
}

static void look_up(Fixture *f, const Expected *x, Expected *out)
{
    uint32_t bits = (uint32_t)draw(f, 1, 4);
    size_t length = (size_t)1 << bits;
    int64_t *table = ARENA_ARRAY(&f->arena, int64_t, CHANNELS * length);
    for (size_t i = 0; i < CHANNELS * length; i++) table[i] = draw(f, 0, 200);
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < ELEMENTS; i++) {
            int64_t value = x->values[c][i];
            size_t index = (size_t)(value - floor_of(value, bits) * (int64_t)length);
            out->values[c][i] = table[c * length + index];
        }
    uint32_t index = number_unsigned(&f->n, x->number, bits);
    out->number = number_lookup(&f->n, index, table, CHANNELS, length);
}

static void move(Fixture *f, const Expected *x, Expected *out)
{
    int64_t offset = draw(f, -200, 200);
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < ELEMENTS; i++) out->values[c][i] = x->values[c][i] + offset;
    out->number = number_offset(&f->n, x->number, offset);
}

static bool is_large(const Expected *e)
{
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < ELEMENTS; i++)
            if (e->values[c][i] > INT64_C(1) << 30 || e->values[c][i] < -(INT64_C(1) << 30))
                return true;
    return false;
}

static void (*const forms[])(Fixture *, const Expected *,
                             Expected *) = {combine, combine, round_down, wrap, look_up, move};

static void simplified_numbers_are_plain_arithmetic(void **state)
{
    (void)state;
    Fixture f = {.random = {7}};
    for (int round = 0; round < ROUNDS; round++) {
        f.n = (Numbers){.arena = &f.arena, .channels = CHANNELS, .channel_loop = -1};
        f.count = 1;
        f.made[0].number = number_leaf(&f.n, NUMBER_SUMS, LEAST, MOST);
        for (size_t c = 0; c < CHANNELS; c++)
            for (int64_t i = 0; i < ELEMENTS; i++) f.made[0].values[c][i] = i + LEAST;
        for (int step = 0; step < STEPS; step++) {
            const Expected *x = &f.made[draw(&f, 0, f.count - 1)];
            if (is_large(x)) continue;
            forms[draw(&f, 0, COUNT_OF(forms) - 1)](&f, x, &f.made[f.count]);
            check(&f, &f.made[f.count]);
            f.count++;
        }
        numbers_free(&f.n);
    }
    arena_free(&f.arena);
}

/* Offsets that maps are less by go where nothing has to be done for them. */
static void offsets_join_constants(void **state)
{
    (void)state;
    Arena arena = {0};
    static const int64_t biases[] = {100, 200, 300};
    Numbers n = {.arena = &arena, .channels = CHANNELS, .channel_loop = -1};
    uint32_t x = number_leaf(&n, NUMBER_SUMS, -1000, 1000);
    uint32_t sum = number_binary(&n, NUMBER_ADD, x, number_consts(&n, biases, CHANNELS));
    uint32_t down = number_binary(&n, NUMBER_SHIFT, sum, number_const(&n, 2));
    uint32_t bounded = number_binary(&n, NUMBER_MIN, down, number_const(&n, 255));
    bounded = number_binary(&n, NUMBER_MAX, bounded, number_const(&n, 0));
    const Number *moved = number_at(&n, number_offset(&n, bounded, -128));
    int64_t bound = 0;
    assert_int_equal(moved->kind, NUMBER_MAX);
    assert_true(number_is_const(&n, moved->b, &bound));
    assert_int_equal(bound, -128);
    moved = number_at(&n, moved->a);
    assert_int_equal(moved->kind, NUMBER_MIN);
    assert_true(number_is_const(&n, moved->b, &bound));
    assert_int_equal(bound, 127);
    moved = number_at(&n, moved->a);
    assert_int_equal(moved->kind, NUMBER_SHIFT);
    moved = number_at(&n, moved->a);
    assert_int_equal(moved->kind, NUMBER_ADD);
    assert_int_equal(moved->a, x);
    for (size_t c = 0; c < CHANNELS; c++)
        assert_int_equal(number_at(&n, moved->b)->values[c], biases[c] - 512);
    assert_int_equal(number_offset(&n, number_offset(&n, x, 5), -5), x);
    numbers_free(&n);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simplified_numbers_are_plain_arithmetic),
        cmocka_unit_test(offsets_join_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
