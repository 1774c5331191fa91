/*
 * Making normalised keys out of columns. Form of one value, most significant byte first:
 *
 *   NULL marker   nullable types only: 00 NULL (and nothing more), 01 a value follows
 *   integers, DATE, TIME, DECIMAL, TIMESTAMP  two's complement with the sign bit flipped
 *   BOOLEAN       00 or 01
 *   FLOAT, DOUBLE IEEE bits; negative ones inverted, others with the sign bit flipped: total order, NaN last
 *   strings, bytes  as they are if last; else 00 becomes 00 FF and 00 00 ends them
 *   ARRAY         a byte for each element, 01 NULL, 02 a value follows; 00 ends the array
 *   ROW           its fields one after the other, each with a NULL marker
 *
 * Keys are made column by column: sizes first, then the bytes at each row's write position.
 */
#include "types/types_private.h"

/* Type of a key column or of a value inside one. */
static bool is_key_type(const tl_type *type, int depth)
{
    if (depth > 32)
        return false;
    switch (type->kind) {
    case TL_MAP:
    case TL_MULTISET:
    case TL_VARIANT:
    case TL_BLOB:
        return false;
    case TL_ARRAY:
    case TL_ROW:
        for (int32_t i = 0; i < type->n_fields; i++)
            if (!is_key_type(type->fields[i].type, depth + 1))
                return false;
        return true;
    default:
        return true;
    }
}

/* Bytes of a fixed-width value in a key; 0 if it has no fixed width. */
static int key_width(tl_phys phys)
{
    return phys == TL_PHYS_TS96 ? 12 : tl_phys_width(phys);
}

bool tl_keys_are_fixed(const tl_type *const *types, int32_t n)
{
    int bytes = 0;
    for (int32_t i = 0; i < n; i++) {
        int width = key_width(tl_type_phys(types[i]));
        if (types[i]->nullable || width == 0 || width > 8)
            return false;
        bytes += width;
    }
    return bytes <= 8 && n > 0;
}

void tl_keys_free(tl_keys *keys)
{
    if (keys == NULL)
        return;
    tl_free(keys->fixed);
    tl_free(keys->offsets);
    tl_free(keys->data);
    tl_free(keys);
}

static inline uint32_t order_f32(uint32_t bits)
{
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        bits = 0x7fc00000u;
    return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}

static inline uint64_t order_f64(uint64_t bits)
{
    if ((bits & INT64_MAX) > UINT64_C(0x7ff0000000000000))
        bits = UINT64_C(0x7ff8000000000000);
    return bits >> 63 != 0 ? ~bits : bits | UINT64_C(1) << 63;
}

#define ORDER_BOOL(v) (v)
#define ORDER_I8(v) ((uint8_t)((v) ^ 0x80u))
#define ORDER_I16(v) ((uint16_t)((v) ^ 0x8000u))
#define ORDER_I32(v) ((v) ^ 0x80000000u)
#define ORDER_I64(v) ((v) ^ UINT64_C(1) << 63)

/* Number of a value (types as unsigned of the same width). */
#define FOR_EACH_ORDERED(X)              \
    X(TL_PHYS_BOOL, uint8_t, ORDER_BOOL) \
    X(TL_PHYS_I8, uint8_t, ORDER_I8)     \
    X(TL_PHYS_I16, uint16_t, ORDER_I16)  \
    X(TL_PHYS_I32, uint32_t, ORDER_I32)  \
    X(TL_PHYS_I64, uint64_t, ORDER_I64)  \
    X(TL_PHYS_F32, uint32_t, order_f32)  \
    X(TL_PHYS_F64, uint64_t, order_f64)

/* keys[i] = keys[i] << width | value i. */
static void push_fixed(uint64_t *restrict keys, const tl_column *col, int64_t n_rows)
{
    switch (col->phys) {
#define PUSH(PHYS, TYPE, ORDER)                                                   \
    case PHYS: {                                                                  \
        const TYPE *restrict values = col->values;                                \
        if (sizeof(TYPE) == 8) {                                                  \
            for (int64_t i = 0; i < n_rows; i++)                                  \
                keys[i] = ORDER(values[i]);                                       \
        } else {                                                                  \
            for (int64_t i = 0; i < n_rows; i++)                                  \
                keys[i] = keys[i] << (8 * (sizeof(TYPE) % 8)) | ORDER(values[i]); \
        }                                                                         \
        break;                                                                    \
    }
        FOR_EACH_ORDERED(PUSH)
#undef PUSH
    default:
        break;
    }
}

/* Position in a key that is being written. */
typedef uint8_t *key_end;

static key_end put_be(key_end out, uint64_t v, int bytes)
{
    for (int b = bytes - 1; b >= 0; b--)
        *out++ = (uint8_t)(v >> (8 * b));
    return out;
}

static key_end put_escaped(key_end out, tl_bytes_view v)
{
    size_t from = 0;
    while (from < v.len) {
        const uint8_t *zero = memchr(v.data + from, 0, v.len - from);
        size_t len = zero == NULL ? v.len - from : (size_t)(zero - v.data) - from;
        memcpy(out, v.data + from, len);
        out += len;
        from += len;
        if (zero != NULL) {
            *out++ = 0x00;
            *out++ = 0xff;
            from++;
        }
    }
    *out++ = 0;
    *out++ = 0;
    return out;
}

static size_t escaped_bytes(tl_bytes_view v)
{
    size_t zeros = 0;
    for (size_t i = 0; i < v.len; i++)
        zeros += v.data[i] == 0;
    return v.len + zeros + 2;
}

static key_end put_fixed(key_end out, const tl_column *col, int64_t i)
{
    switch (col->phys) {
#define PUT(PHYS, TYPE, ORDER) \
    case PHYS:                 \
        return put_be(out, ORDER(((const TYPE *)col->values)[i]), sizeof(TYPE));
        FOR_EACH_ORDERED(PUT)
#undef PUT
    case TL_PHYS_I128: {
        tl_i128 v = tl_col_i128(col, i);
        return put_be(put_be(out, ORDER_I64((uint64_t)(v >> 64)), 8), (uint64_t)v, 8);
    }
    default: {
        tl_ts96 ts = tl_col_ts96(col, i);
        return put_be(put_be(out, ORDER_I64((uint64_t)ts.millis), 8), (uint32_t)ts.nanos, 4);
    }
    }
}

/* Values of any type inside nested ones and nested keys themselves; `out` NULL only counts. Returns the bytes. */
static size_t put_value(uint8_t *out, const tl_column *col, int64_t i)
{
    size_t bytes = 0;
    switch (col->phys) {
    case TL_PHYS_BYTES:
        if (out != NULL)
            put_escaped(out, tl_col_bytes(col, i));
        return escaped_bytes(tl_col_bytes(col, i));
    case TL_PHYS_LIST:
        for (int32_t k = col->offsets[i]; k < col->offsets[i + 1]; k++) {
            bool null = tl_col_is_null(col->children[0], k);
            if (out != NULL)
                out[bytes] = null ? 1 : 2;
            bytes += 1;
            if (!null)
                bytes += put_value(out == NULL ? NULL : out + bytes, col->children[0], k);
        }
        if (out != NULL)
            out[bytes] = 0;
        return bytes + 1;
    case TL_PHYS_ROW:
        for (int32_t c = 0; c < col->n_children; c++) {
            bool null = tl_col_is_null(col->children[c], i);
            if (out != NULL)
                out[bytes] = !null;
            bytes += 1;
            if (!null)
                bytes += put_value(out == NULL ? NULL : out + bytes, col->children[c], i);
        }
        return bytes;
    default:
        if (out != NULL)
            put_fixed(out, col, i);
        return (size_t)key_width(col->phys);
    }
}

/* Adds the bytes that the column takes in each key. */
static void add_sizes(const tl_column *col, int64_t n_rows, bool last, uint64_t *sizes)
{
    int width = key_width(col->phys);
    bool nullable = col->type->nullable;
    for (int64_t i = 0; i < n_rows; i++) {
        sizes[i] += nullable;
        if (nullable && tl_col_is_null(col, i))
            continue;
        if (width != 0)
            sizes[i] += (uint64_t)width;
        else if (col->phys != TL_PHYS_BYTES)
            sizes[i] += put_value(NULL, col, i);
        else
            sizes[i] += last ? tl_col_bytes(col, i).len : escaped_bytes(tl_col_bytes(col, i));
    }
}

/* Without nulls and branches: the common column of a composite key. */
static void write_fixed_column(const tl_column *col, int64_t n_rows, key_end *ends)
{
    switch (col->phys) {
#define WRITE(PHYS, TYPE, ORDER)                                       \
    case PHYS: {                                                       \
        const TYPE *restrict values = col->values;                     \
        for (int64_t i = 0; i < n_rows; i++)                           \
            ends[i] = put_be(ends[i], ORDER(values[i]), sizeof(TYPE)); \
        break;                                                         \
    }
        FOR_EACH_ORDERED(WRITE)
#undef WRITE
    default:
        for (int64_t i = 0; i < n_rows; i++)
            ends[i] = put_fixed(ends[i], col, i);
    }
}

static void write_column(const tl_column *col, int64_t n_rows, bool last, key_end *ends)
{
    bool nullable = col->type->nullable;
    if (!nullable && key_width(col->phys) != 0) {
        write_fixed_column(col, n_rows, ends);
        return;
    }
    for (int64_t i = 0; i < n_rows; i++) {
        bool null = nullable && tl_col_is_null(col, i);
        if (nullable)
            *ends[i]++ = !null;
        if (null)
            continue;
        if (col->phys == TL_PHYS_BYTES && last) {
            tl_bytes_view v = tl_col_bytes(col, i);
            if (v.len != 0)
                memcpy(ends[i], v.data, v.len);
            ends[i] += v.len;
        } else {
            ends[i] += put_value(ends[i], col, i);
        }
    }
}

/* `sizes` ends as the offsets. */
static tl_status alloc_data(tl_keys *keys, const uint64_t *sizes, tl_error *err)
{
    uint64_t total = 0;
    keys->offsets = tl_alloc(((size_t)keys->count + 1) * sizeof *keys->offsets);
    if (keys->offsets == NULL)
        return tl_nomem(err, "keys");
    for (int64_t i = 0; i < keys->count; i++) {
        keys->offsets[i] = (uint32_t)total;
        total += sizes[i];
        if (total > UINT32_MAX)
            return tl_error_set(err, TL_E_LIMIT, "keys of a batch are longer than 4 GB");
    }
    keys->offsets[keys->count] = (uint32_t)total;
    keys->data = tl_alloc((size_t)total + 8); /* room to load 8 bytes anywhere */
    return keys->data == NULL ? tl_nomem(err, "keys") : TL_OK;
}

static tl_status fill_bytes_keys(tl_keys *keys, const tl_column *const *cols, int32_t n_cols, tl_error *err)
{
    int64_t n_rows = keys->count;
    uint64_t *sizes = keys->fixed; /* their place until the prefixes are known */
    memset(sizes, 0, (size_t)n_rows * sizeof *sizes);
    for (int32_t c = 0; c < n_cols; c++)
        add_sizes(cols[c], n_rows, c == n_cols - 1, sizes);
    TL_TRY(alloc_data(keys, sizes, err));
    TL_CLEANUP(tl_freep) key_end *ends = tl_alloc((size_t)n_rows * sizeof *ends);
    if (ends == NULL)
        return tl_nomem(err, "keys");
    for (int64_t i = 0; i < n_rows; i++)
        ends[i] = keys->data + keys->offsets[i];
    for (int32_t c = 0; c < n_cols; c++)
        write_column(cols[c], n_rows, c == n_cols - 1, ends);
    for (int64_t i = 0; i < n_rows; i++)
        keys->fixed[i] = tl_keys__load8(keys, i, 0);
    return TL_OK;
}

tl_status tl_keys_create(const tl_column *const *cols, int32_t n_cols, int64_t n_rows, tl_keys **out, tl_error *err)
{
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = tl_calloc(1, sizeof *keys);
    if (keys == NULL || (keys->fixed = tl_alloc((size_t)n_rows * sizeof *keys->fixed)) == NULL)
        return tl_nomem(err, "keys");
    keys->count = n_rows;
    keys->is_fixed = n_cols > 0;
    int bytes = 0;
    for (int32_t c = 0; c < n_cols; c++) {
        if (!is_key_type(cols[c]->type, 0))
            return tl_error_set(err, TL_E_UNSUPPORTED, "key column %d: its type has no order", c);
        int width = key_width(cols[c]->phys);
        keys->is_fixed = keys->is_fixed && !cols[c]->type->nullable && width > 0 && width <= 8;
        bytes += width;
    }
    keys->is_fixed = keys->is_fixed && bytes <= 8;
    if (keys->is_fixed) {
        memset(keys->fixed, 0, (size_t)n_rows * sizeof *keys->fixed);
        for (int32_t c = 0; c < n_cols; c++)
            push_fixed(keys->fixed, cols[c], n_rows);
    } else {
        TL_TRY(fill_bytes_keys(keys, cols, n_cols, err));
    }
    *out = TL_STEAL(keys);
    return TL_OK;
}

static tl_status concat_bytes(tl_keys *keys, const tl_keys *const *parts, int32_t n_parts, tl_error *err)
{
    uint64_t total = 0;
    for (int32_t p = 0; p < n_parts; p++)
        total += parts[p]->offsets[parts[p]->count];
    if (total > UINT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "keys are longer than 4 GB");
    keys->offsets = tl_alloc(((size_t)keys->count + 1) * sizeof *keys->offsets);
    keys->data = tl_alloc((size_t)total + 8);
    if (keys->offsets == NULL || keys->data == NULL)
        return tl_nomem(err, "keys");
    uint32_t *offset = keys->offsets, base = 0;
    for (int32_t p = 0; p < n_parts; p++) {
        uint32_t bytes = parts[p]->offsets[parts[p]->count];
        memcpy(keys->data + base, parts[p]->data, bytes);
        for (int64_t i = 0; i < parts[p]->count; i++)
            *offset++ = base + parts[p]->offsets[i];
        base += bytes;
    }
    *offset = base;
    return TL_OK;
}

tl_status tl_keys_concat(const tl_keys *const *parts, int32_t n_parts, tl_keys **out, tl_error *err)
{
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = tl_calloc(1, sizeof *keys);
    if (keys == NULL)
        return tl_nomem(err, "keys");
    keys->is_fixed = n_parts == 0 || parts[0]->is_fixed;
    for (int32_t p = 0; p < n_parts; p++)
        keys->count += parts[p]->count;
    keys->fixed = tl_alloc((size_t)keys->count * sizeof *keys->fixed);
    if (keys->fixed == NULL)
        return tl_nomem(err, "keys");
    uint64_t *fixed = keys->fixed;
    for (int32_t p = 0; p < n_parts; p++) {
        memcpy(fixed, parts[p]->fixed, (size_t)parts[p]->count * sizeof *fixed);
        fixed += parts[p]->count;
    }
    if (!keys->is_fixed)
        TL_TRY(concat_bytes(keys, parts, n_parts, err));
    *out = TL_STEAL(keys);
    return TL_OK;
}
