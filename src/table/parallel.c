/*
 * One reader over many: the splits of a scan, several at a time on a pool.
 *
 * A slot is one split being read, with a short queue of batches. A task reads into a slot until the queue is full, the split ends or
 * others may want the thread; it never waits. The consumer takes what is there and has slots filled again long before they are empty;
 * if nothing is there, it reads the next batch of a split of its own: a pool that is busy elsewhere (or whose only thread is the
 * consumer's) cannot stop it, and threads do not come to a halt behind full queues while it reads.
 *
 * So the consumer is one of the threads, and there is a task less than threads. What it reads itself is consumed where it was made:
 * every cache line that goes to another processor costs its way there, and more when its memory is written again over here. A consumer
 * that has too much to do to read gives its split to a thread that has nothing to do.
 *
 * As many splits are under way as there are threads, and a thread that has read one to its end begins the next one at once, whether
 * the consumer has taken all of it or not. A split more would be read ahead by turns, and leave the last one to one thread alone.
 * Where there are fewer splits left than threads, the threads without one help with the columns of the others' batches.
 */
#include "table/table_private.h"

#define SLOT_BATCHES 4 /* batches that wait for the consumer: milliseconds of work */

typedef enum slot_state {
    SLOT_FREE,
    SLOT_FULL,   /* the queue has no room, or the split is at its end */
    SLOT_QUEUED, /* to be filled by whoever comes first */
    SLOT_RUNNING,
    SLOT_OURS /* the consumer's own, which is not at it now */
} slot_state;

typedef struct parallel parallel;

typedef struct slot {
    slot_state state;
    size_t split;
    int64_t n_read; /* batches of the split so far */
    tl_reader *reader;
    tl_batch *batches[SLOT_BATCHES]; /* a ring */
    int first_batch;
    int n_batches;
    bool at_end;
    tl_status status; /* comes after the batches */
    tl_error error;
} slot;

struct parallel {
    tl_reader base;
    size_t n;    /* splits */
    size_t next; /* split that is opened next */
    tl_open_fn open;
    void *ctx;
    void (*free_ctx)(void *ctx);
    int64_t limit;    /* rows still wanted; < 0: all */
    tl_pool *helpers; /* a share of the pool */

    /* with a pool */
    tl_task_group *group;
    pthread_mutex_t lock;
    pthread_cond_t ready;
    slot *slots; /* guarded by lock, but the reader of a RUNNING slot belongs to who runs it */
    int n_slots;
    int n_threads;
    int max_tasks; /* one less: the consumer */
    int n_tasks;   /* started and not at a slot yet */
    int n_running; /* at a slot */
    int n_taken;   /* batches that the consumer took since it read one itself */
    int current; /* slot that batches are taken from first, so that a split's rows stay together */
    bool stop;

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
            TL_TRY(p->open(p->ctx, p->next++, p->helpers, &p->reader, err));
        }
        TL_TRY(tl_reader_next(p->reader, out, err));
        if (*out != NULL)
            return TL_OK;
        tl_reader_free(p->reader);
        p->reader = NULL;
    }
}

/* ---- parallel ---- */

static bool is_begun(const slot *s)
{
    return s->state != SLOT_FREE && !s->at_end;
}

static int count_slots(const parallel *p, slot_state state)
{
    int n = 0;
    for (int i = 0; i < p->n_slots; i++)
        n += p->slots[i].state == state;
    return n;
}

static tl_status run_slots(void *arg, tl_error *err);

/* As many tasks as there are slots to fill, and threads beside the consumer. A task that cannot be started is none too few: the
 * consumer will do it. Lock held. */
static void start_tasks(parallel *p)
{
    int n = TL_MIN(count_slots(p, SLOT_QUEUED), p->max_tasks - p->n_running);
    while (!p->stop && p->n_tasks < n && tl_task_group_run(p->group, run_slots, p, NULL) == TL_OK)
        p->n_tasks++;
}

/* Lock held. */
static void queue_slot(parallel *p, slot *s)
{
    s->state = SLOT_QUEUED;
    start_tasks(p);
}

/* Put splits into free slots, until as many are under way as there are threads. Lock held. */
static void begin_splits(parallel *p)
{
    int begun = 0;
    for (int i = 0; i < p->n_slots; i++)
        begun += is_begun(&p->slots[i]);
    for (int i = 0; i < p->n_slots && begun < p->n_threads && p->next < p->n; i++) {
        slot *s = &p->slots[i];
        if (s->state != SLOT_FREE)
            continue;
        s->split = p->next++;
        s->n_read = s->n_batches = s->first_batch = 0;
        queue_slot(p, s);
        begun++;
    }
    if (begun < p->n_threads)
        tl_pool_share_set(p->helpers, p->n_threads - TL_MAX(begun, 1) + 1);
}

/* The QUEUED slot whose turn it is becomes RUNNING: while splits wait the first one's, then the one's that was read least. NULL: there is
 * none. Lock held. */
static slot *claim(parallel *p)
{
    slot *first = NULL;
    for (int i = 0; i < p->n_slots; i++) {
        slot *s = &p->slots[i];
        if (s->state != SLOT_QUEUED)
            continue;
        if (first == NULL || (p->next < p->n ? s->split < first->split : s->n_read < first->n_read))
            first = s;
    }
    if (first != NULL)
        first->state = SLOT_RUNNING;
    return first;
}

/* One batch more for a RUNNING slot, whose queue has room. Lock held, but not while reading. */
static void read_batch(parallel *p, slot *s)
{
    tl_batch *batch = NULL;
    tl_status status = TL_OK;
    pthread_mutex_unlock(&p->lock);
    if (s->reader == NULL)
        status = p->open(p->ctx, s->split, p->helpers, &s->reader, &s->error);
    if (status == TL_OK)
        status = tl_reader_next(s->reader, &batch, &s->error);
    if (status != TL_OK || batch == NULL) {
        tl_reader_free(s->reader);
        s->reader = NULL;
    }
    pthread_mutex_lock(&p->lock);
    s->status = status;
    if (status == TL_OK && batch != NULL) {
        s->batches[(s->first_batch + s->n_batches++) % SLOT_BATCHES] = batch;
        s->n_read++;
    } else {
        s->at_end = true;
        begin_splits(p);
    }
    pthread_cond_signal(&p->ready);
}

/* Reads into whichever slot is next. Failures travel in the slot: the consumer sees them in their place. */
static tl_status run_slots(void *arg, tl_error *err)
{
    (void)err;
    parallel *p = arg;
    pthread_mutex_lock(&p->lock);
    p->n_tasks--;
    slot *s = claim(p);
    if (s != NULL) { /* else the consumer did it */
        p->n_running++;
        for (int i = 0; i < SLOT_BATCHES && s->n_batches < SLOT_BATCHES && !s->at_end && !p->stop; i++)
            read_batch(p, s);
        p->n_running--;
        s->state = s->at_end || s->n_batches == SLOT_BATCHES || p->stop ? SLOT_FULL : SLOT_QUEUED;
        start_tasks(p); /* behind other work of the pool */
    }
    pthread_cond_signal(&p->ready);
    pthread_mutex_unlock(&p->lock);
    return TL_OK;
}

/* The slot to take from, the current one first: it has batches, or it is at its end. Lock held. */
static slot *find_ready(const parallel *p)
{
    const slot *found = NULL;
    for (int i = 0; i < p->n_slots; i++) {
        const slot *s = &p->slots[(p->current + i) % p->n_slots];
        if (s->n_batches == 0 && !(s->at_end && s->state == SLOT_FULL))
            continue;
        if (i == 0 && s->n_batches > 0)
            return &p->slots[p->current];
        if (found == NULL || s->split < found->split)
            found = s;
    }
    return found == NULL ? NULL : &p->slots[found - p->slots];
}

/* The consumer's own slot, or one that becomes it. NULL: all that there are are RUNNING, or read. Lock held. */
static slot *own_slot(parallel *p)
{
    for (int i = 0; i < p->n_slots; i++) {
        if (p->slots[i].state == SLOT_OURS) {
            p->slots[i].state = SLOT_RUNNING;
            return &p->slots[i];
        }
    }
    return claim(p);
}

/* Lock held. */
static slot *wait_ready(parallel *p)
{
    for (;;) {
        slot *s = find_ready(p);
        if (s != NULL)
            return s;
        s = own_slot(p);
        if (s != NULL) {
            p->n_taken = 0;
            read_batch(p, s);
            s->state = s->at_end ? SLOT_FULL : SLOT_OURS;
        } else if (count_slots(p, SLOT_RUNNING) > 0) {
            pthread_cond_wait(&p->ready, &p->lock);
        } else {
            return NULL;
        }
    }
}

/*
 * `s`, which the consumer took a batch from, is to be filled again. A consumer that has taken more than all queues hold without coming to read
 * itself does not keep up: threads that have nothing to do read its own split, too. Lock held.
 */
static void refill(parallel *p, slot *s)
{
    p->n_taken++;
    if (s->state == SLOT_FULL && !s->at_end && s->n_batches <= SLOT_BATCHES / 2)
        queue_slot(p, s);
    if (p->n_taken <= p->max_tasks * SLOT_BATCHES || p->n_tasks + p->n_running >= p->max_tasks)
        return;
    for (int i = 0; i < p->n_slots; i++)
        if (p->slots[i].state == SLOT_OURS)
            queue_slot(p, &p->slots[i]);
}

/* Lock held. */
static tl_status take_batch(parallel *p, tl_batch **out, tl_error *err)
{
    for (;;) {
        slot *s = wait_ready(p);
        if (s == NULL) {
            *out = NULL;
            return TL_OK;
        }
        if (s->n_batches > 0) {
            p->current = (int)(s - p->slots);
            *out = s->batches[s->first_batch];
            s->first_batch = (s->first_batch + 1) % SLOT_BATCHES;
            s->n_batches--;
            refill(p, s);
            return TL_OK;
        }
        if (s->status != TL_OK) {
            if (err != NULL)
                *err = s->error;
            return s->status;
        }
        s->state = SLOT_FREE;
        s->at_end = false;
        begin_splits(p);
    }
}

static tl_status next_parallel(parallel *p, tl_batch **out, tl_error *err)
{
    pthread_mutex_lock(&p->lock);
    tl_status status = take_batch(p, out, err);
    pthread_mutex_unlock(&p->lock);
    return status;
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
        p->stop = true;
        for (int i = 0; i < p->n_slots; i++) {
            if (p->slots[i].state == SLOT_QUEUED)
                p->slots[i].state = SLOT_FULL; /* its task will find nothing to do */
        }
        pthread_mutex_unlock(&p->lock);
        tl_task_group_free(p->group); /* waits for RUNNING ones */
        for (int i = 0; i < p->n_slots; i++) {
            slot *s = &p->slots[i];
            for (int b = 0; b < s->n_batches; b++)
                tl_batch_free(s->batches[(s->first_batch + b) % SLOT_BATCHES]);
            tl_reader_free(s->reader);
        }
        tl_free(p->slots);
        pthread_cond_destroy(&p->ready);
        pthread_mutex_destroy(&p->lock);
    }
    tl_reader_free(p->reader);
    tl_pool_free(p->helpers);
    if (p->free_ctx != NULL)
        p->free_ctx(p->ctx);
    tl_type_unref(p->base.type);
    tl_free(p);
}

static const tl_reader_ops parallel_ops = {parallel_next, parallel_free};

static tl_status start(parallel *p, tl_pool *pool, tl_error *err)
{
    p->n_threads = tl_pool_threads(pool);
    p->max_tasks = TL_MAX(1, p->n_threads - 1);
    int n_slots = (int)TL_MIN((size_t)p->n_threads * 2, p->n); /* those under way, and those that are still to be emptied */
    TL_TRY(tl_task_group_create(pool, &p->group, err));
    p->slots = tl_calloc((size_t)n_slots, sizeof *p->slots);
    if (p->slots == NULL) {
        tl_task_group_free(p->group);
        return tl_nomem(err, "parallel read");
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->ready, NULL);
    p->n_slots = n_slots;
    pthread_mutex_lock(&p->lock);
    begin_splits(p);
    pthread_mutex_unlock(&p->lock);
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
    tl_status status = pool == NULL ? TL_OK : tl_pool_share(pool, &p->helpers, err);
    if (status == TL_OK && pool != NULL && n > 1 && limit != 0)
        status = start(p, pool, err);
    else if (status == TL_OK && pool != NULL)
        tl_pool_share_set(p->helpers, tl_pool_threads(pool));
    if (status != TL_OK) {
        parallel_free(&p->base);
        return status;
    }
    *out = &p->base;
    return TL_OK;
}
