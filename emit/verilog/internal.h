/* The inside of the printer of Verilog, for the sources of emit/verilog only. */
#ifndef MING_EMIT_VERILOG_INTERNAL_H
#define MING_EMIT_VERILOG_INTERNAL_H

#include "dialects/comb/comb.h"
#include "dialects/hw/hw.h"
#include "dialects/seq/seq.h"
#include "emit/verilog/verilog.h"
#include "ir/asm/print/print.h"

/* Identifiers in use, and those given to symbols or values.
 * Tests: lit/emit/verilog/names.mir */
typedef struct VerilogNames {
    Context *ctx;
    PtrMap taken; /* Ident* -> number behind the last name that was made of it, or 1 */
} VerilogNames;

/* How a module is named where it is defined and where it is instantiated. */
typedef struct VerilogInterface {
    const char *module;
    const char **inputs, **outputs;
} VerilogInterface;

/* An identifier like raw that is no keyword and not in use yet; it lives as long as the context. */
const char *verilog_fresh_name(VerilogNames *names, Str raw);
/* Has an identifier count as in use. */
void verilog_take_name(VerilogNames *names, const Ident *name);

/* How a value is written where it is used. */
typedef struct VerilogText {
    const char *text;
    bool is_name; /* an identifier, of which bits can be selected */
    bool is_atom; /* needs no parentheses as an operand */
} VerilogText;

/* The hw.module that is being printed. */
typedef struct VerilogModule {
    Context *ctx;
    Op *op;
    Arena arena; /* of the texts */
    VerilogNames names;
    const VerilogFiles *files;
    const PtrMap *symbols; /* symbol Ident* -> VerilogInterface* */
    PtrMap texts;          /* Value* -> VerilogText* */
    PtrMap visited;        /* set of Op*: comb ops that were begun, registers that are printed */
    PtrMap rows;           /* Op* -> name of a row of registers, or of an instance */
    VEC(const char *) ports;
    StrBuf declarations, wires, body;
} VerilogModule;

/* Appends text, broken at blanks so that lines stay below 100 characters where they can. */
void verilog_add_wrapped(StrBuf *out, const char *text);
/* "wire [7:0]", "reg" for one bit. */
void verilog_add_type(StrBuf *out, const char *keyword, uint32_t width);
/* The integer as a literal of its width: 8'd200, 100'h1f. */
void verilog_add_literal(StrBuf *out, const BigInt *value);
/* Whether what was printed may stay, and more follow. False: diagnosed at the op. */
bool verilog_has_room(const VerilogModule *m, const Op *op) MUST_CHECK;
const char *verilog_printf(VerilogModule *m, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Sets how a value is written that is no comb op: an argument, a register, a port's word. */
void verilog_set_name(VerilogModule *m, const Value *value, const char *name);
/* The text of a value; the wires that it needs are declared before. NULL: diagnosed. */
const VerilogText *verilog_text(VerilogModule *m, Value *value);

/* The name of a value of which bits are selected; it has a text already. */
const char *verilog_selectable(VerilogModule *m, const Value *value);

/* Names and declares a register, a memory, the word that a port reads. A memory is declared before
 * its ports. False: diagnosed. */
bool verilog_declare_register(VerilogModule *m, Op *op) MUST_CHECK;
bool verilog_declare_memory(VerilogModule *m, Op *op) MUST_CHECK;
void verilog_declare_read(VerilogModule *m, Op *op);
/* Appends the statements of all registers, and of a port. False: diagnosed. */
bool verilog_print_registers(VerilogModule *m) MUST_CHECK;
bool verilog_print_port(VerilogModule *m, Op *op) MUST_CHECK;
/* Prints the words of seq.contents into a file, in hexadecimal, a line each. False: diagnosed. */
bool verilog_print_contents(const VerilogFiles *files, const char *name, const Op *firmem)
    MUST_CHECK;
/* The file that `init` names. */
Str verilog_init_file(const Op *firmem);

/* Prints one module into a file of that name. False: diagnosed. */
bool verilog_print_module(Op *op, const PtrMap *symbols, const VerilogFiles *files,
                          const char *name) MUST_CHECK;

#endif
