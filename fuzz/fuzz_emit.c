/* Fuzz target for the emitter and the simulation: a module that verifies is emitted and simulated,
 * or refused with a diagnostic. */
#include "fuzz/fuzz_support.h"
#include "ir/asm/parse/parse.h"

void fuzz_emit(const uint8_t *data, size_t size)
{
    enum { MOST_ELEMENTS = 1 << 12 };
    static FuzzContext reused;
    Context *ctx = fuzz_context_take(&reused);
    Op *module = parse_module(ctx, (Str){(const char *)data, size}, FUZZ_SOURCE, NULL);
    if (module && fuzz_is_small(module, MOST_ELEMENTS)) fuzz_check_design(module);
    if (module) op_erase(module);
    fuzz_context_give_back(&reused);
}
