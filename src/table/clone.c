/*
 * The latest snapshot of a table as another table. A new table is a copy of the files, so that buckets, levels, deletion vectors and row
 * ids are what they were. Its schemas are published last: before them there is no table. Source: Java: CloneAction and the flink.clone
 * package, which read and write rows; what it does where the target is there is done here, too.
 */
#include "table/table_private.h"

typedef struct clone_job {
    tl_table *from;
    const tl_clone_spec *spec;
    tl_clone_result *result;
    tl_fs *to_fs;
    char *to_path; /* of the new table */
} clone_job;

/* ---- files ---- */

/* A file of the table under the same name in the new one. */
static tl_status copy_file(clone_job *c, const char *path, tl_error *err)
{
    size_t root = strlen(c->from->path);
    if (strncmp(path, c->from->path, root) != 0 || path[root] != '/')
        return tl_error_set(err, TL_E_UNSUPPORTED,
                            "not supported: cloning a table with files outside of its folder ('%s'): INSERT INTO … SELECT copies its rows", path);
    TL_CLEANUP(tl_freep) char *to = tl_path_join(c->to_path, path + root + 1);
    if (to == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_copy(c->from->fs, path, c->to_fs, to, err));
    c->result->files++;
    return TL_OK;
}

static tl_status copy_named(clone_job *c, char *path_take, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = path_take;
    return path == NULL ? tl_nomem(err, "path") : copy_file(c, path, err);
}

static tl_status copy_extra(clone_job *c, const char *path, const tl_data_file *file, tl_error *err)
{
    for (int32_t i = 0; i < file->n_extra_files; i++) {
        if (!tl_path_is_name((tl_bytes_view){(const uint8_t *)file->extra_files[i], strlen(file->extra_files[i])}))
            return tl_error_set(err, TL_E_CORRUPT, "'%s' is no name of a file", file->extra_files[i]);
        TL_TRY(copy_named(c, tl_strf("%.*s%s", (int)(tl_path_base(path) - path), path, file->extra_files[i]), err));
    }
    return TL_OK;
}

static tl_status copy_data(clone_job *c, const tl_snapshot *snap, tl_error *err)
{
    tl_entries live = {0};
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, snap);
    tl_status status = tl_table__scan(c->from, &scan, &live, err);
    for (size_t i = 0; i < live.n && status == TL_OK; i++) {
        const tl_manifest_entry *e = &live.items[i];
        TL_CLEANUP(tl_freep) char *path = tl_data_file_path(c->from->config, tl_bytes_view_of(e->partition), e->bucket, e->file);
        status = path == NULL ? tl_nomem(err, "path") : copy_file(c, path, err);
        if (status == TL_OK)
            status = copy_extra(c, path, e->file, err);
        c->result->bytes += e->file->bytes;
    }
    tl_entries_deinit(&live);
    return status;
}

static tl_status copy_indexes(clone_job *c, const tl_snapshot *snap, tl_error *err)
{
    tl_index_entries indexes = {0};
    tl_status status = tl_indexes__read(c->from, snap, &indexes, err);
    for (size_t i = 0; i < indexes.n && status == TL_OK; i++) {
        const tl_index_entry *e = &indexes.items[i];
        status = copy_named(c, tl_indexes__path(c->from, tl_bytes_view_of(e->partition), e->bucket, e->file->name, e->file->external_path), err);
    }
    tl_index_entries_deinit(&indexes);
    return status;
}

static tl_status copy_manifests(clone_job *c, const tl_snapshot *snap, tl_error *err)
{
    const tl_paths *paths = &c->from->paths;
    tl_manifest_list list = {0};
    tl_status status = tl_table__manifests(c->from, snap, TL_SCAN_ALL, &list, err);
    for (size_t i = 0; i < list.n && status == TL_OK; i++)
        status = copy_named(c, tl_paths_manifest(paths, list.items[i].name), err);
    tl_manifest_list_deinit(&list);
    if (status == TL_OK)
        status = copy_named(c, tl_paths_manifest(paths, snap->base_manifest_list), err);
    if (status == TL_OK)
        status = copy_named(c, tl_paths_manifest(paths, snap->delta_manifest_list), err);
    if (status == TL_OK && snap->index_manifest != NULL)
        status = copy_named(c, tl_paths_manifest(paths, snap->index_manifest), err);
    return status;
}

static tl_status copy_statistics(clone_job *c, const tl_snapshot *snap, tl_error *err)
{
    if (snap->statistics == NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *dir = tl_paths_dir(&c->from->paths, "statistics");
    return dir == NULL ? tl_nomem(err, "path") : copy_named(c, tl_path_join(dir, snap->statistics), err);
}

/* ---- a new table ---- */

static tl_status publish_snapshot(clone_job *c, const tl_snapshot *from, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    const tl_paths paths = {.table = c->to_path};
    tl_staged staged = {0};
    TL_TRY(tl_snapshot_dup(from, &snap, err));
    tl_free(snap->changelog_manifest_list); /* changelog files are not copied */
    snap->changelog_manifest_list = NULL;
    snap->changelog_manifest_list_bytes = snap->changelog_record_count = TL_ABSENT;
    TL_TRY(tl_snapshot_stage(c->to_fs, &paths, snap, &staged, err));
    tl_status status = tl_fs_flush(c->to_fs, err);
    if (status == TL_OK)
        status = tl_snapshot_publish(c->to_fs, &paths, snap->id, &staged, err);
    tl_staged_deinit(c->to_fs, &staged);
    return status == TL_OK ? tl_hint_write(c->to_fs, &paths, "EARLIEST", snap->id, /* durable= */ false, err) : status;
}

static tl_status copy_snapshot(clone_job *c, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_TRY(tl_table__latest(c->from->fs, &c->from->paths, &snap, err));
    if (snap == NULL)
        return TL_OK;
    tl_status status = copy_data(c, snap, err);
    if (status == TL_OK)
        status = copy_indexes(c, snap, err);
    if (status == TL_OK)
        status = copy_manifests(c, snap, err);
    if (status == TL_OK)
        status = copy_statistics(c, snap, err);
    TL_TRY(tl_error_wrap(err, status, "snapshot %lld (if files are missing it may have expired meanwhile)", (long long)snap->id));
    return publish_snapshot(c, snap, err);
}

/* The last one comes last: readers take the newest schema. */
static tl_status copy_schemas(clone_job *c, tl_error *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    const tl_paths to = {.table = c->to_path};
    TL_TRY(tl_schema_list(c->from->fs, &c->from->paths, &ids, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        tl_table_schema *schema = NULL;
        status = tl_schema_read(c->from->fs, &c->from->paths, ids[i], &schema, err);
        if (status == TL_OK)
            status = tl_schema_publish(c->to_fs, &to, schema, err);
        tl_table_schema_unref(schema);
    }
    tl_free(ids);
    return status;
}

static tl_status make_copy(clone_job *c, bool with_rows, tl_error *err)
{
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    TL_TRY(tl_fs_list(c->to_fs, c->to_path, &entries, &n, err));
    tl_dir_free(entries, n);
    if (n > 0)
        return tl_error_set(err, TL_E_EXISTS, "the folder '%s' is not empty, although it is no table", c->to_path);
    tl_status status = with_rows ? copy_snapshot(c, err) : TL_OK;
    if (status == TL_OK)
        status = copy_schemas(c, err);
    if (status != TL_OK)
        (void)tl_fs_remove_all(c->to_fs, c->to_path, /* err= */ NULL); /* what stays is no table */
    return status;
}

/* ---- rows ---- */

static tl_status check_columns(const tl_type *from, const tl_type *to, tl_error *err)
{
    bool same = from->n_fields == to->n_fields;
    for (int32_t i = 0; i < from->n_fields && same; i++)
        same = strcmp(from->fields[i].name, to->fields[i].name) == 0 && tl_type_equal(from->fields[i].type, to->fields[i].type, false);
    return same ? TL_OK : tl_error_set(err, TL_E_INVALID, "the target is there and has other columns");
}

static tl_status write_rows(clone_job *c, tl_table_writer *writer, tl_error *err)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    const tl_scan_spec scan = {.predicate = c->spec->predicate, .limit = -1};
    TL_TRY(tl_table_read(c->from, &scan, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        c->result->rows += batch->n_rows;
        TL_TRY(tl_table_writer_write(writer, batch, err));
    }
}

static tl_status copy_rows(clone_job *c, tl_error *err)
{
    TL_CLEANUP(tl_table_freep) tl_table *to = NULL;
    const tl_write_options options = {.ignore_previous = true};
    const tl_commit_spec spec = {.identifier = TL_COMMIT_BATCH, .watermark = TL_ABSENT, .overwrite = true};
    tl_table_writer *writer = NULL;
    tl_commit_messages messages = {0};
    TL_TRY(tl_table_open(c->spec->to, c->spec->db, c->spec->name, NULL, &to, err));
    TL_TRY(check_columns(c->from->schema->row_type, to->schema->row_type, err));
    TL_TRY(tl_table_writer_create(to, &options, &writer, err));
    tl_status status = write_rows(c, writer, err);
    if (status == TL_OK)
        status = tl_table_writer_prepare(writer, /* wait_compaction= */ true, &messages, err);
    tl_table_writer_free(writer);
    if (status == TL_OK)
        status = tl_table_commit(to, &spec, &messages, NULL, err);
    tl_commit_messages_deinit(&messages);
    return status;
}

/* ---- the whole ---- */

static tl_status run(clone_job *c, tl_error *err)
{
    const tl_clone_spec *spec = c->spec;
    bool exists = false, rows = spec->predicate != NULL;
    TL_TRY(tl_table__require_data(c->from, "clone it", err));
    TL_TRY(tl_catalog_create_database(spec->to, spec->db, /* if_not_exists= */ true, err));
    TL_TRY(tl_catalog_table_path(spec->to, spec->db, spec->name, &c->to_path, err));
    TL_TRY(tl_catalog_table_exists(spec->to, spec->db, spec->name, &exists, err));
    if (exists && strcmp(c->to_path, c->from->path) == 0)
        return tl_error_set(err, TL_E_INVALID, "a table cannot be cloned onto itself");
    c->result->skipped = exists && spec->skip_existing;
    if (c->result->skipped || (exists && spec->meta_only))
        return TL_OK;
    if (!exists)
        TL_TRY(make_copy(c, /* with_rows= */ !spec->meta_only && !rows, err));
    if (spec->meta_only || (!exists && !rows))
        return TL_OK;
    tl_status status = copy_rows(c, err);
    if (status != TL_OK && !exists)
        (void)tl_catalog_drop_table(spec->to, spec->db, spec->name, /* if_exists= */ true, /* err= */ NULL);
    return status;
}

tl_status tl_table_clone(tl_table *from, const tl_clone_spec *spec, tl_clone_result *out, tl_error *err)
{
    char name[256];
    clone_job c = {.from = from, .spec = spec, .result = out, .to_fs = tl_catalog_fs(spec->to)};
    *out = (tl_clone_result){0};
    tl_status status = run(&c, err);
    tl_free(c.to_path);
    return tl_error_wrap(err, status, "clone of table %s to %s.%s", tl_table__full_name(from, name), spec->db, spec->name);
}
