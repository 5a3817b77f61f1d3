/* Products as counts of bits, by the schedule's popcount. For each lane of the outputs, and for each
 * pair of planes, the bits of the reduction lanes are a word:
 *
 *   same  = a == w           (or both = a & w)
 *   total = scale * popcount(same) + ...
 *
 * and the lane's accumulator takes the total in. A table of weights holds such words (sched_popcount_
 * table). Those of other operands are put together in front, once for all lanes that share their
 * elements, unless the stream's word is one already; so is what is counted of one operand alone.
 * Tests: lit/lowering/dfg_to_emithls/popcount.mir, test/e2e/popcount_check.py */
#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "dialects/linalg/linalg.h"
#include "lowering/dfg_to_emithls/internal.h"

enum { MAX_PLANES = POPCOUNT_MOST_PAIRS };

typedef struct PopcountLowering {
    ComputeLowering *c;
    const PopcountSchedule *popcount;
    const Type *sum, *word; /* word: the bits of the reduction lanes; a single one is no vector */
    int streams[2];         /* whose words are an operand's, or -1 */
    Value *planes[2][MAX_PLANES]; /* [lanes of the operand]: of operands that are gathered */
    Value *alone;                 /* [lanes of the shared operand]: its count, or NULL */
} PopcountLowering;

static Builder *builder_of(PopcountLowering *p)
{
    return &p->c->l->nest.b;
}

static const PopcountOperand *operand_of(const PopcountLowering *p, uint32_t which)
{
    return &p->popcount->operands[which];
}

/* Bit number `plane` of an integer, or the bit itself. */
static Value *plane_of(PopcountLowering *p, Value *value, int64_t plane)
{
    Builder *b = builder_of(p);
    const Type *bit = type_i(p->c->ctx, 1);
    if (value->type == bit) return value;
    if (plane > 0)
        value = build_binary(b, ARITH(SHRUI), value->type, value,
                             arith_constant_int(b, value->type, plane));
    return build_unary(b, ARITH(TRUNCI), bit, value);
}

/* Whether every lane of the reduction gives a bit, so that there is something to count. */
static bool counts(const PopcountLowering *p)
{
    return p->c->sched.reduction_lanes > 1;
}

/* value * weight, in the sum's type, whose wrapping does no harm; a weight of one or few digits. */
static Value *weighted(PopcountLowering *p, Value *value, int64_t weight)
{
    Builder *b = builder_of(p);
    int64_t size = weight < 0 ? -weight : weight;
    if (size == 1) return value;
    if ((size & (size - 1)) == 0)
        return build_binary(b, ARITH(SHLI), p->sum, value,
                            arith_constant_int(b, p->sum, i64_log2_up(size)));
    /* 2^n - 1, the sum of the weights of an unsigned operand's planes */
    Value *shifted = build_binary(b, ARITH(SHLI), p->sum, value,
                                  arith_constant_int(b, p->sum, i64_log2_up(size + 1)));
    return build_binary(b, ARITH(SUBI), p->sum, shifted, value);
}

/* How many bits of a word are 1, in the sum's type. */
static Value *count_of(PopcountLowering *p, Value *word)
{
    Builder *b = builder_of(p);
    if (!counts(p)) return build_unary(b, ARITH(EXTUI), p->sum, word);
    const Type *type =
        type_i(p->c->ctx, (uint32_t)sched_popcount_bits(p->c->sched.reduction_lanes) + 1);
    Value *count = build_unary(b, EMITHLS(POPCOUNT), type, word);
    if (type == p->sum) return count;
    bool grows = type_width(type) < type_width(p->sum);
    return build_unary(b, grows ? ARITH(EXTSI) : ARITH(TRUNCI), p->sum, count);
}

/* total + weight * count; total may be NULL. What the sum's type has no bits for is left out. */
static Value *add_weighted(PopcountLowering *p, Value *total, Value *count, int64_t weight)
{
    Builder *b = builder_of(p);
    int64_t size = weight < 0 ? -weight : weight;
    if (i64_log2_up(size + 1) > (int64_t)type_width(p->sum)) return total;
    count = weighted(p, count, size);
    if (!total && weight > 0) return count;
    if (!total) total = arith_constant_int(b, p->sum, 0);
    return build_binary(b, weight > 0 ? ARITH(ADDI) : ARITH(SUBI), p->sum, total, count);
}

/* Loops of the output's lanes that change an operand. */
static bool is_lane_of(const PopcountLowering *p, const PopcountOperand *x, uint32_t loop)
{
    const ComputeSchedule *sched = &p->c->sched;
    return !sched->kernel.is_reduction[loop] && sched->unroll[loop] > 1 && x->loops >> loop & 1u;
}

/* The current lane among those. */
static const AffineExpr *lane_of(const PopcountLowering *p, const PopcountOperand *x)
{
    const AffineExpr *lane = affine_const(p->c->ctx, 0);
    for (uint32_t i = 0; i < p->c->sched.kernel.loop_count; i++)
        if (is_lane_of(p, x, i))
            lane = affine_add(affine_mul_c(lane, p->c->sched.unroll[i]), p->c->lane[i]);
    return lane;
}

/* An array with an element for each of those lanes, in registers. */
static Value *declare_lanes(PopcountLowering *p, const PopcountOperand *x, const char *name,
                            const Type *elem)
{
    EmithlsNest *nest = &p->c->l->nest;
    int64_t lanes = sched_popcount_lanes(&p->c->sched, x);
    Value *array = emithls_nest_variable(nest, name, elem, &lanes, lanes > 1);
    if (lanes > 1) emithls_nest_partition(nest, array, 1);
    return array;
}

/* Opens an unrolled loop over those lanes. */
static NestMark open_lanes_of(PopcountLowering *p, const PopcountOperand *x)
{
    ComputeLowering *c = p->c;
    EmithlsNest *nest = &c->l->nest;
    LoopSpec loops[KERNEL_MAX_LOOPS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->sched.kernel.loop_count; i++) {
        if (!is_lane_of(p, x, i)) continue;
        c->lane[i] = affine_dim(c->ctx, nest->count + count);
        loops[count++] = (LoopSpec){to_emithls_loop_name(&c->sched, i), c->sched.unroll[i]};
    }
    return count ? emithls_nest_open(nest, "shared", loops, count, LOOP_UNROLLED, -1, -1)
                 : (NestMark){nest->b.block, nest->b.before, nest->count};
}

/* An element of such an array. */
static Value *load_lane(PopcountLowering *p, const PopcountOperand *x, Value *array)
{
    const AffineExpr *lane = lane_of(p, x);
    return emithls_nest_load(&p->c->l->nest, array, &lane, emithls_array_rank(array->type));
}

/* Stores the current lane's bit in its word. */
static void store_bit(PopcountLowering *p, const PopcountOperand *x, Value *bit, Value *words)
{
    const AffineExpr *index[2];
    uint32_t rank = emithls_array_rank(words->type);
    index[0] = lane_of(p, x);
    index[rank] = to_emithls_term_lane(p->c);
    emithls_nest_store(&p->c->l->nest, bit, words, index, rank + counts(p));
}

/* Words of an operand's planes, from its elements. False: diagnosed. */
static bool gather(PopcountLowering *p, uint32_t which)
{
    ComputeLowering *c = p->c;
    const PopcountOperand *x = operand_of(p, which);
    for (int64_t i = 0; i < x->planes; i++)
        p->planes[which][i] = declare_lanes(p, x, "plane", p->word);
    NestMark outer = open_lanes_of(p, x), inner = to_emithls_open_lanes(c, true, "bits");
    Value *value = to_emithls_run_value(c, x->value);
    for (int64_t i = 0; value && i < x->planes; i++)
        store_bit(p, x, plane_of(p, value, i), p->planes[which][i]);
    to_emithls_close_lanes(c, true, inner);
    to_emithls_close_lanes(c, false, outer);
    return value != NULL;
}

/* The stream whose word, as it is held, is the only plane of an operand; -1: none. */
static int stream_of_word(PopcountLowering *p, uint32_t which)
{
    const PopcountOperand *x = operand_of(p, which);
    int input = sched_element_input(p->c->sched.main, x->value);
    const OperandSource *source = input < 0 ? NULL : &p->c->sources[0][input];
    bool is_bit = source && source->kind == SOURCE_STREAM && x->planes == 1 &&
                  type_is_int_width(linalg_body(p->c->sched.main)->args[input]->type, 1);
    return is_bit && to_emithls_takes_whole_word(p->c, source->stream) ? (int)source->stream : -1;
}

/* A plane of an operand in the current lane of the outputs. */
static Value *load_plane(PopcountLowering *p, uint32_t which, int64_t plane)
{
    const PopcountOperand *x = operand_of(p, which);
    if (x->table >= 0) return to_emithls_load_plane(p->c, x, plane);
    if (p->streams[which] >= 0)
        return to_emithls_load_whole_word(p->c, (uint32_t)p->streams[which]);
    return load_lane(p, x, p->planes[which][plane]);
}

/* alone[lane] for the lanes that the shared operand has. */
static void count_alone(PopcountLowering *p)
{
    const PopcountOperand *x = operand_of(p, (uint32_t)p->popcount->shared);
    EmithlsNest *nest = &p->c->l->nest;
    p->alone = declare_lanes(p, x, "alone", p->sum);
    NestMark mark = open_lanes_of(p, x);
    Value *total = NULL;
    for (int64_t i = 0; i < x->planes; i++)
        total = add_weighted(p, total, count_of(p, load_plane(p, (uint32_t)p->popcount->shared, i)),
                             p->popcount->shared_scale * sched_popcount_weight(x, i));
    if (!total) total = arith_constant_int(&nest->b, p->sum, 0);
    const AffineExpr *lane = lane_of(p, x);
    emithls_nest_store(nest, total, p->alone, &lane, emithls_array_rank(p->alone->type));
    to_emithls_close_lanes(p->c, false, mark);
}

/* The bits that planes i of operand 0 and j of operand 1 count. */
static Value *build_pair(PopcountLowering *p, int64_t i, int64_t j)
{
    Builder *b = builder_of(p);
    Value *a = load_plane(p, 0, i), *w = load_plane(p, 1, j);
    const char *name = p->popcount->compares ? "same" : "both";
    Value *pair = p->popcount->compares ? arith_cmpi(b, CMPI_EQ, a, w)
                                        : build_binary(b, ARITH(ANDI), p->word, a, w);
    op_set_attr(value_def(pair), EMITHLS_ATTR_NAME, attr_string_c(p->c->ctx, name));
    return pair;
}

/* The current lane's term. */
static Value *count_pairs(ComputeLowering *c, void *data)
{
    PopcountLowering *p = data;
    const PopcountOperand *x = p->popcount->operands;
    Value *total =
        p->alone ? load_lane(p, operand_of(p, (uint32_t)p->popcount->shared), p->alone) : NULL;
    for (int64_t i = 0; i < x[0].planes; i++)
        for (int64_t j = 0; j < x[1].planes; j++)
            total = add_weighted(p, total, count_of(p, build_pair(p, i, j)),
                                 p->popcount->scale * sched_popcount_weight(&x[0], i) *
                                     sched_popcount_weight(&x[1], j));
    if (!total) total = arith_constant_int(builder_of(p), p->sum, 0);
    if (sched_is_done_at_once(&c->sched)) total = to_emithls_add_offset(c, total);
    return total;
}

bool to_emithls_accumulate_popcount(ComputeLowering *c)
{
    int64_t lanes = c->sched.reduction_lanes;
    const Type *bit = type_i(c->ctx, 1);
    PopcountLowering p = {.c = c,
                          .popcount = &c->sched.popcount,
                          .sum = type_elem(op_result(c->sched.main, 0)->type),
                          .word = lanes > 1 ? type_vector(bit, &lanes, 1, NULL) : bit};
    for (uint32_t i = 0; i < 2; i++) {
        p.streams[i] = stream_of_word(&p, i);
        if (operand_of(&p, i)->table < 0 && p.streams[i] < 0 && !gather(&p, i)) return false;
    }
    if (p.popcount->shared >= 0) count_alone(&p);
    return to_emithls_accumulate_terms(c, count_pairs, &p);
}

Value *to_emithls_add_offset(ComputeLowering *c, Value *value)
{
    Builder *b = &c->l->nest.b;
    int64_t offset = c->sched.popcount.offset;
    const Op *def = value_def(value);
    uint32_t width = type_width(value->type), spare = width < 64 ? 64 - width : 0;
    if (!c->sched.popcount.is_used || offset == 0) return value;
    bool is_constant = def && def->def == ARITH(CONSTANT) && spare > 0;
    if (is_constant) offset += attr_int_value(op_attr(def, "value"));
    offset = (int64_t)((uint64_t)offset << spare) >> spare;
    Value *number = arith_constant_int(b, value->type, offset);
    return is_constant ? number : build_binary(b, ARITH(ADDI), value->type, value, number);
}
