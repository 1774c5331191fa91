/* Writing FlatBuffers; see flatbuffer_private.h. */
#include "api/flatbuffer_private.h"

static void put(fb_writer *w, uint64_t value, size_t bytes)
{
    uint8_t raw[8];
    for (size_t i = 0; i < bytes; i++)
        raw[i] = (uint8_t)(value >> 8 * i);
    if (w->status == TL_OK)
        w->status = tl_buf_append(&w->out, raw, bytes);
}

/* Overwrite bytes that are there already; nothing to do after a failure, since they may not be. */
static void poke(fb_writer *w, size_t place, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes && w->status == TL_OK; i++)
        w->out.data[place + i] = (uint8_t)(value >> 8 * i);
}

void fb_begin(fb_writer *w)
{
    *w = (fb_writer){.status = TL_OK};
    put(w, 0, 4);
}

void fb_deinit(fb_writer *w)
{
    tl_buf_deinit(&w->out);
}

void fb_align(fb_writer *w, size_t alignment, size_t after)
{
    while (w->status == TL_OK && w->out.len % alignment != after)
        put(w, 0, 1);
}

size_t fb_table(fb_writer *w, const fb_field *fields, size_t n, size_t *places)
{
    /* Places relative to the table, which begins at a multiple of 8. */
    size_t at[FB_FIELDS_MAX] = {0};
    size_t table_bytes = 4;
    for (size_t i = 0; i < n; i++) {
        if (fields[i].bytes == 0)
            continue;
        table_bytes = (table_bytes + fields[i].bytes - 1) / fields[i].bytes * fields[i].bytes;
        at[i] = table_bytes;
        table_bytes += fields[i].bytes;
    }
    size_t vtable_bytes = 4 + 2 * n;
    while (w->status == TL_OK && (w->out.len + vtable_bytes) % 8 != 0)
        put(w, 0, 1);
    put(w, vtable_bytes, 2);
    put(w, table_bytes, 2);
    for (size_t i = 0; i < n; i++)
        put(w, at[i], 2);

    size_t table = w->out.len;
    put(w, vtable_bytes, 4); /* the vtable stands right before its table */
    for (size_t i = 0; i < n; i++) {
        if (places != NULL)
            places[i] = table + at[i];
        if (fields[i].bytes == 0)
            continue;
        while (w->status == TL_OK && w->out.len < table + at[i])
            put(w, 0, 1);
        put(w, fields[i].value, fields[i].bytes);
    }
    return table;
}

size_t fb_string(fb_writer *w, const char *text)
{
    fb_align(w, 4, 0);
    size_t place = w->out.len;
    size_t len = strlen(text);
    put(w, len, 4);
    if (w->status == TL_OK)
        w->status = tl_buf_append(&w->out, text, len + 1);
    return place;
}

size_t fb_references(fb_writer *w, size_t n)
{
    fb_align(w, 4, 0);
    size_t place = w->out.len;
    put(w, n, 4);
    for (size_t i = 0; i < n; i++)
        put(w, 0, 4);
    return place;
}

size_t fb_pairs(fb_writer *w, const int64_t (*pairs)[2], size_t n)
{
    fb_align(w, 8, 4); /* the elements are aligned, not the count before them */
    size_t place = w->out.len;
    put(w, n, 4);
    for (size_t i = 0; i < n; i++) {
        put(w, (uint64_t)pairs[i][0], 8);
        put(w, (uint64_t)pairs[i][1], 8);
    }
    return place;
}

void fb_refer(fb_writer *w, size_t place, size_t target)
{
    poke(w, place, target - place, 4);
}
