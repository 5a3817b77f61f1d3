/* The one table of passes, in order of their names. Tests: lit/driver/list-passes.mir */
#include "driver/driver.h"
#include "lowering/dfg_to_emithls/dfg_to_emithls.h"
#include "lowering/emithls_to_rtl/emithls_to_rtl.h"
#include "lowering/linalg_to_dfg/linalg_to_dfg.h"
#include "lowering/linalg_to_sa/linalg_to_sa.h"
#include "lowering/network_to_program/network_to_program.h"
#include "lowering/onnx_to_linalg/onnx_to_linalg.h"
#include "lowering/tosa_to_linalg/tosa_to_linalg.h"
#include "passes/common/passes.h"
#include "passes/dfg/passes.h"
#include "passes/linalg/passes.h"
#include "passes/onnx/passes.h"
#include "passes/tosa/passes.h"
#include "sim/design/design.h"
#include "target/dse/dse.h"
#include "target/fifo/fifo.h"
#include "target/split/split.h"

const PassTable *driver_all_passes(void)
{
    static const PassDef *const passes[] = {
        &pass_add_dma_ports,
        &pass_add_memory_ports,
        &pass_analyze_kernels,
        &pass_apply_folding,
        &pass_batch_images,
        &pass_batch_sa_network,
        &pass_bound_links,
        &pass_canonicalize,
        &pass_chain_kernels,
        &pass_check_dies,
        &pass_choose_sa_tiles,
        &pass_choose_unroll,
        &pass_connect_cards,
        &pass_convert_dfg_to_emithls,
        &pass_convert_elementwise_to_linalg,
        &pass_convert_emithls_to_rtl,
        &pass_convert_linalg_to_dfg,
        &pass_convert_linalg_to_sa,
        &pass_convert_onnx_to_linalg,
        &pass_convert_to_signless,
        &pass_copy_frames,
        &pass_cross_dies,
        &pass_cse,
        &pass_encode_levels,
        &pass_fit_fifos,
        &pass_inline,
        &pass_insert_reorders,
        &pass_linalg_fold_unit_extent_dims,
        &pass_linalg_fuse_elementwise_ops,
        &pass_linalg_generalize_named_ops,
        &pass_load_weights,
        &pass_lower_sa_network,
        &pass_merge_forks,
        &pass_merge_sa_pools,
        &pass_name_layers,
        &pass_name_tensors,
        &pass_narrow_integers,
        &pass_normalize_layout,
        &pass_onnx_decompose,
        &pass_onnx_fold_batch_norm,
        &pass_onnx_fold_constants,
        &pass_onnx_infer_shapes,
        &pass_onnx_quantize,
        &pass_onnx_set_head,
        &pass_pin_fifos,
        &pass_place_cards,
        &pass_print_op_stats,
        &pass_prove_loaded,
        &pass_record_requantizers,
        &pass_schedule_hls,
        &pass_share_windows,
        &pass_simplify_kernels,
        &pass_size_fifos,
        &pass_split_batch,
        &pass_split_region,
        &pass_split_results,
        &pass_stream_batch_last,
        &pass_stream_initials,
        &pass_stream_weights,
        &pass_strip_debuginfo,
        &pass_symbol_dce,
        &pass_tosa_infer_shapes,
        &pass_tosa_make_broadcastable,
        &pass_tosa_optional_decompositions,
        &pass_tosa_to_arith,
        &pass_tosa_to_linalg,
        &pass_tosa_to_linalg_named,
        &pass_tosa_to_tensor,
    };
    static const PassTable table = {passes, COUNT_OF(passes)};
    return &table;
}
