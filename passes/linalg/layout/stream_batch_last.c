/* stream-batch-last: dense layers of a function of several images take the images' elements side by
 * side, so that each weight meets those of all images before the next one comes:
 *   x : [N][C] ─▶ in order [C][N] ─▶ dense ─▶ [C'][N] ─▶ what is done to each element ─▶ dense ─▶ …
 * A dense layer multiplies an image's only row by a table of weights. Between such layers nothing has
 * to be moved. In front of the first one the elements of all images are brought into that order by a
 * copy, unless they are the function's argument, whose layout says that they come so.
 * Requires: normalize-layout, batch-images (without several images it does nothing).
 * Changes: the order of dimensions of such tensors, maps, signatures.
 * Tests: lit/passes/linalg/stream-batch-last.mir, test/e2e/stream_check.py */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "passes/linalg/layout/internal.h"

typedef struct Turn {
    Arena *arena;
    int64_t images;
    PtrMap items;   /* Value* whose first dimension is that of images */
    PtrMap wanted;  /* Value* that all readers would take with images last */
    PtrMap layouts; /* Value* with images last -> Layout* */
} Turn;

static bool is_item(const Turn *t, const Value *value)
{
    return ptrmap_has(&t->items, value);
}

static bool is_turned(const Turn *t, const Value *value)
{
    return ptrmap_has(&t->layouts, value);
}

static bool begins_with_images(const Turn *t, const Type *type)
{
    return type->kind == TYPE_RANKED_TENSOR && type->u.shaped.rank > 1 &&
           type->u.shaped.rank <= LAYOUT_MAX_RANK && type->u.shaped.dims[0] == t->images;
}

static const AffineMap *output_map(const Op *kernel)
{
    return linalg_operand_map(kernel, linalg_input_count(kernel));
}

static bool is_kernel(const Op *op)
{
    return op->def == LINALG(GENERIC) && op->result_count == 1;
}

static bool is_constant(const Value *value)
{
    return value_def(value) && op_has_trait(value_def(value), TRAIT_CONSTANT_LIKE);
}

/* The loop that counts images: in front of all images' operands and of the result. */
static bool find_loop(const Turn *t, const Op *kernel, uint32_t *loop)
{
    bool found = false;
    for (uint32_t i = 0; i <= linalg_input_count(kernel); i++) {
        const AffineMap *map = linalg_operand_map(kernel, i);
        if (i < linalg_input_count(kernel) && !is_item(t, op_operand(kernel, i))) continue;
        if (map->result_count == 0 || map->results[0]->kind != AFFINE_DIM ||
            (found && map->results[0]->value != (int64_t)*loop))
            return false;
        *loop = (uint32_t)map->results[0]->value;
        found = i < linalg_input_count(kernel);
        if (!found) break;
    }
    return !linalg_is_reduction(kernel, *loop);
}

static bool reads_items(const Turn *t, const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (is_item(t, op_operand(op, i))) return true;
    return false;
}

static void find_items(Turn *t, const Block *body)
{
    uint32_t loop;
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (begins_with_images(t, body->args[i]->type))
            ptrmap_put(&t->items, body->args[i], body->args[i]);
    FOR_EACH_OP(op, body) {
        if (op->result_count != 1 || !begins_with_images(t, op_result(op, 0)->type)) continue;
        bool is_one = is_kernel(op) ? reads_items(t, op) && find_loop(t, op, &loop)
                                    : reads_items(t, op) && !linalg_is_structured(op);
        if (is_one) ptrmap_put(&t->items, op_result(op, 0), op);
    }
}

/* Whether an operand's index is loops, each once, and no image's row is one of several. */
static bool is_row(const Op *kernel, const AffineMap *map, uint32_t images, const int64_t *extents)
{
    for (uint32_t r = 0; r < map->result_count; r++) {
        const AffineExpr *index = map->results[r];
        if (affine_is_const(index)) continue;
        if (index->kind != AFFINE_DIM) return false;
        uint32_t loop = (uint32_t)index->value;
        if (loop != images && !linalg_is_reduction(kernel, loop) && extents[loop] > 1) return false;
    }
    return true;
}

/* From nothing, one number or a constant, to a tensor that is read whole. */
static bool can_turn(const Op *kernel)
{
    const Op *def = value_def(op_operand(kernel, linalg_input_count(kernel)));
    bool is_plain = def && (def->def == TENSOR(EMPTY) || kernel_fill_value(def) ||
                            op_has_trait(def, TRAIT_CONSTANT_LIKE));
    return is_plain && !layout_is_captured(op_result(kernel, 0));
}

/* A reduction over the elements of each image's row with a table that all images share and that
 * has elements for each of several results. */
static bool is_dense(const Turn *t, const Op *op, uint32_t *stream)
{
    int64_t extents[KERNEL_MAX_LOOPS];
    uint32_t loop, streams = 0;
    bool has_weights = false;
    if (!is_kernel(op) || !is_item(t, op_result(op, 0)) || !linalg_reduces(op) || !can_turn(op) ||
        !find_loop(t, op, &loop) || linalg_loop_count(op) > KERNEL_MAX_LOOPS ||
        !linalg_loop_extents(op, extents))
        return false;
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        const AffineMap *map = linalg_operand_map(op, i);
        if (is_item(t, op_operand(op, i))) {
            *stream = i;
            streams++;
            const Op *def = value_def(op_operand(op, i));
            if ((def && def->def == TENSOR(PAD)) || !is_row(op, map, loop, extents)) return false;
        } else if (!is_constant(op_operand(op, i))) {
            return false;
        } else {
            bool reduces = false, results = false;
            for (uint32_t d = 0; d < linalg_loop_count(op); d++) {
                bool is_used = map_uses_dim(map, d) && extents[d] > 1 && d != loop;
                *(linalg_is_reduction(op, d) ? &reduces : &results) |= is_used;
            }
            has_weights |= reduces && results && !map_uses_dim(map, loop);
        }
    }
    return streams == 1 && has_weights;
}

/* Done to each element: what comes of it has its place. */
static bool is_elementwise(const Turn *t, const Op *op)
{
    uint32_t loop;
    if (!is_kernel(op) || !is_item(t, op_result(op, 0)) || linalg_reduces(op) || !can_turn(op) ||
        !map_is_permutation(output_map(op)) || !find_loop(t, op, &loop))
        return false;
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        const Value *value = op_operand(op, i);
        if (is_item(t, value) ? linalg_operand_map(op, i) != output_map(op) : !is_constant(value))
            return false;
    }
    return true;
}

static Layout images_last(uint32_t rank)
{
    Layout layout = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) layout.perm[i] = (i + 1) % rank;
    return layout;
}

/* A reshape of each image. */
static bool keeps_images(const Turn *t, const Op *op)
{
    Layout result;
    if (!reshape_is(op) || !is_item(t, op_operand(op, 0)) || !is_item(t, op_result(op, 0)) ||
        layout_is_captured(op_result(op, 0)))
        return false;
    Layout source = images_last(op_operand(op, 0)->type->u.shaped.rank),
           wanted = images_last(op_result(op, 0)->type->u.shaped.rank);
    return layout_of_reshaped(op, &source, &result) && result.rank == wanted.rank &&
           memcmp(result.perm, wanted.perm, result.rank * sizeof *result.perm) == 0;
}

/* Whether the reader would take the value with images last. */
static bool takes_turned(const Turn *t, const Use *use)
{
    uint32_t stream;
    const Op *op = use->owner;
    if (is_dense(t, op, &stream)) return use_index(use) == stream;
    return (is_elementwise(t, op) || keeps_images(t, op)) &&
           ptrmap_has(&t->wanted, op_result(op, 0));
}

static void want(Turn *t, Value *value)
{
    if (!is_item(t, value) || !value_has_uses(value)) return;
    FOR_EACH_USE(use, value)
        if (!takes_turned(t, use)) return;
    ptrmap_put(&t->wanted, value, value);
}

static void find_wanted(Turn *t, const Block *body)
{
    for (Op *op = body->last; op; op = op->prev)
        for (uint32_t i = 0; i < op->result_count; i++) want(t, op_result(op, i));
    for (uint32_t i = 0; i < body->arg_count; i++) want(t, body->args[i]);
}

static void turn(Turn *t, const Value *value)
{
    Layout layout = images_last(value->type->u.shaped.rank);
    ptrmap_put(&t->layouts, value, arena_copy(t->arena, &layout, sizeof layout));
}

/* The tensors that a kernel's result begins as. */
static void turn_initial(Turn *t, Value *init)
{
    const Op *def = value_def(init);
    if (!def || op_has_trait(def, TRAIT_CONSTANT_LIKE)) return;
    turn(t, init);
    if (kernel_fill_value(def)) turn_initial(t, op_operand(def, def->operand_count - 1));
}

static void turn_kernel(Turn *t, Op *op)
{
    turn(t, op_result(op, 0));
    layout_unshare_initial(op, op->operand_count - 1);
    turn_initial(t, op_operand(op, op->operand_count - 1));
}

/* A kernel in front of the op that copies the value. */
static Op *build_copy(Op *op, Value *value)
{
    const uint32_t rank = value->type->u.shaped.rank;
    const AffineMap *maps[2] = {map_identity(op->ctx, rank), map_identity(op->ctx, rank)};
    bool is_reduction[LAYOUT_MAX_RANK] = {false};
    Builder b = builder_before(op);
    Value *init = parts_empty_like(&b, value);
    Op *copy = linalg_build_generic(&b, &value, 1, &init, 1, linalg_maps_attr(b.ctx, maps, 2),
                                    linalg_iterators_attr(b.ctx, is_reduction, rank));
    Builder body = builder_at_end(linalg_body(copy), op->loc);
    linalg_yield(&body, &linalg_body(copy)->args[0], 1);
    return copy;
}

/* A copy of the value for all dense layers that read it. */
static void copy_for_dense(Turn *t, Op *dense, uint32_t stream)
{
    Value *value = op_operand(dense, stream);
    VEC(Op *) readers = {0};
    FOR_EACH_USE(use, value) *vec_push(&readers) = use->owner;
    Op *copy = build_copy(dense, value);
    ptrmap_put(&t->items, op_result(copy, 0), copy);
    turn_kernel(t, copy);
    for (size_t i = 0; i < readers.len; i++)
        if (is_dense(t, readers.data[i], &stream) && op_operand(readers.data[i], stream) == value)
            op_set_operand(readers.data[i], stream, op_result(copy, 0));
    vec_free(&readers);
}

static bool reads_turned_only(const Turn *t, const Op *op)
{
    for (uint32_t i = 0; i < linalg_input_count(op); i++)
        if (is_item(t, op_operand(op, i)) && !is_turned(t, op_operand(op, i))) return false;
    return true;
}

/* Readers that take only what comes image by image get a copy in that order: they are no kernels, of
 * which insert-reorders knows what they need. */
static void copy_for_others(Turn *t, Op *op)
{
    if (is_kernel(op) || op->def == FUNC(RETURN) ||
        (reshape_is(op) && is_turned(t, op_result(op, 0))))
        return;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        Value *value = op_operand(op, i);
        if (is_item(t, value) && is_turned(t, value))
            op_set_operand(op, i, op_result(build_copy(op, value), 0));
    }
}

static bool run(Pass *pass, Op *func)
{
    const Attr *images = op_attr(op_parent(func), DFG_ATTR_IMAGES);
    Block *body = func_entry(func);
    Turn t = {.arena = &pass->scratch, .images = images ? attr_int_value(images) : 1};
    uint32_t stream;
    pass->unchanged = true;
    if (t.images == 1 || !body) return true;
    if (!layout_check_recorded(func)) return false;
    find_items(&t, body);
    find_wanted(&t, body);
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (ptrmap_has(&t.wanted, body->args[i])) turn(&t, body->args[i]);
    FOR_EACH_OP(op, body) {
        if (is_dense(&t, op, &stream)) {
            if (!is_turned(&t, op_operand(op, stream))) copy_for_dense(&t, op, stream);
            turn_kernel(&t, op);
        } else if (is_elementwise(&t, op) && reads_turned_only(&t, op)) {
            turn_kernel(&t, op);
        } else if (keeps_images(&t, op) && is_turned(&t, op_operand(op, 0))) {
            turn(&t, op_result(op, 0));
        }
        copy_for_others(&t, op);
    }
    pass->unchanged = t.layouts.len == 0;
    layout_apply(func, &t.layouts);
    ptrmap_free(&t.items);
    ptrmap_free(&t.wanted);
    ptrmap_free(&t.layouts);
    return true;
}

const PassDef pass_stream_batch_last = {
    .name = "stream-batch-last",
    .summary = "Let dense layers take the elements of all images of a frame side by side",
    .description =
        "Tensors at dense layers, and between them, get the dimension of images last, so that a "
        "layer uses each of its weights for all images before it needs the next one. Others stay; "
        "a "
        "copy in front of the first dense layer brings elements into that order.",
    .anchor = "func.func",
    .run = run,
};
