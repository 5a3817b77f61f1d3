/* C++ functions of an emithls module: the comment that says what a process computes, the signature,
 * and, in a top function that accesses memories, the loop over frames around the body.
 * Tests: lit/emit/functions.mir, lit/emit/memory-ports.mir, test/e2e */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "emit/internal.h"
#include "ir/core/core.h"

enum { INDENT = 4, MAX_COLUMN = 100 };

void emit_line(Function *f, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    for (int i = 0; i < f->depth * INDENT; i++) strbuf_add_char(f->out, ' ');
    strbuf_vprintf(f->out, fmt, args);
    strbuf_add_char(f->out, '\n');
    va_end(args);
}

/* clang-format puts blanks around the equals signs of a pragma. */
void emit_pragma(Function *f, const char *fmt, ...)
{
    StrBuf text = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    strbuf_add_c(f->out, "#pragma HLS ");
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '=')
            strbuf_add_c(f->out, " = ");
        else
            strbuf_add_char(f->out, text.data[i]);
    }
    strbuf_add_char(f->out, '\n');
    strbuf_free(&text);
}

const char *emit_function_name(Function *f, Str raw)
{
    return emit_scope_add(&f->scope, f->e->ctx, &f->e->taken, raw);
}

const char *emit_declare_name(Function *f, const Value *value, Str raw)
{
    const char *name = emit_function_name(f, raw);
    ptrmap_put(&f->names, value, (void *)(uintptr_t)name);
    return name;
}

/* "16 x 32"; "1" for no loops. */
static void add_trips(StrBuf *out, const Attr *list)
{
    size_t count = attr_is_int_array(list) ? list->u.dense_array.count : 0;
    if (!count) strbuf_add_char(out, '1');
    for (size_t i = 0; i < count; i++)
        strbuf_printf(out, "%s%lld", i ? " x " : "", (long long)dense_array_i64(list, i));
}

static Str string_item(const Attr *dict, const char *name)
{
    const Attr *value = attr_dict_get_c(dict, name);
    return value && value->kind == ATTR_STRING ? value->u.string : STR("");
}

/* "sliding-window of Conv_0: trips 1 x 16 x 32 x 32, unrolled 1 x 4 x 1 x 1, 4104 cycles" */
static void add_report(StrBuf *text, const Attr *report)
{
    const Attr *cycles = attr_dict_get_c(report, DFG_COST_CYCLES);
    Str source = string_item(report, DFG_REPORT_SOURCE);
    Str class = string_item(report, DFG_REPORT_CLASS);
    emit_comment_text(text, class.len ? class : STR("process"));
    if (source.len) {
        strbuf_add_c(text, " of ");
        emit_comment_text(text, source);
    }
    strbuf_add_c(text, ": trips ");
    add_trips(text, attr_dict_get_c(report, DFG_REPORT_TRIP_COUNTS));
    strbuf_add_c(text, ", unrolled ");
    add_trips(text, attr_dict_get_c(report, DFG_REPORT_UNROLL));
    if (cycles && cycles->kind == ATTR_INTEGER)
        strbuf_printf(text, ", %lld cycles", (long long)attr_int_value(cycles));
    const Attr *buffer = attr_dict_get_c(report, DFG_REPORT_BUFFER);
    if (buffer && buffer->kind == ATTR_INTEGER)
        strbuf_printf(text, ", buffer of %lld words", (long long)attr_int_value(buffer));
}

/* A line of the comment for each line of the doc. */
static void print_doc_lines(Function *f, Str doc)
{
    while (doc.len) {
        const char *end = memchr(doc.data, '\n', doc.len);
        size_t len = end ? (size_t)(end - doc.data) : doc.len;
        StrBuf text = {0};
        emit_comment_text(&text, (Str){doc.data, len});
        emit_line(f, "// %s", text.data ? text.data : "");
        strbuf_free(&text);
        doc.data += len + (end != NULL);
        doc.len -= len + (end != NULL);
    }
}

/* Keeps the lines for the report. */
static void keep_warnings(Emitter *e, const Op *func, Str lines)
{
    for (size_t begin = 0, i = 0; i < lines.len; i++) {
        if (lines.data[i] != '\n') continue;
        *vec_push(&e->warnings) = emit_arena_printf(&e->arena, "'%s' %.*s; synthesis may take long",
                                                    cpp_global(e, symbol_name(func)),
                                                    (int)(i - begin), lines.data + begin);
        begin = i + 1;
    }
}

/* The comment of a process: its doc, then layer, class, trip counts and factors by its report. */
static void print_comment(Function *f, Op *func)
{
    const Attr *report = op_attr(func, DFG_ATTR_REPORT), *doc = op_attr(func, EMITHLS_ATTR_DOC);
    StrBuf text = {0}, notes = {0};
    if (report && report->kind == ATTR_DICT) add_report(&text, report);
    if (text.len) emit_line(f, "// %s", text.data);
    strbuf_free(&text);
    if (doc) print_doc_lines(f, doc->u.string);
    emit_limit_notes(func, &notes);
    print_doc_lines(f, strbuf_str(&notes));
    keep_warnings(f->e, func, strbuf_str(&notes));
    strbuf_free(&notes);
    if (func == f->e->top)
        emit_line(f,
                  f->e->has_memories
                      ? "// The accelerator: processes connected by streams, once per frame."
                      : "// The accelerator: processes connected by streams. A call is a frame.");
}

static bool is_memory(const Value *arg)
{
    return type_is_a(arg->type, &emithls_type_array);
}

static bool is_written(const Value *memory)
{
    FOR_EACH_USE(use, memory) {
        Op *op = use->owner;
        if (op->def == EMITHLS(STORE)) return true;
        if (op->def == EMITHLS(CALL)) {
            Op *callee = symbol_lookup(op, op_attr(op, "callee"));
            if (is_written(region_entry(op_region(callee, 0))->args[use_index(use)])) return true;
        }
    }
    return false;
}

/* Whether a memory, of the top function or of one that it calls, is behind AXI4-Lite. */
static bool is_mapped(const Emitter *e, const Value *arg)
{
    const Block *body = region_entry(op_region(e->top, 0));
    for (uint32_t i = 0; i < body->arg_count; i++) {
        if (!e->ports.data[i].is_mapped) continue;
        if (body->args[i] == arg) return true;
        FOR_EACH_USE(use, body->args[i]) {
            if (use->owner->def != EMITHLS(CALL)) continue;
            const Op *callee = symbol_lookup(use->owner, op_attr(use->owner, "callee"));
            if (region_entry(op_region(callee, 0))->args[use_index(use)] == arg) return true;
        }
    }
    return false;
}

void emit_parameter(Emitter *e, StrBuf *out, const Value *arg, const char *name)
{
    if (is_memory(arg) && is_mapped(e, arg))
        strbuf_printf(out, "const %s %s[%lld]", cpp_type(e, emithls_array_elem(arg->type)), name,
                      (long long)emithls_array_dim(arg->type, 0));
    else if (is_memory(arg))
        strbuf_printf(out, "%s%s *%s", is_written(arg) ? "" : "const ",
                      cpp_type(e, emithls_array_elem(arg->type)), name);
    else if (emit_dma_port(e, arg))
        strbuf_printf(out, "hls::stream<%s> &%s", emit_dma_port(e, arg)->beat, name);
    else
        strbuf_printf(out, "%s &%s", cpp_type(e, arg->type), name);
}

void emit_signature(StrBuf *out, const char *start, const char *const *parameters, size_t count)
{
    size_t column = strlen(start), margin = column;
    strbuf_add_c(out, start);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(parameters[i]);
        if (i) strbuf_add_char(out, ',');
        if (i && column + length + 2 > MAX_COLUMN) {
            strbuf_printf(out, "\n%*s", (int)margin, "");
            column = margin;
        } else if (i) {
            strbuf_add_char(out, ' ');
        }
        strbuf_add_c(out, parameters[i]);
        column += length + 2;
    }
    strbuf_add_char(out, ')');
}

static void print_signature(Function *f, const Op *func)
{
    Emitter *e = f->e;
    Block *body = region_entry(op_region(func, 0));
    const Attr *names = op_attr(func, EMITHLS_ATTR_ARG_NAMES);
    VEC(const char *) parameters = {0};
    bool has_memory = false;
    for (uint32_t i = 0; i < body->arg_count; i++) {
        StrBuf text = {0};
        const char *name = emit_declare_name(f, body->args[i], names->u.array.items[i]->u.string);
        has_memory |= is_memory(body->args[i]) && !op_attr(func, EMITHLS_ATTR_SAME_MEMORY);
        emit_parameter(e, &text, body->args[i], name);
        *vec_push(&parameters) = emit_arena_printf(&e->arena, "%s", text.data);
        strbuf_free(&text);
    }
    if (func == e->top ? e->has_memories : has_memory) {
        f->frame = emit_function_name(f, STR("frame"));
        if (func == e->top) f->frames = emit_function_name(f, STR("frames"));
        *vec_push(&parameters) =
            emit_arena_printf(&e->arena, "int %s", f->frames ? f->frames : f->frame);
    }
    const char *start = emit_arena_printf(&e->arena, "%svoid %s(", func == e->top ? "" : "static ",
                                          cpp_global(e, symbol_name(func)));
    emit_signature(f->out, start, parameters.data, parameters.len);
    strbuf_add_char(f->out, '\n');
    vec_free(&parameters);
}

/* Whether processes run without being started. */
static bool is_free_running(const Op *top)
{
    FOR_EACH_OP(op, region_entry(op_region(top, 0)))
        if (op->def == EMITHLS(DATAFLOW)) return strcmp(emithls_control(op), "none") == 0;
    return false;
}

static bool print_function(Emitter *e, StrBuf *out, Op *func)
{
    Function f = {.e = e, .out = out};
    print_comment(&f, func);
    print_signature(&f, func);
    emit_line(&f, "{");
    f.depth = 1;
    if (func != e->top && is_free_running(e->top))
        emit_pragma(&f, "interface mode=ap_ctrl_none port=return");
    bool ok = emit_block(&f, region_entry(op_region(func, 0)));
    emit_flush_pending(&f);
    while (f.depth-- > 0) emit_line(&f, "}");
    ptrmap_free(&f.names);
    ptrmap_free(&f.extents);
    ptrmap_free(&f.exprs);
    vec_free(&f.pending);
    emit_scope_free(&f.scope);
    emit_scope_free(&f.labels);
    return ok;
}

/* Processes first, so that the top function finds them declared. */
bool emit_functions(Emitter *e, StrBuf *out)
{
    bool ok = true;
    FOR_EACH_OP(op, region_entry(op_region(e->module, 0))) {
        if (op->def != EMITHLS(FUNC) || op == e->top) continue;
        ok &= print_function(e, out, op);
        strbuf_add_char(out, '\n');
    }
    return print_function(e, out, e->top) && ok;
}
