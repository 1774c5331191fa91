/*
 * Statistics of the columns of a new file, gathered while it is written: for formats without a footer to take them from.
 * Java: SimpleStatsCollector. Bounds follow the reference's order of values, NaN last.
 */
#include "format/gathered_stats.h"
#include "types/key.h"

tl_status tl_format__gathered_init(tl_gathered_stats *stats, int32_t n, tl_error *err)
{
    stats->cols = tl_calloc((size_t)n + 1, sizeof *stats->cols);
    if (stats->cols == NULL)
        return tl_nomem(err, "file statistics");
    stats->n = n;
    return TL_OK;
}

void tl_format__gathered_take(tl_gathered_stats *stats, tl_write_result *out)
{
    out->n_stats = stats->n;
    out->stats = TL_STEAL(stats->cols);
    stats->n = 0;
}

void tl_format__gathered_deinit(tl_gathered_stats *stats)
{
    for (int32_t c = 0; c < stats->n; c++) {
        tl_column_unref(stats->cols[c].min);
        tl_column_unref(stats->cols[c].max);
    }
    tl_free(stats->cols);
    *stats = (tl_gathered_stats){0};
}

/* Rows of the least and greatest value that is not null, -1 if there is none. */
typedef struct extremes {
    int64_t min;
    int64_t max;
} extremes;

static int64_t first_value(const tl_column *col)
{
    int64_t i = 0;
    while (i < col->length && tl_col_is_null(col, i))
        i++;
    return i;
}

/* The bounds first, then where they stand. NULL counts as the first value, so that no branch depends on where the nulls are. */
#define DEFINE_EXTREMES(NAME, TYPE)                                                           \
    static int64_t find_##NAME(const tl_column *col, int64_t from, TYPE v)                    \
    {                                                                                         \
        const TYPE *values = col->values;                                                     \
        while (values[from] != v || tl_col_is_null(col, from))                                \
            from++;                                                                           \
        return from;                                                                          \
    }                                                                                         \
    static extremes extremes_##NAME(const tl_column *col, int64_t first)                      \
    {                                                                                         \
        const TYPE *v = col->values;                                                          \
        TYPE min = v[first], max = v[first], none = v[first];                                 \
        if (col->null_count == 0) {                                                           \
            for (int64_t i = first; i < col->length; i++) {                                   \
                min = v[i] < min ? v[i] : min;                                                \
                max = v[i] > max ? v[i] : max;                                                \
            }                                                                                 \
        } else {                                                                              \
            for (int64_t i = first; i < col->length; i++) {                                   \
                TYPE mask = (TYPE) - (TYPE)tl_bit_get(col->validity, i);                      \
                TYPE x = (TYPE)((v[i] & mask) | (none & ~mask));                              \
                min = x < min ? x : min;                                                      \
                max = x > max ? x : max;                                                      \
            }                                                                                 \
        }                                                                                     \
        return (extremes){find_##NAME(col, first, min), find_##NAME(col, first, max)};        \
    }
DEFINE_EXTREMES(i8, int8_t)
DEFINE_EXTREMES(i16, int16_t)
DEFINE_EXTREMES(i32, int32_t)
DEFINE_EXTREMES(i64, int64_t)

/* The first eight bytes as a number that orders as they do, 00 where there are fewer. */
static inline uint64_t prefix_of(const tl_column *col, int64_t i, const uint8_t *end)
{
    tl_bytes_view bytes = tl_col_bytes(col, i);
    uint64_t v = 0;
    if (TL_LIKELY(end - bytes.data >= 8)) {
        v = tl_read_be64(bytes.data);
        return bytes.len >= 8 ? v : bytes.len == 0 ? 0 : v & ~(uint64_t)0 << (64 - 8 * bytes.len);
    }
    for (size_t k = 0; k < bytes.len && k < 8; k++)
        v |= (uint64_t)bytes.data[k] << (56 - 8 * k);
    return v;
}

/* Most values are told from the bounds by their first bytes. */
static extremes extremes_bytes(const tl_column *col, int64_t first)
{
    const uint8_t *end = col->data + col->offsets[col->length];
    extremes e = {first, first};
    uint64_t min = prefix_of(col, first, end), max = min;
    for (int64_t i = first + 1; i < col->length; i++) {
        uint64_t prefix = prefix_of(col, i, end);
        if (TL_LIKELY(prefix > min && prefix < max) || tl_col_is_null(col, i))
            continue;
        if (prefix <= min && tl_bytes_compare(tl_col_bytes(col, i), tl_col_bytes(col, e.min)) < 0) {
            e.min = i;
            min = prefix;
        }
        if (prefix >= max && tl_bytes_compare(tl_col_bytes(col, i), tl_col_bytes(col, e.max)) > 0) {
            e.max = i;
            max = prefix;
        }
    }
    return e;
}

static extremes extremes_any(const tl_column *col, int64_t first)
{
    extremes e = {first, first};
    for (int64_t i = first + 1; i < col->length; i++) {
        if (tl_col_is_null(col, i))
            continue;
        if (tl_column_compare(col, i, col, e.min, /* descending= */ false, /* nulls_first= */ true) < 0)
            e.min = i;
        if (tl_column_compare(col, i, col, e.max, /* descending= */ false, /* nulls_first= */ true) > 0)
            e.max = i;
    }
    return e;
}

static extremes find_extremes(const tl_column *col)
{
    int64_t first = first_value(col);
    if (first == col->length)
        return (extremes){-1, -1};
    switch (col->phys) {
    case TL_PHYS_BOOL:
    case TL_PHYS_I8:
        return extremes_i8(col, first);
    case TL_PHYS_I16:
        return extremes_i16(col, first);
    case TL_PHYS_I32:
        return extremes_i32(col, first);
    case TL_PHYS_I64:
        return extremes_i64(col, first);
    case TL_PHYS_BYTES:
        return extremes_bytes(col, first);
    default:
        return extremes_any(col, first);
    }
}

/* Types whose values the reference compares. */
static bool is_comparable(const tl_type *type)
{
    return type->kind <= TL_VARCHAR || (type->kind >= TL_DATE && type->kind <= TL_TIMESTAMP_LTZ);
}

/* Row `i` becomes the bound if it lies beyond it (sign: -1 for the lower one). */
static tl_status widen(tl_column **bound, const tl_column *col, int64_t i, int sign, tl_error *err)
{
    if (*bound != NULL && tl_column_compare(col, i, *bound, 0, /* descending= */ false, /* nulls_first= */ true) * sign <= 0)
        return TL_OK;
    uint32_t row = (uint32_t)i;
    tl_column *fresh = NULL;
    TL_TRY(tl_column_gather(col, &row, 1, &fresh, err));
    tl_column_unref(*bound);
    *bound = fresh;
    return TL_OK;
}

tl_status tl_format__gathered_add(tl_gathered_stats *stats, const tl_batch *batch, tl_error *err)
{
    for (int32_t c = 0; c < stats->n; c++) {
        const tl_column *col = batch->cols[c];
        stats->cols[c].null_count += col->null_count;
        if (!is_comparable(col->type))
            continue;
        extremes e = find_extremes(col);
        if (e.min < 0)
            continue;
        TL_TRY(widen(&stats->cols[c].min, col, e.min, -1, err));
        TL_TRY(widen(&stats->cols[c].max, col, e.max, 1, err));
    }
    return TL_OK;
}
