/* What the fuzz targets share: silent contexts that serve many inputs, checks, files, and the
 * simulation of a design. */
#ifndef MING_FUZZ_SUPPORT_H
#define MING_FUZZ_SUPPORT_H

#include "driver/driver.h"
#include "fuzz/targets.h"
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

/* Errors so far are none of those that are asked for from now on. */
void fuzz_forget_errors(void);
/* The first error of the input that is run; empty: none so far. How many a user would have seen. */
Str fuzz_first_error(void);
size_t fuzz_error_count(void);
/* What the driver reports is a first error, too. */
extern const DriverErrors fuzz_reports;
/* Whether the first error says that a pass changes results, or leaves IR that does not verify, where
 * that is known and has a reason. */
bool fuzz_is_known_change(Str passes);
/* Aborts with a message and the text it is about unless it holds. */
void fuzz_check(bool holds, const char *what, Str text);

/* Whether the lines are the same, but for what upstream reads differently too: a + (b + c) in an
 * affine expression is printed without its parentheses, and floats wider than f64 are read as f64. */
bool fuzz_same_text(Str a, Str b);
/* Text that was printed must parse, and print the same again. */
void fuzz_check_text(FuzzContext *reused, Str text);

/* Writes the bytes to a file without a name, the same one for all inputs, and gives its path. */
void fuzz_write_file(const uint8_t *data, size_t size, char *path, size_t room);

/* Whether the module takes little time to run or to fold: no tensor of static shape has more
 * elements, no constant is larger where a shape is not known, no branch goes back, and no padding or
 * range is known at run time only. */
bool fuzz_is_small(Op *module, int64_t elements) MUST_CHECK;

/* Whether the module has what may sum up floats of fewer than 32 bits. These sums are exact in an op of
 * onnx, and rounded at every step in linalg, by more than the comparison allows (docs/interpreter.md);
 * designs have none. */
bool fuzz_sums_narrow_floats(Op *module) MUST_CHECK;

/* The next number of a sequence (splitmix64). */
uint64_t fuzz_random(uint64_t *state);
/* Whether the word stands in the text. */
bool fuzz_contains(Str text, const char *word);

/* Prints the project of an emithls module into memory, and simulates two frames of zeros where the
 * module can be simulated and is short. Either may end in a diagnostic, no failure may lack one. */
void fuzz_check_design(Op *module);

#endif
