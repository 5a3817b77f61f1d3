/* ming-translate --emit-hls: prints an emithls module as a Vitis HLS project that g++ builds too.
 * Two phases: names, types and ports are prepared (emit_names.c, emit_ports.c), then files are
 * printed and nothing in the module changes. Tests: lit/emit, test/e2e */
#ifndef MING_EMIT_EMIT_HLS_H
#define MING_EMIT_EMIT_HLS_H

#include "ir/op.h"

typedef struct EmitOptions {
    const char *output_dir;
    const char *csim_dir; /* where the simulation headers are installed; copied into the project */
} EmitOptions;

/* One file of the project, kept in memory until all are complete. */
typedef struct EmittedFile {
    StrBuf name, text; /* name: relative to the project */
} EmittedFile;
typedef VEC(EmittedFile) EmittedFiles;

/* Prints all files into memory, the report last. False: diagnosed. */
bool emit_hls_files(Op *module, const EmitOptions *options, EmittedFiles *out) MUST_CHECK;
void emitted_files_free(EmittedFiles *files);
/* emit_hls_files, then writes them. A new directory appears complete or not at all; one that holds
 * an earlier project gets the new files in place of the old ones and keeps the user's; any other
 * that is not empty is an error. The files go to *out. */
bool emit_hls(Op *module, const EmitOptions *options, EmittedFiles *out) MUST_CHECK;

/* The table of processes for people: class, trip counts, unroll factors, cycles, DSP, BRAM18. */
void report_table(Op *module, StrBuf *out);

/* Whether a name can be the top function's and its files'. */
bool emit_top_name_is_valid(Str name);

#endif
