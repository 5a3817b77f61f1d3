/* Attributes of upstream's dlti dialect: data layouts and target descriptions. */
#ifndef MING_DIALECTS_DLTI_DLTI_H
#define MING_DIALECTS_DLTI_DLTI_H

#include "ir/core/core.h"

extern const DialectDef dlti_dialect;

#endif
