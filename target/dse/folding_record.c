/* Records the choices of a design in the processes' reports, from which the folding file is
 * written.
 * Requires: a region as dse_apply leaves it.
 * Tests: lit/target/dse/folding.test, test/e2e/run.py */
#include <assert.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "ir/core/core.h"
#include "schedule/schedule.h"
#include "target/dse/dse.h"

typedef VEC(NamedAttr) Items;

static void add_item(Items *items, Context *ctx, const char *name, const Attr *value)
{
    if (value) *vec_push(items) = build_named_attr(ctx, name, value);
}

/* "auto" for what is no memory in this design. */
static const Attr *storage_of(const FoldingMemory *memory)
{
    const Attr *storage = op_attr(memory->op, DFG_ATTR_STORAGE);
    if (storage && storage->kind == ATTR_ARRAY)
        storage =
            memory->level < storage->u.array.count ? storage->u.array.items[memory->level] : NULL;
    return storage && storage->kind == ATTR_STRING ? storage
                                                   : attr_string_c(memory->op->ctx, "auto");
}

/* Of all memories of a role: a string for one, a list for several; NULL where none has been
 * chosen. */
static const Attr *role_storage(Context *ctx, const FoldingMemories *memories, const char *role)
{
    VEC(const Attr *) kinds = {0};
    bool is_chosen = false;
    for (size_t i = 0; i < memories->len; i++) {
        const FoldingMemory *memory = &memories->data[i];
        if (strcmp(memory->role, role) != 0) continue;
        *vec_push(&kinds) = storage_of(memory);
        is_chosen |= op_attr(memory->op, DFG_ATTR_STORAGE) != NULL;
    }
    const Attr *result = !is_chosen       ? NULL
                         : kinds.len == 1 ? kinds.data[0]
                                          : attr_array(ctx, kinds.data, kinds.len);
    vec_free(&kinds);
    return result;
}

static const Attr *process_storage(Op *process)
{
    static const char *const roles[] = {"weights", "initial", "params", "levels", "kept",
                                        "partial", "lines",   "buffer", "parts"};
    FoldingMemories memories = {0};
    Items items = {0};
    bool ok = folding_memories(process, &memories);
    assert(ok);
    (void)ok;
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        add_item(&items, process->ctx, roles[i], role_storage(process->ctx, &memories, roles[i]));
    const Attr *dict = items.len ? attr_dict(process->ctx, items.data, items.len) : NULL;
    vec_free(&memories);
    vec_free(&items);
    return dict;
}

static const Attr *port_words(const Op *process)
{
    VEC(const Attr *) words = {0};
    uint32_t ports = dfg_input_count(process) + dfg_output_count(process);
    for (uint32_t i = 0; i < ports; i++) {
        int64_t word[2 * DFG_MAX_RANK];
        const Type *end = dfg_port(process, i)->type;
        dfg_word(end, word);
        *vec_push(&words) = attr_i64_array(process->ctx, word, dfg_payload(end)->u.shaped.rank);
    }
    const Attr *list = attr_array(process->ctx, words.data, words.len);
    vec_free(&words);
    return list;
}

/* Whether words of a stream hold more than an iteration takes, as those of sums in front of an
 * epilogue may. A reduction's follow from its factors. */
static bool has_words_of_its_own(const ComputeSchedule *sched)
{
    bool takes_turns = false;
    for (uint32_t s = 0; s < sched->stream_count; s++) {
        WordTurns turns;
        sched_word_turns(sched, s, &turns);
        takes_turns |= turns.turns > 1;
    }
    return takes_turns && sched->kernel.class == KERNEL_PURE_PARALLEL;
}

static const Attr *process_folding(Op *process)
{
    Context *ctx = process->ctx;
    Items items = {0};
    ProcessKind kind;
    ComputeSchedule sched;
    bool ok = sched_process_kind(process, &kind);
    assert(ok);
    if (kind == PROCESS_COMPUTE) {
        ok = sched_compute_now(process, &sched);
        assert(ok);
        add_item(&items, ctx, DFG_FOLDING_UNROLL, op_attr(sched.main, DFG_ATTR_UNROLL));
        add_item(&items, ctx, DFG_FOLDING_MULTIPLIER, op_attr(sched.main, DFG_ATTR_MULTIPLIER));
        add_item(&items, ctx, DFG_FOLDING_ORDER, op_attr(sched.main, DFG_ATTR_ORDER));
        add_item(&items, ctx, DFG_FOLDING_REQUANTIZER, dse_chosen_forms(process));
        if (has_words_of_its_own(&sched))
            add_item(&items, ctx, DFG_FOLDING_WORDS, port_words(process));
    } else if (kind != PROCESS_CONVERTER) {
        add_item(&items, ctx, DFG_FOLDING_WORDS, port_words(process));
    }
    (void)ok;
    if (kind != PROCESS_CONVERTER)
        add_item(&items, ctx, DFG_FOLDING_STORAGE, process_storage(process));
    const Attr *dict = attr_dict(ctx, items.data, items.len);
    vec_free(&items);
    return dict;
}

void folding_record(Op *module, const Op *region)
{
    SymbolTable symbols;
    const Ident *name = ident_get_c(module->ctx, DFG_REPORT_FOLDING);
    symtab_init(&symbols, module);
    FOR_EACH_OP(op, region_entry(op_region(region, 0))) {
        if (op->def != DFG(INSTANTIATE)) continue;
        Op *process = symtab_get(&symbols, op_attr(op, "callee")->u.symbol.names[0]);
        const Attr *report = op_attr(process, DFG_ATTR_REPORT);
        op_set_attr(process, DFG_ATTR_REPORT,
                    attr_dict_set(report, name, process_folding(process)));
    }
    symtab_free(&symbols);
}
