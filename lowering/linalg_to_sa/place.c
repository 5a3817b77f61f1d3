/* Constants that differ from place to place, as the divisors of means at the border of a map: a map that lies in
 * external memory with the program. Where the numbers do not fit a map, or a kernel has several of them,
 * it has their places in a table of parameters, for each operand one.
 * Tests: lit/lowering/linalg_to_sa/places.mir, test/e2e/overlay_check.py */
#include <stdlib.h>

#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_sa/internal.h"

enum { MOST_NUMBERS = 256 }; /* in a table */

static const Attr *dense_of(const Op *generic, uint32_t operand)
{
    const Attr *attr = fold_constant_of(op_operand(generic, operand));
    bool is_dense = attr && dense_is_complete(attr);
    return is_dense && type_is_integer(type_elem(attr->type)) ? attr : NULL;
}

/* Whether each dimension of the result is a loop, or has one element. */
static bool has_plain_places(const Op *generic)
{
    const AffineMap *out = linalg_operand_map(generic, linalg_input_count(generic));
    for (uint32_t r = 0; r < out->result_count; r++)
        if (out->results[r]->kind != AFFINE_DIM && !affine_is_const(out->results[r])) return false;
    return true;
}

bool to_sa_is_placed(const Op *generic, uint32_t operand, int channel)
{
    const Attr *attr = dense_of(generic, operand);
    const AffineMap *map = linalg_operand_map(generic, operand);
    int64_t extents[KERNEL_MAX_LOOPS];
    if (!attr || dense_count(attr) == 1 || linalg_reduces(generic) || !has_plain_places(generic) ||
        !linalg_loop_extents(generic, extents))
        return false;
    for (uint32_t i = 0; i < map->dim_count; i++)
        if ((int)i != channel && extents[i] > 1 && map_uses_dim(map, i)) return true;
    return false;
}

/* The loops at element `index` of the result. */
static void find_loops(const Op *generic, int64_t index, int64_t loops[KERNEL_MAX_LOOPS])
{
    const AffineMap *out = linalg_operand_map(generic, linalg_input_count(generic));
    const int64_t *dims = op_result(generic, 0)->type->u.shaped.dims;
    for (uint32_t r = out->result_count; r-- > 0; index /= dims[r])
        if (out->results[r]->kind == AFFINE_DIM) loops[out->results[r]->value] = index % dims[r];
}

/* The constants at the places of the result. */
static int64_t *spread_constants(Arena *arena, const Op *generic, uint32_t operand, int64_t count)
{
    const Attr *attr = dense_of(generic, operand);
    const AffineMap *map = linalg_operand_map(generic, operand);
    const int64_t *dims = attr->type->u.shaped.dims;
    int64_t loops[KERNEL_MAX_LOOPS] = {0}, at[KERNEL_MAX_LOOPS];
    int64_t *values = ARENA_ARRAY(arena, int64_t, count);
    for (int64_t i = 0; i < count; i++) {
        int64_t index = 0;
        find_loops(generic, i, loops);
        bool is_there = map_eval(map, loops, NULL, at);
        for (uint32_t r = 0; r < map->result_count; r++) index = index * dims[r] + at[r];
        values[i] = is_there ? dense_i64(attr, index) : 0;
    }
    return values;
}

/* What the operands have at a place of the result. */
typedef struct Place {
    const int64_t *values;
    uint32_t count;
    int64_t index;
} Place;

static int compare_places(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    for (uint32_t i = 0; i < x->count; i++)
        if (x->values[i] != y->values[i]) return x->values[i] > y->values[i] ? 1 : -1;
    return 0;
}

/* Each operand's numbers in a table, and in `values` the places in these that hold what all have at a place
 * of the result. False: there are too many. */
static bool number_places(Arena *arena, int64_t *const *columns, uint32_t columns_count,
                          int64_t count, int64_t *values, PlacedConstants *const *placed)
{
    Place *places = ARENA_ARRAY(arena, Place, count);
    int64_t *rows = ARENA_ARRAY(arena, int64_t, count * columns_count), numbers = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t *row = rows + i * columns_count;
        for (uint32_t c = 0; c < columns_count; c++) row[c] = columns[c][i];
        places[i] = (Place){row, columns_count, i};
    }
    qsort(places, (size_t)count, sizeof *places, compare_places);
    for (int64_t i = 0; i < count; i++) {
        bool is_new = i == 0 || compare_places(&places[i], &places[i - 1]) != 0;
        if (is_new) places[numbers++].values = places[i].values;
        values[places[i].index] = numbers - 1;
    }
    for (uint32_t c = 0; c < columns_count; c++) {
        placed[c]->count = (size_t)numbers;
        if (numbers > MOST_NUMBERS) continue;
        placed[c]->values = ARENA_ARRAY(arena, int64_t, numbers);
        for (int64_t i = 0; i < numbers; i++) placed[c]->values[i] = places[i].values[c];
    }
    return numbers <= MOST_NUMBERS;
}

static void find_range(const int64_t *values, int64_t count, Tensor *tensor)
{
    tensor->lo = tensor->hi = values[0];
    for (int64_t i = 1; i < count; i++) {
        tensor->lo = i64_min(tensor->lo, values[i]);
        tensor->hi = i64_max(tensor->hi, values[i]);
    }
}

/* An input of the network that is no port. */
static Value *build_map(Lowering *lw, const Op *generic, int64_t *values, const Tensor *tensor)
{
    const Extents *extents = &tensor->extents;
    const int64_t dims[] = {extents->h, extents->w, extents->c};
    const int64_t count = extents->h * extents->w * extents->c;
    const Type *type = type_tensor(sa_act_type(lw->ctx, &lw->size), dims, 3, NULL);
    for (int64_t i = 0; i < count; i++) values[i] -= tensor->offset;
    NamedAttr attrs[] = {
        build_named_attr(lw->ctx, "name", attr_string(lw->ctx, STR("constants"))),
        build_named_attr(lw->ctx, "value", attr_dense_i64(type, values, (size_t)count))};
    Builder b = lw->b;
    b.loc = generic->loc;
    return op_result(build(&b, SA(INPUT), NULL, 0, &type, 1, attrs, COUNT_OF(attrs)), 0);
}

Tensor *to_sa_place_constants(Lowering *lw, const Op *generic, const uint32_t *operands,
                              uint32_t operand_count, const Extents *extents,
                              PlacedConstants *placed)
{
    const int64_t count = extents->h * extents->w * extents->c;
    int64_t *columns[KERNEL_MAX_LOOPS] = {0}, *values;
    PlacedConstants *tables[KERNEL_MAX_LOOPS];
    Tensor *tensor = ARENA_NEW(lw->arena, Tensor), all;
    *tensor = (Tensor){.extents = *extents,
                       .width = type_width(type_elem(op_operand(generic, operands[0])->type))};
    for (uint32_t i = 0; i < operand_count; i++) {
        tables[i] = &placed[operands[i]];
        columns[i] = spread_constants(lw->arena, generic, operands[i], count);
    }
    values = columns[0];
    find_range(values, count, tensor);
    all = *tensor;
    for (uint32_t i = 1; i < operand_count; i++) {
        find_range(columns[i], count, tensor);
        all.lo = i64_min(all.lo, tensor->lo);
        all.hi = i64_max(all.hi, tensor->hi);
    }
    bool fits =
        operand_count == 1 && to_sa_find_offset(lw, tensor->lo, tensor->hi, &tensor->offset);
    if (!fits) {
        values = ARENA_ARRAY(lw->arena, int64_t, count);
        if (number_places(lw->arena, columns, operand_count, count, values, tables)) {
            find_range(values, count, tensor);
            fits = to_sa_find_offset(lw, tensor->lo, tensor->hi, &tensor->offset);
        }
    }
    if (!fits) {
        to_sa_refuse(generic,
                     "has %zu constants from %lld to %lld that differ from place to place, more "
                     "than activations of %u bits hold",
                     tables[0]->count, (long long)all.lo, (long long)all.hi, lw->size.act_bits);
        return NULL;
    }
    tensor->map = build_map(lw, generic, values, tensor);
    return tensor;
}

uint32_t to_sa_placed_number(Numbers *n, const PlacedConstants *placed, uint32_t element)
{
    if (placed->count == 0) return element;
    return table_number(n, placed->values, 1, placed->count, element);
}
