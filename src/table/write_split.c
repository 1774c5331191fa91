/*
 * Splitting a batch by partition and bucket: partitions and buckets of all rows at once, a counting sort of row numbers, then, where
 * and when the caller wants it, one gather for each bucket. A batch of one bucket is handed on as it is.
 */
#include "table/write_private.h"

#include "base/bits.h"

void tl_bucket_parts_deinit(tl_bucket_parts *parts)
{
    for (size_t i = 0; i < parts->n; i++) {
        tl_bytes_deinit(&parts->items[i].partition);
        tl_batch_free(parts->items[i].rows);
    }
    tl_free(parts->items);
    tl_batch_free(parts->batch);
    tl_free(parts->order);
    *parts = (tl_bucket_parts){0};
}

/* Groups of the batch: which one each row is in, and what each stands for. */
typedef struct grouping {
    int64_t n_rows;
    uint32_t *group_of; /* per row */
    uint32_t n_groups;
    uint32_t cap;
    uint32_t *first_row; /* per group: a row whose partition and bucket are the group's */
    uint32_t *count;
    tl_map index; /* (partition, bucket) -> group + 1 */
} grouping;

static void grouping_deinit(grouping *g)
{
    tl_free(g->group_of);
    tl_free(g->first_row);
    tl_free(g->count);
    tl_map_deinit(&g->index);
}

static tl_status add_group(grouping *g, int64_t row, uint32_t *out)
{
    if (g->n_groups == g->cap) {
        uint32_t cap = g->cap == 0 ? 16 : g->cap * 2;
        uint32_t *first = tl_realloc(g->first_row, cap * sizeof *first);
        if (first == NULL)
            return TL_E_NOMEM;
        g->first_row = first;
        uint32_t *count = tl_realloc(g->count, cap * sizeof *count);
        if (count == NULL)
            return TL_E_NOMEM;
        g->count = count;
        g->cap = cap;
    }
    g->first_row[g->n_groups] = (uint32_t)row;
    g->count[g->n_groups] = 0;
    *out = g->n_groups++;
    return TL_OK;
}

/* Without partitions a bucket number is all there is: groups are found in an array. */
static tl_status group_by_bucket(grouping *g, const int32_t *buckets)
{
    int32_t least = TL_POSTPONE_BUCKET, most = 0;
    for (int64_t i = 0; i < g->n_rows; i++)
        most = TL_MAX(most, buckets[i]);
    TL_CLEANUP(tl_freep) uint32_t *of_bucket = tl_calloc((size_t)((int64_t)most - least + 1), sizeof *of_bucket); /* group + 1 */
    if (of_bucket == NULL)
        return TL_E_NOMEM;
    for (int64_t i = 0; i < g->n_rows; i++) {
        uint32_t *group = &of_bucket[buckets[i] - least];
        if (*group == 0) {
            uint32_t fresh = 0;
            TL_TRY(add_group(g, i, &fresh));
            *group = fresh + 1;
        }
        g->group_of[i] = *group - 1;
        g->count[*group - 1]++;
    }
    return TL_OK;
}

/* Rows of one partition tend to come together: the group of the row before is tried first. */
static tl_status group_by_partition(grouping *g, const int32_t *buckets, const tl_buf *rows, const int64_t *offsets)
{
    tl_buf key = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < g->n_rows && status == TL_OK; i++) {
        tl_bytes_view row = {rows->data + offsets[i], (size_t)(offsets[i + 1] - offsets[i])};
        if (i > 0 && buckets[i] == buckets[i - 1] &&
            tl_bytes_equal(row, (tl_bytes_view){rows->data + offsets[i - 1], (size_t)(offsets[i] - offsets[i - 1])})) {
            g->group_of[i] = g->group_of[i - 1];
            g->count[g->group_of[i]]++;
            continue;
        }
        key.len = 0;
        status = tl_buf_append(&key, &buckets[i], sizeof buckets[i]);
        if (status == TL_OK)
            status = tl_buf_append(&key, row.data, row.len);
        if (status != TL_OK)
            break;
        uintptr_t found = (uintptr_t)tl_map_get(&g->index, key.data, key.len);
        uint32_t group = (uint32_t)found - 1;
        if (found == 0) {
            status = add_group(g, i, &group);
            if (status == TL_OK)
                status = tl_map_put(&g->index, key.data, key.len, (void *)(uintptr_t)(group + 1), NULL);
        }
        if (status == TL_OK) {
            g->group_of[i] = group;
            g->count[group]++;
        }
    }
    tl_buf_deinit(&key);
    return status;
}

static tl_status dynamic_buckets(const tl_table *table, tl_hash_index *index, const tl_batch *batch, const tl_buf *rows, const int64_t *offsets,
                                 int32_t *buckets, tl_error *err)
{
    TL_CLEANUP(tl_freep) int32_t *hashes = tl_alloc((size_t)batch->n_rows * sizeof *hashes);
    TL_CLEANUP(tl_freep) const tl_column **cols = tl_calloc((size_t)table->n_keys, sizeof *cols);
    if (hashes == NULL || cols == NULL)
        return tl_nomem(err, "buckets");
    for (int32_t i = 0; i < table->n_keys; i++)
        cols[i] = batch->cols[table->key_idx[i]];
    TL_TRY(tl_bucket_hash(cols, table->n_keys, batch->n_rows, hashes, err));
    return tl_hash_index_assign(index, hashes, batch->n_rows, rows, offsets, buckets, err);
}

static tl_status assign_buckets(const tl_table *table, const tl_bucket_chooser *by, const tl_batch *batch, const tl_buf *rows, const int64_t *offsets,
                                int32_t *buckets, tl_error *err)
{
    if (by->hashes != NULL)
        return dynamic_buckets(table, by->hashes, batch, rows, offsets, buckets, err);
    if (table->bucket_mode != TL_BUCKETS_FIXED) {
        /* Without buckets everything lies in bucket 0; rows that wait for a bucket in one of their own. */
        for (int64_t i = 0; i < batch->n_rows; i++)
            buckets[i] = table->bucket_mode == TL_BUCKETS_POSTPONE ? TL_POSTPONE_BUCKET : 0;
        return TL_OK;
    }
    TL_CLEANUP(tl_freep) const tl_column **cols = tl_calloc((size_t)table->n_bucket_keys, sizeof *cols);
    if (cols == NULL)
        return tl_nomem(err, "buckets");
    for (int32_t i = 0; i < table->n_bucket_keys; i++)
        cols[i] = batch->cols[table->bucket_idx[i]];
    if (by->counts != NULL)
        return tl_bucket_counts_assign(by->counts, table, cols, batch->n_rows, rows, offsets, buckets, err);
    return tl_bucket_assign(table->bucket_function, cols, table->n_bucket_keys, batch->n_rows, table->n_buckets, buckets, err);
}

tl_status tl_partition_rows(const tl_table *table, const tl_batch *batch, tl_buf *rows, int64_t *offsets, tl_error *err)
{
    TL_CLEANUP(tl_freep) const tl_column **cols = tl_calloc((size_t)table->n_partition, sizeof *cols);
    if (cols == NULL)
        return tl_nomem(err, "partitions");
    for (int32_t i = 0; i < table->n_partition; i++)
        cols[i] = batch->cols[table->partition_idx[i]];
    return tl_binary_rows(cols, table->n_partition, batch->n_rows, rows, offsets, err);
}

tl_status tl_partition_with_arity(const tl_table *table, tl_bytes_view row, tl_bytes *out)
{
    out->data = tl_alloc(4 + row.len);
    if (out->data == NULL)
        return TL_E_NOMEM;
    out->len = 4 + row.len;
    tl_write_be32(out->data, (uint32_t)table->n_partition);
    memcpy(out->data + 4, row.data, row.len);
    return TL_OK;
}

/* The stored form of a partition, also where there is no column at all. */
static tl_status partition_of(const tl_table *table, const tl_buf *rows, const int64_t *offsets, uint32_t row, tl_bytes *out)
{
    static const uint8_t none[8];
    tl_bytes_view view = {none, sizeof none};
    if (offsets != NULL)
        view = (tl_bytes_view){rows->data + offsets[row], (size_t)(offsets[row + 1] - offsets[row])};
    return tl_partition_with_arity(table, view, out);
}

/* Row numbers sorted by group, stable; starts[g] is where group g begins. */
static tl_status sorted_rows(const grouping *g, uint32_t **order, uint32_t **starts)
{
    *order = tl_alloc((size_t)g->n_rows * sizeof **order);
    *starts = tl_calloc((size_t)g->n_groups + 1, sizeof **starts);
    TL_CLEANUP(tl_freep) uint32_t *next = tl_calloc(g->n_groups, sizeof *next);
    if (*order == NULL || *starts == NULL || next == NULL)
        return TL_E_NOMEM;
    for (uint32_t i = 0; i < g->n_groups; i++) {
        (*starts)[i + 1] = (*starts)[i] + g->count[i];
        next[i] = (*starts)[i];
    }
    for (int64_t i = 0; i < g->n_rows; i++)
        (*order)[next[g->group_of[i]]++] = (uint32_t)i;
    return TL_OK;
}

static tl_status cut(const tl_table *table, tl_batch **batch, const grouping *g, const int32_t *buckets, const tl_buf *rows,
                     const int64_t *offsets, tl_bucket_parts *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) uint32_t *starts = NULL;
    if (g->n_groups > 1 && sorted_rows(g, &out->order, &starts) != TL_OK)
        return tl_nomem(err, "buckets");
    out->items = tl_calloc(g->n_groups, sizeof *out->items);
    if (out->items == NULL)
        return tl_nomem(err, "buckets");
    out->n = g->n_groups;
    for (uint32_t i = 0; i < g->n_groups; i++) {
        tl_bucket_rows *part = &out->items[i];
        part->bucket = buckets[g->first_row[i]];
        if (partition_of(table, rows, offsets, g->first_row[i], &part->partition) != TL_OK)
            return tl_nomem(err, "buckets");
        part->first = starts == NULL ? 0 : starts[i];
        part->n = g->count[i];
    }
    if (g->n_groups == 1)
        out->items[0].rows = TL_STEAL(*batch);
    else
        out->batch = TL_STEAL(*batch);
    return TL_OK;
}

tl_status tl_bucket_parts_gather(tl_bucket_parts *parts, tl_error *err)
{
    for (size_t i = 0; parts->batch != NULL && i < parts->n; i++) {
        tl_bucket_rows *part = &parts->items[i];
        if (part->rows == NULL)
            TL_TRY(tl_batch_gather(parts->batch, parts->order + part->first, part->n, &part->rows, err));
    }
    return TL_OK;
}

/* `given`: buckets of the rows that are known already, or NULL. */
static tl_status split(const tl_table *table, const tl_bucket_chooser *by, const int32_t *given, tl_batch **batch, tl_bucket_parts *out, tl_error *err)
{
    int64_t n_rows = (*batch)->n_rows;
    grouping g = {.n_rows = n_rows};
    tl_buf rows = {0};
    TL_CLEANUP(tl_freep) int32_t *buckets = tl_alloc((size_t)n_rows * sizeof *buckets);
    TL_CLEANUP(tl_freep) int64_t *offsets = table->n_partition == 0 ? NULL : tl_alloc((size_t)(n_rows + 1) * sizeof *offsets);
    g.group_of = tl_alloc((size_t)n_rows * sizeof *g.group_of);
    tl_status status = TL_OK;
    if (buckets == NULL || g.group_of == NULL || (table->n_partition > 0 && offsets == NULL))
        status = tl_nomem(err, "buckets");
    if (status == TL_OK && table->n_partition > 0)
        status = tl_partition_rows(table, *batch, &rows, offsets, err);
    if (status == TL_OK && given != NULL)
        memcpy(buckets, given, (size_t)n_rows * sizeof *buckets);
    else if (status == TL_OK)
        status = assign_buckets(table, by, *batch, &rows, offsets, buckets, err);
    if (status == TL_OK) {
        status = table->n_partition == 0 ? group_by_bucket(&g, buckets) : group_by_partition(&g, buckets, &rows, offsets);
        if (status != TL_OK)
            status = tl_nomem(err, "buckets");
    }
    if (status == TL_OK)
        status = cut(table, batch, &g, buckets, &rows, offsets, out, err);
    tl_buf_deinit(&rows);
    grouping_deinit(&g);
    return status;
}

tl_status tl_split_by_bucket(const tl_table *table, const tl_bucket_chooser *by, tl_batch *batch_take, tl_bucket_parts *out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = batch_take;
    TL_CLEANUP(tl_freep) int32_t *given = NULL;
    *out = (tl_bucket_parts){0};
    if (batch->n_rows > 0 && by->keys != NULL)
        TL_TRY(tl_key_index_route(by->keys, &batch, &given, err));
    if (batch->n_rows == 0)
        return TL_OK;
    tl_status status = split(table, by, given, &batch, out, err);
    if (status != TL_OK)
        tl_bucket_parts_deinit(out);
    return status;
}
