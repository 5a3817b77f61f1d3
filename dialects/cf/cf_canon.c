/* Canonicalization of branches: conditions that are constant, blocks with one predecessor, blocks
 * that only branch on, equal targets, and conditions that an earlier branch has decided. A
 * BranchTarget is a successor with its operands; patterns read it, change it and build a new branch
 * from it.
 * Tests: lit/dialects/cf/canonicalize.mir */
#include "dialects/arith/arith.h"
#include "dialects/cf/cf.h"
#include "dialects/cf/internal.h"
#include "dialects/common/common.h"

typedef struct BranchTarget {
    Block *block;
    ValueList operands;
} BranchTarget;

static void target_read(const Op *branch, uint32_t index, BranchTarget *out)
{
    uint32_t begin, count;
    cf_successor_operands(branch, index, &begin, &count);
    *out = (BranchTarget){.block = branch->successors[index].block};
    for (uint32_t i = 0; i < count; i++) *vec_push(&out->operands) = op_operand(branch, begin + i);
}

static void target_free(BranchTarget *target)
{
    vec_free(&target->operands);
}

static bool targets_equal(const BranchTarget *a, const BranchTarget *b)
{
    bool same = a->block == b->block && a->operands.len == b->operands.len;
    for (size_t i = 0; same && i < a->operands.len; i++)
        same = a->operands.data[i] == b->operands.data[i];
    return same;
}

/* The only edge into a block comes from this block's terminator. */
static Op *single_predecessor(const Block *block)
{
    const BlockUse *use = block->uses;
    return use && !use->next ? use->owner : NULL;
}

static bool args_used_only_by(const Block *block, const Op *user)
{
    for (uint32_t i = 0; i < block->arg_count; i++)
        FOR_EACH_USE(use, block->args[i])
            if (use->owner != user) return false;
    return true;
}

/* Follows a block that does nothing but branch on; true if the target changed. */
static bool target_pass_through(BranchTarget *target)
{
    const Block *block = target->block;
    const Op *next = block->first;
    if (!next || next->next || next->def != CF(BR) || !args_used_only_by(block, next) ||
        next->successors[0].block == block)
        return false;
    BranchTarget onward;
    target_read(next, 0, &onward);
    for (size_t i = 0; i < onward.operands.len; i++) {
        Value *value = onward.operands.data[i];
        if (value->is_arg && value->owner.block == block)
            onward.operands.data[i] = target->operands.data[value->index];
    }
    target_free(target);
    *target = onward;
    return true;
}

typedef struct SwitchParts {
    Value *flag;
    VEC(BranchTarget) targets; /* the default first */
    VEC(const Attr *) values;
} SwitchParts;

static void replace_branch(Rewriter *rw, Op *op, const OpDef *def, const ValueList *operands,
                           Block *const *blocks, uint32_t block_count, const Attr *props)
{
    OpState state = {.name = opinfo_of_def(op->ctx, def)->name,
                     .loc = op->loc,
                     .operands = operands->data,
                     .operand_count = (uint32_t)operands->len,
                     .successors = blocks,
                     .successor_count = block_count,
                     .props = props};
    (void)build_op(&rw->b, &state);
    rewriter_erase(rw, op);
}

static void replace_by_br(Rewriter *rw, Op *op, const BranchTarget *target)
{
    replace_branch(rw, op, CF(BR), &target->operands, &target->block, 1, NULL);
}

static void append(ValueList *list, const ValueList *more)
{
    for (size_t i = 0; i < more->len; i++) *vec_push(list) = more->data[i];
}

static const Attr *sizes_attr(Context *ctx, const int32_t *sizes, size_t count)
{
    return attr_dense_array(type_i(ctx, 32), sizes, count);
}

static void replace_by_cond_br(Rewriter *rw, Op *op, const BranchTarget *on_true,
                               const BranchTarget *on_false)
{
    ValueList operands = {0};
    Block *blocks[] = {on_true->block, on_false->block};
    int32_t sizes[] = {1, (int32_t)on_true->operands.len, (int32_t)on_false->operands.len};
    NamedAttr attr =
        build_named_attr(op->ctx, "operandSegmentSizes", sizes_attr(op->ctx, sizes, 3));
    *vec_push(&operands) = op_operand(op, 0);
    append(&operands, &on_true->operands);
    append(&operands, &on_false->operands);
    replace_branch(rw, op, CF(COND_BR), &operands, blocks, 2, attr_dict(op->ctx, &attr, 1));
    vec_free(&operands);
}

static bool assert_true(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    if (!const_is_int(fold_constant_of(op_operand(op, 0)), 1)) return false;
    rewriter_erase(rw, op);
    return true;
}

void cf_canonicalize_assert(PatternSet *set)
{
    pattern_add(set, "assert-true", CF(ASSERT), 1, assert_true);
}

/* A block entered from here only becomes the rest of this one. */
static bool br_merge(Rewriter *rw, Op *op)
{
    Block *block = op->block, *next = op->successors[0].block;
    if (next == block || single_predecessor(next) != op) return false;
    BranchTarget target;
    target_read(op, 0, &target);
    rewriter_erase(rw, op);
    for (uint32_t i = 0; i < next->arg_count; i++)
        rewriter_replace_value(rw, next->args[i], target.operands.data[i]);
    block_splice(block, next);
    block_erase(next);
    target_free(&target);
    return true;
}

static bool simplify_br(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    if (br_merge(rw, op)) return true;
    BranchTarget target;
    target_read(op, 0, &target);
    bool changed = target.block != op->block && target_pass_through(&target);
    if (changed) replace_by_br(rw, op, &target);
    target_free(&target);
    return changed;
}

void cf_canonicalize_br(PatternSet *set)
{
    pattern_add(set, "simplify-br", CF(BR), 1, simplify_br);
}

static bool take_branch(Rewriter *rw, Op *op, uint32_t index)
{
    BranchTarget target;
    target_read(op, index, &target);
    replace_by_br(rw, op, &target);
    target_free(&target);
    return true;
}

/* cond_br true, ^a, ^b -> br ^a */
static bool cond_br_constant(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const Attr *condition = fold_constant_of(op_operand(op, 0));
    if (!condition) return false;
    return take_branch(rw, op, const_is_int(condition, 0) ? 1 : 0);
}

static bool cond_br_pass_through(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    BranchTarget on_true, on_false;
    target_read(op, 0, &on_true);
    target_read(op, 1, &on_false);
    bool changed = target_pass_through(&on_true);
    changed = target_pass_through(&on_false) || changed;
    if (changed) replace_by_cond_br(rw, op, &on_true, &on_false);
    target_free(&on_true);
    target_free(&on_false);
    return changed;
}

static bool entered_only_from(const Block *block, const Block *predecessor)
{
    for (const BlockUse *use = block->uses; use; use = use->next)
        if (use->owner->block != predecessor) return false;
    return true;
}

/* cond_br c, ^a(x), ^a(y) -> br ^a(select c, x, y) */
static bool cond_br_same_block(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    BranchTarget on_true, on_false;
    target_read(op, 0, &on_true);
    target_read(op, 1, &on_false);
    bool ok = on_true.block == on_false.block &&
              (targets_equal(&on_true, &on_false) || entered_only_from(on_true.block, op->block));
    for (size_t i = 0; ok && i < on_true.operands.len; i++) {
        Value **value = &on_true.operands.data[i];
        if (*value != on_false.operands.data[i])
            *value = arith_select(&rw->b, op_operand(op, 0), *value, on_false.operands.data[i]);
    }
    if (ok) replace_by_br(rw, op, &on_true);
    target_free(&on_true);
    target_free(&on_false);
    return ok;
}

/* The only way here was a cond_br on the same condition. */
static bool cond_br_decided(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const Op *earlier = single_predecessor(op->block);
    if (!earlier || earlier->def != CF(COND_BR) || op_operand(earlier, 0) != op_operand(op, 0))
        return false;
    return take_branch(rw, op, earlier->successors[0].block == op->block ? 0 : 1);
}

/* In a block that only one outcome reaches, the condition is that outcome. */
static bool propagate_outcome(Rewriter *rw, Op *op, uint32_t index)
{
    Value *condition = op_operand(op, 0), *constant = NULL;
    const Block *block = op->successors[index].block;
    if (!single_predecessor(block)) return false;
    for (Use *use = condition->uses, *next; use; use = next) {
        next = use->next;
        if (use->owner->block != block) continue;
        if (!constant) constant = arith_constant(&rw->b, attr_bool(op->ctx, index == 0));
        use_set(use, constant);
        rewriter_modified(rw, use->owner);
    }
    return constant != NULL;
}

static bool cond_br_propagate(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    bool on_true = propagate_outcome(rw, op, 0);
    return propagate_outcome(rw, op, 1) || on_true;
}

void cf_canonicalize_cond_br(PatternSet *set)
{
    pattern_add(set, "cond-br-constant", CF(COND_BR), 1, cond_br_constant);
    pattern_add(set, "cond-br-pass-through", CF(COND_BR), 1, cond_br_pass_through);
    pattern_add(set, "cond-br-same-block", CF(COND_BR), 1, cond_br_same_block);
    pattern_add(set, "cond-br-decided", CF(COND_BR), 1, cond_br_decided);
    pattern_add(set, "cond-br-propagate", CF(COND_BR), 1, cond_br_propagate);
}

static void switch_read(const Op *op, SwitchParts *out)
{
    const Attr *values = op_attr(op, "case_values");
    *out = (SwitchParts){.flag = op_operand(op, 0)};
    for (uint32_t i = 0; i < op->successor_count; i++) {
        target_read(op, i, vec_push(&out->targets));
        if (i > 0) *vec_push(&out->values) = dense_elem(values, i - 1);
    }
}

static void switch_free(SwitchParts *parts)
{
    for (size_t i = 0; i < parts->targets.len; i++) target_free(&parts->targets.data[i]);
    vec_free(&parts->targets);
    vec_free(&parts->values);
}

static void switch_drop_case(SwitchParts *parts, size_t index)
{
    target_free(&parts->targets.data[index + 1]);
    for (size_t i = index + 1; i < parts->values.len; i++) {
        parts->values.data[i - 1] = parts->values.data[i];
        parts->targets.data[i] = parts->targets.data[i + 1];
    }
    parts->values.len--;
    parts->targets.len--;
}

static void replace_by_switch(Rewriter *rw, Op *op, const SwitchParts *parts)
{
    Context *ctx = op->ctx;
    ValueList operands = {0};
    VEC(Block *) blocks = {0};
    VEC(int32_t) sizes = {0};
    int32_t total = 0, first = (int32_t)parts->targets.data[0].operands.len;
    int64_t count = (int64_t)parts->values.len;
    *vec_push(&operands) = parts->flag;
    for (size_t i = 0; i < parts->targets.len; i++) {
        const BranchTarget *target = &parts->targets.data[i];
        append(&operands, &target->operands);
        *vec_push(&blocks) = target->block;
        *vec_push(&sizes) = (int32_t)target->operands.len;
        total += (int32_t)target->operands.len;
    }
    int32_t segments[] = {1, first, total - first};
    NamedAttr props[3] = {
        build_named_attr(ctx, "operandSegmentSizes", sizes_attr(ctx, segments, 3)),
        build_named_attr(ctx, "case_operand_segments",
                         sizes_attr(ctx, sizes.data + 1, sizes.len - 1))};
    if (count > 0) {
        const Type *type = type_vector(parts->flag->type, &count, 1, NULL);
        props[2] = build_named_attr(
            ctx, "case_values", const_from_scalars(type, parts->values.data, parts->values.len));
    }
    replace_branch(rw, op, CF(SWITCH), &operands, blocks.data, (uint32_t)blocks.len,
                   attr_dict(ctx, props, count > 0 ? 3 : 2));
    vec_free(&operands);
    vec_free(&blocks);
    vec_free(&sizes);
}

/* Index of the successor that a value of the flag selects. */
static uint32_t successor_of_value(const SwitchParts *parts, const Attr *value)
{
    for (size_t i = 0; i < parts->values.len; i++)
        if (parts->values.data[i] == value) return (uint32_t)i + 1;
    return 0;
}

static bool switch_only_default(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    return op->successor_count == 1 && take_branch(rw, op, 0);
}

/* A case that goes where the default does, or whose value an earlier case has, is not needed. The
 * latter must go along, unlike in upstream 19: it would be taken once the earlier one is gone. */
static bool switch_drop_default_cases(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    SwitchParts parts;
    PtrMap first = {0}; /* value -> its first case + 1 */
    switch_read(op, &parts);
    size_t before = parts.values.len;
    for (size_t i = before; i-- > 0;)
        ptrmap_put(&first, parts.values.data[i], (void *)(uintptr_t)(i + 1));
    for (size_t i = before; i-- > 0;)
        if ((uintptr_t)ptrmap_get(&first, parts.values.data[i]) != i + 1 ||
            targets_equal(&parts.targets.data[i + 1], &parts.targets.data[0]))
            switch_drop_case(&parts, i);
    ptrmap_free(&first);
    bool changed = parts.values.len != before;
    if (changed) replace_by_switch(rw, op, &parts);
    switch_free(&parts);
    return changed;
}

static bool switch_constant(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const Attr *flag = fold_constant_of(op_operand(op, 0));
    if (!flag) return false;
    SwitchParts parts;
    switch_read(op, &parts);
    uint32_t index = successor_of_value(&parts, flag);
    switch_free(&parts);
    return take_branch(rw, op, index);
}

static bool switch_pass_through(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    SwitchParts parts;
    bool changed = false;
    switch_read(op, &parts);
    for (size_t i = 0; i < parts.targets.len; i++)
        changed = target_pass_through(&parts.targets.data[i]) || changed;
    if (changed) replace_by_switch(rw, op, &parts);
    switch_free(&parts);
    return changed;
}

/* A switch on the same flag whose only edge leads here, or NULL. */
static Op *deciding_switch(const Op *op)
{
    Op *earlier = single_predecessor(op->block);
    bool same =
        earlier && earlier->def == CF(SWITCH) && op_operand(earlier, 0) == op_operand(op, 0);
    return same ? earlier : NULL;
}

/* Reached through a case of an earlier switch: the flag is that case's value. */
static bool switch_decided(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const Op *earlier = deciding_switch(op);
    if (!earlier || earlier->successors[0].block == op->block) return false;
    SwitchParts before, parts;
    switch_read(earlier, &before);
    switch_read(op, &parts);
    uint32_t index = 1;
    while (before.targets.data[index].block != op->block) index++;
    uint32_t taken = successor_of_value(&parts, before.values.data[index - 1]);
    switch_free(&before);
    switch_free(&parts);
    return take_branch(rw, op, taken);
}

/* Reached through the default of an earlier switch: the flag is none of its cases. */
static bool switch_excluded(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const Op *earlier = deciding_switch(op);
    if (!earlier || earlier->successors[0].block != op->block) return false;
    SwitchParts before, parts;
    switch_read(earlier, &before);
    switch_read(op, &parts);
    size_t count = parts.values.len;
    for (size_t i = count; i-- > 0;)
        if (successor_of_value(&before, parts.values.data[i]) != 0) switch_drop_case(&parts, i);
    bool changed = parts.values.len != count;
    if (changed) replace_by_switch(rw, op, &parts);
    switch_free(&before);
    switch_free(&parts);
    return changed;
}

void cf_canonicalize_switch(PatternSet *set)
{
    pattern_add(set, "switch-only-default", CF(SWITCH), 1, switch_only_default);
    pattern_add(set, "switch-drop-default-cases", CF(SWITCH), 1, switch_drop_default_cases);
    pattern_add(set, "switch-constant", CF(SWITCH), 1, switch_constant);
    pattern_add(set, "switch-pass-through", CF(SWITCH), 1, switch_pass_through);
    pattern_add(set, "switch-decided", CF(SWITCH), 1, switch_decided);
    pattern_add(set, "switch-excluded", CF(SWITCH), 1, switch_excluded);
}
