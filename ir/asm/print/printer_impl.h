/* Inside of the op printer: its state, and what print.c, print_op.c, print_top.c and
 * format_print.c need from each other.
 *
 * Printing with aliases walks everything twice with the same hooks. The dry walk writes nothing
 * and only tells asm_alias.c what will be printed; the second one writes. `dry` is tested where
 * text or an alias would come from, and where a form would be printed in another order than
 * upstream visits it. */
#ifndef MING_IR_PRINTER_IMPL_H
#define MING_IR_PRINTER_IMPL_H

#include "ir/asm/print/asm_alias.h"
#include "ir/asm/print/asm_names.h"
#include "ir/asm/print/print.h"
#include "ir/asm/print/print_impl.h"

struct OpPrinter {
    AsmWriter w;
    StrBuf *out; /* where text goes; in the dry walk a buffer that is thrown away */
    const PrintOptions *options;
    AsmNames *names;     /* NULL in the dry walk */
    AsmAliases *aliases; /* NULL: no aliases */
    bool dry;
    uint32_t indent; /* columns */
    const DialectDef *default_dialect; /* its prefix is left out here; or NULL */
    PtrMap distinct;  /* Attr* -> number + 1 */
    PtrMap resources; /* dense_resource attributes printed, in order */
};

/* The op with its results and location, without indentation's newline. */
void printer_op(OpPrinter *p, const Op *op);
void printer_indent(OpPrinter *p);
/* Of an op: " loc(...)" if asked. Of an argument: the same, never an alias itself. */
void printer_op_loc(OpPrinter *p, const Attr *loc);
void printer_arg_loc(OpPrinter *p, const Attr *loc);
/* Comments of --mlir-print-value-users (print_users.c). */
void printer_users_of_op(OpPrinter *p, const Op *op);
void printer_users_of_arg(OpPrinter *p, const Value *arg);

/* The section {-# … #-} behind a file (print_resources.c), if there is anything for it. */
void printer_resources(OpPrinter *p, const Context *ctx);

/* The op's discardable (and, if asked, inherent) attributes for which keep holds, as
 * printer_attr_dict writes them. */
void printer_attr_dict_filtered(OpPrinter *p, const Op *op, bool inherent, bool with_keyword,
                                bool (*keep)(const void *user, const NamedAttr *item),
                                const void *user);
/* "i32, f32" of a range of operands or results. */
void printer_operand_types(OpPrinter *p, const Op *op, uint32_t begin, uint32_t count);
void printer_result_types_in(OpPrinter *p, const Op *op, uint32_t begin, uint32_t count);
/* A dialect attribute without "#dialect.name". */
void printer_attr_stripped(OpPrinter *p, const Attr *attr);

/* By the row's assembly format. */
void print_by_format(const struct Format *format, OpPrinter *p, const Op *op);

#endif
