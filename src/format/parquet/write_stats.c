/*
 * Smallest and largest values: of a page (column index), of a chunk (footer) and of the file (the caller's statistics).
 *
 * The three readers want different things. The column index gets bounds cut to 64 bytes; the footer gets exact ones or, if
 * they are long, none; both leave floating point out as soon as there is a NaN and sign zeros outwards, as parquet.thrift asks
 * (ColumnOrder). The caller gets what the reference puts into its manifests: exact values in Java's order, where NaN is the
 * largest and -0.0 is less than +0.0, and nothing for BINARY and INT96 (Java: ParquetSimpleStatsExtractor).
 */
#include "format/parquet/write_private.h"
#include "types/builder.h"

void tl_pq__bounds_deinit(tl_pq_bounds *bounds)
{
    tl_buf_deinit(&bounds->min_bytes);
    tl_buf_deinit(&bounds->max_bytes);
    *bounds = (tl_pq_bounds){0};
}

void tl_pq__bounds_reset(tl_pq_bounds *bounds)
{
    bounds->has_value = false;
    bounds->has_nan = false;
    bounds->min_bytes.len = 0;
    bounds->max_bytes.len = 0;
}

static tl_bytes_view view_of(const tl_buf *buf)
{
    return (tl_bytes_view){buf->data, buf->len};
}

static tl_status set_bytes(tl_buf *buf, tl_bytes_view v)
{
    buf->len = 0;
    return tl_buf_append(buf, v.data, v.len);
}

static void add_ints(tl_pq_bounds *bounds, int64_t min, int64_t max)
{
    bounds->min = bounds->has_value ? TL_MIN(bounds->min, min) : min;
    bounds->max = bounds->has_value ? TL_MAX(bounds->max, max) : max;
    bounds->has_value = true;
}

static void add_wide(tl_pq_bounds *bounds, tl_i128 min, tl_i128 max)
{
    bounds->min_wide = bounds->has_value ? TL_MIN(bounds->min_wide, min) : min;
    bounds->max_wide = bounds->has_value ? TL_MAX(bounds->max_wide, max) : max;
    bounds->has_value = true;
}

tl_status tl_pq__bounds_add_bytes(tl_pq_bounds *bounds, tl_bytes_view v)
{
    if (!bounds->has_value || tl_bytes_compare(v, view_of(&bounds->min_bytes)) < 0)
        TL_TRY(set_bytes(&bounds->min_bytes, v));
    if (!bounds->has_value || tl_bytes_compare(v, view_of(&bounds->max_bytes)) > 0)
        TL_TRY(set_bytes(&bounds->max_bytes, v));
    bounds->has_value = true;
    return TL_OK;
}

tl_status tl_pq__bounds_merge(tl_pq_order order, tl_pq_bounds *into, const tl_pq_bounds *from)
{
    into->has_nan = into->has_nan || from->has_nan;
    if (!from->has_value)
        return TL_OK;
    switch (order) {
    case TL_PQ_ORDER_INT:
    case TL_PQ_ORDER_FLOAT:
        add_ints(into, from->min, from->max);
        return TL_OK;
    case TL_PQ_ORDER_I128:
        add_wide(into, from->min_wide, from->max_wide);
        return TL_OK;
    case TL_PQ_ORDER_BYTES:
        TL_TRY(tl_pq__bounds_add_bytes(into, view_of(&from->min_bytes)));
        return tl_pq__bounds_add_bytes(into, view_of(&from->max_bytes));
    case TL_PQ_ORDER_NONE:
        break;
    }
    return TL_OK;
}

/* ---- dense values ---- */

static void add_booleans(tl_pq_bounds *bounds, const uint8_t *v, int64_t count)
{
    bool has_false = memchr(v, 0, (size_t)count) != NULL;
    bool has_true = memchr(v, 1, (size_t)count) != NULL;
    add_ints(bounds, has_false ? 0 : 1, has_true ? 1 : 0);
}

/** NaNs take part as the neutral value, so that the loop has no branch. */
#define DEFINE_ADD_FLOATS(NAME, FLOAT, INT, KEY, INT_MIN_, INT_MAX_)                                                             \
    static void NAME(tl_pq_bounds *bounds, const FLOAT *restrict v, int64_t count)                                               \
    {                                                                                                                            \
        INT min = INT_MAX_;                                                                                                      \
        INT max = INT_MIN_;                                                                                                      \
        int64_t n_nan = 0;                                                                                                       \
        for (int64_t i = 0; i < count; i++) {                                                                                    \
            INT bits;                                                                                                            \
            memcpy(&bits, &v[i], sizeof bits);                                                                                   \
            INT key = KEY(bits);                                                                                                 \
            bool is_nan = v[i] != v[i];                                                                                          \
            INT low = is_nan ? INT_MAX_ : key;                                                                                   \
            INT high = is_nan ? INT_MIN_ : key;                                                                                  \
            min = low < min ? low : min;                                                                                         \
            max = high > max ? high : max;                                                                                       \
            n_nan += is_nan;                                                                                                     \
        }                                                                                                                        \
        bounds->has_nan = bounds->has_nan || n_nan != 0;                                                                         \
        if (n_nan != count)                                                                                                      \
            add_ints(bounds, min, max);                                                                                          \
    }

DEFINE_ADD_FLOATS(add_floats, float, int32_t, tl_pq__float_key, INT32_MIN, INT32_MAX)
DEFINE_ADD_FLOATS(add_doubles, double, int64_t, tl_pq__double_key, INT64_MIN, INT64_MAX)

static tl_i128 read_decimal(const uint8_t *p, int32_t width)
{
    uint8_t bytes[16];
    memset(bytes, (p[0] & 0x80) != 0 ? 0xff : 0, sizeof bytes);
    memcpy(bytes + 16 - width, p, (size_t)width);
    return (tl_i128)((unsigned __int128)tl_read_be64(bytes) << 64 | tl_read_be64(bytes + 8));
}

/** The same where 16 bytes can be read. */
static inline tl_i128 read_decimal_fast(const uint8_t *p, int32_t width)
{
    return (tl_i128)((unsigned __int128)tl_read_be64(p) << 64 | tl_read_be64(p + 8)) >> (8 * (16 - width));
}

static void add_decimals(tl_pq_bounds *bounds, const uint8_t *p, int32_t width, int64_t count)
{
    tl_i128 min = read_decimal_fast(p, width);
    tl_i128 max = min;
    for (int64_t i = 1; i < count; i++) {
        tl_i128 v = read_decimal_fast(p + i * width, width);
        min = v < min ? v : min;
        max = v > max ? v : max;
    }
    add_wide(bounds, min, max);
}

void tl_pq__bounds_add_plain(tl_pq_bounds *bounds, tl_pq_type type, int32_t width, const void *dense, int64_t count)
{
    if (count == 0)
        return;
    const tl_pq_kernels *kernels = tl_pq__kernels();
    int32_t min32 = 0, max32 = 0;
    int64_t min64 = 0, max64 = 0;
    switch (type) {
    case TL_PQ_BOOLEAN:
        add_booleans(bounds, dense, count);
        break;
    case TL_PQ_INT32:
        kernels->bounds_i32(dense, count, &min32, &max32);
        add_ints(bounds, min32, max32);
        break;
    case TL_PQ_INT64:
        kernels->bounds_i64(dense, count, &min64, &max64);
        add_ints(bounds, min64, max64);
        break;
    case TL_PQ_FLOAT:
        add_floats(bounds, dense, count);
        break;
    case TL_PQ_DOUBLE:
        add_doubles(bounds, dense, count);
        break;
    case TL_PQ_FIXED_LEN_BYTE_ARRAY:
        add_decimals(bounds, dense, width, count);
        break;
    default: /* INT96 has no order; BYTE_ARRAY goes through tl_pq__bounds_add_rows() */
        break;
    }
}

/* ---- PLAIN form ---- */

/** Key of a floating point bound, zeros signed outwards: readers compare +0.0 and -0.0 as they please. */
static int64_t outward_zero(int64_t key, bool is_min)
{
    if (is_min)
        return key == 0 ? -1 : key; /* +0.0 has key 0, -0.0 has key -1 */
    return key == -1 ? 0 : key;
}

static tl_bytes_view put_bound(int64_t v, tl_pq_order order, tl_pq_type type, bool is_min, uint8_t *scratch)
{
    if (order == TL_PQ_ORDER_FLOAT) {
        int64_t key = outward_zero(v, is_min);
        v = type == TL_PQ_FLOAT ? tl_pq__float_key((int32_t)key) : tl_pq__double_key(key);
    }
    tl_write_le64(scratch, (uint64_t)v);
    size_t bytes = type == TL_PQ_BOOLEAN ? 1 : type == TL_PQ_INT32 || type == TL_PQ_FLOAT ? 4 : 8;
    return (tl_bytes_view){scratch, bytes};
}

static tl_bytes_view put_wide(tl_i128 v, int32_t width, uint8_t *scratch)
{
    tl_write_be64(scratch, (uint64_t)(v >> 64));
    tl_write_be64(scratch + 8, (uint64_t)v);
    return (tl_bytes_view){scratch + 16 - width, (size_t)width};
}

bool tl_pq__bounds_plain(const tl_pq_bounds *bounds, tl_pq_order order, tl_pq_type type, int32_t width, uint8_t *scratch,
                         tl_bytes_view *min, tl_bytes_view *max)
{
    if (!bounds->has_value || bounds->has_nan)
        return false;
    switch (order) {
    case TL_PQ_ORDER_INT:
    case TL_PQ_ORDER_FLOAT:
        *min = put_bound(bounds->min, order, type, true, scratch);
        *max = put_bound(bounds->max, order, type, false, scratch + 16);
        return true;
    case TL_PQ_ORDER_I128:
        *min = put_wide(bounds->min_wide, width, scratch);
        *max = put_wide(bounds->max_wide, width, scratch + 16);
        return true;
    case TL_PQ_ORDER_BYTES:
        *min = view_of(&bounds->min_bytes);
        *max = view_of(&bounds->max_bytes);
        return true;
    case TL_PQ_ORDER_NONE:
        break;
    }
    return false;
}

/** Values of FLOAT and DOUBLE bounds; there is no NaN in them. */
static double read_float(tl_pq_type type, tl_bytes_view v)
{
    float f = 0;
    double d = 0;
    if (type == TL_PQ_DOUBLE) {
        memcpy(&d, v.data, sizeof d);
        return d;
    }
    memcpy(&f, v.data, sizeof f);
    return (double)f;
}

static int64_t read_int(tl_bytes_view v)
{
    return v.len == 1 ? v.data[0] : v.len == 4 ? (int32_t)tl_read_le32(v.data) : (int64_t)tl_read_le64(v.data);
}

int tl_pq__compare_plain(tl_pq_order order, tl_pq_type type, tl_bytes_view a, tl_bytes_view b)
{
    switch (order) {
    case TL_PQ_ORDER_INT:
        return (read_int(a) > read_int(b)) - (read_int(a) < read_int(b));
    case TL_PQ_ORDER_FLOAT:
        return (read_float(type, a) > read_float(type, b)) - (read_float(type, a) < read_float(type, b));
    case TL_PQ_ORDER_I128: {
        tl_i128 x = read_decimal(a.data, (int32_t)a.len);
        tl_i128 y = read_decimal(b.data, (int32_t)b.len);
        return (x > y) - (x < y);
    }
    case TL_PQ_ORDER_BYTES:
        return tl_bytes_compare(a, b);
    case TL_PQ_ORDER_NONE:
        break;
    }
    return 0;
}

/* ---- cutting ---- */

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/** Longest prefix of at most TL_PQ_INDEX_BOUND_BYTES that ends with a whole character; in malformed text, anywhere. */
static size_t cut_length(tl_bytes_view v, bool is_utf8)
{
    size_t len = TL_PQ_INDEX_BOUND_BYTES;
    for (int back = 0; is_utf8 && back < 4 && len > 1; back++, len--)
        if (!is_continuation(v.data[len]))
            return len;
    return TL_PQ_INDEX_BOUND_BYTES;
}

tl_bytes_view tl_pq__cut_min(tl_bytes_view v, bool is_utf8)
{
    return v.len <= TL_PQ_INDEX_BOUND_BYTES ? v : (tl_bytes_view){v.data, cut_length(v, is_utf8)};
}

/** Raise the last byte that can be raised; false if all are at their highest. */
static bool count_up(uint8_t *p, size_t *len)
{
    for (size_t i = *len; i > 0; i--) {
        if (p[i - 1] != 0xff) {
            p[i - 1]++;
            *len = i;
            return true;
        }
    }
    return false;
}

/** The next character of as many bytes, in place; false if there is none or `p` is no character of `bytes` bytes. */
static bool raise_character(uint8_t *p, size_t bytes)
{
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    static const uint32_t last[] = {0, 0x7f, 0x7ff, 0xffff, 0x10ffff};
    uint8_t mask = (uint8_t)(0xff >> (bytes + 1));
    if (bytes > 1 && (p[0] & ~mask) != lead[bytes])
        return false;
    uint32_t code = bytes == 1 ? p[0] : p[0] & mask;
    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | (p[i] & 0x3f);
    code = code == 0xd7ff ? 0xe000 : code + 1; /* surrogates are no characters */
    if (code > last[bytes])
        return false;
    for (size_t i = bytes - 1; i > 0; i--, code >>= 6)
        p[i] = (uint8_t)(0x80 | (code & 0x3f));
    p[0] = (uint8_t)(lead[bytes] | code);
    return true;
}

/** Raise the last character that has a successor of its length, and drop what follows it. */
static bool count_up_utf8(uint8_t *p, size_t *len)
{
    for (size_t end = *len; end > 0;) {
        size_t start = end - 1;
        while (start > 0 && end - start < 4 && is_continuation(p[start]))
            start--;
        if (raise_character(p + start, end - start)) {
            *len = end;
            return true;
        }
        end = start;
    }
    return false;
}

tl_bytes_view tl_pq__cut_max(tl_bytes_view v, bool is_utf8, uint8_t *scratch)
{
    if (v.len <= TL_PQ_INDEX_BOUND_BYTES)
        return v;
    size_t len = cut_length(v, is_utf8);
    memcpy(scratch, v.data, len);
    if ((is_utf8 && count_up_utf8(scratch, &len)) || count_up(scratch, &len))
        return (tl_bytes_view){scratch, len};
    return v;
}

/* ---- the caller's statistics ---- */

static tl_status append_bound(tl_builder *builder, const tl_pq_bounds *bounds, const tl_type *type, bool is_min)
{
    int64_t v = is_min ? bounds->min : bounds->max;
    bool as_nan = bounds->has_nan && (!is_min || !bounds->has_value);
    int32_t float_bits = tl_pq__float_key((int32_t)v);
    int64_t double_bits = tl_pq__double_key(v);
    float f = 0;
    double d = 0;
    memcpy(&f, &float_bits, sizeof f);
    memcpy(&d, &double_bits, sizeof d);
    tl_bytes_view bytes = view_of(is_min ? &bounds->min_bytes : &bounds->max_bytes);
    switch (tl_type_phys(type)) {
    case TL_PHYS_BOOL:
        return tl_builder_bool(builder, v != 0);
    case TL_PHYS_F32:
        return tl_builder_f32(builder, as_nan ? __builtin_nanf("") : f);
    case TL_PHYS_F64:
        return tl_builder_f64(builder, as_nan ? __builtin_nan("") : d);
    case TL_PHYS_I128:
        return tl_builder_i128(builder, is_min ? bounds->min_wide : bounds->max_wide);
    case TL_PHYS_BYTES:
        return tl_builder_bytes(builder, bytes.data, bytes.len);
    default:
        return tl_builder_int(builder, v);
    }
}

static tl_status bound_column(const tl_pq_bounds *bounds, const tl_type *type, bool is_min, tl_column **out, tl_error *err)
{
    tl_builder *builder = NULL;
    TL_TRY(tl_builder_create(type, &builder, err));
    tl_status status = append_bound(builder, bounds, type, is_min);
    if (status != TL_OK)
        status = tl_nomem(err, "column statistics");
    else
        status = tl_builder_finish(builder, out, err);
    tl_builder_free(builder);
    return status;
}

static bool has_statistics(const tl_type *type, tl_pq_order order)
{
    return order != TL_PQ_ORDER_NONE && type->kind != TL_BINARY && type->kind != TL_VARBINARY && type->kind != TL_BLOB;
}

tl_status tl_pq__bounds_columns(const tl_pq_bounds *bounds, tl_pq_order order, const tl_type *type, tl_column **min, tl_column **max,
                                tl_error *err)
{
    *min = NULL;
    *max = NULL;
    if ((!bounds->has_value && !bounds->has_nan) || !has_statistics(type, order))
        return TL_OK;
    TL_TRY(bound_column(bounds, type, true, min, err));
    return bound_column(bounds, type, false, max, err);
}
