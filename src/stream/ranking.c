#include "stream/ranking.h"

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
    if (ranking->n == ranking->cap) {
        int64_t cap = ranking->cap == 0 ? 1 : ranking->cap * 2;
        tl_rowref *grown = tl_realloc(ranking->rows, sizeof *grown * (size_t)cap);
        if (grown == NULL)
            return TL_E_NOMEM;
        ranking->rows = grown;
        ranking->cap = cap;
    }
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
