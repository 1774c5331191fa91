/* The Parquet writer's encoders, by decoding what they give and by a look at its size. */
#include "format/parquet/decode.h"
#include "format/parquet/write_private.h"
#include "support/random_column.h"

/* Decoders read beyond the end. */
static void add_slack(tl_buf *buf)
{
    assert_int_equal(tl_buf_reserve(buf, TL_PQ_SLACK), TL_OK);
    memset(buf->data + buf->len, 0xaa, TL_PQ_SLACK);
}

/* Runs and noise: what a hybrid encoder has to tell apart. */
static void random_runs(uint32_t *v, int64_t n, uint32_t mask, uint64_t *rng)
{
    for (int64_t i = 0; i < n;) {
        uint64_t r = test_random(rng);
        int64_t len = r % 3 == 0 ? (int64_t)(r >> 8) % 200 : (int64_t)(r >> 8) % 12;
        uint32_t value = (uint32_t)(r >> 32) & mask;
        bool noise = r % 3 == 1;
        for (; len >= 0 && i < n; len--, i++)
            v[i] = noise ? (uint32_t)test_random(rng) & mask : value;
    }
}

static void numbers_of_every_width_come_back(void **state)
{
    (void)state;
    uint64_t rng = test_seed(1);
    for (int width = 0; width <= 32; width++) {
        for (int round = 0; round < 20; round++) {
            int64_t n = 1 + (int64_t)(test_random(&rng) % 700);
            uint32_t *v = calloc((size_t)n, sizeof *v), *got = calloc((size_t)n, sizeof *got);
            random_runs(v, n, width == 32 ? UINT32_MAX : (uint32_t)((UINT64_C(1) << width) - 1), &rng);
            tl_buf out = {0};
            assert_int_equal(tl_pq__hybrid_u32(v, n, width, &out), TL_OK);
            size_t len = out.len;
            add_slack(&out);
            tl_pq_rle rle;
            tl_pq__rle_init(&rle, (tl_bytes_view){out.data, len}, width);
            assert_true(tl_pq__rle_u32(&rle, n, got));
            assert_memory_equal(v, got, (size_t)n * sizeof *v);
            assert_true(len <= (size_t)((n + 7) / 8 * width) + 10); /* never much longer than packed */
            tl_buf_deinit(&out);
            free(v);
            free(got);
        }
    }
}

static void levels_come_back(void **state)
{
    (void)state;
    uint64_t rng = test_seed(2);
    for (int round = 0; round < 300; round++) {
        int width = 1 + (int)(test_random(&rng) % 8);
        int64_t n = 1 + (int64_t)(test_random(&rng) % 900);
        uint32_t *runs = calloc((size_t)n, sizeof *runs);
        uint8_t *v = calloc((size_t)n, 1), *got = calloc((size_t)n, 1);
        random_runs(runs, n, (1u << width) - 1, &rng);
        for (int64_t i = 0; i < n; i++)
            v[i] = (uint8_t)runs[i];
        tl_buf out = {0};
        assert_int_equal(tl_pq__hybrid_u8(v, n, width, &out), TL_OK);
        size_t len = out.len;
        add_slack(&out);
        tl_pq_rle rle;
        tl_pq__rle_init(&rle, (tl_bytes_view){out.data, len}, width);
        assert_true(tl_pq__rle_u8(&rle, n, got));
        assert_memory_equal(v, got, (size_t)n);
        tl_buf_deinit(&out);
        free(runs);
        free(v);
        free(got);
    }
}

static void bitmaps_come_back(void **state)
{
    (void)state;
    uint64_t rng = test_seed(3);
    for (int round = 0; round < 300; round++) {
        int64_t n = 1 + (int64_t)(test_random(&rng) % 2000);
        uint32_t *runs = calloc((size_t)n, sizeof *runs);
        uint8_t *bits = calloc(tl_bitmap_bytes(n) + 8, 1), *got = calloc((size_t)n, 1);
        random_runs(runs, n, 1, &rng);
        for (int64_t i = 0; i < n; i++)
            tl_bit_put(bits, i, runs[i] != 0);
        tl_buf out = {0};
        assert_int_equal(tl_pq__hybrid_bits(bits, n, &out), TL_OK);
        size_t len = out.len;
        add_slack(&out);
        tl_pq_rle rle;
        tl_pq__rle_init(&rle, (tl_bytes_view){out.data, len}, 1);
        assert_true(tl_pq__rle_u8(&rle, n, got));
        for (int64_t i = 0; i < n; i++)
            assert_int_equal(got[i], runs[i]);
        tl_buf_deinit(&out);
        free(runs);
        free(bits);
        free(got);
    }
}

static void long_runs_cost_a_few_bytes(void **state)
{
    (void)state;
    uint32_t *v = calloc(100000, sizeof *v);
    tl_buf out = {0};
    assert_int_equal(tl_pq__hybrid_u32(v, 100000, 17, &out), TL_OK);
    assert_int_equal(out.len, 3 + 3);
    tl_buf_deinit(&out);
    free(v);
}

static void differences_come_back(void **state)
{
    (void)state;
    uint64_t rng = test_seed(4);
    tl_error err;
    for (int round = 0; round < 300; round++) {
        int64_t n = (int64_t)(test_random(&rng) % 600);
        int64_t *v = calloc((size_t)n + 1, sizeof *v), *got = calloc((size_t)n + 1, sizeof *got);
        int32_t *w = calloc((size_t)n + 1, sizeof *w), *got32 = calloc((size_t)n + 1, sizeof *got32);
        int kind = (int)(test_random(&rng) % 3);
        for (int64_t i = 0; i < n; i++) {
            v[i] = kind == 0 ? (int64_t)test_random(&rng) : kind == 1 ? i * 1000 : (int64_t)(test_random(&rng) % 100);
            w[i] = (int32_t)v[i];
        }
        tl_buf out = {0};
        assert_int_equal(tl_pq__put_delta_i64(v, n, &out), TL_OK);
        size_t len = out.len;
        add_slack(&out);
        tl_pq_delta delta;
        assert_ok(tl_pq__delta_init(&delta, (tl_bytes_view){out.data, len}, &err), &err);
        assert_int_equal(delta.total, n);
        assert_ok(tl_pq__delta_i64(&delta, n, got, &err), &err);
        assert_memory_equal(v, got, (size_t)n * sizeof *v);
        if (kind == 1 && n > 130)
            assert_true(len < (size_t)n); /* equal differences take no bits */
        out.len = 0;
        assert_int_equal(tl_pq__put_delta_i32(w, n, &out), TL_OK);
        len = out.len;
        add_slack(&out);
        assert_ok(tl_pq__delta_init(&delta, (tl_bytes_view){out.data, len}, &err), &err);
        assert_ok(tl_pq__delta_i32(&delta, n, got32, &err), &err);
        assert_memory_equal(w, got32, (size_t)n * sizeof *w);
        tl_buf_deinit(&out);
        free(v);
        free(got);
        free(w);
        free(got32);
    }
}

/* ---- kernels ---- */

static void kernels_leave_out_nulls(void **state)
{
    (void)state;
    uint64_t rng = test_seed(5);
    const tl_pq_kernels *kernels = tl_pq__kernels();
    for (int round = 0; round < 300; round++) {
        int64_t n = 1 + (int64_t)(test_random(&rng) % 400);
        int64_t from = (int64_t)(test_random(&rng) % (uint64_t)n);
        int64_t count = (int64_t)(test_random(&rng) % (uint64_t)(n - from + 1));
        /* Exact allocations: a sanitizer sees reads beyond them. */
        uint32_t *v32 = malloc((size_t)n * sizeof *v32), *got32 = malloc((size_t)(count + 8) * sizeof *got32);
        uint64_t *v64 = malloc((size_t)n * sizeof *v64), *got64 = malloc((size_t)(count + 8) * sizeof *got64);
        uint8_t *bits = malloc(tl_bitmap_bytes(n));
        unsigned percent = (unsigned)(test_random(&rng) % 101);
        memset(bits, 0, tl_bitmap_bytes(n));
        for (int64_t i = 0; i < n; i++) {
            v32[i] = (uint32_t)(v64[i] = test_random(&rng));
            tl_bit_put(bits, i, test_random(&rng) % 100 < percent);
        }
        int64_t n32 = kernels->compress32(v32, bits, from, count, got32);
        int64_t n64 = kernels->compress64(v64, bits, from, count, got64);
        int64_t k = 0;
        for (int64_t i = from; i < from + count; i++) {
            if (!tl_bit_get(bits, i))
                continue;
            assert_int_equal(got32[k], v32[i]);
            assert_true(got64[k] == v64[i]);
            k++;
        }
        assert_int_equal(n32, k);
        assert_int_equal(n64, k);
        free(v32);
        free(got32);
        free(v64);
        free(got64);
        free(bits);
    }
}

static void kernels_find_the_bounds(void **state)
{
    (void)state;
    uint64_t rng = test_seed(6);
    const tl_pq_kernels *kernels = tl_pq__kernels();
    for (int round = 0; round < 200; round++) {
        int64_t n = 1 + (int64_t)(test_random(&rng) % 100);
        int32_t v32[100], min32 = 0, max32 = 0, low32 = INT32_MAX, high32 = INT32_MIN;
        int64_t v64[100], min64 = 0, max64 = 0, low64 = INT64_MAX, high64 = INT64_MIN;
        for (int64_t i = 0; i < n; i++) {
            v64[i] = test_random_int(&rng);
            v32[i] = (int32_t)v64[i];
            low32 = TL_MIN(low32, v32[i]);
            high32 = TL_MAX(high32, v32[i]);
            low64 = TL_MIN(low64, v64[i]);
            high64 = TL_MAX(high64, v64[i]);
        }
        kernels->bounds_i32(v32, n, &min32, &max32);
        kernels->bounds_i64(v64, n, &min64, &max64);
        assert_int_equal(min32, low32);
        assert_int_equal(max32, high32);
        assert_true(min64 == low64 && max64 == high64);
    }
}

/* ---- dictionaries ---- */

static void dictionaries_number_values_as_they_come(void **state)
{
    (void)state;
    uint64_t rng = test_seed(7);
    static const int32_t widths[] = {4, 8, 12, 16};
    for (size_t w = 0; w < TL_ARRAY_LEN(widths); w++) {
        int32_t width = widths[w];
        int64_t n = 5000;
        uint8_t *values = malloc((size_t)(n * width));
        uint32_t *ids = malloc((size_t)n * sizeof *ids);
        for (int64_t i = 0; i < n; i++) {
            memset(values + i * width, 0, (size_t)width);
            tl_write_le32(values + i * width + width - 4, (uint32_t)(test_random(&rng) % 1500));
        }
        tl_format_dict dict = {0};
        tl_format__dict_reset(&dict, width);
        assert_int_equal(tl_format__dict_ids_fixed(&dict, values, n, ids), TL_OK);
        uint32_t next = 0;
        for (int64_t i = 0; i < n; i++) {
            assert_true(ids[i] <= next);
            next = TL_MAX(next, ids[i] + 1);
            assert_memory_equal(tl_format__dict_value(&dict, ids[i]).data, values + i * width, (size_t)width);
        }
        assert_int_equal(dict.count, next);
        assert_true(next <= 1500); /* no value twice */
        tl_buf plain = {0};
        assert_int_equal(tl_format__dict_decode(&dict, ids, n, &plain), TL_OK);
        assert_memory_equal(plain.data, values, (size_t)(n * width));
        tl_buf_deinit(&plain);
        tl_format__dict_deinit(&dict);
        free(values);
        free(ids);
    }
}

static void dictionaries_number_strings(void **state)
{
    (void)state;
    uint64_t rng = test_seed(8);
    const tl_type *type = test_type("BYTES NOT NULL");
    tl_column *col = test_random_column(type, 6000, 0, &rng);
    uint32_t *ids = malloc(6000 * sizeof *ids);
    uint32_t *again = malloc(6000 * sizeof *again);
    tl_format_dict dict = {0};
    tl_format__dict_reset(&dict, 0);
    assert_int_equal(tl_format__dict_ids_bytes(&dict, col, NULL, 0, 6000, ids), TL_OK);
    uint32_t count = dict.count;
    for (int64_t i = 0; i < 6000; i++)
        assert_true(tl_bytes_equal(tl_format__dict_value(&dict, ids[i]), tl_col_bytes(col, i)));
    tl_buf plain = {0};
    assert_int_equal(tl_pq__plain_bytes(col, NULL, 0, 6000, &plain), TL_OK);
    const uint8_t *p = plain.data;
    assert_int_equal(tl_format__dict_ids_plain(&dict, &p, plain.data + plain.len, 6000, again), TL_OK);
    assert_ptr_equal(p, plain.data + plain.len);
    assert_int_equal(dict.count, count);
    assert_memory_equal(ids, again, 6000 * sizeof *ids);
    tl_buf_deinit(&plain);
    tl_format__dict_deinit(&dict);
    tl_column_unref(col);
    tl_type_unref(type);
    free(ids);
    free(again);
}

/* Numbers below `candidates`, in runs of `run` equal ones. */
static bool looks_unique(int64_t n, uint64_t candidates, int64_t run, uint64_t seed)
{
    uint64_t *v = malloc((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++) {
        uint64_t rng = seed + (uint64_t)(i / run);
        v[i] = test_random(&rng) % candidates;
    }
    bool unique = false;
    assert_int_equal(tl_format__looks_unique((tl_bytes_view){(const uint8_t *)v, (size_t)n * 8}, n, 8, &unique), TL_OK);
    free(v);
    return unique;
}

static void only_values_that_hardly_repeat_look_unique(void **state)
{
    (void)state;
    assert_true(looks_unique(20000, UINT64_MAX, 1, 1));
    assert_true(looks_unique(20000, UINT64_C(100000000), 1, 2));
    assert_false(looks_unique(20000, 37000, 1, 3)); /* where a dictionary of 8-byte values begins to pay */
    assert_false(looks_unique(20000, UINT64_MAX, 2, 4));
    assert_true(looks_unique(250, UINT64_MAX, 1, 5)); /* a small file of a small commit */
    assert_false(looks_unique(250, 250, 1, 6));
    assert_false(looks_unique(1000, 1800, 1, 7));
    assert_false(looks_unique(64, UINT64_MAX, 1, 8)); /* not worth a guess */
}

/* ---- bounds ---- */

static tl_bytes_view text(const char *s)
{
    return (tl_bytes_view){(const uint8_t *)s, strlen(s)};
}

static void assert_view(tl_bytes_view v, const char *want)
{
    assert_int_equal(v.len, strlen(want));
    assert_memory_equal(v.data, want, v.len);
}

#define A10 "aaaaaaaaaa"
#define A60 A10 A10 A10 A10 A10 A10

static void long_bounds_are_cut_outwards(void **state)
{
    (void)state;
    uint8_t raised[TL_PQ_INDEX_BOUND_BYTES];
    assert_view(tl_pq__cut_min(text(A60 "bcdef"), true), A60 "bcde");
    assert_view(tl_pq__cut_max(text(A60 "bcdef"), true, raised), A60 "bcdf");
    assert_view(tl_pq__cut_max(text(A60 "bcde"), true, raised), A60 "bcde"); /* fits */
    /* U+00E9 at the edge is taken whole or not at all; its successor is U+00EA. */
    assert_view(tl_pq__cut_min(text(A60 "bcd\xc3\xa9x"), true), A60 "bcd");
    assert_view(tl_pq__cut_max(text(A60 "bcd\xc3\xa9x"), true, raised), A60 "bce");
    assert_view(tl_pq__cut_max(text(A60 "bc\xc3\xa9x"), true, raised), A60 "bc\xc3\xaa");
    /* Surrogates are left out; the last character of a length has no successor and is dropped. */
    assert_view(tl_pq__cut_max(text(A60 "b\xed\x9f\xbfxyz"), true, raised), A60 "b\xee\x80\x80");
    assert_view(tl_pq__cut_max(text(A60 "\xf4\x8f\xbf\xbfxyz"), true, raised), "aaaaaaaaa" A10 A10 A10 A10 A10 "b");
    /* Bytes: 0xff is carried over. */
    assert_view(tl_pq__cut_max(text(A60 "b\xff\xff\xff\xff"), false, raised), A60 "c");
    char highest[70];
    memset(highest, 0xff, 69);
    highest[69] = '\0';
    assert_view(tl_pq__cut_max(text(highest), false, raised), highest);
}

static void float_bounds_leave_nan_out_and_sign_zeros(void **state)
{
    (void)state;
    uint8_t scratch[32];
    tl_bytes_view min, max;
    double zeros[] = {0.0, 0.0};
    tl_pq_bounds bounds = {0};
    tl_pq__bounds_add_plain(&bounds, TL_PQ_DOUBLE, 8, zeros, 2);
    assert_true(tl_pq__bounds_plain(&bounds, TL_PQ_ORDER_FLOAT, TL_PQ_DOUBLE, 8, scratch, &min, &max));
    assert_true(tl_read_le64(min.data) == UINT64_C(1) << 63); /* -0.0 */
    assert_true(tl_read_le64(max.data) == 0);
    double mixed[] = {-1.5, 2.5, -0.0};
    tl_pq__bounds_add_plain(&bounds, TL_PQ_DOUBLE, 8, mixed, 3);
    assert_true(tl_pq__bounds_plain(&bounds, TL_PQ_ORDER_FLOAT, TL_PQ_DOUBLE, 8, scratch, &min, &max));
    double low, high;
    memcpy(&low, min.data, 8);
    memcpy(&high, max.data, 8);
    assert_true(low == -1.5 && high == 2.5);
    double nan = __builtin_nan("");
    tl_pq__bounds_add_plain(&bounds, TL_PQ_DOUBLE, 8, &nan, 1);
    assert_false(tl_pq__bounds_plain(&bounds, TL_PQ_ORDER_FLOAT, TL_PQ_DOUBLE, 8, scratch, &min, &max));
    tl_pq__bounds_deinit(&bounds);
    float f[] = {3.0f, -7.25f};
    tl_pq__bounds_add_plain(&bounds, TL_PQ_FLOAT, 4, f, 2);
    assert_true(tl_pq__bounds_plain(&bounds, TL_PQ_ORDER_FLOAT, TL_PQ_FLOAT, 4, scratch, &min, &max));
    float flow;
    memcpy(&flow, min.data, 4);
    assert_true(flow == -7.25f);
}

static void string_bounds_are_those_of_memcmp(void **state)
{
    (void)state;
    uint64_t rng = test_seed(9);
    const tl_type *type = test_type("BYTES NOT NULL");
    for (int round = 0; round < 200; round++) {
        int64_t n = 1 + (int64_t)(test_random(&rng) % 50);
        tl_column *col = test_random_column(type, n, 0, &rng);
        tl_bytes_view low = tl_col_bytes(col, 0), high = low;
        for (int64_t i = 1; i < n; i++) {
            tl_bytes_view v = tl_col_bytes(col, i);
            low = tl_bytes_compare(v, low) < 0 ? v : low;
            high = tl_bytes_compare(v, high) > 0 ? v : high;
        }
        tl_pq_bounds bounds = {0};
        assert_int_equal(tl_pq__bounds_add_rows(&bounds, col, NULL, 0, n), TL_OK);
        assert_true(tl_bytes_equal(low, (tl_bytes_view){bounds.min_bytes.data, bounds.min_bytes.len}));
        assert_true(tl_bytes_equal(high, (tl_bytes_view){bounds.max_bytes.data, bounds.max_bytes.len}));
        tl_pq__bounds_deinit(&bounds);
        tl_column_unref(col);
    }
    tl_type_unref(type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_every_width_come_back),
        cmocka_unit_test(levels_come_back),
        cmocka_unit_test(bitmaps_come_back),
        cmocka_unit_test(long_runs_cost_a_few_bytes),
        cmocka_unit_test(differences_come_back),
        cmocka_unit_test(kernels_leave_out_nulls),
        cmocka_unit_test(kernels_find_the_bounds),
        cmocka_unit_test(dictionaries_number_values_as_they_come),
        cmocka_unit_test(dictionaries_number_strings),
        cmocka_unit_test(only_values_that_hardly_repeat_look_unique),
        cmocka_unit_test(long_bounds_are_cut_outwards),
        cmocka_unit_test(float_bounds_leave_nan_out_and_sign_zeros),
        cmocka_unit_test(string_bounds_are_those_of_memcmp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
