/*
 * VARIANT: a JSON value in a binary form of its own, as two byte strings (Apache Spark's and Parquet's variant encoding, version 1;
 * Java: GenericVariant, GenericVariantBuilder).
 */
#ifndef TL_TYPES_VARIANT_H
#define TL_TYPES_VARIANT_H

#include "types/column.h"

/** Each of the two parts at most. */
#define TL_VARIANT_BYTES_MAX (128 * 1024 * 1024)

/** JSON text to both parts, appended. TL_E_INVALID: no JSON, a key twice, or too large. What follows the first value is ignored. */
tl_status tl_variant_from_json(tl_bytes_view json, tl_buf *value, tl_buf *metadata, tl_error *err);
/** Append as compact JSON. TL_E_CORRUPT: bytes that are no variant; `buf` may then hold a beginning. */
tl_status tl_variant_append_json(tl_buf *buf, tl_bytes_view value, tl_bytes_view metadata, tl_error *err);
#define TL_VARIANT_TIME_ID 17

/**
 * A shredded column to one of `type` (VARIANT). `shredded` is a ROW of `metadata` (bytes) and a group of `value` (bytes) and
 * `typed_value`, either of which may be missing. `typed_value` is a scalar (BINARY: a UUID; BIGINT with the field id
 * TL_VARIANT_TIME_ID: microseconds of the day), an ARRAY of groups, or a ROW of groups that are named as the object's fields.
 * TL_E_CORRUPT: both forms of a value, bytes that are none, a key that the metadata does not have.
 */
tl_status tl_variant_unshred(const tl_column *shredded, const tl_type *type, tl_column **out, tl_error *err);
/** The type of a column shredded into `schema` (any types but MAP, MULTISET and times): TL_E_INVALID for others. */
tl_status tl_variant_shredded_type(const tl_type *schema, const tl_type **out, tl_error *err);
/** A VARIANT column to one of tl_variant_shredded_type(). TL_E_CORRUPT: bytes that are no variant. */
tl_status tl_variant_shred(const tl_column *col, const tl_type *shredded, tl_column **out, tl_error *err);

/** Bounds of what is inferred. */
typedef struct tl_variant_limits {
    int32_t max_width; /* columns of all VARIANTs of a file */
    int32_t max_depth;
    double min_ratio; /* share of the values that have a field, to give it columns */
} tl_variant_limits;
/**
 * A shredding schema for a VARIANT column, from the first `rows` rows of its pieces: VARIANT if there is nothing to shred. *width_left
 * begins with the limit and goes on from column to column. TL_E_CORRUPT: bytes that are no variant.
 */
tl_status tl_variant_infer(const tl_column *const *cols, size_t n_cols, int64_t rows, const tl_variant_limits *limits, int32_t *width_left,
                           const tl_type **out, tl_error *err);

#endif
