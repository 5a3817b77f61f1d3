/* Text in JSON. */
#ifndef MING_IR_JSON_H
#define MING_IR_JSON_H

#include "ir/support/support.h"

/* The string with its quotes; what is no UTF-8 becomes U+FFFD. */
void json_add_string(StrBuf *out, Str text);

#endif
