/*
 * Casts between columns, with Flink's rules: numbers wrap, doubles saturate, decimals that do not fit are NULL, text that is no
 * value is an error (TRY_CAST: NULL).
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "sql/cast.h"

tl_status tl_cast__null(tl_cast *c, int64_t i)
{
    return tl_convert_null(c->from, &c->validity, i, c->err);
}

tl_status tl_cast__bad(tl_cast *c, int64_t i, const char *fmt, ...)
{
    if (c->is_try)
        return tl_cast__null(c, i);
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return tl_error_set(c->err, TL_E_INVALID, "%s", text);
}

/* ---- nested ---- */

static tl_status cast_nested(const tl_column *from, const tl_type *to, const tl_tz *zone, tl_column **out, tl_error *err)
{
    tl_column *copy;
    TL_TRY(tl_column_alloc(to, from->length, &copy, err));
    tl_status status = TL_OK;
    if (from->offsets != NULL)
        memcpy(copy->offsets, from->offsets, (size_t)(from->length + 1) * sizeof *from->offsets);
    for (int32_t i = 0; i < from->n_children && status == TL_OK; i++)
        status = tl_cast_column(from->children[i], to->fields[i].type, /* is_try= */ false, zone, &copy->children[i], err);
    if (status == TL_OK && from->validity != NULL) {
        copy->validity = tl_memdup(from->validity, tl_bitmap_bytes(from->length) + (from->length == 0));
        copy->null_count = from->null_count;
        if (copy->validity == NULL)
            status = tl_nomem(err, "cast");
    }
    if (status == TL_OK)
        status = tl_vectors_check(copy, err);
    if (status != TL_OK) {
        tl_column_unref(copy);
        return status;
    }
    *out = copy;
    return TL_OK;
}

/** TRY_CAST: a value with a part that cannot be cast is NULL as a whole. */
static tl_status try_cast_nested(const tl_column *from, const tl_type *to, const tl_tz *zone, tl_column **out, tl_error *err)
{
    tl_error ignored = {0};
    tl_status status = cast_nested(from, to, zone, out, &ignored);
    if (status == TL_OK || status == TL_E_NOMEM)
        return status == TL_OK ? TL_OK : tl_nomem(err, "cast");
    tl_builder *builder;
    TL_TRY(tl_builder_create(to, &builder, err));
    status = TL_OK;
    for (int64_t i = 0; i < from->length && status == TL_OK; i++) {
        TL_CLEANUP(tl_column_unrefp) tl_column *row = NULL;
        TL_CLEANUP(tl_column_unrefp) tl_column *cast = NULL;
        const uint32_t idx = (uint32_t)i;
        status = tl_column_gather(from, &idx, 1, &row, err);
        if (status == TL_OK)
            status = cast_nested(row, to, zone, &cast, &ignored);
        if (status == TL_OK)
            status = tl_builder_copy(builder, cast, 0);
        else if (status != TL_E_NOMEM)
            status = tl_builder_null(builder);
    }
    if (status == TL_OK)
        status = tl_builder_finish(builder, out, err);
    else
        status = tl_nomem(err, "cast"); /* nothing else is left */
    tl_builder_free(builder);
    return status;
}

/* ---- numbers ---- */

/** NaN and the infinities are no DECIMAL: an error, or NULL for TRY_CAST as tl_convert_numbers() has it. */
static tl_status refuse_not_finite(const tl_column *from, tl_error *err)
{
    for (int64_t i = 0; i < from->length; i++) {
        double v = tl_col_is_null(from, i) ? 0 : from->phys == TL_PHYS_F32 ? (double)tl_col_f32(from, i) : tl_col_f64(from, i);
        if (!isfinite(v))
            return tl_error_set(err, TL_E_INVALID, "%s is no DECIMAL", isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
    }
    return TL_OK;
}

/* ---- all ---- */

/** Casts that change only the name of the type. */
static bool keeps_values(const tl_type *from, const tl_type *to)
{
    if (from->kind == TL_VECTOR && to->kind == TL_ARRAY)
        return tl_type_equal(from->fields[0].type, to->fields[0].type, /* with_nullable= */ false);
    if (tl_sql__is_interval(from) || tl_sql__is_interval(to) || from->n_fields > 0)
        return tl_type_equal(from, to, /* with_nullable= */ false);
    if (tl_type_equal(from, to, /* with_nullable= */ false))
        return true;
    if (tl_sql__is_text(from) && to->kind == TL_VARCHAR)
        return to->length >= from->length;
    if (tl_sql__is_binary(from) && (to->kind == TL_VARBINARY || to->kind == TL_BLOB))
        return tl_sql__binary_length(to) >= tl_sql__binary_length(from);
    return from->kind == TL_TIME && to->kind == TL_TIME;
}

static tl_status run_cast(tl_cast *c)
{
    if (tl_sql__is_text(c->to))
        return tl_cast__to_text(c);
    TL_TRY(tl_column_alloc(c->to, c->from->length, &c->out, c->err));
    return tl_sql__is_text(c->from->type) ? tl_cast__from_text(c) : tl_cast__from_time(c);
}

/** Validity and text of the result. */
static tl_status finish_cast(tl_cast *c)
{
    if (c->out->phys == TL_PHYS_BYTES)
        c->out->data = tl_buf_steal(&c->text).data;
    return tl_convert_finish(c->from, &c->validity, c->out, c->err);
}

static bool is_number(const tl_type *type)
{
    return tl_sql__is_numeric(type) || type->kind == TL_BOOLEAN;
}

/** Bytes whose type allows more than the VARBINARY they become are filled up with zeros, too: Flink's rule, where SQL would cut alone. */
static tl_status to_binary(const tl_column *from, const tl_type *to, tl_column **out, tl_error *err)
{
    if (to->kind != TL_VARBINARY || !tl_sql__is_binary(from->type))
        return tl_convert_to_binary(from, to, out, err);
    TL_CLEANUP(tl_type_unrefp) const tl_type *filled = NULL;
    TL_CLEANUP(tl_column_unrefp) tl_column *column = NULL;
    TL_TRY(tl_type_create(TL_BINARY, to->nullable, to->length, 0, &filled, err));
    TL_TRY(tl_convert_to_binary(from, filled, &column, err));
    return tl_column_retype(column, to, out, err);
}

tl_status tl_cast_column(const tl_column *from, const tl_type *to, bool is_try, const tl_tz *zone, tl_column **out, tl_error *err)
{
    if (keeps_values(from->type, to))
        return tl_column_retype(from, to, out, err);
    if (from->null_count == from->length)
        return tl_column_nulls(to, from->length, out, err);
    if (to->n_fields > 0)
        return is_try ? try_cast_nested(from, to, zone, out, err) : cast_nested(from, to, zone, out, err);
    if (tl_sql__is_float(from->type) && to->kind == TL_DECIMAL && !is_try)
        TL_TRY(refuse_not_finite(from, err));
    if (is_number(from->type) && is_number(to))
        return tl_convert_numbers(from, to, out, err);
    if (tl_sql__is_binary(to))
        return to_binary(from, to, out, err);
    tl_cast c = {.from = from, .to = to, .is_try = is_try, .zone = zone, .err = err};
    tl_status status = run_cast(&c);
    if (status == TL_OK)
        status = finish_cast(&c);
    tl_free(c.validity);
    tl_buf_deinit(&c.text);
    if (status != TL_OK) {
        tl_column_unref(c.out);
        return status;
    }
    *out = c.out;
    return TL_OK;
}
