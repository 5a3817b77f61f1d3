/* Who calls whom: a node for each function with a body, an edge for each call to one and for each
 * function inside another.
 * Tests: lit/passes/inline.mir, lit/passes/inline-recursion.mir */
#ifndef MING_PASSES_CALL_GRAPH_H
#define MING_PASSES_CALL_GRAPH_H

#include "ir/core/op.h"
#include "ir/core/symbol.h"

typedef struct CallNode CallNode;

typedef struct CallEdge {
    CallNode *target;
    bool is_child; /* the target is inside, not called */
} CallEdge;

struct CallNode {
    Op *op;         /* the function */
    Region *region; /* its body */
    CallNode *parent; /* around it, or NULL */
    VEC(CallEdge) edges; /* each once, in order */
    PtrMap called;       /* the targets of those that are calls */
    uint32_t visited, lowest; /* of the search for components; 0: not seen, UINT32_MAX: done */
    void *data; /* the user's; freed by it */
};

typedef VEC(CallNode *) CallNodes;

typedef struct CallGraph {
    CallNodes nodes;  /* in order of the functions */
    PtrMap by_region; /* Region* -> CallNode* */
} CallGraph;

void call_graph_init(CallGraph *graph, Op *root, SymbolTables *tables);
void call_graph_free(CallGraph *graph);
/* The function whose body the region is; NULL: none. */
CallNode *call_graph_node(const CallGraph *graph, const Region *region);
/* Called by its body or by a body inside that; NULL: in no function. */
CallNode *call_graph_around(const CallGraph *graph, const Region *region);
/* What a call calls; NULL: unknown, or without a body. */
CallNode *call_graph_callee(const CallGraph *graph, const Op *call, SymbolTables *tables);
/* Strongly connected components, callees before callers, each with its members from the last
 * found to the first. `visit` returns false to stop; the result says whether it did not. */
bool call_graph_each_component(CallGraph *graph, bool (*visit)(void *user, CallNodes *members),
                               void *user);

#endif
