/* copy-frames: a kernel at a stream that the host copies from card to card writes frames to memory, or
 * reads them. What the host does goes; one process is left between the kernel's other stream and the
 * memory, which add-memory-ports puts in place of the stream.
 * Requires: a top function that split-region made, of `pack` and `send` or of `receive`
 * (connect-cards); the stream's port has sys.link of protocol `host`.
 * Changes: the top function, which is started by the host now; its processes.
 * Preserves: words and their order.
 * Tests: lit/target/split/copy-frames.mir, test/e2e/emulate_check.py */
#include "dialects/dfg/dfg.h"
#include "ir/asm/print/print.h"
#include "passes/dfg/passes.h"
#include "target/split/internal.h"

/* The argument of a kernel that the host copies, or NULL. */
static Value *copied_stream(const Op *top)
{
    const Block *body = region_entry(op_region(top, 0));
    const Attr *ports = op_attr(top, DFG_ATTR_PORT_ATTRS);
    for (uint32_t i = 0; ports && i < body->arg_count && i < ports->u.array.count; i++)
        if (port_process_is_copied(ports->u.array.items[i])) return body->args[i];
    return NULL;
}

/* Erases calls and the streams between them, then the functions that nobody calls. */
static void erase_processes(Op *module, Op *top)
{
    Block *body = region_entry(op_region(top, 0));
    FOR_EACH_OP_SAFE(op, body)
        if (op->def == EMITHLS(CALL)) op_erase(op);
    FOR_EACH_OP_SAFE(op, body)
        if (op->def == EMITHLS(STREAM)) op_erase(op);
    FOR_EACH_OP_SAFE(op, region_entry(op_region(module, 0)))
        if (op->def == EMITHLS(FUNC) && op != top) op_erase(op);
}

/* for word in words: out = in */
static Op *create_process(Op *top, const Op *process, Value *in, Value *out, int64_t words)
{
    Context *ctx = top->ctx;
    const Type *types[2] = {in->type, out->type};
    const Attr *names[2] = {attr_string_c(ctx, "in"), attr_string_c(ctx, "out")};
    const LoopSpec loop = {"word", words};
    const NamedAttr attrs[] = {
        build_named_attr(ctx, "sym_name", attr_string(ctx, symbol_name(process)->str)),
        build_named_attr(ctx, "function_type", attr_type(type_function(ctx, types, 2, NULL, 0))),
        build_named_attr(ctx, EMITHLS_ATTR_ARG_NAMES, attr_array(ctx, names, 2)),
        build_named_attr(ctx, DFG_ATTR_REPORT, op_attr(process, DFG_ATTR_REPORT)),
        build_named_attr(ctx, SYS_ATTR_PLACE, op_attr(process, SYS_ATTR_PLACE)),
    };
    OpState state = {.name = opinfo_of_def(ctx, EMITHLS(FUNC))->name,
                     .loc = process->loc,
                     .attrs = attr_dict(ctx, attrs, COUNT_OF(attrs)),
                     .region_count = 1};
    Op *func = op_create(ctx, &state);
    Block *body = region_add_block(op_region(func, 0));
    for (uint32_t i = 0; i < 2; i++) block_add_arg(body, types[i], func->loc);
    EmithlsNest nest = {.b = builder_at_end(body, func->loc)};
    NestMark mark = emithls_nest_open(&nest, "words", &loop, 1, LOOP_PIPELINED, -1, -1);
    emithls_nest_write(&nest, emithls_nest_read(&nest, body->args[0]), body->args[1]);
    emithls_nest_close(&nest, mark);
    return func;
}

/* The first process that a kernel calls, in whose place another one comes. */
static const Op *first_process(const Op *top)
{
    FOR_EACH_OP(op, region_entry(op_region(top, 0))) {
        const Op *process =
            op->def == EMITHLS(CALL) ? symbol_lookup(op, op_attr(op, "callee")) : NULL;
        if (process && op_attr(process, DFG_ATTR_REPORT) && op_attr(process, SYS_ATTR_PLACE))
            return process;
    }
    return NULL;
}

static bool copy_frames(Pass *pass, Op *module)
{
    Op *top = emithls_top(module);
    Value *copied = top ? copied_stream(top) : NULL;
    (void)pass;
    if (!copied) return true;
    Block *body = region_entry(op_region(top, 0));
    const Op *process = first_process(top);
    const Attr *port = op_attr(top, DFG_ATTR_PORT_ATTRS)->u.array.items[copied->index];
    const Attr *frame = attr_dict_get_c(port, EMITHLS_ATTR_FRAME);
    int64_t elements = 0;
    SysUse ways = {false, false};
    sys_add_use(copied, &ways);
    if (!process || body->arg_count != 2 || ways.reads == ways.writes || !frame ||
        frame->kind != ATTR_TYPE || !type_element_count(frame->u.type_value, &elements) ||
        body->args[0]->type != body->args[1]->type ||
        !type_is_a(copied->type, &emithls_type_stream))
        return op_error(top, "is no kernel between a stream and one that the host copies");
    Value *other = body->args[1 - copied->index];
    Value *args[2] = {ways.writes ? other : copied, ways.writes ? copied : other};
    int64_t words = elements / emithls_lanes(emithls_stream_word(copied->type));
    Op *func = create_process(top, process, args[0], args[1], words);
    erase_processes(module, top);
    op_insert_before(func, top);
    Builder b = builder_at_end(body, top->loc);
    NamedAttr callee = build_named_attr(b.ctx, "callee", attr_symbol(b.ctx, symbol_name(func)));
    build(&b, EMITHLS(CALL), args, 2, NULL, 0, &callee, 1);
    FOR_EACH_OP(op, body)
        if (op->def == EMITHLS(DATAFLOW)) op_set_attr(op, EMITHLS_ATTR_CONTROL, NULL);
    return true;
}

const PassDef pass_copy_frames = {
    .name = "copy-frames",
    .summary = "Let a kernel write or read frames that the host copies from card to card",
    .anchor = "builtin.module",
    .run = copy_frames,
};
