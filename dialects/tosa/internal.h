/* Inside of dialects/tosa: the hooks of rows whose code is not in tosa.c, and what verifiers and
 * folders share. */
#ifndef MING_DIALECTS_TOSA_INTERNAL_H
#define MING_DIALECTS_TOSA_INTERNAL_H

#include "dialects/tosa/tosa.h"
#include "ir/rewrite/rewrite.h"

typedef VEC(int64_t) Dims;

/* Text of ops with regions and of variables (tosa_asm.c). */
bool tosa_parse_cond_if(OpParser *p), tosa_parse_while_loop(OpParser *p),
    tosa_parse_variable(OpParser *p);
void tosa_print_cond_if(OpPrinter *p, const Op *op),
    tosa_print_while_loop(OpPrinter *p, const Op *op),
    tosa_print_variable(OpPrinter *p, const Op *op);

/* Checks (tosa_verify.c, tosa_verify_shape.c). */
typedef bool VerifyHook(Op *op);
VerifyHook tosa_verify_const, tosa_verify_argmax, tosa_verify_avg_pool2d, tosa_verify_clamp,
    tosa_verify_conv, tosa_verify_mul;
VerifyHook tosa_verify_broadcast, tosa_verify_reduce, tosa_verify_reverse, tosa_verify_reshape,
    tosa_verify_slice, tosa_verify_tile, tosa_verify_transpose;
/* Checks that the given result types agree with the inferred ones; unknown extents agree with
 * all. */
VerifyHook tosa_check_reduce, tosa_check_concat, tosa_check_reshape, tosa_check_equal;
bool tosa_has_empty_extent(const Type *type);
bool tosa_same_shape(const Type *a, const Type *b); /* both ranked, extents equal */

/* Folders (tosa_fold.c, tosa_fold_shape.c). */
typedef bool TosaFold(Op *op, const Attr *const *operands, FoldResult *results);
TosaFold tosa_fold_add, tosa_fold_sub, tosa_fold_mul, tosa_fold_int_div, tosa_fold_equal,
    tosa_fold_greater, tosa_fold_greater_equal, tosa_fold_reciprocal, tosa_fold_exp, tosa_fold_log,
    tosa_fold_negate, tosa_fold_abs, tosa_fold_select, tosa_fold_cast;
TosaFold tosa_fold_argmax, tosa_fold_reduce, tosa_fold_concat, tosa_fold_pad, tosa_fold_reshape,
    tosa_fold_resize, tosa_fold_reverse, tosa_fold_slice, tosa_fold_tile, tosa_fold_transpose;
/* Whether a tosa.const of that type may hold the attribute: numbers of the same ranked shape, and
 * of the same element type unless the type is quantized (tosa.c). */
bool tosa_is_constant_of(const Attr *value, const Type *type);
/* Folds the result to that value or constant if it has the result's type. */
bool tosa_folds_to(const Op *op, Value *value, FoldResult *results);
bool tosa_folds_to_attr(const Op *op, const Attr *attr, FoldResult *results);

/* Hooks that add canonicalization patterns (tosa_canon.c). */
void tosa_canonicalize_concat(PatternSet *set), tosa_canonicalize_select(PatternSet *set),
    tosa_canonicalize_transpose(PatternSet *set), tosa_canonicalize_pad(PatternSet *set),
    tosa_canonicalize_max_pool2d(PatternSet *set), tosa_canonicalize_clamp(PatternSet *set),
    tosa_canonicalize_slice(PatternSet *set);

#endif
