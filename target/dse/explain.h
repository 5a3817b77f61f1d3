/* Why a task has no design: which limit is too small, alone or with others, by how much, and for which
 * processes.
 * Tests: lit/target/choose-unroll-short.mir, lit/target/choose-unroll-memory.mir */
#ifndef MING_TARGET_DSE_EXPLAIN_H
#define MING_TARGET_DSE_EXPLAIN_H

#include "target/dse/objective.h"

/* Diagnoses the answer to a task if it has no design: false then. */
bool dse_explain(DseSpace *space, const DseTask *task, const DseAnswer *answer) MUST_CHECK;

#endif
