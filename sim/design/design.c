/* Builds the design of a module: processes in the order of their calls, streams with their two
 * ends, loops and the code between them.
 * Tests: lit/sim/design/invalid.mir, lit/sim/design/schedule.mir */
#include <stdlib.h>

#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "sim/design/internal.h"

#define MOST_ITERATIONS (INT64_C(1) << 48)
#define MOST_COPIES (INT64_C(1) << 20)
#define MOST_CYCLES (INT64_C(1) << 50) /* of a loop in a frame, so that sums of many fit */

int design_counter_of(const HlsLoop *loop, const Value *value)
{
    for (uint32_t i = 0; i < loop->counter_count; i++)
        if (loop->counters[i] == value) return (int)i;
    return -1;
}

/* Builds the loops and steps of one process. */
typedef struct LoopBuilder {
    HlsDesign *design;
    HlsProcess *process;
    PtrMap ports;                         /* argument -> port + 1 */
    const Value *counters[HLS_MAX_LOOPS]; /* of the plain loops around */
    int64_t extents[HLS_MAX_LOOPS];
    uint32_t depth;
    int64_t executions;
    bool is_once;
} LoopBuilder;

static bool is_rolled_loop(const Op *op)
{
    return op->def == EMITHLS(FOR) && !op_attr(op, EMITHLS_ATTR_UNROLL);
}

/* Whether an op is a step of its own. */
static bool has_steps(const Op *op)
{
    return is_rolled_loop(op) || op->def == EMITHLS(ONCE);
}

static bool holds_steps(const Op *op)
{
    FOR_EACH_INNER(inner, op)
        if (has_steps(inner) || holds_steps(inner)) return true;
    return false;
}

/* Scheduling goes over the copies that loops make which are unrolled, or in a pipeline, which
 * unrolls them: `copies` of the op are made outside. */
static bool check_copies(const Op *op, int64_t copies)
{
    if (op->def == EMITHLS(FOR)) {
        int64_t begin, end;
        emithls_for_range(op, &begin, &end);
        if (!i64_mul(copies, end - begin, &copies) || copies > MOST_COPIES)
            return op_error(op, "cannot be simulated: unrolled more than %lld times",
                            (long long)MOST_COPIES);
    }
    FOR_EACH_INNER(inner, op)
        if (!check_copies(inner, copies)) return false;
    return true;
}

static bool check_cycles(const HlsLoop *loop)
{
    int64_t cycles;
    bool fits = i64_mul(loop->trips - 1, loop->ii, &cycles) &&
                i64_add(cycles, loop->depth + LOOP_START, &cycles) &&
                i64_mul(cycles, loop->executions, &cycles) && cycles <= MOST_CYCLES;
    return fits || op_error(loop->op ? loop->op : loop->first,
                            "cannot be simulated: more than %lld cycles", (long long)MOST_CYCLES);
}

static bool add_loop(LoopBuilder *b, HlsLoop *loop)
{
    for (const Op *op = loop->first; op != loop->end; op = op->next)
        if (!check_copies(op, 1)) return false;
    uint32_t index = (uint32_t)b->process->loops.len;
    loop->executions = b->executions;
    loop->is_once = b->is_once;
    *vec_push(&b->process->steps) = (HlsStep){.kind = STEP_LOOP, .loop = index};
    *vec_push(&b->process->loops) = *loop;
    loop = &b->process->loops.data[index];
    return design_find_accesses(loop, &b->ports) && design_schedule(b->design, loop) &&
           check_cycles(loop);
}

static HlsLoop loop_here(const LoopBuilder *b)
{
    HlsLoop loop = {
        .plain_count = b->depth, .counter_count = b->depth, .end_position = 1, .trips = 1};
    for (uint32_t i = 0; i < b->depth; i++) {
        loop.counters[i] = b->counters[i];
        loop.extents[i] = b->extents[i];
    }
    return loop;
}

/* Counters and extents of a loop behind those that are there, which have up to MOST_ITERATIONS. */
static bool push_counters(const Op *op, const Value **counters, int64_t *extents, uint32_t *count)
{
    int64_t own[HLS_MAX_LOOPS], iterations = 1;
    size_t n = emithls_for_extents(op, own, HLS_MAX_LOOPS);
    if (*count + n > HLS_MAX_LOOPS)
        return op_error(op, "cannot be simulated: more than %d loops are nested", HLS_MAX_LOOPS);
    for (size_t i = 0; i < n; i++) {
        counters[*count] = region_entry(op_region(op, 0))->args[i];
        extents[(*count)++] = own[i];
    }
    for (uint32_t i = 0; i < *count; i++)
        if (!i64_mul(iterations, extents[i], &iterations) || iterations > MOST_ITERATIONS)
            return op_error(op, "cannot be simulated: more than %lld iterations",
                            (long long)MOST_ITERATIONS);
    return true;
}

/* A loop without loops inside that are not unrolled. */
static bool add_inner_loop(LoopBuilder *b, const Op *op)
{
    HlsLoop loop = loop_here(b);
    const Attr *ii = op_attr(op, EMITHLS_ATTR_II);
    loop.op = op;
    loop.first = region_entry(op_region(op, 0))->first;
    loop.requested_ii = ii ? attr_int_value(ii) : 0;
    loop.flushes = op_attr(op, EMITHLS_ATTR_FLUSH) != NULL;
    emithls_for_range(op, &loop.begin, &loop.end_position);
    loop.trips = loop.end_position - loop.begin;
    if (!loop.first) return true;
    return push_counters(op, loop.counters, loop.extents, &loop.counter_count) &&
           add_loop(b, &loop);
}

static bool add_block(LoopBuilder *b, const Block *block);

static bool add_plain_loop(LoopBuilder *b, const Op *op)
{
    uint32_t depth = b->depth, step = (uint32_t)b->process->steps.len;
    int64_t outside = b->executions, begin, end;
    emithls_for_range(op, &begin, &end);
    if (op_attr(op, "begin") || op_attr(op, "end"))
        return op_error(op, "cannot be simulated: it is a part of a box and holds loops");
    if (!push_counters(op, b->counters, b->extents, &b->depth)) return false;
    b->executions *= end;
    *vec_push(&b->process->steps) = (HlsStep){.kind = STEP_REPEAT, .count = end};
    bool ok = add_block(b, region_entry(op_region(op, 0)));
    *vec_push(&b->process->steps) = (HlsStep){.kind = STEP_END, .match = step};
    b->depth = depth;
    b->executions = outside;
    return ok;
}

/* Ops up to the next loop, as one iteration. */
static bool add_code(LoopBuilder *b, const Op *first, const Op *end)
{
    HlsLoop loop = loop_here(b);
    loop.first = first;
    loop.end = end;
    for (const Op *op = first; op != end; op = op->next)
        if (holds_steps(op))
            return op_error(op, "cannot be simulated: it holds a loop that is not unrolled");
    return add_loop(b, &loop);
}

static bool add_once(LoopBuilder *b, const Op *op)
{
    uint32_t step = (uint32_t)b->process->steps.len;
    if (b->is_once || b->depth > 0) return op_error(op, "cannot be simulated inside a loop");
    *vec_push(&b->process->steps) = (HlsStep){.kind = STEP_ONCE};
    b->is_once = true;
    bool ok = add_block(b, region_entry(op_region(op, 0)));
    b->is_once = false;
    b->process->steps.data[step].match = (uint32_t)b->process->steps.len;
    return ok;
}

static bool add_steps(LoopBuilder *b, const Op *op)
{
    if (op->def == EMITHLS(ONCE)) return add_once(b, op);
    return holds_steps(op) && !op_attr(op, EMITHLS_ATTR_II) ? add_plain_loop(b, op)
                                                            : add_inner_loop(b, op);
}

static bool add_block(LoopBuilder *b, const Block *block)
{
    bool ok = true;
    for (const Op *op = block->first; ok && op;) {
        const Op *end = op;
        if (has_steps(op)) {
            ok = add_steps(b, op);
            op = op->next;
            continue;
        }
        bool works = false;
        for (; end && !has_steps(end); end = end->next) works |= !emithls_is_declaration(end);
        ok = !works || add_code(b, op, end);
        op = end;
    }
    return ok;
}

void design_note_cycle(HlsDesign *design, const Op *op, int64_t cycle)
{
    ptrmap_put(&design->cycles, op, (void *)(uintptr_t)(cycle + 1));
}

int64_t design_cycle_of(const HlsDesign *design, const Op *op)
{
    return (int64_t)(uintptr_t)ptrmap_get(&design->cycles, op) - 1;
}

int64_t design_loop_cycles(const HlsLoop *loop)
{
    return (loop->trips - 1) * loop->ii + loop->depth;
}

int64_t design_process_cycles(const HlsProcess *p)
{
    if (p->rewinds) return p->loops.data[0].trips * p->loops.data[0].ii;
    int64_t cycles = PROCESS_START + p->start_late + p->end_late;
    for (size_t i = 0; i < p->loops.len; i++) {
        const HlsLoop *loop = &p->loops.data[i];
        if (loop->is_once) continue;
        cycles += loop->executions * ((loop->op ? LOOP_START : 0) + design_loop_cycles(loop));
    }
    return cycles;
}

static bool works_once(const HlsProcess *p)
{
    for (size_t i = 0; i < p->loops.len; i++)
        if (!p->loops.data[i].is_once) return false;
    return true;
}

static bool build_process(HlsDesign *design, HlsProcess *process)
{
    Block *body = region_entry(op_region(process->func, 0));
    LoopBuilder b = {.design = design, .process = process, .executions = 1};
    if (body->arg_count > HLS_MAX_PORTS)
        return op_error(process->func, "cannot be simulated: it has more than %d streams",
                        HLS_MAX_PORTS);
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (process->streams[i] != HLS_NOBODY)
            ptrmap_put(&b.ports, body->args[i], (void *)(uintptr_t)(i + 1));
    bool ok = add_block(&b, body);
    process->rewinds = emithls_rewound_loop(process->func) != NULL;
    process->cycles = ok ? design_process_cycles(process) : 0;
    process->is_once = works_once(process);
    ptrmap_free(&b.ports);
    return ok;
}

static bool is_loaded(const Value *array)
{
    FOR_EACH_USE(use, array)
        if (use->owner->def == EMITHLS(LOAD)) return true;
    return false;
}

/* What values stand for: streams of the design, as index + 1, and in kernels the design's own
 * memories. */
typedef struct Names {
    PtrMap streams, memories;
} Names;

/* Those of the process that was added last. */
static void add_memories(HlsDesign *design, const Op *call, const PtrMap *memories)
{
    uint32_t index = (uint32_t)design->processes.len - 1;
    const HlsProcess *p = &design->processes.data[index];
    for (uint32_t i = 0; i < p->port_count; i++) {
        const Value *memory = op_operand(call, i);
        const Value *outer = ptrmap_get(memories, memory);
        if (outer) memory = outer;
        if (p->streams[i] == HLS_NOBODY && memory->is_arg)
            *vec_push(&design->memories) = (HlsMemoryPort){
                memory->index, index, i, is_loaded(region_entry(op_region(p->func, 0))->args[i])};
    }
}

static HlsProcessKind kind_of(const Op *func)
{
    static const char *const others[] = {"converter", "fork", "reorder", "merge"};
    const Attr *report = op_attr(func, DFG_ATTR_REPORT);
    const Attr *class = report ? attr_dict_get_c(report, DFG_REPORT_CLASS) : NULL;
    if (!class || class->kind != ATTR_STRING) return HLS_OTHER;
    if (str_eq_c(class->u.string, "window")) return HLS_WINDOW;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (str_eq_c(class->u.string, others[i])) return HLS_OTHER;
    return HLS_KERNEL;
}

static bool add_call(HlsDesign *design, const Op *call, const Names *names)
{
    HlsProcess *p = vec_push(&design->processes);
    *p = (HlsProcess){.func = symbol_lookup(call, op_attr(call, "callee")),
                      .port_count = call->operand_count};
    p->name = symbol_name(p->func)->str;
    p->kind = kind_of(p->func);
    p->streams = ARENA_ARRAY(&design->arena, uint32_t, p->port_count);
    for (uint32_t i = 0; i < p->port_count; i++)
        p->streams[i] = (uint32_t)(uintptr_t)ptrmap_get(&names->streams, op_operand(call, i)) - 1;
    add_memories(design, call, &names->memories);
    return build_process(design, p);
}

/* The world at a port: one loop that gives or takes a word per iteration. */
static void add_world(HlsDesign *design, uint32_t port)
{
    HlsStream *stream = &design->streams.data[port];
    bool is_source = stream->writer == HLS_NOBODY;
    uint32_t index = (uint32_t)design->processes.len;
    bool is_once = stream->is_once;
    *(is_source ? &stream->writer : &stream->reader) = index;
    HlsProcess *p = vec_push(&design->processes);
    *p = (HlsProcess){.name = stream->name,
                      .is_source = is_source,
                      .is_once = is_once,
                      .port_count = 1,
                      .cycles = is_once ? 0 : stream->words};
    p->streams = ARENA_ARRAY(&design->arena, uint32_t, 1);
    p->streams[0] = port;
    HlsLoop loop = {.counter_count = 1,
                    .extents = {stream->words},
                    .end_position = stream->words,
                    .trips = stream->words,
                    .executions = 1,
                    .is_once = is_once,
                    .requested_ii = 1,
                    .ii = 1,
                    .depth = 1};
    HlsAccess access = {.is_write = is_source, .words = stream->words};
    *vec_push(&access.runs) = (HlsRun){0, stream->words, 1};
    *vec_push(&loop.accesses) = access;
    *vec_push(&p->loops) = loop;
    if (is_once) *vec_push(&p->steps) = (HlsStep){.kind = STEP_ONCE, .match = 2};
    *vec_push(&p->steps) = (HlsStep){.kind = STEP_LOOP};
}

static void add_stream(HlsDesign *design, Names *names, const Value *value, Str name, const Op *op,
                       int64_t depth)
{
    *vec_push(&design->streams) = (HlsStream){.name = name,
                                              .op = op,
                                              .word = emithls_stream_word(value->type),
                                              .depth = depth,
                                              .latency = op ? emithls_latency(op) : 1,
                                              .writer = HLS_NOBODY,
                                              .reader = HLS_NOBODY};
    HlsStream *added = &design->streams.data[design->streams.len - 1];
    added->late = added->latency - 1;
    ptrmap_put(&names->streams, value, (void *)(uintptr_t)design->streams.len);
}

/* The ends of a stream by what a process does with it; its words per frame by the writer. */
static bool connect_port(HlsDesign *design, uint32_t index, uint32_t port)
{
    const HlsProcess *p = &design->processes.data[index];
    if (p->streams[port] == HLS_NOBODY) return true;
    HlsStream *stream = &design->streams.data[p->streams[port]];
    int64_t words = 0;
    bool reads = false, writes = false, is_once = true;
    for (size_t l = 0; l < p->loops.len; l++)
        for (size_t a = 0; a < p->loops.data[l].accesses.len; a++) {
            const HlsAccess *access = &p->loops.data[l].accesses.data[a];
            if (access->port != port) continue;
            words += access->words;
            is_once &= p->loops.data[l].is_once;
            *(access->is_write ? &writes : &reads) = true;
        }
    uint32_t *end = writes ? &stream->writer : &stream->reader;
    if (reads && writes)
        return op_error(p->func, "cannot be simulated: it reads and writes one stream");
    if ((reads || writes) && *end != HLS_NOBODY)
        return op_error(p->func, "cannot be simulated: stream '%.*s' has another %s already",
                        STR_ARG(stream->name), writes ? "writer" : "reader");
    if (!reads && !writes) return true;
    *end = index;
    if (stream->words > 0 && stream->words != words) {
        op_error(p->func, "%s %lld words a frame %s '%.*s'", writes ? "writes" : "reads",
                 (long long)words, writes ? "to" : "from", STR_ARG(stream->name));
        return op_note(p->func, "its other end takes %lld", (long long)stream->words);
    }
    stream->words = words;
    stream->is_once = is_once;
    return true;
}

/* Words of a frame at a port, by its description; 0: there is none. */
static int64_t described_words(const HlsDesign *design, uint32_t port)
{
    const Attr *all = op_attr(design->top, DFG_ATTR_PORT_ATTRS);
    const Attr *dict = all ? all->u.array.items[design->streams.data[port].arg] : NULL;
    const Attr *frame = dict ? attr_dict_get_c(dict, EMITHLS_ATTR_FRAME) : NULL;
    int64_t elements = 0;
    if (!frame || frame->kind != ATTR_TYPE || !type_element_count(frame->u.type_value, &elements))
        return 0;
    return elements / emithls_lanes(design->streams.data[port].word);
}

static bool check_ends(const HlsDesign *design)
{
    for (size_t i = 0; i < design->streams.len; i++) {
        const HlsStream *s = &design->streams.data[i];
        if (s->op && (s->writer == HLS_NOBODY) != (s->reader == HLS_NOBODY))
            return op_error(s->op, "cannot be simulated: nothing %s it",
                            s->writer == HLS_NOBODY ? "writes" : "reads");
    }
    for (uint32_t i = 0; i < design->port_count; i++) {
        const HlsStream *s = &design->streams.data[i];
        int64_t words = described_words(design, i);
        if (words > 0 && s->words > 0 && words != s->words)
            return op_error(design->top, "port '%.*s' has frames of %lld words, but %lld are used",
                            STR_ARG(s->name), (long long)words, (long long)s->words);
    }
    return true;
}

/* Lets the arguments of a kernel's function stand for what the kernel is given. */
static void bind_kernel(const Op *kernel, const Block *body, Names *names)
{
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        const Value *given = op_operand(kernel, i);
        void *stream = ptrmap_get(&names->streams, given);
        if (stream)
            ptrmap_put(&names->streams, body->args[i], stream);
        else
            ptrmap_put(&names->memories, body->args[i], (void *)(uintptr_t)given);
    }
}

static bool add_kernel(HlsDesign *design, const Op *kernel, Names *names);

static bool add_top_op(HlsDesign *design, const Op *op, Names *names)
{
    if (op->def == EMITHLS(STREAM) || op->def == SYS(LINK)) {
        add_stream(design, names, op_result(op, 0), op_attr(op, "name")->u.string, op,
                   attr_int_value(op_attr(op, DFG_ATTR_DEPTH)));
        return true;
    }
    if (op->def == EMITHLS(CALL)) return add_call(design, op, names);
    if (op->def == SYS(KERNEL)) return add_kernel(design, op, names);
    return op->def == EMITHLS(INTERFACE) || op->def == EMITHLS(DATAFLOW) || op->def == SYS(CARD) ||
           op_error(op, "cannot be simulated in the top function");
}

static bool add_kernel(HlsDesign *design, const Op *kernel, Names *names)
{
    const Op *func = symbol_lookup(kernel, op_attr(kernel, "callee"));
    const Block *body = region_entry(op_region(func, 0));
    bind_kernel(kernel, body, names);
    FOR_EACH_OP(op, body)
        if (!add_top_op(design, op, names)) return false;
    return true;
}

/* What loads a process's tables; what it hands on takes no more than the words' way through it. */
static int64_t loading_cycles(const HlsProcess *p)
{
    int64_t cycles = PROCESS_START;
    for (size_t l = 0; l < p->loops.len; l++) {
        const HlsLoop *loop = &p->loops.data[l];
        bool writes = false;
        for (size_t a = 0; a < loop->accesses.len; a++) writes |= loop->accesses.data[a].is_write;
        if (loop->is_once)
            cycles += loop->executions *
                      (LOOP_START + (writes ? loop->depth : design_loop_cycles(loop)) + 1);
    }
    return cycles;
}

/* Along the chain of processes that begins at a port. */
static int64_t chain_cycles(const HlsDesign *design, uint32_t port)
{
    int64_t cycles = 0;
    uint32_t stream = port;
    while (stream != HLS_NOBODY && design->streams.data[stream].reader != HLS_NOBODY) {
        const HlsProcess *p = &design->processes.data[design->streams.data[stream].reader];
        stream = HLS_NOBODY;
        cycles += loading_cycles(p);
        for (uint32_t i = 0; p->func && i < p->port_count; i++) {
            const HlsStream *s =
                p->streams[i] == HLS_NOBODY ? NULL : &design->streams.data[p->streams[i]];
            if (s && s->is_once && s->writer != HLS_NOBODY &&
                &design->processes.data[s->writer] == p)
                stream = p->streams[i];
        }
    }
    return cycles;
}

/* Whether a process works on what it gets from others, or loads. */
static bool depends(const HlsDesign *design, uint32_t process)
{
    const HlsProcess *p = &design->processes.data[process];
    bool reads = p->is_once;
    for (uint32_t i = 0; i < p->port_count; i++)
        reads |=
            p->streams[i] != HLS_NOBODY && design->streams.data[p->streams[i]].reader == process;
    return reads;
}

/* The host of cards begins with frames when all weights are loaded, so that no card waits for
 * another's. */
static void hold_frames(HlsDesign *design)
{
    if (!op_attr(op_parent(design->top), SYS_ATTR_CARDS)) return;
    for (uint32_t i = 0; i < design->port_count; i++)
        if (design->streams.data[i].is_once)
            design->hold = i64_max(design->hold, chain_cycles(design, i));
    for (uint32_t i = 0; design->hold > 0 && i < design->processes.len; i++)
        design->processes.data[i].is_held = !depends(design, i);
}

static bool build_top(HlsDesign *design, Names *values)
{
    Block *body = region_entry(op_region(design->top, 0));
    const Attr *names = op_attr(design->top, EMITHLS_ATTR_ARG_NAMES);
    for (uint32_t i = 0; i < body->arg_count; i++) {
        if (!type_is_a(body->args[i]->type, &emithls_type_stream)) continue;
        add_stream(design, values, body->args[i], names->u.array.items[i]->u.string, NULL,
                   PORT_DEPTH);
        design->streams.data[design->port_count++].arg = i;
    }
    FOR_EACH_OP(op, body)
        if (!add_top_op(design, op, values)) return false;
    for (uint32_t i = 0; i < design->processes.len; i++)
        for (uint32_t k = 0; k < design->processes.data[i].port_count; k++)
            if (!connect_port(design, i, k)) return false;
    if (!check_ends(design)) return false;
    for (uint32_t i = 0; i < design->port_count; i++)
        if (design->streams.data[i].words > 0) add_world(design, i);
    hold_frames(design);
    return true;
}

/* Whether the module has a schedule for the clock. */
static bool is_scheduled(const Op *module, const Op *top, Clock clock)
{
    const Attr *mhz = op_attr(top, EMITHLS_ATTR_SCHEDULE_CLOCK);
    return mhz && clock_of_module(module, attr_int_value(mhz)).usable_ps == clock.usable_ps;
}

HlsDesign *design_create(const Op *module, Clock clock)
{
    const Op *top = sys_top(module);
    if (!top) {
        op_emit_error(module, "there is no top function; it is a design of emithls that can be "
                              "simulated");
        return NULL;
    }
    HlsDesign *design = xcalloc(1, sizeof *design);
    Names names = {0};
    *design = (HlsDesign){.ctx = module->ctx, .top = top, .clock = clock};
    design->is_scheduled = is_scheduled(module, top, clock);
    arena_init(&design->arena);
    bool ok = build_top(design, &names);
    ptrmap_free(&names.streams);
    ptrmap_free(&names.memories);
    if (ok) return design;
    design_free(design);
    return NULL;
}

static void free_process(HlsProcess *p)
{
    for (size_t l = 0; l < p->loops.len; l++) {
        HlsLoop *loop = &p->loops.data[l];
        for (size_t a = 0; a < loop->accesses.len; a++) vec_free(&loop->accesses.data[a].runs);
        vec_free(&loop->accesses);
    }
    vec_free(&p->loops);
    vec_free(&p->steps);
}

void design_free(HlsDesign *design)
{
    if (!design) return;
    for (size_t i = 0; i < design->processes.len; i++) free_process(&design->processes.data[i]);
    vec_free(&design->processes);
    vec_free(&design->streams);
    vec_free(&design->memories);
    ptrmap_free(&design->cycles);
    arena_free(&design->arena);
    free(design);
}

int64_t design_word_bits(const HlsStream *stream)
{
    return emithls_lanes(stream->word) * type_width(emithls_scalar(stream->word));
}
