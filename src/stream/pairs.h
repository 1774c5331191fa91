/* Pairs of rows of two buffers, which joins by time make: results and what their conditions see. Private to stream/. */
#ifndef TL_STREAM_PAIRS_H
#define TL_STREAM_PAIRS_H

#include "stream/keys.h"
#include "stream/row_buffer.h"

/** Zero-initialise. TL_NO_ROW on one side: NULLs there. */
typedef struct tl_pairs {
    tl_ref_list sides[2];
} tl_pairs;

void tl_pairs_deinit(tl_pairs *pairs);
tl_status tl_pairs_add(tl_pairs *pairs, tl_rowref left, tl_rowref right);
/** The pairs as a batch of `type`: the first columns of the left side, then those of the right, if the type has room. */
tl_status tl_pairs_gather(const tl_pairs *pairs, const tl_row_buffer *left, int32_t n_left, const tl_row_buffer *right, const tl_type *type, tl_batch **out,
                          tl_error *err);
/** Which pairs pass a condition over (left, right) (NULL: all do): a byte each in *passes (tl_free). */
tl_status tl_pairs_test(const tl_pairs *pairs, const tl_row_buffer *left, int32_t n_left, const tl_row_buffer *right, const tl_type *type,
                        const tl_sql_program *condition, uint8_t **passes, tl_error *err);
/** ROW of the columns of both: what a join's condition sees. */
tl_status tl_stream__joined_type(const tl_type *left, const tl_type *right, const tl_type **out, tl_error *err);
/** Whether one of the columns is NULL in a row: such a key is equal to none. */
bool tl_stream__has_null(const tl_batch *batch, const int32_t *columns, int32_t n, int64_t row);
/** As tl_stream__keys(), NOT NULL or not: both sides of a join must have keys of one form. */
tl_status tl_stream__join_keys(const tl_batch *batch, const int32_t *columns, int32_t n, tl_keys **out, tl_error *err);

#endif
