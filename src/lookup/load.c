/* Reading rows of the table into chunks. */
#include "lookup/lookup_private.h"
#include "types/binary_row.h"

/* The n-th newest partition of the splits (the oldest of the newest ones); NULL if there are none. */
static tl_status find_oldest_wanted(tl_lookup *l, const tl_splits *splits, tl_batch **out, tl_error *err)
{
    tl_batch *newest[TL_NEWEST_PARTITIONS_MAX];
    TL_TRY(tl_newest_partitions(l->table, splits, l->newest_partitions, newest, err));
    int last = l->newest_partitions - 1;
    while (last > 0 && newest[last] == NULL)
        last--;
    *out = TL_STEAL(newest[last]);
    for (int k = 0; k < TL_NEWEST_PARTITIONS_MAX; k++)
        tl_batch_free(newest[k]);
    return TL_OK;
}

/* Rows of keys that are not among those asked for last: what else lies there may be asked for later, and is read then. */
static tl_status mark_others(const tl_lookup *l, const tl_batch *batch, uint8_t **out, tl_error *err)
{
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = NULL;
    TL_CLEANUP(tl_freep) uint8_t *dead = tl_calloc(tl_bitmap_bytes(batch->n_rows) + 1, 1);
    if (dead == NULL)
        return tl_nomem(err, "look-up rows");
    TL_TRY(tl_lookup__keys_of(batch, l->keys, l->n_keys, &keys, err));
    for (int64_t i = 0; i < batch->n_rows; i++) {
        if (!tl_lookup__asked_has(&l->asked, keys, i, /* newest= */ true))
            tl_bit_set(dead, i);
    }
    *out = TL_STEAL(dead);
    return TL_OK;
}

tl_status tl_lookup__load_reader(tl_lookup *l, tl_reader *reader, tl_error *err)
{
    tl_status status = TL_OK;
    while (status == TL_OK) {
        tl_batch *batch = NULL;
        status = tl_reader_next(reader, &batch, err);
        if (status != TL_OK || batch == NULL)
            break;
        uint8_t *dead = NULL;
        if (batch->n_rows > 0 && l->tier == TL_LOOKUP_FILES)
            status = mark_others(l, batch, &dead, err);
        if (batch->n_rows == 0 || status != TL_OK)
            tl_batch_free(batch);
        else
            status = tl_lookup__add_chunk(l, batch, dead, err);
    }
    tl_reader_free(reader);
    return status;
}

tl_status tl_lookup__load(tl_lookup *l, int64_t snapshot, tl_error *err)
{
    tl_lookup__clear(l);
    l->snapshot = snapshot;
    tl_scan_spec spec = {
        .columns = l->stored, .n_columns = l->n_stored, .predicate = l->predicate, .map_filter = l->map_filter, .limit = -1, .pool = l->pool};
    if (l->newest_partitions == 0) {
        tl_reader *reader;
        TL_TRY(tl_table_read(l->table, &spec, &reader, err));
        return tl_lookup__load_reader(l, reader, err);
    }
    tl_splits splits = {0};
    TL_CLEANUP(tl_batch_freep) tl_batch *from = NULL;
    tl_status status = tl_table_plan(l->table, &spec, &splits, err);
    if (status == TL_OK && splits.n > 0)
        status = find_oldest_wanted(l, &splits, &from, err);
    for (size_t i = 0; i < splits.n && status == TL_OK; i++) {
        TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
        status = tl_binary_row_decode(tl_bytes_view_of(splits.items[i].partition), tl_table_config(l->table)->partition_type, true, &row, err);
        if (status != TL_OK || tl_partitions_compare(row, from) < 0)
            continue;
        tl_reader *reader;
        status = tl_table_read_split(l->table, &splits.items[i], &spec, &reader, err);
        if (status == TL_OK)
            status = tl_lookup__load_reader(l, reader, err);
    }
    tl_splits_deinit(&splits);
    return status;
}
