/*
 * Sorting append tables: rows come out in the order asked for and are the same rows, however many runs were merged on the way, and whatever
 * fails the table stays as it was. Curves keep near rows near.
 */
#include "table_support.h"

#include "lsm/lsm_private.h"

#define COLUMNS "k INT, s STRING, d DOUBLE, dec DECIMAL(30, 2), ts TIMESTAMP(9), b BYTES"

static void fill(tl_table *table, int commits, int rows, uint64_t *rng)
{
    tl_error err;
    for (int i = 0; i < commits; i++) {
        tl_commit_messages messages = {0};
        tl_commit_result result;
        tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
        tl_table_writer *writer = NULL;
        tl_batch *batch = NULL;
        const tl_type *type = tl_table_schema_of(table)->row_type;
        assert_ok(tl_batch_create(type, rows, &batch, &err), &err);
        for (int32_t c = 0; c < type->n_fields; c++)
            batch->cols[c] = test_random_column(type->fields[c].type, rows, 10, rng);
        assert_ok(tl_table_writer_create(table, NULL, &writer, &err), &err);
        assert_ok(tl_table_writer_write(writer, batch, &err), &err);
        assert_ok(tl_table_writer_prepare(writer, true, &messages, &err), &err);
        assert_ok(tl_table_commit(table, &spec, &messages, &result, &err), &err);
        tl_commit_messages_deinit(&messages);
        tl_table_writer_free(writer);
        tl_batch_free(batch);
    }
}

static tl_status sort_by(tl_table *table, const char *kind, char *const *columns, int32_t n, tl_error *err)
{
    tl_commit_result result;
    const tl_sort_spec spec = {.kind = kind, .columns = columns, .n_columns = n};
    return tl_table_sort(table, NULL, &spec, &result, err);
}

/* All files of the table, in the order in which they were written, have rows in order. */
static void assert_in_order(tl_table *table, const int32_t *columns, int32_t n)
{
    tl_error err;
    tl_reader *reader = NULL;
    tl_scan_spec spec = {.limit = -1};
    tl_batch *last = NULL;
    assert_ok(tl_table_read(table, &spec, &reader, &err), &err);
    for (;;) {
        tl_batch *batch = NULL;
        assert_ok(tl_reader_next(reader, &batch, &err), &err);
        if (batch == NULL)
            break;
        for (int64_t i = last == NULL ? 1 : 0; i < batch->n_rows; i++) {
            const tl_batch *before = i == 0 ? last : batch;
            int64_t row = i == 0 ? last->n_rows - 1 : i - 1;
            int c = 0;
            for (int32_t k = 0; k < n && c == 0; k++)
                c = tl_column_compare(before->cols[columns[k]], row, batch->cols[columns[k]], i, false, true);
            assert_true(c <= 0);
        }
        tl_batch_free(last);
        last = batch;
    }
    tl_batch_free(last);
    tl_reader_free(reader);
}

static char *const names[] = {(char *)"k", (char *)"s", (char *)"d", (char *)"dec", (char *)"ts", (char *)"b"};

/* With little memory each batch is a run of its own, and there are more runs than are merged at once. */
static void test_order(void **state)
{
    (void)state;
    static const int32_t columns[] = {0, 1, 2, 3, 4, 5};
    for (int small = 0; small < 2; small++) {
        uint64_t rng = 11;
        lake l = memory_lake();
        tl_error err;
        create(&l, "t", COLUMNS, NULL, NULL, small ? "write-buffer-size=1 kb" : NULL);
        tl_table *t = open_table(&l, "t");
        fill(t, 140, 40, &rng);
        char *before = read_where(t, NULL);
        for (int32_t n = 1; n <= 6; n += 5) {
            assert_ok(sort_by(t, "order", names, n, &err), &err);
            assert_in_order(t, columns, n);
            char *after = read_where(t, NULL);
            assert_string_equal(before, after);
            free(after);
        }
        static const char *const kinds[] = {"zorder", "hilbert"};
        for (size_t i = 0; i < 2; i++) {
            assert_ok(sort_by(t, kinds[i], names, 6, &err), &err);
            char *after = read_where(t, NULL);
            assert_string_equal(before, after);
            free(after);
        }
        assert_sound(t);
        free(before);
        tl_table_free(t);
        close_lake(&l);
    }
}

/* ---- the curves ---- */

/* Positions of the points of an 8 x 8 grid, as keys. */
static tl_keys *grid_keys(tl_order_kind kind, tl_batch **rows)
{
    tl_error err;
    static int32_t both[] = {0, 1};
    static const tl_lsm__scale scales[2] = {{UINT64_C(1) << 63, (UINT64_C(1) << 63) + 7}, {UINT64_C(1) << 63, (UINT64_C(1) << 63) + 7}};
    const tl_order order = {.kind = kind, .columns = both, .n_columns = 2, .text_bytes = 8};
    const tl_type *type = test_type("ROW<x INT, y INT> NOT NULL");
    tl_keys *keys = NULL;
    assert_ok(tl_batch_create(type, 64, rows, &err), &err);
    for (int32_t c = 0; c < 2; c++) {
        assert_ok(tl_column_alloc(type->fields[c].type, 64, &(*rows)->cols[c], &err), &err);
        for (int32_t i = 0; i < 64; i++)
            ((int32_t *)(*rows)->cols[c]->values)[i] = c == 0 ? i / 8 : i % 8;
    }
    assert_ok(tl_lsm__order_keys(&order, scales, *rows, &keys, &err), &err);
    tl_type_unref(type);
    return keys;
}

/* Along Hilbert's curve each point is a neighbour of the one before; a z-order takes each quarter as a whole. */
static void test_curves(void **state)
{
    (void)state;
    tl_error err;
    for (int hilbert = 0; hilbert < 2; hilbert++) {
        tl_batch *rows = NULL;
        uint32_t order[64];
        tl_keys *keys = grid_keys(hilbert ? TL_ORDER_HILBERT : TL_ORDER_ZORDER, &rows);
        assert_ok(tl_keys_sort(keys, order, &err), &err);
        for (int i = 0; i < 64; i++) {
            int x = (int)order[i] / 8, y = (int)order[i] % 8, before_x = i == 0 ? x : (int)order[i - 1] / 8, before_y = i == 0 ? y : (int)order[i - 1] % 8;
            if (hilbert)
                assert_int_equal(abs(x - before_x) + abs(y - before_y), i == 0 ? 0 : 1);
            else
                assert_int_equal(x / 4 * 2 + y / 4, i / 16);
        }
        tl_keys_free(keys);
        tl_batch_free(rows);
    }
}

/* ---- failures ---- */

static int failures;

/* A call of the disk for temporary files fails, or one of the lake's: an error, and everything is as it was. */
static void try_fault(bool in_spill, uint64_t at, bool *finished)
{
    uint64_t rng = 5;
    lake l = memory_lake();
    tl_error err;
    tl_fs *spill = NULL, *faulty = NULL;
    tl_fault_plan plan = {.kind = TL_FAULT_EIO, .at = 0};
    create(&l, "t", "k INT, s STRING", NULL, NULL, "write-buffer-size=1 kb");
    tl_table *plain = open_table(&l, "t");
    fill(plain, 4, 20, &rng);
    char *before = read_where(plain, NULL);
    assert_ok(tl_fs_memory(&spill, &err), &err);
    assert_ok(tl_fs_fault(in_spill ? spill : l.fs, &plan, &faulty, &err), &err);
    lake other = lake_on(in_spill ? l.fs : faulty);
    tl_table *t = open_table(&other, "t");
    tl_fs_unref(t->config->spill_fs);
    t->config->spill_fs = tl_fs_ref(in_spill ? faulty : spill);
    plan.calls = 0;
    plan.at = at;
    tl_status status = sort_by(t, "zorder", names, 2, &err);
    *finished = plan.calls < at;
    plan.at = 0;
    assert_true(status == TL_OK || !*finished);
    failures += status != TL_OK; /* removing a temporary file may fail without a word */
    char *after = read_where(plain, NULL);
    assert_string_equal(before, after);
    assert_sound(plain);
    free(before);
    free(after);
    tl_table_free(t);
    tl_table_free(plain);
    tl_catalog_close(other.catalog);
    tl_fs_unref(faulty);
    tl_fs_unref(spill);
    close_lake(&l);
}

static void test_faults(void **state)
{
    (void)state;
    bool finished = false;
    for (uint64_t at = 1; !finished; at++)
        try_fault(/* in_spill= */ true, at, &finished);
    assert_true(failures > 15);
    failures = 0;
    finished = false;
    for (uint64_t at = 1; !finished; at += 3)
        try_fault(/* in_spill= */ false, at, &finished);
    assert_true(failures > 15);
}

/* A table with buckets: its writers cluster as they go along, as universal compaction has it; a full compaction leaves one sorted run. */
static void test_buckets(void **state)
{
    (void)state;
    lake l = memory_lake();
    static const int32_t columns[] = {1};
    uint64_t rng = 7;
    tl_error err;
    tl_commit_result result = {0};
    create(&l, "t", "k INT NOT NULL, s STRING", NULL, NULL,
           "bucket=1,bucket-key=k,bucket-append-ordered=false,clustering.incremental=true,clustering.columns=s,num-sorted-run.compaction-trigger=3");
    tl_table *table = open_table(&l, "t");
    fill(table, 8, 50, &rng);
    char *before = read_where(table, NULL);
    tl_table *files = open_table(&l, "t$files");
    char *levels = read_where(files, "[\">\",\"level\",0]");
    assert_true(strlen(levels) > 0); /* without anybody having asked */
    free(levels);
    assert_ok(tl_table_compact(table, NULL, /* full= */ true, NULL, &result, &err), &err);
    levels = read_where(files, "[\"!=\",\"level\",3]");
    assert_string_equal(levels, "");
    free(levels);
    assert_in_order(table, columns, 1);
    char *after = read_where(table, NULL);
    assert_string_equal(after, before);
    assert_sound(table);
    free(after);
    free(before);
    tl_table_free(files);
    tl_table_free(table);
    create(&l, "u", "k INT NOT NULL, s STRING", NULL, NULL, "bucket=1,bucket-key=k,bucket-append-ordered=false,clustering.incremental=true");
    table = open_table(&l, "u");
    tl_commit_messages messages = {0};
    assert_fails(prepare_lines(table, "{'k':1,'s':'a'}", false, false, &messages, &err), TL_E_INVALID, &err, "needs 'clustering.columns'");
    tl_table_free(table);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order), cmocka_unit_test(test_curves), cmocka_unit_test(test_faults),
                                       cmocka_unit_test(test_buckets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
