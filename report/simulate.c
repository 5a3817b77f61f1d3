/* Some frames of the design, for the page: until the interval is known, and no more than fit a
 * picture. Values are not computed.
 * Tests: lit/tools/ming-report-html.mir */
#include "report/internal.h"

enum { LEAST_FRAMES = 3, MOST_FRAMES = 12 };

/* False: it stopped before. */
static bool run_frames(ReportModel *m)
{
    for (m->frames = 1; m->frames <= MOST_FRAMES; m->frames++) {
        if (!hls_sim_run(m->sim, m->frames)) return false;
        bool is_enough = m->frames >= LEAST_FRAMES && hls_sim_period(m->sim).frames > 0;
        if (is_enough || m->frames == MOST_FRAMES) return hls_sim_drain(m->sim);
    }
    return false;
}

void report_simulate(ReportModel *m)
{
    const HlsSimOptions options = {.max_events = m->options->max_events};
    const HlsDesign *design = m->options->design;
    StrBuf text = {0};
    m->sim = hls_sim_create(design, &options);
    if (run_frames(m)) {
        hls_sim_finish(m->sim);
        hls_sim_print_json(design, m->sim, &text);
        m->timing = json_loadb(text.data, text.len, 0, NULL);
    } else {
        m->no_sim = hls_sim_is_exhausted(m->sim)
                        ? "Its frames have more reads and writes than are simulated for a page; "
                          "<code>ming sim</code> takes longer."
                        : "Processes wait for each other for good; <code>ming sim</code> tells "
                          "which, and what depths would help.";
        hls_sim_free(m->sim);
        m->sim = NULL;
    }
    strbuf_free(&text);
}
