/*
 * Orders of rows for clustering: by the columns themselves, or along a curve through them (z-order, Hilbert), so that rows that are near in
 * all of the columns come to lie near each other. The position on a curve is a string of bits: those of the columns by turns, highest
 * first. A column gives 8 bytes whose order is that of its values, a text its first `zorder.var-length-contribution` bytes; NULL comes first.
 * Values are stretched over the whole of their 8 bytes, by the files' statistics, so that each column has its part in the
 * first bits, whether it holds hours or texts with a common beginning; the reference does not do that. Positions are stored nowhere.
 * Source: Java: ZIndexer, HilbertIndexer. Hilbert's curve: J. Skilling, "Programming the
 * Hilbert curve", AIP Conf. Proc. 707 (2004).
 */
#include "lsm/lsm_private.h"

#include <strings.h>

#include "base/bits.h"
#include "types/key.h"

#define VALUE_BYTES 8
#define TEXT_BYTES_MAX 1024

static bool is_text(const tl_type *type)
{
    return type->kind >= TL_CHAR && type->kind <= TL_VARBINARY;
}

tl_status tl_order_parse_kind(const char *name, tl_order_kind *out, tl_error *err)
{
    static const char *const names[] = {[TL_ORDER_COLUMNS] = "order", [TL_ORDER_ZORDER] = "zorder", [TL_ORDER_HILBERT] = "hilbert"};
    for (size_t i = 0; i < TL_ARRAY_LEN(names); i++) {
        if (strcasecmp(name, names[i]) == 0) {
            *out = (tl_order_kind)i;
            return TL_OK;
        }
    }
    return tl_error_set(err, TL_E_INVALID, "order '%s': order, zorder and hilbert are known", name);
}

tl_status tl_lsm__order_check(const tl_lsm_config *config, const tl_order *order, tl_error *err)
{
    if (order->n_columns == 0)
        return tl_error_set(err, TL_E_INVALID, "there is no column to sort by");
    if (order->kind == TL_ORDER_HILBERT && order->n_columns < 2)
        return tl_error_set(err, TL_E_INVALID, "Hilbert sort needs at least two columns.");
    for (int32_t i = 0; i < order->n_columns; i++) {
        const tl_field *field = &config->schema->row_type->fields[order->columns[i]];
        if (field->type->kind > TL_TIMESTAMP_LTZ)
            return tl_error_set(err, TL_E_INVALID, "column '%s' cannot be sorted by: its type has no order", field->name);
    }
    return TL_OK;
}

/* ---- values as numbers ---- */

static uint64_t ordered_double(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (bits >> 63) != 0 ? ~bits : bits | UINT64_C(1) << 63;
}

static uint64_t ordered_int(int64_t v)
{
    return (uint64_t)v ^ UINT64_C(1) << 63;
}

/* Decimals beyond 64 bits lose their last digits: the curve is coarser there. */
static uint64_t ordered_i128(tl_i128 v, int32_t precision)
{
    for (int32_t digits = precision; digits > 18; digits--)
        v /= 10;
    return ordered_int((int64_t)v);
}

static uint64_t ordered_value(const tl_column *col, int64_t i)
{
    if (tl_col_is_null(col, i))
        return 0;
    switch (col->phys) {
    case TL_PHYS_F32:
        return ordered_double((double)tl_col_f32(col, i));
    case TL_PHYS_F64:
        return ordered_double(tl_col_f64(col, i));
    case TL_PHYS_I128:
        return ordered_i128(((const tl_i128 *)col->values)[i], col->type->precision);
    case TL_PHYS_TS96:
        return ordered_int(((const tl_ts96 *)col->values)[i].millis);
    default:
        return ordered_int(tl_col_integer(col, i));
    }
}

/* The first bytes of a text as a number. */
static uint64_t ordered_text(tl_bytes_view text, int32_t bytes)
{
    uint8_t first[VALUE_BYTES] = {0};
    if (text.len > 0)
        memcpy(first, text.data, TL_MIN(text.len, (size_t)bytes));
    return tl_read_be64(first);
}

/* Whether a column counts with more bytes than a number has: those are taken as they are. */
static bool is_long(const tl_order *order, const tl_type *type)
{
    return is_text(type) && order->kind == TL_ORDER_ZORDER && order->text_bytes > VALUE_BYTES;
}

static uint64_t value_of(const tl_order *order, const tl_column *col, int64_t i)
{
    if (!is_text(col->type) || tl_col_is_null(col, i))
        return ordered_value(col, i);
    return ordered_text(tl_col_bytes(col, i), order->kind == TL_ORDER_HILBERT ? VALUE_BYTES : TL_MIN(order->text_bytes, VALUE_BYTES));
}

/* ---- scale ---- */

/* Take a bound of a file in; false if it has none. */
static bool see_bound(const tl_order *order, tl_lsm__scale *scale, const tl_column *col, int64_t row)
{
    if (col == NULL || tl_col_is_null(col, row))
        return false;
    uint64_t v = value_of(order, col, row);
    *scale = (tl_lsm__scale){TL_MIN(scale->min, v), TL_MAX(scale->max, v)};
    return true;
}

/* A file that says nothing of a column leaves it as it is, unless the column is all NULL there. */
static tl_status see_file(const tl_lsm_config *config, const tl_order *order, const tl_data_file *file, tl_lsm__scale *scales, bool *known,
                          tl_error *err)
{
    tl_bounds bounds = {0};
    bool same = file->schema_id == config->schema->id;
    if (same)
        TL_TRY(tl_simple_stats_bounds(&file->value_stats, config->schema->row_type, file->value_stats_cols, file->n_value_stats_cols, &bounds, err));
    for (int32_t c = 0; c < order->n_columns; c++) {
        const tl_col_bounds *b = same ? &bounds.cols[order->columns[c]] : NULL;
        bool all_null = b != NULL && b->null_count == file->rows;
        known[c] = known[c] && b != NULL &&
                   (all_null || (see_bound(order, &scales[c], b->min, b->min_row) && see_bound(order, &scales[c], b->max, b->max_row)));
    }
    tl_bounds_deinit(&bounds);
    return TL_OK;
}

tl_status tl_lsm__scale_of_files(const tl_lsm_config *config, const tl_order *order, const tl_file_list *files, tl_lsm__scale *scales, tl_error *err)
{
    TL_CLEANUP(tl_freep) bool *known = tl_alloc((size_t)order->n_columns * sizeof *known);
    if (known == NULL)
        return tl_nomem(err, "sort keys");
    for (int32_t c = 0; c < order->n_columns; c++) {
        scales[c] = (tl_lsm__scale){UINT64_MAX, 0};
        known[c] = true;
    }
    for (size_t i = 0; i < files->n; i++)
        TL_TRY(see_file(config, order, files->items[i], scales, known, err));
    for (int32_t c = 0; c < order->n_columns; c++)
        if (!known[c])
            scales[c] = (tl_lsm__scale){0, UINT64_MAX};
    return TL_OK;
}

/* Values beyond the bounds (NaN, which bounds leave out) go to the ends. The last bit tells the smallest from NULL, which is 0. */
static uint64_t scaled(const tl_lsm__scale *scale, uint64_t v)
{
    if (scale->min >= scale->max || v <= scale->min)
        return 1;
    return (TL_MIN(v, scale->max) - scale->min) << __builtin_clzll(scale->max - scale->min) | 1;
}

/* ---- one row ---- */

/* The columns' bytes of one row; column c has `sizes[c]` at `at[c]`. */
typedef struct point {
    int32_t n;
    int32_t *sizes;
    uint8_t **at;
    uint64_t *axes; /* HILBERT */
    size_t total;
} point;

static void put_value(const tl_order *order, const tl_lsm__scale *scale, const point *p, int32_t c, const tl_column *col, int64_t i)
{
    memset(p->at[c], 0, (size_t)p->sizes[c]);
    if (!is_long(order, col->type)) {
        tl_write_be64(p->at[c], tl_col_is_null(col, i) ? 0 : scaled(scale, value_of(order, col, i)));
    } else if (!tl_col_is_null(col, i)) {
        tl_bytes_view text = tl_col_bytes(col, i);
        memcpy(p->at[c], text.data, TL_MIN(text.len, (size_t)p->sizes[c]));
    }
}

/* Coordinates become the transposed position on Hilbert's curve: interleaved, its bits are the position (Skilling). */
static void hilbert(uint64_t *x, int32_t n)
{
    for (uint64_t q = UINT64_C(1) << 63; q > 1; q >>= 1) {
        uint64_t p = q - 1;
        for (int32_t i = 0; i < n; i++) {
            uint64_t t = (x[0] ^ x[i]) & p;
            if ((x[i] & q) != 0) {
                x[0] ^= p;
            } else {
                x[0] ^= t;
                x[i] ^= t;
            }
        }
    }
    uint64_t t = 0;
    for (int32_t i = 1; i < n; i++)
        x[i] ^= x[i - 1];
    for (uint64_t q = UINT64_C(1) << 63; q > 1; q >>= 1)
        t ^= (x[n - 1] & q) != 0 ? q - 1 : 0;
    for (int32_t i = 0; i < n; i++)
        x[i] ^= t;
}

static void bend(const point *p)
{
    for (int32_t c = 0; c < p->n; c++)
        p->axes[c] = tl_read_be64(p->at[c]);
    hilbert(p->axes, p->n);
    for (int32_t c = 0; c < p->n; c++)
        tl_write_be64(p->at[c], p->axes[c]);
}

/* Bits of the columns by turns, the highest first; a column that has none left is passed over. `out` is zero. */
static void interleave(const point *p, uint8_t *out)
{
    size_t bit = 0, bits = p->total * 8;
    for (int32_t level = 0; bit < bits; level++) {
        for (int32_t c = 0; c < p->n; c++) {
            if (level >= p->sizes[c] * 8)
                continue;
            out[bit / 8] |= (uint8_t)((p->at[c][level / 8] >> (7 - level % 8) & 1) << (7 - bit % 8));
            bit++;
        }
    }
}

/* ---- a batch ---- */

static tl_status point_init(point *p, tl_arena *arena, const tl_order *order, const tl_batch *rows, tl_error *err)
{
    size_t n = (size_t)order->n_columns;
    p->n = order->n_columns;
    p->sizes = tl_arena_calloc(arena, n, sizeof *p->sizes);
    p->at = tl_arena_calloc(arena, n, sizeof *p->at);
    p->axes = tl_arena_calloc(arena, n, sizeof *p->axes);
    if (p->sizes == NULL || p->at == NULL || p->axes == NULL)
        return tl_nomem(err, "sort keys");
    for (size_t c = 0; c < n; c++) {
        p->sizes[c] = is_long(order, rows->cols[order->columns[c]]->type) ? TL_MIN(order->text_bytes, TEXT_BYTES_MAX) : VALUE_BYTES;
        p->total += (size_t)p->sizes[c];
        p->at[c] = tl_arena_alloc(arena, (size_t)p->sizes[c]);
        if (p->at[c] == NULL)
            return tl_nomem(err, "sort keys");
    }
    return TL_OK;
}

static tl_status curve_column(const tl_order *order, const tl_lsm__scale *scales, const tl_batch *rows, const point *p, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *type = NULL;
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    if (p->total * (size_t)rows->n_rows > INT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "sort keys of a batch take more than 2 GiB");
    TL_TRY(tl_type_create(TL_VARBINARY, /* nullable= */ false, TL_LENGTH_MAX, 0, &type, err));
    TL_TRY(tl_column_alloc(type, rows->n_rows, &col, err));
    col->data = tl_calloc(p->total * (size_t)rows->n_rows + 1, 1);
    if (col->data == NULL)
        return tl_nomem(err, "sort keys");
    for (int64_t i = 0; i < rows->n_rows; i++) {
        for (int32_t c = 0; c < p->n; c++)
            put_value(order, &scales[c], p, c, rows->cols[order->columns[c]], i);
        if (order->kind == TL_ORDER_HILBERT)
            bend(p);
        interleave(p, col->data + p->total * (size_t)i);
        col->offsets[i + 1] = (int32_t)(p->total * (size_t)(i + 1));
    }
    *out = TL_STEAL(col);
    return TL_OK;
}

static tl_status column_keys(const tl_order *order, const tl_batch *rows, tl_keys **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) const tl_column **cols = tl_calloc((size_t)order->n_columns, sizeof *cols);
    if (cols == NULL)
        return tl_nomem(err, "sort keys");
    for (int32_t c = 0; c < order->n_columns; c++)
        cols[c] = rows->cols[order->columns[c]];
    return tl_keys_create(cols, order->n_columns, rows->n_rows, out, err);
}

tl_status tl_lsm__order_keys(const tl_order *order, const tl_lsm__scale *scales, const tl_batch *rows, tl_keys **out, tl_error *err)
{
    if (order->kind == TL_ORDER_COLUMNS)
        return column_keys(order, rows, out, err);
    tl_arena arena = {0};
    point p = {0};
    TL_CLEANUP(tl_column_unrefp) tl_column *positions = NULL;
    tl_status status = point_init(&p, &arena, order, rows, err);
    if (status == TL_OK)
        status = curve_column(order, scales, rows, &p, &positions, err);
    tl_arena_deinit(&arena);
    return status == TL_OK ? tl_keys_create((const tl_column *const *)&positions, 1, rows->n_rows, out, err) : status;
}
