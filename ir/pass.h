/* Passes, options, nested pipelines and their text form:
 *   builtin.module(canonicalize{max-iterations=5},func.func(cse),any(strip-debuginfo))
 * Pass tables are arrays of PassDef pointers given by tools; no registry globals.
 * Tests: lit/tools/pipeline.mir, test/unit/pass_test.c */
#ifndef MING_IR_PASS_H
#define MING_IR_PASS_H

#include "ir/opdef.h"

typedef enum OptionKind { OPTION_BOOL, OPTION_INT, OPTION_STRING, OPTION_INT_LIST,
                          OPTION_STRING_LIST } OptionKind;

typedef struct OptionDef {
    const char *name;
    OptionKind kind;
    const char *fallback; /* default as text; NULL: false, 0, "" */
    const char *help;
    int64_t min, max; /* of OPTION_INT and each item of OPTION_INT_LIST when min < max */
    const char *const *choices; /* of OPTION_STRING: NULL-terminated, or NULL for any text */
} OptionDef;
#define OPTIONS(...) (const OptionDef[]){__VA_ARGS__, {0}}

typedef struct StatDef {
    const char *name, *help;
} StatDef;
#define STATS(...) (const StatDef[]){__VA_ARGS__, {0}}

/* One instance of a pass in a pipeline, with its option values. */
typedef struct Pass {
    const PassDef *def;
    Context *ctx;
    Arena scratch;     /* reset after each run */
    uint64_t *stats;   /* parallel to def->stats */
    struct OptionValue *options;
} Pass;

struct PassDef {
    const char *name;    /* kebab-case argument */
    const char *summary; /* one line */
    const char *description;
    const char *title;   /* in IR dumps and reports: upstream's class name ("Canonicalizer");
                            NULL: the name */
    const char *anchor;  /* op it runs on: "builtin.module", "func.func"; NULL: any */
    bool any_function;   /* and it runs on all function-like ops, whatever their name */
    const OptionDef *options;
    const StatDef *stats;
    bool (*run)(Pass *pass, Op *op); /* false: diagnosed */
};

bool pass_bool(const Pass *pass, const char *option);
int64_t pass_int(const Pass *pass, const char *option);
Str pass_string(const Pass *pass, const char *option);
bool pass_option_given(const Pass *pass, const char *option);
/* Items of a list option, count through *count. */
const Str *pass_list(const Pass *pass, const char *option, size_t *count);
const int64_t *pass_int_list(const Pass *pass, const char *option, size_t *count);
void pass_count(Pass *pass, const char *stat, uint64_t amount);

typedef struct PassTable {
    const PassDef *const *passes;
    size_t count;
} PassTable;
const PassDef *pass_find(const PassTable *table, Str name);

typedef struct Pipeline Pipeline; /* op pass manager tree */
Pipeline *pipeline_create(Context *ctx, const char *anchor); /* op name; NULL or "any": any */
void pipeline_free(Pipeline *pipeline);
/* Appends one pass with options text ("a=1 b=2" or NULL), wrapping it in a nested manager when its
 * anchor differs from the pipeline's. False: diagnosed (unknown option, bad value). */
bool pipeline_add(Pipeline *pipeline, const PassDef *def, const char *options) MUST_CHECK;
/* Appends the passes of a text, which may be wrapped in the anchor: "builtin.module(a,b)". */
bool pipeline_parse(Pipeline *pipeline, const PassTable *table, Str text) MUST_CHECK;
/* From a whole text, which must name its anchor: "builtin.module(...)", "any(...)".
 * NULL: diagnosed. */
Pipeline *pipeline_from_text(Context *ctx, const PassTable *table, Str text) MUST_CHECK;
/* "builtin.module(a{x=1},func.func(b))", every option spelled out; parsing it gives the same
 * pipeline. */
void pipeline_print(const Pipeline *pipeline, StrBuf *out);
size_t pipeline_pass_count(const Pipeline *pipeline); /* a nested manager counts as one */

/* Called around each run of a pass on an op; either may be NULL. */
typedef struct PassHooks {
    void *user;
    void (*before)(void *user, const Pass *pass, Op *op);
    void (*after)(void *user, const Pass *pass, Op *op, bool ok);
} PassHooks;
typedef struct RunOptions {
    bool verify_each;
    const PassHooks *const *hooks; /* NULL-terminated, or NULL */
} RunOptions;
bool pipeline_run(Pipeline *pipeline, Op *op, const RunOptions *options) MUST_CHECK;
/* Visits the instances in order (statistics, timing). */
void pipeline_each(Pipeline *pipeline, void (*visit)(void *user, Pass *pass, int depth),
                   void *user);

#endif
