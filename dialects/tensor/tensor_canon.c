/* Canonicalization patterns of casts, extents, empty, from_elements and generate. If folding a cast
 * into its reader makes the reader's result more static, a cast back to the former type follows the
 * reader.
 * Tests: lit/dialects/tensor/canonicalize.mir */
#include "dialects/arith/arith.h"
#include "dialects/tensor/internal.h"
#include "ir/rewrite/rewrite.h"

void tensor_replace_cast(Rewriter *rw, Op *op, Value *value)
{
    rewriter_replace_one(rw, op, tensor_cast(&rw->b, value, op_result(op, 0)->type));
}

Op *tensor_clone_with(Rewriter *rw, Op *op, Value *const *operands, const Type *const *types)
{
    Op *copy = op_clone(op, NULL);
    op_set_operands(copy, operands, op->operand_count);
    for (uint32_t i = 0; i < copy->result_count; i++) op_result(copy, i)->type = types[i];
    op_insert_before(copy, op);
    rw->inserted(rw, copy);
    return copy;
}

/* The shape that two types together describe; NULL if they contradict each other. */
static const Type *join(const Type *a, const Type *b)
{
    if (!a || !b || !type_is_ranked(a) || !type_is_ranked(b)) return a && type_is_ranked(a) ? a : b;
    if (!tensor_shapes_compatible(a, b)) return NULL;
    IntList dims = {0};
    for (uint32_t i = 0; i < a->u.shaped.rank; i++) {
        int64_t extent = a->u.shaped.dims[i];
        *vec_push(&dims) = extent == DIM_DYNAMIC ? b->u.shaped.dims[i] : extent;
    }
    const Type *type = type_tensor(type_elem(a), dims.data, (uint32_t)dims.len, NULL);
    vec_free(&dims);
    return type;
}

/* cast(cast(x : A) : B) : C -> cast(x : A) : C  when B checks nothing that A and C do not */
static bool cast_of_cast(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *inner = rewrite_def_of(op_operand(op, 0), TENSOR(CAST));
    if (!inner) return false;
    const Type *from = op_operand(inner, 0)->type, *to = op_result(op, 0)->type;
    const Type *checked = join(from, op_result(inner, 0)->type);
    checked = checked ? join(checked, to) : NULL;
    if (!checked || checked != join(from, to)) return false;
    rewriter_replace_one(rw, op, build_unary(&rw->b, TENSOR(CAST), to, op_operand(inner, 0)));
    return true;
}

/* bitcast(bitcast(x)) -> bitcast(x) */
static bool bitcast_of_bitcast(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *inner = rewrite_def_of(op_operand(op, 0), TENSOR(BITCAST));
    if (!inner) return false;
    rewriter_replace_one(
        rw, op, build_unary(&rw->b, TENSOR(BITCAST), op_result(op, 0)->type, op_operand(inner, 0)));
    return true;
}

/* Ops with destinations: first operand that is one, or -1 for other ops. Their results have the
 * destinations' types. */
static int64_t first_destination(const Op *op)
{
    if (op->def == TENSOR(INSERT)) return 1;
    if (op->def == TENSOR(PACK) || op->def == TENSOR(UNPACK)) return 1;
    return -1;
}

/* op(cast(x)) -> cast(op(x)) for ops with a destination */
static bool cast_into_destination_op(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    int64_t destination = first_destination(op);
    bool any = false;
    ValueList operands = {0};
    if (destination < 0) return false;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        Value *source = tensor_fold_source_cast(op_operand(op, i));
        any = any || source;
        *vec_push(&operands) = source ? source : op_operand(op, i);
    }
    if (any) {
        const Type *type = operands.data[destination]->type;
        tensor_replace_cast(rw, op, op_result(tensor_clone_with(rw, op, operands.data, &type), 0));
    }
    vec_free(&operands);
    return any;
}

/* cast(empty) -> empty of the cast's type */
static bool cast_of_empty(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *empty = rewrite_def_of(op_operand(op, 0), TENSOR(EMPTY));
    const Type *type = op_result(op, 0)->type;
    if (!empty || !tensor_cast_adds_static(op)) return false;
    const Type *from = op_result(empty, 0)->type;
    ValueList sizes = {0};
    uint32_t next = 0;
    for (uint32_t i = 0; i < type->u.shaped.rank; i++) {
        Value *size = from->u.shaped.dims[i] == DIM_DYNAMIC ? op_operand(empty, next++) : NULL;
        if (size && type->u.shaped.dims[i] == DIM_DYNAMIC) *vec_push(&sizes) = size;
    }
    Op *made = build(&rw->b, TENSOR(EMPTY), sizes.data, (uint32_t)sizes.len, &type, 1, NULL, 0);
    rewriter_replace_one(rw, op, op_result(made, 0));
    vec_free(&sizes);
    return true;
}

/* cast(extract_slice(x)) -> extract_slice(x) with the sizes that the cast adds */
static bool cast_of_slice(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *slice = rewrite_def_of(op_operand(op, 0), TENSOR(EXTRACT_SLICE));
    const Type *type = op_result(op, 0)->type, *from = op_operand(op, 0)->type;
    if (!slice || !tensor_cast_adds_static(op) || type == from) return false;
    SliceParams params;
    tensor_slice_read(slice, &params);
    IntList sizes = {0};
    for (size_t i = 0; i < params.sizes.len; i++) *vec_push(&sizes) = params.sizes.data[i].constant;
    uint32_t next = 0;
    for (size_t i = 0; i < sizes.len && next < type->u.shaped.rank; i++) {
        bool kept = sizes.data[i] == from->u.shaped.dims[next];
        if (!kept) continue;
        if (type->u.shaped.dims[next] != DIM_DYNAMIC)
            params.sizes.data[i] = mixed_constant(type->u.shaped.dims[next]);
        next++;
    }
    Op *made = tensor_build_extract_slice(&rw->b, op_operand(slice, 0), type, &params);
    rewriter_replace_one(rw, op, op_result(made, 0));
    vec_free(&sizes);
    tensor_slice_free(&params);
    return true;
}

void tensor_canonicalize_cast(PatternSet *set)
{
    pattern_add(set, "cast-of-cast", TENSOR(CAST), 1, cast_of_cast);
    pattern_add(set, "cast-of-slice", TENSOR(CAST), 1, cast_of_slice);
    pattern_add(set, "cast-of-empty", TENSOR(CAST), 1, cast_of_empty);
    pattern_add(set, "cast-into-destination-op", NULL, 1, cast_into_destination_op);
}

void tensor_canonicalize_bitcast(PatternSet *set)
{
    pattern_add(set, "bitcast-of-bitcast", TENSOR(BITCAST), 1, bitcast_of_bitcast);
}

/* concat(x) -> cast(x) */
static bool concat_of_one(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    if (op->operand_count != 1) return false;
    tensor_replace_cast(rw, op, op_operand(op, 0));
    return true;
}

void tensor_canonicalize_concat(PatternSet *set)
{
    pattern_add(set, "concat-of-one", TENSOR(CONCAT), 1, concat_of_one);
}

/* Moves sizes that are constants into the type; NULL if none is. Values that stay are appended. */
static const Type *fold_dynamic_sizes(const Op *op, ValueList *sizes)
{
    const Type *type = op_result(op, 0)->type;
    IntList dims = {0};
    uint32_t next = 0;
    bool changed = false;
    for (uint32_t i = 0; i < type->u.shaped.rank; i++) {
        int64_t extent = type->u.shaped.dims[i], known;
        Value *size = extent == DIM_DYNAMIC ? op_operand(op, next++) : NULL;
        if (size && mixed_known(mixed_value(size), &known) && known >= 0) {
            extent = known;
            changed = true;
        } else if (size) {
            *vec_push(sizes) = size;
        }
        *vec_push(&dims) = extent;
    }
    const Type *folded =
        type_tensor(type_elem(type), dims.data, (uint32_t)dims.len, type->u.shaped.extra);
    vec_free(&dims);
    return changed ? folded : NULL;
}

static bool empty_of_constants(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    ValueList sizes = {0};
    const Type *type = fold_dynamic_sizes(op, &sizes);
    if (type) {
        Op *made = build(&rw->b, TENSOR(EMPTY), sizes.data, (uint32_t)sizes.len, &type, 1, NULL, 0);
        tensor_replace_cast(rw, op, op_result(made, 0));
    }
    vec_free(&sizes);
    return type != NULL;
}

void tensor_canonicalize_empty(PatternSet *set)
{
    tensor_add_dim_of_empty(set);
    pattern_add(set, "empty-of-constants", TENSOR(EMPTY), 1, empty_of_constants);
}

/* extract(cast(x)) -> extract(x) */
static bool extract_of_cast(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *cast = rewrite_def_of(op_operand(op, 0), TENSOR(CAST));
    if (!cast || !type_is_ranked(op_operand(cast, 0)->type)) return false;
    ValueList operands = {0};
    *vec_push(&operands) = op_operand(cast, 0);
    for (uint32_t i = 1; i < op->operand_count; i++) *vec_push(&operands) = op_operand(op, i);
    const Type *type = op_result(op, 0)->type;
    Op *made =
        build(&rw->b, TENSOR(EXTRACT), operands.data, (uint32_t)operands.len, &type, 1, NULL, 0);
    rewriter_replace_one(rw, op, op_result(made, 0));
    vec_free(&operands);
    return true;
}

/* extract(index_cast(x)) -> index_cast(extract(x)) */
static bool extract_of_index_cast(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *cast = rewrite_def_of(op_operand(op, 0), ARITH(INDEX_CAST));
    if (!cast || !type_is_tensor(op_operand(cast, 0)->type)) return false;
    ValueList operands = {0};
    *vec_push(&operands) = op_operand(cast, 0);
    for (uint32_t i = 1; i < op->operand_count; i++) *vec_push(&operands) = op_operand(op, i);
    const Type *elem = type_elem(op_operand(cast, 0)->type);
    Op *made =
        build(&rw->b, TENSOR(EXTRACT), operands.data, (uint32_t)operands.len, &elem, 1, NULL, 0);
    rewriter_replace_one(
        rw, op, build_unary(&rw->b, ARITH(INDEX_CAST), op_result(op, 0)->type, op_result(made, 0)));
    vec_free(&operands);
    return true;
}

/* extract(generate) at indices -> the body for these indices, when it has no effects */
static bool extract_of_generate(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Op *generate = rewrite_def_of(op_operand(op, 0), TENSOR(GENERATE));
    if (!generate || !op_is_pure(generate)) return false;
    Block *body = region_entry(op_region(generate, 0));
    PtrMap values = {0};
    for (uint32_t i = 0; i < body->arg_count; i++)
        ptrmap_put(&values, body->args[i], op_operand(op, i + 1));
    for (Op *inner = body->first; inner != body->last; inner = inner->next) {
        Op *copy = op_clone(inner, &values);
        op_insert_before(copy, op);
        rw->inserted(rw, copy);
    }
    Value *yielded = op_operand(body->last, 0);
    Value *mapped = ptrmap_get(&values, yielded);
    rewriter_replace_one(rw, op, mapped ? mapped : yielded);
    ptrmap_free(&values);
    return true;
}

void tensor_canonicalize_extract(PatternSet *set)
{
    pattern_add(set, "extract-of-cast", TENSOR(EXTRACT), 1, extract_of_cast);
    pattern_add(set, "extract-of-index-cast", TENSOR(EXTRACT), 1, extract_of_index_cast);
    pattern_add(set, "extract-of-generate", TENSOR(EXTRACT), 1, extract_of_generate);
}

static bool generate_of_constants(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    ValueList sizes = {0};
    const Type *type = fold_dynamic_sizes(op, &sizes);
    if (type) {
        Op *made =
            build(&rw->b, TENSOR(GENERATE), sizes.data, (uint32_t)sizes.len, &type, 1, NULL, 0);
        region_take(op_region(made, 0), op_region(op, 0));
        tensor_replace_cast(rw, op, op_result(made, 0));
    }
    vec_free(&sizes);
    return type != NULL;
}

void tensor_canonicalize_generate(PatternSet *set)
{
    pattern_add(set, "generate-of-constants", TENSOR(GENERATE), 1, generate_of_constants);
}
