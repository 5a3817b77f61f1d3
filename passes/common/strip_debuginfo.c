/* strip-debuginfo: replaces every location by the unknown one.
 * Changes: locations of ops and block arguments.
 * Tests: lit/passes/common/strip-debuginfo.mir */
#include "passes/common/passes.h"

static bool strip(Op *op, void *user)
{
    const Attr *unknown = user;
    op->loc = unknown;
    for (uint32_t i = 0; i < op->region_count; i++)
        FOR_EACH_BLOCK(block, op_region(op, i))
            for (uint32_t k = 0; k < block->arg_count; k++) block->args[k]->loc = unknown;
    return true;
}

static bool run_strip_debuginfo(Pass *pass, Op *op)
{
    return op_walk(op, strip, (void *)loc_unknown(pass->ctx));
}

const PassDef pass_strip_debuginfo = {
    .name = "strip-debuginfo",
    .title = "StripDebugInfo",
    .summary = "Strip debug info from all operations",
    .description = "Sets the location of every op and block argument to unknown.",
    .run = run_strip_debuginfo,
};
