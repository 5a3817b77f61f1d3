/* Temporaries get names of their own, are collected when nobody holds them, and are removed together. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "ir/support/support.h"

typedef struct Folder {
    char path[32];
    char stem[40]; /* "PATH/out" */
} Folder;

static int folder_open(void **state)
{
    Folder *folder = xcalloc(1, sizeof(*folder));
    strcpy(folder->path, "/tmp/ming-test-XXXXXX");
    *state = folder;
    if (!mkdtemp(folder->path)) return 1;
    snprintf(folder->stem, sizeof(folder->stem), "%s/out", folder->path);
    return 0;
}

static int folder_close(void **state)
{
    Folder *folder = *state;
    int status = rmdir(folder->path); /* which fails if anything is left */
    free(folder);
    return status;
}

static bool is_there(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

static void names_are_recognized(void **state)
{
    (void)state;
    assert_true(temporary_is_name(".1.0.tmp"));
    assert_true(temporary_is_name(".123.45.tmp"));
    assert_false(temporary_is_name("a.1.0.tmp"));
    assert_false(temporary_is_name("..0.tmp"));
    assert_false(temporary_is_name(".1.tmp"));
    assert_false(temporary_is_name(".1.0.tmpx"));
    assert_false(temporary_is_name(".1.0"));
}

static void two_have_two_names(void **state)
{
    const Folder *folder = *state;
    StrBuf first = {0}, second = {0};
    int fds[2];
    assert_true(temporary_make(&first, folder->stem, TEMPORARY_FILE, &fds[0]));
    assert_true(temporary_make(&second, folder->stem, TEMPORARY_FOLDER, &fds[1]));
    assert_string_not_equal(first.data, second.data);
    temporary_remove(first.data);
    assert_true(is_there(second.data));
    temporary_remove(second.data);
    assert_false(is_there(second.data));
    close(fds[0]);
    close(fds[1]);
    strbuf_free(&first);
    strbuf_free(&second);
}

static void make_file(const char *folder, const char *name, StrBuf *path)
{
    const char *reason;
    strbuf_clear(path);
    strbuf_printf(path, "%s/%s", folder, name);
    temporary_add(path->data);
    assert_true(file_create(path->data, STR("text"), &reason));
    assert_false(file_create(path->data, STR("text"), &reason)); /* it is there */
    assert_true(file_sync(path->data));
}

static void what_is_below_goes_too(void **state)
{
    const Folder *folder = *state;
    StrBuf path = {0}, file = {0};
    int fd;
    assert_true(temporary_make(&path, folder->stem, TEMPORARY_FOLDER, &fd));
    make_file(path.data, "a", &file);
    make_file(path.data, "b", &file);
    assert_true(file_sync_folder(path.data));
    temporary_remove_all();
    assert_false(is_there(path.data));
    temporary_keep(path.data); /* forgets the names */
    close(fd);
    strbuf_free(&path);
    strbuf_free(&file);
}

static void what_is_kept_stays(void **state)
{
    const Folder *folder = *state;
    StrBuf path = {0};
    int fd;
    assert_true(temporary_make(&path, folder->stem, TEMPORARY_FILE, &fd));
    assert_int_equal(rename(path.data, folder->stem), 0);
    temporary_keep(path.data);
    temporary_remove_all();
    assert_true(is_there(folder->stem));
    assert_int_equal(unlink(folder->stem), 0);
    close(fd);
    strbuf_free(&path);
}

/* What a process leaves that gets no chance. */
static void leave_folder(const Folder *folder)
{
    StrBuf path = {0}, file = {0};
    int fd;
    if (fork() == 0) {
        bool ok = temporary_make(&path, folder->stem, TEMPORARY_FOLDER, &fd);
        make_file(path.data, "a", &file);
        strbuf_free(&path);
        strbuf_free(&file);
        _exit(ok ? 0 : 1);
    }
    int status;
    assert_true(wait(&status) > 0);
    assert_int_equal(status, 0);
}

static void the_abandoned_are_collected(void **state)
{
    const Folder *folder = *state;
    StrBuf mine = {0};
    int fd;
    leave_folder(folder);
    leave_folder(folder);
    assert_true(temporary_make(&mine, folder->stem, TEMPORARY_FILE, &fd));
    temporary_collect(folder->stem); /* mine is locked */
    assert_true(is_there(mine.data));
    temporary_remove(mine.data);
    close(fd);
    strbuf_free(&mine);
}

static void links_are_not_followed(void **state)
{
    const Folder *folder = *state;
    StrBuf link = {0}, mine = {0};
    int fd;
    strbuf_printf(&link, "%s.%ld.0.tmp", folder->stem, (long)getpid());
    assert_int_equal(symlink("/dev/null", link.data), 0);
    assert_true(temporary_make(&mine, folder->stem, TEMPORARY_FILE, &fd));
    assert_string_not_equal(mine.data, link.data);
    temporary_remove(mine.data);
    assert_int_equal(unlink(link.data), 0);
    close(fd);
    strbuf_free(&link);
    strbuf_free(&mine);
}

static void a_missing_folder_is_an_error(void **state)
{
    (void)state;
    StrBuf path = {0};
    int fd;
    assert_false(temporary_make(&path, "/nonexistent/out", TEMPORARY_FILE, &fd));
    assert_int_equal(errno, ENOENT);
    assert_false(temporary_make(&path, "/nonexistent/out", TEMPORARY_FOLDER, &fd));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(fd, -1);
    assert_false(file_sync("/nonexistent/out"));
    strbuf_free(&path);
}

static void no_memory_is_status_1(void **state)
{
    const Folder *folder = *state;
    StrBuf path = {0};
    int fd, status;
    if (fork() == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        bool ok = temporary_make(&path, folder->stem, TEMPORARY_FILE, &fd);
        if (ok) out_of_memory("allocating %d bytes", 1);
        _exit(2);
    }
    assert_true(wait(&status) > 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

int main(void)
{
#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, folder_open, folder_close)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_recognized),
        IN_FOLDER(two_have_two_names),
        IN_FOLDER(what_is_below_goes_too),
        IN_FOLDER(what_is_kept_stays),
        IN_FOLDER(the_abandoned_are_collected),
        IN_FOLDER(links_are_not_followed),
        cmocka_unit_test(a_missing_folder_is_an_error),
        IN_FOLDER(no_memory_is_status_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
