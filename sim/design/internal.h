/* The schedule of an iteration and arrays as hardware, for the sources of sim/design only:
 *
 *   op_schedule.c     when each op is done, as early as its operands allow
 *   loop_schedule.c   initiation interval and depth of a loop; what has to come later than that
 *   memory_ports.c    arrays: registers, or memories with a limited number of ports
 *
 * Tests: lit/sim/design/schedule.mir, lit/sim/design/memories.mir */
#ifndef MING_SIM_DESIGN_INTERNAL_H
#define MING_SIM_DESIGN_INTERNAL_H

#include "sim/design/design.h"

enum { SCHEDULE_ABSENT = -1 };

/* A walk through an iteration, and what it finds. */
typedef struct Schedule {
    HlsDesign *design; /* whose cycles it notes */
    Clock clock;
    const HlsLoop *loop;
    bool is_given;         /* ops are in the cycles of their attributes */
    const PtrMap *floors;  /* cycle in which a load begins, or a read has its word, at the earliest;
                              NULL: none */
    const Value *source;   /* only what depends on loads of this array has a time; NULL: all */
    const Op *source_load; /* only on this one, or NULL */
    VEC(const Op *) carried; /* such loads: they find what an iteration before has stored */
    PtrMap times; /* of values, of arrays when last stored, of reads, writes and stores; plus 1 */
    VEC(const Value *) arrays; /* that are accessed, once each */
    int64_t end;               /* time of the last result */
    int64_t entered;           /* when the condition around is known */
    bool source_is_lost;       /* the stored value does not depend on it */
    bool is_conditional;       /* inside an if */
    bool is_copied;            /* inside an unrolled loop */
    bool is_repeated;          /* behind its first copy */
} Schedule;

/* Walks through the iteration as the first seven fields say. False: diagnosed. */
bool design_walk(Schedule *schedule) MUST_CHECK;
void design_schedule_free(Schedule *schedule);
/* The time in the schedule's map `times`; SCHEDULE_ABSENT: none. */
int64_t design_time_of(const Schedule *schedule, const void *key);
void design_note_cycle(HlsDesign *design, const Op *op, int64_t cycle);
/* The cycle that an op's attribute gives. False: diagnosed, there is none. */
bool design_given_cycle(const Op *op, int64_t *cycle) MUST_CHECK;
/* Whether the array is declared in the loop's body, so that each copy has its own. */
bool design_is_inside(const Op *loop, const Value *array);

/* Whether the array is a delay line of registers: element 0 is stored to, each other one takes what
 * its neighbour holds. A stored value then reaches the element that `load` reads `*distance`
 * iterations later; without the dependence pragma no more can be told. Do not ask about loads that
 * only pass an element on (design_is_shift). */
bool design_is_delayed(const HlsMemory *memory, const Op *load, int64_t *distance);
/* Whether a load only feeds the store that moves its element on by one place. */
bool design_is_shift(const Op *load);
/* The timing of a load from the array. */
OpTiming design_load_timing(const HlsMemory *memory, const HlsLoop *loop, const Op *load);
/* Cycles that the ports need for an iteration's accesses to the array: a lower bound of the
 * initiation interval. Equal addresses in one bank share an access. False: diagnosed. */
bool design_port_cycles(const HlsMemory *memory, const HlsLoop *loop, int64_t *cycles) MUST_CHECK;

#endif
