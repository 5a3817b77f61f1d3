/* merge-sa-pools.
 *
 * Requires: verified IR.  Changes: a maximum over windows that alone reads a convolution becomes a part
 * of it, where that takes no more cycles: results then go to the windows that they are in, and their
 * map is never there. The windows overlap or touch, none lies in padding alone, and the pool's programs
 * do nothing but that. r0 begins as the padding, so results below it are raised to it before.
 * Tests: lit/lowering/network_to_program/pools.mir, test/e2e/tiles_check.py */
#include "ir/asm/print/print.h"
#include "lowering/network_to_program/internal.h"

enum { LEAST_IMMEDIATE = -4096, MOST_IMMEDIATE = 4095, MAP_DIMS = 2 }; /* 13 bits; rows, columns */

static const Op *last_of(const Op *layer, uint32_t region)
{
    return region_entry(op_region(layer, region))->last;
}

/* tap { load ra, sums; max r0, r0, ra } pu { store r0 } */
static bool is_maximum(const Op *pool)
{
    const Op *max = last_of(pool, 0), *load = max ? max->prev : NULL, *store = last_of(pool, 1);
    if (!load || load->prev || store->prev || load->def != SA(PU_LOAD) || max->def != SA(PU_MAX))
        return false;
    int64_t a = sa_int(load, "dest", 0), x = sa_int(max, "src0", 0), y = sa_int(max, "src1", 0);
    return sa_int(load, "source", 0) == SA_SOURCE_SUMS && a != 0 && sa_int(max, "dest", 0) == 0 &&
           ((x == 0 && y == a) || (x == a && y == 0)) && sa_int(store, "src0", 0) == 0;
}

/* Whether what the convolution stores is known to be no less. */
static bool stores_at_least(const Op *conv, int64_t value)
{
    const Op *op = last_of(conv, 0);
    int64_t from = sa_int(op, "src0", 0);
    for (op = op->prev; op; op = op->prev) {
        if (sa_int(op, "dest", 0) != from) continue;
        if (op->def == SA(PU_THRESHOLD) || op->def == SA(PU_LOOKUP)) return value <= 0;
        if (op->def == SA(PU_MAXI) && sa_int(op, "immediate", 0) >= value) return true;
        if (op->def != SA(PU_MINI) || sa_int(op, "immediate", 0) < value) return false;
        from = sa_int(op, "src0", 0);
    }
    return false;
}

/* The convolution that the pool can be a part of; NULL: it stays as it is. */
static Op *conv_of(const Op *pool, const SaOverlay *size, SaPool *out)
{
    Op *conv = value_def(op_operand(pool, 0));
    SaPool other;
    if (!conv || conv->def != SA(CONV) || sa_images(conv) != sa_images(pool) || sa_operand(conv) ||
        sa_operand(pool) || sa_pool(conv, &other) || !value_has_one_use(op_operand(pool, 0)) ||
        !is_maximum(pool))
        return NULL;
    for (size_t i = 0; i < MAP_DIMS; i++) {
        out->map[i] = sa_map_dims(op_operand(pool, 0))[i] / (i == 0 ? sa_images(pool) : 1);
        out->kernel[i] = sa_item(pool, "kernel", i);
        out->strides[i] = sa_item(pool, "strides", i);
        out->pads[i] = sa_item(pool, "pads", i);
        if (sa_item(pool, "dilations", i) != 1 && out->kernel[i] > 1) return NULL;
    }
    int64_t pad = sa_int(pool, "pad_value", 0);
    bool is_raised = pad <= sa_act_min(size) || stores_at_least(conv, pad) ||
                     (pad >= LEAST_IMMEDIATE && pad <= MOST_IMMEDIATE);
    const int64_t *dims = sa_map_dims(op_result(pool, 0));
    const int64_t windows[MAP_DIMS] = {dims[0] / sa_images(pool), dims[1]};
    return is_raised && sa_pool_fits(out, windows) ? conv : NULL;
}

static uint64_t pixels(const Value *map)
{
    return (uint64_t)(sa_map_dims(map)[0] * sa_map_dims(map)[1]);
}

/* What the array's cycles depend on. */
static Layer layer_of(const Op *op)
{
    const uint32_t last = op->region_count - 1;
    return (Layer){.op = op,
                   .mode = (uint32_t)to_program_mode(op),
                   .taps = (uint32_t)to_program_taps(op),
                   .tap_steps = last > 0 ? to_program_steps(op, 0) : 0,
                   .pu_steps = to_program_steps(op, last)};
}

/* Whether the array takes no more cycles so, for a block of channels. */
static bool is_faster(const Op *conv, const Op *pool, const SaOverlay *size, const SaPool *windows)
{
    const Plan plan = {.size = *size};
    uint64_t channels = (uint64_t)op_attr(conv, "weights")->type->u.shaped.dims[3];
    uint64_t blocks = to_program_up(channels, size->cols);
    Layer apart = layer_of(conv), behind = layer_of(pool), merged = apart;
    merged.pu_steps++;
    merged.has_pool = true;
    merged.pool = *windows;
    uint64_t results = pixels(op_result(conv, 0));
    return results * to_program_vector_cycles(&plan, &merged, blocks, true) <=
           results * to_program_vector_cycles(&plan, &apart, blocks, true) +
               pixels(op_result(pool, 0)) * to_program_vector_cycles(&plan, &behind, 1, true);
}

/* In front of the store. */
static void raise_results(Op *conv, int64_t least)
{
    Op *store = region_entry(op_region(conv, 0))->last;
    Context *ctx = conv->ctx;
    Builder b = builder_before(store);
    NamedAttr attrs[] = {build_named_attr(ctx, "dest", op_attr(store, "src0")),
                         build_named_attr(ctx, "src0", op_attr(store, "src0")),
                         build_named_attr(ctx, "immediate", attr_i64(ctx, least))};
    build(&b, SA(PU_MAXI), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
}

static void set_pair(Op *op, const char *name, const int64_t pair[MAP_DIMS])
{
    op_set_attr(op, name, attr_dense_array(type_i(op->ctx, 64), pair, MAP_DIMS));
}

static void merge(Op *conv, Op *pool, const SaOverlay *size, const SaPool *windows)
{
    int64_t pad = sa_int(pool, "pad_value", 0);
    if (pad > sa_act_min(size) && !stores_at_least(conv, pad)) raise_results(conv, pad);
    set_pair(conv, SA_ATTR_POOL_MAP, windows->map);
    set_pair(conv, SA_ATTR_POOL_KERNEL, windows->kernel);
    set_pair(conv, SA_ATTR_POOL_STRIDES, windows->strides);
    set_pair(conv, SA_ATTR_POOL_PADS, windows->pads);
    Value *result = op_result(conv, 0);
    result->type = op_result(pool, 0)->type;
    value_replace_all(op_result(pool, 0), result);
    op_erase(pool);
}

static bool run(Pass *pass, Op *module)
{
    pass->unchanged = true;
    FOR_EACH_INNER(network, module) {
        if (network->def != SA(NETWORK)) continue;
        const SaOverlay size = sa_overlay(op_attr(network, SA_ATTR_OVERLAY));
        FOR_EACH_OP_SAFE(op, region_entry(op_region(network, 0))) {
            SaPool windows;
            Op *conv = op->def == SA(POOL) ? conv_of(op, &size, &windows) : NULL;
            if (!conv || !is_faster(conv, op, &size, &windows)) continue;
            merge(conv, op, &size, &windows);
            pass->unchanged = false;
        }
    }
    return true;
}

const PassDef pass_merge_sa_pools = {
    .name = "merge-sa-pools",
    .summary = "Let convolutions of an overlay's network give the maxima of windows",
    .description =
        "A maximum over windows that alone reads a convolution becomes the convolution's, where "
        "windows overlap or touch, and where the array takes no more cycles for both so: the map "
        "between them is never there. Convolutions with an operand keep their pools.",
    .anchor = "builtin.module",
    .run = run,
};
