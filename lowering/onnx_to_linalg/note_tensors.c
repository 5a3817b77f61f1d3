/* Notes on the new ops and arguments which tensors of the network they give (dfg.tensors),
 * where name-tensors has named these. A value that is reshaped is that of the op in front of the
 * reshapes. A tensor that is integers with a deferred epilogue has no value of its own, nor has one
 * in front of a quantizer that was applied earlier than it stands (requant/quantizer_ahead.c): its
 * value is the quantizer's.
 * Tests: lit/lowering/onnx_to_linalg/onnx-to-linalg-tensors.mir, test/e2e/trace_check.py */
#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "lowering/onnx_to_linalg/internal.h"

typedef struct Notes {
    OnnxLowering *lw;
    PtrMap early; /* set of values of the network that a quantizer behind them has become part of */
    PtrMap last;  /* by a name's attribute: the last op that has it, whose result it is */
    const Attr **args;
} Notes;

static const Attr *name_of(const Op *op, uint32_t result)
{
    const Attr *names = op_attr(op, ONNX_ATTR_TENSORS);
    return names && result < names->u.array.count ? names->u.array.items[result] : NULL;
}

/* Where the tensors of a value are noted: of the op that gives it, or of the argument. */
static const Attr *noted(const Notes *n, const Value *value)
{
    const Op *op = value_def(value);
    return op ? op_attr(op, DFG_ATTR_TENSORS)
              : attr_dict_get_c(n->args[value->index], DFG_ATTR_TENSORS);
}

static void note(Notes *n, Value *value, const Value *of, const Attr *name, const Attr *quant)
{
    Value *source = reshape_source(value);
    Op *op = value_def(source);
    bool is_kept = op ? op->result_count == 1 && !op_has_trait(op, TRAIT_CONSTANT_LIKE)
                      : value_block(source) == n->lw->b.block;
    if (!is_kept || !type_is_static(of->type)) return;
    const Attr *tensor = dfg_tensor(n->lw->ctx, name->u.string, of->type, quant);
    const Attr *list = dfg_tensors_add(noted(n, source), tensor);
    if (op)
        op_set_attr(op, DFG_ATTR_TENSORS, list);
    else
        n->args[source->index] =
            attr_dict_set(n->args[source->index], ident_get_c(n->lw->ctx, DFG_ATTR_TENSORS), list);
}

static void note_fixed(Notes *n, const Fixed *fixed, const Value *of, const Attr *name)
{
    if (fixed->epilogue || fixed->exponent < -1022 || fixed->exponent > 1022) return;
    Context *ctx = n->lw->ctx;
    double scale = fixed->unit * onnx_exact_pow2(fixed->exponent);
    const NamedAttr items[] = {
        build_named_attr(ctx, DFG_QUANT_SCALE, attr_float(type_float(ctx, TYPE_F64), scale)),
        build_named_attr(ctx, DFG_QUANT_SIGNED, attr_bool(ctx, !fixed->is_unsigned)),
        build_named_attr(ctx, DFG_QUANT_ZERO_POINT, attr_i64(ctx, -fixed->zero)),
        build_named_attr(ctx, DFG_QUANT_DIVISOR, attr_i64(ctx, fixed->divisor)),
    };
    note(n, fixed->value, of, name, attr_dict(ctx, items, COUNT_OF(items)));
}

static void note_result(Notes *n, const Value *result, const Attr *name)
{
    const Lowered *lowered = ptrmap_get(&n->lw->values, result);
    if (!lowered) return;
    if (lowered->is_fixed) note_fixed(n, &lowered->fixed, result, name);
    bool is_same = lowered->is_fixed && lowered->plain == lowered->fixed.value;
    bool is_bare = lower_is_unsigned_elem(result->type) && type_width(type_elem(result->type)) > 1;
    if (lowered->plain && !is_same)
        note(n, lowered->plain, result, name,
             is_bare ? dfg_quant_integers(n->lw->ctx, false) : NULL);
}

/* The value of a tensor of the network before it is reshaped; NULL: it has none. */
static const Value *value_of(const Notes *n, const Value *tensor)
{
    const Lowered *lowered = ptrmap_get(&n->lw->values, tensor);
    return lowered && lowered->is_fixed ? reshape_source(lowered->fixed.value) : NULL;
}

/* Whether a tensor's value is what a quantizer behind this use makes of it. */
static bool is_early(const Notes *n, const Use *use)
{
    const Op *user = use->owner;
    if (user->result_count == 0) return false;
    const Value *result = op_result(user, 0), *value = value_of(n, use->value);
    bool is_same = value && value == value_of(n, result);
    if (user->def && user->def->dialect == &onnx_dialect && lower_is_quantizer(user))
        return is_same && use_index(use) == 0;
    return ptrmap_has(&n->early, result) &&
           (is_same || ptrmap_has(&n->lw->absorbed, user) || quantizer_passes_move(user));
}

static void find_early(Notes *n, const Block *old)
{
    for (const Op *op = old->last->prev; op; op = op->prev) {
        if (op->result_count == 0 || lower_is_quantizer(op)) continue;
        FOR_EACH_USE(use, op_result(op, 0))
            if (is_early(n, use)) ptrmap_put(&n->early, op_result(op, 0), n);
    }
}

static void find_last(Notes *n, const Block *old)
{
    FOR_EACH_OP(op, old)
        for (uint32_t r = 0; r < op->result_count; r++)
            if (name_of(op, r)) ptrmap_put(&n->last, name_of(op, r), op);
}

void onnx_lower_note_tensors(OnnxLowering *lw, const Block *old, const Attr **arg_attrs)
{
    Notes n = {.lw = lw, .args = arg_attrs};
    find_last(&n, old);
    find_early(&n, old);
    FOR_EACH_OP(op, old)
        for (uint32_t r = 0; r < op->result_count; r++) {
            const Attr *name = name_of(op, r);
            bool is_own =
                name && ptrmap_get(&n.last, name) == op && !ptrmap_has(&n.early, op_result(op, r));
            if (is_own) note_result(&n, op_result(op, r), name);
        }
    ptrmap_free(&n.last);
    ptrmap_free(&n.early);
}
