/* ming engine: runs a program of an overlay in the simulator, on arrays, or on memories that are
 * files.
 * Tests: test/e2e/engine_check.py, lit/sim/engine */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dialects/dialects.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "sim/engine/engine.h"
#include "sim/io/io.h"
#include "target/overlay/overlay.h"
#include "tools/internal.h"

typedef struct EngineFlags {
    Texts memories, spaces, dumps;            /* BANK:FILE, BANK:BYTES, BANK:FILE */
    Texts inputs, outputs;                    /* .npy files, one for each port */
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

/* "BANK:REST": the bank, and a pointer to the rest. */
static bool split_bank(const Tool *tool, const char *flag, const char *text, size_t *bank,
                       const char **rest)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end != ':' || !end[1] || number < 0)
        return tool_error(tool, "error: --%s takes BANK:%s, not '%s'", flag,
                          strcmp(flag, "space") == 0 ? "BYTES" : "FILE", text);
    if (number >= ENGINE_MAX_BANKS)
        return tool_error(tool, "error: --%s names bank %ld; there are 0 to %d", flag, number,
                          ENGINE_MAX_BANKS - 1);
    *bank = (size_t)number;
    *rest = end + 1;
    return true;
}

/* Lets the bank hold so many bytes, zeros behind what it has. */
static EngineBank *grow_bank(EngineJob *job, size_t bank, size_t size)
{
    EngineBank *b = &job->banks[bank];
    if (bank >= job->bank_count) job->bank_count = bank + 1;
    if (size <= b->size) return b;
    b->bytes = xrealloc(b->bytes, size);
    memset(b->bytes + b->size, 0, size - b->size);
    b->size = size;
    return b;
}

static bool load_bank(EngineJob *job, const char *flag, const char *text)
{
    StrBuf bytes = {0};
    const char *path, *reason = NULL;
    size_t bank;
    if (!split_bank(job->tool, flag, text, &bank, &path)) return false;
    bool ok = file_read(&bytes, path, &reason) ||
              tool_error(job->tool, "error: cannot read '%s': %s", path, reason);
    if (ok && bytes.len > 0) memcpy(grow_bank(job, bank, bytes.len)->bytes, bytes.data, bytes.len);
    strbuf_free(&bytes);
    return ok;
}

enum { MOST_BYTES = 1 << 30 }; /* of a bank */

static bool reserve_bank(EngineJob *job, const char *text)
{
    const char *bytes;
    char *end;
    size_t bank;
    if (!split_bank(job->tool, "space", text, &bank, &bytes)) return false;
    long long size = strtoll(bytes, &end, 10);
    if (*end || size < 0 || size > MOST_BYTES)
        return tool_error(job->tool, "error: --space takes 0 to %d bytes, not '%s'", MOST_BYTES,
                          bytes);
    grow_bank(job, bank, (size_t)size);
    return true;
}

/* Ports and images stand beside the program. */
static bool is_port(const Op *op, int64_t direction)
{
    return op->def == SA(PORT) && sa_int(op, "direction", 0) == direction;
}

enum { PORT_INPUT, PORT_OUTPUT };

/* Room for what begins at the op's address, in whole beats. False: no bank has so much. */
static bool reserve(EngineJob *job, const Op *op, uint64_t bytes)
{
    uint64_t begin = (uint64_t)sa_int(op, "address", 0),
             bank = (uint64_t)sa_int(op, SA_ATTR_BANK, 0);
    uint64_t beats = bytes / SA_BEAT_BYTES + (bytes % SA_BEAT_BYTES != 0);
    if (bank >= ENGINE_MAX_BANKS || begin > MOST_BYTES / SA_BEAT_BYTES || bytes > MOST_BYTES ||
        (begin + beats) * SA_BEAT_BYTES > MOST_BYTES)
        return op_error(op, "does not fit banks 0 to %d of %d bytes", ENGINE_MAX_BANKS - 1,
                        MOST_BYTES);
    grow_bank(job, bank, (begin + beats) * SA_BEAT_BYTES);
    return true;
}

static uint8_t *place(const EngineJob *job, const Op *op)
{
    return job->banks[sa_int(op, SA_ATTR_BANK, 0)].bytes + sa_int(op, "address", 0) * SA_BEAT_BYTES;
}

static bool load_image(EngineJob *job, const Op *op)
{
    const Attr *value = op_attr(op, "value");
    int64_t count = dense_count(value);
    if (!reserve(job, op, (uint64_t)count)) return false;
    uint8_t *to = place(job, op);
    for (int64_t i = 0; i < count; i++) to[i] = (uint8_t)dense_i64(value, i);
    return true;
}

static bool load_module(EngineJob *job)
{
    FOR_EACH_INNER(op, job->module) {
        if (op->def == SA(IMAGE) && !load_image(job, op)) return false;
        if (op->def == SA(PORT) && !reserve(job, op, engine_port_bytes(op))) return false;
    }
    return true;
}

static bool read_array(const EngineJob *job, EnginePort *port, const char *path, int64_t *frames)
{
    StrBuf bytes = {0}, why = {0};
    const char *reason = NULL;
    Npy npy = {0};
    bool ok = file_read(&bytes, path, &reason) ||
              tool_error(job->tool, "error: cannot read '%s': %s", path, reason);
    bool is_parsed = ok && (npy_parse(strbuf_str(&bytes), &npy, &why) ||
                            tool_error(job->tool, "error: '%s': %s", path, why.data));
    ok = is_parsed && (engine_port_take(port, &npy, frames, &why) ||
                       tool_error(job->tool, "error: '%s'%s", path, why.data));
    if (is_parsed && !ok) npy_free(&npy);
    strbuf_free(&bytes);
    strbuf_free(&why);
    return ok;
}

static bool read_input(EngineJob *job, EnginePort *port, const char *path)
{
    int64_t frames = 1;
    if (!read_array(job, port, path, &frames)) return false;
    if (port != job->inputs.data && frames != job->frames)
        return tool_error(job->tool, "error: '%s' has %lld frames, the input before %lld", path,
                          (long long)frames, (long long)job->frames);
    job->frames = frames;
    return true;
}

/* Ports of a direction that files are given for, in their order. */
static bool open_ports(EngineJob *job, const char *flag, const Texts *files, int64_t direction,
                       EnginePorts *out)
{
    size_t count = 0;
    FOR_EACH_INNER(op, job->module) count += is_port(op, direction);
    if (files->len > count)
        return tool_error(job->tool, "error: --%s has %zu files; the program has %zu such ports",
                          flag, files->len, count);
    FOR_EACH_INNER(op, job->module)
        if (is_port(op, direction) && out->len < files->len && !engine_port_init(vec_push(out), op))
            return false;
    return true;
}

/* Outputs are those of the host's function, or the program's. */
static bool open_outputs(EngineJob *job)
{
    const Texts *files = &job->flags->outputs;
    if (files->len == 0) return true;
    if (!engine_host_init(&job->host, job->module)) return false;
    if (!job->host.func) return open_ports(job, "output", files, PORT_OUTPUT, &job->outputs);
    return files->len <= job->host.results.len ||
           tool_error(job->tool, "error: --output has %zu files; the host's function gives %zu",
                      files->len, job->host.results.len);
}

static bool open_all_ports(EngineJob *job)
{
    const EngineFlags *flags = job->flags;
    if (!open_ports(job, "input", &flags->inputs, PORT_INPUT, &job->inputs) || !open_outputs(job))
        return false;
    for (size_t i = 0; i < job->inputs.len; i++)
        if (!read_input(job, &job->inputs.data[i], flags->inputs.data[i])) return false;
    return true;
}

/* Runs of the program that all frames take. */
static int64_t run_count(const EngineJob *job)
{
    return ceil_div(job->frames, job->images);
}

static bool enter_frame(EngineJob *job, const EngineFrame *frame)
{
    StrBuf why = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < job->inputs.len; i++) {
        const EnginePort *port = &job->inputs.data[i];
        ok = engine_port_enter(port, frame, place(job, port->op), &why) ||
             tool_error(job->tool, "error: '%s': %s", job->flags->inputs.data[i], why.data);
    }
    strbuf_free(&why);
    return ok;
}

/* The last frame fills up what the last run takes. */
static bool enter_run(EngineJob *job, int64_t run)
{
    bool ok = true;
    for (int64_t image = 0; ok && image < job->images; image++) {
        int64_t number = i64_min(run * job->images + image, job->frames - 1);
        ok = enter_frame(job, &(EngineFrame){number, job->frames, image});
    }
    return ok;
}

static bool leave_frame(EngineJob *job, const EngineFrame *frame)
{
    StrBuf why = {0};
    bool ok = !job->host.func || engine_host_run(&job->host, job->banks, frame, &why);
    if (!ok && why.len > 0) op_error(job->host.func, "%s", why.data);
    for (size_t i = 0; ok && i < job->outputs.len; i++) {
        EnginePort *port = &job->outputs.data[i];
        ok = engine_port_leave(port, frame, place(job, port->op), &why) ||
             op_error(port->op, "%s", why.data);
    }
    strbuf_free(&why);
    return ok;
}

static bool leave_run(EngineJob *job, int64_t run)
{
    bool ok = true;
    for (int64_t image = 0; ok && image < job->images; image++) {
        int64_t number = run * job->images + image;
        if (number >= job->frames) break;
        ok = leave_frame(job, &(EngineFrame){number, job->frames, image});
    }
    return ok;
}

static bool fill_banks(EngineJob *job)
{
    const EngineFlags *flags = job->flags;
    if (!load_module(job) || !engine_images(job->module, &job->images)) return false;
    job->frames = job->images;
    for (size_t i = 0; i < flags->memories.len; i++)
        if (!load_bank(job, "memory", flags->memories.data[i])) return false;
    for (size_t i = 0; i < flags->spaces.len; i++)
        if (!reserve_bank(job, flags->spaces.data[i])) return false;
    return open_all_ports(job);
}

static bool save_banks(const EngineJob *job)
{
    for (size_t i = 0; i < job->flags->dumps.len; i++) {
        const char *path;
        size_t bank;
        if (!split_bank(job->tool, "dump", job->flags->dumps.data[i], &bank, &path)) return false;
        if (bank >= job->bank_count)
            return tool_error(job->tool, "error: --dump names bank %zu, which holds nothing", bank);
        const EngineBank *b = &job->banks[bank];
        if (!tool_write(job->tool, path, (Str){(const char *)b->bytes, b->size})) return false;
    }
    return true;
}

static bool save_outputs(const EngineJob *job)
{
    StrBuf text = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < job->flags->outputs.len; i++) {
        strbuf_clear(&text);
        npy_print(job->host.func ? &job->host.results.data[i].npy : &job->outputs.data[i].npy,
                  &text);
        ok = tool_write(job->tool, job->flags->outputs.data[i], strbuf_str(&text));
    }
    strbuf_free(&text);
    return ok;
}

static void add_units(JsonWriter *json, const EngineResult *result)
{
    json_member_object(json, "busy");
    for (uint32_t u = 0; u < ENGINE_UNITS; u++)
        json_member_int(json, engine_unit_name(u), (int64_t)result->busy[u]);
    json_end_object(json);
}

/* {"cycles": …, "images": …, "busy": {…}, …, "commands": [{"op", "unit", "start", "end"}, …]} */
static void add_json(StrBuf *out, const EngineResult *result, int64_t images)
{
    JsonWriter json = {.out = out};
    json_begin_object(&json);
    json_member_int(&json, "cycles", (int64_t)result->cycles);
    if (images > 1) json_member_int(&json, "images", images);
    add_units(&json, result);
    json_member_int(&json, "loaded_bytes", (int64_t)result->loaded);
    json_member_int(&json, "stored_bytes", (int64_t)result->stored);
    json_member_int(&json, "products", (int64_t)result->products);
    json_member_array(&json, "commands");
    for (size_t i = 0; i < result->events.len; i++) {
        const EngineEvent *event = &result->events.data[i];
        json_write_line(&json, 2);
        json_begin_object(&json);
        json_member_string(&json, "op", op_name(event->op));
        json_member_string(&json, "unit", str_from(engine_unit_name(event->unit)));
        json_member_int(&json, "start", (int64_t)event->start);
        json_member_int(&json, "end", (int64_t)event->end);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    strbuf_add_char(out, '\n');
}

static void print_summary(const EngineResult *result, int64_t images)
{
    printf("%" PRIu64 " cycles", result->cycles);
    if (images > 1)
        printf(" for %lld images, %.1f for each", (long long)images,
               (double)result->cycles / (double)images);
    printf(", simulated; %" PRIu64 " bytes loaded, %" PRIu64 " stored, %" PRIu64 " products\n",
           result->loaded, result->stored, result->products);
    for (uint32_t u = 0; u < ENGINE_UNITS; u++)
        printf("  %-8s %12" PRIu64 " cycles busy, %5.1f%%\n", engine_unit_name(u), result->busy[u],
               100.0 * (double)result->busy[u] / (double)result->cycles);
}

static bool report(const EngineJob *job, Str name)
{
    const EngineFlags *flags = job->flags;
    StrBuf text = {0}, chart = {0};
    if (flags->json) add_json(&text, &job->result, job->images);
    if (flags->svg) engine_print_svg(&job->result, name, &chart);
    bool ok = (!flags->json || tool_write(job->tool, flags->json, strbuf_str(&text))) &&
              (!flags->svg || tool_write(job->tool, flags->svg, strbuf_str(&chart)));
    strbuf_free(&text);
    strbuf_free(&chart);
    bool is_taken = (flags->json && strcmp(flags->json, "-") == 0) ||
                    (flags->svg && strcmp(flags->svg, "-") == 0);
    if (!is_taken) print_summary(&job->result, job->images);
    return ok;
}

/* A module of text, or a file that begins as binary programs do. */
static bool read_program(EngineJob *job, const char *path)
{
    const char *reason = NULL;
    Str name = str_from(strcmp(path, "-") == 0 ? "<stdin>" : path);
    bool ok = file_read(&job->input, path, &reason) ||
              tool_error(job->tool, "error: cannot open input file '%s': %s", path, reason);
    bool is_binary = ok && overlay_is_binary(strbuf_str(&job->input));
    if (ok)
        job->module = is_binary ? overlay_read_program(job->ctx, strbuf_str(&job->input), name)
                                : parse_module(job->ctx, strbuf_str(&job->input), name, NULL);
    return job->module != NULL;
}

static EngineOptions engine_options(const EngineFlags *flags)
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
    EngineOptions options = engine_options(flags);
    StrBuf text = {0};
    bool ok = tool_count_cycles(job->module, program, &options, &job->result);
    strbuf_printf(&text, "cycles %" PRIu64 "\n", job->result.cycles);
    if (job->images > 1) strbuf_printf(&text, "frames %lld\n", (long long)job->frames);
    FOR_EACH_INNER(op, job->module)
        if (op->def == SA(PORT))
            strbuf_printf(&text, "%s %lld %" PRIu64 "\n",
                          is_port(op, PORT_INPUT) ? "input" : "output",
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
    for (int64_t run = 0; ok && run < run_count(job); run++) {
        ok = enter_run(job, run);
        FOR_EACH_INNER(op, job->module)
            if (ok && is_port(op, PORT_INPUT))
                strbuf_add(&text, (const char *)place(job, op),
                           sa_whole_beats(engine_port_bytes(op)));
    }
    ok = ok && write_bank_file(job, "frames.bin", strbuf_str(&text));
    strbuf_free(&text);
    return ok;
}

/* The program's file, what each bank holds in front of the first frame, and what a host needs, for an
 * engine elsewhere. */
static bool write_banks(EngineJob *job, const Op *program)
{
    enum { LEAST_BANKS = SA_BANK_PARAMETERS + 1 };
    StrBuf name = {0}, text = {0};
    const char *dir = job->flags->banks;
    bool ok = mkdir(dir, 0777) == 0 || errno == EEXIST ||
              tool_error(job->tool, "error: cannot make '%s': %s", dir, strerror(errno));
    ok = ok && overlay_write_program(program, &text) &&
         write_bank_file(job, "program.bin", strbuf_str(&text)) && write_layout(job, program) &&
         write_frames(job) && enter_run(job, 0);
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
static bool read_results(EngineJob *job)
{
    StrBuf bytes = {0};
    const char *reason = NULL, *path = job->flags->results;
    uint64_t size = 0, at = 0;
    bool ok = file_read(&bytes, path, &reason) ||
              tool_error(job->tool, "error: cannot read '%s': %s", path, reason);
    FOR_EACH_INNER(op, job->module)
        if (is_port(op, PORT_OUTPUT)) size += sa_whole_beats(engine_port_bytes(op));
    if (ok && (size == 0 || bytes.len == 0 || bytes.len % size != 0))
        ok = tool_error(job->tool, "error: '%s' has %zu bytes; a frame of the outputs has %" PRIu64,
                        path, bytes.len, size);
    if (ok) job->frames = (int64_t)(bytes.len / size) * job->images;
    for (int64_t run = 0; ok && run < run_count(job); run++) {
        FOR_EACH_INNER(op, job->module) {
            if (!is_port(op, PORT_OUTPUT)) continue;
            uint64_t count = sa_whole_beats(engine_port_bytes(op));
            memcpy(place(job, op), bytes.data + at, count);
            at += count;
        }
        ok = leave_run(job, run);
    }
    strbuf_free(&bytes);
    return ok && save_outputs(job);
}

/* Outputs of a run elsewhere. */
static bool read_after(EngineJob *job)
{
    for (size_t i = 0; i < job->flags->after.len; i++)
        if (!load_bank(job, "after", job->flags->after.data[i])) return false;
    return leave_run(job, 0) && save_outputs(job);
}

static bool simulate(EngineJob *job)
{
    const EngineFlags *flags = job->flags;
    const Op *program = overlay_find_program(job->module);
    const EngineOptions options = engine_options(flags);
    if (!program || !fill_banks(job)) return false;
    if (flags->banks) return write_banks(job, program);
    if (flags->results) return read_results(job);
    if (flags->after.len > 0) {
        if (job->frames > job->images)
            return tool_error(job->tool, "error: --after takes the frames of one run, not %lld",
                              (long long)job->frames);
        return read_after(job);
    }
    for (int64_t run = 0; run < run_count(job); run++) {
        engine_result_free(&job->result);
        if (!enter_run(job, run) ||
            !engine_run(program, &options, job->banks, job->bank_count, &job->result) ||
            !leave_run(job, run))
            return false;
    }
    return save_banks(job) && save_outputs(job) && report(job, symbol_name(program)->str);
}

static bool run_engine(const Tool *tool, const EngineFlags *flags, const char *path)
{
    EngineJob *job = xcalloc(1, sizeof *job);
    job->tool = tool;
    job->flags = flags;
    job->frames = 1;
    job->ctx = context_create();
    dialects_register_all(job->ctx);
    bool ok = read_program(job, path) && simulate(job);
    diag_flush(job->ctx);
    if (job->module) op_erase(job->module);
    for (size_t i = 0; i < job->bank_count; i++) free(job->banks[i].bytes);
    for (size_t i = 0; i < job->inputs.len; i++) engine_port_free(&job->inputs.data[i]);
    for (size_t i = 0; i < job->outputs.len; i++) engine_port_free(&job->outputs.data[i]);
    engine_host_free(&job->host);
    vec_free(&job->inputs);
    vec_free(&job->outputs);
    engine_result_free(&job->result);
    context_destroy(job->ctx);
    strbuf_free(&job->input);
    free(job);
    return ok;
}

/* Whether options that leave out a simulation, or its numbers, ask for nothing of it. */
static bool check_modes(const Tool *tool, const EngineFlags *flags)
{
    bool runs = !flags->banks && !flags->results && flags->after.len == 0;
    if (!runs && (flags->json || flags->svg || flags->dumps.len > 0))
        return tool_error(tool,
                          "error: --json, --svg and --dump are of a simulation, which --banks, "
                          "--after and --results leave out");
    if (flags->banks && (flags->outputs.len > 0 || flags->after.len > 0 || flags->results))
        return tool_error(tool,
                          "error: --banks is in front of a run; --output, --after and --results "
                          "are behind it");
    if (flags->results && (flags->inputs.len > 0 || flags->after.len > 0))
        return tool_error(tool,
                          "error: --results has the outputs of all frames, and takes no --input "
                          "and no --after");
    if (flags->outputs.len == 0 && (flags->results || flags->after.len > 0))
        return tool_error(tool, "error: --after and --results need --output for what they take");
    bool has_arrays = flags->inputs.len + flags->outputs.len + flags->dumps.len > 0;
    return !flags->is_timed_only || (runs && !has_arrays) ||
           tool_error(tool, "error: --cycles-only computes nothing, so it takes no arrays");
}

static bool check_flags(const Tool *tool, const EngineFlags *flags)
{
    enum { MOST = 1000000000 };
    if (flags->rate < 1 || flags->rate > MOST)
        return tool_error(tool, "error: --rate takes 1 to %d bytes in 1,000 cycles", MOST);
    if (flags->latency < 0 || flags->latency > MOST || flags->restart < 0 || flags->restart > MOST)
        return tool_error(tool, "error: --latency and --restart take 0 to %d cycles", MOST);
    if (flags->max_cycles < 0) return tool_error(tool, "error: --max-cycles takes cycles, or 0");
    return check_modes(tool, flags);
}

int command_engine(int argc, char **argv)
{
    const EngineOptions defaults = ENGINE_DEFAULTS;
    EngineFlags engine = {.rate = (int64_t)defaults.rate,
                          .latency = (int64_t)defaults.latency,
                          .restart = (int64_t)defaults.restart,
                          .max_cycles = (int64_t)defaults.max_cycles};
    const Flag flags[] = {
        {"input", FLAG_TEXTS, &engine.inputs, "file.npy,...",
         "Array of each input that the module has, in order; rows x columns x channels", NULL},
        {"output", FLAG_TEXTS, &engine.outputs, "file.npy,...", "Write the outputs, in order",
         NULL},
        {"memory", FLAG_TEXTS, &engine.memories, "bank:file",
         "What a bank of external memory holds; may be repeated", NULL},
        {"space", FLAG_TEXTS, &engine.spaces, "bank:bytes", "Bytes that a bank has at least, zeros",
         NULL},
        {"dump", FLAG_TEXTS, &engine.dumps, "bank:file",
         "Write what a bank holds at the end; may be repeated", NULL},
        {"banks", FLAG_TEXT, &engine.banks, "dir",
         "In place of simulating, write program.bin and bank0.bin, bank1.bin, ... for an engine "
         "of ming overlay, and host.txt and frames.bin for its host",
         NULL},
        {"results", FLAG_TEXT, &engine.results, "file",
         "In place of simulating, take the outputs from what such a host has written", NULL},
        {"after", FLAG_TEXTS, &engine.after, "bank:file",
         "In place of simulating, take the outputs from what a bank held after such a run", NULL},
        {"rate", FLAG_INT, &engine.rate, "n",
         "Bytes that a bank moves in 1,000 cycles, default 64000, a beat a cycle", NULL},
        {"latency", FLAG_INT, &engine.latency, "cycles",
         "From a command's request to the first beat, default 64", NULL},
        {"restart", FLAG_INT, &engine.restart, "cycles",
         "What each further run of a command costs, default 4", NULL},
        {"max-cycles", FLAG_INT, &engine.max_cycles, "n",
         "Cycles that are simulated at most, default 268435456; 0: no limit", NULL},
        {"cycles-only", FLAG_SWITCH, &engine.is_timed_only, NULL,
         "Count cycles and bytes, and compute nothing: no outputs, no products, no hazards", NULL},
        {"json", FLAG_TEXT, &engine.json, "file",
         "Write cycles and all commands as JSON; - is standard output, in place of the text", NULL},
        {"svg", FLAG_TEXT, &engine.svg, "file.svg",
         "Write a timeline of the units; - is standard output, in place of the text", NULL},
    };
    const Tool tool = {
        .name = "ming engine",
        .summary = "ming engine: simulates a program of an overlay, numbers and cycles",
        .usage = "PROGRAM(.mir|.bin) [options]",
        .flags = flags,
        .flag_count = COUNT_OF(flags),
    };
    const char *path = NULL;
    ArgsResult args = tool_parse_one(&tool, argc, argv, "program", &path);
    bool ok = args == ARGS_DONE ||
              (args == ARGS_RUN && check_flags(&tool, &engine) && run_engine(&tool, &engine, path));
    vec_free(&engine.memories);
    vec_free(&engine.spaces);
    vec_free(&engine.dumps);
    vec_free(&engine.after);
    vec_free(&engine.inputs);
    vec_free(&engine.outputs);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
