/* Functional simulation: runs compiled loop bodies on words. A stream keeps its words in a ring,
 * which grows when it is full: iterations run as soon as their words are read, which is earlier
 * than the cycle in which their results leave, so more words can wait here than in the FIFO.
 * Tests: lit/sim/hls/values.mir, test/e2e/sizing_check.py */
#include <stdlib.h>

#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "sim/design/design.h"
#include "sim/hls/hls.h"
#include "sim/hls/internal.h"
#include "sim/vm/vm.h"

typedef struct WordQueue {
    Cell *cells; /* ring of words */
    uint32_t lanes;
    int64_t mask, first, count;
} WordQueue;

/* A loop under way. */
typedef struct SimLoop {
    int64_t done; /* iterations since the first frame */
    int64_t counters[HLS_MAX_LOOPS];
} SimLoop;

typedef struct ValueProcess {
    HlsCode code;
    SimLoop *loops;
    WordQueue **ports;
} ValueProcess;

struct HlsValues {
    const HlsDesign *design;
    Arena arena;
    ValueProcess *processes;
    WordQueue *streams;
    HlsPort *ports;    /* of each stream at the boundary */
    HlsPort *memories; /* of each memory there */
};

static Cell *word_at(const WordQueue *w, int64_t index)
{
    return w->cells + (index & w->mask) * (int64_t)w->lanes;
}

static void copy_cells(Cell *to, const Cell *from, uint32_t count)
{
    if (count == 1)
        *to = *from;
    else
        memmove(to, from, count * sizeof *to);
}

static void grow(WordQueue *w)
{
    WordQueue old = *w;
    w->mask = 2 * old.mask + 1;
    w->cells = xcalloc((size_t)(w->mask + 1) * w->lanes, sizeof *w->cells);
    for (int64_t i = old.first; i < old.first + old.count; i++)
        copy_cells(word_at(w, i), word_at(&old, i), w->lanes);
    free(old.cells);
}

static Cell *push_word(WordQueue *w)
{
    if (w->count > w->mask) grow(w);
    return word_at(w, w->first + w->count++);
}

static const Cell *pop_word(WordQueue *w)
{
    w->count--;
    return word_at(w, w->first++);
}

/* Indices are numbers of 64 bits, as the interpreter has them. */
static int64_t sum_of(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t test_all(const HlsTest *tests, uint32_t count, const Cell *r)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t value = sum_of(r[tests[i].reg].i, tests[i].add);
        if (tests[i].is_eq ? value != 0 : value < 0) return 0;
    }
    return 1;
}

static bool out_of_bounds(const HlsInstr *in, const Cell *r)
{
    int64_t index = sum_of(r[in->b].i, in->imm);
    if (index >= 0 && index < in->count) return false;
    op_error(in->op, "accesses element %lld of dimension %u, which has %u", (long long)index, in->a,
             in->count);
    return true;
}

static int64_t count_ones(const Cell *bits, uint32_t count)
{
    int64_t ones = 0;
    for (uint32_t i = 0; i < count; i++) ones += bits[i].i;
    return ones;
}

/* Runs up to CODE_END. False: undefined behaviour, diagnosed. */
static bool run_code(const HlsInstr *in, const HlsLoopCode *code, Cell *r, WordQueue *const *ports)
{
#define WRAPPED(EXPR) r[in->out].i = extend_sign((int64_t)(EXPR), in->spare)
    for (;; in++) switch ((HlsOpcode)in->code) {
        case CODE_END: return true;
        case CODE_COPY: copy_cells(r + in->out, r + in->a, in->count); break;
        case CODE_LOAD:
            copy_cells(r + in->out, r + in->a + (in->imm + r[in->b].i), in->count);
            break;
        case CODE_STORE:
            copy_cells(r + in->out + (in->imm + r[in->b].i), r + in->a, in->count);
            break;
        case CODE_CHECK:
            if (out_of_bounds(in, r)) return false;
            break;
        case CODE_SKIP: in += r[in->a].i ? 0 : in->imm; break;
        case CODE_TEST: r[in->out].i = test_all(code->tests.data + in->imm, in->count, r); break;
        case CODE_READ: copy_cells(r + in->out, pop_word(ports[in->b]), in->count); break;
        case CODE_WRITE: copy_cells(push_word(ports[in->b]), r + in->a, in->count); break;
        case CODE_CALL:
            if (!code->vm_calls.data[in->imm].in.run(&code->vm_calls.data[in->imm].in, 1))
                return false;
            break;
        case CODE_ADD: WRAPPED(r[in->a].u + r[in->b].u); break;
        case CODE_SUB: WRAPPED(r[in->a].u - r[in->b].u); break;
        case CODE_MUL: WRAPPED(r[in->a].u * r[in->b].u); break;
        case CODE_MUL_CONST: r[in->out].u = r[in->a].u * (uint64_t)in->imm; break;
        case CODE_FLOORDIV: r[in->out].i = floor_div(r[in->a].i, in->imm); break;
        case CODE_CEILDIV: r[in->out].i = ceil_div(r[in->a].i, in->imm); break;
        case CODE_MOD: r[in->out].i = i64_mod(r[in->a].i, in->imm); break;
        case CODE_AND: r[in->out].u = r[in->a].u & r[in->b].u; break;
        case CODE_OR: r[in->out].u = r[in->a].u | r[in->b].u; break;
        case CODE_XOR: r[in->out].u = r[in->a].u ^ r[in->b].u; break;
        case CODE_SAME: r[in->out].i = r[in->a].u == r[in->b].u; break;
        case CODE_POPCOUNT: r[in->out].i = count_ones(r + in->a, in->count); break;
        case CODE_MAX: r[in->out].i = r[in->a].i > r[in->b].i ? r[in->a].i : r[in->b].i; break;
        case CODE_MIN: r[in->out].i = r[in->a].i < r[in->b].i ? r[in->a].i : r[in->b].i; break;
        case CODE_SHL: WRAPPED(r[in->a].u << in->imm); break;
        case CODE_SHRS: r[in->out].i = r[in->a].i >> in->imm; break;
        case CODE_SHRU: WRAPPED(extend_zero(r[in->a].i, in->in_spare) >> in->imm); break;
        case CODE_SEXT: WRAPPED(r[in->a].i); break;
        case CODE_ZEXT: WRAPPED(extend_zero(r[in->a].i, in->in_spare)); break;
        case CODE_SELECT:
            copy_cells(r + in->out, r[in->a].i ? r + in->b : r + in->imm, in->count);
            break;
        }
#undef WRAPPED
}

/* Counters of an iteration of the frame, and the forms over them. */
static void enter_iteration(const HlsLoop *model, const HlsLoopCode *code, SimLoop *loop, Cell *r)
{
    int64_t outer = loop->done / model->trips % model->executions;
    int64_t own = model->begin + loop->done % model->trips;
    for (uint32_t i = model->counter_count; i-- > 0;) {
        int64_t *rest = i < model->plain_count ? &outer : &own;
        loop->counters[i] = *rest % model->extents[i];
        *rest /= model->extents[i];
    }
    for (size_t f = 0; f < code->forms.len; f++) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < model->counter_count; i++)
            sum += (uint64_t)code->forms.data[f].coeffs[i] * (uint64_t)loop->counters[i];
        r[code->forms.data[f].reg].u = sum;
    }
}

/* To the next iteration of the same execution. */
static void next_iteration(const HlsLoop *model, const HlsLoopCode *code, SimLoop *loop, Cell *r)
{
    uint32_t i = model->counter_count;
    while (i-- > model->plain_count && ++loop->counters[i] == model->extents[i])
        loop->counters[i] = 0;
    for (size_t f = 0; f < code->forms.len; f++)
        r[code->forms.data[f].reg].u += (uint64_t)code->forms.data[f].steps[i];
}

static bool run_loop(ValueProcess *p, const HlsLoop *model, uint32_t index, int64_t until)
{
    const HlsLoopCode *code = &p->code.loops[index];
    SimLoop *loop = &p->loops[index];
    Cell *r = p->code.regs;
    while (loop->done < until) {
        if (loop->done % model->trips == 0) enter_iteration(model, code, loop, r);
        if (!run_code(code->before.data, code, r, p->ports) ||
            !run_code(code->body.data, code, r, p->ports))
            return false;
        loop->done++;
        if (loop->done % model->trips != 0) next_iteration(model, code, loop, r);
    }
    return true;
}

static bool move_words(HlsValues *v, const HlsProcess *model, SimLoop *loop, int64_t until)
{
    uint32_t port = model->streams[0];
    const HlsPort *order = &v->ports[port];
    WordQueue *words = &v->streams[port];
    for (; loop->done < until; loop->done++) {
        int64_t first = loop->done % model->loops.data[0].trips * words->lanes;
        Cell *into = model->is_source ? push_word(words) : NULL;
        const Cell *from = model->is_source ? NULL : pop_word(words);
        for (int64_t i = first; i < first + words->lanes; i++) {
            int64_t element = order->elements ? order->elements[i] : i;
            if (into)
                into[i - first] = vm_cell_from_array(order->array, element);
            else
                vm_cell_to_array(order->array, element, from[i - first]);
        }
    }
    return true;
}

bool hls_sim_values_advance(void *user, uint32_t process, uint32_t loop, int64_t until)
{
    HlsValues *v = user;
    const HlsProcess *model = &v->design->processes.data[process];
    ValueProcess *p = &v->processes[process];
    return model->func ? run_loop(p, &model->loops.data[loop], loop, until)
                       : move_words(v, model, &p->loops[loop], until);
}

/* Between a frame's array and the registers of a memory: words in order, each in as many elements
 * as the memory has for it. */
static void copy_memory(const HlsValues *v, size_t index)
{
    const HlsMemoryPort *memory = &v->design->memories.data[index];
    const HlsProcess *model = &v->design->processes.data[memory->process];
    const HlsPort *port = &v->memories[index];
    const Value *arg = region_entry(op_region(model->func, 0))->args[memory->port];
    const HlsCode *code = &v->processes[memory->process].code;
    int64_t slot = hls_sim_array_size(arg->type) * port->lanes / port->count;
    for (int64_t i = 0; i < port->count; i++) {
        Cell *cell =
            code->regs + code->memories[memory->port] + i / port->lanes * slot + i % port->lanes;
        int64_t element = port->elements ? port->elements[i] : i;
        if (memory->is_input)
            *cell = vm_cell_from_array(port->array, element);
        else
            vm_cell_to_array(port->array, element, *cell);
    }
}

static void copy_memories(const HlsValues *v, bool inputs)
{
    for (size_t i = 0; i < v->design->memories.len; i++)
        if (v->design->memories.data[i].is_input == inputs && !v->memories[i].weights)
            copy_memory(v, i);
}

void hls_sim_values_begin_frame(HlsValues *v, Array *const *arrays)
{
    for (uint32_t i = 0; i < v->design->port_count; i++)
        v->ports[i].array = v->ports[i].weights ? v->ports[i].weights : arrays[v->ports[i].arg];
    for (size_t i = 0; i < v->design->memories.len; i++)
        if (!v->memories[i].weights) v->memories[i].array = arrays[v->memories[i].arg];
    copy_memories(v, true);
}

/* Words stay in the ring until others take their places, so one with room for a frame has it whole. */
void hls_sim_values_keep_frame(HlsValues *v, uint32_t stream)
{
    while (v->streams[stream].mask + 1 < v->design->streams.data[stream].words)
        grow(&v->streams[stream]);
}

void hls_sim_values_last_frame(const HlsValues *v, uint32_t stream, const HlsPort *order)
{
    const WordQueue *words = &v->streams[stream];
    int64_t begin = words->first + words->count - v->design->streams.data[stream].words;
    for (int64_t i = 0; i < order->count; i++)
        vm_cell_to_array(order->array, order->elements[i],
                         word_at(words, begin + i / order->lanes)[i % order->lanes]);
}

void hls_sim_values_end_frame(HlsValues *v)
{
    copy_memories(v, false);
}

static bool init_process(HlsValues *v, uint32_t index)
{
    const HlsProcess *model = &v->design->processes.data[index];
    ValueProcess *p = &v->processes[index];
    p->loops = ARENA_ARRAY(&v->arena, SimLoop, model->loops.len);
    p->ports = ARENA_ARRAY(&v->arena, WordQueue *, model->port_count);
    for (uint32_t i = 0; i < model->port_count; i++)
        if (model->streams[i] != HLS_NOBODY) p->ports[i] = &v->streams[model->streams[i]];
    return !model->func || hls_sim_compile(model, &p->code);
}

static void init_streams(HlsValues *v)
{
    enum { FIRST_WORDS = 4 };
    v->streams = ARENA_ARRAY(&v->arena, WordQueue, v->design->streams.len);
    for (size_t i = 0; i < v->design->streams.len; i++) {
        v->streams[i].lanes = (uint32_t)emithls_lanes(v->design->streams.data[i].word);
        v->streams[i].mask = FIRST_WORDS - 1;
        v->streams[i].cells = xcalloc(FIRST_WORDS * v->streams[i].lanes, sizeof(Cell));
    }
}

static bool init_memory(HlsValues *v, size_t index)
{
    const HlsMemoryPort *memory = &v->design->memories.data[index];
    const Value *arg = region_entry(op_region(v->design->top, 0))->args[memory->arg];
    HlsPort *port = &v->memories[index];
    int64_t size = hls_sim_array_size(arg->type);
    if (!design_port_init(v->design, NULL, memory->arg, &v->arena, port)) return false;
    int64_t words = port->count / port->lanes;
    return (words > 0 && size >= port->count && size % words == 0) ||
           op_error(v->design->top,
                    "cannot be simulated with data: a memory of %lld elements does not "
                    "hold %lld words of %lld",
                    (long long)size, (long long)words, (long long)port->lanes);
}

static bool init_ports(HlsValues *v)
{
    const HlsDesign *design = v->design;
    bool ok = true;
    v->ports = ARENA_ARRAY(&v->arena, HlsPort, design->port_count);
    v->memories = ARENA_ARRAY(&v->arena, HlsPort, design->memories.len);
    for (uint32_t i = 0; ok && i < design->port_count; i++)
        ok = design_port_init(design, &design->streams.data[i], design->streams.data[i].arg,
                              &v->arena, &v->ports[i]);
    for (size_t i = 0; ok && i < design->memories.len; i++) ok = init_memory(v, i);
    return ok;
}

HlsValues *hls_sim_values_create(const HlsDesign *design)
{
    HlsValues *v = xcalloc(1, sizeof *v);
    v->design = design;
    arena_init(&v->arena);
    v->processes = ARENA_ARRAY(&v->arena, ValueProcess, design->processes.len);
    init_streams(v);
    bool ok = init_ports(v);
    for (uint32_t i = 0; ok && i < design->processes.len; i++) ok = init_process(v, i);
    for (size_t i = 0; ok && i < design->memories.len; i++)
        if (v->memories[i].weights) copy_memory(v, i); /* they stay the same */
    if (ok) return v;
    hls_sim_values_free(v);
    return NULL;
}

void hls_sim_values_free(HlsValues *v)
{
    if (!v) return;
    for (uint32_t i = 0; i < v->design->processes.len; i++)
        hls_sim_code_free(&v->processes[i].code, v->design->processes.data[i].loops.len);
    for (uint32_t i = 0; v->ports && i < v->design->port_count; i++)
        array_unref(v->ports[i].weights);
    for (size_t i = 0; v->memories && i < v->design->memories.len; i++)
        array_unref(v->memories[i].weights);
    for (size_t i = 0; i < v->design->streams.len; i++) free(v->streams[i].cells);
    arena_free(&v->arena);
    free(v);
}
