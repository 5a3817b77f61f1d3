/* Folding: an op's hook first, then its traits (commutative, idempotent, involution), as upstream.
 * Constants are created by the dialect's hook in front of the op that they replace.
 * Tests: test/unit/ir/rewrite/rewrite_test.c, lit/passes/common/canonicalize.mir */
#include <assert.h>

#include "ir/rewrite/rewrite.h"

const Attr *fold_constant_of(const Value *value)
{
    if (value->is_arg || !op_has_trait(value->owner.op, TRAIT_CONSTANT_LIKE)) return NULL;
    return attr_dict_get_c(value->owner.op->props, "value");
}

/* Moves constant operands to the end, keeping the order of both kinds. */
static bool fold_commutative(Op *op, const Attr *const *constants)
{
    uint32_t count = op->operand_count, first = 0;
    while (first < count && !constants[first]) first++;
    uint32_t misplaced = first;
    while (misplaced < count && constants[misplaced]) misplaced++;
    if (count < 2 || misplaced == count) return false;
    Value **ordered = xmalloc(count * sizeof(Value *));
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!constants[i]) ordered[at++] = op_operand(op, i);
    for (uint32_t i = 0; i < count; i++)
        if (constants[i]) ordered[at++] = op_operand(op, i);
    op_set_operands(op, ordered, count);
    free_ptr((void **)&ordered);
    return true;
}

/* f(f(x)) -> f(x), f(x, x) -> x */
static Value *fold_idempotent(const Op *op)
{
    Value *first = op_operand(op, 0);
    if (op->operand_count == 1) {
        const Op *inner = value_def(first);
        return inner && inner->name == op->name ? first : NULL;
    }
    return op_operand(op, 1) == first ? first : NULL;
}

/* f(f(x)) -> x */
static Value *fold_involution(const Op *op)
{
    const Op *inner = value_def(op_operand(op, 0));
    return inner && inner->name == op->name ? op_operand(inner, 0) : NULL;
}

static bool fold_traits(Op *op, const Attr *const *constants, FoldResult *results)
{
    if (op_has_trait(op, TRAIT_COMMUTATIVE) && fold_commutative(op, constants)) return true;
    if (op->result_count != 1 || op->operand_count == 0) return false;
    if (op_has_trait(op, TRAIT_IDEMPOTENT)) results[0].value = fold_idempotent(op);
    if (!results[0].value && op_has_trait(op, TRAIT_INVOLUTION))
        results[0].value = fold_involution(op);
    return results[0].value != NULL;
}

static bool was_replaced(const Op *op, const FoldResult *results)
{
    return op->result_count > 0 && (results[0].value || results[0].attr) &&
           results[0].value != op_result(op, 0);
}

static bool fold_by_row(Op *op, const Attr *const *constants, FoldResult *results)
{
    bool folded = op->def->fold && op->def->fold(op, constants, results);
    if (folded && was_replaced(op, results)) return true;
    if (op->result_count > 0) results[0] = (FoldResult){0};
    return fold_traits(op, constants, results) || folded;
}

/* The detached constant op for a result's attribute; NULL if the dialect has none. */
static Op *materialize(const Op *op, const Attr *attr, const Type *type)
{
    const DialectDef *dialect = op->def->dialect;
    Op *constant = dialect->materialize ? dialect->materialize(op->ctx, attr, type, op->loc) : NULL;
    assert(!constant || op_has_trait(constant, TRAIT_CONSTANT_LIKE));
    return constant;
}

static Value *materialize_before(Rewriter *rw, Op *op, const Attr *attr, const Type *type)
{
    Op *constant = materialize(op, attr, type);
    if (!constant) return NULL;
    op_insert_before(constant, op);
    rw->inserted(rw, constant);
    return op_result(constant, 0);
}

/* Values for all results; on failure the constants made so far are taken back. */
static bool collect_values(Rewriter *rw, Op *op, const FoldResult *results, Value **values)
{
    for (uint32_t i = 0; i < op->result_count; i++) {
        values[i] = results[i].value;
        if (!values[i] && results[i].attr)
            values[i] = materialize_before(rw, op, results[i].attr, op_result(op, i)->type);
        if (values[i]) continue;
        for (uint32_t k = 0; k < i; k++)
            if (!results[k].value) rewriter_erase(rw, value_def(values[k]));
        return false;
    }
    return true;
}

static bool replace_by_results(Rewriter *rw, Op *op, const FoldResult *results)
{
    Value **values = xcalloc(op->result_count, sizeof *values);
    bool ok = collect_values(rw, op, results, values);
    if (ok) rewriter_replace(rw, op, values, op->result_count);
    free_ptr((void **)&values);
    return ok;
}

/* True: results filled, or the op changed in place. */
static bool try_fold(Op *op, FoldResult *results)
{
    const uint32_t traits = TRAIT_COMMUTATIVE | TRAIT_IDEMPOTENT | TRAIT_INVOLUTION;
    if (!op->def || op_has_trait(op, TRAIT_CONSTANT_LIKE)) return false;
    if (!op->def->fold && !op_has_trait(op, traits)) return false;
    const Attr **constants = xcalloc(op->operand_count, sizeof *constants);
    for (uint32_t i = 0; i < op->operand_count; i++)
        constants[i] = fold_constant_of(op_operand(op, i));
    bool folded = fold_by_row(op, constants, results);
    free_ptr((void **)&constants);
    return folded;
}

bool fold_op(Rewriter *rw, Op *op)
{
    FoldResult *results = xcalloc(op->result_count, sizeof *results);
    bool folded = try_fold(op, results);
    if (folded && was_replaced(op, results))
        folded = replace_by_results(rw, op, results);
    else if (folded)
        rw->modified(rw, op);
    free_ptr((void **)&results);
    return folded;
}

Value *fold_build(Builder *b, Op *op)
{
    FoldResult result = {0};
    assert(op->result_count == 1 && !op->block);
    Builder quiet = *b;
    quiet.created = NULL;
    builder_insert(&quiet, op);
    if (try_fold(op, &result) && was_replaced(op, &result)) {
        Op *constant = result.attr ? materialize(op, result.attr, op_result(op, 0)->type) : NULL;
        if (constant) result.value = op_result(builder_insert(b, constant), 0);
        if (result.value) {
            op_erase(op);
            return result.value;
        }
    }
    if (b->created) b->created(b->user, op);
    return op_result(op, 0);
}

bool rewrite_erase_dead_ops(Op *root)
{
    OpVec ops = {0};
    bool any = false;
    op_collect(root, &ops);
    for (size_t i = ops.len; i-- > 1;) {
        if (!op_is_trivially_dead(ops.data[i])) continue;
        op_erase(ops.data[i]);
        any = true;
    }
    vec_free(&ops);
    return any;
}
