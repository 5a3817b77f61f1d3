/* batch-sa-network.
 *
 * Requires: verified IR.  Changes: maps become those of several images, one below the other, and layers
 * take them so: weights that are in the array serve all of them, and dense layers have an image's vector
 * for a pixel. Ports keep the type of one frame and say how many their maps have.
 * Tests: lit/lowering/network_to_program/batch.mir, test/e2e/overlay_check.py */
#include "ir/asm/print/print.h"
#include "lowering/network_to_program/internal.h"

enum { MOST_ROWS = UINT16_MAX, MOST_CONSTANTS = 1 << 26 };

static bool batch_map(Op *op, Value *map, int64_t images)
{
    const int64_t *dims = sa_map_dims(map);
    const int64_t batched[] = {dims[0] * images, dims[1], dims[2]};
    if (batched[0] > MOST_ROWS)
        return op_error(op, "gives %lld rows for a batch of %lld images, more than %d",
                        (long long)batched[0], (long long)images, MOST_ROWS);
    map->type = type_with_shape(map->type, batched, COUNT_OF(batched));
    return true;
}

/* A map that is always the same is so for each image. */
static bool repeat_value(Pass *pass, Op *input, int64_t images)
{
    const Attr *value = op_attr(input, "value");
    if (!value) return true;
    const Type *type = op_result(input, 0)->type;
    const int64_t count = dense_count(value);
    if (dense_view(value).is_splat) {
        op_set_attr(input, "value", attr_dense_splat(type, dense_elem(value, 0)));
        return true;
    }
    if (count > MOST_CONSTANTS / images)
        return op_error(input, "has %lld constants for each of %lld images, more than %d",
                        (long long)count, (long long)images, MOST_CONSTANTS);
    int64_t *values = ARENA_ARRAY(&pass->scratch, int64_t, count * images);
    for (int64_t i = 0; i < images; i++) dense_i64_row(value, 0, (size_t)count, values + i * count);
    op_set_attr(input, "value", attr_dense_i64(type, values, (size_t)(count * images)));
    return true;
}

static void multiply(Op *op, const char *name, int64_t images)
{
    op_set_attr(op, name, attr_i64(op->ctx, images * sa_int(op, name, 1)));
}

static bool batch_op(Pass *pass, Op *op, int64_t images)
{
    if (sa_is_layer(op)) multiply(op, SA_ATTR_IMAGES, images);
    if (!sa_is_layer(op) && op_attr(op, SA_ATTR_TYPE)) multiply(op, SA_ATTR_FRAMES, images);
    if (op->result_count > 0 && !batch_map(op, op_result(op, 0), images)) return false;
    return op->def != SA(INPUT) || repeat_value(pass, op, images);
}

static bool run(Pass *pass, Op *module)
{
    const int64_t images = pass_int(pass, "images");
    pass->unchanged = true;
    FOR_EACH_INNER(network, module) {
        if (network->def != SA(NETWORK) || images == 1) continue;
        pass->unchanged = false;
        FOR_EACH_OP(op, region_entry(op_region(network, 0)))
            if (!batch_op(pass, op, images)) return false;
    }
    return true;
}

static const OptionDef options[] = {
    {"images", OPTION_INT, "1", "images that the network takes at once", 1, SA_MOST_IMAGES, NULL},
    {0},
};

const PassDef pass_batch_sa_network = {
    .name = "batch-sa-network",
    .summary = "Let an overlay's network take several images at once",
    .description =
        "Maps are those of so many images, one below the other. Weights in the array serve all of "
        "them, so that each is loaded once for all; layers whose windows stay within an image's "
        "rows "
        "without padding, dense ones above all, take them as one map.",
    .anchor = "builtin.module",
    .options = options,
    .run = run,
};
