/* What the parts of a look-up share. */
#ifndef TL_LOOKUP_PRIVATE_H
#define TL_LOOKUP_PRIVATE_H

#include "lookup/asked_private.h"
#include "lookup/lookup.h"
#include "types/packed_rows.h"

typedef struct tl_lookup__chunk {
    tl_packed_rows rows;   /* of the wanted columns */
    tl_column **unpacked;  /* refs held: the wanted columns that cannot be packed, NULL at the others; NULL: there are none */
    tl_keys *keys;         /* look-up keys */
    tl_keys *primary;      /* primary keys; NULL: not needed, or the look-up keys */
    uint8_t *dead;         /* bitmap */
} tl_lookup__chunk;

struct tl_lookup {
    tl_table *table;
    tl_pool *pool;
    tl_predicate *predicate; /* bound to the table's columns; NULL: none */
    tl_predicate *stored_predicate; /* the same, bound to `stored` */
    tl_map_filter *map_filter; /* for whole reads: of a change that fails the row of its key must still go. NULL: none */
    int32_t *stored; /* columns of the table that chunks hold */
    int32_t n_stored;
    int32_t *keys; /* in `stored` */
    int32_t n_keys;
    int32_t *columns; /* wanted, in `stored` */
    int32_t n_columns;
    int32_t *primary; /* in `stored`; NULL: changes are not applied by key */
    int32_t n_primary;
    bool by_one_key; /* the primary key is the look-up key: `by_key` serves both */
    tl_row_layout *layout;
    bool all_packed;
    const tl_type *answer; /* ROW of the wanted columns, nullable: what `layout` is of */
    tl_lookup_tier tier;
    bool incremental;      /* changes are exact */
    int32_t newest_partitions; /* max_pt(): only so many; 0: all */
    int64_t snapshot;
    tl_lookup__chunk *chunks;
    uint32_t n_chunks, cap_chunks;
    tl_row_index by_key;
    tl_row_index by_primary;
    int64_t alive, rows;
    int64_t held_bytes;     /* about what the chunks take */
    tl_lookup__asked asked; /* files: keys whose rows are in the chunks, if there are any */
    int64_t kept_bytes_max; /* files: above it chunks are dropped before the next probe */
};

/* chunks.c */

void tl_lookup__clear(tl_lookup *l);
/** Normalised keys of some columns of a batch; tl_keys_free(). */
tl_status tl_lookup__keys_of(const tl_batch *batch, const int32_t *columns, int32_t n, tl_keys **out, tl_error *err);
/** Takes the batch over. Rows that `dead` (taken, may be NULL) marks are not found. */
tl_status tl_lookup__add_chunk(tl_lookup *l, tl_batch *batch_take, uint8_t *dead, tl_error *err);

/* load.c */

/** Takes the reader over. From files only rows of keys asked for last are found. */
tl_status tl_lookup__load_reader(tl_lookup *l, tl_reader *reader, tl_error *err);
/** All splits of the snapshot, or with max_pt() those of the newest partitions, in place of what is there. */
tl_status tl_lookup__load(tl_lookup *l, int64_t snapshot, tl_error *err);

/* files.c */

/** For the tier of files: rows of these keys (of the stored columns' types) that are not known yet, read into chunks. */
tl_status tl_lookup__load_wanted(tl_lookup *l, const tl_column *const *keys, int64_t n_rows, tl_error *err);

static inline bool tl_lookup__any_null(const tl_column *const *cols, int32_t n, int64_t row)
{
    for (int32_t i = 0; i < n; i++)
        if (tl_col_is_null(cols[i], row))
            return true;
    return false;
}

#endif
