/* The search for a design: its options as text for choose-unroll, and a line about its answer.
 * Tests: lit/driver/objective.mir, test/unit/driver/compile_test.c */
#include <stddef.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "driver/driver.h"
#include "driver/internal.h"
#include "ir/core/core.h"

#define SEARCH_FIELD(field) offsetof(SearchOptions, field)
/* More than any stream takes: what goes from card to card is place-cards' to limit. */
#define CARD_BORDER_WIRES 20000
#define LIMIT_FIELD(field) offsetof(Resources, field)

const DriverOption driver_search_options[] = {
    {"objective", DRIVER_CHOICE, SEARCH_FIELD(objective), "throughput|latency|pipeline-latency|fps",
     "What the design is best at, default throughput; fps is what --fps=n asks for"},
    {"epilogues", DRIVER_CHOICE, SEARCH_FIELD(epilogues), "auto|fused",
     "fused: keep requantizers in the process of their sums; auto: or in one of fewer lanes"},
    {"small-fifos", DRIVER_CHOICE, SEARCH_FIELD(small_fifos), "srl|lutram", NULL},
    {"fps", DRIVER_NUMBER, SEARCH_FIELD(fps), "n",
     "Frames per second, with least resources; with --objective=pipeline-latency the fewest that "
     "a design may give"},
    {"time-limit", DRIVER_NUMBER, SEARCH_FIELD(time_limit), "seconds",
     "Search no longer in all; without, the answer does not depend on the machine"},
    {"dump-lp", DRIVER_TEXT, SEARCH_FIELD(dump_lp), "file.lp|file.mps",
     "Write the search as a 0-1 program, for other solvers"},
    {"reserve-bram", DRIVER_NUMBER, SEARCH_FIELD(reserved_bram), "n",
     "BRAM18 blocks to leave for FIFOs"},
    {"reserve-lut", DRIVER_NUMBER, SEARCH_FIELD(reserved_lut), "n", NULL},
    {0},
};

const DriverOption driver_limit_options[] = {
    {"dsp", DRIVER_NUMBER, LIMIT_FIELD(dsp), "n", "DSP slices to spend, whatever the share"},
    {"bram", DRIVER_NUMBER, LIMIT_FIELD(bram18), "n", "BRAM18 blocks to spend, whatever the share"},
    {"uram", DRIVER_NUMBER, LIMIT_FIELD(uram), "n", "URAM blocks to spend, whatever the share"},
    {"lut", DRIVER_NUMBER, LIMIT_FIELD(lut), "n", "LUTs to spend, whatever the share"},
    {"ff", DRIVER_NUMBER, LIMIT_FIELD(ff), "n", "Flip-flops to spend, whatever the share"},
    {0},
};

int64_t driver_limit(const DriverOption *row, const Resources *limits)
{
    int64_t value;
    memcpy(&value, (const char *)limits + row->offset, sizeof value);
    return value;
}

/* An option that is zero or NULL is left out, because the pass takes the same without it. */
static void add_option(StrBuf *out, const DriverOption *row, const SearchOptions *options)
{
    const void *field = (const char *)options + row->offset;
    const char *text = NULL;
    int64_t number = 0;
    if (row->kind == DRIVER_NUMBER)
        memcpy(&number, field, sizeof number);
    else
        memcpy(&text, field, sizeof text);
    if (number == 0 && !text) return;
    if (out->len > 0) strbuf_add_char(out, ' ');
    if (row->kind == DRIVER_NUMBER)
        strbuf_printf(out, "%s=%lld", row->name, (long long)number);
    else
        strbuf_printf(out, row->kind == DRIVER_TEXT ? "%s=\"%s\"" : "%s=%s", row->name, text);
}

static void add_target(StrBuf *out, const DeviceTarget *target)
{
    for (const DriverOption *row = driver_limit_options; row->name; row++)
        strbuf_printf(out, " %s=%lld", row->name, (long long)driver_limit(row, &target->budget));
    strbuf_printf(out, " device=%.*s part=%.*s clock=%lld", STR_ARG(target->device.name),
                  STR_ARG(target->device.part), (long long)target->clock);
}

static void add_resources(StrBuf *out, const Resources *r)
{
    strbuf_printf(out, ":%lld/%lld/%lld/%lld/%lld", (long long)i64_max(0, r->lut),
                  (long long)i64_max(0, r->ff), (long long)i64_max(0, r->bram18),
                  (long long)i64_max(0, r->uram), (long long)i64_max(0, r->dsp));
}

/* Those between dies of one card; and, of several, from the last die of one to the first of the next. */
static void add_die_links(StrBuf *out, const Device *device, uint32_t cards)
{
    const uint32_t dies = device->die_count;
    const char *comma = "";
    for (uint32_t c = 0; c < cards; c++)
        for (uint32_t i = 0; i < dies; i++)
            for (uint32_t j = i + 1; j <= dies; j++) {
                bool is_next = j == dies && i + 1 == dies && c + 1 < cards;
                int64_t wires = j < dies ? device->wires[i][j] : is_next ? CARD_BORDER_WIRES : 0;
                if (wires <= 0) continue;
                strbuf_printf(out, "%s%u-%u:%lld", comma, c * dies + i, c * dies + j,
                              (long long)wires);
                comma = ",";
            }
}

/* The banks of a die, as v++ names them: those of HBM where the device has any, else DDR. */
static void add_banks(StrBuf *out, const Device *device, uint32_t die)
{
    bool has_hbm = false;
    for (uint32_t i = 0; i < device->bank_count; i++)
        has_hbm |= str_eq_c(device->banks[i].name, "HBM");
    for (uint32_t i = 0; i < device->bank_count; i++) {
        const DeviceBanks *banks = &device->banks[i];
        if (banks->die != die || (has_hbm && !str_eq_c(banks->name, "HBM"))) continue;
        strbuf_printf(out, ":%.*s[%lld", STR_ARG(banks->name), (long long)banks->first);
        if (banks->count > 1)
            strbuf_printf(out, ":%lld", (long long)(banks->first + banks->count - 1));
        strbuf_add_char(out, ']');
        return;
    }
}

/* Limits and capacities of the dies of so many cards. has_banks: and what memory they have. */
static void list_dies(StrBuf *out, const DeviceTarget *target, uint32_t cards, bool has_banks)
{
    const Device *device = &target->device;
    for (uint32_t k = 0; k < cards * device->die_count; k++) {
        uint32_t i = k % device->die_count;
        strbuf_printf(out, "%s%.*s", k ? "," : "", STR_ARG(device->dies[i].name));
        add_resources(out, &target->dies[i]);
        add_resources(out, &device->dies[i].resources);
        if (has_banks) add_banks(out, device, i);
    }
}

/* The same as options, and the wires between them. */
static void add_dies(StrBuf *out, const DeviceTarget *target, uint32_t cards, bool has_banks)
{
    strbuf_add_c(out, " dies=\"");
    list_dies(out, target, cards, has_banks);
    strbuf_add_c(out, "\" die-links=\"");
    add_die_links(out, &target->device, cards);
    strbuf_add_char(out, '"');
    if (target->mean_percent > 0)
        strbuf_printf(out, " die-mean=%lld", (long long)target->mean_percent);
}

void driver_add_dies(StrBuf *out, const DeviceTarget *target, bool has_banks)
{
    add_dies(out, target, 1, has_banks);
}

bool driver_dies_platform(Op *module, const DeviceTarget *target, PartitionPlatform *out)
{
    StrBuf dies = {0}, links = {0};
    list_dies(&dies, target, 1, false);
    add_die_links(&links, &target->device, 1);
    bool ok = dse_record_dies(module, strbuf_str(&dies), strbuf_str(&links),
                              i64_max(0, target->mean_percent)) &&
              dse_platform(module, out);
    strbuf_free(&dies);
    strbuf_free(&links);
    return ok;
}

/* The dies that processes are placed on while they are chosen. */
static void add_places(StrBuf *out, const CompileOptions *options, const DeviceTarget *target)
{
    const uint32_t dies = target->device.die_count;
    const uint32_t cards = options->cards ? options->cards->system.card_count : 1;
    if (driver_is_spread(options)) {
        /* place-cards places anew; here no process becomes larger than a die */
        if (cards * dies > 1 && cards * dies <= SYS_MAX_DIES) add_dies(out, target, cards, false);
        return;
    }
    if (!options->honors_dies || dies < 2) return;
    add_dies(out, target, 1, options->has_memory_ports);
    if (options->anchors) strbuf_printf(out, " anchors=\"%s\"", options->anchors);
    if (options->colocated) strbuf_printf(out, " colocate=\"%s\"", options->colocated);
}

int64_t driver_stream_bits(const Device *device)
{
    enum { LEAST = 64, MOST = 512 };
    int64_t bits = 0;
    for (uint32_t i = 0; device && i < device->bank_count; i++)
        bits = i64_max(bits, device->banks[i].port_bits);
    for (int64_t power = MOST; power >= LEAST; power /= 2)
        if (power <= bits) return power;
    return 0;
}

int64_t driver_stream_ports(const Device *device)
{
    enum { MOST = 2048 };
    int64_t banks = 0, ports = 1, bits = driver_stream_bits(device);
    for (uint32_t i = 0; i < device->bank_count; i++) banks += device->banks[i].count;
    while (ports * 2 <= banks && bits * ports * 2 <= MOST) ports *= 2;
    return ports;
}

int64_t driver_stream_rate(const DeviceTarget *target, bool is_shared)
{
    const Device *device = &target->device;
    enum { BYTE = 8, CYCLES = 1000, PERCENT = 100 };
    int64_t mbps = 0;
    for (uint32_t i = 0; i < device->bank_count; i++)
        mbps += device->banks[i].count * device->banks[i].mbps;
    const int64_t rate = mbps * DEVICE_BANK_EFFICIENCY * BYTE * CYCLES / (PERCENT * target->clock),
                  of_port = driver_stream_bits(device) * DEVICE_BANK_EFFICIENCY * CYCLES / PERCENT;
    return is_shared ? i64_min(rate, of_port) : rate;
}

void driver_add_search_options(StrBuf *out, const StageOptions *options)
{
    static const DriverOptionKind order[] = {DRIVER_CHOICE, DRIVER_NUMBER, DRIVER_TEXT};
    const Device *device = &options->target->device;
    SearchOptions search = *options->search;
    if (!search.objective) search.objective = search.fps > 0 ? "fps" : "throughput";
    for (size_t i = 0; i < COUNT_OF(order); i++)
        for (const DriverOption *row = driver_search_options; row->name; row++)
            if (row->kind == order[i]) add_option(out, row, &search);
    add_target(out, options->target);
    if (options->compile->loads_weights) strbuf_add_c(out, " loads-weights=true");
    if (options->compile->streams_weights)
        strbuf_printf(
            out, " stream-bits=%lld stream-ports=%lld stream-rate=%lld",
            (long long)driver_stream_bits(device), (long long)driver_stream_ports(device),
            (long long)driver_stream_rate(options->target, options->compile->shares_port));
    if (options->compile->has_dma_ports) strbuf_printf(out, " port-bits=%d", EMITHLS_MAX_BEAT_BITS);
    if (options->compile->rewinds) strbuf_add_c(out, " rewind=true");
    if (!str_eq_c(device->dsp_kind, DFG_DSP_KIND_DEFAULT))
        strbuf_printf(out, " dsp-kind=%.*s", STR_ARG(device->dsp_kind));
    if (device->delay_percent != DFG_DELAY_PERCENT_DEFAULT)
        strbuf_printf(out, " delay-percent=%lld", (long long)device->delay_percent);
    add_places(out, options->compile, options->target);
}

typedef enum Measure { MEASURE_RATE, MEASURE_LATENCY, MEASURE_SHARE } Measure;

static Measure measure_of(Str objective)
{
    if (str_eq_c(objective, "throughput")) return MEASURE_RATE;
    return str_eq_c(objective, "fps") ? MEASURE_SHARE : MEASURE_LATENCY;
}

/* Cycles, with the unit that people compare. */
static void add_cycles(StrBuf *out, bool is_rate, int64_t cycles, int64_t clock)
{
    strbuf_printf(out, is_rate ? "a frame every %lld cycles" : "%lld cycles", (long long)cycles);
    if (cycles <= 0 || clock <= 0) return;
    double rate = (double)clock * 1000000 / (double)cycles;
    if (is_rate)
        strbuf_printf(out, " (%.1f frames/s predicted)", rate);
    else
        strbuf_printf(out, " (%.6f ms)", 1000 / rate);
}

/* What is known of the choices that were not taken; the search minimizes the value. */
static void add_verdict(StrBuf *out, Measure measure, int64_t value, int64_t bound, int64_t clock)
{
    static const char *const best[] = {[MEASURE_RATE] = "is faster",
                                       [MEASURE_LATENCY] = "has less",
                                       [MEASURE_SHARE] = "takes less of it"};
    if (bound >= value) {
        strbuf_printf(out, "Optimal: no choice of factors within the budget %s\n", best[measure]);
        return;
    }
    strbuf_add_c(out, "Not proven optimal: another choice of factors may ");
    if (measure == MEASURE_SHARE) {
        strbuf_printf(out, "take %.1f %% less of the budget\n",
                      (double)(value - bound) * 100 / (double)value);
        return;
    }
    strbuf_add_c(out, measure == MEASURE_RATE ? "give " : "have ");
    add_cycles(out, measure == MEASURE_RATE, bound, clock);
    strbuf_add_c(out, ", but not less\n");
}

/* The forms of requantizers that had others to choose from, each with its number. */
static void add_forms(StrBuf *out, const Op *design)
{
    const Attr *list = op_attr(design, DFG_ATTR_REQUANTIZERS);
    bool is_first = true;
    for (uint32_t i = 0; list && i < list->u.array.count; i++) {
        const Attr *form = attr_dict_get_c(list->u.array.items[i], DFG_REQUANT_FORM);
        int64_t count = 0;
        bool is_known = false;
        for (uint32_t k = 0; k < list->u.array.count; k++) {
            const Attr *item = list->u.array.items[k];
            bool is_same = attr_dict_get_c(item, DFG_REQUANT_FORM) == form &&
                           attr_dict_get_c(item, DFG_REQUANT_OTHERS);
            count += is_same;
            is_known |= is_same && k < i;
        }
        if (count == 0 || is_known) continue;
        strbuf_printf(out, "%s%lld as %.*s", is_first ? "Requantizers by cost: " : ", ",
                      (long long)count, STR_ARG(form->u.string));
        is_first = false;
    }
    if (!is_first) strbuf_add_char(out, '\n');
}

void driver_print_objective(const Op *design, StrBuf *out)
{
    const Attr *budget = op_attr(design, DFG_ATTR_BUDGET);
    const Attr *objective =
        budget && budget->kind == ATTR_DICT ? attr_dict_get_c(budget, DFG_BUDGET_OBJECTIVE) : NULL;
    if (!objective || objective->kind != ATTR_STRING) return;
    int64_t value = attr_dict_int(budget, DFG_BUDGET_VALUE, 0),
            clock = attr_dict_int(budget, DFG_BUDGET_CLOCK_MHZ, 0);
    Measure measure = measure_of(objective->u.string);
    strbuf_printf(out, "\nObjective %.*s: ", STR_ARG(objective->u.string));
    if (measure == MEASURE_LATENCY) {
        add_cycles(out, false, value, clock);
        strbuf_add_c(out, ", ");
    }
    add_cycles(out, true, attr_dict_int(budget, DFG_BUDGET_INTERVAL, 0), clock);
    strbuf_add_char(out, '\n');
    add_verdict(out, measure, value, attr_dict_int(budget, DFG_BUDGET_BOUND, 0), clock);
    add_forms(out, design);
}
