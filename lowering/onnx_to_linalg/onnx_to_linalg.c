/* convert-onnx-to-linalg: a network becomes linalg on tensors, in ONNX's layout, on integers where
 * it is quantized, on floats where it is not. The meaning of the integers is recorded at the
 * boundary: dfg.quant on arguments says how the caller quantizes, on results how to read them
 * (real = q * scale / divisor).
 * Requires: onnx-fold-constants, onnx-infer-shapes; straight-line functions.
 * Changes: body and type of every function with onnx ops.
 * Preserves: names and locations.
 * Tests: lit/lowering/onnx_to_linalg, test/e2e/import_check.py */
#include <assert.h>

#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/onnx_to_linalg/internal.h"
#include "lowering/onnx_to_linalg/onnx_to_linalg.h"
#include "lowering/onnx_to_linalg/requant/requant.h"
#include "lowering/onnx_to_linalg/values/values.h"

/* A quantizer that all users of an argument apply, if the caller can apply it, perhaps before the
 * elements move; NULL: none. */
static Op *arg_quantizer(OnnxLowering *lw, const Value *arg, QuantizerSpec *spec)
{
    Op *found = type_is_float(type_elem(arg->type)) ? quantizer_find(arg) : NULL;
    lw->node = found;
    return found && quantizer_spec_of(lw, spec) && spec->has_grid ? found : NULL;
}

/* The quantizer as dfg.quant can say it: rounding after the zero point is added. One that adds it
 * afterwards is the same where no tie depends on it, or where the range is that of a type; else the
 * caller quantizes without a zero point, to a range that holds the other, which is clamped here. */
static Quantizer boundary_quantizer(const Op *op, const QuantizerSpec *spec)
{
    Quantizer quant = spec->quant;
    if (op->def != ONNX(QUANTIZE_LINEAR) || spec->zero == 0) return quant;
    const Type *elem = type_elem(op_result(op, 0)->type);
    int64_t half = INT64_C(1) << (type_width(elem) - 1);
    quant.bits = type_width(elem);
    quant.is_signed = true;
    if (quant.low == -half) return quant;
    if (spec->zero % 2 != 0) {
        quant.bits = fixed_signed_width(quant.low, quant.high);
        quant.high = (INT64_C(1) << (quant.bits - 1)) - 1;
        quant.low = -quant.high - 1;
        return quant;
    }
    quant.is_signed = elem->u.integer.sign != UNSIGNED;
    quant.zero = spec->zero;
    quant.low += spec->zero;
    quant.high += spec->zero;
    return quant;
}

static const Attr *arg_quant_attr(OnnxLowering *lw, const Quantizer *quant, double scale)
{
    const NamedAttr items[] = {
        build_named_attr(lw->ctx, DFG_QUANT_BIPOLAR, attr_bool(lw->ctx, quant->is_bipolar)),
        build_named_attr(lw->ctx, DFG_QUANT_BITS, attr_i64(lw->ctx, quant->bits)),
        build_named_attr(lw->ctx, DFG_QUANT_NARROW, attr_bool(lw->ctx, quant->is_narrow)),
        build_named_attr(lw->ctx, DFG_QUANT_ROUNDING,
                         attr_string_c(lw->ctx, onnx_rounding_name(quant->rounding))),
        build_named_attr(lw->ctx, DFG_QUANT_SCALE,
                         attr_float(type_float(lw->ctx, TYPE_F64), scale)),
        build_named_attr(lw->ctx, DFG_QUANT_SIGNED, attr_bool(lw->ctx, quant->is_signed)),
        build_named_attr(lw->ctx, DFG_QUANT_ZERO_POINT, attr_i64(lw->ctx, quant->zero)),
    };
    size_t first = quant->is_bipolar ? 0 : 1; /* said only where it holds */
    return attr_dict(lw->ctx, items + first, COUNT_OF(items) - first);
}

/* The argument holds q; the nodes that use it need q - zero. */
static Value *subtract_zero(OnnxLowering *lw, Value *arg, const Quantizer *quant)
{
    Generic generic;
    uint32_t width = fixed_signed_width(quant->low - quant->zero, quant->high - quant->zero);
    width = width > quant->bits + 1 ? width : quant->bits + 1;
    const Type *elem = type_i(lw->ctx, width);
    generic_elementwise(lw, &generic, &arg, 1);
    generic_open(lw, &generic, lower_build_empty(lw, type_with_elem(arg->type, elem)));
    Builder *b = &generic.body;
    Value *q = lower_build_extend(b, generic_arg(&generic, 0), elem, !quant->is_signed);
    return generic_close(
        &generic, build_binary(b, ARITH(SUBI), elem, q, arith_constant_int(b, elem, quant->zero)));
}

/* The argument holds more integers than low to high. */
static Value *clamp_arg(OnnxLowering *lw, Value *arg, int64_t low, int64_t high)
{
    Generic generic;
    const Type *elem = type_elem(arg->type);
    generic_elementwise(lw, &generic, &arg, 1);
    generic_open(lw, &generic, lower_build_empty(lw, arg->type));
    Builder *b = &generic.body;
    Value *q = build_binary(b, ARITH(MAXSI), elem, generic_arg(&generic, 0),
                            arith_constant_int(b, elem, low));
    return generic_close(&generic,
                         build_binary(b, ARITH(MINSI), elem, q, arith_constant_int(b, elem, high)));
}

/* Adds an entry to an argument's or result's attributes. */
static const Attr *with_quant(OnnxLowering *lw, const Attr *old, const Attr *quant)
{
    return attr_dict_set(old, ident_get_c(lw->ctx, DFG_ATTR_QUANT), quant);
}

/* An argument of integers that the caller quantizes; all its users are done with that. */
static void quantized_arg(OnnxLowering *lw, Value *arg, const QuantizerSpec *spec,
                          const Quantizer *quant, const Attr **attrs)
{
    const Type *elem = type_i(lw->ctx, quant->is_bipolar ? 2 : quant->bits);
    Fixed fixed = spec->real;
    fixed.low = spec->quant.low - spec->quant.zero;
    fixed.high = spec->quant.high - spec->quant.zero;
    fixed.is_unsigned = !quant->is_signed && quant->zero == 0;
    fixed.value = block_add_arg(lw->b.block, type_with_elem(arg->type, elem), arg->loc);
    lw->b.loc = lw->node->loc;
    if (quant->zero != 0)
        fixed.value = subtract_zero(lw, fixed.value, quant);
    else if (quant->low < fixed.low || quant->high > fixed.high)
        fixed.value = clamp_arg(lw, fixed.value, fixed.low, fixed.high);
    lower_record_fixed(lw, arg, &fixed);
    FOR_EACH_USE(use, arg) {
        lw->node = use->owner;
        if (lower_is_quantizer(lw->node)) quantizer_record(lw, spec, &fixed);
    }
    *attrs = with_quant(lw, *attrs, arg_quant_attr(lw, quant, spec->scale));
}

/* Integers of the network as they are; unsigned ones are said to be. */
static void integer_arg(OnnxLowering *lw, Value *arg, Value *value, const Attr **attrs)
{
    uint32_t width = type_width(type_elem(arg->type));
    bool is_unsigned = lower_is_unsigned_elem(arg->type);
    Fixed fixed = {.value = value, .unit = 1.0, .divisor = 1, .is_unsigned = is_unsigned};
    fixed.low = is_unsigned ? 0 : -(INT64_C(1) << (width - 1));
    fixed.high = fixed.low + (INT64_C(1) << width) - 1;
    lower_record_fixed(lw, arg, &fixed);
    const Quantizer quant = {.bits = width, .rounding = ROUND_HALF_EVEN};
    if (is_unsigned) *attrs = with_quant(lw, *attrs, arg_quant_attr(lw, &quant, 1.0));
}

static void lower_arg(OnnxLowering *lw, Value *arg, const Attr **attrs)
{
    QuantizerSpec spec;
    *attrs = func_arg_attrs(lw->func, arg->index);
    *attrs = *attrs ? *attrs : attr_dict(lw->ctx, NULL, 0);
    const Op *quantizer = arg_quantizer(lw, arg, &spec);
    if (quantizer) {
        Quantizer quant = boundary_quantizer(quantizer, &spec);
        quantized_arg(lw, arg, &spec, &quant, attrs);
        return;
    }
    Value *value = block_add_arg(lw->b.block, lower_plain_type(arg->type), arg->loc);
    const Type *elem = type_elem(arg->type);
    if (type_is_integer(elem) && type_width(elem) > 1 && type_width(elem) <= 32)
        integer_arg(lw, arg, value, attrs);
    else
        lower_record_plain(lw, arg, value);
}

static void lower_args(OnnxLowering *lw, Block *old, const Attr **attrs)
{
    for (uint32_t i = 0; i < old->arg_count; i++) lower_arg(lw, old->args[i], &attrs[i]);
}

static LowerNode *find_rule(const Op *op)
{
    static LowerNode *const rules[ONNX_OP_COUNT] = {
        [ONNX_ARG_MAX] = onnx_lower_arg_extreme,
        [ONNX_ARG_MIN] = onnx_lower_arg_extreme,
        [ONNX_AVERAGE_POOL] = onnx_lower_pool,
        [ONNX_BIPOLAR_QUANT] = quantizer_lower,
        [ONNX_CAST] = onnx_lower_cast,
        [ONNX_CLIP] = onnx_lower_clip,
        [ONNX_CONCAT] = onnx_lower_concat,
        [ONNX_CONV] = onnx_lower_conv,
        [ONNX_CONV_TRANSPOSE] = onnx_lower_conv_transpose,
        [ONNX_CUM_SUM] = onnx_lower_cum_sum,
        [ONNX_DEPTH_TO_SPACE] = onnx_lower_move,
        [ONNX_DEQUANTIZE_LINEAR] = quantizer_lower_dequantize,
        [ONNX_DROPOUT] = onnx_lower_move,
        [ONNX_EXPAND] = onnx_lower_move,
        [ONNX_FLATTEN] = onnx_lower_move,
        [ONNX_GATHER] = onnx_lower_gather,
        [ONNX_GATHER_ELEMENTS] = onnx_lower_gather,
        [ONNX_GEMM] = onnx_lower_matmul,
        [ONNX_GLOBAL_AVERAGE_POOL] = onnx_lower_global_pool,
        [ONNX_GLOBAL_MAX_POOL] = onnx_lower_global_pool,
        [ONNX_GROUP_NORMALIZATION] = onnx_lower_normalization,
        [ONNX_IDENTITY] = onnx_lower_move,
        [ONNX_INSTANCE_NORMALIZATION] = onnx_lower_normalization,
        [ONNX_INT_QUANT] = quantizer_lower,
        [ONNX_LAYER_NORMALIZATION] = onnx_lower_normalization,
        [ONNX_LOG_SOFTMAX] = onnx_lower_softmax,
        [ONNX_MATMUL] = onnx_lower_matmul,
        [ONNX_MAX_POOL] = onnx_lower_pool,
        [ONNX_MULTI_THRESHOLD] = quantizer_lower,
        [ONNX_ONE_HOT] = onnx_lower_one_hot,
        [ONNX_PAD] = onnx_lower_move,
        [ONNX_QUANT] = quantizer_lower,
        [ONNX_QUANTIZE_LINEAR] = quantizer_lower,
        [ONNX_REDUCE_L1] = onnx_lower_reduce,
        [ONNX_REDUCE_L2] = onnx_lower_reduce,
        [ONNX_REDUCE_LOG_SUM] = onnx_lower_reduce,
        [ONNX_REDUCE_LOG_SUM_EXP] = onnx_lower_reduce,
        [ONNX_REDUCE_MAX] = onnx_lower_reduce,
        [ONNX_REDUCE_MEAN] = onnx_lower_reduce,
        [ONNX_REDUCE_MIN] = onnx_lower_reduce,
        [ONNX_REDUCE_PROD] = onnx_lower_reduce,
        [ONNX_REDUCE_SUM] = onnx_lower_reduce,
        [ONNX_REDUCE_SUM_SQUARE] = onnx_lower_reduce,
        [ONNX_RELU] = onnx_lower_relu,
        [ONNX_RESHAPE] = onnx_lower_move,
        [ONNX_RESIZE] = onnx_lower_resize,
        [ONNX_RMS_NORMALIZATION] = onnx_lower_normalization,
        [ONNX_SLICE] = onnx_lower_move,
        [ONNX_SOFTMAX] = onnx_lower_softmax,
        [ONNX_SPACE_TO_DEPTH] = onnx_lower_move,
        [ONNX_SPLIT] = onnx_lower_split,
        [ONNX_SQUEEZE] = onnx_lower_move,
        [ONNX_TILE] = onnx_lower_move,
        [ONNX_TOP_K] = onnx_lower_top_k,
        [ONNX_TRANSPOSE] = onnx_lower_move,
        [ONNX_TRILU] = onnx_lower_trilu,
        [ONNX_TRUNC] = quantizer_lower,
        [ONNX_UNSQUEEZE] = onnx_lower_move,
        [ONNX_UPSAMPLE] = onnx_lower_resize,
    };
    return lower_is_elementwise(op) && !rules[op->def - onnx_ops] ? onnx_lower_elementwise
                                                                  : rules[op->def - onnx_ops];
}

/* Whether the node has no use, or is a constant, or was lowered with another one. */
static bool is_done(OnnxLowering *lw, const Op *op)
{
    bool used = false;
    for (uint32_t i = 0; i < op->result_count; i++) used |= value_has_uses(op_result(op, i));
    return !used || op->def == ONNX(NO_VALUE) || ptrmap_has(&lw->values, op_result(op, 0)) ||
           lower_array(lw, op_result(op, 0));
}

/* Whether every result in use was given. */
static bool has_results(OnnxLowering *lw, const Op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (value_has_uses(op_result(op, i)) && !ptrmap_has(&lw->values, op_result(op, i)))
            return onnx_error(op, "has a result that has no form in linalg");
    return true;
}

/* A node that was applied in front of another one; its operand has the result already. */
static bool lower_absorbed(OnnxLowering *lw, uint32_t operand)
{
    QuantizerSpec spec;
    const Fixed *result = lower_fixed(lw, operand);
    assert(result);
    if (!lower_is_quantizer(lw->node))
        lower_result(lw, result);
    else if (quantizer_spec_of(lw, &spec))
        quantizer_record(lw, &spec, result);
    else
        return onnx_error(lw->node, "%s", lw->why.data);
    return true;
}

static bool is_real(const Type *type)
{
    const Type *elem = type_elem(type);
    return !type_is_tensor(type) || type_is_integer(elem) || type_is_float(elem);
}

/* What every rule takes for granted. Only nodes with complex operands have complex results. */
static bool check_types(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!is_real(op_operand(op, i)->type))
            return onnx_error(op, "has operand #%u of type %s, whose elements are no real numbers",
                              i, type_str(op->ctx, op_operand(op, i)->type));
    for (uint32_t i = 0; i < op->result_count; i++)
        if (!type_is_static(op_result(op, i)->type))
            return onnx_error(op, "has a result whose shape is not known");
    return true;
}

static bool lower_node(OnnxLowering *lw, Op *op)
{
    lw->node = op;
    lw->b.loc = op->loc;
    if (is_done(lw, op)) return true;
    uintptr_t absorbed = (uintptr_t)ptrmap_get(&lw->absorbed, op);
    if (absorbed) return lower_absorbed(lw, (uint32_t)absorbed - 1);
    if (!check_types(op)) return false;
    LowerNode *rule = find_rule(op);
    if (!rule) return onnx_error(op, "has no form in linalg");
    return rule(lw) && has_results(lw, op);
}

static const Attr *result_quant_attr(OnnxLowering *lw, const Fixed *fixed)
{
    const Type *elem = type_elem(fixed->value->type);
    double scale = fixed->unit * onnx_exact_pow2(fixed->exponent);
    const NamedAttr items[] = {
        build_named_attr(lw->ctx, DFG_QUANT_BITS, attr_i64(lw->ctx, type_width(elem))),
        build_named_attr(lw->ctx, DFG_QUANT_SCALE,
                         attr_float(type_float(lw->ctx, TYPE_F64), scale)),
        build_named_attr(lw->ctx, DFG_QUANT_SIGNED, attr_bool(lw->ctx, !fixed->is_unsigned)),
        build_named_attr(lw->ctx, DFG_QUANT_ZERO_POINT, attr_i64(lw->ctx, 0)),
        build_named_attr(lw->ctx, DFG_QUANT_DIVISOR, attr_i64(lw->ctx, fixed->divisor)),
    };
    return attr_dict(lw->ctx, items, COUNT_OF(items) - (fixed->divisor == 1));
}

/* A result in integers where it stands for reals, else as the network has it. NULL: diagnosed. */
static Value *lower_return_value(OnnxLowering *lw, uint32_t index, const Attr **attrs)
{
    bool is_real = type_is_float(type_elem(op_operand(lw->node, index)->type));
    const Fixed *fixed = is_real ? lower_fixed_bare(lw, index) : NULL;
    *attrs = func_result_attrs(lw->func, index);
    *attrs = *attrs ? *attrs : attr_dict(lw->ctx, NULL, 0);
    const Type *type = op_operand(lw->node, index)->type;
    const Quantizer quant = {.bits = type_width(type_elem(type)), .rounding = ROUND_HALF_EVEN};
    if (lower_is_unsigned_elem(type) && quant.bits > 1)
        *attrs = with_quant(lw, *attrs, arg_quant_attr(lw, &quant, 1.0));
    if (!fixed || fixed->exponent < -1022 || fixed->exponent > 1022) return lower_plain(lw, index);
    *attrs = with_quant(lw, *attrs, result_quant_attr(lw, fixed));
    return fixed->value;
}

/* The return op; attrs has an entry per result. */
static bool lower_return(OnnxLowering *lw, Op *ret, const Attr **attrs)
{
    Value **values = ARENA_ARRAY(&lw->pass->scratch, Value *, ret->operand_count);
    lw->node = ret;
    for (uint32_t i = 0; i < ret->operand_count; i++) {
        lw->b.loc = value_loc(op_operand(ret, i));
        values[i] = lower_return_value(lw, i, &attrs[i]);
        if (!values[i]) return false;
    }
    lw->b.loc = ret->loc;
    build(&lw->b, FUNC(RETURN), values, ret->operand_count, NULL, 0, NULL, 0);
    return true;
}

static bool has_nodes(const Block *block)
{
    FOR_EACH_OP(op, block)
        if (op->def && op->def->dialect == &onnx_dialect) return true;
    return false;
}

/* Anything for what a node that was refused should give; false: its shapes are not known. */
static bool stand_in(OnnxLowering *lw, Op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++) {
        const Type *type = op_result(op, i)->type;
        if (!type_is_static(type)) return false;
        if (!ptrmap_has(&lw->values, op_result(op, i)))
            lower_record_plain(lw, op_result(op, i), lower_build_empty(lw, lower_plain_type(type)));
    }
    return true;
}

/* An argument that is quantized at the boundary is not so once more, by an onnx op or as unsigned. */
static bool check_arg(OnnxLowering *lw, const Value *arg)
{
    QuantizerSpec spec;
    const Attr *attrs = func_arg_attrs(lw->func, arg->index);
    if (!attrs || !attr_dict_get_c(attrs, DFG_ATTR_QUANT)) return true;
    return (!lower_is_unsigned_elem(arg->type) && !arg_quantizer(lw, arg, &spec)) ||
           op_error(lw->func, "argument %u has dfg.quant already", arg->index);
}

static bool lower_body(OnnxLowering *lw, Block *old, const Attr **arg_attrs,
                       const Attr **result_attrs)
{
    bool keeps_going = pass_bool(lw->pass, "keep-going"), ok = true;
    for (uint32_t i = 0; i < old->arg_count; i++)
        if (!check_arg(lw, old->args[i])) return false;
    lower_args(lw, old, arg_attrs);
    FOR_EACH_OP(op, old) {
        if (op->def == FUNC(RETURN)) return ok && lower_return(lw, op, result_attrs);
        if (!op->def || op->def->dialect != &onnx_dialect)
            return op_error(op, "stands between onnx ops, which is not supported");
        if (lower_node(lw, op)) continue;
        ok = false;
        if (!keeps_going || !stand_in(lw, op)) return false;
    }
    return ok;
}

/* Type and attributes of the function from its new body. */
static void update_signature(OnnxLowering *lw, Block *body, const Attr **arg_attrs,
                             const Attr **result_attrs)
{
    Op *ret = body->last;
    uint32_t inputs = body->arg_count, results = ret->operand_count;
    const Type **types = ARENA_ARRAY(&lw->pass->scratch, const Type *, inputs + results);
    for (uint32_t i = 0; i < inputs; i++) types[i] = body->args[i]->type;
    for (uint32_t i = 0; i < results; i++) types[inputs + i] = op_operand(ret, i)->type;
    func_set_type(lw->func, type_function(lw->ctx, types, inputs, types + inputs, results));
    op_set_attr(lw->func, "arg_attrs", attr_array(lw->ctx, arg_attrs, inputs));
    op_set_attr(lw->func, "res_attrs", attr_array(lw->ctx, result_attrs, results));
}

static bool lower_function(OnnxLowering *lw, Block *old)
{
    Arena *scratch = &lw->pass->scratch;
    const Attr **arg_attrs = ARENA_ARRAY(scratch, const Attr *, old->arg_count);
    const Attr **result_attrs = ARENA_ARRAY(scratch, const Attr *, old->last->operand_count);
    Block *body = block_create(lw->ctx);
    block_append(body, op_region(lw->func, 0));
    lw->b = builder_at_end(body, lw->func->loc);
    bool ok = lower_body(lw, old, arg_attrs, result_attrs);
    if (ok) onnx_lower_note_tensors(lw, old, arg_attrs);
    if (ok) update_signature(lw, body, arg_attrs, result_attrs);
    Block *gone = ok ? old : body;
    block_unlink(gone);
    block_erase(gone);
    return ok;
}

/* The first argument that is no tensor; NULL: there is none. */
static const Value *other_argument(const Block *block)
{
    for (uint32_t i = 0; i < block->arg_count; i++)
        if (!type_is_tensor(block->args[i]->type)) return block->args[i];
    return NULL;
}

static bool convert_onnx_to_linalg(Pass *pass, Op *func)
{
    Block *entry = func_entry(func);
    if (!entry || !has_nodes(entry)) return true;
    if (entry->next || !entry->last || entry->last->def != FUNC(RETURN))
        return op_error(func, "must be straight-line code to be lowered");
    const Value *other = other_argument(entry);
    if (other)
        return op_error(func, "has argument #%u of type %s, but a network's are tensors",
                        other->index, type_str(func->ctx, other->type));
    OnnxLowering lw = {.pass = pass, .ctx = func->ctx, .func = func};
    bool ok = lower_function(&lw, entry);
    if (ok && lw.ends.len > 0)
        op_set_attr(func, DFG_ATTR_INTEGERS_END, attr_array(func->ctx, lw.ends.data, lw.ends.len));
    for (size_t i = 0; i < lw.arrays.len; i++) array_unref(lw.arrays.entries[i].value);
    ptrmap_free(&lw.arrays);
    ptrmap_free(&lw.values);
    ptrmap_free(&lw.absorbed);
    vec_free(&lw.ends);
    strbuf_free(&lw.why);
    return ok;
}

const PassDef pass_convert_onnx_to_linalg = {
    .name = "convert-onnx-to-linalg",
    .summary = "Turn a network into linalg: exact integers where it is quantized",
    .anchor = "func.func",
    .options =
        OPTIONS({.name = "keep-going",
                 .kind = OPTION_BOOL,
                 .help = "report every node that has no form in linalg, not only the first"}),
    .run = convert_onnx_to_linalg,
};
