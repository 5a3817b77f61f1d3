/* Bipolars that a sum of products pads with zeros. 0 is no bipolar, so the tensor would need a
 * second bit; instead it is padded with -1, and the sum is corrected by what that took from it:
 *   sum over taps of pad(x, 0) * w  =  sum over taps of pad(x, -1) * w  +  sum over taps in the
 *                                      padding of w
 * The last sum is a constant of the weights' parallel loops and of the border class of a position.
 * Positions are of one class, dimension by dimension, if the same taps lie in the padding: a 3 x 3
 * kernel padded by 1 has 3 x 3 classes, for any stride, dilation and width of the padding.
 *   class0[h], class1[w]: constants;  r' = generic(r, class0, class1) { yield r + c[f][h'][w'] }
 * All of it is modulo the accumulator's width, so that nothing needs more bits.
 * FINN-R, 4.1 has no padding of such layers.
 * Tests: lit/passes/linalg/level-padding.mir, test/e2e/popcount_check.py */

#include <assert.h>

#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "passes/linalg/levels/internal.h"

enum { MAX_PADDED = 4, MAX_NUMBERS = 1 << 20 };

/* A dimension of the tensor that is padded. */
typedef struct PaddedDim {
    KernelIndex index;         /* of the kernel's loops */
    int64_t low, size;         /* elements in front, elements of the source */
    int64_t steps, taps;       /* extents of the two loops, 1 without */
    int64_t *class_of, *first; /* [steps]: the class; [classes]: its first position */
    int64_t classes;
} PaddedDim;

/* A kernel that adds up products of the padded tensor and weights. */
typedef struct Correction {
    Arena *arena;
    Op *generic;
    Kernel kernel;      /* loops only */
    uint32_t weights;   /* operand */
    const Attr *values; /* theirs */
    PaddedDim dims[MAX_PADDED];
    uint32_t dim_count;
    uint32_t lead[KERNEL_MAX_LOOPS], lead_count; /* parallel loops of the weights */
    int64_t rows, taps, combos;                  /* of those; of the windows; of classes */
} Correction;

static const Value *through_extensions(const Value *value)
{
    const Op *op = value_def(value);
    while (op && op->def == ARITH(EXTSI)) {
        value = op_operand(op, 0);
        op = value_def(value);
    }
    return value;
}

/* The input that a factor is an element of and nothing else reads; -1: none. */
static int factor_input(const Op *generic, const Value *factor)
{
    const Value *arg = through_extensions(factor);
    bool is_input = arg->is_arg && value_block(arg) == linalg_body(generic) &&
                    arg->index < linalg_input_count(generic) && value_has_one_use(arg);
    return is_input ? (int)arg->index : -1;
}

static const Attr *constant_integers(const Value *tensor)
{
    const Op *def = value_def(tensor);
    const Attr *value = def && def->def == ARITH(CONSTANT) ? op_attr(def, "value") : NULL;
    bool fits = value && value->kind == ATTR_DENSE && tensor->type->kind == TYPE_RANKED_TENSOR &&
                type_is_integer(type_elem(tensor->type)) &&
                type_width(type_elem(tensor->type)) <= 64;
    return fits ? value : NULL;
}

/* Whether -1 times each weight is in the product's range; a product in the sum's own type may
 * wrap. */
static bool negation_fits(const Attr *weights, const Type *product, const Type *sum)
{
    uint32_t width = type_width(product);
    if (product == sum || width > 64) return true;
    if (width == 0) return false;
    int64_t least = i64_least(width);
    for (int64_t i = 0, count = dense_count(weights); i < count; i++)
        if (dense_i64(weights, i) <= least) return false;
    return true;
}

/* acc + extension of the product; NULL: it yields something else. */
static const Op *added_product(const Op *generic)
{
    const Block *body = linalg_body(generic);
    const Value *acc = body->args[linalg_input_count(generic)];
    const Op *sum = value_def(op_operand(body->last, 0));
    if (!sum || sum->def != ARITH(ADDI) || !value_has_one_use(acc) || acc->uses->owner != sum)
        return NULL;
    const Value *term = through_extensions(op_operand(sum, op_operand(sum, 0) == acc ? 1 : 0));
    const Op *product = value_def(term);
    return product && product->def == ARITH(MULI) && value_has_one_use(term) ? product : NULL;
}

/* Finds the product and its weights. */
static bool take_product(Correction *c, const Value *padded)
{
    const Op *product = added_product(c->generic);
    if (!product) return false;
    int first = factor_input(c->generic, op_operand(product, 0)),
        second = factor_input(c->generic, op_operand(product, 1));
    if (first < 0 || second < 0 || first == second) return false;
    bool is_first = op_operand(c->generic, (uint32_t)first) == padded;
    c->weights = (uint32_t)(is_first ? second : first);
    c->values = constant_integers(op_operand(c->generic, c->weights));
    return op_operand(c->generic, (uint32_t)(is_first ? first : second)) == padded && c->values &&
           negation_fits(c->values, op_result(product, 0)->type,
                         type_elem(op_result(c->generic, 0)->type));
}

static bool take_loops(Kernel *kernel, const Op *generic)
{
    *kernel = (Kernel){.op = generic, .loop_count = linalg_loop_count(generic)};
    if (kernel->loop_count > KERNEL_MAX_LOOPS || !linalg_loop_extents(generic, kernel->extents))
        return false;
    for (uint32_t i = 0; i < kernel->loop_count; i++) {
        kernel->is_reduction[i] = linalg_is_reduction(generic, i);
        if (kernel->extents[i] < 1) return false;
    }
    return true;
}

static bool is_padding(const PaddedDim *dim, int64_t step, int64_t tap)
{
    int64_t at = dim->index.stride * step + dim->index.dilation * tap + dim->index.offset;
    return at < dim->low || at >= dim->low + dim->size;
}

static bool have_same_taps(const PaddedDim *dim, int64_t a, int64_t b)
{
    for (int64_t tap = 0; tap < dim->taps; tap++)
        if (is_padding(dim, a, tap) != is_padding(dim, b, tap)) return false;
    return true;
}

static void classify(Correction *c, PaddedDim *dim)
{
    dim->class_of = ARENA_ARRAY(c->arena, int64_t, dim->steps);
    dim->first = ARENA_ARRAY(c->arena, int64_t, dim->steps);
    for (int64_t step = 0; step < dim->steps; step++) {
        int64_t class = 0;
        while (class < dim->classes && !have_same_taps(dim, dim->first[class], step)) class ++;
        dim->class_of[step] = class;
        if (class == dim->classes) dim->first[dim->classes++] = step;
    }
}

static bool take_dim(Correction *c, const AffineExpr *expr, int64_t low, int64_t size)
{
    if (c->dim_count == MAX_PADDED) return false;
    PaddedDim *dim = &c->dims[c->dim_count++];
    *dim = (PaddedDim){.low = low, .size = size, .steps = 1, .taps = 1};
    if (!kernel_index(&c->kernel, expr, &dim->index)) return false;
    if (dim->index.parallel >= 0) dim->steps = c->kernel.extents[dim->index.parallel];
    if (dim->index.reduction >= 0) dim->taps = c->kernel.extents[dim->index.reduction];
    for (uint32_t i = 0; i + 1 < c->dim_count; i++) /* taps are numbered dimension by dimension */
        if (dim->index.reduction >= 0 && c->dims[i].index.reduction == dim->index.reduction)
            return false;
    classify(c, dim);
    return true;
}

static bool take_dims(Correction *c, const Op *pad, uint32_t operand)
{
    PadBorders borders;
    const Type *source = op_operand(pad, 0)->type;
    const AffineMap *map = linalg_operand_map(c->generic, operand);
    tensor_pad_read_folded(pad, &borders);
    bool fits = true;
    for (uint32_t i = 0; fits && i < map->result_count; i++) {
        MixedIndex low = borders.low.data[i], high = borders.high.data[i];
        fits = !low.value && !high.value && low.constant >= 0 && high.constant >= 0;
        if (fits && (low.constant > 0 || high.constant > 0))
            fits = take_dim(c, map->results[i], low.constant, source->u.shaped.dims[i]);
    }
    tensor_pad_free(&borders);
    return fits;
}

/* Dimension of the result that a parallel loop is; -1: none. */
static int result_dim(const Correction *c, uint32_t loop)
{
    const AffineMap *out = linalg_operand_map(c->generic, linalg_input_count(c->generic));
    for (uint32_t i = 0; i < out->result_count; i++)
        if (out->results[i]->kind == AFFINE_DIM && out->results[i]->value == (int64_t)loop)
            return (int)i;
    return -1;
}

/* The parallel loops that the correction depends on, all of which the result has. */
static bool take_lead(Correction *c)
{
    const AffineMap *map = linalg_operand_map(c->generic, c->weights);
    c->rows = c->taps = c->combos = 1;
    for (uint32_t loop = 0; loop < c->kernel.loop_count; loop++) {
        if (c->kernel.is_reduction[loop] || !map_uses_dim(map, loop)) continue;
        c->lead[c->lead_count++] = loop;
        if (result_dim(c, loop) < 0 || !i64_mul(c->rows, c->kernel.extents[loop], &c->rows))
            return false;
    }
    for (uint32_t i = 0; i < c->dim_count; i++) {
        const PaddedDim *dim = &c->dims[i];
        bool is_known =
            dim->index.parallel < 0 || result_dim(c, (uint32_t)dim->index.parallel) >= 0;
        if (!is_known || !i64_mul(c->taps, dim->taps, &c->taps) ||
            !i64_mul(c->combos, dim->classes, &c->combos))
            return false;
    }
    int64_t numbers;
    return i64_mul(c->rows, c->taps, &numbers) && numbers <= MAX_NUMBERS &&
           i64_mul(c->rows, c->combos, &numbers) && numbers <= MAX_NUMBERS;
}

static bool analyze(Correction *c, const Op *pad, const Use *use)
{
    uint32_t operand = use_index(use), readers = 0;
    if (c->generic->def != LINALG(GENERIC) || c->generic->result_count != 1 ||
        operand >= linalg_input_count(c->generic) || !linalg_reduces(c->generic) ||
        linalg_body_has_regions(c->generic))
        return false;
    for (uint32_t i = 0; i < c->generic->operand_count; i++)
        readers += op_operand(c->generic, i) == op_result(pad, 0);
    return readers == 1 && take_product(c, op_result(pad, 0)) &&
           take_loops(&c->kernel, c->generic) && take_dims(c, pad, operand) && take_lead(c);
}

bool level_padding_fits(Arena *arena, const Op *pad)
{
    FOR_EACH_USE(use, op_result(pad, 0)) {
        Correction c = {.arena = arena, .generic = use->owner};
        if (!analyze(&c, pad, use)) return false;
    }
    return true;
}

/* The next point of the loops that reduce, or of those that do not; false: it was the last. */
static bool advance(const Kernel *kernel, int64_t *point)
{
    for (uint32_t i = kernel->loop_count; i-- > 0;) {
        if (++point[i] < kernel->extents[i]) return true;
        point[i] = 0;
    }
    return false;
}

static int64_t row_of(const Correction *c, const int64_t *point)
{
    int64_t row = 0;
    for (uint32_t i = 0; i < c->lead_count; i++)
        row = row * c->kernel.extents[c->lead[i]] + point[c->lead[i]];
    return row;
}

static int64_t tap_of(const Correction *c, const int64_t *point)
{
    int64_t tap = 0;
    for (uint32_t i = 0; i < c->dim_count; i++)
        tap = tap * c->dims[i].taps +
              (c->dims[i].index.reduction >= 0 ? point[c->dims[i].index.reduction] : 0);
    return tap;
}

static int64_t weight_at(const Correction *c, const int64_t *point)
{
    const AffineMap *map = linalg_operand_map(c->generic, c->weights);
    const Type *type = op_operand(c->generic, c->weights)->type;
    int64_t at = 0, index;
    for (uint32_t i = 0; i < map->result_count; i++) {
        if (!affine_eval(map->results[i], point, NULL, &index)) return 0;
        at = at * type->u.shaped.dims[i] + index;
    }
    return dense_i64(c->values, at);
}

/* [rows][taps]: sums of the weights over all other loops that reduce. */
static int64_t *weights_by_tap(const Correction *c)
{
    int64_t *sums = ARENA_ARRAY(c->arena, int64_t, c->rows * c->taps);
    int64_t point[KERNEL_MAX_LOOPS] = {0};
    Kernel loops = c->kernel;
    const AffineMap *map = linalg_operand_map(c->generic, c->weights);
    for (uint32_t i = 0; i < loops.loop_count; i++)
        if (!loops.is_reduction[i] && !map_uses_dim(map, i)) loops.extents[i] = 1;
    do sums[row_of(c, point) * c->taps + tap_of(c, point)] += weight_at(c, point);
    while (advance(&loops, point));
    return sums;
}

/* Whether a tap is in the padding at the positions of a combination of classes. */
static bool is_tap_padding(const Correction *c, int64_t combo, int64_t tap)
{
    for (uint32_t i = c->dim_count; i-- > 0;) {
        const PaddedDim *dim = &c->dims[i];
        if (is_padding(dim, dim->first[combo % dim->classes], tap % dim->taps)) return true;
        combo /= dim->classes;
        tap /= dim->taps;
    }
    return false;
}

/* The corrections as a constant tensor: by rows, then by the classes of each dimension. NULL: none
 * corrects. */
static Value *correction_table(const Correction *c, Builder *b, const Type *sum)
{
    const int64_t *sums = weights_by_tap(c);
    int64_t *numbers = ARENA_ARRAY(c->arena, int64_t, c->rows * c->combos);
    int64_t dims[KERNEL_MAX_LOOPS + MAX_PADDED];
    uint32_t rank = 0, width = 1;
    bool corrects = false;
    for (int64_t row = 0; row < c->rows; row++)
        for (int64_t combo = 0; combo < c->combos; combo++) {
            int64_t *number = &numbers[row * c->combos + combo];
            for (int64_t tap = 0; tap < c->taps; tap++)
                if (is_tap_padding(c, combo, tap)) *number += sums[row * c->taps + tap];
            while (width < type_width(sum) && ((*number >> (width - 1)) + 1) >> 1) width++;
            corrects |= *number != 0;
        }
    if (!corrects) return NULL;
    const Type *elem = type_i(b->ctx, width);
    for (int64_t i = 0; i < c->rows * c->combos; i++) numbers[i] = array_wrap(elem, numbers[i]);
    for (uint32_t i = 0; i < c->lead_count; i++) dims[rank++] = c->kernel.extents[c->lead[i]];
    for (uint32_t i = 0; i < c->dim_count; i++) dims[rank++] = c->dims[i].classes;
    return arith_constant(b, attr_dense_i64(type_tensor(elem, dims, rank, NULL), numbers,
                                            (size_t)(c->rows * c->combos)));
}

/* The class of each position along a dimension, as a constant. */
static Value *class_table(Builder *b, const PaddedDim *dim)
{
    const Type *elem = type_i(b->ctx, (uint32_t)i64_log2_up(dim->classes));
    return arith_constant(b, attr_dense_i64(type_tensor(elem, &dim->steps, 1, NULL), dim->class_of,
                                            (size_t)dim->steps));
}

static Value *empty_like(Builder *b, const Type *type)
{
    MixedIndex sizes[KERNEL_MAX_LOOPS];
    for (uint32_t i = 0; i < type->u.shaped.rank; i++)
        sizes[i] = mixed_constant(type->u.shaped.dims[i]);
    return tensor_empty(b, sizes, type->u.shaped.rank, type_elem(type));
}

/* generic(r, classes...) with the maps, whose body is still empty. */
static Op *build_stage(const Correction *c, Builder *b, Value *result)
{
    uint32_t rank = result->type->u.shaped.rank, count = 1;
    Value *inputs[1 + MAX_PADDED] = {result};
    const AffineMap *maps[2 + MAX_PADDED] = {map_identity(b->ctx, rank)};
    bool is_reduction[KERNEL_MAX_LOOPS] = {false};
    for (uint32_t i = 0; i < c->dim_count; i++) {
        if (c->dims[i].classes == 1) continue;
        int at = result_dim(c, (uint32_t)c->dims[i].index.parallel);
        const AffineExpr *along = affine_dim(b->ctx, (uint32_t)at);
        inputs[count] = class_table(b, &c->dims[i]);
        maps[count++] = map_get(b->ctx, rank, 0, 1, &along);
    }
    maps[count] = maps[0];
    Value *init = empty_like(b, result->type);
    return linalg_build_generic(b, inputs, count, &init, 1,
                                linalg_maps_attr(b->ctx, maps, count + 1),
                                linalg_iterators_attr(b->ctx, is_reduction, rank));
}

/* r + corrections[rows][classes] */
static Value *corrected(const Correction *c, Builder *b, Block *body, Value *corrections)
{
    VEC(Value *) operands = {0};
    const Type *index = type_index(b->ctx), *sum = body->args[0]->type;
    uint32_t input = 1;
    *vec_push(&operands) = corrections;
    for (uint32_t i = 0; i < c->lead_count; i++)
        *vec_push(&operands) = linalg_index(b, (uint32_t)result_dim(c, c->lead[i]));
    for (uint32_t i = 0; i < c->dim_count; i++)
        *vec_push(&operands) = c->dims[i].classes == 1 ? arith_constant(b, attr_index(b->ctx, 0))
                                                       : build_unary(b, ARITH(INDEX_CASTUI), index,
                                                                     body->args[input++]);
    const Type *elem = type_elem(corrections->type);
    Value *number = op_result(
        build(b, TENSOR(EXTRACT), operands.data, (uint32_t)operands.len, &elem, 1, NULL, 0), 0);
    vec_free(&operands);
    if (elem != sum) number = build_unary(b, ARITH(EXTSI), sum, number);
    return build_binary(b, ARITH(ADDI), sum, body->args[0], number);
}

static void correct(const Correction *c)
{
    Value *result = op_result(c->generic, 0);
    Builder b = builder_after(c->generic);
    Value *corrections = correction_table(c, &b, type_elem(result->type));
    if (!corrections) return;
    Op *stage = build_stage(c, &b, result);
    Block *body = linalg_body(stage);
    Builder inner = builder_at_end(body, b.loc);
    Value *sum = corrected(c, &inner, body, corrections);
    linalg_yield(&inner, &sum, 1);
    value_replace_all(result, op_result(stage, 0));
    op_set_operand(stage, 0, result);
}

void level_padding_correct(Arena *arena, const Op *pad)
{
    FOR_EACH_USE(use, op_result(pad, 0)) {
        Correction c = {.arena = arena, .generic = use->owner};
        bool fits = analyze(&c, pad, use);
        assert(fits);
        if (fits) correct(&c);
    }
}
