/* convert-onnx-to-linalg: a network whose values are all quantized with power-of-two scales becomes
 * exact integer linalg on tensors, in ONNX's layout. What the integers mean stands at the boundary:
 * dfg.quant on arguments says how the caller quantizes, on results how to read them
 * (real = q * scale / divisor).
 * Requires: onnx-fold-constants, onnx-infer-shapes; straight-line functions.
 * Changes: body and type of every function with onnx ops.  Preserves: names and locations.
 * Tests: lit/lowering/onnx-to-linalg*.mir, test/e2e/import_check.py */
#include "lowering/onnx_to_linalg.h"

#include <assert.h>

#include "dialects/arith/arith.h"
#include "dialects/func/func.h"
#include "ir/diag.h"
#include "ir/rewrite.h"
#include "lowering/lowering.h"

/* --- errors -------------------------------------------------------------------------------- */

bool lower_too_wide(Lowering *lw)
{
    return onnx_error(lw->node, "has a value range beyond 64 bits");
}

bool lower_bad_scale(Lowering *lw, double scale)
{
    StrBuf text = {0};
    float_print(&text, TYPE_F64, attr_float(type_float(lw->ctx, TYPE_F64), scale)->u.float_bits);
    onnx_error(lw->node,
               "has the scale %s, which is no power of two; such scales need thresholds, which are "
               "not supported yet",
               text.data);
    strbuf_free(&text);
    return false;
}

/* --- values -------------------------------------------------------------------------------- */

static Fixed *record(Lowering *lw, const Value *value, const Fixed *fixed)
{
    Fixed *copy = arena_copy(&lw->pass->scratch, fixed, sizeof *fixed);
    ptrmap_put(&lw->fixed, value, copy);
    return copy;
}

void lower_result(Lowering *lw, const Fixed *fixed)
{
    record(lw, op_result(lw->node, 0), fixed);
}

/* A constant that a node uses as a tensor like any other. */
static const Fixed *materialize(Lowering *lw, uint32_t index)
{
    FixedConstant constant;
    if (!lower_constant(lw, index, &constant) || !constant_align(lw, &constant))
        return NULL;
    Fixed fixed = {.exponent = constant.exponents[0], .divisor = 1,
                   .is_unsigned = constant.is_unsigned};
    for (int64_t i = 0; i < constant.count; i++) {
        int64_t value = constant.values[i];
        fixed.low = value < fixed.low ? value : fixed.low;
        fixed.high = value > fixed.high ? value : fixed.high;
    }
    fixed.value = constant_build(lw, &constant, constant.type->u.shaped.dims,
                                 constant.type->u.shaped.rank);
    return record(lw, op_operand(lw->node, index), &fixed);
}

const Fixed *lower_operand(Lowering *lw, uint32_t index)
{
    Value *value = op_operand(lw->node, index);
    const Fixed *fixed = ptrmap_get(&lw->fixed, value);
    assert(fixed || is_fixed_constant(value)); /* what defines it was lowered before */
    return fixed ? fixed : materialize(lw, index);
}

/* --- arguments ----------------------------------------------------------------------------- */

static Str arg_name(const Op *func, uint32_t index)
{
    const Attr *attrs = func_arg_attrs(func, index);
    const Attr *name = attrs ? attr_dict_get_c(attrs, "dfg.name") : NULL;
    return name && name->kind == ATTR_STRING ? name->u.string : STR("");
}

static bool arg_error(Lowering *lw, const Value *arg, const char *text)
{
    StrBuf message = {0};
    strbuf_add_c(&message, "graph input ");
    onnx_add_quoted(&message, arg_name(lw->func, arg->index));
    strbuf_add_char(&message, ' ');
    strbuf_add_c(&message, text);
    emit_error(lw->ctx, value_loc(arg), "%s", message.data);
    strbuf_free(&message);
    return false;
}

static bool is_quant(const Op *op)
{
    return op->def == ONNX(QUANT) || op->def == ONNX(INT_QUANT);
}

/* The one quantizer that all users of an argument apply. */
static bool arg_quantizer(Lowering *lw, const Value *arg, Quantizer *out)
{
    bool found = false;
    FOR_EACH_USE(use, arg)
    {
        Quantizer quant;
        if (!is_quant(use->owner) || use_index(use) != 0)
            return arg_error(lw, arg, "is used without a Quant node: the network is float here; "
                             "only quantized networks can be turned into integers");
        strbuf_clear(&lw->why);
        if (!onnx_quantizer(use->owner, &quant, &lw->why))
            return onnx_error(use->owner, "%s", lw->why.data);
        if (found && !quantizer_eq(out, &quant))
            return arg_error(lw, arg, "is quantized in different ways");
        *out = quant;
        found = true;
    }
    return found || arg_error(lw, arg, "is not used");
}

static const Attr *arg_quant_attr(Lowering *lw, const Quantizer *quant, double scale)
{
    const NamedAttr items[] = {
        named_attr(lw->ctx, "bits", attr_i64(lw->ctx, quant->bits)),
        named_attr(lw->ctx, "narrow", attr_bool(lw->ctx, quant->is_narrow)),
        named_attr(lw->ctx, "rounding", attr_string_c(lw->ctx, rounding_name(quant->rounding))),
        named_attr(lw->ctx, "scale", attr_float(type_float(lw->ctx, TYPE_F64), scale)),
        named_attr(lw->ctx, "signed", attr_bool(lw->ctx, quant->is_signed)),
        named_attr(lw->ctx, "zero_point", attr_i64(lw->ctx, quant->zero)),
    };
    return attr_dict(lw->ctx, items, COUNT_OF(items));
}

/* The argument holds q; what follows needs q - zero. */
static Value *subtract_zero(Lowering *lw, Value *arg, const Quantizer *quant)
{
    Generic generic;
    uint32_t width = signed_width(quant->low - quant->zero, quant->high - quant->zero);
    width = width > quant->bits + 1 ? width : quant->bits + 1;
    const Type *elem = type_i(lw->ctx, width);
    generic_elementwise(lw, &generic, &arg, 1);
    generic_open(lw, &generic, build_empty(lw, type_with_elem(arg->type, elem)));
    Builder *b = &generic.body;
    Value *q = build_extend(b, generic_arg(&generic, 0), elem, !quant->is_signed);
    return generic_close(&generic, build_binary(b, ARITH(SUBI), elem, q,
                                                arith_constant_int(b, elem, quant->zero)));
}

/* Replaces an argument and the quantizers on it by an argument of integers. */
static bool lower_arg(Lowering *lw, Value *arg, const Attr **attrs)
{
    Quantizer quant;
    double scale;
    int exponent;
    if (!arg_quantizer(lw, arg, &quant))
        return false;
    lw->node = arg->uses->owner;
    if (!dense_uniform(quant.scales, &scale))
        return onnx_error(lw->node,
                          "has a scale per channel, which is supported for constants only");
    if (!exact_log2(scale, &exponent))
        return lower_bad_scale(lw, scale);
    const Type *elem = type_i(lw->ctx, quant.is_bipolar ? 2 : quant.bits);
    Fixed fixed = {.exponent = exponent, .divisor = 1, .low = quant.low - quant.zero,
                   .high = quant.high - quant.zero,
                   .is_unsigned = !quant.is_signed && quant.zero == 0};
    fixed.value = block_add_arg(lw->b.block, type_with_elem(arg->type, elem), arg->loc);
    lw->b.loc = lw->node->loc;
    if (quant.zero != 0)
        fixed.value = subtract_zero(lw, fixed.value, &quant);
    FOR_EACH_USE(use, arg)
        record(lw, op_result(use->owner, 0), &fixed);
    const Attr *old = func_arg_attrs(lw->func, arg->index);
    *attrs = attr_dict_set(old ? old : attr_dict(lw->ctx, NULL, 0),
                           ident_get_c(lw->ctx, "dfg.quant"), arg_quant_attr(lw, &quant, scale));
    return true;
}

static bool lower_args(Lowering *lw, Block *old, const Attr **attrs)
{
    for (uint32_t i = 0; i < old->arg_count; i++)
        if (!lower_arg(lw, old->args[i], &attrs[i]))
            return false;
    return true;
}

/* --- nodes --------------------------------------------------------------------------------- */

static bool lower_identity(Lowering *lw)
{
    const Fixed *v = lower_operand(lw, 0);
    if (v)
        lower_result(lw, v);
    return v != NULL;
}

static bool lower_node(Lowering *lw, Op *op)
{
    static bool (*const lower[ONNX_OP_COUNT])(Lowering *) = {
        [ONNX_CONV] = lower_conv,   [ONNX_GLOBAL_AVERAGE_POOL] = lower_global_pool,
        [ONNX_IDENTITY] = lower_identity, [ONNX_QUANT] = lower_quant,
        [ONNX_INT_QUANT] = lower_quant,   [ONNX_RELU] = lower_relu,
    };
    bool is_done = ptrmap_has(&lw->fixed, op_result(op, 0)), is_used = false;
    for (uint32_t i = 0; i < op->result_count; i++)
        is_used = is_used || value_has_uses(op_result(op, i));
    if (is_done || !is_used || op->def == ONNX(NO_VALUE) || is_fixed_constant(op_result(op, 0)))
        return true;
    lw->node = op;
    lw->b.loc = op->loc;
    bool (*hook)(Lowering *) = lower[op->def - onnx_ops];
    return hook ? hook(lw) : onnx_error(op, "cannot be turned into integer arithmetic");
}

/* --- results ------------------------------------------------------------------------------- */

static const Attr *result_quant_attr(Lowering *lw, const Fixed *fixed)
{
    const Type *elem = type_elem(fixed->value->type);
    double scale = exact_pow2(fixed->exponent);
    const NamedAttr items[] = {
        named_attr(lw->ctx, "bits", attr_i64(lw->ctx, type_width(elem))),
        named_attr(lw->ctx, "scale", attr_float(type_float(lw->ctx, TYPE_F64), scale)),
        named_attr(lw->ctx, "signed", attr_bool(lw->ctx, !fixed->is_unsigned)),
        named_attr(lw->ctx, "zero_point", attr_i64(lw->ctx, 0)),
        named_attr(lw->ctx, "divisor", attr_i64(lw->ctx, fixed->divisor)),
    };
    return attr_dict(lw->ctx, items, COUNT_OF(items) - (fixed->divisor == 1));
}

/* The return op of integers; attrs has an entry per result. */
static bool lower_return(Lowering *lw, Op *ret, const Attr **attrs)
{
    Value **values = ARENA_ARRAY(&lw->pass->scratch, Value *, ret->operand_count);
    const Ident *key = ident_get_c(lw->ctx, "dfg.quant");
    lw->node = ret;
    lw->b.loc = ret->loc;
    for (uint32_t i = 0; i < ret->operand_count; i++) {
        const Fixed *fixed = lower_operand(lw, i);
        if (!fixed)
            return false;
        if (fixed->exponent < -1022 || fixed->exponent > 1023)
            return op_emit_error(ret, "graph output #%u has a scale out of range", i);
        const Attr *old = func_result_attrs(lw->func, i);
        values[i] = fixed->value;
        attrs[i] = attr_dict_set(old ? old : attr_dict(lw->ctx, NULL, 0), key,
                                 result_quant_attr(lw, fixed));
    }
    build(&lw->b, FUNC(RETURN), values, ret->operand_count, NULL, 0, NULL, 0);
    return true;
}

/* --- functions ----------------------------------------------------------------------------- */

static bool has_nodes(const Block *block)
{
    FOR_EACH_OP(op, block)
        if (op->def && op->def->dialect == &dialect_onnx)
            return true;
    return false;
}

static bool lower_body(Lowering *lw, Block *old, const Attr **arg_attrs, const Attr **result_attrs)
{
    if (!lower_args(lw, old, arg_attrs))
        return false;
    FOR_EACH_OP(op, old)
    {
        if (op->def == FUNC(RETURN))
            return lower_return(lw, op, result_attrs);
        if (!op->def || op->def->dialect != &dialect_onnx)
            return op_error(op, "stands between onnx ops, which is not supported");
        if (!lower_node(lw, op))
            return false;
    }
    return true;
}

/* Type and attributes of the function from its new body. */
static void update_signature(Lowering *lw, Block *body, const Attr **arg_attrs,
                             const Attr **result_attrs)
{
    Op *ret = body->last;
    uint32_t inputs = body->arg_count, results = ret->operand_count;
    const Type **types = ARENA_ARRAY(&lw->pass->scratch, const Type *, inputs + results);
    for (uint32_t i = 0; i < inputs; i++)
        types[i] = body->args[i]->type;
    for (uint32_t i = 0; i < results; i++)
        types[inputs + i] = op_operand(ret, i)->type;
    func_set_type(lw->func, type_function(lw->ctx, types, inputs, types + inputs, results));
    op_set_attr(lw->func, "arg_attrs", attr_array(lw->ctx, arg_attrs, inputs));
    op_set_attr(lw->func, "res_attrs", attr_array(lw->ctx, result_attrs, results));
}

static bool lower_function(Lowering *lw, Block *old)
{
    Arena *scratch = &lw->pass->scratch;
    const Attr **arg_attrs = ARENA_ARRAY(scratch, const Attr *, old->arg_count);
    const Attr **result_attrs = ARENA_ARRAY(scratch, const Attr *, old->last->operand_count);
    Block *body = block_create(lw->ctx);
    block_append(body, op_region(lw->func, 0));
    lw->b = builder_at_end(body, lw->func->loc);
    bool ok = lower_body(lw, old, arg_attrs, result_attrs);
    if (ok)
        update_signature(lw, body, arg_attrs, result_attrs);
    Block *gone = ok ? old : body;
    block_unlink(gone);
    block_erase(gone);
    return ok;
}

static bool convert_onnx_to_linalg(Pass *pass, Op *func)
{
    Block *entry = func_entry(func);
    if (!entry || !has_nodes(entry))
        return true;
    if (entry->next || !entry->last || entry->last->def != FUNC(RETURN))
        return op_error(func, "must be straight-line code to be turned into integers");
    Lowering lw = {.pass = pass, .ctx = func->ctx, .func = func};
    bool ok = lower_function(&lw, entry);
    ptrmap_free(&lw.fixed);
    strbuf_free(&lw.why);
    return ok;
}

const PassDef pass_convert_onnx_to_linalg = {
    .name = "convert-onnx-to-linalg",
    .summary = "Turn a power-of-two quantized network into exact integer linalg",
    .anchor = "func.func",
    .run = convert_onnx_to_linalg,
};
