/* Passes on linalg, and those that lead to it from arith and math. docs/reference describes each
 * from its PassDef. */
#ifndef MING_PASSES_LINALG_PASSES_H
#define MING_PASSES_LINALG_PASSES_H

#include "ir/pass/pass.h"

extern const PassDef pass_analyze_kernels;
extern const PassDef pass_convert_elementwise_to_linalg;
extern const PassDef pass_linalg_fold_unit_extent_dims;
extern const PassDef pass_linalg_fuse_elementwise_ops;
extern const PassDef pass_linalg_generalize_named_ops;
extern const PassDef pass_name_layers;
extern const PassDef pass_narrow_integers;
extern const PassDef pass_normalize_layout;
extern const PassDef pass_split_results;
extern const PassDef pass_stream_initials;

#endif
