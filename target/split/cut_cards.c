/* Which card each process of each instance of a tile is on.
 *
 * Cards stand in a row and are cut into groups; instances of a group lie in its row of cards one behind
 * the other, each as long as the others: instance j of k on m cards is on those from j*m/k to
 * (j+1)*m/k (spec: Elastic-DF's mixed tiles). So a border between two cards is crossed by one
 * instance of a group, or by none where k is a multiple of m; the more groups, the fewer borders are
 * crossed. A single instance lies on all cards.
 *
 * Where on its way an instance crosses a border is chosen by dynamic programming over the cards:
 * a card has whole instances, what is left of the one that comes over the border before, and pieces
 * of the one that goes over the border behind it. With `tmp` that is a piece on the way there and a
 * short one on the way back. Of the cuts that the limits of cards allow those are taken with the
 * fewest streams between cards, of these the fewest bits a frame, then the most even use.
 * Tests: lit/target/split/place-cards.mir, lit/target/split/place-tiles.mir */
#include <stdlib.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "target/dse/dse.h"
#include "target/split/internal.h"

enum { MAX_RETURN = 12 }; /* processes of a card's piece on the way back */
#define NO_WAY INT64_MAX
/* Weights of the goals: a stream is worth more than all bits, these than all shares. */
#define STREAM_WEIGHT (INT64_C(1) << 50)
#define BIT_WEIGHT (INT64_C(1) << 12)

typedef struct Best {
    int64_t cost;
    uint32_t first, last; /* processes [first, last) are on the cards behind */
    bool is_known;
} Best;

typedef struct Cut {
    SplitPlan *plan;
    uint32_t count;                 /* processes of an instance */
    int64_t *streams, *bits;        /* sums of edges from before one process to before another */
    int64_t whole[SYS_MAX_CARDS];   /* instances that are on that card only */
    int64_t crosses[SYS_MAX_CARDS]; /* the instance that goes on to the next card; -1: none */
    Best *best;                     /* by card and the piece that comes to it */
} Cut;

/* Entries of `streams` and `bits`. */
static size_t at(const Cut *c, uint32_t from, uint32_t to)
{
    return (size_t)from * (c->count + 1) + to;
}

/* Sum over the edges from [a, b) to [x, y). */
static int64_t between(const Cut *c, const int64_t *sums, uint32_t a, uint32_t b, uint32_t x,
                       uint32_t y)
{
    return sums[at(c, b, y)] - sums[at(c, a, y)] - sums[at(c, b, x)] + sums[at(c, a, x)];
}

static int64_t frame_bits(const HlsDesign *design, const Value *stream)
{
    const Type *word = emithls_stream_word(stream->type);
    int64_t bits = emithls_lanes(word) * type_width(emithls_scalar(word));
    return bits * split_stream_words(design, stream);
}

static void sum_edges(Cut *c, const HlsDesign *design)
{
    const SplitGraph *graph = &c->plan->graph;
    c->streams = xcalloc((size_t)(c->count + 1) * (c->count + 1), sizeof *c->streams);
    c->bits = xcalloc((size_t)(c->count + 1) * (c->count + 1), sizeof *c->bits);
    for (size_t i = 0; i < graph->edges.len; i++) {
        const SplitEdge *e = &graph->edges.data[i];
        if (e->stream->is_arg) continue;
        c->streams[at(c, e->from + 1, e->to + 1)]++;
        c->bits[at(c, e->from + 1, e->to + 1)] += frame_bits(design, e->stream);
    }
    for (uint32_t i = 1; i <= c->count; i++)
        for (uint32_t k = 1; k <= c->count; k++) {
            c->streams[at(c, i, k)] += c->streams[at(c, i - 1, k)] + c->streams[at(c, i, k - 1)] -
                                       c->streams[at(c, i - 1, k - 1)];
            c->bits[at(c, i, k)] +=
                c->bits[at(c, i - 1, k)] + c->bits[at(c, i, k - 1)] - c->bits[at(c, i - 1, k - 1)];
        }
}

/* Pieces of the order of an instance's data that a card has: two of the instance that comes over the
 * border before it, one of the other that begins there. */
typedef struct Pieces {
    uint32_t from[4], to[4];
    int count;
} Pieces;

static void add_piece(Pieces *pieces, uint32_t from, uint32_t to)
{
    pieces->from[pieces->count] = from;
    pieces->to[pieces->count++] = to;
}

/* The greatest share that a card's whole instances and pieces take of it, in 1/1000; NO_WAY: more than
 * there is. */
static int64_t share_of(const Cut *c, int64_t card, const Pieces *pieces)
{
    const SplitPlan *plan = c->plan;
    int64_t most = 0;
    for (int k = 0; k < PARTITION_KINDS; k++) {
        int64_t use = c->whole[card] * plan->use[c->count][k];
        for (int i = 0; i < pieces->count; i++)
            use += plan->use[pieces->to[i]][k] - plan->use[pieces->from[i]][k];
        if (use > plan->limit[k]) return NO_WAY;
        if (plan->limit[k] > 0) most = i64_max(most, use * 1000 / plan->limit[k]);
    }
    return most;
}

/* What it costs that of an instance [a, first) and [last, b) are on a card, [first, last) on the ones
 * behind it, and all else on those before. */
static int64_t border_cost(const Cut *c, uint32_t a, uint32_t first, uint32_t last, uint32_t b)
{
    const uint32_t n = c->count;
    if (between(c, c->streams, 0, a, first, last) > 0 ||
        between(c, c->streams, first, last, b, n) > 0)
        return NO_WAY; /* past this card */
    int64_t streams = between(c, c->streams, a, first, first, last) +
                      between(c, c->streams, first, last, last, b);
    int64_t bits =
        between(c, c->bits, a, first, first, last) + between(c, c->bits, first, last, last, b);
    bits = i64_min(bits, STREAM_WEIGHT / BIT_WEIGHT / 64);
    return streams * STREAM_WEIGHT + bits * BIT_WEIGHT;
}

static Best *entry(const Cut *c, int64_t card, uint32_t a, uint32_t b)
{
    return &c->best[((size_t)card * (c->count + 1) + a) * (c->count + 1) + b];
}

static int64_t sum(int64_t a, int64_t b)
{
    return a == NO_WAY || b == NO_WAY ? NO_WAY : a + b;
}

static int64_t cheapest(const Cut *c, int64_t card, uint32_t a, uint32_t b);

/* An instance goes over the border behind a card, of which [a, b) come to the card. others: what the
 * card has of another one. */
static void cross(const Cut *c, int64_t card, uint32_t a, uint32_t b, const Pieces *others,
                  Best *best)
{
    const uint32_t least = c->plan->returns ? 1 : 0, most = c->plan->returns ? MAX_RETURN : 0;
    for (uint32_t tail = least; tail <= most && tail < b - a; tail++)
        for (uint32_t first = a + 1; first < b - tail; first++) {
            Pieces pieces = *others;
            add_piece(&pieces, a, first);
            add_piece(&pieces, b - tail, b);
            int64_t share = share_of(c, card, &pieces);
            if (share == NO_WAY) continue;
            int64_t cost = sum(share, border_cost(c, a, first, b - tail, b));
            if (cost >= best->cost) continue;
            cost = sum(cost, cheapest(c, card + 1, first, b - tail));
            if (cost < best->cost) *best = (Best){cost, first, b - tail, true};
        }
}

/* Whether the instance that comes to a card goes on behind it. */
static bool goes_on(const Cut *c, int64_t card)
{
    return card > 0 && c->crosses[card] >= 0 && c->crosses[card] == c->crosses[card - 1];
}

/* The cheapest way to give a card and those behind it what comes over the border before it, processes
 * [a, b) (none: a = b), and all instances that begin there. */
static int64_t cheapest(const Cut *c, int64_t card, uint32_t a, uint32_t b)
{
    Best *best = entry(c, card, a, b);
    Pieces pieces = {.count = 0};
    if (best->is_known) return best->cost;
    *best = (Best){.cost = NO_WAY, .first = b, .last = b, .is_known = true};
    if (!goes_on(c, card)) add_piece(&pieces, a, b);
    if (c->crosses[card] >= 0) {
        const bool is_new = !goes_on(c, card);
        cross(c, card, is_new ? 0 : a, is_new ? c->count : b, &pieces, best);
        return best->cost;
    }
    best->cost = share_of(c, card, &pieces);
    if (best->cost != NO_WAY && card + 1 < c->plan->cards)
        best->cost = sum(best->cost, cheapest(c, card + 1, 0, 0));
    return best->cost;
}

static void set_piece(const Cut *c, int64_t instance, uint32_t from, uint32_t to, int64_t card)
{
    for (uint32_t i = from; i < to; i++) *split_place(c->plan, instance, i) = (SysPlace){card, 0};
}

/* What comes to a card, and from there goes on, as the search has found it. Instances are numbered along
 * the cards. */
static void set_cards(const Cut *c)
{
    uint32_t a = 0, b = 0;
    int64_t next = 0; /* instance that has not begun yet */
    for (int64_t card = 0; card < c->plan->cards; card++) {
        const Best *best = entry(c, card, a, b);
        const bool is_continued = goes_on(c, card);
        if (!is_continued && card > 0 && c->crosses[card - 1] >= 0)
            set_piece(c, c->crosses[card - 1], a, b, card);
        for (int64_t i = 0; i < c->whole[card]; i++) set_piece(c, next++, 0, c->count, card);
        if (c->crosses[card] < 0) {
            a = b = 0;
            continue;
        }
        if (!is_continued) a = 0, b = c->count, next++;
        set_piece(c, c->crosses[card], a, best->first, card);
        set_piece(c, c->crosses[card], best->last, b, card);
        a = best->first;
        b = best->last;
    }
}

/* So many instances on cards [from, from + cards), one behind the other. */
static void lay_group(Cut *c, int64_t from, int64_t cards, int64_t instances, int64_t number)
{
    for (int64_t j = 0; j < instances; j++) {
        int64_t first = j * cards / instances, last = ((j + 1) * cards - 1) / instances;
        if (first == last) c->whole[from + first]++;
        for (int64_t card = first; card < last; card++) c->crosses[from + card] = number + j;
    }
}

/* Cards and instances of a group, as even as possible: each group gets its cards, and an instance after the
 * other goes where there are the fewest to a card. False: a group would have none. */
static bool lay_groups(Cut *c, int64_t groups)
{
    const SplitPlan *plan = c->plan;
    int64_t cards[SYS_MAX_CARDS], instances[SYS_MAX_CARDS] = {0};
    if (groups > plan->instances) return false;
    for (int64_t g = 0; g < groups; g++)
        cards[g] = (g + 1) * plan->cards / groups - g * plan->cards / groups;
    for (int64_t n = 0; n < plan->instances; n++) {
        int64_t to = 0;
        for (int64_t g = 1; g < groups; g++)
            if ((instances[g] + 1) * cards[to] < (instances[to] + 1) * cards[g]) to = g;
        instances[to]++;
    }
    memset(c->whole, 0, sizeof c->whole);
    for (int64_t i = 0; i < SYS_MAX_CARDS; i++) c->crosses[i] = -1;
    int64_t from = 0, number = 0;
    for (int64_t g = 0; g < groups; g++) {
        if (instances[g] == 0) return false;
        lay_group(c, from, cards[g], instances[g], number);
        from += cards[g];
        number += instances[g];
    }
    return true;
}

bool split_cut_cards(SplitPlan *plan, const HlsDesign *design, int64_t groups)
{
    Cut c = {.plan = plan, .count = (uint32_t)plan->graph.processes.len};
    if (!lay_groups(&c, groups)) return false;
    sum_edges(&c, design);
    c.best = xcalloc((size_t)plan->cards * (c.count + 1) * (c.count + 1), sizeof *c.best);
    bool ok = cheapest(&c, 0, 0, 0) != NO_WAY;
    if (ok) set_cards(&c);
    free(c.streams);
    free(c.bits);
    free(c.best);
    return ok;
}
