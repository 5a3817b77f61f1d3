/* Between dfg_to_emithls.c (graph, forks) and dfg_to_emithls_window.c, _compute.c and _move.c. */
#ifndef MING_LOWERING_DFG_TO_EMITHLS_H
#define MING_LOWERING_DFG_TO_EMITHLS_H

#include "ir/core/symbol.h"
#include "dialects/emithls/emithls_build.h"
#include "schedule/schedule.h"

/* A process being lowered: its function, open for building. */
typedef struct Lowering {
    Op *process, *func;
    SymbolTable *symbols; /* of the module: tables are added to it */
    Nest nest;
} Lowering;

/* Word of a channel end: the element type, or a vector of the word's elements. */
const Type *to_emithls_word_type(const Type *end);
/* Stream argument of a port. */
Value *to_emithls_port_stream(const Lowering *l, uint32_t port);
/* Storage chosen for an op's memory (attribute dfg.storage), "auto" if none. A window has one memory
 * per level, other ops have level 0 only. */
Str to_emithls_storage_of(const Op *op, uint32_t level);

/* Declares a table of the module, named after the function and a role, and binds it in the function.
 * kind: its ports, as "rom_1p"; has_lanes: its last dimension is the elements of a word. */
Value *to_emithls_declare_table(Lowering *l, const Attr *elements, Str role, const char *kind, Str storage,
                     bool has_lanes);

bool to_emithls_window(Lowering *l) MUST_CHECK;
bool to_emithls_compute(Lowering *l) MUST_CHECK;
bool to_emithls_reorder(Lowering *l) MUST_CHECK;
bool to_emithls_merge(Lowering *l) MUST_CHECK;
bool to_emithls_converter(Lowering *l) MUST_CHECK;

/* Remarks on loops and arrays of a lowered function that are too large for synthesis. */
void to_emithls_remark_size(Op *func);

#endif
