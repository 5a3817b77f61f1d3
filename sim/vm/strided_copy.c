/* Copies boxes of elements between arrays.
 * Tests: test/unit/sim/interp/interp_test.c, test/e2e/run_check.py */
#include <assert.h>
#include <string.h>

#include "sim/vm/vm.h"

void vm_row_major_steps(const Type *shape, int64_t *steps)
{
    int64_t step = 1;
    for (uint32_t d = shape->u.shaped.rank; d-- > 0;) {
        steps[d] = step;
        step *= shape->u.shaped.dims[d];
    }
}

bool vm_next_index(int64_t *index, const int64_t *sizes, uint32_t rank)
{
    for (uint32_t d = rank; d-- > 0;) {
        if (++index[d] < sizes[d]) return true;
        index[d] = 0;
    }
    return false;
}

void vm_copy_element(Array *to, int64_t to_index, const Array *from, int64_t from_index)
{
    size_t bytes = array_kind_bytes(to->kind);
    assert(to->kind == from->kind);
    memcpy((char *)to->data + (size_t)to_index * bytes,
           (const char *)from->data + (size_t)from_index * bytes, bytes);
}

/* One line of `count` elements. */
static void copy_line(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t count,
                      size_t bytes)
{
    if (to_step == 1 && from_step == 1) {
        memcpy(to, from, (size_t)count * bytes);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_step * (int64_t)bytes, from + i * from_step * (int64_t)bytes, bytes);
}

static void copy_box(char *to, const int64_t *to_steps, const char *from, const int64_t *from_steps,
                     const int64_t *sizes, uint32_t rank, size_t bytes)
{
    if (rank == 0) {
        memcpy(to, from, bytes);
        return;
    }
    if (rank == 1) {
        copy_line(to, *to_steps, from, *from_steps, *sizes, bytes);
        return;
    }
    for (int64_t i = 0; i < *sizes; i++)
        copy_box(to + i * *to_steps * (int64_t)bytes, to_steps + 1,
                 from + i * *from_steps * (int64_t)bytes, from_steps + 1, sizes + 1, rank - 1,
                 bytes);
}

void vm_strided_copy(Array *to, const CopySide *to_side, const Array *from,
                     const CopySide *from_side, const int64_t *sizes, uint32_t rank)
{
    size_t bytes = array_kind_bytes(to->kind);
    assert(to->kind == from->kind);
    for (uint32_t d = 0; d < rank; d++)
        if (sizes[d] == 0) return;
    copy_box((char *)to->data + to_side->base * (int64_t)bytes, to_side->steps,
             (const char *)from->data + from_side->base * (int64_t)bytes, from_side->steps, sizes,
             rank, bytes);
}
