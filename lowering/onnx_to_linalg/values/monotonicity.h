/* How results of nodes run (onnx_to_linalg_course.c). */
#ifndef MING_LOWERING_ONNX_TO_LINALG_COURSE_H
#define MING_LOWERING_ONNX_TO_LINALG_COURSE_H

#include "lowering/onnx_to_linalg/onnx_to_linalg.h"

/* Of lw->node by operand `index`. Whether it rises or falls may differ from channel to channel.
 * With COURSE_ONE_TURN *turn is the operand at which it turns. */
Course monotonicity_of_node(Lowering *lw, uint32_t index, double *turn);
/* Of what step x gives times what step f gives, by what x gives. */
Course monotonicity_of_product(Lowering *lw, const Step *x, const Step *f, double *turn);

#endif
