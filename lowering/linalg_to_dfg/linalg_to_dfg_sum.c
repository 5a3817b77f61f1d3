/* Sums of two streams that convert-linalg-to-dfg lets the process of one of them compute: the skip of
 * a residual block is added where the convolution finishes its result (add fusion, NN2FPGA III-E).
 * Tests: lit/lowering/linalg_to_dfg/fuse-adds.mir */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "lowering/linalg_to_dfg/internal.h"

enum { FROM_FIRST = 1, FROM_SECOND = 2, FROM_BOTH = 3 };

static bool is_sum(const Op *op)
{
    return op->def == ARITH(ADDI) || op->def == ARITH(SUBI) || op->def == ARITH(ADDF) ||
           op->def == ARITH(SUBF);
}

/* Which of the two operands a value of the payload depends on. */
static uintptr_t sources_of(const PtrMap *known, const Value *value)
{
    return (uintptr_t)ptrmap_get(known, value);
}

/* Whether the payload uses both operands, and they meet in a sum. */
static bool meet_in_sum(const Op *generic, uint32_t first, uint32_t second)
{
    const Block *body = linalg_body(generic);
    PtrMap known = {0};
    bool ok = true, meet = false;
    ptrmap_put(&known, body->args[first], (void *)(uintptr_t)FROM_FIRST);
    ptrmap_put(&known, body->args[second], (void *)(uintptr_t)FROM_SECOND);
    for (const Op *op = body->first; op != body->last; op = op->next) {
        uintptr_t all = 0;
        bool has_both = false;
        for (uint32_t i = 0; i < op->operand_count; i++) {
            uintptr_t from = sources_of(&known, op_operand(op, i));
            all |= from;
            has_both |= from == FROM_BOTH;
        }
        if (all == FROM_BOTH && !has_both) {
            ok &= is_sum(op);
            meet = true;
        }
        for (uint32_t i = 0; all && i < op->result_count; i++)
            ptrmap_put(&known, op_result(op, i), (void *)all);
    }
    ptrmap_free(&known);
    return ok && meet;
}

bool to_dfg_is_sum_of_streams(const Op *generic, uint32_t *operands)
{
    uint32_t count = 0;
    const AffineMap *out = linalg_operand_map(generic, linalg_input_count(generic));
    if (linalg_reduces(generic) || !map_is_permutation(out)) return false;
    for (uint32_t i = 0; i < linalg_input_count(generic); i++) {
        const Value *input = op_operand(generic, i);
        const Op *def = value_def(input);
        if (to_dfg_is_constant_value(input)) continue;
        if (count == 2 || linalg_operand_map(generic, i) != out || (def && def->def == TENSOR(PAD)))
            return false;
        operands[count++] = i;
    }
    return count == 2 && op_operand(generic, operands[0]) != op_operand(generic, operands[1]) &&
           meet_in_sum(generic, operands[0], operands[1]);
}
