/* How often functions that may be dropped are referred to, kept up to date while calls are
 * inlined: who has no use is dead, the last use may take the body itself.
 * Tests: lit/passes/inline.mir, lit/passes/inline-dce.mir */
#ifndef MING_PASSES_CALL_USES_H
#define MING_PASSES_CALL_USES_H

#include "analysis/call_graph.h"

typedef struct CallUses {
    const CallGraph *graph;
    SymbolTables *tables;
} CallUses;

/* Keeps its numbers in the nodes' data. */
void call_uses_init(CallUses *uses, Op *root, const CallGraph *graph, SymbolTables *tables);
void call_uses_free(CallUses *uses);
/* Counts anew what the node's function refers to. */
void call_uses_recompute(CallUses *uses, CallNode *node);
/* A call in that function goes. */
void call_uses_drop_call(CallUses *uses, CallNode *node, Op *call);
/* A copy of the body of `from` was put into `to`. */
void call_uses_merge(CallNode *from, CallNode *to);
/* The function goes, with what it refers to. */
void call_uses_erase(CallNode *node);
bool call_uses_is_dead(const CallNode *node);
bool call_uses_is_last(const CallNode *node); /* one use is left, and it may take the body */

#endif
