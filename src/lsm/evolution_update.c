/*
 * New values of some columns of rows of a table with data evolution (Java: DataEvolutionPartialWriteOperator of its Flink module): a file of these
 * columns alone, of all rows of a group of files (row_groups.c). Rows without a new value keep what they have. The file has the ids of
 * the group's rows, and comes before the others by its sequence number.
 */
#include "lsm/lsm_private.h"

tl_status tl_evolution_check_update(const tl_lsm_config *config, const tl_row_updates *updates, tl_error *err)
{
    const tl_type *row = config->schema->row_type;
    for (int32_t i = 0; i < updates->n_columns; i++) {
        const tl_field *field = &row->fields[updates->columns[i]];
        if (tl_lsm__place_of(config, updates->columns[i]) == TL_LSM__IN_BLOB_FILES)
            return tl_error_set(err, TL_E_UNSUPPORTED, "column '%s' is a BLOB: its values cannot be changed, only written with new rows", field->name);
        if (tl_lsm__place_of(config, updates->columns[i]) == TL_LSM__IN_VECTOR_FILES)
            return tl_error_set(err, TL_E_UNSUPPORTED, "column '%s' has files of its own ('vector.file.format'): its values cannot be changed, only written with new rows",
                                field->name);
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

static tl_status merge_batch(const tl_row_updates *updates, const tl_type *type, const tl_batch *old, const tl_rowref *refs, tl_batch **out,
                             tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_CLEANUP(tl_freep) const tl_column **srcs = tl_calloc(updates->n_batches + 1, sizeof *srcs);
    if (srcs == NULL)
        return tl_nomem(err, "rows");
    TL_TRY(tl_batch_create(type, old->n_rows, &batch, err));
    for (int32_t c = 0; c < old->n_cols; c++) {
        const tl_type *column = type->fields[c].type;
        srcs[0] = old->cols[c];
        for (size_t i = 0; i < updates->n_batches; i++)
            srcs[i + 1] = updates->batches[i]->cols[c + 1];
        TL_TRY(tl_column_gather_multi(column, srcs, refs, old->n_rows, &batch->cols[c], err));
        if (!column->nullable && batch->cols[c]->null_count > 0)
            return tl_error_set(err, TL_E_INVALID, "Cannot write null to non-null column(%s)", type->fields[c].name);
    }
    *out = TL_STEAL(batch);
    return TL_OK;
}

static tl_status copy_rows(tl_lsm__bucket *bucket, tl_data_file *const *files, size_t n_files, const tl_row_updates *updates, size_t from, size_t to,
                           tl_lsm__writer *writer, tl_error *err)
{
    TL_CLEANUP(tl_lsm__scan_unrefp) tl_lsm__scan *scan = NULL;
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    int64_t id = files[0]->first_row_id;
    TL_TRY(tl_lsm__scan_create(bucket, updates->columns, updates->n_columns, /* pred= */ NULL, &scan, err));
    TL_TRY(tl_lsm__run_open(scan, files, n_files, TL_LSM__PUSH_NONE, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *old = NULL;
        TL_CLEANUP(tl_batch_freep) tl_batch *fresh = NULL;
        TL_TRY(tl_reader_next(reader, &old, err));
        if (old == NULL)
            break;
        TL_CLEANUP(tl_freep) tl_rowref *refs = tl_alloc((size_t)(old->n_rows + 1) * sizeof *refs);
        if (refs == NULL)
            return tl_nomem(err, "rows");
        from = choose(updates, from, to, id, old->n_rows, refs);
        TL_TRY(merge_batch(updates, scan->type, old, refs, &fresh, err));
        TL_TRY(tl_lsm__writer_write(writer, fresh, err));
        id += old->n_rows;
    }
    if (id != files[0]->first_row_id + files[0]->rows)
        return tl_error_set(err, TL_E_CORRUPT, "data file '%s' holds %lld rows, its entry says %lld", files[0]->name,
                            (long long)(id - files[0]->first_row_id), (long long)files[0]->rows);
    return TL_OK;
}

static tl_status write_file(tl_lsm__bucket *bucket, tl_data_file *const *files, size_t n_files, const tl_row_updates *updates, size_t from, size_t to,
                            tl_file_list *made, tl_error *err)
{
    tl_lsm__names names = {0};
    TL_CLEANUP(tl_lsm__shape_freep) tl_lsm__shape *shape = NULL; /* outlives the writer */
    TL_CLEANUP(tl_lsm__writer_freep) tl_lsm__writer *writer = NULL;
    TL_TRY(tl_lsm__shape_create(bucket->config, updates->columns, updates->n_columns, TL_LSM__IN_DATA_FILES, /* named= */ true, &shape, err));
    for (int32_t i = 0; i < updates->n_columns; i++)
        shape->columns[i] = i; /* batches have these columns alone */
    tl_lsm__writer_spec spec = {.bucket = bucket, .names = &names, .shape = shape, .target_bytes = INT64_MAX};
    TL_TRY(tl_lsm__writer_create(&spec, &writer, err));
    TL_TRY(copy_rows(bucket, files, n_files, updates, from, to, writer, err));
    return tl_lsm__writer_finish(writer, made, err);
}

tl_status tl_evolution_update(tl_lsm_config *config, tl_bytes_view partition, int32_t number, tl_data_file *const *files, size_t n_files,
                              const tl_row_updates *updates, size_t from, size_t to, tl_commit_message *msg, tl_error *err)
{
    tl_lsm__bucket *bucket = NULL;
    tl_file_list made = {0};
    tl_data_file *file = NULL;
    const tl_data_file *newer = NULL;
    TL_TRY(tl_evolution_check_update(config, updates, err));
    TL_TRY(tl_lsm__newer_file(config, files, n_files, &newer, err));
    if (newer != NULL)
        return tl_lsm__refuse_newer(config, newer, err);
    TL_TRY(tl_lsm__bucket_create(config, partition, number, &bucket, err));
    tl_status status = write_file(bucket, files, n_files, updates, from, to, &made, err);
    if (status == TL_OK && made.n != 1)
        status = tl_error_set(err, TL_E_INTERNAL, "%zu files of the rows of '%s'", made.n, files[0]->name);
    if (status == TL_OK)
        status = tl_data_file_dup(made.items[0], &file, err);
    if (status == TL_OK) {
        file->first_row_id = files[0]->first_row_id;
        status = tl_file_list_add(&msg->new_files, file, err);
    }
    for (size_t i = 0; status != TL_OK && i < made.n; i++)
        tl_lsm__bucket_remove(bucket, made.items[i]);
    tl_data_file_unref(file);
    tl_file_list_deinit(&made);
    tl_lsm__bucket_unref(bucket);
    return tl_error_wrap(err, status, "new values for rows with ids from %lld on", (long long)files[0]->first_row_id);
}
