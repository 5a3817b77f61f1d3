/* Checks of what an op's traits promise about the op itself. Wording is upstream's.
 * Tests: lit/ir/verify/verify.mir */
#include <string.h>

#include "ir/asm/print/print.h"
#include "ir/verify/internal.h"

static bool is_scalable(const Type *type)
{
    return type->kind == TYPE_VECTOR && type->u.shaped.scalable;
}

/* Whether both are scalars, or shapes that differ at most in unknown extents. */
static bool shapes_agree(const Type *a, const Type *b)
{
    if (!type_is_shaped(a) || !type_is_shaped(b)) return type_is_shaped(a) == type_is_shaped(b);
    if (!type_is_ranked(a) || !type_is_ranked(b)) return true;
    if (a->u.shaped.rank != b->u.shaped.rank) return false;
    for (uint32_t i = 0; i < a->u.shaped.rank; i++) {
        int64_t da = a->u.shaped.dims[i], db = b->u.shaped.dims[i];
        if (da != db && da != DIM_DYNAMIC && db != DIM_DYNAMIC) return false;
    }
    return true;
}

/* Element type of a shaped type; any other type itself. */
static const Type *elem_or_self(const Type *type)
{
    return type_is_shaped(type) ? type_elem(type) : type;
}

static bool elems_agree(const Type *a, const Type *b)
{
    return elem_or_self(a) == elem_or_self(b);
}

static bool is_any(const Type *type)
{
    (void)type;
    return true;
}

static uint32_t value_count(const Op *op)
{
    return op->operand_count + op->result_count;
}

/* The type of operand i; the results are numbered behind the operands. */
static const Type *value_type(const Op *op, uint32_t i)
{
    if (i < op->operand_count) return op_operand(op, i)->type;
    return op_result(op, i - op->operand_count)->type;
}

/* Whether all known extents of the dimension are equal. */
static bool extents_agree(const Op *op, bool (*counts)(const Type *), uint32_t dim)
{
    int64_t known = DIM_DYNAMIC;
    for (uint32_t i = 0; i < value_count(op); i++) {
        const Type *type = value_type(op, i);
        if (!counts(type) || !type_is_ranked(type)) continue;
        int64_t extent = type->u.shaped.dims[dim];
        if (extent == DIM_DYNAMIC) continue;
        if (known != DIM_DYNAMIC && extent != known) return false;
        known = extent;
    }
    return true;
}

/* The operands and results that count are all scalar; or all shaped, all or none of them scalable,
 * and the ranked ones of the same shape but for unknown extents. */
static bool all_shapes_agree(const Op *op, bool (*counts)(const Type *))
{
    const Type *first = NULL, *ranked = NULL;
    for (uint32_t i = 0; i < value_count(op); i++) {
        const Type *type = value_type(op, i);
        if (!counts(type)) continue;
        if (!first) first = type;
        if (type_is_shaped(type) != type_is_shaped(first)) return false;
        if (is_scalable(type) != is_scalable(first)) return false;
        if (!type_is_shaped(type) || !type_is_ranked(type)) continue;
        if (!ranked) ranked = type;
        if (type->u.shaped.rank != ranked->u.shaped.rank) return false;
    }
    for (uint32_t dim = 0; ranked && dim < ranked->u.shaped.rank; dim++)
        if (!extents_agree(op, counts, dim)) return false;
    return true;
}

static bool types_agree(const Type *a, const Type *b)
{
    return elems_agree(a, b) && shapes_agree(a, b);
}

typedef bool TypeRelation(const Type *a, const Type *b);

static bool operands_hold(const Op *op, TypeRelation *relation, const Type *with)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!relation(op_operand(op, i)->type, with)) return false;
    return true;
}

static bool results_hold(const Op *op, TypeRelation *relation, const Type *with)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (!relation(op_result(op, i)->type, with)) return false;
    return true;
}

static bool same_type(const Type *a, const Type *b)
{
    return a == b;
}

static bool has_operand(const Op *op)
{
    return op->operand_count > 0 ||
           op_error(op, "expected 1 or more operands, but found %u", op->operand_count);
}

static bool has_operand_and_result(const Op *op)
{
    return has_operand(op) && (op->result_count > 0 || op_error(op, "expected 1 or more results"));
}

static const Attr *encoding_of(const Type *type)
{
    return type->kind == TYPE_RANKED_TENSOR ? type->u.shaped.extra : NULL;
}

static bool encodings_agree(const Type *a, const Type *b)
{
    return a->kind != TYPE_RANKED_TENSOR || encoding_of(a) == encoding_of(b);
}

static bool verify_same_operands_and_result_type(Op *op)
{
    if (!has_operand_and_result(op)) return false;
    const Type *type = op_result(op, 0)->type;
    if (!results_hold(op, types_agree, type) || !operands_hold(op, types_agree, type))
        return op_error(op, "requires the same type for all operands and results");
    if (!encoding_of(type)) return true;
    if (!results_hold(op, encodings_agree, type) || !operands_hold(op, encodings_agree, type))
        return op_error(op, "requires the same encoding for all operands and results");
    return true;
}

static bool verify_same_type_operands(Op *op)
{
    if (op->operand_count == 0 || operands_hold(op, same_type, op_operand(op, 0)->type))
        return true;
    return op_error(op, "requires all operands to have the same type");
}

static bool verify_same_operands_element_type(Op *op)
{
    if (!has_operand(op)) return false;
    if (operands_hold(op, elems_agree, op_operand(op, 0)->type)) return true;
    return op_error(op, "requires the same element type for all operands");
}

static bool verify_same_operands_and_result_shape(Op *op)
{
    if (!has_operand_and_result(op)) return false;
    if (all_shapes_agree(op, is_any)) return true;
    return op_error(op, "requires the same shape for all operands and results");
}

static bool verify_same_operands_and_result_element_type(Op *op)
{
    if (!has_operand_and_result(op)) return false;
    const Type *type = op_result(op, 0)->type;
    if (results_hold(op, elems_agree, type) && operands_hold(op, elems_agree, type)) return true;
    return op_error(op, "requires the same element type for all operands and results");
}

static bool is_mappable(const Type *type)
{
    return type->kind == TYPE_VECTOR || type_is_tensor(type);
}

static bool mappable_agree(const Type *a, const Type *b)
{
    return !is_mappable(a) || a->kind == b->kind;
}

static const Type *first_mappable_operand(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (is_mappable(op_operand(op, i)->type)) return op_operand(op, i)->type;
    return NULL;
}

static bool verify_elementwise(Op *op)
{
    uint32_t mappable = 0;
    for (uint32_t i = 0; i < op->result_count; i++) mappable += is_mappable(op_result(op, i)->type);
    const Type *operand = first_mappable_operand(op);
    if (!operand && mappable == 0) return true;
    if (!operand)
        return op_error(op, "if a result is non-scalar, then at least one operand must be "
                            "non-scalar");
    if (mappable == 0)
        return op_error(op, "if an operand is non-scalar, then there must be at least one "
                            "non-scalar result");
    if (mappable != op->result_count)
        return op_error(op, "if an operand is non-scalar, then all results must be non-scalar");
    if (operands_hold(op, mappable_agree, operand) && results_hold(op, mappable_agree, operand) &&
        all_shapes_agree(op, is_mappable))
        return true;
    return op_error(op, "all non-scalar operands/results must have the same shape and base type");
}

static bool verify_terminator(Op *op)
{
    if (!op->block || op->next)
        return op_error(op, "must be the last operation in the parent block");
    for (uint32_t i = 0; i < op->successor_count; i++)
        if (op->successors[i].block->parent != op->block->parent)
            return op_error(op, "reference to block defined in another region");
    return true;
}

/* One of the names between '|'. */
static bool name_is_listed(Str name, const char *list)
{
    while (true) {
        size_t len = strcspn(list, "|");
        if (str_eq(name, (Str){list, len})) return true;
        if (!list[len]) return false;
        list += len + 1;
    }
}

static bool verify_parent(const Op *op)
{
    const char *list = op->def->parent;
    const Op *parent = op_parent(op);
    if (parent && parent->def && name_is_listed(op_name(parent), list)) return true;
    if (!strchr(list, '|')) return op_error(op, "expects parent op '%s'", list);
    StrBuf names = {0};
    for (; *list; list++) {
        if (*list == '|')
            strbuf_add_c(&names, ", ");
        else
            strbuf_add_char(&names, *list);
    }
    (void)op_error(op, "expects parent op to be one of '%s'", names.data);
    strbuf_free(&names);
    return false;
}

/* Regions of at most one block, not empty where a terminator ends them. */
static bool verify_single_blocks(Op *op)
{
    for (uint32_t i = 0; i < op->region_count; i++) {
        const Region *region = op_region(op, i);
        if (!region->first) continue;
        if (region->first != region->last)
            return op_error(op, "expects region #%u to have 0 or 1 blocks", i);
        if (!op_has_trait(op, TRAIT_NO_TERMINATOR) && !region->first->first)
            return op_error(op, "expects a non-empty block");
    }
    return true;
}

static void append_types(StrBuf *out, const Type *const *types, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        strbuf_add_c(out, i ? ", '" : "'");
        type_print(out, types[i]);
        strbuf_add_char(out, '\'');
    }
}

static bool report_mismatch(const Op *op, const Type *const *inferred, const Type *const *actual)
{
    StrBuf want = {0}, got = {0};
    append_types(&want, inferred, op->result_count);
    append_types(&got, actual, op->result_count);
    (void)op_error(op, "inferred type(s) %s are incompatible with return type(s) of operation %s",
                   want.data, got.data);
    strbuf_free(&want);
    strbuf_free(&got);
    return false;
}

bool verify_inferred(Op *op)
{
    uint32_t count = op->result_count;
    if (count == 0) return true;
    const Type **types = xcalloc(2 * count, sizeof *types), **actual = types + count;
    for (uint32_t i = 0; i < count; i++) actual[i] = op_result(op, i)->type;
    bool ok = op->def->infer(op, types);
    if (!ok)
        (void)op_error(op, "failed to infer returned types");
    else if (memcmp(types, actual, count * sizeof *types) != 0)
        ok = report_mismatch(op, types, actual);
    free_ptr((void **)&types);
    return ok;
}

typedef struct TraitCheck {
    uint32_t trait;
    bool (*check)(Op *op);
} TraitCheck;

static bool check_all(Op *op, const TraitCheck *checks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (op_has_trait(op, checks[i].trait) && !checks[i].check(op)) return false;
    return true;
}

bool verify_structural_traits(Op *op)
{
    static const TraitCheck checks[] = {
        {TRAIT_SINGLE_BLOCK, verify_single_blocks},
        {TRAIT_TERMINATOR, verify_terminator},
    };
    if (op->def->parent && !verify_parent(op)) return false;
    return check_all(op, checks, COUNT_OF(checks));
}

bool verify_traits(Op *op)
{
    static const TraitCheck checks[] = {
        {TRAIT_SAME_OPERANDS_AND_RESULT_TYPE, verify_same_operands_and_result_type},
        {TRAIT_SAME_TYPE_OPERANDS, verify_same_type_operands},
        {TRAIT_SAME_OPERANDS_ELEMENT_TYPE, verify_same_operands_element_type},
        {TRAIT_SAME_OPERANDS_AND_RESULT_SHAPE, verify_same_operands_and_result_shape},
        {TRAIT_SAME_OPERANDS_AND_RESULT_ELEMENT_TYPE, verify_same_operands_and_result_element_type},
        {TRAIT_ELEMENTWISE, verify_elementwise},
        {TRAIT_SYMBOL, verify_symbol},
        {TRAIT_FUNCTION, verify_function},
    };
    return check_all(op, checks, COUNT_OF(checks));
}
