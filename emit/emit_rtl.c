/* What a design needs beside its Verilog (emit/verilog): the library's modules and the list of files.
 * Tests: lit/emit/verilog/modules.mir */
#include <string.h>

#include "dialects/hw/hw.h"
#include "emit/internal.h"
#include "emit/verilog/verilog.h"
#include "ir/asm/print/print.h"

static const char *const library[] = {"ming_fifo.v"};

/* Where verilog_print's files go, below `folder`. */
typedef struct RtlFiles {
    EmittedFiles *files;
    const char *folder; /* with a slash, or empty */
} RtlFiles;

static StrBuf *new_file(void *user, const char *name)
{
    RtlFiles *to = user;
    EmittedFile *file = vec_push(to->files);
    *file = (EmittedFile){0};
    strbuf_printf(&file->name, "%s%s", to->folder, name);
    return &file->text;
}

static bool add_library(Context *ctx, const EmitOptions *options, RtlFiles *to)
{
    bool ok = true;
    for (size_t i = 0; ok && i < COUNT_OF(library); i++) {
        StrBuf path = {0};
        strbuf_printf(&path, "%s/%s", options->rtl_dir, library[i]);
        ok = emit_read_text_file(ctx, path.data, new_file(to, library[i]));
        strbuf_free(&path);
    }
    return ok;
}

static bool is_source(Str name)
{
    return name.len > 2 && strcmp(name.data + name.len - 2, ".v") == 0;
}

/* files.f: the sources, relative to it. */
static void add_list(RtlFiles *to, size_t first)
{
    StrBuf list = {0};
    size_t skip = strlen(to->folder);
    for (size_t i = first; i < to->files->len; i++) {
        Str name = strbuf_str(&to->files->data[i].name);
        if (is_source(name)) strbuf_printf(&list, "%s\n", name.data + skip);
    }
    strbuf_add_str(new_file(to, "files.f"), strbuf_str(&list));
    strbuf_free(&list);
}

static bool add_rtl(Context *ctx, const EmitOptions *options, Op *rtl, const char *folder,
                    EmittedFiles *files)
{
    RtlFiles to = {files, folder};
    size_t first = files->len;
    if (!add_library(ctx, options, &to) || !verilog_print(rtl, new_file, &to)) return false;
    add_list(&to, first);
    return true;
}

/* The last hw.module: what is instantiated stands in front of it. */
static const Op *find_top(const Op *module)
{
    const Op *top = NULL;
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == HW(MODULE)) top = op;
    return top;
}

bool emit_verilog(Op *module, const EmitOptions *options, EmittedProject *out, StrBuf *why)
{
    const Op *top = find_top(module);
    if (!top) return op_emit_error(module, "there is no hw.module to emit");
    if (!add_rtl(module->ctx, options, module, "", &out->files)) return false;
    RtlFiles to = {&out->files, ""};
    StrBuf *report = new_file(&to, REPORT_NAME);
    strbuf_add_c(report, REPORT_START);
    emit_string_literal(report, symbol_name(top)->str);
    strbuf_add_c(report, "\n}\n");
    return emit_write_project(options->output_dir, &out->files, why);
}
