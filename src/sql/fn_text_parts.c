/* Functions of text: splitting, addresses, encodings, what a text consists of. */
#include <stdlib.h>
#include <strings.h>
#include <unictype.h>

#include "base/utf8.h"
#include "sql/bind.h"
#include "sql/text_kernel.h"
#include "sql/text_util.h"
#include "types/number.h"
#include "types/text.h"

/* ---- SPLIT_INDEX ---- */

/** Part number `index` (from 0) of the text; false if there are fewer. An empty text has no parts. */
static bool split_part(tl_bytes_view v, tl_bytes_view separator, int64_t index, tl_bytes_view *out)
{
    if (v.len == 0 || index < 0)
        return false;
    const tl_bytes_view blank = {(const uint8_t *)" ", 1};
    if (separator.len == 0) /* the reference's splitter takes white space then */
        separator = blank;
    size_t from = 0;
    for (;;) {
        size_t to = tl_text__find(v, separator, from);
        bool last = to == SIZE_MAX;
        if (index-- == 0) {
            *out = (tl_bytes_view){v.data + from, (last ? v.len : to) - from};
            return true;
        }
        if (last)
            return false;
        from = to + separator.len;
    }
}

static tl_status split_index_row(tl_kernel *k, int64_t i, bool *is_null)
{
    tl_bytes_view part, separator;
    uint8_t character; /* a number is a character's */
    if (k->args[1].col->phys == TL_PHYS_BYTES) {
        separator = arg(k, 1, i);
    } else {
        int32_t code = TL_VEC(&k->args[1], int32_t, i);
        *is_null = code < 0 || code > 127;
        if (*is_null)
            return TL_OK;
        character = (uint8_t)code;
        separator = (tl_bytes_view){&character, 1};
    }
    *is_null = !split_part(arg(k, 0, i), separator, TL_VEC(&k->args[2], int32_t, i), &part);
    if (!*is_null)
        APPEND(k, part.data, part.len);
    return TL_OK;
}

static tl_status split_index_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, split_index_row);
}

/* ---- PARSE_URL ---- */

typedef struct url {
    tl_bytes_view protocol, authority, user, host, path, query, ref, file;
    bool has_query, has_ref, has_user, has_host;
} url;

static size_t find_byte(tl_bytes_view v, char c)
{
    const uint8_t *p = v.len > 0 ? memchr(v.data, c, v.len) : NULL;
    return p == NULL ? SIZE_MAX : (size_t)(p - v.data);
}

static tl_bytes_view head(tl_bytes_view v, size_t n)
{
    return (tl_bytes_view){v.data, n};
}

static tl_bytes_view tail(tl_bytes_view v, size_t from)
{
    return (tl_bytes_view){v.data + from, v.len - from};
}

static bool known_protocol(tl_bytes_view v)
{
    static const char *const names[] = {"http", "https", "ftp", "file", "jar", "mailto"};
    for (size_t i = 0; i < TL_ARRAY_LEN(names); i++)
        if (v.len == strlen(names[i]) && strncasecmp(names[i], (const char *)v.data, v.len) == 0)
            return true;
    return false;
}

/** As java.net.URL takes it apart; false if it refuses. */
static bool parse_url(tl_bytes_view v, url *u)
{
    *u = (url){0};
    size_t colon = find_byte(v, ':');
    if (colon == SIZE_MAX || !known_protocol(head(v, colon)))
        return false;
    u->protocol = head(v, colon);
    tl_bytes_view rest = tail(v, colon + 1);
    size_t hash = find_byte(rest, '#');
    if (hash != SIZE_MAX) {
        u->ref = tail(rest, hash + 1);
        u->has_ref = true;
        rest = head(rest, hash);
    }
    if (rest.len >= 2 && rest.data[0] == '/' && rest.data[1] == '/') {
        rest = tail(rest, 2);
        size_t end = 0;
        while (end < rest.len && rest.data[end] != '/' && rest.data[end] != '?')
            end++;
        u->authority = u->host = head(rest, end);
        u->has_host = true;
        rest = tail(rest, end);
        size_t at = find_byte(u->host, '@');
        if (at != SIZE_MAX) {
            u->user = head(u->host, at);
            u->has_user = true;
            u->host = tail(u->host, at + 1);
        }
        size_t port = find_byte(u->host, ':');
        if (port != SIZE_MAX)
            u->host = head(u->host, port);
    }
    u->file = rest;
    size_t question = find_byte(rest, '?');
    u->path = question == SIZE_MAX ? rest : head(rest, question);
    u->has_query = question != SIZE_MAX;
    if (u->has_query)
        u->query = tail(rest, question + 1);
    return true;
}

static bool url_part(const url *u, tl_bytes_view part, tl_bytes_view *out)
{
    const struct {
        const char *name;
        tl_bytes_view value;
        bool there;
    } parts[] = {{"HOST", u->host, u->has_host},       {"PATH", u->path, true},   {"QUERY", u->query, u->has_query},         {"REF", u->ref, u->has_ref},
                 {"PROTOCOL", u->protocol, true},      {"FILE", u->file, true},   {"AUTHORITY", u->authority, u->has_host}, {"USERINFO", u->user, u->has_user}};
    for (size_t i = 0; i < TL_ARRAY_LEN(parts); i++) {
        if (part.len == strlen(parts[i].name) && memcmp(part.data, parts[i].name, part.len) == 0) {
            *out = parts[i].value;
            return parts[i].there;
        }
    }
    return false;
}

/** Value of a key in a=1&b=2. */
static bool query_value(tl_bytes_view query, tl_bytes_view key, tl_bytes_view *out)
{
    while (query.len > 0) {
        size_t end = find_byte(query, '&');
        tl_bytes_view pair = end == SIZE_MAX ? query : head(query, end);
        if (pair.len > key.len && pair.data[key.len] == '=' && (key.len == 0 || memcmp(pair.data, key.data, key.len) == 0)) {
            *out = tail(pair, key.len + 1);
            return true;
        }
        if (end == SIZE_MAX)
            break;
        query = tail(query, end + 1);
    }
    return false;
}

static tl_status parse_url_row(tl_kernel *k, int64_t i, bool *is_null)
{
    url u;
    tl_bytes_view part;
    *is_null = !parse_url(arg(k, 0, i), &u) || !url_part(&u, arg(k, 1, i), &part);
    if (!*is_null && k->n_args > 2) {
        tl_bytes_view name = arg(k, 1, i);
        *is_null = name.len != 5 || memcmp(name.data, "QUERY", 5) != 0 || !query_value(part, arg(k, 2, i), &part);
    }
    if (!*is_null)
        APPEND(k, part.data, part.len);
    return TL_OK;
}

static tl_status parse_url_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, parse_url_row);
}

/* ---- base 64, hexadecimal, percent ---- */

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static tl_status to_base64_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    return tl_text_append_base64(&k->text, tl_vec_bytes(&k->args[0], i)) == TL_OK ? TL_OK : tl_nomem(k->err, "text");
}

static tl_status to_base64_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, to_base64_row);
}

static tl_status from_base64_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    tl_bytes_view v = arg(k, 0, i);
    while (v.len > 0 && v.data[v.len - 1] == '=')
        v.len--;
    uint32_t bits = 0;
    int n = 0;
    for (size_t p = 0; p < v.len; p++) {
        const char *digit = v.data[p] != 0 ? strchr(base64_digits, v.data[p]) : NULL;
        if (digit == NULL)
            return tl_error_set(k->err, TL_E_INVALID, "Illegal base64 character %x", v.data[p]);
        bits = bits << 6 | (uint32_t)(digit - base64_digits);
        n += 6;
        if (n >= 8) {
            n -= 8;
            uint8_t byte = (uint8_t)(bits >> n);
            APPEND(k, &byte, 1);
        }
    }
    return TL_OK;
}

static tl_status from_base64_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, from_base64_row);
}

static tl_status hex_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    tl_bytes_view v = arg(k, 0, i);
    for (size_t p = 0; p < v.len; p++) {
        char out[2] = {"0123456789ABCDEF"[v.data[p] >> 4], "0123456789ABCDEF"[v.data[p] & 15]};
        APPEND(k, out, 2);
    }
    return TL_OK;
}

static tl_status hex_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, hex_row);
}

static int hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static tl_status unhex_row(tl_kernel *k, int64_t i, bool *is_null)
{
    tl_bytes_view v = arg(k, 0, i);
    size_t p = 0;
    if (v.len % 2 != 0) { /* a missing first digit is 0 */
        int low = hex_digit(v.data[0]);
        uint8_t byte = (uint8_t)low;
        *is_null = low < 0;
        if (low >= 0)
            APPEND(k, &byte, 1);
        p = 1;
    }
    for (; p < v.len && !*is_null; p += 2) {
        int high = hex_digit(v.data[p]), low = hex_digit(v.data[p + 1]);
        uint8_t byte = (uint8_t)(high << 4 | low);
        *is_null = high < 0 || low < 0;
        if (!*is_null)
            APPEND(k, &byte, 1);
    }
    return TL_OK;
}

static tl_status unhex_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, unhex_row);
}

static tl_status url_encode_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    tl_bytes_view v = arg(k, 0, i);
    for (size_t p = 0; p < v.len; p++) {
        uint8_t c = v.data[p];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '*' || c == '_';
        char out[3] = {'%', "0123456789ABCDEF"[c >> 4], "0123456789ABCDEF"[c & 15]};
        if (plain || c == ' ')
            APPEND(k, plain ? (const char *)&v.data[p] : "+", 1);
        else
            APPEND(k, out, 3);
    }
    return TL_OK;
}

static tl_status url_encode_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, url_encode_row);
}

static tl_status url_decode_row(tl_kernel *k, int64_t i, bool *is_null)
{
    tl_bytes_view v = arg(k, 0, i);
    TL_CLEANUP(tl_buf_deinit) tl_buf bytes = {0};
    for (size_t p = 0; p < v.len; p++) {
        uint8_t c = v.data[p];
        if (c == '%') {
            int high = p + 2 < v.len ? hex_digit(v.data[p + 1]) : -1, low = p + 2 < v.len ? hex_digit(v.data[p + 2]) : -1;
            if (high < 0 || low < 0) {
                *is_null = true;
                return TL_OK;
            }
            c = (uint8_t)(high << 4 | low);
            p += 2;
        } else if (c == '+') {
            c = ' ';
        }
        if (tl_buf_append_byte(&bytes, c) != TL_OK)
            return nomem(k);
    }
    return tl_utf8_append(&k->text, (tl_bytes_view){bytes.data, bytes.len}) == TL_OK ? TL_OK : nomem(k);
}

static tl_status url_decode_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, url_decode_row);
}

/* ---- ENCODE, DECODE ---- */

typedef enum charset { CHARSET_UTF8, CHARSET_LATIN1, CHARSET_ASCII, CHARSET_UTF16BE, CHARSET_UTF16LE, CHARSET_UTF16, CHARSET_UNKNOWN } charset;

static charset charset_of(tl_bytes_view name)
{
    static const struct {
        const char *name;
        charset charset;
    } names[] = {{"UTF-8", CHARSET_UTF8}, {"UTF8", CHARSET_UTF8}, {"ISO-8859-1", CHARSET_LATIN1}, {"US-ASCII", CHARSET_ASCII}, {"ASCII", CHARSET_ASCII},
                 {"UTF-16BE", CHARSET_UTF16BE}, {"UTF-16LE", CHARSET_UTF16LE}, {"UTF-16", CHARSET_UTF16}};
    for (size_t i = 0; i < TL_ARRAY_LEN(names); i++)
        if (name.len == strlen(names[i].name) && strncasecmp(names[i].name, (const char *)name.data, name.len) == 0)
            return names[i].charset;
    return CHARSET_UNKNOWN;
}

static tl_status encode_utf16(tl_kernel *k, tl_bytes_view v, charset set)
{
    uint16_t *units;
    size_t n;
    if (tl_text__to_utf16(v, &units, &n) != TL_OK)
        return nomem(k);
    tl_status status = set == CHARSET_UTF16 && n > 0 ? tl_buf_append(&k->text, "\xFE\xFF", 2) : TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        uint8_t out[2] = {(uint8_t)(units[i] >> 8), (uint8_t)units[i]};
        uint8_t swapped[2] = {out[1], out[0]};
        status = tl_buf_append(&k->text, set == CHARSET_UTF16LE ? swapped : out, 2);
    }
    tl_free(units);
    return status == TL_OK ? TL_OK : nomem(k);
}

static tl_status unknown_charset(tl_kernel *k, tl_bytes_view name)
{
    return tl_error_set(k->err, TL_E_INVALID, "Unsupported encoding: %.*s", (int)TL_MIN(name.len, 100), (const char *)name.data);
}

static tl_status encode_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    tl_bytes_view v = arg(k, 0, i);
    charset set = charset_of(arg(k, 1, i));
    if (set == CHARSET_UNKNOWN)
        return unknown_charset(k, arg(k, 1, i));
    if (set >= CHARSET_UTF16BE)
        return encode_utf16(k, v, set);
    if (set == CHARSET_UTF8) {
        APPEND(k, v.data, v.len);
        return TL_OK;
    }
    const uint8_t *p = v.data, *end = v.data + v.len;
    while (p < end) {
        uint32_t c = tl_text__char(p, end);
        uint8_t out = c < (set == CHARSET_ASCII ? 0x80u : 0x100u) ? (uint8_t)c : '?';
        APPEND(k, &out, 1);
        p += tl_text__char_bytes(p, end);
    }
    return TL_OK;
}

static tl_status encode_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, encode_row);
}

static tl_status decode_utf16(tl_kernel *k, tl_bytes_view v, charset set)
{
    bool little = set == CHARSET_UTF16LE;
    if (set == CHARSET_UTF16 && v.len >= 2 && (v.data[0] ^ v.data[1]) == 1) { /* FE FF or FF FE */
        little = v.data[0] == 0xFF;
        v = tail(v, 2);
    }
    size_t n = v.len / 2;
    uint16_t *units = tl_alloc((n + 1) * sizeof *units);
    if (units == NULL)
        return nomem(k);
    for (size_t i = 0; i < n; i++)
        units[i] = (uint16_t)(little ? v.data[2 * i] | v.data[2 * i + 1] << 8 : v.data[2 * i] << 8 | v.data[2 * i + 1]);
    tl_status status = tl_text__append_utf16(&k->text, units, n);
    tl_free(units);
    return status == TL_OK ? TL_OK : nomem(k);
}

static tl_status decode_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    tl_bytes_view v = arg(k, 0, i);
    charset set = charset_of(arg(k, 1, i));
    if (set == CHARSET_UNKNOWN)
        return unknown_charset(k, arg(k, 1, i));
    if (set >= CHARSET_UTF16BE)
        return decode_utf16(k, v, set);
    if (set == CHARSET_UTF8)
        return tl_utf8_append(&k->text, v) == TL_OK ? TL_OK : nomem(k);
    for (size_t p = 0; p < v.len; p++)
        if (tl_text__append_char(&k->text, set == CHARSET_ASCII && v.data[p] >= 0x80 ? 0xFFFD : v.data[p]) != TL_OK)
            return nomem(k);
    return TL_OK;
}

static tl_status decode_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, decode_row);
}

/* ---- what a text is ---- */

static bool all_letters(tl_bytes_view v, bool digits)
{
    const uint8_t *p = v.data, *end = v.data + v.len;
    if (v.len == 0)
        return false;
    while (p < end) {
        uint32_t c = tl_text__char(p, end);
        if (digits ? !uc_is_property_decimal_digit(c) : !uc_is_general_category(c, UC_LETTER))
            return false;
        p += tl_text__char_bytes(p, end);
    }
    return true;
}

/** IS_ALPHA, IS_DIGIT, IS_DECIMAL: FALSE for NULL. */
static tl_status is_kind_kernel(tl_kernel *k)
{
    const char *name = k->fn->name;
    for (int64_t i = 0; i < k->n; i++) {
        bool result = false;
        if (!tl_vec_is_null(&k->args[0], i)) {
            tl_bytes_view v = arg(k, 0, i);
            double d;
            result = strcmp(name, "IS_DECIMAL") == 0 ? tl_text__parse_double(v, &d) : all_letters(v, strcmp(name, "IS_DIGIT") == 0);
        }
        TL_OUT(k, uint8_t)[i] = result;
    }
    return TL_OK;
}

const tl_sql_function tl_fn_text_parts[] = {
    {.name = "SPLIT_INDEX", .args = "SII", .result = "S?", .kernel = split_index_kernel, .flags = TL_FN_SLOW},
    {.name = "SPLIT_INDEX", .args = "SSI", .result = "S?", .kernel = split_index_kernel, .flags = TL_FN_SLOW},
    {.name = "PARSE_URL", .args = "SS?S", .result = "S?", .kernel = parse_url_kernel, .flags = TL_FN_SLOW},
    {.name = "TO_BASE64", .args = "S", .result = "S", .kernel = to_base64_kernel, .flags = TL_FN_SLOW},
    {.name = "TO_BASE64", .args = "Y", .result = "S", .kernel = to_base64_kernel, .flags = TL_FN_SLOW},
    {.name = "FROM_BASE64", .args = "S", .result = "S", .kernel = from_base64_kernel, .flags = TL_FN_SLOW | TL_FN_CAN_FAIL},
    {.name = "HEX", .args = "S", .result = "S", .kernel = hex_kernel, .flags = TL_FN_SLOW},
    {.name = "UNHEX", .args = "S", .result = "Y?", .kernel = unhex_kernel, .flags = TL_FN_SLOW},
    {.name = "URL_ENCODE", .args = "S", .result = "S", .kernel = url_encode_kernel, .flags = TL_FN_SLOW},
    {.name = "URL_DECODE", .args = "S", .result = "S?", .kernel = url_decode_kernel, .flags = TL_FN_SLOW},
    {.name = "ENCODE", .args = "SS", .result = "Y?", .kernel = encode_kernel, .flags = TL_FN_SLOW | TL_FN_CAN_FAIL},
    {.name = "DECODE", .args = "YS", .result = "S?", .kernel = decode_kernel, .flags = TL_FN_SLOW | TL_FN_CAN_FAIL},
    {.name = "IS_ALPHA", .args = "S", .result = "B!", .kernel = is_kind_kernel, .flags = TL_FN_NULLS},
    {.name = "IS_DIGIT", .args = "S", .result = "B!", .kernel = is_kind_kernel, .flags = TL_FN_NULLS},
    {.name = "IS_DECIMAL", .args = "S", .result = "B!", .kernel = is_kind_kernel, .flags = TL_FN_NULLS},
    {.name = NULL},
};
