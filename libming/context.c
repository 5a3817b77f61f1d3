/* Contexts, and diagnostics on their way to the caller.
 * Tests: test/e2e/libming_check.py, test/libming */
#define _XOPEN_SOURCE 700
#include <libxml/parser.h>
#include <libxml/xmlschemastypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dialects.h"
#include "ir/asm/print/print.h"
#include "libming/internal.h"

const char *ming_version(void)
{
    return MING_VERSION;
}

void ming_free(char *text)
{
    free(text);
}

char *lib_text(Str text)
{
    char *copy = xmalloc(text.len + 1);
    if (text.len > 0) memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    return copy;
}

/* A StrBuf's text, also of an empty one. */
static const char *text_of(const StrBuf *text)
{
    return text->data ? text->data : "";
}

static ming_severity severity_of(DiagKind kind)
{
    static const ming_severity severities[] = {[DIAG_ERROR] = MING_ERROR,
                                               [DIAG_WARNING] = MING_WARNING,
                                               [DIAG_REMARK] = MING_REMARK,
                                               [DIAG_NOTE] = MING_NOTE};
    return severities[kind];
}

static void fill(ming_diagnostic *out, Context *ctx, const Diag *diag, const Diag *notes,
                 size_t note_count)
{
    const Attr *place = loc_find_file(diag->loc);
    *out = (ming_diagnostic){.severity = severity_of(diag->kind)};
    strbuf_add_str(&out->message, diag->text);
    if (place) {
        strbuf_add_str(&out->file, place->u.loc_file.file->str);
        out->line = place->u.loc_file.line;
        out->column = place->u.loc_file.col;
    }
    diag_render(&out->text, ctx, diag, notes, note_count);
}

static void clear(ming_diagnostic *diagnostic)
{
    strbuf_free(&diagnostic->message);
    strbuf_free(&diagnostic->file);
    strbuf_free(&diagnostic->text);
}

/* The handler runs in the locale of the caller. */
static void tell(const ming_context *owner, const ming_diagnostic *diagnostic)
{
    if (!owner->handler) return;
    locale_t own = uselocale(owner->outer);
    owner->handler(owner->user, diagnostic);
    uselocale(own);
}

static void on_diagnostic(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                          size_t note_count)
{
    ming_diagnostic diagnostic, *all = xcalloc(note_count, sizeof *all);
    for (size_t i = 0; i < note_count; i++) fill(&all[i], ctx, &notes[i], NULL, 0);
    fill(&diagnostic, ctx, diag, notes, note_count);
    diagnostic.notes = all;
    diagnostic.note_count = note_count;
    tell(user, &diagnostic);
    for (size_t i = 0; i < note_count; i++) clear(&all[i]);
    clear(&diagnostic);
    free(all);
}

/* A message without a place. */
static void tell_text(ming_context *owner, ming_severity severity, Str text)
{
    static const char *const names[] = {"error", "warning", "remark", "note"};
    ming_diagnostic diagnostic = {.severity = severity};
    diag_flush(owner->ctx);
    strbuf_add_str(&diagnostic.message, text);
    strbuf_printf(&diagnostic.text, "%s: %.*s\n", names[severity], STR_ARG(text));
    tell(owner, &diagnostic);
    clear(&diagnostic);
}

bool lib_error(ming_context *owner, const char *fmt, ...)
{
    StrBuf text = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    tell_text(owner, MING_ERROR, strbuf_str(&text));
    strbuf_free(&text);
    return false;
}

void lib_remark(ming_context *owner, Str text)
{
    tell_text(owner, MING_REMARK, text);
}

static void on_driver_error(void *user, DriverErrorKind kind, Str message)
{
    FlagAdvice advice = flag_advice(kind);
    StrBuf text = {0};
    strbuf_printf(&text, "%s%.*s%s", advice.before, STR_ARG(message), advice.behind);
    tell_text(user, kind == DRIVER_WARNING ? MING_WARNING : MING_ERROR, strbuf_str(&text));
    strbuf_free(&text);
}

DriverErrors lib_errors(ming_context *owner)
{
    return (DriverErrors){on_driver_error, owner};
}

void lib_enter(ming_context *owner)
{
    owner->outer = uselocale(owner->locale);
}

void lib_leave(ming_context *owner)
{
    diag_flush(owner->ctx);
    uselocale(owner->outer);
}

/* libxml2 wants its first call to be over before threads use it, and makes the types of schemas when
 * the first one is read, without a lock. */
static void init_libxml(void)
{
    xmlInitParser();
    xmlSchemaInitTypes();
}

static void init_libraries(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, init_libxml);
}

ming_context *ming_context_create(void)
{
    init_libraries();
    ming_context *owner = xcalloc(1, sizeof *owner);
    owner->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!owner->locale) out_of_memory("making a locale");
    owner->ctx = context_create();
    dialects_register_all(owner->ctx);
    diag_show_op(owner->ctx, false);
    diag_set_handler(owner->ctx, on_diagnostic, owner, NULL, NULL);
    return owner;
}

void ming_context_destroy(ming_context *ctx)
{
    if (!ctx) return;
    context_destroy(ctx->ctx);
    freelocale(ctx->locale);
    for (size_t i = 0; i < ctx->sources.len; i++) strbuf_free(&ctx->sources.data[i]);
    vec_free(&ctx->sources);
    free(ctx);
}

void ming_context_set_handler(ming_context *ctx, ming_handler *handler, void *user)
{
    ctx->handler = handler;
    ctx->user = user;
}

ming_severity ming_diagnostic_severity(const ming_diagnostic *diagnostic)
{
    return diagnostic->severity;
}

const char *ming_diagnostic_message(const ming_diagnostic *diagnostic)
{
    return text_of(&diagnostic->message);
}

const char *ming_diagnostic_file(const ming_diagnostic *diagnostic)
{
    return diagnostic->file.len > 0 ? diagnostic->file.data : NULL;
}

uint32_t ming_diagnostic_line(const ming_diagnostic *diagnostic)
{
    return diagnostic->line;
}

uint32_t ming_diagnostic_column(const ming_diagnostic *diagnostic)
{
    return diagnostic->column;
}

size_t ming_diagnostic_note_count(const ming_diagnostic *diagnostic)
{
    return diagnostic->note_count;
}

const ming_diagnostic *ming_diagnostic_note(const ming_diagnostic *diagnostic, size_t index)
{
    return index < diagnostic->note_count ? &diagnostic->notes[index] : NULL;
}

const char *ming_diagnostic_text(const ming_diagnostic *diagnostic)
{
    return text_of(&diagnostic->text);
}
