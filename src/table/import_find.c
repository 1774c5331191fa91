/*
 * Files that are to come into a table: finding them below a folder, the partition columns that their folders name (`dt=…/hr=…`, as
 * Hive and Spark lay tables out), and the columns that they have.
 */
#include "table/table_private.h"

#include <stdlib.h>

#define FOLDER_DEPTH_MAX 64
#define HIVE_DEFAULT_PARTITION "__HIVE_DEFAULT_PARTITION__"

void tl_import_files_deinit(tl_import_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        tl_free(files->items[i].path);
        for (int32_t k = 0; files->items[i].values != NULL && k < files->n_keys; k++)
            tl_free(files->items[i].values[k]);
        tl_free(files->items[i].values);
    }
    tl_free(files->items);
    tl_names_free(files->keys, (size_t)files->n_keys);
    *files = (tl_import_files){0};
}

/* ---- folders ---- */

/* The folders above what is being looked at that name a partition. */
typedef struct levels {
    char *keys[FOLDER_DEPTH_MAX];
    char *values[FOLDER_DEPTH_MAX];
    int32_t n;
} levels;

static char *unescaped(const char *text, size_t len)
{
    tl_buf buf = {0};
    char *out = NULL;
    if (tl_path_unescape((tl_bytes_view){(const uint8_t *)text, len}, &buf) == TL_OK)
        (void)tl_buf_steal_str(&buf, &out); /* out stays NULL on failure */
    tl_buf_deinit(&buf);
    return out;
}

static tl_status copy_names(char *const *names, int32_t n, char ***out, tl_error *err)
{
    *out = tl_calloc((size_t)n + 1, sizeof **out);
    if (*out == NULL)
        return tl_nomem(err, "partition");
    for (int32_t i = 0; i < n; i++) {
        (*out)[i] = tl_strdup(names[i]);
        if ((*out)[i] == NULL)
            return tl_nomem(err, "partition");
    }
    return TL_OK;
}

/* The first file tells which keys there are; all others must lie under the same ones. */
static tl_status check_keys(tl_import_files *files, const levels *at, const char *path, tl_error *err)
{
    bool same = at->n == files->n_keys;
    if (files->n == 0) {
        TL_TRY(copy_names(at->keys, at->n, &files->keys, err));
        files->n_keys = at->n;
        return TL_OK;
    }
    for (int32_t i = 0; same && i < at->n; i++)
        same = strcmp(at->keys[i], files->keys[i]) == 0;
    return same ? TL_OK
                : tl_error_set(err, TL_E_INVALID, "'%s' lies under other partition folders than '%s'", path, files->items[0].path);
}

static tl_status add_file(tl_import_files *files, const levels *at, const char *path, tl_error *err)
{
    TL_TRY(check_keys(files, at, path, err));
    if (files->n == files->cap) {
        size_t cap = files->cap == 0 ? 16 : files->cap * 2;
        tl_import_file *items = tl_realloc(files->items, cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "files");
        files->items = items;
        files->cap = cap;
    }
    tl_import_file *file = &files->items[files->n++];
    *file = (tl_import_file){.path = tl_strdup(path)};
    return file->path == NULL ? tl_nomem(err, "files") : copy_names(at->values, at->n, &file->values, err);
}

static int compare_entries(const void *x, const void *y)
{
    const tl_dir_entry *a = x, *b = y;
    return strcmp(a->name, b->name);
}

static tl_status look(tl_fs *fs, const char *dir, int depth, levels *at, tl_import_files *out, tl_error *err);

static tl_status look_into(tl_fs *fs, const char *path, const char *name, int depth, levels *at, tl_import_files *out, tl_error *err)
{
    const char *equals = strchr(name, '=');
    if (equals == NULL || equals == name)
        return look(fs, path, depth + 1, at, out, err);
    char *key = unescaped(name, (size_t)(equals - name)), *value = unescaped(equals + 1, strlen(equals + 1));
    at->keys[at->n] = key;
    at->values[at->n] = value;
    at->n++;
    tl_status status = key == NULL || value == NULL ? tl_nomem(err, "partition") : look(fs, path, depth + 1, at, out, err);
    at->n--;
    tl_free(key);
    tl_free(value);
    return status;
}

static tl_status look(tl_fs *fs, const char *dir, int depth, levels *at, tl_import_files *out, tl_error *err)
{
    tl_dir_entry *entries;
    size_t n;
    if (depth >= FOLDER_DEPTH_MAX)
        return tl_error_set(err, TL_E_LIMIT, "'%s' is nested deeper than %d folders", dir, FOLDER_DEPTH_MAX);
    TL_TRY(tl_fs_list(fs, dir, &entries, &n, err));
    if (n > 1)
        qsort(entries, n, sizeof *entries, compare_entries);
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        if (entries[i].name[0] == '.' || entries[i].name[0] == '_')
            continue;
        TL_CLEANUP(tl_freep) char *path = tl_path_join(dir, entries[i].name);
        if (path == NULL)
            status = tl_nomem(err, "files");
        else if (entries[i].stat.is_dir)
            status = look_into(fs, path, entries[i].name, depth, at, out, err);
        else if (entries[i].stat.bytes > 0) /* Hive leaves empty files behind */
            status = add_file(out, at, path, err);
    }
    tl_dir_free(entries, n);
    return status;
}

tl_status tl_import_find(tl_fs *fs, const char *path, tl_import_files *out, tl_error *err)
{
    levels at = {.n = 0};
    tl_stat stat;
    *out = (tl_import_files){0};
    TL_TRY(tl_fs_stat(fs, path, &stat, err));
    tl_status status = stat.is_dir ? look(fs, path, 0, &at, out, err) : add_file(out, &at, path, err);
    if (status == TL_OK && out->n == 0)
        status = tl_error_set(err, TL_E_NOT_FOUND, "there is no file to import in '%s'", path);
    if (status != TL_OK)
        tl_import_files_deinit(out);
    return status;
}

tl_status tl_import_format(const tl_import_file *file, const char *given, const tl_format **out, tl_error *err)
{
    return given != NULL ? tl_format_find(given, out, err) : tl_format_of_file(file->path, out, err);
}

/* ---- values of folders ---- */

tl_status tl_import_value(const char *text, const char *default_name, const tl_type *type, tl_column **out, tl_error *err)
{
    tl_builder *builder = NULL;
    TL_TRY(tl_builder_create(type, &builder, err));
    bool is_null = strcmp(text, default_name) == 0 || strcmp(text, HIVE_DEFAULT_PARTITION) == 0;
    tl_status status = is_null ? tl_builder_error(builder, tl_builder_null(builder), err)
                               : tl_text_read_plain((tl_bytes_view){(const uint8_t *)text, strlen(text)}, type, builder, err);
    if (status == TL_OK)
        status = tl_builder_finish(builder, out, err);
    tl_builder_free(builder);
    return status;
}

/* "7" and "-12", but not "07", which is text. */
static bool reads_as_int(const char *text, int64_t limit)
{
    char *end = NULL;
    const char *digits = text + (*text == '-');
    if (strlen(digits) > 19 || digits[strspn(digits, "0123456789")] != '\0' || *digits == '\0' || (digits[0] == '0' && text[1] != '\0'))
        return false;
    long long v = strtoll(text, &end, 10);
    return v != INT64_MAX && v != INT64_MIN && v <= limit && v >= -limit;
}

static bool reads_as_date(const char *text)
{
    int32_t days;
    return strlen(text) == 10 && text[4] == '-' && tl_parse_date((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &days);
}

static tl_status folder_type(const tl_import_files *files, int32_t key, const tl_type **out, tl_error *err)
{
    bool is_int = true, is_bigint = true, is_date = true, any = false;
    for (size_t i = 0; i < files->n; i++) {
        const char *text = files->items[i].values[key];
        if (strcmp(text, HIVE_DEFAULT_PARTITION) == 0 || strcmp(text, "__DEFAULT_PARTITION__") == 0)
            continue;
        any = true;
        is_int = is_int && reads_as_int(text, INT32_MAX);
        is_bigint = is_bigint && reads_as_int(text, INT64_MAX);
        is_date = is_date && reads_as_date(text);
    }
    tl_type_kind kind = !any ? TL_VARCHAR : is_int ? TL_INT : is_bigint ? TL_BIGINT : is_date ? TL_DATE : TL_VARCHAR;
    return tl_type_create(kind, true, kind == TL_VARCHAR ? TL_LENGTH_MAX : 0, 0, out, err);
}

tl_status tl_import_row_type(const tl_import_files *files, const tl_type *columns, const tl_type **out, tl_error *err)
{
    int32_t n = columns->n_fields;
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc((size_t)(n + files->n_keys) + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "columns");
    memcpy(fields, columns->fields, (size_t)n * sizeof *fields);
    tl_status status = TL_OK;
    for (int32_t k = 0; k < files->n_keys && status == TL_OK; k++) {
        if (tl_type_field_index(columns, files->keys[k]) >= 0)
            continue;
        fields[n] = (tl_field){.id = -1, .name = files->keys[k]};
        status = folder_type(files, k, &fields[n].type, err);
        n += status == TL_OK;
    }
    if (status == TL_OK)
        status = tl_type_create_row(false, fields, n, out, err);
    for (int32_t i = columns->n_fields; i < n; i++)
        tl_type_unref(fields[i].type);
    return status;
}

/* ---- columns of files ---- */

static tl_status common_type(const tl_type *a, const tl_type *b, const tl_type **out, tl_error *err)
{
    *out = NULL;
    bool whole = a->kind >= TL_TINYINT && a->kind <= TL_BIGINT && b->kind >= TL_TINYINT && b->kind <= TL_BIGINT;
    bool floats = (a->kind == TL_FLOAT || a->kind == TL_DOUBLE) && (b->kind == TL_FLOAT || b->kind == TL_DOUBLE);
    if (tl_type_equal(a, b, /* with_nullable= */ false))
        return tl_type_with_nullable(a, true, out, err);
    if (whole || floats)
        return tl_type_with_nullable(a->kind > b->kind ? a : b, true, out, err);
    return TL_OK;
}

/* Columns so far, while files are looked at. */
typedef struct columns {
    tl_field *fields; /* names and types owned */
    int32_t n, cap;
} columns;

static void columns_deinit(columns *c)
{
    for (int32_t i = 0; i < c->n; i++) {
        tl_free(c->fields[i].name);
        tl_type_unref(c->fields[i].type);
    }
    tl_free(c->fields);
}

static tl_status add_column(columns *c, const tl_field *field, tl_error *err)
{
    if (c->n == c->cap) {
        int32_t cap = c->cap == 0 ? 16 : c->cap * 2;
        tl_field *fields = tl_realloc(c->fields, (size_t)cap * sizeof *fields);
        if (fields == NULL)
            return tl_nomem(err, "columns");
        c->fields = fields;
        c->cap = cap;
    }
    c->fields[c->n] = (tl_field){.id = -1, .name = tl_strdup(field->name)};
    tl_status status = c->fields[c->n].name == NULL ? tl_nomem(err, "columns")
                                                    : tl_type_with_nullable(field->type, true, &c->fields[c->n].type, err);
    c->n++;
    return status;
}

static tl_status see_column(columns *c, const tl_field *field, tl_error *err)
{
    int32_t at = 0;
    while (at < c->n && strcmp(c->fields[at].name, field->name) != 0)
        at++;
    if (at == c->n)
        return add_column(c, field, err);
    const tl_type *common = NULL;
    TL_TRY(common_type(c->fields[at].type, field->type, &common, err));
    if (common == NULL)
        return tl_error_set(err, TL_E_INVALID, "column '%s' has another type than in the files before it: say which by a schema", field->name);
    tl_type_unref(c->fields[at].type);
    c->fields[at].type = common;
    return TL_OK;
}

tl_status tl_import_common_columns(const tl_type *a, const tl_type *b, const tl_type **out, tl_error *err)
{
    columns c = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; i < a->n_fields && status == TL_OK; i++)
        status = add_column(&c, &a->fields[i], err);
    for (int32_t i = 0; i < b->n_fields && status == TL_OK; i++)
        status = see_column(&c, &b->fields[i], err);
    if (status == TL_OK)
        status = tl_type_create_row(false, c.fields, c.n, out, err);
    columns_deinit(&c);
    return status;
}

tl_status tl_import_columns(tl_fs *fs, const tl_import_file *file, const char *format_name, const tl_type **out, tl_error *err)
{
    const tl_format *format;
    TL_TRY(tl_import_format(file, format_name, &format, err));
    return format->schema(fs, file->path, out, err);
}
