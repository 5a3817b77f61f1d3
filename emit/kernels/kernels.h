/* The files of a design that is kernels on cards, beside those of the design as a whole.
 *
 *   sys.system ─▶ kernels/NAME.cpp, .h, _params.h, .cfg   a kernel each, and NAME_system.cpp that
 *                                                          calls them in the order of the data
 *   sys.link   ─▶ kernels/netN_*.cpp, .cfg                adapters at both ends (adapters.c)
 *              ─▶ cardN/link.cfg, system.mk, system.json   how they are linked, made, and where
 *
 * docs/partition.md. Tests: lit/emit/kernels.test, test/e2e/system_check.py */
#ifndef MING_EMIT_KERNELS_KERNELS_H
#define MING_EMIT_KERNELS_KERNELS_H

#include "emit/emit.h"

/* Adds the files to those of the whole design, which are there. system: of the same design, after
 * split-region. False: diagnosed. */
bool kernels_emit(Op *system, const EmitOptions *options, EmittedProject *project) MUST_CHECK;

#endif
