/* Step functions of many integers by binary search: the steps of a channel are an implicit tree
 * whose levels are a table each, and a q goes down the tree by one comparison per level. With k
 * steps taken,
 *   at = channel * 2^k + p,  at' = 2 * at + (q >= place_k[at]),
 * where p is the part of the steps that q is in so far; in the end p counts the steps that q has
 * passed, and a table of levels is read at `at`, unless the level is the count.
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-requant-bsearch.mir,
 * test/e2e/qdq_check.py */
#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg/requant/internal.h"

typedef struct BinarySearch {
    Requant *r;
    const LevelChanges *changes;
    uint32_t depth; /* comparisons; a channel has 2^depth - 1 changes or less */
} BinarySearch;

static Value *constant_row(OnnxLowering *lw, const Type *elem, const int64_t *values, int64_t count)
{
    const Type *type = type_tensor(elem, &count, 1, NULL);
    return arith_constant(&lw->b, attr_dense_i64(type, values, (size_t)count));
}

static Value *channel_numbers(const Requant *r, const Type *elem)
{
    int64_t *numbers = ARENA_ARRAY(&r->lw->pass->scratch, int64_t, r->channels);
    for (int64_t c = 0; c < r->channels; c++) numbers[c] = c;
    return constant_row(r->lw, elem, numbers, r->channels);
}

/* Where the changes are that comparison k is with: of the 2^depth parts that a channel's changes divide
 * its integers into, the one in the middle of each 2^(depth - k). */
static Value *place_table(const BinarySearch *s, uint32_t k)
{
    int64_t parts = INT64_C(1) << k, count = s->r->channels * parts;
    int64_t size = INT64_C(1) << (s->depth - k);
    int64_t *places = ARENA_ARRAY(&s->r->lw->pass->scratch, int64_t, count);
    for (int64_t i = 0; i < count; i++)
        places[i] = level_change_at(s->r, s->changes, i / parts, i % parts * size + size / 2 - 1).q;
    return constant_row(s->r->lw, requant_place_type(s->r), places, count);
}

/* The level in each part, channel by channel, above the least; *is_count says that they are the
 * parts' numbers. */
static int64_t *part_levels(const BinarySearch *s, bool *is_count)
{
    int64_t parts = INT64_C(1) << s->depth;
    int64_t *levels = ARENA_ARRAY(&s->r->lw->pass->scratch, int64_t, s->r->channels * parts);
    *is_count = true;
    for (int64_t c = 0; c < s->r->channels; c++) {
        int64_t count = level_changes_count(s->r, s->changes, c), level = s->r->least;
        for (int64_t i = 0; i < parts; i++) {
            *is_count &= i > count || level == s->r->least + i;
            levels[c * parts + i] = level;
            level += i < count ? level_change_at(s->r, s->changes, c, i).rise : 0;
        }
    }
    return levels;
}

static Value *part_level(const BinarySearch *s, Builder *b, Value *at, Value *levels)
{
    Requant *r = s->r;
    const Type *elem = type_elem(requant_type(r));
    if (levels) return lower_build_lookup(b, levels, at);
    int64_t last = (INT64_C(1) << s->depth) - 1;
    if (r->channels > 1)
        at = build_binary(b, ARITH(ANDI), at->type, at, arith_constant_int(b, at->type, last));
    at = lower_build_resize(b, at, elem);
    if (r->least == 0) return at;
    return build_binary(b, ARITH(ADDI), elem, at, arith_constant_int(b, elem, r->least));
}

static Value *build_tree(const BinarySearch *s, Value *const *places, Value *levels)
{
    Requant *r = s->r;
    OnnxLowering *lw = r->lw;
    Generic g;
    int64_t last = r->channels * (INT64_C(1) << s->depth) - 1;
    const Type *index = type_i(lw->ctx, fixed_signed_width(0, last)), *wide = requant_place_type(r);
    bool has_channels = r->channels > 1;
    Value *inputs[] = {r->v->value, has_channels ? channel_numbers(r, index) : NULL};
    generic_along(lw, &g, inputs, 1 + has_channels, (uint32_t)r->axis);
    generic_open(lw, &g, lower_build_empty(lw, requant_type(r)));
    Builder *b = &g.body;
    Value *q = lower_build_extend(b, generic_arg(&g, 0), wide, r->v->is_unsigned);
    Value *at = has_channels ? generic_arg(&g, 1) : arith_constant_int(b, index, 0);
    for (uint32_t k = 0; k < s->depth; k++) {
        Value *passed = arith_cmpi(b, CMPI_SGE, q, lower_build_lookup(b, places[k], at));
        at = build_binary(b, ARITH(ADDI), index, at, at);
        at = build_binary(b, ARITH(ADDI), index, at, build_unary(b, ARITH(EXTUI), index, passed));
    }
    return generic_close(&g, part_level(s, b, at, levels));
}

Value *requant_build_bsearch(Requant *r, const LevelChanges *changes)
{
    enum { MAX_DEPTH = 16 };
    BinarySearch s = {.r = r, .changes = changes};
    Value *places[MAX_DEPTH];
    int64_t most = level_changes_most(r, changes);
    bool is_count;
    while (INT64_C(1) << s.depth <= most) s.depth++;
    if (most <= MAX_COMPARISONS || s.depth > MAX_DEPTH || r->channels << s.depth > MAX_TABLE)
        return NULL;
    r->lw->form = "search";
    const int64_t *levels = part_levels(&s, &is_count);
    Value *table = NULL;
    if (!is_count)
        table = constant_row(r->lw, type_elem(requant_type(r)), levels, r->channels << s.depth);
    for (uint32_t k = 0; k < s.depth; k++) places[k] = place_table(&s, k);
    return build_tree(&s, places, table);
}
