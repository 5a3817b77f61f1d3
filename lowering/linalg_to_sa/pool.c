/* Pools as layers: maxima, minima and sums of what lies in a window, channel by channel. r0 of the
 * processing unit begins as what lies around the map, and a program runs for each tap.
 * Tests: lit/lowering/linalg_to_sa, test/e2e/overlay_check.py */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_sa/internal.h"

typedef struct Pool {
    Window *w;
    Layer *layer;
    int64_t begin; /* that the kernel's reduction has */
    bool is_sum, is_max, is_unsigned;
} Pool;

bool to_sa_keeps_channels(const Window *w)
{
    for (uint32_t i = 0; i < w->kernel.loop_count; i++)
        if (w->in_channel[i] != w->out_channel[i]) return false;
    return w->weights == UINT32_MAX;
}

static const Op *yielded(const Op *generic)
{
    return value_def(op_operand(linalg_body(generic)->last, 0));
}

static bool read_kind(Pool *p)
{
    const Op *op = p->w->op, *last = yielded(op);
    const Op *init = value_def(op_operand(op, linalg_input_count(op)));
    const Value *fill = init ? kernel_fill_value(init) : NULL;
    const Attr *begin = fill ? fold_constant_of(fill) : NULL;
    if (!begin || begin->kind != ATTR_INTEGER || !last)
        return to_sa_refuse(op, "begins with other than a constant");
    p->begin = attr_int_value(begin);
    p->is_sum = to_sa_summand(p->w) != NULL;
    p->is_max = last->def == ARITH(MAXSI) || last->def == ARITH(MAXUI);
    p->is_unsigned = last->def == ARITH(MAXUI) || last->def == ARITH(MINUI);
    bool is_min = last->def == ARITH(MINSI) || last->def == ARITH(MINUI);
    return p->is_sum || p->is_max || is_min ||
           to_sa_refuse(op, "reduces by other than sums, products, maxima and minima");
}

/* Whether each loop of the reduction counts rows or columns of the window, so that it has all taps. */
static bool has_whole_windows(const Window *w)
{
    for (uint32_t i = 0; i < w->kernel.loop_count; i++) {
        int axes = (w->y.reduction == (int)i) + (w->x.reduction == (int)i);
        if (w->kernel.is_reduction[i] && w->kernel.extents[i] > 1 && axes != 1)
            return to_sa_refuse(w->op, "reduces other than the rows and columns of a window");
    }
    return true;
}

/* What the maximum or minimum is taken of, as the kernel reads it. `args`: the body's. */
static uint32_t compared_number(const Pool *p, Numbers *n, const Value *value, const uint32_t *args)
{
    uint32_t number = payload_number(n, value, linalg_body(p->w->op), args);
    uint32_t width = type_width(value->type);
    return p->is_unsigned ? number_unsigned(n, number, width) : number_signed(n, number, width);
}

/* What else than the map's numbers is compared, as those that are equal to them modulo 2^N alone, or a
 * function of them, becomes a map. */
static bool settle_order(const Pool *p)
{
    Window *w = p->w;
    const Op *last = yielded(w->op);
    const Value *out = linalg_body(w->op)->args[linalg_input_count(w->op)];
    const Value *value = op_operand(last, op_operand(last, 0) == out);
    uint32_t args[KERNEL_MAX_LOOPS];
    if (op_operand(last, 0) != out && op_operand(last, 1) != out)
        return to_sa_refuse(w->op, "computes with its result");
    for (uint32_t i = 0; i < linalg_body(w->op)->arg_count; i++) args[i] = NO_NUMBER;
    Numbers scratch = {.arena = w->lw->arena, .channel_loop = -1};
    args[w->data] = number_leaf(&scratch, NUMBER_SUMS, w->lo, w->hi);
    uint32_t number = compared_number(p, &scratch, value, args);
    bool is_plain = number == args[w->data];
    bool ok = number != NO_NUMBER ||
              to_sa_refuse(w->op, "%s",
                           scratch.why.len > 0 ? scratch.why.data : "computes with its result");
    numbers_free(&scratch);
    if (!ok || is_plain) return ok;
    if (w->input->needs_elements && !value->is_arg)
        return to_sa_refuse(w->op, "computes with padding that no activation holds");
    Layer *first = to_sa_copy(w->lw, w->input, w->op);
    args[w->data] = first->result;
    first->result = compared_number(p, &first->numbers, value, args);
    if (first->result == NO_NUMBER) return to_sa_refuse(w->op, "%s", first->numbers.why.data);
    return to_sa_read_behind(w, p->layer, first);
}

/* Whether each window has an element of the map itself. */
static bool windows_have_elements(const Pool *p)
{
    const Layer *layer = p->layer;
    const int64_t in[] = {p->w->input->extents.h, p->w->input->extents.w};
    const int64_t out[] = {p->w->out.h, p->w->out.w};
    for (int i = 0; i < 2; i++)
        for (int64_t o = 0; o < out[i]; o++) {
            bool has_one = false;
            for (int64_t k = 0; k < layer->kernel[i] && !has_one; k++) {
                int64_t at = o * layer->strides[i] + k * layer->dilations[i] - layer->pads[i];
                has_one = at >= 0 && at < in[i];
            }
            if (!has_one) return false;
        }
    return true;
}

/* An element as the map has it, and the argument of the kernel's body that is more by an offset. */
static uint32_t begin_tap(const Pool *p, uint32_t args[KERNEL_MAX_LOOPS])
{
    const Window *w = p->w;
    Numbers *tap = &p->layer->tap;
    int64_t offset = w->input->offset;
    uint32_t element = number_leaf(tap, NUMBER_SUMS, w->lo - offset, w->hi - offset);
    for (uint32_t i = 0; i < linalg_body(w->op)->arg_count; i++) args[i] = NO_NUMBER;
    args[w->data] = number_offset(tap, element, offset);
    return element;
}

static bool end_pool(const Pool *p, int64_t lo, int64_t hi, int64_t lacks)
{
    Layer *layer = p->layer;
    Numbers *n = &layer->numbers;
    if (layer->tap_result == NO_NUMBER) return to_sa_refuse(p->w->op, "%s", layer->tap.why.data);
    layer->result = number_offset(n, number_leaf(n, NUMBER_ACCUMULATOR, lo, hi), lacks);
    return layer->result != NO_NUMBER || to_sa_refuse(p->w->op, "%s", n->why.data);
}

/* What is neutral begins: a window has an element, so any number no greater than all of them. r0 begins
 * as what lies around the map; another number there is put in a map first. */
static bool fill_extreme(Pool *p)
{
    Window *w = p->w;
    Layer *layer = p->layer;
    const int64_t lo = w->lo, hi = w->hi;
    uint32_t width = type_width(op_result(yielded(w->op), 0)->type);
    if (p->is_unsigned && width < 63) p->begin &= (INT64_C(1) << width) - 1;
    if (p->is_max ? p->begin <= lo : p->begin >= hi) p->begin = p->is_max ? lo : hi;
    if (p->begin < lo || p->begin > hi)
        return to_sa_refuse(w->op, "begins with a number that is not neutral");
    bool has_other = w->input->is_padded && w->input->pad_value != p->begin;
    if (has_other && !to_sa_read_behind(w, layer, to_sa_copy(w->lw, w->input, w->op))) return false;
    const int64_t offset = w->input->offset;
    layer->pad_value = p->begin - offset;
    Numbers *tap = &layer->tap;
    uint32_t r0 = number_leaf(tap, NUMBER_ACCUMULATOR, lo - offset, hi - offset);
    uint32_t element = number_leaf(tap, NUMBER_SUMS, lo - offset, hi - offset);
    layer->tap_result = number_binary(tap, p->is_max ? NUMBER_MAX : NUMBER_MIN, r0, element);
    return end_pool(p, lo - offset, hi - offset, offset);
}

/* r0 begins as what lies around the map, for which the sum is corrected, as for the offsets of elements
 * that are added up as they lie in the map. */
static bool fill_sum(Pool *p)
{
    uint32_t args[KERNEL_MAX_LOOPS];
    const Window *w = p->w;
    Layer *layer = p->layer;
    Numbers *tap = &layer->tap;
    int64_t count = layer->kernel[0] * layer->kernel[1], lo, hi;
    uint32_t element = begin_tap(p, args);
    if (!w->input->is_padded) layer->pad_value = 0;
    uint32_t part = payload_number(tap, to_sa_summand(w), linalg_body(w->op), args);
    bool is_plain = part == args[w->data];
    if (part == NO_NUMBER)
        return to_sa_refuse(w->op, "%s", tap->why.len > 0 ? tap->why.data : "reads its own sums");
    if (is_plain) part = element;
    const Number *number = number_at(tap, part);
    if (!i64_mul(number->lo, count, &lo) || !i64_mul(number->hi, count, &hi) ||
        !i64_add(lo, layer->pad_value, &lo) || !i64_add(hi, layer->pad_value, &hi))
        return to_sa_refuse(w->op, "has sums of more than 64 bits");
    uint32_t r0 = number_leaf(tap, NUMBER_ACCUMULATOR, i64_min(lo, layer->pad_value),
                              i64_max(hi, layer->pad_value));
    layer->tap_result = number_binary(tap, NUMBER_ADD, r0, part);
    int64_t lacks = p->begin - layer->pad_value;
    return end_pool(p, lo, hi, is_plain ? lacks + count * w->input->offset : lacks);
}

bool to_sa_fill_pool(Window *w, Layer *layer)
{
    Pool p = {.w = w, .layer = layer};
    if (!read_kind(&p) || !has_whole_windows(w)) return false;
    if (w->input->needs_elements && !windows_have_elements(&p))
        return to_sa_refuse(w->op, "has windows of padding alone, which no activation holds");
    if (p.is_sum) return fill_sum(&p);
    return settle_order(&p) && fill_extreme(&p);
}
