/* Inside of emit/overlay. */
#ifndef MING_EMIT_OVERLAY_INTERNAL_H
#define MING_EMIT_OVERLAY_INTERNAL_H

#include "emit/overlay/overlay.h"

/* isa.c: appends engine_isa.h. */
void overlay_hls_print_isa(StrBuf *out);

#endif
