/* BinaryRow bytes are those of the reference, read back, and do no harm when they are wrong. */
#include "support/random_column.h"
#include "types/binary_row.h"
#include "types/key.h"

static tl_bytes from_hex(const char *text)
{
    tl_buf buf = {0};
    for (const char *p = text; *p != 0; p++) {
        unsigned byte;
        if (*p == ' ' || *p == '|')
            continue;
        assert_int_equal(sscanf(p, "%2x", &byte), 1);
        assert_int_equal(tl_buf_append_byte(&buf, (uint8_t)byte), TL_OK);
        p++;
    }
    return tl_buf_steal(&buf);
}

/* One row, filled by the test through one builder a column. */
typedef struct row {
    const tl_type *type;
    tl_builder *builders[8];
    tl_column *cols[8];
} row;

static row new_row(const char *type)
{
    tl_error err;
    row r = {.type = test_type(type)};
    for (int32_t c = 0; c < r.type->n_fields; c++)
        assert_ok(tl_builder_create(r.type->fields[c].type, &r.builders[c], &err), &err);
    return r;
}

static void end_row(row *r)
{
    tl_error err;
    for (int32_t c = 0; c < r->type->n_fields; c++) {
        assert_ok(tl_builder_finish(r->builders[c], &r->cols[c], &err), &err);
        tl_builder_free(r->builders[c]);
    }
}

static void drop_row(row *r)
{
    for (int32_t c = 0; c < r->type->n_fields; c++)
        tl_column_unref(r->cols[c]);
    tl_type_unref(r->type);
}

static void assert_bytes(tl_bytes_view got, const char *hex)
{
    tl_bytes wanted = from_hex(hex);
    if (!tl_bytes_equal(got, tl_bytes_view_of(wanted))) {
        for (size_t i = 0; i < got.len; i++)
            print_error("%02x%s", got.data[i], i % 8 == 7 ? " " : "");
        fail_msg("wanted %s", hex);
    }
    tl_bytes_deinit(&wanted);
}

/* Encodes, compares, decodes, compares again. */
static void check_sample(row *r, bool with_arity, const char *hex)
{
    tl_error err;
    end_row(r);
    tl_buf buf = {0};
    assert_int_equal(tl_binary_row_append(&buf, (const tl_column *const *)r->cols, r->type->n_fields, 0, 0, with_arity), TL_OK);
    assert_bytes((tl_bytes_view){buf.data, buf.len}, hex);
    if (!with_arity) {
        tl_buf rows = {0};
        int64_t offsets[2];
        assert_ok(tl_binary_rows((const tl_column *const *)r->cols, r->type->n_fields, 1, &rows, offsets, &err), &err);
        assert_bytes((tl_bytes_view){rows.data, (size_t)offsets[1]}, hex);
        tl_buf_deinit(&rows);
    }
    tl_batch *back = NULL;
    assert_ok(tl_binary_row_decode((tl_bytes_view){buf.data, buf.len}, r->type, with_arity, &back, &err), &err);
    for (int32_t c = 0; c < r->type->n_fields; c++)
        assert_true(tl_column_equal(r->cols[c], 0, back->cols[c], 0));
    tl_batch_free(back);
    tl_buf_deinit(&buf);
    drop_row(r);
}

static void numbers_and_short_strings_stand_in_their_slots(void **state)
{
    (void)state;
    row r = new_row("ROW<a INT>");
    tl_builder_int(r.builders[0], 1);
    check_sample(&r, true, "00000001 0000000000000000 0100000000000000");
    r = new_row("ROW<a INT NOT NULL, b STRING NOT NULL>");
    tl_builder_int(r.builders[0], 1);
    tl_builder_bytes(r.builders[1], "x", 1);
    check_sample(&r, true, "00000002 0000000000000000 0100000000000000 7800000000000081");
    r = new_row("ROW<dt STRING, hh INT, dd DATE>");
    tl_builder_null(r.builders[0]);
    tl_builder_int(r.builders[1], 6);
    tl_builder_int(r.builders[2], 19001);
    check_sample(&r, true, "00000003 0001000000000000 0000000000000000 0600000000000000 394a000000000000");
}

static void a_row_without_fields_is_eight_zeros(void **state)
{
    (void)state;
    tl_buf buf = {0};
    assert_int_equal(tl_binary_row_append(&buf, NULL, 0, 0, 0, true), TL_OK);
    assert_bytes((tl_bytes_view){buf.data, buf.len}, "00000000 0000000000000000");
    tl_buf_deinit(&buf);
}

static void long_values_follow_the_slots(void **state)
{
    (void)state;
    row r = new_row("ROW<a STRING>");
    tl_builder_bytes(r.builders[0], "hello world", 11);
    check_sample(&r, false, "0000000000000000 0b00000010000000 68656c6c6f20776f726c640000000000");
    r = new_row("ROW<a TIMESTAMP(6)>");
    tl_builder_timestamp(r.builders[0], 1, 2000);
    check_sample(&r, false, "0000000000000000 d007000010000000 0100000000000000");
    r = new_row("ROW<a TIMESTAMP(9)>");
    tl_builder_timestamp(r.builders[0], 1, 2000);
    check_sample(&r, false, "0000000000000000 d007000010000000 0100000000000000");
    r = new_row("ROW<a DECIMAL(20, 0)>");
    tl_builder_i128(r.builders[0], 12);
    check_sample(&r, false, "0000000000000000 0100000010000000 0c000000000000000000000000000000");
    r = new_row("ROW<a DECIMAL(20, 0)>");
    tl_builder_i128(r.builders[0], -129);
    check_sample(&r, false, "0000000000000000 0200000010000000 ff7f0000000000000000000000000000");
}

static void a_null_of_sixteen_or_eight_bytes_keeps_its_place(void **state)
{
    (void)state;
    row r = new_row("ROW<a TIMESTAMP(6)>");
    tl_builder_null(r.builders[0]);
    check_sample(&r, false, "0001000000000000 0000000010000000 0000000000000000");
    r = new_row("ROW<a DECIMAL(20, 0), b STRING>");
    tl_builder_null(r.builders[0]);
    tl_builder_bytes(r.builders[1], "12345678", 8);
    check_sample(&r, false,
                 "0001000000000000 0000000018000000 0800000028000000 00000000000000000000000000000000 3132333435363738");
}

static void arrays_and_maps_nest(void **state)
{
    (void)state;
    row r = new_row("ROW<a ARRAY<DECIMAL(20, 0)>, m MAP<STRING, INT>>");
    tl_builder_null(tl_builder_child(r.builders[0], 0));
    tl_builder_i128(tl_builder_child(r.builders[0], 0), 5);
    tl_builder_end(r.builders[0]);
    tl_builder_bytes(tl_builder_child(r.builders[1], 0), "ab", 2);
    tl_builder_int(tl_builder_child(r.builders[1], 1), 7);
    tl_builder_end(r.builders[1]);
    check_sample(&r, false,
                 "0000000000000000 2800000018000000 2400000040000000"
                 "02000000 01000000 0000000000000000 0100000018000000 05000000000000000000000000000000"
                 "10000000 | 01000000 00000000 6162000000000082 | 01000000 00000000 07000000 00000000 00000000");
}

static void vectors_are_a_count_and_their_values(void **state)
{
    (void)state;
    row r = new_row("ROW<v VECTOR<INT, 3>, b VECTOR<BOOLEAN, 2>, n VECTOR<DOUBLE, 1>>");
    for (int64_t i = 1; i <= 3; i++)
        tl_builder_int(tl_builder_child(r.builders[0], 0), -i);
    assert_int_equal(tl_builder_end(r.builders[0]), TL_OK);
    tl_builder_bool(tl_builder_child(r.builders[1], 0), true);
    tl_builder_bool(tl_builder_child(r.builders[1], 0), false);
    assert_int_equal(tl_builder_end(r.builders[1]), TL_OK);
    tl_builder_null(r.builders[2]);
    check_sample(&r, false, "0004000000000000 1400000020000000 0c00000038000000 0000000000000000 "
                            "03000000 ffffffff feffffff fdffffff 00000000 00000000 02000000 0100000000000000 00000000");
}

static const char *const shapes[] = {
    "ROW<a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE>",
    "ROW<a DECIMAL(5, 2), b DECIMAL(30, 5), c DATE, d TIME(3), e TIMESTAMP(0), f TIMESTAMP(6), g TIMESTAMP(9)>",
    "ROW<a CHAR(5), b STRING, c BINARY(3), d BYTES, e TIMESTAMP(6) WITH LOCAL TIME ZONE, f DECIMAL(38, 0)>",
    "ROW<a VECTOR<BOOLEAN, 3>, b VECTOR<SMALLINT NOT NULL, 5>, c VECTOR<DOUBLE, 2> NOT NULL, d ROW<v VECTOR<TINYINT, 9>>>",
    "ROW<a ARRAY<BOOLEAN>, b ARRAY<STRING>, c ARRAY<SMALLINT>, d ARRAY<DECIMAL(30, 2)>, e ARRAY<TIMESTAMP(9)>, f ARRAY<INT>>",
    ("ROW<a MAP<STRING, BIGINT>, b MULTISET<STRING>, c ROW<x DECIMAL(25, 1), y ARRAY<ROW<z STRING>>>, d MAP<INT, MAP<INT, "
     "BYTES>>>"),
    "ROW<a INT NOT NULL>",
};

typedef struct sample {
    const tl_type *type;
    tl_column *cols[8];
    int64_t n_rows;
} sample;

static sample random_sample(const char *shape, int64_t n_rows, uint64_t *rng)
{
    sample s = {.type = test_type(shape), .n_rows = n_rows};
    for (int32_t c = 0; c < s.type->n_fields; c++)
        s.cols[c] = test_random_column(s.type->fields[c].type, n_rows, 20, rng);
    return s;
}

static void drop_sample(sample *s)
{
    for (int32_t c = 0; c < s->type->n_fields; c++)
        tl_column_unref(s->cols[c]);
    tl_type_unref(s->type);
}

static void rows_of_every_type_read_back(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(1);
    for (size_t k = 0; k < TL_ARRAY_LEN(shapes); k++) {
        sample s = random_sample(shapes[k], 300, &rng);
        tl_buf all = {0};
        int64_t *offsets = malloc(301 * sizeof *offsets);
        assert_ok(tl_binary_rows((const tl_column *const *)s.cols, s.type->n_fields, s.n_rows, &all, offsets, &err), &err);
        for (int64_t i = 0; i < s.n_rows; i++) {
            tl_buf one = {0};
            tl_batch *back = NULL;
            assert_int_equal(tl_binary_row_append(&one, (const tl_column *const *)s.cols, s.type->n_fields, i, 0, false),
                             TL_OK);
            assert_int_equal(one.len, offsets[i + 1] - offsets[i]);
            assert_memory_equal(one.data, all.data + offsets[i], one.len);
            assert_ok(tl_binary_row_decode((tl_bytes_view){one.data, one.len}, s.type, false, &back, &err), &err);
            for (int32_t c = 0; c < s.type->n_fields; c++) {
                assert_ok(tl_column_check(back->cols[c], &err), &err);
                if (!tl_column_equal(s.cols[c], i, back->cols[c], 0))
                    fail_msg("%s: row %lld, column %d", shapes[k], (long long)i, c);
            }
            tl_batch_free(back);
            tl_buf_deinit(&one);
        }
        free(offsets);
        tl_buf_deinit(&all);
        drop_sample(&s);
    }
}

static void the_kind_comes_back(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = 3;
    sample s = random_sample("ROW<a INT>", 1, &rng);
    for (uint8_t kind = 0; kind < 5; kind++) {
        tl_buf buf = {0};
        tl_batch *back = NULL;
        assert_int_equal(tl_binary_row_append(&buf, (const tl_column *const *)s.cols, 1, 0, kind, true), TL_OK);
        tl_status status = tl_binary_row_decode((tl_bytes_view){buf.data, buf.len}, s.type, true, &back, &err);
        assert_int_equal(status, kind > TL_KIND_DELETE ? TL_E_CORRUPT : TL_OK);
        if (status == TL_OK)
            assert_int_equal(tl_batch_kind(back, 0), kind);
        tl_batch_free(back);
        tl_buf_deinit(&buf);
    }
    drop_sample(&s);
}

/* Whatever the bytes say: an error or a sound batch, never more memory than the bytes justify. */
static void damaged_rows_do_no_harm(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(2);
    for (size_t k = 0; k < TL_ARRAY_LEN(shapes); k++) {
        sample s = random_sample(shapes[k], 40, &rng);
        for (int64_t i = 0; i < s.n_rows; i++) {
            tl_buf buf = {0};
            assert_int_equal(tl_binary_row_append(&buf, (const tl_column *const *)s.cols, s.type->n_fields, i, 0, false),
                             TL_OK);
            for (int round = 0; round < 60; round++) {
                size_t len = round % 3 == 0 ? test_random(&rng) % (buf.len + 1) : buf.len;
                uint8_t *copy = malloc(len + 1); /* exact, so that the sanitizer sees one byte too many */
                memcpy(copy, buf.data, len);
                for (int hit = 0; hit < round % 5 && len > 0; hit++)
                    copy[test_random(&rng) % len] = (uint8_t)(test_random(&rng) % 3 == 0 ? 0xff : test_random(&rng));
                tl_batch *back = NULL;
                if (tl_binary_row_decode((tl_bytes_view){copy, len}, s.type, false, &back, &err) == TL_OK)
                    for (int32_t c = 0; c < s.type->n_fields; c++)
                        assert_ok(tl_column_check(back->cols[c], &err), &err);
                tl_batch_free(back);
                free(copy);
            }
            tl_buf_deinit(&buf);
        }
        drop_sample(&s);
    }
}

static void check_refused(const char *type_text, bool with_arity, const char *hex, const char *part)
{
    tl_error err;
    const tl_type *type = test_type(type_text);
    tl_bytes bytes = from_hex(hex);
    tl_batch *batch = NULL;
    assert_fails(tl_binary_row_decode(tl_bytes_view_of(bytes), type, with_arity, &batch, &err), TL_E_CORRUPT, &err, part);
    tl_bytes_deinit(&bytes);
    tl_type_unref(type);
}

static void wrong_rows_are_refused_by_name(void **state)
{
    (void)state;
    check_refused("ROW<a INT>", true, "00000002 0000000000000000 0100000000000000", "arity 2, expected 1");
    check_refused("ROW<a INT>", true, "0000", "arity");
    check_refused("ROW<a INT>", false, "0000000000000000 01000000", "12 bytes for 1 fields");
    check_refused("ROW<a STRING>", false, "0000000000000000 0b00000010000000 6162", "field 'a'");
    check_refused("ROW<a STRING>", false, "0000000000000000 61000000000000ff", "said to stand in a slot");
    check_refused("ROW<a TIMESTAMP(6)>", false, "0000000000000000 40420f0010000000 0100000000000000", "1000000 ns");
    check_refused("ROW<a TIMESTAMP(6)>", false, "0000000000000000 0000000010000000 ffffffffffffff7f", "timestamp");
    check_refused("ROW<a ARRAY<INT>>", false, "0000000000000000 0800000010000000 ffffff7f00000000", "array of 2147483647");
    check_refused("ROW<v VECTOR<INT, 2>>", false, "0000000000000000 0c00000010000000 03000000 01000000 02000000 00000000", "vector of 2 elements in 12 bytes");
    check_refused("ROW<v VECTOR<INT, 3>>", false, "0000000000000000 0c00000010000000 03000000 01000000 02000000 00000000", "vector of 3 elements in 12 bytes");
    check_refused("ROW<v VECTOR<BIGINT, 2147483647>>", false, "0000000000000000 0400000010000000 ffffff7f 00000000", "vector of 2147483647");
    /* Two strings in the same 16 bytes of a row of 40: together they may not be longer than the row. */
    check_refused("ROW<a STRING, b STRING>", false,
                  "0000000000000000 2000000000000000 2000000000000000 4141414141414141 4141414141414141", "overlap");
}

static tl_column *ints(const char *type_text, const int64_t *values, int n)
{
    tl_error err;
    const tl_type *type = test_type(type_text);
    tl_builder *builder = NULL;
    tl_column *col = NULL;
    assert_ok(tl_builder_create(type, &builder, &err), &err);
    for (int i = 0; i < n; i++)
        tl_builder_int(builder, values[i]);
    assert_ok(tl_builder_finish(builder, &col, &err), &err);
    tl_builder_free(builder);
    tl_type_unref(type);
    return col;
}

static int32_t hash_of(const char *type_text, const char *text)
{
    tl_error err;
    row r = new_row(type_text);
    int32_t hash;
    if (text == NULL)
        tl_builder_null(r.builders[0]);
    else if (r.type->fields[0].type->kind == TL_INT)
        tl_builder_int(r.builders[0], atoi(text));
    else
        tl_builder_bytes(r.builders[0], text, strlen(text));
    end_row(&r);
    assert_ok(tl_bucket_hash((const tl_column *const *)r.cols, 1, 1, &hash, &err), &err);
    drop_row(&r);
    return hash;
}

static void hashes_are_those_of_the_reference(void **state)
{
    (void)state;
    assert_int_equal(hash_of("ROW<a INT>", "1"), 1465514398);
    assert_int_equal(hash_of("ROW<a STRING>", "a"), 943281246);
    assert_int_equal(hash_of("ROW<a STRING>", "hello world"), 161593394);
    assert_int_equal(hash_of("ROW<a INT>", NULL), -1748325344);
    assert_int_equal(hash_of("ROW<a TIMESTAMP(6)>", NULL), -340882661);
}

/* The short cuts for one column and for plain ones, and many rows at a time, against the definition. */
static void hashes_of_many_rows_are_those_of_each(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(5);
    static const char *const keys[] = {"ROW<a BOOLEAN>",
                                       "ROW<a TINYINT>",
                                       "ROW<a SMALLINT>",
                                       "ROW<a INT>",
                                       "ROW<a BIGINT>",
                                       "ROW<a DOUBLE>",
                                       "ROW<a FLOAT>",
                                       "ROW<a DECIMAL(9, 1)>",
                                       "ROW<a TIMESTAMP(3)>",
                                       "ROW<a TIMESTAMP(6)>",
                                       "ROW<a DECIMAL(20, 1)>",
                                       "ROW<a STRING>",
                                       "ROW<a VARBINARY(17) NOT NULL>",
                                       "ROW<a STRING, b INT>",
                                       "ROW<a INT NOT NULL, b TINYINT NOT NULL, c BIGINT NOT NULL, d SMALLINT NOT NULL>",
                                       "ROW<a INT NOT NULL, b DATE>",
                                       "ROW<a ARRAY<INT>, b BIGINT>"};
    for (size_t k = 0; k < TL_ARRAY_LEN(keys); k++) {
        sample s = random_sample(keys[k], 2500, &rng);
        int32_t *hashes = malloc(2500 * sizeof *hashes);
        assert_ok(tl_bucket_hash((const tl_column *const *)s.cols, s.type->n_fields, 2500, hashes, &err), &err);
        for (int64_t i = 0; i < 2500; i++) {
            tl_buf one = {0};
            assert_int_equal(tl_binary_row_append(&one, (const tl_column *const *)s.cols, s.type->n_fields, i, 0, false),
                             TL_OK);
            if (hashes[i] != (int32_t)tl_murmur32_words(one.data, one.len, 42))
                fail_msg("%s: row %lld", keys[k], (long long)i);
            tl_buf_deinit(&one);
        }
        free(hashes);
        drop_sample(&s);
    }
}

static void buckets_follow_their_function(void **state)
{
    (void)state;
    tl_error err;
    int32_t buckets[4];
    static const int64_t values[] = {1, -7, INT64_MIN, 12};
    tl_column *longs = ints("BIGINT", values, 4), *one = ints("INT", values, 1);
    assert_ok(tl_bucket_assign(TL_BUCKET_DEFAULT, (const tl_column *const *)&one, 1, 1, 5, buckets, &err), &err);
    assert_int_equal(buckets[0], 3);
    assert_ok(tl_bucket_assign(TL_BUCKET_MOD, (const tl_column *const *)&longs, 1, 4, 5, buckets, &err), &err);
    assert_int_equal(buckets[0], 1);
    assert_int_equal(buckets[1], 3);
    assert_int_equal(buckets[2], 2); /* floorMod(-9223372036854775808, 5) */
    assert_int_equal(buckets[3], 2);
    assert_ok(tl_bucket_assign(TL_BUCKET_HIVE, (const tl_column *const *)&longs, 1, 4, 1000, buckets, &err), &err);
    assert_int_equal(buckets[0], 1);
    assert_int_equal(buckets[1], 6); /* -7 ^ -7 >>> 32 is 6 */
    assert_int_equal(buckets[2], 0); /* 0x80000000 & 0x7fffffff */
    tl_column *decimals = ints("DECIMAL(10, 2)", values, 4);
    assert_ok(tl_bucket_assign(TL_BUCKET_HIVE, (const tl_column *const *)&decimals, 1, 1, 1000, buckets, &err), &err);
    assert_int_equal(buckets[0], 33); /* 0.01: 31 * 1 + 2 */
    const tl_column *two[] = {longs, decimals};
    assert_fails(tl_bucket_assign(TL_BUCKET_MOD, two, 2, 4, 5, buckets, &err), TL_E_INVALID, &err, "exactly one field");
    assert_fails(tl_bucket_assign(TL_BUCKET_DEFAULT, two, 2, 4, 0, buckets, &err), TL_E_INVALID, &err, "must be positive");
    tl_column_unref(longs);
    tl_column_unref(one);
    tl_column_unref(decimals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_short_strings_stand_in_their_slots),
        cmocka_unit_test(a_row_without_fields_is_eight_zeros),
        cmocka_unit_test(long_values_follow_the_slots),
        cmocka_unit_test(a_null_of_sixteen_or_eight_bytes_keeps_its_place),
        cmocka_unit_test(arrays_and_maps_nest),
        cmocka_unit_test(vectors_are_a_count_and_their_values),
        cmocka_unit_test(rows_of_every_type_read_back),
        cmocka_unit_test(the_kind_comes_back),
        cmocka_unit_test(damaged_rows_do_no_harm),
        cmocka_unit_test(wrong_rows_are_refused_by_name),
        cmocka_unit_test(hashes_are_those_of_the_reference),
        cmocka_unit_test(hashes_of_many_rows_are_those_of_each),
        cmocka_unit_test(buckets_follow_their_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
