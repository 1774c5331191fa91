/* Statistics of a file as a whole, from its footer: for files that become a table's data files as they are. */
#include "format/orc/read_private.h"

static tl_status column_stats(const tl_orc_meta *meta, const tl_field *field, tl_column_stats *out, tl_error *err)
{
    tl_arena arena = {0};
    tl_orc_node node = {0};
    int32_t column = tl_orc__find_column(&meta->types[0], field->name);
    tl_status status = tl_orc__node_init(&node, meta, column, field->type, &arena, err);
    if (status == TL_OK)
        status = tl_orc__column_stats(meta, &node, column >= 0 && column < meta->n_stats ? meta->stats[column] : (tl_bytes_view){NULL, 0},
                                      meta->rows, out, err);
    tl_orc__node_deinit(&node);
    tl_arena_deinit(&arena);
    return tl_error_wrap(err, status, "column '%s'", field->name);
}

static tl_status stats_of(const tl_orc_file *file, const tl_type *row_type, tl_write_result *out, tl_error *err)
{
    out->bytes = file->in.bytes;
    out->rows = file->meta.rows;
    out->stats = tl_calloc((size_t)row_type->n_fields + 1, sizeof *out->stats);
    if (out->stats == NULL)
        return tl_nomem(err, "file statistics");
    for (int32_t i = 0; i < row_type->n_fields; i++) {
        out->n_stats = i + 1;
        TL_TRY(column_stats(&file->meta, &row_type->fields[i], &out->stats[i], err));
    }
    return TL_OK;
}

tl_status tl_orc__stats(tl_fs *fs, const char *path, const tl_type *row_type, tl_write_result *out, tl_error *err)
{
    tl_orc_file file;
    *out = (tl_write_result){0};
    TL_TRY(tl_orc__file_open(fs, path, 0, &file, err));
    tl_status status = stats_of(&file, row_type, out, err);
    tl_orc__file_close(&file);
    if (status != TL_OK)
        tl_write_result_deinit(out);
    return tl_error_wrap(err, status, "ORC file '%s'", path);
}
