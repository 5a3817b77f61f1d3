/* <top>_schedule.h: for each process the order and cycles of its reads and writes, as the
 * simulation has them (sim/design/design.h), so that `make cosim` makes them in the same order and
 * cycles. Iterations are counted at the pipeline pragmas, so only a design whose processes read and
 * write in pipelined loops has a schedule.
 * Tests: lit/emit/schedule.mir, test/e2e/sizing_check.py */
#include "dialects/emithls/emithls.h"
#include "emit/internal.h"
#include "ir/core/core.h"
#include "schedule/schedule.h"
#include "sim/design/design.h"

static bool is_marked(const HlsLoop *loop)
{
    return loop->op && op_attr(loop->op, EMITHLS_ATTR_II);
}

/* One access per stream, or several that all iterations make: the next one is then known by its
 * stream alone. */
static bool is_told_apart(const HlsLoop *loop, const HlsAccess *access)
{
    for (size_t i = 0; i < loop->accesses.len; i++) {
        const HlsAccess *other = &loop->accesses.data[i];
        if (other != access && other->port == access->port &&
            access->words != loop->trips * loop->executions)
            return false;
    }
    return true;
}

static bool has_schedule(const HlsDesign *design)
{
    for (size_t p = 0; p < design->processes.len; p++) {
        const HlsProcess *process = &design->processes.data[p];
        for (size_t l = 0; process->func && l < process->loops.len; l++) {
            const HlsLoop *loop = &process->loops.data[l];
            for (size_t a = 0; a < loop->accesses.len; a++)
                if (!is_marked(loop) || !is_told_apart(loop, &loop->accesses.data[a])) return false;
        }
    }
    return true;
}

static void add_loop(StrBuf *out, const HlsLoop *loop, bool rewinds)
{
    int64_t cycles = (loop->op ? LOOP_START : 0) + design_loop_cycles(loop);
    if (!is_marked(loop)) {
        strbuf_printf(out, "{cosim::Kind::CODE, %lld, 0, 0, 0, {}}", (long long)cycles);
        return;
    }
    strbuf_printf(out, "{cosim::Kind::%s, %lld, %lld, %lld, 0, {", rewinds ? "REWIND" : "LOOP",
                  (long long)loop->trips, (long long)loop->ii, (long long)loop->depth);
    for (size_t i = 0; i < loop->accesses.len; i++)
        strbuf_printf(out, "%s{%u, %lld}", i ? ", " : "", loop->accesses.data[i].port,
                      (long long)loop->accesses.data[i].offset);
    strbuf_add_c(out, "}}");
}

/* In front of a process that is held. */
enum { HOLD_STEPS = 2 };

static void add_hold(StrBuf *out, const HlsDesign *design)
{
    strbuf_printf(out,
                  "{cosim::Kind::ONCE, 0, 0, 0, %d, {}},\n         "
                  "{cosim::Kind::CODE, %lld, 0, 0, 0, {}},\n         ",
                  HOLD_STEPS, (long long)design->hold);
}

static void add_step(StrBuf *out, const HlsProcess *process, const HlsStep *step)
{
    if (step->kind == STEP_LOOP)
        add_loop(out, &process->loops.data[step->loop], process->rewinds);
    else if (step->kind == STEP_REPEAT)
        strbuf_printf(out, "{cosim::Kind::REPEAT, %lld, 0, 0, 0, {}}", (long long)step->count);
    else
        strbuf_printf(out, "{cosim::Kind::%s, 0, 0, 0, %u, {}}",
                      step->kind == STEP_END ? "END" : "ONCE",
                      step->match + (process->is_held ? HOLD_STEPS : 0));
}

static const char *port_name(const Emitter *e, const HlsStream *stream)
{
    return e->ports.data[stream->arg].name;
}

/* Whether words of some stream take more than one cycle. */
static bool is_late(const HlsDesign *design)
{
    for (size_t i = 0; i < design->streams.len; i++)
        if (design->streams.data[i].latency > 1) return true;
    return false;
}

static void add_latencies(const Emitter *e, const HlsDesign *design, StrBuf *out)
{
    strbuf_add_c(out, "    {");
    for (uint32_t i = design->port_count; i < design->streams.len; i++) {
        const HlsStream *stream = &design->streams.data[i];
        if (stream->latency > 1)
            strbuf_printf(out, "\n        {\"%s\", %lld},",
                          (const char *)ptrmap_get(&e->fifos, stream->op),
                          (long long)stream->latency);
    }
    strbuf_add_c(out, "\n    },\n");
}

static void add_schedule(const Emitter *e, const HlsDesign *design, StrBuf *out)
{
    strbuf_add_c(out, "static const cosim::Plan schedule{\n    {");
    for (uint32_t i = 0; i < design->port_count; i++) {
        const HlsStream *stream = &design->streams.data[i];
        if (stream->words > 0)
            strbuf_printf(out, "\n        {\"%s\", %lld, %s, %s},", port_name(e, stream),
                          (long long)stream->words,
                          design->processes.data[stream->writer].func ? "false" : "true",
                          stream->is_once ? "true" : "false");
    }
    strbuf_add_c(out, "\n    },\n    {");
    for (size_t p = 0; p < design->processes.len; p++) {
        const HlsProcess *process = &design->processes.data[p];
        if (!process->func) continue;
        strbuf_printf(out, "\n        // %s\n        {", cpp_global(e, symbol_name(process->func)));
        if (process->is_held) add_hold(out, design);
        for (size_t s = 0; s < process->steps.len; s++) {
            strbuf_add_c(out, s ? ",\n         " : "");
            add_step(out, process, &process->steps.data[s]);
        }
        strbuf_add_c(out, "},");
    }
    bool has_latencies = is_late(design);
    strbuf_add_c(out, "\n    },\n");
    if (has_latencies || design_flushes(design) || design->hold > 0)
        strbuf_printf(out, "    %s,\n", design_flushes(design) ? "true" : "false");
    if (has_latencies || design->hold > 0) add_latencies(e, design, out);
    if (design->hold > 0) strbuf_printf(out, "    %lld,\n", (long long)design->hold);
    strbuf_add_c(out, "};\n");
}

bool emit_schedule(Emitter *e, StrBuf *out)
{
    const Attr *timing = op_attr(e->top, EMITHLS_ATTR_TIMING);
    if (!timing) return true;
    Clock clock = clock_of_module(e->module, design_clock_mhz(e->module));
    HlsDesign *design = design_create(e->module, clock);
    if (!design) return false;
    if (has_schedule(design)) {
        strbuf_add_c(
            out, "// clang-format off\n"
                 "// When the processes read and write, for make cosim: of each loop the\n"
                 "// iterations, cycles between them, cycles of one, and the cycle of each\n"
                 "// access by the number of the argument. Changed sources need new numbers.\n");
        emit_begin_guard(e, out, "_SCHEDULE_H");
        add_schedule(e, design, out);
        strbuf_add_c(out, "\n#endif\n");
    }
    design_free(design);
    return true;
}
