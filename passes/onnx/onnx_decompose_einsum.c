/* Einsum as the operators that streams have rules for: operands are joined from left to right, two
 * at a time, by MatMul where the sum goes over indices of both, else by Mul. Before that each is
 * freed of diagonals, of extents that only broadcast and of indices that nothing else needs. One
 * whose products have no tensor type stays.
 *   ij,jk->ik      MatMul
 *   bhid,bhjd->bhij  Transpose, Reshape, MatMul, Reshape
 *   ii->i          Reshape, Slice with step n + 1
 *   i,j->ij        Mul of (i, 1) and (1, j)
 * Tests: lit/passes/onnx/onnx-decompose-einsum.mir, test/e2e/places_check.py */
#include <string.h>

#include "dialects/onnx/onnx.h"
#include "passes/onnx/internal.h"

/* An operand on its way, with a label per dimension; no label twice. */
typedef struct Part {
    Value *value;
    EinsumTerm term;
} Part;

typedef struct Sum {
    Decomposition *d;
    Einsum einsum;
    Part parts[EINSUM_MAX_OPERANDS];
} Sum;

static bool has_label(const EinsumTerm *term, uint32_t label)
{
    for (uint32_t i = 0; i < term->rank; i++)
        if (term->labels[i] == label) return true;
    return false;
}

static const int64_t *dims_of(const Part *part)
{
    return part->value->type->u.shaped.dims;
}

static Value *int_list(Sum *s, const int64_t *items, int64_t count)
{
    const Type *type = type_tensor(type_i(s->d->b.ctx, 64), &count, 1, NULL);
    return onnx_build_constant(&s->d->b, attr_dense_i64(type, items, (size_t)count));
}

static Value *make_like(Sum *s, const OpDef *def, Value *const *operands, uint32_t count,
                        const NamedAttr *attrs, uint32_t attr_count)
{
    return decompose_make(s->d, def, operands, count, type_elem(operands[0]->type), attrs,
                          attr_count);
}

static Value *reshape(Sum *s, Value *x, const int64_t *dims, uint32_t rank)
{
    const Type *type = type_with_shape(x->type, dims, rank);
    if (type == x->type) return x;
    Value *operands[] = {x, int_list(s, dims, rank)};
    return make_like(s, ONNX(RESHAPE), operands, 2, NULL, 0);
}

/* Dimension i of the result is perm[i] of x. */
static Value *transpose(Sum *s, Value *x, const int64_t *perm, uint32_t rank)
{
    bool moves = false;
    for (uint32_t i = 0; i < rank; i++) moves |= perm[i] != i;
    if (!moves) return x;
    NamedAttr attr = build_named_attr(s->d->b.ctx, "perm", attr_i64_array(s->d->b.ctx, perm, rank));
    return make_like(s, ONNX(TRANSPOSE), &x, 1, &attr, 1);
}

/* Makes the part one along the labels of `order`, which are all of its own and perhaps others; the
 * others get an extent of 1. */
static void bring_to(Sum *s, Part *part, const EinsumTerm *order)
{
    int64_t perm[ONNX_MAX_RANK], dims[ONNX_MAX_RANK];
    uint32_t own = 0;
    for (uint32_t i = 0; i < order->rank; i++) {
        dims[i] = 1;
        for (uint32_t k = 0; k < part->term.rank; k++) {
            if (part->term.labels[k] != order->labels[i]) continue;
            dims[i] = dims_of(part)[k];
            perm[own++] = k;
        }
    }
    part->value = transpose(s, part->value, perm, own);
    part->value = reshape(s, part->value, dims, order->rank);
    part->term = *order;
}

static void drop_dimension(EinsumTerm *term, uint32_t at)
{
    term->rank--;
    memmove(term->labels + at, term->labels + at + 1, term->rank - at);
}

/* x[.., i, .., i, ..] -> x[.., i, ..]: both dimensions to the end, as one, and every (n + 1)th. */
static void take_diagonal(Sum *s, Part *part, uint32_t first, uint32_t second)
{
    int64_t perm[ONNX_MAX_RANK], dims[ONNX_MAX_RANK], n = dims_of(part)[first];
    uint32_t rank = part->term.rank, kept = 0;
    uint8_t label = part->term.labels[first];
    EinsumTerm term = {.rank = 0};
    for (uint32_t i = 0; i < rank; i++) {
        if (i == first || i == second) continue;
        dims[kept] = dims_of(part)[i];
        perm[kept++] = i;
        term.labels[term.rank++] = part->term.labels[i];
    }
    perm[kept] = first;
    perm[kept + 1] = second;
    term.labels[term.rank++] = label;
    dims[kept] = n * n;
    Value *x = reshape(s, transpose(s, part->value, perm, rank), dims, kept + 1);
    const int64_t zero = 0, end = n * n, step = n + 1, axis = kept;
    Value *operands[] = {x, int_list(s, &zero, 1), int_list(s, &end, 1), int_list(s, &axis, 1),
                         int_list(s, &step, 1)};
    part->value = make_like(s, ONNX(SLICE), operands, 5, NULL, 0);
    part->term = term;
}

static void take_diagonals(Sum *s, Part *part)
{
    for (uint32_t i = 0; i < part->term.rank; i++)
        for (uint32_t k = i + 1; k < part->term.rank; k++)
            if (part->term.labels[i] == part->term.labels[k]) {
                take_diagonal(s, part, i, k);
                i = 0;
                k = 0;
            }
}

/* Drops dimensions of extent 1: they broadcast, or the result gets them back at the end. */
static void drop_ones(Sum *s, Part *part)
{
    int64_t dims[ONNX_MAX_RANK];
    uint32_t kept = 0;
    EinsumTerm term = {.rank = 0};
    for (uint32_t i = 0; i < part->term.rank; i++) {
        if (dims_of(part)[i] == 1) continue;
        dims[kept++] = dims_of(part)[i];
        term.labels[term.rank++] = part->term.labels[i];
    }
    part->value = reshape(s, part->value, dims, kept);
    part->term = term;
}

/* Whether the result or another part has the label. */
static bool is_needed(const Sum *s, uint32_t label, const EinsumTerm *others, uint32_t other_count)
{
    bool needed = has_label(&s->einsum.result, label);
    for (uint32_t k = 0; k < other_count; k++) needed |= has_label(&others[k], label);
    return needed;
}

/* Adds up along the dimensions that neither the result nor another part has. */
static void sum_own(Sum *s, Part *part, const EinsumTerm *others, uint32_t other_count)
{
    int64_t axes[ONNX_MAX_RANK], count = 0;
    for (uint32_t i = 0; i < part->term.rank; i++)
        if (!is_needed(s, part->term.labels[i], others, other_count)) axes[count++] = i;
    if (count == 0) return;
    Value *operands[] = {part->value, int_list(s, axes, count)};
    NamedAttr attr = build_named_attr(s->d->b.ctx, "keepdims", attr_i64(s->d->b.ctx, 0));
    part->value = make_like(s, ONNX(REDUCE_SUM), operands, 2, &attr, 1);
    for (int64_t i = count; i-- > 0;) drop_dimension(&part->term, (uint32_t)axes[i]);
}

/* The labels of two parts by where they stand. */
typedef struct Kinds {
    EinsumTerm both, left, right, summed;
} Kinds;

static void push(EinsumTerm *term, uint8_t label)
{
    term->labels[term->rank++] = label;
}

static Kinds sort_labels(const Sum *s, const Part *a, const Part *b, const EinsumTerm *others,
                         uint32_t other_count)
{
    Kinds kinds = {.both = {.rank = 0}};
    for (uint32_t i = 0; i < a->term.rank; i++) {
        uint8_t label = a->term.labels[i];
        if (!has_label(&b->term, label))
            push(&kinds.left, label);
        else
            push(is_needed(s, label, others, other_count) ? &kinds.both : &kinds.summed, label);
    }
    for (uint32_t i = 0; i < b->term.rank; i++)
        if (!has_label(&a->term, b->term.labels[i])) push(&kinds.right, b->term.labels[i]);
    return kinds;
}

static void append(EinsumTerm *to, const EinsumTerm *more)
{
    for (uint32_t i = 0; i < more->rank; i++) push(to, more->labels[i]);
}

static int64_t extent_of(const Sum *s, const EinsumTerm *term)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < term->rank; i++) count *= s->einsum.extents[term->labels[i]];
    return count;
}

/* The part as a matrix, or one per index of `both`, of `rows` by `columns`. */
static Value *as_matrix(Sum *s, Part *part, const EinsumTerm *both, const EinsumTerm *rows,
                        const EinsumTerm *columns)
{
    EinsumTerm order = *both;
    append(&order, rows);
    append(&order, columns);
    bring_to(s, part, &order);
    const int64_t dims[] = {extent_of(s, both), extent_of(s, rows), extent_of(s, columns)};
    uint32_t first = both->rank == 0;
    return reshape(s, part->value, dims + first, 3 - first);
}

/* sum over `summed` of a * b, along both, left and right. */
static void multiply(Sum *s, Part *a, Part *b, const Kinds *kinds)
{
    int64_t dims[ONNX_MAX_RANK];
    EinsumTerm order = kinds->both;
    Value *operands[] = {as_matrix(s, a, &kinds->both, &kinds->left, &kinds->summed),
                         as_matrix(s, b, &kinds->both, &kinds->summed, &kinds->right)};
    Value *y = make_like(s, ONNX(MATMUL), operands, 2, NULL, 0);
    append(&order, &kinds->left);
    append(&order, &kinds->right);
    for (uint32_t i = 0; i < order.rank; i++) dims[i] = s->einsum.extents[order.labels[i]];
    a->value = reshape(s, y, dims, order.rank);
    a->term = order;
}

/* a * b, along the labels of the first and then those that only the second has. */
static void multiply_elements(Sum *s, Part *a, Part *b)
{
    EinsumTerm order = a->term;
    for (uint32_t i = 0; i < b->term.rank; i++)
        if (!has_label(&a->term, b->term.labels[i])) push(&order, b->term.labels[i]);
    bring_to(s, a, &order);
    bring_to(s, b, &order);
    Value *operands[] = {a->value, b->value};
    a->value = make_like(s, ONNX(MUL), operands, 2, NULL, 0);
}

/* Labels that have a use in one of the terms or in the result. */
static EinsumTerm needed_of(const Sum *s, const EinsumTerm *term, const EinsumTerm *others,
                            uint32_t other_count)
{
    EinsumTerm needed = {.rank = 0};
    for (uint32_t i = 0; i < term->rank; i++)
        if (is_needed(s, term->labels[i], others, other_count)) push(&needed, term->labels[i]);
    return needed;
}

/* Whether no product of parts is along more labels than a tensor has dimensions, or too large; there
 * are more letters than that. */
static bool products_fit(const Sum *s, const EinsumTerm *terms, uint32_t count)
{
    EinsumTerm all = terms[0];
    for (uint32_t i = 1; i < count; i++) {
        EinsumTerm left = needed_of(s, &all, terms + i, count - i), rest[EINSUM_MAX_OPERANDS];
        int64_t elements = 1;
        rest[0] = all = left;
        memcpy(rest + 1, terms + i + 1, (count - i - 1) * sizeof *rest);
        const EinsumTerm right = needed_of(s, &terms[i], rest, count - i);
        for (uint32_t k = 0; k < right.rank; k++) {
            if (has_label(&left, right.labels[k])) continue;
            if (all.rank == ONNX_MAX_RANK) return false;
            push(&all, right.labels[k]);
        }
        for (uint32_t k = 0; k < all.rank; k++) {
            uint32_t label = all.labels[k];
            bool is_summed = has_label(&left, label) && has_label(&right, label) &&
                             !is_needed(s, label, terms + i + 1, count - i - 1);
            if (!is_summed && (!i64_mul(elements, s->einsum.extents[label], &elements) ||
                               elements > ONNX_MAX_ELEMENTS))
                return false;
        }
    }
    return true;
}

bool decompose_einsum(Decomposition *d)
{
    Sum s = {.d = d};
    const Op *op = d->op;
    const Type *types[EINSUM_MAX_OPERANDS];
    EinsumTerm others[EINSUM_MAX_OPERANDS];
    StrBuf why = {0};
    uint32_t count = op->operand_count;
    for (uint32_t i = 0; i < count; i++)
        if (!type_is_static(op_operand(op, i)->type) || i >= EINSUM_MAX_OPERANDS) return false;
    for (uint32_t i = 0; i < count; i++) types[i] = op_operand(op, i)->type;
    bool known = onnx_einsum(onnx_string(op, "equation", ""), types, count, &s.einsum, &why);
    strbuf_free(&why);
    if (!known) return false;
    for (uint32_t i = 0; i < count; i++) {
        s.parts[i] = (Part){op_operand(op, i), s.einsum.terms[i]};
        take_diagonals(&s, &s.parts[i]);
        drop_ones(&s, &s.parts[i]);
        others[i] = s.parts[i].term;
    }
    if (!products_fit(&s, others, count)) return false;
    Part *a = &s.parts[0];
    for (uint32_t i = 1; i < count; i++) {
        sum_own(&s, a, others + i, count - i);
        EinsumTerm rest[EINSUM_MAX_OPERANDS];
        rest[0] = a->term;
        memcpy(rest + 1, others + i + 1, (count - i - 1) * sizeof *rest);
        sum_own(&s, &s.parts[i], rest, count - i);
        Kinds kinds = sort_labels(&s, a, &s.parts[i], others + i + 1, count - i - 1);
        if (kinds.summed.rank > 0)
            multiply(&s, a, &s.parts[i], &kinds);
        else
            multiply_elements(&s, a, &s.parts[i]);
    }
    sum_own(&s, a, NULL, 0);
    bring_to(&s, a, &s.einsum.result);
    decompose_replace(d, a->value);
    return true;
}
