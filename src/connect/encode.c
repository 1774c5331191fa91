/*
 * Rows become lines as Flink writes them. Sources: Flink: RowDataToJsonConverters, RowDataToCsvConverters; Jackson: CsvEncoder, which
 * quotes a text that is longer than 24 characters or has one that is not above both the delimiter and the quote.
 */
#include "connect/connect_private.h"
#include "types/convert.h"
#include "types/text.h"

#define QUOTE_CHECK_MAX 24 /* UTF-16 units */

tl_status tl_connect__encoder_init(tl_encoder *encoder, const tl_connector_spec *spec, const bool *left_out, tl_error *err)
{
    const char *format = tl_options_get(spec->options, "format");
    *encoder = (tl_encoder){.spec = spec, .left_out = left_out};
    if (format == NULL || (strcmp(format, "json") != 0 && strcmp(format, "csv") != 0))
        return tl_error_set(err, TL_E_INVALID, "connector 'filesystem' writes with the option 'format' = 'json' or 'csv'");
    encoder->csv = strcmp(format, "csv") == 0;
    if (!encoder->csv) {
        TL_TRY(tl_connect__json_rules(spec->options, "json", &encoder->rules, err));
        TL_TRY(tl_connect__bool_option(spec->options, "json", "encode.decimal-as-plain-number", false, &encoder->plain_decimals, err));
        return tl_connect__bool_option(spec->options, "json", "encode.ignore-null-fields", false, &encoder->leave_nulls_out, err);
    }
    TL_TRY(tl_connect__csv_char(spec->options, "field-delimiter", ',', &encoder->delimiter, err));
    TL_TRY(tl_connect__csv_char(spec->options, "quote-character", '"', &encoder->quote, err));
    TL_TRY(tl_connect__csv_char(spec->options, "escape-character", 0, &encoder->escape, err));
    bool no_quotes;
    TL_TRY(tl_connect__bool_option(spec->options, "csv", "disable-quote-character", false, &no_quotes, err));
    if (no_quotes)
        encoder->quote = 0;
    encoder->null_literal = tl_connect__option(spec->options, "csv", "null-literal");
    encoder->array_delimiter = tl_connect__csv_array_delimiter(spec->options);
    return TL_OK;
}

/* ---- scalars ---- */

/* Date and time, without zeros at the end of a fraction; `between`: ' ' or 'T'; an instant ends with Z. */
static tl_status append_time(tl_buf *out, const tl_column *col, int64_t i, char between)
{
    size_t from = out->len;
    TL_TRY(tl_text_append_cast(out, col, i));
    uint8_t *text = out->data + from;
    size_t len = out->len - from;
    uint8_t *space = memchr(text, ' ', len);
    if (space != NULL)
        *space = (uint8_t)between;
    if (memchr(text, '.', len) != NULL) {
        while (out->data[out->len - 1] == '0')
            out->len--;
        out->len -= out->data[out->len - 1] == '.';
    }
    return col->type->kind == TL_TIMESTAMP_LTZ ? tl_buf_append_byte(out, 'Z') : TL_OK;
}

/* Java's BigDecimal.toString() without zeros at the end: 1E+2, 0.5, 1E-8; `plain`: 100, 0.5, 0.00000001. */
static tl_status append_decimal(tl_buf *out, const tl_column *col, int64_t i, bool plain)
{
    char text[64], digits[64];
    tl_i128 v = tl_convert_decimal_at(col, i);
    int scale = col->type->scale;
    for (; v != 0 && v % 10 == 0 && (!plain || scale > 0); v /= 10)
        scale--;
    if (v == 0)
        return tl_buf_append_byte(out, '0');
    size_t n = tl_decimal_format(v < 0 ? -v : v, 0, digits);
    long exponent = (long)n - 1 - scale;
    if (v < 0)
        TL_TRY(tl_buf_append_byte(out, '-'));
    if (scale >= 0 && (plain || exponent >= -6))
        return tl_buf_append(out, text, tl_decimal_format(v < 0 ? -v : v, scale, text));
    TL_TRY(tl_buf_append(out, digits, 1));
    if (n > 1)
        TL_TRY(tl_buf_appendf(out, ".%.*s", (int)n - 1, digits + 1));
    return tl_buf_appendf(out, "E%+ld", exponent);
}

static tl_status append_real(tl_buf *out, const tl_column *col, int64_t i, bool json)
{
    char text[32];
    bool single = col->type->kind == TL_FLOAT;
    double v = single ? (double)tl_col_f32(col, i) : tl_col_f64(col, i);
    size_t n = single ? tl_text_java_float(tl_col_f32(col, i), text) : tl_text_java_double(v, text);
    bool quoted = json && !__builtin_isfinite(v);
    return tl_buf_appendf(out, quoted ? "\"%.*s\"" : "%.*s", (int)n, text);
}

/* ---- JSON ---- */

static tl_status json_value(const tl_encoder *e, const tl_column *col, int64_t i, tl_buf *out);

static tl_status json_list(const tl_encoder *e, const tl_column *col, int64_t i, tl_buf *out)
{
    TL_TRY(tl_buf_append_byte(out, '['));
    for (int32_t k = col->offsets[i]; k < col->offsets[i + 1]; k++) {
        if (k > col->offsets[i])
            TL_TRY(tl_buf_append_byte(out, ','));
        TL_TRY(json_value(e, col->children[0], k, out));
    }
    return tl_buf_append_byte(out, ']');
}

/* MAP, and MULTISET with its counts as values. */
static tl_status json_map(const tl_encoder *e, const tl_column *col, int64_t i, tl_buf *out)
{
    TL_CLEANUP(tl_buf_deinit) tl_buf key = {0};
    TL_TRY(tl_buf_append_byte(out, '{'));
    for (int32_t k = col->offsets[i]; k < col->offsets[i + 1]; k++) {
        key.len = 0;
        TL_TRY(tl_text_append_cast(&key, col->children[0], k));
        if (k > col->offsets[i])
            TL_TRY(tl_buf_append_byte(out, ','));
        TL_TRY(tl_json_append_jackson(out, (tl_bytes_view){key.data, key.len}));
        TL_TRY(tl_buf_append_byte(out, ':'));
        TL_TRY(json_value(e, col->children[1], k, out));
    }
    return tl_buf_append_byte(out, '}');
}

static tl_status json_member(const tl_encoder *e, const char *name, const tl_column *col, int64_t i, bool *first, tl_buf *out)
{
    if (e->leave_nulls_out && tl_col_is_null(col, i))
        return TL_OK;
    if (!*first)
        TL_TRY(tl_buf_append_byte(out, ','));
    *first = false;
    TL_TRY(tl_json_append_jackson(out, (tl_bytes_view){(const uint8_t *)name, strlen(name)}));
    TL_TRY(tl_buf_append_byte(out, ':'));
    return json_value(e, col, i, out);
}

static tl_status json_value(const tl_encoder *e, const tl_column *col, int64_t i, tl_buf *out)
{
    const tl_type *type = col->type;
    if (tl_col_is_null(col, i))
        return tl_buf_append_str(out, "null");
    bool first = true;
    switch (type->kind) {
    case TL_ARRAY:
    case TL_VECTOR:
        return json_list(e, col, i, out);
    case TL_MAP:
    case TL_MULTISET:
        return json_map(e, col, i, out);
    case TL_ROW:
        TL_TRY(tl_buf_append_byte(out, '{'));
        for (int32_t f = 0; f < type->n_fields; f++)
            TL_TRY(json_member(e, type->fields[f].name, col->children[f], i, &first, out));
        return tl_buf_append_byte(out, '}');
    case TL_CHAR:
    case TL_VARCHAR:
        return tl_json_append_jackson(out, tl_col_bytes(col, i));
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB:
        TL_TRY(tl_buf_append_byte(out, '"'));
        TL_TRY(tl_text_append_base64(out, tl_col_bytes(col, i)));
        return tl_buf_append_byte(out, '"');
    case TL_FLOAT:
    case TL_DOUBLE:
        return append_real(out, col, i, true);
    case TL_DECIMAL:
        return append_decimal(out, col, i, e->plain_decimals);
    case TL_DATE:
    case TL_TIME:
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        TL_TRY(tl_buf_append_byte(out, '"'));
        TL_TRY(append_time(out, col, i, e->rules.time == TL_TIME_ISO ? 'T' : ' '));
        return tl_buf_append_byte(out, '"');
    case TL_BOOLEAN:
        return tl_buf_append_str(out, tl_col_bool(col, i) ? "true" : "false");
    default:
        return tl_text_append_plain(out, col, i);
    }
}

/* ---- CSV ---- */

/* A cell's text, unquoted; elements and fields with the array delimiter between them. */
static tl_status csv_text(const tl_encoder *e, const tl_column *col, int64_t i, tl_buf *out)
{
    const tl_type *type = col->type;
    if (tl_col_is_null(col, i))
        return tl_buf_append_str(out, e->null_literal == NULL ? "" : e->null_literal);
    switch (type->kind) {
    case TL_ARRAY:
    case TL_VECTOR:
        for (int32_t k = col->offsets[i]; k < col->offsets[i + 1]; k++) {
            if (k > col->offsets[i])
                TL_TRY(tl_buf_append_str(out, e->array_delimiter));
            TL_TRY(csv_text(e, col->children[0], k, out));
        }
        return TL_OK;
    case TL_ROW:
        for (int32_t f = 0; f < type->n_fields; f++) {
            if (f > 0)
                TL_TRY(tl_buf_append_str(out, e->array_delimiter));
            TL_TRY(csv_text(e, col->children[f], i, out));
        }
        return TL_OK;
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB:
        return tl_text_append_base64(out, tl_col_bytes(col, i));
    case TL_FLOAT:
    case TL_DOUBLE:
        return append_real(out, col, i, false);
    case TL_DECIMAL:
        return append_decimal(out, col, i, true);
    case TL_DATE:
    case TL_TIME:
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return append_time(out, col, i, ' ');
    default:
        return tl_text_append_plain(out, col, i);
    }
}

static bool is_number(const tl_type *type)
{
    return type->kind == TL_BOOLEAN || type->kind == TL_DECIMAL || type->kind == TL_FLOAT || type->kind == TL_DOUBLE ||
           (type->kind >= TL_TINYINT && type->kind <= TL_BIGINT);
}

static bool needs_quotes(const tl_encoder *e, const uint8_t *text, size_t len)
{
    uint8_t limit = TL_MAX(e->delimiter, e->quote);
    size_t units = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] <= limit || (e->escape != 0 && text[i] == e->escape))
            return true;
        units += (text[i] & 0xc0) != 0x80; /* a character begins; */
        units += text[i] >= 0xf0;          /* those of four bytes are two units */
    }
    return units > QUOTE_CHECK_MAX;
}

static tl_status csv_cell(const tl_encoder *e, const tl_column *col, int64_t i, tl_buf *out)
{
    size_t from = out->len;
    TL_TRY(csv_text(e, col, i, out));
    size_t len = out->len - from;
    if (e->quote == 0 || tl_col_is_null(col, i) || is_number(col->type) || !needs_quotes(e, out->data + from, len))
        return TL_OK;
    TL_CLEANUP(tl_freep) uint8_t *text = tl_memdup(out->data + from, len);
    if (text == NULL)
        return TL_E_NOMEM;
    out->len = from;
    TL_TRY(tl_buf_append_byte(out, e->quote));
    for (size_t k = 0; k < len; k++) {
        if (text[k] == e->quote || (e->escape != 0 && text[k] == e->escape))
            TL_TRY(tl_buf_append_byte(out, e->escape != 0 ? e->escape : e->quote));
        TL_TRY(tl_buf_append_byte(out, text[k]));
    }
    return tl_buf_append_byte(out, e->quote);
}

tl_status tl_connect__encode_row(const tl_encoder *e, const tl_batch *batch, int64_t i, tl_buf *out)
{
    bool first = true;
    if (!e->csv)
        TL_TRY(tl_buf_append_byte(out, '{'));
    for (int32_t c = 0; c < batch->n_cols; c++) {
        if (e->left_out[c])
            continue;
        if (!e->csv) {
            TL_TRY(json_member(e, e->spec->row_type->fields[c].name, batch->cols[c], i, &first, out));
            continue;
        }
        if (!first)
            TL_TRY(tl_buf_append_byte(out, e->delimiter));
        first = false;
        TL_TRY(csv_cell(e, batch->cols[c], i, out));
    }
    return tl_buf_append_str(out, e->csv ? "\n" : "}\n");
}
