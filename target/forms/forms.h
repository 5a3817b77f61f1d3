/* Forms of requantizers. A kernel that requantizes one operand by a function that rises or falls can
 * be built anew from the function's thresholds: as comparisons with them, as a line (product, sum
 * and shift), or as a table of levels. All forms give the same levels for every number that the
 * operand can be. convert-onnx-to-linalg builds one of them by its rules (docs/integer-folding.md);
 * the search (target/dse) builds what is best for a design, and a folding file any.
 *
 *   steps.c  finds the thresholds, by running the kernel's payload
 *   build.c  builds forms from them
 *
 * Tests: lit/target/dse/forms.mir, test/e2e/forms_check.py */
#ifndef MING_TARGET_FORMS_FORMS_H
#define MING_TARGET_FORMS_FORMS_H

#include "ir/core/core.h"

typedef enum Form { FORM_COMPARISONS, FORM_LINE, FORM_TABLE, FORM_KINDS } Form;

/* As folding files name them; that of a single comparison is "comparison" in reports. */
extern const char *const forms_names[FORM_KINDS];

/* The most levels that are compared with, and found at all; more are not worth it on any device. */
enum { FORMS_MOST_LEVELS = 256 };

/* A requantizer as a function of channel and number. A number counts for level least + 1 + i in
 * channel c if it is at least at[c][i], or, where levels fall, if it is not. */
typedef struct FormSteps {
    Op *kernel;        /* an element-wise linalg.generic with dfg.requantizer */
    uint32_t operand;  /* the one that is requantized; the others are constants */
    int loop;          /* that the channels are along, -1: all are alike */
    int64_t channels;  /* 1 without such a loop */
    int64_t low, high; /* of the operand's numbers */
    int64_t least, most;
    const int64_t *at; /* [channels][most - least], from low to high + 1 */
    const bool *falls; /* per channel */
} FormSteps;

/* Whether a kernel says of itself that it is a monotone function, without running it. */
bool forms_is_requantizer(const Op *op);
/* Reads one; arrays are in the arena. False: it is none, or it has too many levels. */
bool forms_steps(Op *kernel, Arena *arena, FormSteps *out) MUST_CHECK;
/* The same kernel in a form, in place of the old one, which is erased. NULL: there is no such form
 * of it, and nothing has changed. */
Op *forms_build(const FormSteps *steps, Form form, Arena *arena) MUST_CHECK;

#endif
