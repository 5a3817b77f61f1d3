/* Canonicalization patterns of structured ops: ops that do nothing are removed, and static extents
 * that one operand has and another lacks are propagated.
 * Tests: lit/dialects/linalg/canonicalize.mir */
#include "dialects/linalg/internal.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"

typedef VEC(const Type *) Types;

/* A copy of the op with other operands and result types, in front of it. */
static Op *clone_with(Rewriter *rw, Op *op, Value *const *operands, const Type *const *types)
{
    Op *copy = op_clone(op, NULL);
    op_set_operands(copy, operands, op->operand_count);
    for (uint32_t i = 0; i < copy->result_count; i++) op_result(copy, i)->type = types[i];
    op_insert_before(copy, op);
    rw->inserted(rw, copy);
    return copy;
}

/* Replaces op by its copy, with casts where result types changed. */
static void replace_with_copy(Rewriter *rw, Op *op, Op *copy)
{
    ValueList values = {0};
    for (uint32_t i = 0; i < op->result_count; i++)
        *vec_push(&values) = tensor_cast(&rw->b, op_result(copy, i), op_result(op, i)->type);
    rewriter_replace(rw, op, values.data, op->result_count);
    vec_free(&values);
}

/* Types of the tensor inits among operands. */
static void init_types(const Op *op, Value *const *operands, Types *out)
{
    for (uint32_t i = linalg_input_count(op); i < op->operand_count; i++)
        if (type_is_tensor(operands[i]->type)) *vec_push(out) = operands[i]->type;
}

/* A buffer without elements is neither read nor written. */
static bool erase_empty(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    if (!linalg_is_structured(op)) return false;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Type *type = op_operand(op, i)->type;
        for (uint32_t d = 0; type->kind == TYPE_MEMREF && d < type->u.shaped.rank; d++)
            if (type->u.shaped.dims[d] == 0) {
                rewriter_erase(rw, op);
                return true;
            }
    }
    return false;
}

static bool all_maps_equal(const Op *op)
{
    const Attr *maps = linalg_indexing_maps(op);
    for (uint32_t i = 1; i < maps->u.array.count; i++)
        if (maps->u.array.items[i] != maps->u.array.items[0]) return false;
    return true;
}

/* The body yields only arguments: the operand behind result `index`, cast to its type. */
static Value *forwarded(Rewriter *rw, Op *op, uint32_t index)
{
    if (!linalg_reaches_all(op, linalg_input_count(op) + index)) return NULL;
    Value *yielded = op_operand(linalg_body(op)->last, index);
    if (!yielded->is_arg || yielded->owner.block != linalg_body(op)) return NULL;
    Value *operand = op_operand(op, yielded->index);
    const Type *type = op_result(op, index)->type;
    if (operand->type == type) return operand;
    bool castable = type_is_tensor(operand->type) && type_elem(operand->type) == type_elem(type) &&
                    tensor_shapes_compatible(operand->type, type);
    return castable ? tensor_cast(&rw->b, operand, type) : NULL;
}

static bool is_forwarding(const Op *op)
{
    const Block *body = linalg_body(op);
    return body && body->first == body->last && body->first->def == LINALG(YIELD) &&
           all_maps_equal(op);
}

/* An op that hands its operands on, element by element -> the operands */
static bool erase_identity(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    if (!is_forwarding(op)) return false;
    if (op->result_count == 0) {
        bool onto_itself = linalg_input_count(op) == 1 && linalg_init_count(op) == 1 &&
                           op_operand(op, 0) == op_operand(op, 1);
        if (onto_itself) rewriter_erase(rw, op);
        return onto_itself;
    }
    if (!linalg_has_tensor_semantics(op)) return false;
    ValueList values = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < op->result_count; i++) {
        Value *value = forwarded(rw, op, i);
        ok = value != NULL;
        *vec_push(&values) = value;
    }
    if (ok) rewriter_replace(rw, op, values.data, op->result_count);
    vec_free(&values);
    return ok;
}

/* copy(x into x) -> x */
static bool copy_onto_itself(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    if (op_operand(op, 0) != op_operand(op, 1)) return false;
    if (op->result_count == 0)
        rewriter_erase(rw, op);
    else
        rewriter_replace_one(rw, op, op_operand(op, 0));
    return true;
}

/* op(cast(x)) -> cast(op(x)) where the cast hides static extents */
static bool cast_into_op(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    bool any = false;
    ValueList operands = {0};
    if (!linalg_is_structured(op) && op->def != LINALG(SOFTMAX)) return false;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        Value *source = tensor_fold_source_cast(op_operand(op, i));
        any = any || source;
        *vec_push(&operands) = source ? source : op_operand(op, i);
    }
    if (any) {
        Types types = {0};
        init_types(op, operands.data, &types);
        replace_with_copy(rw, op, clone_with(rw, op, operands.data, types.data));
        vec_free(&types);
    }
    vec_free(&operands);
    return any;
}

/* cast(op(… into x)) -> op(… into cast(x)) where the cast adds static extents */
static bool cast_of_op(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *source = op_operand(op, 0);
    Op *producer = value_def(source);
    if (!producer || !linalg_is_structured(producer) || producer->block != op->block ||
        !tensor_cast_adds_static(op))
        return false;
    const Type *type = op_result(op, 0)->type;
    uint32_t index = source->index, init = linalg_input_count(producer) + index;
    ValueList operands = {0};
    Types types = {0};
    builder_set_before(&rw->b, producer);
    rw->b.loc = producer->loc;
    for (uint32_t i = 0; i < producer->operand_count; i++)
        *vec_push(&operands) = op_operand(producer, i);
    operands.data[init] = build_unary(&rw->b, TENSOR(CAST), type, operands.data[init]);
    init_types(producer, operands.data, &types);
    Op *copy = clone_with(rw, producer, operands.data, types.data);
    replace_with_copy(rw, producer, copy);
    rewriter_replace_one(rw, op, op_result(copy, index));
    vec_free(&operands);
    vec_free(&types);
    return true;
}

/* Static extents of loops as the operands' own types tell; DIM_DYNAMIC where none does. */
static void known_extents(const Op *op, int64_t *extents, uint32_t loops)
{
    for (uint32_t i = 0; i < loops; i++) extents[i] = DIM_DYNAMIC;
    for (uint32_t o = 0; o < op->operand_count; o++) {
        const AffineMap *map = linalg_operand_map(op, o);
        const Type *type = op_operand(op, o)->type;
        for (uint32_t r = 0; r < map->result_count; r++) {
            const AffineExpr *expr = map->results[r];
            if (expr->kind == AFFINE_DIM && extents[expr->value] == DIM_DYNAMIC)
                extents[expr->value] = type->u.shaped.dims[r];
        }
    }
}

/* The type with the loops' extents where its own are dynamic. */
static const Type *refine(const Type *type, const AffineMap *map, const int64_t *extents)
{
    IntList dims = {0};
    if (!type_is_tensor(type)) return type;
    for (uint32_t r = 0; r < map->result_count; r++) {
        int64_t extent = type->u.shaped.dims[r];
        bool known = extent == DIM_DYNAMIC && map->results[r]->kind == AFFINE_DIM;
        *vec_push(&dims) = known ? extents[map->results[r]->value] : extent;
    }
    const Type *refined = type_with_shape(type, dims.data, (uint32_t)dims.len);
    vec_free(&dims);
    return refined;
}

static bool maps_are_projections(const Op *op)
{
    const Attr *maps = linalg_indexing_maps(op);
    for (uint32_t i = 0; i < maps->u.array.count; i++)
        if (!map_is_projected_permutation(maps->u.array.items[i]->u.map, false)) return false;
    return true;
}

/* An extent that one operand knows is known to all that the same loop indexes. */
static bool share_extents(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    if (!linalg_is_structured(op) || !linalg_has_tensor_semantics(op) || !maps_are_projections(op))
        return false;
    uint32_t loops = linalg_loop_count(op);
    int64_t *extents = xcalloc(loops, sizeof *extents);
    known_extents(op, extents, loops);
    ValueList operands = {0};
    bool changed = false;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        Value *operand = op_operand(op, i);
        const Type *type = refine(operand->type, linalg_operand_map(op, i), extents);
        changed = changed || type != operand->type;
        *vec_push(&operands) = tensor_cast(&rw->b, operand, type);
    }
    if (changed) {
        Types types = {0};
        init_types(op, operands.data, &types);
        replace_with_copy(rw, op, clone_with(rw, op, operands.data, types.data));
        vec_free(&types);
    }
    vec_free(&operands);
    free_ptr((void **)&extents);
    return changed;
}

static Op *build_with_list(Rewriter *rw, const OpDef *def, Value *input, Value *init,
                           const char *name, const IntList *list)
{
    NamedAttr attr =
        build_named_attr(rw->b.ctx, name, attr_i64_array(rw->b.ctx, list->data, list->len));
    return linalg_build_forwarding(&rw->b, def, input, init, &attr);
}

/* transpose(transpose(x)) -> transpose(x) */
static bool transpose_of_transpose(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *inner = rewrite_def_of(op_operand(op, 0), LINALG(TRANSPOSE));
    if (!inner) return false;
    IntList outer = {0}, both = {0};
    const Attr *first = op_attr(inner, "permutation");
    mixed_read_int_list(op, "permutation", &outer);
    for (size_t i = 0; i < outer.len; i++)
        *vec_push(&both) = dense_array_i64(first, (size_t)outer.data[i]);
    Op *made = build_with_list(rw, LINALG(TRANSPOSE), op_operand(inner, 0), op_operand(op, 1),
                               "permutation", &both);
    rewriter_replace(rw, op, (Value *[]){made->result_count ? op_result(made, 0) : NULL},
                     op->result_count);
    vec_free(&outer);
    vec_free(&both);
    return true;
}

static bool list_has(const IntList *list, int64_t value)
{
    for (size_t i = 0; i < list->len; i++)
        if (list->data[i] == value) return true;
    return false;
}

/* The permutation of the dimensions that are not dropped, numbered anew. */
static void drop_dims(const IntList *permutation, const IntList *dropped, IntList *out)
{
    for (size_t i = 0; i < permutation->len; i++) {
        int64_t dim = permutation->data[i], before = 0;
        if (list_has(dropped, dim)) continue;
        for (size_t k = 0; k < dropped->len; k++) before += dropped->data[k] < dim;
        *vec_push(out) = dim - before;
    }
}

/* The position of each dropped dimension after the permutation. */
static void moved_dims(const IntList *permutation, const IntList *dropped, IntList *out)
{
    for (size_t i = 0; i < dropped->len; i++)
        for (size_t k = 0; k < permutation->len; k++)
            if (permutation->data[k] == dropped->data[i]) *vec_push(out) = (int64_t)k;
}

static Value *build_small_transpose(Rewriter *rw, Value *source, const IntList *permutation)
{
    MixedIndices dims = {0}, permuted = {0};
    for (uint32_t i = 0; i < source->type->u.shaped.rank; i++)
        *vec_push(&dims) = tensor_mixed_dim(&rw->b, source, i);
    for (size_t i = 0; i < permutation->len; i++)
        *vec_push(&permuted) = dims.data[permutation->data[i]];
    Value *init = tensor_empty(&rw->b, permuted.data, permuted.len, type_elem(source->type));
    Op *op = build_with_list(rw, LINALG(TRANSPOSE), source, init, "permutation", permutation);
    vec_free(&dims);
    vec_free(&permuted);
    return op_result(op, 0);
}

/* transpose(broadcast(x)) -> broadcast(transpose(x)) */
static bool transpose_of_broadcast(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *input = op_operand(op, 0);
    Op *broadcast = rewrite_def_of(input, LINALG(BROADCAST));
    if (!broadcast || !value_has_one_use(input) || op->result_count == 0) return false;
    IntList permutation = {0}, added = {0}, small = {0}, moved = {0};
    mixed_read_int_list(op, "permutation", &permutation);
    mixed_read_int_list(broadcast, "dimensions", &added);
    drop_dims(&permutation, &added, &small);
    moved_dims(&permutation, &added, &moved);
    Value *source = build_small_transpose(rw, op_operand(broadcast, 0), &small);
    Op *made =
        build_with_list(rw, LINALG(BROADCAST), source, op_operand(op, 1), "dimensions", &moved);
    rewriter_replace_one(rw, op, op_result(made, 0));
    vec_free(&permutation);
    vec_free(&added);
    vec_free(&small);
    vec_free(&moved);
    return true;
}

/* transpose(x) that moves nothing -> x */
bool linalg_fold_transpose(Op *op, const Attr *const *operands, FoldResult *results)
{
    (void)operands;
    const Attr *permutation = op_attr(op, "permutation");
    if (op->result_count == 0) return false;
    for (size_t i = 0; i < permutation->u.dense_array.count; i++)
        if (dense_array_i64(permutation, i) != (int64_t)i) return false;
    if (op_operand(op, 0)->type != op_result(op, 0)->type) return false;
    results[0].value = op_operand(op, 0);
    return true;
}

/* Adds the patterns that hold for all structured ops. */
void linalg_canonicalize(PatternSet *set)
{
    linalg_add_structured(set, "erase-empty", erase_empty);
    pattern_add(set, "cast-of-op", TENSOR(CAST), 1, cast_of_op);
    linalg_add_structured(set, "share-extents", share_extents);
}

/* Adds the pattern that upstream's tensor dialect has for all ops with destinations. The row of map
 * adds it, because no pass takes that row's patterns alone. */
void linalg_canonicalize_map(PatternSet *set)
{
    pattern_add(set, "cast-into-op", NULL, 1, cast_into_op);
}

void linalg_canonicalize_generic(PatternSet *set)
{
    pattern_add(set, "erase-identity", LINALG(GENERIC), 1, erase_identity);
}

void linalg_canonicalize_copy(PatternSet *set)
{
    pattern_add(set, "copy-onto-itself", LINALG(COPY), 1, copy_onto_itself);
}

void linalg_canonicalize_transpose(PatternSet *set)
{
    pattern_add(set, "transpose-of-transpose", LINALG(TRANSPOSE), 1, transpose_of_transpose);
    pattern_add(set, "transpose-of-broadcast", LINALG(TRANSPOSE), 1, transpose_of_broadcast);
}

void linalg_canonicalize_broadcast(PatternSet *set)
{
    pattern_add(set, "erase-identity", LINALG(BROADCAST), 1, erase_identity);
}
