/* What the ops of a function give, frame by frame, as files.
 * Tests: lit/tools/ming-compare.mir */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/analysis.h"
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "driver/trace/trace.h"
#include "ir/asm/print/print.h"

/* A result of an op. */
typedef struct Tensor {
    const Op *op;
    uint32_t result;
    Boundary boundary;
    StrBuf name; /* the only one of that name */
    Npy npy;
    bool is_seen;
} Tensor;

struct Trace {
    VEC(Tensor) tensors;
    PtrMap first; /* Op* -> its first tensor + 1 */
    int64_t frame, frames;
};

/* The name of the node or layer that an op is, or is from; empty: it has none. */
static Str source_of(const Op *op)
{
    const Attr *node = op_attr(op, ONNX_ATTR_NAME);
    if (node && node->kind == ATTR_STRING) return node->u.string;
    Str layer = layer_name_source(op);
    return layer.len > 0 ? layer : loc_find_name(op->loc);
}

/* The layer's name, else the op's; " 2" and so on behind those that were there before. */
static void set_name(const Trace *t, Tensor *tensor)
{
    Str source = source_of(tensor->op);
    int same = 1;
    StrBuf base = {0};
    strbuf_add_str(&base, source.len > 0 ? source : tensor->op->name->str);
    if (tensor->result > 0) strbuf_printf(&base, " result %u", tensor->result);
    strbuf_add_str(&tensor->name, strbuf_str(&base));
    for (size_t i = 0; i < t->tensors.len; i++) {
        if (!str_eq(strbuf_str(&t->tensors.data[i].name), strbuf_str(&tensor->name))) continue;
        strbuf_clear(&tensor->name);
        strbuf_printf(&tensor->name, "%s %d", base.data, ++same);
        i = SIZE_MAX; /* from the first one again */
    }
    strbuf_free(&base);
}

static bool add_tensor(Trace *t, const Op *func, const Op *op, uint32_t result)
{
    Tensor tensor = {.op = op, .result = result};
    if (!boundary_init(func, op_result(op, result)->type, NULL, &tensor.boundary)) return false;
    set_name(t, &tensor);
    *vec_push(&t->tensors) = tensor;
    return true;
}

Trace *trace_create(const Op *func, int64_t frames)
{
    Trace *t = xcalloc(1, sizeof *t);
    bool ok = true;
    t->frames = frames;
    FOR_EACH_OP(op, func_entry(func)) {
        if (op->operand_count == 0 || op->result_count == 0) continue;
        ptrmap_put(&t->first, op, (void *)(uintptr_t)(t->tensors.len + 1));
        for (uint32_t r = 0; ok && r < op->result_count; r++) ok = add_tensor(t, func, op, r);
    }
    if (ok) return t;
    trace_free(t);
    return NULL;
}

void trace_free(Trace *t)
{
    if (!t) return;
    for (size_t i = 0; i < t->tensors.len; i++) {
        strbuf_free(&t->tensors.data[i].name);
        npy_free(&t->tensors.data[i].npy);
    }
    vec_free(&t->tensors);
    ptrmap_free(&t->first);
    free(t);
}

void trace_begin_frame(Trace *t, int64_t frame)
{
    t->frame = frame;
}

static bool see_results(void *user, const Op *op, Array *const *results)
{
    Trace *t = user;
    uintptr_t first = (uintptr_t)ptrmap_get(&t->first, op);
    StrBuf why = {0};
    bool ok = true;
    for (uint32_t r = 0; first > 0 && ok && r < op->result_count; r++) {
        Tensor *tensor = &t->tensors.data[first - 1 + r];
        if (!results[r]) continue;
        tensor->is_seen = true;
        ok = boundary_leave(&tensor->boundary, results[r], t->frame, t->frames, &tensor->npy,
                            &why) ||
             op_error(op, "cannot be traced: %s", why.data);
    }
    strbuf_free(&why);
    return ok;
}

InterpWatch trace_watch(Trace *t)
{
    return (InterpWatch){t, see_results};
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
    json_member_string(w, "name", strbuf_str(&tensor->name));
    json_member_string(w, "op", tensor->op->name->str);
    json_member_string(w, "file", file);
    json_member_array(w, "shape");
    for (uint32_t d = 0; d < tensor->npy.rank; d++) json_write_int(w, tensor->npy.dims[d]);
    json_end_array(w);
    json_end_object(w);
}

bool trace_write(const Trace *t, const char *dir, StrBuf *why)
{
    StrBuf index = {0}, name = {0}, bytes = {0};
    JsonWriter w = {.out = &index};
    bool ok = mkdir(dir, 0777) == 0 || errno == EEXIST ||
              strbuf_fail(why, "cannot make '%s': %s", dir, strerror(errno));
    json_begin_object(&w);
    json_write_line(&w, 2);
    json_member_int(&w, "frames", t->frames);
    json_write_line(&w, 2);
    json_member_array(&w, "tensors");
    for (size_t i = 0; ok && i < t->tensors.len; i++) {
        const Tensor *tensor = &t->tensors.data[i];
        if (!tensor->is_seen) continue;
        strbuf_clear(&name);
        strbuf_clear(&bytes);
        add_file_name(&name, i, strbuf_str(&tensor->name));
        npy_print(&tensor->npy, &bytes);
        index_tensor(&w, tensor, strbuf_str(&name));
        ok = write_file(dir, strbuf_str(&name), strbuf_str(&bytes), why);
    }
    json_write_line(&w, 2);
    json_end_array(&w);
    json_write_line(&w, 0);
    json_end_object(&w);
    strbuf_add_char(&index, '\n');
    ok = ok && write_file(dir, STR("index.json"), strbuf_str(&index), why);
    strbuf_free(&index);
    strbuf_free(&name);
    strbuf_free(&bytes);
    return ok;
}
