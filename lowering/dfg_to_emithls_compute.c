/* Compute processes: one pipelined nest in the order of plan_compute.c. A word is read where the
 * input's counters advance and held otherwise; `sum` holds one accumulator per lane, `partial`
 * those of the outputs that take turns; the epilogue runs and a word is written in the last
 * iteration of the reduction.
 * Tests: lit/lowering/dfg-to-emithls/compute.mir */
#include "lowering/dfg_to_emithls.h"

#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "dialects/linalg/linalg.h"
#include "dialects/linalg/structured.h"
#include "ir/diag.h"
#include "passes/reshape.h"

#include <assert.h>
#include <string.h>

/* How an operand of main or of a stage is obtained for one lane. */
typedef enum SourceKind { SOURCE_STREAM, SOURCE_TABLE, SOURCE_CONSTANT, SOURCE_FLOW } SourceKind;

typedef struct Source {
    SourceKind kind;
    Value *array;         /* word variable or table */
    const AffineMap *map; /* of a stream: its map */
    const int64_t *word;  /* of a stream: extents of a word, one per map result */
    TableLayout layout;   /* of a table */
    const Attr *constant; /* a scalar */
} Source;

typedef struct ComputeLowering {
    Lowering *l;
    Context *ctx;
    ComputePlan plan;
    uint32_t nest_first;                    /* counter of plan.loops[0] */
    const AffineExpr *lane[KERNEL_MAX_LOOPS]; /* of each kernel loop: its unrolled counter, or 0 */
    Value *words[PLAN_MAX_STREAMS];
    int64_t word[PLAN_MAX_STREAMS][2 * DFG_MAX_RANK];
    Value *sum, *partial;                   /* accumulators, NULL for element-wise kernels */
    Source *sources[PLAN_MAX_STAGES + 1];   /* per generic (main first), per input operand */
    Arena arena;
} ComputeLowering;

static bool reduces(const ComputeLowering *c) { return c->plan.kernel.class != KERNEL_PURE_PARALLEL; }

static const AffineExpr *loop_counter(const ComputeLowering *c, uint32_t i)
{
    return affine_dim(c->ctx, c->nest_first + i);
}

/* --- expressions ---------------------------------------------------------------------- */

static const AffineMap *output_map(const ComputeLowering *c)
{
    return linalg_operand_map(c->plan.main, linalg_input_count(c->plan.main));
}

/* Position of the current lane in an output word. */
static const AffineExpr *output_lane(const ComputeLowering *c)
{
    const AffineMap *out = output_map(c);
    const AffineExpr *lane = affine_const(c->ctx, 0);
    for (uint32_t r = 0; r < out->result_count; r++) {
        int64_t loop = out->results[r]->value;
        lane = affine_add(affine_mul_c(lane, c->plan.unroll[loop]), c->lane[loop]);
    }
    return lane;
}

/* Position in an input word: for each dimension, the part of the word that is being taken. */
static const AffineExpr *word_position(const ComputeLowering *c, const Source *s)
{
    const AffineExpr *flat = affine_const(c->ctx, 0);
    for (uint32_t r = 0; r < s->map->result_count; r++) {
        const AffineExpr *at = affine_const(c->ctx, 0);
        if (s->map->results[r]->kind == AFFINE_DIM) {
            uint32_t loop = (uint32_t)s->map->results[r]->value;
            at = c->lane[loop];
            for (uint32_t i = c->plan.read_depth; i < c->plan.loop_count; i++)
                if (c->plan.loops[i].loop == loop)
                    at = affine_add(at, affine_mul_c(loop_counter(c, i), c->plan.loops[i].scale));
        }
        flat = affine_add(affine_mul_c(flat, s->word[r]), at);
    }
    return flat;
}

static Value *load_source(ComputeLowering *c, const Source *s)
{
    const AffineExpr *index[PLAN_MAX_LOOPS + 1];
    uint32_t n = 0;
    Nest *nest = &c->l->nest;
    if (s->kind == SOURCE_CONSTANT)
        return nest_constant(nest, s->constant);
    if (s->kind == SOURCE_STREAM) {
        index[0] = word_position(c, s);
        return nest_load(nest, s->array, index,
                         emithls_array_elem(s->array->type)->kind == TYPE_VECTOR);
    }
    for (uint32_t i = 0; i < s->layout.loop_count; i++)
        index[n++] = loop_counter(c, s->layout.by_loop[i]);
    if (s->layout.lanes > 1) {
        index[n] = affine_const(c->ctx, 0);
        for (uint32_t i = 0; i < s->layout.lane_count; i++) {
            uint32_t loop = s->layout.by_lane[i];
            index[n] = affine_add(affine_mul_c(index[n], c->plan.unroll[loop]), c->lane[loop]);
        }
        n++;
    }
    return nest_load(nest, s->array, index, n);
}

/* --- constants ------------------------------------------------------------------------- */

/* The constant behind an operand: elements, or a scalar for a filled or scalar operand. NULL:
 * not a constant. */
static const Attr *constant_of(const Value *value, const Op **holder)
{
    const Op *def = value_def(value);
    if (def && def->def == LINALG(FILL))
        return constant_of(op_operand(def, 0), holder);
    if (!def || !op_has_trait(def, TRAIT_CONSTANT_LIKE))
        return NULL;
    *holder = def;
    return op_attr(def, "value");
}

static bool scalar_of(const Attr *value, const Attr **out)
{
    bool splat = value->kind == ATTR_DENSE && value->u.dense.is_splat;
    if (splat)
        *out = dense_elem(value, 0);
    else if (value->kind == ATTR_INTEGER || value->kind == ATTR_FLOAT)
        *out = value;
    else
        return false;
    return true;
}

/* Element of the constant that the nest reads at a table position (counters, then lanes). */
static int64_t source_element(const ComputeLowering *c, const TableLayout *layout,
                              const Type *tensor, const int64_t *position)
{
    int64_t loops[KERNEL_MAX_LOOPS] = {0}, flat = 0;
    for (uint32_t i = 0; i < layout->loop_count; i++) {
        const PlanLoop *loop = &c->plan.loops[layout->by_loop[i]];
        loops[loop->loop] += position[i] * loop->scale;
    }
    for (uint32_t i = 0; i < layout->lane_count; i++)
        loops[layout->by_lane[i]] += position[layout->loop_count + i];
    for (uint32_t r = 0; r < layout->map->result_count; r++) {
        int64_t index = 0;
        bool ok = affine_eval(layout->map->results[r], loops, NULL, &index);
        assert(ok && index >= 0 && index < tensor->u.shaped.dims[r]);
        (void)ok;
        flat = flat * tensor->u.shaped.dims[r] + index;
    }
    return flat;
}

static bool next_position(int64_t *position, const int64_t *extents, uint32_t count)
{
    for (uint32_t i = count; i-- > 0;) {
        if (++position[i] < extents[i])
            return true;
        position[i] = 0;
    }
    return false;
}

/* The constant's elements in the order in which the nest reads them. */
static const Attr *reordered(ComputeLowering *c, const TableLayout *layout, const Attr *value)
{
    int64_t extents[PLAN_MAX_LOOPS + KERNEL_MAX_LOOPS], position[COUNT_OF(extents)] = {0};
    int64_t dims[PLAN_MAX_LOOPS + 1];
    uint32_t count = 0, rank = 0;
    const Type *elem = type_elem(value->type);
    uint32_t bytes = dense_elem_bytes(elem);
    for (uint32_t i = 0; i < layout->loop_count; i++)
        dims[rank++] = extents[count++] = c->plan.loops[layout->by_loop[i]].trip;
    for (uint32_t i = 0; i < layout->lane_count; i++)
        extents[count++] = c->plan.unroll[layout->by_lane[i]];
    if (layout->lanes > 1)
        dims[rank++] = layout->lanes;
    size_t total = (size_t)(layout->depth * layout->lanes), n = 0;
    uint8_t *data = arena_alloc(&c->arena, bytes ? total * bytes : (total + 7) / 8);
    do {
        size_t from = (size_t)source_element(c, layout, value->type, position);
        if (bytes)
            memcpy(data + n * bytes, value->u.dense.data + from * bytes, bytes);
        else if (value->u.dense.data[from / 8] >> (from % 8) & 1)
            data[n / 8] = (uint8_t)(data[n / 8] | 1u << (n % 8));
        n++;
    } while (next_position(position, extents, count));
    return attr_dense_raw(type_tensor(elem, dims, rank, NULL), data,
                          bytes ? total * bytes : (total + 7) / 8, false);
}

/* Declares the table in the module and binds it in the function. */
static Value *declare_table(ComputeLowering *c, const Attr *elements, Str role, Str storage,
                            bool has_lanes)
{
    Nest *nest = &c->l->nest;
    StrBuf name = {0};
    Builder b = builder_before(c->l->func);
    strbuf_printf(&name, "%.*s_%.*s", STR_ARG(symbol_name(c->l->func)->str), STR_ARG(role));
    const NamedAttr attrs[2] = {
        named_attr(c->ctx, "sym_name", attr_string(c->ctx, strbuf_str(&name))),
        named_attr(c->ctx, "value", elements)};
    strbuf_free(&name);
    Op *table = build(&b, EMITHLS(TABLE), NULL, 0, NULL, 0, attrs, 2);
    const Ident *symbol = symtab_insert(c->l->symbols, table);
    const Type *type = emithls_array(type_elem(elements->type), elements->type->u.shaped.dims,
                                     elements->type->u.shaped.rank);
    NamedAttr ref = named_attr(c->ctx, "table", attr_symbol(c->ctx, symbol));
    Value *array = op_result(build(&nest->b, EMITHLS(GET), NULL, 0, &type, 1, &ref, 1), 0);
    uint32_t rank = emithls_array_rank(type);
    bool is_memory = rank > (has_lanes ? 1u : 0u);
    if (has_lanes)
        (is_memory ? nest_reshape : nest_partition)(nest, array, rank);
    if (is_memory)
        nest_bind(nest, array, "rom_1p", storage);
    return array;
}

static bool constant_source(ComputeLowering *c, const Op *generic, uint32_t operand,
                            const AffineMap *map, Str role, Source *out)
{
    const Op *holder = NULL;
    const Attr *value = constant_of(op_operand(generic, operand), &holder);
    if (!value)
        return op_error(generic, "operand #%u is neither streamed nor constant", operand);
    *out = (Source){.kind = SOURCE_CONSTANT};
    if (scalar_of(value, &out->constant))
        return true;
    if (value->kind != ATTR_DENSE)
        return op_error(holder, "has a value whose elements are not given");
    out->kind = SOURCE_TABLE;
    table_layout(&c->plan, map, &out->layout);
    const Attr *elements = reordered(c, &out->layout, value);
    if (elements->type->u.shaped.rank == 0) {
        out->kind = SOURCE_CONSTANT;
        out->constant = dense_elem(elements, 0);
        return true;
    }
    out->array = declare_table(c, elements, role, storage_of(holder, 0), out->layout.lanes > 1);
    return true;
}

/* --- sources ------------------------------------------------------------------------------ */

static int stream_of_operand(const ComputePlan *plan, uint32_t operand)
{
    for (uint32_t s = 0; s < plan->stream_count; s++)
        if (plan->stream_operand[s] == operand)
            return (int)s;
    return -1;
}

static bool main_sources(ComputeLowering *c)
{
    const Op *main = c->plan.main;
    uint32_t count = linalg_input_count(main);
    c->sources[0] = ARENA_ARRAY(&c->arena, Source, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const AffineMap *map = linalg_operand_map(main, i);
        int stream = stream_of_operand(&c->plan, i);
        if (stream >= 0)
            c->sources[0][i] = (Source){.kind = SOURCE_STREAM, .array = c->words[stream],
                                        .map = map, .word = c->word[stream]};
        else if (linalg_reads_operand(main, i) &&
                 !constant_source(c, main, i, map, STR("weights"), &c->sources[0][i]))
            return false;
    }
    /* The initial value of a reduction takes the place after the inputs. */
    return !reduces(c) || constant_source(c, main, count, linalg_operand_map(main, count),
                                          STR("initial"), &c->sources[0][count]);
}

static bool stage_sources(ComputeLowering *c, uint32_t stage)
{
    const Op *op = c->plan.stages[stage];
    const Value *flow = op_result(stage ? c->plan.stages[stage - 1] : c->plan.main, 0);
    Source *sources = ARENA_ARRAY(&c->arena, Source, linalg_input_count(op) + 1);
    c->sources[stage + 1] = sources;
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        if (reshape_source(op_operand(op, i)) == flow)
            sources[i] = (Source){.kind = SOURCE_FLOW};
        else if (linalg_reads_operand(op, i) &&
                 !constant_source(c, op, i, stage_operand_map(&c->plan, stage, i), STR("params"),
                                  &sources[i]))
            return false;
    }
    return true;
}

/* --- payload ----------------------------------------------------------------------------------- */

static bool is_scalar_op(const Op *op)
{
    Str dialect = op->def ? str_from(op->def->dialect->name) : (Str){"", 0};
    return (str_eq_c(dialect, "arith") || str_eq_c(dialect, "math")) && op->region_count == 0;
}

static bool copy_payload_op(ComputeLowering *c, Op *op, PtrMap *values)
{
    if (!is_scalar_op(op))
        return op_error(op, "cannot run in a streaming process: only arith and math ops on scalars "
                            "can");
    for (uint32_t i = 0; i < op->operand_count; i++) {
        Value *operand = op_operand(op, i);
        if (ptrmap_has(values, operand))
            continue;
        const Attr *constant = op_attr(value_def(operand), "value");
        ptrmap_put(values, operand, nest_constant(&c->l->nest, constant));
    }
    Op *copy = op_clone(op, values);
    op_append(copy, c->l->nest.b.block);
    return true;
}

/* Runs a generic's payload on given argument values; NULL: diagnosed. */
static Value *run_payload(ComputeLowering *c, const Op *generic, Value *const *args)
{
    Block *body = linalg_body(generic);
    PtrMap values = {0};
    Value *result = NULL;
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (args[i])
            ptrmap_put(&values, body->args[i], args[i]);
    bool ok = true;
    for (Op *op = body->first; ok && op != body->last; op = op->next)
        ok = copy_payload_op(c, op, &values);
    if (ok) {
        Value *yielded = op_operand(body->last, 0);
        result = ptrmap_get(&values, yielded);
        if (!result)
            result = nest_constant(&c->l->nest, op_attr(value_def(yielded), "value"));
    }
    ptrmap_free(&values);
    return result;
}

/* Payload of generic `which` (0: main) with `flow` for what the stage before delivers and `init`
 * for the output argument. */
static Value *run_generic(ComputeLowering *c, uint32_t which, Value *flow, Value *init)
{
    const Op *generic = which ? c->plan.stages[which - 1] : c->plan.main;
    uint32_t inputs = linalg_input_count(generic);
    Value **args = ARENA_ARRAY(&c->arena, Value *, inputs + 1);
    Block *body = linalg_body(generic);
    for (uint32_t i = 0; i < inputs; i++) {
        const Source *s = &c->sources[which][i];
        if (value_has_uses(body->args[i]))
            args[i] = s->kind == SOURCE_FLOW ? flow : load_source(c, s);
    }
    args[inputs] = init;
    if (!init && value_has_uses(body->args[inputs])) {
        op_error(generic, "reads its initial output, which an element-wise stream does not have");
        return NULL;
    }
    return run_payload(c, generic, args);
}

static Value *run_stages(ComputeLowering *c, Value *value)
{
    for (uint32_t s = 0; value && s < c->plan.stage_count; s++)
        value = run_generic(c, s + 1, value, NULL);
    return value;
}

/* --- loops ---------------------------------------------------------------------------------------- */

/* C++ name of a kernel loop's counter by its place in the output and the input. */
static const char *loop_name(const ComputeLowering *c, uint32_t loop)
{
    static const char *const parallel[] = {"oc", "x", "y", "z"};
    static const char *const reduction[] = {"ic", "kx", "ky", "kz"};
    const AffineMap *out = output_map(c);
    uint32_t from_inside = 0;
    if (!c->plan.kernel.is_reduction[loop]) {
        int r = map_result_of_dim(out, loop);
        from_inside = out->result_count - 1 - (uint32_t)r;
        return from_inside < COUNT_OF(parallel) ? parallel[from_inside] : "n";
    }
    for (uint32_t i = c->plan.kernel.loop_count; i-- > loop + 1;)
        from_inside += c->plan.kernel.is_reduction[i];
    return from_inside < COUNT_OF(reduction) ? reduction[from_inside] : "r";
}

/* Opens unrolled loops over the factors of the parallel or the reduction loops. */
static NestMark open_lanes(ComputeLowering *c, bool reduction, const char *name)
{
    Nest *nest = &c->l->nest;
    LoopSpec loops[KERNEL_MAX_LOOPS];
    uint32_t count = 0;
    StrBuf names[KERNEL_MAX_LOOPS] = {0};
    for (uint32_t i = 0; i < c->plan.kernel.loop_count; i++) {
        if (c->plan.kernel.is_reduction[i] != reduction || c->plan.unroll[i] == 1)
            continue;
        strbuf_printf(&names[count], "%s_u", loop_name(c, i));
        loops[count] = (LoopSpec){names[count].data, c->plan.unroll[i]};
        c->lane[i] = affine_dim(c->ctx, nest->count + count);
        count++;
    }
    NestMark mark = {nest->b.block, nest->b.before, nest->count};
    if (count)
        mark = nest_open(nest, name, loops, count, LOOP_UNROLLED, -1, -1);
    for (uint32_t i = 0; i < count; i++)
        strbuf_free(&names[i]);
    return mark;
}

static void close_lanes(ComputeLowering *c, bool reduction, NestMark mark)
{
    for (uint32_t i = 0; i < c->plan.kernel.loop_count; i++)
        if (c->plan.kernel.is_reduction[i] == reduction)
            c->lane[i] = affine_const(c->ctx, 0);
    nest_close(&c->l->nest, mark);
}

/* Conditions "every such counter is at its first (last) value". */
typedef struct Edge {
    const AffineExpr *exprs[PLAN_MAX_LOOPS];
    bool is_eq[PLAN_MAX_LOOPS];
    uint32_t count;
} Edge;

static void add_edge(const ComputeLowering *c, Edge *edge, uint32_t i, bool last)
{
    const AffineExpr *expr = loop_counter(c, i);
    edge->is_eq[edge->count] = true;
    edge->exprs[edge->count++] = last ? affine_add_c(expr, 1 - c->plan.loops[i].trip) : expr;
}

static Edge reduction_edge(const ComputeLowering *c, bool last)
{
    Edge edge = {.count = 0};
    for (uint32_t i = 0; i < c->plan.loop_count; i++)
        if (c->plan.loops[i].is_reduction)
            add_edge(c, &edge, i, last);
    return edge;
}

static NestMark open_edge(ComputeLowering *c, const Edge *edge)
{
    Nest *nest = &c->l->nest;
    if (edge->count == 0)
        return (NestMark){nest->b.block, nest->b.before, nest->count};
    return nest_open_if(nest, edge->exprs, edge->is_eq, edge->count);
}

/* --- one iteration ------------------------------------------------------------------------------ */

static void read_words(ComputeLowering *c)
{
    Nest *nest = &c->l->nest;
    Edge edge = {.count = 0};
    for (uint32_t i = c->plan.read_depth; i < c->plan.loop_count; i++)
        add_edge(c, &edge, i, false);
    NestMark mark = open_edge(c, &edge);
    for (uint32_t s = 0; s < c->plan.stream_count; s++) {
        Value *word = nest_read(nest, port_stream(c->l, c->plan.stream_port[s]));
        nest_store(nest, word, c->words[s], NULL, 0);
    }
    nest_close(nest, mark);
}

/* Index of a lane's accumulator among those that take turns. */
static uint32_t partial_index(const ComputeLowering *c, const AffineExpr **index)
{
    uint32_t n = 0;
    for (uint32_t i = c->plan.first_reduction; i < c->plan.loop_count; i++)
        if (!c->plan.loops[i].is_reduction)
            index[n++] = loop_counter(c, i);
    if (c->plan.lanes > 1)
        index[n++] = output_lane(c);
    return n;
}

static Value *load_sum(ComputeLowering *c)
{
    const AffineExpr *lane = output_lane(c);
    return nest_load(&c->l->nest, c->sum, &lane, c->plan.lanes > 1);
}

static void store_sum(ComputeLowering *c, Value *value)
{
    const AffineExpr *lane = output_lane(c);
    nest_store(&c->l->nest, value, c->sum, &lane, c->plan.lanes > 1);
}

/* sum = first iteration of the reduction ? initial value : what was accumulated so far */
static void start_sum(ComputeLowering *c)
{
    Nest *nest = &c->l->nest;
    const AffineExpr *index[PLAN_MAX_LOOPS + 1];
    Edge first = reduction_edge(c, false);
    Value *initial = load_source(c, &c->sources[0][linalg_input_count(c->plan.main)]);
    if (first.count == 0) {
        store_sum(c, initial);
        return;
    }
    Value *so_far = NULL;
    if (c->partial)
        so_far = nest_load(nest, c->partial, index, partial_index(c, index));
    else
        so_far = load_sum(c);
    Value *condition = nest_condition(nest, first.exprs, first.is_eq, first.count);
    Value *operands[3] = {condition, initial, so_far};
    store_sum(c, op_result(build(&nest->b, ARITH(SELECT), operands, 3, &initial->type, 1, NULL, 0),
                           0));
}

static bool accumulate(ComputeLowering *c)
{
    const AffineExpr *index[PLAN_MAX_LOOPS + 1];
    NestMark lanes = open_lanes(c, false, "outputs");
    start_sum(c);
    NestMark taps = open_lanes(c, true, "products");
    Value *value = run_generic(c, 0, NULL, load_sum(c));
    if (!value)
        return false;
    store_sum(c, value);
    close_lanes(c, true, taps);
    if (c->partial) {
        uint32_t n = partial_index(c, index);
        nest_store(&c->l->nest, load_sum(c), c->partial, index, n);
    }
    close_lanes(c, false, lanes);
    return true;
}

/* Finishes each lane and writes the word. */
static bool write_word(ComputeLowering *c)
{
    Nest *nest = &c->l->nest;
    Edge last = reduction_edge(c, true);
    NestMark mark = open_edge(c, &last);
    Value *stream = port_stream(c->l, c->plan.output_port);
    const Type *word = emithls_stream_word(stream->type);
    Value *result = nest_variable(nest, "result", word, NULL, 0);
    NestMark lanes = open_lanes(c, false, "finish");
    Value *value = reduces(c) ? load_sum(c) : run_generic(c, 0, NULL, NULL);
    value = value ? run_stages(c, value) : NULL;
    if (!value)
        return false;
    const AffineExpr *lane = output_lane(c);
    nest_store(nest, value, result, &lane, word->kind == TYPE_VECTOR);
    close_lanes(c, false, lanes);
    nest_write(nest, nest_load(nest, result, NULL, 0), stream);
    nest_close(nest, mark);
    return true;
}

/* --- the process --------------------------------------------------------------------------------- */

static bool check_words(const ComputeLowering *c)
{
    int64_t want[DFG_MAX_RANK], got[2 * DFG_MAX_RANK];
    compute_output_word(&c->plan, want);
    if (!port_word(c->l->process, c->plan.output_port, op_result(c->plan.main, 0)->type, got))
        return false;
    for (uint32_t i = 0; i < output_map(c)->result_count; i++)
        if (want[i] != got[i])
            return op_error(c->l->process, "computes %lld elements of output dimension %u at once, "
                                           "but its port's words hold %lld",
                            (long long)want[i], i, (long long)got[i]);
    return true;
}

static bool declare_words(ComputeLowering *c)
{
    static const char *const names[] = {"in_word", "in_word2", "in_word3", "in_word4",
                                        "in_word5", "in_word6", "in_word7", "in_word8"};
    for (uint32_t s = 0; s < c->plan.stream_count; s++) {
        Value *stream = port_stream(c->l, c->plan.stream_port[s]);
        c->words[s] = nest_variable(&c->l->nest, names[s], emithls_stream_word(stream->type), NULL,
                                    0);
        if (!compute_input_word(&c->plan, s, c->word[s]))
            return false;
    }
    return true;
}

static void declare_accumulators(ComputeLowering *c)
{
    Nest *nest = &c->l->nest;
    const Type *elem = type_elem(op_result(c->plan.main, 0)->type);
    int64_t dims[PLAN_MAX_LOOPS + 1], lanes = c->plan.lanes;
    uint32_t rank = 0;
    if (!reduces(c))
        return;
    c->sum = nest_variable(nest, "sum", elem, &lanes, lanes > 1 ? 1 : 0);
    if (lanes > 1)
        nest_partition(nest, c->sum, 1);
    if (c->plan.accumulators == 1)
        return;
    for (uint32_t i = c->plan.first_reduction; i < c->plan.loop_count; i++)
        if (!c->plan.loops[i].is_reduction)
            dims[rank++] = c->plan.loops[i].trip;
    if (lanes > 1)
        dims[rank++] = lanes;
    c->partial = nest_variable(nest, "partial", elem, dims, rank);
    if (lanes > 1)
        nest_reshape(nest, c->partial, rank);
    nest_bind(nest, c->partial, "ram_s2p", storage_of(c->plan.main, 0));
    nest_dependence(nest, c->partial, c->plan.accumulators);
}

static NestMark open_nest(ComputeLowering *c)
{
    LoopSpec loops[PLAN_MAX_LOOPS];
    StrBuf names[PLAN_MAX_LOOPS] = {0};
    Nest *nest = &c->l->nest;
    uint32_t count = c->plan.loop_count;
    for (uint32_t i = 0; i < count; i++) {
        strbuf_add_c(&names[i], loop_name(c, c->plan.loops[i].loop));
        for (uint32_t j = 0; j < i; j++)
            if (c->plan.loops[j].loop == c->plan.loops[i].loop)
                strbuf_add_c(&names[i], "_part");
        loops[i] = (LoopSpec){names[i].data, c->plan.loops[i].trip};
    }
    if (count == 0)
        loops[count++] = (LoopSpec){"step", 1};
    c->nest_first = nest->count;
    NestMark mark = nest_open(nest, "nest", loops, count, LOOP_PIPELINED, -1, -1);
    for (uint32_t i = 0; i < c->plan.loop_count; i++)
        strbuf_free(&names[i]);
    return mark;
}

static bool check_hazard(const ComputeLowering *c)
{
    const Type *elem = type_elem(op_result(c->plan.main, 0)->type);
    if (!reduces(c) || !type_is_float(elem))
        return true;
    return op_error(c->plan.main, "reduces in floating point, whose adder takes several cycles; an "
                                  "initiation interval of 1 is not possible yet");
}

static bool build_process(ComputeLowering *c)
{
    if (!declare_words(c))
        return false;
    declare_accumulators(c);
    if (!main_sources(c))
        return false;
    for (uint32_t s = 0; s < c->plan.stage_count; s++)
        if (!stage_sources(c, s))
            return false;
    NestMark mark = open_nest(c);
    read_words(c);
    bool ok = (!reduces(c) || accumulate(c)) && write_word(c);
    nest_close(&c->l->nest, mark);
    return ok;
}

bool lower_compute(Lowering *l)
{
    ComputeLowering c = {.l = l, .ctx = l->process->ctx};
    if (!compute_plan(l->process, NULL, &c.plan))
        return false;
    for (uint32_t i = 0; i < c.plan.kernel.loop_count; i++)
        c.lane[i] = affine_const(c.ctx, 0);
    arena_init(&c.arena);
    bool ok = check_words(&c) && check_hazard(&c) && build_process(&c);
    arena_free(&c.arena);
    return ok;
}
