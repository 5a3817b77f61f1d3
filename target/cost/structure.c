/* What the structures of a design differ in, and the parts of processes that follow from it: what
 * steers them, choices and words. The numbers of the first structure are those of designs that Vitis
 * HLS builds, of the second what Yosys counts in our Verilog (docs/cost-model.md).
 * Tests: test/unit/target/cost/structure_test.c, bench/rtl */
#include "dialects/dfg/dfg.h"
#include "target/cost/internal.h"

static const StructureCosts structures[COST_STRUCTURES] = {
    [STRUCTURE_HLS] =
        {
            .process_lut = 60,
            .process_ff = 60,
            .counter_halves = 4,
            .has_word_registers = true,
            .pair_halves = 1,
            .srl = {.control_lut = 8, .control_ff = 3, .counter_lut = 1, .counter_ff = 1},
            .fifo = {.counter_lut = 2, .counter_ff = 2},
            .has_lutram_register = true,
        },
    [STRUCTURE_VERILOG] =
        {
            .process_lut = 1,
            .has_wait_counter = true,
            .counter_halves = 3,
            .pair_halves = 2,
            .shares_conditions = true,
            .bound_lut = 7,
            .wrap_lut = 2,
            .source_lut = 3,
            .has_free_wires = true,
            .srl = {.control_lut = 4, .control_ff = 3, .counter_lut = 2, .counter_ff = 2},
            .fifo = {.control_lut = 5, .control_ff = 3, .counter_lut = 4, .counter_ff = 3},
            .has_bypass = true,
            .has_bank_choice = true,
        },
};

const StructureCosts *cost_structure(CostStructure structure)
{
    return &structures[structure];
}

void cost_add_counter(int64_t trips, CostStructure structure, Cost *sum)
{
    int64_t bits = i64_log2_up(trips);
    sum->lut += ceil_div(cost_structure(structure)->counter_halves * bits, 2);
    sum->ff += bits;
}

void cost_add_pipeline(CostPipeline *pipeline, bool rewinds, const CostTarget *target, Cost *sum)
{
    const StructureCosts *costs = cost_structure(target->structure);
    pipeline->rewinds = rewinds;
    sum->cycles += cost_pipeline_cycles(pipeline);
    sum->fill += cost_pipeline_fill(pipeline);
    sum->lut += costs->process_lut;
    sum->ff += costs->process_ff + pipeline->depth; /* which stages are busy */
    if (costs->has_wait_counter)
        cost_add_counter(pipeline->ii + pipeline->depth, target->structure, sum);
}

void cost_add_schedule(CostPipeline *pipeline, bool rewinds, MemoryList *memories,
                       const CostTarget *target, Cost *sum)
{
    cost_add_pipeline(pipeline, rewinds, target, sum);
    for (size_t i = 0; i < memories->len; i++)
        memory_cost(&memories->data[i].memory, target->structure, sum);
    vec_free(memories);
}

bool cost_table_rewinds(const CostTarget *target)
{
    return target->rewinds && !target->loads_tables;
}

int64_t cost_word_bits(const Type *end)
{
    return dfg_word_elems(end) * cost_element_bits(type_elem(dfg_payload(end)));
}

int64_t cost_choice_luts(int64_t bits, int64_t choices)
{
    return bits * ceil_div(choices - 1, 3);
}

int64_t cost_pair_luts(int64_t bits, CostStructure structure)
{
    return ceil_div(bits * cost_structure(structure)->pair_halves, 2);
}
