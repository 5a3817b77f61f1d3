/* ming-translate --emit-hls: prints an emithls module as a Vitis HLS project that g++ builds too.
 * Two phases: names, types and ports are prepared (emit_names.c, emit_ports.c), then files are
 * printed and nothing in the module changes. Tests: lit/emit, test/e2e */
#ifndef MING_EMIT_EMIT_H
#define MING_EMIT_EMIT_H

#include "ir/core/core.h"

typedef struct EmitOptions {
    const char *output_dir;
    const char *csim_dir; /* where the simulation headers are installed; copied into the project */
} EmitOptions;

/* One file of the project, kept in memory until all are complete. */
typedef struct EmittedFile {
    StrBuf name, text; /* name: relative to the project */
} EmittedFile;
typedef VEC(EmittedFile) EmittedFiles;

typedef struct EmittedProject {
    EmittedFiles files;    /* the report last */
    StrBuf csim_arguments; /* of `make csim`: " INPUT=FILE.npy OUTPUT=FILE.npy" */
} EmittedProject;

/* Prints all files into memory. False: diagnosed. Either way the caller frees *out. */
bool emit_hls_files(Op *module, const EmitOptions *options, EmittedProject *out) MUST_CHECK;
void emitted_project_free(EmittedProject *project);
/* emit_hls_files, then writes them. A new directory appears complete or not at all; one that holds
 * an earlier project gets the new files in place of the old ones and keeps the user's; any other
 * that is not empty is an error. */
bool emit_hls(Op *module, const EmitOptions *options, EmittedProject *out) MUST_CHECK;

/* The table of processes for people: class, trip counts, unroll factors, cycles, DSP, BRAM18. */
void emit_report_table(Op *module, StrBuf *out);

/* Whether a name can be the top function's and its files'. */
bool emit_top_name_is_valid(Str name);

#endif
