/* Starts commands and waits for them. Words go to them as they are: no shell reads them.
 * Tests: test/e2e/sweep_check.py */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sweep/internal.h"

void sweep_add_word(SweepWords *words, const char *fmt, ...)
{
    StrBuf text = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    char *word = xmalloc(text.len + 1);
    memcpy(word, text.len > 0 ? text.data : "", text.len + 1);
    strbuf_free(&text);
    if (words->len > 0) words->len--; /* the end */
    *vec_push(words) = word;
    *vec_push(words) = NULL;
}

void sweep_free_words(SweepWords *words)
{
    for (size_t i = 0; i < words->len; i++) free(words->data[i]);
    vec_free(words);
}

/* In the child. */
_Noreturn static void execute(const SweepWords *words, const char *folder, const char *log)
{
    int none = open("/dev/null", O_RDONLY);
    int file = log ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    bool ok = none >= 0 && dup2(none, STDIN_FILENO) >= 0;
    if (log)
        ok = ok && file >= 0 && dup2(file, STDOUT_FILENO) >= 0 && dup2(file, STDERR_FILENO) >= 0;
    if (ok && (!folder || chdir(folder) == 0)) execvp(words->data[0], words->data);
    fprintf(stderr, "error: cannot run '%s': %s\n", words->data[0], strerror(errno));
    _exit(127);
}

int sweep_spawn(SweepWords *words, const char *folder, const char *log, StrBuf *why)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) execute(words, folder, log);
    if (child < 0) (void)strbuf_fail(why, "cannot start a process: %s", strerror(errno));
    return child;
}

int sweep_wait(int process)
{
    enum { BY_SIGNAL = 128 };
    int status = 0;
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR) return BY_SIGNAL;
    return WIFEXITED(status) ? WEXITSTATUS(status) : BY_SIGNAL + WTERMSIG(status);
}
