/* Conversion of AttributeProto to an attribute. Old files have no type tag; then the field that is
 * set decides the type.
 * Tests: test/unit/import/import_test.c */
#include "import/internal.h"

typedef Onnx__AttributeProto__AttributeType AttributeType;
#define KIND(NAME) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##NAME

static AttributeType kind_of(const Onnx__AttributeProto *proto)
{
    if (proto->has_type) return proto->type;
    if (proto->has_f) return KIND(FLOAT);
    if (proto->has_i) return KIND(INT);
    if (proto->has_s) return KIND(STRING);
    if (proto->t) return KIND(TENSOR);
    if (proto->g) return KIND(GRAPH);
    if (proto->sparse_tensor) return KIND(SPARSE_TENSOR);
    if (proto->n_floats) return KIND(FLOATS);
    if (proto->n_ints) return KIND(INTS);
    return proto->n_strings ? KIND(STRINGS) : KIND(UNDEFINED);
}

static const Attr *string_attr(Context *ctx, const ProtobufCBinaryData *bytes)
{
    return attr_string(ctx, (Str){(const char *)bytes->data, bytes->len});
}

static const Attr *strings_attr(Context *ctx, const Onnx__AttributeProto *proto)
{
    const Attr **items = xcalloc(proto->n_strings, sizeof *items);
    for (size_t i = 0; i < proto->n_strings; i++) items[i] = string_attr(ctx, &proto->strings[i]);
    const Attr *array = attr_array(ctx, items, proto->n_strings);
    free_ptr((void **)&items);
    return array;
}

bool import_attribute_is_graph(const Onnx__AttributeProto *proto)
{
    AttributeType kind = kind_of(proto);
    return kind == KIND(GRAPH) || kind == KIND(GRAPHS);
}

const Attr *import_attribute(Context *ctx, const Onnx__AttributeProto *proto, Str folder,
                             StrBuf *why)
{
    switch (kind_of(proto)) {
    case KIND(FLOAT): return attr_float(type_float(ctx, TYPE_F32), (double)proto->f);
    case KIND(INT): return attr_i64(ctx, proto->i);
    case KIND(STRING): return string_attr(ctx, &proto->s);
    case KIND(FLOATS):
        return attr_dense_array(type_float(ctx, TYPE_F32), proto->floats, proto->n_floats);
    case KIND(INTS): return attr_i64_array(ctx, proto->ints, proto->n_ints);
    case KIND(STRINGS): return strings_attr(ctx, proto);
    case KIND(TENSOR):
        if (proto->t) return import_tensor(ctx, proto->t, folder, why);
        strbuf_add_c(why, "has no tensor");
        return NULL;
    case KIND(SPARSE_TENSOR):
        if (proto->sparse_tensor)
            return import_sparse_tensor(ctx, proto->sparse_tensor, folder, why);
        strbuf_add_c(why, "has no tensor");
        return NULL;
    default: strbuf_add_c(why, "has a kind that is not supported"); return NULL;
    }
}
