/* place-cards: the card of each process, and its die there.
 *
 * Calls stand in the order of the data, and cards get pieces of that order: with `hwmp` and `swmp` card
 * after card, so that data goes one way; with `tmp` a piece of each card on the way there and a
 * short one on the way back, so that data comes back to the first card. Data goes from one card to
 * the next one only. Of the ways to cut that a card's limits allow one is taken that has the fewest
 * streams between cards, of these the fewest bits a frame, and then the most even use (all by
 * dynamic programming over the cuts, cards from the outside in). Then the dies of each card are
 * chosen by target/partition, with the ends of links where the transceivers are.
 * Requires: a top function whose calls are in order of the data.
 * With `dp` each card has the whole design, and nothing is placed here.
 * Changes: sys.place of processes; sys.cards, sys.mode and sys.instances of the module.
 * Tests: lit/target/split/place-cards.mir, test/e2e/system_check.py */
#include <stdlib.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "ir/asm/print/print.h"
#include "sim/design/design.h"
#include "target/cost/cost.h"
#include "target/dse/dse.h"
#include "target/split/internal.h"

enum {
    MAX_PROCESSES = 1024,
    MAX_RETURN = 12, /* processes of a card's piece on the way back */
    MAX_STEPS = 3000000
};
#define NO_WAY INT64_MAX
/* Weights of the goals: a stream is worth more than all bits, these than all shares. */
#define STREAM_WEIGHT (INT64_C(1) << 50)
#define BIT_WEIGHT (INT64_C(1) << 12)

typedef struct Best {
    int64_t cost;
    uint32_t first, last; /* processes of the card's two pieces */
    bool is_known;
} Best;

typedef struct Place {
    Op *module;
    SplitGraph graph;
    uint32_t count;                  /* processes */
    int64_t (*use)[PARTITION_KINDS]; /* of the processes before one */
    int64_t limit[PARTITION_KINDS];  /* of a card */
    int64_t *streams, *bits;         /* sums of edges from before one process to before another */
    PartitionPlatform platform;      /* the dies of a card */
    int64_t cards;
    bool returns;
    Best *best; /* by card and the piece that is left */
} Place;

/* Entries of `streams` and `bits`. */
static size_t at(const Place *p, uint32_t from, uint32_t to)
{
    return (size_t)from * (p->count + 1) + to;
}

/* Sum over the edges from [a, b) to [c, d). */
static int64_t between(const Place *p, const int64_t *sums, uint32_t a, uint32_t b, uint32_t c,
                       uint32_t d)
{
    return sums[at(p, b, d)] - sums[at(p, a, d)] - sums[at(p, b, c)] + sums[at(p, a, c)];
}

static int64_t frame_bits(const HlsDesign *design, const Value *stream)
{
    const Type *word = emithls_stream_word(stream->type);
    int64_t bits = emithls_lanes(word) * type_width(emithls_scalar(word));
    return bits * split_stream_words(design, stream);
}

static void sum_edges(Place *p, const HlsDesign *design)
{
    p->streams = xcalloc((size_t)(p->count + 1) * (p->count + 1), sizeof *p->streams);
    p->bits = xcalloc((size_t)(p->count + 1) * (p->count + 1), sizeof *p->bits);
    for (size_t i = 0; i < p->graph.edges.len; i++) {
        const SplitEdge *e = &p->graph.edges.data[i];
        if (e->stream->is_arg) continue;
        p->streams[at(p, e->from + 1, e->to + 1)]++;
        p->bits[at(p, e->from + 1, e->to + 1)] += frame_bits(design, e->stream);
    }
    for (uint32_t i = 1; i <= p->count; i++)
        for (uint32_t k = 1; k <= p->count; k++) {
            p->streams[at(p, i, k)] += p->streams[at(p, i - 1, k)] + p->streams[at(p, i, k - 1)] -
                                       p->streams[at(p, i - 1, k - 1)];
            p->bits[at(p, i, k)] +=
                p->bits[at(p, i - 1, k)] + p->bits[at(p, i, k - 1)] - p->bits[at(p, i - 1, k - 1)];
        }
}

static void sum_use(Place *p)
{
    p->use = xcalloc(p->count + 1, sizeof *p->use);
    for (uint32_t i = 0; i < p->count; i++) {
        const Attr *report = op_attr(p->graph.processes.data[i].func, DFG_ATTR_REPORT);
        for (int k = 0; k < PARTITION_KINDS; k++) {
            int64_t amount =
                attr_dict_int(report, cost_names[dse_cost_kind((PartitionKind)k)].key, 0);
            p->use[i + 1][k] = p->use[i][k] + i64_max(0, i64_min(amount, PARTITION_MAX_AMOUNT));
        }
    }
}

/* The greatest share that two pieces take of a card, in 1/1000; NO_WAY: more than there is. */
static int64_t share_of(const Place *p, uint32_t a, uint32_t first, uint32_t last, uint32_t b)
{
    int64_t most = 0;
    for (int k = 0; k < PARTITION_KINDS; k++) {
        int64_t use = p->use[first][k] - p->use[a][k] + p->use[b][k] - p->use[last][k];
        if (use > p->limit[k]) return NO_WAY;
        if (p->limit[k] > 0) most = i64_max(most, use * 1000 / p->limit[k]);
    }
    return most;
}

/* What it costs that [a, first) and [last, b) are on a card, [first, last) on the ones behind it, and
 * all else on those before. */
static int64_t cut_cost(const Place *p, uint32_t a, uint32_t first, uint32_t last, uint32_t b)
{
    int64_t share = share_of(p, a, first, last, b);
    uint32_t n = p->count;
    if (share == NO_WAY) return NO_WAY;
    if (between(p, p->streams, 0, a, first, last) > 0 ||
        between(p, p->streams, first, last, b, n) > 0)
        return NO_WAY; /* past this card */
    int64_t streams = between(p, p->streams, a, first, first, last) +
                      between(p, p->streams, first, last, last, b);
    int64_t bits =
        between(p, p->bits, a, first, first, last) + between(p, p->bits, first, last, last, b);
    bits = i64_min(bits, STREAM_WEIGHT / BIT_WEIGHT / 64);
    return streams * STREAM_WEIGHT + bits * BIT_WEIGHT + share;
}

static Best *entry(const Place *p, int64_t card, uint32_t a, uint32_t b)
{
    return &p->best[((size_t)card * (p->count + 1) + a) * (p->count + 1) + b];
}

/* The cheapest way to give processes [a, b) to a card and those behind it. */
static int64_t cheapest(const Place *p, int64_t card, uint32_t a, uint32_t b)
{
    Best *best = entry(p, card, a, b);
    if (best->is_known) return best->cost;
    *best = (Best){.cost = NO_WAY, .first = b, .last = b, .is_known = true};
    if (b <= a) return NO_WAY;
    if (card + 1 == p->cards) {
        best->cost = share_of(p, a, b, b, b);
        return best->cost;
    }
    uint32_t least = p->returns ? 1 : 0, most = p->returns ? MAX_RETURN : 0;
    for (uint32_t tail = least; tail <= most && tail < b - a; tail++)
        for (uint32_t first = a + 1; first < b - tail; first++) {
            int64_t cost = cut_cost(p, a, first, b - tail, b);
            int64_t rest = cost < best->cost ? cheapest(p, card + 1, first, b - tail) : NO_WAY;
            if (rest == NO_WAY || cost + rest >= best->cost) continue;
            *best = (Best){cost + rest, first, b - tail, true};
        }
    return best->cost;
}

static void set_card(const Place *p, uint32_t from, uint32_t to, int64_t card)
{
    for (uint32_t i = from; i < to; i++) p->graph.processes.data[i].place = (SysPlace){card, 0};
}

static void set_cards(const Place *p)
{
    uint32_t a = 0, b = p->count;
    for (int64_t card = 0; card < p->cards; card++) {
        const Best *best = entry(p, card, a, b);
        set_card(p, a, best->first, card);
        set_card(p, best->last, b, card);
        a = best->first;
        b = best->last;
    }
}

/* Why no way to cut suffices. */
static bool explain(const Place *p)
{
    Op *top = p->graph.top;
    if (p->count < p->cards * (p->returns ? 2 : 1) - (p->returns ? 1 : 0))
        return op_error(top, "has %u processes, too few for pieces on %lld cards", p->count,
                        (long long)p->cards);
    for (int k = 0; k < PARTITION_KINDS; k++)
        if (p->use[p->count][k] > p->limit[k] * p->cards)
            return op_error(top, "takes %lld %s, but %lld cards have %lld",
                            (long long)p->use[p->count][k],
                            cost_names[dse_cost_kind((PartitionKind)k)].title, (long long)p->cards,
                            (long long)(p->limit[k] * p->cards));
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
static uint64_t dies_for(const Place *p, uint32_t process)
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

/* What the adapter at an end of a link takes, whatever its protocol: packets of so many words are not
 * known yet, so those of a full packet are taken. */
static void add_adapter(bool is_sender, int64_t bits, int64_t use[PARTITION_KINDS])
{
    enum { PACKET_BITS = 8 * 1408, WORDS_ON_THE_WAY = 512 };
    const Cost cost = split_adapter_cost(is_sender, true, bits, WORDS_ON_THE_WAY,
                                         i64_max(1, PACKET_BITS / i64_max(bits, 1)));
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++) use[k] = cost.items[dse_cost_kind(k)];
}

/* The processes of a card; the ends of its links are nodes of their adapters, on their die. */
static void make_model(const Place *p, int64_t card, const SplitLinks *links, uint32_t *numbers,
                       PartitionModel *model)
{
    *model = (PartitionModel){.platform = &p->platform};
    for (uint32_t i = 0; i < p->count; i++) {
        const SplitProcess *process = &p->graph.processes.data[i];
        int64_t use[PARTITION_KINDS];
        if (process->place.card != card) continue;
        for (int k = 0; k < PARTITION_KINDS; k++) use[k] = p->use[i + 1][k] - p->use[i][k];
        numbers[i] = (uint32_t)model->nodes.len;
        add_node(model, symbol_name(process->func)->str, use, dies_for(p, i));
    }
    for (size_t i = 0; i < p->graph.edges.len; i++) {
        const SplitEdge *e = &p->graph.edges.data[i];
        if (e->stream->is_arg) continue;
        int64_t from = p->graph.processes.data[e->from].place.card,
                to = p->graph.processes.data[e->to].place.card;
        if (from != card && to != card) continue;
        const Type *word = emithls_stream_word(e->stream->type);
        int64_t bits = emithls_lanes(word) * type_width(emithls_scalar(word)),
                wires = dse_wires(bits), adapter[PARTITION_KINDS];
        PartitionEdge edge = {numbers[e->from], numbers[e->to], wires, 0};
        if (from != to) {
            int64_t die = end_die(links, card, from == card ? to : from);
            *(from == card ? &edge.to : &edge.from) = (uint32_t)model->nodes.len;
            add_adapter(from == card, bits, adapter);
            add_node(model, STR("link"), adapter, UINT64_C(1) << die & all_dies(&p->platform));
        }
        *vec_push(&model->edges) = edge;
    }
}

/* False: diagnosed. */
static bool place_card(const Place *p, int64_t card, const SplitLinks *links)
{
    uint32_t *numbers = xcalloc(p->count + 1, sizeof *numbers);
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
    if (why.len == 0) partition_search(&model, &options, &placement);
    for (uint32_t i = 0; placement.is_placed && i < p->count; i++)
        if (p->graph.processes.data[i].place.card == card)
            p->graph.processes.data[i].place.die = placement.dies.data[numbers[i]];
    bool ok = placement.is_placed;
    if (!ok && why.len == 0) partition_explain(&model, &options, &why);
    if (!ok)
        op_error(p->graph.top, "cannot be placed on the dies of card %lld%s%.*s", (long long)card,
                 why.len ? ": " : "", (int)why.len, why.len ? why.data : "");
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
static const Attr *read_dies(Place *p, Pass *pass)
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

static bool cut(Place *p)
{
    p->count = (uint32_t)p->graph.processes.len;
    if (p->count > MAX_PROCESSES)
        return op_error(p->graph.top, "has %u processes, more than %d", p->count, MAX_PROCESSES);
    HlsDesign *design =
        design_create(p->module, clock_of_module(p->module, design_clock_mhz(p->module)));
    if (!design) return false;
    sum_edges(p, design);
    sum_use(p);
    design_free(design);
    p->best = xcalloc((size_t)p->cards * (p->count + 1) * (p->count + 1), sizeof *p->best);
    if (cheapest(p, 0, 0, p->count) == NO_WAY) return explain(p);
    set_cards(p);
    return true;
}

/* One design goes over the cards. */
static bool spread(Place *p, const SplitLinks *links)
{
    if (!split_graph(p->graph.top, &p->graph) || !cut(p)) return false;
    for (int64_t card = 0; card < p->cards; card++)
        if (!place_card(p, card, links)) return false;
    for (uint32_t i = 0; i < p->count; i++)
        op_set_attr(p->graph.processes.data[i].func, SYS_ATTR_PLACE,
                    sys_place_attr(p->module->ctx, p->graph.processes.data[i].place));
    return true;
}

static bool place_cards(Pass *pass, Op *module)
{
    Place p = {.module = module, .graph = {.top = emithls_top(module)}};
    SplitLinks links = {0};
    Str mode = pass_string(pass, "mode");
    if (!p.graph.top) return true;
    const Attr *dies = read_dies(&p, pass);
    const Attr *cards = dies ? read_cards(module, pass_string(pass, "cards"), dies) : NULL;
    p.cards = cards ? cards->u.array.count : 0;
    p.returns = str_eq_c(mode, "tmp");
    bool ok = cards && split_links(module, pass_string(pass, "links"), &links);
    if (ok && !str_eq_c(mode, "dp")) ok = spread(&p, &links);
    if (ok && !str_eq_c(mode, "dp")) { /* those that the choice of designs saw */
        op_set_attr(module, SYS_ATTR_DIES, NULL);
        op_set_attr(module, SYS_ATTR_LINKS, NULL);
    }
    if (ok) op_set_attr(module, SYS_ATTR_CARDS, cards);
    if (ok) op_set_attr(module, SYS_ATTR_MODE, attr_string(module->ctx, mode));
    if (ok)
        op_set_attr(module, SYS_ATTR_INSTANCES, attr_i64(module->ctx, pass_int(pass, "instances")));
    vec_free(&links);
    split_graph_free(&p.graph);
    partition_platform_free(&p.platform);
    free(p.use);
    free(p.streams);
    free(p.bits);
    free(p.best);
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
                {"instances", OPTION_INT, "1", "designs on each card, with dp", 1, 64},
                {"links", OPTION_STRING, "", "as connect-cards has them"},
                {"dies", OPTION_STRING, "", "dies of a card, as choose-unroll has them"},
                {"die-links", OPTION_STRING, "", "wires between them, likewise"},
                {"die-mean", OPTION_INT, "0",
                 "percent that the mean share of BRAM, URAM and DSP "
                 "of a die may be; 0: no limit",
                 0, 100}),
    .run = place_cards,
};
