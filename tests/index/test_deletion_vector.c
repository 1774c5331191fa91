#include "index/deletion_vector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bits.h"

static tl_error err;
static void OK(tl_status status)
{
    if (status != TL_OK)
        fail_msg("%s", err.message);
}

/* {5, 7, 9}, as the reference writes it. */
static const uint8_t sample_32[] = {0, 0, 0, 0x1a, 0x5e, 0x43, 0xf2, 0xd0, 0x3a, 0x30, 0, 0, 1, 0, 0, 0,    0,
                                    0, 2, 0, 0x10, 0,    0,    0,    5,    0,    7,    0, 9, 0, 0x4b, 0xd4, 0x0b, 0xa6};
static const uint8_t sample_64[] = {0, 0, 0,    0x26, 0xd1, 0xd3, 0x39, 0x64, 1, 0, 0, 0, 0, 0, 0,    0,    0,    0,   0, 0, 0x3a, 0x30, 0,
                                    0, 1, 0,    0,    0,    0,    0,    2,    0, 0x10, 0, 0, 0, 5, 0, 7, 0, 9, 0, 0xe2, 0xd8, 0xc7, 0x74};

static void check_sample(const uint8_t *bytes, size_t n, int32_t length)
{
    tl_dv *dv = NULL;
    tl_buf out = {0};
    int32_t said = 0;
    OK(tl_dv_decode((tl_bytes_view){bytes, n}, length, &dv, &err));
    assert_int_equal(tl_dv_count(dv), 3);
    assert_int_equal(tl_dv_last(dv), 9);
    OK(tl_dv_encode(dv, &out, &said, &err));
    assert_int_equal(said, length);
    assert_int_equal(out.len, n);
    assert_memory_equal(out.data, bytes, n);
    for (size_t cut = 0; cut < n; cut++) {
        tl_dv *none = NULL;
        assert_int_equal(tl_dv_decode((tl_bytes_view){bytes, cut}, length, &none, NULL), TL_E_CORRUPT);
    }
    tl_buf_deinit(&out);
    tl_dv_unref(dv);
}

static void both_stored_forms_are_the_references(void **state)
{
    (void)state;
    check_sample(sample_32, sizeof sample_32, 0x1a);
    check_sample(sample_64, sizeof sample_64, 0x26 + 8);
}

static void a_wrong_size_or_checksum_is_told(void **state)
{
    (void)state;
    uint8_t bytes[sizeof sample_32];
    tl_dv *dv = NULL;
    assert_int_equal(tl_dv_decode((tl_bytes_view){sample_32, sizeof sample_32}, 0x1a + 8, &dv, &err), TL_E_CORRUPT);
    assert_non_null(strstr(err.message, "manifest"));
    for (size_t i = 0; i < sizeof bytes; i++) {
        memcpy(bytes, sample_32, sizeof bytes);
        bytes[i] ^= 0x10;
        assert_int_equal(tl_dv_decode((tl_bytes_view){bytes, sizeof bytes}, 0x1a, &dv, NULL), TL_E_CORRUPT);
    }
}

/* Rows of `span` numbers from `base` on, each deleted with about `percent`; runs of them if `runs`. */
static size_t random_rows(int64_t base, int64_t span, int percent, bool runs, int64_t *out)
{
    size_t n = 0;
    bool on = false;
    for (int64_t i = 0; i < span; i++) {
        if (!runs || rand() % 50 == 0)
            on = rand() % 100 < percent;
        if (on)
            out[n++] = base + i;
    }
    return n;
}

static bool contains(const int64_t *rows, size_t n, int64_t row)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (rows[mid] < row)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && rows[low] == row;
}

static void check_select(const tl_dv *dv, const int64_t *deleted, size_t n_deleted, const int64_t *rows, int64_t n)
{
    uint32_t *sel = malloc((size_t)(n + 1) * sizeof *sel);
    int64_t kept = tl_dv_select(dv, rows, n, sel), wanted = 0;
    for (int64_t i = 0; i < n; i++) {
        if (contains(deleted, n_deleted, rows[i]))
            continue;
        if (kept < n)
            assert_int_equal(sel[wanted], i);
        wanted++;
    }
    assert_int_equal(kept, wanted);
    free(sel);
}

/* Consecutive windows, windows with gaps, sparse numbers. */
static void check_selections(const tl_dv *dv, const int64_t *deleted, size_t n_deleted, int64_t base, int64_t span)
{
    int64_t *rows = malloc((size_t)span * sizeof *rows);
    for (int64_t from = 0; from < span; from += 5000) {
        int64_t n = 0;
        for (int64_t i = from; i < TL_MIN(from + 5000, span); i++)
            rows[n++] = base + i;
        check_select(dv, deleted, n_deleted, rows, n);
    }
    for (int step = 2; step < 3000; step *= 7) {
        int64_t n = 0;
        for (int64_t i = 0; i < span; i += 1 + rand() % step)
            rows[n++] = base + i;
        check_select(dv, deleted, n_deleted, rows, n);
    }
    free(rows);
}

static tl_dv *through_bytes(const tl_dv *dv)
{
    tl_buf out = {0};
    tl_dv *again = NULL;
    int32_t length = 0;
    OK(tl_dv_encode(dv, &out, &length, &err));
    OK(tl_dv_decode((tl_bytes_view){out.data, out.len}, length, &again, &err));
    tl_buf_deinit(&out);
    return again;
}

/* What is worth reading has every row that is not deleted, and no long stretch of deleted ones. */
static void check_rest(const tl_dv *dv, const int64_t *deleted, size_t n_deleted, int64_t base, int64_t span)
{
    for (int few = 0; few < 2; few++) {
        tl_row_ranges rest = {NULL, 0};
        size_t at = 0;
        int64_t stretch = 0;
        OK(tl_dv_rest(dv, few ? INT64_MAX : 0, &rest, &err));
        assert_true(rest.n > 0 && rest.items[rest.n - 1].to == INT64_MAX);
        for (int64_t row = base, i = 0; row < base + span; row++) {
            for (; i < (int64_t)n_deleted && deleted[i] < row; i++)
                ;
            bool is_deleted = i < (int64_t)n_deleted && deleted[i] == row;
            bool is_wanted = tl_row_ranges_meet(&rest, &at, row, row + 1);
            stretch = is_deleted && is_wanted ? stretch + 1 : 0;
            assert_true(is_wanted || is_deleted);
            assert_true(stretch < (few ? 1 : 512)); /* stretches are looked for in each box of 65,536 rows alone */
        }
        tl_row_ranges_deinit(&rest);
    }
}

static void random_vectors_select_as_a_set_does(void **state)
{
    (void)state;
    srand(7);
    static const int64_t bases[] = {0, 65500, (INT64_C(1) << 32) - 40000, INT64_C(3) << 32};
    int64_t span = 150000;
    int64_t *rows = malloc((size_t)span * sizeof *rows);
    for (int i = 0; i < 16; i++) {
        int64_t base = bases[i % 4];
        size_t n = random_rows(base, span, (int[]){0, 1, 50, 99}[i / 4], i % 2 == 0, rows);
        tl_dv *dv = NULL;
        OK(tl_dv_create(rows, n, /* bitmap64= */ i % 4 > 1 || i % 3 == 0, &dv, &err));
        assert_int_equal(tl_dv_count(dv), n);
        assert_int_equal(tl_dv_last(dv), n == 0 ? -1 : rows[n - 1]);
        check_selections(dv, rows, n, base, span);
        check_rest(dv, rows, n, base, span);
        tl_dv *again = through_bytes(dv);
        assert_int_equal(tl_dv_count(again), n);
        check_selections(again, rows, n, base, span);
        check_rest(again, rows, n, base, span);
        tl_dv_unref(again);
        tl_dv_unref(dv);
    }
    free(rows);
}

static void unions_hold_the_rows_of_both(void **state)
{
    (void)state;
    srand(11);
    int64_t span = 140000;
    int64_t *a = malloc((size_t)span * sizeof *a), *b = malloc((size_t)span * sizeof *b), *both = malloc((size_t)span * sizeof *both);
    for (int i = 0; i < 9; i++) {
        size_t n_a = random_rows(0, span, i * 11, i % 2 == 0, a), n_b = random_rows(0, span, 90 - i * 10, i % 3 == 0, b), n = 0;
        for (int64_t row = 0; row < span; row++) {
            if (contains(a, n_a, row) || contains(b, n_b, row))
                both[n++] = row;
        }
        tl_dv *x = NULL, *y = NULL, *joined = NULL;
        OK(tl_dv_create(a, n_a, i % 2 == 0, &x, &err));
        OK(tl_dv_create(b, n_b, i % 2 == 0, &y, &err));
        tl_dv *stored = through_bytes(x);
        OK(tl_dv_union(stored, y, &joined, &err));
        tl_dv_unref(stored);
        tl_dv_unref(x);
        tl_dv_unref(y);
        assert_int_equal(tl_dv_count(joined), n);
        check_selections(joined, both, n, 0, span);
        tl_dv *again = through_bytes(joined);
        check_selections(again, both, n, 0, span);
        tl_dv_unref(again);
        tl_dv_unref(joined);
    }
    free(a);
    free(b);
    free(both);
}

static void a_row_beyond_32_bits_needs_the_other_form(void **state)
{
    (void)state;
    int64_t row = INT64_C(1) << 31;
    tl_dv *dv = NULL;
    assert_int_equal(tl_dv_create(&row, 1, /* bitmap64= */ false, &dv, &err), TL_E_LIMIT);
    OK(tl_dv_create(&row, 1, /* bitmap64= */ true, &dv, &err));
    tl_dv_unref(dv);
}

static void a_set_loads_vectors_from_their_places(void **state)
{
    (void)state;
    tl_fs *fs = NULL;
    tl_dv_set *set = NULL;
    tl_dv *dv = NULL;
    uint8_t bytes[1 + sizeof sample_32 + sizeof sample_64] = {1};
    OK(tl_fs_memory(&fs, &err));
    memcpy(bytes + 1, sample_32, sizeof sample_32);
    memcpy(bytes + 1 + sizeof sample_32, sample_64, sizeof sample_64);
    OK(tl_fs_publish(fs, "/index/i", (tl_bytes_view){bytes, sizeof bytes}, false, &err));
    OK(tl_dv_set_create(fs, &set, &err));
    OK(tl_dv_set_add(set, "a", &(tl_dv_place){"/index/i", 1, 0x1a, 3}, &err));
    OK(tl_dv_set_add(set, "b", &(tl_dv_place){"/index/i", 1 + sizeof sample_32, sizeof sample_64, INT64_MIN}, &err));
    OK(tl_dv_set_add(set, "beyond", &(tl_dv_place){"/index/i", 60, 0x1a, 3}, &err));
    assert_int_equal(tl_dv_set_count(set, "b"), -1);
    for (int i = 0; i < 2; i++) {
        OK(tl_dv_set_get(set, i == 0 ? "a" : "b", &dv, &err));
        assert_int_equal(tl_dv_count(dv), 3);
        tl_dv_unref(dv);
    }
    assert_int_equal(tl_dv_set_count(set, "b"), 3);
    OK(tl_dv_set_get(set, "c", &dv, &err));
    assert_null(dv);
    assert_int_equal(tl_dv_set_get(set, "beyond", &dv, &err), TL_E_CORRUPT);
    assert_non_null(strstr(err.message, "'/index/i'"));
    OK(tl_dv_set_put(set, "a", NULL, &err));
    assert_false(tl_dv_set_has(set, "a"));
    const char **names = NULL;
    size_t n = 0;
    OK(tl_dv_set_names(set, &names, &n, &err));
    assert_int_equal(n, 2);
    assert_string_equal(names[0], "b");
    tl_free(names);
    tl_dv_set_unref(set);
    tl_fs_unref(fs);
}

/* apache/paimon#8211: metadata may list the vectors of a file in any order. */
static void many_vectors_of_a_file_are_found_in_any_order(void **state)
{
    (void)state;
    for (int bitmap64 = 0; bitmap64 < 2; bitmap64++) {
        enum { N = 10 };
        tl_fs *fs = NULL;
        tl_dv_set *set = NULL;
        tl_dv *dv = NULL;
        tl_buf bytes = {0};
        int64_t offsets[N];
        int32_t lengths[N];
        char name[8];
        OK(tl_fs_memory(&fs, &err));
        OK(tl_dv_set_create(fs, &set, &err));
        OK(tl_buf_append_byte(&bytes, 1));
        for (int64_t i = 0; i < N; i++) {
            int64_t rows[] = {100 * i, 100 * i + 1};
            OK(tl_dv_create(rows, 2, bitmap64 != 0, &dv, &err));
            offsets[i] = (int64_t)bytes.len;
            OK(tl_dv_encode(dv, &bytes, &lengths[i], &err));
            tl_dv_unref(dv);
        }
        OK(tl_fs_publish(fs, "/index/i", (tl_bytes_view){bytes.data, bytes.len}, false, &err));
        for (int i = N - 1; i >= 0; i--) {
            snprintf(name, sizeof name, "f%d", i);
            OK(tl_dv_set_add(set, name, &(tl_dv_place){"/index/i", offsets[i], lengths[i], INT64_MIN}, &err));
        }
        for (int64_t i = 0; i < N; i++) {
            int64_t deleted[] = {100 * i, 100 * i + 1}, rows[] = {100 * i, 100 * i + 1, 100 * i + 2, 100 * i + 100};
            snprintf(name, sizeof name, "f%d", (int)i);
            OK(tl_dv_set_get(set, name, &dv, &err));
            assert_int_equal(tl_dv_count(dv), 2);
            check_select(dv, deleted, 2, rows, 4);
            tl_dv_unref(dv);
        }
        tl_buf_deinit(&bytes);
        tl_dv_set_unref(set);
        tl_fs_unref(fs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_stored_forms_are_the_references),
        cmocka_unit_test(a_wrong_size_or_checksum_is_told),
        cmocka_unit_test(random_vectors_select_as_a_set_does),
        cmocka_unit_test(unions_hold_the_rows_of_both),
        cmocka_unit_test(a_row_beyond_32_bits_needs_the_other_form),
        cmocka_unit_test(a_set_loads_vectors_from_their_places),
        cmocka_unit_test(many_vectors_of_a_file_are_found_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
