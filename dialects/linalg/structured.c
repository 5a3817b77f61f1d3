/* Reading of structured ops. The maps of a named op are made from the letters of its row. Once the
 * verifier has seen the op, they are kept in its attribute linalg.memoized_indexing_maps, as
 * upstream does.
 * Tests: lit/dialects/linalg, lit/passes/linalg/analyze-kernels.mir */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "dialects/linalg/internal.h"
#include "dialects/linalg/linalg.h"

bool linalg_is_structured_row(const OpDef *def)
{
    return def && def->dialect == &linalg_dialect &&
           (def->data || def == LINALG(GENERIC) || def == LINALG(MAP) || def == LINALG(REDUCE) ||
            def == LINALG(TRANSPOSE) || def == LINALG(BROADCAST));
}

bool linalg_is_structured(const Op *op)
{
    return linalg_is_structured_row(op->def);
}

const StructuredDef *linalg_structured_def(const Op *op)
{
    return op->def && op->def->dialect == &linalg_dialect ? op->def->data : NULL;
}

uint32_t linalg_input_count(const Op *op)
{
    uint32_t begin, count;
    op_operand_group(op, 0, &begin, &count);
    return count;
}

uint32_t linalg_init_count(const Op *op)
{
    return op->operand_count - linalg_input_count(op);
}

uint32_t linalg_operand_rank(const Type *type)
{
    bool has_rank = type_is_shaped(type) && type->kind != TYPE_VECTOR && type_is_ranked(type);
    return has_rank ? type->u.shaped.rank : 0;
}

Block *linalg_body(const Op *op)
{
    return region_entry(op_region(op, 0));
}

bool linalg_reads_operand(const Op *op, uint32_t operand)
{
    const Block *body = linalg_body(op);
    return operand < body->arg_count && value_has_uses(body->args[operand]); /* map: no init */
}

static bool is_empty(const Type *type)
{
    for (uint32_t i = 0; type_is_shaped(type) && i < type->u.shaped.rank; i++)
        if (type->u.shaped.dims[i] == 0) return true;
    return false;
}

bool linalg_reaches_all(const Op *op, uint32_t operand)
{
    const AffineMap *map = linalg_operand_map(op, operand);
    const Type *type = op_operand(op, operand)->type;
    for (uint32_t i = 0; i < op->operand_count; i++) /* no loop runs */
        if (is_empty(op_operand(op, i)->type)) return is_empty(type);
    for (uint32_t r = 0; r < map->result_count; r++) {
        const AffineExpr *expr = map->results[r];
        if (type->u.shaped.dims[r] == 1) continue;
        if (expr->kind != AFFINE_DIM) return false;
        for (uint32_t i = 0; i < r; i++)
            if (map->results[i] == expr && type->u.shaped.dims[i] != 1) return false;
    }
    return true;
}

bool linalg_has_tensor_semantics(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (type_is_memref(op_operand(op, i)->type)) return false;
    return true;
}

static uint32_t rank_of(const Value *value)
{
    return linalg_operand_rank(value->type);
}

static const AffineExpr *loop_of_letter(Context *ctx, const char *loops, char letter)
{
    const char *at = strchr(loops, letter);
    assert(at);
    return affine_dim(ctx, (uint32_t)(at - loops));
}

/* Entry `index` of strides or dilations; 1 when absent. */
static int64_t window_factor(const Op *op, const char *attr_name, uint32_t index)
{
    const Attr *attr = op_attr(op, attr_name);
    return attr && attr->kind == ATTR_DENSE && index < dense_count(attr) ? dense_i64(attr, index)
                                                                         : 1;
}

/* One result: "h", "h+Y" or "h:Y", the last being window number *window. */
static const AffineExpr *parse_result(const Op *op, const char *loops, const char **text,
                                      uint32_t *window)
{
    const char *at = *text;
    const AffineExpr *expr = loop_of_letter(op->ctx, loops, at[0]);
    if (at[1] != '+' && at[1] != ':') {
        *text = at + 1;
        return expr;
    }
    const AffineExpr *tap = loop_of_letter(op->ctx, loops, at[2]);
    if (at[1] == ':') {
        expr = affine_mul_c(expr, window_factor(op, "strides", *window));
        tap = affine_mul_c(tap, window_factor(op, "dilations", *window));
        ++*window;
    }
    *text = at + 3;
    return affine_add(expr, tap);
}

/* Maps of a row with letters. */
static const Attr *maps_of_letters(const Op *op, const StructuredDef *def)
{
    uint32_t loops = (uint32_t)strlen(def->loops), window = 0;
    VEC(const Attr *) maps = {0};
    VEC(const AffineExpr *) results = {0};
    for (const char *at = def->maps;;) {
        if (*at == ' ') {
            at++;
        } else if (*at == '|' || *at == '\0') {
            *vec_push(&maps) =
                attr_map(map_get(op->ctx, loops, 0, (uint32_t)results.len, results.data));
            results.len = 0;
            if (*at++ == '\0') break;
        } else {
            *vec_push(&results) = parse_result(op, def->loops, &at, &window);
        }
    }
    const Attr *array = attr_array(op->ctx, maps.data, maps.len);
    vec_free(&maps);
    vec_free(&results);
    return array;
}

/* (d0, …) -> () for operands of rank 0, else the identity. */
static const Attr *maps_elementwise(const Op *op)
{
    uint32_t loops = linalg_loop_count(op);
    VEC(const Attr *) maps = {0};
    for (uint32_t i = 0; i < op->operand_count; i++)
        *vec_push(&maps) =
            attr_map(rank_of(op_operand(op, i)) == 0 ? map_get(op->ctx, loops, 0, 0, NULL)
                                                     : map_identity(op->ctx, loops));
    const Attr *array = attr_array(op->ctx, maps.data, maps.len);
    vec_free(&maps);
    return array;
}

bool linalg_list_has(const Attr *list, int64_t value)
{
    for (size_t i = 0; i < list->u.dense_array.count; i++)
        if (dense_array_i64(list, i) == value) return true;
    return false;
}

/* The identity of that rank without the listed results. */
static const AffineMap *identity_without(Context *ctx, uint32_t rank, const Attr *dropped)
{
    VEC(const AffineExpr *) results = {0};
    for (uint32_t i = 0; i < rank; i++)
        if (!linalg_list_has(dropped, i)) *vec_push(&results) = affine_dim(ctx, i);
    const AffineMap *map = map_get(ctx, rank, 0, (uint32_t)results.len, results.data);
    vec_free(&results);
    return map;
}

/* Loop permutation[i] is dimension i of the init: the input's index of loop i. */
static const AffineMap *transposed_map(const Op *op, uint32_t rank)
{
    const Attr *permutation = op_attr(op, "permutation");
    VEC(const AffineExpr *) results = {0};
    for (uint32_t i = 0; i < rank; i++)
        for (size_t k = 0; k < permutation->u.dense_array.count; k++)
            if (dense_array_i64(permutation, k) == i)
                *vec_push(&results) = affine_dim(op->ctx, (uint32_t)k);
    const AffineMap *map = map_get(op->ctx, rank, 0, (uint32_t)results.len, results.data);
    vec_free(&results);
    return map;
}

static const AffineMap *special_map(const Op *op, uint32_t operand)
{
    uint32_t loops = linalg_loop_count(op);
    bool is_input = operand < linalg_input_count(op);
    if (op->def == LINALG(REDUCE) && !is_input)
        return identity_without(op->ctx, loops, op_attr(op, "dimensions"));
    if (op->def == LINALG(BROADCAST) && is_input)
        return identity_without(op->ctx, loops, op_attr(op, "dimensions"));
    if (op->def == LINALG(TRANSPOSE) && is_input) return transposed_map(op, loops);
    return map_identity(op->ctx, loops);
}

static const Attr *maps_special(const Op *op)
{
    VEC(const Attr *) maps = {0};
    for (uint32_t i = 0; i < op->operand_count; i++)
        *vec_push(&maps) = attr_map(special_map(op, i));
    const Attr *array = attr_array(op->ctx, maps.data, maps.len);
    vec_free(&maps);
    return array;
}

const Attr *linalg_indexing_maps(const Op *op)
{
    const StructuredDef *def = linalg_structured_def(op);
    if (op->def == LINALG(GENERIC)) return op_attr(op, "indexing_maps");
    if (!def) return maps_special(op);
    if (!def->loops) return maps_elementwise(op);
    const Attr *known = attr_dict_get_c(op->attrs, "linalg.memoized_indexing_maps");
    return known ? known : maps_of_letters(op, def);
}

const AffineMap *linalg_operand_map(const Op *op, uint32_t operand)
{
    return linalg_indexing_maps(op)->u.array.items[operand]->u.map;
}

uint32_t linalg_loop_count(const Op *op)
{
    const StructuredDef *def = linalg_structured_def(op);
    if (op->def == LINALG(GENERIC)) return op_attr(op, "iterator_types")->u.array.count;
    if (def && def->loops) return (uint32_t)strlen(def->loops);
    if (op->def == LINALG(REDUCE)) return rank_of(op_operand(op, 0));
    return rank_of(op_operand(op, linalg_input_count(op)));
}

bool linalg_is_reduction(const Op *op, uint32_t loop)
{
    const StructuredDef *def = linalg_structured_def(op);
    if (op->def == LINALG(GENERIC))
        return linalg_iterator_is_reduction(op_attr(op, "iterator_types")->u.array.items[loop]);
    if (def && def->loops) return isupper((unsigned char)def->loops[loop]) != 0;
    return op->def == LINALG(REDUCE) && linalg_list_has(op_attr(op, "dimensions"), loop);
}

bool linalg_reduces(const Op *op)
{
    for (uint32_t i = 0; i < linalg_loop_count(op); i++)
        if (linalg_is_reduction(op, i)) return true;
    return false;
}

bool linalg_loop_extents(const Op *op, int64_t *extents)
{
    const int64_t unknown = -1;
    uint32_t loops = linalg_loop_count(op), known = 0;
    const Attr *maps = linalg_indexing_maps(op);
    for (uint32_t i = 0; i < loops; i++) extents[i] = unknown;
    for (uint32_t o = 0; o < op->operand_count; o++) {
        const AffineMap *map = maps->u.array.items[o]->u.map;
        const Type *type = op_operand(op, o)->type;
        for (uint32_t r = 0; r < map->result_count; r++) {
            const AffineExpr *expr = map->results[r];
            if (expr->kind != AFFINE_DIM || extents[expr->value] != unknown) continue;
            extents[expr->value] = type->u.shaped.dims[r];
            known++;
        }
    }
    return known == loops;
}

bool linalg_fits_loops(const Op *op, const Value *value, const AffineMap *map)
{
    bool ok = true;
    int64_t *extents = xcalloc(linalg_loop_count(op), sizeof *extents);
    bool is_known = linalg_loop_extents(op, extents);
    for (uint32_t i = 0; is_known && i < map->result_count; i++) {
        if (map->results[i]->kind != AFFINE_DIM) continue;
        int64_t extent = extents[map->results[i]->value], dim = value->type->u.shaped.dims[i];
        ok = ok && (extent == dim || extent == DIM_DYNAMIC || dim == DIM_DYNAMIC);
    }
    free_ptr((void **)&extents);
    return ok;
}

const Attr *linalg_iterator_types(const Op *op)
{
    if (op->def == LINALG(GENERIC)) return op_attr(op, "iterator_types");
    VEC(bool) reductions = {0};
    uint32_t loops = linalg_loop_count(op);
    for (uint32_t i = 0; i < loops; i++) *vec_push(&reductions) = linalg_is_reduction(op, i);
    const Attr *attr = linalg_iterators_attr(op->ctx, reductions.data, reductions.len);
    vec_free(&reductions);
    return attr;
}

const Attr *linalg_maps_attr(Context *ctx, const AffineMap *const *maps, size_t count)
{
    VEC(const Attr *) items = {0};
    for (size_t i = 0; i < count; i++) *vec_push(&items) = attr_map(maps[i]);
    const Attr *array = attr_array(ctx, items.data, items.len);
    vec_free(&items);
    return array;
}

const Attr *linalg_iterators_attr(Context *ctx, const bool *is_reduction, size_t count)
{
    VEC(const Attr *) items = {0};
    for (size_t i = 0; i < count; i++)
        *vec_push(&items) = linalg_iterator_type(ctx, is_reduction[i]);
    const Attr *array = attr_array(ctx, items.data, items.len);
    vec_free(&items);
    return array;
}

Value *linalg_destination(const Op *op, uint32_t result)
{
    bool writes = linalg_is_structured(op) || op->def == LINALG(SOFTMAX);
    return writes ? op_operand(op, linalg_input_count(op) + result) : NULL;
}

bool linalg_body_has_regions(const Op *generic)
{
    FOR_EACH_OP(op, linalg_body(generic))
        if (op->region_count != 0) return true;
    return false;
}
