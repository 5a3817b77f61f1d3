/* report.json. Nothing is decided here: everything is read from the module, from `report` of each
 * process and dfg.budget of the module; what a FIFO takes follows from what it is built of.
 * Tests: lit/emit/report.mir */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "emit/dies/dies.h"
#include "emit/internal.h"
#include "ir/core/core.h"
#include "ir/support/support.h"
#include "target/cost/cost.h"
#include "target/fifo/fifo.h"

/* A number, or -1 if there is none, which JSON has as null. */
static int64_t number(const Attr *dict, const char *name)
{
    return attr_dict_int(dict, name, -1);
}

static Str text(const Attr *dict, const char *name)
{
    const Attr *value = attr_dict_get_c(dict, name);
    return value && value->kind == ATTR_STRING ? value->u.string : STR("");
}

static bool is_process(const Op *op)
{
    return op->def == EMITHLS(FUNC) && !op_attr(op, EMITHLS_ATTR_TOP);
}

/* What a process takes as Verilog, a dictionary; NULL: nobody said. */
static const Attr *verilog_of(const Attr *report)
{
    const Attr *verilog = report ? attr_dict_get_c(report, DFG_REPORT_VERILOG) : NULL;
    return verilog && verilog->kind == ATTR_DICT ? verilog : NULL;
}

/* Sum over all processes; those without the number count as 0. */
static int64_t total(const Op *module, const char *name)
{
    const bool is_of_frame = strcmp(name, DFG_COST_CYCLES) == 0; /* and so of one instance */
    int64_t sum = 0;
    FOR_EACH_OP(op, region_entry(op_region(module, 0))) {
        int64_t value = is_process(op) ? number(op_attr(op, DFG_ATTR_REPORT), name) : 0;
        if (is_of_frame && op_attr(op, SYS_ATTR_INSTANCE)) continue;
        sum = i64_sum(sum, i64_max(value, 0));
    }
    return sum;
}

/* What the processes take as Verilog, in sum. */
static Cost verilog_total(const Op *module)
{
    Cost sum = {.cycles = 0};
    FOR_EACH_OP(op, region_entry(op_region(module, 0))) {
        if (!is_process(op)) continue;
        const Attr *verilog = verilog_of(op_attr(op, DFG_ATTR_REPORT));
        for (int k = COST_DSP; k <= COST_FF; k++)
            sum.items[k] = i64_sum(sum.items[k], attr_dict_int(verilog, cost_names[k].key, 0));
    }
    return sum;
}

/* The largest of all processes, 0 without any. */
static int64_t largest(const Op *module, const char *name)
{
    int64_t most = 0;
    FOR_EACH_OP(op, region_entry(op_region(module, 0))) {
        int64_t value = is_process(op) ? number(op_attr(op, DFG_ATTR_REPORT), name) : 0;
        most = value > most ? value : most;
    }
    return most;
}

/* The clock that the timing was simulated for, or the budget's; -1: none. */
static int64_t clock_mhz(const Emitter *e)
{
    int64_t simulated = number(op_attr(e->top, EMITHLS_ATTR_TIMING), EMITHLS_TIMING_CLOCK_MHZ);
    return simulated > 0 ? simulated
                         : number(op_attr(e->module, DFG_ATTR_BUDGET), DFG_BUDGET_CLOCK_MHZ);
}

static void add_list(JsonWriter *w, const char *name, const Attr *list)
{
    json_member_array(w, name);
    for (size_t i = 0; attr_is_int_array(list) && i < list->u.dense_array.count; i++)
        json_write_int(w, dense_array_i64(list, i));
    json_end_array(w);
}

/* value: NULL if there is none. */
static void add_text_or_null(JsonWriter *w, const char *name, const Attr *value)
{
    json_write_key(w, str_from(name));
    if (value && value->kind == ATTR_STRING)
        json_write_string(w, value->u.string);
    else
        json_write_null(w);
}

/* Frames a second of all instances of a tile, to three decimals. is_known: the interval is simulated. */
static void add_fps(JsonWriter *w, const char *key, bool is_known, int64_t clock_mhz,
                    int64_t instances, int64_t interval)
{
    json_write_key(w, str_from(key));
    if (!is_known || clock_mhz <= 0 || interval <= 0) {
        json_write_null(w);
        return;
    }
    int64_t hertz, thousandths;
    if (!i64_mul(instances * 1000000, clock_mhz, &hertz)) hertz = INT64_MAX;
    if (i64_mul(hertz % interval, 1000, &thousandths))
        thousandths /= interval;
    else
        thousandths = hertz % interval / (interval / 1000);
    json_write_number(w, "%lld.%03lld", (long long)(hertz / interval),
                      (long long)i64_min(thousandths, 999));
}

/* Multiplications and additions of a frame, and 10^9 of them a second. */
static void add_ops(JsonWriter *w, int64_t ops, bool is_known, int64_t clock_mhz, int64_t interval)
{
    json_member_count(w, "ops_per_frame", ops);
    json_write_key(w, STR("gops"));
    if (!is_known || clock_mhz <= 0 || interval <= 0)
        json_write_null(w);
    else
        json_write_number(w, "%.3f", (double)ops * (double)clock_mhz / (double)interval / 1000);
}

static void add_verilog(JsonWriter *w, const Cost *cost)
{
    json_member_object(w, "verilog");
    for (int k = COST_DSP; k <= COST_FF; k++)
        json_member_count(w, cost_names[k].key, cost->items[k]);
    json_end_object(w);
}

/* The kind that fit-fifos has chosen. */
static bool known_fifo_kind(const Op *stream, FifoKind *out)
{
    const Attr *impl = op_attr(stream, EMITHLS_ATTR_IMPL);
    return impl && impl->kind == ATTR_STRING && fifo_kind(impl->u.string, out);
}

static int64_t fifo_width(const Op *stream)
{
    const Type *word = emithls_stream_word(op_result(stream, 0)->type);
    return emithls_lanes(word) * type_width(emithls_scalar(word));
}

/* Registers of the borders that words cross; those of a link are on their way outside. */
static int64_t fifo_registers(const Op *stream)
{
    return op_attr(stream, SYS_ATTR_LINK)
               ? 0
               : memory_fifo_registers(fifo_width(stream), emithls_latency(stream));
}

/* Processes, FIFOs, and the slices of two words at the ports. */
static void add_verilog_total(const Emitter *e, JsonWriter *w)
{
    enum { SLICE_DEPTH = 2 };
    Cost sum = verilog_total(e->module);
    FifoKind kind;
    FOR_EACH_OP(op, region_entry(op_region(e->top, 0)))
        if (op->def == EMITHLS(STREAM) && known_fifo_kind(op, &kind)) {
            memory_fifo_cost(kind, fifo_width(op), attr_int_value(op_attr(op, DFG_ATTR_DEPTH)),
                             STRUCTURE_VERILOG, &sum);
            sum.items[COST_FF] += fifo_registers(op);
        }
    for (size_t i = 0; i < e->ports.len; i++) {
        const Type *word = e->ports.data[i].word;
        memory_fifo_cost(FIFO_SRL, emithls_lanes(word) * type_width(emithls_scalar(word)),
                         SLICE_DEPTH, STRUCTURE_VERILOG, &sum);
    }
    add_verilog(w, &sum);
}

/* Latency and interval as simulated; where nobody simulated, the sum and the largest of the
 * processes' cycles, and no rates, since FIFOs may slow the design down. */
static void add_totals(Emitter *e, JsonWriter *w)
{
    static const char *const resources[] = {"dsp", "bram18", "uram", "lut", "ff"};
    const Attr *timing = op_attr(e->top, EMITHLS_ATTR_TIMING);
    int64_t cycles = total(e->module, "cycles"), slowest = largest(e->module, "cycles");
    slowest = i64_max(slowest, emithls_streamed_cycles(e->top));
    int64_t interval =
        timing ? i64_max(number(timing, EMITHLS_TIMING_INTERVAL), emithls_streamed_cycles(e->top))
               : slowest;
    json_member_object(w, "totals");
    json_member_count(w, "latency_cycles",
                      timing ? number(timing, EMITHLS_TIMING_LATENCY) : cycles);
    json_member_count(w, "interval_cycles", interval);
    add_fps(w, "fps", timing != NULL, clock_mhz(e), sys_tile_size(e->module), interval);
    for (size_t i = 0; i < COUNT_OF(resources); i++)
        json_member_count(w, resources[i], total(e->module, resources[i]));
    int64_t macs = total(e->module, DFG_REPORT_MACS);
    add_ops(w, i64_sum(macs, macs), timing != NULL, clock_mhz(e), interval);
    json_member_count(w, DFG_REPORT_WEIGHT_BITS, total(e->module, DFG_REPORT_WEIGHT_BITS));
    if (e->options->rtl) add_verilog_total(e, w);
    json_end_object(w);
    json_write_line(w, 2);
    json_member_string(w, "timing", timing ? STR("simulated") : STR("predicted"));
    json_write_line(w, 2);
    json_member_object(w, "predicted");
    json_member_count(w, "sum_cycles", cycles);
    json_member_count(w, "interval_cycles", slowest);
    add_fps(w, "most_fps", true, clock_mhz(e), sys_tile_size(e->module), slowest);
    json_end_object(w);
    json_write_line(w, 2);
}

/* The figures that a simulation of the final depths proved. */
static void add_timing(Emitter *e, JsonWriter *w)
{
    static const char *const names[] = {"clock_mhz", "latency_cycles", "interval_cycles",
                                        "fifo_bits"};
    const Attr *timing = op_attr(e->top, EMITHLS_ATTR_TIMING);
    json_write_key(w, STR("simulated"));
    if (timing) {
        json_begin_object(w);
        json_member_bool(w, "deadlock_free",
                         attr_dict_get_c(timing, EMITHLS_TIMING_DEADLOCK_FREE) != NULL);
        for (size_t i = 0; i < COUNT_OF(names); i++)
            json_member_count(w, names[i], number(timing, names[i]));
        json_member_string(w, "pipelines",
                           emithls_flushes(e->module) ? STR("flushing") : STR("stalled"));
        add_text_or_null(w, "fifo_slack", attr_dict_get_c(timing, EMITHLS_TIMING_FIFO_SLACK));
        json_member_count(w, "bound_interval_cycles",
                          number(timing, EMITHLS_TIMING_BOUND_INTERVAL));
        json_end_object(w);
    } else {
        json_write_null(w);
    }
    json_write_line(w, 2);
}

/* Said where it is not one multiplication per product. */
static void add_multiplier(JsonWriter *w, const Attr *report)
{
    const Attr *folding = attr_dict_get_c(report, DFG_REPORT_FOLDING);
    if (!folding || folding->kind != ATTR_DICT) return;
    Str multiplier = text(folding, DFG_FOLDING_MULTIPLIER);
    if (str_eq_c(multiplier, DFG_MULTIPLIER_POPCOUNT))
        json_member_string(w, "multiplier", multiplier);
}

/* A process works `cycles` for a frame and can begin the next one then. */
static void add_costs(JsonWriter *w, const Attr *report)
{
    static const char *const costs[] = {"cycles", "dsp", "bram18", "uram", "lut", "ff"};
    json_member_count(w, "interval_cycles", number(report, DFG_COST_CYCLES));
    for (size_t i = 0; i < COUNT_OF(costs); i++)
        json_member_count(w, costs[i], number(report, costs[i]));
    if (number(report, DFG_REPORT_MACS) >= 0) {
        json_member_count(w, DFG_REPORT_MACS, number(report, DFG_REPORT_MACS));
        add_list(w, DFG_REPORT_FACTOR_BITS, attr_dict_get_c(report, DFG_REPORT_FACTOR_BITS));
        json_member_count(w, DFG_REPORT_WEIGHT_BITS, number(report, DFG_REPORT_WEIGHT_BITS));
    }
    if (number(report, DFG_REPORT_BUFFER) >= 0)
        json_member_count(w, "buffer_words", number(report, DFG_REPORT_BUFFER));
    if (report) add_multiplier(w, report);
}

static void add_process_verilog(JsonWriter *w, const Attr *report)
{
    const Attr *verilog = verilog_of(report);
    Cost cost;
    for (int k = COST_DSP; k <= COST_FF; k++)
        cost.items[k] = attr_dict_int(verilog, cost_names[k].key, -1);
    add_verilog(w, &cost);
}

static void add_processes(Emitter *e, JsonWriter *w)
{
    json_member_array(w, "processes");
    FOR_EACH_OP(op, region_entry(op_region(e->module, 0))) {
        const Attr *report = op_attr(op, DFG_ATTR_REPORT);
        SysPlace place;
        if (!is_process(op)) continue;
        json_begin_row(w);
        json_member_string(w, "name", str_from(cpp_global(e, symbol_name(op))));
        json_member_string(w, "source", text(report, DFG_REPORT_SOURCE));
        json_member_string(w, "class", text(report, DFG_REPORT_CLASS));
        if (sys_place(op, &place)) json_member_int(w, "die", place.die);
        json_write_line(w, 5);
        add_list(w, "trip_counts", attr_dict_get_c(report, DFG_REPORT_TRIP_COUNTS));
        add_list(w, "unroll", attr_dict_get_c(report, DFG_REPORT_UNROLL));
        json_write_line(w, 5);
        add_costs(w, report);
        if (e->options->rtl) add_process_verilog(w, report);
        json_end_object(w);
    }
    json_end_rows(w);
}

static void add_requantizer_costs(JsonWriter *w, const Attr *item)
{
    json_member_count(w, "constant_bits", number(item, DFG_REQUANT_BITS));
    json_member_count(w, "lut_per_lane", number(item, DFG_COST_LUT));
    json_member_count(w, "dsp_per_lane", number(item, DFG_COST_DSP));
}

/* The forms that the search had beside the one that it chose. */
static void add_other_forms(JsonWriter *w, const Attr *list)
{
    json_member_array(w, "others");
    for (uint32_t i = 0; i < list->u.array.count; i++) {
        json_begin_object(w);
        json_member_string(w, "form", text(list->u.array.items[i], DFG_REQUANT_FORM));
        add_requantizer_costs(w, list->u.array.items[i]);
        json_end_object(w);
    }
    json_end_array(w);
}

/* What the network's quantizers became; costs are those of a lane. */
static void add_requantizers(Emitter *e, JsonWriter *w)
{
    const Attr *list = op_attr(e->module, DFG_ATTR_REQUANTIZERS);
    json_member_array(w, "requantizers");
    for (uint32_t i = 0; list && i < list->u.array.count; i++) {
        const Attr *item = list->u.array.items[i];
        const Attr *absorbed = attr_dict_get_c(item, DFG_REQUANT_ABSORBED);
        json_begin_row(w);
        json_member_string(w, "layer", text(item, DFG_REQUANT_LAYER));
        json_member_string(w, "form", text(item, DFG_REQUANT_FORM));
        json_member_count(w, "levels", number(item, DFG_REQUANT_LEVELS));
        add_requantizer_costs(w, item);
        json_member_array(w, "absorbed");
        for (uint32_t n = 0; n < absorbed->u.array.count; n++)
            json_write_string(w, absorbed->u.array.items[n]->u.string);
        json_end_array(w);
        const Attr *others = attr_dict_get_c(item, DFG_REQUANT_OTHERS);
        if (others) add_other_forms(w, others);
        json_end_object(w);
    }
    json_end_rows(w);
}

/* The process that writes a stream; NULL: none. Calls are in the order of the data. */
const Op *emit_writer_of(const Emitter *e, const Value *stream)
{
    FOR_EACH_OP(op, region_entry(op_region(e->top, 0)))
        for (uint32_t i = 0; op->def == EMITHLS(CALL) && i < op->operand_count; i++)
            if (op_operand(op, i) == stream) return symbol_lookup(op, op_attr(op, "callee"));
    return NULL;
}

/* Included in the figures of the process that writes it. */
static void add_fifo_cost(const Emitter *e, JsonWriter *w, const Op *stream)
{
    Cost cost = {.cycles = 0}, verilog = {.cycles = 0};
    FifoKind kind;
    int64_t width = fifo_width(stream), depth = attr_int_value(op_attr(stream, DFG_ATTR_DEPTH));
    bool is_in_memory = op_attr(stream, SYS_ATTR_IN_MEMORY) != NULL;
    bool is_known = known_fifo_kind(stream, &kind);
    if (is_known) {
        memory_fifo_cost(kind, width, depth, STRUCTURE_HLS, &cost);
        memory_fifo_cost(kind, width, depth, STRUCTURE_VERILOG, &verilog);
        cost.items[COST_FF] += fifo_registers(stream);
        verilog.items[COST_FF] += fifo_registers(stream);
    }
    for (int k = COST_BRAM18; k <= COST_FF; k++)
        json_member_count(w, cost_names[k].key, is_known || is_in_memory ? cost.items[k] : -1);
    if (e->options->rtl && is_known) add_verilog(w, &verilog);
}

static void add_fifos(Emitter *e, JsonWriter *w)
{
    json_member_array(w, "fifos");
    FOR_EACH_OP(op, region_entry(op_region(e->top, 0))) {
        if (op->def != EMITHLS(STREAM)) continue;
        const Op *writer = emit_writer_of(e, op_result(op, 0));
        json_begin_row(w);
        json_member_string(w, "name", str_from(ptrmap_get(&e->fifos, op)));
        json_member_count(w, "width", fifo_width(op));
        json_member_count(w, DFG_ATTR_DEPTH, attr_int_value(op_attr(op, DFG_ATTR_DEPTH)));
        if (op_attr(op, SYS_ATTR_IN_MEMORY))
            json_member_string(w, "kind", STR("memory"));
        else
            add_text_or_null(w, "kind", op_attr(op, EMITHLS_ATTR_IMPL));
        if (op_attr(op, EMITHLS_ATTR_LATENCY))
            json_member_count(w, EMITHLS_ATTR_LATENCY, emithls_latency(op));
        json_write_line(w, 5);
        json_member_string(w, "writer",
                           writer ? str_from(cpp_global(e, symbol_name(writer))) : STR(""));
        add_fifo_cost(e, w, op);
        json_end_object(w);
    }
    json_end_rows(w);
}

/* The element type of the arrays that the testbench takes and gives. */
static void add_dtype(const Emitter *e, JsonWriter *w, const EmitPort *port)
{
    const Type *elem = emithls_scalar(port->word);
    StrBuf name = {0};
    if (port->quant)
        strbuf_add_c(&name, "float");
    else
        type_print(&name,
                   port->is_unsigned ? type_integer(e->ctx, type_width(elem), UNSIGNED) : elem);
    json_member_string(w, "dtype", strbuf_str(&name));
    strbuf_free(&name);
}

static void add_quantizer(JsonWriter *w, const EmitPort *port)
{
    const EmitQuantizer *q = port->quant;
    json_write_key(w, STR("quantizer"));
    if (!q) {
        json_write_null(w);
        return;
    }
    json_begin_object(w);
    json_write_key(w, STR("scale"));
    json_write_number(w, "%.17g", q->scale);
    json_member_int(w, "zero_point", q->zero_point);
    json_member_int(w, "divisor", q->divisor);
    json_member_int(w, "low", q->low);
    json_member_int(w, "high", q->high);
    json_member_string(w, "rounding", q->rounding);
    json_member_bool(w, "bipolar", q->is_bipolar);
    json_end_object(w);
}

/* How a frame of the port lies in memory, as <top>_host.h has it for C++. */
static void add_packing(JsonWriter *w, const EmitPort *port)
{
    const Type *elem = emithls_scalar(port->word);
    json_member_string(w, "argument", str_from(port->name));
    json_member_string(w, "kind", type_is_float(elem) ? STR("float") : STR("integer"));
    json_member_int(w, "bits", type_width(elem));
    json_member_bool(w, "signed", type_is_float(elem) || emit_port_is_signed(port));
    add_quantizer(w, port);
    json_write_line(w, 5);
    json_member_array(w, "order");
    for (uint32_t d = 0; d < port->rank; d++) json_write_int(w, port->order[d]);
    json_end_array(w);
    json_member_array(w, "word");
    for (uint32_t d = 0; d < port->rank; d++) json_write_int(w, port->word_extents[d]);
    json_end_array(w);
    json_member_int(w, "element_bits", port->element_bits);
    json_member_int(w, "word_bits", emithls_lanes(port->word) * port->element_bits);
    json_member_int(w, "padded_bits", port->word_bits);
    json_member_int(w, "words_per_frame", port->words_per_frame);
    json_member_int(w, "frame_bytes", port->words_per_frame * port->word_bits / 8);
}

static void add_ports(Emitter *e, JsonWriter *w)
{
    json_member_array(w, "ports");
    for (size_t i = 0; i < e->ports.len; i++) {
        const EmitPort *port = &e->ports.data[i];
        json_begin_row(w);
        json_member_string(w, "name", port->tensor);
        json_member_string(w, "direction", port->is_input ? STR("in") : STR("out"));
        json_member_string(w, "interface",
                           port->is_mapped ? STR("s_axilite")
                           : port->bus     ? STR("m_axi")
                                           : STR("axis"));
        if (port->beat_bits) json_member_bool(w, "tlast", true);
        if (port->is_weights) json_member_bool(w, "weights", true);
        if (port->loading_cycles) json_member_int(w, "loading_cycles", port->loading_cycles);
        json_member_array(w, "shape");
        for (uint32_t d = 0; d < port->rank; d++) json_write_int(w, port->shape[d]);
        json_end_array(w);
        add_dtype(e, w, port);
        json_write_line(w, 5);
        add_packing(w, port);
        json_end_object(w);
    }
    json_write_line(w, 2);
    json_end_array(w);
}

/* The terms on which the design was chosen: limits of the budget, objective, lower bound. */
static void add_choice(Emitter *e, JsonWriter *w)
{
    static const char *const limits[][2] = {{"dsp", "dsp_limit"},
                                            {"bram18", "bram18_limit"},
                                            {"uram", "uram_limit"},
                                            {"lut", "lut_limit"},
                                            {"ff", "ff_limit"}};
    const Attr *budget = op_attr(e->module, DFG_ATTR_BUDGET);
    add_text_or_null(w, "device", attr_dict_get_c(budget, DFG_BUDGET_DEVICE));
    json_write_line(w, 2);
    json_member_count(w, "clock_mhz", clock_mhz(e));
    json_write_line(w, 2);
    add_text_or_null(w, "objective", attr_dict_get_c(budget, DFG_BUDGET_OBJECTIVE));
    json_write_line(w, 2);
    json_member_count(w, "value", number(budget, DFG_BUDGET_VALUE));
    json_write_line(w, 2);
    json_member_count(w, "bound", number(budget, DFG_BUDGET_BOUND));
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        json_write_line(w, 2);
        json_member_count(w, limits[i][1], number(budget, limits[i][0]));
    }
    json_write_line(w, 2);
}

static void add_activations(Emitter *e, JsonWriter *w)
{
    const Activations held = fifo_activations(e->module);
    json_write_key(w, STR("activations"));
    json_begin_object(w);
    json_member_count(w, "window_bits", held.window_bits);
    json_member_count(w, "skip_bits", held.skip_bits);
    json_member_count(w, "fifo_bits", held.fifo_bits);
    for (int k = COST_BRAM18; k <= COST_FF; k++)
        json_member_count(w, cost_names[k].key, held.is_known ? held.cost.items[k] : -1);
    json_end_object(w);
    json_write_line(w, 2);
}

/* The images that a frame is, if they are several. */
static void add_images(const Emitter *e, JsonWriter *w)
{
    const Attr *images = op_attr(e->module, DFG_ATTR_IMAGES);
    if (!images) return;
    json_member_count(w, "images", attr_int_value(images));
    json_write_line(w, 2);
}

/* Weights that are read from memory, if there are any. */
static void add_streamed(Emitter *e, JsonWriter *w)
{
    static const char *const names[] = {EMITHLS_STREAMED_PORTS, EMITHLS_STREAMED_BITS,
                                        EMITHLS_STREAMED_RATE};
    const Attr *streamed = op_attr(e->top, EMITHLS_ATTR_STREAMED);
    if (!streamed) return;
    json_write_key(w, STR("streamed_weights"));
    json_begin_object(w);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        json_member_count(w, names[i], attr_dict_int(streamed, names[i], 0));
    json_member_count(w, "memory_cycles", emithls_streamed_cycles(e->top));
    json_end_object(w);
    json_write_line(w, 2);
}

/* What was warned of: about the network, then about functions. */
static void add_warnings(Emitter *e, JsonWriter *w)
{
    const Attr *network = op_attr(e->module, DFG_ATTR_WARNINGS);
    size_t count = network && network->kind == ATTR_ARRAY ? network->u.array.count : 0;
    if (count + e->warnings.len == 0) return;
    json_member_array(w, "warnings");
    for (size_t i = 0; i < count; i++) {
        const Attr *item = network->u.array.items[i];
        json_write_line(w, 4);
        json_write_string(w, item->kind == ATTR_STRING ? item->u.string : STR(""));
    }
    for (size_t i = 0; i < e->warnings.len; i++) {
        json_write_line(w, 4);
        json_write_string(w, str_from(e->warnings.data[i]));
    }
    json_write_line(w, 2);
    json_end_array(w);
    json_write_line(w, 2);
}

void emit_report(Emitter *e, StrBuf *out)
{
    JsonWriter w = {.out = out};
    json_begin_object(&w);
    json_write_line(&w, 2);
    json_member_string(&w, "generator", STR("ming")); /* REPORT_START is this text */
    json_write_line(&w, 2);
    json_member_string(&w, "top", str_from(e->top_name));
    json_write_line(&w, 2);
    add_choice(e, &w);
    add_totals(e, &w);
    add_timing(e, &w);
    add_images(e, &w);
    add_streamed(e, &w);
    add_activations(e, &w);
    add_warnings(e, &w);
    dies_print_json(e->module, &e->fifos, &w);
    add_processes(e, &w);
    add_requantizers(e, &w);
    add_fifos(e, &w);
    add_ports(e, &w);
    json_write_line(&w, 0);
    json_end_object(&w);
    strbuf_add_char(out, '\n');
}
