/* The graph of a loop's iteration: the body is walked as it would run, the copies of an unrolled
 * loop one after the other, both sides of an if. What an if does becomes a choice, what it reads and
 * writes gets its condition.
 * Tests: lit/lowering/emithls_to_rtl */
#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "lowering/emithls_to_rtl/internal.h"

static NodeId *define(BodyBuilder *b, const Value *value)
{
    uint32_t lanes = (uint32_t)emithls_lanes(value->type);
    ptrmap_put(&b->values, value, (void *)(uintptr_t)(b->scalars.len + 1));
    for (uint32_t i = 0; i < lanes; i++) *vec_push(&b->scalars) = NO_NODE;
    return &b->scalars.data[b->scalars.len - lanes];
}

static const NodeId *find(const BodyBuilder *b, const Value *value)
{
    size_t at = (uintptr_t)ptrmap_get(&b->values, value);
    return at ? &b->scalars.data[at - 1] : NULL;
}

static const struct {
    uint32_t op;
    NodeKind kind;
} binary_kinds[] = {
    {ARITH_SUBI, NODE_SUB},   {ARITH_MULI, NODE_MUL},   {ARITH_ANDI, NODE_AND},
    {ARITH_ORI, NODE_OR},     {ARITH_XORI, NODE_XOR},   {ARITH_MAXSI, NODE_MAXS},
    {ARITH_MAXUI, NODE_MAXU}, {ARITH_MINSI, NODE_MINS}, {ARITH_MINUI, NODE_MINU},
    {ARITH_SHLI, NODE_SHL},   {ARITH_SHRUI, NODE_SHRU}, {ARITH_SHRSI, NODE_SHRS},
};

/* Whether the op adds to an element in a loop that keeps its order. */
static bool is_in_cascade(const Op *op)
{
    const Op *loop = op_parent_of_def(op, EMITHLS(FOR));
    const Value *other = NULL;
    if (!loop || !op_attr(loop, EMITHLS_ATTR_ORDERED)) return false;
    FOR_EACH_USE(use, op_result(op, 0))
        if (use->owner->def == EMITHLS(STORE) && design_accumulated(use->owner, &other) == op)
            return true;
    return false;
}

/* One scalar of an op's result. NO_NODE: it has no hardware. */
static NodeId build_scalar(BodyBuilder *b, const Op *op, const NodeId *x, uint32_t width)
{
    Graph *g = b->g;
    if (op->def == ARITH(EXTSI) || op->def == ARITH(INDEX_CAST) || op->def == ARITH(TRUNCI))
        return to_rtl_extend(g, x[0], width, true);
    if (op->def == ARITH(EXTUI) || op->def == ARITH(INDEX_CASTUI))
        return to_rtl_extend(g, x[0], width, false);
    if (op->def == ARITH(DIVUI) || op->def == ARITH(REMUI))
        return to_rtl_divide(g, x[0], x[1], op->def == ARITH(REMUI));
    if (op->def == ARITH(ADDI)) return to_rtl_sum(g, x[0], x[1]);
    if (op->def == ARITH(SELECT)) return to_rtl_mux(g, x[0], x[1], x[2]);
    if (op->def == ARITH(CMPI))
        return to_rtl_binary(g, NODE_CMP, 1, x[0], x[1], attr_int_value(op_attr(op, "predicate")));
    for (size_t i = 0; i < COUNT_OF(binary_kinds); i++)
        if (op->def == &arith_ops[binary_kinds[i].op])
            return to_rtl_binary(g, binary_kinds[i].kind, width, x[0], x[1], 0);
    return NO_NODE;
}

static bool check_type(const Op *op, const Type *type)
{
    type = type_elem(type);
    bool is_hardware =
        type->kind == TYPE_INDEX || (type_is_integer(type) && type_width(type) <= 64);
    return is_hardware || op_error(op, "cannot become hardware: it has values of type '%s'",
                                   type_str(op->ctx, type));
}

/* Values come from an op of the iteration, which its operand's is not. */
static bool refuse_unknown(const Op *op, uint32_t operand)
{
    return op_error(op, "cannot become hardware: operand %u is unknown", operand);
}

/* What an op comes to, in the op's cycle. */
static void place(BodyBuilder *b, NodeId node, NodeId first_new, const Op *op)
{
    const HlsDesign *design = b->process->design;
    to_rtl_set_timing(b->g, node, first_new, op, latency_op(op, design->clock));
    to_rtl_set_cycle(b->g, node, first_new, design_cycle_of(design, op), !b->is_repeated);
}

static bool build_op_copy(BodyBuilder *b, const Op *op)
{
    enum { MOST_OPERANDS = 3 };
    NodeId x[MOST_OPERANDS];
    if (!op->def || op->result_count != 1 || op->operand_count == 0 ||
        op->operand_count > MOST_OPERANDS)
        return op_error(op, "cannot become hardware");
    if (!check_type(op, op_result(op, 0)->type) || !check_type(op, op_operand(op, 0)->type))
        return false;
    uint32_t lanes = (uint32_t)emithls_lanes(op_result(op, 0)->type);
    size_t first = (size_t)(define(b, op_result(op, 0)) - b->scalars.data);
    uint32_t width = type_width(type_elem(op_result(op, 0)->type));
    for (uint32_t lane = 0; lane < lanes; lane++) {
        for (uint32_t i = 0; i < op->operand_count; i++) {
            const NodeId *from = find(b, op_operand(op, i));
            if (!from) return refuse_unknown(op, i);
            x[i] = from[emithls_lanes(op_operand(op, i)->type) == 1 ? 0 : lane];
        }
        NodeId new = (NodeId)b->g->nodes.len, node = build_scalar(b, op, x, width);
        if (node == NO_NODE) return op_error(op, "cannot become hardware");
        b->scalars.data[first + lane] = node;
        place(b, node, new, op);
        b->g->nodes.data[node].is_ordered |= is_in_cascade(op);
    }
    return true;
}

static bool build_constant_copy(BodyBuilder *b, const Op *op)
{
    const Attr *value = op_attr(op, "value");
    const Type *type = op_result(op, 0)->type;
    if (!check_type(op, type)) return false;
    if (value->kind == ATTR_DENSE) {
        NodeId *out = define(b, op_result(op, 0));
        for (int64_t i = 0; i < emithls_lanes(type); i++)
            out[i] = to_rtl_const(b->g, type_width(type_elem(type)), dense_i64(value, i));
        return true;
    }
    *define(b, op_result(op, 0)) = to_rtl_const(b->g, type_width(type), attr_int_value(value));
    return true;
}

/* What other conditions have made of a condition comes no later than it. */
static void bring_forward(Graph *g, NodeId id, int64_t time)
{
    Node *n = &g->nodes.data[id];
    n->not_before = i64_min(n->not_before, time);
    for (uint32_t i = 0; n->kind == NODE_AND && i < n->count; i++)
        bring_forward(g, to_rtl_in(g, id, i), time);
}

/* A condition is logic of the counters, which other conditions may share: it is made when the
 * iteration begins, and its time is that of its op, or of the first op that shares it. */
static bool build_condition(BodyBuilder *b, const Op *op, NodeId *out)
{
    const HlsDesign *design = b->process->design;
    NodeId first_new = (NodeId)b->g->nodes.len;
    if (!to_rtl_condition(b, op, out)) return false;
    if (*out == NO_NODE) return true;
    Node *n = &b->g->nodes.data[*out];
    OpTiming timing = latency_op(op, design->clock);
    int64_t time = clock_put_off(design->clock, clock_after(design->clock, 0, timing), timing,
                                 design_cycle_of(design, op));
    if (*out >= first_new) n->not_before = time;
    bring_forward(b->g, *out, time);
    return true;
}

static bool build_range(BodyBuilder *b, const Op *first, const Op *end);

static bool build_if(BodyBuilder *b, const Op *op)
{
    NodeId where = NO_NODE, outside = b->where;
    int64_t value = 1;
    if (!build_condition(b, op, &where)) return false;
    if (where != NO_NODE && to_rtl_is_const(b->g, where, &value) && !value) return true;
    b->where = to_rtl_and(b->g, outside, where);
    bool ok = build_range(b, region_entry(op_region(op, 0))->first, NULL);
    b->where = outside;
    return ok;
}

static bool build_copies(BodyBuilder *b, const Op *op)
{
    int64_t begin, end;
    bool outer = b->is_repeated, ok = true;
    emithls_for_range(op, &begin, &end);
    for (int64_t position = begin; ok && position < end; position++) {
        design_bind_lanes(op, position, &b->lanes);
        b->is_repeated = outer || position > begin;
        ok = build_range(b, region_entry(op_region(op, 0))->first, NULL);
    }
    b->is_repeated = outer;
    return ok;
}

/* The next of the loop's accesses, which sim/design has found in the same order. */
static bool build_transfer(BodyBuilder *b, const Op *op)
{
    Graph *g = b->g;
    bool is_write = op->def == EMITHLS(WRITE);
    const Value *word = is_write ? op_operand(op, 0) : op_result(op, 0);
    uint32_t lanes = (uint32_t)emithls_lanes(word->type), width = type_width(type_elem(word->type));
    if (!check_type(op, word->type)) return false;
    if (b->access >= b->loop->accesses.len || b->loop->accesses.data[b->access].op != op)
        return op_error(op, "cannot become hardware: it happens in no iteration");
    const HlsAccess *access = &b->loop->accesses.data[b->access];
    Transfer t = {
        .port = access->port, .is_write = is_write, .where = b->where, .stage = access->offset};
    if (is_write) {
        const NodeId *parts = find(b, word);
        if (!parts) return refuse_unknown(op, 0);
        t.word = to_rtl_concat(g, parts, lanes);
    } else {
        t.word = to_rtl_leaf(g, NODE_READ, lanes * width, (int64_t)b->access);
        NodeId *out = define(b, word);
        for (uint32_t i = 0; i < lanes; i++) out[i] = to_rtl_extract(g, t.word, i * width, width);
    }
    b->access++;
    *vec_push(&g->transfers) = t;
    return true;
}

static bool build_number(BodyBuilder *b, const Op *op)
{
    const AffineExpr *expr = to_rtl_over_counters(b, op, 0, op_attr(op, "map")->u.map->results[0]);
    if (!expr) return to_rtl_refuse_index(op);
    Number n = to_rtl_number(b, expr);
    *define(b, op_result(op, 0)) = to_rtl_extend(b->g, n.node, 64, n.low < 0);
    return true;
}

/* The number of bits set among x[0 .. count - 1], in as many bits as it takes: halves are counted and
 * added. */
static NodeId count_bits(Graph *g, const NodeId *x, int64_t count)
{
    if (count == 1) return x[0];
    int64_t low = count <= POPCOUNT_LEAF ? 1 : sched_popcount_low_half(count);
    uint32_t width = (uint32_t)sched_popcount_bits(count);
    NodeId left = to_rtl_extend(g, count_bits(g, x, low), width, false),
           right = to_rtl_extend(g, count_bits(g, x + low, count - low), width, false);
    return to_rtl_sum(g, left, right);
}

static bool build_popcount(BodyBuilder *b, const Op *op)
{
    const Value *bits = op_operand(op, 0);
    uint32_t width = type_width(op_result(op, 0)->type);
    if (!check_type(op, op_result(op, 0)->type)) return false;
    const NodeId *x = find(b, bits);
    if (!x) return refuse_unknown(op, 0);
    NodeId new = (NodeId)b->g->nodes.len;
    NodeId count = count_bits(b->g, x, emithls_lanes(bits->type));
    place(b, count, new, op);
    *define(b, op_result(op, 0)) = to_rtl_extend(b->g, count, width, false);
    return true;
}

static bool build_load(BodyBuilder *b, const Op *op)
{
    size_t first = (size_t)(define(b, op_result(op, 0)) - b->scalars.data);
    uint32_t lanes = (uint32_t)emithls_lanes(op_result(op, 0)->type);
    NodeId *out = xcalloc(lanes, sizeof *out);
    bool ok = to_rtl_load(b, op, out);
    for (uint32_t i = 0; i < lanes; i++) b->scalars.data[first + i] = out[i];
    free_ptr((void **)&out);
    return ok;
}

static bool build_store(BodyBuilder *b, const Op *op)
{
    const NodeId *word = find(b, op_operand(op, 0));
    return word ? to_rtl_store(b, op, word) : refuse_unknown(op, 0);
}

static bool is_pragma(const Op *op)
{
    static const uint32_t ids[] = {EMITHLS_GET, EMITHLS_ARRAY_PARTITION, EMITHLS_ARRAY_RESHAPE,
                                   EMITHLS_BIND_STORAGE, EMITHLS_DEPENDENCE};
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        if (op->def == &emithls_ops[ids[i]]) return true;
    return false;
}

static bool build_one(BodyBuilder *b, const Op *op)
{
    if (op->def == EMITHLS(FOR)) return build_copies(b, op);
    if (op->def == EMITHLS(IF)) return build_if(b, op);
    if (op->def == EMITHLS(LOAD)) return build_load(b, op);
    if (op->def == EMITHLS(STORE)) return build_store(b, op);
    if (op->def == EMITHLS(READ) || op->def == EMITHLS(WRITE)) return build_transfer(b, op);
    if (op->def == EMITHLS(INDEX)) return build_number(b, op);
    if (op->def == EMITHLS(POPCOUNT)) return build_popcount(b, op);
    if (op->def == ARITH(CONSTANT)) return build_constant_copy(b, op);
    if (op->def == EMITHLS(VARIABLE)) {
        if (to_rtl_array(b->process, op_result(op, 0))->is_cells &&
            op_parent_of_def(op, EMITHLS(FOR)))
            to_rtl_forget(b, op_result(op, 0));
        return true;
    }
    if (op->def == EMITHLS(COND)) {
        NodeId where;
        if (!build_condition(b, op, &where)) return false;
        *define(b, op_result(op, 0)) = where == NO_NODE ? to_rtl_const(b->g, 1, 1) : where;
        return true;
    }
    return is_pragma(op) || build_op_copy(b, op);
}

static bool build_range(BodyBuilder *b, const Op *first, const Op *end)
{
    for (const Op *op = first; op != end; op = op->next)
        if (!build_one(b, op)) return false;
    return true;
}

/* Constants around the loop. */
static bool build_outside(BodyBuilder *b)
{
    const Op *inside = b->loop->op ? b->loop->op : b->loop->first;
    for (; inside->def != EMITHLS(FUNC); inside = op_parent(inside))
        FOR_EACH_OP(op, inside->block)
            if (op->def == ARITH(CONSTANT) && !build_constant_copy(b, op)) return false;
    return true;
}

bool to_rtl_body(RtlProcess *p, uint32_t index)
{
    const HlsLoop *loop = &p->model->loops.data[index];
    Graph *g = &p->graphs[index];
    size_t cells = p->cell_widths.len;
    *g = (Graph){.loop = loop,
                 .states = ARENA_ARRAY(&p->arena, NodeId, cells),
                 .finals = ARENA_ARRAY(&p->arena, NodeId, cells),
                 .stored = ARENA_ARRAY(&p->arena, int64_t, cells),
                 .loaded = ARENA_ARRAY(&p->arena, int64_t, cells),
                 .earliest = ARENA_ARRAY(&p->arena, int64_t, cells)};
    BodyBuilder b = {.process = p, .g = g, .loop = loop, .cells = g->finals};
    bool ok = build_outside(&b) && build_range(&b, loop->first, loop->end);
    if (ok && b.access != loop->accesses.len)
        ok = op_error(loop->accesses.data[b.access].op,
                      "cannot become hardware: it happens in no iteration");
    ptrmap_free(&b.lanes);
    ptrmap_free(&b.values);
    vec_free(&b.scalars);
    return ok;
}
