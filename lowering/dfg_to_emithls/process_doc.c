/* The documentation of a process, as text. The formula is read from the kernel's maps and body, so
 * that it says what the process does, whatever its layer was called.
 * Tests: lit/lowering/dfg_to_emithls/process-doc.mir */
#include <string.h>

#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "lowering/dfg_to_emithls/internal.h"

static const AffineMap *stream_map(const ComputeSchedule *sched)
{
    return linalg_operand_map(sched->main, sched->stream_operand[0]);
}

/* The loop of the output's last dimension, if that is of the images of a frame (stream-batch-last); -1:
 * it is another one. */
static int last_image_loop(const ComputeSchedule *sched)
{
    const Op *module = op_parent(sched->process);
    while (op_parent(module)) module = op_parent(module);
    const Attr *images = op_attr(module, DFG_ATTR_IMAGES);
    const AffineMap *out = sched_compute_output_map(sched);
    if (!images || out->result_count < 2 || sched->stream_count == 0) return -1;
    const int64_t *extents = sched->kernel.extents, count = attr_int_value(images);
    const int64_t last = out->results[out->result_count - 1]->value, first = out->results[0]->value;
    bool is_image = extents[last] == count && map_uses_dim(stream_map(sched), (uint32_t)last);
    bool is_dense = !map_uses_dim(stream_map(sched), (uint32_t)first);
    bool is_first =
        sched->kernel.class == KERNEL_PURE_PARALLEL ? extents[first] == count : !is_dense;
    return is_image && !is_first ? (int)last : -1;
}

/* Number of the map's results behind the loop's that are such loops. */
static uint32_t place_from_inside(const ComputeSchedule *sched, const AffineMap *map, uint32_t loop,
                                  bool reduction)
{
    uint32_t place = 0;
    for (uint32_t r = map->result_count; r-- > 0;) {
        const AffineExpr *result = map->results[r];
        bool is_last = r + 1 == map->result_count;
        if (result->kind != AFFINE_DIM || is_last) continue;
        if (result->value == loop) return place;
        place += sched->kernel.is_reduction[result->value] == reduction;
    }
    return place;
}

static const char *parallel_name(const ComputeSchedule *sched, uint32_t loop)
{
    static const char *const spatial[] = {"x", "y", "z"};
    const AffineMap *out = sched_compute_output_map(sched);
    uint32_t rank = out->result_count;
    if (rank == 0 || sched->stream_count == 0) return "i";
    const int image = last_image_loop(sched);
    if (image >= 0 && (int)loop == image) return "image";
    if (image >= 0 && affine_uses_dim(out->results[rank - 2], loop))
        return map_uses_dim(stream_map(sched), loop) ? "c" : "oc";
    if (affine_uses_dim(out->results[rank - 1], loop))
        return map_uses_dim(stream_map(sched), loop) ? "c" : "oc";
    if (affine_uses_dim(out->results[0], loop)) return rank > 2 ? "n" : "row";
    uint32_t place = place_from_inside(sched, out, loop, false);
    return place < COUNT_OF(spatial) ? spatial[place] : "i";
}

static const char *reduction_name(const ComputeSchedule *sched, uint32_t loop)
{
    static const char *const kernel[] = {"kx", "ky", "kz"};
    if (sched->stream_count == 0) return "r";
    const AffineMap *in = stream_map(sched);
    if (last_image_loop(sched) >= 0)
        in = map_get(in->ctx, in->dim_count, 0, in->result_count - 1, in->results);
    if (in->result_count && affine_uses_dim(in->results[in->result_count - 1], loop)) return "ic";
    uint32_t place = place_from_inside(sched, in, loop, true);
    return place < COUNT_OF(kernel) ? kernel[place] : "r";
}

const char *to_emithls_loop_name(const ComputeSchedule *sched, uint32_t loop)
{
    return sched->kernel.is_reduction[loop] ? reduction_name(sched, loop)
                                            : parallel_name(sched, loop);
}

/* "[y][x][oc]": 0 for loops of one trip, ".." for an index that is not a loop alone. */
static void add_index(StrBuf *out, const ComputeSchedule *sched, const AffineMap *map)
{
    for (uint32_t r = 0; r < map->result_count; r++) {
        const AffineExpr *result = map->results[r];
        if (result->kind == AFFINE_DIM && sched->kernel.extents[result->value] == 1)
            strbuf_add_c(out, "[0]");
        else if (result->kind == AFFINE_DIM)
            strbuf_printf(out, "[%s]", to_emithls_loop_name(sched, (uint32_t)result->value));
        else if (result->kind == AFFINE_CONST)
            strbuf_printf(out, "[%lld]", (long long)result->value);
        else
            strbuf_add_c(out, "[..]");
    }
}

/* The word for an op of a payload; NULL: a cast or constant, which a formula leaves out. */
static const char *op_word(const Op *op)
{
    static const struct {
        const char *name, *word;
    } words[] = {
        {"constant", NULL},       {"extsi", NULL},
        {"extui", NULL},          {"trunci", NULL},
        {"extf", NULL},           {"truncf", NULL},
        {"index_cast", NULL},     {"addi", "add"},
        {"addf", "add"},          {"subi", "subtract"},
        {"subf", "subtract"},     {"muli", "multiply"},
        {"mulf", "multiply"},     {"maxsi", "max"},
        {"maxui", "max"},         {"maximumf", "max"},
        {"minsi", "min"},         {"minui", "min"},
        {"minimumf", "min"},      {"divsi", "divide"},
        {"divf", "divide"},       {"shrsi", "shift right"},
        {"shrui", "shift right"}, {"shli", "shift left"},
        {"cmpi", "compare"},      {"cmpf", "compare"},
        {"andi", "and"},          {"ori", "or"},
        {"xori", "xor"},          {"extract", "look up"},
    };
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(op->def->name, words[i].name) == 0) return words[i].word;
    return op->def->name;
}

/* "sum", "max", … of the op that takes a term into the accumulator. */
static const char *reduction_word(const Op *main)
{
    const Op *yield = linalg_body(main)->last;
    const Op *combine = value_def(op_operand(yield, 0));
    const char *word = combine && combine->def ? op_word(combine) : NULL;
    return !word ? "reduction" : strcmp(word, "add") == 0 ? "sum" : word;
}

/* Whether a reduction is one of products. What an element-wise kernel multiplies is among its
 * steps. */
static bool multiplies(const ComputeSchedule *sched)
{
    if (sched->kernel.class == KERNEL_PURE_PARALLEL) return false;
    FOR_EACH_OP(op, linalg_body(sched->main))
        if (op->def == ARITH(MULI) || op->def == ARITH(MULF)) return true;
    return false;
}

/* "in[y][x][ky][kx][ic] * weights[oc][ky][kx][ic]" */
static void add_operands(StrBuf *out, const ComputeSchedule *sched)
{
    uint32_t stream = 0;
    bool first = true;
    for (uint32_t i = 0; i < linalg_input_count(sched->main); i++) {
        bool is_stream = stream < sched->stream_count && sched->stream_operand[stream] == i;
        if (!linalg_reads_operand(sched->main, i)) continue;
        if (!first) strbuf_add_c(out, multiplies(sched) ? " * " : ", ");
        first = false;
        if (is_stream && sched->stream_count > 1)
            strbuf_printf(out, "in%u", stream);
        else
            strbuf_add_c(out, is_stream ? "in" : "weights");
        stream += is_stream;
        add_index(out, sched, linalg_operand_map(sched->main, i));
    }
}

/* The ops of a body in order, those of casts and of the reduction left out. */
static void add_steps(StrBuf *out, const Op *generic, uint32_t *count)
{
    enum { MAX_NAMED_OPS = 12 };
    FOR_EACH_OP(op, linalg_body(generic)) {
        const char *word = op == linalg_body(generic)->last || !op->def ? NULL : op_word(op);
        if (!word) continue;
        if (*count < MAX_NAMED_OPS)
            strbuf_printf(out, "%s%s", *count ? ", " : "", word);
        else if (*count == MAX_NAMED_OPS)
            strbuf_add_c(out, ", …");
        ++*count;
    }
}

/* "1 x 2 products per multiplication, in chains of 4" */
static void add_packing(StrBuf *out, const PackingSchedule *p)
{
    const int64_t *fields = p->grid.fields;
    strbuf_add_char(out, '\n');
    if (fields[0] * fields[1] > 1)
        strbuf_printf(out, "%lld x %lld products per multiplication%s", (long long)fields[0],
                      (long long)fields[1], p->chain_length > 1 ? ", " : "");
    else
        strbuf_add_c(out, "products ");
    if (p->chain_length > 1) strbuf_printf(out, "in chains of %lld", (long long)p->chain_length);
}

static void add_kernel(StrBuf *out, const ComputeSchedule *sched)
{
    bool reduces = sched->kernel.class != KERNEL_PURE_PARALLEL, any = false;
    uint32_t steps = 0;
    strbuf_add_c(out, "\nout");
    add_index(out, sched, sched_compute_output_map(sched));
    strbuf_printf(out, " = %s(", reduces ? reduction_word(sched->main) : "f");
    for (uint32_t i = 0; i < sched->kernel.loop_count; i++)
        if (sched->kernel.is_reduction[i] && sched->kernel.extents[i] > 1) {
            strbuf_printf(out, "%s%s", any ? ", " : "", to_emithls_loop_name(sched, i));
            any = true;
        }
    strbuf_add_c(out, any ? ": " : "");
    add_operands(out, sched);
    strbuf_add_char(out, ')');
    StrBuf text = {0};
    if (!reduces) add_steps(&text, sched->main, &steps);
    for (uint32_t s = sched_first_stage(sched); s < sched->stage_count; s++)
        add_steps(&text, sched->stages[s], &steps);
    if (steps) strbuf_printf(out, "%s%s", reduces ? "\nthen " : "\nf: ", text.data);
    strbuf_free(&text);
    for (uint32_t j = 0; j < sched->join_count; j++)
        strbuf_printf(out, "\nadds in%u%s", sched->joins[j].port,
                      j < sched->starts_from_join ? " where the sums begin"
                      : reduces                   ? " where the sums are complete"
                                                  : "");
    if (sched->packing.is_used) add_packing(out, &sched->packing);
}

static void add_shape(StrBuf *out, const Type *tensor)
{
    for (uint32_t i = 0; i < tensor->u.shaped.rank; i++)
        strbuf_printf(out, "%s%lld", i ? "x" : "", (long long)tensor->u.shaped.dims[i]);
    if (tensor->u.shaped.rank == 0) strbuf_add_c(out, "scalar");
    strbuf_add_char(out, ' ');
    type_print(out, type_elem(tensor));
}

/* "1x32x32x3 i8 -> 1x32x32x16 i8" */
static void add_shapes(StrBuf *out, const Op *process)
{
    uint32_t inputs = dfg_input_count(process), ports = inputs + dfg_output_count(process);
    for (uint32_t i = 0; i < ports; i++) {
        strbuf_add_c(out, i == inputs ? " -> " : i ? ", " : "");
        add_shape(out, dfg_payload(dfg_port(process, i)->type));
    }
}

static void add_list(StrBuf *out, const char *title, const int64_t *items, uint32_t count)
{
    strbuf_printf(out, ", %s ", title);
    for (uint32_t i = 0; i < count; i++)
        strbuf_printf(out, "%s%lld", i ? "x" : "", (long long)items[i]);
}

/* ", beside them taps 1x1, from 1x1" */
static void add_part(StrBuf *out, const WindowSchedule *sched, uint32_t part)
{
    add_list(out, "beside them taps", sched->parts[part].taps, sched->params.count);
    add_list(out, "from", sched->parts[part].first, sched->params.count);
}

static void add_window(StrBuf *out, const WindowSchedule *sched)
{
    const WindowParams *p = &sched->params;
    strbuf_add_c(out, "\nwindows of ");
    for (uint32_t i = 0; i < p->count; i++)
        strbuf_printf(out, "%s%lld", i ? "x" : "", (long long)p->kernel[i]);
    add_list(out, "stride", p->stride, p->count);
    add_list(out, "dilation", p->dilation, p->count);
    add_list(out, "padded before by", p->low, p->count);
    for (uint32_t i = 1; i < sched->part_count; i++) add_part(out, sched, i);
}

void to_emithls_process_doc(StrBuf *out, const Op *process, ProcessKind kind)
{
    add_shapes(out, process);
    if (kind == PROCESS_COMPUTE) {
        ComputeSchedule sched;
        if (sched_compute(process, NULL, NULL, &sched)) add_kernel(out, &sched);
    } else if (kind == PROCESS_WINDOW) {
        WindowSchedule sched;
        if (sched_window(process, NULL, &sched)) add_window(out, &sched);
    }
}
