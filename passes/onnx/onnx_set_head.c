/* onnx-set-head: lets a network give what its host needs of the last layer instead of floats.
 *   integers   what stands in front of scalings by scalars and of softmaxes
 *   argmax     the index of the greatest element along the last dimension, the least of equal ones
 *   topk       the indices of the k greatest in falling order, among equal ones the least first
 * The latter two leave out only what keeps the order: x * c and x / c for c > 0, x + c, x - c,
 * softmaxes along the last dimension. (FINN's label select.)
 * Requires: onnx-fold-constants, onnx-infer-shapes; straight-line functions.
 * Changes: the operands of the return, and so the function's type.
 * Preserves: names of the results.
 * Tests: lit/passes/onnx/onnx-set-head.mir, test/e2e/layers_check.py */
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"
#include "ir/rewrite/rewrite.h"
#include "passes/onnx/internal.h"
#include "passes/onnx/passes.h"

typedef struct Head {
    bool is_index; /* else integers */
    int64_t k;     /* 0: the index of the greatest alone */
} Head;

/* Operand `index` is one number everywhere. */
static bool is_number(const Op *op, uint32_t index, double *out)
{
    const Attr *value = onnx_constant(op_operand(op, index));
    return value && onnx_dense_uniform(value, out);
}

/* The operand that a scaling or shift by a number works on; NULL: the node is none, or does not keep
 * the order although it must. */
static Value *scaled_operand(const Op *op, bool keeps_order)
{
    double number;
    bool is_product = op->def == ONNX(MUL) || op->def == ONNX(DIV);
    bool commutes = op->def == ONNX(MUL) || op->def == ONNX(ADD);
    if (!is_product && !commutes && op->def != ONNX(SUB)) return NULL;
    uint32_t x = commutes && is_number(op, 0, &number) ? 1 : 0;
    if (!is_number(op, 1 - x, &number)) return NULL;
    return keeps_order && is_product && !(number > 0.0) ? NULL : op_operand(op, x);
}

static Value *softmax_operand(const Op *op, bool keeps_order)
{
    if (op->def != ONNX(SOFTMAX) && op->def != ONNX(LOG_SOFTMAX)) return NULL;
    int64_t axis = onnx_int(op, "axis", -1), rank = op_operand(op, 0)->type->u.shaped.rank;
    return keeps_order && axis != -1 && axis != rank - 1 ? NULL : op_operand(op, 0);
}

/* What the network computes in front of the nodes that are left out. Integers wrap, and their quotients are
 * equal where they are not. */
static Value *strip(Value *value, bool keeps_order)
{
    if (keeps_order && !type_is_float(type_elem(value->type))) return value;
    for (const Op *op = value_def(value); op && op->def; op = value_def(value)) {
        Value *before = scaled_operand(op, keeps_order);
        if (!before) before = softmax_operand(op, keeps_order);
        if (!before || before->type != value->type) break;
        value = before;
    }
    return value;
}

static Value *greatest(Builder *b, Value *x)
{
    const Type *type = x->type;
    const NamedAttr attrs[] = {build_named_attr(b->ctx, "axis", attr_i64(b->ctx, -1)),
                               build_named_attr(b->ctx, "keepdims", attr_i64(b->ctx, 0))};
    const Type *result =
        type_tensor(type_i(b->ctx, 64), type->u.shaped.dims, type->u.shaped.rank - 1, NULL);
    return op_result(build(b, ONNX(ARG_MAX), &x, 1, &result, 1, attrs, COUNT_OF(attrs)), 0);
}

static Value *greatest_k(Builder *b, Value *x, int64_t k)
{
    const int64_t one = 1;
    const Type *list = type_tensor(type_i(b->ctx, 64), &one, 1, NULL);
    Value *operands[] = {x, onnx_build_constant(b, attr_dense_i64(list, &k, 1))};
    int64_t dims[ONNX_MAX_RANK];
    uint32_t rank = x->type->u.shaped.rank;
    for (uint32_t i = 0; i < rank; i++) dims[i] = i + 1 < rank ? x->type->u.shaped.dims[i] : k;
    const Type *results[] = {type_tensor(type_elem(x->type), dims, rank, NULL),
                             type_tensor(type_i(b->ctx, 64), dims, rank, NULL)};
    return op_result(build(b, ONNX(TOP_K), operands, 2, results, 2, NULL, 0), 1);
}

/* The result in place of a value. NULL: diagnosed. */
static Value *set_result(const Head *head, Builder *b, Op *func, uint32_t index, Value *value)
{
    const Type *type = value->type;
    uint32_t rank = type->u.shaped.rank;
    if (!head->is_index) return strip(value, false);
    if (rank == 0 || rank > ONNX_MAX_RANK || !type_is_static(type) ||
        !onnx_elem_is_numeric(type_elem(type)) || head->k > type->u.shaped.dims[rank - 1]) {
        op_error(func, "has result %u of %s, of which no %lld greatest elements are", index,
                 type_str(func->ctx, type), head->k ? (long long)head->k : 1LL);
        return NULL;
    }
    value = strip(value, true);
    b->loc = value_loc(value);
    return head->k ? greatest_k(b, value, head->k) : greatest(b, value);
}

static bool set_results(const Head *head, Op *func, Op *ret)
{
    const Type *old = func_type(func);
    uint32_t inputs = old->u.function.input_count, count = ret->operand_count;
    const Type **types = xcalloc(inputs + count, sizeof *types);
    Builder b = builder_before(ret);
    bool ok = true;
    for (uint32_t i = 0; i < inputs; i++) types[i] = old->u.function.types[i];
    for (uint32_t i = 0; ok && i < count; i++) {
        Value *value = set_result(head, &b, func, i, op_operand(ret, i));
        ok = value != NULL;
        if (!ok) break;
        op_set_operand(ret, i, value);
        types[inputs + i] = value->type;
    }
    if (ok) func_set_type(func, type_function(func->ctx, types, inputs, types + inputs, count));
    free_ptr((void **)&types);
    return ok;
}

static bool has_nodes(const Block *body)
{
    FOR_EACH_OP(op, body)
        if (onnx_is_node(op)) return true;
    return false;
}

static bool onnx_set_head(Pass *pass, Op *func)
{
    Block *body = func_entry(func);
    Str kind = pass_string(pass, "kind");
    Head head = {.is_index = !str_eq_c(kind, "integers")};
    if (str_eq_c(kind, "topk")) head.k = pass_int(pass, "k");
    if (!body || !has_nodes(body)) return true;
    if (body->next || !body->last || body->last->def != FUNC(RETURN))
        return op_error(func, "must be straight-line code to get another head");
    bool ok = set_results(&head, func, body->last);
    if (ok) rewrite_erase_dead_ops(func);
    return ok;
}

static const char *const kinds[] = {"integers", "argmax", "topk", NULL};

const PassDef pass_onnx_set_head = {
    .name = "onnx-set-head",
    .summary = "Give integers or indices of the greatest instead of the last floats",
    .anchor = "func.func",
    .options = OPTIONS({.name = "kind",
                        .kind = OPTION_STRING,
                        .fallback = "integers",
                        .help = "What the network gives: integers, argmax or topk",
                        .choices = kinds},
                       {.name = "k",
                        .kind = OPTION_INT,
                        .fallback = "1",
                        .help = "How many indices topk gives",
                        .min = 1,
                        .max = INT64_MAX}),
    .run = onnx_set_head,
};
