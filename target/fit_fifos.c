/* fit-fifos: gives FIFOs deeper than two words the depth that they use in a self-timed simulation
 * that has become periodic. With those depths the network does the same in each cycle, so it never
 * deadlocks and keeps its throughput. Where the given depths deadlock, FIFOs grow first; one that is
 * deep only out of caution starts at two words.
 * Requires: emithls functions with depths (size-fifos).
 * Changes: depths, and the block RAM in the reports of forks. A network too large to
 * simulate, or with a process whose accesses are not static, keeps its depths.
 * Tests: lit/target/fit-fifos.mir */
#include "dialects/emithls/emithls.h"
#include "ir/builder.h"
#include "ir/diag.h"
#include "ir/pass.h"
#include "ir/symbol.h"
#include "target/cost.h"
#include "target/fifo.h"
#include "target/selftimed.h"
#include "target/target.h"

/* A few seconds at most. */
static const TraceBudget trace_limit = {.iterations = 1 << 25, .runs = 1 << 24};
static const int64_t event_limit = 1 << 27;

static const int64_t max_depth = 1 << 30;

typedef struct Sizing {
    Op *top;
    SymbolTable symbols;
    Network net;
    VEC(Op *) streams; /* of each FIFO */
    VEC(Op *) funcs;   /* of each actor */
    VEC(AccessTrace) traces;
    PtrMap fifo_of;    /* stream Value * -> index + 1 */
} Sizing;

/* --- the network ----------------------------------------------------------------------------- */

static bool is_deep(const Op *stream)
{
    return attr_int_value(op_attr(stream, "depth")) > FIFO_MIN_DEPTH;
}

static bool has_deep_fifo(const Op *top)
{
    FOR_EACH_OP(op, region_entry(op_region(top, 0)))
    if (op->def == EMITHLS(STREAM) && is_deep(op))
        return true;
    return false;
}

static void add_fifo(Sizing *s, Op *stream)
{
    bool is_cautious = op_attr(stream, "cautious") != NULL;
    int64_t depth = is_cautious ? FIFO_MIN_DEPTH : attr_int_value(op_attr(stream, "depth"));
    *vec_push(&s->net.fifos) = (Fifo){.depth = depth};
    *vec_push(&s->streams) = stream;
    ptrmap_put(&s->fifo_of, op_result(stream, 0), (void *)(uintptr_t)s->net.fifos.len);
}

static bool trace_call(Sizing *s, const Op *call, TraceBudget *budget)
{
    Op *func = symtab_get(&s->symbols, op_attr(call, "callee")->u.symbol.names[0]);
    AccessTrace trace;
    if (!func || call->operand_count > ACTOR_MAX_PORTS ||
        !trace_process(func, ACTOR_LATENCY, budget, &trace))
        return false;
    *vec_push(&s->traces) = trace;
    *vec_push(&s->funcs) = func;
    return trace.runs.len > 0;
}

static void connect(Sizing *s, const Op *call, uint32_t index)
{
    Actor *actor = vec_push(&s->net.actors);
    *actor = (Actor){.trace = &s->traces.data[index]};
    for (uint32_t i = 0; i < ACTOR_MAX_PORTS; i++)
        actor->fifo[i] = NO_FIFO;
    for (uint32_t i = 0; i < call->operand_count; i++) {
        uintptr_t number = (uintptr_t)ptrmap_get(&s->fifo_of, op_operand(call, i));
        if (number == 0)
            continue;
        Fifo *fifo = &s->net.fifos.data[number - 1];
        actor->fifo[i] = (int)(number - 1);
        if (actor->trace->reads >> i & 1)
            fifo->reader = index;
        else
            fifo->writer = index;
    }
}

/* False: some process cannot be traced. */
static bool build_network(Sizing *s)
{
    TraceBudget budget = trace_limit;
    uint32_t index = 0;
    Block *body = region_entry(op_region(s->top, 0));
    s->net.events = event_limit;
    FOR_EACH_OP(op, body)
    {
        if (op->def == EMITHLS(STREAM))
            add_fifo(s, op);
        else if (op->def == EMITHLS(CALL) && !trace_call(s, op, &budget))
            return false;
    }
    FOR_EACH_OP(op, body)
    if (op->def == EMITHLS(CALL))
        connect(s, op, index++);
    return true;
}

/* --- results -------------------------------------------------------------------------------------- */

static int64_t fifo_bram18(const Op *stream)
{
    const Type *word = emithls_stream_word(op_result(stream, 0)->type);
    return memory_bram18(emithls_lanes(word) * element_bits(emithls_scalar(word)),
                         attr_int_value(op_attr(stream, "depth")));
}

static bool is_fork(const Op *func)
{
    const Attr *report = op_attr(func, "report");
    const Attr *class = report ? attr_dict_get_c(report, "class") : NULL;
    return class && class->kind == ATTR_STRING && str_eq_c(class->u.string, "fork");
}

/* A fork has no memory but the FIFOs behind it, so these are its block RAM. */
static void update_report(Op *func, int64_t bram18)
{
    const Attr *report = op_attr(func, "report");
    if (is_fork(func))
        op_set_attr(func, "report",
                    attr_dict_set(report, ident_get_c(func->ctx, "bram18"),
                                  attr_i64(func->ctx, bram18)));
}

static void size_all(Sizing *s)
{
    int64_t *bram18 = xcalloc(s->funcs.len + 1, sizeof(int64_t));
    for (size_t i = 0; i < s->streams.len; i++) {
        Op *stream = s->streams.data[i];
        const Fifo *fifo = &s->net.fifos.data[i];
        int64_t depth = fifo->peak < FIFO_MIN_DEPTH ? FIFO_MIN_DEPTH : fifo->peak;
        if (is_deep(stream) || fifo->depth > FIFO_MIN_DEPTH)
            op_set_attr(stream, "depth", attr_i64(stream->ctx, depth));
        op_set_attr(stream, "cautious", NULL);
        bram18[fifo->writer] += fifo_bram18(stream);
    }
    for (size_t i = 0; i < s->funcs.len; i++)
        update_report(s->funcs.data[i], bram18[i]);
    free_ptr((void **)&bram18);
}

/* Runs the network; where it deadlocks, the FIFO that is to blame gets twice its depth. In an acyclic
 * network that ends, at the latest when each holds a frame of everything. */
static NetworkFate run_growing(Network *net)
{
    for (;;) {
        NetworkFate fate = network_run(net);
        int tight = fate == NETWORK_DEADLOCK ? network_tight_fifo(net) : NO_FIFO;
        if (tight == NO_FIFO || net->fifos.data[tight].depth > max_depth)
            return fate;
        net->fifos.data[tight].depth *= 2;
    }
}

static void free_sizing(Sizing *s)
{
    for (size_t i = 0; i < s->traces.len; i++)
        trace_free(&s->traces.data[i]);
    network_free(&s->net);
    vec_free(&s->streams);
    vec_free(&s->funcs);
    vec_free(&s->traces);
    ptrmap_free(&s->fifo_of);
    symtab_free(&s->symbols);
}

static bool fit_fifos(Pass *pass, Op *module)
{
    (void)pass;
    bool ok = true;
    Sizing s = {.top = emithls_top(module)};
    if (!s.top || !has_deep_fifo(s.top))
        return true;
    symtab_init(&s.symbols, module);
    if (build_network(&s)) {
        NetworkFate fate = run_growing(&s.net);
        if (fate == NETWORK_PERIODIC)
            size_all(&s);
        ok = fate != NETWORK_DEADLOCK ||
             op_error(s.top, "deadlocks: processes wait for each other, whatever the FIFO depths");
    }
    free_sizing(&s);
    return ok;
}

const PassDef pass_fit_fifos = {
    .name = "fit-fifos",
    .summary = "Give FIFOs the depths that a simulation of the processes' accesses needs",
    .anchor = "builtin.module",
    .run = fit_fifos,
};
