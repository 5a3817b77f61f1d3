/* The inside of requantization, for the sources of this folder only: the exact integer function
 * from the integers of a tensor to the integers of the quantizer behind it, and the forms in which
 * it can be built.
 *
 *   requant.c              finds the function, by bisection or by trying all integers
 *   requant_describe.c     says what the kernel of a requantizer stands for
 *   requant_affine.c       clamp(floor((m * q + b) / 2^s)), per channel
 *   requant_comparisons.c  few levels, by a comparison each
 *   requant_thresholds.c   thresholds, level changes, tables
 *   requant_bsearch.c      binary search among the level changes
 *
 * q is an integer of the tensor, a level an integer of the quantizer. Arrays are from the pass's
 * scratch arena unless a field says "owned".
 * Tests: lit/lowering/onnx_to_linalg/requant, test/e2e/qdq_check.py */
#ifndef MING_LOWERING_ONNX_TO_LINALG_REQUANT_INTERNAL_H
#define MING_LOWERING_ONNX_TO_LINALG_REQUANT_INTERNAL_H

#include "lowering/onnx_to_linalg/requant/requant.h"

enum {
    MAX_THRESHOLDS = 1 << 21, /* (channel, level) pairs */
    MAX_TRIED = 1 << 22,      /* (channel, integer) pairs that are evaluated one by one */
    MAX_TABLE = 1 << 16,      /* (channel, integer) pairs of a table */
    MAX_ROW = 1 << 10,        /* entries of a table per channel */
    MAX_COMPARISONS = 16      /* levels up to which q is compared with every threshold */
};

/* A function from v's integers to a quantizer's, per channel. A row is a range of a channel's
 * integers on which the function is monotone: all of them, or, for a unimodal function, those on
 * one side of the extremum. */
typedef struct Requant {
    OnnxLowering *lw;
    const Fixed *v;
    Fixed with_quantizer; /* v with the quantizer as the last step */
    const QuantizerSpec *spec;
    bool is_unsigned;  /* the result */
    bool is_undefined; /* some value is no number */
    int64_t channels, axis;
    int64_t sides;       /* rows of a channel: 1 or 2 */
    int64_t *from, *to;  /* first and last q of each row */
    int64_t *low, *high; /* levels at a row's ends, in rising order */
    bool *falls;         /* per row: levels fall as q grows; then q is negated */
    int64_t least, most; /* of all levels */
    int64_t width;       /* levels above the lowest in a row, at most */
    int64_t *at;         /* [rows][width]: the q or -q where level low[row] + 1 + i begins */
} Requant;

/* From q on, the level is higher by `rise`, or lower if that is negative. */
typedef struct LevelChange {
    int64_t q, rise;
} LevelChange;

/* The same function as the level at the smallest q and its changes in the order of q. Freed by
 * level_changes_free. */
typedef struct LevelChanges {
    int64_t *first; /* [channels + 1]: a channel's changes in the list; owned */
    int64_t *base;  /* [channels]: the level at the smallest q; owned */
    VEC(LevelChange) list;
} LevelChanges;

/* Which nodes a requantizer stands for. */
typedef struct RequantOrigin {
    const Op *quantizer;
    const EpilogueOp *last; /* what is applied in front of it; NULL: nothing */
    const Op *sum;          /* a sum of two tensors in front of these, or NULL */
    const Fixed *operand;   /* what it is a monotone function of; NULL: it is none of one operand */
} RequantOrigin;

/* Says on the kernel that gives out->value which nodes it stands for, and in which form
 * (DFG_ATTR_REQUANTIZER). */
void requant_describe(OnnxLowering *lw, const RequantOrigin *origin, const QuantizerSpec *spec,
                      const Fixed *out);

/* Lowers the quantizer lw->node, whose meaning is `spec`, on v. False: diagnosed, or with *exact
 * unset not to be done in integers. */
bool quantizer_build(OnnxLowering *lw, const Fixed *v, const QuantizerSpec *spec, Fixed *out,
                     bool *exact) MUST_CHECK;

/* Evaluation. */

/* A (1, channels, count) array of integers for the caller to fill in, a new reference. */
Array *requant_candidates(const Requant *r, int64_t count) MUST_CHECK;
/* The levels of candidates, which the caller frees; sets is_undefined. NULL: lw->why says. */
int64_t *requant_levels(Requant *r, const Array *q) MUST_CHECK;
/* Threshold of level least + 1 + i in channel c, in q or -q. */
int64_t requant_threshold(const Requant *r, int64_t c, int64_t i);
/* First and last of a row's q (or -q) in rising order. */
int64_t requant_first(const Requant *r, int64_t row);
int64_t requant_last(const Requant *r, int64_t row);
/* The tensor type of the result, with elements as narrow as the levels allow. */
const Type *requant_type(const Requant *r);

/* Forms. Each builds the kernel and gives its result. */

/* A function of v with one channel, given by its level changes, in whatever form is best. */
void requant_build_step_function(OnnxLowering *lw, const Fixed *v, const QuantizerSpec *spec,
                                 const LevelChanges *changes, Fixed *out);

/* clamp(floor((multiplier[c] * q + addend[c]) / 2^shift)), for a function of one row per channel.
 * NULL: no such form is exact, or it needs products, which may not be. */
Value *requant_build_affine(Requant *r, bool with_products);
/* The comparisons of requant_build_comparisons, for a function of one row per channel; 0: it is
 * constant or has more than three different thresholds, for which there is no such form. */
uint32_t requant_comparison_count(const Requant *r);
/* The sum of these comparisons. */
Value *requant_build_comparisons(Requant *r);
/* The number of thresholds that q has passed, for a function of one row per channel. */
Value *requant_build_thresholds(Requant *r);
/* The sum of the changes that q has passed. */
Value *requant_build_level_changes(Requant *r, const LevelChanges *changes);
/* A binary search for the last change that q has passed. NULL: its tables would be too large, or
 * the changes are so few that q may be compared with all of them. */
Value *requant_build_bsearch(Requant *r, const LevelChanges *changes);
/* A lookup table of all levels. NULL: it would be too large. */
Value *requant_build_table(Requant *r, const LevelChanges *changes);

/* Whether there are at most `limit` pairs of a channel and an integer. */
bool requant_is_small(const Requant *r, int64_t limit);
/* Whether requant_build_table makes a table. */
bool requant_fits_table(const Requant *r);
/* Level changes. */

/* The changes of a function whose rows are known; and of any function, by evaluating all integers,
 * which also sets r->least and r->most. False: lw->why says. */
void level_changes_of_rows(const Requant *r, LevelChanges *out);
bool level_changes_of_levels(Requant *r, LevelChanges *out) MUST_CHECK;
void level_changes_free(LevelChanges *changes);
/* Construction, channel by channel in the order of q: _begin with the first level of a channel,
 * _add for each change, _end after the last channel. */
LevelChanges level_changes_create(int64_t channels) MUST_CHECK;
void level_changes_begin(LevelChanges *changes, int64_t channel, int64_t level);
void level_changes_add(LevelChanges *changes, int64_t channel, int64_t q, int64_t rise);
void level_changes_end(LevelChanges *changes, int64_t channels);
/* The number of changes of a channel, counted from the least of all levels, so that there may be
 * one more at its smallest q; the largest such number of any channel, at least 1. */
int64_t level_changes_count(const Requant *r, const LevelChanges *changes, int64_t channel);
int64_t level_changes_most(const Requant *r, const LevelChanges *changes);
/* One of these changes; for an index beyond the last, a change that no q passes. */
LevelChange level_change_at(const Requant *r, const LevelChanges *changes, int64_t channel,
                            int64_t i);
/* The narrowest integer type in which q can be compared with the place of any change. */
const Type *requant_place_type(const Requant *r);

#endif
