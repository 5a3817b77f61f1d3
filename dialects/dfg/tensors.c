/* The attribute dfg.tensors: which tensors of the network a value's elements are, and how to read
 * them. Passes that change a value's order or its integers keep the list true, or drop it.
 * Tests: lit/tools/ming-sim-trace.mir, test/e2e/trace_check.py */
#include "dialects/dfg/dfg.h"

const Attr *dfg_tensor(Context *ctx, Str name, const Type *type, const Attr *quant)
{
    const NamedAttr items[] = {
        build_named_attr(ctx, DFG_TENSOR_NAME, attr_string(ctx, name)),
        build_named_attr(ctx, DFG_TENSOR_SHAPE,
                         attr_i64_array(ctx, type->u.shaped.dims, type->u.shaped.rank)),
        build_named_attr(ctx, DFG_TENSOR_QUANT, quant),
    };
    return attr_dict(ctx, items, COUNT_OF(items) - !quant);
}

const Attr *dfg_tensors_add(const Attr *list, const Attr *tensor)
{
    VEC(const Attr *) items = {0};
    for (uint32_t i = 0; list && i < list->u.array.count; i++)
        *vec_push(&items) = list->u.array.items[i];
    *vec_push(&items) = tensor;
    const Attr *longer = attr_array(tensor->ctx, items.data, items.len);
    vec_free(&items);
    return longer;
}

static const Attr *set(const Attr *dict, const char *key, const Attr *value)
{
    return attr_dict_set(dict, ident_get_c(dict->ctx, key), value);
}

/* The list with each tensor as `change` makes it; NULL if it has none left. */
typedef const Attr *TensorChange(const Attr *tensor, const void *how);

static const Attr *change_each(const Attr *list, TensorChange *change, const void *how)
{
    VEC(const Attr *) items = {0};
    for (uint32_t i = 0; i < list->u.array.count; i++) {
        const Attr *made = change(list->u.array.items[i], how);
        if (made) *vec_push(&items) = made;
    }
    const Attr *made = items.len > 0 ? attr_array(list->ctx, items.data, items.len) : NULL;
    vec_free(&items);
    return made;
}

typedef struct Reorder {
    const Type *type; /* of the value in its new order */
    const uint32_t *perm;
} Reorder;

static const Attr *reorder(const Attr *tensor, const void *how)
{
    const Reorder *r = how;
    uint32_t rank = r->type->u.shaped.rank;
    const AffineMap *map = map_permutation(tensor->ctx, rank, r->perm);
    const Attr *old = attr_dict_get_c(tensor, DFG_TENSOR_LAYOUT);
    if (old && old->u.map->result_count != rank) return NULL;
    if (old) map = map_compose(map, old->u.map);
    const Attr *stream = attr_i64_array(tensor->ctx, r->type->u.shaped.dims, rank);
    return set(set(tensor, DFG_TENSOR_LAYOUT, attr_map(map)), DFG_TENSOR_STREAM, stream);
}

const Attr *dfg_tensors_reorder(const Attr *list, const Type *type, const uint32_t *perm)
{
    return change_each(list, reorder, &(Reorder){type, perm});
}

/* The list with as many in front as there are images; NULL: it does not begin with one. */
static const Attr *with_images(const Attr *list, int64_t images)
{
    int64_t dims[2 * DFG_MAX_RANK];
    size_t rank = 0;
    if (!attr_int_list(list, dims, COUNT_OF(dims), &rank) || rank == 0 || dims[0] != 1) return NULL;
    dims[0] = images;
    return attr_i64_array(list->ctx, dims, (uint32_t)rank);
}

static const Attr *batch(const Attr *tensor, const void *how)
{
    const int64_t images = *(const int64_t *)how;
    const Attr *shape = with_images(attr_dict_get_c(tensor, DFG_TENSOR_SHAPE), images);
    const Attr *layout = attr_dict_get_c(tensor, DFG_TENSOR_LAYOUT);
    if (!shape) return NULL;
    tensor = set(tensor, DFG_TENSOR_SHAPE, shape);
    if (!layout) return tensor;
    const AffineExpr *first = layout->u.map->results[0];
    const Attr *stream = with_images(attr_dict_get_c(tensor, DFG_TENSOR_STREAM), images);
    bool stays = first->kind == AFFINE_DIM && first->value == 0;
    return stays && stream ? set(tensor, DFG_TENSOR_STREAM, stream) : NULL;
}

const Attr *dfg_tensors_batch(const Attr *list, int64_t images)
{
    return change_each(list, batch, &images);
}

static bool is_signed(const Attr *quant)
{
    const Attr *sign = quant ? attr_dict_get_c(quant, DFG_QUANT_SIGNED) : NULL;
    return !sign || attr_is_true(sign);
}

static const Attr *encode(const Attr *tensor, const void *how)
{
    Context *ctx = tensor->ctx;
    bool is_bipolar = *(const bool *)how;
    const Attr *quant = attr_dict_get_c(tensor, DFG_TENSOR_QUANT);
    if (!quant) quant = dfg_quant_integers(ctx, true);
    const Attr *zero = attr_dict_get_c(quant, DFG_QUANT_ZERO_POINT);
    /* The bits of -1 are another number where there are no signs. */
    if (is_bipolar && (!is_signed(quant) || (zero && attr_int_value(zero) != 0))) return NULL;
    quant = is_bipolar ? set(quant, DFG_QUANT_BIPOLAR, attr_bool(ctx, true))
                       : set(quant, DFG_QUANT_SIGNED, attr_bool(ctx, false));
    return set(tensor, DFG_TENSOR_QUANT, quant);
}

const Attr *dfg_tensors_encode(const Attr *list, bool is_bipolar)
{
    return change_each(list, encode, &is_bipolar);
}

static const Attr *keep_signed(const Attr *tensor, const void *how)
{
    (void)how;
    return is_signed(attr_dict_get_c(tensor, DFG_TENSOR_QUANT)) ? tensor : NULL;
}

const Attr *dfg_tensors_signed(const Attr *list)
{
    return change_each(list, keep_signed, NULL);
}

const Attr *dfg_quant_integers(Context *ctx, bool is_signed)
{
    const NamedAttr items[] = {
        build_named_attr(ctx, DFG_QUANT_SCALE, attr_float(type_float(ctx, TYPE_F64), 1.0)),
        build_named_attr(ctx, DFG_QUANT_SIGNED, attr_bool(ctx, is_signed)),
    };
    return attr_dict(ctx, items, COUNT_OF(items));
}

static bool is_tensor(const Attr *tensor)
{
    const Attr *name = tensor->kind == ATTR_DICT ? attr_dict_get_c(tensor, DFG_TENSOR_NAME) : NULL;
    const Attr *shape = name ? attr_dict_get_c(tensor, DFG_TENSOR_SHAPE) : NULL;
    const Attr *quant = name ? attr_dict_get_c(tensor, DFG_TENSOR_QUANT) : NULL;
    const Attr *layout = name ? attr_dict_get_c(tensor, DFG_TENSOR_LAYOUT) : NULL;
    const Attr *stream = name ? attr_dict_get_c(tensor, DFG_TENSOR_STREAM) : NULL;
    int64_t dims[2 * DFG_MAX_RANK];
    size_t rank = 0;
    if (!name || name->kind != ATTR_STRING || !shape ||
        !attr_int_list(shape, dims, COUNT_OF(dims), &rank) || (quant && quant->kind != ATTR_DICT) ||
        !layout != !stream)
        return false;
    return !layout ||
           (layout->kind == ATTR_AFFINE_MAP && map_is_permutation(layout->u.map) &&
            attr_int_list(stream, dims, COUNT_OF(dims), &rank) && rank == layout->u.map->dim_count);
}

bool dfg_tensors_are_valid(const Attr *list)
{
    if (list->kind != ATTR_ARRAY) return false;
    for (uint32_t i = 0; i < list->u.array.count; i++)
        if (!is_tensor(list->u.array.items[i])) return false;
    return true;
}

/* The elements of a shape; -1: too many to count. */
static int64_t count_of(const Attr *shape, int64_t *dims, size_t *rank)
{
    int64_t count = 1;
    if (!attr_int_list(shape, dims, 2 * DFG_MAX_RANK, rank)) return -1;
    for (size_t i = 0; i < *rank; i++)
        if (!i64_mul(count, dims[i], &count)) return -1;
    return count;
}

const Type *dfg_tensor_stream_type(const Attr *tensor, const Type *frame)
{
    const Attr *stream = attr_dict_get_c(tensor, DFG_TENSOR_STREAM);
    int64_t dims[2 * DFG_MAX_RANK], wanted;
    size_t rank = 0;
    if (!type_element_count(frame, &wanted) ||
        count_of(attr_dict_get_c(tensor, DFG_TENSOR_SHAPE), dims, &rank) != wanted)
        return NULL;
    if (!stream) return frame;
    return count_of(stream, dims, &rank) == wanted ? type_with_shape(frame, dims, (uint32_t)rank)
                                                   : NULL;
}
