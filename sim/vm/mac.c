/* Recognizes and runs sums of products of integers. Factors that fit 16 bits are added up in 32
 * bits where no sum can leave them, all others modulo 2^64.
 * Tests: test/unit/sim/interp/interp_test.c, test/e2e/run_check.py */
#include <stdlib.h>

#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "sim/vm/vm.h"

typedef struct Factor {
    VmPayload *payload; /* of f or g */
    uint32_t operand;   /* whose elements it takes */
} Factor;

struct Mac {
    Factor factors[2];
};

static const Op *def_in(const Block *body, Value *value, const OpDef *def)
{
    const Op *op = value_def(value);
    return op && op->block == body && op->def == def ? op : NULL;
}

/* The product that is added to the last argument, or NULL. */
static const Op *find_product(const Op *op)
{
    const Block *body = linalg_body(op);
    const Op *yield = block_terminator(body);
    const Value *out = body->args[body->arg_count - 1];
    const Op *sum = def_in(body, op_operand(yield, 0), ARITH(ADDI));
    if (!sum || !value_has_one_use(out)) return NULL;
    for (uint32_t i = 0; i < 2; i++)
        if (op_operand(sum, i) == out) return def_in(body, op_operand(sum, 1 - i), ARITH(MULI));
    return NULL;
}

/* f may read one operand of the loops' elements and any scalars. */
static bool find_operand(const Op *op, Factor *factor)
{
    const VmPayload *payload = factor->payload;
    uint32_t found = 0;
    for (uint32_t i = 0; i < payload->arg_count; i++) {
        if (!payload->args[i] || linalg_operand_map(op, i)->result_count == 0) continue;
        factor->operand = i;
        found++;
    }
    return found == 1 && factor->operand < linalg_input_count(op);
}

/* Every op has a value for all inputs: elements that no iteration reads do no harm. */
static bool is_total(const VmPayload *payload)
{
    static const uint32_t ids[] = {ARITH_ADDI,  ARITH_SUBI,  ARITH_MULI,  ARITH_ANDI,
                                   ARITH_EXTSI, ARITH_EXTUI, ARITH_TRUNCI};
    for (size_t i = 0; i < payload->each.len; i++) {
        bool found = false;
        for (size_t k = 0; k < COUNT_OF(ids); k++)
            found = found || payload->each.data[i].op->def == &arith_ops[ids[k]];
        if (!found) return false;
    }
    return true;
}

static bool recognize_factor(const Op *op, Value *value, Factor *factor)
{
    uint32_t loops = linalg_loop_count(op);
    const Op *def = value_def(value);
    bool is_inside = def ? def->block == linalg_body(op) : true;
    if (!is_inside) return false;
    factor->payload = vm_payload_compile(linalg_body(op), ARGS_ARE_ELEMENTS, loops, &value, 1);
    if (!factor->payload || factor->payload->captures.len > 0 || !is_total(factor->payload))
        return false;
    for (uint32_t i = 0; i < loops; i++)
        if (factor->payload->loops[i]) return false;
    return find_operand(op, factor);
}

Mac *vm_mac_recognize(const Op *op)
{
    const Op *product = linalg_init_count(op) == 1 ? find_product(op) : NULL;
    if (!product ||
        !map_is_projected_permutation(linalg_operand_map(op, op->operand_count - 1), false))
        return NULL;
    Mac *mac = xcalloc(1, sizeof *mac);
    if (recognize_factor(op, op_operand(product, 0), &mac->factors[0]) &&
        recognize_factor(op, op_operand(product, 1), &mac->factors[1]))
        return mac;
    vm_mac_free(mac);
    return NULL;
}

void vm_mac_free(Mac *mac)
{
    if (!mac) return;
    vm_payload_free(mac->factors[0].payload);
    vm_payload_free(mac->factors[1].payload);
    free(mac);
}

bool vm_mac_can_run(const Mac *mac, const VmNest *nest)
{
    return nest->operands[mac->factors[0].operand].strides &&
           nest->operands[mac->factors[1].operand].strides;
}

/* One loop, with its step in the factors and the output. */
typedef struct MacLoop {
    int64_t extent;
    int64_t steps[3];
} MacLoop;

typedef struct Loops {
    MacLoop *loops; /* the last is innermost */
    uint32_t count;
    int64_t base[3];
    int64_t terms; /* products per output element */
} Loops;

static bool merges(const MacLoop *outer, const MacLoop *inner)
{
    for (int i = 0; i < 3; i++)
        if (outer->steps[i] != inner->steps[i] * inner->extent) return false;
    return true;
}

static void add_loop(Loops *all, MacLoop loop)
{
    if (loop.extent == 1) return;
    if (all->count > 0 && merges(&all->loops[all->count - 1], &loop)) {
        loop.extent *= all->loops[--all->count].extent;
        add_loop(all, loop);
        return;
    }
    all->loops[all->count++] = loop;
}

/* The worth of a loop as the innermost one: long loops with unit steps are best. */
static int64_t worth(const MacLoop *loop)
{
    int64_t extent = loop->extent < 64 ? loop->extent : 64, score = extent;
    for (int i = 0; i < 3; i++)
        if (loop->steps[i] == 0 || loop->steps[i] == 1) score += extent;
    return score;
}

static void choose_inner(Loops *all)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < all->count; i++)
        if (worth(&all->loops[i]) >= worth(&all->loops[best])) best = i;
    if (all->count == 0) return;
    MacLoop inner = all->loops[best];
    for (uint32_t i = best; i + 1 < all->count; i++) all->loops[i] = all->loops[i + 1];
    all->loops[all->count - 1] = inner;
}

static Loops make_loops(const Mac *mac, const VmNest *nest, Arena *arena)
{
    const NestOperand *operands[] = {&nest->operands[mac->factors[0].operand],
                                     &nest->operands[mac->factors[1].operand],
                                     &nest->operands[nest->operand_count - 1]};
    Loops all = {.loops = ARENA_ARRAY(arena, MacLoop, nest->loop_count), .terms = 1};
    for (int i = 0; i < 3; i++) all.base[i] = operands[i]->base;
    for (uint32_t d = 0; d < nest->loop_count; d++) {
        MacLoop loop = {.extent = nest->extents[d]};
        for (int i = 0; i < 3; i++) loop.steps[i] = operands[i]->strides[d];
        if (map_result_of_dim(operands[2]->map, d) < 0) all.terms *= loop.extent;
        add_loop(&all, loop);
    }
    choose_inner(&all);
    return all;
}

/* Fixed trip counts, so that compilers use vectors. */
enum { CHUNK = 16 };

/* For elements T and sums S: the innermost loop, and the loops around it. */
#define DEFINE_SUMS(T, S)                                                                          \
    static S dot_##T(const T *a, const T *b, int64_t n)                                            \
    {                                                                                              \
        S parts[CHUNK] = {0}, sum = 0;                                                             \
        int64_t k = 0;                                                                             \
        for (; k + CHUNK <= n; k += CHUNK)                                                         \
            for (int j = 0; j < CHUNK; j++) parts[j] += (S)a[k + j] * (S)b[k + j];                 \
        for (int j = 0; j < CHUNK; j++) sum += parts[j];                                           \
        for (; k < n; k++) sum += (S)a[k] * (S)b[k];                                               \
        return sum;                                                                                \
    }                                                                                              \
    static void scale_##T(S *restrict out, T a, const T *restrict b, int64_t n)                    \
    {                                                                                              \
        int64_t k = 0;                                                                             \
        for (; k + CHUNK <= n; k += CHUNK)                                                         \
            for (int j = 0; j < CHUNK; j++) out[k + j] += (S)a * (S)b[k + j];                      \
        for (; k < n; k++) out[k] += (S)a * (S)b[k];                                               \
    }                                                                                              \
    static void inner_##T(S *out, const T *a, const T *b, const MacLoop *loop)                     \
    {                                                                                              \
        int64_t sa = loop->steps[0], sb = loop->steps[1], so = loop->steps[2];                     \
        if (so == 0 && sa == 1 && sb == 1) {                                                       \
            *out += dot_##T(a, b, loop->extent);                                                   \
        } else if (so == 1 && sa == 0 && sb == 1) {                                                \
            scale_##T(out, *a, b, loop->extent);                                                   \
        } else if (so == 1 && sa == 1 && sb == 0) {                                                \
            scale_##T(out, *b, a, loop->extent);                                                   \
        } else {                                                                                   \
            for (int64_t k = 0; k < loop->extent; k++) out[k * so] += (S)a[k * sa] * (S)b[k * sb]; \
        }                                                                                          \
    }                                                                                              \
    static void sums_##T(const Loops *all, uint32_t depth, S *out, const T *a, const T *b)         \
    {                                                                                              \
        static const MacLoop one = {.extent = 1};                                                  \
        const MacLoop *loop = all->count > 0 ? &all->loops[depth] : &one;                          \
        if (depth + 1 >= all->count) {                                                             \
            inner_##T(out, a, b, loop);                                                            \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < loop->extent; i++)                                                 \
            sums_##T(all, depth + 1, out + i * loop->steps[2], a + i * loop->steps[0],             \
                     b + i * loop->steps[1]);                                                      \
    }
DEFINE_SUMS(int16_t, int32_t)
DEFINE_SUMS(int64_t, uint64_t)

/* Values of a factor for all elements of its operand. */
static Array *factor_values(const Factor *factor, const VmNest *nest, Arena *arena)
{
    const VmPayload *payload = factor->payload;
    Array *operand = nest->operands[factor->operand].array;
    const Op *yield = block_terminator(linalg_body(nest->op));
    const Type *elem = op_operand(yield, 0)->type;
    Array *out = array_new(type_with_elem(operand->type, elem));
    Array **inputs = ARENA_ARRAY(arena, Array *, payload->arg_count);
    for (uint32_t i = 0; i < payload->arg_count; i++) {
        bool is_scalar = payload->args[i] && nest->operands[i].map->result_count == 0;
        inputs[i] = is_scalar ? nest->operands[i].array : operand;
    }
    if (vm_payload_start(factor->payload, NULL) &&
        vm_nest_run_flat(nest->op, factor->payload, inputs, payload->arg_count, &out, 1, arena))
        return out;
    array_unref(out);
    return NULL;
}

/* |values| at most; INT64_MAX if it does not fit. */
static int64_t largest_size(const Array *array)
{
    int64_t low = 0, high = 0;
    for (int64_t i = 0; i < array->count; i++) {
        int64_t value = array_get_i64(array, i);
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    if (low == INT64_MIN) return INT64_MAX;
    return -low > high ? -low : high;
}

static bool fits_narrow(const Loops *all, Array *const *factors)
{
    int64_t a = largest_size(factors[0]), b = largest_size(factors[1]), bound;
    return a <= INT16_MAX && b <= INT16_MAX && i64_mul(a * b, all->terms, &bound) &&
           bound <= INT32_MAX;
}

static void *copy_as(const Array *array, bool narrow)
{
    size_t count = (size_t)array->count;
    void *out = xmalloc(count * (narrow ? sizeof(int16_t) : sizeof(int64_t)));
    for (size_t i = 0; i < count; i++) {
        int64_t value = array_get_i64(array, (int64_t)i);
        if (narrow)
            ((int16_t *)out)[i] = (int16_t)value;
        else
            ((int64_t *)out)[i] = value;
    }
    return out;
}

static void add_narrow(const Loops *all, Array *out, const int16_t *a, const int16_t *b)
{
    int32_t *sums = xcalloc((size_t)out->count, sizeof *sums);
    sums_int16_t(all, 0, sums + all->base[2], a + all->base[0], b + all->base[1]);
    for (int64_t i = 0; i < out->count; i++)
        array_set_i64(out, i, (int64_t)((uint64_t)array_get_i64(out, i) + (uint64_t)sums[i]));
    free(sums);
}

static void add_wide(const Loops *all, Array *out, const int64_t *a, const int64_t *b)
{
    uint64_t *sums = xcalloc((size_t)out->count, sizeof *sums);
    sums_int64_t(all, 0, sums + all->base[2], a + all->base[0], b + all->base[1]);
    for (int64_t i = 0; i < out->count; i++)
        array_set_i64(out, i, (int64_t)((uint64_t)array_get_i64(out, i) + sums[i]));
    free(sums);
}

bool vm_mac_run(const Mac *mac, const VmNest *nest, Arena *arena)
{
    Array *factors[2] = {NULL}, *out = nest->operands[nest->operand_count - 1].array;
    Loops all = make_loops(mac, nest, arena);
    bool ok = true;
    for (int i = 0; ok && i < 2; i++) {
        factors[i] = factor_values(&mac->factors[i], nest, arena);
        ok = factors[i] != NULL;
    }
    if (ok) {
        bool narrow = fits_narrow(&all, factors);
        void *a = copy_as(factors[0], narrow), *b = copy_as(factors[1], narrow);
        if (narrow)
            add_narrow(&all, out, a, b);
        else
            add_wide(&all, out, a, b);
        free(a);
        free(b);
    }
    array_unref(factors[0]);
    array_unref(factors[1]);
    return ok;
}
