/* place-cards: the card of each process, and its die there.
 *
 * Calls stand in the order of the data, and cards get pieces of that order (cut_cards.c): with `hwmp`
 * and `swmp` card after card, so that data goes one way; with `tmp` a piece of each card on the way
 * there and a short one on the way back, so that data comes back to the first card. Data goes from
 * one card to the next one only. With several `instances` the design is a tile: some of them are
 * whole ones on a card, others lie on several; what is split least is tried first. Then the dies of
 * each card are chosen by target/partition, with the ends of links where the transceivers are, and
 * the instances are made (replicate.c).
 * Requires: a top function whose calls are in order of the data.
 * With `dp` each card has the whole design, and nothing is placed here.
 * Changes: sys.place of processes; sys.cards, sys.mode and sys.instances of the module; of a tile,
 * which becomes one design, ports, streams, processes and the budget.
 * Tests: lit/target/split/place-cards.mir, lit/target/split/place-tiles.mir,
 * test/e2e/system_check.py, test/e2e/card_tiles_check.py */
#include <stdlib.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "ir/asm/print/print.h"
#include "sim/design/design.h"
#include "target/cost/cost.h"
#include "target/dse/dse.h"
#include "target/fifo/fifo.h"
#include "target/split/internal.h"

enum { MAX_PROCESSES = 1024, MAX_NODES = 4096, FEW_STEPS = 200000, MAX_STEPS = 3000000 };

static uint32_t process_count(const SplitPlan *p)
{
    return (uint32_t)p->graph.processes.len;
}

static int64_t word_bits(const SplitEdge *edge)
{
    const Type *word = emithls_stream_word(edge->stream->type);
    return emithls_lanes(word) * type_width(emithls_scalar(word));
}

static void add_fifo(int64_t bits, int64_t depth, Cost *cost)
{
    memory_fifo_cost(fifo_first_kind(bits, depth), bits, depth, STRUCTURE_HLS, cost);
}

/* A stream's FIFO, which is counted where it is written. */
static void add_stream(const SplitEdge *edge, Cost *cost)
{
    add_fifo(word_bits(edge), attr_int_value(op_attr(value_def(edge->stream), DFG_ATTR_DEPTH)),
             cost);
}

/* Of processes with the FIFOs that they write, as deep as before they are fitted. */
static void sum_use(SplitPlan *p)
{
    const uint32_t count = process_count(p);
    Cost *costs = xcalloc(count + 1, sizeof *costs);
    p->use = xcalloc(count + 1, sizeof *p->use);
    for (size_t i = 0; i < p->graph.edges.len; i++)
        if (!p->graph.edges.data[i].stream->is_arg)
            add_stream(&p->graph.edges.data[i], &costs[p->graph.edges.data[i].from]);
    for (uint32_t i = 0; i < count; i++) {
        const Attr *report = op_attr(p->graph.processes.data[i].func, DFG_ATTR_REPORT);
        for (int k = 0; k < PARTITION_KINDS; k++) {
            CostKind kind = dse_cost_kind((PartitionKind)k);
            int64_t amount = attr_dict_int(report, cost_names[kind].key, 0) + costs[i].items[kind];
            p->use[i + 1][k] = p->use[i][k] + i64_max(0, i64_min(amount, PARTITION_MAX_AMOUNT));
        }
    }
    free(costs);
}

/* Why no way to cut suffices. */
static bool explain(const SplitPlan *p)
{
    Op *top = p->graph.top;
    const uint32_t count = process_count(p);
    if (p->instances == 1 && count < p->cards * (p->returns ? 2 : 1) - (p->returns ? 1 : 0))
        return op_error(top, "has %u processes, too few for pieces on %lld cards", count,
                        (long long)p->cards);
    for (int k = 0; k < PARTITION_KINDS; k++)
        if (p->use[count][k] * p->instances > p->limit[k] * p->cards)
            return op_error(top, "takes %lld %s, but %lld cards have %lld",
                            (long long)(p->use[count][k] * p->instances),
                            cost_names[dse_cost_kind((PartitionKind)k)].title, (long long)p->cards,
                            (long long)(p->limit[k] * p->cards));
    if (p->instances > 1)
        return op_error(top,
                        "cannot be cut so that %lld instances fit %lld cards, of which data goes "
                        "only from one to the next",
                        (long long)p->instances, (long long)p->cards);
    return op_error(top,
                    "cannot be cut into pieces that fit %lld cards, of which data goes only "
                    "from one to the next",
                    (long long)p->cards);
}

/* Dies. */

static uint64_t all_dies(const PartitionPlatform *platform)
{
    return (UINT64_C(1) << platform->die_count) - 1;
}

static void add_node(PartitionModel *model, Str name, const int64_t *use, uint64_t dies)
{
    PartitionVersion version = {.name = STR(""), .controller = -1};
    memcpy(version.use, use, sizeof version.use);
    *vec_push(&model->nodes) = (PartitionNode){
        .name = name, .version = (uint32_t)model->versions.len, .version_count = 1, .dies = dies};
    *vec_push(&model->versions) = version;
}

/* The die of a link's end at a card, or 0. */
static int64_t end_die(const SplitLinks *links, int64_t card, int64_t other)
{
    for (size_t i = 0; i < links->len; i++)
        for (int end = 0; end < 2; end++)
            if (links->data[i].cards[end] == card && links->data[i].cards[!end] == other)
                return links->data[i].dies[end];
    return 0;
}

/* Where a process may be: one at a memory port, on dies that have banks, if any has. */
static uint64_t dies_for(const SplitPlan *p, uint32_t process)
{
    uint64_t dies = 0, all = all_dies(&p->platform);
    bool is_at_port = false;
    for (size_t i = 0; i < p->graph.edges.len; i++) {
        const SplitEdge *e = &p->graph.edges.data[i];
        is_at_port |= e->stream->is_arg && (e->from == process || e->to == process);
    }
    for (uint32_t i = 0; is_at_port && i < p->platform.die_count; i++)
        if (p->platform.dies[i].controllers) dies |= UINT64_C(1) << i;
    return dies ? dies : all;
}

/* What the adapter at an end of a link takes, whatever its protocol, with the FIFOs that connect-cards
 * adds: at the sender of a packet, at the receiver of the link and the stream's once more. Packets of so
 * many words are not known yet, so those of a full packet are taken. */
static void add_adapter(bool is_sender, const SplitEdge *edge, int64_t use[PARTITION_KINDS])
{
    enum { PACKET_BITS = 8 * 1408, WORDS_ON_THE_WAY = 512 };
    const int64_t bits = word_bits(edge), packet = i64_max(1, PACKET_BITS / i64_max(bits, 1));
    Cost cost = split_adapter_cost(is_sender, true, bits, WORDS_ON_THE_WAY, packet);
    if (is_sender) {
        add_fifo(bits, packet, &cost);
    } else {
        add_fifo(bits, WORDS_ON_THE_WAY, &cost);
        add_stream(edge, &cost);
    }
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++) use[k] = cost.items[dse_cost_kind(k)];
}

/* The ends of an edge in the graph of a card's nodes; an end that is on another card is the node of an
 * adapter. */
static void add_edge(const SplitPlan *p, int64_t instance, const SplitEdge *e, int64_t card,
                     const SplitLinks *links, const uint32_t *numbers, PartitionModel *model)
{
    const int64_t from = split_place(p, instance, e->from)->card,
                  to = split_place(p, instance, e->to)->card;
    if (from != card && to != card) return;
    int64_t wires = dse_wires(word_bits(e)), adapter[PARTITION_KINDS];
    PartitionEdge edge = {numbers[e->from], numbers[e->to], wires, 0};
    if (from != to) {
        int64_t die = end_die(links, card, from == card ? to : from);
        *(from == card ? &edge.to : &edge.from) = (uint32_t)model->nodes.len;
        add_adapter(from == card, e, adapter);
        add_node(model, STR("link"), adapter, UINT64_C(1) << die & all_dies(&p->platform));
    }
    *vec_push(&model->edges) = edge;
}

/* The processes of a card; numbers: of their nodes, by instance and process. */
static void make_model(const SplitPlan *p, int64_t card, const SplitLinks *links, uint32_t *numbers,
                       PartitionModel *model)
{
    const uint32_t count = process_count(p);
    *model = (PartitionModel){.platform = &p->platform};
    for (int64_t n = 0; n < p->instances; n++)
        for (uint32_t i = 0; i < count; i++) {
            int64_t use[PARTITION_KINDS];
            if (split_place(p, n, i)->card != card) continue;
            for (int k = 0; k < PARTITION_KINDS; k++) use[k] = p->use[i + 1][k] - p->use[i][k];
            numbers[n * count + i] = (uint32_t)model->nodes.len;
            add_node(model, symbol_name(p->graph.processes.data[i].func)->str, use, dies_for(p, i));
        }
    for (int64_t n = 0; n < p->instances; n++)
        for (size_t i = 0; i < p->graph.edges.len; i++)
            if (!p->graph.edges.data[i].stream->is_arg)
                add_edge(p, n, &p->graph.edges.data[i], card, links, numbers + n * count, model);
}

static void set_dies(const SplitPlan *p, int64_t card, const uint32_t *numbers,
                     const PartitionPlacement *placement)
{
    for (int64_t n = 0; n < p->instances; n++)
        for (uint32_t i = 0; i < process_count(p); i++) {
            SysPlace *place = split_place(p, n, i);
            if (place->card == card)
                place->die = placement->dies.data[numbers[n * process_count(p) + i]];
        }
}

/* The best placement, where one is found soon: a design whose dies are hardly enough is given up, since
 * there are smaller ones. */
static void find_placement(const PartitionModel *model, const PartitionOptions *options,
                           PartitionPlacement *out)
{
    PartitionOptions few = *options;
    few.max_steps = FEW_STEPS;
    partition_search(model, &few, out);
    if (!out->is_placed || out->is_proven) return;
    partition_placement_free(out);
    *out = (PartitionPlacement){0};
    partition_search(model, options, out);
}

/* False: diagnosed. */
static bool place_card(const SplitPlan *p, int64_t card, const SplitLinks *links)
{
    uint32_t *numbers = xcalloc((size_t)p->instances * process_count(p) + 1, sizeof *numbers);
    PartitionModel model;
    PartitionPlacement placement = {0};
    StrBuf why = {0};
    const PartitionOptions options = {
        .goals = {PARTITION_CARDS, PARTITION_CROSSINGS, PARTITION_WIRES, PARTITION_UTILIZATION},
        .goal_count = 4,
        .max_hops = SYS_MAX_DIES,
        .max_steps = MAX_STEPS};
    make_model(p, card, links, numbers, &model);
    for (size_t i = 0; i < model.nodes.len; i++)
        if (model.nodes.data[i].dies == 0) strbuf_add_c(&why, "a link ends at a die that it lacks");
    if (why.len == 0) find_placement(&model, &options, &placement);
    bool ok = placement.is_placed;
    if (ok) set_dies(p, card, numbers, &placement);
    if (!ok)
        op_error(p->graph.top, "cannot be placed on the dies of card %lld: %.*s", (long long)card,
                 (int)why.len, why.len ? why.data : "");
    if (!ok && why.len == 0)
        diag_because(p->module->ctx, partition_reason(&model, &options, STR("")));
    partition_placement_free(&placement);
    partition_model_free(&model);
    strbuf_free(&why);
    free(numbers);
    return ok;
}

/* "c0=u280;c1=u280" as sys.cards, all with the dies of the module; NULL: diagnosed. */
static const Attr *read_cards(Op *module, Str text, const Attr *dies)
{
    const Attr *cards[SYS_MAX_CARDS];
    size_t count = 0, from = 0;
    Context *ctx = module->ctx;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.data[i] != ';') continue;
        Str card = {text.data + from, i - from};
        const char *equals = memchr(card.data, '=', card.len);
        if (count == SYS_MAX_CARDS || !equals || equals == card.data) {
            op_error(module, "has 'cards' that are no list of 1 to %d name=device", SYS_MAX_CARDS);
            return NULL;
        }
        size_t name = (size_t)(equals - card.data);
        const NamedAttr items[] = {
            build_named_attr(ctx, SYS_CARD_NAME, attr_string(ctx, (Str){card.data, name})),
            build_named_attr(ctx, SYS_CARD_DEVICE,
                             attr_string(ctx, (Str){equals + 1, card.len - name - 1})),
            build_named_attr(ctx, SYS_CARD_DIES, dies)};
        cards[count++] = attr_dict(ctx, items, 3);
        from = i + 1;
    }
    return attr_array(ctx, cards, count);
}

/* The dies of a card as a pass's options have them, and their sums as limits. What a design on one
 * card has noted of its dies stays. */
static const Attr *read_dies(SplitPlan *p, Pass *pass)
{
    const Attr *own = op_attr(p->module, SYS_ATTR_DIES),
               *links = op_attr(p->module, SYS_ATTR_LINKS);
    bool ok = dse_record_dies(p->module, pass_string(pass, "dies"), pass_string(pass, "die-links"),
                              pass_int(pass, "die-mean")) &&
              dse_platform(p->module, &p->platform);
    const Attr *dies = op_attr(p->module, SYS_ATTR_DIES);
    op_set_attr(p->module, SYS_ATTR_DIES, own);
    op_set_attr(p->module, SYS_ATTR_LINKS, links);
    for (uint32_t i = 0; i < p->platform.die_count; i++)
        for (int k = 0; k < PARTITION_KINDS; k++) p->limit[k] += p->platform.dies[i].limit[k];
    return ok ? dies : NULL;
}

static bool place_dies(const SplitPlan *p, const SplitLinks *links)
{
    for (int64_t card = 0; card < p->cards; card++)
        if (!place_card(p, card, links)) return false;
    return true;
}

/* From instances that are on one card each to the group of all cards: what is split least. What is wrong
 * with one way is said if there is none. */
static bool place_groups(SplitPlan *p, const HlsDesign *design, const SplitLinks *links)
{
    DiagHold messages = {0};
    bool ok = false, is_cut = false;
    for (int64_t groups = i64_min(p->cards, p->instances); groups >= 1 && !ok; groups--) {
        if (!split_cut_cards(p, design, groups)) continue;
        diag_hold_free(&messages);
        diag_hold_begin(&messages, p->module->ctx);
        ok = place_dies(p, links);
        diag_hold_end(&messages);
        is_cut = true;
    }
    if (is_cut) diag_hold_report(&messages);
    diag_hold_free(&messages);
    return ok || (!is_cut && explain(p));
}

/* A design, or several instances of it, go over the cards. */
static bool spread(SplitPlan *p, const SplitLinks *links)
{
    if (!split_graph(p->graph.top, &p->graph)) return false;
    const uint32_t count = process_count(p);
    if (count > MAX_PROCESSES)
        return op_error(p->graph.top, "has %u processes, more than %d", count, MAX_PROCESSES);
    if (count * p->instances > MAX_NODES)
        return op_error(p->graph.top, "has %u processes, so %lld instances are more than %d", count,
                        (long long)p->instances, MAX_NODES);
    HlsDesign *design =
        design_create(p->module, clock_of_module(p->module, design_clock_mhz(p->module)));
    if (!design) return false;
    sum_use(p);
    p->places = xcalloc((size_t)count * (size_t)p->instances + 1, sizeof *p->places);
    bool ok = place_groups(p, design, links);
    design_free(design);
    return ok && split_replicate(p);
}

static bool place_cards(Pass *pass, Op *module)
{
    SplitPlan p = {.module = module, .graph = {.top = emithls_top(module)}};
    SplitLinks links = {0};
    Str mode = pass_string(pass, "mode");
    if (!p.graph.top) return true;
    const Attr *dies = read_dies(&p, pass);
    const Attr *cards = dies ? read_cards(module, pass_string(pass, "cards"), dies) : NULL;
    p.cards = cards ? cards->u.array.count : 0;
    p.instances = pass_int(pass, "instances");
    p.returns = str_eq_c(mode, "tmp");
    p.has_own_tables = pass_bool(pass, "own-tables");
    bool ok = cards && split_links(module, pass_string(pass, "links"), &links);
    if (ok && !str_eq_c(mode, "dp")) ok = spread(&p, &links);
    if (ok && !str_eq_c(mode, "dp")) { /* those that the choice of designs saw */
        op_set_attr(module, SYS_ATTR_DIES, NULL);
        op_set_attr(module, SYS_ATTR_LINKS, NULL);
    }
    if (ok) op_set_attr(module, SYS_ATTR_CARDS, cards);
    if (ok) op_set_attr(module, SYS_ATTR_MODE, attr_string(module->ctx, mode));
    if (ok) op_set_attr(module, SYS_ATTR_INSTANCES, attr_i64(module->ctx, p.instances));
    vec_free(&links);
    split_graph_free(&p.graph);
    partition_platform_free(&p.platform);
    free(p.use);
    free(p.places);
    return ok;
}

static const char *const modes[] = {"dp", "swmp", "hwmp", "tmp", NULL};

const PassDef pass_place_cards = {
    .name = "place-cards",
    .summary = "Choose the card of each process, and its die there",
    .anchor = "builtin.module",
    .options =
        OPTIONS({"cards", OPTION_STRING, "c0=card", "name=device of each card, with semicolons"},
                {"mode", OPTION_STRING, "hwmp",
                 "a design on each card (dp), or one on all, in which data goes one way, copied by "
                 "the host (swmp) or by links (hwmp), or comes back (tmp)",
                 .choices = modes},
                {"instances", OPTION_INT, "1",
                 "designs: on each card, with dp; else on all of them together", 1, 64},
                {"own-tables", OPTION_BOOL, "false",
                 "of weights for each of these together, since they will be loaded"},
                {"links", OPTION_STRING, "", "as connect-cards has them"},
                {"dies", OPTION_STRING, "", "dies of a card, as choose-unroll has them"},
                {"die-links", OPTION_STRING, "", "wires between them, likewise"},
                {"die-mean", OPTION_INT, "0",
                 "percent that the mean share of BRAM, URAM and DSP "
                 "of a die may be; 0: no limit",
                 0, 100}),
    .run = place_cards,
};
