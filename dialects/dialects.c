/* The list of dialects that the tools know. A dialect is listed after those whose ops its
 * canonicalizations build; registration itself needs no order.
 * Tests: lit/tools/show-dialects.mir */
#include "dialects/affine/affine.h"
#include "dialects/arith/arith.h"
#include "dialects/builtin/builtin.h"
#include "dialects/cf/cf.h"
#include "dialects/comb/comb.h"
#include "dialects/dfg/dfg.h"
#include "dialects/dialects.h"
#include "dialects/dlti/dlti.h"
#include "dialects/emithls/emithls.h"
#include "dialects/func/func.h"
#include "dialects/hw/hw.h"
#include "dialects/index/index.h"
#include "dialects/linalg/linalg.h"
#include "dialects/math/math.h"
#include "dialects/ml_program/ml_program.h"
#include "dialects/onnx/onnx.h"
#include "dialects/quant/quant.h"
#include "dialects/sa/sa.h"
#include "dialects/scf/scf.h"
#include "dialects/seq/seq.h"
#include "dialects/sys/sys.h"
#include "dialects/tensor/tensor.h"
#include "dialects/tosa/tosa.h"
#include "ir/asm/parse/parse.h"

void dialects_register_all(Context *ctx)
{
    static const DialectDef *const all[] = {
        &builtin_dialect, &arith_dialect,      &affine_dialect, &math_dialect, &cf_dialect,
        &func_dialect,    &tensor_dialect,     &linalg_dialect, &dfg_dialect,  &emithls_dialect,
        &onnx_dialect,    &ml_program_dialect, &quant_dialect,  &tosa_dialect, &dlti_dialect,
        &index_dialect,   &scf_dialect,        &hw_dialect,     &comb_dialect, &seq_dialect,
        &sa_dialect,      &sys_dialect,
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) dialect_register(ctx, all[i]);
    dialects_register_foreign(ctx);
}
