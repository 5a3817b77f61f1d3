/* convert-linalg-to-sa.
 *
 * Requires: a module with one public function, whose kernels are linalg.generic with channels last
 * (normalize-layout).  Changes: the function becomes a sa.network of its name for the overlay that
 * the options say; other functions are erased. What computes in floats behind it becomes a private
 * function for the host.
 * Tests: lit/lowering/linalg_to_sa, test/e2e/overlay_check.py */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "ir/asm/print/print.h"
#include "lowering/linalg_to_sa/internal.h"
#include "lowering/linalg_to_sa/linalg_to_sa.h"

static Op *find_network(Op *module)
{
    Op *found = NULL;
    FOR_EACH_INNER(op, module) {
        const Attr *visibility = op_attr(op, "sym_visibility");
        bool is_private = visibility && str_eq_c(visibility->u.string, "private");
        if (op->def != FUNC(FUNC) || is_private || !func_entry(op)) continue;
        if (found) {
            op_error(op, "is the second function of the module, of which an overlay takes one");
            return NULL;
        }
        found = op;
    }
    if (!found) op_error(module, "has no function with a body");
    return found;
}

static Str port_name(const Attr *attrs, const char *what, uint32_t index, StrBuf *scratch)
{
    const Attr *name = attrs ? attr_dict_get_c(attrs, DFG_ATTR_NAME) : NULL;
    if (name && name->kind == ATTR_STRING) return name->u.string;
    strbuf_printf(scratch, "%s%u", what, index);
    return strbuf_str(scratch);
}

/* What the function says about an argument or result goes with the port, so that whoever runs the
 * program can quantize and reorder arrays. */
Op *to_sa_build_port(Lowering *lw, const OpDef *def, Str name, const Type *type, Value *map,
                     const Attr *attrs)
{
    Context *ctx = lw->ctx;
    NamedAttr named[] = {build_named_attr(ctx, "name", attr_string(ctx, name))};
    Extents extents;
    const Type *own = NULL;
    if (!map && extents_of(type, 1, &extents)) {
        const int64_t dims[] = {extents.h, extents.w, extents.c};
        own = type_tensor(sa_act_type(ctx, &lw->size), dims, 3, NULL);
    }
    Op *op = build(&lw->b, def, &map, map != NULL, &own, map == NULL, named, COUNT_OF(named));
    op_set_attr(op, SA_ATTR_TYPE, attr_type(type));
    op_set_attr(op, SA_ATTR_PORT, attrs ? attrs : attr_dict_empty(ctx));
    return op;
}

/* The numbers of an argument: all of its type, of which single bits have no sign as boundaries take them, or
 * those that the quantizer in front gives. */
static void set_range(const Type *elem, const Attr *attrs, Tensor *tensor)
{
    const Attr *quant = attrs ? attr_dict_get_c(attrs, DFG_ATTR_QUANT) : NULL;
    bool is_unsigned = elem->u.integer.sign == UNSIGNED || tensor->width == 1, is_narrow = false;
    if (quant && quant->kind == ATTR_DICT) {
        const Attr *is_signed = attr_dict_get_c(quant, DFG_QUANT_SIGNED);
        const Attr *narrow = attr_dict_get_c(quant, DFG_QUANT_NARROW);
        is_unsigned =
            is_signed && is_signed->kind == ATTR_INTEGER && attr_int_value(is_signed) == 0;
        is_narrow = narrow && narrow->kind == ATTR_INTEGER && attr_int_value(narrow) != 0;
    }
    int64_t size = INT64_C(1) << (tensor->width - 1);
    tensor->lo = is_unsigned ? 0 : -size + is_narrow;
    tensor->hi = is_unsigned ? 2 * size - 1 : size - 1;
    bool is_bipolar =
        quant && quant->kind == ATTR_DICT && attr_dict_get_c(quant, DFG_QUANT_BIPOLAR);
    if (is_bipolar) {
        tensor->lo = -1;
        tensor->hi = 1;
    }
}

static void set_offset(const Lowering *lw, Op *port, const Tensor *tensor)
{
    if (tensor->offset != 0) op_set_attr(port, SA_ATTR_OFFSET, attr_i64(lw->ctx, tensor->offset));
}

static bool add_argument(Lowering *lw, uint32_t index)
{
    const Value *arg = func_entry(lw->func)->args[index];
    const Attr *attrs = func_arg_attrs(lw->func, index);
    Tensor tensor = {0};
    const Type *elem = arg->type->kind == TYPE_RANKED_TENSOR ? type_elem(arg->type) : NULL;
    if (elem && type_is_float(elem))
        return op_error(lw->func,
                        "has argument #%u of floats, and an overlay computes with integers: "
                        "--quantize=int8 quantizes a float network, and a network that is "
                        "quantized must quantize each input in front of all else",
                        index);
    if (!elem || !type_is_integer(elem) || type_width(elem) > 32 ||
        !extents_of(arg->type, 1, &tensor.extents))
        return op_error(lw->func,
                        "has argument #%u of type '%s', and maps are integers of up to 32 bits in "
                        "rows, columns and channels",
                        index, type_str(lw->ctx, arg->type));
    tensor.width = type_width(elem);
    set_range(elem, attrs, &tensor);
    if (!to_sa_find_offset(lw, tensor.lo, tensor.hi, &tensor.offset))
        return op_error(lw->func,
                        "has argument #%u with numbers from %lld to %lld, which do not fit the "
                        "overlay's activations of %u bits",
                        index, (long long)tensor.lo, (long long)tensor.hi, lw->size.act_bits);
    StrBuf scratch = {0};
    Str name = port_name(attrs, "input", index, &scratch);
    Op *port = to_sa_build_port(lw, SA(INPUT), name, arg->type, NULL, attrs);
    strbuf_free(&scratch);
    set_offset(lw, port, &tensor);
    tensor.map = op_result(port, 0);
    to_sa_new_tensor(lw, arg, &tensor);
    return true;
}

/* A map has one port at most. */
static bool has_port(const Value *map)
{
    if (value_def(map)->def == SA(INPUT)) return true;
    FOR_EACH_USE(use, map)
        if (use->owner->def == SA(OUTPUT)) return true;
    return false;
}

Value *to_sa_output_map(Lowering *lw, Tensor *tensor)
{
    if (!to_sa_materialize(lw, tensor)) return NULL;
    if (!tensor->is_padded && !has_port(tensor->map)) return tensor->map;
    return to_sa_build_stored(lw, to_sa_copy(lw, tensor, func_entry(lw->func)->last),
                              tensor->offset);
}

static bool add_result(Lowering *lw, const Op *ret, uint32_t index)
{
    StrBuf scratch = {0};
    const Value *value = op_operand(ret, index);
    const Attr *attrs = func_result_attrs(lw->func, index);
    Tensor *tensor = to_sa_tensor(lw, value);
    Value *map = tensor ? to_sa_output_map(lw, tensor) : NULL;
    if (!map) return false;
    Op *port = to_sa_build_port(lw, SA(OUTPUT), port_name(attrs, "output", index, &scratch),
                                value->type, map, attrs);
    strbuf_free(&scratch);
    set_offset(lw, port, tensor);
    return true;
}

static bool add_results(Lowering *lw)
{
    const Op *ret = func_entry(lw->func)->last;
    if (!to_sa_build_host(lw)) return false;
    for (uint32_t i = 0; !lw->host_func && i < ret->operand_count; i++)
        if (!add_result(lw, ret, i)) return false;
    return true;
}

static bool has_sign(const Type *type)
{
    const Type *elem = type_elem(type);
    return type_is_integer(elem) && !type_is_signless(elem);
}

/* Arithmetic has integers without a sign in their type. */
static bool are_signless(const Lowering *lw, const Block *body)
{
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (has_sign(body->args[i]->type))
            return op_error(lw->func,
                            "has argument #%u of type '%s', and maps are signless integers", i,
                            type_str(lw->ctx, body->args[i]->type));
    FOR_EACH_OP(op, body)
        for (uint32_t i = 0; i < op->result_count; i++)
            if (has_sign(op_result(op, i)->type))
                return to_sa_refuse(op, "gives '%s', and maps are signless integers",
                                    type_str(lw->ctx, op_result(op, i)->type));
    return true;
}

static bool convert_body(Lowering *lw)
{
    const Block *body = func_entry(lw->func);
    if (!are_signless(lw, body)) return false;
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (!add_argument(lw, i)) return false;
    if (!to_sa_mark_host(lw)) return false;
    FOR_EACH_OP(op, body)
        if (op != body->last && !to_sa_is_host(lw, op) && !to_sa_add_op(lw, op)) return false;
    return add_results(lw);
}

/* Results of types that no layer gives are told at the layer, those of arguments at the function. */
static bool convert(Pass *pass, Op *func, const SaOverlay *size, const Attr *overlay, Op **host)
{
    Lowering lw = {.arena = &pass->scratch, .ctx = pass->ctx, .func = func, .size = *size};
    Builder b = builder_before(func);
    NamedAttr attrs[] = {build_named_attr(pass->ctx, "sym_name", op_attr(func, "sym_name")),
                         build_named_attr(pass->ctx, SA_ATTR_OVERLAY, overlay)};
    Op *network = build(&b, SA(NETWORK), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
    lw.b = builder_at_end(region_add_block(op_region(network, 0)), func->loc);
    bool ok = convert_body(&lw);
    if (ok) to_sa_remark(&lw);
    for (size_t i = 0; i < lw.layers.len; i++) {
        numbers_free(&lw.layers.data[i]->tap);
        numbers_free(&lw.layers.data[i]->numbers);
    }
    vec_free(&lw.layers);
    ptrmap_free(&lw.tensors);
    ptrmap_free(&lw.channel_dims);
    ptrmap_free(&lw.host);
    ptrmap_free(&lw.done);
    *host = lw.host_func;
    if (!ok) op_erase(network);
    return ok;
}

/* The bits of a type, "i8" or "ui2". */
static uint32_t bits_of(const Pass *pass, const char *option)
{
    Str type = pass_string(pass, option);
    uint32_t bits = 0;
    for (size_t i = 0; i < type.len; i++)
        if (type.data[i] >= '0' && type.data[i] <= '9')
            bits = 10 * bits + (uint32_t)(type.data[i] - '0');
    return bits;
}

static void erase_functions(Op *module, const Op *kept)
{
    FOR_EACH_OP_SAFE(op, region_entry(op_region(module, 0)))
        if (op->def == FUNC(FUNC) && op != kept) op_erase(op);
}

static uint32_t size_of(const Pass *pass, const char *option)
{
    return (uint32_t)pass_int(pass, option);
}

static SaOverlay read_sizes(const Pass *pass)
{
    return (SaOverlay){.rows = size_of(pass, "rows"),
                       .cols = size_of(pass, "cols"),
                       .acc = size_of(pass, "acc"),
                       .act_pages = size_of(pass, "act_pages"),
                       .w_words = size_of(pass, "w_words"),
                       .pe_words = size_of(pass, "pe_words"),
                       .fill_words = size_of(pass, "fill_words"),
                       .acc_words = size_of(pass, "acc_words"),
                       .param_words = size_of(pass, "param_words"),
                       .pu_stages = size_of(pass, "pu_stages"),
                       .pu_kind = size_of(pass, "pu_kind"),
                       .weight_banks = size_of(pass, "weight_banks"),
                       .act_bits = bits_of(pass, "act"),
                       .act_is_unsigned = pass_string(pass, "act").data[0] == 'u',
                       .weight_bits = bits_of(pass, "weight")};
}

static bool run_convert(Pass *pass, Op *module)
{
    const SaOverlay size = read_sizes(pass);
    Op *func = find_network(module);
    const Attr *overlay = func ? sa_overlay_attr(pass->ctx, &size, func->loc) : NULL;
    Op *host = NULL;
    if (!overlay || !convert(pass, func, &size, overlay, &host)) return false;
    erase_functions(module, host);
    return true;
}

static const char *const types[] = {"i8", "i16", "i2", "i3", "ui1", "ui2", "ui3", NULL};
static const char *const weight_types[] = {"i8", "i16", "i1", "i2", "i3", NULL};

/* The parameters of #sa.overlay, which checks them. By default those of F2N2's engine (Table V) with 16
 * bits. */
#define SIZE(NAME, FALLBACK, HELP)                                                                 \
    {                                                                                              \
        NAME, OPTION_INT, FALLBACK, HELP, 1, INT32_MAX, NULL                                       \
    }

static const OptionDef options[] = {
    {"act", OPTION_STRING, "i16", "elements of maps", 0, 0, types},
    {"weight", OPTION_STRING, "i16", "elements of weights", 0, 0, weight_types},
    SIZE("rows", "64", "rows of processing elements, a power of two"),
    SIZE("cols", "64", "columns, a power of two"),
    SIZE("acc", "48", "bits of an accumulator"),
    SIZE("act_pages", "26", "pages of the buffer of activations"),
    SIZE("w_words", "36864", "words of each half of the weight buffer"),
    SIZE("pe_words", "256", "weights in each half of a processing element's memory"),
    SIZE("fill_words", "1", "words that go to the array in a cycle"),
    SIZE("acc_words", "1024", "vectors of partial sums"),
    SIZE("param_words", "1024", "vectors of parameters"),
    SIZE("pu_stages", "4", "instructions that the processing unit runs in a cycle"),
    SIZE("pu_kind", "1", "2: a processing unit of loads, thresholds, maxima and stores alone"),
    SIZE("weight_banks", "1", "banks of external memory that weights lie in"),
    {0},
};

const PassDef pass_convert_linalg_to_sa = {
    .name = "convert-linalg-to-sa",
    .summary = "Make a network of layers for an overlay from linalg",
    .description =
        "Convolutions, products with constants and pools become layers, with the element-wise "
        "kernels behind them as programs of the processing unit; a sum of two maps runs behind the "
        "later one. Padding, groups, reshapes to rows and parts of channels are taken in. All of "
        "it "
        "is exact, or the kernel is refused by name.",
    .anchor = "builtin.module",
    .options = options,
    .run = run_convert,
};
