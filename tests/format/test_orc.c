/* ORC: what is written is read back, pruning never loses a row, files of other writers are read, broken ones are refused. */
#include "format/format.h"
#include "format/orc/orc_private.h"
#include "io/memory.h"
#include "support/random_column.h"
#include "types/key.h"
#include "types/text.h"

#define PATH "/t/x.orc"

static tl_batch *random_batch(const tl_type *row, int64_t n, int null_percent, uint64_t *rng)
{
    tl_error err;
    tl_batch *batch = NULL;
    assert_ok(tl_batch_create(row, n, &batch, &err), &err);
    for (int32_t c = 0; c < row->n_fields; c++)
        batch->cols[c] = test_random_column(row->fields[c].type, n, null_percent, rng);
    return batch;
}

/* `key`: an option with a value, or NULL. */
static void write_with(tl_fs *fs, const tl_type *row, const char *compression, const char *key, const char *value, tl_batch **batches,
                       int n, tl_write_result *result)
{
    tl_error err;
    tl_options options = {0};
    tl_file_writer *w = NULL;
    if (key != NULL)
        assert_int_equal(tl_options_set(&options, key, value), TL_OK);
    tl_write_spec spec = {.row_type = row, .compression = compression, .compression_level = 1, .options = &options, .with_stats = true};
    (void)tl_fs_remove(fs, PATH, NULL);
    assert_ok(tl_format_orc.create(fs, PATH, &spec, &w, &err), &err);
    for (int i = 0; i < n; i++)
        assert_ok(w->ops->write(w, batches[i], &err), &err);
    assert_ok(w->ops->finish(w, result, &err), &err);
    w->ops->free(w);
    tl_options_deinit(&options);
}

static void write_file(tl_fs *fs, const tl_type *row, const char *compression, const char *stripe, tl_batch **batches, int n,
                       tl_write_result *result)
{
    write_with(fs, row, compression, stripe == NULL ? NULL : "orc.stripe.size", stripe, batches, n, result);
}

/* All rows of the file as one batch; NULL if there are none. */
static tl_batch *read_file(tl_fs *fs, const tl_read_spec *spec)
{
    tl_error err;
    tl_reader *reader = NULL;
    tl_batch *all[4096], *out = NULL;
    int n = 0;
    assert_ok(tl_format_orc.open(fs, PATH, 0, spec, &reader, &err), &err);
    for (;;) {
        tl_batch *batch = NULL;
        assert_ok(tl_reader_next(reader, &batch, &err), &err);
        if (batch == NULL)
            break;
        for (int32_t c = 0; c < batch->n_cols; c++)
            assert_ok(tl_column_check(batch->cols[c], &err), &err);
        all[n++] = batch;
    }
    tl_reader_free(reader);
    if (n > 0)
        assert_ok(tl_batch_concat((const tl_batch *const *)all, n, &out, &err), &err);
    for (int i = 0; i < n; i++)
        tl_batch_free(all[i]);
    return out;
}

static void assert_same_rows(const tl_batch *a, const tl_batch *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    for (int32_t c = 0; c < a->n_cols; c++)
        for (int64_t i = 0; i < a->n_rows; i++)
            if (tl_column_compare(a->cols[c], i, b->cols[c], i, false, true) != 0)
                fail_msg("column %d (%s): row %lld differs", c, a->type->fields[c].name, (long long)i);
}

static const char *const row_text =
    "ROW<b BOOLEAN, i1 TINYINT, i2 SMALLINT, i4 INT, i8 BIGINT NOT NULL, f FLOAT, d DOUBLE, m DECIMAL(10, 2), w DECIMAL(38, 5), "
    "v VARCHAR(40), s STRING, y BYTES, t TIME(3), a ARRAY<INT>, aa ARRAY<ARRAY<STRING>>, "
    "p MAP<STRING, INT>, r ROW<x INT, z ROW<q STRING, l ARRAY<BIGINT>>>>";

static void round_trip(const char *compression, const char *stripe, int64_t rows, int null_percent, uint64_t seed)
{
    tl_error err;
    tl_fs *fs = NULL;
    uint64_t rng = seed;
    const tl_type *row = test_type(row_text);
    assert_ok(tl_fs_memory(&fs, &err), &err);
    tl_batch *batches[3], *whole = NULL;
    for (int i = 0; i < 3; i++)
        batches[i] = random_batch(row, rows + i, null_percent, &rng);
    tl_write_result result = {0};
    write_file(fs, row, compression, stripe, batches, 3, &result);
    assert_int_equal(result.rows, 3 * rows + 3);
    assert_ok(tl_batch_concat((const tl_batch *const *)batches, 3, &whole, &err), &err);
    for (int32_t c = 0; c < row->n_fields; c++)
        assert_int_equal(result.stats[c].null_count, whole->cols[c]->null_count);
    tl_read_spec spec = {.row_type = row, .batch_rows = 777, .with_row_numbers = true};
    tl_batch *again = read_file(fs, &spec);
    assert_same_rows(whole, again);
    for (int64_t i = 0; i < again->n_rows; i++)
        assert_int_equal(again->seq[i], i);
    tl_batch_free(again);
    tl_batch_free(whole);
    for (int i = 0; i < 3; i++)
        tl_batch_free(batches[i]);
    tl_write_result_deinit(&result);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

static void random_rows_come_back_with_every_codec(void **state)
{
    (void)state;
    static const char *const codecs[] = {"zstd", "none", "snappy", "lz4", "zlib", "lzo"};
    for (size_t i = 0; i < TL_ARRAY_LEN(codecs); i++) {
        round_trip(codecs[i], NULL, 700, 20, 11 + i);
        round_trip(codecs[i], "20 kb", 1500, 0, 31 + i);
        round_trip(codecs[i], NULL, 60, 100, 41 + i);
    }
    round_trip("zstd", NULL, 9000, 5, 77);
}

/* Numbers in order with some noise, so that row groups can be left out. */
static tl_batch *ordered_batch(const tl_type *row, int64_t n)
{
    tl_error err;
    tl_batch *batch = NULL;
    tl_builder *builders[3];
    assert_ok(tl_batch_create(row, n, &batch, &err), &err);
    for (int c = 0; c < 3; c++)
        assert_ok(tl_builder_create(row->fields[c].type, &builders[c], &err), &err);
    for (int64_t i = 0; i < n; i++) {
        char text[32];
        int len = snprintf(text, sizeof text, "word %07lld", (long long)(i / 7));
        assert_int_equal(tl_builder_int(builders[0], i * 3 + i % 2), TL_OK);
        assert_int_equal(i % 11 == 0 ? tl_builder_null(builders[1]) : tl_builder_bytes(builders[1], text, (size_t)len), TL_OK);
        if (i % 5 != 0) {
            assert_int_equal(tl_builder_int(tl_builder_child(builders[2], 0), i), TL_OK);
            assert_int_equal(tl_builder_null(tl_builder_child(builders[2], 0)), TL_OK);
        }
        assert_int_equal(tl_builder_end(builders[2]), TL_OK);
    }
    for (int c = 0; c < 3; c++) {
        assert_ok(tl_builder_finish(builders[c], &batch->cols[c], &err), &err);
        tl_builder_free(builders[c]);
    }
    return batch;
}

/* `prunes`: not all rows need to be read for it. */
static void check_where(tl_fs *fs, const tl_type *row, const tl_batch *whole, const char *where, bool prunes)
{
    tl_error err;
    const tl_json *json = NULL;
    tl_arena arena = {0};
    tl_predicate *pred = NULL;
    assert_ok(tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)where, strlen(where)}, &json, &err), &err);
    assert_ok(tl_predicate_from_json(json, row, &pred, &err), &err);
    tl_arena_deinit(&arena);
    uint32_t *sel = tl_alloc((size_t)whole->n_rows * sizeof *sel);
    int64_t n;
    assert_ok(tl_predicate_eval(pred, (const tl_column *const *)whole->cols, whole->n_rows, sel, &n, &err), &err);
    tl_read_spec spec = {.row_type = row, .predicate = pred, .exact = true, .with_row_numbers = true};
    tl_batch *got = read_file(fs, &spec);
    assert_int_equal(got == NULL ? 0 : got->n_rows, n);
    if (n > 0) {
        tl_batch *want = NULL;
        assert_ok(tl_batch_gather(whole, sel, n, &want, &err), &err);
        assert_same_rows(want, got);
        for (int64_t i = 0; i < n; i++)
            assert_int_equal(got->seq[i], sel[i]);
        tl_batch_free(want);
    }
    tl_batch_free(got);
    spec.exact = false; /* pruned: all that match, and not everything */
    got = read_file(fs, &spec);
    int64_t k = 0;
    for (int64_t i = 0; got != NULL && i < got->n_rows; i++)
        k += k < n && got->seq[i] == sel[k];
    assert_int_equal(k, n);
    if (got != NULL)
        assert_int_equal(got->n_rows < whole->n_rows, prunes);
    tl_batch_free(got);
    tl_free(sel);
    tl_predicate_free(pred);
}

static void predicates_skip_row_groups_and_lose_no_row(void **state)
{
    (void)state;
    tl_error err;
    tl_fs *fs = NULL;
    const tl_type *row = test_type("ROW<k BIGINT, s STRING, l ARRAY<BIGINT>>");
    assert_ok(tl_fs_memory(&fs, &err), &err);
    tl_batch *whole = ordered_batch(row, 73000);
    static const char *const stripes[] = {"64 mb", "300 kb"}, *const codecs[] = {"zstd", "none"};
    for (int i = 0; i < 4; i++) {
        tl_write_result result = {0};
        write_file(fs, row, codecs[i % 2], stripes[i / 2], &whole, 1, &result);
        tl_write_result_deinit(&result);
        check_where(fs, row, whole, "[\"=\",\"k\",90001]", true);
        check_where(fs, row, whole, "[\"between\",\"k\",100000,100500]", true);
        check_where(fs, row, whole, "[\"=\",\"s\",\"word 0009000\"]", true);
        check_where(fs, row, whole, "[\"and\",[\">\",\"k\",200000],[\"isNull\",\"s\"]]", true);
        check_where(fs, row, whole, "[\"<\",\"k\",-1]", true);
    }
    tl_batch_free(whole);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

/* Few rows of every type are read from one to the next, across blocks, stripes and row groups. */
static void rows_that_pass_here_and_there_are_those_of_the_whole(void **state)
{
    (void)state;
    static const char *const codecs[] = {"zstd", "none", "lz4"}, *const stripes[] = {NULL, "20 kb", NULL};
    tl_error err;
    tl_fs *fs = NULL;
    uint64_t rng = 5;
    const tl_type *row = test_type(row_text);
    assert_ok(tl_fs_memory(&fs, &err), &err);
    for (int i = 0; i < 3; i++) {
        tl_batch *parts[4], *whole;
        for (int part = 0; part < 4; part++) {
            parts[part] = random_batch(row, 3500, i * 30, &rng);
            for (int64_t k = 0, at = part * 3500; k < 3500; k++, at++) /* neighbours at times; then some in one place */
                ((int64_t *)parts[part]->cols[4]->values)[k] = at < 9000 ? at / 2 * 7919 % 4999 : at;
        }
        tl_write_result result = {0};
        write_file(fs, row, codecs[i], stripes[i], parts, 4, &result);
        tl_write_result_deinit(&result);
        assert_ok(tl_batch_concat((const tl_batch *const *)parts, 4, &whole, &err), &err);
        check_where(fs, row, whole, "[\"<\",\"i8\",30]", true);
        check_where(fs, row, whole, "[\"or\",[\"in\",\"i8\",[1,4095,4998]],[\"between\",\"i8\",11999,12003]]", false);
        tl_batch_free(whole);
        for (int part = 0; part < 4; part++)
            tl_batch_free(parts[part]);
    }
    tl_type_unref(row);
    tl_fs_unref(fs);
}

/* CHAR lies padded in the file, and so do its bounds: "a" is less than what the file calls its least value. */
static void texts_of_fixed_length_are_not_pruned_away(void **state)
{
    (void)state;
    static const char *const values[] = {"a", "b c", "d"}, *const wheres[] = {"[\"=\",\"c\",\"a\"]", "[\"<\",\"c\",\"a \"]",
                                                                              "[\"in\",\"c\",[\"\",\"d\"]]", "[\"<=\",\"c\",\"b c\"]"};
    static const int64_t passing[] = {1, 1, 1, 2};
    tl_error err;
    tl_fs *fs = NULL;
    tl_batch *batch = NULL;
    tl_builder *builder = NULL;
    const tl_type *row = test_type("ROW<c CHAR(5)>");
    assert_ok(tl_fs_memory(&fs, &err), &err);
    assert_ok(tl_batch_create(row, 3, &batch, &err), &err);
    assert_ok(tl_builder_create(row->fields[0].type, &builder, &err), &err);
    for (int i = 0; i < 3; i++)
        assert_int_equal(tl_builder_bytes(builder, values[i], strlen(values[i])), TL_OK);
    assert_ok(tl_builder_finish(builder, &batch->cols[0], &err), &err);
    tl_builder_free(builder);
    tl_write_result result = {0};
    write_file(fs, row, "zstd", NULL, &batch, 1, &result);
    for (size_t i = 0; i < TL_ARRAY_LEN(wheres); i++) {
        tl_arena arena = {0};
        const tl_json *json = NULL;
        tl_predicate *pred = NULL;
        assert_ok(tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)wheres[i], strlen(wheres[i])}, &json, &err), &err);
        assert_ok(tl_predicate_from_json(json, row, &pred, &err), &err);
        tl_read_spec spec = {.row_type = row, .predicate = pred, .exact = true};
        tl_batch *got = read_file(fs, &spec);
        assert_int_equal(got == NULL ? 0 : got->n_rows, passing[i]);
        tl_batch_free(got);
        tl_predicate_free(pred);
        tl_arena_deinit(&arena);
    }
    tl_write_result_deinit(&result);
    tl_batch_free(batch);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

/* Texts of a few words with NULLs between; in the second half of the rows no word comes twice. */
static tl_batch *repeating_batch(const tl_type *row, int64_t n)
{
    tl_error err;
    tl_batch *batch = NULL;
    assert_ok(tl_batch_create(row, n, &batch, &err), &err);
    for (int c = 0; c < 2; c++) {
        tl_builder *builder = NULL;
        assert_ok(tl_builder_create(row->fields[c].type, &builder, &err), &err);
        for (int64_t i = 0; i < n; i++) {
            char text[32];
            int len = snprintf(text, sizeof text, "%lld", (long long)(i < n / 2 ? i * 7919 % 61 : i));
            assert_int_equal(i % 13 == 4 ? tl_builder_null(builder) : tl_builder_bytes(builder, text, (size_t)len), TL_OK);
        }
        assert_ok(tl_builder_finish(builder, &batch->cols[c], &err), &err);
        tl_builder_free(builder);
    }
    return batch;
}

static int64_t bytes_with(tl_fs *fs, const tl_type *row, const char *key, const char *value, tl_batch *whole)
{
    tl_write_result result = {0};
    write_with(fs, row, "none", key, value, &whole, 1, &result);
    int64_t bytes = result.bytes;
    tl_write_result_deinit(&result);
    tl_read_spec spec = {.row_type = row, .batch_rows = 999};
    tl_batch *again = read_file(fs, &spec);
    assert_same_rows(whole, again);
    tl_batch_free(again);
    check_where(fs, row, whole, "[\"=\",\"s\",\"43219\"]", true);
    check_where(fs, row, whole, "[\"in\",\"v\",[\"0\",\"60\"]]", true);
    return bytes;
}

static void texts_that_repeat_become_words(void **state)
{
    (void)state;
    tl_error err;
    tl_fs *fs = NULL;
    const tl_type *row = test_type("ROW<s STRING, v VARCHAR(9)>");
    assert_ok(tl_fs_memory(&fs, &err), &err);
    tl_batch *whole = repeating_batch(row, 60000);
    int64_t words = bytes_with(fs, row, NULL, NULL, whole);
    int64_t half = bytes_with(fs, row, "orc.column.encoding.direct", "x, s", whole);
    int64_t none = bytes_with(fs, row, "orc.dictionary.key.threshold", "0", whole);
    assert_true(words < half && half < none);
    (void)bytes_with(fs, row, "orc.stripe.size", "40 kb", whole); /* stripes with and without a dictionary */
    tl_file_writer *w = NULL;
    tl_options options = {0};
    assert_int_equal(tl_options_set(&options, "orc.dictionary.key.threshold", "much"), TL_OK);
    tl_write_spec spec = {.row_type = row, .compression = "none", .options = &options};
    assert_int_equal(tl_format_orc.create(fs, PATH, &spec, &w, &err), TL_E_INVALID);
    assert_non_null(strstr(err.message, "orc.dictionary.key.threshold"));
    tl_options_deinit(&options);
    tl_batch_free(whole);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

/* Values of every type that has filters, in no order: row i has the even number 2 * (i * 7919 % n) in the form of each. */
static const char *const bloom_row = "ROW<y TINYINT, i INT, l BIGINT, f FLOAT, d DOUBLE, m DECIMAL(10, 2), w DECIMAL(30, 4), s STRING, c CHAR(9), v VARCHAR(9), "
                                     "b BYTES, t TIMESTAMP(3), u TIMESTAMP(6), z TIMESTAMP(9) WITH LOCAL TIME ZONE, e DATE, h TIME(3)>";

static tl_status put_number(tl_builder *builder, const tl_type *type, int64_t v)
{
    char text[24];
    int len = snprintf(text, sizeof text, "é%lld", (long long)v);
    switch (type->kind) {
    case TL_TINYINT:
        return tl_builder_int(builder, v % 4 * 25); /* 0, 50 */
    case TL_FLOAT:
        return tl_builder_f32(builder, (float)v + 0.5f);
    case TL_DOUBLE:
        return tl_builder_f64(builder, (double)v + 0.25);
    case TL_DECIMAL:
        return tl_builder_i128(builder, (tl_i128)v * 10);
    case TL_CHAR:
    case TL_VARCHAR:
    case TL_VARBINARY:
        return tl_builder_bytes(builder, text, (size_t)len);
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return tl_builder_timestamp(builder, INT64_C(1700000000000) + v, 0);
    default:
        return tl_builder_int(builder, v);
    }
}

static tl_column *numbers(const tl_type *type, int64_t n, int64_t add)
{
    tl_error err;
    tl_builder *builder = NULL;
    tl_column *col = NULL;
    assert_ok(tl_builder_create(type, &builder, &err), &err);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(i % 100 == 99 ? tl_builder_null(builder) : put_number(builder, type, i * 7919 % n * 2 + add), TL_OK);
    assert_ok(tl_builder_finish(builder, &col, &err), &err);
    tl_builder_free(builder);
    return col;
}

/* Rows that are read, not filtered, where column c is what it is in row `at` of `values`. */
static int64_t rows_read(tl_fs *fs, const tl_type *row, int32_t c, const tl_column *values, int64_t at)
{
    tl_error err;
    tl_column *literal = NULL;
    tl_predicate *pred = NULL;
    uint32_t sel = (uint32_t)at;
    assert_ok(tl_column_gather(values, &sel, 1, &literal, &err), &err);
    assert_ok(tl_predicate_leaf(TL_PRED_EQ, c, literal, &pred, &err), &err);
    tl_read_spec spec = {.row_type = row, .predicate = pred};
    tl_batch *got = read_file(fs, &spec);
    int64_t n = got == NULL ? 0 : got->n_rows;
    tl_batch_free(got);
    tl_predicate_free(pred);
    return n;
}

/* Bits that the reference's writer set for these values in a filter of 95,872 bits and 7 hashes. */
static void assert_bits(uint64_t hash, const uint64_t *sorted)
{
    bool is_there[7] = {false};
    for (uint32_t i = 1; i <= 7; i++)
        for (int k = 0; k < 7; k++)
            is_there[k] |= tl_orc__bloom_bit(hash, i, 95872) == sorted[k];
    for (int k = 0; k < 7; k++)
        assert_true(is_there[k]);
}

static void bloom_hashes_are_those_of_the_reference(void **state)
{
    (void)state;
    assert_bits(tl_orc__hash_number(123456789012), (uint64_t[]){11569, 29645, 41589, 53533, 71609, 83553, 95497});
    assert_bits(tl_orc__hash_number(-3), (uint64_t[]){14263, 24528, 44367, 54632, 74471, 84736, 90296});
    assert_bits(tl_orc__hash_double(-2.25), (uint64_t[]){46431, 58898, 61907, 71365, 74374, 83832, 86841});
    assert_bits(tl_orc__hash_bytes((tl_bytes_view){(const uint8_t *)"hello", 5}), (uint64_t[]){2366, 12737, 17470, 27841, 32574, 45761, 50494});
    assert_bits(tl_orc__hash_decimal(1250, 2), (uint64_t[]){5690, 8357, 9562, 18533, 81210, 91386, 94053});
    assert_bits(tl_orc__hash_decimal(-((tl_i128)12345678901231000), 4), (uint64_t[]){24098, 48498, 58357, 59482, 78742, 88601, 89726});
}

static void bloom_filters_skip_row_groups(void **state)
{
    (void)state;
    enum { ROWS = 25000 };
    static const char *const codecs[] = {"zstd", "none"};
    tl_error err;
    tl_fs *fs = NULL;
    tl_batch *whole = NULL;
    tl_write_result result = {0};
    const tl_type *row = test_type(bloom_row);
    assert_ok(tl_fs_memory(&fs, &err), &err);
    assert_ok(tl_batch_create(row, ROWS, &whole, &err), &err);
    for (int32_t c = 0; c < row->n_fields; c++)
        whole->cols[c] = numbers(row->fields[c].type, ROWS, 0);
    for (int k = 0; k < 2; k++) {
        write_with(fs, row, codecs[k], "orc.bloom.filter.columns", "y,i, l ,f,d,m,w,s,c,v,b,t,u,z,e,h", &whole, 1, &result);
        tl_write_result_deinit(&result);
        for (int32_t c = 0; c < row->n_fields; c++) {
            tl_column *others = numbers(row->fields[c].type, ROWS, 1);
            int64_t vain = 0;
            for (int64_t at = 3; at < ROWS; at += 4801) {
                assert_true(rows_read(fs, row, c, whole->cols[c], at) > 0);
                vain += rows_read(fs, row, c, others, at);
            }
            assert_true(vain <= 10000); /* of 6 questions to three filters: without them all but those beyond the bounds say yes */
            tl_column_unref(others);
        }
    }
    tl_batch_free(whole);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

static void columns_that_a_file_lacks_are_null(void **state)
{
    (void)state;
    tl_error err;
    tl_fs *fs = NULL;
    uint64_t rng = 5;
    const tl_type *row = test_type("ROW<a INT, r ROW<x INT>>"), *wanted = test_type("ROW<z STRING, r ROW<y INT, x INT>, a BIGINT>");
    assert_ok(tl_fs_memory(&fs, &err), &err);
    tl_batch *batch = random_batch(row, 100, 10, &rng);
    tl_write_result result = {0};
    write_file(fs, row, "zstd", NULL, &batch, 1, &result);
    tl_read_spec spec = {.row_type = wanted};
    tl_batch *got = read_file(fs, &spec);
    assert_int_equal(got->n_rows, 100);
    assert_int_equal(got->cols[0]->null_count, 100);
    for (int64_t i = 0; i < 100; i++) {
        assert_int_equal(tl_col_is_null(got->cols[1], i), tl_col_is_null(batch->cols[1], i));
        assert_true(tl_col_is_null(got->cols[1]->children[0], i));
        if (!tl_col_is_null(batch->cols[0], i))
            assert_int_equal(tl_col_i64(got->cols[2], i), tl_col_i32(batch->cols[0], i));
    }
    tl_batch_free(got);
    tl_batch_free(batch);
    tl_write_result_deinit(&result);
    tl_type_unref(row);
    tl_type_unref(wanted);
    tl_fs_unref(fs);
}

static void timestamps_keep_their_nanoseconds(void **state)
{
    (void)state;
    tl_error err;
    tl_fs *fs = NULL;
    /* Not in the second before 1970: there the format cannot tell a value from the one a second later. */
    static const int64_t millis[] = {0, 1, 999, 1420070400000, 1420070399999, -1000, -1001, -62135596800000, 253402300799999};
    static const int32_t nanos[] = {0, 1, 999999, 100, 120000, 0, 500, 0, 999999};
    static const char *const types[] = {"ROW<t TIMESTAMP(9)>", "ROW<t TIMESTAMP(6)>", "ROW<t TIMESTAMP(3)>",
                                        "ROW<t TIMESTAMP(9) WITH LOCAL TIME ZONE>"};
    assert_ok(tl_fs_memory(&fs, &err), &err);
    for (size_t k = 0; k < TL_ARRAY_LEN(types); k++) {
        const tl_type *row = test_type(types[k]);
        tl_builder *builder = NULL;
        tl_batch *batch = NULL;
        assert_ok(tl_batch_create(row, TL_ARRAY_LEN(millis), &batch, &err), &err);
        assert_ok(tl_builder_create(row->fields[0].type, &builder, &err), &err);
        for (size_t i = 0; i < TL_ARRAY_LEN(millis); i++)
            assert_int_equal(tl_builder_timestamp(builder, millis[i], nanos[i]), TL_OK);
        assert_ok(tl_builder_finish(builder, &batch->cols[0], &err), &err);
        tl_builder_free(builder);
        tl_write_result result = {0};
        write_file(fs, row, "zstd", NULL, &batch, 1, &result);
        tl_read_spec spec = {.row_type = row};
        tl_batch *got = read_file(fs, &spec);
        assert_same_rows(batch, got);
        tl_batch_free(got);
        tl_batch_free(batch);
        tl_write_result_deinit(&result);
        tl_type_unref(row);
    }
    tl_fs_unref(fs);
}

/* Reads all that comes; whatever happens, it must end with rows or an error. */
static tl_status try_read(tl_fs *fs, const tl_type *row)
{
    tl_error err;
    tl_reader *reader = NULL;
    tl_read_spec spec = {.row_type = row};
    tl_status status = tl_format_orc.open(fs, PATH, 0, &spec, &reader, &err);
    for (tl_batch *batch = NULL; status == TL_OK; tl_batch_free(batch)) {
        batch = NULL;
        status = tl_reader_next(reader, &batch, &err);
        if (status == TL_OK && batch == NULL)
            break;
    }
    tl_reader_free(reader);
    return status;
}

static void broken_files_are_refused_or_read_but_never_harm(void **state)
{
    (void)state;
    tl_error err;
    tl_fs *fs = NULL;
    uint64_t rng = 99;
    const tl_type *row = test_type(row_text);
    assert_ok(tl_fs_memory(&fs, &err), &err);
    for (int codec = 0; codec < 2; codec++) {
        tl_batch *batch = random_batch(row, 200, 15, &rng);
        tl_write_result result = {0};
        tl_bytes bytes = {0};
        write_file(fs, row, codec == 0 ? "none" : "zstd", NULL, &batch, 1, &result);
        assert_ok(tl_fs_read_all(fs, PATH, 1 << 24, &bytes, &err), &err);
        for (int i = 0; i < 1500; i++) {
            tl_bytes_view bad = tl_bytes_view_of(bytes);
            size_t at = test_random(&rng) % bytes.len;
            uint8_t was = bytes.data[at];
            if (i % 10 == 0)
                bad.len = at;
            else
                bytes.data[at] = (uint8_t)test_random(&rng);
            assert_ok(tl_fs_publish(fs, PATH, bad, /* replace= */ true, &err), &err);
            tl_status status = try_read(fs, row);
            if (i % 10 == 0)
                assert_int_not_equal(status, TL_OK);
            bytes.data[at] = was;
        }
        tl_bytes_deinit(&bytes);
        tl_batch_free(batch);
        tl_write_result_deinit(&result);
    }
    tl_type_unref(row);
    tl_fs_unref(fs);
}

/* Written by pyarrow: id BIGINT, u a union of int and string; 1: 1, 2: 'b', 3: 3, 4: a string that is null. */
static const char union_file[] =
    "4f52430a061204080450000a120a020000120c0804120608021008181450000a0a0a0200001204080450000a120a020000120c0802120608021006180850"
    "000a180a06000000000000120e080122080a016212016218025001c0030202fc00010001460126ff80400080620a060806100018080a060806100118140a"
    "0608061002180c0a060806100318140a0608061004181a0a060801100118040a060801100218050a060801100318030a060800100418020a060802100418"
    "030a060801100418011204080010001204080210001204080010001204080210001204080210001a03474d540a380a04080450000a0c0804120608021008"
    "181450000a04080450000a0c0802120608021006180850000a0e080122080a016212016218025001080310e3011a0a080310561812207b28042213080c12"
    "0201021a0269641a017520002800300022080804200028003000220c080d1202030420002800300022080803200028003000220808072000280030003004"
    "3a04080450003a0c0804120608021008181450003a04080450003a0c0802120608021006180850003a0e080122080a01621201621802500140904e480162"
    "05322e322e320898011000188080042202000c283a300682f403034f524318";

static void unions_are_rows_of_a_tag_and_a_field_for_each_type(void **state)
{
    (void)state;
    static const char *const want[] = {"{\"id\":1,\"u\":{\"tag\":0,\"field0\":1,\"field1\":null}}", "{\"id\":2,\"u\":{\"tag\":1,\"field0\":null,\"field1\":\"b\"}}",
                                       "{\"id\":3,\"u\":{\"tag\":0,\"field0\":3,\"field1\":null}}", "{\"id\":4,\"u\":{\"tag\":1,\"field0\":null,\"field1\":null}}"};
    tl_error err;
    tl_fs *fs = NULL;
    uint8_t bytes[sizeof union_file / 2];
    for (size_t i = 0; i < sizeof bytes; i++)
        assert_int_equal(sscanf(&union_file[2 * i], "%2hhx", &bytes[i]), 1);
    assert_ok(tl_fs_memory(&fs, &err), &err);
    assert_ok(tl_fs_publish(fs, "/t/union.orc", (tl_bytes_view){bytes, sizeof bytes}, false, &err), &err);
    const tl_type *row = NULL;
    assert_ok(tl_format_orc.schema(fs, "/t/union.orc", &row, &err), &err);
    tl_read_spec spec = {.row_type = row};
    tl_reader *reader = NULL;
    tl_batch *batch = NULL;
    assert_ok(tl_format_orc.open(fs, "/t/union.orc", 0, &spec, &reader, &err), &err);
    assert_ok(tl_reader_next(reader, &batch, &err), &err);
    assert_int_equal(batch->n_rows, 4);
    for (int64_t i = 0; i < 4; i++) {
        tl_buf text = {0};
        assert_ok(tl_column_check(batch->cols[1], &err), &err);
        assert_int_equal(tl_text_append_json_row(&text, batch, i, false, 0), TL_OK);
        assert_int_equal(text.len, strlen(want[i]));
        assert_memory_equal(text.data, want[i], text.len);
        tl_buf_deinit(&text);
    }
    tl_batch_free(batch);
    tl_reader_free(reader);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unions_are_rows_of_a_tag_and_a_field_for_each_type),
        cmocka_unit_test(random_rows_come_back_with_every_codec),
        cmocka_unit_test(texts_that_repeat_become_words),
        cmocka_unit_test(bloom_hashes_are_those_of_the_reference),
        cmocka_unit_test(bloom_filters_skip_row_groups),
        cmocka_unit_test(predicates_skip_row_groups_and_lose_no_row),
        cmocka_unit_test(rows_that_pass_here_and_there_are_those_of_the_whole),
        cmocka_unit_test(columns_that_a_file_lacks_are_null),
        cmocka_unit_test(texts_of_fixed_length_are_not_pruned_away),
        cmocka_unit_test(timestamps_keep_their_nanoseconds),
        cmocka_unit_test(broken_files_are_refused_or_read_but_never_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
