/* What makes kernels and links them: configurations of v++, and make's rules.
 * Tests: test/e2e/system_check.py */
#include <string.h>

#include "analysis/analysis.h"
#include "emit/kernels/internal.h"
#include "ir/asm/print/print.h"

void kernels_print_config(const KernelSet *set, const char *name, const char *others, StrBuf *out)
{
    strbuf_add_c(out, "# v++ -c --mode hls --config, in this folder; make xo does.\n");
    strbuf_add_c(out, "part=");
    strbuf_add_str(out, emit_part(set->module));
    strbuf_add_c(out, "\n\n[hls]\nflow_target=vitis\nclock=");
    emit_add_period(set->module, out);
    strbuf_add_c(out, "ns\n");
    strbuf_printf(out, "syn.top=%s\nsyn.file=%s.cpp\n%s", name, name, others);
    strbuf_printf(out,
                  "syn.cflags=-std=c++17\nsyn.compile.enable_auto_rewind=0\n"
                  "package.output.format=xo\npackage.output.file=%s.xo\n",
                  name);
}

/* Whether a kernel is linked into the card's bitstream. */
static bool is_on_card(const KernelSet *set, const KernelFiles *kernel, int64_t card)
{
    return set->is_dp || kernel->place.card == card;
}

static void print_units(const KernelSet *set, int64_t card, StrBuf *out)
{
    for (size_t i = 0; i < set->kernels.len; i++) {
        const KernelFiles *k = &set->kernels.data[i];
        for (int64_t n = 0; is_on_card(set, k, card) && n < set->instances; n++) {
            strbuf_printf(out, "nk=%s:1:%s_%lld\nslr=%s_%lld:", kernels_name(k), kernels_name(k),
                          (long long)n, kernels_name(k), (long long)n);
            kernels_print_die(set, k->place, out);
            strbuf_add_char(out, '\n');
        }
    }
}

static void print_streams(const KernelSet *set, int64_t card, StrBuf *out)
{
    FOR_EACH_OP(op, region_entry(op_region(set->system, 0))) {
        if (op->def != EMITHLS(STREAM)) continue;
        const KernelEnds ends = kernels_ends(set, op_result(op, 0));
        const KernelFiles *from = &set->kernels.data[ends.from], *to = &set->kernels.data[ends.to];
        for (int64_t n = 0; is_on_card(set, from, card) && n < set->instances; n++)
            strbuf_printf(out, "stream_connect=%s_%lld.%s:%s_%lld.%s:%lld\n", kernels_name(from),
                          (long long)n, kernels_port(from, ends.from_port), kernels_name(to),
                          (long long)n, kernels_port(to, ends.to_port),
                          (long long)attr_int_value(op_attr(op, DFG_ATTR_DEPTH)));
    }
}

/* Adapters, and the UDP core and the MAC of each port (Xilinx's xup_vitis_network_example). */
static void print_network(const KernelSet *set, int64_t card, StrBuf *out)
{
    for (size_t i = 0; i < set->adapters.len; i++) {
        const KernelAdapter *a = &set->adapters.data[i];
        if (a->place.card != card) continue;
        strbuf_printf(out, "nk=%s:1:%s_0\nslr=%s_0:", a->name.data, a->name.data, a->name.data);
        kernels_print_die(set, a->place, out);
        strbuf_add_char(out, '\n');
    }
    for (size_t i = 0; i < set->ports.len; i++) {
        const KernelNetPort *p = &set->ports.data[i];
        const long long port = p->port;
        if (p->card != card) continue;
        for (int mac = 0; mac < 2; mac++) {
            strbuf_printf(out,
                          mac ? "nk=cmac_%lld:1:cmac_%lld\nslr=cmac_%lld:"
                              : "nk=networklayer:1:networklayer_%lld\nslr=networklayer_%lld:",
                          port, port, port);
            kernels_print_die(set, (SysPlace){p->card, p->die}, out);
            strbuf_add_char(out, '\n');
        }
        strbuf_printf(out,
                      "stream_connect=cmac_%lld.M_AXIS:networklayer_%lld.S_AXIS_eth2nl\n"
                      "stream_connect=networklayer_%lld.M_AXIS_nl2eth:cmac_%lld.S_AXIS\n",
                      port, port, port, port);
    }
}

static void print_joints(const KernelSet *set, int64_t card, StrBuf *out)
{
    for (size_t i = 0; i < set->joints.len; i++) {
        const KernelJoint *j = &set->joints.data[i];
        if (j->card != card) continue;
        if (j->from)
            strbuf_printf(out, "stream_connect=%s_0.%s:", j->from, j->from_arg);
        else
            strbuf_printf(out,
                          "stream_connect=networklayer_%lld.M_AXIS_nl2sk:", (long long)j->port);
        if (j->to)
            strbuf_printf(out, "%s_0.%s:%lld\n", j->to, j->to_arg, (long long)j->depth);
        else
            strbuf_printf(out, "networklayer_%lld.S_AXIS_sk2nl:%lld\n", (long long)j->port,
                          (long long)j->depth);
    }
}

static bool has_links(const KernelSet *set, int64_t card)
{
    for (size_t i = 0; i < set->ports.len; i++)
        if (set->ports.data[i].card == card) return true;
    return false;
}

static void print_bank(const KernelSet *set, const KernelFiles *k, Str bundle, Str bank,
                       StrBuf *out)
{
    for (int64_t n = 0; n < set->instances; n++) {
        strbuf_printf(out, "sp=%s_%lld.m_axi_gmem_", kernels_name(k), (long long)n);
        identifier_append(out, bundle);
        strbuf_printf(out, ":%.*s\n", STR_ARG(bank));
    }
}

Str kernels_bank(const KernelSet *set, SysPlace place)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_[:]";
    const Attr *die = kernels_die(set, place);
    const Attr *bank = die ? attr_dict_get_c(die, SYS_DIE_BANK) : NULL;
    bool is_plain = bank && strspn(bank->u.string.data, plain) == bank->u.string.len;
    return is_plain ? bank->u.string : STR("");
}

/* The bank of its die that each memory of a kernel is in; one for what the host copies has the name of
 * the stream. */
static void print_banks(const KernelSet *set, int64_t card, StrBuf *out)
{
    for (size_t i = 0; i < set->kernels.len; i++) {
        const KernelFiles *k = &set->kernels.data[i];
        const Str bank = kernels_bank(set, k->place);
        if (!is_on_card(set, k, card) || bank.len == 0) continue;
        FOR_EACH_OP(op, region_entry(op_region(k->func, 0))) {
            const Attr *bundle = op_attr(op, EMITHLS_ATTR_BUNDLE);
            if (op->def == EMITHLS(INTERFACE) && bundle)
                print_bank(set, k, bundle->u.string, bank, out);
        }
        if (k->copy) print_bank(set, k, op_attr(k->copy, "name")->u.string, bank, out);
    }
}

void kernels_print_link(const KernelSet *set, int64_t card, StrBuf *out)
{
    strbuf_printf(out,
                  "# v++ --link --config card%lld/link.cfg; make link does.\n"
                  "[connectivity]\n",
                  (long long)card);
    print_units(set, card, out);
    print_network(set, card, out);
    print_banks(set, card, out);
    kernels_print_loader_units(set, card, out);
    print_streams(set, card, out);
    kernels_print_loader_streams(set, card, out);
    print_joints(set, card, out);
    strbuf_add_c(out, emit_vivado_section);
}

/* Text with TOP for the name of the design. */
static void print_template(const KernelSet *set, StrBuf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (strncmp(c, "TOP", 3) == 0) {
            strbuf_add_str(out, strbuf_str(&set->whole->top));
            c += 2;
        } else {
            strbuf_add_char(out, *c);
        }
    }
}

static void print_card_rule(const KernelSet *set, int64_t card, StrBuf *out)
{
    strbuf_printf(out, "\ncard%lld/system.xclbin: card%lld/link.cfg", (long long)card,
                  (long long)card);
    if (has_links(set, card)) strbuf_add_c(out, " $(NETWORK)");
    for (size_t i = 0; i < set->kernels.len; i++)
        if (is_on_card(set, &set->kernels.data[i], card))
            strbuf_printf(out, " kernels/%s.xo", kernels_name(&set->kernels.data[i]));
    for (size_t i = 0; i < set->adapters.len; i++)
        if (set->adapters.data[i].place.card == card)
            strbuf_printf(out, " kernels/%s.xo", set->adapters.data[i].name.data);
    for (size_t i = 0; i < set->weights.len; i++)
        if (set->is_dp || set->weights.data[i].place.card == card)
            strbuf_printf(out, " kernels/%s.xo", set->weights.data[i].name.data);
    strbuf_add_char(out, '\n');
    strbuf_add_c(out,
                 "\t@$(call installed,$(VPP),VPP)\n"
                 "\t@test -n \"$(PLATFORM)\" || "
                 "{ echo \"error: give PLATFORM, as v++ --platform takes it\" >&2; exit 2; }\n");
    if (has_links(set, card))
        strbuf_printf(out,
                      "\t@test -n \"$(NETWORK)\" || { echo \"error: give NETWORK, the .xo files "
                      "of the cmac_N and networklayer that card%lld/link.cfg names\" >&2; exit 2; "
                      "}\n",
                      (long long)card);
    strbuf_printf(out,
                  "\t$(VPP) --link --platform $(PLATFORM) "
                  "--config card%lld/link.cfg $(filter %%.xo,$^) -o $@\n",
                  (long long)card);
}

static void print_usage(const KernelSet *set, StrBuf *out)
{
    strbuf_add_c(out, "# make system-csim, with the files of make csim\n"
                      "#   simulates kernel by kernel\n");
    if (set->links.len > 0)
        strbuf_add_c(out, "# make network-csim, with the same files [LOSS=SHARE [SEED=N]]\n"
                          "#   likewise, with the adapters at links and a network that loses\n"
                          "#   packets\n");
    strbuf_add_c(out, "# make xo\n"
                      "#   makes each kernel with Vitis HLS\n"
                      "# make link PLATFORM=NAME [NETWORK='FILE.xo …']\n"
                      "#   links the kernels of each card\n\n");
}

/* Kernels that send weights, likewise; they need the header of the kernel that these are for. */
static void print_loaders(const KernelSet *set, StrBuf *out)
{
    if (set->weights.len == 0) return;
    strbuf_add_c(out, "\nLOADERS :=");
    for (size_t i = 0; i < set->weights.len; i++)
        strbuf_printf(out, " \\\n\t%s", set->weights.data[i].name.data);
    print_template(set, out,
                   "\nLOADER_OBJECTS := $(LOADERS:%=kernels/%.o)\n\n"
                   ".PHONY: clean-loaders\n\n"
                   "clean: clean-loaders\n"
                   "clean-loaders:\n"
                   "\trm -rf $(LOADER_OBJECTS) $(LOADERS:%=kernels/%.xo) "
                   "$(LOADERS:%=kernels/%_hls)\n\n"
                   "$(LOADER_OBJECTS): %.o: %.cpp $(HEADERS) $(wildcard kernels/*.h)\n"
                   "\t$(CXX) $(CXXFLAGS) -Icsim -c $< -o $@\n\n"
                   "xo: $(LOADERS:%=kernels/%.xo)\n\n"
                   "$(LOADERS:%=kernels/%.xo): kernels/%.xo: kernels/%.cfg kernels/%.cpp "
                   "$(wildcard kernels/*.h)\n"
                   "\t@$(call installed,$(VPP),VPP)\n"
                   "\tcd kernels && $(VPP) -c --mode hls --config $*.cfg --work_dir $*_hls\n\n");
}

/* Adapters are made as kernels are. */
static void print_adapters(const KernelSet *set, StrBuf *out)
{
    if (set->links.len == 0) return;
    strbuf_add_c(out, "\nADAPTERS :=");
    for (size_t i = 0; i < set->adapters.len; i++)
        strbuf_printf(out, " \\\n\t%s", set->adapters.data[i].name.data);
    print_template(set, out,
                   "\nNETWORK_OBJECTS := kernels/TOP_network.o $(KERNELS:%=kernels/%.o) "
                   "$(ADAPTERS:%=kernels/%.o) $(LOADER_OBJECTS)\n\n"
                   ".PHONY: network-csim clean-network\n\n"
                   "clean: clean-network\n"
                   "clean-network:\n"
                   "\trm -rf TOP_network_csim $(NETWORK_OBJECTS) $(ADAPTERS:%=kernels/%.xo) "
                   "$(ADAPTERS:%=kernels/%_hls)\n\n"
                   "TOP_network_csim: TOP_tb.o $(NETWORK_OBJECTS)\n"
                   "\t$(CXX) $(CXXFLAGS) $(LDFLAGS) $^ -o $@\n\n"
                   "kernels/TOP_network.o $(ADAPTERS:%=kernels/%.o): %.o: %.cpp $(HEADERS) "
                   "$(wildcard kernels/*.h)\n"
                   "\t$(CXX) $(CXXFLAGS) -Icsim -Ikernels -c $< -o $@\n\n"
                   "xo: $(ADAPTERS:%=kernels/%.xo)\n\n"
                   "$(ADAPTERS:%=kernels/%.xo): kernels/%.xo: kernels/%.cfg kernels/%.cpp "
                   "kernels/" KERNELS_ADAPTER_HEADER "\n"
                   "\t@$(call installed,$(VPP),VPP)\n"
                   "\tcd kernels && $(VPP) -c --mode hls --config $*.cfg --work_dir $*_hls\n\n"
                   "network-csim: export MING_LOSS := $(value LOSS)\n"
                   "network-csim: export MING_SEED := $(value SEED)\n"
                   "network-csim: arguments TOP_network_csim\n"
                   "\t@cd \"$$MING_CALLER\" && \"$$MING_PROJECT/TOP_network_csim\"");
    strbuf_add_str(out, strbuf_str(&set->whole->file_arguments));
    strbuf_add_char(out, '\n');
}

void kernels_print_make(const KernelSet *set, StrBuf *out)
{
    print_usage(set, out);
    strbuf_add_c(out, "KERNELS :=");
    for (size_t i = 0; i < set->kernels.len; i++)
        strbuf_printf(out, " \\\n\t%s", kernels_name(&set->kernels.data[i]));
    strbuf_add_char(out, '\n');
    print_loaders(set, out);
    print_template(set, out,
                   "\nSYSTEM_OBJECTS := kernels/TOP_system.o $(KERNELS:%=kernels/%.o)\n\n"
                   ".PHONY: system-csim xo link clean-system\n\n"
                   "clean: clean-system\n"
                   "clean-system:\n"
                   "\trm -rf TOP_system_csim $(SYSTEM_OBJECTS) $(KERNELS:%=kernels/%.xo) "
                   "$(KERNELS:%=kernels/%_hls) card*/*.xclbin\n\n"
                   "TOP_system_csim: TOP_tb.o $(SYSTEM_OBJECTS) $(LOADER_OBJECTS)\n"
                   "\t$(CXX) $(CXXFLAGS) $(LDFLAGS) $^ -o $@\n\n"
                   "$(SYSTEM_OBJECTS): %.o: %.cpp $(HEADERS) $(wildcard kernels/*.h)\n"
                   "\t$(CXX) $(CXXFLAGS) -Icsim -c $< -o $@\n\n"
                   "xo: $(KERNELS:%=kernels/%.xo)\n\n"
                   "kernels/%.xo: kernels/%.cfg kernels/%.cpp kernels/%.h kernels/%_params.h\n"
                   "\t@$(call installed,$(VPP),VPP)\n"
                   "\tcd kernels && $(VPP) -c --mode hls --config $*.cfg --work_dir $*_hls\n\n"
                   "system-csim: arguments TOP_system_csim\n"
                   "\t@cd \"$$MING_CALLER\" && \"$$MING_PROJECT/TOP_system_csim\"");
    strbuf_add_str(out, strbuf_str(&set->whole->file_arguments));
    strbuf_add_char(out, '\n');
    print_adapters(set, out);
    strbuf_add_c(out, "\nlink:");
    for (int64_t card = 0; card < kernels_card_count(set); card++)
        strbuf_printf(out, " card%lld/system.xclbin", (long long)card);
    strbuf_add_char(out, '\n');
    for (int64_t card = 0; card < kernels_card_count(set); card++) print_card_rule(set, card, out);
}
