/* A process as a module: its ports, its loops as pipelines that take turns, and what they keep.
 * Tests: lit/lowering/emithls_to_rtl, test/e2e/rtl_check.py */
#include "dialects/comb/comb.h"
#include "dialects/emithls/emithls.h"
#include "dialects/hw/hw.h"
#include "dialects/seq/seq.h"
#include "ir/asm/print/print.h"
#include "lowering/emithls_to_rtl/internal.h"

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

Value *to_rtl_stream_input(RtlModule *m, uint32_t port, int which)
{
    const char *suffix = to_rtl_suffixes[is_written(m->process, port)][which];
    return hw_input(m->module, port_name(m->process, port, suffix).data);
}

static void build_loop(RtlModule *m, uint32_t index, Datapath *out)
{
    RtlProcess *p = m->process;
    const Graph *g = &p->graphs[index];
    Value **words = ARENA_ARRAY(&p->arena, Value *, g->transfers.len);
    for (size_t i = 0; i < g->transfers.len; i++)
        if (!g->transfers.data[i].is_write)
            words[i] = to_rtl_stream_input(m, g->transfers.data[i].port, 0);
    *out = to_rtl_datapath(m, g, &m->loops[index], words);
}

static void build_body(RtlModule *m)
{
    RtlProcess *p = m->process;
    uint32_t count = (uint32_t)p->model->loops.len;
    Datapath *paths = ARENA_ARRAY(&p->arena, Datapath, count);
    m->loops = ARENA_ARRAY(&p->arena, LoopControl, count);
    for (uint32_t l = 0; l < count; l++)
        m->loops[l] = to_rtl_begin_control(m, &p->model->loops.data[l]);
    to_rtl_storage(m);
    FrameGate gate = to_rtl_frame_gate(m);
    to_rtl_control(m, &gate);
    for (uint32_t l = 0; l < count; l++) build_loop(m, l, &paths[l]);
    to_rtl_connect_cells(m, paths);
    for (uint32_t l = 0; l < count; l++)
        for (size_t i = 0; i < p->graphs[l].stores.len; i++)
            to_rtl_build_store(&paths[l], &p->graphs[l].stores.data[i]);
    to_rtl_connect_streams(m, paths);
    for (uint32_t l = 0; l < count; l++) to_rtl_datapath_free(&paths[l]);
}

static void build_module(RtlProcess *p, RtlLibrary *library, Builder *b, RtlModule *m)
{
    *m = (RtlModule){.process = p, .library = library, .b = *b};
    m->module = declare_module(m);
    builder_set_end(&m->b, region_entry(op_region(m->module, 0)));
    m->clock = hw_input(m->module, "clk");
    m->reset = hw_input(m->module, "rst");
    build_body(m);
}

/* What runs once comes first, so that no register has to know which frame it is. */
static bool check_steps(const HlsProcess *p)
{
    enum { MOST_STAGES = 1 << 16 };
    bool has_frame = false;
    if (p->loops.len == 0) return op_error(p->func, "cannot become hardware: it does nothing");
    for (size_t i = 0; i < p->loops.len; i++) {
        const HlsLoop *loop = &p->loops.data[i];
        if (loop->is_once && has_frame)
            return op_error(loop->first,
                            "cannot become hardware: it runs once, behind what runs in "
                            "every frame");
        has_frame |= !loop->is_once;
        if (loop->op && !op_attr(loop->op, EMITHLS_ATTR_II))
            return op_error(loop->op, "cannot become hardware: it is not pipelined");
        if (loop->depth > MOST_STAGES)
            return op_error(loop->op ? loop->op : loop->first,
                            "cannot become hardware: its pipeline has %lld stages, more than %d",
                            (long long)loop->depth, MOST_STAGES);
    }
    return true;
}

static bool lower(RtlProcess *p)
{
    const HlsProcess *model = p->model;
    if (!check_steps(model)) return false;
    p->has_early_words = model->rewinds && to_rtl_has_early_words(p->design, model);
    if (!to_rtl_declare_arrays(p)) return false;
    p->graphs = ARENA_ARRAY(&p->arena, Graph, model->loops.len);
    p->is_live = ARENA_ARRAY(&p->arena, bool, p->cell_widths.len);
    for (uint32_t l = 0; l < model->loops.len; l++) {
        if (!to_rtl_body(p, l)) return false;
        to_rtl_balance(p, &p->graphs[l]);
    }
    to_rtl_find_live(p);
    for (uint32_t l = 0; l < model->loops.len; l++)
        if (!to_rtl_schedule(p, l) || !to_rtl_check_transfers(&p->graphs[l])) return false;
    return true;
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

Op *to_rtl_process(const HlsDesign *design, const HlsProcess *model, RtlLibrary *library,
                   Builder *b)
{
    RtlProcess p = {.design = design, .model = model, .ctx = b->ctx};
    RtlModule m = {0};
    arena_init(&p.arena);
    if (lower(&p)) build_module(&p, library, b, &m);
    free_process(&p);
    return m.module;
}
