/*
 * A file of a format table as batches of table columns: partition columns come from the folder, all others from the file, by name (csv
 * and text: by place). What the predicate says of the file's columns goes down to the file; what it says of partition columns beside
 * them is evaluated on the finished batch. Java: FormatTableRead, FormatReadBuilder.
 */
#include "table/format_table.h"

typedef struct format_reader {
    tl_reader base;
    tl_reader *file;       /* NULL: at the end, or nothing to read */
    tl_batch *partition;   /* one row */
    const tl_type *type;   /* what is read: the columns wanted, then those that the predicate looks at beside them */
    int32_t *source;       /* per column of it: its place in the file's batch, or -1 - its place in the partition */
    int32_t n;
    int32_t *wanted;       /* the columns wanted among them: 0, 1, … */
    int32_t n_wanted;
    tl_predicate *pred;    /* on `type`; NULL: the file's reader sees to all of it */
    tl_predicate *pushed;  /* on the file's columns; lives as long as `file` */
    bool ignore_corrupt;   /* scan.ignore-corrupt-files */
} format_reader;

static void reader_free(tl_reader *reader)
{
    format_reader *r = (format_reader *)reader;
    if (r == NULL)
        return;
    tl_reader_free(r->file);
    tl_batch_free(r->partition);
    tl_type_unref(r->base.type);
    tl_type_unref(r->type);
    tl_free(r->source);
    tl_free(r->wanted);
    tl_predicate_free(r->pred);
    tl_predicate_free(r->pushed);
    tl_free(r);
}
TL_DEFINE_CLEANUP(reader_freep, tl_reader, reader_free)

/* ---- batches ---- */

static tl_status finished_batch(const format_reader *r, const tl_batch *in, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(r->type, in->n_rows, &batch, err));
    for (int32_t i = 0; i < r->n; i++) {
        if (r->source[i] < 0)
            TL_TRY(tl_column_repeat(r->partition->cols[-1 - r->source[i]], 0, in->n_rows, &batch->cols[i], err));
        else
            TL_TRY(tl_column_retype(in->cols[r->source[i]], r->type->fields[i].type, &batch->cols[i], err));
    }
    if (r->pred != NULL)
        TL_TRY(tl_predicate_filter(r->pred, &batch, err));
    if (r->n == r->n_wanted) {
        *out = TL_STEAL(batch);
        return TL_OK;
    }
    return tl_batch_project(batch, r->wanted, r->n_wanted, out, err);
}

static tl_status reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    format_reader *r = (format_reader *)reader;
    TL_CLEANUP(tl_batch_freep) tl_batch *in = NULL;
    *out = NULL;
    if (r->file == NULL)
        return TL_OK;
    tl_status status = tl_reader_next(r->file, &in, err);
    if (status == TL_E_CORRUPT && r->ignore_corrupt) { /* what was read before stays */
        tl_reader_free(TL_STEAL(r->file));
        return TL_OK;
    }
    TL_TRY(status);
    return in == NULL ? TL_OK : finished_batch(r, in, out, err);
}

static const tl_reader_ops reader_ops = {reader_next, reader_free};

/* ---- what to read ---- */

/* Columns of the table: those wanted, then those that the predicate needs beside them. *columns is tl_free'd by the caller. */
static tl_status columns_to_read(const tl_table *table, const tl_scan_spec *spec, int32_t **columns, format_reader *r, tl_error *err)
{
    int32_t all = table->row_type->n_fields;
    r->n_wanted = spec->columns == NULL ? all : spec->n_columns;
    int32_t *list = *columns = tl_calloc((size_t)r->n_wanted + (size_t)all + 1, sizeof *list);
    r->wanted = tl_calloc((size_t)r->n_wanted + 1, sizeof *r->wanted);
    TL_CLEANUP(tl_freep) bool *used = tl_calloc((size_t)all + 1, sizeof *used);
    if (list == NULL || r->wanted == NULL || used == NULL)
        return tl_nomem(err, "read");
    if (spec->predicate != NULL)
        tl_predicate_columns(spec->predicate, used);
    for (int32_t i = 0; i < r->n_wanted; i++) {
        r->wanted[i] = i;
        list[i] = spec->columns == NULL ? i : spec->columns[i];
        used[list[i]] = false;
    }
    r->n = r->n_wanted;
    for (int32_t i = 0; i < all; i++) {
        if (used[i])
            list[r->n++] = i;
    }
    return TL_OK;
}

/* Where each column comes from, and the ROW to read from the file; *map: from the table's columns to those of that ROW. */
static tl_status place_columns(const tl_table *table, const int32_t *columns, format_reader *r, int32_t *map, const tl_type **file_type,
                               tl_error *err)
{
    int32_t n_file = 0;
    const tl_type *row = table->row_type;
    TL_CLEANUP(tl_freep) int32_t *in_file = tl_calloc((size_t)row->n_fields + 1, sizeof *in_file);
    r->source = tl_calloc((size_t)r->n + 1, sizeof *r->source);
    if (in_file == NULL || r->source == NULL)
        return tl_nomem(err, "read");
    for (int32_t i = 0; i < row->n_fields; i++)
        map[i] = -1;
    for (int32_t i = 0; i < r->n; i++) {
        int32_t column = columns[i], of_partition = tl_type_field_index(table->partition_type, row->fields[column].name);
        if (of_partition < 0 && map[column] < 0) {
            map[column] = n_file;
            in_file[n_file++] = column;
        }
        r->source[i] = of_partition < 0 ? map[column] : -1 - of_partition;
    }
    if (n_file == 0) /* rows must be counted by something */
        in_file[n_file++] = table->folder->file_idx[0];
    return tl_type_project(row, in_file, n_file, file_type, err);
}

static tl_status bind_predicates(const tl_table *table, const tl_predicate *pred, const int32_t *columns, const int32_t *in_file, format_reader *r,
                                 tl_error *err)
{
    int32_t n = table->row_type->n_fields;
    if (pred == NULL)
        return TL_OK;
    TL_TRY(tl_predicate_remap(pred, in_file, /* weaken= */ true, &r->pushed, err));
    TL_CLEANUP(tl_freep) bool *used = tl_calloc((size_t)n + 1, sizeof *used);
    TL_CLEANUP(tl_freep) int32_t *map = tl_calloc((size_t)n + 1, sizeof *map);
    if (used == NULL || map == NULL)
        return tl_nomem(err, "read");
    bool beside = false;
    tl_predicate_columns(pred, used);
    for (int32_t i = 0; i < n; i++) {
        map[i] = -1;
        beside |= used[i] && in_file[i] < 0;
    }
    for (int32_t i = r->n - 1; i >= 0; i--)
        map[columns[i]] = i;
    return beside ? tl_predicate_remap(pred, map, /* weaken= */ false, &r->pred, err) : TL_OK;
}

/* ---- open ---- */

static tl_status open_file(const tl_table *table, const tl_data_file *file, const tl_type *type, const tl_scan_spec *spec, format_reader *r,
                           tl_error *err)
{
    const tl_lsm_config *config = table->config;
    if (file->external_path == NULL)
        return tl_error_set(err, TL_E_INVALID, "file '%s' of a format table has no path", file->name);
    tl_read_spec read = {.row_type = type,
                         .predicate = r->pushed,
                         .exact = true,
                         .file_type = table->folder->file_type,
                         .options = &table->schema->options,
                         .pool = spec->by_column};
    tl_status status = table->folder->format->open(table->fs, file->external_path, file->bytes, &read, &r->file, err);
    bool ignored = (status == TL_E_NOT_FOUND && config->ignore_lost_files) || (status == TL_E_CORRUPT && config->ignore_corrupt_files);
    return ignored ? TL_OK : tl_error_wrap(err, status, "'%s'", file->external_path);
}

tl_status tl_format_table__read(tl_table *table, const tl_split *split, const tl_scan_spec *spec, tl_reader **out, tl_error *err)
{
    if (split->files.n != 1)
        return tl_error_set(err, TL_E_INVALID, "a split of a format table has one file, not %zu", split->files.n);
    format_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "read");
    r->base.ops = &reader_ops;
    TL_CLEANUP(reader_freep) tl_reader *owned = &r->base;
    TL_CLEANUP(tl_freep) int32_t *columns = NULL;
    TL_CLEANUP(tl_freep) int32_t *in_file = tl_calloc((size_t)table->row_type->n_fields + 1, sizeof *in_file);
    TL_CLEANUP(tl_type_unrefp) const tl_type *file_type = NULL;
    if (in_file == NULL)
        return tl_nomem(err, "read");
    r->ignore_corrupt = table->config->ignore_corrupt_files;
    TL_TRY(columns_to_read(table, spec, &columns, r, err));
    TL_TRY(tl_type_project(table->row_type, columns, r->n, &r->type, err));
    TL_TRY(tl_type_project(table->row_type, columns, r->n_wanted, &r->base.type, err));
    TL_TRY(place_columns(table, columns, r, in_file, &file_type, err));
    TL_TRY(bind_predicates(table, spec->predicate, columns, in_file, r, err));
    if (table->n_partition > 0)
        TL_TRY(tl_binary_row_decode(tl_bytes_view_of(split->partition), table->partition_type, true, &r->partition, err));
    TL_TRY(open_file(table, split->files.items[0], file_type, spec, r, err));
    *out = TL_STEAL(owned);
    return TL_OK;
}
