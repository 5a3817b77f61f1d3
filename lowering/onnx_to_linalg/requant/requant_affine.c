/* Monotone step functions per channel as a line,
 *   clamp(floor((m_c * q + b_c) / 2^s)),
 * or, where floating point's own rounding puts single steps off every line, as a line at integers
 * that are moved by a little:
 *   clamp(floor((m_c * (q + n_c[k]) + b_c) / 2^s)),  k = clamp(floor((m_c * q + b_c) / 2^s)).
 * The moves n are a few bits per channel and level, one as a rule, in a constant table.
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-requant.mir,
 * test/unit/analysis/fixed_point_fit_test.c */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "lowering/onnx_to_linalg/requant/internal.h"

enum { MAX_MOVES = 1 << 18, MAX_MOVE_BITS = 8 };

typedef struct ChannelLines {
    FixedPoint *of;     /* per channel, all with the same shift */
    int64_t levels;     /* of all channels: most - least + 1 */
    int64_t *moves;     /* [channels][levels] */
    uint32_t move_bits; /* 0: no integer is moved */
    int64_t low, high;  /* range of m * (q + n) + b */
} ChannelLines;

/* Moves of a channel by the errors at its thresholds. A line that rises with q is late, one that
 * falls is early in -q: both are put right by a larger q. */
static void set_moves(const Requant *r, int64_t c, const int64_t *errors, ChannelLines *lines)
{
    int64_t *row = lines->moves + c * lines->levels + r->low[c] - r->least;
    for (int64_t i = 0; i < r->high[c] - r->low[c]; i++) row[i + r->falls[c]] = errors[i];
}

static bool fit_with(const Requant *r, int64_t c, StepFunction *f, int64_t slack,
                     ChannelLines *lines)
{
    f->late = r->falls[c] ? 0 : slack;
    f->early = r->falls[c] ? slack : 0;
    int64_t *errors = xmalloc((size_t)(f->count + 1) * sizeof *errors);
    bool fits = fixed_point_fit(f, &lines->of[c]) && fixed_point_errors(f, &lines->of[c], errors);
    if (fits && lines->moves) set_moves(r, c, errors, lines);
    free(errors);
    return fits;
}

/* A steep line may leave no room for moves, but fit without them. */
static bool fit_channel(const Requant *r, int64_t c, ChannelLines *lines)
{
    int64_t count = r->high[c] - r->low[c], slack = (INT64_C(1) << lines->move_bits) - 1;
    Threshold *thresholds = xmalloc((size_t)(count + 1) * sizeof *thresholds);
    for (int64_t i = 0; i < count; i++)
        thresholds[i] = (Threshold){r->low[c] + 1 + i, r->at[c * r->width + i]};
    StepFunction f = {.thresholds = thresholds,
                      .count = count,
                      .low_q = requant_first(r, c),
                      .high_q = requant_last(r, c),
                      .low_level = r->low[c],
                      .high_level = r->high[c],
                      .low_is_clamped = r->low[c] == r->least,
                      .high_is_clamped = r->high[c] == r->most};
    bool fits = fit_with(r, c, &f, slack, lines) || (slack > 0 && fit_with(r, c, &f, 0, lines));
    free(thresholds);
    if (r->falls[c]) lines->of[c].multiplier = -lines->of[c].multiplier;
    return fits;
}

/* Range of the lines over all channels; false beyond 62 bits. */
static bool find_range(const Requant *r, ChannelLines *lines)
{
    const int64_t limit = INT64_C(1) << 62, slack = (INT64_C(1) << lines->move_bits) - 1;
    lines->low = lines->high = 0;
    for (int64_t c = 0; c < r->channels; c++) {
        int64_t a, b, m = lines->of[c].multiplier;
        if (!i64_add(r->v->high, slack, &b) || !i64_mul(m, r->v->low, &a) || !i64_mul(m, b, &b) ||
            !i64_add(a, lines->of[c].addend, &a) || !i64_add(b, lines->of[c].addend, &b))
            return false;
        int64_t least = a < b ? a : b, most = a < b ? b : a;
        lines->low = least < lines->low ? least : lines->low;
        lines->high = most > lines->high ? most : lines->high;
    }
    return lines->low > -limit && lines->high < limit;
}

/* One line per channel, all with the same shift. */
static bool fit_all(const Requant *r, ChannelLines *lines)
{
    int shift = 0;
    for (int64_t c = 0; c < r->channels; c++) {
        if (!fit_channel(r, c, lines)) return false;
        shift = lines->of[c].shift > shift ? lines->of[c].shift : shift;
    }
    for (int64_t c = 0; c < r->channels; c++)
        if (!fixed_point_widen(&lines->of[c], shift)) return false;
    return find_range(r, lines);
}

/* ChannelLines with as few bits of moves as will do. */
static bool find_lines(const Requant *r, ChannelLines *lines)
{
    Arena *scratch = &r->lw->pass->scratch;
    *lines = (ChannelLines){.of = ARENA_ARRAY(scratch, FixedPoint, r->channels),
                            .levels = r->most - r->least + 1};
    if (fit_all(r, lines)) return true;
    if (lines->levels > MAX_MOVES / r->channels) return false;
    lines->moves = ARENA_ARRAY(scratch, int64_t, r->channels * lines->levels);
    while (++lines->move_bits <= MAX_MOVE_BITS)
        if (fit_all(r, lines)) return true;
    return false;
}

/* An element-wise kernel under construction on v and per-channel numbers. */
typedef struct AffineKernel {
    const Requant *r;
    const ChannelLines *lines;
    Generic generic;
    const Type *wide;
    Value *inputs[3];
    uint32_t count;
} AffineKernel;

/* A number per channel, which is an input of the kernel if they differ. */
typedef struct Numbers {
    uint32_t input; /* 0: all are equal */
    int64_t same;
} Numbers;

/* Inputs are as narrow as can be. */
static Numbers add_numbers(AffineKernel *k, const int64_t *values)
{
    OnnxLowering *lw = k->r->lw;
    int64_t low = values[0], high = values[0];
    for (int64_t c = 1; c < k->r->channels; c++) {
        low = values[c] < low ? values[c] : low;
        high = values[c] > high ? values[c] : high;
    }
    if (low == high) return (Numbers){.same = low};
    const Type *elem = type_i(lw->ctx, fixed_signed_width(low, high));
    const Type *type = type_tensor(elem, &k->r->channels, 1, NULL);
    k->inputs[k->count] =
        arith_constant(&lw->b, attr_dense_i64(type, values, (size_t)k->r->channels));
    return (Numbers){.input = k->count++};
}

static Value *number(AffineKernel *k, Numbers n, const Type *type)
{
    Builder *b = &k->generic.body;
    return n.input ? build_extend(b, generic_arg(&k->generic, n.input), type, false)
                   : arith_constant_int(b, type, n.same);
}

static Value *clamp(AffineKernel *k, Value *q)
{
    Builder *b = &k->generic.body;
    q = build_binary(b, ARITH(MAXSI), k->wide, q, arith_constant_int(b, k->wide, k->r->least));
    return build_binary(b, ARITH(MINSI), k->wide, q, arith_constant_int(b, k->wide, k->r->most));
}

static Value *level(AffineKernel *k, Value *line)
{
    Builder *b = &k->generic.body;
    int shift = k->lines->of[0].shift;
    if (shift > 0)
        line = build_binary(b, ARITH(SHRSI), k->wide, line, arith_constant_int(b, k->wide, shift));
    return clamp(k, line);
}

/* The moves as a constant tensor, channel by channel. */
static Value *move_table(const AffineKernel *k)
{
    OnnxLowering *lw = k->r->lw;
    const ChannelLines *lines = k->lines;
    const int64_t dims[] = {k->r->channels, lines->levels};
    const Type *elem = type_i(lw->ctx, lines->move_bits);
    int64_t *moves = ARENA_ARRAY(&lw->pass->scratch, int64_t, dims[0] * dims[1]);
    for (int64_t i = 0; i < dims[0] * dims[1]; i++) moves[i] = array_wrap(elem, lines->moves[i]);
    const Type *type = type_tensor(elem, dims, 2, NULL);
    return arith_constant(&lw->b, attr_dense_i64(type, moves, (size_t)(dims[0] * dims[1])));
}

/* line + m * n[level] */
static Value *move_line(AffineKernel *k, Value *line, Numbers factor, Value *moves)
{
    Builder *b = &k->generic.body;
    Context *ctx = k->r->lw->ctx;
    Value *place = level(k, line), *channel = arith_constant(b, attr_index(ctx, 0));
    if (k->r->least != 0)
        place = build_binary(b, ARITH(SUBI), k->wide, place,
                             arith_constant_int(b, k->wide, k->r->least));
    if (k->r->channels > 1) channel = linalg_index(b, (uint32_t)k->r->axis);
    place = build_unary(b, ARITH(INDEX_CASTUI), type_index(ctx), place);
    Value *operands[] = {moves, channel, place};
    const Type *elem = type_elem(moves->type);
    Value *move = op_result(build(b, TENSOR(EXTRACT), operands, 3, &elem, 1, NULL, 0), 0);
    Value *step = number(k, factor, k->wide);
    if (k->lines->move_bits == 1)
        step = arith_select(b, move, step, arith_constant_int(b, k->wide, 0));
    else
        step = build_binary(b, ARITH(MULI), k->wide, build_extend(b, move, k->wide, true), step);
    return build_binary(b, ARITH(ADDI), k->wide, line, step);
}

/* The type in which nothing overflows, inputs included. */
static const Type *working_type(const AffineKernel *k)
{
    int64_t low = k->lines->low < k->r->least ? k->lines->low : k->r->least;
    int64_t high = k->lines->high > k->r->most ? k->lines->high : k->r->most;
    uint32_t width = fixed_signed_width(low, high);
    for (uint32_t i = 0; i < k->count; i++) {
        uint32_t own = type_width(type_elem(k->inputs[i]->type));
        width = own > width ? own : width;
    }
    return type_i(k->r->lw->ctx, width);
}

static Value *build_lines(Requant *r, const ChannelLines *lines)
{
    OnnxLowering *lw = r->lw;
    int64_t *numbers = ARENA_ARRAY(&lw->pass->scratch, int64_t, r->channels);
    AffineKernel k = {.r = r, .lines = lines, .inputs = {r->v->value}, .count = 1};
    for (int64_t c = 0; c < r->channels; c++) numbers[c] = lines->of[c].multiplier;
    Numbers factor = add_numbers(&k, numbers);
    for (int64_t c = 0; c < r->channels; c++) numbers[c] = lines->of[c].addend;
    Numbers addend = add_numbers(&k, numbers);
    k.wide = working_type(&k);
    Value *moves = lines->move_bits > 0 ? move_table(&k) : NULL;
    const Type *type = requant_type(r);
    generic_along(lw, &k.generic, k.inputs, k.count, (uint32_t)r->axis);
    generic_open(lw, &k.generic, build_empty(lw, type));
    Builder *b = &k.generic.body;
    Value *q = build_extend(b, generic_arg(&k.generic, 0), k.wide, r->v->is_unsigned);
    if (factor.input || factor.same != 1)
        q = build_binary(b, ARITH(MULI), k.wide, q, number(&k, factor, k.wide));
    if (addend.input || addend.same != 0)
        q = build_binary(b, ARITH(ADDI), k.wide, q, number(&k, addend, k.wide));
    if (moves) q = move_line(&k, q, factor, moves);
    return generic_close(&k.generic, build_resize(b, level(&k, q), type_elem(type)));
}

Value *requant_build_affine(Requant *r)
{
    ChannelLines lines;
    return find_lines(r, &lines) ? build_lines(r, &lines) : NULL;
}
