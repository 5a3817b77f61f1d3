/* Between the sources of options/. */
#ifndef MING_OPTIONS_INTERNAL_H
#define MING_OPTIONS_INTERNAL_H

#include "options/options.h"

/* Appends to what is wrong; false. */
bool flags_wrong(StrBuf *why, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
