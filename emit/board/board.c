/* What a platform adds to a project, in its folder board/: files that are the same for all designs,
 * which are copied, and files that say what is particular to this one.
 * Tests: lit/driver/ming-compile-platform.mir, test/e2e/board_check.py */
#include "dialects/sys/sys.h"
#include "emit/board/internal.h"
#include "ir/asm/print/print.h"

typedef bool BoardPrinter(Emitter *e, StrBuf *out);

/* Of which designs a platform's file is. */
typedef enum BoardUse {
    BOARD_ALWAYS,
    BOARD_ONE_CARD,
    BOARD_CARDS,   /* --cards, --system */
    BOARD_WEIGHTS, /* that are loaded */
} BoardUse;

typedef struct BoardFile {
    EmitPlatform platform;
    const char *name;
    BoardPrinter *print; /* NULL: it is copied */
    BoardUse use;
} BoardFile;

static const BoardFile board_files[] = {
    {EMIT_PLATFORM_PYNQ, "driver.py", NULL, BOARD_ALWAYS},
    {EMIT_PLATFORM_PYNQ, "vivado.tcl", NULL, BOARD_ALWAYS},
    {EMIT_PLATFORM_PYNQ, "design.tcl", emit_pynq_design, BOARD_ALWAYS},
    {EMIT_PLATFORM_XRT, "host_frames.h", NULL, BOARD_ALWAYS},
    {EMIT_PLATFORM_XRT, "host_main.h", NULL, BOARD_ALWAYS},
    {EMIT_PLATFORM_XRT, "two_sided.h", NULL, BOARD_ALWAYS},
    {EMIT_PLATFORM_XRT, "system.cpp", NULL, BOARD_CARDS}, /* its design.h: emit/kernels */
    {EMIT_PLATFORM_XRT, "emulated_xrt.h", NULL, BOARD_CARDS},
    {EMIT_PLATFORM_XRT, "network.h", NULL, BOARD_CARDS},
    {EMIT_PLATFORM_XRT, "emulated_network.h", NULL, BOARD_CARDS},
    {EMIT_PLATFORM_XRT, "driver.py", NULL, BOARD_ONE_CARD},
    {EMIT_PLATFORM_XRT, "host.cpp", NULL, BOARD_ONE_CARD},
    {EMIT_PLATFORM_XRT, "csim_xrt.h", NULL, BOARD_ONE_CARD},
    {EMIT_PLATFORM_XRT, "design.h", emit_xrt_design, BOARD_ONE_CARD},
    {EMIT_PLATFORM_XRT, "link.cfg", emit_xrt_link, BOARD_ONE_CARD},
    {EMIT_PLATFORM_XRT, "load_weights.cpp", emit_xrt_loader, BOARD_WEIGHTS},
    {EMIT_PLATFORM_XRT, "load_weights.cfg", emit_xrt_loader_config, BOARD_WEIGHTS},
};

static bool is_used(const Emitter *e, const BoardFile *row)
{
    const bool has_cards = op_attr(e->module, SYS_ATTR_CARDS) != NULL;
    if (row->platform != e->options->platform) return false;
    if (row->use == BOARD_WEIGHTS) return e->weights && !has_cards;
    return row->use == BOARD_ALWAYS || (row->use == BOARD_CARDS) == has_cards;
}

static bool add_file(Emitter *e, const BoardFile *row, EmittedFiles *files)
{
    EmittedFile *file = emit_add_file(&e->budget, files);
    strbuf_printf(&file->name, EMIT_BOARD_FOLDER "%s", row->name);
    if (row->print) return row->print(e, &file->text);
    const char *path = emit_arena_printf(&e->arena, "%s/%s", e->options->board_dir, row->name);
    return emit_read_text_file(e->ctx, path, &file->text);
}

bool emit_add_board(Emitter *e, EmittedFiles *files)
{
    for (size_t i = 0; i < COUNT_OF(board_files); i++) {
        const BoardFile *row = &board_files[i];
        if (is_used(e, row) && !add_file(e, row, files)) return false;
    }
    return true;
}

bool emit_is_board_file(Str name)
{
    for (size_t i = 0; i < COUNT_OF(board_files); i++)
        if (str_eq_c(name, board_files[i].name)) return true;
    return false;
}

void emit_each_board_file(void (*visit)(const char *name, void *user), void *user)
{
    for (size_t i = 0; i < COUNT_OF(board_files); i++) visit(board_files[i].name, user);
}

void emit_board_usage(const Emitter *e, StrBuf *out)
{
    if (e->options->platform != EMIT_PLATFORM_XRT) return;
    if (op_attr(e->module, SYS_ATTR_CARDS))
        emit_xrt_system_usage(out);
    else
        emit_xrt_usage(e, out);
}

void emit_board_targets(const Emitter *e, StrBuf *out)
{
    if (e->options->platform == EMIT_PLATFORM_PYNQ) emit_pynq_targets(out);
    if (e->options->platform != EMIT_PLATFORM_XRT) return;
    if (op_attr(e->module, SYS_ATTR_CARDS))
        emit_xrt_system_targets(e, out);
    else
        emit_xrt_targets(e, out);
}
