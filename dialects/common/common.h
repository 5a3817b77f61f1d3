/* Parts that several dialects share: constant folding element by element, enumeration attributes,
 * and the field macros of op rows.
 *
 * Functions that fold return NULL or false if they do not fold, which is never an error. All
 * dialects and the tosa passes build on this module.
 * Tests: test/unit/dialects/common, lit/dialects/arith/canonicalize.mir */
#ifndef MING_DIALECTS_COMMON_COMMON_H
#define MING_DIALECTS_COMMON_COMMON_H

#include "ir/asm/parse/parse.h"
#include "ir/attr/attr.h"
#include "ir/core/core.h"

/* Constant folding element by element ("lanes"), for scalars and dense attributes alike. An element
 * is its bit pattern (BigInt), floats included, so that any width folds without loss. */
typedef struct Lane {
    Arena *arena;         /* for wide integers; gone after the fold */
    const Type *arg_elem; /* element type of the first operand */
    const Type *result_elem;
    const void *user;
} Lane;

/* Computes one element of a result from those of the operands. False refuses the whole fold. The
 * result must have the width of result_elem. */
typedef bool LaneFn(const Lane *lane, const BigInt *args, BigInt *out);

#define FOLD_MAX_OPERANDS 3

/* Applies fn to the elements of `count` constants. They must be all scalars, or all elements
 * attributes of the result's static shape. Equal results collapse to a splat. NULL: not folded, as
 * always if an operand is NULL or no constant. */
const Attr *lane_fold_all(const Attr *const *operands, size_t count, const Type *result, LaneFn *fn,
                          const void *user);

/* A float function of one or two arguments as a lane. It is computed in double and rounded once to
 * the result. NaN operands come back quieted, as upstream's do. */
typedef double FloatFn1(double a);
typedef double FloatFn2(double a, double b);
bool lane_float1(const Lane *lane, const BigInt *args, BigInt *out, FloatFn1 *fn);
bool lane_float2(const Lane *lane, const BigInt *args, BigInt *out, FloatFn2 *fn);
/* The bits of a float, a NaN too, with that sign. Zero and NaN stay in a format that has but one of
 * each. */
BigInt lane_with_sign(const Lane *lane, const BigInt *value, bool is_negative);
/* Conversions between integers and floats of up to 64 bits. False: the value cannot be
 * converted. */
bool lane_load(const Lane *lane, const BigInt *arg, double *out) MUST_CHECK;
/* A NaN in another IEEE format, made quiet; with `exact`, one that would change is refused. */
bool lane_convert_nan(const Lane *lane, const BigInt *arg, BigInt *out, bool exact);
bool lane_from_integer(const Lane *lane, const BigInt *arg, BigInt *out, bool is_signed);
/* `value` must have no fraction. One that does not fit is refused, or with `saturate` becomes the
 * nearest number that fits, NaN becoming 0. */
bool lane_to_integer(const Lane *lane, double value, BigInt *out, bool is_signed, bool saturate);

/* Readers of constants. The element of a scalar or splat constant; false for anything else, NULL
 * included. */
bool const_splat_bits(const Attr *attr, BigInt *out) MUST_CHECK;
bool const_int(const Attr *attr, BigInt *out) MUST_CHECK;   /* integer or index elements */
bool const_float(const Attr *attr, double *out) MUST_CHECK; /* float elements */
bool const_is_int(const Attr *attr, int64_t value);         /* splat of that value */
bool const_is_all_ones(const Attr *attr);
/* A dense attribute of a static shape from scalar constants, one per element in row-major order.
 * The scalars must have the shape's element type. */
const Attr *const_from_scalars(const Type *type, const Attr *const *scalars, size_t count);
/* The zero of a type (integer, index, float, or a static shape of these); NULL if the type has
 * none. */
const Attr *const_zero(const Type *type);
/* An integer of a type, as a splat over a static shape; NULL for dynamic shapes. */
const Attr *const_int_of(const Type *type, const BigInt *value);

/* Enumeration attributes, #dialect.name<keyword>: attributes of one integer parameter. The
 * parameter of a flag set has a bit per keyword; its keywords are printed with a separator. */

typedef struct EnumSpec {
    const AttrDef *def;
    const char *cpp_name;     /* upstream's C++ enum, for its messages: "::mlir::…::Flags" */
    const char *td_name;      /* and its attribute's record name */
    const char *const *names; /* NULL-terminated; of values 0, 1, 2, … */
    const char *separator;    /* of flag sets: names[0] is 0, names[i] is bit i - 1; else NULL */
    const char *all;          /* of flag sets: keyword of all bits together, or NULL */
} EnumSpec;

/* Parses "<" keyword ">", or for flag sets "<" keyword ("," keyword)* ">". NULL: diagnosed. */
const Attr *enum_attr_parse(OpParser *p, const EnumSpec *spec);
void enum_attr_print(StrBuf *out, const Attr *attr, const EnumSpec *spec);
const Attr *enum_attr_get(Context *ctx, const EnumSpec *spec, int64_t value);
int64_t enum_attr_value(const Attr *attr);

/* Field macros for the rows of <d>_ops.def. Each stands for one operand, result, attribute or
 * region:
 *   .operands = ARGS(ONE("lhs", TYPE_ANY), MANY("rest", TYPE_INDEX_ONLY))
 *   .attrs = ATTRS(REQUIRED("value", ATTR_IS_TYPED), OPTIONAL("doc", ATTR_IS_STRING)) */

#define ONE(NAME, TYPE)                                                                            \
    {                                                                                              \
        .name = (NAME), .type = &(TYPE), .arity = ARITY_ONE                                        \
    }
#define MAYBE(NAME, TYPE)                                                                          \
    {                                                                                              \
        .name = (NAME), .type = &(TYPE), .arity = ARITY_OPTIONAL                                   \
    }
#define MANY(NAME, TYPE)                                                                           \
    {                                                                                              \
        .name = (NAME), .type = &(TYPE), .arity = ARITY_VARIADIC                                   \
    }

#define REQUIRED(NAME, ATTR)                                                                       \
    {                                                                                              \
        .name = (NAME), .attr = &(ATTR)                                                            \
    }
#define OPTIONAL(NAME, ATTR)                                                                       \
    {                                                                                              \
        .name = (NAME), .attr = &(ATTR), .optional = true                                          \
    }
/* An attribute that gets its default as its value if it is not given. */
#define DEFAULTED(NAME, ATTR, TEXT)                                                                \
    {                                                                                              \
        .name = (NAME), .attr = &(ATTR), .default_text = (TEXT)                                    \
    }
/* An attribute that stays absent if it is not given, which means the default. */
#define OPTIONAL_DEFAULT(NAME, ATTR, TEXT)                                                         \
    {                                                                                              \
        .name = (NAME), .attr = &(ATTR), .optional = true, .default_text = (TEXT)                  \
    }

#define BODY(NAME)                                                                                 \
    {                                                                                              \
        .name = (NAME), .single_block = true                                                       \
    }
#define BLOCKS(NAME)                                                                               \
    {                                                                                              \
        .name = (NAME), .any_blocks = true                                                         \
    }

#endif
