/* Process kinds and window plans; compute plans are in plan_compute.c.
 * Tests: lit/lowering/dfg-to-emithls */
#include "lowering/plan.h"

#include "dialects/linalg/linalg.h"
#include "ir/diag.h"
#include "passes/reshape.h"

#include <string.h>

static Block *body(const Op *process) { return region_entry(op_region(process, 0)); }

bool process_kind(const Op *process, ProcessKind *out)
{
    bool has_generic = false, has_window = false;
    FOR_EACH_OP(op, body(process))
    {
        has_generic |= op->def == LINALG(GENERIC);
        has_window |= op->def == DFG(WINDOW);
    }
    if (has_generic && has_window)
        return op_error(process, "mixes dfg.window and linalg.generic in one body");
    *out = has_window ? PROCESS_WINDOW : has_generic ? PROCESS_COMPUTE : PROCESS_FORK;
    return true;
}

static bool same_shape(const Type *a, const Type *b)
{
    return a->u.shaped.rank == b->u.shaped.rank &&
           memcmp(a->u.shaped.dims, b->u.shaped.dims, a->u.shaped.rank * sizeof(int64_t)) == 0;
}

/* A reshaped frame packs its innermost dimension only, so that words are the same in both shapes. */
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

/* --- windows ---------------------------------------------------------------------- */

static const Op *find_window(const Op *process)
{
    FOR_EACH_OP(op, body(process))
    if (op->def == DFG(WINDOW))
        return op;
    return NULL;
}

static bool is_pulled(const Value *value)
{
    const Op *def = value_def(reshape_source(value));
    return def && def->def == DFG(PULL);
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

/* The box of inner window dimensions: wide enough for the input and for all outputs of a row. */
static void size_box(WindowPlan *plan)
{
    const WindowParams *w = &plan->params;
    for (uint32_t i = 1; i < w->count; i++)
        plan->box[i] = max_i64(w->in[w->first + i], (w->out[i] - 1) * w->stride[i] + 1);
    plan->box[w->count] = plan->inner_words;
}

/* Scan range. With P_i the pitch of dimension i, the last tap of output o lies at input position
 *   sum (o_i * stride_i + (kernel_i - 1) * dilation_i - low_i) * P_i,
 * so shifting the scan by the constant part puts outputs at coordinates o_i * stride_i. */
static void size_range(WindowPlan *plan)
{
    const WindowParams *w = &plan->params;
    int64_t shift = 0, last_read = 0, last_write = 0, row = pitch(plan, 0);
    for (uint32_t i = 0; i < w->count; i++) {
        shift += ((w->kernel[i] - 1) * w->dilation[i] - w->low[i]) * pitch(plan, i);
        last_read += (w->in[w->first + i] - 1) * pitch(plan, i);
        last_write += (w->out[i] - 1) * w->stride[i] * pitch(plan, i);
    }
    plan->lead = shift > 0 ? (shift + row - 1) / row : 0;
    plan->shift = shift - plan->lead * row;
    int64_t begin = shift > 0 ? -plan->shift : 0;
    int64_t end = max_i64(last_read - plan->shift, last_write + plan->lead * row) + 1;
    plan->begin = begin * plan->inner_words;
    plan->end = end * plan->inner_words;
    plan->box[0] = (end + row - 1) / row;
}

bool window_plan(const Op *process, WindowPlan *out)
{
    const Op *window = find_window(process);
    const Type *in = dfg_port(process, 0)->type, *to = dfg_port(process, 1)->type;
    int64_t in_word[DFG_MAX_RANK], out_word[2 * DFG_MAX_RANK];
    *out = (WindowPlan){.process = process, .window = window, .outer = 1, .inner_words = 1};
    WindowParams *w = &out->params;
    if (!dfg_window_params(window, w))
        return op_error(window, "has malformed parameters");
    if (!is_pulled(op_operand(window, 0)))
        return op_error(window, "slides over a tensor that does not come from the process's port");
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
    size_box(out);
    size_range(out);
    return true;
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
