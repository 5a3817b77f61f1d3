/* Where the elements of a frame are at the boundary of a design: in the words of a stream, in a memory
 * that a process reads or writes, in the words that load the tables.
 * Tests: lit/sim/hls-values.mir, lit/sim/hls-once.mir */
#ifndef MING_SIM_HLS_PORTS_H
#define MING_SIM_HLS_PORTS_H

#include "ir/attr/array.h"
#include "sim/design/design.h"

typedef enum HlsDirection { HLS_NO_DATA, HLS_DATA_IN, HLS_DATA_OUT } HlsDirection;

/* Of an argument of the top function. The port of weights has no data: the tables have it. */
HlsDirection design_argument_direction(const HlsDesign *design, uint32_t arg);
/* Its tensor of a frame (emithls.frame). NULL: it does not describe one. */
const Type *design_argument_frame(const HlsDesign *design, uint32_t arg);

/* The elements of a port, in the order of its words. */
typedef struct HlsPort {
    uint32_t arg;
    int64_t *elements; /* places in the array */
    int64_t count, lanes; /* of a frame, of a word */
    Array *array;      /* of the current frame; borrowed */
    Array *weights;    /* given in the first frame instead; owned, or NULL */
} HlsPort;

/* Of an argument that is a stream of such words, or that is a memory (NULL). False: diagnosed. */
bool design_port_init(const HlsDesign *design, const HlsStream *stream, uint32_t arg, Arena *arena,
                   HlsPort *out) MUST_CHECK;

#endif
