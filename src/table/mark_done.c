/*
 * Marking partitions done: a file that tells others that a partition is complete. Tags can have one, too. Java: SuccessFileMarkDoneAction,
 * SuccessFileTagCallback, SuccessFile, PartitionMarkDoneAction, PartitionMarkDoneListener.
 */
#include "table/table_private.h"

#include <strings.h>

#include "base/json.h"

#define SUCCESS_BYTES_MAX 4096

/* ---- success files ---- */

/* When the file was first made; `or_else` if there is none, or none that can be read. */
static int64_t first_made(tl_fs *fs, const char *path, int64_t or_else)
{
    tl_bytes text = {0};
    tl_arena arena = {0};
    const tl_json *json = NULL;
    int64_t made = or_else;
    if (tl_fs_read_all(fs, path, SUCCESS_BYTES_MAX, &text, NULL) == TL_OK && tl_json_parse(&arena, tl_bytes_view_of(text), &json, NULL) == TL_OK &&
        json->kind == TL_JSON_OBJECT) {
        const tl_json *member = tl_json_get(json, "creationTime");
        if (member == NULL || !tl_json_int64(member, &made))
            made = or_else;
    }
    tl_arena_deinit(&arena);
    tl_bytes_deinit(&text);
    return made;
}

static tl_status write_success(tl_fs *fs, const char *path, tl_error *err)
{
    int64_t now = tl_clock_now_ms(tl_clock_system());
    char text[128];
    int n = snprintf(text, sizeof text, "{\n  \"creationTime\" : %lld,\n  \"modificationTime\" : %lld\n}", (long long)first_made(fs, path, now),
                     (long long)now);
    return tl_fs_publish(fs, path, (tl_bytes_view){(const uint8_t *)text, (size_t)n}, /* replace= */ true, err);
}

static char *tag_success_path(const tl_table *table, const char *tag)
{
    TL_CLEANUP(tl_freep) char *dir = tl_paths_dir(&table->paths, "tag");
    return dir == NULL ? NULL : tl_strf("%s/tag-success-file/%s_SUCCESS", dir, tag);
}

tl_status tl_mark_done__tag(tl_table *table, const char *tag, tl_error *err)
{
    if (!tl_table__option_bool(&table->schema->options, "tag.create-success-file"))
        return TL_OK;
    TL_CLEANUP(tl_freep) char *path = tag_success_path(table, tag);
    return path == NULL ? tl_nomem(err, "path") : write_success(table->fs, path, err);
}

void tl_mark_done__forget_tag(tl_table *table, const char *tag)
{
    TL_CLEANUP(tl_freep) char *path = tag_success_path(table, tag);
    if (path != NULL)
        (void)tl_fs_remove(table->fs, path, NULL); /* it may never have been there; a tag that is gone is what counts */
}

/* ---- actions ---- */

/* Only success-file works without a metastore; the reference says the same of those that need one. */
static tl_status check_action(const char *name, tl_error *err)
{
    if (strcasecmp(name, "success-file") == 0)
        return TL_OK;
    if (strcasecmp(name, "done-partition") == 0 || strcasecmp(name, "mark-event") == 0)
        return tl_error_set(err, TL_E_UNSUPPORTED, "Cannot mark done partition for table without metastore (not supported: %s).", name);
    if (strcasecmp(name, "http-report") == 0 || strcasecmp(name, "custom") == 0)
        return tl_error_set(err, TL_E_UNSUPPORTED, "not supported: %s. Use success-file", name);
    return tl_error_set(err, TL_E_INVALID, "there is no such action: '%s'", name);
}

tl_status tl_mark_done__check(const tl_options *opts, tl_error *err)
{
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_table__split_list(tl_table__option_or_default(opts, "partition.mark-done-action"), /* trim= */ true, &names, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++)
        status = check_action(names[i], err);
    tl_names_free(names, n);
    return tl_error_wrap(err, status, "option 'partition.mark-done-action'");
}

static tl_status mark(tl_table *table, const char *partition, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_strf("%s/%s/_SUCCESS", table->path, partition);
    return path == NULL ? tl_nomem(err, "path") : write_success(table->fs, path, err);
}

/* Folder of a partition that is given as text, `key=value` for each partition column. */
static tl_status folder_of(const tl_table *table, const tl_options *spec, char **out, tl_error *err)
{
    tl_buf path = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; status == TL_OK && i < table->n_partition; i++) {
        const char *name = table->partition_type->fields[i].name, *value = tl_options_get(spec, name);
        if (value == NULL || *value == '\0') {
            tl_buf_deinit(&path);
            return tl_error_set(err, TL_E_INVALID, "a partition is marked done as a whole: '%s' is missing", name);
        }
        status = i == 0 ? TL_OK : tl_buf_append_byte(&path, '/');
        if (status == TL_OK)
            status = tl_path_escape((tl_bytes_view){(const uint8_t *)name, strlen(name)}, &path);
        if (status == TL_OK)
            status = tl_buf_append_byte(&path, '=');
        if (status == TL_OK)
            status = tl_path_escape((tl_bytes_view){(const uint8_t *)value, strlen(value)}, &path);
    }
    if (status == TL_OK)
        status = tl_buf_steal_str(&path, out);
    tl_buf_deinit(&path);
    return status == TL_OK ? TL_OK : tl_nomem(err, "partition");
}

tl_status tl_table_mark_done(tl_table *table, const tl_options *specs, size_t n, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "mark partitions done", err));
    tl_table__full_name(table, name);
    if (table->n_partition == 0 || n == 0)
        return tl_error_set(err, TL_E_INVALID, "table %s: %s", name, n == 0 ? "no partition is named" : "it has no partitions");
    TL_TRY(tl_error_wrap(err, tl_mark_done__check(&table->schema->options, err), "table %s", name));
    for (size_t i = 0; i < n; i++) {
        TL_CLEANUP(tl_freep) char *folder = NULL;
        TL_TRY(tl_error_wrap(err, folder_of(table, &specs[i], &folder, err), "table %s", name));
        TL_TRY(tl_error_wrap(err, mark(table, folder, err), "table %s", name));
    }
    return TL_OK;
}

tl_status tl_mark_done__row(tl_table *table, tl_bytes_view partition, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
    TL_CLEANUP(tl_freep) char *folder = NULL;
    TL_TRY(tl_binary_row_decode(partition, table->partition_type, true, &row, err));
    TL_TRY(tl_partition_path(row, table->config->partition_default_name, table->config->legacy_partition_names, &folder, err));
    return mark(table, folder, err);
}

/* ---- at the end of a batch ---- */

tl_status tl_mark_done__batch(tl_table *table, const tl_commit_messages *messages, tl_error *err)
{
    static char seen;
    tl_map done = {0};
    tl_status status = TL_OK;
    if (table->n_partition == 0 || !tl_table__option_bool(&table->schema->options, "partition.end-input-to-done"))
        return TL_OK;
    TL_TRY(tl_mark_done__check(&table->schema->options, err));
    for (size_t i = 0; status == TL_OK && i < messages->n; i++) {
        tl_bytes_view key = tl_bytes_view_of(messages->items[i].partition);
        if (tl_map_get(&done, key.data, key.len) != NULL)
            continue;
        if (tl_map_put(&done, key.data, key.len, &seen, NULL) != TL_OK)
            status = tl_nomem(err, "partitions");
        if (status == TL_OK)
            status = tl_mark_done__row(table, key, err);
    }
    tl_map_deinit(&done);
    return status;
}
