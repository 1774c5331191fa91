/*
 * Format tables (`type` = `format-table`): a folder of files of one format, and a schema that says how to read them. Partitions are
 * folders `key=value`, as Hive lays them out, or of values alone. There are no snapshots, no manifests and no statistics: what lies in
 * the folder is the table. Files hold all columns but the partition columns. Java: FormatTable, CatalogUtils.toFormatTable.
 *
 * The schema lies in the table's folder, too (`schema/`): that folder is none of the data. (The reference reads it as data where the
 * table has no partitions.)
 */
#include "table/format_table.h"

#include <strings.h>

bool tl_format_table__asked(const tl_options *options)
{
    const char *type = tl_options_get(options, "type");
    return type != NULL && strcasecmp(type, "format-table") == 0;
}

bool tl_table_is_format(const tl_table *table)
{
    return table->folder != NULL;
}

/* ---- what can be a format table ---- */

static tl_status find_format(const tl_options *options, const tl_format **out, tl_error *err)
{
    static const tl_format *const known[] = {&tl_format_orc, &tl_format_parquet, &tl_format_csv, &tl_format_text, &tl_format_json};
    const char *name = tl_table__option_or_default(options, "file.format");
    for (size_t i = 0; i < TL_ARRAY_LEN(known); i++) {
        if (strcasecmp(known[i]->name, name) == 0) {
            *out = known[i];
            return TL_OK;
        }
    }
    return tl_error_set(err, TL_E_UNSUPPORTED, "Format table unsupported file format: %s. Supported formats: [ORC, PARQUET, CSV, TEXT, JSON]",
                        name);
}

static bool is_partition_key(const tl_table_schema *schema, const char *name)
{
    for (int32_t i = 0; i < schema->n_partition_keys; i++) {
        if (strcmp(schema->partition_keys[i], name) == 0)
            return true;
    }
    return false;
}

/* The columns of files: *idx (tl_free) are their places in the row type. */
static tl_status file_columns(const tl_table_schema *schema, int32_t **idx, int32_t *n, const tl_type **type, tl_error *err)
{
    const tl_type *row = schema->row_type;
    *n = 0;
    *idx = tl_calloc((size_t)row->n_fields + 1, sizeof **idx);
    if (*idx == NULL)
        return tl_nomem(err, "columns");
    for (int32_t i = 0; i < row->n_fields; i++) {
        if (!is_partition_key(schema, row->fields[i].name))
            (*idx)[(*n)++] = i;
    }
    if (*n == 0)
        return tl_error_set(err, TL_E_INVALID, "all columns of the format table are partition columns: files would have none");
    return tl_type_project(row, *idx, *n, type, err);
}

static const char *const time_options[] = {
    "scan.snapshot-id", "scan.tag-name", "scan.timestamp", "scan.timestamp-millis", "scan.watermark", "scan.version",
    "scan.file-creation-time-millis", "scan.creation-time-millis", "incremental-between", "incremental-between-timestamp",
    "incremental-to-auto-tag", "scan.fallback-branch", "scan.primary-branch", "consumer-id",
};

static tl_status check_options(const tl_options *options, tl_error *err)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(time_options); i++) {
        if (tl_options_get(options, time_options[i]) != NULL)
            return tl_error_set(err, TL_E_INVALID, "a format table has no snapshots, tags and branches: option '%s' cannot be asked of it",
                                time_options[i]);
    }
    const char *implementation = tl_table__option_or_default(options, "format-table.implementation");
    if (strcasecmp(implementation, "paimon") != 0 && strcasecmp(implementation, "engine") != 0)
        return tl_error_set(err, TL_E_INVALID, "Could not parse value '%s' for key 'format-table.implementation'. Expected one of: [paimon, engine]",
                            implementation);
    return TL_OK;
}

tl_status tl_format_table__validate(const tl_table_schema *schema, tl_error *err)
{
    const tl_format *format = NULL;
    TL_CLEANUP(tl_freep) int32_t *idx = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *file_type = NULL;
    int32_t n = 0;
    if (schema->n_primary_keys > 0)
        return tl_error_set(err, TL_E_INVALID, "Cannot define primary-key for format table.");
    TL_TRY(find_format(&schema->options, &format, err));
    TL_TRY(check_options(&schema->options, err));
    TL_TRY(file_columns(schema, &idx, &n, &file_type, err));
    TL_TRY(tl_lines_check_options(format, &schema->options, err));
    return tl_lines_check_type(format, file_type, err);
}

/* ---- open ---- */

/* Java: CoreOptions.formatTableFileCompression. */
static const char *compression_of(const tl_options *options, const tl_format *format)
{
    static const char *const keys[] = {"file.compression", "format-table.file.compression", "compression"};
    for (size_t i = 0; i < TL_ARRAY_LEN(keys); i++) {
        const char *value = tl_options_get(options, keys[i]);
        if (value != NULL)
            return value;
    }
    return format == &tl_format_parquet ? "snappy" : format == &tl_format_orc ? "zstd" : "none";
}

tl_status tl_format_table__open(tl_table *table, tl_error *err)
{
    const tl_options *options = &table->schema->options;
    TL_TRY(tl_format_table__validate(table->schema, err));
    tl_folder *f = table->folder = tl_calloc(1, sizeof *f);
    if (f == NULL)
        return tl_nomem(err, "table");
    TL_TRY(find_format(options, &f->format, err));
    TL_TRY(file_columns(table->schema, &f->file_idx, &f->n_file, &f->file_type, err));
    f->compression = compression_of(options, f->format);
    f->values_only = tl_table__option_bool(options, "format-table.partition-path-only-value");
    table->bucket_mode = TL_BUCKETS_UNAWARE; /* whatever `bucket` says */
    table->n_buckets = -1;
    table->spans_partitions = false;
    return TL_OK;
}

void tl_format_table__close(tl_folder *f)
{
    if (f == NULL)
        return;
    tl_free(f->file_idx);
    tl_type_unref(f->file_type);
    tl_free(f);
}

/* ---- places ---- */

bool tl_format_table__hidden(const char *name)
{
    return name[0] == '.' || name[0] == '_';
}

/* In paths without keys a value is a folder's name as it is: some would lead elsewhere, or be passed over by readers. */
static tl_status check_value_folders(const char *path, tl_error *err)
{
    for (const char *p = path, *end; *p != '\0'; p = *end == '\0' ? end : end + 1) {
        end = strchrnul(p, '/');
        bool own = p == path && strlen(TL_FOLDER_OWN) == (size_t)(end - p) && memcmp(p, TL_FOLDER_OWN, (size_t)(end - p)) == 0;
        if (tl_format_table__hidden(p) || own)
            return tl_error_set(err, TL_E_INVALID,
                                "partition value '%.*s' cannot be a folder of its own: readers pass over names that begin with '.' or '_', and "
                                "'%s' is the table's; set 'partition.default-name' for NULL, or do without "
                                "'format-table.partition-path-only-value'",
                                (int)(end - p), p, TL_FOLDER_OWN);
    }
    return TL_OK;
}

tl_status tl_format_table__dir(const tl_table *table, tl_bytes_view partition, char **out, tl_error *err)
{
    const tl_lsm_config *config = table->config;
    if (table->n_partition == 0) {
        *out = tl_strdup(table->path);
        return *out == NULL ? tl_nomem(err, "path") : TL_OK;
    }
    TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
    TL_CLEANUP(tl_freep) char *path = NULL;
    TL_TRY(tl_binary_row_decode(partition, table->partition_type, true, &row, err));
    if (table->folder->values_only) {
        TL_TRY(tl_partition_value_path(row, config->partition_default_name, config->legacy_partition_names, &path, err));
        TL_TRY(check_value_folders(path, err));
    } else {
        TL_TRY(tl_partition_path(row, config->partition_default_name, config->legacy_partition_names, &path, err));
    }
    *out = tl_path_join(table->path, path);
    return *out == NULL ? tl_nomem(err, "path") : TL_OK;
}
