/* What every test includes: cmocka with its prerequisites, and checks for the library's error objects. */
#ifndef TL_TESTS_TEST_H
#define TL_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

/** Check TL_OK; prints the message otherwise. */
#define assert_ok(expr, err)                                                                                                     \
    do {                                                                                                                         \
        tl_status status_ = (expr);                                                                                              \
        if (status_ != TL_OK)                                                                                                    \
            fail_msg("%s: %s: %s", #expr, tl_status_name(status_), (err)->message);                                              \
    } while (0)

/** Check a failure's status and that its message has a part. */
#define assert_fails(expr, wanted, err, part)                                                                                    \
    do {                                                                                                                         \
        tl_status status_ = (expr);                                                                                              \
        if (status_ != (wanted) || strstr((err)->message, (part)) == NULL)                                                       \
            fail_msg("%s: got '%s' (%s), wanted '%s' with '%s'", #expr, tl_status_name(status_), (err)->message,                  \
                     tl_status_name(wanted), (part));                                                                            \
    } while (0)

/** Deterministic pseudo-random numbers (splitmix64), so that a seed replays a run. */
static inline uint64_t test_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/** Seed of a property test: the environment's TL_SEED, else `fallback`; printed, so that a failure can be replayed. */
static inline uint64_t test_seed(uint64_t fallback)
{
    const char *text = getenv("TL_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : fallback;
    printf("seed: TL_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

#endif
