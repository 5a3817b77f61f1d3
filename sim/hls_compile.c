/* Compiling processes. Arrays get registers first; every SSA value has a register (a word as many as
 * it has lanes) that its copies in unrolled loops share, since none of them lives longer than its
 * copy. A load from a constant address gives no code where nothing is stored before its last use.
 * Tests: lit/sim/hls-values.mir, test/e2e/sizing_check.py */
#include "sim/hls_code.h"

#include <assert.h>
#include <stdlib.h>

#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "ir/array.h"
#include "ir/diag.h"
#include "ir/symbol.h"
#include "sim/program.h"

typedef struct Constant {
    uint32_t reg;
    Cell value;
} Constant;

typedef struct Compiler {
    const HlsLoop *loop;
    HlsLoopCode *code;
    uint32_t reg_count;
    PtrMap arrays;    /* Value* -> first register + 1 */
    PtrMap own;       /* Value* -> its register + 1 */
    PtrMap places;    /* Value* -> the register + 1 that holds it in this copy */
    PtrMap lanes;     /* counter of an unrolled loop -> AffineExpr constant */
    PtrMap indices;   /* AffineExpr* -> register + 1; of this loop */
    PtrMap ports;     /* stream Value* -> port + 1 */
    VEC(Constant) constants;
    VEC(Array *) tables; /* contents of constant arrays, with ... */
    VEC(uint32_t) table_regs;
} Compiler;

/* An address: register of its moving part, or NO_REG, and a constant. */
enum { NO_REG = 0 };
typedef struct Index {
    uint32_t reg;
    int64_t add;
} Index;

static uint32_t new_regs(Compiler *c, int64_t count)
{
    uint32_t first = c->reg_count;
    c->reg_count += (uint32_t)count;
    return first;
}

static HlsInstr *emit(Compiler *c, HlsOpcode code)
{
    HlsInstr *in = vec_push(&c->code->body);
    *in = (HlsInstr){.code = (uint8_t)code, .count = 1};
    return in;
}

static uint32_t find(const PtrMap *map, const void *key)
{
    return (uint32_t)(uintptr_t)ptrmap_get(map, key) - 1;
}

static void put(PtrMap *map, const void *key, uint32_t reg)
{
    ptrmap_put(map, key, (void *)(uintptr_t)(reg + 1));
}

/* The value's own register, as its place from now on. */
static uint32_t define(Compiler *c, const Value *value)
{
    if (!ptrmap_has(&c->own, value))
        put(&c->own, value, new_regs(c, emithls_lanes(value->type)));
    uint32_t reg = find(&c->own, value);
    put(&c->places, value, reg);
    return reg;
}

static uint32_t place(const Compiler *c, const Value *value) { return find(&c->places, value); }

static uint8_t spare_of(const Type *type)
{
    return type_is_integer(type_elem(type)) ? (uint8_t)(64 - type_width(type_elem(type))) : 0;
}

/* --- indices -------------------------------------------------------------------------------- */

static HlsForm *find_form(Compiler *c, const int64_t *coeffs)
{
    for (size_t i = 0; i < c->code->forms.len; i++)
        if (memcmp(c->code->forms.data[i].coeffs, coeffs, sizeof c->code->forms.data[i].coeffs) == 0)
            return &c->code->forms.data[i];
    return NULL;
}

/* steps[i] = coeffs[i] - sum over inner counters of coeffs[k] * (extents[k] - 1) */
static uint32_t form_reg(Compiler *c, const int64_t *coeffs)
{
    HlsForm *form = find_form(c, coeffs);
    if (form)
        return form->reg;
    form = vec_push(&c->code->forms);
    *form = (HlsForm){.reg = new_regs(c, 1)};
    memcpy(form->coeffs, coeffs, sizeof form->coeffs);
    int64_t inner = 0;
    for (uint32_t i = c->loop->counter_count; i-- > 0;) {
        form->steps[i] = coeffs[i] - inner;
        inner += coeffs[i] * (c->loop->extents[i] - 1);
    }
    return form->reg;
}

static uint32_t compile_index_op(Compiler *c, HlsOpcode code, uint32_t a, uint32_t b, int64_t imm)
{
    HlsInstr *in = vec_push(&c->code->before);
    *in = (HlsInstr){.code = (uint8_t)code, .out = new_regs(c, 1), .a = a, .b = b, .imm = imm,
                     .count = 1};
    return in->out;
}

static Index compile_index(Compiler *c, const AffineExpr *expr);

/* The index in a register, its constant part too. */
static uint32_t whole_index(Compiler *c, const AffineExpr *expr)
{
    Index index = compile_index(c, expr);
    uint32_t constant = new_regs(c, 1);
    *vec_push(&c->constants) = (Constant){constant, {.i = index.add}};
    return index.reg == NO_REG ? constant
                               : compile_index_op(c, CODE_ADD, index.reg, constant, 0);
}

static uint32_t compile_nonlinear(Compiler *c, const AffineExpr *expr)
{
    static const HlsOpcode codes[] = {[AFFINE_MUL] = CODE_MUL_CONST, [AFFINE_MOD] = CODE_MOD,
                                      [AFFINE_FLOORDIV] = CODE_FLOORDIV,
                                      [AFFINE_CEILDIV] = CODE_CEILDIV};
    uint32_t left = whole_index(c, expr->lhs);
    if (expr->kind == AFFINE_ADD)
        return compile_index_op(c, CODE_ADD, left, whole_index(c, expr->rhs), 0);
    return compile_index_op(c, codes[expr->kind], left, 0, expr->rhs->value);
}

static Index compile_index(Compiler *c, const AffineExpr *expr)
{
    int64_t coeffs[HLS_MAX_LOOPS] = {0};
    Index index = {NO_REG, 0};
    if (affine_linear(expr, c->loop->counter_count, coeffs, &index.add)) {
        bool moves = false;
        for (uint32_t i = 0; i < c->loop->counter_count; i++)
            moves |= coeffs[i] != 0;
        index.reg = moves ? form_reg(c, coeffs) : NO_REG;
        return index;
    }
    index.add = 0;
    if (!ptrmap_has(&c->indices, expr))
        put(&c->indices, expr, compile_nonlinear(c, expr));
    index.reg = find(&c->indices, expr);
    return index;
}

/* An expression over an op's indices, which begin at operand `first`, over the loop's counters. */
static const AffineExpr *over_counters(const Compiler *c, const Op *op, uint32_t first,
                                       const AffineExpr *expr)
{
    const AffineExpr *dims[HLS_MAX_LOOPS];
    for (uint32_t i = first; i < op->operand_count; i++) {
        int at = hls_counter_of(c->loop, op_operand(op, i));
        dims[i - first] = at >= 0 ? affine_dim(op->ctx, (uint32_t)at)
                                  : ptrmap_get(&c->lanes, op_operand(op, i));
        if (!dims[i - first])
            return NULL;
    }
    return affine_replace(expr, dims, op->operand_count - first, NULL, 0);
}

/* --- arrays ---------------------------------------------------------------------------------- */

int64_t hls_array_size(const Type *array)
{
    int64_t size = emithls_lanes(emithls_array_elem(array));
    for (uint32_t i = 0; i < emithls_array_rank(array); i++)
        size *= emithls_array_dim(array, i);
    return size;
}

/* An access in registers: base + index, `count` of them. */
typedef struct Address {
    uint32_t base, count;
    Index index;
    int64_t size; /* of the array */
} Address;

/* Where indices of an op lead in an array. False: diagnosed. */
static bool find_address(Compiler *c, const Op *op, const Value *array, uint32_t first, Address *out)
{
    const AffineMap *map = op_attr(op, "map")->u.map;
    uint32_t rank = emithls_array_rank(array->type);
    int64_t lanes = emithls_lanes(emithls_array_elem(array->type));
    const AffineExpr *flat = affine_const(op->ctx, 0);
    if (op->operand_count - first > HLS_MAX_LOOPS)
        return op_error(op, "cannot be simulated: it has more than %d indices", HLS_MAX_LOOPS);
    for (uint32_t i = 0; i < map->result_count; i++) {
        const AffineExpr *at = over_counters(c, op, first, map->results[i]);
        if (!at)
            return op_error(op, "cannot be simulated: an index is no loop counter");
        int64_t extent = i < rank ? emithls_array_dim(array->type, i) : lanes;
        flat = affine_add(affine_mul_c(flat, extent), at);
    }
    *out = (Address){.base = find(&c->arrays, array), .count = 1, .size = hls_array_size(array->type)};
    if (map->result_count == rank) {
        flat = affine_mul_c(flat, lanes);
        out->count = (uint32_t)lanes;
    }
    int64_t low, high;
    affine_bounds(flat, c->loop->extents, &low, &high);
    out->index = compile_index(c, flat);
    if (low >= 0 && high <= out->size - out->count)
        return true;
    if (out->index.reg == NO_REG)
        return op_error(op, "accesses element %lld of an array of %lld", (long long)low,
                        (long long)out->size);
    HlsInstr *in = emit(c, CODE_CHECK);
    in->b = out->index.reg;
    in->imm = out->index.add;
    in->count = (uint32_t)(out->size - out->count + 1);
    in->op = op;
    return true;
}

/* The op of `block` that is, or holds, the last use of a value or of its extensions, which have its
 * place. */
static const Op *last_use_in(const Value *value, const Block *block, const Op *last)
{
    FOR_EACH_USE(use, value)
    {
        const Op *op = use->owner;
        if (op->def == ARITH(EXTSI))
            last = last_use_in(op_result(op, 0), block, last);
        while (op->block != block)
            op = op_parent(op);
        last = !last || op_is_before(last, op) ? op : last;
    }
    return last;
}

static bool stores_to(const Op *op, const Value *array)
{
    if (op->def == EMITHLS(STORE) && op_operand(op, 1) == array)
        return true;
    FOR_EACH_INNER(inner, op)
    if (stores_to(inner, array))
        return true;
    return false;
}

/* Whether what a load gives may be looked up in the array until its last use. Only a few ops are
 * looked at. */
static bool stays(const Op *load)
{
    enum { MAX_DISTANCE = 64 };
    const Op *last = last_use_in(op_result(load, 0), load->block, NULL);
    int distance = 0;
    for (const Op *op = load->next; op && op != last; op = op->next)
        if (++distance > MAX_DISTANCE || stores_to(op, op_operand(load, 0)))
            return false;
    return !last || last->region_count == 0 || !stores_to(last, op_operand(load, 0));
}

/* Whether a load takes places that the body computes, as indices of their own. */
static bool is_lookup(const Compiler *c, const Op *op)
{
    const AffineMap *map = op_attr(op, "map")->u.map;
    bool is_computed = false;
    if (map->result_count != emithls_array_rank(op_operand(op, 0)->type))
        return false;
    for (uint32_t i = 1; i < op->operand_count; i++)
        is_computed |= ptrmap_has(&c->places, op_operand(op, i));
    return is_computed && emithls_lanes(op_result(op, 0)->type) == 1;
}

/* An index of a lookup in a register: a place, or a form of counters. False: it is neither. */
static bool lookup_index(Compiler *c, const Op *op, const AffineExpr *expr, uint32_t *reg)
{
    const AffineExpr *dims[HLS_MAX_LOOPS];
    const Value *value = expr->kind == AFFINE_DIM ? op_operand(op, 1 + (uint32_t)expr->value) : NULL;
    if (value && ptrmap_has(&c->places, value)) {
        *reg = place(c, value);
        return true;
    }
    for (uint32_t i = 1; i < op->operand_count; i++) {
        int at = hls_counter_of(c->loop, op_operand(op, i));
        dims[i - 1] = at >= 0 ? affine_dim(op->ctx, (uint32_t)at)
                              : ptrmap_get(&c->lanes, op_operand(op, i));
        if (!dims[i - 1] && affine_uses_dim(expr, i - 1))
            return op_error(op, "cannot be simulated: an index is no loop counter");
        if (!dims[i - 1])
            dims[i - 1] = affine_const(op->ctx, 0);
    }
    *reg = whole_index(c, affine_replace(expr, dims, op->operand_count - 1, NULL, 0));
    return true;
}

/* at = ((i0 * d1 + i1) * d2 + i2) ... False: diagnosed. */
static bool compile_lookup(Compiler *c, const Op *op)
{
    const Type *array = op_operand(op, 0)->type;
    const AffineMap *map = op_attr(op, "map")->u.map;
    uint32_t at = 0, next = 0;
    if (op->operand_count - 1 > HLS_MAX_LOOPS)
        return op_error(op, "cannot be simulated: it has more than %d indices", HLS_MAX_LOOPS);
    for (uint32_t i = 0; i < map->result_count; i++) {
        if (!lookup_index(c, op, map->results[i], &next))
            return false;
        if (i == 0) {
            at = next;
            continue;
        }
        uint32_t scaled = new_regs(c, 2);
        *emit(c, CODE_MUL_CONST) = (HlsInstr){.code = CODE_MUL_CONST, .out = scaled, .a = at,
                                              .count = 1, .imm = emithls_array_dim(array, i)};
        at = scaled + 1;
        *emit(c, CODE_ADD) =
            (HlsInstr){.code = CODE_ADD, .out = at, .a = scaled, .b = next, .count = 1};
    }
    *emit(c, CODE_CHECK) = (HlsInstr){.code = CODE_CHECK, .b = at, .op = op,
                                      .count = (uint32_t)hls_array_size(array)};
    *emit(c, CODE_LOAD) = (HlsInstr){.code = CODE_LOAD, .out = define(c, op_result(op, 0)), .b = at,
                                     .a = find(&c->arrays, op_operand(op, 0)), .count = 1};
    return true;
}

static bool compile_load(Compiler *c, const Op *op)
{
    Address at;
    if (is_lookup(c, op))
        return compile_lookup(c, op);
    if (!find_address(c, op, op_operand(op, 0), 1, &at))
        return false;
    if (at.index.reg == NO_REG && stays(op)) {
        put(&c->places, op_result(op, 0), at.base + (uint32_t)at.index.add);
        return true;
    }
    uint32_t out = define(c, op_result(op, 0));
    HlsInstr *in = emit(c, at.index.reg == NO_REG ? CODE_COPY : CODE_LOAD);
    in->out = out;
    in->a = at.base;
    in->b = at.index.reg;
    in->imm = at.index.add;
    in->count = at.count;
    if (at.index.reg == NO_REG)
        in->a += (uint32_t)at.index.add;
    return true;
}

/* The instruction just emitted may leave its result in another place. */
static bool redirect(Compiler *c, const Value *value, uint32_t reg, size_t block_begin)
{
    size_t len = c->code->body.len;
    if (len <= block_begin || !value_has_one_use(value) || !ptrmap_has(&c->own, value))
        return false;
    HlsInstr *last = &c->code->body.data[len - 1];
    if (last->code < CODE_ADD || last->out != find(&c->own, value) ||
        place(c, value) != last->out)
        return false;
    last->out = reg;
    return true;
}

static bool compile_store(Compiler *c, const Op *op, size_t block_begin)
{
    Address at;
    const Value *value = op_operand(op, 0);
    if (!find_address(c, op, op_operand(op, 1), 2, &at))
        return false;
    bool is_fixed = at.index.reg == NO_REG;
    if (is_fixed && redirect(c, value, at.base + (uint32_t)at.index.add, block_begin))
        return true;
    HlsInstr *in = emit(c, is_fixed ? CODE_COPY : CODE_STORE);
    in->out = is_fixed ? at.base + (uint32_t)at.index.add : at.base;
    in->a = place(c, value);
    in->b = at.index.reg;
    in->imm = at.index.add;
    in->count = at.count;
    return true;
}

/* --- conditions -------------------------------------------------------------------------------- */

/* Register of 1 where the counters are in the op's set; it is known before the body. */
static bool compile_condition(Compiler *c, const Op *op, uint32_t *reg)
{
    const IntegerSet *set = op_attr(op, "condition")->u.set;
    const AffineExpr *exprs[HLS_MAX_LOOPS];
    if (set->constraint_count > HLS_MAX_LOOPS || op->operand_count > HLS_MAX_LOOPS)
        return op_error(op, "cannot be simulated: it has more than %d constraints or indices",
                        HLS_MAX_LOOPS);
    for (uint32_t i = 0; i < set->constraint_count; i++) {
        exprs[i] = over_counters(c, op, 0, set->constraints[i]);
        if (!exprs[i] || !affine_is_pure(exprs[i]))
            return op_error(op, "cannot be simulated: an index is no loop counter, or a divisor no "
                                "constant");
    }
    const IntegerSet *own = set_get(op->ctx, c->loop->counter_count, 0, set->constraint_count, exprs,
                                    set->is_eq);
    if (!ptrmap_has(&c->indices, own)) {
        size_t first = c->code->tests.len;
        for (uint32_t i = 0; i < set->constraint_count; i++) {
            Index index = compile_index(c, exprs[i]);
            *vec_push(&c->code->tests) = (HlsTest){index.reg, set->is_eq[i], index.add};
        }
        uint32_t out = compile_index_op(c, CODE_TEST, 0, 0, (int64_t)first);
        c->code->before.data[c->code->before.len - 1].count = set->constraint_count;
        put(&c->indices, own, out);
    }
    *reg = find(&c->indices, own);
    return true;
}

/* --- scalars --------------------------------------------------------------------------------------- */

static const HlsOpcode fast_codes[ARITH_OP_COUNT] = {
    [ARITH_ADDI] = CODE_ADD,   [ARITH_SUBI] = CODE_SUB,   [ARITH_MULI] = CODE_MUL,
    [ARITH_ANDI] = CODE_AND,   [ARITH_ORI] = CODE_OR,     [ARITH_XORI] = CODE_XOR,
    [ARITH_MAXSI] = CODE_MAX,  [ARITH_MINSI] = CODE_MIN,  [ARITH_SHLI] = CODE_SHL,
    [ARITH_SHRSI] = CODE_SHRS, [ARITH_SHRUI] = CODE_SHRU, [ARITH_EXTUI] = CODE_ZEXT,
    [ARITH_TRUNCI] = CODE_SEXT, [ARITH_SELECT] = CODE_SELECT,
};

/* The amount of a shift by a constant that is in range, or -1. */
static int64_t shift_amount(const Op *op)
{
    const Op *def = value_def(op_operand(op, 1));
    if (!def || def->def != ARITH(CONSTANT))
        return -1;
    int64_t amount = attr_int_value(op_attr(def, "value"));
    return amount >= 0 && amount < (int64_t)type_width(op_result(op, 0)->type) ? amount : -1;
}

/* i1 is kept as 0 or 1, which only the bitwise ops and select leave alone. */
static HlsOpcode fast_code(const Op *op)
{
    if (op->def->dialect != &dialect_arith)
        return CODE_CALL;
    HlsOpcode code = fast_codes[op->def - arith_ops];
    bool is_bit = type_is_int_width(op_result(op, 0)->type, 1);
    if (code == CODE_SELECT)
        return code;
    if (code == CODE_END || (is_bit && code != CODE_AND && code != CODE_OR && code != CODE_XOR))
        return CODE_CALL;
    if (code >= CODE_SHL && code <= CODE_SHRU && shift_amount(op) < 0)
        return CODE_CALL;
    return code;
}

static bool compile_slow(Compiler *c, const Op *op)
{
    HlsSlow slow = {.in = {0}};
    if (!instr_fn(op->def))
        return op_error(op, "cannot be simulated");
    slow.in = instr_for(op);
    for (uint32_t i = 0; i < op->operand_count; i++)
        slow.in_regs[i] = place(c, op_operand(op, i));
    for (uint32_t i = 0; i < op->result_count; i++)
        slow.out_regs[i] = define(c, op_result(op, i));
    emit(c, CODE_CALL)->imm = (int64_t)c->code->slow.len;
    *vec_push(&c->code->slow) = slow;
    return true;
}

static bool check_types(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count + op->result_count; i++) {
        const Type *type = i < op->operand_count ? op_operand(op, i)->type
                                                 : op_result(op, i - op->operand_count)->type;
        if (!cell_holds(type_elem(type)))
            return op_error(op, "cannot be simulated with data: values of type '%s'",
                            type_str(op->ctx, type));
    }
    return true;
}

static bool compile_scalar(Compiler *c, const Op *op)
{
    if (!op->def || op->operand_count == 0 || op->result_count == 0 || op->operand_count > 3 ||
        op->result_count > 2)
        return op_error(op, "cannot be simulated");
    if (!check_types(op))
        return false;
    const Type *from = op_operand(op, 0)->type, *to = op_result(op, 0)->type;
    if (op->def == ARITH(EXTSI) && !type_is_int_width(from, 1)) {
        put(&c->places, op_result(op, 0), place(c, op_operand(op, 0)));
        return true;
    }
    HlsOpcode code = fast_code(op);
    if (code == CODE_CALL)
        return compile_slow(c, op);
    uint32_t a = place(c, op_operand(op, 0)), out = define(c, op_result(op, 0));
    HlsInstr *in = emit(c, code);
    in->out = out;
    in->a = a;
    in->b = op->operand_count > 1 ? place(c, op_operand(op, 1)) : 0;
    in->spare = type_is_int_width(to, 1) ? 0 : spare_of(to);
    in->in_spare = spare_of(from);
    if (code >= CODE_SHL && code <= CODE_SHRU)
        in->imm = shift_amount(op);
    if (code == CODE_SELECT) {
        in->imm = place(c, op_operand(op, 2));
        in->count = (uint32_t)emithls_lanes(to);
    }
    return true;
}

static bool compile_constant(Compiler *c, const Op *op)
{
    Array *array = array_from_attr(op_attr(op, "value"));
    if (!array)
        return op_error(op, "cannot be simulated with data: values of type '%s'",
                        type_str(op->ctx, op_result(op, 0)->type));
    bool is_new = !ptrmap_has(&c->own, op_result(op, 0));
    uint32_t reg = define(c, op_result(op, 0));
    if (is_new)
        *vec_push(&c->constants) = (Constant){reg, cell_from_array(array, 0)};
    array_unref(array);
    return true;
}

/* A number that the counters give. */
static bool compile_number(Compiler *c, const Op *op)
{
    const AffineExpr *expr = over_counters(c, op, 0, op_attr(op, "map")->u.map->results[0]);
    if (!expr || !affine_is_pure(expr))
        return op_error(op, "cannot be simulated: an index is no loop counter, or a divisor no "
                            "constant");
    put(&c->places, op_result(op, 0), whole_index(c, expr));
    return true;
}

/* --- bodies ---------------------------------------------------------------------------------------- */

static bool compile_range(Compiler *c, const Op *first, const Op *end);

static bool compile_if(Compiler *c, const Op *op)
{
    uint32_t reg = 0;
    if (!compile_condition(c, op, &reg))
        return false;
    emit(c, CODE_SKIP)->a = reg;
    size_t skip = c->code->body.len - 1;
    bool ok = compile_range(c, region_entry(op_region(op, 0))->first, NULL);
    c->code->body.data[skip].imm = (int64_t)(c->code->body.len - skip - 1);
    return ok;
}

static bool compile_copies(Compiler *c, const Op *op)
{
    int64_t begin, end;
    const Block *body = region_entry(op_region(op, 0));
    emithls_for_range(op, &begin, &end);
    for (int64_t position = begin; position < end; position++) {
        hls_bind_lanes(op, position, &c->lanes);
        if (!compile_range(c, body->first, NULL))
            return false;
    }
    return true;
}

static void compile_access(Compiler *c, const Op *op)
{
    bool is_read = op->def == EMITHLS(READ);
    const Value *word = is_read ? op_result(op, 0) : op_operand(op, 0);
    const Value *stream = op_operand(op, is_read ? 0 : 1);
    uint32_t reg = is_read ? define(c, word) : place(c, word);
    HlsInstr *in = emit(c, is_read ? CODE_READ : CODE_WRITE);
    in->out = in->a = reg;
    in->b = find(&c->ports, stream);
    in->count = (uint32_t)emithls_lanes(word->type);
}

static bool compile_op(Compiler *c, const Op *op, size_t block_begin)
{
    uint32_t reg = 0;
    if (op->def == EMITHLS(FOR))
        return compile_copies(c, op);
    if (op->def == EMITHLS(IF))
        return compile_if(c, op);
    if (op->def == EMITHLS(LOAD))
        return compile_load(c, op);
    if (op->def == EMITHLS(STORE))
        return compile_store(c, op, block_begin);
    if (op->def == EMITHLS(READ) || op->def == EMITHLS(WRITE)) {
        compile_access(c, op);
        return true;
    }
    if (op->def == ARITH(CONSTANT))
        return compile_constant(c, op);
    if (op->def == EMITHLS(INDEX))
        return compile_number(c, op);
    if (op->def != EMITHLS(COND))
        return op->result_count == 0 || ptrmap_has(&c->arrays, op_result(op, 0)) ||
               compile_scalar(c, op);
    if (!compile_condition(c, op, &reg))
        return false;
    put(&c->places, op_result(op, 0), reg);
    return true;
}

static bool compile_range(Compiler *c, const Op *first, const Op *end)
{
    size_t block_begin = c->code->body.len;
    for (const Op *op = first; op != end; op = op->next)
        if (!compile_op(c, op, block_begin))
            return false;
    return true;
}

/* --- processes --------------------------------------------------------------------------------------- */

static bool place_array(Compiler *c, const Op *op, const Value *array)
{
    if (!cell_holds(emithls_scalar(emithls_array_elem(array->type))))
        return op_error(op, "cannot be simulated with data: values of type '%s'",
                        type_str(op->ctx, emithls_array_elem(array->type)));
    put(&c->arrays, array, new_regs(c, hls_array_size(array->type)));
    return true;
}

/* Arguments: streams, and memories at the design's boundary. */
static bool declare_arguments(Compiler *c, const HlsProcess *process, HlsCode *out)
{
    const Block *body = region_entry(op_region(process->func, 0));
    out->memories = xcalloc(body->arg_count, sizeof *out->memories);
    for (uint32_t i = 0; i < body->arg_count; i++) {
        put(&c->ports, body->args[i], i);
        if (process->streams[i] != HLS_NOBODY)
            continue;
        if (!place_array(c, process->func, body->args[i]))
            return false;
        out->memories[i] = find(&c->arrays, body->args[i]);
    }
    return true;
}

static bool declare_array(Compiler *c, const Op *op)
{
    const Value *array = op_result(op, 0);
    if (!place_array(c, op, array))
        return false;
    uint32_t first = find(&c->arrays, array);
    if (op->def != EMITHLS(GET))
        return true;
    Array *contents = array_from_attr(op_attr(symbol_lookup(op, op_attr(op, "table")), "value"));
    if (!contents)
        return op_error(op, "cannot be simulated with data: its table has no elements");
    *vec_push(&c->tables) = contents;
    *vec_push(&c->table_regs) = first;
    return true;
}

/* Arrays, and constants between loops, wherever they are declared. */
static bool declare(Compiler *c, const Op *op)
{
    if ((op->def == EMITHLS(VARIABLE) || op->def == EMITHLS(GET)) && !declare_array(c, op))
        return false;
    FOR_EACH_INNER(inner, op)
    if (!declare(c, inner))
        return false;
    return true;
}

static bool compile_loops(Compiler *c, const HlsProcess *process, HlsCode *out)
{
    for (size_t l = 0; l < process->loops.len; l++) {
        c->loop = &process->loops.data[l];
        c->code = &out->loops[l];
        ptrmap_clear(&c->indices);
        if (!compile_range(c, c->loop->first, c->loop->end))
            return false;
        emit(c, CODE_END);
        *vec_push(&c->code->before) = (HlsInstr){.code = CODE_END};
    }
    return true;
}

/* Values that loops use and that are computed outside them: constants. */
static bool compile_outside(Compiler *c, const Op *func)
{
    FOR_EACH_OP(op, region_entry(op_region(func, 0)))
    if (op->def == ARITH(CONSTANT) && !compile_constant(c, op))
        return false;
    return true;
}

static void fill_registers(const Compiler *c, const HlsProcess *process, HlsCode *out)
{
    out->reg_count = c->reg_count;
    out->regs = xcalloc(c->reg_count, sizeof *out->regs);
    for (size_t i = 0; i < c->constants.len; i++)
        out->regs[c->constants.data[i].reg] = c->constants.data[i].value;
    for (size_t i = 0; i < c->tables.len; i++)
        for (int64_t k = 0; k < c->tables.data[i]->count; k++)
            out->regs[c->table_regs.data[i] + k] = cell_from_array(c->tables.data[i], k);
    for (size_t l = 0; l < process->loops.len; l++)
        for (size_t i = 0; i < out->loops[l].slow.len; i++) {
            HlsSlow *slow = &out->loops[l].slow.data[i];
            for (size_t k = 0; k < COUNT_OF(slow->in_regs); k++)
                slow->in.in[k] = out->regs + slow->in_regs[k];
            for (size_t k = 0; k < COUNT_OF(slow->out_regs); k++)
                slow->in.out[k] = out->regs + slow->out_regs[k];
        }
}

static void compiler_free(Compiler *c)
{
    PtrMap *maps[] = {&c->arrays, &c->own, &c->places, &c->lanes, &c->indices, &c->ports};
    for (size_t i = 0; i < COUNT_OF(maps); i++)
        ptrmap_free(maps[i]);
    for (size_t i = 0; i < c->tables.len; i++)
        array_unref(c->tables.data[i]);
    vec_free(&c->constants);
    vec_free(&c->tables);
    vec_free(&c->table_regs);
}

/* Register NO_REG is 0 and belongs to nobody, so that a test of a constant reads 0 there. */
bool hls_compile(const HlsProcess *process, HlsCode *out)
{
    Compiler c = {.reg_count = 1};
    *out = (HlsCode){.loops = xcalloc(process->loops.len, sizeof *out->loops)};
    bool ok = declare_arguments(&c, process, out) && declare(&c, process->func) &&
              compile_outside(&c, process->func) && compile_loops(&c, process, out);
    if (ok)
        fill_registers(&c, process, out);
    compiler_free(&c);
    return ok;
}

void hls_code_free(HlsCode *code, size_t loop_count)
{
    for (size_t l = 0; code->loops && l < loop_count; l++) {
        HlsLoopCode *loop = &code->loops[l];
        vec_free(&loop->forms);
        vec_free(&loop->before);
        vec_free(&loop->body);
        vec_free(&loop->tests);
        vec_free(&loop->slow);
    }
    free(code->loops);
    free(code->regs);
    free(code->memories);
}
