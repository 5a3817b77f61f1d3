/* The points of ming explore as a chart: shares of the budget over frames per second.
 * Tests: lit/tools/ming-explore.test */
#ifndef MING_TOOLS_EXPLORE_CHART_H
#define MING_TOOLS_EXPLORE_CHART_H

#include "target/dse/explore.h"

typedef struct ExploreChart {
    const ExplorePoints *points; /* at least one */
    const Cost *limits;
    int64_t clock; /* MHz */
    Str title;
} ExploreChart;

/* Frames per second of a point. */
double chart_fps(const ExplorePoint *point, int64_t clock);
/* An SVG document. */
void chart_print_explore(const ExploreChart *chart, StrBuf *out);

#endif
