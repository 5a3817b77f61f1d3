/* Passes, options, nested pipelines and their text form:
 *   builtin.module(canonicalize{max-iterations=5},func.func(cse),any(strip-debuginfo))
 * Pass tables are arrays of PassDef pointers given by tools; no registry globals.
 * Tests: lit/tools/pipeline.mir, test/unit/ir/pass/pass_test.c */
#ifndef MING_IR_PASS_PASS_H
#define MING_IR_PASS_PASS_H

#include "ir/core/core.h"

typedef enum OptionKind {
    OPTION_BOOL,
    OPTION_INT,
    OPTION_UINT, /* 32 bits; printed unsigned */
    OPTION_STRING,
    OPTION_INT_LIST,
    OPTION_STRING_LIST,
    OPTION_PIPELINE_LIST /* whole pipelines: "func.func(cse),any(canonicalize)" */
} OptionKind;

typedef struct OptionDef {
    const char *name;
    OptionKind kind;
    const char *fallback; /* default as text; NULL: false, 0, "" */
    const char *help;
    int64_t min, max;           /* of OPTION_INT and each item of OPTION_INT_LIST when min < max */
    const char *const *choices; /* of OPTION_STRING: NULL-terminated, or NULL for any text */
} OptionDef;
#define OPTIONS(...)                                                                               \
    (const OptionDef[])                                                                            \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

typedef struct StatDef {
    const char *name, *help;
} StatDef;
#define STATS(...)                                                                                 \
    (const StatDef[])                                                                              \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

typedef struct PassTable {
    const PassDef *const *passes;
    size_t count;
} PassTable;
const PassDef *pass_find(const PassTable *table, Str name);

/* One instance of a pass in a pipeline, with its option values. */
typedef struct Pass {
    const PassDef *def;
    Context *ctx;
    const PassTable *table;    /* passes that its options may name; NULL: none */
    const struct PassRun *run; /* while it runs */
    bool unchanged;  /* set by a run that left all as it was: nothing is to be verified again */
    Arena scratch;   /* reset after each run */
    uint64_t *stats; /* parallel to def->stats */
    struct OptionValue *options;
} Pass;

struct PassDef {
    const char *name;    /* kebab-case argument */
    const char *summary; /* one line */
    const char *description;
    const char *title;  /* in IR dumps and reports: upstream's class name ("Canonicalizer");
                            NULL: the name */
    const char *anchor; /* op it runs on: "builtin.module", "func.func"; NULL: any */
    bool any_function;  /* and it runs on all function-like ops, whatever their name */
    const OptionDef *options;
    const StatDef *stats;
    bool (*run)(Pass *pass, Op *op); /* false: diagnosed */
};

const char *pass_title(const Pass *pass); /* its name in reports */
/* "cse" or "canonicalize{top-down=true …}", every option spelled out. */
void pass_print(const Pass *pass, StrBuf *out);
bool pass_bool(const Pass *pass, const char *option);
int64_t pass_int(const Pass *pass, const char *option);
Str pass_string(const Pass *pass, const char *option);
bool pass_option_given(const Pass *pass, const char *option);
/* Items of a list option, count through *count. */
const Str *pass_list(const Pass *pass, const char *option, size_t *count);
const int64_t *pass_int_list(const Pass *pass, const char *option, size_t *count);
void pass_count(Pass *pass, const char *stat, uint64_t amount);

/* Around what a pass computes about an op before it changes it; shows in timings. */
void pass_analysis_begin(const Pass *pass, const char *name);
void pass_analysis_end(const Pass *pass);

typedef struct Pipeline Pipeline; /* op pass manager tree */
/* `table` holds the passes that texts may name; NULL: none. `anchor` is an op's name; NULL or
 * "any": any. */
Pipeline *pipeline_create(Context *ctx, const PassTable *table, const char *anchor);
void pipeline_free(Pipeline *pipeline);
/* Appends one pass with options text ("a=1 b=2" or NULL), wrapping it in a nested manager when its
 * anchor differs from the pipeline's. False: diagnosed (unknown option, bad value). */
bool pipeline_add(Pipeline *pipeline, const PassDef *def, const char *options) MUST_CHECK;
/* Appends the passes of a text without anchor: "a,func.func(b)". */
bool pipeline_parse(Pipeline *pipeline, Str text) MUST_CHECK;
/* From a whole text, which must name its anchor: "builtin.module(...)", "any(...)".
 * NULL: diagnosed. */
Pipeline *pipeline_from_text(Context *ctx, const PassTable *table, Str text);
/* "builtin.module(a{x=1},func.func(b))", every option spelled out; parsing it gives the same
 * pipeline. */
void pipeline_print(const Pipeline *pipeline, StrBuf *out);
const char *pipeline_anchor(const Pipeline *pipeline); /* "any" for any */
size_t pipeline_pass_count(const Pipeline *pipeline);  /* a nested manager counts as one */

/* A stretch of the run that timings tell apart. */
typedef struct PassScope {
    const void *id; /* with the name, the same for each run of the same thing */
    const char *name;
    bool is_hidden; /* only what is inside counts */
    bool is_outer;  /* not part of the scope that was entered before it */
} PassScope;

/* Called around each run of a pass on an op and around scopes; each may be NULL. */
typedef struct PassHooks {
    void *user;
    void (*before)(void *user, const Pass *pass, Op *op);
    void (*after)(void *user, const Pass *pass, Op *op, bool ok);
    void (*enter)(void *user, const PassScope *scope);
    void (*leave)(void *user);
} PassHooks;
typedef struct RunOptions {
    bool verify_each;
    const PassHooks *const *hooks; /* NULL-terminated, or NULL */
} RunOptions;
/* Adjacent nested managers are merged first, as upstream merges them. */
bool pipeline_run(Pipeline *pipeline, Op *op, const RunOptions *options) MUST_CHECK;
/* From inside a pass: runs another pipeline on an op below the one that the pass runs on. */
bool pass_run_pipeline(const Pass *pass, Pipeline *pipeline, Op *op) MUST_CHECK;

/* Visits the instances in order (statistics); `title` instead of a pass: what is one level
 * deeper belongs to that manager. */
void pipeline_each(const Pipeline *pipeline,
                   void (*visit)(void *user, const Pass *pass, const char *title, int depth),
                   void *user);

#endif
