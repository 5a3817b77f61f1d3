/* Configurations that none beats: of those with equal words at all ports, one beats another if no measure
 * of it is larger; of equal ones the first stays.
 * Tests: test/unit/dse_test.c */
#ifndef MING_TARGET_DSE_PARETO_H
#define MING_TARGET_DSE_PARETO_H

#include "target/dse/dse.h"

/* Drops from the node's configurations those that are beaten; the others keep their order.
 * measures: `count` numbers per configuration, one configuration after the other; less is better. */
void dse_drop_beaten(DseNode *node, const int64_t *measures, uint32_t count);

#endif
