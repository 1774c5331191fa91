/* Records into columns: what its two files, rows.c and rows_four.c, share. */
#ifndef TL_FORMAT_AVRO_ROWS_PRIVATE_H
#define TL_FORMAT_AVRO_ROWS_PRIVATE_H

#include "format/avro/avro_private.h"

/* A column of the batch being filled. */
typedef struct tl_avro_sink {
    const tl_avro_node *node; /* NULL: the file does not have the column */
    tl_column *col;           /* scalars: room for batch_rows values */
    uint8_t *validity;        /* where values may be null: all ones at first */
    tl_buf data;              /* BYTES */
    tl_builder *builder;      /* nested */
} tl_avro_sink;

typedef enum tl_avro_step_kind {
    TL_AVRO_STEP_OTHER,
    TL_AVRO_STEP_I32,
    TL_AVRO_STEP_I64,
    TL_AVRO_STEP_BYTES,
    TL_AVRO_STEP_DECIMAL, /* in 64 bits */
    TL_AVRO_STEP_FIXED,   /* `width` bytes as they are */
    TL_AVRO_STEP_SKIP_NUMBER,
    TL_AVRO_STEP_SKIP_BYTES,
    TL_AVRO_STEP_SKIP_FIXED
} tl_avro_step_kind;

/* How a field is read if nothing is unusual about it. */
typedef struct tl_avro_step {
    tl_avro_step_kind kind;
    bool nullable; /* a union of null and the value is around it */
    bool begins_four; /* this step and the next three may be taken at once */
    uint8_t value; /* the byte that tells the value's branch: its index as zigzag */
    uint32_t width;
    tl_avro_sink *sink; /* NULL: passed over */
} tl_avro_step;

/** `there`: all ones if the row has a value, else 0. */
static inline void tl_avro__note_null(tl_avro_sink *s, int64_t row, uint64_t there)
{
    s->validity[row >> 3] &= (uint8_t)~((there + 1) << (row & 7));
    s->col->null_count += (int64_t)(there + 1);
}

/* ---- rows_four.c ---- */

/** Whether this processor can. */
bool tl_avro__can_take_four(void);
/**
 * Four fields that are each a union of null and an int or long with the same branches, st[0..4), into row `row` of their columns: where
 * the next field begins. NULL, and nothing is changed, if a number has more than four bytes, if all together have more than 15,
 * or if a branch is wrong. 21 bytes at `p` must be readable.
 */
const uint8_t *tl_avro__take_four(const uint8_t *p, const tl_avro_step *st, int64_t row);

#endif
