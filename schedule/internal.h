/* The index of a dfg.reorder's result as digits, in which its map is as simple as it can be.
 * Between delinearize_map.c and plan_reorder.c; tested through the latter. */
#ifndef MING_SCHEDULE_INTERNAL_H
#define MING_SCHEDULE_INTERNAL_H

#include "schedule/schedule.h"

/* An expression over the digits; its coefficients if it is linear. */
typedef struct Form {
    const AffineExpr *expr;
    bool is_linear;
    int64_t coeffs[MOVE_MAX_DIGITS], constant;
} Form;

int64_t delinearize_form_at(const Form *form, uint32_t count, const int64_t *digits);

typedef struct MoveDigits {
    uint32_t count;
    int64_t extents[MOVE_MAX_DIGITS];
    Form address;                  /* word of the source */
    Form bounds[2 * DFG_MAX_RANK]; /* each >= 0 where there is one */
    uint32_t bound_count;
} MoveDigits;

/* Words of `lanes` elements of the innermost dimensions. False, without diagnostic, if the map does
 * not keep them together or its values do not fit. */
bool delinearize_map(const AffineMap *map, const Type *result, const Type *source, int64_t lanes,
                     MoveDigits *out) MUST_CHECK;
/* The same expression for values of the dims within 0 <= d_i < extents[i]: divisions and remainders
 * whose outcome is known are gone. */
const AffineExpr *delinearize_in_box(const AffineExpr *expr, const int64_t *extents);

/* Whether a value is what the process pulls, under another shape or not. */
bool sched_is_pulled(const Value *value);

#endif
