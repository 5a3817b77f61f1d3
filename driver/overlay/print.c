/* What a search found, as a table. All of it is predicted. */
#include "driver/overlay/internal.h"
#include "emit/overlay/overlay.h"

static double milliseconds(const OverlayRequest *request, double cycles)
{
    return cycles / ((double)request->target->clock * 1e3);
}

static void print_networks(const OverlayRequest *request, const OverlayFound *found, StrBuf *out)
{
    static const char *const titles[] = {"network",     "MMAC",        "cycles",
                                         "ms",          "roofline ms", "x roofline",
                                         "array use %", "MB loaded",   "maps outside"};
    TextTable table = {.columns = COUNT_OF(titles), .first_number = 1};
    double slots = (double)found->size.rows * found->size.cols;
    for (size_t i = 0; i < COUNT_OF(titles); i++) text_table_add(&table, titles[i]);
    for (size_t i = 0; i < request->model_count; i++) {
        const OverlayFigure *figure = &found->figures[i];
        const ProgramEstimate *estimate = &figure->estimate;
        double cycles = (double)estimate->cycles;
        text_table_add(&table, request->models[i].name);
        strbuf_printf(text_table_cell(&table), "%.1f", (double)estimate->products / 1e6);
        text_table_add_int(&table, (int64_t)estimate->cycles);
        strbuf_printf(text_table_cell(&table), "%.3f", milliseconds(request, cycles));
        strbuf_printf(text_table_cell(&table), "%.3f", milliseconds(request, figure->roofline));
        strbuf_printf(text_table_cell(&table), "%.2f", cycles / figure->roofline);
        strbuf_printf(text_table_cell(&table), "%.1f",
                      100 * (double)estimate->products / (slots * cycles));
        strbuf_printf(text_table_cell(&table), "%.2f", (double)estimate->weight_bytes / 1e6);
        text_table_add_int(&table, estimate->outside);
    }
    text_table_print(&table, out);
    text_table_free(&table);
}

static void print_dies(const OverlayRequest *request, const OverlayFound *found, StrBuf *out)
{
    const Device *device = &request->target->device;
    const OverlayPlace *place = &found->place;
    if (device->die_count < 2) return;
    if (request->is_for_each_die) {
        strbuf_printf(out,
                      "%lld engine%s, one on each die that holds one, each for images of its own\n",
                      (long long)place->engines, place->engines > 1 ? "s" : "");
        return;
    }
    strbuf_add_c(out, "rows on dies:");
    for (uint32_t i = 0; i < device->die_count; i++)
        strbuf_printf(out, "%s %s %lld%s", i > 0 ? "," : "", device->dies[i].name.data,
                      (long long)place->rows[i], i == place->die ? " and buffers" : "");
    strbuf_printf(out, "; at most %lld wires at a border, %lld registers in each run\n",
                  (long long)place->wires, (long long)place->registers);
}

void overlay_search_print(const OverlayRequest *request, const OverlayFound *found, StrBuf *out)
{
    static const char *const objectives[] = {"the worst time beside the roofline",
                                             "the sum of times beside the roofline",
                                             "the sum of times in cycles"};
    print_networks(request, found, out);
    strbuf_printf(out,
                  "Predicted by our model at %lld MHz, %llu bytes of a bank in 1,000 cycles; "
                  "%s is %.4g\n%lld arrays, %lld of them no better; %lld engines estimated\n",
                  (long long)request->target->clock, (unsigned long long)found->memory.rate,
                  objectives[request->objective], found->value, (long long)found->arrays,
                  (long long)found->excluded, (long long)found->tried);
    print_dies(request, found, out);
    strbuf_add_c(out, "--overlay=");
    overlay_search_print_sizes(&found->size, ',', out);
    strbuf_add_char(out, '\n');
}
