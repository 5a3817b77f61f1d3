/* The project's files. Nothing in them is a model's but the text of a program; the part is a word of a
 * device's description.
 * Tests: lit/emit/overlay.test, test/e2e/engine_csim_check.py */
#include <ctype.h>
#include <string.h>

#include "emit/emit.h"
#include "emit/overlay/internal.h"
#include "ir/asm/print/print.h"
#include "target/device/device.h"
#include "target/overlay/overlay.h"

#define TOP "engine"

static const char *const SOURCES[] = {
    "activations.cpp", "alu.cpp",        "array.cpp",        "compute.cpp",   "engine.cpp",
    "engine.h",        "engine_files.h", "engine_program.h", "engine_tb.cpp", "fetch.cpp",
    "fill.cpp",        "semaphores.cpp", "transfers.cpp"};
static const char *const HOST[] = {"engine_host.cpp", "engine_xrt.h", "engine_zynq.h"};
static const char *const BOARD[] = {"host_main.h", "two_sided.h"};
static const char *const CSIM[] = {"ap_int.h",     "ap_limbs.h",       "ap_ref.h",     "ap_text.h",
                                   "hls_stream.h", "ming_coroutine.h", "ming_fibres.h"};

static StrBuf *add_file(EmittedFiles *files, const char *folder, const char *name)
{
    EmittedFile *file = vec_push(files);
    *file = (EmittedFile){0};
    strbuf_printf(&file->name, "%s%s", folder, name);
    return &file->text;
}

static bool add_copies(Context *ctx, EmittedFiles *files, const char *to, const char *from,
                       const char *const *names, size_t count)
{
    StrBuf path = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        const char *reason;
        strbuf_clear(&path);
        strbuf_printf(&path, "%s/%s", from, names[i]);
        ok = file_read(add_file(files, to, names[i]), path.data, &reason) ||
             diag_error(ctx, loc_unknown(ctx), "cannot read '%s': %s", path.data, reason);
    }
    strbuf_free(&path);
    return ok;
}

/* constexpr int NAME = value; for each parameter, of which the words of a file are in their order */
static void add_sizes(StrBuf *out, const SaOverlay *o)
{
    uint32_t words[SA_OVERLAY_WORDS];
    sa_overlay_to_words(o, words);
    for (size_t i = 0; i < SA_OVERLAY_PARAMS; i++) {
        const SaParam *param = &sa_overlay_params[i];
        strbuf_add_c(out, "constexpr int ");
        for (const char *c = param->name; *c; c++)
            strbuf_add_char(out, (char)toupper((unsigned char)*c));
        strbuf_printf(out, "%s = %u; /* %s */\n", strcmp(param->name, "acc") == 0 ? "_BITS" : "",
                      words[i], param->summary);
    }
    strbuf_printf(out,
                  "constexpr int ACT_BITS = %u, WEIGHT_BITS = %u, MOST_PLANES = %d;\n"
                  "constexpr bool ACT_IS_UNSIGNED = %s, IS_POPCOUNT = %s;\n\n",
                  o->act_bits, o->weight_bits, SA_MOST_PLANES,
                  o->act_is_unsigned ? "true" : "false", sa_is_popcount(o) ? "true" : "false");
}

static void add_fingerprint(StrBuf *out, const Attr *overlay)
{
    uint8_t bytes[OVERLAY_FINGERPRINT_BYTES];
    overlay_fingerprint(overlay, bytes);
    strbuf_printf(out, "constexpr unsigned FINGERPRINT[FINGERPRINT_WORDS] = {");
    for (size_t i = 0; i < sizeof bytes; i += 4)
        strbuf_printf(out, "%s0x%02X%02X%02X%02Xu", i ? ", " : "", bytes[i + 3], bytes[i + 2],
                      bytes[i + 1], bytes[i]);
    strbuf_add_c(out, "};\nconstexpr const char *FINGERPRINT_TEXT = \"");
    attr_print(out, overlay);
    strbuf_add_c(out, "\";\n\n");
}

static void print_config(StrBuf *out, const Attr *attr)
{
    SaOverlay overlay = sa_overlay(attr);
    strbuf_add_c(out, "/* What this engine is built with, generated. */\n"
                      "#ifndef ENGINE_CONFIG_H\n#define ENGINE_CONFIG_H\n\n");
    add_sizes(out, &overlay);
    strbuf_printf(
        out,
        "constexpr int PARAM_BITS = 32, BEAT_BITS = %d;\n"
        "constexpr int PAGE_WORDS = %u, PU_WORDS = %d, PU_REGS = %d, SEMAPHORES = %d;\n"
        "constexpr int QUEUE = %d; /* commands that wait in front of a unit */\n"
        "constexpr int POOL_LATENCY = %d; /* requests at least from a word to itself */\n",
        8 * SA_BEAT_BYTES, sa_page_words(&overlay), SA_PU_WORDS,
        overlay.pu_kind == SA_PU_ALL ? SA_PU_REGS : SA_FEW_PU_REGS, SA_SEMAPHORES, SA_QUEUE,
        SA_POOL_LATENCY);
    strbuf_printf(
        out,
        "/* Banks of external memory, a port for each. */\n"
        "constexpr int BANK_MAPS = %d, BANK_WEIGHTS = %d, BANK_PARAMETERS = %d;\n"
        "#define WEIGHT_PORTS %u /* that of the weights is so many, beat by beat in turn */\n\n",
        SA_BANK_MAPS, SA_BANK_WEIGHTS, SA_BANK_PARAMETERS, overlay.weight_banks);
    strbuf_add_c(out,
                 "/* Words of the activations that a vector takes, and lanes of it in each. */\n"
                 "constexpr int VECTOR_WORDS = ROWS > COLS ? ROWS / COLS : 1;\n"
                 "constexpr int VECTOR_LANES = ROWS > COLS ? COLS : ROWS;\n\n");
    strbuf_printf(out,
                  "/* Of a program's file. */\n"
                  "constexpr unsigned MAGIC = 0x3141534Du, VERSION = 2;\n"
                  "constexpr int SIZE_WORDS = %d, FINGERPRINT_WORDS = %d;\n",
                  SA_OVERLAY_WORDS + 2, OVERLAY_FINGERPRINT_BYTES / 4);
    add_fingerprint(out, attr);
    strbuf_add_c(out, "#endif\n");
}

static void print_host_targets(StrBuf *out)
{
    strbuf_add_c(
        out, "HOST_HEADERS := $(wildcard host/*.h) engine_config.h engine_files.h\n\n"
             "host/engine_emulate: host/engine_host.cpp $(HOST_HEADERS) $(PARTS)\n"
             "\t$(CXX) $(CXXFLAGS) -DMING_EMULATE -I. -Ihost -Icsim -include csim/ming_fibres.h "
             "host/engine_host.cpp $(PARTS) -o $@ -pthread\n\n"
             "emulate: host/engine_emulate\n"
             "\t@test -n \"$$MING_BANKS\" -a -n \"$$MING_RESULTS\" || "
             "{ echo \"error: give BANKS=FOLDER and RESULTS=FILE\" >&2; exit 2; }\n"
             "\tcd \"$$MING_CALLER\" && \"$$MING_PROJECT/host/engine_emulate\" $(HOST_FLAGS) "
             "\"$$MING_BANKS\" \"$$MING_RESULTS\"\n\n");
    emit_xrt_headers(out);
    strbuf_add_c(
        out,
        "host: host/engine_host\n\n"
        "host/engine_host: host/engine_host.cpp $(HOST_HEADERS)\n"
        "\t@test -n \"$(XRT_HEADER)\" || { echo \"error: XRT is not installed: set XILINX_XRT\" "
        ">&2; exit 2; }\n"
        "\t$(CXX) $(CXXFLAGS) $(XRT_CXXFLAGS) -I. -Ihost host/engine_host.cpp -o $@ $(LDFLAGS) "
        "$(XRT_LIBS) -pthread\n\n"
        "zynq: host/engine_zynq\n\n"
        "host/engine_zynq: host/engine_host.cpp $(HOST_HEADERS)\n"
        "\t$(CXX) $(CXXFLAGS) -DMING_ZYNQ -D_FILE_OFFSET_BITS=64 -I. -Ihost host/engine_host.cpp "
        "-o $@ $(LDFLAGS) "
        "-pthread\n\n");
}

/* What the host must know of the card. */
static void print_host_config(StrBuf *out, const OverlayHlsOptions *options)
{
    strbuf_printf(
        out,
        "/* What the host knows of the card, generated. The two about transfers are those of "
        "system files. */\n"
        "#ifndef HOST_CONFIG_H\n#define HOST_CONFIG_H\n\n"
        "constexpr int HOST_KERNELS = %lld, HOST_CLOCK_MHZ = %lld;\n"
        "constexpr double HOST_PCIE_GBYTES = %d, HOST_TRANSFER_US = %d;\n\n#endif\n",
        (long long)options->kernels, (long long)options->clock, SYSTEM_PCIE_GBYTES,
        SYSTEM_TRANSFER_US);
}

/* A bank for maps, program and parameters, and one for each port of the weights. */
static void print_banks(StrBuf *out, const OverlayHlsOptions *options, int64_t kernel,
                        uint32_t weight_ports)
{
    static const char *const maps[] = {"program", "maps_in", "maps_out", "parameters", "status"};
    int64_t first = kernel * (1 + (int64_t)weight_ports);
    for (size_t i = 0; i < COUNT_OF(maps); i++)
        strbuf_printf(out, "sp=engine_%lld.%s:%.*s[%lld]\n", (long long)kernel + 1, maps[i],
                      STR_ARG(options->bank_name), (long long)(first % options->bank_count));
    for (uint32_t port = 0; port < weight_ports; port++) {
        strbuf_printf(out, "sp=engine_%lld.weights", (long long)kernel + 1);
        if (port > 0) strbuf_printf(out, "_%u", port);
        strbuf_printf(out, ":%.*s[%lld]\n", STR_ARG(options->bank_name),
                      (long long)((first + 1 + port) % options->bank_count));
    }
}

static void print_link(StrBuf *out, const OverlayHlsOptions *options, uint32_t weight_ports)
{
    strbuf_printf(out,
                  "# v++ --link --platform=NAME --config=host/link.cfg engine.xo -o engine.xclbin\n"
                  "[connectivity]\nnk=engine:%lld",
                  (long long)options->kernels);
    for (int64_t k = 1; k <= options->kernels; k++)
        strbuf_printf(out, "%cengine_%lld", k == 1 ? ':' : '.', (long long)k);
    strbuf_add_char(out, '\n');
    for (int64_t k = 0; options->bank_count > 0 && k < options->kernels; k++)
        print_banks(out, options, k, weight_ports);
    strbuf_printf(out, "\n[clock]\ndefaultFreqHz=%lld\n", (long long)options->clock * 1000000);
}

static void print_makefile(StrBuf *out)
{
    strbuf_add_c(
        out,
        "# make emulate BANKS=FOLDER RESULTS=FILE [HOST_FLAGS=...]\n"
        "#   runs the frames of `ming engine --banks=FOLDER` by the host's program on engines in "
        "place of\n"
        "#   a card's; make host makes the program for a card, where XRT is installed, make zynq\n"
        "#   that for a Zynq device (CXX=aarch64-linux-gnu-g++ or arm-linux-gnueabihf-g++)\n"
        "# make csim PROGRAM=program.bin MAPS=bank0.bin WEIGHTS=bank1.bin "
        "PARAMETERS=bank2.bin OUTPUT=FILE\n"
        "#   runs a program with an ordinary C++ compiler; `ming engine --banks` writes "
        "the files;\n"
        "#   relative paths start where make was called, also with make -C\n"
        "# make synth\n"
        "#   synthesizes with Vitis HLS as run_hls.tcl says\n\n"
        "ifeq ($(origin CXX),default)\nCXX := g++\nendif\n"
        "CXXFLAGS ?= -std=c++17 -O3 -Wall -Wextra -Wno-unknown-pragmas -Wno-unused-label\n"
        "VITIS_RUN ?= vitis-run\n\n"
        "SOURCES := $(wildcard *.cpp)\n"
        "PARTS := $(filter-out engine_tb.o,$(SOURCES:.cpp=.o))\n"
        "OBJECTS := $(SOURCES:.cpp=.o)\n"
        "HEADERS := $(wildcard *.h csim/*.h)\n"
        "FILES := PROGRAM MAPS WEIGHTS PARAMETERS OUTPUT BANKS RESULTS\n"
        "unexport $(FILES)\n"
        "export MING_CALLER := $(or $(value PWD),$(CURDIR))\n"
        "export MING_PROJECT := $(CURDIR)\n");
    static const char *const files[] = {"PROGRAM", "MAPS", "WEIGHTS", "PARAMETERS", "OUTPUT"};
    for (size_t i = 0; i < COUNT_OF(files); i++)
        strbuf_printf(out, "export MING_%s := $(value %s)\n", files[i], files[i]);
    strbuf_add_c(out, "export MING_BANKS := $(value BANKS)\n"
                      "export MING_RESULTS := $(value RESULTS)\n");
    strbuf_add_c(out, "\n.PHONY: csim emulate host zynq synth clean\n\n"
                      "%.o: %.cpp $(HEADERS)\n"
                      "\t$(CXX) $(CXXFLAGS) -Icsim -include csim/ming_fibres.h -c $< -o $@\n\n"
                      "engine_csim: $(OBJECTS)\n"
                      "\t$(CXX) $(CXXFLAGS) $(OBJECTS) -o $@\n\n"
                      "csim: engine_csim\n");
    for (size_t i = 0; i < COUNT_OF(files); i++)
        strbuf_printf(out,
                      "\t@test -n \"$$MING_%s\" || { echo \"error: give %s=FILE\" >&2; exit 2; }\n",
                      files[i], files[i]);
    strbuf_add_c(out, "\tcd \"$$MING_CALLER\" && \"$$MING_PROJECT/engine_csim\"");
    for (size_t i = 0; i < COUNT_OF(files); i++) strbuf_printf(out, " \"$$MING_%s\"", files[i]);
    strbuf_add_c(out, "\n\n");
    print_host_targets(out);
    strbuf_add_c(out, "synth:\n\t$(VITIS_RUN) --mode hls --tcl run_hls.tcl\n\n"
                      "clean:\n\trm -f $(OBJECTS) engine_csim host/engine_host host/engine_emulate "
                      "host/engine_zynq\n");
}

static void print_tcl(StrBuf *out, const OverlayHlsOptions *options)
{
    strbuf_add_c(
        out, "# Vitis HLS: vitis-run --mode hls --tcl run_hls.tcl (before 2024.2: vitis_hls -f).\n"
             "# C simulation is the Makefile's, since processes wait for each other in circles.\n\n"
             "open_project -reset engine_hls\nset_top " TOP "\n");
    for (size_t i = 0; i < COUNT_OF(SOURCES); i++)
        if (strstr(SOURCES[i], ".cpp") && strcmp(SOURCES[i], "engine_tb.cpp") != 0)
            strbuf_printf(out, "add_files %s -cflags \"-std=c++17\"\n", SOURCES[i]);
    int64_t picoseconds = 1000000 / options->clock;
    strbuf_printf(out,
                  "open_solution -reset solution1 -flow_target vitis\n"
                  "set_part {%.*s}\ncreate_clock -period %lld.%03lld -name default\n"
                  "csynth_design\nexport_design -format xo -output engine.xo\n",
                  STR_ARG(options->part), (long long)(picoseconds / 1000),
                  (long long)(picoseconds % 1000));
    if (emit_part_has_ps(options->part))
        strbuf_add_c(out, "# for a block design with the processors\n"
                          "export_design -format ip_catalog\n");
    strbuf_add_c(out, "exit\n");
}

static void add_cost(JsonWriter *w, const char *name, const Cost *cost)
{
    static const CostKind kinds[] = {COST_DSP, COST_BRAM18, COST_URAM, COST_LUT, COST_FF};
    json_write_line(w, 4);
    json_member_object(w, name);
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        json_member_int(w, cost_names[kinds[i]].key, cost->items[kinds[i]]);
    json_end_object(w);
}

/* Begins as reports of accelerators do, so that a project is known for one of ming's. */
static void print_report(StrBuf *out, const Attr *overlay, const OverlayHlsOptions *options)
{
    OverlayHlsPart parts[OVERLAY_HLS_PARTS];
    Cost total;
    SaOverlay size = sa_overlay(overlay);
    StrBuf text = {0};
    JsonWriter w = {.out = out};
    overlay_hls_cost(&size, &options->device, parts, &total);
    attr_print(&text, overlay);
    json_begin_object(&w);
    json_write_line(&w, 2);
    json_member_string(&w, "generator", STR("ming"));
    json_write_line(&w, 2);
    json_member_string(&w, "top", STR(TOP));
    json_write_line(&w, 2);
    json_member_string(&w, "overlay", strbuf_str(&text));
    json_write_line(&w, 2);
    json_member_string(&w, "part", options->part);
    json_member_int(&w, "clock_mhz", options->clock);
    json_write_line(&w, 2);
    json_member_object(&w, "predicted");
    add_cost(&w, "total", &total);
    for (size_t i = 0; i < OVERLAY_HLS_PARTS; i++) add_cost(&w, parts[i].name, &parts[i].cost);
    json_end_object(&w);
    json_end_object(&w);
    strbuf_add_char(out, '\n');
    strbuf_free(&text);
}

/* In place of UltraRAM. */
static void use_block_ram(StrBuf *text)
{
    static const char from[] = "impl = uram";
    for (char *at = text->data; at && (at = strstr(at, from)); at += sizeof from - 1)
        at[sizeof from - 1 - strlen("uram")] = 'b';
}

bool overlay_hls_write(Context *ctx, const Attr *overlay, const OverlayHlsOptions *options,
                       StrBuf *why)
{
    EmittedProject project = {0};
    EmittedFiles *files = &project.files;
    bool ok = add_copies(ctx, files, "", options->engine_dir, SOURCES, COUNT_OF(SOURCES)) &&
              add_copies(ctx, files, "csim/", options->csim_dir, CSIM, COUNT_OF(CSIM)) &&
              add_copies(ctx, files, "host/", options->engine_dir, HOST, COUNT_OF(HOST)) &&
              add_copies(ctx, files, "host/", options->board_dir, BOARD, COUNT_OF(BOARD));
    SaOverlay size = sa_overlay(overlay);
    const bool is_uram = overlay_hls_uses_uram(&size, options->device.has_uram);
    for (size_t i = 0; ok && !is_uram && i < files->len; i++) use_block_ram(&files->data[i].text);
    if (ok) {
        print_config(add_file(files, "", "engine_config.h"), overlay);
        overlay_hls_print_isa(add_file(files, "", "engine_isa.h"));
        print_host_config(add_file(files, "host/", "host_config.h"), options);
        print_link(add_file(files, "host/", "link.cfg"), options, size.weight_banks);
        print_makefile(add_file(files, "", "Makefile"));
        print_tcl(add_file(files, "", "run_hls.tcl"), options);
        print_report(add_file(files, "", "report.json"), overlay, options);
        if (options->program.len > 0)
            strbuf_add_str(add_file(files, "", TOP ".mir"), options->program);
        ok = emit_write_project(options->output_dir, files, why);
    }
    emitted_project_free(&project);
    return ok;
}
