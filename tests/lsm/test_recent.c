/* Rows of files that a writer has just made: they are what the file would give, and compactions take them as far as memory goes. */
#include "lsm_support.h"

/* ---- a table of every type ---- */

static tl_lsm_config *config_of_all_types(tl_fs *fs, const char *format)
{
    static const char fields[] =
        "{\"id\":0,\"name\":\"k\",\"type\":\"BIGINT NOT NULL\"},{\"id\":1,\"name\":\"a\",\"type\":\"BOOLEAN\"},"
        "{\"id\":2,\"name\":\"b\",\"type\":\"TINYINT\"},{\"id\":3,\"name\":\"c\",\"type\":\"SMALLINT\"},"
        "{\"id\":4,\"name\":\"d\",\"type\":\"FLOAT\"},{\"id\":5,\"name\":\"e\",\"type\":\"DOUBLE\"},"
        "{\"id\":6,\"name\":\"f\",\"type\":\"DECIMAL(10, 2)\"},{\"id\":7,\"name\":\"g\",\"type\":\"DECIMAL(30, 3)\"},"
        "{\"id\":8,\"name\":\"h\",\"type\":\"STRING\"},{\"id\":9,\"name\":\"i\",\"type\":\"BYTES\"},"
        "{\"id\":10,\"name\":\"j\",\"type\":\"DATE\"},{\"id\":11,\"name\":\"l\",\"type\":\"TIME(3)\"},"
        "{\"id\":12,\"name\":\"m\",\"type\":\"TIMESTAMP(3)\"},{\"id\":13,\"name\":\"n\",\"type\":\"TIMESTAMP(6)\"},"
        "{\"id\":14,\"name\":\"o\",\"type\":{\"type\":\"ARRAY\",\"element\":\"INT\"}},"
        "{\"id\":15,\"name\":\"p\",\"type\":{\"type\":\"MAP\",\"key\":\"STRING NOT NULL\",\"value\":\"BIGINT\"}},"
        "{\"id\":16,\"name\":\"q\",\"type\":{\"type\":\"ROW\",\"fields\":[{\"id\":17,\"name\":\"x\",\"type\":\"INT\"}]}}";
    TL_CLEANUP(tl_freep) char *json =
        tl_strf("{\"version\":3,\"id\":0,\"fields\":[%s],\"highestFieldId\":17,\"partitionKeys\":[],\"primaryKeys\":[\"k\"],"
                "\"options\":{\"bucket\":\"1\",\"file.format\":\"%s\"}}",
                fields, format);
    tl_table_schema *schema = NULL;
    tl_lsm_config *config = NULL;
    tl_paths paths = {.table = "/t"};
    tl_error err;
    assert_ok(tl_table_schema_parse((tl_bytes_view){(const uint8_t *)json, strlen(json)}, &schema, &err), &err);
    assert_ok(tl_lsm_config_create(fs, &paths, schema, &config, &err), &err);
    tl_table_schema_unref(schema);
    return config;
}

/* Rows with ascending keys, some of them deletes. */
static tl_batch *random_rows(const tl_type *type, int64_t n, int64_t first, uint64_t *rng)
{
    tl_batch *batch = NULL;
    tl_error err;
    assert_ok(tl_batch_create(type, n, &batch, &err), &err);
    for (int32_t c = 0; c < type->n_fields; c++)
        batch->cols[c] = test_random_column(type->fields[c].type, n, /* null_percent= */ c == 0 ? 0 : 20, rng);
    batch->row_kind = tl_calloc((size_t)n, 1);
    batch->seq = tl_calloc((size_t)n, sizeof(int64_t));
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)batch->cols[0]->values)[i] = first + i;
        batch->row_kind[i] = (uint8_t)(test_random(rng) % 4);
        batch->seq[i] = (int64_t)(test_random(rng) % 1000);
    }
    return batch;
}

static void assert_same_batches(const tl_batch *a, const tl_batch *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->level, b->level);
    for (int32_t c = 0; c < a->n_cols; c++) {
        assert_true(tl_type_equal(a->cols[c]->type, b->cols[c]->type, /* with_nullable= */ false));
        for (int64_t i = 0; i < a->n_rows; i++)
            if (!tl_column_equal(a->cols[c], i, b->cols[c], i))
                fail_msg("column %s differs in row %lld", a->type->fields[c].name, (long long)i);
    }
    for (int64_t i = 0; i < a->n_rows; i++) {
        assert_int_equal(tl_batch_kind(a, i), tl_batch_kind(b, i));
        assert_int_equal(a->seq[i], b->seq[i]);
    }
}

/* The file's rows, from memory and from the file. */
static void compare_readings(tl_lsm__bucket *bucket, const tl_data_file *file, bool drop_deletes)
{
    int32_t n = tl_lsm__n_columns(bucket->config), columns[32];
    tl_lsm__scan *scan = NULL;
    tl_error err;
    for (int32_t i = 0; i < n; i++)
        columns[i] = n - 1 - i;
    assert_ok(tl_lsm__scan_create(bucket, columns, n, NULL, &scan, &err), &err);
    scan->drop_deletes = drop_deletes;
    tl_batch *batches[2] = {NULL, NULL};
    tl_lsm__recent *recent = bucket->recent;
    for (int side = 0; side < 2; side++) {
        tl_reader *reader = NULL;
        tl_batch *pieces[8];
        int32_t n_pieces = 0;
        bucket->recent = side == 0 ? recent : NULL;
        assert_ok(tl_lsm__file_open(scan, file, NULL, &reader, &err), &err);
        for (;; n_pieces++) {
            assert_ok(tl_reader_next(reader, &pieces[n_pieces], &err), &err);
            if (pieces[n_pieces] == NULL)
                break;
        }
        tl_reader_free(reader);
        assert_ok(tl_batch_concat((const tl_batch *const *)pieces, n_pieces, &batches[side], &err), &err);
        batches[side]->level = pieces[0]->level;
        for (int32_t i = 0; i < n_pieces; i++)
            tl_batch_free(pieces[i]);
    }
    bucket->recent = recent;
    assert_same_batches(batches[0], batches[1]);
    tl_batch_free(batches[0]);
    tl_batch_free(batches[1]);
    tl_lsm__scan_unref(scan);
}

static void kept_rows_are_those_of_the_file(void **state)
{
    (void)state;
    static const char *const formats[] = {"parquet", "avro"};
    uint64_t rng = test_seed(3);
    tl_error err;
    for (size_t f = 0; f < TL_ARRAY_LEN(formats); f++) {
        tl_fs *fs = memory_fs();
        tl_lsm_config *config = config_of_all_types(fs, formats[f]);
        tl_lsm__bucket *bucket = NULL;
        tl_lsm__writer *writer = NULL;
        tl_lsm__names names = {.uuid = ""};
        tl_file_list files = {0};
        assert_ok(tl_lsm__bucket_create(config, NO_PARTITION, 0, &bucket, &err), &err);
        assert_ok(tl_lsm__recent_create(config, &bucket->recent, &err), &err);
        tl_lsm__writer_spec spec = {.bucket = bucket, .names = &names, .level = 2};
        assert_ok(tl_lsm__writer_create(&spec, &writer, &err), &err);
        int64_t written = 0;
        for (int64_t n = 16; n <= 5000; n = n * 7 + 3) { /* the last one is longer than a batch of a reader */
            tl_batch *batch = random_rows(config->schema->row_type, n, written, &rng), *slice = NULL;
            int64_t from = n == 16 ? 8 : 0; /* a view of a part is kept as a copy of it */
            assert_ok(tl_batch_slice(batch, from, n - from, &slice, &err), &err);
            assert_ok(tl_lsm__writer_write(writer, slice, &err), &err);
            tl_batch_free(slice);
            tl_batch_free(batch);
            written += n;
        }
        assert_ok(tl_lsm__writer_finish(writer, &files, &err), &err);
        tl_lsm__writer_free(writer);
        assert_int_equal(files.n, 1);
        tl_lsm__kept *kept = tl_lsm__recent_get(bucket->recent, files.items[0]->name);
        assert_non_null(kept);
        tl_lsm__kept_unref(kept);
        compare_readings(bucket, files.items[0], /* drop_deletes= */ false);
        compare_readings(bucket, files.items[0], /* drop_deletes= */ true);
        tl_lsm__bucket_remove(bucket, files.items[0]);
        assert_null(tl_lsm__recent_get(bucket->recent, files.items[0]->name));
        assert_int_equal(config->recent_bytes, 0);
        tl_file_list_deinit(&files);
        tl_lsm__bucket_unref(bucket);
        tl_lsm_config_unref(config);
        tl_fs_unref(fs);
    }
}

/* ---- a bucket being written ---- */

/* Three commits, the third of which compacts; the files of the first two are removed before it. */
static void compact_removed_files(const char *buffer_bytes, tl_status want)
{
    const char *options[] = {"bucket", "1", "num-sorted-run.compaction-trigger", "3", "write-buffer-size", buffer_bytes, NULL};
    tl_fs *fs = memory_fs();
    tl_lsm_config *config = make_config_on(fs, options, /* keyed= */ true);
    tl_bucket_writer *writer = NULL;
    tl_file_list live = {0};
    rows expected = {0}, got = {0};
    tl_error err;
    tl_status status = TL_OK;
    assert_ok(tl_bucket_writer_create(config, NO_PARTITION, 0, 1, NULL, 0, NULL, &writer, &err), &err);
    for (int c = 0; c < 3; c++) {
        row list[100];
        for (int i = 0; i < 100; i++)
            list[i] = (row){.k = i + 50 * c, .has_a = true, .a = c};
        for (int i = 0; i < (c == 2 ? 100 : 50); i++)
            rows_add(&expected, list[i]);
        tl_batch *batch = make_batch(config->schema->row_type, list, 100);
        assert_ok(tl_bucket_writer_write(writer, batch, &err), &err);
        tl_batch_free(batch);
        for (size_t i = 0; c == 2 && i < live.n; i++) {
            TL_CLEANUP(tl_freep) char *path = tl_data_file_path(config, NO_PARTITION, 0, live.items[i]);
            assert_ok(tl_fs_remove(fs, path, &err), &err);
        }
        tl_commit_message msg = {0};
        status = tl_bucket_writer_prepare(writer, /* wait_compaction= */ true, &msg, &err);
        if (status == TL_OK) {
            assert_int_equal(msg.compact_after.n, c == 2);
            apply_message(&live, &msg);
            tl_commit_message_deinit(&msg);
        }
    }
    assert_int_equal(status, want);
    if (want == TL_OK) {
        read_live(config, &live, &got);
        assert_same_rows(&got, &expected, /* with_kinds= */ false);
    }
    tl_bucket_writer_free(writer);
    assert_int_equal(config->recent_bytes, 0);
    tl_file_list_deinit(&live);
    rows_free(&got);
    rows_free(&expected);
    tl_lsm_config_unref(config);
    tl_fs_unref(fs);
}

static void a_compaction_does_not_read_what_was_just_written(void **state)
{
    (void)state;
    compact_removed_files("64 mb", TL_OK);
}

static void a_small_write_buffer_keeps_nothing(void **state)
{
    (void)state;
    compact_removed_files("64 kb", TL_E_NOT_FOUND); /* 2 KB a file: the rows are 4 KB */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_rows_are_those_of_the_file),
        cmocka_unit_test(a_compaction_does_not_read_what_was_just_written),
        cmocka_unit_test(a_small_write_buffer_keeps_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
