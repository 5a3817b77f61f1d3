/* The files of a project.
 *
 *   emit_prepare ─▶ functions, header, parameters, testbench, build files, report ─▶ directory
 *
 * Tests: lit/emit, test/e2e */
#include "emit/emit.h"
#include "emit/internal.h"
#include "ir/asm/print/print.h"

typedef void FilePrinter(Emitter *e, StrBuf *out);

EmittedFile *emit_add_file(TextBudget *budget, EmittedFiles *files)
{
    if (files->len > 0) budget->before += files->data[files->len - 1].text.len;
    EmittedFile *file = vec_push(files);
    *file = (EmittedFile){0};
    return file;
}

bool emit_has_room(const TextBudget *budget, const Op *op, size_t bytes)
{
    size_t most = (size_t)budget->most;
    return most == 0 || (budget->before <= most && bytes <= most - budget->before) ||
           op_error(op,
                    "makes the project longer than %lld bytes; --max-text=N emits up to N, "
                    "0 without a limit",
                    (long long)budget->most);
}

/* Without a prefix the name begins with the top function's. */
static StrBuf *add_file(Emitter *e, EmittedFiles *files, const char *prefix, const char *name)
{
    EmittedFile *file = emit_add_file(&e->budget, files);
    strbuf_add_c(&file->name, prefix ? prefix : e->top_name);
    strbuf_add_c(&file->name, name);
    return &file->text;
}

/* The includes of the functions beside the project's own headers. */
static void add_includes(const Emitter *e, StrBuf *out)
{
    bool any = false;
    static const struct {
        uint32_t need;
        const char *header;
    } rows[] = {
        {EMIT_NEEDS_HLS_MATH, "hls_math.h"},
        {EMIT_NEEDS_LIMITS, "limits"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!(e->needs & rows[i].need)) continue;
        strbuf_printf(out, "%s#include <%s>\n", any ? "" : "\n", rows[i].header);
        any = true;
    }
    strbuf_add_char(out, '\n');
}

/* Reads the bits of one type as another's: Vitis takes unions where g++ takes them too. */
static const char bits_as[] = "template <typename To, typename From>\n"
                              "static To bits_as(From from)\n"
                              "{\n"
                              "    union {\n"
                              "        From from;\n"
                              "        To to;\n"
                              "    } bits = {from};\n"
                              "    return bits.to;\n"
                              "}\n\n";

/* The processes, and the top function last. */
static bool add_source(Emitter *e, EmittedFiles *files)
{
    StrBuf functions = {0};
    bool ok = emit_functions(e, &functions);
    if (ok) {
        StrBuf *out = add_file(e, files, NULL, ".cpp");
        strbuf_printf(out, "#include \"%s.h\"\n#include \"%s_params.h\"\n", e->top_name,
                      e->top_name);
        add_includes(e, out);
        StrBuf beats = {0};
        emit_dma_functions(e, &beats);
        if (e->needs & EMIT_NEEDS_BITS_AS) strbuf_add_c(out, bits_as);
        strbuf_add_str(out, strbuf_str(&beats));
        strbuf_add_str(out, strbuf_str(&functions));
        strbuf_free(&beats);
    }
    strbuf_free(&functions);
    return ok;
}

const char *const emit_csim_names[] = {"ap_axi_sdata.h",   "ap_int.h",      "ap_limbs.h",
                                       "ap_ref.h",         "ap_text.h",     "cosim.awk",
                                       "hls_math.h",       "hls_stream.h",  "hls_vector.h",
                                       "ming_coroutine.h", "ming_cosim.h",  "ming_emulate.h",
                                       "ming_link.h",      "ming_socket.h", "ming_libcsim.h",
                                       "ming_library.h",   "ming_npy.h",    "ming_port.h",
                                       "ming_quantize.h",  "ming_rtl.h",    "ming_tb.h",
                                       "ming_timeline.h",  "ming_trace.h",  "ming_channel.h",
                                       "ming_card.h",      "ming_loss.h",   NULL};

/* The simulation headers, so that the project builds without Vitis. */
static bool add_csim(Emitter *e, EmittedFiles *files)
{
    bool ok = true;
    for (const char *const *name = emit_csim_names; ok && e->options->csim_dir && *name; name++) {
        const char *path = emit_arena_printf(&e->arena, "%s/%s", e->options->csim_dir, *name);
        ok = emit_read_text_file(e->ctx, path, add_file(e, files, EMIT_CSIM_FOLDER, *name));
    }
    return ok;
}

static bool add_schedule(Emitter *e, EmittedFiles *files)
{
    StrBuf schedule = {0};
    bool ok = emit_schedule(e, &schedule);
    e->has_schedule = schedule.len > 0;
    if (ok && e->has_schedule)
        strbuf_add_str(add_file(e, files, NULL, "_schedule.h"), strbuf_str(&schedule));
    strbuf_free(&schedule);
    return ok;
}

static bool add_rtl(Emitter *e, EmittedFiles *files)
{
    if (!e->options->rtl) return true;
    if (!emit_add_rtl(e->options, &e->budget, e->options->rtl, "rtl/", files)) return false;
    e->rtl_top = emit_rtl_top(e, files);
    emit_rtl_testbench(e, add_file(e, files, NULL, "_rtl_tb.cpp"));
    emit_vivado(e, add_file(e, files, "rtl/", "vivado.tcl"));
    emit_clock_constraint(e, add_file(e, files, "rtl/", "clock.xdc"));
    return true;
}

static bool add_headers(Emitter *e, EmittedFiles *files)
{
    emit_header(e, add_file(e, files, NULL, ".h"));
    return emit_params(e, add_file(e, files, NULL, "_params.h"));
}

static bool add_weights(Emitter *e, EmittedFiles *files)
{
    for (size_t i = 0; i < e->ports.len; i++) {
        EmittedFile *file = e->ports.data[i].is_weights ? emit_add_file(&e->budget, files) : NULL;
        if (!file) continue;
        emit_weights_path(e, i, &file->name);
        if (!emit_weights(e, i, &file->text)) return false;
    }
    return true;
}

static bool add_files(Emitter *e, EmittedFiles *files)
{
    static const struct {
        const char *prefix, *name; /* no prefix: the top function's name */
        FilePrinter *print;
    } rows[] = {
        {NULL, "_host.h", emit_host},      {NULL, "_tb.cpp", emit_testbench},
        {NULL, "_lib.cpp", emit_library},  {"", "hls_config.cfg", emit_hls_config},
        {"", "run_hls.tcl", emit_tcl},     {"", "Makefile", emit_makefile},
        {"", ".clang-format", emit_style}, {"", "folding.json", emit_folding},
    };
    if (!add_source(e, files) || !add_schedule(e, files) || !add_rtl(e, files) ||
        !add_headers(e, files))
        return false;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        rows[i].print(e, add_file(e, files, rows[i].prefix, rows[i].name));
    if (emit_is_placed(e)) {
        emit_floorplan(e, add_file(e, files, "", "floorplan.tcl"));
        if (e->options->platform != EMIT_PLATFORM_XRT)
            emit_link(e, add_file(e, files, "", "link.cfg"));
    }
    if (emit_has_emulation(e) && !emit_emulation(e, add_file(e, files, NULL, "_emulate.cpp")))
        return false;
    if (emit_has_trace(e) && !emit_trace(e, add_file(e, files, NULL, "_trace.h"))) return false;
    if (!add_weights(e, files)) return false;
    if (!emit_add_board(e, files) || !add_csim(e, files)) return false;
    op_print(add_file(e, files, NULL, ".mir"), e->module, &PRINT_DEFAULT);
    StrBuf *report = add_file(e, files, "", REPORT_NAME);
    emit_report(e, report);
    return emit_has_room(&e->budget, e->top, report->len);
}

static void emitter_free(Emitter *e)
{
    arena_free(&e->arena);
    ptrmap_free(&e->globals);
    ptrmap_free(&e->fifos);
    ptrmap_free(&e->beats);
    ptrmap_free(&e->word_aliases);
    ptrmap_free(&e->packed);
    ptrmap_free(&e->word_tables);
    vec_free(&e->words);
    ptrmap_free(&e->taken);
    vec_free(&e->ports);
    vec_free(&e->warnings);
}

bool emit_hls_files(Op *module, const EmitOptions *options, EmittedProject *out)
{
    Emitter e = {
        .ctx = module->ctx, .module = module, .options = options, .budget.most = options->max_text};
    arena_init(&e.arena);
    bool ok = emit_prepare(&e) && add_files(&e, &out->files);
    if (ok) emit_csim_arguments(&e, &out->csim_arguments);
    if (ok) emit_file_arguments(&e, &out->file_arguments);
    if (ok) strbuf_add_c(&out->top, e.top_name);
    for (size_t i = 0; ok && i < e.ports.len; i++) {
        StrBuf *name = vec_push(&out->ports);
        *name = (StrBuf){0};
        strbuf_add_c(name, e.ports.data[i].name);
    }
    emitter_free(&e);
    return ok;
}

void emitted_project_free(EmittedProject *project)
{
    for (size_t i = 0; i < project->files.len; i++) {
        strbuf_free(&project->files.data[i].name);
        strbuf_free(&project->files.data[i].text);
    }
    for (size_t i = 0; i < project->ports.len; i++) strbuf_free(&project->ports.data[i]);
    vec_free(&project->files);
    vec_free(&project->ports);
    strbuf_free(&project->csim_arguments);
    strbuf_free(&project->file_arguments);
    strbuf_free(&project->top);
}

bool emit_hls(Op *module, const EmitOptions *options, EmittedProject *out, StrBuf *why)
{
    return emit_hls_files(module, options, out) &&
           emit_write_project(options->output_dir, &out->files, why);
}
