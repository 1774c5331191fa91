/* JSON reader: recursive descent over the text, nodes in an arena. RFC 8259, strict. */
#include "base/json.h"
#include "base/utf8.h"

#include <stdlib.h>

typedef struct parser {
    tl_arena *arena;
    const uint8_t *start;
    const uint8_t *p;
    const uint8_t *end;
    tl_error *err;
    int depth;
    bool takes_controls; /* control characters in strings */
} parser;

static tl_status fail(parser *ps, const char *what)
{
    return tl_error_set(ps->err, TL_E_CORRUPT, "JSON: %s at byte %zu", what, (size_t)(ps->p - ps->start));
}

static void skip_space(parser *ps)
{
    while (ps->p < ps->end && (*ps->p == ' ' || *ps->p == '\n' || *ps->p == '\t' || *ps->p == '\r'))
        ps->p++;
}

static int hex4(const uint8_t *p, const uint8_t *end)
{
    if (end - p < 4)
        return -1;
    int v = 0;
    for (int i = 0; i < 4; i++) {
        int c = p[i];
        int d = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

static uint8_t *put_utf8(uint8_t *out, uint32_t cp)
{
    if (cp < 0x80) {
        *out++ = (uint8_t)cp;
    } else if (cp < 0x800) {
        *out++ = (uint8_t)(0xc0 | cp >> 6);
        *out++ = (uint8_t)(0x80 | (cp & 0x3f));
    } else if (cp < 0x10000) {
        *out++ = (uint8_t)(0xe0 | cp >> 12);
        *out++ = (uint8_t)(0x80 | (cp >> 6 & 0x3f));
        *out++ = (uint8_t)(0x80 | (cp & 0x3f));
    } else {
        *out++ = (uint8_t)(0xf0 | cp >> 18);
        *out++ = (uint8_t)(0x80 | (cp >> 12 & 0x3f));
        *out++ = (uint8_t)(0x80 | (cp >> 6 & 0x3f));
        *out++ = (uint8_t)(0x80 | (cp & 0x3f));
    }
    return out;
}

/* One \uXXXX escape (and its low half); a half without its other one becomes '?', as Java's UTF-8 encoder writes it. */
static tl_status unescape_unicode(parser *ps, uint8_t **out)
{
    int unit = hex4(ps->p, ps->end);
    if (unit < 0)
        return fail(ps, "bad \\u escape");
    ps->p += 4;
    uint32_t cp = (uint32_t)unit;
    if (cp >= 0xd800 && cp < 0xdc00) {
        int low = ps->end - ps->p >= 6 && ps->p[0] == '\\' && ps->p[1] == 'u' ? hex4(ps->p + 2, ps->end) : -1;
        if (low >= 0xdc00 && low < 0xe000) {
            cp = 0x10000 + ((cp - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
            ps->p += 6;
        } else {
            cp = '?';
        }
    } else if (cp >= 0xdc00 && cp < 0xe000) {
        cp = '?';
    }
    *out = put_utf8(*out, cp);
    return TL_OK;
}

/* After the opening quote; a string without escapes points into the input. */
static tl_status parse_string(parser *ps, tl_bytes_view *out)
{
    const uint8_t *from = ps->p;
    while (ps->p < ps->end && *ps->p != '"' && *ps->p != '\\' && (*ps->p >= 0x20 || ps->takes_controls))
        ps->p++;
    if (ps->p < ps->end && *ps->p == '"') {
        *out = (tl_bytes_view){from, (size_t)(ps->p++ - from)};
        return TL_OK;
    }
    const uint8_t *close = ps->p;
    while (close < ps->end && *close != '"')
        close += *close == '\\' && close + 1 < ps->end ? 2 : 1;
    if (close >= ps->end)
        return fail(ps, "string without end");
    uint8_t *text = tl_arena_alloc(ps->arena, (size_t)(close - from) + 1); /* escapes only shrink */
    if (text == NULL)
        return tl_nomem(ps->err, "JSON string");
    memcpy(text, from, (size_t)(ps->p - from));
    uint8_t *w = text + (ps->p - from);
    while (*ps->p != '"') {
        uint8_t c = *ps->p;
        if (c < 0x20 && !ps->takes_controls)
            return fail(ps, "control character in a string");
        ps->p++;
        if (c != '\\') {
            *w++ = c;
            continue;
        }
        if (ps->p >= ps->end)
            return fail(ps, "string without end");
        c = *ps->p++;
        static const char from_esc[] = "\"\\/bfnrt", to_esc[] = "\"\\/\b\f\n\r\t";
        const char *hit = c != 0 ? strchr(from_esc, c) : NULL;
        if (hit != NULL)
            *w++ = (uint8_t)to_esc[hit - from_esc];
        else if (c == 'u')
            TL_TRY(unescape_unicode(ps, &w));
        else
            return fail(ps, "bad escape");
        if (ps->p >= ps->end)
            return fail(ps, "string without end");
    }
    ps->p++;
    *out = (tl_bytes_view){text, (size_t)(w - text)};
    return TL_OK;
}

static bool digits(parser *ps)
{
    const uint8_t *from = ps->p;
    while (ps->p < ps->end && *ps->p >= '0' && *ps->p <= '9')
        ps->p++;
    return ps->p > from;
}

static tl_status parse_number(parser *ps, tl_json *node)
{
    const uint8_t *from = ps->p;
    if (ps->p < ps->end && *ps->p == '-')
        ps->p++;
    bool zero = ps->p < ps->end && *ps->p == '0';
    const uint8_t *int_from = ps->p;
    if (!digits(ps) || (zero && ps->p - int_from > 1))
        return fail(ps, "bad number");
    if (ps->p < ps->end && *ps->p == '.') {
        ps->p++;
        if (!digits(ps))
            return fail(ps, "bad number");
    }
    if (ps->p < ps->end && (*ps->p | 32) == 'e') {
        ps->p++;
        if (ps->p < ps->end && (*ps->p == '+' || *ps->p == '-'))
            ps->p++;
        if (!digits(ps))
            return fail(ps, "bad number");
    }
    node->kind = TL_JSON_NUMBER;
    node->text = (tl_bytes_view){from, (size_t)(ps->p - from)};
    return TL_OK;
}

static bool take_word(parser *ps, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(ps->end - ps->p) < len || memcmp(ps->p, word, len) != 0)
        return false;
    ps->p += len;
    return true;
}

static tl_status parse_value(parser *ps, tl_json **out);

static tl_status parse_members(parser *ps, tl_json *node, uint8_t close)
{
    if (++ps->depth > TL_JSON_DEPTH_MAX)
        return fail(ps, "nested deeper than 512 levels");
    tl_json **tail = &node->child;
    skip_space(ps);
    if (ps->p < ps->end && *ps->p == close) {
        ps->p++;
        ps->depth--;
        return TL_OK;
    }
    for (;;) {
        tl_bytes_view key = {NULL, 0};
        if (close == '}') {
            skip_space(ps);
            if (ps->p >= ps->end || *ps->p != '"')
                return fail(ps, "member name expected");
            ps->p++;
            TL_TRY(parse_string(ps, &key));
            skip_space(ps);
            if (ps->p >= ps->end || *ps->p != ':')
                return fail(ps, "':' expected");
            ps->p++;
        }
        tl_json *child;
        TL_TRY(parse_value(ps, &child));
        child->key = key;
        *tail = child;
        tail = &child->next;
        node->n_children++;
        skip_space(ps);
        if (ps->p < ps->end && *ps->p == close)
            break;
        if (ps->p >= ps->end || *ps->p != ',')
            return fail(ps, close == '}' ? "',' or '}' expected" : "',' or ']' expected");
        ps->p++;
    }
    ps->p++;
    ps->depth--;
    return TL_OK;
}

static tl_status parse_value(parser *ps, tl_json **out)
{
    tl_json *node = tl_arena_calloc(ps->arena, 1, sizeof *node);
    if (node == NULL)
        return tl_nomem(ps->err, "JSON value");
    skip_space(ps);
    if (ps->p >= ps->end)
        return fail(ps, "value expected");
    const uint8_t *from = ps->p;
    switch (*ps->p) {
    case '{':
    case '[':
        node->kind = *ps->p == '{' ? TL_JSON_OBJECT : TL_JSON_ARRAY;
        ps->p++;
        TL_TRY(parse_members(ps, node, node->kind == TL_JSON_OBJECT ? '}' : ']'));
        break;
    case '"':
        node->kind = TL_JSON_STRING;
        ps->p++;
        TL_TRY(parse_string(ps, &node->text));
        break;
    default:
        if (take_word(ps, "null"))
            node->kind = TL_JSON_NULL;
        else if (take_word(ps, "true"))
            node->kind = TL_JSON_TRUE;
        else if (take_word(ps, "false"))
            node->kind = TL_JSON_FALSE;
        else
            TL_TRY(parse_number(ps, node));
    }
    node->raw = (tl_bytes_view){from, (size_t)(ps->p - from)};
    *out = node;
    return TL_OK;
}

/* Text that is no UTF-8 is what Java reads it as: else names that differ would be printed alike. */
static tl_status as_utf8(tl_arena *arena, tl_bytes_view *text, tl_error *err)
{
    if (TL_LIKELY(tl_utf8_valid(*text)))
        return TL_OK;
    tl_buf valid = {0};
    tl_status status = tl_utf8_append(&valid, *text);
    void *copy = status == TL_OK ? tl_arena_alloc(arena, valid.len) : NULL;
    if (copy != NULL) {
        memcpy(copy, valid.data, valid.len);
        *text = (tl_bytes_view){copy, valid.len};
    }
    tl_buf_deinit(&valid);
    return copy == NULL ? tl_nomem(err, "JSON") : TL_OK;
}

tl_status tl_json_parse(tl_arena *arena, tl_bytes_view text, const tl_json **out, tl_error *err)
{
    TL_TRY(as_utf8(arena, &text, err));
    parser ps = {arena, text.data, text.data, text.data + text.len, err, 0, false};
    tl_json *node;
    TL_TRY(parse_value(&ps, &node));
    skip_space(&ps);
    if (ps.p != ps.end)
        return fail(&ps, "text after the value");
    *out = node;
    return TL_OK;
}

static tl_status parse_first(tl_arena *arena, tl_bytes_view text, bool takes_controls, const tl_json **out, tl_error *err)
{
    parser ps = {arena, text.data, text.data, text.data + text.len, err, 0, takes_controls};
    tl_json *node;
    TL_TRY(parse_value(&ps, &node));
    bool is_word = node->kind < TL_JSON_STRING;
    if (is_word && ps.p < ps.end && *ps.p != ' ' && *ps.p != '\t' && *ps.p != '\n' && *ps.p != '\r')
        return fail(&ps, "text directly behind a number or word");
    *out = node;
    return TL_OK;
}

tl_status tl_json_parse_first(tl_arena *arena, tl_bytes_view text, const tl_json **out, tl_error *err)
{
    return parse_first(arena, text, /* takes_controls= */ false, out, err);
}

tl_status tl_json_parse_record(tl_arena *arena, tl_bytes_view text, const tl_json **out, tl_error *err)
{
    return parse_first(arena, text, /* takes_controls= */ true, out, err);
}

const tl_json *tl_json_get(const tl_json *object, const char *name)
{
    if (object == NULL || object->kind != TL_JSON_OBJECT)
        return NULL;
    size_t len = strlen(name);
    const tl_json *found = NULL;
    for (const tl_json *child = object->child; child != NULL; child = child->next)
        if (child->key.len == len && memcmp(child->key.data, name, len) == 0)
            found = child;
    return found;
}

bool tl_json_is_null(const tl_json *node)
{
    return node == NULL || node->kind == TL_JSON_NULL;
}

bool tl_json_int64(const tl_json *node, int64_t *out)
{
    if (node == NULL || node->kind != TL_JSON_NUMBER)
        return false;
    const uint8_t *p = node->text.data, *end = p + node->text.len;
    bool negative = *p == '-';
    int64_t v = 0;
    for (p += negative; p < end; p++) {
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(v, 10, &v) ||
            (negative ? __builtin_sub_overflow(v, *p - '0', &v) : __builtin_add_overflow(v, *p - '0', &v)))
            return false;
    }
    *out = v;
    return true;
}

bool tl_json_bool(const tl_json *node, bool *out)
{
    if (node == NULL || (node->kind != TL_JSON_TRUE && node->kind != TL_JSON_FALSE))
        return false;
    *out = node->kind == TL_JSON_TRUE;
    return true;
}

bool tl_json_double(const tl_json *node, double *out)
{
    if (node == NULL || node->kind != TL_JSON_NUMBER)
        return false;
    /* strtod needs an end; numbers longer than the buffer keep their leading digits' value through the heap copy. */
    char small[64];
    char *text = node->text.len < sizeof small ? small : tl_alloc(node->text.len + 1);
    if (text == NULL)
        return false;
    memcpy(text, node->text.data, node->text.len);
    text[node->text.len] = '\0';
    *out = strtod(text, NULL);
    if (text != small)
        tl_free(text);
    return true;
}

bool tl_json_text_is(const tl_json *node, const char *text)
{
    return node != NULL && node->kind == TL_JSON_STRING && node->text.len == strlen(text) &&
           memcmp(node->text.data, text, node->text.len) == 0;
}

char *tl_json_strdup(tl_arena *arena, const tl_json *node)
{
    if (node == NULL || node->kind != TL_JSON_STRING)
        return NULL;
    return tl_arena_strndup(arena, (const char *)node->text.data, node->text.len);
}
