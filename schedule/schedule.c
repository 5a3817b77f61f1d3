/* Kinds of processes and the words at their ports. The files beside this one schedule each kind:
 * window.c, compute.c, reorder.c, merge.c, converter.c.
 * Tests: lit/lowering/dfg_to_emithls */
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "schedule/internal.h"
#include "schedule/schedule.h"

static Block *body(const Op *process)
{
    return region_entry(op_region(process, 0));
}

bool sched_is_pulled(const Value *value)
{
    const Op *def = value_def(reshape_source(value));
    return def && def->def == DFG(PULL);
}

static bool is_allowed(const Op *op)
{
    return op->def == DFG(PULL) || op->def == DFG(PUSH) || op->def == DFG(WINDOW) ||
           op->def == DFG(REORDER) || op->def == DFG(MERGE) || op->def == LINALG(GENERIC) ||
           op->def == LINALG(FILL) || op->def == TENSOR(EMPTY) || reshape_is(op) ||
           op_has_trait(op, TRAIT_CONSTANT_LIKE);
}

static bool check_frames(const Op *process)
{
    for (uint32_t i = 0; i < dfg_input_count(process) + dfg_output_count(process); i++) {
        const Type *frame = dfg_payload(dfg_port(process, i)->type);
        if (!dfg_can_stream(frame))
            return op_error(process, "port %u has frames of type '%s', which cannot be streamed", i,
                            type_str(process->ctx, frame));
    }
    return true;
}

static bool same_shape(const Type *a, const Type *b)
{
    uint32_t rank = a->u.shaped.rank;
    for (uint32_t i = 0; rank == b->u.shaped.rank && i < rank; i++)
        if (a->u.shaped.dims[i] != b->u.shaped.dims[i]) return false;
    return rank == b->u.shaped.rank;
}

/* A reshaped frame packs its innermost dimension only: words are the same in both shapes. */
bool sched_port_word(const Op *process, uint32_t port, const Type *end, const Type *tensor,
                     int64_t *word)
{
    const Type *frame = dfg_payload(end);
    int64_t elems = dfg_word_elems(end), outside[2 * DFG_MAX_RANK];
    uint32_t rank = tensor->u.shaped.rank;
    dfg_word(end, outside);
    if (same_shape(frame, tensor)) {
        memcpy(word, outside, rank * sizeof(*word));
        return true;
    }
    if (elems != 1 && (elems != outside[frame->u.shaped.rank - 1] || rank == 0 ||
                       tensor->u.shaped.dims[rank - 1] % elems != 0))
        return op_error(process,
                        "port %u has words of %lld elements, which are not parts of the "
                        "innermost dimension of %s",
                        port, (long long)elems, type_str(process->ctx, tensor));
    for (uint32_t i = 0; i < rank; i++) word[i] = i + 1 == rank ? elems : 1;
    return true;
}

const Type *sched_port_end(const Op *process, uint32_t port, const Type *tensor,
                           const int64_t *word)
{
    const Type *end = dfg_port(process, port)->type, *frame = dfg_payload(end);
    uint32_t rank = tensor->u.shaped.rank, frame_rank = frame->u.shaped.rank;
    int64_t outside[2 * DFG_MAX_RANK], elems = 1;
    for (uint32_t i = 0; i < rank; i++) {
        elems *= word[i];
        if (tensor->u.shaped.dims[i] % word[i] != 0) return NULL;
    }
    if (same_shape(frame, tensor)) return dfg_end_type(end->u.dialect.def, frame, word);
    if (elems == 1) return dfg_end_type(end->u.dialect.def, frame, NULL);
    if (frame_rank == 0 || word[rank - 1] != elems ||
        frame->u.shaped.dims[frame_rank - 1] % elems != 0)
        return NULL;
    for (uint32_t i = 0; i < frame_rank; i++) outside[i] = i + 1 == frame_rank ? elems : 1;
    return dfg_end_type(end->u.dialect.def, frame, outside);
}

/* A fork has one input, which every output repeats in the same words. Without outputs it is a
 * drain. */
static bool check_fork(const Op *process)
{
    int64_t in[2 * DFG_MAX_RANK], out[2 * DFG_MAX_RANK];
    uint32_t outputs = dfg_output_count(process);
    if (dfg_input_count(process) != 1)
        return op_error(process, "without a kernel needs one input, to repeat it on each output");
    FOR_EACH_OP(op, body(process))
        if (op->def == DFG(PUSH) && !sched_is_pulled(op_operand(op, 0)))
            return op_error(op, "gives a value that no kernel computes and that is not pulled");
    for (uint32_t i = 1; i <= outputs; i++) {
        const Type *end = dfg_port(process, i)->type, *frame = dfg_payload(end);
        dfg_word(end, out);
        if (!sched_port_word(process, 0, dfg_port(process, 0)->type, frame, in)) return false;
        if (memcmp(in, out, frame->u.shaped.rank * sizeof(*in)) != 0)
            return op_error(process, "repeats its input on port %u in other words", i);
    }
    return true;
}

/* A converter passes one frame on in other words. */
static ProcessKind copy_kind(const Op *process)
{
    if (dfg_input_count(process) != 1 || dfg_output_count(process) != 1) return PROCESS_FORK;
    const Type *in = dfg_port(process, 0)->type, *out = dfg_port(process, 1)->type;
    int64_t from[2 * DFG_MAX_RANK], to[2 * DFG_MAX_RANK];
    dfg_word(in, from);
    dfg_word(out, to);
    bool regroups = dfg_payload(in) == dfg_payload(out) &&
                    memcmp(from, to, dfg_payload(in)->u.shaped.rank * sizeof(*to)) != 0;
    return regroups ? PROCESS_CONVERTER : PROCESS_FORK;
}

/* An output that gets anything else than what was moved would be filled with that nevertheless. */
static bool check_moved(const Op *process, const Op *mover)
{
    FOR_EACH_OP(op, body(process))
        if (op->def == DFG(PUSH) && value_def(reshape_source(op_operand(op, 0))) != mover)
            return op_error(op, "gives a value that is no result of the %.*s of its process",
                            STR_ARG(op_name(mover)));
    return true;
}

bool sched_process_kind(const Op *process, ProcessKind *out)
{
    bool has_generic = false;
    const Op *mover = NULL;
    if (!check_frames(process)) return false;
    FOR_EACH_OP(op, body(process)) {
        if (!is_allowed(op)) return op_error(op, "cannot run in a streaming process");
        has_generic |= op->def == LINALG(GENERIC);
        if (op->def == DFG(WINDOW) || op->def == DFG(REORDER) || op->def == DFG(MERGE)) {
            if (mover) return op_error(op, "is a second op that moves elements in one body");
            mover = op;
        }
    }
    if (has_generic && mover)
        return op_error(process, "mixes %.*s and linalg.generic in one body",
                        STR_ARG(op_name(mover)));
    *out = has_generic                  ? PROCESS_COMPUTE
           : !mover                     ? copy_kind(process)
           : mover->def == DFG(WINDOW)  ? PROCESS_WINDOW
           : mover->def == DFG(REORDER) ? PROCESS_REORDER
                                        : PROCESS_MERGE;
    if (mover) return check_moved(process, mover);
    return *out != PROCESS_FORK || check_fork(process);
}

int64_t sched_fork_words(const Op *process)
{
    return dfg_words_per_frame(dfg_port(process, 0)->type);
}
