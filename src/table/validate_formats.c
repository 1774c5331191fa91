/*
 * Which columns the format of a table's files can hold, and what options say of columns that have files of their own.
 * Source: Java: SchemaValidation, FileFormat#validateDataFields and its implementations, VectorType#fieldsInVectorFile.
 */
#include "table/table_private.h"

#include <strings.h>

#include "format/format.h"

#define FAIL(...) tl_error_set(err, TL_E_INVALID, __VA_ARGS__)

/* ---- types of a format ---- */

static tl_status check_avro(const tl_type *type, tl_error *err)
{
    if ((type->kind == TL_TIMESTAMP || type->kind == TL_TIMESTAMP_LTZ) && type->precision > 6)
        return FAIL("Avro does not support %s type with precision: %d, it only supports precision less than 6.",
                    type->kind == TL_TIMESTAMP ? "TIMESTAMP" : "TIMESTAMP_WITH_LOCAL_TIME_ZONE", type->precision);
    if (type->kind == TL_VARIANT)
        return FAIL("Unsupported to derive Schema for type: VARIANT");
    for (int32_t i = 0; i < type->n_fields; i++)
        TL_TRY(check_avro(type->fields[i].type, err)); /* types have a depth limit of their own */
    return TL_OK;
}

static tl_status check_orc(const tl_type *type, tl_error *err)
{
    if (type->kind == TL_VARIANT)
        return FAIL("Unsupported type: VARIANT (in ORC files; Parquet files hold it)");
    for (int32_t i = 0; i < type->n_fields; i++)
        TL_TRY(check_orc(type->fields[i].type, err));
    return TL_OK;
}

static bool holds_vector(const tl_type *type)
{
    for (int32_t i = 0; i < type->n_fields; i++) {
        if (holds_vector(type->fields[i].type))
            return true;
    }
    return type->kind == TL_VECTOR;
}

static tl_status check_no_vector(const tl_type *row, const char *format, tl_error *err)
{
    for (int32_t i = 0; i < row->n_fields; i++) {
        if (!holds_vector(row->fields[i].type))
            continue;
        tl_buf text = {0};
        (void)tl_type_format(row->fields[i].type, &text); /* only a message */
        tl_status status = FAIL("Unsupported type: %.*s (column '%s' in %s files). Avro and JSON files hold vectors; with 'vector.file.format' = 'avro' "
                                "columns of that type have files of their own",
                                (int)text.len, (const char *)text.data, row->fields[i].name, format);
        tl_buf_deinit(&text);
        return status;
    }
    return TL_OK;
}

static tl_status check_types(const char *format, const tl_type *row, tl_error *err)
{
    static const char *const known[] = {"parquet", "orc", "avro", "csv", "json", "text", "blob", "lance", "row", NULL};
    bool found = false;
    for (const char *const *name = known; *name != NULL; name++)
        found |= strcasecmp(*name, format) == 0;
    if (!found)
        return FAIL("Could not find any factory for identifier '%s' that implements FileFormatFactory", format);
    if (strcasecmp(format, "csv") == 0)
        return tl_lines_check_type(&tl_format_csv, row, err);
    if (strcasecmp(format, "json") == 0)
        return tl_lines_check_type(&tl_format_json, row, err);
    if (strcasecmp(format, "text") == 0)
        return tl_lines_check_type(&tl_format_text, row, err);
    if (strcasecmp(format, "avro") == 0)
        return check_avro(row, err);
    if (strcasecmp(format, "orc") == 0)
        TL_TRY(check_orc(row, err));
    bool orc_or_parquet = strcasecmp(format, "orc") == 0 || strcasecmp(format, "parquet") == 0;
    return orc_or_parquet ? check_no_vector(row, format, err) : TL_OK;
}

/* ---- files of their own ---- */

/* Columns that are vectors (or are not, and no BLOBs either): with 'vector.file.format' those have files of their own. */
static tl_status columns_of(const tl_type *row, bool vectors, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc(((size_t)row->n_fields + 1) * sizeof *columns);
    int32_t n = 0;
    if (columns == NULL)
        return tl_nomem(err, "columns");
    for (int32_t i = 0; i < row->n_fields; i++) {
        tl_type_kind kind = row->fields[i].type->kind;
        if ((kind == TL_VECTOR) == vectors && kind != TL_BLOB)
            columns[n++] = i;
    }
    return tl_type_project(row, columns, n, out, err);
}

tl_status tl_table__validate_format(const tl_table_schema *schema, const char *format, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *normal = NULL;
    if (tl_options_get(&schema->options, "vector.file.format") == NULL)
        return check_types(format, schema->row_type, err);
    TL_TRY(columns_of(schema->row_type, /* vectors= */ false, &normal, err));
    return check_types(format, normal, err);
}

tl_status tl_table__validate_formats(const tl_table_schema *schema, tl_error *err)
{
    return tl_table__validate_format(schema, tl_table__option_or_default(&schema->options, "file.format"), err);
}

static tl_status check_vector_names(const tl_table_schema *schema, char **names, size_t n, tl_error *err)
{
    for (size_t i = 0; i < n; i++) {
        int32_t c = tl_type_field_index(schema->row_type, names[i]);
        if (c < 0)
            return FAIL("Some of the columns specified as vector-field are unknown: '%s'.", names[i]);
        const tl_type *type = schema->row_type->fields[c].type;
        if (type->kind == TL_VECTOR)
            continue;
        tl_buf text = {0};
        (void)tl_type_format(type, &text); /* only a message */
        tl_status status = FAIL("Field name[%s] is configured as vector-field so the type must be vector, but it is %.*s", names[i], (int)text.len,
                                (const char *)text.data);
        tl_buf_deinit(&text);
        return status;
    }
    return TL_OK;
}

/* Names are not trimmed, the list is (Java: CoreOptions#vectorField). */
static tl_status check_vector_fields(const tl_table_schema *schema, const char *fields, tl_error *err)
{
    size_t from = strspn(fields, " \t\r\n"), to = strlen(fields);
    while (to > from && strchr(" \t\r\n", fields[to - 1]) != NULL)
        to--;
    TL_CLEANUP(tl_freep) char *list = tl_strndup(fields + from, to - from);
    char **names = NULL;
    size_t n = 0;
    if (list == NULL)
        return tl_nomem(err, "option");
    if (*list == '\0')
        return TL_OK;
    TL_TRY(tl_table__split_list(list, /* trim= */ false, &names, &n, err));
    tl_status status = check_vector_names(schema, names, n, err);
    tl_names_free(names, n);
    return status;
}

tl_status tl_table__validate_vectors(const tl_table_schema *schema, bool evolution, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *vectors = NULL;
    const char *format = tl_options_get(&schema->options, "vector.file.format"), *fields = tl_options_get(&schema->options, "vector-field");
    if (fields != NULL)
        TL_TRY(check_vector_fields(schema, fields, err));
    if (format == NULL)
        return TL_OK;
    if (!evolution)
        return FAIL("Data evolution config must enabled for table with vector-store file format.");
    TL_TRY(columns_of(schema->row_type, /* vectors= */ true, &vectors, err));
    if (vectors->n_fields > 0 && vectors->n_fields == schema->row_type->n_fields)
        return FAIL("Table with 'vector.file.format' must have columns that are no VECTOR.");
    return check_types(format, vectors, err);
}
