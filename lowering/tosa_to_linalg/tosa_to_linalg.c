/* tosa-to-linalg: tosa ops that compute element by element or move elements become linalg.generic
 * on tensors. Unsigned integers become signless ones of the same width; casts join the two.
 * Requires: verified IR; convolutions, products, pooling and transpositions lowered before.
 * Changes: tosa ops, of which only control flow, constants, apply_scale, concat, slice, reshape and
 * pad may remain.
 * Preserves: other ops.
 * Tests: lit/lowering/tosa_to_linalg/tosa-to-linalg*.mir */
#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"
#include "lowering/tosa_to_linalg/internal.h"

void tosa_lower_hand_note_on(Rewriter *rw, Op *op)
{
    const Attr *list = op_attr(op, DFG_ATTR_TENSORS);
    if (!list) return;
    Op *made = value_def(reshape_source(conversion_remap(rw, op_result(op, 0), NULL)));
    if (!made || made == op || made->result_count != 1 || !linalg_is_structured(made)) return;
    const Attr *all = op_attr(made, DFG_ATTR_TENSORS);
    for (uint32_t i = 0; i < list->u.array.count; i++)
        all = dfg_tensors_add(all, list->u.array.items[i]);
    op_set_attr(made, DFG_ATTR_TENSORS, all);
}

typedef struct RowUse {
    Pass *pass;
    const TosaRow *row;
} RowUse;

static bool apply_row(Rewriter *rw, Op *op, void *user)
{
    const RowUse *use = user;
    Lower l = {.rw = rw,
               .b = &rw->b,
               .ctx = op->ctx,
               .op = op,
               .pass = use->pass,
               .arena = &use->pass->scratch};
    if (!use->row->lower(&l)) return false;
    tosa_lower_hand_note_on(rw, op);
    return true;
}

typedef struct RowSet {
    const TosaRow *rows;
    size_t count;
} RowSet;

static bool check_elements(Op *op, void *user)
{
    const RowSet *set = user;
    size_t row = 0;
    while (row < set->count && set->rows[row].def != op->def) row++;
    const char *why = row < set->count ? tosa_refuse_elements(op) : NULL;
    return !why || op_error(op, "%s", why);
}

bool tosa_lower_convert(Pass *pass, Op *func, const TosaRow *rows, size_t count,
                        const ConversionTarget *target)
{
    PatternSet patterns;
    if (!op_walk(func, check_elements, &(RowSet){rows, count})) return false;
    patterns_init(&patterns, pass->ctx);
    for (size_t i = 0; i < count; i++) {
        patterns.user = arena_copy(&pass->scratch, &(RowUse){pass, &rows[i]}, sizeof(RowUse));
        pattern_add(&patterns, rows[i].def->name, rows[i].def, rows[i].benefit, apply_row);
    }
    bool ok = conversion_apply(func, &patterns, target);
    patterns_free(&patterns);
    return ok;
}

static bool lower_identity(Lower *l)
{
    rewriter_replace_one(l->rw, l->op, op_operand(l->op, 0));
    return true;
}

#define ELEMENTWISE(ID)                                                                            \
    {                                                                                              \
        TOSA(ID), tosa_lower_elementwise, 1                                                        \
    }
static const TosaRow rows[] = {
    {TOSA(RESIZE), tosa_lower_resize, 100},
    {TOSA(RESIZE), tosa_lower_resize_unary, 200},
    {TOSA(RESIZE), tosa_lower_resize_broadcast, 300},
    ELEMENTWISE(ABS),
    ELEMENTWISE(ADD),
    ELEMENTWISE(ARITHMETIC_RIGHT_SHIFT),
    ELEMENTWISE(BITWISE_AND),
    ELEMENTWISE(BITWISE_NOT),
    ELEMENTWISE(BITWISE_OR),
    ELEMENTWISE(BITWISE_XOR),
    ELEMENTWISE(CAST),
    ELEMENTWISE(CEIL),
    ELEMENTWISE(CLAMP),
    ELEMENTWISE(CLZ),
    ELEMENTWISE(COS),
    ELEMENTWISE(EQUAL),
    ELEMENTWISE(ERF),
    ELEMENTWISE(EXP),
    ELEMENTWISE(FLOOR),
    ELEMENTWISE(GREATER),
    ELEMENTWISE(GREATER_EQUAL),
    ELEMENTWISE(INT_DIV),
    ELEMENTWISE(LOG),
    ELEMENTWISE(LOGICAL_AND),
    ELEMENTWISE(LOGICAL_LEFT_SHIFT),
    ELEMENTWISE(LOGICAL_NOT),
    ELEMENTWISE(LOGICAL_OR),
    ELEMENTWISE(LOGICAL_RIGHT_SHIFT),
    ELEMENTWISE(LOGICAL_XOR),
    ELEMENTWISE(MAXIMUM),
    ELEMENTWISE(MINIMUM),
    ELEMENTWISE(MUL),
    ELEMENTWISE(NEGATE),
    ELEMENTWISE(POW),
    ELEMENTWISE(RECIPROCAL),
    ELEMENTWISE(RSQRT),
    ELEMENTWISE(SELECT),
    ELEMENTWISE(SIGMOID),
    ELEMENTWISE(SIN),
    ELEMENTWISE(SUB),
    ELEMENTWISE(TANH),
    {TOSA(ARGMAX), tosa_lower_argmax, 1},
    {TOSA(FFT2D), tosa_lower_fft, 1},
    {TOSA(GATHER), tosa_lower_gather, 1},
    {TOSA(IDENTITY), lower_identity, 1},
    {TOSA(REDUCE_ALL), tosa_lower_reduce, 1},
    {TOSA(REDUCE_ANY), tosa_lower_reduce, 1},
    {TOSA(REDUCE_MAX), tosa_lower_reduce, 1},
    {TOSA(REDUCE_MIN), tosa_lower_reduce, 1},
    {TOSA(REDUCE_PROD), tosa_lower_reduce, 1},
    {TOSA(REDUCE_SUM), tosa_lower_reduce, 1},
    {TOSA(RESCALE), tosa_lower_rescale, 1},
    {TOSA(REVERSE), tosa_lower_reverse, 1},
    {TOSA(RFFT2D), tosa_lower_rfft, 1},
    {TOSA(TABLE), tosa_lower_table, 1},
    {TOSA(TILE), tosa_lower_tile, 1},
};
#undef ELEMENTWISE

/* Every tosa op but those that other passes lower. */
static Legality legality(const Op *op, void *user)
{
    static const OpDef *const remaining[] = {TOSA(APPLY_SCALE), TOSA(COND_IF), TOSA(CONST),
                                             TOSA(WHILE_LOOP),  TOSA(CONCAT),  TOSA(SLICE),
                                             TOSA(RESHAPE),     TOSA(PAD)};
    (void)user;
    if (!str_eq_c(dialect_prefix(op_name(op)), "tosa")) return LEGAL;
    for (size_t i = 0; i < COUNT_OF(remaining); i++)
        if (op->def == remaining[i]) return LEGAL;
    return ILLEGAL;
}

/* Only signedness changes under way; other types that differ are errors. */
static Value *cast_sign(Builder *b, const Type *type, Value *value)
{
    bool same = tosa_lower_signless(type) == tosa_lower_signless(value->type);
    return same ? tosa_lower_cast(b, type, value) : NULL;
}

static bool run(Pass *pass, Op *func)
{
    return tosa_lower_convert(pass, func, rows, COUNT_OF(rows),
                              &(ConversionTarget){.op_legality = legality, .cast = cast_sign});
}

const PassDef pass_tosa_to_linalg = {
    .name = "tosa-to-linalg",
    .summary = "Lower tosa to linalg on tensors",
    .title = "TosaToLinalg",
    .anchor = "func.func",
    .any_function = true,
    .options = OPTIONS({.name = "disable-tosa-decompositions",
                        .kind = OPTION_BOOL,
                        .help = "without effect on the pass itself"},
                       {.name = "aggressive-reduce-constant",
                        .kind = OPTION_BOOL,
                        .help = "without effect on the pass itself"}),
    .run = run,
};
