/* IR dumps around passes, and the reports about time and statistics, laid out as upstream's.
 * Tests: lit/tools/print-ir.mir, lit/tools/timing.mir */
#include "tools/pass_watch.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ir/attr.h"

typedef struct Phase {
    const char *name;
    const Pass *pass; /* NULL: not a pass */
    double seconds;
} Phase;

struct PassWatch {
    const PassWatchOptions *options;
    PassHooks hooks;
    StrBuf before; /* the op before the pass, if changes are asked for */
    StrBuf failure; /* which pass failed on what */
    VEC(Phase) phases;
    double started, phase_started, pass_started;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static const char *pass_title(const Pass *pass)
{
    return pass->def->title ? pass->def->title : pass->def->name;
}

/* --- IR dumps ------------------------------------------------------------------------ */

static bool is_listed(const Texts *names, const Pass *pass)
{
    for (size_t i = 0; i < names->len; i++)
        if (strcmp(names->data[i], pass->def->name) == 0) return true;
    return false;
}

static void print_scoped(StrBuf *out, const PassWatchOptions *options, Op *op)
{
    Op *shown = op;
    while (options->module_scope && op_parent(shown)) shown = op_parent(shown);
    PrintOptions print = print_options_for(shown, options->print);
    print.local_scope = print.local_scope || op_parent(shown);
    op_print(out, shown, &print);
}

/* "'func.func' operation: @f" */
static void add_op_description(StrBuf *out, const Op *op)
{
    const Attr *name = op_attr(op, "sym_name");
    strbuf_printf(out, "'%.*s' operation", STR_ARG(op_name(op)));
    if (name && name->kind == ATTR_STRING) strbuf_printf(out, ": @%.*s", STR_ARG(name->u.string));
}

/* // -----// IR Dump After CSE (cse) //----- // */
static void dump(const PassWatch *watch, const Pass *pass, Op *op, const char *when,
                 const char *outcome)
{
    StrBuf out = {0};
    strbuf_printf(&out, "// -----// IR Dump %s %s%s (%s)", when, pass_title(pass), outcome,
                  pass->def->name);
    if (watch->options->module_scope) {
        strbuf_add_c(&out, " (");
        add_op_description(&out, op);
        strbuf_add_char(&out, ')');
    }
    strbuf_add_c(&out, " //----- //\n");
    print_scoped(&out, watch->options, op);
    strbuf_add_c(&out, "\n\n");
    fwrite(out.data, 1, out.len, stderr);
    strbuf_free(&out);
}

static void before_pass(void *user, const Pass *pass, Op *op)
{
    PassWatch *watch = user;
    const PassWatchOptions *options = watch->options;
    if (options->before_all || is_listed(&options->before, pass))
        dump(watch, pass, op, "Before", "");
    if (options->after_change) {
        strbuf_clear(&watch->before);
        print_scoped(&watch->before, options, op);
    }
    watch->pass_started = now();
}

static bool has_changed(const PassWatch *watch, Op *op)
{
    StrBuf text = {0};
    print_scoped(&text, watch->options, op);
    bool changed = !str_eq(strbuf_str(&text), strbuf_str(&watch->before));
    strbuf_free(&text);
    return changed;
}

static void add_time(PassWatch *watch, const char *name, const Pass *pass, double seconds)
{
    for (size_t i = 0; i < watch->phases.len; i++) {
        Phase *phase = &watch->phases.data[i];
        if (phase->pass != pass || strcmp(phase->name, name) != 0) continue;
        phase->seconds += seconds;
        return;
    }
    *vec_push(&watch->phases) = (Phase){.name = name, .pass = pass, .seconds = seconds};
}

static void after_pass(void *user, const Pass *pass, Op *op, bool ok)
{
    PassWatch *watch = user;
    const PassWatchOptions *options = watch->options;
    add_time(watch, pass_title(pass), pass, now() - watch->pass_started);
    if (!ok) {
        strbuf_clear(&watch->failure);
        strbuf_printf(&watch->failure, "`%s` on ", pass_title(pass));
        add_op_description(&watch->failure, op);
        if (options->after_failure || options->after_all || is_listed(&options->after, pass))
            dump(watch, pass, op, "After", " Failed");
        return;
    }
    if (options->after_failure) return;
    bool wanted = options->after_all || is_listed(&options->after, pass);
    if (wanted && (!options->after_change || has_changed(watch, op)))
        dump(watch, pass, op, "After", "");
}

/* --- life ----------------------------------------------------------------------------- */

PassWatch *pass_watch_create(const PassWatchOptions *options)
{
    PassWatch *watch = xcalloc(1, sizeof(*watch));
    watch->options = options;
    watch->hooks = (PassHooks){.user = watch, .before = before_pass, .after = after_pass};
    watch->started = now();
    return watch;
}

void pass_watch_free(PassWatch *watch)
{
    strbuf_free(&watch->before);
    strbuf_free(&watch->failure);
    vec_free(&watch->phases);
    free_ptr((void **)&watch);
}

const PassHooks *pass_watch_hooks(PassWatch *watch)
{
    return &watch->hooks;
}

Str pass_watch_failure(const PassWatch *watch)
{
    return strbuf_str(&watch->failure);
}

void pass_watch_begin(PassWatch *watch)
{
    watch->phase_started = now();
}

void pass_watch_end(PassWatch *watch, const char *phase)
{
    add_time(watch, phase, NULL, now() - watch->phase_started);
}

/* --- reports ----------------------------------------------------------------------------- */

static void print_title(const char *title)
{
    static const char rule[] =
        "===-------------------------------------------------------------------------===";
    int pad = (int)((sizeof(rule) - 1 - strlen(title) - 8) / 2);
    fprintf(stderr, "%s\n%*s... %s ...\n%s\n", rule, pad, "", title, rule);
}

static void print_time(const char *name, double seconds, double total)
{
    fprintf(stderr, "  %8.4f (%5.1f%%)  %s\n", seconds, total > 0 ? 100 * seconds / total : 0.0,
            name);
}

static int compare_times(const void *a, const void *b)
{
    double x = ((const Phase *)a)->seconds, y = ((const Phase *)b)->seconds;
    return x < y ? 1 : x > y ? -1 : 0;
}

void pass_watch_times(PassWatch *watch)
{
    if (!watch->options->timing) return;
    double total = now() - watch->started, rest = total;
    print_title("Execution time report");
    fprintf(stderr, "  Total Execution Time: %.4f seconds\n\n", total);
    fprintf(stderr, "  ----Wall Time----  ----Name----\n");
    bool sorted = watch->options->timing_display &&
                  strcmp(watch->options->timing_display, "list") == 0;
    if (sorted && watch->phases.len > 0)
        qsort(watch->phases.data, watch->phases.len, sizeof(*watch->phases.data), compare_times);
    for (size_t i = 0; i < watch->phases.len; i++) {
        const Phase *phase = &watch->phases.data[i];
        print_time(phase->name, phase->seconds, total);
        rest -= phase->seconds;
    }
    print_time("Rest", rest, total);
    print_time("Total", total, total);
}

static void report_pass(void *user, Pass *pass, int depth)
{
    (void)user;
    fprintf(stderr, "%*s%s\n", 2 * depth, "", pass_title(pass));
    for (size_t i = 0; pass->def->stats && pass->def->stats[i].name; i++)
        fprintf(stderr, "%*s(S) %llu %s - %s\n", 2 * depth + 2, "",
                (unsigned long long)pass->stats[i], pass->def->stats[i].name,
                pass->def->stats[i].help);
}

void pass_watch_statistics(const PassWatch *watch, Pipeline *pipeline)
{
    if (!watch->options->statistics) return;
    print_title("Pass statistics report");
    pipeline_each(pipeline, report_pass, NULL);
    fputc('\n', stderr);
}
