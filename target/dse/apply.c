/* Writes a chosen design into the IR: unroll factors on kernels, words on ports and channels, and a
 * report on each process. What the binding decides is written by binding.c.
 * Tests: lit/target/dse/choose-unroll.mir */
#include <assert.h>

#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "ir/core/core.h"
#include "ir/rewrite/rewrite.h"
#include "target/dse/internal.h"

static void set_port_words(Op *process, const DseSpace *space, const Config *config)
{
    Block *body = region_entry(op_region(process, 0));
    for (uint32_t i = 0; i < body->arg_count; i++) {
        const Type *end = body->args[i]->type, *word = space->words.data[config->word[i]];
        body->args[i]->type = type_dialect(end->ctx, end->u.dialect.def, word->u.dialect.params,
                                           word->u.dialect.param_count);
    }
    dfg_update_signature(process);
}

/* A channel's ends and a region's ports get the type of the process port that they connect to. */
static void set_graph_words(Op *region)
{
    FOR_EACH_OP(op, region_entry(op_region(region, 0))) {
        if (op->def != DFG(INSTANTIATE)) continue;
        const Op *process = symbol_lookup(op, op_attr(op, "callee"));
        for (uint32_t i = 0; i < op->operand_count; i++) {
            Value *end = op_operand(op, i);
            const Type *type = dfg_port(process, i)->type;
            end->type = type;
            Op *channel = value_def(end);
            if (!channel) continue;
            Value *other = op_result(channel, 1 - end->index);
            other->type = type_dialect(region->ctx, other->type->u.dialect.def,
                                       type->u.dialect.params, type->u.dialect.param_count);
        }
    }
    FOR_EACH_OP(op, region_entry(op_region(region, 0))) {
        if (op->def != DFG(CONNECT_INPUT) && op->def != DFG(CONNECT_OUTPUT)) continue;
        Value *port = op_operand(op, 0);
        const Type *channel = op_operand(op, 1)->type;
        port->type = type_dialect(region->ctx, port->type->u.dialect.def, channel->u.dialect.params,
                                  channel->u.dialect.param_count);
    }
    dfg_update_signature(region);
}

static void set_unroll(Op *process, const Config *config)
{
    ComputeSchedule base;
    bool ok = sched_compute_base(process, &base);
    assert(ok);
    (void)ok;
    Op *main = value_def(op_result(base.main, 0));
    op_set_attr(main, DFG_ATTR_UNROLL,
                attr_i64_array(process->ctx, config->unroll, base.kernel.loop_count));
}

/* The order of a kernel's loops, where there was a choice. */
static void set_order(Op *process, const DseSpace *space, const Config *config)
{
    ComputeSchedule base;
    bool ok = sched_compute_base(process, &base);
    assert(ok);
    (void)ok;
    Op *main = value_def(op_result(base.main, 0));
    if (!space->target.tries_orders || base.accumulators == 1 || op_attr(main, DFG_ATTR_ORDER))
        return;
    op_set_attr(
        main, DFG_ATTR_ORDER,
        attr_string_c(process->ctx, config->by_results ? DFG_ORDER_RESULTS : DFG_ORDER_INPUTS));
}

/* Trip counts and factors of a process, for its report. */
typedef struct ReportShape {
    const char *class;
    int64_t trips[SCHED_MAX_LOOPS], unroll[SCHED_MAX_LOOPS];
    uint32_t count;
    int64_t buffer;            /* words that a reorder keeps; else 0 */
    int64_t macs, weight_bits; /* of processes that add up products; else 0 */
    int64_t factor_bits[2];    /* of a weight, of an activation */
} ReportShape;

static void add_trip(ReportShape *shape, int64_t trip, int64_t unroll)
{
    shape->trips[shape->count] = trip;
    shape->unroll[shape->count++] = unroll;
}

/* The class that analyze-kernels found, or that of the kernel as it is now. */
static const char *compute_class(const ComputeSchedule *sched)
{
    const Attr *kernel = op_attr(sched->main, DFG_ATTR_KERNEL);
    const Attr *class =
        kernel && kernel->kind == ATTR_DICT ? attr_dict_get_c(kernel, DFG_REPORT_CLASS) : NULL;
    return class && class->kind == ATTR_STRING ? class->u.string.data
                                               : kernel_class_name(sched->kernel.class);
}

static bool move_shape(const DseNode *node, ReportShape *shape)
{
    ReorderSchedule reorder;
    MergeSchedule merge;
    if (node->kind == PROCESS_MERGE) {
        shape->class = "merge";
        if (!sched_merge(node->process, &merge)) return false;
        add_trip(shape, sched_merge_trips(&merge) * merge.lanes, merge.lanes);
        return true;
    }
    shape->class = "reorder";
    if (!sched_reorder(node->process, &reorder)) return false;
    shape->buffer = reorder.depth;
    add_trip(shape, reorder.steps, 1);
    add_trip(shape, reorder.step_trips * reorder.lanes, reorder.lanes);
    return true;
}

/* The products of a process, whose second factors are constants or another stream. */
static void add_products(const ComputeSchedule *sched, ReportShape *shape)
{
    uint32_t inputs = linalg_input_count(sched->main);
    int64_t macs = kernel_macs(sched->main), count;
    if (macs <= 0) return;
    shape->macs = macs;
    for (uint32_t i = inputs; i-- > 0;) {
        const Value *value = op_operand(sched->main, i);
        bool is_table = type_is_tensor(value->type) && fold_constant_of(value);
        int64_t bits = type_width(type_elem(value->type));
        shape->factor_bits[is_table ? 0 : 1] = bits;
        if (!is_table && shape->factor_bits[0] == 0) shape->factor_bits[0] = bits;
        if (is_table && type_element_count(value->type, &count)) shape->weight_bits += count * bits;
    }
}

static bool compute_shape(const DseNode *node, ReportShape *shape)
{
    ComputeSchedule compute;
    if (!sched_compute(node->process, NULL, NULL, &compute)) return false;
    shape->class = compute_class(&compute);
    for (uint32_t i = 0; i < compute.kernel.loop_count; i++)
        add_trip(shape, compute.kernel.extents[i], compute.unroll[i]);
    add_products(&compute, shape);
    return true;
}

static bool window_shape(const DseNode *node, ReportShape *shape)
{
    WindowSchedule window;
    if (!sched_window(node->process, NULL, &window)) return false;
    shape->class = "window";
    for (uint32_t i = 0; i < window.params.count; i++)
        add_trip(shape, window.box[i] * window.dim[i].pixels, window.dim[i].pixels);
    add_trip(shape, window.inner_words * window.inner_lanes, window.inner_lanes);
    return true;
}

static bool copy_shape(const DseNode *node, ReportShape *shape)
{
    int64_t lanes = dfg_word_elems(dfg_port(node->process, 0)->type);
    shape->class = node->port_count == 1 ? "drain" : "fork";
    add_trip(shape, sched_fork_words(node->process) * lanes, lanes);
    return true;
}

/* What a process takes by itself, with the words and factors that it has now. */
static bool own_cost(const DseNode *node, const Binding *binding, const CostTarget *target,
                     Cost *out)
{
    ComputeSchedule compute;
    WindowSchedule window;
    ReorderSchedule reorder;
    MergeSchedule merge;
    const Op *process = node->process;
    switch (node->kind) {
    case PROCESS_COMPUTE:
        if (!sched_compute(process, NULL, NULL, &compute)) return false;
        cost_compute(&compute, binding, target, out);
        return true;
    case PROCESS_WINDOW:
        if (!sched_window(process, NULL, &window)) return false;
        cost_window(&window, binding, target, out);
        return true;
    case PROCESS_REORDER:
        if (!sched_reorder(process, &reorder)) return false;
        cost_reorder(&reorder, binding, target, out);
        return true;
    case PROCESS_MERGE:
        if (!sched_merge(process, &merge)) return false;
        cost_merge(&merge, binding, target, out);
        return true;
    case PROCESS_CONVERTER:
        cost_conversion(dfg_port(process, 0)->type, NULL, dfg_port(process, 1)->type, target, out);
        return true;
    case PROCESS_FORK: cost_fork(dfg_port(process, 0)->type, target, out); return true;
    }
    return false;
}

/* No default: the compiler says where a new kind is missing. */
static bool shape_of_kind(const DseNode *node, ReportShape *shape)
{
    switch (node->kind) {
    case PROCESS_COMPUTE: return compute_shape(node, shape);
    case PROCESS_WINDOW: return window_shape(node, shape);
    case PROCESS_REORDER:
    case PROCESS_MERGE: return move_shape(node, shape);
    case PROCESS_CONVERTER: /* one that the user wrote; the search's own have reports already */
    case PROCESS_FORK: return copy_shape(node, shape);
    }
    return false;
}

static ReportShape process_shape(const DseNode *node)
{
    ReportShape shape = {0};
    bool ok = shape_of_kind(node, &shape);
    assert(ok); /* the search has made its schedule before */
    (void)ok;
    return shape;
}

static const Attr *resources_attr(Context *ctx, const Cost *cost)
{
    NamedAttr items[COST_KINDS];
    uint32_t count = 0;
    for (int k = COST_DSP; k <= COST_FF; k++)
        items[count++] = build_named_attr(ctx, cost_names[k].key, attr_i64(ctx, cost->items[k]));
    return attr_dict(ctx, items, count);
}

static void write_report(Op *process, const ReportShape *shape, const Cost *cost,
                         const Cost *verilog)
{
    Context *ctx = process->ctx;
    NamedAttr items[9 + COST_KINDS] = {
        build_named_attr(ctx, DFG_REPORT_CLASS, attr_string_c(ctx, shape->class)),
        build_named_attr(ctx, DFG_REPORT_SOURCE, attr_string(ctx, layer_name_source(process))),
        build_named_attr(ctx, DFG_REPORT_TRIP_COUNTS,
                         attr_i64_array(ctx, shape->trips, shape->count)),
        build_named_attr(ctx, DFG_REPORT_UNROLL, attr_i64_array(ctx, shape->unroll, shape->count)),
    };
    uint32_t count = 4;
    for (int k = 0; k < COST_KINDS; k++)
        if (k != COST_TRAFFIC || cost->traffic > 0)
            items[count++] =
                build_named_attr(ctx, cost_names[k].key, attr_i64(ctx, cost->items[k]));
    if (shape->macs) {
        items[count++] = build_named_attr(ctx, DFG_REPORT_MACS, attr_i64(ctx, shape->macs));
        items[count++] = build_named_attr(ctx, DFG_REPORT_FACTOR_BITS,
                                          attr_i64_array(ctx, shape->factor_bits, 2));
        items[count++] =
            build_named_attr(ctx, DFG_REPORT_WEIGHT_BITS, attr_i64(ctx, shape->weight_bits));
    }
    items[count++] = build_named_attr(ctx, DFG_REPORT_VERILOG, resources_attr(ctx, verilog));
    if (shape->buffer)
        items[count++] = build_named_attr(ctx, DFG_REPORT_BUFFER, attr_i64(ctx, shape->buffer));
    op_set_attr(process, DFG_ATTR_REPORT, attr_dict(ctx, items, count));
}

void dse_set_converter_report(Op *process, const Type *from, const Type *to,
                              const CostTarget *target)
{
    ReportShape shape = {.class = "converter"};
    CostTarget as_verilog = *target;
    Cost cost, verilog;
    as_verilog.structure = STRUCTURE_VERILOG;
    cost_conversion(from, NULL, to, target, &cost);
    cost_conversion(from, NULL, to, &as_verilog, &verilog);
    int64_t words = dfg_words_per_frame(from), lanes = dfg_word_elems(from);
    add_trip(&shape, words * lanes, lanes);
    write_report(process, &shape, &cost, &verilog);
}

static void apply_node(Op *process, const DseSpace *space, const DseNode *node,
                       const Config *config)
{
    if (node->kind == PROCESS_COMPUTE) {
        set_order(process, space, config);
        set_unroll(process, config);
    }
    set_port_words(process, space, config);
    dse_apply_binding(process, node->kind, &config->binding);
    ReportShape shape = process_shape(node);
    CostTarget as_verilog = space->target;
    Cost cost = config->cost, verilog;
    as_verilog.structure = STRUCTURE_VERILOG;
    bool ok = own_cost(node, &config->binding, &as_verilog, &verilog);
    if (node->kind == PROCESS_FORK || node->kind == PROCESS_WINDOW)
        ok &= own_cost(node, &config->binding, &space->target, &cost); /* without the FIFOs behind
                                                                        * them: fit-fifos has those */
    assert(ok);                                                        /* as process_shape */
    (void)ok;
    write_report(process, &shape, &cost, &verilog);
}

/* The instantiate that runs a process. */
static Op *instantiate_of(const Op *region, const Op *process)
{
    FOR_EACH_OP(op, region_entry(op_region(region, 0)))
        if (op->def == DFG(INSTANTIATE) && symbol_lookup(op, op_attr(op, "callee")) == process)
            return op;
    return NULL;
}

/* Two processes in place of one. */
static void apply_split(SymbolTable *symbols, Op *region, Op *process, const DseSpace *space,
                        const DseNode *node, const Split *split)
{
    Op *epilogue = dse_split_epilogue(symbols, instantiate_of(region, process), split->from);
    const DseNode behind = {.process = epilogue,
                            .kind = PROCESS_COMPUTE,
                            .port_count = dfg_input_count(epilogue) + dfg_output_count(epilogue)};
    apply_node(process, space, node, &split->main);
    apply_node(epilogue, space, &behind, &split->epilogue);
}

static void apply_nodes(SymbolTable *symbols, Op *module, Op *region, const DseSpace *space,
                        const uint32_t *chosen)
{
    for (size_t i = 0; i < space->nodes.len; i++) {
        const DseNode *node = &space->nodes.data[i];
        const Config *config = &node->configs.data[chosen[i]];
        if (!node->process) continue;
        Op *process = symtab_get(symbols, symbol_name(node->process));
        if (node->kind == PROCESS_COMPUTE)
            dse_set_forms(process, config->forms, space->target.clock, module);
        if (config->split)
            apply_split(symbols, region, process, space, node, config->split);
        else
            apply_node(process, space, node, config);
    }
}

/* The channel in front of an idle process, or that behind it, joins what is at its two ends. */
static void bypass(Op *instantiate)
{
    Op *before = value_def(op_operand(instantiate, 0));
    Op *behind = value_def(op_operand(instantiate, 1));
    Value *joined = op_operand(instantiate, behind ? 0 : 1);
    Op *channel = behind ? behind : before;
    Use *use = op_result(channel, behind ? 1 : 0)->uses;
    op_set_operand(use->owner, use_index(use), joined);
    op_erase(instantiate);
    op_erase(channel);
}

/* One that is connected to ports of the accelerator only stays. */
static void drop_idle_processes(Op *region)
{
    FOR_EACH_OP_SAFE(op, region_entry(op_region(region, 0))) {
        Op *process = op->def == DFG(INSTANTIATE) ? symbol_lookup(op, op_attr(op, "callee")) : NULL;
        if (!process || op->operand_count != 2 ||
            !dse_is_idle(process, dfg_port(process, 0)->type, dfg_port(process, 1)->type))
            continue;
        if (!value_def(op_operand(op, 0)) && !value_def(op_operand(op, 1))) continue;
        bypass(op);
        op_erase(process);
    }
}

void dse_apply(Op *module, Op *region, const DseSpace *space, const uint32_t *chosen)
{
    SymbolTable symbols;
    symtab_init(&symbols, module);
    apply_nodes(&symbols, module, region, space, chosen);
    dse_apply_converters(&symbols, space, chosen);
    drop_idle_processes(region);
    set_graph_words(region);
    symtab_free(&symbols);
}
