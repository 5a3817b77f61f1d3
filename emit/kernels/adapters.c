/* Adapters between kernels and the UDP core of each card's network: one function of ming_adapter.h each,
 * whose arguments are those of the kernel.
 *
 *   kernel ─▶ send ─▶ [merge ─▶] networklayer_P ═▶ networklayer_P [─▶ split] ─▶ receive ─▶ kernel
 *
 * With credits there are `count` behind `receive`, and `answer`, whose packets go the other way. `merge`
 * and `split` are at ports of which several streams use one way.
 * Tests: lit/emit/kernels.test, test/e2e/network_check.py */
#include <string.h>

#include "emit/kernels/internal.h"
#include "ir/asm/print/print.h"
#include "target/split/split.h"

static const AdapterDef defs[ADAPTER_KINDS] = {
    [ADAPTER_UDP_SEND] = {"send", "udp_send", {{"words", 'w'}, {"packets", 'b'}}},
    [ADAPTER_UDP_RECEIVE] = {"receive",
                             "udp_receive",
                             {{"packets", 'b'}, {"words", 'w'}, {"missing", 's'}, {"packet", 's'}}},
    [ADAPTER_SEND] = {"send",
                      "credit_send",
                      {{"words", 'w'}, {"answers", 'b'}, {"packets", 'b'}, {"again", 's'}}},
    [ADAPTER_RECEIVE] = {"receive",
                         "credit_receive",
                         {{"packets", 'b'}, {"words", 'w'}, {"reports", 'r'}, {"lost", 's'}}},
    [ADAPTER_COUNT] = {"count", "credit_count", {{"words", 'w'}, {"given", 'w'}, {"taken", 't'}}},
    [ADAPTER_ANSWER] = {"answer",
                        "credit_answer",
                        {{"reports", 'r'}, {"taken", 't'}, {"answers", 'b'}}},
    [ADAPTER_MERGE] = {"merge", NULL, {{"packets", 'b'}}},
    [ADAPTER_SPLIT] = {"split", NULL, {{"packets", 'b'}}},
};

const AdapterDef *kernels_adapter_def(const KernelAdapter *adapter)
{
    return &defs[adapter->kind];
}

static int64_t int_or(const Op *op, const char *name, int64_t otherwise)
{
    const Attr *attr = op_attr(op, name);
    return attr ? attr_int_value(attr) : otherwise;
}

static void add_link(KernelSet *set, const Op *op)
{
    KernelLink *link = vec_push(&set->links);
    const Attr *ports = op_attr(op, SYS_ATTR_PORTS), *protocol = op_attr(op, SYS_ATTR_PROTOCOL);
    *link = (KernelLink){.op = op,
                         .ends = kernels_ends(set, op_result(op, 0)),
                         .words = 1,
                         .depth = int_or(op, DFG_ATTR_DEPTH, 1),
                         .latency = int_or(op, EMITHLS_ATTR_LATENCY, 1),
                         .packet = int_or(op, SYS_ATTR_PACKET, 1),
                         .is_credit = str_eq_c(protocol->u.string, "credit")};
    link->pace = int_or(op, SYS_ATTR_PACE, link->packet + 1);
    link->places[0] = set->kernels.data[link->ends.from].place;
    link->places[1] = set->kernels.data[link->ends.to].place;
    for (int end = 0; end < 2; end++)
        link->ports[end] = ports ? dense_array_i64(ports, (size_t)end)
                                 : link->places[!end].card > link->places[end].card;
    for (size_t i = 0; i < set->design->streams.len; i++)
        if (set->design->streams.data[i].op == op)
            link->words = i64_max(set->design->streams.data[i].words, 1);
}

static bool is_at(const KernelLink *link, int end, int64_t card, int64_t port)
{
    return link->places[end].card == card && link->ports[end] == port;
}

/* A port has one cable, so streams have the same number at both of its ends. */
static void number_sockets(KernelSet *set)
{
    for (size_t i = 0; i < set->links.len; i++) {
        KernelLink *link = &set->links.data[i];
        for (size_t k = 0; k < i; k++) {
            const KernelLink *other = &set->links.data[k];
            bool same = is_at(other, 0, link->places[0].card, link->ports[0]) ||
                        is_at(other, 1, link->places[0].card, link->ports[0]);
            if (same) link->socket++;
        }
    }
}

static KernelAdapter *add_adapter(KernelSet *set, AdapterKind kind, SysPlace place)
{
    KernelAdapter *adapter = vec_push(&set->adapters);
    *adapter = (KernelAdapter){.kind = kind, .place = place};
    return adapter;
}

static void add_ends(KernelSet *set, uint32_t number)
{
    static const AdapterKind udp[] = {ADAPTER_UDP_SEND, ADAPTER_UDP_RECEIVE},
                             credit[] = {ADAPTER_SEND, ADAPTER_RECEIVE, ADAPTER_COUNT,
                                         ADAPTER_ANSWER};
    const KernelLink *link = &set->links.data[number];
    const AdapterKind *kinds = link->is_credit ? credit : udp;
    for (size_t i = 0; i < (link->is_credit ? COUNT_OF(credit) : COUNT_OF(udp)); i++) {
        KernelAdapter *adapter = add_adapter(set, kinds[i], link->places[i > 0]);
        adapter->link = number;
        strbuf_printf(&adapter->name, "%s%u_%s", set->prefix, number, defs[kinds[i]].suffix);
    }
}

/* Beats of a link that leave a port, or come to it: its packets at one end, its answers at the other. */
static bool uses(const KernelLink *link, int64_t card, int64_t port, bool leaves)
{
    return is_at(link, leaves ? 0 : 1, card, port) ||
           (link->is_credit && is_at(link, leaves ? 1 : 0, card, port));
}

uint32_t kernels_port_users(const KernelSet *set, int64_t card, int64_t port, bool leaves)
{
    uint32_t count = 0;
    for (size_t i = 0; i < set->links.len; i++)
        count += uses(&set->links.data[i], card, port, leaves);
    return count;
}

/* The die of a port: that of the kernels at it. */
static SysPlace port_place(const KernelSet *set, int64_t card, int64_t port)
{
    for (size_t i = 0; i < set->links.len; i++)
        for (int end = 0; end < 2; end++)
            if (is_at(&set->links.data[i], end, card, port)) return set->links.data[i].places[end];
    return (SysPlace){card, 0};
}

static void add_ports(KernelSet *set)
{
    for (int64_t card = 0; card < kernels_card_count(set); card++)
        for (int64_t port = 0; port < SYS_MAX_PORTS; port++) {
            const bool has = kernels_port_users(set, card, port, true) ||
                             kernels_port_users(set, card, port, false);
            if (!has) continue;
            *vec_push(&set->ports) = (KernelNetPort){card, port, port_place(set, card, port).die};
            for (int leaves = 1; leaves >= 0; leaves--) {
                if (kernels_port_users(set, card, port, leaves) < 2) continue;
                const AdapterKind kind = leaves ? ADAPTER_MERGE : ADAPTER_SPLIT;
                KernelAdapter *adapter = add_adapter(set, kind, port_place(set, card, port));
                adapter->port = port;
                strbuf_printf(&adapter->name, "%s_card%lld_eth%lld_%s", set->prefix,
                              (long long)card, (long long)port, defs[kind].suffix);
            }
        }
}

/* "net", with which no kernel begins. */
static void choose_prefix(KernelSet *set)
{
    for (int n = 0;; n++) {
        bool is_used = false;
        snprintf(set->prefix, sizeof set->prefix, n ? "net%c" : "net", 'a' + n % 26);
        for (size_t i = 0; i < set->kernels.len; i++)
            is_used |=
                strncmp(kernels_name(&set->kernels.data[i]), set->prefix, strlen(set->prefix)) == 0;
        if (!is_used || n == 26) return;
    }
}

static const char *adapter_of(const KernelSet *set, AdapterKind kind, uint32_t link)
{
    for (size_t i = 0; i < set->adapters.len; i++)
        if (set->adapters.data[i].kind == kind && set->adapters.data[i].link == link)
            return set->adapters.data[i].name.data;
    return NULL;
}

static const char *port_adapter(const KernelSet *set, AdapterKind kind, int64_t card, int64_t port)
{
    for (size_t i = 0; i < set->adapters.len; i++) {
        const KernelAdapter *a = &set->adapters.data[i];
        if (a->kind == kind && a->place.card == card && a->port == port) return a->name.data;
    }
    return NULL;
}

static const char *branch_name(const KernelSet *set, const KernelLink *link, int64_t card,
                               int64_t port, bool leaves)
{
    static const char *const names[] = {"branch0",  "branch1",  "branch2",  "branch3",
                                        "branch4",  "branch5",  "branch6",  "branch7",
                                        "branch8",  "branch9",  "branch10", "branch11",
                                        "branch12", "branch13", "branch14", "branch15"};
    uint32_t number = 0;
    for (const KernelLink *other = set->links.data; other < link; other++)
        number += uses(other, card, port, leaves);
    return names[number % COUNT_OF(names)];
}

/* Beats between an adapter of a link's end and the UDP core of its port. */
static void join_port(KernelSet *set, uint32_t number, int end, const char *adapter,
                      const char *arg, bool leaves)
{
    enum { PACKETS = 128, BEATS = 32 }; /* beats of some packets, while words of one are unpacked */
    const KernelLink *link = &set->links.data[number];
    int64_t card = link->places[end].card, port = link->ports[end];
    const char *other = port_adapter(set, leaves ? ADAPTER_MERGE : ADAPTER_SPLIT, card, port);
    const char *branch = other ? branch_name(set, link, card, port, leaves) : NULL;
    KernelJoint joint = {.type = 'b', .link = number, .card = card, .port = port};
    joint.depth = leaves ? BEATS : PACKETS;
    joint.from = leaves ? adapter : other;
    joint.from_arg = leaves ? arg : branch;
    joint.to = leaves ? other : adapter;
    joint.to_arg = leaves ? branch : arg;
    *vec_push(&set->joints) = joint;
}

static void join_words(KernelSet *set, uint32_t number)
{
    enum { REPORTS = 64, COUNTS = 16, REGISTERS = 2 };
    const KernelLink *link = &set->links.data[number];
    const KernelFiles *writer = &set->kernels.data[link->ends.from],
                      *reader = &set->kernels.data[link->ends.to];
    const char *from_arg = kernels_port(writer, link->ends.from_port),
               *to_arg = kernels_port(reader, link->ends.to_port), *count, *answer;
    int64_t here = link->places[0].card, there = link->places[1].card;
    const AdapterKind send = link->is_credit ? ADAPTER_SEND : ADAPTER_UDP_SEND,
                      receive = link->is_credit ? ADAPTER_RECEIVE : ADAPTER_UDP_RECEIVE;
    const char *sender = adapter_of(set, send, number),
               *receiver = adapter_of(set, receive, number);
    *vec_push(&set->joints) = (KernelJoint){
        kernels_name(writer), from_arg, sender, "words", 'w', number, here, 0, REGISTERS};
    join_port(set, number, 0, sender, "packets", true);
    join_port(set, number, 1, receiver, "packets", false);
    if (!link->is_credit) {
        *vec_push(&set->joints) = (KernelJoint){
            receiver, "words", kernels_name(reader), to_arg, 'w', number, there, 0, link->depth};
        return;
    }
    count = adapter_of(set, ADAPTER_COUNT, number);
    answer = adapter_of(set, ADAPTER_ANSWER, number);
    int64_t room = split_adapter_room(link->depth, link->packet);
    const KernelJoint others[] = {
        {receiver, "words", count, "words", 'w', number, there, 0, room},
        {count, "given", kernels_name(reader), to_arg, 'w', number, there, 0, REGISTERS},
        {count, "taken", answer, "taken", 't', number, there, 0, COUNTS},
        {receiver, "reports", answer, "reports", 'r', number, there, 0, REPORTS},
    };
    for (size_t i = 0; i < COUNT_OF(others); i++) *vec_push(&set->joints) = others[i];
    join_port(set, number, 1, answer, "answers", true);
    join_port(set, number, 0, sender, "answers", false);
}

static void join_all(KernelSet *set)
{
    for (uint32_t i = 0; i < set->links.len; i++) join_words(set, i);
    for (size_t i = 0; i < set->adapters.len; i++) {
        const KernelAdapter *a = &set->adapters.data[i];
        KernelJoint joint = {.type = 'b', .card = a->place.card, .port = a->port, .depth = 32};
        if (a->kind == ADAPTER_MERGE) {
            joint.from = a->name.data;
            joint.from_arg = "packets";
        } else if (a->kind == ADAPTER_SPLIT) {
            joint.to = a->name.data;
            joint.to_arg = "packets";
        } else {
            continue;
        }
        *vec_push(&set->joints) = joint;
    }
}

void kernels_find_links(KernelSet *set)
{
    choose_prefix(set);
    FOR_EACH_OP(op, region_entry(op_region(set->system, 0)))
        if (op->def == SYS(LINK) && !kernels_is_copy(op)) add_link(set, op);
    number_sockets(set);
    for (uint32_t i = 0; i < set->links.len; i++) add_ends(set, i);
    add_ports(set);
    join_all(set);
}

/* Links of a port's way, by the numbers of their sockets. */
static uint32_t link_at(const KernelSet *set, const KernelAdapter *adapter, uint32_t nth)
{
    const bool leaves = adapter->kind == ADAPTER_MERGE;
    for (uint32_t i = 0; i < set->links.len; i++)
        if (uses(&set->links.data[i], adapter->place.card, adapter->port, leaves) && nth-- == 0)
            return i;
    return 0;
}

uint32_t kernels_branches(const KernelSet *set, const KernelAdapter *adapter)
{
    if (adapter->kind != ADAPTER_MERGE && adapter->kind != ADAPTER_SPLIT) return 0;
    return kernels_port_users(set, adapter->place.card, adapter->port,
                              adapter->kind == ADAPTER_MERGE);
}

void kernels_print_item(const KernelLink *link, char type, StrBuf *out)
{
    if (type == 'w')
        emit_print_type(emithls_stream_word(op_result(link->op, 0)->type), out);
    else
        strbuf_add_c(out, type == 'b'   ? "ming::adapter::Beat"
                          : type == 'r' ? "ming::adapter::Report"
                                        : "ap_uint<16>");
}

static void print_type(const KernelSet *set, const KernelAdapter *adapter, char type, StrBuf *out)
{
    if (type == 's') {
        strbuf_add_c(out, "ming::adapter::Count &");
        return;
    }
    strbuf_add_c(out, "hls::stream<");
    kernels_print_item(&set->links.data[adapter->link], type, out);
    strbuf_add_c(out, "> &");
}

void kernels_print_adapter_prototype(const KernelSet *set, const KernelAdapter *adapter,
                                     StrBuf *out)
{
    const AdapterDef *def = &defs[adapter->kind];
    strbuf_printf(out, "void %s(", adapter->name.data);
    for (uint32_t i = 0; i < kernels_branches(set, adapter); i++)
        strbuf_printf(out, "hls::stream<ming::adapter::Beat> &branch%u, ", i);
    for (size_t i = 0; i < COUNT_OF(def->args) && def->args[i].name; i++) {
        if (i) strbuf_add_c(out, ", ");
        print_type(set, adapter, def->args[i].type, out);
        strbuf_add_c(out, def->args[i].name);
    }
    strbuf_add_char(out, ')');
}

static void print_pragmas(const KernelSet *set, const KernelAdapter *adapter, StrBuf *out)
{
    const AdapterDef *def = &defs[adapter->kind];
    strbuf_add_c(out, "#pragma HLS interface mode=ap_ctrl_none port=return\n");
    for (uint32_t i = 0; i < kernels_branches(set, adapter); i++)
        strbuf_printf(out, "#pragma HLS interface mode=axis port=branch%u\n", i);
    for (size_t i = 0; i < COUNT_OF(def->args) && def->args[i].name; i++)
        strbuf_printf(out, "#pragma HLS interface mode=%s port=%s\n",
                      def->args[i].type == 's' ? "s_axilite" : "axis", def->args[i].name);
    strbuf_add_c(out, "#pragma HLS pipeline II=1\n");
}

/* Cycles behind which a receiver says again what it waits for, and a sender begins anew. */
static int64_t quiet_cycles(const KernelLink *link)
{
    return 4 * (link->latency + link->pace) + 64;
}

static void print_call(const KernelSet *set, const KernelAdapter *adapter, StrBuf *out)
{
    const AdapterDef *def = &defs[adapter->kind];
    const KernelLink *link = &set->links.data[adapter->link];
    const long long words = link->words, packet = link->packet;
    strbuf_printf(out, "    ming::adapter::%s<", def->function);
    if (adapter->kind != ADAPTER_ANSWER) {
        kernels_print_item(link, 'w', out);
        strbuf_add_c(out, ", ");
    }
    if (adapter->kind == ADAPTER_COUNT)
        strbuf_printf(out, "%lld", (long long)split_adapter_chunk(packet));
    else
        strbuf_printf(out, "%u", adapter->link);
    if (adapter->kind == ADAPTER_UDP_SEND || adapter->kind == ADAPTER_SEND)
        strbuf_printf(out, ", %u, %lld, %lld", link->socket, words, packet);
    if (adapter->kind == ADAPTER_UDP_RECEIVE || adapter->kind == ADAPTER_RECEIVE)
        strbuf_printf(out, ", %lld, %lld", words, packet);
    if (adapter->kind == ADAPTER_SEND)
        strbuf_printf(out, ", %lld, %lld, %lld", (long long)split_adapter_room(link->depth, packet),
                      (long long)split_adapter_kept(link->depth, packet),
                      (long long)(2 * (link->latency + quiet_cycles(link))));
    if (adapter->kind == ADAPTER_ANSWER)
        strbuf_printf(out, ", %u, %lld, %lld", link->socket, (long long)link->pace,
                      (long long)quiet_cycles(link));
    strbuf_add_c(out, ">(");
    for (size_t i = 0; i < COUNT_OF(def->args) && def->args[i].name; i++)
        strbuf_printf(out, "%s%s", i ? ", " : "", def->args[i].name);
    strbuf_add_c(out, ");\n");
}

/* Packets of the branches, each as a whole, in turn. */
static void print_merge(uint32_t branches, StrBuf *out)
{
    strbuf_add_c(out, "    static int at = 0;\n    static bool is_inside = false;\n");
    strbuf_printf(out, "    const bool ready[%u] = {", branches);
    for (uint32_t i = 0; i < branches; i++)
        strbuf_printf(out, "%s!branch%u.empty()", i ? ", " : "", i);
    strbuf_add_c(out, "};\n"
                      "    if (!is_inside)\n"
                      "        at = ming::adapter::next_ready(ready, at);\n"
                      "    if (!ready[at])\n"
                      "        return;\n"
                      "    ming::adapter::Beat beat;\n"
                      "    switch (at) {\n");
    for (uint32_t i = 0; i < branches; i++)
        strbuf_printf(out,
                      i + 1 < branches ? "    case %u:\n        beat = branch%u.read();\n"
                                         "        break;\n"
                                       : "    default: // %u\n        beat = branch%u.read();\n",
                      i, i);
    strbuf_add_c(out, "    }\n    packets.write(beat);\n    is_inside = !beat.last;\n");
}

/* Beats go where their packet's first one says. */
static void print_split(const KernelSet *set, const KernelAdapter *adapter, StrBuf *out)
{
    strbuf_add_c(out, "    static int socket = 0;\n"
                      "    static bool is_inside = false;\n"
                      "    if (packets.empty())\n"
                      "        return;\n"
                      "    const ming::adapter::Beat beat = packets.read();\n"
                      "    if (!is_inside)\n"
                      "        socket = static_cast<int>(beat.dest);\n"
                      "    is_inside = !beat.last;\n"
                      "    switch (socket) {\n");
    for (uint32_t i = 0; i < kernels_branches(set, adapter); i++)
        strbuf_printf(out, "    case %u:\n        branch%u.write(beat);\n        break;\n",
                      set->links.data[link_at(set, adapter, i)].socket, i);
    strbuf_add_c(out, "    default:\n        break; // nobody's\n    }\n");
}

void kernels_print_adapter(const KernelSet *set, const KernelAdapter *adapter, StrBuf *out)
{
    strbuf_printf(
        out, "// %s: an adapter on card %lld; a call is a cycle.\n#include \"ming_adapter.h\"\n\n",
        adapter->name.data, (long long)adapter->place.card);
    kernels_print_adapter_prototype(set, adapter, out);
    strbuf_add_c(out, ";\n\n");
    kernels_print_adapter_prototype(set, adapter, out);
    strbuf_add_c(out, "\n{\n");
    print_pragmas(set, adapter, out);
    if (adapter->kind == ADAPTER_MERGE)
        print_merge(kernels_branches(set, adapter), out);
    else if (adapter->kind == ADAPTER_SPLIT)
        print_split(set, adapter, out);
    else
        print_call(set, adapter, out);
    strbuf_add_c(out, "}\n");
}

void kernels_free_links(KernelSet *set)
{
    for (size_t i = 0; i < set->adapters.len; i++) strbuf_free(&set->adapters.data[i].name);
    vec_free(&set->adapters);
    vec_free(&set->links);
    vec_free(&set->ports);
    vec_free(&set->joints);
}
