/* Pattern sets and their index by root op. Patterns are ordered by falling benefit; with equal
 * benefit, patterns for one op precede those for any op, and then they keep the order in which they
 * were added.
 * Tests: test/unit/ir/rewrite/rewrite_test.c */
#include <stdlib.h>

#include "ir/rewrite/internal.h"

void patterns_init(PatternSet *set, Context *ctx)
{
    *set = (PatternSet){.ctx = ctx};
}

void patterns_free(PatternSet *set)
{
    vec_free(&set->patterns);
}

void pattern_add(PatternSet *set, const char *name, const OpDef *root, int benefit,
                 bool (*rewrite)(Rewriter *, Op *, void *))
{
    *vec_push(&set->patterns) = (Pattern){
        .name = name, .root = root, .benefit = benefit, .rewrite = rewrite, .user = set->user};
}

typedef struct Ranked {
    const Pattern *pattern;
    size_t index; /* in the set */
} Ranked;

static int compare_ranked(const void *a, const void *b)
{
    const Ranked *ra = a, *rb = b;
    if (ra->pattern->benefit != rb->pattern->benefit)
        return ra->pattern->benefit > rb->pattern->benefit ? -1 : 1;
    bool any_a = !ra->pattern->root, any_b = !rb->pattern->root;
    if (any_a != any_b) return any_a ? 1 : -1;
    return ra->index < rb->index ? -1 : 1;
}

/* Makes a list with room for its patterns for each root. */
static void make_lists(PatternIndex *index, const PatternSet *set, size_t any_count)
{
    for (size_t i = 0; i < set->patterns.len; i++) {
        const OpDef *root = set->patterns.data[i].root;
        if (!root) continue;
        PatternList *list = ptrmap_get(&index->by_root, root);
        if (!list) {
            list = ARENA_NEW(&index->arena, PatternList);
            list->count = any_count;
            ptrmap_put(&index->by_root, root, list);
        }
        list->count++;
    }
    for (size_t i = 0; i < index->by_root.len; i++) {
        PatternList *list = index->by_root.entries[i].value;
        list->items = ARENA_ARRAY(&index->arena, const Pattern *, list->count);
        list->count = 0;
    }
    index->any.items = ARENA_ARRAY(&index->arena, const Pattern *, any_count);
}

static void list_add(PatternList *list, const Pattern *pattern)
{
    list->items[list->count++] = pattern;
}

static void index_add(PatternIndex *index, const Pattern *pattern)
{
    if (pattern->root) {
        list_add(ptrmap_get(&index->by_root, pattern->root), pattern);
        return;
    }
    list_add(&index->any, pattern);
    for (size_t i = 0; i < index->by_root.len; i++)
        list_add(index->by_root.entries[i].value, pattern);
}

void patterns_index(PatternIndex *index, const PatternSet *set)
{
    *index = (PatternIndex){0};
    arena_init(&index->arena);
    size_t count = set->patterns.len, any_count = 0;
    Ranked *ranked = xcalloc(count, sizeof *ranked);
    for (size_t i = 0; i < count; i++) {
        ranked[i] = (Ranked){&set->patterns.data[i], i};
        any_count += !set->patterns.data[i].root;
    }
    qsort(ranked, count, sizeof *ranked, compare_ranked);
    make_lists(index, set, any_count);
    for (size_t i = 0; i < count; i++) index_add(index, ranked[i].pattern);
    free_ptr((void **)&ranked);
}

void patterns_index_free(PatternIndex *index)
{
    ptrmap_free(&index->by_root);
    arena_free(&index->arena);
}

const PatternList *patterns_for(const PatternIndex *index, const Op *op)
{
    const PatternList *list = op->def ? ptrmap_get(&index->by_root, op->def) : NULL;
    return list ? list : &index->any;
}

bool pattern_apply(const Pattern *pattern, Rewriter *rw, Op *op)
{
    builder_set_before(&rw->b, op);
    rw->b.loc = op->loc;
    return pattern->rewrite(rw, op, pattern->user);
}

bool patterns_apply(const PatternIndex *index, Rewriter *rw, Op *op)
{
    const PatternList *list = patterns_for(index, op);
    for (size_t i = 0; i < list->count; i++)
        if (pattern_apply(list->items[i], rw, op)) return true;
    return false;
}
