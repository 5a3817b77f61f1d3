/* What stands before the function of TOP_network.cpp: a stream for each joint, the cables between ports,
 * and `carry`, which lets all adapters run until the words of links have come.
 * Tests: test/e2e/network_check.py */
#include <string.h>

#include "emit/kernels/internal.h"
#include "target/split/split.h"

size_t kernels_joint_at(const KernelSet *set, const char *kernel, const char *arg)
{
    for (size_t i = 0; i < set->joints.len; i++) {
        const KernelJoint *j = &set->joints.data[i];
        if ((j->from && strcmp(j->from, kernel) == 0 && strcmp(j->from_arg, arg) == 0) ||
            (j->to && strcmp(j->to, kernel) == 0 && strcmp(j->to_arg, arg) == 0))
            return i;
    }
    return set->joints.len;
}

/* The stream between a port and its UDP core. */
static size_t joint_at_port(const KernelSet *set, int64_t card, int64_t port, bool leaves)
{
    for (size_t i = 0; i < set->joints.len; i++) {
        const KernelJoint *j = &set->joints.data[i];
        if (j->card == card && j->port == port && j->type == 'b' && (leaves ? !j->to : !j->from))
            return i;
    }
    return set->joints.len;
}

static void print_streams(const KernelSet *set, StrBuf *out)
{
    for (size_t i = 0; i < set->joints.len; i++) {
        const KernelJoint *j = &set->joints.data[i];
        StrBuf type = {0};
        kernels_print_item(&set->links.data[j->link], j->type, &type);
        strbuf_printf(out, "static hls::stream<%s> &joint%zu = ming::channel::stream<%s>();\n",
                      type.data, i, type.data);
        strbuf_free(&type);
    }
}

static void print_registers(const KernelSet *set, StrBuf *out)
{
    for (size_t i = 0; i < set->adapters.len; i++) {
        const KernelAdapter *a = &set->adapters.data[i];
        const AdapterDef *def = kernels_adapter_def(a);
        for (size_t k = 0; k < COUNT_OF(def->args) && def->args[k].name; k++)
            if (def->args[k].type == 's')
                strbuf_printf(out, "static ming::adapter::Count %s_%s = 0;\n", a->name.data,
                              def->args[k].name);
    }
}

/* A call of an adapter; of `count` only now and then, as of a reader that waits. */
static void print_step(const KernelSet *set, const KernelAdapter *a, StrBuf *out)
{
    const AdapterDef *def = kernels_adapter_def(a);
    const uint32_t branches = kernels_branches(set, a);
    strbuf_printf(out, a->kind == ADAPTER_COUNT ? "    if (all().takes())\n        %s(" : "    %s(",
                  a->name.data);
    for (uint32_t i = 0; i < branches; i++) {
        char name[24];
        snprintf(name, sizeof name, "branch%u", i);
        strbuf_printf(out, "joint%zu, ", kernels_joint_at(set, a->name.data, name));
    }
    for (size_t k = 0; k < COUNT_OF(def->args) && def->args[k].name; k++) {
        strbuf_add_c(out, k ? ", " : "");
        if (def->args[k].type == 's')
            strbuf_printf(out, "%s_%s", a->name.data, def->args[k].name);
        else
            strbuf_printf(out, "joint%zu", kernels_joint_at(set, a->name.data, def->args[k].name));
    }
    strbuf_add_c(out, ");\n");
}

/* The adapter of a link with a register, and that register; 0 if there is none. */
static void print_register(const KernelSet *set, AdapterKind kind, uint32_t link, const char *name,
                           StrBuf *out)
{
    for (size_t i = 0; i < set->adapters.len; i++) {
        const KernelAdapter *a = &set->adapters.data[i];
        if (a->kind != kind || a->link != link) continue;
        strbuf_printf(out, "&%s_%s", a->name.data, name);
        return;
    }
    strbuf_add_c(out, "nullptr");
}

static void print_links(const KernelSet *set, StrBuf *out)
{
    for (uint32_t i = 0; i < set->links.len; i++) {
        const KernelLink *l = &set->links.data[i];
        const KernelFiles *from = &set->kernels.data[l->ends.from],
                          *to = &set->kernels.data[l->ends.to];
        const char *from_arg = kernels_port(from, l->ends.from_port);
        const size_t waiting = kernels_joint_at(set, kernels_name(from), from_arg),
                     came =
                         kernels_joint_at(set, kernels_name(to), kernels_port(to, l->ends.to_port));
        size_t held = came;
        for (size_t k = 0; k < set->adapters.len; k++)
            if (set->adapters.data[k].kind == ADAPTER_COUNT && set->adapters.data[k].link == i)
                held = kernels_joint_at(set, set->adapters.data[k].name.data, "words");
        strbuf_printf(out, "        all.add_link({\"%s\", %lld, %lld, ", from_arg,
                      (long long)l->places[0].card, (long long)l->places[1].card);
        for (int k = 0; k < 3; k++) {
            static const AdapterKind kinds[2][3] = {
                {ADAPTER_UDP_RECEIVE, ADAPTER_UDP_RECEIVE, ADAPTER_SEND},
                {ADAPTER_RECEIVE, ADAPTER_UDP_RECEIVE, ADAPTER_SEND}};
            static const char *const names[2][3] = {{"missing", "packet", "again"},
                                                    {"lost", "packet", "again"}};
            print_register(set, kinds[l->is_credit][k], i, names[l->is_credit][k], out);
            strbuf_add_c(out, k < 2 ? ", " : ",");
        }
        strbuf_printf(out,
                      "\n                      [] { return joint%zu.size(); }, [] { return "
                      "joint%zu.size(); }, [] { return joint%zu.size(); }, %lld});\n",
                      waiting, came, held,
                      l->is_credit ? (long long)split_adapter_room(l->depth, l->packet) : 0);
    }
}

/* Both ways of each cable, as far as they are used. */
static void print_wires(const KernelSet *set, StrBuf *out)
{
    for (size_t i = 0; i < set->links.len; i++) {
        const KernelLink *l = &set->links.data[i];
        if (l->socket > 0) continue;
        for (int end = 0; end < 2; end++) {
            int64_t card = l->places[end].card, other = l->places[!end].card;
            if (kernels_port_users(set, card, l->ports[end], true) == 0) continue;
            strbuf_printf(out, "        all.add_wire(joint%zu, joint%zu, %lld);\n",
                          joint_at_port(set, card, l->ports[end], true),
                          joint_at_port(set, other, l->ports[!end], false), (long long)l->latency);
        }
    }
}

void kernels_print_network(const KernelSet *set, StrBuf *out)
{
    strbuf_add_c(out, "#include \"" KERNELS_ADAPTER_HEADER "\"\n#include \"ming_channel.h\"\n\n");
    for (size_t i = 0; i < set->adapters.len; i++) {
        kernels_print_adapter_prototype(set, &set->adapters.data[i], out);
        strbuf_add_c(out, ";\n");
    }
    strbuf_add_c(out, "\nnamespace network\n{\n\n");
    print_streams(set, out);
    print_registers(set, out);
    strbuf_add_c(out,
                 "\nstatic ming::channel::Network &all()\n{\n"
                 "    static ming::channel::Network network([](ming::channel::Network &all) {\n");
    print_links(set, out);
    print_wires(set, out);
    strbuf_add_c(out, "    });\n    return network;\n}\n\n"
                      "// A cycle of all adapters.\nstatic void step()\n{\n");
    for (size_t i = 0; i < set->adapters.len; i++) print_step(set, &set->adapters.data[i], out);
    strbuf_add_c(out, "}\n\nstatic void carry()\n{\n    all().carry(step);\n}\n\n"
                      "} // namespace network\n");
}
