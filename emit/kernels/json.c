/* system.json: cards and what their dies take, kernels, streams and links, and how fast it is.
 * Tests: test/e2e/system_check.py */
#include <string.h>

#include "emit/kernels/internal.h"
#include "target/cost/cost.h"
#include "target/dse/dse.h"

/* What the processes of a die take by their reports, the FIFOs that they write included. */
static void sum_use(const KernelSet *set, SysPlace place, int64_t use[PARTITION_KINDS])
{
    memset(use, 0, PARTITION_KINDS * sizeof *use);
    for (size_t i = 0; i < set->kernels.len; i++) {
        const KernelFiles *k = &set->kernels.data[i];
        if (k->place.die != place.die || (!set->is_dp && k->place.card != place.card)) continue;
        FOR_EACH_OP(op, region_entry(op_region(k->func, 0))) {
            if (op->def != EMITHLS(CALL)) continue;
            const Op *func = symbol_lookup(op, op_attr(op, "callee"));
            for (int n = 0; n < PARTITION_KINDS; n++)
                use[n] +=
                    set->instances *
                    i64_max(0, attr_dict_int(op_attr(func, DFG_ATTR_REPORT),
                                             cost_names[dse_cost_kind((PartitionKind)n)].key, 0));
        }
    }
}

static void add_amounts(JsonWriter *w, const char *name, const int64_t *amounts)
{
    json_member_object(w, name);
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++)
        json_member_int(w, partition_kind_name(k), amounts[k]);
    json_end_object(w);
}

static void add_dies(const KernelSet *set, int64_t card, const Attr *dies, JsonWriter *w)
{
    json_member_array(w, "dies");
    for (uint32_t i = 0; dies && i < dies->u.array.count; i++) {
        int64_t amounts[PARTITION_KINDS];
        const Attr *die = dies->u.array.items[i];
        json_write_line(w, 6);
        json_begin_object(w);
        json_member_string(w, "name", attr_dict_get_c(die, SYS_DIE_NAME)->u.string);
        if (attr_dict_get_c(die, SYS_DIE_BANK))
            json_member_string(w, "bank", attr_dict_get_c(die, SYS_DIE_BANK)->u.string);
        sum_use(set, (SysPlace){card, i}, amounts);
        add_amounts(w, "use", amounts);
        json_write_line(w, 7);
        for (int k = 0; k < PARTITION_KINDS; k++)
            amounts[k] = attr_dict_int(attr_dict_get_c(die, SYS_DIE_LIMIT),
                                       cost_names[dse_cost_kind((PartitionKind)k)].key, 0) *
                         set->instances;
        add_amounts(w, "limit", amounts);
        json_end_object(w);
    }
    json_end_array(w);
}

static void add_cards(const KernelSet *set, JsonWriter *w)
{
    const Attr *cards = op_attr(set->module, SYS_ATTR_CARDS);
    int64_t card = 0;
    json_member_array(w, "cards");
    FOR_EACH_OP(op, region_entry(op_region(set->system, 0))) {
        if (op->def != SYS(CARD)) continue;
        const Attr *own =
            cards && card < (int64_t)cards->u.array.count ? cards->u.array.items[card] : NULL;
        json_begin_row(w);
        json_member_string(w, "name", op_attr(op, "name")->u.string);
        json_member_string(w, "device", op_attr(op, "device")->u.string);
        add_dies(set, card, own ? attr_dict_get_c(own, SYS_CARD_DIES) : NULL, w);
        json_end_object(w);
        card++;
    }
    json_end_rows(w);
}

static void add_kernels(const KernelSet *set, JsonWriter *w)
{
    json_member_array(w, "kernels");
    for (size_t i = 0; i < set->kernels.len; i++) {
        const KernelFiles *k = &set->kernels.data[i];
        json_begin_row(w);
        json_member_string(w, "name", str_from(kernels_name(k)));
        if (set->is_dp)
            json_member_int(w, "copies", set->instances * kernels_card_count(set));
        else
            json_member_int(w, "card", k->place.card);
        json_member_int(w, "die", k->place.die);
        if (set->tile > 1) json_member_int(w, "instance", kernels_instance(k));
        json_member_bool(w, "has_memory", k->has_memory);
        json_member_array(w, "processes");
        FOR_EACH_OP(op, region_entry(op_region(k->func, 0)))
            if (op->def == EMITHLS(CALL))
                json_write_string(w, op_attr(op, "callee")->u.symbol.names[0]->str);
        json_end_array(w);
        json_end_object(w);
    }
    json_end_rows(w);
}

static void add_end(const KernelSet *set, const char *key, uint32_t kernel, uint32_t port,
                    JsonWriter *w)
{
    StrBuf text = {0};
    strbuf_printf(&text, "%s.%s", kernels_name(&set->kernels.data[kernel]),
                  kernels_port(&set->kernels.data[kernel], port));
    json_member_string(w, key, strbuf_str(&text));
    strbuf_free(&text);
}

/* How it goes over the network: ports of the two cards, and the socket at both of them. */
static void add_link(const KernelSet *set, const Op *op, JsonWriter *w)
{
    json_member_int(w, "packet", attr_int_value(op_attr(op, SYS_ATTR_PACKET)));
    json_member_string(w, "protocol", op_attr(op, SYS_ATTR_PROTOCOL)->u.string);
    for (size_t i = 0; i < set->links.len; i++) {
        const KernelLink *link = &set->links.data[i];
        if (link->op != op) continue;
        json_member_int(w, "pace", link->pace);
        json_member_int(w, "from_port", link->ports[0]);
        json_member_int(w, "to_port", link->ports[1]);
        json_member_int(w, "socket", link->socket);
    }
}

typedef enum Joint { STREAMS, LINKS, COPIES } Joint;

static Joint joint_of(const Op *op)
{
    return kernels_is_copy(op) ? COPIES : op->def == SYS(LINK) ? LINKS : STREAMS;
}

static void add_streams(const KernelSet *set, Joint kind, JsonWriter *w)
{
    static const char *const keys[] = {"streams", "links", "copies"};
    json_member_array(w, keys[kind]);
    for (size_t i = 0; i < set->design->streams.len; i++) {
        const HlsStream *stream = &set->design->streams.data[i];
        if (!stream->op || stream->op->block != region_entry(op_region(set->system, 0)) ||
            joint_of(stream->op) != kind)
            continue;
        const KernelEnds ends = kernels_ends(set, op_result(stream->op, 0));
        json_begin_row(w);
        json_member_string(w, "name", stream->name);
        add_end(set, "from", ends.from, ends.from_port, w);
        add_end(set, "to", ends.to, ends.to_port, w);
        json_member_int(w, "width", design_word_bits(stream));
        json_member_int(w, "words", stream->words);
        json_member_int(w, "depth", stream->depth);
        json_member_int(w, "latency", stream->latency);
        if (kind == COPIES)
            json_member_int(w, "bytes", kernels_copy_bytes(kernels_at_copy(set, stream->op)));
        if (kind == LINKS) add_link(set, stream->op, w);
        json_end_object(w);
    }
    json_end_rows(w);
}

static void add_adapters(const KernelSet *set, JsonWriter *w)
{
    json_member_array(w, "adapters");
    for (size_t i = 0; i < set->adapters.len; i++) {
        const KernelAdapter *a = &set->adapters.data[i];
        const bool is_of_link = a->kind != ADAPTER_MERGE && a->kind != ADAPTER_SPLIT;
        json_begin_row(w);
        json_member_string(w, "name", strbuf_str(&a->name));
        json_member_int(w, "card", a->place.card);
        json_member_int(w, "die", a->place.die);
        json_member_int(w, is_of_link ? "link" : "port", is_of_link ? a->link : a->port);
        json_end_object(w);
    }
    json_end_rows(w);
}

/* Frames a second that the proven interval gives; without one nothing is said. */
static void add_speed(const KernelSet *set, int64_t mhz, JsonWriter *w)
{
    const Attr *timing = op_attr(set->system, EMITHLS_ATTR_TIMING);
    int64_t interval = attr_dict_int(timing, EMITHLS_TIMING_INTERVAL, 0);
    int64_t copies = set->is_dp ? set->instances * kernels_card_count(set) : set->tile;
    json_member_int(w, "clock_mhz", mhz);
    json_member_string(w, "timing", interval > 0 ? STR("simulated") : STR("unknown"));
    if (interval <= 0) return;
    json_member_int(w, "interval_cycles", interval);
    json_member_int(w, "latency_cycles", attr_dict_int(timing, EMITHLS_TIMING_LATENCY, 0));
    json_write_key(w, STR("fps"));
    json_write_number(w, "%.1f", (double)copies * (double)mhz * 1e6 / (double)interval);
}

void kernels_print_json(const KernelSet *set, StrBuf *out)
{
    JsonWriter json = {.out = out}, *w = &json;
    const Attr *mode = op_attr(set->system, "mode");
    json_begin_object(w);
    json_write_line(w, 2);
    json_member_string(w, "system", symbol_name(set->system)->str);
    json_member_string(w, "mode", mode ? mode->u.string : STR("hwmp"));
    json_member_int(w, "instances", set->is_dp ? set->instances : set->tile);
    json_write_line(w, 2);
    add_speed(set, design_clock_mhz(set->module), w);
    json_write_line(w, 2);
    add_cards(set, w);
    add_kernels(set, w);
    for (Joint kind = STREAMS; kind <= COPIES; kind++) add_streams(set, kind, w);
    add_adapters(set, w);
    kernels_print_weights_json(set, w);
    json_end_object(w);
    strbuf_add_char(out, '\n');
}
