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
    uint64_t pitch = map->pitch * BEAT_BITS / sa_stored_bits(plan->size.act_bits);
    uint64_t row = (uint64_t)sa_map_dims(map->value)[1] * map->words * plan->size.cols;
    if (map->is_spilled && pitch != row)
        op_set_attr(port, SA_ATTR_PITCH, attr_i64(ctx, (int64_t)pitch));
    op_set_attr(port, SA_ATTR_TYPE, op_attr(op, SA_ATTR_TYPE));
    op_set_attr(port, SA_ATTR_FRAMES, op_attr(op, SA_ATTR_FRAMES));
    op_set_attr(port, SA_ATTR_PORT, op_attr(op, SA_ATTR_PORT));
    op_set_attr(port, SA_ATTR_FOLD, op_attr(op, SA_ATTR_FOLD));
    op_set_attr(port, SA_ATTR_OFFSET, op_attr(op, SA_ATTR_OFFSET));
    if (map->lanes.groups > 1)
        op_set_attr(port, SA_ATTR_GROUPS, attr_i64(ctx, (int64_t)map->lanes.groups));
}

/* A map that is always the same, as a port's would lie there. */
static void add_constant(Builder *b, const Plan *plan, const Map *map, const Attr *value)
{
    Bytes bytes = {0};
    Builder at = *b;
    at.loc = map->input->loc;
    to_program_add_map_bytes(plan, map, value, &bytes);
    add_image(&at, SA_BANK_MAPS, map->address, &bytes);
    vec_free(&bytes);
}

/* Inputs in their order, then outputs in theirs. */
static void add_ports(Builder *b, const Plan *plan)
{
    FOR_EACH_OP(op, region_entry(op_region(plan->network, 0)))
        for (size_t i = 0; i < plan->maps.len; i++) {
            const Map *map = &plan->maps.data[i];
            if (map->input != op && map->output != op) continue;
            const Attr *value = map->input ? op_attr(map->input, "value") : NULL;
            if (value)
                add_constant(b, plan, map, value);
            else
                add_port(b, plan, map);
        }
}

static void set_numbers(Op *op, const char *name, const int64_t *values, size_t count)
{
    const Type *type = type_i(op->ctx, 64);
    op_set_attr(op, name, attr_dense_array(type, values, count));
}

/* What the compiler chooses, as attributes that it takes. */
static void note_schedule(const Layer *layer)
{
    char order[DIMS + 1] = {0};
    int64_t tile[DIMS];
    Op *op = (Op *)(uintptr_t)layer->op;
    for (int d = 0; d < DIMS; d++) {
        tile[d] = layer->schedule.tile[d];
        order[d] = DIM_LETTERS[layer->schedule.order[d]];
    }
    const int64_t cycles[] = {(int64_t)layer->prediction.cycles, (int64_t)layer->prediction.alone,
                              (int64_t)layer->prediction.bytes};
    set_numbers(op, SA_ATTR_TILE, tile, DIMS);
    op_set_attr(op, SA_ATTR_ORDER, attr_string(op->ctx, str_from(order)));
    set_numbers(op, SA_ATTR_CYCLES, cycles, COUNT_OF(cycles));
}

static bool choose(Op *network, const Memory *memory)
{
    Plan plan;
    bool ok = to_program_plan_layers(&plan, network, memory);
    for (size_t i = 0; ok && i < plan.layers.len; i++) note_schedule(&plan.layers.data[i]);
    for (size_t i = 0; ok && i < plan.maps.len; i++)
        if (plan.maps.data[i].is_spilled)
            op_set_attr(value_def(plan.maps.data[i].value), SA_ATTR_SPILL, attr_unit(network->ctx));
    to_program_plan_free(&plan);
    return ok;
}

static bool lower(Op *network, const Memory *memory)
{
    Plan plan;
    bool ok = to_program_plan(&plan, network, memory);
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

static Memory read_memory(const Pass *pass)
{
    return (Memory){.rate = (uint64_t)pass_int(pass, "rate"),
                    .latency = (uint64_t)pass_int(pass, "latency"),
                    .restart = (uint64_t)pass_int(pass, "restart"),
                    .parts = (uint32_t)pass_int(pass, "parts")};
}

static bool run_on_network(Pass *pass, Op *module, bool (*run)(Op *, const Memory *))
{
    Op *found = NULL;
    FOR_EACH_INNER(op, module) {
        if (op->def != SA(NETWORK)) continue;
        if (found) return op_error(op, "is the second network of the module, which takes one");
        found = op;
    }
    pass->unchanged = !found;
    const Memory memory = read_memory(pass);
    return !found || run(found, &memory);
}

static bool run_lower(Pass *pass, Op *module)
{
    return run_on_network(pass, module, lower);
}

static bool run_choose(Pass *pass, Op *module)
{
    return run_on_network(pass, module, choose);
}

/* As `ming engine` has them by default. */
static const OptionDef options[] = {
    {"rate", OPTION_INT, "64000", "bytes that a bank moves in 1,000 cycles", 1, 1000000000, NULL},
    {"latency", OPTION_INT, "64", "cycles up to the first beat", 0, 1000000000, NULL},
    {"restart", OPTION_INT, "4", "cycles for each further run", 0, 1000000000, NULL},
    {"parts", OPTION_INT, "8", "in which the first layer's input comes", 1, 64, NULL},
    {0},
};

const PassDef pass_lower_sa_network = {
    .name = "lower-sa-network",
    .summary = "Make programs of an overlay from networks of the sa dialect",
    .description =
        "Layers are cut into tiles, and loops over these put in an order, as choose-sa-tiles does "
        "where no attributes say so. A tile's weights, and parts of maps that lie outside, are "
        "loaded while the tile before runs. Weights and parameters become images of banks 1 and 2, "
        "inputs and outputs ports in bank 0.",
    .anchor = "builtin.module",
    .options = options,
    .run = run_lower,
};

const PassDef pass_choose_sa_tiles = {
    .name = "choose-sa-tiles",
    .summary = "Choose tiles and the order of loops for the layers of a network",
    .description =
        "Of all sizes of tiles and orders of the loops over them that array, buffers and pages "
        "hold, "
        "those with the least cycles of the model, then the fewest bytes: sa.tile, sa.order. "
        "sa.cycles has the cycles with what the first tile needs on the chip, those of the layer "
        "alone, and the bytes. Maps that find no room on the chip get sa.spill.",
    .anchor = "builtin.module",
    .options = options,
    .run = run_choose,
};
