/* Window processes: a flat scan over the positions of docs/streaming.md, which reads one word and
 * writes at most one word per output and iteration. Every window dimension keeps a history memory: the
 * outermost dimension keeps rows (the line buffer), the innermost one single words (the window
 * buffer). The taps of a position are the newest word and the entries of the histories; each level
 * multiplies them by the words that it recalls. Where words hold several positions, an element's
 * tap and its place there follow from its position.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-window.mir,
 * lit/lowering/dfg_to_emithls/window-words.mir */
#include <assert.h>

#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "lowering/dfg_to_emithls/internal.h"

enum { MAX_CONSTRAINTS = 4 * DFG_MAX_RANK };

typedef struct WindowConstraints {
    const AffineExpr *exprs[MAX_CONSTRAINTS];
    bool is_eq[MAX_CONSTRAINTS];
    uint32_t count;
} WindowConstraints;

typedef struct WindowLowering {
    EmithlsLowering *l;
    Context *ctx;
    WindowSchedule sched;
    const Type *word;              /* of the input */
    uint32_t scan;                 /* first counter of the scan in the nest */
    Value *history[DFG_MAX_RANK];  /* per level, NULL where the kernel extent is 1 */
    Value *taps[DFG_MAX_RANK + 1]; /* per level: words that the outer levels deliver */
} WindowLowering;

static const AffineExpr *counter(const WindowLowering *w, uint32_t i)
{
    return affine_dim(w->ctx, i);
}

/* Coordinate of the scan along window dimension i. */
static const AffineExpr *coordinate(const WindowLowering *w, uint32_t i)
{
    return counter(w, w->scan + i);
}

static void constrain(WindowConstraints *set, const AffineExpr *expr, bool is_eq)
{
    assert(set->count < MAX_CONSTRAINTS);
    set->exprs[set->count] = expr;
    set->is_eq[set->count++] = is_eq;
}

static const char *history_name(const WindowSchedule *sched, uint32_t level)
{
    static const char *const names[] = {"columns", "lines", "planes"};
    uint32_t from_inside = sched->params.count - 1 - level;
    return from_inside < COUNT_OF(names) ? names[from_inside] : "volumes";
}

static const char *taps_name(const WindowSchedule *sched, uint32_t level)
{
    static const char *const names[] = {"window", "column", "slab"};
    uint32_t from_inside = sched->params.count - level;
    return level == 0 ? "pixel" : from_inside < COUNT_OF(names) ? names[from_inside] : "taps";
}

/* history[taps][rows][positions of the inner dimensions][inner words], unit extents of taps and
 * inner words left out. Taps and rows are one wide word, or registers where one word is kept. */
static void declare_history(WindowLowering *w, uint32_t level)
{
    const WindowSchedule *sched = &w->sched;
    EmithlsNest *nest = &w->l->nest;
    int64_t dims[DFG_MAX_RANK + 2], row = sched_window_row_words(sched, level);
    uint32_t rank = 0, wide;
    if (sched_window_history(sched, level) == 0) return;
    if (sched_window_taps(sched, level) > 1) dims[rank++] = sched_window_taps(sched, level);
    dims[rank++] = sched_window_history(sched, level);
    wide = rank;
    for (uint32_t i = level + 1; i < sched->params.count; i++) dims[rank++] = sched->box[i];
    if (sched->inner_words > 1) dims[rank++] = sched->inner_words;
    Value *array = emithls_nest_variable(nest, history_name(sched, level), w->word, dims, rank);
    w->history[level] = array;
    Str storage = row == 1 ? STR("lutram") : to_emithls_storage_of(sched->window, level);
    for (uint32_t i = 1; i <= wide; i++) to_emithls_join_dim(nest, array, i, storage);
    if (row > 1) {
        emithls_nest_bind(nest, array, "ram_s2p", storage);
        emithls_nest_dependence(nest, array, row);
    }
}

static void declare_taps(WindowLowering *w, uint32_t level)
{
    int64_t taps = sched_window_taps(&w->sched, level);
    w->taps[level] = emithls_nest_variable(&w->l->nest, taps_name(&w->sched, level), w->word, &taps,
                                           taps > 1 ? 1 : 0);
    if (taps > 1) emithls_nest_partition(&w->l->nest, w->taps[level], 1);
}

/* Index of a history entry: tap and row expressions, then the scan's inner coordinates. */
static uint32_t history_index(const WindowLowering *w, uint32_t level, const AffineExpr *tap,
                              const AffineExpr *row, const AffineExpr **index)
{
    uint32_t n = 0;
    if (sched_window_taps(&w->sched, level) > 1) index[n++] = tap;
    index[n++] = row;
    for (uint32_t i = level + 1; i < w->sched.params.count; i++) index[n++] = coordinate(w, i);
    if (w->sched.inner_words > 1) index[n++] = coordinate(w, w->sched.params.count);
    return n;
}

static Value *load_tap(WindowLowering *w, uint32_t level, const AffineExpr *tap)
{
    return emithls_nest_load(&w->l->nest, w->taps[level], &tap,
                             sched_window_taps(&w->sched, level) > 1);
}

static void store_tap(WindowLowering *w, uint32_t level, Value *value, const AffineExpr *tap)
{
    emithls_nest_store(&w->l->nest, value, w->taps[level], &tap,
                       sched_window_taps(&w->sched, level) > 1);
}

/* Runs body for each tap of a level: an unrolled loop, or once when there is one tap. */
static NestMark open_taps(WindowLowering *w, uint32_t level, const char *name, const char *inner,
                          int64_t extent, const AffineExpr **tap, const AffineExpr **entry)
{
    EmithlsNest *nest = &w->l->nest;
    LoopSpec loops[2];
    uint32_t count = 0, first = nest->count;
    int64_t taps = sched_window_taps(&w->sched, level);
    *tap = *entry = affine_const(w->ctx, 0);
    if (taps > 1) {
        *tap = affine_dim(w->ctx, first + count);
        loops[count++] = (LoopSpec){"tap", taps};
    }
    if (extent > 1) {
        *entry = affine_dim(w->ctx, first + count);
        loops[count++] = (LoopSpec){inner, extent};
    }
    if (count == 0) return (NestMark){nest->b.block, nest->b.before, nest->count};
    return emithls_nest_open(nest, name, loops, count, LOOP_UNROLLED, -1, -1);
}

/* taps[level + 1][tap * recall + k] = history[tap][k * spacing], the newest from taps[level]. */
static void gather_taps(WindowLowering *w, uint32_t level)
{
    const WindowDim *dim = &w->sched.dim[level];
    const AffineExpr *tap, *k, *index[DFG_MAX_RANK + 2];
    NestMark mark = open_taps(w, level, "recall", "k", dim->recall - 1, &tap, &k);
    uint32_t n = history_index(w, level, tap, affine_mul_c(k, dim->spacing), index);
    Value *old = emithls_nest_load(&w->l->nest, w->history[level], index, n);
    store_tap(w, level + 1, old, affine_add(affine_mul_c(tap, dim->recall), k));
    emithls_nest_close(&w->l->nest, mark);
    mark = open_taps(w, level, "newest", "k", 1, &tap, &k);
    Value *newest = load_tap(w, level, tap);
    store_tap(w, level + 1, newest, affine_add_c(affine_mul_c(tap, dim->recall), dim->recall - 1));
    emithls_nest_close(&w->l->nest, mark);
}

/* history[tap][r] = history[tap][r + 1]; history[tap][last] = taps[level][tap] */
static void shift_history(WindowLowering *w, uint32_t level)
{
    const AffineExpr *tap, *row, *index[DFG_MAX_RANK + 2];
    int64_t rows = sched_window_history(&w->sched, level);
    EmithlsNest *nest = &w->l->nest;
    NestMark mark;
    if (rows > 1) {
        mark = open_taps(w, level, "age", "row", rows - 1, &tap, &row);
        uint32_t n = history_index(w, level, tap, affine_add_c(row, 1), index);
        Value *value = emithls_nest_load(nest, w->history[level], index, n);
        history_index(w, level, tap, row, index);
        emithls_nest_store(nest, value, w->history[level], index, n);
        emithls_nest_close(nest, mark);
    }
    mark = open_taps(w, level, "keep", "row", 1, &tap, &row);
    uint32_t n = history_index(w, level, tap, affine_const(w->ctx, rows - 1), index);
    emithls_nest_store(nest, load_tap(w, level, tap), w->history[level], index, n);
    emithls_nest_close(nest, mark);
}

static void update_level(WindowLowering *w, uint32_t level)
{
    if (!w->history[level]) {
        w->taps[level + 1] = w->taps[level];
        return;
    }
    declare_taps(w, level + 1);
    gather_taps(w, level);
    shift_history(w, level);
}

/* Input position of the scan position, inner words left out. */
static const AffineExpr *input_position(const WindowLowering *w)
{
    const AffineExpr *coordinates[DFG_MAX_RANK];
    for (uint32_t i = 0; i < w->sched.params.count; i++) coordinates[i] = coordinate(w, i);
    const AffineExpr *flat =
        emithls_affine_flatten(w->ctx, coordinates, w->sched.box, w->sched.params.count);
    return affine_add_c(flat, w->sched.shift);
}

/* Adds expr >= low and expr <= high where the range [min, max] does not imply it. */
static void constrain_between(WindowConstraints *set, const AffineExpr *expr, int64_t min,
                              int64_t max, int64_t low, int64_t high)
{
    if (min < low) constrain(set, affine_add_c(expr, -low), false);
    if (max > high) constrain(set, affine_add_c(affine_neg(expr), high), false);
}

/* Positions of the scan that lie in the input: the flat range, and for rows wider than the input's
 * each coordinate. */
static void reading_positions(const WindowLowering *w, WindowConstraints *set)
{
    const WindowDim *dim = w->sched.dim;
    const AffineExpr *position = input_position(w);
    int64_t pitch = 1, first = w->sched.begin / w->sched.inner_words + w->sched.shift,
            last = w->sched.end / w->sched.inner_words - 1 + w->sched.shift;
    for (uint32_t i = w->sched.params.count; i-- > 1;) {
        int64_t extent = dim[i].in;
        if (extent < w->sched.box[i]) {
            const AffineExpr *row = affine_floordiv(position, affine_const(w->ctx, pitch));
            const AffineExpr *within = affine_mod(row, affine_const(w->ctx, w->sched.box[i]));
            constrain_between(set, within, 0, w->sched.box[i] - 1, 0, extent - 1);
        }
        pitch *= w->sched.box[i];
    }
    constrain_between(set, position, first, last, 0, dim[0].in * pitch - 1);
}

static void read_pixel(WindowLowering *w)
{
    EmithlsNest *nest = &w->l->nest;
    WindowConstraints set = {.count = 0};
    const AffineExpr *none = NULL;
    reading_positions(w, &set);
    NestMark mark = {nest->b.block, nest->b.before, nest->count};
    if (set.count) mark = emithls_nest_open_if(nest, set.exprs, set.is_eq, set.count);
    emithls_nest_store(nest, emithls_nest_read(nest, to_emithls_port_stream(w->l, 0)), w->taps[0],
                       &none, 0);
    emithls_nest_close(nest, mark);
}

/* o_i * stride_i, in words, as the scan sees it. */
static const AffineExpr *output_coordinate(const WindowLowering *w, uint32_t i)
{
    return affine_add_c(coordinate(w, i), i == 0 ? -w->sched.lead : 0);
}

static void writing_positions(const WindowLowering *w, WindowConstraints *set)
{
    for (uint32_t i = 0; i < w->sched.params.count; i++) {
        const WindowDim *dim = &w->sched.dim[i];
        const AffineExpr *at = output_coordinate(w, i);
        int64_t min = i == 0 ? -w->sched.lead : 0, max = min + w->sched.box[i] - 1;
        constrain_between(set, at, min, max, 0, (dim->out - 1) * dim->stride);
        if (dim->stride > 1)
            constrain(set, affine_mod(at, affine_const(w->ctx, dim->stride)), true);
    }
}

/* Counters of an element of the output word; constant 0 where there is one value. */
typedef struct WindowLane {
    const WindowPart *part;
    const AffineExpr *outer, *inner;
    const AffineExpr *output[DFG_MAX_RANK], *kernel[DFG_MAX_RANK]; /* per window dimension */
} WindowLane;

/* The element's tap of the whole window. */
static const AffineExpr *tap_of(const WindowLane *lane, uint32_t i)
{
    return affine_add_c(lane->kernel[i], lane->part->first[i]);
}

/* Opens unrolled loops over the elements of the output word, in their order. */
static NestMark open_window(WindowLowering *w, WindowLane *lane)
{
    static const char *const outputs[] = {"x_u", "y_u", "z_u"}, *const kernel[] = {"kx", "ky",
                                                                                   "kz"};
    const WindowSchedule *sched = &w->sched;
    EmithlsNest *nest = &w->l->nest;
    LoopSpec loops[2 * DFG_MAX_RANK + 2];
    const AffineExpr **counters[COUNT_OF(loops)];
    uint32_t count = sched->params.count, used = 0, n = 0;
    loops[n] = (LoopSpec){"n_u", sched->outer_lanes};
    counters[n++] = &lane->outer;
    for (uint32_t i = 0; i < 2 * count; i++) {
        uint32_t dim = i % count, from_inside = count - 1 - dim;
        const char *const *names = i < count ? outputs : kernel;
        loops[n].counter = from_inside < COUNT_OF(outputs) ? names[from_inside]
                           : i < count                     ? "t_u"
                                                           : "k";
        loops[n].extent = i < count ? sched->dim[dim].outputs : lane->part->taps[dim];
        counters[n++] = i < count ? &lane->output[dim] : &lane->kernel[dim];
    }
    loops[n] = (LoopSpec){"lane", sched->inner_lanes};
    counters[n++] = &lane->inner;
    for (uint32_t i = 0; i < n; i++) {
        bool is_loop = loops[i].extent > 1;
        *counters[i] = is_loop ? affine_dim(w->ctx, nest->count + used) : affine_const(w->ctx, 0);
        if (is_loop) loops[used++] = loops[i];
    }
    if (used == 0) return (NestMark){nest->b.block, nest->b.before, nest->count};
    return emithls_nest_open(nest, "taps", loops, used, LOOP_UNROLLED, -1, -1);
}

/* Where the element lies inside the input. */
static void inside_positions(const WindowLowering *w, const WindowLane *lane,
                             WindowConstraints *set)
{
    const WindowParams *p = &w->sched.params;
    for (uint32_t i = 0; i < p->count; i++) {
        const AffineExpr *at = affine_mul_c(output_coordinate(w, i), w->sched.dim[i].pixels);
        at = affine_add(at, affine_mul_c(lane->output[i], p->stride[i]));
        at = affine_add(at, affine_mul_c(tap_of(lane, i), p->dilation[i]));
        int64_t first = lane->part->first[i] * p->dilation[i] - p->low[i];
        int64_t last =
            first + (p->out[i] - 1) * p->stride[i] + (lane->part->taps[i] - 1) * p->dilation[i];
        constrain_between(set, affine_add_c(at, -p->low[i]), first, last, 0,
                          p->in[p->first + i] - 1);
    }
}

/* The element among the taps: the word, then the place in the word. */
static Value *load_element(WindowLowering *w, const WindowLane *lane)
{
    const WindowSchedule *sched = &w->sched;
    const AffineExpr *word = affine_const(w->ctx, 0), *place = lane->outer, *index[2];
    uint32_t n = 0;
    for (uint32_t i = 0; i < sched->params.count; i++) {
        const WindowDim *dim = &sched->dim[i];
        bool is_single = dim->pixels == 1 && dim->outputs == 1;
        const AffineExpr *pixels = affine_const(w->ctx, dim->pixels);
        const AffineExpr *at = affine_mul_c(tap_of(lane, i), sched->params.dilation[i]);
        at = affine_add(at, affine_mul_c(lane->output[i], sched->params.stride[i]));
        at = affine_add_c(at, dim->origin);
        const AffineExpr *tap = is_single ? tap_of(lane, i) : affine_floordiv(at, pixels);
        word = affine_add(affine_mul_c(word, dim->recall), tap);
        place = affine_add(affine_mul_c(place, dim->pixels), affine_mod(at, pixels));
    }
    place = affine_add(affine_mul_c(place, sched->inner_lanes), lane->inner);
    if (sched_window_taps(sched, sched->params.count) > 1) index[n++] = word;
    if (sched->lanes > 1) index[n++] = place;
    return emithls_nest_load(&w->l->nest, w->taps[sched->params.count], index, n);
}

/* Place of the element in the output word. */
static const AffineExpr *output_place(const WindowLowering *w, const WindowLane *lane)
{
    const WindowSchedule *sched = &w->sched;
    const AffineExpr *to = lane->outer;
    for (uint32_t i = 0; i < sched->params.count; i++)
        to = affine_add(affine_mul_c(to, sched->dim[i].outputs), lane->output[i]);
    for (uint32_t i = 0; i < sched->params.count; i++)
        to = affine_add(affine_mul_c(to, lane->part->taps[i]), lane->kernel[i]);
    return affine_add(affine_mul_c(to, sched->inner_lanes), lane->inner);
}

/* The element of a part, or the padding where its tap lies outside the input. */
static Value *padded_element(WindowLowering *w, const WindowLane *lane)
{
    EmithlsNest *nest = &w->l->nest;
    WindowConstraints inside = {.count = 0};
    Value *value = load_element(w, lane);
    inside_positions(w, lane, &inside);
    if (inside.count == 0) return value;
    Value *condition = emithls_nest_condition(nest, inside.exprs, inside.is_eq, inside.count);
    Value *operands[3] = {condition, value,
                          emithls_nest_constant(nest, op_attr(w->sched.window, "pad_value"))};
    return op_result(build(&nest->b, ARITH(SELECT), operands, 3, &value->type, 1, NULL, 0), 0);
}

/* Copies the taps of a part into its output word. */
static void write_part(WindowLowering *w, uint32_t part)
{
    EmithlsNest *nest = &w->l->nest;
    WindowLane lane = {.part = &w->sched.parts[part]};
    Value *stream = to_emithls_port_stream(w->l, 1 + part);
    const Type *word = emithls_stream_word(stream->type);
    Value *result = emithls_nest_variable(nest, part ? "part" : "result", word, NULL, 0);
    NestMark mark = open_window(w, &lane);
    Value *value = padded_element(w, &lane);
    const AffineExpr *to = output_place(w, &lane);
    emithls_nest_store(nest, value, result, &to, word->kind == TYPE_VECTOR);
    emithls_nest_close(nest, mark);
    emithls_nest_write(nest, emithls_nest_load(nest, result, NULL, 0), stream);
}

static void write_window(WindowLowering *w)
{
    EmithlsNest *nest = &w->l->nest;
    WindowConstraints writing = {.count = 0};
    writing_positions(w, &writing);
    NestMark mark = {nest->b.block, nest->b.before, nest->count};
    if (writing.count)
        mark = emithls_nest_open_if(nest, writing.exprs, writing.is_eq, writing.count);
    for (uint32_t i = 0; i < w->sched.part_count; i++) write_part(w, i);
    emithls_nest_close(nest, mark);
}

static const char *scan_name(uint32_t from_inside)
{
    static const char *const names[] = {"x", "y", "z"};
    return from_inside < COUNT_OF(names) ? names[from_inside] : "t";
}

static NestMark open_scan(WindowLowering *w)
{
    const WindowSchedule *sched = &w->sched;
    EmithlsNest *nest = &w->l->nest;
    LoopSpec loops[DFG_MAX_RANK + 1];
    uint32_t count = sched->params.count;
    for (uint32_t i = 0; i < count; i++)
        loops[i] = (LoopSpec){scan_name(count - 1 - i), sched->box[i]};
    if (sched->inner_words > 1) loops[count++] = (LoopSpec){"c", sched->inner_words};
    int64_t total = sched->box[0] * sched_window_row_words(sched, 0);
    bool whole = sched->begin == 0 && sched->end == total;
    w->scan = nest->count;
    return emithls_nest_open(nest, "scan", loops, count, LOOP_PIPELINED, whole ? -1 : sched->begin,
                             sched->end);
}

bool to_emithls_window(EmithlsLowering *l)
{
    WindowLowering w = {.l = l, .ctx = l->process->ctx};
    if (!sched_window(l->process, NULL, &w.sched)) return false;
    w.word = emithls_stream_word(to_emithls_port_stream(l, 0)->type);
    for (uint32_t i = 0; i < w.sched.params.count; i++) declare_history(&w, i);
    NestMark frames = {l->nest.b.block, l->nest.b.before, l->nest.count};
    LoopSpec outer = {"n", w.sched.outer};
    if (w.sched.outer > 1)
        frames = emithls_nest_open(&l->nest, "batch", &outer, 1, LOOP_PLAIN, -1, -1);
    NestMark scan = open_scan(&w);
    declare_taps(&w, 0);
    read_pixel(&w);
    for (uint32_t i = 0; i < w.sched.params.count; i++) update_level(&w, i);
    write_window(&w);
    emithls_nest_close(&l->nest, scan);
    emithls_nest_close(&l->nest, frames);
    return true;
}
