/*
 * Gathering a batch's rows by bucket beside the caller, who meanwhile makes the next batch. One batch stays behind: accepted, but not in the
 * buffers yet, until the next call that needs it there.
 *
 * The batches are kept for a while when they are done with. Memory that is freed is what the next allocation gets, so the caller would
 * write its next rows into cache lines that the other processor has just read, which takes 5 to 28 ns a line depending on how
 * far apart they are: more than the gather itself. After HELD_BYTES_MAX of other batches both have forgotten the lines.
 */
#include "table/write_private.h"

/* A few times what a processor's own cache holds; 16 and 32 batches of 1 MB gave the same, 4 half of it. */
#define HELD_BYTES_MAX (16 << 20)
/* Below that, waking a thread up costs about as much as the gather. */
#define BEHIND_BYTES_MIN (256 << 10)
#define HELD_MAX (HELD_BYTES_MAX / BEHIND_BYTES_MIN)

struct tl_write_behind {
    tl_pool *pool;
    tl_bucket_parts parts; /* those that stay behind; n 0: none */
    tl_task_group *gather; /* of them; NULL: not begun, or it has failed */
    tl_bucket_parts held[HELD_MAX]; /* a ring, without rows of parts */
    int64_t held_bytes[HELD_MAX];
    int first;
    int n_held;
    int64_t bytes;       /* of what is held */
    int64_t round_bytes; /* that came since the last prepare */
};

tl_status tl_write_behind_create(tl_pool *pool, tl_write_behind **out, tl_error *err)
{
    tl_write_behind *b = tl_calloc(1, sizeof *b);
    if (b == NULL)
        return tl_nomem(err, "writer");
    b->pool = pool;
    *out = b;
    return TL_OK;
}

static void release_first(tl_write_behind *b)
{
    tl_bucket_parts_deinit(&b->held[b->first]);
    b->bytes -= b->held_bytes[b->first];
    b->first = (b->first + 1) % HELD_MAX;
    b->n_held--;
}

static void release_all(tl_write_behind *b)
{
    while (b->n_held > 0)
        release_first(b);
}

void tl_write_behind_round(tl_write_behind *b)
{
    if (b == NULL)
        return;
    if (b->round_bytes < HELD_BYTES_MAX)
        release_all(b);
    b->round_bytes = 0;
}

void tl_write_behind_free(tl_write_behind *b)
{
    if (b == NULL)
        return;
    tl_task_group_free(b->gather);
    tl_bucket_parts_deinit(&b->parts);
    release_all(b);
    tl_free(b);
}

bool tl_write_behind_wants(const tl_write_behind *b, const tl_bucket_parts *parts)
{
    return b != NULL && parts->batch != NULL && tl_pool_threads(b->pool) > 1 && tl_batch_bytes(parts->batch) >= BEHIND_BYTES_MIN;
}

static tl_status gather_parts(void *arg, tl_error *err)
{
    return tl_bucket_parts_gather(arg, err);
}

tl_status tl_write_behind_leave(tl_write_behind *b, tl_bucket_parts *parts, tl_error *err)
{
    tl_task_group *group = NULL;
    TL_TRY(tl_task_group_create(b->pool, &group, err));
    b->parts = *parts;
    tl_status status = tl_task_group_run(group, gather_parts, &b->parts, err);
    if (status != TL_OK) {
        b->parts = (tl_bucket_parts){0};
        tl_task_group_free(group);
        return status;
    }
    *parts = (tl_bucket_parts){0};
    b->gather = group;
    return TL_OK;
}

tl_status tl_write_behind_take(tl_write_behind *b, tl_bucket_parts *out, tl_error *err)
{
    *out = (tl_bucket_parts){0};
    if (b == NULL || b->parts.n == 0)
        return TL_OK;
    tl_status status = b->gather == NULL ? tl_bucket_parts_gather(&b->parts, err) : tl_task_group_finish(b->gather, err);
    tl_task_group_free(TL_STEAL(b->gather));
    TL_TRY(tl_error_wrap(err, status, "rows of an earlier batch"));
    *out = b->parts;
    b->parts = (tl_bucket_parts){0};
    return TL_OK;
}

void tl_write_behind_hold(tl_write_behind *b, tl_bucket_parts *parts)
{
    int64_t bytes = parts->batch == NULL ? HELD_BYTES_MAX + 1 : tl_batch_bytes(parts->batch);
    tl_bucket_parts whole = {.batch = TL_STEAL(parts->batch), .order = TL_STEAL(parts->order)};
    tl_bucket_parts_deinit(parts);
    b->round_bytes += bytes;
    if (bytes > HELD_BYTES_MAX) {
        tl_bucket_parts_deinit(&whole);
        return;
    }
    while (b->n_held == HELD_MAX || b->bytes + bytes > HELD_BYTES_MAX)
        release_first(b);
    int at = (b->first + b->n_held++) % HELD_MAX;
    b->held[at] = whole;
    b->held_bytes[at] = bytes;
    b->bytes += bytes;
}
