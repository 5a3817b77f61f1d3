/* Upstream's dialects whose ops are not implemented. Their attributes and types may occur on ops
 * that are, and are carried through.
 * Tests: lit/ir/asm/parse/foreign-dialects.mir, lit/dialects/sparse_tensor */
#include "dialects/complex/complex.h"
#include "dialects/dialects.h"
#include "dialects/sparse_tensor/sparse_tensor.h"

/* clang-format off */
#define NAMES(X)                                                                                   \
    X(acc)                                                                                         \
    X(affine)                                                                                      \
    X(amdgpu) X(amx) X(arm_neon) X(arm_sme) X(arm_sve) X(async) X(bufferization) X(emitc) X(gpu)   \
        X(irdl) X(llvm) X(memref) X(mesh) X(mpi) X(nvgpu) X(nvvm) X(omp) X(pdl) X(pdl_interp)      \
            X(polynomial) X(rocdl) X(shape) X(spirv) X(transform) X(ub) X(vcix) X(vector)          \
                X(x86vector) X(xegpu)
/* clang-format on */

#define X(NAME) {.name = #NAME},
static const DialectDef OTHERS[] = {
    NAMES(X){.name = "ptr", .types_in_memory = true},
    {.name = "test", .types_in_memory = true},
};
#undef X

void dialects_register_foreign(Context *ctx)
{
    dialect_register_foreign(ctx, &complex_dialect);
    dialect_register_foreign(ctx, &sparse_tensor_dialect);
    for (size_t i = 0; i < COUNT_OF(OTHERS); i++) dialect_register_foreign(ctx, &OTHERS[i]);
}
