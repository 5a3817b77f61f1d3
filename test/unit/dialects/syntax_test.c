/* What is wrong in an op is shown where it stands. Lines of ops from the tests of all dialects are cut
 * before each of their words and go on with what no op has: parsing fails, with an error at that place.
 * Of lines that differ in names and numbers alone one is tried. */
#include <ctype.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "dialects/dialects.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

typedef struct Fixture {
    Context *ctx;
    PtrMap forms;   /* hashes of lines without names and numbers */
    StrBuf aliases; /* definitions that lines of the file read */
    uint32_t lines; /* of these */
    size_t cuts, failures;
    size_t errors;         /* of a cut */
    uint32_t line, column; /* of the first one */
    StrBuf message;
} Fixture;

static void collect(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                    size_t note_count)
{
    Fixture *f = user;
    (void)ctx, (void)notes, (void)note_count;
    if (f->errors++ > 0) return;
    f->line = diag->loc->kind == ATTR_LOC_FILE ? diag->loc->u.loc_file.line : 0;
    f->column = diag->loc->kind == ATTR_LOC_FILE ? diag->loc->u.loc_file.col : 0;
    strbuf_clear(&f->message);
    strbuf_add_str(&f->message, diag->text);
}

static bool is_in_word(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_$.@%#!^", c));
}

/* Behind the word at `at`: a name or number, a string, an arrow, or another character. */
static const char *end_of_word(const char *at, const char *end)
{
    if (*at == '"') {
        for (at++; at < end && *at != '"'; at++) at += *at == '\\';
        return at < end ? at + 1 : end;
    }
    if (at + 1 < end && *at == '-' && at[1] == '>') return at + 2;
    if (!is_in_word(*at)) return at + 1;
    bool is_number = isdigit((unsigned char)*at);
    while (at < end && (is_in_word(*at) || (is_number && *at == '-' && at[-1] == 'e'))) at++;
    return at;
}

/* An error that says more than what was expected next, and points to what it is about. */
static bool is_about_more(const char *message)
{
    static const char *const texts[] = {
        "unbalanced", /* the end of what a dialect reads itself */
        "cannot name an operation with no results",
        "results but was provided",
        "operands present, but expected",
        "dimension or symbol index mismatch",
        "out of range for attribute",
        "is unknown", /* a short name, which the op around it lets in */
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (strstr(message, texts[i])) return true;
    return false;
}

/* Upstream adds to some errors which part of the op failed. */
enum { MOST_ERRORS = 2 };

/* The place may be behind the word before. */
static bool is_in_place(const Fixture *f, Str line, const char *at)
{
    const char *least = at;
    while (least > line.data && least[-1] == ' ') least--;
    return f->line == f->lines + 1 && f->column > (size_t)(least - line.data) &&
           f->column <= (size_t)(at - line.data) + 1;
}

static void check_cut(Fixture *f, Str line, const char *at)
{
    StrBuf text = {0};
    const ParseOptions options = {.skip_verify = true};
    strbuf_add_str(&text, strbuf_str(&f->aliases));
    strbuf_add(&text, line.data, (size_t)(at - line.data));
    strbuf_add_c(&text, "#-}");
    f->errors = 0;
    f->cuts++;
    Op *module = parse_module(f->ctx, strbuf_str(&text), STR("test"), &options);
    bool ok = !module && f->errors > 0 && f->errors <= MOST_ERRORS &&
              (is_in_place(f, line, at) || is_about_more(f->message.data));
    if (!ok) {
        f->failures++;
        print_message("%s\n  %zu errors, the first at %u:%u: %s\n", text.data, f->errors, f->line,
                      f->column, f->errors > 0 ? f->message.data : "");
    }
    if (module) op_erase(module);
    strbuf_free(&text);
}

/* Whether there was no line of its form. */
static bool is_new(Fixture *f, Str line)
{
    StrBuf form = {0};
    const char *end = line.data + line.len, *next;
    for (const char *at = line.data; at < end; at = next) {
        next = end_of_word(at, end);
        bool is_any = strchr("%@#^\"", *at) || isdigit((unsigned char)*at);
        strbuf_add(&form, at, is_any ? 1 : (size_t)(next - at));
    }
    const void *key = (const void *)(uintptr_t)(hash_bytes(form.data, form.len, 0) | 1);
    bool is_known = ptrmap_has(&f->forms, key);
    ptrmap_put(&f->forms, key, f);
    strbuf_free(&form);
    return !is_known;
}

/* A line that begins with an op that has results, or with the name of a dialect and one of its ops. */
static bool is_op(Str line)
{
    const char *end = line.data + line.len, *name = line.data;
    if (*name == '%') return true;
    while (name < end && (islower((unsigned char)*name) || *name == '_')) name++;
    bool has_dialect = name > line.data && name < end && *name == '.';
    while (name < end && is_in_word(*name)) name++;
    return has_dialect && !str_starts_with((Str){name, (size_t)(end - name)}, " =");
}

static void check_line(Fixture *f, Str line)
{
    const char *end = line.data + line.len;
    if (*line.data == '#' || *line.data == '!') {
        strbuf_add_str(&f->aliases, line);
        strbuf_add_char(&f->aliases, '\n');
        f->lines++;
    }
    if (!is_op(line) || !is_new(f, line)) return;
    for (const char *at = end_of_word(line.data, end); at < end; at = end_of_word(at, end))
        if (*at != ' ') check_cut(f, line, at);
}

static void check_file(Fixture *f, const char *path)
{
    StrBuf text = {0};
    const char *reason;
    assert_true(file_read(&text, path, &reason));
    f->lines = 0;
    for (const char *at = text.data; *at && !strstr(text.data, "expected-error");) {
        size_t len = strcspn(at, "\n"), blanks = strspn(at, " ");
        if (at == text.data || str_starts_with((Str){at, len}, "// -----")) {
            strbuf_clear(&f->aliases);
            f->lines = 0;
        }
        if (blanks < len) check_line(f, (Str){at + blanks, len - blanks});
        at += len + (at[len] == '\n');
    }
    strbuf_free(&text);
}

static void errors_are_in_place(void **state)
{
    (void)state;
    Fixture f = {.ctx = context_create()};
    glob_t files;
    dialects_register_all(f.ctx);
    dialect_allow_unregistered(f.ctx, true);
    diag_set_handler(f.ctx, collect, &f, NULL, NULL);
    assert_int_equal(glob(MING_LIT "/dialects/*/*.mir", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) check_file(&f, files.gl_pathv[i]);
    globfree(&files);
    assert_int_equal(f.failures, 0);
    assert_true(f.cuts > 10000);
    ptrmap_free(&f.forms);
    strbuf_free(&f.aliases);
    strbuf_free(&f.message);
    context_destroy(f.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
