/* Reads system files, and makes systems of equal cards. The schema says what a file may hold; what
 * it cannot say is checked here.
 * Tests: test/unit/target/device/system_test.c, lit/tools/devices-system.test */
#include <string.h>

#include "ir/asm/print/print.h"
#include "target/device/device.h"
#include "target/device/internal.h"

enum { MAX_FILE_SIZE = 1 << 20 };

/* What links have where a file does not say it: two ports of 100 Gb/s that are joined by a cable
 * (Elastic-DF, section 5), and packets of 22 words of 64 bytes behind Ethernet, IP and UDP headers. */
enum {
    DEFAULT_GBPS = 100,
    DEFAULT_LATENCY_NS = 526,
    DEFAULT_PAYLOAD = 1408,
    DEFAULT_OVERHEAD = 66
};

static const char *const protocols[] = {
    [LINK_EITHER] = "either", [LINK_UDP] = "udp", [LINK_CREDIT] = "credit"};

Str system_protocol_name(LinkProtocol protocol)
{
    return str_from(protocols[protocol]);
}

static SystemCard read_card(const XmlFile *file, const xmlNode *node)
{
    return (SystemCard){.name = xml_attribute(file, node, "name"),
                        .device_name = xml_attribute(file, node, "device"),
                        .clock = xml_count(file, node, "clock", 0)};
}

/* Finds the card and the port of an end, "c0.eth1". False: diagnosed. */
static bool find_end(Context *ctx, const System *system, const Attr *loc, Str end, uint32_t *card,
                     uint32_t *port)
{
    enum { PORT_LENGTH = sizeof ".eth0" - 1 };
    Str name = {end.data, end.len - PORT_LENGTH};
    Suggestion near = {.wanted = name};
    StrBuf hint = {0};
    *port = (uint32_t)(end.data[end.len - 1] - '0'); /* the schema: 0 to 7 */
    for (*card = 0; *card < system->card_count; ++*card) {
        if (str_eq(system->cards[*card].name, name)) return true;
        suggestion_try(&near, system->cards[*card].name);
    }
    suggestion_print(&near, &hint);
    diag_error(ctx, loc, "a link ends at an unknown card '%.*s'%.*s", STR_ARG(name),
               STR_ARG(strbuf_str(&hint)));
    strbuf_free(&hint);
    return false;
}

static bool is_end(const SystemLink *link, uint32_t card, uint32_t port)
{
    return (link->from == card && link->from_port == port) ||
           (link->to == card && link->to_port == port);
}

/* The card that stands for all that are connected with one. */
static uint32_t part_of(const uint32_t *parts, uint32_t card)
{
    while (parts[card] != card) card = parts[card];
    return card;
}

/* Adds a link to a system. parts: of each card, one that it is connected with. False: diagnosed. */
static bool add_link(Context *ctx, System *system, const SystemLink *link, uint32_t *parts)
{
    const SystemCard *from = &system->cards[link->from], *to = &system->cards[link->to];
    if (link->from == link->to)
        return diag_error(ctx, link->loc, "a link joins card '%.*s' to itself",
                          STR_ARG(from->name));
    for (uint32_t i = 0; i < system->link_count; i++) {
        const SystemLink *other = &system->links[i];
        bool is_from = is_end(other, link->from, link->from_port);
        if (is_from || is_end(other, link->to, link->to_port))
            return diag_error(ctx, link->loc, "two links end at %.*s.eth%u",
                              STR_ARG(is_from ? from->name : to->name),
                              is_from ? link->from_port : link->to_port);
    }
    uint32_t a = part_of(parts, link->from), b = part_of(parts, link->to);
    if (a == b)
        return diag_error(ctx, link->loc, "cards '%.*s' and '%.*s' are connected twice",
                          STR_ARG(from->name), STR_ARG(to->name));
    parts[a] = b;
    system->links[system->link_count++] = *link;
    return true;
}

static bool read_link(const XmlFile *file, const xmlNode *node, System *out, uint32_t *parts)
{
    SystemLink link = {.gbps = xml_count(file, node, "gbps", DEFAULT_GBPS),
                       .latency_ns = xml_count(file, node, "latency-ns", DEFAULT_LATENCY_NS),
                       .payload = xml_count(file, node, "payload", DEFAULT_PAYLOAD),
                       .overhead = xml_count(file, node, "overhead", DEFAULT_OVERHEAD),
                       .loc = xml_loc(file, xmlGetLineNo(node))};
    for (uint32_t i = LINK_UDP; i <= LINK_CREDIT; i++)
        if (str_eq_c(xml_attribute(file, node, "protocol"), protocols[i]))
            link.protocol = (LinkProtocol)i;
    return find_end(file->ctx, out, link.loc, xml_attribute(file, node, "from"), &link.from,
                    &link.from_port) &&
           find_end(file->ctx, out, link.loc, xml_attribute(file, node, "to"), &link.to,
                    &link.to_port) &&
           add_link(file->ctx, out, &link, parts);
}

static bool read_element(const XmlFile *file, const xmlNode *node, System *out, uint32_t *parts)
{
    const char *name = (const char *)node->name;
    if (strcmp(name, "card") == 0) {
        out->cards[out->card_count++] = read_card(file, node);
    } else if (strcmp(name, "host") == 0) {
        out->has_host = true;
        out->pcie_gbytes = xml_count(file, node, "pcie-gbytes", SYSTEM_PCIE_GBYTES);
        out->transfer_us = xml_count(file, node, "transfer-us", SYSTEM_TRANSFER_US);
    }
    return strcmp(name, "link") != 0 || read_link(file, node, out, parts);
}

static bool read_system(const XmlFile *file, const xmlNode *root, System *out)
{
    uint32_t parts[SYSTEM_MAX_CARDS];
    for (uint32_t i = 0; i < SYSTEM_MAX_CARDS; i++) parts[i] = i;
    out->name = xml_attribute(file, root, "name");
    for (const xmlNode *node = root->children; node; node = node->next)
        if (node->type == XML_ELEMENT_NODE && !read_element(file, node, out, parts)) return false;
    if (out->link_count + 1 == out->card_count) return true;
    if (out->link_count == 0 && out->has_host) return true; /* which copies between them */
    uint32_t alone = 1;
    while (part_of(parts, alone) == part_of(parts, 0)) alone++;
    return diag_error(file->ctx, xml_loc(file, 1), "no links connect cards '%.*s' and '%.*s'",
                      STR_ARG(out->cards[0].name), STR_ARG(out->cards[alone].name));
}

bool system_read(Context *ctx, const char *path, const char *schema, System *out)
{
    XmlFile file = {ctx, path, false};
    xmlDoc *doc = xml_read(&file, "system file", MAX_FILE_SIZE);
    *out = (System){.pcie_gbytes = SYSTEM_PCIE_GBYTES, .transfer_us = SYSTEM_TRANSFER_US};
    bool ok = doc && xml_validate(&file, doc, schema, "system files") &&
              read_system(&file, xmlDocGetRootElement(doc), out);
    xmlFreeDoc(doc);
    return ok;
}

static bool check_port(Context *ctx, const SystemCard *card, uint32_t port, const Attr *loc)
{
    if (device_has_port(&card->device, port)) return true;
    return diag_error(ctx, loc, "card '%.*s' has no port eth%u: %.*s has no such transceivers",
                      STR_ARG(card->name), port, STR_ARG(card->device.name));
}

/* A link between clocks that may be either is one that holds words back. */
static bool check_link(Context *ctx, const System *system, SystemLink *link, const Attr *loc)
{
    const SystemCard *from = &system->cards[link->from], *to = &system->cards[link->to];
    int64_t most = i64_min(from->device.ethernet, to->device.ethernet);
    if (!check_port(ctx, from, link->from_port, loc) || !check_port(ctx, to, link->to_port, loc))
        return false;
    if (link->gbps > most)
        return diag_error(ctx, loc, "a link has %lld Gb/s, but its cards have %lld",
                          (long long)link->gbps, (long long)most);
    if (link->protocol == LINK_EITHER && from->clock != to->clock) link->protocol = LINK_CREDIT;
    return link->protocol != LINK_UDP || from->clock == to->clock ||
           diag_error(ctx, loc,
                      "cards '%.*s' and '%.*s' have %lld and %lld MHz, but udp does not hold "
                      "words back: equal clocks, or protocol=\"credit\"",
                      STR_ARG(from->name), STR_ARG(to->name), (long long)from->clock,
                      (long long)to->clock);
}

bool system_check(Context *ctx, System *system, const Attr *loc)
{
    for (uint32_t i = 0; i < system->card_count; i++) {
        SystemCard *card = &system->cards[i];
        if (card->clock == 0) card->clock = card->device.clock_default;
        if (card->clock > card->device.clock_maximum)
            return diag_error(ctx, loc, "card '%.*s' has %lld MHz, but %.*s at most %lld",
                              STR_ARG(card->name), (long long)card->clock,
                              STR_ARG(card->device.name), (long long)card->device.clock_maximum);
    }
    for (uint32_t i = 0; i < system->link_count; i++) {
        SystemLink *link = &system->links[i];
        if (!check_link(ctx, system, link, link->loc ? link->loc : loc)) return false;
    }
    return true;
}

/* The first port from a number on; that number if there is none. */
static uint32_t next_port(const Device *device, uint32_t port)
{
    for (uint32_t i = port; i < DEVICE_MAX_PORTS; i++)
        if (device_has_port(device, i)) return i;
    return port;
}

void system_chain(Context *ctx, const Device *device, uint32_t count, System *out)
{
    StrBuf name = {0};
    uint32_t first = next_port(device, 0), second = next_port(device, first + 1);
    strbuf_printf(&name, "%ux%.*s", count, STR_ARG(device->name));
    *out = (System){.name = ident_get_c(ctx, name.data)->str,
                    .pcie_gbytes = SYSTEM_PCIE_GBYTES,
                    .transfer_us = SYSTEM_TRANSFER_US};
    for (uint32_t i = 0; i < count; i++) {
        strbuf_clear(&name);
        strbuf_printf(&name, "c%u", i);
        out->cards[out->card_count++] = (SystemCard){.name = ident_get_c(ctx, name.data)->str,
                                                     .device_name = device->name,
                                                     .device = *device};
        if (i == 0) continue;
        out->links[out->link_count++] = (SystemLink){.from = i - 1,
                                                     .to = i,
                                                     .from_port = i == 1 ? first : second,
                                                     .to_port = first,
                                                     .gbps = DEFAULT_GBPS,
                                                     .latency_ns = DEFAULT_LATENCY_NS,
                                                     .payload = DEFAULT_PAYLOAD,
                                                     .overhead = DEFAULT_OVERHEAD};
    }
    strbuf_free(&name);
}
