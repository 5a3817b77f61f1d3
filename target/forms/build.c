/* Builds the forms of a requantizer from its thresholds.
 *   comparisons  least + sum over i of rise_i * ((q >= at_i[c]) != falls[c]), a tree of additions
 *   line         clamp((m[c] * q + b[c]) >> s), where that is exact
 *   table        levels[c][q - low]
 * Constants stand in front of the kernel, one per channel where they differ.
 * Tests: lit/target/dse/forms.mir, test/e2e/forms_check.py */
#include <assert.h>

#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "target/forms/forms.h"

const char *const forms_names[FORM_KINDS] = {"comparisons", "line", "table"};

enum {
    MAX_TABLE = 1 << 16, /* (channel, number) pairs of a table, as of convert-onnx-to-linalg */
    MAX_ROW = 1 << 10,   /* its entries per channel */
    MAX_INPUTS = FORMS_MOST_LEVELS + 2
};

/* A kernel that is being built. Numbers per channel become inputs before its body is begun. */
typedef struct FormKernel {
    const FormSteps *steps;
    Arena *arena;
    Builder outer, body;
    Value *inputs[MAX_INPUTS];
    uint32_t count;
    Op *made;
} FormKernel;

/* A number per channel: an input, or if all are equal the number itself. */
typedef struct ChannelNumber {
    uint32_t input; /* 0: all are `same` */
    int64_t same;
} ChannelNumber;

static uint32_t signed_bits(int64_t low, int64_t high)
{
    return int_range_bits((IntRange){low, high});
}

static void begin(FormKernel *k, const FormSteps *steps, Arena *arena)
{
    *k = (FormKernel){.steps = steps, .arena = arena, .outer = builder_before(steps->kernel)};
    k->inputs[k->count++] = op_operand(steps->kernel, steps->operand);
}

/* is_flag: the numbers are 0 and -1, a bit each. */
static ChannelNumber add_numbers(FormKernel *k, const int64_t *values, bool is_flag)
{
    int64_t low = values[0], high = values[0];
    for (int64_t c = 1; c < k->steps->channels; c++) {
        low = i64_min(low, values[c]);
        high = i64_max(high, values[c]);
    }
    if (low == high) return (ChannelNumber){0, low};
    const Type *elem = type_i(k->outer.ctx, is_flag ? 1 : signed_bits(low, high));
    const Type *type = type_tensor(elem, &k->steps->channels, 1, NULL);
    k->inputs[k->count] =
        arith_constant(&k->outer, attr_dense_i64(type, values, (size_t)k->steps->channels));
    return (ChannelNumber){k->count++, 0};
}

static void open_body(FormKernel *k)
{
    const Op *old = k->steps->kernel;
    const AffineMap *maps[MAX_INPUTS + 1];
    const AffineMap *own = linalg_operand_map(old, k->steps->operand);
    const AffineExpr *channel =
        k->steps->loop < 0 ? NULL : affine_dim(old->ctx, (uint32_t)k->steps->loop);
    maps[0] = own;
    for (uint32_t i = 1; i < k->count; i++)
        maps[i] = map_get(old->ctx, own->dim_count, 0, 1, &channel);
    maps[k->count] = linalg_operand_map(old, linalg_input_count(old));
    Value *init = op_operand(old, linalg_input_count(old));
    k->made = linalg_build_generic(&k->outer, k->inputs, k->count, &init, 1,
                                   linalg_maps_attr(old->ctx, maps, k->count + 1),
                                   op_attr(old, "iterator_types"));
    k->made->attrs = old->attrs;
    k->outer = builder_before(k->made);
    k->body = builder_at_end(linalg_body(k->made), old->loc);
}

static Value *extend(FormKernel *k, Value *value, const Type *type, bool is_unsigned)
{
    if (value->type == type) return value;
    if (type_width(value->type) > type_width(type))
        return build_unary(&k->body, ARITH(TRUNCI), type, value);
    return build_unary(&k->body, is_unsigned ? ARITH(EXTUI) : ARITH(EXTSI), type, value);
}

static Value *number(FormKernel *k, ChannelNumber n, const Type *type)
{
    return n.input ? extend(k, linalg_body(k->made)->args[n.input], type, false)
                   : arith_constant_int(&k->outer, type, n.same);
}

/* The operand, whose numbers may be kept without a sign. */
static bool is_unsigned(const FormSteps *s)
{
    uint32_t own = type_width(type_elem(op_operand(s->kernel, s->operand)->type));
    return s->low >= 0 && s->high >> (own - 1) != 0;
}

static Value *operand(FormKernel *k, const Type *type)
{
    return extend(k, linalg_body(k->made)->args[0], type, is_unsigned(k->steps));
}

/* The narrowest type that holds numbers from low to high and the operand. */
static const Type *place_type(const FormSteps *s, int64_t low, int64_t high)
{
    const Type *elem = type_elem(op_operand(s->kernel, s->operand)->type);
    uint32_t own = type_width(elem) + is_unsigned(s), width = signed_bits(low, high);
    return type_i(elem->ctx, own > width ? own : width);
}

/* Puts the kernel in the place of the old one. */
static Op *close_body(FormKernel *k, Value *level, const char *form)
{
    Op *old = k->steps->kernel;
    level = extend(k, level, type_elem(op_result(old, 0)->type), false);
    linalg_yield(&k->body, &level, 1);
    op_set_attr(k->made, DFG_ATTR_REQUANTIZER,
                attr_dict_set(op_attr(old, DFG_ATTR_REQUANTIZER),
                              ident_get_c(old->ctx, DFG_REQUANT_FORM),
                              attr_string_c(old->ctx, form)));
    value_replace_all(op_result(old, 0), op_result(k->made, 0));
    op_erase(old);
    return k->made;
}

/* Comparisons. */

/* A sum of comparisons, which is at most `most`; a single one is a bit. */
typedef struct Term {
    Value *value;
    int64_t most;
} Term;

/* The thresholds of all channels that are number i, and how many equal ones follow. */
static int64_t rise_of(const FormSteps *s, int64_t i)
{
    int64_t width = s->most - s->least, rise = 1;
    for (; i + rise < width; rise++)
        for (int64_t c = 0; c < s->channels; c++)
            if (s->at[c * width + i] != s->at[c * width + i + rise]) return rise;
    return rise;
}

static ChannelNumber add_thresholds(FormKernel *k, int64_t i)
{
    const FormSteps *s = k->steps;
    int64_t *values = ARENA_ARRAY(k->arena, int64_t, s->channels);
    for (int64_t c = 0; c < s->channels; c++) values[c] = s->at[c * (s->most - s->least) + i];
    return add_numbers(k, values, false);
}

static ChannelNumber add_falls(FormKernel *k)
{
    int64_t *values = ARENA_ARRAY(k->arena, int64_t, k->steps->channels);
    for (int64_t c = 0; c < k->steps->channels; c++) values[c] = k->steps->falls[c] ? -1 : 0;
    return add_numbers(k, values, true);
}

static const Type *sum_type(const FormKernel *k, int64_t most)
{
    return type_i(k->outer.ctx, most <= 1 ? 1 : (uint32_t)i64_log2_up(most + 1));
}

static Term compare(FormKernel *k, Value *q, ChannelNumber at, ChannelNumber falls, int64_t rise)
{
    bool all_fall = !falls.input && falls.same != 0;
    Value *passed = arith_cmpi(&k->body, all_fall ? CMPI_SLT : CMPI_SGE, q, number(k, at, q->type));
    if (falls.input)
        passed = build_binary(&k->body, ARITH(XORI), passed->type, passed,
                              linalg_body(k->made)->args[falls.input]);
    if (rise > 1)
        passed =
            arith_select(&k->body, passed, arith_constant_int(&k->outer, sum_type(k, rise), rise),
                         arith_constant_int(&k->outer, sum_type(k, rise), 0));
    return (Term){passed, rise};
}

/* Neighbours are added up, so that sums stay narrow as long as they can. */
static Value *add_up(FormKernel *k, Term *terms, int64_t count)
{
    for (; count > 1; count = (count + 1) / 2)
        for (int64_t i = 0; i < count; i += 2) {
            Term sum = terms[i];
            if (i + 1 < count) {
                sum.most += terms[i + 1].most;
                const Type *type = sum_type(k, sum.most);
                sum.value =
                    build_binary(&k->body, ARITH(ADDI), type, extend(k, terms[i].value, type, true),
                                 extend(k, terms[i + 1].value, type, true));
            }
            terms[i / 2] = sum;
        }
    return terms[0].value;
}

static Op *build_comparisons(const FormSteps *s, Arena *arena)
{
    FormKernel k;
    ChannelNumber at[FORMS_MOST_LEVELS];
    int64_t rises[FORMS_MOST_LEVELS], count = 0;
    Term terms[FORMS_MOST_LEVELS] = {{0}};
    begin(&k, s, arena);
    for (int64_t i = 0; i < s->most - s->least; i += rises[count++]) {
        rises[count] = rise_of(s, i);
        at[count] = add_thresholds(&k, i);
    }
    ChannelNumber falls = add_falls(&k);
    open_body(&k);
    Value *q = operand(&k, place_type(s, s->low, s->high + 1));
    for (int64_t i = 0; i < count; i++) terms[i] = compare(&k, q, at[i], falls, rises[i]);
    const Type *elem = type_elem(op_result(s->kernel, 0)->type);
    Value *level = extend(&k, add_up(&k, terms, count), elem, true);
    if (s->least != 0)
        level = build_binary(&k.body, ARITH(ADDI), elem, level,
                             arith_constant_int(&k.outer, elem, s->least));
    return close_body(&k, level, count == 1 ? "comparison" : forms_names[FORM_COMPARISONS]);
}

/* Lines. */

/* The line of a channel. Levels that fall rise in -q: q < at is -q >= 1 - at. */
static bool fit_channel(const FormSteps *s, int64_t c, FixedPoint *out)
{
    Threshold thresholds[FORMS_MOST_LEVELS];
    int64_t width = s->most - s->least, count = 0, low = s->least;
    bool falls = s->falls[c];
    for (int64_t i = 0; i < width; i++) {
        int64_t at = s->at[c * width + i];
        bool always = falls ? at > s->high : at <= s->low,
             never = falls ? at <= s->low : at > s->high;
        low += always;
        if (!always && !never)
            thresholds[count++] = (Threshold){s->least + 1 + i, falls ? 1 - at : at};
    }
    const StepFunction f = {.thresholds = thresholds,
                            .count = count,
                            .low_q = falls ? -s->high : s->low,
                            .high_q = falls ? -s->low : s->high,
                            .low_level = low,
                            .high_level = low + count,
                            .low_is_clamped = low == s->least,
                            .high_is_clamped = low + count == s->most};
    if (!fixed_point_fit(&f, out)) return false;
    if (falls) out->multiplier = -out->multiplier;
    return true;
}

/* The numbers that the lines of all channels give. False: beyond 62 bits. */
static bool find_range(const FormSteps *s, const FixedPoint *lines, int64_t *low, int64_t *high)
{
    const int64_t limit = INT64_C(1) << 62;
    *low = *high = 0;
    for (int64_t c = 0; c < s->channels; c++) {
        int64_t a, b, m = lines[c].multiplier;
        if (!i64_mul(m, s->low, &a) || !i64_mul(m, s->high, &b) ||
            !i64_add(a, lines[c].addend, &a) || !i64_add(b, lines[c].addend, &b))
            return false;
        *low = i64_min(*low, i64_min(a, b));
        *high = i64_max(*high, i64_max(a, b));
    }
    return *low > -limit && *high < limit;
}

/* Lines of one shift for all channels. NULL: there are none. */
static FixedPoint *find_lines(const FormSteps *s, Arena *arena)
{
    FixedPoint *lines = ARENA_ARRAY(arena, FixedPoint, s->channels);
    int shift = 0;
    for (int64_t c = 0; c < s->channels; c++) {
        if (!fit_channel(s, c, &lines[c])) return NULL;
        shift = lines[c].shift > shift ? lines[c].shift : shift;
    }
    for (int64_t c = 0; c < s->channels; c++)
        if (!fixed_point_widen(&lines[c], shift)) return NULL;
    return lines;
}

static Op *build_line(const FormSteps *s, Arena *arena)
{
    FormKernel k;
    int64_t low, high, *values = ARENA_ARRAY(arena, int64_t, s->channels);
    const FixedPoint *lines = find_lines(s, arena);
    if (!lines || !find_range(s, lines, &low, &high)) return NULL;
    begin(&k, s, arena);
    for (int64_t c = 0; c < s->channels; c++) values[c] = lines[c].multiplier;
    ChannelNumber factor = add_numbers(&k, values, false);
    for (int64_t c = 0; c < s->channels; c++) values[c] = lines[c].addend;
    ChannelNumber addend = add_numbers(&k, values, false);
    const Type *wide = place_type(s, i64_min(low, s->least), i64_max(high, s->most));
    uint32_t width = type_width(wide);
    for (uint32_t i = 1; i < k.count; i++) {
        uint32_t own = type_width(type_elem(k.inputs[i]->type));
        width = own > width ? own : width;
    }
    wide = type_i(k.outer.ctx, width);
    open_body(&k);
    Builder *b = &k.body;
    Value *q = operand(&k, wide);
    if (factor.input || factor.same != 1)
        q = build_binary(b, ARITH(MULI), wide, q, number(&k, factor, wide));
    if (addend.input || addend.same != 0)
        q = build_binary(b, ARITH(ADDI), wide, q, number(&k, addend, wide));
    if (lines[0].shift > 0)
        q = build_binary(b, ARITH(SHRSI), wide, q,
                         arith_constant_int(&k.outer, wide, lines[0].shift));
    q = build_binary(b, ARITH(MAXSI), wide, q, arith_constant_int(&k.outer, wide, s->least));
    q = build_binary(b, ARITH(MINSI), wide, q, arith_constant_int(&k.outer, wide, s->most));
    return close_body(&k, q, forms_names[FORM_LINE]);
}

/* Tables. */

static int64_t level_at(const FormSteps *s, int64_t c, int64_t q)
{
    int64_t width = s->most - s->least, level = s->least;
    for (int64_t i = 0; i < width; i++) level += (q >= s->at[c * width + i]) != s->falls[c];
    return level;
}

static Op *build_table(const FormSteps *s, Arena *arena)
{
    FormKernel k;
    int64_t row = s->high - s->low + 1;
    if (row > MAX_ROW || row > MAX_TABLE / s->channels) return NULL;
    const int64_t dims[] = {s->channels, row};
    int64_t *levels = ARENA_ARRAY(arena, int64_t, s->channels * row);
    const Type *elem = type_elem(op_result(s->kernel, 0)->type);
    for (int64_t i = 0; i < s->channels * row; i++)
        levels[i] = array_wrap(elem, level_at(s, i / row, s->low + i % row));
    begin(&k, s, arena);
    Value *table = arith_constant(&k.outer, attr_dense_i64(type_tensor(elem, dims, 2, NULL), levels,
                                                           (size_t)(s->channels * row)));
    Value *channel = arith_constant(&k.outer, attr_index(k.outer.ctx, 0));
    open_body(&k);
    const Type *wide = place_type(s, i64_min(s->low, 0), i64_max(s->high, row));
    Value *place = operand(&k, wide);
    if (s->low != 0)
        place = build_binary(&k.body, ARITH(SUBI), wide, place,
                             arith_constant_int(&k.outer, wide, s->low));
    if (s->loop >= 0) channel = linalg_index(&k.body, (uint32_t)s->loop);
    Value *operands[] = {table, channel,
                         build_unary(&k.body, ARITH(INDEX_CASTUI), type_index(k.outer.ctx), place)};
    Value *level = op_result(build(&k.body, TENSOR(EXTRACT), operands, 3, &elem, 1, NULL, 0), 0);
    return close_body(&k, level, forms_names[FORM_TABLE]);
}

/* No default: the compiler says where a new form is missing. */
Op *forms_build(const FormSteps *steps, Form form, Arena *arena)
{
    switch (form) {
    case FORM_COMPARISONS: return build_comparisons(steps, arena);
    case FORM_LINE: return build_line(steps, arena);
    case FORM_TABLE: return build_table(steps, arena);
    case FORM_KINDS: break;
    }
    assert(false);
    return NULL;
}
