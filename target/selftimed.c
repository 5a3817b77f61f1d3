/* An event is a step of an actor's pipeline that reads or writes; idle stretches are jumped over. A
 * word that is pushed in one cycle can be popped in the next, as can room be used that a pop makes,
 * so the order of the actors within a cycle does not matter.
 * Tests: test/unit/selftimed_test.c */
#include "target/selftimed.h"

#include <string.h>

enum { MAX_FRAMES = 64 };

/* --- the queue of steps to come ---------------------------------------------------------------- */

/* A binary heap of actors by (wake, index). */
typedef struct Queue {
    Network *net;
    uint32_t *heap;
    size_t count;
} Queue;

static bool is_before(const Queue *q, uint32_t a, uint32_t b)
{
    int64_t first = q->net->actors.data[a].wake, second = q->net->actors.data[b].wake;
    return first != second ? first < second : a < b;
}

static void put(Queue *q, uint32_t actor)
{
    size_t i = q->count++;
    for (; i > 0 && is_before(q, actor, q->heap[(i - 1) / 2]); i = (i - 1) / 2)
        q->heap[i] = q->heap[(i - 1) / 2];
    q->heap[i] = actor;
}

static uint32_t take(Queue *q)
{
    uint32_t top = q->heap[0], last = q->heap[--q->count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= q->count)
            break;
        if (child + 1 < q->count && is_before(q, q->heap[child + 1], q->heap[child]))
            child++;
        if (is_before(q, last, q->heap[child]))
            break;
        q->heap[i] = q->heap[child];
        i = child;
    }
    q->heap[i] = last;
    return top;
}

static void schedule(Queue *q, uint32_t actor, int64_t cycle)
{
    q->net->actors.data[actor].wake = cycle;
    put(q, actor);
}

/* --- FIFOs ------------------------------------------------------------------------------------------ */

static bool can_pop(const Fifo *fifo, int64_t now)
{
    return fifo->words > (fifo->last_push == now);
}

static bool can_push(const Fifo *fifo, int64_t now)
{
    return fifo->words + (fifo->last_pop == now) < fifo->depth;
}

static void wake_up(Queue *q, uint32_t actor, int64_t now)
{
    if (q->net->actors.data[actor].wake < 0)
        schedule(q, actor, now + 1);
}

static void pop(Queue *q, Fifo *fifo, int64_t now)
{
    fifo->words--;
    fifo->last_pop = now;
    wake_up(q, fifo->writer, now);
}

static void push(Queue *q, Fifo *fifo, int64_t now)
{
    int64_t held = ++fifo->words + (fifo->last_pop == now);
    if (held > fifo->peak)
        fifo->peak = held;
    fifo->last_push = now;
    wake_up(q, fifo->reader, now);
}

/* --- actors ------------------------------------------------------------------------------------------- */

static uint32_t due_writes(const Actor *a)
{
    const PendingWrite *first = &a->pending[a->first_pending];
    return a->pending_count && first->step == a->step ? first->ports : 0;
}

static bool can_step(const Network *net, const Actor *a, uint32_t reads, uint32_t writes, int64_t now)
{
    for (uint32_t ports = reads | writes, i = 0; ports; ports >>= 1, i++) {
        if (!(ports & 1) || a->fifo[i] == NO_FIFO)
            continue;
        const Fifo *fifo = &net->fifos.data[a->fifo[i]];
        if (!(reads >> i & 1 ? can_pop(fifo, now) : can_push(fifo, now)))
            return false;
    }
    return true;
}

static void access_fifos(Queue *q, const Actor *a, uint32_t reads, uint32_t writes, int64_t now)
{
    for (uint32_t ports = reads | writes, i = 0; ports; ports >>= 1, i++)
        if ((ports & 1) && a->fifo[i] != NO_FIFO)
            (reads >> i & 1 ? pop : push)(q, &q->net->fifos.data[a->fifo[i]], now);
}

static void enter_pending(Actor *a, uint32_t ports)
{
    uint32_t slots = ACTOR_LATENCY + 1;
    if (ports)
        a->pending[(a->first_pending + a->pending_count++) % slots] =
            (PendingWrite){a->step + ACTOR_LATENCY, ports};
}

static void leave_pending(Actor *a)
{
    a->first_pending = (a->first_pending + 1) % (ACTOR_LATENCY + 1);
    a->pending_count--;
}

/* Moves on by `count` cycles of the current run. */
static void advance(Actor *a, uint32_t count)
{
    a->step += count;
    a->left -= count;
    if (a->left > 0)
        return;
    if (++a->run == a->trace->runs.len) {
        a->run = 0;
        a->frame++;
    }
    a->left = a->trace->runs.data[a->run].count;
}

/* Cycles in which nothing is accessed, from the next step on. */
static uint32_t idle_cycles(const Actor *a)
{
    uint32_t idle = a->trace->runs.data[a->run].ports ? 0 : a->left;
    if (a->pending_count && a->pending[a->first_pending].step - a->step < idle)
        idle = (uint32_t)(a->pending[a->first_pending].step - a->step);
    return idle;
}

/* One step at `now`; false: the actor waits, or tries again when this cycle's accesses are seen. */
static bool step(Queue *q, uint32_t index, int64_t now)
{
    Actor *a = &q->net->actors.data[index];
    uint32_t ports = a->trace->runs.data[a->run].ports;
    uint32_t reads = ports & a->trace->reads, due = due_writes(a);
    if (!can_step(q->net, a, reads, due, now)) {
        a->wake = -1;
        if (can_step(q->net, a, reads, due, now + 1))
            schedule(q, index, now + 1);
        return false;
    }
    access_fifos(q, a, reads, due, now);
    if (due)
        leave_pending(a);
    enter_pending(a, ports & a->trace->writes);
    advance(a, 1);
    return true;
}

/* --- periodicity -------------------------------------------------------------------------------------------- */

typedef VEC(int64_t) State;

static void record(State *state, int64_t value) { *vec_push(state) = value; }

/* Everything the future depends on, relative to `now` and to the frame of the last actor. */
static void record_state(const Network *net, int64_t now, State *state)
{
    int64_t frame = net->actors.data[net->actors.len - 1].frame;
    state->len = 0;
    for (size_t i = 0; i < net->actors.len; i++) {
        const Actor *a = &net->actors.data[i];
        record(state, (int64_t)a->run);
        record(state, a->left);
        record(state, a->frame - frame);
        record(state, a->wake < 0 ? -1 : a->wake - now);
        for (uint32_t p = 0; p < a->pending_count; p++) {
            const PendingWrite *write = &a->pending[(a->first_pending + p) % (ACTOR_LATENCY + 1)];
            record(state, write->step - a->step);
            record(state, write->ports);
        }
    }
    for (size_t i = 0; i < net->fifos.len; i++) {
        const Fifo *fifo = &net->fifos.data[i];
        record(state, fifo->words);
        record(state, (fifo->last_push == now) * 2 + (fifo->last_pop == now));
    }
}

static bool same_state(const State *a, const State *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len * sizeof(*a->data)) == 0;
}

/* --- the run -------------------------------------------------------------------------------------------- */

static void start(Queue *q)
{
    for (uint32_t i = 0; i < q->net->actors.len; i++) {
        Actor *a = &q->net->actors.data[i];
        a->run = 0;
        a->step = a->frame = 0;
        a->first_pending = a->pending_count = 0;
        a->left = a->trace->runs.data[0].count;
        schedule(q, i, 0);
    }
    for (size_t i = 0; i < q->net->fifos.len; i++) {
        Fifo *fifo = &q->net->fifos.data[i];
        fifo->words = fifo->peak = 0;
        fifo->last_push = fifo->last_pop = -1;
    }
}

/* Whether the last actor's frame that just ended left the state of the frame before it. */
static bool came_back(const Network *net, int64_t now, State *before, State *current)
{
    record_state(net, now, current);
    bool same = same_state(before, current);
    State swap = *before;
    *before = *current;
    *current = swap;
    return same;
}

static NetworkFate run(Queue *q, State *before, State *current)
{
    Network *net = q->net;
    uint32_t last = (uint32_t)net->actors.len - 1;
    int64_t frame = 0;
    while (q->count > 0) {
        uint32_t index = take(q);
        Actor *a = &net->actors.data[index];
        int64_t now = a->wake;
        if (net->events-- <= 0 || frame == MAX_FRAMES)
            return NETWORK_UNDECIDED;
        if (!step(q, index, now))
            continue;
        uint32_t idle = idle_cycles(a);
        if (idle)
            advance(a, idle);
        schedule(q, index, now + 1 + idle);
        if (index == last && a->frame > frame) {
            frame = a->frame;
            if (came_back(net, now, before, current))
                return NETWORK_PERIODIC;
        }
    }
    return NETWORK_DEADLOCK;
}

NetworkFate network_run(Network *net)
{
    State before = {0}, current = {0};
    Queue queue = {.net = net, .heap = xcalloc(net->actors.len + 1, sizeof(uint32_t))};
    NetworkFate fate = NETWORK_PERIODIC;
    if (net->actors.len > 0) {
        start(&queue);
        fate = run(&queue, &before, &current);
    }
    vec_free(&before);
    vec_free(&current);
    free_ptr((void **)&queue.heap);
    return fate;
}

/* The first FIFO that a waiting actor lacks words or room in; *is_full says which. */
static int missing_fifo(const Network *net, const Actor *a, bool *is_full)
{
    uint32_t reads = a->trace->runs.data[a->run].ports & a->trace->reads, due = due_writes(a);
    for (uint32_t i = 0; i < ACTOR_MAX_PORTS; i++) {
        const Fifo *fifo = a->fifo[i] == NO_FIFO ? NULL : &net->fifos.data[a->fifo[i]];
        *is_full = fifo && (due >> i & 1) && fifo->words >= fifo->depth;
        if (*is_full || (fifo && (reads >> i & 1) && fifo->words == 0))
            return a->fifo[i];
    }
    return NO_FIFO;
}

/* Who waits for whom leads from any actor into the cycle, since each waits. */
int network_tight_fifo(const Network *net)
{
    uint32_t actor = 0;
    int tightest = NO_FIFO;
    size_t steps = 2 * net->actors.len;
    for (size_t i = 0; i < steps; i++) {
        bool is_full;
        int index = missing_fifo(net, &net->actors.data[actor], &is_full);
        if (index == NO_FIFO)
            return NO_FIFO;
        const Fifo *fifo = &net->fifos.data[index];
        bool in_cycle = i >= net->actors.len;
        if (in_cycle && is_full &&
            (tightest == NO_FIFO || fifo->depth < net->fifos.data[tightest].depth))
            tightest = index;
        actor = is_full ? fifo->reader : fifo->writer;
    }
    return tightest;
}

void network_free(Network *net)
{
    vec_free(&net->actors);
    vec_free(&net->fifos);
}
