/* All dialects of ming in one call. */
#ifndef MING_DIALECTS_DIALECTS_H
#define MING_DIALECTS_DIALECTS_H

#include "ir/attr/attr.h"

/* Registers every dialect that the tools know; harmless to repeat. */
void dialects_register_all(Context *ctx);
/* The part of it that makes upstream's other dialects known by name. */
void dialects_register_foreign(Context *ctx);

#endif
