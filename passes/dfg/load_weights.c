/* load-weights: tables that are memories become variables that are filled at start-up. Their words
 * come through a port and a chain of processes. Each process takes its own words and forwards the
 * rest, in the first call only.
 *
 *   port ─▶ process ─▶ process ─▶ … ─▶ process
 *
 * On cards each kernel has such a port and chain (sys.chain), since kernels are started one by one; the
 * table says by which number its words come.
 *
 * A word of the chain holds as many elements of a table as fit (load_table.c). Tables of a single
 * word stay constants, because they are logic and not memories, and so do tables of processes that
 * are called several times, which would all have to be filled.
 * Requires: a top function of streams or memories; loops beside tables do not rewind.
 * Changes: functions that hold tables get arguments for the chain, the top function gets the port.
 * Tests: lit/passes/dfg/load-weights.mir, test/e2e */
#include <stdlib.h>

#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "passes/dfg/internal.h"
#include "passes/dfg/passes.h"

enum { CHAIN_DEPTH = 2, MIN_WORD = 8, UNIT = 64, MAX_WORD = UNIT * EMITHLS_MAX_LOADED_UNITS };

typedef struct LoadChain {
    Context *ctx;
    Op *top;
    VEC(LoadedTable) tables; /* by chain, function and place there */
    int64_t number;          /* of the chain that is made */
    bool is_only;            /* there is no other */
    PtrMap gets;             /* Ident* of a table -> how often it is used */
    const Type *word;
    LoadKind kind; /* of ports */
    SymbolTable symbols;
    PortPlaces places;
} LoadChain;

/* The pragma of that kind about an array, or NULL. */
static Op *pragma_of(const Value *array, const OpDef *def)
{
    FOR_EACH_USE(use, array)
        if (use->owner->def == def) return use->owner;
    return NULL;
}

/* A memory with a port for every lane, which one that is written does not have. */
static bool has_many_ports(const Op *bind)
{
    return bind && str_eq_c(op_attr(bind, "type")->u.string, "rom_np");
}

/* A memory of integers that no other function shares. */
static bool is_loadable(const LoadChain *chain, const Op *get)
{
    const Value *array = op_result(get, 0);
    const Ident *table = op_attr(get, EMITHLS_ATTR_TABLE)->u.symbol.names[0];
    const Op *bind = pragma_of(array, EMITHLS(BIND_STORAGE));
    return (uintptr_t)ptrmap_get(&chain->gets, table) == 1 && bind && !has_many_ports(bind) &&
           type_is_integer(emithls_scalar(emithls_array_elem(array->type))) &&
           type_width(emithls_scalar(emithls_array_elem(array->type))) <= UNIT;
}

/* A memory that one process writes and reads. */
static void rebind(Op *bind)
{
    op_set_attr(bind, "type", attr_string_c(bind->ctx, "ram_s2p"));
}

/* The lanes of a LUTRAM become banks, and so do words of bits, because stores of single ones to a
 * memory's word would have to be merged. */
static void separate_lanes(const Value *array)
{
    const Op *bind = pragma_of(array, EMITHLS(BIND_STORAGE));
    Op *lanes = pragma_of(array, EMITHLS(ARRAY_RESHAPE));
    bool is_written_in_parts = str_eq_c(op_attr(bind, EMITHLS_ATTR_IMPL)->u.string, "lutram") ||
                               emithls_array_elem(array->type)->kind == TYPE_VECTOR;
    if (!lanes || !is_written_in_parts) return;
    EmithlsNest nest = {.b = builder_before(lanes)};
    emithls_nest_partition(&nest, op_operand(lanes, 0), attr_int_value(op_attr(lanes, "dim")));
    op_erase(lanes);
}

/* Of the chain that the tables of a function are in. */
static int64_t chain_of(const Op *func)
{
    const Attr *number = op_attr(func, SYS_ATTR_CHAIN);
    return number ? attr_int_value(number) : 0;
}

static void declare_variable(LoadChain *chain, Op *func, Op *get)
{
    Context *ctx = chain->ctx;
    const Attr *ref = op_attr(get, EMITHLS_ATTR_TABLE);
    Op *table = symbol_lookup(get, ref);
    Builder b = builder_before(get);
    const NamedAttr name = build_named_attr(ctx, "name", attr_string(ctx, symbol_name(table)->str));
    const Type *type = op_result(get, 0)->type;
    Value *variable = op_result(build(&b, EMITHLS(VARIABLE), NULL, 0, &type, 1, &name, 1), 0);
    value_replace_all(op_result(get, 0), variable);
    rebind(pragma_of(variable, EMITHLS(BIND_STORAGE)));
    op_set_attr(table, EMITHLS_ATTR_LOADED, attr_unit(ctx));
    if (chain_of(func) > 0) op_set_attr(table, EMITHLS_ATTR_CHAIN, attr_i64(ctx, chain_of(func)));
    op_unlink(table);
    op_insert_before(table, func);
    op_erase(get);
    const LoadedTable loaded = {
        .func = func, .table = table, .variable = variable, .order = chain->tables.len};
    *vec_push(&chain->tables) = loaded;
}

static void collect(LoadChain *chain, Op *func)
{
    FOR_EACH_OP_SAFE(op, region_entry(op_region(func, 0)))
        if (op->def == EMITHLS(GET) && is_loadable(chain, op)) declare_variable(chain, func, op);
}

/* At least `width` bits, and as wide as the widest element; beyond 64 bits integers of 64 bits. */
static const Type *chain_word(const LoadChain *chain, uint32_t width)
{
    for (size_t i = 0; i < chain->tables.len; i++) {
        const Type *elem = emithls_scalar(emithls_array_elem(chain->tables.data[i].variable->type));
        while (width < type_width(elem)) width *= 2;
    }
    int64_t units = width / UNIT;
    return units > 1 ? type_vector(type_i(chain->ctx, UNIT), &units, 1, NULL)
                     : type_i(chain->ctx, width);
}

/* The body begins after the declarations, before the first loop. */
static Op *first_loop(Op *func)
{
    FOR_EACH_OP(op, region_entry(op_region(func, 0)))
        if (op->def == EMITHLS(FOR)) return op;
    return NULL;
}

static void forward_rest(EmithlsNest *nest, Value *chain_in, Value *chain_out, int64_t words)
{
    LoopSpec loop = {"i", words};
    NestMark mark = emithls_nest_open(nest, "forward", &loop, 1, LOOP_PIPELINED, -1, -1);
    emithls_nest_write(nest, emithls_nest_read(nest, chain_in), chain_out);
    emithls_nest_close(nest, mark);
}

/* Fills the tables of one function, which are those from `first` to `end`; `rest` words go on. */
static void load_function(LoadChain *chain, size_t first, size_t end, int64_t rest)
{
    Op *func = chain->tables.data[first].func;
    const Type *stream = emithls_stream(chain->word);
    Value *chain_in = port_process_argument(func, "weights_in", stream, NULL);
    Value *chain_out = rest ? port_process_argument(func, "weights_out", stream, NULL) : NULL;
    for (size_t i = first; i < end; i++) separate_lanes(chain->tables.data[i].variable);
    for (size_t i = first; i < end; i++)
        load_table_declare(&chain->tables.data[i], first_loop(func), chain->word);
    Builder b = builder_before(first_loop(func));
    b.loc = func->loc;
    EmithlsNest nest = load_table_once(&b);
    for (size_t i = first; i < end; i++) load_table(&nest, &chain->tables.data[i], chain_in);
    if (rest) forward_rest(&nest, chain_in, chain_out, rest);
}

static Value *add_link(const LoadChain *chain, Op *place, Str from, Str to)
{
    StrBuf name = {0};
    Builder b = builder_before(place);
    const Type *type = emithls_stream(chain->word);
    strbuf_printf(&name, "weights_%.*s_to_%.*s", STR_ARG(from), STR_ARG(to));
    const NamedAttr attrs[3] = {
        build_named_attr(chain->ctx, "name", attr_string(chain->ctx, strbuf_str(&name))),
        build_named_attr(chain->ctx, DFG_ATTR_DEPTH, attr_i64(chain->ctx, CHAIN_DEPTH)),
        build_named_attr(chain->ctx, EMITHLS_ATTR_FIXED, attr_unit(chain->ctx))};
    strbuf_free(&name);
    return op_result(build(&b, EMITHLS(STREAM), NULL, 0, &type, 1, attrs, 3), 0);
}

static void append_operand(Op *call, Value *value)
{
    op_replace_operands(call, call->operand_count, 0, &value, 1);
}

/* "weights", or "weights_2" of several. */
static Value *add_port(LoadChain *chain, const Op *first, int64_t words, int64_t trips)
{
    const LoadPort port = {.top = chain->top,
                           .kind = chain->kind,
                           .word = chain->word,
                           .words = words,
                           .trips = trips,
                           .chain = chain->number,
                           .die = op_attr(first, SYS_ATTR_PLACE)};
    StrBuf name = {0};
    strbuf_add_c(&name, "weights");
    if (!chain->is_only) strbuf_printf(&name, "_%lld", (long long)chain->number);
    Value *stream = load_table_port(&chain->symbols, &port, name.data, &chain->places);
    strbuf_free(&name);
    return stream;
}

/* Tables from `first` on that the same function holds end there. */
static size_t function_end(const LoadChain *chain, size_t first)
{
    size_t end = first;
    while (end < chain->tables.len &&
           chain->tables.data[end].func == chain->tables.data[first].func)
        end++;
    return end;
}

/* Tables from `first` on that are in the same chain end there. */
static size_t chain_end(const LoadChain *chain, size_t first)
{
    size_t end = first;
    while (end < chain->tables.len && chain_of(chain->tables.data[end].func) == chain->number)
        end++;
    return end;
}

static void connect_chain(LoadChain *chain, size_t first, size_t behind, Op *place)
{
    int64_t words = 0, trips = 0;
    for (size_t i = first; i < behind; i++) {
        words += emithls_loaded_words(chain->tables.data[i].table);
        trips += load_table_trips(&chain->tables.data[i]);
    }
    Value *link = add_port(chain, chain->tables.data[first].func, words, trips);
    for (size_t end; first < behind; first = end) {
        Op *func = chain->tables.data[first].func, *call = port_process_call_to(chain->top, func);
        end = function_end(chain, first);
        for (size_t i = first; i < end; i++)
            words -= emithls_loaded_words(chain->tables.data[i].table);
        load_function(chain, first, end, words);
        append_operand(call, link);
        if (words == 0) return;
        link = add_link(chain, place, symbol_name(func)->str,
                        symbol_name(chain->tables.data[end].func)->str);
        append_operand(call, link);
    }
}

static void connect_chains(LoadChain *chain)
{
    Op *place = chain->places.dataflow->next;
    for (size_t first = 0, end; first < chain->tables.len; first = end) {
        chain->number = chain_of(chain->tables.data[first].func);
        end = chain_end(chain, first);
        chain->is_only = first == 0 && end == chain->tables.len;
        connect_chain(chain, first, end, place);
    }
}

/* Chain by chain, in each as they were found. */
static int compare_tables(const void *a, const void *b)
{
    const LoadedTable *x = a, *y = b;
    const int64_t of_x = chain_of(x->func), of_y = chain_of(y->func);
    if (of_x != of_y) return of_x < of_y ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* A loop that rewinds is all that its process executes, so that nothing can be loaded first. */
static bool check_rewinding(const LoadChain *chain)
{
    for (size_t i = 0; i < chain->tables.len; i++) {
        Op *loop = first_loop(chain->tables.data[i].func);
        if (op_attr(loop, EMITHLS_ATTR_REWIND))
            return op_error(loop, "rewinds, so its process cannot load tables first; convert-dfg-"
                                  "to-emithls{loads-weights=true} leaves that out");
    }
    return true;
}

static void plan_tables(LoadChain *chain, uint32_t width)
{
    chain->word = chain_word(chain, width);
    for (size_t i = 0; i < chain->tables.len; i++) {
        LoadedTable *t = &chain->tables.data[i];
        bool has_rows = pragma_of(t->variable, EMITHLS(ARRAY_RESHAPE)) ||
                        pragma_of(t->variable, EMITHLS(ARRAY_PARTITION));
        load_table_plan(t, has_rows, chain->word);
        if (t->per_word > 1)
            op_set_attr(t->table, EMITHLS_ATTR_PER_WORD, attr_i64(chain->ctx, t->per_word));
    }
}

/* Blocks of all processes with those of the port, which the search did not know. */
static bool check_budget(const LoadChain *chain, const Op *module)
{
    const int64_t limit =
        attr_dict_int(op_attr(module, DFG_ATTR_BUDGET), DFG_COST_BRAM18, INT64_MAX);
    int64_t sum = 0;
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == EMITHLS(FUNC))
            sum += i64_max(0, attr_dict_int(op_attr(op, DFG_ATTR_REPORT), DFG_COST_BRAM18, 0));
    if (chain->kind == LOAD_AXIS || sum <= limit) return true;
    op_error(chain->top, "takes %lld BRAM18 with the port that weights are loaded through, of %lld",
             (long long)sum, (long long)limit);
    return op_note(chain->top, "the search can leave room for it: --reserve-bram=%lld",
                   (long long)(sum - limit));
}

/* Vitis HLS has registers of 32 bits, and takes two for an element of 64. */
static bool check_word(const LoadChain *chain)
{
    return chain->kind != LOAD_AXILITE || emithls_lanes(chain->word) == 1 ||
           op_error(chain->top,
                    "has a memory of words of %lld bits behind AXI4-Lite, where they "
                    "have 64 at most",
                    (long long)(emithls_lanes(chain->word) * UNIT));
}

static void collect_all(LoadChain *chain, Op *module)
{
    load_table_count_gets(module, &chain->gets);
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == EMITHLS(FUNC) && op != chain->top && port_process_call_to(chain->top, op) &&
            first_loop(op))
            collect(chain, op);
}

static LoadKind kind_of(Str interface)
{
    return str_eq_c(interface, "axis")    ? LOAD_AXIS
           : str_eq_c(interface, "m_axi") ? LOAD_M_AXI
                                          : LOAD_AXILITE;
}

static bool load_weights(Pass *pass, Op *module)
{
    uint32_t width = (uint32_t)pass_int(pass, "width");
    if ((width & (width - 1)) != 0)
        return op_emit_error(module, "width must be 8, 16, 32, 64, 128, 256 or 512, but got %u",
                             width);
    LoadChain chain = {.ctx = module->ctx,
                       .top = emithls_top(module),
                       .kind = kind_of(pass_string(pass, "interface"))};
    if (!chain.top) return op_emit_error(module, "there is no top function");
    if (!port_process_places(chain.top, &chain.places)) return false;
    collect_all(&chain, module);
    plan_tables(&chain, width);
    bool ok = chain.kind == LOAD_AXIS || chain.tables.len == 0 ||
              port_process_takes_memory(&chain.places);
    ok = ok && check_rewinding(&chain) && check_word(&chain);
    if (ok && chain.tables.len > 0)
        qsort(chain.tables.data, chain.tables.len, sizeof *chain.tables.data, compare_tables);
    symtab_init(&chain.symbols, module);
    if (ok) connect_chains(&chain);
    ok = ok && check_budget(&chain, module);
    symtab_free(&chain.symbols);
    vec_free(&chain.tables);
    ptrmap_free(&chain.gets);
    return ok;
}

static const char *const interfaces[] = {"axis", "m_axi", "axilite", NULL};

const PassDef pass_load_weights = {
    .name = "load-weights",
    .summary = "Fill the memories of weights at start-up through a chain of processes",
    .anchor = "builtin.module",
    .options = OPTIONS({"width", OPTION_INT, "64",
                        "bits of the port: 8, 16, 32, 64, 128, 256 or 512; more where an element "
                        "has more",
                        .min = MIN_WORD, .max = MAX_WORD},
                       {"interface", OPTION_STRING, "axis",
                        "the port: a stream, a memory outside, or a memory inside that is written "
                        "through AXI4-Lite",
                        .choices = interfaces}),
    .run = load_weights,
};
