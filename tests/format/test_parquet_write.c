/*
 * The Parquet writer, by reading its files back: rows, metadata, page indexes, statistics; against files of the reference; with
 * bad input, failing allocations and failing disks.
 */
#include "format/parquet/write_private.h"
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

/** "key=value;key=value" */
static void parse_options(const char *text, tl_options *out)
{
    char *copy = tl_strdup(text), *save = NULL;
    for (char *item = strtok_r(copy, ";", &save); item != NULL; item = strtok_r(NULL, ";", &save)) {
        char *value = strchr(item, '=');
        assert_non_null(value);
        *value++ = '\0';
        assert_int_equal(tl_options_set(out, item, value), TL_OK);
    }
    tl_free(copy);
}

static tl_batch *batch_of(const tl_type *row, tl_column **cols, int64_t rows)
{
    tl_batch *batch = NULL;
    assert_ok(tl_batch_create(row, rows, &batch, &err), &err);
    for (int32_t i = 0; i < row->n_fields; i++)
        batch->cols[i] = cols[i];
    return batch;
}

static tl_batch *random_batch(const tl_type *row, int64_t rows, int null_percent, uint64_t *rng)
{
    tl_column *cols[64];
    for (int32_t i = 0; i < row->n_fields; i++)
        cols[i] = test_random_column(row->fields[i].type, rows, null_percent, rng);
    return batch_of(row, cols, rows);
}

static int64_t light_bytes; /* of the files that write_all() writes */

static tl_status write_all(tl_fs *fs, const char *path, const tl_type *row, const char *compression, const char *options_text, tl_batch **batches,
                           int n, tl_write_result *result)
{
    tl_options options = {0};
    parse_options(options_text, &options);
    tl_write_spec spec = {.row_type = row, .compression = compression, .compression_level = 1, .options = &options, .with_stats = true,
                          .light_bytes = light_bytes};
    tl_file_writer *writer = NULL;
    tl_status status = tl_format_parquet.create(fs, path, &spec, &writer, &err);
    for (int i = 0; status == TL_OK && i < n; i++)
        status = writer->ops->write(writer, batches[i], &err);
    if (status == TL_OK)
        status = writer->ops->finish(writer, result, &err);
    if (writer != NULL)
        writer->ops->free(writer);
    tl_options_deinit(&options);
    return status;
}

/** Rows as JSON lines; sixteen digits tell any two doubles apart. */
static void append_lines(tl_buf *out, const tl_batch *batch)
{
    for (int64_t i = 0; i < batch->n_rows; i++) {
        assert_int_equal(tl_text_append_json_row(out, batch, i, /* with_kind= */ false, /* snapshot= */ 0), TL_OK);
        assert_int_equal(tl_buf_append_byte(out, '\n'), TL_OK);
    }
}

static void read_lines(tl_fs *fs, const char *path, int64_t bytes, const tl_type *row, tl_buf *out)
{
    tl_read_spec spec = {.row_type = row};
    tl_reader *reader = NULL;
    assert_ok(tl_format_parquet.open(fs, path, bytes, &spec, &reader, &err), &err);
    for (;;) {
        tl_batch *batch = NULL;
        assert_ok(tl_reader_next(reader, &batch, &err), &err);
        if (batch == NULL)
            break;
        append_lines(out, batch);
        tl_batch_free(batch);
    }
    tl_reader_free(reader);
}

static void assert_lines(const tl_buf *want, const tl_buf *got, const char *what)
{
    if (want->len == got->len && (want->len == 0 || memcmp(want->data, got->data, want->len) == 0))
        return;
    size_t i = 0, line = 0;
    while (i < want->len && i < got->len && want->data[i] == got->data[i])
        line = want->data[i++] == '\n' ? i : line;
    fail_msg("%s: wanted '%.300s', got '%.300s'", what, want->data + line, got->data + line);
}

/** The footer of a file; everything is in `arena` and `bytes`. */
static void read_meta(tl_fs *fs, const char *path, tl_bytes *bytes, tl_arena *arena, tl_pq_file_meta *out)
{
    assert_ok(tl_fs_read_all(fs, path, 1 << 30, bytes, &err), &err);
    assert_true(bytes->len > 12);
    size_t len = tl_read_le32(bytes->data + bytes->len - 8);
    tl_bytes_view footer = {bytes->data + bytes->len - 8 - len, len};
    assert_ok(tl_pq__read_file_meta(footer, arena, out, &err), &err);
}

static bool has_file(tl_fs *fs, const char *path)
{
    bool exists = false;
    assert_ok(tl_fs_exists(fs, path, &exists, &err), &err);
    return exists;
}

/* ---- what is written comes back ---- */

static const char *const scalars[] = {
    "BOOLEAN",      "TINYINT",        "SMALLINT",        "INT",           "BIGINT",         "FLOAT",
    "DOUBLE",       "DECIMAL(4, 2)",  "DECIMAL(9, 0)",   "DECIMAL(12, 2)", "DECIMAL(18, 5)", "DECIMAL(31, 3)",
    "DECIMAL(38, 10)", "CHAR(20)",    "STRING",          "VARBINARY(30)", "BYTES",          "DATE",
    "TIME(3)",      "TIMESTAMP(0)",   "TIMESTAMP(3)",    "TIMESTAMP(6)",  "TIMESTAMP(9)",   "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP(9) WITH LOCAL TIME ZONE",
};

static void random_type(tl_buf *out, int depth, bool is_key, uint64_t *rng)
{
    uint64_t r = test_random(rng);
    int kind = depth <= 0 ? 0 : (int)(r % 6);
    if (kind <= 1) {
        assert_int_equal(tl_buf_append_str(out, scalars[(r >> 8) % TL_ARRAY_LEN(scalars)]), TL_OK);
    } else if (kind == 2) {
        assert_int_equal(tl_buf_append_str(out, "ARRAY<"), TL_OK);
        random_type(out, depth - 1, false, rng);
        assert_int_equal(tl_buf_append_str(out, ">"), TL_OK);
    } else if (kind == 3) {
        assert_int_equal(tl_buf_append_str(out, "MAP<"), TL_OK);
        random_type(out, 0, true, rng);
        assert_int_equal(tl_buf_append_str(out, ", "), TL_OK);
        random_type(out, depth - 1, false, rng);
        assert_int_equal(tl_buf_append_str(out, ">"), TL_OK);
    } else if (kind == 4) {
        assert_int_equal(tl_buf_append_str(out, "MULTISET<"), TL_OK);
        random_type(out, 0, true, rng);
        assert_int_equal(tl_buf_append_str(out, ">"), TL_OK);
    } else {
        assert_int_equal(tl_buf_append_str(out, "ROW<"), TL_OK);
        int n = 1 + (int)((r >> 8) % 3);
        for (int i = 0; i < n; i++) {
            assert_int_equal(tl_buf_appendf(out, "%sf%d ", i == 0 ? "" : ", ", i), TL_OK);
            random_type(out, depth - 1, false, rng);
        }
        assert_int_equal(tl_buf_append_str(out, ">"), TL_OK);
    }
    if (is_key || (r >> 40) % 4 == 0)
        assert_int_equal(tl_buf_append_str(out, " NOT NULL"), TL_OK);
}

static const tl_type *random_row_type(uint64_t *rng)
{
    tl_buf text = {0};
    assert_int_equal(tl_buf_append_str(&text, "ROW<"), TL_OK);
    int n = 1 + (int)(test_random(rng) % 6);
    for (int i = 0; i < n; i++) {
        assert_int_equal(tl_buf_appendf(&text, "%sc%d ", i == 0 ? "" : ", ", i), TL_OK);
        random_type(&text, (int)(test_random(rng) % 4), false, rng);
    }
    assert_int_equal(tl_buf_append_str(&text, "> NOT NULL"), TL_OK);
    assert_int_equal(tl_buf_append_byte(&text, 0), TL_OK);
    const tl_type *row = test_type((const char *)text.data);
    tl_buf_deinit(&text);
    return row;
}

static const char *const random_options[] = {
    "",
    "parquet.writer.version=v2",
    "parquet.enable.dictionary=false",
    "parquet.writer.version=v2;parquet.enable.dictionary=false",
    "parquet.page.size=300",
    "parquet.page.row.count.limit=37",
    "file.block-size=2 kb",
    "parquet.dictionary.page.size=60;parquet.page.row.count.limit=50",
    "parquet.bloom.filter.enabled=true;parquet.dictionary.page.size=60",
    "parquet.writer.version=v2;parquet.page.row.count.limit=41;file.block-size=5000",
};
static const char *const compressions[] = {"zstd", "none", "snappy", "lz4_raw", "gzip", "lz4", "brotli"};

static void random_files_come_back(void **state)
{
    (void)state;
    uint64_t rng = test_seed(11);
    for (int round = 0; round < 300; round++) {
        tl_fs *fs = memory_fs();
        const tl_type *row = random_row_type(&rng);
        const char *options = random_options[test_random(&rng) % TL_ARRAY_LEN(random_options)];
        const char *compression = compressions[test_random(&rng) % TL_ARRAY_LEN(compressions)];
        static const int null_percents[] = {0, 1, 30, 100};
        tl_batch *batches[3] = {NULL};
        int n_batches = (int)(test_random(&rng) % 4);
        tl_buf want = {0}, got = {0};
        int64_t rows = 0;
        for (int i = 0; i < n_batches; i++) {
            /* A slice, so that offsets and bitmaps do not start where the buffers do. */
            int64_t n = 1 + (int64_t)(test_random(&rng) % (round % 10 == 0 ? 6000 : 300));
            int64_t before = (int64_t)(test_random(&rng) % 3) * 8;
            tl_batch *whole = random_batch(row, before + n, null_percents[test_random(&rng) % 4], &rng);
            assert_ok(tl_batch_slice(whole, before, n, &batches[i], &err), &err);
            tl_batch_free(whole);
            append_lines(&want, batches[i]);
            rows += n;
        }
        tl_write_result result = {0};
        light_bytes = round % 3 == 0 ? 64 << 10 : 0;
        assert_ok(write_all(fs, FILE_PATH, row, compression, options, batches, n_batches, &result), &err);
        light_bytes = 0;
        assert_int_equal(result.rows, rows);
        assert_int_equal(result.n_stats, row->n_fields);
        read_lines(fs, FILE_PATH, result.bytes, row, &got);
        assert_lines(&want, &got, options);
        tl_write_result_deinit(&result);
        for (int i = 0; i < n_batches; i++)
            tl_batch_free(batches[i]);
        tl_buf_deinit(&want);
        tl_buf_deinit(&got);
        tl_type_unref(row);
        tl_fs_unref(fs);
    }
}

/** Column 0 of `row` made of 64-bit numbers, written and read back. */
static void round_trip_numbers(const char *type, const int64_t *values, int64_t n, const char *options, tl_pq_file_meta *meta, tl_bytes *bytes,
                               tl_arena *arena)
{
    tl_fs *fs = memory_fs();
    const tl_type *row = test_type(type);
    tl_column *col = NULL;
    assert_ok(tl_column_alloc(row->fields[0].type, n, &col, &err), &err);
    memcpy(col->values, values, (size_t)n * sizeof *values);
    tl_batch *batch = batch_of(row, &col, n);
    tl_buf want = {0}, got = {0};
    append_lines(&want, batch);
    tl_write_result result = {0};
    assert_ok(write_all(fs, FILE_PATH, row, "zstd", options, &batch, 1, &result), &err);
    read_lines(fs, FILE_PATH, result.bytes, row, &got);
    assert_lines(&want, &got, type);
    read_meta(fs, FILE_PATH, bytes, arena, meta);
    tl_write_result_deinit(&result);
    tl_buf_deinit(&want);
    tl_buf_deinit(&got);
    tl_batch_free(batch);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

static bool has_encoding(const tl_pq_column_meta *meta, tl_pq_encoding encoding)
{
    for (int32_t i = 0; i < meta->n_encodings; i++)
        if (meta->encodings[i] == encoding)
            return true;
    return false;
}

static int32_t pages_of(const tl_pq_column_meta *meta, tl_pq_encoding encoding)
{
    for (int32_t i = 0; i < meta->n_encoding_stats; i++)
        if (meta->encoding_stats[i].page_type == TL_PQ_DATA_PAGE && meta->encoding_stats[i].encoding == encoding)
            return meta->encoding_stats[i].count;
    return 0;
}

/* ---- encodings ---- */

static void a_dictionary_is_used_where_it_saves(void **state)
{
    (void)state;
    enum { N = 50000 };
    int64_t *v = malloc(N * sizeof *v);
    uint64_t rng = 1;
    for (int64_t i = 0; i < N; i++)
        v[i] = (int64_t)(test_random(&rng) % 1000) * 1234567;
    tl_bytes bytes = {0};
    tl_arena arena = {0};
    tl_pq_file_meta meta;
    round_trip_numbers("ROW<a BIGINT NOT NULL>", v, N, "", &meta, &bytes, &arena);
    const tl_pq_column_meta *chunk = &meta.row_groups[0].columns[0].meta;
    assert_int_equal(pages_of(chunk, TL_PQ_PLAIN_DICTIONARY), 3); /* 20,000 rows each */
    assert_int_equal(pages_of(chunk, TL_PQ_PLAIN), 0);
    assert_true(chunk->dictionary_page_offset > 0);
    tl_bytes_deinit(&bytes);
    tl_arena_deinit(&arena);

    for (int64_t i = 0; i < N; i++)
        v[i] = (int64_t)test_random(&rng);
    round_trip_numbers("ROW<a BIGINT NOT NULL>", v, N, "", &meta, &bytes, &arena);
    chunk = &meta.row_groups[0].columns[0].meta;
    assert_int_equal(pages_of(chunk, TL_PQ_PLAIN), 3);
    assert_true(chunk->dictionary_page_offset <= 0);
    tl_bytes_deinit(&bytes);
    tl_arena_deinit(&arena);
    free(v);
}

static void a_dictionary_that_does_not_pay_any_more_is_given_up(void **state)
{
    (void)state;
    enum { N = 60000 };
    int64_t *v = malloc(N * sizeof *v);
    uint64_t rng = 2;
    for (int64_t i = 0; i < N; i++)
        v[i] = i < 20000 ? (int64_t)(test_random(&rng) % 100) : (int64_t)test_random(&rng);
    tl_bytes bytes = {0};
    tl_arena arena = {0};
    tl_pq_file_meta meta;
    round_trip_numbers("ROW<a BIGINT NOT NULL>", v, N, "", &meta, &bytes, &arena);
    const tl_pq_column_meta *chunk = &meta.row_groups[0].columns[0].meta;
    assert_int_equal(pages_of(chunk, TL_PQ_PLAIN_DICTIONARY), 1);
    assert_int_equal(pages_of(chunk, TL_PQ_PLAIN), 2);
    tl_bytes_deinit(&bytes);
    tl_arena_deinit(&arena);
    free(v);
}

static void a_dictionary_over_its_limit_is_given_up(void **state)
{
    (void)state;
    enum { N = 100000 };
    int64_t *v = malloc(N * sizeof *v);
    for (int64_t i = 0; i < N; i++)
        v[i] = i / 5; /* pays on every page */
    tl_bytes bytes = {0};
    tl_arena arena = {0};
    tl_pq_file_meta meta;
    round_trip_numbers("ROW<a BIGINT NOT NULL>", v, N, "parquet.dictionary.page.size=70000", &meta, &bytes, &arena);
    const tl_pq_column_meta *chunk = &meta.row_groups[0].columns[0].meta;
    assert_int_equal(pages_of(chunk, TL_PQ_PLAIN_DICTIONARY), 2); /* 32,000 bytes of new values each */
    assert_int_equal(pages_of(chunk, TL_PQ_PLAIN), 3);
    tl_bytes_deinit(&bytes);
    tl_arena_deinit(&arena);
    free(v);
}

static void options_choose_encodings_by_column(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    const tl_type *row = test_type("ROW<a INT, l ARRAY<INT>> NOT NULL");
    uint64_t rng = 5;
    tl_batch *batch = random_batch(row, 3000, 10, &rng);
    tl_write_result result = {0};
    assert_ok(write_all(fs, FILE_PATH, row, "zstd", "parquet.enable.dictionary#l.list.element=false", &batch, 1, &result), &err);
    tl_bytes bytes = {0};
    tl_arena arena = {0};
    tl_pq_file_meta meta;
    read_meta(fs, FILE_PATH, &bytes, &arena, &meta);
    assert_true(has_encoding(&meta.row_groups[0].columns[0].meta, TL_PQ_PLAIN_DICTIONARY));
    assert_false(has_encoding(&meta.row_groups[0].columns[1].meta, TL_PQ_PLAIN_DICTIONARY));
    tl_bytes_deinit(&bytes);
    tl_arena_deinit(&arena);
    tl_write_result_deinit(&result);
    tl_batch_free(batch);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

/* ---- indexes and statistics ---- */

static tl_bytes_view slice(const tl_bytes *bytes, int64_t offset, int64_t length)
{
    assert_in_range(offset, 4, bytes->len);
    assert_in_range(length, 1, bytes->len - (size_t)offset);
    return (tl_bytes_view){bytes->data + offset, (size_t)length};
}

static void page_indexes_tell_where_values_are(void **state)
{
    (void)state;
    enum { N = 45000 };
    int64_t *v = malloc(N * sizeof *v);
    for (int64_t i = 0; i < N; i++)
        v[i] = i * 3 - 1000;
    tl_bytes bytes = {0};
    tl_arena arena = {0};
    tl_pq_file_meta meta;
    round_trip_numbers("ROW<a BIGINT NOT NULL>", v, N, "", &meta, &bytes, &arena);
    const tl_pq_column_chunk *chunk = &meta.row_groups[0].columns[0];
    tl_pq_column_index columns;
    tl_pq_offset_index offsets;
    assert_ok(tl_pq__read_column_index(slice(&bytes, chunk->column_index_offset, chunk->column_index_length), &arena, &columns, &err), &err);
    assert_ok(tl_pq__read_offset_index(slice(&bytes, chunk->offset_index_offset, chunk->offset_index_length), &arena, &offsets, &err), &err);
    assert_int_equal(columns.n_pages, 3);
    assert_int_equal(offsets.n_pages, 3);
    assert_int_equal(columns.boundary_order, TL_PQ_ASCENDING);
    for (int i = 0; i < 3; i++) {
        int64_t first = i * 20000, last = TL_MIN(first + 20000, N) - 1;
        assert_int_equal(offsets.pages[i].first_row, first);
        assert_true((int64_t)tl_read_le64(columns.min_values[i].data) == v[first]);
        assert_true((int64_t)tl_read_le64(columns.max_values[i].data) == v[last]);
        tl_pq_page_header header;
        size_t used = 0;
        tl_bytes_view page = slice(&bytes, offsets.pages[i].offset, offsets.pages[i].compressed_bytes);
        assert_ok(tl_pq__read_page_header(page, &header, &used, &err), &err);
        assert_int_equal(used + (size_t)header.compressed_bytes, page.len);
        assert_int_equal(header.data.num_values, last - first + 1);
        assert_true(header.crc == tl_crc32(0, page.data + used, page.len - used));
    }
    tl_bytes_deinit(&bytes);
    tl_arena_deinit(&arena);
    free(v);
}

static tl_column *strings(const tl_type *type, const char *const *values, int64_t n)
{
    tl_builder *builder = NULL;
    tl_column *col = NULL;
    assert_ok(tl_builder_create(type, &builder, &err), &err);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(values[i] == NULL ? tl_builder_null(builder) : tl_builder_bytes(builder, values[i], strlen(values[i])), TL_OK);
    assert_ok(tl_builder_finish(builder, &col, &err), &err);
    tl_builder_free(builder);
    return col;
}

static void long_strings_are_cut_in_the_index_and_left_out_of_the_footer(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    const tl_type *row = test_type("ROW<s STRING> NOT NULL");
    char longest[5001];
    memset(longest, 'x', 5000);
    longest[5000] = '\0';
    const char *values[] = {longest, NULL, "abc"};
    tl_column *col = strings(row->fields[0].type, values, 3);
    tl_batch *batch = batch_of(row, &col, 3);
    tl_write_result result = {0};
    assert_ok(write_all(fs, FILE_PATH, row, "zstd", "", &batch, 1, &result), &err);
    /* The caller's statistics are whole. */
    assert_int_equal(result.stats[0].null_count, 1);
    assert_int_equal(tl_col_bytes(result.stats[0].max, 0).len, 5000);
    assert_int_equal(tl_col_bytes(result.stats[0].min, 0).len, 3);
    tl_bytes bytes = {0};
    tl_arena arena = {0};
    tl_pq_file_meta meta;
    read_meta(fs, FILE_PATH, &bytes, &arena, &meta);
    const tl_pq_column_chunk *chunk = &meta.row_groups[0].columns[0];
    assert_false(chunk->meta.statistics.has_max_value);
    assert_int_equal(chunk->meta.statistics.null_count, 1);
    tl_pq_column_index index;
    assert_ok(tl_pq__read_column_index(slice(&bytes, chunk->column_index_offset, chunk->column_index_length), &arena, &index, &err), &err);
    assert_int_equal(index.max_values[0].len, 64);
    assert_int_equal(index.max_values[0].data[63], 'y');
    tl_bytes_deinit(&bytes);
    tl_arena_deinit(&arena);
    tl_write_result_deinit(&result);
    tl_batch_free(batch);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

/** Statistics as JSON: "min max nulls", "-" where unknown. */
static void assert_stats(const tl_column_stats *stats, const char *want)
{
    tl_buf text = {0};
    const tl_column *bounds[] = {stats->min, stats->max};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bounds[i] == NULL ? tl_buf_append_str(&text, "-") : tl_text_append_json(&text, bounds[i], 0), TL_OK);
        assert_int_equal(tl_buf_append_str(&text, " "), TL_OK);
    }
    assert_int_equal(tl_buf_appendf(&text, "%d", (int)stats->null_count), TL_OK);
    assert_int_equal(tl_buf_append_byte(&text, 0), TL_OK);
    assert_string_equal((const char *)text.data, want);
    tl_buf_deinit(&text);
}

static tl_batch *batch_from_json(const tl_type *row, const char *const *lines, int64_t n)
{
    tl_column *cols[64];
    for (int32_t c = 0; c < row->n_fields; c++) {
        tl_builder *builder = NULL;
        assert_ok(tl_builder_create(row->fields[c].type, &builder, &err), &err);
        for (int64_t i = 0; i < n; i++) {
            tl_arena arena = {0};
            const tl_json *json = NULL;
            assert_ok(tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)lines[i], strlen(lines[i])}, &json, &err), &err);
            const tl_json *value = tl_json_get(json, row->fields[c].name);
            if (tl_json_is_null(value))
                assert_int_equal(tl_builder_null(builder), TL_OK);
            else
                assert_ok(tl_text_read_json(value, row->fields[c].type, builder, &err), &err);
            tl_arena_deinit(&arena);
        }
        assert_ok(tl_builder_finish(builder, &cols[c], &err), &err);
        tl_builder_free(builder);
    }
    return batch_of(row, cols, n);
}

static void the_callers_statistics_are_those_of_the_reference(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    const tl_type *row = test_type("ROW<b BOOLEAN, t TINYINT, i BIGINT, f FLOAT, d DOUBLE, e DECIMAL(4, 2), g DECIMAL(30, 2), s STRING, y BYTES, "
                                   "dt DATE, ts TIMESTAMP(3), tn TIMESTAMP(9), n INT, a ARRAY<INT>, z DOUBLE> NOT NULL");
    const char *lines[] = {
        "{\"b\":true,\"t\":-3,\"i\":5,\"f\":1.5,\"d\":\"NaN\",\"e\":\"-1.50\",\"g\":\"-12345678901234567890.12\",\"s\":\"b\",\"y\":\"ff\","
        "\"dt\":\"2024-02-29\",\"ts\":\"1969-12-31T23:59:59.999000000\",\"tn\":\"2024-01-01T00:00:00.000000001\",\"a\":[1],\"z\":\"NaN\"}",
        "{\"b\":true,\"t\":7,\"i\":-9223372036854775808,\"f\":-0.0,\"d\":2.5,\"e\":\"99.99\",\"g\":\"0.01\",\"s\":\"\",\"y\":\"00\","
        "\"dt\":\"1900-01-01\",\"ts\":\"2024-01-01T00:00:00.000000000\",\"z\":\"NaN\"}",
        "{\"f\":0.0}",
    };
    tl_batch *batch = batch_from_json(row, lines, 3);
    ((float *)batch->cols[3]->values)[1] = -0.0f; /* JSON does not tell the zeros apart */
    tl_write_result result = {0};
    assert_ok(write_all(fs, FILE_PATH, row, "zstd", "", &batch, 1, &result), &err);
    static const char *const want[] = {
        "true true 1",  "-3 7 1",
        "-9223372036854775808 5 1", "-0 1.5 0",
        "2.5 \"NaN\" 1", "\"-1.50\" \"99.99\" 1",
        "\"-12345678901234567890.12\" \"0.01\" 1", "\"\" \"b\" 1",
        "- - 1",        "\"1900-01-01\" \"2024-02-29\" 1",
        "\"1969-12-31T23:59:59.999000000\" \"2024-01-01T00:00:00.000000000\" 1", "- - 2",
        "- - 3",        "- - -1",
        "\"NaN\" \"NaN\" 1",
    };
    for (int32_t i = 0; i < row->n_fields; i++)
        assert_stats(&result.stats[i], want[i]);
    tl_write_result_deinit(&result);
    tl_batch_free(batch);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

static void bloom_filters_are_written_when_asked_for(void **state)
{
    (void)state;
    enum { N = 3000 };
    int64_t *v = malloc(N * sizeof *v);
    uint64_t rng = 3;
    for (int64_t i = 0; i < N; i++)
        v[i] = (int64_t)test_random(&rng);
    tl_bytes bytes = {0};
    tl_arena arena = {0};
    tl_pq_file_meta meta;
    round_trip_numbers("ROW<a BIGINT NOT NULL>", v, N, "parquet.bloom.filter.enabled#a=true;parquet.bloom.filter.expected.ndv#a=3000", &meta,
                       &bytes, &arena);
    const tl_pq_column_meta *chunk = &meta.row_groups[0].columns[0].meta;
    assert_true(chunk->bloom_filter_offset > 0);
    tl_pq_bloom_header header;
    size_t used = 0;
    tl_bytes_view filter = slice(&bytes, chunk->bloom_filter_offset, chunk->bloom_filter_length);
    assert_ok(tl_pq__read_bloom_header(filter, &header, &used, &err), &err);
    assert_true(header.is_known);
    assert_int_equal(header.num_bytes, 4096); /* 9.7 bits a value, to a power of two */
    assert_int_equal(used + 4096, filter.len);
    tl_bytes_deinit(&bytes);
    tl_arena_deinit(&arena);
    free(v);
}

/* ---- row groups, estimate, twins ---- */

static void row_groups_end_at_their_size_and_the_estimate_follows(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    const tl_type *row = test_type("ROW<a BIGINT NOT NULL> NOT NULL");
    tl_options options = {0};
    parse_options("file.block-size=1 mb", &options);
    tl_write_spec spec = {.row_type = row, .compression = "zstd", .options = &options};
    tl_file_writer *writer = NULL;
    assert_ok(tl_format_parquet.create(fs, FILE_PATH, &spec, &writer, &err), &err);
    uint64_t rng = 4;
    int64_t last = 0;
    for (int i = 0; i < 100; i++) {
        tl_column *col = NULL;
        assert_ok(tl_column_alloc(row->fields[0].type, 5000, &col, &err), &err);
        for (int64_t k = 0; k < 5000; k++)
            ((int64_t *)col->values)[k] = (int64_t)test_random(&rng);
        tl_batch *batch = batch_of(row, &col, 5000);
        assert_ok(writer->ops->write(writer, batch, &err), &err);
        int64_t estimate = writer->ops->bytes_estimate(writer);
        assert_true(estimate > last && estimate >= (i + 1) * 40000 && estimate < (i + 1) * 41000 + 1000);
        last = estimate;
        tl_batch_free(batch);
    }
    tl_write_result result = {0};
    assert_ok(writer->ops->finish(writer, &result, &err), &err);
    assert_int_equal(result.n_stats, 0); /* with_stats was false */
    writer->ops->free(writer);
    assert_in_range(result.bytes, last - 1000, last + 1000);
    tl_bytes bytes = {0};
    tl_arena arena = {0};
    tl_pq_file_meta meta;
    read_meta(fs, FILE_PATH, &bytes, &arena, &meta);
    assert_int_equal(meta.n_row_groups, 4);
    assert_int_equal(meta.num_rows, 500000);
    for (int i = 0; i < 3; i++)
        assert_in_range(meta.row_groups[i].num_rows, 131072, 140000);
    tl_bytes_deinit(&bytes);
    tl_arena_deinit(&arena);
    tl_options_deinit(&options);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

static void columns_that_share_buffers_are_encoded_once(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    const tl_type *row = test_type("ROW<`_KEY_k` STRING NOT NULL, v INT, k STRING NOT NULL> NOT NULL");
    uint64_t rng = 6;
    tl_batch *batches[4];
    tl_buf want = {0}, got = {0};
    for (int i = 0; i < 4; i++) {
        tl_column *cols[3];
        cols[0] = test_random_column(row->fields[0].type, 3000, 0, &rng);
        cols[1] = test_random_column(row->fields[1].type, 3000, 20, &rng);
        /* The third batch breaks the pair. */
        cols[2] = i == 2 ? test_random_column(row->fields[2].type, 3000, 0, &rng) : tl_column_ref(cols[0]);
        batches[i] = batch_of(row, cols, 3000);
        append_lines(&want, batches[i]);
    }
    tl_write_result result = {0};
    assert_ok(write_all(fs, FILE_PATH, row, "zstd", "", batches, 4, &result), &err);
    read_lines(fs, FILE_PATH, result.bytes, row, &got);
    assert_lines(&want, &got, "twins");
    tl_bytes bytes = {0};
    tl_arena arena = {0};
    tl_pq_file_meta meta;
    read_meta(fs, FILE_PATH, &bytes, &arena, &meta);
    assert_int_equal(meta.n_row_groups, 2);
    assert_int_equal(meta.row_groups[0].num_rows, 6000);
    const tl_pq_column_meta *key = &meta.row_groups[0].columns[0].meta;
    const tl_pq_column_meta *copy = &meta.row_groups[0].columns[2].meta;
    assert_string_equal(copy->path[0], "k");
    assert_int_equal(key->total_compressed_size, copy->total_compressed_size);
    assert_true(copy->data_page_offset > key->data_page_offset);
    assert_memory_equal(bytes.data + key->data_page_offset, bytes.data + copy->data_page_offset, 100);
    tl_bytes_deinit(&bytes);
    tl_arena_deinit(&arena);
    tl_write_result_deinit(&result);
    for (int i = 0; i < 4; i++)
        tl_batch_free(batches[i]);
    tl_buf_deinit(&want);
    tl_buf_deinit(&got);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

static void a_file_without_rows_is_a_file(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    const tl_type *row = test_type("ROW<a INT, m MAP<STRING, INT>> NOT NULL");
    tl_write_result result = {0};
    assert_ok(write_all(fs, FILE_PATH, row, "zstd", "", NULL, 0, &result), &err);
    assert_stats(&result.stats[0], "- - 0");
    tl_buf got = {0};
    read_lines(fs, FILE_PATH, result.bytes, row, &got);
    assert_int_equal(got.len, 0);
    tl_write_result_deinit(&result);
    tl_type_unref(row);
    tl_fs_unref(fs);
}

/* ---- bad input ---- */

static void expect_failure(const char *type, const char *written_as, const char *options, tl_status status, const char *part)
{
    tl_fs *fs = memory_fs();
    const tl_type *row = test_type(type);
    const tl_type *nullable = test_type(written_as);
    uint64_t rng = 7;
    tl_batch *batch = random_batch(nullable, 200, 40, &rng);
    tl_write_result result = {0};
    assert_fails(write_all(fs, FILE_PATH, row, "zstd", options, &batch, 1, &result), status, &err, part);
    assert_non_null(strstr(err.message, "f.parquet"));
    assert_false(has_file(fs, FILE_PATH));
    tl_batch_free(batch);
    tl_type_unref(row);
    tl_type_unref(nullable);
    tl_fs_unref(fs);
}

static void what_cannot_be_written_is_refused(void **state)
{
    (void)state;
    expect_failure("ROW<a INT NOT NULL>", "ROW<a INT>", "", TL_E_INVALID, "column 'a' is NOT NULL");
    expect_failure("ROW<a ARRAY<INT NOT NULL>>", "ROW<a ARRAY<INT>>", "", TL_E_INVALID, "column 'a': field 'element' is NOT NULL");
    expect_failure("ROW<a MAP<INT, INT>>", "ROW<a MAP<INT, INT>>", "", TL_E_INVALID, "null key");
    expect_failure("ROW<a INT>", "ROW<a BIGINT>", "", TL_E_INVALID, "column 'a' has another type");
    expect_failure("ROW<a ARRAY<INT>>", "ROW<a ARRAY<STRING>>", "", TL_E_INVALID, "column 'a' has another type");
    expect_failure("ROW<a INT, b INT>", "ROW<a INT>", "", TL_E_INVALID, "a batch of 1 columns");
    expect_failure("ROW<a DECIMAL(5, 1)>", "ROW<a DECIMAL(18, 1)>", "parquet.enable.dictionary=maybe", TL_E_INVALID, "parquet.enable.dictionary");
    expect_failure("ROW<a INT>", "ROW<a INT>", "parquet.page.size=0", TL_E_INVALID, "parquet.page.size");
    expect_failure("ROW<a INT>", "ROW<a INT>", "parquet.writer.version=v3", TL_E_INVALID, "neither v1 nor v2");
    expect_failure("ROW<a INT>", "ROW<a INT>", "parquet.compression=lzo", TL_E_UNSUPPORTED, "compression 'lzo'");
    expect_failure("ROW<a INT>", "ROW<a INT>", "parquet.bloom.filter.fpp#a=1.5", TL_E_INVALID, "parquet.bloom.filter.fpp#a");
}

static void decimals_beyond_their_type_are_refused(void **state)
{
    (void)state;
    static const char *const types[] = {"ROW<a DECIMAL(9, 2)>", "ROW<a DECIMAL(19, 0)>"};
    for (size_t i = 0; i < TL_ARRAY_LEN(types); i++) {
        tl_fs *fs = memory_fs();
        const tl_type *row = test_type(types[i]);
        tl_builder *builder = NULL;
        tl_column *col = NULL;
        assert_ok(tl_builder_create(row->fields[0].type, &builder, &err), &err);
        assert_int_equal(tl_builder_i128(builder, i == 0 ? (tl_i128)1 << 32 : (tl_i128)1 << 71), TL_OK);
        assert_ok(tl_builder_finish(builder, &col, &err), &err);
        tl_builder_free(builder);
        tl_batch *batch = batch_of(row, &col, 1);
        tl_write_result result = {0};
        assert_fails(write_all(fs, FILE_PATH, row, "zstd", "", &batch, 1, &result), TL_E_INVALID, &err, "column 'a': a decimal has more than");
        tl_batch_free(batch);
        tl_type_unref(row);
        tl_fs_unref(fs);
    }
}

static void an_existing_file_is_left_alone(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    const tl_type *row = test_type("ROW<a INT>");
    tl_write_result result = {0};
    assert_ok(write_all(fs, FILE_PATH, row, "zstd", "", NULL, 0, &result), &err);
    tl_write_result_deinit(&result);
    assert_fails(write_all(fs, FILE_PATH, row, "zstd", "", NULL, 0, &result), TL_E_EXISTS, &err, "f.parquet");
    assert_true(has_file(fs, FILE_PATH));
    tl_type_unref(row);
    tl_fs_unref(fs);
}

static void a_writer_without_finish_leaves_no_file(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    const tl_type *row = test_type("ROW<a INT>");
    tl_write_spec spec = {.row_type = row, .compression = "zstd"};
    tl_file_writer *writer = NULL;
    assert_ok(tl_format_parquet.create(fs, FILE_PATH, &spec, &writer, &err), &err);
    writer->ops->free(writer);
    assert_false(has_file(fs, FILE_PATH));
    tl_type_unref(row);
    tl_fs_unref(fs);
}

/* ---- faults ---- */

#define FAULT_TYPE "ROW<a INT, s STRING, d DECIMAL(30, 2), m MAP<STRING NOT NULL, ARRAY<INT>>, t TIMESTAMP(9)> NOT NULL"
#define FAULT_OPTIONS "parquet.page.row.count.limit=100;file.block-size=4 kb;parquet.bloom.filter.enabled#s=true;parquet.bloom.filter.expected.ndv#s=9"

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    const tl_type *row = test_type(FAULT_TYPE);
    uint64_t rng = 8;
    tl_batch *batches[2] = {random_batch(row, 250, 20, &rng), random_batch(row, 130, 20, &rng)};
    uint64_t failures = 0;
    for (uint64_t at = 1;; at++) {
        tl_fs *fs = memory_fs();
        tl_write_result result = {0};
        tl_options options = {0};
        parse_options(FAULT_OPTIONS, &options);
        tl_write_spec spec = {.row_type = row, .compression = "zstd", .options = &options, .with_stats = true};
        tl_file_writer *writer = NULL;
        tl_alloc_fail_at(at);
        tl_status status = tl_format_parquet.create(fs, FILE_PATH, &spec, &writer, &err);
        for (int i = 0; status == TL_OK && i < 2; i++)
            status = writer->ops->write(writer, batches[i], &err);
        if (status == TL_OK)
            status = writer->ops->finish(writer, &result, &err);
        uint64_t made = tl_alloc_count();
        tl_alloc_fail_at(0);
        bool was_created = writer != NULL;
        if (was_created)
            writer->ops->free(writer);
        assert_true(status == TL_OK || status == TL_E_NOMEM);
        if (was_created) /* else it is for the file system to clean up */
            assert_int_equal(has_file(fs, FILE_PATH), status == TL_OK);
        failures += status != TL_OK;
        tl_write_result_deinit(&result);
        tl_options_deinit(&options);
        tl_fs_unref(fs);
        if (made < at)
            break;
    }
    assert_true(failures > 100);
    tl_batch_free(batches[0]);
    tl_batch_free(batches[1]);
    tl_type_unref(row);
}

static void every_failing_call_of_the_disk_is_reported(void **state)
{
    (void)state;
    static const tl_fault_kind kinds[] = {TL_FAULT_EIO, TL_FAULT_ENOSPC, TL_FAULT_TORN_WRITE};
    const tl_type *row = test_type(FAULT_TYPE);
    uint64_t rng = 9;
    tl_batch *batch = random_batch(row, 400, 20, &rng);
    for (size_t k = 0; k < TL_ARRAY_LEN(kinds); k++) {
        for (uint64_t at = 1;; at++) {
            tl_fs *memory = memory_fs(), *fs = NULL;
            tl_fault_plan plan = {.kind = kinds[k], .at = at};
            assert_ok(tl_fs_fault(memory, &plan, &fs, &err), &err);
            tl_write_result result = {0};
            tl_status status = write_all(fs, FILE_PATH, row, "zstd", FAULT_OPTIONS, &batch, 1, &result);
            if (plan.calls >= at) {
                assert_true(status == TL_E_IO || status == TL_E_NOSPACE);
                assert_false(has_file(memory, FILE_PATH));
            } else {
                assert_ok(status, &err);
            }
            bool is_last = plan.calls < at;
            tl_write_result_deinit(&result);
            tl_fs_unref(fs);
            tl_fs_unref(memory);
            if (is_last)
                break;
        }
    }
    tl_batch_free(batch);
    tl_type_unref(row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_files_come_back),
        cmocka_unit_test(a_dictionary_is_used_where_it_saves),
        cmocka_unit_test(a_dictionary_that_does_not_pay_any_more_is_given_up),
        cmocka_unit_test(a_dictionary_over_its_limit_is_given_up),
        cmocka_unit_test(options_choose_encodings_by_column),
        cmocka_unit_test(page_indexes_tell_where_values_are),
        cmocka_unit_test(long_strings_are_cut_in_the_index_and_left_out_of_the_footer),
        cmocka_unit_test(the_callers_statistics_are_those_of_the_reference),
        cmocka_unit_test(bloom_filters_are_written_when_asked_for),
        cmocka_unit_test(row_groups_end_at_their_size_and_the_estimate_follows),
        cmocka_unit_test(columns_that_share_buffers_are_encoded_once),
        cmocka_unit_test(a_file_without_rows_is_a_file),
        cmocka_unit_test(what_cannot_be_written_is_refused),
        cmocka_unit_test(decimals_beyond_their_type_are_refused),
        cmocka_unit_test(an_existing_file_is_left_alone),
        cmocka_unit_test(a_writer_without_finish_leaves_no_file),
        cmocka_unit_test(every_failing_allocation_is_survived),
        cmocka_unit_test(every_failing_call_of_the_disk_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
