/* The cycle of each node. What an op of the design comes to has its result in the op's cycle, which
 * sim/design says: from the design's attributes, or computed (docs/simulation.md, "The schedule").
 * What lies in between and has no cycle of its own, as addresses, choices among registers, the sums
 * of a tree and all but the first copy in an unrolled loop, is as early as its operands allow, by the
 * same latency model. A register is read in a cycle between its writes:
 *
 *   written in cycle w of an iteration, it is read in one of the cycles w + 1 - ii to w; then it
 *   holds what the iteration before has left;
 *
 * so where its loads are earlier, reading is moved back until nothing moves any more. All else is
 * checked: nothing is needed before it is there, and loads from memories find what they should,
 *
 *   behind the stores that they follow, if they may find what these store, no later than the others,
 *   and after those of the iteration `distance` before.
 *
 * Tests: lit/lowering/emithls_to_rtl, test/e2e/rtl_check.py */
#include "ir/asm/print/print.h"
#include "lowering/emithls_to_rtl/internal.h"

typedef struct Scheduler {
    RtlProcess *process;
    Graph *g;
    Clock clock;
    bool has_moved;
} Scheduler;

int64_t to_rtl_latency(const Node *n, uint32_t operand)
{
    if (n->kind == NODE_MACC) return operand == 2 ? latency_cascade().stages : n->latency;
    return n->latency;
}

/* The cycle at whose end the time lies at the latest. */
static int64_t cycle_of(const Scheduler *s, int64_t time)
{
    return time > 0 ? (time - 1) / s->clock.usable_ps : 0;
}

static const Node *operand(const Scheduler *s, const Node *n, uint32_t i)
{
    return to_rtl_node(s->g, s->g->operands.data[n->first + i]);
}

static int64_t stage_of(const Scheduler *s, NodeId id)
{
    return id == NO_NODE ? 0 : to_rtl_node(s->g, id)->stage;
}

static void time_read(const Scheduler *s, Node *n)
{
    NodeId where = s->g->transfers.data[n->imm].where;
    int64_t entered = where == NO_NODE ? 0 : to_rtl_node(s->g, where)->time;
    int64_t done = clock_after(s->clock, entered, latency_stream());
    n->stage = s->g->loop->accesses.data[n->imm].offset;
    n->time = clock_put_off(s->clock, done, latency_stream(), n->stage);
}

static const Load *load_of(const Graph *g, NodeId id)
{
    for (size_t i = 0; i < g->loads.len; i++)
        if (g->loads.data[i].node == id) return &g->loads.data[i];
    return NULL;
}

static void time_load(const Scheduler *s, Node *n, NodeId id)
{
    int64_t begin = load_of(s->g, id)->stage;
    n->latency = n->timing.stages;
    n->time = clock_after(s->clock, begin * s->clock.usable_ps, n->timing);
    n->stage = begin + n->latency;
}

/* Products have registers inside, sums in order one at the end. */
static void time_slice(const Scheduler *s, Node *n)
{
    const Node *a = operand(s, n, 0), *b = operand(s, n, 1), *sum = operand(s, n, 2);
    int64_t product = clock_after(s->clock, i64_max(a->time, b->time), latency_dsp());
    int64_t factors = i64_max(a->stage, b->stage);
    n->latency = latency_dsp().stages + latency_cascade().stages;
    n->time = clock_after(s->clock, i64_max(product, sum->time), latency_cascade());
    n->stage = i64_max(n->time / s->clock.usable_ps, factors + n->latency);
    n->stage = i64_max(n->stage, sum->stage + latency_cascade().stages);
}

static void time_logic(const Scheduler *s, Node *n)
{
    int64_t ready = 0, stage = 0, usable = s->clock.usable_ps;
    for (uint32_t i = 0; i < n->count; i++) {
        ready = i64_max(ready, operand(s, n, i)->time);
        stage = i64_max(stage, operand(s, n, i)->stage);
    }
    int64_t done = clock_after(s->clock, ready, n->timing);
    n->time = i64_max(done, n->not_before);
    n->latency = n->timing.stages;
    if (n->latency > 0)
        n->stage = i64_max(ready / usable, stage) + n->latency;
    else if (n->timing.delay > 0)
        n->stage = i64_max(cycle_of(s, done) - (n->timing.delay - 1) / usable, stage);
    else
        n->stage = i64_max(cycle_of(s, ready), stage);
}

/* No earlier than its op. */
static void put_off(const Scheduler *s, Node *n)
{
    if (n->stage >= n->cycle) return;
    n->stage = n->cycle;
    n->time = clock_put_off(s->clock, n->time, n->timing, n->cycle);
}

static void time_node(const Scheduler *s, NodeId id)
{
    Node *n = &s->g->nodes.data[id];
    switch (n->kind) {
    case NODE_UNDEF:
    case NODE_CONST:
    case NODE_COUNTER: return;
    case NODE_READ: time_read(s, n); return;
    case NODE_LOAD: time_load(s, n, id); return;
    case NODE_STATE: n->stage = s->g->earliest[n->imm]; return;
    case NODE_MACC: time_slice(s, n); break;
    default: time_logic(s, n);
    }
    put_off(s, n);
}

int64_t to_rtl_cell_stage(const Graph *g, uint32_t cell)
{
    int64_t stage = i64_max(to_rtl_node(g, g->finals[cell])->stage, g->stored[cell]);
    return i64_max(stage, g->earliest[cell]);
}

/* Whether iterations leave the cell's content to each other. */
static bool is_carried(const Scheduler *s, uint32_t cell)
{
    const Graph *g = s->g;
    return s->process->is_live[cell] && g->finals[cell] != NO_NODE && g->states[cell] != NO_NODE;
}

/* Registers are read when their loads begin, but not behind the stores. */
static void begin_cells(Scheduler *s)
{
    Graph *g = s->g;
    for (uint32_t c = 0; c < s->process->cell_widths.len; c++) {
        int64_t begin = i64_max(g->loaded[c] - 1, 0);
        g->earliest[c] = is_carried(s, c) ? i64_min(begin, g->stored[c]) : begin;
    }
}

static void order_cells(Scheduler *s)
{
    for (uint32_t c = 0; c < s->process->cell_widths.len; c++) {
        if (!is_carried(s, c)) continue;
        int64_t least = to_rtl_cell_stage(s->g, c) + 1 - s->g->loop->ii;
        if (s->g->earliest[c] >= least) continue;
        s->g->earliest[c] = least;
        s->has_moved = true;
    }
}

static bool check_stage(int64_t stage, int64_t last, const Op *op)
{
    return stage <= last ||
           op_error(op,
                    "cannot become hardware: its operands come in cycle %lld of an iteration, "
                    "which has it in cycle %lld",
                    (long long)stage, (long long)last);
}

static bool check_nodes(const Scheduler *s)
{
    const Graph *g = s->g;
    for (size_t i = 0; i < g->order.len; i++) {
        const Node *n = to_rtl_node(g, g->order.data[i]);
        if (n->is_due && n->stage > n->cycle)
            return op_error(n->op,
                            "cannot become hardware: it is in cycle %lld of its iteration, but its "
                            "operands let it be in cycle %lld at the earliest",
                            (long long)n->cycle, (long long)n->stage);
    }
    return true;
}

/* Words leave when the schedule says so. */
static bool check_transfers(const Scheduler *s)
{
    const Graph *g = s->g;
    for (size_t i = 0; i < g->transfers.len; i++) {
        const Transfer *t = &g->transfers.data[i];
        int64_t word = t->is_write ? stage_of(s, t->word) : 0;
        const Op *op = g->loop->accesses.data[i].op;
        if (!check_stage(i64_max(word, stage_of(s, t->where)), t->stage, op)) return false;
    }
    return true;
}

/* Registers are written before the iteration's end. */
static bool check_cells(const Scheduler *s)
{
    const HlsLoop *loop = s->g->loop;
    for (uint32_t c = 0; c < s->process->cell_widths.len; c++)
        if (s->process->is_live[c] && s->g->finals[c] != NO_NODE &&
            !check_stage(to_rtl_cell_stage(s->g, c), loop->depth - 1, loop->first))
            return false;
    return true;
}

static bool check_store(const Scheduler *s, const Store *store)
{
    const RtlArray *a = s->process->banks.data[store->bank].array;
    int64_t stage = i64_max(stage_of(s, store->where), stage_of(s, store->address));
    for (uint32_t k = 0; k < a->word; k++) stage = i64_max(stage, stage_of(s, store->lanes[k]));
    return check_stage(stage, store->stage, store->op);
}

static bool check_order(bool is_right, const Load *load, const Store *store, const char *how)
{
    if (is_right) return true;
    op_error(load->op, "cannot become hardware: it begins in cycle %lld of its iteration, %s",
             (long long)load->stage, how);
    return op_note(store->op, "the store is made in cycle %lld", (long long)store->stage);
}

/* A load and a store of one bank. */
static bool check_bank(const Scheduler *s, const Load *load, const Store *store)
{
    int64_t begin = load->stage, made = store->stage, ii = s->g->loop->ii;
    int64_t distance = s->process->banks.data[store->bank].array->memory.distance;
    bool follows = store->version < load->version;
    bool finds = !follows || begin > made || !to_rtl_meet(s->g, store, load);
    return check_order(finds, load, store, "but the store in front of it is not made before") &&
           check_order(follows || begin <= made, load, store,
                       "but the store behind it is made before") &&
           check_order(begin > made - distance * ii, load, store,
                       "but the iteration whose word it finds does not store it before") &&
           check_order(begin <= made + ii, load, store,
                       "but the next iteration's store is made before");
}

static bool check_memories(const Scheduler *s)
{
    const Graph *g = s->g;
    for (size_t i = 0; i < g->loads.len; i++) {
        const Load *load = &g->loads.data[i];
        int64_t address = stage_of(s, to_rtl_in(g, load->node, 0));
        if (!check_stage(address, load->stage, load->op)) return false;
    }
    for (size_t i = 0; i < g->stores.len; i++) {
        const Store *store = &g->stores.data[i];
        if (!check_store(s, store)) return false;
        for (size_t k = 0; k < g->loads.len; k++)
            if (g->loads.data[k].bank == store->bank && !check_bank(s, &g->loads.data[k], store))
                return false;
    }
    return true;
}

bool to_rtl_schedule(RtlProcess *p, uint32_t index)
{
    Graph *g = &p->graphs[index];
    Scheduler s = {.process = p, .g = g, .clock = p->design->clock, .has_moved = true};
    begin_cells(&s);
    size_t most_rounds = p->cell_widths.len + 2; /* a longest path: Bellman-Ford */
    for (size_t round = 0; s.has_moved && round < most_rounds; round++) {
        s.has_moved = false;
        for (size_t i = 0; i < g->order.len; i++) time_node(&s, g->order.data[i]);
        order_cells(&s);
    }
    if (s.has_moved)
        return op_error(g->loop->first, "cannot become hardware: a recurrence is longer than the "
                                        "initiation interval");
    return check_nodes(&s) && check_memories(&s) && check_cells(&s) && check_transfers(&s);
}
