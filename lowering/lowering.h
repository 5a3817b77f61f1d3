/* The lowerings between levels, as passes. */
#ifndef MING_LOWERING_LOWERING_H
#define MING_LOWERING_LOWERING_H

#include "ir/pass/pass.h"

extern const PassDef pass_add_memory_ports;
extern const PassDef pass_load_weights;
extern const PassDef pass_convert_onnx_to_linalg;
extern const PassDef pass_convert_linalg_to_dfg;
extern const PassDef pass_convert_dfg_to_emithls;
extern const PassDef pass_insert_reorders;
extern const PassDef pass_narrow_integers;
extern const PassDef pass_tosa_to_arith;
extern const PassDef pass_tosa_to_linalg;
extern const PassDef pass_tosa_to_linalg_named;
extern const PassDef pass_tosa_to_tensor;

#endif
