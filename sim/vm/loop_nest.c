/* Runs loop nests: computes the operands' offsets from their maps, chooses the order of the loops,
 * merges loops that step as one, and cuts the innermost one into strips.
 * Tests: test/unit/sim/interp/interp_test.c */
#include <assert.h>
#include <string.h>

#include "ir/asm/print/print.h"
#include "sim/vm/vm.h"

VmNest *vm_nest_new(Arena *arena, const Op *op, uint32_t loop_count, uint32_t operand_count)
{
    VmNest *nest = ARENA_NEW(arena, VmNest);
    nest->op = op;
    nest->loop_count = loop_count;
    nest->operand_count = nest->input_count = operand_count;
    nest->extents = ARENA_ARRAY(arena, int64_t, loop_count);
    nest->operands = ARENA_ARRAY(arena, NestOperand, operand_count);
    return nest;
}

int64_t vm_nest_count(const VmNest *nest)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < nest->loop_count; i++)
        if (nest->extents[i] == 0) return 0;
    for (uint32_t i = 0; i < nest->loop_count; i++)
        if (!i64_mul(count, nest->extents[i], &count)) return INT64_MAX;
    return count;
}

static bool leaves(const VmNest *nest, size_t operand, uint32_t dim, int64_t index)
{
    const NestOperand *o = &nest->operands[operand];
    return op_error(nest->op,
                    "index %lld of operand #%zu is out of bounds: dimension %u has %lld elements",
                    (long long)index, operand, dim, (long long)o->array->type->u.shaped.dims[dim]);
}

/* Adds one linear result, whose step in the array is `step`. Bounds that hold for the index keep
 * the products small; a loop of one iteration has no stride. */
static bool add_result(const VmNest *nest, size_t operand, uint32_t dim, const int64_t *coeffs,
                       int64_t constant, int64_t step)
{
    NestOperand *o = &nest->operands[operand];
    int64_t low, high;
    affine_bounds(o->map->results[dim], nest->extents, &low, &high);
    if (low < 0 || high >= o->array->type->u.shaped.dims[dim])
        return leaves(nest, operand, dim, low < 0 ? low : high);
    for (uint32_t i = 0; i < nest->loop_count; i++)
        if (nest->extents[i] > 1) o->strides[i] += coeffs[i] * step;
    o->base += constant * step;
    return true;
}

static bool init_operand(const VmNest *nest, size_t operand, Arena *arena)
{
    NestOperand *o = &nest->operands[operand];
    const int64_t *dims = o->array->type->u.shaped.dims;
    int64_t *coeffs = ARENA_ARRAY(arena, int64_t, nest->loop_count), constant, step = 1;
    o->base = 0;
    o->strides = ARENA_ARRAY(arena, int64_t, nest->loop_count);
    assert(o->map->result_count == o->array->type->u.shaped.rank);
    for (uint32_t r = o->map->result_count; r-- > 0;) {
        if (!affine_linear(o->map->results[r], nest->loop_count, coeffs, &constant)) {
            o->strides = NULL;
            return true;
        }
        if (!add_result(nest, operand, r, coeffs, constant, step)) return false;
        step *= dims[r];
    }
    return true;
}

bool vm_nest_init(VmNest *nest, Arena *arena)
{
    if (vm_nest_count(nest) == 0) return true;
    for (size_t i = 0; i < nest->operand_count; i++)
        if (!init_operand(nest, i, arena)) return false;
    return true;
}

typedef struct NestCursor {
    const VmNest *nest;
    VmPayload *payload;
    uint32_t depth;    /* loops after merging */
    uint32_t *order;   /* loop at each depth, the last innermost */
    int64_t *extents;  /* per depth */
    int64_t **strides; /* per operand, per depth; NULL: not linear */
    int64_t *index;    /* per depth */
    int64_t *offset;   /* per operand: of the strip's first element */
    int64_t *dims;     /* per loop of the nest, for maps that are not linear */
    int64_t *gathered; /* STRIP offsets of such an operand */
    bool strips;       /* the innermost loop may be cut into strips of more than one */
} NestCursor;

/* Each output has a place of its own for every iteration of the loop, and no other loop moves
 * along the same dimension. */
static bool separates_outputs(const VmNest *nest, uint32_t loop)
{
    for (uint32_t i = nest->input_count; i < nest->operand_count; i++)
        if (map_result_of_dim(nest->operands[i].map, loop) < 0) return false;
    return true;
}

/* Unit steps and many iterations are worth most. */
static int64_t worth(const VmNest *nest, uint32_t loop)
{
    int64_t units = 0;
    for (uint32_t i = 0; i < nest->operand_count; i++) {
        const int64_t *strides = nest->operands[i].strides;
        units += strides && strides[loop] >= 0 && strides[loop] <= 1;
    }
    int64_t extent = nest->extents[loop] < STRIP ? nest->extents[loop] : STRIP;
    return extent * (1 + units);
}

static void choose_order(NestCursor *c)
{
    const VmNest *nest = c->nest;
    uint32_t inner = nest->loop_count;
    for (uint32_t i = 0; i < nest->loop_count; i++)
        if (separates_outputs(nest, i) &&
            (inner == nest->loop_count || worth(nest, i) >= worth(nest, inner)))
            inner = i;
    c->strips = inner < nest->loop_count;
    if (!c->strips) inner = nest->loop_count - 1;
    c->depth = 0;
    for (uint32_t i = 0; i < nest->loop_count; i++)
        if (i != inner) c->order[c->depth++] = i;
    c->order[c->depth++] = inner;
}

/* Loops at depths d and d + 1 step as one. */
static bool merges(const NestCursor *c, uint32_t d)
{
    const VmNest *nest = c->nest;
    for (uint32_t i = d; c->payload->loop_count > 0 && i <= d + 1; i++)
        if (c->payload->loops[c->order[i]]) return false;
    if (d + 2 == c->depth && c->strips && !separates_outputs(nest, c->order[d])) return false;
    for (uint32_t i = 0; i < nest->operand_count; i++)
        if (!c->strides[i] || c->strides[i][d] != c->strides[i][d + 1] * c->extents[d + 1])
            return false;
    return true;
}

/* Merges depth d + 1 into d. */
static void merge(NestCursor *c, uint32_t d)
{
    c->extents[d] *= c->extents[d + 1];
    for (uint32_t i = 0; i < c->nest->operand_count; i++) c->strides[i][d] = c->strides[i][d + 1];
    c->order[d] = c->order[d + 1];
    c->depth--;
    for (uint32_t k = d + 1; k < c->depth; k++) {
        c->extents[k] = c->extents[k + 1];
        c->order[k] = c->order[k + 1];
        for (uint32_t i = 0; i < c->nest->operand_count; i++)
            c->strides[i][k] = c->strides[i][k + 1];
    }
}

static void cursor_init(NestCursor *c, const VmNest *nest, VmPayload *payload, Arena *arena)
{
    uint32_t loops = nest->loop_count;
    *c = (NestCursor){.nest = nest, .payload = payload};
    c->order = ARENA_ARRAY(arena, uint32_t, loops);
    c->extents = ARENA_ARRAY(arena, int64_t, loops);
    c->index = ARENA_ARRAY(arena, int64_t, loops);
    c->dims = ARENA_ARRAY(arena, int64_t, loops);
    c->gathered = ARENA_ARRAY(arena, int64_t, STRIP);
    c->offset = ARENA_ARRAY(arena, int64_t, nest->operand_count);
    c->strides = ARENA_ARRAY(arena, int64_t *, nest->operand_count);
    if (loops > 0) choose_order(c);
    for (uint32_t d = 0; d < loops; d++) c->extents[d] = nest->extents[c->order[d]];
    for (uint32_t i = 0; i < nest->operand_count; i++) {
        const NestOperand *o = &nest->operands[i];
        c->offset[i] = o->base;
        c->strides[i] = o->strides ? ARENA_ARRAY(arena, int64_t, loops) : NULL;
        for (uint32_t d = 0; o->strides && d < loops; d++)
            c->strides[i][d] = o->strides[c->order[d]];
    }
    bool all_linear = true;
    for (uint32_t i = 0; i < nest->operand_count; i++) all_linear = all_linear && c->strides[i];
    for (uint32_t d = loops; all_linear && d-- > 1;)
        if (merges(c, d - 1)) merge(c, d - 1);
}

#define LOAD(KIND, T, FIELD, AS)                                                                   \
    case KIND:                                                                                     \
        for (size_t i = 0; i < n; i++)                                                             \
            cells[i].FIELD = (AS)((const T *)array->data)[at + (int64_t)i * stride];               \
        return
static void load(const Array *array, Cell *cells, int64_t at, int64_t stride, size_t n)
{
    switch (array->kind) {
        LOAD(ARRAY_I8, int8_t, i, int64_t);
        LOAD(ARRAY_U8, uint8_t, i, int64_t);
        LOAD(ARRAY_I16, int16_t, i, int64_t);
        LOAD(ARRAY_U16, uint16_t, i, int64_t);
        LOAD(ARRAY_I32, int32_t, i, int64_t);
        LOAD(ARRAY_U32, uint32_t, i, int64_t);
        LOAD(ARRAY_I64, int64_t, i, int64_t);
        LOAD(ARRAY_U64, uint64_t, u, uint64_t);
        LOAD(ARRAY_F32, float, f, double);
        LOAD(ARRAY_F64, double, f, double);
    }
}

#define STORE(KIND, T, FIELD)                                                                      \
    case KIND:                                                                                     \
        for (size_t i = 0; i < n; i++)                                                             \
            ((T *)array->data)[at + (int64_t)i * stride] = (T)cells[i].FIELD;                      \
        return
static void store(Array *array, const Cell *cells, int64_t at, int64_t stride, size_t n)
{
    switch (array->kind) {
        STORE(ARRAY_I8, int8_t, i);
        STORE(ARRAY_U8, uint8_t, i);
        STORE(ARRAY_I16, int16_t, i);
        STORE(ARRAY_U16, uint16_t, i);
        STORE(ARRAY_I32, int32_t, i);
        STORE(ARRAY_U32, uint32_t, i);
        STORE(ARRAY_I64, int64_t, i);
        STORE(ARRAY_U64, uint64_t, u);
        STORE(ARRAY_F32, float, f);
        STORE(ARRAY_F64, double, f);
    }
}

/* Offsets of n elements from index `start` of the innermost loop, by the map. */
static bool gather(NestCursor *c, size_t operand, int64_t start, size_t n)
{
    const NestOperand *o = &c->nest->operands[operand];
    const int64_t *dims = o->array->type->u.shaped.dims;
    uint32_t rank = o->map->result_count, loops = c->nest->loop_count;
    for (uint32_t d = 0; d < loops; d++) c->dims[c->order[d]] = c->index[d];
    for (size_t i = 0; i < n; i++) {
        int64_t at = 0, index;
        c->dims[c->order[loops - 1]] = start + (int64_t)i;
        for (uint32_t r = 0; r < rank; r++) {
            if (!affine_eval(o->map->results[r], c->dims, NULL, &index))
                return op_error(c->nest->op, "operand #%zu has an index that overflows", operand);
            if (index < 0 || index >= dims[r]) return leaves(c->nest, operand, r, index);
            at = at * dims[r] + index;
        }
        c->gathered[i] = at;
    }
    return true;
}

static int64_t inner_stride(const NestCursor *c, size_t operand)
{
    return c->depth > 0 ? c->strides[operand][c->depth - 1] : 0;
}

static bool read_operand(NestCursor *c, size_t operand, Cell *cells, int64_t start, size_t n)
{
    const Array *array = c->nest->operands[operand].array;
    if (c->strides[operand]) {
        load(array, cells, c->offset[operand], inner_stride(c, operand), n);
        return true;
    }
    if (!gather(c, operand, start, n)) return false;
    for (size_t i = 0; i < n; i++) cells[i] = vm_cell_from_array(array, c->gathered[i]);
    return true;
}

static bool write_operand(NestCursor *c, size_t operand, const Cell *cells, int64_t start, size_t n)
{
    Array *array = c->nest->operands[operand].array;
    if (c->strides[operand]) {
        store(array, cells, c->offset[operand], inner_stride(c, operand), n);
        return true;
    }
    if (!gather(c, operand, start, n)) return false;
    for (size_t i = 0; i < n; i++) vm_cell_to_array(array, c->gathered[i], cells[i]);
    return true;
}

/* The loops' indices that the body asks for. */
static void fill_indices(const NestCursor *c, int64_t start, size_t n)
{
    if (c->payload->loop_count == 0) return;
    for (uint32_t d = 0; d < c->depth; d++) {
        Cell *cells = c->payload->loops[c->order[d]];
        bool is_inner = d + 1 == c->depth;
        for (size_t i = 0; cells && i < n; i++)
            cells[i].i = is_inner ? start + (int64_t)i : c->index[d];
    }
}

static bool run_strip(NestCursor *c, int64_t start, size_t n)
{
    const VmNest *nest = c->nest;
    const VmPayload *payload = c->payload;
    for (uint32_t i = 0; i < payload->arg_count; i++)
        if (i < nest->operand_count && payload->args[i] &&
            !read_operand(c, i, payload->args[i], start, n))
            return false;
    fill_indices(c, start, n);
    if (!vm_payload_run(payload, n)) return false;
    for (uint32_t i = nest->input_count; i < nest->operand_count; i++)
        if (!write_operand(c, i, payload->yields[i - nest->input_count], start, n)) return false;
    return true;
}

static void advance(NestCursor *c, uint32_t depth, int64_t steps)
{
    for (uint32_t i = 0; i < c->nest->operand_count; i++)
        if (c->strides[i]) c->offset[i] += c->strides[i][depth] * steps;
}

static bool run_inner(NestCursor *c)
{
    if (c->depth == 0) return run_strip(c, 0, 1);
    uint32_t inner = c->depth - 1;
    int64_t extent = c->extents[inner], step = c->strips ? STRIP : 1, done = 0;
    for (; done < extent; done += step) {
        int64_t n = extent - done < step ? extent - done : step;
        if (!run_strip(c, done, (size_t)n)) return false;
        advance(c, inner, step);
    }
    advance(c, inner, -done);
    return true;
}

/* To the next iteration of the loops around the innermost; false: there is none. */
static bool next_iteration(NestCursor *c)
{
    for (uint32_t d = c->depth > 0 ? c->depth - 1 : 0; d-- > 0;) {
        advance(c, d, 1);
        if (++c->index[d] < c->extents[d]) return true;
        advance(c, d, -c->extents[d]);
        c->index[d] = 0;
    }
    return false;
}

bool vm_nest_run(const VmNest *nest, VmPayload *payload, Arena *arena)
{
    NestCursor cursor;
    if (vm_nest_count(nest) == 0) return true;
    cursor_init(&cursor, nest, payload, arena);
    do {
        if (!run_inner(&cursor)) return false;
    } while (next_iteration(&cursor));
    return true;
}

bool vm_nest_run_flat(const Op *op, VmPayload *payload, Array *const *inputs, uint32_t input_count,
                      Array *const *outputs, uint32_t output_count, Arena *arena)
{
    VmNest *nest = vm_nest_new(arena, op, 1, input_count + output_count);
    int64_t *unit = ARENA_ARRAY(arena, int64_t, 1), *zero = ARENA_ARRAY(arena, int64_t, 1);
    nest->input_count = input_count;
    nest->extents[0] = outputs[0]->count;
    *unit = 1;
    for (uint32_t i = 0; i < nest->operand_count; i++) {
        bool is_output = i >= input_count;
        Array *array = is_output ? outputs[i - input_count] : inputs[i];
        bool is_spread = array->count == 1;
        nest->operands[i] = (NestOperand){
            .array = array, .map = map_identity(op->ctx, 1), .strides = is_spread ? zero : unit};
        assert(is_spread || array->count == nest->extents[0]);
    }
    return vm_nest_run(nest, payload, arena);
}
