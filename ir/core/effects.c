/* Effects of ops, derived from the traits of their rows; CSE, dead-code removal and folding ask for
 * them. An op without any effect trait, and an unregistered op, may do anything.
 * Tests: test/unit/ir/core/opdef_test.c, lit/passes/common/cse.mir */
#include "ir/core/core.h"

/* Called for each op until one is found that has an unwanted effect. */
typedef bool EffectTest(const Op *op);

static bool touches_memref(const Op *op)
{
    if (!op_has_trait(op, TRAIT_MEMREF_EFFECTS)) return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (type_is_memref(op_operand(op, i)->type)) return true;
    return false;
}

static bool has_no_effects(const Op *op)
{
    const uint32_t effects = TRAIT_READS | TRAIT_WRITES | TRAIT_ALLOCATES;
    const uint32_t known = TRAIT_PURE | TRAIT_RECURSIVE_EFFECTS | TRAIT_MEMREF_EFFECTS;
    return op_has_trait(op, known) && !op_has_trait(op, effects) && !touches_memref(op);
}

/* Reading and allocating can be dropped with the result. */
static bool has_only_droppable_effects(const Op *op)
{
    const uint32_t known =
        TRAIT_PURE | TRAIT_RECURSIVE_EFFECTS | TRAIT_MEMREF_EFFECTS | TRAIT_READS | TRAIT_ALLOCATES;
    return op_has_trait(op, known) && !op_has_trait(op, TRAIT_WRITES) && !touches_memref(op);
}

/* The test holds for the op and, where its effects are those of its regions, inside it. */
static bool holds_recursively(const Op *op, EffectTest *test)
{
    if (!test(op)) return false;
    if (!op_has_trait(op, TRAIT_RECURSIVE_EFFECTS)) return true;
    FOR_EACH_INNER(inner, op)
        if (!holds_recursively(inner, test)) return false;
    return true;
}

bool op_is_pure(const Op *op)
{
    return holds_recursively(op, has_no_effects);
}

bool op_is_removable(const Op *op)
{
    return !op_has_trait(op, TRAIT_TERMINATOR | TRAIT_SYMBOL) &&
           holds_recursively(op, has_only_droppable_effects);
}

bool op_is_trivially_dead(const Op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (op->results[i].uses) return false;
    return op_is_removable(op);
}
