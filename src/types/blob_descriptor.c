/* Descriptors of blobs, as bytes. */
#include "types/blob_descriptor.h"

#include "base/bits.h"

#define VERSION 2
#define MAGIC UINT64_C(0x424c4f4244455343)
#define MAGIC_END 9     /* version and magic */
#define NUMBERS_BYTES 16 /* offset and length, behind the address */

bool tl_blob_is_descriptor(tl_bytes_view bytes)
{
    return bytes.len >= MAGIC_END && (int8_t)bytes.data[0] <= VERSION && tl_read_le64(bytes.data + 1) == MAGIC;
}

tl_status tl_blob_descriptor_read(tl_bytes_view bytes, tl_blob_descriptor *out, tl_error *err)
{
    int version = bytes.len == 0 ? 0 : (int8_t)bytes.data[0];
    if (bytes.len == 0 || version < 1)
        return tl_error_set(err, TL_E_INVALID, "%zu bytes are no descriptor of a blob", bytes.len);
    if (version > VERSION)
        return tl_error_set(err, TL_E_UNSUPPORTED, "descriptor of a blob of version %d: versions up to %d are known", version, VERSION);
    if (version == VERSION && !tl_blob_is_descriptor(bytes))
        return tl_error_set(err, TL_E_INVALID, "%zu bytes are no descriptor of a blob: they do not have its magic number", bytes.len);
    size_t at = version == VERSION ? MAGIC_END : 1;
    int64_t uri_bytes = bytes.len < at + 4 ? -1 : (int32_t)tl_read_le32(bytes.data + at);
    at += 4;
    if (uri_bytes < 0 || bytes.len < at + NUMBERS_BYTES || (uint64_t)uri_bytes > bytes.len - at - NUMBERS_BYTES)
        return tl_error_set(err, TL_E_INVALID, "descriptor of a blob: its address does not fit in its %zu bytes", bytes.len);
    out->uri = (tl_bytes_view){bytes.data + at, (size_t)uri_bytes};
    at += (size_t)uri_bytes;
    out->offset = (int64_t)tl_read_le64(bytes.data + at);
    out->length = (int64_t)tl_read_le64(bytes.data + at + 8);
    if (out->offset < 0 || out->length < TL_BLOB_TO_END)
        return tl_error_set(err, TL_E_INVALID, "descriptor of a blob: offset %lld, length %lld", (long long)out->offset, (long long)out->length);
    return TL_OK;
}

void tl_blob_descriptor_write(const tl_blob_descriptor *descriptor, uint8_t *out)
{
    size_t n = descriptor->uri.len;
    out[0] = VERSION;
    tl_write_le64(out + 1, MAGIC);
    tl_write_le32(out + MAGIC_END, (uint32_t)n);
    if (n > 0)
        memcpy(out + MAGIC_END + 4, descriptor->uri.data, n);
    tl_write_le64(out + MAGIC_END + 4 + n, (uint64_t)descriptor->offset);
    tl_write_le64(out + MAGIC_END + 12 + n, (uint64_t)descriptor->length);
}

tl_status tl_blob_descriptor_append(const tl_blob_descriptor *descriptor, tl_buf *out)
{
    size_t n = TL_BLOB_DESCRIPTOR_BYTES + descriptor->uri.len;
    if (descriptor->uri.len > INT32_MAX - TL_BLOB_DESCRIPTOR_BYTES || tl_buf_reserve(out, n) != TL_OK)
        return TL_E_NOMEM;
    tl_blob_descriptor_write(descriptor, out->data + out->len);
    out->len += n;
    return TL_OK;
}
