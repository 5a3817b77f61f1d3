/* Inside of dialects/math: the folders of its rows (math_fold.c). */
#ifndef MING_DIALECTS_MATH_INTERNAL_H
#define MING_DIALECTS_MATH_INTERNAL_H

#include "dialects/math/math.h"

typedef bool FoldHook(Op *op, const Attr *const *operands, FoldResult *results);

FoldHook math_fold_absf, math_fold_absi, math_fold_acosh, math_fold_asin, math_fold_asinh,
    math_fold_atan, math_fold_atanh, math_fold_atan2, math_fold_ceil, math_fold_copysign,
    math_fold_cos, math_fold_acos, math_fold_cosh, math_fold_sin, math_fold_sinh, math_fold_ctlz,
    math_fold_cttz, math_fold_ctpop, math_fold_erf, math_fold_exp, math_fold_exp2, math_fold_expm1,
    math_fold_floor, math_fold_ipowi, math_fold_log, math_fold_log10, math_fold_log1p,
    math_fold_log2, math_fold_powf, math_fold_sqrt, math_fold_tan, math_fold_tanh,
    math_fold_roundeven, math_fold_round, math_fold_trunc;

#endif
