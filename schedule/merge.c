/* Schedules of merge processes: the word grid of the result, and the part that each source fills
 * in it.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-move.mir */
#include <assert.h>

#include "analysis/analysis.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "schedule/schedule.h"

static const Op *find_merge(const Op *process)
{
    FOR_EACH_OP(op, region_entry(op_region(process, 0)))
        if (op->def == DFG(MERGE)) return op;
    return NULL;
}

/* A part in words of `lanes` elements of the innermost dimension; false if it splits words. */
static bool pack_part(MergePart *part, uint32_t rank, int64_t lanes)
{
    uint32_t last = rank - 1;
    if (lanes == 1) return true;
    if (rank == 0 || part->stride[last] != 1 || part->offset[last] % lanes != 0 ||
        part->size[last] % lanes != 0)
        return false;
    part->offset[last] /= lanes;
    part->size[last] /= lanes;
    return true;
}

static bool schedule_sources(const Op *merge, MergeSchedule *out)
{
    uint32_t streams = 0;
    for (uint32_t i = 0; i < merge->operand_count; i++) {
        const Op *pull = value_def(reshape_source(op_operand(merge, i)));
        const Attr *constant = fold_constant_of(op_operand(merge, i));
        bool is_stream = pull && pull->def == DFG(PULL);
        if (!is_stream && (!constant || constant->kind != ATTR_DENSE))
            return op_error(merge,
                            "merges a tensor that is neither a constant nor from the process's "
                            "port");
        out->port[i] = is_stream ? (int)op_operand(pull, 0)->index : -1;
        streams += is_stream;
        bool ok = dfg_merge_part(merge, i, &out->parts[i]); /* verified */
        assert(ok);
        (void)ok;
    }
    return (dfg_input_count(out->process) == streams && dfg_output_count(out->process) == 1) ||
           op_error(out->process, "merges each of its inputs once, into one output");
}

static bool pack_words(MergeSchedule *out, int64_t lanes)
{
    const Type *result = op_result(out->merge, 0)->type;
    out->lanes = lanes;
    out->rank = result->u.shaped.rank;
    for (uint32_t i = 0; i < out->rank; i++) out->extents[i] = result->u.shaped.dims[i];
    if (lanes > 1 && (out->rank == 0 || out->extents[out->rank - 1] % lanes != 0)) return false;
    if (out->rank) out->extents[out->rank - 1] /= lanes;
    for (uint32_t i = 0; i < out->source_count; i++)
        if (!pack_part(&out->parts[i], out->rank, lanes)) return false;
    return true;
}

static bool start_schedule(const Op *process, MergeSchedule *out)
{
    const Op *merge = find_merge(process);
    if (!merge) return op_error(process, "has no form that streams");
    *out =
        (MergeSchedule){.process = process, .merge = merge, .source_count = merge->operand_count};
    if (merge->operand_count > SCHED_MAX_STREAMS)
        return op_error(merge, "merges more than %d streams", SCHED_MAX_STREAMS);
    return schedule_sources(merge, out);
}

bool sched_merge_packed(const Op *process, int64_t lanes, MergeSchedule *out)
{
    return start_schedule(process, out) && pack_words(out, lanes);
}

/* Elements of a port's words, which are parts of the innermost dimension; 0: they are not. */
static int64_t port_lanes(const Op *process, uint32_t port, const Type *tensor)
{
    int64_t word[2 * DFG_MAX_RANK];
    uint32_t rank = tensor->u.shaped.rank;
    if (!sched_port_word(process, port, dfg_port(process, port)->type, tensor, word)) return 0;
    for (uint32_t i = 0; i + 1 < rank; i++)
        if (word[i] != 1) return 0;
    return rank ? word[rank - 1] : 1;
}

bool sched_merge(const Op *process, MergeSchedule *out)
{
    if (!start_schedule(process, out)) return false;
    const Op *merge = out->merge;
    int64_t lanes = port_lanes(process, dfg_input_count(process), op_result(merge, 0)->type);
    bool same = lanes > 0;
    for (uint32_t i = 0; same && i < merge->operand_count; i++)
        same = out->port[i] < 0 ||
               port_lanes(process, (uint32_t)out->port[i], op_operand(merge, i)->type) == lanes;
    return (same && pack_words(out, lanes)) ||
           op_error(process,
                    "merges words that differ, cross the border of a part or are not parts "
                    "of the innermost dimension");
}

int64_t sched_merge_trips(const MergeSchedule *sched)
{
    int64_t trips = 1;
    for (uint32_t i = 0; i < sched->rank; i++) trips *= sched->extents[i];
    return trips;
}

bool sched_merge_reads_once(const MergeSchedule *sched)
{
    bool reads = false;
    for (uint32_t i = 0; i < sched->source_count; i++) {
        if (sched->port[i] < 0) continue;
        reads = true;
        for (uint32_t k = 0; k < i; k++)
            if (sched->port[k] == sched->port[i]) return false;
    }
    return reads;
}

const Attr *sched_merge_constant(const MergeSchedule *sched, uint32_t source)
{
    return fold_constant_of(op_operand(sched->merge, source));
}

int64_t sched_merge_words(const MergeSchedule *sched, uint32_t source)
{
    int64_t words = 1;
    for (uint32_t i = 0; i < sched->rank; i++) words *= sched->parts[source].size[i];
    return words;
}
