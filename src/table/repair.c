/* What can be mended in a table without loss: hints that point nowhere, files that nothing refers to. */
#include "table/table_private.h"

static tl_status mend_hint(tl_table *table, const char *name, int64_t id, bool dry_run, bool *mended, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_paths_hint(&table->paths, "snapshot", name);
    char want[24];
    tl_bytes text = {0};
    if (path == NULL)
        return tl_nomem(err, "path");
    snprintf(want, sizeof want, "%lld", (long long)id);
    tl_status status = tl_fs_read_all(table->fs, path, 64, &text, err);
    /* Without a hint readers list the folder. */
    bool right = status == TL_E_NOT_FOUND || (status == TL_OK && text.len == strlen(want) && memcmp(text.data, want, text.len) == 0);
    tl_bytes_deinit(&text);
    if (status == TL_E_NOMEM || right || id == 0)
        return status == TL_E_NOMEM ? status : TL_OK;
    *mended = true;
    return dry_run ? TL_OK : tl_hint_write(table->fs, &table->paths, name, id, /* durable= */ true, err);
}

tl_status tl_table_repair(tl_table *table, int64_t older_than_ms, bool dry_run, tl_repair_report *out, tl_error *err)
{
    TL_TRY(tl_table__require_data(table, "repair it", err));
    tl_repair_report report = {0};
    int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_snapshot_list(table->fs, &table->paths, &ids, &n, err)); /* not by the hints: they are in question */
    int64_t first = n == 0 ? 0 : ids[0], last = n == 0 ? 0 : ids[n - 1];
    tl_free(ids);
    TL_TRY(mend_hint(table, "EARLIEST", first, dry_run, &report.earliest, err));
    TL_TRY(mend_hint(table, "LATEST", last, dry_run, &report.latest, err));
    tl_status (*deal)(tl_table *, int64_t, tl_orphan **, size_t *, tl_error *) = dry_run ? tl_table_find_orphans : tl_table_remove_orphans;
    TL_TRY(deal(table, older_than_ms, &report.orphans, &report.n_orphans, err));
    *out = report;
    return TL_OK;
}
