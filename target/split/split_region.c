/* split-region: a function of processes for each kernel, and in place of the top function the
 * sys.system that joins them.
 *
 * A kernel is what stands on one die and can be started as one: no data leaves it and comes back
 * through another kernel. So a process is in the kernel of those before it on its die unless
 * something between them is elsewhere: kernels are numbered by the longest chain of changes from die
 * to die in front of them (partition_measure does the same). Processes at memories are kernels of
 * their own, since only they are started by the host, and so is what says sys.kernel. Instances of a
 * tile share no kernel.
 *
 * Requires: a top function whose calls are in order of the data; of the processes all have a place,
 * or none, which is die 0 of card 0.
 * Changes: the top function goes; streams inside of kernels move into them.
 * Preserves: processes, tables, depths and latencies, so the system is in every cycle what the
 * design was.
 * Tests: lit/target/split/split-region.mir, test/e2e/system_check.py */
#include <stdlib.h>
#include <string.h>

#include "dialects/builtin/builtin.h"
#include "dialects/dfg/dfg.h"
#include "ir/asm/print/print.h"
#include "sim/design/design.h"
#include "target/split/internal.h"

/* A kernel: processes of an instance with the same place and name, behind as many changes of them. */
typedef struct SplitKernel {
    SysPlace place;
    const Attr *group;    /* SYS_ATTR_KERNEL, or NULL */
    const Attr *instance; /* SYS_ATTR_INSTANCE, or NULL */
    uint32_t alone;       /* a process at a memory; or SPLIT_NOBODY */
    int64_t level;
    Op *func;
    VEC(Value *) args; /* of the whole design, that the kernel takes */
} SplitKernel;

typedef struct Split {
    SplitGraph graph;
    const HlsDesign *design; /* for the words of streams */
    VEC(SplitKernel) kernels;
    uint32_t *kernel_of; /* by process */
    Op *system;
    Op *dataflow; /* of the top function; or NULL */
    SymbolTable symbols;
} Split;

static bool same_place(SysPlace a, SysPlace b)
{
    return a.card == b.card && a.die == b.die;
}

static bool is_together(const SplitKernel *a, const SplitKernel *b)
{
    return same_place(a->place, b->place) && a->group == b->group && a->instance == b->instance &&
           a->alone == b->alone;
}

/* The kernel that a process would be in by itself, and the number of changes in front of it. */
static SplitKernel describe(const Split *s, uint32_t process)
{
    const SplitProcess *p = &s->graph.processes.data[process];
    SplitKernel own = {.place = p->place,
                       .group = op_attr(p->func, SYS_ATTR_KERNEL),
                       .instance = op_attr(p->func, SYS_ATTR_INSTANCE),
                       .alone = p->has_memory ? process : SPLIT_NOBODY};
    for (size_t i = 0; i < s->graph.edges.len; i++) {
        const SplitEdge *e = &s->graph.edges.data[i];
        if (e->to != process || e->from == SPLIT_NOBODY) continue;
        const SplitKernel *before = &s->kernels.data[s->kernel_of[e->from]];
        own.level = i64_max(own.level, before->level + !is_together(before, &own));
    }
    return own;
}

/* Whether a kernel that has no place yet gives one data. */
static bool waits(const Split *s, const uint32_t *place, uint32_t kernel)
{
    for (size_t i = 0; i < s->graph.edges.len; i++) {
        const SplitEdge *e = &s->graph.edges.data[i];
        if (e->from == SPLIT_NOBODY || e->to == SPLIT_NOBODY || s->kernel_of[e->to] != kernel)
            continue;
        uint32_t from = s->kernel_of[e->from];
        if (from != kernel && place[from] == SPLIT_NOBODY) return true;
    }
    return false;
}

/* Puts kernels in order of the data: one may begin with a process that comes before all of those that
 * give it data. Levels rise along the data, so there is always one that waits for none. */
static void order_kernels(Split *s)
{
    const uint32_t count = (uint32_t)s->kernels.len;
    uint32_t *place = xcalloc(count + 1, sizeof *place), next = 0;
    SplitKernel *kernels = xcalloc(count + 1, sizeof *kernels);
    for (uint32_t k = 0; k < count; k++) place[k] = SPLIT_NOBODY;
    while (next < count)
        for (uint32_t k = 0; k < count; k++) {
            if (place[k] != SPLIT_NOBODY || waits(s, place, k)) continue;
            kernels[next] = s->kernels.data[k];
            place[k] = next++;
        }
    for (uint32_t k = 0; k < count; k++) s->kernels.data[k] = kernels[k];
    for (size_t i = 0; i < s->graph.processes.len; i++) s->kernel_of[i] = place[s->kernel_of[i]];
    free(kernels);
    free(place);
}

static void find_kernels(Split *s)
{
    s->kernel_of = xcalloc(s->graph.processes.len + 1, sizeof *s->kernel_of);
    for (uint32_t i = 0; i < s->graph.processes.len; i++) {
        SplitKernel own = describe(s, i);
        uint32_t k = 0;
        while (k < s->kernels.len &&
               (s->kernels.data[k].level != own.level || !is_together(&s->kernels.data[k], &own)))
            k++;
        if (k == s->kernels.len) *vec_push(&s->kernels) = own;
        s->kernel_of[i] = k;
    }
    order_kernels(s);
}

/* The kernel at the end of an edge, or SPLIT_NOBODY. */
static uint32_t kernel_at(const Split *s, uint32_t process)
{
    return process == SPLIT_NOBODY ? SPLIT_NOBODY : s->kernel_of[process];
}

static bool is_inside(const Split *s, const SplitEdge *edge)
{
    return kernel_at(s, edge->from) == kernel_at(s, edge->to);
}

static const Attr *name_of(const Value *value, const Op *top)
{
    if (!value->is_arg) return op_attr(value_def(value), "name");
    return op_attr(top, EMITHLS_ATTR_ARG_NAMES)->u.array.items[value->index];
}

/* What a stream between kernels carries: words as they come, in one dimension. */
static const Attr *stream_attrs(const Split *s, const Value *stream)
{
    Context *ctx = s->graph.top->ctx;
    const Type *word = emithls_stream_word(stream->type);
    int64_t lanes = emithls_lanes(word), elements = split_stream_words(s->design, stream) * lanes;
    const Op *def = value_def(stream);
    bool is_copied = str_eq_c(sys_protocol(def), SYS_HOST);
    const NamedAttr items[] = {
        build_named_attr(ctx, DFG_ATTR_NAME, name_of(stream, s->graph.top)),
        build_named_attr(ctx, EMITHLS_ATTR_FRAME,
                         attr_type(type_tensor(emithls_scalar(word), &elements, 1, NULL))),
        build_named_attr(ctx, EMITHLS_ATTR_WORD, attr_i64_array(ctx, &lanes, 1)),
        build_named_attr(ctx, SYS_ATTR_LINK, op_attr(def, SYS_ATTR_LINK)),
    };
    return attr_dict(ctx, items, COUNT_OF(items) - (is_copied ? 0 : 1));
}

static void collect_args(Split *s)
{
    for (size_t i = 0; i < s->graph.edges.len; i++) {
        const SplitEdge *e = &s->graph.edges.data[i];
        uint32_t from = kernel_at(s, e->from), to = kernel_at(s, e->to);
        if (is_inside(s, e)) continue;
        if (from != SPLIT_NOBODY) *vec_push(&s->kernels.data[from].args) = e->stream;
        if (to != SPLIT_NOBODY) *vec_push(&s->kernels.data[to].args) = e->stream;
    }
}

/* The attributes of a kernel's function that tell of its arguments. */
static const Attr *function_attrs(const Split *s, const SplitKernel *k, Str name)
{
    Context *ctx = s->graph.top->ctx;
    const Attr *ports = op_attr(s->graph.top, DFG_ATTR_PORT_ATTRS);
    VEC(const Type *) types = {0};
    VEC(const Attr *) names = {0}, described = {0};
    for (size_t i = 0; i < k->args.len; i++) {
        const Value *arg = k->args.data[i];
        *vec_push(&types) = arg->type;
        *vec_push(&names) = name_of(arg, s->graph.top);
        *vec_push(&described) = !arg->is_arg ? stream_attrs(s, arg)
                                : ports      ? ports->u.array.items[arg->index]
                                             : attr_dict(ctx, NULL, 0);
    }
    const NamedAttr attrs[] = {
        build_named_attr(ctx, "sym_name", attr_string(ctx, name)),
        build_named_attr(ctx, "function_type",
                         attr_type(type_function(ctx, types.data, types.len, NULL, 0))),
        build_named_attr(ctx, EMITHLS_ATTR_ARG_NAMES, attr_array(ctx, names.data, names.len)),
        build_named_attr(ctx, DFG_ATTR_PORT_ATTRS, attr_array(ctx, described.data, described.len)),
    };
    vec_free(&types);
    vec_free(&names);
    vec_free(&described);
    return attr_dict(ctx, attrs, COUNT_OF(attrs));
}

/* What the top function says of a port; NULL: nothing. */
static const Op *find_interface(const Op *top, const Value *port)
{
    FOR_EACH_OP(op, region_entry(op_region(top, 0)))
        if (op->def == EMITHLS(INTERFACE) && op_operand(op, 0) == port) return op;
    return NULL;
}

/* The pragma of an argument: that of the port, or of a stream. */
static void add_interface(const Split *s, const Value *outer, Value *arg)
{
    Context *ctx = s->graph.top->ctx;
    Builder b = builder_at_end(value_block(arg), s->graph.top->loc);
    const Op *interface = find_interface(s->graph.top, outer);
    if (interface) {
        Op *copy = op_clone(interface, NULL);
        op_set_operand(copy, 0, arg);
        builder_insert(&b, copy);
        return;
    }
    NamedAttr mode = build_named_attr(ctx, "mode", attr_string_c(ctx, "axis"));
    build(&b, EMITHLS(INTERFACE), &arg, 1, NULL, 0, &mode, 1);
}

/* Kernels of streams alone run on their own, whoever starts the others. */
static void add_dataflow(const Split *s, const SplitKernel *k, Block *body)
{
    Context *ctx = s->graph.top->ctx;
    Builder b = builder_at_end(body, s->graph.top->loc);
    if (k->alone != SPLIT_NOBODY) {
        if (s->dataflow) builder_insert(&b, op_clone(s->dataflow, NULL));
        return;
    }
    NamedAttr control = build_named_attr(ctx, EMITHLS_ATTR_CONTROL, attr_string_c(ctx, "none"));
    build(&b, EMITHLS(DATAFLOW), NULL, 0, NULL, 0, &control, 1);
}

/* Lets the calls of a kernel take its argument in place of a stream or port of the design. */
static void use_argument(const Split *s, uint32_t kernel, Value *outer, Value *arg)
{
    VEC(Use *) uses = {0};
    FOR_EACH_USE(use, outer)
        if (use->owner->def == EMITHLS(CALL)) *vec_push(&uses) = use;
    for (size_t i = 0; i < uses.len; i++)
        for (uint32_t p = 0; p < s->graph.processes.len; p++)
            if (s->graph.processes.data[p].call == uses.data[i]->owner && s->kernel_of[p] == kernel)
                use_set(uses.data[i], arg);
    vec_free(&uses);
}

static void create_function(Split *s, uint32_t number)
{
    SplitKernel *k = &s->kernels.data[number];
    Op *top = s->graph.top;
    StrBuf name = {0};
    strbuf_printf(&name, "%.*s_c%lld_k%u", STR_ARG(symbol_name(top)->str), (long long)k->place.card,
                  number);
    OpState state = {.name = opinfo_of_def(top->ctx, EMITHLS(FUNC))->name,
                     .loc = top->loc,
                     .attrs = function_attrs(s, k, strbuf_str(&name)),
                     .region_count = 1};
    strbuf_free(&name);
    k->func = op_create(top->ctx, &state);
    op_insert_before(k->func, top);
    symtab_insert(&s->symbols, k->func);
    Block *body = region_add_block(op_region(k->func, 0));
    for (size_t i = 0; i < k->args.len; i++) {
        Value *arg = block_add_arg(body, k->args.data[i]->type, top->loc);
        add_interface(s, k->args.data[i], arg);
        use_argument(s, number, k->args.data[i], arg);
    }
    add_dataflow(s, k, body);
}

static void move(Op *op, Block *to)
{
    op_unlink(op);
    op_append(op, to);
}

/* Streams inside of kernels, then their calls. */
static void fill_functions(Split *s)
{
    for (size_t i = 0; i < s->graph.edges.len; i++) {
        const SplitEdge *e = &s->graph.edges.data[i];
        if (e->stream->is_arg || !is_inside(s, e)) continue;
        const SplitKernel *k = &s->kernels.data[s->kernel_of[e->from]];
        move(value_def(e->stream), region_entry(op_region(k->func, 0)));
    }
    for (uint32_t p = 0; p < s->graph.processes.len; p++)
        move(s->graph.processes.data[p].call,
             region_entry(op_region(s->kernels.data[s->kernel_of[p]].func, 0)));
}

/* The system, in place of the top function, whose block it takes with the ports. */
static void create_system(Split *s)
{
    static const char *const kept[] = {
        "sym_name",          "function_type",     EMITHLS_ATTR_ARG_NAMES,
        DFG_ATTR_PORT_ATTRS, EMITHLS_ATTR_TIMING, EMITHLS_ATTR_SCHEDULE_CLOCK};
    Op *top = s->graph.top;
    const Attr *mode = op_attr(op_parent(top), SYS_ATTR_MODE);
    NamedAttr attrs[COUNT_OF(kept) + 1];
    uint32_t count = 0;
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        if (op_attr(top, kept[i]))
            attrs[count++] = build_named_attr(top->ctx, kept[i], op_attr(top, kept[i]));
    if (mode) attrs[count++] = build_named_attr(top->ctx, "mode", mode);
    OpState state = {.name = opinfo_of_def(top->ctx, SYS(SYSTEM))->name,
                     .loc = top->loc,
                     .attrs = attr_dict(top->ctx, attrs, count),
                     .region_count = 1};
    s->system = op_create(top->ctx, &state);
    op_insert_before(s->system, top);
}

/* The name of a card: that which the module has, else c0, c1 and so on. */
static void add_cards(const Split *s, Block *body)
{
    Context *ctx = s->system->ctx;
    const Op *module = op_parent(s->system);
    const Attr *cards = op_attr(module, SYS_ATTR_CARDS);
    const Attr *budget = op_attr(module, DFG_ATTR_BUDGET);
    const Attr *device = budget ? attr_dict_get_c(budget, DFG_BUDGET_DEVICE) : NULL;
    Builder b = builder_at_end(body, s->system->loc);
    int64_t count = cards ? (int64_t)cards->u.array.count : 1;
    for (size_t i = 0; !cards && i < s->kernels.len; i++)
        count = i64_max(count, s->kernels.data[i].place.card + 1);
    for (int64_t i = 0; i < count; i++) {
        StrBuf name = {0};
        strbuf_printf(&name, "c%lld", (long long)i);
        const Attr *card = cards ? cards->u.array.items[i] : NULL;
        const NamedAttr attrs[] = {build_named_attr(ctx, "name",
                                                    card ? attr_dict_get_c(card, SYS_CARD_NAME)
                                                         : attr_string(ctx, strbuf_str(&name))),
                                   build_named_attr(ctx, "device",
                                                    card ? attr_dict_get_c(card, SYS_CARD_DEVICE)
                                                    : device ? device
                                                             : attr_string_c(ctx, "unknown"))};
        build(&b, SYS(CARD), NULL, 0, NULL, 0, attrs, 2);
        strbuf_free(&name);
    }
}

/* A stream between kernels as it is, or as the link that it is marked as. */
static void add_stream(const Split *s, Op *stream, Block *body)
{
    Context *ctx = s->system->ctx;
    const Attr *link = op_attr(stream, SYS_ATTR_LINK);
    if (!link) {
        move(stream, body);
        return;
    }
    const NamedAttr attrs[] = {
        build_named_attr(ctx, "name", op_attr(stream, "name")),
        build_named_attr(ctx, DFG_ATTR_DEPTH, op_attr(stream, DFG_ATTR_DEPTH)),
        build_named_attr(ctx, EMITHLS_ATTR_LATENCY, attr_i64(ctx, emithls_latency(stream))),
        build_named_attr(ctx, SYS_ATTR_PACKET, attr_dict_get_c(link, SYS_ATTR_PACKET)),
        build_named_attr(ctx, SYS_ATTR_PROTOCOL, attr_dict_get_c(link, SYS_ATTR_PROTOCOL)),
    };
    static const char *const others[] = {SYS_ATTR_PACE, SYS_ATTR_PORTS};
    Builder b = builder_at_end(body, stream->loc);
    Op *op = build(&b, SYS(LINK), NULL, 0, &op_result(stream, 0)->type, 1, attrs, COUNT_OF(attrs));
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (attr_dict_get_c(link, others[i]))
            op_set_attr(op, others[i], attr_dict_get_c(link, others[i]));
    value_replace_all(op_result(stream, 0), op_result(op, 0));
}

static void add_kernel(const Split *s, const SplitKernel *k, Value *const *args, Block *body)
{
    Context *ctx = s->system->ctx;
    const Ident *callee = symbol_name(k->func);
    const NamedAttr attrs[] = {
        build_named_attr(ctx, "name", attr_string(ctx, callee->str)),
        build_named_attr(ctx, "callee", attr_symbol(ctx, callee)),
        build_named_attr(ctx, "place", sys_place_attr(ctx, k->place)),
    };
    Builder b = builder_at_end(body, k->func->loc);
    build(&b, SYS(KERNEL), args, (uint32_t)k->args.len, NULL, 0, attrs, COUNT_OF(attrs));
}

/* Cards, what joins kernels, and the kernels. Values of the top function in SplitKernel.args become those of the system. */
static void fill_system(Split *s)
{
    Block *from = region_entry(op_region(s->graph.top, 0));
    Block *body = region_add_block(op_region(s->system, 0));
    PtrMap values = {0};
    for (uint32_t i = 0; i < from->arg_count; i++)
        ptrmap_put(&values, from->args[i],
                   block_add_arg(body, from->args[i]->type, s->system->loc));
    add_cards(s, body);
    FOR_EACH_OP_SAFE(op, from) {
        if (op->def != EMITHLS(STREAM)) continue;
        Value *before = op_result(op, 0);
        add_stream(s, op, body);
        ptrmap_put(&values, before, op_result(body->last, 0));
    }
    for (size_t i = 0; i < s->kernels.len; i++) {
        const SplitKernel *k = &s->kernels.data[i];
        Value **args = xcalloc(k->args.len + 1, sizeof *args);
        for (size_t a = 0; a < k->args.len; a++) args[a] = ptrmap_get(&values, k->args.data[a]);
        add_kernel(s, k, args, body);
        free(args);
    }
    ptrmap_free(&values);
}

/* Whether all processes have a place, or none has. */
static bool check_places(const SplitGraph *graph)
{
    for (size_t i = 1; i < graph->processes.len; i++)
        if (graph->processes.data[i].has_place != graph->processes.data[0].has_place)
            return op_error(graph->processes.data[i].call,
                            "calls a process that has %s place, unlike the first one",
                            graph->processes.data[i].has_place ? "a" : "no");
    return graph->processes.len > 0 || op_error(graph->top, "has no process to make a kernel of");
}

/* Where a memory is cannot be guessed. */
static bool check_memories(const Op *top)
{
    const Block *body = region_entry(op_region(top, 0));
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (type_is_a(body->args[i]->type, &emithls_type_array) &&
            !find_interface(top, body->args[i]))
            return op_error(top, "has a memory as argument #%u, and no interface for it", i);
    return true;
}

/* Whether what joins two cards says what link it is (connect-cards), and nothing else does. */
static bool check_links(const SplitGraph *graph)
{
    for (size_t i = 0; i < graph->edges.len; i++) {
        const SplitEdge *e = &graph->edges.data[i];
        if (e->from == SPLIT_NOBODY || e->to == SPLIT_NOBODY) continue;
        const Op *stream = value_def(e->stream);
        int64_t from = graph->processes.data[e->from].place.card;
        int64_t to = graph->processes.data[e->to].place.card;
        const Attr *link = op_attr(stream, SYS_ATTR_LINK);
        if ((from == to) != !link)
            return op_error(stream, "joins cards %lld and %lld, but has %s " SYS_ATTR_LINK,
                            (long long)from, (long long)to, from == to ? "a" : "no");
        if (str_eq_c(sys_protocol(stream), "either"))
            return op_error(stream, "needs a protocol, which bound-links chooses");
    }
    return true;
}

static void split(Split *s)
{
    FOR_EACH_OP(op, region_entry(op_region(s->graph.top, 0)))
        if (op->def == EMITHLS(DATAFLOW)) s->dataflow = op;
    find_kernels(s);
    collect_args(s);
    for (uint32_t i = 0; i < s->kernels.len; i++) create_function(s, i);
    create_system(s);
    fill_functions(s);
    fill_system(s);
    op_erase(s->graph.top);
}

static bool split_region(Pass *pass, Op *module)
{
    Op *top = emithls_top(module);
    Split s = {.system = NULL};
    (void)pass;
    if (!top) return op_emit_error(module, "there is no top function to split");
    int64_t mhz = design_clock_mhz(module);
    HlsDesign *design = design_create(module, clock_of_module(module, mhz));
    s.design = design;
    bool ok = design && split_graph(top, &s.graph) && check_places(&s.graph) &&
              check_links(&s.graph) && check_memories(top);
    if (ok) {
        symtab_init(&s.symbols, module);
        split(&s);
        symtab_free(&s.symbols);
    }
    for (size_t i = 0; i < s.kernels.len; i++) vec_free(&s.kernels.data[i].args);
    vec_free(&s.kernels);
    free(s.kernel_of);
    split_graph_free(&s.graph);
    design_free(design);
    return ok;
}

static void number_processes(Split *s)
{
    find_kernels(s);
    for (uint32_t i = 0; i < s->graph.processes.len; i++)
        op_set_attr(s->graph.processes.data[i].func, SYS_ATTR_CHAIN,
                    attr_i64(s->graph.top->ctx, s->kernel_of[i]));
}

static bool chain_kernels(Pass *pass, Op *module)
{
    Op *top = emithls_top(module);
    Split s = {.system = NULL};
    (void)pass;
    if (!top) return op_emit_error(module, "there is no top function with kernels");
    bool ok = split_graph(top, &s.graph) && check_places(&s.graph);
    if (ok) number_processes(&s);
    vec_free(&s.kernels);
    free(s.kernel_of);
    split_graph_free(&s.graph);
    return ok;
}

/* Ports of weights change no kernel, since kernels are counted along the data. */
const PassDef pass_chain_kernels = {
    .name = "chain-kernels",
    .summary = "Say of each process which kernel it will be in, for a chain of weights in each",
    .anchor = "builtin.module",
    .run = chain_kernels,
};

const PassDef pass_split_region = {
    .name = "split-region",
    .summary = "Make a kernel of what stands on a die, and join kernels by a sys.system",
    .anchor = "builtin.module",
    .run = split_region,
};
