/*
 * System tables about a snapshot's files: $files, $file_key_ranges, $manifests, $table_indexes. Source:
 * format reference §19; Java: FilesTable, FileKeyRangesTable, ManifestsTable, TableIndexesTable.
 *
 * They read metadata only and so need no configuration of buckets: they work on tables whose data cannot be read here.
 */
#include "table/system_private.h"

#include <stdlib.h>

tl_status tl_system__read_snapshot(tl_table *table, tl_snapshot **out, tl_error *err)
{
    tl_read_point point;
    TL_TRY(tl_table__read_point(table, &point, err));
    *out = TL_STEAL(point.snap);
    tl_read_point_deinit(&point);
    return TL_OK;
}

tl_status tl_system__add_row(tl_builder *col, const tl_type *type, tl_bytes row, tl_error *err)
{
    tl_buf text = {0};
    tl_status status = tl_system__row_text(type, tl_bytes_view_of(row), &text, err);
    if (status != TL_OK) {
        tl_buf_deinit(&text);
        return status;
    }
    return tl_system__built(tl_system__add_buf(col, &text, TL_OK), err);
}

/* ---- files ---- */

/* A file's place, also where no configuration of buckets exists. */
static tl_status file_path(tl_table *table, const tl_manifest_entry *e, char **out, tl_error *err)
{
    if (e->file->external_path != NULL) {
        *out = tl_strdup(e->file->external_path);
        return *out == NULL ? tl_nomem(err, "path") : TL_OK;
    }
    const tl_options *opts = &table->schema->options;
    TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
    TL_CLEANUP(tl_freep) char *partition = NULL;
    TL_TRY(tl_binary_row_decode(tl_bytes_view_of(e->partition), table->partition_type, true, &row, err));
    TL_TRY(tl_partition_path(row, tl_table__option_or_default(opts, "partition.default-name"), tl_table__option_bool(opts, "partition.legacy-name"),
                             &partition, err));
    TL_CLEANUP(tl_freep) char *bucket = tl_paths_bucket(&table->paths, tl_options_get(opts, "data-file.path-directory"), partition, e->bucket);
    *out = bucket == NULL ? NULL : tl_path_join(bucket, e->file->name);
    return *out == NULL ? tl_nomem(err, "path") : TL_OK;
}

/* The last extension, or the one before it where the last is a codec's. */
static tl_status add_format(tl_builder *col, const char *name)
{
    static const char *const codecs[] = {"zstd", "zst", "lz4", "snappy", "gz", "gzip", "none", "deflate", "bzip2", "bz2", "xz", "lzo"};
    const char *dot = strrchr(name, '.');
    if (dot == NULL)
        return tl_builder_null(col);
    for (size_t i = 0; i < TL_ARRAY_LEN(codecs); i++) {
        if (strcmp(dot + 1, codecs[i]) != 0)
            continue;
        const char *before = dot;
        while (before > name && before[-1] != '.')
            before--;
        if (before > name)
            return tl_builder_bytes(col, before, (size_t)(dot - before));
    }
    return tl_system__str(col, dot + 1);
}

/* The columns whose least and greatest values `file` tells: its key, or what it is sorted by instead. None where they are not known. */
static tl_status range_columns(tl_table *table, const tl_table_schema *schema, const tl_data_file *file, int32_t **idx, int32_t *n, tl_error *err)
{
    const tl_options *opts = &table->schema->options;
    const char *list = tl_options_get(opts, "clustering.columns");
    char **names = NULL;
    size_t n_names = 0;
    bool clustered = file->level > 0 && list != NULL && tl_table__option_bool(opts, "pk-clustering-override");
    if (clustered)
        TL_TRY(tl_table__split_list(list, /* trim= */ true, &names, &n_names, err));
    *idx = tl_calloc(TL_MAX((size_t)schema->n_primary_keys, n_names) + 1, sizeof **idx);
    if (*idx != NULL && !clustered)
        *n = tl_table_schema_trimmed_keys(schema, *idx);
    bool known = true;
    for (size_t i = 0; *idx != NULL && i < n_names; i++) {
        (*idx)[i] = tl_type_field_index(schema->row_type, names[i]);
        known &= (*idx)[i] >= 0;
    }
    if (clustered)
        *n = known ? (int32_t)n_names : 0;
    tl_names_free(names, n_names);
    return *idx == NULL ? tl_nomem(err, "keys") : TL_OK;
}

/* "[k1, k2]" of a key row; NULL for append tables. */
static tl_status add_key(tl_table *table, tl_builder *col, const tl_data_file *file, tl_bytes key, tl_error *err)
{
    const tl_table_schema *schema = NULL;
    TL_TRY(tl_table__schema(table, file->schema_id, &schema, err));
    TL_CLEANUP(tl_freep) int32_t *idx = NULL;
    int32_t n = 0;
    TL_TRY(range_columns(table, schema, file, &idx, &n, err));
    if (n == 0 || key.len < 4 || (key.data[0] | key.data[1] | key.data[2] | key.data[3]) == 0)
        return tl_system__built(tl_builder_null(col), err);
    const tl_type *type = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
    TL_TRY(tl_type_project(schema->row_type, idx, n, &type, err));
    tl_status status = tl_error_wrap(err, tl_binary_row_decode(tl_bytes_view_of(key), type, true, &row, err), "file '%s'", file->name);
    tl_type_unref(type);
    TL_TRY(status);
    tl_buf text = {0};
    status = tl_buf_append_byte(&text, '[');
    for (int32_t i = 0; status == TL_OK && i < n; i++) {
        if (i > 0)
            status = tl_buf_append_str(&text, ", ");
        if (status == TL_OK)
            status = tl_col_is_null(row->cols[i], 0) ? tl_buf_append_str(&text, "null") : tl_text_append_java(&text, row->cols[i], 0);
    }
    if (status == TL_OK)
        status = tl_buf_append_byte(&text, ']');
    return tl_system__built(tl_system__add_buf(col, &text, status), err);
}

typedef struct named {
    const char *name;
    int32_t column;
} named;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

typedef enum stats_part { STATS_NULLS, STATS_MIN, STATS_MAX } stats_part;

/* "{a=1, b=null}" over the table's columns by name. */
static tl_status add_stats(const named *order, int32_t n, const tl_col_bounds *bounds, stats_part part, tl_builder *col)
{
    tl_buf text = {0};
    tl_status status = tl_buf_append_byte(&text, '{');
    for (int32_t i = 0; status == TL_OK && i < n; i++) {
        const tl_col_bounds *b = &bounds[order[i].column];
        const tl_column *value = part == STATS_MIN ? b->min : b->max;
        int64_t row = part == STATS_MIN ? b->min_row : b->max_row;
        status = tl_buf_appendf(&text, "%s%s=", i > 0 ? ", " : "", order[i].name);
        if (status != TL_OK)
            break;
        if (part == STATS_NULLS && b->null_count >= 0)
            status = tl_buf_appendf(&text, "%lld", (long long)b->null_count);
        else if (part == STATS_NULLS || value == NULL || tl_col_is_null(value, row))
            status = tl_buf_append_str(&text, "null");
        else
            status = tl_text_append_java(&text, value, row);
    }
    if (status == TL_OK)
        status = tl_buf_append_byte(&text, '}');
    return tl_system__add_buf(col, &text, status);
}

static tl_status add_all_stats(tl_table *table, const tl_data_file *file, tl_builder *const *cols, tl_error *err)
{
    const tl_type *row = table->schema->row_type;
    TL_CLEANUP(tl_freep) named *order = tl_calloc((size_t)row->n_fields, sizeof *order);
    TL_CLEANUP(tl_freep) tl_col_bounds *bounds = tl_calloc((size_t)row->n_fields, sizeof *bounds);
    if (order == NULL || bounds == NULL)
        return tl_nomem(err, "statistics");
    TL_CLEANUP(tl_stats_map_freep) tl_stats_map *map = NULL;
    TL_TRY(tl_stats_map_create(table, file->schema_id, /* used= */ NULL, &map, err));
    /* A file of some columns whose statistics name none tells of these alone. (The reference takes them for the table's first ones.) */
    bool some = file->n_write_cols >= 0 && file->n_value_stats_cols < 0;
    int32_t n = 0, hint = 0;
    for (int32_t i = 0; i < row->n_fields; i++) {
        const char *in_file = map->at[i] < 0 ? NULL : map->file_type->fields[map->at[i]].name;
        if (!some || tl_data_file_holds(file, in_file, &hint))
            order[n++] = (named){row->fields[i].name, i};
    }
    qsort(order, (size_t)n, sizeof *order, by_name);
    tl_bounds decoded = {0};
    tl_status status = tl_stats_map_bounds(map, file, TL_STATS_TO_SHOW, &decoded, bounds, err);
    for (int part = STATS_NULLS; status == TL_OK && part <= STATS_MAX; part++)
        status = tl_system__built(add_stats(order, n, bounds, (stats_part)part, cols[part]), err);
    tl_bounds_deinit(&decoded);
    return status;
}

static tl_status add_names(tl_builder *col, char *const *names, int32_t n)
{
    if (n < 0)
        return tl_builder_null(col);
    for (int32_t i = 0; i < n; i++)
        TL_TRY(tl_system__str(tl_builder_child(col, 0), names[i]));
    return tl_builder_end(col);
}

/* The columns that $files and $file_key_ranges begin with. */
static tl_status common_columns(tl_table *table, const tl_manifest_entry *e, tl_builder *const *c, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = NULL;
    const tl_data_file *f = e->file;
    TL_TRY(tl_system__add_row(c[0], table->partition_type, e->partition, err));
    TL_TRY(file_path(table, e, &path, err));
    tl_status status = tl_builder_int(c[1], e->bucket);
    if (status == TL_OK)
        status = tl_system__str(c[2], path);
    if (status == TL_OK)
        status = add_format(c[3], f->name);
    const int64_t numbers[4] = {f->schema_id, f->level, f->rows, f->bytes};
    for (int i = 0; status == TL_OK && i < 4; i++)
        status = tl_builder_int(c[4 + i], numbers[i]);
    TL_TRY(tl_system__built(status, err));
    TL_TRY(add_key(table, c[8], f, f->min_key, err));
    return add_key(table, c[9], f, f->max_key, err);
}

static tl_status file_row(tl_table *table, const tl_manifest_entry *e, tl_builder *const *c, tl_error *err)
{
    const tl_data_file *f = e->file;
    TL_TRY(common_columns(table, e, c, err));
    TL_TRY(add_all_stats(table, f, c + 10, err));
    tl_status status = tl_system__long(c[13], f->min_seq);
    if (status == TL_OK)
        status = tl_system__long(c[14], f->max_seq);
    if (status == TL_OK)
        status = tl_system__time(c[15], f->creation_time_ms);
    if (status == TL_OK)
        status = tl_system__long(c[16], f->delete_rows);
    if (status == TL_OK)
        status = tl_system__str(c[17], f->file_source == 0 ? "APPEND" : f->file_source == 1 ? "COMPACT" : NULL);
    if (status == TL_OK)
        status = tl_system__long(c[18], f->first_row_id);
    if (status == TL_OK)
        status = add_names(c[19], f->write_cols, f->n_write_cols);
    return tl_system__built(status, err);
}

static tl_status key_range_row(tl_table *table, const tl_manifest_entry *e, tl_builder *const *c, tl_error *err)
{
    TL_TRY(common_columns(table, e, c, err));
    return tl_system__built(tl_system__long(c[10], e->file->first_row_id), err);
}

typedef tl_status (*entry_row)(tl_table *table, const tl_manifest_entry *e, tl_builder *const *c, tl_error *err);

static tl_status live_files(tl_table *table, tl_builder *const *cols, entry_row row, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_TRY(tl_system__read_snapshot(table, &snap, err));
    if (snap == NULL)
        return TL_OK;
    tl_entries entries = {0};
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, snap);
    scan.real_buckets_only = table->bucket_mode == TL_BUCKETS_POSTPONE; /* as a batch read */
    tl_status status = tl_table__scan(table, &scan, &entries, err);
    for (size_t i = 0; status == TL_OK && i < entries.n; i++)
        status = row(table, &entries.items[i], cols, err);
    tl_entries_deinit(&entries);
    return status;
}

tl_status tl_system__files(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    return live_files(table, cols, file_row, err);
}

tl_status tl_system__file_key_ranges(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    return live_files(table, cols, key_range_row, err);
}

/* ---- manifests ---- */

static tl_status manifest_row(tl_table *table, const tl_manifest_meta *m, tl_builder *const *c, tl_error *err)
{
    const int64_t numbers[4] = {m->bytes, m->added, m->deleted, m->schema_id};
    tl_status status = tl_system__str(c[0], m->name);
    for (int i = 0; status == TL_OK && i < 4; i++)
        status = tl_builder_int(c[1 + i], numbers[i]);
    TL_TRY(tl_system__built(status, err));
    TL_TRY(tl_system__add_row(c[5], table->partition_type, m->partition_stats.min, err));
    TL_TRY(tl_system__add_row(c[6], table->partition_type, m->partition_stats.max, err));
    status = tl_system__long(c[7], m->min_row_id);
    if (status == TL_OK)
        status = tl_system__long(c[8], m->max_row_id);
    return tl_system__built(status, err);
}

tl_status tl_system__manifests(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_TRY(tl_system__read_snapshot(table, &snap, err));
    if (snap == NULL)
        return TL_OK;
    tl_manifest_list list = {0};
    tl_status status = tl_table__manifests(table, snap, TL_SCAN_ALL, &list, err);
    if (status == TL_OK)
        status = tl_table__manifests(table, snap, TL_SCAN_CHANGELOG, &list, err);
    for (size_t i = 0; status == TL_OK && i < list.n; i++)
        status = manifest_row(table, &list.items[i], cols, err);
    tl_manifest_list_deinit(&list);
    return status;
}

/* ---- index files ---- */

static tl_status add_ranges(tl_builder *list, const tl_index_file *file)
{
    if (file->n_ranges < 0)
        return tl_builder_null(list);
    tl_builder *rows = tl_builder_child(list, 0);
    for (int32_t i = 0; i < file->n_ranges; i++) {
        const tl_dv_range *r = &file->ranges[i];
        tl_builder *cardinality = tl_builder_child(rows, 3);
        TL_TRY(tl_builder_bytes(tl_builder_child(rows, 0), r->data_file, strlen(r->data_file)));
        TL_TRY(tl_builder_int(tl_builder_child(rows, 1), r->offset));
        TL_TRY(tl_builder_int(tl_builder_child(rows, 2), r->bytes));
        TL_TRY(r->cardinality == TL_ABSENT ? tl_builder_null(cardinality) : tl_builder_int(cardinality, r->cardinality));
        TL_TRY(tl_builder_end(rows));
    }
    return tl_builder_end(list);
}

static tl_status index_row(tl_table *table, const tl_index_entry *e, tl_builder *const *c, tl_error *err)
{
    const tl_index_file *f = e->file;
    TL_TRY(tl_system__add_row(c[0], table->partition_type, e->partition, err));
    TL_TRY(tl_system__built(tl_builder_int(c[1], e->bucket), err));
    TL_TRY(tl_system__built(tl_builder_bytes(c[2], f->type, strlen(f->type)), err));
    TL_TRY(tl_system__built(tl_builder_bytes(c[3], f->name, strlen(f->name)), err));
    TL_TRY(tl_system__built(tl_builder_int(c[4], f->bytes), err));
    TL_TRY(tl_system__built(tl_builder_int(c[5], f->rows), err));
    return tl_system__built(add_ranges(c[6], f), err);
}

tl_status tl_system__table_indexes(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_TRY(tl_system__read_snapshot(table, &snap, err));
    tl_index_entries indexes = {0};
    tl_status status = tl_indexes__read(table, snap, &indexes, err);
    for (size_t i = 0; status == TL_OK && i < indexes.n; i++)
        status = index_row(table, &indexes.items[i], cols, err);
    tl_index_entries_deinit(&indexes);
    return status;
}
