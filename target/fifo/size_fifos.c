/* size-fifos: sets the depth of every channel of the region. Behind a fork, or a window that gives
 * parts, every branch but the one that delays its data most starts with a FIFO that holds a whole
 * frame, so it never waits for that. If a process behind it moves or keeps words, and so takes them
 * unevenly, all branches start with such a FIFO, the slowest one only out of caution (attribute `cautious`).
 * fit-fifos finds out later how much of a depth is used. docs/streaming.md says why that cannot
 * deadlock.
 * Requires: words chosen (choose-unroll), an acyclic graph.
 * Changes: depth attributes.
 * Tests: lit/target/fifo/size-fifos.mir */
#include "dialects/dfg/dfg.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "schedule/schedule.h"
#include "target/cost/cost.h"
#include "target/fifo/fifo.h"

/* The kind of a process; what is wrong with it is told when its own turn comes. */
static bool kind_of(const Op *process, ProcessKind *kind)
{
    DiagHold hold;
    diag_hold_begin(&hold, process->ctx);
    bool ok = sched_process_kind(process, kind);
    diag_hold_drop(&hold);
    return ok;
}

/* Whether a kernel keeps the words of a stream, which it takes early in the frame then. */
static bool keeps_words(const Op *process)
{
    ComputeSchedule sched;
    KeptWords kept;
    DiagHold hold;
    diag_hold_begin(&hold, process->ctx);
    bool ok = sched_compute_now(process, &sched);
    diag_hold_drop(&hold);
    for (uint32_t s = 0; ok && s < sched.stream_count; s++) {
        sched_kept_words(&sched, s, &kept);
        if (kept.depth > 1) return true;
    }
    return false;
}

/* Whether a process behind an instantiated one moves words or keeps some, and so may take or give
 * them unevenly. */
static bool moves_behind(const Op *instantiate, PtrMap *seen)
{
    ProcessKind kind;
    if (ptrmap_has(seen, instantiate)) return false;
    ptrmap_put(seen, instantiate, seen);
    const Op *process = symbol_lookup(instantiate, op_attr(instantiate, "callee"));
    if (!kind_of(process, &kind) || kind == PROCESS_REORDER || kind == PROCESS_MERGE ||
        (kind == PROCESS_COMPUTE && keeps_words(process)))
        return true;
    for (uint32_t i = dfg_instantiate_inputs(instantiate); i < instantiate->operand_count; i++) {
        const Op *next = dfg_channel_reader(op_operand(instantiate, i));
        if (next && moves_behind(next, seen)) return true;
    }
    return false;
}

typedef enum Need { NEED_LITTLE, NEED_FRAME, NEED_MAYBE_FRAME } Need;

static bool set_depth(const Value *end, Need need)
{
    Op *channel = value_def(end);
    if (!channel) return true;
    int64_t depth = need == NEED_LITTLE ? FIFO_MIN_DEPTH : dfg_words_per_frame(end->type);
    if (depth < FIFO_MIN_DEPTH) depth = FIFO_MIN_DEPTH;
    if (depth > DFG_MAX_DEPTH)
        return op_error(channel, "has to hold a frame of %lld words, but depths are at most %d",
                        (long long)depth, DFG_MAX_DEPTH);
    op_set_attr(channel, DFG_ATTR_DEPTH, attr_i64(channel->ctx, depth));
    op_set_attr(channel, DFG_ATTR_CAUTIOUS,
                need == NEED_MAYBE_FRAME ? attr_unit(channel->ctx) : NULL);
    return true;
}

/* Sizes the outputs of a process. Where it has several, the branch that the others wait for needs
 * no depth, unless a process behind it moves or keeps words. */
static bool size_outputs(Op *instantiate, Arena *scratch)
{
    ProcessKind kind;
    PtrMap seen = {0};
    const Op *process = symbol_lookup(instantiate, op_attr(instantiate, "callee"));
    int64_t *held = ARENA_ARRAY(scratch, int64_t, instantiate->operand_count);
    if (!sched_process_kind(process, &kind) || !cost_branch_elements(instantiate, held))
        return false;
    bool uneven = dfg_output_count(process) > 1 && moves_behind(instantiate, &seen);
    ptrmap_free(&seen);
    for (uint32_t i = dfg_instantiate_inputs(instantiate); i < instantiate->operand_count; i++)
        if (!set_depth(op_operand(instantiate, i), held[i] > 0 ? NEED_FRAME
                                                   : uneven    ? NEED_MAYBE_FRAME
                                                               : NEED_LITTLE))
            return false;
    return true;
}

static bool size_fifos(Pass *pass, Op *region)
{
    bool ok = true;
    FOR_EACH_OP(op, region_entry(op_region(region, 0)))
        if (op->def == DFG(INSTANTIATE)) ok &= size_outputs(op, &pass->scratch);
    return ok;
}

const PassDef pass_size_fifos = {
    .name = "size-fifos",
    .summary = "Set channel depths: two words, a frame where a fork's shorter branches begin",
    .anchor = "dfg.region",
    .run = size_fifos,
};
