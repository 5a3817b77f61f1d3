/* Arrays of a process: cells, which are registers or wires, or banks, which are memories. The
 * pragmas say which (sim/design's HlsMemory).
 *
 * A scalar of an array has a flat place: row-major, lanes last. In a bank the dimensions that are
 * partitioned choose the bank, those that are joined and the lanes make the word, all others the
 * address.
 * Tests: lit/lowering/emithls_to_rtl */
#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "lowering/emithls_to_rtl/internal.h"

/* Declared anew in every iteration. Loops around loops declare what these share. */
static bool is_inside_loop(const Op *op)
{
    const Op *loop = op_parent_of_def(op, EMITHLS(FOR));
    while (loop && !op_attr(loop, EMITHLS_ATTR_II)) loop = op_parent_of_def(loop, EMITHLS(FOR));
    return loop != NULL;
}

/* Scalars along the dimensions whose bit is set. */
static uint32_t extent_of(const Type *array, uint64_t dims)
{
    int64_t size = 1;
    for (uint32_t i = 0; i < emithls_array_rank(array); i++)
        if (dims >> i & 1) size *= emithls_array_dim(array, i);
    return (uint32_t)size;
}

static void place_cells(RtlProcess *p, RtlArray *a)
{
    a->is_cells = true;
    a->first = (uint32_t)p->cell_widths.len;
    for (uint32_t i = 0; i < a->size; i++) *vec_push(&p->cell_widths) = a->width;
}

static bool place_banks(RtlProcess *p, RtlArray *a, const Op *op)
{
    a->banks = extent_of(a->value->type, a->memory.banks);
    a->word = extent_of(a->value->type, a->memory.wide) * a->lanes;
    uint64_t bits = (uint64_t)a->word * a->width;
    if (bits > BIGINT_MAX_WIDTH)
        return op_error(op, "cannot become hardware: its words have %llu bits",
                        (unsigned long long)bits);
    a->depth = a->size / a->banks / a->word;
    a->first = (uint32_t)p->banks.len;
    for (uint32_t i = 0; i < a->banks; i++) *vec_push(&p->banks) = (Bank){a, i};
    return true;
}

static bool read_table(RtlArray *a, const Op *get)
{
    const Op *table = symbol_lookup(get, op_attr(get, EMITHLS_ATTR_TABLE));
    if (op_attr(table, EMITHLS_ATTR_LOADED))
        return op_error(get, "cannot become hardware: its table is loaded at start-up");
    a->contents = array_from_attr(op_attr(table, "value"));
    return a->contents || op_error(get, "cannot become hardware: its table has no elements");
}

static bool declare_array(RtlProcess *p, const Op *op)
{
    enum { MOST_SCALARS = 1 << 26 };
    const Value *value = op_result(op, 0);
    const Type *elem = emithls_array_elem(value->type), *scalar = emithls_scalar(elem);
    int64_t size = emithls_lanes(elem);
    if (!type_is_integer(scalar) || type_width(scalar) > 64)
        return op_error(op, "cannot become hardware: it holds values of type '%s'",
                        type_str(op->ctx, scalar));
    for (uint32_t i = 0; i < emithls_array_rank(value->type); i++)
        if (!i64_mul(size, emithls_array_dim(value->type, i), &size) || size > MOST_SCALARS)
            return op_error(op, "cannot become hardware: it has more than %d elements",
                            MOST_SCALARS);
    RtlArray *a = ARENA_NEW(&p->arena, RtlArray);
    *a = (RtlArray){.value = value,
                    .memory = design_memory(value),
                    .width = type_width(scalar),
                    .lanes = (uint32_t)emithls_lanes(elem),
                    .size = (uint32_t)size};
    ptrmap_put(&p->arrays, value, a);
    *vec_push(&p->array_list) = a;
    if (op->def == EMITHLS(GET) && !read_table(a, op)) return false;
    if (!a->memory.is_register && !is_inside_loop(op)) return place_banks(p, a, op);
    place_cells(p, a);
    return true;
}

static bool declare_in(RtlProcess *p, const Op *op)
{
    if ((op->def == EMITHLS(VARIABLE) || op->def == EMITHLS(GET)) && !declare_array(p, op))
        return false;
    FOR_EACH_INNER(inner, op)
        if (!declare_in(p, inner)) return false;
    return true;
}

bool to_rtl_declare_arrays(RtlProcess *p)
{
    return declare_in(p, p->model->func);
}

const RtlArray *to_rtl_array(const RtlProcess *p, const Value *array)
{
    return ptrmap_get(&p->arrays, array);
}
