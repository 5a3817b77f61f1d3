/* Whether slices that are put into an empty tensor one after the other leave anything of it.
 * Tests: lit/passes/linalg/encode-levels-slices.mir */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "dialects/tensor/tensor.h"
#include "passes/linalg/levels/internal.h"

enum { MOST_ELEMENTS = 1 << 24 }; /* of tensors that are looked at */

typedef struct Slice {
    int64_t offset[KERNEL_MAX_LOOPS], size[KERNEL_MAX_LOOPS], stride[KERNEL_MAX_LOOPS];
} Slice;

/* False: not all of it is known, or it is not inside of the tensor. */
static bool read_slice(const Op *insert, const Type *type, Slice *out)
{
    for (uint32_t i = 0; i < type->u.shaped.rank; i++) {
        const int64_t extent = type->u.shaped.dims[i];
        int64_t last;
        out->offset[i] = dense_array_i64(op_attr(insert, "static_offsets"), i);
        out->size[i] = dense_array_i64(op_attr(insert, "static_sizes"), i);
        out->stride[i] = dense_array_i64(op_attr(insert, "static_strides"), i);
        if (out->offset[i] < 0 || out->size[i] < 1 || out->stride[i] < 1 ||
            !i64_mul(out->size[i] - 1, out->stride[i], &last) ||
            !i64_add(last, out->offset[i], &last) || last >= extent)
            return false;
    }
    return true;
}

/* How many elements nobody has marked before. */
static int64_t mark(const Slice *s, const Type *type, bool *seen)
{
    int64_t at[KERNEL_MAX_LOOPS] = {0}, count = 0;
    uint32_t d;
    do {
        int64_t index = 0;
        for (uint32_t i = 0; i < type->u.shaped.rank; i++)
            index = index * type->u.shaped.dims[i] + s->offset[i] + at[i] * s->stride[i];
        count += !seen[index];
        seen[index] = true;
        for (d = type->u.shaped.rank; d > 0 && ++at[d - 1] == s->size[d - 1]; d--) at[d - 1] = 0;
    } while (d > 0);
    return count;
}

bool level_slices_fill(const Op *first)
{
    const Type *type = op_result(first, 0)->type;
    Slice slice;
    int64_t count, marked = 0;
    if (!type_element_count(type, &count) || count > MOST_ELEMENTS) return false;
    bool *seen = xcalloc((size_t)count + 1, sizeof *seen);
    bool is_known = true;
    for (const Op *op = first; op;) {
        const Value *result = op_result(op, 0);
        is_known = is_known && read_slice(op, type, &slice);
        if (is_known) marked += mark(&slice, type, seen);
        const Use *use = value_has_one_use(result) ? result->uses : NULL;
        bool goes_on = use && use->owner->def == TENSOR(INSERT_SLICE) && use_index(use) == 1;
        op = goes_on ? use->owner : NULL;
    }
    free_ptr((void **)&seen);
    return is_known && marked == count;
}
