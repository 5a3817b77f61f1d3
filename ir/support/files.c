/* Files by POSIX calls.
 *
 * Regular inputs are mapped, so that the system can drop text that has been read. Outputs go to a
 * temporary file that is renamed once everything is on the disk, so that a failure leaves the former
 * file intact, and a loss of power one of the two.
 * Tests: lit/tools/output.mir, lit/tools/command-line.mir, test/e2e/fault_check.py */
#define _GNU_SOURCE /* madvise, sync_file_range */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/support/support.h"

#define READ_STEP ((size_t)1 << 16)

static bool fail(const char **reason)
{
    *reason = strerror(errno);
    return false;
}

bool file_read(StrBuf *out, const char *path, const char **reason)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fail(reason);
    struct stat info;
    size_t step = READ_STEP;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) step = (size_t)info.st_size + 1;
    ssize_t got;
    do {
        if (out->cap - out->len < step + 1)
            vec_grow_raw((void **)&out->data, &out->cap, out->len + step + 1, 1);
        got = read(fd, out->data + out->len, step);
        if (got > 0) out->len += (size_t)got;
        step = READ_STEP;
    } while (got > 0 || (got < 0 && errno == EINTR));
    *reason = got < 0 ? strerror(errno) : NULL;
    out->data[out->len] = '\0';
    if (!is_stdin) close(fd);
    return got == 0;
}

static bool map_file(InputFile *input, const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool ok = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
    size_t size = ok ? (size_t)info.st_size : 0;
    void *memory = ok ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (memory == MAP_FAILED) return false;
    input->text = (Str){memory, size};
    input->released = memory;
    return true;
}

bool input_open(InputFile *input, const char *path, const char **reason)
{
    *input = (InputFile){0};
    if (strcmp(path, "-") != 0 && map_file(input, path)) return true;
    if (!file_read(&input->read, path, reason)) return false;
    input->text = strbuf_str(&input->read);
    return true;
}

void input_release(void *file, const char *place)
{
    InputFile *input = file;
    if (!input->released) return;
    size_t page = (size_t)sysconf(_SC_PAGESIZE),
           begin = (size_t)(input->released - input->text.data);
    size_t end = (size_t)(place - input->text.data) / page * page;
    if (end <= begin) return;
    (void)madvise((char *)input->text.data + begin, end - begin, MADV_DONTNEED);
    input->released = input->text.data + end;
}

void input_close(InputFile *input)
{
    if (input->released) (void)munmap((void *)input->text.data, input->text.len);
    strbuf_free(&input->read);
}

static bool write_all(int fd, Str text, const char **reason)
{
    while (text.len > 0) {
        ssize_t done = write(fd, text.data, text.len);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return fail(reason);
        text.data += done;
        text.len -= (size_t)done;
    }
    return true;
}

void output_open(OutputFile *output, const char *path)
{
    *output = (OutputFile){.path = path, .fd = -1};
}

/* Pipes and some file systems know no fsync; what they do is then all there is. */
static bool sync_fd(int fd)
{
    const char *wanted = getenv("MING_SYNC");
    int status;
    if (wanted && strcmp(wanted, "0") == 0) return true;
    do status = fsync(fd);
    while (status != 0 && errno == EINTR);
    return status == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
}

static bool sync_path(const char *path, int kind)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | kind);
    if (fd < 0) return errno == EACCES; /* one may be allowed to write but not to read there */
    bool ok = sync_fd(fd);
    const int reason = errno;
    close(fd);
    errno = reason;
    return ok;
}

bool file_sync(const char *path)
{
    return sync_path(path, 0);
}

bool file_sync_folder(const char *path)
{
    return sync_path(path, O_DIRECTORY);
}

static bool sync_folder_of(const char *path)
{
    StrBuf folder = {0};
    const char *slash = strrchr(path, '/');
    strbuf_add(&folder, path, slash ? (size_t)(slash - path) + 1 : 0);
    bool ok = file_sync_folder(slash ? folder.data : ".");
    strbuf_free(&folder);
    return ok;
}

/* A new file beside the output, or beside what that links to. It takes the mode of an old one. */
static void open_temporary(OutputFile *output, const struct stat *old)
{
    char *target = old ? realpath(output->path, NULL) : NULL;
    if (old && !target) return;
    strbuf_add_c(&output->target, target ? target : output->path);
    free(target);
    if (!temporary_make(&output->temporary, output->target.data, TEMPORARY_FILE, &output->fd))
        strbuf_clear(&output->temporary);
    else if (old)
        (void)fchmod(output->fd, old->st_mode & 07777);
}

/* A failed open leaves fd negative and the reason. */
static void open_when_needed(OutputFile *output)
{
    if (output->fd >= 0 || output->reason) return;
    if (strcmp(output->path, "-") == 0) {
        output->fd = STDOUT_FILENO;
        return;
    }
    struct stat info;
    bool exists = stat(output->path, &info) == 0;
    if (exists && !S_ISREG(info.st_mode))
        output->fd = open(output->path, O_WRONLY | O_CLOEXEC);
    else
        open_temporary(output, exists ? &info : NULL);
    if (output->fd < 0) output->reason = strerror(errno);
}

bool output_write(void *file, Str piece)
{
    OutputFile *output = file;
    open_when_needed(output);
    return !output->reason && write_all(output->fd, piece, &output->reason);
}

/* The temporary file takes the output's name. It is locked, and so nobody takes it for abandoned,
 * until it is closed. */
static void keep_temporary(OutputFile *output)
{
    if (output->reason) return;
    if (!sync_fd(output->fd) || rename(output->temporary.data, output->target.data) != 0) {
        output->reason = strerror(errno);
        return;
    }
    temporary_keep(output->temporary.data);
    if (!sync_folder_of(output->target.data)) output->reason = strerror(errno);
}

bool output_close(OutputFile *output, bool keep, const char **reason)
{
    if (keep) open_when_needed(output);
    const bool has_temporary = output->temporary.len > 0;
    if (keep && has_temporary) keep_temporary(output);
    if (has_temporary) temporary_remove(output->temporary.data);
    if (output->fd >= 0 && output->fd != STDOUT_FILENO && close(output->fd) != 0 && !output->reason)
        output->reason = strerror(errno);
    strbuf_free(&output->temporary);
    strbuf_free(&output->target);
    *reason = output->reason;
    return !output->reason;
}

bool file_write(const char *path, Str text, const char **reason)
{
    OutputFile output;
    output_open(&output, path);
    bool ok = output_write(&output, text);
    return output_close(&output, ok, reason);
}

bool file_create(const char *path, Str text, const char **reason)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) return fail(reason);
    bool ok = write_all(fd, text, reason);
#ifdef SYNC_FILE_RANGE_WRITE
    (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* begins it, does not wait */
#endif
    if (close(fd) != 0 && ok) return fail(reason);
    return ok;
}
