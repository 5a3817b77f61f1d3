/* The nest that takes a table's elements from the words of the chain.
 *
 * A word holds a power of two of elements, in the table's order, the first one lowest; only the last
 * word may hold fewer. An iteration takes a chunk, elements of one word and of one row of the memory.
 * A row that takes several chunks, or is a word of bits, is gathered in registers, because a memory of
 * wide words is never written in part; a word of several chunks waits in a register and is shifted.
 * A word of more than 64 bits is several integers of 64 bits, in which elements lie alike.
 * Tests: lit/passes/dfg/load-weights*.mir, test/e2e */
#include <assert.h>

#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "passes/dfg/internal.h"

static bool count_get(Op *op, void *user)
{
    PtrMap *gets = user;
    if (op->def != EMITHLS(GET)) return true;
    const Ident *table = op_attr(op, EMITHLS_ATTR_TABLE)->u.symbol.names[0];
    ptrmap_put(gets, table, (void *)((uintptr_t)ptrmap_get(gets, table) + 1));
    return true;
}

void load_table_count_gets(Op *module, PtrMap *gets)
{
    bool counted = op_walk(module, count_get, gets);
    assert(counted);
    (void)counted;
}

static const Type *element_type(const LoadedTable *t)
{
    return emithls_scalar(emithls_array_elem(t->variable->type));
}

static uint32_t element_width(const LoadedTable *t)
{
    return type_width(element_type(t));
}

/* Whether the variable's elements are words of bits, the table's last dimension. */
static bool has_words(const LoadedTable *t)
{
    return emithls_array_elem(t->variable->type)->kind == TYPE_VECTOR;
}

static uint32_t table_rank(const LoadedTable *t)
{
    return emithls_array_rank(t->variable->type) + has_words(t);
}

static int64_t table_dim(const LoadedTable *t, uint32_t dim)
{
    const Type *type = t->variable->type;
    return dim < emithls_array_rank(type) ? emithls_array_dim(type, dim)
                                          : emithls_lanes(emithls_array_elem(type));
}

/* Iterations along a dimension. */
static int64_t steps(const LoadedTable *t, uint32_t dim)
{
    int64_t extent = table_dim(t, dim);
    return dim + 1 == table_rank(t) ? extent / t->chunk : extent;
}

/* How many chunks a word has. */
static int64_t parts(const LoadedTable *t)
{
    return t->per_word / t->chunk;
}

/* Elements of an integer of a word. */
static int64_t per_unit(const LoadedTable *t)
{
    return t->per_word / t->units;
}

void load_table_plan(LoadedTable *t, bool has_rows, const Type *word)
{
    int64_t lanes = table_dim(t, table_rank(t) - 1), bits = type_width(emithls_scalar(word));
    has_rows |= has_words(t);
    t->units = emithls_lanes(word);
    t->per_word = 1;
    while (t->per_word * 2 * element_width(t) <= bits) t->per_word *= 2;
    t->per_word *= t->units;
    t->chunk = has_rows ? i64_gcd(lanes, t->per_word) : 1;
    t->gathers = has_words(t) || (has_rows && t->chunk < lanes);
}

int64_t load_table_trips(const LoadedTable *t)
{
    int64_t trips = 1;
    for (uint32_t i = 0; i < table_rank(t); i++) trips *= steps(t, i);
    return trips;
}

const char *load_table_counter(uint32_t i)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    return i < COUNT_OF(names) ? names[i] : "z";
}

Value *load_table_variable(EmithlsNest *nest, const Op *table, const char *what, const Type *elem,
                           const int64_t *dims, uint32_t rank)
{
    StrBuf name = {0};
    strbuf_printf(&name, "%.*s_%s", STR_ARG(symbol_name(table)->str), what);
    Value *variable = emithls_nest_variable(nest, name.data, elem, dims, rank);
    strbuf_free(&name);
    return variable;
}

void load_table_declare(LoadedTable *t, Op *place, const Type *word)
{
    int64_t lanes = table_dim(t, table_rank(t) - 1);
    EmithlsNest nest = {.b = builder_before(place)};
    if (t->gathers) {
        const Type *elem = emithls_array_elem(t->variable->type);
        t->row = load_table_variable(&nest, t->table, "row", elem, &lanes, !has_words(t));
        if (!has_words(t)) emithls_nest_partition(&nest, t->row, 1);
    }
    if (parts(t) > 1 || t->units > 1)
        t->word = load_table_variable(&nest, t->table, "word", word, NULL, 0);
}

/* The loops of the nest, over the chunks. */
typedef struct LoadNest {
    LoopSpec loops[MAX_TABLE_RANK];
    uint32_t loop_count;
    const AffineExpr *index[MAX_TABLE_RANK]; /* the chunk's place along each dimension */
    const AffineExpr *chunk;                 /* number of the chunk */
    const AffineExpr *part;                  /* the same in its word */
} LoadNest;

static LoadNest plan_nest(const EmithlsNest *nest, const LoadedTable *t)
{
    LoadNest load = {0};
    int64_t extents[MAX_TABLE_RANK];
    uint32_t rank = table_rank(t);
    for (uint32_t i = 0; i < rank; i++) {
        const char *name = i + 1 == rank && t->gathers ? "lane" : load_table_counter(i);
        extents[i] = steps(t, i);
        load.index[i] = extents[i] > 1 ? affine_dim(nest->b.ctx, nest->count + load.loop_count)
                                       : affine_const(nest->b.ctx, 0);
        if (extents[i] > 1) load.loops[load.loop_count++] = (LoopSpec){name, extents[i]};
    }
    if (load.loop_count == 0) load.loops[load.loop_count++] = (LoopSpec){load_table_counter(0), 1};
    load.chunk = emithls_affine_flatten(nest->b.ctx, load.index, extents, rank);
    load.part = affine_mod(load.chunk, affine_const(nest->b.ctx, parts(t)));
    return load;
}

/* word = word >> bits of a chunk. index: of the integer that is shifted, if it is one of several. */
static Value *shift_bits(EmithlsNest *nest, const LoadedTable *t, const AffineExpr **index,
                         uint32_t rank)
{
    Value *word = emithls_nest_load(nest, t->word, index, rank);
    Value *bits =
        emithls_nest_constant(nest, attr_int(word->type, t->chunk * (int64_t)element_width(t)));
    emithls_nest_store(nest, build_binary(&nest->b, ARITH(SHRUI), word->type, word, bits), t->word,
                       index, rank);
    return word;
}

/* The next chunk in the lowest bits; NULL: it is at the beginning of t->word, which has several
 * units. */
static Value *next_chunk(EmithlsNest *nest, const LoadedTable *t, const LoadNest *load,
                         Value *chain_in)
{
    if (!t->word) return emithls_nest_read(nest, chain_in);
    const bool is_eq = true;
    NestMark mark = {nest->b.block, nest->b.before, nest->count};
    if (parts(t) > 1) mark = emithls_nest_open_if(nest, &load->part, &is_eq, 1);
    emithls_nest_store(nest, emithls_nest_read(nest, chain_in), t->word, NULL, 0);
    emithls_nest_close(nest, mark);
    return t->units > 1 ? NULL : shift_bits(nest, t, NULL, 0);
}

/* word[k] = word[k + count] */
static void shift_units(EmithlsNest *nest, const LoadedTable *t, int64_t count)
{
    LoopSpec loop = {"k", t->units - count};
    const AffineExpr *to = affine_dim(nest->b.ctx, nest->count), *from = affine_add_c(to, count);
    NestMark mark = emithls_nest_open(nest, "units", &loop, 1, LOOP_UNROLLED, -1, -1);
    emithls_nest_store(nest, emithls_nest_load(nest, t->word, &from, 1), t->word, &to, 1);
    emithls_nest_close(nest, mark);
}

/* Of a word of several units, moves what is behind the chunk to the beginning: whole units, or what
 * the first one has left, and after its last chunk the next unit. */
static void next_part(EmithlsNest *nest, const LoadedTable *t, const LoadNest *load)
{
    if (t->units == 1 || parts(t) == 1) return;
    int64_t of_unit = per_unit(t) / t->chunk; /* 0: a chunk has several units */
    if (of_unit <= 1) {
        shift_units(nest, t, t->chunk / per_unit(t));
        return;
    }
    const AffineExpr *count = affine_const(nest->b.ctx, of_unit),
                     *next = affine_mod(affine_add_c(load->chunk, 1), count),
                     *inside = affine_add_c(next, -1), *first = affine_const(nest->b.ctx, 0);
    bool is_eq = true;
    NestMark mark = emithls_nest_open_if(nest, &next, &is_eq, 1);
    shift_units(nest, t, 1);
    emithls_nest_close(nest, mark);
    is_eq = false;
    mark = emithls_nest_open_if(nest, &inside, &is_eq, 1);
    shift_bits(nest, t, &first, 1);
    emithls_nest_close(nest, mark);
}

/* An element of a chunk; lane: an expression over the counters. */
static Value *element_of(EmithlsNest *nest, const LoadedTable *t, Value *chunk,
                         const AffineExpr *lane)
{
    const Type *elem = element_type(t);
    if (!chunk) {
        const AffineExpr *units = affine_const(nest->b.ctx, per_unit(t)),
                         *unit = affine_floordiv(lane, units);
        lane = affine_mod(lane, units);
        chunk = emithls_nest_load(nest, t->word, &unit, 1);
    }
    if (t->chunk > 1 && per_unit(t) > 1) {
        Value *bit = emithls_nest_index(nest, affine_mul_c(lane, element_width(t)));
        bit = build_unary(&nest->b, ARITH(INDEX_CAST), chunk->type, bit);
        chunk = build_binary(&nest->b, ARITH(SHRUI), chunk->type, chunk, bit);
    }
    return chunk->type == elem ? chunk : build_unary(&nest->b, ARITH(TRUNCI), elem, chunk);
}

/* Stores the elements of a chunk from the place `first` of an array's last dimension on. */
static void store_chunk(EmithlsNest *nest, const LoadedTable *t, Value *chunk, Value *array,
                        const AffineExpr **index, uint32_t rank, const AffineExpr *first)
{
    LoopSpec loop = {"k", t->chunk};
    const AffineExpr *lane = affine_const(nest->b.ctx, 0);
    NestMark mark = {0};
    if (t->chunk > 1) {
        lane = affine_dim(nest->b.ctx, nest->count);
        mark = emithls_nest_open(nest, "elements", &loop, 1, LOOP_UNROLLED, -1, -1);
    }
    index[rank - 1] = affine_add(first, lane);
    emithls_nest_store(nest, element_of(nest, t, chunk, lane), array, index, rank);
    if (t->chunk > 1) emithls_nest_close(nest, mark);
}

/* Moves the row on by a chunk; chunks arrive in order, so the first one ends up first. */
static void shift_row(EmithlsNest *nest, const LoadedTable *t, int64_t lanes)
{
    LoopSpec loop = {"k", lanes - t->chunk};
    const AffineExpr *to = affine_dim(nest->b.ctx, nest->count), *from = affine_add_c(to, t->chunk);
    NestMark mark = emithls_nest_open(nest, "shift", &loop, 1, LOOP_UNROLLED, -1, -1);
    emithls_nest_store(nest, emithls_nest_load(nest, t->row, &from, 1), t->row, &to, 1);
    emithls_nest_close(nest, mark);
}

/* The whole row is stored in the memory at once. */
static void store_elements(EmithlsNest *nest, const LoadedTable *t, const AffineExpr **index,
                           int64_t lanes)
{
    uint32_t last = table_rank(t) - 1;
    if (has_words(t)) {
        emithls_nest_store(nest, emithls_nest_load(nest, t->row, NULL, 0), t->variable, index,
                           last);
        return;
    }
    LoopSpec loop = {"k", lanes};
    index[last] = affine_dim(nest->b.ctx, nest->count);
    NestMark mark = emithls_nest_open(nest, "store", &loop, 1, LOOP_UNROLLED, -1, -1);
    emithls_nest_store(nest, emithls_nest_load(nest, t->row, &index[last], 1), t->variable, index,
                       last + 1);
    emithls_nest_close(nest, mark);
}

/* Stores the row once its last chunk has arrived. */
static void store_row(EmithlsNest *nest, const LoadedTable *t, const AffineExpr **index,
                      int64_t lanes)
{
    const AffineExpr *at_last = affine_add_c(index[table_rank(t) - 1], 1 - lanes / t->chunk);
    const bool is_eq = true;
    if (lanes == t->chunk) {
        store_elements(nest, t, index, lanes);
        return;
    }
    NestMark guard = emithls_nest_open_if(nest, &at_last, &is_eq, 1);
    store_elements(nest, t, index, lanes);
    emithls_nest_close(nest, guard);
}

void load_table(EmithlsNest *nest, const LoadedTable *t, Value *chain_in)
{
    LoadNest load = plan_nest(nest, t);
    uint32_t rank = table_rank(t);
    int64_t lanes = table_dim(t, rank - 1);
    NestMark mark =
        emithls_nest_open(nest, "load", load.loops, load.loop_count, LOOP_PIPELINED, -1, -1);
    Value *chunk = next_chunk(nest, t, &load, chain_in);
    if (t->gathers) {
        const AffineExpr *end;
        if (lanes > t->chunk) shift_row(nest, t, lanes);
        store_chunk(nest, t, chunk, t->row, &end, 1, affine_const(nest->b.ctx, lanes - t->chunk));
        store_row(nest, t, load.index, lanes);
    } else {
        store_chunk(nest, t, chunk, t->variable, load.index, rank,
                    affine_mul_c(load.index[rank - 1], t->chunk));
    }
    next_part(nest, t, &load);
    emithls_nest_close(nest, mark);
}
