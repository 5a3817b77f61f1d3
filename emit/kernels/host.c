/* board/design.h of a design on cards: what board/system.cpp must know of its kernels at memory.
 * Tests: test/e2e/emulate_check.py */
#include "emit/kernels/internal.h"

static uint32_t port_count(const KernelSet *set)
{
    return region_entry(op_region(set->system, 0))->arg_count;
}

static bool is_output(const KernelSet *set, uint32_t port)
{
    return kernels_is_output(region_entry(op_region(set->system, 0))->args[port]);
}

static bool is_weights(const KernelSet *set, uint32_t port)
{
    return kernels_weights_at(set, region_entry(op_region(set->system, 0))->args[port]) != NULL;
}

static const char *port_name(const KernelSet *set, uint32_t port)
{
    return set->whole->ports.data[port].data;
}

/* Of another instance of a tile; port becomes that of the first one. */
static bool is_of_other(const KernelSet *set, uint32_t *port)
{
    const Attr *ports = op_attr(set->system, DFG_ATTR_PORT_ATTRS);
    int64_t instance = 0, first = *port;
    if (set->tile > 1 && ports && sys_port_instance(ports->u.array.items[*port], &instance, &first))
        *port = (uint32_t)first;
    return instance > 0;
}

/* Number of a port among the files, which are those of one instance: inputs, then outputs. */
static uint32_t file_of(const KernelSet *set, uint32_t port)
{
    const bool is_of_outputs = is_output(set, port);
    uint32_t number = 0;
    (void)is_of_other(set, &port);
    for (uint32_t i = 0; i < port_count(set); i++) {
        const bool other = is_output(set, i);
        uint32_t same = i;
        if (is_weights(set, i) || is_of_other(set, &same)) continue;
        number += other == is_of_outputs ? i < port : !other;
    }
    return number;
}

static void print_ports(const KernelSet *set, StrBuf *out)
{
    strbuf_add_c(out, "// Inputs, then outputs: the order of files.\n"
                      "inline std::vector<Port> ports()\n{\n    return {\n");
    for (int outputs = 0; outputs < 2; outputs++)
        for (uint32_t i = 0; i < port_count(set); i++) {
            uint32_t same = i;
            if (is_output(set, i) != (outputs == 1) || is_weights(set, i) ||
                is_of_other(set, &same))
                continue;
            strbuf_printf(out, "        {%s, \"%s\", %s_host::%s()},\n",
                          outputs ? "OUTPUT" : "INPUT", port_name(set, i), set->whole->top.data,
                          port_name(set, i));
        }
    strbuf_add_c(out, "    };\n}\n\n");
}

static void print_buffers(const KernelSet *set, const KernelFiles *k, StrBuf *out)
{
    bool has_one = false;
    strbuf_add_char(out, '{');
    for (uint32_t i = 0; i < k->kernel->operand_count; i++) {
        const Value *value = op_operand(k->kernel, i);
        if (k->copy && value == op_result(k->copy, 0)) {
            const KernelEnds ends = kernels_ends(set, value);
            bool is_writer = &set->kernels.data[ends.from] == k;
            strbuf_printf(out, "%s{%s, %u, %u, \"\"}", has_one ? ", " : "",
                          is_writer ? "COPY_OUT" : "COPY_IN", kernels_copy_number(set, k->copy), i);
            has_one = true;
        }
        if (!type_is_a(value->type, &emithls_type_array)) continue;
        uint32_t port = 0;
        while (region_entry(op_region(set->system, 0))->args[port] != value) port++;
        strbuf_printf(out, "%s{%s, %u, %u, \"%s\"}", has_one ? ", " : "",
                      is_output(set, port) ? "OUTPUT" : "INPUT", file_of(set, port), i,
                      port_name(set, port));
        has_one = true;
    }
    strbuf_add_char(out, '}');
}

static void print_copies(const KernelSet *set, StrBuf *out)
{
    bool has_one = false;
    strbuf_add_c(out, "// What the host copies between stages: bytes of a frame.\n"
                      "inline std::vector<std::size_t> copies()\n{\n    return {");
    FOR_EACH_OP(op, region_entry(op_region(set->system, 0))) {
        if (!kernels_is_copy(op)) continue;
        strbuf_printf(out, "%s%lld", has_one ? ", " : "",
                      (long long)kernels_copy_bytes(kernels_at_copy(set, op)));
        has_one = true;
    }
    strbuf_add_c(out, "};\n}\n\n");
}

/* Where the host copies, the number of cards that an instance has before that one; else 0. */
static uint32_t stage_of(const KernelSet *set, int64_t instance, int64_t card)
{
    uint32_t stage = 0;
    for (int64_t before = 0; kernels_has_copies(set) && before < card; before++) {
        bool is_there = false;
        for (size_t i = 0; i < set->kernels.len; i++)
            is_there |= set->kernels.data[i].place.card == before &&
                        kernels_instance(&set->kernels.data[i]) == instance;
        stage += is_there;
    }
    return stage;
}

/* An accelerator: an instance of a tile, or of replicas one of a card. */
typedef struct Accelerator {
    int64_t number, instance, card; /* card: of a replica */
    int64_t unit;                   /* of its kernels among those of the same name on a card */
} Accelerator;

static int64_t accelerator_count(const KernelSet *set)
{
    return set->is_dp ? set->instances * kernels_card_count(set) : set->tile;
}

static Accelerator accelerator_at(const KernelSet *set, int64_t number)
{
    if (!set->is_dp) return (Accelerator){.number = number, .instance = number};
    return (Accelerator){
        .number = number, .card = number / set->instances, .unit = number % set->instances};
}

/* "NAME:{NAME_0}", CARD, ACCELERATOR: as XRT takes it. */
static void print_unit(const KernelSet *set, const char *name, int64_t card, const Accelerator *of,
                       StrBuf *out)
{
    strbuf_printf(out, "\"%s:{%s_%lld}\", %lld, %lld, ", name, name, (long long)of->unit,
                  (long long)(set->is_dp ? of->card : card), (long long)of->number);
}

static void print_kernels(const KernelSet *set, StrBuf *out)
{
    strbuf_add_c(out, "// Kernels at memory, accelerator by accelerator; the others run by "
                      "themselves.\n"
                      "inline std::vector<Kernel> kernels()\n{\n    return {\n");
    for (int64_t n = 0; n < accelerator_count(set); n++) {
        const Accelerator of = accelerator_at(set, n);
        for (size_t i = 0; i < set->kernels.len; i++) {
            const KernelFiles *k = &set->kernels.data[i];
            if (!k->has_memory || kernels_instance(k) != of.instance) continue;
            strbuf_add_c(out, "        {");
            print_unit(set, kernels_name(k), k->place.card, &of, out);
            strbuf_printf(out, "%u, %u, ", stage_of(set, of.instance, k->place.card),
                          k->kernel->operand_count);
            print_buffers(set, k, out);
            strbuf_add_c(out, "},\n");
        }
    }
    strbuf_add_c(out, "    };\n}\n\n");
}

/* Those whose packets go through the UDP cores of ports. */
static void print_links(const KernelSet *set, StrBuf *out)
{
    strbuf_add_c(out,
                 "// Links between cards, and the sockets that they have at both of their ports.\n"
                 "inline std::vector<Link> links()\n{\n    return {");
    for (size_t i = 0; i < set->links.len; i++) {
        const KernelLink *link = &set->links.data[i];
        strbuf_printf(out, "%s\n        {%lld, %lld, %lld, %lld, %u}", i > 0 ? "," : "",
                      (long long)link->places[0].card, (long long)link->ports[0],
                      (long long)link->places[1].card, (long long)link->ports[1], link->socket);
    }
    strbuf_add_c(out, "};\n}\n\n");
}

static void print_weights(const KernelSet *set, StrBuf *out)
{
    strbuf_add_c(out, "// Kernels that send weights, accelerator by accelerator, and what they "
                      "send.\n"
                      "inline std::vector<Weights> weights()\n{\n    return {\n");
    for (int64_t n = 0; n < accelerator_count(set); n++) {
        const Accelerator of = accelerator_at(set, n);
        for (size_t i = 0; i < set->weights.len; i++) {
            const KernelWeights *w = &set->weights.data[i];
            if (kernels_instance(&set->kernels.data[w->kernel]) != of.instance) continue;
            strbuf_add_c(out, "        {");
            print_unit(set, w->name.data, w->place.card, &of, out);
            strbuf_printf(out, "\"%s\", \"%s\", %s_host::%s()},\n", w->name.data,
                          port_name(set, w->port), set->whole->top.data, port_name(set, w->port));
        }
    }
    strbuf_add_c(out, "    };\n}\n\n");
}

static const char types[] =
    "enum Kind { INPUT, OUTPUT, COPY_OUT, COPY_IN };\n\n"
    "struct Port {\n"
    "    Kind kind;\n"
    "    const char *name;\n"
    "    ming::Port port;\n"
    "};\n\n"
    "// An argument of a kernel: memory for frames of the port, or copy, of that number; and\n"
    "// what the design calls the port.\n"
    "struct Buffer {\n"
    "    Kind kind;\n"
    "    std::size_t number;\n"
    "    int argument;\n"
    "    const char *port;\n"
    "};\n\n"
    "// A unit of a kernel: \"kernel:{unit}\".\n"
    "struct Kernel {\n"
    "    std::string name;\n"
    "    std::size_t card, accelerator, stage;\n"
    "    int frames_argument;\n"
    "    std::vector<Buffer> buffers;\n"
    "};\n\n"
    "struct Link {\n"
    "    std::size_t from, from_port, to, to_port, socket;\n"
    "};\n\n"
    "// A unit likewise, and its kernel, of which memory with the words is argument 0, their\n"
    "// number argument 2.\n"
    "struct Weights {\n"
    "    std::string name;\n"
    "    std::size_t card, accelerator;\n"
    "    std::string kernel;\n"
    "    const char *port_name;\n"
    "    ming::Port port;\n"
    "};\n\n";

void kernels_print_design(const KernelSet *set, StrBuf *out)
{
    const char *top = set->whole->top.data;
    strbuf_add_c(out, "// What system.cpp must know of the design.\n"
                      "#ifndef MING_DESIGN_H\n#define MING_DESIGN_H\n\n");
    strbuf_printf(out,
                  "#include \"%s_host.h\"\n\n#include <string>\n#include <vector>\n\n"
                  "namespace design\n{\n\n",
                  top);
    strbuf_add_c(out, types);
    strbuf_printf(out, "constexpr std::size_t cards = %lld, accelerators = %lld;\n\n",
                  (long long)kernels_card_count(set), (long long)accelerator_count(set));
    print_ports(set, out);
    print_kernels(set, out);
    print_copies(set, out);
    print_links(set, out);
    print_weights(set, out);
    strbuf_add_c(out, "} // namespace design\n\n#endif\n");
}
