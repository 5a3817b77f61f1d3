/* Building blocks of the tosa-to-linalg passes: shapes, kernels, limits, attributes.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-linalg*.mir */
#include <math.h>

#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "lowering/tosa_to_linalg/internal.h"

int64_t tosa_build_int_attr(const Op *op, const char *name)
{
    return attr_int_value(op_attr(op, name));
}

bool tosa_build_bool_attr(const Op *op, const char *name)
{
    return attr_is_true(op_attr(op, name));
}

IntList tosa_build_list_attr(const Op *op, const char *name)
{
    IntList list = {0};
    mixed_read_int_list(op, name, &list);
    return list;
}

int64_t tosa_build_signed_min(uint32_t width)
{
    return width > 0 ? -tosa_build_signed_max(width) - 1 : 0;
}

int64_t tosa_build_signed_max(uint32_t width)
{
    return width == 0 ? 0 : width < 64 ? INT64_MAX >> (64 - width) : INT64_MAX;
}

const Attr *tosa_build_zero_of(const Type *elem)
{
    if (type_is_float(elem)) return attr_float(elem, 0.0);
    return type_is_integer(elem) || elem->kind == TYPE_INDEX ? attr_int(elem, 0) : NULL;
}

/* Infinity less one in the last place; formats without infinity are small enough to search. */
static uint64_t largest_bits(int kind)
{
    uint64_t bits = float_to_bits(kind, INFINITY);
    if (isinf(float_from_bits(kind, bits))) return bits - 1;
    for (bits = UINT64_MAX >> (65 - float_width(kind)); isnan(float_from_bits(kind, bits)); bits--)
        continue;
    return bits;
}

static const Attr *extreme_float(const Type *type, bool is_lowest)
{
    uint32_t width = type_width(type);
    uint64_t sign = is_lowest ? UINT64_C(1) << ((width - 1) % 64) : 0;
    if (width <= 64) return attr_float_bits(type, largest_bits((int)type->kind) | sign);
    uint64_t high = width == 80 ? 0x7ffe : UINT64_C(0x7ffeffffffffffff);
    return attr_float_words(type, (uint64_t[]){UINT64_MAX, high | sign});
}

/* 100…0 or 011…1 */
static const Attr *extreme_int(const Type *type, bool is_lowest)
{
    Arena *arena = context_arena(type->ctx);
    uint32_t width = type_width(type);
    BigInt one = bigint_from_i64(arena, width, 1);
    BigInt limit = width == 0 ? one : bigint_shl(arena, &one, width - 1);
    if (!is_lowest) limit = bigint_sub(arena, &limit, &one);
    return attr_bigint(type, &limit);
}

static const Attr *extreme_of(const Type *elem, bool is_lowest)
{
    return type_is_float(elem) ? extreme_float(elem, is_lowest) : extreme_int(elem, is_lowest);
}

const Attr *tosa_build_lowest_of(const Type *elem)
{
    return extreme_of(elem, true);
}

const Attr *tosa_build_highest_of(const Type *elem)
{
    return extreme_of(elem, false);
}

Value *tosa_build_same(Builder *b, const OpDef *def, Value *lhs, Value *rhs)
{
    return build_binary(b, def, lhs->type, lhs, rhs);
}

Value *tosa_build_i32(Builder *b, int64_t value)
{
    return arith_constant_int(b, type_i(b->ctx, 32), value);
}

Value *tosa_build_clamp_int(Builder *b, Value *value, Value *min, Value *max, bool is_unsigned)
{
    Value *raised = tosa_build_same(b, is_unsigned ? ARITH(MAXUI) : ARITH(MAXSI), min, value);
    return tosa_build_same(b, is_unsigned ? ARITH(MINUI) : ARITH(MINSI), max, raised);
}

Value *tosa_build_clamp_float(Builder *b, Value *value, Value *min, Value *max)
{
    return tosa_build_same(b, ARITH(MAXIMUMF), tosa_build_same(b, ARITH(MINIMUMF), value, max),
                           min);
}

bool tosa_lower_all_ranked(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (operand_type(op, i)->kind != TYPE_RANKED_TENSOR) return false;
    for (uint32_t i = 0; i < op->result_count; i++)
        if (op->results[i].type->kind != TYPE_RANKED_TENSOR) return false;
    return true;
}

const Type *tosa_build_tensor_like(const Type *shape, const Type *elem)
{
    return type_tensor(elem, shape->u.shaped.dims, rank_of(shape), NULL);
}

Values tosa_build_dynamic_dims(Lower *l, const Type *type, Value *tensor)
{
    uint32_t rank = rank_of(type), count = 0;
    Value **dims = ARENA_ARRAY(l->arena, Value *, rank);
    for (uint32_t i = 0; i < rank; i++)
        if (is_dynamic(type, i)) dims[count++] = tensor_dim(l->b, tensor, i);
    return (Values){dims, count};
}

bool tosa_build_batch_dim(Lower *l, Values *dims)
{
    Value *input = op_operand(l->op, 0);
    const Type *types[] = {input->type, result_type(l->op)};
    bool found = false;
    for (uint32_t i = 0; i < COUNT_OF(types); i++) {
        found |= is_dynamic(types[i], 0);
        for (uint32_t k = 1; k < rank_of(types[i]); k++)
            if (is_dynamic(types[i], k)) return false;
    }
    *dims = NO_VALUES;
    if (!found) return true;
    Value **item = ARENA_NEW(l->arena, Value *);
    *item = tensor_dim(l->b, input, 0);
    *dims = (Values){item, 1};
    return true;
}

Value *tosa_build_empty_tensor(Builder *b, const Type *shape, const Type *elem, Values dims)
{
    const Type *type = tosa_build_tensor_like(shape, elem);
    return op_result(build(b, TENSOR(EMPTY), dims.items, dims.count, &type, 1, NULL, 0), 0);
}

static const Attr *maps_attr(Context *ctx, const GenericDef *def)
{
    uint32_t count = def->inputs.count + def->inits.count;
    VEC(const AffineMap *) maps = {0};
    for (uint32_t i = 0; i < count; i++) {
        const AffineMap *map = def->maps ? def->maps[i] : NULL;
        *vec_push(&maps) = map ? map : map_identity(ctx, def->loops);
    }
    const Attr *attr = linalg_maps_attr(ctx, maps.data, maps.len);
    vec_free(&maps);
    return attr;
}

static const Attr *iterators_attr(Context *ctx, const GenericDef *def)
{
    bool *all_parallel = xcalloc(def->loops, sizeof *all_parallel);
    const bool *is_reduction = def->is_reduction ? def->is_reduction : all_parallel;
    const Attr *attr = linalg_iterators_attr(ctx, is_reduction, def->loops);
    free_ptr((void **)&all_parallel);
    return attr;
}

Op *tosa_build_generic(Builder *b, const GenericDef *def, const Type *const *results, Builder *body)
{
    Op *op =
        linalg_build_generic(b, def->inputs.items, def->inputs.count, def->inits.items,
                             def->inits.count, maps_attr(b->ctx, def), iterators_attr(b->ctx, def));
    for (uint32_t i = 0; results && i < op->result_count; i++) op->results[i].type = results[i];
    *body = builder_at_end(linalg_body(op), b->loc);
    return op;
}

Op *tosa_build_map(Builder *b, Value *input, Value *init, const Type *result, Builder *body)
{
    GenericDef def = {.inputs = VALUES(input), .inits = VALUES(init), .loops = rank_of(init->type)};
    return tosa_build_generic(b, &def, &result, body);
}

void tosa_build_relocate_args(const Builder *body)
{
    for (uint32_t i = 0; i < body->block->arg_count; i++) body->block->args[i]->loc = body->loc;
}

void tosa_build_yield(Builder *body, Value *value)
{
    (void)linalg_yield(body, &value, 1);
}

Value *tosa_build_named(Builder *b, const OpDef *def, Values inputs, Value *init, const Type *type,
                        const NamedAttr *attrs, uint32_t attr_count)
{
    Op *op = linalg_build_named(b, def, inputs.items, inputs.count, &init, 1, attrs, attr_count);
    op->results[0].type = type;
    return op_result(op, 0);
}
