/*
 * What serialize.c and its helpers share. All integers big-endian, UTF = u16 length and modified UTF-8 (Java DataOutput).
 */
#ifndef TL_TABLE_WIRE_PRIVATE_H
#define TL_TABLE_WIRE_PRIVATE_H

#include "table/table_private.h"

/* TL_E_NOMEM without a message. */
tl_status tl_wire__put_i32(tl_buf *out, int32_t v);
tl_status tl_wire__put_i64(tl_buf *out, int64_t v);
tl_status tl_wire__put_bytes(tl_buf *out, const void *data, size_t len);
tl_status tl_wire__put_utf(tl_buf *out, const char *text, tl_error *err);

/** Bytes from outside; `what` names them in messages. */
typedef struct tl_wire_input {
    const uint8_t *start;
    const uint8_t *p;
    const uint8_t *end;
    const char *what;
} tl_wire_input;

/** TL_E_CORRUPT unless that many bytes are left. */
tl_status tl_wire__need(tl_wire_input *in, size_t bytes, tl_error *err);
tl_status tl_wire__get_u8(tl_wire_input *in, uint8_t *out, tl_error *err);
tl_status tl_wire__get_i32(tl_wire_input *in, int32_t *out, tl_error *err);
tl_status tl_wire__get_i64(tl_wire_input *in, int64_t *out, tl_error *err);
tl_status tl_wire__get_bytes(tl_wire_input *in, tl_bytes_view *out, tl_error *err);
/** A text without NUL; tl_free. */
tl_status tl_wire__get_utf(tl_wire_input *in, char **out, tl_error *err);

/* serialize_index.c */

tl_status tl_wire__put_indexes(const tl_index_list *files, tl_buf *out, tl_error *err);
tl_status tl_wire__get_indexes(tl_wire_input *in, tl_index_list *out, tl_error *err);
/** Deletion files of the data files, in their order; `vectors` may be NULL. */
tl_status tl_wire__put_deletions(tl_dv_set *vectors, const tl_file_list *files, tl_buf *out, tl_error *err);
/** *out is NULL if there are none. */
tl_status tl_wire__get_deletions(tl_wire_input *in, const tl_file_list *files, tl_dv_set **out, tl_error *err);

#endif
