/* What the ops of a function give, frame by frame, as files.
 * Tests: lit/tools/ming-compare.mir */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/analysis.h"
#include "driver/trace/internal.h"
#include "ir/asm/print/print.h"

/* What is named while a trace is made. */
typedef struct Making {
    Trace *trace;
    const Op *func;
    bool ok;
} Making;

static void add_tensor(void *user, Op *op, uint32_t result, Str name)
{
    Making *m = user;
    Trace *t = m->trace;
    Tensor tensor = {
        .number = t->tensors.len, .name = ident_get(op->ctx, name)->str, .op = op->name->str};
    if (result == 0) ptrmap_put(&t->first, op, (void *)(uintptr_t)(t->tensors.len + 1));
    m->ok = m->ok && boundary_init(m->func, op_result(op, result)->type, NULL, &tensor.boundary);
    *vec_push(&t->tensors) = tensor;
}

Trace *trace_create(const Op *func, int64_t frames)
{
    Trace *t = xcalloc(1, sizeof *t);
    Making making = {t, func, true};
    t->frames = frames;
    tensor_names_each(func, add_tensor, &making);
    if (making.ok) return t;
    trace_free(t);
    return NULL;
}

void trace_free(Trace *t)
{
    if (!t) return;
    for (size_t i = 0; i < t->tensors.len; i++) npy_free(&t->tensors.data[i].npy);
    vec_free(&t->tensors);
    vec_free(&t->fused);
    ptrmap_free(&t->first);
    free(t);
}

void trace_begin_frame(Trace *t, int64_t frame, int64_t frames)
{
    t->frame = frame;
    t->frames = frames;
}

/* The array's shape as the network has it, frames one behind the other. */
static void set_shape(Tensor *tensor, int64_t frames)
{
    Npy *npy = &tensor->npy;
    size_t rank = 0;
    bool fits = attr_int_list(tensor->shape, npy->dims, NPY_MAX_RANK, &rank);
    if (!fits) return; /* dfg_tensors_are_valid sees to it */
    npy->rank = (uint32_t)rank;
    if (rank == 0 && frames > 1)
        npy->dims[npy->rank++] = frames;
    else if (rank > 0)
        npy->dims[0] *= frames;
}

bool trace_leave(Trace *t, size_t index, const Array *value, StrBuf *why)
{
    Tensor *tensor = &t->tensors.data[index];
    bool ok = boundary_leave(&tensor->boundary, value, t->frame, t->frames, &tensor->npy, why);
    if (ok && tensor->shape && t->frame == 0) set_shape(tensor, t->frames);
    return ok;
}

static bool see_results(void *user, const Op *op, Array *const *results)
{
    Trace *t = user;
    uintptr_t first = (uintptr_t)ptrmap_get(&t->first, op);
    StrBuf why = {0};
    bool ok = true;
    for (uint32_t r = 0; first > 0 && ok && r < op->result_count; r++)
        ok = !results[r] || trace_leave(t, first - 1 + r, results[r], &why) ||
             op_error(op, "cannot be traced: %s", why.data);
    strbuf_free(&why);
    return ok;
}

InterpWatch trace_watch(Trace *t)
{
    return (InterpWatch){t, see_results};
}

size_t trace_count(const Trace *t)
{
    return t ? t->tensors.len : 0;
}

Npy *trace_array(Trace *t, size_t tensor)
{
    return &t->tensors.data[tensor].npy;
}

/* "012_Conv_3.npy": letters, digits and _ of the name, of which it has 60 at most. */
static void add_file_name(StrBuf *out, size_t number, Str name)
{
    enum { LONGEST = 60 };
    strbuf_printf(out, "%03zu_", number);
    for (size_t i = 0; i < name.len && i < LONGEST; i++) {
        char c = name.data[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        strbuf_add_char(out, is_plain ? c : '_');
    }
    strbuf_add_c(out, ".npy");
}

static bool write_file(const char *dir, Str name, Str bytes, StrBuf *why)
{
    const char *reason = NULL;
    StrBuf path = {0};
    strbuf_printf(&path, "%s/%.*s", dir, STR_ARG(name));
    bool ok = file_write(path.data, bytes, &reason) ||
              strbuf_fail(why, "cannot write '%s': %s", path.data, reason);
    strbuf_free(&path);
    return ok;
}

static void index_tensor(JsonWriter *w, const Tensor *tensor, Str file)
{
    json_write_line(w, 4);
    json_begin_object(w);
    json_member_string(w, "name", tensor->name);
    json_member_string(w, "op", tensor->op);
    json_member_string(w, "file", file);
    json_member_array(w, "shape");
    for (uint32_t d = 0; d < tensor->npy.rank; d++) json_write_int(w, tensor->npy.dims[d]);
    json_end_array(w);
    json_end_object(w);
}

/* Tensors of the network that no stream carries. */
static void index_fused(JsonWriter *w, const Trace *t)
{
    if (!t->source) return;
    json_write_line(w, 2);
    json_member_array(w, "fused");
    for (size_t i = 0; i < t->fused.len; i++) {
        json_write_line(w, 4);
        json_write_string(w, t->fused.data[i]);
    }
    json_write_line(w, 2);
    json_end_array(w);
}

static void begin_index(JsonWriter *w, const Trace *t)
{
    json_begin_object(w);
    json_write_line(w, 2);
    json_member_int(w, "frames", t->frames);
    if (t->source) {
        json_write_line(w, 2);
        json_member_string(w, "source", str_from(t->source));
    }
    json_write_line(w, 2);
    json_member_array(w, "tensors");
}

static void end_index(JsonWriter *w, const Trace *t)
{
    json_write_line(w, 2);
    json_end_array(w);
    index_fused(w, t);
    json_write_line(w, 0);
    json_end_object(w);
    strbuf_add_char(w->out, '\n');
}

bool trace_write(const Trace *t, const char *dir, StrBuf *why)
{
    StrBuf index = {0}, name = {0}, bytes = {0};
    JsonWriter w = {.out = &index};
    bool ok = mkdir(dir, 0777) == 0 || errno == EEXIST ||
              strbuf_fail(why, "cannot make '%s': %s", dir, strerror(errno));
    begin_index(&w, t);
    for (size_t i = 0; ok && i < t->tensors.len; i++) {
        const Tensor *tensor = &t->tensors.data[i];
        if (!tensor->npy.data) continue;
        strbuf_clear(&name);
        strbuf_clear(&bytes);
        add_file_name(&name, tensor->number, tensor->name);
        npy_print(&tensor->npy, &bytes);
        index_tensor(&w, tensor, strbuf_str(&name));
        ok = write_file(dir, strbuf_str(&name), strbuf_str(&bytes), why);
    }
    end_index(&w, t);
    ok = ok && write_file(dir, STR("index.json"), strbuf_str(&index), why);
    strbuf_free(&index);
    strbuf_free(&name);
    strbuf_free(&bytes);
    return ok;
}
