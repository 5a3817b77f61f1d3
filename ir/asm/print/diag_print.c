/* The default diagnostic handler. It prints `file:line:col: error: text`, the source line and a
 * caret, then call sites, then notes, as mlir-opt does; but of a long line only what is around the
 * caret.
 * Tests: test/unit/ir/asm/print/diag_test.c, lit/driver/ming-compile-unsupported.test */
#include <stdio.h>

#include "ir/asm/print/internal.h"
#include "ir/attr/attr.h"

static const char *const kind_names[] = {
    [DIAG_ERROR] = "error",
    [DIAG_WARNING] = "warning",
    [DIAG_REMARK] = "remark",
    [DIAG_NOTE] = "note",
};

static const Attr *callsite_of(const Attr *loc)
{
    if (loc->kind == ATTR_LOC_CALLSITE) return loc;
    if (loc->kind == ATTR_LOC_NAME) return callsite_of(loc->u.loc_name.child);
    for (uint32_t i = 0; loc->kind == ATTR_LOC_FUSED && i < loc->u.loc_fused.count; i++) {
        const Attr *found = callsite_of(loc->u.loc_fused.locs[i]);
        if (found) return found;
    }
    return NULL;
}

enum { TAB_STOP = 8 };

/* What a terminal would take as a command. */
static bool is_control(char c)
{
    return ((unsigned char)c < ' ' && c != '\n' && c != '\t') || c == 0x7f;
}

/* Messages quote what files hold. */
static void add_text(StrBuf *out, Str text)
{
    StrBuf shown = {0};
    strbuf_add_shown(&shown, text);
    for (size_t i = 0; i < shown.len; i++)
        if (is_control(shown.data[i]))
            strbuf_printf(out, "\\%02X", (unsigned char)shown.data[i]);
        else
            strbuf_add_char(out, shown.data[i]);
    strbuf_free(&shown);
}

/* Adds c as wide as the source line's character above it. */
static void add_aligned(StrBuf *out, char c, char above, uint32_t *column)
{
    do {
        strbuf_add_char(out, c);
        ++*column;
    } while (above == '\t' && *column % TAB_STOP != 0);
}

/* Of a line that is longer, a window of so many bytes is shown, most of it before the caret. */
enum { WINDOW = 240, WINDOW_BEFORE = 160 };

/* The part of the line that is shown; *at, which is in it or at its end, is made relative to it. */
static Str window_around(Str line, size_t *at)
{
    if (line.len <= WINDOW) return line;
    size_t begin = *at > WINDOW_BEFORE ? *at - WINDOW_BEFORE : 0;
    if (begin > line.len - WINDOW) begin = line.len - WINDOW;
    size_t end = begin + WINDOW;
    while (begin < *at && str_is_inside_character(line.data[begin])) begin++;
    while (end < line.len && end > *at && str_is_inside_character(line.data[end])) end--;
    *at -= begin;
    return (Str){line.data + begin, end - begin};
}

static const char ellipsis[] = "...";

/* The line, or a window of it, with tabs expanded and, for plain text, a caret under column `at`
 * (from 0). */
static void add_line_and_caret(StrBuf *out, Str whole, size_t at)
{
    bool is_ascii = true;
    uint32_t column = 0;
    Str line = window_around(whole, &at);
    bool is_cut_before = line.data > whole.data;
    bool is_cut_behind = line.data + line.len < whole.data + whole.len;
    if (is_cut_before) strbuf_add_c(out, ellipsis);
    for (size_t i = 0; i < line.len; i++) {
        char c = line.data[i];
        is_ascii = is_ascii && (unsigned char)c < 0x80;
        add_aligned(out, c == '\t' ? ' ' : is_control(c) ? '?' : c, c, &column);
    }
    if (is_cut_behind) strbuf_add_c(out, ellipsis);
    strbuf_add_char(out, '\n');
    if (!is_ascii) return;
    column = 0;
    for (size_t i = 0; is_cut_before && ellipsis[i]; i++) strbuf_add_char(out, ' ');
    for (size_t i = 0; i < at; i++) add_aligned(out, ' ', line.data[i], &column);
    strbuf_add_c(out, "^\n");
}

/* "'conv1': ", where nothing else says what of a file without lines a message is about. */
static void add_name(StrBuf *out, const Attr *loc, Str text)
{
    Str name = loc_find_name(loc);
    if (name.len == 0 || str_starts_with(text, "node '")) return;
    strbuf_add_quoted(out, name);
    strbuf_add_c(out, ": ");
}

static void render_at_file(StrBuf *out, const Context *ctx, DiagKind kind, const Attr *whole,
                           Str text, bool with_line)
{
    const Attr *loc = loc_find_file(whole);
    Str file = loc->u.loc_file.file->str, line;
    uint32_t number = loc->u.loc_file.line, col = loc->u.loc_file.col;
    strbuf_add_str(out, str_eq_c(file, "-") ? STR("<stdin>") : file);
    bool is_whole_file =
        number == 0 && col == 0 && diag_state_of(ctx)->sources.len == 0; /* a binary one */
    if (!is_whole_file) strbuf_printf(out, ":%u:%u", number, col);
    strbuf_printf(out, ": %s: ", kind_names[kind]);
    if (is_whole_file) add_name(out, whole, text);
    add_text(out, text);
    strbuf_add_char(out, '\n');
    if (!with_line || col == 0 || !diag_source_line(ctx, file, number, &line)) return;
    if (col <= line.len + 1) add_line_and_caret(out, line, col - 1);
}

static void render(StrBuf *out, const Context *ctx, DiagKind kind, const Attr *loc, Str text,
                   bool with_line)
{
    if (loc_find_file(loc)) {
        render_at_file(out, ctx, kind, loc, text, with_line);
        return;
    }
    if (!diag_state_of(ctx)->hide_op) strbuf_add_c(out, "<unknown>:0: "); /* as mlir-opt */
    strbuf_printf(out, "%s: ", kind_names[kind]);
    if (loc->kind != ATTR_LOC_UNKNOWN) {
        loc_print(out, loc, false);
        strbuf_add_c(out, ": ");
    }
    add_text(out, text);
    strbuf_add_char(out, '\n');
}

enum { CALL_STACK_LIMIT = 10 };

void diag_render(StrBuf *out, const Context *ctx, const Diag *diag, const Diag *notes,
                 size_t note_count)
{
    const Attr *shown = diag->loc, *site = callsite_of(shown);
    render(out, ctx, diag->kind, shown, diag->text, true);
    for (int depth = 0; site && depth < CALL_STACK_LIMIT; depth++) {
        shown = site->u.loc_callsite.caller;
        render(out, ctx, DIAG_NOTE, shown, STR("called from"), true);
        site = callsite_of(shown);
    }
    for (size_t i = 0; i < note_count; i++) {
        render(out, ctx, notes[i].kind, notes[i].loc, notes[i].text, notes[i].loc != shown);
        shown = notes[i].loc;
    }
}

void diag_print_stderr(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                       size_t note_count)
{
    (void)user;
    StrBuf out = {0};
    diag_render(&out, ctx, diag, notes, note_count);
    fwrite(out.data, 1, out.len, stderr);
    strbuf_free(&out);
}
