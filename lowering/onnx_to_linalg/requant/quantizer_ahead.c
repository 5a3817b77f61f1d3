/* Quantizers that are applied earlier than they stand: a node that moves elements, joins tensors or
 * takes a maximum works on the quantizer's integers then. Functions that are the same for all elements
 * are moved in front of the former with the quantizer behind them.
 * A maximum is moved behind the quantizer together with what stands between, element-wise functions
 * f of constants that rise or fall in each channel:
 *   quantize(f(max(x))) = max(quantize(f(x)))           where f rises
 *                       = s - max(s - quantize(f(x)))   where f falls, for any s
 * (FINN-R, section 4.2). The requantizer gives s - level in one, so only what is behind the maximum
 * costs anything.
 * Tests: lit/lowering/onnx_to_linalg/requant/onnx-to-linalg-quantizer-ahead.mir,
 * test/e2e/places_streamline.py */
#include <assert.h>
#include <math.h>

#include "dialects/arith/arith.h"
#include "ir/asm/print/print.h"
#include "lowering/onnx_to_linalg/requant/internal.h"
#include "lowering/onnx_to_linalg/values/values.h"

static bool same_constant(const Value *a, const Value *b)
{
    const Attr *left = onnx_constant(a), *right = onnx_constant(b);
    return a == b || (left && left == right);
}

/* Same node but for name and input. */
static bool same_quantizer(const Op *a, const Op *b)
{
    if (a->def != b->def || a->operand_count != b->operand_count) return false;
    for (uint32_t i = 1; i < a->operand_count; i++)
        if (!same_constant(op_operand(a, i), op_operand(b, i))) return false;
    return a->props == b->props;
}

bool quantizer_passes_move(const Op *op)
{
    switch (op->def - onnx_ops) {
    case ONNX_CONCAT:
    case ONNX_DEPTH_TO_SPACE:
    case ONNX_DROPOUT:
    case ONNX_EXPAND:
    case ONNX_FLATTEN:
    case ONNX_IDENTITY:
    case ONNX_RESHAPE:
    case ONNX_SLICE:
    case ONNX_SPACE_TO_DEPTH:
    case ONNX_SQUEEZE:
    case ONNX_TILE:
    case ONNX_TRANSPOSE:
    case ONNX_UNSQUEEZE: return true;
    case ONNX_MAX_POOL: /* indices are those of the largest numbers, not of the largest levels */
        return op->result_count == 1 || !value_has_uses(op_result(op, 1));
    case ONNX_RESIZE:
    case ONNX_UPSAMPLE: return str_eq_c(onnx_string(op, "mode", "nearest"), "nearest");
    default: return false;
    }
}

/* The quantizer that all uses of a value apply with the same parameters; NULL: there is none. */
static Op *quantizer_on(const Value *value)
{
    Op *found = NULL;
    FOR_EACH_USE(use, value) {
        bool quantizes = use_index(use) == 0 && lower_is_quantizer(use->owner);
        if (!quantizes || (found && !same_quantizer(found, use->owner))) return NULL;
        found = use->owner;
    }
    return found;
}

Op *quantizer_find(const Value *value)
{
    for (;;) {
        Op *found = quantizer_on(value);
        if (found || !value_has_one_use(value) || !quantizer_passes_move(value->uses->owner))
            return found;
        value = op_result(value->uses->owner, 0);
    }
}

/* A function between a node and the quantizer behind it. */
typedef struct Between {
    Op *node;
    uint32_t operand; /* that is computed from the node */
} Between;

/* Nodes on the way to a quantizer, and functions among them: each mover looks for itself. */
enum { MAX_PATH = 64, MAX_BETWEEN = 16 };

/* What stands behind lw->node, a maximum or one that moves elements. */
typedef struct QuantizerPath {
    OnnxLowering *lw;
    const bool *pooled; /* dimensions over which the maximum is; NULL: there is none */
    Between between[MAX_BETWEEN];
    uint32_t count;
    const Value *last; /* operand of the quantizer */
    Op *quantizer;
    bool has_moved;  /* dimensions are no longer those of the maximum */
    bool is_closed;  /* functions behind may not be moved: there is another maximum */
    bool has_joined; /* other tensors reach the quantizer, too */
} QuantizerPath;

/* Whether constants behind the maximum that differ along the dimension `axis` of its result differ
 * along the same one of its operand, over which it is not taken. */
static bool keeps_axis(const QuantizerPath *path, uint32_t axis)
{
    const Op *maximum = path->lw->node;
    uint32_t first =
        op_result(maximum, 0)->type->u.shaped.rank == op_operand(maximum, 0)->type->u.shaped.rank
            ? axis
            : 0;
    if (path->has_moved) return false;
    for (uint32_t i = first; i <= axis; i++)
        if (path->pooled[i]) return false;
    return true;
}

/* A function of constants; behind a maximum it rises or falls in each channel. */
static bool passes_function(QuantizerPath *path, Op *node, uint32_t operand)
{
    OnnxLowering *lw = path->lw;
    Op *maximum = lw->node;
    int axis;
    lw->node = node;
    bool passes = epilogue_takes(lw, operand, &axis) && !path->is_closed &&
                  (!path->pooled || monotonicity_has_direction(lw, operand)) &&
                  path->count < MAX_BETWEEN;
    lw->node = maximum;
    if (!passes || (axis >= 0 && !keeps_axis(path, (uint32_t)axis))) return false;
    path->between[path->count++] = (Between){node, operand};
    return true;
}

static bool passes_mover(QuantizerPath *path, const Op *node)
{
    path->has_moved = true;
    path->has_joined |= node->def == ONNX(CONCAT);
    path->is_closed |= path->has_joined || node->def == ONNX(MAX_POOL);
    return quantizer_passes_move(node);
}

/* Whether the quantizer's own constants allow it to stand in front of the node. */
static bool passes_quantizer(const QuantizerPath *path)
{
    const Op *op = path->quantizer;
    if (op->def == ONNX(TRUNC) || ptrmap_has(&path->lw->absorbed, op)) return false;
    if (op->def != ONNX(MULTI_THRESHOLD)) return true;
    const Array *rows = lower_array(path->lw, op_operand(op, 1));
    uint32_t axis;
    return rows && !path->has_joined && onnx_multi_threshold_axis(op, &axis) &&
           (rows->type->u.shaped.dims[0] == 1 || keeps_axis(path, axis));
}

static bool find_path(QuantizerPath *path)
{
    uint32_t length = 0;
    path->last = op_result(path->lw->node, 0);
    while (!(path->quantizer = quantizer_on(path->last))) {
        const Use *use = path->last->uses;
        if (length++ == MAX_PATH || !value_has_one_use(path->last) || !use->owner->def ||
            use->owner->def->dialect != &onnx_dialect ||
            !(passes_function(path, use->owner, use_index(use)) || passes_mover(path, use->owner)))
            return false;
        path->last = op_result(use->owner, 0);
    }
    return passes_quantizer(path);
}

/* Whether the functions behind a maximum fall in a channel. */
static bool falls_in(const QuantizerPath *path, int64_t channel)
{
    OnnxLowering *lw = path->lw;
    Op *maximum = lw->node;
    bool falls = false;
    for (uint32_t i = 0; i < path->count; i++) {
        lw->node = path->between[i].node;
        falls ^= monotonicity_falls(lw, path->between[i].operand, channel);
    }
    lw->node = maximum;
    return falls;
}

/* x with the functions as deferred ops. False: an epilogue cannot have them all. */
static bool extend_epilogue(const QuantizerPath *path, Fixed *x)
{
    OnnxLowering *lw = path->lw;
    Op *maximum = lw->node;
    bool done = true;
    for (uint32_t i = 0; done && i < path->count; i++) {
        lw->node = path->between[i].node;
        done = epilogue_extend(lw, x, path->between[i].operand, x);
    }
    lw->node = maximum;
    return done;
}

/* Sets which channels of the integers are mirrored, and about what. */
static void set_mirror(const QuantizerPath *path, const Fixed *x, QuantizerSpec *spec)
{
    OnnxLowering *lw = path->lw;
    const Epilogue *epilogue = x->epilogue;
    QuantizerMirror *mirror = &spec->mirror;
    bool any = false;
    if (path->count == 0) return;
    mirror->axis = epilogue->axis;
    mirror->channels = epilogue->channels;
    bool *has = ARENA_ARRAY(&lw->pass->scratch, bool, mirror->channels);
    for (int64_t c = 0; c < mirror->channels; c++) any |= has[c] = falls_in(path, c);
    mirror->has = any ? has : NULL;
    mirror->sum = spec->has_grid ? spec->quant.low + spec->quant.high - 2 * spec->quant.zero : 0;
}

/* Integers of few bits are worth a requantizer before the maximum; a function that would have to be
 * computed in floating point always is. */
static bool is_narrower(const Fixed *x, const QuantizerSpec *spec)
{
    if (x->epilogue || !spec->has_grid) return true;
    int64_t levels = spec->quant.high - spec->quant.low;
    return levels < x->high - x->low;
}

static void absorb_node(OnnxLowering *lw, const Op *node, uint32_t operand)
{
    ptrmap_put(&lw->absorbed, node, (void *)(uintptr_t)(operand + 1));
}

/* The nodes behind see the quantizer's integers. */
static void absorb(const QuantizerPath *path)
{
    for (uint32_t i = 0; i < path->count; i++)
        absorb_node(path->lw, path->between[i].node, path->between[i].operand);
    if (path->has_joined) return;
    FOR_EACH_USE(use, path->last) absorb_node(path->lw, use->owner, 0);
}

/* Lowers the quantizer on x, in front of the node. Where that cannot be done nothing is said, as it is
 * tried again in its place. */
static bool build_early(const QuantizerPath *path, const Fixed *x, const QuantizerSpec *spec,
                        Fixed *out)
{
    OnnxLowering *lw = path->lw;
    Op *node = lw->node;
    bool exact = false;
    DiagHold messages;
    diag_hold_begin(&messages, lw->ctx);
    lw->node = path->quantizer;
    bool done = quantizer_build(lw, x, spec, out, &exact) && exact;
    lw->node = node;
    diag_hold_end(&messages);
    if (done) diag_hold_report(&messages);
    diag_hold_free(&messages);
    return done;
}

/* Lowers the quantizer on x, the operand of the maximum. */
static bool apply_path(const QuantizerPath *path, Fixed *x, QuantizerMirror *mirror)
{
    OnnxLowering *lw = path->lw;
    Op *maximum = lw->node;
    QuantizerSpec spec;
    Fixed deferred = *x;
    lw->node = path->quantizer;
    bool done = quantizer_spec_of(lw, &spec) && is_narrower(x, &spec);
    lw->node = maximum;
    if (!done || !extend_epilogue(path, &deferred)) return false;
    set_mirror(path, &deferred, &spec);
    done = build_early(path, &deferred, &spec, x);
    *mirror = spec.mirror;
    return done;
}

bool quantizer_move_before(OnnxLowering *lw, const bool *pooled, Fixed *x, QuantizerMirror *mirror)
{
    QuantizerPath path = {.lw = lw, .pooled = pooled};
    Fixed levels = *x;
    bool is_along_pooled = x->epilogue && x->epilogue->axis >= 0 && pooled[x->epilogue->axis];
    *mirror = (QuantizerMirror){.axis = -1};
    if (!find_path(&path) || (is_along_pooled && path.count > 0) ||
        !apply_path(&path, &levels, mirror))
        return false;
    absorb(&path);
    *x = levels;
    return true;
}

/* One bit per channel: whether it is mirrored. *all: there is no other. */
static Value *mirror_flags(OnnxLowering *lw, const QuantizerMirror *mirror, bool *all)
{
    int64_t *flags = ARENA_ARRAY(&lw->pass->scratch, int64_t, mirror->channels);
    *all = true;
    for (int64_t c = 0; c < mirror->channels; c++) {
        flags[c] = mirror->has[c] ? -1 : 0;
        *all &= mirror->has[c];
    }
    const Type *type = type_tensor(type_i(lw->ctx, 1), &mirror->channels, 1, NULL);
    return *all ? NULL
                : arith_constant(&lw->b, attr_dense_i64(type, flags, (size_t)mirror->channels));
}

void quantizer_mirror_back(OnnxLowering *lw, const QuantizerMirror *mirror, Fixed *x)
{
    int64_t low = mirror->sum - x->high, high = mirror->sum - x->low;
    uint32_t own = type_width(type_elem(x->value->type)) + x->is_unsigned, width;
    bool all;
    if (!mirror->has) return;
    Value *inputs[] = {x->value, mirror_flags(lw, mirror, &all)};
    x->low = all || low < x->low ? low : x->low;
    x->high = all || high > x->high ? high : x->high;
    width = fixed_signed_width(low < x->low ? low : x->low, high > x->high ? high : x->high);
    const Type *wide = type_i(lw->ctx, own > width ? own : width);
    width = fixed_signed_width(x->low, x->high);
    x->is_unsigned &= x->low >= 0;
    const Type *elem = type_i(lw->ctx, width - (x->is_unsigned && width > 2));
    Generic g;
    generic_along(lw, &g, inputs, 2 - all, mirror->axis < 0 ? 0 : (uint32_t)mirror->axis);
    generic_open(lw, &g, lower_build_empty(lw, type_with_elem(x->value->type, elem)));
    Builder *b = &g.body;
    Value *q = lower_build_extend(b, generic_arg(&g, 0), wide,
                                  own > type_width(type_elem(x->value->type)));
    Value *mirrored =
        build_binary(b, ARITH(SUBI), wide, arith_constant_int(b, wide, mirror->sum), q);
    if (!all) mirrored = arith_select(b, generic_arg(&g, 1), mirrored, q);
    x->value = generic_close(&g, lower_build_resize(b, mirrored, elem));
}

/* Lowers the functions and the quantizer on operand `index` of the node. Its integers are its own
 * levels: where it does not see them again, it needs no grid on which these stay as they are. */
static bool apply_to_operand(const QuantizerPath *path, uint32_t index, Fixed *out)
{
    OnnxLowering *lw = path->lw;
    const Fixed *v = lower_fixed(lw, index);
    Op *node = lw->node;
    QuantizerSpec spec;
    Fixed deferred = v ? *v : (Fixed){0};
    if (!v || !extend_epilogue(path, &deferred)) return false;
    lw->node = path->quantizer;
    bool known = quantizer_spec_of(lw, &spec) && (spec.has_grid || !path->has_joined);
    lw->node = node;
    return known && build_early(path, &deferred, &spec, out);
}

/* The integer that the functions and the quantizer make of a number. False: they make none. */
static bool apply_to_number(const QuantizerPath *path, double number, int64_t *out)
{
    OnnxLowering *lw = path->lw;
    Op *node = lw->node, *quantizer = path->quantizer;
    QuantizerSpec spec;
    const int64_t dims[] = {1, 1, 1};
    const Type *elem = type_elem(op_operand(quantizer, 0)->type);
    lw->node = quantizer;
    bool known = type_is_float(elem) && quantizer_spec_of(lw, &spec);
    lw->node = node;
    const EpilogueOp *step = NULL;
    for (uint32_t i = 0; known && i < path->count; i++) {
        step = epilogue_append_op(lw, step, path->between[i].node, path->between[i].operand);
        known = step != NULL;
    }
    step = known ? epilogue_append_op(lw, step, quantizer, 0) : NULL;
    if (!step) return false;
    Array *x = array_new(type_tensor(elem, dims, COUNT_OF(dims), NULL));
    array_set_f64(x, 0, number);
    Array *y = epilogue_apply(lw, step, x);
    if (!y) return false;
    *out = array_is_float(y) ? llround(array_get_f64(y, 0) / spec.scale)
                             : array_get_i64(y, 0) - spec.zero;
    array_unref(y);
    return true;
}

bool quantizer_apply_ahead(OnnxLowering *lw, Fixed *operands, uint32_t count, const double *number,
                           int64_t *integer)
{
    QuantizerPath path = {.lw = lw, .has_moved = true};
    if (!find_path(&path) || (number && !apply_to_number(&path, *number, integer))) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!apply_to_operand(&path, i, &operands[i])) return false;
    return true;
}

bool quantizer_narrows(OnnxLowering *lw)
{
    QuantizerPath path = {.lw = lw, .has_moved = true};
    const Fixed *x = lower_fixed(lw, 0);
    Op *node = lw->node;
    QuantizerSpec spec;
    if (!x || !find_path(&path)) return false;
    lw->node = path.quantizer;
    bool narrows = quantizer_spec_of(lw, &spec) && is_narrower(x, &spec);
    lw->node = node;
    return narrows;
}

void quantizer_absorb_ahead(OnnxLowering *lw)
{
    QuantizerPath path = {.lw = lw, .has_moved = true};
    bool found = find_path(&path);
    assert(found);
    if (found) absorb(&path);
}
