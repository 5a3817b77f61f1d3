/* A roofline as text and as JSON.
 * Tests: lit/tools/ming-roofline.test */
#include "driver/roofline/roofline.h"

void roofline_add_precision(const Precision *precision, StrBuf *out)
{
    if (precision->is_float)
        strbuf_printf(out, "f%u", precision->weight_bits);
    else
        strbuf_printf(out, "%u x %u bits", precision->weight_bits, precision->input_bits);
}

static void add_real(TextTable *table, const char *fmt, double value, bool is_known)
{
    if (!is_known) {
        text_table_add(table, "-");
        return;
    }
    strbuf_printf(text_table_cell(table), *fmt == '1' ? "%.1f" : "%.3g", value);
}

static void print_peaks(const Roofline *r, StrBuf *out)
{
    static const char *const titles[] = {"weight x input", "MACs", "LUT per MAC", "MAC per DSP",
                                         "GOP/s"};
    TextTable table = {.columns = COUNT_OF(titles), .first_number = 1};
    for (size_t i = 0; i < COUNT_OF(titles); i++) text_table_add(&table, titles[i]);
    for (uint32_t i = 0; i < r->peak_count; i++) {
        const RooflinePeak *peak = &r->peaks[i];
        roofline_add_precision(&peak->precision, text_table_cell(&table));
        if (peak->macs > 0)
            text_table_add_int(&table, peak->macs);
        else
            text_table_add(&table, "-");
        add_real(&table, "3", peak->lut_per_mac, true);
        add_real(&table, "3", peak->mac_per_dsp, true);
        add_real(&table, "1", peak->gops, true);
    }
    text_table_print(&table, out);
    text_table_free(&table);
}

void roofline_print_text(const Roofline *r, Str network, Str device, StrBuf *out)
{
    strbuf_printf(out,
                  "%.*s on %.*s at %lld MHz, %lld LUTs and %lld DSP slices that compute, "
                  "predicted\n\n",
                  STR_ARG(network), STR_ARG(device), (long long)r->clock, (long long)r->lut,
                  (long long)r->dsp);
    print_peaks(r, out);
    strbuf_printf(out, "\noperations per frame   %lld\n", (long long)r->ops);
    strbuf_printf(out, "bytes moved per frame  %.1f (%s)\n", r->moved_bytes,
                  r->fits ? "ports; constants stay on the chip"
                          : "ports, and constants that the chip cannot hold");
    strbuf_printf(out, "operations per byte    %.1f\n", r->intensity);
    strbuf_printf(out, "compute                %.1f GOP/s at this mix of precisions\n",
                  r->compute_gops);
    if (r->bandwidth > 0)
        strbuf_printf(out, "memory                 %.1f GOP/s at %.1f GB/s\n", r->memory_gops,
                      r->bandwidth);
    else
        strbuf_add_c(out, "memory                 not known; --bandwidth says what it brings\n");
    strbuf_printf(out, "roof                   %.1f GOP/s, %.1f frames/s, limited by %s\n", r->gops,
                  r->fps, r->gops < r->compute_gops ? "memory" : "compute");
}

static void member_real(JsonWriter *w, const char *key, double value, bool is_known)
{
    json_write_key(w, str_from(key));
    if (is_known)
        json_write_number(w, "%.6g", value);
    else
        json_write_null(w);
}

static void add_peak(JsonWriter *w, const RooflinePeak *peak)
{
    json_write_line(w, 4);
    json_begin_object(w);
    json_member_int(w, "weight_bits", peak->precision.weight_bits);
    json_member_int(w, "input_bits", peak->precision.input_bits);
    json_member_bool(w, "float", peak->precision.is_float);
    json_member_int(w, "macs", peak->macs);
    member_real(w, "lut_per_mac", peak->lut_per_mac, true);
    member_real(w, "mac_per_dsp", peak->mac_per_dsp, true);
    member_real(w, "peak_gops", peak->gops, true);
    json_end_object(w);
}

static void add_network(JsonWriter *w, const Roofline *r)
{
    json_write_line(w, 2);
    json_member_int(w, "ops_per_frame", r->ops);
    json_member_int(w, "port_bits", r->port_bits);
    json_member_int(w, "constant_bits", r->constant_bits);
    json_member_bool(w, "constants_fit", r->fits);
    json_write_line(w, 2);
    member_real(w, "moved_bytes", r->moved_bytes, true);
    member_real(w, "ops_per_byte", r->intensity, r->moved_bytes > 0);
    member_real(w, "bandwidth_gbytes", r->bandwidth, r->bandwidth > 0);
    json_write_line(w, 2);
    member_real(w, "compute_gops", r->compute_gops, true);
    member_real(w, "memory_gops", r->memory_gops, r->memory_gops > 0);
    member_real(w, "predicted_gops", r->gops, true);
    member_real(w, "predicted_fps", r->fps, true);
    json_member_string(w, "limit", r->gops < r->compute_gops ? STR("memory") : STR("compute"));
}

void roofline_print_json(const Roofline *r, Str network, Str device, StrBuf *out)
{
    JsonWriter w = {.out = out};
    json_begin_object(&w);
    json_write_line(&w, 2);
    json_member_string(&w, "network", network);
    json_member_string(&w, "device", device);
    json_member_int(&w, "clock_mhz", r->clock);
    json_member_int(&w, "lut", r->lut);
    json_member_int(&w, "dsp", r->dsp);
    add_network(&w, r);
    json_write_line(&w, 2);
    json_member_array(&w, "peaks");
    for (uint32_t i = 0; i < r->peak_count; i++) add_peak(&w, &r->peaks[i]);
    json_write_line(&w, 2);
    json_end_array(&w);
    json_write_line(&w, 0);
    json_end_object(&w);
    strbuf_add_char(out, '\n');
}
