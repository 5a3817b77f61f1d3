/* canonicalize: folds every op and applies the patterns that op rows add, greedily until nothing
 * changes, in the order and with the options of upstream's pass.
 * Requires: verified IR.
 * Changes: ops, blocks, block arguments.
 * Preserves: symbols.
 * Tests: lit/passes/common/canonicalize.mir, lit/dialects/<d>/canonicalize.mir */
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "passes/common/passes.h"

static bool is_listed(const Str *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq_c(names[i], name)) return true;
    return false;
}

/* Drops the patterns that the options disable or, if any are enabled, do not enable. */
static void filter_patterns(const Pass *pass, PatternSet *set)
{
    size_t disabled_count, enabled_count, kept = 0;
    const Str *disabled = pass_list(pass, "disable-patterns", &disabled_count);
    const Str *enabled = pass_list(pass, "enable-patterns", &enabled_count);
    for (size_t i = 0; i < set->patterns.len; i++) {
        const char *name = set->patterns.data[i].name;
        if (is_listed(disabled, disabled_count, name)) continue;
        if (enabled_count && !is_listed(enabled, enabled_count, name)) continue;
        set->patterns.data[kept++] = set->patterns.data[i];
    }
    set->patterns.len = kept;
}

static void collect_patterns(const Pass *pass, PatternSet *set)
{
    patterns_init(set, pass->ctx);
    for (size_t i = 0; i < dialect_count(pass->ctx); i++) {
        const DialectDef *dialect = dialect_at(pass->ctx, i);
        if (dialect->canonicalize) dialect->canonicalize(set);
    }
    for (size_t i = 0; i < dialect_count(pass->ctx); i++) {
        const DialectDef *dialect = dialect_at(pass->ctx, i);
        for (size_t k = 0; k < dialect->op_count; k++)
            if (dialect->ops[k].canonicalize) dialect->ops[k].canonicalize(set);
    }
    filter_patterns(pass, set);
}

static GreedyOptions read_options(const Pass *pass)
{
    Str level = pass_string(pass, "region-simplify");
    return (GreedyOptions){.bottom_up = !pass_bool(pass, "top-down"),
                           .max_rounds = pass_int(pass, "max-iterations"),
                           .max_rewrites = pass_int(pass, "max-num-rewrites"),
                           .regions = str_eq_c(level, "disabled") ? REGION_SIMPLIFY_OFF
                                      : str_eq_c(level, "normal") ? REGION_SIMPLIFY_NORMAL
                                                                  : REGION_SIMPLIFY_AGGRESSIVE};
}

static bool run_canonicalize(Pass *pass, Op *op)
{
    PatternSet set;
    GreedyOptions options = read_options(pass);
    if (options.max_rounds == 0 || options.max_rewrites == 0) return true;
    collect_patterns(pass, &set);
    bool converged = rewrite_greedy(op, &set, &options, NULL);
    patterns_free(&set);
    return converged || !pass_bool(pass, "test-convergence") ||
           op_error(op, "still changes after as many rounds and rewrites as are allowed");
}

static const char *const region_levels[] = {"disabled", "normal", "aggressive", NULL};

const PassDef pass_canonicalize = {
    .name = "canonicalize",
    .title = "Canonicalizer",
    .summary = "Canonicalize operations",
    .description =
        "Folds ops, applies the canonicalization patterns of all dialects and removes "
        "dead code, repeatedly, until nothing changes or a limit is reached. Between two "
        "patterns that belong together a module may not verify, as upstream's does not: "
        "a cast of a linalg op's input is folded before that of its result.",
    .options = OPTIONS({.name = "top-down",
                        .kind = OPTION_BOOL,
                        .fallback = "true",
                        .help = "Seed the worklist in general top-down order"},
                       {.name = "region-simplify",
                        .kind = OPTION_STRING,
                        .fallback = "normal",
                        .choices = region_levels,
                        .help = "Control-flow optimizations: disabled, normal or aggressive"},
                       {.name = "max-iterations",
                        .kind = OPTION_INT,
                        .fallback = "10",
                        .help = "Rounds at most; -1: no limit"},
                       {.name = "max-num-rewrites",
                        .kind = OPTION_INT,
                        .fallback = "-1",
                        .help = "Pattern applications in a round at most; -1: no limit"},
                       {.name = "test-convergence",
                        .kind = OPTION_BOOL,
                        .help = "Fail if the rounds do not converge"},
                       {.name = "disable-patterns",
                        .kind = OPTION_STRING_LIST,
                        .help = "Names of patterns to leave out"},
                       {.name = "enable-patterns",
                        .kind = OPTION_STRING_LIST,
                        .help = "Names of the only patterns to apply"}),
    .run = run_canonicalize,
};
