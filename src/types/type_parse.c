/*
 * Types from text: recursive descent over the bytes.
 *
 * Grammar: the texts of type_print.c in any case, every alias of the format reference §2, `INT ARRAY` and `INT MULTISET`,
 * ROW with parentheses, COMMENT and DEFAULT of fields. Java: DataTypeJsonParser.
 */
#include <stdio.h>

#include "types/types_private.h"

typedef struct parser {
    tl_bytes_view text;
    size_t pos;
    int depth;
    tl_error *err;
} parser;

static tl_status parse_type(parser *p, const tl_type **out);

static tl_status fail(parser *p, const char *reason)
{
    return tl_error_set(p->err, TL_E_INVALID, "type '%.*s': position %zu: %s", (int)TL_MIN(p->text.len, 200),
                        (const char *)p->text.data, p->pos, reason);
}

static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Characters of a plain word; every byte of a UTF-8 sequence counts as a letter. */
static bool is_word(uint8_t c)
{
    return c >= 0x80 || c == '_' || is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void skip_space(parser *p)
{
    while (p->pos < p->text.len && is_space(p->text.data[p->pos]))
        p->pos++;
}

static bool accept_char(parser *p, char c)
{
    skip_space(p);
    if (p->pos >= p->text.len || p->text.data[p->pos] != (uint8_t)c)
        return false;
    p->pos++;
    return true;
}

static tl_status expect_char(parser *p, char c)
{
    if (accept_char(p, c))
        return TL_OK;
    char reason[32];
    snprintf(reason, sizeof reason, "'%c' expected", c);
    return fail(p, reason);
}

/* The next plain word, without moving on. Empty if there is none. */
static tl_bytes_view peek_word(parser *p)
{
    skip_space(p);
    size_t end = p->pos;
    while (end < p->text.len && is_word(p->text.data[end]))
        end++;
    return (tl_bytes_view){p->text.data + p->pos, end - p->pos};
}

static bool word_is(tl_bytes_view word, const char *keyword)
{
    size_t n = strlen(keyword);
    if (word.len != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        uint8_t c = word.data[i];
        if ((c >= 'a' && c <= 'z' ? c - 32 : c) != (uint8_t)keyword[i])
            return false;
    }
    return true;
}

static bool accept_word(parser *p, const char *keyword)
{
    tl_bytes_view word = peek_word(p);
    if (!word_is(word, keyword))
        return false;
    p->pos += word.len;
    return true;
}

static tl_status expect_word(parser *p, const char *keyword)
{
    if (accept_word(p, keyword))
        return TL_OK;
    char reason[48];
    snprintf(reason, sizeof reason, "'%s' expected", keyword);
    return fail(p, reason);
}

static tl_status parse_int(parser *p, int32_t *out)
{
    tl_bytes_view word = peek_word(p);
    int64_t v = 0;
    if (word.len == 0 || word.len > 10)
        return fail(p, "integer expected");
    for (size_t i = 0; i < word.len; i++) {
        if (!is_digit(word.data[i]))
            return fail(p, "integer expected");
        v = v * 10 + (word.data[i] - '0');
    }
    if (v > INT32_MAX)
        return fail(p, "integer too large");
    p->pos += word.len;
    *out = (int32_t)v;
    return TL_OK;
}

/* Text between quotes, doubled quotes inside; appended to `buf`. */
static tl_status parse_quoted(parser *p, char quote, tl_buf *buf)
{
    TL_TRY(expect_char(p, quote));
    while (p->pos < p->text.len) {
        uint8_t c = p->text.data[p->pos++];
        if (c == (uint8_t)quote) {
            if (p->pos >= p->text.len || p->text.data[p->pos] != (uint8_t)quote)
                return TL_OK;
            p->pos++;
        }
        if (c == 0)
            return fail(p, "NUL in a name");
        if (tl_buf_append_byte(buf, c) != TL_OK)
            return tl_nomem(p->err, "type");
    }
    return fail(p, "quote without end");
}

static tl_status steal_text(parser *p, tl_buf *buf, char **out)
{
    return tl_buf_steal_str(buf, out) == TL_OK ? TL_OK : tl_nomem(p->err, "type");
}

static tl_status parse_name(parser *p, char **out)
{
    skip_space(p);
    tl_buf buf = {0};
    tl_status status = TL_OK;
    if (p->pos < p->text.len && p->text.data[p->pos] == '`') {
        TL_TRY_GOTO(parse_quoted(p, '`', &buf));
    } else {
        tl_bytes_view word = peek_word(p);
        if (word.len == 0) {
            status = fail(p, "field name expected");
            goto out;
        }
        p->pos += word.len;
        if ((status = tl_buf_append(&buf, word.data, word.len)) != TL_OK)
            goto out;
    }
    status = steal_text(p, &buf, out);
out:
    tl_buf_deinit(&buf);
    return status;
}

/* `DEFAULT` is followed by free text up to the next `,` or `>` outside quotes and parentheses. */
static tl_status parse_default(parser *p, char **out)
{
    skip_space(p);
    size_t start = p->pos;
    int open = 0;
    bool quoted = false;
    for (; p->pos < p->text.len; p->pos++) {
        uint8_t c = p->text.data[p->pos];
        if (c == '\'')
            quoted = !quoted;
        else if (!quoted && c == '(')
            open++;
        else if (!quoted && c == ')' && open > 0)
            open--;
        else if (!quoted && open == 0 && (c == ',' || c == '>' || c == ')'))
            break;
    }
    size_t end = p->pos;
    while (end > start && is_space(p->text.data[end - 1]))
        end--;
    *out = tl_strndup((const char *)p->text.data + start, end - start);
    return *out == NULL ? tl_nomem(p->err, "type") : TL_OK;
}

static tl_status parse_field(parser *p, tl_field *field)
{
    field->id = -1;
    TL_TRY(parse_name(p, &field->name));
    TL_TRY(parse_type(p, &field->type));
    bool comment = accept_word(p, "COMMENT");
    skip_space(p);
    if (comment || (p->pos < p->text.len && p->text.data[p->pos] == '\'')) {
        tl_buf buf = {0};
        tl_status status = parse_quoted(p, '\'', &buf);
        if (status == TL_OK)
            status = steal_text(p, &buf, &field->description);
        tl_buf_deinit(&buf);
        TL_TRY(status);
    }
    if (accept_word(p, "DEFAULT"))
        TL_TRY(parse_default(p, &field->default_value));
    return TL_OK;
}

/* ROW<a INT, b STRING>, also with parentheses. */
static tl_status parse_row(parser *p, const tl_type **out)
{
    tl_buf buf = {0};
    int32_t n = 0;
    tl_status status = TL_OK;
    char close = accept_char(p, '(') ? ')' : '>';
    if (close == '>')
        TL_TRY(expect_char(p, '<'));
    if (!accept_char(p, close)) {
        do {
            tl_field field = {0};
            status = parse_field(p, &field);
            if (status == TL_OK && tl_buf_append(&buf, &field, sizeof field) != TL_OK)
                status = tl_nomem(p->err, "type");
            if (status != TL_OK) {
                tl_free(field.name);
                tl_type_unref(field.type);
                tl_free(field.description);
                tl_free(field.default_value);
                goto out;
            }
            n++;
        } while (n <= TL_TYPE_FIELDS_MAX && accept_char(p, ','));
        TL_TRY_GOTO(expect_char(p, close));
    }
    status = tl_type_create_row(true, (tl_field *)(void *)buf.data, n, out, p->err);
out:
    tl_type__fields_free((tl_field *)(void *)buf.data, n);
    return status;
}

static tl_status parse_collection(parser *p, tl_type_kind kind, const tl_type **out)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *first = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *second = NULL;
    TL_TRY(expect_char(p, '<'));
    TL_TRY(parse_type(p, &first));
    if (kind == TL_MAP) {
        TL_TRY(expect_char(p, ','));
        TL_TRY(parse_type(p, &second));
    }
    TL_TRY(expect_char(p, '>'));
    if (kind == TL_MAP)
        return tl_type_create_map(true, first, second, out, p->err);
    return kind == TL_ARRAY ? tl_type_create_array(true, first, out, p->err)
                            : tl_type_create_multiset(true, first, out, p->err);
}

/* VECTOR<element, length> */
static tl_status parse_vector(parser *p, const tl_type **out)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *element = NULL;
    int32_t length = 0;
    TL_TRY(expect_char(p, '<'));
    TL_TRY(parse_type(p, &element));
    TL_TRY(expect_char(p, ','));
    TL_TRY(parse_int(p, &length));
    TL_TRY(expect_char(p, '>'));
    return tl_error_wrap(p->err, tl_type_create_vector(true, length, element, out, p->err), "type '%.*s'", (int)TL_MIN(p->text.len, 200),
                         (const char *)p->text.data);
}

typedef struct keyword {
    const char *name;
    tl_type_kind kind;
    int32_t a; /* default length or precision */
    int n_params;
} keyword;

static const keyword KEYWORDS[] = {
    {"BOOLEAN", TL_BOOLEAN, 0, 0},
    {"TINYINT", TL_TINYINT, 0, 0},
    {"SMALLINT", TL_SMALLINT, 0, 0},
    {"INT", TL_INT, 0, 0},
    {"INTEGER", TL_INT, 0, 0},
    {"BIGINT", TL_BIGINT, 0, 0},
    {"FLOAT", TL_FLOAT, 0, 0},
    {"DOUBLE", TL_DOUBLE, 0, 0},
    {"DECIMAL", TL_DECIMAL, 10, 2},
    {"NUMERIC", TL_DECIMAL, 10, 2},
    {"DEC", TL_DECIMAL, 10, 2},
    {"CHAR", TL_CHAR, 1, 1},
    {"VARCHAR", TL_VARCHAR, 1, 1},
    {"STRING", TL_VARCHAR, TL_LENGTH_MAX, 0},
    {"BINARY", TL_BINARY, 1, 1},
    {"VARBINARY", TL_VARBINARY, 1, 1},
    {"BYTES", TL_VARBINARY, TL_LENGTH_MAX, 0},
    {"DATE", TL_DATE, 0, 0},
    {"TIME", TL_TIME, 0, 1},
    {"TIMESTAMP", TL_TIMESTAMP, 6, 1},
    {"TIMESTAMP_LTZ", TL_TIMESTAMP_LTZ, 6, 1},
    {"VARIANT", TL_VARIANT, 0, 0},
    {"BLOB", TL_BLOB, 0, 0},
    {"ARRAY", TL_ARRAY, 0, 0},
    {"MAP", TL_MAP, 0, 0},
    {"MULTISET", TL_MULTISET, 0, 0},
    {"ROW", TL_ROW, 0, 0},
    {"VECTOR", TL_VECTOR, 0, 0},
};

/* What may follow TIME and TIMESTAMP: WITHOUT TIME ZONE, WITH LOCAL TIME ZONE. */
static tl_status parse_zone(parser *p, tl_type_kind *kind)
{
    if (accept_word(p, "WITHOUT")) {
        TL_TRY(expect_word(p, "TIME"));
        return expect_word(p, "ZONE");
    }
    if (*kind == TL_TIMESTAMP && accept_word(p, "WITH")) {
        TL_TRY(expect_word(p, "LOCAL"));
        TL_TRY(expect_word(p, "TIME"));
        TL_TRY(expect_word(p, "ZONE"));
        *kind = TL_TIMESTAMP_LTZ;
    }
    return TL_OK;
}

static tl_status parse_scalar(parser *p, const keyword *k, const tl_type **out)
{
    tl_type_kind kind = k->kind;
    int32_t a = k->a, b = 0;
    if (k->n_params > 0 && accept_char(p, '(')) {
        TL_TRY(parse_int(p, &a));
        if (k->n_params > 1 && accept_char(p, ','))
            TL_TRY(parse_int(p, &b));
        TL_TRY(expect_char(p, ')'));
    }
    if (kind == TL_DOUBLE)
        (void)accept_word(p, "PRECISION");
    if (kind == TL_TIME || kind == TL_TIMESTAMP)
        TL_TRY(parse_zone(p, &kind));
    return tl_error_wrap(p->err, tl_type_create(kind, true, a, b, out, p->err), "type '%.*s'", (int)TL_MIN(p->text.len, 200),
                         (const char *)p->text.data);
}

static tl_status parse_by_keyword(parser *p, const tl_type **out)
{
    tl_bytes_view word = peek_word(p);
    for (size_t i = 0; i < TL_ARRAY_LEN(KEYWORDS); i++) {
        const keyword *k = &KEYWORDS[i];
        if (!word_is(word, k->name))
            continue;
        p->pos += word.len;
        if (k->kind == TL_ROW)
            return parse_row(p, out);
        if (k->kind == TL_VECTOR)
            return parse_vector(p, out);
        if (k->kind == TL_ARRAY || k->kind == TL_MAP || k->kind == TL_MULTISET)
            return parse_collection(p, k->kind, out);
        return parse_scalar(p, k, out);
    }
    return fail(p, word.len == 0 ? "type expected" : "unknown type");
}

static tl_status parse_nullability(parser *p, const tl_type **type)
{
    bool nullable = true;
    if (accept_word(p, "NOT")) {
        TL_TRY(expect_word(p, "NULL"));
        nullable = false;
    } else {
        (void)accept_word(p, "NULL");
    }
    const tl_type *changed = NULL;
    TL_TRY(tl_type_with_nullable(*type, nullable, &changed, p->err));
    tl_type_unref(*type);
    *type = changed;
    return TL_OK;
}

static tl_status parse_type(parser *p, const tl_type **out)
{
    if (p->depth >= TL_TYPE_DEPTH_MAX)
        return tl_error_set(p->err, TL_E_LIMIT, "type nested deeper than %d levels", TL_TYPE_DEPTH_MAX);
    p->depth++;
    TL_CLEANUP(tl_type_unrefp) const tl_type *type = NULL;
    TL_TRY(parse_by_keyword(p, &type));
    TL_TRY(parse_nullability(p, &type));
    for (;;) { /* the suffix forms `INT ARRAY` and `INT MULTISET` */
        const tl_type *outer = NULL;
        if (accept_word(p, "ARRAY"))
            TL_TRY(tl_type_create_array(true, type, &outer, p->err));
        else if (accept_word(p, "MULTISET"))
            TL_TRY(tl_type_create_multiset(true, type, &outer, p->err));
        else
            break;
        tl_type_unref(type);
        type = outer;
        TL_TRY(parse_nullability(p, &type));
    }
    p->depth--;
    *out = TL_STEAL(type);
    return TL_OK;
}

tl_status tl_type_parse(tl_bytes_view text, const tl_type **out, tl_error *err)
{
    parser p = {text, 0, 0, err};
    TL_CLEANUP(tl_type_unrefp) const tl_type *type = NULL;
    TL_TRY(parse_type(&p, &type));
    skip_space(&p);
    if (p.pos != text.len)
        return fail(&p, "unexpected text after the type");
    *out = TL_STEAL(type);
    return TL_OK;
}
