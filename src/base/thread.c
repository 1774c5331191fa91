/*
 * Thread pool. One mutex guards the queue and all groups: tasks are whole buckets, splits or columns, so the lock is never
 * on a hot path. A waiter helps with queued tasks, so tasks may start groups of their own on the same pool.
 *
 * Never more threads than the pool has are at tasks: a waiter from outside that helps takes the place of one. Three threads at
 * four buckets on two processors would leave the fourth bucket to one of them in the end.
 */
#include "base/thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

typedef struct task {
    struct task *next;
    tl_task_fn fn;
    void *arg;
    tl_task_group *group;
} task;

struct tl_pool {
    pthread_mutex_t lock; /* guards everything below, and every group's fields */
    pthread_cond_t work;  /* a task was queued, or stop */
    pthread_cond_t done;  /* a task has ended */
    task *head;
    task **tail;
    bool stop;
    int running;     /* threads that are at a task */
    int running_max; /* as many as the pool is to have */
    int n_threads;
    pthread_t *threads;
    tl_pool *whole;   /* a share of that pool, with nothing of the above; NULL: a pool */
    atomic_int spare; /* threads of a share */
};

struct tl_task_group {
    tl_pool *pool; /* NULL: tasks run in the caller */
    int pending;
    tl_status status; /* first failure */
    tl_error error;
};

/* Whose task this thread is at; NULL: no pool's. Whoever is at a task may always help, or it might wait for itself. */
static _Thread_local const tl_pool *current_pool;

static task *pop(tl_pool *pool)
{
    task *t = pool->head;
    if (t != NULL) {
        pool->head = t->next;
        if (pool->head == NULL)
            pool->tail = &pool->head;
    }
    return t;
}

static void note_result(tl_task_group *group, tl_status status, const tl_error *error)
{
    if (status != TL_OK && group->status == TL_OK) {
        group->status = status;
        group->error = *error;
    }
}

/* @locks pool->lock held on entry and return, released while the task runs */
static void run_task(tl_pool *pool, task *t)
{
    const tl_pool *outer = current_pool;
    pool->running += outer != pool;
    pthread_mutex_unlock(&pool->lock);
    current_pool = pool;
    tl_error error = {TL_OK, 0, ""};
    tl_status status = t->fn(t->arg, &error);
    current_pool = outer;
    pthread_mutex_lock(&pool->lock);
    pool->running -= outer != pool;
    note_result(t->group, status, &error);
    t->group->pending--;
    tl_free(t);
    pthread_cond_broadcast(&pool->done);
}

static void *worker(void *arg)
{
    tl_pool *pool = arg;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        task *t = pool->running < pool->running_max || pool->stop ? pop(pool) : NULL;
        if (t != NULL)
            run_task(pool, t);
        else if (pool->stop)
            break;
        else
            pthread_cond_wait(&pool->work, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

tl_status tl_pool_create(int threads, tl_pool **out, tl_error *err)
{
    if (threads <= 0)
        threads = (int)TL_MAX(1, sysconf(_SC_NPROCESSORS_ONLN));
    tl_pool *pool = tl_calloc(1, sizeof *pool);
    pthread_t *handles = tl_calloc((size_t)threads, sizeof *handles);
    if (pool == NULL || handles == NULL) {
        tl_free(pool);
        tl_free(handles);
        return tl_nomem(err, "thread pool");
    }
    pool->tail = &pool->head;
    pool->threads = handles;
    pool->running_max = threads;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (; pool->n_threads < threads; pool->n_threads++) {
        int rc = pthread_create(&pool->threads[pool->n_threads], NULL, worker, pool);
        if (rc != 0) {
            tl_pool_free(pool);
            return tl_error_errno(err, rc, "could not start a thread");
        }
    }
    *out = pool;
    return TL_OK;
}

tl_status tl_pool_share(tl_pool *pool, tl_pool **out, tl_error *err)
{
    tl_pool *share = tl_calloc(1, sizeof *share);
    if (share == NULL)
        return tl_nomem(err, "thread pool");
    share->whole = pool;
    atomic_init(&share->spare, 1);
    *out = share;
    return TL_OK;
}

void tl_pool_share_set(tl_pool *share, int threads)
{
    atomic_store_explicit(&share->spare, threads, memory_order_relaxed);
}

void tl_pool_free(tl_pool *pool)
{
    if (pool == NULL)
        return;
    if (pool->whole != NULL) {
        tl_free(pool);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->n_threads; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->done);
    tl_free(pool->threads);
    tl_free(pool);
}

int tl_pool_threads(const tl_pool *pool)
{
    if (pool == NULL)
        return 1;
    return pool->whole == NULL ? pool->n_threads : atomic_load_explicit(&pool->spare, memory_order_relaxed);
}

tl_status tl_task_group_create(tl_pool *pool, tl_task_group **out, tl_error *err)
{
    tl_task_group *group = tl_calloc(1, sizeof *group);
    if (group == NULL)
        return tl_nomem(err, "task group");
    if (pool != NULL && pool->whole != NULL)
        pool = tl_pool_threads(pool) > 1 ? pool->whole : NULL;
    group->pool = pool;
    *out = group;
    return TL_OK;
}

tl_status tl_task_group_run(tl_task_group *group, tl_task_fn fn, void *arg, tl_error *err)
{
    tl_pool *pool = group->pool;
    if (pool == NULL) {
        tl_error error = {TL_OK, 0, ""};
        note_result(group, fn(arg, &error), &error);
        return TL_OK;
    }
    task *t = tl_alloc(sizeof *t);
    if (t == NULL)
        return tl_nomem(err, "task");
    *t = (task){NULL, fn, arg, group};
    pthread_mutex_lock(&pool->lock);
    *pool->tail = t;
    pool->tail = &t->next;
    group->pending++;
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    return TL_OK;
}

static tl_status take_result(tl_task_group *group, tl_error *err)
{
    tl_status status = group->status;
    if (status != TL_OK && err != NULL)
        *err = group->error;
    group->status = TL_OK;
    return status;
}

tl_status tl_task_group_wait(tl_task_group *group, tl_error *err)
{
    tl_pool *pool = group->pool;
    if (pool != NULL) {
        pthread_mutex_lock(&pool->lock);
        while (group->pending > 0) {
            task *t = current_pool != NULL || pool->running < pool->running_max ? pop(pool) : NULL;
            if (t != NULL)
                run_task(pool, t);
            else
                pthread_cond_wait(&pool->done, &pool->lock);
        }
        if (pool->head != NULL)
            pthread_cond_signal(&pool->work); /* a thread may have gone to sleep because this one was at a task */
        pthread_mutex_unlock(&pool->lock);
    }
    return take_result(group, err);
}

/* A task of the group out of the middle of the queue; NULL: all have been begun. */
static task *pop_of(tl_pool *pool, const tl_task_group *group)
{
    for (task **at = &pool->head; *at != NULL; at = &(*at)->next) {
        task *t = *at;
        if (t->group != group)
            continue;
        *at = t->next;
        if (pool->tail == &t->next)
            pool->tail = at;
        return t;
    }
    return NULL;
}

tl_status tl_task_group_finish(tl_task_group *group, tl_error *err)
{
    tl_pool *pool = group->pool;
    if (pool == NULL)
        return take_result(group, err);
    pthread_mutex_lock(&pool->lock);
    while (group->pending > 0) {
        task *t = pop_of(pool, group);
        if (t != NULL)
            run_task(pool, t);
        else
            pthread_cond_wait(&pool->done, &pool->lock);
    }
    if (pool->head != NULL)
        pthread_cond_signal(&pool->work); /* as in tl_task_group_wait() */
    pthread_mutex_unlock(&pool->lock);
    return take_result(group, err);
}

int tl_task_group_pending(tl_task_group *group)
{
    if (group->pool == NULL)
        return 0;
    pthread_mutex_lock(&group->pool->lock);
    int pending = group->pending;
    pthread_mutex_unlock(&group->pool->lock);
    return pending;
}

void tl_task_group_free(tl_task_group *group)
{
    if (group == NULL)
        return;
    (void)tl_task_group_wait(group, NULL); /* whoever cared has waited before */
    tl_free(group);
}

static int64_t system_now_ms(void *ctx)
{
    (void)ctx;
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

const tl_clock *tl_clock_system(void)
{
    static const tl_clock clock = {system_now_ms, NULL};
    return &clock;
}

int64_t tl_monotonic_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void tl_sleep_ms(int64_t ms)
{
    struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&ts, &ts) != 0 && errno == EINTR) {
    }
}

uint64_t tl_random_u64(void)
{
    uint64_t v;
    while (getrandom(&v, sizeof v, 0) != (ssize_t)sizeof v) {
    }
    return v;
}

void tl_uuid(char out[37])
{
    uint64_t hi = (tl_random_u64() & ~UINT64_C(0xf000)) | 0x4000; /* version 4 */
    uint64_t lo = (tl_random_u64() & ~(UINT64_C(3) << 62)) | UINT64_C(2) << 62;
    snprintf(out, 37, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(hi >> 32), (unsigned)(hi >> 16 & 0xffff), (unsigned)(hi & 0xffff),
             (unsigned)(lo >> 48), (unsigned long long)(lo & 0xffffffffffff));
}
