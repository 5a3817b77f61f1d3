/* cross-dies: sets the latency of streams between processes on different dies (sys.place): a word
 * goes through some registers at each border between them, and so does what tells the writer that
 * its place is free. A path over borders of no register would be as long as both dies.
 * Requires: emithls functions, of which all that the top function calls have a place, or none.
 * Changes: latency of streams; one that stays on a die has none.
 * Tests: lit/target/fifo/cross-dies.mir */
#include <stdlib.h>

#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "target/fifo/fifo.h"

/* The processes at a stream, each once; and how many of them: more than two are no process's. */
typedef struct Ends {
    const Op *processes[2];
    uint32_t count;
} Ends;

static Ends ends_of(const Op *stream, SymbolTable *symbols)
{
    Ends ends = {.count = 0};
    for (const Use *use = op_result(stream, 0)->uses; use; use = use->next) {
        if (use->owner->def != EMITHLS(CALL)) continue;
        const Op *process = symtab_get(symbols, op_attr(use->owner, "callee")->u.symbol.names[0]);
        if (process && ends.count < 2) ends.processes[ends.count++] = process;
    }
    return ends;
}

/* Borders on the shortest way between two dies over wires that there are; where the design has no
 * list of them, dies are neighbours in order. */
static int64_t distance(const Op *module, int64_t from, int64_t to)
{
    const Attr *links = op_attr(module, SYS_ATTR_LINKS);
    int64_t most = SYS_MAX_DIES, far[SYS_MAX_DIES];
    if (!links || links->u.array.count == 0) return llabs(from - to);
    for (int64_t i = 0; i < most; i++) far[i] = i == from ? 0 : most;
    for (int64_t round = 1; round < most; round++)
        for (uint32_t i = 0; i < links->u.array.count; i++) {
            const Attr *link = links->u.array.items[i],
                       *ends = attr_dict_get_c(link, SYS_LINK_DIES);
            int64_t a = dense_array_i64(ends, 0), b = dense_array_i64(ends, 1);
            if (attr_dict_int(link, SYS_LINK_WIRES, 0) <= 0) continue;
            if (a < 0 || b < 0 || a >= most || b >= most) continue;
            far[b] = i64_min(far[b], far[a] + 1);
            far[a] = i64_min(far[a], far[b] + 1);
        }
    return far[to] < most ? far[to] : llabs(from - to);
}

/* False: diagnosed. */
static bool count_borders(const Op *module, Op *stream, const Ends *ends, int64_t *out)
{
    SysPlace places[2];
    *out = 0;
    for (uint32_t i = 0; i < ends->count; i++)
        if (!sys_place(ends->processes[i], &places[i])) {
            SysPlace other;
            return ends->count < 2 || !sys_place(ends->processes[1 - i], &other) ||
                   op_error(stream, "joins a process that has a place with one that has none");
        }
    if (ends->count < 2) return true;
    if (places[0].card != places[1].card)
        return op_error(stream,
                        "joins processes of cards %lld and %lld, between which there is no link",
                        (long long)places[0].card, (long long)places[1].card);
    *out = distance(module, places[0].die, places[1].die);
    return true;
}

static bool cross_dies(Pass *pass, Op *module)
{
    const Op *top = emithls_top(module);
    int64_t cycles = pass_int(pass, "cycles"), borders = 0;
    SymbolTable symbols;
    bool ok = true;
    if (!top) return true;
    symtab_init(&symbols, module);
    FOR_EACH_OP(op, region_entry(op_region(top, 0))) {
        if (op->def != EMITHLS(STREAM) || op_attr(op, SYS_ATTR_LINK)) continue;
        const Ends ends = ends_of(op, &symbols);
        if (!count_borders(module, op, &ends, &borders)) {
            ok = false;
            continue;
        }
        op_set_attr(op, EMITHLS_ATTR_LATENCY,
                    borders > 0 && cycles > 0 ? attr_i64(op->ctx, 1 + borders * cycles) : NULL);
    }
    symtab_free(&symbols);
    return ok;
}

const PassDef pass_cross_dies = {
    .name = "cross-dies",
    .summary = "Give streams between dies the latency of the registers at the borders",
    .anchor = "builtin.module",
    .options = OPTIONS({"cycles", OPTION_INT, "4", "registers at a border", 0, 64}),
    .run = cross_dies,
};
