/* A monotone function of few levels as comparisons in an element-wise kernel,
 *   least + sum over i of rise_i * ((q >= threshold_i[c]) != falls[c]),
 * which takes no multiplication and no table of levels: a bipolar quantizer is one comparison, one
 * of two bits three. Thresholds that are equal in every channel are one of a larger rise.
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-requant-comparisons.mir,
 * test/e2e/places_streamline.py */
#include <assert.h>

#include "dialects/arith/arith.h"
#include "lowering/onnx_to_linalg/requant/internal.h"

enum { MAX_TERMS = 3 };

/* One comparison. */
typedef struct Term {
    int64_t *at; /* per channel: the least q that passes */
    int64_t rise;
} Term;

typedef struct Comparisons {
    Requant *r;
    Term terms[MAX_TERMS];
    uint32_t count;
    Value *inputs[2 + MAX_TERMS]; /* q, thresholds that differ by channel, falls */
    uint32_t input_count;
} Comparisons;

/* The least q that passes threshold i of a channel. Levels that fall are counted by the thresholds
 * that q has not passed: -q >= t is q < 1 - t. */
static int64_t passing(const Requant *r, int64_t c, int64_t i)
{
    int64_t at = requant_threshold(r, c, i);
    return r->falls[c] ? 1 - at : at;
}

static bool same_thresholds(const Requant *r, const Term *a, const Term *b)
{
    for (int64_t c = 0; c < r->channels; c++)
        if (a->at[c] != b->at[c]) return false;
    return true;
}

/* False: there are too many different ones. */
static bool find_terms(Comparisons *k)
{
    const Requant *r = k->r;
    for (int64_t i = 0; i < r->most - r->least; i++) {
        Term term = {ARENA_ARRAY(&r->lw->pass->scratch, int64_t, r->channels), 1};
        for (int64_t c = 0; c < r->channels; c++) term.at[c] = passing(r, c, i);
        if (k->count > 0 && same_thresholds(r, &k->terms[k->count - 1], &term))
            k->terms[k->count - 1].rise++;
        else if (k->count == MAX_TERMS)
            return false;
        else
            k->terms[k->count++] = term;
    }
    return true;
}

uint32_t requant_comparison_count(const Requant *r)
{
    Comparisons k = {.r = (Requant *)(uintptr_t)r};
    return find_terms(&k) ? k.count : 0;
}

/* The number of the input with a number for each channel, in as few bits as hold them; 0: all are
 * equal. */
static uint32_t add_input(Comparisons *k, const int64_t *values)
{
    int64_t low = values[0], high = values[0];
    for (int64_t c = 1; c < k->r->channels; c++) {
        low = values[c] < low ? values[c] : low;
        high = values[c] > high ? values[c] : high;
    }
    if (low == high) return 0;
    const Type *elem =
        type_i(k->r->lw->ctx, low == -1 && high == 0 ? 1 : fixed_signed_width(low, high));
    const Type *type = type_tensor(elem, &k->r->channels, 1, NULL);
    const Attr *numbers = attr_dense_i64(type, values, (size_t)k->r->channels);
    k->inputs[k->input_count] = arith_constant(&k->r->lw->b, numbers);
    return k->input_count++;
}

static uint32_t add_falls(Comparisons *k)
{
    int64_t *flags = ARENA_ARRAY(&k->r->lw->pass->scratch, int64_t, k->r->channels);
    for (int64_t c = 0; c < k->r->channels; c++) flags[c] = k->r->falls[c] ? -1 : 0;
    return add_input(k, flags);
}

/* Whether q counts for a term. */
static Value *counts(const Comparisons *k, Generic *g, uint32_t i, uint32_t input, uint32_t falls,
                     Value *q)
{
    const Requant *r = k->r;
    Builder *b = &g->body;
    bool all_fall = !falls && r->falls[0];
    Value *at = input ? lower_build_extend(b, generic_arg(g, input), q->type, false)
                      : arith_constant_int(b, q->type, k->terms[i].at[0]);
    Value *passed = arith_cmpi(b, all_fall ? CMPI_SLT : CMPI_SGE, q, at);
    return falls ? build_binary(b, ARITH(XORI), passed->type, passed, generic_arg(g, falls))
                 : passed;
}

Value *requant_build_comparisons(Requant *r)
{
    OnnxLowering *lw = r->lw;
    Comparisons k = {.r = r, .inputs = {r->v->value}, .input_count = 1};
    uint32_t input[MAX_TERMS], falls;
    bool are_few = find_terms(&k);
    assert(are_few);
    lw->form = k.count == 1 ? "comparison" : "comparisons";
    (void)are_few;
    const Type *wide = requant_place_type(r), *elem = type_elem(requant_type(r));
    for (uint32_t i = 0; i < k.count; i++) input[i] = add_input(&k, k.terms[i].at);
    falls = add_falls(&k);
    Generic g;
    generic_along(lw, &g, k.inputs, k.input_count, (uint32_t)r->axis);
    generic_open(lw, &g, lower_build_empty(lw, requant_type(r)));
    Builder *b = &g.body;
    Value *q = lower_build_extend(b, generic_arg(&g, 0), wide, r->v->is_unsigned);
    Value *level = arith_constant_int(b, elem, r->least);
    if (k.count == 1) {
        Value *passed = counts(&k, &g, 0, input[0], falls, q);
        return generic_close(&g,
                             arith_select(b, passed, arith_constant_int(b, elem, r->most), level));
    }
    for (uint32_t i = 0; i < k.count; i++) {
        Value *passed = counts(&k, &g, i, input[i], falls, q);
        Value *rise = k.terms[i].rise == 1
                          ? build_unary(b, ARITH(EXTUI), elem, passed)
                          : arith_select(b, passed, arith_constant_int(b, elem, k.terms[i].rise),
                                         arith_constant_int(b, elem, 0));
        level = build_binary(b, ARITH(ADDI), elem, level, rise);
    }
    return generic_close(&g, level);
}
