/* Plain bytes of a stream: a window over its blocks, which slides as they are needed. */
#include "format/orc/read_private.h"

#define PIECE_BYTES ((size_t)1 << 20)
#define PLAIN_BYTES ((size_t)8 << 10) /* a stream that is not compressed is looked at in pieces of so many bytes */

tl_status tl_orc__truncated(tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "a stream ends too early");
}

void tl_orc__in_deinit(tl_orc_in *in)
{
    tl_free(in->owned);
    tl_buf_deinit(&in->buf);
    *in = (tl_orc_in){0};
}

/* The stream is looked at from `from` to `at`. */
static void count_mapped(tl_orc_in *in, size_t from)
{
    from = TL_MAX(from, in->counted);
    if (in->owned != NULL || from >= in->at)
        return;
    tl_io_count_mapped(in->at - from);
    in->counted = in->at;
}

/* Without compression: at least `bytes` from `from` on, or all that are left. */
static void set_plain_window(tl_orc_in *in, size_t from, size_t bytes)
{
    in->at = from + TL_MIN(in->raw.len - from, TL_MAX(bytes, PLAIN_BYTES));
    in->p = in->raw.data + from;
    in->end = in->raw.data + in->at;
    count_mapped(in, from);
}

/* The window begins at `at`, empty with compression. */
static void set_window(tl_orc_in *in, size_t at)
{
    static const uint8_t nothing[1];
    in->at = at;
    in->buf.len = 0;
    in->p = in->end = nothing;
    if (in->compression == TL_ORC_NONE && in->raw.len > 0)
        set_plain_window(in, at, 0);
}

void tl_orc__in_reset(tl_orc_in *in, const tl_orc_file *file, tl_bytes_view raw, uint8_t *owned)
{
    tl_free(in->owned);
    in->owned = owned;
    in->raw = raw;
    in->counted = 0;
    in->compression = file->meta.compression;
    in->block_bytes = file->meta.block_bytes;
    set_window(in, 0);
}

static tl_status grow_window(tl_orc_in *in, size_t bytes, tl_error *err)
{
    if (in->compression == TL_ORC_NONE) {
        set_plain_window(in, (size_t)(in->p - in->raw.data), bytes);
        return TL_OK;
    }
    size_t left = (size_t)(in->end - in->p), from = in->at;
    if (left > 0 && in->buf.data != NULL)
        memmove(in->buf.data, in->p, left);
    in->buf.len = left;
    tl_status status = TL_OK;
    while (status == TL_OK && in->buf.len < bytes && in->at < in->raw.len) {
        in->last_at = in->at;
        in->last_from = in->buf.len;
        status = tl_orc__block(in->compression, in->block_bytes, in->raw, &in->at, &in->buf, err);
    }
    count_mapped(in, from);
    if (in->buf.data != NULL) {
        in->p = in->buf.data;
        in->end = in->buf.data + in->buf.len;
    }
    return status;
}

tl_status tl_orc__in_need(tl_orc_in *in, size_t bytes, tl_error *err)
{
    if (TL_LIKELY((size_t)(in->end - in->p) >= bytes || in->at >= in->raw.len))
        return TL_OK;
    return grow_window(in, bytes, err);
}

tl_status tl_orc__in_read(tl_orc_in *in, void *dst, size_t bytes, tl_error *err)
{
    for (uint8_t *to = dst; bytes > 0;) {
        TL_TRY(tl_orc__in_need(in, 1, err));
        size_t piece = TL_MIN(bytes, (size_t)(in->end - in->p));
        if (piece == 0)
            return tl_orc__truncated(err);
        memcpy(to, in->p, piece);
        in->p += piece;
        to += piece;
        bytes -= piece;
    }
    return TL_OK;
}

/* Without compression nothing needs to be looked at. */
static tl_status skip_plain(tl_orc_in *in, uint64_t bytes, tl_error *err)
{
    size_t from = (size_t)(in->p - in->raw.data);
    if (bytes > in->raw.len - from)
        return tl_orc__truncated(err);
    if (bytes <= (uint64_t)(in->end - in->p))
        in->p += bytes;
    else
        set_plain_window(in, from + (size_t)bytes, 0);
    return TL_OK;
}

tl_status tl_orc__in_skip(tl_orc_in *in, uint64_t bytes, tl_error *err)
{
    if (in->compression == TL_ORC_NONE && in->raw.len > 0)
        return skip_plain(in, bytes, err);
    while (bytes > 0) {
        TL_TRY(tl_orc__in_need(in, 1, err));
        uint64_t piece = TL_MIN(bytes, (uint64_t)(in->end - in->p));
        if (piece == 0)
            return tl_orc__truncated(err);
        in->p += piece;
        bytes -= piece;
    }
    return TL_OK;
}

tl_status tl_orc__in_append(tl_orc_in *in, tl_buf *dst, size_t bytes, tl_error *err)
{
    while (bytes > 0) {
        size_t piece = TL_MIN(bytes, PIECE_BYTES);
        if (tl_buf_reserve(dst, piece) != TL_OK)
            return tl_nomem(err, "strings");
        TL_TRY(tl_orc__in_read(in, dst->data + dst->len, piece, err));
        dst->len += piece;
        bytes -= piece;
    }
    return TL_OK;
}

/* ---- positions ---- */

tl_orc_positions tl_orc__positions(tl_bytes_view entry)
{
    return (tl_orc_positions){.pb = tl_orc__pb(entry)};
}

tl_status tl_orc__positions_next(tl_orc_positions *pos, int64_t *out, tl_error *err)
{
    uint64_t v;
    for (;;) {
        if (pos->in_field && tl_orc__pb_packed(&pos->pb, &v)) {
            *out = (int64_t)v;
            return v <= INT64_MAX ? TL_OK : tl_error_set(err, TL_E_CORRUPT, "row index: position is too large");
        }
        if (!tl_orc__pb_next(&pos->pb))
            return tl_error_set(err, TL_E_CORRUPT, "row index: too few positions");
        pos->in_field = pos->pb.field == 1;
    }
}

tl_status tl_orc__in_seek(tl_orc_in *in, tl_orc_positions *pos, tl_error *err)
{
    int64_t block, skip = 0;
    TL_TRY(tl_orc__positions_next(pos, &block, err));
    if (in->compression != TL_ORC_NONE)
        TL_TRY(tl_orc__positions_next(pos, &skip, err));
    if (block > (int64_t)in->raw.len || skip > in->block_bytes)
        return tl_error_set(err, TL_E_CORRUPT, "row index: position outside of its stream");
    if (in->compression != TL_ORC_NONE && in->buf.len > 0 && (size_t)block == in->last_at)
        in->p = in->buf.data + in->last_from; /* it is there already */
    else
        set_window(in, (size_t)block);
    TL_TRY(tl_orc__in_need(in, (size_t)skip, err));
    if (skip > in->end - in->p)
        return tl_error_set(err, TL_E_CORRUPT, "row index: position outside of its stream");
    in->p += skip;
    return TL_OK;
}
