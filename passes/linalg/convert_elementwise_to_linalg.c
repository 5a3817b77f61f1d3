/* convert-elementwise-to-linalg: every elementwise op whose operands are all ranked tensors, such
 * as those of arith and math, becomes a linalg.generic with the scalar op as its body.
 * Requires: verified IR.
 * Changes: elementwise ops on ranked tensors; ops that fold as they are written are folded instead.
 * Preserves: the values computed; all other ops, dead ones too.
 * Tests: lit/passes/linalg/convert-elementwise-to-linalg.mir */
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"
#include "passes/linalg/passes.h"

static bool is_convertible(const Op *op)
{
    if (!op_has_trait(op, TRAIT_ELEMENTWISE)) return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (op_operand(op, i)->type->kind != TYPE_RANKED_TENSOR) return false;
    return true;
}

/* An operand of that type, whose elements the generic may overwrite, else an empty tensor. */
static Value *init_for(Builder *b, const Op *op, const Type *type)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (op_operand(op, i)->type == type) return op_operand(op, i);
    MixedIndices sizes = {0};
    for (uint32_t i = 0; i < type->u.shaped.rank; i++)
        *vec_push(&sizes) = tensor_mixed_dim(b, op_operand(op, 0), i);
    Value *init = tensor_empty(b, sizes.data, sizes.len, type_elem(type));
    vec_free(&sizes);
    return init;
}

/* Identity maps and parallel loops for all. */
static Op *build_generic(Builder *b, const Op *op, const ValueList *inits)
{
    uint32_t rank = op_result(op, 0)->type->u.shaped.rank;
    VEC(const AffineMap *) maps = {0};
    VEC(Value *) inputs = {0};
    bool *is_reduction = xcalloc(rank, sizeof *is_reduction);
    for (uint32_t i = 0; i < op->operand_count + op->result_count; i++)
        *vec_push(&maps) = map_identity(b->ctx, rank);
    for (uint32_t i = 0; i < op->operand_count; i++) *vec_push(&inputs) = op_operand(op, i);
    Op *generic =
        linalg_build_generic(b, inputs.data, (uint32_t)inputs.len, inits->data,
                             (uint32_t)inits->len, linalg_maps_attr(b->ctx, maps.data, maps.len),
                             linalg_iterators_attr(b->ctx, is_reduction, rank));
    vec_free(&maps);
    vec_free(&inputs);
    free_ptr((void **)&is_reduction);
    return generic;
}

/* The scalar op on the body's arguments, and its yield. */
static void fill_body(const Op *op, Block *body)
{
    Builder b = builder_at_end(body, op->loc);
    VEC(const Type *) types = {0};
    ValueList results = {0};
    for (uint32_t i = 0; i < op->result_count; i++)
        *vec_push(&types) = type_elem(op_result(op, i)->type);
    Op *scalar = build_op(&b, &(OpState){.name = op->name,
                                         .loc = op->loc,
                                         .operands = body->args,
                                         .operand_count = op->operand_count,
                                         .result_types = types.data,
                                         .result_count = op->result_count,
                                         .attrs = op->attrs,
                                         .props = op->props});
    for (uint32_t i = 0; i < scalar->result_count; i++) *vec_push(&results) = op_result(scalar, i);
    linalg_yield(&b, results.data, (uint32_t)results.len);
    vec_free(&types);
    vec_free(&results);
}

static void convert(Rewriter *rw, Op *op)
{
    ValueList values = {0};
    rw->b = builder_before(op);
    for (uint32_t i = 0; i < op->result_count; i++)
        *vec_push(&values) = init_for(&rw->b, op, op_result(op, i)->type);
    Op *generic = build_generic(&rw->b, op, &values);
    fill_body(op, linalg_body(generic));
    for (uint32_t i = 0; i < op->result_count; i++) values.data[i] = op_result(generic, i);
    rewriter_replace(rw, op, values.data, op->result_count);
    vec_free(&values);
}

static void note_erased(Rewriter *rw, Op *op)
{
    (void)op;
    *(bool *)rw->driver = true;
}

/* Folds the op as long as it is updated in place; true if it was replaced. */
static bool fold_away(Context *ctx, Op *op)
{
    bool erased = false;
    Rewriter rw = rewriter_plain(ctx);
    rw.driver = &erased;
    rw.erasing = note_erased;
    while (!erased && fold_op(&rw, op)) continue;
    return erased;
}

/* From the last op to the first, so that folders see the operands as they were written. */
static bool run(Pass *pass, Op *op)
{
    OpVec ops = {0};
    op_collect(op, &ops);
    for (size_t i = ops.len; i-- > 1;) {
        Rewriter rw = rewriter_plain(pass->ctx);
        if (is_convertible(ops.data[i]) && !fold_away(pass->ctx, ops.data[i]))
            convert(&rw, ops.data[i]);
    }
    vec_free(&ops);
    return true;
}

const PassDef pass_convert_elementwise_to_linalg = {
    .name = "convert-elementwise-to-linalg",
    .title = "ConvertElementwiseToLinalgPass",
    .summary = "Convert elementwise ops on ranked tensors to linalg.generic",
    .run = run,
};
