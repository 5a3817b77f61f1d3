/* tosa-infer-shapes: gives results of tosa ops the shapes that their operands imply, in one walk
 * down each function. Ops that cannot take the new type of an operand read it through a tensor.cast
 * to the old type. Loops are walked with ever more general argument types until those of the next
 * iteration fit, up to a depth of nesting.
 * Requires: verified IR.
 * Changes: types of results and block arguments.
 * Preserves: signatures.
 * Tests: lit/passes/tosa/tosa-infer-shapes.mir */
#include "dialects/tensor/tensor.h"
#include "dialects/tosa/tosa.h"
#include "passes/tosa/internal.h"
#include "passes/tosa/passes.h"

typedef struct ShapeChange {
    Value *value;
    const Type *old;
} ShapeChange;
typedef VEC(ShapeChange) Changes;

static void set_type(Changes *changes, Value *value, const Type *type)
{
    if (value->type == type) return;
    *vec_push(changes) = (ShapeChange){value, value->type};
    value->type = type;
}

static void roll_back(Changes *changes)
{
    for (size_t i = 0; i < changes->len; i++) changes->data[i].value->type = changes->data[i].old;
    vec_free(changes);
}

typedef VEC(int64_t) Dims;

static const Type *take(const Type *like, Dims *dims)
{
    const Type *type = type_tensor(type_elem(like), dims->data, (uint32_t)dims->len, NULL);
    vec_free(dims);
    return type;
}

/* The type that both describe together, unranked if their ranks differ; NULL: they contradict each
 * other. */
static const Type *join_types(const Type *a, const Type *b)
{
    Dims dims = {0};
    if (type_elem(a) != type_elem(b)) return NULL;
    if (!type_is_ranked(b)) return a;
    if (!type_is_ranked(a)) return b;
    if (a->u.shaped.rank != b->u.shaped.rank) return type_unranked_tensor(type_elem(a));
    for (uint32_t i = 0; i < a->u.shaped.rank; i++) {
        int64_t left = a->u.shaped.dims[i], right = b->u.shaped.dims[i];
        if (left != DIM_DYNAMIC && right != DIM_DYNAMIC && left != right) {
            vec_free(&dims);
            return NULL;
        }
        *vec_push(&dims) = left == DIM_DYNAMIC ? right : left;
    }
    return take(a, &dims);
}

/* The most static type that describes both; NULL: their elements differ. */
static const Type *meet_types(const Type *a, const Type *b)
{
    Dims dims = {0};
    if (type_elem(a) != type_elem(b)) return NULL;
    if (!type_is_ranked(a) || !type_is_ranked(b) || a->u.shaped.rank != b->u.shaped.rank)
        return type_unranked_tensor(type_elem(a));
    for (uint32_t i = 0; i < a->u.shaped.rank; i++) {
        int64_t left = a->u.shaped.dims[i];
        *vec_push(&dims) = left == b->u.shaped.dims[i] ? left : DIM_DYNAMIC;
    }
    return take(a, &dims);
}

static void infer_region(Region *region, Changes *changes);

static void refine(Changes *changes, Value *value, const Type *inferred)
{
    const Type *type = inferred ? join_types(value->type, inferred) : NULL;
    if (type) set_type(changes, value, type);
}

/* The yield that ends a region, with so many operands; NULL: there is none. */
static const Op *yield_of(const Op *op, uint32_t region, uint32_t count)
{
    const Block *block = region_entry(op_region(op, region));
    const Op *last = block ? block->last : NULL;
    return last && last->def == TOSA(YIELD) && last->operand_count == count ? last : NULL;
}

/* Results are what both branches yield. */
static void infer_if_results(Op *op, Changes *changes)
{
    const Op *first = yield_of(op, 0, op->result_count);
    const Op *second = yield_of(op, 1, op->result_count);
    for (uint32_t i = 0; first && second && i < op->result_count; i++) {
        const Type *type = op_operand(first, i)->type;
        const Type *met = meet_types(type, op_operand(second, i)->type);
        refine(changes, op_result(op, i), met ? met : type);
    }
}

static void infer_if(Op *op, Changes *changes)
{
    for (uint32_t r = 0; r < op->region_count; r++) {
        const Block *block = region_entry(op_region(op, r));
        if (!block || block->arg_count + 1 != op->operand_count) return;
        for (uint32_t i = 0; i < block->arg_count; i++)
            refine(changes, block->args[i], op_operand(op, i + 1)->type);
        infer_region(op_region(op, r), changes);
    }
}

typedef VEC(const Type *) Types;

/* Generalizes the argument types until they cover what the body yields; true if that changed
 * them. */
static bool generalize(const Op *yield, Types *types)
{
    bool changed = false;
    for (uint32_t i = 0; i < types->len; i++) {
        const Type *met = meet_types(types->data[i], op_operand(yield, i)->type);
        changed = changed || (met && met != types->data[i]);
        types->data[i] = met ? met : types->data[i];
    }
    return changed;
}

static void set_arguments(Region *region, const Types *types, Changes *changes)
{
    Block *block = region_entry(region);
    for (uint32_t i = 0; i < types->len; i++) set_type(changes, block->args[i], types->data[i]);
    infer_region(region, changes);
}

/* A body is walked several times for each walk of what surrounds it: loops nested deeper keep
 * their types. */
enum { MAX_LOOP_DEPTH = 8 };

static bool is_regular_loop(const Op *op)
{
    uint32_t depth = 0;
    for (const Op *outer = op; outer; outer = op_parent_of_def(outer, TOSA(WHILE_LOOP)))
        if (++depth > MAX_LOOP_DEPTH) return false;
    for (uint32_t r = 0; r < op->region_count; r++) {
        const Block *block = region_entry(op_region(op, r));
        if (!block || block->arg_count != op->operand_count) return false;
    }
    return yield_of(op, 1, op->operand_count) != NULL;
}

static void infer_while(Op *op, Changes *changes)
{
    Types types = {0};
    bool changed = is_regular_loop(op);
    if (!changed) return;
    for (uint32_t i = 0; i < op->operand_count; i++) *vec_push(&types) = op_operand(op, i)->type;
    while (changed) {
        Changes tried = {0};
        set_arguments(op_region(op, 1), &types, &tried);
        changed = generalize(yield_of(op, 1, op->operand_count), &types);
        roll_back(&tried);
    }
    for (uint32_t r = 0; r < op->region_count; r++)
        set_arguments(op_region(op, r), &types, changes);
    vec_free(&types);
    const Op *yield = yield_of(op, 1, op->operand_count);
    for (uint32_t i = 0; i < op->result_count && i < yield->operand_count; i++)
        refine(changes, op_result(op, i), op_operand(yield, i)->type);
}

static void infer_op(Op *op, Changes *changes)
{
    if (op->def == TOSA(COND_IF)) {
        infer_if(op, changes);
        infer_if_results(op, changes);
    } else if (op->def == TOSA(WHILE_LOOP)) {
        infer_while(op, changes);
    }
    for (uint32_t i = 0; i < op->result_count; i++)
        refine(changes, op_result(op, i), tosa_rule_type(op, i));
}

static void infer_region(Region *region, Changes *changes)
{
    FOR_EACH_BLOCK(block, region)
        FOR_EACH_OP(op, block)
            if (op->def && op->def->dialect == &tosa_dialect) infer_op(op, changes);
}

/* Upstream leaves all ops alone whose result types follow from those of operands, and then they have
 * the wrong ones; here those whose results stay the same. */
static bool takes_new_types(Op *op)
{
    if (!op->def || op->def->dialect == &tosa_dialect) return op->def != NULL;
    if (!op->def->infer || op->result_count == 0) return false;
    const Type **types = xcalloc(op->result_count, sizeof *types);
    bool same = op->def->infer(op, types);
    for (uint32_t i = 0; same && i < op->result_count; i++)
        same = types[i] == op_result(op, i)->type;
    free_ptr((void **)&types);
    return same;
}

/* One cast for all readers that need it, before the first of them if they share a block, else
 * behind the definition. */
static Value *cast_back(Value *value, const Type *old, Use *const *uses, size_t count)
{
    Op *first = uses[0]->owner;
    bool is_shared = true;
    for (size_t i = 1; i < count; i++) {
        is_shared = is_shared && uses[i]->owner->block == first->block;
        if (is_shared && op_is_before(uses[i]->owner, first)) first = uses[i]->owner;
    }
    Op *def = value_def(value);
    Builder b = is_shared || !def ? builder_before(is_shared ? first : value_block(value)->first)
                                  : builder_after(def);
    b.loc = value_loc(value);
    return build_unary(&b, TENSOR(CAST), old, value);
}

static void cast_for_readers(Value *value, const Type *old)
{
    VEC(Use *) uses = {0};
    FOR_EACH_USE(use, value)
        if (!takes_new_types(use->owner)) *vec_push(&uses) = use;
    if (uses.len > 0) {
        Value *cast = cast_back(value, old, uses.data, uses.len);
        for (size_t i = 0; i < uses.len; i++) use_set(uses.data[i], cast);
    }
    vec_free(&uses);
}

static bool run(Pass *pass, Op *func)
{
    (void)pass;
    Changes changes = {0};
    infer_region(op_region(func, 0), &changes);
    for (size_t i = 0; i < changes.len; i++)
        cast_for_readers(changes.data[i].value, changes.data[i].old);
    vec_free(&changes);
    return true;
}

const PassDef pass_tosa_infer_shapes = {
    .name = "tosa-infer-shapes",
    .summary = "Propagate shapes across TOSA operations",
    .description = "Gives results of tosa ops the shapes that their operands imply.",
    .title = "TosaInferShapes",
    .anchor = "func.func",
    .run = run,
};
