/*
 * New values of some columns of rows of a table with data evolution (Java: DataEvolutionPartialWriteOperator of its Flink module): a file of these
 * columns alone, of all rows of a group of files (row_groups.c). Rows without a new value keep what they have. The file has the ids of
 * the group's rows, and comes before the others by its sequence number. VECTORs with files of their own get a new one of all of them, which takes
 * the place of the group's old ones.
 */
#include "lsm/lsm_private.h"

tl_status tl_evolution_check_update(const tl_lsm_config *config, const tl_row_updates *updates, tl_error *err)
{
    const tl_type *row = config->schema->row_type;
    for (int32_t i = 0; i < updates->n_columns; i++) {
        const tl_field *field = &row->fields[updates->columns[i]];
        if (tl_lsm__place_of(config, updates->columns[i]) == TL_LSM__IN_BLOB_FILES)
            return tl_error_set(err, TL_E_UNSUPPORTED, "column '%s' is a BLOB: its values cannot be changed, only written with new rows", field->name);
        if (config->partition_idx[updates->columns[i]] >= 0)
            return tl_error_set(err, TL_E_INVALID, "column '%s' is a partition column: rows keep their partition", field->name);
    }
    return TL_OK;
}

/* Per row of the batch that begins with the id `first`: the old value (source 0), or the new one (source 1 + its batch). */
static size_t choose(const tl_row_updates *updates, size_t at, size_t to, int64_t first, int64_t n, tl_rowref *refs)
{
    for (int64_t i = 0; i < n; i++)
        refs[i] = (tl_rowref){0, (uint32_t)i};
    for (; at < to && updates->rows[at].id < first + n; at++)
        refs[updates->rows[at].id - first] = (tl_rowref){updates->rows[at].place.src + 1, updates->rows[at].place.row};
    return at;
}

/* A file that gets new values: its columns, of the table, and where the new values are. */
typedef struct target {
    int32_t *columns;
    int32_t *values; /* per column: which of the updated ones it is; -1: it keeps what it has */
    int32_t n;
    tl_lsm__place place;
} target;

static void target_deinit(target *t)
{
    tl_free(t->columns);
    tl_free(t->values);
}

static tl_status merge_batch(const tl_row_updates *updates, const target *t, const tl_type *type, const tl_batch *old, const tl_rowref *refs, tl_batch **out,
                             tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_CLEANUP(tl_freep) const tl_column **srcs = tl_calloc(updates->n_batches + 1, sizeof *srcs);
    if (srcs == NULL)
        return tl_nomem(err, "rows");
    TL_TRY(tl_batch_create(type, old->n_rows, &batch, err));
    for (int32_t c = 0; c < old->n_cols; c++) {
        const tl_type *column = type->fields[c].type;
        if (t->values[c] < 0) {
            batch->cols[c] = tl_column_ref(old->cols[c]);
            continue;
        }
        srcs[0] = old->cols[c];
        for (size_t i = 0; i < updates->n_batches; i++)
            srcs[i + 1] = updates->batches[i]->cols[t->values[c] + 1];
        TL_TRY(tl_column_gather_multi(column, srcs, refs, old->n_rows, &batch->cols[c], err));
        if (!column->nullable && batch->cols[c]->null_count > 0)
            return tl_error_set(err, TL_E_INVALID, "Cannot write null to non-null column(%s)", type->fields[c].name);
    }
    *out = TL_STEAL(batch);
    return TL_OK;
}

/* The files of one group, and its rows that get new values. */
typedef struct group {
    tl_lsm__bucket *bucket;
    tl_data_file *const *files;
    size_t n_files;
    const tl_row_updates *updates;
    size_t from, to; /* rows of `updates` */
} group;

static tl_status copy_rows(const group *g, const target *t, tl_lsm__writer *writer, tl_error *err)
{
    TL_CLEANUP(tl_lsm__scan_unrefp) tl_lsm__scan *scan = NULL;
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    const tl_data_file *first = g->files[0];
    int64_t id = first->first_row_id;
    size_t at = g->from;
    TL_TRY(tl_lsm__scan_create(g->bucket, t->columns, t->n, /* pred= */ NULL, &scan, err));
    TL_TRY(tl_lsm__run_open(scan, g->files, g->n_files, TL_LSM__PUSH_NONE, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *old = NULL;
        TL_CLEANUP(tl_batch_freep) tl_batch *fresh = NULL;
        TL_TRY(tl_reader_next(reader, &old, err));
        if (old == NULL)
            break;
        TL_CLEANUP(tl_freep) tl_rowref *refs = tl_alloc((size_t)(old->n_rows + 1) * sizeof *refs);
        if (refs == NULL)
            return tl_nomem(err, "rows");
        at = choose(g->updates, at, g->to, id, old->n_rows, refs);
        TL_TRY(merge_batch(g->updates, t, scan->type, old, refs, &fresh, err));
        TL_TRY(tl_lsm__writer_write(writer, fresh, err));
        id += old->n_rows;
    }
    if (id != first->first_row_id + first->rows)
        return tl_error_set(err, TL_E_CORRUPT, "data file '%s' holds %lld rows, its entry says %lld", first->name,
                            (long long)(id - first->first_row_id), (long long)first->rows);
    return TL_OK;
}

static tl_status write_file(const group *g, const target *t, tl_file_list *made, tl_error *err)
{
    tl_lsm__names names = {0};
    TL_CLEANUP(tl_lsm__shape_freep) tl_lsm__shape *shape = NULL; /* outlives the writer */
    TL_CLEANUP(tl_lsm__writer_freep) tl_lsm__writer *writer = NULL;
    TL_TRY(tl_lsm__shape_create(g->bucket->config, t->columns, t->n, t->place, /* named= */ true, &shape, err));
    for (int32_t i = 0; i < t->n; i++)
        shape->columns[i] = i; /* batches have these columns alone */
    tl_lsm__writer_spec spec = {.bucket = g->bucket, .names = &names, .shape = shape, .target_bytes = INT64_MAX};
    TL_TRY(tl_lsm__writer_create(&spec, &writer, err));
    TL_TRY(copy_rows(g, t, writer, err));
    return tl_lsm__writer_finish(writer, made, err);
}

/* The file of a target, with the ids of the group's rows, goes into the message. */
static tl_status write_target(const group *g, const target *t, tl_commit_message *msg, tl_error *err)
{
    tl_file_list made = {0};
    tl_data_file *file = NULL;
    if (t->n == 0)
        return TL_OK;
    tl_status status = write_file(g, t, &made, err);
    if (status == TL_OK && made.n != 1)
        status = tl_error_set(err, TL_E_INTERNAL, "%zu files of the rows of '%s'", made.n, g->files[0]->name);
    if (status == TL_OK)
        status = tl_data_file_dup(made.items[0], &file, err);
    if (status == TL_OK) {
        file->first_row_id = g->files[0]->first_row_id;
        status = tl_file_list_add(&msg->new_files, file, err);
    }
    for (size_t i = 0; status != TL_OK && i < made.n; i++)
        tl_lsm__bucket_remove(g->bucket, made.items[i]);
    tl_data_file_unref(file);
    tl_file_list_deinit(&made);
    return status;
}

/* ---- which files ---- */

static tl_status make_target(const group *g, tl_lsm__place place, target *t, tl_error *err)
{
    size_t n = (size_t)tl_lsm__n_columns(g->bucket->config) + 1;
    *t = (target){.place = place, .columns = tl_alloc(n * sizeof *t->columns), .values = tl_alloc(n * sizeof *t->values)};
    return t->columns == NULL || t->values == NULL ? tl_nomem(err, "rows") : TL_OK;
}

static void add_column(target *t, int32_t column, int32_t value)
{
    t->columns[t->n] = column;
    t->values[t->n++] = value;
}

static int32_t updated(const tl_row_updates *updates, int32_t column)
{
    for (int32_t i = 0; i < updates->n_columns; i++) {
        if (updates->columns[i] == column)
            return i;
    }
    return -1;
}

static tl_status data_target(const group *g, target *t, tl_error *err)
{
    TL_TRY(make_target(g, TL_LSM__IN_DATA_FILES, t, err));
    for (int32_t i = 0; i < g->updates->n_columns; i++) {
        if (tl_lsm__place_of(g->bucket->config, g->updates->columns[i]) == TL_LSM__IN_DATA_FILES)
            add_column(t, g->updates->columns[i], i);
    }
    return TL_OK;
}

/* All VECTORs that have files of their own, where some of them get new values: the group then has one file of them. */
static tl_status vector_target(const group *g, target *t, tl_error *err)
{
    tl_lsm_config *config = g->bucket->config;
    bool any = false;
    TL_CLEANUP(tl_freep) bool *in_data = tl_calloc((size_t)tl_lsm__n_columns(config) + 1, sizeof *in_data);
    if (in_data == NULL)
        return tl_nomem(err, "rows");
    TL_TRY(make_target(g, TL_LSM__IN_VECTOR_FILES, t, err));
    for (size_t i = 0; i < g->n_files; i++) {
        if (!tl_data_file_is_side(g->files[i]))
            TL_TRY(tl_lsm__columns_held(config, g->files[i], in_data, err));
    }
    for (int32_t c = 0; c < tl_lsm__n_columns(config); c++) {
        int32_t value = updated(g->updates, c);
        if (tl_lsm__place_of(config, c) != TL_LSM__IN_VECTOR_FILES)
            continue;
        if (value >= 0 && in_data[c]) /* readers take a data file's values before those of side files */
            return tl_error_set(err, TL_E_UNSUPPORTED, "column '%s' has values in data files, older than the option 'vector.file.format': they cannot be changed",
                                config->schema->row_type->fields[c].name);
        any |= value >= 0;
        if (!in_data[c])
            add_column(t, c, value);
    }
    t->n = any ? t->n : 0;
    return TL_OK;
}

/* The new file takes the place of the old ones: of several the reference takes those of the oldest schema. */
static tl_status drop_vector_files(const group *g, tl_commit_message *msg, tl_error *err)
{
    for (size_t i = 0; i < g->n_files; i++) {
        if (tl_data_file_is_side(g->files[i]) && !tl_data_file_is_blob(g->files[i]))
            TL_TRY(tl_file_list_add(&msg->deleted_files, g->files[i], err));
    }
    return TL_OK;
}

static tl_status update_group(const group *g, tl_commit_message *msg, tl_error *err)
{
    target data = {0}, vectors = {0};
    tl_status status = data_target(g, &data, err);
    if (status == TL_OK)
        status = vector_target(g, &vectors, err);
    if (status == TL_OK)
        status = write_target(g, &data, msg, err);
    if (status == TL_OK)
        status = write_target(g, &vectors, msg, err);
    if (status == TL_OK && vectors.n > 0)
        status = drop_vector_files(g, msg, err);
    target_deinit(&data);
    target_deinit(&vectors);
    return status;
}

tl_status tl_evolution_update(tl_lsm_config *config, tl_bytes_view partition, int32_t number, tl_data_file *const *files, size_t n_files,
                              const tl_row_updates *updates, size_t from, size_t to, tl_commit_message *msg, tl_error *err)
{
    tl_lsm__bucket *bucket = NULL;
    const tl_data_file *newer = NULL;
    TL_TRY(tl_evolution_check_update(config, updates, err));
    TL_TRY(tl_lsm__newer_file(config, files, n_files, &newer, err));
    if (newer != NULL)
        return tl_lsm__refuse_newer(config, newer, err);
    TL_TRY(tl_lsm__bucket_create(config, partition, number, &bucket, err));
    const group g = {bucket, files, n_files, updates, from, to};
    tl_status status = update_group(&g, msg, err);
    tl_lsm__bucket_unref(bucket);
    return tl_error_wrap(err, status, "new values for rows with ids from %lld on", (long long)files[0]->first_row_id);
}
