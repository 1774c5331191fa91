/* Lines of a text. Java: StandardLineReader, CustomLineReader. */
#include "format/lines/lines_private.h"
#include "types/utf8.h"

void tl_lines__cursor_init(tl_lines_cursor *cursor, tl_bytes_view text, const char *delimiter)
{
    bool standard = strcmp(delimiter, "\n") == 0 || strcmp(delimiter, "\r\n") == 0 || strcmp(delimiter, "\r") == 0;
    static const uint8_t mark[3] = {0xef, 0xbb, 0xbf};
    *cursor = (tl_lines_cursor){.text = text, .delimiter = standard ? NULL : delimiter};
    if (standard && text.len >= sizeof mark && memcmp(text.data, mark, sizeof mark) == 0)
        cursor->at = sizeof mark;
}

/* Bytes of the well-formed sequence at `p`; what is malformed counts negative, as far as it could have been a beginning. */
static int sequence(const uint8_t *p, size_t left)
{
    uint8_t c = p[0];
    int want = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : (c & 0xf0) == 0xe0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
    for (int n = 1; n < want; n++) {
        uint8_t low = 0x80, high = 0xbf; /* of the second byte: no overlong forms, nothing above U+10FFFF */
        if (n == 1 && (c == 0xe0 || c == 0xf0))
            low = c == 0xe0 ? 0xa0 : 0x90;
        if (n == 1 && c == 0xf4)
            high = 0x8f;
        if ((size_t)n >= left || p[n] < low || p[n] > high)
            return -n;
    }
    bool surrogate = c == 0xed && p[1] >= 0xa0;
    return want == 0 ? -1 : surrogate ? -3 : want;
}

static tl_status repair(tl_buf *out, tl_bytes_view line)
{
    out->len = 0;
    for (size_t i = 0; i < line.len;) {
        int n = sequence(line.data + i, line.len - i);
        if (n > 0)
            TL_TRY(tl_buf_append(out, line.data + i, (size_t)n));
        else
            TL_TRY(tl_buf_append(out, "\xef\xbf\xbd", 3));
        i += (size_t)(n > 0 ? n : -n);
    }
    return TL_OK;
}

/* Up to a line end of any kind; a text that ends with one has no empty line behind it. */
static tl_bytes_view standard_line(tl_lines_cursor *c)
{
    size_t from = c->at, to = from;
    while (to < c->text.len && c->text.data[to] != '\n' && c->text.data[to] != '\r')
        to++;
    c->at = to;
    if (c->at < c->text.len && c->text.data[c->at] == '\r')
        c->at++;
    if (c->at < c->text.len && c->text.data[c->at] == '\n')
        c->at++;
    return (tl_bytes_view){c->text.data + from, to - from};
}

/* As there, a delimiter that begins within a failed match is only seen if its first byte ended the match. */
static tl_bytes_view custom_line(tl_lines_cursor *c)
{
    size_t from = c->at, i = from, n = strlen(c->delimiter), matched = 0;
    const uint8_t *delimiter = (const uint8_t *)c->delimiter;
    for (; i < c->text.len && matched < n; i++) {
        if (c->text.data[i] == delimiter[matched])
            matched++;
        else if (matched > 0)
            matched = c->text.data[i] == delimiter[0];
    }
    c->at = i;
    return (tl_bytes_view){c->text.data + from, i - from - (matched == n ? n : 0)};
}

tl_status tl_lines__next(tl_lines_cursor *cursor, tl_bytes_view *line, bool *more, tl_error *err)
{
    *more = cursor->at < cursor->text.len;
    if (!*more)
        return TL_OK;
    *line = cursor->delimiter == NULL ? standard_line(cursor) : custom_line(cursor);
    cursor->number++;
    if (tl_utf8_is_ascii(*line) || tl_utf8_valid(*line))
        return TL_OK;
    if (repair(&cursor->repaired, *line) != TL_OK)
        return tl_nomem(err, "line");
    *line = (tl_bytes_view){cursor->repaired.data, cursor->repaired.len};
    return TL_OK;
}
