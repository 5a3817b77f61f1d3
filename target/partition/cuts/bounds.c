/* What links weigh at least: of all, of those that are not behind a link, and of those that are. Where
 * the first and the last unit of the order are tells which ends of the graph a set has; without that a
 * chain could begin, or end, on several dies. What a die leaves of its room the others do not have.
 * Tests: test/e2e/place_check.py */
#include <string.h>

#include "target/partition/cuts/internal.h"

/* The least sums of two that share the room. */
static void add_levels(Levels *to, const Levels *other)
{
    Levels sum;
    for (int i = 0; i <= LEVELS; i++) {
        sum.at[i] = INT64_MAX;
        for (int j = 0; j <= i; j++)
            if (to->at[j] < INT64_MAX && other->at[i - j] < INT64_MAX)
                sum.at[i] = i64_min(sum.at[i], to->at[j] + other->at[i - j]);
    }
    *to = sum;
}

static void raise_levels(Levels *to, const Levels *other)
{
    for (int j = 0; j <= LEVELS; j++) to->at[j] = i64_max(to->at[j], other->at[j]);
}

static void sum_behind(const Cuts *c, uint32_t die, uint32_t but, uint32_t first, uint32_t last,
                       Levels *out);

/* What a link and those behind it weigh at least, but for one of them, what is behind that and what is
 * between it and the root, where the first and the last unit are on some dies. */
static void sum_link(const Cuts *c, const Behind *b, uint32_t but, uint32_t first, uint32_t last,
                     Levels *out)
{
    uint32_t ends = ends_at(b->side, first, last);
    const Levels *own = &b->least[ends];
    if (b->is_done) {
        *out = *own;
        return;
    }
    sum_behind(c, b->die, but, first, last, out);
    if (but != PARTITION_NONE && b->side >> c->behind[but].die & 1) return;
    for (int j = 0; j <= LEVELS; j++)
        out->at[j] = out->at[j] == INT64_MAX || own->at[j] == INT64_MAX ? INT64_MAX
                                                                        : out->at[j] + own->at[j];
    raise_levels(out, &b->floor[ends]);
}

/* The same of all links behind a die. */
static void sum_behind(const Cuts *c, uint32_t die, uint32_t but, uint32_t first, uint32_t last,
                       Levels *out)
{
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < c->children[die]; i++) {
        Levels sum;
        if (c->child[die][i] == but) continue;
        sum_link(c, &c->behind[c->child[die][i]], but, first, last, &sum);
        add_levels(out, &sum);
    }
}

static uint64_t dies_at(const Cuts *c, uint32_t place)
{
    return c->state->units.dies[c->s->order[place]] & c->s->dies;
}

void partition_cuts_fill_levels(Levels *levels, int64_t value)
{
    for (int ends = 0; ends < PARTITION_ENDS; ends++)
        for (int j = 0; j <= LEVELS; j++) levels[ends].at[j] = value;
}

/* What is behind a link weighs at least, the link included, by ends. */
void partition_cuts_find_arm(const Cuts *c, const Behind *b, Levels *out)
{
    uint64_t lasts = dies_at(c, c->state->units.count - 1);
    partition_cuts_fill_levels(out, INT64_MAX);
    for (uint64_t x = dies_at(c, 0); x; x &= x - 1)
        for (uint64_t y = lasts; y; y &= y - 1) {
            uint32_t first = (uint32_t)__builtin_ctzll(x), last = (uint32_t)__builtin_ctzll(y);
            Levels sum, *least = &out[ends_at(b->side, first, last)];
            sum_link(c, b, PARTITION_NONE, first, last, &sum);
            for (int j = 0; j <= LEVELS; j++) least->at[j] = i64_min(least->at[j], sum.at[j]);
        }
}

/* The links between one and the root, by the room behind that one: they have as much. */
static void sum_above(const Cuts *c, uint32_t link, uint32_t first, uint32_t last, Levels *out)
{
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < c->link_count && link != PARTITION_NONE; i++) {
        const Behind *b = &c->behind[i];
        if (i == link || !(b->side >> c->behind[link].die & 1)) continue;
        const Levels *own = &b->above[ends_at(b->side, first, last)];
        for (int j = 0; j <= LEVELS; j++)
            out->at[j] = out->at[j] == INT64_MAX || own->at[j] == INT64_MAX
                             ? INT64_MAX
                             : out->at[j] + own->at[j];
    }
}

/* When what is behind a link is at hand, for a link there: the others behind it, less the least weight
 * of all of them. What has a level of room behind that link has no lower one behind the whole, which
 * has a higher one where it cannot have that. */
static void sum_probed(const Cuts *c, uint32_t link, uint32_t first, uint32_t last,
                       const Levels *arm, Levels *out)
{
    Levels sum;
    memset(&sum, 0, sizeof sum);
    if (link != c->probed->link) sum_link(c, c->probed, link, first, last, &sum);
    int64_t whole = INT64_MAX;
    for (int j = LEVELS; j >= 0; j--) {
        int64_t at_level = arm[ends_at(c->probed->side, first, last)].at[j], rest = sum.at[LEVELS];
        if (at_level < INT64_MAX) whole = at_level;
        out->at[LEVELS - j] = whole == INT64_MAX || rest == INT64_MAX ? INT64_MAX : rest - whole;
    }
}

/* Sets c->outside. link: PARTITION_NONE: of everything. arm: of c->probed. */
void partition_cuts_find_outside(Cuts *c, uint32_t link, const Levels *arm)
{
    uint64_t side = link == PARTITION_NONE ? 0 : c->behind[link].side;
    uint64_t lasts = dies_at(c, c->state->units.count - 1);
    partition_cuts_fill_levels(c->outside, INT64_MAX);
    for (uint64_t x = dies_at(c, 0); x; x &= x - 1)
        for (uint64_t y = lasts; y; y &= y - 1) {
            uint32_t first = (uint32_t)__builtin_ctzll(x), last = (uint32_t)__builtin_ctzll(y);
            Levels sum, above, *least = &c->outside[ends_at(side, first, last)];
            if (c->probed)
                sum_probed(c, link, first, last, arm, &sum);
            else
                sum_behind(c, c->root, link, first, last, &sum);
            sum_above(c, link, first, last, &above);
            for (int j = 0; j <= LEVELS; j++)
                if (sum.at[j] < INT64_MAX && above.at[LEVELS - j] < INT64_MAX)
                    least->at[j] = i64_min(least->at[j], sum.at[j] + above.at[LEVELS - j]);
        }
}

/* The least weight of a link and those behind it, but for one of them and what is behind that, if a
 * unit is behind that one. */
static int64_t sum_with(const Cuts *c, const Behind *b, const Behind *but, uint32_t unit,
                        uint32_t first, uint32_t last)
{
    if (b == but) return 0;
    bool is_above = b->side >> but->die & 1;
    uint32_t ends = ends_at(b->side, first, last);
    int64_t sum = b->unit[is_above][ends * c->state->units.count + unit];
    for (uint32_t i = 0; i < c->children[b->die] && !b->is_done && sum < INT64_MAX; i++) {
        const Behind *child = &c->behind[c->child[b->die][i]];
        int64_t rest = sum_with(c, child, but, unit, first, last);
        sum = rest == INT64_MAX ? INT64_MAX : sum + rest;
    }
    return is_above ? sum : i64_max(sum, b->floor[ends].at[LEVELS]);
}

/* The same of all links, or of those that are probed, less the most that those weigh at least. */
static int64_t sum_all_with(const Cuts *c, const Behind *but, uint32_t unit, uint32_t first,
                            uint32_t last, const Levels *arm)
{
    int64_t sum = 0, most = INT64_MIN;
    if (!c->probed) {
        for (uint32_t i = 0; i < c->children[c->root] && sum < INT64_MAX; i++) {
            const Behind *b = &c->behind[c->child[c->root][i]];
            int64_t rest = sum_with(c, b, but, unit, first, last);
            sum = rest == INT64_MAX ? INT64_MAX : sum + rest;
        }
        return sum;
    }
    const Levels *whole = &arm[ends_at(c->probed->side, first, last)];
    for (int j = 0; j <= LEVELS; j++)
        if (whole->at[j] < INT64_MAX) most = i64_max(most, whole->at[j]);
    sum = sum_with(c, c->probed, but, unit, first, last);
    return sum == INT64_MAX || most == INT64_MIN ? INT64_MAX : sum - most;
}

/* The same by ends. */
void partition_cuts_find_with(const Cuts *c, const Behind *b, uint32_t unit, const Levels *arm,
                              int64_t *out)
{
    uint64_t lasts = dies_at(c, c->state->units.count - 1);
    for (int ends = 0; ends < PARTITION_ENDS; ends++) out[ends] = INT64_MAX;
    for (uint64_t x = dies_at(c, 0); x; x &= x - 1)
        for (uint64_t y = lasts; y; y &= y - 1) {
            uint32_t first = (uint32_t)__builtin_ctzll(x), last = (uint32_t)__builtin_ctzll(y);
            int64_t *least = &out[ends_at(b->side, first, last)];
            *least = i64_min(*least, sum_all_with(c, b, unit, first, last, arm));
        }
}

/* The least weight of what is behind the die of a link, by the ends that are behind the link, if a
 * unit is not. */
void partition_cuts_find_without(const Cuts *c, uint32_t die, uint32_t unit, int64_t *out)
{
    uint32_t count = c->state->units.count;
    for (uint32_t i = 0; i < c->children[die]; i++) {
        const Behind *b = &c->behind[c->child[die][i]];
        for (uint32_t ends = 0; ends < PARTITION_ENDS; ends++) {
            int64_t least = INT64_MAX;
            for (uint32_t own = 0; own < PARTITION_ENDS; own++)
                if (!(own & ~ends)) least = i64_min(least, b->unit[0][own * count + unit]);
            out[ends] =
                out[ends] == INT64_MAX || least == INT64_MAX ? INT64_MAX : out[ends] + least;
        }
        if (!b->is_done) partition_cuts_find_without(c, b->die, unit, out);
    }
}

/* The least weight of what is behind the die of a link, by the ends that are behind the link. */
void partition_cuts_find_behind(const Cuts *c, const Behind *b, Levels *out)
{
    for (uint32_t ends = 0; ends < PARTITION_ENDS; ends++) {
        memset(&out[ends], 0, sizeof out[ends]);
        for (uint32_t i = 0; i < c->children[b->die]; i++) {
            const Levels *least = c->behind[c->child[b->die][i]].least;
            Levels any = least[0];
            for (uint32_t own = 1; own < PARTITION_ENDS; own++)
                for (int j = 0; j <= LEVELS && !(own & ~ends); j++)
                    any.at[j] = i64_min(any.at[j], least[own].at[j]);
            add_levels(&out[ends], &any);
        }
    }
}
