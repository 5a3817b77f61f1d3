/* What opsets above 21 added to operators that the dialect has. Semantics of these operators did
 * not change: 22 allowed bfloat16 in more of them, 23 brought float4e2m1, 24 float8e8m0, 25
 * integers of two bits, and some of them attributes, which the table lists. An attribute is taken
 * where it says what holds anyway, and refused else.
 * Tests: lit/import/new-opsets.test */
#include "dialects/onnx/onnx.h"
#include "import/internal.h"

/* An attribute with the number of a type, which must be that of operand 1, the scale. */
static bool is_type_of_scale(Importer *im, const NodeParts *parts, const Attr *value,
                             const char *name)
{
    const Value *scale = parts->operands.len > 1 ? parts->operands.data[1] : NULL;
    if (value->kind != ATTR_INTEGER)
        return strbuf_fail(&im->why, "the attribute '%s' is no integer", name);
    int64_t type = attr_int_value(value);
    if (type == 0 || (scale && onnx_elem_type(im->ctx, type) == type_elem(scale->type)))
        return true;
    return strbuf_fail(&im->why,
                       "the attribute '%s' asks for another type than that of the scale, "
                       "which is not supported",
                       name);
}

/* Modes of rounding to float8e8m0, which no tensor here has. */
static bool changes_nothing(Importer *im, const NodeParts *parts, const Attr *value,
                            const char *name)
{
    (void)im, (void)parts, (void)value, (void)name;
    return true;
}

typedef struct NewAttr {
    int op; /* ONNX_... */
    const char *name;
    int64_t since; /* opset */
    /* Whether the value asks for nothing that the op without the attribute does not do. False: why
     * tells. */
    bool (*holds)(Importer *im, const NodeParts *parts, const Attr *value, const char *name);
} NewAttr;

static const NewAttr new_attrs[] = {
    {ONNX_CAST, "round_mode", 24, changes_nothing},
    {ONNX_DEQUANTIZE_LINEAR, "output_dtype", 23, is_type_of_scale},
    {ONNX_QUANTIZE_LINEAR, "precision", 23, is_type_of_scale},
};

bool import_take_new_attrs(Importer *im, NodeParts *parts)
{
    for (size_t i = 0; i < COUNT_OF(new_attrs); i++) {
        const NewAttr *row = &new_attrs[i];
        if (parts->def != &onnx_ops[row->op]) continue;
        const Attr *value = attr_dict_get_c(parts->attrs, row->name);
        if (!value) continue;
        if (im->scope->opset < row->since)
            return strbuf_fail(&im->why,
                               "the attribute '%s' exists from opset %lld on; the model "
                               "has opset %lld",
                               row->name, (long long)row->since, (long long)im->scope->opset);
        if (!row->holds(im, parts, value, row->name)) return false;
        parts->attrs = attr_dict_set(parts->attrs, ident_get_c(im->ctx, row->name), NULL);
    }
    return true;
}

bool import_no_elem_type(StrBuf *why, int64_t data_type)
{
    static const struct {
        int64_t data_type;
        const char *name;
    } names[] = {{23, "float4e2m1"}, {24, "float8e8m0"}};
    strbuf_printf(why, "has the element type %lld", (long long)data_type);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (names[i].data_type == data_type) strbuf_printf(why, " (%s)", names[i].name);
    return strbuf_fail(why, ", which is not supported");
}
