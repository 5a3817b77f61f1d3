/* Fuzz target for the interpreter: every function of a module that verifies gives results of its
 * types, the same in two runs, or ends in one diagnostic, on arguments that are drawn at random. */
#include <stdlib.h>
#include <string.h>

#include "dialects/func/func.h"
#include "fuzz/fuzz_support.h"
#include "ir/asm/parse/parse.h"
#include "sim/interp/interp.h"

enum { MOST_ELEMENTS = 1 << 12, MOST_MADE = 1 << 22 };

/* An argument of small numbers; NULL: the type has no array. */
static Array *random_array(const Type *type, uint64_t *state)
{
    int64_t count = 1;
    bool is_tensor = type->kind == TYPE_RANKED_TENSOR;
    if (is_tensor &&
        (!type_is_static(type) || !type_element_count(type, &count) || count > MOST_ELEMENTS))
        return NULL;
    ArrayKind kind;
    if (!array_kind_of(is_tensor ? type->u.shaped.elem : type, &kind)) return NULL;
    Array *array = array_new(type);
    for (int64_t i = 0; array && i < array->count; i++) {
        int64_t number = (int64_t)(fuzz_random(state) % 33) - 8;
        if (array_is_float(array))
            array_set_f64(array, i, (double)number / 4);
        else
            array_set_i64(array, i, number);
    }
    return array;
}

static void drop(Array **arrays, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) array_unref(arrays[i]);
}

static bool same_arrays(const Array *a, const Array *b)
{
    return a->type == b->type && a->count == b->count &&
           (a->count == 0 ||
            memcmp(a->data, b->data, (size_t)a->count * array_kind_bytes(a->kind)) == 0);
}

static void run_twice(Interp *interp, const Op *func, Array *const *inputs)
{
    const Type *type = op_attr(func, "function_type")->u.type_value;
    uint32_t count = type->u.function.result_count;
    Array **first = xcalloc(2 * (size_t)count + 1, sizeof *first), **second = first + count;
    size_t errors = diag_error_count(func->ctx);
    bool ok = interp_run(interp, inputs, first);
    errors = diag_error_count(func->ctx) - errors;
    fuzz_check(errors == (ok ? 0 : 1), "not one diagnostic for a run that fails", STR(""));
    if (ok) {
        fuzz_check(interp_run(interp, inputs, second), "the second run fails", STR(""));
        for (uint32_t i = 0; i < count; i++)
            fuzz_check(same_arrays(first[i], second[i]), "two runs differ", STR(""));
        drop(first, 2 * count);
    }
    free(first);
}

static void run_function(const Op *func, uint64_t *state)
{
    const Type *type = op_attr(func, "function_type")->u.type_value;
    uint32_t count = type->u.function.input_count;
    Array **inputs = xcalloc(count + 1, sizeof *inputs);
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++)
        ok = (inputs[i] = random_array(type->u.function.types[i], state)) != NULL;
    size_t errors = diag_error_count(func->ctx);
    Interp *interp = ok ? interp_create(func) : NULL;
    errors = diag_error_count(func->ctx) - errors;
    fuzz_check(!ok || errors == (interp ? 0 : 1), "not one diagnostic for what cannot be run",
               STR(""));
    if (interp) {
        interp_limit_arrays(interp, MOST_MADE);
        run_twice(interp, func, inputs);
    }
    interp_free(interp);
    drop(inputs, count);
    free(inputs);
}

static bool visit(Op *op, void *state)
{
    if (op->def == FUNC(FUNC) && !region_is_empty(op_region(op, 0))) run_function(op, state);
    return true;
}

void fuzz_interp(const uint8_t *data, size_t size)
{
    static FuzzContext reused;
    uint64_t state = size;
    Context *ctx = fuzz_context_take(&reused);
    Op *module = parse_module(ctx, (Str){(const char *)data, size}, FUZZ_SOURCE, NULL);
    if (module && fuzz_is_small(module, MOST_ELEMENTS)) op_walk(module, visit, &state);
    if (module) op_erase(module);
    fuzz_context_give_back(&reused);
}
