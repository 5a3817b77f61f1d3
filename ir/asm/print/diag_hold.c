/* Diagnostics that are held back: those of an attempt whose failure may not matter.
 *
 * While a hold is on, a handler of its own copies what is delivered, but for reasons, which it leaves
 * to whoever tells the message. The count of errors is set back at its end, so that errors which
 * nobody is told of do not count. Holds may nest.
 * Tests: test/unit/ir/asm/print/diag_test.c, lit/driver/ming-compile-attempts.mir */
#include "ir/asm/print/internal.h"
#include "ir/asm/print/print.h"

static void keep_one(DiagHold *hold, const Diag *diag)
{
    HeldDiag *held = vec_push(&hold->held);
    *held = (HeldDiag){.kind = diag->kind, .loc = diag->loc};
    held->reason = diag_reason_use(diag->reason);
    strbuf_add_str(&held->text, diag->text);
}

void diag_keep(void *user, Context *ctx, const Diag *diag, const Diag *notes, size_t note_count)
{
    (void)ctx;
    keep_one(user, diag);
    for (size_t i = 0; i < note_count; i++) keep_one(user, &notes[i]);
}

void diag_hold_begin(DiagHold *hold, Context *ctx)
{
    *hold = (DiagHold){.ctx = ctx};
    diag_set_handler(ctx, diag_keep, hold, &hold->handler, &hold->user);
    hold->errors = diag_error_count(ctx);
}

void diag_hold_end(DiagHold *hold)
{
    diag_set_handler(hold->ctx, hold->handler, hold->user, NULL, NULL);
    diag_state_of(hold->ctx)->error_count = hold->errors;
}

void diag_hold_report(const DiagHold *hold)
{
    for (size_t i = 0; i < hold->held.len; i++) {
        const HeldDiag *held = &hold->held.data[i];
        const char *text = held->text.data ? held->text.data : "";
        switch (held->kind) {
        case DIAG_ERROR: diag_error(hold->ctx, held->loc, "%s", text); break;
        case DIAG_WARNING: diag_warning(hold->ctx, held->loc, "%s", text); break;
        case DIAG_REMARK: diag_remark(hold->ctx, held->loc, "%s", text); break;
        case DIAG_NOTE: diag_note(hold->ctx, held->loc, "%s", text); break;
        }
        if (held->reason) diag_because(hold->ctx, held->reason);
    }
}

const HeldDiag *diag_hold_first_error(DiagHold *hold)
{
    size_t i = 0;
    while (i < hold->held.len && hold->held.data[i].kind != DIAG_ERROR) i++;
    if (i == hold->held.len) return NULL;
    HeldDiag *held = &hold->held.data[i];
    if (held->reason) held->reason->add(held->reason, &held->text);
    diag_reason_drop(held->reason);
    held->reason = NULL;
    return held;
}

void diag_hold_free(DiagHold *hold)
{
    for (size_t i = 0; i < hold->held.len; i++) {
        strbuf_free(&hold->held.data[i].text);
        diag_reason_drop(hold->held.data[i].reason);
    }
    vec_free(&hold->held);
}

void diag_hold_drop(DiagHold *hold)
{
    diag_hold_end(hold);
    diag_hold_free(hold);
}
