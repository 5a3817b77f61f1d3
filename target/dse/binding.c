/* Bindings of memories and multipliers: which of them are tried, and how the chosen one is written
 * to the ops of a process. dfg.storage is set on constants, accumulators, windows and reorders,
 * dfg.multiplier on kernels. Attributes that were given beforehand stay.
 * Tests: lit/target/dse/choose-unroll.mir, lit/target/dse/choose-binding.mir */
#include <assert.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "schedule/schedule.h"
#include "target/dse/internal.h"

bool dse_binding_variant(const Binding *choices, uint32_t number, Binding *out)
{
    *out = (Binding){.lutram = number & 1,
                     .uram = number & 2,
                     .lut_products = number & 4,
                     .popcount = number & 8,
                     .stream = number & 16,
                     .loads_tables = choices->loads_tables,
                     .stream_bits = choices->stream_bits,
                     .stream_ports = choices->stream_ports,
                     .is_7_series = choices->is_7_series};
    return out->lutram <= choices->lutram && out->uram <= choices->uram &&
           out->lut_products <= choices->lut_products && out->popcount <= choices->popcount &&
           out->stream <= choices->stream && !(out->lut_products && out->popcount);
}

static bool is_one_of(const Attr *value, const char *const *names, size_t count)
{
    for (size_t i = 0; value->kind == ATTR_STRING && i < count; i++)
        if (str_eq_c(value->u.string, names[i])) return true;
    return false;
}

/* Whether it may be in memory outside. */
static bool check_streamed(const Op *op, const CostTarget *target)
{
    bool is_table = op_has_trait(op, TRAIT_CONSTANT_LIKE);
    if (target->stream_bits == 0)
        return op_error(op, "cannot be in memory outside (\"stream\") in a design that streams no "
                            "weights");
    if (!is_table || !memory_is_loadable(type_elem(op_result(op, 0)->type)))
        return op_error(
            op, "cannot be in memory outside (\"stream\"), where only tables of integers are");
    FOR_EACH_USE(use, op_result(op, 0))
        if (use->owner->def == TENSOR(EXTRACT))
            return op_error(op,
                            "cannot be in memory outside (\"stream\"), from where elements come "
                            "in an order that loops have: this table is looked up");
    return true;
}

/* Whether a table may be where its dfg.storage says. */
static bool check_table(const Op *op, const Attr *storage, const CostTarget *target)
{
    if (storage->kind == ATTR_ARRAY) {
        for (size_t i = 0; i < storage->u.array.count; i++)
            if (!check_table(op, storage->u.array.items[i], target)) return false;
        return true;
    }
    bool is_table = op_has_trait(op, TRAIT_CONSTANT_LIKE);
    if (str_eq_c(storage->u.string, "stream")) return check_streamed(op, target);
    bool is_loaded =
        target->loads_tables && is_table && memory_is_loadable(type_elem(op_result(op, 0)->type));
    return !is_table || is_loaded || !str_eq_c(storage->u.string, "uram") ||
           op_error(op, "cannot be in UltraRAM, which has no contents until weights are loaded at "
                        "start-up");
}

bool dse_check_given_binding(const Op *process, const CostTarget *target)
{
    static const char *const multipliers[] = {DFG_MULTIPLIER_DSP, DFG_MULTIPLIER_LUT,
                                              DFG_MULTIPLIER_POPCOUNT};
    if (!dfg_check_storage(process)) return false;
    FOR_EACH_OP(op, region_entry(op_region(process, 0))) {
        const Attr *storage = op_attr(op, DFG_ATTR_STORAGE),
                   *multiplier = op_attr(op, DFG_ATTR_MULTIPLIER);
        if (storage && !check_table(op, storage, target)) return false;
        if (op_attr(op, DFG_ATTR_ORDER) && !sched_order_is(op, DFG_ORDER_INPUTS) &&
            !sched_order_is(op, DFG_ORDER_RESULTS))
            return op_error(op, "has a dfg.order that is neither \"inputs\" nor \"results\"");
        if (multiplier && !is_one_of(multiplier, multipliers, COUNT_OF(multipliers)))
            return op_error(op, "has a dfg.multiplier that is none of \"dsp\", \"lut\" and "
                                "\"popcount\"");
    }
    return true;
}

static void set_multiplier(const ComputeSchedule *sched, const Binding *binding)
{
    Op *main = value_def(op_result(sched->main, 0));
    if (cost_multiplier_is_open(sched))
        op_set_attr(main, DFG_ATTR_MULTIPLIER,
                    attr_string_c(main->ctx, cost_multiplier(main, binding)));
}

/* Binds products to LUTs that the cost model counts as shifts and additions, because HLS tools
 * might give their constants DSPs. */
static void bind_constant_products(Op *process)
{
    Context *ctx = process->ctx;
    FOR_EACH_OP(generic, region_entry(op_region(process, 0))) {
        if (generic->def != LINALG(GENERIC)) continue;
        FOR_EACH_OP(op, linalg_body(generic))
            if (product_is_sum_of_shifts(op)) {
                op_set_attr(op, EMITHLS_ATTR_NAME, attr_string_c(ctx, "scaled"));
                op_set_attr(op, EMITHLS_ATTR_BIND, attr_string_c(ctx, "fabric"));
            }
    }
}

/* Forks and converters have none. False: the process has no schedule. */
static bool list_memories(const Op *process, ProcessKind kind, const Binding *binding,
                          MemoryList *out)
{
    ComputeSchedule compute;
    WindowSchedule window;
    ReorderSchedule reorder;
    MergeSchedule merge;
    switch (kind) {
    case PROCESS_COMPUTE:
        if (!sched_compute(process, NULL, NULL, &compute)) return false;
        memory_of_compute(&compute, binding, out);
        set_multiplier(&compute, binding);
        return true;
    case PROCESS_WINDOW:
        if (!sched_window(process, NULL, &window)) return false;
        memory_of_window(&window, binding, out);
        return true;
    case PROCESS_REORDER:
        if (!sched_reorder(process, &reorder)) return false;
        memory_of_reorder(&reorder, binding, out);
        return true;
    case PROCESS_MERGE:
        if (!sched_merge(process, &merge)) return false;
        memory_of_merge(&merge, binding, out);
        return true;
    case PROCESS_CONVERTER:
    case PROCESS_FORK: return true;
    }
    return false;
}

/* A window has one storage per dimension, outermost first. That of a history made of registers does
 * not matter. */
static void set_history(const MemoryUse *use)
{
    Context *ctx = use->holder->ctx;
    const Attr *items[DFG_MAX_RANK], *given = op_attr(use->holder, DFG_ATTR_STORAGE);
    WindowParams params;
    bool ok = dfg_window_params(use->holder, &params);
    assert(ok);
    (void)ok;
    for (uint32_t i = 0; i < params.count; i++)
        items[i] = given && given->kind == ATTR_ARRAY && i < given->u.array.count
                       ? given->u.array.items[i]
                       : attr_string_c(ctx, "auto");
    items[use->level] = attr_string(ctx, memory_kind_name(use->memory.kind));
    op_set_attr(use->holder, DFG_ATTR_STORAGE, attr_array(ctx, items, params.count));
}

void dse_apply_binding(Op *process, ProcessKind kind, const Binding *binding)
{
    MemoryList memories = {0};
    bool ok = list_memories(process, kind, binding, &memories);
    assert(ok);
    (void)ok;
    bind_constant_products(process);
    for (size_t i = 0; i < memories.len; i++) {
        const MemoryUse *use = &memories.data[i];
        if (kind == PROCESS_WINDOW)
            set_history(use);
        else if (!use->memory.is_given)
            op_set_attr(use->holder, DFG_ATTR_STORAGE,
                        attr_string(process->ctx, memory_kind_name(use->memory.kind)));
    }
    vec_free(&memories);
}
