/* What a process keeps: a memory for each bank that something loads from, a register for each live
 * cell, and what its loops store there. The loops take turns, so no two of them store at once.
 * Tests: lit/lowering/emithls_to_rtl, test/e2e/rtl_check.py */
#include "dialects/comb/comb.h"
#include "dialects/emithls/emithls.h"
#include "dialects/hw/hw.h"
#include "dialects/seq/seq.h"
#include "lowering/emithls_to_rtl/internal.h"

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
    strbuf_printf(&file, "%s", name.data);
    if (a->banks > 1) {
        strbuf_printf(&name, "_%u", bank->index);
        strbuf_printf(&file, ".%u", bank->index); /* no other table's name ends like that */
    }
    strbuf_add_c(&file, ".hex");
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

void to_rtl_storage(RtlModule *m)
{
    RtlProcess *p = m->process;
    m->banks = ARENA_ARRAY(&p->arena, Value *, p->banks.len);
    m->cells = ARENA_ARRAY(&p->arena, Value *, p->cell_widths.len);
    for (uint32_t i = 0; i < p->banks.len; i++)
        if (is_loaded(p, i)) m->banks[i] = build_bank(m, i);
    for (size_t i = 0; i < p->array_list.len; i++) {
        const RtlArray *a = p->array_list.data[i];
        SeqRegister reg = {.clock = m->clock, .enable = m->loops[0].run};
        for (uint32_t k = a->first; a->is_cells && k < a->first + a->size; k++)
            if (p->is_live[k])
                m->cells[k] = seq_build_register(&m->b, type_i(p->ctx, a->width), &reg, 1,
                                                 a->memory.name.data);
    }
}

/* What a loop gives a cell, and when. */
typedef struct CellWrite {
    Value *value, *where;
} CellWrite;

/* A cell keeps its content where the choice that gives its next one says so. */
static CellWrite cell_write(const Datapath *d, uint32_t cell)
{
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
    return (CellWrite){to_rtl_at(d, final, stage),
                       to_rtl_both(d->m, to_rtl_happens(d, stage, where), d->control->run)};
}

void to_rtl_connect_cells(RtlModule *m, const Datapath *paths)
{
    const RtlProcess *p = m->process;
    for (uint32_t c = 0; c < p->cell_widths.len; c++) {
        CellWrite all = {.value = NULL};
        for (size_t l = 0; p->is_live[c] && l < p->model->loops.len; l++) {
            if (p->graphs[l].finals[c] == NO_NODE) continue;
            CellWrite one = cell_write(&paths[l], c);
            if (!all.value) {
                all = one;
                continue;
            }
            all.value = comb_build_mux(&m->b, one.where, one.value, all.value);
            all.where = to_rtl_either(m, one.where, all.where);
        }
        if (!all.value) continue;
        seq_connect(m->cells[c], all.value);
        op_set_operand(value_def(m->cells[c]), 2, all.where);
    }
}

void to_rtl_build_store(const Datapath *d, const Store *s)
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
                    to_rtl_both(m, to_rtl_happens(d, s->stage, s->where), d->control->run), which);
    free_ptr((void **)&lanes);
    free_ptr((void **)&mask);
}
