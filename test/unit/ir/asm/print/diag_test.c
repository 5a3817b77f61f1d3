/* Diagnostics: rendering with source line and caret, notes, pending and flushing, call sites.
 * Expected texts are what mlir-opt 19 prints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "ir/asm/print/internal.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"

typedef struct Log {
    Context *ctx;
    StrBuf text;
} Log;

static void collect(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                    size_t note_count)
{
    Log *log = user;
    diag_render(&log->text, ctx, diag, notes, note_count);
}

static Log log_create(void)
{
    return (Log){.ctx = context_create()};
}

static void log_expect(Log *log, const char *want)
{
    diag_flush(log->ctx);
    assert_string_equal(log->text.len ? log->text.data : "", want);
    strbuf_free(&log->text);
    context_destroy(log->ctx);
}

static const Attr *at(Log *log, const char *file, uint32_t line, uint32_t col)
{
    return loc_file(log->ctx, ident_get_c(log->ctx, file), line, col);
}

static void caret_points_at_column(void **state)
{
    (void)state;
    Log log = log_create();
    diag_set_handler(log.ctx, collect, &log, NULL, NULL);
    diag_add_source(log.ctx, STR("t.mir"), STR("first\n\tx = y\nlast"));
    assert_false(diag_error(log.ctx, at(&log, "t.mir", 2, 2), "no %s", "x"));
    diag_warning(log.ctx, at(&log, "t.mir", 3, 5), "end");
    diag_remark(log.ctx, at(&log, "t.mir", 1, 1), "begin");
    assert_int_equal(diag_error_count(log.ctx), 1);
    log_expect(&log, "t.mir:2:2: error: no x\n        x = y\n        ^\n"
                     "t.mir:3:5: warning: end\nlast\n    ^\n"
                     "t.mir:1:1: remark: begin\nfirst\n^\n");
}

/* Of 1,000 bytes, 240 are shown: all before the caret, around it, all behind it. */
static void long_lines_are_cut(void **state)
{
    (void)state;
    static const struct {
        uint32_t col;
        int before, behind; /* bytes shown */
        bool cut_before, cut_behind;
    } cases[] = {{1, 0, 240, false, true},
                 {161, 160, 80, false, true},
                 {162, 160, 80, true, true},
                 {921, 160, 80, true, false},
                 {1001, 240, 0, true, false}};
    char line[1001], want[1024];
    for (int i = 0; i < 1000; i++) line[i] = (char)('a' + i % 26);
    line[1000] = '\0';
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Log log = log_create();
        int begin = (int)cases[i].col - 1 - cases[i].before;
        diag_set_handler(log.ctx, collect, &log, NULL, NULL);
        diag_add_source(log.ctx, STR("t.mir"), str_from(line));
        assert_false(diag_error(log.ctx, at(&log, "t.mir", 1, cases[i].col), "no"));
        snprintf(want, sizeof want, "t.mir:1:%u: error: no\n%s%.240s%s\n%*s^\n", cases[i].col,
                 cases[i].cut_before ? "..." : "", line + begin, cases[i].cut_behind ? "..." : "",
                 cases[i].before + (cases[i].cut_before ? 3 : 0), "");
        log_expect(&log, want);
    }
}

/* No character of UTF-8 is cut in two: 240 bytes are 79 whole characters and two halves. */
static void long_lines_are_cut_between_characters(void **state)
{
    (void)state;
    Log log = log_create();
    StrBuf line = {0}, want = {0};
    for (int i = 0; i < 400; i++) strbuf_add_c(&line, "\xe2\x82\xac");
    diag_set_handler(log.ctx, collect, &log, NULL, NULL);
    diag_add_source(log.ctx, STR("t.mir"), strbuf_str(&line));
    assert_false(diag_error(log.ctx, at(&log, "t.mir", 1, 601), "no"));
    strbuf_add_c(&want, "t.mir:1:601: error: no\n...");
    for (int i = 0; i < 79; i++) strbuf_add_c(&want, "\xe2\x82\xac");
    strbuf_add_c(&want, "...\n");
    log_expect(&log, want.data);
    strbuf_free(&line);
    strbuf_free(&want);
}

static void line_may_be_missing(void **state)
{
    (void)state;
    Log log = log_create();
    diag_set_handler(log.ctx, collect, &log, NULL, NULL);
    diag_add_source(log.ctx, STR("t.mir"), STR("caf\xc3\xa9\n"));
    diag_error(log.ctx, at(&log, "other", 7, 1), "a");
    diag_error(log.ctx, at(&log, "t.mir", 9, 1), "b");
    diag_error(log.ctx, at(&log, "t.mir", 1, 90), "c");
    diag_error(log.ctx, at(&log, "t.mir", 1, 1), "d");
    diag_error(log.ctx, loc_unknown(log.ctx), "e");
    diag_error(log.ctx, loc_name(ident_get_c(log.ctx, "n"), loc_unknown(log.ctx)), "f");
    log_expect(&log, "other:7:1: error: a\n"
                     "t.mir:9:1: error: b\n"
                     "t.mir:1:90: error: c\n"
                     "t.mir:1:1: error: d\ncaf\xc3\xa9\n"
                     "<unknown>:0: error: e\n"
                     "<unknown>:0: error: loc(\"n\"): f\n");
}

static void held_diagnostics_wait(void **state)
{
    (void)state;
    DiagHold first, inner;
    Log log = log_create();
    diag_set_handler(log.ctx, collect, &log, NULL, NULL);
    diag_hold_begin(&first, log.ctx);
    diag_error(log.ctx, NULL, "a");
    diag_note(log.ctx, NULL, "of a");
    diag_hold_begin(&inner, log.ctx);
    diag_error(log.ctx, NULL, "dropped");
    assert_int_equal(diag_error_count(log.ctx), 2);
    diag_hold_drop(&inner);
    diag_hold_end(&first);
    assert_int_equal(diag_error_count(log.ctx), 0);
    diag_warning(log.ctx, NULL, "b");
    diag_hold_report(&first);
    assert_int_equal(diag_error_count(log.ctx), 1);
    diag_hold_free(&first);
    log_expect(&log, "<unknown>:0: warning: b\n<unknown>:0: error: a\n<unknown>:0: note: of a\n");
}

/* A reason that counts how often it is found and freed. */
typedef struct Counted {
    DiagReason base;
    int *found, *freed;
} Counted;

static void add_counted(const DiagReason *base, StrBuf *text)
{
    strbuf_add_c(text, " for a reason");
    ++*((const Counted *)base)->found;
}

static void free_counted(DiagReason *base)
{
    ++*((Counted *)base)->freed;
    free(base);
}

static void fail_for_reason(Context *ctx, const char *text, int *found, int *freed)
{
    Counted *reason = xcalloc(1, sizeof *reason);
    *reason = (Counted){{add_counted, free_counted, 0}, found, freed};
    diag_error(ctx, NULL, "%s", text);
    diag_note(ctx, NULL, "of %s", text);
    diag_because(ctx, &reason->base);
}

static void reasons_are_found_when_they_are_told(void **state)
{
    (void)state;
    DiagHold first, inner;
    int found = 0, freed = 0;
    Log log = log_create();
    diag_set_handler(log.ctx, collect, &log, NULL, NULL);
    fail_for_reason(log.ctx, "a", &found, &freed);
    diag_hold_begin(&first, log.ctx);
    assert_int_equal(found, 1);
    assert_int_equal(freed, 1);
    diag_hold_begin(&inner, log.ctx);
    fail_for_reason(log.ctx, "b", &found, &freed);
    diag_hold_end(&inner);
    diag_hold_report(&inner);
    diag_hold_free(&inner);
    diag_hold_begin(&inner, log.ctx);
    fail_for_reason(log.ctx, "dropped", &found, &freed);
    diag_hold_drop(&inner);
    diag_hold_end(&first);
    assert_int_equal(found, 1);
    assert_int_equal(freed, 2);
    diag_hold_report(&first);
    diag_hold_report(&first);
    const HeldDiag *error = diag_hold_first_error(&first);
    assert_string_equal(error->text.data, "b for a reason");
    assert_true(error == diag_hold_first_error(&first));
    assert_string_equal(error->text.data, "b for a reason");
    diag_hold_free(&first);
    diag_flush(log.ctx);
    assert_int_equal(found, 4);
    assert_int_equal(freed, 3);
    log_expect(&log, "<unknown>:0: error: a for a reason\n<unknown>:0: note: of a\n"
                     "<unknown>:0: error: b for a reason\n<unknown>:0: note: of b\n"
                     "<unknown>:0: error: b for a reason\n<unknown>:0: note: of b\n");
}

static void notes_follow_their_diagnostic(void **state)
{
    (void)state;
    Log log = log_create();
    diag_set_handler(log.ctx, collect, &log, NULL, NULL);
    diag_add_source(log.ctx, STR("t.mir"), STR("one\ntwo\n"));
    diag_error(log.ctx, at(&log, "t.mir", 1, 1), "a");
    assert_int_equal(log.text.len, 0);
    diag_note(log.ctx, at(&log, "t.mir", 1, 1), "same place");
    diag_note(log.ctx, at(&log, "t.mir", 2, 1), "elsewhere");
    assert_int_equal(log.text.len, 0);
    log_expect(&log, "t.mir:1:1: error: a\none\n^\n"
                     "t.mir:1:1: note: same place\n"
                     "t.mir:2:1: note: elsewhere\ntwo\n^\n");
}

static void call_sites_are_unwound(void **state)
{
    (void)state;
    Log log = log_create();
    diag_set_handler(log.ctx, collect, &log, NULL, NULL);
    const Attr *inner = loc_callsite(at(&log, "f", 1, 1), at(&log, "g", 2, 1));
    diag_error(log.ctx, loc_callsite(inner, at(&log, "h", 3, 1)), "deep");
    log_expect(&log, "f:1:1: error: deep\nh:3:1: note: called from\n");
}

static void newest_source_of_a_name_counts(void **state)
{
    (void)state;
    Log log = log_create();
    diag_set_handler(log.ctx, collect, &log, NULL, NULL);
    diag_add_source(log.ctx, STR("t"), STR("old"));
    diag_add_source(log.ctx, STR("t"), STR("new"));
    diag_error(log.ctx, at(&log, "t", 1, 1), "a");
    diag_remove_source(log.ctx, STR("t")); /* flushes */
    diag_error(log.ctx, at(&log, "t", 1, 1), "b");
    diag_remove_source(log.ctx, STR("t"));
    assert_null(diag_source(log.ctx, STR("t")).data);
    log_expect(&log, "t:1:1: error: a\nnew\n^\nt:1:1: error: b\nold\n^\n");
}

static void strings_outlive_their_use(void **state)
{
    (void)state;
    Log log = log_create();
    Context *ctx = log.ctx;
    diag_set_handler(ctx, collect, &log, NULL, NULL);
    for (uint32_t i = 1; i <= 3; i++)
        diag_error(ctx, NULL, "%s is not %s", type_str(ctx, type_i(ctx, i)),
                   attr_str(ctx, attr_i64(ctx, i)));
    diag_note(ctx, NULL, "%s", map_str(ctx, map_identity(ctx, 1)));
    log_expect(&log, "<unknown>:0: error: i1 is not 1 : i64\n"
                     "<unknown>:0: error: i2 is not 2 : i64\n"
                     "<unknown>:0: error: i3 is not 3 : i64\n"
                     "<unknown>:0: note: (d0) -> (d0)\n");
}

static void emit_once(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                      size_t note_count)
{
    Log *log = user;
    bool is_first = log->text.len == 0;
    diag_render(&log->text, ctx, diag, notes, note_count);
    if (is_first) diag_error(ctx, NULL, "from the handler");
}

static void handlers_may_emit(void **state)
{
    (void)state;
    Log log = log_create();
    diag_set_handler(log.ctx, emit_once, &log, NULL, NULL);
    diag_error(log.ctx, NULL, "a");
    diag_error(log.ctx, NULL, "b");
    DiagHandler *old;
    diag_set_handler(log.ctx, collect, &log, &old, NULL);
    assert_true(old == emit_once);
    log_expect(&log, "<unknown>:0: error: a\n<unknown>:0: error: from the handler\n"
                     "<unknown>:0: error: b\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caret_points_at_column),
        cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(long_lines_are_cut_between_characters),
        cmocka_unit_test(line_may_be_missing),
        cmocka_unit_test(held_diagnostics_wait),
        cmocka_unit_test(reasons_are_found_when_they_are_told),
        cmocka_unit_test(notes_follow_their_diagnostic),
        cmocka_unit_test(call_sites_are_unwound),
        cmocka_unit_test(newest_source_of_a_name_counts),
        cmocka_unit_test(strings_outlive_their_use),
        cmocka_unit_test(handlers_may_emit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
