/* Reductions as layers of the array: convolutions of any groups and products with constants; pools are
 * in pool.c.
 * Weights are gathered loop by loop, so that no order of dimensions and no form of a channel's index
 * is special; a grouped convolution is a dense one with zeros between the groups, unless it is
 * depthwise and the array has that mode.
 * Tests: lit/lowering/linalg_to_sa, test/e2e/overlay_check.py */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_sa/internal.h"

/* Whether a constant is one number, as zero points are. */
static bool is_number(const Attr *constant)
{
    return constant->kind == ATTR_INTEGER ||
           (dense_is_complete(constant) && dense_count(constant) == 1);
}

/* The map and the weights: of constants that which is more than a number, or the first one. */
static bool find_operands(Window *w)
{
    uint32_t number = UINT32_MAX;
    w->data = w->weights = UINT32_MAX;
    for (uint32_t i = 0; i < linalg_input_count(w->op); i++) {
        const Attr *constant = fold_constant_of(op_operand(w->op, i));
        uint32_t *slot = constant ? &w->weights : &w->data;
        if (!linalg_reads_operand(w->op, i)) continue;
        const Type *elem = linalg_payload_type(op_operand(w->op, i)->type);
        if (!type_is_integer(elem) || type_width(elem) > 64)
            return to_sa_refuse(w->op, "computes with other than integers of up to 64 bits");
        if (constant && is_number(constant)) {
            if (number == UINT32_MAX) number = i;
            continue;
        }
        if (*slot != UINT32_MAX)
            return to_sa_refuse(w->op,
                                constant ? "takes two constants" : "takes the product of two maps");
        *slot = i;
    }
    if (w->weights == UINT32_MAX) w->weights = number;
    return w->data != UINT32_MAX || to_sa_refuse(w->op, "reads no map");
}

/* Steps of the loops in an index; NULL is an index that is always 0. */
static bool read_steps(const Window *w, const AffineExpr *expr, int64_t steps[KERNEL_MAX_LOOPS])
{
    int64_t offset = 0;
    for (uint32_t i = 0; i < w->kernel.loop_count; i++) steps[i] = 0;
    return !expr || (affine_linear(expr, w->kernel.loop_count, steps, &offset) && offset == 0);
}

/* The same of the last `dims` dimensions of an operand, counted together. */
static bool read_channel(const Window *w, uint32_t operand, uint32_t dims,
                         int64_t steps[KERNEL_MAX_LOOPS])
{
    const AffineMap *map = linalg_operand_map(w->op, operand);
    const Type *type = op_operand(w->op, operand)->type;
    int64_t inner = 1;
    for (uint32_t i = 0; i < w->kernel.loop_count; i++) steps[i] = 0;
    for (uint32_t back = 0; back < dims && back < map->result_count; back++) {
        int64_t own[KERNEL_MAX_LOOPS];
        if (!read_steps(w, to_sa_from_end(map, back), own)) return false;
        for (uint32_t i = 0; i < w->kernel.loop_count; i++) steps[i] += own[i] * inner;
        inner *= type->u.shaped.dims[map->result_count - 1 - back];
    }
    return true;
}

/* Where an element of the weights lies, counted over all dimensions. */
static bool read_weight_steps(Window *w)
{
    if (w->weights == UINT32_MAX) return true;
    const AffineMap *map = linalg_operand_map(w->op, w->weights);
    const Type *type = op_operand(w->op, w->weights)->type;
    for (uint32_t r = 0; r < map->result_count; r++) {
        int64_t steps[KERNEL_MAX_LOOPS];
        if (!read_steps(w, map->results[r], steps)) return false;
        for (uint32_t i = 0; i < w->kernel.loop_count; i++)
            w->weight[i] = w->weight[i] * type->u.shaped.dims[r] + steps[i];
    }
    return true;
}

static bool read_axis(const Window *w, const AffineMap *map, uint32_t back, KernelIndex *out)
{
    const AffineExpr *expr = to_sa_from_end(map, back);
    *out = (KernelIndex){.parallel = -1, .reduction = -1};
    return !expr || (kernel_index(&w->kernel, expr, out) && out->offset == 0);
}

/* Whether rows or columns of the result are counted by the window's loop. */
static bool is_position(const Window *w, uint32_t back, const KernelIndex *index)
{
    const AffineExpr *expr =
        to_sa_from_end(linalg_operand_map(w->op, linalg_input_count(w->op)), back);
    int64_t steps[KERNEL_MAX_LOOPS];
    if (!read_steps(w, expr, steps)) return false;
    for (uint32_t i = 0; i < w->kernel.loop_count; i++)
        if (w->kernel.extents[i] > 1 && steps[i] != ((int)i == index->parallel ? 1 : 0))
            return false;
    return true;
}

static bool read_maps(Window *w)
{
    const AffineMap *in = linalg_operand_map(w->op, w->data);
    bool is_read = read_axis(w, in, w->in_dims, &w->x) && read_axis(w, in, w->in_dims + 1, &w->y) &&
                   read_channel(w, w->data, w->in_dims, w->in_channel) &&
                   read_channel(w, linalg_input_count(w->op), w->out_dims, w->out_channel) &&
                   read_weight_steps(w);
    bool is_placed =
        is_read && is_position(w, w->out_dims, &w->x) && is_position(w, w->out_dims + 1, &w->y);
    return is_placed || to_sa_refuse(w->op, "reads its input in an order that the array has not");
}

/* Loops that no dimension of the result counts would be a batch, or elements of several maps. All places
 * of a channel have the same weights. */
static bool check_loops(const Window *w)
{
    for (uint32_t i = 0; i < w->kernel.loop_count; i++) {
        bool is_place = !w->kernel.is_reduction[i] && w->out_channel[i] == 0;
        if (is_place && w->kernel.extents[i] > 1 && w->weight[i] != 0)
            return to_sa_refuse(w->op, "has weights that differ from place to place");
        bool counts = w->kernel.is_reduction[i] || (int)i == w->y.parallel ||
                      (int)i == w->x.parallel || w->out_channel[i] != 0;
        if (!counts && w->kernel.extents[i] > 1)
            return to_sa_refuse(w->op, "has a batch, or dimensions beside rows, columns and "
                                       "channels");
    }
    return true;
}

static int64_t extent(const Window *w, int loop)
{
    return loop < 0 ? 1 : w->kernel.extents[loop];
}

/* The window of a layer, and the padding of its input. Of an input that is read as one row, the
 * window is all of it. */
static void set_window(const Window *w, Layer *layer)
{
    const Tensor *in = w->input;
    const KernelIndex *axes[] = {&w->y, &w->x};
    for (int i = 0; i < 2; i++) {
        layer->kernel[i] = extent(w, axes[i]->reduction);
        layer->strides[i] = axes[i]->stride > 0 ? axes[i]->stride : 1;
        layer->dilations[i] = axes[i]->dilation > 0 ? axes[i]->dilation : 1;
    }
    if (in->is_flat) {
        layer->kernel[0] = in->extents.h;
        layer->kernel[1] = in->extents.w;
    }
    if (!in->is_padded) return;
    layer->pads[0] = in->top;
    layer->pads[1] = in->left;
    layer->pad_value = in->pad_value - in->offset;
}

/* Weights. */

/* The place of a product in the layer's weights, whose input has `channels`. */
static int64_t weight_place(const Window *w, const Layer *layer, const int64_t *at)
{
    const Extents *in = &w->input->extents;
    int64_t f = 0, c = 0, each = in->c / layer->groups;
    for (uint32_t i = 0; i < w->kernel.loop_count; i++) {
        f += at[i] * w->out_channel[i];
        c += at[i] * w->in_channel[i];
    }
    int64_t y = w->y.reduction < 0 ? 0 : at[w->y.reduction];
    int64_t x = w->x.reduction < 0 ? 0 : at[w->x.reduction];
    if (w->input->is_flat) {
        y = c / (in->w * in->c);
        x = c / in->c % in->w;
        c %= in->c;
    }
    if (layer->is_depthwise) each = 1;
    return ((f * layer->kernel[0] + y) * layer->kernel[1] + x) * each + c % each;
}

/* The next values of the loops that products differ in. False: there are none. */
static bool next_product(const Window *w, int64_t *at)
{
    for (uint32_t i = w->kernel.loop_count; i-- > 0;) {
        if (!w->kernel.is_reduction[i] && w->out_channel[i] == 0) continue;
        if (++at[i] < w->kernel.extents[i]) return true;
        at[i] = 0;
    }
    return false;
}

static bool is_depthwise(const Window *w)
{
    if (w->lw->size.rows > w->lw->size.cols || w->input->is_flat) return false;
    for (uint32_t i = 0; i < w->kernel.loop_count; i++)
        if (w->in_channel[i] != w->out_channel[i]) return false;
    return true;
}

static int64_t weight_count(const Window *w, const Layer *layer)
{
    return w->out.c * layer->kernel[0] * layer->kernel[1] *
           (layer->is_depthwise ? 1 : w->input->extents.c / layer->groups);
}

/* The loop that counts groups, which are channels of both maps. 1: there are none. */
static int64_t count_groups(const Window *w)
{
    int64_t groups = 1;
    for (uint32_t i = 0; i < w->kernel.loop_count; i++) {
        int64_t count = w->kernel.extents[i];
        if (count == 1 || w->in_channel[i] == 0 || w->out_channel[i] == 0) continue;
        bool is_outermost =
            w->in_channel[i] * count == w->in.c && w->out_channel[i] * count == w->out.c;
        if (groups > 1 || !is_outermost) return 1;
        groups = count;
    }
    return groups;
}

/* One group after the other takes fewer passes than all with zeros between them, unless groups are
 * small beside the array; weights of one plane have no zeros. */
static bool has_groups(const Window *w, int64_t groups)
{
    const SaOverlay *size = &w->lw->size;
    int64_t lanes = size->rows > size->cols ? size->rows : size->cols;
    int64_t in = ceil_div(w->in.c, lanes), out = ceil_div(w->out.c, lanes);
    int64_t each = ceil_div(w->in.c / groups, lanes) * ceil_div(w->out.c / groups, lanes);
    return groups > 1 && !w->input->is_flat && (size->weight_bits == 1 || groups * each < in * out);
}

/* -1 and 1 are one bit, as `i1` has them. */
static void note_width(Layer *layer, int64_t weight)
{
    bool is_sign = weight == 1 || weight == -1;
    uint32_t bits =
        is_sign ? 1 : (uint32_t)payload_range_bits(i64_min(weight, 0), i64_max(weight, 0));
    if (bits > layer->weight_bits) layer->weight_bits = bits;
}

/* `factors`: of each element of the constant operand, or one. */
static bool gather_weights(const Window *w, Layer *layer, const Number *factors)
{
    enum { MOST = 1 << 28 };
    layer->is_depthwise = is_depthwise(w);
    int64_t groups = layer->is_depthwise ? 1 : count_groups(w);
    if (has_groups(w, groups)) layer->groups = groups;
    int64_t count = weight_count(w, layer), at[KERNEL_MAX_LOOPS] = {0};
    if (count > MOST)
        return to_sa_refuse(w->op, "needs %lld weights, more than %d", (long long)count, MOST);
    int64_t *weights = ARENA_ARRAY(w->lw->arena, int64_t, count);
    for (int64_t i = 0; i < count; i++) weights[i] = 0;
    layer->has_groups = layer->is_depthwise || groups > 1;
    do {
        int64_t index = 0;
        for (uint32_t i = 0; i < w->kernel.loop_count; i++) index += at[i] * w->weight[i];
        int64_t weight = factors->values[factors->count > 1 ? index : 0];
        weights[weight_place(w, layer, at)] += weight;
        layer->products++;
        note_width(layer, weight);
    } while (next_product(w, at));
    for (int64_t i = 0; i < count; i++)
        if (!sa_weight_fits(&w->lw->size, weights[i]))
            return to_sa_refuse(w->op, "has the weight %lld, and the overlay's have %u bits",
                                (long long)weights[i], w->lw->size.weight_bits);
    layer->weights = weights;
    return true;
}

/* Least and greatest of the sums of each channel; of all of them, with those on the way there; and
 * what an addend of all elements of the map adds to each channel. */
typedef struct Sums {
    int64_t lo, hi;
    int64_t *lows, *highs, *offsets;
} Sums;

static Sums bound_sums(const Window *w, const Layer *layer, int64_t addend)
{
    int64_t lo = w->lo - w->input->offset, hi = w->hi - w->input->offset;
    Sums sums = {.offsets = ARENA_ARRAY(w->lw->arena, int64_t, 3 * w->out.c)};
    sums.lows = sums.offsets + w->out.c;
    sums.highs = sums.lows + w->out.c;
    int64_t each = weight_count(w, layer) / w->out.c;
    for (int64_t f = 0; f < w->out.c; f++) {
        int64_t low = 0, high = 0, total = 0, partial_low = 0, partial_high = 0;
        for (int64_t i = f * each; i < (f + 1) * each; i++) {
            int64_t a = layer->weights[i] * lo, b = layer->weights[i] * hi;
            low += i64_min(a, b);
            high += i64_max(a, b);
            partial_low += i64_min(i64_min(a, b), 0);
            partial_high += i64_max(i64_max(a, b), 0);
            total += layer->weights[i];
        }
        sums.offsets[f] = total * addend;
        sums.lows[f] = low;
        sums.highs[f] = high;
        sums.lo = i64_min(sums.lo, partial_low);
        sums.hi = i64_max(sums.hi, partial_high);
    }
    return sums;
}

static bool check_sums(const Window *w, const Sums *sums)
{
    int64_t bits = payload_range_bits(sums->lo, sums->hi);
    return bits <= w->lw->size.acc ||
           to_sa_refuse(w->op, "has sums of %lld bits, and the overlay's accumulators %u",
                        (long long)bits, w->lw->size.acc);
}

/* The two factors of a product in the body, or the one summand; the constant one as *factors. */
typedef struct Factors {
    Number constant;
    int64_t addend; /* to each element of the map */
} Factors;

/* Which of the factors is no constant; -1: both are, or none. */
static int find_variable(const Numbers *n, const uint32_t parts[2])
{
    bool first = number_at(n, parts[0])->kind == NUMBER_CONST;
    bool second = number_at(n, parts[1])->kind == NUMBER_CONST;
    return first == second ? -1 : first;
}

/* Whether a factor is the map's element, or that and a constant. */
static bool is_element(const Numbers *n, uint32_t part, int64_t *addend)
{
    const Number *x = number_at(n, part);
    *addend = 0;
    if (x->kind == NUMBER_SUMS) return true;
    return x->kind == NUMBER_ADD && number_at(n, x->a)->kind == NUMBER_SUMS &&
           number_is_const(n, x->b, addend);
}

bool to_sa_read_behind(Window *w, Layer *layer, Layer *first)
{
    const Number *number = number_at(&first->numbers, first->result);
    Tensor *input = ARENA_NEW(w->lw->arena, Tensor);
    *input = (Tensor){.layer = first,
                      .lo = number->lo,
                      .hi = number->hi,
                      .width = w->input->width,
                      .extents = first->extents,
                      .is_flat = w->input->is_flat};
    if (!to_sa_materialize(w->lw, input)) return false;
    layer->input = w->input = input;
    layer->pads[0] = layer->pads[1] = layer->pad_value = 0;
    w->lo = input->lo;
    w->hi = input->hi;
    return true;
}

/* Those of the body's arguments that are constants of one number, but for the weights. */
static void enter_numbers(const Window *w, Numbers *n, uint32_t args[KERNEL_MAX_LOOPS])
{
    for (uint32_t i = 0; i < linalg_body(w->op)->arg_count; i++) {
        const Attr *constant = i < linalg_input_count(w->op) && linalg_reads_operand(w->op, i)
                                   ? fold_constant_of(op_operand(w->op, i))
                                   : NULL;
        args[i] = NO_NUMBER;
        if (constant && i != w->weights)
            args[i] = number_const(n, constant->kind == ATTR_INTEGER ? attr_int_value(constant)
                                                                     : dense_i64(constant, 0));
    }
}

/* A factor that is another function of the map's element. */
static bool compute_first(Window *w, Layer *layer, const Value *factor)
{
    uint32_t args[KERNEL_MAX_LOOPS];
    const Block *body = linalg_body(w->op);
    Layer *first = to_sa_copy(w->lw, w->input, w->op);
    enter_numbers(w, &first->numbers, args);
    args[w->data] = first->result;
    first->result = payload_number(&first->numbers, factor, body, args);
    if (first->result == NO_NUMBER)
        return to_sa_refuse(w->op,
                            "multiplies what the array cannot, which takes elements of a map "
                            "and constants");
    return to_sa_read_behind(w, layer, first);
}

/* The constant operand's elements, as the body reads them, are one number with a value for each. */
static uint32_t weight_leaf(const Window *w, Numbers *n)
{
    const Attr *attr = fold_constant_of(op_operand(w->op, w->weights));
    if (attr->kind == ATTR_INTEGER) return number_const(n, attr_int_value(attr));
    if (!dense_is_complete(attr) || dense_count(attr) < 1)
        return number_fail(n, "has weights without their elements");
    size_t count = (size_t)dense_count(attr);
    int64_t *values = ARENA_ARRAY(n->arena, int64_t, count);
    dense_i64_row(attr, 0, count, values);
    return number_consts(n, values, count);
}

const Value *to_sa_summand(const Window *w)
{
    const Op *sum = value_def(op_operand(linalg_body(w->op)->last, 0));
    const Value *out = linalg_body(w->op)->args[linalg_input_count(w->op)];
    if (!sum || sum->def != ARITH(ADDI)) return NULL;
    for (uint32_t i = 0; i < 2; i++)
        if (op_operand(sum, i) == out) return op_operand(sum, 1 - i);
    return NULL;
}

static bool read_factors(Window *w, Layer *layer, Numbers *n, Factors *out)
{
    uint32_t args[KERNEL_MAX_LOOPS], parts[2];
    const Block *body = linalg_body(w->op);
    const Value *value = to_sa_summand(w);
    const Op *product = value_def(value);
    enter_numbers(w, n, args);
    args[w->data] = number_leaf(n, NUMBER_SUMS, w->lo, w->hi);
    if (w->weights != UINT32_MAX) args[w->weights] = weight_leaf(w, n);
    bool is_product = product && product->def == ARITH(MULI);
    parts[0] = payload_number(n, is_product ? op_operand(product, 0) : value, body, args);
    parts[1] =
        is_product ? payload_number(n, op_operand(product, 1), body, args) : number_const(n, 1);
    if (parts[0] == NO_NUMBER || parts[1] == NO_NUMBER)
        return to_sa_refuse(w->op, "%s", n->why.len > 0 ? n->why.data : "reads what it computes");
    int variable = find_variable(n, parts);
    if (variable < 0)
        return to_sa_refuse(w->op,
                            "multiplies what the array cannot, which takes elements of a map "
                            "and constants");
    out->constant = *number_at(n, parts[1 - variable]);
    return is_element(n, parts[variable], &out->addend) ||
           compute_first(w, layer, is_product ? op_operand(product, (uint32_t)variable) : value);
}

bool to_sa_begin(const Op *generic, int64_t *begin)
{
    const Op *init = value_def(op_operand(generic, linalg_input_count(generic)));
    const Value *fill = init ? kernel_fill_value(init) : NULL;
    const Attr *constant = fill ? fold_constant_of(fill) : NULL;
    if (!constant || constant->kind != ATTR_INTEGER)
        return to_sa_refuse(generic, "begins with other than a constant");
    *begin = attr_int_value(constant);
    return true;
}

/* Adds a constant of each channel, and what the sums begin with. */
static bool finish(Window *w, Layer *layer, uint32_t number)
{
    Numbers *n = &layer->numbers;
    int64_t begin;
    if (!to_sa_begin(w->op, &begin)) return false;
    number = number_binary(n, NUMBER_ADD, number, number_const(n, begin));
    layer->result = number;
    return number != NO_NUMBER || to_sa_refuse(w->op, "%s", n->why.data);
}

static bool fill_conv(Window *w, Layer *layer)
{
    Numbers scratch = {.arena = w->lw->arena, .channel_loop = -1};
    Factors factors;
    bool ok =
        read_factors(w, layer, &scratch, &factors) && gather_weights(w, layer, &factors.constant);
    numbers_free(&scratch);
    if (!ok) return false;
    Numbers *n = &layer->numbers;
    Sums sums = bound_sums(w, layer, factors.addend + w->input->offset);
    if (!check_sums(w, &sums)) return false;
    uint32_t leaf = number_leaf_of_channels(n, NUMBER_SUMS, sums.lows, sums.highs);
    uint32_t offsets = number_consts(n, sums.offsets, (size_t)w->out.c);
    to_sa_fold_input(w->lw, op_operand(w->op, w->data), layer);
    return finish(w, layer, number_binary(n, NUMBER_ADD, leaf, offsets));
}

/* The last dimensions of a result that loops of the input's channels count, at least one. */
static uint32_t kept_channels(const Window *w)
{
    const AffineMap *in = linalg_operand_map(w->op, w->data);
    const AffineMap *out = linalg_operand_map(w->op, linalg_input_count(w->op));
    uint32_t kept = 0;
    for (bool is_kept = true; is_kept && kept < w->in_dims && kept < out->result_count;
         kept += is_kept) {
        is_kept = false;
        for (uint32_t back = 0; back < w->in_dims; back++)
            is_kept |= to_sa_from_end(in, back) == to_sa_from_end(out, kept);
    }
    return kept > 1 ? kept : 1;
}

/* Results have as many dimensions in front of their channels as the input, unless they lack those that are
 * reduced. */
static bool find_channels(Window *w)
{
    const Value *data = op_operand(w->op, w->data), *result = op_result(w->op, 0);
    w->in_dims = to_sa_channel_dims(w->lw, data);
    uint32_t front = data->type->u.shaped.rank - w->in_dims, rank = result->type->u.shaped.rank;
    w->out_dims = rank > front ? rank - front : kept_channels(w);
    to_sa_set_channel_dims(w->lw, result, w->out_dims);
    return extents_of(data->type, w->in_dims, &w->in) &&
           extents_of(result->type, w->out_dims, &w->out);
}

Layer *to_sa_window(Lowering *lw, const Op *generic)
{
    Window w = {.lw = lw, .op = generic};
    if (!kernel_analyze(generic, &w.kernel) || !find_operands(&w)) return NULL;
    const Value *data = op_operand(generic, w.data);
    w.input = to_sa_tensor(lw, data);
    if (!w.input) return NULL;
    if (!find_channels(&w)) {
        to_sa_refuse(generic, "has a batch, or dimensions beside rows, columns and channels");
        return NULL;
    }
    if (linalg_body(generic)->arg_count > KERNEL_MAX_LOOPS) {
        to_sa_refuse(generic, "has more than %d operands", KERNEL_MAX_LOOPS);
        return NULL;
    }
    if (!read_maps(&w) || !check_loops(&w) || !to_sa_materialize(lw, w.input)) return NULL;
    bool is_pool = !to_sa_summand(&w) || (to_sa_keeps_channels(&w) && !w.input->is_flat);
    Layer *layer = to_sa_add_layer(lw, is_pool ? SA(POOL) : SA(CONV), generic);
    layer->input = w.input;
    layer->extents = w.out;
    layer->numbers.channels = (size_t)w.out.c;
    set_window(&w, layer);
    w.lo = w.input->is_padded ? i64_min(w.input->lo, w.input->pad_value) : w.input->lo;
    w.hi = w.input->is_padded ? i64_max(w.input->hi, w.input->pad_value) : w.input->hi;
    if (is_pool && (w.input->is_flat || !to_sa_keeps_channels(&w))) {
        to_sa_refuse(generic, "reduces channels by other than sums");
        return NULL;
    }
    return (is_pool ? to_sa_fill_pool : fill_conv)(&w, layer) ? layer : NULL;
}
