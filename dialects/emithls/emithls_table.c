/* How the elements of loaded tables lie in the words of the port of weights.
 * Tests: lit/passes/dfg/load-weights-packed.mir */
#include "dialects/emithls/emithls.h"

int64_t emithls_loaded_per_word(const Op *table)
{
    const Attr *per_word = op_attr(table, EMITHLS_ATTR_PER_WORD);
    return per_word ? attr_int_value(per_word) : 1;
}

/* Most elements that an integer of 64 bits has, a power of two; 0: none fits. */
static int64_t most_per_unit(const Type *tensor)
{
    enum { UNIT = 64 };
    int64_t most = UNIT / (int64_t)type_width(type_elem(tensor)), count = 1;
    while (count * 2 <= most) count *= 2;
    return most == 0 ? 0 : count;
}

static bool fits_words(const Type *tensor, int64_t per_word)
{
    if (per_word < 1 || !type_is_integer(type_elem(tensor))) return false;
    int64_t per_unit = most_per_unit(tensor);
    if (per_word <= per_unit) return true;
    for (int64_t units = 2; units <= EMITHLS_MAX_LOADED_UNITS; units *= 2)
        if (per_unit * units == per_word) return per_unit > 0;
    return false;
}

int64_t emithls_loaded_units(const Op *table)
{
    int64_t per_unit = most_per_unit(op_attr(table, "value")->type);
    return per_unit > 0 ? i64_max(1, emithls_loaded_per_word(table) / per_unit) : 1;
}

bool emithls_is_loaded_by(const Op *op, const Attr *port)
{
    const Attr *chain = op_attr(op, EMITHLS_ATTR_CHAIN);
    return op->def == EMITHLS(TABLE) && op_attr(op, EMITHLS_ATTR_LOADED) &&
           (chain ? attr_int_value(chain) : 0) == attr_dict_int(port, EMITHLS_ATTR_PORT_CHAIN, 0);
}

int64_t emithls_streamed_cycles(const Op *top)
{
    enum { CYCLES = 1000 };
    const Attr *streamed = op_attr(top, EMITHLS_ATTR_STREAMED);
    int64_t bits = attr_dict_int(streamed, EMITHLS_STREAMED_BITS, 0),
            rate = attr_dict_int(streamed, EMITHLS_STREAMED_RATE, 0), product;
    if (!i64_mul(bits, CYCLES, &product)) product = INT64_MAX;
    return rate > 0 ? ceil_div(product, rate) : 0;
}

bool emithls_loaded_is_valid(const Op *table)
{
    if (op_attr(table, EMITHLS_ATTR_LOADED))
        return fits_words(op_attr(table, "value")->type, emithls_loaded_per_word(table));
    return !op_attr(table, EMITHLS_ATTR_CHAIN) && !op_attr(table, EMITHLS_ATTR_PER_WORD);
}

int64_t emithls_loaded_words(const Op *table)
{
    int64_t per_word = emithls_loaded_per_word(table);
    return (dense_count(op_attr(table, "value")) + per_word - 1) / per_word;
}

int64_t emithls_loaded_word(const Op *table, int64_t number, int64_t unit)
{
    const Attr *value = op_attr(table, "value");
    int64_t count = emithls_loaded_per_word(table) / emithls_loaded_units(table),
            first = (number * emithls_loaded_units(table) + unit) * count;
    if (first >= dense_count(value)) return 0;
    if (count == 1) return dense_i64(value, first);
    uint32_t width = type_width(type_elem(value->type));
    uint64_t word = 0, mask = ((uint64_t)1 << width) - 1; /* several fit 64 bits */
    for (int64_t i = i64_min(count, dense_count(value) - first); i-- > 0;)
        word = word << width | ((uint64_t)dense_i64(value, first + i) & mask);
    return (int64_t)word;
}
