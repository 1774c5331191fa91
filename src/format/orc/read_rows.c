/*
 * The reader: stripes in order, in each the row groups that may match, cut to batches. With an exact predicate its columns are
 * read first; the others follow only where a row passes. Each column knows how far it is read; where it lags behind, the row
 * index brings it near, and the rest is read and dropped.
 */
#include "format/orc/read_private.h"

/* Strings and lists make batches smaller, so that they have about this size. */
#define BATCH_BYTES_MAX ((int64_t)256 << 20)
#define BATCH_ROWS_MIN 16

typedef struct row_reader {
    tl_reader base;
    tl_orc_file file;
    tl_arena arena;          /* nodes */
    tl_predicate *predicate; /* NULL: none */
    bool is_late;            /* rows that do not pass are left out */
    bool with_row_numbers;
    const tl_row_ranges *wanted; /* NULL: all rows */
    size_t wanted_at;            /* the first of them that ends behind the row to read next */
    int64_t batch_rows_max;
    tl_pool *pool;
    tl_orc_zone zone;
    int32_t n_cols;
    tl_orc_node *cols;
    bool *is_used;  /* by the predicate */
    bool *can_seek; /* in this stripe */
    int64_t *at;    /* rows of the stripe that are read */
    tl_bytes_view *stats;
    /* the stripe */
    int32_t stripe; /* next one to open */
    bool is_open;
    tl_arena stripe_arena;
    int64_t first_row; /* in the file */
    int64_t next_first_row;
    int64_t rows;
    int64_t row;
    int64_t stride;
    int64_t n_groups;
    bool *keeps; /* groups; NULL: all */
    int64_t batch_rows;
    uint32_t *sel;
    tl_column **columns; /* of the batch in the making */
} row_reader;

/* ---- pruning ---- */

static tl_status file_may_match(row_reader *r, bool *out, tl_error *err)
{
    for (int32_t i = 0; i < r->n_cols; i++) {
        int32_t column = r->cols[i].column;
        r->stats[i] = column >= 0 && column < r->file.meta.n_stats ? r->file.meta.stats[column] : (tl_bytes_view){0};
    }
    return tl_orc__may_match(r->predicate, &r->file.meta, r->cols, r->n_cols, r->is_used, r->stats, r->file.meta.rows, out, err);
}

/* ColumnStatistics of the columns out of a StripeStatistics message. */
static void stripe_stats(row_reader *r, int32_t stripe)
{
    memset(r->stats, 0, (size_t)r->n_cols * sizeof *r->stats);
    if (stripe >= r->file.meta.n_stripe_stats)
        return;
    tl_orc_pb pb = tl_orc__pb(r->file.meta.stripe_stats[stripe]);
    for (int32_t column = 0; tl_orc__pb_next(&pb);) {
        if (pb.field != 1)
            continue;
        for (int32_t i = 0; i < r->n_cols; i++)
            if (r->cols[i].column == column)
                r->stats[i] = pb.bytes;
        column++;
    }
}

static tl_bytes_view entry_stats(tl_bytes_view entry)
{
    tl_orc_pb pb = tl_orc__pb(entry);
    tl_bytes_view out = {0};
    while (tl_orc__pb_next(&pb))
        if (pb.field == 2)
            out = pb.bytes;
    return out;
}

static tl_status prune_groups(row_reader *r, tl_error *err)
{
    r->keeps = tl_arena_calloc(&r->stripe_arena, (size_t)r->n_groups, sizeof *r->keeps);
    if (r->keeps == NULL)
        return tl_nomem(err, "row groups");
    for (int64_t g = 0; g < r->n_groups; g++) {
        for (int32_t i = 0; i < r->n_cols; i++) {
            bool has_entry = r->is_used[i] && r->cols[i].op != TL_ORC_OP_ABSENT && r->cols[i].n_entries == r->n_groups;
            r->stats[i] = has_entry ? entry_stats(r->cols[i].entries[g]) : (tl_bytes_view){0};
        }
        int64_t rows = TL_MIN(r->stride, r->rows - g * r->stride);
        TL_TRY(tl_orc__may_match(r->predicate, &r->file.meta, r->cols, r->n_cols, r->is_used, r->stats, rows, &r->keeps[g], err));
        if (r->keeps[g])
            TL_TRY(tl_orc__bloom_may_match(r->predicate, &r->file, r->cols, g, r->n_groups, &r->stripe_arena, &r->keeps[g], err));
    }
    return TL_OK;
}

/* ---- stripes ---- */

static tl_status read_stripe_footer(row_reader *r, const tl_orc_stripe *stripe, tl_orc_stripe_footer *out, tl_error *err)
{
    tl_buf plain = {0};
    tl_status status = tl_orc__file_plain(&r->file, stripe->offset + stripe->index_bytes + stripe->data_bytes,
                                          stripe->footer_bytes, &plain, err);
    uint8_t *kept = status == TL_OK ? tl_arena_alloc(&r->stripe_arena, plain.len + 1) : NULL;
    if (status == TL_OK && kept == NULL)
        status = tl_nomem(err, "stripe footer");
    if (status == TL_OK && plain.len > 0)
        memcpy(kept, plain.data, plain.len);
    if (status == TL_OK)
        status = tl_orc__read_stripe_footer((tl_bytes_view){kept, plain.len}, stripe, &r->stripe_arena, out, err);
    tl_buf_deinit(&plain);
    return status;
}

static tl_status open_columns(row_reader *r, const tl_orc_stripe *stripe, tl_error *err)
{
    tl_orc_stripe_footer footer;
    TL_TRY(read_stripe_footer(r, stripe, &footer, err));
    int64_t row_bytes = 0;
    for (int32_t i = 0; i < r->n_cols; i++) {
        TL_TRY(tl_orc__node_open(&r->cols[i], &r->file, &footer, &r->zone, &r->stripe_arena, err));
        r->can_seek[i] = r->stride > 0 && tl_orc__node_can_seek(&r->cols[i], r->n_groups);
        r->at[i] = 0;
        row_bytes = TL_MAX(row_bytes, tl_orc__node_row_bytes(&r->cols[i], stripe->rows));
    }
    r->batch_rows = TL_MIN(r->batch_rows_max, TL_MAX(BATCH_BYTES_MAX / TL_MAX(row_bytes, 1), (int64_t)BATCH_ROWS_MIN));
    return TL_OK;
}

/* Whether rows of the stripe just begun are wanted. */
static bool is_wanted(row_reader *r)
{
    if (r->wanted == NULL)
        return true;
    r->wanted_at = tl_row_ranges_find(r->wanted, r->wanted_at, r->first_row);
    return r->wanted_at < r->wanted->n && r->wanted->items[r->wanted_at].from < r->next_first_row;
}

static tl_status open_stripe(row_reader *r, int32_t s, tl_error *err)
{
    const tl_orc_stripe *stripe = &r->file.meta.stripes[s];
    bool may_match = true;
    r->first_row = r->next_first_row;
    r->next_first_row += stripe->rows;
    r->rows = stripe->rows;
    r->row = 0;
    r->stride = r->file.meta.stride;
    r->n_groups = r->stride > 0 ? (r->rows + r->stride - 1) / r->stride : 1;
    r->keeps = NULL;
    if (r->rows == 0 || !is_wanted(r))
        return TL_OK;
    if (r->predicate != NULL) {
        stripe_stats(r, s);
        TL_TRY(tl_orc__may_match(r->predicate, &r->file.meta, r->cols, r->n_cols, r->is_used, r->stats, r->rows, &may_match, err));
    }
    if (!may_match)
        return TL_OK;
    tl_arena_deinit(&r->stripe_arena);
    TL_TRY(open_columns(r, stripe, err));
    bool has_index = r->n_cols > 0 && r->stride > 0;
    for (int32_t i = 0; i < r->n_cols && has_index; i++)
        has_index = !r->is_used[i] || r->cols[i].op == TL_ORC_OP_ABSENT || r->cols[i].n_entries == r->n_groups;
    if (r->predicate != NULL && has_index)
        TL_TRY(prune_groups(r, err));
    r->is_open = true;
    return TL_OK;
}

/* The next rows whose groups may match, at r->row; 0 at the end of the stripe. */
static int64_t next_kept_rows(row_reader *r)
{
    if (r->keeps == NULL)
        return TL_MIN(r->batch_rows, r->rows - r->row);
    int64_t group = r->row / r->stride;
    while (group < r->n_groups && !r->keeps[group])
        r->row = ++group * r->stride;
    if (group >= r->n_groups || r->row >= r->rows)
        return 0;
    while (group < r->n_groups && r->keeps[group])
        group++;
    return TL_MIN(r->batch_rows, TL_MIN(group * r->stride, r->rows) - r->row);
}

/* Where more rows than this lie between two that are wanted, they are passed over: what is read in vain costs more than a batch more. */
#define GAP_ROWS_MIN 512

/* Cut `n` rows at r->row to those wanted. They may begin and end later, so that r->row moves; 0: none of them is. */
static int64_t cut_rows(row_reader *r, int64_t n)
{
    int64_t from = r->first_row + r->row, end = from + n;
    r->wanted_at = tl_row_ranges_find(r->wanted, r->wanted_at, from);
    size_t i = r->wanted_at;
    if (i == r->wanted->n || r->wanted->items[i].from >= end) {
        r->row += n;
        return 0;
    }
    from = TL_MAX(from, r->wanted->items[i].from);
    int64_t to = TL_MIN(end, r->wanted->items[i].to);
    while (++i < r->wanted->n && r->wanted->items[i].from < end && r->wanted->items[i].from - to < GAP_ROWS_MIN)
        to = TL_MIN(end, r->wanted->items[i].to);
    r->row = from - r->first_row;
    return to - from;
}

/* The next rows to read, at r->row; 0 at the end of the stripe. */
static int64_t next_rows(row_reader *r)
{
    for (;;) {
        int64_t n = next_kept_rows(r);
        if (n == 0 || r->wanted == NULL)
            return n;
        n = cut_rows(r, n);
        if (n > 0)
            return n;
    }
}

/* ---- columns ---- */

static tl_status skip_to(row_reader *r, int32_t i, int64_t row, tl_error *err)
{
    int64_t group = r->stride > 0 ? row / r->stride : 0;
    if (r->can_seek[i] && group * r->stride > r->at[i]) {
        TL_TRY(tl_orc__node_seek(&r->cols[i], group, err));
        r->at[i] = group * r->stride;
    }
    while (r->at[i] < row) {
        int64_t n = TL_MIN(row - r->at[i], r->batch_rows);
        TL_TRY(tl_orc__node_skip(&r->cols[i], n, err));
        r->at[i] += n;
    }
    return TL_OK;
}

/* What is read of the rows at r->row: n of them or, if `sel` is not NULL, those numbered by it. */
typedef struct row_choice {
    int64_t n;
    const uint32_t *sel;
} row_choice;

typedef struct column_task {
    row_reader *r;
    int32_t col;
    row_choice rows;
} column_task;

static tl_status read_column(void *arg, tl_error *err)
{
    const column_task *t = arg;
    row_reader *r = t->r;
    const row_choice *rows = &t->rows;
    int64_t from = r->row, end = r->row + rows->n;
    if (rows->sel != NULL) {
        from = r->row + rows->sel[0];
        end = r->row + rows->sel[rows->n - 1] + 1;
    }
    tl_status status = skip_to(r, t->col, from, err);
    if (status == TL_OK && rows->sel != NULL)
        status = tl_orc__node_read_some(&r->cols[t->col], rows->sel, rows->n, &r->columns[t->col], err);
    else if (status == TL_OK)
        status = tl_orc__node_read(&r->cols[t->col], rows->n, NULL, &r->columns[t->col], err);
    r->at[t->col] = end;
    return tl_error_wrap(err, status, "column '%s'", r->base.type->fields[t->col].name);
}

static tl_status run_tasks(row_reader *r, column_task *tasks, int32_t n, tl_error *err)
{
    if (r->pool == NULL || n < 2) {
        for (int32_t i = 0; i < n; i++)
            TL_TRY(read_column(&tasks[i], err));
        return TL_OK;
    }
    tl_task_group *group;
    TL_TRY(tl_task_group_create(r->pool, &group, err));
    tl_status status = TL_OK;
    for (int32_t i = 0; i < n && status == TL_OK; i++)
        status = tl_task_group_run(group, read_column, &tasks[i], err);
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

/* The columns that the predicate uses, or the others, into r->columns. */
static tl_status read_columns(row_reader *r, bool of_predicate, row_choice rows, tl_error *err)
{
    TL_CLEANUP(tl_freep) column_task *tasks = tl_alloc(((size_t)r->n_cols + 1) * sizeof *tasks);
    if (tasks == NULL)
        return tl_nomem(err, "batch");
    int32_t n_tasks = 0;
    for (int32_t i = 0; i < r->n_cols; i++)
        if ((r->is_late && r->is_used[i]) == of_predicate)
            tasks[n_tasks++] = (column_task){r, i, rows};
    return run_tasks(r, tasks, n_tasks, err);
}

static void drop_columns(row_reader *r)
{
    for (int32_t i = 0; i < r->n_cols; i++) {
        tl_column_unref(r->columns[i]);
        r->columns[i] = NULL;
    }
}

/* ---- batches ---- */

static tl_status make_batch(row_reader *r, row_choice rows, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(r->base.type, rows.n, &batch, err));
    for (int32_t i = 0; i < r->n_cols; i++)
        batch->cols[i] = TL_STEAL(r->columns[i]);
    if (r->with_row_numbers) {
        if ((batch->seq = tl_alloc((size_t)rows.n * sizeof *batch->seq)) == NULL)
            return tl_nomem(err, "row numbers");
        for (int64_t i = 0; i < rows.n; i++)
            batch->seq[i] = r->first_row + r->row + (rows.sel != NULL ? rows.sel[i] : i);
    }
    *out = TL_STEAL(batch);
    return TL_OK;
}

/* Where fewer than one row of so many passes, the other columns are read from one such row to the next. */
#define SPARSE_ROWS 64

/* The columns of the predicate were read for all rows; what is left of them are those that pass. */
static tl_status cut_columns(row_reader *r, row_choice rows, tl_error *err)
{
    for (int32_t i = 0; i < r->n_cols; i++) {
        tl_column *cut;
        if (!r->is_used[i])
            continue;
        TL_TRY(tl_column_gather(r->columns[i], rows.sel, rows.n, &cut, err));
        tl_column_unref(r->columns[i]);
        r->columns[i] = cut;
    }
    return TL_OK;
}

static tl_status read_sparse(row_reader *r, row_choice rows, tl_batch **out, tl_error *err)
{
    TL_TRY(cut_columns(r, rows, err));
    TL_TRY(read_columns(r, false, rows, err));
    return make_batch(r, rows, out, err);
}

/* *out is NULL if none of the n rows passes. */
static tl_status read_batch(row_reader *r, int64_t n, tl_batch **out, tl_error *err)
{
    int64_t n_sel = n;
    row_choice all = {n, NULL};
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    *out = NULL;
    if (r->is_late) {
        TL_TRY(read_columns(r, true, all, err));
        TL_TRY(tl_predicate_eval(r->predicate, (const tl_column *const *)r->columns, n, r->sel, &n_sel, err));
    }
    if (n_sel == 0) {
        drop_columns(r);
        return TL_OK;
    }
    if (n_sel <= n / SPARSE_ROWS)
        return read_sparse(r, (row_choice){n_sel, r->sel}, out, err);
    TL_TRY(read_columns(r, false, all, err));
    TL_TRY(make_batch(r, all, &batch, err));
    if (n_sel < n)
        return tl_batch_gather(batch, r->sel, n_sel, out, err);
    *out = TL_STEAL(batch);
    return TL_OK;
}

static tl_status next_batch(row_reader *r, tl_batch **out, tl_error *err)
{
    while (*out == NULL) {
        while (!r->is_open && r->stripe < r->file.meta.n_stripes) {
            int32_t stripe = r->stripe++;
            TL_TRY(tl_error_wrap(err, open_stripe(r, stripe, err), "stripe %d", stripe));
        }
        if (!r->is_open)
            return TL_OK;
        int64_t n = next_rows(r);
        if (n > 0)
            TL_TRY(tl_error_wrap(err, read_batch(r, n, out, err), "stripe %d", r->stripe - 1));
        r->row += n;
        r->is_open = n > 0;
    }
    return TL_OK;
}

static tl_status reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    row_reader *r = (row_reader *)reader;
    tl_batch *batch = NULL;
    TL_TRY(tl_error_wrap(err, next_batch(r, &batch, err), "ORC file '%s'", r->file.path));
    *out = batch;
    return TL_OK;
}

static void reader_free(tl_reader *reader)
{
    row_reader *r = (row_reader *)reader;
    if (r->columns != NULL)
        drop_columns(r);
    for (int32_t i = 0; r->cols != NULL && i < r->n_cols; i++)
        tl_orc__node_deinit(&r->cols[i]);
    tl_predicate_free(r->predicate);
    tl_free(r->sel);
    tl_orc__zone_deinit(&r->zone);
    tl_arena_deinit(&r->stripe_arena);
    tl_arena_deinit(&r->arena);
    tl_orc__file_close(&r->file);
    tl_type_unref(r->base.type);
    tl_free(r);
}

/* ---- open ---- */

int32_t tl_orc__find_column(const tl_orc_type *root, const char *name)
{
    if (root->kind != TL_ORC_STRUCT)
        return strcmp(name, TL_ORC_ONLY_COLUMN) == 0 ? 0 : -1;
    for (int32_t i = 0; i < root->n_children; i++)
        if (strcmp(root->names[i], name) == 0)
            return root->children[i];
    return -1;
}

static tl_status init_columns(row_reader *r, tl_error *err)
{
    const tl_type *type = r->base.type;
    size_t n = (size_t)type->n_fields + 1;
    r->columns = tl_arena_calloc(&r->arena, n, sizeof *r->columns);
    r->cols = tl_arena_calloc(&r->arena, n, sizeof *r->cols);
    r->is_used = tl_arena_calloc(&r->arena, n, sizeof *r->is_used);
    r->can_seek = tl_arena_calloc(&r->arena, n, sizeof *r->can_seek);
    r->at = tl_arena_calloc(&r->arena, n, sizeof *r->at);
    r->stats = tl_arena_calloc(&r->arena, n, sizeof *r->stats);
    if (r->columns == NULL || r->cols == NULL || r->is_used == NULL || r->can_seek == NULL || r->at == NULL || r->stats == NULL)
        return tl_nomem(err, "ORC reader");
    for (int32_t i = 0; i < type->n_fields; i++) {
        const tl_field *field = &type->fields[i];
        r->n_cols = i + 1;
        int32_t column = tl_orc__find_column(&r->file.meta.types[0], field->name);
        tl_status status = tl_orc__node_init(&r->cols[i], &r->file.meta, column, field->type, &r->arena, err);
        TL_TRY(tl_error_wrap(err, status, "column '%s'", field->name));
    }
    return TL_OK;
}

static tl_status init_reader(row_reader *r, const tl_read_spec *spec, tl_error *err)
{
    r->batch_rows_max = spec->batch_rows > 0 ? TL_MIN(spec->batch_rows, INT32_MAX) : TL_BATCH_ROWS;
    r->with_row_numbers = spec->with_row_numbers;
    r->pool = spec->pool;
    r->wanted = spec->rows;
    TL_TRY(init_columns(r, err));
    if (spec->predicate == NULL)
        return TL_OK;
    TL_TRY(tl_predicate_dup(spec->predicate, &r->predicate, err));
    tl_predicate_columns(r->predicate, r->is_used);
    r->is_late = spec->exact;
    if (r->is_late && (r->sel = tl_alloc((size_t)r->batch_rows_max * sizeof *r->sel)) == NULL)
        return tl_nomem(err, "ORC reader");
    bool may_match;
    TL_TRY(file_may_match(r, &may_match, err));
    if (!may_match)
        r->stripe = r->file.meta.n_stripes;
    return TL_OK;
}

tl_status tl_orc__open(tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec, tl_reader **out, tl_error *err)
{
    static const tl_reader_ops ops = {reader_next, reader_free};
    row_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "ORC reader");
    tl_status status = tl_orc__file_open(fs, path, bytes, &r->file, err);
    if (status != TL_OK) {
        tl_free(r);
        return status;
    }
    r->base = (tl_reader){&ops, tl_type_ref(spec->row_type)};
    status = init_reader(r, spec, err);
    if (status != TL_OK) {
        reader_free(&r->base);
        return tl_error_wrap(err, status, "ORC file '%s'", path);
    }
    *out = &r->base;
    return TL_OK;
}

tl_status tl_orc__schema(tl_fs *fs, const char *path, const tl_type **out, tl_error *err)
{
    tl_orc_file file;
    TL_TRY(tl_orc__file_open(fs, path, 0, &file, err));
    tl_status status = tl_orc__root_type(&file.meta, out, err);
    tl_orc__file_close(&file);
    return tl_error_wrap(err, status, "ORC file '%s'", path);
}
