/* One kernel of convert-linalg-to-dfg: finds how its operands stream, and builds its processes. A
 * streamed operand whose map slides, strides or is padded goes through a window process, so that
 * the compute process sees a projected permutation.
 * Tests: lit/lowering/linalg_to_dfg */
#include <assert.h>
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_dfg/internal.h"

bool to_dfg_is_constant_value(const Value *value)
{
    const Op *def = value_def(value);
    if (!def) return false;
    const Value *fill = kernel_fill_value(def);
    return fill ? to_dfg_is_constant_value(fill)
                : def->def == TENSOR(EMPTY) || op_has_trait(def, TRAIT_CONSTANT_LIKE);
}

static bool look_through_pad(Value *operand, Value **padded, Padding *out)
{
    const Op *pad = value_def(operand);
    *out = (Padding){.value = NULL};
    *padded = operand;
    if (!pad || pad->def != TENSOR(PAD)) return true;
    *padded = op_operand(pad, 0);
    return to_dfg_read_padding(pad, out);
}

/* A dimension that streams as it is: a bare loop or the constant 0, unpadded. */
static bool is_plain(const AffineExpr *expr, const Padding *pad, uint32_t dim)
{
    bool bare = expr->kind == AFFINE_DIM || (expr->kind == AFFINE_CONST && expr->value == 0);
    return bare && pad->low[dim] == 0 && pad->high[dim] == 0;
}

static bool bad_index(const Kernel *kernel, const AffineMap *map, uint32_t operand, uint32_t dim)
{
    StrBuf text = {0};
    affine_print(&text, map->results[dim]);
    op_error(
        kernel->op,
        "cannot stream operand #%u: result #%u of its map %s is '%.*s', which is not a loop nor "
        "stride * parallel loop + dilation * reduction loop + offset, factors below 2^31",
        operand, dim, map_str(kernel->op->ctx, map), STR_ARG(strbuf_str(&text)));
    strbuf_free(&text);
    return false;
}

static const AffineExpr *loop_expr(Context *ctx, int loop)
{
    return loop < 0 ? affine_const(ctx, 0) : affine_dim(ctx, (uint32_t)loop);
}

/* One window dimension: position and kernel expressions, parameters. */
static void window_dim(const Kernel *kernel, const KernelIndex *index, const Padding *pad,
                       uint32_t dim, StreamInput *out, const AffineExpr **position,
                       const AffineExpr **tap)
{
    WindowParams *w = &out->window;
    uint32_t k = dim - w->first;
    w->out[k] = index->parallel < 0 ? 1 : kernel->extents[index->parallel];
    w->kernel[k] = index->reduction < 0 ? 1 : kernel->extents[index->reduction];
    w->stride[k] = index->parallel < 0 ? 1 : index->stride;
    w->dilation[k] = index->reduction < 0 ? 1 : index->dilation;
    w->low[k] = pad->low[dim] - index->offset;
    int64_t span = (w->kernel[k] - 1) * w->dilation[k] + 1;
    w->high[k] = (w->out[k] - 1) * w->stride[k] + span - w->in[dim] - w->low[k];
    *position = loop_expr(kernel->op->ctx, index->parallel);
    *tap = loop_expr(kernel->op->ctx, index->reduction);
}

static bool window_is_trivial(const WindowParams *w)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (w->kernel[i] != 1 || w->stride[i] != 1 || w->low[i] != 0 || w->high[i] != 0)
            return false;
    return true;
}

/* First and last dimension that is not plain; false if all are. */
static bool window_span(const AffineMap *map, const Padding *pad, uint32_t *first, uint32_t *last)
{
    bool found = false;
    for (uint32_t i = 0; i < map->result_count; i++) {
        if (is_plain(map->results[i], pad, i)) continue;
        *first = found ? *first : i;
        *last = i;
        found = true;
    }
    return found;
}

/* Operand of the compute process: positions in place of window dimensions, kernel after them. */
static void windowed_operand(StreamInput *in, const AffineMap *map,
                             const AffineExpr *const *positions, const AffineExpr *const *taps)
{
    const WindowParams *w = &in->window;
    const Type *source = in->reshaped->type;
    const AffineExpr *results[2 * DFG_MAX_RANK];
    int64_t dims[2 * DFG_MAX_RANK];
    uint32_t n = 0;
    in->has_window = !window_is_trivial(w);
    for (uint32_t i = 0; i < w->rank; i++) {
        bool windowed = i >= w->first && i < w->first + w->count;
        results[n] = windowed ? positions[i - w->first] : map->results[i];
        dims[n++] = windowed ? w->out[i - w->first] : w->in[i];
        for (uint32_t k = 0; in->has_window && i + 1 == w->first + w->count && k < w->count; k++) {
            results[n] = taps[k];
            dims[n++] = w->kernel[k];
        }
    }
    in->map = map_get(map->ctx, map->dim_count, 0, n, results);
    in->operand = type_tensor(type_elem(source), dims, n, NULL);
}

const Attr *to_dfg_stream_zero(const Type *type)
{
    return type_is_float(type) ? attr_float(type, 0.0) : attr_int(type, 0);
}

/* As dfg.window takes them. An index without a loop has no factor for it. */
static bool is_small(const KernelIndex *index)
{
    return (index->parallel < 0 || index->stride <= INT32_MAX) &&
           (index->reduction < 0 || index->dilation <= INT32_MAX) &&
           index->offset <= DFG_MAX_FRAME && index->offset >= -DFG_MAX_FRAME;
}

/* Fills in the windows of an operand. Returns -1, or the result of its map that is no window. */
static int find_windows(const Kernel *kernel, const AffineMap *map, const Padding *pad,
                        StreamInput *out)
{
    const AffineExpr *positions[DFG_MAX_RANK], *taps[DFG_MAX_RANK];
    uint32_t first = 0, last = 0;
    if (!window_span(map, pad, &first, &last)) return -1;
    out->pad_value = pad->value ? pad->value : to_dfg_stream_zero(type_elem(out->operand));
    out->window =
        (WindowParams){.rank = map->result_count, .count = last - first + 1, .first = first};
    memcpy(out->window.in, out->operand->u.shaped.dims, map->result_count * sizeof(int64_t));
    for (uint32_t i = first; i <= last; i++) {
        KernelIndex index;
        if (!kernel_index(kernel, map->results[i], &index) || !is_small(&index)) return (int)i;
        if (map->results[i]->kind == AFFINE_DIM && index.reduction >= 0) {
            /* A plain reduction between window dimensions: its loop walks the positions. */
            index = (KernelIndex){.parallel = index.reduction, .reduction = -1, .stride = 1};
        }
        window_dim(kernel, &index, pad, i, out, &positions[i - first], &taps[i - first]);
    }
    windowed_operand(out, map, positions, taps);
    return -1;
}

static bool start_input(const Op *generic, uint32_t operand, Kernel *kernel, Padding *pad,
                        StreamInput *out)
{
    *out = (StreamInput){.map = linalg_operand_map(generic, operand)};
    if (!kernel_analyze(generic, kernel)) return false;
    if (out->map->result_count > DFG_MAX_RANK)
        return op_error(generic, "streams a tensor of rank %u; at most %d can",
                        out->map->result_count, DFG_MAX_RANK);
    if (!look_through_pad(op_operand(generic, operand), &out->reshaped, pad)) return false;
    out->operand = out->reshaped->type;
    return true;
}

bool to_dfg_stream_input(const Op *generic, uint32_t operand, Value *source, StreamInput *out)
{
    Kernel kernel;
    Padding pad;
    if (!start_input(generic, operand, &kernel, &pad, out)) return false;
    out->source = source;
    const AffineMap *map = out->map;
    int misfit = find_windows(&kernel, map, &pad, out);
    return misfit < 0 || bad_index(&kernel, map, operand, (uint32_t)misfit);
}

bool to_dfg_can_stream_input(const Op *generic, uint32_t operand, StreamInput *out, bool *fits)
{
    Kernel kernel;
    Padding pad;
    if (!start_input(generic, operand, &kernel, &pad, out)) return false;
    *fits = find_windows(&kernel, out->map, &pad, out) < 0;
    return true;
}

static Op *new_process(SymbolTable *symbols, Str name, const Op *kernel, const Type *const *ports,
                       uint32_t inputs, uint32_t outputs)
{
    Op *process = dfg_create_graph(symbols->op->ctx, DFG(PROCESS), name, kernel->loc, ports, inputs,
                                   outputs, NULL);
    Str source = layer_name_source(kernel);
    if (source.len) op_set_attr(process, DFG_ATTR_NAME, attr_string(kernel->ctx, source));
    symtab_insert(symbols, process);
    return process;
}

static Value *build_pull(Builder *b, Value *port)
{
    const Type *type = dfg_payload(port->type);
    return op_result(build(b, DFG(PULL), &port, 1, &type, 1, NULL, 0), 0);
}

static void build_push(Builder *b, Value *value, Value *port)
{
    Value *operands[2] = {value, port};
    build(b, DFG(PUSH), operands, 2, NULL, 0, NULL, 0);
}

Op *to_dfg_build_fork_process(SymbolTable *symbols, Str name, const Op *kernel, const Type *type,
                              uint32_t copies)
{
    VEC(const Type *) ports = {0};
    *vec_push(&ports) = dfg_end_type(&dfg_type_output, type, NULL);
    for (uint32_t i = 0; i < copies; i++)
        *vec_push(&ports) = dfg_end_type(&dfg_type_input, type, NULL);
    Op *process = new_process(symbols, name, kernel, ports.data, 1, copies);
    vec_free(&ports);
    Builder b = builder_at_end(region_entry(op_region(process, 0)), kernel->loc);
    Value *value = build_pull(&b, dfg_port(process, 0));
    for (uint32_t i = 0; i < copies; i++) build_push(&b, value, dfg_port(process, 1 + i));
    return process;
}

/* Word of a windowed channel: whole windows of one element of the inner dimensions. */
static const Type *windowed_end(const TypeDef *end, const StreamInput *in)
{
    int64_t word[2 * DFG_MAX_RANK];
    uint32_t kernel = in->window.first + in->window.count;
    if (!in->has_window) return dfg_end_type(end, in->source->type, NULL);
    for (uint32_t i = 0; i < in->operand->u.shaped.rank; i++) {
        bool tap = i >= kernel && i < kernel + in->window.count;
        word[i] = tap ? in->operand->u.shaped.dims[i] : 1;
    }
    return dfg_end_type(end, in->operand, word);
}

Op *to_dfg_build_copy_process(SymbolTable *symbols, Str name, const Op *reader, Value *value,
                              const Value *source)
{
    const Type *ports[2] = {dfg_end_type(&dfg_type_output, source->type, NULL),
                            dfg_end_type(&dfg_type_input, value->type, NULL)};
    Op *process = new_process(symbols, name, reader, ports, 1, 1);
    Builder b = builder_at_end(region_entry(op_region(process, 0)), reader->loc);
    Value *pulled = build_pull(&b, dfg_port(process, 0));
    build_push(&b, to_dfg_copy_reshapes(&b, value, source, pulled), dfg_port(process, 1));
    return process;
}

Op *to_dfg_build_window_process(SymbolTable *symbols, Str name, const Op *kernel,
                                const StreamInput *in)
{
    Context *ctx = symbols->op->ctx;
    const WindowParams *w = &in->window;
    const Type *ports[2] = {dfg_end_type(&dfg_type_output, in->source->type, NULL),
                            windowed_end(&dfg_type_input, in)};
    Op *process = new_process(symbols, name, kernel, ports, 1, 1);
    int64_t dims[DFG_MAX_RANK];
    for (uint32_t i = 0; i < w->count; i++) dims[i] = w->first + i;
    const NamedAttr attrs[] = {
        build_named_attr(ctx, "dims", attr_i64_array(ctx, dims, w->count)),
        build_named_attr(ctx, "kernel", attr_i64_array(ctx, w->kernel, w->count)),
        build_named_attr(ctx, "stride", attr_i64_array(ctx, w->stride, w->count)),
        build_named_attr(ctx, "dilation", attr_i64_array(ctx, w->dilation, w->count)),
        build_named_attr(ctx, "low", attr_i64_array(ctx, w->low, w->count)),
        build_named_attr(ctx, "high", attr_i64_array(ctx, w->high, w->count)),
        build_named_attr(ctx, "pad_value", in->pad_value),
    };
    Builder b = builder_at_end(region_entry(op_region(process, 0)), kernel->loc);
    Value *pulled = build_pull(&b, dfg_port(process, 0));
    Value *value = to_dfg_copy_reshapes(&b, in->reshaped, in->source, pulled);
    Op *window = build(&b, DFG(WINDOW), &value, 1, &in->operand, 1, attrs, COUNT_OF(attrs));
    build_push(&b, op_result(window, 0), dfg_port(process, 1));
    return process;
}

/* A fill, or a generic that fills, becomes a linalg.fill. */
static void copy_fill(Builder *b, const Op *fill, PtrMap *copies)
{
    Value *scalar = ptrmap_get(copies, kernel_fill_value(fill));
    Value *init = ptrmap_get(copies, op_operand(fill, fill->operand_count - 1));
    ptrmap_put(copies, op_result(fill, 0), linalg_fill(b, scalar, init));
}

/* Copies constants and initial values that an op needs into the process. */
static bool copy_static(Builder *b, Value *value, PtrMap *copies)
{
    Op *def = value_def(value);
    if (ptrmap_has(copies, value)) return true;
    bool allowed = def && (op_has_trait(def, TRAIT_CONSTANT_LIKE) || def->def == TENSOR(EMPTY) ||
                           kernel_fill_value(def));
    if (!allowed)
        return op_error(def ? def : block_parent_op(value_block(value)),
                        "is needed by a kernel at compile time, but is not a constant, "
                        "tensor.empty or linalg.fill of one");
    for (uint32_t i = 0; i < def->operand_count; i++)
        if (!copy_static(b, op_operand(def, i), copies)) return false;
    if (kernel_fill_value(def) && !copy_static(b, kernel_fill_value(def), copies)) return false;
    if (kernel_fill_value(def)) {
        copy_fill(b, def, copies);
        return true;
    }
    Op *copy = op_clone(def, copies);
    op_append(copy, b->block);
    return true;
}

typedef struct Captures {
    const Op *generic;
    Builder *b;
    PtrMap *copies;
    bool ok;
} Captures;

/* Constants that the payload takes from outside. */
static bool copy_captures(Op *op, void *user)
{
    Captures *c = user;
    for (uint32_t i = 0; c->ok && op != c->generic && i < op->operand_count; i++) {
        Op *holder = block_parent_op(value_block(op_operand(op, i)));
        if (!op_is_ancestor(c->generic, holder))
            c->ok = copy_static(c->b, op_operand(op, i), c->copies);
    }
    return c->ok;
}

typedef struct CaptureCheck {
    const Op *generic;
    bool ok;
} CaptureCheck;

static bool check_capture(Op *op, void *user)
{
    CaptureCheck *c = user;
    for (uint32_t i = 0; c->ok && op != c->generic && i < op->operand_count; i++) {
        const Value *value = op_operand(op, i);
        Op *holder = block_parent_op(value_block(value));
        if (type_is_shaped(value->type) && !op_is_ancestor(c->generic, holder) &&
            !to_dfg_is_constant_value(value))
            c->ok = op_error(c->generic, "reads a tensor that streams at indices that it computes");
    }
    return c->ok;
}

bool to_dfg_check_captures(Op *generic)
{
    CaptureCheck check = {generic, true};
    op_walk(generic, check_capture, &check);
    return check.ok;
}

/* Copies a generic; operands not yet in `copies` must be static. */
static Op *copy_generic(Builder *b, Op *generic, PtrMap *copies)
{
    for (uint32_t i = 0; i < generic->operand_count; i++)
        if (!copy_static(b, op_operand(generic, i), copies)) return NULL;
    Captures captures = {generic, b, copies, true};
    if (!op_walk(generic, copy_captures, &captures)) return NULL;
    Op *copy = op_clone(generic, copies);
    op_append(copy, b->block);
    return copy;
}

/* A reshape reads the result of the stage before it, and that stage is copied already. */
static Op *copy_stage(Builder *b, Op *stage, PtrMap *copies)
{
    if (stage->def == LINALG(GENERIC)) return copy_generic(b, stage, copies);
    Op *copy = op_clone(stage, copies);
    op_append(copy, b->block);
    return copy;
}

static void set_operand_map(Op *generic, uint32_t operand, const AffineMap *map)
{
    const Attr *old = op_attr(generic, "indexing_maps");
    VEC(const AffineMap *) maps = {0};
    for (uint32_t i = 0; i < old->u.array.count; i++)
        *vec_push(&maps) = i == operand ? map : old->u.array.items[i]->u.map;
    op_set_attr(generic, "indexing_maps", linalg_maps_attr(generic->ctx, maps.data, maps.len));
    vec_free(&maps);
}

static Op *empty_compute_process(SymbolTable *symbols, Str name, const ProcessGroup *group,
                                 const StreamInput *inputs, uint32_t input_count)
{
    VEC(const Type *) ports = {0};
    for (uint32_t i = 0; i < input_count; i++)
        *vec_push(&ports) = windowed_end(&dfg_type_output, &inputs[i]);
    for (size_t j = 0; j < group->joins.len; j++)
        *vec_push(&ports) = dfg_end_type(&dfg_type_output, group->joins.data[j].source->type, NULL);
    input_count += (uint32_t)group->joins.len;
    *vec_push(&ports) = dfg_end_type(&dfg_type_input, group->result->type, NULL);
    Op *process = new_process(symbols, name, group->main, ports.data, input_count, 1);
    vec_free(&ports);
    return process;
}

/* Pulls the streams and replaces main's streamed operands by them. */
static Op *copy_main(Builder *b, const Op *process, const ProcessGroup *group,
                     const StreamInput *inputs, PtrMap *copies)
{
    uint32_t port = 0, operands[SCHED_MAX_STREAMS];
    Value *pulled[SCHED_MAX_STREAMS];
    for (uint32_t i = 0; i < linalg_input_count(group->main); i++) {
        if (to_dfg_is_constant_value(op_operand(group->main, i))) continue;
        pulled[port] = build_pull(b, dfg_port(process, port));
        if (!inputs[port].has_window)
            pulled[port] =
                to_dfg_copy_reshapes(b, inputs[port].reshaped, inputs[port].source, pulled[port]);
        operands[port] = i;
        ptrmap_put(copies, op_operand(group->main, i), pulled[port]);
        port++;
    }
    Op *main = copy_generic(b, group->main, copies);
    for (uint32_t i = 0; main && i < port; i++) {
        op_set_operand(main, operands[i], pulled[i]);
        set_operand_map(main, operands[i], inputs[i].map);
    }
    return main;
}

/* The joined operands of a stage, pulled from the ports from `port` on. */
static void pull_joined(Builder *b, const Op *process, const ProcessGroup *group, const Op *stage,
                        uint32_t port, PtrMap *copies)
{
    for (size_t j = 0; j < group->joins.len; j++) {
        const JoinedOperand *join = &group->joins.data[j];
        if (join->stage != stage) continue;
        Value *value = op_operand(stage, join->operand);
        Value *pulled = build_pull(b, dfg_port(process, port + (uint32_t)j));
        ptrmap_put(copies, value, to_dfg_copy_reshapes(b, value, join->source, pulled));
    }
}

Op *to_dfg_build_compute_process(SymbolTable *symbols, Str name, const ProcessGroup *group,
                                 const StreamInput *inputs, uint32_t input_count)
{
    PtrMap copies = {0};
    ComputeSchedule sched;
    Op *process = empty_compute_process(symbols, name, group, inputs, input_count);
    Builder b = builder_at_end(region_entry(op_region(process, 0)), group->main->loc);
    Op *last = copy_main(&b, process, group, inputs, &copies);
    for (size_t i = 0; last && i < group->stages.len; i++) {
        pull_joined(&b, process, group, group->stages.data[i], input_count, &copies);
        last = copy_stage(&b, group->stages.data[i], &copies);
    }
    ptrmap_free(&copies);
    if (!last) return NULL;
    uint32_t output = input_count + (uint32_t)group->joins.len;
    build_push(&b, op_result(last, 0), dfg_port(process, output));
    return sched_compute_base(process, &sched) ? process : NULL;
}

static Op *empty_move_process(SymbolTable *symbols, Str name, const ProcessGroup *group,
                              Value *const *sources)
{
    VEC(const Type *) ports = {0};
    for (uint32_t i = 0; i < group->main->operand_count; i++)
        if (sources[i]) *vec_push(&ports) = dfg_end_type(&dfg_type_output, sources[i]->type, NULL);
    uint32_t inputs = (uint32_t)ports.len;
    *vec_push(&ports) = dfg_end_type(&dfg_type_input, group->result->type, NULL);
    Op *process = new_process(symbols, name, group->main, ports.data, inputs, 1);
    vec_free(&ports);
    return process;
}

Op *to_dfg_build_move_process(SymbolTable *symbols, Str name, const ProcessGroup *group,
                              Value *const *sources)
{
    Op *main = group->main;
    PtrMap copies = {0};
    Op *process = empty_move_process(symbols, name, group, sources);
    Builder b = builder_at_end(region_entry(op_region(process, 0)), main->loc);
    uint32_t port = 0;
    for (uint32_t i = 0; i < main->operand_count; i++)
        if (!sources[i] && !copy_static(&b, op_operand(main, i), &copies)) return NULL;
    Op *last = op_clone(main, &copies);
    for (uint32_t i = 0; i < main->operand_count; i++) {
        if (!sources[i]) continue;
        Value *pulled = build_pull(&b, dfg_port(process, port++));
        op_set_operand(last, i, to_dfg_copy_reshapes(&b, op_operand(main, i), sources[i], pulled));
    }
    op_append(last, b.block);
    for (size_t i = 0; i < group->stages.len; i++)
        last = copy_stage(&b, group->stages.data[i], &copies);
    ptrmap_free(&copies);
    build_push(&b, op_result(last, 0), dfg_port(process, port));
    return process;
}
