/* Upgrade of older forms of operators to those of the onnx dialect, which are the newest. Each row
 * of the table says up to which opset a rule holds; the rules of an operator are applied in order.
 * Tests: lit/import/opsets.test, test/e2e/onnx_shapes.py */
#include "dialects/onnx/onnx.h"
#include "import/internal.h"

/* The attribute, which the node then no longer has; NULL if it had none. */
static const Attr *take_attr(Importer *im, NodeParts *parts, const char *name)
{
    const Attr *value = attr_dict_get_c(parts->attrs, name);
    if (value) parts->attrs = attr_dict_set(parts->attrs, ident_get_c(im->ctx, name), NULL);
    return value;
}

static void put_attr(Importer *im, NodeParts *parts, const char *name, const Attr *value)
{
    parts->attrs = attr_dict_set(parts->attrs, ident_get_c(im->ctx, name), value);
}

/* Reads an integer attribute and removes it. False: it is not an integer. */
static bool take_int(Importer *im, NodeParts *parts, const char *name, int64_t fallback,
                     int64_t *out)
{
    const Attr *value = take_attr(im, parts, name);
    *out = fallback;
    if (value && value->kind != ATTR_INTEGER) {
        strbuf_printf(&im->why, "the attribute '%s' is no integer", name);
        return false;
    }
    if (value) *out = attr_int_value(value);
    return true;
}

static void set_operand(NodeParts *parts, size_t index, Value *value)
{
    while (parts->operands.len <= index) *vec_push(&parts->operands) = NULL;
    parts->operands.data[index] = value;
}

static Value *operand(const NodeParts *parts, size_t index)
{
    return index < parts->operands.len ? parts->operands.data[index] : NULL;
}

/* Makes operand `index` of an attribute with integers or floats that became one. A list becomes a
 * vector, a number a scalar of that element type, or of its own if NULL. */
static bool attr_to_operand(Importer *im, NodeParts *parts, const char *name, size_t index,
                            const Type *elem)
{
    const Attr *attr = take_attr(im, parts, name), *value = NULL;
    if (!attr) return true;
    if (attr->kind == ATTR_DENSE_ARRAY) {
        int64_t count = (int64_t)attr->u.dense_array.count;
        const Type *item = attr->u.dense_array.elem;
        value = attr_dense_raw(type_tensor(item, &count, 1, NULL), attr->u.dense_array.data,
                               (size_t)count * (type_width(item) / 8), false);
    } else if (attr->kind == ATTR_FLOAT && (!elem || type_is_float(elem))) {
        const Type *type = elem ? elem : attr->type;
        value = attr_dense_splat(type_tensor(type, NULL, 0, NULL),
                                 attr_float(type, attr_float_value(attr)));
    } else if (attr->kind == ATTR_INTEGER) {
        value = attr_dense_splat(type_tensor(attr->type, NULL, 0, NULL), attr);
    }
    if (!value) {
        strbuf_printf(&im->why, "the attribute '%s' is of the wrong kind", name);
        return false;
    }
    if (operand(parts, index)) {
        strbuf_printf(&im->why, "has both the attribute '%s' and an input for it", name);
        return false;
    }
    set_operand(parts, index, onnx_build_constant(&im->b, value));
    return true;
}

static Value *int_vector(Importer *im, const int64_t *items, int64_t count)
{
    const Type *type = type_tensor(type_i(im->ctx, 64), &count, 1, NULL);
    return onnx_build_constant(&im->b, attr_dense_i64(type, items, (size_t)count));
}

static const Type *first_elem(const NodeParts *parts)
{
    const Value *value = operand(parts, 0);
    return value ? type_elem(value->type) : NULL;
}

static bool axes_to_input(Importer *im, NodeParts *parts)
{
    return attr_to_operand(im, parts, "axes", 1, NULL);
}

static bool split_to_input(Importer *im, NodeParts *parts)
{
    return attr_to_operand(im, parts, "split", 1, NULL);
}

static bool slice_to_inputs(Importer *im, NodeParts *parts)
{
    return attr_to_operand(im, parts, "starts", 1, NULL) &&
           attr_to_operand(im, parts, "ends", 2, NULL) &&
           attr_to_operand(im, parts, "axes", 3, NULL);
}

static bool pads_to_inputs(Importer *im, NodeParts *parts)
{
    return attr_to_operand(im, parts, "paddings", 1, NULL) &&
           attr_to_operand(im, parts, "pads", 1, NULL) &&
           attr_to_operand(im, parts, "value", 2, first_elem(parts));
}

static bool bounds_to_inputs(Importer *im, NodeParts *parts)
{
    return attr_to_operand(im, parts, "min", 1, first_elem(parts)) &&
           attr_to_operand(im, parts, "max", 2, first_elem(parts));
}

static bool ratio_to_input(Importer *im, NodeParts *parts)
{
    return attr_to_operand(im, parts, "ratio", 1, NULL);
}

static bool k_to_input(Importer *im, NodeParts *parts)
{
    return attr_to_operand(im, parts, "k", 1, NULL);
}

static bool scales_to_input(Importer *im, NodeParts *parts)
{
    return attr_to_operand(im, parts, "scales", 1, NULL);
}

/* Two factors, for the height and the width of pictures. */
static bool sides_to_scales(Importer *im, NodeParts *parts)
{
    static const char *const names[] = {"height_scale", "width_scale"};
    const int64_t count = 4;
    float scales[] = {1, 1, 1, 1};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const Attr *value = take_attr(im, parts, names[i]);
        if (!value || value->kind != ATTR_FLOAT)
            return strbuf_fail(&im->why, "the attribute '%s' is missing, or no float", names[i]);
        scales[2 + i] = (float)attr_float_value(value);
    }
    const Type *type = type_tensor(type_float(im->ctx, TYPE_F32), &count, 1, NULL);
    set_operand(parts, 1,
                onnx_build_constant(&im->b, attr_dense_raw(type, scales, sizeof scales, false)));
    return true;
}

/* Linear interpolation had the name that it has for two or three dimensions. */
static bool name_linear(Importer *im, NodeParts *parts)
{
    const Attr *mode = attr_dict_get_c(parts->attrs, "mode");
    if (mode && mode->kind == ATTR_STRING &&
        (str_eq_c(mode->u.string, "bilinear") || str_eq_c(mode->u.string, "trilinear")))
        put_attr(im, parts, "mode", attr_string_c(im->ctx, "linear"));
    return true;
}

static bool shape_to_input(Importer *im, NodeParts *parts)
{
    return attr_to_operand(im, parts, "shape", 1, NULL);
}

static bool drop_consumed_inputs(Importer *im, NodeParts *parts)
{
    take_attr(im, parts, "consumed_inputs");
    return true;
}

static bool drop_is_test(Importer *im, NodeParts *parts)
{
    int64_t is_test;
    if (!take_int(im, parts, "is_test", 0, &is_test)) return false;
    if (is_test || parts->node->n_output == 1) return true;
    strbuf_add_c(&im->why, "is in training mode, which is not supported");
    return false;
}

static bool drop_spatial(Importer *im, NodeParts *parts)
{
    int64_t spatial;
    if (!take_int(im, parts, "spatial", 1, &spatial)) return false;
    if (spatial == 1) return true;
    strbuf_add_c(&im->why, "has statistics per element (spatial = 0), which is not supported");
    return false;
}

static bool drop_broadcast(Importer *im, NodeParts *parts)
{
    int64_t broadcast;
    return take_int(im, parts, "broadcast", 0, &broadcast);
}

/* The type was the name of a TensorProto.DataType. */
static bool name_to_type(Importer *im, NodeParts *parts)
{
    const Attr *to = attr_dict_get_c(parts->attrs, "to");
    if (!to || to->kind != ATTR_STRING) return true;
    StrBuf name = {0};
    strbuf_add_str(&name, to->u.string);
    const ProtobufCEnumValue *type = protobuf_c_enum_descriptor_get_value_by_name(
        &onnx__tensor_proto__data_type__descriptor, name.len > 0 ? name.data : "");
    strbuf_free(&name);
    if (!type) return import_why_name(im, "the type ", to->u.string, " is unknown");
    put_attr(im, parts, "to", attr_i64(im->ctx, type->value));
    return true;
}

/* The constant's number, if that is one number. */
static bool read_number(const Value *value, double *out)
{
    const Attr *dense = value ? onnx_constant(value) : NULL;
    const Type *elem = dense ? type_elem(dense->type) : NULL;
    return elem && (type_is_float(elem) || type_is_integer(elem)) && onnx_dense_uniform(dense, out);
}

/* The number of copies along one axis, in elements of any type, for which there are now those along
 * each. */
static bool copies_along_axis(Importer *im, NodeParts *parts)
{
    const Value *x = operand(parts, 0);
    int64_t repeats[ONNX_MAX_RANK];
    double copies, axis;
    if (parts->operands.len != 3) return true;
    if (!x || !type_is_static(x->type) || !read_number(operand(parts, 1), &copies) ||
        !read_number(operand(parts, 2), &axis))
        return strbuf_fail(&im->why, "needs a known shape, and constants for 'tiles' and 'axis'");
    uint32_t rank = x->type->u.shaped.rank;
    if (!(copies >= 0 && copies < 0x1p53) || !(axis >= 0 && axis < rank) || rank > ONNX_MAX_RANK)
        return strbuf_fail(&im->why, "'tiles' or 'axis' is out of range");
    for (uint32_t i = 0; i < rank; i++) repeats[i] = i == (uint32_t)axis ? (int64_t)copies : 1;
    parts->operands.len = 2;
    set_operand(parts, 1, int_vector(im, repeats, rank));
    return true;
}

static bool default_concat_axis(Importer *im, NodeParts *parts)
{
    if (!attr_dict_get_c(parts->attrs, "axis")) put_attr(im, parts, "axis", attr_i64(im->ctx, 1));
    return true;
}

/* Rounded to fewer digits than later ones. */
static bool default_selu_factors(Importer *im, NodeParts *parts)
{
    static const struct {
        const char *name;
        double number;
    } factors[] = {{"alpha", 1.6732}, {"gamma", 1.0507}};
    for (size_t i = 0; i < COUNT_OF(factors); i++)
        if (!attr_dict_get_c(parts->attrs, factors[i].name))
            put_attr(im, parts, factors[i].name,
                     attr_float(type_float(im->ctx, TYPE_F32), factors[i].number));
    return true;
}

/* Appends `count` dimensions of extent 1 to operand 1. */
static bool append_dimensions(Importer *im, NodeParts *parts, int64_t count)
{
    int64_t axes[ONNX_MAX_RANK], rank = operand(parts, 1)->type->u.shaped.rank;
    if (count <= 0) return true;
    for (int64_t i = 0; i < count; i++) axes[i] = rank + i;
    const Attr *value =
        attr_dense_i64(type_tensor(type_i(im->ctx, 64), &count, 1, NULL), axes, (size_t)count);
    Value *operands[2] = {operand(parts, 1), onnx_build_constant(&im->b, value)};
    Op *op = import_append(im, ONNX(UNSQUEEZE), operands, 2, NULL, 1);
    if (op) set_operand(parts, 1, op_result(op, 0));
    return op != NULL;
}

/* Operand 1 begins at dimension `axis` of operand 0, not where numpy would have it. */
static bool align_operand(Importer *im, NodeParts *parts, int64_t axis)
{
    const Value *left = operand(parts, 0), *right = operand(parts, 1);
    if (!left || !right || !type_is_static(left->type) || !type_is_static(right->type)) {
        strbuf_add_c(&im->why, "broadcasts along an axis, which needs known shapes");
        return false;
    }
    int64_t room = left->type->u.shaped.rank, rank = right->type->u.shaped.rank;
    if (axis < 0) axis += room;
    if (axis >= 0 && axis <= room - rank && room <= ONNX_MAX_RANK)
        return append_dimensions(im, parts, room - rank - axis);
    strbuf_printf(&im->why, "the attribute 'axis' is out of range");
    return false;
}

static bool broadcast_along_axis(Importer *im, NodeParts *parts)
{
    int64_t broadcast, axis;
    bool has_axis = attr_dict_get_c(parts->attrs, "axis") != NULL;
    if (!take_int(im, parts, "broadcast", 0, &broadcast) || !take_int(im, parts, "axis", 0, &axis))
        return false;
    return !broadcast || !has_axis || align_operand(im, parts, axis);
}

/* A slope per channel belongs to dimension 1. */
static bool slope_per_channel(Importer *im, NodeParts *parts)
{
    const Value *slope = operand(parts, 1);
    bool is_vector = slope && type_is_static(slope->type) && slope->type->u.shaped.rank == 1 &&
                     slope->type->u.shaped.dims[0] > 1;
    return !is_vector || align_operand(im, parts, 1);
}

/* Softmax worked on the matrix that Flatten makes. */
static bool softmax_of_matrix(Importer *im, NodeParts *parts)
{
    const Value *input = operand(parts, 0);
    const Attr *attr = attr_dict_get_c(parts->attrs, "axis");
    if (!attr) put_attr(im, parts, "axis", attr_i64(im->ctx, 1));
    int64_t axis = attr && attr->kind == ATTR_INTEGER ? attr_int_value(attr) : 1;
    bool is_last = input && type_is_static(input->type) &&
                   (axis == -1 || axis == (int64_t)input->type->u.shaped.rank - 1);
    parts->is_flat = input && !is_last;
    return true;
}

/* Before opset 11 a Resize to the nearest neighbour took the one below where it enlarged and the one
 * above where it shrank. One node that does both has no newer form. */
static const char *nearest_of_scales(Importer *im, const Value *scales)
{
    const Attr *values = scales ? onnx_constant(scales) : NULL;
    int64_t count = 0;
    bool shrinks = false, enlarges = false;
    if (!values || !type_is_float(type_elem(scales->type)) ||
        !type_element_count(scales->type, &count))
        return "floor";
    for (int64_t i = 0; i < count; i++) {
        double scale = dense_f64(values, i);
        shrinks |= scale < 1.0;
        enlarges |= scale > 1.0;
    }
    if (shrinks && enlarges) {
        strbuf_printf(&im->why, "shrinks some dimensions and enlarges others, which nodes before "
                                "opset 11 round in different ways; export it with opset 11");
        return NULL;
    }
    return shrinks ? "ceil" : "floor";
}

static bool resize_as_upsample(Importer *im, NodeParts *parts)
{
    Value *scales = operand(parts, 1);
    const Attr *mode = attr_dict_get_c(parts->attrs, "mode");
    bool is_nearest = !mode || mode->kind != ATTR_STRING || str_eq_c(mode->u.string, "nearest");
    const char *nearest = is_nearest ? nearest_of_scales(im, scales) : "floor";
    if (!nearest) return false;
    set_operand(parts, 1, NULL);
    set_operand(parts, 2, scales);
    put_attr(im, parts, "coordinate_transformation_mode", attr_string_c(im->ctx, "asymmetric"));
    put_attr(im, parts, "nearest_mode", attr_string_c(im->ctx, nearest));
    return true;
}

static bool is_empty(const Value *value)
{
    int64_t count;
    return value && type_is_static(value->type) && type_element_count(value->type, &count) &&
           count == 0;
}

/* Inputs without elements are absent. */
static bool drop_empty_inputs(Importer *im, NodeParts *parts)
{
    (void)im;
    for (size_t i = 1; i < parts->operands.len; i++)
        if (is_empty(parts->operands.data[i])) parts->operands.data[i] = NULL;
    return true;
}

/* A number per group becomes one per channel: (G) -> (G, 1) -> (G, C / G) -> (C). */
static bool spread_groups(Importer *im, NodeParts *parts, size_t index, int64_t groups,
                          int64_t channels)
{
    const int64_t last = 1, view[] = {groups, channels / groups};
    Value *values[] = {operand(parts, index), int_vector(im, &last, 1)};
    const OpDef *const defs[] = {ONNX(UNSQUEEZE), ONNX(EXPAND), ONNX(RESHAPE)};
    for (size_t i = 0; i < COUNT_OF(defs); i++) {
        if (i > 0) values[1] = i == 1 ? int_vector(im, view, 2) : int_vector(im, &channels, 1);
        Op *op = import_append(im, defs[i], values, 2, NULL, 1);
        if (!op) return false;
        values[0] = op_result(op, 0);
    }
    set_operand(parts, index, values[0]);
    return true;
}

static bool groups_to_channels(Importer *im, NodeParts *parts)
{
    const Value *x = operand(parts, 0);
    const Attr *groups = attr_dict_get_c(parts->attrs, "num_groups");
    if (!x || !groups || groups->kind != ATTR_INTEGER || attr_int_value(groups) < 1) return true;
    if (!type_is_static(x->type) || x->type->u.shaped.rank < 2)
        return strbuf_fail(&im->why, "has an input of unknown shape, or without channels");
    int64_t count = attr_int_value(groups), channels = x->type->u.shaped.dims[1];
    for (size_t i = 1; i <= 2 && channels % count == 0; i++) {
        const Value *value = operand(parts, i);
        bool per_group = value && type_is_static(value->type) && value->type->u.shaped.rank == 1 &&
                         value->type->u.shaped.dims[0] == count && count != channels;
        if (per_group && !spread_groups(im, parts, i, count, channels)) return false;
    }
    return true;
}

static bool sparse_to_dense(Importer *im, NodeParts *parts)
{
    const Attr *value = take_attr(im, parts, "sparse_value");
    if (value) put_attr(im, parts, "value", value);
    return true;
}

/* X, scale, zeropt, in_bitwidth, out_bitwidth: the newer form has out_scale before the last. */
static bool trunc_without_scale(Importer *im, NodeParts *parts)
{
    (void)im;
    if (parts->operands.len != 5) return true;
    Value *bits = parts->operands.data[4];
    parts->operands.data[4] = NULL;
    set_operand(parts, 5, bits);
    return true;
}

typedef struct UpgradeRule {
    int op;        /* ONNX_... */
    int64_t until; /* holds below this opset; 0: always */
    bool (*apply)(Importer *im, NodeParts *parts);
} UpgradeRule;

static const UpgradeRule rules[] = {
    {ONNX_ADD, 7, broadcast_along_axis},
    {ONNX_AND, 7, broadcast_along_axis},
    {ONNX_BATCH_NORMALIZATION, 7, drop_is_test},
    {ONNX_BATCH_NORMALIZATION, 9, drop_spatial},
    {ONNX_CAST, 6, name_to_type},
    {ONNX_CLIP, 11, bounds_to_inputs},
    {ONNX_CONCAT, 4, default_concat_axis},
    {ONNX_CONSTANT, 0, sparse_to_dense},
    {ONNX_DIV, 7, broadcast_along_axis},
    {ONNX_DROPOUT, 7, drop_is_test},
    {ONNX_DROPOUT, 12, ratio_to_input},
    {ONNX_EQUAL, 7, broadcast_along_axis},
    {ONNX_GEMM, 7, drop_broadcast},
    {ONNX_GREATER, 7, broadcast_along_axis},
    {ONNX_GROUP_NORMALIZATION, 21, groups_to_channels},
    {ONNX_LESS, 7, broadcast_along_axis},
    {ONNX_LOG_SOFTMAX, 13, softmax_of_matrix},
    {ONNX_MUL, 7, broadcast_along_axis},
    {ONNX_OR, 7, broadcast_along_axis},
    {ONNX_PAD, 11, pads_to_inputs},
    {ONNX_POW, 7, broadcast_along_axis},
    {ONNX_PRELU, 7, slope_per_channel},
    {ONNX_REDUCE_L1, 18, axes_to_input},
    {ONNX_REDUCE_L2, 18, axes_to_input},
    {ONNX_REDUCE_LOG_SUM, 18, axes_to_input},
    {ONNX_REDUCE_LOG_SUM_EXP, 18, axes_to_input},
    {ONNX_REDUCE_MAX, 18, axes_to_input},
    {ONNX_REDUCE_MEAN, 18, axes_to_input},
    {ONNX_REDUCE_MIN, 18, axes_to_input},
    {ONNX_REDUCE_PROD, 18, axes_to_input},
    {ONNX_REDUCE_SUM, 13, axes_to_input},
    {ONNX_REDUCE_SUM_SQUARE, 18, axes_to_input},
    {ONNX_RESHAPE, 5, shape_to_input},
    {ONNX_RESIZE, 11, resize_as_upsample},
    {ONNX_RESIZE, 0, drop_empty_inputs},
    {ONNX_SELU, 6, default_selu_factors},
    {ONNX_SLICE, 10, slice_to_inputs},
    {ONNX_SOFTMAX, 13, softmax_of_matrix},
    {ONNX_SPLIT, 13, split_to_input},
    {ONNX_SQUEEZE, 13, axes_to_input},
    {ONNX_SUB, 7, broadcast_along_axis},
    {ONNX_TILE, 6, copies_along_axis},
    {ONNX_TOP_K, 10, k_to_input},
    {ONNX_TRUNC, 0, trunc_without_scale},
    {ONNX_UNSQUEEZE, 13, axes_to_input},
    {ONNX_UPSAMPLE, 7, sides_to_scales},
    {ONNX_UPSAMPLE, 9, scales_to_input},
    {ONNX_UPSAMPLE, 0, name_linear},
    {ONNX_XOR, 7, broadcast_along_axis},
};

bool import_upgrade_node(Importer *im, NodeParts *parts)
{
    enum { LAST_WITH_CONSUMED_INPUTS = 5 };
    if (im->scope->opset <= LAST_WITH_CONSUMED_INPUTS && !drop_consumed_inputs(im, parts))
        return false;
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        bool is_older = rules[i].until == 0 || im->scope->opset < rules[i].until;
        if (parts->def == &onnx_ops[rules[i].op] && is_older && !rules[i].apply(im, parts))
            return false;
    }
    return true;
}
