/* Inside of dialects/sa. */
#ifndef MING_DIALECTS_SA_INTERNAL_H
#define MING_DIALECTS_SA_INTERNAL_H

#include "dialects/sa/sa.h"

/* Keywords of the register numbers, NULL-terminated. */
extern const char *const sa_register_names[];

/* A map: rows x columns x channels of i8 or i16. */
extern const TypeConstraint SA_IS_MAP;

bool sa_verify_network(Op *op);
bool sa_verify_layer(Op *op);
bool sa_verify_image(Op *op);
bool sa_verify_input(Op *op);
bool sa_verify_port(Op *op);

/* Whether the numbers fit their fields and each other. False: diagnosed. */
bool sa_verify_instruction(Op *op);

#endif
