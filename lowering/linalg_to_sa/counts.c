/* Reductions whose loops index constants alone, as MultiThreshold counts the thresholds of a channel that an
 * element reaches. The body runs for each of them in the processing unit; where they rise and are many, it
 * is a search by halves in a table of parameters.
 * Tests: lit/lowering/linalg_to_sa/counts.mir, test/e2e/overlay_check.py */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_sa/internal.h"

enum { MOST_STEPS = 4096, FEW_STEPS = 8 };

/* A reduction, the numbers of its body's arguments, and where it is. */
typedef struct Steps {
    Numbers *n;
    const Op *op;
    Kernel kernel;
    int channel;
    int64_t channels;
    uint32_t *args;
    int64_t at[KERNEL_MAX_LOOPS];
} Steps;

static bool uses_reduction(const Kernel *kernel, const AffineMap *map)
{
    for (uint32_t i = 0; i < kernel->loop_count; i++)
        if (kernel->is_reduction[i] && kernel->extents[i] > 1 && map_uses_dim(map, i)) return true;
    return false;
}

bool to_sa_reduces_constants(const Op *generic)
{
    Kernel kernel;
    uint32_t maps = 0, loops = 0;
    if (generic->result_count != 1 || !kernel_analyze(generic, &kernel)) return false;
    for (uint32_t i = 0; i < kernel.loop_count; i++)
        loops += kernel.is_reduction[i] && kernel.extents[i] > 1;
    for (uint32_t i = 0; i < linalg_input_count(generic); i++) {
        if (!linalg_reads_operand(generic, i) || fold_constant_of(op_operand(generic, i))) continue;
        if (uses_reduction(&kernel, linalg_operand_map(generic, i))) return false;
        maps++;
    }
    return maps > 0 && loops > 0;
}

static bool next_step(Steps *s)
{
    for (uint32_t i = s->kernel.loop_count; i-- > 0;) {
        if (!s->kernel.is_reduction[i]) continue;
        if (++s->at[i] < s->kernel.extents[i]) return true;
        s->at[i] = 0;
    }
    return false;
}

static int64_t count_steps(const Steps *s)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < s->kernel.loop_count; i++)
        if (s->kernel.is_reduction[i] && count <= MOST_STEPS) count *= s->kernel.extents[i];
    return count;
}

/* Numbers of the constants of a step. */
static bool read_constants(Steps *s)
{
    for (uint32_t i = 0; i < linalg_input_count(s->op); i++) {
        size_t count = 0;
        if (!linalg_reads_operand(s->op, i) || !fold_constant_of(op_operand(s->op, i))) continue;
        const int64_t *values =
            payload_constants(s->n->arena, s->op, i, s->channel, s->channels, s->at, &count);
        if (!values) return false;
        s->args[i] = number_consts(s->n, values, count);
    }
    return true;
}

/* The comparison of body `out + (element >= constant)`; NULL: it is another body. */
static const Op *find_comparison(const Op *generic)
{
    const Block *body = linalg_body(generic);
    const Op *sum = value_def(op_operand(body->last, 0));
    if (!sum || sum->def != ARITH(ADDI)) return NULL;
    const Value *out = body->args[linalg_input_count(generic)];
    bool is_first = op_operand(sum, 0) == out;
    const Op *flag = value_def(op_operand(sum, is_first));
    if (op_operand(sum, !is_first) != out || !flag || flag->def != ARITH(EXTUI)) return NULL;
    const Op *compare = value_def(op_operand(flag, 0));
    bool is_threshold = compare && compare->def == ARITH(CMPI) &&
                        attr_int_value(op_attr(compare, "predicate")) == CMPI_SGE;
    return is_threshold ? compare : NULL;
}

static uint32_t signed_number(const Steps *s, const Value *value)
{
    uint32_t number = payload_number(s->n, value, linalg_body(s->op), s->args);
    return number_signed(s->n, number, type_width(value->type));
}

/* All thresholds, channel by channel, in a table of `length`, with one that no element reaches behind them;
 * those that each element reaches are the least one. NULL: they are no constants that rise. */
static int64_t *gather_thresholds(Steps *s, const Op *compare, const Number *x, size_t length)
{
    const int64_t never = x->hi + 1;
    size_t rows = (size_t)s->channels, step = 0;
    int64_t *values = ARENA_ARRAY(s->n->arena, int64_t, rows * length);
    for (size_t i = 0; i < rows * length; i++) values[i] = never;
    do {
        if (!read_constants(s)) return NULL;
        uint32_t number = signed_number(s, op_operand(compare, 1));
        const Number *t = number == NO_NUMBER ? NULL : number_at(s->n, number);
        if (!t || t->kind != NUMBER_CONST) return NULL;
        for (size_t c = 0; c < rows; c++) {
            int64_t *place = &values[c * length + step];
            *place = i64_max(i64_min(t->values[t->count > 1 ? c : 0], never), x->lo);
            if (step > 0 && place[-1] > *place) return NULL;
        }
        step++;
    } while (next_step(s));
    return values;
}

/* 1 where a >= b, else 0. */
static uint32_t reaches(Numbers *n, uint32_t a, uint32_t b)
{
    uint32_t one = number_const(n, 1);
    uint32_t above = number_binary(n, NUMBER_ADD, number_binary(n, NUMBER_SUB, a, b), one);
    return number_binary(n, NUMBER_MIN, number_binary(n, NUMBER_MAX, above, number_const(n, 0)),
                         one);
}

/* How many of `count` thresholds an element reaches; NO_NUMBER without a reason: they do not rise. */
static uint32_t search(Steps *s, int64_t count)
{
    Numbers *n = s->n;
    const Op *compare = find_comparison(s->op);
    if (!compare || !read_constants(s)) return NO_NUMBER;
    uint32_t x = signed_number(s, op_operand(compare, 0)), found = number_const(n, 0), bits = 0;
    if (x == NO_NUMBER || number_at(n, x)->kind == NUMBER_CONST) return NO_NUMBER;
    while ((INT64_C(1) << bits) <= count) bits++;
    size_t length = ((size_t)1 << bits) - 1;
    const Number element = *number_at(n, x);
    const int64_t *values = gather_thresholds(s, compare, &element, length);
    if (!values) return NO_NUMBER;
    for (uint32_t bit = bits; bit-- > 0;) {
        int64_t half = INT64_C(1) << bit;
        uint32_t at = number_binary(n, NUMBER_ADD, found, number_const(n, half - 1));
        uint32_t threshold = table_number(n, values, (size_t)s->channels, length, at);
        uint32_t flag = reaches(n, x, threshold);
        found = number_binary(n, NUMBER_ADD, found,
                              number_binary(n, NUMBER_MUL, flag, number_const(n, half)));
    }
    if ((size_t)count == length) return found;
    return number_binary(n, NUMBER_MIN, found,
                         number_const(n, count)); /* for who reads its range */
}

uint32_t to_sa_reduced_number(Numbers *n, const Op *generic, int channel, int64_t channels,
                              int64_t begin, uint32_t *args)
{
    Steps s = {.n = n, .op = generic, .channel = channel, .channels = channels, .args = args};
    const Block *body = linalg_body(generic);
    if (!kernel_analyze(generic, &s.kernel)) return NO_NUMBER;
    const int64_t count = count_steps(&s);
    if (count > MOST_STEPS) return number_fail(n, "takes more than %d steps", MOST_STEPS);
    uint32_t sum = number_const(n, begin);
    uint32_t found = count > FEW_STEPS ? search(&s, count) : NO_NUMBER;
    if (found != NO_NUMBER) return number_binary(n, NUMBER_ADD, sum, found);
    for (uint32_t i = 0; i < s.kernel.loop_count; i++) s.at[i] = 0;
    do {
        if (!read_constants(&s))
            return number_fail(n, "has constants that are not one for each channel");
        args[linalg_input_count(generic)] = sum;
        sum = payload_number(n, op_operand(body->last, 0), body, args);
    } while (sum != NO_NUMBER && next_step(&s));
    return sum;
}
