/* The inside of driver/profile.
 * Tests: lit/driver/profile.test */
#ifndef MING_DRIVER_PROFILE_INTERNAL_H
#define MING_DRIVER_PROFILE_INTERNAL_H

#include "driver/profile/profile.h"

/* Magnitudes are counted by the power of two below them: number i of 2^(LEAST + i); what is beyond
 * counts as the last one. */
enum { PROFILE_LEAST = -32, PROFILE_MAGNITUDES = 65 };

typedef struct Statistics {
    int64_t count, zeros, strange; /* strange: not finite, in no other figure but count */
    double least, greatest, mean,
        squares; /* of the finite ones; squares of distances from the mean */
    int64_t magnitudes[PROFILE_MAGNITUDES];
    int64_t saturated;
} Statistics;

typedef struct ProfileTensor {
    Str name; /* in the context */
    const Op *op;
    uint32_t result;
    bool is_constant; /* a weight: it is the same in every frame */
    bool has_levels;  /* of a quantizer, whose lowest and highest level these are */
    double low, high;
    Statistics s;
} ProfileTensor;

struct Profile {
    VEC(ProfileTensor) tensors;
    PtrMap first; /* Op* -> its first tensor + 1 */
};

static inline int64_t profile_finite(const Statistics *s)
{
    return s->count - s->strange;
}

#endif
