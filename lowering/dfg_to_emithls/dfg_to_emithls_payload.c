/* The scalar code of a compute process: the payloads of its kernels, inlined for one lane.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-compute.mir */
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"
#include "lowering/dfg_to_emithls/internal.h"

static bool is_scalar_op(const Op *op)
{
    Str dialect = op->def ? str_from(op->def->dialect->name) : (Str){"", 0};
    return (str_eq_c(dialect, "arith") || str_eq_c(dialect, "math")) && op->region_count == 0;
}

static bool check_scalar_op(const Op *op)
{
    if (!is_scalar_op(op))
        return op_error(op, "cannot run in a streaming process: only arith and math ops on scalars "
                            "can");
    for (uint32_t i = 0; i < op->result_count; i++) {
        const Type *type = op_result(op, i)->type;
        if (type->kind != TYPE_INDEX && !dfg_is_element(type))
            return op_error(op, "cannot run in a streaming process: it gives a number of type '%s'",
                            type_str(op->ctx, type));
    }
    return true;
}

/* A constant from outside the kernel. */
static Value *outer_constant(ComputeLowering *c, const Value *value)
{
    return emithls_nest_constant(&c->l->nest, op_attr(value_def(value), "value"));
}

/* The op's operands from number `first` on in the nest; constants from outside the kernel are made
 * here. */
static Value **payload_operands(ComputeLowering *c, const Op *op, uint32_t first, PtrMap *values)
{
    Value **operands = ARENA_ARRAY(&c->arena, Value *, op->operand_count);
    for (uint32_t i = first; i < op->operand_count; i++) {
        Value *operand = op_operand(op, i);
        if (!ptrmap_has(values, operand)) ptrmap_put(values, operand, outer_constant(c, operand));
        operands[i] = ptrmap_get(values, operand);
    }
    return operands;
}

/* tensor.extract of a constant: a read of its table. */
static void look_up(ComputeLowering *c, const Op *extract, const Lookup *lookup, PtrMap *values)
{
    const AffineExpr *index[SCHED_MAX_LOOPS + 1];
    uint32_t first = 1 + lookup->layout.leading;
    uint32_t count = to_emithls_table_index(c, &lookup->layout.rows, index);
    Value **operands = payload_operands(c, extract, first, values);
    ptrmap_put(values, op_result(extract, 0),
               emithls_nest_look_up(&c->l->nest, lookup->array, index, count, operands + first,
                                    extract->operand_count - first));
}

/* Whether a linalg.index only chooses rows of tables. */
static bool chooses_rows(ComputeLowering *c, const Op *index)
{
    FOR_EACH_USE(use, op_result(index, 0)) {
        const Lookup *lookup = ptrmap_get(&c->looked_up, use->owner);
        uint32_t leading = lookup ? lookup->layout.leading : 0;
        for (uint32_t i = 1; i < use->owner->operand_count; i++)
            if (op_operand(use->owner, i) == op_result(index, 0) && i > leading) return false;
        if (!lookup) return false;
    }
    return true;
}

static bool copy_payload_op(ComputeLowering *c, Op *op, PtrMap *values)
{
    Value *results[EXPAND_MAX_RESULTS];
    const Lookup *lookup = ptrmap_get(&c->looked_up, op);
    if (lookup) {
        look_up(c, op, lookup, values);
        return true;
    }
    if (!check_scalar_op(op)) return false;
    Value **operands = payload_operands(c, op, 0, values);
    if (to_emithls_expand_scalar(&c->l->nest.b, op, operands, results)) {
        for (uint32_t i = 0; i < op->result_count; i++)
            ptrmap_put(values, op_result(op, i), results[i]);
        return true;
    }
    Op *copy = op_clone(op, values);
    op_append(copy, c->l->nest.b.block);
    if (op->def == ARITH(MULI) && block_parent_op(op->block) == c->sched.main &&
        sched_multiplier_is(c->sched.main, DFG_MULTIPLIER_LUT)) {
        op_set_attr(copy, EMITHLS_ATTR_NAME, attr_string_c(c->ctx, "product"));
        op_set_attr(copy, EMITHLS_ATTR_BIND, attr_string_c(c->ctx, "fabric"));
    }
    return true;
}

/* A payload to copy into the nest, of main (stage 0) or of a stage. */
typedef struct InlinedPayload {
    const Op *generic;
    const OperandSource *sources; /* of its inputs */
    Value *flow;                  /* for the input that another kernel delivers, or NULL */
    Value *const *so_far;         /* for its outputs, or NULL */
    const AffineMap *loops;       /* main's loops -> the generic's */
} InlinedPayload;

const AffineMap *to_emithls_payload_loops(const ComputeLowering *c, uint32_t which)
{
    return which ? sched_stage_loops(&c->sched, which - 1)
                 : map_identity(c->ctx, c->sched.kernel.loop_count);
}

static InlinedPayload payload_of(ComputeLowering *c, uint32_t which)
{
    return (InlinedPayload){.generic = which ? c->sched.stages[which - 1] : c->sched.main,
                            .sources = c->sources[which],
                            .loops = to_emithls_payload_loops(c, which)};
}

static bool op_is_needed(const Op *op, const PtrMap *needed)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (ptrmap_has(needed, op_result(op, i))) return true;
    return false;
}

/* The values of a body that others among `wanted` are computed from, and these. */
static void mark_needed(const Block *body, Value *const *wanted, uint32_t count, PtrMap *needed)
{
    for (uint32_t i = 0; i < count; i++) ptrmap_put(needed, wanted[i], wanted[i]);
    for (const Op *op = body->last->prev; op; op = op->prev)
        for (uint32_t i = 0; op_is_needed(op, needed) && i < op->operand_count; i++)
            ptrmap_put(needed, op_operand(op, i), op_operand(op, i));
}

/* Values for the arguments of the body that are needed. */
static void load_arguments(ComputeLowering *c, const InlinedPayload *p, const PtrMap *needed,
                           PtrMap *values)
{
    const Block *body = linalg_body(p->generic);
    uint32_t inputs = linalg_input_count(p->generic);
    for (uint32_t i = 0; i < body->arg_count; i++) {
        if (!ptrmap_has(needed, body->args[i])) continue;
        bool flows = i < inputs && p->sources[i].kind == SOURCE_FLOW;
        ptrmap_put(values, body->args[i],
                   i >= inputs ? p->so_far[i - inputs]
                   : flows     ? p->flow
                               : to_emithls_load_source(c, &p->sources[i]));
    }
}

/* linalg.index: the counters and lanes of the loop. */
static void copy_index(ComputeLowering *c, const InlinedPayload *p, const Op *op, PtrMap *values)
{
    const AffineExpr *loops[KERNEL_MAX_LOOPS];
    for (uint32_t i = 0; i < c->sched.kernel.loop_count; i++) loops[i] = c->lane[i];
    for (uint32_t i = 0; i < c->sched.loop_count; i++) {
        const ScheduleLoop *loop = &c->sched.loops[i];
        loops[loop->loop] =
            affine_add(loops[loop->loop], affine_mul_c(to_emithls_counter(c, i), loop->scale));
    }
    const AffineExpr *loop = p->loops->results[attr_int_value(op_attr(op, "dim"))];
    const AffineExpr *expr = affine_replace(loop, loops, c->sched.kernel.loop_count, NULL, 0);
    ptrmap_put(values, op_result(op, 0), emithls_nest_index(&c->l->nest, expr));
}

/* Copies the ops that the `count` values `wanted` of the payload need; gives their copies. False:
 * diagnosed. */
static bool run_payload(ComputeLowering *c, const InlinedPayload *p, Value *const *wanted,
                        uint32_t count, Value **out)
{
    Block *body = linalg_body(p->generic);
    PtrMap needed = {0}, values = {0};
    bool ok = true;
    mark_needed(body, wanted, count, &needed);
    load_arguments(c, p, &needed, &values);
    for (Op *op = body->first; ok && op != body->last; op = op->next) {
        if (!op_is_needed(op, &needed)) continue;
        if (op->def != LINALG(INDEX))
            ok = copy_payload_op(c, op, &values);
        else if (!chooses_rows(c, op))
            copy_index(c, p, op, &values);
    }
    for (uint32_t i = 0; ok && i < count; i++) {
        out[i] = ptrmap_get(&values, wanted[i]);
        if (!out[i]) out[i] = outer_constant(c, wanted[i]);
    }
    ptrmap_free(&needed);
    ptrmap_free(&values);
    return ok;
}

Value *to_emithls_run_generic(ComputeLowering *c, uint32_t which, Value *flow)
{
    const Op *generic = which ? c->sched.stages[which - 1] : c->sched.main;
    const Block *body = linalg_body(generic);
    for (uint32_t i = linalg_input_count(generic); i < body->arg_count; i++)
        if (value_has_uses(body->args[i])) {
            op_error(generic,
                     "reads its initial output, which an element-wise stream does not have");
            return NULL;
        }
    InlinedPayload p = payload_of(c, which);
    p.flow = flow;
    Value *result = NULL, *wanted = op_operand(body->last, 0);
    return run_payload(c, &p, &wanted, 1, &result) ? result : NULL;
}

bool to_emithls_run_update(ComputeLowering *c, Value *const *so_far, Value **next)
{
    const Op *main = c->sched.main;
    InlinedPayload p = payload_of(c, 0);
    Value *wanted[SCHED_MAX_RESULTS];
    p.so_far = so_far;
    for (uint32_t i = 0; i < main->result_count; i++)
        wanted[i] = op_operand(linalg_body(main)->last, i);
    return run_payload(c, &p, wanted, main->result_count, next);
}

Value *to_emithls_run_value(ComputeLowering *c, Value *value)
{
    InlinedPayload p = payload_of(c, 0);
    Value *result = NULL;
    return run_payload(c, &p, &value, 1, &result) ? result : NULL;
}

Value *to_emithls_run_stages(ComputeLowering *c, Value *value)
{
    for (uint32_t s = sched_first_stage(&c->sched); value && s < c->sched.stage_count; s++)
        value = to_emithls_run_generic(c, s + 1, value);
    return value;
}
