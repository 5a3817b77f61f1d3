/* Inside of dialects/emithls: the hooks of rows and types whose code is in emithls_syntax.c and
 * emithls_schedule.c. */
#ifndef MING_DIALECTS_EMITHLS_INTERNAL_H
#define MING_DIALECTS_EMITHLS_INTERNAL_H

#include "dialects/emithls/emithls.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

const Type *emithls_parse_stream(OpParser *p);
void emithls_print_stream(StrBuf *out, const Type *type);
const Type *emithls_parse_array(OpParser *p);
void emithls_print_array(StrBuf *out, const Type *type);
bool emithls_parse_for(OpParser *p);
void emithls_print_for(OpPrinter *p, const Op *op);

/* Discardable attributes of the schedule; interval and depth of a loop (emithls_schedule.c). */
bool emithls_verify_op_attr(Op *op, const NamedAttr *attr);
bool emithls_verify_intervals(Op *loop);

#endif
