/* Compiles processes to register code. Arrays get registers first. Every SSA value has a register,
 * a word as many as it has lanes. The copies of a value in unrolled loops share its registers,
 * because none of them lives longer than its copy of the body.
 * Tests: lit/sim/hls/values.mir, test/e2e/sizing_check.py */
#include <assert.h>
#include <stdlib.h>

#include "dialects/arith/arith.h"
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"
#include "ir/core/core.h"
#include "sim/hls/internal.h"

uint32_t hls_sim_compiler_new_regs(HlsCompiler *c, int64_t count)
{
    uint64_t first = c->reg_count;
    c->reg_count += (uint64_t)count; /* of arrays of at most 2^48 elements */
    return (uint32_t)first;
}

HlsInstr *hls_sim_compiler_emit(HlsCompiler *c, HlsOpcode code)
{
    HlsInstr *in = vec_push(&c->code->body);
    *in = (HlsInstr){.code = (uint8_t)code, .count = 1};
    return in;
}

uint32_t hls_sim_reg_find(const PtrMap *map, const void *key)
{
    return (uint32_t)(uintptr_t)ptrmap_get(map, key) - 1;
}

void hls_sim_reg_put(PtrMap *map, const void *key, uint32_t reg)
{
    ptrmap_put(map, key, (void *)(uintptr_t)(reg + 1));
}

uint32_t hls_sim_compiler_define(HlsCompiler *c, const Value *value)
{
    if (!ptrmap_has(&c->own, value))
        hls_sim_reg_put(&c->own, value, hls_sim_compiler_new_regs(c, emithls_lanes(value->type)));
    uint32_t reg = hls_sim_reg_find(&c->own, value);
    hls_sim_reg_put(&c->places, value, reg);
    return reg;
}

uint32_t hls_sim_compiler_place(const HlsCompiler *c, const Value *value)
{
    return hls_sim_reg_find(&c->places, value);
}

static uint8_t spare_of(const Type *type)
{
    return type_is_integer(type_elem(type)) ? (uint8_t)(64 - type_width(type_elem(type))) : 0;
}

/* The op's set over the counters of the loop. NULL: diagnosed. */
static const IntegerSet *condition_of(HlsCompiler *c, const Op *op)
{
    const IntegerSet *set = op_attr(op, EMITHLS_ATTR_CONDITION)->u.set;
    const AffineExpr *exprs[HLS_MAX_LOOPS];
    if (set->constraint_count > HLS_MAX_LOOPS) {
        op_error(op, "cannot be simulated: it has more than %d constraints", HLS_MAX_LOOPS);
        return NULL;
    }
    for (uint32_t i = 0; i < set->constraint_count; i++) {
        exprs[i] = hls_sim_compiler_over_counters(c, op, 0, set->constraints[i]);
        if (!exprs[i]) return NULL;
    }
    return set_get(op->ctx, c->loop->counter_count, 0, set->constraint_count, exprs, set->is_eq);
}

/* Whether no iteration of the loop is in the set, as of a copy of an unrolled one. */
static bool is_never(const HlsCompiler *c, const IntegerSet *set)
{
    for (uint32_t i = 0; i < set->constraint_count; i++) {
        int64_t low, high;
        affine_bounds(set->constraints[i], c->loop->extents, &low, &high);
        if (high < 0 || (set->is_eq[i] && low > 0)) return true;
    }
    return false;
}

/* Register of 1 where the counters are in the set; it is known before the body. */
static uint32_t compile_condition(HlsCompiler *c, const IntegerSet *set)
{
    if (!ptrmap_has(&c->indices, set)) {
        size_t first = c->code->tests.len;
        for (uint32_t i = 0; i < set->constraint_count; i++) {
            Index index = hls_sim_compile_index(c, set->constraints[i]);
            *vec_push(&c->code->tests) = (HlsTest){index.reg, set->is_eq[i], index.add};
        }
        uint32_t out = hls_sim_compile_index_op(c, CODE_TEST, 0, 0, (int64_t)first);
        c->code->before.data[c->code->before.len - 1].count = set->constraint_count;
        hls_sim_reg_put(&c->indices, set, out);
    }
    return hls_sim_reg_find(&c->indices, set);
}

static const HlsOpcode fast_codes[ARITH_OP_COUNT] = {
    [ARITH_ADDI] = CODE_ADD,    [ARITH_SUBI] = CODE_SUB,      [ARITH_MULI] = CODE_MUL,
    [ARITH_ANDI] = CODE_AND,    [ARITH_ORI] = CODE_OR,        [ARITH_XORI] = CODE_XOR,
    [ARITH_MAXSI] = CODE_MAX,   [ARITH_MINSI] = CODE_MIN,     [ARITH_SHLI] = CODE_SHL,
    [ARITH_SHRSI] = CODE_SHRS,  [ARITH_SHRUI] = CODE_SHRU,    [ARITH_EXTUI] = CODE_ZEXT,
    [ARITH_TRUNCI] = CODE_SEXT, [ARITH_SELECT] = CODE_SELECT,
};

/* The amount of a shift by a constant that is in range, or -1. */
static int64_t shift_amount(const Op *op)
{
    const Op *def = value_def(op_operand(op, 1));
    if (!def || def->def != ARITH(CONSTANT)) return -1;
    int64_t amount = attr_int_value(op_attr(def, "value"));
    return amount >= 0 && amount < (int64_t)type_width(op_result(op, 0)->type) ? amount : -1;
}

static bool is_equality(const Op *op)
{
    return op->def == ARITH(CMPI) && attr_int_value(op_attr(op, "predicate")) == CMPI_EQ;
}

/* i1 is kept as 0 or 1, which only the bitwise ops and select leave alone. */
static HlsOpcode fast_code(const Op *op)
{
    if (op->def->dialect != &arith_dialect) return CODE_CALL;
    if (is_equality(op)) return CODE_SAME;
    HlsOpcode code = fast_codes[op->def - arith_ops];
    bool is_bit = type_is_int_width(op_result(op, 0)->type, 1);
    if (code == CODE_SELECT) return code;
    if (code == CODE_END || (is_bit && code != CODE_AND && code != CODE_OR && code != CODE_XOR))
        return CODE_CALL;
    if (code >= CODE_SHL && code <= CODE_SHRU && shift_amount(op) < 0) return CODE_CALL;
    return code;
}

static bool compile_vm_call(HlsCompiler *c, const Op *op)
{
    HlsVmCall call = {.in = {0}};
    if (!vm_has_instr(op)) return op_error(op, "cannot be simulated");
    call.in = vm_instr_for(op);
    for (uint32_t i = 0; i < op->operand_count; i++)
        call.in_regs[i] = hls_sim_compiler_place(c, op_operand(op, i));
    for (uint32_t i = 0; i < op->result_count; i++)
        call.out_regs[i] = hls_sim_compiler_define(c, op_result(op, i));
    hls_sim_compiler_emit(c, CODE_CALL)->imm = (int64_t)c->code->vm_calls.len;
    *vec_push(&c->code->vm_calls) = call;
    return true;
}

static bool check_types(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count + op->result_count; i++) {
        const Type *type = i < op->operand_count ? op_operand(op, i)->type
                                                 : op_result(op, i - op->operand_count)->type;
        if (!vm_cell_holds(type_elem(type)))
            return op_error(op, "cannot be simulated with data: values of type '%s'",
                            type_str(op->ctx, type));
    }
    return true;
}

static bool is_word(const Type *type)
{
    return type->kind == TYPE_VECTOR;
}

static bool has_words(const Op *op)
{
    bool any = is_word(op_result(op, 0)->type);
    for (uint32_t i = 0; i < op->operand_count; i++) any |= is_word(op_operand(op, i)->type);
    return any;
}

/* Bit by bit. */
static void compile_bits(HlsCompiler *c, const Op *op, HlsOpcode code)
{
    uint32_t lanes = (uint32_t)emithls_lanes(op_result(op, 0)->type);
    uint32_t a = hls_sim_compiler_place(c, op_operand(op, 0)),
             b = hls_sim_compiler_place(c, op_operand(op, 1)),
             out = hls_sim_compiler_define(c, op_result(op, 0));
    for (uint32_t i = 0; i < lanes; i++) {
        HlsInstr *in = hls_sim_compiler_emit(c, code);
        in->out = out + i;
        in->a = a + i;
        in->b = b + i;
    }
}

/* One of two words. */
static void compile_select(HlsCompiler *c, const Op *op)
{
    uint32_t out = hls_sim_compiler_define(c, op_result(op, 0));
    HlsInstr *in = hls_sim_compiler_emit(c, CODE_SELECT);
    in->out = out;
    in->a = hls_sim_compiler_place(c, op_operand(op, 0));
    in->b = hls_sim_compiler_place(c, op_operand(op, 1));
    in->imm = hls_sim_compiler_place(c, op_operand(op, 2));
    in->count = (uint32_t)emithls_lanes(op_result(op, 0)->type);
}

/* Words are chosen as a whole; else there are but words of bits, as in C++. */
static bool compile_words(HlsCompiler *c, const Op *op)
{
    if (op->def == ARITH(SELECT) && !is_word(op_operand(op, 0)->type)) {
        compile_select(c, op);
        return true;
    }
    HlsOpcode code = op->def == ARITH(ANDI)   ? CODE_AND
                     : op->def == ARITH(ORI)  ? CODE_OR
                     : op->def == ARITH(XORI) ? CODE_XOR
                     : is_equality(op)        ? CODE_SAME
                                              : CODE_END;
    if (code == CODE_END || type_width(type_elem(op_operand(op, 0)->type)) != 1)
        return op_error(op, "cannot be simulated with data: values of type '%s'",
                        type_str(op->ctx, op_result(op, 0)->type));
    compile_bits(c, op, code);
    return true;
}

static bool compile_scalar(HlsCompiler *c, const Op *op)
{
    if (!op->def || op->operand_count == 0 || op->result_count == 0 || op->operand_count > 3 ||
        op->result_count > 2)
        return op_error(op, "cannot be simulated");
    if (!check_types(op)) return false;
    if (has_words(op)) return compile_words(c, op);
    const Type *from = op_operand(op, 0)->type, *to = op_result(op, 0)->type;
    if (op->def == ARITH(EXTSI) && !type_is_int_width(from, 1)) {
        hls_sim_reg_put(&c->places, op_result(op, 0), hls_sim_compiler_place(c, op_operand(op, 0)));
        return true;
    }
    HlsOpcode code = fast_code(op);
    if (code == CODE_CALL) return compile_vm_call(c, op);
    if (code == CODE_SELECT) {
        compile_select(c, op);
        return true;
    }
    uint32_t a = hls_sim_compiler_place(c, op_operand(op, 0)),
             out = hls_sim_compiler_define(c, op_result(op, 0));
    HlsInstr *in = hls_sim_compiler_emit(c, code);
    in->out = out;
    in->a = a;
    in->b = op->operand_count > 1 ? hls_sim_compiler_place(c, op_operand(op, 1)) : 0;
    in->spare = type_is_int_width(to, 1) ? 0 : spare_of(to);
    in->in_spare = spare_of(from);
    if (code >= CODE_SHL && code <= CODE_SHRU) in->imm = shift_amount(op);
    return true;
}

static bool compile_constant(HlsCompiler *c, const Op *op)
{
    Array *array = array_from_attr(op_attr(op, "value"));
    if (!array)
        return op_error(op, "cannot be simulated with data: values of type '%s'",
                        type_str(op->ctx, op_result(op, 0)->type));
    bool is_new = !ptrmap_has(&c->own, op_result(op, 0));
    uint32_t reg = hls_sim_compiler_define(c, op_result(op, 0));
    for (uint32_t i = 0; is_new && i < emithls_lanes(op_result(op, 0)->type); i++)
        *vec_push(&c->constants) = (Constant){reg + i, vm_cell_from_array(array, i)};
    array_unref(array);
    return true;
}

static bool compile_popcount(HlsCompiler *c, const Op *op)
{
    uint32_t bits = hls_sim_compiler_place(c, op_operand(op, 0)),
             out = hls_sim_compiler_define(c, op_result(op, 0));
    HlsInstr *in = hls_sim_compiler_emit(c, CODE_POPCOUNT);
    in->out = out;
    in->a = bits;
    in->count = (uint32_t)emithls_lanes(op_operand(op, 0)->type);
    return true;
}

/* A number that the counters give. */
static bool compile_number(HlsCompiler *c, const Op *op)
{
    const AffineExpr *expr =
        hls_sim_compiler_over_counters(c, op, 0, op_attr(op, "map")->u.map->results[0]);
    if (!expr) return false;
    hls_sim_reg_put(&c->places, op_result(op, 0), hls_sim_whole_index(c, expr));
    return true;
}

static bool compile_range(HlsCompiler *c, const Op *first, const Op *end);

static bool compile_if(HlsCompiler *c, const Op *op)
{
    const IntegerSet *set = condition_of(c, op);
    if (!set || is_never(c, set)) return set != NULL;
    hls_sim_compiler_emit(c, CODE_SKIP)->a = compile_condition(c, set);
    size_t skip = c->code->body.len - 1;
    bool ok = compile_range(c, region_entry(op_region(op, 0))->first, NULL);
    c->code->body.data[skip].imm = (int64_t)(c->code->body.len - skip - 1);
    return ok;
}

static bool compile_copies(HlsCompiler *c, const Op *op)
{
    int64_t begin, end;
    const Block *body = region_entry(op_region(op, 0));
    emithls_for_range(op, &begin, &end);
    for (int64_t position = begin; position < end; position++) {
        design_bind_lanes(op, position, &c->lanes);
        if (!compile_range(c, body->first, NULL)) return false;
    }
    return true;
}

static void compile_access(HlsCompiler *c, const Op *op)
{
    bool is_read = op->def == EMITHLS(READ);
    const Value *word = is_read ? op_result(op, 0) : op_operand(op, 0);
    const Value *stream = op_operand(op, is_read ? 0 : 1);
    uint32_t reg = is_read ? hls_sim_compiler_define(c, word) : hls_sim_compiler_place(c, word);
    HlsInstr *in = hls_sim_compiler_emit(c, is_read ? CODE_READ : CODE_WRITE);
    in->out = in->a = reg;
    in->b = hls_sim_reg_find(&c->ports, stream);
    in->count = (uint32_t)emithls_lanes(word->type);
}

static bool compile_op(HlsCompiler *c, const Op *op, size_t block_begin)
{
    if (op->def == EMITHLS(FOR)) return compile_copies(c, op);
    if (op->def == EMITHLS(IF)) return compile_if(c, op);
    if (op->def == EMITHLS(LOAD)) return hls_sim_compile_load(c, op);
    if (op->def == EMITHLS(STORE)) return hls_sim_compile_store(c, op, block_begin);
    if (op->def == EMITHLS(READ) || op->def == EMITHLS(WRITE)) {
        compile_access(c, op);
        return true;
    }
    if (op->def == ARITH(CONSTANT)) return compile_constant(c, op);
    if (op->def == EMITHLS(INDEX)) return compile_number(c, op);
    if (op->def == EMITHLS(POPCOUNT)) return compile_popcount(c, op);
    if (op->def != EMITHLS(COND))
        return op->result_count == 0 || ptrmap_has(&c->arrays, op_result(op, 0)) ||
               compile_scalar(c, op);
    const IntegerSet *set = condition_of(c, op);
    if (set) hls_sim_reg_put(&c->places, op_result(op, 0), compile_condition(c, set));
    return set != NULL;
}

static bool compile_range(HlsCompiler *c, const Op *first, const Op *end)
{
    size_t block_begin = c->code->body.len;
    for (const Op *op = first; op != end; op = op->next)
        if (!compile_op(c, op, block_begin)) return false;
    return true;
}

static bool place_array(HlsCompiler *c, const Op *op, const Value *array)
{
    if (!vm_cell_holds(emithls_scalar(emithls_array_elem(array->type))))
        return op_error(op, "cannot be simulated with data: values of type '%s'",
                        type_str(op->ctx, emithls_array_elem(array->type)));
    hls_sim_reg_put(&c->arrays, array,
                    hls_sim_compiler_new_regs(c, hls_sim_array_size(array->type)));
    return true;
}

/* Arguments: streams, and memories at the design's boundary. */
static bool declare_arguments(HlsCompiler *c, const HlsProcess *process, HlsCode *out)
{
    const Block *body = region_entry(op_region(process->func, 0));
    out->memories = xcalloc(body->arg_count, sizeof *out->memories);
    for (uint32_t i = 0; i < body->arg_count; i++) {
        hls_sim_reg_put(&c->ports, body->args[i], i);
        if (process->streams[i] != HLS_NOBODY) continue;
        if (!place_array(c, process->func, body->args[i])) return false;
        out->memories[i] = hls_sim_reg_find(&c->arrays, body->args[i]);
    }
    return true;
}

static bool declare_array(HlsCompiler *c, const Op *op)
{
    const Value *array = op_result(op, 0);
    if (!place_array(c, op, array)) return false;
    uint32_t first = hls_sim_reg_find(&c->arrays, array);
    if (op->def != EMITHLS(GET)) return true;
    Array *contents =
        array_from_attr(op_attr(symbol_lookup(op, op_attr(op, EMITHLS_ATTR_TABLE)), "value"));
    if (!contents) return op_error(op, "cannot be simulated with data: its table has no elements");
    *vec_push(&c->tables) = contents;
    *vec_push(&c->table_regs) = first;
    return true;
}

/* Arrays, and constants between loops, wherever they are declared. */
static bool declare(HlsCompiler *c, const Op *op)
{
    if ((op->def == EMITHLS(VARIABLE) || op->def == EMITHLS(GET)) && !declare_array(c, op))
        return false;
    FOR_EACH_INNER(inner, op)
        if (!declare(c, inner)) return false;
    return true;
}

static bool compile_loops(HlsCompiler *c, const HlsProcess *process, HlsCode *out)
{
    for (size_t l = 0; l < process->loops.len; l++) {
        c->loop = &process->loops.data[l];
        c->code = &out->loops[l];
        ptrmap_clear(&c->indices);
        if (!compile_range(c, c->loop->first, c->loop->end)) return false;
        hls_sim_compiler_emit(c, CODE_END);
        *vec_push(&c->code->before) = (HlsInstr){.code = CODE_END};
    }
    return true;
}

/* Values that loops use and that are computed outside them: constants. */
static bool compile_outside(HlsCompiler *c, const Op *func)
{
    FOR_EACH_OP(op, region_entry(op_region(func, 0)))
        if (op->def == ARITH(CONSTANT) && !compile_constant(c, op)) return false;
    return true;
}

static void fill_registers(const HlsCompiler *c, const HlsProcess *process, HlsCode *out)
{
    out->reg_count = (uint32_t)c->reg_count;
    out->regs = xcalloc(c->reg_count, sizeof *out->regs);
    for (size_t i = 0; i < c->constants.len; i++)
        out->regs[c->constants.data[i].reg] = c->constants.data[i].value;
    for (size_t i = 0; i < c->tables.len; i++)
        for (int64_t k = 0; k < c->tables.data[i]->count; k++)
            out->regs[c->table_regs.data[i] + k] = vm_cell_from_array(c->tables.data[i], k);
    for (size_t l = 0; l < process->loops.len; l++)
        for (size_t i = 0; i < out->loops[l].vm_calls.len; i++) {
            HlsVmCall *call = &out->loops[l].vm_calls.data[i];
            for (size_t k = 0; k < COUNT_OF(call->in_regs); k++)
                call->in.in[k] = out->regs + call->in_regs[k];
            for (size_t k = 0; k < COUNT_OF(call->out_regs); k++)
                call->in.out[k] = out->regs + call->out_regs[k];
        }
}

static void compiler_free(HlsCompiler *c)
{
    PtrMap *maps[] = {&c->arrays, &c->own, &c->places, &c->lanes, &c->indices, &c->ports};
    for (size_t i = 0; i < COUNT_OF(maps); i++) ptrmap_free(maps[i]);
    for (size_t i = 0; i < c->tables.len; i++) array_unref(c->tables.data[i]);
    vec_free(&c->constants);
    vec_free(&c->tables);
    vec_free(&c->table_regs);
}

/* As many as 2 GiB hold. */
static bool check_registers(const HlsCompiler *c, const Op *func)
{
    enum { MOST_REGISTERS = 1 << 28 };
    return c->reg_count <= MOST_REGISTERS ||
           op_error(func,
                    "cannot be simulated with data: its arrays have more than %d elements in all",
                    MOST_REGISTERS);
}

/* Register NO_REG is 0 and belongs to nobody, so that a test of a constant reads 0 there. */
bool hls_sim_compile(const HlsProcess *process, HlsCode *out)
{
    HlsCompiler c = {.reg_count = 1};
    *out = (HlsCode){.loops = xcalloc(process->loops.len, sizeof *out->loops)};
    bool ok = declare_arguments(&c, process, out) && declare(&c, process->func) &&
              compile_outside(&c, process->func) && compile_loops(&c, process, out) &&
              check_registers(&c, process->func);
    if (ok) fill_registers(&c, process, out);
    compiler_free(&c);
    return ok;
}

void hls_sim_code_free(HlsCode *code, size_t loop_count)
{
    for (size_t l = 0; code->loops && l < loop_count; l++) {
        HlsLoopCode *loop = &code->loops[l];
        vec_free(&loop->forms);
        vec_free(&loop->before);
        vec_free(&loop->body);
        vec_free(&loop->tests);
        vec_free(&loop->vm_calls);
    }
    free(code->loops);
    free(code->regs);
    free(code->memories);
}
