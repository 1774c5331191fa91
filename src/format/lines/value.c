/*
 * Values that are not nested, as text: what the reference's csv and json have in common. Binary is base 64, dates and times are
 * what its casts from and to STRING make of them, with UTC as the local time zone.
 */
#include <strings.h>

#include "base/base64.h"
#include "format/lines/lines_private.h"
#include "types/cast.h"
#include "types/convert.h"
#include "types/number.h"

static tl_status read_integer(tl_bytes_view text, const tl_type *type, tl_builder *builder)
{
    int bits = type->kind == TL_TINYINT ? 8 : type->kind == TL_SMALLINT ? 16 : type->kind == TL_INT ? 32 : 64;
    int64_t max = INT64_MAX >> (64 - bits), v;
    return tl_text__parse_int(text, -max - 1, max, &v) ? tl_builder_int(builder, v) : TL_E_INVALID;
}

static tl_status read_binary(tl_bytes_view text, tl_builder *builder)
{
    tl_buf bytes = {0};
    tl_status status = tl_base64_decode(&bytes, text);
    if (status == TL_OK)
        status = tl_builder_bytes(builder, bytes.data, bytes.len);
    tl_buf_deinit(&bytes);
    return status;
}

/* By the cast from STRING, as a column of one row. */
static tl_status read_by_cast(tl_bytes_view text, const tl_type *type, tl_builder *builder, tl_error *err)
{
    const tl_type *string = NULL;
    tl_column *one = NULL, *cast = NULL;
    if (text.len > INT32_MAX)
        return TL_E_LIMIT;
    tl_status status = tl_type_create(TL_VARCHAR, /* nullable= */ true, TL_LENGTH_MAX, 0, &string, err);
    if (status == TL_OK)
        status = tl_column_alloc(string, 1, &one, err);
    if (status == TL_OK && text.len > 0 && (one->data = tl_alloc(text.len)) == NULL)
        status = tl_nomem(err, "value");
    if (status == TL_OK) {
        if (text.len > 0)
            memcpy(one->data, text.data, text.len);
        one->offsets[1] = (int32_t)text.len;
        status = tl_cast_stored(one, type, &cast, err);
    }
    if (status == TL_OK)
        status = tl_builder_copy(builder, cast, 0);
    tl_column_unref(one);
    tl_column_unref(cast);
    tl_type_unref(string);
    return status;
}

tl_status tl_lines__value(tl_bytes_view text, const tl_type *type, tl_builder *builder, tl_error *err)
{
    double d;
    switch (type->kind) {
    case TL_TINYINT:
    case TL_SMALLINT:
    case TL_INT:
    case TL_BIGINT:
        return read_integer(text, type, builder);
    case TL_FLOAT:
    case TL_DOUBLE:
        if (!tl_convert_parse_double(text, type->kind == TL_FLOAT, &d))
            return TL_E_INVALID;
        return type->kind == TL_FLOAT ? tl_builder_f32(builder, (float)d) : tl_builder_f64(builder, d);
    case TL_BOOLEAN: /* as Boolean.parseBoolean(): anything else is false */
        return tl_builder_bool(builder, text.len == 4 && strncasecmp((const char *)text.data, "true", 4) == 0);
    case TL_CHAR:
    case TL_VARCHAR:
        return tl_builder_bytes(builder, text.data, text.len);
    case TL_BINARY:
    case TL_VARBINARY:
        return read_binary(text, builder);
    default:
        return read_by_cast(text, type, builder, err);
    }
}

tl_status tl_lines__append_value(tl_buf *out, const tl_column *col, int64_t i)
{
    tl_bytes_view bytes;
    switch (col->type->kind) {
    case TL_BINARY:
    case TL_VARBINARY:
        return tl_text_append_base64(out, tl_col_bytes(col, i));
    case TL_CHAR:
    case TL_VARCHAR:
        bytes = tl_col_bytes(col, i);
        return tl_buf_append(out, bytes.data, bytes.len);
    default:
        return tl_text_append_cast(out, col, i);
    }
}
