/* Dialect conversion with legality, as upstream's: every op inside root that the target calls
 * illegal is folded or rewritten by a pattern, and so is what that builds. Until all is legal,
 * replaced ops stay where they are and keep their uses, so folds and patterns see the source as it
 * was; conversion_remap tells what stands for a value by now. A failure takes back what was built.
 * A pattern does not apply to what it builds itself. Patterns convert types themselves.
 * Tests: lit/lowering, test/unit/convert_test.c */
#ifndef MING_IR_CONVERT_H
#define MING_IR_CONVERT_H

#include "ir/rewrite/rewrite.h"

typedef enum Legality { LEGAL, ILLEGAL, LEGAL_IF_ASKED } Legality;

typedef struct ConversionTarget {
    /* NULL-terminated dialect names that must be gone / that are fine. */
    const char *const *illegal_dialects;
    const char *const *legal_dialects;
    /* Decides for a single op before the lists; LEGAL_IF_ASKED: the lists decide. May be NULL. */
    Legality (*op_legality)(const Op *op, void *user);
    void *user;
    bool partial; /* unknown ops may stay; else every op must be legal */
    /* Casts a value to another type for the time of the conversion, and for good where types
     * changed under an op that stays. NULL, or a NULL result: such types must not change. */
    Value *(*cast)(Builder *b, const Type *type, Value *value);
} ConversionTarget;

/* Message of a failure: "failed to legalize operation 'x.y'", in partial conversions "… that was
 * explicitly marked illegal". */
bool conversion_apply(Op *root, const PatternSet *set, const ConversionTarget *target) MUST_CHECK;

/* For patterns: the latest replacement of the value that has the type; a cast of the very latest if
 * none has, or the very latest if the target cannot cast it. type NULL: the very latest. */
Value *conversion_remap(Rewriter *rw, Value *value, const Type *type);

#endif
