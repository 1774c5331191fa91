/*
 * What tables that are made or altered cannot have, though such tables of others may be opened: where the reference's release 1.4.2 finds out
 * at the first write, or never and answers wrongly. Its later releases refuse most of it in the same places (Java: SchemaValidation).
 */
#include "table/table_private.h"

#include <strings.h>

#include "base/parse.h"
#include "index/file_index.h"
#include "merge/merge.h"

/* ---- formats ---- */

/* FORMAT, or LEVEL:FORMAT, without the level and blanks. */
static tl_bytes_view format_in(tl_bytes_view piece)
{
    const uint8_t *end = piece.data + piece.len, *colon = memchr(piece.data, ':', piece.len), *name = colon == NULL ? piece.data : colon + 1;
    while (name < end && *name == ' ')
        name++;
    return (tl_bytes_view){name, (size_t)(end - name)};
}

static bool names(tl_bytes_view format, const char *name)
{
    return format.len == strlen(name) && strncasecmp((const char *)format.data, name, format.len) == 0;
}

/* Files of csv and text have columns by place alone, and the reference reads the columns that it puts in front as the table's. */
static tl_status check_lines(const tl_table_schema *schema, tl_error *err)
{
    static const char *const keys[] = {"file.format", "changelog-file.format", "file.format.per.level"};
    bool keyed = schema->n_primary_keys > 0, tracked = tl_table__option_bool(&schema->options, "row-tracking.enabled");
    if (!keyed && !tracked)
        return TL_OK;
    for (size_t i = 0; i < TL_ARRAY_LEN(keys); i++) {
        tl_bytes_view piece;
        for (const char *at = tl_options_get(&schema->options, keys[i]); tl_list_next(&at, &piece);) {
            tl_bytes_view format = format_in(piece);
            if (names(format, "csv") || names(format, "text"))
                return tl_error_set(err, TL_E_UNSUPPORTED,
                                    "option '%s' = '%s': files of format '%.*s' cannot hold the columns that a table with %s has beside its own "
                                    "(the reference reads other values than it wrote): use another format",
                                    keys[i], tl_options_get(&schema->options, keys[i]), (int)format.len, (const char *)format.data,
                                    keyed ? "a primary key" : "row tracking");
        }
    }
    return TL_OK;
}

/* `file.format.per.level` = LEVEL:FORMAT, …: each must hold the columns, as `file.format` must. */
static tl_status check_levels(const tl_table_schema *schema, tl_error *err)
{
    static const char key[] = "file.format.per.level";
    const char *text = tl_options_get(&schema->options, key);
    tl_bytes_view piece;
    for (const char *at = text; tl_list_next(&at, &piece);) {
        if (memchr(piece.data, ':', piece.len) == NULL)
            continue; /* its form is checked where it is used */
        tl_bytes_view name = format_in(piece);
        TL_CLEANUP(tl_freep) char *format = tl_strndup((const char *)name.data, name.len);
        if (format == NULL)
            return tl_nomem(err, "option");
        TL_TRY(tl_error_wrap(err, tl_table__validate_format(schema, format, err), "option '%s' = '%s'", key, text));
    }
    return TL_OK;
}

/* ---- options of columns ---- */

/* `fields.ROW.FIELD.OPTION` would be an option of nothing: a ROW is merged as a whole. */
static tl_status check_paths(const tl_table_schema *schema, tl_error *err)
{
    for (size_t i = 0; i < schema->options.count; i++) {
        const char *key = schema->options.keys[i], *column = strncmp(key, "fields.", 7) == 0 ? key + 7 : NULL;
        const char *dot = column == NULL ? NULL : strchr(column, '.');
        if (dot == NULL || strchr(dot + 1, '.') == NULL)
            continue;
        TL_CLEANUP(tl_freep) char *name = tl_strndup(column, (size_t)(dot - column));
        if (name == NULL)
            return tl_nomem(err, "option");
        int32_t c = tl_type_field_index(schema->row_type, name);
        if (c >= 0 && schema->row_type->fields[c].type->kind == TL_ROW)
            return tl_error_set(err, TL_E_INVALID, "Nested-field path is not supported on ROW field '%s': option '%s'", name, key);
    }
    return TL_OK;
}

static tl_status check_merge_of_new(const tl_table_schema *schema, tl_error *err)
{
    if (schema->n_primary_keys == 0)
        return TL_OK;
    TL_CLEANUP(tl_freep) int32_t *keys = tl_calloc((size_t)schema->n_primary_keys, sizeof *keys);
    if (keys == NULL)
        return tl_nomem(err, "keys");
    for (int32_t i = 0; i < schema->n_primary_keys; i++)
        keys[i] = tl_type_field_index(schema->row_type, schema->primary_keys[i]);
    return tl_merge_check_new(schema->row_type, keys, schema->n_primary_keys, &schema->options, err);
}

tl_status tl_table__check_new(const tl_table_schema *schema, tl_error *err)
{
    TL_TRY(check_lines(schema, err));
    TL_TRY(check_levels(schema, err));
    TL_TRY(check_paths(schema, err));
    TL_TRY(tl_file_index_check_columns(&schema->options, schema->row_type, err));
    return check_merge_of_new(schema, err);
}
