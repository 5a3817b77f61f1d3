/* Processes that move words. A reorder is one loop over steps of blocks: it stores a word of the
 * source in a circular buffer and loads one for the result. A merge is one loop over the words of
 * the result, each of which is taken from the port in whose part it lies.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-move.mir */
#include "dialects/emithls/emithls.h"
#include "lowering/dfg_to_emithls/internal.h"
#include "schedule/schedule.h"

/* Stores a scalar in every element of a word variable. */
static void store_fill(EmithlsNest *nest, const Attr *fill, Value *word, int64_t lanes)
{
    const AffineExpr *lane = affine_dim(nest->b.ctx, nest->count);
    LoopSpec loop = {"lane", lanes};
    Value *value = emithls_nest_constant(nest, fill);
    if (lanes == 1) {
        emithls_nest_store(nest, value, word, &lane, 0);
        return;
    }
    NestMark mark = emithls_nest_open(nest, "fill", &loop, 1, LOOP_UNROLLED, -1, -1);
    emithls_nest_store(nest, value, word, &lane, 1);
    emithls_nest_close(nest, mark);
}

typedef struct Condition {
    const AffineExpr *exprs[4 * DFG_MAX_RANK];
    bool is_eq[4 * DFG_MAX_RANK];
    uint32_t count;
} Condition;

static void require(Condition *c, const AffineExpr *expr, bool is_eq)
{
    c->exprs[c->count] = expr;
    c->is_eq[c->count++] = is_eq;
}

/* low <= counter <= high, where the counter's extent does not say so. */
static void require_between(Condition *c, const AffineExpr *counter, int64_t extent, int64_t low,
                            int64_t high)
{
    if (low > 0) require(c, affine_add_c(counter, -low), false);
    if (high < extent - 1) require(c, affine_add_c(affine_neg(counter), high), false);
}

static NestMark open_where(EmithlsNest *nest, const Condition *c)
{
    if (c->count) return emithls_nest_open_if(nest, c->exprs, c->is_eq, c->count);
    return (NestMark){nest->b.block, nest->b.before, nest->count};
}

typedef struct ReorderLowering {
    EmithlsLowering *l;
    Context *ctx;
    ReorderSchedule sched;
    uint32_t first;                     /* counter of the steps */
    uint32_t counters[MOVE_MAX_DIGITS]; /* of the inner loops; 0: one trip */
    Value *buffer;
} ReorderLowering;

static const AffineExpr *step_counter(const ReorderLowering *r)
{
    return affine_dim(r->ctx, r->first);
}

static const AffineExpr *inner_counter(const ReorderLowering *r, uint32_t i)
{
    return r->counters[i] ? affine_dim(r->ctx, r->counters[i]) : affine_const(r->ctx, 0);
}

/* Iteration within a step. */
static const AffineExpr *step_position(const ReorderLowering *r)
{
    const AffineExpr *counters[MOVE_MAX_DIGITS];
    for (uint32_t i = 0; i < r->sched.inner_count; i++) counters[i] = inner_counter(r, i);
    return emithls_affine_flatten(r->ctx, counters, r->sched.inner, r->sched.inner_count);
}

static const AffineExpr *slot(const ReorderLowering *r, const AffineExpr *word)
{
    bool wraps = r->sched.depth < r->sched.tiles;
    return wraps ? affine_mod(word, affine_const(r->ctx, r->sched.depth)) : word;
}

/* Coordinate i of the word that is being read, among those of the source. Blocks are whole inner
 * dimensions, so each coordinate follows from the step alone or from the position in it. */
static const AffineExpr *read_coordinate(const ReorderLowering *r, uint32_t i)
{
    const ReorderSchedule *p = &r->sched;
    uint32_t first = p->source_rank, begin;
    for (int64_t words = 1; words < p->in_burst && first > 0;) words *= p->grid[--first];
    bool is_inside = i >= first;
    const AffineExpr *at = is_inside ? step_position(r) : step_counter(r);
    for (uint32_t k = (is_inside ? p->source_rank : first); k-- > i + 1;)
        at = affine_floordiv(at, affine_const(r->ctx, p->grid[k]));
    for (begin = is_inside ? first : 0; begin < i && p->grid[begin] == 1;) begin++;
    if (p->grid[i] == 1) return affine_const(r->ctx, 0);
    return begin < i ? affine_mod(at, affine_const(r->ctx, p->grid[i])) : at;
}

/* Slot and part of the tile in which the word lies that is being read. */
static void read_place(const ReorderLowering *r, const AffineExpr **place)
{
    const ReorderSchedule *p = &r->sched;
    const AffineExpr *tile = affine_const(r->ctx, 0), *part = tile;
    for (uint32_t i = 0; i < p->source_rank; i++) {
        int64_t parts = p->tile[i] / p->in_word[i];
        const AffineExpr *at = read_coordinate(r, i), *count = affine_const(r->ctx, parts);
        tile = affine_add(affine_mul_c(tile, p->grid[i] / parts), affine_floordiv(at, count));
        part = affine_add(affine_mul_c(part, parts), affine_mod(at, count));
    }
    place[0] = slot(r, tile);
    place[1] = part;
}

static void read_block(ReorderLowering *r)
{
    EmithlsNest *nest = &r->l->nest;
    Condition where = {.count = 0};
    const AffineExpr *position = step_position(r);
    require_between(&where, step_counter(r), r->sched.steps, 0, r->sched.in_blocks - 1);
    require_between(&where, position, r->sched.step_trips, 0, r->sched.in_burst - 1);
    NestMark mark = open_where(nest, &where);
    Value *word = emithls_nest_read(nest, to_emithls_port_stream(r->l, 0));
    const AffineExpr *number =
        affine_add(affine_mul_c(step_counter(r), r->sched.in_burst), position);
    const AffineExpr *place[2] = {slot(r, number), NULL};
    if (r->sched.is_tiled) read_place(r, place);
    emithls_nest_store(nest, word, r->buffer, place, r->sched.parts > 1 ? 2 : 1);
    emithls_nest_close(nest, mark);
}

/* The result's digits: those of the block from the step, the others from the inner loops. */
static void result_digits(const ReorderLowering *r, const AffineExpr **out)
{
    const AffineExpr *rest = affine_add_c(step_counter(r), -r->sched.delay);
    for (uint32_t i = r->sched.level; i-- > 0;) {
        const AffineExpr *extent = affine_const(r->ctx, r->sched.digits[i]);
        out[i] = i ? affine_mod(rest, extent) : rest;
        rest = affine_floordiv(rest, extent);
    }
    for (uint32_t i = r->sched.level; i < r->sched.digit_count; i++)
        out[i] = inner_counter(r, i - r->sched.level);
}

static const AffineExpr *over_digits(const ReorderLowering *r, const AffineExpr *expr)
{
    const AffineExpr *digits[MOVE_MAX_DIGITS];
    result_digits(r, digits);
    return affine_replace(expr, digits, r->sched.digit_count, NULL, 0);
}

static Value *load_slot(ReorderLowering *r)
{
    const AffineExpr *number = slot(r, over_digits(r, r->sched.address));
    return emithls_nest_load(&r->l->nest, r->buffer, &number, 1);
}

/* Part of the tile and element of its word where a lane of the result's word is. */
static void lane_place(const ReorderLowering *r, const AffineExpr *const *lanes,
                       const AffineExpr **part, const AffineExpr **element)
{
    const ReorderSchedule *p = &r->sched;
    *part = *element = affine_const(r->ctx, 0);
    for (uint32_t i = 0; i < p->source_rank; i++) {
        const AffineExpr *size = affine_const(r->ctx, p->in_word[i]);
        const AffineExpr *at = over_digits(r, p->inside[i]);
        if (p->lane_of[i] >= 0) at = affine_add(at, lanes[p->lane_of[i]]);
        *element = affine_mul_c(*element, p->in_word[i]);
        if (p->tile[i] == p->in_word[i]) {
            *element = affine_add(*element, at);
            continue;
        }
        *part =
            affine_add(affine_mul_c(*part, p->tile[i] / p->in_word[i]), affine_floordiv(at, size));
        *element = affine_add(*element, affine_mod(at, size));
    }
}

/* A word of the result, gathered from the parts of its tile. */
static Value *gather_tile(ReorderLowering *r, const Type *word)
{
    static const char *const names[] = {"lane", "lane2", "lane3", "lane4"};
    EmithlsNest *nest = &r->l->nest;
    const ReorderSchedule *p = &r->sched;
    const AffineExpr *lanes[DFG_MAX_RANK], *place[3], *part, *element;
    const AffineExpr *flat = affine_const(r->ctx, 0);
    LoopSpec loops[DFG_MAX_RANK];
    uint32_t count = 0, rank = 1;
    Value *result = emithls_nest_variable(nest, "result", word, NULL, 0);
    for (uint32_t j = 0; j < p->result_rank; j++) {
        lanes[j] = affine_const(r->ctx, 0);
        if (p->out_word[j] == 1) continue;
        lanes[j] = affine_dim(r->ctx, nest->count + count);
        loops[count] = (LoopSpec){names[count < COUNT_OF(names) ? count : 0], p->out_word[j]};
        count++;
        flat = affine_add(affine_mul_c(flat, p->out_word[j]), lanes[j]);
    }
    NestMark mark = {nest->b.block, nest->b.before, nest->count};
    if (count) mark = emithls_nest_open(nest, "gather", loops, count, LOOP_UNROLLED, -1, -1);
    place[0] = slot(r, over_digits(r, p->address));
    lane_place(r, lanes, &part, &element);
    if (p->parts > 1) place[rank++] = part;
    if (p->in_lanes > 1) place[rank++] = element;
    emithls_nest_store(nest, emithls_nest_load(nest, r->buffer, place, rank), result, &flat,
                       p->lanes > 1);
    emithls_nest_close(nest, mark);
    return emithls_nest_load(nest, result, NULL, 0);
}

/* The word where the source has it, else the fill value. */
static Value *load_or_fill(ReorderLowering *r, const Type *word)
{
    EmithlsNest *nest = &r->l->nest;
    Condition inside = {.count = 0};
    Value *result = emithls_nest_variable(nest, "result", word, NULL, 0);
    for (uint32_t i = 0; i < r->sched.bound_count; i++)
        require(&inside, over_digits(r, r->sched.bounds[i]), false);
    store_fill(nest, op_attr(r->sched.reorder, "fill"), result, r->sched.lanes);
    NestMark mark = open_where(nest, &inside);
    emithls_nest_store(nest, load_slot(r), result, NULL, 0);
    emithls_nest_close(nest, mark);
    return emithls_nest_load(nest, result, NULL, 0);
}

static void write_block(ReorderLowering *r)
{
    EmithlsNest *nest = &r->l->nest;
    const ReorderSchedule *p = &r->sched;
    Value *stream = to_emithls_port_stream(r->l, 1);
    Condition where = {.count = 0};
    int64_t row = p->step_trips / p->inner[0];
    require_between(&where, step_counter(r), p->steps, p->delay, p->delay + p->out_blocks - 1);
    require_between(&where, inner_counter(r, 0), p->inner[0], 0, p->out_burst / row - 1);
    NestMark mark = open_where(nest, &where);
    const Type *type = emithls_stream_word(stream->type);
    Value *word = p->is_tiled      ? gather_tile(r, type)
                  : p->bound_count ? load_or_fill(r, type)
                                   : load_slot(r);
    emithls_nest_write(nest, word, stream);
    emithls_nest_close(nest, mark);
}

static NestMark open_steps(ReorderLowering *r)
{
    static const char *const names[] = {"i", "j", "k", "l", "m", "n"};
    LoopSpec loops[MOVE_MAX_DIGITS + 1] = {{"block", r->sched.steps}};
    uint32_t count = 1;
    r->first = r->l->nest.count;
    for (uint32_t i = 0; i < r->sched.inner_count; i++) {
        if (r->sched.inner[i] == 1) continue;
        r->counters[i] = r->first + count;
        loops[count] =
            (LoopSpec){count <= COUNT_OF(names) ? names[count - 1] : "o", r->sched.inner[i]};
        count++;
    }
    return emithls_nest_open(&r->l->nest, "reorder", loops, count, LOOP_PIPELINED, -1, -1);
}

bool to_emithls_reorder(EmithlsLowering *l)
{
    ReorderLowering r = {.l = l, .ctx = l->process->ctx};
    if (!sched_reorder(l->process, &r.sched)) return false;
    const Type *word = emithls_stream_word(to_emithls_port_stream(l, 0)->type);
    const int64_t dims[2] = {r.sched.depth, r.sched.parts};
    r.buffer = emithls_nest_variable(&l->nest, "buffer", word, dims, r.sched.parts > 1 ? 2 : 1);
    if (r.sched.parts > 1) emithls_nest_partition(&l->nest, r.buffer, 2);
    emithls_nest_bind(&l->nest, r.buffer, "ram_s2p", to_emithls_storage_of(r.sched.reorder, 0));
    emithls_nest_dependence(&l->nest, r.buffer, REORDER_SLOT_DISTANCE);
    NestMark mark = open_steps(&r);
    read_block(&r);
    write_block(&r);
    emithls_nest_close(&l->nest, mark);
    return true;
}

static void part_condition(Context *ctx, const MergeSchedule *sched, const MergePart *part,
                           uint32_t first, Condition *out)
{
    for (uint32_t d = 0, next = first; d < sched->rank; d++) {
        if (sched->extents[d] == 1) continue;
        const AffineExpr *at = affine_dim(ctx, next++);
        int64_t low = part->offset[d], high = low + (part->size[d] - 1) * part->stride[d];
        require_between(out, at, sched->extents[d], low, high);
        if (part->stride[d] > 1 && part->size[d] > 1)
            require(out, affine_mod(affine_add_c(at, -low), affine_const(ctx, part->stride[d])),
                    true);
    }
}

/* Loops over the dimensions but those of one word. */
static NestMark open_grid(EmithlsNest *nest, const MergeSchedule *sched)
{
    static const char *const names[] = {"c", "x", "y", "z"};
    LoopSpec loops[DFG_MAX_RANK + 1];
    uint32_t count = 0;
    for (uint32_t d = 0; d < sched->rank; d++) {
        uint32_t from_inside = sched->rank - 1 - d;
        if (sched->extents[d] > 1)
            loops[count++] = (LoopSpec){from_inside < COUNT_OF(names) ? names[from_inside] : "n",
                                        sched->extents[d]};
    }
    if (count == 0) loops[count++] = (LoopSpec){"i", 1};
    return emithls_nest_open(nest, "merge", loops, count, LOOP_PIPELINED, -1, -1);
}

/* Word of a part at the nest's position, counted in the part. */
static const AffineExpr *part_word(Context *ctx, const MergeSchedule *sched, const MergePart *part,
                                   uint32_t first)
{
    const AffineExpr *at[DFG_MAX_RANK];
    for (uint32_t d = 0, next = first; d < sched->rank; d++) {
        at[d] = affine_const(ctx, 0);
        if (sched->extents[d] > 1)
            at[d] = affine_floordiv(affine_add_c(affine_dim(ctx, next++), -part->offset[d]),
                                    affine_const(ctx, part->stride[d]));
    }
    return emithls_affine_flatten(ctx, at, part->size, sched->rank);
}

/* A constant's elements word by word; NULL for one that is the same everywhere. */
static Value *constant_table(EmithlsLowering *l, const MergeSchedule *sched, uint32_t source)
{
    const Attr *value = sched_merge_constant(sched, source);
    int64_t dims[2] = {sched_merge_words(sched, source), sched->lanes};
    const Type *type = type_tensor(type_elem(value->type), dims, sched->lanes > 1 ? 2 : 1, NULL);
    if (value->u.dense.is_splat) return NULL;
    const Attr *elements = attr_dense_raw(type, value->u.dense.data, value->u.dense.size, false);
    return to_emithls_declare_table(
        l, elements, to_emithls_table_type(elements), STR("part"), "rom_1p",
        to_emithls_storage_of(value_def(op_operand(sched->merge, source)), 0), sched->lanes > 1);
}

static void take_constant(EmithlsLowering *l, const MergeSchedule *sched, uint32_t source,
                          Value *table, uint32_t first, Value *result)
{
    EmithlsNest *nest = &l->nest;
    if (!table) {
        store_fill(nest, dense_elem(sched_merge_constant(sched, source), 0), result, sched->lanes);
        return;
    }
    const AffineExpr *lane = affine_dim(nest->b.ctx, nest->count), *index[2];
    index[0] = part_word(nest->b.ctx, sched, &sched->parts[source], first);
    index[1] = lane;
    LoopSpec loop = {"lane", sched->lanes};
    NestMark mark = {nest->b.block, nest->b.before, nest->count};
    if (sched->lanes > 1) mark = emithls_nest_open(nest, "part", &loop, 1, LOOP_UNROLLED, -1, -1);
    Value *element = emithls_nest_load(nest, table, index, sched->lanes > 1 ? 2 : 1);
    emithls_nest_store(nest, element, result, &lane, sched->lanes > 1);
    emithls_nest_close(nest, mark);
}

/* The parts that a word lies in, each taken where it is. */
static void take_parts(EmithlsLowering *l, const MergeSchedule *sched, Value *const *tables,
                       uint32_t first, Value *result)
{
    EmithlsNest *nest = &l->nest;
    for (uint32_t i = 0; i < sched->source_count; i++) {
        Condition where = {.count = 0};
        part_condition(l->process->ctx, sched, &sched->parts[i], first, &where);
        NestMark part = open_where(nest, &where);
        if (sched->port[i] >= 0)
            emithls_nest_store(
                nest, emithls_nest_read(nest, to_emithls_port_stream(l, (uint32_t)sched->port[i])),
                result, NULL, 0);
        else
            take_constant(l, sched, i, tables[i], first, result);
        emithls_nest_close(nest, part);
    }
}

bool to_emithls_merge(EmithlsLowering *l)
{
    MergeSchedule sched;
    EmithlsNest *nest = &l->nest;
    Value *tables[SCHED_MAX_STREAMS] = {NULL};
    uint32_t first = nest->count;
    if (!sched_merge(l->process, &sched)) return false;
    for (uint32_t i = 0; i < sched.source_count; i++)
        if (sched.port[i] < 0) tables[i] = constant_table(l, &sched, i);
    NestMark grid = open_grid(nest, &sched);
    Value *out = to_emithls_port_stream(l, dfg_input_count(l->process));
    Value *result = emithls_nest_variable(nest, "result", emithls_stream_word(out->type), NULL, 0);
    const Attr *fill = op_attr(sched.merge, "fill");
    if (fill) store_fill(nest, fill, result, sched.lanes);
    take_parts(l, &sched, tables, first, result);
    emithls_nest_write(nest, emithls_nest_load(nest, result, NULL, 0), out);
    emithls_nest_close(nest, grid);
    return true;
}
