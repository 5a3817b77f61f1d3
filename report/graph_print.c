/* The graph on paper. A browser breaks no picture between pages: it begins a page for it, and cuts
 * boxes at the end of one. So a high graph is shown there in slices that end between boxes, which
 * use what the screen has.
 * Tests: lit/tools/ming-report-paper.mir, test/e2e/report_check.py */
#include <math.h>

#include "report/internal.h"

/* CSS pixels of A4 between its margins: the width, and a third of the height. */
enum { PAPER_WIDTH = 680, SLICE_HEIGHT = 320, CLEARANCE = 4 };

/* Where a slice of at most that height ends: above the boxes that do not end in it. */
static double slice_end(const Layout *l, double top, double most)
{
    double end = top + most, half = l->node_height / 2 + CLEARANCE;
    if (end >= l->height) return l->height;
    for (bool has_moved = true; has_moved;) {
        has_moved = false;
        for (uint32_t n = 0; n < l->node_count; n++)
            if (fabs(l->nodes[n].y - end) < half) {
                end = l->nodes[n].y - half;
                has_moved = true;
            }
    }
    return end > top ? end : top + most;
}

bool report_needs_slices(const Layout *layout, double width)
{
    return layout->height * fmin(1, PAPER_WIDTH / width) > SLICE_HEIGHT;
}

void report_add_slices(const Layout *layout, double width, const char *drawn, StrBuf *out)
{
    double most = SLICE_HEIGHT * fmax(1, width / PAPER_WIDTH);
    strbuf_add_c(out, "<div class=\"paper\" aria-hidden=\"true\">\n");
    for (double top = 0, end; top < layout->height; top = end) {
        end = slice_end(layout, top, most);
        strbuf_printf(out,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.1f\" "
                      "viewBox=\"0 %.1f %.0f %.1f\"><use href=\"#%s\"/></svg>\n",
                      width, end - top, top, width, end - top, drawn);
    }
    strbuf_add_c(out, "</div>\n");
}
