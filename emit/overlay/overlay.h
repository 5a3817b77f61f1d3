/* The engine that runs programs of an overlay, as an HLS project: processes in C++ that are the same
 * for every size (engine/), what they are built with (engine_config.h), the instructions
 * (engine_isa.h, from the rows of the sa dialect), a testbench, build files.
 *
 *   files.c   the project     isa.c   decoder and registers     cost.c   predicted resources
 *
 * docs/overlay.md. Tests: lit/emit/overlay.test, test/e2e/engine_csim_check.py */
#ifndef MING_EMIT_OVERLAY_OVERLAY_H
#define MING_EMIT_OVERLAY_OVERLAY_H

#include "dialects/sa/sa.h"
#include "schedule/schedule.h"
#include "target/cost/cost.h"

/* What of a device an engine's resources depend on. */
typedef struct OverlayHlsDevice {
    bool has_uram;
    DspShape dsp;
} OverlayHlsDevice;

typedef struct OverlayHlsOptions {
    const char *output_dir;
    const char *csim_dir, *engine_dir; /* where the simulation headers and the engine's C++ are */
    const char *board_dir;             /* and what hosts of cards share */
    Str part;
    int64_t clock;      /* MHz */
    int64_t kernels;    /* on a card */
    Str bank_name;      /* of its external memory */
    int64_t bank_count; /* 0: not known */
    OverlayHlsDevice device;
    Str program; /* text of a program for the engine, engine.mir; or empty */
} OverlayHlsOptions;

/* Writes the project of an #sa.overlay as emit_write_project does. False: diagnosed, or what the
 * directory lacks is appended to *why. */
bool overlay_hls_write(Context *ctx, const Attr *overlay, const OverlayHlsOptions *options,
                       StrBuf *why) MUST_CHECK;

/* Parts of the engine with their resources, as the cost model predicts them. */
typedef struct OverlayHlsPart {
    const char *name;
    bool has_rows; /* belongs to rows of the array, and is where these are */
    Cost cost;
} OverlayHlsPart;
enum { OVERLAY_HLS_PARTS = 7 };
/* Pages and weight buffers are UltraRAM where the device has some, and those of engines of planes are
 * block RAM in any case. */
bool overlay_hls_uses_uram(const SaOverlay *overlay, bool has_uram);
void overlay_hls_cost(const SaOverlay *overlay, const OverlayHlsDevice *device,
                      OverlayHlsPart parts[OVERLAY_HLS_PARTS], Cost *total);

#endif
