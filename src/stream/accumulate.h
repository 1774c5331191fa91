/*
 * Accumulators: what an aggregate call keeps of the rows that it has seen, for groups, windows and OVER. Private to stream/.
 *
 * COUNT and SUM keep a number, with DISTINCT the values' set (value_set.h), too. Over rows that only come, MIN, MAX, FIRST_VALUE and LAST_VALUE keep one value; in all other cases
 * the values are kept (value_bag.h), because a retraction may take any of them back, or because the result is made of all.
 */
#ifndef TL_STREAM_ACCUMULATE_H
#define TL_STREAM_ACCUMULATE_H

#include "stream/op.h"
#include "stream/value_bag.h"
#include "stream/value_set.h"
#include "types/key.h"

typedef struct tl_accumulator {
    int64_t count;  /* values that are not NULL */
    tl_i128 whole;  /* SUM of whole numbers and decimals; GROUPING: its value */
    double real;    /* SUM of FLOAT and DOUBLE */
    tl_value_bag bag;
    tl_value_set set; /* COUNT and SUM of DISTINCT: the different values */
    tl_bytes order, row; /* the one value */
} tl_accumulator;

/** Calls over rows of one type. */
typedef struct tl_acc_calls {
    const tl_agg_call *calls;
    int32_t n;
    const tl_type *input;
    bool insert_only; /* nothing is ever taken back */
} tl_acc_calls;

/** What the columns of one batch give to each call. */
typedef struct tl_acc_input tl_acc_input;
tl_status tl_acc_inputs_create(const tl_acc_calls *calls, const tl_batch *batch, tl_acc_input **out, tl_error *err);
void tl_acc_inputs_free(tl_acc_input *inputs, int32_t n);

/** TL_E_UNSUPPORTED, with its name, for a call that streams do not have. */
tl_status tl_acc_check(const tl_acc_calls *calls, tl_error *err);
/** Add row `i` (delta 1) or take it back (-1); `accs` has one accumulator per call, zero-initialised. */
tl_status tl_acc_add(const tl_acc_calls *calls, tl_accumulator *accs, const tl_acc_input *inputs, int64_t i, int64_t delta);
/** Append the value of call `c` to a builder of its type. */
tl_status tl_acc_append(const tl_acc_calls *calls, int32_t c, tl_accumulator *acc, tl_builder *builder, tl_error *err);
/** Append the text of JSON_ARRAYAGG or JSON_OBJECTAGG over the values in a bag (json_agg.c). */
tl_status tl_acc_append_json(const tl_acc_calls *calls, const tl_agg_call *call, const tl_value_bag *bag, tl_builder *builder, tl_error *err);
/** Frees what the accumulators hold, not the array. */
void tl_acc_deinit(const tl_acc_calls *calls, tl_accumulator *accs);

/** Give a new group's GROUPING calls their values; `batch` is what expand.c made of the rows. */
void tl_acc_grouping(const tl_plan *plan, const tl_agg_call *calls, const tl_batch *batch, int64_t i, tl_accumulator *accs);

/** One builder for each of the fields from … from + n of a row. */
tl_status tl_stream__builders(const tl_type *row, int32_t from, int32_t n, tl_builder ***out, tl_error *err);
void tl_stream__builders_free(tl_builder **builders, int32_t n);
/** Their columns; the builders are empty afterwards. */
tl_status tl_stream__builders_finish(tl_builder **builders, int32_t n, tl_column **out, tl_error *err);

#endif
