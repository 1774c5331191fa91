/*
 * Columns of a table of files that its records do not have: partition columns, whose values are in the names of folders
 * `column=value`, and metadata of the file. Source: Flink: FileSystemTableSource, PartitionPathUtils.
 */
#include "base/parse.h"
#include "connect/connect_private.h"

const char *tl_connect__default_partition(const tl_options *options)
{
    const char *name = tl_options_get(options, "partition.default-name");
    return name != NULL ? name : "__DEFAULT_PARTITION__";
}

static bool is_partition_column(const tl_connector_spec *spec, int32_t column)
{
    for (int32_t i = 0; i < spec->n_partition_key; i++)
        if (spec->partition_key[i] == column)
            return true;
    return false;
}

static bool is_text(const tl_type *type)
{
    return type->kind == TL_CHAR || type->kind == TL_VARCHAR;
}

static tl_status check_key(const char *key, const tl_field *field, tl_error *err)
{
    bool text = strcmp(key, "file.path") == 0 || strcmp(key, "file.name") == 0;
    bool size = strcmp(key, "file.size") == 0, time = strcmp(key, "file.modification-time") == 0;
    if (!text && !size && !time)
        return tl_error_set(err, TL_E_INVALID, "column '%s': connector 'filesystem' has no metadata '%s'; it has file.path, file.name, file.size and "
                            "file.modification-time", field->name, key);
    if (text ? !is_text(field->type) : size ? field->type->kind != TL_BIGINT : field->type->kind != TL_TIMESTAMP_LTZ)
        return tl_error_set(err, TL_E_INVALID, "column '%s': metadata '%s' is of type %s", field->name, key, text ? "STRING" : size ? "BIGINT" : "TIMESTAMP_LTZ(3)");
    return TL_OK;
}

tl_status tl_connect__file_columns_init(tl_file_columns *columns, const tl_connector_spec *spec, tl_error *err)
{
    const tl_type *row = spec->row_type;
    *columns = (tl_file_columns){.row_type = row, .keys = spec->metadata_keys, .default_name = tl_connect__default_partition(spec->options)};
    columns->of_record = tl_calloc((size_t)row->n_fields + 1, sizeof *columns->of_record);
    columns->values = tl_calloc((size_t)row->n_fields + 1, sizeof *columns->values);
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc((size_t)row->n_fields + 1, sizeof *fields);
    if (columns->of_record == NULL || columns->values == NULL || fields == NULL)
        return tl_nomem(err, "columns");
    int32_t n = 0;
    for (int32_t c = 0; c < row->n_fields; c++) {
        bool metadata = columns->keys != NULL && columns->keys[c] != NULL;
        if (metadata)
            TL_TRY(check_key(columns->keys[c], &row->fields[c], err));
        columns->of_record[c] = metadata || is_partition_column(spec, c) ? -1 : n;
        if (columns->of_record[c] >= 0)
            fields[n++] = row->fields[c];
    }
    columns->n = row->n_fields - n;
    return tl_type_create_row(row->nullable, fields, n, &columns->record_type, err);
}

static void drop_values(tl_file_columns *columns)
{
    for (int32_t c = 0; columns->values != NULL && c < columns->row_type->n_fields; c++) {
        tl_column_unref(columns->values[c]);
        columns->values[c] = NULL;
    }
}

void tl_connect__file_columns_deinit(tl_file_columns *columns)
{
    drop_values(columns);
    tl_free(columns->values);
    tl_free(columns->of_record);
    tl_type_unref(columns->record_type);
    *columns = (tl_file_columns){0};
}

/* The value of `column=` in a path, unescaped; *found is false if no folder is named so. */
static tl_status folder_value(const char *path, const char *column, tl_buf *out, bool *found, tl_error *err)
{
    *found = false;
    for (const char *part = path, *slash; (slash = strchr(part, '/')) != NULL; part = slash + 1) {
        const char *equals = memchr(part, '=', (size_t)(slash - part));
        if (equals == NULL)
            continue;
        TL_CLEANUP(tl_buf_deinit) tl_buf name = {0};
        if (tl_path_unescape((tl_bytes_view){(const uint8_t *)part, (size_t)(equals - part)}, &name) != TL_OK)
            return tl_nomem(err, "partition");
        if (name.len != strlen(column) || memcmp(name.data, column, name.len) != 0)
            continue;
        *found = true;
        out->len = 0;
        if (tl_path_unescape((tl_bytes_view){(const uint8_t *)equals + 1, (size_t)(slash - equals - 1)}, out) != TL_OK)
            return tl_nomem(err, "partition");
    }
    return TL_OK;
}

static tl_status partition_value(const tl_file_columns *columns, const char *name, const tl_field *field, tl_builder *builder, tl_error *err)
{
    TL_CLEANUP(tl_buf_deinit) tl_buf value = {0};
    bool found;
    TL_TRY(folder_value(name, field->name, &value, &found, err));
    if (!found)
        return tl_error_set(err, TL_E_INVALID, "no folder '%s=...' in its path: files of a table that is partitioned by '%s' lie in such folders", field->name, field->name);
    tl_bytes_view text = {value.data, value.len};
    if (text.len == strlen(columns->default_name) && memcmp(text.data, columns->default_name, text.len) == 0)
        return tl_builder_null(builder);
    tl_json json = {.kind = TL_JSON_STRING, .text = text, .raw = text};
    tl_json_rules rules = {memchr(text.data, 'T', text.len) != NULL ? TL_TIME_ISO : TL_TIME_SQL, false, false, NULL};
    return tl_error_wrap(err, tl_connect__json_value(&rules, &json, field->type, builder, err), "partition column '%s'", field->name);
}

static tl_status metadata_value(const char *key, const char *path, const tl_stat *stat, tl_builder *builder)
{
    if (strcmp(key, "file.size") == 0)
        return tl_builder_int(builder, stat->bytes);
    if (strcmp(key, "file.modification-time") == 0)
        return tl_builder_timestamp(builder, stat->mtime_ms, 0);
    const char *text = strcmp(key, "file.name") == 0 ? tl_path_base(path) : path;
    return tl_builder_bytes(builder, text, strlen(text));
}

tl_status tl_connect__file_columns_begin(tl_file_columns *columns, const char *path, const char *name, const tl_stat *stat, tl_error *err)
{
    drop_values(columns);
    for (int32_t c = 0; c < columns->row_type->n_fields; c++) {
        if (columns->of_record[c] >= 0)
            continue;
        const tl_field *field = &columns->row_type->fields[c];
        tl_builder *builder;
        TL_TRY(tl_builder_create(field->type, &builder, err));
        tl_status status = columns->keys != NULL && columns->keys[c] != NULL ? metadata_value(columns->keys[c], path, stat, builder)
                                                                            : partition_value(columns, name, field, builder, err);
        if (status == TL_OK)
            status = tl_builder_finish(builder, &columns->values[c], err);
        else if (status == TL_E_NOMEM)
            status = tl_nomem(err, "columns");
        tl_builder_free(builder);
        TL_TRY(status);
    }
    return TL_OK;
}

tl_status tl_connect__file_columns_add(const tl_file_columns *columns, tl_batch **batch, tl_error *err)
{
    if (columns->n == 0)
        return TL_OK;
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    TL_TRY(tl_batch_create(columns->row_type, (*batch)->n_rows, &result, err));
    for (int32_t c = 0; c < columns->row_type->n_fields; c++) {
        if (columns->of_record[c] >= 0)
            result->cols[c] = tl_column_ref((*batch)->cols[columns->of_record[c]]);
        else
            TL_TRY(tl_column_repeat(columns->values[c], 0, (*batch)->n_rows, &result->cols[c], err));
    }
    result->row_kind = TL_STEAL((*batch)->row_kind);
    tl_batch_free(*batch);
    *batch = TL_STEAL(result);
    return TL_OK;
}
