/* A process as a module: its memories and registers, what its loop reads, stores and writes, and the
 * one signal that lets everything move:
 *
 *   run = no read in its cycle finds its FIFO empty, and no write in its cycle finds its full
 *
 * which is the stalling pipeline that the simulation counts with.
 * Tests: lit/lowering/emithls_to_rtl, test/e2e/rtl_check.py */
#include <assert.h>

#include "dialects/comb/comb.h"
#include "dialects/emithls/emithls.h"
#include "dialects/hw/hw.h"
#include "dialects/seq/seq.h"
#include "ir/asm/print/print.h"
#include "lowering/emithls_to_rtl/internal.h"

static Value *both(RtlModule *m, Value *x, Value *y)
{
    return comb_build_binary(&m->b, COMB(AND), x, y);
}

/* Ports. */

static Str arg_name(const RtlProcess *p, uint32_t port)
{
    return op_attr(p->model->func, EMITHLS_ATTR_ARG_NAMES)->u.array.items[port]->u.string;
}

static bool is_written(const RtlProcess *p, uint32_t port)
{
    return p->design->streams.data[p->model->streams[port]].writer ==
           (uint32_t)(p->model - p->design->processes.data);
}

static Str port_name(RtlProcess *p, uint32_t port, const char *suffix)
{
    StrBuf text = {0};
    strbuf_printf(&text, "%.*s_%s", STR_ARG(arg_name(p, port)), suffix);
    Str name = ident_get(p->ctx, strbuf_str(&text))->str;
    strbuf_free(&text);
    return name;
}

const char *const to_rtl_suffixes[2][TO_RTL_SUFFIXES] = {{"dout", "empty_n", "read"},
                                                         {"din", "full_n", "write"}};

/* Of each stream the word, whether there is one or room for one, and whether it is taken. */
static Op *declare_module(RtlModule *m)
{
    RtlProcess *p = m->process;
    const Type *bit = type_i(p->ctx, 1);
    VEC(HwPort) ports = {0};
    *vec_push(&ports) = (HwPort){STR("clk"), seq_clock(p->ctx), false};
    *vec_push(&ports) = (HwPort){STR("rst"), bit, false};
    for (uint32_t i = 0; i < p->model->port_count; i++) {
        const HlsStream *stream = &p->design->streams.data[p->model->streams[i]];
        bool is_out = is_written(p, i);
        const char *const *suffix = to_rtl_suffixes[is_out];
        const Type *word = type_i(p->ctx, (uint32_t)design_word_bits(stream));
        *vec_push(&ports) = (HwPort){port_name(p, i, suffix[0]), word, is_out};
        *vec_push(&ports) = (HwPort){port_name(p, i, suffix[1]), bit, false};
        *vec_push(&ports) = (HwPort){port_name(p, i, suffix[2]), bit, true};
    }
    Op *module = hw_build_module(&m->b, p->model->name, ports.data, ports.len);
    vec_free(&ports);
    return module;
}

static Value *input(RtlModule *m, uint32_t port, int which)
{
    const char *suffix = to_rtl_suffixes[is_written(m->process, port)][which];
    return hw_input(m->module, port_name(m->process, port, suffix).data);
}

/* Memories. */

static const char *style_of(Str impl)
{
    static const char *const rows[][2] = {
        {"lutram", "distributed"}, {"bram", "block"}, {"uram", "ultra"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq_c(impl, rows[i][0])) return rows[i][1];
    return NULL;
}

/* Sets bits of a little-endian number. */
static void put_bits(uint8_t *bytes, size_t at, uint32_t width, int64_t value)
{
    for (uint32_t i = 0; i < width; i++)
        if (value >> i & 1) bytes[(at + i) / 8] |= (uint8_t)(1u << (at + i) % 8);
}

/* Where a scalar of the array is: its bank, word and place in the word. */
typedef struct BankPlace {
    int64_t bank, word, lane;
} BankPlace;

static BankPlace bank_place(const RtlArray *a, int64_t flat)
{
    BankPlace at = {0, 0, flat % a->lanes};
    int64_t bank_stride = 1, word_stride = 1, lane_stride = a->lanes;
    flat /= a->lanes;
    for (uint32_t i = emithls_array_rank(a->value->type); i-- > 0;) {
        int64_t extent = emithls_array_dim(a->value->type, i), index = flat % extent;
        bool is_bank = a->memory.banks >> i & 1, is_lane = a->memory.wide >> i & 1;
        int64_t *place = is_bank ? &at.bank : is_lane ? &at.lane : &at.word;
        int64_t *stride = is_bank ? &bank_stride : is_lane ? &lane_stride : &word_stride;
        *place += index * *stride;
        *stride *= extent;
        flat /= extent;
    }
    return at;
}

/* The words of a bank of a table. */
static const Attr *contents_of(const Bank *bank, Context *ctx)
{
    const RtlArray *a = bank->array;
    uint32_t width = a->word * a->width;
    size_t word_bits = width == 1 ? 1 : (size_t)(width + 7) / 8 * 8;
    size_t size = (a->depth * word_bits + 7) / 8;
    uint8_t *bytes = xcalloc(size, 1);
    for (int64_t i = 0; i < (int64_t)a->size; i++) {
        BankPlace at = bank_place(a, i);
        if (at.bank == bank->index)
            put_bits(bytes, (size_t)at.word * word_bits + (size_t)at.lane * a->width, a->width,
                     array_get_i64(a->contents, i));
    }
    int64_t depth = a->depth;
    const Type *type = type_tensor(type_i(ctx, width), &depth, 1, NULL);
    return attr_dense_adopt(type, bytes, size, false);
}

/* Whether a store of some loop sets only some lanes of a word. */
static bool is_masked(const RtlProcess *p, uint32_t bank)
{
    for (size_t l = 0; l < p->model->loops.len; l++)
        for (size_t i = 0; i < p->graphs[l].stores.len; i++) {
            const Store *s = &p->graphs[l].stores.data[i];
            for (uint32_t k = 0; s->bank == bank && k < p->banks.data[bank].array->word; k++)
                if (s->lanes[k] == NO_NODE) return true;
        }
    return false;
}

static Value *build_bank(RtlModule *m, uint32_t index)
{
    RtlProcess *p = m->process;
    const Bank *bank = &p->banks.data[index];
    const RtlArray *a = bank->array;
    StrBuf name = {0}, file = {0};
    strbuf_printf(&name, "%.*s", STR_ARG(a->memory.name));
    if (a->banks > 1) strbuf_printf(&name, "_%u", bank->index);
    strbuf_printf(&file, "%s.hex", name.data);
    SeqMemory memory = {.name = name.data,
                        .depth = a->depth,
                        .width = a->word * a->width,
                        .mask = is_masked(p, index) ? a->word : 0,
                        .read_latency = 1,
                        .style = style_of(a->memory.impl),
                        .contents = a->contents ? contents_of(bank, p->ctx) : NULL,
                        .file = file.data};
    Value *out = seq_build_memory(&m->b, &memory);
    strbuf_free(&name);
    strbuf_free(&file);
    return out;
}

/* Only banks that something loads from exist. */
static bool is_loaded(const RtlProcess *p, uint32_t bank)
{
    for (size_t l = 0; l < p->model->loops.len; l++) {
        const Graph *g = &p->graphs[l];
        for (size_t i = 0; i < g->loads.len; i++)
            if (g->loads.data[i].bank == bank) return true;
    }
    return false;
}

static void build_storage(RtlModule *m)
{
    RtlProcess *p = m->process;
    m->banks = ARENA_ARRAY(&p->arena, Value *, p->banks.len);
    m->cells = ARENA_ARRAY(&p->arena, Value *, p->cell_widths.len);
    for (uint32_t i = 0; i < p->banks.len; i++)
        if (is_loaded(p, i)) m->banks[i] = build_bank(m, i);
    for (size_t i = 0; i < p->array_list.len; i++) {
        const RtlArray *a = p->array_list.data[i];
        SeqRegister reg = {.clock = m->clock, .enable = m->run};
        for (uint32_t k = a->first; a->is_cells && k < a->first + a->size; k++)
            if (p->is_live[k])
                m->cells[k] = seq_build_register(&m->b, type_i(p->ctx, a->width), &reg, 1,
                                                 a->memory.name.data);
    }
}

/* The iteration of a frame that makes the access first. */
static int64_t first_iteration(const HlsAccess *access)
{
    int64_t at = 0;
    for (size_t i = 0; i < access->runs.len; i++) {
        const HlsRun *run = &access->runs.data[i];
        if (run->count > 0) return at + run->skip;
        at += run->skip * run->repeat;
    }
    return INT64_MAX;
}

/* The first iteration of a frame that reads, or that writes; INT64_MAX: none does. */
static int64_t first_of(const HlsLoop *loop, bool is_write)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < loop->accesses.len; i++)
        if (loop->accesses.data[i].is_write == is_write)
            first = i64_min(first, first_iteration(&loop->accesses.data[i]));
    return first;
}

/* A loop that writes before it reads would write words of a frame that may not come, and what they
 * lead to would hold up the frame before. */
static bool check_rewinding(const HlsLoop *loop)
{
    return first_of(loop, false) <= first_of(loop, true) ||
           op_error(loop->op, "cannot become hardware: it rewinds, and writes before it reads");
}

/* What the first iteration of a frame that reads has to wait for. */
static FrameGate frame_gate(RtlModule *m)
{
    const Graph *g = &m->process->graphs[0];
    const HlsLoop *loop = g->loop;
    FrameGate gate = {.words = ARENA_ARRAY(&m->process->arena, Value *, loop->depth)};
    int64_t first = first_of(loop, false);
    if (!m->process->model->rewinds || first == INT64_MAX) return gate;
    gate.position = loop->begin + first;
    for (size_t i = 0; i < g->transfers.len; i++) {
        const Transfer *t = &g->transfers.data[i];
        if (t->is_write || first_iteration(&loop->accesses.data[i]) != first) continue;
        Value *has_word = input(m, t->port, 1), **words = &gate.words[t->stage];
        *words = *words ? both(m, *words, has_word) : has_word;
        gate.stages = i64_max(gate.stages, t->stage + 1);
    }
    return gate;
}

/* What an iteration does in a stage happens if there is one and its condition holds. */
static Value *happens(const Datapath *d, int64_t stage, NodeId where)
{
    Value *valid = d->control->valid[stage];
    return where == NO_NODE ? valid : both(d->m, valid, to_rtl_at(d, where, stage));
}

/* A cell keeps its content where the choice that gives its next one says so. */
static void connect_cell(const Datapath *d, uint32_t cell)
{
    RtlModule *m = d->m;
    const Graph *g = d->g;
    NodeId final = g->finals[cell], where = NO_NODE;
    int64_t stage = to_rtl_cell_stage(g, cell);
    const Node *n = to_rtl_node(g, final);
    bool keeps = n->kind == NODE_MUX && to_rtl_in(g, final, 2) == g->states[cell] &&
                 g->states[cell] != NO_NODE && n->stage == stage;
    if (keeps) {
        where = to_rtl_in(g, final, 0);
        final = to_rtl_in(g, final, 1);
    }
    seq_connect(m->cells[cell], to_rtl_at(d, final, stage));
    op_set_operand(value_def(m->cells[cell]), 2, both(m, happens(d, stage, where), m->run));
}

static void build_store(const Datapath *d, const Store *s)
{
    RtlModule *m = d->m;
    const RtlArray *a = m->process->banks.data[s->bank].array;
    if (!m->banks[s->bank]) return;
    Value **lanes = xcalloc(a->word, sizeof *lanes), **mask = xcalloc(a->word, sizeof *mask);
    for (uint32_t k = 0; k < a->word; k++) {
        bool is_set = s->lanes[k] != NO_NODE;
        lanes[a->word - 1 - k] =
            is_set ? to_rtl_at(d, s->lanes[k], s->stage) : hw_build_int(&m->b, a->width, 0);
        mask[a->word - 1 - k] = hw_build_int(&m->b, 1, is_set);
    }
    Value *word = comb_build_concat(&m->b, lanes, a->word);
    Value *which = is_masked(m->process, s->bank) ? comb_build_concat(&m->b, mask, a->word) : NULL;
    seq_build_write(&m->b, m->banks[s->bank], to_rtl_at(d, s->address, s->stage), word, m->clock,
                    both(m, happens(d, s->stage, s->where), m->run), which);
    free_ptr((void **)&lanes);
    free_ptr((void **)&mask);
}

/* What the module gives at a stream: the word (of a write) and whether it is read or written. */
typedef struct StreamOutput {
    Value *word, *active;
} StreamOutput;

static void build_transfer(const Datapath *d, const Transfer *t, StreamOutput *out, Value *ready,
                           Value **runs)
{
    RtlModule *m = d->m;
    Value *active = happens(d, t->stage, t->where);
    Value *waits = both(m, active, comb_build_not(&m->b, ready));
    *runs = comb_build_not(&m->b, waits);
    if (t->is_write) {
        Value *word = to_rtl_at(d, t->word, t->stage);
        out->word = out->word ? comb_build_mux(&m->b, active, word, out->word) : word;
    }
    out->active = out->active ? comb_build_binary(&m->b, COMB(OR), out->active, active) : active;
}

/* Ends the module: the streams' outputs and the run signal. */
static void finish(const Datapath *d)
{
    RtlModule *m = d->m;
    const Graph *g = d->g;
    uint32_t ports = m->process->model->port_count;
    StreamOutput *outs = xcalloc(ports, sizeof *outs);
    Value **runs = xcalloc(g->transfers.len + 1, sizeof *runs);
    VEC(Value *) outputs = {0};
    for (size_t i = 0; i < g->transfers.len; i++) {
        const Transfer *t = &g->transfers.data[i];
        build_transfer(d, t, &outs[t->port], input(m, t->port, 1), &runs[i]);
    }
    if (g->transfers.len > 0) op_set_operands(value_def(m->run), runs, (uint32_t)g->transfers.len);
    for (uint32_t i = 0; i < ports; i++) {
        Value *active = outs[i].active ? outs[i].active : hw_build_int(&m->b, 1, 0);
        if (outs[i].word) *vec_push(&outputs) = outs[i].word;
        *vec_push(&outputs) = both(m, active, m->run);
    }
    hw_build_output(&m->b, outputs.data, (uint32_t)outputs.len);
    vec_free(&outputs);
    free_ptr((void **)&outs);
    free_ptr((void **)&runs);
}

static void build_module(RtlProcess *p, Builder *b, RtlModule *m)
{
    const Graph *g = &p->graphs[0];
    *m = (RtlModule){.process = p, .b = *b};
    m->module = declare_module(m);
    builder_set_end(&m->b, region_entry(op_region(m->module, 0)));
    m->clock = hw_input(m->module, "clk");
    m->reset = hw_input(m->module, "rst");
    Value *one = hw_build_int(&m->b, 1, 1);
    m->run = comb_build_binary(&m->b, COMB(AND), one, one);
    op_set_attr(value_def(m->run), HW_ATTR_NAME_HINT, attr_string_c(p->ctx, "run"));
    build_storage(m);
    FrameGate gate = frame_gate(m);
    LoopControl control = to_rtl_control(m, g->loop, &gate);
    Value **words = ARENA_ARRAY(&p->arena, Value *, g->transfers.len);
    for (size_t i = 0; i < g->transfers.len; i++)
        if (!g->transfers.data[i].is_write) words[i] = input(m, g->transfers.data[i].port, 0);
    Datapath d = to_rtl_datapath(m, g, &control, words);
    for (uint32_t c = 0; c < p->cell_widths.len; c++)
        if (p->is_live[c] && g->finals[c] != NO_NODE) connect_cell(&d, c);
    for (size_t i = 0; i < g->stores.len; i++) build_store(&d, &g->stores.data[i]);
    finish(&d);
    to_rtl_datapath_free(&d);
}

static bool is_one_pipeline(const HlsProcess *model)
{
    return model->steps.len == 1 && model->loops.len == 1 && model->loops.data[0].op &&
           op_attr(model->loops.data[0].op, EMITHLS_ATTR_II);
}

/* Accesses to a stream in one iteration must not overtake those of the next. */
static bool check_transfers(const Graph *g)
{
    for (size_t i = 0; i < g->transfers.len; i++)
        for (size_t k = 0; k < i; k++) {
            const Transfer *a = &g->transfers.data[k], *b = &g->transfers.data[i];
            if (a->port == b->port && b->stage - a->stage >= g->loop->ii)
                return op_error(g->loop->accesses.data[i].op,
                                "cannot become hardware: it comes %lld cycles after another access "
                                "to its stream, and iterations follow each other after %lld",
                                (long long)(b->stage - a->stage), (long long)g->loop->ii);
        }
    return true;
}

static bool lower(RtlProcess *p)
{
    if (!is_one_pipeline(p->model))
        return op_error(p->model->func,
                        "cannot become hardware: it is not one pipelined loop alone");
    if (p->model->rewinds && !check_rewinding(p->model->loops.data)) return false;
    if (p->model->loops.data[0].flushes)
        return op_error(p->model->loops.data[0].op,
                        "cannot become hardware: it flushes, and modules are pipelines that stall");
    if (!to_rtl_declare_arrays(p)) return false;
    p->graphs = ARENA_ARRAY(&p->arena, Graph, p->model->loops.len);
    p->is_live = ARENA_ARRAY(&p->arena, bool, p->cell_widths.len);
    if (!to_rtl_body(p, 0)) return false;
    to_rtl_balance(p, &p->graphs[0]);
    to_rtl_find_live(p);
    return to_rtl_schedule(p, 0) && check_transfers(&p->graphs[0]);
}

static void free_process(RtlProcess *p)
{
    for (size_t l = 0; p->graphs && l < p->model->loops.len; l++) to_rtl_graph_free(&p->graphs[l]);
    for (size_t i = 0; i < p->array_list.len; i++) array_unref(p->array_list.data[i]->contents);
    ptrmap_free(&p->arrays);
    vec_free(&p->array_list);
    vec_free(&p->banks);
    vec_free(&p->cell_widths);
    arena_free(&p->arena);
}

Op *to_rtl_process(const HlsDesign *design, const HlsProcess *model, Builder *b)
{
    RtlProcess p = {.design = design, .model = model, .ctx = b->ctx};
    RtlModule m = {0};
    arena_init(&p.arena);
    if (lower(&p)) build_module(&p, b, &m);
    free_process(&p);
    return m.module;
}
