/* The Arrow IPC stream format, from the C Data Interface. */
#ifndef TL_API_ARROW_IPC_PRIVATE_H
#define TL_API_ARROW_IPC_PRIVATE_H

#include <tidelake/arrow_abi.h>

#include "base/mem.h"

/** Append the message that begins a stream. `schema` is a struct of the columns, with formats that types/arrow.h exports. */
tl_status tl_ipc__append_schema(tl_buf *out, const struct ArrowSchema *schema, tl_error *err);
/** Append a batch: head and buffers. `array` must have been made for `schema`; offsets of arrays must be 0. */
tl_status tl_ipc__append_batch(tl_buf *out, const struct ArrowArray *array, const struct ArrowSchema *schema, tl_error *err);
/** Append what ends a stream. */
tl_status tl_ipc__append_end(tl_buf *out);

#endif
