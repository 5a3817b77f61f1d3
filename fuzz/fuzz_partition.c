/* Fuzz target for task graphs: a file is refused with one diagnostic, or its nodes are placed on two
 * cards so that every limit holds, or not at all. */
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "fuzz/fuzz_support.h"
#include "target/partition/partition.h"

enum { MOST_NODES = 64, MOST_STEPS = 2000 };

static void check_use(const PartitionModel *model, const PartitionOptions *options,
                      const PartitionPlacement *placement)
{
    PartitionUse *use = xcalloc(1, sizeof *use);
    const PartitionPlatform *platform = model->platform;
    partition_measure(model, options, placement, use);
    for (uint32_t d = 0; d < platform->die_count; d++)
        for (int k = 0; k < PARTITION_KINDS; k++)
            fuzz_check(use->dies[d][k] <= platform->dies[d].limit[k], "a die is too full",
                       platform->dies[d].name);
    for (size_t i = 0; i < use->links.len; i++)
        fuzz_check(use->links.data[i] <= platform->links.data[i / 2].capacity,
                   "a link carries too much", STR(""));
    for (uint32_t g = 0; g < options->goal_count; g++)
        fuzz_check(placement->bounds[g] <= placement->values[g], "a bound above the value",
                   str_from(partition_goal_name(options->goals[g])));
    partition_use_free(use);
    free(use);
}

static void place(const PartitionModel *model)
{
    PartitionOptions options = PARTITION_OPTIONS_DEFAULTS;
    PartitionPlacement placement;
    StrBuf why = {0};
    options.max_steps = MOST_STEPS;
    partition_search(model, &options, &placement);
    if (placement.is_placed)
        check_use(model, &options, &placement);
    else if (placement.is_proven)
        partition_explain(model, &options, &why);
    strbuf_free(&why);
    partition_placement_free(&placement);
}

void fuzz_partition(const uint8_t *data, size_t size)
{
    static FuzzContext reused;
    System *system = xcalloc(1, sizeof *system);
    PartitionPlatform *platform = xcalloc(1, sizeof *platform);
    PartitionModel model;
    StrBuf why = {0};
    char path[32];
    fuzz_write_file(data, size, path, sizeof path);
    Context *ctx = fuzz_context_take(&reused);
    fuzz_check(driver_chain_cards(ctx, "u280", 2, true, fuzz_reports, system), "no card", STR(""));
    fuzz_check(partition_platform(ctx, system, platform, &why), "no platform", strbuf_str(&why));
    size_t errors = diag_error_count(ctx);
    bool ok = partition_read(ctx, str_from(path), platform, &model);
    errors = diag_error_count(ctx) - errors;
    fuzz_check(errors == (ok ? 0 : 1), "not one diagnostic for a refused graph", STR(""));
    if (ok && model.nodes.len <= MOST_NODES) place(&model);
    partition_model_free(&model);
    partition_platform_free(platform);
    diag_flush(ctx);
    fuzz_context_give_back(&reused);
    strbuf_free(&why);
    free(platform);
    free(system);
}
