/* Packing schedules. Lanes that differ in only one operand of a product share the other one, so
 * their values become fields of that operand and one multiplication gives a grid of products. The
 * arrangement with the fewest multiplications is taken, and of those the one with the longest
 * chains.
 * Tests: test/unit/schedule/packing_test.c, lit/lowering/dfg_to_emithls/packing.mir */
#include <string.h>

#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "schedule/schedule.h"

enum { MAX_SHIFT = 60, LUT_BITS = 3 };

/* 1 + 2^stride + ... + 2^((count - 1) stride): a value times this number is in every field. */
static int64_t ones(int64_t count, int64_t stride)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < count; k++) sum |= (int64_t)1 << (k * stride);
    return sum;
}

/* The number of products that may be added up while the sum of every field can still be read. The
 * lower fields together have to fit below the next field, so that its borrow is the bit in front of
 * it. All fields have to fit the accumulator. */
static int64_t longest_chain(int64_t accumulator, int64_t low, int64_t high, int64_t count,
                             int64_t spacing)
{
    int64_t chain = PACKING_MAX_CHAIN;
    for (int64_t k = 1; k <= count; k++) {
        int64_t room = (int64_t)1 << ((k < count ? k * spacing : accumulator) - 1);
        if (low < 0) chain = i64_min(chain, room / ones(k, spacing) / -low);
        if (high > 0) chain = i64_min(chain, (room - 1) / ones(k, spacing) / high);
    }
    return chain;
}

static bool fits_ports(const DspShape *dsp, const int64_t *bits)
{
    return i64_max(bits[0], bits[1]) <= dsp->wide && i64_min(bits[0], bits[1]) <= dsp->narrow;
}

static bool pack_operands(const DspShape *dsp, const PayloadRange *operands, PackingGrid *grid)
{
    for (int i = 0; i < 2; i++) {
        if (grid->fields[i] > 1 && (grid->fields[i] - 1) * grid->stride[i] >= dsp->wide)
            return false;
        int64_t copies = ones(grid->fields[i], grid->stride[i]);
        grid->bits[i] = payload_range_bits(operands[i].low * copies, operands[i].high * copies);
    }
    return fits_ports(dsp, grid->bits);
}

static void product_range(const PayloadRange *x, int64_t *low, int64_t *high)
{
    int64_t p[4] = {x[0].low * x[1].low, x[0].low * x[1].high, x[0].high * x[1].low,
                    x[0].high * x[1].high};
    *low = i64_min(i64_min(p[0], p[1]), i64_min(p[2], p[3]));
    *high = i64_max(i64_max(p[0], p[1]), i64_max(p[2], p[3]));
}

/* The operands' fields this far apart, with those of operand `inner` the nearer ones. False: they
 * do not fit. */
static bool spaced_grid(const DspShape *dsp, const PayloadRange *operands, const int64_t *fields,
                        int64_t spacing, int inner, PackingGrid *out)
{
    int64_t low, high, count = fields[0] * fields[1];
    *out = (PackingGrid){.fields = {fields[0], fields[1]}, .spacing = spacing};
    out->stride[inner] = spacing;
    out->stride[1 - inner] = spacing * fields[inner];
    if ((count - 1) * spacing > MAX_SHIFT || !pack_operands(dsp, operands, out)) return false;
    product_range(operands, &low, &high);
    out->chain = longest_chain(dsp->accumulator, low, high, count, spacing);
    return true;
}

bool sched_packing_grid(const DspShape *dsp, const PayloadRange *operands, const int64_t *fields,
                        PackingGrid *out)
{
    int64_t low, high;
    *out = (PackingGrid){.chain = 0};
    if (payload_range_bits(operands[0].low, operands[0].high) > dsp->wide ||
        payload_range_bits(operands[1].low, operands[1].high) > dsp->wide)
        return false;
    if (fields[0] * fields[1] == 1)
        return spaced_grid(dsp, operands, fields, dsp->accumulator, 0, out);
    product_range(operands, &low, &high);
    for (int inner = 0; inner < 2; inner++)
        for (int64_t spacing = payload_range_bits(low, high); spacing < dsp->wide; spacing++) {
            PackingGrid grid;
            if (!spaced_grid(dsp, operands, fields, spacing, inner, &grid)) break;
            if (grid.chain > out->chain) *out = grid;
        }
    return out->chain > 0;
}

const Op *sched_payload_product(const Op *generic)
{
    const Block *body = linalg_body(generic);
    const Value *acc = body->args[linalg_input_count(generic)];
    const Op *sum = generic->result_count == 1 ? value_def(op_operand(body->last, 0)) : NULL;
    if (!sum || sum->def != ARITH(ADDI) || sum->block != body || !value_has_one_use(acc) ||
        !value_has_one_use(op_result(sum, 0)))
        return NULL;
    const Value *term = op_operand(sum, op_operand(sum, 0) == acc ? 1 : 0);
    if (acc->uses->owner != sum || !value_has_one_use(term)) return NULL;
    const Op *product = value_def(term);
    if (product && product->def == ARITH(EXTSI)) product = value_def(op_operand(product, 0));
    bool is_product = product && product->def == ARITH(MULI) && product->block == body;
    return is_product && value_has_one_use(op_result(product, 0)) ? product : NULL;
}

bool sched_multiplier_is(const Op *main, const char *multiplier)
{
    const Attr *given = op_attr(main, DFG_ATTR_MULTIPLIER);
    return given && given->kind == ATTR_STRING && str_eq_c(given->u.string, multiplier);
}

/* Products that a few LUTs compute, and multiplications by a number, are no work for a DSP. */
static bool is_for_dsp(const PayloadRange *x)
{
    return x[0].low < x[0].high && x[1].low < x[1].high &&
           i64_max(payload_range_bits(x[0].low, x[0].high),
                   payload_range_bits(x[1].low, x[1].high)) > LUT_BITS;
}

static bool is_exact(const Op *product, const PayloadRange *x)
{
    int64_t low, high;
    const Op *user = op_result(product, 0)->uses->owner;
    if (user->def != ARITH(EXTSI)) return true;
    if (payload_range_bits(x[0].low, x[0].high) > 31 ||
        payload_range_bits(x[1].low, x[1].high) > 31)
        return false;
    product_range(x, &low, &high);
    return payload_range_bits(low, high) <= type_width(op_result(product, 0)->type);
}

bool sched_product_is_whole(const Op *main, const Op *product)
{
    PayloadRange x[2];
    return payload_range(main, op_operand(product, 0), &x[0]) &&
           payload_range(main, op_operand(product, 1), &x[1]) && is_exact(product, x);
}

DspShape sched_dsp_shape(Str kind)
{
    static const struct {
        const char *kind;
        DspShape shape;
    } kinds[] = {
        {"DSP48E1", {25, 18, 48}}, {DFG_DSP_KIND_DEFAULT, {27, 18, 48}}, {"DSP58", {27, 24, 58}}};
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (str_eq_c(kind, kinds[i].kind)) return kinds[i].shape;
    return kinds[1].shape;
}

static DspShape dsp_shape(const Op *process)
{
    const Op *module = process;
    while (op_parent(module)) module = op_parent(module);
    const Attr *kind = op_attr(module, DFG_ATTR_DSP_KIND);
    return sched_dsp_shape(kind && kind->kind == ATTR_STRING ? kind->u.string : (Str){0});
}

/* The loop among `loops` whose lanes fill groups of `fields` best. */
static uint32_t loop_of_fields(const ComputeSchedule *sched, uint32_t loops, int64_t fields)
{
    uint32_t best = KERNEL_MAX_LOOPS;
    for (uint32_t i = 0; i < sched->kernel.loop_count; i++) {
        if (!(loops >> i & 1u) || sched->kernel.is_reduction[i] || sched->unroll[i] < fields)
            continue;
        if (best == KERNEL_MAX_LOOPS ||
            ceil_div(sched->unroll[i], fields) * sched->unroll[best] <=
                ceil_div(sched->unroll[best], fields) * sched->unroll[i])
            best = i;
    }
    return best;
}

/* Divisors of the reduction loops' factors, from `loop` on, with the largest product within the
 * limit, which is returned. */
static int64_t choose_chain(const ComputeSchedule *sched, uint32_t loop, int64_t limit,
                            int64_t *chain)
{
    int64_t best = 0;
    if (loop == sched->kernel.loop_count) return 1;
    for (int64_t t = 1; t <= limit; t++) {
        int64_t rest[KERNEL_MAX_LOOPS];
        if (t > 1 && (!sched->kernel.is_reduction[loop] || sched->unroll[loop] % t != 0)) continue;
        int64_t length = t * choose_chain(sched, loop + 1, limit / t, rest);
        if (length <= best) continue;
        best = length;
        chain[loop] = t;
        for (uint32_t i = loop + 1; i < sched->kernel.loop_count; i++) chain[i] = rest[i];
    }
    return best;
}

/* Takes these fields if they need fewer multiplications than *best, or as many in longer
 * chains. */
static void try_fields(const ComputeSchedule *sched, const DspShape *dsp, const PayloadRange *x,
                       const int64_t *fields, PackingSchedule *best)
{
    PackingSchedule p = *best;
    p.accumulator = dsp->accumulator;
    p.multiplications = sched->lanes * sched->reduction_lanes;
    for (int i = 0; i < 2; i++) {
        p.loop[i] = KERNEL_MAX_LOOPS;
        if (fields[i] == 1) continue;
        p.loop[i] = loop_of_fields(sched, x[i].loops & ~x[1 - i].loops, fields[i]);
        if (p.loop[i] == KERNEL_MAX_LOOPS) return;
        int64_t lanes = sched->unroll[p.loop[i]];
        p.multiplications = p.multiplications / lanes * ceil_div(lanes, fields[i]);
    }
    if (p.multiplications > best->multiplications || !sched_packing_grid(dsp, x, fields, &p.grid))
        return;
    p.chain_length = choose_chain(sched, 0, p.grid.chain, p.chain);
    p.is_used = true;
    if (p.multiplications < best->multiplications || p.chain_length > best->chain_length) *best = p;
}

static int64_t count_elements(const ComputeSchedule *sched, uint32_t loops)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < sched->kernel.loop_count; i++)
        count *= loops >> i & 1u ? sched->unroll[i] : 1;
    return count;
}

void sched_packing(ComputeSchedule *sched)
{
    PayloadRange x[2];
    PackingSchedule *best = &sched->packing;
    *best = (PackingSchedule){.multiplications = sched->lanes * sched->reduction_lanes,
                              .chain_length = 1};
    if (sched->kernel.class == KERNEL_PURE_PARALLEL || sched->reduction.turns > 1 ||
        sched_multiplier_is(sched->main, DFG_MULTIPLIER_LUT) ||
        sched_multiplier_is(sched->main, DFG_MULTIPLIER_POPCOUNT))
        return;
    const Op *product = sched_payload_product(sched->main);
    if (!product || !payload_range(sched->main, op_operand(product, 0), &x[0]) ||
        !payload_range(sched->main, op_operand(product, 1), &x[1]) || !is_for_dsp(x) ||
        !is_exact(product, x))
        return;
    best->product = product;
    for (int i = 0; i < 2; i++) {
        best->bits[i] = payload_range_bits(x[i].low, x[i].high);
        best->elements[i] = count_elements(sched, x[i].loops);
    }
    DspShape dsp = dsp_shape(sched->process);
    for (int64_t i = 1; i <= PACKING_MAX_FIELDS; i++)
        for (int64_t j = 1; i * j <= PACKING_MAX_FIELDS; j++)
            try_fields(sched, &dsp, x, (const int64_t[]){i, j}, best);
}
