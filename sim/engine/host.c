/* The host's function beside a program: what it takes are all outputs of the program, in order, and
 * its results are the outputs of the model.
 * Tests: lit/sim/engine/host.test, test/e2e/overlay_check.py */
#include <stdlib.h>

#include "dialects/func/func.h"
#include "sim/engine/internal.h"

static bool find_function(EngineHost *host, const Op *module)
{
    FOR_EACH_INNER(op, module) {
        if (op->def != FUNC(FUNC) || !func_entry(op)) continue;
        if (host->func) return op_error(op, "is the second function of the host");
        host->func = op;
    }
    return true;
}

static bool open_maps(EngineHost *host, const Op *module)
{
    const Type *type = func_type(host->func);
    FOR_EACH_INNER(op, module) {
        enum { OUTPUT = 1 };
        if (op->def != SA(PORT) || sa_int(op, "direction", 0) != OUTPUT) continue;
        if (!engine_port_init(vec_push(&host->maps), op)) return false;
    }
    if (host->maps.len != type->u.function.input_count)
        return op_error(host->func, "takes %u maps, and the program gives %zu",
                        type->u.function.input_count, host->maps.len);
    for (size_t i = 0; i < host->maps.len; i++)
        if (host->maps.data[i].boundary.type != func_entry(host->func)->args[i]->type)
            return op_error(host->func, "takes a map of another type than output #%zu", i);
    return true;
}

static bool open_results(EngineHost *host)
{
    const Type *type = func_type(host->func);
    for (uint32_t i = 0; i < type->u.function.result_count; i++) {
        EngineOutput *output = vec_push(&host->results);
        *output = (EngineOutput){0};
        if (!boundary_init(host->func, type->u.function.types[type->u.function.input_count + i],
                           func_result_attrs(host->func, i), &output->boundary))
            return false;
    }
    return true;
}

bool engine_host_init(EngineHost *host, const Op *module)
{
    if (!find_function(host, module)) return false;
    if (!host->func) return true;
    if (!open_maps(host, module) || !open_results(host)) return false;
    host->interp = interp_create(host->func);
    return host->interp != NULL;
}

void engine_host_free(EngineHost *host)
{
    for (size_t i = 0; i < host->maps.len; i++) engine_port_free(&host->maps.data[i]);
    for (size_t i = 0; i < host->results.len; i++) npy_free(&host->results.data[i].npy);
    vec_free(&host->maps);
    vec_free(&host->results);
    interp_free(host->interp);
}

static bool read_maps(EngineHost *host, const EngineBank *banks, int64_t image, Array **maps,
                      StrBuf *why)
{
    for (size_t i = 0; i < host->maps.len; i++) {
        const EnginePort *port = &host->maps.data[i];
        const uint8_t *from = banks[sa_int(port->op, SA_ATTR_BANK, 0)].bytes +
                              sa_int(port->op, "address", 0) * SA_BEAT_BYTES;
        maps[i] = engine_port_read(port, image, from, why);
        if (!maps[i]) return false;
    }
    return true;
}

bool engine_host_run(EngineHost *host, const EngineBank *banks, const EngineFrame *frame,
                     StrBuf *why)
{
    size_t count = host->maps.len + host->results.len;
    Array **maps = xcalloc(count, sizeof *maps), **results = maps + host->maps.len;
    bool ok =
        read_maps(host, banks, frame->image, maps, why) && interp_run(host->interp, maps, results);
    for (size_t i = 0; ok && i < host->results.len; i++)
        ok = boundary_leave(&host->results.data[i].boundary, results[i], frame->frame,
                            frame->frames, &host->results.data[i].npy, why);
    for (size_t i = 0; i < count; i++) array_unref(maps[i]);
    free(maps);
    return ok;
}
