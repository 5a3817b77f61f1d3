/* Files by POSIX calls.
 *
 * Regular inputs are mapped, so that the system can drop text that has been read. Outputs go to a
 * temporary file that is renamed once everything was written, so that a failure leaves the former
 * file intact.
 * Tests: lit/tools/output.mir, lit/tools/command-line.mir */
#define _DEFAULT_SOURCE /* madvise, realpath */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/support/support.h"

#define READ_STEP ((size_t)1 << 16)

bool file_read(StrBuf *out, const char *path, const char **reason)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY);
    if (fd < 0) {
        *reason = strerror(errno);
        return false;
    }
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
    int fd = open(path, O_RDONLY);
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
        if (done < 0) {
            *reason = strerror(errno);
            return false;
        }
        text.data += done;
        text.len -= (size_t)done;
    }
    return true;
}

void output_open(OutputFile *output, const char *path)
{
    *output = (OutputFile){.path = path, .fd = -1};
}

/* A new file beside the output, or beside what that links to. It takes the mode of an old one. */
static void open_temporary(OutputFile *output, const struct stat *old)
{
    enum { MAX_TRIES = 1000 };
    char *target = old ? realpath(output->path, NULL) : NULL;
    strbuf_add_c(&output->target, target ? target : output->path);
    free(target);
    for (int i = 0; i < MAX_TRIES; i++) {
        strbuf_clear(&output->temporary);
        strbuf_printf(&output->temporary, "%s.%ld.%d.tmp", output->target.data, (long)getpid(), i);
        output->fd = open(output->temporary.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
        if (output->fd >= 0 || errno != EEXIST) break;
    }
    if (output->fd >= 0 && old) (void)fchmod(output->fd, old->st_mode & 07777);
    if (output->fd < 0) strbuf_clear(&output->temporary);
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
        output->fd = open(output->path, O_WRONLY);
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

bool output_close(OutputFile *output, bool keep, const char **reason)
{
    if (keep) open_when_needed(output);
    bool opened = output->fd >= 0, has_temporary = opened && output->temporary.len > 0;
    if (opened && output->fd != STDOUT_FILENO && close(output->fd) != 0 && !output->reason)
        output->reason = strerror(errno);
    keep = keep && !output->reason;
    if (keep && has_temporary && rename(output->temporary.data, output->target.data) != 0) {
        output->reason = strerror(errno);
        keep = false;
    }
    if (!keep && has_temporary) (void)unlink(output->temporary.data);
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
