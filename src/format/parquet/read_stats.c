/*
 * Statistics of a file as a whole: those of its row groups together. For files that become a table's data files as they are; what
 * bounds can be trusted, read_prune.c knows.
 */
#include "format/parquet/read_private.h"

static tl_status add_group(const tl_pq_pruner *pruner, int32_t group, tl_write_result *out, tl_error *err)
{
    int64_t rows = pruner->file->meta.row_groups[group].num_rows;
    for (int32_t i = 0; i < out->n_stats; i++) {
        tl_column_stats part = {NULL, NULL, -1};
        tl_status status = tl_pq__group_stats(pruner, group, i, &part, err);
        tl_column_stats_merge(&out->stats[i], out->rows, &part, rows);
        TL_TRY(status);
    }
    out->rows += rows;
    return TL_OK;
}

static tl_status stats_of(tl_pq_file *file, const tl_type *row_type, tl_write_result *out, tl_error *err)
{
    tl_arena arena = {0};
    tl_pq_pruner pruner;
    out->bytes = file->in.bytes;
    out->stats = tl_calloc((size_t)row_type->n_fields + 1, sizeof *out->stats);
    if (out->stats == NULL)
        return tl_nomem(err, "file statistics");
    out->n_stats = row_type->n_fields;
    tl_status status = tl_pq__pruner_init_all(&pruner, file, &arena, row_type, err);
    for (int32_t g = 0; status == TL_OK && g < file->meta.n_row_groups; g++)
        status = add_group(&pruner, g, out, err);
    tl_arena_deinit(&arena);
    return status;
}

tl_status tl_pq__stats(tl_fs *fs, const char *path, const tl_type *row_type, tl_write_result *out, tl_error *err)
{
    tl_pq_file file;
    *out = (tl_write_result){0};
    TL_TRY(tl_pq__file_open(fs, path, /* bytes= */ 0, &file, err));
    tl_status status = stats_of(&file, row_type, out, err);
    tl_pq__file_close(&file);
    if (status != TL_OK)
        tl_write_result_deinit(out);
    return tl_error_wrap(err, status, "Parquet file '%s'", path);
}
