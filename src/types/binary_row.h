/*
 * BinaryRow, BinaryArray and BinaryMap: the reference's row form in manifests, messages, partitions, statistics and bucket
 * hashes. Layout: format reference §6. Decoders treat their input as hostile.
 *
 * "with arity" = 4-byte big-endian field count before the row, as stored in manifests.
 */
#ifndef TL_TYPES_BINARY_ROW_H
#define TL_TYPES_BINARY_ROW_H

#include "types/builder.h"

/** Append row `i` of the given columns as a BinaryRow. */
tl_status tl_binary_row_append(tl_buf *buf, const tl_column *const *cols, int32_t n_cols, int64_t i, uint8_t kind, bool with_arity);
/** All rows of the columns: offsets[0..n_rows] into *data (both tl_free'd by the caller). Vectorised: for hashing and spilling. */
tl_status tl_binary_rows(const tl_column *const *cols, int32_t n_cols, int64_t n_rows, tl_buf *data, int64_t *offsets, tl_error *err);
/** Decode into a batch of one row. Types as in `row_type`, whose fields are read as nullable where a null is stored. */
tl_status tl_binary_row_decode(tl_bytes_view row, const tl_type *row_type, bool with_arity, tl_batch **out, tl_error *err);
/** Append the row's fields to one builder each; a field whose builder is NULL is passed over. */
tl_status tl_binary_row_read(tl_bytes_view row, const tl_type *row_type, bool with_arity, tl_builder *const *builders, tl_error *err);

/** Paimon's bucket number of each row (default function, §7): abs(murmur(bucket key row) % n). */
tl_status tl_bucket_hash(const tl_column *const *key_cols, int32_t n_cols, int64_t n_rows, int32_t *hashes, tl_error *err);
typedef enum tl_bucket_function { TL_BUCKET_DEFAULT, TL_BUCKET_MOD, TL_BUCKET_HIVE } tl_bucket_function;
tl_status tl_bucket_assign(tl_bucket_function fn, const tl_column *const *key_cols, int32_t n_cols, int64_t n_rows, int32_t n_buckets,
                           int32_t *buckets, tl_error *err);

#endif
