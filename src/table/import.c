/*
 * Files of others that become data files of an append table as they are: their entries are made from their own metadata, they are
 * moved into the table's folders, and one commit adds them. Source: Java: HiveMigrator, FileMetaUtils.
 */
#include "base/log.h"
#include "table/table_private.h"

/* A file on its way. */
typedef struct move {
    const tl_import_file *file;
    tl_bytes partition;
    tl_data_file *entry;
    char *to;
    bool moved;
} move;

typedef struct import {
    tl_table *table;
    const tl_import_spec *spec;
    int32_t *key_of; /* partition column -> key of the folders */
    move *moves;
    size_t n;
    tl_map targets; /* set of paths that files will get */
} import;

static void import_deinit(import *im)
{
    for (size_t i = 0; i < im->n; i++) {
        tl_bytes_deinit(&im->moves[i].partition);
        tl_data_file_unref(im->moves[i].entry);
        tl_free(im->moves[i].to);
    }
    tl_free(im->moves);
    tl_free(im->key_of);
    tl_map_deinit(&im->targets);
}

/* ---- what can be imported ---- */

static tl_status check_table(const tl_table *table, tl_error *err)
{
    TL_TRY(tl_table__require_data(table, "import files into it", err));
    if (table->n_keys > 0 || table->bucket_mode != TL_BUCKETS_UNAWARE)
        return tl_error_set(err, TL_E_INVALID, "files are taken in place into append tables without buckets only ('bucket' = '-1', no primary key): "
                                               "copy them instead");
    return tl_table__check_writable(table, err);
}

static tl_status match_keys(import *im, tl_error *err)
{
    const tl_table *table = im->table;
    const tl_import_files *files = im->spec->files;
    im->key_of = tl_calloc((size_t)table->n_partition + 1, sizeof *im->key_of);
    if (im->key_of == NULL)
        return tl_nomem(err, "partition columns");
    bool same = table->n_partition == files->n_keys;
    for (int32_t i = 0; i < table->n_partition && same; i++) {
        int32_t k = 0;
        while (k < files->n_keys && strcmp(files->keys[k], table->partition_type->fields[i].name) != 0)
            k++;
        same = k < files->n_keys;
        im->key_of[i] = k;
    }
    return same ? TL_OK
                : tl_error_set(err, TL_E_INVALID, "the folders name %d partition column%s, and the table is partitioned by %d: they must be the same",
                               files->n_keys, files->n_keys == 1 ? "" : "s", table->n_partition);
}

/* ---- entries ---- */

static tl_status partition_of(const import *im, const tl_import_file *file, tl_bytes *out, tl_error *err)
{
    const tl_table *table = im->table;
    tl_buf row = {0};
    tl_column **cols = tl_calloc((size_t)table->n_partition + 1, sizeof *cols);
    tl_status status = cols == NULL ? tl_nomem(err, "partition") : TL_OK;
    for (int32_t i = 0; i < table->n_partition && status == TL_OK; i++) {
        const tl_field *field = &table->partition_type->fields[i];
        status = tl_import_value(file->values[im->key_of[i]], table->config->partition_default_name, field->type, &cols[i], err);
        status = tl_error_wrap(err, status, "partition column '%s' of '%s'", field->name, file->path);
    }
    if (status == TL_OK && tl_binary_row_append(&row, (const tl_column *const *)cols, table->n_partition, 0, TL_KIND_INSERT, true) != TL_OK)
        status = tl_nomem(err, "partition");
    if (status == TL_OK)
        *out = tl_buf_steal(&row);
    tl_buf_deinit(&row);
    for (int32_t i = 0; cols != NULL && i < table->n_partition; i++)
        tl_column_unref(cols[i]);
    tl_free(cols);
    return status;
}

/* The file's own name, with the extension that tells readers its format; another one if that is taken. */
static char *new_name(const char *path, const tl_format *format, bool taken)
{
    const char *base = tl_path_base(path);
    size_t len = strlen(base), ext = strlen(format->name);
    bool has = len > ext && base[len - ext - 1] == '.' && strcmp(base + len - ext, format->name) == 0;
    char uuid[37];
    tl_uuid(uuid);
    return tl_strf("%s%s%s%s%s", taken ? uuid : "", taken ? "-" : "", base, has ? "" : ".", has ? "" : format->name);
}

/* Where the file goes: entry and path under its own name, or under a new one if there is such a file. */
static tl_status plan_move(import *im, move *m, const tl_format *format, tl_error *err)
{
    for (bool taken = false;;) {
        bool exists = false;
        TL_CLEANUP(tl_freep) char *name = new_name(m->file->path, format, taken);
        if (name == NULL)
            return tl_nomem(err, "file name");
        if (m->entry == NULL)
            TL_TRY(tl_file_adopt(im->table->config, format, m->file->path, name, &m->entry, err));
        tl_free(m->entry->name);
        m->entry->name = TL_STEAL(name);
        char *to = tl_data_file_path(im->table->config, tl_bytes_view_of(m->partition), /* bucket= */ 0, m->entry);
        if (to == NULL)
            return tl_nomem(err, "path");
        tl_free(m->to);
        m->to = to;
        exists = tl_map_get(&im->targets, to, strlen(to)) != NULL;
        if (!exists)
            TL_TRY(tl_fs_exists(im->table->fs, to, &exists, err));
        if (!exists)
            return tl_map_put(&im->targets, to, strlen(to), m, NULL) == TL_OK ? TL_OK : tl_nomem(err, "files");
        taken = true;
    }
}

static tl_status plan_all(import *im, tl_error *err)
{
    const tl_import_files *files = im->spec->files;
    im->moves = tl_calloc(files->n + 1, sizeof *im->moves);
    if (im->moves == NULL)
        return tl_nomem(err, "files");
    for (size_t i = 0; i < files->n; i++) {
        const tl_format *format;
        move *m = &im->moves[im->n++];
        m->file = &files->items[i];
        TL_TRY(tl_import_format(m->file, im->spec->format, &format, err));
        TL_TRY(partition_of(im, m->file, &m->partition, err));
        TL_TRY(plan_move(im, m, format, err));
    }
    return TL_OK;
}

/* ---- moving ---- */

static tl_status parent_of(const char *path, char **out, tl_error *err)
{
    *out = tl_strndup(path, (size_t)(tl_path_base(path) - path) - 1);
    return *out == NULL ? tl_nomem(err, "path") : TL_OK;
}

static tl_status move_in(import *im, tl_error *err)
{
    tl_fs *fs = im->table->fs;
    for (size_t i = 0; i < im->n; i++) {
        move *m = &im->moves[i];
        TL_CLEANUP(tl_freep) char *dir = NULL;
        TL_TRY(parent_of(m->to, &dir, err));
        TL_TRY(tl_fs_mkdirs(fs, dir, err));
        tl_status status = tl_fs_rename(fs, m->file->path, m->to, /* replace= */ false, err);
        TL_TRY(tl_error_wrap(err, status, "moving a file into the table (only within one file system; otherwise let it be copied)"));
        m->moved = true;
        if (i + 1 == im->n || !tl_bytes_equal(tl_bytes_view_of(m->partition), tl_bytes_view_of(im->moves[i + 1].partition)))
            TL_TRY(tl_fs_sync_dir(fs, dir, err));
    }
    return TL_OK;
}

/* False: some are still in the table's folder. */
static bool move_back(import *im)
{
    bool all = true;
    for (size_t i = im->n; i-- > 0;) {
        move *m = &im->moves[i];
        tl_error err = {0};
        if (!m->moved || tl_fs_rename(im->table->fs, m->to, m->file->path, /* replace= */ false, &err) == TL_OK)
            continue;
        all = false;
        tl_log(TL_LOG_WARN, "import: '%s' could not be moved back to '%s': %s", m->to, m->file->path, err.message);
    }
    return all;
}

/* ---- the commit ---- */

static tl_status message_of(const import *im, const move *m, tl_commit_message *out, tl_error *err)
{
    if (tl_bytes_dup(tl_bytes_view_of(m->partition), &out->partition) != TL_OK)
        return tl_nomem(err, "commit message");
    out->total_buckets = im->table->config->total_buckets;
    return TL_OK;
}

/* One message for files of one partition that follow each other. */
static tl_status messages_of(const import *im, tl_commit_messages *out, tl_error *err)
{
    out->items = tl_calloc(im->n + 1, sizeof *out->items);
    out->cap = im->n + 1;
    if (out->items == NULL)
        return tl_nomem(err, "commit messages");
    for (size_t i = 0; i < im->n; i++) {
        const move *m = &im->moves[i];
        bool fresh = i == 0 || !tl_bytes_equal(tl_bytes_view_of(m->partition), tl_bytes_view_of(im->moves[i - 1].partition));
        if (fresh)
            TL_TRY(message_of(im, m, &out->items[out->n++], err));
        TL_TRY(tl_file_list_add(&out->items[out->n - 1].new_files, m->entry, err));
    }
    return TL_OK;
}

/* After a commit that failed: whether the table has the files all the same. Unless that can be told they stay where they are. */
static bool may_be_in(import *im)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    tl_entries live = {0};
    tl_scan scan;
    tl_status status = tl_table__latest(im->table->fs, &im->table->paths, &latest, NULL);
    if (status == TL_OK && latest == NULL)
        return false;
    tl_scan_init(&scan, TL_SCAN_ALL, latest);
    if (status == TL_OK)
        status = tl_table__scan(im->table, &scan, &live, NULL);
    bool found = status != TL_OK;
    for (size_t i = 0; i < live.n && !found; i++)
        found = strcmp(live.items[i].file->name, im->moves[0].entry->name) == 0;
    tl_entries_deinit(&live);
    return found;
}

static tl_status commit(import *im, tl_commit_result *out, tl_error *err)
{
    tl_commit_spec spec = {.user = im->spec->user, .watermark = TL_ABSENT, .keep_files = true};
    tl_commit_messages messages = {0};
    tl_status status = tl_table__next_identifier(im->table, im->spec->user, &spec.identifier, err);
    if (status == TL_OK)
        status = messages_of(im, &messages, err);
    if (status == TL_OK)
        status = tl_table_commit(im->table, &spec, &messages, out, err);
    tl_commit_messages_deinit(&messages);
    return status;
}

tl_status tl_table_import(tl_table *table, const tl_import_spec *spec, tl_import_result *out, tl_error *err)
{
    char name[256];
    import im = {.table = table, .spec = spec};
    *out = (tl_import_result){0};
    tl_status status = check_table(table, err);
    if (status == TL_OK)
        status = match_keys(&im, err);
    if (status == TL_OK)
        status = plan_all(&im, err);
    if (status == TL_OK) {
        bool committing = false;
        status = move_in(&im, err);
        if (status == TL_OK) {
            committing = true;
            status = commit(&im, &out->commit, err);
        }
        out->has_files = status == TL_OK || (committing && may_be_in(&im)) || !move_back(&im);
    }
    for (size_t i = 0; status == TL_OK && i < im.n; i++) {
        out->files++;
        out->rows += im.moves[i].entry->rows;
        out->bytes += im.moves[i].entry->bytes;
    }
    import_deinit(&im);
    return tl_error_wrap(err, status, "import into table %s", tl_table__full_name(table, name));
}
