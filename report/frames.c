/* Frames over time: a row per layer, in which a bar reaches from a frame's first read or write to
 * its last one. Frames take turns in the upper and the lower half of a row, because a layer may
 * begin with one before its last process is done with the one before.
 * Tests: lit/tools/ming-report-html.mir, test/e2e/report_check.py */
#include "report/internal.h"

enum {
    LEFT = 230,
    WIDTH = 940,
    ROW = 18,
    HALF = 8,
    TOP = 44,
    RIGHT = 20,
    LABEL_CHARACTERS = 32,
    COLOURS = 4,
    MOST_TICKS = 10
};

typedef struct Chart {
    const ReportModel *model;
    StrBuf *out;
    int64_t end;   /* cycles */
    int64_t clock; /* MHz */
    int bottom;
} Chart;

static double x_of(const Chart *c, int64_t cycle)
{
    return LEFT + (double)WIDTH * (double)cycle / (double)i64_max(c->end, 1);
}

static const HlsFrame *frame_of(const ReportModel *m, const ReportProcess *p, int64_t frame)
{
    const HlsFrames *frames =
        p->simulated == HLS_NOBODY ? NULL : hls_sim_frames(m->sim, p->simulated);
    return frames && (size_t)frame < frames->len ? &frames->data[frame] : NULL;
}

/* When a layer works on a frame; false: it does not. */
static bool layer_bounds(const ReportModel *m, const ReportLayer *layer, int64_t frame,
                         int64_t *begin, int64_t *end)
{
    *begin = INT64_MAX;
    *end = 0;
    for (size_t i = 0; i < layer->processes.len; i++) {
        const HlsFrame *f = frame_of(m, &m->processes.data[layer->processes.data[i]], frame);
        if (!f || f->end <= f->begin) continue;
        *begin = f->begin < *begin ? f->begin : *begin;
        *end = i64_max(*end, f->end);
    }
    return *begin < *end;
}

/* "frame 2 of Conv_1: cycles 5 to 99; its slowest process, conv_1: busy 40, …" */
static void add_title(const Chart *c, const ReportLayer *layer, int64_t frame, int64_t begin,
                      int64_t end)
{
    static const char *const states[] = {"busy", "waiting for input", "waiting for output", "idle"};
    const ReportProcess *slowest = &c->model->processes.data[layer->slowest];
    const HlsFrame *f = frame_of(c->model, slowest, frame);
    strbuf_printf(c->out, "<title>frame %lld of ", (long long)frame + 1);
    html_add_text(c->out, layer->name);
    strbuf_printf(c->out, ": cycles %lld to %lld; its slowest process, ", (long long)begin,
                  (long long)end);
    html_add_text(c->out, slowest->name);
    for (int s = 0; f && s < HLS_STATE_COUNT; s++)
        strbuf_printf(c->out, "%s %lld cycles %s", s > 0 ? "," : ":", (long long)f->cycles[s],
                      states[s]);
    strbuf_add_c(c->out, "</title>");
}

static void add_row(const Chart *c, size_t number)
{
    const ReportModel *m = c->model;
    const ReportLayer *layer = &m->layers.data[number];
    int y = TOP + (int)number * ROW;
    strbuf_printf(c->out, "<a href=\"#layer-%zu\"><text class=\"r\" x=\"%d\" y=\"%d\">", number,
                  LEFT - 8, y + 12);
    html_add_short(c->out, layer->name, LABEL_CHARACTERS);
    strbuf_add_c(c->out, "</text></a>\n");
    for (int64_t frame = 0; frame < m->frames; frame++) {
        int64_t begin, end;
        if (!layer_bounds(m, layer, frame, &begin, &end)) continue;
        strbuf_printf(c->out,
                      "<rect class=\"f%d\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\">",
                      (int)(frame % COLOURS), x_of(c, begin), y + 1 + (int)(frame % 2) * HALF,
                      x_of(c, end) - x_of(c, begin), HALF - 1);
        add_title(c, layer, frame, begin, end);
        strbuf_add_c(c->out, "</rect>\n");
    }
}

static void add_axis(const Chart *c)
{
    int64_t step = svg_tick_step(c->end, MOST_TICKS);
    strbuf_printf(c->out,
                  "<text class=\"d r\" x=\"%d\" y=\"16\">cycle</text><text class=\"d r\" x=\"%d\" "
                  "y=\"30\">time</text>\n",
                  LEFT - 30, LEFT - 30);
    for (int64_t cycle = 0; cycle <= c->end; cycle += step) {
        double x = x_of(c, cycle);
        strbuf_printf(c->out,
                      "<path class=\"grid\" d=\"M%.1f 34V%d\"/><text class=\"d h\" "
                      "x=\"%.1f\" y=\"16\">",
                      x, c->bottom, x);
        html_add_count(c->out, cycle);
        strbuf_printf(c->out, "</text><text class=\"d h\" x=\"%.1f\" y=\"30\">", x);
        html_add_time(c->out, (double)cycle, c->clock);
        strbuf_add_c(c->out, "</text>\n");
    }
}

static int64_t find_end(const ReportModel *m)
{
    int64_t most = 1, begin, end;
    for (size_t i = 0; i < m->layers.len; i++)
        for (int64_t frame = 0; frame < m->frames; frame++)
            if (layer_bounds(m, &m->layers.data[i], frame, &begin, &end)) most = i64_max(most, end);
    return most;
}

static void add_svg(const Chart *c)
{
    strbuf_printf(c->out,
                  "<div class=\"scroll\"><svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                  "height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"frames over "
                  "time\">\n",
                  LEFT + WIDTH + RIGHT, c->bottom + 8, LEFT + WIDTH + RIGHT, c->bottom + 8);
    add_axis(c);
    for (size_t i = 0; i < c->model->layers.len; i++) add_row(c, i);
    strbuf_add_c(c->out, "</svg></div>\n");
}

static void add_keys(const Chart *c)
{
    strbuf_add_c(c->out, "<ul class=\"keys\">");
    for (int64_t i = 0; i < COLOURS && i < c->model->frames; i++) {
        strbuf_printf(c->out,
                      "<li><svg><rect width=\"12\" height=\"12\" class=\"f%lld\"/></svg>frame",
                      (long long)i);
        for (int64_t frame = i; frame < c->model->frames; frame += COLOURS)
            strbuf_printf(c->out, "%s%lld", frame > i ? ", " : " ", (long long)frame + 1);
        strbuf_add_c(c->out, "</li>");
    }
    strbuf_add_c(c->out, "</ul>\n");
}

static void add_sentence(const ReportModel *m, StrBuf *out)
{
    strbuf_printf(out, "<p>The first %lld frames, simulated to the cycle: the first one takes ",
                  (long long)m->frames);
    html_add_count(out, report_number(m->timing, "latency_cycles"));
    strbuf_add_c(out, " cycles, and the last two end ");
    html_add_count(out, report_number(m->timing, "last_interval_cycles"));
    strbuf_add_c(out, json_is_true(json_object_get(m->timing, "periodic"))
                          ? " cycles apart, as all later ones do. "
                          : " cycles apart. ");
    strbuf_add_c(out, "The process that works longest is ");
    html_add_name(out, report_text(m->timing, "bottleneck"));
    strbuf_add_c(out, ". A bar reaches from a layer's first read or write of a frame to its last; "
                      "waiting is part of it.</p>\n");
}

void report_add_frames(const ReportModel *model, StrBuf *out)
{
    html_begin_section(out, "frames", "Frames over time");
    if (!model->sim) {
        strbuf_printf(out, "<p class=\"warn\">The design was not simulated. %s</p>\n",
                      model->no_sim);
    } else {
        const Chart chart = {.model = model,
                             .out = out,
                             .end = find_end(model),
                             .clock = report_number(model->json, "clock_mhz"),
                             .bottom = TOP + (int)model->layers.len * ROW};
        add_sentence(model, out);
        add_keys(&chart);
        add_svg(&chart);
    }
    html_end_section(out);
}
