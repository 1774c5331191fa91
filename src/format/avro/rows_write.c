/*
 * Rows of a batch as records. Room for a row is reserved once; numbers, decimals of up to 64 bits and strings are then written without a
 * branch on what the data is like: how many bytes a number takes follows from its highest bit. Anything else is written value by value
 * (writer.c).
 */
#include "format/avro/avro_private.h"

#define VALUE_BYTES 24  /* a branch, a number or a length of up to 10 bytes or a decimal, and what is written too much */
#define STRING_SLACK 64 /* a short string is copied 64 bytes at once */

/* How a column of the batch is written. */
typedef enum put_kind { PUT_OTHER, PUT_I32, PUT_I64, PUT_DECIMAL, PUT_BYTES, PUT_32, PUT_64 } put_kind;
typedef struct tl_avro_put {
    put_kind kind;
    bool nullable;
    const uint8_t *validity; /* NULL: all values are there */
    const tl_column *col;
    const tl_type *type; /* of the file */
} put;

static put_kind kind_of(const tl_type *type, const tl_column *col)
{
    if (!type->nullable && col->null_count > 0)
        return PUT_OTHER; /* which says what is wrong */
    switch (col->phys) {
    case TL_PHYS_I32:
        return PUT_I32;
    case TL_PHYS_I64:
        return type->kind == TL_DECIMAL ? PUT_DECIMAL : PUT_I64;
    case TL_PHYS_BYTES:
        return PUT_BYTES;
    case TL_PHYS_F32:
        return PUT_32;
    case TL_PHYS_F64:
        return PUT_64;
    default:
        return PUT_OTHER;
    }
}

tl_status tl_avro__rows_out_plan(tl_avro_rows_out *rows, const tl_type *row_type, const tl_batch *batch)
{
    if (rows->puts == NULL && (rows->puts = tl_calloc((size_t)row_type->n_fields + 1, sizeof *rows->puts)) == NULL)
        return TL_E_NOMEM;
    rows->n = row_type->n_fields;
    for (int32_t c = 0; c < rows->n; c++) {
        const tl_type *type = row_type->fields[c].type;
        const tl_column *col = batch->cols[c];
        rows->puts[c] = (put){kind_of(type, col), type->nullable, col->null_count > 0 ? col->validity : NULL, col, type};
    }
    return TL_OK;
}

void tl_avro__rows_out_deinit(tl_avro_rows_out *rows)
{
    tl_free(rows->puts);
    *rows = (tl_avro_rows_out){0};
}

/* Bytes that a row takes at most, those of PUT_OTHER apart. */
static size_t row_bytes_max(const tl_avro_rows_out *rows, int64_t row)
{
    size_t bytes = (size_t)rows->n * VALUE_BYTES + STRING_SLACK;
    for (int32_t c = 0; c < rows->n; c++) {
        if (rows->puts[c].kind == PUT_BYTES)
            bytes += tl_col_bytes(rows->puts[c].col, row).len;
    }
    return bytes;
}

/* Writes eight bytes or up to ten; returns how many count. */
static inline size_t put_varint(uint8_t *to, uint64_t v)
{
    if (TL_UNLIKELY(v >> 56 != 0))
        return tl_varint_encode(v, to);
    unsigned n = (unsigned)(70 - __builtin_clzll(v | 1)) / 7;
    v = (v & UINT64_C(0x000000000fffffff)) | (v & UINT64_C(0x00fffffff0000000)) << 4; /* seven bits a byte */
    v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x0fffc0000fffc000)) << 2;
    v = (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x3f803f803f803f80)) << 1;
    uint64_t more = UINT64_C(0x8080808080808080) & ((UINT64_C(1) << (8 * (n - 1))) - 1);
    tl_write_le64(to, v | more);
    return n;
}

/* The fewest bytes of a big-endian two's complement, and their number as a length. */
static inline size_t put_decimal(uint8_t *to, int64_t v)
{
    uint64_t magnitude = (uint64_t)(v ^ v >> 63);
    unsigned n = magnitude == 0 ? 1 : (unsigned)(64 - __builtin_clzll(magnitude)) / 8 + 1;
    to[0] = (uint8_t)(n << 1);
    tl_write_be64(to + 1, (uint64_t)v << (64 - 8 * n));
    return 1 + n;
}

static inline size_t put_string(uint8_t *to, const tl_column *col, int64_t row)
{
    tl_bytes_view bytes = tl_col_bytes(col, row);
    size_t n = 1;
    if (bytes.len < 64)
        to[0] = (uint8_t)(bytes.len << 1);
    else
        n = tl_varint_encode((uint64_t)bytes.len << 1, to);
    if (bytes.len <= 64 && (size_t)(col->data + col->offsets[col->length] - bytes.data) >= 64)
        memcpy(to + n, bytes.data, 64);
    else if (bytes.len > 0)
        memcpy(to + n, bytes.data, bytes.len);
    return n + bytes.len;
}

static inline size_t put_value(uint8_t *to, const put *p, int64_t row)
{
    switch (p->kind) {
    case PUT_I32:
        return put_varint(to, tl_zigzag64(tl_col_i32(p->col, row)));
    case PUT_I64:
        return put_varint(to, tl_zigzag64(tl_col_i64(p->col, row)));
    case PUT_DECIMAL:
        return put_decimal(to, tl_col_i64(p->col, row));
    case PUT_BYTES:
        return put_string(to, p->col, row);
    case PUT_32:
        memcpy(to, (const float *)p->col->values + row, 4);
        return 4;
    default:
        memcpy(to, (const double *)p->col->values + row, 8);
        return 8;
    }
}

tl_status tl_avro__rows_out_put(tl_avro_rows_out *rows, int64_t row, tl_buf *buf)
{
    rows->wrong_column = 0;
    size_t room = row_bytes_max(rows, row);
    TL_TRY(tl_buf_reserve(buf, room));
    uint8_t *to = buf->data + buf->len;
    for (int32_t c = 0; c < rows->n; c++) {
        const put *p = &rows->puts[c];
        if (p->kind == PUT_OTHER) {
            rows->wrong_column = c;
            buf->len = (size_t)(to - buf->data);
            TL_TRY(tl_avro__put_value(buf, p->type, p->nullable, p->col, row));
            TL_TRY(tl_buf_reserve(buf, room));
            to = buf->data + buf->len;
            continue;
        }
        size_t there = p->validity == NULL || tl_bit_get(p->validity, row);
        if (p->nullable)
            *to++ = (uint8_t)(there << 1); /* the branch, as zigzag */
        to += put_value(to, p, row) & -there;
    }
    buf->len = (size_t)(to - buf->data);
    return TL_OK;
}
