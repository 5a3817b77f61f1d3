/* Chooses a design for several cards together, and how many of them have how many designs.
 * Tests: lit/driver/cards.test, test/e2e/system_check.py */
#include <stdlib.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "driver/choice/internal.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "target/cost/cost.h"

bool driver_is_spread(const CompileOptions *options)
{
    return options->cards && strcmp(options->cards->mode, "dp") != 0;
}

/* The pool of several cards may hold a design that no cut brings to the cards; then one is tried for
 * less of it. What is wrong is said of all of it. */
Op *choice_spread(Compile *compile, const Op *module, SearchOptions *chosen)
{
    enum { LESS_PERCENT = 92 };
    const DeviceTarget *whole = compile->target;
    free(compile->part);
    DeviceTarget *part = compile->part = xmalloc(sizeof *part);
    Op *design = NULL;
    DiagHold first = {0};
    DseNeed need = {0};
    const int64_t pieces = whole->device.die_count * compile->options->cards->system.card_count;
    for (int64_t permille = 1000; !design; permille = permille * LESS_PERCENT / 100) {
        DiagHold messages;
        bool is_last = permille * pieces < 1000 * LESS_PERCENT / 100; /* it would fit on one die */
        *part = *whole;
        for (const DriverOption *row = driver_limit_options; row->name; row++) {
            int64_t limit = driver_limit(row, &whole->budget) * permille / 1000;
            memcpy((char *)&part->budget + row->offset, &limit, sizeof limit);
        }
        compile->target = part;
        diag_hold_begin(&messages, module->ctx);
        design = choice_design(compile, module, chosen);
        diag_hold_end(&messages);
        if (design) diag_hold_report(&messages);
        if (permille == 1000) {
            first = messages;
            need = *compile->need;
        } else {
            diag_hold_free(&messages);
        }
        if (is_last || choice_is_late(compile)) break;
    }
    if (!design) diag_hold_report(&first);
    if (!design) *compile->need = need;
    diag_hold_free(&first);
    return design;
}

typedef struct Tile {
    int64_t cards, designs;
} Tile;

static void divide_cards(Compile *compile, Tiling *tiling, const Compile *whole, Tile tile)
{
    tiling->options = *whole->options;
    tiling->cards = *whole->options->cards;
    tiling->target = *whole->target;
    tiling->options.cards = &tiling->cards;
    driver_take_tile(&tiling->cards, tile.cards, tile.designs, &tiling->target);
    compile->options = &tiling->options;
    compile->target = &tiling->target;
}

/* Percent of what a design may use, of the kind that it uses the most of. */
static int64_t utilization(const Op *design)
{
    const Attr *budget = op_attr(design, DFG_ATTR_BUDGET);
    int64_t most = 0;
    for (CostKind k = 0; k < COST_KINDS; k++) {
        int64_t limit = attr_dict_int(budget, cost_names[k].key, 0);
        if (limit > 0) most = i64_max(most, driver_use(design, k) * 100 / limit);
    }
    return most;
}

/* What is compared of tiles: frames a second for a card, of equal ones all frames. */
static bool is_faster(const Op *design, Tile tile, const Op *other, Tile others)
{
    if (!other) return true;
    int64_t rate = tile.designs * others.cards *
                   choice_top_number(other, EMITHLS_ATTR_TIMING, EMITHLS_TIMING_INTERVAL);
    int64_t before = others.designs * tile.cards *
                     choice_top_number(design, EMITHLS_ATTR_TIMING, EMITHLS_TIMING_INTERVAL);
    return rate > before || (rate == before && tile.cards > others.cards);
}

/* The best tile so far, and what there is to say of it. */
typedef struct BestTile {
    Op *design; /* NULL: there is none yet */
    Tile tile;
    int64_t used; /* percent */
    SearchOptions search;
    DiagHold messages;
} BestTile;

enum { MAX_DESIGNS = 64, MAX_WORSE = 3 };

/* A design of a tile; what is wrong with the first tile of all is said. True: it is taken. *share: what it
 * uses, 100 if there is none. */
static bool try_tile(Compile *compile, Tiling *tiling, const Op *module, Tile tile, BestTile *best,
                     int64_t *share)
{
    SearchOptions search = best->search;
    DiagHold messages;
    diag_hold_begin(&messages, module->ctx);
    Op *design = driver_is_spread(compile->options) ? choice_spread(compile, module, &search)
                                                    : choice_design(compile, module, &search);
    diag_hold_end(&messages);
    *share = design ? utilization(design) : 100;
    const bool is_taken = design ? is_faster(design, tile, best->design, best->tile)
                                 : !best->design && tile.designs == 1;
    DiagHold *dropped = is_taken ? &best->messages : &messages;
    Op *erased = is_taken ? best->design : design;
    diag_hold_free(dropped);
    if (erased) op_erase(erased);
    if (!is_taken) return false;
    tiling->taken = *compile->target;
    *best = (BestTile){design, tile, *share, design ? search : best->search, messages};
    return design != NULL;
}

/* One design more on so many cards until they use as much as is asked for, none fits, or several times
 * no more frames come of it, or no time is left. True: no more are to be tried. */
static bool fill_cards(Compile *compile, Tiling *tiling, const Compile *whole, const Op *module,
                       int64_t cards, BestTile *best)
{
    const int64_t most_worse = driver_is_spread(whole->options) ? MAX_WORSE * cards : MAX_WORSE;
    for (int64_t designs = 1, worse = 0; designs <= MAX_DESIGNS && worse < most_worse; designs++) {
        const Tile tile = {cards, designs};
        int64_t share;
        if (best->design && choice_is_late(compile)) return true;
        divide_cards(compile, tiling, whole, tile);
        const bool has_design = best->design != NULL;
        worse = try_tile(compile, tiling, module, tile, best, &share) ? 0 : worse + 1;
        if (!best->design && !has_design) return false; /* not even one */
        if (share >= whole->options->cards->min_utilization) return best->used >= share;
    }
    return false;
}

/* Elastic-DF's algorithm 1: with dp for cards that each hold whole designs; else for tiles, whose designs
 * may lie on several cards, of one card, two, and so on. The tile with the most frames for a card is
 * taken. */
Op *choice_tile(Compile *compile, Tiling *tiling, const Op *module, SearchOptions *chosen)
{
    const Compile whole = *compile;
    const bool is_spread = driver_is_spread(compile->options);
    const bool has_fewer = is_spread && compile->options->cards->takes_fewer;
    const int64_t all = compile->options->cards->system.card_count;
    BestTile best = {.search = *chosen};
    bool is_full = false;
    for (int64_t cards = has_fewer ? 1 : all; cards <= all && !is_full; cards++)
        is_full = fill_cards(compile, tiling, &whole, module, cards, &best);
    diag_hold_report(&best.messages);
    diag_hold_free(&best.messages);
    if (!best.design) return NULL;
    divide_cards(compile, tiling, &whole, best.tile);
    compile->target = &tiling->taken;
    *chosen = best.search;
    if (is_spread)
        op_remark(emithls_top(best.design),
                  "%lld designs on %lld of the cards, of which they use %lld %%",
                  (long long)best.tile.designs, (long long)best.tile.cards, (long long)best.used);
    else
        op_remark(emithls_top(best.design), "%lld designs on each card use %lld %% of it",
                  (long long)best.tile.designs, (long long)best.used);
    return best.design;
}
