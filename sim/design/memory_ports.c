/* Arrays as memories: what the pragmas make of an array, and how many cycles its ports need for the
 * accesses of an iteration. An access is identified by its bank and address, as expressions over
 * the pipelined counters. In the copies of an unrolled loop the loop's counter is replaced by
 * constants, so that equal addresses are the same uniqued expressions.
 * Tests: lit/sim/design/schedule.mir, lit/sim/design/memories.mir */
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "sim/design/internal.h"

static void apply_pragma(HlsMemory *m, const Op *op)
{
    const Attr *dim = op_attr(op, "dim");
    uint64_t bit = dim ? (uint64_t)1 << (attr_int_value(dim) - 1) : 0;
    if (op->def == EMITHLS(ARRAY_PARTITION)) {
        m->banks |= bit;
    } else if (op->def == EMITHLS(ARRAY_RESHAPE)) {
        m->wide |= bit;
    } else if (op->def == EMITHLS(BIND_STORAGE)) {
        m->type = op_attr(op, "type")->u.string;
        m->impl = op_attr(op, EMITHLS_ATTR_IMPL)->u.string;
    } else if (op->def == EMITHLS(DEPENDENCE)) {
        m->distance = attr_int_value(op_attr(op, EMITHLS_ATTR_DISTANCE));
    }
}

/* An argument: reads are requested ahead and come in bursts, one word a cycle, as writes go. */
static HlsMemory external_memory(const Value *array)
{
    const Op *func = block_parent_op(array->owner.block);
    return (HlsMemory){
        .array = array,
        .is_constant = true,
        .distance = 1,
        .name = op_attr(func, EMITHLS_ATTR_ARG_NAMES)->u.array.items[array->index]->u.string,
        .type = STR("ram_s2p"),
        .impl = STR("external")};
}

HlsMemory design_memory(const Value *array)
{
    if (array->is_arg) return external_memory(array);
    const Op *def = value_def(array);
    uint32_t rank = emithls_array_rank(array->type);
    const Attr *name =
        def->def == EMITHLS(GET) ? op_attr(def, EMITHLS_ATTR_TABLE) : op_attr(def, "name");
    HlsMemory m = {.array = array, .is_constant = def->def == EMITHLS(GET), .distance = 1};
    m.name = m.is_constant ? name->u.symbol.names[0]->str : name->u.string;
    FOR_EACH_USE(use, array) apply_pragma(&m, use->owner);
    m.is_register = true;
    for (uint32_t i = 0; i < rank; i++)
        m.is_register &= ((m.banks | m.wide) >> i & 1) || emithls_array_dim(array->type, i) == 1;
    return m;
}

/* First index of an access. */
static const AffineExpr *place_of(const Op *access)
{
    const AffineMap *map = op_attr(access, "map")->u.map;
    return map->result_count ? map->results[0] : NULL;
}

/* A store of the load's value, one element further. */
static bool shifts(const Op *store, const Op *load)
{
    if (store->def != EMITHLS(STORE) || op_operand(store, 1) != op_operand(load, 0)) return false;
    const AffineExpr *from = place_of(load), *to = place_of(store);
    return from && to && to == affine_add_c(from, 1);
}

bool design_is_shift(const Op *load)
{
    const Value *value = op_result(load, 0);
    return value_has_one_use(value) && shifts(value->uses->owner, load);
}

static bool is_delay_line(const Value *array)
{
    uint32_t stores = 0;
    FOR_EACH_USE(use, array) {
        const Op *store = use->owner;
        if (store->def != EMITHLS(STORE)) continue;
        const Op *from = value_def(op_operand(store, 0));
        bool moves = from && from->def == EMITHLS(LOAD) && shifts(store, from);
        bool feeds =
            place_of(store) && affine_is_const(place_of(store)) && place_of(store)->value == 0;
        if (!moves && !feeds) return false;
        stores++;
    }
    return stores == 2;
}

bool design_is_delayed(const HlsMemory *m, const Op *load, int64_t *distance)
{
    const AffineExpr *place = place_of(load);
    if (!m->is_register || !place || !is_delay_line(m->array)) return false;
    if (affine_is_const(place) &&
        (place->value < 0 || place->value >= emithls_array_dim(m->array->type, 0)))
        return false;
    *distance = affine_is_const(place) ? place->value + 1 : 1;
    return true;
}

static uint32_t first_index(const Op *op)
{
    return op->def == EMITHLS(STORE) ? 2 : 1;
}

/* Whether a result of the op's map moves with the counters of the pipeline. */
static bool index_moves(const HlsLoop *loop, const Op *op, const AffineExpr *expr)
{
    for (uint32_t i = first_index(op); i < op->operand_count; i++)
        if (affine_uses_dim(expr, i - first_index(op)) &&
            design_counter_of(loop, op_operand(op, i)) >= 0)
            return true;
    return false;
}

OpTiming design_load_timing(const HlsMemory *m, const HlsLoop *loop, const Op *load)
{
    const AffineMap *map = op_attr(load, "map")->u.map;
    uint32_t rank = emithls_array_rank(m->array->type);
    int64_t choices = 1;
    if (!m->is_register) return latency_memory_load(m->impl);
    for (uint32_t i = 0; i < map->result_count; i++)
        if (index_moves(loop, load, map->results[i]))
            choices *= i < rank ? emithls_array_dim(m->array->type, i)
                                : emithls_lanes(emithls_array_elem(m->array->type));
    return latency_register_load(choices);
}

enum { MAX_COPY_LOOPS = 16, MOST_ADDRESSES = 1 << 21 };

typedef struct BankAddress {
    uint64_t bank, word; /* hashes of the expressions */
    bool is_store;
} BankAddress;

typedef struct AccessCount {
    const HlsMemory *memory;
    const HlsLoop *loop;
    VEC(BankAddress) seen; /* one each */
    PtrMap known;          /* hash of an address -> itself */
    int64_t addresses;     /* equal ones, too */
} AccessCount;

/* Op around which the unrolled loops of a copy are searched: the loop, or the function. */
static const Op *outermost(const HlsLoop *loop)
{
    return loop->op ? loop->op : op_parent(loop->first);
}

static bool add_address(AccessCount *c, const Op *op, const AffineExpr *const *dims)
{
    if (c->addresses++ == MOST_ADDRESSES)
        return op_error(op,
                        "cannot be simulated: an iteration has more than %d addresses in '%.*s'",
                        MOST_ADDRESSES, STR_ARG(c->memory->name));
    const AffineMap *map = op_attr(op, "map")->u.map;
    uint32_t rank = emithls_array_rank(c->memory->array->type), first = first_index(op);
    BankAddress a = {.bank = 1, .word = 2, .is_store = op->def == EMITHLS(STORE)};
    for (uint32_t i = 0; i < map->result_count && i < rank; i++) {
        if (c->memory->wide >> i & 1) continue;
        const AffineExpr *expr =
            affine_replace(map->results[i], dims, op->operand_count - first, NULL, 0);
        uint64_t *part = c->memory->banks >> i & 1 ? &a.bank : &a.word;
        *part = hash_combine(*part, hash_ptr(expr) + i);
    }
    uint64_t key = hash_combine(hash_combine(a.bank, a.word), a.is_store ? 3 : 4) | 1;
    if (!ptrmap_put(&c->known, (void *)(uintptr_t)key, c)) *vec_push(&c->seen) = a;
    return true;
}

/* Whether the index'th operand moves the bank or the address at all. */
static bool is_addressed_by(const AccessCount *c, const Op *op, uint32_t dim)
{
    const AffineMap *map = op_attr(op, "map")->u.map;
    uint32_t rank = emithls_array_rank(c->memory->array->type);
    for (uint32_t i = 0; i < map->result_count && i < rank; i++)
        if (!(c->memory->wide >> i & 1) && affine_uses_dim(map->results[i], dim)) return true;
    return false;
}

/* Copies of an op in the iteration, by the unrolled loops around it. */
static int64_t copy_count(const AccessCount *c, const Op *op)
{
    int64_t copies = 1, extents[MAX_COPY_LOOPS];
    for (const Op *around = op_parent(op); around != outermost(c->loop);
         around = op_parent(around)) {
        if (around->def != EMITHLS(FOR)) continue;
        size_t count = emithls_for_extents(around, extents, MAX_COPY_LOOPS);
        for (size_t i = 0; i < count; i++) copies *= extents[i];
    }
    return copies;
}

/* The operand in front of `index` that is the same value, or `index`. */
static uint32_t first_same(const Op *op, uint32_t index)
{
    uint32_t first = first_index(op), same = 0;
    while (op_operand(op, first + same) != op_operand(op, first + index)) same++;
    return same;
}

/* All values of the unrolled counters among the indices, from `index` on. A computed index may be
 * another one in each copy. */
static bool add_copies(AccessCount *c, const Op *op, const AffineExpr **dims, uint32_t index)
{
    uint32_t first = first_index(op);
    if (first + index == op->operand_count) return add_address(c, op, dims);
    const Value *counter = op_operand(op, first + index);
    int at = design_counter_of(c->loop, counter);
    uint32_t same = first_same(op, index);
    if (at >= 0 || !is_addressed_by(c, op, index)) {
        dims[index] = at >= 0 ? affine_dim(op->ctx, (uint32_t)at) : affine_const(op->ctx, 0);
        return add_copies(c, op, dims, index + 1);
    }
    if (same < index && is_addressed_by(c, op, same)) {
        dims[index] = dims[same];
        return add_copies(c, op, dims, index + 1);
    }
    int64_t extents[MAX_COPY_LOOPS], values = copy_count(c, op);
    if (counter->is_arg) {
        emithls_for_extents(block_parent_op(counter->owner.block), extents, MAX_COPY_LOOPS);
        values = extents[counter->index];
    }
    bool ok = true;
    for (int64_t i = 0; ok && i < values; i++) {
        dims[index] = affine_const(op->ctx, i);
        ok = add_copies(c, op, dims, index + 1);
    }
    return ok;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Cycles for so many reads and writes of one bank. */
static int64_t bank_cycles(const HlsMemory *m, int64_t reads, int64_t writes)
{
    static const struct {
        const char *type;
        int64_t reads, writes, all; /* per cycle */
    } rows[] = {{"rom_1p", 1, 1, 1}, {"rom_2p", 2, 1, 2},  {"ram_1p", 1, 1, 1},
                {"ram_2p", 2, 1, 2}, {"ram_s2p", 1, 1, 2}, {"ram_t2p", 2, 2, 2}};
    size_t row = m->is_constant ? 1 : 5; /* an array that is bound to nothing has two ports */
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq_c(m->type, rows[i].type)) row = i;
    int64_t cycles = divide_up(reads + writes, rows[row].all);
    int64_t reading = divide_up(reads, rows[row].reads);
    int64_t writing = divide_up(writes, rows[row].writes);
    cycles = reading > cycles ? reading : cycles;
    return writing > cycles ? writing : cycles;
}

/* The worst bank. */
static int64_t most_cycles(const AccessCount *c)
{
    PtrMap banks = {0}; /* hash -> its first address' index + 1 */
    int64_t most = 1, *uses = xcalloc(c->seen.len * 2 + 1, sizeof *uses);
    for (size_t i = 0; i < c->seen.len; i++) {
        const void *key = (void *)(uintptr_t)(c->seen.data[i].bank | 1);
        if (!ptrmap_has(&banks, key)) ptrmap_put(&banks, key, (void *)(uintptr_t)(i + 1));
        size_t bank = (uintptr_t)ptrmap_get(&banks, key) - 1;
        uses[2 * bank + c->seen.data[i].is_store]++;
        int64_t cycles = bank_cycles(c->memory, uses[2 * bank], uses[2 * bank + 1]);
        most = cycles > most ? cycles : most;
    }
    free_ptr((void **)&uses);
    ptrmap_free(&banks);
    return most;
}

static bool add_op(AccessCount *c, const Op *op)
{
    const AffineExpr *dims[HLS_MAX_LOOPS];
    if (op->operand_count - first_index(op) > HLS_MAX_LOOPS)
        return op_error(op, "cannot be simulated: it has more than %d indices", HLS_MAX_LOOPS);
    return add_copies(c, op, dims, 0);
}

bool design_port_cycles(const HlsMemory *m, const HlsLoop *loop, int64_t *cycles)
{
    AccessCount c = {.memory = m, .loop = loop};
    bool ok = true;
    *cycles = 1;
    if (m->is_register || str_eq_c(m->type, "rom_np")) /* a port for each access */
        return true;
    FOR_EACH_USE(use, m->array) {
        const Op *op = use->owner;
        bool is_access = op->def == EMITHLS(LOAD) || op->def == EMITHLS(STORE);
        if (ok && is_access && op_is_ancestor(outermost(loop), op)) ok = add_op(&c, op);
    }
    if (ok) *cycles = most_cycles(&c);
    vec_free(&c.seen);
    ptrmap_free(&c.known);
    return ok;
}
