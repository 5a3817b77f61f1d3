/* What can be said of a schedule without a clock: its numbers are in range, no op is in a cycle
 * before that of an operand, or behind the end of its iteration. Whether the cycles suffice for what
 * the ops do is checked where a design is made of the module (sim/design/loop_schedule.c), because
 * it takes the clock. An op without a cycle is no error here, since any pass may add ops.
 * Tests: lit/dialects/emithls/schedule.mir, schedule-invalid.mir */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/emithls/internal.h"

enum { MOST_CYCLES = INT32_MAX };

/* Whether a 64-bit integer is between two numbers. */
static bool is_between(const Attr *attr, int64_t low, int64_t high)
{
    return ATTR_IS_I64.test(attr) && attr_int_value(attr) >= low && attr_int_value(attr) <= high;
}

/* The innermost loop around an op that is not unrolled, if it has a schedule; or NULL. */
static const Op *scheduled_loop(const Op *op)
{
    const Op *loop = op_parent_of_def(op, EMITHLS(FOR));
    while (loop && op_attr(loop, EMITHLS_ATTR_UNROLL)) loop = op_parent_of_def(loop, EMITHLS(FOR));
    return loop && op_attr(loop, EMITHLS_ATTR_INTERVAL) ? loop : NULL;
}

static bool verify_cycle(Op *op, int64_t cycle)
{
    const Op *loop = scheduled_loop(op);
    const Attr *depth = loop ? op_attr(loop, EMITHLS_ATTR_SCHEDULE_DEPTH) : NULL;
    if (depth && cycle >= attr_int_value(depth))
        return op_error(op, "is in cycle %lld of its iteration, which has %lld", (long long)cycle,
                        (long long)attr_int_value(depth));
    for (uint32_t i = 0; loop && i < op->operand_count; i++) {
        const Op *def = value_def(op_operand(op, i));
        const Attr *other = def ? op_attr(def, EMITHLS_ATTR_CYCLE) : NULL;
        if (!other || !is_between(other, cycle + 1, MOST_CYCLES) || scheduled_loop(def) != loop)
            continue;
        return op_error(op,
                        "is in cycle %lld of its iteration, but operand #%u is there in cycle %lld",
                        (long long)cycle, i, (long long)attr_int_value(other));
    }
    return true;
}

bool emithls_verify_op_attr(Op *op, const NamedAttr *attr)
{
    if (str_eq_c(attr->name->str, EMITHLS_ATTR_SCHEDULE_CLOCK))
        return is_between(attr->value, 1, DFG_MAX_CLOCK_MHZ) ||
               op_error(op, EMITHLS_ATTR_SCHEDULE_CLOCK " must be an i64 from 1 to %d",
                        DFG_MAX_CLOCK_MHZ);
    if (str_eq_c(attr->name->str, EMITHLS_ATTR_TIMING))
        return attr->value->kind != ATTR_DICT ||
               attr_dict_int(attr->value, EMITHLS_TIMING_CLOCK_MHZ, 0) <= DFG_MAX_CLOCK_MHZ ||
               op_error(op, EMITHLS_ATTR_TIMING ": " EMITHLS_TIMING_CLOCK_MHZ " must be at most %d",
                        DFG_MAX_CLOCK_MHZ);
    if (!str_eq_c(attr->name->str, EMITHLS_ATTR_CYCLE)) return true;
    if (!is_between(attr->value, 0, MOST_CYCLES))
        return op_error(op, EMITHLS_ATTR_CYCLE " must be an i64 from 0 to %d", MOST_CYCLES);
    return verify_cycle(op, attr_int_value(attr->value));
}

bool emithls_verify_intervals(Op *loop)
{
    const Attr *ii = op_attr(loop, EMITHLS_ATTR_II);
    const Attr *interval = op_attr(loop, EMITHLS_ATTR_INTERVAL);
    const Attr *depth = op_attr(loop, EMITHLS_ATTR_SCHEDULE_DEPTH);
    if (ii && attr_int_value(ii) > MOST_CYCLES)
        return op_error(loop, "initiation interval must be at most %d", MOST_CYCLES);
    if (!interval && !depth) return true;
    if (!interval || !depth) return op_error(loop, "needs both an interval and a depth, or none");
    if (op_attr(loop, EMITHLS_ATTR_UNROLL))
        return op_error(loop, "is unrolled, so that it has no interval and depth");
    if (!is_between(interval, 1, MOST_CYCLES) || !is_between(depth, 1, MOST_CYCLES))
        return op_error(loop, "interval and depth must be from 1 to %d", MOST_CYCLES);
    return !ii || attr_int_value(interval) >= attr_int_value(ii) ||
           op_error(loop,
                    "interval %lld is shorter than the initiation interval %lld that is "
                    "asked for",
                    (long long)attr_int_value(interval), (long long)attr_int_value(ii));
}
