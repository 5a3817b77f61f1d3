/* Makes instructions from ops: finds the file that has the op's function, then fills in widths and
 * predicates.
 * Tests: test/unit/sim/interp/interp_test.c */
#include "dialects/arith/arith.h"
#include "dialects/builtin/builtin.h"
#include "dialects/tosa/tosa.h"
#include "ir/attr/attr.h"
#include "sim/vm/vm.h"

InstrFn *vm_instr_fn(const OpDef *def)
{
    InstrFn *fn = vm_integer_instr(def);
    fn = fn ? fn : vm_float_instr(def);
    fn = fn ? fn : vm_math_instr(def);
    return fn ? fn : vm_tosa_instr(def);
}

bool vm_has_instr(const Op *op)
{
    if (!vm_instr_fn(op->def)) return false;
    if (op->def != BUILTIN(UNREALIZED_CONVERSION_CAST)) return true;
    if (op->operand_count != 1 || op->result_count != 1) return false;
    const Type *from = op_operand(op, 0)->type, *to = op_result(op, 0)->type;
    const Type *elem = type_elem(to);
    return type_is_shaped(from) == type_is_shaped(to) && type_is_integer(type_elem(from)) &&
           type_is_integer(elem) && type_width(type_elem(from)) == type_width(elem);
}

static int64_t param_of(const Op *op)
{
    const Attr *param = op_attr(op, op->def == ARITH(TRUNCF) ? "roundingmode" : "predicate");
    return param && param->kind == ATTR_INTEGER ? attr_int_value(param) : 0;
}

static uint32_t spare_bits(const Type *elem)
{
    return 64 - type_width(elem);
}

Instr vm_instr_for(const Op *op)
{
    uint32_t about = op->def == ARITH(SELECT) || op->def == TOSA(SELECT) ? 1 : 0;
    Instr in = {.run = vm_instr_fn(op->def),
                .op = op,
                .type = type_elem(op_result(op, 0)->type),
                .in_type = type_elem(op_operand(op, about)->type),
                .param = param_of(op)};
    in.spare = spare_bits(in.type);
    in.in_spare = spare_bits(in.in_type);
    in.mask = in.spare == 63 ? 1 : -1;
    return in;
}

void vm_round_cells(Cell *cells, size_t n, const Type *type)
{
    if (type->kind == TYPE_F64) return;
    if (type->kind == TYPE_F32 && !array_rounds_otherwise()) {
        for (size_t i = 0; i < n; i++) cells[i].f = (double)(float)cells[i].f;
        return;
    }
    for (size_t i = 0; i < n; i++) cells[i].f = array_round(type, cells[i].f);
}
