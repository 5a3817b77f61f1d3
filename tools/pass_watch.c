/* IR dumps around passes, and the reports about time and statistics, laid out as upstream's.
 * Tests: lit/tools/print-ir.mir, lit/tools/print-ir-tree.mir, lit/tools/timing.mir,
 * lit/tools/reports.mir */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ir/attr/attr.h"
#include "ir/support/support.h"
#include "ir/verify/verify.h"
#include "tools/internal.h"

/* A pass that runs, with what it may have changed. */
typedef struct Running {
    StrBuf before; /* the op before the pass, if changes are asked for */
} Running;

struct PassWatch {
    const PassWatchOptions *options;
    PassHooks hooks;
    VEC(Running) running; /* a stack: passes run passes */
    PtrMap dumps;         /* Op* -> number of its dumps in the folder, as uintptr_t */
    Timing *timing;       /* or NULL */
};

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
    PrintOptions print = verify_print_options(shown, options->print);
    print.local_scope = print.local_scope || op_parent(shown);
    op_print(out, shown, &print);
}

void pass_watch_describe_op(StrBuf *out, const Op *op)
{
    const Attr *name = op_attr(op, "sym_name");
    strbuf_printf(out, "'%.*s' operation", STR_ARG(op_name(op)));
    if (name && name->kind == ATTR_STRING) strbuf_printf(out, ": @%.*s", STR_ARG(name->u.string));
}

/* Adds "builtin_module_no-symbol-name/func_func_f/" and makes the folders. False: said why. */
static bool add_folders(StrBuf *path, const Op *op)
{
    if (op_parent(op) && !add_folders(path, op_parent(op))) return false;
    const Attr *name = op_attr(op, "sym_name");
    for (size_t i = 0; i < op_name(op).len; i++) {
        char c = op_name(op).data[i];
        strbuf_add_char(path, c == '.' ? '_' : c);
    }
    bool named = name && name->kind == ATTR_STRING;
    strbuf_printf(path, "_%.*s", STR_ARG(named ? name->u.string : STR("no-symbol-name")));
    if (mkdir(path->data, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "Error while creating directory %s: %s\n", path->data, strerror(errno));
        return false;
    }
    strbuf_add_char(path, '/');
    return true;
}

/* "0_1_" for the first dump of the module and the second of a function in it. */
static void add_numbers(const PassWatch *watch, StrBuf *path, const Op *op)
{
    if (op_parent(op)) add_numbers(watch, path, op_parent(op));
    uintptr_t dumps = (uintptr_t)ptrmap_get(&watch->dumps, op);
    strbuf_add_uint(path, dumps ? dumps - 1 : 0);
    strbuf_add_char(path, '_');
}

/* The folders mirror the IR; a file is named by the numbers of the dumps and by the pass. */
static void write_to_tree(PassWatch *watch, const Pass *pass, Op *op, Str text)
{
    StrBuf path = {0};
    const char *reason = NULL;
    uintptr_t dumps = (uintptr_t)ptrmap_get(&watch->dumps, op);
    ptrmap_put(&watch->dumps, op, (void *)(dumps + 1));
    strbuf_printf(&path, "%s/", watch->options->tree_dir);
    if (mkdir(watch->options->tree_dir, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "Error while creating directory %s: %s\n", watch->options->tree_dir,
                strerror(errno));
    } else if (add_folders(&path, op)) {
        add_numbers(watch, &path, op);
        strbuf_printf(&path, "%s.mlir", pass->def->name);
        if (!file_write(path.data, text, &reason))
            fprintf(stderr, "Error opening output file %s: %s\n", path.data, reason);
    }
    strbuf_free(&path);
}

/* // -----// IR Dump After CSE (cse) //----- // */
static void dump(PassWatch *watch, const Pass *pass, Op *op, const char *when, const char *outcome)
{
    StrBuf out = {0};
    strbuf_printf(&out, "// -----// IR Dump %s %s%s (%s)", when, pass_title(pass), outcome,
                  pass->def->name);
    if (watch->options->module_scope) {
        strbuf_add_c(&out, " (");
        pass_watch_describe_op(&out, op);
        strbuf_add_char(&out, ')');
    }
    strbuf_add_c(&out, " //----- //\n");
    print_scoped(&out, watch->options, op);
    strbuf_add_c(&out, "\n\n");
    if (watch->options->tree_dir)
        write_to_tree(watch, pass, op, strbuf_str(&out));
    else
        fwrite(out.data, 1, out.len, stderr);
    strbuf_free(&out);
}

static bool has_changed(const PassWatch *watch, const Running *running, Op *op)
{
    StrBuf text = {0};
    print_scoped(&text, watch->options, op);
    bool changed = !str_eq(strbuf_str(&text), strbuf_str(&running->before));
    strbuf_free(&text);
    return changed;
}

static void before_pass(void *user, const Pass *pass, Op *op)
{
    PassWatch *watch = user;
    const PassWatchOptions *options = watch->options;
    Running running = {0};
    if (options->before_all || is_listed(&options->before, pass))
        dump(watch, pass, op, "Before", "");
    if (options->after_change) print_scoped(&running.before, options, op);
    *vec_push(&watch->running) = running;
    if (watch->timing) timing_enter(watch->timing, pass, pass_title(pass), false, false);
}

static void dump_after(PassWatch *watch, const Pass *pass, Op *op, bool ok, const Running *running)
{
    const PassWatchOptions *options = watch->options;
    bool wanted = options->after_failure || options->after_all || is_listed(&options->after, pass);
    if (!wanted) return;
    if (!ok)
        dump(watch, pass, op, "After", " Failed");
    else if (!options->after_failure && (!options->after_change || has_changed(watch, running, op)))
        dump(watch, pass, op, "After", "");
}

static void after_pass(void *user, const Pass *pass, Op *op, bool ok)
{
    PassWatch *watch = user;
    if (watch->timing) timing_leave(watch->timing);
    Running running = watch->running.data[--watch->running.len];
    dump_after(watch, pass, op, ok, &running);
    strbuf_free(&running.before);
}

static void enter_scope(void *user, const PassScope *scope)
{
    const PassWatch *watch = user;
    if (watch->timing)
        timing_enter(watch->timing, scope->id, scope->name, scope->is_hidden, scope->is_outer);
}

static void leave_scope(void *user)
{
    const PassWatch *watch = user;
    if (watch->timing) timing_leave(watch->timing);
}

PassWatch *pass_watch_create(const PassWatchOptions *options)
{
    PassWatch *watch = xcalloc(1, sizeof(*watch));
    watch->options = options;
    watch->hooks = (PassHooks){.user = watch,
                               .before = before_pass,
                               .after = after_pass,
                               .enter = enter_scope,
                               .leave = leave_scope};
    if (options->timing) watch->timing = timing_create();
    return watch;
}

void pass_watch_free(PassWatch *watch)
{
    vec_free(&watch->running);
    ptrmap_free(&watch->dumps);
    timing_free(watch->timing);
    free_ptr((void **)&watch);
}

const PassHooks *pass_watch_hooks(PassWatch *watch)
{
    return &watch->hooks;
}

void pass_watch_begin(PassWatch *watch, const char *phase)
{
    if (watch->timing) timing_enter(watch->timing, NULL, phase, false, false);
}

void pass_watch_end(PassWatch *watch)
{
    if (watch->timing) timing_leave(watch->timing);
}

void pass_watch_times(PassWatch *watch)
{
    const PassWatchOptions *options = watch->options;
    if (!watch->timing) return;
    timing_print(watch->timing,
                 &(TimingLayout){.as_list = strcmp(options->timing_display, "list") == 0,
                                 .as_json = strcmp(options->timing_format, "json") == 0});
}

typedef VEC(const Pass *) PassVec;

typedef struct Statistic {
    const StatDef *def;
    uint64_t value;
} Statistic;

static int compare_statistics(const void *a, const void *b)
{
    return strcmp(((const Statistic *)a)->def->name, ((const Statistic *)b)->def->name);
}

/* Sorted by name, in columns. */
static void print_statistics(const Pass *pass, const uint64_t *values, int indent)
{
    VEC(Statistic) rows = {0};
    int name_width = 0, value_width = 0;
    for (size_t i = 0; pass->def->stats && pass->def->stats[i].name; i++) {
        *vec_push(&rows) = (Statistic){&pass->def->stats[i], values[i]};
        int name = (int)strlen(pass->def->stats[i].name);
        int value = snprintf(NULL, 0, "%" PRIu64, values[i]);
        if (name > name_width) name_width = name;
        if (value > value_width) value_width = value;
    }
    if (rows.len) qsort(rows.data, rows.len, sizeof *rows.data, compare_statistics);
    for (size_t i = 0; i < rows.len; i++)
        fprintf(stderr, "%*s(S) %*" PRIu64 " %-*s - %s\n", indent, "", value_width,
                rows.data[i].value, name_width, rows.data[i].def->name, rows.data[i].def->help);
    vec_free(&rows);
}

static void report_pass(void *user, const Pass *pass, const char *title, int depth)
{
    (void)user;
    fprintf(stderr, "%*s%s\n", 2 * depth, "", title ? title : pass_title(pass));
    if (pass) print_statistics(pass, pass->stats, 2 * depth + 2);
}

static void collect_pass(void *user, const Pass *pass, const char *title, int depth)
{
    (void)title;
    (void)depth;
    if (pass && pass->def->stats) *vec_push((PassVec *)user) = pass;
}

static int compare_titles(const void *a, const void *b)
{
    return strcmp(pass_title(*(const Pass *const *)a), pass_title(*(const Pass *const *)b));
}

/* Instances of one pass added up. */
static void report_as_list(const Pipeline *pipeline)
{
    PassVec passes = {0};
    pipeline_each(pipeline, collect_pass, &passes);
    if (passes.len) qsort(passes.data, passes.len, sizeof *passes.data, compare_titles);
    for (size_t i = 0; i < passes.len;) {
        const Pass *pass = passes.data[i];
        VEC(uint64_t) sums = {0};
        for (size_t k = 0; pass->def->stats[k].name; k++) *vec_push(&sums) = 0;
        for (; i < passes.len && passes.data[i]->def == pass->def; i++)
            for (size_t k = 0; k < sums.len; k++) sums.data[k] += passes.data[i]->stats[k];
        fprintf(stderr, "  %s\n", pass_title(pass));
        print_statistics(pass, sums.data, 4);
        vec_free(&sums);
    }
    vec_free(&passes);
}

void pass_watch_statistics(const PassWatch *watch, const Pipeline *pipeline)
{
    static const char rule[] =
        "===-------------------------------------------------------------------------===";
    if (!watch->options->statistics) return;
    fprintf(stderr, "%s\n%*s... Pass statistics report ...\n%s\n", rule, 25, "", rule);
    if (strcmp(watch->options->statistics_display, "list") == 0)
        report_as_list(pipeline);
    else
        pipeline_each(pipeline, report_pass, NULL);
    fputc('\n', stderr);
}
