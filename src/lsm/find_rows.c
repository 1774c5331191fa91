/* Which rows of a data file pass a filter: their numbers in the file, for deletion vectors. */
#include "lsm/lsm_private.h"

typedef struct numbers {
    int64_t *items;
    size_t n;
    size_t cap;
} numbers;

static tl_status add_numbers(numbers *out, const int64_t *rows, const uint32_t *sel, int64_t n, tl_error *err)
{
    if (out->cap - out->n < (size_t)n) {
        size_t cap = TL_MAX(out->cap * 2, out->n + (size_t)n);
        int64_t *items = tl_realloc(out->items, cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "rows");
        out->items = items;
        out->cap = cap;
    }
    for (int64_t i = 0; i < n; i++)
        out->items[out->n++] = rows[sel == NULL ? i : sel[i]];
    return TL_OK;
}

static tl_status match_batch(const tl_row_finder *finder, const tl_batch *batch, const int64_t *rows, numbers *out, tl_error *err)
{
    if (finder->match == NULL)
        return add_numbers(out, rows, NULL, batch->n_rows, err);
    int64_t n = 0;
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc((size_t)(batch->n_rows + 1) * sizeof *sel);
    if (sel == NULL)
        return tl_nomem(err, "rows");
    TL_TRY(finder->match(finder->ctx, batch, sel, &n, err));
    return add_numbers(out, rows, sel, n, err);
}

/* All columns where somebody looks at the rows, else those that the filter needs. */
static tl_status open_file(tl_lsm__bucket *bucket, const tl_data_file *file, const tl_row_finder *finder, tl_reader **out, tl_error *err)
{
    int32_t n = tl_lsm__n_columns(bucket->config), n_read = 0;
    TL_CLEANUP(tl_freep) bool *used = tl_calloc((size_t)n + 1, sizeof *used);
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc(((size_t)n + 2) * sizeof *columns);
    TL_CLEANUP(tl_lsm__scan_unrefp) tl_lsm__scan *scan = NULL;
    if (used == NULL || columns == NULL)
        return tl_nomem(err, "rows");
    if (finder->predicate != NULL)
        tl_predicate_columns(finder->predicate, used);
    for (int32_t i = 0; i < n; i++) {
        if (used[i] || finder->match != NULL)
            columns[n_read++] = i;
    }
    if (bucket->config->row_tracking && finder->match != NULL)
        columns[n_read++] = n; /* _ROW_ID */
    TL_TRY(tl_lsm__scan_create(bucket, columns, n_read, finder->predicate, &scan, err));
    scan->with_numbers = true;
    scan->map_filter = tl_map_filter_ref(finder->map_filter);
    return tl_lsm__file_open(scan, file, scan->pred, out, err);
}

tl_status tl_file_find_rows(tl_lsm_config *config, tl_bytes_view partition, int32_t number, const tl_data_file *file, tl_dv_set *vectors,
                            const tl_row_finder *finder, int64_t **rows, size_t *n, tl_error *err)
{
    tl_lsm__bucket *bucket = NULL;
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    numbers found = {0};
    TL_TRY(tl_lsm__bucket_create(config, partition, number, &bucket, err));
    bucket->vectors = tl_dv_set_ref(vectors);
    tl_status status = open_file(bucket, file, finder, &reader, err);
    while (status == TL_OK) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        status = tl_reader_next(reader, &batch, err);
        if (status != TL_OK || batch == NULL)
            break;
        status = match_batch(finder, batch, tl_lsm__file_row_numbers(reader), &found, err);
    }
    tl_lsm__bucket_unref(bucket);
    if (status != TL_OK) {
        tl_free(found.items);
        return status;
    }
    *rows = found.items;
    *n = found.n;
    return TL_OK;
}
