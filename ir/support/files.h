/* Files in and out of the tools.
 * Tests: lit/tools/output.mir, lit/tools/command-line.mir */
#ifndef MING_TOOLS_FILES_H
#define MING_TOOLS_FILES_H

#include "ir/support/support.h"

/* Appends a file ("-": standard input). False: *reason (static or strerror) says why. */
bool file_read(StrBuf *out, const char *path, const char **reason) MUST_CHECK;
/* Replaces a file at once by writing a temporary one beside it and renaming it; "-" is standard
 * output, and what is no regular file is written directly. */
bool file_write(const char *path, Str text, const char **reason) MUST_CHECK;

/* A whole input, mapped where that is possible; nobody may shorten the file meanwhile. */
typedef struct InputFile {
    Str text;
    StrBuf read;          /* holds the text where it is not mapped */
    const char *released; /* of a mapped text: before this no memory is held */
} InputFile;
bool input_open(InputFile *input, const char *path, const char **reason) MUST_CHECK;
/* For ParseOptions.passed: gives back the memory of a mapped text before `place`, which comes
 * from the file again if it is looked at. */
void input_release(void *input, const char *place);
void input_close(InputFile *input);

/* An output written piece by piece as file_write writes it whole: nothing appears under its name
 * before output_close. */
typedef struct OutputFile {
    const char *path;
    StrBuf temporary; /* its name; empty: written directly */
    int fd;           /* < 0: not yet open */
    const char *reason; /* why writing failed, or NULL */
} OutputFile;
void output_open(OutputFile *output, const char *path);
/* For TextSink.write. */
bool output_write(void *output, Str piece) MUST_CHECK;
/* keep: false removes what was not written directly. False: *reason says what went wrong. */
bool output_close(OutputFile *output, bool keep, const char **reason) MUST_CHECK;

#endif
