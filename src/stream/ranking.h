/* Rows of one partition in an order: rankings and what is kept per key in order of time. Private to stream/. */
#ifndef TL_STREAM_RANKING_H
#define TL_STREAM_RANKING_H

#include "sql/sql.h"
#include "stream/row_buffer.h"

/** An order of rows in a buffer; rows that are equal in it stand in order of arrival, or newest first. */
typedef struct tl_rank_order {
    const tl_row_buffer *rows;
    const tl_sort_key *keys;
    int32_t n_keys;
    bool newest_first;
} tl_rank_order;

/** Zero-initialise; tl_free(ranking->rows). */
typedef struct tl_ranking {
    tl_rowref *rows; /* best first */
    int64_t n, cap;
} tl_ranking;

/**
 * Put a row in its place; at most `limit` rows stay. *has_dropped: a row fell off the end (it may be the new one). TL_E_NOMEM has no
 * message.
 */
tl_status tl_ranking_insert(const tl_rank_order *order, tl_ranking *ranking, tl_rowref row, int64_t limit, tl_rowref *dropped, bool *has_dropped);
/** Take out a row that is equal to row `i` of a batch in all columns; false if there is none. */
bool tl_ranking_remove(const tl_rank_order *order, tl_ranking *ranking, const tl_batch *batch, int64_t i, tl_rowref *removed);
/** Whether two rows are equal in all columns. */
bool tl_rank_rows_equal(const tl_row_buffer *rows, tl_rowref a, const tl_batch *batch, int64_t i);
/** The rows refs[0..n) of a buffer as a batch of `type`; with_rank: its last column is a BIGINT, ranks[0..n). */
tl_status tl_ranking_gather(const tl_row_buffer *rows, const tl_rowref *refs, bool with_rank, const int64_t *ranks, int64_t n, const tl_type *type,
                            tl_batch **out, tl_error *err);

#endif
