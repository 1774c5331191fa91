/*
 * The table in memory: chunks (the wanted columns of batches, packed row by row) with a bitmap of dead rows each, an index by the
 * look-up key and, if changes are applied and that is another one, one by the primary key. A change kills the row of its primary key and adds a chunk
 * with the new rows; when most rows are dead everything is built again.
 */
#include "lookup/lookup.h"

#include "lookup/asked_private.h"
#include "types/binary_row.h"
#include "types/packed_rows.h"

typedef struct chunk {
    tl_packed_rows rows;   /* of the wanted columns */
    tl_column **unpacked;  /* refs held: the wanted columns that cannot be packed, NULL at the others; NULL: there are none */
    tl_keys *keys;         /* look-up keys */
    tl_keys *primary;      /* primary keys; NULL: not needed, or the look-up keys */
    uint8_t *dead;         /* bitmap */
} chunk;

struct tl_lookup {
    tl_table *table;
    tl_pool *pool;
    tl_predicate *predicate; /* bound to the table's columns; NULL: none */
    tl_predicate *stored_predicate; /* the same, bound to `stored` */
    int32_t *stored; /* columns of the table that chunks hold */
    int32_t n_stored;
    int32_t *keys; /* in `stored` */
    int32_t n_keys;
    int32_t *columns; /* wanted, in `stored` */
    int32_t n_columns;
    int32_t *primary; /* in `stored`; NULL: changes are not applied by key */
    int32_t n_primary;
    bool by_one_key; /* the primary key is the look-up key: `by_key` serves both */
    tl_row_layout *layout;
    bool all_packed;
    const tl_type *answer; /* ROW of the wanted columns, nullable: what `layout` is of */
    tl_lookup_tier tier;
    bool incremental;      /* changes are exact */
    int32_t newest_partitions; /* max_pt(): only so many; 0: all */
    int64_t snapshot;
    chunk *chunks;
    uint32_t n_chunks, cap_chunks;
    tl_row_index by_key;
    tl_row_index by_primary;
    int64_t alive, rows;
    int64_t held_bytes;     /* about what the chunks take */
    tl_lookup__asked asked; /* files: keys whose rows are in the chunks, if there are any */
    int64_t kept_bytes_max; /* files: above it chunks are dropped before the next probe */
};

/* ---- which columns ---- */

static int32_t stored_index(tl_lookup *l, int32_t column)
{
    for (int32_t i = 0; i < l->n_stored; i++)
        if (l->stored[i] == column)
            return i;
    l->stored[l->n_stored] = column;
    return l->n_stored++;
}

static tl_status map_columns(tl_lookup *l, const int32_t *columns, int32_t n, int32_t **out, tl_error *err)
{
    int32_t *mapped = tl_alloc(sizeof *mapped * (size_t)(n + 1));
    if (mapped == NULL)
        return tl_nomem(err, "look-up");
    for (int32_t i = 0; i < n; i++)
        mapped[i] = stored_index(l, columns[i]);
    *out = mapped;
    return TL_OK;
}

static tl_status bind_predicate(tl_lookup *l, const tl_predicate *predicate, const tl_type *row_type, tl_error *err)
{
    if (predicate == NULL)
        return TL_OK;
    TL_TRY(tl_predicate_dup(predicate, &l->predicate, err));
    TL_CLEANUP(tl_freep) bool *used = tl_calloc((size_t)row_type->n_fields + 1, sizeof *used);
    TL_CLEANUP(tl_freep) int32_t *map = tl_alloc(sizeof *map * (size_t)(row_type->n_fields + 1));
    if (used == NULL || map == NULL)
        return tl_nomem(err, "look-up");
    tl_predicate_columns(predicate, used);
    for (int32_t c = 0; c < row_type->n_fields; c++)
        map[c] = used[c] ? stored_index(l, c) : -1;
    return tl_predicate_remap(predicate, map, false, &l->stored_predicate, err);
}

static tl_status answer_type(const tl_type *row_type, const tl_lookup_spec *spec, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc((size_t)spec->n_columns + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "look-up");
    tl_status status = TL_OK;
    for (int32_t i = 0; i < spec->n_columns && status == TL_OK; i++) {
        fields[i] = row_type->fields[spec->columns[i]];
        fields[i].type = NULL;
        status = tl_type_with_nullable(row_type->fields[spec->columns[i]].type, true, &fields[i].type, err);
    }
    if (status == TL_OK)
        status = tl_type_create_row(/* nullable= */ false, fields, spec->n_columns, out, err);
    for (int32_t i = 0; i < spec->n_columns; i++)
        tl_type_unref(fields[i].type);
    return status;
}

static tl_status choose_columns(tl_lookup *l, const tl_lookup_spec *spec, tl_error *err)
{
    const tl_type *row_type = tl_table_row_type(l->table);
    const tl_table_schema *schema = tl_table_schema_of(l->table);
    l->stored = tl_alloc(sizeof *l->stored * (size_t)(row_type->n_fields + 1));
    if (l->stored == NULL)
        return tl_nomem(err, "look-up");
    TL_TRY(map_columns(l, spec->keys, spec->n_keys, &l->keys, err));
    TL_TRY(map_columns(l, spec->columns, spec->n_columns, &l->columns, err));
    l->n_keys = spec->n_keys;
    l->n_columns = spec->n_columns;
    if (l->incremental && l->tier == TL_LOOKUP_MEMORY && schema->n_primary_keys > 0) {
        int32_t primary[64];
        if (schema->n_primary_keys > 64)
            return tl_error_set(err, TL_E_LIMIT, "a look-up needs a primary key of at most 64 columns");
        for (int32_t i = 0; i < schema->n_primary_keys; i++)
            primary[i] = tl_type_field_index(row_type, schema->primary_keys[i]);
        l->n_primary = schema->n_primary_keys;
        TL_TRY(map_columns(l, primary, l->n_primary, &l->primary, err));
        l->by_one_key = l->n_primary == l->n_keys && memcmp(l->primary, l->keys, sizeof *l->keys * (size_t)l->n_keys) == 0;
    }
    TL_TRY(bind_predicate(l, spec->predicate, row_type, err));
    TL_TRY(answer_type(row_type, spec, &l->answer, err));
    TL_TRY(tl_row_layout_create(l->answer, &l->layout, err));
    l->all_packed = true;
    for (int32_t i = 0; i < l->n_columns; i++)
        l->all_packed &= tl_row_layout_has(l->layout, i);
    return TL_OK;
}

/* ---- how it follows ---- */

static const char *option_or(const tl_table *table, const char *key, const char *fallback)
{
    const char *value = tl_table_option(table, key);
    return value == NULL ? fallback : value;
}

/* Changes are exact if a changelog tells them, if a delta's rows are whole (deduplicate), or if rows are only added. With deletion vectors
   a read does not see level 0: only what compactions tell fits to it. */
static bool changes_are_exact(const tl_table *table)
{
    if (tl_table_is_system(table))
        return false;
    if (tl_table_schema_of(table)->n_primary_keys == 0)
        return true;
    if (tl_table_config(table)->deletion_vectors)
        return strcmp(option_or(table, "changelog-producer", "none"), "lookup") == 0;
    return strcmp(option_or(table, "changelog-producer", "none"), "none") != 0 || strcmp(option_or(table, "merge-engine", "deduplicate"), "deduplicate") == 0;
}

static int32_t newest_partitions(const tl_table *table)
{
    const char *partitions = option_or(table, "scan.partitions", option_or(table, "lookup.dynamic-partition", ""));
    return strcmp(partitions, "max_pt()") == 0 ? 1 : strcmp(partitions, "max_two_pt()") == 0 ? 2 : 0;
}

/* ---- chunks ---- */

static void chunk_deinit(const tl_lookup *l, chunk *c)
{
    tl_packed_rows_deinit(&c->rows);
    for (int32_t i = 0; c->unpacked != NULL && i < l->n_columns; i++)
        tl_column_unref(c->unpacked[i]);
    tl_free(c->unpacked);
    tl_keys_free(c->keys);
    tl_keys_free(c->primary);
    tl_free(c->dead);
}

static void clear(tl_lookup *l)
{
    for (uint32_t i = 0; i < l->n_chunks; i++)
        chunk_deinit(l, &l->chunks[i]);
    l->n_chunks = 0;
    tl_row_index_deinit(&l->by_key);
    tl_row_index_deinit(&l->by_primary);
    tl_lookup__asked_deinit(&l->asked);
    l->alive = l->rows = l->held_bytes = 0;
}

static tl_status keys_of(const tl_batch *batch, const int32_t *columns, int32_t n, tl_keys **out, tl_error *err)
{
    const tl_column **cols = tl_alloc(sizeof *cols * (size_t)(n + 1));
    if (cols == NULL)
        return tl_nomem(err, "look-up keys");
    for (int32_t i = 0; i < n; i++)
        cols[i] = batch->cols[columns[i]];
    tl_status status = tl_keys_create(cols, n, batch->n_rows, out, err);
    tl_free(cols);
    return status;
}

/* The keys, and the wanted columns of a batch: packed, and those that cannot be. */
static tl_status take_rows(const tl_lookup *l, const tl_batch *batch, chunk *c, tl_error *err)
{
    TL_CLEANUP(tl_freep) const tl_column **wanted = tl_alloc(sizeof *wanted * ((size_t)l->n_columns + 1));
    if (wanted == NULL)
        return tl_nomem(err, "look-up rows");
    for (int32_t i = 0; i < l->n_columns; i++)
        wanted[i] = batch->cols[l->columns[i]];
    TL_TRY(keys_of(batch, l->keys, l->n_keys, &c->keys, err));
    if (l->primary != NULL && !l->by_one_key)
        TL_TRY(keys_of(batch, l->primary, l->n_primary, &c->primary, err));
    TL_TRY(tl_rows_pack(l->layout, wanted, batch->n_rows, &c->rows, err));
    if (l->all_packed)
        return TL_OK;
    c->unpacked = tl_calloc((size_t)l->n_columns, sizeof(*c->unpacked));
    if (c->unpacked == NULL)
        return tl_nomem(err, "look-up rows");
    for (int32_t i = 0; i < l->n_columns; i++)
        c->unpacked[i] = tl_row_layout_has(l->layout, i) ? NULL : tl_column_ref(wanted[i]);
    return TL_OK;
}

static tl_status index_rows(tl_lookup *l, const chunk *c, tl_error *err)
{
    TL_TRY(tl_row_index_add(&l->by_key, c->keys, l->n_chunks, c->dead, err));
    return c->primary == NULL ? TL_OK : tl_row_index_add(&l->by_primary, c->primary, l->n_chunks, c->dead, err);
}

/* About what a chunk takes. */
static int64_t chunk_bytes(const tl_lookup *l, const chunk *c)
{
    int64_t bytes = (int64_t)sizeof *c + tl_packed_rows_bytes(&c->rows) + tl_keys_memory(c->keys);
    if (c->primary != NULL)
        bytes += tl_keys_memory(c->primary);
    for (int32_t i = 0; c->unpacked != NULL && i < l->n_columns; i++)
        bytes += c->unpacked[i] == NULL ? 0 : tl_column_bytes(c->unpacked[i]);
    return bytes;
}

/* Takes the batch over. Rows that `dead` (taken, may be NULL) marks are not found. */
static tl_status add_chunk(tl_lookup *l, tl_batch *batch_take, uint8_t *dead, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = batch_take;
    chunk c = {.dead = dead};
    tl_status status = TL_OK;
    if (c.dead == NULL && (c.dead = tl_calloc(tl_bitmap_bytes(batch->n_rows) + 1, 1)) == NULL)
        status = tl_nomem(err, "look-up rows");
    if (status == TL_OK && l->n_chunks == l->cap_chunks) {
        uint32_t cap = l->cap_chunks == 0 ? 16 : l->cap_chunks * 2;
        chunk *grown = tl_realloc(l->chunks, sizeof *grown * cap);
        if (grown == NULL)
            status = tl_nomem(err, "look-up rows");
        else
            l->cap_chunks = cap, l->chunks = grown;
    }
    if (status == TL_OK)
        status = take_rows(l, batch, &c, err);
    if (status != TL_OK) {
        chunk_deinit(l, &c);
        return status;
    }
    status = index_rows(l, &c, err);
    if (status != TL_OK) /* one of the indexes may have rows of it already */
        tl_bitmap_fill(c.dead, 0, batch->n_rows, true);
    l->chunks[l->n_chunks++] = c;
    l->rows += batch->n_rows;
    l->held_bytes += chunk_bytes(l, &c);
    l->alive += batch->n_rows - tl_bitmap_count(c.dead, 0, batch->n_rows);
    return status;
}

/* ---- loading ---- */

static int compare_partitions(const tl_batch *a, const tl_batch *b)
{
    for (int32_t c = 0; c < a->n_cols; c++) {
        int order = tl_column_compare(a->cols[c], 0, b->cols[c], 0, false, true);
        if (order != 0)
            return order;
    }
    return 0;
}

/* The n-th newest partition of the splits (the oldest of the newest ones); NULL if there are none. */
static tl_status find_newest(tl_lookup *l, const tl_splits *splits, tl_batch **out, tl_error *err)
{
    tl_batch *newest[2] = {NULL, NULL};
    tl_status status = TL_OK;
    for (size_t i = 0; i < splits->n && status == TL_OK; i++) {
        tl_batch *row;
        status = tl_binary_row_decode(tl_bytes_view_of(splits->items[i].partition), tl_table_config(l->table)->partition_type, true, &row, err);
        if (status != TL_OK)
            break;
        int at = 0;
        while (at < l->newest_partitions && newest[at] != NULL && compare_partitions(newest[at], row) > 0)
            at++;
        if (at == l->newest_partitions || (newest[at] != NULL && compare_partitions(newest[at], row) == 0)) {
            tl_batch_free(row);
            continue;
        }
        tl_batch_free(newest[l->newest_partitions - 1]);
        for (int k = l->newest_partitions - 1; k > at; k--)
            newest[k] = newest[k - 1];
        newest[at] = row;
    }
    int last = l->newest_partitions - 1;
    while (last > 0 && newest[last] == NULL)
        last--;
    *out = status == TL_OK ? TL_STEAL(newest[last]) : NULL;
    tl_batch_free(newest[0]);
    tl_batch_free(newest[1]);
    return status;
}

/* Rows of keys that are not among those asked for last: what else lies there may be asked for later, and is read then. */
static tl_status mark_others(const tl_lookup *l, const tl_batch *batch, uint8_t **out, tl_error *err)
{
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = NULL;
    TL_CLEANUP(tl_freep) uint8_t *dead = tl_calloc(tl_bitmap_bytes(batch->n_rows) + 1, 1);
    if (dead == NULL)
        return tl_nomem(err, "look-up rows");
    TL_TRY(keys_of(batch, l->keys, l->n_keys, &keys, err));
    for (int64_t i = 0; i < batch->n_rows; i++) {
        if (!tl_lookup__asked_has(&l->asked, keys, i, /* newest= */ true))
            tl_bit_set(dead, i);
    }
    *out = TL_STEAL(dead);
    return TL_OK;
}

/* Takes the reader over. From files only rows of keys asked for last are found. */
static tl_status load_reader(tl_lookup *l, tl_reader *reader, tl_error *err)
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
            status = add_chunk(l, batch, dead, err);
    }
    tl_reader_free(reader);
    return status;
}

/* All splits of the snapshot, or with max_pt() those of the newest partitions. */
static tl_status load(tl_lookup *l, int64_t snapshot, tl_error *err)
{
    clear(l);
    l->snapshot = snapshot;
    tl_scan_spec spec = {.columns = l->stored, .n_columns = l->n_stored, .predicate = l->predicate, .limit = -1, .pool = l->pool};
    if (l->newest_partitions == 0) {
        tl_reader *reader;
        TL_TRY(tl_table_read(l->table, &spec, &reader, err));
        return load_reader(l, reader, err);
    }
    tl_splits splits = {0};
    TL_CLEANUP(tl_batch_freep) tl_batch *from = NULL;
    tl_status status = tl_table_plan(l->table, &spec, &splits, err);
    if (status == TL_OK && splits.n > 0)
        status = find_newest(l, &splits, &from, err);
    for (size_t i = 0; i < splits.n && status == TL_OK; i++) {
        TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
        status = tl_binary_row_decode(tl_bytes_view_of(splits.items[i].partition), tl_table_config(l->table)->partition_type, true, &row, err);
        if (status != TL_OK || compare_partitions(row, from) < 0)
            continue;
        tl_reader *reader;
        status = tl_table_read_split(l->table, &splits.items[i], &spec, &reader, err);
        if (status == TL_OK)
            status = load_reader(l, reader, err);
    }
    tl_splits_deinit(&splits);
    return status;
}

/* ---- following ---- */

/* Kill the live row of each primary key in `keys`. */
static void kill_rows(tl_lookup *l, const tl_keys *keys)
{
    const tl_row_index *index = l->by_one_key ? &l->by_key : &l->by_primary;
    for (int64_t i = 0; i < keys->count; i++) {
        const struct tl_row_entry *entry = tl_row_index_first(index, tl_row_index_hash(keys, i));
        for (; entry != NULL; entry = tl_row_index_next(index, entry)) {
            chunk *c = &l->chunks[entry->chunk];
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
        TL_TRY(keys_of(batch, l->primary, l->n_primary, &primary, err));
    TL_TRY(dead_of_changes(l, batch, primary, &dead, err));
    if (primary != NULL)
        kill_rows(l, primary);
    return add_chunk(l, TL_STEAL(batch), dead, err);
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
        clear(l);
    } else {
        bool reload;
        TL_TRY(must_reload(l, latest, &reload, err));
        if (!reload)
            TL_TRY(follow(l, latest, err));
        if (reload || (l->rows > 4096 && l->alive < l->rows / 2))
            TL_TRY(load(l, latest, err));
    }
    l->snapshot = latest;
    if (changed != NULL)
        *changed = true;
    return TL_OK;
}

/* ---- open ---- */

/* What a row is likely to take in memory: fixed-width columns as they are, others as 32 bytes, keys and index. */
static int64_t row_bytes(const tl_lookup_spec *spec)
{
    const tl_type *row_type = tl_table_row_type(spec->table);
    int64_t bytes = 48;
    for (int32_t i = 0; i < spec->n_keys + spec->n_columns; i++) {
        int32_t column = i < spec->n_keys ? spec->keys[i] : spec->columns[i - spec->n_keys];
        int32_t width = tl_phys_width(tl_type_phys(row_type->fields[column].type));
        bytes += width > 0 ? width : 32;
    }
    return bytes;
}

static tl_status choose_tier(tl_lookup *l, const tl_lookup_spec *spec, tl_error *err)
{
    bool only_memory = l->newest_partitions > 0 || tl_table_is_system(l->table);
    if (only_memory && spec->tier == TL_LOOKUP_FILES)
        return tl_error_set(err, TL_E_UNSUPPORTED, "a look-up in a system table or in max_pt() is held in memory: it cannot be made from files");
    l->tier = only_memory ? TL_LOOKUP_MEMORY : spec->tier;
    if (l->tier != TL_LOOKUP_AUTO)
        return TL_OK;
    tl_scan_spec scan = {.predicate = spec->predicate, .limit = -1, .pool = spec->pool};
    tl_splits splits = {0};
    TL_TRY(tl_table_plan(l->table, &scan, &splits, err));
    int64_t rows = 0;
    for (size_t i = 0; i < splits.n; i++) {
        for (size_t f = 0; f < splits.items[i].files.n; f++)
            rows += splits.items[i].files.items[f]->rows;
    }
    tl_splits_deinit(&splits);
    l->tier = rows <= spec->memory_bytes / row_bytes(spec) ? TL_LOOKUP_MEMORY : TL_LOOKUP_FILES;
    return TL_OK;
}

static tl_status init(tl_lookup *l, const tl_lookup_spec *spec, tl_error *err)
{
    l->table = spec->table;
    l->pool = spec->pool;
    l->incremental = changes_are_exact(l->table);
    l->newest_partitions = newest_partitions(l->table);
    TL_TRY(choose_tier(l, spec, err));
    l->kept_bytes_max = spec->memory_bytes / 8;
    TL_TRY(choose_columns(l, spec, err));
    return tl_lookup_refresh(l, NULL, err);
}

tl_status tl_lookup_open(const tl_lookup_spec *spec, tl_lookup **out, tl_error *err)
{
    if (tl_table_is_format(spec->table)) /* without snapshots nobody knows when to look again */
        return tl_error_set(err, TL_E_UNSUPPORTED, "not supported: look-ups in a format table");
    tl_lookup *l = tl_calloc(1, sizeof *l);
    if (l == NULL)
        return tl_nomem(err, "look-up");
    tl_status status = init(l, spec, err);
    if (status != TL_OK) {
        tl_lookup_free(l);
        return tl_error_wrap(err, status, "look-up in '%s'", tl_table_path(spec->table));
    }
    *out = l;
    return TL_OK;
}

void tl_lookup_free(tl_lookup *l)
{
    if (l == NULL)
        return;
    clear(l);
    tl_row_layout_free(l->layout);
    tl_type_unref(l->answer);
    tl_free(l->chunks);
    tl_free(l->stored);
    tl_free(l->keys);
    tl_free(l->columns);
    tl_free(l->primary);
    tl_predicate_free(l->predicate);
    tl_predicate_free(l->stored_predicate);
    tl_free(l);
}

int64_t tl_lookup_snapshot(const tl_lookup *l)
{
    return l->snapshot;
}

tl_lookup_tier tl_lookup_tier_of(const tl_lookup *l)
{
    return l->tier;
}

int64_t tl_lookup_rows(const tl_lookup *l)
{
    return l->alive;
}

int64_t tl_lookup_bytes(const tl_lookup *l)
{
    return l->held_bytes + tl_row_index_bytes(&l->by_key) + tl_row_index_bytes(&l->by_primary) + l->asked.bytes;
}

/* ---- matches ---- */

typedef struct match_list {
    tl_lookup_matches *out;
    int64_t expected;
    int64_t cap;
} match_list;

static tl_status add_match(match_list *list, uint32_t left, uint32_t chunk_number, uint32_t row)
{
    tl_lookup_matches *m = list->out;
    if (m->n == list->cap) {
        int64_t cap = list->cap == 0 ? TL_MAX(TL_MIN(list->expected, 4096), 4) : list->cap * 2;
        uint32_t *lefts = tl_realloc(m->left, sizeof *lefts * (size_t)cap);
        if (lefts == NULL)
            return TL_E_NOMEM;
        m->left = lefts;
        tl_rowref *rights = tl_realloc(m->right, sizeof *rights * (size_t)cap);
        if (rights == NULL)
            return TL_E_NOMEM;
        m->right = rights;
        list->cap = cap;
    }
    m->left[m->n] = left;
    m->right[m->n++] = (tl_rowref){chunk_number, row};
    return TL_OK;
}

static bool any_null(const tl_column *const *cols, int32_t n, int64_t row)
{
    for (int32_t i = 0; i < n; i++)
        if (tl_col_is_null(cols[i], row))
            return true;
    return false;
}

/* ---- the tier of files ---- */

/* Predicates compare floats otherwise than keys do. */
static bool can_push(const tl_column *col)
{
    return col->phys != TL_PHYS_F32 && col->phys != TL_PHYS_F64;
}

/* The look-up's own filter, and for each key column that it is one of the wanted values. Not exact: mark_others() decides. */
static tl_status wanted_predicate(const tl_lookup *l, tl_column *const *wanted, tl_predicate **out, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = NULL;
    if (l->predicate != NULL)
        TL_TRY(tl_predicate_dup(l->predicate, &pred, err));
    for (int32_t k = 0; k < l->n_keys; k++) {
        if (!can_push(wanted[k]))
            continue;
        tl_predicate *leaf = NULL, *both = NULL;
        TL_TRY(tl_predicate_leaf(TL_PRED_IN, l->stored[l->keys[k]], tl_column_ref(wanted[k]), &leaf, err));
        TL_TRY(tl_predicate_combine(TL_PRED_AND, TL_STEAL(pred), leaf, &both, err));
        pred = both;
    }
    *out = TL_STEAL(pred);
    return TL_OK;
}

/* Rows whose key has no NULL and is not known yet, in key order and each key once: the order in which files have them. */
static tl_status distinct_keys(const tl_lookup *l, const tl_column *const *keys, int64_t n_rows, uint32_t *rows, int64_t *n, tl_error *err)
{
    TL_CLEANUP(tl_keys_freep) tl_keys *all = NULL;
    *n = 0;
    TL_TRY(tl_keys_create(keys, l->n_keys, n_rows, &all, err));
    TL_TRY(tl_keys_sort(all, rows, err));
    for (int64_t i = 0; i < n_rows; i++) {
        bool again = *n > 0 && tl_keys_compare(all, rows[*n - 1], all, rows[i]) == 0;
        if (!again && !any_null(keys, l->n_keys, rows[i]) && !tl_lookup__asked_has(&l->asked, all, rows[i], /* newest= */ false))
            rows[(*n)++] = rows[i];
    }
    return TL_OK;
}

static tl_status read_wanted(tl_lookup *l, tl_column *const *wanted, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = NULL;
    TL_TRY(wanted_predicate(l, wanted, &pred, err));
    tl_scan_spec spec = {.columns = l->stored, .n_columns = l->n_stored, .predicate = pred, .limit = -1, .pool = l->pool};
    tl_splits splits = {0};
    TL_TRY(tl_table_plan_at(l->table, l->snapshot, &spec, &splits, err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < splits.n && status == TL_OK; i++) {
        tl_reader *reader = NULL;
        status = tl_table_read_split(l->table, &splits.items[i], &spec, &reader, err);
        if (status == TL_OK)
            status = load_reader(l, reader, err);
    }
    tl_splits_deinit(&splits);
    return status;
}

/* Note the keys of some rows as asked for, and read what files hold of them. */
static tl_status ask(tl_lookup *l, const tl_column *const *keys, const uint32_t *rows, int64_t n, tl_error *err)
{
    tl_keys *asked = NULL;
    tl_column **wanted = tl_calloc((size_t)l->n_keys + 1, sizeof *wanted);
    tl_status status = wanted == NULL ? tl_nomem(err, "look-up keys") : TL_OK;
    for (int32_t k = 0; k < l->n_keys && status == TL_OK; k++)
        status = tl_column_gather(keys[k], rows, n, &wanted[k], err);
    if (status == TL_OK)
        status = tl_keys_create((const tl_column *const *)wanted, l->n_keys, n, &asked, err);
    if (status == TL_OK)
        status = tl_lookup__asked_add(&l->asked, asked, err);
    if (status == TL_OK)
        status = read_wanted(l, wanted, err);
    for (int32_t k = 0; k < l->n_keys && wanted != NULL; k++)
        tl_column_unref(wanted[k]);
    tl_free(wanted);
    return status;
}

#define KEPT_CHUNKS_MAX 16384 /* every probe that reads makes some: a gather of many rows looks at all */

/*
 * Read what may hold one of the keys into chunks, which then answer as if they were the table. Rows are kept for the probes to come,
 * and that a key has none, as long as there is room: a key that is asked for again costs what it costs in memory.
 */
static tl_status load_wanted(tl_lookup *l, const tl_column *const *keys, int64_t n_rows, tl_error *err)
{
    TL_CLEANUP(tl_freep) uint32_t *rows = tl_alloc(sizeof *rows * (size_t)(n_rows + 1));
    if (rows == NULL)
        return tl_nomem(err, "look-up keys");
    if (l->held_bytes + l->asked.bytes > l->kept_bytes_max || l->n_chunks > KEPT_CHUNKS_MAX)
        clear(l);
    int64_t n = 0;
    TL_TRY(distinct_keys(l, keys, n_rows, rows, &n, err));
    if (n == 0 || l->snapshot == 0)
        return TL_OK;
    tl_status status = ask(l, keys, rows, n, err);
    if (status != TL_OK)
        clear(l); /* rows of some keys are there, of others not */
    return status;
}

/* ---- probing ---- */

/* Rows whose cache lines are asked for before the first of them is looked at. */
#define AHEAD 16

static tl_status match_one(const tl_lookup *l, const tl_keys *probe, int64_t i, uint32_t hash, match_list *list)
{
    const struct tl_row_entry *entry = tl_row_index_first(&l->by_key, hash);
    for (; entry != NULL; entry = tl_row_index_next(&l->by_key, entry)) {
        const chunk *c = &l->chunks[entry->chunk];
        __builtin_prefetch(&c->rows.starts[entry->row]); /* of what comes next, while the key is compared */
        if (!tl_bit_get(c->dead, entry->row) && tl_keys_compare(c->keys, entry->row, probe, i) == 0)
            TL_TRY(add_match(list, (uint32_t)i, entry->chunk, entry->row));
    }
    return TL_OK;
}

static tl_status probe_chunks(tl_lookup *l, const tl_column *const *keys, int64_t n_rows, tl_lookup_matches *out, tl_error *err)
{
    TL_CLEANUP(tl_keys_freep) tl_keys *probe = NULL;
    match_list list = {.out = out, .expected = n_rows};
    uint32_t hashes[AHEAD];
    TL_TRY(tl_keys_create(keys, l->n_keys, n_rows, &probe, err));
    for (int64_t from = 0; from < n_rows; from += AHEAD) {
        int64_t end = TL_MIN(from + AHEAD, n_rows);
        for (int64_t i = from; i < end; i++) {
            hashes[i - from] = tl_row_index_hash(probe, i);
            tl_row_index_prefetch(&l->by_key, hashes[i - from]);
        }
        for (int64_t i = from; i < end; i++) {
            if (!any_null(keys, l->n_keys, i) && match_one(l, probe, i, hashes[i - from], &list) != TL_OK)
                return tl_nomem(err, "look-up matches");
        }
    }
    return TL_OK;
}

tl_status tl_lookup_probe(tl_lookup *l, const tl_column *const *keys, int64_t n_rows, tl_lookup_matches *out, tl_error *err)
{
    *out = (tl_lookup_matches){0};
    if (l->tier == TL_LOOKUP_MEMORY && l->alive == 0)
        return TL_OK;
    /* Keys of NOT NULL and of nullable columns have different bytes: the probe takes the stored columns' types. */
    const tl_type *row_type = tl_table_row_type(l->table);
    const tl_column **cols = tl_calloc((size_t)l->n_keys + 1, sizeof *cols);
    if (cols == NULL)
        return tl_nomem(err, "look-up keys");
    tl_status status = TL_OK;
    for (int32_t i = 0; i < l->n_keys && status == TL_OK; i++) {
        tl_column *typed = NULL;
        status = tl_column_retype(keys[i], row_type->fields[l->stored[l->keys[i]]].type, &typed, err);
        cols[i] = typed;
    }
    if (status == TL_OK && l->tier == TL_LOOKUP_FILES)
        status = load_wanted(l, cols, n_rows, err);
    if (status == TL_OK && l->alive > 0)
        status = probe_chunks(l, cols, n_rows, out, err);
    for (int32_t i = 0; i < l->n_keys; i++)
        tl_column_unref((tl_column *)cols[i]);
    tl_free(cols);
    if (status != TL_OK)
        tl_lookup_matches_deinit(out);
    return status;
}

void tl_lookup_matches_deinit(tl_lookup_matches *matches)
{
    tl_free(matches->left);
    tl_free(matches->right);
    *matches = (tl_lookup_matches){0};
}

/* ---- the rows found ---- */

/* Where the rows lie. The lines of one are asked for all at once, up to some: the others come as they are read. */
static void find_rows(const tl_lookup *l, const tl_rowref *refs, int64_t n, const uint8_t **rows)
{
    for (int64_t i = 0; i < n; i++) {
        if (refs[i].row == TL_ROW_NULL) {
            rows[i] = tl_row_layout_null_row(l->layout);
            continue;
        }
        const tl_packed_rows *from = &l->chunks[refs[i].src].rows;
        rows[i] = from->bytes + from->starts[refs[i].row];
        for (size_t at = 0; at < 256; at += 64)
            __builtin_prefetch(rows[i] + at);
    }
}

/* The chunks that rows come from, each once: what a gather would do for every chunk of the table costs more than a few rows. */
typedef struct chunk_choice {
    uint32_t *chunks;
    uint32_t n;
    tl_rowref *refs; /* the rows, with the chunks' places in `chunks` */
} chunk_choice;

static tl_status choose_chunks(const tl_lookup *l, const tl_rowref *refs, int64_t n, chunk_choice *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) uint32_t *place = tl_calloc((size_t)l->n_chunks + 1, sizeof *place); /* + 1 */
    out->chunks = tl_alloc(sizeof *out->chunks * ((size_t)TL_MIN(n, (int64_t)l->n_chunks) + 1));
    out->refs = tl_alloc(sizeof *out->refs * (size_t)(n + 1));
    if (out->chunks == NULL || out->refs == NULL || place == NULL)
        return tl_nomem(err, "look-up rows");
    for (int64_t i = 0; i < n; i++) {
        uint32_t chunk_number = refs[i].src;
        if (refs[i].row == TL_ROW_NULL) {
            out->refs[i] = (tl_rowref){0, TL_ROW_NULL};
            continue;
        }
        if (place[chunk_number] == 0) {
            out->chunks[out->n++] = chunk_number;
            place[chunk_number] = out->n;
        }
        out->refs[i] = (tl_rowref){place[chunk_number] - 1, refs[i].row};
    }
    return TL_OK;
}

static tl_status gather_chosen(const tl_lookup *l, const chunk_choice *from, int64_t n, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) const tl_column **srcs = tl_alloc(sizeof *srcs * ((size_t)from->n + 1));
    if (srcs == NULL)
        return tl_nomem(err, "look-up rows");
    tl_rowrefs refs = tl_rowrefs_scan(from->refs, n);
    for (int32_t c = 0; c < l->n_columns; c++) {
        if (tl_row_layout_has(l->layout, c))
            continue;
        for (uint32_t i = 0; i < from->n; i++)
            srcs[i] = l->chunks[from->chunks[i]].unpacked[c];
        TL_TRY(tl_column_gather_refs(l->answer->fields[c].type, srcs, &refs, &out[c], err));
    }
    return TL_OK;
}

/* The columns that are not packed. */
static tl_status gather_others(const tl_lookup *l, const tl_rowref *refs, int64_t n, tl_column **out, tl_error *err)
{
    chunk_choice from = {0};
    tl_status status = choose_chunks(l, refs, n, &from, err);
    if (status == TL_OK)
        status = gather_chosen(l, &from, n, out, err);
    tl_free(from.chunks);
    tl_free(from.refs);
    return status;
}

tl_status tl_lookup_gather(tl_lookup *l, const tl_rowref *refs, int64_t n, tl_column **out, tl_error *err)
{
    const uint8_t *stack[AHEAD];
    TL_CLEANUP(tl_freep) const uint8_t **heap = n <= AHEAD ? NULL : tl_alloc((size_t)n * sizeof *heap);
    const uint8_t **rows = n <= AHEAD ? stack : heap;
    if (rows == NULL)
        return tl_nomem(err, "look-up rows");
    find_rows(l, refs, n, rows);
    TL_TRY(tl_rows_unpack(l->layout, rows, n, out, err));
    tl_status status = l->all_packed ? TL_OK : gather_others(l, refs, n, out, err);
    for (int32_t c = 0; c < l->n_columns && status != TL_OK; c++) {
        tl_column_unref(out[c]);
        out[c] = NULL;
    }
    return status;
}
