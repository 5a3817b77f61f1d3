/* Every pass the tools offer: within levels, between them, and device-dependent ones. */
#ifndef MING_TOOLS_ALL_PASSES_H
#define MING_TOOLS_ALL_PASSES_H

#include "ir/pass.h"

/* Sorted by name. */
const PassTable *all_passes(void);

#endif
