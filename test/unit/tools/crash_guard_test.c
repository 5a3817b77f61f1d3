/* A child that a signal ends leaves its last note; one that ends by itself ends the parent too. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "tools/internal.h"

static void a_signal_leaves_the_last_note(void **state)
{
    (void)state;
    CrashGuard guard;
    if (crash_guard_enter(&guard)) {
        crash_guard_note(&guard, STR("first"), STR("1"));
        crash_guard_note(&guard, STR("second"), STR("22"));
        raise(SIGKILL);
    }
    assert_string_equal(guard.what.data, "second");
    assert_string_equal(guard.text.data, "22");
    crash_guard_free(&guard);
}

static void long_notes_pass(void **state)
{
    (void)state;
    enum { LENGTH = 1 << 20 }; /* more than a pipe holds */
    CrashGuard guard;
    if (crash_guard_enter(&guard)) {
        char *text = xcalloc(LENGTH, 1);
        crash_guard_note(&guard, STR("long"), (Str){text, LENGTH});
        raise(SIGKILL);
    }
    assert_int_equal(guard.text.len, LENGTH);
    crash_guard_free(&guard);
}

/* The guarded part of a program of its own. */
static int run_guarded(int status)
{
    pid_t program = fork();
    if (program == 0) {
        CrashGuard guard;
        (void)crash_guard_enter(&guard);
        crash_guard_leave(&guard);
        _exit(status);
    }
    int got = 0;
    assert_int_equal(waitpid(program, &got, 0), program);
    assert_true(WIFEXITED(got));
    return WEXITSTATUS(got);
}

static void the_childs_status_is_the_programs(void **state)
{
    (void)state;
    assert_int_equal(run_guarded(0), 0);
    assert_int_equal(run_guarded(7), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_leaves_the_last_note),
        cmocka_unit_test(long_notes_pass),
        cmocka_unit_test(the_childs_status_is_the_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
