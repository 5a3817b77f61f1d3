/* Between the sources of emit/kernels/. */
#ifndef MING_EMIT_KERNELS_INTERNAL_H
#define MING_EMIT_KERNELS_INTERNAL_H

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "emit/emit.h"
#include "emit/kernels/kernels.h"
#include "ir/core/core.h"

/* A kernel of the system and its project. */
typedef struct KernelFiles {
    const Op *kernel, *func;
    SysPlace place;
    EmittedProject project; /* its names */
    bool has_memory;
} KernelFiles;

/* The two ends of a stream between kernels. */
typedef struct KernelEnds {
    uint32_t from, to;           /* kernels */
    uint32_t from_port, to_port; /* their arguments */
} KernelEnds;

typedef struct KernelSet {
    Op *module;
    const Op *system;
    const EmitOptions *options;
    const EmittedProject *whole; /* of the design */
    VEC(KernelFiles) kernels;
    int64_t instances; /* of the system on each card, if cards have one each; else 1 */
    bool is_dp;
} KernelSet;

/* C++ names of a kernel and of its argument. */
const char *kernels_name(const KernelFiles *kernel);
const char *kernels_port(const KernelFiles *kernel, uint32_t arg);
/* Ends of a stream of the system. */
KernelEnds kernels_ends(const KernelSet *set, const Value *stream);
/* The name of a card or of a die; the second is "SLRn" where the design does not know it. */
Str kernels_card(const KernelSet *set, int64_t card);
void kernels_print_die(const KernelSet *set, SysPlace place, StrBuf *out);
int64_t kernels_card_count(const KernelSet *set);

/* Files. */
void kernels_print_system(const KernelSet *set, StrBuf *out); /* TOP_system.cpp */
void kernels_print_config(const KernelSet *set, const KernelFiles *kernel, StrBuf *out);
void kernels_print_link(const KernelSet *set, int64_t card, StrBuf *out); /* link.cfg */
void kernels_print_make(const KernelSet *set, StrBuf *out);               /* system.mk */
void kernels_print_json(const KernelSet *set, StrBuf *out);               /* system.json */
void kernels_print_design(const KernelSet *set, StrBuf *out);             /* board/design.h */

#endif
