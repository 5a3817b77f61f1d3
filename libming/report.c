/* What is told of a design: its report.json, and the page of `ming report`.
 * Tests: test/e2e/libming_check.py, test/libming */
#include <jansson.h>
#include <stdlib.h>

#include "libming/internal.h"

/* False: told. */
static bool is_design(const ming_module *module)
{
    return module->report ||
           lib_error(module->owner,
                     "the module is no design: neither compiled nor read from a project");
}

char *ming_report(const ming_module *design)
{
    if (!design) return NULL;
    lib_enter(design->owner);
    char *report = is_design(design) ? lib_text(str_from(design->report)) : NULL;
    lib_leave(design->owner);
    return report;
}

/* The report as a value, to be released; NULL: told. */
static json_t *parse_report(const ming_module *design)
{
    json_error_t error;
    json_t *json = json_loads(design->report, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        lib_error(design->owner, "report.json:%d:%d: %s", error.line, error.column, error.text);
    else if (!json_is_array(json_object_get(json, "processes")))
        lib_error(design->owner, "report.json has no array 'processes'");
    else
        return json;
    json_decref(json);
    return NULL;
}

static bool print_page(const ming_module *design, const ming_options *options, StrBuf *out)
{
    StrBuf why = {0};
    json_t *json = parse_report(design);
    const ReportOptions settings = {
        .json = json,
        .folding = design->folding ? str_from(design->folding) : STR(""),
        .layout = report_layout(options ? options->layout : NULL),
        .max_events = REPORT_MAX_EVENTS,
    };
    bool ok = json && report_print_module(design->op, settings, out, &why);
    if (why.len > 0) lib_error(design->owner, "%s", why.data);
    strbuf_free(&why);
    json_decref(json);
    return ok;
}

static bool write_page(ming_context *owner, const char *path, const StrBuf *page)
{
    const char *reason = NULL;
    return !path || file_write(path, strbuf_str(page), &reason) ||
           lib_error(owner, "cannot write '%s': %s", path, reason);
}

char *ming_report_page(const ming_module *design, const ming_options *options, const char *path)
{
    if (!design) return NULL;
    ming_context *owner = design->owner;
    StrBuf page = {0};
    lib_enter(owner);
    bool ok = is_design(design) && lib_check_command(owner, options, COMMAND_REPORT) &&
              print_page(design, options, &page) && write_page(owner, path, &page);
    char *text = ok ? lib_text(strbuf_str(&page)) : NULL;
    lib_leave(owner);
    strbuf_free(&page);
    return text;
}
