/* Passes within a level.
 * Each is described in docs/passes.md from its PassDef. Tests: lit/passes/<name>.mir */
#ifndef MING_PASSES_PASSES_H
#define MING_PASSES_PASSES_H

#include "ir/pass/pass.h"

extern const PassDef pass_analyze_kernels;
extern const PassDef pass_canonicalize;
extern const PassDef pass_convert_elementwise_to_linalg;
extern const PassDef pass_cse;
extern const PassDef pass_inline;
extern const PassDef pass_linalg_fold_unit_extent_dims;
extern const PassDef pass_linalg_fuse_elementwise_ops;
extern const PassDef pass_linalg_generalize_named_ops;
extern const PassDef pass_name_layers;
extern const PassDef pass_normalize_layout;
extern const PassDef pass_onnx_decompose;
extern const PassDef pass_onnx_fold_constants;
extern const PassDef pass_onnx_infer_shapes;
extern const PassDef pass_onnx_quantize;
extern const PassDef pass_print_op_stats;
extern const PassDef pass_split_results;
extern const PassDef pass_stream_initials;
extern const PassDef pass_strip_debuginfo;
extern const PassDef pass_symbol_dce;
extern const PassDef pass_tosa_infer_shapes;
extern const PassDef pass_tosa_make_broadcastable;
extern const PassDef pass_tosa_optional_decompositions;

#endif
