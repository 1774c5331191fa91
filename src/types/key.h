/*
 * Normalised keys: bytes whose memcmp order is the reference's key order (format reference §11), nulls first; sorting.
 *
 * A key of one or more fixed-width NOT NULL columns that fit into 8 bytes is a uint64_t (`fixed`); every other key is a byte
 * string (`data` + offsets): fixed-width columns as sign-flipped big-endian, strings escaped (00 -> 00 FF, end 00 00) unless
 * last. FLOAT and DOUBLE use the total order (-0.0 < 0.0, NaN last), which the reference leaves open.
 */
#ifndef TL_TYPES_KEY_H
#define TL_TYPES_KEY_H

#include "types/column.h"

/** Keys of the rows of one batch. */
typedef struct tl_keys {
    int64_t count;
    bool is_fixed;
    uint64_t *fixed;   /* is_fixed: the whole key; otherwise the first 8 bytes (zero-padded), big-endian as a number */
    uint32_t *offsets; /* !is_fixed: [0..count] into data */
    uint8_t *data;
} tl_keys;

/** Whether keys of these types are `fixed`. Batches of one table give the same form always. */
bool tl_keys_are_fixed(const tl_type *const *types, int32_t n);
tl_status tl_keys_create(const tl_column *const *cols, int32_t n_cols, int64_t n_rows, tl_keys **out, tl_error *err);
/** The keys of several batches after each other; all of one form. */
tl_status tl_keys_concat(const tl_keys *const *parts, int32_t n_parts, tl_keys **out, tl_error *err);
void tl_keys_free(tl_keys *keys);
/** Bytes that they take. */
static inline int64_t tl_keys_memory(const tl_keys *keys)
{
    return (int64_t)sizeof *keys + keys->count * (int64_t)sizeof *keys->fixed +
           (keys->is_fixed ? 0 : (keys->count + 1) * (int64_t)sizeof *keys->offsets + keys->offsets[keys->count]);
}
static inline void tl_keys_freep(tl_keys **keys)
{
    tl_keys_free(*keys);
}
static inline tl_bytes_view tl_keys_bytes(const tl_keys *keys, int64_t i)
{
    return (tl_bytes_view){keys->data + keys->offsets[i], keys->offsets[i + 1] - keys->offsets[i]};
}
static inline int tl_keys_compare(const tl_keys *a, int64_t i, const tl_keys *b, int64_t j)
{
    if (a->fixed[i] != b->fixed[j])
        return a->fixed[i] < b->fixed[j] ? -1 : 1;
    return a->is_fixed ? 0 : tl_bytes_compare(tl_keys_bytes(a, i), tl_keys_bytes(b, j));
}

/** Order of rows by (key, then row number): a stable sort. `order` has room for count entries. */
tl_status tl_keys_sort(const tl_keys *keys, uint32_t *order, tl_error *err);
/** The same, and groups of equal keys: group g is order[starts[g] … starts[g+1]). `starts` has room for count + 1 entries. */
tl_status tl_keys_sort_groups(const tl_keys *keys, uint32_t *order, uint32_t *starts, uint32_t *n_groups, tl_error *err);

/**
 * Compare rows by value in the reference's order (nulls first or last as said, all types but MAP).
 * `descending` turns non-null order only: nulls stay where nulls_first says.
 */
int tl_column_compare(const tl_column *a, int64_t i, const tl_column *b, int64_t j, bool descending, bool nulls_first);
/** Equal by value, NULL equal to NULL; floats by bits of their canonical form (NaN = NaN, 0.0 != -0.0), as Java's equals. */
bool tl_column_equal(const tl_column *a, int64_t i, const tl_column *b, int64_t j);

#endif
