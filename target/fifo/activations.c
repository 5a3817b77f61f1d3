/* What a design holds activations in: windows and FIFOs, apart from weights and arithmetic.
 * Tests: lit/emit/report.mir, lit/emit/report-activations.mir */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "ir/core/core.h"
#include "target/cost/cost.h"
#include "target/fifo/fifo.h"

/* Which accesses a process makes to a stream that it is called with. */
typedef enum StreamEnd { END_READ, END_WRITE } StreamEnd;

static const Op *callee(const Op *call)
{
    return symbol_lookup(call, op_attr(call, "callee"));
}

static bool has_end(const Op *func, uint32_t arg, StreamEnd end)
{
    const OpDef *def = end == END_READ ? EMITHLS(READ) : EMITHLS(WRITE);
    for (const Use *use = region_entry(op_region(func, 0))->args[arg]->uses; use; use = use->next)
        if (use->owner->def == def) return true;
    return false;
}

/* The call at an end of a stream; NULL: none. */
static const Op *call_at(const Value *stream, StreamEnd end)
{
    for (const Use *use = stream->uses; use; use = use->next)
        if (use->owner->def == EMITHLS(CALL) && has_end(callee(use->owner), use_index(use), end))
            return use->owner;
    return NULL;
}

/* The process at an end of a stream; NULL: none. */
static const Op *process_at(const Value *stream, StreamEnd end)
{
    const Op *call = call_at(stream, end);
    return call ? callee(call) : NULL;
}

static uint32_t end_count(const Op *call, StreamEnd end)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < call->operand_count; i++) count += has_end(callee(call), i, end);
    return count;
}

static bool is_of(const Op *func, const char *class)
{
    const Attr *value = attr_dict_get_c(op_attr(func, DFG_ATTR_REPORT), DFG_REPORT_CLASS);
    return value && value->kind == ATTR_STRING && str_eq_c(value->u.string, class);
}

/* The call at an end of a stream, seen through converters; *last: the stream there. NULL: none. */
static const Op *call_behind(const Value *stream, StreamEnd end, const Value **last)
{
    const Op *call = call_at(stream, end);
    *last = stream;
    for (uint32_t i = 0; call && is_of(callee(call), "converter") && i < call->operand_count; i++)
        if (!has_end(callee(call), i, end)) return call_behind(op_operand(call, i), end, last);
    return call;
}

static const Attr *source_of(const Op *call)
{
    return attr_dict_get_c(op_attr(callee(call), DFG_ATTR_REPORT), DFG_REPORT_SOURCE);
}

/* Whether a stream that a process reads beside others is what it works on, to which it adds those:
 * the first one of a kernel that reduces; windows or sums of the same layer. */
static bool is_worked_on(const Op *reader, const Op *writer, const Value *last)
{
    bool reduces = is_of(callee(reader), kernel_class_name(KERNEL_SLIDING_WINDOW)) ||
                   is_of(callee(reader), kernel_class_name(KERNEL_REGULAR_REDUCTION));
    return (reduces && op_operand(reader, 0) == last) ||
           (writer && source_of(reader) && source_of(writer) == source_of(reader));
}

/* Whether branches part or meet at a stream: it is one of several that a process reads, but not what
 * it adds the others to, or one of several that a process writes, but not the whole windows of a
 * window process. */
static bool is_at_skip(const Value *stream)
{
    const Value *last, *first;
    const Op *reader = call_behind(stream, END_READ, &last);
    const Op *writer = call_behind(stream, END_WRITE, &first);
    if (reader && end_count(reader, END_READ) > 1 && !is_worked_on(reader, writer, last))
        return true;
    last = first;
    if (!writer || end_count(writer, END_WRITE) < 2) return false;
    return !is_of(callee(writer), "window") || op_operand(writer, 1) != last;
}

/* Whether a process only moves activations; its costs include those of the FIFOs that it writes. */
static bool moves(const Op *func)
{
    static const char *const classes[] = {"window", "converter", "fork", "reorder", "merge"};
    for (size_t i = 0; i < COUNT_OF(classes); i++)
        if (is_of(func, classes[i])) return true;
    return false;
}

static int64_t bits_of(const Type *word)
{
    return emithls_lanes(word) * type_width(emithls_scalar(word));
}

/* Bits that a window keeps from iteration to iteration. */
static int64_t kept_bits(const Op *func)
{
    int64_t sum = 0;
    FOR_EACH_OP(op, region_entry(op_region(func, 0))) {
        if (op->def != EMITHLS(VARIABLE)) continue;
        const Type *array = op_result(op, 0)->type;
        int64_t bits = bits_of(emithls_array_elem(array));
        for (uint32_t i = 0; i < emithls_array_rank(array); i++)
            bits *= emithls_array_dim(array, i);
        sum += bits;
    }
    return sum;
}

/* Adds what a FIFO takes. False: what it is built of is not chosen yet. */
static bool add_fifo_cost(const Op *stream, int64_t width, int64_t depth, Cost *sum)
{
    FifoKind kind;
    const Attr *impl = op_attr(stream, EMITHLS_ATTR_IMPL);
    if (!impl || impl->kind != ATTR_STRING || !fifo_kind(impl->u.string, &kind)) return false;
    memory_fifo_cost(kind, width, depth, STRUCTURE_HLS, sum);
    return true;
}

static void add_process(const Op *func, Activations *sum)
{
    const Attr *report = op_attr(func, DFG_ATTR_REPORT);
    if (!moves(func)) return;
    sum->window_bits += is_of(func, "window") ? kept_bits(func) : 0;
    for (int k = COST_BRAM18; k <= COST_FF; k++)
        sum->cost.items[k] =
            i64_sum(sum->cost.items[k], i64_max(attr_dict_int(report, cost_names[k].key, 0), 0));
}

static void add_stream(const Op *stream, Activations *sum)
{
    const Value *ends = op_result(stream, 0);
    const Op *writer = process_at(ends, END_WRITE);
    Cost cost = {.cycles = 0};
    int64_t width = bits_of(emithls_stream_word(ends->type));
    int64_t depth = attr_int_value(op_attr(stream, DFG_ATTR_DEPTH));
    sum->fifo_bits += width * depth;
    if (is_at_skip(ends)) sum->skip_bits += width * depth;
    sum->is_known &= add_fifo_cost(stream, width, depth, &cost);
    if (writer && moves(writer)) return;
    for (int k = COST_BRAM18; k <= COST_FF; k++)
        sum->cost.items[k] = i64_sum(sum->cost.items[k], cost.items[k]);
}

Activations fifo_activations(const Op *module)
{
    Activations sum = {.is_known = true};
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == EMITHLS(FUNC)) add_process(op, &sum);
    FOR_EACH_OP(op, region_entry(op_region(emithls_top(module), 0)))
        if (op->def == EMITHLS(STREAM)) add_stream(op, &sum);
    return sum;
}
