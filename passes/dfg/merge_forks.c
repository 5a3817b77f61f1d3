/* merge-forks: the process in front of a fork writes the streams of its readers itself, as NN2FPGA's
 * kernels do:
 *
 *   producer ─▶ fork ─┬▶ a          producer ─┬▶ a
 *                     └▶ b                    └▶ b
 *
 * That saves the fork and the FIFO in front of it. Each word is written to all of them in the same
 * iteration, so the producer waits where the fork did. A fork stays at a port of the top function,
 * where processes are placed on dies, and where its function or its producer's is called twice.
 * Requires: a design as convert-dfg-to-emithls leaves it, before its FIFOs are fitted.
 * Changes: the producers get an argument a reader; forks, their calls and the streams in front of them
 * are erased. The other streams keep their names, and what folding.json says of a fork stays in the
 * report of its producer, so that folding files fit designs with forks and without.
 * Tests: lit/passes/dfg/merge-forks.mir, test/e2e/run.py */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "ir/core/core.h"
#include "passes/dfg/internal.h"
#include "passes/dfg/passes.h"

/* A fork, and what writes the stream that it reads. */
typedef struct Fork {
    Op *call, *func;
    Op *producer_call, *producer;
    uint32_t port; /* of the producer */
} Fork;

/* The calls in the top function. */
typedef struct Calls {
    SymbolTables *tables;
    PtrMap once; /* Op* of functions that are called -> itself; NULL: more than once */
} Calls;

static Block *body_of(const Op *op)
{
    return region_entry(op_region(op, 0));
}

static Op *callee_of(const Calls *calls, const Op *call)
{
    return symtabs_lookup(calls->tables, call, op_attr(call, "callee"));
}

static void find_calls(Calls *calls, const Op *top)
{
    FOR_EACH_OP(op, body_of(top)) {
        if (op->def != EMITHLS(CALL)) continue;
        Op *callee = callee_of(calls, op);
        ptrmap_put(&calls->once, callee, ptrmap_has(&calls->once, callee) ? NULL : callee);
    }
}

/* Whether a loop's iterations read a word of the first argument, write it to all others, and do nothing
 * else. */
static bool copies_words(const Op *loop, const Block *args)
{
    const Op *read = body_of(loop)->first;
    uint32_t writes = 0;
    if (!read || read->def != EMITHLS(READ) || op_operand(read, 0) != args->args[0]) return false;
    for (const Op *op = read->next; op; op = op->next, writes++)
        if (op->def != EMITHLS(WRITE) || op_operand(op, 0) != op_result(read, 0)) return false;
    for (uint32_t i = 1; i < args->arg_count; i++)
        if (!args->args[i]->uses || args->args[i]->uses->next) return false;
    return writes > 1 && writes + 1 == args->arg_count;
}

static bool is_fork(const Op *func)
{
    const Block *body = body_of(func);
    return body->first && !body->first->next && body->first->def == EMITHLS(FOR) &&
           copies_words(body->first, body);
}

/* Whether a function may be changed for a call. */
static bool is_free(const Calls *calls, const Op *func)
{
    return ptrmap_get(&calls->once, func) && !op_attr(func, SYS_ATTR_PLACE) &&
           !op_attr(func, SYS_ATTR_INSTANCE);
}

/* Whether a call is of a fork that its producer can replace. */
static bool find_fork(const Calls *calls, Op *call, Fork *out)
{
    *out = (Fork){.call = call, .func = callee_of(calls, call)};
    if (!is_fork(out->func) || !is_free(calls, out->func)) return false;
    const Value *stream = op_operand(call, 0);
    const Op *def = value_def(stream);
    if (!def || def->def != EMITHLS(STREAM)) return false;
    FOR_EACH_USE(use, stream) {
        if (use->owner == call) continue;
        if (use->owner->def != EMITHLS(CALL) || out->producer_call) return false;
        out->producer_call = use->owner;
        out->port = use_index(use);
    }
    if (!out->producer_call) return false;
    out->producer = callee_of(calls, out->producer_call);
    return is_free(calls, out->producer);
}

static const Attr *argument_names(const Op *func)
{
    return op_attr(func, EMITHLS_ATTR_ARG_NAMES);
}

static bool has_argument(const Op *func, Str name)
{
    const Attr *names = argument_names(func);
    for (uint32_t i = 0; i < names->u.array.count; i++)
        if (str_eq(names->u.array.items[i]->u.string, name)) return true;
    return false;
}

static void rename_argument(Op *func, uint32_t index, const char *name)
{
    const Attr *names = argument_names(func);
    VEC(const Attr *) items = {0};
    for (uint32_t i = 0; i < names->u.array.count; i++)
        *vec_push(&items) = i == index ? attr_string_c(func->ctx, name) : names->u.array.items[i];
    op_set_attr(func, EMITHLS_ATTR_ARG_NAMES, attr_array(func->ctx, items.data, items.len));
    vec_free(&items);
}

/* An argument more, which is written wherever that of the port is. The doc gets its name. */
static void add_output(Op *func, uint32_t port, StrBuf *doc)
{
    StrBuf name = {0};
    for (uint32_t n = 0; n == 0 || has_argument(func, strbuf_str(&name)); n++) {
        strbuf_clear(&name);
        strbuf_printf(&name, "out%u", n);
    }
    VEC(Op *) writes = {0};
    Value *from = body_of(func)->args[port];
    Value *arg = port_process_argument(func, name.data, from->type, NULL);
    FOR_EACH_USE(use, from)
        if (use->owner->def == EMITHLS(WRITE)) *vec_push(&writes) = use->owner;
    for (size_t i = 0; i < writes.len; i++) {
        Op *copy = op_clone(writes.data[i], NULL);
        op_set_operand(copy, 1, arg);
        op_insert_after(copy, writes.data[i]);
    }
    strbuf_printf(doc, "%s", name.data);
    strbuf_free(&name);
    vec_free(&writes);
}

/* "words of out0 go to out1 and out2, too" */
static void add_outputs(const Fork *fork)
{
    Op *func = fork->producer;
    const Attr *doc = op_attr(func, EMITHLS_ATTR_DOC);
    StrBuf text = {0};
    if (str_eq_c(argument_names(func)->u.array.items[fork->port]->u.string, "out"))
        rename_argument(func, fork->port, "out0");
    if (doc) strbuf_printf(&text, "%.*s\n", STR_ARG(doc->u.string));
    strbuf_printf(&text, "words of %.*s go to ",
                  STR_ARG(argument_names(func)->u.array.items[fork->port]->u.string));
    for (uint32_t i = 2; i < fork->call->operand_count; i++) {
        if (i > 2) strbuf_add_c(&text, i + 1 < fork->call->operand_count ? ", " : " and ");
        add_output(func, fork->port, &text);
    }
    strbuf_add_c(&text, ", too");
    op_set_attr(func, EMITHLS_ATTR_DOC, attr_string(func->ctx, strbuf_str(&text)));
    strbuf_free(&text);
}

/* Keeps what folding.json says of the fork, and of those that it has replaced itself. */
static void keep_folding(const Fork *fork)
{
    Context *ctx = fork->func->ctx;
    const Ident *key = ident_get_c(ctx, DFG_REPORT_FORKS);
    const Attr *report = op_attr(fork->producer, DFG_ATTR_REPORT),
               *of_fork = op_attr(fork->func, DFG_ATTR_REPORT);
    if (!report || report->kind != ATTR_DICT || !of_fork || of_fork->kind != ATTR_DICT) return;
    const Attr *forks = attr_dict_get_c(report, DFG_REPORT_FORKS);
    const Attr *others = attr_dict_get_c(of_fork, DFG_REPORT_FORKS);
    if (!forks) forks = attr_dict(ctx, NULL, 0);
    const Attr *folding = attr_dict_get_c(of_fork, DFG_REPORT_FOLDING),
               *source = attr_dict_get_c(of_fork, DFG_REPORT_SOURCE);
    const NamedAttr items[] = {build_named_attr(ctx, DFG_REPORT_FOLDING, folding),
                               build_named_attr(ctx, DFG_REPORT_SOURCE, source)};
    if (folding && source)
        forks = attr_dict_set(forks, symbol_name(fork->func), attr_dict(ctx, items, 2));
    for (uint32_t i = 0; others && i < others->u.dict.count; i++)
        forks = attr_dict_set(forks, others->u.dict.items[i].name, others->u.dict.items[i].value);
    op_set_attr(fork->producer, DFG_ATTR_REPORT, attr_dict_set(report, key, forks));
}

/* The tensors that the stream in front of the fork carries are those of the streams behind it. */
static void move_tensors(const Op *from, Op *to)
{
    static const char *const keys[] = {DFG_ATTR_TENSORS, EMITHLS_ATTR_FRAME, EMITHLS_ATTR_WORD};
    if (!to || to->def != EMITHLS(STREAM) || op_attr(to, DFG_ATTR_TENSORS)) return;
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (op_attr(from, keys[i])) op_set_attr(to, keys[i], op_attr(from, keys[i]));
}

static void merge_fork(const Fork *fork)
{
    Op *call = fork->call, *producer_call = fork->producer_call;
    Op *stream = value_def(op_operand(call, 0));
    VEC(Value *) ends = {0};
    for (uint32_t i = 1; i < call->operand_count; i++) *vec_push(&ends) = op_operand(call, i);
    add_outputs(fork);
    keep_folding(fork);
    move_tensors(stream, value_def(ends.data[0]));
    op_erase(call);
    op_set_operand(producer_call, fork->port, ends.data[0]);
    op_replace_operands(producer_call, producer_call->operand_count, 0, ends.data + 1,
                        (uint32_t)ends.len - 1);
    op_erase(stream);
    op_erase(fork->func);
    vec_free(&ends);
}

static bool merge_forks(Pass *pass, Op *module)
{
    Op *top = emithls_top(module);
    uint64_t merged = 0;
    Calls calls = {0};
    Fork fork;
    if (!top) return true;
    calls.tables = symtabs_create();
    find_calls(&calls, top);
    FOR_EACH_OP_SAFE(op, body_of(top)) {
        if (op->def != EMITHLS(CALL) || !find_fork(&calls, op, &fork)) continue;
        merge_fork(&fork);
        merged++;
    }
    symtabs_free(calls.tables);
    ptrmap_free(&calls.once);
    pass_count(pass, "merged", merged);
    pass->unchanged = merged == 0;
    return true;
}

const PassDef pass_merge_forks = {
    .name = "merge-forks",
    .summary = "Let processes write the streams of several readers themselves, without a fork",
    .anchor = "builtin.module",
    .stats = STATS({"merged", "forks that the process in front of them replaces"}),
    .run = merge_forks,
};
