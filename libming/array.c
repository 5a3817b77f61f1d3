/* Arrays, and the results of runs and simulations.
 * Tests: test/e2e/libming_check.py, test/libming */
#include <stdlib.h>
#include <string.h>

#include "libming/internal.h"

struct ming_result {
    ming_array *arrays;
    char **names;
    size_t count;
    char *report;
};

static bool is_element(char kind, uint32_t item)
{
    bool is_power = item > 0 && item <= 8 && (item & (item - 1)) == 0;
    switch (kind) {
    case 'b': return item == 1;
    case 'i':
    case 'u': return is_power;
    case 'f': return is_power && item > 1;
    default: return false;
    }
}

ming_array *ming_array_create(char kind, uint32_t item, const int64_t *shape, uint32_t rank,
                              const void *data)
{
    Npy npy;
    if (!is_element(kind, item) || rank > NPY_MAX_RANK) return NULL;
    for (uint32_t i = 0; i < rank; i++)
        if (shape[i] < 0) return NULL;
    if (!npy_init(&npy, kind, item, shape, rank)) return NULL;
    ming_array *array = xcalloc(1, sizeof *array);
    array->npy = npy;
    if (data && npy.count > 0) memcpy(array->npy.data, data, (size_t)npy.count * item);
    return array;
}

void ming_array_destroy(ming_array *array)
{
    if (!array) return;
    npy_free(&array->npy);
    free(array);
}

char ming_array_kind(const ming_array *array)
{
    return array ? array->npy.kind : '\0';
}

uint32_t ming_array_item(const ming_array *array)
{
    return array ? array->npy.item : 0;
}

uint32_t ming_array_rank(const ming_array *array)
{
    return array ? array->npy.rank : 0;
}

const int64_t *ming_array_shape(const ming_array *array)
{
    return array ? array->npy.dims : NULL;
}

const void *ming_array_data(const ming_array *array)
{
    return array ? array->npy.data : NULL;
}

size_t ming_array_size(const ming_array *array)
{
    return array ? (size_t)array->npy.count * array->npy.item : 0;
}

/* A copy, since the ports free theirs. */
static bool copy_array(const ming_array *array, Npy *out)
{
    const Npy *npy = &array->npy;
    if (!npy_init(out, npy->kind, npy->item, npy->dims, npy->rank)) return false;
    if (npy->count > 0) memcpy(out->data, npy->data, ming_array_size(array));
    return true;
}

static bool give_array(ming_context *owner, PortFiles *ports, uint32_t index,
                       const ming_array *array)
{
    PortFile *port = &ports->items[index];
    StrBuf why = {0};
    int64_t frames = 0;
    port->path = "an input"; /* as errors call it */
    if (!array) return lib_error(owner, "input %u is NULL", index);
    if (!copy_array(array, &port->npy)) return lib_error(owner, "input %u is too large", index);
    bool ok = boundary_frames(&port->boundary, &port->npy, &frames, &why) ||
              lib_error(owner, "input %u: %s", index, why.data);
    if (ok && index > 0 && frames != ports->frames)
        ok = lib_error(owner, "input %u: %lld frames, but the inputs before have %lld", index,
                       (long long)frames, (long long)ports->frames);
    ports->frames = frames;
    if (ok && driver_port_doubt(port, &why))
        driver_error(lib_errors(owner), DRIVER_WARNING, "input %u: %s", index, why.data);
    strbuf_free(&why);
    return ok;
}

bool lib_give_arrays(ming_context *owner, PortFiles *ports, const ming_array *const *arrays,
                     size_t count)
{
    if (count != ports->count)
        return lib_error(owner, "the network has %u inputs, and %zu arrays are given", ports->count,
                         count);
    for (uint32_t i = 0; i < count; i++)
        if (!give_array(owner, ports, i, arrays[i])) return false;
    return true;
}

ming_result *lib_result(PortFiles *ports)
{
    ming_result *result = xcalloc(1, sizeof *result);
    result->count = ports->count;
    result->arrays = xcalloc(ports->count, sizeof *result->arrays);
    result->names = xcalloc(ports->count, sizeof *result->names);
    for (uint32_t i = 0; i < ports->count; i++) {
        result->arrays[i].npy = ports->items[i].npy;
        ports->items[i].npy = (Npy){0};
        result->names[i] = lib_text(ports->items[i].boundary.name);
    }
    return result;
}

void lib_result_set_report(ming_result *result, Str report)
{
    result->report = lib_text(report);
}

void ming_result_destroy(ming_result *result)
{
    if (!result) return;
    for (size_t i = 0; i < result->count; i++) {
        npy_free(&result->arrays[i].npy);
        free(result->names[i]);
    }
    free(result->arrays);
    free(result->names);
    free(result->report);
    free(result);
}

size_t ming_result_count(const ming_result *result)
{
    return result ? result->count : 0;
}

const ming_array *ming_result_array(const ming_result *result, size_t index)
{
    return index < ming_result_count(result) ? &result->arrays[index] : NULL;
}

const char *ming_result_name(const ming_result *result, size_t index)
{
    return index < ming_result_count(result) ? result->names[index] : NULL;
}

const char *ming_result_report(const ming_result *result)
{
    return result ? result->report : NULL;
}
