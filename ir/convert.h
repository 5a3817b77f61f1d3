/* Dialect conversion with legality: every op inside root that the target calls illegal is folded
 * or rewritten by a pattern, and what a pattern builds in turn; an op that stays illegal ends the
 * conversion with a diagnostic, the IR left as far as it came. Patterns convert types themselves.
 * Tests: lit/lowering, test/unit/convert_test.c */
#ifndef MING_IR_CONVERT_H
#define MING_IR_CONVERT_H

#include "ir/rewrite.h"

typedef enum Legality { LEGAL, ILLEGAL, LEGAL_IF_ASKED } Legality;

typedef struct ConversionTarget {
    /* NULL-terminated dialect names that must be gone / that are fine. */
    const char *const *illegal_dialects;
    const char *const *legal_dialects;
    /* Decides for a single op before the lists; LEGAL_IF_ASKED: the lists decide. May be NULL. */
    Legality (*op_legality)(const Op *op, void *user);
    void *user;
    bool partial; /* unknown ops may stay; else every op must be legal */
} ConversionTarget;

/* Message of a failure: "failed to legalize operation 'x.y' that was explicitly marked illegal". */
bool convert_dialects(Op *root, const PatternSet *set, const ConversionTarget *target) MUST_CHECK;

#endif
