/* stream-weights: tables bound to "stream" leave the chip. Each lies in a memory of its own (m_axi in
 * HLS), from which its words come in the order in which its process takes them:
 *
 *   memory ─▶ reader ─▶ bus words ─▶ unpacker ─▶ rows ─▶ process
 *
 * Where rows are wider than a port, bus words are spread over several ports, as far as `ports` says:
 *
 *   memory ─▶ reader ─▶ parts ─┬▶ gatherer ─▶ bus words ─▶ unpacker ─▶ …
 *   memory ─▶ reader ─▶ parts ─┘
 *
 * The process reads a row where it had loaded one from its table. What it uses again from one iteration
 * of its innermost loops to the next it keeps; what it uses again later is read from memory again, so
 * the reader goes through the same loops as the process. How rows lie in memory: stream_table.c.
 * Requires: a top function of streams, pipelined loops that load rows at places that counters say.
 * Tables of processes that are called several times stay on the chip; one that is used elsewhere, too, is
 * copied, since what lies in memory depends on who reads it.
 * Changes: the processes of such tables get an argument, the top function a memory for each.
 * Tests: lit/passes/dfg/stream-weights.mir, test/e2e/stream_check.py */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "passes/dfg/internal.h"
#include "passes/dfg/passes.h"

enum { MIN_BUS = 64, MAX_BUS = 512, COSIM_FRAMES = 1 };

/* To memory: bits of the widest port, and over how many of them a table may be spread. */
typedef struct Bus {
    int64_t bits, ports;
} Bus;

static bool is_pragma(const Op *op)
{
    return op->def == EMITHLS(BIND_STORAGE) || op->def == EMITHLS(ARRAY_RESHAPE) ||
           op->def == EMITHLS(ARRAY_PARTITION) || op->def == EMITHLS(DEPENDENCE);
}

static bool is_streamed(const Op *get)
{
    FOR_EACH_USE(use, op_result(get, 0))
        if (use->owner->def == EMITHLS(BIND_STORAGE))
            return str_eq_c(op_attr(use->owner, EMITHLS_ATTR_IMPL)->u.string, "stream");
    return false;
}

/* The loop at the top of the function that an op is in. */
static Op *outer_loop(const Op *op, const Op *func)
{
    Op *loop = (Op *)(uintptr_t)op;
    while (block_parent_op(loop->block) != func) loop = block_parent_op(loop->block);
    return loop->def == EMITHLS(FOR) ? loop : NULL;
}

/* The counter of the loop that an expression over an op's counters is, or -1. */
static int64_t counter_of(const Op *load, const AffineExpr *expr, const Op *loop)
{
    if (expr->kind != AFFINE_DIM) return -1;
    const Value *value = op_operand(load, 1 + (uint32_t)expr->value);
    const Block *body = region_entry(op_region(loop, 0));
    return value->is_arg && value_block(value) == body ? (int64_t)value->index : -1;
}

/* Which counter each dimension of the table goes with. False: diagnosed. */
static bool find_counters(const StreamedTable *t, const Op *load, int64_t *strides)
{
    const AffineMap *map = op_attr(load, "map")->u.map;
    int64_t stride = 1;
    for (uint32_t i = t->row_rank; i-- > 0;) {
        int64_t extent = emithls_array_dim(t->array->type, i);
        int64_t counter = counter_of(load, map->results[i], t->loop);
        if (extent > 1 && (counter < 0 || t->extents[counter] != extent || strides[counter]))
            return op_error(load,
                            "takes rows of '%.*s' in an order that no loop has, so they "
                            "cannot be streamed",
                            STR_ARG(symbol_name(t->table)->str));
        if (extent > 1) strides[counter] = stride;
        stride *= extent;
    }
    return true;
}

/* All loads take the row that the counters of the first one say. False: diagnosed. */
static bool add_load(StreamedTable *t, const Op *load)
{
    int64_t strides[NEST_MAX_COUNTERS] = {0};
    const bool is_first = t->count == 0;
    if (is_first) t->count = (uint32_t)emithls_for_extents(t->loop, t->extents, NEST_MAX_COUNTERS);
    if (!find_counters(t, load, strides)) return false;
    if (is_first) memcpy(t->strides, strides, sizeof strides);
    return memcmp(t->strides, strides, sizeof strides) == 0 ||
           op_error(load,
                    "takes another row of '%.*s' than another load, so they cannot be streamed",
                    STR_ARG(symbol_name(t->table)->str));
}

/* The loop that all loads of the table are in, and its counters. False: diagnosed. */
static bool find_loop(StreamedTable *t)
{
    FOR_EACH_USE(use, t->array) {
        Op *op = use->owner;
        if (is_pragma(op)) continue;
        Op *loop = outer_loop(op, t->func);
        if (op->def != EMITHLS(LOAD) || !loop || (t->loop && t->loop != loop) ||
            op_attr(op, "map")->u.map->result_count < t->row_rank)
            return op_error(op, "uses '%.*s' outside of one loop, so it cannot be streamed",
                            STR_ARG(symbol_name(t->table)->str));
        t->loop = loop;
        if (!add_load(t, op)) return false;
    }
    return t->loop || op_error(t->func, "does not use '%.*s', so it cannot be streamed",
                               STR_ARG(symbol_name(t->table)->str));
}

static bool has_lanes(const Value *array)
{
    FOR_EACH_USE(use, array)
        if (use->owner->def == EMITHLS(ARRAY_RESHAPE) ||
            use->owner->def == EMITHLS(ARRAY_PARTITION))
            return true;
    return false;
}

static bool describe_table(Op *func, Op *get, const Bus *bus, StreamedTable *out)
{
    const Type *array = op_result(get, 0)->type, *elem = emithls_array_elem(array);
    int64_t begin, end, all = 1;
    *out = (StreamedTable){.func = func,
                           .get = get,
                           .array = op_result(get, 0),
                           .table = symbol_lookup(get, op_attr(get, EMITHLS_ATTR_TABLE))};
    if (!type_is_integer(emithls_scalar(elem)) || type_width(emithls_scalar(elem)) > MIN_BUS)
        return op_error(get, "is no table of integers of up to %d bits, so it cannot be streamed",
                        MIN_BUS);
    out->words =
        has_lanes(out->array) ? emithls_array_dim(array, emithls_array_rank(array) - 1) : 1;
    out->row_rank = emithls_array_rank(array) - has_lanes(out->array);
    out->lanes = out->words * emithls_lanes(elem);
    out->bits = type_width(emithls_scalar(elem));
    if (!find_loop(out)) return false;
    emithls_for_range(out->loop, &begin, &end);
    for (uint32_t i = 0; i < out->count; i++) all *= out->extents[i];
    if (begin != 0 || end != all || op_attr(out->loop, EMITHLS_ATTR_REWIND))
        return op_error(out->loop, "%s, so its table cannot be streamed",
                        op_attr(out->loop, EMITHLS_ATTR_REWIND) ? "rewinds"
                                                                : "leaves out iterations");
    stream_table_plan(out, bus->bits, bus->ports);
    return true;
}

/* Copies the word of a row into words of bits. */
static void split_words(EmithlsNest *nest, const StreamedTable *t, Value *large, Value *row)
{
    LoopSpec loops[2] = {{"word", t->words}, {"bit", t->lanes / t->words}};
    NestMark mark = emithls_nest_open(nest, "planes", loops, 2, LOOP_UNROLLED, -1, -1);
    const AffineExpr *index[2] = {affine_dim(nest->b.ctx, mark.count),
                                  affine_dim(nest->b.ctx, mark.count + 1)};
    const AffineExpr *from = affine_add(affine_mul_c(index[0], loops[1].extent), index[1]);
    emithls_nest_store(nest, emithls_nest_load(nest, large, &from, 1), row, index, 2);
    emithls_nest_close(nest, mark);
}

/* Reads a row where the loop's iteration begins, unless it is that of the iteration before. */
static void read_row(const StreamedTable *t, Value *stream, Value *row)
{
    Block *body = region_entry(op_region(t->loop, 0));
    EmithlsNest nest = {.b = builder_before(body->first), .count = t->count};
    const AffineExpr *again[NEST_MAX_COUNTERS];
    bool is_eq[NEST_MAX_COUNTERS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->count; i++) nest.counters[i] = body->args[i];
    for (uint32_t i = t->run_end; i < t->count; i++)
        if (t->extents[i] > 1) {
            is_eq[count] = true;
            again[count++] = affine_dim(nest.b.ctx, i);
        }
    NestMark mark = {nest.b.block, nest.b.before, nest.count};
    if (count > 0) mark = emithls_nest_open_if(&nest, again, is_eq, count);
    if (emithls_array_rank(row->type) == 0) {
        emithls_nest_store(&nest, emithls_nest_read(&nest, stream), row, NULL, 0);
    } else {
        Value *large = emithls_nest_variable(&nest, "row", t->row, NULL, 0);
        emithls_nest_store(&nest, emithls_nest_read(&nest, stream), large, NULL, 0);
        split_words(&nest, t, large, row);
    }
    emithls_nest_close(&nest, mark);
}

/* A load of an element, or of a word of bits, takes it from the row. */
static void redirect_load(const StreamedTable *t, Op *load, Value *row)
{
    const AffineMap *map = op_attr(load, "map")->u.map;
    EmithlsNest nest = {.b = builder_before(load), .count = load->operand_count - 1};
    for (uint32_t i = 0; i < nest.count; i++) nest.counters[i] = op_operand(load, 1 + i);
    Value *value =
        emithls_nest_load(&nest, row, map->results + t->row_rank, map->result_count - t->row_rank);
    value_replace_all(op_result(load, 0), value);
    op_erase(load);
}

/* The table's variable becomes a row that the loop reads. */
static void replace_table(const StreamedTable *t, Value *stream)
{
    const Type *elem = emithls_array_elem(t->array->type);
    bool has_planes = elem->kind == TYPE_VECTOR && t->words > 1;
    EmithlsNest nest = {.b = builder_before(t->get)};
    Value *row = has_planes ? load_table_variable(&nest, t->table, "row", elem, &t->words, 1)
                            : load_table_variable(&nest, t->table, "row", t->row, NULL, 0);
    if (has_planes) emithls_nest_partition(&nest, row, 1);
    read_row(t, stream, row);
    VEC(Op *) users = {0};
    FOR_EACH_USE(use, t->array) *vec_push(&users) = use->owner;
    for (size_t i = 0; i < users.len; i++)
        if (is_pragma(users.data[i]))
            op_erase(users.data[i]);
        else
            redirect_load(t, users.data[i], row);
    vec_free(&users);
    op_erase(t->get);
}

/* A memory at the top function. number: of its port among all. */
static Value *add_memory(const StreamedTable *t, Op *top, int64_t port, int64_t number,
                         const PortPlaces *places)
{
    Context *ctx = top->ctx;
    const int64_t words = t->bus_words, lanes = emithls_lanes(t->part), all = words * lanes;
    const Type *frame = type_tensor(type_i(ctx, MIN_BUS), &all, 1, NULL);
    const NamedAttr items[] = {
        build_named_attr(ctx, EMITHLS_ATTR_FRAME, attr_type(frame)),
        build_named_attr(ctx, EMITHLS_ATTR_WORD, attr_i64_array(ctx, &lanes, 1)),
        build_named_attr(ctx, EMITHLS_ATTR_WEIGHTS, attr_unit(ctx)),
        build_named_attr(ctx, EMITHLS_ATTR_PORT_CHAIN, attr_i64(ctx, number)),
    };
    StrBuf name = {0};
    stream_table_name(t, port, &name);
    Value *memory = port_process_argument(top, name.data, emithls_array(t->part, &words, 1),
                                          attr_dict(ctx, items, COUNT_OF(items)));
    const NamedAttr attrs[3] = {
        build_named_attr(ctx, "mode", attr_string_c(ctx, "m_axi")),
        build_named_attr(ctx, EMITHLS_ATTR_BUNDLE, attr_string(ctx, strbuf_str(&name))),
        build_named_attr(ctx, DFG_ATTR_DEPTH, attr_i64(ctx, words * COSIM_FRAMES))};
    strbuf_free(&name);
    Builder b = builder_before(places->dataflow);
    build(&b, EMITHLS(INTERFACE), &memory, 1, NULL, 0, attrs, 3);
    return memory;
}

/* What the design reads. */
typedef struct Streamed {
    int64_t ports, bits;
} Streamed;

/* A memory and what reads it, as the stream of its words. */
static Value *add_reader(SymbolTable *symbols, const StreamedTable *t, Op *top, int64_t port,
                         int64_t number, PortPlaces *places)
{
    StrBuf name = {0};
    stream_table_name(t, port, &name);
    Value *memory = add_memory(t, top, port, number, places);
    Value *words =
        port_process_deep_stream(places, strbuf_str(&name), "bus", emithls_stream(t->part));
    port_process_call(places, stream_table_reader(symbols, t, port, memory), true, memory, words);
    strbuf_free(&name);
    return words;
}

/* Bus words of what all ports bring. */
static Value *gather(SymbolTable *symbols, const StreamedTable *t, Value **parts,
                     PortPlaces *places)
{
    if (t->ports == 1) return parts[0];
    Value *bus = port_process_deep_stream(places, symbol_name(t->table)->str, "joined",
                                          emithls_stream(t->bus));
    port_process_call(places, stream_table_gatherer(symbols, t), true, parts[0], bus);
    Op *call = places->call->prev;
    op_replace_operands(call, 2, 0, parts + 1, (uint32_t)t->ports - 1);
    return bus;
}

/* The table becomes that of the first port; those of the others are beside it. number: of the first. */
static void set_images(SymbolTable *symbols, const StreamedTable *t, const Attr **images,
                       int64_t number)
{
    Context *ctx = t->table->ctx;
    for (int64_t port = t->ports; port-- > 0;) {
        Op *table = t->table;
        if (port > 0) {
            StrBuf name = {0};
            stream_table_name(t, port, &name);
            Builder b = builder_after(t->table);
            const NamedAttr attrs[] = {
                build_named_attr(ctx, "sym_name", attr_string(ctx, strbuf_str(&name))),
                build_named_attr(ctx, "value", images[port])};
            table = build(&b, EMITHLS(TABLE), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
            symtab_insert(symbols, table);
            strbuf_free(&name);
        }
        op_set_attr(table, "value", images[port]);
        op_set_attr(table, EMITHLS_ATTR_LOADED, attr_unit(ctx));
        op_set_attr(table, EMITHLS_ATTR_CHAIN, attr_i64(ctx, number + port));
    }
}

static bool stream_table(SymbolTable *symbols, StreamedTable *t, Op *top, Streamed *all,
                         PortPlaces *places)
{
    const Attr *images[STREAM_MOST_PORTS];
    Value *parts[STREAM_MOST_PORTS];
    if (!stream_table_images(t, images))
        return op_error(t->table, "has more words in memory than there may be, so it cannot be "
                                  "streamed");
    Op *call = port_process_call_to(top, t->func);
    Str name = symbol_name(t->table)->str;
    for (int64_t i = 0; i < t->ports; i++)
        parts[i] = add_reader(symbols, t, top, i, all->ports + 1 + i, places);
    Value *bus = gather(symbols, t, parts, places);
    Value *rows = port_process_deep_stream(places, name, "rows", emithls_stream(t->row));
    port_process_call(places, stream_table_unpacker(symbols, t), true, bus, rows);
    replace_table(t, port_process_argument(t->func, "weights_in", rows->type, NULL));
    op_replace_operands(call, call->operand_count, 0, &rows, 1);
    set_images(symbols, t, images, all->ports + 1);
    all->ports += t->ports;
    all->bits += stream_table_beats(t) * t->bus_lanes * MIN_BUS;
    return true;
}

static void record(const Pass *pass, Op *top, const Streamed *all)
{
    Context *ctx = top->ctx;
    const NamedAttr items[] = {
        build_named_attr(ctx, EMITHLS_STREAMED_BITS, attr_i64(ctx, all->bits)),
        build_named_attr(ctx, EMITHLS_STREAMED_PORTS, attr_i64(ctx, all->ports)),
        build_named_attr(ctx, EMITHLS_STREAMED_RATE, attr_i64(ctx, pass_int(pass, "rate"))),
    };
    if (all->ports > 0)
        op_set_attr(top, EMITHLS_ATTR_STREAMED, attr_dict(ctx, items, COUNT_OF(items)));
}

/* The table of a get becomes its own if it is that of others, too. gets: how often each is taken. */
static void own_table(SymbolTable *symbols, PtrMap *gets, Op *get)
{
    Op *table = symbol_lookup(get, op_attr(get, EMITHLS_ATTR_TABLE));
    const uintptr_t count = (uintptr_t)ptrmap_get(gets, symbol_name(table));
    if (count < 2) return;
    Op *copy = op_clone(table, NULL);
    op_insert_after(copy, table);
    op_set_attr(get, EMITHLS_ATTR_TABLE, attr_symbol(get->ctx, symtab_insert(symbols, copy)));
    ptrmap_put(gets, symbol_name(table), (void *)(count - 1));
}

/* What stays on the chip is a memory of the tools' choice. */
static bool keep_table(Op *op, void *user)
{
    (void)user;
    if (op->def == EMITHLS(BIND_STORAGE) &&
        str_eq_c(op_attr(op, EMITHLS_ATTR_IMPL)->u.string, "stream"))
        op_set_attr(op, EMITHLS_ATTR_IMPL, attr_string_c(op->ctx, "auto"));
    return true;
}

/* The tables of a function; they are few. */
typedef VEC(Op *) Gets;

static void find_gets(const Op *func, Gets *out)
{
    FOR_EACH_OP(op, region_entry(op_region(func, 0)))
        if (op->def == EMITHLS(GET) && is_streamed(op)) *vec_push(out) = op;
}

static bool stream_function(SymbolTable *symbols, Op *top, Op *func, const Bus *bus, PtrMap *counts,
                            PortPlaces *places, Streamed *all)
{
    Gets gets = {0};
    find_gets(func, &gets);
    bool ok = gets.len == 0 || port_process_takes_memory(places);
    for (size_t i = 0; ok && i < gets.len; i++) {
        StreamedTable t;
        own_table(symbols, counts, gets.data[i]);
        ok = describe_table(func, gets.data[i], bus, &t) &&
             stream_table(symbols, &t, top, all, places);
    }
    vec_free(&gets);
    return ok;
}

static bool stream_weights(Pass *pass, Op *module)
{
    const Bus bus = {pass_int(pass, "bus-bits"), pass_int(pass, "ports")};
    Streamed all = {0};
    Op *top = emithls_top(module);
    SymbolTable symbols;
    PortPlaces places = {0};
    PtrMap counts = {0};
    VEC(Op *) funcs = {0};
    if ((bus.bits & (bus.bits - 1)) != 0)
        return op_emit_error(module, "bus-bits must be 64, 128, 256 or 512, but got %lld",
                             (long long)bus.bits);
    if ((bus.ports & (bus.ports - 1)) != 0)
        return op_emit_error(module, "ports must be 1, 2, 4 or 8, but got %lld",
                             (long long)bus.ports);
    if (!top) return op_emit_error(module, "there is no top function");
    if (op_attr(module, SYS_ATTR_CARDS))
        return op_emit_error(module, "is on cards, whose kernels stream no weights");
    if (!port_process_places(top, &places)) return false;
    bool ok = true;
    symtab_init(&symbols, module);
    load_table_count_gets(module, &counts);
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == EMITHLS(FUNC) && op != top && port_process_call_to(top, op))
            *vec_push(&funcs) = op;
    for (size_t i = 0; ok && i < funcs.len; i++)
        ok = stream_function(&symbols, top, funcs.data[i], &bus, &counts, &places, &all);
    if (ok) record(pass, top, &all);
    ok = ok && op_walk(module, keep_table, NULL);
    ptrmap_free(&counts);
    symtab_free(&symbols);
    vec_free(&funcs);
    return ok;
}

const PassDef pass_stream_weights = {
    .name = "stream-weights",
    .summary = "Read tables that are bound to \"stream\" from memory while they are used",
    .anchor = "builtin.module",
    .options = OPTIONS(
        {"bus-bits", OPTION_INT, "128", "bits of the widest port to memory: 64, 128, 256 or 512",
         .min = MIN_BUS, .max = MAX_BUS},
        {"ports", OPTION_INT, "1", "ports that a table may be spread over: 1, 2, 4 or 8", .min = 1,
         .max = STREAM_MOST_PORTS},
        {"rate", OPTION_INT, "0", "bits that memory brings in 1,000 cycles; 0: not known", .min = 0,
         .max = INT64_MAX}),
    .run = stream_weights,
};
