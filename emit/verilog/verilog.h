/* Verilog-2005 from modules of hw, comb and seq, in the subset that Verilator, Yosys, Icarus and
 * Vivado read alike. Each hw.module becomes a file, and so do the contents of each memory.
 *
 * Values keep their widths: an expression has the width of its context, because operands of comb ops
 * have one width, and where a sign matters operands are cast. A value gets a wire of its own where
 * it has a name hint, is used several times, or becomes long; ports and registers keep their names
 * as far as Verilog lets them. Whatever has no Verilog form is refused with a diagnostic at the op.
 * emit/ builds projects of it. docs/rtl.md.
 * Tests: lit/emit/verilog */
#ifndef MING_EMIT_VERILOG_VERILOG_H
#define MING_EMIT_VERILOG_VERILOG_H

#include "ir/core/core.h"

/* Where the printed files go. */
typedef struct VerilogFiles {
    /* Gives the text of a new file of that name, to which the printer appends. */
    StrBuf *(*new_file)(void *user, const char *name);
    /* Whether the newest file may have that many bytes. False: diagnosed at the op. */
    bool (*has_room)(void *user, const Op *op, size_t bytes);
    /* Whether a module of that name, or its file, is there already. */
    bool (*is_taken)(void *user, Str name);
    void *user;
} VerilogFiles;

/* Prints the modules in their order, "NAME.v" each, and behind each the contents of its memories.
 * False: diagnosed; the files so far are then worth nothing. */
bool verilog_print(Op *module, const VerilogFiles *files) MUST_CHECK;

#endif
