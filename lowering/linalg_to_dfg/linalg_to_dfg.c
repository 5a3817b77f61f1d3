/* convert-linalg-to-dfg: turns the module's function into a dfg.region of processes.
 *
 * Kernels (linalg.generic) are grouped: an element-wise kernel whose only stream comes from a
 * kernel that nothing else reads joins the epilogue of that kernel, and so does one that adds another
 * stream to it. Each group becomes a compute
 * process, preceded by a window process where an operand slides, strides or is padded. A value with
 * several readers goes through a fork. A reshape changes no stream: if only one group reads it, it
 * joins that group, else the process of each reader makes it at its port.
 * Requires: named ops generalized, channels-last layout, one function with static shapes.
 * Changes: the function is replaced by a region and its processes.
 * Tests: lit/lowering/linalg_to_dfg */
#include <assert.h>

#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "ir/pass/pass.h"
#include "lowering/linalg_to_dfg/internal.h"

/* Readers of one streamed value: receiving ends handed out one by one. */
typedef struct DfgStream {
    Value *value;
    uint32_t readers, next;
    Value **ends; /* readers entries, from the scratch arena */
} DfgStream;

typedef struct DfgConversion {
    Pass *pass;
    Context *ctx;
    Op *module, *func, *region;
    SymbolTable symbols;
    Builder b; /* in the region */
    VEC(ProcessGroup *) groups;
    PtrMap group_of; /* result Value* -> Group* */
    PtrMap streams;  /* Value* -> DfgStream* */
    VEC(DfgStream *) stream_list;
    bool fuses_adds;
} DfgConversion;

static bool check_boundary(const Op *func)
{
    const Type *type = func_type(func);
    uint32_t inputs = type->u.function.input_count;
    for (uint32_t i = 0; i < inputs + type->u.function.result_count; i++)
        if (!dfg_can_stream(type->u.function.types[i]))
            return op_error(func,
                            "%s #%u of type '%s' cannot be streamed: that takes a static tensor of "
                            "1 to 2^40 elements, which are signless integers of up to %d bits, f32 "
                            "or f64",
                            i < inputs ? "argument" : "result", i < inputs ? i : i - inputs,
                            type_str(func->ctx, type->u.function.types[i]), DFG_MAX_ELEMENT_BITS);
    return true;
}

static bool is_move(const Op *op)
{
    return op->def == DFG(REORDER) || op->def == DFG(MERGE);
}

static bool is_streamable(const Op *op)
{
    return op->def == LINALG(GENERIC) || op->def == LINALG(FILL) || op->def == TENSOR(EMPTY) ||
           op->def == TENSOR(PAD) || op->def == FUNC(RETURN) || reshape_is(op) || is_move(op) ||
           op_has_trait(op, TRAIT_CONSTANT_LIKE);
}

/* The group whose epilogue can take the generic, or NULL. */
static ProcessGroup *producer_to_join(const DfgConversion *c, const Op *generic)
{
    ProcessGroup *found = NULL;
    const AffineMap *out = linalg_operand_map(generic, linalg_input_count(generic));
    for (uint32_t i = 0; i < linalg_loop_count(generic); i++)
        if (linalg_is_reduction(generic, i)) return NULL;
    for (uint32_t i = 0; i < linalg_input_count(generic); i++) {
        Value *input = op_operand(generic, i);
        if (to_dfg_is_constant_value(input)) continue;
        ProcessGroup *group = ptrmap_get(&c->group_of, input);
        if (found || !group || is_move(group->main) || !value_has_one_use(input) ||
            linalg_operand_map(generic, i) != out || !map_is_permutation(out))
            return NULL;
        found = group;
    }
    return found;
}

static void add_stage(DfgConversion *c, ProcessGroup *group, Op *op)
{
    *vec_push(&group->stages) = op;
    group->result = op_result(op, 0);
    ptrmap_put(&c->group_of, group->result, group);
}

static Value *streamed_source(const DfgConversion *c, Value *operand);

static uint32_t depth_of(const DfgConversion *c, Value *value)
{
    const ProcessGroup *group = ptrmap_get(&c->group_of, streamed_source(c, value));
    return group ? group->depth : 0;
}

static uint32_t stream_count(const ProcessGroup *group)
{
    uint32_t count = (uint32_t)group->joins.len;
    for (uint32_t i = 0; i < linalg_input_count(group->main); i++)
        count += !to_dfg_is_constant_value(op_operand(group->main, i));
    return count;
}

/* The group that may take a sum of its result and another stream; NULL: none. */
static ProcessGroup *group_of_addend(const DfgConversion *c, Value *value)
{
    ProcessGroup *group = ptrmap_get(&c->group_of, value);
    return group && !is_move(group->main) && linalg_reduces(group->main) &&
                   value_has_one_use(value) && stream_count(group) < SCHED_MAX_STREAMS
               ? group
               : NULL;
}

/* A sum of the results of two kernels, or of a skip and one, becomes part of the later one: it waits
 * for the other anyway. A group whose result another one joins is finished, so no two wait for each
 * other. False: the sum is a group of its own. */
static bool fuse_sum(DfgConversion *c, Op *generic)
{
    uint32_t operands[2];
    if (!c->fuses_adds || !to_dfg_is_sum_of_streams(generic, operands)) return false;
    ProcessGroup *groups[2];
    for (int i = 0; i < 2; i++) groups[i] = group_of_addend(c, op_operand(generic, operands[i]));
    bool second_is_later =
        groups[0] && groups[1] &&
        (groups[1]->depth != groups[0]->depth ? groups[1]->depth > groups[0]->depth
                                              : groups[1]->number > groups[0]->number);
    int host = groups[0] && !second_is_later ? 0 : 1;
    ProcessGroup *group = groups[host];
    if (!group) return false;
    Value *joined = op_operand(generic, operands[1 - host]);
    *vec_push(&group->joins) =
        (JoinedOperand){generic, operands[1 - host], streamed_source(c, joined)};
    group->depth = (uint32_t)i64_max(group->depth, depth_of(c, joined) + 1);
    add_stage(c, group, generic);
    pass_count(c->pass, "fused", 1);
    return true;
}

static void add_group(DfgConversion *c, Op *main)
{
    ProcessGroup *group = ARENA_NEW(&c->pass->scratch, ProcessGroup);
    group->main = main;
    group->result = op_result(main, 0);
    group->number = (uint32_t)c->groups.len;
    for (uint32_t i = 0; i < main->operand_count; i++)
        group->depth = (uint32_t)i64_max(group->depth, depth_of(c, op_operand(main, i)));
    group->depth++;
    *vec_push(&c->groups) = group;
    ptrmap_put(&c->group_of, group->result, group);
}

static void add_kernel(DfgConversion *c, Op *generic)
{
    ProcessGroup *group = producer_to_join(c, generic);
    if (group)
        add_stage(c, group, generic);
    else if (!fuse_sum(c, generic))
        add_group(c, generic);
}

static void add_reshape(DfgConversion *c, Op *reshape)
{
    Value *source = op_operand(reshape, 0);
    ProcessGroup *group = ptrmap_get(&c->group_of, source);
    if (group && value_has_one_use(source)) add_stage(c, group, reshape);
}

static bool group_kernels(DfgConversion *c)
{
    bool ok = true;
    FOR_EACH_OP(op, func_entry(c->func)) {
        if (!is_streamable(op))
            ok = op_error(op, "cannot be streamed: no rule turns it into a process");
        else if (kernel_fill_value(op))
            continue;
        else if (op->def == LINALG(GENERIC) && !kernel_has_one_output(op))
            ok = op_error(op, "has several results that are read; a streaming kernel has one");
        else if (op->def == LINALG(GENERIC))
            add_kernel(c, op);
        else if (is_move(op))
            add_group(c, op);
        else if (reshape_is(op))
            add_reshape(c, op);
    }
    return ok;
}

static void add_reader(DfgConversion *c, Value *value)
{
    DfgStream *stream = ptrmap_get(&c->streams, value);
    if (!stream) {
        stream = ARENA_NEW(&c->pass->scratch, DfgStream);
        stream->value = value;
        ptrmap_put(&c->streams, value, stream);
        *vec_push(&c->stream_list) = stream;
    }
    stream->readers++;
}

/* Follows reshapes that are in no group to the value that really streams. */
static Value *unreshaped(const DfgConversion *c, Value *value)
{
    const Op *def = value_def(value);
    while (def && reshape_is(def) && !ptrmap_has(&c->group_of, value)) {
        value = op_operand(def, 0);
        def = value_def(value);
    }
    return value;
}

/* The same, seen through a padding as well, which comes behind the reshapes. */
static Value *streamed_source(const DfgConversion *c, Value *operand)
{
    const Op *def = value_def(operand);
    return unreshaped(c, def && def->def == TENSOR(PAD) ? op_operand(def, 0) : operand);
}

static bool check_source(const DfgConversion *c, const Op *reader, Value *value)
{
    bool is_arg = value->is_arg && value_block(value) == func_entry(c->func);
    if (is_arg || ptrmap_has(&c->group_of, value)) return true;
    return op_error(reader, "reads a value that is neither a function argument nor a kernel's "
                            "result");
}

/* A kernel's initial tensor is in its code or its tables. */
static bool check_initial(const Op *generic)
{
    uint32_t init = linalg_input_count(generic);
    return !linalg_reads_operand(generic, init) ||
           to_dfg_is_constant_value(op_operand(generic, init)) ||
           op_error(generic, "starts from a tensor that is not known at compile time");
}

static uint32_t group_input_count(const Op *main)
{
    return is_move(main) ? main->operand_count : linalg_input_count(main);
}

static bool count_readers(DfgConversion *c)
{
    const Op *ret = func_entry(c->func)->last;
    bool ok = true;
    for (size_t g = 0; g < c->groups.len; g++) {
        Op *main = c->groups.data[g]->main;
        ok &= is_move(main) || (check_initial(main) && to_dfg_check_captures(main));
        for (uint32_t i = 0; i < group_input_count(main); i++) {
            Value *source = streamed_source(c, op_operand(main, i));
            if (to_dfg_is_constant_value(op_operand(main, i))) continue;
            ok &= check_source(c, main, source);
            add_reader(c, source);
        }
        for (size_t j = 0; j < c->groups.data[g]->joins.len; j++) {
            const JoinedOperand *join = &c->groups.data[g]->joins.data[j];
            ok &= check_source(c, join->stage, join->source);
            add_reader(c, join->source);
        }
    }
    for (uint32_t i = 0; i < ret->operand_count; i++) {
        Value *source = unreshaped(c, op_operand(ret, i));
        ok &= check_source(c, ret, source);
        add_reader(c, source);
    }
    return ok;
}

static Op *build_channel(DfgConversion *c, const Type *sending, const Attr *loc)
{
    const Type *ends[2] = {sending,
                           type_dialect(c->ctx, &dfg_type_output, sending->u.dialect.params,
                                        sending->u.dialect.param_count)};
    c->b.loc = loc;
    return build(&c->b, DFG(CHANNEL), NULL, 0, ends, 2, NULL, 0);
}

static void instantiate(DfgConversion *c, const Op *process, Value *const *ends, uint32_t inputs,
                        uint32_t outputs)
{
    const Ident *name = symbol_name(process);
    int32_t segments[2] = {(int32_t)inputs, (int32_t)outputs};
    const NamedAttr attrs[2] = {
        build_named_attr(c->ctx, "callee", attr_symbol(c->ctx, name)),
        build_named_attr(c->ctx, "operandSegmentSizes",
                         attr_dense_array(type_i(c->ctx, 32), segments, 2))};
    c->b.loc = process->loc;
    build(&c->b, DFG(INSTANTIATE), ends, inputs + outputs, NULL, 0, attrs, 2);
}

/* Makes the receiving ends of a value available to its readers. A drain takes a value that nothing
 * reads. */
static void publish(DfgConversion *c, Value *value, Value *end, const Op *kernel, Str name)
{
    DfgStream unread = {.value = value}, *stream = ptrmap_get(&c->streams, value);
    stream = stream ? stream : &unread;
    stream->ends = ARENA_ARRAY(&c->pass->scratch, Value *, stream->readers);
    if (stream->readers == 1) {
        stream->ends[0] = end;
        return;
    }
    StrBuf text = {0};
    strbuf_printf(&text, "%.*s_%s", STR_ARG(name), stream->readers ? "fork" : "drain");
    Op *fork = to_dfg_build_fork_process(&c->symbols, strbuf_str(&text), kernel, value->type,
                                         stream->readers);
    strbuf_free(&text);
    VEC(Value *) ends = {0};
    *vec_push(&ends) = end;
    for (uint32_t i = 0; i < stream->readers; i++) {
        Op *channel = build_channel(c, dfg_port(fork, 1 + i)->type, kernel->loc);
        *vec_push(&ends) = op_result(channel, 0);
        stream->ends[i] = op_result(channel, 1);
    }
    instantiate(c, fork, ends.data, 1, stream->readers);
    vec_free(&ends);
}

static Value *take_end(DfgConversion *c, Value *value)
{
    DfgStream *stream = ptrmap_get(&c->streams, value);
    assert(stream->ends && stream->next < stream->readers);
    return stream->ends[stream->next++];
}

static const Attr *or_empty(const DfgConversion *c, const Attr *dict)
{
    return dict ? dict : attr_dict(c->ctx, NULL, 0);
}

/* The tensors of the network that a value's elements are; reshapes move nothing. NULL: not known. */
static const Attr *tensors_of(Value *value)
{
    const Op *op = value_def(reshape_source(value));
    return op ? op_attr(op, DFG_ATTR_TENSORS) : NULL;
}

static const Attr *result_attrs(const DfgConversion *c, uint32_t number)
{
    const Attr *dict = or_empty(c, func_result_attrs(c->func, number));
    const Attr *tensors = tensors_of(op_operand(func_entry(c->func)->last, number));
    return tensors ? attr_dict_set(dict, ident_get_c(c->ctx, DFG_ATTR_TENSORS), tensors) : dict;
}

static void create_region(DfgConversion *c)
{
    VEC(const Type *) ports = {0};
    VEC(const Attr *) attrs = {0};
    const Type *type = func_type(c->func);
    uint32_t inputs = type->u.function.input_count, outputs = type->u.function.result_count;
    for (uint32_t i = 0; i < inputs + outputs; i++) {
        const TypeDef *end = i < inputs ? &dfg_type_output : &dfg_type_input;
        *vec_push(&ports) = dfg_end_type(end, type->u.function.types[i], NULL);
        *vec_push(&attrs) =
            i < inputs ? or_empty(c, func_arg_attrs(c->func, i)) : result_attrs(c, i - inputs);
    }
    Str top = pass_string(c->pass, "top");
    Str name = top.len ? top : symbol_name(c->func)->str;
    const Attr *port_attrs = attr_array(c->ctx, attrs.data, attrs.len);
    c->region = dfg_create_graph(c->ctx, DFG(REGION), name, c->func->loc, ports.data, inputs,
                                 outputs, port_attrs);
    c->b = builder_at_end(region_entry(op_region(c->region, 0)), c->func->loc);
    ptrmap_put(&c->symbols.by_name, symbol_name(c->region), c->region); /* keep the name free */
    vec_free(&ports);
    vec_free(&attrs);
}

/* Instantiates a group's process on the ends of its inputs; ends has room for that of its
 * output. */
static void connect_process(DfgConversion *c, Op *process, Value **ends, uint32_t inputs,
                            const ProcessGroup *group, Str name)
{
    Op *channel = build_channel(c, dfg_port(process, inputs)->type, group->main->loc);
    op_set_attr(channel, DFG_ATTR_TENSORS, tensors_of(group->result));
    ends[inputs] = op_result(channel, 0);
    instantiate(c, process, ends, inputs, 1);
    publish(c, group->result, op_result(channel, 1), group->main, name);
}

static bool convert_group(DfgConversion *c, const ProcessGroup *group)
{
    StreamInput inputs[SCHED_MAX_STREAMS];
    Value *ends[SCHED_MAX_STREAMS + 1];
    uint32_t count = 0;
    StrBuf name = {0}, window_name = {0};
    layer_name_append(&name, group->main);
    bool ok = true;
    for (uint32_t i = 0; ok && i < linalg_input_count(group->main); i++) {
        if (to_dfg_is_constant_value(op_operand(group->main, i))) continue;
        if (count == SCHED_MAX_STREAMS)
            ok = op_error(group->main, "reads more than %d streams", SCHED_MAX_STREAMS);
        else
            ok = to_dfg_stream_input(group->main, i, streamed_source(c, op_operand(group->main, i)),
                                     &inputs[count++]);
    }
    for (uint32_t i = 0; ok && i < count; i++) {
        ends[i] = take_end(c, inputs[i].source);
        if (!inputs[i].has_window) continue;
        strbuf_clear(&window_name);
        strbuf_printf(&window_name, "%.*s_window", STR_ARG(strbuf_str(&name)));
        Op *window = to_dfg_build_window_process(&c->symbols, strbuf_str(&window_name), group->main,
                                                 &inputs[i]);
        Op *channel = build_channel(c, dfg_port(window, 1)->type, group->main->loc);
        Value *window_ends[2] = {ends[i], op_result(channel, 0)};
        instantiate(c, window, window_ends, 1, 1);
        ends[i] = op_result(channel, 1);
    }
    for (size_t j = 0; ok && j < group->joins.len; j++)
        ends[count + j] = take_end(c, group->joins.data[j].source);
    Op *process =
        ok ? to_dfg_build_compute_process(&c->symbols, strbuf_str(&name), group, inputs, count)
           : NULL;
    count += (uint32_t)group->joins.len;
    if (process) connect_process(c, process, ends, count, group, strbuf_str(&name));
    strbuf_free(&name);
    strbuf_free(&window_name);
    return process != NULL;
}

static bool convert_move(DfgConversion *c, const ProcessGroup *group)
{
    Value *sources[SCHED_MAX_STREAMS], *ends[SCHED_MAX_STREAMS + 1];
    uint32_t count = 0;
    StrBuf name = {0};
    if (group->main->operand_count > SCHED_MAX_STREAMS)
        return op_error(group->main, "reads more than %d streams", SCHED_MAX_STREAMS);
    layer_name_append(&name, group->main);
    if (layer_name_source(group->main).len)
        strbuf_add_c(&name, group->main->def == DFG(MERGE) ? "_merge" : "_reorder");
    for (uint32_t i = 0; i < group->main->operand_count; i++) {
        sources[i] = NULL;
        if (to_dfg_is_constant_value(op_operand(group->main, i))) continue;
        sources[i] = unreshaped(c, op_operand(group->main, i));
        ends[count++] = take_end(c, sources[i]);
    }
    Op *process = to_dfg_build_move_process(&c->symbols, strbuf_str(&name), group, sources);
    if (process) connect_process(c, process, ends, count, group, strbuf_str(&name));
    strbuf_free(&name);
    return process != NULL;
}

/* Input ports feed channels, output ports are fed from them; canonicalization bypasses both. */
static void connect(DfgConversion *c, const OpDef *def, Value *port, Value *channel)
{
    Value *operands[2] = {port, channel};
    build(&c->b, def, operands, 2, NULL, 0, NULL, 0);
}

static void connect_inputs(DfgConversion *c)
{
    Block *entry = func_entry(c->func);
    StrBuf name = {0};
    for (uint32_t i = 0; i < entry->arg_count; i++) {
        Value *port = dfg_port(c->region, i);
        const Type *sending = dfg_end_type(&dfg_type_input, dfg_payload(port->type), NULL);
        Op *channel = build_channel(c, sending, c->func->loc);
        connect(c, DFG(CONNECT_INPUT), port, op_result(channel, 0));
        strbuf_clear(&name);
        strbuf_printf(&name, "input%u", i);
        publish(c, entry->args[i], op_result(channel, 1), c->func, strbuf_str(&name));
    }
    strbuf_free(&name);
}

/* End that delivers a result. An argument, or a reshape that no kernel makes, is copied. */
static Value *result_end(DfgConversion *c, const Op *ret, uint32_t number)
{
    Value *result = op_operand(ret, number), *source = unreshaped(c, result);
    const DfgStream *stream = ptrmap_get(&c->streams, source);
    Value *end = take_end(c, source);
    if (source == result && (!source->is_arg || stream->readers > 1)) return end;
    StrBuf name = {0};
    strbuf_printf(&name, "output%u_copy", number);
    Op *process = to_dfg_build_copy_process(&c->symbols, strbuf_str(&name), ret, result, source);
    strbuf_free(&name);
    Op *channel = build_channel(c, dfg_port(process, 1)->type, process->loc);
    Value *ends[2] = {end, op_result(channel, 0)};
    instantiate(c, process, ends, 1, 1);
    return op_result(channel, 1);
}

static void connect_outputs(DfgConversion *c)
{
    const Op *ret = func_entry(c->func)->last;
    uint32_t inputs = dfg_input_count(c->region);
    for (uint32_t i = 0; i < ret->operand_count; i++)
        connect(c, DFG(CONNECT_OUTPUT), dfg_port(c->region, inputs + i), result_end(c, ret, i));
}

static bool is_published(const DfgConversion *c, Value *source)
{
    const DfgStream *stream = ptrmap_get(&c->streams, source);
    return stream && stream->ends;
}

/* Whether all that the group reads is there. */
static bool is_ready(const DfgConversion *c, const ProcessGroup *group)
{
    for (uint32_t i = 0; i < group_input_count(group->main); i++) {
        Value *operand = op_operand(group->main, i);
        if (!to_dfg_is_constant_value(operand) && !is_published(c, streamed_source(c, operand)))
            return false;
    }
    for (size_t j = 0; j < group->joins.len; j++)
        if (!is_published(c, group->joins.data[j].source)) return false;
    return true;
}

/* In their order, but each behind those that it reads: one that joins a sum reads a result that may
 * have been computed later. */
static bool convert_groups(DfgConversion *c)
{
    bool *done = ARENA_ARRAY(&c->pass->scratch, bool, c->groups.len + 1);
    for (size_t next = 0; next < c->groups.len;) {
        size_t i = next;
        while (done[i] || !is_ready(c, c->groups.data[i])) i++;
        ProcessGroup *group = c->groups.data[i];
        if (!(is_move(group->main) ? convert_move : convert_group)(c, group)) return false;
        done[i] = true;
        while (next < c->groups.len && done[next]) next++;
    }
    return true;
}

static bool build_graph(DfgConversion *c)
{
    create_region(c);
    connect_inputs(c);
    if (!convert_groups(c)) return false;
    connect_outputs(c);
    return true;
}

static Op *find_function(Op *module)
{
    Op *found = NULL;
    FOR_EACH_OP(op, region_entry(op_region(module, 0))) {
        if (op->def != FUNC(FUNC)) continue;
        if (found) {
            op_error(op, "is a second function; a network is one function");
            return NULL;
        }
        found = op;
    }
    if (!found || !func_entry(found)) {
        op_emit_error(module, "there is no function with a body to convert");
        return NULL;
    }
    if (op_region(found, 0)->first != op_region(found, 0)->last) {
        op_error(found, "has control flow; a streaming network is straight-line code");
        return NULL;
    }
    return found;
}

static void free_conversion(DfgConversion *c)
{
    for (size_t i = 0; i < c->groups.len; i++) {
        vec_free(&c->groups.data[i]->stages);
        vec_free(&c->groups.data[i]->joins);
    }
    vec_free(&c->groups);
    vec_free(&c->stream_list);
    ptrmap_free(&c->group_of);
    ptrmap_free(&c->streams);
    symtab_free(&c->symbols);
}

static bool convert_linalg_to_dfg(Pass *pass, Op *module)
{
    DfgConversion c = {.pass = pass,
                       .ctx = module->ctx,
                       .module = module,
                       .fuses_adds = pass_bool(pass, "fuse-adds")};
    c.func = find_function(module);
    if (!c.func) return false;
    symtab_init(&c.symbols, module);
    to_dfg_move_padding_behind_reshapes(func_entry(c.func));
    bool ok = check_boundary(c.func) && group_kernels(&c) && count_readers(&c) && build_graph(&c);
    if (ok) {
        op_erase(c.func);
        op_append(c.region, region_entry(op_region(module, 0)));
    } else if (c.region) {
        op_erase(c.region);
    }
    free_conversion(&c);
    return ok;
}

const PassDef pass_convert_linalg_to_dfg = {
    .name = "convert-linalg-to-dfg",
    .summary = "Turn a function of linalg kernels into a graph of streaming processes",
    .anchor = "builtin.module",
    .options = OPTIONS(
        {"top", OPTION_STRING, NULL, "name of the region; default: the function's"},
        {"fuse-adds", OPTION_BOOL, "true", "let kernels add other streams to their results"}),
    .stats = STATS({"fused", "sums of streams that a kernel computes"}),
    .run = convert_linalg_to_dfg,
};
