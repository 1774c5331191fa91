/*
 * The decompressors. The first byte chooses the codec, the second how large the result is said to be; the rest is decompressed as
 * it is, then compressed, read back, and read once more with one byte damaged (at the place that the third byte tells).
 */
#include <stdlib.h>
#include <string.h>

#include "format/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_any(tl_codec codec, tl_bytes_view src, size_t bytes)
{
    uint8_t *exact = tl_calloc(1, bytes);
    tl_buf appended = {0};
    if (exact == NULL)
        abort();
    (void)tl_decompress(codec, src, exact, bytes, NULL);
    if (tl_decompress_append(codec, src, bytes, &appended, NULL) == TL_OK && appended.len > bytes)
        abort();
    tl_buf_deinit(&appended);
    tl_free(exact);
}

static void read_back(tl_codec codec, tl_bytes_view plain, uint8_t damage)
{
    tl_compressor *compressor = NULL;
    tl_buf packed = {0};
    if (tl_compressor_create(codec, 1, &compressor, NULL) != TL_OK)
        return;
    if (tl_compress(compressor, plain, &packed, NULL) == TL_OK && packed.len > 0) {
        uint8_t *again = tl_calloc(1, plain.len);
        if (again == NULL || tl_decompress(codec, (tl_bytes_view){packed.data, packed.len}, again, plain.len, NULL) != TL_OK ||
            memcmp(again, plain.data, plain.len) != 0)
            abort();
        tl_free(again);
        packed.data[packed.len * damage / 256] ^= (uint8_t)(damage | 1);
        read_any(codec, (tl_bytes_view){packed.data, packed.len}, plain.len);
    }
    tl_buf_deinit(&packed);
    tl_compressor_free(compressor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    tl_codec codec = data[0] % (TL_CODEC_XZ + 1) == TL_CODEC_XZ ? TL_CODEC_LZO : (tl_codec)(TL_CODEC_ZSTD + data[0] % (TL_CODEC_XZ + 1));
    tl_bytes_view rest = {data + 3, size - 3};
    read_any(codec, rest, (size_t)data[1] * data[1]); /* up to 64 kB */
    read_back(codec, rest, data[2]);
    return 0;
}
