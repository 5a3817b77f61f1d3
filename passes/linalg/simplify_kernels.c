/* simplify-kernels: what exporters leave between a constant and its reader, and what hides that a
 * kernel is element-wise, goes before kernels become processes:
 *   generic(copy(constant))  ->  generic(constant), indexed through the copy
 *   transpose(constant)      ->  constant
 *   generic(constants), element-wise  ->  constant
 *   pad(constant) by numbers  ->  constant
 *   generic(x, equal numbers), element-wise  ->  a number in its payload
 *   generic { extract(x, indices of loops) }  ->  generic(x) with a map
 *   x[0, i], element-wise    ->  x[d, i] of the loop d that runs once; a copy may then be x itself
 *   pad by values that are constants  ->  pad by numbers
 *   map  ->  generic, as the generalization of named ops leaves linalg.map alone, like upstream's
 * Nothing that computes on streams is fused: in the payload of a sum or window it would run once per term
 * instead of once per element, and a requantizer would leave the sum that it is the epilogue of.
 * Requires: named ops generalized.
 * Changes: linalg.generic on tensors, and constants.
 * Preserves: the values computed.
 * Tests: lit/passes/linalg/simplify-kernels.mir */
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "passes/linalg/internal.h"
#include "passes/linalg/passes.h"

static void set_map(Rewriter *rw, Op *op, uint32_t operand, const AffineMap *map)
{
    MapList maps = {0};
    for (uint32_t i = 0; i < op->operand_count; i++)
        *vec_push(&maps) = i == operand ? map : linalg_operand_map(op, i);
    op_set_attr(op, "indexing_maps", linalg_maps_attr(op->ctx, maps.data, maps.len));
    rewriter_modified(rw, op);
    vec_free(&maps);
}

/* Whether each loop still has a trip count once the operand is indexed by `map`. */
static bool covers_loops(const Op *op, uint32_t operand, const AffineMap *map)
{
    MapList maps = {0};
    for (uint32_t i = 0; i < op->operand_count; i++)
        *vec_push(&maps) = i == operand ? map : linalg_operand_map(op, i);
    bool covers = parts_maps_cover_loops(op->ctx, &maps);
    vec_free(&maps);
    return covers;
}

/* The kernel that makes the value, if it only moves or repeats the numbers of a constant. */
static const Op *constant_copy(const Value *value)
{
    const Op *op = value_def(value);
    if (!op || op->def != LINALG(GENERIC) || !linalg_has_tensor_semantics(op) ||
        linalg_reduces(op) || linalg_input_count(op) != 1 || linalg_init_count(op) != 1 ||
        !map_is_permutation(linalg_operand_map(op, 1)))
        return NULL;
    const Block *body = linalg_body(op);
    const Op *source = value_def(op_operand(op, 0));
    bool is_copy = body->first == body->last && op_operand(body->last, 0) == body->args[0];
    return is_copy && source && op_has_trait(source, TRAIT_CONSTANT_LIKE) &&
                   op_operand(op, 0)->type->kind == TYPE_RANKED_TENSOR
               ? op
               : NULL;
}

static bool read_through_copies(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    bool changed = false;
    if (!linalg_has_tensor_semantics(op)) return false;
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        const Op *copy = constant_copy(op_operand(op, i));
        if (!copy) continue;
        const AffineMap *to_loops = map_inverse_permutation(linalg_operand_map(copy, 1));
        const AffineMap *map = map_compose(map_compose(linalg_operand_map(copy, 0), to_loops),
                                           linalg_operand_map(op, i));
        if (!covers_loops(op, i, map) || !linalg_fits_loops(op, op_operand(copy, 0), map)) continue;
        op_set_operand(op, i, op_operand(copy, 0));
        set_map(rw, op, i, map);
        changed = true;
    }
    return changed;
}

/* The map with the result's loops of one iteration in place of indices 0 of dimensions of one element;
 * NULL: there are none. */
static const AffineMap *with_unit_loops(const Op *op, uint32_t operand)
{
    const AffineMap *map = linalg_operand_map(op, operand);
    const AffineMap *out = linalg_operand_map(op, linalg_input_count(op));
    const Type *type = op_result(op, 0)->type, *in = op_operand(op, operand)->type;
    VEC(const AffineExpr *) results = {0};
    bool found = false;
    for (uint32_t i = 0; i < map->result_count; i++) {
        const AffineExpr *expr = map->results[i], *loop = out->results[i];
        bool is_unit = expr->kind == AFFINE_CONST && expr->value == 0 &&
                       type->u.shaped.dims[i] == 1 && in->u.shaped.dims[i] == 1 &&
                       loop->kind == AFFINE_DIM && !map_uses_dim(map, (uint32_t)loop->value);
        *vec_push(&results) = is_unit ? loop : expr;
        found = found || is_unit;
    }
    const AffineMap *made =
        found ? map_get(map->ctx, map->dim_count, 0, map->result_count, results.data) : NULL;
    vec_free(&results);
    return made;
}

static bool index_unit_dims(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    bool changed = false;
    if (!linalg_has_tensor_semantics(op) || op->result_count != 1 || linalg_reduces(op) ||
        !map_is_permutation(linalg_operand_map(op, linalg_input_count(op))))
        return false;
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        const AffineMap *map = linalg_operand_map(op, i);
        if (map->result_count != linalg_loop_count(op) || map->symbol_count > 0) continue;
        const AffineMap *made = with_unit_loops(op, i);
        if (made) set_map(rw, op, i, made);
        changed = changed || made;
    }
    return changed;
}

static bool has_values(const MixedIndices *list)
{
    for (size_t i = 0; i < list->len; i++)
        if (list->data[i].value) return true;
    return false;
}

/* Whether the type tells no other extent than the widths give. */
static bool fits_widths(const Type *source, const PadBorders *borders, const Type *type)
{
    for (uint32_t i = 0; i < source->u.shaped.rank; i++) {
        int64_t padded, result = type->u.shaped.dims[i];
        if (!tensor_padded_extent(source->u.shaped.dims[i], borders->low.data[i],
                                  borders->high.data[i], &padded) ||
            (padded != DIM_DYNAMIC && result != DIM_DYNAMIC && result != padded))
            return false;
    }
    return true;
}

/* Canonicalization, as upstream's, leaves widths alone that tell nothing new about the type. */
static bool pad_by_numbers(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    PadBorders borders;
    if (op->operand_count == 1) return false;
    tensor_pad_read_folded(op, &borders);
    const Type *old = op_result(op, 0)->type;
    bool known = !has_values(&borders.low) && !has_values(&borders.high) &&
                 fits_widths(op_operand(op, 0)->type, &borders, old);
    if (known) {
        const Type *type = tensor_pad_type(op_operand(op, 0)->type, &borders, old);
        Op *made = tensor_build_pad(&rw->b, op_operand(op, 0), type, &borders,
                                    op_attr(op, "nofold") != NULL);
        region_take(op_region(made, 0), op_region(op, 0));
        rewriter_replace_one(rw, op, tensor_cast(&rw->b, op_result(made, 0), old));
    }
    tensor_pad_free(&borders);
    return known;
}

/* The body of a generic has an argument for the init, too. */
static bool generalize_map(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    uint32_t inputs = linalg_input_count(op);
    Value **values = xcalloc(op->operand_count, sizeof *values);
    for (uint32_t i = 0; i < op->operand_count; i++) values[i] = op_operand(op, i);
    Op *generic = linalg_build_generic(&rw->b, values, inputs, values + inputs, 1,
                                       linalg_indexing_maps(op), linalg_iterator_types(op));
    block_erase(linalg_body(generic));
    region_take(op_region(generic, 0), op_region(op, 0));
    (void)block_add_arg(linalg_body(generic), type_elem(values[inputs]->type), op->loc);
    op_set_attr(generic, DFG_ATTR_NAME, op_attr(op, DFG_ATTR_NAME));
    op_set_attr(generic, DFG_ATTR_TENSORS, op_attr(op, DFG_ATTR_TENSORS));
    Value *result = op->result_count ? op_result(generic, 0) : NULL; /* none on buffers */
    rewriter_replace(rw, op, &result, op->result_count);
    free_ptr((void **)&values);
    return true;
}

static bool run(Pass *pass, Op *func)
{
    PatternSet set;
    patterns_init(&set, pass->ctx);
    pattern_add(&set, "read-through-copies", LINALG(GENERIC), 1, read_through_copies);
    pattern_add(&set, "index-unit-dims", LINALG(GENERIC), 1, index_unit_dims);
    pattern_add(&set, "generalize-map", LINALG(MAP), 1, generalize_map);
    pattern_add(&set, "pad-by-numbers", TENSOR(PAD), 1, pad_by_numbers);
    fuse_add_elementwise_constants(&set);
    fuse_add_transpose_constants(&set);
    fuse_add_constant_kernels(&set);
    fuse_add_indices(&set);
    LINALG(GENERIC)->canonicalize(&set);
    (void)rewrite_greedy(func, &set, NULL, NULL);
    patterns_free(&set);
    return true;
}

const PassDef pass_simplify_kernels = {
    .name = "simplify-kernels",
    .summary = "Read constants without copies of them; index unit dimensions by their loops",
    .anchor = "func.func",
    .run = run,
};
