/* Canonicalization of affine.apply. It is composed with the affine.apply ops that compute its
 * operands; operands that do not change within their function become symbols, constants become
 * constants of the expression, and operands that are unused or given twice are dropped.
 * Tests: lit/dialects/affine/canonicalize.mir */
#include "dialects/affine/affine.h"
#include "ir/rewrite/rewrite.h"

/* An expression with the values that its dims and symbols are bound to; NULL: unused. */
typedef struct BoundExpr {
    Context *ctx;
    const AffineExpr *expr;
    ValueList dims, symbols;
} BoundExpr;

typedef VEC(const AffineExpr *) Exprs;

static void bound_free(BoundExpr *bound)
{
    vec_free(&bound->dims);
    vec_free(&bound->symbols);
}

static BoundExpr bound_read(const Op *apply)
{
    const AffineMap *map = op_attr(apply, "map")->u.map;
    BoundExpr bound = {.ctx = apply->ctx, .expr = map->results[0]};
    for (uint32_t i = 0; i < apply->operand_count; i++)
        *(i < map->dim_count ? vec_push(&bound.dims) : vec_push(&bound.symbols)) =
            op_operand(apply, i);
    return bound;
}

static const AffineMap *bound_map(const BoundExpr *bound)
{
    return map_get(bound->ctx, (uint32_t)bound->dims.len, (uint32_t)bound->symbols.len, 1,
                   &bound->expr);
}

static bool is_scope(const Op *op)
{
    return op && op_has_trait(op, TRAIT_AFFINE_SCOPE);
}

static bool is_top_level(const Value *value)
{
    return is_scope(block_parent_op(value_block(value)));
}

/* Seen from the body of `scope`, and from what is around it as far as values reach. */
static bool is_symbol_in(const Value *value, const Op *scope)
{
    const Op *def = value_def(value);
    while (scope) {
        if (block_parent_op(value_block(value)) == scope) return true;
        if (def && op_has_trait(def, TRAIT_CONSTANT_LIKE)) return true;
        if (def && op_has_trait(def, TRAIT_SHAPED_DIM)) return is_top_level(op_operand(def, 0));
        if (def && def->def == AFFINE(APPLY)) {
            for (uint32_t i = 0; i < def->operand_count; i++)
                if (!is_symbol_in(op_operand(def, i), scope)) return false;
            return true;
        }
        scope = op_has_trait(scope, TRAIT_ISOLATED) ? NULL : op_parent(scope);
    }
    return false;
}

/* Does not change within the function or other affine scope that it is used in. */
static bool is_symbol(const Value *value)
{
    const Op *def = value_def(value), *scope = def ? op_parent(def) : NULL;
    if (is_top_level(value)) return true;
    while (scope && !is_scope(scope)) scope = op_parent(scope);
    return def && is_symbol_in(value, scope);
}

static void bound_canonicalize(BoundExpr *bound);

static const AffineExpr *substitute(const BoundExpr *bound, const Exprs *dims, const Exprs *symbols)
{
    return affine_replace(bound->expr, dims->data, (uint32_t)dims->len, symbols->data,
                          (uint32_t)symbols->len);
}

/* Puts `inner` in the place of a dim or symbol; its own dims and symbols are appended. */
static void bound_insert(BoundExpr *bound, bool is_dim, size_t position, const BoundExpr *inner)
{
    Exprs dims = {0}, symbols = {0}, inner_dims = {0}, inner_symbols = {0};
    Context *ctx = bound->ctx;
    for (uint32_t i = 0; i < bound->dims.len; i++) *vec_push(&dims) = affine_dim(ctx, i);
    for (uint32_t i = 0; i < bound->symbols.len; i++) *vec_push(&symbols) = affine_symbol(ctx, i);
    for (uint32_t i = 0; i < inner->dims.len; i++) {
        *vec_push(&inner_dims) = affine_dim(ctx, (uint32_t)bound->dims.len);
        *vec_push(&bound->dims) = inner->dims.data[i];
    }
    for (uint32_t i = 0; i < inner->symbols.len; i++) {
        *vec_push(&inner_symbols) = affine_symbol(ctx, (uint32_t)bound->symbols.len);
        *vec_push(&bound->symbols) = inner->symbols.data[i];
    }
    (is_dim ? dims : symbols).data[position] = substitute(inner, &inner_dims, &inner_symbols);
    (is_dim ? bound->dims : bound->symbols).data[position] = NULL;
    bound->expr = substitute(bound, &dims, &symbols);
    vec_free(&dims);
    vec_free(&symbols);
    vec_free(&inner_dims);
    vec_free(&inner_symbols);
}

/* Replaces the first operand that an affine.apply computes; false if there is none. */
static bool compose_once(BoundExpr *bound)
{
    size_t dims = bound->dims.len, count = dims + bound->symbols.len;
    for (size_t i = 0; i < count; i++) {
        bool is_dim = i < dims;
        size_t position = is_dim ? i : i - dims;
        Value *value = is_dim ? bound->dims.data[position] : bound->symbols.data[position];
        const Op *apply = value ? rewrite_def_of(value, AFFINE(APPLY)) : NULL;
        if (!apply) continue;
        BoundExpr inner = bound_read(apply);
        bound_canonicalize(&inner);
        bound_insert(bound, is_dim, position, &inner);
        bound_free(&inner);
        return true;
    }
    return false;
}

/* Moves dims that are symbols behind the symbols. */
static void promote_symbols(BoundExpr *bound)
{
    Exprs dims = {0};
    size_t kept = 0;
    for (size_t i = 0; i < bound->dims.len; i++) {
        Value *value = bound->dims.data[i];
        if (value && is_symbol(value)) {
            *vec_push(&dims) = affine_symbol(bound->ctx, (uint32_t)bound->symbols.len);
            *vec_push(&bound->symbols) = value;
        } else {
            *vec_push(&dims) = affine_dim(bound->ctx, (uint32_t)kept);
            bound->dims.data[kept++] = value;
        }
    }
    bound->expr = affine_replace(bound->expr, dims.data, (uint32_t)dims.len, NULL, 0);
    bound->dims.len = kept;
    vec_free(&dims);
}

static size_t find_value(const ValueList *list, size_t count, const Value *value)
{
    size_t i = 0;
    while (i < count && list->data[i] != value) i++;
    return i;
}

/* Keeps one of each used value, in order; `out` says what each old one became. */
static void tidy(BoundExpr *bound, ValueList *list, bool is_dim, Exprs *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->len; i++) {
        Value *value = list->data[i];
        bool used =
            value && (is_dim ? affine_uses_dim : affine_uses_symbol)(bound->expr, (uint32_t)i);
        const Attr *constant = used && !is_dim ? fold_constant_of(value) : NULL;
        if (!used || (constant && constant->kind == ATTR_INTEGER)) {
            *vec_push(out) = affine_const(bound->ctx, used ? attr_int_value(constant) : 0);
            continue;
        }
        size_t same = find_value(list, kept, value);
        *vec_push(out) = (is_dim ? affine_dim : affine_symbol)(bound->ctx, (uint32_t)same);
        if (same == kept) list->data[kept++] = value;
    }
    list->len = kept;
}

static void bound_canonicalize(BoundExpr *bound)
{
    Exprs dims = {0}, symbols = {0};
    promote_symbols(bound);
    tidy(bound, &bound->dims, true, &dims);
    tidy(bound, &bound->symbols, false, &symbols);
    bound->expr = substitute(bound, &dims, &symbols);
    vec_free(&dims);
    vec_free(&symbols);
}

static void bound_compose(BoundExpr *bound)
{
    while (compose_once(bound)) continue;
    bound_canonicalize(bound);
    bound->expr =
        affine_simplify(bound->expr, (uint32_t)bound->dims.len, (uint32_t)bound->symbols.len);
}

static void bound_operands(const BoundExpr *bound, ValueList *out)
{
    for (size_t i = 0; i < bound->dims.len; i++) *vec_push(out) = bound->dims.data[i];
    for (size_t i = 0; i < bound->symbols.len; i++) *vec_push(out) = bound->symbols.data[i];
}

static Value *bound_build(Builder *b, const BoundExpr *bound)
{
    ValueList operands = {0};
    bound_operands(bound, &operands);
    Value *value = affine_apply(b, bound_map(bound), operands.data, (uint32_t)operands.len);
    vec_free(&operands);
    return value;
}

static bool same_operands(const Op *op, const ValueList *operands)
{
    bool same = op->operand_count == operands->len;
    for (uint32_t i = 0; same && i < op->operand_count; i++)
        same = op_operand(op, i) == operands->data[i];
    return same;
}

static bool compose_apply(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    BoundExpr bound = bound_read(op);
    ValueList operands = {0};
    bound_compose(&bound);
    bound_canonicalize(&bound);
    bound_operands(&bound, &operands);
    bool changed = bound_map(&bound) != op_attr(op, "map")->u.map || !same_operands(op, &operands);
    if (changed) rewriter_replace_one(rw, op, bound_build(&rw->b, &bound));
    vec_free(&operands);
    bound_free(&bound);
    return changed;
}

void affine_canonicalize_apply(PatternSet *set)
{
    pattern_add(set, "compose-apply", AFFINE(APPLY), 1, compose_apply);
}

/* The map with constant operands put in. */
static BoundExpr bind(const AffineMap *map, const MixedIndex *operands)
{
    BoundExpr bound = {.ctx = map->ctx, .expr = map->results[0]};
    Exprs dims = {0}, symbols = {0};
    for (uint32_t i = 0; i < map->dim_count + map->symbol_count; i++) {
        bool is_dim = i < map->dim_count;
        Exprs *exprs = is_dim ? &dims : &symbols;
        ValueList *values = is_dim ? &bound.dims : &bound.symbols;
        if (operands[i].value) {
            *vec_push(exprs) =
                (is_dim ? affine_dim : affine_symbol)(map->ctx, (uint32_t)values->len);
            *vec_push(values) = operands[i].value;
        } else {
            *vec_push(exprs) = affine_const(map->ctx, operands[i].constant);
        }
    }
    bound.expr = substitute(&bound, &dims, &symbols);
    vec_free(&dims);
    vec_free(&symbols);
    return bound;
}

MixedIndex affine_apply_folded(Builder *b, const AffineMap *map, const MixedIndex *operands)
{
    BoundExpr bound = bind(map, operands);
    bound_compose(&bound);
    MixedIndex result;
    if (affine_is_const(bound.expr))
        result = mixed_constant(bound.expr->value);
    else if (bound.expr->kind == AFFINE_DIM)
        result = mixed_value(bound.dims.data[bound.expr->value]);
    else if (bound.expr->kind == AFFINE_SYMBOL)
        result = mixed_value(bound.symbols.data[bound.expr->value]);
    else
        result = mixed_value(bound_build(b, &bound));
    bound_free(&bound);
    return result;
}
