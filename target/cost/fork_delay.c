/* FIFOs where branches part, behind forks and windows with parts: how long processes hold data back,
 * and so how far the branches drift apart before they meet again.
 * Tests: lit/target/fifo/size-fifos.mir */
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "schedule/schedule.h"
#include "target/cost/cost.h"
#include "target/cost/internal.h"

/* Parts of a frame are counted in 1 / FRAME. */
enum { FRAME = 1 << 20, MAX_PATH = 4096 };

/* Words that the pipelines of a branch hold, besides those that their kernels wait for. */
enum { PIPELINE_WORDS = 32 };

static int64_t part_of_frame(int64_t part, int64_t whole)
{
    return (int64_t)((double)part / (double)whole * FRAME);
}

/* Scan positions before the first output, of all positions. */
static int64_t window_delay(const WindowSchedule *sched)
{
    return part_of_frame(sched_window_first_write(sched), sched->end - sched->begin);
}

static int64_t compute_delay(const ComputeSchedule *sched)
{
    return part_of_frame(sched_compute_first_write(sched), sched_compute_trips(sched));
}

/* Words of the source taken before the first of the result, of all. */
static int64_t reorder_delay(const ReorderSchedule *sched)
{
    int64_t blocks = sched->delay < sched->in_blocks ? sched->delay : sched->in_blocks;
    return part_of_frame(blocks, sched->in_blocks);
}

bool cost_process_delay(const Op *process, int64_t *out)
{
    ProcessKind kind;
    WindowSchedule window;
    ComputeSchedule compute;
    ReorderSchedule reorder;
    ConverterSchedule converter;
    *out = 0;
    if (!sched_process_kind(process, &kind)) return false;
    switch (kind) {
    case PROCESS_WINDOW:
        if (!sched_window(process, NULL, &window)) return false;
        *out = window_delay(&window);
        break;
    case PROCESS_COMPUTE:
        if (!sched_compute_now(process, &compute)) return false;
        *out = compute_delay(&compute);
        break;
    case PROCESS_REORDER:
        if (!sched_reorder(process, &reorder)) return false;
        *out = reorder_delay(&reorder);
        break;
    case PROCESS_CONVERTER:
        if (!sched_converter(process, &converter)) return false;
        *out = converter.joins
                   ? part_of_frame(converter.parts - 1, sched_converter_trips(&converter))
                   : 0;
        break;
    case PROCESS_MERGE: /* begins with the word of one of its sources */
    case PROCESS_FORK: break;
    }
    return true;
}

/* Whether a port is that of a stream that an epilogue joins: a word of it is taken when the result
 * that it is added to is there. What is wrong with a process is told when its own turn comes. */
static bool is_joined(const Op *process, uint32_t port)
{
    ProcessKind kind;
    ComputeSchedule compute;
    DiagHold hold;
    diag_hold_begin(&hold, process->ctx);
    bool joins = sched_process_kind(process, &kind) && kind == PROCESS_COMPUTE &&
                 sched_compute_now(process, &compute) && sched_port_joins(&compute, port);
    diag_hold_drop(&hold);
    return joins;
}

static bool longest_delay(const Op *instantiate, PtrMap *known, uint32_t depth, int64_t *out);

/* From a word that is sent into `end`. */
static bool delay_from(const Value *end, PtrMap *known, uint32_t depth, int64_t *out)
{
    const Op *next = dfg_channel_reader(end);
    int64_t own = 0;
    *out = 0;
    if (!next) return true;
    const Op *process = symbol_lookup(next, op_attr(next, "callee"));
    if (is_joined(process, use_index(op_result(value_def(end), 1)->uses)) &&
        !cost_process_delay(process, &own))
        return false;
    if (!longest_delay(next, known, depth, out)) return false;
    *out -= own;
    return true;
}

/* The walk of cost_delay_behind, `depth` processes deep. Delays are kept, plus one, in `known`, so it
 * is linear. */
static bool longest_delay(const Op *instantiate, PtrMap *known, uint32_t depth, int64_t *out)
{
    uintptr_t seen = (uintptr_t)ptrmap_get(known, instantiate);
    *out = seen ? (int64_t)seen - 1 : 0;
    if (seen) return true;
    if (depth > MAX_PATH)
        return op_error(instantiate, "is on a path of more than %d processes, or on a cycle",
                        MAX_PATH);
    int64_t own, longest = 0;
    if (!cost_process_delay(symbol_lookup(instantiate, op_attr(instantiate, "callee")), &own))
        return false;
    for (uint32_t i = dfg_instantiate_inputs(instantiate); i < instantiate->operand_count; i++) {
        int64_t rest;
        if (!delay_from(op_operand(instantiate, i), known, depth + 1, &rest)) return false;
        longest = rest > longest ? rest : longest;
    }
    *out = own + longest;
    ptrmap_put(known, instantiate, (void *)(uintptr_t)(*out + 1));
    return true;
}

bool cost_delay_behind(const Value *end, PtrMap *known, int64_t *out)
{
    return delay_from(end, known, 0, out);
}

double cost_part_of_frame(int64_t delay)
{
    return (double)delay / FRAME;
}

/* Delays of the branches behind a process, one per operand; -1: not a channel. Gives the operand of
 * the longest in *through. */
static bool branch_delays(const Op *instantiate, int64_t *delays, uint32_t *through)
{
    PtrMap known = {0};
    uint32_t inputs = dfg_instantiate_inputs(instantiate);
    int64_t longest = -1;
    bool ok = true;
    *through = inputs;
    for (uint32_t i = 0; i < instantiate->operand_count; i++) {
        bool is_channel = i >= inputs && value_def(op_operand(instantiate, i));
        delays[i] = -1;
        ok = ok &&
             (!is_channel || cost_delay_behind(op_operand(instantiate, i), &known, &delays[i]));
        if (delays[i] > longest) {
            longest = delays[i];
            *through = i;
        }
    }
    ptrmap_free(&known);
    return ok;
}

bool cost_branch_elements(const Op *instantiate, int64_t *elements)
{
    uint32_t through, inputs = dfg_instantiate_inputs(instantiate);
    if (instantiate->operand_count - inputs < 2) return true;
    if (!branch_delays(instantiate, elements, &through)) return false;
    int64_t longest = elements[through];
    for (uint32_t i = 0; i < instantiate->operand_count; i++) {
        const Type *end = op_operand(instantiate, i)->type;
        int64_t word = dfg_word_elems(end), frame = dfg_words_per_frame(end) * word;
        double share = cost_part_of_frame(longest - elements[i]);
        bool is_deep = elements[i] >= 0 && i != through;
        elements[i] = is_deep ? (int64_t)(share * (double)frame) + PIPELINE_WORDS * word : 0;
        if (elements[i] > frame) elements[i] = frame;
    }
    return true;
}
