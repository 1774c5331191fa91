/* Everything of a table but what it is: the way to an empty one whose folder is empty, too. Java: FileStoreTable.purgeFiles(). */
#include "table/table_private.h"

static tl_status drop_branches(tl_table *table, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *dir = tl_path_join(table->path, "branch");
    if (dir == NULL)
        return tl_nomem(err, "path");
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    TL_TRY(tl_fs_list(table->fs, dir, &entries, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        if (entries[i].stat.is_dir && strncmp(entries[i].name, "branch-", 7) == 0)
            status = tl_table_delete_branch(table, entries[i].name + 7, err);
    }
    tl_dir_free(entries, n);
    return status;
}

static tl_status drop_tags(tl_table *table, tl_error *err)
{
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_tag_list(table->fs, &table->paths, &names, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++)
        status = tl_table_delete_tag(table, names[i], err);
    tl_names_free(names, n);
    return status;
}

static tl_status drop_consumers(tl_table *table, tl_error *err)
{
    tl_consumer *consumers = NULL;
    size_t n = 0;
    TL_TRY(tl_table_consumers(table, &consumers, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++)
        status = tl_table_consumer_delete(table, consumers[i].id, err);
    tl_consumers_free(consumers, n);
    return status;
}

static tl_status purge(tl_table *table, tl_error *err)
{
    tl_options every = {0};
    tl_orphan *orphans = NULL;
    size_t n = 0;
    int32_t ignored;
    const tl_expire_spec only_latest = {.retain_max = 1, .retain_min = 1, .older_than_ms = 0, .max_deletes = 0};
    TL_TRY(drop_branches(table, err));
    TL_TRY(drop_tags(table, err));
    TL_TRY(drop_consumers(table, err));
    TL_TRY(tl_table_drop_partitions(table, &every, 1, err));
    TL_TRY(tl_table_delete_changelogs(table, &ignored, err));
    TL_TRY(tl_table_expire(table, &only_latest, &ignored, err));
    TL_TRY(tl_table_remove_orphans(table, /* older_than_ms= */ 0, &orphans, &n, err));
    tl_orphans_free(orphans, n);
    return TL_OK;
}

tl_status tl_table_purge(tl_table *table, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "purge it", err));
    if (table->branch != NULL)
        return tl_error_set(err, TL_E_INVALID, "table %s: a branch cannot be purged; delete it, or purge the table",
                            tl_table__full_name(table, name));
    return tl_error_wrap(err, purge(table, err), "purging table %s", tl_table__full_name(table, name));
}
