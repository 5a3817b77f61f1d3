/* Textual form and checks shared by func-like ops of any dialect:
 *   visibility? @name(args) -> results attributes {…}? body? */
#ifndef MING_DIALECTS_FUNCTION_ASM_H
#define MING_DIALECTS_FUNCTION_ASM_H

#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

bool func_like_parse(OpParser *p);
void func_like_print(OpPrinter *p, const Op *op);
/* Entry block and attribute arrays agree with the type. */
bool func_like_verify(Op *op);
/* A terminator's operands are what the enclosing function promises; the words are for messages:
 * "return" operands, the function "returns". */
bool func_like_verify_return(Op *op, const char *noun, const char *verb);

#endif
