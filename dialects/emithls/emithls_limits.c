/* What synthesis hardly copes with: how often a loop's body stands in the circuit, and how many
 * parts an array falls into; INT64_MAX where that does not fit.
 * Tests: lit/lowering/dfg_to_emithls/remark-size.mir, lit/emit/limits.mir */
#include "dialects/emithls/emithls.h"

int64_t emithls_body_copies(const Op *loop)
{
    int64_t copies = 1, extents[NEST_MAX_COUNTERS];
    for (; loop && loop->def != EMITHLS(FUNC); loop = op_parent(loop)) {
        bool is_unrolled = loop->def == EMITHLS(FOR) && op_attr(loop, "unroll");
        size_t count = is_unrolled ? emithls_for_extents(loop, extents, NEST_MAX_COUNTERS) : 0;
        for (size_t i = 0; i < count; i++)
            if (!i64_mul(copies, extents[i], &copies)) return INT64_MAX;
    }
    return copies;
}

int64_t emithls_array_parts(const Value *array, bool with_lanes)
{
    const Type *elem = emithls_array_elem(array->type);
    bool is_bits = type_is_int_width(emithls_scalar(elem), 1); /* one integer */
    int64_t parts = with_lanes && !is_bits ? emithls_lanes(elem) : 1;
    for (const Use *use = array->uses; use; use = use->next) {
        if (use->owner->def != EMITHLS(ARRAY_PARTITION)) continue;
        int64_t dim = attr_int_value(op_attr(use->owner, "dim"));
        if (!i64_mul(parts, emithls_array_dim(array->type, (uint32_t)dim - 1), &parts))
            return INT64_MAX;
    }
    return parts;
}
