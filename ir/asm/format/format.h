/* Declarative assembly formats, interpreted at run time: compiled once per op when its dialect
 * is registered, then used for parsing and printing. The language is upstream's
 * (docs/assembly-format.md): `literals`, $operand, $attr, $region, $successor, type($x),
 * functional-type(a, b), attr-dict, attr-dict-with-keyword, prop-dict, operands, results,
 * regions, successors, qualified(x), optional groups (...^)? and (...^) : (...)?, and
 * custom<DynamicIndexList>($operands, $static) for lists like [%a, 4].
 * Types that the text leaves out come from traits, constraints that fix one type, or infer.
 * Tests: test/unit/format_test.c, lit/dialects */
#ifndef MING_IR_FORMAT_H
#define MING_IR_FORMAT_H

#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

typedef struct Format Format;
/* Compiles info->def->format into the context's arena; a malformed format panics, naming the op. */
const Format *format_compile(Context *ctx, const OpInfo *info);
bool format_parse(const Format *format, OpParser *p, const OpInfo *info) MUST_CHECK;
void format_print(const Format *format, OpPrinter *p, const Op *op);

#endif
