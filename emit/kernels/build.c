/* What makes kernels and links them: configurations of v++, and make's rules.
 * Tests: test/e2e/system_check.py */
#include "emit/kernels/internal.h"
#include "ir/asm/print/print.h"

void kernels_print_config(const KernelSet *set, const KernelFiles *kernel, StrBuf *out)
{
    const char *name = kernels_name(kernel);
    strbuf_add_c(out, "# v++ -c --mode hls --config, in this folder; make xo does.\n");
    strbuf_add_c(out, "part=");
    strbuf_add_str(out, emit_part(set->module));
    strbuf_add_c(out, "\n\n[hls]\nflow_target=vitis\nclock=");
    emit_add_period(set->module, out);
    strbuf_add_c(out, "ns\n");
    strbuf_printf(out,
                  "syn.top=%s\nsyn.file=%s.cpp\nsyn.file=%s.h\nsyn.file=%s_params.h\n"
                  "syn.cflags=-std=c++17\nsyn.compile.enable_auto_rewind=0\n"
                  "package.output.format=xo\npackage.output.file=%s.xo\n",
                  name, name, name, name, name);
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

/* Links end at kernels of the network, which are not made here. */
static void print_links(const KernelSet *set, int64_t card, StrBuf *out)
{
    FOR_EACH_OP(op, region_entry(op_region(set->system, 0))) {
        if (op->def != SYS(LINK)) continue;
        const KernelEnds ends = kernels_ends(set, op_result(op, 0));
        const KernelFiles *from = &set->kernels.data[ends.from], *to = &set->kernels.data[ends.to];
        if (from->place.card == card)
            strbuf_printf(out, "# to card %lld: %s_0.%s\n", (long long)to->place.card,
                          kernels_name(from), kernels_port(from, ends.from_port));
        if (to->place.card == card)
            strbuf_printf(out, "# from card %lld: %s_0.%s\n", (long long)from->place.card,
                          kernels_name(to), kernels_port(to, ends.to_port));
    }
}

static bool has_links(const KernelSet *set, int64_t card)
{
    FOR_EACH_OP(op, region_entry(op_region(set->system, 0)))
        if (op->def == SYS(LINK)) {
            const KernelEnds ends = kernels_ends(set, op_result(op, 0));
            if (set->kernels.data[ends.from].place.card == card ||
                set->kernels.data[ends.to].place.card == card)
                return true;
        }
    return false;
}

void kernels_print_link(const KernelSet *set, int64_t card, StrBuf *out)
{
    strbuf_printf(out,
                  "# v++ --link --config card%lld/link.cfg; make link does.\n"
                  "[connectivity]\n",
                  (long long)card);
    print_units(set, card, out);
    print_streams(set, card, out);
    if (has_links(set, card))
        strbuf_add_c(out, "# Streams to and from other cards, which NETWORK of make connects:\n");
    print_links(set, card, out);
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
    strbuf_printf(out, "\ncard%lld/system.xclbin: card%lld/link.cfg $(NETWORK)", (long long)card,
                  (long long)card);
    for (size_t i = 0; i < set->kernels.len; i++)
        if (is_on_card(set, &set->kernels.data[i], card))
            strbuf_printf(out, " kernels/%s.xo", kernels_name(&set->kernels.data[i]));
    strbuf_add_char(out, '\n');
    strbuf_add_c(out,
                 "\t@$(call installed,$(VPP),VPP)\n"
                 "\t@test -n \"$(PLATFORM)\" || "
                 "{ echo \"error: give PLATFORM, as v++ --platform takes it\" >&2; exit 2; }\n");
    if (has_links(set, card))
        strbuf_printf(out,
                      "\t@test -n \"$(NETWORK)\" || { echo \"error: give NETWORK, a configuration "
                      "that connects the streams which card%lld/link.cfg names to kernels of the "
                      "network\" >&2; exit 2; }\n",
                      (long long)card);
    strbuf_printf(out,
                  "\t$(VPP) --link --platform $(PLATFORM) $(addprefix --config ,$(NETWORK)) "
                  "--config card%lld/link.cfg $(filter %%.xo,$^) -o $@\n",
                  (long long)card);
}

void kernels_print_make(const KernelSet *set, StrBuf *out)
{
    strbuf_add_c(out, "# make system-csim, with the files of make csim\n"
                      "#   simulates kernel by kernel\n"
                      "# make xo\n"
                      "#   makes each kernel with Vitis HLS\n"
                      "# make link PLATFORM=NAME [NETWORK=FILE.cfg]\n"
                      "#   links the kernels of each card\n\n"
                      "KERNELS :=");
    for (size_t i = 0; i < set->kernels.len; i++)
        strbuf_printf(out, " \\\n\t%s", kernels_name(&set->kernels.data[i]));
    print_template(set, out,
                   "\nSYSTEM_OBJECTS := kernels/TOP_system.o $(KERNELS:%=kernels/%.o)\n\n"
                   ".PHONY: system-csim xo link clean-system\n\n"
                   "clean: clean-system\n"
                   "clean-system:\n"
                   "\trm -rf TOP_system_csim $(SYSTEM_OBJECTS) $(KERNELS:%=kernels/%.xo) "
                   "$(KERNELS:%=kernels/%_hls) card*/*.xclbin\n\n"
                   "TOP_system_csim: TOP_tb.o $(SYSTEM_OBJECTS)\n"
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
    strbuf_add_c(out, "\n\nlink:");
    for (int64_t card = 0; card < kernels_card_count(set); card++)
        strbuf_printf(out, " card%lld/system.xclbin", (long long)card);
    strbuf_add_char(out, '\n');
    for (int64_t card = 0; card < kernels_card_count(set); card++) print_card_rule(set, card, out);
}
