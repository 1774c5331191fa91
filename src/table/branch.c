/*
 * Branches: folders of metadata beside the main one; data files are shared. Source: format reference §17; Java:
 * FileSystemBranchManager.
 */
#include "table/table_private.h"

#include <ctype.h>

static tl_status check_name(const char *name, tl_error *err)
{
    if (name == NULL || name[strspn(name, " \t\n\r")] == '\0')
        return tl_error_set(err, TL_E_INVALID, "Branch name '%s' is blank.", name == NULL ? "" : name);
    if (strcmp(name, "main") == 0)
        return tl_error_set(err, TL_E_INVALID, "Branch name 'main' is the default branch and cannot be used.");
    bool digits = true;
    for (const char *p = name; *p != '\0'; p++)
        digits &= isdigit((unsigned char)*p) != 0;
    if (digits)
        return tl_error_set(err, TL_E_INVALID, "Branch name cannot be pure numeric string but is '%s'.", name);
    if (strchr(name, '/') != NULL)
        return tl_error_set(err, TL_E_INVALID, "branch name '%s' holds a '/'", name);
    return TL_OK;
}

static tl_status branch_dir(const tl_table *table, const char *name, char **out, tl_error *err)
{
    *out = tl_strf("%s/branch/branch-%s", table->path, name);
    return *out == NULL ? tl_nomem(err, "path") : TL_OK;
}

static tl_status branch_exists(tl_table *table, const char *name, bool *out, tl_error *err)
{
    /* A branch is a folder with a schema: an empty one is what is left of an attempt. */
    TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *schema = NULL;
    tl_paths paths = {.table = table->path, .branch = name};
    tl_status status = tl_schema_latest(table->fs, &paths, &schema, err);
    *out = status == TL_OK;
    return status == TL_E_NOT_FOUND ? TL_OK : status;
}

/* ---- create ---- */

static tl_status copy_schemas(tl_table *table, const tl_paths *to, int64_t last, tl_error *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_schema_list(table->fs, &table->paths, &ids, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        if (ids[i] > last)
            continue;
        TL_CLEANUP(tl_freep) char *from_path = tl_paths_schema(&table->paths, ids[i]);
        TL_CLEANUP(tl_freep) char *to_path = tl_paths_schema(to, ids[i]);
        tl_bytes text = {0};
        status = from_path == NULL || to_path == NULL ? tl_nomem(err, "path")
                                                      : tl_fs_read_all(table->fs, from_path, INT64_C(64) << 20, &text, err);
        if (status == TL_OK)
            status = tl_fs_publish(table->fs, to_path, tl_bytes_view_of(text), /* replace= */ true, err);
        tl_bytes_deinit(&text);
    }
    tl_free(ids);
    return status;
}

static tl_status publish_snapshot(tl_table *table, const tl_paths *to, const tl_snapshot *snap, tl_error *err)
{
    tl_bytes text = {0};
    TL_CLEANUP(tl_freep) char *path = tl_paths_snapshot(to, snap->id);
    if (path == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_snapshot_format(snap, &text, err));
    tl_status status = tl_fs_publish(table->fs, path, tl_bytes_view_of(text), /* replace= */ true, err);
    tl_bytes_deinit(&text);
    return status;
}

/* From a tag: the tag, its snapshot, and the schemas up to it. Schemas come last: they make the branch. */
static tl_status create_from_tag(tl_table *table, const tl_paths *to, const char *tag, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    tl_status status = tl_tag_read(table->fs, &table->paths, tag, &snap, err);
    if (status == TL_E_NOT_FOUND)
        return tl_error_set(err, TL_E_NOT_FOUND, "Tag '%s' doesn't exist.", tag);
    TL_TRY(status);
    TL_TRY(tl_tag_publish(table->fs, to, tag, snap, /* replace= */ true, err));
    snap->tag_create_time_ms = snap->tag_retained_ms = TL_ABSENT;
    TL_TRY(publish_snapshot(table, to, snap, err));
    return copy_schemas(table, to, snap->schema_id, err);
}

tl_status tl_table_create_branch(tl_table *table, const char *name, const char *tag, tl_error *err)
{
    TL_TRY(tl_table__require_data(table, "branch it", err));
    TL_TRY(check_name(name, err));
    bool there = false;
    TL_TRY(branch_exists(table, name, &there, err));
    if (there)
        return tl_error_set(err, TL_E_EXISTS, "Branch name '%s' already exists.", name);
    tl_paths to = {.table = table->path, .branch = name};
    if (tag != NULL)
        return create_from_tag(table, &to, tag, err);
    return copy_schemas(table, &to, INT64_MAX, err);
}

/* ---- delete, rename ---- */

tl_status tl_branch__require(tl_table *table, const char *name, tl_error *err)
{
    bool there = false;
    TL_TRY(check_name(name, err));
    TL_TRY(branch_exists(table, name, &there, err));
    return there ? TL_OK : tl_error_set(err, TL_E_NOT_FOUND, "Branch name '%s' doesn't exist.", name);
}

/*
 * In one step it is no branch any more, whatever becomes of its files: half of them would read as a branch without rows. What a
 * crash leaves under the other name is found by who looks for orphans.
 */
static tl_status remove_branch(tl_table *table, const char *dir, tl_error *err)
{
    char uuid[37];
    tl_uuid(uuid);
    TL_CLEANUP(tl_freep) char *parent = tl_strf("%s/branch", table->path);
    TL_CLEANUP(tl_freep) char *gone = tl_strf("%s/branch/.dropped-%s", table->path, uuid);
    if (parent == NULL || gone == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_rename(table->fs, dir, gone, /* replace= */ false, err));
    TL_TRY(table->fs->ops->sync_dir(table->fs, parent, err)); /* before files go that the old name would need */
    (void)tl_fs_remove_all(table->fs, gone, NULL);            /* see above */
    return TL_OK;
}

tl_status tl_table_delete_branch(tl_table *table, const char *name, tl_error *err)
{
    TL_TRY(tl_table__require_data(table, "delete branches of it", err));
    TL_TRY(tl_branch__require(table, name, err));
    const char *fallback = tl_table_option(table, "scan.fallback-branch");
    if (fallback != NULL && strcmp(fallback, name) == 0)
        return tl_error_set(err, TL_E_INVALID, "can not delete the fallback branch. branchName to be deleted is %s.", name);
    TL_CLEANUP(tl_freep) char *dir = NULL;
    TL_TRY(branch_dir(table, name, &dir, err));
    return remove_branch(table, dir, err);
}

tl_status tl_table_rename_branch(tl_table *table, const char *from, const char *to, tl_error *err)
{
    TL_TRY(tl_table__require_data(table, "rename branches of it", err));
    TL_TRY(tl_branch__require(table, from, err));
    TL_TRY(check_name(to, err));
    bool there = false;
    TL_TRY(branch_exists(table, to, &there, err));
    if (there)
        return tl_error_set(err, TL_E_EXISTS, "Branch name '%s' already exists.", to);
    TL_CLEANUP(tl_freep) char *old_dir = NULL;
    TL_CLEANUP(tl_freep) char *new_dir = NULL;
    TL_TRY(branch_dir(table, from, &old_dir, err));
    TL_TRY(branch_dir(table, to, &new_dir, err));
    return tl_fs_rename(table->fs, old_dir, new_dir, /* replace= */ false, err);
}
