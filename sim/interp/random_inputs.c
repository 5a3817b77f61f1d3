/* Random arrays for the arguments of a function, the same in every run: integers of which every other
 * one is small, floats within a quantizer's range and somewhat beyond it.
 * Tests: test/unit/sim/interp/verify_semantics_test.c, lit/tools/verify-semantics.mir */
#include "ir/attr/attr.h"
#include "sim/interp/internal.h"
#include "sim/io/io.h"

/* Splitmix64. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* In [-1, 1). */
static double random_unit(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-52 - 1.0;
}

/* Every other number is small. An index counts or selects: it is below `indices`, and so is every
 * number that may be one after all. */
static int64_t random_integer(const Boundary *b, uint64_t *state, uint64_t indices)
{
    uint64_t bits = next_random(state);
    bool is_index = b->tensor->u.shaped.elem->kind == TYPE_INDEX;
    if ((is_index || indices < MANY_INDICES) && b->low <= 0 && b->high > 0)
        return (int64_t)(bits % indices);
    int64_t small = (int64_t)(bits >> 32 & 15) - (b->low < 0 ? 8 : 0);
    if (bits % 2 == 0 && small >= b->low && small <= b->high) return small;
    uint64_t span = (uint64_t)b->high - (uint64_t)b->low;
    bits = next_random(state);
    return (int64_t)((uint64_t)b->low + (span == UINT64_MAX ? bits : bits % (span + 1)));
}

/* A random number: in the quantizer's range and somewhat beyond it, or without a quantizer of a
 * magnitude from 1 to 8, as the argument's type holds it. */
static double random_float(const Boundary *b, uint64_t *state)
{
    if (!b->is_quantized) {
        double largest = (double)(1 << (next_random(state) & 3));
        double number = random_unit(state) * largest; /* in this order with every compiler */
        return array_round(b->tensor->u.shaped.elem, number);
    }
    double middle = ((double)b->low + (double)b->high) / 2 - (double)b->zero;
    double reach = ((double)b->high - (double)b->low) / 2 + 2;
    return (middle + random_unit(state) * reach) * b->scale / (double)b->divisor;
}

/* An array of that many frames. */
static bool new_input(const Boundary *b, int64_t frames, Npy *out)
{
    if (!boundary_new_input(b, out)) return false;
    if (frames == 1) return true;
    Npy one = *out;
    int64_t dims[NPY_MAX_RANK] = {1};
    uint32_t rank = one.rank + (one.rank == 0);
    for (uint32_t i = 0; i < one.rank; i++) dims[i] = one.dims[i];
    bool ok = i64_mul(dims[0], frames, &dims[0]) && npy_init(out, one.kind, one.item, dims, rank);
    npy_free(&one);
    return ok;
}

bool interp_random_array(const Boundary *b, uint64_t *state, uint64_t indices, int64_t frames,
                         Npy *out)
{
    if (!new_input(b, frames, out)) return false;
    for (int64_t i = 0; i < out->count; i++) {
        if (out->kind == 'f')
            npy_set_f64(out, i, random_float(b, state));
        else
            npy_set_i64(out, i, random_integer(b, state, indices));
    }
    return true;
}
