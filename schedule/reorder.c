/* Schedules of reorder processes. The result's dimensions are split into digits, so that the map
 * needs no divisions. Then every way to cut both frames into blocks is tried whose trips come near
 * the least, and the buffer of each is sized exactly by walking all words. The time is linear in
 * the frames' words for each cut that is tried.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-move.mir */
#include <string.h>

#include "analysis/analysis.h"
#include "ir/asm/print/print.h"
#include "schedule/internal.h"
#include "schedule/schedule.h"

enum { MAX_SUFFIXES = DFG_MAX_RANK + 2 };

static const int64_t max_words = (int64_t)1 << 26; /* that are walked one by one */

static const Op *find_reorder(const Op *process)
{
    FOR_EACH_OP(op, region_entry(op_region(process, 0)))
        if (op->def == DFG(REORDER)) return op;
    return NULL;
}

static int64_t product(const int64_t *extents, uint32_t begin, uint32_t end)
{
    int64_t result = 1;
    for (uint32_t i = begin; i < end; i++) result *= extents[i];
    return result;
}

/* For each result word the source word (the tile) that it copies, or -1 if it is filled. */
typedef struct ReorderWalk {
    int32_t *source; /* out_words entries */
    int64_t *last;   /* `slots` entries: iteration of the last use, -1: none */
    int64_t in_words, out_words;
    int64_t slots;        /* source words, or tiles */
    int64_t *begin, *end; /* of each tile, its first and its last word; NULL: words */
} ReorderWalk;

/* The word that completes a slot. */
static int64_t last_word(const ReorderWalk *walk, int64_t slot)
{
    return walk->end ? walk->end[slot] : slot;
}

/* Slots of which one of the first `words` words is a part. Tiles begin in their order. */
static int64_t slots_begun(const ReorderWalk *walk, int64_t words)
{
    int64_t low = 0, high = walk->slots;
    if (!walk->begin) return words;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (walk->begin[middle] < words)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_inside(const MoveDigits *d, const int64_t *at)
{
    for (uint32_t i = 0; i < d->bound_count; i++)
        if (delinearize_form_at(&d->bounds[i], d->count, at) < 0) return false;
    return true;
}

static void next_digits(const MoveDigits *d, int64_t *at)
{
    for (uint32_t i = d->count; i-- > 0;) {
        if (++at[i] < d->extents[i]) return;
        at[i] = 0;
    }
}

static void walk_words(const MoveDigits *d, ReorderWalk *walk)
{
    int64_t at[MOVE_MAX_DIGITS] = {0};
    for (int64_t o = 0; o < walk->out_words; o++) {
        walk->source[o] =
            is_inside(d, at) ? (int32_t)delinearize_form_at(&d->address, d->count, at) : -1;
        next_digits(d, at);
    }
}

static int64_t read_time(const ReorderSchedule *p, int64_t word)
{
    return word / p->in_burst * p->step_trips + word % p->in_burst;
}

/* Words read at iterations up to `time`. */
static int64_t words_read(const ReorderSchedule *p, int64_t time)
{
    int64_t within = i64_min(time % p->step_trips + 1, p->in_burst);
    return i64_min(time / p->step_trips * p->in_burst + within, p->in_blocks * p->in_burst);
}

/* The inner loops: the result's inner digits, the first wide enough for a block of the source. */
static void shape_inner(const MoveDigits *d, ReorderSchedule *p)
{
    p->inner_count = 0;
    for (uint32_t i = p->level; i < d->count; i++) p->inner[p->inner_count++] = d->extents[i];
    if (p->inner_count == 0) p->inner[p->inner_count++] = 1;
    int64_t row = product(p->inner, 1, p->inner_count);
    p->inner[0] = i64_max(p->inner[0], ceil_div(p->in_burst, row));
    p->step_trips = p->inner[0] * row;
}

/* The least delay at which every word has arrived before it is used. */
static int64_t least_delay(const ReorderSchedule *p, const ReorderWalk *walk)
{
    int64_t late = 0, o = 0;
    for (int64_t block = 0; block < p->out_blocks; block++)
        for (int64_t i = 0; i < p->out_burst; i++, o++) {
            int64_t source = walk->source[o];
            if (source < 0) continue;
            int64_t ready = read_time(p, last_word(walk, source)) + REORDER_SLOT_DISTANCE;
            late = i64_max(late, ready - (block * p->step_trips + i));
        }
    return ceil_div(late, p->step_trips);
}

/* A depth a quarter above the least, if that spares the remainder (all words have a slot) or makes
 * it a mask. */
static int64_t handy_depth(int64_t least, int64_t words)
{
    int64_t power = 1, limit = least + least / 4;
    while (power < least) power *= 2;
    return words <= limit ? words : power <= limit ? power : least;
}

/* Slot of word w is w modulo the depth, so every word must be used up before word w + depth. The
 * same for tiles. */
static int64_t least_depth(const ReorderSchedule *p, const ReorderWalk *walk)
{
    int64_t depth = 1, o = 0;
    for (int64_t w = 0; w < walk->slots; w++) walk->last[w] = -1;
    for (int64_t block = 0; block < p->out_blocks; block++)
        for (int64_t i = 0; i < p->out_burst; i++, o++)
            if (walk->source[o] >= 0)
                walk->last[walk->source[o]] = (block + p->delay) * p->step_trips + i;
    for (int64_t w = 0; w < walk->slots; w++)
        if (walk->last[w] >= 0) {
            int64_t words = words_read(p, walk->last[w] + REORDER_SLOT_DISTANCE - 1);
            depth = i64_max(depth, slots_begun(walk, words) - w);
        }
    return handy_depth(i64_min(depth, walk->slots), walk->slots);
}

static void cut_frames(const MoveDigits *d, const ReorderWalk *walk, ReorderSchedule *p)
{
    shape_inner(d, p);
    p->delay = least_delay(p, walk);
    p->steps = i64_max(p->in_blocks, p->out_blocks + p->delay);
    p->depth = least_depth(p, walk);
}

typedef struct Cuts {
    const MoveDigits *digits;
    const ReorderWalk *walk;
    int64_t bursts[MAX_SUFFIXES]; /* of the source */
    uint32_t burst_count;
} Cuts;

/* Sets level and bursts; returns the trips without the delay, a bound from below. */
static int64_t set_cut(const Cuts *c, uint32_t level, int64_t in_burst, ReorderSchedule *p)
{
    p->level = level;
    p->in_burst = in_burst;
    p->in_blocks = c->walk->in_words / in_burst;
    p->out_blocks = product(c->digits->extents, 0, level);
    p->out_burst = c->walk->out_words / p->out_blocks;
    shape_inner(c->digits, p);
    return i64_max(p->in_blocks, p->out_blocks) * p->step_trips;
}

/* Blocks of the source are whole inner dimensions, or as many as the result has. */
static void list_bursts(Cuts *c, const int64_t *source, uint32_t rank)
{
    c->bursts[c->burst_count++] = 1;
    for (uint32_t i = rank; i-- > 0;)
        if (source[i] > 1) c->bursts[c->burst_count++] = product(source, i, rank);
}

/* Trips. Blocks of several digits count half as much again, because their addresses need
 * divisions. */
static int64_t effort(const ReorderSchedule *p)
{
    return sched_reorder_trips(p) * (p->level > 1 ? 3 : 2);
}

static bool is_worse(const ReorderSchedule *a, const ReorderSchedule *b, int64_t least)
{
    int64_t limit = least + least / 8;
    if (effort(a) > limit || effort(b) > limit) return effort(a) > effort(b);
    return a->depth != b->depth ? a->depth > b->depth : effort(a) > effort(b);
}

/* Among the cuts within an eighth of the least effort, the one of least memory. */
static void choose_cut(const Cuts *c, ReorderSchedule *best)
{
    ReorderSchedule p = *best;
    VEC(ReorderSchedule) found = {0};
    size_t chosen = 0;
    int64_t least = INT64_MAX;
    for (uint32_t level = 0; level <= c->digits->count; level++)
        for (uint32_t i = 0; i < c->burst_count; i++) {
            int64_t bound = set_cut(c, level, c->bursts[i], &p) * (level > 1 ? 3 : 2);
            if (bound > least) continue;
            cut_frames(c->digits, c->walk, &p);
            least = i64_min(least, effort(&p));
            *vec_push(&found) = p;
        }
    for (size_t i = 1; i < found.len; i++)
        if (is_worse(&found.data[chosen], &found.data[i], least)) chosen = i;
    *best = found.data[chosen];
    vec_free(&found);
}

static void choose_blocks(const MoveDigits *d, const int64_t *source, uint32_t rank,
                          ReorderSchedule *p)
{
    ReorderWalk walk = {.in_words = product(source, 0, rank),
                        .out_words = product(d->extents, 0, d->count)};
    if (!p->is_tiled) p->tiles = walk.in_words;
    walk.slots = p->tiles;
    Cuts cuts = {.digits = d, .walk = &walk};
    Arena arena;
    arena_init(&arena);
    walk.source = ARENA_ARRAY(&arena, int32_t, walk.out_words);
    walk.last = ARENA_ARRAY(&arena, int64_t, walk.slots);
    if (p->is_tiled) {
        walk.begin = ARENA_ARRAY(&arena, int64_t, walk.slots);
        walk.end = ARENA_ARRAY(&arena, int64_t, walk.slots);
        sched_tile_words(p, walk.begin, walk.end);
    }
    walk_words(d, &walk);
    list_bursts(&cuts, source, rank);
    choose_cut(&cuts, p);
    arena_free(&arena);
}

static void take_digits(const MoveDigits *d, ReorderSchedule *out)
{
    out->digit_count = d->count;
    memcpy(out->digits, d->extents, d->count * sizeof *d->extents);
    out->address = d->address.expr;
    out->bound_count = d->bound_count;
    for (uint32_t i = 0; i < d->bound_count; i++) out->bounds[i] = d->bounds[i].expr;
}

static bool schedule_words(const Op *reorder, int64_t lanes, ReorderSchedule *out, MoveDigits *d)
{
    const Type *source = op_operand(reorder, 0)->type, *result = op_result(reorder, 0)->type;
    int64_t words[DFG_MAX_RANK];
    uint32_t rank = source->u.shaped.rank;
    if (!delinearize_map(dfg_reorder_map(reorder), result, source, lanes, d)) return false;
    for (uint32_t i = 0; i < rank; i++)
        words[i] = source->u.shaped.dims[i] / (i + 1 == rank ? lanes : 1);
    out->reorder = reorder;
    out->lanes = out->in_lanes = lanes;
    out->parts = 1;
    take_digits(d, out);
    choose_blocks(d, words, rank, out);
    return true;
}

static bool check_sizes(const Op *reorder, int64_t lanes)
{
    int64_t in = 0, out = 0;
    return type_element_count(op_operand(reorder, 0)->type, &in) &&
           type_element_count(op_result(reorder, 0)->type, &out) && in / lanes <= max_words &&
           out / lanes <= max_words;
}

bool sched_reorder_packed(const Op *process, int64_t lanes, ReorderSchedule *out)
{
    MoveDigits digits;
    const Op *reorder = find_reorder(process);
    *out = (ReorderSchedule){.process = process};
    return check_sizes(reorder, lanes) && schedule_words(reorder, lanes, out, &digits);
}

static bool schedule_tiles(const Op *reorder, const int64_t *in_word, const int64_t *out_word,
                           ReorderSchedule *out, MoveDigits *d)
{
    if (!sched_reorder_tiles(reorder, in_word, out_word, out, d)) return false;
    take_digits(d, out);
    choose_blocks(d, out->grid, out->source_rank, out);
    return true;
}

bool sched_reorder_tiled(const Op *process, const int64_t *in_word, const int64_t *out_word,
                         ReorderSchedule *out)
{
    MoveDigits digits;
    const Op *reorder = find_reorder(process);
    *out = (ReorderSchedule){.process = process};
    return check_sizes(reorder, 1) && schedule_tiles(reorder, in_word, out_word, out, &digits);
}

/* Elements per word where all words are as many of the innermost dimension; 0: they are not. */
static int64_t common_lanes(const Type *type, const int64_t *word)
{
    uint32_t rank = type->u.shaped.rank;
    for (uint32_t i = 0; i + 1 < rank; i++)
        if (word[i] != 1) return 0;
    return rank ? word[rank - 1] : 1;
}

bool sched_reorder(const Op *process, ReorderSchedule *out)
{
    const Op *reorder = find_reorder(process);
    int64_t in[2 * DFG_MAX_RANK], to[2 * DFG_MAX_RANK];
    MoveDigits digits;
    *out = (ReorderSchedule){.process = process};
    const Type *source = op_operand(reorder, 0)->type, *result = op_result(reorder, 0)->type;
    if (dfg_input_count(process) != 1 || dfg_output_count(process) != 1)
        return op_error(process, "reorders one input into one output");
    const Op *pull = value_def(reshape_source(op_operand(reorder, 0)));
    if (!pull || pull->def != DFG(PULL))
        return op_error(reorder, "reorders a tensor that does not come from the process's port");
    if (!sched_port_word(process, 0, dfg_port(process, 0)->type, source, in) ||
        !sched_port_word(process, 1, dfg_port(process, 1)->type, result, to))
        return false;
    int64_t lanes = common_lanes(source, in);
    if (!check_sizes(reorder, lanes ? lanes : 1))
        return op_error(reorder, "moves more than 2^26 words, too many to plan a buffer for");
    if (lanes && lanes == common_lanes(result, to) && schedule_words(reorder, lanes, out, &digits))
        return true;
    *out = (ReorderSchedule){.process = process};
    return schedule_tiles(reorder, in, to, out, &digits) ||
           op_error(reorder, "map %s cannot regroup words of %lld elements to words of %lld",
                    map_str(process->ctx, dfg_reorder_map(reorder)),
                    (long long)dfg_word_elems(dfg_port(process, 0)->type),
                    (long long)dfg_word_elems(dfg_port(process, 1)->type));
}

int64_t sched_reorder_trips(const ReorderSchedule *sched)
{
    return sched->steps * sched->step_trips;
}
