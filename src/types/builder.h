/*
 * Column builder: values one after the other, nested ones included. For text input, Avro and tests; hot paths fill
 * columns directly.
 */
#ifndef TL_TYPES_BUILDER_H
#define TL_TYPES_BUILDER_H

#include "types/column.h"

typedef struct tl_builder tl_builder;

tl_status tl_builder_create(const tl_type *type, tl_builder **out, tl_error *err);
void tl_builder_free(tl_builder *builder);
int64_t tl_builder_length(const tl_builder *builder);

/** Forget all values from `length` on, half-built nested ones included: undoes a row that turned out to be bad. */
void tl_builder_truncate(tl_builder *builder, int64_t length);
const tl_type *tl_builder_type(const tl_builder *builder);

/*
 * Each appends one value of the builder's physical type. Failures carry no message: TL_E_NOMEM; TL_E_LIMIT beyond 2^31-1 bytes or
 * elements; TL_E_INVALID for a number that the type's layout cannot hold, or a VECTOR of another length; TL_E_INTERNAL for a call that does not fit the type.
 */
tl_status tl_builder_null(tl_builder *builder);
tl_status tl_builder_bool(tl_builder *builder, bool v);
tl_status tl_builder_int(tl_builder *builder, int64_t v); /* BOOL, I8 … I64, and I128 (widened) */
tl_status tl_builder_i128(tl_builder *builder, tl_i128 v); /* I64 or I128: decimals */
tl_status tl_builder_f32(tl_builder *builder, float v);
tl_status tl_builder_f64(tl_builder *builder, double v);
tl_status tl_builder_timestamp(tl_builder *builder, int64_t millis, int32_t nanos_of_milli); /* any timestamp; cuts to the precision */
tl_status tl_builder_bytes(tl_builder *builder, const void *data, size_t bytes);
/* LIST and MAP: append the elements to the child builder(s), then close the value. ROW: append one value to each child, then end. */
tl_builder *tl_builder_child(tl_builder *builder, int32_t i);
tl_status tl_builder_end(tl_builder *builder);
/** The message for a failed append, for callers that pass errors on. TL_OK stays TL_OK. */
tl_status tl_builder_error(const tl_builder *builder, tl_status status, tl_error *err);
/** Copy row `i` of a column of the same physical type. */
tl_status tl_builder_copy(tl_builder *builder, const tl_column *col, int64_t i);

/** The column so far; the builder is empty afterwards and can be used again. */
tl_status tl_builder_finish(tl_builder *builder, tl_column **out, tl_error *err);

#endif
