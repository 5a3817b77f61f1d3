/* Destinations of linalg's and tensor's ops.
 * Tests: lit/dialects/tensor/canonicalize.mir, lit/dialects/linalg/canonicalize.mir */
#include "dialects/linalg/destination.h"

#include "dialects/linalg/linalg.h"
#include "dialects/linalg/structured.h"
#include "dialects/tensor/tensor.h"

Value *destination_of(const Value *result)
{
    const Op *op = value_def(result);
    if (!op)
        return NULL;
    if (linalg_is_structured(op) || op->def == LINALG(SOFTMAX))
        return op_operand(op, linalg_input_count(op) + result->index);
    bool writes = op->def == TENSOR(INSERT) || op->def == TENSOR(INSERT_SLICE) ||
                  op->def == TENSOR(PACK) || op->def == TENSOR(UNPACK);
    return writes ? op_operand(op, 1) : NULL;
}
