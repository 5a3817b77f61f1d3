/* Translation validation: public functions are run on random inputs before the first pass and
 * after every pass; the first pass that changes a result is named. Inputs depend on nothing but
 * their numbers. A changed boundary (dfg.quant, dfg.layout) is looked through: arrays are compared.
 * What cannot be run is said in a remark for each pass.
 * Tests: test/unit/verify_semantics_test.c, lit/tools/verify-semantics.mir */
#ifndef MING_SIM_VERIFY_SEMANTICS_H
#define MING_SIM_VERIFY_SEMANTICS_H

#include "ir/pass/pass.h"

typedef struct VerifySemantics VerifySemantics;

/* runs: random inputs per function. NULL, which the others take too, if there are none. */
VerifySemantics *verify_semantics_create(int64_t runs);
void verify_semantics_free(VerifySemantics *verify);
/* For RunOptions.hooks; NULL ends that list. */
const PassHooks *verify_semantics_hooks(VerifySemantics *verify);
/* Whether no pass has changed a result so far; differences were diagnosed. */
bool verify_semantics_ok(const VerifySemantics *verify);

#endif
