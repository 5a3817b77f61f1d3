/* Pattern rewriting: rewriter, greedy worklist driver with folding, CSE of constants and
 * dead-code removal; canonicalization patterns come from the op tables.
 * Tests: lit/passes/common/canonicalize.mir, test/unit/ir/rewrite/rewrite_test.c */
#ifndef MING_IR_REWRITE_REWRITE_H
#define MING_IR_REWRITE_REWRITE_H

#include "ir/core/core.h"

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
    bool bottom_up;       /* worklist order; default top-down as mlir's canonicalizer */
    int64_t max_rounds;   /* 0: 10; < 0: no limit */
    int64_t max_rewrites; /* pattern applications in a round; <= 0: no limit */
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
/* Simplifies the control flow of all regions below; true if anything changed. */
bool rewrite_simplify_regions(Rewriter *rw, Op *root, RegionSimplify level);

/* Dialect conversion with legality, as upstream's: every op inside root that the target calls
 * illegal is folded or rewritten by a pattern, and so is what that builds. Until all is legal,
 * replaced ops stay where they are and keep their uses, so folds and patterns see the source as it
 * was; conversion_remap tells what stands for a value by now. A failure takes back what was built.
 * A pattern does not apply to what it builds itself. Patterns convert types themselves.
 * Tests: lit/lowering, test/unit/ir/rewrite/dialect_conversion_test.c */

typedef enum Legality { LEGAL, ILLEGAL, LEGAL_IF_ASKED } Legality;

typedef struct ConversionTarget {
    /* NULL-terminated dialect names that must be gone / that are fine. */
    const char *const *illegal_dialects;
    const char *const *legal_dialects;
    /* Decides for a single op before the lists; LEGAL_IF_ASKED: the lists decide. May be NULL. */
    Legality (*op_legality)(const Op *op, void *user);
    void *user;
    bool partial; /* unknown ops may stay; else every op must be legal */
    /* Casts a value to another type for the time of the conversion, and for good where types
     * changed under an op that stays. NULL, or a NULL result: such types must not change. */
    Value *(*cast)(Builder *b, const Type *type, Value *value);
} ConversionTarget;

/* Message of a failure: "failed to legalize operation 'x.y'", in partial conversions "… that was
 * explicitly marked illegal". */
bool conversion_apply(Op *root, const PatternSet *set, const ConversionTarget *target) MUST_CHECK;

/* For patterns: the latest replacement of the value that has the type; a cast of the very latest if
 * none has, or the very latest if the target cannot cast it. type NULL: the very latest. */
Value *conversion_remap(Rewriter *rw, Value *value, const Type *type);

/* Small matchers and builders that many canonicalization patterns share. */

/* The op of that kind that defines a value, or NULL. */
Op *rewrite_def_of(Value *value, const OpDef *def);
/* What an op with one result folds to, else the op's result (fold_build). */
Value *rewrite_build_or_fold(Builder *b, const OpDef *def, Value *const *operands, uint32_t count,
                             const Type *type);
/* Gives the rewriter's next ops the fused location of the matched ones. */
void rewriter_fuse_locs(Rewriter *rw, const Op *const *matched, size_t count);

#endif
