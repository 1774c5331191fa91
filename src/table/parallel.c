/*
 * One reader over many: the splits of a scan, several at a time on a pool.
 *
 * A slot is one split being read. A task fills a slot with a few batches and ends; it never waits, so that it cannot hold a
 * thread of the pool that others need. The consumer takes what is ready, asks for more, and, if nothing is ready and a slot has
 * not been begun, does that slot's work itself: a pool that is busy elsewhere (or whose only thread is the consumer's) cannot
 * stop it.
 *
 * There is a slot more than threads, so that none is idle while the consumer empties one. That must not lead to three splits of
 * four being read at the same pace and the fourth by one thread alone at the end: as long as splits wait, the first ones come
 * first; when all are begun, the one that has been read least.
 */
#include "table/table_private.h"

#define SLOT_BATCHES 4 /* batches that a task reads ahead: keeps a thread busy for about a millisecond */

typedef enum slot_state { SLOT_FREE, SLOT_QUEUED, SLOT_RUNNING, SLOT_READY } slot_state;

typedef struct parallel parallel;

typedef struct slot {
    parallel *owner;
    slot_state state;
    size_t split;
    int64_t n_read; /* batches of the split so far */
    tl_reader *reader;
    tl_batch *batches[SLOT_BATCHES];
    int n_batches;
    int next_batch;
    bool at_end;
    tl_status status;
    tl_error error;
} slot;

struct parallel {
    tl_reader base;
    size_t n;    /* splits */
    size_t next; /* split that is opened next */
    tl_open_fn open;
    void *ctx;
    void (*free_ctx)(void *ctx);
    int64_t limit; /* rows still wanted; < 0: all */

    /* with a pool */
    tl_task_group *group;
    pthread_mutex_t lock;
    pthread_cond_t ready;
    slot *slots; /* state and content guarded by lock, except those of a RUNNING slot, which belong to its task */
    int n_slots;
    int current; /* slot that batches are taken from first, so that a split's rows stay together */

    /* without a pool */
    tl_reader *reader;
};

/* ---- sequential ---- */

static tl_status next_sequential(parallel *p, tl_batch **out, tl_error *err)
{
    for (;;) {
        if (p->reader == NULL) {
            if (p->next == p->n) {
                *out = NULL;
                return TL_OK;
            }
            TL_TRY(p->open(p->ctx, p->next++, &p->reader, err));
        }
        TL_TRY(tl_reader_next(p->reader, out, err));
        if (*out != NULL)
            return TL_OK;
        tl_reader_free(p->reader);
        p->reader = NULL;
    }
}

/* ---- parallel ---- */

/* Fill the slot. Runs without the lock; the slot is RUNNING. */
static void fill(slot *s)
{
    s->n_batches = s->next_batch = 0;
    s->status = TL_OK;
    if (s->reader == NULL)
        s->status = s->owner->open(s->owner->ctx, s->split, &s->reader, &s->error);
    while (s->status == TL_OK && s->n_batches < SLOT_BATCHES) {
        tl_batch *batch = NULL;
        s->status = tl_reader_next(s->reader, &batch, &s->error);
        if (s->status != TL_OK || batch == NULL) {
            s->at_end = s->status == TL_OK;
            break;
        }
        s->batches[s->n_batches++] = batch;
    }
    s->n_read += s->n_batches;
}

/* The slot in `state`, which is not RUNNING, whose turn it is; NULL: none. Lock held. */
static slot *first_in(const parallel *p, slot_state state)
{
    slot *first = NULL;
    for (int i = 0; i < p->n_slots; i++) {
        slot *s = &p->slots[i];
        if (s->state != state)
            continue;
        if (first == NULL || (p->next < p->n ? s->split < first->split : s->n_read < first->n_read))
            first = s;
    }
    return first;
}

/* A QUEUED slot becomes RUNNING; NULL: there is none. Lock held. */
static slot *claim(parallel *p)
{
    slot *s = first_in(p, SLOT_QUEUED);
    if (s != NULL)
        s->state = SLOT_RUNNING;
    return s;
}

/* One task is started for each slot that is queued; which one it fills is found when it runs. */
static tl_status run_slot(void *arg, tl_error *err)
{
    (void)err; /* failures travel in the slot: the consumer sees them in its place */
    parallel *p = arg;
    pthread_mutex_lock(&p->lock);
    slot *s = claim(p);
    pthread_mutex_unlock(&p->lock);
    if (s == NULL)
        return TL_OK; /* the consumer did it */
    fill(s);
    pthread_mutex_lock(&p->lock);
    s->state = SLOT_READY;
    pthread_cond_signal(&p->ready);
    pthread_mutex_unlock(&p->lock);
    return TL_OK;
}

/* Queue the slot, with its split or the next one. False if there is nothing left for it. Lock held. */
static bool refill(parallel *p, slot *s)
{
    if (s->at_end || s->state == SLOT_FREE) {
        tl_reader_free(s->reader);
        s->reader = NULL;
        s->at_end = false;
        s->state = SLOT_FREE;
        if (p->next == p->n)
            return false;
        s->split = p->next++;
        s->n_read = 0;
    }
    s->state = SLOT_QUEUED;
    return true;
}

static tl_status queue_slot(parallel *p, slot *s, tl_error *err)
{
    pthread_mutex_lock(&p->lock);
    bool queued = refill(p, s);
    pthread_mutex_unlock(&p->lock);
    return queued ? tl_task_group_run(p->group, run_slot, p, err) : TL_OK;
}

/* Lock held. */
static bool any_runs(const parallel *p)
{
    bool any = false;
    for (int i = 0; i < p->n_slots; i++)
        any |= p->slots[i].state == SLOT_RUNNING;
    return any;
}

/* A READY slot, the current one first; NULL if all are FREE. Does the work of a QUEUED one rather than wait. */
static slot *wait_ready(parallel *p)
{
    slot *found = NULL;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        found = p->slots[p->current].state == SLOT_READY ? &p->slots[p->current] : first_in(p, SLOT_READY);
        if (found != NULL)
            break;
        slot *mine = claim(p);
        if (mine != NULL) {
            pthread_mutex_unlock(&p->lock);
            fill(mine);
            pthread_mutex_lock(&p->lock);
            mine->state = SLOT_READY;
        } else if (any_runs(p)) {
            pthread_cond_wait(&p->ready, &p->lock);
        } else {
            break;
        }
    }
    if (found != NULL)
        p->current = (int)(found - p->slots);
    pthread_mutex_unlock(&p->lock);
    return found;
}

static tl_status next_parallel(parallel *p, tl_batch **out, tl_error *err)
{
    for (;;) {
        slot *s = wait_ready(p);
        if (s == NULL) {
            *out = NULL;
            return TL_OK;
        }
        if (s->next_batch < s->n_batches) {
            *out = s->batches[s->next_batch];
            s->batches[s->next_batch++] = NULL;
            return TL_OK;
        }
        if (s->status != TL_OK) {
            if (err != NULL)
                *err = s->error;
            return s->status;
        }
        TL_TRY(queue_slot(p, s, err));
    }
}

static tl_status parallel_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    parallel *p = (parallel *)reader;
    if (p->limit == 0) {
        *out = NULL;
        return TL_OK;
    }
    tl_batch *batch = NULL;
    TL_TRY(p->slots == NULL ? next_sequential(p, &batch, err) : next_parallel(p, &batch, err));
    if (batch != NULL && p->limit > 0) {
        if (batch->n_rows > p->limit) {
            tl_batch *cut = NULL;
            tl_status status = tl_batch_slice(batch, 0, p->limit, &cut, err);
            tl_batch_free(batch);
            TL_TRY(status);
            batch = cut;
        }
        p->limit -= batch->n_rows;
    }
    *out = batch;
    return TL_OK;
}

static void parallel_free(tl_reader *reader)
{
    parallel *p = (parallel *)reader;
    if (p->slots != NULL) {
        pthread_mutex_lock(&p->lock);
        for (int i = 0; i < p->n_slots; i++) {
            if (p->slots[i].state == SLOT_QUEUED)
                p->slots[i].state = SLOT_FREE; /* its task will find nothing to do */
        }
        pthread_mutex_unlock(&p->lock);
        tl_task_group_free(p->group); /* waits for RUNNING ones */
        for (int i = 0; i < p->n_slots; i++) {
            slot *s = &p->slots[i];
            for (int b = s->next_batch; b < s->n_batches; b++)
                tl_batch_free(s->batches[b]);
            tl_reader_free(s->reader);
        }
        tl_free(p->slots);
        pthread_cond_destroy(&p->ready);
        pthread_mutex_destroy(&p->lock);
    }
    tl_reader_free(p->reader);
    if (p->free_ctx != NULL)
        p->free_ctx(p->ctx);
    tl_type_unref(p->base.type);
    tl_free(p);
}

static const tl_reader_ops parallel_ops = {parallel_next, parallel_free};

static tl_status start(parallel *p, tl_pool *pool, tl_error *err)
{
    int n_slots = (int)TL_MIN((size_t)tl_pool_threads(pool) + 1, p->n);
    TL_TRY(tl_task_group_create(pool, &p->group, err));
    p->slots = tl_calloc((size_t)n_slots, sizeof *p->slots);
    if (p->slots == NULL) {
        tl_task_group_free(p->group);
        return tl_nomem(err, "parallel read");
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->ready, NULL);
    p->n_slots = n_slots;
    for (int i = 0; i < n_slots; i++)
        p->slots[i].owner = p;
    for (int i = 0; i < n_slots; i++)
        TL_TRY(queue_slot(p, &p->slots[i], err));
    return TL_OK;
}

tl_status tl_parallel_reader(const tl_type *type, size_t n, tl_open_fn open, void *ctx, void (*free_ctx)(void *ctx),
                             tl_pool *pool, int64_t limit, tl_reader **out, tl_error *err)
{
    parallel *p = tl_calloc(1, sizeof *p);
    if (p == NULL) {
        if (free_ctx != NULL)
            free_ctx(ctx);
        return tl_nomem(err, "read");
    }
    p->base.ops = &parallel_ops;
    p->base.type = tl_type_ref(type);
    p->n = n;
    p->open = open;
    p->ctx = ctx;
    p->free_ctx = free_ctx;
    p->limit = limit;
    if (pool != NULL && n > 1 && limit != 0) {
        tl_status status = start(p, pool, err);
        if (status != TL_OK) {
            parallel_free(&p->base);
            return status;
        }
    }
    *out = &p->base;
    return TL_OK;
}
