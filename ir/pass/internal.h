/* Inside of ir/pass: the tree of a pipeline and what the sources of passes and pipelines call of
 * each other. */
#ifndef MING_IR_PASS_INTERNAL_H
#define MING_IR_PASS_INTERNAL_H

#include "ir/pass/pass.h"

typedef VEC(Pipeline *) PipelineVec;

typedef struct PipelineItem {
    Pass *pass;         /* or */
    PipelineVec nested; /* managers for the ops directly inside, at most one for each op; only
                           one until neighbours are merged */
} PipelineItem;

struct Pipeline {
    Context *ctx;
    const PassTable *table;
    const char *anchor; /* op name; NULL: any */
    Arena *arena;       /* the outermost pipeline's; holds passes and option values */
    Arena own;
    VEC(PipelineItem) items;
};

typedef struct Referred Referred;

/* The run that a pass is part of. */
typedef struct PassRun {
    const RunOptions *options;
    Op *op;
    Referred *referred; /* of the symbol table around the op */
} PassRun;

/* A new pass with its options at their defaults, which is not part of the pipeline yet. */
Pass *pass_create(const Pipeline *owner, const PassDef *def);
void pass_destroy(Pass *pass);
/* Reads "a=1 b=2". False: `error` says why. */
bool pass_parse_options(Pass *pass, Arena *arena, Str text, StrBuf *error) MUST_CHECK;
/* "Pipeline Collection : [...]" */
void pipeline_title_all(const PipelineVec *nested, StrBuf *out);
/* Whether the pass runs on ops of that name; `op` is NULL if the name is not registered. */
bool pass_suits(const PassDef *def, const char *name, const OpDef *op);
bool pipeline_suits(const Pipeline *pipeline, const PassDef *def);
/* Adds a nested manager at the end. */
Pipeline *pipeline_nest(Pipeline *outer, Str anchor);
void pipeline_take_pass(Pipeline *pipeline, Pass *pass);
/* A pipeline from a whole text. NULL: `error` says why. */
Pipeline *pipeline_parse_whole(Context *ctx, const PassTable *table, Str text, StrBuf *error);

static inline bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

#endif
