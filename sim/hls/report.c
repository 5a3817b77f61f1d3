/* Reports of a simulation. The figures of a process are those of its last frame, which in the
 * periodic state stands for all later ones; the figures of a FIFO are those of the whole run.
 * Tests: lit/tools/ming-sim.mir */
#include "dialects/sys/sys.h"
#include "ir/core/core.h"
#include "ir/support/support.h"
#include "sim/hls/internal.h"

static const HlsFrame *last_frame(const HlsSim *sim, uint32_t process)
{
    const HlsFrames *frames = hls_sim_frames(sim, process);
    return &frames->data[frames->len - 1];
}

/* First word of a frame in, last word of it out; of a design without streams at its boundary, the
 * first and the last cycle of its processes. */
static void frame_bounds(const HlsDesign *design, const HlsSim *sim, size_t frame, int64_t *begin,
                         int64_t *end)
{
    bool has_sources = false, has_sinks = false;
    for (size_t i = 0; i < design->processes.len; i++) {
        const HlsProcess *p = &design->processes.data[i];
        has_sources |= !p->func && p->is_source && !p->is_once;
        has_sinks |= !p->func && !p->is_source;
    }
    *begin = INT64_MAX;
    *end = 0;
    for (uint32_t i = 0; i < design->processes.len; i++) {
        const HlsProcess *p = &design->processes.data[i];
        const HlsFrame *f = &hls_sim_frames(sim, i)->data[frame];
        bool enters = has_sources ? !p->func && p->is_source : p->func != NULL;
        bool leaves = has_sinks ? !p->func && !p->is_source : p->func != NULL;
        int64_t start = has_sources ? f->begin : frame > 0 ? f[-1].end : design->hold;
        if (enters && !p->is_once && start < *begin) *begin = start;
        if (leaves && !p->is_once && f->end > *end) *end = f->end;
    }
    *begin = *begin == INT64_MAX ? 0 : *begin;
}

/* 0 where the last word out waits for nothing that comes in. */
static int64_t frame_latency(const HlsDesign *design, const HlsSim *sim, size_t frame)
{
    int64_t begin, end;
    frame_bounds(design, sim, frame, &begin, &end);
    return end > begin ? end - begin : 0;
}

int64_t hls_sim_frame_done(const HlsDesign *design, const HlsSim *sim, size_t frame)
{
    int64_t done = 0;
    for (uint32_t i = 0; i < design->processes.len; i++) {
        int64_t end = hls_sim_frames(sim, i)->data[frame].end;
        done = !design->processes.data[i].is_once && end > done ? end : done;
    }
    return done;
}

/* In hundredths of cycles: of the later half of many frames, the last one of few, which still fill
 * the FIFOs. */
static int64_t mean_of_unknown(const HlsDesign *design, const HlsSim *sim, HlsTimingResult *r)
{
    enum { MANY_FRAMES = 16 };
    if (r->frames < MANY_FRAMES) return r->interval * 100;
    r->mean_frames = r->frames / 2;
    int64_t begin = hls_sim_frame_done(design, sim, (size_t)(r->frames - r->mean_frames - 1));
    return ((r->cycles - begin) * 100 + r->mean_frames / 2) / r->mean_frames;
}

HlsTimingResult hls_sim_timing_result(const HlsDesign *design, const HlsSim *sim)
{
    HlsTimingResult r = {.frames = (int64_t)hls_sim_frames(sim, 0)->len};
    size_t last = (size_t)r.frames - 1;
    r.latency = frame_latency(design, sim, 0);
    r.last_latency = frame_latency(design, sim, last);
    r.cycles = hls_sim_frame_done(design, sim, last);
    if (r.frames > 1) r.interval = r.cycles - hls_sim_frame_done(design, sim, last - 1);
    r.period = hls_sim_period(sim);
    r.known = hls_sim_known_interval(sim);
    if (r.period.frames > 0)
        r.mean_interval = (r.period.cycles * 100 + r.period.frames / 2) / r.period.frames;
    else
        r.mean_interval = r.known > 0 ? r.known * 100 : mean_of_unknown(design, sim, &r);
    for (uint32_t i = 1; i < design->processes.len; i++)
        if (last_frame(sim, i)->cycles[HLS_BUSY] > last_frame(sim, r.bottleneck)->cycles[HLS_BUSY])
            r.bottleneck = i;
    return r;
}

/* Hundredths of words, on the average of all cycles. */
static int64_t mean_level(const HlsFifo *fifo, int64_t cycles)
{
    return cycles > 0 ? (fifo->word_cycles * 100 + cycles / 2) / cycles : 0;
}

static void add_hundredths(StrBuf *out, int64_t value)
{
    strbuf_printf(out, "%lld.%02lld", (long long)(value / 100), (long long)(value % 100));
}

static void add_titles(TextTable *table, const char *const *titles, size_t count)
{
    for (size_t i = 0; i < count; i++) text_table_add(table, titles[i]);
}

/* "2", or "3 (ports of 'lines')" when that is more than was asked for; the slowest loop's. */
static void add_ii(StrBuf *out, const HlsProcess *process)
{
    const HlsLoop *slowest = NULL;
    for (size_t i = 0; i < process->loops.len; i++)
        if (!slowest || process->loops.data[i].ii > slowest->ii) slowest = &process->loops.data[i];
    if (!slowest) return;
    strbuf_add_int(out, slowest->ii);
    if (slowest->ii_reason) strbuf_printf(out, " (%s)", slowest->ii_reason);
}

static void print_table(TextTable *table, bool is_wide, StrBuf *out)
{
    enum { LEAST_NAME = 24, LEAST_II = 8, MOST = TEXT_TABLE_WIDTH };
    if (!is_wide) {
        text_table_narrow(table, 0, LEAST_NAME, MOST);
        text_table_narrow(table, 1, LEAST_II, MOST);
        text_table_narrow(table, 0, LEAST_II, MOST);
    }
    text_table_print(table, out);
    text_table_free(table);
}

static void print_processes(const HlsDesign *design, const HlsSim *sim, bool is_wide, StrBuf *out)
{
    static const char *const titles[] = {"process", "II",     "cycles", "busy",
                                         "input",   "output", "idle"};
    TextTable table = {.columns = COUNT_OF(titles), .first_number = 1};
    add_titles(&table, titles, COUNT_OF(titles));
    for (uint32_t i = 0; i < design->processes.len; i++) {
        const HlsProcess *p = &design->processes.data[i];
        StrBuf *name = text_table_cell(&table);
        strbuf_add_str(name, p->name);
        strbuf_add_c(name, p->func ? "" : p->is_source ? " (input)" : " (output)");
        add_ii(text_table_cell(&table), p);
        text_table_add_int(&table, p->cycles);
        for (int s = 0; s < HLS_STATE_COUNT; s++)
            text_table_add_int(&table, last_frame(sim, i)->cycles[s]);
    }
    print_table(&table, is_wide, out);
}

static void print_fifos(const HlsDesign *design, const HlsSim *sim, int64_t cycles, bool is_wide,
                        StrBuf *out)
{
    static const char *const titles[] = {"FIFO", "width", "depth", "max", "mean", "full", "empty"};
    TextTable table = {.columns = COUNT_OF(titles), .first_number = 1};
    if (design->streams.len == design->port_count) return;
    add_titles(&table, titles, COUNT_OF(titles));
    for (uint32_t i = design->port_count; i < design->streams.len; i++) {
        const HlsFifo *f = hls_sim_fifo(sim, i);
        int64_t mean = mean_level(f, cycles);
        strbuf_add_str(text_table_cell(&table), design->streams.data[i].name);
        text_table_add_int(&table, design_word_bits(&design->streams.data[i]));
        text_table_add_int(&table, f->depth);
        text_table_add_int(&table, f->max_level);
        add_hundredths(text_table_cell(&table), mean);
        text_table_add_int(&table, f->full_cycles);
        text_table_add_int(&table, f->empty_cycles);
    }
    print_table(&table, is_wide, out);
}

static void add_interval(StrBuf *out, const HlsTimingResult *r)
{
    strbuf_add_c(out, "interval between frames: ");
    if (r->period.frames > 1) {
        add_hundredths(out, r->mean_interval);
        strbuf_printf(out, " cycles (periodic: %lld frames take %lld, and all later ones)\n",
                      (long long)r->period.frames, (long long)r->period.cycles);
        return;
    }
    if (r->mean_frames > 0) {
        add_hundredths(out, r->mean_interval);
        strbuf_printf(out, " cycles (mean of the last %lld; no period found)\n",
                      (long long)r->mean_frames);
        return;
    }
    strbuf_printf(out, "%lld cycles%s\n", (long long)(r->mean_interval / 100),
                  r->period.frames ? " (periodic: all later frames repeat it)"
                  : r->known > 0   ? " (proven: FIFOs keep it while they fill, and later)"
                                   : "");
}

/* Of a tile, each of which has so many frames. */
static int64_t instances_of(const HlsDesign *design)
{
    return sys_tile_size(op_parent(design->top));
}

void hls_sim_print_table(const HlsDesign *design, const HlsSim *sim, bool is_wide, StrBuf *out)
{
    HlsTimingResult r = hls_sim_timing_result(design, sim);
    const HlsProcess *slowest = &design->processes.data[r.bottleneck];
    print_processes(design, sim, is_wide, out);
    strbuf_add_char(out, '\n');
    print_fifos(design, sim, r.cycles, is_wide, out);
    strbuf_printf(out, "\n%lld frame%s", (long long)r.frames, r.frames == 1 ? "" : "s");
    if (instances_of(design) > 1)
        strbuf_printf(out, " in each of %lld instances", (long long)instances_of(design));
    strbuf_printf(out, ", %lld cycles\n", (long long)r.cycles);
    strbuf_printf(out, "latency of the first frame: %lld cycles\n", (long long)r.latency);
    if (r.frames > 1) {
        strbuf_printf(out, "latency of the last frame: %lld cycles\n", (long long)r.last_latency);
        add_interval(out, &r);
    }
    strbuf_printf(out, "bottleneck: %.*s, %lld cycles a frame\n", STR_ARG(slowest->name),
                  (long long)last_frame(sim, r.bottleneck)->cycles[HLS_BUSY]);
}

static void add_mean(JsonWriter *w, const char *key, int64_t hundredths)
{
    json_write_key(w, str_from(key));
    json_write_number(w, "%lld.%02lld", (long long)(hundredths / 100),
                      (long long)(hundredths % 100));
}

static void add_loops(JsonWriter *w, const HlsProcess *p)
{
    json_write_line(w, 5);
    json_member_array(w, "loops");
    for (size_t i = 0; i < p->loops.len; i++) {
        const HlsLoop *loop = &p->loops.data[i];
        const Attr *name = loop->op ? op_attr(loop->op, "name") : NULL;
        json_begin_object(w);
        json_member_string(w, "name", name ? name->u.string : STR(""));
        json_member_int(w, "trips", loop->trips);
        json_member_int(w, "executions", loop->executions);
        json_member_int(w, "ii", loop->ii);
        json_member_int(w, "depth", loop->depth);
        json_member_bool(w, "once", loop->is_once);
        if (loop->ii_reason) json_member_string(w, "ii_reason", str_from(loop->ii_reason));
        json_end_object(w);
    }
    json_end_array(w);
}

static void add_process(JsonWriter *w, const HlsProcess *p, const HlsFrame *frame)
{
    static const char *const states[] = {"busy", "stalled_input", "stalled_output", "idle"};
    json_write_line(w, 4);
    json_begin_object(w);
    json_member_string(w, "name", p->name);
    json_member_string(w, "kind",
                       p->func        ? STR("process")
                       : p->is_source ? STR("input")
                                      : STR("output"));
    json_member_bool(w, "once", p->is_once);
    json_member_int(w, "cycles", p->cycles);
    for (int s = 0; s < HLS_STATE_COUNT; s++) json_member_int(w, states[s], frame->cycles[s]);
    if (p->func) add_loops(w, p);
    json_end_object(w);
}

static void add_fifo(JsonWriter *w, const HlsStream *stream, const HlsFifo *f, int64_t cycles)
{
    json_write_line(w, 4);
    json_begin_object(w);
    json_member_string(w, "name", stream->name);
    json_member_int(w, "width", design_word_bits(stream));
    json_member_int(w, "depth", f->depth);
    json_member_int(w, "max", f->max_level);
    add_mean(w, "mean", mean_level(f, cycles));
    json_member_int(w, "full", f->full_cycles);
    json_member_int(w, "empty", f->empty_cycles);
    json_end_object(w);
}

/* The mean of the periodic state, whole where it is; the last one; frames that the state takes to
 * recur, if more than one. */
static void add_intervals(JsonWriter *w, const HlsTimingResult *r)
{
    if (r->frames == 1) {
        json_write_key(w, STR("interval_cycles"));
        json_write_null(w);
        return;
    }
    if (r->mean_interval % 100 == 0)
        json_member_int(w, "interval_cycles", r->mean_interval / 100);
    else
        add_mean(w, "interval_cycles", r->mean_interval);
    json_member_int(w, "last_interval_cycles", r->interval);
    if (r->period.frames > 1) json_member_int(w, "period_frames", r->period.frames);
}

static void add_summary(JsonWriter *w, const HlsDesign *design, const HlsTimingResult *r)
{
    json_write_line(w, 2);
    json_member_string(w, "top", symbol_name(design->top)->str);
    json_member_string(w, "pipelines", design_flushes(design) ? STR("flushing") : STR("stalled"));
    json_member_int(w, "frames", r->frames);
    if (instances_of(design) > 1) json_member_int(w, "instances", instances_of(design));
    json_member_int(w, "cycles", r->cycles);
    json_member_int(w, "latency_cycles", r->latency);
    json_member_int(w, "last_latency_cycles", r->last_latency);
    add_intervals(w, r);
    json_member_bool(w, "periodic", r->period.frames != 0);
    json_member_string(w, "bottleneck", design->processes.data[r->bottleneck].name);
    json_member_bool(w, "proven", r->period.frames != 0 || r->known > 0);
}

void hls_sim_print_json(const HlsDesign *design, const HlsSim *sim, StrBuf *out)
{
    HlsTimingResult r = hls_sim_timing_result(design, sim);
    JsonWriter w = {.out = out};
    json_begin_object(&w);
    add_summary(&w, design, &r);
    json_write_line(&w, 2);
    json_member_array(&w, "processes");
    for (uint32_t i = 0; i < design->processes.len; i++)
        add_process(&w, &design->processes.data[i], last_frame(sim, i));
    json_write_line(&w, 2);
    json_end_array(&w);
    json_write_line(&w, 2);
    json_member_array(&w, "fifos");
    for (uint32_t i = 0; i < design->streams.len; i++)
        add_fifo(&w, &design->streams.data[i], hls_sim_fifo(sim, i), r.cycles);
    json_write_line(&w, 2);
    json_end_array(&w);
    json_write_line(&w, 0);
    json_end_object(&w);
    strbuf_add_char(out, '\n');
}
