/* narrow-integers: payloads, and the tensors between kernels, get integers of no more bits than the
 * numbers that occur. Frameworks write sums of products with 32 bits whatever the weights are, but
 * the multipliers, adders and streams of an accelerator should be no wider than needed.
 *   r = generic(x) outs(fill 0 : i32) { yield acc + ext(x) * ext(w) : i32 }
 *     ->  r = generic(x) outs(fill 0 : i18) { yield acc + ext(x) * ext(w) : i18 }
 *         when |r| < 2^17 and only kernels read r
 * Scales in fixed point get the smallest multipliers that give the same results (narrow_scale.c).
 * Requires: named ops generalized, one result per kernel that is read.
 * Changes: widths of integers inside the function; its arguments and results stay.
 * Tests: lit/passes/linalg/narrow-integers.mir */
#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "passes/linalg/internal.h"
#include "passes/linalg/passes.h"

/* The kernel at work. Old values are those of the kernel that is replaced. */
typedef struct Narrowing {
    IntRanges ranges;
    const Op *old;
    PtrMap copies; /* old payload value -> new one, the same number in a narrower type */
    Builder builder;
    uint32_t sum_width; /* of what is computed in an accumulator's type; 0: no reduction */
    const Type *sum_type;
    bool changed;
} Narrowing;

static uint32_t width_of(const Value *value)
{
    return type_width(linalg_payload_type(value->type));
}

/* Bits that the numbers of a value take, no more than its type has. */
static uint32_t needed_width(Narrowing *n, const Value *value)
{
    uint32_t width = width_of(value),
             needed = int_range_bits(int_range_of_value(&n->ranges, value));
    return needed < width ? needed : width;
}

/* The copy of an old value, cut or extended to a width that holds its numbers. */
static Value *at_width(Narrowing *n, Value *old, uint32_t width)
{
    const Type *type = type_i(n->builder.ctx, width);
    const Op *def = value_def(old);
    Value *copy = ptrmap_get(&n->copies, old);
    if (def && def->def == ARITH(CONSTANT) && !copy)
        return arith_constant_int(&n->builder, type, attr_int_value(op_attr(def, "value")));
    copy = copy ? copy : old;
    uint32_t from = type_width(copy->type);
    if (from == width) return copy;
    return build_unary(&n->builder, from < width ? ARITH(EXTSI) : ARITH(TRUNCI), type, copy);
}

static bool is_non_negative(Narrowing *n, const Op *op, uint32_t first)
{
    for (uint32_t i = first; i < op->operand_count; i++)
        if (int_range_of_value(&n->ranges, op_operand(op, i)).lo < 0) return false;
    return true;
}

/* Gives the same number in any width that holds operands and result. */
static bool is_narrowable(Narrowing *n, const Op *op)
{
    for (uint32_t i = op->def == ARITH(SELECT); i < op->operand_count; i++)
        if (!int_range_is_known_for(op_operand(op, i)->type)) return false;
    if (op->def == ARITH(CMPI))
        return attr_int_value(op_attr(op, "predicate")) < CMPI_ULT || is_non_negative(n, op, 0);
    if (op->def == ARITH(SHRUI) || op->def == ARITH(MAXUI) || op->def == ARITH(MINUI))
        return is_non_negative(n, op, 0);
    return op->def == ARITH(ADDI) || op->def == ARITH(SUBI) || op->def == ARITH(MULI) ||
           op->def == ARITH(ANDI) || op->def == ARITH(ORI) || op->def == ARITH(XORI) ||
           op->def == ARITH(MAXSI) || op->def == ARITH(MINSI) || op->def == ARITH(SHRSI) ||
           op->def == ARITH(SELECT);
}

/* Accumulators and their terms have one width, so that the sum stays one op. */
static uint32_t op_width(Narrowing *n, const Op *op)
{
    const Type *type = op_operand(op, op->def == ARITH(SELECT))->type;
    uint32_t width = 0, first = op->def == ARITH(SELECT);
    if (n->sum_width && type == n->sum_type) width = n->sum_width;
    for (uint32_t i = first; i < op->operand_count; i++) {
        uint32_t needed = needed_width(n, op_operand(op, i));
        width = needed > width ? needed : width;
    }
    if (op->def == ARITH(SHRSI) || op->def == ARITH(SHRUI)) {
        int64_t by = int_range_of_value(&n->ranges, op_operand(op, 1)).hi;
        width = by >= width ? (uint32_t)(by < type_width(type) ? by + 1 : type_width(type)) : width;
    }
    if (op->def != ARITH(CMPI)) {
        uint32_t needed = needed_width(n, op_result(op, 0));
        width = needed > width ? needed : width;
    }
    return width < type_width(type) ? width : type_width(type);
}

/* A copy of the op that computes in `width` bits; a result that needs fewer is cut. */
static void copy_narrow(Narrowing *n, const Op *op, uint32_t width)
{
    Op *copy = op_clone(op, NULL);
    const Type *type = type_i(op->ctx, width);
    uint32_t first = op->def == ARITH(SELECT);
    if (first) op_set_operand(copy, 0, at_width(n, op_operand(op, 0), 1));
    for (uint32_t i = first; i < op->operand_count; i++)
        op_set_operand(copy, i, at_width(n, op_operand(op, i), width));
    builder_insert(&n->builder, copy);
    Value *result = op_result(copy, 0);
    n->changed |= width < width_of(op_operand(op, first));
    ptrmap_put(&n->copies, op_result(op, 0), result);
    if (op->def == ARITH(CMPI)) return;
    result->type = type;
    if (n->sum_width == 0 && needed_width(n, op_result(op, 0)) < width)
        ptrmap_put(&n->copies, op_result(op, 0),
                   at_width(n, op_result(op, 0), needed_width(n, op_result(op, 0))));
}

/* Casts to another number of bits are no work where the number stays. */
static bool keeps_number(Narrowing *n, const Op *op)
{
    if (op->def == ARITH(EXTSI)) return int_range_is_known_for(op_result(op, 0)->type);
    if (op->def != ARITH(TRUNCI) && op->def != ARITH(EXTUI)) return false;
    if (!int_range_is_known_for(op_operand(op, 0)->type) ||
        !int_range_is_known_for(op_result(op, 0)->type))
        return false;
    IntRange from = int_range_of_value(&n->ranges, op_operand(op, 0)),
             to = int_range_of_type(op_result(op, 0)->type);
    return op->def == ARITH(EXTUI) ? from.lo >= 0 : from.lo >= to.lo && from.hi <= to.hi;
}

/* The operand that a maximum or minimum always selects; -1: it may be either, or the op is
 * another. */
static int sure_operand(Narrowing *n, const Op *op)
{
    if (op->def != ARITH(MAXSI) && op->def != ARITH(MINSI)) return -1;
    IntRange a = int_range_of_value(&n->ranges, op_operand(op, 0)),
             b = int_range_of_value(&n->ranges, op_operand(op, 1));
    bool is_max = op->def == ARITH(MAXSI);
    if (is_max ? a.lo >= b.hi : a.hi <= b.lo) return 0;
    return (is_max ? b.lo >= a.hi : b.hi <= a.lo) ? 1 : -1;
}

/* An old value of the payload in its former width. */
static Value *copy_of(Narrowing *n, Value *old, const Block *payload)
{
    const Op *def = value_def(old);
    Value *copy = ptrmap_get(&n->copies, old);
    bool is_made_here = def && def->def == ARITH(CONSTANT) && def->block == payload;
    if (!copy && !is_made_here) return old;
    return type_is_integer(old->type) ? at_width(n, old, width_of(old)) : copy;
}

/* An op that is not understood gets its operands in their former widths. An unsigned extension
 * extends only as far as the result needs. */
static void copy_whole(Narrowing *n, const Op *op)
{
    Op *copy = op_clone(op, NULL);
    for (uint32_t i = 0; i < op->operand_count; i++)
        op_set_operand(copy, i, copy_of(n, op_operand(op, i), op->block));
    builder_insert(&n->builder, copy);
    for (uint32_t r = 0; r < op->result_count; r++)
        ptrmap_put(&n->copies, op_result(op, r), op_result(copy, r));
    if (op->def == ARITH(EXTUI) && int_range_is_known_for(op_result(op, 0)->type))
        op_result(copy, 0)->type = type_i(op->ctx, needed_width(n, op_result(op, 0)));
}

/* The result is the same number as an operand. */
static void copy_number(Narrowing *n, const Op *op, Value *operand)
{
    Value *copy = ptrmap_get(&n->copies, operand);
    bool is_constant = value_def(operand) && value_def(operand)->def == ARITH(CONSTANT);
    if (!copy) copy = is_constant ? at_width(n, operand, width_of(operand)) : operand;
    ptrmap_put(&n->copies, op_result(op, 0), copy);
}

static void copy_op(Narrowing *n, const Op *op)
{
    if (op->def == ARITH(CONSTANT) && int_range_is_known_for(op_result(op, 0)->type))
        return; /* made where it is read */
    bool is_narrow = is_narrowable(n, op);
    int sure = is_narrow && n->sum_width == 0 ? sure_operand(n, op) : -1;
    if (keeps_number(n, op)) {
        copy_number(n, op, op_operand(op, 0));
    } else if (op->def == ARITH(TRUNCI) && int_range_is_known_for(op_operand(op, 0)->type)) {
        ptrmap_put(&n->copies, op_result(op, 0),
                   at_width(n, op_operand(op, 0), width_of(op_result(op, 0))));
    } else if (sure >= 0) {
        copy_number(n, op, op_operand(op, (uint32_t)sure));
        n->changed = true;
    } else if (is_narrow) {
        copy_narrow(n, op, op_width(n, op));
    } else {
        copy_whole(n, op);
    }
}

/* Whether the sign of an element is the op's that reads it, not its type's. */
static bool has_plain_elements(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Type *elem = type_elem(op_operand(op, i)->type);
        if (type_is_integer(elem) && elem->u.integer.sign != SIGNLESS) return false;
    }
    return true;
}

static bool is_kernel(const Op *op)
{
    return op->def == LINALG(GENERIC) && linalg_has_tensor_semantics(op) &&
           !linalg_body_has_regions(op) && has_plain_elements(op);
}

/* Whether only kernels read it, as an input. */
static bool is_between_kernels(const Value *result)
{
    for (const Use *use = result->uses; use; use = use->next)
        if (!is_kernel(use->owner) || use_index(use) >= linalg_input_count(use->owner))
            return false;
    return value_has_uses(result);
}

/* Starts from a constant everywhere, or from nothing. */
static bool starts_plainly(const Value *init)
{
    const Op *def = value_def(init);
    const Value *fill = def ? kernel_fill_value(def) : NULL;
    const Op *constant = fill ? value_def(fill) : NULL;
    return def && (def->def == TENSOR(EMPTY) || (constant && constant->def == ARITH(CONSTANT)));
}

/* Bits of result r's elements from now on. */
static uint32_t result_width(Narrowing *n, uint32_t r)
{
    const Value *result = op_result(n->old, r);
    const uint32_t operand = linalg_input_count(n->old) + r;
    const Value *init = op_operand(n->old, operand);
    uint32_t width = int_range_is_known_for(result->type) ? width_of(result) : 0;
    if (width == 0 || !is_between_kernels(result) || !starts_plainly(init)) return width;
    uint32_t needed = needed_width(n, result), start = needed_width(n, init);
    bool stays = linalg_reads_operand(n->old, operand) || !linalg_reaches_all(n->old, operand);
    return stays && start > needed ? start : needed;
}

static Value *narrow_init(Narrowing *n, Value *init, uint32_t width)
{
    Builder *b = &n->builder;
    const Type *elem = type_i(b->ctx, width);
    const Op *def = value_def(init);
    MixedIndex sizes[KERNEL_MAX_LOOPS];
    for (uint32_t i = 0; i < init->type->u.shaped.rank; i++)
        sizes[i] = mixed_constant(init->type->u.shaped.dims[i]);
    Value *empty = tensor_empty(b, sizes, init->type->u.shaped.rank, elem);
    if (def->def == TENSOR(EMPTY)) return empty;
    int64_t number = attr_int_value(op_attr(value_def(kernel_fill_value(def)), "value"));
    return linalg_fill(b, arith_constant_int(b, elem, number), empty);
}

/* An input as before, or a constant in no more bits than its elements need. */
static Value *narrow_input(Narrowing *n, Value *input)
{
    const Op *def = value_def(input);
    const Attr *value = def && def->def == ARITH(CONSTANT) ? op_attr(def, "value") : NULL;
    if (!value || value->kind != ATTR_DENSE || !int_range_is_known_for(input->type) ||
        needed_width(n, input) == width_of(input))
        return input;
    const Type *type = type_with_elem(input->type, type_i(n->builder.ctx, needed_width(n, input)));
    size_t count = value->u.dense.is_splat ? 1 : (size_t)dense_count(value);
    int64_t *elements = ARENA_ARRAY(n->ranges.arena, int64_t, count);
    if (count > 0) dense_i64_row(value, 0, count, elements);
    const Attr *narrow = value->u.dense.is_splat
                             ? attr_dense_splat(type, attr_int(type_elem(type), elements[0]))
                             : attr_dense_i64(type, elements, count);
    return arith_constant(&n->builder, narrow);
}

/* A kernel with the same maps, whose results have `widths` (0: as they were) and whose body is
 * empty. */
static Op *build_shell(Narrowing *n, const uint32_t *widths)
{
    const Op *old = n->old;
    uint32_t inputs = linalg_input_count(old), inits = linalg_init_count(old);
    VEC(Value *) operands = {0};
    for (uint32_t i = 0; i < inputs; i++)
        *vec_push(&operands) = narrow_input(n, op_operand(old, i));
    for (uint32_t r = 0; r < inits; r++) {
        Value *init = op_operand(old, inputs + r);
        bool stays = widths[r] == 0 || widths[r] == width_of(init);
        *vec_push(&operands) = stays ? init : narrow_init(n, init, widths[r]);
    }
    Op *made = linalg_build_generic(&n->builder, operands.data, inputs, operands.data + inputs,
                                    inits, linalg_indexing_maps(old), linalg_iterator_types(old));
    made->attrs = old->attrs;
    vec_free(&operands);
    return made;
}

static void fill_body(Narrowing *n, const Block *from, Block *to)
{
    VEC(Value *) yielded = {0};
    builder_set_end(&n->builder, to);
    for (uint32_t i = 0; i < from->arg_count; i++) {
        n->changed |= from->args[i]->type != to->args[i]->type;
        ptrmap_put(&n->copies, from->args[i], to->args[i]);
    }
    for (const Op *op = from->first; op != from->last; op = op->next) copy_op(n, op);
    for (uint32_t r = 0; r < from->last->operand_count; r++) {
        Value *value = op_operand(from->last, r), *copy = ptrmap_get(&n->copies, value);
        const Type *type = to->args[to->arg_count - from->last->operand_count + r]->type;
        if (int_range_is_known_for(type))
            *vec_push(&yielded) = at_width(n, value, type_width(type));
        else
            *vec_push(&yielded) = copy ? copy : value;
    }
    linalg_yield(&n->builder, yielded.data, (uint32_t)yielded.len);
    vec_free(&yielded);
}

/* Erases what fills or allocates a tensor that only erased kernels read. */
static void erase_unused(IntRanges *ranges, const Block *block)
{
    for (Op *op = block->last, *previous; op; op = previous) {
        previous = op->prev;
        if (op->def != TENSOR(EMPTY) && !kernel_fill_value(op)) continue;
        if (value_has_uses(op_result(op, 0))) continue;
        int_range_forget(ranges, op);
        op_erase(op);
    }
}

/* Numbers that are read without a sign keep their bits only where none is negative. */
static void keep_tensors(Narrowing *n, Op *made)
{
    const Attr *list = made->result_count == 1 ? op_attr(made, DFG_ATTR_TENSORS) : NULL;
    bool is_cut = list && op_result(made, 0)->type != op_result(n->old, 0)->type;
    if (is_cut && int_range_of_value(&n->ranges, op_result(n->old, 0)).lo < 0)
        op_set_attr(made, DFG_ATTR_TENSORS, dfg_tensors_signed(list));
}

/* Puts the new kernel in the place of the old one, or drops it if nothing changed. */
static void narrow_kernel(Narrowing *n, Op *old)
{
    uint32_t *widths = ARENA_ARRAY(n->ranges.arena, uint32_t, old->result_count);
    n->old = old;
    n->changed = false;
    n->builder = builder_before(old);
    for (uint32_t r = 0; r < old->result_count; r++) widths[r] = result_width(n, r);
    bool sums = linalg_reduces(old) && old->result_count == 1 && widths[0];
    n->sum_width = sums ? widths[0] : 0;
    n->sum_type = sums ? linalg_payload_type(op_result(old, 0)->type) : NULL;
    Op *made = build_shell(n, widths);
    fill_body(n, linalg_body(old), linalg_body(made));
    keep_tensors(n, made);
    for (uint32_t r = 0; n->changed && r < old->result_count; r++) {
        const Value *result = op_result(old, r);
        if (int_range_is_known_for(result->type))
            int_range_set(&n->ranges, op_result(made, r), int_range_of_value(&n->ranges, result));
        value_replace_all(op_result(old, r), op_result(made, r));
    }
    ptrmap_clear(&n->copies);
    int_range_forget(&n->ranges, n->changed ? old : made);
    op_erase(n->changed ? old : made);
}

static bool narrow_integers(Pass *pass, Op *func)
{
    Narrowing n = {0};
    int_range_init(&n.ranges, &pass->scratch);
    for (Block *block = op_region(func, 0)->first; block; block = block->next) {
        FOR_EACH_OP_SAFE(op, block) {
            if (!is_kernel(op) || kernel_fill_value(op)) continue;
            int_range_of_generic(&n.ranges, op);
            narrow_check_bounds(op);
            if (narrow_scales(&n.ranges, op)) int_range_of_generic(&n.ranges, op);
            narrow_kernel(&n, op);
        }
        erase_unused(&n.ranges, block);
    }
    int_range_free(&n.ranges);
    ptrmap_free(&n.copies);
    return true;
}

const PassDef pass_narrow_integers = {
    .name = "narrow-integers",
    .summary = "Compute in no more bits than the numbers that occur",
    .anchor = "func.func",
    .run = narrow_integers,
};
