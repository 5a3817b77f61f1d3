/* Build files: Makefile, hls_config.cfg, run_hls.tcl and .clang-format. The only name of the model
 * in them is the top function's, which is an identifier; paths that a user gives reach the shell
 * through the environment only. So no model can inject commands.
 * Tests: lit/emit/build-files.mir, test/e2e */
#include <assert.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "emit/internal.h"
#include "ir/asm/print/print.h"
#include "schedule/schedule.h"
#include "target/device/device.h"

Str emit_part(const Op *module)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    const Attr *part = attr_dict_get_c(op_attr(module, DFG_ATTR_BUDGET), DFG_BUDGET_PART);
    bool usable = part && part->kind == ATTR_STRING && part->u.string.len > 0 &&
                  strspn(part->u.string.data, plain) == part->u.string.len;
    return usable ? part->u.string : STR(DEVICE_DEFAULT_PART);
}

void emit_add_period(const Op *module, StrBuf *out)
{
    int64_t mhz =
        attr_dict_int(op_attr(module, DFG_ATTR_BUDGET), DFG_BUDGET_CLOCK_MHZ, CLOCK_DEFAULT_MHZ);
    int64_t picoseconds = 1000000 / (mhz > 0 ? mhz : CLOCK_DEFAULT_MHZ);
    strbuf_printf(out, "%lld", (long long)(picoseconds / 1000));
    if (picoseconds % 1000) strbuf_printf(out, ".%03lld", (long long)(picoseconds % 1000));
}

/* Whether Vitis links the design as a kernel, not Vivado as a block. */
static bool is_kernel(const Emitter *e)
{
    return e->options->platform == EMIT_PLATFORM_XRT && !op_attr(e->module, SYS_ATTR_CARDS);
}

void emit_template(const Emitter *e, StrBuf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (strncmp(c, "TOP", 3) == 0) {
            strbuf_add_c(out, e->top_name);
            c += 2;
        } else if (strncmp(c, "PART", 4) == 0) {
            strbuf_add_str(out, emit_part(e->module));
            c += 3;
        } else if (strncmp(c, "FLOW", 4) == 0) {
            strbuf_add_c(out, is_kernel(e) ? "vitis" : "vivado");
            c += 3;
        } else if (strncmp(c, "FORMAT", 6) == 0) {
            strbuf_add_c(out, is_kernel(e) ? "xo" : "ip_catalog");
            c += 5;
        } else if (strncmp(c, "PERIOD", 6) == 0) {
            emit_add_period(e->module, out);
            c += 5;
        } else {
            strbuf_add_char(out, *c);
        }
    }
}

/* Calls add with "INPUT", "INPUT2", … of the inputs and "OUTPUT", … of the outputs. */
static void each_file(const Emitter *e, StrBuf *out, void (*add)(StrBuf *out, const char *name))
{
    for (int inputs = 1; inputs >= 0; inputs--) {
        int number = 0;
        for (size_t i = 0; i < e->ports.len; i++) {
            char name[24];
            const EmitPort *port = &e->ports.data[i];
            if (port->is_input != (inputs == 1) || port->is_weights || port->instance > 0) continue;
            if (++number == 1)
                snprintf(name, sizeof(name), "%s", inputs ? "INPUT" : "OUTPUT");
            else
                snprintf(name, sizeof(name), "%s%d", inputs ? "INPUT" : "OUTPUT", number);
            add(out, name);
        }
    }
}

static void add_usage(StrBuf *out, const char *name)
{
    strbuf_printf(out, " %s=FILE.npy", name);
}

void emit_csim_arguments(const Emitter *e, StrBuf *out)
{
    each_file(e, out, add_usage);
}

/* make would expand a file name once more on its way into the environment. */
static void add_export(StrBuf *out, const char *name)
{
    strbuf_printf(out, "unexport %s\nexport MING_%s := $(value %s)\n", name, name, name);
}

static void add_test(StrBuf *out, const char *name)
{
    strbuf_printf(out,
                  "\t@test -n \"$$MING_%s\" || "
                  "{ echo \"error: give %s=FILE.npy\" >&2; exit 2; }\n",
                  name, name);
}

static void add_argument(StrBuf *out, const char *name)
{
    strbuf_printf(out, " \"$$MING_%s\"", name);
}

void emit_frame_arguments(const Emitter *e, StrBuf *out)
{
    each_file(e, out, add_argument);
}

void emit_file_arguments(const Emitter *e, StrBuf *out)
{
    emit_frame_arguments(e, out);
    for (size_t i = 0; i < e->ports.len; i++) {
        StrBuf path = {0};
        if (!e->ports.data[i].is_weights) continue;
        emit_weights_path(e, i, &path);
        strbuf_printf(out, " \"$$MING_PROJECT/%s\"", path.data);
        strbuf_free(&path);
    }
}

static void add_trace_usage(const Emitter *e, StrBuf *out)
{
    if (!emit_has_trace(e)) return;
    strbuf_add_c(out,
                 "# make csim-trace TRACE=DIR, with the same files\n"
                 "#   csim that writes the network's tensors inside, too, as 'ming run --trace' "
                 "does\n");
}

static void add_head(const Emitter *e, StrBuf *out)
{
    strbuf_add_c(out, "# make csim");
    each_file(e, out, add_usage);
    strbuf_add_c(out,
                 "\n#   simulates all frames of the input arrays with an ordinary C++ compiler;\n"
                 "#   relative paths start where make was called, also with make -C\n");
    add_trace_usage(e, out);
    strbuf_add_c(
        out, "# make cosim, with the same files\n"
             "#   runs all processes at once against FIFOs of the depths in the stream pragmas,\n"
             "#   or of MING_DEPTHS='name=2 other=0' (0: unbounded); says who waits for whom\n"
             "#   if they deadlock, else how many cycles the frames take\n");
    if (emit_has_emulation(e)) emit_emulation_usage(out);
    strbuf_add_c(
        out, "# make libcsim.so\n"
             "#   makes a shared library of what csim runs; csim/ming_libcsim.h is its interface\n"
             "# make synth\n"
             "#   synthesizes with Vitis HLS as hls_config.cfg says\n"
             "# make vitis-csim, make vitis-cosim");
    each_file(e, out, add_usage);
    emit_template(e, out,
                  "\n#   simulate the C++ and, after synth, the RTL with Vitis HLS;\n"
                  "#   it splits arguments at blanks, so these paths must not have any\n"
                  "# make export\n"
                  "#   packages what synth made, as package.output.format says\n");
    if (e->options->rtl) emit_rtl_usage(out);
    emit_board_usage(e, out);
    emit_template(e, out,
                  "\n"
                  "ifeq ($(origin CXX),default)\nCXX := g++\nendif\n"
                  "CXXFLAGS ?= -std=c++17 -O2 -Wall -Wextra -Wno-unknown-pragmas\n"
                  "VPP ?= v++\n"
                  "VITIS_RUN ?= vitis-run\n\n"
                  "HEADERS := TOP.h TOP_params.h TOP_host.h $(wildcard csim/*.h)\n"
                  "OBJECTS := TOP.o TOP_tb.o\n"
                  "HLS := --mode hls --config hls_config.cfg --work_dir TOP_hls\n\n"
                  "export MING_PROJECT := $(CURDIR)\n"
                  "export MING_CALLER := $(or $(value PWD),$(CURDIR))\n");
    each_file(e, out, add_export);
    if (emit_has_trace(e)) add_export(out, "TRACE");
}

static void add_trace(const Emitter *e, StrBuf *out)
{
    if (!emit_has_trace(e)) return;
    emit_template(e, out,
                  "csim-trace: arguments TOP_tracing\n"
                  "\t@test -n \"$$MING_TRACE\" || { echo \"error: give TRACE=DIR\" >&2; exit 2; }\n"
                  "\t@cd \"$$MING_CALLER\" && \"$$MING_PROJECT/TOP_tracing\"");
    emit_file_arguments(e, out);
    emit_template(e, out,
                  "\n\n"
                  "TOP_tracing: TOP.cpp TOP_tb.cpp TOP_trace.h $(HEADERS)\n"
                  "\t$(CXX) $(CXXFLAGS) $(LDFLAGS) -Icsim -include TOP_trace.h TOP.cpp TOP_tb.cpp "
                  "-o $@\n\n");
}

static void add_csim(const Emitter *e, StrBuf *out)
{
    strbuf_add_c(out, "\n.PHONY: csim csim-trace cosim synth vitis-csim vitis-cosim export "
                      "arguments data clean\n\n"
                      ".DEFAULT_GOAL := csim\n\n"
                      "arguments:\n");
    each_file(e, out, add_test);
    emit_template(e, out,
                  "\n"
                  "csim: arguments TOP_csim\n"
                  "\t@cd \"$$MING_CALLER\" && \"$$MING_PROJECT/TOP_csim\"");
    emit_file_arguments(e, out);
    emit_template(e, out,
                  "\n\n"
                  "TOP_csim: $(OBJECTS)\n"
                  "\t$(CXX) $(CXXFLAGS) $(LDFLAGS) $(OBJECTS) -o $@\n\n"
                  "$(OBJECTS): %.o: %.cpp $(HEADERS)\n"
                  "\t$(CXX) $(CXXFLAGS) -Icsim -c $< -o $@\n\n");
    add_trace(e, out);
    emit_template(e, out,
                  "cosim: arguments TOP_cosim\n"
                  "\t@cd \"$$MING_CALLER\" && \"$$MING_PROJECT/TOP_cosim\"");
    emit_file_arguments(e, out);
    emit_template(e, out,
                  "\n\n"
                  "TOP_cosim: TOP_cosim.o TOP_cosim_tb.o\n"
                  "\t$(CXX) $(CXXFLAGS) $(LDFLAGS) TOP_cosim.o TOP_cosim_tb.o -o $@\n\n"
                  "TOP_cosim.o: TOP_cosim.cpp $(HEADERS)\n"
                  "\t$(CXX) $(CXXFLAGS) -Icsim -include csim/ming_cosim.h -c $< -o $@\n\n"
                  "TOP_cosim_tb.o: TOP_tb.cpp $(HEADERS)\n"
                  "\t$(CXX) $(CXXFLAGS) -Icsim -include csim/ming_cosim.h -c $< -o $@\n\n"
                  "libcsim.so: TOP.cpp TOP_lib.cpp $(HEADERS)\n"
                  "\t$(CXX) $(CXXFLAGS) $(LDFLAGS) -Icsim -fPIC -fvisibility=hidden -shared "
                  "TOP.cpp TOP_lib.cpp -o $@\n\n"
                  "TOP_cosim.cpp: TOP.cpp csim/cosim.awk");
    emit_template(e, out,
                  e->has_schedule
                      ? " TOP_schedule.h\n"
                        "\tawk -v schedule=TOP_schedule.h -f csim/cosim.awk TOP.cpp > $@\n\n"
                      : "\n\tawk -f csim/cosim.awk TOP.cpp > $@\n\n");
}

/* Vitis runs testbenches in folders of its own, so they get absolute paths. */
static void add_vitis(const Emitter *e, StrBuf *out)
{
    strbuf_add_c(out, "# $(call installed,TOOL,VARIABLE)\n"
                      "installed = command -v $(firstword $(1)) >/dev/null || \\\n"
                      "\t{ echo \"$(1) is not installed: set $(2) to Vitis's\" >&2; exit 2; }\n\n"
                      "data: arguments\n"
                      "\t@set --");
    emit_file_arguments(e, out);
    emit_template(
        e, out,
        "; list=; \\\n"
        "\tfor file; do \\\n"
        "\t\tcase \"$$file\" in *[[:space:]]*) echo \"error: blank in $$file\" >&2; exit "
        "2;; esac; \\\n"
        "\t\tcase \"$$file\" in /*) ;; *) file=\"$$MING_CALLER/$$file\";; esac; \\\n"
        "\t\tlist=\"$$list $$file\"; \\\n"
        "\tdone; \\\n"
        "\tprintf '[hls]\\ncsim.argv=%s\\ncosim.argv=%s\\n' \"$${list# }\" \"$${list# }\" "
        ">TOP_data.cfg\n\n"
        "synth:\n"
        "\t@$(call installed,$(VPP),VPP)\n"
        "\t$(VPP) -c $(HLS)\n\n"
        "vitis-csim: data\n"
        "\t@$(call installed,$(VITIS_RUN),VITIS_RUN)\n"
        "\t$(VITIS_RUN) --csim $(HLS) --config TOP_data.cfg\n\n"
        "vitis-cosim: data\n"
        "\t@$(call installed,$(VITIS_RUN),VITIS_RUN)\n"
        "\t$(VITIS_RUN) --cosim $(HLS) --config TOP_data.cfg\n\n"
        "export:\n"
        "\t@$(call installed,$(VITIS_RUN),VITIS_RUN)\n"
        "\t$(VITIS_RUN) --package $(HLS)\n\n"
        "clean:\n"
        "\trm -rf TOP_csim TOP_cosim TOP_cosim.cpp TOP_cosim.o TOP_cosim_tb.o libcsim.so "
        "$(OBJECTS) TOP_data.cfg TOP_hls");
    emit_template(e, out, emit_has_trace(e) ? " TOP_tracing" : "");
    emit_template(e, out, e->options->rtl ? " TOP_rtlsim TOP_rtl synth.json synth.log" : "");
    emit_template(e, out, emit_has_emulation(e) ? " TOP_emulate TOP_cards.cpp" : "");
    strbuf_add_c(out, e->options->platform == EMIT_PLATFORM_XRT ? " board/host\n" : "\n");
}

void emit_makefile(Emitter *e, StrBuf *out)
{
    add_head(e, out);
    add_csim(e, out);
    if (emit_has_emulation(e)) emit_emulation_targets(e, out);
    if (e->options->rtl) emit_rtl_targets(e, out);
    emit_board_targets(e, out);
    add_vitis(e, out);
}

void emit_hls_config(Emitter *e, StrBuf *out)
{
    emit_template(e, out,
                  "# Vitis 2023.2 and later; the Makefile says which commands read it.\n"
                  "part=PART\n\n"
                  "[hls]\n"
                  "flow_target=FLOW\n"
                  "clock=PERIODns\n"
                  "syn.top=TOP\n"
                  "syn.file=TOP.cpp\n"
                  "syn.file=TOP.h\n"
                  "syn.file=TOP_params.h\n"
                  "syn.cflags=-std=c++17\n"
                  "tb.file=TOP_tb.cpp\n"
                  "tb.cflags=-std=c++17\n"
                  "syn.compile.enable_auto_rewind=0\n"
                  "csim.O=true\n"
                  "package.output.format=FORMAT\n"
                  "package.output.syn=false\n");
    /* Ports stay as wide as the host packs them. */
    if (is_kernel(e))
        emit_template(e, out,
                      "package.output.file=TOP.xo\n"
                      "syn.interface.m_axi_max_widen_bitwidth=0\n");
}

static void add_word(StrBuf *out, const char *name)
{
    strbuf_printf(out, " %s", name);
}

void emit_tcl(Emitter *e, StrBuf *out)
{
    strbuf_add_c(out, "# Vitis HLS by Tcl, without hls_config.cfg:\n#  ");
    each_file(e, out, add_usage);
    strbuf_add_c(out, " vitis-run --mode hls --tcl run_hls.tcl\n#   (before 2024.2:");
    each_file(e, out, add_usage);
    emit_template(e, out,
                  " vitis_hls -f run_hls.tcl)\n"
                  "# Without the files it only synthesizes and exports.\n\n"
                  "set files {}\n"
                  "set names [list");
    each_file(e, out, add_word);
    emit_template(e, out,
                  "]\n"
                  "foreach name $names {\n"
                  "    if {[info exists ::env($name)]} {\n"
                  "        lappend files [file normalize $::env($name)]\n"
                  "    }\n"
                  "}\n"
                  "set simulate [expr {[llength $files] == [llength $names]}]\n");
    for (size_t i = 0; i < e->ports.len; i++) {
        StrBuf path = {0};
        if (!e->ports.data[i].is_weights) continue;
        emit_weights_path(e, i, &path);
        strbuf_printf(out, "lappend files [file normalize %s]\n", path.data);
        strbuf_free(&path);
    }
    emit_template(e, out,
                  "\n"
                  "open_project -reset TOP_hls\n"
                  "set_top TOP\n"
                  "add_files TOP.cpp -cflags \"-std=c++17\"\n"
                  "add_files -tb TOP_tb.cpp -cflags \"-std=c++17\"\n"
                  "open_solution -reset solution1 -flow_target FLOW\n"
                  "set_part {PART}\n"
                  "create_clock -period PERIOD -name default\n"
                  "config_compile -enable_auto_rewind=false\n");
    if (is_kernel(e)) strbuf_add_c(out, "config_interface -m_axi_max_widen_bitwidth 0\n");
    emit_template(e, out,
                  "\n"
                  "if {$simulate} {\n"
                  "    csim_design -O -argv $files\n"
                  "}\n"
                  "csynth_design\n"
                  "if {$simulate} {\n"
                  "    cosim_design -argv $files\n"
                  "}\n"
                  "export_design -format FORMAT");
    if (is_kernel(e)) emit_template(e, out, " -output board/TOP.xo");
    strbuf_add_c(out, "\nexit\n");
}

/* The emitted files are fixed points of clang-format in this style. */
void emit_style(Emitter *e, StrBuf *out)
{
    (void)e;
    strbuf_add_c(out, "BasedOnStyle: LLVM\n"
                      "IndentWidth: 4\n"
                      "ColumnLimit: 0\n"
                      "BreakBeforeBraces: Linux\n"
                      "AlwaysBreakTemplateDeclarations: Yes\n"
                      "AllowShortFunctionsOnASingleLine: None\n"
                      "IndentGotoLabels: true\n"
                      "SortIncludes: Never\n");
}
