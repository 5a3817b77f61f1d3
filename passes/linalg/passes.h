/* Passes on linalg, and convert-elementwise-to-linalg, which leads to it from arith and math.
 * Upstream's passes keep upstream's names and results; the others prepare kernels for streaming.
 *
 * Each PassDef states its name, anchor and options; the opening of its source states what it
 * requires, changes and preserves. The driver builds pipelines of them; docs/reference describes
 * each from its PassDef.
 * Tests: lit/passes/linalg */
#ifndef MING_PASSES_LINALG_PASSES_H
#define MING_PASSES_LINALG_PASSES_H

#include "ir/pass/pass.h"

extern const PassDef pass_analyze_kernels;
extern const PassDef pass_batch_images;
extern const PassDef pass_convert_elementwise_to_linalg;
extern const PassDef pass_convert_to_signless;
extern const PassDef pass_encode_levels;
extern const PassDef pass_linalg_fold_unit_extent_dims;
extern const PassDef pass_linalg_fuse_elementwise_ops;
extern const PassDef pass_linalg_generalize_named_ops;
extern const PassDef pass_name_layers;
extern const PassDef pass_narrow_integers;
extern const PassDef pass_normalize_layout;
extern const PassDef pass_simplify_kernels;
extern const PassDef pass_split_results;
extern const PassDef pass_stream_batch_last;
extern const PassDef pass_stream_initials;

/* Whether each dfg.layout of the function's arguments and results permutes that value's dimensions.
 * False: diagnosed. */
bool layout_check_recorded(Op *func) MUST_CHECK;

#endif
