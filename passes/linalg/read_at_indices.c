/* What a kernel extracts from a tensor at indices that it computes from its loops, as upstream lowers
 * reversals and nearest neighbours, becomes an operand with a map, if there is one for these indices:
 *   generic { extract(x, f(i), g(j)) }  ->  generic(x) with the map (i, j) -> (f(i), g(j))
 * Each index may depend on one loop, for all of whose iterations it is computed.
 * Tests: lit/passes/linalg/simplify-kernels-indices.mir */
#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"
#include "passes/linalg/internal.h"

/* Larger ones are left as they are: work for one index, and iterations of its loop. */
enum { MAX_STEPS = 256, MAX_COUNT = 1 << 12, MAX_OPERANDS = 4 };

/* The one loop that an index of an element depends on, or -1. */
typedef struct IndexLoop {
    const Block *body;
    int64_t loop;
    int steps; /* left */
} IndexLoop;

/* Whether the value is computed from constants and one loop. */
static bool find_loop(IndexLoop *index, const Value *value)
{
    Op *op = value_def(value);
    if (!op || index->steps-- <= 0) return false;
    if (fold_constant_of(value)) return true;
    if (op->block != index->body || op->region_count > 0) return false;
    if (op->def == LINALG(INDEX)) {
        int64_t loop = attr_int_value(op_attr(op, "dim"));
        bool is_same = index->loop < 0 || index->loop == loop;
        index->loop = loop;
        return is_same;
    }
    if (!op->def || op->def->dialect != &arith_dialect || !op->def->fold || op->result_count != 1 ||
        op->operand_count > MAX_OPERANDS)
        return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!find_loop(index, op_operand(op, i))) return false;
    return true;
}

/* The value in one iteration of its loop; NULL: it does not fold. */
static const Attr *value_at(const Value *value, int64_t iteration)
{
    const Attr *constants[MAX_OPERANDS], *constant = fold_constant_of(value);
    Op *op = value_def(value);
    FoldResult result = {0};
    if (constant) return constant;
    if (op->def == LINALG(INDEX)) return attr_int(value->type, iteration);
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!(constants[i] = value_at(op_operand(op, i), iteration))) return NULL;
    if (!op->def->fold(op, constants, &result)) return NULL;
    return result.value ? value_at(result.value, iteration) : result.attr;
}

/* The indices of all iterations as an expression of dimension 0. */
static const AffineExpr *fit_all(Context *ctx, const int64_t *at, int64_t count, int64_t extent)
{
    int64_t same = 1;
    while (same < count && at[same] == at[0]) same++;
    if (count == 1 && extent == 1) return affine_dim(ctx, 0);
    return same == count ? affine_const(ctx, at[0]) : index_fit(ctx, at, count, extent);
}

/* The index as an expression of the kernel's loops, within the extent in all iterations; NULL: none. */
static const AffineExpr *fit(const Op *op, const Value *value, const int64_t *extents,
                             int64_t extent)
{
    IndexLoop index = {linalg_body(op), -1, MAX_STEPS};
    if (!find_loop(&index, value)) return NULL;
    int64_t count = index.loop < 0 ? 1 : extents[index.loop], known = 0;
    if (count < 1 || count > MAX_COUNT) return NULL;
    int64_t *at = xcalloc((size_t)count, sizeof *at);
    for (bool ok = true; ok && known < count; known += ok) {
        const Attr *attr = value_at(value, known);
        ok = attr && attr->kind == ATTR_INTEGER;
        at[known] = ok ? attr_int_value(attr) : -1;
        ok = at[known] >= 0 && at[known] < extent;
    }
    const AffineExpr *expr = known == count ? fit_all(op->ctx, at, count, extent) : NULL;
    free_ptr((void **)&at);
    const AffineExpr *dim = affine_dim(op->ctx, (uint32_t)(index.loop < 0 ? 0 : index.loop));
    return expr && index.loop >= 0 ? affine_replace(expr, &dim, 1, NULL, 0) : expr;
}

/* The map from the loops to the element that is extracted; NULL: none. */
static const AffineMap *fit_map(const Op *op, const Op *extract)
{
    const Type *type = op_operand(extract, 0)->type;
    uint32_t loops = linalg_loop_count(op), rank = type->u.shaped.rank;
    int64_t *extents = xcalloc(loops, sizeof *extents);
    const AffineExpr **at = xcalloc(rank, sizeof *at);
    bool ok = linalg_loop_extents(op, extents);
    for (uint32_t i = 0; ok && i < rank; i++) {
        at[i] = fit(op, op_operand(extract, i + 1), extents, type->u.shaped.dims[i]);
        ok = at[i] != NULL;
    }
    const AffineMap *map = ok ? map_get(op->ctx, loops, 0, rank, at) : NULL;
    free_ptr((void **)&at);
    free_ptr((void **)&extents);
    return map && linalg_fits_loops(op, op_operand(extract, 0), map) ? map : NULL;
}

static bool takes_from_outside(const Op *op, const Op *inner)
{
    if (inner->def != TENSOR(EXTRACT) || !type_is_static(op_operand(inner, 0)->type)) return false;
    const Value *source = op_operand(inner, 0);
    return !op_is_ancestor(op, block_parent_op(value_block(source)));
}

/* The op with one more input, which it reads in place of what it extracts. */
static void read_operand(Rewriter *rw, Op *op, const Op *extract, const AffineMap *map)
{
    PtrMap values = {0};
    GenericParts parts = {0};
    uint32_t inputs = linalg_input_count(op);
    for (uint32_t i = 0; i < inputs; i++)
        parts_add_input(&parts, op_operand(op, i), linalg_operand_map(op, i));
    parts_add_input(&parts, op_operand(extract, 0), map);
    for (uint32_t i = inputs; i < op->operand_count; i++)
        parts_add_init(&parts, op_operand(op, i), linalg_operand_map(op, i));
    rw->b.loc = op->loc;
    Op *made = parts_build(&rw->b, &parts, op_attr(op, "iterator_types"));
    Block *from = linalg_body(op), *to = linalg_body(made);
    if (op_attr(op, DFG_ATTR_NAME)) op_set_attr(made, DFG_ATTR_NAME, op_attr(op, DFG_ATTR_NAME));
    op_set_attr(made, DFG_ATTR_TENSORS, op_attr(op, DFG_ATTR_TENSORS));
    for (uint32_t i = 0; i < from->arg_count; i++)
        ptrmap_put(&values, from->args[i], to->args[i < inputs ? i : i + 1]);
    parts_body_copy(rw, to, from, NULL, &values);
    Value *copy = ptrmap_get(&values, op_result(extract, 0));
    rewriter_replace_one(rw, value_def(copy), to->args[inputs]);
    rewriter_replace(rw, op, (Value *[]){op_result(made, 0)}, 1);
    ptrmap_free(&values);
    parts_free(&parts);
}

static bool read_at_indices(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    if (!linalg_has_tensor_semantics(op) || op->result_count != 1) return false;
    FOR_EACH_OP(inner, linalg_body(op)) {
        const AffineMap *map = takes_from_outside(op, inner) ? fit_map(op, inner) : NULL;
        if (!map) continue;
        read_operand(rw, op, inner, map);
        return true;
    }
    return false;
}

void fuse_add_indices(PatternSet *set)
{
    pattern_add(set, "read-at-indices", LINALG(GENERIC), 1, read_at_indices);
}
