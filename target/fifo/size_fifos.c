/* size-fifos: sets the depth of every channel of the region.
 * Requires: words chosen (choose-unroll), an acyclic graph.  Changes: depth attributes.
 * Tests: lit/target/size-fifos.mir */
#include "target/fifo/size_fifos.h"

#include "ir/core/builder.h"
#include "ir/asm/print/diag.h"
#include "ir/core/symbol.h"
#include "schedule/plan_move.h"
#include "schedule/converter.h"
#include "target/target.h"

/* Parts of a frame are counted in 1 / FRAME. */
enum { FRAME = 1 << 20, MAX_PATH = 4096 };

/* What the pipelines of a branch hold, besides what their kernels wait for. */
enum { PIPELINE_WORDS = 32 };

/* --- how long a process holds data back ----------------------------------------------- */

static int64_t part_of_frame(int64_t part, int64_t whole)
{
    return (int64_t)((double)part / (double)whole * FRAME);
}

/* Scan positions before the first output, of all positions. */
static int64_t window_delay(const WindowPlan *plan)
{
    return part_of_frame(window_first_write(plan), plan->end - plan->begin);
}

static int64_t compute_delay(const ComputePlan *plan)
{
    return part_of_frame(compute_first_write(plan), compute_trips(plan));
}

/* Words of the source taken before the first of the result, of all. */
static int64_t reorder_delay(const ReorderPlan *plan)
{
    int64_t blocks = plan->delay < plan->in_blocks ? plan->delay : plan->in_blocks;
    return part_of_frame(blocks, plan->in_blocks);
}

static bool process_delay(const Op *process, int64_t *out)
{
    ProcessKind kind;
    WindowPlan window;
    ComputePlan compute;
    ReorderPlan reorder;
    ConverterPlan converter;
    *out = 0;
    if (!process_kind(process, &kind))
        return false;
    if (kind == PROCESS_WINDOW) {
        if (!window_plan(process, NULL, &window))
            return false;
        *out = window_delay(&window);
    } else if (kind == PROCESS_COMPUTE) {
        if (!compute_plan_now(process, &compute))
            return false;
        *out = compute_delay(&compute);
    } else if (kind == PROCESS_REORDER) {
        if (!reorder_plan(process, &reorder))
            return false;
        *out = reorder_delay(&reorder);
    } else if (kind == PROCESS_CONVERTER) {
        if (!converter_plan(process, &converter))
            return false;
        *out = converter.joins ? part_of_frame(converter.parts - 1, converter_trips(&converter)) : 0;
    }
    return true;
}

/* --- paths ---------------------------------------------------------------------------------- */

/* The instantiate that reads what is sent into `end`, or NULL for a region port. */
static const Op *reader_of(const Value *end)
{
    const Op *channel = value_def(end);
    if (!channel)
        return NULL;
    const Use *use = op_result(channel, 1)->uses;
    return use && use->owner->def == DFG(INSTANTIATE) ? use->owner : NULL;
}

static uint32_t input_count(const Op *instantiate)
{
    uint32_t begin, count;
    op_operand_group(instantiate, 0, &begin, &count);
    return count;
}

/* Largest sum of delays from an instantiated process to the region's end. Values are kept, plus one,
 * in `known`, so the walk is linear. */
static bool longest_delay(const Op *instantiate, PtrMap *known, uint32_t depth, int64_t *out)
{
    uintptr_t seen = (uintptr_t)ptrmap_get(known, instantiate);
    *out = seen ? (int64_t)seen - 1 : 0;
    if (seen)
        return true;
    if (depth > MAX_PATH)
        return op_error(instantiate, "is on a path of more than %d processes, or on a cycle", MAX_PATH);
    int64_t own, longest = 0;
    if (!process_delay(symbol_lookup(instantiate, op_attr(instantiate, "callee")), &own))
        return false;
    for (uint32_t i = input_count(instantiate); i < instantiate->operand_count; i++) {
        const Op *next = reader_of(op_operand(instantiate, i));
        int64_t rest = 0;
        if (next && !longest_delay(next, known, depth + 1, &rest))
            return false;
        longest = rest > longest ? rest : longest;
    }
    *out = own + longest;
    ptrmap_put(known, instantiate, (void *)(uintptr_t)(*out + 1));
    return true;
}

/* Delays of the branches behind a fork, one per operand; -1: not a channel. Gives the operand of the
 * longest in *through. */
static bool branch_delays(const Op *instantiate, int64_t *delays, uint32_t *through)
{
    PtrMap known = {0};
    uint32_t inputs = input_count(instantiate);
    int64_t longest = -1;
    bool ok = true;
    *through = inputs;
    for (uint32_t i = 0; i < instantiate->operand_count; i++) {
        bool is_channel = i >= inputs && value_def(op_operand(instantiate, i));
        const Op *next = is_channel ? reader_of(op_operand(instantiate, i)) : NULL;
        delays[i] = is_channel ? 0 : -1;
        ok = ok && (!next || longest_delay(next, &known, 0, &delays[i]));
        if (delays[i] > longest) {
            longest = delays[i];
            *through = i;
        }
    }
    ptrmap_free(&known);
    return ok;
}

bool fork_estimate(const Op *instantiate, int64_t frame, int64_t *words)
{
    uint32_t through;
    if (!branch_delays(instantiate, words, &through))
        return false;
    int64_t longest = words[through];
    for (uint32_t i = 0; i < instantiate->operand_count; i++) {
        double share = (double)(longest - words[i]) / FRAME;
        bool is_deep = words[i] >= 0 && i != through;
        words[i] = is_deep ? (int64_t)(share * (double)frame) + PIPELINE_WORDS : 0;
        if (words[i] > frame && frame > 0)
            words[i] = frame;
    }
    return true;
}

/* --- the pass ---------------------------------------------------------------------------------- */

/* Whether a process behind an instantiated one moves words, and so may take or give them unevenly. */
static bool moves_behind(const Op *instantiate, PtrMap *seen)
{
    ProcessKind kind;
    if (ptrmap_has(seen, instantiate))
        return false;
    ptrmap_put(seen, instantiate, seen);
    const Op *process = symbol_lookup(instantiate, op_attr(instantiate, "callee"));
    if (!process_kind(process, &kind) || kind == PROCESS_REORDER || kind == PROCESS_MERGE)
        return true;
    for (uint32_t i = input_count(instantiate); i < instantiate->operand_count; i++) {
        const Op *next = reader_of(op_operand(instantiate, i));
        if (next && moves_behind(next, seen))
            return true;
    }
    return false;
}

typedef enum Need { NEED_LITTLE, NEED_FRAME, NEED_MAYBE_FRAME } Need;

static void set_depth(const Value *end, Need need)
{
    Op *channel = value_def(end);
    if (!channel)
        return;
    int64_t depth = need == NEED_LITTLE ? FIFO_MIN_DEPTH : dfg_words_per_frame(end->type);
    if (depth < FIFO_MIN_DEPTH)
        depth = FIFO_MIN_DEPTH;
    op_set_attr(channel, "depth", attr_i64(channel->ctx, depth));
    op_set_attr(channel, "cautious", need == NEED_MAYBE_FRAME ? attr_unit(channel->ctx) : NULL);
}

/* Of a fork, the branch that others wait for needs no depth, unless words are moved behind. */
static bool size_outputs(Op *instantiate, Arena *scratch)
{
    ProcessKind kind;
    PtrMap seen = {0};
    const Op *process = symbol_lookup(instantiate, op_attr(instantiate, "callee"));
    int64_t *words = ARENA_ARRAY(scratch, int64_t, instantiate->operand_count);
    if (!process_kind(process, &kind))
        return false;
    if (kind == PROCESS_FORK && !fork_estimate(instantiate, fork_words(process), words))
        return false;
    bool uneven = dfg_output_count(process) > 1 && moves_behind(instantiate, &seen);
    ptrmap_free(&seen);
    for (uint32_t i = input_count(instantiate); i < instantiate->operand_count; i++)
        set_depth(op_operand(instantiate, i),
                  words[i] > 0 ? NEED_FRAME : uneven ? NEED_MAYBE_FRAME : NEED_LITTLE);
    return true;
}

static bool size_fifos(Pass *pass, Op *region)
{
    bool ok = true;
    FOR_EACH_OP(op, region_entry(op_region(region, 0)))
    if (op->def == DFG(INSTANTIATE))
        ok &= size_outputs(op, &pass->scratch);
    return ok;
}

const PassDef pass_size_fifos = {
    .name = "size-fifos",
    .summary = "Set channel depths: two words, a frame where a fork's shorter branches begin",
    .anchor = "dfg.region",
    .run = size_fifos,
};
