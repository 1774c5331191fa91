/*
 * Opening a Parquet file: the tail gives the footer's length, the footer everything else. What later code takes for granted
 * about the footer (one chunk per leaf in each row group, types that agree, chunks inside the file) is checked here.
 */
#include "format/parquet/read_private.h"

/* One read of the tail is enough for nearly every footer. */
#define TAIL_READ_BYTES (64 << 10)
#define FILE_BYTES_MIN (TL_PQ_MAGIC_BYTES + TL_PQ_TAIL_BYTES)

static tl_status check_tail(const uint8_t *tail, int64_t file_bytes, int64_t *footer_bytes, tl_error *err)
{
    if (memcmp(tail + 4, TL_PQ_MAGIC_ENCRYPTED, TL_PQ_MAGIC_BYTES) == 0)
        return tl_error_set(err, TL_E_UNSUPPORTED, "encrypted Parquet files are not supported");
    if (memcmp(tail + 4, TL_PQ_MAGIC, TL_PQ_MAGIC_BYTES) != 0)
        return tl_error_set(err, TL_E_CORRUPT, "not a Parquet file: does not end with PAR1");
    *footer_bytes = tl_read_le32(tail);
    if (*footer_bytes > file_bytes - FILE_BYTES_MIN)
        return tl_error_set(err, TL_E_CORRUPT, "footer of %lld bytes in a file of %lld bytes", (long long)*footer_bytes,
                            (long long)file_bytes);
    return TL_OK;
}

static tl_status read_footer_mapped(tl_pq_file *file, tl_bytes_view *out, tl_error *err)
{
    int64_t footer_bytes;
    TL_TRY(check_tail(file->in.map + file->in.bytes - TL_PQ_TAIL_BYTES, file->in.bytes, &footer_bytes, err));
    tl_io_count_mapped((size_t)footer_bytes + TL_PQ_TAIL_BYTES);
    *out = (tl_bytes_view){file->in.map + file->in.bytes - TL_PQ_TAIL_BYTES - footer_bytes, (size_t)footer_bytes};
    return TL_OK;
}

static tl_status read_footer(tl_pq_file *file, tl_bytes_view *out, tl_error *err)
{
    int64_t want = TL_MIN(file->in.bytes, TAIL_READ_BYTES), footer_bytes;
    for (int tries = 0; tries < 2; tries++) {
        tl_bytes_deinit(&file->footer);
        file->footer = (tl_bytes){tl_alloc((size_t)want), (size_t)want};
        if (file->footer.data == NULL)
            return tl_nomem(err, "footer");
        TL_TRY(tl_file_read_at(file->in.file, file->in.bytes - want, file->footer.data, (size_t)want, err));
        TL_TRY(check_tail(file->footer.data + want - TL_PQ_TAIL_BYTES, file->in.bytes, &footer_bytes, err));
        if (footer_bytes + TL_PQ_TAIL_BYTES <= want)
            break;
        want = footer_bytes + TL_PQ_TAIL_BYTES;
    }
    *out = (tl_bytes_view){file->footer.data + want - TL_PQ_TAIL_BYTES - footer_bytes, (size_t)footer_bytes};
    return TL_OK;
}

/* ---- checks ---- */

static tl_status check_chunk(const tl_pq_file *file, const tl_pq_row_group *group, int32_t leaf, tl_error *err)
{
    const tl_pq_column_chunk *chunk = &group->columns[leaf];
    const tl_pq_column_meta *meta = &chunk->meta;
    const tl_pq_node *node = file->leaves[leaf];
    if (chunk->is_encrypted)
        return tl_error_set(err, TL_E_UNSUPPORTED, "encrypted columns are not supported");
    if (!chunk->has_meta)
        return tl_error_set(err, TL_E_CORRUPT, "column chunk without metadata");
    if (chunk->file_path != NULL && chunk->file_path[0] != '\0')
        return tl_error_set(err, TL_E_UNSUPPORTED, "column chunk lies in another file, '%s'", chunk->file_path);
    if (meta->type != node->el->type)
        return tl_error_set(err, TL_E_CORRUPT, "column chunk has another type than the schema");
    if (meta->num_values < 0 || meta->total_compressed_size < 0 || meta->total_uncompressed_size < 0)
        return tl_error_set(err, TL_E_CORRUPT, "column chunk with a negative size");
    if (node->rep == 0 ? meta->num_values != group->num_rows : meta->num_values < group->num_rows)
        return tl_error_set(err, TL_E_CORRUPT, "column chunk of %lld values in a row group of %lld rows",
                            (long long)meta->num_values, (long long)group->num_rows);
    if (meta->data_page_offset < 0 || meta->data_page_offset > file->in.bytes || meta->dictionary_page_offset > file->in.bytes)
        return tl_error_set(err, TL_E_CORRUPT, "column chunk lies outside of the file");
    return TL_OK;
}

static tl_status check_group(const tl_pq_file *file, const tl_pq_row_group *group, tl_error *err)
{
    if (group->num_rows < 0)
        return tl_error_set(err, TL_E_CORRUPT, "negative number of rows");
    if (group->n_columns != file->n_leaves)
        return tl_error_set(err, TL_E_CORRUPT, "%d column chunks for %d columns", group->n_columns, file->n_leaves);
    for (int32_t i = 0; i < group->n_columns; i++) {
        tl_status status = check_chunk(file, group, i, err);
        char path[TL_PQ_PATH_BYTES];
        if (status != TL_OK)
            tl_pq__node_path(file->leaves[i], path, sizeof path);
        TL_TRY(tl_error_wrap(err, status, "column '%s'", path));
    }
    return TL_OK;
}

static tl_status check_meta(const tl_pq_file *file, tl_error *err)
{
    if (file->meta.is_encrypted)
        return tl_error_set(err, TL_E_UNSUPPORTED, "encrypted Parquet files are not supported");
    for (int32_t i = 0; i < file->meta.n_row_groups; i++)
        TL_TRY(tl_error_wrap(err, check_group(file, &file->meta.row_groups[i], err), "row group %d", i));
    return TL_OK;
}

/* ---- open and close ---- */

static tl_status open_file(tl_pq_file *file, int64_t bytes, tl_error *err)
{
    tl_bytes_view footer;
    TL_TRY(tl_format__input_check(&file->in, bytes, FILE_BYTES_MIN, "a Parquet file", err));
    TL_TRY(file->in.map != NULL ? read_footer_mapped(file, &footer, err) : read_footer(file, &footer, err));
    TL_TRY(tl_pq__read_file_meta(footer, &file->arena, &file->meta, err));
    TL_TRY(tl_pq__schema_tree(&file->meta, &file->arena, &file->root, &file->leaves, &file->n_leaves, err));
    return check_meta(file, err);
}

tl_status tl_pq__file_open(tl_fs *fs, const char *path, int64_t bytes, tl_pq_file *out, tl_error *err)
{
    *out = (tl_pq_file){0};
    tl_status status = tl_format__input_open(fs, path, bytes, &out->in, err);
    if (status == TL_OK)
        status = open_file(out, bytes, err);
    if (status != TL_OK)
        tl_pq__file_close(out);
    return tl_error_wrap(err, status, "Parquet file '%s'", path);
}

void tl_pq__file_close(tl_pq_file *file)
{
    tl_format__input_close(&file->in);
    tl_bytes_deinit(&file->footer);
    tl_arena_deinit(&file->arena);
    *file = (tl_pq_file){0};
}

tl_status tl_pq__file_piece(const tl_pq_file *file, int64_t offset, int64_t bytes, tl_bytes_view *out, uint8_t **owned, tl_error *err)
{
    TL_TRY(tl_format__input_piece(&file->in, offset, bytes, out, owned, err));
    if (*owned == NULL)
        tl_io_count_mapped((size_t)bytes);
    return TL_OK;
}
