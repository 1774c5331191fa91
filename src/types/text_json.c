/*
 * JSON form of values, in and out, as the reference's command prints and takes them.
 */
#include <stdlib.h>

#include "types/number.h"
#include "types/types_private.h"
#include "types/variant.h"

/* ---- out: scalars ---- */

static tl_status append_floating(tl_buf *buf, const char *text, size_t len)
{
    bool quoted = text[len - 1] == 'N' || text[len - 1] == 'y'; /* NaN, Infinity */
    if (quoted)
        TL_TRY(tl_buf_append_byte(buf, '"'));
    TL_TRY(tl_buf_append(buf, text, len));
    return quoted ? tl_buf_append_byte(buf, '"') : TL_OK;
}

static tl_status append_quoted_plain(tl_buf *buf, const char *text, size_t len)
{
    TL_TRY(tl_buf_reserve(buf, len + 2));
    buf->data[buf->len] = '"';
    memcpy(buf->data + buf->len + 1, text, len);
    buf->data[buf->len + 1 + len] = '"';
    buf->len += len + 2;
    return TL_OK;
}

size_t tl_text__timestamp(const tl_column *col, int64_t i, char *out)
{
    int64_t seconds;
    int32_t nanos;
    tl_text__timestamp_at(col, i, &seconds, &nanos);
    int64_t days = seconds / 86400, second_of_day = seconds % 86400;
    if (second_of_day < 0) {
        days--;
        second_of_day += 86400;
    }
    size_t n = tl_text__date(days, out);
    out[n++] = 'T';
    n += tl_text__hms((int32_t)second_of_day, out + n);
    out[n++] = '.';
    tl_text__padded((uint32_t)nanos, 9, out + n);
    n += 9;
    if (col->type->kind == TL_TIMESTAMP_LTZ)
        out[n++] = 'Z';
    return n;
}

tl_i128 tl_text__decimal_at(const tl_column *col, int64_t i)
{
    return col->phys == TL_PHYS_I64 ? (tl_i128)tl_col_i64(col, i) : tl_col_i128(col, i);
}

tl_status tl_text__append_hex(tl_buf *buf, tl_bytes_view bytes)
{
    static const char hex[] = "0123456789abcdef";
    TL_TRY(tl_buf_reserve(buf, bytes.len * 2));
    uint8_t *p = buf->data + buf->len;
    for (size_t k = 0; k < bytes.len; k++) {
        *p++ = (uint8_t)hex[bytes.data[k] >> 4];
        *p++ = (uint8_t)hex[bytes.data[k] & 15];
    }
    buf->len += bytes.len * 2;
    return TL_OK;
}

static tl_status append_int(tl_buf *buf, int64_t v)
{
    TL_TRY(tl_buf_reserve(buf, 24));
    buf->len += tl_text__int(v, (char *)buf->data + buf->len);
    return TL_OK;
}

tl_status tl_text__append_int_at(tl_buf *buf, const tl_column *col, int64_t i)
{
    return append_int(buf, tl_col_integer(col, i));
}

static tl_status append_list(tl_buf *buf, const tl_column *col, int64_t i);
static tl_status append_map(tl_buf *buf, const tl_column *col, int64_t i);
static tl_status append_struct(tl_buf *buf, const tl_column *col, int64_t i);

/* A string that holds the value's JSON. */
static tl_status append_variant(tl_buf *buf, const tl_column *col, int64_t i)
{
    tl_buf json = {0};
    tl_status status = tl_variant_append_json(&json, tl_col_bytes(col->children[0], i), tl_col_bytes(col->children[1], i), /* err= */ NULL);
    if (status == TL_OK)
        status = tl_json_append_quoted(buf, (tl_bytes_view){json.data, json.len});
    tl_buf_deinit(&json);
    return status;
}

static tl_status append_value(tl_buf *buf, const tl_column *col, int64_t i)
{
    char text[64];
    switch (col->type->kind) {
    case TL_BOOLEAN:
        return tl_buf_append_str(buf, tl_col_bool(col, i) ? "true" : "false");
    case TL_TINYINT:
    case TL_SMALLINT:
    case TL_INT:
    case TL_BIGINT:
        return append_int(buf, tl_col_integer(col, i));
    case TL_FLOAT:
        return append_floating(buf, text, tl_text_float(tl_col_f32(col, i), text));
    case TL_DOUBLE:
        return append_floating(buf, text, tl_text_double(tl_col_f64(col, i), text));
    case TL_DECIMAL:
        return append_quoted_plain(buf, text, tl_decimal_format(tl_text__decimal_at(col, i), col->type->scale, text));
    case TL_CHAR:
    case TL_VARCHAR:
        return tl_json_append_quoted(buf, tl_col_bytes(col, i));
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB:
        TL_TRY(tl_buf_append_byte(buf, '"'));
        TL_TRY(tl_text__append_hex(buf, tl_col_bytes(col, i)));
        return tl_buf_append_byte(buf, '"');
    case TL_DATE:
        return append_quoted_plain(buf, text, tl_text__date(tl_col_i32(col, i), text));
    case TL_TIME:
        return append_quoted_plain(buf, text, tl_text__time(tl_col_i32(col, i), text));
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return append_quoted_plain(buf, text, tl_text__timestamp(col, i, text));
    case TL_ARRAY:
    case TL_VECTOR:
        return append_list(buf, col, i);
    case TL_MAP:
    case TL_MULTISET:
        return append_map(buf, col, i);
    case TL_VARIANT:
        return append_variant(buf, col, i);
    default:
        return append_struct(buf, col, i);
    }
}

tl_status tl_text_append_json(tl_buf *buf, const tl_column *col, int64_t i)
{
    return tl_col_is_null(col, i) ? tl_buf_append(buf, "null", 4) : append_value(buf, col, i);
}

/* ---- out: nested ---- */

static tl_status append_list(tl_buf *buf, const tl_column *col, int64_t i)
{
    TL_TRY(tl_buf_append_byte(buf, '['));
    for (int32_t e = col->offsets[i]; e < col->offsets[i + 1]; e++) {
        if (e > col->offsets[i])
            TL_TRY(tl_buf_append_byte(buf, ','));
        TL_TRY(tl_text_append_json(buf, col->children[0], e));
    }
    return tl_buf_append_byte(buf, ']');
}

/* The text of one key of a map and where its entry lies. */
typedef struct entry {
    size_t from;
    size_t len;
    const tl_buf *texts;
    int32_t index;
} entry;

/* Order of UTF-16 code units, on UTF-8: as bytes, but U+E000..U+FFFF come after the surrogates of what lies above. */
int tl_text__compare_utf16(tl_bytes_view a, tl_bytes_view b)
{
    size_t n = TL_MIN(a.len, b.len);
    for (size_t k = 0; k < n; k++) {
        uint8_t x = a.data[k], y = b.data[k];
        if (x == y)
            continue;
        if (x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0))
            return x >= 0xf0 ? -1 : 1;
        return x < y ? -1 : 1;
    }
    return (a.len > b.len) - (a.len < b.len);
}

static tl_bytes_view entry_key(const entry *e)
{
    return (tl_bytes_view){e->texts->data + e->from, e->len};
}

static int compare_entries(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int c = tl_text__compare_utf16(entry_key(x), entry_key(y));
    return c != 0 ? c : (x->index > y->index) - (x->index < y->index);
}

static tl_status append_entries(tl_buf *buf, const tl_column *col, const entry *entries, int32_t n)
{
    bool first = true;
    TL_TRY(tl_buf_append_byte(buf, '['));
    for (int32_t k = 0; k < n; k++) {
        /* Of equal keys the last one counts. */
        if (k + 1 < n && tl_bytes_equal(entry_key(&entries[k]), entry_key(&entries[k + 1])))
            continue;
        TL_TRY(tl_buf_append_str(buf, first ? "[" : ",["));
        first = false;
        tl_bytes_view key = entry_key(&entries[k]);
        TL_TRY(tl_buf_append(buf, key.data, key.len));
        TL_TRY(tl_buf_append_byte(buf, ','));
        TL_TRY(tl_text_append_json(buf, col->children[1], entries[k].index));
        TL_TRY(tl_buf_append_byte(buf, ']'));
    }
    return tl_buf_append_byte(buf, ']');
}

static tl_status append_map(tl_buf *buf, const tl_column *col, int64_t i)
{
    int32_t from = col->offsets[i], n = col->offsets[i + 1] - from;
    if (n == 0)
        return tl_buf_append_str(buf, "[]");
    tl_buf texts = {0};
    tl_status status = TL_OK;
    entry small[16];
    entry *entries = n <= 16 ? small : tl_alloc((size_t)n * sizeof *entries);
    if (entries == NULL)
        return TL_E_NOMEM;
    for (int32_t k = 0; k < n; k++) {
        size_t start = texts.len;
        TL_TRY_GOTO(tl_text_append_json(&texts, col->children[0], from + k));
        entries[k] = (entry){start, texts.len - start, &texts, from + k};
    }
    qsort(entries, (size_t)n, sizeof *entries, compare_entries);
    status = append_entries(buf, col, entries, n);
out:
    if (entries != small)
        tl_free(entries);
    tl_buf_deinit(&texts);
    return status;
}

static tl_status append_name(tl_buf *buf, const char *name)
{
    TL_TRY(tl_json_append_quoted(buf, (tl_bytes_view){(const uint8_t *)name, strlen(name)}));
    return tl_buf_append_byte(buf, ':');
}

static tl_status append_struct(tl_buf *buf, const tl_column *col, int64_t i)
{
    TL_TRY(tl_buf_append_byte(buf, '{'));
    for (int32_t c = 0; c < col->n_children; c++) {
        if (c > 0)
            TL_TRY(tl_buf_append_byte(buf, ','));
        TL_TRY(append_name(buf, col->type->fields[c].name));
        TL_TRY(tl_text_append_json(buf, col->children[c], i));
    }
    return tl_buf_append_byte(buf, '}');
}

/* ---- out: rows ---- */

/* What stands before each value of a row: `,"name":`, made once. The first piece has no comma. */
typedef struct row_pieces {
    tl_buf text;
    size_t *ends; /* one per column */
} row_pieces;

static tl_status pieces_init(row_pieces *pieces, const tl_batch *batch, bool comma_first)
{
    *pieces = (row_pieces){0};
    pieces->ends = tl_alloc((size_t)TL_MAX(batch->n_cols, 1) * sizeof *pieces->ends);
    if (pieces->ends == NULL)
        return TL_E_NOMEM;
    for (int32_t c = 0; c < batch->n_cols; c++) {
        if (c > 0 || comma_first)
            TL_TRY(tl_buf_append_byte(&pieces->text, ','));
        TL_TRY(append_name(&pieces->text, batch->type->fields[c].name));
        pieces->ends[c] = pieces->text.len;
    }
    return TL_OK;
}

static void pieces_deinit(row_pieces *pieces)
{
    tl_buf_deinit(&pieces->text);
    tl_free(pieces->ends);
}

static tl_status append_head(tl_buf *buf, const tl_batch *batch, int64_t i, bool with_kind, int64_t snapshot)
{
    TL_TRY(tl_buf_append_byte(buf, '{'));
    if (snapshot != 0) {
        TL_TRY(tl_buf_append_str(buf, "\"_snapshot\":"));
        TL_TRY(append_int(buf, snapshot));
        if (with_kind)
            TL_TRY(tl_buf_append_byte(buf, ','));
    }
    if (with_kind) {
        TL_TRY(tl_buf_append_str(buf, "\"_kind\":\""));
        TL_TRY(tl_buf_append_str(buf, tl_row_kind_text(tl_batch_kind(batch, i))));
        TL_TRY(tl_buf_append_byte(buf, '"'));
    }
    return TL_OK;
}

static tl_status append_row(tl_buf *buf, const tl_batch *batch, int64_t i, bool with_kind, int64_t snapshot,
                            const row_pieces *pieces)
{
    TL_TRY(append_head(buf, batch, i, with_kind, snapshot));
    size_t from = 0;
    for (int32_t c = 0; c < batch->n_cols; c++) {
        TL_TRY(tl_buf_append(buf, pieces->text.data + from, pieces->ends[c] - from));
        from = pieces->ends[c];
        TL_TRY(tl_text_append_json(buf, batch->cols[c], i));
    }
    return tl_buf_append_byte(buf, '}');
}

tl_status tl_text_append_json_row(tl_buf *buf, const tl_batch *batch, int64_t i, bool with_kind, int64_t snapshot)
{
    row_pieces pieces;
    tl_status status = pieces_init(&pieces, batch, with_kind || snapshot != 0);
    if (status == TL_OK)
        status = append_row(buf, batch, i, with_kind, snapshot, &pieces);
    pieces_deinit(&pieces);
    return status;
}

tl_status tl_text_append_json_lines(tl_buf *buf, const tl_batch *batch, int64_t from, int64_t count, bool with_kind,
                                    bool with_snapshot)
{
    int64_t snapshot = with_snapshot ? batch->snapshot : 0;
    row_pieces pieces;
    tl_status status = pieces_init(&pieces, batch, with_kind || snapshot != 0);
    for (int64_t i = from; i < from + count && status == TL_OK; i++) {
        status = append_row(buf, batch, i, with_kind, snapshot, &pieces);
        if (status == TL_OK)
            status = tl_buf_append_byte(buf, '\n');
    }
    pieces_deinit(&pieces);
    return status;
}

tl_status tl_text_append_error(tl_status status, tl_error *err)
{
    if (status == TL_OK || status == TL_E_NOMEM)
        return status == TL_OK ? TL_OK : tl_nomem(err, "output");
    return tl_error_set(err, status, "a VARIANT value is malformed or too large to print");
}
