/* Lines of a text. Java: StandardLineReader, CustomLineReader. */
#include "format/lines/lines_private.h"
#include "base/utf8.h"

void tl_lines__cursor_init(tl_lines_cursor *cursor, tl_bytes_view text, const char *delimiter)
{
    bool standard = strcmp(delimiter, "\n") == 0 || strcmp(delimiter, "\r\n") == 0 || strcmp(delimiter, "\r") == 0;
    static const uint8_t mark[3] = {0xef, 0xbb, 0xbf};
    *cursor = (tl_lines_cursor){.text = text, .delimiter = standard ? NULL : delimiter};
    if (standard && text.len >= sizeof mark && memcmp(text.data, mark, sizeof mark) == 0)
        cursor->at = sizeof mark;
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
    if (tl_utf8_valid(*line))
        return TL_OK;
    cursor->repaired.len = 0;
    if (tl_utf8_append(&cursor->repaired, *line) != TL_OK)
        return tl_nomem(err, "line");
    *line = (tl_bytes_view){cursor->repaired.data, cursor->repaired.len};
    return TL_OK;
}
