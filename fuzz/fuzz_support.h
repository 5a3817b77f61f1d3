/* What the fuzz targets share: silent contexts that serve many inputs, and checks. */
#ifndef MING_FUZZ_SUPPORT_H
#define MING_FUZZ_SUPPORT_H

#include "ir/asm/print/print.h"

/* A context for many inputs, since registering the dialects takes longer than most of them. */
typedef struct FuzzContext {
    Context *ctx;
    int inputs; /* it served so far */
} FuzzContext;

/* With all dialects, unregistered ones allowed, and diagnostics counted but not shown. */
Context *fuzz_context_take(FuzzContext *reused);
/* After each input, whose module is erased. What others could see of it ends the context. */
void fuzz_context_give_back(FuzzContext *reused);

/* The one name of the texts that targets parse. */
#define FUZZ_SOURCE STR("fuzz")

/* Aborts with a message and the text it is about unless it holds. */
void fuzz_check(bool holds, const char *what, Str text);

#endif
