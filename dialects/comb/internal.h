/* Inside of dialects/comb: the folders, which are in comb_fold.c. */
#ifndef MING_DIALECTS_COMB_INTERNAL_H
#define MING_DIALECTS_COMB_INTERNAL_H

#include "dialects/comb/comb.h"

typedef bool CombFold(Op *op, const Attr *const *operands, FoldResult *results);
CombFold comb_fold_add, comb_fold_sub, comb_fold_mul, comb_fold_and, comb_fold_or, comb_fold_xor,
    comb_fold_shl, comb_fold_shru, comb_fold_shrs, comb_fold_icmp, comb_fold_extract,
    comb_fold_concat, comb_fold_replicate, comb_fold_mux;

#endif
