/* Constraints of types and attributes that several dialects use, in the words of upstream's
 * diagnostics. A dialect's own constraints are beside its table.
 * Tests: test/unit/ir/core/opdef_test.c, lit/ir/verify/verify.mir */
#include "ir/core/core.h"

static bool is_any_type(const Type *type)
{
    (void)type;
    return true;
}

static bool is_index(const Type *type)
{
    return type->kind == TYPE_INDEX;
}

static bool is_i1(const Type *type)
{
    return type_is_int_width(type, 1);
}

static bool is_signless_int(const Type *type)
{
    return type->kind == TYPE_INTEGER && type->u.integer.sign == SIGNLESS;
}

/* The type itself, or the element of a vector or tensor: what "-like" means. */
static const Type *scalar_of(const Type *type)
{
    bool is_container = type->kind == TYPE_VECTOR || type_is_tensor(type);
    return is_container ? type_elem(type) : type;
}

static bool is_signless_int_or_index(const Type *type)
{
    return is_signless_int(type) || is_index(type);
}

static bool is_signless_integer_like(const Type *type)
{
    return is_signless_int_or_index(scalar_of(type));
}

static bool is_float_like(const Type *type)
{
    return type_is_float(scalar_of(type));
}

static bool is_bool_like(const Type *type)
{
    return is_i1(scalar_of(type));
}

static bool is_ranked_tensor(const Type *type)
{
    return type->kind == TYPE_RANKED_TENSOR;
}

static bool is_static_tensor(const Type *type)
{
    return type_is_tensor(type) && type_is_static(type);
}

static const Type *bare_i64(Context *ctx)
{
    return type_i(ctx, 64);
}

static const Type *bare_i32(Context *ctx)
{
    return type_i(ctx, 32);
}

static const Type *bare_i1(Context *ctx)
{
    return type_i(ctx, 1);
}

const TypeConstraint TYPE_ANY = {.test = is_any_type, .what = "any type"};
const TypeConstraint TYPE_ANY_INTEGER = {.test = type_is_integer, .what = "integer"};
const TypeConstraint TYPE_SIGNLESS_INTEGER_LIKE = {.test = is_signless_integer_like,
                                                   .what = "signless-integer-like"};
const TypeConstraint TYPE_FLOAT_LIKE = {.test = is_float_like, .what = "floating-point-like"};
const TypeConstraint TYPE_INDEX_ONLY = {.test = is_index, .what = "index", .only = type_index};
const TypeConstraint TYPE_I1 = {.test = is_i1, .what = "1-bit signless integer", .only = bare_i1};
const TypeConstraint TYPE_BOOL_LIKE = {.test = is_bool_like, .what = "bool-like"};
const TypeConstraint TYPE_ANY_TENSOR = {
    .test = type_is_tensor, .what = "tensor of any type values", .parses = type_is_tensor};
const TypeConstraint TYPE_RANKED_TENSOR_ONLY = {.test = is_ranked_tensor,
                                                .what = "ranked tensor of any type values",
                                                .parses = is_ranked_tensor};
const TypeConstraint TYPE_STATIC_TENSOR = {.test = is_static_tensor,
                                           .what = "statically shaped tensor of any type values",
                                           .parses = is_ranked_tensor};
const TypeConstraint TYPE_ANY_SHAPED = {.test = type_is_shaped,
                                        .what = "shaped of any type values"};

bool constraint_stores(const AttrConstraint *constraint, const Attr *attr)
{
    if (constraint->stores) return constraint->stores(attr);
    return !constraint->test || constraint->test(attr);
}

bool constraint_is_integer(const Attr *attr)
{
    return attr->kind == ATTR_INTEGER;
}

static bool is_any_attr(const Attr *attr)
{
    (void)attr;
    return true;
}

bool constraint_is_string(const Attr *attr)
{
    return attr->kind == ATTR_STRING;
}

static bool is_integer_of(const Attr *attr, uint32_t width)
{
    return attr->kind == ATTR_INTEGER && type_is_int_width(attr->type, width);
}

static bool is_i64_attr(const Attr *attr)
{
    return is_integer_of(attr, 64);
}

static bool is_i32_attr(const Attr *attr)
{
    return is_integer_of(attr, 32);
}

static bool is_bool_attr(const Attr *attr)
{
    return is_integer_of(attr, 1);
}

static bool is_unit(const Attr *attr)
{
    return attr->kind == ATTR_UNIT;
}

bool constraint_is_type(const Attr *attr)
{
    return attr->kind == ATTR_TYPE;
}

bool constraint_is_array(const Attr *attr)
{
    return attr->kind == ATTR_ARRAY;
}

static bool is_dict(const Attr *attr)
{
    return attr->kind == ATTR_DICT;
}

static bool is_map(const Attr *attr)
{
    return attr->kind == ATTR_AFFINE_MAP;
}

static bool is_set(const Attr *attr)
{
    return attr->kind == ATTR_INTEGER_SET;
}

static bool is_elements(const Attr *attr)
{
    return attr->kind == ATTR_DENSE || attr->kind == ATTR_DENSE_STRINGS ||
           attr->kind == ATTR_DENSE_RESOURCE || attr->kind == ATTR_SPARSE;
}

bool constraint_is_dense_ints(const Attr *attr)
{
    if (attr->kind != ATTR_DENSE) return false;
    const Type *elem = type_elem(attr->type);
    return type_is_integer(elem) || elem->kind == TYPE_INDEX;
}

bool constraint_is_i64_array(const Attr *attr)
{
    return attr->kind == ATTR_DENSE_ARRAY && type_is_int_width(attr->u.dense_array.elem, 64);
}

static bool is_flat_symbol(const Attr *attr)
{
    return attr->kind == ATTR_SYMBOL_REF && attr->u.symbol.count == 1;
}

static bool is_function_type(const Attr *attr)
{
    return attr->kind == ATTR_TYPE && attr->u.type_value->kind == TYPE_FUNCTION;
}

static bool is_dict_array(const Attr *attr)
{
    if (attr->kind != ATTR_ARRAY) return false;
    for (uint32_t i = 0; i < attr->u.array.count; i++)
        if (attr->u.array.items[i]->kind != ATTR_DICT) return false;
    return true;
}

static bool is_typed(const Attr *attr)
{
    return attr->type != NULL || attr->kind == ATTR_STRING;
}

const AttrConstraint ATTR_ANY_ATTR = {.test = is_any_attr, .what = "any attribute"};
const AttrConstraint ATTR_IS_STRING = {
    .test = constraint_is_string, .what = "string attribute", .syntax = ATTR_SYNTAX_STRING};
const AttrConstraint ATTR_IS_SYMBOL_NAME = {
    .test = constraint_is_string, .what = "string attribute", .syntax = ATTR_SYNTAX_SYMBOL_NAME};
const AttrConstraint ATTR_IS_I64 = {.test = is_i64_attr,
                                    .stores = constraint_is_integer,
                                    .what = "64-bit signless integer attribute",
                                    .syntax = ATTR_SYNTAX_BARE_INT,
                                    .bare_type = bare_i64};
const AttrConstraint ATTR_IS_I32 = {.test = is_i32_attr,
                                    .stores = constraint_is_integer,
                                    .what = "32-bit signless integer attribute",
                                    .syntax = ATTR_SYNTAX_BARE_INT,
                                    .bare_type = bare_i32};
const AttrConstraint ATTR_IS_BOOL = {
    .test = is_bool_attr, .what = "bool attribute", .bare_type = bare_i1};
const AttrConstraint ATTR_IS_UNIT = {
    .test = is_unit, .what = "unit attribute", .syntax = ATTR_SYNTAX_UNIT};
const AttrConstraint ATTR_IS_TYPE = {
    .test = constraint_is_type, .what = "any type attribute", .syntax = ATTR_SYNTAX_TYPE};
const AttrConstraint ATTR_IS_ARRAY = {.test = constraint_is_array, .what = "array attribute"};
const AttrConstraint ATTR_IS_DICT = {.test = is_dict,
                                     .what = "dictionary of named attribute values"};
const AttrConstraint ATTR_IS_MAP = {.test = is_map, .what = "AffineMap attribute"};
const AttrConstraint ATTR_IS_SET = {.test = is_set, .what = "IntegerSet attribute"};
const AttrConstraint ATTR_IS_ELEMENTS = {.test = is_elements,
                                         .what = "constant vector/tensor attribute"};
const AttrConstraint ATTR_IS_I64_ARRAY = {.test = constraint_is_i64_array,
                                          .what = "i64 dense array attribute",
                                          .syntax = ATTR_SYNTAX_INT_LIST};
const AttrConstraint ATTR_IS_FLAT_SYMBOL = {.test = is_flat_symbol,
                                            .what = "flat symbol reference attribute"};
const AttrConstraint ATTR_IS_FUNCTION_TYPE = {.test = is_function_type,
                                              .stores = constraint_is_type,
                                              .what = "type attribute of function type",
                                              .syntax = ATTR_SYNTAX_TYPE};
const AttrConstraint ATTR_IS_DICT_ARRAY = {
    .test = is_dict_array, .stores = constraint_is_array, .what = "Array of dictionary attributes"};
const AttrConstraint ATTR_IS_TYPED = {.test = is_typed, .what = "TypedAttr instance"};
