/* Evaluators of the dfg ops that move elements between kernels: dfg.reorder and dfg.merge.
 * Tests: lit/lowering/linalg_to_dfg/insert-reorders.mir */
#include <assert.h>

#include "dialects/dfg/dfg.h"
#include "ir/asm/print/print.h"
#include "sim/interp/internal.h"
#include "sim/vm/vm.h"

/* A result of zeros, or of the op's fill value. */
static Array *filled(const InterpStep *step)
{
    const Type *type = op_result(step->op, 0)->type;
    const Attr *fill = op_attr(step->op, "fill");
    return fill ? array_from_attr(attr_dense_splat(type, fill)) : array_new(type);
}

/* The flat offset of the source's element, or -1 if no element is taken. */
static int64_t source_offset(const int64_t *index, const int64_t *dims, uint32_t rank)
{
    int64_t offset = 0;
    for (uint32_t d = 0; d < rank; d++) {
        if (index[d] < 0 || index[d] >= dims[d]) return -1;
        offset = offset * dims[d] + index[d];
    }
    return offset;
}

static bool eval_reorder(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    int64_t at[DFG_MAX_RANK] = {0}, from[DFG_MAX_RANK];
    const AffineMap *map = dfg_reorder_map(step->op);
    (void)interp;
    results[0] = filled(step);
    if (!results[0]) return op_error(step->op, "has elements that are not interpreted");
    for (int64_t i = 0; i < results[0]->count; i++) {
        bool ok = map_eval(map, at, NULL, from);
        int64_t offset = ok ? source_offset(from, dims_of(inputs[0]), rank_of(inputs[0])) : -1;
        if (offset >= 0) vm_copy_element(results[0], i, inputs[0], offset);
        vm_next_index(at, dims_of(results[0]), rank_of(results[0]));
    }
    return true;
}

static bool eval_merge(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    (void)interp;
    results[0] = filled(step);
    if (!results[0]) return op_error(step->op, "has elements that are not interpreted");
    for (uint32_t i = 0; i < step->op->operand_count; i++) {
        MergePart part;
        int64_t to_steps[DFG_MAX_RANK], from_steps[DFG_MAX_RANK];
        CopySide to = {0, to_steps}, from = {0, from_steps};
        bool ok = dfg_merge_part(step->op, i, &part); /* verified */
        assert(ok);
        (void)ok;
        vm_row_major_steps(results[0]->type, to_steps);
        vm_row_major_steps(inputs[i]->type, from_steps);
        for (uint32_t d = 0; d < rank_of(results[0]); d++) {
            to.base += part.offset[d] * to_steps[d];
            to_steps[d] *= part.stride[d];
        }
        vm_strided_copy(results[0], &to, inputs[i], &from, part.size, rank_of(results[0]));
    }
    return true;
}

const Evaluator *interp_dfg_evaluator(const OpDef *def)
{
    static const Evaluator reorder = {.eval = eval_reorder}, merge = {.eval = eval_merge};
    return def == DFG(REORDER) ? &reorder : def == DFG(MERGE) ? &merge : NULL;
}
