/* Evaluators of linalg: structured ops run as loop nests around their bodies, integer sums of
 * products by the faster multiply-accumulate kernels (sim/vm/vm.h); softmax has its own code.
 * Tests: test/unit/sim/interp/interp_test.c, test/e2e/run_check.py */
#include <math.h>
#include <stdlib.h>

#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"
#include "sim/interp/internal.h"
#include "sim/vm/vm.h"

typedef struct Structured {
    VmPayload *payload;
    Mac *mac; /* or NULL */
    const Attr *maps;
} Structured;

static void release_structured(void *state)
{
    Structured *s = state;
    vm_payload_free(s->payload);
    vm_mac_free(s->mac);
    free(s);
}

static bool prepare_structured(Interp *interp, InterpStep *step)
{
    const Op *op = step->op;
    const Block *body = linalg_body(op);
    const Op *yield = block_terminator(body);
    Value **wanted = ARENA_ARRAY(&interp->scratch, Value *, yield->operand_count);
    for (uint32_t i = 0; i < yield->operand_count; i++) wanted[i] = op_operand(yield, i);
    Structured *s = step->state = xcalloc(1, sizeof *s);
    s->maps = linalg_indexing_maps(op);
    s->payload = vm_payload_compile(body, ARGS_ARE_ELEMENTS, linalg_loop_count(op), wanted,
                                    yield->operand_count);
    if (s->payload) s->mac = vm_mac_recognize(op);
    return s->payload != NULL;
}

/* Trip counts from the arrays: each loop is a whole dimension of some operand. */
static bool find_extents(VmNest *nest)
{
    bool *known = xcalloc(nest->loop_count + 1, sizeof *known);
    uint32_t count = 0;
    for (uint32_t o = 0; o < nest->operand_count; o++) {
        const AffineMap *map = nest->operands[o].map;
        for (uint32_t r = 0; r < map->result_count; r++) {
            const AffineExpr *expr = map->results[r];
            if (expr->kind != AFFINE_DIM || known[expr->value]) continue;
            nest->extents[expr->value] = nest->operands[o].array->type->u.shaped.dims[r];
            known[expr->value] = true;
            count++;
        }
    }
    free(known);
    return count == nest->loop_count ||
           op_error(nest->op, "has a loop whose trip count no operand tells");
}

static bool eval_structured(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Op *op = step->op;
    Structured *s = step->state;
    uint32_t input_count = linalg_input_count(op);
    VmNest *nest = vm_nest_new(&interp->scratch, op, linalg_loop_count(op), op->operand_count);
    nest->input_count = input_count;
    for (uint32_t i = input_count; i < op->operand_count; i++) {
        results[i - input_count] = array_own(inputs[i]);
        inputs[i] = NULL;
    }
    for (uint32_t i = 0; i < op->operand_count; i++) {
        nest->operands[i].map = s->maps->u.array.items[i]->u.map;
        nest->operands[i].array = i < input_count ? inputs[i] : results[i - input_count];
    }
    if (!find_extents(nest) || !vm_nest_init(nest, &interp->scratch)) return false;
    if (vm_nest_count(nest) == 0) return true;
    Array **captures = interp_step_captures(interp, step, s->payload, inputs);
    if (!vm_payload_start(s->payload, captures)) return false;
    if (s->mac && vm_mac_can_run(s->mac, nest)) return vm_mac_run(s->mac, nest, &interp->scratch);
    return vm_nest_run(nest, s->payload, &interp->scratch);
}

/* exp(x - largest) / sum along one line, each step rounded to the element type. */
static void softmax_line(const Array *in, Array *out, int64_t at, int64_t step, int64_t count)
{
    double largest = -HUGE_VAL, sum = 0;
    for (int64_t i = 0; i < count; i++) {
        double x = array_get_f64(in, at + i * step);
        largest = isnan(x) || x > largest ? x : largest;
    }
    for (int64_t i = 0; i < count; i++) {
        double shifted = array_round(in->elem, array_get_f64(in, at + i * step) - largest);
        array_set_f64(out, at + i * step, exp(shifted));
        sum = array_round(in->elem, sum + array_get_f64(out, at + i * step));
    }
    for (int64_t i = 0; i < count; i++)
        array_set_f64(out, at + i * step, array_get_f64(out, at + i * step) / sum);
}

static bool eval_softmax(Interp *interp, const InterpStep *step, Array **inputs, Array **results)
{
    const Array *in = inputs[0];
    const Type *shape = in->type;
    uint32_t dim = (uint32_t)attr_int_value(op_attr(step->op, "dimension"));
    int64_t inner = 1, count = shape->u.shaped.dims[dim];
    (void)interp;
    if (!type_is_float(in->elem))
        return interp_step_unsupported(step->op, "its elements are not floats");
    for (uint32_t i = dim + 1; i < shape->u.shaped.rank; i++) inner *= shape->u.shaped.dims[i];
    results[0] = array_new(shape);
    for (int64_t at = 0; at < in->count; at += inner * count)
        for (int64_t i = 0; i < inner; i++) softmax_line(in, results[0], at + i, inner, count);
    return true;
}

static bool is_structured(const OpDef *def)
{
    return def->data || def == LINALG(GENERIC) || def == LINALG(MAP) || def == LINALG(REDUCE) ||
           def == LINALG(TRANSPOSE) || def == LINALG(BROADCAST);
}

const Evaluator *interp_linalg_evaluator(const OpDef *def)
{
    static const Evaluator structured = {eval_structured, prepare_structured, release_structured};
    static const Evaluator softmax = {eval_softmax, NULL, NULL};
    if (def->dialect != &linalg_dialect) return NULL;
    if (is_structured(def)) return &structured;
    return def == LINALG(SOFTMAX) ? &softmax : NULL;
}
