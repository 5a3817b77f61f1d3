/* A temporary file for tests of readers, and the last error that reading it gave. */
#ifndef MING_TEST_UNIT_TEXT_FILE_H
#define MING_TEST_UNIT_TEXT_FILE_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/asm/print/print.h"

typedef struct TextFile {
    Context *ctx;
    char path[32];
    StrBuf message; /* of the last error */
} TextFile;

static inline void text_file_record(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                                    size_t count)
{
    TextFile *file = user;
    (void)ctx, (void)notes, (void)count;
    strbuf_clear(&file->message);
    strbuf_add_str(&file->message, diag->text);
}

/* 0 if all is well, as cmocka wants it. */
static inline int text_file_open(TextFile *file)
{
    file->ctx = context_create();
    diag_set_handler(file->ctx, text_file_record, file, NULL, NULL);
    strcpy(file->path, "/tmp/ming-test-XXXXXX");
    int fd = mkstemp(file->path);
    close(fd);
    return fd < 0;
}

static inline void text_file_write(const TextFile *file, const char *text)
{
    FILE *stream = fopen(file->path, "w");
    fputs(text, stream);
    fclose(stream);
}

static inline void text_file_close(TextFile *file)
{
    unlink(file->path);
    context_destroy(file->ctx);
    strbuf_free(&file->message);
}

#endif
