/* The report of a compiled design as a page: one HTML file that needs nothing else, no network and no
 * script. All that is drawn comes from report.json, folding.json and a simulation of the design.
 *
 *   report.json ─▶ model.c ─┐
 *   design ─▶ simulate.c ───┴▶ layout.c | dot.c ─▶ graph.c, frames.c, tables.c … ─▶ page.c
 *
 * Every name is escaped where it is printed (html.c); a policy in the page forbids scripts and loads.
 * The tools build on it. docs/report.md.
 * Tests: lit/tools/ming-report-html.mir, test/e2e/report_check.py */
#ifndef MING_REPORT_REPORT_H
#define MING_REPORT_REPORT_H

#include <jansson.h>

#include "ir/support/support.h"
#include "sim/design/design.h"
#include "target/device/device.h"

/* What places the layers of the graph. */
typedef enum ReportLayout {
    REPORT_LAYOUT_AUTO, /* Graphviz where there is one */
    REPORT_LAYOUT_DOT,  /* Graphviz, or the page is not made */
    REPORT_LAYOUT_OWN
} ReportLayout;

typedef struct ReportOptions {
    const json_t *json;      /* report.json, an object with an array `processes` */
    Str folding;             /* the text of folding.json; empty: there is none */
    const HlsDesign *design; /* the design of the same project */
    const Device *device;    /* that report.json names; NULL: it is not known */
    ReportLayout layout;
    int64_t max_events; /* reads and writes that are simulated at most */
} ReportOptions;
enum { REPORT_MAX_EVENTS = 1 << 29 };

/* Appends the page. False: appended to *why, and the page is not complete. */
bool report_print_html(const ReportOptions *options, StrBuf *out, StrBuf *why) MUST_CHECK;

/* The same for the module of a design: of the options, the design and the device are found. False:
 * diagnosed, or appended to *why. */
bool report_print_module(const Op *module, ReportOptions options, StrBuf *out, StrBuf *why)
    MUST_CHECK;

/* The same for the project in a directory, whose report.json is read already: of the options, the
 * folding file, the design and the device are found. The context knows all dialects. False: diagnosed,
 * or appended to *why. */
bool report_print_project(Context *ctx, const char *dir, ReportOptions options, StrBuf *out,
                          StrBuf *why) MUST_CHECK;

/* By the name that --layout takes; NULL: REPORT_LAYOUT_AUTO. */
ReportLayout report_layout(const char *name);
#define REPORT_LAYOUTS "auto|dot|own"

/* Resources in the order in which they are printed. */
typedef enum ReportResource {
    REPORT_DSP,
    REPORT_BRAM18,
    REPORT_URAM,
    REPORT_LUT,
    REPORT_FF,
    REPORT_RESOURCES
} ReportResource;

/* Titles, and keys of report.json. */
typedef struct ReportResourceName {
    const char *title, *key, *limit_key;
} ReportResourceName;
extern const ReportResourceName report_resources[REPORT_RESOURCES];

/* A design of a sweep. -1 stands for what is not known. */
typedef struct ReportSweepRow {
    Str model, device, objective, limits, folder; /* folder: plain, of the design's job */
    Str state, message;                           /* "done", "failed", "missing"; what failed */
    int64_t clock, interval;                      /* MHz; cycles */
    double fps, first_ms;
    int64_t cost[REPORT_RESOURCES], limit[REPORT_RESOURCES];
    bool is_optimal;
    unsigned fronts; /* bit k: on the Pareto front of frames a second and resource k */
} ReportSweepRow;
typedef VEC(ReportSweepRow) ReportSweepRows;

/* Finds the fronts, each among the designs of one model. */
void report_sweep_fronts(ReportSweepRows *rows);
/* Appends the page of a sweep, whose rows of one model follow each other. */
void report_print_sweep(const ReportSweepRows *rows, Str title, StrBuf *out);

#endif
