/*
 * Threads: a pool over buckets, splits and columns; clock, randomness and names as parameters, so that tests can replay.
 */
#ifndef TL_BASE_THREAD_H
#define TL_BASE_THREAD_H

#include <pthread.h>

#include "base/mem.h"

typedef struct tl_pool tl_pool;
typedef tl_status (*tl_task_fn)(void *arg, tl_error *err);
typedef struct tl_task_group tl_task_group; /* joins several tasks; the first failure wins */

/** `threads` >= 1; 0 = number of cores. */
tl_status tl_pool_create(int threads, tl_pool **out, tl_error *err);
void tl_pool_free(tl_pool *pool); /* waits for queued tasks */
int tl_pool_threads(const tl_pool *pool);
/** A pool of as many threads as `pool` can spare at present: one in the beginning, and what tl_pool_share_set() says from then on. Where that is
    one, groups run in the calling thread. Its threads are those of `pool`, which outlives it. */
tl_status tl_pool_share(tl_pool *pool, tl_pool **out, tl_error *err);
void tl_pool_share_set(tl_pool *share, int threads); /* from any thread */

/** A group runs its tasks on the pool (pool == NULL: in the calling thread, at once). */
tl_status tl_task_group_create(tl_pool *pool, tl_task_group **out, tl_error *err);
tl_status tl_task_group_run(tl_task_group *group, tl_task_fn fn, void *arg, tl_error *err);
/** Wait for all tasks of the group (helping with queued ones, so nesting cannot deadlock; from outside in the place of a thread). First error is copied to err. */
tl_status tl_task_group_wait(tl_task_group *group, tl_error *err);
/** Wait likewise, but do at once, in the calling thread, what of the group no thread has begun, and never another's tasks: for who goes on with
    its own work as soon as the result is there, however busy the pool is. */
tl_status tl_task_group_finish(tl_task_group *group, tl_error *err);
/** Number of tasks not finished; does not block. */
int tl_task_group_pending(tl_task_group *group);
void tl_task_group_free(tl_task_group *group); /* waits */

/** Clock: milliseconds since the epoch (wall), nanoseconds (monotonic). Replaceable for tests. */
typedef struct tl_clock {
    int64_t (*now_ms)(void *ctx);
    void *ctx;
} tl_clock;
const tl_clock *tl_clock_system(void);
static inline int64_t tl_clock_now_ms(const tl_clock *clock)
{
    return clock->now_ms(clock->ctx);
}
int64_t tl_monotonic_ns(void);
void tl_sleep_ms(int64_t ms);

/** Random UUID (version 4) as 36 characters and a NUL. Thread-safe; getrandom(2). */
void tl_uuid(char out[37]);
uint64_t tl_random_u64(void);

#endif
