/* lower-sa-network.
 *
 * Requires: verified IR.  Changes: each sa.network becomes a sa.program of its name, with the images
 * of external memory and the ports beside it. A module has one network at most.
 * Tests: lit/lowering/network_to_program, test/e2e/engine_check.py */
#include "ir/asm/print/print.h"
#include "lowering/network_to_program/internal.h"

static NamedAttr number(Context *ctx, const char *name, int64_t value)
{
    return build_named_attr(ctx, name, attr_i64(ctx, value));
}

static void add_image(Builder *b, int64_t bank, uint64_t address, const Bytes *bytes)
{
    Context *ctx = b->ctx;
    if (bytes->len == 0) return;
    int64_t dim = (int64_t)bytes->len;
    const Type *type = type_tensor(type_i(ctx, 8), &dim, 1, NULL);
    NamedAttr attrs[] = {
        number(ctx, SA_ATTR_BANK, bank), number(ctx, "address", (int64_t)address),
        build_named_attr(ctx, "value", attr_dense_raw(type, bytes->data, bytes->len, false))};
    build(b, SA(IMAGE), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
}

static void add_port(Builder *b, const Plan *plan, const Map *map)
{
    enum { INPUT, OUTPUT };
    Context *ctx = b->ctx;
    const Op *op = map->input ? map->input : map->output;
    NamedAttr attrs[] = {number(ctx, "direction", map->input ? INPUT : OUTPUT),
                         build_named_attr(ctx, "name", op_attr(op, "name")),
                         number(ctx, SA_ATTR_BANK, SA_BANK_MAPS),
                         number(ctx, "address", (int64_t)map->address),
                         number(ctx, "lanes", (int64_t)map->words * plan->size.cols),
                         build_named_attr(ctx, "map", attr_type(map->value->type))};
    Builder at = *b;
    at.loc = op->loc;
    Op *port = build(&at, SA(PORT), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
    op_set_attr(port, SA_ATTR_TYPE, op_attr(op, SA_ATTR_TYPE));
    op_set_attr(port, SA_ATTR_PORT, op_attr(op, SA_ATTR_PORT));
    op_set_attr(port, SA_ATTR_FOLD, op_attr(op, SA_ATTR_FOLD));
    if (map->lanes.groups > 1)
        op_set_attr(port, SA_ATTR_GROUPS, attr_i64(ctx, (int64_t)map->lanes.groups));
}

/* Inputs in their order, then outputs in theirs. */
static void add_ports(Builder *b, const Plan *plan)
{
    FOR_EACH_OP(op, region_entry(op_region(plan->network, 0)))
        for (size_t i = 0; i < plan->maps.len; i++)
            if (plan->maps.data[i].input == op || plan->maps.data[i].output == op)
                add_port(b, plan, &plan->maps.data[i]);
}

static bool lower(Op *network)
{
    Plan plan;
    bool ok = to_program_plan(&plan, network);
    if (ok) {
        Builder b = builder_before(network);
        NamedAttr attrs[] = {
            build_named_attr(b.ctx, "sym_name", op_attr(network, "sym_name")),
            build_named_attr(b.ctx, SA_ATTR_OVERLAY, op_attr(network, SA_ATTR_OVERLAY))};
        add_ports(&b, &plan);
        add_image(&b, SA_BANK_MAPS, plan.zero_address, &plan.zeros);
        add_image(&b, SA_BANK_WEIGHTS, 0, &plan.weights);
        add_image(&b, SA_BANK_PARAMETERS, 0, &plan.parameters);
        Op *program = build(&b, SA(PROGRAM), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
        Builder body = builder_at_end(region_add_block(op_region(program, 0)), network->loc);
        ok = to_program_write(&plan, &body);
    }
    to_program_plan_free(&plan);
    if (ok) op_erase(network);
    return ok;
}

static bool run_lower(Pass *pass, Op *module)
{
    Op *found = NULL;
    FOR_EACH_INNER(op, module) {
        if (op->def != SA(NETWORK)) continue;
        if (found) return op_error(op, "is the second network of the module, which takes one");
        found = op;
    }
    pass->unchanged = !found;
    return !found || lower(found);
}

const PassDef pass_lower_sa_network = {
    .name = "lower-sa-network",
    .summary = "Make programs of an overlay from networks of the sa dialect",
    .description =
        "Maps stay on the chip, in pages by first fit; layers are cut into tiles of channels that "
        "halves of the buffers hold, whose weights are loaded while the tile before runs. Weights "
        "and parameters become images of banks 1 and 2, inputs and outputs ports in bank 0. What "
        "does not fit the overlay is refused: maps are not spilled yet, nor cut into rows.",
    .anchor = "builtin.module",
    .run = run_lower,
};
