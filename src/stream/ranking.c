#include "stream/ranking.h"

#include "stream/array.h"
#include "types/key.h"

static int compare(const tl_rank_order *order, tl_rowref a, const tl_batch *batch, int64_t i)
{
    for (int32_t k = 0; k < order->n_keys; k++) {
        const tl_sort_key *key = &order->keys[k];
        int c = tl_column_compare(tl_row_buffer_column(order->rows, a, key->column), a.row, batch->cols[key->column], i, key->descending, key->nulls_first);
        if (c != 0)
            return c;
    }
    return 0;
}

/* First row that does not come before row `i` of the batch, or, `behind`, that comes after it. */
static int64_t place_of(const tl_rank_order *order, const tl_ranking *ranking, const tl_batch *batch, int64_t i, bool behind)
{
    int64_t lo = 0, hi = ranking->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        int c = compare(order, ranking->rows[mid], batch, i);
        if (c < 0 || (behind && c == 0))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

tl_status tl_ranking_insert(const tl_rank_order *order, tl_ranking *ranking, tl_rowref row, int64_t limit, tl_rowref *dropped, bool *has_dropped)
{
    const tl_batch *batch = order->rows->chunks[row.src];
    bool full = ranking->n == limit;
    *has_dropped = full;
    if (full) { /* most rows of a long stream end here */
        int c = ranking->n == 0 ? -1 : compare(order, ranking->rows[ranking->n - 1], batch, row.row);
        if (c < 0 || (c == 0 && !order->newest_first)) {
            *dropped = row;
            return TL_OK;
        }
    }
    TL_TRY(tl_array_fit(&ranking->rows, sizeof *ranking->rows, ranking->n, &ranking->cap, 1));
    int64_t at = place_of(order, ranking, batch, row.row, !order->newest_first);
    if (full)
        *dropped = ranking->rows[--ranking->n];
    memmove(ranking->rows + at + 1, ranking->rows + at, sizeof *ranking->rows * (size_t)(ranking->n - at));
    ranking->rows[at] = row;
    ranking->n++;
    return TL_OK;
}

bool tl_rank_rows_equal(const tl_row_buffer *rows, tl_rowref a, const tl_batch *batch, int64_t i)
{
    for (int32_t c = 0; c < batch->n_cols; c++)
        if (!tl_column_equal(tl_row_buffer_column(rows, a, c), a.row, batch->cols[c], i))
            return false;
    return true;
}

bool tl_ranking_remove(const tl_rank_order *order, tl_ranking *ranking, const tl_batch *batch, int64_t i, tl_rowref *removed)
{
    for (int64_t k = place_of(order, ranking, batch, i, false); k < ranking->n && compare(order, ranking->rows[k], batch, i) == 0; k++) {
        if (!tl_rank_rows_equal(order->rows, ranking->rows[k], batch, i))
            continue;
        *removed = ranking->rows[k];
        memmove(ranking->rows + k, ranking->rows + k + 1, sizeof *ranking->rows * (size_t)(ranking->n - k - 1));
        ranking->n--;
        return true;
    }
    return false;
}

tl_status tl_ranking_gather(const tl_row_buffer *rows, const tl_rowref *refs, bool with_rank, const int64_t *ranks, int64_t n, const tl_type *type,
                            tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    int32_t n_cols = type->n_fields - with_rank;
    TL_TRY(tl_batch_create(type, n, &result, err));
    TL_TRY(tl_row_buffer_gather(rows, refs, n, NULL, n_cols, result, 0, err));
    if (with_rank) {
        TL_TRY(tl_column_alloc(type->fields[n_cols].type, n, &result->cols[n_cols], err));
        if (n > 0)
            memcpy(result->cols[n_cols]->values, ranks, sizeof *ranks * (size_t)n);
    }
    *out = TL_STEAL(result);
    return TL_OK;
}
