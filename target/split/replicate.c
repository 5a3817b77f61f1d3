/* Makes the instances of a tile: one design with the ports, streams and processes of each, which
 * nothing joins. So whatever sizes FIFOs, proves, emits, simulates and reports has all of them.
 * The first one keeps its names, those of instance 2 end in _i2; functions are those of one call each.
 * What is made says which instance it belongs to, and a port which one of the first instance it is as
 * (SYS_ATTR_INSTANCE).
 * Tests: lit/target/split/place-tiles.mir, test/e2e/card_tiles_check.py */
#include <stdlib.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "ir/asm/print/print.h"
#include "target/split/internal.h"

typedef struct Replicas {
    SplitPlan *plan;
    SymbolTable symbols;
    PtrMap names;   /* identifiers of the top function's streams and ports */
    VEC(Op *) ops;  /* of the first instance, in the top function */
    Op *call;       /* its first call */
    uint32_t ports; /* of the first instance */
} Replicas;

/* A name with the number of its instance, from 1, that nothing in the top function has. */
static const Ident *fresh_name(Replicas *r, Str name, int64_t instance)
{
    StrBuf text = {0};
    const Ident *found;
    strbuf_printf(&text, "%.*s_i%lld", STR_ARG(name), (long long)instance + 1);
    while (ptrmap_has(&r->names, found = ident_get(r->plan->module->ctx, strbuf_str(&text))))
        strbuf_add_char(&text, '_');
    strbuf_free(&text);
    ptrmap_put(&r->names, found, r->plan->module);
    return found;
}

static void note_name(Replicas *r, const Attr *name)
{
    ptrmap_put(&r->names, ident_get(r->plan->module->ctx, name->u.string), r->plan->module);
}

static void note_names(Replicas *r)
{
    const Op *top = r->plan->graph.top;
    const Attr *names = op_attr(top, EMITHLS_ATTR_ARG_NAMES);
    for (uint32_t i = 0; i < names->u.array.count; i++) note_name(r, names->u.array.items[i]);
    FOR_EACH_OP(op, region_entry(op_region(top, 0)))
        if (op->def == EMITHLS(STREAM)) note_name(r, op_attr(op, "name"));
}

/* What describes a port of another instance. */
static const Attr *port_of(Context *ctx, const Attr *first, int64_t instance, uint32_t port)
{
    VEC(NamedAttr) items = {0};
    const int64_t numbers[] = {instance, port};
    for (uint32_t i = 0; i < first->u.dict.count; i++) *vec_push(&items) = first->u.dict.items[i];
    *vec_push(&items) = build_named_attr(
        ctx, SYS_ATTR_INSTANCE, attr_dense_array(type_i(ctx, 64), numbers, COUNT_OF(numbers)));
    const Attr *all = attr_dict(ctx, items.data, (uint32_t)items.len);
    vec_free(&items);
    return all;
}

/* Ports of all instances, one instance after the other. values: of instance n in [n]. */
static void add_ports(Replicas *r, PtrMap *values)
{
    Op *top = r->plan->graph.top;
    Context *ctx = top->ctx;
    Block *body = region_entry(op_region(top, 0));
    const Attr *ports = op_attr(top, DFG_ATTR_PORT_ATTRS),
               *names = op_attr(top, EMITHLS_ATTR_ARG_NAMES);
    VEC(const Type *) types = {0};
    VEC(const Attr *) own_names = {0}, described = {0};
    for (int64_t n = 0; n < r->plan->instances; n++)
        for (uint32_t i = 0; i < r->ports; i++) {
            const Attr *name = names->u.array.items[i];
            const Attr *port = ports ? ports->u.array.items[i] : attr_dict(ctx, NULL, 0);
            *vec_push(&types) = body->args[i]->type;
            *vec_push(&own_names) =
                n == 0 ? name : attr_string(ctx, fresh_name(r, name->u.string, n)->str);
            *vec_push(&described) = n == 0 ? port : port_of(ctx, port, n, i);
            if (n > 0)
                ptrmap_put(&values[n], body->args[i],
                           block_add_arg(body, body->args[i]->type, top->loc));
        }
    const uint32_t count = (uint32_t)types.len;
    op_set_attr(top, "function_type", attr_type(type_function(ctx, types.data, count, NULL, 0)));
    op_set_attr(top, EMITHLS_ATTR_ARG_NAMES, attr_array(ctx, own_names.data, count));
    op_set_attr(top, DFG_ATTR_PORT_ATTRS, attr_array(ctx, described.data, count));
    vec_free(&types);
    vec_free(&own_names);
    vec_free(&described);
}

/* A table is loaded where one process has it only. */
static void clone_tables(Replicas *r, Op *process)
{
    OpVec inner = {0};
    op_collect(process, &inner);
    for (size_t i = 0; i < inner.len; i++) {
        Op *get = inner.data[i];
        if (get->def != EMITHLS(GET)) continue;
        Op *table = symbol_lookup(get, op_attr(get, EMITHLS_ATTR_TABLE));
        Op *copy = op_clone(table, NULL);
        op_insert_after(copy, table);
        op_set_attr(get, EMITHLS_ATTR_TABLE,
                    attr_symbol(get->ctx, symtab_insert(&r->symbols, copy)));
    }
    vec_free(&inner);
}

static const Attr *clone_process(Replicas *r, Op *func, int64_t instance)
{
    Op *copy = op_clone(func, NULL);
    StrBuf name = {0};
    strbuf_printf(&name, "%.*s_i%lld", STR_ARG(symbol_name(func)->str), (long long)instance + 1);
    op_set_attr(copy, "sym_name", attr_string(func->ctx, strbuf_str(&name)));
    strbuf_free(&name);
    op_set_attr(copy, SYS_ATTR_INSTANCE, attr_i64(func->ctx, instance));
    op_insert_before(copy, r->plan->graph.top);
    if (r->plan->has_own_tables) clone_tables(r, copy);
    return attr_symbol(func->ctx, symtab_insert(&r->symbols, copy));
}

/* Streams, calls and what is said of ports. */
static void clone_body(Replicas *r, PtrMap *values, int64_t instance)
{
    Op *top = r->plan->graph.top;
    Block *body = region_entry(op_region(top, 0));
    for (size_t i = 0; i < r->ops.len; i++) {
        const Op *op = r->ops.data[i];
        Op *copy = op_clone(op, values);
        if (op->def == EMITHLS(STREAM))
            op_set_attr(
                copy, "name",
                attr_string(top->ctx, fresh_name(r, op_attr(op, "name")->u.string, instance)->str));
        if (op->def == EMITHLS(CALL))
            op_set_attr(copy, "callee",
                        clone_process(r, symbol_lookup(op, op_attr(op, "callee")), instance));
        if (op->def == EMITHLS(CALL))
            op_append(copy, body);
        else
            op_insert_before(copy, r->call); /* in front of all calls */
    }
}

/* A process that several calls share has one place only, so each call gets a function of its own. */
static void separate_calls(Replicas *r)
{
    PtrMap seen = {0};
    for (size_t i = 0; i < r->plan->graph.processes.len; i++) {
        SplitProcess *p = &r->plan->graph.processes.data[i];
        if (ptrmap_has(&seen, p->func)) {
            Op *copy = op_clone(p->func, NULL);
            op_insert_after(copy, p->func);
            op_set_attr(p->call, "callee",
                        attr_symbol(copy->ctx, symtab_insert(&r->symbols, copy)));
            if (r->plan->has_own_tables) clone_tables(r, copy);
            p->func = copy;
        }
        ptrmap_put(&seen, p->func, p->func);
    }
    ptrmap_free(&seen);
}

/* All calls of the top function in the order of instances. */
static void set_places(const SplitPlan *plan)
{
    int64_t number = 0;
    FOR_EACH_OP(op, region_entry(op_region(plan->graph.top, 0))) {
        if (op->def != EMITHLS(CALL)) continue;
        op_set_attr(symbol_lookup(op, op_attr(op, "callee")), SYS_ATTR_PLACE,
                    sys_place_attr(op->ctx, plan->places[number++]));
    }
}

/* The limits of one instance become those of all. */
static void raise_budget(const SplitPlan *plan)
{
    const Attr *budget = op_attr(plan->module, DFG_ATTR_BUDGET);
    VEC(NamedAttr) items = {0};
    if (!budget) return;
    for (uint32_t i = 0; i < budget->u.dict.count; i++) {
        NamedAttr item = budget->u.dict.items[i];
        for (CostKind k = 0; k < COST_KINDS; k++)
            if (str_eq_c(item.name->str, cost_names[k].key))
                item.value =
                    attr_i64(plan->module->ctx, attr_int_value(item.value) * plan->instances);
        *vec_push(&items) = item;
    }
    op_set_attr(plan->module, DFG_ATTR_BUDGET,
                attr_dict(plan->module->ctx, items.data, (uint32_t)items.len));
    vec_free(&items);
}

bool split_replicate(SplitPlan *plan)
{
    Block *body = region_entry(op_region(plan->graph.top, 0));
    Replicas r = {.plan = plan, .ports = body->arg_count};
    symtab_init(&r.symbols, plan->module);
    separate_calls(&r);
    if (plan->instances > 1) {
        r.call = plan->graph.processes.data[0].call;
        PtrMap *values = xcalloc((size_t)plan->instances, sizeof *values);
        FOR_EACH_OP(op, body)
            if (op->def != EMITHLS(DATAFLOW)) *vec_push(&r.ops) = op;
        note_names(&r);
        add_ports(&r, values);
        for (int64_t n = 1; n < plan->instances; n++) clone_body(&r, &values[n], n);
        for (int64_t n = 1; n < plan->instances; n++) ptrmap_free(&values[n]);
        free(values);
        ptrmap_free(&r.names);
        vec_free(&r.ops);
        raise_budget(plan);
    }
    symtab_free(&r.symbols);
    set_places(plan);
    return true;
}
