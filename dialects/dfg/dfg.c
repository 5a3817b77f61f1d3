/* The dfg dialect: types, ends and ports, verifiers and rows. Text is in dfg_syntax.c, dfg.window
 * is in dfg_window.c, dfg.reorder and dfg.merge are in dfg_move.c.
 * Tests: lit/dialects/dfg */
#include <assert.h>

#include "dialects/builtin/builtin.h"
#include "dialects/dfg/dfg.h"
#include "dialects/dfg/internal.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/rewrite/rewrite.h"
#include "ir/verify/verify.h"

static bool is_sending(const Type *type)
{
    return type_is_a(type, &dfg_type_input);
}

static bool is_receiving(const Type *type)
{
    return type_is_a(type, &dfg_type_output);
}

static const TypeConstraint IS_SENDING_END = {is_sending, "sending end of a channel"};
static const TypeConstraint IS_RECEIVING_END = {is_receiving, "receiving end of a channel"};

const Type *dfg_end_type(const TypeDef *end, const Type *payload, const int64_t *word)
{
    const Attr *params[2] = {attr_type(payload), NULL};
    bool scalar = true;
    for (uint32_t i = 0; word && i < payload->u.shaped.rank; i++) scalar &= word[i] == 1;
    if (!scalar) params[1] = attr_i64_array(payload->ctx, word, payload->u.shaped.rank);
    return type_dialect(payload->ctx, end, params, scalar ? 1 : 2);
}

const Type *dfg_payload(const Type *end)
{
    assert(is_sending(end) || is_receiving(end));
    return end->u.dialect.params[0]->u.type_value;
}

static bool is_storage(const Attr *storage)
{
    static const char *const kinds[] = {"auto", "lutram", "bram", "uram", "stream"};
    for (size_t i = 0; storage->kind == ATTR_ARRAY && i < storage->u.array.count; i++)
        if (!is_storage(storage->u.array.items[i])) return false;
    for (size_t i = 0; storage->kind == ATTR_STRING && i < COUNT_OF(kinds); i++)
        if (str_eq_c(storage->u.string, kinds[i])) return true;
    return storage->kind == ATTR_ARRAY;
}

bool dfg_check_storage(const Op *process)
{
    FOR_EACH_OP(op, region_entry(op_region(process, 0))) {
        const Attr *storage = op_attr(op, DFG_ATTR_STORAGE);
        if (storage && !is_storage(storage))
            return op_error(op, "has a dfg.storage that is none of \"auto\", \"lutram\", "
                                "\"bram\", \"uram\" and \"stream\"");
    }
    return true;
}

bool dfg_is_element(const Type *type)
{
    if (type_is_integer(type))
        return type_is_signless(type) && type_width(type) <= DFG_MAX_ELEMENT_BITS;
    return type->kind == TYPE_F32 || type->kind == TYPE_F64;
}

bool dfg_can_stream(const Type *payload)
{
    int64_t count;
    return payload->kind == TYPE_RANKED_TENSOR && payload->u.shaped.rank <= 2 * DFG_MAX_RANK &&
           type_element_count(payload, &count) && count >= 1 && count <= DFG_MAX_FRAME &&
           dfg_is_element(type_elem(payload));
}

void dfg_word(const Type *end, int64_t *word)
{
    const Type *payload = dfg_payload(end);
    bool scalar = end->u.dialect.param_count == 1;
    uint32_t rank = type_is_ranked(payload) ? payload->u.shaped.rank : 0;
    for (uint32_t i = 0; i < rank; i++)
        word[i] = scalar ? 1 : dense_array_i64(end->u.dialect.params[1], i);
}

int64_t dfg_word_elems(const Type *end)
{
    if (end->u.dialect.param_count == 1) return 1;
    const Attr *word = end->u.dialect.params[1];
    int64_t elems = 1;
    for (size_t i = 0; i < word->u.dense_array.count; i++) elems *= dense_array_i64(word, i);
    return elems;
}

int64_t dfg_words_per_frame(const Type *end)
{
    int64_t elems = 1;
    bool counted = type_element_count(dfg_payload(end), &elems);
    assert(counted);
    (void)counted;
    return elems / dfg_word_elems(end);
}

static bool verify_end_type(Context *ctx, const Attr *loc, const Attr *const *params, size_t count)
{
    const Type *payload = params[0]->u.type_value;
    if (count == 1) return true;
    if (payload->kind != TYPE_RANKED_TENSOR)
        return diag_error(ctx, loc, "a word shape needs a ranked tensor, but got '%s'",
                          type_str(ctx, payload));
    const Attr *word = params[1];
    if (word->u.dense_array.count != payload->u.shaped.rank)
        return diag_error(ctx, loc, "word shape has %zu extents, but '%s' has rank %u",
                          word->u.dense_array.count, type_str(ctx, payload),
                          payload->u.shaped.rank);
    for (uint32_t i = 0; i < payload->u.shaped.rank; i++) {
        int64_t extent = payload->u.shaped.dims[i], part = dense_array_i64(word, i);
        if (part < 1 || extent % part != 0)
            return diag_error(ctx, loc,
                              "word extent %lld does not divide extent %lld of dimension %u",
                              (long long)part, (long long)extent, i);
    }
    return true;
}

const TypeDef dfg_type_input = {.name = "input",
                                .dialect = &dfg_dialect,
                                .summary = "sending end of a channel",
                                .parse = dfg_parse_input_type,
                                .print = dfg_print_end_type,
                                .verify = verify_end_type};
const TypeDef dfg_type_output = {.name = "output",
                                 .dialect = &dfg_dialect,
                                 .summary = "receiving end of a channel",
                                 .parse = dfg_parse_output_type,
                                 .print = dfg_print_end_type,
                                 .verify = verify_end_type};

static const Type *signature(const Op *graph)
{
    return op_attr(graph, "function_type")->u.type_value;
}

uint32_t dfg_input_count(const Op *graph)
{
    return signature(graph)->u.function.input_count;
}

uint32_t dfg_output_count(const Op *graph)
{
    return signature(graph)->u.function.result_count;
}

Value *dfg_port(const Op *graph, uint32_t index)
{
    return region_entry(op_region(graph, 0))->args[index];
}

const Attr *dfg_port_attrs(const Op *graph, uint32_t index)
{
    const Attr *all = op_attr(graph, "port_attrs");
    return all ? all->u.array.items[index] : attr_dict(graph->ctx, NULL, 0);
}

static void set_signature(Op *graph, uint32_t inputs, uint32_t outputs)
{
    VEC(const Type *) types = {0};
    for (uint32_t i = 0; i < inputs + outputs; i++) *vec_push(&types) = dfg_port(graph, i)->type;
    const Type *type = type_function(graph->ctx, types.data, inputs, types.data + inputs, outputs);
    op_set_attr(graph, "function_type", attr_type(type));
    vec_free(&types);
}

void dfg_update_signature(Op *graph)
{
    set_signature(graph, dfg_input_count(graph), dfg_output_count(graph));
}

Value *dfg_add_output(Op *process, const Type *end)
{
    uint32_t inputs = dfg_input_count(process), outputs = dfg_output_count(process);
    Value *port = block_add_arg(region_entry(op_region(process, 0)), end, process->loc);
    op_set_attr(process, "port_attrs", NULL);
    set_signature(process, inputs, outputs + 1);
    return port;
}

void dfg_erase_output(Op *process, uint32_t output)
{
    uint32_t inputs = dfg_input_count(process), outputs = dfg_output_count(process);
    block_erase_arg(region_entry(op_region(process, 0)), inputs + output);
    op_set_attr(process, "port_attrs", NULL);
    set_signature(process, inputs, outputs - 1);
}

void dfg_erase_input(Op *process, uint32_t input)
{
    uint32_t inputs = dfg_input_count(process), outputs = dfg_output_count(process);
    block_erase_arg(region_entry(op_region(process, 0)), input);
    op_set_attr(process, "port_attrs", NULL);
    set_signature(process, inputs - 1, outputs);
}

Op *dfg_create_graph(Context *ctx, const OpDef *def, Str name, const Attr *loc,
                     const Type *const *ports, uint32_t input_count, uint32_t output_count,
                     const Attr *port_attrs)
{
    const Type *type = type_function(ctx, ports, input_count, ports + input_count, output_count);
    NamedAttr props[3] = {{ident_get_c(ctx, "sym_name"), attr_string(ctx, name)},
                          {ident_get_c(ctx, "function_type"), attr_type(type)},
                          {ident_get_c(ctx, "port_attrs"), port_attrs}};
    OpState state = {.name = opinfo_of_def(ctx, def)->name,
                     .loc = loc,
                     .region_count = 1,
                     .props = attr_dict(ctx, props, port_attrs ? 3 : 2)};
    Op *graph = op_create(ctx, &state);
    Block *body = region_add_block(op_region(graph, 0));
    for (uint32_t i = 0; i < input_count + output_count; i++) block_add_arg(body, ports[i], loc);
    return graph;
}

static bool verify_graph_op(Op *op)
{
    const Type *type = signature(op);
    Block *body = region_entry(op_region(op, 0));
    uint32_t inputs = type->u.function.input_count, outputs = type->u.function.result_count;
    if (!body || body->arg_count != inputs + outputs)
        return op_error(op, "has %u ports, but its body has %u arguments", inputs + outputs,
                        body ? body->arg_count : 0);
    const Attr *attrs = op_attr(op, "port_attrs");
    if (attrs && attrs->u.array.count != inputs + outputs)
        return op_error(op, "has %u ports, but %u port attribute dictionaries", inputs + outputs,
                        attrs->u.array.count);
    for (uint32_t i = 0; i < inputs + outputs; i++) {
        if (body->args[i]->type != type->u.function.types[i])
            return op_error(op, "type of port %u differs from the signature's", i);
        bool ok = i < inputs ? is_receiving(body->args[i]->type) : is_sending(body->args[i]->type);
        if (!ok)
            return op_error(
                op, "%s port %u must be a %s end, but got '%s'", i < inputs ? "input" : "output", i,
                i < inputs ? "receiving" : "sending", type_str(op->ctx, body->args[i]->type));
    }
    return !attrs || verify_arg_dicts(op, attrs);
}

static bool check_used_once(const Op *at, const Value *end, const char *what)
{
    size_t uses = value_use_count(end);
    return uses == 1 || op_error(at, "%s must be used exactly once, but has %zu uses", what, uses);
}

static bool verify_region_ends(Op *op)
{
    bool ok = true;
    Block *body = region_entry(op_region(op, 0));
    for (uint32_t i = 0; i < body->arg_count; i++)
        ok &= check_used_once(op, body->args[i], "each port");
    FOR_EACH_OP(inner, body) {
        if (inner->def == DFG(CHANNEL))
            for (uint32_t i = 0; i < 2; i++)
                ok &= check_used_once(inner, op_result(inner, i), "each end of a channel");
        else if (inner->def != DFG(INSTANTIATE) && inner->def != DFG(CONNECT_INPUT) &&
                 inner->def != DFG(CONNECT_OUTPUT))
            ok = op_error(inner, "is not allowed in 'dfg.region'");
    }
    return ok;
}

static bool verify_process_ports(Op *op)
{
    bool ok = true;
    Block *body = region_entry(op_region(op, 0));
    for (uint32_t i = 0; i < body->arg_count; i++)
        ok &= check_used_once(op, body->args[i], "each port");
    return ok;
}

static bool verify_channel(Op *op)
{
    const Type *in = op_result(op, 0)->type, *out = op_result(op, 1)->type;
    if (in->u.dialect.param_count != out->u.dialect.param_count ||
        memcmp(in->u.dialect.params, out->u.dialect.params,
               in->u.dialect.param_count * sizeof(*in->u.dialect.params)) != 0)
        return op_error(op, "ends differ: '%s' and '%s'", type_str(op->ctx, in),
                        type_str(op->ctx, out));
    const Attr *depth = op_attr(op, "depth");
    if (depth && attr_int_value(depth) < 1)
        return op_error(op, "depth must be at least 1, but got %lld",
                        (long long)attr_int_value(depth));
    if (depth && attr_int_value(depth) > DFG_MAX_DEPTH)
        return op_error(op, "depth must be at most %d, but got %lld", DFG_MAX_DEPTH,
                        (long long)attr_int_value(depth));
    return true;
}

static bool verify_instantiate(Op *op, SymbolTables *tables)
{
    const Attr *callee = op_attr(op, "callee");
    Op *process = symtabs_lookup(tables, op, callee);
    if (!process || process->def != DFG(PROCESS))
        return op_error(op, "'%.*s' does not reference a dfg.process",
                        STR_ARG(callee->u.symbol.names[0]->str));
    const Type *type = signature(process);
    uint32_t begin, inputs;
    op_operand_group(op, 0, &begin, &inputs);
    if (inputs != type->u.function.input_count ||
        op->operand_count - inputs != type->u.function.result_count)
        return op_error(op, "has %u inputs and %u outputs, but the process has %u and %u", inputs,
                        op->operand_count - inputs, type->u.function.input_count,
                        type->u.function.result_count);
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (op_operand(op, i)->type != type->u.function.types[i])
            return op_error(op, "operand %u has type '%s', but the process's port has '%s'", i,
                            type_str(op->ctx, op_operand(op, i)->type),
                            type_str(op->ctx, type->u.function.types[i]));
    return true;
}

static bool verify_connect(Op *op)
{
    const Type *port = op_operand(op, 0)->type, *channel = op_operand(op, 1)->type;
    const TypeDef *opposite = is_sending(port) ? &dfg_type_output : &dfg_type_input;
    const Type *want =
        type_dialect(op->ctx, opposite, port->u.dialect.params, port->u.dialect.param_count);
    return channel == want || op_error(op, "connects '%s' to '%s'", type_str(op->ctx, port),
                                       type_str(op->ctx, channel));
}

static bool verify_pull(Op *op)
{
    const Type *want = dfg_payload(op_operand(op, 0)->type), *got = op_result(op, 0)->type;
    return got == want || op_error(op, "result type '%s' must be the channel's payload '%s'",
                                   type_str(op->ctx, got), type_str(op->ctx, want));
}

static bool verify_push(Op *op)
{
    const Type *want = dfg_payload(op_operand(op, 1)->type), *got = op_operand(op, 0)->type;
    return got == want || op_error(op, "value type '%s' must be the channel's payload '%s'",
                                   type_str(op->ctx, got), type_str(op->ctx, want));
}

/* connect.input %p, %c#0 ; use(%c#1)  ->  use(%p), and the other way round for outputs. */
static bool bypass_channel(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *port = op_operand(op, 0), *end = op_operand(op, 1);
    Op *channel = value_def(end);
    if (!channel || channel->def != DFG(CHANNEL)) return false;
    Value *other = op_result(channel, 1 - end->index);
    rewriter_erase(rw, op);
    rewriter_replace_value(rw, other, port);
    rewriter_erase(rw, channel);
    return true;
}

static void canonicalize_connect(PatternSet *set)
{
    pattern_add(set, "bypass-input-channel", DFG(CONNECT_INPUT), 1, bypass_channel);
    pattern_add(set, "bypass-output-channel", DFG(CONNECT_OUTPUT), 1, bypass_channel);
}

bool dfg_quant_int(const Op *op, const Attr *quant, const char *name, int64_t fallback,
                   int64_t *out)
{
    const Attr *item = attr_dict_get_c(quant, name);
    *out = fallback;
    if (!item) return true;
    if (item->kind != ATTR_INTEGER || !bigint_fits_i64(&item->u.integer, true))
        return op_error(op, "dfg.quant: '%s' must be an integer", name);
    *out = type_is_int_width(item->type, 1) ? attr_is_true(item) : attr_int_value(item);
    return true;
}

static bool verify_name(Op *op, const NamedAttr *attr)
{
    return !str_eq_c(attr->name->str, DFG_ATTR_NAME) || attr->value->kind == ATTR_STRING ||
           op_error(op, "dfg.name must be a string");
}

static bool verify_tensors(Op *op, const NamedAttr *attr)
{
    return !str_eq_c(attr->name->str, DFG_ATTR_TENSORS) || dfg_tensors_are_valid(attr->value) ||
           op_error(op, "dfg.tensors must be an array of tensors of the network");
}

/* dfg.name, dfg.layout, dfg.quant, dfg.tensors on arguments, results and ports. */
static bool verify_boundary_attr(Op *func, uint32_t index, const NamedAttr *attr)
{
    (void)index;
    if (str_eq_c(attr->name->str, DFG_ATTR_LAYOUT) &&
        (attr->value->kind != ATTR_AFFINE_MAP || !map_is_permutation(attr->value->u.map)))
        return op_error(func, "dfg.layout must be a permutation map");
    if (str_eq_c(attr->name->str, DFG_ATTR_QUANT) && attr->value->kind != ATTR_DICT)
        return op_error(func, "dfg.quant must be a dictionary");
    return verify_name(func, attr) && verify_tensors(func, attr);
}

static bool is_string_list(const Attr *attr)
{
    if (attr->kind != ATTR_ARRAY) return false;
    for (uint32_t i = 0; i < attr->u.array.count; i++)
        if (attr->u.array.items[i]->kind != ATTR_STRING) return false;
    return true;
}

static bool verify_clock(Op *op, const NamedAttr *attr)
{
    return !str_eq_c(attr->name->str, DFG_ATTR_BUDGET) || attr->value->kind != ATTR_DICT ||
           attr_dict_int(attr->value, DFG_BUDGET_CLOCK_MHZ, 0) <= DFG_MAX_CLOCK_MHZ ||
           op_error(op, DFG_ATTR_BUDGET ": " DFG_BUDGET_CLOCK_MHZ " must be at most %d",
                    DFG_MAX_CLOCK_MHZ);
}

/* The tensors of a module are only named. */
static bool verify_op_attr(Op *op, const NamedAttr *attr)
{
    if (!verify_clock(op, attr)) return false;
    if (op->def != BUILTIN(MODULE)) return verify_name(op, attr) && verify_tensors(op, attr);
    return !str_eq_c(attr->name->str, DFG_ATTR_TENSORS) || is_string_list(attr->value) ||
           op_error(op, "dfg.tensors must be an array of names");
}

#define OP(ID, NAME, ...)                                                                          \
    [DFG_##ID] = {.id = #ID, .name = NAME, .dialect = &dfg_dialect, __VA_ARGS__},
const OpDef dfg_ops[] = {
#include "dialects/dfg/dfg_ops.def"
};
#undef OP

static const TypeDef *const dfg_types[] = {&dfg_type_input, &dfg_type_output, NULL};

const DialectDef dfg_dialect = {
    .name = "dfg",
    .summary = "Dataflow graphs: processes, channels, sliding windows",
    .ops = dfg_ops,
    .op_count = DFG_OP_COUNT,
    .types = dfg_types,
    .verify_op_attr = verify_op_attr,
    .verify_arg_attr = verify_boundary_attr,
};

uint32_t dfg_instantiate_inputs(const Op *instantiate)
{
    uint32_t begin, count;
    op_operand_group(instantiate, 0, &begin, &count);
    return count;
}

const Op *dfg_channel_reader(const Value *end)
{
    const Op *channel = value_def(end);
    if (!channel) return NULL;
    const Use *use = op_result(channel, 1)->uses;
    return use && use->owner->def == DFG(INSTANTIATE) ? use->owner : NULL;
}
