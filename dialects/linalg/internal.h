/* Inside of dialects/linalg: the hooks of rows whose code is not in linalg.c, and the parts that
 * the text of all structured ops has in common. */
#ifndef MING_DIALECTS_LINALG_INTERNAL_H
#define MING_DIALECTS_LINALG_INTERNAL_H

#include "dialects/linalg/linalg.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"

/* Text of generic and named ops (linalg_asm.c). */
bool linalg_parse_generic(OpParser *p);
void linalg_print_generic(OpPrinter *p, const Op *op);
bool linalg_parse_named(OpParser *p);
void linalg_print_named(OpPrinter *p, const Op *op);
/* Text of map, reduce, transpose and broadcast (linalg_asm_special.c). */
bool linalg_parse_map(OpParser *p);
void linalg_print_map(OpPrinter *p, const Op *op);
bool linalg_parse_reduce(OpParser *p);
void linalg_print_reduce(OpPrinter *p, const Op *op);
bool linalg_parse_transpose(OpParser *p);
void linalg_print_transpose(OpPrinter *p, const Op *op);
bool linalg_parse_broadcast(OpParser *p);
void linalg_print_broadcast(OpPrinter *p, const Op *op);

/* The types of the operands that the text of a structured op gives. */
typedef struct StructuredParts {
    TypeList inputs, inits;
} StructuredParts;
/* Parses attr-dict? ("ins" "(" operands ":" types ")")? ("outs" "(" operands ":" types ")")? into
 * the op's operands. With `segments` it stores operandSegmentSizes. The caller frees *parts. */
bool linalg_parse_parts(OpParser *p, StructuredParts *parts, bool segments);
void linalg_parts_free(StructuredParts *parts);
/* " ins(...) outs(...)" */
void linalg_print_parts(OpPrinter *p, const Op *op);
/* Adds a block to the op's next region, with arguments of the operands' element types. */
Block *linalg_parse_new_body(OpParser *p, const TypeList *inputs, const TypeList *inits);

/* Checks of all structured ops (linalg_verify.c). */
bool linalg_verify_structured(Op *op); /* after the body */
bool linalg_verify_named(Op *op);      /* strides and dilations */
/* Checks of single ops (linalg_verify_special.c). */
bool linalg_verify_map(Op *op);
bool linalg_verify_reduce(Op *op);
bool linalg_verify_transpose(Op *op);
bool linalg_verify_broadcast(Op *op);
bool linalg_verify_softmax(Op *op);
bool linalg_verify_inits(Op *op); /* results have the types of the tensor inits */
bool linalg_verify_winograd_filter(Op *op);
bool linalg_verify_winograd_input(Op *op);
bool linalg_verify_winograd_output(Op *op);

/* Folders and canonicalization (linalg_canon.c, linalg_canon_fill.c). */
bool linalg_fold_transpose(Op *op, const Attr *const *operands, FoldResult *results);
void linalg_canonicalize(PatternSet *set);
void linalg_canonicalize_generic(PatternSet *set);
void linalg_canonicalize_map(PatternSet *set);
void linalg_canonicalize_copy(PatternSet *set);
void linalg_canonicalize_fill(PatternSet *set);
void linalg_canonicalize_transpose(PatternSet *set);
void linalg_canonicalize_broadcast(PatternSet *set);

/* Whether an array of numbers (array<i64: ...>) has that one. */
bool linalg_list_has(const Attr *list, int64_t value);

#endif
