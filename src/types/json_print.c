/* JSON as Jackson prints it: compact, numbers with a fraction as Java's Double. */
#include <math.h>
#include <stdlib.h>

#include "types/json_print.h"
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

static int by_name_and_place(const void *a, const void *b)
{
    const tl_json *x = *(const tl_json *const *)a, *y = *(const tl_json *const *)b;
    int order = tl_bytes_compare(x->key, y->key);
    return order != 0 ? order : x->raw.data < y->raw.data ? -1 : x->raw.data > y->raw.data;
}

static bool same_key(const tl_json *a, const tl_json *b)
{
    return a->key.len == b->key.len && memcmp(a->key.data, b->key.data, a->key.len) == 0;
}

tl_status tl_json_members(const tl_json *object, tl_arena *arena, const tl_json ***out, int64_t *n, tl_error *err)
{
    size_t count = (size_t)object->n_children, kept = 0;
    const tl_json **all = tl_arena_alloc(arena, (count + 1) * sizeof *all), **sorted = tl_arena_alloc(arena, (count + 1) * sizeof *sorted);
    if (all == NULL || sorted == NULL)
        return tl_nomem(err, "JSON");
    for (const tl_json *c = object->child; c != NULL; c = c->next)
        all[kept++] = c;
    *out = all;
    *n = (int64_t)kept;
    memcpy(sorted, all, kept * sizeof *all);
    qsort(sorted, kept, sizeof *sorted, by_name_and_place);
    bool repeated = false;
    for (size_t i = 1; i < kept && !repeated; i++)
        repeated = same_key(sorted[i - 1], sorted[i]);
    if (!repeated)
        return TL_OK;
    size_t unique = 0;
    for (size_t i = 0; i < kept; i++) {
        const tl_json *const *at = bsearch(&all[i], sorted, kept, sizeof *sorted, by_name_and_place);
        if (at > sorted && same_key(at[-1], all[i]))
            continue; /* not the first of its name */
        while (at + 1 < sorted + kept && same_key(at[1], all[i]))
            at++;
        all[unique++] = *at;
    }
    *n = (int64_t)unique;
    return TL_OK;
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
