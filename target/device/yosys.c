/* Reads what Yosys's `stat -json` prints behind synth_xilinx. Cells are counted as the resources that
 * they take (UG974): a LUT that holds a shift register or a RAM is a LUT, multiplexers and carry
 * chains are beside the LUTs, inverters disappear in what they drive.
 * Tests: lit/tools/ming-report-yosys.test */
#include <jansson.h>
#include <string.h>

#include "ir/asm/print/print.h"
#include "target/device/device.h"

static const int64_t max_report_bytes = INT64_C(1) << 28;

/* What a cell takes. */
static const struct {
    const char *cell;
    SynthFigures each;
} cells[] = {
    {"LUT1", {.lut = 1}},        {"LUT2", {.lut = 1}},        {"LUT3", {.lut = 1}},
    {"LUT4", {.lut = 1}},        {"LUT5", {.lut = 1}},        {"LUT6", {.lut = 1}},
    {"SRL16E", {.lut = 1}},      {"SRLC32E", {.lut = 1}},     {"RAM32M", {.lut = 4}},
    {"RAM64M", {.lut = 4}},      {"RAM32M16", {.lut = 8}},    {"RAM64M8", {.lut = 8}},
    {"RAM32X1D", {.lut = 2}},    {"RAM64X1D", {.lut = 2}},    {"RAM128X1D", {.lut = 4}},
    {"RAM32X1S", {.lut = 1}},    {"RAM64X1S", {.lut = 1}},    {"RAM128X1S", {.lut = 2}},
    {"RAM256X1S", {.lut = 4}},   {"RAM512X1S", {.lut = 8}},   {"RAM32X16DR8", {.lut = 8}},
    {"RAM64X8SW", {.lut = 8}},   {"FDRE", {.ff = 1}},         {"FDSE", {.ff = 1}},
    {"FDCE", {.ff = 1}},         {"FDPE", {.ff = 1}},         {"DSP48E1", {.dsp = 1}},
    {"DSP48E2", {.dsp = 1}},     {"RAMB18E1", {.bram18 = 1}}, {"RAMB18E2", {.bram18 = 1}},
    {"RAMB36E1", {.bram18 = 2}}, {"RAMB36E2", {.bram18 = 2}}, {"URAM288", {.uram = 1}},
};

static void add_cells(SynthFigures *figures, const char *cell, int64_t count)
{
    for (size_t i = 0; i < COUNT_OF(cells); i++) {
        if (strcmp(cells[i].cell, cell) != 0) continue;
        const SynthFigures *each = &cells[i].each;
        figures->lut += count * each->lut;
        figures->ff += count * each->ff;
        figures->dsp += count * each->dsp;
        figures->bram18 += count * each->bram18;
        figures->uram += count * each->uram;
    }
}

/* node: a module, or the design with everything in it. */
static SynthFigures count_cells(const json_t *node)
{
    SynthFigures figures = {.latency = -1, .interval = -1};
    json_t *types = json_object_get(node, "num_cells_by_type"), *count;
    const char *cell;
    json_object_foreach(types, cell, count) add_cells(&figures, cell, json_integer_value(count));
    return figures;
}

static void read_modules(Context *ctx, const json_t *root, SynthReport *out)
{
    const json_t *creator = json_object_get(root, "creator");
    const char *name;
    json_t *modules = json_object_get(root, "modules"), *module;
    out->version = ident_get_c(ctx, json_is_string(creator) ? json_string_value(creator) : "")->str;
    out->total = count_cells(json_object_get(root, "design"));
    json_object_foreach(modules, name, module)
    {
        const char *plain = name[0] == '\\' ? name + 1 : name;
        *vec_push(&out->modules) = (SynthModule){ident_get_c(ctx, plain)->str, count_cells(module)};
    }
}

bool yosys_read(Context *ctx, const char *path, SynthReport *out)
{
    JsonFile file;
    *out = (SynthReport){.version = STR("")};
    if (!json_file_read(ctx, str_from(path), "synthesis report", max_report_bytes, &file))
        return false;
    bool ok = json_is_object(json_object_get(file.root, "modules")) &&
              json_is_object(json_object_get(file.root, "design"));
    if (ok)
        read_modules(ctx, file.root, out);
    else
        (void)diag_error(ctx, json_file_place(&file, file.root, NULL),
                         "is not what Yosys's 'stat -json' prints: has no 'modules' and 'design'");
    diag_flush(ctx);
    json_file_free(&file);
    return ok;
}
