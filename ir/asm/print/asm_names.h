/* SSA names of everything inside an op, for ir/ sources only: numbers, suggested names made
 * unique, block names, and the ids of result-less ops that --mlir-print-value-users needs.
 * Names are those mlir-opt gives: a region continues the numbers of the region around it,
 * sibling regions reuse each other's (but not in generic form or with unique_ssa_ids), and a
 * name is avoided while an enclosing region has it.
 * Tests: test/unit/asm_names_test.c, lit/ir/names.mir */
#ifndef MING_IR_ASM_NAMES_H
#define MING_IR_ASM_NAMES_H

#include "ir/asm/print/print.h"

typedef struct AsmNames AsmNames;

/* Names all values in `top`, its results included. Suggested names are ignored in generic
 * form. */
AsmNames *asm_names_create(const Op *top, const PrintOptions *options);
void asm_names_free(AsmNames *names);

/* "%0", "%0#1" (with_number), "%c0_i32"; upstream's placeholder when it is unknown. */
void asm_names_value(const AsmNames *names, StrBuf *out, const Value *value, bool with_number);
/* "%0:2", "%quotient, %remainder": what stands left of "=". The op has results. */
void asm_names_results(const AsmNames *names, StrBuf *out, const Op *op);
void asm_names_op_id(const AsmNames *names, StrBuf *out, const Op *op);
void asm_names_block(const AsmNames *names, StrBuf *out, const Block *block);
/* Position of a block in its region. */
uint32_t asm_names_block_order(const AsmNames *names, const Block *block);

/* An identifier that can stand after '%' or '#': other characters become hex digits, a leading
 * digit gets an underscore before it, a trailing one (unless allowed) behind it. */
void asm_name_sanitize(StrBuf *out, Str name, const char *punctuation, bool trailing_digit);

#endif
