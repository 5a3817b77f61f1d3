/* The attributes of upstream's dlti dialect, which describe data layouts and targets. It has no
 * ops; ming checks and prints these attributes but does not use them.
 * Tests: lit/dialects/dlti */
#ifndef MING_DIALECTS_DLTI_DLTI_H
#define MING_DIALECTS_DLTI_DLTI_H

#include "ir/core/core.h"

extern const DialectDef dlti_dialect;

#endif
