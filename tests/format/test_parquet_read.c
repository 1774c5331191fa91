/*
 * The Parquet reader: projection and conversions, pruning, late materialisation, public conformance files, files of the
 * reference, damaged files, failing allocations and failing disks. tests/interop/parquet_read.py compares values with pyarrow.
 */
#include <dirent.h>

#include "format/parquet/read_private.h"
#include "support/random_column.h"
#include "types/text.h"

#define FILE_PATH "/t/f.parquet"

static tl_error err;

/* ---- helpers ---- */

static tl_fs *memory_fs(void)
{
    tl_fs *fs = NULL;
    assert_ok(tl_fs_memory(&fs, &err), &err);
    return fs;
}

static void set_options(const char *text, tl_options *out)
{
    char *copy = tl_strdup(text), *save = NULL;
    for (char *item = strtok_r(copy, ";", &save); item != NULL; item = strtok_r(NULL, ";", &save)) {
        char *value = strchr(item, '=');
        *value++ = '\0';
        assert_int_equal(tl_options_set(out, item, value), TL_OK);
    }
    tl_free(copy);
}

/* Takes the batch. */
static void write_file(tl_fs *fs, const char *path, tl_batch *batch, const char *options_text)
{
    tl_options options = {0};
    set_options(options_text, &options);
    tl_write_spec spec = {.row_type = batch->type, .compression = "zstd", .compression_level = 1, .options = &options};
    tl_file_writer *writer = NULL;
    tl_write_result result = {0};
    assert_ok(tl_format_parquet.create(fs, path, &spec, &writer, &err), &err);
    for (int64_t at = 0; at < batch->n_rows; at += 1000) {
        tl_batch *slice = NULL;
        assert_ok(tl_batch_slice(batch, at, TL_MIN(batch->n_rows - at, 1000), &slice, &err), &err);
        assert_ok(writer->ops->write(writer, slice, &err), &err);
        tl_batch_free(slice);
    }
    assert_ok(writer->ops->finish(writer, &result, &err), &err);
    writer->ops->free(writer);
    tl_write_result_deinit(&result);
    tl_options_deinit(&options);
    tl_batch_free(batch);
}

static tl_batch *random_batch(const tl_type *row, int64_t rows, int null_percent, uint64_t *rng)
{
    tl_batch *batch = NULL;
    assert_ok(tl_batch_create(row, rows, &batch, &err), &err);
    for (int32_t i = 0; i < row->n_fields; i++)
        batch->cols[i] = test_random_column(row->fields[i].type, rows, null_percent, rng);
    return batch;
}

static tl_predicate *predicate(const char *json_text, const tl_type *row)
{
    tl_arena arena = {0};
    const tl_json *json = NULL;
    tl_predicate *pred = NULL;
    assert_ok(tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)json_text, strlen(json_text)}, &json, &err), &err);
    assert_ok(tl_predicate_from_json(json, row, &pred, &err), &err);
    tl_arena_deinit(&arena);
    return pred;
}

/* All rows as JSON lines, each column checked; *rows counts them. */
static tl_status read_lines(tl_fs *fs, const char *path, const tl_read_spec *spec, tl_buf *out, int64_t *rows)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    *rows = 0;
    TL_TRY(tl_format_parquet.open(fs, path, 0, spec, &reader, &err));
    for (;;) {
        tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, &err));
        if (batch == NULL)
            return TL_OK;
        *rows += batch->n_rows;
        for (int32_t i = 0; i < batch->n_cols; i++)
            assert_ok(tl_column_check(batch->cols[i], &err), &err);
        for (int64_t i = 0; i < batch->n_rows && out != NULL; i++) {
            assert_int_equal(tl_text_append_json_row(out, batch, i, false, 0), TL_OK);
            assert_int_equal(tl_buf_append_byte(out, '\n'), TL_OK);
        }
        tl_batch_free(batch);
    }
}

static int64_t count_rows(tl_fs *fs, const char *path, const tl_type *row, const char *where, bool exact)
{
    int64_t rows;
    tl_predicate *pred = where == NULL ? NULL : predicate(where, row);
    tl_read_spec spec = {.row_type = row, .predicate = pred, .exact = exact};
    assert_ok(read_lines(fs, path, &spec, NULL, &rows), &err);
    tl_predicate_free(pred);
    return rows;
}

/* ---- a file to ask questions ---- */

#define QUESTION_ROWS 20000
#define QUESTION_ROW                                                                                             \
    "ROW<id BIGINT NOT NULL, k INT, s STRING, d DECIMAL(12, 2), big DECIMAL(30, 4), ts TIMESTAMP(3), f DOUBLE, " \
    "l ARRAY<INT>, m MAP<STRING, INT>, r ROW<x INT, y STRING>>"

static void add_question_row(tl_builder *b, int64_t i)
{
    char text[32];
    int len = snprintf(text, sizeof text, "name-%05lld", (long long)(i * 7919 % QUESTION_ROWS));
    (void)tl_builder_int(tl_builder_child(b, 0), i * 2);
    (void)(i % 13 == 0 ? tl_builder_null(tl_builder_child(b, 1)) : tl_builder_int(tl_builder_child(b, 1), i % 10));
    (void)(i % 17 == 0 ? tl_builder_null(tl_builder_child(b, 2)) : tl_builder_bytes(tl_builder_child(b, 2), text, (size_t)len));
    (void)tl_builder_i128(tl_builder_child(b, 3), i * 100 + i % 100);
    (void)tl_builder_i128(tl_builder_child(b, 4), (tl_i128)i * INT64_C(1000000007));
    (void)tl_builder_timestamp(tl_builder_child(b, 5), i * 1000 - 5000000, 0);
    (void)tl_builder_f64(tl_builder_child(b, 6), i == 9000 ? __builtin_nan("") : (double)i / 4);
    tl_builder *list = tl_builder_child(b, 7), *map = tl_builder_child(b, 8), *row = tl_builder_child(b, 9);
    for (int64_t k = 0; k < i % 4; k++)
        (void)tl_builder_int(tl_builder_child(list, 0), i + k);
    (void)tl_builder_end(list);
    if (i % 3 != 0) {
        (void)tl_builder_bytes(tl_builder_child(map, 0), text, 4);
        (void)tl_builder_int(tl_builder_child(map, 1), i);
        (void)tl_builder_end(map);
    } else {
        (void)tl_builder_null(map);
    }
    (void)tl_builder_int(tl_builder_child(row, 0), i);
    (void)tl_builder_bytes(tl_builder_child(row, 1), text, (size_t)(i % 8));
    (void)tl_builder_end(row);
    assert_int_equal(tl_builder_end(b), TL_OK);
}

/* Row groups of a few thousand rows, pages of 300, so that there is something to prune. */
static const tl_type *write_questions(tl_fs *fs, const char *options)
{
    const tl_type *row = test_type(QUESTION_ROW);
    tl_builder *b = NULL;
    tl_column *rows = NULL;
    assert_ok(tl_builder_create(row, &b, &err), &err);
    for (int64_t i = 0; i < QUESTION_ROWS; i++)
        add_question_row(b, i);
    assert_ok(tl_builder_finish(b, &rows, &err), &err);
    tl_builder_free(b);
    tl_batch *batch = NULL;
    assert_ok(tl_batch_create(row, QUESTION_ROWS, &batch, &err), &err);
    for (int32_t i = 0; i < row->n_fields; i++)
        batch->cols[i] = tl_column_ref(rows->children[i]);
    tl_column_unref(rows);
    write_file(fs, FILE_PATH, batch, options);
    return row;
}

#define SMALL_PAGES "parquet.page.row.count.limit=300;parquet.block.size=200000"

static const char *const questions[] = {
    "[\"=\",\"id\",8000]",
    "[\"between\",\"id\",11111,11199]",
    "[\"or\",[\"<\",\"id\",100],[\">\",\"id\",39900]]",
    "[\"and\",[\">\",\"id\",30000],[\"=\",\"k\",3]]",
    "[\"and\",[\">\",\"id\",30000],[\"<\",\"d\",\"15010.00\"]]",
    "[\"in\",\"k\",[1,2,77]]",
    "[\"isNull\",\"k\"]",
    "[\"=\",\"s\",\"name-00042\"]",
    "[\"startsWith\",\"s\",\"name-0004\"]",
    "[\"not\",[\">\",\"big\",\"5000\"]]",
    "[\"<=\",\"ts\",\"1969-12-31T23:00:00.000000000\"]",
    "[\">\",\"f\",4990.0]",
    "[\"=\",\"f\",\"NaN\"]",
    "[\"=\",\"id\",7]",
    "[\"isNotNull\",\"l\"]",
};

/* What a predicate must give, row by row over the whole file. */
static void check_question(tl_fs *fs, const tl_type *row, const char *where, tl_pool *pool)
{
    tl_predicate *pred = predicate(where, row);
    tl_read_spec all = {.row_type = row}, exact = {.row_type = row, .predicate = pred, .exact = true, .pool = pool};
    tl_reader *reader = NULL;
    tl_buf want = {0}, got = {0};
    assert_ok(tl_format_parquet.open(fs, FILE_PATH, 0, &all, &reader, &err), &err);
    for (;;) {
        tl_batch *batch = NULL;
        uint32_t sel[TL_BATCH_ROWS];
        int64_t n_sel;
        assert_ok(tl_reader_next(reader, &batch, &err), &err);
        if (batch == NULL)
            break;
        assert_ok(tl_predicate_eval(pred, (const tl_column *const *)batch->cols, batch->n_rows, sel, &n_sel, &err), &err);
        for (int64_t i = 0; i < n_sel; i++) {
            assert_int_equal(tl_text_append_json_row(&want, batch, sel[i], false, 0), TL_OK);
            assert_int_equal(tl_buf_append_byte(&want, '\n'), TL_OK);
        }
        tl_batch_free(batch);
    }
    tl_reader_free(reader);
    int64_t rows;
    assert_ok(read_lines(fs, FILE_PATH, &exact, &got, &rows), &err);
    if (got.len != want.len || (got.len != 0 && memcmp(got.data, want.data, got.len) != 0))
        fail_msg("%s: %zu bytes of rows, %zu expected", where, got.len, want.len);
    tl_buf_deinit(&got);
    tl_buf_deinit(&want);
    tl_predicate_free(pred);
}

static void exact_predicates_give_the_rows_that_pass(void **state)
{
    (void)state;
    static const char *const options[] = {SMALL_PAGES, SMALL_PAGES ";parquet.enable.dictionary=false",
                                          "parquet.page.row.count.limit=1000;parquet.writer.version=v2"};
    tl_pool *pool = NULL;
    assert_ok(tl_pool_create(2, &pool, &err), &err);
    for (size_t o = 0; o < TL_ARRAY_LEN(options); o++) {
        tl_fs *fs = memory_fs();
        const tl_type *row = write_questions(fs, options[o]);
        for (size_t i = 0; i < TL_ARRAY_LEN(questions); i++)
            check_question(fs, row, questions[i], i % 2 == 0 ? NULL : pool);
        tl_type_unref(row);
        tl_fs_unref(fs);
    }
    tl_pool_free(pool);
}

static void pages_and_row_groups_that_cannot_match_are_left_out(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    const tl_type *row = write_questions(fs, SMALL_PAGES);
    assert_int_equal(count_rows(fs, FILE_PATH, row, NULL, false), QUESTION_ROWS);
    assert_int_equal(count_rows(fs, FILE_PATH, row, "[\"=\",\"id\",8000]", false), 300);
    assert_int_equal(count_rows(fs, FILE_PATH, row, "[\"=\",\"id\",7]", false), 300); /* odd, but inside a page's bounds */
    assert_int_equal(count_rows(fs, FILE_PATH, row, "[\"=\",\"id\",70000]", false), 0);
    assert_in_range(count_rows(fs, FILE_PATH, row, "[\"and\",[\">=\",\"id\",8000],[\"<\",\"d\",\"4100.00\"]]", false), 1, 600);
    assert_in_range(count_rows(fs, FILE_PATH, row, "[\"or\",[\"<\",\"id\",100],[\">\",\"id\",39900]]", false), 1, 600);
    assert_in_range(count_rows(fs, FILE_PATH, row, "[\"<\",\"ts\",\"1969-12-31T22:37:00.000000000\"]", false), 1, 300);
    assert_in_range(count_rows(fs, FILE_PATH, row, "[\"<\",\"big\",\"1000\"]", false), 1, 300);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

static void row_numbers_count_from_the_beginning_of_the_file(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    const tl_type *row = write_questions(fs, SMALL_PAGES);
    tl_predicate *pred =
        predicate("[\"or\",[\"in\",\"id\",[2,10000,10002]],[\"and\",[\">\",\"id\",39000],[\"=\",\"k\",3]]]", row);
    for (int exact = 0; exact < 2; exact++) {
        tl_read_spec spec = {.row_type = row, .predicate = pred, .exact = exact, .with_row_numbers = true, .batch_rows = 77};
        tl_reader *reader = NULL;
        assert_ok(tl_format_parquet.open(fs, FILE_PATH, 0, &spec, &reader, &err), &err);
        for (;;) {
            tl_batch *batch = NULL;
            assert_ok(tl_reader_next(reader, &batch, &err), &err);
            if (batch == NULL)
                break;
            assert_in_range(batch->n_rows, 1, 77);
            for (int64_t i = 0; i < batch->n_rows; i++)
                assert_int_equal(batch->seq[i] * 2, tl_col_i64(batch->cols[0], i));
            tl_batch_free(batch);
        }
        tl_reader_free(reader);
    }
    tl_predicate_free(pred);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

static void bloom_filters_exclude_values_that_are_not_there(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    const tl_type *row = write_questions(fs, "parquet.bloom.filter.enabled=true;parquet.enable.dictionary=false");
    assert_int_equal(count_rows(fs, FILE_PATH, row, "[\"=\",\"s\",\"name-00042\"]", false), QUESTION_ROWS);
    assert_int_equal(count_rows(fs, FILE_PATH, row, "[\"=\",\"s\",\"name-00042x\"]", false), 0);
    assert_int_equal(
        count_rows(fs, FILE_PATH, row, "[\"and\",[\"=\",\"id\",8000],[\"in\",\"s\",[\"name-01y\",\"name-02y\"]]]", false), 0);
    assert_int_equal(count_rows(fs, FILE_PATH, row, "[\"or\",[\"=\",\"s\",\"name-01y\"],[\"=\",\"id\",9]]", false), 0);
    assert_true(count_rows(fs, FILE_PATH, row, "[\"=\",\"id\",8000]", false) > 0);
    assert_true(count_rows(fs, FILE_PATH, row, "[\"=\",\"d\",\"100.01\"]", false) == 0 || true); /* may be a false positive */
    assert_true(count_rows(fs, FILE_PATH, row, "[\"=\",\"big\",\"100000.0007\"]", false) > 0);   /* row 1 */
    tl_type_unref(row);
    tl_fs_unref(fs);
}

/* ---- projection and conversions ---- */

static void columns_come_by_name_and_absent_ones_are_null(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    tl_type_unref(write_questions(fs, SMALL_PAGES));
    const tl_type *row =
        test_type("ROW<r ROW<gone BIGINT, y STRING, z ARRAY<INT>>, id BIGINT, other ROW<a INT>, only ROW<b INT>, k INT>");
    tl_predicate *pred = predicate("[\"between\",\"id\",4,8]", row);
    tl_read_spec spec = {.row_type = row, .predicate = pred, .exact = true};
    tl_buf lines = {0};
    int64_t rows;
    assert_ok(read_lines(fs, FILE_PATH, &spec, &lines, &rows), &err);
    assert_int_equal(tl_buf_append_byte(&lines, 0), TL_OK);
    assert_string_equal((char *)lines.data,
                        "{\"r\":{\"gone\":null,\"y\":\"na\",\"z\":null},\"id\":4,\"other\":null,\"only\":null,\"k\":2}\n"
                        "{\"r\":{\"gone\":null,\"y\":\"nam\",\"z\":null},\"id\":6,\"other\":null,\"only\":null,\"k\":3}\n"
                        "{\"r\":{\"gone\":null,\"y\":\"name\",\"z\":null},\"id\":8,\"other\":null,\"only\":null,\"k\":4}\n");
    tl_buf_deinit(&lines);
    tl_predicate_free(pred);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

/* The shape of a row, list or map is read even where none of its requested parts is in the file. */
static void nested_columns_without_any_known_part_keep_their_shape(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    const tl_type *written = test_type("ROW<l ARRAY<ROW<a INT, b STRING>>>"), *asked = test_type("ROW<l ARRAY<ROW<c INT>>>");
    tl_builder *b = NULL;
    tl_column *rows = NULL;
    assert_ok(tl_builder_create(written, &b, &err), &err);
    tl_builder *list = tl_builder_child(b, 0), *element = tl_builder_child(list, 0);
    for (int i = 0; i < 2; i++) {
        (void)tl_builder_null(tl_builder_child(element, 0));
        (void)tl_builder_null(tl_builder_child(element, 1));
        assert_int_equal(tl_builder_end(element), TL_OK);
    }
    (void)tl_builder_null(element);
    (void)tl_builder_end(list);
    (void)tl_builder_end(b);
    (void)tl_builder_null(list);
    assert_int_equal(tl_builder_end(b), TL_OK);
    assert_ok(tl_builder_finish(b, &rows, &err), &err);
    tl_batch *batch = NULL;
    assert_ok(tl_batch_create(written, 2, &batch, &err), &err);
    batch->cols[0] = tl_column_ref(rows->children[0]);
    tl_column_unref(rows);
    tl_builder_free(b);
    write_file(fs, FILE_PATH, batch, "");
    tl_read_spec spec = {.row_type = asked};
    tl_buf lines = {0};
    int64_t n;
    assert_ok(read_lines(fs, FILE_PATH, &spec, &lines, &n), &err);
    assert_int_equal(tl_buf_append_byte(&lines, 0), TL_OK);
    assert_string_equal((char *)lines.data, "{\"l\":[{\"c\":null},{\"c\":null},null]}\n{\"l\":null}\n");
    tl_buf_deinit(&lines);
    tl_type_unref(written);
    tl_type_unref(asked);
    tl_fs_unref(fs);
}

typedef struct conversion_case {
    const char *written; /* type of the file's column */
    const char *asked;
    const char *values; /* JSON array */
    const char *want;   /* lines, or the end of the error's message after "cannot", or "range" */
} conversion_case;

static const conversion_case conversions[] = {
    {"INT", "BIGINT", "[1,null,-5]", "[1,null,-5]"},
    {"TINYINT", "INT", "[-128,127]", "[-128,127]"},
    {"BIGINT", "INT", "[5,-2147483648]", "[5,-2147483648]"},
    {"BIGINT", "INT", "[5,2147483648]", "does not fit"},
    {"INT", "TINYINT", "[128]", "does not fit"},
    {"FLOAT", "DOUBLE", "[1.5,null]", "[1.5,null]"},
    {"DECIMAL(5, 2)", "DECIMAL(10, 4)", "[\"1.25\",null,\"-999.99\"]", "[\"1.2500\",null,\"-999.9900\"]"},
    {"DECIMAL(5, 2)", "DECIMAL(38, 20)", "[\"-1.25\"]", "[\"-1.25000000000000000000\"]"},
    {"DECIMAL(30, 2)", "DECIMAL(15, 2)", "[\"123.45\"]", "[\"123.45\"]"},
    {"DECIMAL(30, 2)", "DECIMAL(5, 2)", "[\"1234.56\"]", "does not fit"},
    {"DECIMAL(5, 2)", "DECIMAL(5, 1)", "[\"1.25\"]", "cannot be read as DECIMAL(5, 1)"},
    {"INT", "DECIMAL(12, 2)", "[7]", "[\"7.00\"]"},
    {"TIMESTAMP(3)", "TIMESTAMP(6)", "[\"1969-12-31T23:59:59.999\"]", "[\"1969-12-31T23:59:59.999000000\"]"},
    {"TIMESTAMP(3)", "TIMESTAMP(9)", "[\"1969-12-31T23:59:59.999\"]", "[\"1969-12-31T23:59:59.999000000\"]"},
    {"TIMESTAMP(6)", "TIMESTAMP(3)", "[\"1969-12-31T23:59:59.999999\"]", "[\"1969-12-31T23:59:59.999000000\"]"},
    {"TIMESTAMP(6)", "TIMESTAMP(9)", "[\"1969-12-31T23:59:59.999999\"]", "[\"1969-12-31T23:59:59.999999000\"]"},
    {"TIMESTAMP(9)", "TIMESTAMP(6)", "[\"1960-01-01T12:00:00.123456789\"]", "[\"1960-01-01T12:00:00.123456000\"]"},
    {"TIMESTAMP(9)", "TIMESTAMP(3)", "[\"1960-01-01T12:00:00.123456789\"]", "[\"1960-01-01T12:00:00.123000000\"]"},
    {"TIMESTAMP(6)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "[\"2020-01-01T00:00:00\"]", "[\"2020-01-01T00:00:00.000000000Z\"]"},
    {"STRING", "BYTES", "[\"ab\"]", "[\"6162\"]"},
    {"STRING", "CHAR(3)", "[\"ab\"]", "[\"ab\"]"},
    {"INT", "STRING", "[1]", "cannot be read as STRING"},
    {"STRING", "INT", "[\"1\"]", "cannot be read as INT"},
    {"INT", "ARRAY<INT>", "[1]", "is a single value in the file and cannot be read as ARRAY<INT>"},
    {"ARRAY<INT>", "INT", "[[1]]", "is a list in the file and cannot be read as INT"},
    {"MAP<INT, INT>", "ARRAY<INT>", "[[[1,2]]]", "is a map in the file"},
    {"ARRAY<INT>", "ARRAY<BIGINT>", "[[1,null],[],null]", "[[1,null],[],null]"},
    {"ROW<a INT, b DATE>", "ROW<b DATE, a BIGINT>", "[{\"a\":1,\"b\":\"2020-02-29\"}]", "[{\"b\":\"2020-02-29\",\"a\":1}]"},
    {"MULTISET<STRING>", "MAP<STRING, BIGINT>", "[[[\"x\",2]]]", "[[[\"x\",2]]]"},
};

static tl_batch *batch_of_json(const tl_type *row, const char *text)
{
    tl_arena arena = {0};
    const tl_json *json = NULL;
    tl_builder *b = NULL;
    tl_batch *batch = NULL;
    int64_t n = 0;
    assert_ok(tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)text, strlen(text)}, &json, &err), &err);
    assert_ok(tl_builder_create(row->fields[0].type, &b, &err), &err);
    for (const tl_json *v = json->child; v != NULL; v = v->next, n++)
        assert_ok(tl_text_read_json(v, row->fields[0].type, b, &err), &err);
    assert_ok(tl_batch_create(row, n, &batch, &err), &err);
    assert_ok(tl_builder_finish(b, &batch->cols[0], &err), &err);
    tl_builder_free(b);
    tl_arena_deinit(&arena);
    return batch;
}

static const tl_type *one_column(const char *type)
{
    char text[200];
    snprintf(text, sizeof text, "ROW<c %s>", type);
    return test_type(text);
}

static void check_conversion(const conversion_case *c, const char *options)
{
    tl_fs *fs = memory_fs();
    const tl_type *written = one_column(c->written), *asked = one_column(c->asked);
    write_file(fs, FILE_PATH, batch_of_json(written, c->values), options);
    tl_read_spec spec = {.row_type = asked};
    tl_buf got = {0}, want = {0};
    int64_t rows;
    tl_status status = read_lines(fs, FILE_PATH, &spec, &got, &rows);
    if (c->want[0] != '[') {
        if (status == TL_OK || strstr(err.message, c->want) == NULL)
            fail_msg("%s as %s: '%s' expected in '%s'", c->written, c->asked, c->want, status == TL_OK ? "" : err.message);
    } else {
        assert_ok(status, &err);
        tl_batch *expected = batch_of_json(asked, c->want);
        for (int64_t i = 0; i < expected->n_rows; i++) {
            assert_int_equal(tl_text_append_json_row(&want, expected, i, false, 0), TL_OK);
            assert_int_equal(tl_buf_append_byte(&want, '\n'), TL_OK);
        }
        if (got.len != want.len || memcmp(got.data, want.data, got.len) != 0)
            fail_msg("%s as %s: got %.*s", c->written, c->asked, (int)got.len, (char *)got.data);
        tl_batch_free(expected);
    }
    tl_buf_deinit(&got);
    tl_buf_deinit(&want);
    tl_type_unref(written);
    tl_type_unref(asked);
    tl_fs_unref(fs);
}

static void stored_types_are_read_as_wider_ones_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < TL_ARRAY_LEN(conversions); i++) {
        check_conversion(&conversions[i], "");
        check_conversion(&conversions[i], "parquet.enable.dictionary=false");
    }
}

/* ---- conformance ---- */

#define CONFORMANCE TL_SOURCE_DIR "/../shared/conformance/parquet"

static tl_status read_whole(tl_fs *fs, const char *path, int64_t *rows)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *type = NULL;
    TL_TRY(tl_format_parquet.schema(fs, path, &type, &err));
    tl_read_spec spec = {.row_type = type};
    return read_lines(fs, path, &spec, NULL, rows);
}

/* Names of the folder's Parquet files; false if it is not there. */
static bool each_parquet(const char *folder, void (*fn)(tl_fs *fs, const char *path, const char *name))
{
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return false;
    tl_fs *fs = NULL;
    assert_ok(tl_fs_local(&fs, &err), &err);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        size_t len = strlen(entry->d_name);
        char *path = tl_path_join(folder, entry->d_name);
        if (len > 8 && strcmp(entry->d_name + len - 8, ".parquet") == 0)
            fn(fs, path, entry->d_name);
        tl_free(path);
    }
    tl_fs_unref(fs);
    closedir(dir);
    return true;
}

static void check_good(tl_fs *fs, const char *path, const char *name)
{
    int64_t rows;
    tl_status status = read_whole(fs, path, &rows);
    if (strstr(name, "corrupt-checksum") != NULL) {
        assert_fails(status, TL_E_CORRUPT, &err, "checksum");
    } else if (strcmp(name, "large_string_map.brotli.parquet") == 0) {
        assert_fails(status, TL_E_LIMIT, &err, "page is larger"); /* 2 GiB in one page */
    } else if (status != TL_OK) {
        fail_msg("%s: %s", name, err.message);
    }
}

/* What a row's variant is stands beside a file that is good; the others break the rules of shredding, or use types that it has not. */
static void check_shredded(tl_fs *fs, const char *path, const char *name)
{
    int64_t rows;
    bool is_good = false;
    for (int row = 0; row < 4 && !is_good; row++) {
        char *value = tl_strf("%.*s_row-%d.variant.bin", (int)(strlen(path) - strlen(".parquet")), path, row);
        assert_ok(tl_fs_exists(fs, value, &is_good, &err), &err);
        tl_free(value);
    }
    tl_status status = read_whole(fs, path, &rows);
    if (is_good && status != TL_OK)
        fail_msg("%s: %s", name, err.message);
    if (!is_good && status != TL_E_CORRUPT && status != TL_E_UNSUPPORTED)
        fail_msg("%s: %s", name, tl_status_name(status));
}

static void check_bad(tl_fs *fs, const char *path, const char *name)
{
    int64_t rows;
    if (strcmp(name, "ARROW-GH-43605.parquet") == 0) /* a dictionary of one value needs no bits: legal */
        assert_ok(read_whole(fs, path, &rows), &err);
    else
        assert_int_equal(read_whole(fs, path, &rows), TL_E_CORRUPT);
}

static void public_files_are_read_or_refused_as_they_should_be(void **state)
{
    (void)state;
    if (!each_parquet(CONFORMANCE "/data", check_good) || !each_parquet(CONFORMANCE "/shredded_variant", check_shredded) ||
        !each_parquet(CONFORMANCE "/bad_data", check_bad))
        skip();
}

/* ---- files of the reference ---- */

typedef struct tally {
    int64_t files, rows;
} tally;

static void read_tree(tl_fs *fs, const char *folder, int depth, tally *t)
{
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    assert_ok(tl_fs_list(fs, folder, &entries, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        char *path = tl_path_join(folder, entries[i].name);
        size_t len = strlen(path);
        int64_t rows = 0;
        if (entries[i].stat.is_dir && depth < 12) {
            read_tree(fs, path, depth + 1, t);
        } else if (len > 8 && strcmp(path + len - 8, ".parquet") == 0 &&
                   entries[i].stat.bytes > 0) { /* empty: a write that failed */
            assert_ok(read_whole(fs, path, &rows), &err);
            t->files++;
            t->rows += rows;
        }
        tl_free(path);
    }
    tl_dir_free(entries, n);
}

static void every_file_of_the_reference_is_readable(void **state)
{
    (void)state;
    const char *root = getenv("TL_FIXTURES");
    tl_fs *fs = NULL;
    bool there = false;
    assert_ok(tl_fs_local(&fs, &err), &err);
    if (root == NULL)
        root = TL_SOURCE_DIR "/../shared/fixtures";
    assert_ok(tl_fs_exists(fs, root, &there, &err), &err);
    tally t = {0};
    if (there)
        read_tree(fs, root, 0, &t);
    tl_fs_unref(fs);
    if (t.files == 0)
        skip();
    print_message("%lld files, %lld rows\n", (long long)t.files, (long long)t.rows);
}

/* ---- damage and faults ---- */

#define DAMAGE_ROW                                                                                              \
    "ROW<a BIGINT NOT NULL, b INT, s STRING, t STRING, d DECIMAL(38, 3), ts TIMESTAMP(9), f FLOAT, o BOOLEAN, " \
    "l ARRAY<ARRAY<INT>>, m MAP<STRING NOT NULL, ROW<x INT, y STRING>>>"

static tl_bytes file_bytes(tl_fs *fs, const char *path)
{
    tl_bytes bytes = {0};
    assert_ok(tl_fs_read_all(fs, path, INT64_C(1) << 30, &bytes, &err), &err);
    return bytes;
}

static void publish(tl_fs *fs, const char *path, const uint8_t *data, size_t len)
{
    assert_ok(tl_fs_publish(fs, path, (tl_bytes_view){data, len}, true, &err), &err);
}

/* Some bytes changed, or the end cut off: any answer is right but a crash. */
static void damage(tl_fs *fs, tl_bytes original, const tl_type *row, int rounds, uint64_t *rng)
{
    tl_predicate *pred = predicate("[\"and\",[\">\",\"a\",0],[\"isNotNull\",\"s\"]]", row);
    for (int round = 0; round < rounds; round++) {
        uint8_t *copy = tl_memdup(original.data, original.len);
        size_t len = original.len;
        int changes = 1 + (int)(test_random(rng) % 3);
        for (int i = 0; i < changes; i++)
            copy[test_random(rng) % len] = test_random(rng) % 3 == 0 ? 0xff : (uint8_t)test_random(rng);
        if (test_random(rng) % 20 == 0)
            len = test_random(rng) % len;
        publish(fs, "/t/damaged.parquet", copy, len);
        int64_t rows;
        tl_read_spec spec = {.row_type = row, .predicate = round % 2 == 0 ? pred : NULL, .exact = round % 4 == 0};
        (void)read_lines(fs, "/t/damaged.parquet", &spec, NULL, &rows);
        (void)read_whole(fs, "/t/damaged.parquet", &rows);
        tl_free(copy);
    }
    tl_predicate_free(pred);
}

static void damaged_files_never_crash_the_reader(void **state)
{
    (void)state;
    static const char *const options[] = {
        "parquet.page.row.count.limit=40;parquet.page.write-checksum.enabled=false",
        "parquet.page.row.count.limit=40;parquet.enable.dictionary=false;parquet.compression=uncompressed",
        ("parquet.writer.version=v2;parquet.enable.dictionary=false;parquet.compression=uncompressed;"
         "parquet.bloom.filter.enabled=true"),
        "parquet.compression=uncompressed",
    };
    uint64_t rng = test_seed(11);
    const tl_type *row = test_type(DAMAGE_ROW);
    for (size_t o = 0; o < TL_ARRAY_LEN(options); o++) {
        tl_fs *fs = memory_fs();
        write_file(fs, FILE_PATH, random_batch(row, 120, 20, &rng), options[o]);
        tl_bytes original = file_bytes(fs, FILE_PATH);
        damage(fs, original, row, 700, &rng);
        tl_bytes_deinit(&original);
        tl_fs_unref(fs);
    }
    tl_type_unref(row);
}

static void a_failing_allocation_is_an_error_wherever_it_happens(void **state)
{
    (void)state;
    uint64_t rng = 12;
    const tl_type *row = test_type(DAMAGE_ROW);
    tl_fs *fs = memory_fs();
    write_file(fs, FILE_PATH, random_batch(row, 60, 20, &rng),
               "parquet.page.row.count.limit=40;parquet.bloom.filter.enabled=true");
    tl_predicate *pred = predicate("[\"or\",[\"=\",\"a\",1],[\"isNotNull\",\"s\"]]", row);
    tl_read_spec spec = {.row_type = row, .predicate = pred, .exact = true, .with_row_numbers = true};
    for (uint64_t nth = 1;; nth++) {
        int64_t rows;
        tl_alloc_fail_at(nth);
        tl_status status = read_lines(fs, FILE_PATH, &spec, NULL, &rows);
        uint64_t count = tl_alloc_count();
        tl_alloc_fail_at(0);
        if (count < nth) {
            assert_ok(status, &err);
            break;
        }
        if (status != TL_OK)
            assert_int_equal(status, TL_E_NOMEM);
    }
    tl_predicate_free(pred);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

static void a_failing_disk_is_an_error_wherever_it_happens(void **state)
{
    (void)state;
    static const tl_fault_kind kinds[] = {TL_FAULT_EIO, TL_FAULT_SHORT_READ};
    uint64_t rng = 13;
    const tl_type *row = test_type(DAMAGE_ROW);
    tl_fs *inner = memory_fs();
    write_file(inner, FILE_PATH, random_batch(row, 60, 20, &rng), "parquet.page.row.count.limit=40");
    tl_read_spec spec = {.row_type = row};
    for (size_t k = 0; k < TL_ARRAY_LEN(kinds); k++) {
        for (uint64_t at = 1;; at++) {
            int64_t rows;
            tl_fault_plan plan = {.kind = kinds[k], .at = at};
            tl_fs *fs = NULL;
            assert_ok(tl_fs_fault(inner, &plan, &fs, &err), &err);
            tl_status status = read_lines(fs, FILE_PATH, &spec, NULL, &rows);
            tl_fs_unref(fs);
            if (plan.calls < at) {
                assert_ok(status, &err);
                assert_int_equal(rows, 60);
                break;
            }
            if (status == TL_OK)
                assert_int_equal(rows, 60); /* only closing failed */
        }
    }
    tl_type_unref(row);
    tl_fs_unref(inner);
}

static void what_is_no_parquet_file_is_said_so(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    const tl_type *type = NULL;
    publish(fs, "/t/short", (const uint8_t *)"PAR1", 4);
    publish(fs, "/t/text", (const uint8_t *)"not at all a Parquet file", 25);
    publish(fs, "/t/encrypted", (const uint8_t *)"PARE\0\0\0\0\4\0\0\0PARE", 16);
    publish(fs, "/t/footer", (const uint8_t *)"PAR1\0\0\0\0\377\377\377\177PAR1", 16);
    publish(fs, "/t/empty", (const uint8_t *)"PAR1\0\1\0\0\0PAR1", 13);
    assert_fails(tl_format_parquet.schema(fs, "/t/short", &type, &err), TL_E_CORRUPT, &err, "'/t/short'");
    assert_fails(tl_format_parquet.schema(fs, "/t/text", &type, &err), TL_E_CORRUPT, &err, "does not end with PAR1");
    assert_fails(tl_format_parquet.schema(fs, "/t/encrypted", &type, &err), TL_E_UNSUPPORTED, &err, "encrypted");
    assert_fails(tl_format_parquet.schema(fs, "/t/footer", &type, &err), TL_E_CORRUPT, &err, "footer of 2147483647 bytes");
    assert_fails(tl_format_parquet.schema(fs, "/t/empty", &type, &err), TL_E_CORRUPT, &err, "required field is missing");
    assert_fails(tl_format_parquet.schema(fs, "/t/gone", &type, &err), TL_E_NOT_FOUND, &err, "'/t/gone'");
    tl_fs_unref(fs);
}

/* The file with a type put into the root of its schema: in front of its name, whose number then is 3 and no longer 4 away. */
static void publish_with_type_of_root(tl_fs *fs, const char *path, tl_bytes original)
{
    static const uint8_t name[] = "\x48\x0dpaimon_schema", typed[] = {0x15, 0x0c, 0x38};
    const uint8_t *at = memmem(original.data, original.len, name, sizeof name - 1);
    assert_non_null(at);
    size_t before = (size_t)(at - original.data);
    uint8_t *bytes = tl_alloc(original.len + 2);
    memcpy(bytes, original.data, before);
    memcpy(bytes + before, typed, sizeof typed);
    memcpy(bytes + before + sizeof typed, at + 1, original.len - before - 1);
    uint8_t *footer = bytes + original.len + 2 - 8;
    tl_write_le32(footer, tl_read_le32(footer) + 2);
    publish(fs, path, bytes, original.len + 2);
    tl_free(bytes);
}

static void the_root_is_a_group_whatever_type_it_has(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    uint64_t rng = test_seed(12);
    const tl_type *row = test_type(DAMAGE_ROW);
    write_file(fs, FILE_PATH, random_batch(row, 50, 20, &rng), "");
    tl_bytes original = file_bytes(fs, FILE_PATH);
    publish_with_type_of_root(fs, "/t/typed.parquet", original);
    const tl_type *type = NULL;
    assert_ok(tl_format_parquet.schema(fs, "/t/typed.parquet", &type, &err), &err);
    assert_int_equal(type->n_fields, row->n_fields);
    int64_t rows;
    tl_read_spec spec = {.row_type = row};
    assert_ok(read_lines(fs, "/t/typed.parquet", &spec, NULL, &rows), &err);
    assert_int_equal(rows, 50);
    tl_type_unref(type);
    tl_bytes_deinit(&original);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_predicates_give_the_rows_that_pass),
        cmocka_unit_test(pages_and_row_groups_that_cannot_match_are_left_out),
        cmocka_unit_test(row_numbers_count_from_the_beginning_of_the_file),
        cmocka_unit_test(bloom_filters_exclude_values_that_are_not_there),
        cmocka_unit_test(columns_come_by_name_and_absent_ones_are_null),
        cmocka_unit_test(nested_columns_without_any_known_part_keep_their_shape),
        cmocka_unit_test(stored_types_are_read_as_wider_ones_or_refused),
        cmocka_unit_test(public_files_are_read_or_refused_as_they_should_be),
        cmocka_unit_test(every_file_of_the_reference_is_readable),
        cmocka_unit_test(damaged_files_never_crash_the_reader),
        cmocka_unit_test(a_failing_allocation_is_an_error_wherever_it_happens),
        cmocka_unit_test(a_failing_disk_is_an_error_wherever_it_happens),
        cmocka_unit_test(what_is_no_parquet_file_is_said_so),
        cmocka_unit_test(the_root_is_a_group_whatever_type_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
