/* Checks of ops that read or write parts of tensors: slices, gather and scatter.
 * Tests: lit/dialects/tensor/invalid.mir */
#include "dialects/tensor/internal.h"
#include "ir/asm/print/print.h"

void tensor_slice_read(const Op *op, SliceParams *out)
{
    /* Groups: the source, the destination of insertions, then these three. */
    uint32_t first = op->def == TENSOR(EXTRACT_SLICE) ? 1 : 2;
    *out = (SliceParams){0};
    mixed_indices_read(op, "static_offsets", first, &out->offsets);
    mixed_indices_read(op, "static_sizes", first + 1, &out->sizes);
    mixed_indices_read(op, "static_strides", first + 2, &out->strides);
}

void tensor_slice_free(SliceParams *slice)
{
    vec_free(&slice->offsets);
    vec_free(&slice->sizes);
    vec_free(&slice->strides);
}

bool tensor_has_unit_strides(const SliceParams *slice)
{
    for (size_t i = 0; i < slice->strides.len; i++)
        if (slice->strides.data[i].value || slice->strides.data[i].constant != 1) return false;
    return true;
}

static Op *build_slice(Builder *b, const OpDef *def, Value *const *tensors, uint32_t tensor_count,
                       const Type *type, const SliceParams *slice)
{
    const MixedIndices *lists[] = {&slice->offsets, &slice->sizes, &slice->strides};
    static const char *const names[] = {"static_offsets", "static_sizes", "static_strides"};
    NamedAttr attrs[COUNT_OF(names) + 1];
    int32_t segments[2 + COUNT_OF(names)];
    ValueList operands = {0};
    for (uint32_t i = 0; i < tensor_count; i++) {
        *vec_push(&operands) = tensors[i];
        segments[i] = 1;
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t before = operands.len;
        const Attr *list = mixed_indices_split(b->ctx, lists[i]->data, lists[i]->len, &operands);
        attrs[i] = build_named_attr(b->ctx, names[i], list);
        segments[tensor_count + i] = (int32_t)(operands.len - before);
    }
    attrs[COUNT_OF(names)] = build_named_attr(
        b->ctx, "operandSegmentSizes",
        attr_dense_array(type_i(b->ctx, 32), segments, tensor_count + COUNT_OF(names)));
    Op *op = build(b, def, operands.data, (uint32_t)operands.len, &type, 1, attrs,
                   (uint32_t)COUNT_OF(attrs));
    vec_free(&operands);
    return op;
}

Op *tensor_build_extract_slice(Builder *b, Value *source, const Type *type,
                               const SliceParams *slice)
{
    return build_slice(b, TENSOR(EXTRACT_SLICE), &source, 1, type, slice);
}

Op *tensor_build_insert_slice(Builder *b, Value *source, Value *dest, const SliceParams *slice)
{
    Value *tensors[] = {source, dest};
    return build_slice(b, TENSOR(INSERT_SLICE), tensors, 2, dest->type, slice);
}

/* `reduced` is `full` with some unit extents left out. */
static bool drops_units_only(const Type *full, const Type *reduced)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < full->u.shaped.rank; i++) {
        int64_t extent = full->u.shaped.dims[i];
        if (next < reduced->u.shaped.rank && extent == reduced->u.shaped.dims[next])
            next++;
        else if (extent != 1)
            return false;
    }
    return next == reduced->u.shaped.rank;
}

/* Whether `type` is `full` without some unit extents. False: diagnosed. */
static bool tensor_verify_rank_reduced(const Op *op, const Type *full, const Type *type)
{
    if (full == type) return true;
    if (full->u.shaped.rank < type->u.shaped.rank)
        return op_emit_error(op, "expected rank to be smaller or equal to the other rank. ");
    if (!drops_units_only(full, type))
        return op_emit_error(op,
                             "expected type to be '%s' or a rank-reduced version. (size mismatch) ",
                             type_str(op->ctx, full));
    if (type_elem(full) != type_elem(type))
        return op_emit_error(op, "expected element type to be '%s'",
                             type_str(op->ctx, type_elem(full)));
    return true;
}

static size_t list_length(const Op *op, const char *attr)
{
    return op_attr(op, attr)->u.dense_array.count;
}

static bool verify_list(Op *op, const char *attr, uint32_t group, const char *name, uint32_t rank)
{
    size_t count = list_length(op, attr);
    if (count != rank)
        return op_emit_error(op, "expected %u %s values, got %zu", rank, name, count);
    return mixed_indices_verify(op, attr, group, name);
}

static bool verify_not_negative(Op *op, const char *attr, const char *plural)
{
    const Attr *list = op_attr(op, attr);
    for (size_t i = 0; i < list->u.dense_array.count; i++) {
        int64_t value = dense_array_i64(list, i);
        if (value < 0 && value != DIM_DYNAMIC)
            return op_emit_error(op, "expected %s to be non-negative, but got %lld", plural,
                                 (long long)value);
    }
    return true;
}

/* The three lists fit a tensor of that rank. */
static bool verify_slice_lists(Op *op, uint32_t first_group, uint32_t rank)
{
    size_t offsets = list_length(op, "static_offsets"), sizes = list_length(op, "static_sizes"),
           strides = list_length(op, "static_strides");
    if (offsets != sizes)
        return op_emit_error(op,
                             "expected mixed offsets rank to match mixed sizes rank (%zu vs %zu) "
                             "so the rank of the result type is well-formed.",
                             offsets, sizes);
    if (sizes != strides)
        return op_emit_error(op,
                             "expected mixed sizes rank to match mixed strides rank (%zu vs %zu) "
                             "so the rank of the result type is well-formed.",
                             sizes, strides);
    return verify_list(op, "static_offsets", first_group, "offset", rank) &&
           verify_list(op, "static_sizes", first_group + 1, "size", rank) &&
           verify_list(op, "static_strides", first_group + 2, "stride", rank) &&
           verify_not_negative(op, "static_offsets", "offsets") &&
           verify_not_negative(op, "static_sizes", "sizes");
}

/* The slice's sizes as a tensor type like `tensor`. */
static const Type *slice_type(const Op *op, const Type *tensor)
{
    IntList sizes = {0};
    mixed_read_int_list(op, "static_sizes", &sizes);
    const Type *type =
        type_tensor(type_elem(tensor), sizes.data, (uint32_t)sizes.len, tensor->u.shaped.extra);
    vec_free(&sizes);
    return type;
}

bool tensor_verify_extract_slice(Op *op)
{
    const Type *source = op_operand(op, 0)->type;
    return verify_slice_lists(op, 1, source->u.shaped.rank) &&
           tensor_verify_rank_reduced(op, slice_type(op, source), op_result(op, 0)->type);
}

bool tensor_infer_insert(Op *op, const Type **results)
{
    results[0] = op_operand(op, 1)->type;
    return true;
}

static bool verify_insertion(Op *op)
{
    const Type *dest = op_operand(op, 1)->type;
    return verify_slice_lists(op, 2, dest->u.shaped.rank) &&
           tensor_verify_rank_reduced(op, slice_type(op, dest), op_operand(op, 0)->type);
}

bool tensor_verify_insert_slice(Op *op)
{
    if (op_result(op, 0)->type != op_operand(op, 1)->type)
        return op_error(op, "failed to verify that expected result type to match dest type");
    return verify_insertion(op);
}

bool tensor_verify_parallel_insert_slice(Op *op)
{
    Op *parent = op_parent(op);
    if (parent && str_eq_c(op_name(parent), "scf.forall.in_parallel")) return verify_insertion(op);
    StrBuf text = {0};
    PrintOptions options = PRINT_DEFAULT;
    options.local_scope = options.generic = true; /* not all of the parent is verified */
    if (parent) op_print(&text, parent, &options);
    (void)op_emit_error(op, "expected ParallelCombiningOpInterface parent, got:\n%s",
                        text.data ? text.data : "");
    strbuf_free(&text);
    return false;
}

/* The names that messages use for the op and for the tensor that is indexed. */
typedef struct IndexedRule {
    const char *op;     /* "gather" */
    const char *tensor; /* "source" */
} IndexedRule;

static bool verify_indexed_dims(Op *op, const IndexedRule *rule, const IntList *dims, uint32_t rank)
{
    if (dims->len == 0) return op_error(op, "%s_dims must be non-empty", rule->op);
    if (dims->len > rank) return op_error(op, "%s_dims overflow %s rank", rule->op, rule->tensor);
    for (size_t i = 0; i < dims->len; i++) {
        if (dims->data[i] < 0) return op_error(op, "%s_dims value must be non-negative", rule->op);
        if (dims->data[i] >= rank)
            return op_error(op, "%s_dims value must be smaller than %s rank", rule->op,
                            rule->tensor);
    }
    for (size_t i = 1; i < dims->len; i++)
        if (dims->data[i - 1] >= dims->data[i])
            return op_error(op, "%s_dims values must be strictly increasing", rule->op);
    return true;
}

/* Index extents, then the tensor's with the indexed ones 1 (or left out when reduced). */
static const Type *indexed_type(const Type *tensor, const Type *indices, const IntList *indexed,
                                bool reduced)
{
    IntList dims = {0};
    size_t next = 0;
    for (uint32_t i = 0; i + 1 < indices->u.shaped.rank; i++)
        *vec_push(&dims) = indices->u.shaped.dims[i];
    for (uint32_t i = 0; i < tensor->u.shaped.rank; i++) {
        bool is_indexed = next < indexed->len && indexed->data[next] == i;
        next += is_indexed;
        if (!is_indexed)
            *vec_push(&dims) = tensor->u.shaped.dims[i];
        else if (!reduced)
            *vec_push(&dims) = 1;
    }
    const Type *type =
        type_tensor(type_elem(tensor), dims.data, (uint32_t)dims.len, tensor->u.shaped.extra);
    vec_free(&dims);
    return type;
}

/* The part's type follows from the tensor's and the indices'. */
static bool verify_part(Op *op, const char *part_name, const Type *part, const Type *tensor,
                        const Type *indices, const IntList *dims)
{
    const Type *full = indexed_type(tensor, indices, dims, false);
    const Type *reduced = indexed_type(tensor, indices, dims, true);
    if (part == full || part == reduced) return true;
    return op_error(
        op, "%s type mismatch: expected '%s' or its rank-reduced variant '%s' (got: '%s')",
        part_name, type_str(op->ctx, full), type_str(op->ctx, reduced), type_str(op->ctx, part));
}

bool tensor_verify_gather(Op *op)
{
    static const IndexedRule rule = {"gather", "source"};
    const Type *source = op_operand(op, 0)->type, *indices = op_operand(op, 1)->type;
    IntList dims = {0};
    mixed_read_int_list(op, "gather_dims", &dims);
    bool ok = verify_indexed_dims(op, &rule, &dims, source->u.shaped.rank) &&
              verify_part(op, "result", op_result(op, 0)->type, source, indices, &dims);
    vec_free(&dims);
    return ok;
}

bool tensor_verify_scatter(Op *op)
{
    static const IndexedRule rule = {"scatter", "dest"};
    const Type *dest = op_operand(op, 1)->type, *indices = op_operand(op, 2)->type;
    IntList dims = {0};
    mixed_read_int_list(op, "scatter_dims", &dims);
    bool ok = verify_indexed_dims(op, &rule, &dims, dest->u.shaped.rank);
    if (ok && !op_attr(op, "unique")) ok = op_error(op, "requires 'unique' attribute to be set");
    ok = ok && verify_part(op, "source", op_operand(op, 0)->type, dest, indices, &dims);
    vec_free(&dims);
    return ok;
}
