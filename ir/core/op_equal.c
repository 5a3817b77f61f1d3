/* Structural hash and equality of ops. Regions are compared with a map from the values of one op to
 * those of the other.
 * Tests: lit/passes/common/cse.mir */
#include <stdlib.h>

#include "ir/core/core.h"

static uint64_t hash_operands(const Op *op)
{
    bool commutes = op_has_trait(op, TRAIT_COMMUTATIVE);
    uint64_t hash = op->operand_count;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        uint64_t one = hash_ptr(op_operand(op, i));
        hash = commutes ? hash + one : hash_combine(hash, one);
    }
    return hash;
}

uint64_t op_header_hash(const Op *op)
{
    uint64_t hash = hash_combine(hash_ptr(op->name), hash_ptr(op->props));
    hash = hash_combine(hash, hash_ptr(op->attrs));
    for (uint32_t i = 0; i < op->result_count; i++)
        hash = hash_combine(hash, hash_ptr(op_result(op, i)->type));
    return hash;
}

uint64_t op_hash(const Op *op)
{
    return hash_combine(op_header_hash(op), hash_operands(op));
}

/* `map` maps the values that one region defines to those of the other; NULL: operands must be the
 * same. */
static Value *counterpart(const PtrMap *map, Value *value)
{
    Value *found = map ? ptrmap_get(map, value) : NULL;
    return found ? found : value;
}

static int compare_pointers(const void *a, const void *b)
{
    uintptr_t pa = (uintptr_t) * (Value *const *)a, pb = (uintptr_t) * (Value *const *)b;
    return pa < pb ? -1 : pa > pb;
}

static bool equal_in_any_order(const Op *a, const Op *b, const PtrMap *map)
{
    size_t count = a->operand_count;
    Value **of_a = xcalloc(2 * count, sizeof *of_a), **of_b = of_a + count;
    for (uint32_t i = 0; i < count; i++) {
        of_a[i] = counterpart(map, op_operand(a, i));
        of_b[i] = op_operand(b, i);
    }
    qsort(of_a, count, sizeof *of_a, compare_pointers);
    qsort(of_b, count, sizeof *of_b, compare_pointers);
    bool equal = true;
    for (size_t i = 0; i < count; i++) equal &= of_a[i] == of_b[i];
    free_ptr((void **)&of_a);
    return equal;
}

static bool operands_equal(const Op *a, const Op *b, const PtrMap *map)
{
    if (op_has_trait(a, TRAIT_COMMUTATIVE)) return equal_in_any_order(a, b, map);
    for (uint32_t i = 0; i < a->operand_count; i++)
        if (counterpart(map, op_operand(a, i)) != op_operand(b, i)) return false;
    return true;
}

bool op_header_equal(const Op *a, const Op *b)
{
    if (a->name != b->name || a->props != b->props || a->attrs != b->attrs ||
        a->operand_count != b->operand_count || a->result_count != b->result_count ||
        a->region_count != b->region_count || a->successor_count != b->successor_count)
        return false;
    for (uint32_t i = 0; i < a->result_count; i++)
        if (op_result(a, i)->type != op_result(b, i)->type) return false;
    return true;
}

static bool ops_equal(const Op *a, const Op *b, PtrMap *map);

/* Pairs the arguments, and the blocks for the sake of successors. */
static bool pair_blocks(const Region *a, const Region *b, PtrMap *map)
{
    const Block *of_a = a->first, *of_b = b->first;
    for (; of_a && of_b; of_a = of_a->next, of_b = of_b->next) {
        if (of_a->arg_count != of_b->arg_count) return false;
        ptrmap_put(map, of_a, (void *)of_b);
        for (uint32_t i = 0; i < of_a->arg_count; i++) {
            if (of_a->args[i]->type != of_b->args[i]->type) return false;
            ptrmap_put(map, of_a->args[i], of_b->args[i]);
        }
    }
    return !of_a && !of_b;
}

static bool blocks_equal(const Block *a, const Block *b, PtrMap *map)
{
    const Op *of_a = a->first, *of_b = b->first;
    for (; of_a && of_b; of_a = of_a->next, of_b = of_b->next) {
        if (!ops_equal(of_a, of_b, map)) return false;
        for (uint32_t i = 0; i < of_a->result_count; i++)
            ptrmap_put(map, op_result(of_a, i), op_result(of_b, i));
    }
    return !of_a && !of_b;
}

static bool regions_equal(const Region *a, const Region *b, PtrMap *map)
{
    if (!pair_blocks(a, b, map)) return false;
    const Block *of_b = b->first;
    for (const Block *of_a = a->first; of_a; of_a = of_a->next, of_b = of_b->next)
        if (!blocks_equal(of_a, of_b, map)) return false;
    return true;
}

static bool successors_equal(const Op *a, const Op *b, const PtrMap *map)
{
    for (uint32_t i = 0; i < a->successor_count; i++) {
        Block *to = map ? ptrmap_get(map, a->successors[i].block) : NULL;
        if ((to ? to : a->successors[i].block) != b->successors[i].block) return false;
    }
    return true;
}

static bool ops_equal(const Op *a, const Op *b, PtrMap *map)
{
    if (!op_header_equal(a, b) || !operands_equal(a, b, map) || !successors_equal(a, b, map))
        return false;
    for (uint32_t i = 0; i < a->region_count; i++)
        if (!regions_equal(op_region(a, i), op_region(b, i), map)) return false;
    return true;
}

bool op_equal(const Op *a, const Op *b)
{
    if (a->region_count == 0) return ops_equal(a, b, NULL);
    PtrMap map = {0};
    bool equal = ops_equal(a, b, &map);
    ptrmap_free(&map);
    return equal;
}
