/* Bounds that a requantizer states of its numbers (dfg.requantizer), a part of narrow-integers. Other forms
 * of it (target/forms) are equal within them alone. convert-onnx-to-linalg follows the numbers from channel
 * to channel, more closely than ranges of tensors do, so those are no proof against it. What a port carries
 * is known exactly: a requantizer of that whose bounds leave some of it out keeps its form.
 * Tests: lit/passes/linalg/narrow-integers-bounds.mir */
#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"
#include "passes/linalg/internal.h"

/* The only input that is no constant, behind reshapes; NULL: there are several. */
static const Value *requantized(const Op *kernel)
{
    const Value *found = NULL;
    for (uint32_t i = 0; i < linalg_input_count(kernel); i++) {
        const Value *input = op_operand(kernel, i);
        const Op *def = value_def(input);
        if (def && op_has_trait(def, TRAIT_CONSTANT_LIKE)) continue;
        if (found) return NULL;
        found = input;
    }
    for (const Op *def; found && (def = value_def(found)) && reshape_is(def);)
        found = op_operand(def, 0);
    return found;
}

/* The numbers that a port gives to an argument, as sim/io/boundary.c quantizes them. False: they have more
 * than 62 bits, or it is no port. */
static bool port_range(const Value *value, IntRange *out)
{
    const Block *block = value_def(value) ? NULL : value_block(value);
    const Op *func = block ? block_parent_op(block) : NULL;
    if (!func || func->def != FUNC(FUNC) || !int_range_is_known_for(value->type)) return false;
    const Attr *quant = attr_dict_get_c(func_arg_attrs(func, value->index), DFG_ATTR_QUANT);
    int64_t bits = attr_dict_int(quant, DFG_QUANT_BITS, type_width(type_elem(value->type)));
    bool is_signed = attr_dict_int(quant, DFG_QUANT_SIGNED, 1) != 0;
    if (bits < 1 || bits > 62) return false;
    int64_t half = INT64_C(1) << (bits - 1);
    *out = is_signed ? (IntRange){-half, half - 1} : (IntRange){0, 2 * half - 1};
    bool is_narrow = attr_dict_int(quant, DFG_QUANT_NARROW, 0) != 0;
    out->lo += is_narrow && is_signed;
    out->hi -= is_narrow && !is_signed;
    if (attr_dict_int(quant, DFG_QUANT_BIPOLAR, 0)) *out = (IntRange){-1, 1};
    return true;
}

void narrow_check_bounds(Op *kernel)
{
    const Attr *about = op_attr(kernel, DFG_ATTR_REQUANTIZER);
    const Value *value = about ? requantized(kernel) : NULL;
    IntRange range;
    if (!value || !attr_dict_get_c(about, DFG_REQUANT_LOW) || !port_range(value, &range)) return;
    int64_t low = attr_dict_int(about, DFG_REQUANT_LOW, 0);
    int64_t high = attr_dict_int(about, DFG_REQUANT_HIGH, -1);
    if (low <= range.lo && range.hi <= high) return;
    op_warning(kernel,
               "numbers from %lld to %lld are requantized, not from %lld to %lld as "
               "'dfg.requantizer' says; the form stays",
               (long long)range.lo, (long long)range.hi, (long long)low, (long long)high);
    op_set_attr(kernel, DFG_ATTR_REQUANTIZER, NULL);
}
