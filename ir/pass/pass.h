/* Passes with their options and statistics, pipelines of passes, and the text form of pipelines:
 *   builtin.module(canonicalize{max-iterations=5},func.func(cse),any(strip-debuginfo))
 *
 * A pass is a constant PassDef; tools pass tables of them (PassTable), there is no registry. A
 * Pipeline owns the instances of its passes and their option values. A pass returns false after a
 * diagnostic, which ends the run; with verify_each the IR is verified after each pass that may have
 * changed it. All modules that define passes (passes, lowering, target) build on this one.
 * Tests: lit/tools/pipeline.mir, test/unit/ir/pass/pass_test.c */
#ifndef MING_IR_PASS_PASS_H
#define MING_IR_PASS_PASS_H

#include "ir/core/core.h"

/* Definitions: options, statistics, passes. */
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
/* The pass of that name, or NULL. */
const PassDef *pass_find(const PassTable *table, Str name);

/* One instance of a pass in a pipeline, with its option values. */
typedef struct Pass {
    const PassDef *def;
    Context *ctx;
    const PassTable *table;    /* the passes that its options may name; NULL: none */
    const struct PassRun *run; /* while it runs */
    bool unchanged;  /* set by a run that changed nothing, so that nothing need be verified again */
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

/* For the run function of a pass: its options, statistics and analyses. An option must be declared
 * in the PassDef; its text belongs to the pipeline. */
const char *pass_title(const Pass *pass); /* its name in reports */
/* Appends "cse" or "canonicalize{top-down=true …}" with every option spelled out. */
void pass_print(const Pass *pass, StrBuf *out);
bool pass_bool(const Pass *pass, const char *option);
int64_t pass_int(const Pass *pass, const char *option);
Str pass_string(const Pass *pass, const char *option);
/* Items of a list option and their number. */
const Str *pass_list(const Pass *pass, const char *option, size_t *count);
const int64_t *pass_int_list(const Pass *pass, const char *option, size_t *count);
void pass_count(Pass *pass, const char *stat, uint64_t amount);
/* Whether an op in its symbol table refers to the symbol that the pass runs on, which a function that
 * is called is. References that are added meanwhile do not count. */
bool pass_op_is_referred(const Pass *pass);

/* Called around an analysis, that is, what a pass computes about an op before it changes it.
 * Timings show it. */
void pass_analysis_begin(const Pass *pass, const char *name);
void pass_analysis_end(const Pass *pass);

/* Pipelines: trees of pass managers. */
typedef struct Pipeline Pipeline;

/* An empty pipeline, which the caller frees. `table` holds the passes that texts may name; NULL:
 * none. `anchor` is the name of the op to run on; NULL or "any": any op. */
Pipeline *pipeline_create(Context *ctx, const PassTable *table, const char *anchor);
void pipeline_free(Pipeline *pipeline);
/* Appends one pass with its options as text ("a=1 b=2" or NULL). It is wrapped in a nested manager
 * if its anchor differs from the pipeline's. False: diagnosed (unknown option, bad value). */
bool pipeline_add(Pipeline *pipeline, const PassDef *def, const char *options) MUST_CHECK;
/* Appends the passes of a text without anchor: "a,func.func(b)". False: diagnosed. */
bool pipeline_parse(Pipeline *pipeline, Str text) MUST_CHECK;
/* A pipeline from a whole text, which must name its anchor: "builtin.module(...)", "any(...)". The
 * caller frees it. NULL: diagnosed. */
Pipeline *pipeline_from_text(Context *ctx, const PassTable *table, Str text);
/* Appends "builtin.module(a{x=1},func.func(b))" with every option spelled out; parsing it gives the
 * same pipeline. */
void pipeline_print(const Pipeline *pipeline, StrBuf *out);
const char *pipeline_anchor(const Pipeline *pipeline); /* "any" for any */
size_t pipeline_pass_count(const Pipeline *pipeline);  /* a nested manager counts as one */

/* Running a pipeline. A PassScope is a part of the run that timings show separately. */
typedef struct PassScope {
    const void *id; /* with the name, the same in each run of the same thing */
    const char *name;
    bool is_hidden; /* only the scopes inside are shown */
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
/* Runs the pipeline on the op. Adjacent nested managers are merged first, as upstream merges them.
 * False: diagnosed. */
bool pipeline_run(Pipeline *pipeline, Op *op, const RunOptions *options) MUST_CHECK;
/* From inside a pass: runs another pipeline on an op below the one that the pass runs on. False:
 * diagnosed. */
bool pass_run_pipeline(const Pass *pass, Pipeline *pipeline, Op *op) MUST_CHECK;

/* Visits the instances in order, as statistics print them. A visit with `title` instead of a pass
 * announces a manager, whose passes are one level deeper. */
void pipeline_each(const Pipeline *pipeline,
                   void (*visit)(void *user, const Pass *pass, const char *title, int depth),
                   void *user);

#endif
