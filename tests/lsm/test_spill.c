/* Spill files give back what was written: random batches of every type, and files that were cut. */
#include "lsm_support.h"

static tl_batch *random_batch(const tl_type *type, int64_t n, uint64_t *rng)
{
    tl_batch *batch = NULL;
    tl_error err;
    assert_ok(tl_batch_create(type, n, &batch, &err), &err);
    for (int32_t c = 0; c < type->n_fields; c++)
        batch->cols[c] = test_random_column(type->fields[c].type, n, /* null_percent= */ 20, rng);
    if (test_random(rng) % 2 == 0) {
        batch->row_kind = tl_calloc((size_t)n + 1, 1);
        batch->seq = tl_calloc((size_t)n + 1, sizeof(int64_t));
        for (int64_t i = 0; i < n; i++) {
            batch->row_kind[i] = (uint8_t)(test_random(rng) % 4);
            batch->seq[i] = (int64_t)test_random(rng);
        }
    }
    return batch;
}

static void assert_same_batch(const tl_batch *a, const tl_batch *b)
{
    tl_error err;
    assert_int_equal(a->n_rows, b->n_rows);
    for (int32_t c = 0; c < a->n_cols; c++) {
        assert_ok(tl_column_check(b->cols[c], &err), &err);
        for (int64_t i = 0; i < a->n_rows; i++)
            assert_true(tl_column_equal(a->cols[c], i, b->cols[c], i));
    }
    for (int64_t i = 0; i < a->n_rows; i++) {
        assert_int_equal(tl_batch_kind(a, i), tl_batch_kind(b, i));
        assert_true(a->seq == NULL ? b->seq == NULL : a->seq[i] == b->seq[i]);
    }
}

static const tl_type *all_types(void)
{
    return test_type("ROW<a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(10, 2), i "
                     "DECIMAL(30, 3), j STRING, "
                     "k VARBINARY(20), l DATE, m TIME(3), n TIMESTAMP(3), o TIMESTAMP(6), p TIMESTAMP(9), q ARRAY<INT>, "
                     "r MAP<STRING, ARRAY<BIGINT>>, s ROW<x INT, y ROW<z STRING>>, t MULTISET<STRING>, u INT NOT NULL>");
}

static void batches_come_back_as_written(void **state)
{
    (void)state;
    static const char *const codecs[] = {"lz4", "zstd", "none"};
    uint64_t rng = test_seed(7);
    const tl_type *type = all_types();
    tl_error err;
    for (size_t c = 0; c < TL_ARRAY_LEN(codecs); c++) {
        const char *options[] = {"bucket", "1", "spill-compression", codecs[c], NULL};
        tl_fs *fs = memory_fs();
        tl_lsm_config *config = make_config_on(fs, options, true);
        tl_lsm__spill *spill = NULL;
        tl_batch *batches[20];
        tl_reader *reader = NULL;
        assert_ok(tl_lsm__spill_create(config, &spill, &err), &err);
        for (size_t i = 0; i < TL_ARRAY_LEN(batches); i++) {
            batches[i] = random_batch(type, (int64_t)(test_random(&rng) % 200), &rng);
            tl_batch *slice = NULL;
            int64_t from = batches[i]->n_rows / 16 * 8;
            assert_ok(tl_batch_slice(batches[i], from, batches[i]->n_rows - from, &slice, &err), &err);
            assert_ok(tl_lsm__spill_write(spill, i % 2 == 0 ? batches[i] : slice, &err), &err);
            if (i % 2 == 0) {
                tl_batch_free(slice);
            } else {
                tl_batch_free(batches[i]);
                batches[i] = slice;
            }
        }
        assert_ok(tl_lsm__spill_finish(spill, &err), &err);
        assert_ok(tl_lsm__spill_open(spill, type, &reader, &err), &err);
        for (size_t i = 0; i < TL_ARRAY_LEN(batches); i++) {
            tl_batch *got = NULL;
            assert_ok(tl_reader_next(reader, &got, &err), &err);
            assert_non_null(got);
            assert_same_batch(batches[i], got);
            tl_batch_free(got);
            tl_batch_free(batches[i]);
        }
        tl_batch *end = NULL;
        assert_ok(tl_reader_next(reader, &end, &err), &err);
        assert_null(end);
        tl_reader_free(reader);
        tl_lsm__spill_free(spill);
        tl_lsm_config_unref(config);
        assert_int_equal(count_files(fs, "/tmp"), 0);
        tl_fs_unref(fs);
    }
    tl_type_unref(type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_come_back_as_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
