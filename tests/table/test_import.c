/*
 * Files taken in place: a table of them reads as the table that wrote them, also under filters, and its statistics hold; what does not
 * fit is refused before anything moves; whatever call fails, the files are either in the table or where they were.
 */
#include "table_support.h"

#define COLUMNS                                                                                                             \
    "i INT, b BIGINT, s STRING, d DOUBLE, f FLOAT, dec DECIMAL(9, 2), big DECIMAL(30, 1), dt DATE, ts TIMESTAMP(3), ts6 TIMESTAMP(6), " \
    "bo BOOLEAN, bin BYTES, si SMALLINT, l ARRAY<INT>, r ROW<x INT, y STRING>"

/* ---- helpers ---- */

static void copy_file(tl_fs *fs, const char *from, const char *to)
{
    tl_bytes bytes;
    tl_file *file = NULL;
    tl_error err;
    assert_ok(tl_fs_read_all(fs, from, 1 << 26, &bytes, &err), &err);
    assert_ok(tl_fs_create(fs, to, &file, &err), &err);
    assert_ok(tl_file_write(file, bytes.data, bytes.len, &err), &err);
    assert_ok(tl_file_close(file, &err), &err);
    tl_bytes_deinit(&bytes);
}

/* The table's data files as /in/p=N/part-I, N = 0 and 1 by turns, or without folders. */
static int copy_out(lake *l, const char *bucket, bool folders)
{
    tl_dir_entry *entries;
    size_t n;
    tl_error err;
    assert_ok(tl_fs_list(l->fs, bucket, &entries, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        char from[256], to[256];
        snprintf(from, sizeof from, "%s/%s", bucket, entries[i].name);
        if (folders)
            snprintf(to, sizeof to, "/in/p=%zu/part-%zu", i % 2, i);
        else
            snprintf(to, sizeof to, "/in/part-%zu", i);
        copy_file(l->fs, from, to);
    }
    tl_dir_free(entries, n);
    return (int)n;
}

static void fill(tl_table *table, int commits, int rows, uint64_t *rng)
{
    tl_error err;
    for (int i = 0; i < commits; i++) {
        tl_table_writer *writer = NULL;
        tl_commit_messages messages = {0};
        tl_commit_result result;
        tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
        const tl_type *type = tl_table_schema_of(table)->row_type;
        tl_batch *batch = NULL;
        assert_ok(tl_batch_create(type, rows, &batch, &err), &err);
        for (int32_t c = 0; c < type->n_fields; c++)
            batch->cols[c] = test_random_column(type->fields[c].type, rows, 20 + 80 * (i == 1 && c == 3), rng);
        assert_ok(tl_table_writer_create(table, NULL, &writer, &err), &err);
        assert_ok(tl_table_writer_write(writer, batch, &err), &err);
        assert_ok(tl_table_writer_prepare(writer, true, &messages, &err), &err);
        assert_ok(tl_table_commit(table, &spec, &messages, &result, &err), &err);
        tl_commit_messages_deinit(&messages);
        tl_table_writer_free(writer);
        tl_batch_free(batch);
    }
}

static tl_status import_all(tl_table *table, const char *format, tl_import_result *result, tl_error *err)
{
    tl_import_files files;
    TL_TRY(tl_import_find(table->fs, "/in", &files, err));
    const tl_import_spec spec = {.files = &files, .format = format};
    tl_status status = tl_table_import(table, &spec, result, err);
    tl_import_files_deinit(&files);
    return status;
}

/* ---- rows ---- */

static void assert_same_rows(tl_table *a, tl_table *b, const char *where)
{
    char *x = read_where(a, where), *y = read_where(b, where);
    if (strcmp(x, y) != 0)
        fail_msg("%s\ngot:\n%s\nwanted:\n%s", where == NULL ? "" : where, y, x);
    free(x);
    free(y);
}

static const char *const filters[] = {
    NULL,
    "['=','i',1]", "['>','i',1000000]", "['<','b',-2]", "['>=','b',3]", "['=','s','']", "['>','s','ab']", "['<','s','b']", "['startsWith','s','a']",
    "['=','d',0]", "['>','d',1e299]", "['<','d',-1.6]", "['=','f',1.5]", "['>','dec','1.00']", "['<','big','-1.0']", "['>','dt','1970-01-02']",
    "['<','ts','1970-01-01T00:00:00']", "['>=','ts6','1970-01-01T00:00:00.000002']", "['=','bo',true]", "['isNull','d']", "['isNotNull','s']",
    "['isNull','l']", "['>','si',2]", "['isNull','r']",
};

static void test_rows(const char *format, const char *options)
{
    uint64_t rng = 7;
    lake l = memory_lake();
    tl_error err;
    tl_import_result result;
    create(&l, "src", COLUMNS, NULL, NULL, options);
    create(&l, "t", COLUMNS, NULL, NULL, NULL);
    tl_table *src = open_table(&l, "src"), *t = open_table(&l, "t");
    fill(src, 3, 300, &rng);
    assert_int_equal(copy_out(&l, "/lake/d.db/src/bucket-0", /* folders= */ false), 3);
    assert_ok(import_all(t, format, &result, &err), &err);
    assert_int_equal(result.files, 3);
    assert_int_equal(result.rows, 900);
    assert_sound(t);
    for (size_t i = 0; i < TL_ARRAY_LEN(filters); i++) {
        char *where = filters[i] == NULL ? NULL : quoted(filters[i]);
        assert_same_rows(src, t, where);
        free(where);
    }
    tl_table_free(src);
    tl_table_free(t);
    close_lake(&l);
}

/* Many row groups and stripes, so that the parts' statistics are put together. */
static void test_parquet(void **state)
{
    (void)state;
    test_rows("parquet", "file.format=parquet,parquet.block.size=2000,parquet.block.row-count-limit=50,parquet.page.size=300");
}

static void test_orc(void **state)
{
    (void)state;
    test_rows("orc", "file.format=orc,orc.stripe.size=4000");
}

static void test_avro(void **state)
{
    (void)state;
    test_rows("avro", "file.format=avro");
}

/* ---- failures ---- */

static bool all_there(tl_fs *fs, int n)
{
    int there = 0;
    for (int i = 0; i < n; i++) {
        char path[64];
        bool exists = false;
        tl_error err;
        snprintf(path, sizeof path, "/in/p=%d/part-%d", i % 2, i);
        assert_ok(tl_fs_exists(fs, path, &exists, &err), &err);
        there += exists;
    }
    assert_true(there == 0 || there == n);
    return there == n;
}

/* One call fails: either all is in, or the files lie where they were and the table has none. */
static void test_faults(void **state)
{
    (void)state;
    bool finished = false;
    int failures = 0;
    for (uint64_t at = 1; !finished; at++) {
        uint64_t rng = 3;
        lake plain = memory_lake();
        tl_fault_plan plan = {.kind = TL_FAULT_EIO, .at = 0};
        tl_error err;
        tl_import_result result;
        create(&plain, "src", "k INT, v STRING", NULL, NULL, NULL);
        create(&plain, "t", "k INT, v STRING, p INT", NULL, "p", NULL);
        tl_table *src = open_table(&plain, "src");
        fill(src, 4, 5, &rng);
        int n = copy_out(&plain, "/lake/d.db/src/bucket-0", /* folders= */ true);
        tl_fs *fs = NULL;
        assert_ok(tl_fs_fault(plain.fs, &plan, &fs, &err), &err);
        lake l = lake_on(fs);
        tl_table *t = open_table(&l, "t");
        plan.calls = 0;
        plan.at = at;
        tl_status status = import_all(t, "parquet", &result, &err);
        finished = plan.calls < at;
        plan.at = 0;
        failures += status != TL_OK;
        assert_int_equal(all_there(plain.fs, n), status != TL_OK);
        tl_table *again = open_table(&plain, "t");
        char *rows = read_where(again, NULL);
        assert_true((status == TL_OK) == (*rows != '\0'));
        assert_sound(again);
        free(rows);
        tl_table_free(again);
        tl_table_free(t);
        tl_table_free(src);
        close_lake(&l);
        close_lake(&plain);
    }
    assert_true(failures > 20);
}

static void test_refused(void **state)
{
    (void)state;
    uint64_t rng = 5;
    lake l = memory_lake();
    tl_error err;
    tl_import_result result;
    create(&l, "src", "k INT, v STRING", NULL, NULL, NULL);
    create(&l, "not_null", "k INT NOT NULL, v STRING", NULL, NULL, NULL);
    create(&l, "fewer", "k INT", NULL, NULL, NULL);
    create(&l, "keyed", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1");
    create(&l, "buckets", "k INT, v STRING", NULL, NULL, "bucket=2,bucket-key=k");
    tl_table *src = open_table(&l, "src");
    fill(src, 1, 50, &rng);
    (void)copy_out(&l, "/lake/d.db/src/bucket-0", /* folders= */ false);
    static const struct {
        const char *name, *message;
    } cases[] = {{"not_null", "has NULL"}, {"fewer", "none of the table's"}, {"keyed", "copy them"}, {"buckets", "copy them"}};
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        bool exists;
        tl_table *t = open_table(&l, cases[i].name);
        assert_int_equal(import_all(t, "parquet", &result, &err), TL_E_INVALID);
        assert_non_null(strstr(err.message, cases[i].message));
        assert_false(result.has_files);
        assert_ok(tl_fs_exists(l.fs, "/in/part-0", &exists, &err), &err);
        assert_true(exists);
        tl_table_free(t);
    }
    tl_table_free(src);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parquet), cmocka_unit_test(test_orc),     cmocka_unit_test(test_avro),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
