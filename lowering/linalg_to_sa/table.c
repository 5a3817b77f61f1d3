/* Reads of constant tables. Those of requantizers mostly hold the same number but for a few places:
 * halves that are rounded to even change with the last bit, steps that lie off a line are some in each
 * channel. Such a table is arithmetic,
 *   first + slope * (k mod 2) + sum of height_i * (k = place_i)
 * with places and heights for each channel. Others are parameters, which take more memory.
 * Tests: lit/lowering/linalg_to_sa/table.mir, test/e2e/overlay_check.py */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_sa/internal.h"

enum { MOST_PLACES = 4 };

/* A table of `length` numbers for each of `rows` channels, or for all. */
typedef struct Table {
    int64_t *values;
    size_t rows, length;
    uint32_t index;
} Table;

static bool is_cast(const Op *op)
{
    return op && (op->def == ARITH(INDEX_CAST) || op->def == ARITH(INDEX_CASTUI));
}

/* How far apart the elements are that an index of dimension `dim` counts. */
static int64_t step_of(const Type *type, uint32_t dim)
{
    int64_t step = 1;
    for (uint32_t i = dim + 1; i < type->u.shaped.rank; i++) step *= type->u.shaped.dims[i];
    return step;
}

/* Indices of a read: one of the element's own, one of the channel, else constants. */
typedef struct Read {
    int64_t offset, channel_step, step;
    size_t length;
    const Op *cast; /* of the element's own index */
    int64_t addend; /* to it */
} Read;

/* The cast that an index is, or that a constant is added to; NULL: it is another one. */
static const Op *find_cast(const Value *index, int64_t *addend)
{
    const Op *op = value_def(index);
    *addend = 0;
    if (!op || op->def != ARITH(ADDI)) return is_cast(op) ? op : NULL;
    for (uint32_t i = 0; i < 2; i++) {
        const Attr *constant = fold_constant_of(op_operand(op, i));
        const Op *other = value_def(op_operand(op, 1 - i));
        if (!constant || constant->kind != ATTR_INTEGER || !is_cast(other)) continue;
        *addend = attr_int_value(constant);
        return other;
    }
    return NULL;
}

static bool read_indices(const Numbers *n, const Op *extract, Read *out)
{
    const Type *type = op_operand(extract, 0)->type;
    *out = (Read){0};
    if (!type_is_static(type)) return false;
    for (uint32_t i = 1; i < extract->operand_count; i++) {
        const Value *index = op_operand(extract, i);
        const Attr *constant = fold_constant_of(index);
        const Op *op = value_def(index), *cast;
        int64_t addend, step = step_of(type, i - 1), extent = type->u.shaped.dims[i - 1];
        if (constant && constant->kind == ATTR_INTEGER) {
            const int64_t at = attr_int_value(constant);
            if (at < 0 || at >= extent) return false;
            out->offset += step * at;
        } else if (op && op->def == LINALG(INDEX)) {
            if (attr_int_value(op_attr(op, "dim")) != n->channel_loop || out->channel_step ||
                extent < (int64_t)n->channels)
                return false;
            out->channel_step = step;
        } else if ((cast = find_cast(index, &addend)) && !out->cast) {
            out->cast = cast;
            out->addend = addend;
            out->step = step;
            out->length = (size_t)extent;
        } else {
            return false;
        }
    }
    return out->cast != NULL;
}

/* Of numbers that are equal modulo 2^N those from 0 on, as flags are 0 and 1, unless the entries lie
 * closer together with their sign. */
static void choose_reading(Table *table, uint32_t width)
{
    int64_t size = width < 62 ? INT64_C(1) << width : 0;
    size_t count = table->rows * table->length;
    IntRange with_sign = {INT64_MAX, INT64_MIN}, without = with_sign;
    for (size_t i = 0; i < count; i++) {
        int64_t value = table->values[i], other = value < 0 ? value + size : value;
        with_sign = (IntRange){i64_min(with_sign.lo, value), i64_max(with_sign.hi, value)};
        without = (IntRange){i64_min(without.lo, other), i64_max(without.hi, other)};
    }
    if (size == 0 || with_sign.hi - with_sign.lo < without.hi - without.lo) return;
    for (size_t i = 0; i < count; i++)
        if (table->values[i] < 0) table->values[i] += size;
}

static bool fill_table(const Numbers *n, const Op *extract, const Read *read, Table *table)
{
    const Attr *attr = fold_constant_of(op_operand(extract, 0));
    if (!attr || !dense_is_complete(attr) || !type_is_integer(type_elem(attr->type))) return false;
    table->rows = read->channel_step ? n->channels : 1;
    table->length = read->length;
    table->values = ARENA_ARRAY(n->arena, int64_t, table->rows * table->length);
    for (size_t c = 0; c < table->rows; c++)
        for (size_t k = 0; k < table->length; k++) {
            int64_t at = read->offset + (int64_t)c * read->channel_step + (int64_t)k * read->step;
            table->values[c * table->length + k] = dense_i64(attr, at);
        }
    choose_reading(table, type_width(type_elem(attr->type)));
    return true;
}

/* Places at which a row is not first + slope * (k mod 2). */
static size_t count_places(const Table *t, size_t row, int64_t first, int64_t slope)
{
    size_t count = 0;
    for (size_t k = 0; k < t->length; k++)
        count += t->values[row * t->length + k] != first + slope * (int64_t)(k % 2);
    return count;
}

static size_t most_places(const Table *t, int64_t first, int64_t slope)
{
    size_t most = 0;
    for (size_t c = 0; c < t->rows; c++) {
        size_t count = count_places(t, c, first, slope);
        if (count > most) most = count;
    }
    return most;
}

/* The base with the fewest places, among those that small numbers make. */
static size_t choose_base(const Table *t, int64_t *first, int64_t *slope)
{
    size_t best = SIZE_MAX;
    for (int64_t f = 0; f < 2; f++)
        for (int64_t s = -f; s < 2 - f; s++) {
            size_t count = most_places(t, f, s);
            if (count >= best) continue;
            best = count;
            *first = f;
            *slope = s;
        }
    return best;
}

/* heights * (k = places): min(|k - place|, 1) is 0 there and 1 elsewhere. */
static uint32_t add_place(Numbers *n, uint32_t sum, uint32_t k, const int64_t *places,
                          const int64_t *heights, size_t rows)
{
    uint32_t place = number_consts(n, places, rows), one = number_const(n, 1);
    uint32_t distance = number_binary(n, NUMBER_SUB, k, place);
    uint32_t mirrored = number_binary(n, NUMBER_SUB, number_const(n, 0), distance);
    uint32_t away =
        number_binary(n, NUMBER_MIN, number_binary(n, NUMBER_MAX, distance, mirrored), one);
    uint32_t is_there = number_binary(n, NUMBER_SUB, one, away);
    return number_binary(n, NUMBER_ADD, sum,
                         number_binary(n, NUMBER_MUL, is_there, number_consts(n, heights, rows)));
}

/* Place number i of each row; -1, where no index is, in rows that have fewer. */
static uint32_t add_places(Numbers *n, const Table *t, uint32_t sum, uint32_t k, int64_t first,
                           int64_t slope)
{
    size_t count = most_places(t, first, slope);
    for (size_t i = 0; i < count; i++) {
        int64_t *places = ARENA_ARRAY(n->arena, int64_t, 2 * t->rows), *heights = places + t->rows;
        for (size_t c = 0; c < t->rows; c++) {
            size_t seen = 0;
            places[c] = -1;
            heights[c] = 1;
            for (size_t j = 0; j < t->length; j++) {
                int64_t base = first + slope * (int64_t)(j % 2);
                int64_t value = t->values[c * t->length + j];
                if (value == base || seen++ != i) continue;
                places[c] = (int64_t)j;
                heights[c] = value - base;
            }
        }
        sum = add_place(n, sum, k, places, heights, t->rows);
    }
    return sum;
}

/* A table of parameters holds numbers from 0 on, of more than 32 bits in two tables. */
uint32_t table_number(Numbers *n, const int64_t *values, size_t rows, size_t length, uint32_t k)
{
    enum { HALF = 16, WHOLE = 32 };
    size_t count = rows * length;
    int64_t *low = ARENA_ARRAY(n->arena, int64_t, 2 * count), *high = low + count;
    int64_t least = values[0], most = 0;
    for (size_t i = 1; i < count; i++) least = i64_min(least, values[i]);
    for (size_t i = 0; i < count; i++) {
        uint64_t entry = (uint64_t)values[i] - (uint64_t)least;
        low[i] = (int64_t)(entry & UINT32_MAX);
        high[i] = (int64_t)(entry >> WHOLE);
        most = i64_max(most, high[i]);
    }
    uint32_t number = number_lookup(n, k, low, rows, length);
    if (most > 0) {
        uint32_t upper = number_lookup(n, k, high, rows, length);
        uint32_t factor = number_const(n, INT64_C(1) << HALF);
        for (int i = 0; i < WHOLE / HALF; i++) upper = number_binary(n, NUMBER_MUL, upper, factor);
        number = number_binary(n, NUMBER_ADD, upper, number);
    }
    return number_binary(n, NUMBER_ADD, number, number_const(n, least));
}

const Op *table_index(const Numbers *n, const Op *extract)
{
    Read read;
    return read_indices(n, extract, &read) ? read.cast : NULL;
}

uint32_t table_read(Numbers *n, const Op *extract, uint32_t k)
{
    Read read;
    Table table = {0};
    int64_t first = 0, slope = 0;
    if (k == NO_NUMBER) return NO_NUMBER;
    if (!read_indices(n, extract, &read) || !fill_table(n, extract, &read, &table))
        return number_fail(n, "reads a table by other indices, or one that is no constant");
    k = number_offset(n, k, read.addend);
    /* No index is outside, but its range may be. */
    k = number_binary(n, NUMBER_MAX, k, number_const(n, 0));
    k = number_binary(n, NUMBER_MIN, k, number_const(n, (int64_t)table.length - 1));
    if (k == NO_NUMBER) return NO_NUMBER;
    if (choose_base(&table, &first, &slope) > MOST_PLACES)
        return table_number(n, table.values, table.rows, table.length, k);
    uint32_t odd = number_mod(n, k, 1);
    uint32_t sum =
        number_binary(n, NUMBER_ADD, number_binary(n, NUMBER_MUL, odd, number_const(n, slope)),
                      number_const(n, first));
    return add_places(n, &table, sum, k, first, slope);
}
