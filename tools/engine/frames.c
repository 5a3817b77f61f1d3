/* Arrays of ming engine: frames go to external memory in front of a run, and come from there behind it.
 * Tests: lit/tools/ming-engine-arrays.test, test/e2e/overlay_check.py */
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

/* Ports of a direction that files are given for, in their order. */
static bool open_ports(EngineJob *job, const char *flag, const Texts *files, int64_t direction,
                       EnginePorts *out)
{
    size_t count = 0;
    FOR_EACH_INNER(op, job->module) count += job_is_port(op, direction);
    if (files->len > count)
        return tool_error(job->tool, "error: --%s has %zu files; the program has %zu such ports",
                          flag, files->len, count);
    FOR_EACH_INNER(op, job->module)
        if (job_is_port(op, direction) && out->len < files->len &&
            !engine_port_init(vec_push(out), op))
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

bool job_open_ports(EngineJob *job)
{
    const EngineFlags *flags = job->flags;
    if (!open_ports(job, "input", &flags->inputs, PORT_INPUT, &job->inputs) || !open_outputs(job))
        return false;
    for (size_t i = 0; i < job->inputs.len; i++)
        if (!read_input(job, &job->inputs.data[i], flags->inputs.data[i])) return false;
    return true;
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

bool job_save_outputs(const EngineJob *job)
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
