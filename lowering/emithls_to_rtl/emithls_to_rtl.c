/* The pass. It requires a module with a top function of emithls, which it replaces, with everything
 * else of emithls, by modules of hw. Other ops and the module's attributes stay.
 * Tests: lit/lowering/emithls_to_rtl */
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "lowering/emithls_to_rtl/emithls_to_rtl.h"
#include "lowering/emithls_to_rtl/internal.h"

static bool run(Pass *pass, Op *module)
{
    bool is_generic = str_eq_c(pass_string(pass, "primitives"), "generic");
    Block *body = region_entry(op_region(module, 0));
    FOR_EACH_OP(op, body)
        if (op->def == SYS(SYSTEM))
            return op_error(op,
                            "is made of kernels, which become no modules; convert the design as "
                            "it is before split-region");
    HlsDesign *design = design_create(module, clock_of_module(module, design_clock_mhz(module)));
    if (!design) return false;
    const Op *last = body->last;
    Builder b = builder_at_end(body, module->loc);
    bool ok = to_rtl_design(design, is_generic, &b);
    design_free(design);
    if (!ok) return false;
    bool is_old = true;
    FOR_EACH_OP_SAFE(op, body) {
        bool is_last = op == last;
        if (is_old && op->def && op->def->dialect == &emithls_dialect) op_erase(op);
        is_old &= !is_last;
    }
    return true;
}

static const char *const primitives[] = {"xilinx", "generic", NULL};

const PassDef pass_convert_emithls_to_rtl = {
    .name = "convert-emithls-to-rtl",
    .summary = "From loops over streams to modules of registers and logic.",
    .description =
        "Each process becomes a module in which every op happens in the cycle that `ming sim` "
        "reckons with, each stream a FIFO, and the top function a module that wires them, with "
        "AXI-Stream ports. Processes compute with integers, in pipelined loops and code beside "
        "them; "
        "anything else is refused. "
        "The clock is that of the schedule, or the one that fit-fifos has noted, or the budget's, "
        "or " STRINGIFY(CLOCK_DEFAULT_MHZ) " MHz.",
    .anchor = "builtin.module",
    .options = OPTIONS({.name = "primitives",
                        .kind = OPTION_STRING,
                        .fallback = "xilinx",
                        .help = "Whether DSP slices and shift registers are instantiated as the "
                                "vendor's cells, or written as expressions: xilinx or generic",
                        .choices = primitives}),
    .run = run,
};
