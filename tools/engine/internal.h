/* A call of ming engine, and its parts.
 * Tests: lit/tools/ming-engine-*.test */
#ifndef MING_TOOLS_ENGINE_INTERNAL_H
#define MING_TOOLS_ENGINE_INTERNAL_H

#include "sim/engine/engine.h"
#include "sim/io/io.h"
#include "tools/internal.h"

typedef struct EngineFlags {
    Texts memories, spaces, dumps;            /* BANK:FILE, BANK:BYTES, BANK:FILE */
    Texts inputs, outputs;                    /* .npy files, one for each port */
    OutputChecks checks;                      /* of outputs, all of which are opened then */
    Texts after;                              /* BANK:FILE, of a run elsewhere */
    const char *banks, *json, *svg, *results; /* results: of a host */
    bool is_timed_only;
    int64_t rate, latency, restart, max_cycles;
} EngineFlags;

typedef VEC(EnginePort) EnginePorts;

typedef struct EngineJob {
    const Tool *tool;
    const EngineFlags *flags;
    Context *ctx;
    StrBuf input; /* the program's file, which messages show */
    Op *module;
    EngineBank banks[ENGINE_MAX_BANKS];
    size_t bank_count;
    EnginePorts inputs, outputs; /* that have files */
    EngineHost host;             /* gives the outputs in place of ports, if it has a function */
    int64_t frames, images;      /* of the arrays; that the program takes at once */
    EngineResult result;         /* of the last run */
} EngineJob;

/* All that give a bool have said why it is false. */

/* memory.c */
/* Ports and images stand beside the program. */
enum { PORT_INPUT, PORT_OUTPUT };
bool job_is_port(const Op *op, int64_t direction);
/* Where a port or an image begins in its bank. */
uint8_t *job_place(const EngineJob *job, const Op *op);
/* What --memory and the like name, "BANK:FILE". */
bool job_load_bank(EngineJob *job, const char *flag, const char *text) MUST_CHECK;
/* Images, --memory and --space; room for ports. */
bool job_fill_banks(EngineJob *job) MUST_CHECK;
bool job_save_banks(const EngineJob *job) MUST_CHECK;

/* frames.c */
/* Ports that files are given for, with the arrays of inputs. */
bool job_open_ports(EngineJob *job) MUST_CHECK;
/* Runs of the program that all frames take. */
int64_t job_run_count(const EngineJob *job);
/* The frames of a run: inputs to their banks, outputs from there. */
bool job_enter_run(EngineJob *job, int64_t run) MUST_CHECK;
bool job_leave_run(EngineJob *job, int64_t run) MUST_CHECK;
/* Compares outputs with what --expected and --labels name, and writes them to their files. */
bool job_finish_outputs(const EngineJob *job) MUST_CHECK;
/* Whether outputs are to be compared with anything. */
bool job_has_checks(const EngineFlags *flags);

/* host.c */
EngineOptions job_options(const EngineFlags *flags);
/* --banks, --results, --after */
bool job_write_banks(EngineJob *job, const Op *program) MUST_CHECK;
bool job_read_results(EngineJob *job) MUST_CHECK;
bool job_read_after(EngineJob *job) MUST_CHECK;

#endif
