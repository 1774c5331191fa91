/* The reader: row groups as the parts of a row reader, pages that may match as their ranges. */
#include "format/parquet/read_private.h"

/* Passing rows are worth reading alone if a run of them stands for this many rows of the window; else all are read. */
#define ROWS_PER_RUN_MIN 16

typedef struct pq_rows {
    tl_format__row_reader base;
    tl_pq_file file;
    tl_pq_pruner pruner;
    tl_pq_column *cols;
    int32_t n_cols;       /* that are initialised */
    tl_arena group_arena; /* offset indexes */
} pq_rows;

static tl_status rows_open(tl_format__row_reader *reader, tl_fs *fs, const char *path, int64_t bytes, tl_error *err)
{
    pq_rows *r = (pq_rows *)reader;
    TL_TRY(tl_pq__file_open(fs, path, bytes, &r->file, err));
    reader->path = r->file.in.path;
    return TL_OK;
}

static tl_status rows_init(tl_format__row_reader *reader, tl_error *err)
{
    pq_rows *r = (pq_rows *)reader;
    const tl_type *type = reader->base.type;
    reader->n_parts = r->file.meta.n_row_groups;
    r->cols = tl_arena_calloc(&reader->arena, (size_t)type->n_fields + 1, sizeof *r->cols);
    if (r->cols == NULL)
        return tl_nomem(err, "reader");
    for (int32_t i = 0; i < type->n_fields; i++) {
        r->n_cols = i + 1;
        TL_TRY(tl_pq__column_init(&r->cols[i], &r->file, &reader->arena, &type->fields[i], err));
    }
    return tl_pq__pruner_init(&r->pruner, &r->file, &reader->arena, type, reader->predicate, err);
}

static int64_t group_rows(tl_format__row_reader *reader, int32_t group)
{
    return ((pq_rows *)reader)->file.meta.row_groups[group].num_rows;
}

static tl_status group_ranges(tl_format__row_reader *reader, int32_t group, tl_row_ranges *out, tl_error *err)
{
    pq_rows *r = (pq_rows *)reader;
    bool may_match;
    TL_TRY(tl_pq__group_may_match(&r->pruner, group, &may_match, err));
    return may_match ? tl_pq__group_ranges(&r->pruner, group, out, err) : TL_OK;
}

static tl_status open_group(tl_format__row_reader *reader, int32_t group, bool skips, tl_error *err)
{
    pq_rows *r = (pq_rows *)reader;
    tl_arena_deinit(&r->group_arena);
    for (int32_t i = 0; i < r->n_cols; i++) {
        tl_pq_column *column = &r->cols[i];
        for (int32_t j = 0; j < column->n_leaves; j++) {
            const tl_pq_offset_index *index = NULL;
            tl_pq_leaf *leaf = column->leaves[j];
            if (skips)
                TL_TRY(tl_pq__offset_index(&r->file, group, leaf->node->leaf, &r->group_arena, &index, err));
            TL_TRY(tl_pq__read_leaf_open_group(leaf, group, index, err));
        }
    }
    return TL_OK;
}

static tl_status window_rows(tl_format__row_reader *reader, int64_t *rows, tl_error *err)
{
    pq_rows *r = (pq_rows *)reader;
    for (int32_t i = 0; i < r->n_cols; i++) {
        for (int32_t j = 0; j < r->cols[i].n_leaves; j++) {
            int64_t rows_max;
            bool with_dictionary = !reader->is_late || tl_format__reads_first(reader, i);
            TL_TRY(tl_pq__read_leaf_rows_max(r->cols[i].leaves[j], with_dictionary, &rows_max, err));
            *rows = TL_MIN(*rows, rows_max);
        }
    }
    return TL_OK;
}

static tl_status read_column(tl_format__row_reader *reader, int32_t col, const tl_row_ranges *rows, int64_t n_rows, tl_column **out,
                             tl_error *err)
{
    return tl_pq__column_read(&((pq_rows *)reader)->cols[col], rows, n_rows, out, err);
}

static void rows_close(tl_format__row_reader *reader)
{
    pq_rows *r = (pq_rows *)reader;
    for (int32_t i = 0; i < r->n_cols; i++)
        tl_pq__column_deinit(&r->cols[i]);
    tl_arena_deinit(&r->group_arena);
    tl_pq__file_close(&r->file);
}

tl_status tl_pq__open(tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec, tl_reader **out, tl_error *err)
{
    static const tl_format__row_ops ops = {
        .bytes = sizeof(pq_rows),
        .file_name = "Parquet file",
        .part_name = "row group",
        .window_ranges = SIZE_MAX,
        .run_rows = ROWS_PER_RUN_MIN,
        .open = rows_open,
        .init = rows_init,
        .part_rows = group_rows,
        .part_ranges = group_ranges,
        .part_open = open_group,
        .window_rows = window_rows,
        .read_column = read_column,
        .close = rows_close,
    };
    return tl_format__row_reader_open(&ops, fs, path, bytes, spec, out, err);
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
