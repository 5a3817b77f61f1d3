/* Processes between a port of the top function and the others: the function, its call, and the stream
 * between it and them. add-memory-ports and add-dma-ports build on it.
 * Tests: lit/passes/dfg */
#include "dialects/dfg/dfg.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "passes/dfg/internal.h"
#include "passes/dfg/passes.h"

/* The deeper ones are still shift registers. */
enum { STREAM_DEPTH = 2, DEEP_STREAM = 16 };

/* Whether the calls that take a stream read it. */
bool port_process_is_read(const Value *stream)
{
    FOR_EACH_USE(use, stream) {
        if (use->owner->def != EMITHLS(CALL)) continue;
        Op *callee = symbol_lookup(use->owner, op_attr(use->owner, "callee"));
        const Value *arg = region_entry(op_region(callee, 0))->args[use_index(use)];
        FOR_EACH_USE(inner, arg)
            if (inner->owner->def == EMITHLS(READ)) return true;
    }
    return false;
}

bool port_process_words(const Op *top, uint32_t index, int64_t *words)
{
    const Attr *attrs = op_attr(top, DFG_ATTR_PORT_ATTRS)->u.array.items[index];
    const Attr *frame = attr_dict_get_c(attrs, EMITHLS_ATTR_FRAME);
    const Type *type = region_entry(op_region(top, 0))->args[index]->type;
    int64_t elements;
    if (!type_is_a(type, &emithls_type_stream) || !frame || frame->kind != ATTR_TYPE ||
        frame->u.type_value->kind != TYPE_RANKED_TENSOR ||
        !type_element_count(frame->u.type_value, &elements))
        return op_error(top, "argument %u must be a stream with emithls.frame", index);
    if (attr_dict_get_c(attrs, EMITHLS_ATTR_BEAT))
        return op_error(top, "argument %u is the stream of a DMA already", index);
    const int64_t lanes = emithls_lanes(emithls_stream_word(type));
    *words = elements / lanes;
    return (*words > 0 && elements % lanes == 0) ||
           op_error(top,
                    "argument %u carries words of %lld elements, which do not make a frame of %lld",
                    index, (long long)lanes, (long long)elements);
}

bool port_process_is_copied(const Attr *port)
{
    const Attr *link = attr_dict_get_c(port, SYS_ATTR_LINK);
    const Attr *protocol = link ? attr_dict_get_c(link, SYS_ATTR_PROTOCOL) : NULL;
    return protocol && protocol->kind == ATTR_STRING && str_eq_c(protocol->u.string, SYS_HOST);
}

/* trips: iterations, each of which moves so many lanes. */
const Attr *port_process_report(Context *ctx, const char *class, int64_t trips, int64_t lanes)
{
    const int64_t trip_counts[2] = {trips, lanes}, unroll[2] = {1, lanes};
    const NamedAttr items[] = {
        build_named_attr(ctx, DFG_REPORT_CLASS, attr_string_c(ctx, class)),
        build_named_attr(ctx, DFG_REPORT_TRIP_COUNTS, attr_i64_array(ctx, trip_counts, 2)),
        build_named_attr(ctx, DFG_REPORT_UNROLL, attr_i64_array(ctx, unroll, 2)),
        build_named_attr(ctx, DFG_COST_CYCLES, attr_i64(ctx, trips)),
        build_named_attr(ctx, DFG_COST_DSP, attr_i64(ctx, 0)),
        build_named_attr(ctx, DFG_COST_BRAM18, attr_i64(ctx, 0)),
        build_named_attr(ctx, DFG_COST_URAM, attr_i64(ctx, 0)),
        build_named_attr(ctx, DFG_COST_LUT, attr_i64(ctx, 0)),
        build_named_attr(ctx, DFG_COST_FF, attr_i64(ctx, 0)),
    };
    return attr_dict(ctx, items, COUNT_OF(items));
}

/* The process at a port, or NULL. */
static const Op *process_at(const Value *port)
{
    FOR_EACH_USE(use, port)
        if (use->owner->def == EMITHLS(CALL))
            return symbol_lookup(use->owner, op_attr(use->owner, "callee"));
    return NULL;
}

Op *port_process_create_at(SymbolTable *symbols, const Attr *die, Op *place, const char *name,
                           const Attr *report, const Type *const *types, const char *const *names)
{
    Context *ctx = place->ctx;
    const Attr *arg_names[2] = {attr_string_c(ctx, names[0]), attr_string_c(ctx, names[1])};
    const NamedAttr attrs[] = {
        build_named_attr(ctx, "sym_name", attr_string_c(ctx, name)),
        build_named_attr(ctx, "function_type",
                         attr_type(type_function(ctx, (const Type **)types, 2, NULL, 0))),
        build_named_attr(ctx, EMITHLS_ATTR_ARG_NAMES, attr_array(ctx, arg_names, 2)),
        build_named_attr(ctx, DFG_ATTR_REPORT, report),
        build_named_attr(ctx, SYS_ATTR_PLACE, die),
    };
    OpState state = {.name = opinfo_of_def(ctx, EMITHLS(FUNC))->name,
                     .loc = place->loc,
                     .attrs = attr_dict(ctx, attrs, COUNT_OF(attrs) - (die ? 0 : 1)),
                     .region_count = 1};
    Op *func = op_create(ctx, &state);
    op_insert_before(func, place);
    symtab_insert(symbols, func);
    Block *body = region_add_block(op_region(func, 0));
    for (uint32_t i = 0; i < 2; i++) block_add_arg(body, types[i], place->loc);
    return func;
}

/* A function of two arguments, before `place` in the module and beside the port's process, on its die and
 * of its instance; the body is empty. */
Op *port_process_create(SymbolTable *symbols, const Value *port, Op *place, const char *name,
                        const Attr *report, const Type *const *types, const char *const *names)
{
    const Op *beside = process_at(port);
    const Attr *die = beside ? op_attr(beside, SYS_ATTR_PLACE) : NULL;
    Op *func = port_process_create_at(symbols, die, place, name, report, types, names);
    if (beside) op_set_attr(func, SYS_ATTR_INSTANCE, op_attr(beside, SYS_ATTR_INSTANCE));
    return func;
}

Value *port_process_argument(Op *func, const char *name, const Type *type, const Attr *port)
{
    Context *ctx = func->ctx;
    Block *body = region_entry(op_region(func, 0));
    const Type *old = op_attr(func, "function_type")->u.type_value;
    const Attr *names = op_attr(func, EMITHLS_ATTR_ARG_NAMES),
               *ports = op_attr(func, DFG_ATTR_PORT_ATTRS);
    uint32_t count = body->arg_count;
    VEC(const Type *) types = {0};
    VEC(const Attr *) items = {0};
    for (uint32_t i = 0; i < count; i++) *vec_push(&types) = old->u.function.types[i];
    *vec_push(&types) = type;
    for (uint32_t i = 0; i < count; i++) *vec_push(&items) = names->u.array.items[i];
    *vec_push(&items) = attr_string_c(ctx, name);
    op_set_attr(func, "function_type",
                attr_type(type_function(ctx, types.data, count + 1, NULL, 0)));
    op_set_attr(func, EMITHLS_ATTR_ARG_NAMES, attr_array(ctx, items.data, count + 1));
    if (ports) {
        for (uint32_t i = 0; i < count; i++) items.data[i] = ports->u.array.items[i];
        items.data[count] = port;
        op_set_attr(func, DFG_ATTR_PORT_ATTRS, attr_array(ctx, items.data, count + 1));
    }
    vec_free(&types);
    vec_free(&items);
    return block_add_arg(body, type, func->loc);
}

Op *port_process_call_to(Op *top, const Op *func)
{
    Op *call = NULL;
    FOR_EACH_OP(op, region_entry(op_region(top, 0))) {
        if (op->def != EMITHLS(CALL) ||
            op_attr(op, "callee")->u.symbol.names[0] != symbol_name(func))
            continue;
        if (call) return NULL;
        call = op;
    }
    return call;
}

bool port_process_places(Op *top, PortPlaces *out)
{
    FOR_EACH_OP(op, region_entry(op_region(top, 0))) {
        if (op->def == EMITHLS(DATAFLOW)) out->dataflow = op;
        if (op->def == EMITHLS(CALL) && !out->call) out->call = op;
    }
    out->process = top;
    FOR_EACH_OP(op, top->block)
        if (op->def == EMITHLS(FUNC)) {
            out->process = op;
            break;
        }
    if (!out->dataflow || !out->call || !op_attr(top, DFG_ATTR_PORT_ATTRS))
        return op_error(top, "needs port_attrs, an emithls.dataflow and calls");
    out->stream = out->dataflow;
    return true;
}

bool port_process_takes_memory(const PortPlaces *places)
{
    return !op_attr(places->dataflow, EMITHLS_ATTR_CONTROL) ||
           op_error(places->dataflow,
                    "has a choice of control, and registers start an accelerator with memories");
}

/* kept: what says that fit-fifos may not choose any depth; NULL attribute: nothing does. */
static Value *add_stream(PortPlaces *places, Str port, const char *suffix, const Type *type,
                         int64_t depth, NamedAttr kept)
{
    Context *ctx = places->dataflow->ctx;
    Builder b = builder_after(places->stream);
    StrBuf name = {0};
    strbuf_printf(&name, "%.*s_%s", STR_ARG(port), suffix);
    const NamedAttr attrs[3] = {build_named_attr(ctx, "name", attr_string(ctx, strbuf_str(&name))),
                                build_named_attr(ctx, DFG_ATTR_DEPTH, attr_i64(ctx, depth)), kept};
    strbuf_free(&name);
    places->stream = build(&b, EMITHLS(STREAM), NULL, 0, &type, 1, attrs, kept.value ? 3 : 2);
    return op_result(places->stream, 0);
}

Value *port_process_stream(PortPlaces *places, Str port, const char *suffix, const Type *type,
                           bool is_fixed)
{
    Context *ctx = places->dataflow->ctx;
    NamedAttr kept = {0};
    if (is_fixed) kept = build_named_attr(ctx, EMITHLS_ATTR_FIXED, attr_unit(ctx));
    return add_stream(places, port, suffix, type, STREAM_DEPTH, kept);
}

Value *port_process_deep_stream(PortPlaces *places, Str port, const char *suffix, const Type *type)
{
    Context *ctx = places->dataflow->ctx;
    return add_stream(places, port, suffix, type, DEEP_STREAM,
                      build_named_attr(ctx, EMITHLS_ATTR_LEAST, attr_i64(ctx, DEEP_STREAM)));
}

/* Calls a process: readers in front of the others, writers behind them. */
void port_process_call(const PortPlaces *places, const Op *process, bool is_reader, Value *from,
                       Value *to)
{
    Context *ctx = process->ctx;
    Value *args[2] = {from, to};
    NamedAttr callee = build_named_attr(ctx, "callee", attr_symbol(ctx, symbol_name(process)));
    Builder b = builder_at_end(places->call->block, places->call->loc);
    if (is_reader) builder_set_before(&b, places->call);
    build(&b, EMITHLS(CALL), args, 2, NULL, 0, &callee, 1);
}
