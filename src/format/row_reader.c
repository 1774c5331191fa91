/* See row_reader.h. */
#include "format/row_reader.h"

#include <stdatomic.h>

/* ---- parts ---- */

static int64_t count_rows(const tl_row_ranges *ranges)
{
    int64_t n = 0;
    for (size_t i = 0; i < ranges->n; i++)
        n += ranges->items[i].to - ranges->items[i].from;
    return n;
}

/* Cut the part's ranges to the rows wanted. */
static tl_status cut_ranges(tl_format__row_reader *r, tl_error *err)
{
    TL_CLEANUP(tl_row_ranges_deinit) tl_row_ranges all = r->ranges;
    const tl_row_range *wanted = r->wanted->items;
    const int64_t first_row = r->part_first_row;
    size_t at = r->wanted_at, cap = all.n;
    for (size_t i = at; i < r->wanted->n && wanted[i].from < r->next_first_row; i++)
        cap++;
    r->ranges = (tl_row_ranges){tl_alloc((cap + 1) * sizeof *r->ranges.items), 0};
    if (r->ranges.items == NULL)
        return tl_nomem(err, "row ranges");
    for (size_t i = 0; i < all.n; i++) {
        size_t first = r->ranges.n;
        int64_t from = first_row + all.items[i].from, to = first_row + all.items[i].to;
        at = tl_row_ranges_find(r->wanted, at, from);
        for (size_t k = at; k < r->wanted->n && wanted[k].from < to; k++) {
            tl_row_range part = {TL_MAX(from, wanted[k].from) - first_row, TL_MIN(to, wanted[k].to) - first_row};
            if (r->ranges.n > first && part.from - r->ranges.items[r->ranges.n - 1].to <= r->ops->gap_rows)
                r->ranges.items[r->ranges.n - 1].to = part.to;
            else
                r->ranges.items[r->ranges.n++] = part;
        }
    }
    return TL_OK;
}

/* Whether rows of the part just begun are wanted. */
static bool is_wanted(tl_format__row_reader *r)
{
    return r->wanted == NULL || tl_row_ranges_meet(r->wanted, &r->wanted_at, r->part_first_row, r->next_first_row);
}

static tl_status open_part(tl_format__row_reader *r, int32_t part, tl_error *err)
{
    int64_t rows = r->ops->part_rows(r, part);
    r->part_first_row = r->next_first_row;
    r->next_first_row += rows;
    tl_row_ranges_deinit(&r->ranges);
    r->range = 0;
    if (rows == 0 || !is_wanted(r))
        return TL_OK;
    TL_TRY(r->ops->part_ranges(r, part, &r->ranges, err));
    if (r->wanted != NULL && r->ranges.n > 0)
        TL_TRY(cut_ranges(r, err));
    if (r->ranges.n == 0)
        return TL_OK;
    if (r->ops->part_open != NULL)
        TL_TRY(r->ops->part_open(r, part, r->is_late || count_rows(&r->ranges) != rows, err));
    r->is_open = true;
    return TL_OK;
}

/* ---- windows ---- */

/* The next rows of the part; window_rows is 0 at its end. */
static tl_status next_window(tl_format__row_reader *r, tl_error *err)
{
    r->window.n = 0;
    r->window_rows = 0;
    if (r->range == r->ranges.n)
        return TL_OK;
    r->window_rows_max = r->batch_rows;
    TL_TRY(r->ops->window_rows(r, &r->window_rows_max, err));
    while (r->range < r->ranges.n && r->window_rows < r->window_rows_max && r->window.n < r->ops->window_ranges) {
        tl_row_range *range = &r->ranges.items[r->range];
        int64_t n = TL_MIN(range->to - range->from, r->window_rows_max - r->window_rows);
        TL_TRY(tl_row_ranges_add(&r->window, &r->window_cap, range->from, range->from + n, err));
        r->window_rows += n;
        range->from += n;
        r->range += range->from == range->to;
    }
    return TL_OK;
}

/* ---- columns ---- */

/* Columns of one batch, shared out one by one among the threads that come. */
typedef struct column_tasks {
    tl_format__row_reader *r;
    const tl_row_ranges *rows;
    int64_t n_rows;
    const int32_t *columns;
    int32_t n;
    atomic_int next;
} column_tasks;

static tl_status run_columns(void *arg, tl_error *err)
{
    column_tasks *t = arg;
    for (int32_t i; (i = atomic_fetch_add(&t->next, 1)) < t->n;) {
        int32_t col = t->columns[i];
        TL_TRY(t->r->ops->read_column(t->r, col, t->rows, t->n_rows, &t->r->columns[col], err));
    }
    return TL_OK;
}

/* The calling thread takes columns, too, so that it waits for the others' last ones only. */
static tl_status run_tasks(tl_pool *pool, column_tasks *tasks, tl_error *err)
{
    int helpers = pool == NULL ? 0 : (int)TL_MIN(tasks->n, tl_pool_threads(pool)) - 1;
    if (helpers <= 0)
        return run_columns(tasks, err);
    tl_task_group *group;
    TL_TRY(tl_task_group_create(pool, &group, err));
    for (int i = 0; i < helpers; i++)
        (void)tl_task_group_run(group, run_columns, tasks, NULL); /* who cannot be had is not needed */
    tl_status status = run_columns(tasks, err);
    tl_error task_error = {0};
    tl_status joined = tl_task_group_wait(group, &task_error);
    tl_task_group_free(group);
    if (status == TL_OK && joined != TL_OK) {
        if (err != NULL)
            *err = task_error;
        status = joined;
    }
    return status;
}

/* Read the columns of the predicate, or the others, into r->columns. */
static tl_status read_columns(tl_format__row_reader *r, bool first, const tl_row_ranges *rows, int64_t n_rows, tl_error *err)
{
    int32_t n_cols = r->base.type->n_fields, n = 0;
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc(((size_t)n_cols + 1) * sizeof *columns);
    if (columns == NULL)
        return tl_nomem(err, "batch");
    for (int32_t i = 0; i < n_cols; i++) {
        columns[n] = i;
        n += tl_format__reads_first(r, i) == first;
    }
    column_tasks tasks = {.r = r, .rows = rows, .n_rows = n_rows, .columns = columns, .n = n};
    return run_tasks(r->pool, &tasks, err);
}

static void drop_columns(tl_format__row_reader *r)
{
    for (int32_t i = 0; r->columns != NULL && i < r->base.type->n_fields; i++) {
        tl_column_unref(r->columns[i]);
        r->columns[i] = NULL;
    }
}

/* Of the columns of the predicate, or of the others, the rows that pass stay. */
static tl_status gather_columns(tl_format__row_reader *r, bool first, int64_t n, tl_error *err)
{
    for (int32_t i = 0; i < r->base.type->n_fields; i++) {
        tl_column *gathered;
        if (tl_format__reads_first(r, i) != first)
            continue;
        TL_TRY(tl_column_gather(r->columns[i], r->sel, n, &gathered, err));
        tl_column_unref(r->columns[i]);
        r->columns[i] = gathered;
    }
    return TL_OK;
}

/* ---- batches ---- */

/* Numbers in the file of the window's rows, or of its rows sel[0..n). */
static void fill_row_numbers(const tl_format__row_reader *r, const uint32_t *sel, int64_t n, int64_t *out)
{
    const tl_row_range *range = r->window.items;
    int64_t before = 0; /* window rows in front of `range` */
    for (int64_t i = 0; i < n; i++) {
        int64_t row = sel == NULL ? i : sel[i];
        while (row - before >= range->to - range->from) {
            before += range->to - range->from;
            range++;
        }
        out[i] = r->part_first_row + range->from + (row - before);
    }
}

/* The columns become a batch of n rows: all of the window (sel NULL) or some. */
static tl_status make_batch(tl_format__row_reader *r, const uint32_t *sel, int64_t n, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(r->base.type, n, &batch, err));
    for (int32_t i = 0; i < r->base.type->n_fields; i++)
        batch->cols[i] = TL_STEAL(r->columns[i]);
    if (r->with_row_numbers) {
        batch->seq = tl_alloc((size_t)n * sizeof *batch->seq);
        if (batch->seq == NULL)
            return tl_nomem(err, "row numbers");
        fill_row_numbers(r, sel, n, batch->seq);
    }
    *out = TL_STEAL(batch);
    return TL_OK;
}

/* Passing rows as runs in r->selected; false if there are more than `max`. */
static bool select_runs(tl_format__row_reader *r, int64_t n_sel, size_t max)
{
    const tl_row_range *range = r->window.items;
    tl_row_range *runs = r->selected.items;
    int64_t before = 0;
    size_t n = 0;
    for (int64_t i = 0; i < n_sel; i++) {
        while (r->sel[i] - before >= range->to - range->from) {
            before += range->to - range->from;
            range++;
        }
        int64_t row = range->from + (r->sel[i] - before);
        if (n > 0 && runs[n - 1].to == row) {
            runs[n - 1].to++;
            continue;
        }
        if (n == max)
            return false;
        runs[n++] = (tl_row_range){row, row + 1};
    }
    r->selected.n = n;
    return true;
}

static tl_status read_rest(tl_format__row_reader *r, int64_t n_sel, tl_error *err)
{
    if (n_sel == r->window_rows)
        return read_columns(r, false, &r->window, r->window_rows, err);
    TL_TRY(gather_columns(r, /* first= */ true, n_sel, err));
    if (select_runs(r, n_sel, (size_t)(r->window_rows / r->ops->run_rows)))
        return read_columns(r, false, &r->selected, n_sel, err);
    TL_TRY(read_columns(r, false, &r->window, r->window_rows, err));
    return gather_columns(r, /* first= */ false, n_sel, err);
}

/* *out is NULL if no row of the window passes. */
static tl_status read_late(tl_format__row_reader *r, tl_batch **out, tl_error *err)
{
    int64_t n_sel;
    *out = NULL;
    TL_TRY(read_columns(r, true, &r->window, r->window_rows, err));
    TL_TRY(tl_predicate_eval(r->predicate, (const tl_column *const *)r->columns, r->window_rows, r->sel, &n_sel, err));
    if (n_sel == 0) {
        drop_columns(r);
        return TL_OK;
    }
    TL_TRY(read_rest(r, n_sel, err));
    return make_batch(r, r->sel, n_sel, out, err);
}

static tl_status read_window(tl_format__row_reader *r, tl_batch **out, tl_error *err)
{
    if (r->is_late)
        return read_late(r, out, err);
    TL_TRY(read_columns(r, false, &r->window, r->window_rows, err));
    return make_batch(r, NULL, r->window_rows, out, err);
}

/* ---- small results ---- */

static tl_status push_pending(tl_format__row_reader *r, tl_batch *batch, tl_error *err)
{
    if (r->n_pending == r->pending_cap) {
        int32_t cap = r->pending_cap == 0 ? 16 : r->pending_cap * 2;
        tl_batch **pending = tl_realloc(r->pending, (size_t)cap * sizeof *pending);
        if (pending == NULL) {
            tl_batch_free(batch);
            return tl_nomem(err, "batch");
        }
        r->pending = pending;
        r->pending_cap = cap;
    }
    r->pending[r->n_pending++] = batch;
    r->pending_rows += batch->n_rows;
    return TL_OK;
}

static tl_status take_pending(tl_format__row_reader *r, tl_batch **out, tl_error *err)
{
    *out = NULL;
    if (r->n_pending == 0)
        return TL_OK;
    if (r->n_pending == 1)
        *out = r->pending[0];
    else
        TL_TRY(tl_batch_concat((const tl_batch *const *)r->pending, r->n_pending, out, err));
    for (int32_t i = 0; i < r->n_pending && r->n_pending > 1; i++)
        tl_batch_free(r->pending[i]);
    r->n_pending = 0;
    r->pending_rows = 0;
    return TL_OK;
}

/* Takes the batch; *out is one to hand out, or NULL if more should come first. What is put together is no larger than a window. */
static tl_status collect(tl_format__row_reader *r, tl_batch *batch, tl_batch **out, tl_error *err)
{
    *out = NULL;
    if (r->n_pending == 0 && batch->n_rows >= r->window_rows_max / 2) {
        *out = batch;
        return TL_OK;
    }
    if (r->pending_rows + batch->n_rows > r->window_rows_max) {
        tl_status status = take_pending(r, out, err);
        if (status != TL_OK) {
            tl_batch_free(batch);
            return status;
        }
    }
    return push_pending(r, batch, err);
}

/* ---- the reader ---- */

static tl_status next_part(tl_format__row_reader *r, tl_error *err)
{
    while (!r->is_open && r->part < r->n_parts) {
        int32_t part = r->part++;
        TL_TRY(tl_error_wrap(err, open_part(r, part, err), "%s %d", r->ops->part_name, part));
    }
    return TL_OK;
}

static tl_status next_batch(tl_format__row_reader *r, tl_batch **out, tl_error *err)
{
    for (*out = NULL; *out == NULL;) {
        TL_TRY(next_part(r, err));
        if (!r->is_open)
            return take_pending(r, out, err);
        tl_batch *batch = NULL;
        tl_status status = next_window(r, err);
        if (status == TL_OK && r->window_rows > 0)
            status = read_window(r, &batch, err);
        TL_TRY(tl_error_wrap(err, status, "%s %d", r->ops->part_name, r->part - 1));
        if (r->window_rows == 0)
            r->is_open = false;
        if (batch != NULL)
            TL_TRY(collect(r, batch, out, err));
    }
    return TL_OK;
}

static tl_status reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    tl_format__row_reader *r = (tl_format__row_reader *)reader;
    tl_batch *batch = NULL;
    tl_status status = next_batch(r, &batch, err);
    if (status != TL_OK) {
        tl_batch_free(batch);
        return tl_error_wrap(err, status, "%s '%s'", r->ops->file_name, r->path);
    }
    *out = batch;
    return TL_OK;
}

static void reader_free(tl_reader *reader)
{
    tl_format__row_reader *r = (tl_format__row_reader *)reader;
    drop_columns(r);
    for (int32_t i = 0; i < r->n_pending; i++)
        tl_batch_free(r->pending[i]);
    tl_free(r->pending);
    tl_row_ranges_deinit(&r->ranges);
    tl_row_ranges_deinit(&r->window);
    tl_row_ranges_deinit(&r->selected);
    tl_free(r->sel);
    r->ops->close(r);
    tl_predicate_free(r->predicate);
    tl_arena_deinit(&r->arena);
    tl_type_unref(r->base.type);
    tl_free(r);
}

static tl_status init_reader(tl_format__row_reader *r, const tl_read_spec *spec, tl_error *err)
{
    size_t n = (size_t)spec->row_type->n_fields + 1;
    r->batch_rows = spec->batch_rows > 0 ? TL_MIN(spec->batch_rows, INT32_MAX) : TL_BATCH_ROWS;
    r->with_row_numbers = spec->with_row_numbers;
    r->pool = spec->pool;
    r->wanted = spec->rows;
    r->columns = tl_arena_calloc(&r->arena, n, sizeof *r->columns);
    r->is_used = tl_arena_calloc(&r->arena, n, sizeof *r->is_used);
    if (r->columns == NULL || r->is_used == NULL)
        return tl_nomem(err, "reader");
    if (spec->predicate != NULL) {
        TL_TRY(tl_predicate_dup(spec->predicate, &r->predicate, err));
        tl_predicate_columns(r->predicate, r->is_used);
    }
    r->is_late = spec->exact && r->predicate != NULL;
    TL_TRY(r->ops->init(r, err));
    if (!r->is_late)
        return TL_OK;
    r->sel = tl_alloc((size_t)r->batch_rows * sizeof *r->sel);
    r->selected.items = tl_alloc(((size_t)(r->batch_rows / r->ops->run_rows) + 1) * sizeof *r->selected.items);
    return r->sel == NULL || r->selected.items == NULL ? tl_nomem(err, "reader") : TL_OK;
}

tl_status tl_format__row_reader_open(const tl_format__row_ops *ops, tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec,
                                     tl_reader **out, tl_error *err)
{
    static const tl_reader_ops reader_ops = {reader_next, reader_free};
    tl_format__row_reader *r = tl_calloc(1, ops->bytes);
    if (r == NULL)
        return tl_nomem(err, "reader");
    r->ops = ops;
    tl_status status = ops->open(r, fs, path, bytes, err);
    if (status != TL_OK) {
        tl_free(r);
        return status;
    }
    r->base = (tl_reader){&reader_ops, tl_type_ref(spec->row_type)};
    status = init_reader(r, spec, err);
    if (status != TL_OK) {
        reader_free(&r->base);
        return tl_error_wrap(err, status, "%s '%s'", ops->file_name, path);
    }
    *out = &r->base;
    return TL_OK;
}
