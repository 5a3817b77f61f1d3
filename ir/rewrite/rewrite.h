/* Rewriting: patterns and the rewriter that they change IR with, folding, the greedy driver
 * (worklist, folding, sharing of constants, dead-code removal, region simplification) and dialect
 * conversion with legality. Order of work and results are upstream's.
 *
 * A pattern must change IR through its rewriter only, since the driver learns from it what to visit
 * again; a pattern that returns false must not have changed anything. IR must be verified
 * beforehand and is valid afterwards. Canonicalization hooks of dialects, passes and lowerings
 * build on this module.
 * Tests: test/unit/ir/rewrite, lit/passes/common/canonicalize.mir, lit/lowering */
#ifndef MING_IR_REWRITE_REWRITE_H
#define MING_IR_REWRITE_REWRITE_H

#include "ir/core/core.h"

/* The rewriter: a builder that tells a driver what changed. The callbacks are the driver's. */
struct Rewriter {
    Builder b;
    void *driver;
    void (*inserted)(Rewriter *rw, Op *op);
    void (*modified)(Rewriter *rw, Op *op);
    void (*erasing)(Rewriter *rw, Op *op);
    /* If set, it takes over replacing an op (erasing it if values is NULL) and does it later. */
    void (*replacing)(Rewriter *rw, Op *op, Value *const *values);
};

/* A rewriter without a driver, for helpers of patterns that are used elsewhere. */
Rewriter rewriter_plain(Context *ctx);
/* Replaces its results and erases it. */
void rewriter_replace(Rewriter *rw, Op *op, Value *const *values, uint32_t count);
void rewriter_replace_one(Rewriter *rw, Op *op, Value *value);
void rewriter_erase(Rewriter *rw, Op *op);
/* Erases a block with all its ops. Uses of the values that it defines are dropped, and so are
 * branches to it. */
void rewriter_erase_block(Rewriter *rw, Block *block);
void rewriter_modified(Rewriter *rw, Op *op); /* call after changing op in place */
/* Inserts a detached op (such as a clone) at the builder's point and announces it with everything
 * in it. */
Op *rewriter_insert(Rewriter *rw, Op *op);
void rewriter_replace_value(Rewriter *rw, Value *from, Value *to);

/* Patterns. */
typedef struct Pattern {
    const char *name;
    const OpDef *root; /* NULL: any op */
    int benefit;       /* higher first */
    /* True: applied. False: the op does not match, and nothing was changed. */
    bool (*rewrite)(Rewriter *rw, Op *op, void *user);
    void *user;
} Pattern;

struct PatternSet {
    Context *ctx;
    VEC(Pattern) patterns;
    void *user; /* given to patterns added without their own */
};
/* The caller frees the set. pattern_add copies its arguments into it; strings must outlive it. */
void patterns_init(PatternSet *set, Context *ctx);
void patterns_free(PatternSet *set);
void pattern_add(PatternSet *set, const char *name, const OpDef *root, int benefit,
                 bool (*rewrite)(Rewriter *, Op *, void *));

/* The greedy driver. */
typedef enum RegionSimplify {
    REGION_SIMPLIFY_NORMAL, /* unreachable blocks, dead ops and block arguments go */
    REGION_SIMPLIFY_OFF,
    REGION_SIMPLIFY_AGGRESSIVE /* and identical blocks merge */
} RegionSimplify;

typedef struct GreedyOptions {
    bool no_fold;
    bool bottom_up; /* order of the worklist; top-down by default, as upstream's canonicalizer */
    int64_t max_rounds;   /* 0: 10; < 0: no limit */
    int64_t max_rewrites; /* pattern applications in a round; <= 0: no limit */
    RegionSimplify regions;
} GreedyOptions;
/* Applies folds and patterns to everything inside root (not root itself) until nothing changes.
 * *changed says whether anything did; it may be NULL. False: it did not converge within max_rounds,
 * or patterns undid each other without end. */
bool rewrite_greedy(Op *root, const PatternSet *set, const GreedyOptions *options, bool *changed);

/* Folding. fold_op folds one op and returns true if it was replaced or updated in place; constants
 * are made in front of it by the dialect's hook. */
bool fold_op(Rewriter *rw, Op *op);
/* The value of a detached op with one result: the op is inserted at the builder's point, unless it
 * folds to another value or a constant, which then is returned. */
Value *fold_build(Builder *b, Op *op);
/* The attribute of the constant-like op that defines the value, or NULL. */
const Attr *fold_constant_of(const Value *value);
/* Dead code. Erases ops without uses and effects, from the end to the start; true if there were
 * any. */
bool rewrite_erase_dead_ops(Op *root);
/* Simplifies the control flow of all regions in root; true if anything changed. */
bool rewrite_simplify_regions(Rewriter *rw, Op *root, RegionSimplify level);

/* Dialect conversion with legality, as upstream's: every op inside root that the target calls
 * illegal is folded or rewritten by a pattern, and so are the ops that this builds. Until
 * everything is legal, replaced ops stay in place and keep their uses, so that folds and patterns
 * see the source as it was; conversion_remap gives the present replacement of a value. A failure
 * takes back what was built. A pattern is not applied to what it builds itself. Patterns convert
 * types themselves.
 * Tests: lit/lowering, test/unit/ir/rewrite/dialect_conversion_test.c */

typedef enum Legality { LEGAL, ILLEGAL, LEGAL_IF_ASKED } Legality;

typedef struct ConversionTarget {
    /* Names of the dialects that must be gone and of those that are legal; NULL-terminated. */
    const char *const *illegal_dialects;
    const char *const *legal_dialects;
    /* Decides for a single op before the lists do; LEGAL_IF_ASKED leaves it to the lists. May be
     * NULL. */
    Legality (*op_legality)(const Op *op, void *user);
    void *user;
    bool partial; /* ops that nothing decides about may stay; else every op must be legal */
    /* Casts a value to another type while the conversion runs, and for good if types changed under
     * an op that stays. If it is NULL or returns NULL, such types must not change. */
    Value *(*cast)(Builder *b, const Type *type, Value *value);
} ConversionTarget;

/* Converts root. False: diagnosed as "failed to legalize operation 'x.y'", in partial conversions
 * "… that was explicitly marked illegal". */
bool conversion_apply(Op *root, const PatternSet *set, const ConversionTarget *target) MUST_CHECK;

/* For patterns: the latest replacement of the value that has the type. If none has it, a cast of
 * the very latest one, or that one itself if the target cannot cast it. type NULL: the very
 * latest. */
Value *conversion_remap(Rewriter *rw, Value *value, const Type *type);

/* Small matchers and builders that many canonicalization patterns share. */

/* The op of that kind that defines the value, or NULL. */
Op *rewrite_def_of(Value *value, const OpDef *def);
/* The value that a new op with one result folds to, else its result (see fold_build). */
Value *rewrite_build_or_fold(Builder *b, const OpDef *def, Value *const *operands, uint32_t count,
                             const Type *type);
/* Gives the next ops that the rewriter builds the fused location of the matched ops. */
void rewriter_fuse_locs(Rewriter *rw, const Op *const *matched, size_t count);

#endif
