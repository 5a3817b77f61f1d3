/* batch-images: a function of one frame becomes the function of several images, each of which it
 * computes as it did the frame.
 *   tensor<1x...>, tensor<...> without such a dimension  ->  tensor<Nx...>
 *   generic { loops } -> generic { image, loops }: the image's loop indexes what is of an image; what
 *                        all share (weights) is indexed as before
 * A dimension of one element in front is taken for that of images, so the model's own batch of one
 * grows; other tensors get a dimension more. Nothing can depend on other images, since every op gets
 * the loop, whatever it does.
 * Requires: named ops generalized, straight-line functions on static tensors.
 * Changes: types, maps, parameters of moves, signatures. Of tensors of the network (dfg.tensors) it drops
 * those without such a dimension.
 * Tests: lit/passes/linalg/batch-images.mir, test/e2e/stream_check.py */
#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "ir/pass/pass.h"
#include "passes/linalg/passes.h"

typedef struct Batch {
    int64_t images;
    PtrMap items;   /* Value* of an image -> const Type*: what it was for a frame */
    VEC(Op *) idle; /* ops that have nothing left to do, and go last */
} Batch;

static const Type *frame_type(const Batch *b, const Value *value)
{
    return ptrmap_get(&b->items, value);
}

static bool is_item(const Batch *b, const Value *value)
{
    return ptrmap_has(&b->items, value);
}

/* Whether a frame's tensor has a dimension of one element in front, which becomes that of images. */
static bool has_unit(const Type *frame)
{
    return frame->u.shaped.rank > 0 && frame->u.shaped.dims[0] == 1;
}

/* NULL: there is no such type. */
static const Type *batched_type(const Batch *b, const Type *frame)
{
    int64_t dims[KERNEL_MAX_LOOPS + 1], count;
    if (frame->kind != TYPE_RANKED_TENSOR || frame->u.shaped.rank > KERNEL_MAX_LOOPS ||
        !type_element_count(frame, &count) || (count > 0 && b->images > INT64_MAX / 64 / count))
        return NULL;
    const uint32_t skip = has_unit(frame), rank = frame->u.shaped.rank + 1 - skip;
    dims[0] = b->images;
    for (uint32_t i = 1; i < rank; i++) dims[i] = frame->u.shaped.dims[i - 1 + skip];
    return type_with_shape(frame, dims, rank);
}

static bool refuse(const Batch *b, const Op *op, const char *why)
{
    return op_error(op, "cannot be computed for %lld images at once: %s", (long long)b->images,
                    why);
}

static bool make_item(Batch *b, const Op *op, Value *value)
{
    const Type *frame = value->type, *type = batched_type(b, frame);
    if (!type)
        return refuse(b, op, "its tensors have no known shape, too many dimensions or elements");
    ptrmap_put(&b->items, value, (void *)(uintptr_t)frame);
    value->type = type;
    return true;
}

/* The tensors of the network that a value is. NULL: none. */
static const Attr *batched_tensors(const Batch *b, const Attr *list, const Type *frame)
{
    return list && has_unit(frame) ? dfg_tensors_batch(list, b->images) : NULL;
}

/* Values that all images share, where an op needs one of each. */

static Value *empty_of(Builder *at, const Type *type)
{
    MixedIndex sizes[KERNEL_MAX_LOOPS + 1];
    for (uint32_t i = 0; i < type->u.shaped.rank; i++)
        sizes[i] = mixed_constant(type->u.shaped.dims[i]);
    return tensor_empty(at, sizes, type->u.shaped.rank, type_elem(type));
}

/* A kernel that repeats a value for each image. */
static Value *repeat(Builder *at, Value *value, const Type *type)
{
    const uint32_t rank = type->u.shaped.rank, skip = has_unit(value->type);
    const AffineExpr *from[KERNEL_MAX_LOOPS + 1];
    bool is_reduction[KERNEL_MAX_LOOPS + 1] = {false};
    if (skip) from[0] = affine_const(at->ctx, 0);
    for (uint32_t i = 1; i < rank; i++) from[i - 1 + skip] = affine_dim(at->ctx, i);
    const AffineMap *maps[2] = {map_get(at->ctx, rank, 0, value->type->u.shaped.rank, from),
                                map_identity(at->ctx, rank)};
    Value *init = empty_of(at, type);
    Op *generic = linalg_build_generic(at, &value, 1, &init, 1, linalg_maps_attr(at->ctx, maps, 2),
                                       linalg_iterators_attr(at->ctx, is_reduction, rank));
    Block *body = linalg_body(generic);
    Builder inner = builder_at_end(body, generic->loc);
    linalg_yield(&inner, &body->args[0], 1);
    return op_result(generic, 0);
}

/* The value for each image, built in front of the op. NULL: diagnosed. */
static Value *spread(Batch *b, Op *op, Value *value)
{
    const Op *def = value_def(value);
    const Type *type = batched_type(b, value->type);
    Value *scalar = def ? kernel_fill_value(def) : NULL, *made;
    Builder at = builder_before(op);
    if (!type) {
        (void)!refuse(b, op, "its tensors have no known shape, too many dimensions or elements");
        return NULL;
    }
    if (scalar)
        made = linalg_fill(&at, scalar, empty_of(&at, type));
    else if (def && def->def == TENSOR(EMPTY))
        made = empty_of(&at, type);
    else
        made = repeat(&at, value, type);
    ptrmap_put(&b->items, made, (void *)(uintptr_t)value->type);
    return made;
}

static bool spread_operand(Batch *b, Op *op, uint32_t operand)
{
    if (is_item(b, op_operand(op, operand))) return true;
    Value *made = spread(b, op, op_operand(op, operand));
    if (made) op_set_operand(op, operand, made);
    return made != NULL;
}

/* Kernels. */

/* New numbers of a kernel's loops; those that only walked a dimension which is the images' now go. */
typedef struct Loops {
    uint32_t old_count, count;
    bool is_kept[KERNEL_MAX_LOOPS], is_reduction[KERNEL_MAX_LOOPS + 1];
    const AffineExpr *now[KERNEL_MAX_LOOPS];
} Loops;

/* Whether an operand's dimension beside that of the images gives the loop its trip count. A loop that
 * has none runs once. */
static bool is_kept_by(const Batch *b, const Op *op, uint32_t loop)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const AffineMap *map = linalg_operand_map(op, i);
        const Type *frame = frame_type(b, op_operand(op, i));
        for (uint32_t r = frame && has_unit(frame); r < map->result_count; r++)
            if (map->results[r] == affine_dim(op->ctx, loop)) return true;
    }
    return false;
}

static void number_loops(const Batch *b, const Op *op, Loops *out)
{
    *out = (Loops){.old_count = linalg_loop_count(op), .count = 1};
    for (uint32_t i = 0; i < out->old_count; i++) {
        out->is_kept[i] = is_kept_by(b, op, i);
        out->now[i] = out->is_kept[i] ? affine_dim(op->ctx, out->count) : affine_const(op->ctx, 0);
        if (out->is_kept[i]) out->is_reduction[out->count++] = linalg_is_reduction(op, i);
    }
}

static const AffineMap *batched_map(const Batch *b, const Loops *loops, const Op *op,
                                    uint32_t operand)
{
    const AffineMap *map = linalg_operand_map(op, operand);
    const Type *frame = frame_type(b, op_operand(op, operand));
    const AffineExpr *results[KERNEL_MAX_LOOPS + 1];
    const AffineMap *renamed = map_get(op->ctx, loops->count, 0, loops->old_count, loops->now);
    uint32_t count = 0;
    map = map_compose(map, renamed);
    if (frame) results[count++] = affine_dim(op->ctx, 0);
    for (uint32_t r = frame && has_unit(frame); r < map->result_count; r++)
        results[count++] = map->results[r];
    return map_get(op->ctx, loops->count, 0, count, results);
}

typedef struct BodyWalk {
    const Batch *batch;
    const Op *kernel;
    const Loops *loops;
    bool ok;
} BodyWalk;

/* Numbers of loops, and values from outside, of which none may be an image's. */
static bool batch_body(Op *op, void *user)
{
    BodyWalk *walk = user;
    if (op == walk->kernel) return true;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (is_item(walk->batch, op_operand(op, i)))
            walk->ok =
                refuse(walk->batch, walk->kernel, "it reads a tensor at indices that it computes");
    if (!walk->ok || op->def != LINALG(INDEX)) return walk->ok;
    const int64_t loop = attr_int_value(op_attr(op, "dim"));
    if (walk->loops->is_kept[loop]) {
        op_set_attr(op, "dim", attr_i64(op->ctx, walk->loops->now[loop]->value));
    } else if (value_has_uses(op_result(op, 0))) {
        Builder at = builder_before(op);
        value_replace_all(op_result(op, 0), arith_constant_index(&at, 0));
    }
    return true;
}

static bool batch_kernel(Batch *b, Op *op)
{
    const uint32_t inputs = linalg_input_count(op);
    VEC(const AffineMap *) maps = {0};
    Loops loops;
    for (uint32_t i = inputs; i < op->operand_count; i++)
        if (!spread_operand(b, op, i)) return false;
    if (op->def != LINALG(GENERIC)) return refuse(b, op, "it is no linalg.generic");
    if (linalg_loop_count(op) >= KERNEL_MAX_LOOPS) return refuse(b, op, "it has too many loops");
    number_loops(b, op, &loops);
    BodyWalk walk = {b, op, &loops, true};
    if (!op_walk(op, batch_body, &walk)) return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        *vec_push(&maps) = batched_map(b, &loops, op, i);
    op_set_attr(op, "indexing_maps", linalg_maps_attr(op->ctx, maps.data, maps.len));
    op_set_attr(op, "iterator_types",
                linalg_iterators_attr(op->ctx, loops.is_reduction, loops.count));
    vec_free(&maps);
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!linalg_fits_loops(op, op_operand(op, i), linalg_operand_map(op, i)))
            return refuse(b, op, "a loop that runs once shifts what it reads of another tensor");
    return true;
}

/* Moves. */

/* Groups of a reshape between tensors of images: as before where both have had the dimension in front,
 * else with a group for it. NULL: nothing is left to do. */
static const Attr *batched_groups(Op *op, const Type *wide, const Type *narrow)
{
    const Attr *old = op_attr(op, "reassociation");
    const bool in_wide = has_unit(wide), in_narrow = has_unit(narrow);
    uint32_t sizes[KERNEL_MAX_LOOPS + 1], count = 0, dims = 0;
    if (in_wide && in_narrow) return old;
    sizes[count++] = 1;
    for (uint32_t g = 0; g < old->u.array.count; g++) {
        uint32_t size = old->u.array.items[g]->u.array.count;
        sizes[count++] = size - (g == 0 && in_wide);
    }
    /* Of a number that is expanded to [1, 1, ...] all dimensions are in the group of the images. */
    if (old->u.array.count == 0) sizes[0] = wide->u.shaped.rank + !in_wide;
    for (uint32_t g = 0; g < count; g++) dims += sizes[g];
    if (count == dims) return NULL;
    return tensor_groups_attr(op->ctx, sizes, count);
}

static bool batch_reshape(Batch *b, Op *op, const Type *frame)
{
    const Type *source = frame_type(b, op_operand(op, 0));
    const bool expands = op->def == TENSOR(EXPAND_SHAPE);
    const Attr *groups = batched_groups(op, expands ? frame : source, expands ? source : frame);
    Value *result = op_result(op, 0);
    if (!groups) {
        *vec_push(&b->idle) = op; /* its readers still count a frame's dimensions */
        return true;
    }
    op_set_attr(op, "reassociation", groups);
    if (expands)
        op_set_attr(
            op, "static_output_shape",
            attr_i64_array(op->ctx, result->type->u.shaped.dims, result->type->u.shaped.rank));
    return true;
}

/* Has `first` in front of an attribute's numbers, or in place of the first. */
static void set_front(Op *op, const char *name, int64_t first, bool replaces)
{
    int64_t list[2 * KERNEL_MAX_LOOPS];
    size_t count = 0;
    bool ok = attr_int_list(op_attr(op, name), list + 1, COUNT_OF(list) - 1, &count);
    if (!ok) return; /* the verifier's */
    list[replaces] = first;
    op_set_attr(op, name,
                attr_i64_array(op->ctx, list + replaces, (uint32_t)(count + 1 - replaces)));
}

static void batch_slice(const Batch *b, Op *op, const Type *larger)
{
    const bool replaces = has_unit(larger);
    set_front(op, "static_offsets", 0, replaces);
    set_front(op, "static_sizes", b->images, replaces);
    set_front(op, "static_strides", 1, replaces);
}

/* An operand with the dimension that a frame has in front beside that of the images. */
static void restore_unit(const Batch *b, Op *op, uint32_t operand)
{
    Value *value = op_operand(op, operand);
    const Type *frame = frame_type(b, value);
    int64_t dims[KERNEL_MAX_LOOPS + 1] = {b->images};
    uint32_t sizes[KERNEL_MAX_LOOPS] = {2};
    if (!has_unit(frame)) return;
    const uint32_t rank = frame->u.shaped.rank;
    for (uint32_t i = 0; i < rank; i++) dims[i + 1] = frame->u.shaped.dims[i];
    for (uint32_t i = 1; i < rank; i++) sizes[i] = 1;
    Builder at = builder_before(op);
    op_set_operand(op, operand,
                   tensor_expand_shape(&at, value, type_with_shape(frame, dims, rank + 1),
                                       tensor_groups_attr(op->ctx, sizes, rank)));
}

static bool batch_concat(Batch *b, Op *op, const Type *frame)
{
    const int64_t dim = attr_int_value(op_attr(op, "dim"));
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!spread_operand(b, op, i)) return false;
    if (has_unit(frame)) return true;
    for (uint32_t i = 0; i < op->operand_count; i++) restore_unit(b, op, i);
    op_set_attr(op, "dim", attr_i64(op->ctx, dim + 1));
    return true;
}

static bool is_zero(const Op *op, const char *name)
{
    int64_t list[KERNEL_MAX_LOOPS];
    size_t count = 0;
    return attr_int_list(op_attr(op, name), list, KERNEL_MAX_LOOPS, &count) && count > 0 &&
           list[0] == 0;
}

static bool batch_pad(Batch *b, Op *op)
{
    const Type *source = frame_type(b, op_operand(op, 0));
    Value *padding = tensor_padding(op);
    int64_t low[KERNEL_MAX_LOOPS + 1] = {0}, high[KERNEL_MAX_LOOPS + 1] = {0};
    size_t rank = 0;
    if (has_unit(source) && value_has_uses(region_entry(op_region(op, 0))->args[0]))
        return refuse(b, op, "it pads by what depends on the dimension of images");
    if (has_unit(source))
        return (is_zero(op, "static_low") && is_zero(op, "static_high")) ||
               refuse(b, op, "it pads the dimension of images");
    if (!padding || op->operand_count > 1 ||
        !attr_int_list(op_attr(op, "static_low"), low + 1, KERNEL_MAX_LOOPS, &rank) ||
        !attr_int_list(op_attr(op, "static_high"), high + 1, KERNEL_MAX_LOOPS, &rank))
        return refuse(b, op, "its padding is not of known widths and one value");
    Builder at = builder_before(op);
    Value *made = tensor_pad(&at, op_operand(op, 0), low, high, padding);
    ptrmap_put(&b->items, made, (void *)(uintptr_t)frame_type(b, op_result(op, 0)));
    value_replace_all(op_result(op, 0), made);
    *vec_push(&b->idle) = op;
    return true;
}

static bool reads_items(const Batch *b, const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (is_item(b, op_operand(op, i))) return true;
    return false;
}

static bool reads_no_items(Op *op, void *user)
{
    return !reads_items(user, op);
}

/* Whether what stands in the op's regions reads items besides. */
static bool captures_items(Batch *b, const Op *op)
{
    for (uint32_t i = 0; i < op->region_count; i++)
        FOR_EACH_BLOCK(block, op_region(op, i))
            FOR_EACH_OP(inner, block)
                if (!op_walk(inner, reads_no_items, b)) return true;
    return false;
}

static bool batch_op(Batch *b, Op *op)
{
    const bool reads = reads_items(b, op); /* then batch_kernel looks at what a kernel contains */
    if (!(reads && linalg_is_structured(op)) && captures_items(b, op))
        return refuse(b, op, "what it contains reads tensors of images");
    if (!reads) return true;
    if (linalg_is_structured(op) && !batch_kernel(b, op)) return false;
    const bool inserts = op->def == TENSOR(INSERT_SLICE),
               extracts = op->def == TENSOR(EXTRACT_SLICE);
    const bool moves = inserts || extracts || op->def == TENSOR(CONCAT) || op->def == TENSOR(PAD) ||
                       reshape_is(op);
    if (!moves && !linalg_is_structured(op)) return refuse(b, op, "no rule says how");
    for (uint32_t i = 0; i < op->result_count; i++)
        if (!make_item(b, op, op_result(op, i))) return false;
    const Type *frame = frame_type(b, op_result(op, 0));
    op_set_attr(op, DFG_ATTR_TENSORS, batched_tensors(b, op_attr(op, DFG_ATTR_TENSORS), frame));
    if (!moves) return true;
    if (inserts && (!spread_operand(b, op, 0) || !spread_operand(b, op, 1))) return false;
    if (inserts || extracts)
        batch_slice(b, op, extracts ? frame_type(b, op_operand(op, 0)) : frame);
    else if (op->def == TENSOR(CONCAT))
        return batch_concat(b, op, frame);
    else if (op->def == TENSOR(PAD))
        return batch_pad(b, op);
    else
        return batch_reshape(b, op, frame);
    return true;
}

/* The function. */

/* A layout of the frame as that of images, which stay in front. NULL: they would not. */
static const Attr *batched_layout(const Attr *layout, const Type *frame)
{
    const AffineMap *map = layout->u.map;
    const AffineExpr *results[KERNEL_MAX_LOOPS + 1], *shifted[KERNEL_MAX_LOOPS];
    if (has_unit(frame)) {
        bool stays = map->results[0]->kind == AFFINE_DIM && map->results[0]->value == 0;
        return stays ? layout : NULL;
    }
    for (uint32_t i = 0; i < map->dim_count; i++) shifted[i] = affine_dim(map->ctx, i + 1);
    map = map_compose(map, map_get(map->ctx, map->dim_count + 1, 0, map->dim_count, shifted));
    results[0] = affine_dim(map->ctx, 0);
    for (uint32_t i = 0; i < map->result_count; i++) results[i + 1] = map->results[i];
    return attr_map(map_get(map->ctx, map->dim_count, 0, map->result_count + 1, results));
}

static bool batch_attrs(const Batch *b, Op *func, const char *name, Value *const *values,
                        uint32_t count)
{
    const Attr *old = op_attr(func, name);
    VEC(const Attr *) dicts = {0};
    bool ok = true;
    for (uint32_t i = 0; old && ok && i < count; i++) {
        const Attr *dict = old->u.array.items[i];
        const Attr *tensors =
            batched_tensors(b, attr_dict_get_c(dict, DFG_ATTR_TENSORS), frame_type(b, values[i]));
        dict = attr_dict_set(dict, ident_get_c(func->ctx, DFG_ATTR_TENSORS), tensors);
        const Attr *layout = attr_dict_get_c(dict, DFG_ATTR_LAYOUT);
        if (layout) {
            layout = batched_layout(layout, frame_type(b, values[i]));
            ok =
                layout || refuse(b, func, "a value's first dimension is another one in its layout");
        }
        if (layout) dict = attr_dict_set(dict, ident_get_c(func->ctx, DFG_ATTR_LAYOUT), layout);
        *vec_push(&dicts) = dict;
    }
    if (ok && old) op_set_attr(func, name, attr_array(func->ctx, dicts.data, dicts.len));
    vec_free(&dicts);
    return ok;
}

static bool batch_signature(const Batch *b, Op *func)
{
    Block *body = func_entry(func);
    Op *ret = body->last;
    VEC(Value *) results = {0};
    for (uint32_t i = 0; i < ret->operand_count; i++) *vec_push(&results) = op_operand(ret, i);
    bool ok = batch_attrs(b, func, "arg_attrs", body->args, body->arg_count) &&
              batch_attrs(b, func, "res_attrs", results.data, ret->operand_count);
    if (ok) func_update_type(func);
    vec_free(&results);
    return ok;
}

static bool batch_function(Op *func, int64_t images)
{
    Batch b = {.images = images};
    Block *body = func_entry(func);
    bool ok = true;
    if (!layout_check_recorded(func)) return false;
    if (op_region(func, 0)->first != op_region(func, 0)->last)
        return op_error(func, "has control flow; a streaming network is straight-line code");
    for (uint32_t i = 0; ok && i < body->arg_count; i++) ok = make_item(&b, func, body->args[i]);
    FOR_EACH_OP_SAFE(op, body)
        if (ok && op != body->last) ok = batch_op(&b, op);
    for (uint32_t i = 0; ok && i < body->last->operand_count; i++)
        ok = spread_operand(&b, body->last, i);
    for (size_t i = 0; i < b.idle.len; i++) {
        value_replace_all(op_result(b.idle.data[i], 0), op_operand(b.idle.data[i], 0));
        op_erase(b.idle.data[i]);
    }
    ok = ok && batch_signature(&b, func);
    ptrmap_free(&b.items);
    vec_free(&b.idle);
    return ok;
}

static bool run(Pass *pass, Op *module)
{
    const int64_t images = pass_int(pass, "images");
    pass->unchanged = images == 1;
    if (images == 1) return true;
    FOR_EACH_INNER(func, module)
        if (func->def == FUNC(FUNC) && func_entry(func) && !batch_function(func, images))
            return false;
    op_set_attr(module, DFG_ATTR_IMAGES, attr_i64(module->ctx, images));
    return true;
}

static const OptionDef options[] = {
    {"images", OPTION_INT, "1", "images that a frame has", 1, DFG_MOST_IMAGES, NULL},
    {0},
};

const PassDef pass_batch_images = {
    .name = "batch-images",
    .summary = "Let a frame be several images, each of which is computed as the frame was",
    .description =
        "A tensor's first dimension of one element becomes that of so many images; tensors without "
        "one get a dimension more. Every kernel has a loop more, which what all images share, such "
        "as "
        "weights, does not have. The module records the number as dfg.images.",
    .anchor = "builtin.module",
    .options = options,
    .run = run,
};
