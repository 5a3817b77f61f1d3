/* Simulates a program of an overlay: exact numbers and cycles. docs/overlay.md says what each
 * command does and how long it takes. What the hardware would leave undefined is an error at its
 * instruction: numbers that do not fit an accumulator, memory that is read before it is written or
 * while it is, ports that two commands want, commands that wait for each other.
 * Tests: test/e2e/engine_check.py, lit/sim/engine */
#ifndef MING_SIM_ENGINE_ENGINE_H
#define MING_SIM_ENGINE_ENGINE_H

#include "dialects/sa/sa.h"
#include "sim/interp/interp.h"
#include "sim/io/io.h"

enum { ENGINE_LA, ENGINE_LW, ENGINE_FL, ENGINE_CO, ENGINE_ST, ENGINE_UNITS };

enum {
    ENGINE_MAX_BANKS = 64,
    ENGINE_MAX_LANES = 1 << 26, /* numbers in all memories of an overlay that is simulated */
};

/* External memory. A bank moves `rate` bytes in 1,000 cycles and answers `latency` cycles after a
 * command asks; each further run costs `restart` cycles. It serves one command at a time. */
typedef struct EngineBank {
    uint8_t *bytes; /* owned by the caller */
    size_t size;
} EngineBank;

typedef struct EngineOptions {
    uint64_t rate, latency, restart;
    uint64_t max_cycles; /* 0: no limit */
    bool is_timed_only;  /* nothing is moved or computed; products are not counted */
} EngineOptions;

#define ENGINE_DEFAULTS                                                                            \
    ((EngineOptions){.rate = 64000, .latency = 64, .restart = 4, .max_cycles = UINT64_C(1) << 28})

/* One command as it was run. */
typedef struct EngineEvent {
    const Op *op;
    uint32_t unit;
    uint64_t start, end; /* cycles; end is the first one behind it */
} EngineEvent;
typedef VEC(EngineEvent) EngineEvents;

typedef struct EngineResult {
    uint64_t cycles;             /* until END is over */
    uint64_t busy[ENGINE_UNITS]; /* cycles that commands took */
    uint64_t loaded, stored;     /* bytes */
    uint64_t products;           /* multiplications whose result counts, padding left out */
    EngineEvents events;         /* in the order of their starts */
} EngineResult;

/* Runs a verified sa.program on the banks. False: diagnosed at an instruction; the banks are then in
 * no defined state. The caller frees the result in either case. */
bool engine_run(const Op *program, const EngineOptions *options, EngineBank *banks,
                size_t bank_count, EngineResult *result) MUST_CHECK;
void engine_result_free(EngineResult *result);
const char *engine_unit_name(uint32_t unit);
/* Appends a timeline of the units as SVG, under the program's name. */
void engine_print_svg(const EngineResult *result, Str name, StrBuf *out);

/* A sa.port beside a program, and its array. */
typedef struct EnginePort {
    const Op *op;
    bool has_type;  /* the boundary is that of a function; else the map's own */
    bool is_folded; /* words hold windows of the function's map */
    int64_t fold[SA_FOLD_COUNT], extents[3]; /* of them; of the function's map */
    int64_t offset;                          /* of the function's numbers above those of the map */
    int64_t images;                          /* frames that the map has, one below the other */
    Boundary boundary;
    Npy npy; /* owned */
} EnginePort;

/* Bytes of external memory that a port's map takes. */
uint64_t engine_port_bytes(const Op *op);
/* False: diagnosed; engine_port_free is right anyway. */
bool engine_port_init(EnginePort *port, const Op *op) MUST_CHECK;
void engine_port_free(EnginePort *port);
/* Takes over an array for an input, and counts its frames. False: *why says what is wrong with a file
 * whose name stands in front of it, and the array stays the caller's. */
bool engine_port_take(EnginePort *port, const Npy *npy, int64_t *frames, StrBuf *why) MUST_CHECK;
/* Frames that a program takes at once, which all ports beside it have. False: diagnosed, they differ. */
bool engine_images(const Op *module, int64_t *images) MUST_CHECK;
/* A frame of an array, and its image in a map. */
typedef struct EngineFrame {
    int64_t frame, frames, image; /* frames: of the array */
} EngineFrame;
/* Writes a frame of an input to the map's place in external memory, and reads one of an output from
 * there into its array. False: *why tells. */
bool engine_port_enter(const EnginePort *port, const EngineFrame *frame, uint8_t *to, StrBuf *why)
    MUST_CHECK;
bool engine_port_leave(EnginePort *port, const EngineFrame *frame, const uint8_t *from, StrBuf *why)
    MUST_CHECK;
/* An image of an output in the map's place, as the function's array: a new reference. NULL: *why
 * tells. */
Array *engine_port_read(const EnginePort *port, int64_t image, const uint8_t *from, StrBuf *why)
    MUST_CHECK;

/* What the host computes behind a program: a function beside it, which takes the program's outputs in
 * their order and gives the model's. Zeros before engine_host_init. */
typedef struct EngineOutput {
    Boundary boundary;
    Npy npy; /* owned */
} EngineOutput;

typedef struct EngineHost {
    const Op *func; /* NULL: there is none, ports are the model's */
    Interp *interp;
    VEC(EnginePort) maps;
    VEC(EngineOutput) results;
} EngineHost;

/* False: diagnosed; engine_host_free is right anyway. */
bool engine_host_init(EngineHost *host, const Op *module) MUST_CHECK;
void engine_host_free(EngineHost *host);
/* Runs the function on a frame of the maps in external memory. False: diagnosed, or *why tells. */
bool engine_host_run(EngineHost *host, const EngineBank *banks, const EngineFrame *frame,
                     StrBuf *why) MUST_CHECK;

#endif
