/* ming compare A B: tensor by tensor, how two traces or two arrays differ; and the same for the
 * outputs of ming run and ming sim with --expected and --labels.
 * Tests: lit/tools/ming-compare.mir */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "driver/trace/trace.h"
#include "tools/internal.h"

typedef struct Comparison {
    const Tool *tool;
    TextTable table;
    TraceTolerance tolerance;
    bool is_tolerant;
    int64_t tensors, differ, alone; /* compared; that differ; that only one has */
} Comparison;

static bool read_tolerance(const Tool *tool, const char *text, TraceTolerance *out)
{
    return trace_parse_tolerance(text, out) ||
           tool_error(tool, "error: --tolerance takes ABS or ABS,REL, numbers of 0 or more");
}

/* tolerance: the option's text; NULL: elements must be equal. False: said why. */
static bool begin_comparison(Comparison *c, const Tool *tool, const char *tolerance)
{
    static const char *const titles[] = {"tensor", "elements", "differ",  "first at",
                                         "first",  "second",   "greatest"};
    *c = (Comparison){.tool = tool,
                      .table = {.columns = COUNT_OF(titles), .first_number = 1},
                      .is_tolerant = tolerance != NULL};
    if (tolerance && !read_tolerance(tool, tolerance, &c->tolerance)) return false;
    for (size_t i = 0; i < COUNT_OF(titles); i++) text_table_add(&c->table, titles[i]);
    return true;
}

/* "0,3,1" */
static void add_place(StrBuf *out, const Npy *npy, int64_t index)
{
    int64_t rest = npy->count;
    for (uint32_t d = 0; d < npy->rank; d++) {
        rest /= npy->dims[d];
        strbuf_printf(out, "%s%lld", d > 0 ? "," : "", (long long)(index / rest));
        index %= rest;
    }
}

static void add_element(StrBuf *out, const Npy *npy, int64_t index)
{
    if (npy->kind == 'f')
        strbuf_printf(out, "%.9g", npy_get_f64(npy, index));
    else if (npy->kind == 'u')
        strbuf_printf(out, "%llu", (unsigned long long)npy_get_i64(npy, index));
    else
        strbuf_printf(out, "%lld", (long long)npy_get_i64(npy, index));
}

static void add_shape(StrBuf *out, const Npy *npy)
{
    for (uint32_t d = 0; d < npy->rank; d++)
        strbuf_printf(out, "%s%lld", d > 0 ? "x" : "", (long long)npy->dims[d]);
    if (npy->rank == 0) strbuf_add_c(out, "scalar");
}

/* A row for what differs. */
static void compare_arrays(Comparison *c, Str name, const Npy *a, const Npy *b)
{
    TraceDifference d = trace_difference(a, b, c->tolerance);
    c->tensors++;
    if (!d.shapes_differ && d.count == 0) return;
    c->differ++;
    strbuf_add_escaped(text_table_cell(&c->table), name);
    if (d.shapes_differ) {
        text_table_add(&c->table, "-");
        text_table_add(&c->table, "shape");
        text_table_add(&c->table, "-");
        add_shape(text_table_cell(&c->table), a);
        add_shape(text_table_cell(&c->table), b);
        text_table_add(&c->table, "-");
        return;
    }
    text_table_add_int(&c->table, a->count);
    text_table_add_int(&c->table, d.count);
    add_place(text_table_cell(&c->table), a, d.first);
    add_element(text_table_cell(&c->table), a, d.first);
    add_element(text_table_cell(&c->table), b, d.first);
    strbuf_printf(text_table_cell(&c->table), "%.6g", d.greatest);
}

/* Prints the rows and a sentence. True: all are equal. */
static bool end_comparison(Comparison *c, const char *what)
{
    StrBuf out = {0};
    if (c->differ > 0) text_table_print(&c->table, &out);
    strbuf_printf(&out, "%lld %s compared, %lld differ", (long long)c->tensors, what,
                  (long long)c->differ);
    if (c->is_tolerant) strbuf_add_c(&out, " by more than the tolerance");
    if (c->alone > 0) strbuf_printf(&out, "; %lld only one of them has", (long long)c->alone);
    strbuf_add_char(&out, '\n');
    fwrite(out.data, 1, out.len, stdout);
    strbuf_free(&out);
    text_table_free(&c->table);
    return c->differ == 0;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The tensors of a trace's index; NULL: said why. */
static json_t *load_index(const Tool *tool, const char *dir)
{
    StrBuf path = {0};
    json_error_t error;
    strbuf_printf(&path, "%s/index.json", dir);
    json_t *index = json_load_file(path.data, JSON_REJECT_DUPLICATES, &error);
    bool ok = json_is_array(json_object_get(index, "tensors"));
    if (!index && error.line < 0)
        tool_error(tool, "error: cannot read '%s'; --trace writes one", path.data);
    else if (!index)
        fprintf(stderr, "%s:%d:%d: error: %s\n", path.data, error.line, error.column, error.text);
    else if (!ok)
        fprintf(stderr, "%s:1:1: error: has no array 'tensors'\n", path.data);
    strbuf_free(&path);
    if (ok) return index;
    json_decref(index);
    return NULL;
}

static const json_t *find_tensor(const json_t *index, const char *name)
{
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(index, "tensors"), i, item)
    {
        const char *other = json_string_value(json_object_get(item, "name"));
        if (other && strcmp(other, name) == 0) return item;
    }
    return NULL;
}

/* Files are in the folder itself. */
static bool read_tensor(const char *dir, const json_t *tensor, Npy *out, StrBuf *why)
{
    const char *file = json_string_value(json_object_get(tensor, "file"));
    StrBuf path = {0};
    if (!file || strchr(file, '/'))
        return strbuf_fail(why, "%s/index.json: a tensor has no file in the folder", dir);
    strbuf_printf(&path, "%s/%s", dir, file);
    bool ok = trace_read_npy(path.data, out, why);
    strbuf_free(&path);
    return ok;
}

static bool compare_tensor(Comparison *c, const char *const *dirs, const json_t *first,
                           const json_t *second)
{
    Npy a = {0}, b = {0};
    StrBuf why = {0};
    bool ok = read_tensor(dirs[0], first, &a, &why) && read_tensor(dirs[1], second, &b, &why);
    if (ok)
        compare_arrays(c, str_from(json_string_value(json_object_get(first, "name"))), &a, &b);
    else
        tool_error(c->tool, "error: %s", why.data);
    npy_free(&a);
    npy_free(&b);
    strbuf_free(&why);
    return ok;
}

/* In the order of the first trace, so that the first row is where they part. */
static bool compare_traces(Comparison *c, const char *const *dirs)
{
    json_t *first = load_index(c->tool, dirs[0]),
           *second = first ? load_index(c->tool, dirs[1]) : NULL, *item;
    bool ok = first && second;
    size_t i, found = 0;
    json_array_foreach(json_object_get(first, "tensors"), i, item)
    {
        const char *name = json_string_value(json_object_get(item, "name"));
        const json_t *other = name && second ? find_tensor(second, name) : NULL;
        c->alone += other == NULL;
        found += other != NULL;
        ok = ok && (!other || compare_tensor(c, dirs, item, other));
    }
    if (ok) c->alone += (int64_t)(json_array_size(json_object_get(second, "tensors")) - found);
    if (ok && found == 0)
        ok = tool_error(c->tool, "error: the traces have no tensor of the same name");
    json_decref(first);
    json_decref(second);
    return ok;
}

static bool compare_files(Comparison *c, const char *const *paths)
{
    Npy a = {0}, b = {0};
    StrBuf why = {0};
    bool ok = (trace_read_npy(paths[0], &a, &why) && trace_read_npy(paths[1], &b, &why)) ||
              tool_error(c->tool, "error: %s", why.data);
    if (ok) compare_arrays(c, str_from(paths[0]), &a, &b);
    npy_free(&a);
    npy_free(&b);
    strbuf_free(&why);
    return ok;
}

static bool compare(const Tool *tool, const char *const *paths, const char *tolerance)
{
    Comparison c;
    bool are_folders = is_folder(paths[0]);
    if (are_folders != is_folder(paths[1]))
        return tool_error(tool, "error: one of '%s' and '%s' is a folder, the other is not",
                          paths[0], paths[1]);
    if (!begin_comparison(&c, tool, tolerance)) return false;
    bool ok = are_folders ? compare_traces(&c, paths) : compare_files(&c, paths);
    if (ok) return end_comparison(&c, are_folders ? "tensors" : "arrays");
    text_table_free(&c.table);
    return false;
}

int command_compare(int argc, char **argv)
{
    const char *tolerance = NULL;
    const Flag flags[] = {TOLERANCE_FLAG(&tolerance)};
    const Tool tool = {
        .name = "ming compare",
        .summary = "ming compare: how two traces, or two arrays, differ; exit status 1 if they do",
        .usage = "DIR DIR | A.npy B.npy",
        .flags = flags,
        .flag_count = COUNT_OF(flags),
    };
    Texts inputs = {0};
    ArgsResult args = tool_parse_args(&tool, argc, argv, &inputs);
    bool ok = args == ARGS_DONE;
    if (args == ARGS_RUN && inputs.len != 2)
        tool_error(&tool, "error: two traces or two arrays are needed, not %zu; try '%s --help'",
                   inputs.len, tool.name);
    else if (args == ARGS_RUN)
        ok = compare(&tool, inputs.data, tolerance);
    vec_free(&inputs);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

bool tool_check_tolerance(const Tool *tool, const OutputChecks *checks)
{
    TraceTolerance tolerance;
    if (!checks->tolerance) return true;
    if (checks->expected.len == 0)
        return tool_error(tool, "error: --tolerance is of what --expected names; it is not given");
    return read_tolerance(tool, checks->tolerance, &tolerance);
}

static bool compare_outputs(Comparison *c, const PortFiles *results, PortFiles *expected)
{
    StrBuf why = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < results->count; i++) {
        PortFile *port = &expected->items[i];
        if (!port->path) continue;
        ok = trace_read_npy(port->path, &port->npy, &why) ||
             tool_error(c->tool, "error: %s", why.data);
        Str name = port->boundary.name.len > 0 ? port->boundary.name : str_from(port->path);
        if (ok) compare_arrays(c, name, &results->items[i].npy, &port->npy);
    }
    strbuf_free(&why);
    return ok;
}

static OutputVerdict check_expected(const Tool *tool, const PortFiles *results,
                                    const OutputChecks *checks)
{
    Comparison c;
    if (!begin_comparison(&c, tool, checks->tolerance)) return OUTPUTS_UNKNOWN;
    PortFiles expected = {
        .errors = tool_errors(tool), .what = "expected output", .count = results->count};
    expected.items = xcalloc(results->count, sizeof *expected.items);
    for (uint32_t i = 0; i < results->count; i++)
        expected.items[i].boundary = results->items[i].boundary;
    OutputVerdict verdict = OUTPUTS_UNKNOWN;
    if (driver_ports_assign(&expected, &checks->expected) &&
        compare_outputs(&c, results, &expected))
        verdict = end_comparison(&c, "outputs") ? OUTPUTS_RIGHT : OUTPUTS_WRONG;
    else
        text_table_free(&c.table);
    driver_ports_free(&expected);
    return verdict;
}

OutputVerdict tool_check_outputs(const Tool *tool, const PortFiles *results, int64_t frames,
                                 const OutputChecks *checks)
{
    Npy labels = {0};
    StrBuf out = {0}, why = {0};
    bool ok = true;
    if (checks->labels && results->count > 0)
        ok = (trace_read_npy(checks->labels, &labels, &why) &&
              trace_accuracy(&results->items[0].npy, frames, &labels, &out, &why)) ||
             tool_error(tool, "error: --labels: %s", why.data);
    if (ok && out.len > 0) fwrite(out.data, 1, out.len, stdout);
    OutputVerdict verdict = ok ? OUTPUTS_RIGHT : OUTPUTS_UNKNOWN;
    if (ok && checks->expected.len > 0) verdict = check_expected(tool, results, checks);
    npy_free(&labels);
    strbuf_free(&out);
    strbuf_free(&why);
    return verdict;
}
