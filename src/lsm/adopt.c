/*
 * A file that another program wrote, as a data file of an append table: its entry is made from its own metadata, it is not read.
 * Source: Java: org.apache.paimon.migrate.FileMetaUtils.
 */
#include "lsm/lsm_private.h"

#include "format/format.h"

/* Types that the formats do not tell apart: Avro has no integer below INT, ORC neither TIME nor a precision of timestamps. */
static bool is_stored_as(const tl_format *format, const tl_type *in_file, const tl_type *in_table)
{
    bool is_avro = format == &tl_format_avro, is_orc = format == &tl_format_orc;
    switch (in_table->kind) {
    case TL_TINYINT:
    case TL_SMALLINT:
        return is_avro && in_file->kind == TL_INT;
    case TL_TIME:
        return is_orc && in_file->kind == TL_INT;
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return is_orc && in_file->kind == in_table->kind;
    case TL_CHAR: /* text of any length may lie in columns of a shorter one, as everywhere in the reference */
    case TL_VARCHAR:
        return in_file->kind == TL_CHAR || in_file->kind == TL_VARCHAR;
    case TL_BINARY:
    case TL_VARBINARY:
        return in_file->kind == TL_BINARY || in_file->kind == TL_VARBINARY;
    default:
        return false;
    }
}

static bool is_same_type(const tl_format *format, const tl_type *in_file, const tl_type *in_table)
{
    if (is_stored_as(format, in_file, in_table))
        return true;
    bool is_multiset = in_table->kind == TL_MULTISET && in_file->kind == TL_MAP;
    if ((in_file->kind != in_table->kind && !is_multiset) || in_file->n_fields != in_table->n_fields)
        return false;
    if (in_file->n_fields == 0)
        return tl_type_equal(in_file, in_table, /* with_nullable= */ false);
    for (int32_t i = 0; i < in_file->n_fields; i++) {
        if (in_file->kind == TL_ROW && strcmp(in_file->fields[i].name, in_table->fields[i].name) != 0)
            return false;
        if (!is_same_type(format, in_file->fields[i].type, in_table->fields[i].type))
            return false;
    }
    return true;
}

static tl_status wrong_type(const tl_field *in_file, const tl_field *in_table, tl_error *err)
{
    tl_buf a = {0}, b = {0};
    tl_status status = tl_type_format(in_file->type, &a);
    if (status == TL_OK)
        status = tl_type_format(in_table->type, &b);
    if (status == TL_OK)
        status = tl_error_set(err, TL_E_INVALID, "column '%s' is %.*s in the file and %.*s in the table: such a file must be copied", in_table->name,
                              (int)a.len, (const char *)a.data, (int)b.len, (const char *)b.data);
    else
        status = tl_nomem(err, "type");
    tl_buf_deinit(&a);
    tl_buf_deinit(&b);
    return status;
}

/* Every column of the file is one of the table, as the table has it. Partition columns are taken from the folder, not from the file. */
static tl_status check_columns(const tl_lsm_config *config, const tl_format *format, const tl_type *file_type, tl_error *err)
{
    const tl_type *row_type = config->schema->row_type;
    for (int32_t i = 0; i < file_type->n_fields; i++) {
        const tl_field *field = &file_type->fields[i];
        int32_t at = tl_type_field_index(row_type, field->name);
        if (at < 0)
            return tl_error_set(err, TL_E_INVALID, "column '%s' of the file is none of the table's", field->name);
        if (config->partition_idx[at] < 0 && !is_same_type(format, field->type, row_type->fields[at].type))
            return wrong_type(field, &row_type->fields[at], err);
    }
    return TL_OK;
}

/* Statistics of partition columns would be those of the file's own columns, or of none. */
static tl_status check_stats(const tl_lsm_config *config, tl_write_result *result, tl_error *err)
{
    const tl_type *row_type = config->schema->row_type;
    for (int32_t i = 0; i < result->n_stats; i++) {
        tl_column_stats *stats = &result->stats[i];
        if (config->partition_idx[i] >= 0) {
            tl_column_unref(stats->min);
            tl_column_unref(stats->max);
            *stats = (tl_column_stats){NULL, NULL, -1};
        } else if (!row_type->fields[i].type->nullable && stats->null_count != 0 && result->rows > 0) {
            return tl_error_set(err, TL_E_INVALID, "column '%s' is NOT NULL in the table; the file %s", row_type->fields[i].name,
                                stats->null_count < 0 ? "does not tell that it has no NULL" : "has NULL");
        }
    }
    return TL_OK;
}

static tl_status describe(tl_lsm_config *config, tl_write_result *result, tl_data_file *file, tl_error *err)
{
    const tl_lsm__file_options *options;
    TL_TRY(tl_lsm__file_options_of(config, /* level= */ 0, /* changelog= */ false, &options, err));
    TL_TRY(check_stats(config, result, err));
    file->bytes = result->bytes;
    file->rows = result->rows;
    file->schema_id = config->schema->id;
    file->creation_time_ms = tl_lsm__local_wall_clock_ms(config->clock);
    file->file_source = 0; /* APPEND */
    TL_TRY(tl_lsm__no_keys(file, /* first_seq= */ 0, result->rows, err));
    int32_t n_cols = -1;
    char **cols = NULL;
    TL_TRY(tl_simple_stats_build(NULL, NULL, NULL, NULL, 0, /* dense= */ false, &file->key_stats, &cols, &n_cols, err));
    return tl_lsm__value_stats(config, /* shape= */ NULL, options->stats, result, file, err);
}

tl_status tl_file_adopt(tl_lsm_config *config, const tl_format *format, const char *path, const char *name, tl_data_file **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *file_type = NULL;
    tl_write_result result = {0};
    TL_TRY(format->schema(config->fs, path, &file_type, err));
    TL_TRY(tl_error_wrap(err, check_columns(config, format, file_type, err), "file '%s'", path));
    TL_TRY(format->stats(config->fs, path, config->schema->row_type, &result, err));
    tl_data_file *file = tl_data_file_create();
    if (file != NULL)
        file->name = tl_strdup(name);
    tl_status status = file == NULL || file->name == NULL ? tl_nomem(err, "data file") : describe(config, &result, file, err);
    tl_write_result_deinit(&result);
    if (status != TL_OK) {
        tl_data_file_unref(file);
        return tl_error_wrap(err, status, "file '%s'", path);
    }
    *out = file;
    return TL_OK;
}
