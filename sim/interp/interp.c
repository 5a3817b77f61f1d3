/* The interpreter: turns functions into steps and runs them.
 *
 * Every value of a function has a slot. A value whose uses are all in its own block dies at the
 * last of them; other values live until they are written again or the function returns.
 * Tests: test/unit/sim/interp/interp_test.c, lit/tools/ming-run.mir */
#include <assert.h>
#include <stdlib.h>

#include "dialects/cf/cf.h"
#include "dialects/tosa/tosa.h"
#include "ir/asm/print/print.h"
#include "sim/interp/internal.h"
#include "sim/interp/interp.h"
#include "sim/vm/vm.h"

enum { MAX_CALL_DEPTH = 200 };

typedef struct BlockCode {
    const Block *block;
    uint32_t first_arg; /* slot */
    InterpStep *steps;
    size_t step_count;
} BlockCode;

struct FunctionCode {
    const Op *func;
    BlockCode *blocks;
    size_t block_count;
    PtrMap slots;  /* Value* -> slot + 1 */
    PtrMap starts; /* Block* -> BlockCode* */
    uint32_t slot_count;
};

bool interp_step_unsupported(const Op *op, const char *why)
{
    return op_error(op, "cannot be interpreted%s%s", why ? ": " : "", why ? why : "");
}

static void add_slot(FunctionCode *code, const Value *value)
{
    ptrmap_put(&code->slots, value, (void *)(uintptr_t)++code->slot_count);
}

static uint32_t slot_of(const FunctionCode *code, const Value *value)
{
    uintptr_t slot = (uintptr_t)ptrmap_get(&code->slots, value);
    assert(slot > 0);
    return (uint32_t)slot - 1;
}

static void number_values(FunctionCode *code, const Region *body)
{
    FOR_EACH_BLOCK(block, body) {
        for (uint32_t i = 0; i < block->arg_count; i++) add_slot(code, block->args[i]);
        FOR_EACH_OP(op, block) {
            for (uint32_t i = 0; i < op->result_count; i++) add_slot(code, op_result(op, i));
        }
    }
}

typedef VEC(const Value *) Values;

static void add_once(Values *values, const Value *value)
{
    for (size_t i = 0; i < values->len; i++)
        if (values->data[i] == value) return;
    *vec_push(values) = value;
}

typedef struct CaptureWalk {
    const FunctionCode *code;
    Values *captures;
} CaptureWalk;

/* Operands inside of a region that are values of the function. */
static bool add_captures(Op *inner, void *user)
{
    CaptureWalk *walk = user;
    for (uint32_t i = 0; i < inner->operand_count; i++)
        if (ptrmap_has(&walk->code->slots, op_operand(inner, i)))
            add_once(walk->captures, op_operand(inner, i));
    return true;
}

/* Operands, then captures. */
static void read_inputs(const FunctionCode *code, const Op *op, Values *out)
{
    Values captures = {0};
    CaptureWalk walk = {code, &captures};
    for (uint32_t r = 0; r < op->region_count; r++)
        FOR_EACH_BLOCK(block, op_region(op, r)) {
            FOR_EACH_OP(inner, block) op_walk(inner, add_captures, &walk);
        }
    for (uint32_t i = 0; i < op->operand_count; i++) *vec_push(out) = op_operand(op, i);
    for (size_t i = 0; i < captures.len; i++) *vec_push(out) = captures.data[i];
    vec_free(&captures);
}

static const Evaluator *evaluator_of(const OpDef *def)
{
    static const Evaluator *(*const tables[])(const OpDef *) = {
        interp_tosa_evaluator,  interp_scalar_evaluator, interp_tensor_evaluator,
        interp_slice_evaluator, interp_linalg_evaluator, interp_module_evaluator,
        interp_onnx_evaluator,  interp_dfg_evaluator,
    };
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        const Evaluator *evaluator = tables[i](def);
        if (evaluator) return evaluator;
    }
    return NULL;
}

static bool is_supported_terminator(const Op *op)
{
    return op_has_trait(op, TRAIT_RETURN_LIKE) || op->def->dialect == &cf_dialect;
}

/* Values of the type are arrays. */
static bool holds_type(const Type *type)
{
    ArrayKind kind;
    bool is_buffer = type_is_shaped(type) && !type_is_tensor(type);
    return type->kind == TYPE_NONE || (!is_buffer && array_kind_of(type_elem(type), &kind));
}

static bool check_types(const Op *op)
{
    const char *why =
        op->def && op->def->dialect == &tosa_dialect ? tosa_refuse_elements(op) : NULL;
    if (why) return op_error(op, "%s", why);
    for (uint32_t i = 0; i < op->result_count; i++)
        if (!holds_type(op_result(op, i)->type))
            return op_error(op, "cannot be interpreted: there are no values of type '%s'",
                            type_str(op->ctx, op_result(op, i)->type));
    return true;
}

static bool make_step(Interp *interp, const FunctionCode *code, const Op *op, InterpStep *step)
{
    Values inputs = {0};
    bool is_terminator = op->def && op_has_trait(op, TRAIT_TERMINATOR);
    step->op = op;
    step->evaluator = op->def && !is_terminator ? evaluator_of(op->def) : NULL;
    if (!op->def || (is_terminator ? !is_supported_terminator(op) : !step->evaluator))
        return interp_step_unsupported(op, NULL);
    if (!check_types(op)) return false;
    read_inputs(code, op, &inputs);
    step->input_count = (uint32_t)inputs.len;
    step->values = arena_copy(&interp->arena, inputs.data, inputs.len * sizeof *inputs.data);
    step->inputs = ARENA_ARRAY(&interp->arena, uint32_t, inputs.len);
    step->dies = ARENA_ARRAY(&interp->arena, bool, inputs.len);
    for (size_t i = 0; i < inputs.len; i++) step->inputs[i] = slot_of(code, inputs.data[i]);
    if (op->result_count > 0) step->first_result = slot_of(code, op_result(op, 0));
    vec_free(&inputs);
    return is_terminator || !step->evaluator->prepare || step->evaluator->prepare(interp, step);
}

/* All uses of the value, in whatever region, are in its own block's ops. */
static bool stays_in_block(const Value *value)
{
    const Block *home = value_block(value);
    FOR_EACH_USE(use, value) {
        const Op *op = use->owner;
        while (op && op->block != home) op = op_parent(op);
        if (!op) return false;
    }
    return true;
}

/* Walks the blocks backwards: the first use met of a value is its last. */
static void mark_deaths(Interp *interp, FunctionCode *code)
{
    bool *lives_on = ARENA_ARRAY(&interp->scratch, bool, code->slot_count);
    for (size_t i = 0; i < code->slots.len; i++)
        lives_on[i] = !stays_in_block(code->slots.entries[i].key);
    for (size_t b = 0; b < code->block_count; b++)
        for (size_t s = code->blocks[b].step_count; s-- > 0;) {
            InterpStep *step = &code->blocks[b].steps[s];
            for (uint32_t i = step->input_count; i-- > 0;) {
                step->dies[i] = !lives_on[step->inputs[i]];
                lives_on[step->inputs[i]] = true;
            }
        }
    arena_reset(&interp->scratch);
}

static bool make_block(Interp *interp, FunctionCode *code, const Block *block, BlockCode *out)
{
    size_t count = 0;
    FOR_EACH_OP(op, block) {
        count++;
    }
    out->block = block;
    out->first_arg = block->arg_count > 0 ? slot_of(code, block->args[0]) : 0;
    out->steps = ARENA_ARRAY(&interp->arena, InterpStep, count);
    FOR_EACH_OP(op, block) {
        if (!make_step(interp, code, op, &out->steps[out->step_count++])) return false;
    }
    return true;
}

static bool check_arguments(const Op *func)
{
    const Block *entry = region_entry(op_region(func, 0));
    for (uint32_t i = 0; entry && i < entry->arg_count; i++)
        if (!holds_type(entry->args[i]->type))
            return op_error(func, "cannot be interpreted: there are no values of type '%s'",
                            type_str(func->ctx, entry->args[i]->type));
    return entry != NULL || interp_step_unsupported(func, "it has no body");
}

FunctionCode *interp_function_code(Interp *interp, const Op *func)
{
    FunctionCode *code = ptrmap_get(&interp->functions, func);
    if (code) return code;
    if (!check_arguments(func)) return NULL;
    code = ARENA_NEW(&interp->arena, FunctionCode);
    code->func = func;
    ptrmap_put(&interp->functions, func, code);
    const Region *body = op_region(func, 0);
    number_values(code, body);
    FOR_EACH_BLOCK(block, body) {
        code->block_count++;
    }
    code->blocks = ARENA_ARRAY(&interp->arena, BlockCode, code->block_count);
    size_t at = 0;
    FOR_EACH_BLOCK(block, body) {
        ptrmap_put(&code->starts, block, &code->blocks[at]);
        if (!make_block(interp, code, block, &code->blocks[at++])) return NULL;
    }
    mark_deaths(interp, code);
    return code;
}

/* Values of one activation of a function. */
typedef struct InterpFrame {
    Interp *interp;
    const FunctionCode *code;
    Array **slots;
} InterpFrame;

static void set_slot(InterpFrame *frame, uint32_t slot, Array *array)
{
    array_unref(frame->slots[slot]);
    frame->slots[slot] = array;
}

/* In a graph region an op may come before the ops that define its operands. An absent operand has a
 * value without an array. */
static bool has_inputs(const InterpFrame *frame, const InterpStep *step)
{
    for (uint32_t i = 0; i < step->input_count; i++)
        if (!frame->slots[step->inputs[i]] && step->values[i]->type->kind != TYPE_NONE)
            return op_error(step->op, "uses a value that is not computed before it");
    return true;
}

/* Operands decide the shape of some results; these must still have the type that the text gives. */
static bool has_result_types(const InterpStep *step, Array *const *results)
{
    for (uint32_t i = 0; i < step->op->result_count; i++) {
        const Type *want = op_result(step->op, i)->type;
        const Type *have = results[i] ? results[i]->type : want;
        bool is_ranked = want->kind == TYPE_RANKED_TENSOR && have->kind == TYPE_RANKED_TENSOR;
        bool agrees = !is_ranked || want->u.shaped.rank == have->u.shaped.rank;
        for (uint32_t d = 0; agrees && is_ranked && d < want->u.shaped.rank; d++)
            agrees = want->u.shaped.dims[d] == DIM_DYNAMIC ||
                     want->u.shaped.dims[d] == have->u.shaped.dims[d];
        if (!agrees)
            return op_error(step->op, "gives a value of type '%s' as result #%u, not '%s'",
                            type_str(step->op->ctx, have), i, type_str(step->op->ctx, want));
    }
    return true;
}

/* The inputs of a step, each with a reference: the slot's own where the value dies. */
static void take_inputs(InterpFrame *frame, const InterpStep *step, Array **out)
{
    for (uint32_t i = 0; i < step->input_count; i++) {
        Array **slot = &frame->slots[step->inputs[i]];
        out[i] = *slot && !step->dies[i] ? array_ref(*slot) : *slot;
        if (step->dies[i]) *slot = NULL;
    }
}

static void drop(Array **arrays, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) array_unref(arrays[i]);
}

Array *interp_new_array(const Interp *interp, const Op *op, const Type *type)
{
    bool is_stated = false; /* by the type of a result */
    for (uint32_t i = 0; i < op->result_count; i++)
        is_stated = is_stated || op_result(op, i)->type == type;
    Array *array = array_try_new(type, is_stated ? INT64_MAX : interp->max_elements);
    if (!array) op_error(op, "makes a tensor that is too large: '%s'", type_str(op->ctx, type));
    return array;
}

static bool run_step(InterpFrame *frame, const InterpStep *step)
{
    uint32_t result_count = step->op->result_count;
    if (!has_inputs(frame, step)) return false;
    Array **inputs = xcalloc(step->input_count + result_count, sizeof *inputs);
    Array **results = inputs + step->input_count;
    take_inputs(frame, step, inputs);
    const InterpWatch *watch = &frame->interp->watch;
    bool ok = step->evaluator->eval(frame->interp, step, inputs, results) &&
              has_result_types(step, results) &&
              (!watch->seen || watch->seen(watch->user, step->op, results));
    for (uint32_t i = 0; ok && i < result_count; i++) {
        bool is_used = value_has_uses(op_result(step->op, i));
        set_slot(frame, step->first_result + i, is_used ? results[i] : NULL);
        if (!is_used) array_unref(results[i]);
    }
    if (!ok) drop(results, result_count);
    drop(inputs, step->input_count);
    free(inputs);
    return ok;
}

/* The successor that a terminator of cf takes. */
static uint32_t chosen_successor(const Op *op, Array *const *inputs)
{
    if (op->def == CF(BR)) return 0;
    int64_t flag = array_get_i64(inputs[0], 0);
    if (op->def == CF(COND_BR)) return flag ? 0 : 1;
    const Attr *cases = op_attr(op, "case_values");
    for (int64_t i = 0; cases && i < dense_count(cases); i++)
        if (array_wrap(type_elem(cases->type), dense_i64(cases, i)) == flag) return (uint32_t)i + 1;
    return 0;
}

/* Passes a branch's operands on; the block that follows. */
static const BlockCode *take_branch(InterpFrame *frame, const InterpStep *step, Array **inputs)
{
    uint32_t begin, count, successor = chosen_successor(step->op, inputs);
    const BlockCode *next = ptrmap_get(&frame->code->starts, step->op->successors[successor].block);
    step->op->def->successor_operands(step->op, successor, &begin, &count);
    for (uint32_t i = 0; i < count; i++) {
        set_slot(frame, next->first_arg + i, inputs[begin + i]);
        inputs[begin + i] = NULL;
    }
    return next;
}

/* The block to go on with; NULL after a return, which fills results. */
static const BlockCode *run_terminator(InterpFrame *frame, const InterpStep *step, Array **results)
{
    const BlockCode *next = NULL;
    Array **inputs = xcalloc(step->input_count, sizeof *inputs);
    take_inputs(frame, step, inputs);
    if (op_has_trait(step->op, TRAIT_RETURN_LIKE)) {
        for (uint32_t i = 0; i < step->input_count; i++) {
            results[i] = inputs[i];
            inputs[i] = NULL;
        }
    } else {
        next = take_branch(frame, step, inputs);
    }
    drop(inputs, step->input_count);
    free(inputs);
    return next;
}

/* Whether another block may be run. */
static bool count_steps(const InterpFrame *frame, size_t count)
{
    Interp *interp = frame->interp;
    interp->steps += (int64_t)count;
    return interp->max_steps == 0 || interp->steps <= interp->max_steps ||
           op_error(frame->code->func, "runs more than %lld ops", (long long)interp->max_steps);
}

static bool run_blocks(InterpFrame *frame, Array **results)
{
    const BlockCode *block = &frame->code->blocks[0];
    while (block) {
        if (!count_steps(frame, block->step_count)) return false;
        size_t last = block->step_count - 1;
        for (size_t i = 0; i < last; i++) {
            bool ok = run_step(frame, &block->steps[i]);
            arena_reset(&frame->interp->scratch);
            if (!ok) return false;
        }
        block = run_terminator(frame, &block->steps[last], results);
    }
    return true;
}

bool interp_function_run(Interp *interp, const FunctionCode *code, Array *const *inputs,
                         Array **results)
{
    if (interp->depth >= MAX_CALL_DEPTH)
        return op_error(code->func, "is called more than %d deep", MAX_CALL_DEPTH);
    InterpFrame frame = {.interp = interp, .code = code};
    frame.slots = xcalloc(code->slot_count, sizeof *frame.slots);
    const Block *entry = code->blocks[0].block;
    for (uint32_t i = 0; i < entry->arg_count; i++)
        if (value_has_uses(entry->args[i]))
            frame.slots[code->blocks[0].first_arg + i] = array_ref(inputs[i]);
    interp->depth++;
    bool ok = run_blocks(&frame, results);
    interp->depth--;
    drop(frame.slots, code->slot_count);
    free(frame.slots);
    return ok;
}

Array **interp_step_captures(Interp *interp, const InterpStep *step, const VmPayload *payload,
                             Array *const *inputs)
{
    Array **out = ARENA_ARRAY(&interp->scratch, Array *, payload->captures.len);
    for (size_t i = 0; i < payload->captures.len; i++) {
        for (uint32_t k = step->op->operand_count; k < step->input_count; k++)
            if (step->values[k] == payload->captures.data[i].value) out[i] = inputs[k];
        assert(out[i]);
    }
    return out;
}

Interp *interp_create(const Op *func)
{
    Interp *interp = xcalloc(1, sizeof *interp);
    arena_init(&interp->arena);
    arena_init(&interp->scratch);
    interp->tables = symtabs_create();
    interp->main = func;
    interp->max_steps = INTERP_MAX_STEPS;
    interp->max_elements = INT64_MAX;
    if (interp_function_code(interp, func)) return interp;
    interp_free(interp);
    return NULL;
}

static void free_code(FunctionCode *code)
{
    for (size_t b = 0; b < code->block_count; b++)
        for (size_t s = 0; s < code->blocks[b].step_count; s++) {
            const InterpStep *step = &code->blocks[b].steps[s];
            if (step->evaluator && step->evaluator->release && step->state)
                step->evaluator->release(step->state);
        }
    ptrmap_free(&code->slots);
    ptrmap_free(&code->starts);
}

void interp_free(Interp *interp)
{
    if (!interp) return;
    for (size_t i = 0; i < interp->functions.len; i++)
        free_code(interp->functions.entries[i].value);
    ptrmap_free(&interp->functions);
    symtabs_free(interp->tables);
    arena_free(&interp->arena);
    arena_free(&interp->scratch);
    free(interp);
}

void interp_watch(Interp *interp, InterpWatch watch)
{
    interp->watch = watch;
}

void interp_limit_steps(Interp *interp, int64_t steps)
{
    interp->max_steps = steps;
}

void interp_limit_arrays(Interp *interp, int64_t elements)
{
    interp->max_elements = elements;
}

bool interp_run(Interp *interp, Array *const *inputs, Array **results)
{
    interp->steps = 0;
    return interp_function_run(interp, ptrmap_get(&interp->functions, interp->main), inputs,
                               results);
}
