/* Between the sources of requantization by any function (onnx_to_linalg_requant.c, _form.c,
 * _steps.c, _search.c). */
#ifndef MING_LOWERING_ONNX_TO_LINALG_REQUANT_INTERNAL_H
#define MING_LOWERING_ONNX_TO_LINALG_REQUANT_INTERNAL_H

#include "lowering/onnx_to_linalg/requant/requant.h"

enum {
    MAX_THRESHOLDS = 1 << 21, /* (channel, level) pairs */
    MAX_TRIED = 1 << 22,      /* (channel, integer) pairs */
    MAX_TABLE = 1 << 16,      /* the same of a table, whose channels have at most */
    MAX_ROW = 1 << 10,        /* so many integers */
    MAX_COMPARISONS = 16      /* levels up to which all thresholds are compared with */
};

/* A function from v's integers to a quantizer's, per channel. A row is a part of a channel's
 * integers on which it is monotone: all of them, or one of two sides. */
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

/* From q on, a level is higher, or lower. */
typedef struct LevelChange {
    int64_t q, rise;
} LevelChange;

/* The same function as a level at the smallest q and changes in the order of q. */
typedef struct LevelChanges {
    int64_t *first; /* [channels + 1]: a channel's changes in the list; owned */
    int64_t *base;  /* [channels]: the level at the smallest q; owned */
    VEC(LevelChange) list;
} LevelChanges;

/* A (1, channels, count) array to fill in. */
Array *requant_candidates(const Requant *r, int64_t count) MUST_CHECK;
/* The quantizer's integers for candidates, to be freed; sets is_undefined. NULL: lw->why says. */
int64_t *requant_levels(Requant *r, const Array *q) MUST_CHECK;
/* First and last of a row's q (or -q) in rising order. */
int64_t requant_first(const Requant *r, int64_t row);
int64_t requant_last(const Requant *r, int64_t row);
/* Type of the result: as narrow as the levels allow. */
const Type *requant_type(const Requant *r);

/* A function of v that its changes tell, in whatever form is best. */
void requant_build_step_function(OnnxLowering *lw, const Fixed *v, const QuantizerSpec *spec,
                                 const LevelChanges *changes, Fixed *out);

/* clamp(floor((multiplier[c] * q + addend[c]) / 2^shift)) of a function of one row per channel;
 * NULL: there is none. */
Value *requant_build_affine(Requant *r);
/* A count of thresholds, of a function of one row per channel. */
Value *requant_build_thresholds(Requant *r);
/* A sum over changes. */
Value *requant_build_level_changes(Requant *r, const LevelChanges *changes);
/* A search for the last change that q has passed; NULL: its tables would be too large, or there are
 * so few changes that all may be compared with. */
Value *requant_build_bsearch(Requant *r, const LevelChanges *changes);
/* A table of all levels; NULL: it would be too large. */
Value *requant_build_table(Requant *r, const LevelChanges *changes);

/* Whether there are at most `limit` pairs of a channel and an integer. */
bool requant_is_small(const Requant *r, int64_t limit);
/* Whether a table of all levels is made. */
bool requant_fits_table(const Requant *r);
/* Changes of a function whose rows are known; of any function by trying all integers, which sets
 * least and most. False: lw->why says. Both are freed by level_changes_free. */
void level_changes_of_rows(const Requant *r, LevelChanges *out);
bool level_changes_of_levels(Requant *r, LevelChanges *out) MUST_CHECK;
void level_changes_free(LevelChanges *changes);
/* Changes channel by channel in the order of q: the first level of each, then where it changes. */
LevelChanges level_changes_create(int64_t channels) MUST_CHECK;
void level_changes_begin(LevelChanges *changes, int64_t channel, int64_t level);
void level_changes_add(LevelChanges *changes, int64_t channel, int64_t q, int64_t rise);
void level_changes_end(LevelChanges *changes, int64_t channels);
/* Changes of a channel, of which the first may be from the least of all levels to the channel's
 * first; the most of any channel, at least 1. */
int64_t level_changes_count(const Requant *r, const LevelChanges *changes, int64_t channel);
int64_t level_changes_most(const Requant *r, const LevelChanges *changes);
/* One of them; behind the last come some that no q passes. */
LevelChange level_change_at(const Requant *r, const LevelChanges *changes, int64_t channel,
                            int64_t i);
/* As narrow as a comparison of q with any place of a change allows. */
const Type *requant_place_type(const Requant *r);

#endif
