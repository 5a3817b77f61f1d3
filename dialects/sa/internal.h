/* Inside of dialects/sa. */
#ifndef MING_DIALECTS_SA_INTERNAL_H
#define MING_DIALECTS_SA_INTERNAL_H

#include "dialects/sa/sa.h"

/* Keywords of the register numbers, NULL-terminated. */
extern const char *const sa_register_names[];

/* Whether the numbers fit their fields and each other. False: diagnosed. */
bool sa_verify_instruction(Op *op);

#endif
