/* Requantizers of engines of planes. Behind the last sum of such a layer stands a function of that sum
 * with a few levels, whatever arithmetic it was written with. Where it never falls, or never rises, in
 * a channel, it counts how many of the channel's thresholds the sum reaches (FINN-R, 3.1), which is one
 * instruction and needs no products. Where it falls the channel's weights change their sign. All sums
 * that a channel can have are tried, so nothing is taken for granted.
 * Tests: lit/lowering/linalg_to_sa/thresholds.mir, test/e2e/popcount_engine_check.py */
#include "lowering/linalg_to_sa/internal.h"

enum { BLOCK = 256, MOST_SUMS = 1 << 18 };

/* Values of all numbers up to the result for a block of sums. */
typedef struct Evaluation {
    const Numbers *n;
    uint32_t result;
    const bool *is_used;
    int64_t *values; /* BLOCK of each number */
} Evaluation;

static int64_t round_even(int64_t x, uint32_t shift)
{
    int64_t floor = x >> shift, half = INT64_C(1) << (shift - 1);
    int64_t rest = x - floor * (INT64_C(1) << shift);
    return floor + (rest > half || (rest == half && (floor & 1)));
}

static int64_t binary(const Number *number, int64_t a, int64_t b)
{
    switch (number->kind) {
    case NUMBER_ADD: return a + b;
    case NUMBER_SUB: return a - b;
    case NUMBER_MUL: return a * b;
    case NUMBER_MAX: return i64_max(a, b);
    case NUMBER_MIN: return i64_min(a, b);
    case NUMBER_SHIFT: return a >> i64_min(b, 63);
    case NUMBER_ROUND_UP: return (a + (INT64_C(1) << (number->shift - 1))) >> number->shift;
    case NUMBER_ROUND_EVEN: return round_even(a, number->shift);
    default: return a & ((INT64_C(1) << number->shift) - 1); /* NUMBER_MOD */
    }
}

static int64_t look_up(const Number *table, size_t channel, int64_t index)
{
    int64_t last = (int64_t)table->length - 1;
    size_t row = table->count > 1 ? channel * table->length : 0;
    return table->values[row + (size_t)i64_max(0, i64_min(index, last))];
}

static bool is_leaf(const Number *number)
{
    return number->kind == NUMBER_SUMS || number->kind == NUMBER_ACCUMULATOR;
}

/* The numbers for `count` sums from `first` on. */
static void evaluate(const Evaluation *e, size_t channel, int64_t first, int64_t count)
{
    for (uint32_t k = 0; k <= e->result; k++) {
        const Number *number = number_at(e->n, k);
        int64_t *out = e->values + (size_t)k * BLOCK;
        if (!e->is_used[k]) continue;
        const int64_t *a = e->values + (size_t)number->a * BLOCK;
        const int64_t *b = e->values + (size_t)number->b * BLOCK;
        for (int64_t i = 0; i < count; i++) {
            if (is_leaf(number))
                out[i] = first + i;
            else if (number->kind == NUMBER_CONST)
                out[i] = number->values[number->count > 1 ? channel : 0];
            else if (number->kind == NUMBER_LOOKUP)
                out[i] = look_up(number, channel, a[i]);
            else
                out[i] = binary(number, a[i], b[i]);
        }
    }
}

/* Marks what the result is made of. NULL: it is no function of one sum. */
static const Number *find_leaf(const Layer *layer, uint32_t result, bool *is_used)
{
    const Number *leaf = NULL;
    for (uint32_t k = 0; k < result; k++) is_used[k] = false;
    is_used[result] = true;
    for (uint32_t k = result + 1; k-- > 0;) {
        const Number *number = number_at(&layer->numbers, k);
        if (!is_used[k] || number->kind == NUMBER_CONST) continue;
        if (number->kind == NUMBER_OPERAND || (is_leaf(number) && leaf)) return NULL;
        if (is_leaf(number)) {
            leaf = number;
            continue;
        }
        is_used[number->a] = true;
        if (number->kind != NUMBER_MOD && number->kind != NUMBER_LOOKUP) is_used[number->b] = true;
    }
    return leaf;
}

static IntRange sums_of(const Number *leaf, size_t channel)
{
    return leaf->lows ? (IntRange){leaf->lows[channel], leaf->highs[channel]}
                      : (IntRange){leaf->lo, leaf->hi};
}

/* The levels of a channel at all of its sums: at which sums they change, in `at`, with the level from
 * there on; whether they rise or fall. False: they do both, or are too many. */
typedef struct Steps {
    int64_t at[SA_MOST_THRESHOLDS + 1], level[SA_MOST_THRESHOLDS + 1];
    size_t count;
} Steps;

static bool find_steps(const Evaluation *e, size_t channel, IntRange sums, Steps *out)
{
    out->count = 0;
    for (int64_t first = sums.lo; first <= sums.hi; first += BLOCK) {
        int64_t count = i64_min(BLOCK, sums.hi - first + 1);
        evaluate(e, channel, first, count);
        const int64_t *levels = e->values + (size_t)e->result * BLOCK;
        for (int64_t i = 0; i < count; i++) {
            if (out->count > 0 && levels[i] == out->level[out->count - 1]) continue;
            if (out->count > SA_MOST_THRESHOLDS) return false;
            out->at[out->count] = first + i;
            out->level[out->count++] = levels[i];
        }
    }
    for (size_t i = 2; i < out->count; i++)
        if ((out->level[i] > out->level[i - 1]) != (out->level[1] > out->level[0])) return false;
    return true;
}

static bool falls(const Steps *steps)
{
    return steps->count > 1 && steps->level[1] < steps->level[0];
}

/* The least sum, with its sign changed where levels fall, from which on they are `level` or more. */
static int64_t threshold_of(const Steps *steps, IntRange sums, int64_t level)
{
    if (!falls(steps)) {
        for (size_t i = 0; i < steps->count; i++)
            if (steps->level[i] >= level) return steps->at[i];
        return sums.hi + 1;
    }
    for (size_t i = steps->count; i-- > 0;)
        if (steps->level[i] >= level) return i + 1 < steps->count ? 1 - steps->at[i + 1] : -sums.hi;
    return 1 - sums.lo;
}

static bool can_change_sign(const Lowering *lw, const Layer *layer, size_t channel)
{
    int64_t each = layer->kernel[0] * layer->kernel[1] *
                   (layer->is_depthwise ? 1 : layer->input->extents.c / layer->groups);
    if (layer->def != SA(CONV)) return false;
    for (int64_t i = (int64_t)channel * each; i < (int64_t)(channel + 1) * each; i++)
        if (!sa_weight_fits(&lw->size, -layer->weights[i])) return false;
    return true;
}

/* Levels of all channels. False: one of them has no thresholds. */
static bool find_all(const Lowering *lw, const Layer *layer, const Evaluation *e,
                     const Number *leaf, Steps *steps)
{
    for (size_t c = 0; c < (size_t)layer->extents.c; c++) {
        IntRange sums = sums_of(leaf, c);
        if (sums.hi - sums.lo >= MOST_SUMS || sums.lo <= INT32_MIN || sums.hi >= INT32_MAX ||
            !find_steps(e, c, sums, &steps[c]) ||
            (falls(&steps[c]) && !can_change_sign(lw, layer, c)))
            return false;
    }
    return true;
}

static void fill_thresholds(const Layer *layer, const Number *leaf, const Steps *steps,
                            Thresholds *out)
{
    size_t channels = (size_t)layer->extents.c;
    for (size_t c = 0; c < channels; c++) {
        out->changes_sign[c] = falls(&steps[c]);
        for (size_t k = 0; k < out->count; k++)
            out->values[k * channels + c] =
                threshold_of(&steps[c], sums_of(leaf, c), out->base + (int64_t)k + 1);
    }
}

bool to_sa_find_thresholds(Lowering *lw, const Layer *layer, uint32_t result, Thresholds *out)
{
    size_t channels = (size_t)layer->extents.c;
    if (!sa_is_popcount(&lw->size) || is_leaf(number_at(&layer->numbers, result))) return false;
    bool *is_used = ARENA_ARRAY(lw->arena, bool, result + 1);
    const Number *leaf = find_leaf(layer, result, is_used);
    if (!leaf) return false;
    Evaluation e = {&layer->numbers, result, is_used,
                    ARENA_ARRAY(lw->arena, int64_t, (size_t)(result + 1) * BLOCK)};
    Steps *steps = ARENA_ARRAY(lw->arena, Steps, channels);
    if (!find_all(lw, layer, &e, leaf, steps)) return false;
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < steps[c].count; i++) {
            low = i64_min(low, steps[c].level[i]);
            high = i64_max(high, steps[c].level[i]);
        }
    if (high == low || high - low > SA_MOST_THRESHOLDS) return false;
    *out = (Thresholds){.leaf = leaf, .base = low, .planes = 1};
    while ((INT64_C(1) << out->planes) - 1 < high - low) out->planes++;
    out->count = (size_t)(INT64_C(1) << out->planes) - 1;
    out->values = ARENA_ARRAY(lw->arena, int64_t, out->count * channels);
    out->changes_sign = ARENA_ARRAY(lw->arena, bool, channels);
    fill_thresholds(layer, leaf, steps, out);
    return true;
}
