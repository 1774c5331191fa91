/*
 * Rows that an operator keeps until it lets them go, in chunks of columns: sessions, rankings, OVER and joins by time. Unlike
 * row_store.h there is no index: the owner has references to its rows. Private to stream/.
 */
#ifndef TL_STREAM_ROW_BUFFER_H
#define TL_STREAM_ROW_BUFFER_H

#include "types/column.h"

typedef struct tl_row_buffer {
    tl_batch **chunks; /* NULL: the slot is free */
    int64_t *live;     /* rows of each chunk that are still wanted */
    uint32_t n, cap;
    int64_t rows, alive;
} tl_row_buffer;

void tl_row_buffer_deinit(tl_row_buffer *buffer);
/** Keep the rows sel[0..n) of a batch (its columns only): row k is {*chunk, k} from now on. Nothing happens if n is 0. */
tl_status tl_row_buffer_add(tl_row_buffer *buffer, const tl_batch *batch, const uint32_t *sel, int64_t n, uint32_t *chunk, tl_error *err);
/** Keep all rows of a batch. */
tl_status tl_row_buffer_add_all(tl_row_buffer *buffer, const tl_batch *batch, uint32_t *chunk, tl_error *err);
/** Keep a batch without kinds that was made for it: taken over, and *rows is NULL then, unless it is empty or something fails. */
tl_status tl_row_buffer_put(tl_row_buffer *buffer, tl_batch **rows, uint32_t *chunk, tl_error *err);
/** The owner has no more use for a row; a chunk without live rows is freed at once. */
void tl_row_buffer_release(tl_row_buffer *buffer, tl_rowref ref);
/** Most memory is held by rows that were let go: the owner should call tl_row_buffer_compact(). */
static inline bool tl_row_buffer_is_sparse(const tl_row_buffer *buffer)
{
    return buffer->rows > 65536 && buffer->alive < buffer->rows / 4;
}
/** Move the live rows together. `refs`: all references that there are, each once; they are rewritten. */
tl_status tl_row_buffer_compact(tl_row_buffer *buffer, tl_rowref *const *refs, int64_t n, tl_error *err);
static inline const tl_column *tl_row_buffer_column(const tl_row_buffer *buffer, tl_rowref ref, int32_t column)
{
    return buffer->chunks[ref.src]->cols[column];
}
/**
 * Columns from[0..n_columns) (NULL: the first n_columns) of the rows refs[0..n) into out->cols[at …]; TL_ROW_NULL gives NULLs.
 */
tl_status tl_row_buffer_gather(const tl_row_buffer *buffer, const tl_rowref *refs, int64_t n, const int32_t *from, int32_t n_columns, tl_batch *out,
                               int32_t at, tl_error *err);

#endif
