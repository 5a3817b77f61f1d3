/* Signals that end a tool: its temporary files go first, and its parent sees by which signal it ended.
 * Tests: test/e2e/fault_check.py */
#include <signal.h>

#include "tools/internal.h"

/* The default action is back when this is called, and happens when this returns. */
static void end_by_signal(int number)
{
    temporary_remove_all();
    (void)raise(number);
}

static const int ending[] = {SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGXCPU};

void tool_pass_signal(int number)
{
    for (size_t i = 0; i < COUNT_OF(ending); i++)
        if (ending[i] == number) (void)raise(number);
}

void tool_catch_signals(void)
{
    struct sigaction action = {.sa_handler = end_by_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < COUNT_OF(ending); i++) {
        bool is_ignored = sigaction(ending[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
        if (!is_ignored) (void)sigaction(ending[i], &action, NULL);
    }
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that is too large is an error of write */
}
