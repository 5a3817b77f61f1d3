/* Cycles of a program of an overlay in the simulator, without computing anything.
 * Tests: lit/tools/ming-check-overlay.test, lit/tools/ming-overlay-search.test */
#include "sim/engine/engine.h"
#include "tools/internal.h"

/* Banks as large as what lies in them. */
static void size_banks(const Op *program, EngineBank banks[ENGINE_MAX_BANKS])
{
    FOR_EACH_INNER(op, program) {
        bool is_image = op->def == SA(IMAGE);
        if (!is_image && op->def != SA(PORT)) continue;
        uint64_t bytes =
            is_image ? (uint64_t)dense_count(op_attr(op, "value")) : engine_port_bytes(op);
        uint64_t end = (uint64_t)sa_int(op, "address", 0) * SA_BEAT_BYTES + bytes;
        EngineBank *bank = &banks[sa_int(op, SA_ATTR_BANK, 0)];
        if (sa_whole_beats(end) > bank->size) bank->size = sa_whole_beats(end);
    }
}

bool tool_count_cycles(const Op *lowered, const Op *program, const EngineOptions *options,
                       EngineResult *result)
{
    EngineBank banks[ENGINE_MAX_BANKS] = {0};
    EngineOptions engine = *options;
    engine.max_cycles = 0;
    engine.is_timed_only = true;
    size_banks(lowered, banks);
    return engine_run(program, &engine, banks, ENGINE_MAX_BANKS, result);
}
