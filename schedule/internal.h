/* For the sources of schedule/ only. Index delinearization: schedule/delinearize.c rewrites the map
 * of a dfg.reorder over digits of the result's index, and schedule/reorder.c schedules the digits.
 * The point is that the map over the digits needs no divisions, which are dear in hardware.
 * Expressions belong to the context; the structs own nothing.
 * Tests: lit/lowering/dfg_to_emithls/dfg-to-emithls-move.mir, through schedule/reorder.c */
#ifndef MING_SCHEDULE_INTERNAL_H
#define MING_SCHEDULE_INTERNAL_H

#include "schedule/schedule.h"

/* An expression over the digits, with its coefficients if it is linear. */
typedef struct Form {
    const AffineExpr *expr;
    bool is_linear;
    int64_t coeffs[MOVE_MAX_DIGITS], constant;
} Form;

/* The value of an expression at these digits. */
int64_t delinearize_form_at(const Form *form, uint32_t count, const int64_t *digits);

typedef struct MoveDigits {
    uint32_t count;
    int64_t extents[MOVE_MAX_DIGITS];
    Form address;                  /* word of the source */
    Form bounds[2 * DFG_MAX_RANK]; /* each >= 0 where there is one */
    uint32_t bound_count;
} MoveDigits;

/* Splits the index of the result's words into digits. A word is `lanes` elements of the innermost
 * dimensions. False, no diagnostic: the map does not keep them together, or its values do not
 * fit. */
bool delinearize_map(const AffineMap *map, const Type *result, const Type *source, int64_t lanes,
                     MoveDigits *out) MUST_CHECK;

/* Steps of sched_compute (compute_order.c): fills loops, loop_count and moves. False: diagnosed. */
bool sched_compute_order(ComputeSchedule *sched) MUST_CHECK;

/* Fills what a schedule says of tiles, and the digits of the result's words, whose `address` is the
 * number of a tile. False, no diagnostic: the map does more than order, drop and repeat dimensions,
 * it fills, or there would be too many memories. */
bool sched_reorder_tiles(const Op *reorder, const int64_t *in_word, const int64_t *out_word,
                         ReorderSchedule *p, MoveDigits *d) MUST_CHECK;
/* The numbers of the first and the last word of the source in each tile. */
void sched_tile_words(const ReorderSchedule *p, int64_t *first, int64_t *last);

/* Whether an operand is a constant whose elements differ, so that a table holds them. */
bool sched_is_table(const Value *operand);

/* Whether a value is a frame that the process pulls, reshaped or not. */
bool sched_is_pulled(const Value *value);

#endif
