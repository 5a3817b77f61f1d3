/* Weights of kernels: each that has tables gets them through a port of the design, to which a kernel sends
 * what the host has put into memory, once.
 *
 *   host ─▶ memory ─▶ TOP_weights_N ─▶ stream ─▶ kernel N
 *
 * It is on the first die of the card that has memory; what it takes is not counted.
 * Tests: lit/driver/cards.test, test/e2e/system_check.py, test/e2e/emulate_check.py */
#include "emit/kernels/internal.h"
#include "ir/asm/print/print.h"

static uint32_t die_with_memory(const KernelSet *set, SysPlace place)
{
    for (uint32_t die = 0;; die++) {
        const SysPlace at = {place.card, die};
        if (!kernels_die(set, at)) return (uint32_t)place.die;
        if (kernels_bank(set, at).len > 0) return die;
    }
}

static void add_weights(KernelSet *set, const Value *port)
{
    KernelWeights *w = vec_push(&set->weights);
    const KernelEnds ends = kernels_ends(set, port);
    *w = (KernelWeights){.port = port->index, .kernel = ends.to, .argument = ends.to_port};
    w->place = set->kernels.data[ends.to].place;
    w->place.die = die_with_memory(set, w->place);
    strbuf_printf(&w->name, "%s_%s", set->whole->top.data,
                  set->whole->ports.data[port->index].data);
}

void kernels_find_weights(KernelSet *set)
{
    const Attr *ports = op_attr(set->system, DFG_ATTR_PORT_ATTRS);
    const Block *body = region_entry(op_region(set->system, 0));
    for (uint32_t i = 0; ports && i < body->arg_count; i++)
        if (attr_dict_get_c(ports->u.array.items[i], EMITHLS_ATTR_WEIGHTS))
            add_weights(set, body->args[i]);
}

void kernels_free_weights(KernelSet *set)
{
    for (size_t i = 0; i < set->weights.len; i++) strbuf_free(&set->weights.data[i].name);
    vec_free(&set->weights);
}

const KernelWeights *kernels_weights_at(const KernelSet *set, const Value *value)
{
    for (size_t i = 0; value->is_arg && i < set->weights.len; i++)
        if (set->weights.data[i].port == value->index) return &set->weights.data[i];
    return NULL;
}

static const Type *stream_of(const KernelSet *set, const KernelWeights *w)
{
    return region_entry(op_region(set->system, 0))->args[w->port]->type;
}

int64_t kernels_weights_words(const KernelSet *set, const KernelWeights *w)
{
    const Attr *attrs = op_attr(set->system, DFG_ATTR_PORT_ATTRS)->u.array.items[w->port];
    int64_t words = 0;
    return type_element_count(attr_dict_get_c(attrs, EMITHLS_ATTR_FRAME)->u.type_value, &words)
               ? words / emithls_lanes(emithls_stream_word(stream_of(set, w)))
               : 0;
}

/* "const T *memory, hls::stream<T> &weights, int words" */
void kernels_print_loader_prototype(const KernelSet *set, const KernelWeights *w, StrBuf *out)
{
    strbuf_printf(out, "void %s(const ", w->name.data);
    emit_print_type(emithls_stream_word(stream_of(set, w)), out);
    strbuf_add_c(out, " *memory, ");
    emit_print_type(stream_of(set, w), out);
    strbuf_add_c(out, " &weights, int words)");
}

void kernels_print_loader(const KernelSet *set, const KernelWeights *w, StrBuf *out)
{
    strbuf_printf(
        out, "// Sends the words of weights that lie in memory to %s.\n#include \"%s.h\"\n\n",
        kernels_name(&set->kernels.data[w->kernel]), kernels_name(&set->kernels.data[w->kernel]));
    kernels_print_loader_prototype(set, w, out);
    strbuf_add_c(out, "\n{\n");
    strbuf_add_c(out, emit_loader_body);
}

/* The design's ports of weights are streams in TOP_system.cpp, too: what has come there is put into
 * memory, from which the loader sends it. */
void kernels_print_loading(const KernelSet *set, StrBuf *out)
{
    for (size_t i = 0; i < set->weights.len; i++) {
        const KernelWeights *w = &set->weights.data[i];
        const char *port = set->whole->ports.data[w->port].data;
        strbuf_add_c(out, "    ");
        emit_print_type(stream_of(set, w), out);
        strbuf_printf(out, " sent%zu(\"sent%zu\");\n    std::vector<", i, i);
        emit_print_type(emithls_stream_word(stream_of(set, w)), out);
        strbuf_printf(
            out,
            "> words%zu;\n    while (!%s.empty())\n        words%zu.push_back(%s.read());\n"
            "    %s(words%zu.data(), sent%zu, static_cast<int>(words%zu.size()));\n",
            i, port, i, port, w->name.data, i, i, i);
    }
}

void kernels_print_loader_units(const KernelSet *set, int64_t card, StrBuf *out)
{
    for (size_t i = 0; i < set->weights.len; i++) {
        const KernelWeights *w = &set->weights.data[i];
        const Str bank = kernels_bank(set, w->place);
        if (!set->is_dp && w->place.card != card) continue;
        for (int64_t n = 0; n < set->instances; n++) {
            strbuf_printf(out, "nk=%s:1:%s_%lld\nslr=%s_%lld:", w->name.data, w->name.data,
                          (long long)n, w->name.data, (long long)n);
            kernels_print_die(set, w->place, out);
            strbuf_add_char(out, '\n');
            if (bank.len == 0) continue;
            strbuf_printf(out, "sp=%s_%lld.m_axi_gmem:%.*s\n", w->name.data, (long long)n,
                          STR_ARG(bank));
        }
    }
}

void kernels_print_loader_streams(const KernelSet *set, int64_t card, StrBuf *out)
{
    for (size_t i = 0; i < set->weights.len; i++) {
        const KernelWeights *w = &set->weights.data[i];
        const KernelFiles *to = &set->kernels.data[w->kernel];
        for (int64_t n = 0; (set->is_dp || w->place.card == card) && n < set->instances; n++)
            strbuf_printf(out, "stream_connect=%s_%lld.weights:%s_%lld.%s\n", w->name.data,
                          (long long)n, kernels_name(to), (long long)n,
                          kernels_port(to, w->argument));
    }
}

void kernels_print_weights_json(const KernelSet *set, JsonWriter *w)
{
    json_member_array(w, "weights");
    for (size_t i = 0; i < set->weights.len; i++) {
        const KernelWeights *row = &set->weights.data[i];
        const Str bank = kernels_bank(set, row->place);
        StrBuf file = {0};
        strbuf_printf(&file, "kernels/%s.npy", row->name.data);
        json_begin_row(w);
        json_member_string(w, "name", strbuf_str(&row->name));
        json_member_string(w, "kernel", str_from(kernels_name(&set->kernels.data[row->kernel])));
        if (!set->is_dp) json_member_int(w, "card", row->place.card);
        json_member_int(w, "die", row->place.die);
        if (bank.len > 0) json_member_string(w, "bank", bank);
        const Type *word = emithls_stream_word(stream_of(set, row));
        json_member_int(w, "width", type_width(emithls_scalar(word)) * emithls_lanes(word));
        json_member_int(w, "words", kernels_weights_words(set, row));
        json_member_string(w, "file", strbuf_str(&file));
        json_end_object(w);
        strbuf_free(&file);
    }
    json_end_rows(w);
}
