/* JSON as Jackson prints it: compact, numbers with a fraction as Java's Double. */
#include <math.h>
#include <stdlib.h>

#include "sql/json_path.h"
#include "types/text.h"

tl_status tl_json_print_string(tl_buf *buf, tl_bytes_view text)
{
    TL_TRY(tl_buf_append_byte(buf, '"'));
    size_t from = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        TL_TRY(tl_buf_append(buf, text.data + from, i - from));
        from = i + 1;
        static const char names[] = "btn\0fr"; /* 8, 9, 10, 12, 13 */
        if (c == '"' || c == '\\')
            TL_TRY(tl_buf_appendf(buf, "\\%c", c));
        else if (c >= 8 && c <= 13 && c != 11)
            TL_TRY(tl_buf_appendf(buf, "\\%c", names[c - 8]));
        else
            TL_TRY(tl_buf_appendf(buf, "\\u%04X", c));
    }
    TL_TRY(tl_buf_append(buf, text.data + from, text.len - from));
    return tl_buf_append_byte(buf, '"');
}

tl_status tl_json_print_number(tl_buf *buf, tl_bytes_view digits, bool quote_special)
{
    bool real = false;
    for (size_t i = 0; i < digits.len && !real; i++)
        real = digits.data[i] == '.' || digits.data[i] == 'e' || digits.data[i] == 'E';
    if (!real) {
        if (digits.len == 2 && memcmp(digits.data, "-0", 2) == 0)
            return tl_buf_append_byte(buf, '0');
        return tl_buf_append(buf, digits.data, digits.len);
    }
    double v = 0;
    tl_json node = {.kind = TL_JSON_NUMBER, .text = digits};
    if (!tl_json_double(&node, &v)) /* too large for a double */
        v = digits.data[0] == '-' ? -INFINITY : INFINITY;
    char text[40];
    const char *quote = quote_special && !isfinite(v) ? "\"" : "";
    return tl_buf_appendf(buf, "%s%.*s%s", quote, (int)tl_text_java_double(v, text), text, quote);
}

static tl_status print_object(tl_buf *buf, const tl_json *node, tl_arena *arena, tl_error *err)
{
    const tl_json **members;
    int64_t n;
    TL_TRY(tl_json_members(node, arena, &members, &n, err));
    TL_TRY(tl_buf_append_byte(buf, '{'));
    for (int64_t i = 0; i < n; i++) {
        if (i > 0)
            TL_TRY(tl_buf_append_byte(buf, ','));
        TL_TRY(tl_json_print_string(buf, members[i]->key));
        TL_TRY(tl_buf_append_byte(buf, ':'));
        TL_TRY(tl_json_print(buf, members[i], arena, err));
    }
    return tl_buf_append_byte(buf, '}');
}

tl_status tl_json_print(tl_buf *buf, const tl_json *node, tl_arena *arena, tl_error *err)
{
    switch (node->kind) {
    case TL_JSON_NULL:
        return tl_buf_append_str(buf, "null");
    case TL_JSON_FALSE:
        return tl_buf_append_str(buf, "false");
    case TL_JSON_TRUE:
        return tl_buf_append_str(buf, "true");
    case TL_JSON_NUMBER:
        return tl_json_print_number(buf, node->text, /* quote_special= */ true);
    case TL_JSON_STRING:
        return tl_json_print_string(buf, node->text);
    case TL_JSON_OBJECT:
        return print_object(buf, node, arena, err);
    default:
        TL_TRY(tl_buf_append_byte(buf, '['));
        for (const tl_json *c = node->child; c != NULL; c = c->next) {
            TL_TRY(tl_json_print(buf, c, arena, err)); /* as deep as the parser allows */
            if (c->next != NULL)
                TL_TRY(tl_buf_append_byte(buf, ','));
        }
        return tl_buf_append_byte(buf, ']');
    }
}
