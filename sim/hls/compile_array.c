/* Compiles indices and array accesses in loop bodies. A load from a constant address needs no code
 * if nothing is stored there before its last use, because the element is a register itself. A load
 * at a computed place checks its bounds.
 * Tests: lit/sim/hls/values.mir, lit/sim/hls/lookup.mir */
#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "sim/hls/internal.h"

static HlsForm *find_form(HlsCompiler *c, const int64_t *coeffs)
{
    for (size_t i = 0; i < c->code->forms.len; i++)
        if (memcmp(c->code->forms.data[i].coeffs, coeffs, sizeof c->code->forms.data[i].coeffs) ==
            0)
            return &c->code->forms.data[i];
    return NULL;
}

/* steps[i] = coeffs[i] - sum over inner counters of coeffs[k] * (extents[k] - 1), modulo 2^64 */
static uint32_t form_reg(HlsCompiler *c, const int64_t *coeffs)
{
    HlsForm *form = find_form(c, coeffs);
    if (form) return form->reg;
    form = vec_push(&c->code->forms);
    *form = (HlsForm){.reg = hls_sim_compiler_new_regs(c, 1)};
    memcpy(form->coeffs, coeffs, sizeof form->coeffs);
    uint64_t inner = 0;
    for (uint32_t i = c->loop->counter_count; i-- > 0;) {
        form->steps[i] = (int64_t)((uint64_t)coeffs[i] - inner);
        inner += (uint64_t)coeffs[i] * (uint64_t)(c->loop->extents[i] - 1);
    }
    return form->reg;
}

uint32_t hls_sim_compile_index_op(HlsCompiler *c, HlsOpcode code, uint32_t a, uint32_t b,
                                  int64_t imm)
{
    HlsInstr *in = vec_push(&c->code->before);
    *in = (HlsInstr){.code = (uint8_t)code,
                     .out = hls_sim_compiler_new_regs(c, 1),
                     .a = a,
                     .b = b,
                     .imm = imm,
                     .count = 1};
    return in->out;
}

uint32_t hls_sim_whole_index(HlsCompiler *c, const AffineExpr *expr)
{
    Index index = hls_sim_compile_index(c, expr);
    uint32_t constant = hls_sim_compiler_new_regs(c, 1);
    *vec_push(&c->constants) = (Constant){constant, {.i = index.add}};
    return index.reg == NO_REG ? constant
                               : hls_sim_compile_index_op(c, CODE_ADD, index.reg, constant, 0);
}

static uint32_t compile_nonlinear(HlsCompiler *c, const AffineExpr *expr)
{
    static const HlsOpcode codes[] = {[AFFINE_MUL] = CODE_MUL_CONST,
                                      [AFFINE_MOD] = CODE_MOD,
                                      [AFFINE_FLOORDIV] = CODE_FLOORDIV,
                                      [AFFINE_CEILDIV] = CODE_CEILDIV};
    uint32_t left = hls_sim_whole_index(c, expr->lhs);
    if (expr->kind == AFFINE_ADD)
        return hls_sim_compile_index_op(c, CODE_ADD, left, hls_sim_whole_index(c, expr->rhs), 0);
    return hls_sim_compile_index_op(c, codes[expr->kind], left, 0, expr->rhs->value);
}

Index hls_sim_compile_index(HlsCompiler *c, const AffineExpr *expr)
{
    int64_t coeffs[HLS_MAX_LOOPS] = {0};
    Index index = {NO_REG, 0};
    if (affine_linear(expr, c->loop->counter_count, coeffs, &index.add)) {
        bool moves = false;
        for (uint32_t i = 0; i < c->loop->counter_count; i++) moves |= coeffs[i] != 0;
        index.reg = moves ? form_reg(c, coeffs) : NO_REG;
        return index;
    }
    index.add = 0;
    if (!ptrmap_has(&c->indices, expr))
        hls_sim_reg_put(&c->indices, expr, compile_nonlinear(c, expr));
    index.reg = hls_sim_reg_find(&c->indices, expr);
    return index;
}

const AffineExpr *hls_sim_compiler_over_counters(const HlsCompiler *c, const Op *op, uint32_t first,
                                                 const AffineExpr *expr)
{
    const AffineExpr *dims[HLS_MAX_LOOPS];
    if (op->operand_count - first > HLS_MAX_LOOPS) {
        op_error(op, "cannot be simulated: it has more than %d indices", HLS_MAX_LOOPS);
        return NULL;
    }
    for (uint32_t i = first; i < op->operand_count; i++) {
        int at = design_counter_of(c->loop, op_operand(op, i));
        dims[i - first] =
            at >= 0 ? affine_dim(op->ctx, (uint32_t)at) : ptrmap_get(&c->lanes, op_operand(op, i));
        if (!dims[i - first]) {
            op_error(op, "cannot be simulated: an index is no loop counter");
            return NULL;
        }
    }
    return affine_replace(expr, dims, op->operand_count - first, NULL, 0);
}

int64_t hls_sim_array_size(const Type *array)
{
    int64_t size = emithls_lanes(emithls_array_elem(array));
    for (uint32_t i = 0; i < emithls_array_rank(array); i++) size *= emithls_array_dim(array, i);
    return size;
}

/* An access in registers: base + index, `count` of them. */
typedef struct ArrayAddress {
    uint32_t base, count;
    Index index;
} ArrayAddress;

/* Lets the body check that an index is below the extent of its dimension. */
static void check_index(HlsCompiler *c, const Op *op, Index index, uint32_t dim, int64_t extent)
{
    HlsInstr *in = hls_sim_compiler_emit(c, CODE_CHECK);
    in->a = dim;
    in->b = index.reg;
    in->imm = index.add;
    in->count = (uint32_t)extent; /* of an array that has registers */
    in->op = op;
}

/* False: diagnosed, the index is a number outside. */
static bool bound_index(HlsCompiler *c, const Op *op, const AffineExpr *at, uint32_t dim,
                        int64_t extent)
{
    int64_t low, high;
    affine_bounds(at, c->loop->extents, &low, &high);
    if (low >= 0 && high < extent) return true;
    Index index = hls_sim_compile_index(c, at);
    if (index.reg == NO_REG)
        return op_error(op, "accesses element %lld of dimension %u, which has %lld",
                        (long long)index.add, dim, (long long)extent);
    check_index(c, op, index, dim, extent);
    return true;
}

/* Where indices of an op lead in an array. False: diagnosed. */
static bool find_address(HlsCompiler *c, const Op *op, const Value *array, uint32_t first,
                         ArrayAddress *out)
{
    const AffineMap *map = op_attr(op, "map")->u.map;
    uint32_t rank = emithls_array_rank(array->type);
    int64_t lanes = emithls_lanes(emithls_array_elem(array->type));
    const AffineExpr *flat = affine_const(op->ctx, 0);
    for (uint32_t i = 0; i < map->result_count; i++) {
        const AffineExpr *at = hls_sim_compiler_over_counters(c, op, first, map->results[i]);
        int64_t extent = i < rank ? emithls_array_dim(array->type, i) : lanes;
        if (!at || !bound_index(c, op, at, i, extent)) return false;
        flat = affine_add(affine_mul_c(flat, extent), at);
    }
    *out = (ArrayAddress){.base = hls_sim_reg_find(&c->arrays, array), .count = 1};
    if (map->result_count == rank) {
        flat = affine_mul_c(flat, lanes);
        out->count = (uint32_t)lanes;
    }
    out->index = hls_sim_compile_index(c, flat);
    return true;
}

/* The op of `block` that is, or holds, the last use of a value or of its extensions, which have its
 * place. */
static const Op *last_use_in(const Value *value, const Block *block, const Op *last)
{
    FOR_EACH_USE(use, value) {
        const Op *op = use->owner;
        if (op->def == ARITH(EXTSI)) last = last_use_in(op_result(op, 0), block, last);
        while (op->block != block) op = op_parent(op);
        last = !last || op_is_before(last, op) ? op : last;
    }
    return last;
}

static bool stores_to(const Op *op, const Value *array)
{
    if (op->def == EMITHLS(STORE) && op_operand(op, 1) == array) return true;
    FOR_EACH_INNER(inner, op)
        if (stores_to(inner, array)) return true;
    return false;
}

/* Whether the loaded value may be read from the array until its last use. Only a few ops are
 * looked at. */
static bool stays(const Op *load)
{
    enum { MAX_DISTANCE = 64 };
    const Op *last = last_use_in(op_result(load, 0), load->block, NULL);
    int distance = 0;
    for (const Op *op = load->next; op && op != last; op = op->next)
        if (++distance > MAX_DISTANCE || stores_to(op, op_operand(load, 0))) return false;
    return !last || last->region_count == 0 || !stores_to(last, op_operand(load, 0));
}

/* Whether a load takes places that the body computes, as indices of their own. */
static bool is_lookup(const HlsCompiler *c, const Op *op)
{
    const AffineMap *map = op_attr(op, "map")->u.map;
    bool is_computed = false;
    if (map->result_count != emithls_array_rank(op_operand(op, 0)->type)) return false;
    for (uint32_t i = 1; i < op->operand_count; i++)
        is_computed |= ptrmap_has(&c->places, op_operand(op, i));
    return is_computed && emithls_lanes(op_result(op, 0)->type) == 1;
}

/* An index of a lookup in a register: a place, or a form of counters. False: it is neither. */
static bool lookup_index(HlsCompiler *c, const Op *op, const AffineExpr *expr, uint32_t *reg)
{
    const AffineExpr *dims[HLS_MAX_LOOPS];
    const Value *value =
        expr->kind == AFFINE_DIM ? op_operand(op, 1 + (uint32_t)expr->value) : NULL;
    if (value && ptrmap_has(&c->places, value)) {
        *reg = hls_sim_compiler_place(c, value);
        return true;
    }
    for (uint32_t i = 1; i < op->operand_count; i++) {
        int at = design_counter_of(c->loop, op_operand(op, i));
        dims[i - 1] =
            at >= 0 ? affine_dim(op->ctx, (uint32_t)at) : ptrmap_get(&c->lanes, op_operand(op, i));
        if (!dims[i - 1] && affine_uses_dim(expr, i - 1))
            return op_error(op, "cannot be simulated: an index is no loop counter");
        if (!dims[i - 1]) dims[i - 1] = affine_const(op->ctx, 0);
    }
    *reg = hls_sim_whole_index(c, affine_replace(expr, dims, op->operand_count - 1, NULL, 0));
    return true;
}

/* at = ((i0 * d1 + i1) * d2 + i2) ... False: diagnosed. */
static bool compile_lookup(HlsCompiler *c, const Op *op)
{
    const Type *array = op_operand(op, 0)->type;
    const AffineMap *map = op_attr(op, "map")->u.map;
    uint32_t at = 0, next = 0;
    if (op->operand_count - 1 > HLS_MAX_LOOPS)
        return op_error(op, "cannot be simulated: it has more than %d indices", HLS_MAX_LOOPS);
    for (uint32_t i = 0; i < map->result_count; i++) {
        if (!lookup_index(c, op, map->results[i], &next)) return false;
        check_index(c, op, (Index){next, 0}, i, emithls_array_dim(array, i));
        if (i == 0) {
            at = next;
            continue;
        }
        uint32_t scaled = hls_sim_compiler_new_regs(c, 2);
        *hls_sim_compiler_emit(c, CODE_MUL_CONST) = (HlsInstr){.code = CODE_MUL_CONST,
                                                               .out = scaled,
                                                               .a = at,
                                                               .count = 1,
                                                               .imm = emithls_array_dim(array, i)};
        at = scaled + 1;
        *hls_sim_compiler_emit(c, CODE_ADD) =
            (HlsInstr){.code = CODE_ADD, .out = at, .a = scaled, .b = next, .count = 1};
    }
    *hls_sim_compiler_emit(c, CODE_LOAD) =
        (HlsInstr){.code = CODE_LOAD,
                   .out = hls_sim_compiler_define(c, op_result(op, 0)),
                   .b = at,
                   .a = hls_sim_reg_find(&c->arrays, op_operand(op, 0)),
                   .count = 1};
    return true;
}

bool hls_sim_compile_load(HlsCompiler *c, const Op *op)
{
    ArrayAddress at;
    if (is_lookup(c, op)) return compile_lookup(c, op);
    if (!find_address(c, op, op_operand(op, 0), 1, &at)) return false;
    if (at.index.reg == NO_REG && stays(op)) {
        hls_sim_reg_put(&c->places, op_result(op, 0), at.base + (uint32_t)at.index.add);
        return true;
    }
    uint32_t out = hls_sim_compiler_define(c, op_result(op, 0));
    HlsInstr *in = hls_sim_compiler_emit(c, at.index.reg == NO_REG ? CODE_COPY : CODE_LOAD);
    in->out = out;
    in->a = at.base;
    in->b = at.index.reg;
    in->imm = at.index.add;
    in->count = at.count;
    if (at.index.reg == NO_REG) in->a += (uint32_t)at.index.add;
    return true;
}

/* The instruction just emitted may leave its result in another place. */
static bool redirect(HlsCompiler *c, const Value *value, uint32_t reg, size_t block_begin)
{
    size_t len = c->code->body.len;
    if (len <= block_begin || !value_has_one_use(value) || !ptrmap_has(&c->own, value))
        return false;
    HlsInstr *last = &c->code->body.data[len - 1];
    if (last->code < CODE_ADD || last->out != hls_sim_reg_find(&c->own, value) ||
        hls_sim_compiler_place(c, value) != last->out)
        return false;
    last->out = reg;
    return true;
}

bool hls_sim_compile_store(HlsCompiler *c, const Op *op, size_t block_begin)
{
    ArrayAddress at;
    const Value *value = op_operand(op, 0);
    if (!find_address(c, op, op_operand(op, 1), 2, &at)) return false;
    bool is_fixed = at.index.reg == NO_REG;
    if (is_fixed && redirect(c, value, at.base + (uint32_t)at.index.add, block_begin)) return true;
    HlsInstr *in = hls_sim_compiler_emit(c, is_fixed ? CODE_COPY : CODE_STORE);
    in->out = is_fixed ? at.base + (uint32_t)at.index.add : at.base;
    in->a = hls_sim_compiler_place(c, value);
    in->b = at.index.reg;
    in->imm = at.index.add;
    in->count = at.count;
    return true;
}
