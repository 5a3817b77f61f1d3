/* The inside of emit/board: what each platform adds to a project.
 * Tests: lit/driver/ming-compile-platform.mir, test/e2e/board_check.py */
#ifndef MING_EMIT_BOARD_INTERNAL_H
#define MING_EMIT_BOARD_INTERNAL_H

#include "emit/internal.h"

/* board/design.tcl: what vivado.tcl must know. False: diagnosed, the design has no such form. */
bool emit_pynq_design(Emitter *e, StrBuf *out) MUST_CHECK;
void emit_pynq_targets(StrBuf *out);

/* board/design.h: what host.cpp must know. False: diagnosed, the design has no such form. */
bool emit_xrt_design(Emitter *e, StrBuf *out) MUST_CHECK;
/* board/link.cfg, for v++ --link. */
bool emit_xrt_link(Emitter *e, StrBuf *out) MUST_CHECK;
/* board/load_weights.cpp and .cfg: the kernel that sends weights from memory to the accelerator. */
bool emit_xrt_loader(Emitter *e, StrBuf *out) MUST_CHECK;
bool emit_xrt_loader_config(Emitter *e, StrBuf *out) MUST_CHECK;
void emit_xrt_usage(const Emitter *e, StrBuf *out);
void emit_xrt_targets(const Emitter *e, StrBuf *out);
/* The same of designs on several cards, whose kernels emit/kernels links. */
void emit_xrt_system_usage(StrBuf *out);
void emit_xrt_system_targets(const Emitter *e, StrBuf *out);

#endif
