/* Programs of an overlay as files. docs/overlay.md has the layout.
 * Tests: lit/target/overlay, test/e2e/engine_check.py, fuzz/fuzz_overlay.c */
#ifndef MING_TARGET_OVERLAY_OVERLAY_H
#define MING_TARGET_OVERLAY_OVERLAY_H

#include "ir/core/core.h"

enum { OVERLAY_FINGERPRINT_BYTES = 32, OVERLAY_MAX_WORDS = 1 << 26, OVERLAY_MAX_NAME = 4096 };

/* SHA-256 of the text of an #sa.overlay, by which a program and an engine know each other. */
void overlay_fingerprint(const Attr *overlay, uint8_t out[OVERLAY_FINGERPRINT_BYTES]);

/* Appends the file of a verified sa.program. False: diagnosed. */
bool overlay_write_program(const Op *program, StrBuf *out) MUST_CHECK;

/* The only sa.program of a module. NULL: diagnosed. */
const Op *overlay_find_program(const Op *module) MUST_CHECK;

bool overlay_is_binary(Str bytes); /* does it begin like a file of a program? */

/* A module with the program of a file. Instruction number i has the location `name`:i. NULL:
 * diagnosed. The caller erases the module. */
Op *overlay_read_program(Context *ctx, Str bytes, Str name) MUST_CHECK;

#endif
