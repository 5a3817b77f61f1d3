/* Process kinds and window plans; compute plans are in plan_compute.c.
 * Tests: lit/lowering/dfg-to-emithls */
#include "lowering/plan.h"

#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/diag.h"
#include "passes/reshape.h"

#include <string.h>

static Block *body(const Op *process) { return region_entry(op_region(process, 0)); }

static bool is_pulled(const Value *value)
{
    const Op *def = value_def(reshape_source(value));
    return def && def->def == DFG(PULL);
}

static bool is_allowed(const Op *op)
{
    return op->def == DFG(PULL) || op->def == DFG(PUSH) || op->def == DFG(WINDOW) ||
           op->def == LINALG(GENERIC) || op->def == LINALG(FILL) || op->def == TENSOR(EMPTY) ||
           is_reshape(op) || op_has_trait(op, TRAIT_CONSTANT_LIKE);
}

static bool check_frames(const Op *process)
{
    for (uint32_t i = 0; i < dfg_input_count(process) + dfg_output_count(process); i++) {
        const Type *frame = dfg_payload(dfg_port(process, i)->type);
        if (!dfg_can_stream(frame))
            return op_error(process, "port %u has frames of type '%s', which cannot be streamed", i,
                            type_str(process->ctx, frame));
    }
    return true;
}

static bool same_shape(const Type *a, const Type *b)
{
    uint32_t rank = a->u.shaped.rank;
    for (uint32_t i = 0; rank == b->u.shaped.rank && i < rank; i++)
        if (a->u.shaped.dims[i] != b->u.shaped.dims[i])
            return false;
    return rank == b->u.shaped.rank;
}

/* A reshaped frame packs its innermost dimension only: words are the same in both shapes. */
bool port_word(const Op *process, uint32_t port, const Type *tensor, int64_t *word)
{
    const Type *end = dfg_port(process, port)->type, *frame = dfg_payload(end);
    int64_t elems = dfg_word_elems(end), outside[2 * DFG_MAX_RANK];
    uint32_t rank = tensor->u.shaped.rank, last = frame->u.shaped.rank - 1;
    if (same_shape(frame, tensor)) {
        dfg_word(end, word);
        return true;
    }
    dfg_word(end, outside);
    if (elems != outside[last] || tensor->u.shaped.dims[rank - 1] % elems != 0)
        return op_error(process, "port %u has words of %lld elements, which are not parts of the "
                                 "innermost dimension of %s",
                        port, (long long)elems, type_str(process->ctx, tensor));
    for (uint32_t i = 0; i < rank; i++)
        word[i] = i + 1 == rank ? elems : 1;
    return true;
}

/* One input, which every output repeats in the same words. */
static bool check_fork(const Op *process)
{
    int64_t in[2 * DFG_MAX_RANK], out[2 * DFG_MAX_RANK];
    uint32_t outputs = dfg_output_count(process);
    if (dfg_input_count(process) != 1 || outputs == 0)
        return op_error(process, "without a kernel needs one input, to repeat it on each output");
    FOR_EACH_OP(op, body(process))
    if (op->def == DFG(PUSH) && !is_pulled(op_operand(op, 0)))
        return op_error(op, "gives a value that no kernel computes and that is not pulled");
    for (uint32_t i = 1; i <= outputs; i++) {
        const Type *end = dfg_port(process, i)->type, *frame = dfg_payload(end);
        dfg_word(end, out);
        if (!port_word(process, 0, frame, in))
            return false;
        if (memcmp(in, out, frame->u.shaped.rank * sizeof(*in)) != 0)
            return op_error(process, "repeats its input on port %u in other words", i);
    }
    return true;
}

bool process_kind(const Op *process, ProcessKind *out)
{
    bool has_generic = false, has_window = false;
    if (!check_frames(process))
        return false;
    FOR_EACH_OP(op, body(process))
    {
        if (!is_allowed(op))
            return op_error(op, "cannot run in a streaming process");
        has_generic |= op->def == LINALG(GENERIC);
        has_window |= op->def == DFG(WINDOW);
    }
    if (has_generic && has_window)
        return op_error(process, "mixes dfg.window and linalg.generic in one body");
    *out = has_window ? PROCESS_WINDOW : has_generic ? PROCESS_COMPUTE : PROCESS_FORK;
    return *out != PROCESS_FORK || check_fork(process);
}

/* --- windows ---------------------------------------------------------------------- */

static const Op *find_op(const Op *process, const OpDef *def)
{
    FOR_EACH_OP(op, body(process))
    if (op->def == def)
        return op;
    return NULL;
}

/* One window between one input and one output. */
static bool check_window(const Op *process, const Op *window)
{
    if (dfg_input_count(process) != 1 || dfg_output_count(process) != 1)
        return op_error(process, "slides a window, so it needs one input and one output");
    if (!is_pulled(op_operand(window, 0)))
        return op_error(window, "slides over a tensor that does not come from the process's port");
    const Op *push = find_op(process, DFG(PUSH));
    return (push && op_operand(push, 0) == op_result(window, 0)) ||
           op_error(window, "gives windows that the process does not push");
}

/* Positions that one step of window dimension i spans. */
static int64_t pitch(const WindowPlan *plan, uint32_t i)
{
    int64_t positions = 1;
    for (uint32_t j = i + 1; j < plan->params.count; j++)
        positions *= plan->box[j];
    return positions;
}

static int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

/* sum += a * b, unless it overflows. */
static bool add_product(int64_t *sum, int64_t a, int64_t b)
{
    int64_t product;
    return mul_i64(a, b, &product) && add_i64(*sum, product, sum);
}

/* The box of inner window dimensions: wide enough for the input and for all outputs of a row. */
static bool size_box(WindowPlan *plan)
{
    const WindowParams *w = &plan->params;
    int64_t words = plan->inner_words;
    for (uint32_t i = 1; i < w->count; i++) {
        plan->box[i] = max_i64(w->in[w->first + i], (w->out[i] - 1) * w->stride[i] + 1);
        if (!mul_i64(words, plan->box[i], &words))
            return false;
    }
    plan->box[w->count] = plan->inner_words;
    return true;
}

/* Scan range. With P_i the pitch of dimension i, the last tap of output o lies at input position
 *   sum (o_i * stride_i + (kernel_i - 1) * dilation_i - low_i) * P_i,
 * so shifting the scan by the constant part puts outputs at coordinates o_i * stride_i. */
static bool size_range(WindowPlan *plan)
{
    static const int64_t max_positions = (int64_t)1 << 48;
    const WindowParams *w = &plan->params;
    int64_t shift = 0, last_read = 0, last_write = 0, row = pitch(plan, 0);
    for (uint32_t i = 0; i < w->count; i++) {
        int64_t reach = (w->kernel[i] - 1) * w->dilation[i] - w->low[i];
        if (!add_product(&shift, reach, pitch(plan, i)) ||
            !add_product(&last_read, w->in[w->first + i] - 1, pitch(plan, i)) ||
            !add_product(&last_write, (w->out[i] - 1) * w->stride[i], pitch(plan, i)))
            return false;
    }
    if (shift > max_positions || shift < -max_positions || last_read > max_positions ||
        last_write > max_positions || row > max_positions / plan->inner_words)
        return false;
    plan->lead = shift > 0 ? (shift + row - 1) / row : 0;
    plan->shift = shift - plan->lead * row;
    int64_t begin = shift > 0 ? -plan->shift : 0;
    int64_t end = max_i64(last_read - plan->shift, last_write + plan->lead * row) + 1;
    plan->begin = begin * plan->inner_words;
    plan->box[0] = (end + row - 1) / row;
    return mul_i64(end, plan->inner_words, &plan->end) && plan->end <= max_positions;
}

bool window_plan(const Op *process, WindowPlan *out)
{
    const Op *window = find_op(process, DFG(WINDOW));
    if (!check_window(process, window))
        return false;
    const Type *in = dfg_port(process, 0)->type, *to = dfg_port(process, 1)->type;
    int64_t in_word[DFG_MAX_RANK], out_word[2 * DFG_MAX_RANK];
    *out = (WindowPlan){.process = process, .window = window, .outer = 1, .inner_words = 1};
    WindowParams *w = &out->params;
    if (!dfg_window_params(window, w))
        return op_error(window, "has malformed parameters");
    if (!port_word(process, 0, op_operand(window, 0)->type, in_word))
        return false;
    dfg_word(to, out_word);
    for (uint32_t i = 0; i < w->rank; i++) {
        bool inner = i >= w->first + w->count;
        if (i < w->first)
            out->outer *= w->in[i];
        if (inner)
            out->inner_words *= w->in[i] / in_word[i];
        if (!inner && in_word[i] != 1)
            return op_error(process, "packs several positions of dimension %u in a word", i);
        if (out_word[inner ? i + w->count : i] != in_word[i])
            return op_error(process, "input and output words differ in dimension %u", i);
    }
    for (uint32_t k = 0; k < w->count; k++)
        if (out_word[w->first + w->count + k] != w->kernel[k])
            return op_error(process, "output words must hold whole windows");
    out->lanes = dfg_word_elems(in);
    return (size_box(out) && size_range(out)) ||
           op_error(window, "scans more than 2^48 positions");
}

int64_t window_history(const WindowPlan *plan, uint32_t level)
{
    return (plan->params.kernel[level] - 1) * plan->params.dilation[level];
}

int64_t window_taps(const WindowPlan *plan, uint32_t level)
{
    int64_t taps = 1;
    for (uint32_t i = 0; i < level; i++)
        taps *= plan->params.kernel[i];
    return taps;
}

int64_t window_row_words(const WindowPlan *plan, uint32_t level)
{
    return pitch(plan, level) * plan->inner_words;
}

int64_t fork_words(const Op *process) { return dfg_words_per_frame(dfg_port(process, 0)->type); }
