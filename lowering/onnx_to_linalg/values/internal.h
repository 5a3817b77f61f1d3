/* How results of nodes run (onnx_to_linalg_course.c). */
#ifndef MING_LOWERING_ONNX_TO_LINALG_VALUES_INTERNAL_H
#define MING_LOWERING_ONNX_TO_LINALG_VALUES_INTERNAL_H

#include "lowering/onnx_to_linalg/values/values.h"

/* Of lw->node by operand `index`. Whether it rises or falls may differ from channel to channel.
 * With UNIMODAL *extremum is the operand at which it turns. */
Monotonicity monotonicity_of_node(OnnxLowering *lw, uint32_t index, double *extremum);
/* Of what step x gives times what step f gives, by what x gives. */
Monotonicity monotonicity_of_product(OnnxLowering *lw, const EpilogueOp *x, const EpilogueOp *f,
                                     double *extremum);

#endif
