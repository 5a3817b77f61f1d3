/* Schedules of window processes: how many words each dimension has, which of them a window needs,
 * and the range of the flat scan. docs/streaming.md derives the formulas.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-window.mir,
 * lit/lowering/dfg_to_emithls/window-words.mir */
#include "analysis/analysis.h"
#include "ir/asm/print/print.h"
#include "schedule/internal.h"
#include "schedule/schedule.h"

static const Op *find_op(const Op *process, const OpDef *def)
{
    FOR_EACH_OP(op, region_entry(op_region(process, 0)))
        if (op->def == def) return op;
    return NULL;
}

/* The value pushed into a port; NULL: none. */
static const Value *pushed(const Op *process, uint32_t port)
{
    FOR_EACH_OP(op, region_entry(op_region(process, 0)))
        if (op->def == DFG(PUSH) && op_operand(op, 1) == dfg_port(process, port))
            return op_operand(op, 0);
    return NULL;
}

/* One window between one input and an output per result, in their order. */
static bool check_window(const Op *process, const Op *window)
{
    if (dfg_input_count(process) != 1 || dfg_output_count(process) != window->result_count)
        return op_error(process, "slides a window, so it needs one input and an output for each "
                                 "result of the window");
    if (window->result_count > SCHED_MAX_PARTS)
        return op_error(window, "gives more than %d streams", SCHED_MAX_PARTS);
    if (!sched_is_pulled(op_operand(window, 0)))
        return op_error(window, "slides over a tensor that does not come from the process's port");
    for (uint32_t i = 0; i < window->result_count; i++)
        if (pushed(process, 1 + i) != op_result(window, i))
            return op_error(window, "gives windows that the process does not push");
    return true;
}

/* sum += a * b, unless it overflows. */
static bool add_product(int64_t *sum, int64_t a, int64_t b)
{
    int64_t product;
    return i64_mul(a, b, &product) && i64_add(*sum, product, sum);
}

/* Output word j takes pixels j * outputs * stride - low and the taps from there on:
 *   last pixel = j * outputs * stride + (outputs - 1) * stride + (kernel - 1) * dilation - low.
 * outputs * stride is a multiple of pixels, so both lie a fixed number of words from word j. */
static bool size_dim(WindowSchedule *sched, uint32_t i)
{
    const WindowParams *w = &sched->params;
    WindowDim *dim = &sched->dim[i];
    int64_t step, last = (w->kernel[i] - 1) * w->dilation[i] - w->low[i];
    if (!i64_mul(dim->outputs, w->stride[i], &step) ||
        !add_product(&last, dim->outputs - 1, w->stride[i]))
        return op_error(sched->window, "has strides too large for its words");
    if (step % dim->pixels != 0)
        return op_error(sched->process,
                        "takes %lld positions of dimension %u per output word, which "
                        "is no multiple of the %lld in an input word",
                        (long long)step, w->first + i, (long long)dim->pixels);
    int64_t first_word = floor_div(-w->low[i], dim->pixels);
    dim->in = w->in[w->first + i] / dim->pixels;
    dim->out = w->out[i] / dim->outputs;
    dim->stride = step / dim->pixels;
    dim->reach = floor_div(last, dim->pixels);
    dim->origin = -w->low[i] - first_word * dim->pixels;
    if (dim->pixels == 1 && dim->outputs == 1) {
        dim->recall = w->kernel[i];
        dim->spacing = w->dilation[i];
    } else {
        dim->recall = dim->reach - first_word + 1;
        dim->spacing = 1;
    }
    return true;
}

/* in, out: word shapes of the ports, in the window's dimensions. */
static bool size_words(WindowSchedule *sched, const int64_t *in, const int64_t *out)
{
    const WindowParams *w = &sched->params;
    uint32_t kernel = w->first + w->count;
    for (uint32_t i = 0; i < w->rank; i++) {
        bool is_inner = i >= kernel, slides = i >= w->first && !is_inner;
        if (!slides && out[is_inner ? i + w->count : i] != in[i])
            return op_error(sched->process, "input and output words differ in dimension %u", i);
        if (is_inner) {
            sched->inner_words *= w->in[i] / in[i];
            sched->inner_lanes *= in[i];
        } else if (!slides) {
            sched->outer *= w->in[i] / in[i];
            sched->outer_lanes *= in[i];
        }
    }
    sched->lanes = sched->outer_lanes * sched->inner_lanes;
    for (uint32_t i = 0; i < w->count; i++) {
        if (out[kernel + i] != w->kernel[i])
            return op_error(sched->process, "output words must hold whole windows");
        sched->dim[i].pixels = in[w->first + i];
        sched->dim[i].outputs = out[w->first + i];
        sched->lanes *= sched->dim[i].pixels;
        if (!size_dim(sched, i)) return false;
    }
    return true;
}

/* The words of a further result have the positions and the inner elements of those of the first,
 * and all of its taps. */
static bool check_part_word(const WindowSchedule *sched, uint32_t result, const int64_t *whole,
                            const Type *end)
{
    const WindowParams *w = &sched->params;
    const WindowPart *part = &sched->parts[result];
    int64_t word[2 * DFG_MAX_RANK];
    uint32_t kernel = w->first + w->count, at = 0;
    dfg_word(end, word);
    for (uint32_t i = 0; i < w->rank + w->count; i++) {
        bool is_tap = i >= kernel && i < kernel + w->count;
        if (is_tap && !part->has_taps) continue;
        if (word[at++] != (is_tap ? part->taps[i - kernel] : whole[i]))
            return op_error(sched->process, "output words of results #0 and #%u differ", result);
    }
    return true;
}

static bool read_parts(WindowSchedule *sched, const Type *const *ends, const int64_t *whole)
{
    sched->part_count = sched->window->result_count;
    for (uint32_t i = 0; i < sched->part_count; i++) {
        const Type *end = ends ? ends[1 + i] : dfg_port(sched->process, 1 + i)->type;
        if (!dfg_window_part(sched->window, i, &sched->parts[i]))
            return op_error(sched->window, "has malformed parameters");
        if (!check_part_word(sched, i, whole, end)) return false;
    }
    return true;
}

/* Positions that one step of window dimension i spans. */
static int64_t pitch(const WindowSchedule *sched, uint32_t i)
{
    int64_t positions = 1;
    for (uint32_t j = i + 1; j < sched->params.count; j++) positions *= sched->box[j];
    return positions;
}

/* The box of inner window dimensions: wide enough for the input and for all outputs of a row. */
static bool size_box(WindowSchedule *sched)
{
    int64_t words = sched->inner_words;
    for (uint32_t i = 1; i < sched->params.count; i++) {
        const WindowDim *dim = &sched->dim[i];
        sched->box[i] = i64_max(dim->in, (dim->out - 1) * dim->stride + 1);
        if (!i64_mul(words, sched->box[i], &words)) return false;
    }
    sched->box[sched->params.count] = sched->inner_words;
    return true;
}

/* Scan range. With P_i the pitch of dimension i, the last word of output word o lies at input
 * position
 *   sum (o_i * stride_i + reach_i) * P_i,
 * so shifting the scan by the constant part puts outputs at coordinates o_i * stride_i. */
static bool size_range(WindowSchedule *sched)
{
    static const int64_t max_positions = (int64_t)1 << 48;
    int64_t shift = 0, last_read = 0, last_write = 0, row = pitch(sched, 0);
    for (uint32_t i = 0; i < sched->params.count; i++) {
        const WindowDim *dim = &sched->dim[i];
        if (!add_product(&shift, dim->reach, pitch(sched, i)) ||
            !add_product(&last_read, dim->in - 1, pitch(sched, i)) ||
            !add_product(&last_write, (dim->out - 1) * dim->stride, pitch(sched, i)))
            return false;
    }
    if (shift > max_positions || shift < -max_positions || last_read > max_positions ||
        last_write > max_positions || row > max_positions / sched->inner_words)
        return false;
    sched->lead = shift > 0 ? (shift + row - 1) / row : 0;
    sched->shift = shift - sched->lead * row;
    int64_t begin = shift > 0 ? -sched->shift : 0;
    int64_t end = i64_max(last_read - sched->shift, last_write + sched->lead * row) + 1;
    sched->begin = begin * sched->inner_words;
    sched->box[0] = (end + row - 1) / row;
    return i64_mul(end, sched->inner_words, &sched->end) && sched->end <= max_positions;
}

bool sched_window(const Op *process, const Type *const *ends, WindowSchedule *out)
{
    const Op *window = find_op(process, DFG(WINDOW));
    int64_t in_word[2 * DFG_MAX_RANK], out_word[2 * DFG_MAX_RANK];
    if (!check_window(process, window)) return false;
    const Type *in = ends ? ends[0] : dfg_port(process, 0)->type;
    const Type *to = ends ? ends[1] : dfg_port(process, 1)->type;
    *out = (WindowSchedule){.process = process,
                            .window = window,
                            .outer = 1,
                            .inner_words = 1,
                            .outer_lanes = 1,
                            .inner_lanes = 1};
    if (!dfg_window_params(window, &out->params))
        return op_error(window, "has malformed parameters");
    if (!sched_port_word(process, 0, in, op_operand(window, 0)->type, in_word)) return false;
    dfg_word(to, out_word);
    if (!size_words(out, in_word, out_word) || !read_parts(out, ends, out_word)) return false;
    return (size_box(out) && size_range(out)) || op_error(window, "scans more than 2^48 positions");
}

/* Output 0 lies `lead` rows into the box. */
int64_t sched_window_first_write(const WindowSchedule *sched)
{
    return i64_max(sched->lead * sched_window_row_words(sched, 0) - sched->begin, 0);
}

int64_t sched_window_history(const WindowSchedule *sched, uint32_t level)
{
    return (sched->dim[level].recall - 1) * sched->dim[level].spacing;
}

int64_t sched_window_taps(const WindowSchedule *sched, uint32_t level)
{
    int64_t taps = 1;
    for (uint32_t i = 0; i < level; i++) taps *= sched->dim[i].recall;
    return taps;
}

int64_t sched_window_row_words(const WindowSchedule *sched, uint32_t level)
{
    return pitch(sched, level) * sched->inner_words;
}

int64_t sched_window_lanes(const WindowSchedule *sched, uint32_t part)
{
    int64_t lanes = sched->outer_lanes * sched->inner_lanes;
    for (uint32_t i = 0; i < sched->params.count; i++)
        lanes *= sched->dim[i].outputs * sched->parts[part].taps[i];
    return lanes;
}

double sched_window_wait(const WindowSchedule *sched)
{
    int64_t row = sched_window_row_words(sched, 0) / sched->inner_words;
    int64_t in = sched->dim[0].in * row * sched->outer, before = sched->lead * row + sched->shift;
    if (before <= 0 || in < 2) return 0;
    return before < in ? (double)before / (double)(in - 1) : 1;
}

/* Words out follow each other in the order of their coordinates in the scan, so they are counted behind
 * the coordinates of that read. */
double sched_window_share_behind(const WindowSchedule *sched, int64_t to_come)
{
    uint32_t count = sched->params.count;
    int64_t row = sched_window_row_words(sched, 0) / sched->inner_words, last = 0, step = row;
    int64_t at[DFG_MAX_RANK], behind = 0, all = 1;
    for (uint32_t i = 0; i < count; i++) {
        last += (sched->dim[i].in - 1) * step;
        step /= i + 1 < count ? sched->box[i + 1] : 1;
        all *= sched->dim[i].out;
    }
    last -= sched->shift + sched->lead * row + to_come;
    if (last <= 0) return 1.0 / (double)sched->outer;
    for (uint32_t i = count; i-- > 1; last /= sched->box[i]) at[i] = last % sched->box[i];
    at[0] = last;
    int64_t inner = all;
    bool is_met = true; /* by a word out, in the dimensions so far */
    for (uint32_t i = 0; is_met && i < count; i++) {
        const WindowDim *dim = &sched->dim[i];
        inner /= dim->out;
        int64_t first = at[i] / dim->stride + 1;
        behind += first < dim->out ? (dim->out - first) * inner : 0;
        is_met = at[i] % dim->stride == 0 && at[i] / dim->stride < dim->out;
    }
    return (double)(behind + is_met) / (double)(all * sched->outer);
}
