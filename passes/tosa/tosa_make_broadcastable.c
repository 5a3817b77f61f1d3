/* tosa-make-broadcastable: gives operands of elementwise ops the rank of the one with the highest
 * rank, by reshapes that put extents of 1 in front.
 * Requires: verified IR.
 * Changes: binary elementwise ops and select.
 * Preserves: results.
 * Tests: lit/passes/tosa/tosa-make-broadcastable.mir */
#include "dialects/tosa/tosa.h"
#include "ir/rewrite/rewrite.h"
#include "passes/tosa/passes.h"

static uint32_t rank_of(const Value *value)
{
    return value->type->u.shaped.rank;
}

/* Gives two operands one rank, which the ranked result must have. False: nothing to do, or it
 * cannot be done. */
static bool align_pair(Builder *b, const Op *op, Value **lhs, Value **rhs)
{
    Value *left = *lhs, *right = *rhs, *result = op_result(op, 0);
    if (!type_is_ranked(left->type) || !type_is_ranked(right->type) ||
        rank_of(left) == rank_of(right))
        return false;
    uint32_t rank = rank_of(left) > rank_of(right) ? rank_of(left) : rank_of(right);
    if (rank != rank_of(result) || !tosa_equalize_ranks(b, &left, &right)) return false;
    *lhs = left;
    *rhs = right;
    return true;
}

static bool align_binary(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Value *operands[] = {op_operand(op, 0), op_operand(op, 1)};
    if (!type_is_ranked(op_result(op, 0)->type) ||
        !align_pair(&rw->b, op, &operands[0], &operands[1]))
        return false;
    op_set_operands(op, operands, COUNT_OF(operands));
    rewriter_modified(rw, op);
    return true;
}

/* All three operands get the result's rank if they broadcast in pairs. */
static bool align_select(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    Builder *b = &rw->b;
    Value *operands[] = {op_operand(op, 0), op_operand(op, 1), op_operand(op, 2)};
    if (!type_is_ranked(op_result(op, 0)->type)) return false;
    bool first = align_pair(b, op, &operands[0], &operands[1]);
    bool second = align_pair(b, op, &operands[0], &operands[2]);
    bool third = align_pair(b, op, &operands[1], &operands[2]);
    for (uint32_t i = 0; i < COUNT_OF(operands); i++)
        if (!type_is_ranked(operands[i]->type) || rank_of(operands[i]) != rank_of(op_result(op, 0)))
            return false;
    if (!first && !second && !third) return false;
    op_set_operands(op, operands, COUNT_OF(operands));
    rewriter_modified(rw, op);
    return true;
}

static bool run(Pass *pass, Op *func)
{
    const OpDef *const binary[] = {TOSA(BITWISE_AND),
                                   TOSA(BITWISE_OR),
                                   TOSA(BITWISE_XOR),
                                   TOSA(ADD),
                                   TOSA(SUB),
                                   TOSA(MUL),
                                   TOSA(INT_DIV),
                                   TOSA(MAXIMUM),
                                   TOSA(MINIMUM),
                                   TOSA(EQUAL),
                                   TOSA(GREATER),
                                   TOSA(GREATER_EQUAL),
                                   TOSA(LOGICAL_LEFT_SHIFT),
                                   TOSA(ARITHMETIC_RIGHT_SHIFT),
                                   TOSA(LOGICAL_RIGHT_SHIFT),
                                   TOSA(LOGICAL_AND),
                                   TOSA(LOGICAL_OR),
                                   TOSA(LOGICAL_XOR),
                                   TOSA(POW)};
    PatternSet patterns;
    patterns_init(&patterns, pass->ctx);
    for (size_t i = 0; i < COUNT_OF(binary); i++)
        pattern_add(&patterns, "tosa-align-ranks", binary[i], 1, align_binary);
    pattern_add(&patterns, "tosa-align-ranks-of-select", TOSA(SELECT), 1, align_select);
    (void)rewrite_greedy(func, &patterns,
                         &(GreedyOptions){.bottom_up = true, .regions = REGION_SIMPLIFY_AGGRESSIVE},
                         NULL);
    patterns_free(&patterns);
    return true;
}

const PassDef pass_tosa_make_broadcastable = {
    .name = "tosa-make-broadcastable",
    .summary = "TOSA rank Reshape to enable Broadcasting",
    .description = "Reshapes operands of elementwise ops to equal rank, with leading extents of 1.",
    .title = "TosaMakeBroadcastable",
    .anchor = "func.func",
    .run = run,
};
