/* Tiling: the unroll factors that the loops of a compute process can have. A factor f of a loop of
 * n iterations makes ceil(n / f) tiles. Either f divides n, or the tiles overlap. What overlapping
 * tiles share would count twice, so they are only possible in reductions that add up products with
 * a table of weights, where the weights of the second time are made zero.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-overlap.mir, test/e2e/unroll_check.py */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "schedule/internal.h"
#include "schedule/schedule.h"

int sched_element_input(const Op *generic, const Value *value)
{
    const Op *def = value_def(value);
    while (def && (def->def == ARITH(EXTSI) || def->def == ARITH(EXTUI))) {
        value = op_operand(def, 0);
        def = value_def(value);
    }
    bool is_argument = !def && value->index < linalg_input_count(generic);
    return is_argument ? (int)value->index : -1;
}

bool sched_is_table(const Value *operand)
{
    const Op *def = value_def(operand);
    const Attr *value =
        def && op_has_trait(def, TRAIT_CONSTANT_LIKE) ? op_attr(def, "value") : NULL;
    return value && value->kind == ATTR_DENSE && !value->u.dense.is_splat;
}

int sched_compute_weights(const ComputeSchedule *sched)
{
    const Op *product = sched_payload_product(sched->main);
    for (uint32_t i = 0; product && i < 2; i++) {
        int operand = sched_element_input(sched->main, op_operand(product, i));
        if (operand >= 0 && sched_is_table(op_operand(sched->main, (uint32_t)operand)))
            return operand;
    }
    return -1;
}

static bool has_weights_along(const ComputeSchedule *sched, uint32_t loop)
{
    int weights = sched_compute_weights(sched);
    if (weights < 0 || !sched->kernel.is_reduction[loop]) return false;
    const AffineMap *map = linalg_operand_map(sched->main, (uint32_t)weights);
    for (uint32_t r = 0; r < map->result_count; r++)
        if (affine_uses_dim(map->results[r], loop)) return true;
    return false;
}

bool sched_compute_parts(const ComputeSchedule *sched, uint32_t loop, int64_t factor,
                         LoopParts *out)
{
    int64_t extent = sched->kernel.extents[loop];
    if (factor < 1 || factor > extent) return false;
    *out = (LoopParts){.trip = ceil_div(extent, factor), .scale = factor};
    if (extent % factor == 0) return true;
    out->scale = (extent - factor) / (out->trip - 1);
    return (extent - factor) % (out->trip - 1) == 0 && has_weights_along(sched, loop);
}

bool sched_table_repeats(const ComputeSchedule *sched, const TableLayout *layout,
                         const int64_t *position)
{
    for (uint32_t i = 0; i < layout->loop_count; i++) {
        const ScheduleLoop *loop = &sched->loops[layout->by_loop[i]];
        for (uint32_t l = 0; l < layout->lane_count; l++)
            if (layout->by_lane[l] == loop->loop && position[i] > 0 &&
                position[layout->loop_count + l] < sched->unroll[loop->loop] - loop->scale)
                return true;
    }
    return false;
}
