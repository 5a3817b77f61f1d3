/* Constant folding element by element, for scalars and dense attributes alike. Elements are
 * bit patterns (BigInt), floats included, so that any width folds without loss. */
#ifndef MING_DIALECTS_CONST_FOLD_H
#define MING_DIALECTS_CONST_FOLD_H

#include "ir/attr/attr.h"

typedef struct Lane {
    Arena *arena;             /* for wide integers; gone after the fold */
    const Type *arg_elem;     /* element type of the first operand */
    const Type *result_elem;
    const void *user;
} Lane;

/* Computes one element; false refuses the whole fold. The result has result_elem's width. */
typedef bool LaneFn(const Lane *lane, const BigInt *args, BigInt *out);

#define FOLD_MAX_OPERANDS 3

/* fn over the elements of `count` constants (NULL or non-constant ones: no fold). All are
 * scalars, or all are elements attributes of the result's static shape. Equal results collapse
 * to a splat. NULL: not folded. */
const Attr *lane_fold_all(const Attr *const *operands, size_t count, const Type *result, LaneFn *fn,
                       const void *user);

/* A float function of one, two or three arguments as a lane: computed in double, rounded once
 * to the result. NaN operands come back quieted, as upstream's do. */
typedef double FloatFn1(double a);
typedef double FloatFn2(double a, double b);
bool lane_float1(const Lane *lane, const BigInt *args, BigInt *out, FloatFn1 *fn);
bool lane_float2(const Lane *lane, const BigInt *args, BigInt *out, FloatFn2 *fn);
/* Conversions between integers and floats of up to 64 bits. */
bool lane_load(const Lane *lane, const BigInt *arg, double *out) MUST_CHECK;
/* A NaN in another IEEE format, quiet; `exact` refuses one that would change. */
bool lane_convert_nan(const Lane *lane, const BigInt *arg, BigInt *out, bool exact);
bool lane_from_integer(const Lane *lane, const BigInt *arg, BigInt *out, bool is_signed);
/* `value` has no fraction. One that does not fit is refused, or with `saturate` becomes the
 * nearest that does, NaN 0. */
bool lane_to_integer(const Lane *lane, double value, BigInt *out, bool is_signed, bool saturate);

/* The element of a scalar or splat constant; false for anything else, NULL included. */
bool const_splat_bits(const Attr *attr, BigInt *out) MUST_CHECK;
bool const_int(const Attr *attr, BigInt *out) MUST_CHECK;    /* integer or index elements */
bool const_float(const Attr *attr, double *out) MUST_CHECK;  /* float elements */
bool const_is_int(const Attr *attr, int64_t value);          /* splat of that value */
bool const_is_all_ones(const Attr *attr);
/* Elements of a static shape from scalar constants, one per element in row-major order; the
 * scalars have the shape's element type. */
const Attr *const_from_scalars(const Type *type, const Attr *const *scalars, size_t count);
/* The zero of a type (integer, index, float, static shape of these); NULL if there is none. */
const Attr *const_zero(const Type *type);
/* An integer of a type, splat over a static shape; NULL for dynamic shapes. */
const Attr *const_int_of(const Type *type, const BigInt *value);

#endif
