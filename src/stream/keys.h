/* Normalised keys of a batch's rows as byte strings, for maps; private to stream/. */
#ifndef TL_STREAM_KEYS_H
#define TL_STREAM_KEYS_H

#include "stream/op.h"
#include "types/key.h"

/** Keys of columns of a batch; *out NULL if there are no columns (all rows have the one empty key). tl_keys_free. */
tl_status tl_stream__keys(const tl_batch *batch, const int32_t *columns, int32_t n, tl_keys **out, tl_error *err);

/** Where a key of fixed width is written out. */
typedef struct tl_key_space {
    uint8_t bytes[8];
} tl_key_space;

/** Bytes whose order is that of the keys; valid as long as keys and space. */
static inline tl_bytes_view tl_stream__key(const tl_keys *keys, int64_t i, tl_key_space *space)
{
    if (keys == NULL)
        return (tl_bytes_view){space->bytes, 0};
    if (!keys->is_fixed)
        return tl_keys_bytes(keys, i);
    tl_write_be64(space->bytes, keys->fixed[i]);
    return (tl_bytes_view){space->bytes, sizeof space->bytes};
}

/** TL_E_UNSUPPORTED, naming `what`, if the batch takes rows back. */
tl_status tl_stream__refuse_retractions(const tl_batch *batch, const char *what, tl_error *err);

/** A reference to no row: NULLs. */
#define TL_NO_ROW ((tl_rowref){0, TL_ROW_NULL})

/** References to rows that grow one by one. Zero-initialise; tl_free(list->refs). */
typedef struct tl_ref_list {
    tl_rowref *refs;
    int64_t n, cap;
} tl_ref_list;
tl_status tl_ref_list_add(tl_ref_list *list, const tl_rowref *refs, int64_t n);

#endif
