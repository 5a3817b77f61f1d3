/* Names and text about processes, for people who read the emitted code.
 * Tests: lit/lowering/process-doc.mir */
#ifndef MING_LOWERING_PROCESS_DOC_H
#define MING_LOWERING_PROCESS_DOC_H

#include "schedule/schedule.h"

/* Name of a loop of the plan's kernel: n, y, x, c of the output (oc where the input has no such
 * dimension, g for groups), ic, ky, kx of what is reduced. Two loops may share a name. */
const char *to_emithls_plan_loop_name(const ComputePlan *plan, uint32_t loop);
/* Appends what a process computes, in lines without "//": shapes, then for kernels the formula. */
void to_emithls_process_doc(StrBuf *out, const Op *process, ProcessKind kind);

#endif
