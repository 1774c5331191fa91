/*
 * Types of values that have none: JSON and CSV. A column gets the narrowest of BOOLEAN, BIGINT, DECIMAL(38, 0), DOUBLE (cells of text also
 * DATE and TIMESTAMP(6)) that holds all its values; cells that share none of these are STRING, members of JSON that share none are an
 * error, for only a schema can tell what is meant.
 */
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "api/input_private.h"
#include "types/text.h"

#define INFER_MEMBERS_MAX 10000 /* of one object: more is data that stands where names should */
#define DECIMAL_DIGITS 38

tl_status tl_infer__member(tl_arena *arena, shape *s, tl_bytes_view name, shape **out, tl_error *err)
{
    for (shape *m = s->members; m != NULL; m = m->next) {
        if (strlen(m->name) == name.len && memcmp(m->name, name.data, name.len) == 0) {
            *out = m;
            return TL_OK;
        }
    }
    if (s->n_members == INFER_MEMBERS_MAX)
        return tl_error_set(err, TL_E_LIMIT, "more than %d columns", INFER_MEMBERS_MAX);
    shape *m = tl_arena_calloc(arena, 1, sizeof *m);
    if (m == NULL || (m->name = tl_arena_strndup(arena, (const char *)name.data, name.len)) == NULL)
        return tl_nomem(err, "columns");
    if (s->last == NULL)
        s->members = m;
    else
        s->last->next = m;
    s->last = m;
    s->n_members++;
    *out = m;
    return TL_OK;
}

/* The kind that holds both; false: there is none but text. */
static bool combine(shape_kind a, shape_kind b, shape_kind *out)
{
    if (a > b)
        return combine(b, a, out);
    shape_kind low = a, high = b;
    *out = high;
    return low == high || low == SHAPE_NULL || (low >= SHAPE_INT && high <= SHAPE_DOUBLE) || (low == SHAPE_DATE && high == SHAPE_TIME);
}

/* ---- numbers ---- */

static shape_kind number_kind(tl_bytes_view text)
{
    char copy[DECIMAL_DIGITS + 3];
    size_t sign = text.len > 0 && text.data[0] == '-', digits = text.len - sign;
    for (size_t i = sign; i < text.len; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return SHAPE_DOUBLE;
    if (digits < 19)
        return SHAPE_INT;
    if (digits > DECIMAL_DIGITS)
        return SHAPE_DOUBLE;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    tl_i128 v;
    bool ok = tl_decimal_parse((tl_bytes_view){(const uint8_t *)copy, text.len}, DECIMAL_DIGITS, 0, &v);
    return ok && v >= INT64_MIN && v <= INT64_MAX ? SHAPE_INT : SHAPE_BIG;
}

/* ---- JSON ---- */

static shape_kind json_kind(const tl_json *value)
{
    switch (value->kind) {
    case TL_JSON_NULL:
        return SHAPE_NULL;
    case TL_JSON_TRUE:
    case TL_JSON_FALSE:
        return SHAPE_BOOLEAN;
    case TL_JSON_NUMBER:
        return number_kind(value->text);
    case TL_JSON_STRING:
        return SHAPE_TEXT;
    case TL_JSON_ARRAY:
        return SHAPE_LIST;
    default:
        return SHAPE_OBJECT;
    }
}

tl_status tl_infer__json(tl_arena *arena, shape *s, const tl_json *value, tl_error *err)
{
    static const char *const names[] = {"null", "true or false", "a number", "a number", "a number", "", "", "a text", "a list", "an object"};
    shape_kind kind = json_kind(value), both;
    if (!combine(s->kind, kind, &both))
        return tl_error_set(err, TL_E_INVALID, "%s where values before it are %s: no type holds both, a schema must say what is meant", names[kind],
                            names[s->kind]);
    s->kind = both;
    for (const tl_json *child = value->child; child != NULL; child = child->next) {
        static const tl_bytes_view element = {(const uint8_t *)"element", 7};
        shape *member;
        TL_TRY(tl_infer__member(arena, s, kind == SHAPE_LIST ? element : child->key, &member, err));
        tl_status status = tl_infer__json(arena, member, child, err);
        TL_TRY(kind == SHAPE_OBJECT ? tl_error_wrap(err, status, "'%s'", member->name) : status);
    }
    return TL_OK;
}

/* ---- cells ---- */

static bool is_word(tl_bytes_view cell, const char *word)
{
    return cell.len == strlen(word) && strncasecmp((const char *)cell.data, word, cell.len) == 0;
}

/* As JSON has numbers: no blanks, no leading zeros or plus (those are codes rather than numbers), no hexadecimal, no infinity. */
static bool is_number(tl_bytes_view cell)
{
    char copy[64], *end = NULL;
    size_t sign = cell.len > 0 && cell.data[0] == '-';
    if (cell.len == sign || cell.len >= sizeof copy || cell.data[sign] < '0' || cell.data[sign] > '9')
        return false;
    if (cell.data[sign] == '0' && cell.len > sign + 1 && cell.data[sign + 1] >= '0' && cell.data[sign + 1] <= '9')
        return false;
    memcpy(copy, cell.data, cell.len);
    copy[cell.len] = '\0';
    return strspn(copy, "0123456789.eE+-") == cell.len && isfinite(strtod(copy, &end)) && *end == '\0';
}

static shape_kind cell_kind(tl_bytes_view cell)
{
    int32_t days, nanos;
    int64_t millis;
    if (is_word(cell, "true") || is_word(cell, "false"))
        return SHAPE_BOOLEAN;
    if (is_number(cell))
        return number_kind(cell);
    if (cell.len == 10 && cell.data[4] == '-' && tl_parse_date(cell, &days))
        return SHAPE_DATE;
    if (cell.len >= 19 && cell.data[4] == '-' && tl_parse_timestamp(cell, &millis, &nanos) && nanos % 1000 == 0)
        return SHAPE_TIME;
    return SHAPE_TEXT;
}

void tl_infer__text(shape *s, tl_bytes_view cell)
{
    shape_kind both;
    if (s->kind != SHAPE_TEXT)
        s->kind = combine(s->kind, cell_kind(cell), &both) ? both : SHAPE_TEXT;
}

/* ---- types ---- */

static tl_status type_of(const shape *s, const tl_type **out, tl_error *err)
{
    switch (s->kind) {
    case SHAPE_BOOLEAN:
        return tl_type_create(TL_BOOLEAN, true, 0, 0, out, err);
    case SHAPE_INT:
        return tl_type_create(TL_BIGINT, true, 0, 0, out, err);
    case SHAPE_BIG:
        return tl_type_create(TL_DECIMAL, true, DECIMAL_DIGITS, 0, out, err);
    case SHAPE_DOUBLE:
        return tl_type_create(TL_DOUBLE, true, 0, 0, out, err);
    case SHAPE_DATE:
        return tl_type_create(TL_DATE, true, 0, 0, out, err);
    case SHAPE_TIME:
        return tl_type_create(TL_TIMESTAMP, true, 6, 0, out, err);
    case SHAPE_OBJECT:
        if (s->n_members > 0)
            return tl_infer__row(s, /* nullable= */ true, out, err);
        break;
    case SHAPE_LIST: {
        static const shape unknown = {.kind = SHAPE_NULL};
        TL_CLEANUP(tl_type_unrefp) const tl_type *element = NULL;
        TL_TRY(type_of(s->members == NULL ? &unknown : s->members, &element, err));
        return tl_type_create_array(true, element, out, err);
    }
    default:
        break;
    }
    return tl_type_create(TL_VARCHAR, true, TL_LENGTH_MAX, 0, out, err);
}

tl_status tl_infer__row(const shape *s, bool nullable, const tl_type **out, tl_error *err)
{
    tl_field *fields = tl_calloc((size_t)s->n_members + 1, sizeof *fields);
    int32_t n = 0;
    tl_status status = fields == NULL ? tl_nomem(err, "columns") : TL_OK;
    for (const shape *m = s->members; m != NULL && status == TL_OK; m = m->next) {
        fields[n] = (tl_field){.id = -1, .name = (char *)(uintptr_t)m->name};
        status = type_of(m, &fields[n].type, err);
        n += status == TL_OK;
    }
    if (status == TL_OK)
        status = tl_type_create_row(nullable, fields, n, out, err);
    for (int32_t i = 0; i < n; i++)
        tl_type_unref(fields[i].type);
    tl_free(fields);
    return status;
}
