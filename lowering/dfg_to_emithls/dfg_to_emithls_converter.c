/* Width converters: one pipelined loop over the small words, and a shift register of the small words
 * of a large one. A converter that joins shifts them in and sends the large word when it is
 * complete; one that splits fills the register with a large word and shifts them out. So every
 * element has a constant place in the large word: an index that moves there would be a shifter as
 * wide as the word.
 * Tests: lit/lowering/dfg_to_emithls/converter.mir */
#include "dialects/emithls/emithls.h"
#include "lowering/dfg_to_emithls/internal.h"
#include "schedule/schedule.h"

typedef struct ConverterLowering {
    EmithlsLowering *l;
    Context *ctx;
    ConverterSchedule sched;
    const AffineExpr *part[2 * DFG_MAX_RANK]; /* per dimension: counter of the pipelined loop, which
                                                 small word of the large one */
    int64_t part_count;                       /* small words of a large one */
    Value *parts;                             /* the shift register, the oldest word first */
} ConverterLowering;

static int64_t part_count(const ConverterSchedule *sched, uint32_t i)
{
    return sched->large[i] / sched->small[i];
}

/* Counters are named after their dimension from inside; suffix: 0, and of unrolled loops 1 for parts
 * and 2 for elements of a part. */
static const char *counter_name(const ConverterSchedule *sched, uint32_t dim, int suffix)
{
    static const char *const names[][5] = {{"c", "x", "y", "z", "n"},
                                           {"c_g", "x_g", "y_g", "z_g", "n_g"},
                                           {"c_u", "x_u", "y_u", "z_u", "n_u"}};
    uint32_t from_inside = sched->rank - 1 - dim;
    return names[suffix][from_inside < 4 ? from_inside : 4];
}

/* for each large word, for each of its parts */
static NestMark open_words(ConverterLowering *c)
{
    LoopSpec loops[2 * DFG_MAX_RANK + 1] = {{"word", c->sched.words}};
    EmithlsNest *nest = &c->l->nest;
    uint32_t count = 1;
    for (uint32_t i = 0; i < c->sched.rank; i++) {
        bool is_loop = part_count(&c->sched, i) > 1;
        c->part[i] = is_loop ? affine_dim(c->ctx, nest->count + count) : affine_const(c->ctx, 0);
        if (is_loop)
            loops[count++] = (LoopSpec){counter_name(&c->sched, i, 0), part_count(&c->sched, i)};
    }
    return emithls_nest_open(nest, c->sched.joins ? "join" : "split", loops, count, LOOP_PIPELINED,
                             -1, -1);
}

/* Opens an if on "the first (last) part". */
static NestMark open_edge(ConverterLowering *c, bool last)
{
    const AffineExpr *exprs[2 * DFG_MAX_RANK];
    bool is_eq[2 * DFG_MAX_RANK];
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->sched.rank; i++) {
        if (part_count(&c->sched, i) == 1) continue;
        is_eq[count] = true;
        exprs[count++] = last ? affine_add_c(c->part[i], 1 - part_count(&c->sched, i)) : c->part[i];
    }
    return emithls_nest_open_if(&c->l->nest, exprs, is_eq, count);
}

/* Opens unrolled loops over the elements of the large word, as small words and their elements. */
static NestMark open_elements(ConverterLowering *c, const AffineExpr **part,
                              const AffineExpr **lane)
{
    LoopSpec loops[4 * DFG_MAX_RANK];
    uint32_t count = 0, first = c->l->nest.count, rank = c->sched.rank;
    for (uint32_t i = 0; i < 2 * rank; i++) {
        bool is_lane = i >= rank;
        uint32_t dim = i % rank;
        int64_t extent = is_lane ? c->sched.small[dim] : part_count(&c->sched, dim);
        const AffineExpr **counter = is_lane ? &lane[dim] : &part[dim];
        *counter = extent > 1 ? affine_dim(c->ctx, first + count) : affine_const(c->ctx, 0);
        if (extent > 1)
            loops[count++] = (LoopSpec){counter_name(&c->sched, dim, is_lane ? 2 : 1), extent};
    }
    return emithls_nest_open(&c->l->nest, "elements", loops, count, LOOP_UNROLLED, -1, -1);
}

/* large[place of the part's lane] <-> parts[number of the part][lane] */
static void copy_elements(ConverterLowering *c, Value *large)
{
    EmithlsNest *nest = &c->l->nest;
    const AffineExpr *part[2 * DFG_MAX_RANK], *lane[2 * DFG_MAX_RANK];
    NestMark mark = open_elements(c, part, lane);
    const AffineExpr *place = affine_const(c->ctx, 0), *index[2] = {place, place};
    for (uint32_t i = 0; i < c->sched.rank; i++) {
        const AffineExpr *at = affine_add(affine_mul_c(part[i], c->sched.small[i]), lane[i]);
        place = affine_add(affine_mul_c(place, c->sched.large[i]), at);
        index[0] = affine_add(affine_mul_c(index[0], part_count(&c->sched, i)), part[i]);
        index[1] = affine_add(affine_mul_c(index[1], c->sched.small[i]), lane[i]);
    }
    uint32_t rank = emithls_array_elem(c->parts->type)->kind == TYPE_VECTOR ? 2 : 1;
    if (c->sched.joins)
        emithls_nest_store(nest, emithls_nest_load(nest, c->parts, index, rank), large, &place, 1);
    else
        emithls_nest_store(nest, emithls_nest_load(nest, large, &place, 1), c->parts, index, rank);
    emithls_nest_close(nest, mark);
}

static const Type *word_of(const ConverterLowering *c, uint32_t port)
{
    return emithls_stream_word(to_emithls_port_stream(c->l, port)->type);
}

static void declare_parts(ConverterLowering *c)
{
    EmithlsNest *nest = &c->l->nest;
    c->part_count = 1;
    for (uint32_t i = 0; i < c->sched.rank; i++) c->part_count *= part_count(&c->sched, i);
    c->parts =
        emithls_nest_variable(nest, "parts", word_of(c, c->sched.joins ? 0 : 1), &c->part_count, 1);
    emithls_nest_partition(nest, c->parts, 1);
}

/* parts[i] = parts[i + 1] */
static void shift_parts(ConverterLowering *c)
{
    EmithlsNest *nest = &c->l->nest;
    LoopSpec loop = {"i", c->part_count - 1};
    const AffineExpr *to = affine_dim(c->ctx, nest->count), *from = affine_add_c(to, 1);
    NestMark mark = emithls_nest_open(nest, "shift", &loop, 1, LOOP_UNROLLED, -1, -1);
    emithls_nest_store(nest, emithls_nest_load(nest, c->parts, &from, 1), c->parts, &to, 1);
    emithls_nest_close(nest, mark);
}

static void join_words(ConverterLowering *c)
{
    EmithlsNest *nest = &c->l->nest;
    const AffineExpr *newest = affine_const(c->ctx, c->part_count - 1);
    shift_parts(c);
    emithls_nest_store(nest, emithls_nest_read(nest, to_emithls_port_stream(c->l, 0)), c->parts,
                       &newest, 1);
    NestMark complete = open_edge(c, true);
    Value *large = emithls_nest_variable(nest, "large", word_of(c, 1), NULL, 0);
    copy_elements(c, large);
    emithls_nest_write(nest, emithls_nest_load(nest, large, NULL, 0),
                       to_emithls_port_stream(c->l, 1));
    emithls_nest_close(nest, complete);
}

static void split_words(ConverterLowering *c)
{
    EmithlsNest *nest = &c->l->nest;
    const AffineExpr *oldest = affine_const(c->ctx, 0);
    shift_parts(c);
    NestMark first = open_edge(c, false);
    Value *large = emithls_nest_variable(nest, "large", word_of(c, 0), NULL, 0);
    emithls_nest_store(nest, emithls_nest_read(nest, to_emithls_port_stream(c->l, 0)), large, NULL,
                       0);
    copy_elements(c, large);
    emithls_nest_close(nest, first);
    emithls_nest_write(nest, emithls_nest_load(nest, c->parts, &oldest, 1),
                       to_emithls_port_stream(c->l, 1));
}

bool to_emithls_converter(EmithlsLowering *l)
{
    ConverterLowering c = {.l = l, .ctx = l->process->ctx};
    if (!sched_converter(l->process, &c.sched)) return false;
    declare_parts(&c);
    NestMark words = open_words(&c);
    (c.sched.joins ? join_words : split_words)(&c);
    emithls_nest_close(&l->nest, words);
    return true;
}
