/* Sums of products of integers, the body of convolutions and matrix products:
 *   yield out + f(a) * g(b)
 * with f and g of one input each (extensions, zero points subtracted, …). f and g are computed once
 * for every element of their operands; the sums are exact modulo 2^64, hence modulo the width.
 * Tests: test/unit/interp_test.c, test/e2e/run_check.py */
#ifndef MING_SIM_MAC_H
#define MING_SIM_MAC_H

#include "sim/vm/loop_nest.h"

typedef struct Mac Mac;

/* The pattern in the body of a structured op, or NULL. */
Mac *vm_mac_recognize(const Op *op);
void vm_mac_free(Mac *mac); /* NULL is fine */
/* Whether this nest's maps are linear. */
bool vm_mac_can_run(const Mac *mac, const Nest *nest);
/* Adds the sums to the nest's output. False: undefined behaviour in f or g, diagnosed. */
bool vm_mac_run(const Mac *mac, const Nest *nest, Arena *arena) MUST_CHECK;

#endif
