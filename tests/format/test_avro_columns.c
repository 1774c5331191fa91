/* Avro data files: random batches of every type survive, by any codec; schemas are worded as the reference words them. */
#include "format/avro/avro.h"
#include "format/format.h"
#include "support/random_column.h"
#include "types/key.h"

static const char all_types[] =
    "ROW<b BOOLEAN, t TINYINT, s SMALLINT, i INT NOT NULL, l BIGINT, f FLOAT, d DOUBLE, d9 DECIMAL(9, 2), d18 DECIMAL(18, 0), "
    "d38 DECIMAL(38, 10), c CHAR(3), v VARCHAR(20), st STRING NOT NULL, bi BINARY(4), by BYTES, da DATE, ti TIME(3), t3 "
    "TIMESTAMP(3), "
    "t6 TIMESTAMP(6), z3 TIMESTAMP(3) WITH LOCAL TIME ZONE, z6 TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL, a ARRAY<INT>, "
    "aa ARRAY<ARRAY<STRING NOT NULL> NOT NULL>, ms MAP<STRING NOT NULL, BIGINT>, mi MAP<INT, STRING>, mu MULTISET<STRING NOT "
    "NULL>, "
    "mui MULTISET<INT NOT NULL>, r ROW<x INT, y ROW<z STRING NOT NULL, w ARRAY<DOUBLE>>>, ar ARRAY<ROW<p INT, q DATE>>>";

static tl_fs *memory_fs(void)
{
    tl_error err;
    tl_fs *fs = NULL;
    assert_ok(tl_fs_memory(&fs, &err), &err);
    return fs;
}

static tl_batch *random_batch(const tl_type *type, int64_t n, uint64_t *rng)
{
    tl_error err;
    tl_batch *batch = NULL;
    assert_ok(tl_batch_create(type, n, &batch, &err), &err);
    for (int32_t c = 0; c < batch->n_cols; c++)
        batch->cols[c] = test_random_column(type->fields[c].type, n, 20, rng);
    return batch;
}

static void write_file(tl_fs *fs, const char *path, const tl_type *type, const char *compression, tl_batch *const *batches,
                       int n, tl_write_result *result)
{
    tl_error err;
    tl_file_writer *w = NULL;
    tl_write_spec spec = {.row_type = type, .compression = compression, .compression_level = 1, .with_stats = true};
    assert_ok(tl_format_avro.create(fs, path, &spec, &w, &err), &err);
    for (int i = 0; i < n; i++) {
        assert_ok(w->ops->write(w, batches[i], &err), &err);
        assert_true(w->ops->bytes_estimate(w) > 0);
    }
    assert_ok(w->ops->finish(w, result, &err), &err);
    w->ops->free(w);
}

static void assert_same_rows(const tl_batch *a, int64_t i, const tl_batch *b, int64_t j)
{
    for (int32_t c = 0; c < a->n_cols; c++)
        if (!tl_column_equal(a->cols[c], i, b->cols[c], j))
            fail_msg("column %s, row %lld", a->type->fields[c].name, (long long)i);
}

static tl_batch *all_rows(tl_reader *reader)
{
    tl_error err;
    tl_batch *parts[1000], *all = NULL;
    int n = 0;
    for (;; n++) {
        assert_ok(tl_reader_next(reader, &parts[n], &err), &err);
        if (parts[n] == NULL)
            break;
        for (int32_t c = 0; c < parts[n]->n_cols; c++)
            assert_ok(tl_column_check(parts[n]->cols[c], &err), &err);
    }
    if (n > 0)
        assert_ok(tl_batch_concat((const tl_batch *const *)parts, n, &all, &err), &err);
    for (int i = 0; i < n; i++)
        tl_batch_free(parts[i]);
    tl_reader_free(reader);
    return all;
}

static tl_reader *open_file(tl_fs *fs, const char *path, const tl_read_spec *spec)
{
    tl_error err;
    tl_reader *reader = NULL;
    assert_ok(tl_format_avro.open(fs, path, 0, spec, &reader, &err), &err);
    return reader;
}

static void every_type_survives_every_codec(void **state)
{
    (void)state;
    static const char *const codecs[] = {"zstd", "null", "snappy", "deflate"};
    uint64_t rng = test_seed(21);
    const tl_type *type = test_type(all_types);
    for (size_t k = 0; k < TL_ARRAY_LEN(codecs); k++) {
        tl_fs *fs = memory_fs();
        tl_batch *in[2] = {random_batch(type, 700, &rng), random_batch(type, 301, &rng)};
        tl_write_result result = {0};
        write_file(fs, "/f.avro", type, codecs[k], in, 2, &result);
        assert_int_equal(result.rows, 1001);
        assert_int_equal(result.n_stats, type->n_fields);
        tl_batch *out =
            all_rows(open_file(fs, "/f.avro", &(tl_read_spec){.row_type = type, .batch_rows = 64, .with_row_numbers = true}));
        assert_int_equal(out->n_rows, 1001);
        for (int64_t i = 0; i < 1001; i++) {
            assert_same_rows(i < 700 ? in[0] : in[1], i < 700 ? i : i - 700, out, i);
            assert_int_equal(out->seq[i], i);
        }
        tl_batch_free(in[0]);
        tl_batch_free(in[1]);
        tl_batch_free(out);
        tl_write_result_deinit(&result);
        tl_fs_unref(fs);
    }
    tl_type_unref(type);
}

static void columns_are_found_by_name_and_absent_ones_are_null(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(22);
    tl_fs *fs = memory_fs();
    const tl_type *type = test_type("ROW<a INT, b STRING, r ROW<x INT, y BIGINT>>"),
                  *wanted = test_type("ROW<r ROW<n STRING, y BIGINT>, z DATE, a INT>");
    tl_batch *in = random_batch(type, 100, &rng);
    tl_write_result result = {0};
    write_file(fs, "/f", type, "zstd", &in, 1, &result);
    tl_batch *out = all_rows(open_file(fs, "/f", &(tl_read_spec){.row_type = wanted}));
    assert_int_equal(out->cols[1]->null_count, 100);
    for (int64_t i = 0; i < 100; i++) {
        assert_true(tl_column_equal(out->cols[2], i, in->cols[0], i));
        assert_int_equal(tl_col_is_null(out->cols[0], i), tl_col_is_null(in->cols[2], i));
        if (!tl_col_is_null(in->cols[2], i)) {
            assert_true(tl_col_is_null(out->cols[0]->children[0], i));
            assert_true(tl_column_equal(out->cols[0]->children[1], i, in->cols[2]->children[1], i));
        }
    }
    const tl_type *wrong = test_type("ROW<a STRING>");
    tl_reader *reader = NULL;
    assert_fails(tl_format_avro.open(fs, "/f", 0, &(tl_read_spec){.row_type = wrong}, &reader, &err), TL_E_CORRUPT, &err,
                 "column 'a': the file has int");
    tl_type_unref(wrong);
    tl_batch_free(in);
    tl_batch_free(out);
    tl_write_result_deinit(&result);
    tl_type_unref(type);
    tl_type_unref(wanted);
    tl_fs_unref(fs);
}

static void an_exact_filter_leaves_rows_out_and_keeps_their_numbers(void **state)
{
    (void)state;
    tl_error err;
    tl_fs *fs = memory_fs();
    const tl_type *type = test_type("ROW<a INT NOT NULL>");
    tl_batch *in = NULL;
    tl_column *col = NULL, *literal = NULL;
    assert_ok(tl_column_alloc(type->fields[0].type, 10000, &col, &err), &err);
    assert_ok(tl_column_alloc(type->fields[0].type, 1, &literal, &err), &err);
    for (int i = 0; i < 10000; i++)
        ((int32_t *)col->values)[i] = i % 1000;
    *(int32_t *)literal->values = 7;
    assert_ok(tl_batch_create(type, 10000, &in, &err), &err);
    in->cols[0] = col;
    tl_write_result result = {0};
    write_file(fs, "/f", type, "zstd", &in, 1, &result);
    assert_int_equal(tl_col_i32(result.stats[0].min, 0), 0);
    assert_int_equal(tl_col_i32(result.stats[0].max, 0), 999);
    assert_int_equal(result.stats[0].null_count, 0);
    tl_predicate *pred = NULL;
    assert_ok(tl_predicate_leaf(TL_PRED_EQ, 0, literal, &pred, &err), &err);
    tl_batch *out = all_rows(
        open_file(fs, "/f", &(tl_read_spec){.row_type = type, .predicate = pred, .exact = true, .with_row_numbers = true}));
    assert_int_equal(out->n_rows, 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(out->seq[i], i * 1000 + 7);
    tl_predicate_free(pred);
    tl_batch_free(in);
    tl_batch_free(out);
    tl_write_result_deinit(&result);
    tl_type_unref(type);
    tl_fs_unref(fs);
}

static void statistics_are_the_bounds_of_all_batches(void **state)
{
    (void)state;
    uint64_t rng = test_seed(23);
    tl_fs *fs = memory_fs();
    const tl_type *type = test_type(all_types);
    tl_batch *in[3];
    for (int i = 0; i < 3; i++)
        in[i] = random_batch(type, 50, &rng);
    tl_write_result result = {0};
    write_file(fs, "/f", type, "zstd", in, 3, &result);
    for (int32_t c = 0; c < type->n_fields; c++) {
        const tl_column_stats *s = &result.stats[c];
        int64_t nulls = 0;
        bool met_min = s->min == NULL, met_max = s->max == NULL;
        for (int b = 0; b < 3; b++) {
            const tl_column *col = in[b]->cols[c];
            nulls += col->null_count;
            for (int64_t i = 0; i < col->length && s->min != NULL; i++) {
                if (tl_col_is_null(col, i))
                    continue;
                int low = tl_column_compare(col, i, s->min, 0, false, true),
                    high = tl_column_compare(col, i, s->max, 0, false, true);
                assert_true(low >= 0 && high <= 0);
                met_min = met_min || low == 0;
                met_max = met_max || high == 0;
            }
        }
        assert_int_equal(nulls, s->null_count);
        assert_true(met_min && met_max);
        tl_type_kind kind = type->fields[c].type->kind;
        assert_int_equal(s->min != NULL, kind <= TL_VARCHAR || (kind >= TL_DATE && kind <= TL_TIMESTAMP_LTZ));
    }
    for (int i = 0; i < 3; i++)
        tl_batch_free(in[i]);
    tl_write_result_deinit(&result);
    tl_type_unref(type);
    tl_fs_unref(fs);
}

/* Strings that are told apart late or not at all, and numbers that are all on one side of the zero that stands where NULL is. */
static void bounds_do_not_come_from_prefixes_or_nulls(void **state)
{
    (void)state;
    static const tl_bytes_view texts[] = {{(const uint8_t *)"eight by, b", 11}, {(const uint8_t *)"eight by", 8},  {(const uint8_t *)"eight by\0", 9},
                                          {(const uint8_t *)"eight by, c", 11}, {(const uint8_t *)"eight by, a", 11}, {(const uint8_t *)"eight by", 8}};
    for (int sign = -1; sign <= 1; sign += 2) {
        tl_error err;
        tl_fs *fs = memory_fs();
        const tl_type *type = test_type("ROW<s STRING, i INT, l BIGINT>");
        tl_batch *batch;
        tl_builder *builders[3];
        assert_ok(tl_batch_create(type, 2 * TL_ARRAY_LEN(texts), &batch, &err), &err);
        for (int c = 0; c < 3; c++)
            assert_ok(tl_builder_create(type->fields[c].type, &builders[c], &err), &err);
        for (size_t i = 0; i < TL_ARRAY_LEN(texts); i++) {
            for (int c = 0; c < 3; c++)
                assert_int_equal(tl_builder_null(builders[c]), TL_OK);
            assert_int_equal(tl_builder_bytes(builders[0], texts[i].data, texts[i].len), TL_OK);
            for (int c = 1; c < 3; c++)
                assert_int_equal(tl_builder_int(builders[c], sign * (5 + (int)i)), TL_OK);
        }
        for (int c = 0; c < 3; c++) {
            assert_ok(tl_builder_finish(builders[c], &batch->cols[c], &err), &err);
            tl_builder_free(builders[c]);
        }
        tl_write_result result = {0};
        write_file(fs, "/f", type, "zstd", &batch, 1, &result);
        assert_true(tl_bytes_compare(tl_col_bytes(result.stats[0].min, 0), texts[1]) == 0);
        assert_true(tl_bytes_compare(tl_col_bytes(result.stats[0].max, 0), texts[3]) == 0);
        for (int c = 1; c < 3; c++) {
            assert_int_equal(tl_col_integer(result.stats[c].min, 0), sign < 0 ? -10 : 5);
            assert_int_equal(tl_col_integer(result.stats[c].max, 0), sign < 0 ? -5 : 10);
        }
        tl_batch_free(batch);
        tl_write_result_deinit(&result);
        tl_type_unref(type);
        tl_fs_unref(fs);
    }
}

static tl_status try_create(const char *type_text, const char *compression, tl_error *err)
{
    tl_fs *fs = memory_fs();
    tl_file_writer *w = NULL;
    const tl_type *type = test_type(type_text);
    tl_status status = tl_format_avro.create(fs, "/f", &(tl_write_spec){.row_type = type, .compression = compression}, &w, err);
    if (status == TL_OK)
        w->ops->free(w);
    bool there = true;
    tl_error other;
    assert_ok(tl_fs_exists(fs, "/f", &there, &other), &other);
    assert_false(there);
    tl_type_unref(type);
    tl_fs_unref(fs);
    return status;
}

static void what_avro_has_not_is_refused(void **state)
{
    (void)state;
    tl_error err;
    assert_fails(try_create("ROW<a TIMESTAMP(9)>", "zstd", &err), TL_E_INVALID, &err, "TIMESTAMP(9)");
    assert_fails(try_create("ROW<a ARRAY<TIMESTAMP(7) WITH LOCAL TIME ZONE>>", "zstd", &err), TL_E_INVALID, &err,
                 "TIMESTAMP(7)");
    assert_fails(try_create("ROW<a TIME(6)>", "zstd", &err), TL_E_INVALID, &err, "TIME(6)");
    assert_fails(try_create("ROW<a VARIANT>", "zstd", &err), TL_E_INVALID, &err, "VARIANT");
    assert_fails(try_create("ROW<`a b` INT>", "zstd", &err), TL_E_INVALID, &err, "'a b'");
    assert_fails(try_create("ROW<a ROW<b ROW<x INT>>, a_b ROW<y INT>>", "zstd", &err), TL_E_INVALID, &err, "'record_a_b'");
    assert_fails(try_create("ROW<a INT>", "none", &err), TL_E_INVALID, &err, "codec 'none'");
    assert_ok(try_create("ROW<a INT>", "ZSTD", &err), &err);
}

static void a_null_in_a_column_that_has_none_is_refused(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = 1;
    tl_fs *fs = memory_fs();
    const tl_type *strict = test_type("ROW<a INT NOT NULL, b ARRAY<INT NOT NULL>>"),
                  *loose = test_type("ROW<a INT, b ARRAY<INT>>");
    tl_batch *in = random_batch(loose, 200, &rng);
    tl_file_writer *w = NULL;
    assert_ok(tl_format_avro.create(fs, "/f", &(tl_write_spec){.row_type = strict, .compression = "zstd"}, &w, &err), &err);
    assert_fails(w->ops->write(w, in, &err), TL_E_INVALID, &err, "NOT NULL");
    w->ops->free(w);
    tl_batch_free(in);
    tl_type_unref(strict);
    tl_type_unref(loose);
    tl_fs_unref(fs);
}

static void a_file_tells_its_columns(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = 1;
    tl_fs *fs = memory_fs();
    const tl_type *type = test_type(
        "ROW<i INT NOT NULL, s STRING, d DECIMAL(10, 2), t TIMESTAMP(6), z TIMESTAMP(3) WITH LOCAL TIME ZONE, da DATE, "
        "ti TIME(3), a ARRAY<DOUBLE>, m MAP<STRING NOT NULL, INT>, r ROW<x BYTES NOT NULL>> NOT NULL");
    const tl_type *got = NULL;
    tl_batch *in = random_batch(type, 3, &rng);
    tl_write_result result = {0};
    write_file(fs, "/f", type, "zstd", &in, 1, &result);
    assert_ok(tl_format_avro.schema(fs, "/f", &got, &err), &err);
    assert_true(tl_type_equal(type, got, /* with_nullable= */ true));
    tl_type_unref(got);
    tl_batch_free(in);
    tl_write_result_deinit(&result);
    tl_type_unref(type);
    tl_fs_unref(fs);
}

/* Truncated and changed files are read or refused, never worse (for the sanitizers). */
static void cut_or_changed_files_are_refused_or_read(void **state)
{
    (void)state;
    uint64_t rng = test_seed(24);
    tl_error err;
    static const char *const codecs[] = {"null", "zstd"};
    const tl_type *type = test_type(all_types);
    for (size_t k = 0; k < 2; k++) {
        tl_fs *fs = memory_fs();
        tl_batch *in = random_batch(type, 20, &rng);
        tl_write_result result = {0};
        tl_bytes good = {0};
        write_file(fs, "/good", type, codecs[k], &in, 1, &result);
        assert_ok(tl_fs_read_all(fs, "/good", 1 << 24, &good, &err), &err);
        int refused = 0;
        for (int i = 0; i < 2000; i++) {
            uint8_t *bad = tl_memdup(good.data, good.len);
            size_t len = i % 4 == 0 ? test_random(&rng) % good.len : good.len;
            for (uint64_t flips = i % 4 == 0 ? 0 : 1 + test_random(&rng) % 3; flips > 0; flips--)
                bad[test_random(&rng) % len] ^= (uint8_t)(1u << test_random(&rng) % 8);
            assert_ok(tl_fs_publish(fs, "/bad", (tl_bytes_view){bad, len}, true, &err), &err);
            tl_reader *reader = NULL;
            tl_status status =
                tl_format_avro.open(fs, "/bad", 0, &(tl_read_spec){.row_type = type, .batch_rows = 8}, &reader, &err);
            while (status == TL_OK) {
                tl_batch *batch = NULL;
                status = tl_reader_next(reader, &batch, &err);
                if (status == TL_OK && batch == NULL)
                    break;
                for (int32_t c = 0; batch != NULL && c < batch->n_cols; c++)
                    assert_ok(tl_column_check(batch->cols[c], &err), &err);
                tl_batch_free(batch);
            }
            refused += status != TL_OK;
            tl_reader_free(reader);
            const tl_type *ignored = NULL;
            if (tl_format_avro.schema(fs, "/bad", &ignored, &err) == TL_OK)
                tl_type_unref(ignored);
            tl_free(bad);
        }
        assert_true(refused > 500);
        tl_bytes_deinit(&good);
        tl_batch_free(in);
        tl_write_result_deinit(&result);
        tl_fs_unref(fs);
    }
    tl_type_unref(type);
}

/* Every allocation of writing and reading fails once: an error, and nothing left behind (checked by the sanitizer). */
static void failing_allocations_leave_nothing_behind(void **state)
{
    (void)state;
    uint64_t rng = test_seed(25);
    tl_error err;
    const tl_type *type = test_type("ROW<i INT, s STRING, d DECIMAL(30, 2), m MAP<INT, STRING>, r ROW<x STRING>>");
    tl_batch *in = random_batch(type, 10, &rng);
    bool reached = true;
    for (uint64_t nth = 1; reached; nth++) {
        tl_fs *fs = memory_fs();
        tl_file_writer *w = NULL;
        tl_write_result result = {0};
        tl_reader *reader = NULL;
        tl_batch *out = NULL;
        const tl_type *schema = NULL;
        tl_alloc_fail_at(nth);
        tl_status status = tl_format_avro.create(
            fs, "/f", &(tl_write_spec){.row_type = type, .compression = "zstd", .with_stats = true}, &w, &err);
        if (status == TL_OK)
            status = w->ops->write(w, in, &err);
        if (status == TL_OK)
            status = w->ops->finish(w, &result, &err);
        if (status == TL_OK)
            status =
                tl_format_avro.open(fs, "/f", 0, &(tl_read_spec){.row_type = type, .with_row_numbers = true}, &reader, &err);
        if (status == TL_OK)
            status = tl_reader_next(reader, &out, &err);
        if (status == TL_OK)
            status = tl_format_avro.schema(fs, "/f", &schema, &err);
        reached = tl_alloc_count() >= nth;
        tl_alloc_fail_at(0);
        assert_true(status == (reached ? TL_E_NOMEM : TL_OK));
        tl_type_unref(schema);
        tl_batch_free(out);
        tl_reader_free(reader);
        tl_write_result_deinit(&result);
        if (w != NULL)
            w->ops->free(w);
        tl_fs_unref(fs);
    }
    tl_batch_free(in);
    tl_type_unref(type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_survives_every_codec),
        cmocka_unit_test(columns_are_found_by_name_and_absent_ones_are_null),
        cmocka_unit_test(an_exact_filter_leaves_rows_out_and_keeps_their_numbers),
        cmocka_unit_test(statistics_are_the_bounds_of_all_batches),
        cmocka_unit_test(bounds_do_not_come_from_prefixes_or_nulls),
        cmocka_unit_test(what_avro_has_not_is_refused),
        cmocka_unit_test(a_null_in_a_column_that_has_none_is_refused),
        cmocka_unit_test(a_file_tells_its_columns),
        cmocka_unit_test(cut_or_changed_files_are_refused_or_read),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
