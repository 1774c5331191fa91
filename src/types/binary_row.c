/*
 * Encoder of BinaryRow, BinaryArray and BinaryMap. All numbers little-endian; W = ((arity + 71) / 64) * 8.
 *
 *   row    0      kind byte (0 +I, 1 -U, 2 +U, 3 -D)
 *          1      null bits: field i is bit 8+i of the header, LSB first
 *          W      one 8-byte slot a field
 *          W+8n   variable part in field order, each item padded to 8 bytes
 *   array  0      int32 count; 4: null bits in 32-bit words; then elements of 1, 2, 4 or 8 bytes, together padded to 8;
 *                 then the variable part, offsets counted from the array's start
 *   map    0      int32 bytes of the key array; key array; value array
 *   vector 0      int32 count; elements of 1, 2, 4 or 8 bytes, together padded to 8
 *
 * Slot of a value in the variable part: offset << 32 | length; strings and bytes of up to 7 bytes stand in the slot itself,
 * with 0x80 | length in its last byte. DECIMAL(p > 18) always takes 16 variable bytes, TIMESTAMP(p > 3) 8, in a row even
 * when NULL (in an array not): the reference's row writer reserves them, and bucket hashes depend on it.
 *
 * Source: Java BinaryRow, BinaryRowWriter, BinaryArrayWriter, BinaryMap, BinaryVector; format reference §6.
 */
#include "types/binary_row.h"

#include "types/binary_private.h"

static tl_status append_row(tl_buf *buf, const tl_column *const *cols, int32_t n_cols, int64_t i, uint8_t kind, int depth);

static tl_status append_zeros(tl_buf *buf, size_t bytes)
{
    TL_TRY(tl_buf_reserve(buf, bytes));
    memset(buf->data + buf->len, 0, bytes);
    buf->len += bytes;
    return TL_OK;
}

/* Slot that points to the item of `len` bytes at buf position `item`; pads the item, which must be the buffer's end. */
static tl_status close_item(tl_buf *buf, size_t base, size_t slot, size_t item)
{
    size_t len = buf->len - item;
    if (buf->len - base > INT32_MAX)
        return TL_E_LIMIT;
    tl_write_le64(buf->data + slot, (uint64_t)(item - base) << 32 | len);
    return append_zeros(buf, binary_round8(len) - len);
}

static uint64_t inline_slot(tl_bytes_view v)
{
    uint8_t bytes[8] = {0};
    if (v.len != 0)
        memcpy(bytes, v.data, v.len);
    bytes[7] = (uint8_t)(0x80 | v.len);
    return tl_read_le64(bytes);
}

/* Minimal big-endian two's complement, as BigInteger.toByteArray(); returns its length. */
static size_t decimal_bytes(tl_i128 v, uint8_t out[BINARY_DECIMAL_BYTES])
{
    size_t len = 16;
    while (len > 1 && (v >> ((len - 1) * 8 - 1) == 0 || v >> ((len - 1) * 8 - 1) == -1))
        len--;
    memset(out, 0, BINARY_DECIMAL_BYTES);
    for (size_t b = 0; b < len; b++)
        out[b] = (uint8_t)(v >> (8 * (len - 1 - b)));
    return len;
}

static void floor_micros(int64_t micros, int64_t *millis, int32_t *nanos)
{
    int64_t rest = micros % 1000;
    *millis = micros / 1000 - (rest < 0);
    *nanos = (int32_t)(rest < 0 ? rest + 1000 : rest) * 1000;
}

static void timestamp_parts(const tl_column *col, int64_t i, binary_slot slot, int64_t *millis, int32_t *nanos)
{
    if (slot == BINARY_SLOT_MICROS) {
        floor_micros(tl_col_i64(col, i), millis, nanos);
    } else {
        tl_ts96 ts = tl_col_ts96(col, i);
        *millis = ts.millis;
        *nanos = ts.nanos;
    }
}

static void store_fixed(uint8_t *slot, const tl_column *col, int64_t i, size_t width)
{
    memcpy(slot, (const uint8_t *)col->values + (size_t)i * width, width);
}

static tl_status append_array(tl_buf *buf, const tl_column *elements, int64_t from, int64_t count, int depth);

/* MAP, MULTISET: int32 bytes of the key array, key array, value array. */
static tl_status append_map(tl_buf *buf, const tl_column *col, int64_t from, int64_t count, int depth)
{
    size_t start = buf->len;
    TL_TRY(append_zeros(buf, 4));
    TL_TRY(append_array(buf, col->children[0], from, count, depth));
    tl_write_le32(buf->data + start, (uint32_t)(buf->len - start - 4));
    return append_array(buf, col->children[1], from, count, depth);
}

static tl_status append_vector(tl_buf *buf, const tl_column *elements, int64_t from, int64_t count)
{
    size_t width = (size_t)tl_phys_width(elements->phys), bytes = (size_t)count * width;
    uint8_t head[4];
    tl_write_le32(head, (uint32_t)count);
    TL_TRY(tl_buf_append(buf, head, sizeof head));
    TL_TRY(tl_buf_append(buf, (const uint8_t *)elements->values + (size_t)from * width, bytes));
    return append_zeros(buf, binary_round8(bytes) - bytes);
}

static tl_status append_variant(tl_buf *buf, const tl_column *col, int64_t i)
{
    tl_bytes_view value = tl_col_bytes(col->children[0], i), metadata = tl_col_bytes(col->children[1], i);
    uint8_t len[4];
    tl_write_le32(len, (uint32_t)value.len);
    TL_TRY(tl_buf_append(buf, len, sizeof len));
    TL_TRY(tl_buf_append(buf, value.data, value.len));
    return tl_buf_append(buf, metadata.data, metadata.len);
}

static tl_status append_nested(tl_buf *buf, const tl_column *col, int64_t i, int depth)
{
    if (depth >= BINARY_DEPTH_MAX)
        return TL_E_LIMIT;
    if (col->type->kind == TL_VECTOR)
        return append_vector(buf, col->children[0], col->offsets[i], col->offsets[i + 1] - col->offsets[i]);
    if (col->phys == TL_PHYS_LIST)
        return append_array(buf, col->children[0], col->offsets[i], col->offsets[i + 1] - col->offsets[i], depth + 1);
    if (col->phys == TL_PHYS_MAP)
        return append_map(buf, col, col->offsets[i], col->offsets[i + 1] - col->offsets[i], depth + 1);
    if (col->type->kind == TL_VARIANT)
        return append_variant(buf, col, i);
    return append_row(buf, (const tl_column *const *)col->children, col->n_children, i, TL_KIND_INSERT, depth + 1);
}

/* A value that is not NULL into the slot at buf position `slot` of the row or array that starts at `base`. */
static tl_status append_value(tl_buf *buf, size_t base, size_t slot, const tl_column *col, int64_t i, binary_slot form,
                              int depth)
{
    size_t item = buf->len;
    switch (form) {
    case BINARY_SLOT_DECIMAL: {
        uint8_t bytes[BINARY_DECIMAL_BYTES];
        size_t len = decimal_bytes(tl_col_i128(col, i), bytes);
        TL_TRY(tl_buf_append(buf, bytes, sizeof bytes));
        tl_write_le64(buf->data + slot, (uint64_t)(item - base) << 32 | len);
        return TL_OK;
    }
    case BINARY_SLOT_MICROS:
    case BINARY_SLOT_TS96: {
        int64_t millis;
        int32_t nanos;
        timestamp_parts(col, i, form, &millis, &nanos);
        TL_TRY(tl_buf_append(buf, &millis, sizeof millis));
        tl_write_le64(buf->data + slot, (uint64_t)(item - base) << 32 | (uint32_t)nanos);
        return TL_OK;
    }
    case BINARY_SLOT_BYTES: {
        tl_bytes_view v = tl_col_bytes(col, i);
        if (v.len <= BINARY_INLINE_MAX) {
            tl_write_le64(buf->data + slot, inline_slot(v));
            return TL_OK;
        }
        TL_TRY(tl_buf_append(buf, v.data, v.len));
        return close_item(buf, base, slot, item);
    }
    case BINARY_SLOT_NESTED:
        TL_TRY(append_nested(buf, col, i, depth));
        return close_item(buf, base, slot, item);
    default:
        store_fixed(buf->data + slot, col, i, binary_slot_width(form));
        return TL_OK;
    }
}

static tl_status append_array(tl_buf *buf, const tl_column *elements, int64_t from, int64_t count, int depth)
{
    binary_slot form = binary_slot_of(elements->type);
    size_t width = binary_slot_width(form), base = buf->len, first = base + binary_array_header((size_t)count);
    TL_TRY(append_zeros(buf, binary_round8(first - base + (size_t)count * width)));
    tl_write_le32(buf->data + base, (uint32_t)count);
    for (int64_t k = 0; k < count; k++) {
        if (tl_col_is_null(elements, from + k))
            tl_bit_set(buf->data + base + 4, k);
        else
            TL_TRY(append_value(buf, base, first + (size_t)k * width, elements, from + k, form, depth));
    }
    return TL_OK;
}

/* In a row, a NULL of these forms still takes its place in the variable part. */
static tl_status append_null(tl_buf *buf, size_t base, size_t slot, binary_slot form)
{
    size_t item = buf->len;
    if (form != BINARY_SLOT_DECIMAL && form != BINARY_SLOT_MICROS && form != BINARY_SLOT_TS96)
        return TL_OK;
    tl_write_le64(buf->data + slot, (uint64_t)(item - base) << 32);
    return append_zeros(buf, form == BINARY_SLOT_DECIMAL ? BINARY_DECIMAL_BYTES : BINARY_TIMESTAMP_BYTES);
}

static tl_status append_row(tl_buf *buf, const tl_column *const *cols, int32_t n_cols, int64_t i, uint8_t kind, int depth)
{
    size_t base = buf->len, slots = base + binary_row_header(n_cols);
    TL_TRY(append_zeros(buf, slots - base + 8 * (size_t)n_cols));
    buf->data[base] = kind;
    for (int32_t c = 0; c < n_cols; c++) {
        binary_slot form = binary_slot_of(cols[c]->type);
        if (tl_col_is_null(cols[c], i)) {
            tl_bit_set(buf->data + base, 8 + c);
            TL_TRY(append_null(buf, base, slots + 8 * (size_t)c, form));
        } else {
            TL_TRY(append_value(buf, base, slots + 8 * (size_t)c, cols[c], i, form, depth));
        }
    }
    return buf->len - base > INT32_MAX ? TL_E_LIMIT : TL_OK;
}

tl_status tl_binary_row_append(tl_buf *buf, const tl_column *const *cols, int32_t n_cols, int64_t i, uint8_t kind,
                               bool with_arity)
{
    size_t start = buf->len;
    if (with_arity) {
        uint8_t arity[4];
        tl_write_be32(arity, (uint32_t)n_cols);
        TL_TRY(tl_buf_append(buf, arity, sizeof arity));
    }
    tl_status status = append_row(buf, cols, n_cols, i, kind, 0);
    if (status != TL_OK)
        buf->len = start;
    return status;
}

/*
 * All rows of flat columns, column by column: first the sizes, then the slots, with a write position for each row's
 * variable part. `cursor` holds that position relative to the row.
 */

static void size_bytes(const tl_column *col, int64_t n_rows, int64_t *sizes)
{
    for (int64_t i = 0; i < n_rows; i++) {
        int64_t len = col->offsets[i + 1] - col->offsets[i];
        sizes[i] += len > BINARY_INLINE_MAX ? (len + 7) & ~(int64_t)7 : 0;
    }
}

static void add_all(int64_t n_rows, int64_t bytes, int64_t *sizes)
{
    for (int64_t i = 0; i < n_rows; i++)
        sizes[i] += bytes;
}

/* offsets[i+1] = bytes of row i, then summed up. */
static bool size_flat_rows(const tl_column *const *cols, int32_t n_cols, int64_t n_rows, int64_t *offsets)
{
    offsets[0] = 0;
    int64_t *sizes = offsets + 1;
    int64_t fixed = (int64_t)binary_row_header(n_cols) + 8 * n_cols;
    for (int64_t i = 0; i < n_rows; i++)
        sizes[i] = fixed;
    for (int32_t c = 0; c < n_cols; c++) {
        binary_slot form = binary_slot_of(cols[c]->type);
        if (form == BINARY_SLOT_BYTES)
            size_bytes(cols[c], n_rows, sizes);
        else if (form == BINARY_SLOT_DECIMAL)
            add_all(n_rows, BINARY_DECIMAL_BYTES, sizes);
        else if (form == BINARY_SLOT_MICROS || form == BINARY_SLOT_TS96)
            add_all(n_rows, BINARY_TIMESTAMP_BYTES, sizes);
    }
    for (int64_t i = 0; i < n_rows; i++) {
        if (sizes[i] > INT32_MAX)
            return false;
        sizes[i] += offsets[i];
    }
    return true;
}

static void fill_nulls(uint8_t *data, const int64_t *offsets, const tl_column *col, int32_t c, int64_t n_rows)
{
    if (col->validity == NULL)
        return;
    for (int64_t i = 0; i < n_rows; i++)
        if (!tl_bit_get(col->validity, i))
            tl_bit_set(data + offsets[i], 8 + c);
}

#define DEFINE_FILL_FIXED(NAME, TYPE)                                                                          \
    static void NAME(uint8_t *data, const int64_t *offsets, size_t slot, const tl_column *col, int64_t n_rows) \
    {                                                                                                          \
        const TYPE *restrict values = col->values;                                                             \
        for (int64_t i = 0; i < n_rows; i++) /* values at null positions are zero, as their slots must be */   \
            tl_write_le64(data + offsets[i] + slot, values[i]);                                                \
    }
DEFINE_FILL_FIXED(fill_fixed1, uint8_t)
DEFINE_FILL_FIXED(fill_fixed2, uint16_t)
DEFINE_FILL_FIXED(fill_fixed4, uint32_t)
DEFINE_FILL_FIXED(fill_fixed8, uint64_t)

static void fill_bytes(uint8_t *data, const int64_t *offsets, int64_t *cursor, size_t slot, const tl_column *col,
                       int64_t n_rows)
{
    for (int64_t i = 0; i < n_rows; i++) {
        uint8_t *row = data + offsets[i];
        tl_bytes_view v = tl_col_bytes(col, i);
        if (tl_col_is_null(col, i)) {
            tl_write_le64(row + slot, 0);
        } else if (v.len <= BINARY_INLINE_MAX) {
            tl_write_le64(row + slot, inline_slot(v));
        } else {
            size_t padded = binary_round8(v.len);
            tl_write_le64(row + slot, (uint64_t)cursor[i] << 32 | v.len);
            tl_write_le64(row + cursor[i] + padded - 8, 0);
            memcpy(row + cursor[i], v.data, v.len);
            cursor[i] += (int64_t)padded;
        }
    }
}

static void fill_decimals(uint8_t *data, const int64_t *offsets, int64_t *cursor, size_t slot, const tl_column *col,
                          int64_t n_rows)
{
    for (int64_t i = 0; i < n_rows; i++) {
        uint8_t *row = data + offsets[i];
        size_t len = 0;
        if (tl_col_is_null(col, i))
            memset(row + cursor[i], 0, BINARY_DECIMAL_BYTES);
        else
            len = decimal_bytes(tl_col_i128(col, i), row + cursor[i]);
        tl_write_le64(row + slot, (uint64_t)cursor[i] << 32 | len);
        cursor[i] += BINARY_DECIMAL_BYTES;
    }
}

static void fill_timestamps(uint8_t *data, const int64_t *offsets, int64_t *cursor, size_t slot, const tl_column *col,
                            int64_t n_rows, binary_slot form)
{
    for (int64_t i = 0; i < n_rows; i++) {
        uint8_t *row = data + offsets[i];
        int64_t millis = 0;
        int32_t nanos = 0;
        if (!tl_col_is_null(col, i))
            timestamp_parts(col, i, form, &millis, &nanos);
        tl_write_le64(row + cursor[i], (uint64_t)millis);
        tl_write_le64(row + slot, (uint64_t)cursor[i] << 32 | (uint32_t)nanos);
        cursor[i] += BINARY_TIMESTAMP_BYTES;
    }
}

static void fill_column(uint8_t *data, const int64_t *offsets, int64_t *cursor, size_t slot, const tl_column *col,
                        int64_t n_rows)
{
    binary_slot form = binary_slot_of(col->type);
    switch (form) {
    case BINARY_SLOT_1:
        fill_fixed1(data, offsets, slot, col, n_rows);
        break;
    case BINARY_SLOT_2:
        fill_fixed2(data, offsets, slot, col, n_rows);
        break;
    case BINARY_SLOT_4:
        fill_fixed4(data, offsets, slot, col, n_rows);
        break;
    case BINARY_SLOT_8:
        fill_fixed8(data, offsets, slot, col, n_rows);
        break;
    case BINARY_SLOT_DECIMAL:
        fill_decimals(data, offsets, cursor, slot, col, n_rows);
        break;
    case BINARY_SLOT_BYTES:
        fill_bytes(data, offsets, cursor, slot, col, n_rows);
        break;
    default:
        fill_timestamps(data, offsets, cursor, slot, col, n_rows, form);
        break;
    }
}

static tl_status flat_rows(const tl_column *const *cols, int32_t n_cols, int64_t n_rows, tl_buf *data, int64_t *offsets,
                           tl_error *err)
{
    if (!size_flat_rows(cols, n_cols, n_rows, offsets))
        return tl_error_set(err, TL_E_LIMIT, "a row is longer than 2 GB");
    TL_CLEANUP(tl_freep) int64_t *cursor = tl_alloc((size_t)n_rows * sizeof *cursor);
    if (cursor == NULL || tl_buf_reserve(data, (size_t)offsets[n_rows]) != TL_OK)
        return tl_nomem(err, "binary rows");
    uint8_t *rows = data->data + data->len;
    size_t header = binary_row_header(n_cols);
    for (int64_t i = 0; i < n_rows; i++) {
        memset(rows + offsets[i], 0, header);
        cursor[i] = (int64_t)header + 8 * n_cols;
    }
    for (int32_t c = 0; c < n_cols; c++) {
        fill_nulls(rows, offsets, cols[c], c, n_rows);
        fill_column(rows, offsets, cursor, header + 8 * (size_t)c, cols[c], n_rows);
    }
    data->len += (size_t)offsets[n_rows];
    return TL_OK;
}

static tl_status nested_rows(const tl_column *const *cols, int32_t n_cols, int64_t n_rows, tl_buf *data, int64_t *offsets,
                             tl_error *err)
{
    size_t start = data->len;
    offsets[0] = 0;
    for (int64_t i = 0; i < n_rows; i++) {
        tl_status status = append_row(data, cols, n_cols, i, TL_KIND_INSERT, 0);
        if (status == TL_E_NOMEM)
            return tl_nomem(err, "binary rows");
        if (status != TL_OK)
            return tl_error_set(err, status, "row %lld is longer than 2 GB or nested too deeply", (long long)i);
        offsets[i + 1] = (int64_t)(data->len - start);
    }
    return TL_OK;
}

tl_status tl_binary_rows(const tl_column *const *cols, int32_t n_cols, int64_t n_rows, tl_buf *data, int64_t *offsets,
                         tl_error *err)
{
    for (int32_t c = 0; c < n_cols; c++)
        if (binary_slot_of(cols[c]->type) == BINARY_SLOT_NESTED)
            return nested_rows(cols, n_cols, n_rows, data, offsets, err);
    return flat_rows(cols, n_cols, n_rows, data, offsets, err);
}
