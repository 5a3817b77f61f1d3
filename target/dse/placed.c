/* What a placed emithls design takes of its dies.
 * Tests: lit/emit/dies.test, test/e2e/dies_check.py */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "ir/core/core.h"
#include "target/dse/internal.h"

static void add_function(DsePlaced *d, PtrMap *numbers, const Op *func, uint32_t die)
{
    const Attr *report = op_attr(func, DFG_ATTR_REPORT);
    PartitionVersion version = {.name = STR(""), .controller = -1};
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++)
        version.use[k] = dse_amount(report, cost_names[dse_cost_kind(k)].key);
    *vec_push(&d->functions) = func;
    *vec_push(&d->placement.dies) = die;
    *vec_push(&d->placement.versions) = 0;
    *vec_push(&d->model.nodes) = (PartitionNode){.name = symbol_name(func)->str,
                                                 .version = (uint32_t)d->model.versions.len,
                                                 .version_count = 1,
                                                 .dies = UINT64_C(1) << die};
    *vec_push(&d->model.versions) = version;
    ptrmap_put(numbers, func, (void *)(uintptr_t)d->functions.len);
}

static int64_t stream_bits(const Value *stream)
{
    const Type *word = emithls_stream_word(stream->type);
    return emithls_lanes(word) * type_width(emithls_scalar(word));
}

/* The functions at a stream's ends: calls stand in the order of the data, the writer first. */
static void add_stream(DsePlaced *d, const PtrMap *numbers, const Op *stream)
{
    uintptr_t ends[2] = {0};
    uint32_t count = 0;
    const Value *value = op_result(stream, 0);
    FOR_EACH_OP(op, stream->block)
        for (uint32_t i = 0; op->def == EMITHLS(CALL) && i < op->operand_count; i++)
            if (op_operand(op, i) == value && count < 2)
                ends[count++] =
                    (uintptr_t)ptrmap_get(numbers, symbol_lookup(op, op_attr(op, "callee")));
    if (!ends[0] || !ends[1] || ends[0] == ends[1]) return;
    *vec_push(&d->streams) = stream;
    *vec_push(&d->model.edges) = (PartitionEdge){(uint32_t)ends[0] - 1, (uint32_t)ends[1] - 1,
                                                 dse_wires(stream_bits(value)), 0};
}

DsePlaced *dse_placed(const Op *module)
{
    const Op *top = emithls_top(module);
    DsePlaced *d = xcalloc(1, sizeof *d);
    PtrMap numbers = {0};
    SysPlace place;
    bool is_placed = top && dse_platform(module, &d->platform);
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (is_placed && op->def == EMITHLS(FUNC) && sys_place(op, &place) &&
            place.die < d->platform.die_count)
            add_function(d, &numbers, op, (uint32_t)place.die);
    if (d->functions.len == 0) {
        dse_placed_free(d);
        return NULL;
    }
    FOR_EACH_OP(op, region_entry(op_region(top, 0)))
        if (op->def == EMITHLS(STREAM)) add_stream(d, &numbers, op);
    ptrmap_free(&numbers);
    const PartitionOptions options = {.max_hops = d->platform.die_count};
    d->model.platform = &d->platform;
    d->placement.is_placed = true;
    partition_measure(&d->model, &options, &d->placement, &d->use);
    return d;
}

void dse_placed_free(DsePlaced *placed)
{
    if (!placed) return;
    partition_use_free(&placed->use);
    partition_placement_free(&placed->placement);
    partition_model_free(&placed->model);
    partition_platform_free(&placed->platform);
    vec_free(&placed->functions);
    vec_free(&placed->streams);
    free_ptr((void **)&placed);
}
