/* Kernel analysis: MING's Algorithm 1 (sliding-window detection) and Algorithm 2 (iterator
 * classification) on the indexing maps of a linalg.generic. Takes time linear in the sizes of the
 * maps.
 * Tests: lit/passes/linalg/analyze-kernels.mir */
#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"

const char *kernel_class_name(KernelClass class)
{
    static const char *const names[] = {"pure-parallel", "regular-reduction", "sliding-window"};
    return names[class];
}

bool kernel_index(const Kernel *kernel, const AffineExpr *expr, KernelIndex *out)
{
    int64_t coeffs[KERNEL_MAX_LOOPS];
    *out = (KernelIndex){.parallel = -1, .reduction = -1};
    if (!affine_linear(expr, kernel->loop_count, coeffs, &out->offset)) return false;
    for (uint32_t i = 0; i < kernel->loop_count; i++) {
        if (coeffs[i] == 0) continue;
        int *loop = kernel->is_reduction[i] ? &out->reduction : &out->parallel;
        if (*loop >= 0 || coeffs[i] < 0) return false;
        *loop = (int)i;
        *(kernel->is_reduction[i] ? &out->dilation : &out->stride) = coeffs[i];
    }
    return true;
}

/* Algorithm 1, lines 4-8: E = stride * parallel + dilation * reduction. */
static bool is_window(const KernelIndex *index)
{
    return index->parallel >= 0 && index->reduction >= 0;
}

/* The loop that E is, or -1 (Algorithm 2, IS_SINGLE_DIM). */
static int single_dim(const AffineExpr *expr)
{
    return expr->kind == AFFINE_DIM ? (int)expr->value : -1;
}

static void find_windows(Kernel *kernel)
{
    for (uint32_t i = 0; i < linalg_input_count(kernel->op) && kernel->window_count == 0; i++) {
        const AffineMap *map = linalg_operand_map(kernel->op, i);
        for (uint32_t r = 0; r < map->result_count; r++) {
            KernelIndex index;
            if (!kernel_index(kernel, map->results[r], &index) || !is_window(&index)) continue;
            kernel->strides[kernel->window_count] = index.stride;
            kernel->dilations[kernel->window_count++] = index.dilation;
        }
    }
}

static void add_original(Kernel *kernel, const AffineExpr *expr)
{
    for (uint32_t i = 0; i < kernel->original_count; i++)
        if (kernel->originals[i] == expr) return;
    if (kernel->original_count < KERNEL_MAX_LOOPS)
        kernel->originals[kernel->original_count++] = expr;
}

static void classify_inputs(Kernel *kernel)
{
    for (uint32_t i = 0; i < linalg_input_count(kernel->op); i++) {
        const AffineMap *map = linalg_operand_map(kernel->op, i);
        for (uint32_t r = 0; r < map->result_count; r++) {
            int dim = single_dim(map->results[r]);
            if (dim < 0)
                add_original(kernel, map->results[r]);
            else if (kernel->is_reduction[dim])
                kernel->reduction_set |= 1u << dim;
            else
                kernel->parallel_set |= 1u << dim;
        }
    }
}

static void classify_outputs(Kernel *kernel)
{
    uint32_t inputs = linalg_input_count(kernel->op);
    for (uint32_t i = inputs; i < kernel->op->operand_count; i++) {
        const AffineMap *map = linalg_operand_map(kernel->op, i);
        for (uint32_t r = 0; r < map->result_count; r++) {
            int dim = single_dim(map->results[r]);
            if (dim >= 0 && !kernel->is_reduction[dim] && !(kernel->parallel_set >> dim & 1u))
                kernel->window_set |= 1u << dim;
        }
    }
}

/* Static, and small enough that trip counts multiply without overflow. */
static bool check_extents(const Kernel *kernel)
{
    static const int64_t max_trips = (int64_t)1 << 40;
    int64_t trips = 1;
    for (uint32_t i = 0; i < kernel->loop_count; i++)
        if (kernel->extents[i] == DIM_DYNAMIC)
            return op_error(kernel->op, "needs static shapes to stream");
    for (uint32_t i = 0; i < kernel->loop_count; i++)
        if (!i64_mul(trips, kernel->extents[i], &trips) || trips < 1 || trips > max_trips)
            return op_error(kernel->op, "needs 1 to 2^40 iterations to stream");
    for (uint32_t i = 0; i < kernel->op->operand_count; i++) {
        const Type *type = op_operand(kernel->op, i)->type;
        if (type_is_shaped(type) && !dfg_can_stream(type))
            return op_error(kernel->op, "cannot stream operand #%u of type '%s'", i,
                            type_str(kernel->op->ctx, type));
    }
    return true;
}

bool kernel_analyze(const Op *generic, Kernel *out)
{
    *out = (Kernel){.op = generic, .loop_count = linalg_loop_count(generic)};
    if (out->loop_count > KERNEL_MAX_LOOPS)
        return op_error(generic, "has %u loops; at most %d can stream", out->loop_count,
                        KERNEL_MAX_LOOPS);
    if (!linalg_loop_extents(generic, out->extents))
        return op_error(generic, "has a loop whose trip count no operand gives");
    if (!check_extents(out)) return false;
    bool reduces = false;
    for (uint32_t i = 0; i < out->loop_count; i++) {
        out->is_reduction[i] = linalg_is_reduction(generic, i);
        reduces |= out->is_reduction[i];
    }
    if (reduces) find_windows(out);
    out->class = !reduces                 ? KERNEL_PURE_PARALLEL
                 : out->window_count == 0 ? KERNEL_REGULAR_REDUCTION
                                          : KERNEL_SLIDING_WINDOW;
    classify_inputs(out);
    classify_outputs(out);
    return true;
}

bool kernel_has_one_output(const Op *generic)
{
    for (uint32_t i = 1; i < generic->result_count; i++)
        if (value_has_uses(op_result(generic, i))) return false;
    return generic->result_count > 0;
}

static bool look_for_product(Op *op, void *user)
{
    bool *found = user;
    *found |= op->def == ARITH(MULI) || op->def == ARITH(MULF);
    return true;
}

int64_t kernel_macs(const Op *generic)
{
    int64_t extents[KERNEL_MAX_LOOPS], macs = 1;
    bool has_product = false;
    uint32_t loops = linalg_loop_count(generic);
    op_walk((Op *)(uintptr_t)generic, look_for_product, &has_product);
    if (!has_product || !linalg_reduces(generic)) return 0;
    if (loops > KERNEL_MAX_LOOPS || !linalg_loop_extents(generic, extents)) return -1;
    for (uint32_t i = 0; i < loops; i++)
        if (!i64_mul(macs, extents[i], &macs)) return -1;
    return macs;
}

static bool has_tensor_input(const Op *op)
{
    for (uint32_t i = 0; i < linalg_input_count(op); i++)
        if (type_is_shaped(op_operand(op, i)->type)) return true;
    return false;
}

/* A generic fills if it yields a scalar input or a value from outside, for every element. One that has a
 * tensor is a kernel whatever it yields: the stream of that tensor has to be read. */
Value *kernel_fill_value(const Op *op)
{
    if (op->def == LINALG(FILL))
        return op_operand(op, 0)->type == type_elem(op_operand(op, 1)->type) ? op_operand(op, 0)
                                                                             : NULL;
    if (op->def != LINALG(GENERIC) || op->result_count != 1 || has_tensor_input(op) ||
        !linalg_reaches_all(op, op->operand_count - 1))
        return NULL;
    Block *body = linalg_body(op);
    Value *yielded = op_operand(body->last, 0);
    if (!yielded->is_arg || value_block(yielded) != body) {
        const Op *def = value_def(yielded);
        return def && op_has_trait(def, TRAIT_CONSTANT_LIKE) ? yielded : NULL;
    }
    if (yielded->index >= linalg_input_count(op)) return NULL;
    Value *input = op_operand(op, yielded->index);
    return type_is_shaped(input->type) ? NULL : input;
}
