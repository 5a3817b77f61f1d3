/* Checks of what an op's row declares: the numbers of operands, results, regions and successors,
 * its attributes, and the types of each group. Wording is upstream's.
 * Tests: lit/ir/verify/verify.mir, test/unit/ir/core/opdef_test.c */
#include "ir/asm/print/print.h"
#include "ir/verify/internal.h"

/* Groups of exactly one; *variable says whether others may add more. */
static uint32_t required_count(const ArgDef *args, bool *variable)
{
    uint32_t count = 0;
    *variable = false;
    for (; args && args->name; args++) {
        count += args->arity == ARITY_ONE;
        *variable |= args->arity != ARITY_ONE;
    }
    return count;
}

static bool verify_operand_count(const Op *op)
{
    bool variable;
    uint32_t want = required_count(op->def->operands, &variable), got = op->operand_count;
    if (variable)
        return got >= want || op_error(op, "expected %u or more operands, but found %u", want, got);
    if (got == want) return true;
    if (want == 0) return op_error(op, "requires zero operands");
    if (want == 1) return op_error(op, "requires a single operand");
    return op_error(op, "expected %u operands, but found %u", want, got);
}

static bool verify_result_count(const Op *op)
{
    bool variable;
    uint32_t want = required_count(op->def->results, &variable), got = op->result_count;
    if (variable) return got >= want || op_error(op, "expected %u or more results", want);
    if (got == want) return true;
    if (want == 0) return op_error(op, "requires zero results");
    if (want == 1) return op_error(op, "requires one result");
    return op_error(op, "expected %u results", want);
}

static bool verify_region_count(const Op *op)
{
    uint32_t want = op_info(op)->region_groups;
    if (op->region_count == want) return true;
    if (want == 0) return op_error(op, "requires zero regions");
    if (want == 1) return op_error(op, "requires one region");
    return op_error(op, "expected %u regions", want);
}

static bool verify_successor_count(const Op *op)
{
    uint32_t want = op->def->successor_count, got = op->successor_count;
    if (op->def->variadic_successors)
        return got >= want ||
               op_error(op, "requires at least %u successors but found %u", want, got);
    if (got == want) return true;
    if (want == 1) return op_error(op, "requires 1 successor but found %u", got);
    return op_error(op, "requires %u successors but found %u", want, got);
}

static bool is_segment_list(const Attr *attr, uint32_t groups)
{
    return attr && attr->kind == ATTR_DENSE_ARRAY &&
           type_is_int_width(attr->u.dense_array.elem, 32) && attr->u.dense_array.count == groups;
}

/* An attribute that is no list of sizes counts as all zeros. */
static bool verify_segments(const Op *op, const Ident *name, uint32_t groups, uint32_t total,
                            const char *what)
{
    if (!name) return true;
    const Attr *attr = attr_dict_get(op->props, name);
    bool is_list = is_segment_list(attr, groups);
    int64_t sum = 0;
    for (size_t i = 0; is_list && i < groups; i++) {
        int64_t size = dense_array_i64(attr, i);
        if (size < 0)
            return op_error(op, "'%s' attribute cannot have negative elements", name->str.data);
        sum += size;
    }
    if (sum == total) return true;
    return op_error(op,
                    "%s count (%u) does not match with the total size (%lld) specified in "
                    "attribute '%s'",
                    what, total, (long long)sum, name->str.data);
}

static bool verify_all_segments(const Op *op)
{
    const OpInfo *info = op_info(op);
    return verify_segments(op, info->operand_segments, info->operand_groups, op->operand_count,
                           "operand") &&
           verify_segments(op, info->result_segments, info->result_groups, op->result_count,
                           "result");
}

static bool verify_attrs(const Op *op)
{
    const OpInfo *info = op_info(op);
    for (uint32_t i = 0; i < info->attr_count; i++) {
        uint32_t at = info->attr_order[i];
        const AttrArgDef *attr = &op->def->attrs[at];
        bool required = !attr->optional && !attr->default_text;
        if (required && !attr_dict_get(op->props, info->attr_names[at]))
            return op_error(op, "requires attribute '%s'", attr->name);
    }
    for (uint32_t i = 0; i < info->attr_count; i++) {
        uint32_t at = info->attr_order[i];
        const AttrArgDef *attr = &op->def->attrs[at];
        const Attr *value = attr_dict_get(op->props, info->attr_names[at]);
        if (value && !attr->attr->test(value))
            return op_error(op, "attribute '%s' failed to satisfy constraint: %s", attr->name,
                            attr->attr->what);
    }
    return true;
}

static bool verify_type(const Op *op, const ArgDef *arg, const char *kind, uint32_t number,
                        const Type *type)
{
    if (arg->type->test(type)) return true;
    return op_error(op, "%s #%u must be %s%s, but got '%s'", kind, number,
                    arg->arity == ARITY_VARIADIC ? "variadic of " : "", arg->type->what,
                    type_str(op->ctx, type));
}

static bool verify_group_size(const Op *op, const ArgDef *arg, const char *kind, uint32_t begin,
                              uint32_t count)
{
    if (arg->arity == ARITY_VARIADIC) return true;
    if (arg->arity == ARITY_OPTIONAL)
        return count <= 1 || op_error(op,
                                      "%s group starting at #%u requires 0 or 1 element, but "
                                      "found %u",
                                      kind, begin, count);
    return count == 1 || op_error(op, "%s group starting at #%u requires 1 element, but found %u",
                                  kind, begin, count);
}

static bool verify_operands(const Op *op)
{
    for (uint32_t group = 0; group < op_info(op)->operand_groups; group++) {
        const ArgDef *arg = &op->def->operands[group];
        uint32_t begin, count;
        op_operand_group(op, group, &begin, &count);
        if (!verify_group_size(op, arg, "operand", begin, count)) return false;
        for (uint32_t i = begin; i < begin + count; i++)
            if (!verify_type(op, arg, "operand", i, op_operand(op, i)->type)) return false;
    }
    return true;
}

static bool verify_results(const Op *op)
{
    for (uint32_t group = 0; group < op_info(op)->result_groups; group++) {
        const ArgDef *arg = &op->def->results[group];
        uint32_t begin, count;
        op_result_group(op, group, &begin, &count);
        if (!verify_group_size(op, arg, "result", begin, count)) return false;
        for (uint32_t i = begin; i < begin + count; i++)
            if (!verify_type(op, arg, "result", i, op_result(op, i)->type)) return false;
    }
    return true;
}

static bool verify_regions(const Op *op)
{
    for (uint32_t i = 0; i < op->region_count; i++) {
        const RegionDef *def = &op->def->regions[i];
        const Region *region = op_region(op, i);
        bool is_single = region->first && region->first == region->last;
        if (def->single_block && !is_single)
            return op_error(op,
                            "region #%u ('%s') failed to verify constraint: region with 1 blocks",
                            i, def->name);
        if (!def->any_blocks && !region->first)
            return op_error(op,
                            "region #%u ('%s') failed to verify constraint: region with at least "
                            "1 blocks",
                            i, def->name);
    }
    return true;
}

bool verify_counts(const Op *op)
{
    return verify_region_count(op) && verify_result_count(op) && verify_successor_count(op) &&
           verify_operand_count(op) && verify_all_segments(op);
}

bool verify_declared(const Op *op)
{
    return verify_attrs(op) && verify_operands(op) && verify_results(op) && verify_regions(op);
}
