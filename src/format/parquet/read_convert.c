/*
 * Stored types and the types that they can be read as.
 *
 * The choice is made once per column; each pair of layouts has one loop without branches on types. Conversions never lose
 * more than what the requested type cannot hold by its nature (nanoseconds in TIMESTAMP(3) are cut as the reference cuts
 * them, towards the past); a value out of range is an error, not a wrapped number.
 *
 * INT96 timestamps are LE int64 nanoseconds of the day and LE int32 Julian day. The reference's writer divides towards zero,
 * so before 1970 the nanoseconds are negative and count back from a day's start: signed arithmetic and a floor give the
 * instant in both cases.
 */
#include <stdio.h>

#include "format/parquet/read_private.h"
#include "types/text.h"

#define JULIAN_EPOCH_DAY 2440588
#define MILLIS_PER_DAY INT64_C(86400000)
#define NANOS_PER_MILLI INT64_C(1000000)
#define DECIMAL_PRECISION_MAX 38

/* ---- what is stored ---- */

static tl_pq_logical annotation_of_converted(const tl_pq_schema_element *el)
{
    tl_pq_logical l = {.kind = TL_PQ_LOGICAL_NONE};
    switch (el->converted) {
    case TL_PQ_UTF8:
        l.kind = TL_PQ_LOGICAL_STRING;
        break;
    case TL_PQ_ENUM:
        l.kind = TL_PQ_LOGICAL_ENUM;
        break;
    case TL_PQ_DECIMAL:
        l = (tl_pq_logical){.kind = TL_PQ_LOGICAL_DECIMAL, .precision = el->precision, .scale = el->scale};
        break;
    case TL_PQ_DATE:
        l.kind = TL_PQ_LOGICAL_DATE;
        break;
    case TL_PQ_TIME_MILLIS:
    case TL_PQ_TIME_MICROS:
        l = (tl_pq_logical){.kind = TL_PQ_LOGICAL_TIME,
                            .adjusted_to_utc = true,
                            .unit = el->converted == TL_PQ_TIME_MILLIS ? TL_PQ_MILLIS : TL_PQ_MICROS};
        break;
    case TL_PQ_TIMESTAMP_MILLIS:
    case TL_PQ_TIMESTAMP_MICROS:
        l = (tl_pq_logical){.kind = TL_PQ_LOGICAL_TIMESTAMP,
                            .adjusted_to_utc = true,
                            .unit = el->converted == TL_PQ_TIMESTAMP_MILLIS ? TL_PQ_MILLIS : TL_PQ_MICROS};
        break;
    case TL_PQ_UINT_8:
    case TL_PQ_UINT_16:
    case TL_PQ_UINT_32:
    case TL_PQ_UINT_64:
        l = (tl_pq_logical){.kind = TL_PQ_LOGICAL_INTEGER, .bit_width = (int8_t)(8 << (el->converted - TL_PQ_UINT_8))};
        break;
    case TL_PQ_INT_8:
    case TL_PQ_INT_16:
    case TL_PQ_INT_32:
    case TL_PQ_INT_64:
        l = (tl_pq_logical){
            .kind = TL_PQ_LOGICAL_INTEGER, .bit_width = (int8_t)(8 << (el->converted - TL_PQ_INT_8)), .is_signed = true};
        break;
    case TL_PQ_JSON:
        l.kind = TL_PQ_LOGICAL_JSON;
        break;
    case TL_PQ_BSON:
        l.kind = TL_PQ_LOGICAL_BSON;
        break;
    default: /* INTERVAL has no LogicalType: its bytes are read as they are */
        break;
    }
    return l;
}

tl_pq_logical tl_pq__annotation(const tl_pq_schema_element *el)
{
    bool has_logical = el->logical.kind != TL_PQ_LOGICAL_NONE && el->logical.kind != TL_PQ_LOGICAL_OTHER;
    return has_logical ? el->logical : annotation_of_converted(el);
}

static bool is_valid_decimal(const tl_pq_logical *l)
{
    return l->precision > 0 && l->scale >= 0 && l->scale <= l->precision;
}

static bool natural_of_bytes(const tl_pq_schema_element *el, const tl_pq_logical *l, tl_type_kind *kind, int32_t *a)
{
    bool is_text = l->kind == TL_PQ_LOGICAL_STRING || l->kind == TL_PQ_LOGICAL_ENUM || l->kind == TL_PQ_LOGICAL_JSON;
    *a = TL_LENGTH_MAX;
    if (el->type == TL_PQ_BYTE_ARRAY) {
        *kind = is_text ? TL_VARCHAR : TL_VARBINARY;
        return true;
    }
    if (l->kind == TL_PQ_LOGICAL_FLOAT16) {
        *kind = TL_FLOAT;
        return el->type_length == 2;
    }
    *kind = TL_BINARY;
    *a = el->type_length;
    return true;
}

static tl_type_kind natural_of_integer(const tl_pq_schema_element *el, const tl_pq_logical *l, int32_t *a)
{
    int bits = el->type == TL_PQ_INT32 ? 32 : 64;
    bool is_signed = true;
    if (l->kind == TL_PQ_LOGICAL_INTEGER) {
        bits = l->bit_width;
        is_signed = l->is_signed;
    }
    if (!is_signed && bits == 64) {
        *a = 20; /* digits of 2^64 */
        return TL_DECIMAL;
    }
    if (!is_signed)
        bits *= 2;
    return bits <= 8 ? TL_TINYINT : bits <= 16 ? TL_SMALLINT : bits <= 32 ? TL_INT : TL_BIGINT;
}

bool tl_pq__natural_type(const tl_pq_schema_element *el, tl_type_kind *kind, int32_t *a, int32_t *b)
{
    tl_pq_logical l = tl_pq__annotation(el);
    bool is_int32 = el->type == TL_PQ_INT32, is_int64 = el->type == TL_PQ_INT64;
    *a = *b = 0;
    if (l.kind == TL_PQ_LOGICAL_DECIMAL && el->type != TL_PQ_BOOLEAN && el->type != TL_PQ_FLOAT && el->type != TL_PQ_DOUBLE) {
        *kind = TL_DECIMAL;
        *a = l.precision;
        *b = l.scale;
        return is_valid_decimal(&l) && l.precision <= DECIMAL_PRECISION_MAX;
    }
    switch (el->type) {
    case TL_PQ_BOOLEAN:
        *kind = TL_BOOLEAN;
        return true;
    case TL_PQ_FLOAT:
    case TL_PQ_DOUBLE:
        *kind = el->type == TL_PQ_FLOAT ? TL_FLOAT : TL_DOUBLE;
        return true;
    case TL_PQ_INT96:
        *kind = TL_TIMESTAMP;
        *a = 9;
        return true;
    case TL_PQ_BYTE_ARRAY:
    case TL_PQ_FIXED_LEN_BYTE_ARRAY:
        return natural_of_bytes(el, &l, kind, a);
    default:
        break;
    }
    if (is_int32 && l.kind == TL_PQ_LOGICAL_DATE) {
        *kind = TL_DATE;
    } else if (l.kind == TL_PQ_LOGICAL_TIME) {
        *kind = TL_TIME;
        *a = 3;
    } else if (is_int64 && l.kind == TL_PQ_LOGICAL_TIMESTAMP) {
        *kind = l.adjusted_to_utc ? TL_TIMESTAMP_LTZ : TL_TIMESTAMP;
        *a = l.unit == TL_PQ_MILLIS ? 3 : l.unit == TL_PQ_MICROS ? 6 : 9;
    } else {
        *kind = natural_of_integer(el, &l, a);
    }
    return true;
}

void tl_pq__type_text(const tl_pq_schema_element *el, char *buf)
{
    static const char *const types[] = {"BOOLEAN", "INT32",  "INT64",      "INT96",
                                        "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};
    static const char *const units[] = {"", " in milliseconds", " in microseconds", " in nanoseconds"};
    static const char *const names[] = {"",     "STRING",    "MAP",     "LIST",     "ENUM",     "DECIMAL", "DATE",
                                        "TIME", "TIMESTAMP", "",        "INTEGER",  "UNKNOWN",  "JSON",    "BSON",
                                        "UUID", "FLOAT16",   "VARIANT", "GEOMETRY", "GEOGRAPHY"};
    tl_pq_logical l = tl_pq__annotation(el);
    const char *type = el->has_type ? types[el->type] : "group";
    if (l.kind == TL_PQ_LOGICAL_DECIMAL)
        snprintf(buf, TL_PQ_TYPE_BYTES, "%s (DECIMAL(%d, %d))", type, l.precision, l.scale);
    else if (l.kind == TL_PQ_LOGICAL_INTEGER)
        snprintf(buf, TL_PQ_TYPE_BYTES, "%s (%sINT%d)", type, l.is_signed ? "" : "U", l.bit_width);
    else if (l.kind == TL_PQ_LOGICAL_TIME || l.kind == TL_PQ_LOGICAL_TIMESTAMP)
        snprintf(buf, TL_PQ_TYPE_BYTES, "%s (%s%s)", type, names[l.kind], units[l.unit]);
    else if (l.kind != TL_PQ_LOGICAL_NONE)
        snprintf(buf, TL_PQ_TYPE_BYTES, "%s (%s)", type, names[l.kind]);
    else
        snprintf(buf, TL_PQ_TYPE_BYTES, "%s", type);
}

/* ---- loops: integers ---- */

static tl_status out_of_range(tl_error *err)
{
    return tl_error_set(err, TL_E_INVALID, "a value does not fit the requested type");
}

/* Bounds are cut to what the source can hold and compared in WIDE, so that the loop has no branch and vectorises. */
#define DEFINE_INT(NAME, SRC, WIDE, LOW, HIGH, DST)                                                                       \
    static tl_status NAME(const tl_pq_conversion *conv, const void *src_bytes, void *dst_bytes, int64_t n, tl_error *err) \
    {                                                                                                                     \
        const SRC *restrict src = src_bytes;                                                                              \
        DST *restrict dst = dst_bytes;                                                                                    \
        const WIDE min = (WIDE)TL_MAX(conv->int_min, LOW), max = (WIDE)TL_MIN(conv->int_max, HIGH);                       \
        unsigned bad = 0;                                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                                                 \
            WIDE v = src[i];                                                                                              \
            bad |= (unsigned)(v < min) | (unsigned)(v > max);                                                             \
            dst[i] = (DST)v;                                                                                              \
        }                                                                                                                 \
        return bad != 0 ? out_of_range(err) : TL_OK;                                                                      \
    }
#define DEFINE_INTS(SUFFIX, SRC, WIDE, LOW, HIGH)              \
    DEFINE_INT(SUFFIX##_to_i8, SRC, WIDE, LOW, HIGH, int8_t)   \
    DEFINE_INT(SUFFIX##_to_i16, SRC, WIDE, LOW, HIGH, int16_t) \
    DEFINE_INT(SUFFIX##_to_i32, SRC, WIDE, LOW, HIGH, int32_t) \
    DEFINE_INT(SUFFIX##_to_i64, SRC, WIDE, LOW, HIGH, int64_t)
DEFINE_INTS(i32, int32_t, int32_t, (int64_t)INT32_MIN, (int64_t)INT32_MAX)
DEFINE_INTS(u32, uint32_t, int64_t, (int64_t)0, (int64_t)UINT32_MAX)
DEFINE_INTS(i64, int64_t, int64_t, INT64_MIN, INT64_MAX)
DEFINE_INTS(u64, uint64_t, uint64_t, (int64_t)0, INT64_MAX)

enum { INT_I32, INT_U32, INT_I64, INT_U64 };

static tl_pq_convert_fn int_loop(int src, int dst_width)
{
    static const tl_pq_convert_fn loops[4][4] = {{i32_to_i8, i32_to_i16, i32_to_i32, i32_to_i64},
                                                 {u32_to_i8, u32_to_i16, u32_to_i32, u32_to_i64},
                                                 {i64_to_i8, i64_to_i16, i64_to_i32, i64_to_i64},
                                                 {u64_to_i8, u64_to_i16, u64_to_i32, u64_to_i64}};
    return loops[src][dst_width == 1 ? 0 : dst_width == 2 ? 1 : dst_width == 4 ? 2 : 3];
}

/* ---- loops: floats ---- */

static tl_status f32_to_f64(const tl_pq_conversion *conv, const void *src_bytes, void *dst_bytes, int64_t n, tl_error *err)
{
    (void)conv;
    (void)err;
    const float *restrict src = src_bytes;
    double *restrict dst = dst_bytes;
    for (int64_t i = 0; i < n; i++)
        dst[i] = src[i];
    return TL_OK;
}

static float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023, bits;
    float f;
    if (exponent == 31)
        bits = sign | 0x7f800000u | fraction << 13;
    else if (exponent != 0)
        bits = sign | (exponent + 112) << 23 | fraction << 13;
    else { /* zero and subnormals: fraction * 2^-24 */
        f = (float)fraction * 0x1p-24f;
        memcpy(&bits, &f, sizeof bits);
        bits |= sign;
    }
    memcpy(&f, &bits, sizeof f);
    return f;
}

static tl_status f16_to_f32(const tl_pq_conversion *conv, const void *src_bytes, void *dst_bytes, int64_t n, tl_error *err)
{
    (void)conv;
    (void)err;
    for (int64_t i = 0; i < n; i++)
        ((float *)dst_bytes)[i] = half_to_float(tl_read_le16((const uint8_t *)src_bytes + i * 2));
    return TL_OK;
}

static tl_status f16_to_f64(const tl_pq_conversion *conv, const void *src_bytes, void *dst_bytes, int64_t n, tl_error *err)
{
    (void)conv;
    (void)err;
    for (int64_t i = 0; i < n; i++)
        ((double *)dst_bytes)[i] = (double)half_to_float(tl_read_le16((const uint8_t *)src_bytes + i * 2));
    return TL_OK;
}

/* ---- loops: decimals ---- */

/* Big-endian two's complement of 1 to 16 bytes. May read up to 8 bytes from p where `bytes` is less. */
static inline tl_i128 be_to_i128(const uint8_t *p, int bytes)
{
    int64_t head = (int64_t)tl_read_be64(p);
    if (bytes <= 8)
        return head >> (64 - 8 * bytes);
    int tail_bits = 8 * (bytes - 8);
    uint64_t tail = tl_read_be64(p + bytes - 8);
    if (tail_bits < 64)
        tail &= (UINT64_C(1) << tail_bits) - 1;
    return (tl_i128)(((unsigned __int128)(tl_i128)head << tail_bits) | tail);
}

/* Longer than 16 bytes: the bytes in front must repeat the sign. False if they do not. */
static bool be_to_i128_any(const uint8_t *p, int bytes, tl_i128 *out)
{
    if (bytes == 0) {
        *out = 0;
        return true;
    }
    int extra = bytes - 16;
    if (extra > 0) {
        uint8_t sign = p[extra] & 0x80 ? 0xff : 0;
        for (int i = 0; i < extra; i++)
            if (p[i] != sign)
                return false;
        p += extra;
        bytes = 16;
    }
    uint8_t copy[16] = {0};
    memcpy(copy, p, (size_t)bytes);
    *out = be_to_i128(copy, bytes);
    return true;
}

/* limit 0: every value fits (same precision and scale as the target, or less). */
static inline bool rescale(const tl_pq_conversion *conv, tl_i128 v, tl_i128 *out)
{
    if (conv->limit == 0) {
        *out = v;
        return true;
    }
    return !__builtin_mul_overflow(v, conv->rescale, out) && *out < conv->limit && *out > -conv->limit;
}

#define DEFINE_DECIMAL(NAME, DST, READ)                                                                                   \
    static tl_status NAME(const tl_pq_conversion *conv, const void *src_bytes, void *dst_bytes, int64_t n, tl_error *err) \
    {                                                                                                                     \
        const uint8_t *src = src_bytes;                                                                                   \
        DST *restrict dst = dst_bytes;                                                                                    \
        bool ok = true;                                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                                                 \
            tl_i128 v = 0;                                                                                                \
            ok &= rescale(conv, READ, &v);                                                                                \
            dst[i] = (DST)v;                                                                                              \
        }                                                                                                                 \
        return ok ? TL_OK : out_of_range(err);                                                                            \
    }
#define DEFINE_DECIMALS(SUFFIX, READ)                    \
    DEFINE_DECIMAL(SUFFIX##_to_decimal64, int64_t, READ) \
    DEFINE_DECIMAL(SUFFIX##_to_decimal128, tl_i128, READ)
DEFINE_DECIMALS(i32, (int32_t)tl_read_le32(src + i * 4))
DEFINE_DECIMALS(u32, tl_read_le32(src + i * 4))
DEFINE_DECIMALS(i64, (int64_t)tl_read_le64(src + i * 8))
DEFINE_DECIMALS(u64, tl_read_le64(src + i * 8))
DEFINE_DECIMALS(be, be_to_i128(src + i * conv->src_width, conv->src_width))

static inline bool put_decimal(const tl_pq_conversion *conv, const uint8_t *p, int bytes, uint8_t *dst)
{
    tl_i128 v;
    if (!be_to_i128_any(p, bytes, &v) || !rescale(conv, v, &v))
        return false;
    memcpy(dst, &v, (size_t)conv->dst_width); /* little-endian: the low half comes first */
    return true;
}

static tl_status long_be_to_decimal(const tl_pq_conversion *conv, const void *src, void *dst, int64_t n, tl_error *err)
{
    for (int64_t i = 0; i < n; i++)
        if (!put_decimal(conv, (const uint8_t *)src + i * conv->src_width, conv->src_width,
                         (uint8_t *)dst + i * conv->dst_width))
            return out_of_range(err);
    return TL_OK;
}

static tl_status strings_to_decimal(const tl_pq_conversion *conv, const int32_t *offsets, const uint8_t *data, void *dst,
                                    int64_t n, tl_error *err)
{
    for (int64_t i = 0; i < n; i++)
        if (!put_decimal(conv, data + offsets[i], offsets[i + 1] - offsets[i], (uint8_t *)dst + i * conv->dst_width))
            return out_of_range(err);
    return TL_OK;
}

/* ---- loops: dates and times ---- */

static inline int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b < 0);
}

static inline int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t r = a % b;
    return r < 0 ? r + b : r;
}

/* TIME in micro- or nanoseconds, INT64, to milliseconds of the day. */
static tl_status time_to_i32(const tl_pq_conversion *conv, const void *src_bytes, void *dst_bytes, int64_t n, tl_error *err)
{
    const int64_t *src = src_bytes;
    int32_t *dst = dst_bytes;
    bool bad = false;
    for (int64_t i = 0; i < n; i++) {
        int64_t v = floor_div(src[i], conv->divide);
        bad |= v < 0 || v > MILLIS_PER_DAY;
        dst[i] = (int32_t)v;
    }
    return bad ? out_of_range(err) : TL_OK;
}

/* A division by a constant is a multiplication: each divisor that there is gets its own loop. */
#define FOR_DIVISOR(CONV, LOOP) \
    switch ((CONV)->divide) {   \
    case 1:                     \
        LOOP(1)                 \
        break;                  \
    case 1000:                  \
        LOOP(1000)              \
        break;                  \
    default:                    \
        LOOP(NANOS_PER_MILLI)   \
        break;                  \
    }

static tl_status timestamp_divide(const tl_pq_conversion *conv, const void *src_bytes, void *dst_bytes, int64_t n,
                                  tl_error *err)
{
    (void)err;
    const int64_t *restrict src = src_bytes;
    int64_t *restrict dst = dst_bytes;
#define DIVIDE_LOOP(DIVISOR)        \
    for (int64_t i = 0; i < n; i++) \
        dst[i] = floor_div(src[i], DIVISOR);
    FOR_DIVISOR(conv, DIVIDE_LOOP)
    return TL_OK;
}

static tl_status timestamp_multiply(const tl_pq_conversion *conv, const void *src_bytes, void *dst_bytes, int64_t n,
                                    tl_error *err)
{
    bool bad = false;
    for (int64_t i = 0; i < n; i++)
        bad |= __builtin_mul_overflow(((const int64_t *)src_bytes)[i], conv->multiply, &((int64_t *)dst_bytes)[i]);
    return bad ? out_of_range(err) : TL_OK;
}

/* divide: file units in a millisecond; multiply: nanoseconds in a file unit. */
static tl_status timestamp_to_ts96(const tl_pq_conversion *conv, const void *src_bytes, void *dst_bytes, int64_t n,
                                   tl_error *err)
{
    (void)err;
    const int64_t *restrict src = src_bytes;
    tl_ts96 *restrict dst = dst_bytes;
#define TS96_LOOP(DIVISOR)          \
    for (int64_t i = 0; i < n; i++) \
        dst[i] = (tl_ts96){floor_div(src[i], DIVISOR), (int32_t)(floor_mod(src[i], DIVISOR) * conv->multiply), 0};
    FOR_DIVISOR(conv, TS96_LOOP)
    return TL_OK;
}

static inline tl_ts96 int96_at(const uint8_t *p)
{
    int64_t nanos = (int64_t)tl_read_le64(p), day = (int32_t)tl_read_le32(p + 8);
    int64_t millis = (day - JULIAN_EPOCH_DAY) * MILLIS_PER_DAY + floor_div(nanos, NANOS_PER_MILLI);
    return (tl_ts96){millis, (int32_t)floor_mod(nanos, NANOS_PER_MILLI), 0};
}

static tl_status int96_to_ts96(const tl_pq_conversion *conv, const void *src, void *dst, int64_t n, tl_error *err)
{
    (void)conv;
    (void)err;
    for (int64_t i = 0; i < n; i++)
        ((tl_ts96 *)dst)[i] = int96_at((const uint8_t *)src + i * 12);
    return TL_OK;
}

/* multiply: units of the target in a millisecond. */
static tl_status int96_to_i64(const tl_pq_conversion *conv, const void *src, void *dst, int64_t n, tl_error *err)
{
    bool bad = false;
    for (int64_t i = 0; i < n; i++) {
        tl_ts96 ts = int96_at((const uint8_t *)src + i * 12);
        int64_t v;
        bad |= __builtin_mul_overflow(ts.millis, conv->multiply, &v);
        if (conv->multiply != 1)
            bad |= __builtin_add_overflow(v, (int64_t)(ts.nanos / 1000), &v);
        ((int64_t *)dst)[i] = v;
    }
    return bad ? out_of_range(err) : TL_OK;
}

/* ---- choice ---- */

static void int_bounds(tl_pq_conversion *out)
{
    out->int_min = out->dst_width == 8 ? INT64_MIN : -(INT64_C(1) << (8 * out->dst_width - 1));
    out->int_max = out->dst_width == 8 ? INT64_MAX : (INT64_C(1) << (8 * out->dst_width - 1)) - 1;
}

/* Which of the four stored integers; false if the leaf is none. */
static bool stored_integer(const tl_pq_schema_element *el, const tl_pq_logical *l, int *out)
{
    if (el->type != TL_PQ_INT32 && el->type != TL_PQ_INT64)
        return false;
    if (l->kind != TL_PQ_LOGICAL_NONE && l->kind != TL_PQ_LOGICAL_INTEGER && l->kind != TL_PQ_LOGICAL_UNKNOWN)
        return false;
    bool is_unsigned = l->kind == TL_PQ_LOGICAL_INTEGER && !l->is_signed;
    *out = (el->type == TL_PQ_INT32 ? INT_I32 : INT_I64) + is_unsigned;
    return true;
}

static bool choose_integer(const tl_pq_schema_element *el, const tl_pq_logical *l, tl_pq_conversion *out)
{
    int src;
    if (!stored_integer(el, l, &src))
        return false;
    int_bounds(out);
    if (out->src_width != out->dst_width || src == INT_U32 || src == INT_U64)
        out->fixed = int_loop(src, out->dst_width);
    return true;
}

static bool choose_decimal(const tl_pq_schema_element *el, const tl_pq_logical *l, const tl_type *target, tl_pq_conversion *out)
{
    static const tl_pq_convert_fn int_loops[4][2] = {{i32_to_decimal64, i32_to_decimal128},
                                                     {u32_to_decimal64, u32_to_decimal128},
                                                     {i64_to_decimal64, i64_to_decimal128},
                                                     {u64_to_decimal64, u64_to_decimal128}};
    int src, scale = 0, precision = DECIMAL_PRECISION_MAX + 1;
    bool is_wide = out->dst_width == 16;
    if (l->kind == TL_PQ_LOGICAL_DECIMAL && is_valid_decimal(l)) {
        src = el->type == TL_PQ_INT32 ? INT_I32 : INT_I64;
        scale = l->scale;
        precision = l->precision;
    } else if (!stored_integer(el, l, &src)) {
        return false;
    }
    int shift = target->scale - scale;
    if (shift < 0)
        return false;
    bool fits = shift == 0 && precision <= target->precision;
    out->rescale = tl_pow10_i128(shift);
    out->limit = fits ? 0 : tl_pow10_i128(target->precision);
    switch (el->type) {
    case TL_PQ_INT32:
    case TL_PQ_INT64:
        if (!fits || out->src_width != out->dst_width)
            out->fixed = int_loops[src][is_wide];
        return true;
    case TL_PQ_FIXED_LEN_BYTE_ARRAY:
        out->fixed = out->src_width > 16 ? long_be_to_decimal : is_wide ? be_to_decimal128 : be_to_decimal64;
        return true;
    case TL_PQ_BYTE_ARRAY:
        out->strings = strings_to_decimal;
        return true;
    default:
        return false;
    }
}

static bool choose_time(const tl_pq_schema_element *el, const tl_pq_logical *l, tl_pq_conversion *out)
{
    if (el->type == TL_PQ_INT32)
        return l->kind == TL_PQ_LOGICAL_NONE || (l->kind == TL_PQ_LOGICAL_TIME && l->unit == TL_PQ_MILLIS);
    if (el->type != TL_PQ_INT64 || l->kind != TL_PQ_LOGICAL_TIME || (l->unit != TL_PQ_MICROS && l->unit != TL_PQ_NANOS))
        return false;
    out->divide = l->unit == TL_PQ_MICROS ? 1000 : NANOS_PER_MILLI;
    out->fixed = time_to_i32;
    return true;
}

static bool choose_timestamp(const tl_pq_schema_element *el, const tl_pq_logical *l, const tl_type *target,
                             tl_pq_conversion *out)
{
    static const int64_t per_milli_of_unit[] = {0, 1, 1000, NANOS_PER_MILLI};
    bool is_ts96 = out->dst_width == 16;
    int64_t per_milli_target = target->precision <= 3 ? 1 : 1000;
    if (el->type == TL_PQ_INT96) {
        out->multiply = per_milli_target;
        out->fixed = is_ts96 ? int96_to_ts96 : int96_to_i64;
        out->is_order_kept = false; /* statistics of INT96 follow no defined order */
        return true;
    }
    if (el->type != TL_PQ_INT64 || (l->kind != TL_PQ_LOGICAL_TIMESTAMP && l->kind != TL_PQ_LOGICAL_NONE))
        return false;
    if (l->kind == TL_PQ_LOGICAL_TIMESTAMP && l->unit == TL_PQ_UNIT_NONE)
        return false;
    /* Without annotation the unit is what the target's would be: old writers left it out. */
    int64_t per_milli = l->kind == TL_PQ_LOGICAL_TIMESTAMP ? per_milli_of_unit[l->unit]
                        : is_ts96                          ? NANOS_PER_MILLI
                                                           : per_milli_target;
    if (is_ts96) {
        out->divide = per_milli;
        out->multiply = NANOS_PER_MILLI / per_milli;
        out->fixed = timestamp_to_ts96;
    } else if (per_milli > per_milli_target) {
        out->divide = per_milli / per_milli_target;
        out->fixed = timestamp_divide;
    } else if (per_milli < per_milli_target) {
        out->multiply = per_milli_target / per_milli;
        out->fixed = timestamp_multiply;
    }
    return true;
}

static bool choose_float(const tl_pq_schema_element *el, const tl_pq_logical *l, tl_pq_conversion *out)
{
    if (el->type == TL_PQ_FIXED_LEN_BYTE_ARRAY && l->kind == TL_PQ_LOGICAL_FLOAT16 && el->type_length == 2) {
        out->fixed = out->dst_width == 4 ? f16_to_f32 : f16_to_f64;
        out->is_order_kept = false; /* its NaN and zero rules are not worth the trouble */
        return true;
    }
    if (el->type == TL_PQ_FLOAT && out->dst_width == 8)
        out->fixed = f32_to_f64;
    return el->type == TL_PQ_FLOAT || (el->type == TL_PQ_DOUBLE && out->dst_width == 8);
}

static bool choose_bytes(const tl_pq_schema_element *el, const tl_pq_logical *l, bool is_text, tl_pq_conversion *out)
{
    if (el->type != TL_PQ_BYTE_ARRAY && el->type != TL_PQ_FIXED_LEN_BYTE_ARRAY)
        return false;
    if (el->converted == TL_PQ_INTERVAL)
        out->is_order_kept = false;
    if (l->kind == TL_PQ_LOGICAL_DECIMAL || l->kind == TL_PQ_LOGICAL_FLOAT16)
        return false;
    return !is_text || (l->kind != TL_PQ_LOGICAL_UUID && l->kind != TL_PQ_LOGICAL_BSON && el->converted != TL_PQ_INTERVAL);
}

static bool choose(const tl_pq_schema_element *el, const tl_type *target, tl_pq_conversion *out)
{
    tl_pq_logical l = tl_pq__annotation(el);
    switch (target->kind) {
    case TL_BOOLEAN:
        return el->type == TL_PQ_BOOLEAN;
    case TL_TINYINT:
    case TL_SMALLINT:
    case TL_INT:
        return choose_integer(el, &l, out);
    case TL_BIGINT: /* a TIME finer than milliseconds, which no type here holds, may be read as its number */
        return (el->type == TL_PQ_INT64 && l.kind == TL_PQ_LOGICAL_TIME) || choose_integer(el, &l, out);
    case TL_FLOAT:
    case TL_DOUBLE:
        return choose_float(el, &l, out);
    case TL_DECIMAL:
        return choose_decimal(el, &l, target, out);
    case TL_CHAR:
    case TL_VARCHAR:
        return choose_bytes(el, &l, true, out);
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB:
        return choose_bytes(el, &l, false, out);
    case TL_DATE:
        return el->type == TL_PQ_INT32 && (l.kind == TL_PQ_LOGICAL_DATE || l.kind == TL_PQ_LOGICAL_NONE);
    case TL_TIME:
        return choose_time(el, &l, out);
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return choose_timestamp(el, &l, target, out);
    default:
        return false;
    }
}

static int stored_width(const tl_pq_schema_element *el)
{
    static const int widths[] = {1, 4, 8, 12, 4, 8, 0};
    return el->type == TL_PQ_FIXED_LEN_BYTE_ARRAY ? el->type_length : widths[el->type];
}

tl_status tl_pq__conversion(const tl_pq_schema_element *el, const tl_type *target, tl_pq_conversion *out, tl_error *err)
{
    tl_pq_logical l = tl_pq__annotation(el);
    *out = (tl_pq_conversion){.src_width = stored_width(el),
                              .dst_width = tl_phys_width(tl_type_phys(target)),
                              .divide = 1,
                              .multiply = 1,
                              .is_order_kept = l.kind != TL_PQ_LOGICAL_UNKNOWN};
    if (choose(el, target, out))
        return TL_OK;
    char stored[TL_PQ_TYPE_BYTES];
    tl_pq__type_text(el, stored);
    tl_buf text = {0};
    bool ok = tl_type_format(target, &text) == TL_OK && tl_buf_append_byte(&text, 0) == TL_OK;
    tl_error_set(err, TL_E_UNSUPPORTED, "column '%s' of type %s cannot be read as %s", el->name, stored,
                 ok ? (char *)text.data : "?");
    tl_buf_deinit(&text);
    return TL_E_UNSUPPORTED;
}
