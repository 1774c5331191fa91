/* Compression: every codec there and back, sizes that are wrong, input that is cut, limits of growing output. */
#include "format/compress_private.h"
#include "support/test.h"

#include <zstd.h>

static tl_error err;

static const tl_codec all_codecs[] = {TL_CODEC_NONE, TL_CODEC_ZSTD,   TL_CODEC_LZ4_RAW, TL_CODEC_LZ4_HADOOP, TL_CODEC_SNAPPY,
                                      TL_CODEC_GZIP, TL_CODEC_BROTLI, TL_CODEC_DEFLATE, TL_CODEC_BZIP2,      TL_CODEC_XZ,
                                      TL_CODEC_LZO};

/* Repetitive and random stretches by turns. */
static uint8_t *sample(size_t bytes, uint64_t seed)
{
    uint8_t *data = tl_alloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        data[i] = i / 100 % 2 == 0 ? (uint8_t)(i % 7) : (uint8_t)test_random(&seed);
    return data;
}

static tl_buf compressed(tl_codec codec, int level, tl_bytes_view src)
{
    tl_compressor *c = NULL;
    tl_buf out = {0};
    assert_ok(tl_compressor_create(codec, level, &c, &err), &err);
    assert_ok(tl_compress(c, src, &out, &err), &err);
    tl_compressor_free(c);
    return out;
}

static void every_codec_gives_back_what_it_got(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 100, 4096, 70000, 1 << 20};
    for (size_t k = 0; k < TL_ARRAY_LEN(all_codecs); k++) {
        for (size_t s = 0; s < TL_ARRAY_LEN(sizes); s++) {
            uint8_t *data = sample(sizes[s], k), *back = tl_alloc(sizes[s]);
            tl_buf packed = compressed(all_codecs[k], 0, (tl_bytes_view){data, sizes[s]});
            tl_bytes_view view = {packed.data, packed.len};
            assert_ok(tl_decompress(all_codecs[k], view, back, sizes[s], &err), &err);
            assert_memory_equal(back, data, sizes[s]);
            if (all_codecs[k] != TL_CODEC_BZIP2 && all_codecs[k] != TL_CODEC_XZ)
                assert_true(tl_codec_is_plausible(all_codecs[k], view, sizes[s]));
            tl_buf_deinit(&packed);
            tl_free(back);
            tl_free(data);
        }
    }
}

/* What repeats lies near, further away or far, and is short or long: each has an instruction of its own. */
static void lzo_finds_what_repeats_at_any_distance(void **state)
{
    (void)state;
    static const size_t distances[] = {1, 3, 8, 2047, 2048, 2049, 16383, 16384, 16385, 30000, 32768, 49151, 49152, 60000};
    uint64_t rng = test_seed(3);
    for (size_t d = 0; d < TL_ARRAY_LEN(distances); d++) {
        size_t n = distances[d] + 1 + test_random(&rng) % 3000;
        uint8_t *data = tl_alloc(n), *back = tl_alloc(n);
        for (size_t i = 0; i < n; i++) /* with a byte here and there that is another one */
            data[i] = i < distances[d] || test_random(&rng) % (d % 2 == 0 ? 20 : 900) == 0 ? (uint8_t)test_random(&rng) : data[i - distances[d]];
        tl_buf packed = compressed(TL_CODEC_LZO, 0, (tl_bytes_view){data, n});
        assert_ok(tl_decompress(TL_CODEC_LZO, (tl_bytes_view){packed.data, packed.len}, back, n, &err), &err);
        assert_memory_equal(back, data, n);
        tl_buf_deinit(&packed);
        tl_free(back);
        tl_free(data);
    }
}

static void a_compressor_is_used_again_and_again(void **state)
{
    (void)state;
    for (size_t k = 0; k < TL_ARRAY_LEN(all_codecs); k++) {
        tl_compressor *c = NULL;
        assert_ok(tl_compressor_create(all_codecs[k], 3, &c, &err), &err);
        tl_buf out = {0};
        for (size_t round = 0; round < 5; round++) {
            size_t bytes = round * 1000, at = out.len;
            uint8_t *data = sample(bytes, round), *back = tl_alloc(bytes);
            assert_ok(tl_compress(c, (tl_bytes_view){data, bytes}, &out, &err), &err);
            assert_ok(tl_decompress(all_codecs[k], (tl_bytes_view){out.data + at, out.len - at}, back, bytes, &err), &err);
            assert_memory_equal(back, data, bytes);
            tl_free(back);
            tl_free(data);
        }
        tl_buf_deinit(&out);
        tl_compressor_free(c);
    }
}

/* Bytes of random numbers of `bits` bits, packed; with bits > 8, numbers of 4 bytes. */
static void fill(uint8_t *out, size_t n, int bits, uint64_t *rng)
{
    for (size_t i = 0; bits > 8 && i < n; i++)
        out[i] = i % 4 == 0 ? (uint8_t)(test_random(rng) % 100) : 0;
    if (bits > 8)
        return;
    memset(out, 0, n);
    for (size_t at = 0; at + (size_t)bits <= n * 8; at += (size_t)bits) {
        uint32_t v = (uint32_t)(test_random(rng) >> (64 - bits)) * (bits == 7 ? 100 : 128) / 128; /* 7 bits: 0 to 99 */
        for (int b = 0; b < bits; b++)
            out[(at + (size_t)b) / 8] |= (uint8_t)((v >> b & 1) << ((at + (size_t)b) % 8));
    }
}

/* What is stored without asking zstd is no larger than what zstd makes of it, and what shrinks is not stored. */
static void short_inputs_are_judged_as_zstd_does(void **state)
{
    (void)state;
    static const int widths[] = {1, 3, 6, 7, 8, 32};
    uint64_t rng = test_seed(1);
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    assert_non_null(zstd);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_minMatch, 7);
    size_t stored[TL_ARRAY_LEN(widths)] = {0}, tries = 0;
    for (size_t n = 1; n <= 1100; n += 1 + n / 40, tries++) {
        for (size_t w = 0; w < TL_ARRAY_LEN(widths); w++) {
            uint8_t data[1100], back[1100], by_zstd[1400];
            fill(data, n, widths[w], &rng);
            tl_buf packed = compressed(TL_CODEC_ZSTD, 1, (tl_bytes_view){data, n});
            size_t want = ZSTD_compress2(zstd, by_zstd, sizeof by_zstd, data, n);
            assert_false(ZSTD_isError(want));
            if (packed.len > want + want / 64 + 2)
                fail_msg("%zu bytes, width %d: %zu, by zstd %zu", n, widths[w], packed.len, want);
            assert_int_equal(ZSTD_decompress(back, sizeof back, packed.data, packed.len), n);
            assert_memory_equal(back, data, n);
            bool futile = tl_codec__zstd_is_futile((tl_bytes_view){data, n});
            if (n < TL_ZSTD_TRIED_MIN)
                assert_true(futile && packed.len == want);
            else
                stored[w] += futile;
            tl_buf_deinit(&packed);
        }
    }
    assert_true(stored[4] > tries / 2); /* random bytes */
    assert_true(stored[3] > tries / 4); /* packed numbers */
    assert_int_equal(stored[5], 0);
    ZSTD_freeCCtx(zstd);
}

/* Numbers: `low` bytes of each are random, `before` bytes stand before them; `kind` 1: sorted, 2: the low bytes are skewed,
 * 3: the highest of them is, as in sequence numbers. */
static size_t numbers(uint8_t *out, size_t before, size_t n, int width, int low, int kind, uint64_t *rng)
{
    for (size_t i = 0; i < before; i++)
        out[i] = (uint8_t)(test_random(rng) >> 56);
    uint64_t high = low == 8 ? 0 : test_random(rng) << (8 * low), mask = low == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * low)) - 1;
    for (size_t i = 0; i < n; i++) {
        uint64_t v = kind == 1 ? i * (mask / n) : test_random(rng) & mask;
        v = high | (kind == 2 ? v & 3 : kind == 3 ? v % (mask / 21 + 1) : v);
        memcpy(out + before + i * (size_t)width, &v, (size_t)width);
    }
    return before + n * (size_t)width;
}

/* Whatever numbers are written without zstd, zstd reads; and they are hardly larger than what it would make of them. */
static void numbers_are_written_as_zstd_reads_them(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 15, 16, 31, 40, 127, 128, 1400, 16384, 16386, 33000, 70000};
    uint64_t rng = test_seed(2);
    enum { BEFORE_MAX = 5000 };
    size_t most = counts[TL_ARRAY_LEN(counts) - 1] * 8 + BEFORE_MAX, taken = 0, coded = 0;
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    uint8_t *data = tl_alloc(most), *back = tl_alloc(most), *by_zstd = tl_alloc(ZSTD_compressBound(most));
    tl_compressor *compressor;
    assert_ok(tl_compressor_create(TL_CODEC_ZSTD, 1, &compressor, &err), &err);
    for (size_t c = 0; c < TL_ARRAY_LEN(counts) * 64; c++) {
        int width = c % 2 == 0 ? 4 : 8, low = 1 + (int)(c / 2 % 8), kind = (int)(c / 16 % 4);
        size_t n = counts[c / 64], before = c % 5 == 0 ? 0 : c % 7 == 3 ? 30 + c * 7 % BEFORE_MAX / 2 : c % 17;
        size_t bytes = numbers(data, before, n, width, TL_MIN(low, width), kind, &rng);
        tl_bytes_view view = {data, bytes};
        tl_buf packed = {0};
        assert_ok(tl_compress_values(compressor, view, before, width, &packed, &err), &err);
        if (ZSTD_decompress(back, most, packed.data, packed.len) != bytes || memcmp(back, data, bytes) != 0)
            fail_msg("%zu numbers of %d bytes, %d of them random, %zu bytes before: not read again", n, width, low, before);
        size_t own = tl_codec__zstd_numbers(zstd, view, before, width, false, by_zstd);
        size_t want = ZSTD_compress(by_zstd, ZSTD_compressBound(bytes), data, bytes, 1);
        if (own > want + want / 50 + 24)
            fail_msg("%zu numbers of %d bytes, %d of them random, kind %d: %zu bytes, by zstd %zu", n, width, low, kind, own, want);
        bool fits = kind == 0 && n >= 128 && low + 3 <= width && (before <= 16 || bytes >= 16 << 10);
        assert_true(own != 0 || !fits);
        assert_true(own == 0 || kind != 2 || bytes >= 4 << 10);
        size_t light = tl_codec__zstd_numbers(zstd, view, before, width, true, by_zstd);
        if (light != 0 && (ZSTD_decompress(back, most, by_zstd, light) != bytes || memcmp(back, data, bytes) != 0))
            fail_msg("%zu numbers of %d bytes, %d of them random, %zu bytes before: not read again (light)", n, width, low, before);
        coded += own != 0 && kind == 3;
        assert_int_equal(tl_codec__zstd_numbers(zstd, view, before + 1, width, false, by_zstd), 0); /* not where it says */
        taken += own != 0;
        tl_buf_deinit(&packed);
    }
    assert_true(taken >= 5 && coded >= 5);
    ZSTD_freeCCtx(zstd);
    tl_compressor_free(compressor);
    tl_free(data);
    tl_free(back);
    tl_free(by_zstd);
}

/* Byte strings in Parquet's PLAIN form, as long as each other: random digits (kind 1) or bytes between what all have in common. */
static size_t strings(uint8_t *out, size_t n, uint32_t len, uint32_t from, uint32_t own, int kind, uint64_t *rng)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t *p = out + i * (4 + len);
        tl_write_le32(p, len);
        memset(p + 4, 'a' + (int)(len % 20), len);
        for (uint32_t b = from; b < from + own; b++)
            p[4 + b] = kind == 1 ? (uint8_t)('0' + test_random(rng) % 10) : (uint8_t)(test_random(rng) >> 56);
    }
    return n * (4 + len);
}

static void strings_of_one_length_are_written_as_zstd_reads_them(void **state)
{
    (void)state;
    static const size_t counts[] = {15, 16, 130, 3000, 15000};
    uint64_t rng = test_seed(4);
    enum { LEN_MAX = 50 };
    size_t most = 15000 * (4 + LEN_MAX) + 1000, taken = 0, coded = 0;
    uint8_t *data = tl_alloc(most), *back = tl_alloc(most), *by_zstd = tl_alloc(ZSTD_compressBound(most));
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_minMatch, 7);
    for (size_t c = 0; c < TL_ARRAY_LEN(counts) * 80; c++) {
        size_t n = counts[c / 80], before = c % 3 == 0 ? 0 : c % 7 == 0 ? 400 : c % 40;
        uint32_t len = 1 + (uint32_t)(test_random(&rng) % LEN_MAX), own = 1 + (uint32_t)(test_random(&rng) % TL_MIN(len, 18));
        uint32_t from = (uint32_t)(test_random(&rng) % (len - own + 1));
        bool light = c % 2 == 1;
        memset(data, 0xa5, before);
        size_t bytes = before + strings(data + before, n, len, from, own, (int)(c / 2 % 2), &rng);
        tl_bytes_view view = {data, bytes};
        size_t got = tl_codec__zstd_numbers(zstd, view, before, TL_WIDTH_OF_STRINGS, light, by_zstd);
        taken += got != 0;
        coded += got != 0 && !light && c / 2 % 2 == 1;
        if (got == 0)
            continue;
        assert_true(got <= bytes + 40);
        if (ZSTD_decompress(back, most, by_zstd, got) != bytes || memcmp(back, data, bytes) != 0)
            fail_msg("%zu strings of %u bytes, their own from %u on %u, %zu bytes before: not read again", n, len, from, own, before);
        size_t want = ZSTD_compress(by_zstd, ZSTD_compressBound(bytes), data, bytes, 1);
        if (!light && got > want + want / 50 + 24 + 2 * (4 + len)) /* the first and the last are not compressed */
            fail_msg("%zu strings of %u bytes, their own from %u on %u: %zu bytes, by zstd %zu", n, len, from, own, got, want);
        data[before + (n / 2) * (4 + len)] ^= 1; /* the length of one */
        assert_int_equal(tl_codec__zstd_numbers(zstd, view, before, TL_WIDTH_OF_STRINGS, light, by_zstd), 0);
    }
    assert_true(taken >= 50 && coded >= 5);
    ZSTD_freeCCtx(zstd);
    tl_free(data);
    tl_free(back);
    tl_free(by_zstd);
}

/* Level 1, light or not: the bytes that come of the input. */
static size_t light_bytes_of(tl_bytes_view src, bool light)
{
    tl_compressor *c = NULL;
    tl_buf out = {0};
    assert_ok(tl_compressor_create(TL_CODEC_ZSTD, 1, &c, &err), &err);
    tl_compressor_set_light(c, light);
    assert_ok(tl_compress(c, src, &out, &err), &err);
    uint8_t *back = tl_alloc(src.len);
    assert_ok(tl_decompress(TL_CODEC_ZSTD, (tl_bytes_view){out.data, out.len}, back, src.len, &err), &err);
    assert_memory_equal(back, src.data, src.len);
    size_t bytes = out.len;
    tl_buf_deinit(&out);
    tl_free(back);
    tl_compressor_free(c);
    return bytes;
}

/* Random text is stored; what repeats, however far, is not, nor is anything by other levels. */
static void light_compression_saves_only_the_entropy_coder(void **state)
{
    (void)state;
    uint64_t rng = test_seed(5);
    static uint8_t data[20000];
    for (size_t n = 60; n <= sizeof data; n += n / 3) {
        for (size_t i = 0; i < n; i++)
            data[i] = (uint8_t)(' ' + test_random(&rng) % 64);
        assert_in_range(light_bytes_of((tl_bytes_view){data, n}, true), n, n + 12);
        assert_true(n < 300 || light_bytes_of((tl_bytes_view){data, n}, false) < n * 9 / 10);
    }
    for (size_t row = 0; (row + 1) * 400 <= sizeof data; row++) /* as rows of JSON: what comes once a row */
        for (size_t i = 0; i < 400; i++)
            data[row * 400 + i] = (uint8_t)(i % 40 < 25 ? 'a' + i * 7 / 40 : '0' + test_random(&rng) % 10);
    assert_true(light_bytes_of((tl_bytes_view){data, sizeof data}, true) < sizeof data / 2);
    tl_compressor *c = NULL;
    assert_ok(tl_compressor_create(TL_CODEC_ZSTD, 3, &c, &err), &err);
    tl_compressor_set_light(c, true);
    tl_buf one = {0}, other = compressed(TL_CODEC_ZSTD, 3, (tl_bytes_view){data, sizeof data});
    assert_ok(tl_compress(c, (tl_bytes_view){data, sizeof data}, &one, &err), &err);
    assert_int_equal(one.len, other.len);
    tl_compressor_free(c);
    tl_buf_deinit(&one);
    tl_buf_deinit(&other);
}

/* A dictionary's numbers: as good as random they are stored, skewed or in a cycle they are not. */
static void packed_numbers_are_judged_by_a_sample(void **state)
{
    (void)state;
    uint64_t rng = test_seed(7);
    static uint8_t data[9000], back[9000];
    tl_compressor *c = NULL;
    assert_ok(tl_compressor_create(TL_CODEC_ZSTD, 1, &c, &err), &err);
    for (size_t n = 1000; n <= sizeof data; n += n / 4) {
        for (int kind = 0; kind < 3; kind++) {
            fill(data, n, 7, &rng);
            for (size_t i = 0; kind == 1 && i < n; i++)
                data[i] &= 0x0f;
            for (size_t i = 70; kind == 2 && i < n; i++)
                data[i] = data[i - 70];
            tl_buf out = {0};
            assert_ok(tl_compress_values(c, (tl_bytes_view){data, n}, 7, TL_WIDTH_PACKED, &out, &err), &err);
            assert_ok(tl_decompress(TL_CODEC_ZSTD, (tl_bytes_view){out.data, out.len}, back, n, &err), &err);
            assert_memory_equal(back, data, n);
            if (kind == 0)
                assert_in_range(out.len, n * 99 / 100, n + 12);
            else
                assert_true(out.len < n * 2 / 3);
            tl_buf_deinit(&out);
        }
    }
    tl_compressor_free(c);
}

static void few_numbers_of_one_byte_need_no_dictionary(void **state)
{
    (void)state;
    uint64_t rng = test_seed(6);
    static int32_t v[4000];
    static const struct {
        size_t n;
        uint32_t range;
        bool want;
    } cases[] = {{10, 100, false}, {200, 200, true}, {2000, 100, false}, {200, 1000, false}, {4000, 256, false}, {200, 2, false}};
    tl_compressor *level1 = NULL, *level3 = NULL;
    assert_ok(tl_compressor_create(TL_CODEC_ZSTD, 1, &level1, &err), &err);
    assert_ok(tl_compressor_create(TL_CODEC_ZSTD, 3, &level3, &err), &err);
    for (size_t c = 0; c < TL_ARRAY_LEN(cases); c++) {
        for (size_t i = 0; i < cases[c].n; i++)
            v[i] = (int32_t)(test_random(&rng) % cases[c].range);
        tl_bytes_view view = {(const uint8_t *)v, cases[c].n * sizeof *v};
        assert_int_equal(tl_compress_beats_dictionary(level1, view, 4), cases[c].want);
        assert_false(tl_compress_beats_dictionary(level1, view, TL_WIDTH_OF_STRINGS));
        assert_false(tl_compress_beats_dictionary(level3, view, 4));
    }
    tl_compressor_free(level1);
    tl_compressor_free(level3);
}

static void a_wrong_size_is_corrupt(void **state)
{
    (void)state;
    size_t bytes = 5000;
    uint8_t *data = sample(bytes, 1), *back = tl_alloc(bytes + 1);
    for (size_t k = 0; k < TL_ARRAY_LEN(all_codecs); k++) {
        tl_buf packed = compressed(all_codecs[k], 0, (tl_bytes_view){data, bytes});
        tl_bytes_view view = {packed.data, packed.len};
        assert_int_equal(tl_decompress(all_codecs[k], view, back, bytes - 1, &err), TL_E_CORRUPT);
        assert_int_equal(tl_decompress(all_codecs[k], view, back, bytes + 1, &err), TL_E_CORRUPT);
        tl_buf_deinit(&packed);
    }
    tl_free(back);
    tl_free(data);
}

/* Any result but a crash; for cut input never success. */
static void damaged_input_is_an_error_or_other_bytes(void **state)
{
    (void)state;
    uint64_t rng = test_seed(7);
    size_t bytes = 3000;
    uint8_t *data = sample(bytes, 2), *back = tl_alloc(bytes);
    for (size_t k = 1; k < TL_ARRAY_LEN(all_codecs); k++) {
        tl_buf packed = compressed(all_codecs[k], 0, (tl_bytes_view){data, bytes});
        for (int round = 0; round < 200; round++) {
            size_t len = test_random(&rng) % packed.len;
            uint8_t *copy = tl_memdup(packed.data, packed.len);
            assert_int_equal(tl_decompress(all_codecs[k], (tl_bytes_view){copy, len}, back, bytes, &err), TL_E_CORRUPT);
            copy[test_random(&rng) % packed.len] ^= (uint8_t)(1 + test_random(&rng) % 255);
            (void)tl_decompress(all_codecs[k], (tl_bytes_view){copy, packed.len}, back, bytes, &err);
            tl_buf out = {0};
            (void)tl_decompress_append(all_codecs[k], (tl_bytes_view){copy, packed.len}, bytes * 2, &out, &err);
            assert_true(out.len <= bytes * 2 + 1);
            tl_buf_deinit(&out);
            tl_free(copy);
        }
        tl_buf_deinit(&packed);
    }
    tl_free(back);
    tl_free(data);
}

static void output_of_unknown_size_grows_up_to_its_limit(void **state)
{
    (void)state;
    static const tl_codec codecs[] = {TL_CODEC_NONE,   TL_CODEC_ZSTD,    TL_CODEC_SNAPPY, TL_CODEC_GZIP,
                                      TL_CODEC_BROTLI, TL_CODEC_DEFLATE, TL_CODEC_BZIP2,  TL_CODEC_XZ, TL_CODEC_ZLIB};
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 100000};
    for (size_t k = 0; k < TL_ARRAY_LEN(codecs); k++) {
        for (size_t s = 0; s < TL_ARRAY_LEN(sizes); s++) {
            uint8_t *data = sample(sizes[s], s);
            tl_buf packed = compressed(codecs[k], 0, (tl_bytes_view){data, sizes[s]}), out = {0};
            tl_bytes_view view = {packed.data, packed.len};
            assert_int_equal(tl_buf_append_str(&out, "before"), TL_OK);
            assert_ok(tl_decompress_append(codecs[k], view, sizes[s], &out, &err), &err);
            assert_int_equal(out.len, sizes[s] + 6);
            assert_memory_equal(out.data, "before", 6);
            assert_memory_equal(out.data + 6, data, sizes[s]);
            if (sizes[s] > 0)
                assert_int_equal(tl_decompress_append(codecs[k], view, sizes[s] - 1, &out, &err), TL_E_LIMIT);
            tl_buf_deinit(&out);
            tl_buf_deinit(&packed);
            tl_free(data);
        }
    }
}

static void a_bomb_stops_at_the_limit(void **state)
{
    (void)state;
    size_t bytes = 64 << 20;
    uint8_t *zeros = tl_calloc(bytes, 1);
    static const tl_codec codecs[] = {TL_CODEC_ZSTD, TL_CODEC_GZIP, TL_CODEC_BROTLI, TL_CODEC_BZIP2};
    for (size_t k = 0; k < TL_ARRAY_LEN(codecs); k++) {
        tl_buf packed = compressed(codecs[k], 1, (tl_bytes_view){zeros, bytes}), out = {0};
        assert_fails(tl_decompress_append(codecs[k], (tl_bytes_view){packed.data, packed.len}, 1 << 20, &out, &err), TL_E_LIMIT,
                     &err, "more than");
        assert_true(out.cap <= 4 << 20);
        tl_buf_deinit(&out);
        tl_buf_deinit(&packed);
    }
    tl_free(zeros);
}

static void impossible_ratios_are_told_before_memory_is_taken(void **state)
{
    (void)state;
    size_t bytes = 128 << 10;
    uint8_t *zeros = tl_calloc(bytes, 1);
    static const tl_codec codecs[] = {TL_CODEC_NONE, TL_CODEC_ZSTD, TL_CODEC_LZ4_RAW, TL_CODEC_SNAPPY, TL_CODEC_GZIP};
    for (size_t k = 0; k < TL_ARRAY_LEN(codecs); k++) {
        tl_buf packed = compressed(codecs[k], 0, (tl_bytes_view){zeros, bytes});
        tl_bytes_view view = {packed.data, packed.len};
        assert_true(tl_codec_is_plausible(codecs[k], view, bytes));
        assert_false(tl_codec_is_plausible(codecs[k], view, bytes << 10));
        tl_buf_deinit(&packed);
    }
    tl_free(zeros);
    assert_false(tl_codec_is_plausible(TL_CODEC_ZSTD, (tl_bytes_view){(const uint8_t *)"nothing", 7}, 100));
}

static void lz4_of_old_files_comes_in_three_shapes(void **state)
{
    (void)state;
    size_t bytes = 9000;
    uint8_t *data = sample(bytes, 5), *back = tl_alloc(bytes);
    tl_buf raw = compressed(TL_CODEC_LZ4_RAW, 0, (tl_bytes_view){data, bytes});
    assert_ok(tl_decompress(TL_CODEC_LZ4_HADOOP, (tl_bytes_view){raw.data, raw.len}, back, bytes, &err), &err);
    assert_memory_equal(back, data, bytes);
    tl_buf first = compressed(TL_CODEC_LZ4_HADOOP, 0, (tl_bytes_view){data, 4000});
    tl_buf second = compressed(TL_CODEC_LZ4_HADOOP, 0, (tl_bytes_view){data + 4000, bytes - 4000});
    assert_int_equal(tl_buf_append(&first, second.data, second.len), TL_OK);
    memset(back, 0, bytes);
    assert_ok(tl_decompress(TL_CODEC_LZ4_HADOOP, (tl_bytes_view){first.data, first.len}, back, bytes, &err), &err);
    assert_memory_equal(back, data, bytes);
    tl_buf_deinit(&raw);
    tl_buf_deinit(&first);
    tl_buf_deinit(&second);
    tl_free(back);
    tl_free(data);
}

static void gzip_members_after_each_other_are_one_page(void **state)
{
    (void)state;
    uint8_t back[8];
    tl_buf one = compressed(TL_CODEC_GZIP, 0, (tl_bytes_view){(const uint8_t *)"abc", 3});
    tl_buf two = compressed(TL_CODEC_GZIP, 0, (tl_bytes_view){(const uint8_t *)"defgh", 5});
    assert_int_equal(tl_buf_append(&one, two.data, two.len), TL_OK);
    assert_ok(tl_decompress(TL_CODEC_GZIP, (tl_bytes_view){one.data, one.len}, back, 8, &err), &err);
    assert_memory_equal(back, "abcdefgh", 8);
    tl_buf out = {0};
    assert_ok(tl_decompress_append(TL_CODEC_GZIP, (tl_bytes_view){one.data, one.len}, 100, &out, &err), &err);
    assert_int_equal(out.len, 8);
    tl_buf_deinit(&out);
    tl_buf_deinit(&one);
    tl_buf_deinit(&two);
}

static void formats_are_found_by_name_and_by_file(void **state)
{
    (void)state;
    const tl_format *format = NULL;
    assert_ok(tl_format_find("parquet", &format, &err), &err);
    assert_ptr_equal(format, &tl_format_parquet);
    assert_ok(tl_format_find("AVRO", &format, &err), &err);
    assert_ptr_equal(format, &tl_format_avro);
    assert_ok(tl_format_find("orc", &format, &err), &err);
    assert_ptr_equal(format, &tl_format_orc);
    assert_fails(tl_format_find("lance", &format, &err), TL_E_UNSUPPORTED, &err, "'lance'");
    assert_fails(tl_format_find("exe", &format, &err), TL_E_INVALID, &err, "'exe'");
    assert_ok(tl_format_of_file("/a.b/data-1-2.zstd.parquet", &format, &err), &err);
    assert_ptr_equal(format, &tl_format_parquet);
    assert_ok(tl_format_of_file("data-1.avro.gz", &format, &err), &err);
    assert_ptr_equal(format, &tl_format_avro);
    assert_ok(tl_format_of_file("/w/data-1.csv.gz", &format, &err), &err);
    assert_ptr_equal(format, &tl_format_csv);
    assert_fails(tl_format_of_file("/w/data-1.lance", &format, &err), TL_E_UNSUPPORTED, &err, "data-1.lance");
    assert_fails(tl_format_of_file("/w.d/data", &format, &err), TL_E_INVALID, &err, "no extension");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_codec_gives_back_what_it_got),
        cmocka_unit_test(lzo_finds_what_repeats_at_any_distance),
        cmocka_unit_test(a_compressor_is_used_again_and_again),
        cmocka_unit_test(short_inputs_are_judged_as_zstd_does),
        cmocka_unit_test(numbers_are_written_as_zstd_reads_them),
        cmocka_unit_test(strings_of_one_length_are_written_as_zstd_reads_them),
        cmocka_unit_test(light_compression_saves_only_the_entropy_coder),
        cmocka_unit_test(packed_numbers_are_judged_by_a_sample),
        cmocka_unit_test(few_numbers_of_one_byte_need_no_dictionary),
        cmocka_unit_test(a_wrong_size_is_corrupt),
        cmocka_unit_test(damaged_input_is_an_error_or_other_bytes),
        cmocka_unit_test(output_of_unknown_size_grows_up_to_its_limit),
        cmocka_unit_test(a_bomb_stops_at_the_limit),
        cmocka_unit_test(impossible_ratios_are_told_before_memory_is_taken),
        cmocka_unit_test(lz4_of_old_files_comes_in_three_shapes),
        cmocka_unit_test(gzip_members_after_each_other_are_one_page),
        cmocka_unit_test(formats_are_found_by_name_and_by_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
