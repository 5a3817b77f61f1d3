/* Float ops of arith, and conversions to and from floats. A result is the exact one rounded once to
 * its format. Sums, products and quotients of formats up to f32 may be computed in double and
 * rounded again without harm; integers of more than 53 bits are rounded through an odd last bit.
 * Fast-math flags are ignored.
 * Tests: test/unit/sim/interp/interp_test.c, test/e2e/run_check.py */
#include <math.h>

#include "dialects/arith/arith.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"
#include "sim/vm/vm.h"

/* Values of truncf's "roundingmode". */
enum { NEAREST_EVEN, DOWNWARD, UPWARD, TOWARD_ZERO, NEAREST_AWAY };

#define FLOAT_BINARY(NAME, EXPR)                                                                   \
    static bool NAME(const Instr *in, size_t n)                                                    \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            double a = in->in[0][i].f, b = in->in[1][i].f;                                         \
            in->out[0][i].f = (EXPR);                                                              \
        }                                                                                          \
        vm_round_cells(in->out[0], n, in->type);                                                   \
        return true;                                                                               \
    }

/* A number, or as folders say it the first NaN of the operands, or one without a sign: that of a
 * processor may have one. */
static double number_or_nan(double result, double a, double b)
{
    if (!isnan(result)) return result;
    return isnan(a) ? a : isnan(b) ? b : (double)NAN;
}

FLOAT_BINARY(addf, number_or_nan(a + b, a, b))
FLOAT_BINARY(subf, number_or_nan(a - b, a, b))
FLOAT_BINARY(mulf, number_or_nan(a *b, a, b))
FLOAT_BINARY(divf, number_or_nan(a / b, a, b))
FLOAT_BINARY(remf, number_or_nan(fmod(a, b), a, b))
/* The larger of two numbers; +0 counts as larger than -0. */
FLOAT_BINARY(maximumf, isnan(a) ? a : isnan(b) ? b : float_maximum(a, b))
FLOAT_BINARY(minimumf, isnan(a) ? a : isnan(b) ? b : float_minimum(a, b))
FLOAT_BINARY(maxnumf, isnan(a) ? b : isnan(b) ? a : float_maximum(a, b))
FLOAT_BINARY(minnumf, isnan(a) ? b : isnan(b) ? a : float_minimum(a, b))

static bool negf(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++) in->out[0][i].f = -in->in[0][i].f;
    vm_round_cells(in->out[0], n, in->type); /* -0 is no number of some formats */
    return true;
}

static bool cmpf(const Instr *in, size_t n)
{
    CmpfPredicate predicate = (CmpfPredicate)in->param;
    for (size_t i = 0; i < n; i++)
        in->out[0][i].i = arith_cmpf_holds(predicate, in->in[0][i].f, in->in[1][i].f);
    return true;
}

static bool extf(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++) in->out[0][i] = in->in[0][i];
    return true;
}

/* x in the format, by a mode that is not half to even. */
static double round_by_mode(const Type *type, int64_t mode, double x)
{
    double near = array_round(type, x);
    if (near == x || isnan(near)) return near;
    bool is_up = fabs(near) > fabs(x); /* away from zero */
    if (mode == NEAREST_AWAY) {
        double other = is_up || isinf(near) ? near : float_neighbour((int)type->kind, near, true);
        return fabs(other) - fabs(x) == fabs(x) - fabs(near) ? other : near;
    }
    bool wants_up = mode == TOWARD_ZERO ? false : (mode == UPWARD) == (x > 0);
    if (is_up == wants_up) return near;
    if (near == 0) return copysign(float_neighbour((int)type->kind, 0.0, true), x);
    return float_neighbour((int)type->kind, near, wants_up);
}

static bool truncf_cells(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        in->out[0][i].f = in->param == NEAREST_EVEN
                              ? in->in[0][i].f
                              : round_by_mode(in->type, in->param, in->in[0][i].f);
    vm_round_cells(in->out[0], n, in->type);
    return true;
}

/* A double that rounds to every narrower format as the integer does: exact up to 53 bits, above
 * with the lost bits in an odd last one. */
static double odd_double(uint64_t value)
{
    enum { EXTRA = 11 };
    const uint64_t low = (UINT64_C(1) << EXTRA) - 1;
    if (value >> (64 - EXTRA) == 0) return (double)value;
    uint64_t sticky = (value & low) ? low + 1 : 0;
    return (double)((value & ~low) | sticky);
}

static void unsigned_to_float(const Instr *in, uint64_t value, bool negative, Cell *out)
{
    double size = in->type->kind == TYPE_F64 ? (double)value : odd_double(value);
    out->f = negative ? -size : size;
}

static bool sitofp(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t value = extend_sign(in->in[0][i].i, in->in_spare);
        uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
        unsigned_to_float(in, size, value < 0, &in->out[0][i]);
    }
    vm_round_cells(in->out[0], n, in->type);
    return true;
}

static bool uitofp(const Instr *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        unsigned_to_float(in, extend_zero(in->in[0][i].i, in->in_spare), false, &in->out[0][i]);
    vm_round_cells(in->out[0], n, in->type);
    return true;
}

/* x without its fraction is in [low, high). */
static bool check_range(const Instr *in, double x, double low, double high)
{
    double whole = trunc(x);
    if (whole >= low && whole < high) return true;
    return op_error(in->op, "converts %g, which does not fit its result of %u bits", x,
                    64 - in->spare);
}

static bool fptosi(const Instr *in, size_t n)
{
    double limit = ldexp(1.0, 63 - (int)in->spare);
    for (size_t i = 0; i < n; i++) {
        double x = in->in[0][i].f;
        if (!check_range(in, x, -limit, limit)) return false;
        in->out[0][i].i = (int64_t)x & in->mask;
    }
    return true;
}

static bool fptoui(const Instr *in, size_t n)
{
    double limit = ldexp(1.0, 64 - (int)in->spare);
    for (size_t i = 0; i < n; i++) {
        double x = in->in[0][i].f;
        if (!check_range(in, x, 0, limit)) return false;
        in->out[0][i].i = extend_sign((int64_t)(uint64_t)trunc(x), in->spare) & in->mask;
    }
    return true;
}

InstrFn *vm_float_instr(const OpDef *def)
{
    static InstrFn *const table[ARITH_OP_COUNT] = {
        [ARITH_NEGF] = negf,           [ARITH_ADDF] = addf,       [ARITH_SUBF] = subf,
        [ARITH_MULF] = mulf,           [ARITH_DIVF] = divf,       [ARITH_REMF] = remf,
        [ARITH_MAXIMUMF] = maximumf,   [ARITH_MAXNUMF] = maxnumf, [ARITH_MINIMUMF] = minimumf,
        [ARITH_MINNUMF] = minnumf,     [ARITH_CMPF] = cmpf,       [ARITH_EXTF] = extf,
        [ARITH_TRUNCF] = truncf_cells, [ARITH_UITOFP] = uitofp,   [ARITH_SITOFP] = sitofp,
        [ARITH_FPTOUI] = fptoui,       [ARITH_FPTOSI] = fptosi,
    };
    return def->dialect == &arith_dialect ? table[def - arith_ops] : NULL;
}
