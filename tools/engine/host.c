/* What ming engine writes for an overlay elsewhere, and takes from its host: --banks, --results, --after.
 * Tests: test/e2e/engine_csim_check.py, lit/tools/ming-engine-banks.test */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "target/overlay/overlay.h"
#include "tools/engine/internal.h"

EngineOptions job_options(const EngineFlags *flags)
{
    return (EngineOptions){.rate = (uint64_t)flags->rate,
                           .latency = (uint64_t)flags->latency,
                           .restart = (uint64_t)flags->restart,
                           .max_cycles = (uint64_t)flags->max_cycles,
                           .is_timed_only = flags->is_timed_only};
}

/* A file in the folder of --banks. */
static bool write_bank_file(const EngineJob *job, const char *name, Str text)
{
    StrBuf path = {0};
    strbuf_printf(&path, "%s/%s", job->flags->banks, name);
    bool ok = tool_write(job->tool, path.data, text);
    strbuf_free(&path);
    return ok;
}

/* For a host: where ports are in the bank of maps, cycles of a run, and frames where a run has
 * several. */
static bool write_layout(EngineJob *job, const Op *program)
{
    const EngineFlags *flags = job->flags;
    EngineOptions options = job_options(flags);
    StrBuf text = {0};
    bool ok = tool_count_cycles(job->module, program, &options, &job->result);
    strbuf_printf(&text, "cycles %" PRIu64 "\n", job->result.cycles);
    if (job->images > 1) strbuf_printf(&text, "frames %lld\n", (long long)job->frames);
    FOR_EACH_INNER(op, job->module)
        if (op->def == SA(PORT))
            strbuf_printf(&text, "%s %lld %" PRIu64 "\n",
                          job_is_port(op, PORT_INPUT) ? "input" : "output",
                          (long long)sa_int(op, "address", 0) * SA_BEAT_BYTES,
                          sa_whole_beats(engine_port_bytes(op)));
    ok = ok && write_bank_file(job, "host.txt", strbuf_str(&text));
    strbuf_free(&text);
    return ok;
}

/* The inputs of all runs, as they go to the bank of maps. */
static bool write_frames(EngineJob *job)
{
    StrBuf text = {0};
    bool ok = true;
    for (int64_t run = 0; ok && run < job_run_count(job); run++) {
        ok = job_enter_run(job, run);
        FOR_EACH_INNER(op, job->module)
            if (ok && job_is_port(op, PORT_INPUT))
                strbuf_add(&text, (const char *)job_place(job, op),
                           sa_whole_beats(engine_port_bytes(op)));
    }
    ok = ok && write_bank_file(job, "frames.bin", strbuf_str(&text));
    strbuf_free(&text);
    return ok;
}

/* The program's file, what each bank holds in front of the first frame, and what a host needs, for an
 * engine elsewhere. */
bool job_write_banks(EngineJob *job, const Op *program)
{
    enum { LEAST_BANKS = SA_BANK_PARAMETERS + 1 };
    StrBuf name = {0}, text = {0};
    const char *dir = job->flags->banks;
    bool ok = mkdir(dir, 0777) == 0 || errno == EEXIST ||
              tool_error(job->tool, "error: cannot make '%s': %s", dir, strerror(errno));
    ok = ok && overlay_write_program(program, &text) &&
         write_bank_file(job, "program.bin", strbuf_str(&text)) && write_layout(job, program) &&
         write_frames(job) && job_enter_run(job, 0);
    for (size_t i = 0; ok && (i < job->bank_count || i < LEAST_BANKS); i++) {
        const EngineBank *bank = &job->banks[i];
        strbuf_clear(&name);
        strbuf_printf(&name, "bank%zu.bin", i);
        ok = write_bank_file(job, name.data, (Str){(const char *)bank->bytes, bank->size});
    }
    strbuf_free(&name);
    strbuf_free(&text);
    return ok;
}

/* What a host has of the outputs of all frames. */
bool job_read_results(EngineJob *job)
{
    StrBuf bytes = {0};
    const char *reason = NULL, *path = job->flags->results;
    uint64_t size = 0, at = 0;
    bool ok = file_read(&bytes, path, &reason) ||
              tool_error(job->tool, "error: cannot read '%s': %s", path, reason);
    FOR_EACH_INNER(op, job->module)
        if (job_is_port(op, PORT_OUTPUT)) size += sa_whole_beats(engine_port_bytes(op));
    if (ok && (size == 0 || bytes.len == 0 || bytes.len % size != 0))
        ok = tool_error(job->tool, "error: '%s' has %zu bytes; a frame of the outputs has %" PRIu64,
                        path, bytes.len, size);
    if (ok) job->frames = (int64_t)(bytes.len / size) * job->images;
    for (int64_t run = 0; ok && run < job_run_count(job); run++) {
        FOR_EACH_INNER(op, job->module) {
            if (!job_is_port(op, PORT_OUTPUT)) continue;
            uint64_t count = sa_whole_beats(engine_port_bytes(op));
            memcpy(job_place(job, op), bytes.data + at, count);
            at += count;
        }
        ok = job_leave_run(job, run);
    }
    strbuf_free(&bytes);
    return ok && job_finish_outputs(job);
}

/* Outputs of a run elsewhere. */
bool job_read_after(EngineJob *job)
{
    for (size_t i = 0; i < job->flags->after.len; i++)
        if (!job_load_bank(job, "after", job->flags->after.data[i])) return false;
    return job_leave_run(job, 0) && job_finish_outputs(job);
}
