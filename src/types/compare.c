/*
 * Order and equality of single values, for all places where rows meet that no normalised key covers: sequence fields,
 * aggregates of nested types, changelog row comparison, tests. Format reference §11.
 */
#include "types/key.h"

#define THREE_WAY(a, b) (((a) > (b)) - ((a) < (b)))

/* Java's Double.compare: NaN is the greatest and equals itself, -0.0 < 0.0. */
static int compare_f64(double a, double b)
{
    if (a != a || b != b)
        return (a != a) - (b != b);
    if (a != b)
        return THREE_WAY(a, b);
    return (__builtin_signbit(b) != 0) - (__builtin_signbit(a) != 0);
}

static int compare_values(const tl_column *a, int64_t i, const tl_column *b, int64_t j);

/* Inside nested values nulls come first. */
static int compare_nullable(const tl_column *a, int64_t i, const tl_column *b, int64_t j)
{
    bool a_null = tl_col_is_null(a, i), b_null = tl_col_is_null(b, j);
    return a_null || b_null ? b_null - a_null : compare_values(a, i, b, j);
}

static int compare_lists(const tl_column *a, int64_t i, const tl_column *b, int64_t j)
{
    int32_t a_len = a->offsets[i + 1] - a->offsets[i], b_len = b->offsets[j + 1] - b->offsets[j];
    for (int32_t k = 0; k < a_len && k < b_len; k++) {
        int c = compare_nullable(a->children[0], a->offsets[i] + k, b->children[0], b->offsets[j] + k);
        if (c != 0)
            return c;
    }
    return THREE_WAY(a_len, b_len);
}

static int compare_rows(const tl_column *a, int64_t i, const tl_column *b, int64_t j)
{
    for (int32_t c = 0; c < a->n_children; c++) {
        int order = compare_nullable(a->children[c], i, b->children[c], j);
        if (order != 0)
            return order;
    }
    return 0;
}

/* Entries in stored order; the reference compares maps only in tests of its own. */
static int compare_maps(const tl_column *a, int64_t i, const tl_column *b, int64_t j)
{
    int32_t a_len = a->offsets[i + 1] - a->offsets[i], b_len = b->offsets[j + 1] - b->offsets[j];
    for (int side = 0; side < 2 && a_len == b_len; side++)
        for (int32_t k = 0; k < a_len; k++) {
            int c = compare_nullable(a->children[side], a->offsets[i] + k, b->children[side], b->offsets[j] + k);
            if (c != 0)
                return c;
        }
    return THREE_WAY(a_len, b_len);
}

static int compare_values(const tl_column *a, int64_t i, const tl_column *b, int64_t j)
{
    switch (a->phys) {
    case TL_PHYS_BOOL:
        return tl_col_bool(a, i) - tl_col_bool(b, j);
    case TL_PHYS_I8:
        return THREE_WAY(tl_col_i8(a, i), tl_col_i8(b, j));
    case TL_PHYS_I16:
        return THREE_WAY(tl_col_i16(a, i), tl_col_i16(b, j));
    case TL_PHYS_I32:
        return THREE_WAY(tl_col_i32(a, i), tl_col_i32(b, j));
    case TL_PHYS_I64:
        return THREE_WAY(tl_col_i64(a, i), tl_col_i64(b, j));
    case TL_PHYS_I128:
        return THREE_WAY(tl_col_i128(a, i), tl_col_i128(b, j));
    case TL_PHYS_F32:
        return compare_f64(tl_col_f32(a, i), tl_col_f32(b, j));
    case TL_PHYS_F64:
        return compare_f64(tl_col_f64(a, i), tl_col_f64(b, j));
    case TL_PHYS_TS96: {
        tl_ts96 x = tl_col_ts96(a, i), y = tl_col_ts96(b, j);
        return x.millis != y.millis ? THREE_WAY(x.millis, y.millis) : THREE_WAY(x.nanos, y.nanos);
    }
    case TL_PHYS_BYTES:
        return tl_bytes_compare(tl_col_bytes(a, i), tl_col_bytes(b, j));
    case TL_PHYS_LIST:
        return compare_lists(a, i, b, j);
    case TL_PHYS_MAP:
        return compare_maps(a, i, b, j);
    case TL_PHYS_ROW:
        return compare_rows(a, i, b, j);
    }
    return 0;
}

int tl_column_compare(const tl_column *a, int64_t i, const tl_column *b, int64_t j, bool descending, bool nulls_first)
{
    bool a_null = tl_col_is_null(a, i), b_null = tl_col_is_null(b, j);
    if (a_null || b_null)
        return nulls_first ? b_null - a_null : a_null - b_null;
    int c = compare_values(a, i, b, j);
    return descending ? -c : c;
}

static bool equal_lists(const tl_column *a, int64_t i, const tl_column *b, int64_t j)
{
    int32_t len = a->offsets[i + 1] - a->offsets[i];
    if (len != b->offsets[j + 1] - b->offsets[j])
        return false;
    for (int32_t k = 0; k < len; k++)
        if (!tl_column_equal(a->children[0], a->offsets[i] + k, b->children[0], b->offsets[j] + k))
            return false;
    return true;
}

/* Position of key `at` of map `a` in map row `j` of `b`; tries `guess` first, since equal maps mostly keep their order. */
static int32_t find_entry(const tl_column *a, int32_t at, const tl_column *b, int64_t j, int32_t guess)
{
    int32_t from = b->offsets[j], to = b->offsets[j + 1];
    if (from + guess < to && tl_column_equal(a->children[0], at, b->children[0], from + guess))
        return from + guess;
    for (int32_t k = from; k < to; k++)
        if (tl_column_equal(a->children[0], at, b->children[0], k))
            return k;
    return -1;
}

static bool equal_maps(const tl_column *a, int64_t i, const tl_column *b, int64_t j)
{
    int32_t from = a->offsets[i], len = a->offsets[i + 1] - from;
    if (len != b->offsets[j + 1] - b->offsets[j])
        return false;
    for (int32_t k = 0; k < len; k++) {
        int32_t other = find_entry(a, from + k, b, j, k);
        if (other < 0 || !tl_column_equal(a->children[1], from + k, b->children[1], other))
            return false;
    }
    return true;
}

bool tl_column_equal(const tl_column *a, int64_t i, const tl_column *b, int64_t j)
{
    bool a_null = tl_col_is_null(a, i), b_null = tl_col_is_null(b, j);
    if (a_null || b_null)
        return a_null && b_null;
    if (a->phys == TL_PHYS_BYTES)
        return tl_bytes_equal(tl_col_bytes(a, i), tl_col_bytes(b, j));
    if (a->phys == TL_PHYS_LIST)
        return equal_lists(a, i, b, j);
    if (a->phys == TL_PHYS_MAP)
        return equal_maps(a, i, b, j);
    if (a->phys != TL_PHYS_ROW)
        return compare_values(a, i, b, j) == 0;
    for (int32_t c = 0; c < a->n_children; c++)
        if (!tl_column_equal(a->children[c], i, b->children[c], j))
            return false;
    return true;
}
