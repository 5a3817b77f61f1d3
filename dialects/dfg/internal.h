/* Inside of dialects/dfg: the hooks of rows and types whose code is in dfg_syntax.c (text),
 * dfg_window.c and dfg_move.c (checks of dfg.window, dfg.reorder and dfg.merge). */
#ifndef MING_DIALECTS_DFG_INTERNAL_H
#define MING_DIALECTS_DFG_INTERNAL_H

#include "dialects/dfg/dfg.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

const Type *dfg_parse_input_type(OpParser *p);
const Type *dfg_parse_output_type(OpParser *p);
void dfg_print_end_type(StrBuf *out, const Type *type);

bool dfg_parse_graph(OpParser *p);
void dfg_print_graph(OpPrinter *p, const Op *op);
bool dfg_parse_channel(OpParser *p);
void dfg_print_channel(OpPrinter *p, const Op *op);
bool dfg_parse_instantiate(OpParser *p);
void dfg_print_instantiate(OpPrinter *p, const Op *op);
bool dfg_parse_connect(OpParser *p);
void dfg_print_connect(OpPrinter *p, const Op *op);
bool dfg_parse_pull(OpParser *p);
void dfg_print_pull(OpPrinter *p, const Op *op);
bool dfg_parse_push(OpParser *p);
void dfg_print_push(OpPrinter *p, const Op *op);

bool dfg_verify_window(Op *op);
bool dfg_verify_reorder(Op *op);
bool dfg_verify_merge(Op *op);

#endif
