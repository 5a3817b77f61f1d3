/* Thresholds of a requantizer, found by bisection with the interpreter's virtual machine. That
 * the function is monotone, and of which numbers, the lowering that made the kernel has noted on it.
 * Tests: lit/target/dse/forms.mir, test/e2e/forms_check.py */
#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"
#include "sim/vm/vm.h"
#include "target/forms/forms.h"

enum { MAX_STEPS = 1 << 18 }; /* (channel, level) pairs */

/* A payload that runs, with the constants that it reads. */
typedef struct Runner {
    FormSteps *steps;
    VmPayload *payload;
    Array **inputs; /* per operand of the kernel; NULL: it is no constant */
    VEC(Array *) captured;
    const Type *result;
    bool failed;
} Runner;

static bool is_text(const Attr *attr)
{
    return attr && attr->kind == ATTR_STRING;
}

bool forms_is_requantizer(const Op *op)
{
    static const char *const bounds[] = {DFG_REQUANT_LOW, DFG_REQUANT_HIGH, DFG_REQUANT_LEAST,
                                         DFG_REQUANT_MOST};
    const int64_t limit = INT64_C(1) << 61;
    const Attr *about = op->def == LINALG(GENERIC) ? op_attr(op, DFG_ATTR_REQUANTIZER) : NULL;
    for (size_t i = 0; i < COUNT_OF(bounds); i++) {
        int64_t bound = attr_dict_int(about, bounds[i], limit);
        if (bound <= -limit || bound >= limit) return false;
    }
    return is_text(attr_dict_get_c(about, DFG_REQUANT_FORM)) &&
           is_text(attr_dict_get_c(about, DFG_REQUANT_LAYER));
}

/* A position of the operands along the channels. */
static int64_t place_in(const Op *kernel, uint32_t operand, int64_t channel)
{
    const AffineMap *map = linalg_operand_map(kernel, operand);
    const Type *type = op_operand(kernel, operand)->type;
    int64_t place = 0;
    for (uint32_t r = 0; r < map->result_count; r++) {
        const AffineExpr *e = map->results[r];
        place = place * type->u.shaped.dims[r] + (e->kind == AFFINE_DIM ? channel : e->value);
    }
    return place;
}

static bool join_loop(FormSteps *steps, int loop)
{
    if (steps->loop < 0) steps->loop = loop;
    return steps->loop == loop;
}

typedef struct LoopSearch {
    FormSteps *steps;
    bool fits;
} LoopSearch;

static bool see_index(Op *op, void *user)
{
    LoopSearch *search = user;
    if (op->def == LINALG(INDEX))
        search->fits &= join_loop(search->steps, (int)attr_int_value(op_attr(op, "dim")));
    return true;
}

/* The loop that constants and indices are along. False: there are several. */
static bool find_loop(FormSteps *steps)
{
    LoopSearch search = {steps, true};
    steps->loop = -1;
    for (uint32_t i = 0; i < linalg_input_count(steps->kernel); i++) {
        const AffineMap *map = linalg_operand_map(steps->kernel, i);
        if (i == steps->operand) continue;
        for (uint32_t r = 0; r < map->result_count; r++) {
            const AffineExpr *e = map->results[r];
            if (e->kind == AFFINE_DIM ? !join_loop(steps, (int)e->value) : e->kind != AFFINE_CONST)
                return false;
        }
    }
    op_walk(steps->kernel, see_index, &search);
    return search.fits;
}

/* The only input that is no constant. */
static bool find_operand(FormSteps *steps)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < linalg_input_count(steps->kernel); i++) {
        if (fold_constant_of(op_operand(steps->kernel, i))) continue;
        steps->operand = i;
        found++;
    }
    return found == 1;
}

static bool reads_result(const Op *kernel)
{
    return value_has_uses(linalg_body(kernel)->args[linalg_input_count(kernel)]);
}

/* Whether an operand's type has room for numbers from low to high. */
static bool holds(const Type *elem, int64_t low, int64_t high)
{
    if (!type_is_integer(elem) || type_width(elem) == 0 || type_width(elem) > 62) return false;
    const int64_t half = INT64_C(1) << (type_width(elem) - 1);
    return (low >= -half && high < half) || (low >= 0 && high < 2 * half);
}

/* What the kernel says of itself, and whether it has the shape of a requantizer. */
static bool read_kernel(Op *kernel, FormSteps *out)
{
    int64_t extents[KERNEL_MAX_LOOPS];
    const Attr *about = op_attr(kernel, DFG_ATTR_REQUANTIZER);
    *out = (FormSteps){.kernel = kernel};
    if (!forms_is_requantizer(kernel) || kernel->result_count != 1 || reads_result(kernel) ||
        !find_operand(out) || !find_loop(out) || !linalg_loop_extents(kernel, extents))
        return false;
    out->low = attr_dict_int(about, DFG_REQUANT_LOW, 0);
    out->high = attr_dict_int(about, DFG_REQUANT_HIGH, -1);
    out->least = attr_dict_int(about, DFG_REQUANT_LEAST, 0);
    out->most = attr_dict_int(about, DFG_REQUANT_MOST, -1);
    out->channels = out->loop < 0 ? 1 : extents[out->loop];
    const Type *from = type_elem(op_operand(kernel, out->operand)->type);
    const Type *to = type_elem(op_result(kernel, 0)->type);
    return out->low < out->high && out->least < out->most && holds(from, out->low, out->high) &&
           holds(to, out->least, out->most) && out->most - out->least < FORMS_MOST_LEVELS &&
           out->channels <= MAX_STEPS / (out->most - out->least);
}

static bool start(Runner *r, Arena *arena)
{
    const Op *kernel = r->steps->kernel;
    uint32_t inputs = linalg_input_count(kernel);
    Value *yielded = op_operand(linalg_body(kernel)->last, 0);
    r->inputs = ARENA_ARRAY(arena, Array *, inputs);
    r->result = yielded->type;
    int64_t extents[KERNEL_MAX_LOOPS];
    const Attr *kinds = op_attr(kernel, "iterator_types");
    if (!linalg_loop_extents(kernel, extents)) return false;
    r->payload = vm_payload_compile(linalg_body(kernel), ARGS_ARE_ELEMENTS,
                                    (uint32_t)kinds->u.array.count, &yielded, 1);
    if (!r->payload) return false;
    for (uint32_t i = 0; i < inputs; i++) {
        const Attr *constant = fold_constant_of(op_operand(kernel, i));
        if (constant && !(r->inputs[i] = array_from_attr(constant))) return false;
    }
    for (size_t i = 0; i < r->payload->captures.len; i++) {
        const Attr *constant = fold_constant_of(r->payload->captures.data[i].value);
        Array *array = constant ? array_from_attr(constant) : NULL;
        if (!array) return false;
        *vec_push(&r->captured) = array;
    }
    return vm_payload_start(r->payload, r->captured.data);
}

static void finish(Runner *r)
{
    for (uint32_t i = 0; r->inputs && i < linalg_input_count(r->steps->kernel); i++)
        array_unref(r->inputs[i]);
    for (size_t i = 0; i < r->captured.len; i++) array_unref(r->captured.data[i]);
    vec_free(&r->captured);
    if (r->payload) vm_payload_free(r->payload);
}

/* Fills register number i with an element of the kernel's operands, as a payload keeps it. */
static void load(const Runner *r, size_t i, int64_t channel, int64_t number)
{
    const Op *kernel = r->steps->kernel;
    for (uint32_t k = 0; k < linalg_input_count(kernel); k++) {
        Cell *cells = r->payload->args[k];
        if (!cells) continue;
        const Type *elem = type_elem(op_operand(kernel, k)->type);
        if (k == r->steps->operand)
            cells[i].i = array_wrap(elem, number);
        else
            cells[i] = vm_cell_from_array(r->inputs[k], place_in(kernel, k, channel));
    }
    if (r->steps->loop >= 0 && r->payload->loops[r->steps->loop])
        r->payload->loops[r->steps->loop][i].i = channel;
}

/* Levels of pairs of a channel and a number. A level is kept modulo the width of the result. */
static void run(Runner *r, const int64_t *channels, const int64_t *numbers, int64_t *levels,
                int64_t count)
{
    const FormSteps *s = r->steps;
    const uint64_t mask = (UINT64_C(1) << type_width(r->result)) - 1;
    for (int64_t begin = 0; begin < count && !r->failed; begin += STRIP) {
        size_t n = (size_t)i64_min(count - begin, STRIP);
        for (size_t i = 0; i < n; i++)
            load(r, i, channels[begin + (int64_t)i], numbers[begin + (int64_t)i]);
        r->failed = !vm_payload_run(r->payload, n);
        for (size_t i = 0; i < n && !r->failed; i++) {
            uint64_t above = ((uint64_t)r->payload->yields[0][i].i - (uint64_t)s->least) & mask;
            levels[begin + (int64_t)i] = s->least + (int64_t)above;
            r->failed = above > (uint64_t)(s->most - s->least);
        }
    }
}

/* Which channels fall, by the ends of the range. */
static bool *find_falls(Runner *r, Arena *arena)
{
    int64_t count = r->steps->channels;
    int64_t *channels = ARENA_ARRAY(arena, int64_t, 2 * count);
    int64_t *numbers = ARENA_ARRAY(arena, int64_t, 2 * count);
    int64_t *levels = ARENA_ARRAY(arena, int64_t, 2 * count);
    bool *falls = ARENA_ARRAY(arena, bool, count);
    for (int64_t i = 0; i < 2 * count; i++) {
        channels[i] = i / 2;
        numbers[i] = i % 2 ? r->steps->high : r->steps->low;
    }
    run(r, channels, numbers, levels, 2 * count);
    for (int64_t c = 0; c < count; c++) falls[c] = levels[2 * c] > levels[2 * c + 1];
    return falls;
}

/* Bisection for all thresholds at once: a number below a threshold does not pass it, and `at` does
 * or is beyond the range. */
static int64_t *find_thresholds(Runner *r, const bool *falls, Arena *arena)
{
    const FormSteps *s = r->steps;
    int64_t width = s->most - s->least, count = s->channels * width;
    int64_t *below = ARENA_ARRAY(arena, int64_t, count), *at = ARENA_ARRAY(arena, int64_t, count);
    int64_t *channels = ARENA_ARRAY(arena, int64_t, count);
    int64_t *numbers = ARENA_ARRAY(arena, int64_t, count);
    int64_t *levels = ARENA_ARRAY(arena, int64_t, count);
    for (int64_t i = 0; i < count; i++) {
        channels[i] = i / width;
        below[i] = s->low - 1;
        at[i] = s->high + 1;
    }
    for (bool moved = true; moved && !r->failed;) {
        moved = false;
        for (int64_t i = 0; i < count; i++)
            numbers[i] = i64_min(i64_max(below[i] + (at[i] - below[i]) / 2, s->low), s->high);
        run(r, channels, numbers, levels, count);
        for (int64_t i = 0; i < count && !r->failed; i++) {
            if (at[i] - below[i] <= 1) continue;
            bool reaches = levels[i] > s->least + i % width;
            *(reaches != falls[channels[i]] ? &at[i] : &below[i]) = numbers[i];
            moved = true;
        }
    }
    return at;
}

bool forms_steps(Op *kernel, Arena *arena, FormSteps *out)
{
    if (!read_kernel(kernel, out)) return false;
    Runner r = {.steps = out};
    r.failed = !start(&r, arena);
    if (!r.failed) out->falls = find_falls(&r, arena);
    if (!r.failed) out->at = find_thresholds(&r, out->falls, arena);
    bool ok = !r.failed;
    finish(&r);
    return ok;
}
