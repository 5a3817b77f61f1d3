/* Smaller constants for scales in fixed point. */
#ifndef MING_LOWERING_NARROW_SCALE_H
#define MING_LOWERING_NARROW_SCALE_H

#include "analysis/int_range.h"

/* In the body of a generic whose ranges are known: (x * m + r) >> s, clamped to constants or not,
 * becomes the form with the smallest shift, and so the smallest m, that gives the same for all x that
 * occur. True if a constant changed, and with it ranges. */
bool narrow_scales(IntRanges *ranges, const Op *generic);

#endif
