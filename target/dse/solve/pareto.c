/* Sorts configurations by words, then by measures. A configuration that dominates another is before
 * it in the same group, so each is compared only with the undominated ones before it.
 * Tests: test/unit/target/dse/solve_test.c */
#include <stdlib.h>

#include "target/dse/solve/solve.h"

typedef struct Item {
    const int64_t *words, *measures;
    uint32_t word_count, measure_count, number;
} Item;

static int compare_numbers(const int64_t *a, const int64_t *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int compare_items(const void *x, const void *y)
{
    const Item *a = x, *b = y;
    int order = compare_numbers(a->words, b->words, a->word_count);
    if (order == 0) order = compare_numbers(a->measures, b->measures, a->measure_count);
    return order != 0 ? order : a->number < b->number ? -1 : a->number > b->number;
}

static bool dominates(const Item *a, const Item *b)
{
    for (uint32_t i = 0; i < a->measure_count; i++)
        if (a->measures[i] > b->measures[i]) return false;
    return true;
}

/* Moves the undominated items to the front; gives how many there are. */
static size_t keep_undominated(Item *items, size_t count)
{
    size_t kept = 0, group = 0; /* group: where the undominated ones of the same words begin */
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 &&
            compare_numbers(items[kept - 1].words, items[i].words, items[i].word_count) != 0)
            group = kept;
        size_t other = group;
        while (other < kept && !dominates(&items[other], &items[i])) other++;
        if (other == kept) items[kept++] = items[i];
    }
    return kept;
}

void dse_keep_pareto(DseNode *node, const int64_t *measures, uint32_t count)
{
    size_t total = node->configs.len, left = 0;
    Item *items = xcalloc(total + 1, sizeof(*items));
    bool *keep = xcalloc(total + 1, sizeof(*keep));
    for (uint32_t c = 0; c < total; c++)
        items[c] = (Item){node->configs.data[c].word, measures + (size_t)c * count,
                          node->port_count, count, c};
    qsort(items, total, sizeof(*items), compare_items);
    for (size_t i = keep_undominated(items, total); i-- > 0;) keep[items[i].number] = true;
    for (size_t c = 0; c < total; c++)
        if (keep[c]) node->configs.data[left++] = node->configs.data[c];
    node->configs.len = left;
    free_ptr((void **)&items);
    free_ptr((void **)&keep);
}
