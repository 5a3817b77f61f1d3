/* convert-to-signless: tensors of signed and unsigned integers, which uint8 networks in tosa have at
 * their boundary and around every tosa.rescale, become those of signless ones, which streams hold.
 *   %1 = unrealized_conversion_cast %0 : ui8 to i8   ->   %0, an i8
 * Arguments and results that were unsigned are said to be (dfg.quant), as those of onnx are.
 * Changes: nothing at all if an op is left whose result depends on the sign of its types, as those
 * of tosa do; the types of functions otherwise. A si1 stays, which no i1 reads as -1.
 * Tests: lit/passes/linalg/convert-to-signless.mir */
#include "dialects/arith/arith.h"
#include "dialects/builtin/builtin.h"
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "dialects/scf/scf.h"
#include "dialects/tensor/tensor.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "passes/linalg/passes.h"

static bool has_sign(const Type *type)
{
    const Type *elem = type_is_shaped(type) ? type_elem(type) : type;
    return type_is_integer(elem) && elem->u.integer.sign != SIGNLESS;
}

static bool is_unsigned(const Type *type)
{
    return has_sign(type) && type_elem(type)->u.integer.sign == UNSIGNED;
}

static const Type *signless(const Type *type)
{
    if (!has_sign(type)) return type;
    const Type *elem = type_i(type->ctx, type_width(type_elem(type)));
    return type_is_shaped(type) ? type_with_elem(type, elem) : elem;
}

/* Ops that move values, or hand them on; casts of nothing but the sign. */
static bool ignores_signs(const Op *op)
{
    static const OpDef *const defs[] = {
        BUILTIN(MODULE),   FUNC(FUNC),        FUNC(CALL),      FUNC(RETURN),
        ARITH(CONSTANT),   ARITH(SELECT),     LINALG(GENERIC), LINALG(FILL),
        LINALG(TRANSPOSE), LINALG(BROADCAST), LINALG(YIELD),
    };
    if (op->def == BUILTIN(UNREALIZED_CONVERSION_CAST))
        return op->operand_count == 1 && op->result_count == 1 &&
               signless(op_operand(op, 0)->type) == signless(op_result(op, 0)->type);
    for (size_t i = 0; i < COUNT_OF(defs); i++)
        if (op->def == defs[i]) return true;
    return op->def && (op->def->dialect == &tensor_dialect || op->def->dialect == &scf_dialect);
}

/* Of a value's type. */
static bool can_convert(const Type *type)
{
    bool is_value = type_is_tensor(type) || type_is_integer(type);
    return !has_sign(type) || (is_value && type_width(type_elem(type)) > 1);
}

static bool can_convert_signature(const Type *type)
{
    const uint32_t count = type->u.function.input_count + type->u.function.result_count;
    for (uint32_t i = 0; i < count; i++)
        if (!can_convert(type->u.function.types[i])) return false;
    return true;
}

/* The signs that an op and the arguments of its blocks meet. */
typedef struct Signs {
    bool any, can_go;
} Signs;

static void meet(Signs *signs, const Type *type)
{
    signs->any |= has_sign(type);
    signs->can_go &= can_convert(type);
}

static Signs signs_of(const Op *op)
{
    Signs signs = {.can_go = true};
    for (uint32_t i = 0; i < op->operand_count; i++) meet(&signs, op_operand(op, i)->type);
    for (uint32_t i = 0; i < op->result_count; i++) meet(&signs, op_result(op, i)->type);
    for (uint32_t r = 0; r < op->region_count; r++)
        FOR_EACH_BLOCK(block, op_region(op, r))
            for (uint32_t i = 0; i < block->arg_count; i++) meet(&signs, block->args[i]->type);
    if (op->def == FUNC(FUNC)) signs.can_go &= can_convert_signature(func_type(op));
    if (op->def == ARITH(CONSTANT) && signs.any)
        signs.can_go &= op_attr(op, "value")->kind == ATTR_DENSE;
    return signs;
}

/* False: a sign has to stay. */
static bool check(Op *op, void *user)
{
    (void)user;
    const Signs signs = signs_of(op);
    return signs.can_go && (!signs.any || ignores_signs(op));
}

/* Says of the function's unsigned arguments, or results, that they are. False: diagnosed. */
static bool note_unsigned(Op *func, const char *name, const Type *const *types, uint32_t count,
                          const Attr *(*attrs_of)(const Op *func, uint32_t index))
{
    Context *ctx = func->ctx;
    VEC(const Attr *) dicts = {0};
    bool any = false, ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        const Attr *attrs = attrs_of(func, i);
        attrs = attrs ? attrs : attr_dict(ctx, NULL, 0);
        if (is_unsigned(types[i])) {
            ok = !attr_dict_get_c(attrs, DFG_ATTR_QUANT) ||
                 op_error(func, "has an unsigned %s %u that has dfg.quant already",
                          attrs_of == func_arg_attrs ? "argument" : "result", i);
            attrs = attr_dict_set(attrs, ident_get_c(ctx, DFG_ATTR_QUANT),
                                  dfg_quant_integers(ctx, false));
            any = true;
        }
        *vec_push(&dicts) = attrs;
    }
    if (ok && any) op_set_attr(func, name, attr_array(ctx, dicts.data, dicts.len));
    vec_free(&dicts);
    return ok;
}

static bool convert_function(Op *func)
{
    const Type *type = func_type(func);
    const uint32_t inputs = type->u.function.input_count, results = type->u.function.result_count;
    if (!note_unsigned(func, "arg_attrs", type->u.function.types, inputs, func_arg_attrs) ||
        !note_unsigned(func, "res_attrs", type->u.function.types + inputs, results,
                       func_result_attrs))
        return false;
    VEC(const Type *) types = {0};
    for (uint32_t i = 0; i < inputs + results; i++)
        *vec_push(&types) = signless(type->u.function.types[i]);
    func_set_type(func, type_function(func->ctx, types.data, inputs, types.data + inputs, results));
    vec_free(&types);
    return true;
}

static void convert_constant(Op *op)
{
    const Attr *value = op_attr(op, "value");
    if (has_sign(value->type))
        op_set_attr(op, "value",
                    attr_dense_raw(signless(value->type), value->u.dense.data, value->u.dense.size,
                                   value->u.dense.is_splat));
}

static bool convert(Op *op, void *user)
{
    (void)user;
    if (op->def == ARITH(CONSTANT)) convert_constant(op);
    if (op->def == FUNC(FUNC) && !convert_function(op)) return false;
    for (uint32_t i = 0; i < op->result_count; i++)
        op_result(op, i)->type = signless(op_result(op, i)->type);
    for (uint32_t r = 0; r < op->region_count; r++)
        FOR_EACH_BLOCK(block, op_region(op, r))
            for (uint32_t i = 0; i < block->arg_count; i++)
                block->args[i]->type = signless(block->args[i]->type);
    return true;
}

/* Casts from and to what is the same type now. */
static bool drop_cast(Op *op, void *user)
{
    (void)user;
    if (op->def != BUILTIN(UNREALIZED_CONVERSION_CAST) || op->operand_count != 1 ||
        op->result_count != 1 || op_operand(op, 0)->type != op_result(op, 0)->type)
        return true;
    value_replace_all(op_result(op, 0), op_operand(op, 0));
    op_erase(op);
    return true;
}

static bool convert_to_signless(Pass *pass, Op *module)
{
    (void)pass;
    return !op_walk(module, check, NULL) ||
           (op_walk(module, convert, NULL) && op_walk_post(module, drop_cast, NULL));
}

const PassDef pass_convert_to_signless = {
    .name = "convert-to-signless",
    .summary = "Give tensors of signed and unsigned integers signless elements",
    .description =
        "Streams hold signless integers. The casts at signed and unsigned types, which the "
        "lowerings of tosa leave, go; arguments and results that were unsigned are said to be, by "
        "dfg.quant. Nothing changes where an op is left whose result depends on the sign of its "
        "types, or a type of one bit.",
    .anchor = "builtin.module",
    .run = convert_to_signless,
};
