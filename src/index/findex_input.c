/*
 * Bytes of file indexes. An index in a file is fetched piece by piece, as far as a question needs it; pieces live in an arena until
 * the question is answered.
 */
#include "index/file_index_private.h"

#define WINDOW_BYTES 4096 /* fetched at once where the size of what follows is not known */

tl_status tl_findex__view(const tl_findex__input *in, int64_t from, int64_t bytes, tl_bytes_view *out, tl_error *err)
{
    if (from < 0 || bytes < 0 || from > in->bytes || bytes > in->bytes - from)
        return tl_error_set(err, TL_E_CORRUPT, "byte %lld: %lld bytes where the index ends at %lld", (long long)(in->from + from),
                            (long long)bytes, (long long)(in->from + in->bytes));
    if (in->memory.data != NULL) {
        if (in->file != NULL)
            tl_io_count_mapped((size_t)bytes);
        *out = (tl_bytes_view){in->memory.data + in->from + from, (size_t)bytes};
        return TL_OK;
    }
    uint8_t *data = tl_arena_alloc(in->arena, (size_t)bytes + 1);
    if (data == NULL)
        return tl_nomem(err, "file index");
    if (bytes > 0)
        TL_TRY(tl_file_read_at(in->file, in->from + from, data, (size_t)bytes, err));
    *out = (tl_bytes_view){data, (size_t)bytes};
    return TL_OK;
}

tl_status tl_findex__part(const tl_findex__input *in, int64_t from, int64_t bytes, tl_findex__input *out, tl_error *err)
{
    if (from < 0 || bytes < 0 || from > in->bytes || bytes > in->bytes - from)
        return tl_error_set(err, TL_E_CORRUPT, "%lld bytes at %lld, where the container has %lld", (long long)bytes, (long long)from,
                            (long long)in->bytes);
    *out = *in;
    out->from = in->from + from;
    out->bytes = bytes;
    return TL_OK;
}

/* ---- cursors ---- */

tl_status tl_findex__take(tl_findex__cursor *c, int64_t bytes, const uint8_t **out, tl_error *err)
{
    int64_t in_window = c->at - c->window_from;
    if (c->window.data == NULL || in_window < 0 || bytes > (int64_t)c->window.len - in_window) {
        int64_t left = c->in->bytes - c->at, wanted = TL_MAX(bytes, TL_MIN(left, WINDOW_BYTES));
        TL_TRY(tl_findex__view(c->in, c->at, wanted, &c->window, err));
        c->window_from = c->at;
        in_window = 0;
    }
    *out = c->window.data + in_window;
    c->at += bytes;
    return TL_OK;
}

tl_status tl_findex__take_u8(tl_findex__cursor *c, uint8_t *out, tl_error *err)
{
    const uint8_t *p = NULL;
    TL_TRY(tl_findex__take(c, 1, &p, err));
    *out = p[0];
    return TL_OK;
}

tl_status tl_findex__take_i32(tl_findex__cursor *c, int32_t *out, tl_error *err)
{
    const uint8_t *p = NULL;
    TL_TRY(tl_findex__take(c, 4, &p, err));
    *out = (int32_t)tl_read_be32(p);
    return TL_OK;
}

tl_status tl_findex__take_count(tl_findex__cursor *c, int64_t max, const char *what, int32_t *out, tl_error *err)
{
    int32_t n = 0;
    int64_t at = c->at;
    TL_TRY(tl_findex__take_i32(c, &n, err));
    if (n < 0 || n > max)
        return tl_error_set(err, TL_E_CORRUPT, "byte %lld: %s is %d, which is not in 0..%lld", (long long)(c->in->from + at), what, n,
                            (long long)max);
    *out = n;
    return TL_OK;
}

tl_status tl_findex__roaring(const tl_findex__input *in, int64_t from, int64_t bytes, tl_roaring32 *out, tl_error *err)
{
    tl_bytes_view view = {NULL, 0};
    TL_TRY(tl_findex__view(in, from, bytes, &view, err));
    tl_roaring_input input = {view.data, view.len};
    tl_status status = tl_roaring32_read(&input, in->arena, out, err);
    return tl_error_wrap(err, status, "byte %lld", (long long)(in->from + from));
}
