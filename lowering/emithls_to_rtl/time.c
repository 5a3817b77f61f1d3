/* The cycle of each node: as early as its operands allow, by the same latency model as the schedule
 * of sim/design, which says when words are read and written. Times are those of that model, in which
 * what an iteration finds is there from its start. What must not be early is moved back by whole
 * cycles until nothing moves any more:
 *
 *   a register, written in cycle w of an iteration, is read in one of the cycles w + 1 - ii to w:
 *   in between it holds what the iteration before has left;
 *   a load from a memory begins after the stores that it follows, if it may find what they store, no
 *   later than the others, and after those of the iteration `distance` before.
 *
 * Tests: lit/lowering/emithls_to_rtl, test/e2e/rtl_check.py */
#include "ir/asm/print/print.h"
#include "lowering/emithls_to_rtl/internal.h"

typedef struct Scheduler {
    RtlProcess *process;
    Graph *g;
    Clock clock;
    bool *meets; /* per store and load: whether the load may find what the store stores */
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

static int64_t time_of(const Scheduler *s, NodeId id)
{
    return id == NO_NODE ? 0 : to_rtl_node(s->g, id)->time;
}

static int64_t stage_of(const Scheduler *s, NodeId id)
{
    return id == NO_NODE ? 0 : to_rtl_node(s->g, id)->stage;
}

static void time_read(const Scheduler *s, Node *n)
{
    const HlsAccess *access = &s->g->loop->accesses.data[n->imm];
    int64_t entered = time_of(s, s->g->transfers.data[n->imm].where);
    int64_t begin = access->offset * s->clock.usable_ps;
    n->stage = access->offset;
    n->time = i64_max(clock_after(s->clock, entered, latency_stream()), begin);
}

static const Load *load_of(const Graph *g, NodeId id)
{
    for (size_t i = 0; i < g->loads.len; i++)
        if (g->loads.data[i].node == id) return &g->loads.data[i];
    return NULL;
}

static void time_load(const Scheduler *s, Node *n, NodeId id)
{
    const Node *address = operand(s, n, 0);
    int64_t begin = i64_max(address->time / s->clock.usable_ps, address->stage);
    n->latency = n->timing.stages;
    n->time = clock_after(s->clock, address->time, n->timing);
    n->stage = i64_max(begin, load_of(s->g, id)->stage) + n->latency;
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

static void time_node(const Scheduler *s, NodeId id)
{
    Node *n = &s->g->nodes.data[id];
    switch (n->kind) {
    case NODE_UNDEF:
    case NODE_CONST:
    case NODE_COUNTER: return;
    case NODE_READ: time_read(s, n); return;
    case NODE_LOAD: time_load(s, n, id); return;
    case NODE_MACC: time_slice(s, n); return;
    case NODE_STATE: n->stage = s->g->earliest[n->imm]; return;
    default: time_logic(s, n);
    }
}

static void move_back(Scheduler *s, int64_t *stage, int64_t least)
{
    if (*stage >= least) return;
    *stage = least;
    s->has_moved = true;
}

/* The cycle in which the cell is written. */
int64_t to_rtl_cell_stage(const Graph *g, uint32_t cell)
{
    return i64_max(to_rtl_node(g, g->finals[cell])->stage, g->earliest[cell]);
}

static void order_cells(Scheduler *s)
{
    for (uint32_t c = 0; c < s->process->cell_widths.len; c++)
        if (s->process->is_live[c] && s->g->finals[c] != NO_NODE && s->g->states[c] != NO_NODE)
            move_back(s, &s->g->earliest[c], to_rtl_cell_stage(s->g, c) + 1 - s->g->loop->ii);
}

static void time_store(Scheduler *s, Store *store)
{
    const RtlArray *a = s->process->banks.data[store->bank].array;
    int64_t ready = i64_max(time_of(s, store->where), time_of(s, store->address));
    int64_t stage = i64_max(stage_of(s, store->where), stage_of(s, store->address));
    for (uint32_t k = 0; k < a->word; k++) {
        ready = i64_max(ready, time_of(s, store->lanes[k]));
        stage = i64_max(stage, stage_of(s, store->lanes[k]));
    }
    int64_t done = clock_after(s->clock, ready, latency_memory_store(a->memory.impl));
    move_back(s, &store->stage, i64_max(stage, cycle_of(s, done)));
}

static void order_bank(Scheduler *s, Store *store, Load *load, bool meets)
{
    int64_t distance = s->process->banks.data[store->bank].array->memory.distance;
    int64_t ii = s->g->loop->ii;
    if (store->bank != load->bank) return;
    if (store->version >= load->version)
        move_back(s, &store->stage, load->stage);
    else if (meets)
        move_back(s, &load->stage, store->stage + 1);
    move_back(s, &load->stage, store->stage + 1 - distance * ii);
    move_back(s, &store->stage, load->stage - ii);
}

static void find_meetings(Scheduler *s)
{
    const Graph *g = s->g;
    s->meets = xcalloc(g->stores.len * g->loads.len + 1, sizeof *s->meets);
    for (size_t i = 0; i < g->stores.len; i++)
        for (size_t k = 0; k < g->loads.len; k++) {
            const Store *store = &g->stores.data[i];
            const Load *load = &g->loads.data[k];
            if (store->bank == load->bank && store->version < load->version)
                s->meets[i * g->loads.len + k] = to_rtl_meet(g, store, load);
        }
}

static void order_memories(Scheduler *s)
{
    Graph *g = s->g;
    for (size_t i = 0; i < g->loads.len; i++) {
        const Node *n = to_rtl_node(g, g->loads.data[i].node);
        move_back(s, &g->loads.data[i].stage, n->stage - n->latency);
    }
    for (size_t i = 0; i < g->stores.len; i++) {
        time_store(s, &g->stores.data[i]);
        for (size_t k = 0; k < g->loads.len; k++)
            order_bank(s, &g->stores.data[i], &g->loads.data[k], s->meets[i * g->loads.len + k]);
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

/* Words leave when the schedule says so; nothing is later than its end. */
static bool check(const Scheduler *s)
{
    const Graph *g = s->g;
    const HlsLoop *loop = g->loop;
    for (size_t i = 0; i < g->transfers.len; i++) {
        const Transfer *t = &g->transfers.data[i];
        int64_t word = t->is_write ? stage_of(s, t->word) : 0;
        if (!check_stage(i64_max(word, stage_of(s, t->where)), t->stage, loop->accesses.data[i].op))
            return false;
    }
    for (size_t i = 0; i < g->stores.len; i++) {
        const Op *array = value_def(s->process->banks.data[g->stores.data[i].bank].array->value);
        if (!check_stage(g->stores.data[i].stage, loop->depth - 1, array)) return false;
    }
    for (uint32_t c = 0; c < s->process->cell_widths.len; c++)
        if (s->process->is_live[c] && g->finals[c] != NO_NODE &&
            !check_stage(to_rtl_cell_stage(g, c), loop->depth - 1, loop->first))
            return false;
    return true;
}

bool to_rtl_schedule(RtlProcess *p, uint32_t index)
{
    enum { MOST_ROUNDS = 1000 };
    Graph *g = &p->graphs[index];
    Scheduler s = {.process = p, .g = g, .clock = p->design->clock, .has_moved = true};
    find_meetings(&s);
    for (int round = 0; s.has_moved && round < MOST_ROUNDS; round++) {
        s.has_moved = false;
        for (size_t i = 0; i < g->order.len; i++) time_node(&s, g->order.data[i]);
        order_cells(&s);
        order_memories(&s);
    }
    free_ptr((void **)&s.meets);
    if (s.has_moved)
        return op_error(g->loop->first, "cannot become hardware: a recurrence is longer than the "
                                        "initiation interval");
    return check(&s);
}
