/* Compiles bodies in two walks: a walk backwards marks the ops that the wanted values need, a walk
 * forwards gives every value a register and every op an instruction.
 * Tests: test/unit/sim/interp/interp_test.c */
#include <assert.h>
#include <stdlib.h>

#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "sim/vm/vm.h"

typedef struct Register {
    bool is_uniform; /* the same for all iterations */
    Cell *cells;
} Register;

typedef struct PayloadCompiler {
    VmPayload *payload;
    const Block *block;
    BodyArgs args;
    PtrMap registers; /* Value* -> Register* */
    PtrMap needed;    /* Value* -> itself */
} PayloadCompiler;

/* tensor.extract: an array and its indices. */
typedef struct Extract {
    const VmPayload *payload;
    size_t capture;
    uint32_t rank;
    const Cell **index;
} Extract;

bool vm_cell_holds(const Type *type)
{
    ArrayKind kind;
    return !type_is_shaped(type) && array_kind_of(type, &kind);
}

Cell vm_cell_from_array(const Array *array, int64_t index)
{
    if (array->kind >= ARRAY_F32) return (Cell){.f = array_get_f64(array, index)};
    return (Cell){.i = array_get_i64(array, index)};
}

void vm_cell_to_array(Array *array, int64_t index, Cell cell)
{
    if (array->kind >= ARRAY_F32)
        array_set_f64(array, index, cell.f);
    else
        array_set_i64(array, index, cell.i);
}

static Cell *new_cells(PayloadCompiler *c)
{
    return ARENA_ARRAY(&c->payload->arena, Cell, STRIP);
}

static void fill(Cell *cells, Cell value)
{
    for (size_t i = 0; i < STRIP; i++) cells[i] = value;
}

static Register *record(PayloadCompiler *c, const Value *value, Cell *cells, bool is_uniform)
{
    Register *reg = ARENA_NEW(&c->payload->arena, Register);
    *reg = (Register){is_uniform, cells};
    ptrmap_put(&c->registers, value, reg);
    return reg;
}

static size_t capture(PayloadCompiler *c, const Value *value, Cell *cells)
{
    VmPayload *payload = c->payload;
    for (size_t i = 0; i < payload->captures.len; i++)
        if (payload->captures.data[i].value == value) return i;
    *vec_push(&payload->captures) = (VmCapture){.value = value, .cells = cells};
    return payload->captures.len - 1;
}

/* A cell register for the index of a loop. */
static Cell *loop_cells(PayloadCompiler *c, uint32_t loop)
{
    if (!c->payload->loops[loop]) c->payload->loops[loop] = new_cells(c);
    return c->payload->loops[loop];
}

/* The register of a value that the block does not compute: an argument or a captured scalar. */
static Register *outer_register(PayloadCompiler *c, const Value *value)
{
    if (value_block(value) != c->block) {
        Cell *cells = new_cells(c);
        capture(c, value, cells);
        return record(c, value, cells, true);
    }
    Cell *cells = c->args == ARGS_ARE_INDICES ? loop_cells(c, value->index) : new_cells(c);
    c->payload->args[value->index] = cells;
    return record(c, value, cells, false);
}

static Register *register_of(PayloadCompiler *c, const Value *value)
{
    Register *reg = ptrmap_get(&c->registers, value);
    return reg ? reg : outer_register(c, value);
}

static bool unsupported(const Op *op)
{
    return op_error(op, "cannot be interpreted in the body of an op");
}

static void add_instr(PayloadCompiler *c, const Instr *in, bool is_uniform)
{
    if (is_uniform)
        *vec_push(&c->payload->once) = *in;
    else
        *vec_push(&c->payload->each) = *in;
}

static bool compile_constant(PayloadCompiler *c, const Op *op)
{
    Array *array = array_from_attr(op_attr(op, "value"));
    if (!array) return unsupported(op);
    Cell *cells = new_cells(c);
    fill(cells, vm_cell_from_array(array, 0));
    array_unref(array);
    record(c, op_result(op, 0), cells, true);
    return true;
}

static bool extract_cells(const Instr *in, size_t n)
{
    const Extract *extract = in->extra;
    const Array *array = extract->payload->captures.data[extract->capture].array;
    const int64_t *dims = array->type->u.shaped.dims;
    for (size_t i = 0; i < n; i++) {
        int64_t at = 0;
        for (uint32_t d = 0; d < extract->rank; d++) {
            int64_t index = extract->index[d][i].i;
            if (index < 0 || index >= dims[d])
                return op_error(in->op,
                                "index %lld is out of bounds: dimension %u has %lld elements",
                                (long long)index, d, (long long)dims[d]);
            at = at * dims[d] + index;
        }
        in->out[0][i] = vm_cell_from_array(array, at);
    }
    return true;
}

static bool compile_extract(PayloadCompiler *c, const Op *op)
{
    Arena *arena = &c->payload->arena;
    const Value *tensor = op_operand(op, 0);
    if (value_block(tensor) == c->block) return unsupported(op);
    Extract *extract = ARENA_NEW(arena, Extract);
    bool is_uniform = true;
    extract->payload = c->payload;
    extract->rank = op->operand_count - 1;
    extract->index = ARENA_ARRAY(arena, const Cell *, op->operand_count);
    for (uint32_t i = 0; i < extract->rank; i++) {
        const Register *index = register_of(c, op_operand(op, i + 1));
        extract->index[i] = index->cells;
        is_uniform = is_uniform && index->is_uniform;
    }
    extract->capture = capture(c, tensor, NULL);
    Cell *cells = new_cells(c);
    const Instr in = {.run = extract_cells, .op = op, .out = {cells}, .extra = extract};
    add_instr(c, &in, is_uniform);
    record(c, op_result(op, 0), cells, is_uniform);
    return true;
}

static bool compile_scalar_op(PayloadCompiler *c, const Op *op)
{
    if (!vm_has_instr(op)) return unsupported(op);
    bool is_uniform = true;
    Instr in = vm_instr_for(op);
    assert(op->operand_count <= COUNT_OF(in.in) && op->result_count <= COUNT_OF(in.out));
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (!vm_cell_holds(op_operand(op, i)->type)) return unsupported(op);
        const Register *operand = register_of(c, op_operand(op, i));
        in.in[i] = operand->cells;
        is_uniform = is_uniform && operand->is_uniform;
    }
    for (uint32_t i = 0; i < op->result_count; i++)
        in.out[i] = record(c, op_result(op, i), new_cells(c), is_uniform)->cells;
    add_instr(c, &in, is_uniform);
    return true;
}

static bool compile_op(PayloadCompiler *c, const Op *op)
{
    if (!op->def) return unsupported(op);
    for (uint32_t i = 0; i < op->result_count; i++)
        if (!vm_cell_holds(op_result(op, i)->type)) return unsupported(op);
    if (op->def == ARITH(CONSTANT)) return compile_constant(c, op);
    if (op->def == TENSOR(EXTRACT)) return compile_extract(c, op);
    if (op->def != LINALG(INDEX)) return compile_scalar_op(c, op);
    uint32_t loop = (uint32_t)attr_int_value(op_attr(op, "dim"));
    record(c, op_result(op, 0), loop_cells(c, loop), false);
    return true;
}

static bool is_needed(const PayloadCompiler *c, const Op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (ptrmap_has(&c->needed, op_result(op, i))) return true;
    return false;
}

static void mark(PayloadCompiler *c, Value *value)
{
    ptrmap_put(&c->needed, value, value);
}

static bool compile_needed(PayloadCompiler *c)
{
    for (const Op *op = c->block->last; op; op = op->prev)
        for (uint32_t i = 0; is_needed(c, op) && i < op->operand_count; i++)
            mark(c, op_operand(op, i));
    for (const Op *op = c->block->first; op; op = op->next)
        if (is_needed(c, op) && !compile_op(c, op)) return false;
    return true;
}

static VmPayload *new_program(uint32_t arg_count, uint32_t loop_count, uint32_t yield_count)
{
    VmPayload *payload = xcalloc(1, sizeof *payload);
    arena_init(&payload->arena);
    payload->arg_count = arg_count;
    payload->loop_count = loop_count;
    payload->yield_count = yield_count;
    payload->args = ARENA_ARRAY(&payload->arena, Cell *, arg_count);
    payload->loops = ARENA_ARRAY(&payload->arena, Cell *, loop_count);
    payload->yields = ARENA_ARRAY(&payload->arena, const Cell *, yield_count);
    return payload;
}

VmPayload *vm_payload_compile(const Block *block, BodyArgs args, uint32_t loop_count,
                              Value *const *wanted, uint32_t wanted_count)
{
    VmPayload *payload = new_program(block->arg_count, loop_count, wanted_count);
    PayloadCompiler c = {.payload = payload, .block = block, .args = args};
    for (uint32_t i = 0; i < wanted_count; i++) mark(&c, wanted[i]);
    bool ok = compile_needed(&c);
    for (uint32_t i = 0; ok && i < wanted_count; i++)
        payload->yields[i] = register_of(&c, wanted[i])->cells;
    ptrmap_free(&c.registers);
    ptrmap_free(&c.needed);
    if (ok) return payload;
    vm_payload_free(payload);
    return NULL;
}

VmPayload *vm_payload_of_op(const Op *op)
{
    VmPayload *payload = new_program(op->operand_count, 0, op->result_count);
    PayloadCompiler c = {.payload = payload};
    Instr in = vm_instr_for(op);
    assert(in.run);
    for (uint32_t i = 0; i < op->operand_count; i++) in.in[i] = payload->args[i] = new_cells(&c);
    for (uint32_t i = 0; i < op->result_count; i++) payload->yields[i] = in.out[i] = new_cells(&c);
    add_instr(&c, &in, false);
    return payload;
}

void vm_payload_free(VmPayload *payload)
{
    if (!payload) return;
    vec_free(&payload->once);
    vec_free(&payload->each);
    vec_free(&payload->captures);
    arena_free(&payload->arena);
    free(payload);
}

bool vm_payload_start(VmPayload *payload, Array *const *captured)
{
    for (size_t i = 0; i < payload->captures.len; i++) {
        VmCapture *capture = &payload->captures.data[i];
        capture->array = captured[i];
        if (capture->cells) fill(capture->cells, vm_cell_from_array(captured[i], 0));
    }
    for (size_t i = 0; i < payload->once.len; i++)
        if (!payload->once.data[i].run(&payload->once.data[i], STRIP)) return false;
    return true;
}

bool vm_payload_run(const VmPayload *payload, size_t n)
{
    for (size_t i = 0; i < payload->each.len; i++)
        if (!payload->each.data[i].run(&payload->each.data[i], n)) return false;
    return true;
}
