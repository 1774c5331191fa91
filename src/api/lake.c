/* Lakes and tables: open, create, alter, drop, list. */
#include "api/api_private.h"
#include "index/file_index.h"

#ifndef TL_VERSION
#error "the build defines TL_VERSION"
#endif

void tidelake_io_count(tidelake_io *out)
{
    tl_io_counters io = tl_io_count();
    tl_file_index_counters indexes = tl_file_index_count();
    size_t bytes = TL_MIN(out->struct_bytes, sizeof *out);
    tidelake_io now = {.struct_bytes = bytes,
                       .read_bytes = (int64_t)io.read_bytes,
                       .reads = (int64_t)io.read_calls,
                       .written_bytes = (int64_t)io.write_bytes,
                       .writes = (int64_t)io.write_calls,
                       .files_created = (int64_t)io.files_created,
                       .index_files = (int64_t)indexes.files_asked,
                       .index_skipped = (int64_t)indexes.files_skipped,
                       .index_rows = (int64_t)indexes.rows_cut};
    memcpy(out, &now, bytes);
}

const char *tidelake_version(void)
{
    return TL_VERSION;
}

const char *tidelake_status_name(tl_status status)
{
    return tl_status_name(status);
}

void tidelake_free(void *memory)
{
    tl_free(memory);
}

tl_status tl_api__split_name(const char *name, char **db, char **table, tl_error *err)
{
    const char *dot = name == NULL ? NULL : strchr(name, '.');
    if (dot == NULL || dot == name || dot[1] == '\0')
        return tl_error_set(err, TL_E_INVALID, "DATABASE.TABLE expected, not '%s'", name == NULL ? "" : name);
    char *first = tl_strndup(name, (size_t)(dot - name));
    char *second = tl_strdup(dot + 1);
    if (first == NULL || second == NULL) {
        tl_free(first);
        tl_free(second);
        return tl_nomem(err, "table name");
    }
    *db = first;
    *table = second;
    return TL_OK;
}

tl_status tl_api__options(const tidelake_option *options, size_t n, tl_options *out, tl_error *err)
{
    tl_options copy = {0};
    for (size_t i = 0; i < n; i++) {
        if (options[i].key == NULL || options[i].value == NULL) {
            tl_options_deinit(&copy);
            return tl_error_set(err, TL_E_INVALID, "option %zu has no key or no value", i);
        }
        if (tl_options_set(&copy, options[i].key, options[i].value) != TL_OK) {
            tl_options_deinit(&copy);
            return tl_nomem(err, "options");
        }
    }
    *out = copy;
    return TL_OK;
}

tl_status tl_api__in_table(const tidelake_table *table, tl_status status, tl_error *err)
{
    if (status == TL_OK || err == NULL || table == NULL) /* the rows of a statement belong to no table */
        return status;
    size_t db = strlen(table->db);
    for (const char *hit = err->message; (hit = strstr(hit, table->db)) != NULL; hit++)
        if (hit[db] == '.' && strncmp(hit + db + 1, table->name, strcspn(table->name, "$")) == 0)
            return status;
    return tl_error_wrap(err, status, "table %s.%s", table->db, table->name);
}

tl_status tl_api__parse_json(tl_arena *arena, tl_bytes_view text, const tl_json **out, tl_error *err)
{
    tl_status status = tl_json_parse(arena, text, out, err);
    if (status != TL_E_CORRUPT)
        return status;
    if (err != NULL)
        err->status = TL_E_INVALID;
    return TL_E_INVALID;
}

tl_status tl_api__steal(tl_buf *buf, char **out, tl_error *err)
{
    return tl_buf_steal_str(buf, out) == TL_OK ? TL_OK : tl_nomem(err, "result");
}

tl_status tidelake_open(const char *warehouse, tidelake_lake **out, tl_error *err)
{
    if (warehouse == NULL || *warehouse == '\0')
        return tl_error_set(err, TL_E_INVALID, "no warehouse given");
    tidelake_lake *lake = tl_calloc(1, sizeof *lake);
    if (lake == NULL)
        return tl_nomem(err, "lake");
    tl_status status = tl_fs_local(&lake->fs, err);
    if (status == TL_OK)
        status = tl_error_wrap(err, tl_catalog_open(lake->fs, warehouse, &lake->catalog, err), "warehouse '%s'", warehouse);
    if (status != TL_OK) {
        tidelake_close(lake);
        return status;
    }
    *out = lake;
    return TL_OK;
}

void tidelake_close(tidelake_lake *lake)
{
    if (lake == NULL)
        return;
    tl_catalog_close(lake->catalog);
    tl_fs_unref(lake->fs);
    tl_free(lake);
}

tl_status tl_api__join_names(char **names, size_t n, char **out, tl_error *err)
{
    tl_buf buf = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++)
        status = tl_buf_append(&buf, names[i], strlen(names[i]) + 1);
    tl_names_free(names, n);
    if (status == TL_OK)
        status = tl_buf_steal_str(&buf, out);
    tl_buf_deinit(&buf);
    return status == TL_OK ? TL_OK : tl_nomem(err, "names");
}

tl_status tidelake_list_databases(tidelake_lake *lake, char **out, tl_error *err)
{
    char **names;
    size_t n;
    TL_TRY(tl_catalog_list_databases(lake->catalog, &names, &n, err));
    return tl_api__join_names(names, n, out, err);
}

tl_status tidelake_list_tables(tidelake_lake *lake, const char *db, char **out, tl_error *err)
{
    char **names;
    size_t n;
    TL_TRY(tl_catalog_list_tables(lake->catalog, db, &names, &n, err));
    return tl_api__join_names(names, n, out, err);
}

tl_status tidelake_drop_table(tidelake_lake *lake, const char *name, int if_exists, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *db = NULL;
    TL_CLEANUP(tl_freep) char *table = NULL;
    TL_TRY(tl_api__split_name(name, &db, &table, err));
    return tl_table_drop(lake->catalog, db, table, if_exists != 0, err);
}

tl_status tidelake_table_open(tidelake_lake *lake, const char *name, const tidelake_option *options, size_t n,
                              tidelake_table **out, tl_error *err)
{
    tidelake_table *table = tl_calloc(1, sizeof *table);
    if (table == NULL)
        return tl_nomem(err, "table");
    table->lake = lake;
    tl_status status = tl_api__split_name(name, &table->db, &table->name, err);
    if (status == TL_OK)
        status = tl_api__options(options, n, &table->options, err);
    if (status == TL_OK)
        status = tl_api__in_table(
            table, tl_table_open(lake->catalog, table->db, table->name, &table->options, &table->table, err), err);
    if (status != TL_OK) {
        tidelake_table_close(table);
        return status;
    }
    *out = table;
    return TL_OK;
}

void tidelake_table_close(tidelake_table *table)
{
    if (table == NULL)
        return;
    tl_table_free(table->table);
    tl_free(table->db);
    tl_free(table->name);
    tl_options_deinit(&table->options);
    tl_free(table);
}

tl_status tidelake_table_schema_json(tidelake_table *table, char **out, tl_error *err)
{
    tl_bytes text;
    TL_TRY(tl_table_schema_format(tl_table_schema_of(table->table), &text, err));
    char *copy = tl_strndup((const char *)text.data, text.len);
    tl_bytes_deinit(&text);
    if (copy == NULL)
        return tl_nomem(err, "schema");
    *out = copy;
    return TL_OK;
}

tl_status tidelake_latest(tidelake_table *table, int64_t *snapshot_id, const char **kind, int64_t *records, tl_error *err)
{
    const tl_lsm_config *config = tl_table_config(table->table);
    int64_t id;
    TL_TRY(tl_snapshot_latest_id(config->fs, &config->paths, &id, err));
    *snapshot_id = id;
    *records = 0;
    if (kind != NULL)
        *kind = NULL;
    if (id == 0)
        return TL_OK;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_TRY(tl_snapshot_read(config->fs, &config->paths, id, &snap, err));
    *records = snap->total_record_count;
    if (kind != NULL)
        *kind = tl_commit_kind_name(snap->commit_kind);
    return TL_OK;
}

tl_status tidelake_options_json(char **out, tl_error *err)
{
    size_t n;
    const tl_option_def *defs = tl_option_all(&n);
    static const char *const effects[] = {"effect", "none", "refused"};
    tl_buf lines = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        tl_json_writer w;
        tl_json_writer_init(&w, false);
        tl_json_begin_object(&w);
        tl_json_key(&w, "key");
        tl_json_write_str(&w, defs[i].key);
        tl_json_key(&w, "type");
        tl_json_write_str(&w, defs[i].type);
        tl_json_key(&w, "default");
        if (defs[i].default_value != NULL)
            tl_json_write_str(&w, defs[i].default_value);
        else
            tl_json_write_null(&w);
        tl_json_key(&w, "effect");
        tl_json_write_str(&w, effects[defs[i].effect]);
        tl_json_key(&w, "description");
        tl_json_write_str(&w, defs[i].description);
        tl_json_end_object(&w);
        status = w.status != TL_OK ? w.status : tl_buf_append(&lines, w.out.data, w.out.len);
        if (status == TL_OK)
            status = tl_buf_append_byte(&lines, '\n');
        tl_json_writer_deinit(&w);
    }
    if (status == TL_OK)
        status = tl_buf_steal_str(&lines, out);
    tl_buf_deinit(&lines);
    return status == TL_OK ? TL_OK : tl_nomem(err, "options");
}
