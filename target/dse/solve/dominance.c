/* Dominance among configurations whose words differ. For two words x and y that a process has at a
 * port, the surcharge of y over x is what the converter there may take more if it converts y
 * instead of x: the most over all words of the other side. A configuration dominates another if its
 * measures plus the surcharges at all ports are no larger. One configuration is dropped at a time,
 * so of those that dominate each other one stays.
 * Tests: test/unit/target/dse/solve_test.c */
#include <stdlib.h>
#include <string.h>

#include "target/dse/solve/internal.h"

/* Marks in the place of the first measure: surcharges that have not been computed yet, and those of
 * a word that cannot be converted where the other one can. */
enum { UNKNOWN = -2, IMPOSSIBLE = -1 };

/* Surcharges at one port; table is NULL where there is no converter: then words must be equal. */
typedef struct Surcharges {
    int64_t *table;   /* [y][x][measure] */
    uint32_t *number; /* of a word among those of the port */
    uint32_t words;
    const int64_t *rows; /* the converter's measures: [word][word of the other side][measure] */
    uint32_t columns;
} Surcharges;

typedef struct Dominance {
    const DseSpace *space;
    DseMeasure *measure;
    const void *user;
    bool **alive;
    Arena arena;       /* of the node at hand */
    uint32_t count;    /* measures */
    bool has_interval; /* the first must not grow */
} Dominance;

static bool is_converter(const DseNode *node)
{
    return node->kind == PROCESS_CONVERTER;
}

/* Numbers the words that a node's living configurations have at a port; UINT32_MAX: none. */
static uint32_t number_words(Dominance *s, uint32_t number, uint32_t port, uint32_t **out)
{
    const DseNode *node = &s->space->nodes.data[number];
    uint32_t count = 0;
    *out = ARENA_ARRAY(&s->arena, uint32_t, s->space->words.len + 1);
    memset(*out, 0xff, s->space->words.len * sizeof(uint32_t));
    for (size_t c = 0; c < node->configs.len; c++) {
        int64_t word = node->configs.data[c].word[port];
        if (s->alive[number][c] && (*out)[word] == UINT32_MAX) (*out)[word] = count++;
    }
    return count;
}

/* Measures of a converter by the words [at `near`][at the other port]; the first one is < 0 where
 * there is no conversion. */
static int64_t *conversions(Dominance *s, uint32_t number, uint32_t near,
                            const uint32_t *near_number, uint32_t near_count, uint32_t *far_count)
{
    const DseNode *node = &s->space->nodes.data[number];
    uint32_t *far_number;
    *far_count = number_words(s, number, 1 - near, &far_number);
    size_t size = (size_t)near_count * *far_count * s->count;
    int64_t *table = ARENA_ARRAY(&s->arena, int64_t, size + 1);
    memset(table, 0xff, size * sizeof(*table));
    for (uint32_t c = 0; c < node->configs.len; c++) {
        const int64_t *words = node->configs.data[c].word;
        if (!s->alive[number][c] || near_number[words[near]] == UINT32_MAX) continue;
        size_t cell = (size_t)near_number[words[near]] * *far_count + far_number[words[1 - near]];
        s->measure(s->user, number, c, table + cell * s->count);
    }
    return table;
}

/* The most by which row y exceeds row x, per measure. */
static void compare_rows(const Dominance *s, const int64_t *y, const int64_t *x, uint32_t columns,
                         int64_t *out)
{
    uint32_t count = s->count;
    memset(out, 0, count * sizeof(*out));
    for (size_t i = 0; i < (size_t)columns * count; i += count) {
        if (x[i] < 0) continue;
        if (y[i] < 0 || (s->has_interval && y[i] > x[i])) {
            out[0] = IMPOSSIBLE;
            return;
        }
        for (uint32_t k = 0; k < count; k++)
            if (y[i + k] - x[i + k] > out[k]) out[k] = y[i + k] - x[i + k];
    }
}

static const int64_t *surcharge(const Dominance *s, const Surcharges *port, int64_t by,
                                int64_t word)
{
    uint32_t y = port->number[by], x = port->number[word];
    int64_t *cell = port->table + ((size_t)y * port->words + x) * s->count;
    size_t row = (size_t)port->columns * s->count;
    if (cell[0] == UNKNOWN)
        compare_rows(s, port->rows + y * row, port->rows + x * row, port->columns, cell);
    return cell;
}

static Surcharges find_surcharges(Dominance *s, uint32_t node, uint32_t port, uint32_t converter,
                                  uint32_t near)
{
    Surcharges out = {.table = NULL};
    out.words = number_words(s, node, port, &out.number);
    out.rows = conversions(s, converter, near, out.number, out.words, &out.columns);
    size_t cells = (size_t)out.words * out.words;
    out.table = ARENA_ARRAY(&s->arena, int64_t, cells * s->count + 1);
    for (size_t i = 0; i < cells; i++) out.table[i * s->count] = UNKNOWN;
    return out;
}

static Surcharges *all_surcharges(Dominance *s, uint32_t number)
{
    const DseNode *node = &s->space->nodes.data[number];
    Surcharges *out = ARENA_ARRAY(&s->arena, Surcharges, node->port_count + 1);
    for (size_t e = 0; e < s->space->edges.len; e++) {
        const DseEdge *edge = &s->space->edges.data[e];
        if (edge->from == number && is_converter(&s->space->nodes.data[edge->to]))
            out[edge->from_port] = find_surcharges(s, number, edge->from_port, edge->to, 0);
        if (edge->to == number && is_converter(&s->space->nodes.data[edge->from]))
            out[edge->to_port] = find_surcharges(s, number, edge->to_port, edge->from, 1);
    }
    return out;
}

/* Adds the surcharges for the words of `by` instead of those of `config`. False: some of them
 * cannot be converted. */
static bool add_surcharges(const Dominance *s, const DseNode *node, const Surcharges *ports,
                           const Config *by, const Config *config, int64_t *sum)
{
    for (uint32_t p = 0; p < node->port_count; p++) {
        int64_t y = by->word[p], x = config->word[p];
        if (y == x) continue;
        if (!ports[p].table) return false;
        const int64_t *more = surcharge(s, &ports[p], y, x);
        if (more[0] == IMPOSSIBLE) return false;
        for (uint32_t k = 0; k < s->count; k++) sum[k] += more[k];
    }
    return true;
}

static bool is_no_larger(const int64_t *a, const int64_t *b, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (a[k] > b[k]) return false;
    return true;
}

/* A living configuration, and the sum of its measures: none of a larger sum can dominate it. */
typedef struct Candidate {
    const int64_t *measures;
    int64_t sum;
    uint32_t number;
} Candidate;

static int compare_candidates(const void *x, const void *y)
{
    const Candidate *a = x, *b = y;
    if (a->sum != b->sum) return a->sum < b->sum ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static bool dominates(const Dominance *s, const DseNode *node, const Surcharges *ports,
                      const Candidate *by, const Candidate *config)
{
    int64_t sum[DSE_MAX_MEASURES];
    if (!is_no_larger(by->measures, config->measures, s->count)) return false;
    memcpy(sum, by->measures, s->count * sizeof(*sum));
    return add_surcharges(s, node, ports, &node->configs.data[by->number],
                          &node->configs.data[config->number], sum) &&
           is_no_larger(sum, config->measures, s->count);
}

static uint32_t list_candidates(Dominance *s, uint32_t number, Candidate *out)
{
    const DseNode *node = &s->space->nodes.data[number];
    uint32_t count = 0;
    for (uint32_t c = 0; c < node->configs.len; c++) {
        if (!s->alive[number][c]) continue;
        int64_t *measures = ARENA_ARRAY(&s->arena, int64_t, DSE_MAX_MEASURES);
        Candidate *candidate = &out[count++];
        s->measure(s->user, number, c, measures);
        *candidate = (Candidate){.measures = measures, .number = c};
        for (uint32_t k = 0; k < s->count; k++) candidate->sum += measures[k];
    }
    qsort(out, count, sizeof(*out), compare_candidates);
    return count;
}

/* Of those that dominate each other the first stays. */
static void drop_from_node(Dominance *s, uint32_t number)
{
    const DseNode *node = &s->space->nodes.data[number];
    Candidate *candidates = ARENA_ARRAY(&s->arena, Candidate, node->configs.len + 1);
    uint32_t count = list_candidates(s, number, candidates), kept = 0;
    const Surcharges *ports = all_surcharges(s, number);
    for (uint32_t c = 0; c < count; c++) {
        uint32_t by = 0;
        while (by < kept && !dominates(s, node, ports, &candidates[by], &candidates[c])) by++;
        s->alive[number][candidates[c].number] = by == kept;
        if (by == kept) candidates[kept++] = candidates[c];
    }
}

void dse_drop_dominated(const DseSpace *space, DseMeasure *measure, const void *user,
                        bool has_interval, bool **alive)
{
    Dominance s = {.space = space,
                   .measure = measure,
                   .user = user,
                   .has_interval = has_interval,
                   .alive = alive};
    arena_init(&s.arena);
    for (uint32_t n = 0; n < space->nodes.len; n++) {
        const DseNode *node = &space->nodes.data[n];
        if (node->configs.len == 0 || is_converter(node)) continue;
        int64_t first[DSE_MAX_MEASURES];
        s.count = measure(user, n, 0, first);
        drop_from_node(&s, n);
        arena_reset(&s.arena);
    }
    arena_free(&s.arena);
}
