/*
 * Which files a format table has: the folders of its partitions, walked level by level with the predicate at hand, and all files below
 * them. Java: FormatTableScan, PartitionPathUtils.searchPartSpecAndPaths.
 *
 * Names that begin with `.` or `_` are passed over, files and folders alike: writers keep what is not finished there. (The reference goes
 * by the names of partition folders and of files; what lies in a hidden folder below a partition it reads.)
 */
#include "table/format_table.h"

#include <stdlib.h>

#define DEPTH_MAX 64 /* of folders below a partition: a link to a folder above would go on for ever */

typedef struct walk {
    tl_table *table;
    const tl_predicate *pred; /* on the partition type; NULL: all */
    tl_splits *out;
    tl_column **values; /* per partition column: one row; NULL: no folder has named it yet */
    int32_t *known;     /* room for a map of columns */
} walk;

/* ---- files of a partition ---- */

static tl_status empty_key(tl_bytes *out)
{
    tl_buf row = {0};
    TL_TRY(tl_binary_row_append(&row, NULL, 0, 0, TL_KIND_INSERT, /* with_arity= */ true));
    *out = tl_buf_steal(&row);
    return TL_OK;
}

tl_status tl_format_table__entry(const tl_table *table, const char *name, const char *path, int64_t bytes, int64_t rows, tl_data_file **out,
                                 tl_error *err)
{
    tl_data_file *file = tl_data_file_create();
    char **cols = NULL;
    int32_t n_cols = -1;
    if (file == NULL)
        return tl_nomem(err, "file");
    file->bytes = bytes;
    file->rows = rows;
    file->schema_id = table->schema->id;
    file->delete_rows = 0;
    file->name = tl_strdup(name);
    file->external_path = path == NULL ? NULL : tl_strdup(path);
    bool good = file->name != NULL && (path == NULL || file->external_path != NULL) && empty_key(&file->min_key) == TL_OK &&
                empty_key(&file->max_key) == TL_OK;
    tl_status status = good ? tl_simple_stats_build(NULL, NULL, NULL, NULL, 0, /* dense= */ false, &file->key_stats, &cols, &n_cols, err)
                            : tl_nomem(err, "file");
    if (status == TL_OK)
        status = tl_simple_stats_build(NULL, NULL, NULL, NULL, 0, /* dense= */ false, &file->value_stats, &cols, &n_cols, err);
    if (status != TL_OK) {
        tl_data_file_unref(file);
        return status;
    }
    *out = file;
    return TL_OK;
}

static tl_status add_file(walk *w, const char *path, const char *name, int64_t bytes, tl_bytes_view partition, tl_error *err)
{
    tl_split *split = NULL;
    tl_data_file *file = NULL;
    TL_TRY(tl_splits_add(w->out, &split, err));
    split->total_buckets = -1;
    split->raw = true;
    if (tl_bytes_dup(partition, &split->partition) != TL_OK)
        return tl_nomem(err, "split");
    TL_TRY(tl_format_table__entry(w->table, name, path, bytes, /* rows= */ 0, &file, err));
    tl_status status = tl_file_list_add(&split->files, file, err);
    tl_data_file_unref(file);
    return status;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const tl_dir_entry *)a)->name, ((const tl_dir_entry *)b)->name);
}

typedef tl_status (*visit_fn)(walk *w, const char *path, const tl_dir_entry *entry, void *ctx, tl_error *err);

/* What is in a folder, by name, without what readers pass over. */
static tl_status visit_folder(walk *w, const char *dir, visit_fn visit, void *ctx, tl_error *err)
{
    bool is_root = strcmp(dir, w->table->path) == 0;
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    TL_TRY(tl_fs_list(w->table->fs, dir, &entries, &n, err));
    if (n > 1)
        qsort(entries, n, sizeof *entries, compare_entries);
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        bool own = is_root && entries[i].stat.is_dir && strcmp(entries[i].name, TL_FOLDER_OWN) == 0;
        if (own || tl_format_table__hidden(entries[i].name))
            continue;
        TL_CLEANUP(tl_freep) char *path = tl_path_join(dir, entries[i].name);
        status = path == NULL ? tl_nomem(err, "path") : visit(w, path, &entries[i], ctx, err);
    }
    tl_dir_free(entries, n);
    return status;
}

typedef struct below {
    tl_bytes_view partition;
    int depth;
} below;

static tl_status visit_below(walk *w, const char *path, const tl_dir_entry *entry, void *ctx, tl_error *err)
{
    const below *at = ctx;
    if (!entry->stat.is_dir)
        return add_file(w, path, entry->name, entry->stat.bytes, at->partition, err);
    if (at->depth == DEPTH_MAX)
        return tl_error_set(err, TL_E_LIMIT, "folder '%s' lies more than %d folders below its partition", path, DEPTH_MAX);
    below deeper = {at->partition, at->depth + 1};
    return visit_folder(w, path, visit_below, &deeper, err);
}

static tl_status add_partition(walk *w, const char *dir, tl_error *err)
{
    tl_buf row = {0};
    tl_status status = tl_binary_row_append(&row, (const tl_column *const *)w->values, w->table->n_partition, 0, TL_KIND_INSERT, /* with_arity= */ true);
    below at = {{row.data, row.len}, 0};
    status = status == TL_OK ? visit_folder(w, dir, visit_below, &at, err) : tl_nomem(err, "partition");
    tl_buf_deinit(&row);
    return status;
}

/* ---- folders of partitions ---- */

/* False if what is known of the partition so far cannot pass. */
static tl_status may_pass(walk *w, bool *out, tl_error *err)
{
    int32_t n = w->table->n_partition;
    *out = true;
    if (w->pred == NULL)
        return TL_OK;
    TL_CLEANUP(tl_predicate_freep) tl_predicate *known = NULL;
    uint32_t row;
    int64_t n_passing = 0;
    for (int32_t i = 0; i < n; i++)
        w->known[i] = w->values[i] == NULL ? -1 : i;
    TL_TRY(tl_predicate_remap(w->pred, w->known, /* weaken= */ true, &known, err));
    TL_TRY(tl_predicate_eval(known, (const tl_column *const *)w->values, 1, &row, &n_passing, err));
    *out = n_passing > 0;
    return TL_OK;
}

static tl_status unescape(const char *text, size_t len, char **out, tl_error *err)
{
    tl_buf buf = {0};
    tl_status status = tl_path_unescape((tl_bytes_view){(const uint8_t *)text, len}, &buf);
    if (status == TL_OK)
        status = tl_buf_steal_str(&buf, out);
    tl_buf_deinit(&buf);
    return status == TL_OK ? TL_OK : tl_nomem(err, "partition");
}

/* Which partition column a folder names, -1 if none, and the text of its value. Keys may come in any order. */
static tl_status folder_key(const walk *w, const char *name, int32_t level, int32_t *column, char **text, tl_error *err)
{
    const tl_table *table = w->table;
    *column = -1;
    if (table->folder->values_only) {
        *column = level;
        return unescape(name, strlen(name), text, err);
    }
    const char *equals = strrchr(name, '='); /* what is escaped in both: only one stands for itself */
    if (equals == NULL || equals == name || equals[1] == '\0')
        return TL_OK;
    TL_CLEANUP(tl_freep) char *key = NULL;
    TL_TRY(unescape(name, (size_t)(equals - name), &key, err));
    int32_t at = tl_type_field_index(table->partition_type, key);
    if (at < 0 || w->values[at] != NULL)
        return TL_OK;
    *column = at;
    return unescape(equals + 1, strlen(equals + 1), text, err);
}

static tl_status parse_value(const tl_table *table, const char *text, int32_t column, tl_column **out, tl_error *err)
{
    const tl_field *field = &table->partition_type->fields[column];
    tl_builder *builder = NULL;
    TL_TRY(tl_builder_create(field->type, &builder, err));
    const char *default_name = tl_table__option_or_default(&table->schema->options, "partition.default-name");
    tl_status status = strcmp(text, default_name) == 0
                           ? tl_builder_error(builder, tl_builder_null(builder), err)
                           : tl_text_read_plain((tl_bytes_view){(const uint8_t *)text, strlen(text)}, field->type, builder, err);
    if (status == TL_OK)
        status = tl_builder_finish(builder, out, err);
    tl_builder_free(builder);
    return tl_error_wrap(err, status, "partition column '%s'", field->name);
}

static tl_status walk_partitions(walk *w, const char *dir, int32_t level, tl_error *err);

static tl_status visit_partition(walk *w, const char *path, const tl_dir_entry *entry, void *ctx, tl_error *err)
{
    int32_t level = *(const int32_t *)ctx, column;
    TL_CLEANUP(tl_freep) char *text = NULL;
    if (!entry->stat.is_dir)
        return TL_OK;
    TL_TRY(folder_key(w, entry->name, level, &column, &text, err));
    if (column < 0)
        return TL_OK;
    bool passes = false;
    TL_TRY(tl_error_wrap(err, parse_value(w->table, text, column, &w->values[column], err), "folder '%s'", path));
    tl_status status = may_pass(w, &passes, err);
    if (status == TL_OK && passes)
        status = walk_partitions(w, path, level + 1, err);
    tl_column_unref(w->values[column]);
    w->values[column] = NULL;
    return status;
}

static tl_status walk_partitions(walk *w, const char *dir, int32_t level, tl_error *err)
{
    if (level == w->table->n_partition)
        return add_partition(w, dir, err);
    return visit_folder(w, dir, visit_partition, &level, err);
}

tl_status tl_format_table__files(tl_table *table, const tl_predicate *pred, tl_splits *out, tl_error *err)
{
    size_t n = (size_t)table->n_partition + 1;
    TL_CLEANUP(tl_freep) tl_column **values = tl_calloc(n, sizeof *values);
    TL_CLEANUP(tl_freep) int32_t *known = tl_calloc(n, sizeof *known);
    if (values == NULL || known == NULL)
        return tl_nomem(err, "partitions");
    walk w = {.table = table, .pred = table->n_partition == 0 ? NULL : pred, .out = out, .values = values, .known = known};
    return walk_partitions(&w, table->path, 0, err);
}

tl_status tl_format_table__plan(tl_table *table, const tl_predicate *pred, tl_splits *out, tl_error *err)
{
    int32_t n = table->row_type->n_fields;
    TL_CLEANUP(tl_predicate_freep) tl_predicate *of_partition = NULL;
    TL_CLEANUP(tl_freep) int32_t *map = tl_calloc((size_t)n + 1, sizeof *map);
    if (map == NULL)
        return tl_nomem(err, "predicate");
    for (int32_t i = 0; i < n; i++)
        map[i] = tl_type_field_index(table->partition_type, table->row_type->fields[i].name);
    if (pred != NULL)
        TL_TRY(tl_predicate_remap(pred, map, /* weaken= */ true, &of_partition, err));
    return tl_format_table__files(table, of_partition, out, err);
}
