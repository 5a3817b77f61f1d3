/* Emission: prints an emithls module as a Vitis HLS project that g++ builds too.
 *
 * There are two phases. First names, types and ports are prepared (emit_names.c, emit_ports.c);
 * then files are printed, and nothing in the module changes. All files are complete in memory
 * before the first is written, so a failure leaves no half project behind. Names and texts of a
 * model may hold anything; none of them can break out of the identifier, comment or string that it
 * is printed into. The tools build on it (ming, ming-translate --emit-hls, --emit-verilog). docs/emitted-code.md.
 * Tests: lit/emit, test/unit/emit, test/e2e */
#ifndef MING_EMIT_EMIT_H
#define MING_EMIT_EMIT_H

#include "ir/core/core.h"

/* What a project has beyond the accelerator. */
typedef enum EmitPlatform {
    EMIT_PLATFORM_NONE,
    EMIT_PLATFORM_PYNQ, /* needs a part with processors, and ports that are streams of DMAs */
    EMIT_PLATFORM_XRT,  /* needs ports that are memories */
} EmitPlatform;

typedef struct EmitOptions {
    const char *output_dir;
    const char *csim_dir; /* where the simulation headers are installed; copied into the project */
    const char *rtl_dir;  /* where the modules are that Verilog instantiates; copied beside it */
    Op *rtl;              /* the design as modules of hw, printed into rtl/; NULL: no Verilog */
    EmitPlatform platform;
    const char *board_dir; /* where the files for platforms are; copied beside what is particular */
    int64_t max_text;      /* bytes of all files together; 0: no limit */
} EmitOptions;

/* The default limit of text: some 100 million weights. */
#define EMIT_MAX_TEXT ((int64_t)1 << 30)

/* One file of the project, kept in memory until all are complete. */
typedef struct EmittedFile {
    StrBuf name, text; /* name: relative to the project */
} EmittedFile;
typedef VEC(EmittedFile) EmittedFiles;

typedef struct EmittedProject {
    EmittedFiles files;    /* the report last */
    StrBuf csim_arguments; /* of `make csim`: " INPUT=FILE.npy OUTPUT=FILE.npy" */
    StrBuf file_arguments; /* the same as words of a command of the Makefile */
    StrBuf top;            /* C++ name of the top function */
    VEC(StrBuf) ports;     /* and those of its arguments */
} EmittedProject;

/* Prints all files of a project into memory. False: diagnosed. The caller frees *out either way. */
bool emit_hls_files(Op *module, const EmitOptions *options, EmittedProject *out) MUST_CHECK;
void emitted_project_free(EmittedProject *project);
/* Prints all files as emit_hls_files does, then writes them. A new directory appears complete or
 * not at all. A directory that holds an earlier project gets the new files in place of the old ones
 * and keeps the user's files. Any other directory that is not empty is an error. Folders above it
 * are made. False: diagnosed, or what the directory lacks is appended to *why. */
bool emit_hls(Op *module, const EmitOptions *options, EmittedProject *out, StrBuf *why) MUST_CHECK;
/* The second half of that, for files that were printed before. */
bool emit_write_project(const char *dir, const EmittedFiles *files, StrBuf *why) MUST_CHECK;
/* Appends the C++ type of a stream, or of an element of one or of an array, without aliases. */
void emit_print_type(const Type *type, StrBuf *out);
/* Prints modules of hw, comb and seq as Verilog, beside the library's, and writes them as emit_hls
 * does. The last hw.module is the design's top. */
bool emit_verilog(Op *module, const EmitOptions *options, EmittedProject *out, StrBuf *why)
    MUST_CHECK;
/* Whether a project can be written there, found out by making its first directory and removing it
 * again, so that nothing long is done for nothing. False: appended to *why. */
bool emit_check_output(const char *dir, StrBuf *why) MUST_CHECK;
/* Whether a directory is anything but a project whose writing was stopped half way. False: appended
 * to *why. */
bool emit_check_whole(const char *dir, StrBuf *why) MUST_CHECK;

typedef struct EmitTable {
    bool shows_processes; /* a row per process; else the processes of a layer are one row */
    bool is_wide; /* everything in full; else rows have TEXT_TABLE_WIDTH characters at most */
} EmitTable;

/* Appends the table for people: loops, unroll factors, cycles and resources. A layer's row has the
 * sums of its resources, the longest of its cycles, and the factors of its slowest kernel. */
void emit_report_table(const Op *module, const EmitTable *options, StrBuf *out);

/* What files for Vitis have in common. The module's part, or the default if it has none or one that is
 * not a plain word; its clock's period in ns, rounded down to picoseconds. */
Str emit_part(const Op *module);
void emit_add_period(const Op *module, StrBuf *out);
/* The name of die `number` if its entry (sys.h; NULL: unknown) has one that is a plain word, as in
 * device files; else SLRn. */
void emit_add_die(const Attr *die, int64_t number, StrBuf *out);
/* The section of link.cfg with the effort of Vivado's steps. */
extern const char emit_vivado_section[];
/* The body of a kernel with the arguments `memory`, `weights` and `words`, which sends so many words. */
extern const char emit_loader_body[];

/* Whether a part has processors, as EMIT_PLATFORM_PYNQ needs. */
bool emit_part_has_ps(Str part);

/* Whether a name can be that of the top function and of its files. */
bool emit_top_name_is_valid(Str name);

/* Of a Makefile: where XRT's headers are, as XILINX_XRT says or where Xilinx's packages and Debian's
 * have them, and what a program that uses it is built with. */
void emit_xrt_headers(StrBuf *out);

#endif
