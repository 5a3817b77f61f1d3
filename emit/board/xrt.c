/* Projects for cards with XRT: board/design.h, which says what host.cpp must know, board/link.cfg, the
 * kernel that sends weights, and the targets of the Makefile. The only names in them are those of the
 * C++, which are identifiers.
 *
 *   host ─▶ memory ─▶ TOP ─▶ memory ─▶ host
 *   host ─▶ memory ─▶ TOP_load ─▶ stream ─▶ TOP      weights, once
 *
 * Tests: lit/driver/ming-compile-platform.mir, test/e2e/board_check.py */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "emit/board/internal.h"
#include "ir/asm/print/print.h"
#include "schedule/schedule.h"

static bool is_memory(const EmitPort *port)
{
    return port->bus != NULL;
}

static bool check_ports(const Emitter *e)
{
    for (size_t i = 0; i < e->ports.len; i++) {
        const EmitPort *port = &e->ports.data[i];
        if (!port->is_weights && !is_memory(port))
            return op_error(e->top, "argument '%s' is no memory, which a card needs", port->name);
    }
    return e->ports.len > 0 || op_error(e->top, "has no ports, so a card has nothing to do");
}

/* Rows of one kind, in the order of libcsim.so: inputs, outputs, weights. */
static void add_rows(const Emitter *e, StrBuf *out, bool is_input, bool is_weights)
{
    for (size_t i = 0; i < e->ports.len; i++) {
        const EmitPort *port = &e->ports.data[i];
        if (port->is_weights != is_weights || (!is_weights && port->is_input != is_input)) continue;
        const char *kind = !is_weights       ? (is_input ? "INPUT" : "OUTPUT")
                           : is_memory(port) ? "STREAMED"
                                             : "WEIGHTS";
        strbuf_printf(out, "        {%s, %zu, %s_host::%s()},\n", kind, i, e->top_name, port->name);
    }
}

bool emit_xrt_design(Emitter *e, StrBuf *out)
{
    if (!check_ports(e)) return false;
    strbuf_add_c(out, "// What host.cpp must know of the design.\n");
    emit_begin_guard(e, out, "_DESIGN_H");
    emit_template(e, out,
                  "#include \"TOP_host.h\"\n\n"
                  "#include <vector>\n\n"
                  "namespace design\n{\n\n"
                  "enum Kind { INPUT, OUTPUT, WEIGHTS, STREAMED };\n\n"
                  "// argument: of the kernel TOP; weights are the first one of TOP_load, and\n"
                  "// those that are streamed lie in ../TOP_NAME.npy and stay in memory\n"
                  "struct Port {\n"
                  "    Kind kind;\n"
                  "    int argument;\n"
                  "    ming::Port port;\n"
                  "};\n\n"
                  "const char top[] = \"TOP\";\n");
    strbuf_printf(out, "const int frames_argument = %zu;\n\n", e->ports.len);
    strbuf_add_c(out, "// Inputs, outputs, weights: the order of libcsim.so.\n"
                      "inline std::vector<Port> ports()\n{\n    return {\n");
    add_rows(e, out, true, false);
    add_rows(e, out, false, false);
    add_rows(e, out, true, true);
    strbuf_add_c(out, "    };\n}\n\n} // namespace design\n\n#endif\n");
    return true;
}

static int64_t clock_mhz(const Emitter *e)
{
    return attr_dict_int(op_attr(e->module, DFG_ATTR_BUDGET), DFG_BUDGET_CLOCK_MHZ,
                         CLOCK_DEFAULT_MHZ);
}

bool emit_xrt_link(Emitter *e, StrBuf *out)
{
    StrBuf die = {0};
    emit_template(
        e, out,
        "# make link; LINK_FLAGS=--connectivity.sp=TOP_1.ARGUMENT:DDR[1] and the like choose\n"
        "# banks, which are otherwise the platform's first.\n"
        "[connectivity]\n"
        "nk=TOP:1:TOP_1\n");
    if (e->weights) {
        emit_template(e, out, "nk=TOP_load:1:TOP_load_1\n");
        emit_template(e, out, "stream_connect=TOP_load_1.weights:TOP_1.");
        strbuf_printf(out, "%s\n", e->weights->name);
    }
    if (emit_only_die(e, &die)) {
        emit_template(e, out, "slr=TOP_1:");
        strbuf_add_str(out, strbuf_str(&die));
        strbuf_add_char(out, '\n');
    }
    emit_banks(e, out);
    strbuf_printf(out, "\n[clock]\ndefaultFreqHz=%lld\n", (long long)clock_mhz(e) * 1000000);
    if (emit_is_placed(e)) strbuf_add_c(out, emit_vivado_section);
    strbuf_free(&die);
    return true;
}

const char emit_loader_body[] =
    "#pragma HLS interface mode = m_axi port = memory bundle = gmem offset = slave\n"
    "#pragma HLS interface mode = s_axilite port = memory\n"
    "#pragma HLS interface mode = axis port = weights\n"
    "#pragma HLS interface mode = s_axilite port = words\n"
    "#pragma HLS interface mode = s_axilite port = return\n"
    "send:\n"
    "    for (int i = 0; i < words; ++i) {\n"
    "#pragma HLS pipeline II = 1\n"
    "        weights.write(memory[i]);\n"
    "    }\n}\n";

bool emit_xrt_loader(Emitter *e, StrBuf *out)
{
    const char *type = cpp_type(e, e->weights->word);
    emit_template(e, out,
                  "// The kernel TOP_load sends the words of weights that lie in memory to TOP.\n"
                  "#include \"../TOP.h\"\n\n"
                  "void TOP_load(");
    strbuf_printf(out, "const %s *memory, hls::stream<%s> &weights, int words)\n{\n", type, type);
    strbuf_add_c(out, emit_loader_body);
    return true;
}

bool emit_xrt_loader_config(Emitter *e, StrBuf *out)
{
    emit_template(e, out,
                  "part=PART\n\n"
                  "[hls]\n"
                  "flow_target=FLOW\n"
                  "clock=PERIODns\n"
                  "syn.top=TOP_load\n"
                  "syn.file=board/load_weights.cpp\n"
                  "syn.cflags=-std=c++17\n"
                  "package.output.format=FORMAT\n"
                  "package.output.syn=false\n"
                  "package.output.file=TOP_load.xo\n"
                  "syn.interface.m_axi_max_widen_bitwidth=0\n");
    return true;
}

void emit_xrt_usage(const Emitter *e, StrBuf *out)
{
    emit_template(
        e, out,
        "# make xo\n"
        "#   makes the kernel board/TOP.xo with Vitis HLS\n"
        "# make link PLATFORM=NAME\n"
        "#   makes board/TOP.xclbin for a platform of the card, of what xo made;\n"
        "#   TARGET=hw_emu for Vitis's emulation, LINK_FLAGS for more of v++'s options\n"
        "# make host\n"
        "#   makes board/host, for the card where XRT is installed (in XILINX_XRT), and to\n"
        "#   be run with --emulate on libcsim.so\n");
}

static void add_xo(const Emitter *e, StrBuf *out, const char *name, const char *config)
{
    emit_template(e, out, "\t$(VPP) -c --mode hls --config ");
    strbuf_printf(out, "%s --work_dir %s_hls\n", config, name);
    strbuf_printf(out, "\t$(VITIS_RUN) --package --mode hls --config %s --work_dir %s_hls\n",
                  config, name);
    strbuf_printf(out, "\t@$(call moved,%s)\n", name);
}

static void add_link(const Emitter *e, StrBuf *out, const char *loader)
{
    emit_template(
        e, out,
        "link:\n"
        "\t@test -n \"$(PLATFORM)\" || { echo \"error: give PLATFORM=NAME of the card\" >&2; exit "
        "2; }\n"
        "\t@test -f board/TOP.xo || { echo \"error: make xo first\" >&2; exit 2; }\n"
        "\t@$(call installed,$(VPP),VPP)\n"
        "\t$(VPP) --link --target $(TARGET) --platform $(PLATFORM) --config board/link.cfg");
    if (emit_is_placed(e))
        strbuf_add_c(out, " \\\n\t\t--vivado.prop "
                          "\"run.impl_1.STEPS.OPT_DESIGN.TCL.POST=$(CURDIR)/floorplan.tcl\"");
    emit_template(e, out, " \\\n\t\t$(LINK_FLAGS) board/TOP.xo");
    if (e->weights) strbuf_printf(out, " board/%s.xo", loader);
    emit_template(e, out, " -o board/TOP.xclbin\n\n");
}

void emit_xrt_headers(StrBuf *out)
{
    strbuf_add_c(out,
                 "XRT_HEADER ?= $(firstword $(wildcard $(XILINX_XRT)/include/xrt/xrt_kernel.h \\\n"
                 "\t/opt/xilinx/xrt/include/xrt/xrt_kernel.h /usr/include/xrt/xrt/xrt_kernel.h))\n"
                 "XRT_INCLUDE = $(patsubst %/xrt/xrt_kernel.h,%,$(XRT_HEADER))\n"
                 "XRT_CXXFLAGS = -DMING_HAS_XRT -isystem $(XRT_INCLUDE)\n"
                 "XRT_LIBS = $(patsubst %/include,-L%/lib,$(filter %/include,$(XRT_INCLUDE))) "
                 "-lxrt_coreutil -luuid\n\n");
}

static void add_host(const Emitter *e, StrBuf *out)
{
    emit_xrt_headers(out);
    strbuf_add_c(out, "host: board/host\n\n");
    emit_template(
        e, out,
        "board/host: board/host.cpp board/design.h board/csim_xrt.h board/host_frames.h \\\n"
        "\t\tboard/host_main.h board/two_sided.h $(HEADERS)\n"
        "\t$(CXX) $(CXXFLAGS) $(if $(XRT_HEADER),$(XRT_CXXFLAGS)) -I. board/host.cpp -o $@ "
        "$(LDFLAGS) $(if $(XRT_HEADER),$(XRT_LIBS)) -ldl -pthread\n\n");
}

void emit_xrt_system_usage(StrBuf *out)
{
    strbuf_add_c(out,
                 "# make host\n"
                 "#   makes board/host, which runs the cards, where XRT is installed (in\n"
                 "#   XILINX_XRT); make emulate runs it on processes in their place, with the\n"
                 "#   options of HOST_FLAGS\n");
}

void emit_xrt_system_targets(const Emitter *e, StrBuf *out)
{
    strbuf_add_c(out, ".PHONY: host\n\n");
    emit_xrt_headers(out);
    strbuf_add_c(out, "host: board/host\n\n");
    emit_template(
        e, out,
        "board/host: board/system.cpp board/design.h board/host_frames.h board/host_main.h "
        "board/network.h $(HEADERS)\n"
        "\t@test -n \"$(XRT_HEADER)\" || { echo \"error: XRT is not installed: set XILINX_XRT\" "
        ">&2; exit 2; }\n"
        "\t$(CXX) $(CXXFLAGS) $(XRT_CXXFLAGS) -I. board/system.cpp -o $@ $(LDFLAGS) $(XRT_LIBS) "
        "-pthread\n\n");
}

void emit_xrt_targets(const Emitter *e, StrBuf *out)
{
    StrBuf loader = {0};
    strbuf_printf(&loader, "%s_load", e->top_name);
    strbuf_add_c(out,
                 ".PHONY: xo link host\n\nTARGET ?= hw\n\n"
                 "# $(call moved,NAME): Vitis puts what is packaged where the configuration "
                 "says, or into its folder\n"
                 "moved = for file in $(1).xo $(1)_hls/$(1).xo $(1)_hls/hls/impl/export.xo; do \\\n"
                 "\ttest ! -f $$file || { mv $$file board/$(1).xo && exit 0; }; done; \\\n"
                 "\techo \"error: Vitis has packaged no $(1).xo\" >&2; exit 1\n\n"
                 "xo:\n"
                 "\t@$(call installed,$(VPP),VPP)\n"
                 "\t@$(call installed,$(VITIS_RUN),VITIS_RUN)\n");
    add_xo(e, out, e->top_name, "hls_config.cfg");
    if (e->weights) add_xo(e, out, loader.data, "board/load_weights.cfg");
    strbuf_add_char(out, '\n');
    add_link(e, out, loader.data);
    add_host(e, out);
    strbuf_free(&loader);
}
