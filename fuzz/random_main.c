/* Runs a fuzz target on random inputs without libFuzzer, so in any build; each input follows from
 * the seed and its number, and a failure is reported and the next input run.
 *
 *   ming-fuzz [OPTION...] TARGET PATH...     PATH: a file, or a folder of files
 *     --seed=N  --count=N  --seconds=S       how many inputs, or for how long; default 1000
 *     --first=N                              number of the first input; default 0
 *     --prefix=N                             random bytes in front of each file
 *     --mutate=P                             percent of the files that are changed; default 0
 *     --types=P                              percent that get other element types; default 0
 *     --extremes                             instead each number of each file is set to each of a few
 *                                            extreme values in turn; default count: all
 *     --keep=DIR                             where inputs that fail are left; default none
 *
 * Inputs run in a worker process. When it crashes, aborts, leaks or takes more than LIMIT_SECONDS
 * of processor time for one input, the input is named and another worker goes on behind it. The
 * last line counts inputs: N passed, N failed; the one before it says what they took. SIGINT and
 * SIGTERM end a run behind the input that runs. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz/fuzz_support.h"
#include "fuzz/mutate.h"
#include "ir/support/support.h"

#if defined(__SANITIZE_ADDRESS__)
int __lsan_do_recoverable_leak_check(void);
#define FIND_LEAKS() __lsan_do_recoverable_leak_check()
#else
#define FIND_LEAKS() 0
#endif

#if defined(__SANITIZE_ADDRESS__)
enum { LIMIT_SECONDS = 60 };
#else
enum { LIMIT_SECONDS = 20 };
#endif
enum { MOST_FAILURES = 20, LEAK_INTERVAL = 1024, LEAK_STATUS = 3 };

static const struct {
    const char *name;
    FuzzTarget *run;
} targets[] = {
#define TARGET(name)                                                                               \
    {                                                                                              \
#name, name                                                                                \
    }
    TARGET(fuzz_compile), TARGET(fuzz_csynth),    TARGET(fuzz_designs), TARGET(fuzz_device),
    TARGET(fuzz_emit),    TARGET(fuzz_folding),   TARGET(fuzz_interp),  TARGET(fuzz_json),
    TARGET(fuzz_lsp),     TARGET(fuzz_npy),       TARGET(fuzz_onnx),    TARGET(fuzz_orders),
    TARGET(fuzz_overlay), TARGET(fuzz_partition), TARGET(fuzz_passes),  TARGET(fuzz_pipeline),
    TARGET(fuzz_text),
#undef TARGET
};

typedef struct Options {
    const char *name, *keep;
    FuzzTarget *target;
    uint64_t seed;
    int64_t first, count, seconds, prefix, mutate, types;
    bool extremes;
} Options;

typedef VEC(StrBuf) Files;

/* What the worker tells, in memory that both processes see. */
typedef struct Shared {
    volatile int64_t next;    /* number of the input that runs, or would be next */
    volatile int64_t checked; /* inputs before it do not leak */
    volatile sig_atomic_t is_stopped;
} Shared;

static Shared *shared; /* by the handler of signals, too */

static void stop(int signal)
{
    (void)signal;
    shared->is_stopped = 1;
}

static void fail(const char *what, const char *subject)
{
    fprintf(stderr, "ming-fuzz: %s: %s\n", what, subject);
    exit(2);
}

/* The files. */

static void add_file(Files *files, const char *path)
{
    const char *reason;
    StrBuf bytes = {0};
    if (!file_read(&bytes, path, &reason)) fail(path, reason);
    *vec_push(files) = bytes;
}

static void add_folder(Files *files, const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0) fail(path, strerror(errno));
    for (int i = 0; i < count; i++) {
        StrBuf name = {0};
        struct stat info;
        strbuf_printf(&name, "%s/%s", path, entries[i]->d_name);
        if (stat(name.data, &info) == 0 && S_ISREG(info.st_mode)) add_file(files, name.data);
        strbuf_free(&name);
        free(entries[i]);
    }
    free(entries);
}

static void add_path(Files *files, const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) fail(path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        add_folder(files, path);
    else
        add_file(files, path);
}

static bool is_chosen(int64_t percent, uint64_t *state)
{
    return (int64_t)(fuzz_random(state) % 100) < percent;
}

/* How many inputs --extremes has. */
static int64_t count_extremes(const Files *files)
{
    size_t count = 0;
    for (size_t i = 0; i < files->len; i++)
        count += fuzz_count_settings(strbuf_str(&files->data[i]));
    return (int64_t)count;
}

static void add_extreme(const Files *files, int64_t number, StrBuf *out)
{
    static size_t first, file; /* number of the first input of a file: they come in order */
    if ((size_t)number < first) first = file = 0;
    for (size_t count; file < files->len; file++, first += count) {
        count = fuzz_count_settings(strbuf_str(&files->data[file]));
        if ((size_t)number - first < count) break;
    }
    if (file < files->len)
        fuzz_set_number(strbuf_str(&files->data[file]), (size_t)number - first, out);
}

/* Appends input number `number`: random bytes, and a file that may be changed. */
static void make_input(const Options *o, const Files *files, int64_t number, StrBuf *out)
{
    uint64_t state = o->seed * UINT64_C(0x100000001b3) + (uint64_t)number;
    fuzz_random(&state);
    for (int64_t i = 0; i < o->prefix; i++) strbuf_add_char(out, (char)fuzz_random(&state));
    if (o->extremes) {
        add_extreme(files, number, out);
        return;
    }
    StrBuf retyped = {0};
    Str file = strbuf_str(&files->data[fuzz_random(&state) % files->len]);
    if (is_chosen(o->types, &state)) {
        fuzz_mutate_types(file, &state, &retyped);
        file = strbuf_str(&retyped);
    }
    if (is_chosen(o->mutate, &state)) {
        Str other = strbuf_str(&files->data[fuzz_random(&state) % files->len]);
        bool is_onnx = o->target == fuzz_onnx || o->target == fuzz_compile;
        (is_onnx ? fuzz_mutate_onnx : fuzz_mutate)(file, other, &state, out);
    } else {
        strbuf_add_str(out, file);
    }
    strbuf_free(&retyped);
}

/* The worker. */

static void limit_time(int seconds)
{
    struct itimerval timer = {.it_value = {.tv_sec = seconds}};
    if (setitimer(ITIMER_PROF, &timer, NULL) != 0) fail("setitimer", strerror(errno));
}

/* Ends the process when an input since the last call leaks. */
static void check_leaks(void)
{
    if (FIND_LEAKS()) _exit(LEAK_STATUS);
    shared->checked = shared->next;
}

static void work(const Options *o, const Files *files, time_t end, int interval)
{
    StrBuf input = {0};
    for (; shared->next - o->first < o->count && time(NULL) < end && !shared->is_stopped;
         shared->next++) {
        if (shared->next - shared->checked >= interval) check_leaks();
        strbuf_clear(&input);
        make_input(o, files, shared->next, &input);
        limit_time(LIMIT_SECONDS);
        o->target((const uint8_t *)input.data, input.len);
        limit_time(0);
    }
    strbuf_free(&input);
    check_leaks();
    _exit(0);
}

/* The parent. */

static void report(const Options *o, const Files *files, int64_t number, int status)
{
    StrBuf input = {0}, path = {0};
    const char *reason = "";
    if (o->keep) {
        strbuf_printf(&path, "%s/%s-%llu-%lld", o->keep, o->name, (unsigned long long)o->seed,
                      (long long)number);
        make_input(o, files, number, &input);
        if (!file_write(path.data, strbuf_str(&input), &reason)) fail(path.data, reason);
    }
    bool leaks = WIFEXITED(status) && WEXITSTATUS(status) == LEAK_STATUS;
    bool hangs = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
    printf("FAIL %s --seed=%llu input %lld: %s (status %d)%s%s\n", o->name,
           (unsigned long long)o->seed, (long long)number,
           leaks   ? "leaks"
           : hangs ? "takes too long"
                   : "ends the process",
           status, o->keep ? ", left in " : "", o->keep ? path.data : "");
    fflush(stdout);
    strbuf_free(&input);
    strbuf_free(&path);
}

/* Runs a worker to its end; its status. */
static int run_worker(const Options *o, const Files *files, time_t end, int interval)
{
    int status = 0;
    fflush(stdout);
    pid_t worker = fork();
    if (worker < 0) fail("fork", strerror(errno));
    if (worker == 0) work(o, files, end, interval);
    while (waitpid(worker, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/* The number of inputs that failed. */
static int64_t run_all(const Options *o, const Files *files)
{
    time_t end = o->seconds > 0 ? time(NULL) + o->seconds : (time_t)INT64_MAX;
    int64_t failures = 0;
    int interval = LEAK_INTERVAL, status;
    while ((status = run_worker(o, files, end, interval)) != 0) {
        bool leaks = WIFEXITED(status) && WEXITSTATUS(status) == LEAK_STATUS;
        if (leaks && interval > 1) { /* one of several: run again in smaller groups */
            interval /= 32;
            shared->next = shared->checked;
            continue;
        }
        report(o, files, leaks ? shared->checked : shared->next, status);
        if (!leaks) shared->next++;
        shared->checked = shared->next;
        interval = LEAK_INTERVAL;
        if (++failures == MOST_FAILURES) break;
    }
    return failures;
}

static bool read_number(const char *arg, const char *name, int64_t *out)
{
    size_t length = strlen(name);
    char *end;
    if (strncmp(arg, name, length) != 0) return false;
    errno = 0;
    *out = strtoll(arg + length, &end, 10);
    if (end == arg + length || *end || errno || *out < 0) fail("not a number", arg);
    return true;
}

static void read_option(Options *o, const char *arg)
{
    int64_t seed = 0;
    if (read_number(arg, "--seed=", &seed))
        o->seed = (uint64_t)seed;
    else if (strcmp(arg, "--extremes") == 0)
        o->extremes = true;
    else if (strncmp(arg, "--keep=", 7) == 0)
        o->keep = arg + 7;
    else if (!read_number(arg, "--first=", &o->first) && !read_number(arg, "--count=", &o->count) &&
             !read_number(arg, "--seconds=", &o->seconds) &&
             !read_number(arg, "--prefix=", &o->prefix) &&
             !read_number(arg, "--mutate=", &o->mutate) && !read_number(arg, "--types=", &o->types))
        fail("unknown option", arg);
}

static void choose_target(Options *o, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(targets); i++)
        if (strcmp(targets[i].name, name) == 0) o->target = targets[i].run;
    o->name = name;
    if (!o->target) fail("unknown target", name);
}

/* What the workers took. */
static void print_time(const Options *o, int64_t count)
{
    struct rusage used;
    if (getrusage(RUSAGE_CHILDREN, &used) != 0) fail("getrusage", strerror(errno));
    printf("%s: %lld inputs, %.1f s of processor time\n", o->name, (long long)count,
           (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec));
}

int main(int argc, char **argv)
{
    Options options = {.seed = 1, .count = -1};
    Files files = {0};
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) read_option(&options, argv[at]);
    if (at == argc) fail("usage", "ming-fuzz [OPTION...] TARGET PATH...");
    choose_target(&options, argv[at++]);
    for (; at < argc; at++) add_path(&files, argv[at]);
    if (files.len == 0) fail("no files", options.name);
    if (options.extremes && options.count < 0)
        options.count = i64_max(count_extremes(&files) - options.first, 0);
    if (options.count < 0) options.count = options.seconds > 0 ? INT64_MAX : 1000;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) fail("mmap", strerror(errno));
    shared->next = shared->checked = options.first;
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    int64_t failures = run_all(&options, &files);
    int64_t count = shared->next - options.first;
    print_time(&options, count);
    printf("%lld passed, %lld failed\n", (long long)(count - failures), (long long)failures);
    for (size_t i = 0; i < files.len; i++) strbuf_free(&files.data[i]);
    vec_free(&files);
    return failures > 0;
}
