/* convert-dfg-to-emithls: every process becomes a function, and the region becomes the top
 * function, which connects them by streams.
 * Requires: verified dfg with words and unroll factors that agree (choose-unroll gives them).
 * Changes: the region and its processes are replaced.
 * Tests: lit/lowering/dfg_to_emithls */
#include <assert.h>

#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "ir/pass/pass.h"
#include "lowering/dfg_to_emithls/internal.h"

enum { DEFAULT_DEPTH = 2 };

/* The emithls type of a channel end's word: the element type, or a vector of the word's
 * elements. */
static const Type *to_emithls_word_type(const Type *end)
{
    int64_t elems = dfg_word_elems(end);
    const Type *elem = type_elem(dfg_payload(end));
    return elems == 1 ? elem : type_vector(elem, &elems, 1, NULL);
}

Value *to_emithls_port_stream(const EmithlsLowering *l, uint32_t port)
{
    return region_entry(op_region(l->func, 0))->args[port];
}

Str to_emithls_storage_of(const Op *op, uint32_t level)
{
    const Attr *storage = op_attr(op, DFG_ATTR_STORAGE);
    if (storage && storage->kind == ATTR_ARRAY && level < storage->u.array.count)
        storage = storage->u.array.items[level];
    return storage && storage->kind == ATTR_STRING ? storage->u.string : STR("auto");
}

/* A reshaped LUTRAM would have to merge the writes of its lanes into one, which no tool promises. */
void to_emithls_join_dim(EmithlsNest *nest, Value *array, int64_t dim, Str storage)
{
    bool has_banks = str_eq_c(storage, "lutram");
    (has_banks ? emithls_nest_partition : emithls_nest_reshape)(nest, array, dim);
}

/* An empty function with one stream per port. */
static Op *create_func(const Op *graph, const Attr *names, const NamedAttr *extra, uint32_t count)
{
    Context *ctx = graph->ctx;
    uint32_t ports = dfg_input_count(graph) + dfg_output_count(graph);
    VEC(const Type *) types = {0};
    for (uint32_t i = 0; i < ports; i++)
        *vec_push(&types) = emithls_stream(to_emithls_word_type(dfg_port(graph, i)->type));
    const Type *type = type_function(ctx, types.data, ports, NULL, 0);
    NamedAttr attrs[8] = {
        build_named_attr(ctx, "sym_name", op_attr(graph, "sym_name")),
        build_named_attr(ctx, "function_type", attr_type(type)),
        build_named_attr(ctx, EMITHLS_ATTR_ARG_NAMES, names),
    };
    assert(count + 3 <= COUNT_OF(attrs));
    for (uint32_t i = 0; i < count; i++) attrs[3 + i] = extra[i];
    OpState state = {.name = opinfo_of_def(ctx, EMITHLS(FUNC))->name,
                     .loc = graph->loc,
                     .attrs = attr_dict(ctx, attrs, 3 + count),
                     .region_count = 1};
    Op *func = op_create(ctx, &state);
    Block *body = region_add_block(op_region(func, 0));
    for (uint32_t i = 0; i < ports; i++) block_add_arg(body, types.data[i], graph->loc);
    vec_free(&types);
    return func;
}

static const Attr *numbered_names(Context *ctx, uint32_t inputs, uint32_t outputs)
{
    VEC(const Attr *) names = {0};
    StrBuf text = {0};
    for (uint32_t i = 0; i < inputs + outputs; i++) {
        bool is_input = i < inputs;
        uint32_t number = is_input ? i : i - inputs, of = is_input ? inputs : outputs;
        strbuf_clear(&text);
        strbuf_add_c(&text, is_input ? "in" : "out");
        if (of > 1) strbuf_add_uint(&text, number);
        *vec_push(&names) = attr_string(ctx, strbuf_str(&text));
    }
    const Attr *array = attr_array(ctx, names.data, names.len);
    vec_free(&names);
    strbuf_free(&text);
    return array;
}

static bool lower_fork(EmithlsLowering *l)
{
    EmithlsNest *nest = &l->nest;
    LoopSpec loop = {"i", sched_fork_words(l->process)};
    NestMark mark = emithls_nest_open(nest, "copy", &loop, 1, LOOP_PIPELINED, -1, -1);
    Value *word = emithls_nest_read(nest, to_emithls_port_stream(l, 0));
    for (uint32_t i = 0; i < dfg_output_count(l->process); i++)
        emithls_nest_write(nest, word, to_emithls_port_stream(l, 1 + i));
    emithls_nest_close(nest, mark);
    return true;
}

/* How pipelines run. */
typedef struct PipelineOptions {
    bool rewinds, flushes;
    bool loads_weights; /* tables are filled in the first frame, beside the loop */
} PipelineOptions;

/* No default: the compiler says where a new kind is missing. */
static bool lower_kind(EmithlsLowering *l, ProcessKind kind)
{
    switch (kind) {
    case PROCESS_WINDOW: return to_emithls_window(l);
    case PROCESS_COMPUTE: return to_emithls_compute(l);
    case PROCESS_REORDER: return to_emithls_reorder(l);
    case PROCESS_MERGE: return to_emithls_merge(l);
    case PROCESS_CONVERTER: return to_emithls_converter(l);
    case PROCESS_FORK: return lower_fork(l);
    }
    return false;
}

/* Processes that do not rewind for the same reason. */
typedef struct Standstill {
    const char *reason;
    const Op *first; /* function */
    int64_t count;
} Standstill;

typedef VEC(Standstill) Standstills;

static void note_standstill(Standstills *all, const Op *func, const char *reason)
{
    for (size_t i = 0; i < all->len; i++)
        if (strcmp(all->data[i].reason, reason) == 0) {
            all->data[i].count++;
            return;
        }
    *vec_push(all) = (Standstill){reason, func, 1};
}

/* Says of each reason what does not rewind, though that was asked for. */
static void remark_standstills(const Op *region, const Standstills *all)
{
    for (size_t i = 0; i < all->len; i++) {
        const Standstill *s = &all->data[i];
        bool is_one = s->count == 1;
        op_remark(region,
                  "does not rewind as a whole: %lld process%s, first '%.*s', run%s empty behind "
                  "each frame, because %s",
                  (long long)s->count, is_one ? "" : "es", STR_ARG(symbol_name(s->first)->str),
                  is_one ? "s" : "", s->reason);
    }
}

/* Why the process of this loop is not to rewind; NULL: it is. In reorders the first words of a frame
 * may go where the last ones of the frame before wait to be written (schedule/reorder.c). */
static const char *rewind_obstacle(const Op *loop, ProcessKind kind, bool loads_tables)
{
    if (loads_tables && (kind == PROCESS_COMPUTE || kind == PROCESS_MERGE))
        return "kernels and merges load their tables in front of their loops";
    if (kind == PROCESS_REORDER) return "a reordered frame waits where the next one would go";
    return emithls_rewind_obstacle(loop) ? "the loop is not all that runs in it" : NULL;
}

/* Lets the loop of a process rewind if it can. */
static void rewind_process(const Op *func, ProcessKind kind, bool loads_tables,
                           Standstills *standstills)
{
    FOR_EACH_OP(op, region_entry(op_region(func, 0))) {
        if (op->def != EMITHLS(FOR)) continue;
        const char *obstacle = rewind_obstacle(op, kind, loads_tables);
        if (obstacle)
            note_standstill(standstills, func, obstacle);
        else
            op_set_attr(op, EMITHLS_ATTR_REWIND, attr_unit(op->ctx));
    }
}

/* Lets the pipeline of a loop flush if it can. */
static bool flush_loop(Op *op, void *user)
{
    (void)user;
    if (op->def == EMITHLS(FOR) && !emithls_flush_obstacle(op))
        op_set_attr(op, EMITHLS_ATTR_FLUSH, attr_unit(op->ctx));
    return true;
}

static Op *lower_process(SymbolTable *symbols, Op *process, const PipelineOptions *options,
                         Standstills *standstills)
{
    Context *ctx = process->ctx;
    ProcessKind kind;
    const Attr *report = op_attr(process, DFG_ATTR_REPORT);
    if (!sched_process_kind(process, &kind) || !dfg_check_storage(process)) return NULL;
    StrBuf doc = {0};
    to_emithls_process_doc(&doc, process, kind);
    const Attr *place = op_attr(process, SYS_ATTR_PLACE);
    NamedAttr extra[3] = {
        build_named_attr(ctx, EMITHLS_ATTR_DOC, attr_string(ctx, strbuf_str(&doc)))};
    uint32_t count = 1;
    if (report) extra[count++] = build_named_attr(ctx, DFG_ATTR_REPORT, report);
    if (place) extra[count++] = build_named_attr(ctx, SYS_ATTR_PLACE, place);
    strbuf_free(&doc);
    const Attr *names = numbered_names(ctx, dfg_input_count(process), dfg_output_count(process));
    EmithlsLowering l = {
        .process = process, .symbols = symbols, .func = create_func(process, names, extra, count)};
    op_insert_before(l.func, process);
    l.nest.b = builder_at_end(region_entry(op_region(l.func, 0)), process->loc);
    if (!lower_kind(&l, kind)) {
        op_erase(l.func);
        return NULL;
    }
    to_emithls_remark_size(l.func);
    if (options->rewinds) rewind_process(l.func, kind, options->loads_weights, standstills);
    if (options->flushes) op_walk(l.func, flush_loop, NULL);
    return l.func;
}

/* Channel ends as streams of the top function. */
typedef struct Top {
    Op *region, *func;
    EmithlsNest nest;
    PtrMap streams; /* channel end Value* -> stream Value* */
    PtrMap names;   /* Ident of a stream's name -> itself */
} Top;

static bool is_taken(const Attr *const *names, size_t count, Str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(names[i]->u.string, name)) return true;
    return false;
}

/* Appends _2, _3, … until the name differs from those before it. */
static void make_unique(StrBuf *name, const Attr *const *taken, size_t count)
{
    size_t stem = name->len;
    for (uint32_t n = 2; is_taken(taken, count, strbuf_str(name)); n++) {
        name->len = stem;
        strbuf_printf(name, "_%u", n);
    }
}

static const Attr *port_names(const Op *region)
{
    VEC(const Attr *) names = {0};
    StrBuf text = {0};
    uint32_t inputs = dfg_input_count(region);
    for (uint32_t i = 0; i < inputs + dfg_output_count(region); i++) {
        const Attr *name = attr_dict_get_c(dfg_port_attrs(region, i), DFG_ATTR_NAME);
        strbuf_clear(&text);
        identifier_append(&text, name ? name->u.string : i < inputs ? STR("in") : STR("out"));
        make_unique(&text, names.data, names.len);
        *vec_push(&names) = attr_string(region->ctx, strbuf_str(&text));
    }
    const Attr *array = attr_array(region->ctx, names.data, names.len);
    vec_free(&names);
    strbuf_free(&text);
    return array;
}

/* The boundary's description: the port's attributes plus the frame's type and the word. */
static const Attr *boundary_attrs(const Op *region)
{
    Context *ctx = region->ctx;
    VEC(const Attr *) all = {0};
    uint32_t ports = dfg_input_count(region) + dfg_output_count(region);
    for (uint32_t i = 0; i < ports; i++) {
        const Type *end = dfg_port(region, i)->type, *frame = dfg_payload(end);
        int64_t word[2 * DFG_MAX_RANK];
        dfg_word(end, word);
        const Attr *dict = dfg_port_attrs(region, i);
        dict = attr_dict_set(dict, ident_get_c(ctx, EMITHLS_ATTR_FRAME), attr_type(frame));
        dict = attr_dict_set(dict, ident_get_c(ctx, EMITHLS_ATTR_WORD),
                             attr_i64_array(ctx, word, frame->u.shaped.rank));
        *vec_push(&all) = dict;
    }
    const Attr *array = attr_array(ctx, all.data, all.len);
    vec_free(&all);
    return array;
}

static void create_top(Top *top, Str control)
{
    Context *ctx = top->region->ctx;
    const NamedAttr extra[2] = {
        build_named_attr(ctx, EMITHLS_ATTR_TOP, attr_unit(ctx)),
        build_named_attr(ctx, DFG_ATTR_PORT_ATTRS, boundary_attrs(top->region))};
    top->func = create_func(top->region, port_names(top->region), extra, 2);
    op_insert_after(top->func, top->region);
    Block *body = region_entry(op_region(top->func, 0));
    top->nest.b = builder_at_end(body, top->region->loc);
    for (uint32_t i = 0; i < body->arg_count; i++) {
        NamedAttr mode = build_named_attr(ctx, "mode", attr_string_c(ctx, "axis"));
        ptrmap_put(&top->streams, dfg_port(top->region, i), body->args[i]);
        build(&top->nest.b, EMITHLS(INTERFACE), &body->args[i], 1, NULL, 0, &mode, 1);
    }
    bool is_chain = str_eq_c(control, "chain");
    NamedAttr how = build_named_attr(ctx, EMITHLS_ATTR_CONTROL, attr_string(ctx, control));
    build(&top->nest.b, EMITHLS(DATAFLOW), NULL, 0, NULL, 0, &how, is_chain ? 0 : 1);
}

/* Process at the other side of a channel's end: the callee of its only user. */
static Str end_process(const Value *end)
{
    const Attr *callee = op_attr(end->uses->owner, "callee");
    return callee ? callee->u.symbol.names[0]->str : STR("port");
}

/* "a_to_b", or "a_to_b_2", … where several channels join the same two. */
static const Ident *stream_name(Top *top, const Op *channel)
{
    StrBuf name = {0};
    strbuf_printf(&name, "%.*s_to_%.*s", STR_ARG(end_process(op_result(channel, 0))),
                  STR_ARG(end_process(op_result(channel, 1))));
    size_t stem = name.len;
    const Ident *ident = ident_get(channel->ctx, strbuf_str(&name));
    for (uint32_t n = 2; ptrmap_has(&top->names, ident); n++) {
        name.len = stem;
        strbuf_printf(&name, "_%u", n);
        ident = ident_get(channel->ctx, strbuf_str(&name));
    }
    ptrmap_put(&top->names, ident, (void *)(uintptr_t)ident);
    strbuf_free(&name);
    return ident;
}

/* Which tensors of the network a stream carries, and how. */
static void note_tensors(const Op *channel, Op *stream)
{
    const Attr *tensors = op_attr(channel, DFG_ATTR_TENSORS);
    const Type *end = op_result(channel, 0)->type, *frame = dfg_payload(end);
    int64_t word[2 * DFG_MAX_RANK];
    if (!tensors) return;
    dfg_word(end, word);
    op_set_attr(stream, DFG_ATTR_TENSORS, tensors);
    op_set_attr(stream, EMITHLS_ATTR_FRAME, attr_type(frame));
    op_set_attr(stream, EMITHLS_ATTR_WORD,
                attr_i64_array(channel->ctx, word, frame->u.shaped.rank));
}

static void lower_channel(Top *top, Op *channel)
{
    Context *ctx = channel->ctx;
    const Attr *depth = op_attr(channel, DFG_ATTR_DEPTH);
    const Type *type = emithls_stream(to_emithls_word_type(op_result(channel, 0)->type));
    const Attr *cautious = op_attr(channel, DFG_ATTR_CAUTIOUS);
    const NamedAttr attrs[] = {
        build_named_attr(ctx, "name", attr_string(ctx, stream_name(top, channel)->str)),
        build_named_attr(ctx, DFG_ATTR_DEPTH, depth ? depth : attr_i64(ctx, DEFAULT_DEPTH)),
        build_named_attr(ctx, DFG_ATTR_CAUTIOUS, cautious)};
    Value *stream = op_result(
        build(&top->nest.b, EMITHLS(STREAM), NULL, 0, &type, 1, attrs, cautious ? 3 : 2), 0);
    note_tensors(channel, value_def(stream));
    ptrmap_put(&top->streams, op_result(channel, 0), stream);
    ptrmap_put(&top->streams, op_result(channel, 1), stream);
}

static void lower_instantiate(Top *top, const Op *op)
{
    VEC(Value *) streams = {0};
    for (uint32_t i = 0; i < op->operand_count; i++)
        *vec_push(&streams) = ptrmap_get(&top->streams, op_operand(op, i));
    NamedAttr callee = build_named_attr(op->ctx, "callee", op_attr(op, "callee"));
    build(&top->nest.b, EMITHLS(CALL), streams.data, op->operand_count, NULL, 0, &callee, 1);
    vec_free(&streams);
}

/* A connected channel is the port itself. */
static bool connect_port(Top *top, const Op *connect)
{
    Op *channel = value_def(op_operand(connect, 1));
    if (!channel || ptrmap_has(&top->streams, op_result(channel, 0)))
        return op_error(connect, "connects two ports; a process must stand between them");
    Value *stream = ptrmap_get(&top->streams, op_operand(connect, 0));
    ptrmap_put(&top->streams, op_result(channel, 0), stream);
    ptrmap_put(&top->streams, op_result(channel, 1), stream);
    return true;
}

/* control: how the top function is started. */
static bool lower_region(Op *region, Str control)
{
    Top top = {.region = region};
    bool ok = true;
    create_top(&top, control);
    Block *body = region_entry(op_region(region, 0));
    FOR_EACH_OP(op, body)
        if (op->def == DFG(CONNECT_INPUT) || op->def == DFG(CONNECT_OUTPUT))
            ok = ok && connect_port(&top, op);
    FOR_EACH_OP(op, body)
        if (op->def == DFG(CHANNEL) && !ptrmap_has(&top.streams, op_result(op, 0)))
            lower_channel(&top, op);
    FOR_EACH_OP(op, body)
        if (op->def == DFG(INSTANTIATE)) lower_instantiate(&top, op);
    ptrmap_free(&top.streams);
    ptrmap_free(&top.names);
    return ok;
}

/* The module's only region; NULL: diagnosed. */
static Op *find_region(Op *module)
{
    Op *region = NULL;
    FOR_EACH_OP(op, region_entry(op_region(module, 0))) {
        if (op->def == DFG(REGION) && region) {
            op_error(op, "is a second region; an accelerator has one");
            return NULL;
        }
        if (op->def == DFG(REGION)) region = op;
    }
    if (!region) op_emit_error(module, "there is no dfg.region to convert");
    return region;
}

static bool convert_dfg_to_emithls(Pass *pass, Op *module)
{
    const PipelineOptions options = {.rewinds = pass_bool(pass, "rewind"),
                                     .flushes = pass_bool(pass, "flush"),
                                     .loads_weights = pass_bool(pass, "loads-weights")};
    SymbolTable symbols;
    Standstills standstills = {0};
    bool ok = true;
    Op *region = find_region(module);
    if (!region) return false;
    symtab_init(&symbols, module);
    FOR_EACH_OP_SAFE(op, region_entry(op_region(module, 0)))
        if (op->def == DFG(PROCESS))
            ok &= lower_process(&symbols, op, &options, &standstills) != NULL;
    remark_standstills(region, &standstills);
    ok = ok && lower_region(region, pass_string(pass, "control"));
    FOR_EACH_OP_SAFE(op, region_entry(op_region(module, 0)))
        if (ok && (op->def == DFG(PROCESS) || op->def == DFG(REGION))) op_erase(op);
    symtab_free(&symbols);
    vec_free(&standstills);
    return ok;
}

static const char *const controls[] = {"chain", "hs", "none", NULL};

const PassDef pass_convert_dfg_to_emithls = {
    .name = "convert-dfg-to-emithls",
    .summary = "Turn processes into HLS functions and the graph into the top function",
    .anchor = "builtin.module",
    .options = OPTIONS({"rewind", OPTION_BOOL, "false",
                        "let processes that can begin with the next frame before they have run "
                        "empty"},
                       {"flush", OPTION_BOOL, "false",
                        "let pipelines that can go on when their input is empty; those that rewind "
                        "cannot"},
                       {"loads-weights", OPTION_BOOL, "false",
                        "load-weights follows: processes with tables do not rewind"},
                       {"control", OPTION_STRING, "chain",
                        "how the accelerator is started: by ap_start, with ap_continue or without "
                        "it, or not at all",
                        .choices = controls}),
    .run = convert_dfg_to_emithls,
};
