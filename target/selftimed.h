/* Self-timed simulation of a dataflow network from its access traces: every process advances its
 * pipeline in each cycle in which it can, frames follow each other without end, region ports never
 * block. A pipeline stalls as a whole, as HLS's do: an iteration that waits for a word holds back the
 * results of those before it.
 * Tests: test/unit/selftimed_test.c */
#ifndef MING_TARGET_SELFTIMED_H
#define MING_TARGET_SELFTIMED_H

#include "target/trace.h"

/* Cycles from an iteration's reads to its writes. */
enum { ACTOR_LATENCY = 8, ACTOR_MAX_PORTS = 32, NO_FIFO = -1 };

/* A FIFO between two actors; `peak` is the most words that it held at once. */
typedef struct Fifo {
    uint32_t writer, reader; /* actors */
    int64_t depth, peak;
    int64_t words, last_push, last_pop; /* state: words held, cycles of the last accesses */
} Fifo;

/* A write in the pipeline: due when the actor has made `step` steps. */
typedef struct PendingWrite {
    int64_t step;
    uint32_t ports;
} PendingWrite;

typedef struct Actor {
    const AccessTrace *trace;
    int fifo[ACTOR_MAX_PORTS]; /* per port, or NO_FIFO for a port of the region */
    /* state */
    size_t run;     /* of the trace */
    uint32_t left;  /* cycles left of it */
    int64_t step, frame;
    int64_t wake;   /* cycle of its next step, -1 while it waits */
    PendingWrite pending[ACTOR_LATENCY + 1]; /* a ring */
    uint32_t first_pending, pending_count;
} Actor;

typedef struct Network {
    VEC(Actor) actors;
    VEC(Fifo) fifos;
    int64_t events; /* steps to simulate before giving up */
} Network;

typedef enum NetworkFate {
    NETWORK_PERIODIC, /* the state of a frame's end came back: it goes on like this forever */
    NETWORK_DEADLOCK, /* no actor can advance; waiting ones have wake < 0 */
    NETWORK_UNDECIDED /* more events than allowed */
} NetworkFate;

/* Runs the network from the start with empty FIFOs and sets the peaks. Kahn's argument makes the fate hold for any
 * other timing of the processes too. */
NetworkFate network_run(Network *net);
/* After a deadlock: the shallowest full FIFO of a cycle of actors that wait for each other, which a
 * greater depth may break (Parks); NO_FIFO if none of them waits for room. */
int network_tight_fifo(const Network *net);
void network_free(Network *net); /* traces stay */

#endif
