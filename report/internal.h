/* Between the sources of report/. */
#ifndef MING_REPORT_INTERNAL_H
#define MING_REPORT_INTERNAL_H

#include "driver/roofline/roofline.h"
#include "report/report.h"
#include "sim/hls/hls.h"

/* -1 stands for what is not known, in all figures below. */
typedef struct ReportProcess {
    Str name, kind; /* of report.json, which they live in */
    const json_t *json;
    uint32_t layer;
    int64_t cycles;
    int64_t cost[REPORT_RESOURCES]; /* with the FIFOs that it writes */
    uint32_t simulated;             /* process of the design, or HLS_NOBODY */
} ReportProcess;

/* The processes of one source, in order. */
typedef struct ReportLayer {
    Str name;
    VEC(uint32_t) processes;
    uint32_t slowest; /* process */
    int64_t cost[REPORT_RESOURCES];
} ReportLayer;

typedef struct ReportFifo {
    Str name, kind;
    int64_t width, depth;
    int64_t most; /* words that were in it at once */
    int64_t cost[REPORT_RESOURCES];
    uint32_t writer, reader; /* nodes of the graph: layers, then ports */
    bool is_inside;          /* of a layer */
} ReportFifo;

/* A port of the design: a node behind the layers. */
typedef struct ReportPort {
    Str name;
    bool is_input;
} ReportPort;

/* A line of the graph: all FIFOs from one node to another, or what a port in memory moves. */
typedef struct ReportEdge {
    uint32_t from, to;
    uint32_t fifos;       /* how many; 0: a port */
    int64_t width, depth; /* of the widest; of the fullest */
    int64_t most;
} ReportEdge;

typedef struct ReportModel {
    const ReportOptions *options;
    const json_t *json;
    VEC(ReportProcess) processes;
    VEC(ReportLayer) layers;
    VEC(ReportFifo) fifos;
    VEC(ReportPort) ports;
    VEC(ReportEdge) edges;
    uint32_t *layer_of; /* node of each process of the design; HLS_NOBODY */
    int64_t slowest;    /* cycles of the slowest process */
    int64_t total[REPORT_RESOURCES];
    HlsSim *sim;        /* NULL: the simulation did not get to the end of a frame */
    int64_t frames;     /* that were simulated */
    json_t *timing;     /* what `ming sim --json` prints of it; NULL as above */
    const char *no_sim; /* why there is none */
} ReportModel;

/* Reads report.json and finds its processes and FIFOs in the design. False: appended to *why. */
bool report_model_init(ReportModel *model, const ReportOptions *options, StrBuf *why) MUST_CHECK;
void report_model_free(ReportModel *model);
/* Simulates some frames. */
void report_simulate(ReportModel *model);
/* Finds the lines of the graph, with the levels of FIFOs if there is a simulation. */
void report_find_edges(ReportModel *model);

int64_t report_number(const json_t *object, const char *key); /* -1: none */
Str report_text(const json_t *object, const char *key);       /* empty: none */
uint32_t report_node_count(const ReportModel *model);
Str report_node_name(const ReportModel *model, uint32_t node);

/* Text for HTML and SVG. */

/* Appends a text that cannot be taken for markup, and in which characters that turn the direction
 * of writing are spelled out. */
void html_add_text(StrBuf *out, Str text);
/* The same of at most so many characters; the middle of longer ones is left out. */
void html_add_short(StrBuf *out, Str text, size_t most);
/* A name, apart from the direction of the text around it. */
void html_add_name(StrBuf *out, Str name);
/* A number with commas, or a dash for one that is not known. */
void html_add_count(StrBuf *out, int64_t value);
/* A number that is not negative, to three digits or more. */
void html_add_real(StrBuf *out, double value);
/* <th> or <td> with a count to the right. */
void html_add_cell(StrBuf *out, int64_t value);
/* "12.3 %" of a whole; nothing if that is not known. */
void html_add_percent(StrBuf *out, int64_t part, int64_t whole);
/* Cycles as ns, µs, ms or s. */
void html_add_time(StrBuf *out, double cycles, int64_t clock_mhz);
/* Opens and closes a section of the page, which its contents name. */
void html_begin_section(StrBuf *out, const char *id, const char *title);
void html_end_section(StrBuf *out);

extern const char html_style[], html_paper_style[];
/* From <!DOCTYPE> to <body>. */
void html_begin_page(StrBuf *out, Str title, const char *kind);

/* Places of nodes and lines, in pixels. */

typedef struct LayoutPoint {
    double x, y;
} LayoutPoint;
typedef VEC(LayoutPoint) LayoutPoints;

/* Cubic Bézier curves: a start, then three points each. */
typedef struct LayoutCurve {
    LayoutPoints points;
} LayoutCurve;

typedef struct Layout {
    uint32_t node_count, edge_count;
    const ReportEdge *edges;
    double node_width, node_height;
    LayoutPoint *nodes; /* centres */
    LayoutCurve *curves;
    double width, height;
} Layout;

enum { NODE_WIDTH = 232, NODE_HEIGHT = 46 };

/* Fills places and size of a graph whose nodes and edges are given. */
void report_layout_place(Layout *layout);
/* The same by Graphviz. False: there is none, or it gave nothing that can be used. */
bool report_layout_by_dot(Layout *layout);
void report_layout_free(Layout *layout);
/* The graph on paper (graph_print.c). width: of its picture, in CSS pixels; drawn: the id of what it
 * shows. */
bool report_needs_slices(const Layout *layout, double width);
void report_add_slices(const Layout *layout, double width, const char *drawn, StrBuf *out);

/* The roofline of a design: rates are 10^9 operations a second. */

/* A layer that multiplies. */
typedef struct ReportPoint {
    uint32_t layer;
    Precision precision; /* of most of its products */
    double ceiling;      /* of that precision */
    int64_t macs, most_macs;
    int64_t cycles;         /* of its slowest process that multiplies */
    double bytes;           /* a frame: what the layer reads and writes, and its weights */
    double gops, busy_gops; /* over the design's interval; while it works */
} ReportPoint;

typedef struct ReportRoofline {
    Roofline roof; /* its memory's figures are those of the ports */
    VEC(ReportPoint) points;
    double port_gbytes; /* GB/s, a word of each port in every cycle */
    double gops;        /* that the design reaches */
} ReportRoofline;

/* The chart of it. */
void report_add_roofline_chart(const ReportModel *model, const ReportRoofline *r, StrBuf *out);

/* Sections of the page. */
bool report_add_graph(const ReportModel *model, StrBuf *out, StrBuf *why) MUST_CHECK;
void report_add_frames(const ReportModel *model, StrBuf *out);
void report_add_layers(const ReportModel *model, StrBuf *out);
void report_add_fifos(const ReportModel *model, StrBuf *out);
void report_add_roofline(const ReportModel *model, StrBuf *out);
void report_add_resources(const ReportModel *model, StrBuf *out);
void report_add_precision(const ReportModel *model, StrBuf *out);
void report_add_search(const ReportModel *model, StrBuf *out);

#endif
