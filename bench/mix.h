/* A number that depends on nothing but another (SplitMix64): data that can be made anew from row numbers. */
#ifndef TL_BENCH_MIX_H
#define TL_BENCH_MIX_H

#include <stdint.h>

static inline uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#endif
