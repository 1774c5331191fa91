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
/** What pairs must pass besides having equal keys: a condition over (left, right), if there is one. */
typedef struct tl_pair_test {
    int32_t n_left;
    const tl_type *type; /* ROW of both sides' columns */
    tl_sql_program *condition; /* NULL: all pass */
} tl_pair_test;
/** For the two inputs of a join. tl_pair_test_deinit, also on failure. */
tl_status tl_pair_test_init(tl_pair_test *test, const tl_op *join, const tl_expr *condition, tl_error *err);
void tl_pair_test_deinit(tl_pair_test *test);
/** Which pairs pass: a byte each in *passes (tl_free). */
tl_status tl_pairs_test(const tl_pairs *pairs, const tl_row_buffer *left, const tl_row_buffer *right, const tl_pair_test *test, uint8_t **passes,
                        tl_error *err);
/** Whether a key column of a join (`columns`: of this side) is NULL in a row, and not joined by IS NOT DISTINCT FROM: it is equal to none. */
bool tl_stream__null_key(const tl_plan *plan, const tl_batch *batch, const int32_t *columns, int64_t row);
/** As tl_stream__keys(), NOT NULL or not: both sides of a join must have keys of one form. */
tl_status tl_stream__join_keys(const tl_batch *batch, const int32_t *columns, int32_t n, tl_keys **out, tl_error *err);

#endif
