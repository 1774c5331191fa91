/* See input.h. */
#include "format/input.h"

static tl_status open_file(tl_format__input *in, int64_t bytes, tl_error *err)
{
    int64_t mapped_bytes = 0;
    TL_TRY(tl_fs_open_read(in->fs, in->path, &in->file, err));
    in->bytes = bytes;
    in->map = tl_file_map(in->file, &mapped_bytes);
    if (in->map != NULL)
        in->bytes = mapped_bytes;
    else if (bytes <= 0)
        return tl_file_size(in->file, &in->bytes, err);
    return TL_OK;
}

tl_status tl_format__input_open(tl_fs *fs, const char *path, int64_t bytes, tl_format__input *out, tl_error *err)
{
    *out = (tl_format__input){.fs = tl_fs_ref(fs), .path = tl_strdup(path)};
    tl_status status = out->path == NULL ? tl_nomem(err, "path") : open_file(out, bytes, err);
    if (status != TL_OK)
        tl_format__input_close(out);
    return status;
}

tl_status tl_format__input_check(const tl_format__input *in, int64_t bytes, int64_t bytes_min, const char *what, tl_error *err)
{
    if (in->bytes < bytes_min)
        return tl_error_set(err, TL_E_CORRUPT, "not %s: %lld bytes", what, (long long)in->bytes);
    if (bytes > 0 && in->bytes != bytes)
        return tl_error_set(err, TL_E_CORRUPT, "file has %lld bytes, %lld expected", (long long)in->bytes, (long long)bytes);
    return TL_OK;
}

void tl_format__input_close(tl_format__input *in)
{
    if (in->file != NULL)
        (void)tl_file_close(in->file, NULL); /* read only: nothing can be lost */
    if (in->fs != NULL)
        tl_fs_unref(in->fs);
    tl_free(in->path);
    *in = (tl_format__input){0};
}

tl_status tl_format__input_piece(const tl_format__input *in, int64_t offset, int64_t bytes, tl_bytes_view *out, uint8_t **owned,
                                 tl_error *err)
{
    *owned = NULL;
    if (offset < 0 || bytes < 0 || offset > in->bytes || bytes > in->bytes - offset)
        return tl_error_set(err, TL_E_CORRUPT, "%lld bytes at %lld lie outside of the file", (long long)bytes, (long long)offset);
    if (in->map != NULL) {
        *out = (tl_bytes_view){in->map + offset, (size_t)bytes};
        return TL_OK;
    }
    TL_CLEANUP(tl_freep) uint8_t *copy = tl_alloc((size_t)bytes);
    if (copy == NULL)
        return tl_nomem(err, "piece of a file");
    TL_TRY(tl_file_read_at(in->file, offset, copy, (size_t)bytes, err));
    *out = (tl_bytes_view){copy, (size_t)bytes};
    *owned = TL_STEAL(copy);
    return TL_OK;
}
