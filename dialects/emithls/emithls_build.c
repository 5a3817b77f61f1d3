/* Building of emithls bodies. Index expressions are over all counters of the nest; each op gets as
 * operands only the counters that its expressions use.
 * Tests: lit/lowering/dfg_to_emithls */
#include <assert.h>

#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"

/* The counters that some expressions use, and the expressions over just those. */
typedef struct UsedCounters {
    Value *values[NEST_MAX_COUNTERS];
    uint32_t count;
    const AffineExpr *exprs[NEST_MAX_COUNTERS];
} UsedCounters;

static void select_counters(const EmithlsNest *nest, const AffineExpr *const *exprs, uint32_t count,
                            UsedCounters *out)
{
    const AffineExpr *replacement[NEST_MAX_COUNTERS];
    out->count = 0;
    assert(count <= NEST_MAX_COUNTERS);
    for (uint32_t c = 0; c < nest->count; c++) {
        bool used = false;
        for (uint32_t i = 0; i < count; i++) used |= affine_uses_dim(exprs[i], c);
        replacement[c] = affine_dim(nest->b.ctx, used ? out->count : 0);
        if (used) out->values[out->count++] = nest->counters[c];
    }
    for (uint32_t i = 0; i < count; i++)
        out->exprs[i] = affine_replace(exprs[i], replacement, nest->count, NULL, 0);
}

static const IntegerSet *condition_set(const EmithlsNest *nest,
                                       const AffineExpr *const *constraints, const bool *is_eq,
                                       uint32_t count, UsedCounters *used)
{
    select_counters(nest, constraints, count, used);
    return set_get(nest->b.ctx, used->count, 0, count, used->exprs, is_eq);
}

static NestMark mark_here(const EmithlsNest *nest)
{
    return (NestMark){nest->b.block, nest->b.before, nest->count};
}

static void enter(EmithlsNest *nest, Op *op)
{
    builder_set_end(&nest->b, region_entry(op_region(op, 0)));
}

static Op *build_with_body(EmithlsNest *nest, const OpDef *def, Value *const *operands,
                           uint32_t operand_count, const NamedAttr *attrs, uint32_t attr_count)
{
    Context *ctx = nest->b.ctx;
    OpState state = {.name = opinfo_of_def(ctx, def)->name,
                     .loc = nest->b.loc,
                     .operands = operands,
                     .operand_count = operand_count,
                     .attrs = attr_dict(ctx, attrs, attr_count),
                     .region_count = 1};
    Op *op = build_op(&nest->b, &state);
    region_add_block(op_region(op, 0));
    return op;
}

NestMark emithls_nest_open(EmithlsNest *nest, const char *name, const LoopSpec *loops,
                           uint32_t count, LoopKind kind, int64_t begin, int64_t end)
{
    Context *ctx = nest->b.ctx;
    NestMark mark = mark_here(nest);
    int64_t extents[NEST_MAX_COUNTERS];
    const Attr *names[NEST_MAX_COUNTERS];
    assert(nest->count + count <= NEST_MAX_COUNTERS);
    for (uint32_t i = 0; i < count; i++) {
        extents[i] = loops[i].extent;
        names[i] = attr_string_c(ctx, loops[i].counter);
    }
    NamedAttr attrs[6] = {build_named_attr(ctx, "name", attr_string_c(ctx, name)),
                          build_named_attr(ctx, "extents", attr_i64_array(ctx, extents, count)),
                          build_named_attr(ctx, "counters", attr_array(ctx, names, count))};
    uint32_t used = 3;
    if (begin >= 0) {
        attrs[used++] = build_named_attr(ctx, "begin", attr_i64(ctx, begin));
        attrs[used++] = build_named_attr(ctx, "end", attr_i64(ctx, end));
    }
    if (kind == LOOP_PIPELINED) attrs[used++] = build_named_attr(ctx, "ii", attr_i64(ctx, 1));
    if (kind == LOOP_UNROLLED) attrs[used++] = build_named_attr(ctx, "unroll", attr_unit(ctx));
    Op *loop = build_with_body(nest, EMITHLS(FOR), NULL, 0, attrs, used);
    enter(nest, loop);
    for (uint32_t i = 0; i < count; i++)
        nest->counters[nest->count++] = block_add_arg(nest->b.block, type_index(ctx), nest->b.loc);
    return mark;
}

void emithls_nest_interval(EmithlsNest *nest, int64_t ii)
{
    op_set_attr(block_parent_op(nest->b.block), "ii", attr_i64(nest->b.ctx, ii));
}

void emithls_nest_keep_order(EmithlsNest *nest)
{
    op_set_attr(block_parent_op(nest->b.block), "ordered", attr_unit(nest->b.ctx));
}

NestMark emithls_nest_open_if(EmithlsNest *nest, const AffineExpr *const *constraints,
                              const bool *is_eq, uint32_t count)
{
    UsedCounters used;
    NestMark mark = mark_here(nest);
    const IntegerSet *set = condition_set(nest, constraints, is_eq, count, &used);
    NamedAttr attr = build_named_attr(nest->b.ctx, "condition", attr_set(set));
    enter(nest, build_with_body(nest, EMITHLS(IF), used.values, used.count, &attr, 1));
    return mark;
}

void emithls_nest_close(EmithlsNest *nest, NestMark mark)
{
    nest->b.block = mark.block;
    nest->b.before = mark.before;
    nest->count = mark.count;
}

Value *emithls_nest_condition(EmithlsNest *nest, const AffineExpr *const *constraints,
                              const bool *is_eq, uint32_t count)
{
    UsedCounters used;
    const IntegerSet *set = condition_set(nest, constraints, is_eq, count, &used);
    NamedAttr attr = build_named_attr(nest->b.ctx, "condition", attr_set(set));
    const Type *i1 = type_i(nest->b.ctx, 1);
    return op_result(build(&nest->b, EMITHLS(COND), used.values, used.count, &i1, 1, &attr, 1), 0);
}

Value *emithls_nest_variable(EmithlsNest *nest, const char *name, const Type *elem,
                             const int64_t *dims, uint32_t rank)
{
    const Type *type = emithls_array(elem, dims, rank);
    NamedAttr attr = build_named_attr(nest->b.ctx, "name", attr_string_c(nest->b.ctx, name));
    return op_result(build(&nest->b, EMITHLS(VARIABLE), NULL, 0, &type, 1, &attr, 1), 0);
}

static NamedAttr index_map(const EmithlsNest *nest, const AffineExpr *const *index, uint32_t count,
                           UsedCounters *used)
{
    select_counters(nest, index, count, used);
    const AffineMap *map = map_get(nest->b.ctx, used->count, 0, count, used->exprs);
    return build_named_attr(nest->b.ctx, "map", attr_map(map));
}

Value *emithls_nest_index(EmithlsNest *nest, const AffineExpr *expr)
{
    UsedCounters used;
    NamedAttr map = index_map(nest, &expr, 1, &used);
    const Type *type = type_index(nest->b.ctx);
    return op_result(build(&nest->b, EMITHLS(INDEX), used.values, used.count, &type, 1, &map, 1),
                     0);
}

Value *emithls_nest_load(EmithlsNest *nest, Value *array, const AffineExpr *const *index,
                         uint32_t count)
{
    UsedCounters used;
    NamedAttr map = index_map(nest, index, count, &used);
    Value *operands[NEST_MAX_COUNTERS + 1] = {array};
    for (uint32_t i = 0; i < used.count; i++) operands[i + 1] = used.values[i];
    const Type *elem = emithls_array_elem(array->type);
    const Type *type = count > emithls_array_rank(array->type) ? type_elem(elem) : elem;
    return op_result(build(&nest->b, EMITHLS(LOAD), operands, used.count + 1, &type, 1, &map, 1),
                     0);
}

Value *emithls_nest_look_up(EmithlsNest *nest, Value *array, const AffineExpr *const *index,
                            uint32_t count, Value *const *places, uint32_t place_count)
{
    UsedCounters used;
    Context *ctx = nest->b.ctx;
    const AffineExpr *results[NEST_MAX_COUNTERS];
    Value *operands[NEST_MAX_COUNTERS + 1] = {array};
    select_counters(nest, index, count, &used);
    assert(count + place_count <= NEST_MAX_COUNTERS &&
           used.count + place_count <= NEST_MAX_COUNTERS);
    for (uint32_t i = 0; i < used.count; i++) operands[1 + i] = used.values[i];
    for (uint32_t i = 0; i < count; i++) results[i] = used.exprs[i];
    for (uint32_t i = 0; i < place_count; i++) {
        operands[1 + used.count + i] = places[i];
        results[count + i] = affine_dim(ctx, used.count + i);
    }
    const AffineMap *map = map_get(ctx, used.count + place_count, 0, count + place_count, results);
    const NamedAttr attr = build_named_attr(ctx, "map", attr_map(map));
    const Type *type = emithls_array_elem(array->type);
    return op_result(
        build(&nest->b, EMITHLS(LOAD), operands, 1 + used.count + place_count, &type, 1, &attr, 1),
        0);
}

void emithls_nest_store(EmithlsNest *nest, Value *value, Value *array,
                        const AffineExpr *const *index, uint32_t count)
{
    UsedCounters used;
    NamedAttr map = index_map(nest, index, count, &used);
    Value *operands[NEST_MAX_COUNTERS + 2] = {value, array};
    for (uint32_t i = 0; i < used.count; i++) operands[i + 2] = used.values[i];
    build(&nest->b, EMITHLS(STORE), operands, used.count + 2, NULL, 0, &map, 1);
}

Value *emithls_nest_read(EmithlsNest *nest, Value *stream)
{
    const Type *word = emithls_stream_word(stream->type);
    return op_result(build(&nest->b, EMITHLS(READ), &stream, 1, &word, 1, NULL, 0), 0);
}

void emithls_nest_write(EmithlsNest *nest, Value *value, Value *stream)
{
    Value *operands[2] = {value, stream};
    build(&nest->b, EMITHLS(WRITE), operands, 2, NULL, 0, NULL, 0);
}

Value *emithls_nest_constant(EmithlsNest *nest, const Attr *value)
{
    NamedAttr attr = build_named_attr(nest->b.ctx, "value", value);
    return op_result(build(&nest->b, ARITH(CONSTANT), NULL, 0, &value->type, 1, &attr, 1), 0);
}

static void pragma(EmithlsNest *nest, const OpDef *def, Value *array, const char *name,
                   int64_t value)
{
    NamedAttr attr = build_named_attr(nest->b.ctx, name, attr_i64(nest->b.ctx, value));
    build(&nest->b, def, &array, 1, NULL, 0, &attr, 1);
}

void emithls_nest_temporary(EmithlsNest *nest, Value *array)
{
    op_set_attr(value_def(array), EMITHLS_ATTR_TEMPORARY, attr_unit(nest->b.ctx));
}

void emithls_nest_partition(EmithlsNest *nest, Value *array, int64_t dim)
{
    pragma(nest, EMITHLS(ARRAY_PARTITION), array, "dim", dim);
}

void emithls_nest_reshape(EmithlsNest *nest, Value *array, int64_t dim)
{
    pragma(nest, EMITHLS(ARRAY_RESHAPE), array, "dim", dim);
}

void emithls_nest_dependence(EmithlsNest *nest, Value *array, int64_t distance)
{
    pragma(nest, EMITHLS(DEPENDENCE), array, "distance", distance);
}

void emithls_nest_bind(EmithlsNest *nest, Value *array, const char *type, Str impl)
{
    Context *ctx = nest->b.ctx;
    NamedAttr attrs[2] = {build_named_attr(ctx, "type", attr_string_c(ctx, type)),
                          build_named_attr(ctx, "impl", attr_string(ctx, impl))};
    build(&nest->b, EMITHLS(BIND_STORAGE), &array, 1, NULL, 0, attrs, 2);
}

const AffineExpr *emithls_affine_flatten(Context *ctx, const AffineExpr *const *exprs,
                                         const int64_t *extents, uint32_t count)
{
    const AffineExpr *flat = affine_const(ctx, 0);
    for (uint32_t i = 0; i < count; i++)
        flat = affine_add(affine_mul_c(flat, extents[i]), exprs[i]);
    return flat;
}
