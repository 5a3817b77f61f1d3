/* The operands of a compute process: they come from words of its streams, from tables whose
 * elements are in the order in which the nest reads them, or from single constants.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-compute.mir */
#include <assert.h>
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "lowering/dfg_to_emithls/internal.h"

bool to_emithls_reduces(const ComputeLowering *c)
{
    return c->sched.kernel.class != KERNEL_PURE_PARALLEL;
}

const AffineExpr *to_emithls_counter(const ComputeLowering *c, uint32_t i)
{
    return affine_dim(c->ctx, c->nest_first + i);
}

const AffineExpr *to_emithls_output_lane(const ComputeLowering *c)
{
    const AffineMap *out = sched_compute_output_map(&c->sched);
    const AffineExpr *lane = affine_const(c->ctx, 0);
    for (uint32_t r = 0; r < out->result_count; r++) {
        int64_t loop = out->results[r]->value;
        lane = affine_add(affine_mul_c(lane, c->sched.unroll[loop]), c->lane[loop]);
    }
    return lane;
}

uint32_t to_emithls_table_index(const ComputeLowering *c, const TableLayout *layout,
                                const AffineExpr **index)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < layout->loop_count; i++)
        index[n++] = to_emithls_counter(c, layout->by_loop[i]);
    if (layout->lanes == 1) return n;
    index[n] = affine_const(c->ctx, 0);
    for (uint32_t i = 0; i < layout->lane_count; i++) {
        uint32_t loop = layout->by_lane[i];
        index[n] = affine_add(affine_mul_c(index[n], c->sched.unroll[loop]), c->lane[loop]);
    }
    return n + 1;
}

/* A joined stream has the output's words. One that nothing comes of has no variable, and any value. */
static Value *load_joined(ComputeLowering *c, uint32_t join)
{
    Value *word = c->joined[join];
    const Type *frame = dfg_payload(dfg_port(c->l->process, c->sched.joins[join].port)->type);
    if (!word)
        return emithls_nest_constant(&c->l->nest, type_is_float(type_elem(frame))
                                                      ? attr_float(type_elem(frame), 0)
                                                      : attr_int(type_elem(frame), 0));
    const AffineExpr *lane = to_emithls_output_lane(c);
    bool has_lanes = emithls_array_elem(word->type)->kind == TYPE_VECTOR;
    return emithls_nest_load(&c->l->nest, word, &lane, has_lanes);
}

Value *to_emithls_load_source(ComputeLowering *c, const OperandSource *s)
{
    const AffineExpr *index[SCHED_MAX_LOOPS + 1];
    EmithlsNest *nest = &c->l->nest;
    if (s->kind == SOURCE_CONSTANT) return emithls_nest_constant(nest, s->constant);
    if (s->kind == SOURCE_STREAM) return to_emithls_load_word(c, s->stream);
    if (s->kind == SOURCE_JOIN) return load_joined(c, s->stream);
    uint32_t n = to_emithls_table_index(c, &s->layout, index);
    return emithls_nest_load(nest, s->array, index, n);
}

/* The constant behind an operand: elements, or a scalar for a filled or scalar operand. NULL:
 * not a constant. */
static const Attr *constant_of(const Value *value, const Op **holder)
{
    const Op *def = value_def(value);
    if (def && def->def == LINALG(FILL)) return constant_of(op_operand(def, 0), holder);
    if (!def || !op_has_trait(def, TRAIT_CONSTANT_LIKE)) return NULL;
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
        const ScheduleLoop *loop = &c->sched.loops[layout->by_loop[i]];
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
        if (++position[i] < extents[i]) return true;
        position[i] = 0;
    }
    return false;
}

/* Copies elements that are `step` apart to a row; bits are packed. */
static void copy_row(const Attr *value, int64_t from, int64_t step, uint8_t *data, size_t to,
                     int64_t count)
{
    uint32_t bytes = dense_elem_bytes(type_elem(value->type));
    if (value->u.dense.is_splat) from = step = 0;
    const uint8_t *source = value->u.dense.data;
    if (bytes == 1) { /* weights of most networks: without calls */
        for (int64_t i = 0; i < count; i++) data[to + (size_t)i] = source[from + i * step];
        return;
    }
    for (int64_t i = 0; i < count; i++, to++, from += step)
        if (bytes)
            memcpy(data + to * bytes, source + (size_t)from * bytes, bytes);
        else if (source[from / 8] >> (from % 8) & 1)
            data[to / 8] = (uint8_t)(data[to / 8] | 1u << (to % 8));
}

/* How far apart the elements are from one position to the next (counters, then lanes), and where
 * the first one is. False: the map is not linear. */
static bool element_steps(const ComputeLowering *c, const TableLayout *layout, const Type *tensor,
                          int64_t *steps, int64_t *first)
{
    int64_t by_loop[KERNEL_MAX_LOOPS] = {0}, stride = 1;
    *first = 0;
    for (uint32_t r = layout->map->result_count; r-- > 0;) {
        int64_t coeffs[KERNEL_MAX_LOOPS], constant;
        if (!affine_linear(layout->map->results[r], layout->map->dim_count, coeffs, &constant))
            return false;
        for (uint32_t l = 0; l < layout->map->dim_count; l++) by_loop[l] += coeffs[l] * stride;
        *first += constant * stride;
        stride *= tensor->u.shaped.dims[r];
    }
    for (uint32_t i = 0; i < layout->loop_count; i++) {
        const ScheduleLoop *loop = &c->sched.loops[layout->by_loop[i]];
        *steps++ = by_loop[loop->loop] * loop->scale;
    }
    for (uint32_t i = 0; i < layout->lane_count; i++) *steps++ = by_loop[layout->by_lane[i]];
    return true;
}

/* The constant's elements in the order in which the nest reads them; the last `kept` dimensions
 * stay as they are. Of weights, those that come by again are zero. */
static const Attr *reordered(ComputeLowering *c, const TableLayout *layout, const Attr *value,
                             uint32_t kept, bool are_weights)
{
    int64_t extents[SCHED_MAX_LOOPS + KERNEL_MAX_LOOPS], position[COUNT_OF(extents)] = {0};
    int64_t dims[SCHED_MAX_LOOPS + 1 + DFG_MAX_RANK], inner = 1;
    uint32_t count = 0, rank = 0, own = value->type->u.shaped.rank;
    for (uint32_t i = 0; i < layout->loop_count; i++)
        dims[rank++] = extents[count++] = c->sched.loops[layout->by_loop[i]].trip;
    for (uint32_t i = 0; i < layout->lane_count; i++)
        extents[count++] = c->sched.unroll[layout->by_lane[i]];
    if (layout->lanes > 1) dims[rank++] = layout->lanes;
    for (uint32_t i = own - kept; i < own; i++)
        inner *= dims[rank++] = value->type->u.shaped.dims[i];
    const Type *elem = type_elem(value->type);
    size_t total = (size_t)(layout->depth * layout->lanes * inner), n = 0;
    size_t bytes = dense_elem_bytes(elem) ? total * dense_elem_bytes(elem) : (total + 7) / 8;
    uint8_t *data = arena_alloc(&c->arena, bytes);
    int64_t steps[COUNT_OF(extents)] = {0}, first, row = inner, step = 1;
    bool is_linear = element_steps(c, layout, value->type, steps, &first);
    if (is_linear && kept == 0 && !are_weights && count > 0) { /* a row of the last position */
        row = extents[--count];
        step = steps[count];
    }
    do {
        int64_t from = first;
        for (uint32_t i = 0; i < count && is_linear; i++) from += position[i] * steps[i];
        if (!is_linear) from = source_element(c, layout, value->type, position);
        if (!are_weights || !sched_table_repeats(&c->sched, layout, position))
            copy_row(value, from * inner, step, data, n, row);
        n += (size_t)row;
    } while (next_position(position, extents, count));
    return attr_dense_raw(type_tensor(elem, dims, rank, NULL), data, bytes, false);
}

const Type *to_emithls_table_type(const Attr *elements)
{
    const Type *tensor = elements->type;
    return emithls_array(type_elem(tensor), tensor->u.shaped.dims, tensor->u.shaped.rank);
}

Value *to_emithls_declare_table(EmithlsLowering *l, const Attr *elements, const Type *type,
                                Str role, const char *kind, Str storage, bool has_lanes)
{
    EmithlsNest *nest = &l->nest;
    Context *ctx = l->func->ctx;
    StrBuf name = {0};
    Builder b = builder_before(l->func);
    strbuf_printf(&name, "%.*s_%.*s", STR_ARG(symbol_name(l->func)->str), STR_ARG(role));
    const NamedAttr attrs[2] = {
        build_named_attr(ctx, "sym_name", attr_string(ctx, strbuf_str(&name))),
        build_named_attr(ctx, "value", elements)};
    strbuf_free(&name);
    Op *table = build(&b, EMITHLS(TABLE), NULL, 0, NULL, 0, attrs, 2);
    const Ident *symbol = symtab_insert(l->symbols, table);
    NamedAttr ref = build_named_attr(ctx, EMITHLS_ATTR_TABLE, attr_symbol(ctx, symbol));
    Value *array = op_result(build(&nest->b, EMITHLS(GET), NULL, 0, &type, 1, &ref, 1), 0);
    uint32_t rank = emithls_array_rank(type);
    bool is_memory = rank > (has_lanes ? 1u : 0u);
    bool is_row = has_lanes && is_memory &&
                  !sched_popcount_splits_rows(emithls_array_dim(type, rank - 1),
                                              emithls_lanes(emithls_array_elem(type)));
    if (has_lanes) (is_row ? emithls_nest_reshape : emithls_nest_partition)(nest, array, rank);
    if (is_memory) emithls_nest_bind(nest, array, kind, storage);
    return array;
}

/* Whether an operand is main's weights, and parts of loops overlap. */
static bool are_weights_again(const ComputeLowering *c, const Op *generic, uint32_t operand)
{
    bool overlap = false;
    for (uint32_t i = 0; i < c->sched.kernel.loop_count; i++)
        overlap |= c->sched.kernel.extents[i] % c->sched.unroll[i] != 0;
    return overlap && generic == c->sched.main && (int)operand == sched_compute_weights(&c->sched);
}

/* The table of an operand's planes: [counters][lanes of the output and, in each, planes] of words
 * that have a bit for each lane of the reduction. */
static void declare_planes(ComputeLowering *c, const PopcountOperand *x, const Attr *elements,
                           Str storage, OperandSource *out)
{
    int64_t dims[SCHED_MAX_LOOPS + 2], bits = c->sched.reduction_lanes;
    int64_t words = out->layout.lanes / bits * x->planes;
    uint32_t rank = 0;
    for (uint32_t i = 0; i < out->layout.loop_count; i++)
        dims[rank++] = c->sched.loops[out->layout.by_loop[i]].trip;
    if (words > 1) dims[rank++] = words;
    const Type *word = type_vector(type_i(c->ctx, 1), &bits, 1, NULL);
    const Type *array = emithls_array(word, dims, rank);
    dims[rank++] = bits;
    size_t count = (size_t)(out->layout.depth * words * bits), bytes = (count + 7) / 8;
    uint8_t *data = arena_alloc(&c->arena, bytes);
    memset(data, 0, bytes);
    for (size_t i = 0; i < count; i++) {
        int64_t row = (int64_t)i / bits / x->planes, plane = (int64_t)i / bits % x->planes;
        int64_t value = dense_i64(elements, row * bits + (int64_t)i % bits);
        data[i / 8] |= (uint8_t)((value >> plane & 1) << (i % 8));
    }
    const Attr *planes =
        attr_dense_raw(type_tensor(type_i(c->ctx, 1), dims, rank, NULL), data, bytes, false);
    out->array =
        to_emithls_declare_table(c->l, planes, array, STR("weights"), "rom_1p", storage, words > 1);
}

Value *to_emithls_load_plane(ComputeLowering *c, const PopcountOperand *x, int64_t plane)
{
    const OperandSource *s = &c->sources[0][x->table];
    const AffineExpr *index[SCHED_MAX_LOOPS + 1], *lane = affine_const(c->ctx, 0);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->layout.loop_count; i++)
        index[n++] = to_emithls_counter(c, s->layout.by_loop[i]);
    for (uint32_t i = 0; i < s->layout.lane_count; i++) {
        uint32_t loop = s->layout.by_lane[i];
        if (!c->sched.kernel.is_reduction[loop])
            lane = affine_add(affine_mul_c(lane, c->sched.unroll[loop]), c->lane[loop]);
    }
    index[n] = affine_add_c(affine_mul_c(lane, x->planes), plane);
    return emithls_nest_load(&c->l->nest, s->array, index, emithls_array_rank(s->array->type));
}

static bool constant_source(ComputeLowering *c, const Op *generic, uint32_t operand,
                            const AffineMap *map, Str role, OperandSource *out)
{
    const PopcountOperand *words = generic == c->sched.main && c->sched.popcount.is_used
                                       ? sched_popcount_table(&c->sched, operand)
                                       : NULL;
    const Op *holder = NULL;
    const Attr *value = constant_of(op_operand(generic, operand), &holder);
    if (!value) return op_error(generic, "operand #%u is neither streamed nor constant", operand);
    *out = (OperandSource){.kind = SOURCE_CONSTANT};
    if (scalar_of(value, &out->constant)) return true;
    if (value->kind != ATTR_DENSE)
        return op_error(holder, "has a value whose elements are not given");
    out->kind = SOURCE_TABLE;
    sched_table_layout(&c->sched, map, &out->layout);
    const Attr *elements =
        reordered(c, &out->layout, value, 0, are_weights_again(c, generic, operand));
    if (elements->type->u.shaped.rank == 0) {
        out->kind = SOURCE_CONSTANT;
        out->constant = dense_elem(elements, 0);
        return true;
    }
    Str storage = to_emithls_storage_of(holder, 0);
    if (words)
        declare_planes(c, words, elements, storage, out);
    else
        out->array = to_emithls_declare_table(c->l, elements, to_emithls_table_type(elements), role,
                                              "rom_1p", storage, out->layout.lanes > 1);
    return true;
}

/* Tables that payload `which` (0: main's) reads at places it computes: each lane has a port of its
 * own, and a table of its own if it has rows of its own. */
static bool lookup_tables(ComputeLowering *c, uint32_t which)
{
    const Op *generic = which ? c->sched.stages[which - 1] : c->sched.main;
    FOR_EACH_OP(op, linalg_body(generic)) {
        const Op *holder = NULL;
        if (op->def != TENSOR(EXTRACT)) continue;
        const Attr *value = constant_of(op_operand(op, 0), &holder);
        if (!value || value->kind != ATTR_DENSE || op->operand_count == 1)
            return op_error(op, "cannot run in a streaming process: it reads a tensor that is no "
                                "constant");
        Lookup *lookup = ARENA_NEW(&c->arena, Lookup);
        sched_lookup_layout(&c->sched, to_emithls_payload_loops(c, which), op, &lookup->layout);
        const TableLayout *rows = &lookup->layout.rows;
        uint32_t kept = value->type->u.shaped.rank - lookup->layout.leading;
        const Attr *elements = reordered(c, rows, value, kept, false);
        lookup->array =
            to_emithls_declare_table(c->l, elements, to_emithls_table_type(elements), STR("levels"),
                                     "rom_np", to_emithls_storage_of(holder, 0), false);
        if (rows->lanes > 1)
            emithls_nest_partition(&c->l->nest, lookup->array, rows->loop_count + 1);
        ptrmap_put(&c->looked_up, op, lookup);
    }
    return true;
}

static int stream_of_operand(const ComputeSchedule *sched, uint32_t operand)
{
    for (uint32_t s = 0; s < sched->stream_count; s++)
        if (sched->stream_operand[s] == operand) return (int)s;
    return -1;
}

bool to_emithls_main_sources(ComputeLowering *c)
{
    const Op *main = c->sched.main;
    uint32_t count = linalg_input_count(main);
    c->sources[0] = ARENA_ARRAY(&c->arena, OperandSource, main->operand_count);
    for (uint32_t i = 0; i < count; i++) {
        const AffineMap *map = linalg_operand_map(main, i);
        int stream = stream_of_operand(&c->sched, i);
        if (stream >= 0)
            c->sources[0][i] = (OperandSource){.kind = SOURCE_STREAM, .stream = (uint32_t)stream};
        else if (linalg_reads_operand(main, i) &&
                 !constant_source(c, main, i, map, STR("weights"), &c->sources[0][i]))
            return false;
    }
    /* The initial values of a reduction take the places after the inputs. */
    for (uint32_t i = count; to_emithls_reduces(c) && i < main->operand_count; i++)
        if (!constant_source(c, main, i, linalg_operand_map(main, i), STR("initial"),
                             &c->sources[0][i]))
            return false;
    return lookup_tables(c, 0);
}

bool to_emithls_stage_sources(ComputeLowering *c, uint32_t stage)
{
    const Op *op = c->sched.stages[stage];
    const Value *flow = op_result(stage ? c->sched.stages[stage - 1] : c->sched.main, 0);
    OperandSource *sources = ARENA_ARRAY(&c->arena, OperandSource, linalg_input_count(op) + 1);
    c->sources[stage + 1] = sources;
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        if (reshape_source(op_operand(op, i)) == flow)
            sources[i] = (OperandSource){.kind = SOURCE_FLOW};
        else if (sched_find_join(&c->sched, stage, i) >= 0)
            sources[i] = (OperandSource){.kind = SOURCE_JOIN,
                                         .stream = (uint32_t)sched_find_join(&c->sched, stage, i)};
        else if (linalg_reads_operand(op, i) &&
                 !constant_source(c, op, i, sched_stage_operand_map(&c->sched, stage, i),
                                  STR("params"), &sources[i]))
            return false;
    }
    return lookup_tables(c, stage + 1);
}
