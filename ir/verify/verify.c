/* The verifier's walk: the structure of regions and blocks and each op on the way down, checks that
 * depend on nested ops on the way up, and the dominance of each isolated region tree once its
 * structure is correct.
 *
 * A failure ends the check of its tree; the isolated trees inside an op come last, and each is
 * checked. The walk has its own stack, so that deeply nested IR cannot overflow the C stack. Order
 * and wording are upstream's.
 * Tests: lit/ir/verify/verify.mir */
#include "ir/asm/print/print.h"
#include "ir/verify/internal.h"

/* A lone block of a detached region, an unregistered op or one with the trait. */
static bool may_lack_terminator(const Block *block)
{
    const Region *region = block->parent;
    if (!region) return true;
    if (region->first != region->last) return false;
    const Op *parent = region->parent;
    return !parent || !parent->def || op_has_trait(parent, TRAIT_NO_TERMINATOR);
}

static bool block_enter(const Block *block)
{
    if (!block->first) {
        if (may_lack_terminator(block)) return true;
        return op_emit_error(block->parent->parent, "empty block: expect at least a terminator");
    }
    bool ok = true;
    FOR_EACH_OP(op, block)
        if (op->successor_count > 0 && op->next)
            ok = op_emit_error(op,
                               "operation with block successors must terminate its parent block");
    return ok;
}

static bool missing_terminator(Op *last)
{
    PrintOptions options = PRINT_DEFAULT;
    options.generic = true;
    options.local_scope = true;
    StrBuf text = {0};
    op_print(&text, last, &options);
    while (text.len && text.data[text.len - 1] == '\n') text.data[--text.len] = '\0';
    (void)op_emit_error(last, "block with no terminator, has %s", text.data);
    strbuf_free(&text);
    return false;
}

static bool block_exit(const Block *block)
{
    Op *last = block->last;
    if (!last) return true;
    for (uint32_t i = 0; i < last->successor_count; i++)
        if (last->successors[i].block->parent != block->parent)
            return op_error(last, "branching to block of a different region");
    if (may_lack_terminator(block) || !last->def || op_is_terminator(last)) return true;
    return missing_terminator(last);
}

static bool verify_operands_exist(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!op_operand(op, i)) return op_emit_error(op, "null operand found");
    return true;
}

static bool verify_discardable(Op *op)
{
    bool ok = true;
    for (uint32_t i = 0; i < op->attrs->u.dict.count; i++) {
        const NamedAttr *attr = &op->attrs->u.dict.items[i];
        const DialectDef *dialect = dialect_of_attrs(op->ctx, dialect_prefix(attr->name->str));
        if (dialect && dialect->verify_op_attr) ok &= dialect->verify_op_attr(op, attr);
    }
    return ok;
}

static bool verify_region_shapes(const Op *op)
{
    for (uint32_t i = 0; i < op->region_count; i++) {
        const Region *region = op_region(op, i);
        bool is_graph = op_has_trait(op, TRAIT_GRAPH_REGION);
        if (is_graph && region->first != region->last)
            return op_error(op, "expects graph region #%u to have 0 or 1 blocks", i);
        if (region->first && region->first->uses)
            return op_emit_error(op, "entry block of region may not have predecessors");
    }
    return true;
}

/* The inferred types are checked after the hook, because its messages may be more precise. */
static bool verify_registered(Op *op)
{
    const OpDef *def = op->def;
    return verify_counts(op) && verify_structural_traits(op) && verify_declared(op) &&
           (!def->verify_types || def->verify_types(op)) && verify_traits(op) &&
           (!def->verify || def->verify(op)) && (!def->infer || verify_inferred(op));
}

static bool op_enter(Op *op)
{
    if (!verify_operands_exist(op) || !verify_discardable(op)) return false;
    return (!op->def || verify_registered(op)) && verify_region_shapes(op);
}

/* A registered dialect has only the ops of its table; ops of other dialects need the permission of
 * the context. */
static bool verify_unregistered(const Op *op)
{
    Str name = op_name(op), dialect = dialect_prefix(name);
    if (dialect_lookup(op->ctx, dialect))
        return op_emit_error(op,
                             "unregistered operation '%.*s' found in dialect ('%.*s') that does "
                             "not allow unknown operations",
                             STR_ARG(name), STR_ARG(dialect));
    if (dialect_allows_unregistered(op->ctx)) return true;
    return op_error(op, "created with unregistered dialect. If this is intended, please call "
                        "allowUnregisteredDialects() on the MLIRContext, or use "
                        "-allow-unregistered-dialect with the MLIR opt tool used");
}

static void note_result(const Op *user, const Op *def)
{
    const Region *use_region = user->block->parent;
    const Region *def_region = def->block ? def->block->parent : NULL;
    const char *where = " (op is neither in a parent nor in a child region)";
    if (user->block == def->block)
        where = " (op in the same block)";
    else if (use_region == def_region)
        where = " (op in the same region)";
    else if (region_is_ancestor(def_region, use_region))
        where = " (op in a parent region)";
    else if (region_is_ancestor(use_region, def_region))
        where = " (op in a child region)";
    (void)diag_note(def->ctx, def->loc, "operand defined here%s", where);
}

static void note_argument(const Op *user, const Block *block)
{
    const Region *use_region = user->block->parent, *region = block->parent;
    if (!region) {
        (void)diag_note(user->ctx, user->loc, " (block without parent)");
        return;
    }
    unsigned number = 0;
    for (const Block *before = block->prev; before; before = before->prev) number++;
    const char *where = " neither in a parent nor in a child region)";
    if (use_region == region)
        where = " in the same region)";
    else if (region_is_ancestor(region, use_region))
        where = " in a parent region)";
    else if (region_is_ancestor(use_region, region))
        where = " in a child region)";
    (void)diag_note(user->ctx, region->parent->loc,
                    "operand defined as a block argument (block #%u%s", number, where);
}

static bool verify_uses(Dominance *dom, Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        Value *value = op_operand(op, i);
        if (dominance_value(dom, value, op)) continue;
        (void)op_emit_error(op, "operand #%u does not dominate this use", i);
        if (value->is_arg)
            note_argument(op, value->owner.block);
        else
            note_result(op, value->owner.op);
        return false;
    }
    return true;
}

static bool verify_block_dominance(Dominance *dom, Block *block, OpVec *nested)
{
    bool ok = true;
    bool reachable = block_is_reachable(dom, block);
    FOR_EACH_OP(op, block) {
        if (reachable) ok &= verify_uses(dom, op);
        if (op->region_count > 0 && !op_has_trait(op, TRAIT_ISOLATED)) *vec_push(nested) = op;
    }
    return ok;
}

/* Checks everything in the op except for isolated ops, which were checked before. */
static bool verify_dominance(Op *root)
{
    Dominance *dom = dominance_create();
    OpVec pending = {0};
    bool ok = true;
    *vec_push(&pending) = root;
    while (pending.len) {
        Op *op = pending.data[--pending.len];
        for (uint32_t i = 0; i < op->region_count; i++)
            FOR_EACH_BLOCK(block, op_region(op, i))
                ok &= verify_block_dominance(dom, block, &pending);
    }
    vec_free(&pending);
    dominance_free(dom);
    return ok;
}

static bool op_exit(Op *op, const Op *root)
{
    if (!op->def) {
        if (!verify_unregistered(op)) return false;
    } else {
        if (!verify_region_traits(op)) return false;
        if (op->def->verify_regions && !op->def->verify_regions(op)) return false;
    }
    bool heads_tree = op == root || op_has_trait(op, TRAIT_ISOLATED);
    return !heads_tree || op->region_count == 0 || verify_dominance(op);
}

/* An op whose regions are being checked, and the position of the walk in it. Isolated ops wait
 * until everything else was checked. */
typedef struct VerifyFrame {
    Op *op;
    uint32_t region;
    Block *block;    /* NULL: before the region's first */
    Op *next;        /* in block */
    bool heads_tree; /* isolated, or the root */
    bool isolated;   /* now come the isolated ops */
    bool ok;
} VerifyFrame;

typedef VEC(VerifyFrame) FrameVec;

static bool waits(const Op *op)
{
    return op->region_count > 0 && op_has_trait(op, TRAIT_ISOLATED);
}

/* The first block after the frame's, or NULL: there is none, or one that must not be entered. */
static Block *next_block(VerifyFrame *frame)
{
    if (frame->block && !frame->isolated) frame->ok = block_exit(frame->block);
    if (frame->block) frame->block = frame->block->next;
    while (!frame->block && frame->region < frame->op->region_count)
        frame->block = op_region(frame->op, frame->region++)->first;
    if (!frame->block || (!frame->ok && !frame->isolated)) return NULL;
    if (!frame->isolated) frame->ok = block_enter(frame->block);
    return frame->ok || frame->isolated ? frame->block : NULL;
}

/* The next op directly inside the frame's op that is its turn. */
static Op *frame_advance(VerifyFrame *frame)
{
    while (true) {
        for (Op *op = frame->next; op; op = op->next) {
            if (waits(op) != frame->isolated) continue;
            frame->next = op->next;
            return op;
        }
        frame->next = NULL;
        if (next_block(frame)) {
            frame->next = frame->block->first;
        } else if (!frame->ok || frame->isolated) {
            return NULL;
        } else {
            *frame = (VerifyFrame){frame->op, .heads_tree = frame->heads_tree, .isolated = true,
                                   .ok = true};
        }
    }
}

/* Checks an op on entrance; one with regions is left to the walk. */
static bool begin(FrameVec *stack, Op *op, const Op *root)
{
    if (!op_enter(op)) return false;
    if (op->region_count == 0) return op_exit(op, root);
    *vec_push(stack) = (VerifyFrame){.op = op, .heads_tree = op == root || waits(op), .ok = true};
    return true;
}

/* A failure ends the check of the innermost isolated tree; other trees in its parent go on. */
static void abandon_tree(FrameVec *stack)
{
    while (stack->len && !stack->data[stack->len - 1].heads_tree) stack->len--;
    if (stack->len) stack->len--;
    if (stack->len) stack->data[stack->len - 1].ok = false;
}

/* Continues in the top frame; true if all checks in it passed. */
static bool step(FrameVec *stack, const Op *root, bool *ended)
{
    VerifyFrame *top = &stack->data[stack->len - 1];
    Op *inner = frame_advance(top);
    *ended = !inner;
    if (!inner) return top->ok && op_exit(top->op, root);
    bool is_tree = top->isolated;
    size_t depth = stack->len - 1;
    bool ok = begin(stack, inner, root);
    if (!ok && is_tree) stack->data[depth].ok = false;
    return ok || is_tree;
}

bool verify_op(Op *op)
{
    FrameVec stack = {0};
    bool ok = begin(&stack, op, op);
    while (stack.len) {
        bool ended;
        if (!step(&stack, op, &ended)) {
            ok = false;
            abandon_tree(&stack);
        } else if (ended) {
            stack.len--;
        }
    }
    vec_free(&stack);
    diag_flush(op->ctx);
    return ok;
}
