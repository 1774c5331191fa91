/* Readers that are told which rows are wanted: those come, in order, with their numbers; others may. */
#include "format/format.h"

#include "support/random_column.h"
#include "types/builder.h"
#include "types/text.h"

#define ROWS 3000

typedef struct table {
    tl_fs *fs;
    const tl_type *type;
    tl_batch *batch;
    int64_t bytes;
} table;

/* Column a holds the row's number. */
static tl_batch *random_batch(const tl_type *type, uint64_t *rng)
{
    tl_error err;
    tl_batch *batch = NULL;
    assert_ok(tl_batch_create(type, ROWS, &batch, &err), &err);
    assert_ok(tl_column_alloc(type->fields[0].type, ROWS, &batch->cols[0], &err), &err);
    for (int64_t i = 0; i < ROWS; i++)
        ((int32_t *)batch->cols[0]->values)[i] = (int32_t)i;
    for (int32_t c = 1; c < type->n_fields; c++)
        batch->cols[c] = test_random_column(type->fields[c].type, ROWS, 20, rng);
    return batch;
}

static void write_file(table *t, const tl_format *format, const tl_options *options)
{
    tl_error err;
    tl_file_writer *writer = NULL;
    tl_write_result result = {0};
    const int32_t ids[] = {0, 1, 2, 3};
    tl_write_spec spec = {.row_type = t->type, .field_ids = ids, .compression = "zstd", .compression_level = 1, .options = options};
    assert_ok(format->create(t->fs, "/f", &spec, &writer, &err), &err);
    for (int64_t from = 0; from < ROWS; from += 200) {
        tl_batch *piece = NULL;
        assert_ok(tl_batch_slice(t->batch, from, 200, &piece, &err), &err);
        assert_ok(writer->ops->write(writer, piece, &err), &err);
        tl_batch_free(piece);
    }
    assert_ok(writer->ops->finish(writer, &result, &err), &err);
    writer->ops->free(writer);
    t->bytes = result.bytes;
    tl_write_result_deinit(&result);
}

/* A few ranges, many short ones, none, or all. */
static tl_row_ranges random_ranges(uint64_t *rng)
{
    tl_row_ranges out = {tl_alloc(ROWS * sizeof *out.items), 0};
    uint64_t step = UINT64_C(1) << test_random(rng) % 12;
    int64_t row = (int64_t)(test_random(rng) % step);
    while (row < ROWS) {
        int64_t to = TL_MIN(ROWS, row + 1 + (int64_t)(test_random(rng) % step));
        out.items[out.n++] = (tl_row_range){row, to};
        row = to + 1 + (int64_t)(test_random(rng) % (step * 2));
    }
    return out;
}

static void check_rows(const table *t, const tl_batch *got, const bool *passing, const tl_row_ranges *ranges, int64_t *last)
{
    for (int64_t i = 0; i < got->n_rows; i++) {
        int64_t row = got->seq[i];
        assert_true(row > *last && row < ROWS);
        assert_int_equal(tl_col_i32(got->cols[0], i), row);
        for (int32_t c = 1; c < got->n_cols; c++) {
            tl_buf a = {0}, b = {0};
            assert_int_equal(tl_text_append_json(&a, got->cols[c], i), TL_OK);
            assert_int_equal(tl_text_append_json(&b, t->batch->cols[c], row), TL_OK);
            assert_int_equal(a.len, b.len);
            assert_memory_equal(a.data, b.data, a.len);
            tl_buf_deinit(&a);
            tl_buf_deinit(&b);
        }
        /* Nothing between this row and the one before was wanted. */
        for (int64_t missed = *last + 1; missed < row; missed++) {
            size_t at = tl_row_ranges_find(ranges, 0, missed);
            assert_false(passing[missed] && at < ranges->n && ranges->items[at].from <= missed);
        }
        assert_true(passing[row]);
        *last = row;
    }
}

/* None, one that most rows pass, or one that few do; NULL: all rows pass. */
static tl_predicate *random_predicate(const table *t, uint64_t *rng, bool *passing)
{
    tl_error err;
    tl_predicate *pred = NULL;
    uint64_t which = test_random(rng) % 3;
    for (int64_t i = 0; i < ROWS; i++)
        passing[i] = which == 0 || (which == 1 && !tl_col_is_null(t->batch->cols[1], i));
    if (which == 1)
        assert_ok(tl_predicate_leaf(TL_PRED_IS_NOT_NULL, 1, NULL, &pred, &err), &err);
    if (which == 2) {
        tl_column *few = NULL;
        int64_t n = 1 + (int64_t)(test_random(rng) % 20);
        assert_ok(tl_column_alloc(t->type->fields[0].type, n, &few, &err), &err);
        for (int64_t i = 0; i < n; i++) {
            int32_t row = (int32_t)(test_random(rng) % ROWS);
            ((int32_t *)few->values)[i] = row;
            passing[row] = true;
        }
        assert_ok(tl_predicate_leaf(TL_PRED_IN, 0, few, &pred, &err), &err);
    }
    return pred;
}

static void read_some(const table *t, const tl_format *format, uint64_t *rng)
{
    tl_error err;
    tl_reader *reader = NULL;
    static bool passing[ROWS];
    tl_row_ranges ranges = random_ranges(rng);
    tl_predicate *pred = random_predicate(t, rng, passing);
    int64_t last = -1;
    tl_read_spec spec = {.row_type = t->type,
                         .predicate = pred,
                         .exact = pred != NULL,
                         .rows = &ranges,
                         .batch_rows = test_random(rng) % 3 == 0 ? 0 : 1 + (int64_t)(test_random(rng) % 700),
                         .with_row_numbers = true};
    assert_ok(format->open(t->fs, "/f", t->bytes, &spec, &reader, &err), &err);
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        assert_ok(tl_reader_next(reader, &batch, &err), &err);
        if (batch == NULL)
            break;
        check_rows(t, batch, passing, &ranges, &last);
    }
    for (int64_t row = last + 1; row < ROWS; row++) {
        size_t at = tl_row_ranges_find(&ranges, 0, row);
        assert_false(passing[row] && at < ranges.n && ranges.items[at].from <= row);
    }
    tl_reader_free(reader);
    tl_predicate_free(pred);
    tl_row_ranges_deinit(&ranges);
}

static void rows_wanted_come_with_their_numbers(void **state)
{
    (void)state;
    uint64_t rng = test_seed(1);
    static const struct {
        const tl_format *format;
        const char *key, *value; /* pieces to pass over */
    } files[] = {{&tl_format_parquet, "parquet.page.size", "600"},  {&tl_format_parquet, "parquet.block.size", "4096"},
                 {&tl_format_orc, "orc.row.index.stride", "250"}, {&tl_format_orc, "orc.stripe.size", "4096"},
                 {&tl_format_avro, "file.block-size", "1 kb"}};
    for (size_t i = 0; i < TL_ARRAY_LEN(files); i++) {
        tl_error err;
        table t = {.type = test_type("ROW<a INT, b STRING, c BIGINT, d ARRAY<INT>> NOT NULL")};
        tl_options options = {0};
        assert_ok(tl_fs_memory(&t.fs, &err), &err);
        assert_int_equal(tl_options_set(&options, files[i].key, files[i].value), TL_OK);
        t.batch = random_batch(t.type, &rng);
        write_file(&t, files[i].format, &options);
        for (int k = 0; k < 20; k++)
            read_some(&t, files[i].format, &rng);
        tl_batch_free(t.batch);
        tl_options_deinit(&options);
        tl_type_unref(t.type);
        tl_fs_unref(t.fs);
    }
}

#define LONG_ROWS 5
#define LONG_BYTES ((size_t)20 << 20)

/* Windows of few rows are not put together to batches of many: their strings would take more memory than a batch may. */
static void batches_of_long_strings_stay_small(void **state)
{
    (void)state;
    tl_error err;
    tl_reader *reader = NULL;
    table t = {.type = test_type("ROW<a STRING> NOT NULL")};
    tl_file_writer *writer = NULL;
    tl_write_result result = {0};
    tl_column *col = NULL;
    tl_builder *builder = NULL;
    char *text = tl_alloc(LONG_BYTES);
    assert_ok(tl_fs_memory(&t.fs, &err), &err);
    assert_ok(tl_format_parquet.create(t.fs, "/f", &(tl_write_spec){.row_type = t.type, .field_ids = &(int32_t){0}, .compression = "zstd"}, &writer, &err), &err);
    for (int32_t i = 0; i < LONG_ROWS; i++) {
        memset(text, 'a' + i, LONG_BYTES);
        assert_ok(tl_builder_create(t.type->fields[0].type, &builder, &err), &err);
        assert_int_equal(tl_builder_bytes(builder, (const uint8_t *)text, LONG_BYTES), TL_OK);
        assert_ok(tl_builder_finish(builder, &col, &err), &err);
        tl_builder_free(builder);
        assert_ok(tl_batch_create(t.type, 1, &t.batch, &err), &err);
        t.batch->cols[0] = col;
        assert_ok(writer->ops->write(writer, t.batch, &err), &err);
        tl_batch_free(t.batch);
    }
    assert_ok(writer->ops->finish(writer, &result, &err), &err);
    writer->ops->free(writer);
    assert_ok(tl_format_parquet.open(t.fs, "/f", result.bytes, &(tl_read_spec){.row_type = t.type}, &reader, &err), &err);
    for (int64_t row = 0; row < LONG_ROWS;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        assert_ok(tl_reader_next(reader, &batch, &err), &err);
        assert_non_null(batch);
        assert_in_range(batch->n_rows, 1, 3);
        for (int64_t i = 0; i < batch->n_rows; i++, row++) {
            tl_bytes_view v = tl_col_bytes(batch->cols[0], i);
            assert_int_equal(v.len, LONG_BYTES);
            assert_int_equal(v.data[LONG_BYTES - 1], 'a' + row);
        }
    }
    tl_reader_free(reader);
    tl_write_result_deinit(&result);
    tl_free(text);
    tl_type_unref(t.type);
    tl_fs_unref(t.fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_wanted_come_with_their_numbers),
                                       cmocka_unit_test(batches_of_long_strings_stay_small)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
