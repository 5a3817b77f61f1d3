/* The comments that name the users of results and arguments (--mlir-print-value-users).
 * Tests: lit/ir/asm/print/value-users.mir */
#include "ir/asm/print/internal.h"

static void print_user(OpPrinter *p, const Op *user)
{
    if (user->result_count == 0) asm_names_op_id(p->names, p->out, user);
    for (uint32_t i = 0; i < user->result_count; i++) {
        if (i > 0) strbuf_add_c(p->out, ", ");
        printer_value(p, op_result(user, i));
    }
}

/* Every user once. A comma depends on the use's position, not on what was printed. */
static void print_value_users(OpPrinter *p, const Value *value)
{
    if (!value->uses) strbuf_add_c(p->out, "unused");
    PtrMap seen = {0};
    FOR_EACH_USE(use, value) {
        if (ptrmap_has(&seen, use->owner)) continue;
        ptrmap_put(&seen, use->owner, use->owner);
        if (use != value->uses) strbuf_add_c(p->out, ", ");
        print_user(p, use->owner);
    }
    ptrmap_free(&seen);
}

static bool op_is_unused(const Op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (op_result(op, i)->uses) return false;
    return true;
}

/* One result, which one op with at most one result uses. */
static bool has_one_user(const Op *op)
{
    if (op->result_count != 1) return false;
    const Op *user = op_result(op, 0)->uses->owner;
    FOR_EACH_USE(use, op_result(op, 0))
        if (use->owner != user) return false;
    return user->result_count <= 1;
}

void printer_users_of_op(OpPrinter *p, const Op *op)
{
    if (op->result_count == 0) {
        if (op->operand_count == 0) return;
        strbuf_add_c(p->out, " // id: ");
        asm_names_op_id(p->names, p->out, op);
        return;
    }
    if (op_is_unused(op)) {
        strbuf_add_c(p->out, " // unused");
        return;
    }
    strbuf_add_c(p->out, has_one_user(op) ? " // user: " : " // users: ");
    bool brackets = op->result_count > 1;
    for (uint32_t i = 0; i < op->result_count; i++) {
        if (i > 0) strbuf_add_c(p->out, ", ");
        if (brackets) strbuf_add_char(p->out, '(');
        print_value_users(p, op_result(op, i));
        if (brackets) strbuf_add_char(p->out, ')');
    }
}

void printer_users_of_arg(OpPrinter *p, const Value *arg)
{
    printer_indent(p);
    strbuf_add_c(p->out, "// ");
    printer_value(p, arg);
    strbuf_add_c(p->out, arg->uses ? " is used by " : " is unused");
    if (arg->uses) print_value_users(p, arg);
    strbuf_add_char(p->out, '\n');
}
