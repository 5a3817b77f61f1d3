/* Inside of passes and pipelines, for ir/pass.c and ir/pipeline*.c only. */
#ifndef MING_IR_PASS_IMPL_H
#define MING_IR_PASS_IMPL_H

#include "ir/pass.h"

typedef struct PipelineItem {
    Pass *pass;       /* or */
    Pipeline *nested; /* a manager for the ops directly inside */
} PipelineItem;

struct Pipeline {
    Context *ctx;
    const char *anchor; /* op name; NULL: any */
    Arena *arena;       /* the outermost pipeline's; holds passes and option values */
    Arena own;
    VEC(PipelineItem) items;
};

/* A pass with its options at their defaults. */
Pass *pass_create(Context *ctx, Arena *arena, const PassDef *def);
void pass_destroy(Pass *pass);
/* Reads "a=1 b=2"; errors are reported at loc. */
bool pass_parse_options(Pass *pass, Arena *arena, Str text, const Attr *loc) MUST_CHECK;
/* "{a=1 b=2}", sorted by name; nothing when the pass has no options. */
void pass_print_options(const Pass *pass, StrBuf *out);

static inline bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

Pipeline *pipeline_nest(Pipeline *outer, Str anchor);
Pass *pipeline_add_pass(Pipeline *pipeline, const PassDef *def);

#endif
