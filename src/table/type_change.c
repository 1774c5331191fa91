/*
 * Which column types may become which, and default values. Source: Java: DataTypeCasts, CastExecutors, DefaultValueUtils.
 */
#include "table/table_private.h"
#include "types/cast.h"

/* Families of types, as bits. */
enum {
    CHARACTER = 1 << 0,
    BINARY = 1 << 1,
    INTEGER_NUMERIC = 1 << 2,
    OTHER_NUMERIC = 1 << 3, /* DECIMAL, FLOAT, DOUBLE */
    BOOL = 1 << 4,
    DATE_TYPE = 1 << 5,
    TIME_TYPE = 1 << 6,
    STAMP = 1 << 7,
    STAMP_LTZ = 1 << 8,
    CONSTRUCTED = 1 << 9,
    NUMERIC = INTEGER_NUMERIC | OTHER_NUMERIC,
    TIMESTAMPS = STAMP | STAMP_LTZ,
    DATETIME = DATE_TYPE | TIME_TYPE | TIMESTAMPS,
    PREDEFINED = CHARACTER | BINARY | NUMERIC | BOOL | DATETIME,
};

static int family(tl_type_kind kind)
{
    switch (kind) {
    case TL_CHAR:
    case TL_VARCHAR:
        return CHARACTER;
    case TL_BINARY:
    case TL_VARBINARY:
        return BINARY;
    case TL_TINYINT:
    case TL_SMALLINT:
    case TL_INT:
    case TL_BIGINT:
        return INTEGER_NUMERIC;
    case TL_DECIMAL:
    case TL_FLOAT:
    case TL_DOUBLE:
        return OTHER_NUMERIC;
    case TL_BOOLEAN:
        return BOOL;
    case TL_DATE:
        return DATE_TYPE;
    case TL_TIME:
        return TIME_TYPE;
    case TL_TIMESTAMP:
        return STAMP;
    case TL_TIMESTAMP_LTZ:
        return STAMP_LTZ;
    case TL_ARRAY:
    case TL_MAP:
    case TL_MULTISET:
    case TL_ROW:
        return CONSTRUCTED;
    default:
        return 0;
    }
}

/* Width of whole numbers, for widening. */
static int int_rank(tl_type_kind kind)
{
    return kind == TL_TINYINT ? 1 : kind == TL_SMALLINT ? 2 : kind == TL_INT ? 3 : kind == TL_BIGINT ? 4 : 0;
}

static bool implicit(tl_type_kind from, tl_type_kind to)
{
    int f = family(from);
    if (from == to)
        return true;
    switch (to) {
    case TL_VARCHAR:
        return f == CHARACTER;
    case TL_VARBINARY:
        return f == BINARY;
    case TL_DECIMAL:
    case TL_DOUBLE:
        return (f & NUMERIC) != 0;
    case TL_SMALLINT:
    case TL_INT:
    case TL_BIGINT:
        return f == INTEGER_NUMERIC && int_rank(from) <= int_rank(to);
    case TL_FLOAT:
        return f == INTEGER_NUMERIC || from == TL_DECIMAL;
    case TL_DATE:
    case TL_TIME:
        return from == TL_TIMESTAMP;
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return (f & TIMESTAMPS) != 0;
    default:
        return false;
    }
}

static bool explicit_cast(tl_type_kind from, tl_type_kind to)
{
    int f = family(from);
    switch (to) {
    case TL_CHAR:
    case TL_VARCHAR:
        return (f & (PREDEFINED | CONSTRUCTED)) != 0;
    case TL_BOOLEAN:
        return (f & (CHARACTER | INTEGER_NUMERIC)) != 0;
    case TL_BINARY:
        return f == CHARACTER || from == TL_VARBINARY;
    case TL_VARBINARY:
        return f == CHARACTER || from == TL_BINARY;
    case TL_DECIMAL:
    case TL_DOUBLE:
        return (f & (CHARACTER | BOOL | TIMESTAMPS)) != 0;
    case TL_TINYINT:
    case TL_SMALLINT:
    case TL_INT:
    case TL_BIGINT:
    case TL_FLOAT:
        return (f & (NUMERIC | CHARACTER | BOOL | TIMESTAMPS)) != 0;
    case TL_DATE:
        return (f & (TIMESTAMPS | CHARACTER)) != 0;
    case TL_TIME:
        return (f & (TIME_TYPE | TIMESTAMPS | CHARACTER)) != 0;
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return (f & (DATETIME | CHARACTER | NUMERIC)) != 0;
    default:
        return false;
    }
}

bool tl_table__can_cast(const tl_type *from, const tl_type *to, bool allow_explicit)
{
    if (from->nullable && !to->nullable && !allow_explicit)
        return false;
    if (tl_type_equal(from, to, /* with_nullable= */ false))
        return true;
    bool rule = implicit(from->kind, to->kind) || (allow_explicit && explicit_cast(from->kind, to->kind));
    return rule && tl_cast_exists(from, to); /* the rules allow casts that nothing in the reference carries out */
}

/* ---- default values ---- */

tl_status tl_table__default_column(const tl_type *type, const char *text, tl_column **out, tl_error *err)
{
    size_t len = strlen(text);
    if (len >= 2 && text[0] == '\'' && text[len - 1] == '\'') {
        text++;
        len -= 2;
    }
    tl_bytes_view view = {(const uint8_t *)text, len};
    tl_builder *builder = NULL;
    TL_TRY(tl_builder_create(type, &builder, err));
    tl_status status = tl_table__read_default(view, type, builder, err);
    if (status == TL_OK)
        status = tl_builder_finish(builder, out, err);
    tl_builder_free(builder);
    return status;
}

tl_status tl_table__validate_default(const tl_type *type, const char *text, tl_error *err)
{
    if (text == NULL)
        return TL_OK;
    tl_column *col = NULL;
    tl_error cause;
    tl_status status = tl_table__default_column(type, text, &col, &cause);
    tl_column_unref(col);
    if (status == TL_OK)
        return TL_OK;
    if (status == TL_E_NOMEM)
        return tl_nomem(err, "default value");
    tl_buf name = {0};
    (void)tl_type_format(type, &name); /* only a message */
    status = tl_error_set(err, TL_E_INVALID, "Unsupported default value `%s` for type %.*s: %s", text, (int)name.len, (const char *)name.data,
                          cause.message);
    tl_buf_deinit(&name);
    return status;
}
