/* Which words a converter regroups, against the order in which their elements arrive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ir/attr/attr.h"
#include "schedule/schedule.h"

enum { ROWS = 4, COLUMNS = 6, BITS = 8, MANY = 1 << 20 };

typedef struct Word {
    int64_t rows, columns;
} Word;

/* Number of the word that an element is in, words in row-major order. */
static int64_t word_of(Word word, int64_t row, int64_t column)
{
    return row / word.rows * (COLUMNS / word.columns) + column / word.columns;
}

/* Whether each large word is complete after a whole number of small ones, in order. */
static bool follow_each_other(Word small, Word large)
{
    int64_t parts = large.rows * large.columns / (small.rows * small.columns);
    if (parts * small.rows * small.columns != large.rows * large.columns) return false;
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t column = 0; column < COLUMNS; column++)
            if (word_of(small, row, column) / parts != word_of(large, row, column)) return false;
    return true;
}

static const Type *end_of(Context *ctx, Word word)
{
    static const int64_t dims[] = {ROWS, COLUMNS};
    const int64_t shape[] = {word.rows, word.columns};
    return dfg_end_type(&dfg_type_output, type_tensor(type_i(ctx, BITS), dims, 2, NULL), shape);
}

static Word word_at(uint32_t index)
{
    static const int64_t rows[] = {1, 2, 4}, columns[] = {1, 2, 3, 6};
    return (Word){rows[index / 4], columns[index % 4]};
}

enum { WORDS = 12 };

static void agrees_with_the_order_of_elements(void **state)
{
    Context *ctx = context_create();
    (void)state;
    for (uint32_t i = 0; i < WORDS * WORDS; i++) {
        Word a = word_at(i / WORDS), b = word_at(i % WORDS);
        bool want = follow_each_other(a, b) || follow_each_other(b, a);
        assert_int_equal(sched_can_convert(end_of(ctx, a), end_of(ctx, b)), want);
    }
    context_destroy(ctx);
}

static Word read_word(const Type *end)
{
    int64_t shape[2];
    dfg_word(end, shape);
    return (Word){shape[0], shape[1]};
}

/* With room enough every pair has a way; its steps are conversions themselves. */
static void ways_are_made_of_conversions(void **state)
{
    Context *ctx = context_create();
    (void)state;
    for (uint32_t i = 0; i < WORDS * WORDS; i++) {
        const Type *from = end_of(ctx, word_at(i / WORDS)), *to = end_of(ctx, word_at(i % WORDS));
        const Type *middle = NULL;
        WordConversion found = sched_conversion(from, to, MANY, &middle);
        assert_int_equal(found,
                         sched_can_convert(from, to) ? CONVERSION_DIRECT : CONVERSION_BY_WAY_OF);
        if (found == CONVERSION_DIRECT) continue;
        assert_true(follow_each_other(word_at(i / WORDS), read_word(middle)));
        assert_true(follow_each_other(word_at(i % WORDS), read_word(middle)));
    }
    context_destroy(ctx);
}

static void narrow_ways_take_the_divisor(void **state)
{
    Context *ctx = context_create();
    const Type *middle = NULL;
    (void)state;
    const Type *two = end_of(ctx, (Word){1, 2}), *three = end_of(ctx, (Word){1, 3});
    assert_int_equal(sched_conversion(two, three, 6 * BITS, &middle), CONVERSION_BY_WAY_OF);
    assert_int_equal(read_word(middle).columns, 6);
    assert_int_equal(sched_conversion(two, three, 6 * BITS - 1, &middle), CONVERSION_BY_WAY_OF);
    assert_int_equal(read_word(middle).columns, 1);
    const Type *rows = end_of(ctx, (Word){2, 3});
    assert_int_equal(sched_conversion(three, rows, 12 * BITS - 1, &middle), CONVERSION_NONE);
    context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_order_of_elements),
        cmocka_unit_test(ways_are_made_of_conversions),
        cmocka_unit_test(narrow_ways_take_the_divisor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
