/* Passes on emithls, the hardware level that dfg is lowered to: ports to memories or DMAs, weights that
 * are loaded at start-up, and processes that write to several readers.
 *
 * Each PassDef states its name, anchor and options; the opening of its source states what it
 * requires, changes and preserves. The driver builds pipelines of them; docs/reference describes
 * each from its PassDef.
 * Tests: lit/passes/dfg, test/e2e */
#ifndef MING_PASSES_DFG_PASSES_H
#define MING_PASSES_DFG_PASSES_H

#include "ir/core/core.h"
#include "ir/pass/pass.h"

extern const PassDef pass_add_dma_ports;
extern const PassDef pass_add_memory_ports;
extern const PassDef pass_load_weights;
extern const PassDef pass_merge_forks;
extern const PassDef pass_stream_weights;

/* How rows of so many elements lie in bus words of integers of 64 bits (stream-weights). */
enum { STREAM_UNIT_BITS = 64 };
typedef struct StreamShape {
    int64_t per_unit;      /* elements of an integer */
    int64_t rows_per_unit; /* rows that share an integer, or 1 */
    int64_t units;         /* integers of a row */
    int64_t bus_lanes;     /* integers of a bus word */
    int64_t rows_per_bus;  /* rows of a bus word, or 1 */
    int64_t chunks;        /* bus words of a row, or 1 */
    int64_t beats;         /* bus words of a run */
} StreamShape;
/* rows: of a run, which begins with a bus word. */
void stream_table_shape(int64_t lanes, int64_t bits, int64_t rows, int64_t bus_bits,
                        StreamShape *out);

/* How a word of a stream lies in a memory: elements of so many bits, how many of them from one word to
 * the next, and bus words that it takes, 1 if several share one. */
typedef struct PortSlot {
    int64_t bits, elements, beats;
} PortSlot;
/* False: it has elements of more than 64 bits. */
bool port_process_slot(const Type *word, PortSlot *out) MUST_CHECK;
/* Whether attributes of a port say that the host copies what it carries from card to card. */
bool port_process_is_copied(const Attr *port);

#endif
