/* What a design reaches on its device, in the units that people compare: frames a second,
 * milliseconds, and shares of the device.
 * Tests: lit/driver/ming-compile.mir, test/unit/driver/compile_test.c */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "driver/internal.h"
#include "target/cost/cost.h"

static const char share_title[] = "Share of the device:";

static int64_t report_number(const Op *process, const char *name)
{
    int64_t value = attr_dict_int(op_attr(process, DFG_ATTR_REPORT), name, 0);
    return value > 0 ? value : 0;
}

typedef struct Figures {
    int64_t sum, most;
} Figures;

/* A number of all processes: its sum, and the largest one. Cycles are those of one instance. */
static Figures figures(const Op *design, const char *name)
{
    Figures out = {0};
    const bool is_of_frame = strcmp(name, DFG_COST_CYCLES) == 0;
    FOR_EACH_OP(op, region_entry(op_region(design, 0))) {
        if (op->def != EMITHLS(FUNC) || op_attr(op, EMITHLS_ATTR_TOP)) continue;
        if (is_of_frame && op_attr(op, SYS_ATTR_INSTANCE)) continue;
        int64_t value = report_number(op, name);
        out.sum += value;
        if (value > out.most) out.most = value;
    }
    return out;
}

int64_t driver_use(const Op *design, CostKind kind)
{
    return figures(design, cost_names[kind].key).sum;
}

int64_t driver_luts(const Op *design)
{
    return driver_use(design, COST_LUT);
}

/* To the nanosecond where it matters. */
static void add_milliseconds(StrBuf *out, int64_t cycles, int64_t clock)
{
    double ms = (double)cycles / ((double)clock * 1000);
    strbuf_printf(out, ms < 1 ? "%.6f ms" : "%.3f ms", ms);
}

bool driver_design_times(const Op *design, int64_t *interval, int64_t *latency)
{
    const Op *top = emithls_top(design);
    const Attr *timing = top ? op_attr(top, EMITHLS_ATTR_TIMING) : NULL;
    const Figures cycles = figures(design, DFG_COST_CYCLES);
    int64_t simulated = attr_dict_int(timing, EMITHLS_TIMING_LATENCY, 0);
    *interval = attr_dict_int(timing, EMITHLS_TIMING_INTERVAL, cycles.most);
    *latency = simulated > 0 ? simulated : cycles.sum;
    return simulated > 0;
}

/* Where the FIFOs' depths are not proven no frame was simulated. The sum of the processes' cycles
 * is a bound then and not a latency, because processes overlap. */
static void add_times(const Op *design, int64_t clock, StrBuf *out)
{
    const Op *top = emithls_top(design);
    const Attr *timing = top ? op_attr(top, EMITHLS_ATTR_TIMING) : NULL;
    int64_t interval, latency;
    const bool is_simulated = driver_design_times(design, &interval, &latency);
    const int64_t brought = top ? emithls_streamed_cycles(top) : 0;
    if (brought > interval)
        strbuf_printf(out, "%.1f frames/s (by the rate of its memory, predicted), ",
                      (double)clock * 1000000 / (double)brought);
    else if (interval > 0)
        strbuf_printf(out, "%.1f frames/s%s, ",
                      (double)(sys_tile_size(design) * clock) * 1000000 / (double)interval,
                      timing ? "" : " (predicted, FIFOs may slow it down)");
    strbuf_add_c(out, is_simulated ? "the first frame takes " : "the first frame takes at most ");
    add_milliseconds(out, latency, clock);
    strbuf_add_c(out, is_simulated ? " (proven by simulation)\n" : " (predicted)\n");
}

/* From frame to frame, with memory that takes so long. */
static int64_t frame_cycles(const Op *design, int64_t memory)
{
    int64_t interval, latency;
    driver_design_times(design, &interval, &latency);
    return i64_max(interval, memory);
}

static double share_of_memory(const Op *design, int64_t memory)
{
    return (double)memory / (double)frame_cycles(design, memory);
}

/* *line is where the line began. */
static void add_share(StrBuf *out, size_t *line, const char *title, int64_t used, int64_t total)
{
    if (total <= 0) return;
    StrBuf share = {0};
    bool is_first = out->data[out->len - 1] == ':';
    strbuf_printf(&share, " %s %lld/%lld (%.0f %%)", title, (long long)used, (long long)total,
                  (double)used * 100 / (double)total);
    if (!is_first) strbuf_add_char(out, ',');
    if (out->len - *line + share.len + strlen(",") > TEXT_TABLE_WIDTH) {
        strbuf_add_char(out, '\n');
        *line = out->len;
        for (size_t i = 0; i < strlen(share_title); i++) strbuf_add_char(out, ' ');
    }
    strbuf_add_str(out, strbuf_str(&share));
    strbuf_free(&share);
}

/* What a frame is, if it is several images. */
static void add_images(const Op *design, int64_t clock, StrBuf *out)
{
    const Attr *images = op_attr(design, DFG_ATTR_IMAGES);
    const Op *top = emithls_top(design);
    if (!images || !top) return;
    const int64_t cycles = frame_cycles(design, emithls_streamed_cycles(top));
    strbuf_printf(out, "A frame is %lld images", (long long)attr_int_value(images));
    if (cycles > 0)
        strbuf_printf(out, ": %.1f images/s",
                      (double)attr_int_value(images) * (double)clock * 1000000 / (double)cycles);
    strbuf_add_char(out, '\n');
}

static void add_streamed(const Op *design, int64_t clock, StrBuf *out)
{
    const Op *top = emithls_top(design);
    const Attr *streamed = top ? op_attr(top, EMITHLS_ATTR_STREAMED) : NULL;
    int64_t cycles = top ? emithls_streamed_cycles(top) : 0;
    if (!streamed) return;
    strbuf_printf(out, "Weights from memory: %lld bits a frame",
                  (long long)attr_dict_int(streamed, EMITHLS_STREAMED_BITS, 0));
    if (cycles > 0)
        strbuf_printf(out, ", %.0f %% of what memory brings at %.1f frames/s (predicted)",
                      100 * share_of_memory(design, cycles),
                      (double)clock * 1000000 / (double)frame_cycles(design, cycles));
    strbuf_add_char(out, '\n');
}

void driver_count_cards(const Op *design, int64_t *cards, int64_t *copies)
{
    const Attr *list = op_attr(design, SYS_ATTR_CARDS), *mode = op_attr(design, SYS_ATTR_MODE);
    const Attr *instances = op_attr(design, SYS_ATTR_INSTANCES);
    *cards = list ? list->u.array.count : 1;
    bool is_dp = list && mode && str_eq_c(mode->u.string, "dp");
    *copies = is_dp && instances ? *cards * attr_int_value(instances) : 1;
}

void driver_print_summary(const Op *design, const DeviceTarget *target, StrBuf *out)
{
    const Resources *total = &target->device.total;
    const struct {
        CostKind kind;
        int64_t total;
    } rows[] = {{COST_DSP, total->dsp},
                {COST_BRAM18, total->bram18},
                {COST_URAM, total->uram},
                {COST_LUT, total->lut},
                {COST_FF, total->ff}};
    int64_t cards, copies;
    driver_count_cards(design, &cards, &copies);
    if (cards > 1) strbuf_printf(out, "%lld x ", (long long)cards);
    strbuf_printf(out, "%.*s at %lld MHz: ", STR_ARG(target->device.name),
                  (long long)target->clock);
    if (copies > 1) strbuf_printf(out, "%lld designs, each ", (long long)copies);
    if (sys_tile_size(design) > 1)
        strbuf_printf(out, "%lld designs, together ", (long long)sys_tile_size(design));
    add_times(design, target->clock, out);
    size_t line = out->len;
    strbuf_add_c(out, share_title);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        add_share(out, &line, cost_names[rows[i].kind].title,
                  figures(design, cost_names[rows[i].kind].key).sum * copies,
                  rows[i].total * cards);
    strbuf_add_char(out, '\n');
    add_images(design, target->clock, out);
    add_streamed(design, target->clock, out);
}
