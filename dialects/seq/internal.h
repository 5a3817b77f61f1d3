/* Inside of dialects/seq: the hooks of rows, types and attributes that are not in the file with the
 * rows. */
#ifndef MING_DIALECTS_SEQ_INTERNAL_H
#define MING_DIALECTS_SEQ_INTERNAL_H

#include "dialects/seq/seq.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

extern const TypeDef seq_type_immutable; /* !seq.immutable<i8> */
const Type *seq_immutable_inner(const Type *type);
const Type *seq_immutable(const Type *inner);

/* Keywords of the attributes ruw and wuw, i32, index = value. */
extern const char *const seq_ruw_names[], *const seq_wuw_names[];

bool seq_parse_register(OpParser *p);
void seq_print_register(OpPrinter *p, const Op *op);
bool seq_parse_firmem(OpParser *p);
void seq_print_firmem(OpPrinter *p, const Op *op);
bool seq_parse_port(OpParser *p);
void seq_print_port(OpPrinter *p, const Op *op);

#endif
