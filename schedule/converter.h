/* Width converters: processes that regroup the words of a frame. A converter joins words to larger
 * ones or splits them, without changing the order of elements beyond one large word; other words are
 * converted by way of a third. Plans as in plan.h.
 * Tests: lit/lowering/converter.mir, test/unit/converter_test.c */
#ifndef MING_LOWERING_PLAN_CONVERTER_H
#define MING_LOWERING_PLAN_CONVERTER_H

#include "schedule/schedule.h"

typedef struct ConverterPlan {
    const Op *process;
    uint32_t rank;
    int64_t small[2 * DFG_MAX_RANK], large[2 * DFG_MAX_RANK]; /* word shapes */
    int64_t parts;   /* small words per large one */
    int64_t words;   /* large words per frame */
    bool joins;      /* the input's words are the small ones */
} ConverterPlan;

/* Whether a converter can stand between ends of the same frame and different words: one is a multiple
 * of the other, and the small words of each large one follow each other. No diagnostic. */
bool sched_can_convert(const Type *from, const Type *to);
/* How words of one end become those of another. */
typedef enum Conversion {
    CONVERSION_NONE,     /* no: the elements arrive in another order */
    CONVERSION_DIRECT,   /* one converter */
    CONVERSION_BY_WAY_OF /* two converters, with words of type *middle between them */
} Conversion;
/* Prefers the least common multiple between the two, which keeps the pace of both, as long as it has at
 * most max_bits; else takes the greatest common divisor. */
Conversion sched_plan_conversion(const Type *from, const Type *to, int64_t max_bits, const Type **middle);

/* False: diagnosed. */
bool sched_converter(const Op *process, ConverterPlan *out) MUST_CHECK;
/* One iteration per small word. */
int64_t sched_converter_trips(const ConverterPlan *plan);

#endif
