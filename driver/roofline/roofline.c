/* Measures a network's roofline: products by precision, bits at the ports and in constants; then what
 * the device can do of each.
 *
 *   peak = 2 f (LUT / lut_per_mac + DSP mac_per_dsp)          time = sum of macs / peak
 *
 * Tests: lit/tools/ming-roofline.test */
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "driver/roofline/roofline.h"
#include "schedule/schedule.h"

/* FINN-R, footnote 1: what of a device computes. */
enum { LUT_PERCENT = 70, DSP_PERCENT = 90, BRAM18_BITS = 18 * 1024, URAM_BITS = 288 * 1024 };

typedef struct Measure {
    Roofline *out;
    bool overflows;
} Measure;

static int precision_order(const Precision *a, const Precision *b)
{
    if (a->is_float != b->is_float) return a->is_float ? 1 : -1;
    if (a->weight_bits != b->weight_bits) return a->weight_bits < b->weight_bits ? -1 : 1;
    return (a->input_bits > b->input_bits) - (a->input_bits < b->input_bits);
}

/* The row of a precision; those beyond the last place are counted as the last. */
static RooflinePeak *peak_of(Roofline *r, Precision precision)
{
    uint32_t at = 0;
    while (at < r->peak_count && precision_order(&r->peaks[at].precision, &precision) < 0) at++;
    bool is_known = at < r->peak_count && precision_order(&r->peaks[at].precision, &precision) == 0;
    if (is_known || r->peak_count == ROOFLINE_MAX_PRECISIONS)
        return &r->peaks[at < r->peak_count ? at : at - 1];
    memmove(&r->peaks[at + 1], &r->peaks[at], (r->peak_count - at) * sizeof r->peaks[0]);
    r->peak_count++;
    r->peaks[at] = (RooflinePeak){.precision = precision};
    return &r->peaks[at];
}

static bool is_constant(const Value *value)
{
    const Op *def = value_def(value);
    return def && op_has_trait(def, TRAIT_CONSTANT_LIKE);
}

/* Bits of the number behind extensions and the numbers that a bit chooses between. */
static uint32_t source_bits(const Value *value)
{
    const Op *op = value_def(value);
    while (op && (op->def == ARITH(EXTSI) || op->def == ARITH(EXTUI) || op->def == ARITH(EXTF) ||
                  op->def == ARITH(SELECT))) {
        value = op_operand(op, 0);
        op = value_def(value);
    }
    return type_width(value->type);
}

/* Whether a number of a payload comes from a table: an input that is constant, or a constant. */
static bool is_weight(const Op *generic, const Value *value)
{
    const Op *op = value_def(value);
    for (; op && op->operand_count > 0; op = value_def(value)) value = op_operand(op, 0);
    if (op) return true;
    return value->is_arg && value_block(value) == linalg_body(generic) &&
           is_constant(op_operand(generic, value->index));
}

bool roofline_add_products(Roofline *r, Precision precision, int64_t macs)
{
    RooflinePeak *peak = peak_of(r, precision);
    int64_t ops;
    return i64_add(peak->macs, macs, &peak->macs) && i64_mul(macs, 2, &ops) &&
           i64_add(r->ops, ops, &r->ops);
}

static void take_product(Measure *m, const Op *generic, const Op *product, int64_t macs)
{
    const Value *a = op_operand(product, 0), *b = op_operand(product, 1);
    Precision precision = {source_bits(b), source_bits(a), product->def == ARITH(MULF)};
    if (is_weight(generic, a))
        precision = (Precision){source_bits(a), source_bits(b), precision.is_float};
    m->overflows |= !roofline_add_products(m->out, precision, macs);
}

static bool take_generic(Measure *m, const Op *generic)
{
    int64_t macs = kernel_macs(generic);
    if (macs < 0) m->overflows = true;
    if (macs <= 0) return true;
    FOR_EACH_OP(op, linalg_body(generic))
        if (op->def == ARITH(MULI) || op->def == ARITH(MULF)) {
            take_product(m, generic, op, macs);
            return true;
        }
    return true;
}

static int64_t tensor_bits(Measure *m, const Type *type)
{
    int64_t count, bits;
    if (!type_is_tensor(type)) return 0;
    const Type *elem = type_elem(type);
    bool is_number = type_is_integer(elem) || type_is_float(elem);
    if (!is_number || !type_is_static(type)) return 0;
    if (type_element_count(type, &count) && i64_mul(count, type_width(elem), &bits)) return bits;
    m->overflows = true;
    return 0;
}

static void add_bits(Measure *m, int64_t *sum, const Type *type)
{
    m->overflows |= !i64_add(*sum, tensor_bits(m, type), sum);
}

static void take_ports(Measure *m, const Op *region)
{
    const Type *type = op_attr(region, "function_type")->u.type_value;
    for (uint32_t i = 0; i < type->u.function.input_count + type->u.function.result_count; i++) {
        const Type *port = type->u.function.types[i];
        add_bits(m, &m->out->port_bits, dfg_payload(port));
    }
}

static bool take_op(Op *op, void *user)
{
    Measure *m = user;
    if (op->def == DFG(REGION)) take_ports(m, op);
    if (op->def == ARITH(CONSTANT)) add_bits(m, &m->out->constant_bits, op_result(op, 0)->type);
    return op->def != LINALG(GENERIC) || take_generic(m, op);
}

/* Integers of so many bits; a bit is read as -1 or 1. */
static PayloadRange range_of(uint32_t bits)
{
    int64_t high = bits > 1 ? ((int64_t)1 << (bits - 1)) - 1 : 1;
    return (PayloadRange){.low = bits > 1 ? -high - 1 : -1, .high = high};
}

/* Products that a slice multiplies at once: packed, or less than one of them. */
static double mac_per_dsp(const DspShape *dsp, const Precision *p)
{
    enum { FLOAT_DSP = 5, DOUBLE_DSP = 14 }; /* of a product and a sum in Vitis HLS */
    if (p->is_float) return 1.0 / (p->weight_bits > 32 ? DOUBLE_DSP : FLOAT_DSP);
    if (i64_max(p->weight_bits, p->input_bits) > dsp->wide ||
        i64_min(p->weight_bits, p->input_bits) > dsp->narrow)
        return 1.0 / (double)i64_max(1, product_dsp(p->weight_bits, p->input_bits));
    const PayloadRange operands[2] = {range_of(p->weight_bits), range_of(p->input_bits)};
    int64_t most = 1;
    for (int64_t i = 1; i <= PACKING_MAX_FIELDS; i++)
        for (int64_t j = 1; j <= PACKING_MAX_FIELDS; j++) {
            PackingGrid grid;
            if (sched_packing_grid(dsp, operands, (const int64_t[]){i, j}, &grid))
                most = i64_max(most, i * j);
        }
    return (double)most;
}

/* Counts of bits over a long sum where the planes are few, else a product and a sum; of floats what
 * stands beside the slices. */
static double lut_per_mac(const Precision *p)
{
    enum { COUNTED = 192, LEAF_LUTS = 2, FLOAT_LUTS = 348 };
    int64_t bits = (int64_t)p->weight_bits + p->input_bits;
    if (p->is_float) return FLOAT_LUTS * (p->weight_bits > 32 ? 2.0 : 1.0);
    double product = (double)(product_luts(p->weight_bits, p->input_bits) + bits + 1);
    int64_t pairs = (int64_t)p->weight_bits * p->input_bits;
    if (pairs > POPCOUNT_MOST_PAIRS) return product;
    double count =
        (double)LEAF_LUTS / POPCOUNT_LEAF + (double)sched_popcount_adder_luts(COUNTED) / COUNTED;
    return count * (double)pairs < product ? count * (double)pairs : product;
}

static void rate(const Roofline *r, const DspShape *dsp, RooflinePeak *peak)
{
    const Precision *p = &peak->precision;
    peak->lut_per_mac = lut_per_mac(p);
    peak->mac_per_dsp = mac_per_dsp(dsp, p);
    double in_luts = (double)r->lut / peak->lut_per_mac,
           in_dsp = (double)r->dsp * peak->mac_per_dsp;
    /* a float unit is made of both */
    double macs = !p->is_float ? in_luts + in_dsp : in_luts < in_dsp ? in_luts : in_dsp;
    peak->gops = 2e-3 * (double)r->clock * macs;
}

static void add_references(Roofline *r)
{
    static const Precision references[] = {{1, 1, false}, {2, 2, false},   {4, 4, false},
                                           {8, 8, false}, {16, 16, false}, {32, 32, true}};
    for (size_t i = 0; i < COUNT_OF(references); i++) (void)peak_of(r, references[i]);
}

static double device_bandwidth(const Device *device)
{
    int64_t mbps = 0;
    for (uint32_t i = 0; i < device->bank_count; i++)
        mbps += device->banks[i].count * device->banks[i].mbps;
    return (double)mbps / 1e3;
}

/* What the options say of a resource, in place of its share. */
static void take_share(int64_t limit, int64_t total, int64_t utilization, int64_t *share)
{
    if (utilization != LIMIT_NOT_GIVEN) *share = total * utilization / 100;
    if (limit != LIMIT_NOT_GIVEN) *share = limit;
}

static void limit(Roofline *r)
{
    double seconds = 0;
    for (uint32_t i = 0; i < r->peak_count; i++)
        if (r->peaks[i].macs > 0) seconds += 2e-9 * (double)r->peaks[i].macs / r->peaks[i].gops;
    r->fits = r->constant_bits <= r->memory_bits;
    r->moved_bytes = (double)(r->port_bits + (r->fits ? 0 : r->constant_bits)) / 8;
    r->intensity = r->moved_bytes > 0 ? (double)r->ops / r->moved_bytes : 0;
    r->compute_gops = 1e-9 * (double)r->ops / seconds;
    r->memory_gops = r->bandwidth * r->intensity;
    bool is_memory = r->memory_gops > 0 && r->memory_gops < r->compute_gops;
    r->gops = is_memory ? r->memory_gops : r->compute_gops;
    r->fps = 1e9 * r->gops / (double)r->ops;
}

void roofline_begin(const Device *device, int64_t clock, Roofline *out)
{
    *out = (Roofline){.clock = clock,
                      .lut = device->total.lut * LUT_PERCENT / 100,
                      .dsp = device->total.dsp * DSP_PERCENT / 100,
                      .bandwidth = device_bandwidth(device)};
}

const char *roofline_finish(const Device *device, Roofline *r)
{
    enum { E1_WIDE = 25, E2_WIDE = 27, NARROW = 18, ACCUMULATOR = 48 };
    const DspShape dsp = {str_eq_c(device->dsp_kind, "DSP48E1") ? E1_WIDE : E2_WIDE, NARROW,
                          ACCUMULATOR};
    if (r->ops == 0) return "nothing in the network multiplies and adds";
    if (r->lut + r->dsp == 0) return "there are no LUTs and no DSP slices";
    add_references(r);
    for (uint32_t i = 0; i < r->peak_count; i++) rate(r, &dsp, &r->peaks[i]);
    limit(r);
    return NULL;
}

bool roofline_measure(const Op *module, const DeviceTarget *target, const DeviceOptions *options,
                      double bandwidth, DriverErrors errors, Roofline *out)
{
    const Device *device = &target->device;
    Measure m = {.out = out};
    roofline_begin(device, target->clock, out);
    take_share(options->limits.lut, device->total.lut, options->utilization, &out->lut);
    take_share(options->limits.dsp, device->total.dsp, options->utilization, &out->dsp);
    if (bandwidth > 0) out->bandwidth = bandwidth;
    out->memory_bits = target->budget.bram18 * BRAM18_BITS + target->budget.uram * URAM_BITS;
    op_walk((Op *)(uintptr_t)module, take_op, &m);
    const char *reason =
        m.overflows ? "has more operations than can be counted" : roofline_finish(device, out);
    return !reason || driver_error(errors, DRIVER_ERROR_OTHER, "%s", reason);
}
