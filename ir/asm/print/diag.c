/* Diagnostics: emission, pending notes, source texts and strings for messages.
 *
 * The newest diagnostic stays pending, so that notes can follow it. Texts of pending diagnostics
 * are in Diags.texts; strings made for arguments are in Diags.args until the next main diagnostic
 * has been emitted. The default handler is in diag_print.c.
 * Tests: test/unit/ir/asm/print/diag_test.c, lit/ir/asm/print/diagnostics.mir */
#include <assert.h>
#include <string.h>

#include "ir/asm/print/internal.h"
#include "ir/asm/print/print.h"

/* The end of the context: what waits is delivered, then nothing is left. */
static void diags_free(Context *ctx, void *part)
{
    Diags *diags = part;
    diag_flush(ctx);
    for (size_t i = 0; i < diags->sources.len; i++)
        free_ptr((void **)&diags->sources.data[i].line_starts);
    vec_free(&diags->sources);
    vec_free(&diags->pending);
    arena_free(&diags->args);
    arena_free(&diags->texts);
    free_ptr(&part);
}

Diags *diag_state_of(const Context *ctx)
{
    Diags *diags = context_part(ctx, CONTEXT_DIAGS);
    if (diags) return diags;
    diags = xcalloc(1, sizeof *diags);
    arena_init(&diags->texts);
    arena_init(&diags->args);
    context_set_part((Context *)ctx, CONTEXT_DIAGS, diags, diags_free);
    return diags;
}

void diag_set_handler(Context *ctx, DiagHandler *handler, void *user, DiagHandler **old_handler,
                      void **old_user)
{
    Diags *diags = diag_state_of(ctx);
    diag_flush(ctx);
    if (old_handler) *old_handler = diags->handler;
    if (old_user) *old_user = diags->handler_user;
    diags->handler = handler;
    diags->handler_user = user;
}

size_t diag_error_count(const Context *ctx)
{
    Diags *diags = diag_state_of(ctx);
    return diags->error_count;
}

void diag_show_op(Context *ctx, bool show)
{
    Diags *diags = diag_state_of(ctx);
    diags->hide_op = !show;
}

DiagReason *diag_reason_use(DiagReason *reason)
{
    if (reason) reason->uses++;
    return reason;
}

void diag_reason_drop(DiagReason *reason)
{
    if (reason && --reason->uses == 0) reason->free(reason);
}

void diag_because(Context *ctx, DiagReason *reason)
{
    Diags *diags = diag_state_of(ctx);
    assert(diags->pending.len > 0 && !diags->pending.data[0].reason);
    diags->pending.data[0].reason = diag_reason_use(reason);
}

/* A copy in the arena, with a zero behind it. */
static Str add_text(Arena *arena, Str text)
{
    char *copy = arena_alloc(arena, text.len + 1);
    if (text.len) memcpy(copy, text.data, text.len);
    return (Str){copy, text.len};
}

static void find_reason(Diag *diag, Arena *texts)
{
    StrBuf text = {0};
    DiagReason *reason = diag->reason;
    strbuf_add_str(&text, diag->text);
    reason->add(reason, &text);
    diag->text = add_text(texts, strbuf_str(&text));
    diag->reason = NULL;
    strbuf_free(&text);
    diag_reason_drop(reason);
}

/* Hands the pending diagnostic to the handler. */
static void deliver_one(Context *ctx)
{
    Diags *diags = diag_state_of(ctx);
    size_t count = diags->pending.len;
    Diag *delivered = diags->pending.data;
    Arena texts = diags->texts;
    arena_init(&diags->texts);
    diags->pending.data = NULL;
    diags->pending.len = diags->pending.cap = 0;
    DiagHandler *handler = diags->handler ? diags->handler : diag_print_stderr;
    if (delivered[0].reason && handler != diag_keep) find_reason(&delivered[0], &texts);
    handler(diags->handler_user, ctx, &delivered[0], &delivered[1], count - 1);
    diag_reason_drop(delivered[0].reason);
    arena_free(&texts);
    free_ptr((void **)&delivered);
}

/* A handler may itself emit diagnostics; those that it leaves pending are delivered too. */
static void deliver_pending(Context *ctx)
{
    Diags *diags = diag_state_of(ctx);
    while (diags->pending.len > 0) deliver_one(ctx);
}

void diag_flush(Context *ctx)
{
    Diags *diags = diag_state_of(ctx);
    deliver_pending(ctx);
    arena_reset(&diags->args);
}

static void diag_add(Context *ctx, DiagKind kind, const Attr *loc, Str text)
{
    Diags *diags = diag_state_of(ctx);
    if (!loc) loc = loc_unknown(ctx);
    *vec_push(&diags->pending) = (Diag){kind, loc, add_text(&diags->texts, text), NULL};
}

/* The text is formatted before the former diagnostic is delivered, because arguments may be texts
 * of its notes. */
static void emit(Context *ctx, DiagKind kind, const Attr *loc, const char *prefix, const char *fmt,
                 va_list args)
{
    Diags *diags = diag_state_of(ctx);
    StrBuf text = {0};
    strbuf_add_c(&text, prefix);
    strbuf_vprintf(&text, fmt, args);
    if (kind != DIAG_NOTE) {
        deliver_pending(ctx);
        arena_reset(&diags->args);
    }
    diag_add(ctx, kind, loc, strbuf_str(&text));
    if (kind == DIAG_ERROR) diags->error_count++;
    strbuf_free(&text);
}

bool diag_error(Context *ctx, const Attr *loc, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    emit(ctx, DIAG_ERROR, loc, "", fmt, args);
    va_end(args);
    return false;
}

bool diag_warning(Context *ctx, const Attr *loc, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    emit(ctx, DIAG_WARNING, loc, "", fmt, args);
    va_end(args);
    return false;
}

bool diag_remark(Context *ctx, const Attr *loc, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    emit(ctx, DIAG_REMARK, loc, "", fmt, args);
    va_end(args);
    return false;
}

bool diag_note(Context *ctx, const Attr *loc, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    emit(ctx, DIAG_NOTE, loc, "", fmt, args);
    va_end(args);
    return false;
}

/* Elements beyond this many are elided in the note that shows the op. */
enum { NOTE_ELEMENTS = 16 };

bool op_note_text(const Op *op, const char *title, bool generic)
{
    PrintOptions options = PRINT_DEFAULT;
    options.generic = generic;
    options.local_scope = true;
    options.elide_elements_above = NOTE_ELEMENTS;
    StrBuf text = {0}, shown = {0};
    op_print(&text, (Op *)op, &options);
    while (text.len && text.data[text.len - 1] == '\n') text.len--;
    Str body = strbuf_str(&text);
    strbuf_add_c(&shown, title);
    if (body.len && memchr(body.data, '\n', body.len)) strbuf_add_char(&shown, '\n');
    strbuf_add_str(&shown, body);
    diag_add(op->ctx, DIAG_NOTE, op->loc, strbuf_str(&shown));
    strbuf_free(&text);
    strbuf_free(&shown);
    return false;
}

static void note_current_op(const Op *op)
{
    Diags *diags = diag_state_of(op->ctx);
    if (!diags->hide_op) op_note_text(op, "see current operation: ", true);
}

static void emit_at_op(const Op *op, DiagKind kind, const char *prefix, const char *fmt,
                       va_list args)
{
    emit(op->ctx, kind, op->loc, prefix, fmt, args);
    if (kind != DIAG_NOTE) note_current_op(op);
}

bool op_error(const Op *op, const char *fmt, ...)
{
    StrBuf prefix = {0};
    strbuf_printf(&prefix, "'%.*s' op ", STR_ARG(op->name->str));
    va_list args;
    va_start(args, fmt);
    emit_at_op(op, DIAG_ERROR, prefix.data, fmt, args);
    va_end(args);
    strbuf_free(&prefix);
    return false;
}

bool op_emit_error(const Op *op, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    emit_at_op(op, DIAG_ERROR, "", fmt, args);
    va_end(args);
    return false;
}

bool op_warning(const Op *op, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    emit_at_op(op, DIAG_WARNING, "", fmt, args);
    va_end(args);
    return false;
}

bool op_remark(const Op *op, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    emit_at_op(op, DIAG_REMARK, "", fmt, args);
    va_end(args);
    return false;
}

bool op_note(const Op *op, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    emit_at_op(op, DIAG_NOTE, "", fmt, args);
    va_end(args);
    return false;
}

static SourceText *find_source(const Context *ctx, Str name)
{
    Diags *diags = diag_state_of(ctx);
    for (size_t i = diags->sources.len; i-- > 0;) /* the newest of that name */
        if (str_eq(diags->sources.data[i].name->str, name)) return &diags->sources.data[i];
    return NULL;
}

void diag_add_source(Context *ctx, Str name, Str text)
{
    Diags *diags = diag_state_of(ctx);
    *vec_push(&diags->sources) = (SourceText){.name = ident_get(ctx, name), .text = text};
}

void diag_remove_source(Context *ctx, Str name)
{
    Diags *diags = diag_state_of(ctx);
    diag_flush(ctx); /* the pending diagnostic may quote this text */
    SourceText *source = find_source(ctx, name);
    if (!source) return;
    free_ptr((void **)&source->line_starts);
    SourceText *end = diags->sources.data + diags->sources.len;
    memmove(source, source + 1, (size_t)(end - source - 1) * sizeof *source);
    diags->sources.len--;
}

Str diag_source(const Context *ctx, Str name)
{
    const SourceText *source = find_source(ctx, name);
    return source ? source->text : (Str){0};
}

static void index_lines(SourceText *source)
{
    VEC(uint32_t) starts = {0};
    const char *begin = source->text.data, *end = begin + source->text.len;
    *vec_push(&starts) = 0;
    for (const char *at = begin; at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
        *vec_push(&starts) = (uint32_t)(at + 1 - begin);
    source->line_starts = starts.data;
    source->line_count = (uint32_t)starts.len;
}

/* A line's text, without what ends it; a carriage return does, too. */
static Str find_line(const SourceText *source, uint32_t line)
{
    size_t begin = source->line_starts[line - 1], end = source->text.len;
    if (line < source->line_count) end = source->line_starts[line] - 1;
    const char *at = source->text.data + begin;
    const char *carriage = end > begin ? memchr(at, '\r', end - begin) : NULL;
    return (Str){at, carriage ? (size_t)(carriage - at) : end - begin};
}

bool diag_source_line(const Context *ctx, Str name, uint32_t line, Str *out)
{
    SourceText *source = find_source(ctx, name);
    if (!source || !source->text.data || line == 0) return false;
    if (!source->line_starts) index_lines(source);
    if (line > source->line_count) return false;
    if (source->last != line) source->last_line = find_line(source, line);
    source->last = line;
    *out = source->last_line;
    return true;
}

static const char *keep(Context *ctx, StrBuf *text)
{
    Diags *diags = diag_state_of(ctx);
    char *copy = arena_alloc(&diags->args, text->len + 1);
    if (text->len) memcpy(copy, text->data, text->len);
    strbuf_free(text);
    return copy;
}

const char *type_str(Context *ctx, const Type *type)
{
    StrBuf text = {0};
    type_print(&text, type);
    return keep(ctx, &text);
}

const char *attr_str(Context *ctx, const Attr *attr)
{
    StrBuf text = {0};
    attr_print(&text, attr);
    return keep(ctx, &text);
}

const char *map_str(Context *ctx, const AffineMap *map)
{
    StrBuf text = {0};
    map_print(&text, map);
    return keep(ctx, &text);
}
