/* Products that share multiplications, by the schedule's packing. A group of lanes is multiplied at
 * once:
 *
 *   packed_sum         = sum over a chain of packed(a) * packed(b)
 *   terms[lane][chain] = field of packed_sum + the bit in front of it, for each lane of the group
 *   total              = terms[lane][0] + terms[lane][1] + ...
 *
 * and the lane's accumulator takes the total in, as it does without packing.
 *
 * If lanes do not fill their last group, that group has fewer fields and gets a loop of its own.
 * docs/packing.md says why the fields are exact.
 * Tests: lit/lowering/dfg_to_emithls/packing.mir, test/e2e/unroll_check.py */
#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "lowering/dfg_to_emithls/internal.h"

/* Groups of lanes along the loop of an operand's fields. */
typedef struct Groups {
    int64_t first, count; /* lane that they begin with; number of groups */
    int64_t fields;       /* lanes in each */
} Groups;

typedef struct PackedLowering {
    ComputeLowering *c;
    const PackingSchedule *packing;
    int64_t chains; /* of a lane */
    Value *terms;
    /* The current group: */
    Groups groups[2];                         /* of the operands */
    const AffineExpr *lane[KERNEL_MAX_LOOPS]; /* first lane per loop */
    const AffineExpr *chain;                  /* its chain's number among those of a lane */
    Value *product, *chain_sum; /* chain_sum: a variable, or NULL if it is one product */
} PackedLowering;

/* The value, which fits, in `bits` bits. */
static Value *resized(PackedLowering *p, Value *value, int64_t bits)
{
    Builder *b = &p->c->l->nest.b;
    int64_t width = type_width(value->type);
    const Type *type = type_i(p->c->ctx, (uint32_t)bits);
    if (width == bits) return value;
    return build_unary(b, width < bits ? ARITH(EXTSI) : ARITH(TRUNCI), type, value);
}

static Value *shifted(PackedLowering *p, const OpDef *shift, Value *value, int64_t by)
{
    Builder *b = &p->c->l->nest.b;
    if (by == 0) return value;
    return build_binary(b, shift, value->type, value, arith_constant_int(b, value->type, by));
}

static Value *named(PackedLowering *p, Value *value, const char *name)
{
    op_set_attr(value_def(value), EMITHLS_ATTR_NAME, attr_string_c(p->c->ctx, name));
    return value;
}

/* Moves to a lane of the current group; the fields of a loop that is not packed are one. */
static void select_field(PackedLowering *p, int operand, int64_t field)
{
    uint32_t loop = p->packing->loop[operand];
    if (loop != KERNEL_MAX_LOOPS) p->c->lane[loop] = affine_add_c(p->lane[loop], field);
}

/* The operand's loop whose lanes are fields, as groups: whole ones, or the rest. */
static Groups groups_of(const PackedLowering *p, int operand, bool rest)
{
    uint32_t loop = p->packing->loop[operand];
    int64_t lanes = loop == KERNEL_MAX_LOOPS ? 1 : p->c->sched.unroll[loop];
    int64_t fields = p->packing->grid.fields[operand];
    int64_t whole = lanes / fields * fields;
    return rest ? (Groups){whole, lanes > whole, lanes - whole}
                : (Groups){0, lanes / fields, fields};
}

typedef struct LaneLoops {
    LoopSpec specs[KERNEL_MAX_LOOPS];
    StrBuf names[KERNEL_MAX_LOOPS];
    uint32_t count;
} LaneLoops;

/* Adds a loop of `trips`, and gives its counter. */
static const AffineExpr *add_lane_loop(PackedLowering *p, LaneLoops *loops, uint32_t loop,
                                       const char *suffix, int64_t trips)
{
    Context *ctx = p->c->ctx;
    if (trips == 1) return affine_const(ctx, 0);
    uint32_t i = loops->count++;
    strbuf_printf(&loops->names[i], "%s%s", to_emithls_loop_name(&p->c->sched, loop), suffix);
    loops->specs[i] = (LoopSpec){loops->names[i].data, trips};
    return affine_dim(ctx, p->c->l->nest.count + i);
}

static NestMark open_lane_loops(PackedLowering *p, LaneLoops *loops, const char *name)
{
    EmithlsNest *nest = &p->c->l->nest;
    NestMark mark = {nest->b.block, nest->b.before, nest->count};
    if (loops->count)
        mark = emithls_nest_open(nest, name, loops->specs, loops->count, LOOP_UNROLLED, -1, -1);
    for (uint32_t i = 0; i < loops->count; i++) strbuf_free(&loops->names[i]);
    return mark;
}

/* Loops over the groups of lanes and over the chains of a group. */
static NestMark open_groups(PackedLowering *p)
{
    const ComputeSchedule *sched = &p->c->sched;
    LaneLoops loops = {.count = 0};
    p->chain = affine_const(p->c->ctx, 0);
    for (uint32_t i = 0; i < sched->kernel.loop_count; i++) {
        const Groups *g = i == p->packing->loop[0]   ? &p->groups[0]
                          : i == p->packing->loop[1] ? &p->groups[1]
                                                     : NULL;
        int64_t each = g ? g->fields : sched->kernel.is_reduction[i] ? p->packing->chain[i] : 1;
        int64_t count = g ? g->count : sched->unroll[i] / each;
        const AffineExpr *group = add_lane_loop(p, &loops, i, each > 1 ? "_g" : "_u", count);
        if (sched->kernel.is_reduction[i])
            p->chain = affine_add(affine_mul_c(p->chain, count), group);
        p->lane[i] = affine_add_c(affine_mul_c(group, each), g ? g->first : 0);
        p->c->lane[i] = p->lane[i];
    }
    return open_lane_loops(p, &loops, "products");
}

/* The loop along a chain, whose sums are to be made in this order. */
static NestMark open_chain(PackedLowering *p)
{
    const ComputeSchedule *sched = &p->c->sched;
    LaneLoops loops = {.count = 0};
    for (uint32_t i = 0; i < sched->kernel.loop_count; i++)
        if (sched->kernel.is_reduction[i])
            p->c->lane[i] =
                affine_add(p->lane[i], add_lane_loop(p, &loops, i, "_u", p->packing->chain[i]));
    NestMark mark = open_lane_loops(p, &loops, "chain");
    emithls_nest_keep_order(&p->c->l->nest);
    return mark;
}

/* The name of a packed operand, after its first argument: an element of a stream or of a table. */
static const char *packed_name(const PackedLowering *p, int operand)
{
    const Value *value = op_operand(p->packing->product, (uint32_t)operand);
    while (!value->is_arg && value_def(value)->operand_count)
        value = op_operand(value_def(value), 0);
    bool is_stream = value->is_arg && p->c->sources[0][value->index].kind == SOURCE_STREAM;
    return is_stream ? "packed_in" : "packed_weights";
}

/* An operand of the product for the current group: the values of its lanes, field by field. NULL:
 * diagnosed. */
static Value *pack_operand(PackedLowering *p, int operand)
{
    const PackingGrid *grid = &p->packing->grid;
    int64_t fields = p->groups[operand].fields;
    Value *packed = NULL;
    for (int64_t k = fields; k-- > 0;) {
        select_field(p, operand, k);
        Value *value =
            to_emithls_run_value(p->c, op_operand(p->packing->product, (uint32_t)operand));
        if (!value) return NULL;
        value = shifted(p, ARITH(SHLI), resized(p, value, grid->bits[operand]),
                        k * grid->stride[operand]);
        packed = packed ? build_binary(&p->c->l->nest.b, ARITH(ADDI), value->type, packed, value)
                        : value;
    }
    return fields > 1 ? named(p, packed, packed_name(p, operand)) : packed;
}

static Value *multiply(PackedLowering *p, const char *name)
{
    int64_t bits = p->packing->accumulator;
    Value *a = pack_operand(p, 0), *b = a ? pack_operand(p, 1) : NULL;
    if (!b) return NULL;
    Value *wide_a = resized(p, a, bits), *wide_b = resized(p, b, bits);
    return named(p, build_binary(&p->c->l->nest.b, ARITH(MULI), wide_a->type, wide_a, wide_b),
                 name);
}

static bool is_packed(const PackedLowering *p)
{
    return p->groups[0].fields * p->groups[1].fields > 1;
}

/* p->product, or p->chain_sum = product + product + ... False: diagnosed. */
static bool multiply_chain(PackedLowering *p)
{
    EmithlsNest *nest = &p->c->l->nest;
    const Type *type = type_i(p->c->ctx, (uint32_t)p->packing->accumulator);
    p->chain_sum = NULL;
    if (p->packing->chain_length == 1) {
        p->product = multiply(p, is_packed(p) ? "packed_sum" : "product");
        return p->product != NULL;
    }
    Value *zero = emithls_nest_constant(nest, attr_int(type, 0));
    p->chain_sum =
        emithls_nest_variable(nest, is_packed(p) ? "packed_sum" : "chain_sum", type, NULL, 0);
    emithls_nest_store(nest, zero, p->chain_sum, NULL, 0);
    NestMark mark = open_chain(p);
    p->product = multiply(p, "product");
    if (!p->product) return false;
    Value *so_far = emithls_nest_load(nest, p->chain_sum, NULL, 0);
    emithls_nest_store(nest, build_binary(&nest->b, ARITH(ADDI), type, so_far, p->product),
                       p->chain_sum, NULL, 0);
    emithls_nest_close(nest, mark);
    return true;
}

/* packed_sum >> by */
static Value *shifted_sum(PackedLowering *p, int64_t by)
{
    Value *sum =
        p->chain_sum ? emithls_nest_load(&p->c->l->nest, p->chain_sum, NULL, 0) : p->product;
    return shifted(p, ARITH(SHRSI), sum, by);
}

/* Field number `position` of the packed sum. If a field is negative, the fields above it are one
 * too low, because it borrows from them. */
static Value *field_value(PackedLowering *p, int64_t position)
{
    Builder *b = &p->c->l->nest.b;
    int64_t at = position * p->packing->grid.spacing;
    Value *field = shifted_sum(p, at);
    if (position > 0) {
        Value *one = arith_constant_int(b, field->type, 1);
        Value *borrow = build_binary(b, ARITH(ANDI), one->type, shifted_sum(p, at - 1), one);
        field = build_binary(b, ARITH(ADDI), one->type, field, borrow);
    }
    return resized(p, field, p->packing->grid.spacing);
}

/* terms[lane][chain], without dimensions of one element */
static uint32_t term_index(const PackedLowering *p, const AffineExpr *chain,
                           const AffineExpr **index)
{
    uint32_t rank = 0;
    if (p->c->sched.lanes > 1) index[rank++] = to_emithls_output_lane(p->c);
    if (p->chains > 1) index[rank++] = chain;
    return rank;
}

static void store_fields(PackedLowering *p)
{
    const PackingGrid *grid = &p->packing->grid;
    const AffineExpr *index[2];
    int64_t strides[2] = {grid->stride[0] / grid->spacing, grid->stride[1] / grid->spacing};
    for (int64_t i = 0; i < p->groups[0].fields; i++)
        for (int64_t j = 0; j < p->groups[1].fields; j++) {
            select_field(p, 0, i);
            select_field(p, 1, j);
            Value *field =
                is_packed(p) ? field_value(p, i * strides[0] + j * strides[1]) : shifted_sum(p, 0);
            field = resized(p, field, type_width(emithls_array_elem(p->terms->type)));
            uint32_t rank = term_index(p, p->chain, index);
            emithls_nest_store(&p->c->l->nest, field, p->terms, index, rank);
        }
}

/* All groups that have p->groups' fields. */
static bool multiply_groups(PackedLowering *p)
{
    EmithlsNest *nest = &p->c->l->nest;
    if (p->groups[0].count == 0 || p->groups[1].count == 0) return true;
    NestMark mark = open_groups(p);
    if (!multiply_chain(p)) return false;
    store_fields(p);
    for (uint32_t i = 0; i < p->c->sched.kernel.loop_count; i++)
        p->c->lane[i] = affine_const(p->c->ctx, 0);
    emithls_nest_close(nest, mark);
    return true;
}

/* Registers for the results of an iteration's chains: as wide as a field, or as the sums. */
static void declare_terms(PackedLowering *p)
{
    EmithlsNest *nest = &p->c->l->nest;
    const PackingGrid *grid = &p->packing->grid;
    const Type *sum = type_elem(op_result(p->c->sched.main, 0)->type);
    const Type *field = type_i(p->c->ctx, (uint32_t)grid->spacing);
    int64_t dims[2];
    uint32_t rank = 0;
    if (p->c->sched.lanes > 1) dims[rank++] = p->c->sched.lanes;
    if (p->chains > 1) dims[rank++] = p->chains;
    p->terms = emithls_nest_variable(
        nest, "terms", grid->fields[0] * grid->fields[1] > 1 ? field : sum, dims, rank);
    for (uint32_t i = 1; i <= rank; i++) emithls_nest_partition(nest, p->terms, i);
}

static Value *load_term(PackedLowering *p, const AffineExpr *chain)
{
    const AffineExpr *index[2];
    Value *term = emithls_nest_load(&p->c->l->nest, p->terms, index, term_index(p, chain, index));
    return resized(p, term, type_width(type_elem(op_result(p->c->sched.main, 0)->type)));
}

/* terms[lane][0] + terms[lane][1] + ... */
static Value *add_chains(ComputeLowering *c, void *data)
{
    PackedLowering *p = data;
    EmithlsNest *nest = &c->l->nest;
    LoopSpec loop = {"i", p->chains};
    if (p->chains == 1) return load_term(p, NULL);
    Value *total = to_emithls_open_total(c);
    const AffineExpr *chain = affine_dim(c->ctx, nest->count);
    NestMark mark = emithls_nest_open(nest, "chains", &loop, 1, LOOP_UNROLLED, -1, -1);
    to_emithls_add_to_total(c, total, load_term(p, chain));
    emithls_nest_close(nest, mark);
    return emithls_nest_load(nest, total, NULL, 0);
}

bool to_emithls_accumulate_packed(ComputeLowering *c)
{
    PackedLowering p = {.c = c, .packing = &c->sched.packing};
    p.chains = c->sched.reduction_lanes / p.packing->chain_length;
    declare_terms(&p);
    for (int which = 0; which < 4; which++) {
        p.groups[0] = groups_of(&p, 0, which & 1);
        p.groups[1] = groups_of(&p, 1, which & 2);
        if (!multiply_groups(&p)) return false;
    }
    return to_emithls_accumulate_terms(c, add_chains, &p);
}
