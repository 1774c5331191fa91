/*
 * Whether deletion vectors and data files still fit when changes get in: a compaction must know all rows that were deleted from
 * the files it rewrites, a vector must be of a file that is there. The reference compares pairs of data file and index file on
 * tables without buckets (ConflictDetection.buildBaseEntriesWithDV); here all tables are held to it, as a bucket whose rows were
 * deleted by two jobs at once would get rows back otherwise.
 */
#include "table/table_private.h"

static bool has_name(const tl_map *names, const char *name)
{
    return tl_map_get(names, name, strlen(name)) != NULL;
}

static tl_status put_name(tl_map *names, const char *name, tl_error *err)
{
    static char mark;
    return tl_map_put(names, name, strlen(name), &mark, NULL) == TL_OK ? TL_OK : tl_nomem(err, "conflict check");
}

static bool is_vectors(const tl_index_entry *e)
{
    return strcmp(e->file->type, TL_INDEX_DELETION_VECTORS) == 0;
}

/* Whether a change takes the index file away or another one takes its place. */
static bool is_replaced(const tl_table *table, const tl_index_entry *e, const tl_index_entries *changes)
{
    for (size_t i = 0; i < changes->n; i++) {
        const tl_index_entry *c = &changes->items[i];
        if (!is_vectors(c))
            continue;
        if (c->kind == TL_ENTRY_DELETE ? strcmp(c->file->name, e->file->name) == 0
                                       : table->bucket_mode != TL_BUCKETS_UNAWARE && c->bucket == e->bucket &&
                                             tl_bytes_equal(tl_bytes_view_of(c->partition), tl_bytes_view_of(e->partition)))
            return true;
    }
    return false;
}

/* Files that the delta takes away for good: not those that it moves to another level. */
static tl_status gone_files(const tl_entries *delta, tl_map *out, tl_error *err)
{
    for (size_t i = 0; i < delta->n; i++) {
        if (delta->items[i].kind == TL_ENTRY_DELETE)
            TL_TRY(put_name(out, delta->items[i].file->name, err));
    }
    for (size_t i = 0; i < delta->n; i++) {
        const char *name = delta->items[i].file->name;
        if (delta->items[i].kind == TL_ENTRY_ADD)
            (void)tl_map_remove(out, name, strlen(name));
    }
    return TL_OK;
}

/* A vector that stays although its file goes: somebody deleted rows that the rewrite did not know of. Files whose vectors stay are put
   into `kept`. */
static tl_status check_rewritten(const tl_table *table, const tl_index_entries *old, const tl_index_entries *changes, const tl_map *gone,
                                 tl_map *kept, tl_error *err)
{
    for (size_t i = 0; i < old->n; i++) {
        const tl_index_entry *e = &old->items[i];
        if (!is_vectors(e) || is_replaced(table, e, changes))
            continue;
        for (int32_t r = 0; r < e->file->n_ranges; r++) {
            if (has_name(gone, e->file->ranges[r].data_file))
                return tl_commit__contradiction(err,
                                                "File deletion conflicts detected! Give up committing. Rows of file %s, which is to be "
                                                "deleted, were deleted meanwhile.",
                                                e->file->ranges[r].data_file);
            TL_TRY(put_name(kept, e->file->ranges[r].data_file, err));
        }
    }
    return TL_OK;
}

/* New vectors are of files that are there, and take the place of the old ones of those files. */
static tl_status check_made(const tl_index_entries *changes, const tl_map *live, const tl_map *kept, tl_error *err)
{
    for (size_t i = 0; i < changes->n; i++) {
        const tl_index_entry *e = &changes->items[i];
        if (!is_vectors(e) || e->kind != TL_ENTRY_ADD)
            continue;
        for (int32_t r = 0; r < e->file->n_ranges; r++) {
            if (has_name(kept, e->file->ranges[r].data_file))
                return tl_commit__contradiction(err,
                                                "File deletion conflicts detected! Give up committing. Trying to add dv for data file %s "
                                                "which is already added.",
                                                e->file->ranges[r].data_file);
            if (!has_name(live, e->file->ranges[r].data_file))
                return tl_commit__contradiction(err,
                                                "File deletion conflicts detected! Give up committing. Trying to create deletion vector "
                                                "on file %s which is not previously added.",
                                                e->file->ranges[r].data_file);
        }
    }
    return TL_OK;
}

static tl_status live_files(const tl_entries *base, const tl_entries *delta, const tl_map *gone, tl_map *out, tl_error *err)
{
    for (int side = 0; side < 2; side++) {
        const tl_entries *entries = side == 0 ? base : delta;
        for (size_t i = 0; i < entries->n; i++) {
            const char *name = entries->items[i].file->name;
            if (entries->items[i].kind == TL_ENTRY_ADD && !has_name(gone, name))
                TL_TRY(put_name(out, name, err));
        }
    }
    return TL_OK;
}

tl_status tl_commit__check_vectors(tl_table *table, const tl_entries *base, const tl_entries *delta, const tl_index_entries *old,
                                   const tl_index_entries *changes, tl_error *err)
{
    tl_map gone = {0}, kept = {0}, live = {0};
    tl_status status = gone_files(delta, &gone, err);
    if (status == TL_OK)
        status = check_rewritten(table, old, changes, &gone, &kept, err);
    if (status == TL_OK && changes->n > 0)
        status = live_files(base, delta, &gone, &live, err);
    if (status == TL_OK && changes->n > 0)
        status = check_made(changes, &live, &kept, err);
    tl_map_deinit(&gone);
    tl_map_deinit(&kept);
    tl_map_deinit(&live);
    return status;
}
