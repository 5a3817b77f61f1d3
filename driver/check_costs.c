/* The cost of layers: parameters and multiply-accumulate operations from the onnx level, where a
 * layer is one op; element types from the linalg level, where they are those of the computation.
 * Tests: lit/driver/ming-check.test */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/onnx/onnx.h"
#include "driver/internal.h"
#include "ir/rewrite/rewrite.h"

static void add_range(uint32_t *low, uint32_t *high, uint32_t more_low, uint32_t more_high)
{
    if (more_high == 0) return;
    *low = *high == 0 || more_low < *low ? more_low : *low;
    *high = more_high > *high ? more_high : *high;
}

void driver_check_widths_add(Widths *to, const Widths *more)
{
    add_range(&to->int_low, &to->int_high, more->int_low, more->int_high);
    add_range(&to->float_low, &to->float_high, more->float_low, more->float_high);
}

static Widths widths_of(const Type *type)
{
    const Type *elem = type_elem(type);
    uint32_t width = type_is_integer(elem) || type_is_float(elem) ? type_width(elem) : 0;
    if (type_is_integer(elem)) return (Widths){.int_low = width, .int_high = width};
    return (Widths){.float_low = width, .float_high = width};
}

static bool is_tensor_value(const Value *value)
{
    return value && type_is_tensor(value->type);
}

/* The first constant operand of several elements, and the first operand that is no constant. */
static void find_inputs(const Op *op, const Value **constant, const Value **streamed)
{
    uint32_t count = linalg_is_structured(op) ? linalg_input_count(op) : op->operand_count;
    *constant = *streamed = NULL;
    for (uint32_t i = count; i-- > 0;) {
        const Value *value = op_operand(op, i);
        if (is_tensor_value(value) && !fold_constant_of(value))
            *streamed = value;
        else if (is_tensor_value(value))
            *constant = value;
    }
}

/* The operand with which a layer begins is its input, the result with which it ends its output. */
static bool add_widths(Op *op, void *user)
{
    Check *check = user;
    CheckLayer *layer = driver_check_layer(check, op->loc);
    const Value *constant, *streamed;
    if (!layer || layer >= check->layers + check->first_bad || op->result_count == 0 ||
        !is_tensor_value(op_result(op, 0)))
        return true;
    find_inputs(op, &constant, &streamed);
    if (!streamed) return true;
    layer->output = widths_of(op_result(op, 0)->type);
    if (layer->input.int_high == 0 && layer->input.float_high == 0)
        layer->input = widths_of(streamed->type);
    if (constant && layer->parameters > 0 && layer->weights.int_high == 0)
        layer->weights = widths_of(constant->type);
    return true;
}

void driver_check_widths(Check *check, Op *module)
{
    CheckLayer *end = check->layers + check->first_bad;
    for (CheckLayer *layer = check->layers; layer < end; layer++)
        layer->weights = layer->input = layer->output = (Widths){0};
    op_walk(module, add_widths, check);
}

/* Whether constants of the layer say how it works, rather than what the network learned. Its op may
 * be one of several that a pass made of the node. */
static bool has_settings_only(const CheckLayer *layer, const OpDef *def)
{
    static const OpDef *const defs[] = {
        ONNX(BIPOLAR_QUANT), ONNX(CLIP),     ONNX(DEQUANTIZE_LINEAR), ONNX(INT_QUANT),
        ONNX(PAD),           ONNX(QUANT),    ONNX(QUANTIZE_LINEAR),   ONNX(RESIZE),
        ONNX(TRUNC),         ONNX(UPSAMPLE),
    };
    for (size_t i = 0; i < COUNT_OF(defs); i++)
        if (def == defs[i] || str_eq_c(layer->op_type, defs[i]->name)) return true;
    return false;
}

/* The constant of an operand, seen through the op that dequantizes it. NULL: the operand is not
 * constant. */
static const Value *constant_of(const Value *value)
{
    const Op *def = value_def(value);
    if (def && def->def == ONNX(DEQUANTIZE_LINEAR)) value = op_operand(def, 0);
    def = value_def(value);
    return def && def->def == ONNX(CONSTANT) ? value : NULL;
}

typedef struct Counter {
    Check *check;
    PtrMap seen; /* constants that belong to a layer already */
} Counter;

static void count_parameters(Counter *counter, const Op *op, CheckLayer *layer)
{
    for (uint32_t i = 0; i < op->operand_count && !has_settings_only(layer, op->def); i++) {
        const Value *operand = op_operand(op, i), *constant = constant_of(operand);
        int64_t count;
        if (!constant || !type_is_float(type_elem(operand->type)) ||
            !type_is_static(constant->type) || !type_element_count(constant->type, &count) ||
            ptrmap_put(&counter->seen, constant, layer))
            continue;
        const Widths widths = widths_of(constant->type);
        if (layer->parameters == 0) layer->weights = widths;
        layer->parameters += count;
    }
}

static int64_t extent(const Value *value, int64_t from_end)
{
    const Type *type = value->type;
    return type->u.shaped.dims[type->u.shaped.rank - from_end];
}

/* Products that one element of a result (ConvTranspose: of the input) takes part in; 0: none. */
static int64_t products(const Op *op)
{
    const Value *left = op->operand_count > 1 ? op_operand(op, 0) : NULL;
    const Value *right = left ? op_operand(op, 1) : NULL;
    int64_t count;
    if (!right || !type_is_static(right->type) || !type_is_static(left->type) ||
        !type_element_count(right->type, &count))
        return 0;
    if (op->def == ONNX(CONV) || op->def == ONNX(CONV_TRANSPOSE))
        return right->type->u.shaped.dims[0] > 0 ? count / right->type->u.shaped.dims[0] : 0;
    if (op->def == ONNX(GEMM)) return extent(left, onnx_int(op, "transA", 0) ? 2 : 1);
    return op->def == ONNX(MATMUL) && left->type->u.shaped.rank > 0 ? extent(left, 1) : 0;
}

static int64_t count_macs(const Op *op)
{
    int64_t factor = products(op), count, macs;
    const Value *each = op->def == ONNX(CONV_TRANSPOSE) ? op_operand(op, 0) : op_result(op, 0);
    if (factor == 0) return 0;
    bool is_known = type_is_static(each->type) && type_element_count(each->type, &count) &&
                    i64_mul(count, factor, &macs);
    return is_known ? macs : -1;
}

/* Constants, and what only says what their integers mean. */
static bool is_constant_node(const Op *op)
{
    return op->def == ONNX(CONSTANT) || op->def == ONNX(NO_VALUE) ||
           (op->def == ONNX(DEQUANTIZE_LINEAR) && constant_of(op_operand(op, 0)));
}

static bool count_node(Op *op, void *user)
{
    Counter *counter = user;
    CheckLayer *layer = driver_check_layer(counter->check, op->loc);
    if (!layer || !op->def || op->def->dialect != &onnx_dialect || is_constant_node(op))
        return true;
    if (!layer->is_alive) layer->parameters = layer->macs = 0;
    layer->is_alive = true;
    count_parameters(counter, op, layer);
    int64_t macs = count_macs(op);
    if (macs < 0 || layer->macs < 0 || !i64_add(layer->macs, macs, &layer->macs)) layer->macs = -1;
    return true;
}

void driver_check_count(Check *check, Op *module)
{
    Counter counter = {.check = check};
    op_walk(module, count_node, &counter);
    ptrmap_free(&counter.seen);
}
