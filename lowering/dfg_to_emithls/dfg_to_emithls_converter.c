/* Width converters: one pipelined loop over the small words. A converter that joins fills its part
 * of the large word in every iteration and sends the word when it is complete; one that splits
 * holds the large word and sends its parts.
 * Tests: lit/lowering/dfg_to_emithls/converter.mir */
#include "dialects/emithls/emithls.h"
#include "lowering/dfg_to_emithls/internal.h"
#include "schedule/schedule.h"

typedef struct ConverterLowering {
    EmithlsLowering *l;
    Context *ctx;
    ConverterSchedule sched;
    const AffineExpr *part[2 * DFG_MAX_RANK]; /* per dimension: which small word of the large one */
    const AffineExpr *lane[2 * DFG_MAX_RANK]; /* per dimension: which element of the small word */
} ConverterLowering;

static int64_t part_count(const ConverterSchedule *sched, uint32_t i)
{
    return sched->large[i] / sched->small[i];
}

/* Counters are named after their dimension from inside. */
static const char *counter_name(const ConverterSchedule *sched, uint32_t dim, bool is_lane)
{
    static const char *const parts[] = {"c", "x", "y", "z"}, *const lanes[] = {"c_u", "x_u", "y_u",
                                                                               "z_u"};
    uint32_t from_inside = sched->rank - 1 - dim;
    if (from_inside < COUNT_OF(parts)) return (is_lane ? lanes : parts)[from_inside];
    return is_lane ? "n_u" : "n";
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
            loops[count++] =
                (LoopSpec){counter_name(&c->sched, i, false), part_count(&c->sched, i)};
    }
    return emithls_nest_open(nest, c->sched.joins ? "join" : "split", loops, count, LOOP_PIPELINED,
                             -1, -1);
}

/* Opens an unrolled loop over the elements of the small word. */
static NestMark open_lanes(ConverterLowering *c)
{
    LoopSpec loops[2 * DFG_MAX_RANK];
    EmithlsNest *nest = &c->l->nest;
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->sched.rank; i++) {
        bool is_loop = c->sched.small[i] > 1;
        c->lane[i] = is_loop ? affine_dim(c->ctx, nest->count + count) : affine_const(c->ctx, 0);
        if (is_loop)
            loops[count++] = (LoopSpec){counter_name(&c->sched, i, true), c->sched.small[i]};
    }
    if (count == 0) return (NestMark){nest->b.block, nest->b.before, nest->count};
    return emithls_nest_open(nest, "lanes", loops, count, LOOP_UNROLLED, -1, -1);
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

/* word[place of the part's lane in the large word] <-> part[lane] */
static void copy_lanes(ConverterLowering *c, Value *large, Value *small)
{
    EmithlsNest *nest = &c->l->nest;
    NestMark mark = open_lanes(c);
    const AffineExpr *inside = affine_const(c->ctx, 0), *place = inside;
    for (uint32_t i = 0; i < c->sched.rank; i++) {
        const AffineExpr *at = affine_add(affine_mul_c(c->part[i], c->sched.small[i]), c->lane[i]);
        place = affine_add(affine_mul_c(place, c->sched.large[i]), at);
        inside = affine_add(affine_mul_c(inside, c->sched.small[i]), c->lane[i]);
    }
    bool is_vector = emithls_array_elem(small->type)->kind == TYPE_VECTOR;
    if (c->sched.joins)
        emithls_nest_store(nest, emithls_nest_load(nest, small, &inside, is_vector), large, &place,
                           1);
    else
        emithls_nest_store(nest, emithls_nest_load(nest, large, &place, 1), small, &inside,
                           is_vector);
    emithls_nest_close(nest, mark);
}

static Value *declare_word(ConverterLowering *c, const char *name, uint32_t port)
{
    const Type *word = emithls_stream_word(to_emithls_port_stream(c->l, port)->type);
    return emithls_nest_variable(&c->l->nest, name, word, NULL, 0);
}

static void read_into(ConverterLowering *c, Value *word)
{
    EmithlsNest *nest = &c->l->nest;
    emithls_nest_store(nest, emithls_nest_read(nest, to_emithls_port_stream(c->l, 0)), word, NULL,
                       0);
}

static void write_from(ConverterLowering *c, Value *word)
{
    EmithlsNest *nest = &c->l->nest;
    emithls_nest_write(nest, emithls_nest_load(nest, word, NULL, 0),
                       to_emithls_port_stream(c->l, 1));
}

bool to_emithls_converter(EmithlsLowering *l)
{
    ConverterLowering c = {.l = l, .ctx = l->process->ctx};
    if (!sched_converter(l->process, &c.sched)) return false;
    Value *large = declare_word(&c, "large", c.sched.joins ? 1 : 0);
    NestMark words = open_words(&c);
    Value *small = declare_word(&c, "small", c.sched.joins ? 0 : 1);
    NestMark edge;
    if (c.sched.joins) {
        read_into(&c, small);
        copy_lanes(&c, large, small);
        edge = open_edge(&c, true);
        write_from(&c, large);
        emithls_nest_close(&l->nest, edge);
    } else {
        edge = open_edge(&c, false);
        read_into(&c, large);
        emithls_nest_close(&l->nest, edge);
        copy_lanes(&c, large, small);
        write_from(&c, small);
    }
    emithls_nest_close(&l->nest, words);
    return true;
}
