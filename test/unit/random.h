/* A small generator for property tests: the same numbers on every run and machine. */
#ifndef MING_TEST_RANDOM_H
#define MING_TEST_RANDOM_H

#include <stdint.h>

typedef struct Random {
    uint64_t state;
} Random;

/* splitmix64 */
static inline uint64_t random_u64(Random *random)
{
    uint64_t x = random->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* In [0, bound), bound > 0. */
static inline uint32_t random_below(Random *random, uint32_t bound)
{
    return (uint32_t)(random_u64(random) % bound);
}

#endif
