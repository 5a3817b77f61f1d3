/* Functions of one tensor in which it meets itself, as x * clip(x + 3, 0, 6) / 6 or a Gelu of its parts.
 * Their first nodes could become integers at once, as sums and products with powers of two do. Then the
 * others would see two tensors, and compute with floats. So they are deferred together, up to the
 * quantizer that takes them in.
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-deferred-epilogue.mir,
 * test/e2e/places_streamline.py */
#include "lowering/onnx_to_linalg/requant/internal.h"

enum { MAX_VALUES = 32 };

/* What is computed element by element from values[0] and constants. */
typedef struct Closure {
    OnnxLowering *lw;
    const Value *values[MAX_VALUES];
    uint32_t count;
    bool joins;        /* a node has two operands of it */
    bool has_function; /* a node is none of integers */
} Closure;

static bool holds(const Closure *c, const Value *value)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->values[i] == value) return true;
    return false;
}

static bool is_of_integers(const Op *op)
{
    return op->def == ONNX(ADD) || op->def == ONNX(SUB) || op->def == ONNX(MUL) ||
           op->def == ONNX(DIV) || op->def == ONNX(RELU);
}

/* Adds the node's result if its other operands are constants. */
static void add_node(Closure *c, const Op *op)
{
    uint32_t inside = 0;
    if (!op->def || op->def->dialect != &onnx_dialect || !lower_is_elementwise(op) ||
        holds(c, op_result(op, 0)))
        return;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        bool is_inside = holds(c, op_operand(op, i));
        if (!is_inside && onnx_operand(op, i) && !lower_array(c->lw, op_operand(op, i))) return;
        inside += is_inside;
    }
    c->values[c->count++] = op_result(op, 0);
    c->joins |= inside > 1;
    c->has_function |= !is_of_integers(op);
}

/* The only value that others use; NULL: there are several. */
static const Value *only_exit(const Closure *c)
{
    const Value *exit = NULL;
    for (uint32_t i = 1; i < c->count; i++)
        FOR_EACH_USE(use, c->values[i]) {
            bool is_inside = use->owner->result_count > 0 && holds(c, op_result(use->owner, 0));
            if (is_inside || exit == c->values[i]) continue;
            if (exit) return NULL;
            exit = c->values[i];
        }
    return exit;
}

bool requant_joins_itself(OnnxLowering *lw, uint32_t index)
{
    const Value *base = op_operand(lw->node, index);
    Closure c = {.lw = lw, .values = {base}, .count = 1};
    const Fixed *x = lower_fixed(lw, index);
    if (value_has_one_use(base) || !x || x->epilogue) return false;
    for (uint32_t i = 0; i < c.count; i++)
        FOR_EACH_USE(use, c.values[i]) {
            if (c.count == MAX_VALUES) return false;
            add_node(&c, use->owner);
        }
    if (!c.joins || !c.has_function || !holds(&c, op_result(lw->node, 0))) return false;
    const Value *exit = only_exit(&c);
    return exit && quantizer_find(exit);
}
