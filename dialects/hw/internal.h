/* Inside of dialects/hw: the hooks of rows, types and attributes that are not in the file with the
 * rows. */
#ifndef MING_DIALECTS_HW_INTERNAL_H
#define MING_DIALECTS_HW_INTERNAL_H

#include "dialects/hw/hw.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

/* Parameters of a list attribute and their text, "<" name ":" type ("=" value)?, … ">"; nothing for
 * an empty list. */
bool hw_parse_params(OpParser *p);
void hw_print_params(OpPrinter *p, const Op *op);

bool hw_parse_module(OpParser *p);
void hw_print_module(OpPrinter *p, const Op *op);
bool hw_parse_instance(OpParser *p);
void hw_print_instance(OpPrinter *p, const Op *op);
bool hw_parse_constant(OpParser *p);
void hw_print_constant(OpPrinter *p, const Op *op);

/* A name as upstream's printKeywordOrString writes it, and how it is read back. */
void hw_print_name(StrBuf *out, Str name);
bool hw_parse_name(OpParser *p, Str *out) MUST_CHECK;

#endif
