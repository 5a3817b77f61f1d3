/* insert-reorders: makes every operand stream. Ops that only move elements become dfg.reorder and
 * dfg.merge. An operand that does not arrive in the order of its kernel's loops gets a dfg.reorder
 * in front, and a result that is not computed in its own order gets one behind. Strides, offsets
 * and padding, which windows can do, stay with the kernel.
 * Requires: named ops generalized, row-major order = stream order (normalize-layout).
 * Changes: slices, insertions, concatenations, padding, maps of kernels.
 * Preserves: what is computed.
 * Tests: lit/lowering/linalg_to_dfg/insert-reorders.mir */
#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "ir/pass/pass.h"
#include "lowering/linalg_to_dfg/internal.h"

/* A padding that only kernels read stays, because their windows or reorders make it. */
static bool keeps_padding(const Op *pad)
{
    for (const Use *use = op_result(pad, 0)->uses; use; use = use->next)
        if (use->owner->def != LINALG(GENERIC)) return false;
    return true;
}

/* The first failure ends these, unless all are asked for. */
static bool move_elements(Block *body, bool keeps_going)
{
    bool ok = true;
    FOR_EACH_OP_SAFE(op, body) {
        if (op->def != TENSOR(PAD) || !keeps_padding(op)) ok &= to_dfg_make_move(op);
        if (!ok && !keeps_going) return false;
    }
    return ok;
}

/* Erases ops that nothing reads, because they need no process. */
static void erase_unread(Block *body)
{
    for (Op *op = body->last->prev, *before; op; op = before) {
        bool is_read = op->result_count == 0;
        before = op->prev;
        for (uint32_t i = 0; i < op->result_count; i++) is_read |= value_has_uses(op_result(op, i));
        if (!is_read) op_erase(op);
    }
}

/* Constants that the function returns are streams, too. */
static bool stream_results(Op *ret)
{
    Builder b = builder_before(ret);
    for (uint32_t i = 0; i < ret->operand_count; i++) {
        Value *value = op_operand(ret, i);
        if (!type_is_shaped(value->type) || !to_dfg_is_constant_value(value)) continue;
        if (!to_dfg_check_frame(value_def(value), value->type)) return false;
        op_set_operand(ret, i, to_dfg_build_stream(&b, value));
    }
    return true;
}

static bool fit_kernels(Block *body, bool keeps_going)
{
    bool ok = true;
    FOR_EACH_OP_SAFE(op, body) {
        if (op->def == LINALG(GENERIC) && op->result_count == 1 && !kernel_fill_value(op))
            ok &= to_dfg_fit_kernel(op);
        if (!ok && !keeps_going) return false;
    }
    FOR_EACH_OP_SAFE(op, body)
        if (op->def == DFG(REORDER)) to_dfg_join_reorders(op);
    FOR_EACH_OP_SAFE(op, body)
        if (ok && op->def == LINALG(GENERIC)) to_dfg_regroup_product(op);
    return ok;
}

static bool insert_reorders(Pass *pass, Op *func)
{
    Block *body = func_entry(func);
    bool keeps_going = pass_bool(pass, "keep-going");
    if (!body) return true;
    if (op_region(func, 0)->first != op_region(func, 0)->last)
        return op_error(func, "has control flow; a streaming network is straight-line code");
    to_dfg_move_padding_behind_reshapes(body);
    if (!stream_results(body->last)) return false;
    erase_unread(body);
    return move_elements(body, keeps_going) && fit_kernels(body, keeps_going);
}

const PassDef pass_insert_reorders = {
    .name = "insert-reorders",
    .summary = "Make every operand arrive, and every result leave, in the order of the loops",
    .anchor = "func.func",
    .options = OPTIONS({.name = "keep-going",
                        .kind = OPTION_BOOL,
                        .help = "report every op that cannot stream, not only the first"}),
    .run = insert_reorders,
};
