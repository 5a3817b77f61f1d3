/* Loads and stores. An index that is constant in a copy of the body is a place; one that moves with
 * the counters, or that the body computes, chooses among places. A cell is a value that flows from
 * store to load; a bank is asked through its address.
 * Tests: lit/lowering/emithls_to_rtl */
#include <assert.h>

#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "lowering/emithls_to_rtl/internal.h"

/* One index of an access: a constant, or a number. */
typedef struct Place {
    Number number;
    int64_t at; /* if the number is constant */
    bool is_constant;
    int64_t extent;
} Place;

/* Where an access goes: its indices, in the order of the array's dimensions, the lane last. */
typedef struct Places {
    const RtlArray *array;
    Place dims[HLS_MAX_LOOPS + 1];
    uint32_t rank;   /* of the array; dims[rank] is the lane */
    bool is_element; /* all lanes of an element */
} Places;

static bool find_place(BodyBuilder *b, const Op *op, uint32_t first, const AffineExpr *expr,
                       Place *out)
{
    const Value *value =
        expr->kind == AFFINE_DIM ? op_operand(op, first + (uint32_t)expr->value) : NULL;
    size_t computed = value ? (uintptr_t)ptrmap_get(&b->values, value) : 0;
    if (computed) {
        NodeId node = b->scalars.data[computed - 1];
        uint32_t width = to_rtl_node(b->g, node)->width;
        uint32_t bits = i64_max(i64_log2_up(out->extent), 1) < width
                            ? (uint32_t)i64_max(i64_log2_up(out->extent), 1)
                            : width;
        out->number = (Number){to_rtl_extract(b->g, node, 0, bits), 0, out->extent - 1};
    } else {
        const AffineExpr *over = to_rtl_over_counters(b, op, first, expr);
        if (!over) return to_rtl_refuse_index(op);
        out->number = to_rtl_number(b, over);
    }
    out->is_constant = to_rtl_is_const(b->g, out->number.node, &out->at);
    if (out->is_constant && (out->number.low < 0 || out->at >= out->extent))
        return op_error(op, "accesses element %lld of a dimension of %lld",
                        (long long)out->number.low, (long long)out->extent);
    return true;
}

static bool find_places(BodyBuilder *b, const Op *op, uint32_t array_operand, Places *out)
{
    const Value *array = op_operand(op, array_operand);
    const AffineMap *map = op_attr(op, "map")->u.map;
    *out =
        (Places){.array = to_rtl_array(b->process, array), .rank = emithls_array_rank(array->type)};
    if (!out->array || map->result_count > HLS_MAX_LOOPS)
        return op_error(op,
                        "cannot become hardware: it accesses a memory at the boundary, or has "
                        "more than %d indices",
                        HLS_MAX_LOOPS);
    out->is_element = map->result_count == out->rank;
    for (uint32_t i = 0; i <= out->rank; i++) {
        Place *place = &out->dims[i];
        place->extent =
            i < out->rank ? emithls_array_dim(array->type, i) : (int64_t)out->array->lanes;
        if (i == out->rank && out->is_element) continue;
        if (!find_place(b, op, array_operand + 1, map->results[i], place)) return false;
    }
    return true;
}

/* Visits the constant places that an access may mean, the dimensions in `dims` only (bit per
 * dimension, the lane's behind the last), and calls `visit` with the flat place among them and the
 * condition under which it is meant. */
typedef struct PlaceWalk {
    BodyBuilder *b;
    const Places *places;
    uint64_t dims;
    void (*visit)(struct PlaceWalk *walk, int64_t at, NodeId where);
    void *data;
} PlaceWalk;

static void walk_places(PlaceWalk *w, uint32_t dim, int64_t at, NodeId where)
{
    if (dim > w->places->rank) {
        w->visit(w, at, where);
        return;
    }
    const Place *place = &w->places->dims[dim];
    if (!(w->dims >> dim & 1)) {
        walk_places(w, dim + 1, at, where);
        return;
    }
    if (place->is_constant) {
        walk_places(w, dim + 1, at * place->extent + place->at, where);
        return;
    }
    Graph *g = w->b->g;
    int64_t last = i64_min(place->number.high, place->extent - 1);
    uint32_t width = to_rtl_node(g, place->number.node)->width;
    for (int64_t i = i64_max(place->number.low, 0); i <= last; i++) {
        NodeId is_it =
            to_rtl_binary(g, NODE_CMP, 1, place->number.node, to_rtl_const(g, width, i), CMPI_EQ);
        walk_places(w, dim + 1, at * place->extent + i, to_rtl_and(g, where, is_it));
    }
}

/* A choice by an index, bit by bit from the lowest: items[i] for index i. */
static NodeId choose(Graph *g, NodeId index, NodeId *items, uint32_t count)
{
    uint32_t bits = to_rtl_node(g, index)->width;
    for (uint32_t bit = 0; count > 1 && bit < bits; bit++) {
        NodeId which = to_rtl_extract(g, index, bit, 1);
        for (uint32_t i = 0; 2 * i < count; i++)
            items[i] = 2 * i + 1 < count ? to_rtl_mux(g, which, items[2 * i + 1], items[2 * i])
                                         : items[2 * i];
        count = (count + 1) / 2;
    }
    return items[0];
}

/* The node that get(at) gives at the place, over the dimensions in `dims`. */
typedef NodeId PlaceReader(BodyBuilder *b, const void *data, int64_t at);

static NodeId read_place(BodyBuilder *b, const Places *p, uint64_t dims, uint32_t dim, int64_t at,
                         PlaceReader *get, const void *data)
{
    while (dim <= p->rank && !(dims >> dim & 1)) dim++;
    if (dim > p->rank) return get(b, data, at);
    const Place *place = &p->dims[dim];
    if (place->is_constant)
        return read_place(b, p, dims, dim + 1, at * place->extent + place->at, get, data);
    int64_t low = i64_max(place->number.low, 0);
    int64_t count = i64_min(place->number.high, place->extent - 1) + 1;
    NodeId *items = xcalloc((size_t)count, sizeof *items), first = NO_NODE;
    for (int64_t i = low; i < count; i++) {
        items[i] = read_place(b, p, dims, dim + 1, at * place->extent + i, get, data);
        first = items[low];
    }
    for (int64_t i = 0; i < low; i++)
        items[i] = to_rtl_undef(b->g, to_rtl_node(b->g, first)->width);
    NodeId out = choose(b->g, place->number.node, items, (uint32_t)count);
    free_ptr((void **)&items);
    return out;
}

/* The content of a cell: what was stored, a number of a table, or what it holds from before. */
static NodeId cell_content(BodyBuilder *b, const RtlArray *a, int64_t place)
{
    uint32_t cell = a->first + (uint32_t)place;
    if (a->contents) return to_rtl_const(b->g, a->width, array_get_i64(a->contents, place));
    if (b->cells[cell] == NO_NODE) {
        b->cells[cell] = to_rtl_leaf(b->g, NODE_STATE, a->width, cell);
        b->g->states[cell] = b->cells[cell];
    }
    return b->cells[cell];
}

/* A cell as an op loads it. */
typedef struct CellReader {
    const RtlArray *array;
    const Op *op;
} CellReader;

static NodeId get_cell(BodyBuilder *b, const void *data, int64_t at)
{
    const CellReader *r = data;
    NodeId content = cell_content(b, r->array, at);
    if (r->array->contents || content != b->g->states[r->array->first + at]) return content;
    int64_t *loaded = &b->g->loaded[r->array->first + at];
    int64_t begin = design_load_begin(b->process->design, b->loop, r->op) + 1;
    *loaded = *loaded ? i64_min(*loaded, begin) : begin;
    return content;
}

static uint64_t all_dims(const Places *p)
{
    return ((uint64_t)1 << (p->rank + 1)) - 1;
}

static void set_lane(Places *p, int64_t lane)
{
    p->dims[p->rank].is_constant = true;
    p->dims[p->rank].at = lane;
}

/* Scalars that the access moves. */
static uint32_t lanes_of(const Places *p)
{
    return p->is_element ? p->array->lanes : 1;
}

/* Dimensions that choose within the word of a bank. */
static uint64_t word_dims(const Places *p)
{
    return p->array->memory.wide | (uint64_t)1 << p->rank;
}

/* Row-major, over the dimensions that choose neither. */
static NodeId address_of(BodyBuilder *b, const Places *p)
{
    const RtlArray *a = p->array;
    uint32_t bits = (uint32_t)i64_max(i64_log2_up(a->depth), 1);
    NodeId sum = to_rtl_const(b->g, bits, 0);
    int64_t stride = 1;
    for (uint32_t i = p->rank; i-- > 0;) {
        if ((a->memory.banks | a->memory.wide) >> i & 1) continue;
        const Place *place = &p->dims[i];
        NodeId part = to_rtl_extend(b->g, place->number.node, bits, place->number.low < 0);
        for (uint32_t bit = 0; stride >> bit; bit++)
            if (stride >> bit & 1)
                sum = to_rtl_binary(
                    b->g, NODE_ADD, bits, sum,
                    to_rtl_binary(b->g, NODE_SHL, bits, part, to_rtl_const(b->g, bits, bit), 0), 0);
        stride *= place->extent;
    }
    return sum;
}

/* Stores to a bank that loads of the lanes in `read`, one flag per scalar of a word, must see. */
static uint32_t version_for(const Graph *g, const RtlArray *a, uint32_t bank, const bool *read)
{
    uint32_t stores = 0, version = 0;
    for (size_t i = 0; i < g->stores.len; i++) {
        const Store *s = &g->stores.data[i];
        if (s->bank != bank) continue;
        stores++;
        for (uint32_t k = 0; k < a->word; k++)
            if (read[k] && s->lanes[k] != NO_NODE) version = stores;
    }
    return version;
}

/* The word of a bank at the access's address. */
typedef struct BankReader {
    const RtlArray *array;
    NodeId address;
    const bool *read;
    const Op *op;
} BankReader;

static NodeId get_word(BodyBuilder *b, const void *data, int64_t at)
{
    const BankReader *r = data;
    Graph *g = b->g;
    uint32_t bank = r->array->first + (uint32_t)at;
    uint32_t version = version_for(g, r->array, bank, r->read);
    int64_t begin = design_load_begin(b->process->design, b->loop, r->op);
    NodeId node = to_rtl_unary(g, NODE_LOAD, r->array->word * r->array->width, r->address,
                               (int64_t)version << 32 | bank);
    for (size_t i = 0; i < g->loads.len; i++) {
        Load *load = &g->loads.data[i];
        if (load->node != node) continue;
        if (load->where != b->where) load->where = NO_NODE;
        load->stage = i64_min(load->stage, begin);
        return node;
    }
    *vec_push(&g->loads) = (Load){.node = node,
                                  .bank = bank,
                                  .where = b->where,
                                  .version = version,
                                  .op = r->op,
                                  .stage = begin};
    g->nodes.data[node].timing = latency_memory_load(r->array->memory.impl);
    return node;
}

/* A scalar of a word. */
typedef struct WordReader {
    NodeId word;
    uint32_t width;
} WordReader;

static NodeId get_lane(BodyBuilder *b, const void *data, int64_t at)
{
    const WordReader *r = data;
    return to_rtl_extract(b->g, r->word, at * r->width, r->width);
}

static void mark_lane(PlaceWalk *walk, int64_t at, NodeId where)
{
    (void)where;
    ((bool *)walk->data)[at] = true;
}

static void load_from_banks(BodyBuilder *b, const Op *op, Places *p, NodeId *out)
{
    const RtlArray *a = p->array;
    bool *read = xcalloc(a->word, sizeof *read);
    PlaceWalk walk = {b, p, word_dims(p), mark_lane, read};
    for (uint32_t lane = 0; lane < lanes_of(p); lane++) {
        if (p->is_element) set_lane(p, lane);
        walk_places(&walk, 0, 0, NO_NODE);
    }
    BankReader reader = {a, address_of(b, p), read, op};
    WordReader in_word = {read_place(b, p, a->memory.banks, 0, 0, get_word, &reader), a->width};
    for (uint32_t lane = 0; lane < lanes_of(p); lane++) {
        if (p->is_element) set_lane(p, lane);
        out[lane] = read_place(b, p, word_dims(p), 0, 0, get_lane, &in_word);
    }
    free_ptr((void **)&read);
}

bool to_rtl_load(BodyBuilder *b, const Op *op, NodeId *out)
{
    Places p;
    if (!find_places(b, op, 0, &p)) return false;
    if (!p.array->is_cells) {
        load_from_banks(b, op, &p, out);
        return true;
    }
    CellReader reader = {p.array, op};
    for (uint32_t lane = 0; lane < lanes_of(&p); lane++) {
        if (p.is_element) set_lane(&p, lane);
        out[lane] = read_place(b, &p, all_dims(&p), 0, 0, get_cell, &reader);
    }
    return true;
}

/* What is stored at the places of a walk. */
typedef struct StoreData {
    NodeId value;
    uint32_t bank;
    NodeId address;
    const Op *op;
    int64_t cycle; /* of the op */
} StoreData;

static void set_cell(PlaceWalk *walk, int64_t at, NodeId where)
{
    const StoreData *d = walk->data;
    BodyBuilder *b = walk->b;
    const RtlArray *a = walk->places->array;
    NodeId when = to_rtl_and(b->g, b->where, where);
    NodeId before = when == NO_NODE ? d->value : cell_content(b, a, at);
    b->cells[a->first + (uint32_t)at] = to_rtl_mux(b->g, when, d->value, before);
    int64_t *stored = &b->g->stored[a->first + (uint32_t)at];
    *stored = i64_max(*stored, d->cycle);
}

/* Whether a load must see what the store has stored so far. */
static bool is_loaded(const Graph *g, const Store *s)
{
    for (size_t i = 0; i < g->loads.len; i++)
        if (g->loads.data[i].bank == s->bank && g->loads.data[i].version > s->version) return true;
    return false;
}

/* The store that the lane joins, a new one if there is none. Lanes of a word are stored together, with
 * the last of them, so that a memory has one port for them: whatever loads allow the last store allows
 * the others then. */
static Store *store_for(BodyBuilder *b, const StoreData *d, NodeId where, uint32_t lane)
{
    Graph *g = b->g;
    uint32_t version = 0;
    Store *last = NULL;
    for (size_t i = 0; i < g->stores.len; i++)
        if (g->stores.data[i].bank == d->bank) {
            last = &g->stores.data[i];
            version++;
        }
    if (last && last->address == d->address && last->where == where &&
        last->lanes[lane] == NO_NODE && !is_loaded(g, last)) {
        last->stage = i64_max(last->stage, d->cycle);
        return last;
    }
    Store *s = vec_push(&g->stores);
    *s = (Store){.bank = d->bank,
                 .address = d->address,
                 .where = where,
                 .version = version,
                 .op = d->op,
                 .stage = d->cycle};
    s->lanes = ARENA_ARRAY(&b->process->arena, NodeId, b->process->banks.data[d->bank].array->word);
    return s;
}

static void set_lane_of_word(PlaceWalk *walk, int64_t at, NodeId where)
{
    const StoreData *d = walk->data;
    BodyBuilder *b = walk->b;
    NodeId when = to_rtl_and(b->g, b->where, where);
    int64_t always = 1;
    if (when != NO_NODE && to_rtl_is_const(b->g, when, &always) && !always) return;
    store_for(b, d, when, (uint32_t)at)->lanes[at] = d->value;
}

static void set_word(PlaceWalk *walk, int64_t at, NodeId where)
{
    StoreData d = *(const StoreData *)walk->data;
    BodyBuilder *b = walk->b;
    NodeId outside = b->where;
    d.bank = walk->places->array->first + (uint32_t)at;
    b->where = to_rtl_and(b->g, b->where, where);
    PlaceWalk lanes = {b, walk->places, word_dims(walk->places), set_lane_of_word, &d};
    walk_places(&lanes, 0, 0, NO_NODE);
    b->where = outside;
}

bool to_rtl_store(BodyBuilder *b, const Op *op, const NodeId *in)
{
    Places p;
    if (!find_places(b, op, 1, &p)) return false;
    bool is_cells = p.array->is_cells;
    StoreData data = {.address = is_cells ? NO_NODE : address_of(b, &p),
                      .op = op,
                      .cycle = design_cycle_of(b->process->design, op)};
    PlaceWalk walk = {b, &p, is_cells ? all_dims(&p) : p.array->memory.banks,
                      is_cells ? set_cell : set_word, &data};
    if (p.array->contents) return op_error(op, "cannot become hardware: it stores to a table");
    for (uint32_t lane = 0; lane < lanes_of(&p); lane++) {
        if (p.is_element) set_lane(&p, lane);
        data.value = in[lane];
        walk_places(&walk, 0, 0, NO_NODE);
    }
    return true;
}

void to_rtl_forget(BodyBuilder *b, const Value *array)
{
    const RtlArray *a = to_rtl_array(b->process, array);
    for (uint32_t i = 0; i < a->size; i++) b->cells[a->first + i] = to_rtl_undef(b->g, a->width);
}
