/*
 * Descriptors of blobs: where the bytes of a value lie, instead of the bytes (Java: BlobDescriptor). All little-endian:
 *
 *   int8 version (2), int64 magic, int32 bytes of the address, the address (`file:/…` or a plain path), int64 offset, int64 length
 *
 * Version 1 has no magic: it is read where a descriptor must be, and nowhere told from other bytes.
 */
#ifndef TL_TYPES_BLOB_DESCRIPTOR_H
#define TL_TYPES_BLOB_DESCRIPTOR_H

#include "base/mem.h"

/** Bytes of a serialized descriptor without its address. */
#define TL_BLOB_DESCRIPTOR_BYTES 29
/** Length of a value that goes to the end of its file. */
#define TL_BLOB_TO_END (-1)
/** Longest address that is followed. */
#define TL_BLOB_URI_MAX 65536

typedef struct tl_blob_descriptor {
    tl_bytes_view uri; /* borrowed, as it is written: no NUL at its end */
    int64_t offset;
    int64_t length; /* TL_BLOB_TO_END: all behind `offset` */
} tl_blob_descriptor;

/** Whether these bytes begin as a descriptor does; the rest of it may be wrong all the same. */
bool tl_blob_is_descriptor(tl_bytes_view bytes);
/** The parts of a serialized descriptor, borrowed from it. TL_E_INVALID names what is wrong with it. */
tl_status tl_blob_descriptor_read(tl_bytes_view bytes, tl_blob_descriptor *out, tl_error *err);
/** Write the serialized form to `out`, which has TL_BLOB_DESCRIPTOR_BYTES and room for the address. */
void tl_blob_descriptor_write(const tl_blob_descriptor *descriptor, uint8_t *out);
/** The same, appended to `out`. */
tl_status tl_blob_descriptor_append(const tl_blob_descriptor *descriptor, tl_buf *out);

#endif
