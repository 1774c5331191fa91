/*
 * Split block bloom filters of column chunks: XXH64 of each value in PLAIN form (byte strings without their length).
 *
 * Layout: blocks of 8 words of 32 bits; the upper half of a hash chooses the block, the lower half one bit in each word.
 * Source: parquet-format, BloomFilter.md. Sizes as parquet-mr (BlockSplitBloomFilter): a power of two; 1 MiB if the number of
 * distinct values is not given.
 */
#include <math.h>

#include "format/parquet/write_private.h"

#define BLOCK_BYTES 32
#define BYTES_MIN 32
#define BYTES_MAX (1 << 20)

static int32_t filter_bytes(const tl_pq_leaf_options *options)
{
    if (options->bloom_values < 0)
        return BYTES_MAX;
    double bits = -8.0 * (double)options->bloom_values / log(1.0 - pow(options->bloom_fpp, 1.0 / 8.0));
    double bytes = ceil(bits / 8.0);
    if (!(bytes < (double)BYTES_MAX))
        return BYTES_MAX;
    return (int32_t)tl_next_pow2((uint64_t)TL_MAX(bytes, (double)BYTES_MIN));
}

tl_status tl_pq__bloom_create(const tl_pq_leaf_options *options, tl_pq_bloom *out, tl_error *err)
{
    int32_t bytes = filter_bytes(options);
    uint8_t *blocks = tl_calloc(1, (size_t)bytes);
    if (blocks == NULL)
        return tl_nomem(err, "bloom filter");
    *out = (tl_pq_bloom){blocks, bytes};
    return TL_OK;
}

void tl_pq__bloom_deinit(tl_pq_bloom *bloom)
{
    tl_free(bloom->blocks);
    *bloom = (tl_pq_bloom){0};
}

static void add_hash(tl_pq_bloom *bloom, uint64_t hash)
{
    static const uint32_t salt[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
    uint64_t n_blocks = (uint64_t)bloom->bytes / BLOCK_BYTES;
    uint8_t *block = bloom->blocks + ((hash >> 32) * n_blocks >> 32) * BLOCK_BYTES;
    for (int i = 0; i < 8; i++) {
        uint32_t bit = (uint32_t)hash * salt[i] >> 27;
        tl_write_le32(block + 4 * i, tl_read_le32(block + 4 * i) | UINT32_C(1) << bit);
    }
}

void tl_pq__bloom_add_plain(tl_pq_bloom *bloom, tl_bytes_view plain, int64_t count, int32_t width)
{
    const uint8_t *p = plain.data;
    for (int64_t i = 0; i < count; i++) {
        size_t len = (size_t)width;
        if (width == 0) {
            len = tl_read_le32(p);
            p += sizeof(uint32_t);
        }
        add_hash(bloom, tl_xxh64(p, len, 0));
        p += len;
    }
}
