/* Pattern rewriting: rewriter, greedy worklist driver with folding, CSE of constants and
 * dead-code removal; canonicalization patterns come from the op tables.
 * Tests: lit/passes/canonicalize.mir, test/unit/rewrite_test.c */
#ifndef MING_IR_REWRITE_H
#define MING_IR_REWRITE_H

#include "ir/core/builder.h"

/* A rewriter is a builder that tells the driver what changed; patterns change IR only by it. */
struct Rewriter {
    Builder b;
    void *driver;
    void (*inserted)(Rewriter *rw, Op *op);
    void (*modified)(Rewriter *rw, Op *op);
    void (*erasing)(Rewriter *rw, Op *op);
    /* If set, takes over replacing an op (erasing it when values is NULL) and does it later. */
    void (*replacing)(Rewriter *rw, Op *op, Value *const *values);
};

/* A rewriter that tells nobody, for patterns' helpers used outside a driver. */
Rewriter rewriter_plain(Context *ctx);
void rewriter_replace(Rewriter *rw, Op *op, Value *const *values, uint32_t count); /* and erase */
void rewriter_replace_one(Rewriter *rw, Op *op, Value *value);
void rewriter_erase(Rewriter *rw, Op *op);
/* With all its ops; uses of what it defines are dropped, and so are branches to it. */
void rewriter_erase_block(Rewriter *rw, Block *block);
void rewriter_modified(Rewriter *rw, Op *op); /* call after changing op in place */
/* Inserts a detached op (a clone, say) at the builder's point and announces all it holds. */
Op *rewriter_insert(Rewriter *rw, Op *op);
void rewriter_replace_value(Rewriter *rw, Value *from, Value *to);

typedef struct Pattern {
    const char *name;
    const OpDef *root; /* NULL: any op */
    int benefit;       /* higher first */
    /* False: did not match, nothing changed. */
    bool (*rewrite)(Rewriter *rw, Op *op, void *user);
    void *user;
} Pattern;

struct PatternSet {
    Context *ctx;
    VEC(Pattern) patterns;
    void *user; /* given to patterns added without their own */
};
void patterns_init(PatternSet *set, Context *ctx);
void patterns_free(PatternSet *set);
void pattern_add(PatternSet *set, const char *name, const OpDef *root, int benefit,
                 bool (*rewrite)(Rewriter *, Op *, void *));

typedef enum RegionSimplify {
    REGION_SIMPLIFY_NORMAL, /* unreachable blocks, dead ops and block arguments go */
    REGION_SIMPLIFY_OFF,
    REGION_SIMPLIFY_AGGRESSIVE /* and identical blocks merge */
} RegionSimplify;

typedef struct GreedyOptions {
    bool no_fold;
    bool bottom_up;        /* worklist order; default top-down as mlir's canonicalizer */
    int64_t max_rounds;    /* 0: 10; < 0: no limit */
    int64_t max_rewrites;  /* pattern applications in a round; <= 0: no limit */
    RegionSimplify regions;
} GreedyOptions;
/* Applies to everything inside root (not root itself) until nothing changes. *changed may be
 * NULL. False: not converged in max_rounds, or patterns undid each other without end. */
bool rewrite_greedy(Op *root, const PatternSet *set, const GreedyOptions *options, bool *changed);

/* Folds one op: true if it was replaced or updated; constants are materialised before it by the
 * dialect's hook. */
bool fold_op(Rewriter *rw, Op *op);
/* The value of a detached op with one result: the op goes to the builder's point and is kept
 * unless it folds to another value or a constant. */
Value *fold_build(Builder *b, Op *op);
/* Attribute of a constant-like op that defines the value, or NULL. */
const Attr *fold_constant_of(const Value *value);
/* Erases ops without uses and effects, from the end to the start. True if any went. */
bool rewrite_erase_dead_ops(Op *root);
bool op_is_trivially_dead(const Op *op);
bool op_is_removable(const Op *op); /* dead once its results have no uses */
/* Simplifies the control flow of all regions below; true if anything changed. */
bool rewrite_simplify_regions(Rewriter *rw, Op *root, RegionSimplify level);

#endif
