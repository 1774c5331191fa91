/*
 * Consumers: files `consumer/consumer-ID` with the snapshot that a streaming reader reads next. Source: format reference §17;
 * Java: ConsumerManager.
 */
#include "table/table_private.h"

#include <stdlib.h>

#include "base/json.h"

#define PREFIX "consumer-"
#define CONSUMER_BYTES_MAX (1 << 16)

static tl_status consumer_path(tl_table *table, const char *id, char **out, tl_error *err)
{
    if (id == NULL || *id == '\0' || strchr(id, '/') != NULL)
        return tl_error_set(err, TL_E_INVALID, "consumer id '%s' is not allowed", id == NULL ? "" : id);
    TL_CLEANUP(tl_freep) char *dir = tl_paths_dir(&table->paths, "consumer");
    *out = dir == NULL ? NULL : tl_strf("%s/" PREFIX "%s", dir, id);
    return *out == NULL ? tl_nomem(err, "path") : TL_OK;
}

tl_status tl_table_consumer_set(tl_table *table, const char *id, int64_t next_snapshot, tl_error *err)
{
    TL_TRY(tl_table__require_data(table, "keep consumers of it", err));
    TL_CLEANUP(tl_freep) char *path = NULL;
    TL_TRY(consumer_path(table, id, &path, err));
    tl_json_writer w;
    tl_json_writer_init(&w, /* pretty= */ true);
    tl_json_begin_object(&w);
    tl_json_key(&w, "nextSnapshot");
    tl_json_write_int(&w, next_snapshot);
    tl_json_end_object(&w);
    tl_status status = w.status != TL_OK ? tl_nomem(err, "consumer")
                                         : tl_fs_publish(table->fs, path, (tl_bytes_view){w.out.data, w.out.len}, /* replace= */ true, err);
    tl_json_writer_deinit(&w);
    return status;
}

tl_status tl_table_consumer_delete(tl_table *table, const char *id, tl_error *err)
{
    TL_TRY(tl_table__require_data(table, "keep consumers of it", err));
    TL_CLEANUP(tl_freep) char *path = NULL;
    TL_TRY(consumer_path(table, id, &path, err));
    tl_status status = tl_fs_remove(table->fs, path, err);
    return status == TL_E_NOT_FOUND ? TL_OK : status;
}

static tl_status read_consumer(tl_table *table, const char *path, int64_t *next, tl_error *err)
{
    tl_bytes text = {0};
    TL_TRY(tl_fs_read_all(table->fs, path, CONSUMER_BYTES_MAX, &text, err));
    tl_arena arena = {0};
    const tl_json *json = NULL;
    tl_status status = tl_json_parse(&arena, tl_bytes_view_of(text), &json, err);
    if (status == TL_OK && !tl_json_int64(tl_json_get(json, "nextSnapshot"), next))
        status = tl_error_set(err, TL_E_CORRUPT, "no number 'nextSnapshot'");
    tl_arena_deinit(&arena);
    tl_bytes_deinit(&text);
    return tl_error_wrap(err, status, "consumer '%s'", path);
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const tl_consumer *)a)->id, ((const tl_consumer *)b)->id);
}

static bool is_consumer(const tl_dir_entry *entry)
{
    return !entry->stat.is_dir && strncmp(entry->name, PREFIX, strlen(PREFIX)) == 0 && entry->name[strlen(PREFIX)] != '\0';
}

static tl_status read_all(tl_table *table, const char *dir, const tl_dir_entry *entries, size_t n_entries, tl_consumer *out, size_t *n,
                          tl_error *err)
{
    for (size_t i = 0; i < n_entries; i++) {
        if (!is_consumer(&entries[i]))
            continue;
        TL_CLEANUP(tl_freep) char *path = tl_path_join(dir, entries[i].name);
        char *id = tl_strdup(entries[i].name + strlen(PREFIX));
        if (path == NULL || id == NULL) {
            tl_free(id);
            return tl_nomem(err, "consumers");
        }
        tl_status status = read_consumer(table, path, &out[*n].next_snapshot, err);
        if (status != TL_OK) {
            tl_free(id);
            if (status == TL_E_NOT_FOUND)
                continue; /* deleted meanwhile */
            return status;
        }
        out[(*n)++].id = id;
    }
    return TL_OK;
}

tl_status tl_table_consumers(tl_table *table, tl_consumer **out, size_t *n, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *dir = tl_paths_dir(&table->paths, "consumer");
    if (dir == NULL)
        return tl_nomem(err, "path");
    tl_dir_entry *entries = NULL;
    size_t n_entries = 0, found = 0;
    TL_TRY(tl_fs_list(table->fs, dir, &entries, &n_entries, err));
    tl_consumer *consumers = tl_calloc(n_entries + 1, sizeof *consumers);
    tl_status status = consumers == NULL ? tl_nomem(err, "consumers") : read_all(table, dir, entries, n_entries, consumers, &found, err);
    tl_dir_free(entries, n_entries);
    if (status != TL_OK) {
        tl_consumers_free(consumers, found);
        return status;
    }
    qsort(consumers, found, sizeof *consumers, by_id);
    *out = consumers;
    *n = found;
    return TL_OK;
}

void tl_consumers_free(tl_consumer *consumers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tl_free(consumers[i].id);
    tl_free(consumers);
}

tl_status tl_consumers__expire(tl_table *table, tl_error *err)
{
    int64_t age = 0;
    TL_TRY(tl_table__option_int(&table->schema->options, "consumer.expiration-time", -1, &age, err));
    if (age < 0)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *dir = tl_paths_dir(&table->paths, "consumer");
    if (dir == NULL)
        return tl_nomem(err, "path");
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    TL_TRY(tl_fs_list(table->fs, dir, &entries, &n, err));
    int64_t oldest = tl_clock_now_ms(tl_clock_system()) - age;
    for (size_t i = 0; i < n; i++) {
        TL_CLEANUP(tl_freep) char *path = tl_path_join(dir, entries[i].name);
        if (path != NULL && is_consumer(&entries[i]) && entries[i].stat.mtime_ms < oldest)
            (void)tl_fs_remove(table->fs, path, NULL); /* next time */
    }
    tl_dir_free(entries, n);
    return TL_OK;
}
