/* Products as counts of bits, by the schedule's popcount. For each lane of the outputs, and for each
 * pair of planes, the bits of the reduction lanes make a word:
 *
 *   same[k] = a[k] == w[k]           (or both[k] = a[k] && w[k])
 *   total   = scale * popcount(same) + ...
 *
 * and the lane's accumulator takes the total in. What is counted of one operand alone is counted in
 * front, once for all lanes that share its elements.
 * Tests: lit/lowering/dfg_to_emithls/popcount.mir, test/e2e/popcount_check.py */
#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "lowering/dfg_to_emithls/internal.h"

enum { MAX_PLANES = POPCOUNT_MOST_PAIRS };

typedef struct PopcountLowering {
    ComputeLowering *c;
    const PopcountSchedule *popcount;
    const Type *sum;
    Value *alone; /* [lanes of the loops that the shared operand has]: its count, or NULL */
} PopcountLowering;

static Builder *builder_of(PopcountLowering *p)
{
    return &p->c->l->nest.b;
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

/* Variables for `count` words of the reduction lanes' bits; without such lanes, for bits. */
static void declare_words(PopcountLowering *p, const char *name, int64_t count, Value **words)
{
    int64_t lanes = p->c->sched.reduction_lanes;
    const Type *bit = type_i(p->c->ctx, 1);
    const Type *word = counts(p) ? type_vector(bit, &lanes, 1, NULL) : bit;
    for (int64_t i = 0; i < count; i++)
        words[i] = emithls_nest_variable(&p->c->l->nest, name, word, NULL, 0);
}

static void store_bit(PopcountLowering *p, Value *bit, Value *word)
{
    const AffineExpr *lane = to_emithls_term_lane(p->c);
    emithls_nest_store(&p->c->l->nest, bit, word, &lane, counts(p));
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
    EmithlsNest *nest = &p->c->l->nest;
    Value *bits = emithls_nest_load(nest, word, NULL, 0);
    if (!counts(p)) return build_unary(&nest->b, ARITH(EXTUI), p->sum, bits);
    const Type *type =
        type_i(p->c->ctx, (uint32_t)sched_popcount_bits(p->c->sched.reduction_lanes) + 1);
    Value *count = build_unary(&nest->b, EMITHLS(POPCOUNT), type, bits);
    if (type == p->sum) return count;
    bool grows = type_width(type) < type_width(p->sum);
    return build_unary(&nest->b, grows ? ARITH(EXTSI) : ARITH(TRUNCI), p->sum, count);
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

/* Loops of the output's lanes that change the shared operand. */
static bool is_lane_of_shared(const PopcountLowering *p, uint32_t loop)
{
    const ComputeSchedule *sched = &p->c->sched;
    return !sched->kernel.is_reduction[loop] && sched->unroll[loop] > 1 &&
           p->popcount->operands[p->popcount->shared].loops >> loop & 1u;
}

static const AffineExpr *shared_lane(const PopcountLowering *p)
{
    const AffineExpr *lane = affine_const(p->c->ctx, 0);
    for (uint32_t i = 0; i < p->c->sched.kernel.loop_count; i++)
        if (is_lane_of_shared(p, i))
            lane = affine_add(affine_mul_c(lane, p->c->sched.unroll[i]), p->c->lane[i]);
    return lane;
}

/* The count of the shared operand's planes in the current lane. NULL: diagnosed. */
static Value *count_alone(PopcountLowering *p)
{
    const PopcountOperand *x = &p->popcount->operands[p->popcount->shared];
    Value *words[MAX_PLANES], *total = NULL;
    declare_words(p, "plane", x->planes, words);
    NestMark mark = to_emithls_open_lanes(p->c, true, "bits");
    Value *value = to_emithls_run_value(p->c, x->value);
    for (int64_t i = 0; value && i < x->planes; i++) store_bit(p, plane_of(p, value, i), words[i]);
    to_emithls_close_lanes(p->c, true, mark);
    for (int64_t i = 0; value && i < x->planes; i++)
        total = add_weighted(p, total, count_of(p, words[i]),
                             p->popcount->shared_scale * sched_popcount_weight(x, i));
    if (value && !total) total = arith_constant_int(builder_of(p), p->sum, 0);
    return total;
}

/* alone[lane] for the lanes that the shared operand has. False: diagnosed. */
static bool count_shared(PopcountLowering *p)
{
    ComputeLowering *c = p->c;
    EmithlsNest *nest = &c->l->nest;
    LoopSpec loops[KERNEL_MAX_LOOPS];
    uint32_t count = 0;
    int64_t lanes = 1;
    if (p->popcount->shared < 0) return true;
    for (uint32_t i = 0; i < c->sched.kernel.loop_count; i++) {
        if (!is_lane_of_shared(p, i)) continue;
        c->lane[i] = affine_dim(c->ctx, nest->count + count);
        loops[count++] = (LoopSpec){to_emithls_loop_name(&c->sched, i), c->sched.unroll[i]};
        lanes *= c->sched.unroll[i];
    }
    p->alone = emithls_nest_variable(nest, "alone", p->sum, &lanes, lanes > 1);
    if (lanes > 1) emithls_nest_partition(nest, p->alone, 1);
    NestMark mark = {nest->b.block, nest->b.before, nest->count};
    if (count) mark = emithls_nest_open(nest, "shared", loops, count, LOOP_UNROLLED, -1, -1);
    Value *total = count_alone(p);
    const AffineExpr *lane = shared_lane(p);
    if (total) emithls_nest_store(nest, total, p->alone, &lane, lanes > 1);
    to_emithls_close_lanes(c, false, mark);
    return total != NULL;
}

/* The pairs of planes, in the current lane of the reduction. False: diagnosed. */
static bool store_pairs(PopcountLowering *p, Value *const *words)
{
    const PopcountOperand *x = p->popcount->operands;
    const Type *bit = type_i(p->c->ctx, 1);
    Builder *b = builder_of(p);
    Value *a = to_emithls_run_value(p->c, x[0].value),
          *w = a ? to_emithls_run_value(p->c, x[1].value) : NULL;
    for (int64_t i = 0; w && i < x[0].planes; i++)
        for (int64_t j = 0; j < x[1].planes; j++) {
            Value *left = plane_of(p, a, i), *right = plane_of(p, w, j);
            Value *pair = p->popcount->compares ? arith_cmpi(b, CMPI_EQ, left, right)
                                                : build_binary(b, ARITH(ANDI), bit, left, right);
            store_bit(p, pair, words[i * x[1].planes + j]);
        }
    return w != NULL;
}

/* The current lane's term. NULL: diagnosed. */
static Value *count_pairs(ComputeLowering *c, void *data)
{
    PopcountLowering *p = data;
    EmithlsNest *nest = &c->l->nest;
    const PopcountOperand *x = p->popcount->operands;
    Value *words[MAX_PLANES], *total = NULL;
    const AffineExpr *lane = p->alone ? shared_lane(p) : NULL;
    declare_words(p, p->popcount->compares ? "same" : "both", x[0].planes * x[1].planes, words);
    NestMark mark = to_emithls_open_lanes(c, true, "products");
    bool ok = store_pairs(p, words);
    to_emithls_close_lanes(c, true, mark);
    if (!ok) return NULL;
    if (p->alone)
        total = emithls_nest_load(nest, p->alone, &lane, emithls_array_rank(p->alone->type));
    for (int64_t i = 0; i < x[0].planes; i++)
        for (int64_t j = 0; j < x[1].planes; j++)
            total = add_weighted(p, total, count_of(p, words[i * x[1].planes + j]),
                                 p->popcount->scale * sched_popcount_weight(&x[0], i) *
                                     sched_popcount_weight(&x[1], j));
    if (!total) total = arith_constant_int(&nest->b, p->sum, 0);
    if (sched_is_done_at_once(&c->sched)) total = to_emithls_add_offset(c, total);
    return total;
}

bool to_emithls_accumulate_popcount(ComputeLowering *c)
{
    PopcountLowering p = {.c = c,
                          .popcount = &c->sched.popcount,
                          .sum = type_elem(op_result(c->sched.main, 0)->type)};
    return count_shared(&p) && to_emithls_accumulate_terms(c, count_pairs, &p);
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
