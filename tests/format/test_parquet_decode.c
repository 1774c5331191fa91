/* Value decoders against slow models: bit unpacking, hybrid runs, deltas, byte streams, nulls between values. */
#include "format/expand.h"
#include "format/parquet/decode.h"
#include "support/test.h"

static tl_error err;

/* ---- models ---- */

static void put_bits(uint8_t *buf, uint64_t at, int width, uint64_t v)
{
    for (int b = 0; b < width; b++)
        if (v >> b & 1)
            tl_bit_set(buf, (int64_t)(at + (unsigned)b));
}

static uint64_t random_bits(uint64_t *rng, int width)
{
    uint64_t v = test_random(rng);
    return width == 0 ? 0 : width == 64 ? v : v & ((UINT64_C(1) << width) - 1);
}

static int64_t piece(uint64_t *rng, uint64_t below, int64_t max)
{
    int64_t n = (int64_t)(test_random(rng) % below);
    return TL_MIN(n, max);
}

/* Exactly as large as the contract says, so that the sanitizer sees every read behind the slack. */
static uint8_t *packed_values(const uint64_t *values, int64_t n, int width)
{
    size_t bytes = ((size_t)n * (size_t)width + 7) / 8;
    uint8_t *buf = tl_calloc(bytes + TL_PQ_SLACK, 1);
    for (int64_t i = 0; i < n; i++)
        put_bits(buf, (uint64_t)i * (unsigned)width, width, values[i]);
    return buf;
}

/* ---- bits ---- */

static void every_width_unpacks_from_every_place(void **state)
{
    (void)state;
    uint64_t rng = test_seed(1), values[200];
    for (int width = 0; width <= 64; width++) {
        for (int i = 0; i < 200; i++)
            values[i] = random_bits(&rng, width);
        uint8_t *packed = packed_values(values, 200, width);
        for (int round = 0; round < 40; round++) {
            int64_t from = (int64_t)(test_random(&rng) % 200), n = (int64_t)(test_random(&rng) % (uint64_t)(201 - from));
            uint64_t *out64 = tl_alloc((size_t)n * 8);
            uint32_t *out32 = tl_alloc((size_t)n * 4);
            uint8_t *out8 = tl_alloc((size_t)n);
            tl_pq__unpack_u64(packed, width, from, n, out64);
            if (width <= 32)
                tl_pq__unpack_u32(packed, width, from, n, out32);
            if (width <= 8)
                tl_pq__unpack_u8(packed, width, from, n, out8);
            for (int64_t i = 0; i < n; i++) {
                assert_int_equal(out64[i], values[from + i]);
                if (width <= 32)
                    assert_int_equal(out32[i], values[from + i]);
                if (width <= 8)
                    assert_int_equal(out8[i], values[from + i]);
            }
            tl_free(out64);
            tl_free(out32);
            tl_free(out8);
        }
        tl_free(packed);
    }
}

static void levels_of_old_files_have_their_high_bit_first(void **state)
{
    (void)state;
    uint8_t out[8], packed[3 + TL_PQ_SLACK] = {0x05, 0x39, 0x77}; /* 000 001 010 011 100 101 110 111 */
    tl_pq__unpack_u8_msb(packed, 3, 0, 8, out);
    for (int i = 0; i < 8; i++)
        assert_int_equal(out[i], i);
}

static void byte_streams_come_together(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 3, 4, 7, 8, 12, 16};
    uint64_t rng = test_seed(2);
    for (size_t w = 0; w < TL_ARRAY_LEN(widths); w++) {
        int width = widths[w];
        int64_t total = 77;
        uint8_t values[77 * 16], *streams = tl_alloc((size_t)total * (size_t)width), out[77 * 16];
        for (int64_t i = 0; i < total * width; i++) {
            values[i] = (uint8_t)test_random(&rng);
            streams[i % width * total + i / width] = values[i];
        }
        for (int64_t from = 0; from < total; from += 13) {
            int64_t n = TL_MIN(total - from, 40);
            tl_pq__unsplit(streams, total, width, from, n, out);
            assert_memory_equal(out, values + from * width, (size_t)(n * width));
        }
        tl_free(streams);
    }
}

/* ---- runs ---- */

typedef struct hybrid {
    tl_buf bytes;
    uint32_t values[4000];
    int64_t n;
} hybrid;

/* Runs and groups of random lengths, with the values that they mean. */
static void make_hybrid(hybrid *h, int width, uint64_t *rng)
{
    uint8_t head[10];
    h->n = 0;
    while (h->n < 3000) {
        bool is_packed = test_random(rng) % 2 == 0;
        uint64_t count = test_random(rng) % (is_packed ? 12 : 100);
        assert_int_equal(tl_buf_append(&h->bytes, head, tl_varint_encode(count << 1 | is_packed, head)), TL_OK);
        if (is_packed) {
            uint64_t values[96];
            for (uint64_t i = 0; i < count * 8; i++)
                h->values[h->n++] = (uint32_t)(values[i] = random_bits(rng, width));
            uint8_t *packed = packed_values(values, (int64_t)count * 8, width);
            assert_int_equal(tl_buf_append(&h->bytes, packed, count * (unsigned)width), TL_OK);
            tl_free(packed);
        } else {
            uint32_t v = (uint32_t)random_bits(rng, width);
            for (uint64_t i = 0; i < count; i++)
                h->values[h->n++] = v;
            assert_int_equal(tl_buf_append(&h->bytes, &v, ((size_t)width + 7) / 8), TL_OK);
        }
    }
    assert_int_equal(tl_buf_reserve(&h->bytes, TL_PQ_SLACK), TL_OK);
}

static void runs_and_groups_give_their_values_in_any_pieces(void **state)
{
    (void)state;
    uint64_t rng = test_seed(3);
    for (int width = 0; width <= 32; width++) {
        hybrid h = {0};
        make_hybrid(&h, width, &rng);
        tl_pq_rle rle;
        tl_pq__rle_init(&rle, (tl_bytes_view){h.bytes.data, h.bytes.len}, width);
        for (int64_t at = 0; at < h.n;) {
            int64_t n = piece(&rng, 300, h.n - at);
            int kind = (int)(test_random(&rng) % 3);
            if (kind == 0) {
                assert_true(tl_pq__rle_skip(&rle, n));
            } else if (kind == 1 && width <= 8) {
                uint8_t out[300];
                assert_true(tl_pq__rle_u8(&rle, n, out));
                for (int64_t i = 0; i < n; i++)
                    assert_int_equal(out[i], h.values[at + i]);
            } else {
                uint32_t out[300];
                assert_true(tl_pq__rle_u32(&rle, n, out));
                for (int64_t i = 0; i < n; i++)
                    assert_int_equal(out[i], h.values[at + i]);
            }
            at += n;
        }
        assert_false(tl_pq__rle_skip(&rle, 1));
        tl_buf_deinit(&h.bytes);
    }
}

static void levels_of_one_bit_become_a_bitmap(void **state)
{
    (void)state;
    uint64_t rng = test_seed(4);
    for (int round = 0; round < 30; round++) {
        hybrid h = {0};
        make_hybrid(&h, 1, &rng);
        uint8_t *bits = tl_calloc(tl_bitmap_bytes(h.n) + 8, 1);
        bool *skipped = tl_calloc((size_t)h.n, sizeof *skipped);
        tl_pq_rle rle;
        tl_pq__rle_init(&rle, (tl_bytes_view){h.bytes.data, h.bytes.len}, 1);
        int64_t ones = 0, want = 0, out = 0;
        for (int64_t at = 0; at < h.n;) {
            int64_t n = piece(&rng, 900, h.n - at);
            bool skip = test_random(&rng) % 3 == 0;
            assert_true(skip ? tl_pq__rle_skip_ones(&rle, n, &ones) : tl_pq__rle_bitmap(&rle, n, bits, out, &ones));
            for (int64_t i = at; i < at + n; i++) {
                want += h.values[i];
                skipped[i] = skip;
                if (!skip)
                    assert_int_equal(tl_bit_get(bits, out++), h.values[i]);
            }
            assert_int_equal(ones, want);
            at += n;
        }
        tl_free(skipped);
        tl_free(bits);
        tl_buf_deinit(&h.bytes);
    }
}

static void cut_runs_end_early(void **state)
{
    (void)state;
    uint32_t out[64];
    uint8_t run_without_value[1 + TL_PQ_SLACK] = {20}, group_cut[3 + TL_PQ_SLACK] = {2 << 1 | 1, 0xff, 0xff};
    uint8_t endless[11 + TL_PQ_SLACK];
    memset(endless, 0xff, sizeof endless);
    tl_pq_rle rle;
    tl_pq__rle_init(&rle, (tl_bytes_view){run_without_value, 1}, 8);
    assert_false(tl_pq__rle_u32(&rle, 1, out));
    tl_pq__rle_init(&rle, (tl_bytes_view){group_cut, 3}, 3); /* 16 values of 3 bits need 6 bytes; 2 hold 5 */
    assert_true(tl_pq__rle_u32(&rle, 5, out));
    assert_false(tl_pq__rle_u32(&rle, 1, out));
    tl_pq__rle_init(&rle, (tl_bytes_view){endless, 11}, 8);
    assert_false(tl_pq__rle_u32(&rle, 1, out));
    uint8_t too_wide[2 + TL_PQ_SLACK] = {20, 8}; /* a run's value fills a byte, of which only 3 bits may be set */
    tl_pq__rle_init(&rle, (tl_bytes_view){too_wide, 2}, 3);
    assert_false(tl_pq__rle_u32(&rle, 1, out));
    tl_pq__rle_init(&rle, (tl_bytes_view){endless, 0}, 1);
    assert_true(tl_pq__rle_u32(&rle, 0, out));
    /* 2^63 - 1 groups of values without bits: as many as anybody asks for, all 0 (this divided by the width) */
    uint8_t most_groups[10 + TL_PQ_SLACK] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    out[63] = 1;
    tl_pq__rle_init(&rle, (tl_bytes_view){most_groups, 10}, 0);
    assert_true(tl_pq__rle_u32(&rle, 64, out));
    assert_int_equal(out[63], 0);
    assert_true(tl_pq__rle_skip(&rle, INT32_MAX));
}

/* ---- deltas ---- */

static void put_varint(tl_buf *buf, uint64_t v)
{
    uint8_t bytes[10];
    assert_int_equal(tl_buf_append(buf, bytes, tl_varint_encode(v, bytes)), TL_OK);
}

/* As a writer does it, with a block size of its own. */
static tl_buf delta_stream(const int64_t *values, int64_t n, uint64_t block, uint64_t minis)
{
    tl_buf out = {0};
    uint64_t per_mini = block / minis;
    put_varint(&out, block);
    put_varint(&out, minis);
    put_varint(&out, (uint64_t)n);
    put_varint(&out, tl_zigzag64(n > 0 ? values[0] : 0));
    for (int64_t at = 1; at < n; at += (int64_t)block) {
        int64_t end = TL_MIN(n, at + (int64_t)block), min = INT64_MAX;
        for (int64_t i = at; i < end; i++)
            min = TL_MIN(min, (int64_t)((uint64_t)values[i] - (uint64_t)values[i - 1]));
        put_varint(&out, tl_zigzag64(min));
        size_t widths = out.len;
        for (uint64_t m = 0; m < minis; m++)
            assert_int_equal(tl_buf_append_byte(&out, 0), TL_OK);
        for (uint64_t m = 0; m < minis && at + (int64_t)(m * per_mini) < end; m++) {
            uint64_t deltas[512] = {0}, top = 0;
            for (uint64_t i = 0; i < per_mini && at + (int64_t)(m * per_mini + i) < end; i++) {
                int64_t k = at + (int64_t)(m * per_mini + i);
                deltas[i] = (uint64_t)values[k] - (uint64_t)values[k - 1] - (uint64_t)min;
                top |= deltas[i];
            }
            int width = top == 0 ? 0 : 64 - __builtin_clzll(top);
            out.data[widths + m] = (uint8_t)width;
            uint8_t *packed = packed_values(deltas, (int64_t)per_mini, width);
            assert_int_equal(tl_buf_append(&out, packed, per_mini / 8 * (unsigned)width), TL_OK);
            tl_free(packed);
        }
    }
    return out;
}

static void deltas_add_up(void **state)
{
    (void)state;
    static const uint64_t shapes[][2] = {{128, 4}, {32, 1}, {512, 1}, {256, 8}};
    uint64_t rng = test_seed(5);
    for (int round = 0; round < 200; round++) {
        int64_t n = (int64_t)(test_random(&rng) % 1500), values[1500], out[1500];
        int width = (int)(test_random(&rng) % 65);
        for (int64_t i = 0; i < n; i++)
            values[i] = (int64_t)random_bits(&rng, width);
        const uint64_t *shape = shapes[test_random(&rng) % TL_ARRAY_LEN(shapes)];
        tl_buf stream = delta_stream(values, n, shape[0], shape[1]);
        size_t len = stream.len;
        assert_int_equal(tl_buf_reserve(&stream, TL_PQ_SLACK), TL_OK);
        tl_pq_delta delta;
        const uint8_t *end;
        assert_ok(tl_pq__delta_init(&delta, (tl_bytes_view){stream.data, len}, &err), &err);
        assert_ok(tl_pq__delta_end(&delta, &end, &err), &err);
        assert_ptr_equal(end, stream.data + len);
        for (int64_t at = 0; at < n;) {
            int64_t k = piece(&rng, 400, n - at);
            if (test_random(&rng) % 4 == 0) {
                assert_ok(tl_pq__delta_skip(&delta, k, &err), &err);
            } else {
                assert_ok(tl_pq__delta_i64(&delta, k, out, &err), &err);
                assert_memory_equal(out, values + at, (size_t)k * sizeof *out);
            }
            at += k;
        }
        assert_fails(tl_pq__delta_i64(&delta, 1, out, &err), TL_E_CORRUPT, &err, "fewer values");
        tl_buf_deinit(&stream);
    }
}

static void delta_headers_are_checked(void **state)
{
    (void)state;
    static const struct {
        uint64_t block, minis, total;
    } bad[] = {{0, 4, 1},    {128, 0, 1}, {100, 4, 1}, {128, 3, 1}, {UINT64_C(1) << 40, 4, 1}, {128, 4, UINT64_MAX},
               {128, 256, 1}};
    for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++) {
        tl_buf buf = {0};
        put_varint(&buf, bad[i].block);
        put_varint(&buf, bad[i].minis);
        put_varint(&buf, bad[i].total);
        put_varint(&buf, 0);
        tl_pq_delta delta;
        assert_int_equal(tl_pq__delta_init(&delta, (tl_bytes_view){buf.data, buf.len}, &err), TL_E_CORRUPT);
        tl_buf_deinit(&buf);
    }
}

/* Billions of values in a few bytes take no time and no memory until they are asked for. */
static void a_huge_count_costs_nothing(void **state)
{
    (void)state;
    tl_buf buf = {0};
    put_varint(&buf, 128);
    put_varint(&buf, 4);
    put_varint(&buf, UINT64_C(1) << 60);
    put_varint(&buf, 0);
    put_varint(&buf, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(tl_buf_append_byte(&buf, 0), TL_OK);
    tl_pq_delta delta;
    const uint8_t *end;
    assert_ok(tl_pq__delta_init(&delta, (tl_bytes_view){buf.data, buf.len}, &err), &err);
    assert_fails(tl_pq__delta_end(&delta, &end, &err), TL_E_CORRUPT, &err, "truncated");
    tl_buf_deinit(&buf);
}

/* ---- nulls ---- */

static void values_move_to_their_slots(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 4, 8, 16};
    uint64_t rng = test_seed(6);
    for (int round = 0; round < 400; round++) {
        int64_t n = (int64_t)(test_random(&rng) % 300), dense = 0;
        uint64_t mode = test_random(&rng) % 4;
        uint8_t *validity = tl_calloc(tl_bitmap_bytes(n), 1);
        for (int64_t i = 0; i < n; i++) {
            bool valid = mode == 0 ? true : mode == 1 ? false : mode == 2 ? test_random(&rng) % 3 != 0 : i / 70 % 2 == 0;
            tl_bit_put(validity, i, valid);
            dense += valid;
        }
        int width = widths[test_random(&rng) % TL_ARRAY_LEN(widths)];
        uint8_t *values = tl_alloc_aligned((size_t)(n * width)), *copy = tl_alloc((size_t)(n * width));
        int32_t *offsets = tl_alloc(((size_t)n + 1) * sizeof *offsets), *ends = tl_alloc(((size_t)n + 1) * sizeof *ends);
        for (int64_t i = 0; i < n * width; i++)
            values[i] = (uint8_t)test_random(&rng);
        memcpy(copy, values, (size_t)(n * width));
        for (int64_t i = 0; i <= n; i++)
            ends[i] = offsets[i] = (int32_t)(i * 3);
        tl_format__expand_fixed(values, width, validity, n, dense);
        tl_format__expand_offsets(offsets, validity, n, dense);
        static const uint8_t zeros[16];
        int64_t k = 0;
        for (int64_t i = 0; i < n; i++) {
            bool valid = tl_bit_get(validity, i);
            assert_memory_equal(values + i * width, valid ? copy + k * width : zeros, (size_t)width);
            assert_int_equal(offsets[i], ends[k]);
            k += valid;
            assert_int_equal(offsets[i + 1], ends[k]);
        }
        tl_free(ends);
        tl_free(offsets);
        tl_free(copy);
        tl_free(values);
        tl_free(validity);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_unpacks_from_every_place),
        cmocka_unit_test(levels_of_old_files_have_their_high_bit_first),
        cmocka_unit_test(byte_streams_come_together),
        cmocka_unit_test(runs_and_groups_give_their_values_in_any_pieces),
        cmocka_unit_test(levels_of_one_bit_become_a_bitmap),
        cmocka_unit_test(cut_runs_end_early),
        cmocka_unit_test(deltas_add_up),
        cmocka_unit_test(delta_headers_are_checked),
        cmocka_unit_test(a_huge_count_costs_nothing),
        cmocka_unit_test(values_move_to_their_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
