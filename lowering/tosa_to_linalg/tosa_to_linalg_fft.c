/* Fourier transforms to a linalg.generic that sums over the image for each frequency:
 *   angle = 2 pi (iy oy mod H / H + ix ox mod W / W)
 *   rfft2d: re += x cos(angle), im -= x sin(angle)
 *   fft2d:  re += x cos(angle) + y sin(angle), im += y cos(angle) - x sin(angle)
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-linalg-fft.mir */
#include "dialects/arith/arith.h"
#include "dialects/index/index.h"
#include "dialects/linalg/linalg.h"
#include "dialects/math/math.h"
#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/tosa_to_linalg/internal.h"

typedef struct Fourier {
    Lower *l;
    Value *input;
    const Type *elem;
    MixedIndex sizes[3];   /* of the results: batch, height, width */
    Value *height, *width; /* of the input, index */
    Value *height_float, *width_float;
    Value *two_pi;
    bool is_inverse;
} Fourier;

/* Extent of the input; a static one leaves the unused index of its tensor.dim behind. */
static Value *input_extent(const Fourier *f, uint32_t dim)
{
    Builder *b = f->l->b;
    Value *operands[] = {f->input, arith_constant_index(b, dim)};
    return rewrite_build_or_fold(b, TENSOR(DIM), operands, 2, type_index(b->ctx));
}

static void read_sizes(Fourier *f)
{
    for (uint32_t i = 0; i < 3; i++) f->sizes[i] = tensor_mixed_dim(f->l->b, f->input, i);
}

/* width / 2 + 1: the rest of the spectrum follows by symmetry. */
static void halve_width(Fourier *f)
{
    Builder *b = f->l->b;
    const Type *index = type_index(b->ctx);
    Value *one = arith_constant_index(b, 1), *two = arith_constant_index(b, 2);
    Value *width = mixed_materialize(b, f->sizes[2]);
    Value *half = rewrite_build_or_fold(b, ARITH(DIVUI), (Value *[]){width, two}, 2, index);
    Value *extent = rewrite_build_or_fold(b, ARITH(ADDI), (Value *[]){half, one}, 2, index);
    const Attr *known = fold_constant_of(extent);
    f->sizes[2] = known ? mixed_constant(attr_int_value(known)) : mixed_value(extent);
}

static Value *build_zeros(const Fourier *f)
{
    Builder *b = f->l->b;
    Value *empty = tensor_empty(b, f->sizes, 3, f->elem);
    return linalg_fill(b, arith_constant(b, tosa_build_zero_of(f->elem)), empty);
}

static Value *to_float(const Fourier *f, Builder *b, Value *index)
{
    const Type *type = type_i(b->ctx, type_width(f->elem) > 32 ? 64 : 32);
    return build_unary(b, ARITH(UITOFP), f->elem, build_unary(b, ARITH(INDEX_CASTUI), type, index));
}

static Value *build_angle(const Fourier *f, Builder *b)
{
    Value *at[5];
    for (uint32_t i = 1; i < 5; i++) at[i] = linalg_index(b, i);
    Value *y = tosa_build_same(b, INDEX(MUL), at[3], at[1]);
    Value *x = tosa_build_same(b, INDEX(MUL), at[4], at[2]);
    y = tosa_build_same(b, INDEX(REMU), y, f->height);
    x = tosa_build_same(b, INDEX(REMU), x, f->width);
    y = to_float(f, b, y);
    x = to_float(f, b, x);
    y = tosa_build_same(b, ARITH(DIVF), y, f->height_float);
    x = tosa_build_same(b, ARITH(DIVF), x, f->width_float);
    Value *turns = tosa_build_same(b, ARITH(ADDF), y, x);
    Value *angle = tosa_build_same(b, ARITH(MULF), f->two_pi, turns);
    if (!f->is_inverse) return angle;
    return tosa_build_same(b, ARITH(MULF), angle, arith_constant(b, attr_float(f->elem, -1.0)));
}

static void build_real_body(const Fourier *f, Builder *b)
{
    Value *const *args = b->block->args;
    Value *angle = build_angle(f, b);
    Value *cosine = build_unary(b, MATH(COS), f->elem, angle);
    Value *sine = build_unary(b, MATH(SIN), f->elem, angle);
    Value *parts[2];
    parts[0] = tosa_build_same(b, ARITH(MULF), args[0], cosine);
    parts[1] = tosa_build_same(b, ARITH(MULF), args[0], sine);
    parts[0] = tosa_build_same(b, ARITH(ADDF), args[1], parts[0]);
    parts[1] = tosa_build_same(b, ARITH(SUBF), args[2], parts[1]);
    (void)linalg_yield(b, parts, 2);
}

static void build_complex_body(const Fourier *f, Builder *b)
{
    Value *const *args = b->block->args;
    Value *angle = build_angle(f, b);
    Value *cosine = build_unary(b, MATH(COS), f->elem, angle);
    Value *sine = build_unary(b, MATH(SIN), f->elem, angle);
    Value *parts[2];
    Value *cos_part = tosa_build_same(b, ARITH(MULF), args[0], cosine);
    Value *sin_part = tosa_build_same(b, ARITH(MULF), args[1], sine);
    parts[0] = tosa_build_same(b, ARITH(ADDF), cos_part, sin_part);
    cos_part = tosa_build_same(b, ARITH(MULF), args[1], cosine);
    sin_part = tosa_build_same(b, ARITH(MULF), args[0], sine);
    parts[1] = tosa_build_same(b, ARITH(SUBF), cos_part, sin_part);
    parts[0] = tosa_build_same(b, ARITH(ADDF), args[2], parts[0]);
    parts[1] = tosa_build_same(b, ARITH(ADDF), args[3], parts[1]);
    (void)linalg_yield(b, parts, 2);
}

static void lower_fourier(Fourier *f)
{
    static const bool is_reduction[] = {false, false, false, true, true};
    Lower *l = f->l;
    uint32_t inputs = l->op->operand_count;
    Value *operands[] = {f->input, op_operand(l->op, inputs - 1)}, *inits[2];
    for (uint32_t i = 0; i < 2; i++) inits[i] = build_zeros(f);
    f->height = input_extent(f, 1);
    f->width = input_extent(f, 2);
    f->two_pi = arith_constant(l->b, attr_float(f->elem, 6.283185307179586));
    f->height_float = to_float(f, l->b, f->height);
    f->width_float = to_float(f, l->b, f->width);
    const AffineExpr *d[5];
    for (uint32_t i = 0; i < 5; i++) d[i] = affine_dim(l->ctx, i);
    const AffineMap *read = map_get(l->ctx, 5, 0, 3, (const AffineExpr *[]){d[0], d[3], d[4]});
    const AffineMap *maps[4], *write = map_get(l->ctx, 5, 0, 3, d);
    for (uint32_t i = 0; i < inputs + 2; i++) maps[i] = i < inputs ? read : write;
    GenericDef def = {.inputs = {operands, inputs},
                      .inits = {inits, 2},
                      .maps = maps,
                      .loops = 5,
                      .is_reduction = is_reduction};
    /* These may know more of the extents than the results do. */
    const Type *types[] = {inits[0]->type, inits[1]->type};
    Builder body;
    Op *op = tosa_build_generic(l->b, &def, types, &body);
    if (inputs == 1)
        build_real_body(f, &body);
    else
        build_complex_body(f, &body);
    Value *results[] = {op_result(op, 0), op_result(op, 1)};
    for (uint32_t i = 0; i < 2; i++) {
        const Type *type = op_result(l->op, i)->type;
        if (types[i] != type) results[i] = tensor_cast(l->b, results[i], type);
    }
    rewriter_replace(l->rw, l->op, results, 2);
}

static bool fourier_init(Fourier *f, Lower *l)
{
    *f = (Fourier){.l = l, .input = op_operand(l->op, 0)};
    f->elem = type_elem(f->input->type);
    if (!tosa_lower_all_ranked(l->op) || !type_is_float(f->elem)) return false;
    read_sizes(f);
    return true;
}

bool tosa_lower_rfft(Lower *l)
{
    Fourier f;
    if (!fourier_init(&f, l)) return false;
    halve_width(&f);
    lower_fourier(&f);
    return true;
}

bool tosa_lower_fft(Lower *l)
{
    Fourier f;
    if (!fourier_init(&f, l)) return false;
    f.is_inverse = tosa_build_bool_attr(l->op, "inverse");
    lower_fourier(&f);
    return true;
}
