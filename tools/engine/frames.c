/* Arrays of ming engine: frames go to external memory in front of a run, and come from there behind it.
 * Tests: lit/tools/ming-engine-arrays.test, test/e2e/overlay_check.py */
#include <stdlib.h>

#include "tools/engine/internal.h"

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

static size_t count_ports(const EngineJob *job, int64_t direction)
{
    size_t count = 0;
    FOR_EACH_INNER(op, job->module) count += job_is_port(op, direction);
    return count;
}

/* The first ports of a direction, in their order. */
static bool open_ports(EngineJob *job, size_t count, int64_t direction, EnginePorts *out)
{
    FOR_EACH_INNER(op, job->module)
        if (job_is_port(op, direction) && out->len < count && !engine_port_init(vec_push(out), op))
            return false;
    return true;
}

static bool open_inputs(EngineJob *job)
{
    const Texts *files = &job->flags->inputs;
    const size_t count = count_ports(job, PORT_INPUT);
    if (files->len > count)
        return tool_error(job->tool, "error: --input has %zu files; the program has %zu such ports",
                          files->len, count);
    if (!open_ports(job, files->len, PORT_INPUT, &job->inputs)) return false;
    for (size_t i = 0; i < job->inputs.len; i++)
        if (!read_input(job, &job->inputs.data[i], files->data[i])) return false;
    return true;
}

bool job_has_checks(const EngineFlags *flags)
{
    return flags->checks.expected.len > 0 || flags->checks.labels;
}

/* Outputs are those of the host's function, or the program's. */
static bool open_outputs(EngineJob *job)
{
    const size_t files = job->flags->outputs.len, count = count_ports(job, PORT_OUTPUT);
    const bool has_checks = job_has_checks(job->flags);
    if (files == 0 && !has_checks) return true;
    if (!engine_host_init(&job->host, job->module)) return false;
    if (job->host.func)
        return files <= job->host.results.len ||
               tool_error(job->tool, "error: --output has %zu files; the host's function gives %zu",
                          files, job->host.results.len);
    if (files > count)
        return tool_error(job->tool,
                          "error: --output has %zu files; the program has %zu such ports", files,
                          count);
    return open_ports(job, has_checks ? count : files, PORT_OUTPUT, &job->outputs);
}

bool job_open_ports(EngineJob *job)
{
    return open_inputs(job) && open_outputs(job);
}

/* Runs of the program that all frames take. */
int64_t job_run_count(const EngineJob *job)
{
    return ceil_div(job->frames, job->images);
}

static bool enter_frame(EngineJob *job, const EngineFrame *frame)
{
    StrBuf why = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < job->inputs.len; i++) {
        const EnginePort *port = &job->inputs.data[i];
        ok = engine_port_enter(port, frame, job_place(job, port->op), &why) ||
             tool_error(job->tool, "error: '%s': %s", job->flags->inputs.data[i], why.data);
    }
    strbuf_free(&why);
    return ok;
}

/* The last frame fills up what the last run takes. */
bool job_enter_run(EngineJob *job, int64_t run)
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
        ok = engine_port_leave(port, frame, job_place(job, port->op), &why) ||
             op_error(port->op, "%s", why.data);
    }
    strbuf_free(&why);
    return ok;
}

bool job_leave_run(EngineJob *job, int64_t run)
{
    bool ok = true;
    for (int64_t image = 0; ok && image < job->images; image++) {
        int64_t number = run * job->images + image;
        if (number >= job->frames) break;
        ok = leave_frame(job, &(EngineFrame){number, job->frames, image});
    }
    return ok;
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

static OutputVerdict check_outputs(const EngineJob *job)
{
    const bool has_host = job->host.func != NULL;
    const size_t count = has_host ? job->host.results.len : job->outputs.len;
    PortFiles results = {.count = (uint32_t)count, .frames = job->frames};
    results.items = xcalloc(count, sizeof *results.items);
    for (size_t i = 0; i < count; i++) { /* the arrays stay the job's */
        results.items[i].boundary =
            has_host ? job->host.results.data[i].boundary : job->outputs.data[i].boundary;
        results.items[i].npy = has_host ? job->host.results.data[i].npy : job->outputs.data[i].npy;
    }
    OutputVerdict verdict =
        tool_check_outputs(job->tool, &results, job->frames, &job->flags->checks);
    free(results.items);
    return verdict;
}

bool job_finish_outputs(const EngineJob *job)
{
    OutputVerdict verdict = job_has_checks(job->flags) ? check_outputs(job) : OUTPUTS_RIGHT;
    return verdict != OUTPUTS_UNKNOWN && save_outputs(job) && verdict == OUTPUTS_RIGHT;
}
