/* Configurations that another one of the same process can stand for, in whatever design they are: with
 * the converters beside it, which then convert other words, it takes no more of anything.
 * Tests: test/unit/dse_test.c */
#ifndef MING_TARGET_DSE_SWAP_H
#define MING_TARGET_DSE_SWAP_H

#include "target/dse/dse.h"

enum { DSE_MAX_MEASURES = COST_KINDS + 2 };

/* Numbers of a configuration that are added up over a design, less is better; gives how many. */
typedef uint32_t DseMeasure(const void *user, uint32_t node, uint32_t config, int64_t *out);

/* has_pace: the first number is not added up, it must not grow anywhere. Clears `alive`, per node and configuration, of those that are not needed: at least one design of those
 * that cannot be beaten is left. Dead configurations count as absent. */
void dse_drop_replaceable(const DseSpace *space, DseMeasure *measure, const void *user, bool has_pace,
                          bool **alive);

#endif
