/* Expectations of diagnostics: read line by line, matched as diagnostics come.
 * Tests: lit/tools/verify-diagnostics.mir */
#include <regex.h>
#include <string.h>

#include "ir/attr/attr.h"
#include "tools/internal.h"

static const char *const kind_names[] = {
    [DIAG_ERROR] = "error",
    [DIAG_WARNING] = "warning",
    [DIAG_REMARK] = "remark",
    [DIAG_NOTE] = "note",
};

#define LINE_UNKNOWN 0

typedef struct Expected {
    DiagKind kind;
    bool is_regex, matched;
    Str text;               /* between the braces */
    uint32_t line;          /* where the diagnostic must be */
    uint32_t own_line, col; /* of the expectation */
    regex_t regex;
} Expected;

struct ExpectedDiags {
    Context *ctx;
    const Ident *file;
    VEC(Expected) list;
    bool failed;
    /* while reading */
    uint32_t last_plain_line; /* without an @above or @below; 0: none yet */
    VEC(size_t) waiting;      /* expectations with @below */
};

/* Fixed text with the {{pieces}} as extended regular expressions. */
static char *regex_text(Str text)
{
    StrBuf out = {0};
    bool inside = false;
    for (size_t i = 0; i < text.len; i++) {
        Str rest = {.data = text.data + i, .len = text.len - i};
        if (str_starts_with(rest, inside ? "}}" : "{{")) {
            strbuf_add_char(&out, inside ? ')' : '(');
            inside = !inside;
            i++;
        } else {
            if (!inside && strchr("()^$|*+?.[]\\{}", text.data[i])) strbuf_add_char(&out, '\\');
            strbuf_add_char(&out, text.data[i]);
        }
    }
    strbuf_add_c(&out, "");
    return out.data;
}

static bool take(Str *text, const char *prefix)
{
    if (!str_starts_with(*text, prefix)) return false;
    text->data += strlen(prefix);
    text->len -= strlen(prefix);
    return true;
}

static bool take_kind(Str *text, DiagKind *kind)
{
    for (size_t i = 0; i < COUNT_OF(kind_names); i++)
        if (take(text, kind_names[i])) {
            *kind = (DiagKind)i;
            return true;
        }
    return false;
}

static bool take_number(Str *text, uint32_t *out)
{
    uint32_t value = 0;
    size_t digits = 0;
    for (; text->len > 0 && *text->data >= '0' && *text->data <= '9'; digits++) {
        value = value * 10 + (uint32_t)(*text->data - '0');
        text->data++;
        text->len--;
    }
    *out = value;
    return digits > 0;
}

typedef enum ExpectedPlace { PLACE_LINE, PLACE_ABOVE, PLACE_BELOW } ExpectedPlace;

/* place ::= (`@` (`+` number | `-` number | above | below | unknown))? */
static bool take_place(Str *text, uint32_t line, Expected *out, ExpectedPlace *place)
{
    uint32_t distance;
    *place = PLACE_LINE;
    out->line = line;
    if (!take(text, "@")) return true;
    if (take(text, "unknown")) {
        out->line = LINE_UNKNOWN;
        return true;
    }
    if (take(text, "above") || take(text, "below")) {
        *place = text->data[-1] == 'e' ? PLACE_ABOVE : PLACE_BELOW;
        return true;
    }
    bool down = take(text, "+");
    if (!down && !take(text, "-")) return false;
    if (!take_number(text, &distance)) return false;
    out->line = down ? line + distance : line - distance;
    return true;
}

/* expectation ::= expected- kind -re? ` `* place ` `* `{{` text `}}` to the end of the line */
static bool read_expectation(Str text, uint32_t line, Expected *out, ExpectedPlace *place)
{
    if (!take(&text, "expected-") || !take_kind(&text, &out->kind)) return false;
    out->is_regex = take(&text, "-re");
    while (take(&text, " ")) {
    }
    if (!take_place(&text, line, out, place)) return false;
    while (take(&text, " ")) {
    }
    if (!take(&text, "{{") || !str_ends_with(text, "}}")) return false;
    out->text = (Str){.data = text.data, .len = text.len - 2};
    return true;
}

static void complain(ExpectedDiags *diags, uint32_t line, uint32_t col, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* With the default handler, so that it reaches the user. */
static void complain(ExpectedDiags *diags, uint32_t line, uint32_t col, const char *fmt, ...)
{
    StrBuf text = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    DiagHandler *handler;
    void *user;
    diag_set_handler(diags->ctx, NULL, NULL, &handler, &user);
    (void)diag_error(diags->ctx, loc_file(diags->ctx, diags->file, line, col), "%s", text.data);
    diag_flush(diags->ctx);
    diag_set_handler(diags->ctx, handler, user, NULL, NULL);
    strbuf_free(&text);
    diags->failed = true;
}

static void add_expectation(ExpectedDiags *diags, Expected *expected, ExpectedPlace place)
{
    if (expected->is_regex) {
        char *pattern = regex_text(expected->text);
        if (regcomp(&expected->regex, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
            complain(diags, expected->own_line, expected->col, "invalid regex: %s", pattern);
            expected->is_regex = false;
        }
        free_ptr((void **)&pattern);
    }
    if (place == PLACE_ABOVE) {
        if (diags->last_plain_line > 0)
            expected->line = diags->last_plain_line;
        else
            complain(diags, expected->own_line, expected->col,
                     "expected diagnostic @above, but no previous line to refer to");
    }
    if (place == PLACE_BELOW) *vec_push(&diags->waiting) = diags->list.len;
    *vec_push(&diags->list) = *expected;
}

static void read_line(ExpectedDiags *diags, Str line, uint32_t number)
{
    while (line.len > 0 && strchr(" \t\r", line.data[line.len - 1])) line.len--;
    ExpectedPlace place = PLACE_LINE;
    for (size_t i = 0; i + 9 <= line.len; i++) {
        Expected expected = {.own_line = number, .col = (uint32_t)i + 1};
        Str rest = {.data = line.data + i, .len = line.len - i};
        if (!read_expectation(rest, number, &expected, &place)) continue;
        add_expectation(diags, &expected, place);
        if (place != PLACE_LINE) return;
        break;
    }
    diags->last_plain_line = number;
    for (size_t i = 0; i < diags->waiting.len; i++)
        diags->list.data[diags->waiting.data[i]].line = number;
    diags->waiting.len = 0;
}

static bool contains(Str text, Str part)
{
    for (size_t i = 0; i + part.len <= text.len; i++)
        if (memcmp(text.data + i, part.data, part.len) == 0) return true;
    return part.len == 0;
}

static bool matches(const Expected *expected, Str text)
{
    if (!expected->is_regex) return contains(text, expected->text);
    StrBuf copy = {0};
    strbuf_add_str(&copy, text);
    strbuf_add_c(&copy, "");
    bool result = regexec(&expected->regex, copy.data, 0, NULL, 0) == 0;
    strbuf_free(&copy);
    return result;
}

static void process(ExpectedDiags *diags, const Diag *diag)
{
    const Attr *loc = loc_find_file(diag->loc);
    bool here = loc && loc->u.loc_file.file == diags->file;
    uint32_t line = here ? loc->u.loc_file.line : LINE_UNKNOWN;
    const Expected *near = NULL;
    for (size_t i = 0; i < diags->list.len; i++) {
        Expected *expected = &diags->list.data[i];
        if (expected->line != line || !matches(expected, diag->text)) continue;
        if (expected->kind == diag->kind) {
            expected->matched = true;
            return;
        }
        near = expected;
    }
    if (near)
        complain(diags, near->own_line, near->col, "'%s' diagnostic emitted when expecting a '%s'",
                 kind_names[diag->kind], kind_names[near->kind]);
    else
        complain(diags, line, here ? loc->u.loc_file.col : 0, "unexpected %s: %.*s",
                 kind_names[diag->kind], STR_ARG(diag->text));
}

static void handle(void *user, Context *ctx, const Diag *diag, const Diag *notes, size_t note_count)
{
    (void)ctx;
    process(user, diag);
    for (size_t i = 0; i < note_count; i++) process(user, &notes[i]);
}

ExpectedDiags *expected_diags_begin(Context *ctx, Str text, Str buffer_name)
{
    ExpectedDiags *diags = xcalloc(1, sizeof(*diags));
    diags->ctx = ctx;
    diags->file = ident_get(ctx, buffer_name);
    diag_add_source(ctx, buffer_name, text);
    diag_set_handler(ctx, handle, diags, NULL, NULL);
    uint32_t number = 1;
    while (text.len > 0) {
        const char *end = memchr(text.data, '\n', text.len);
        size_t len = end ? (size_t)(end - text.data) : text.len;
        read_line(diags, (Str){.data = text.data, .len = len}, number++);
        size_t skip = end ? len + 1 : len;
        text.data += skip;
        text.len -= skip;
    }
    return diags;
}

bool expected_diags_end(ExpectedDiags *diags)
{
    diag_flush(diags->ctx);
    for (size_t i = 0; i < diags->list.len; i++) {
        const Expected *expected = &diags->list.data[i];
        if (!expected->matched)
            complain(diags, expected->own_line, expected->col,
                     "expected %s \"%.*s\" was not produced", kind_names[expected->kind],
                     STR_ARG(expected->text));
    }
    bool ok = !diags->failed;
    diag_set_handler(diags->ctx, NULL, NULL, NULL, NULL);
    for (size_t i = 0; i < diags->list.len; i++)
        if (diags->list.data[i].is_regex) regfree(&diags->list.data[i].regex);
    diag_remove_source(diags->ctx, diags->file->str);
    vec_free(&diags->list);
    vec_free(&diags->waiting);
    free_ptr((void **)&diags);
    return ok;
}
