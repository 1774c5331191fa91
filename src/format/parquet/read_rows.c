/*
 * The reader: row groups in order, batches of rows out of them.
 *
 * What is read is always said as ranges of rows: those of the pages that may match, cut to batches. With an exact predicate
 * its columns are read first; the others follow only for the rows that pass, and not at all where none does. Small results
 * are put together, so that a selective predicate does not hand out crumbs.
 */
#include <stdatomic.h>

#include "format/parquet/read_private.h"

/* Selected rows as ranges are worth it if a run of them stands for this many rows of the window; else rows are gathered. */
#define ROWS_PER_RANGE_MIN 16

typedef struct row_reader {
    tl_reader base;
    tl_pq_file file;
    tl_arena arena;          /* plan */
    tl_predicate *predicate; /* NULL: none */
    bool is_late;            /* rows that do not pass are left out */
    bool with_row_numbers;
    int64_t batch_rows;
    const tl_row_ranges *wanted; /* NULL: all rows */
    size_t wanted_at;            /* the first of them that ends in the group or behind it */
    tl_pool *pool;
    tl_pq_pruner pruner;
    int32_t n_cols;
    tl_pq_column *cols;
    /* current row group */
    int32_t group; /* next one to open */
    bool is_open;
    int64_t group_first_row;
    int64_t next_first_row; /* of the next group */
    tl_arena group_arena;   /* offset indexes */
    tl_pq_range *ranges;
    int32_t n_ranges;
    int32_t range;     /* current one */
    int64_t range_row; /* rows of it that are done */
    /* window: the rows of one pass */
    tl_pq_range *window;
    int32_t n_window;
    int32_t window_cap;
    int64_t window_rows;
    tl_pq_range *selected; /* late: ranges of passing rows */
    uint32_t *sel;         /* late: passing rows of the window */
    tl_batch **pending;    /* late: small results */
    int32_t n_pending;
    int32_t pending_cap;
    int64_t pending_rows;
    tl_column **columns; /* of the batch in the making */
} row_reader;

/* ---- row groups ---- */

static bool reads_predicate_column(const row_reader *r, int32_t col)
{
    return r->is_late && r->pruner.is_used[col];
}

static tl_status open_leaves(row_reader *r, int32_t group, bool with_index, tl_error *err)
{
    for (int32_t i = 0; i < r->n_cols; i++) {
        tl_pq_column *column = &r->cols[i];
        for (int32_t j = 0; j < column->n_leaves; j++) {
            const tl_pq_offset_index *index = NULL;
            tl_pq_leaf *leaf = column->leaves[j];
            if (with_index)
                TL_TRY(tl_pq__offset_index(&r->file, group, leaf->node->leaf, &r->group_arena, &index, err));
            TL_TRY(tl_pq__read_leaf_open_group(leaf, group, index, err));
        }
    }
    return TL_OK;
}

/* Cut the ranges of the group to the rows wanted. */
static tl_status cut_ranges(row_reader *r, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_pq_range *ranges = TL_STEAL(r->ranges);
    int32_t n_ranges = r->n_ranges;
    size_t n = 0, at = r->wanted_at, cap = (size_t)n_ranges;
    for (size_t i = at; i < r->wanted->n && r->wanted->items[i].from < r->next_first_row; i++)
        cap++;
    r->n_ranges = 0;
    r->ranges = tl_alloc((cap + 1) * sizeof *r->ranges);
    if (r->ranges == NULL)
        return tl_nomem(err, "row ranges");
    for (int32_t i = 0; i < n_ranges; i++) {
        int64_t from = r->group_first_row + ranges[i].from, to = from + ranges[i].count;
        at = tl_row_ranges_find(r->wanted, at, from);
        for (size_t k = at; k < r->wanted->n && r->wanted->items[k].from < to; k++) {
            int64_t first = TL_MAX(from, r->wanted->items[k].from), end = TL_MIN(to, r->wanted->items[k].to);
            r->ranges[n++] = (tl_pq_range){first - r->group_first_row, end - first};
        }
    }
    r->n_ranges = (int32_t)n;
    return TL_OK;
}

/* Whether rows of the group just begun are wanted. */
static bool is_wanted(row_reader *r)
{
    if (r->wanted == NULL)
        return true;
    r->wanted_at = tl_row_ranges_find(r->wanted, r->wanted_at, r->group_first_row);
    return r->wanted_at < r->wanted->n && r->wanted->items[r->wanted_at].from < r->next_first_row;
}

static tl_status open_group(row_reader *r, int32_t group, tl_error *err)
{
    bool may_match;
    int64_t num_rows = r->file.meta.row_groups[group].num_rows;
    r->group_first_row = r->next_first_row;
    r->next_first_row += num_rows;
    tl_free(r->ranges);
    r->ranges = NULL;
    r->n_ranges = r->range = 0;
    r->range_row = 0;
    if (!is_wanted(r))
        return TL_OK;
    TL_TRY(tl_pq__group_may_match(&r->pruner, group, &may_match, err));
    if (!may_match || num_rows == 0)
        return TL_OK;
    TL_TRY(tl_pq__group_ranges(&r->pruner, group, &r->ranges, &r->n_ranges, err));
    if (r->wanted != NULL)
        TL_TRY(cut_ranges(r, err));
    if (r->n_ranges == 0)
        return TL_OK;
    bool skips_rows = r->is_late || r->n_ranges != 1 || r->ranges[0].count != num_rows;
    tl_arena_deinit(&r->group_arena);
    TL_TRY(open_leaves(r, group, skips_rows, err));
    r->is_open = true;
    return TL_OK;
}

/* Open the next row group that may match; false at the end. */
static tl_status next_group(row_reader *r, bool *more, tl_error *err)
{
    while (!r->is_open && r->group < r->file.meta.n_row_groups) {
        int32_t group = r->group++;
        TL_TRY(tl_error_wrap(err, open_group(r, group, err), "row group %d", group));
    }
    *more = r->is_open;
    return TL_OK;
}

/* ---- windows ---- */

static tl_status window_rows_max(row_reader *r, int64_t *out, tl_error *err)
{
    *out = r->batch_rows;
    for (int32_t i = 0; i < r->n_cols; i++) {
        for (int32_t j = 0; j < r->cols[i].n_leaves; j++) {
            int64_t rows;
            bool with_dictionary = !r->is_late || reads_predicate_column(r, i);
            TL_TRY(tl_pq__read_leaf_rows_max(r->cols[i].leaves[j], with_dictionary, &rows, err));
            *out = TL_MIN(*out, rows);
        }
    }
    return TL_OK;
}

static tl_status reserve_window(row_reader *r, tl_error *err)
{
    if (r->n_window < r->window_cap)
        return TL_OK;
    int32_t cap = r->window_cap == 0 ? 16 : r->window_cap * 2;
    tl_pq_range *window = tl_realloc(r->window, (size_t)cap * sizeof *window);
    if (window == NULL)
        return tl_nomem(err, "window");
    r->window = window;
    r->window_cap = cap;
    return TL_OK;
}

/* The next rows of the group; window_rows is 0 at its end. */
static tl_status next_window(row_reader *r, tl_error *err)
{
    int64_t rows_max;
    TL_TRY(window_rows_max(r, &rows_max, err));
    r->n_window = 0;
    r->window_rows = 0;
    while (r->range < r->n_ranges && r->window_rows < rows_max) {
        const tl_pq_range *range = &r->ranges[r->range];
        int64_t count = TL_MIN(range->count - r->range_row, rows_max - r->window_rows);
        TL_TRY(reserve_window(r, err));
        r->window[r->n_window++] = (tl_pq_range){range->from + r->range_row, count};
        r->window_rows += count;
        r->range_row += count;
        if (r->range_row == range->count) {
            r->range++;
            r->range_row = 0;
        }
    }
    return TL_OK;
}

/* ---- columns ---- */

typedef struct column_task {
    tl_pq_column *column;
    const tl_pq_range *ranges;
    int32_t n_ranges;
    int64_t n_rows;
    tl_column **out;
} column_task;

/* Columns of one batch, shared out one by one among the threads that come. */
typedef struct column_tasks {
    column_task *items;
    int32_t n;
    atomic_int next;
} column_tasks;

static tl_status run_columns(void *arg, tl_error *err)
{
    column_tasks *tasks = arg;
    for (int32_t i; (i = atomic_fetch_add(&tasks->next, 1)) < tasks->n;) {
        column_task *t = &tasks->items[i];
        TL_TRY(tl_pq__column_read(t->column, t->ranges, t->n_ranges, t->n_rows, t->out, err));
    }
    return TL_OK;
}

/* The calling thread takes columns, too, so that it waits for the others' last ones only. */
static tl_status run_tasks(row_reader *r, column_task *items, int32_t n, tl_error *err)
{
    column_tasks tasks = {.items = items, .n = n};
    int helpers = r->pool == NULL ? 0 : (int)TL_MIN(n, tl_pool_threads(r->pool)) - 1;
    if (helpers <= 0)
        return run_columns(&tasks, err);
    tl_task_group *group;
    TL_TRY(tl_task_group_create(r->pool, &group, err));
    for (int i = 0; i < helpers; i++)
        (void)tl_task_group_run(group, run_columns, &tasks, NULL); /* who cannot be had is not needed */
    tl_status status = run_columns(&tasks, err);
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
static tl_status read_columns(row_reader *r, bool of_predicate, const tl_pq_range *ranges, int32_t n_ranges, int64_t n_rows,
                              tl_error *err)
{
    TL_CLEANUP(tl_freep) column_task *tasks = tl_alloc((size_t)r->n_cols * sizeof *tasks);
    if (tasks == NULL)
        return tl_nomem(err, "batch");
    int32_t n = 0;
    for (int32_t i = 0; i < r->n_cols; i++)
        if (reads_predicate_column(r, i) == of_predicate)
            tasks[n++] = (column_task){&r->cols[i], ranges, n_ranges, n_rows, &r->columns[i]};
    return run_tasks(r, tasks, n, err);
}

static void drop_columns(row_reader *r)
{
    for (int32_t i = 0; i < r->n_cols; i++) {
        tl_column_unref(r->columns[i]);
        r->columns[i] = NULL;
    }
}

static tl_status gather_columns(row_reader *r, bool of_predicate, int64_t n, tl_error *err)
{
    for (int32_t i = 0; i < r->n_cols; i++) {
        tl_column *gathered;
        if (reads_predicate_column(r, i) != of_predicate)
            continue;
        TL_TRY(tl_column_gather(r->columns[i], r->sel, n, &gathered, err));
        tl_column_unref(r->columns[i]);
        r->columns[i] = gathered;
    }
    return TL_OK;
}

/* ---- batches ---- */

/* Numbers in the file of the window's rows, or of its rows sel[0..n). */
static void fill_row_numbers(const row_reader *r, const uint32_t *sel, int64_t n, int64_t *out)
{
    int32_t at = 0;
    int64_t before = 0; /* window rows in front of range `at` */
    for (int64_t i = 0; i < n; i++) {
        int64_t row = sel == NULL ? i : sel[i];
        while (row - before >= r->window[at].count)
            before += r->window[at++].count;
        out[i] = r->group_first_row + r->window[at].from + (row - before);
    }
}

/* The columns become a batch of n rows: all of the window (sel NULL) or some. */
static tl_status make_batch(row_reader *r, const uint32_t *sel, int64_t n, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(r->base.type, n, &batch, err));
    for (int32_t i = 0; i < r->n_cols; i++)
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

/* Passing rows as ranges of the row group; *n_out > max means that there are more. */
static void select_ranges(const row_reader *r, int64_t n_sel, int32_t max, int32_t *n_out)
{
    int32_t at = 0, n = 0;
    int64_t before = 0;
    for (int64_t i = 0; i < n_sel && n <= max; i++) {
        while (r->sel[i] - before >= r->window[at].count)
            before += r->window[at++].count;
        int64_t row = r->window[at].from + (r->sel[i] - before);
        if (n > 0 && r->selected[n - 1].from + r->selected[n - 1].count == row) {
            r->selected[n - 1].count++;
            continue;
        }
        if (n < max)
            r->selected[n] = (tl_pq_range){row, 1};
        n++;
    }
    *n_out = n;
}

static tl_status read_rest(row_reader *r, int64_t n_sel, tl_error *err)
{
    int32_t n_ranges, max = (int32_t)(r->window_rows / ROWS_PER_RANGE_MIN);
    if (n_sel == r->window_rows)
        return read_columns(r, false, r->window, r->n_window, r->window_rows, err);
    TL_TRY(gather_columns(r, /* of_predicate= */ true, n_sel, err));
    select_ranges(r, n_sel, max, &n_ranges);
    if (n_ranges <= max)
        return read_columns(r, false, r->selected, n_ranges, n_sel, err);
    TL_TRY(read_columns(r, false, r->window, r->n_window, r->window_rows, err));
    return gather_columns(r, /* of_predicate= */ false, n_sel, err);
}

/* *out is NULL if no row of the window passes. */
static tl_status read_late(row_reader *r, tl_batch **out, tl_error *err)
{
    int64_t n_sel;
    *out = NULL;
    TL_TRY(read_columns(r, true, r->window, r->n_window, r->window_rows, err));
    TL_TRY(tl_predicate_eval(r->predicate, (const tl_column *const *)r->columns, r->window_rows, r->sel, &n_sel, err));
    if (n_sel == 0) {
        drop_columns(r);
        return TL_OK;
    }
    TL_TRY(read_rest(r, n_sel, err));
    return make_batch(r, r->sel, n_sel, out, err);
}

static tl_status read_window(row_reader *r, tl_batch **out, tl_error *err)
{
    if (r->is_late)
        return read_late(r, out, err);
    TL_TRY(read_columns(r, false, r->window, r->n_window, r->window_rows, err));
    return make_batch(r, NULL, r->window_rows, out, err);
}

/* ---- small results ---- */

static tl_status push_pending(row_reader *r, tl_batch *batch, tl_error *err)
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

static tl_status take_pending(row_reader *r, tl_batch **out, tl_error *err)
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

/* Takes the batch; *out is one to hand out, or NULL if more should come first. */
static tl_status collect(row_reader *r, tl_batch *batch, tl_batch **out, tl_error *err)
{
    *out = NULL;
    if (r->n_pending == 0 && batch->n_rows >= r->batch_rows / 2) {
        *out = batch;
        return TL_OK;
    }
    if (r->pending_rows + batch->n_rows > r->batch_rows) {
        tl_status status = take_pending(r, out, err);
        if (status != TL_OK) {
            tl_batch_free(batch);
            return status;
        }
    }
    return push_pending(r, batch, err);
}

/* ---- the reader ---- */

static tl_status next_batch(row_reader *r, tl_batch **out, tl_error *err)
{
    for (*out = NULL; *out == NULL;) {
        bool more;
        TL_TRY(next_group(r, &more, err));
        if (!more)
            return take_pending(r, out, err);
        tl_batch *batch = NULL;
        tl_status status = next_window(r, err);
        if (status == TL_OK && r->window_rows > 0)
            status = read_window(r, &batch, err);
        TL_TRY(tl_error_wrap(err, status, "row group %d", r->group - 1));
        if (r->window_rows == 0)
            r->is_open = false;
        if (batch != NULL)
            TL_TRY(collect(r, batch, out, err));
    }
    return TL_OK;
}

static tl_status reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    row_reader *r = (row_reader *)reader;
    tl_batch *batch = NULL;
    tl_status status = next_batch(r, &batch, err);
    if (status != TL_OK) {
        tl_batch_free(batch);
        return tl_error_wrap(err, status, "Parquet file '%s'", r->file.path);
    }
    *out = batch;
    return TL_OK;
}

static void reader_free(tl_reader *reader)
{
    row_reader *r = (row_reader *)reader;
    if (r->columns != NULL)
        drop_columns(r);
    for (int32_t i = 0; i < r->n_cols; i++)
        tl_pq__column_deinit(&r->cols[i]);
    for (int32_t i = 0; i < r->n_pending; i++)
        tl_batch_free(r->pending[i]);
    tl_predicate_free(r->predicate);
    tl_free(r->pending);
    tl_free(r->ranges);
    tl_free(r->window);
    tl_free(r->selected);
    tl_free(r->sel);
    tl_arena_deinit(&r->group_arena);
    tl_arena_deinit(&r->arena);
    tl_pq__file_close(&r->file);
    tl_type_unref(r->base.type);
    tl_free(r);
}

static tl_status init_columns(row_reader *r, tl_error *err)
{
    const tl_type *type = r->base.type;
    size_t n = (size_t)type->n_fields;
    r->columns = tl_arena_calloc(&r->arena, n, sizeof *r->columns);
    r->cols = tl_arena_calloc(&r->arena, n, sizeof *r->cols);
    if (r->columns == NULL || r->cols == NULL)
        return tl_nomem(err, "reader");
    for (int32_t i = 0; i < type->n_fields; i++) {
        r->n_cols = i + 1;
        TL_TRY(tl_pq__column_init(&r->cols[i], &r->file, &r->arena, &type->fields[i], err));
    }
    return TL_OK;
}

static tl_status init_reader(row_reader *r, const tl_read_spec *spec, tl_error *err)
{
    r->batch_rows = spec->batch_rows > 0 ? TL_MIN(spec->batch_rows, INT32_MAX) : TL_BATCH_ROWS;
    r->with_row_numbers = spec->with_row_numbers;
    r->pool = spec->pool;
    r->wanted = spec->rows;
    TL_TRY(init_columns(r, err));
    if (spec->predicate != NULL)
        TL_TRY(tl_predicate_dup(spec->predicate, &r->predicate, err));
    r->is_late = spec->exact && r->predicate != NULL;
    TL_TRY(tl_pq__pruner_init(&r->pruner, &r->file, &r->arena, r->base.type, r->predicate, err));
    if (!r->is_late)
        return TL_OK;
    r->sel = tl_alloc((size_t)r->batch_rows * sizeof *r->sel);
    r->selected = tl_alloc(((size_t)r->batch_rows / ROWS_PER_RANGE_MIN + 1) * sizeof *r->selected);
    return r->sel == NULL || r->selected == NULL ? tl_nomem(err, "reader") : TL_OK;
}

tl_status tl_pq__open(tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec, tl_reader **out, tl_error *err)
{
    static const tl_reader_ops ops = {reader_next, reader_free};
    row_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "reader");
    tl_status status = tl_pq__file_open(fs, path, bytes, &r->file, err);
    if (status != TL_OK) {
        tl_free(r);
        return status;
    }
    r->base = (tl_reader){&ops, tl_type_ref(spec->row_type)};
    status = init_reader(r, spec, err);
    if (status != TL_OK) {
        reader_free(&r->base);
        return tl_error_wrap(err, status, "Parquet file '%s'", path);
    }
    *out = &r->base;
    return TL_OK;
}

tl_status tl_pq__schema(tl_fs *fs, const char *path, const tl_type **out, tl_error *err)
{
    tl_pq_file file;
    TL_CLEANUP(tl_type_unrefp) const tl_type *type = NULL;
    TL_TRY(tl_pq__file_open(fs, path, 0, &file, err));
    tl_status status = tl_pq__node_type((tl_pq_view){file.root, false}, &type, err);
    if (status == TL_OK)
        status = tl_type_with_nullable(type, true, out, err);
    tl_pq__file_close(&file);
    return tl_error_wrap(err, status, "Parquet file '%s'", path);
}
