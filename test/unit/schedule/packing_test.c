/* Grids of packed products against products made one by one: every field of a packed sum, at the
 * ends of the operands' ranges and with chains as long as the grid allows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "schedule/schedule.h"
#include "test/unit/random.h"

static const DspShape dsp48e1 = {25, 18, 48}, dsp48e2 = {27, 18, 48}, dsp58 = {27, 24, 58};

static const PayloadRange i3 = {-4, 3, 0}, i4 = {-8, 7, 0}, i5 = {-16, 15, 0}, i6 = {-32, 31, 0},
                          i8 = {-128, 127, 0}, u3 = {0, 7, 0}, u4 = {0, 15, 0}, u8 = {0, 255, 0},
                          i9 = {-255, 255, 0}, i16 = {-32768, 32767, 0}, odd = {-3, 100, 0},
                          negative = {-9, -2, 0};

/* A value of the range: mostly one of its ends, or next to zero. */
static int64_t draw(Random *random, const PayloadRange *range)
{
    int64_t picks[] = {range->low, range->high, range->low, range->high, -1, 0, 1};
    int64_t value = picks[random_below(random, 7)];
    if (value < range->low || value > range->high || random_below(random, 8) == 0)
        value = range->low + random_below(random, (uint32_t)(range->high - range->low + 1));
    return value;
}

static int64_t sign_extended(uint64_t value, int64_t bits)
{
    uint64_t sign = UINT64_C(1) << (bits - 1), low = value & (sign + sign - 1);
    return (int64_t)(low ^ sign) - (int64_t)sign;
}

/* The field at the bottom, plus the bit in front of it. */
static int64_t extracted(int64_t sum, int64_t at, int64_t spacing)
{
    uint64_t bits = (uint64_t)sum >> at;
    if (at > 0) bits += (uint64_t)sum >> (at - 1) & 1;
    return sign_extended(bits, spacing);
}

/* Values of one operand's fields, side by side. */
static int64_t packed(const PackingGrid *grid, int which, const int64_t *values)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < grid->fields[which]; k++)
        sum += values[k] * ((int64_t)1 << (k * grid->stride[which]));
    return sum;
}

static void check_chain(const DspShape *dsp, const PayloadRange *x, const PackingGrid *grid,
                        Random *random)
{
    int64_t sum = 0, want[PACKING_MAX_FIELDS] = {0}, value[2][PACKING_MAX_FIELDS];
    bool repeats = random_below(random, 2); /* the same products, so that the sum goes to its end */
    for (int64_t c = 0; c < grid->chain; c++) {
        for (int o = 0; o < 2; o++)
            for (int64_t k = 0; k < grid->fields[o] && !(c && repeats); k++)
                value[o][k] = draw(random, &x[o]);
        int64_t a = packed(grid, 0, value[0]), b = packed(grid, 1, value[1]);
        assert_true(payload_range_bits(a, a) <= grid->bits[0] &&
                    payload_range_bits(b, b) <= grid->bits[1]);
        sum += a * b;
        for (int64_t i = 0; i < grid->fields[0]; i++)
            for (int64_t j = 0; j < grid->fields[1]; j++)
                want[i * grid->fields[1] + j] += value[0][i] * value[1][j];
    }
    assert_true(payload_range_bits(sum, sum) <= dsp->accumulator);
    for (int64_t i = 0; i < grid->fields[0]; i++)
        for (int64_t j = 0; j < grid->fields[1]; j++)
            assert_int_equal(
                extracted(sum, i * grid->stride[0] + j * grid->stride[1], grid->spacing),
                want[i * grid->fields[1] + j]);
}

static void fields_are_exact(void **state)
{
    const PayloadRange ranges[] = {i4, i5, i6, i8, u3, u4, u8, i9, i16, odd, negative};
    const DspShape *shapes[] = {&dsp48e1, &dsp48e2, &dsp58};
    Random random = {1};
    int grids = 0;
    (void)state;
    for (size_t n = 0; n < 3 * COUNT_OF(ranges) * COUNT_OF(ranges); n++) {
        const DspShape *dsp = shapes[n % 3];
        PayloadRange x[2] = {ranges[n / 3 % COUNT_OF(ranges)], ranges[n / 3 / COUNT_OF(ranges)]};
        for (int64_t i = 1; i <= PACKING_MAX_FIELDS; i++)
            for (int64_t j = 1; i * j <= PACKING_MAX_FIELDS; j++) {
                PackingGrid grid;
                if (!sched_packing_grid(dsp, x, (const int64_t[]){i, j}, &grid)) continue;
                for (int run = 0; run < 200; run++) check_chain(dsp, x, &grid, &random);
                grids++;
            }
    }
    assert_true(grids > 600);
}

static void expect(const DspShape *dsp, PayloadRange a, PayloadRange b, int64_t i, int64_t j,
                   int64_t spacing, int64_t chain)
{
    PackingGrid grid;
    bool fits =
        sched_packing_grid(dsp, (const PayloadRange[]){a, b}, (const int64_t[]){i, j}, &grid);
    assert_int_equal(fits, chain > 0);
    if (!fits) return;
    assert_int_equal(grid.chain, chain);
    if (spacing) assert_int_equal(grid.spacing, spacing);
}

/* Seven products of 8 bits, 18 bits apart; at 4 bits a 2 x 2 grid 11 bits apart: the figures of the
 * vendor's white papers. */
static void known_arrangements(void **state)
{
    (void)state;
    expect(&dsp48e2, i8, i8, 2, 1, 18, 7);
    expect(&dsp48e2, i8, i8, 1, 2, 18, 7);
    expect(&dsp48e2, i8, u8, 2, 1, 18, 4);
    expect(&dsp48e2, u8, i8, 2, 1, 18, 4);
    expect(&dsp48e2, i9, i8, 2, 1, 18, 4);
    expect(&dsp48e2, i4, i4, 2, 2, 11, 15);
    expect(&dsp48e2, u4, i4, 2, 2, 11, 8);
    expect(&dsp48e2, i5, i5, 2, 2, 10, 1);
    expect(&dsp48e2, i8, i6, 2, 1, 0, PACKING_MAX_CHAIN);
    expect(&dsp48e2, i4, i3, 2, 3, 7, 1);
    expect(&dsp48e2, i4, i4, 3, 1, 11, 15);
    expect(&dsp48e2, i8, i8, 1, 1, 0, PACKING_MAX_CHAIN);
}

static void what_does_not_fit(void **state)
{
    (void)state;
    expect(&dsp48e2, i8, i8, 2, 2, 0, 0);
    expect(&dsp48e2, i8, i8, 3, 1, 0, 0);
    expect(&dsp48e2, i16, i16, 2, 1, 0, 0);
    expect(&dsp48e2, (PayloadRange){-(1 << 27), 0, 0}, i4, 1, 1, 0, 0);
    /* 25 bits leave no room to add. */
    expect(&dsp48e1, i8, i8, 2, 1, 16, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_exact),
        cmocka_unit_test(known_arrangements),
        cmocka_unit_test(what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
