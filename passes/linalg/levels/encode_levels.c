/* encode-levels: tensors whose elements are one of two numbers become tensors of bits, so that
 * streams, memories and ports carry one bit per element. The numbers are -1 and 1 (bipolar: the bit
 * b stands for 2 b - 1) or 0 and 1.
 *   r = generic(x) { yield c ? 1 : -1 : i2 };  generic(r, w) { yield acc + ext(r) * ext(w) }
 *     ->  r = generic(x) { yield c : i1 };  generic(r, w) { yield acc + ext(r ? 1 : -1) * … }
 * It is known of results that are chosen by a condition, of moves and maxima of such, of arguments
 * whose dfg.quant says so, and of constants that are factors of a sum. A maximum of bits is their
 * disjunction. Zeros around bipolars become -1 if sums of products are all that reads them, which are
 * corrected (level_padding.c); else a tensor that is padded with a third number stays as it is, after
 * a remark, and so does one that the function returns.
 * Requires: named ops generalized, widths of integers chosen.
 * Changes: types of such tensors inside the function, and of bipolar arguments.
 * Tests: lit/passes/linalg/encode-levels.mir */
#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "passes/linalg/levels/internal.h"
#include "passes/linalg/passes.h"

/* Which two numbers. */
typedef enum Levels { LEVELS_NONE, LEVELS_BINARY, LEVELS_BIPOLAR } Levels;

enum { MAX_DEPTH = 8 }; /* of the expressions that are looked at */

typedef struct Encoding {
    PtrMap levels; /* of tensors that may become bits: Value -> Levels */
    Arena *arena;
} Encoding;

static int64_t low_level(Levels levels)
{
    return levels == LEVELS_BIPOLAR ? -1 : 0;
}

static Levels levels_of(const Encoding *e, const Value *tensor)
{
    return (Levels)(uintptr_t)ptrmap_get(&e->levels, tensor);
}

static void set_levels(Encoding *e, const Value *tensor, Levels levels)
{
    ptrmap_put(&e->levels, tensor, (void *)(uintptr_t)levels);
}

/* Integers that a bit may take the place of. */
static bool is_wide_integer(const Type *type)
{
    return type_is_integer(type) && type_width(type) > 1 && type_width(type) <= 64;
}

static bool is_wide_tensor(const Type *type)
{
    return type->kind == TYPE_RANKED_TENSOR && type_is_static(type) &&
           type->u.shaped.rank <= KERNEL_MAX_LOOPS && is_wide_integer(type_elem(type));
}

static bool constant_number(const Value *value, int64_t *out)
{
    const Op *def = value_def(value);
    if (!def || def->def != ARITH(CONSTANT) || !is_wide_integer(value->type)) return false;
    *out = attr_int_value(op_attr(def, "value"));
    return true;
}

/* {a, b} in either order. */
static Levels levels_of_pair(int64_t a, int64_t b)
{
    if (a == b || i64_max(a, b) != 1) return LEVELS_NONE;
    return i64_min(a, b) == -1 ? LEVELS_BIPOLAR : i64_min(a, b) == 0 ? LEVELS_BINARY : LEVELS_NONE;
}

/* Of a value of a kernel's body. */
static Levels expression_levels(const Encoding *e, const Op *generic, const Value *value, int depth)
{
    int64_t a, b;
    const Op *op = value_def(value);
    if (value->is_arg)
        return value_block(value) == linalg_body(generic)
                   ? levels_of(e, op_operand(generic, value->index))
                   : LEVELS_NONE;
    if (depth == 0 || !is_wide_integer(value->type)) return LEVELS_NONE;
    if (op->def == ARITH(EXTUI) && type_width(op_operand(op, 0)->type) == 1) return LEVELS_BINARY;
    if (op->def == ARITH(SELECT) && constant_number(op_operand(op, 1), &a) &&
        constant_number(op_operand(op, 2), &b))
        return levels_of_pair(a, b);
    if (op->def == ARITH(EXTSI) || op->def == ARITH(TRUNCI))
        return expression_levels(e, generic, op_operand(op, 0), depth - 1);
    if (op->def != ARITH(MAXSI) && op->def != ARITH(MINSI)) return LEVELS_NONE;
    Levels levels = expression_levels(e, generic, op_operand(op, 0), depth - 1);
    return levels == expression_levels(e, generic, op_operand(op, 1), depth - 1) ? levels
                                                                                 : LEVELS_NONE;
}

/* What a maximum or minimum over reduction loops starts from must be no more (no less) than any
 * level, so that it does not count. */
static bool starts_neutrally(const Op *generic, bool is_max, Levels levels)
{
    int64_t start;
    const Op *def = value_def(op_operand(generic, linalg_input_count(generic)));
    const Value *fill = def ? kernel_fill_value(def) : NULL;
    return fill && constant_number(fill, &start) &&
           (is_max ? start <= low_level(levels) : start >= 1);
}

static Levels reduction_levels(const Encoding *e, const Op *generic)
{
    const Block *body = linalg_body(generic);
    const Value *acc = body->args[linalg_input_count(generic)];
    const Op *op = value_def(op_operand(body->last, 0));
    if (!op || (op->def != ARITH(MAXSI) && op->def != ARITH(MINSI)) || !value_has_one_use(acc) ||
        (op_operand(op, 0) != acc && op_operand(op, 1) != acc) ||
        op_operand(op, 0) == op_operand(op, 1))
        return LEVELS_NONE;
    const Value *term = op_operand(op, op_operand(op, 0) == acc ? 1 : 0);
    Levels levels = expression_levels(e, generic, term, MAX_DEPTH);
    return levels && starts_neutrally(generic, op->def == ARITH(MAXSI), levels) ? levels
                                                                                : LEVELS_NONE;
}

static Levels generic_levels(const Encoding *e, const Op *op)
{
    uint32_t init = linalg_input_count(op);
    if (op->result_count != 1 || linalg_body_has_regions(op) || kernel_fill_value(op) ||
        !is_wide_tensor(op_result(op, 0)->type) || !linalg_reaches_all(op, init))
        return LEVELS_NONE;
    if (linalg_reduces(op)) return reduction_levels(e, op);
    if (linalg_reads_operand(op, init)) return LEVELS_NONE;
    return expression_levels(e, op, op_operand(linalg_body(op)->last, 0), MAX_DEPTH);
}

/* Ops that move elements of operand 0; a slice is inserted into operand 1. */
static bool is_move(const Op *op)
{
    return op->def == TENSOR(EXPAND_SHAPE) || op->def == TENSOR(COLLAPSE_SHAPE) ||
           op->def == TENSOR(EXTRACT_SLICE) || op->def == TENSOR(INSERT_SLICE) ||
           op->def == TENSOR(PAD);
}

static bool is_empty(const Value *tensor)
{
    const Op *def = value_def(tensor);
    return def && def->def == TENSOR(EMPTY);
}

static Levels pad_levels(const Encoding *e, const Op *pad, Levels levels)
{
    int64_t number;
    const Value *padding = tensor_padding(pad);
    bool is_number = padding && constant_number(padding, &number);
    if (is_number && (number == 1 || number == low_level(levels))) return levels;
    if (is_number && number == 0) {
        if (level_padding_fits(e->arena, pad)) return levels;
        op_remark(pad, "puts zeros around numbers that are -1 or 1, so that these take two bits in "
                       "place of one");
    }
    return LEVELS_NONE;
}

static Levels move_levels(const Encoding *e, const Op *op)
{
    Levels levels = levels_of(e, op_operand(op, 0));
    if (!levels || !is_wide_tensor(op_result(op, 0)->type)) return LEVELS_NONE;
    if (op->def == TENSOR(PAD)) return pad_levels(e, op, levels);
    if (op->def != TENSOR(INSERT_SLICE)) return levels;
    bool fits = is_empty(op_operand(op, 1)) /* of zeros */
                    ? levels == LEVELS_BINARY || level_slices_fill(op)
                    : levels_of(e, op_operand(op, 1)) == levels;
    return fits ? levels : LEVELS_NONE;
}

static bool is_bipolar_argument(const Op *func, const Value *arg)
{
    const Attr *attrs = func_arg_attrs(func, arg->index);
    const Attr *quant = attrs ? attr_dict_get_c(attrs, DFG_ATTR_QUANT) : NULL;
    const Attr *bipolar =
        quant && quant->kind == ATTR_DICT ? attr_dict_get_c(quant, DFG_QUANT_BIPOLAR) : NULL;
    return is_wide_tensor(arg->type) && bipolar && bipolar->kind == ATTR_INTEGER &&
           attr_int_value(bipolar) != 0;
}

static void find_levels(Encoding *e, const Op *func)
{
    Block *body = func_entry(func);
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (is_bipolar_argument(func, body->args[i])) set_levels(e, body->args[i], LEVELS_BIPOLAR);
    FOR_EACH_OP(op, body)
        if (op->def == LINALG(GENERIC) && op->result_count == 1)
            set_levels(e, op_result(op, 0), generic_levels(e, op));
        else if (is_move(op))
            set_levels(e, op_result(op, 0), move_levels(e, op));
}

/* Whether the user goes on with bits: one of the function's own ops, not of what they contain. */
static bool takes_bits(const Encoding *e, const Use *use)
{
    const Op *op = use->owner;
    if (op->block != value_block(use->value)) return false;
    if (op->def == LINALG(GENERIC)) return use_index(use) < linalg_input_count(op);
    return is_move(op) && levels_of(e, op_result(op, 0));
}

/* Whether a tensor can be of bits as far as its neighbours go. */
static bool stays(const Encoding *e, const Value *tensor)
{
    const Op *def = value_def(tensor);
    if (def && is_move(def) && !levels_of(e, op_operand(def, 0))) return false;
    if (def && def->def == TENSOR(INSERT_SLICE) && !is_empty(op_operand(def, 1)) &&
        !levels_of(e, op_operand(def, 1)))
        return false;
    FOR_EACH_USE(use, tensor)
        if (!takes_bits(e, use)) return false;
    return true;
}

typedef VEC(Value *) Values;

/* The tensors that a tensor's being dropped may drop: what it is moved from and to. */
static void push_neighbours(const Value *tensor, Values *pending)
{
    const Op *def = value_def(tensor);
    for (uint32_t i = 0; def && is_move(def) && i < i64_min(def->operand_count, 2); i++)
        *vec_push(pending) = op_operand(def, i);
    FOR_EACH_USE(use, tensor)
        if (is_move(use->owner)) *vec_push(pending) = op_result(use->owner, 0);
}

/* Drops tensors with a neighbour that needs numbers, until none is left. */
static void drop_blocked(Encoding *e, Block *body)
{
    Values pending = {0};
    for (uint32_t i = 0; i < body->arg_count; i++) *vec_push(&pending) = body->args[i];
    FOR_EACH_OP(op, body)
        if (op->result_count == 1) *vec_push(&pending) = op_result(op, 0);
    while (pending.len > 0) {
        const Value *tensor = pending.data[--pending.len];
        if (!levels_of(e, tensor) || stays(e, tensor)) continue;
        set_levels(e, tensor, LEVELS_NONE);
        push_neighbours(tensor, &pending);
    }
    vec_free(&pending);
}

static const Type *bits_like(const Type *tensor)
{
    return type_with_elem(tensor, type_i(tensor->ctx, 1));
}

static Value *empty_bits(Builder *b, const Type *type)
{
    MixedIndex sizes[KERNEL_MAX_LOOPS];
    for (uint32_t i = 0; i < type->u.shaped.rank; i++)
        sizes[i] = mixed_constant(type->u.shaped.dims[i]);
    return tensor_empty(b, sizes, type->u.shaped.rank, type_i(b->ctx, 1));
}

/* The number that a bit of the body stands for. */
static Value *decoded(Builder *b, Value *bit, Levels levels, const Type *type)
{
    if (levels == LEVELS_BINARY) return build_unary(b, ARITH(EXTUI), type, bit);
    return arith_select(b, bit, arith_constant_int(b, type, 1), arith_constant_int(b, type, -1));
}

/* Gives the body a bit for input i, which was a number. */
static void decode_input(Op *generic, uint32_t i, Levels levels)
{
    Block *body = linalg_body(generic);
    Value *arg = body->args[i];
    const Type *type = arg->type;
    arg->type = type_i(type->ctx, 1);
    if (!value_has_uses(arg)) return;
    Builder b = builder_before(body->first);
    Value *number = decoded(&b, arg, levels, type);
    value_replace_all(arg, number);
    op_set_operand(value_def(number), 0, arg);
}

/* The bit of a number of a body; an accumulator is one already. */
static Value *encoded(Builder *b, Value *value)
{
    const Op *op = value_def(value);
    int64_t on_true;
    if (type_width(value->type) == 1) return value;
    if (op && op->def == ARITH(EXTUI) && type_width(op_operand(op, 0)->type) == 1)
        return op_operand(op, 0);
    if (op && op->def == ARITH(SELECT) && constant_number(op_operand(op, 1), &on_true)) {
        const Type *bit = type_i(b->ctx, 1);
        return on_true == 1 ? op_operand(op, 0)
                            : build_binary(b, ARITH(XORI), bit, op_operand(op, 0),
                                           arith_constant_int(b, bit, 1));
    }
    if (op && (op->def == ARITH(EXTSI) || op->def == ARITH(TRUNCI)))
        return encoded(b, op_operand(op, 0));
    if (op && (op->def == ARITH(MAXSI) || op->def == ARITH(MINSI))) {
        Value *lhs = encoded(b, op_operand(op, 0)), *rhs = encoded(b, op_operand(op, 1));
        return build_binary(b, op->def == ARITH(MAXSI) ? ARITH(ORI) : ARITH(ANDI), lhs->type, lhs,
                            rhs);
    }
    return arith_cmpi(b, CMPI_SGT, value, arith_constant_int(b, value->type, 0));
}

static void erase_unused(Block *body)
{
    for (Op *op = body->last->prev, *before; op; op = before) {
        before = op->prev;
        bool is_used = op->result_count != 1 || value_has_uses(op_result(op, 0));
        if (!is_used && op->region_count == 0) op_erase(op);
    }
}

/* The tensors of the network that the op's bits are now. */
static void note_levels(Op *op, Levels levels)
{
    const Attr *list = op_attr(op, DFG_ATTR_TENSORS);
    if (list) op_set_attr(op, DFG_ATTR_TENSORS, dfg_tensors_encode(list, levels == LEVELS_BIPOLAR));
}

/* Starts from bits: from nothing, or from the bit that does not count. */
static void encode_init(Op *generic, Block *body, Levels levels)
{
    uint32_t init = linalg_input_count(generic);
    const Type *bits = bits_like(op_operand(generic, init)->type);
    Builder b = builder_before(generic);
    Value *tensor = empty_bits(&b, bits);
    if (linalg_reduces(generic)) {
        bool is_max = value_def(op_operand(body->last, 0))->def == ARITH(MAXSI);
        tensor = linalg_fill(&b, arith_constant_int(&b, type_elem(bits), !is_max), tensor);
    }
    op_set_operand(generic, init, tensor);
    body->args[init]->type = type_elem(bits);
    op_result(generic, 0)->type = bits;
    note_levels(generic, levels);
}

/* Whether a value, extended or not, is a factor of a product and nothing else. */
static bool is_factor(const Value *value)
{
    while (value_has_one_use(value)) {
        const Op *user = value->uses->owner;
        if (user->def == ARITH(MULI)) return true;
        if (user->def != ARITH(EXTSI) || user->result_count != 1) return false;
        value = op_result(user, 0);
    }
    return false;
}

/* Levels of a constant that has both. */
static Levels constant_levels(const Value *tensor)
{
    const Op *def = value_def(tensor);
    if (!def || def->def != ARITH(CONSTANT) || !is_wide_tensor(tensor->type)) return LEVELS_NONE;
    const Attr *value = op_attr(def, "value");
    if (value->kind != ATTR_DENSE || value->u.dense.is_splat) return LEVELS_NONE;
    bool seen[3] = {false};
    for (int64_t i = 0, count = dense_count(value); i < count; i++) {
        int64_t number = dense_i64(value, i);
        if (number < -1 || number > 1) return LEVELS_NONE;
        seen[number + 1] = true;
    }
    if (seen[0] && seen[1]) return LEVELS_NONE;
    return seen[0] ? LEVELS_BIPOLAR : LEVELS_BINARY;
}

/* Weights of two levels become bits. */
static void encode_weights(Encoding *e, Op *generic, uint32_t i)
{
    Value *weights = op_operand(generic, i);
    Levels levels = linalg_reduces(generic) && is_factor(linalg_body(generic)->args[i])
                        ? constant_levels(weights)
                        : LEVELS_NONE;
    if (!levels) return;
    const Attr *value = op_attr(value_def(weights), "value");
    size_t count = (size_t)dense_count(value);
    int64_t *bits = ARENA_ARRAY(e->arena, int64_t, count);
    for (size_t k = 0; k < count; k++) bits[k] = dense_i64(value, (int64_t)k) == 1;
    Builder b = builder_before(generic);
    op_set_operand(generic, i,
                   arith_constant(&b, attr_dense_i64(bits_like(weights->type), bits, count)));
    decode_input(generic, i, levels);
}

static void encode_generic(Encoding *e, Op *op)
{
    Block *body = linalg_body(op);
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        Levels levels = levels_of(e, op_operand(op, i));
        if (levels)
            decode_input(op, i, levels);
        else
            encode_weights(e, op, i);
    }
    if (op->result_count != 1 || !levels_of(e, op_result(op, 0))) return;
    encode_init(op, body, levels_of(e, op_result(op, 0)));
    Builder b = builder_before(body->last);
    op_set_operand(body->last, 0, encoded(&b, op_operand(body->last, 0)));
    erase_unused(body);
}

static void encode_move(Encoding *e, Op *op)
{
    Value *result = op_result(op, 0);
    Levels levels = levels_of(e, result);
    if (!levels) return;
    Builder b = builder_before(op);
    result->type = bits_like(result->type);
    note_levels(op, levels);
    if (op->def == TENSOR(INSERT_SLICE) && is_empty(op_operand(op, 1)))
        op_set_operand(op, 1, empty_bits(&b, result->type));
    int64_t number;
    Op *yield = op->def == TENSOR(PAD) ? region_entry(op_region(op, 0))->last : NULL;
    if (!yield || !constant_number(op_operand(yield, 0), &number)) return;
    bool is_level = number == 1 || number == low_level(levels);
    if (!is_level) {
        level_padding_correct(e->arena, op);
        op_set_attr(op, DFG_ATTR_TENSORS, NULL);
    }
    op_set_operand(yield, 0, arith_constant_int(&b, type_elem(result->type), number == 1));
}

/* The tensors that an argument's bits are now. */
static void note_argument(Op *func, uint32_t index, Levels levels)
{
    const Attr *dict = func_arg_attrs(func, index);
    const Attr *list = dict ? attr_dict_get_c(dict, DFG_ATTR_TENSORS) : NULL;
    if (!list) return;
    list = dfg_tensors_encode(list, levels == LEVELS_BIPOLAR);
    dict = attr_dict_set(dict, ident_get_c(func->ctx, DFG_ATTR_TENSORS),
                         list ? list : attr_array(func->ctx, NULL, 0));
    const Attr *old = op_attr(func, "arg_attrs");
    VEC(const Attr *) dicts = {0};
    for (uint32_t i = 0; i < old->u.array.count; i++)
        *vec_push(&dicts) = i == index ? dict : old->u.array.items[i];
    op_set_attr(func, "arg_attrs", attr_array(func->ctx, dicts.data, dicts.len));
    vec_free(&dicts);
}

static void encode(Encoding *e, Op *func)
{
    Block *body = func_entry(func);
    VEC(const Type *) types = {0};
    const Type *type = func_type(func);
    uint32_t inputs = type->u.function.input_count, results = type->u.function.result_count;
    for (uint32_t i = 0; i < inputs; i++) {
        Value *arg = body->args[i];
        if (levels_of(e, arg)) {
            arg->type = bits_like(arg->type);
            note_argument(func, i, levels_of(e, arg));
        }
        *vec_push(&types) = arg->type;
    }
    for (uint32_t i = 0; i < results; i++) *vec_push(&types) = type->u.function.types[inputs + i];
    func_set_type(func, type_function(func->ctx, types.data, inputs, types.data + inputs, results));
    vec_free(&types);
    FOR_EACH_OP(op, body)
        if (op->def == LINALG(GENERIC))
            encode_generic(e, op);
        else if (is_move(op))
            encode_move(e, op);
}

static bool encode_levels(Pass *pass, Op *func)
{
    Encoding e = {.arena = &pass->scratch};
    Block *body = func_entry(func);
    if (!body || body->next) return true;
    find_levels(&e, func);
    drop_blocked(&e, body);
    encode(&e, func);
    ptrmap_free(&e.levels);
    return true;
}

const PassDef pass_encode_levels = {
    .name = "encode-levels",
    .summary = "Carry integers of two levels in one bit",
    .anchor = "func.func",
    .run = encode_levels,
};
