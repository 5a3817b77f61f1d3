/* Printing options for an op that may not be valid.
 * Tests: lit/tools/print-ir.mir */
#include "ir/asm/print/print.h"
#include "ir/verify/verify.h"

static void ignore_diag(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                        size_t note_count)
{
    (void)user;
    (void)ctx;
    (void)diag;
    (void)notes;
    (void)note_count;
}

PrintOptions verify_print_options(Op *op, const PrintOptions *options)
{
    PrintOptions result = *options;
    if (result.generic) return result;
    DiagHandler *handler;
    void *user;
    diag_flush(op->ctx);
    diag_set_handler(op->ctx, ignore_diag, NULL, &handler, &user);
    result.generic = !verify_op(op);
    diag_flush(op->ctx);
    diag_set_handler(op->ctx, handler, user, NULL, NULL);
    return result;
}
