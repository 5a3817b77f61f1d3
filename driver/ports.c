/* Files of a function's arguments and results.
 * Tests: lit/tools/ming-run.mir, lit/tools/ming-run-invalid.mir */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dialects/func/func.h"
#include "driver/internal.h"
#include "ir/core/core.h"
#include "ir/support/support.h"

static bool is_candidate(const Op *op)
{
    return op_has_trait(op, TRAIT_FUNCTION) && !region_is_empty(op_region(op, 0));
}

static bool is_private(const Op *op)
{
    const Attr *visibility = op_attr(op, "sym_visibility");
    return visibility && str_eq_c(visibility->u.string, "private");
}

Op *driver_find_function(Op *module, const char *wanted, DriverErrors errors)
{
    FOR_EACH_INNER(op, module) {
        if (!is_candidate(op)) continue;
        if (wanted ? str_eq_c(symbol_name(op)->str, wanted) : !is_private(op)) return op;
    }
    if (wanted)
        driver_error(errors, DRIVER_ERROR_OTHER, "there is no function '%s' with a body", wanted);
    else
        driver_error(errors, DRIVER_ERROR_OTHER, "there is no public function with a body");
    return NULL;
}

bool driver_ports_init(PortFiles *ports, const Op *func, const char *what, bool is_results,
                       DriverErrors errors)
{
    const Type *type = func_type(func);
    uint32_t first = is_results ? type->u.function.input_count : 0;
    *ports = (PortFiles){.errors = errors, .what = what, .frames = 1};
    ports->count = is_results ? type->u.function.result_count : type->u.function.input_count;
    ports->items = xcalloc(ports->count, sizeof *ports->items);
    for (uint32_t i = 0; i < ports->count; i++) {
        const Attr *attrs = is_results ? func_result_attrs(func, i) : func_arg_attrs(func, i);
        const Type *own = type->u.function.types[first + i];
        if (!boundary_init(func, own, attrs, &ports->items[i].boundary)) return false;
    }
    return true;
}

void driver_ports_free(PortFiles *ports)
{
    for (uint32_t i = 0; i < ports->count; i++) npy_free(&ports->items[i].npy);
    free(ports->items);
    *ports = (PortFiles){0};
}

/* Whether "name=path" can only be the path of a file. */
static bool is_path(const char *text, Str name)
{
    struct stat info;
    return memchr(name.data, '/', name.len) || stat(text, &info) == 0;
}

static bool unknown_port(const PortFiles *ports, Str name)
{
    StrBuf names = {0};
    Suggestion near = {.wanted = name};
    for (uint32_t i = 0; i < ports->count; i++) {
        Str own = ports->items[i].boundary.name;
        suggestion_try(&near, own);
        strbuf_printf(&names, "%s%.*s", names.len ? ", " : "",
                      STR_ARG(own.len ? own : STR("one without a name")));
    }
    if (ports->count == 0) strbuf_add_c(&names, "none");
    StrBuf hint = {0};
    suggestion_print(&near, &hint);
    driver_error(ports->errors, DRIVER_ERROR_OTHER, "there is no %s '%.*s'%.*s; there %s %.*s",
                 ports->what, STR_ARG(name), STR_ARG(strbuf_str(&hint)),
                 ports->count == 1 ? "is" : "are", STR_ARG(strbuf_str(&names)));
    strbuf_free(&names);
    strbuf_free(&hint);
    return false;
}

static bool assign_file(PortFiles *ports, const char *text)
{
    const char *equals = strchr(text, '=');
    Str name = {text, equals ? (size_t)(equals - text) : 0};
    for (uint32_t i = 0; equals && i < ports->count; i++)
        if (str_eq(ports->items[i].boundary.name, name)) {
            if (ports->items[i].path)
                return driver_error(ports->errors, DRIVER_ERROR_OTHER, "%s '%.*s' is given twice",
                                    ports->what, STR_ARG(name));
            ports->items[i].path = equals + 1;
            return true;
        }
    if (equals && !is_path(text, name)) return unknown_port(ports, name);
    for (uint32_t i = 0; i < ports->count; i++)
        if (!ports->items[i].path) {
            ports->items[i].path = text;
            return true;
        }
    return driver_error(ports->errors, DRIVER_ERROR_OTHER,
                        "%s '%s' is one too many: the function has %u", ports->what, text,
                        ports->count);
}

bool driver_ports_assign(PortFiles *ports, const Texts *files)
{
    for (size_t i = 0; i < files->len; i++)
        if (!assign_file(ports, files->data[i])) return false;
    return true;
}

static bool file_error(const PortFiles *ports, const char *path, const StrBuf *why)
{
    return driver_error(ports->errors, DRIVER_ERROR_OTHER, "%s: %s", path, why->data);
}

bool driver_port_doubt(const PortFile *port, StrBuf *why)
{
    return boundary_doubt(port->levels ? port->levels : &port->boundary, &port->npy, why);
}

static bool read_port(PortFiles *ports, PortFile *port)
{
    StrBuf bytes = {0}, why = {0};
    const char *reason = NULL;
    int64_t frames = 0;
    bool ok = file_read(&bytes, port->path, &reason);
    if (!ok) strbuf_add_c(&why, reason);
    ok = ok && npy_parse(strbuf_str(&bytes), &port->npy, &why) &&
         boundary_frames(&port->boundary, &port->npy, &frames, &why);
    if (ok && port != ports->items && frames != ports->frames) {
        strbuf_printf(&why, "%lld frames, but the inputs before have %lld", (long long)frames,
                      (long long)ports->frames);
        ok = false;
    }
    ports->frames = frames;
    if (!ok) file_error(ports, port->path, &why);
    if (ok && driver_port_doubt(port, &why))
        driver_error(ports->errors, DRIVER_WARNING, "%s: %s", port->path, why.data);
    strbuf_free(&bytes);
    strbuf_free(&why);
    return ok;
}

bool driver_ports_read(PortFiles *ports)
{
    for (uint32_t i = 0; i < ports->count; i++)
        if (!ports->items[i].path)
            return driver_error(ports->errors, DRIVER_ERROR_OTHER, "%s %u%s%.*s is not given",
                                ports->what, i, ports->items[i].boundary.name.len ? ", " : "",
                                STR_ARG(ports->items[i].boundary.name));
    for (uint32_t i = 0; i < ports->count; i++)
        if (!read_port(ports, &ports->items[i])) return false;
    return true;
}

bool driver_ports_enter(const PortFiles *ports, int64_t frame, Array **inputs)
{
    StrBuf why = {0};
    for (uint32_t i = 0; i < ports->count; i++) {
        inputs[i] = boundary_enter(&ports->items[i].boundary, &ports->items[i].npy, frame, &why);
        if (inputs[i]) continue;
        file_error(ports, ports->items[i].path, &why);
        strbuf_free(&why);
        return false;
    }
    return true;
}
