/* Whether the pipelines of a design stall or flush.
 * Tests: lit/sim/hls/flush.mir, lit/sim/hls/flush-invalid.mir */
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "sim/design/design.h"

bool design_set_flushing(HlsDesign *design, bool flushes)
{
    for (size_t i = 0; flushes && i < design->processes.len; i++)
        if (design->processes.data[i].rewinds)
            return op_error(design->processes.data[i].loops.data[0].op,
                            "cannot flush, because it rewinds");
    for (size_t i = 0; i < design->processes.len; i++)
        for (size_t l = 0; l < design->processes.data[i].loops.len; l++) {
            HlsLoop *loop = &design->processes.data[i].loops.data[l];
            loop->flushes = flushes && loop->op && !emithls_flush_obstacle(loop->op);
        }
    return true;
}

bool design_flushes(const HlsDesign *design)
{
    for (size_t i = 0; i < design->processes.len; i++)
        for (size_t l = 0; l < design->processes.data[i].loops.len; l++)
            if (design->processes.data[i].loops.data[l].flushes) return true;
    return false;
}
