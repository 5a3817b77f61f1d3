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

/* Numbers that are equal to the elements modulo 2^N alone have another order: those of a maximum or
 * minimum of elements become the elements. */
static bool settle_order(const Pool *p)
{
    Window *w = p->w;
    uint32_t width = w->input->width;
    if (p->is_sum || type_width(op_result(yielded(w->op), 0)->type) != width || width > 32)
        return true;
    int64_t least = p->is_unsigned ? 0 : -(INT64_C(1) << (width - 1));
    if (w->lo >= least && w->hi < least + (INT64_C(1) << width)) return true;
    Layer *first = to_sa_copy(w->lw, w->input, w->op);
    first->result = p->is_unsigned ? number_unsigned(&first->numbers, first->result, width)
                                   : number_signed(&first->numbers, first->result, width);
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
 * as what lies around the map. */
static bool fill_extreme(Pool *p)
{
    uint32_t args[KERNEL_MAX_LOOPS];
    Window *w = p->w;
    Layer *layer = p->layer;
    int64_t offset = w->input->offset, lo = w->lo, hi = w->hi;
    uint32_t width = type_width(op_result(yielded(w->op), 0)->type);
    if (p->is_unsigned && width < 63) p->begin &= (INT64_C(1) << width) - 1;
    if (p->is_unsigned && lo < 0)
        return to_sa_refuse(w->op, "reads negative numbers without their sign");
    if (p->is_max ? p->begin <= lo : p->begin >= hi) p->begin = p->is_max ? lo : hi;
    if (p->begin < lo || p->begin > hi)
        return to_sa_refuse(w->op, "begins with a number that is not neutral");
    if (!w->input->is_padded) layer->pad_value = p->begin - offset;
    if (layer->pad_value != p->begin - offset)
        return to_sa_refuse(w->op, "pads with %lld, which is not neutral",
                            (long long)(layer->pad_value + offset));
    begin_tap(p, args);
    Numbers *tap = &layer->tap;
    const Block *body = linalg_body(w->op);
    uint32_t r0 = number_leaf(tap, NUMBER_ACCUMULATOR, lo - offset, hi - offset);
    args[linalg_input_count(w->op)] = number_offset(tap, r0, offset);
    uint32_t result = payload_number(tap, op_operand(body->last, 0), body, args);
    layer->tap_result = number_offset(tap, result, -offset);
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
    if (!read_kind(&p) || !settle_order(&p)) return false;
    if (w->input->needs_elements && !windows_have_elements(&p))
        return to_sa_refuse(w->op, "has windows of padding alone, which no activation holds");
    return p.is_sum ? fill_sum(&p) : fill_extreme(&p);
}
