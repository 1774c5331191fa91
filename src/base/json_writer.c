/* JSON writer: compact, or as Jackson's default pretty printer prints (format reference §2). */
#include "base/json.h"
#include "base/utf8.h"

enum { IN_OBJECT = 1, IN_ARRAY = 2, HAS_MEMBERS = 4 };

void tl_json_writer_init(tl_json_writer *w, bool pretty)
{
    memset(w, 0, sizeof *w);
    w->pretty = pretty;
}

void tl_json_writer_deinit(tl_json_writer *w)
{
    tl_buf_deinit(&w->out);
}

static void put(tl_json_writer *w, const void *data, size_t bytes)
{
    if (w->status == TL_OK)
        w->status = tl_buf_append(&w->out, data, bytes);
}

static void put_str(tl_json_writer *w, const char *text)
{
    put(w, text, strlen(text));
}

/* Only objects indent: arrays stay on the line, so they add no depth. */
static void indent(tl_json_writer *w)
{
    put_str(w, "\n");
    for (int i = 0; i < w->depth; i++)
        if (w->state[i] & IN_OBJECT)
            put_str(w, "  ");
}

/* Before a value or a key: the comma and, for members of objects, the line break. Elements of arrays stay on the line. */
static void separate(tl_json_writer *w)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    if (w->depth == 0)
        return;
    uint8_t *state = &w->state[w->depth - 1];
    bool first = (*state & HAS_MEMBERS) == 0;
    *state |= HAS_MEMBERS;
    if (!first)
        put_str(w, ",");
    if (!w->pretty)
        return;
    if (*state & IN_OBJECT)
        indent(w);
    else
        put_str(w, " ");
}

static void begin(tl_json_writer *w, const char *bracket, uint8_t kind)
{
    separate(w);
    put_str(w, bracket);
    if (w->depth == TL_JSON_DEPTH_MAX) {
        w->status = w->status == TL_OK ? TL_E_LIMIT : w->status;
        return;
    }
    w->state[w->depth++] = kind;
}

static void end(tl_json_writer *w, const char *bracket)
{
    if (w->status == TL_E_LIMIT || w->depth == 0)
        return;
    uint8_t state = w->state[--w->depth];
    if (w->pretty) {
        if ((state & IN_OBJECT) && (state & HAS_MEMBERS))
            indent(w);
        else
            put_str(w, " ");
    }
    put_str(w, bracket);
}

void tl_json_begin_object(tl_json_writer *w)
{
    begin(w, "{", IN_OBJECT);
}

void tl_json_end_object(tl_json_writer *w)
{
    end(w, "}");
}

void tl_json_begin_array(tl_json_writer *w)
{
    begin(w, "[", IN_ARRAY);
}

void tl_json_end_array(tl_json_writer *w)
{
    end(w, "]");
}

typedef enum form { FORM_PLAIN, FORM_JACKSON } form;

/* What a byte must be escaped as: as itself behind a backslash, or as hexadecimal. Jackson writes upper-case digits. */
static tl_status append_escape(tl_buf *buf, uint8_t c, form as)
{
    static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
    size_t known = as == FORM_JACKSON ? 7 : 5;
    const char *hit = memchr(from, c, known);
    if (hit != NULL)
        return tl_buf_appendf(buf, "\\%c", to[hit - from]);
    return tl_buf_appendf(buf, as == FORM_JACKSON ? "\\u%04X" : "\\u%04x", c);
}

static tl_status append_string(tl_buf *buf, tl_bytes_view text, form as)
{
    TL_TRY(tl_buf_reserve(buf, text.len + 2));
    TL_TRY(tl_buf_append_byte(buf, '"'));
    size_t from = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (TL_LIKELY(c >= 0x20 && c != '"' && c != '\\' && (c != 0x7f || as == FORM_JACKSON)))
            continue;
        TL_TRY(tl_buf_append(buf, text.data + from, i - from));
        TL_TRY(append_escape(buf, c, as));
        from = i + 1;
    }
    TL_TRY(tl_buf_append(buf, text.data + from, text.len - from));
    return tl_buf_append_byte(buf, '"');
}

/* JSON is UTF-8: what a stored text has that is none is written as Java's strings have it. */
static tl_status append_any(tl_buf *buf, tl_bytes_view text, form as)
{
    if (TL_LIKELY(tl_utf8_valid(text)))
        return append_string(buf, text, as);
    tl_buf valid = {0};
    tl_status status = tl_utf8_append(&valid, text);
    if (status == TL_OK)
        status = append_string(buf, (tl_bytes_view){valid.data, valid.len}, as);
    tl_buf_deinit(&valid);
    return status;
}

tl_status tl_json_append_jackson(tl_buf *buf, tl_bytes_view text)
{
    return append_any(buf, text, FORM_JACKSON);
}

tl_status tl_json_append_quoted(tl_buf *buf, tl_bytes_view text)
{
    return append_any(buf, text, FORM_PLAIN);
}

void tl_json_key(tl_json_writer *w, const char *name)
{
    separate(w);
    if (w->status == TL_OK)
        w->status = tl_json_append_jackson(&w->out, (tl_bytes_view){(const uint8_t *)name, strlen(name)});
    put_str(w, w->pretty ? " : " : ":");
    w->after_key = true;
}

void tl_json_write_bytes(tl_json_writer *w, tl_bytes_view utf8)
{
    separate(w);
    if (w->status == TL_OK)
        w->status = tl_json_append_jackson(&w->out, utf8);
}

void tl_json_write_str(tl_json_writer *w, const char *text)
{
    tl_json_write_bytes(w, (tl_bytes_view){(const uint8_t *)text, strlen(text)});
}

void tl_json_write_int(tl_json_writer *w, int64_t v)
{
    separate(w);
    if (w->status == TL_OK)
        w->status = tl_buf_appendf(&w->out, "%lld", (long long)v);
}

void tl_json_write_bool(tl_json_writer *w, bool v)
{
    separate(w);
    put_str(w, v ? "true" : "false");
}

void tl_json_write_null(tl_json_writer *w)
{
    separate(w);
    put_str(w, "null");
}

void tl_json_write_raw(tl_json_writer *w, tl_bytes_view json)
{
    separate(w);
    put(w, json.data, json.len);
}
