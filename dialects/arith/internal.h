/* Inside of dialects/arith: the hooks of rows whose code is not in arith.c. */
#ifndef MING_DIALECTS_ARITH_INTERNAL_H
#define MING_DIALECTS_ARITH_INTERNAL_H

#include "dialects/arith/arith.h"
#include "ir/rewrite/rewrite.h"

typedef bool FoldHook(Op *op, const Attr *const *operands, FoldResult *results);

/* arith_fold_int.c */
FoldHook arith_fold_constant, arith_fold_addi, arith_fold_addui_extended, arith_fold_subi,
    arith_fold_muli, arith_fold_mulsi_extended, arith_fold_mului_extended, arith_fold_divui,
    arith_fold_divsi, arith_fold_ceildivui, arith_fold_ceildivsi, arith_fold_floordivsi,
    arith_fold_remui, arith_fold_remsi, arith_fold_andi, arith_fold_ori, arith_fold_xori,
    arith_fold_shli, arith_fold_shrui, arith_fold_shrsi, arith_fold_maxsi, arith_fold_maxui,
    arith_fold_minsi, arith_fold_minui;
/* arith_fold_float.c */
FoldHook arith_fold_negf, arith_fold_addf, arith_fold_subf, arith_fold_mulf, arith_fold_divf,
    arith_fold_remf, arith_fold_maximumf, arith_fold_maxnumf, arith_fold_minimumf,
    arith_fold_minnumf;
/* arith_fold_cast.c */
FoldHook arith_fold_extui, arith_fold_extsi, arith_fold_extf, arith_fold_trunci, arith_fold_truncf,
    arith_fold_uitofp, arith_fold_sitofp, arith_fold_fptoui, arith_fold_fptosi,
    arith_fold_index_cast, arith_fold_index_castui, arith_fold_bitcast;
/* arith_fold_cmp.c */
FoldHook arith_fold_cmpi, arith_fold_cmpf, arith_fold_select;

/* Hooks that add canonicalization patterns (arith_canon.c, arith_canon_cast.c). */
void arith_canonicalize_addi(PatternSet *set);
void arith_canonicalize_addui_extended(PatternSet *set);
void arith_canonicalize_subi(PatternSet *set);
void arith_canonicalize_muli(PatternSet *set);
void arith_canonicalize_mulsi_extended(PatternSet *set);
void arith_canonicalize_mului_extended(PatternSet *set);
void arith_canonicalize_andi(PatternSet *set);
void arith_canonicalize_ori(PatternSet *set);
void arith_canonicalize_xori(PatternSet *set);
void arith_canonicalize_mulf(PatternSet *set);
void arith_canonicalize_divf(PatternSet *set);
void arith_canonicalize_extsi(PatternSet *set);
void arith_canonicalize_trunci(PatternSet *set);
void arith_canonicalize_index_cast(PatternSet *set);
void arith_canonicalize_index_castui(PatternSet *set);
void arith_canonicalize_bitcast(PatternSet *set);
void arith_canonicalize_cmpi(PatternSet *set);
void arith_canonicalize_cmpf(PatternSet *set);
void arith_canonicalize_select(PatternSet *set);

/* The predicate attribute of a cmpi or cmpf. */
int64_t arith_predicate(const Op *op);

/* Hooks that check types (arith_verify.c). */
bool arith_verify_cast_dims(Op *op);
bool arith_verify_ext(Op *op);
bool arith_verify_trunc(Op *op);
bool arith_verify_int_float(Op *op);
bool arith_verify_index_cast(Op *op);
bool arith_verify_bitcast(Op *op);
bool arith_verify_select_types(Op *op);
bool arith_verify_select(Op *op);

#endif
