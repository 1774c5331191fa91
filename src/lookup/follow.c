/*
 * Following the table: a change kills the row of its primary key and adds a chunk with the new rows; when most rows are dead everything is
 * built again.
 */
#include "lookup/lookup_private.h"

/* Kill the live row of each primary key in `keys`. */
static void kill_rows(tl_lookup *l, const tl_keys *keys)
{
    const tl_row_index *index = l->by_one_key ? &l->by_key : &l->by_primary;
    for (int64_t i = 0; i < keys->count; i++) {
        const struct tl_row_entry *entry = tl_row_index_first(index, tl_row_index_hash(keys, i));
        for (; entry != NULL; entry = tl_row_index_next(index, entry)) {
            tl_lookup__chunk *c = &l->chunks[entry->chunk];
            if (tl_bit_get(c->dead, entry->row) || tl_keys_compare(l->by_one_key ? c->keys : c->primary, entry->row, keys, i) != 0)
                continue;
            tl_bit_set(c->dead, entry->row);
            l->alive--;
        }
    }
}

/* Of the rows of a change batch only the last of each key counts, and only if it is no retraction and passes the filter. */
static tl_status dead_of_changes(tl_lookup *l, const tl_batch *batch, const tl_keys *keys, uint8_t **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) uint8_t *dead = tl_alloc(tl_bitmap_bytes(batch->n_rows) + 1);
    TL_CLEANUP(tl_freep) uint32_t *passing = tl_alloc(sizeof *passing * (size_t)(batch->n_rows + 1));
    if (dead == NULL || passing == NULL)
        return tl_nomem(err, "look-up changes");
    int64_t n = batch->n_rows;
    tl_bitmap_fill(dead, 0, n, true);
    if (l->stored_predicate != NULL) {
        TL_TRY(tl_predicate_eval(l->stored_predicate, (const tl_column *const *)batch->cols, batch->n_rows, passing, &n, err));
    } else {
        for (int64_t i = 0; i < n; i++)
            passing[i] = (uint32_t)i;
    }
    for (int64_t i = 0; i < n; i++)
        if (!tl_kind_is_retract(tl_batch_kind(batch, passing[i])))
            tl_bit_clear(dead, passing[i]);
    if (keys != NULL) {
        tl_map last = {0};
        for (int64_t i = batch->n_rows - 1; i >= 0; i--) {
            const void *key = keys->is_fixed ? (const void *)&keys->fixed[i] : tl_keys_bytes(keys, i).data;
            size_t bytes = keys->is_fixed ? sizeof keys->fixed[i] : tl_keys_bytes(keys, i).len;
            if (tl_map_get(&last, key, bytes) != NULL)
                tl_bit_set(dead, i);
            else if (tl_map_put(&last, key, bytes, (void *)1, NULL) != TL_OK) {
                tl_map_deinit(&last);
                return tl_nomem(err, "look-up changes");
            }
        }
        tl_map_deinit(&last);
    }
    *out = TL_STEAL(dead);
    return TL_OK;
}

static tl_status apply(tl_lookup *l, tl_batch *batch_take, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = batch_take;
    TL_CLEANUP(tl_keys_freep) tl_keys *primary = NULL;
    uint8_t *dead;
    if (l->primary != NULL)
        TL_TRY(tl_lookup__keys_of(batch, l->primary, l->n_primary, &primary, err));
    TL_TRY(dead_of_changes(l, batch, primary, &dead, err));
    if (primary != NULL)
        kill_rows(l, primary);
    return tl_lookup__add_chunk(l, TL_STEAL(batch), dead, err);
}

static tl_status apply_split(tl_lookup *l, const tl_split *split, tl_error *err)
{
    tl_scan_spec spec = {.columns = l->stored, .n_columns = l->n_stored, .limit = -1, .with_kinds = true};
    tl_reader *reader;
    TL_TRY(tl_table_read_split(l->table, split, &spec, &reader, err));
    tl_status status = TL_OK;
    while (status == TL_OK) {
        tl_batch *batch = NULL;
        status = tl_reader_next(reader, &batch, err);
        if (status != TL_OK || batch == NULL)
            break;
        if (batch->n_rows == 0)
            tl_batch_free(batch);
        else
            status = apply(l, batch, err);
    }
    tl_reader_free(reader);
    return status;
}

/* Apply the changes of the snapshots after l->snapshot up to `latest`. */
static tl_status follow(tl_lookup *l, int64_t latest, tl_error *err)
{
    tl_stream_scan *scan;
    TL_TRY(tl_stream_scan_create(l->table, l->snapshot + 1, &scan, err));
    tl_status status = TL_OK;
    while (status == TL_OK && tl_stream_scan_position(scan) <= latest) {
        tl_splits splits = {0};
        bool ready, is_full;
        int64_t snapshot, before = tl_stream_scan_position(scan);
        status = tl_stream_scan_plan(scan, &splits, &ready, &snapshot, &is_full, err);
        for (size_t i = 0; i < splits.n && status == TL_OK; i++)
            status = apply_split(l, &splits.items[i], err);
        tl_splits_deinit(&splits);
        if (status == TL_OK && !ready && tl_stream_scan_position(scan) == before)
            break;
    }
    tl_stream_scan_free(scan);
    return status;
}

/* Overwrites and rollbacks are no changes that could be followed: then the table is read anew. */
static tl_status must_reload(tl_lookup *l, int64_t latest, bool *out, tl_error *err)
{
    *out = !l->incremental || l->newest_partitions > 0 || latest < l->snapshot || l->snapshot == 0 || latest - l->snapshot > 100;
    const tl_lsm_config *config = tl_table_config(l->table);
    for (int64_t id = l->snapshot + 1; id <= latest && !*out; id++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        tl_status status = tl_snapshot_read(config->fs, &config->paths, id, &snap, err);
        if (status == TL_E_NOT_FOUND) /* expired meanwhile */
            *out = true;
        else if (status != TL_OK)
            return status;
        else
            *out = snap->commit_kind == TL_COMMIT_OVERWRITE;
    }
    return TL_OK;
}

tl_status tl_lookup_refresh(tl_lookup *l, bool *changed, tl_error *err)
{
    if (changed != NULL)
        *changed = false;
    const tl_lsm_config *config = tl_table_config(l->table);
    int64_t latest;
    TL_TRY(tl_snapshot_latest_id(config->fs, &config->paths, &latest, err));
    if (latest == l->snapshot)
        return TL_OK;
    if (l->tier == TL_LOOKUP_FILES) {
        tl_lookup__clear(l);
    } else {
        bool reload;
        TL_TRY(must_reload(l, latest, &reload, err));
        if (!reload)
            TL_TRY(follow(l, latest, err));
        if (reload || (l->rows > 4096 && l->alive < l->rows / 2))
            TL_TRY(tl_lookup__load(l, latest, err));
    }
    l->snapshot = latest;
    if (changed != NULL)
        *changed = true;
    return TL_OK;
}
