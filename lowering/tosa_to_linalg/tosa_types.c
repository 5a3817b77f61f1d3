/* Types of the tosa lowerings: signless types for unsigned ones, and the casts between them.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-tensor.mir,
 * lit/lowering/tosa_to_linalg/tosa-to-linalg-unsigned.mir */
#include "dialects/builtin/builtin.h"
#include "lowering/tosa_to_linalg/internal.h"

const Type *tosa_lower_signless(const Type *type)
{
    const Type *elem = type_elem(type);
    if (!type_is_integer(elem) || elem->u.integer.sign != UNSIGNED) return type;
    elem = type_i(type->ctx, type_width(elem));
    return type_is_tensor(type) ? type_with_elem(type, elem) : elem;
}

Value *tosa_lower_remap(Rewriter *rw, Value *value)
{
    return conversion_remap(rw, value, tosa_lower_signless(value->type));
}

Value *tosa_lower_cast(Builder *b, const Type *type, Value *value)
{
    return build_unary(b, BUILTIN(UNREALIZED_CONVERSION_CAST), type, value);
}
