/* Where processes are to be: anchors, colocated layers, and places that a folding file gave.
 *   anchors  ::= anchor (';' anchor)*   anchor ::= layer ':' die
 *   colocate ::= list (';' list)*       list   ::= layer (',' layer)+
 * A layer is named as in the network, with all its processes, or by one process.
 * Tests: lit/target/dse/place-invalid.test */
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "target/dse/internal.h"

typedef struct AnchorReader {
    const DseSpace *space;
    const PartitionPlatform *platform;
    Str *reason; /* per node: the anchor that it has; empty: none */
    DseAnchors *out;
} AnchorReader;

/* The part of a text up to a separator, which is taken off it. */
static Str take_item(Str *text, char separator)
{
    const char *end = text->len ? memchr(text->data, separator, text->len) : NULL;
    Str item = {text->data, end ? (size_t)(end - text->data) : text->len};
    size_t taken = item.len + (end ? 1 : 0);
    *text = (Str){text->data + taken, text->len - taken};
    return item;
}

static bool is_called(const DseNode *node, Str name)
{
    return node->process && (str_eq(symbol_name(node->process)->str, name) ||
                             str_eq(layer_name_source(node->process), name));
}

static bool report_no_layer(const AnchorReader *r, Str name, const Suggestion *near)
{
    StrBuf text = {0};
    strbuf_add_c(&text, "has no layer ");
    strbuf_add_quoted(&text, name);
    suggestion_print(near, &text);
    op_error(r->space->region, "%s", text.data);
    strbuf_free(&text);
    return false;
}

static bool find_layer(const AnchorReader *r, Str name)
{
    Suggestion near = {.wanted = name};
    for (size_t n = 0; n < r->space->nodes.len; n++) {
        const DseNode *node = &r->space->nodes.data[n];
        if (is_called(node, name)) return true;
        if (!node->process) continue;
        suggestion_try(&near, symbol_name(node->process)->str);
        suggestion_try(&near, layer_name_source(node->process));
    }
    return report_no_layer(r, name, &near);
}

static bool find_die(const AnchorReader *r, Str name, uint32_t *out)
{
    StrBuf all = {0};
    for (uint32_t i = 0; i < r->platform->die_count; i++)
        if (str_eq(r->platform->dies[i].name, name)) {
            *out = i;
            return true;
        }
    for (uint32_t i = 0; i < r->platform->die_count; i++)
        strbuf_printf(&all, "%s%.*s", i ? ", " : "", STR_ARG(r->platform->dies[i].name));
    op_error(r->space->region, "has no die '%.*s'; there are %s", STR_ARG(name), all.data);
    strbuf_free(&all);
    return false;
}

/* Keeps a node on some dies. False: an anchor that it has says otherwise. */
static bool anchor_node(AnchorReader *r, size_t n, uint64_t dies, Str reason)
{
    if (r->out->dies[n] & dies) {
        r->out->dies[n] &= dies;
        r->reason[n] = reason;
        return true;
    }
    return op_error(r->space->nodes.data[n].process, "cannot be placed: '%.*s' contradicts '%.*s'",
                    STR_ARG(reason), STR_ARG(r->reason[n]));
}

static bool read_anchor(AnchorReader *r, Str anchor)
{
    size_t colon = anchor.len;
    uint32_t die;
    while (colon > 0 && anchor.data[colon - 1] != ':') colon--;
    if (colon < 2)
        return op_error(r->space->region, "has an anchor '%.*s', but 'layer:die' says where one is",
                        STR_ARG(anchor));
    Str layer = {anchor.data, colon - 1}, name = {anchor.data + colon, anchor.len - colon};
    if (!find_layer(r, layer) || !find_die(r, name, &die)) return false;
    for (size_t n = 0; n < r->space->nodes.len; n++)
        if (is_called(&r->space->nodes.data[n], layer) &&
            !anchor_node(r, n, UINT64_C(1) << die, anchor))
            return false;
    return true;
}

static void join(AnchorReader *r, size_t first, size_t other)
{
    *vec_push(&r->out->pairs) = (PartitionPair){{(uint32_t)first, (uint32_t)other}, false};
}

/* All processes of the layers of a list are where its first process is. */
static bool read_list(AnchorReader *r, Str list)
{
    size_t first = r->space->nodes.len, layers = 0;
    for (Str rest = list; rest.len > 0; layers++) {
        Str layer = take_item(&rest, ',');
        if (!find_layer(r, layer)) return false;
        for (size_t n = 0; n < r->space->nodes.len; n++) {
            if (!is_called(&r->space->nodes.data[n], layer)) continue;
            if (first == r->space->nodes.len) first = n;
            if (n != first) join(r, first, n);
        }
    }
    return layers > 1 ||
           op_error(r->space->region, "has a list '%.*s' of colocated layers with less than two",
                    STR_ARG(list));
}

/* Places that processes have been given. */
static bool keep_places(AnchorReader *r)
{
    SysPlace place;
    for (size_t n = 0; n < r->space->nodes.len; n++) {
        const Op *process = r->space->nodes.data[n].process;
        if (!process || !sys_place(process, &place)) continue;
        if (place.card > 0 || place.die >= r->platform->die_count)
            return op_error(process,
                            "is placed on die %lld of card %lld, but there are %u dies on 1",
                            (long long)place.die, (long long)place.card, r->platform->die_count);
        if (!anchor_node(r, n, UINT64_C(1) << place.die, STR("the folding file's place")))
            return false;
    }
    return true;
}

/* Processes at memory ports are on dies that have banks, where the device says so. */
static bool keep_ports(AnchorReader *r)
{
    uint64_t dies = 0;
    for (uint32_t i = 0; i < r->platform->die_count; i++)
        if (r->platform->dies[i].controllers) dies |= UINT64_C(1) << i;
    for (size_t n = 0; dies && n < r->space->nodes.len; n++) {
        const DseNode *node = &r->space->nodes.data[n];
        bool is_port = false;
        for (uint32_t i = 0; node->process && i < node->port_count; i++)
            is_port |= node->at_boundary[i];
        if (is_port && !anchor_node(r, n, dies, STR("a memory port"))) return false;
    }
    return true;
}

/* Colocated processes that are anchored apart. */
static bool check_pairs(AnchorReader *r)
{
    bool changes = true, ok = true;
    while (changes && ok) {
        changes = false;
        for (size_t i = 0; ok && i < r->out->pairs.len; i++) {
            uint32_t a = r->out->pairs.data[i].nodes[0], b = r->out->pairs.data[i].nodes[1];
            uint64_t both = r->out->dies[a] & r->out->dies[b];
            changes |= r->out->dies[a] != r->out->dies[b];
            if (!both)
                return op_error(r->space->nodes.data[b].process,
                                "cannot be placed: it is on one die with '%.*s', and '%.*s' "
                                "contradicts '%.*s'",
                                STR_ARG(symbol_name(r->space->nodes.data[a].process)->str),
                                STR_ARG(r->reason[b]), STR_ARG(r->reason[a]));
            if (!r->reason[a].len) r->reason[a] = r->reason[b];
            if (!r->reason[b].len) r->reason[b] = r->reason[a];
            r->out->dies[a] = r->out->dies[b] = both;
        }
    }
    return ok;
}

bool dse_read_anchors(const DseSpace *space, const PartitionPlatform *platform,
                      const DsePlaceOptions *options, DseAnchors *out)
{
    Str anchors = options->anchors, lists = options->colocated;
    AnchorReader r = {.space = space,
                      .platform = platform,
                      .reason = xcalloc(space->nodes.len + 1, sizeof(Str)),
                      .out = out};
    *out = (DseAnchors){.dies = xcalloc(space->nodes.len + 1, sizeof *out->dies)};
    for (size_t n = 0; n < space->nodes.len; n++)
        out->dies[n] = (UINT64_C(1) << platform->die_count) - 1;
    bool ok = keep_ports(&r) && keep_places(&r);
    while (ok && anchors.len > 0) ok = read_anchor(&r, take_item(&anchors, ';'));
    while (ok && lists.len > 0) ok = read_list(&r, take_item(&lists, ';'));
    ok = ok && check_pairs(&r);
    free_ptr((void **)&r.reason);
    return ok;
}

void dse_anchors_free(DseAnchors *anchors)
{
    free_ptr((void **)&anchors->dies);
    vec_free(&anchors->pairs);
}
