/* Leftovers are found and removed; what is in use never is, whoever uses it. */
#include "table_support.h"

static size_t count_orphans(tl_table *table, int64_t older_than_ms)
{
    tl_orphan *orphans = NULL;
    size_t n = 0;
    tl_error err;
    assert_ok(tl_table_find_orphans(table, older_than_ms, &orphans, &n, &err), &err);
    tl_orphans_free(orphans, n);
    return n;
}

static size_t remove_orphans(tl_table *table)
{
    tl_orphan *orphans = NULL;
    size_t n = 0;
    tl_error err;
    assert_ok(tl_table_remove_orphans(table, -1000, &orphans, &n, &err), &err);
    tl_orphans_free(orphans, n);
    return n;
}

static void drop_file(lake *l, const char *path)
{
    tl_error err;
    assert_ok(tl_fs_publish(l->fs, path, (tl_bytes_view){(const uint8_t *)"x", 1}, false, &err), &err);
}

/* A table with all that may refer to files: snapshots, a tag of an expired one, a branch with commits of its own, a consumer. */
static tl_table *busy_table(lake *l, const char *options)
{
    tl_error err;
    create(l, "t", "p INT NOT NULL, k INT NOT NULL, v STRING", "p,k", "p", options);
    tl_table *table = open_table(l, "t");
    put_as(table, "u", 1, "{'p':1,'k':1,'v':'a'}\n{'p':2,'k':2,'v':'b'}", false);
    assert_ok(tl_table_create_tag(table, "good", 0, TL_ABSENT, &err), &err);
    assert_ok(tl_table_create_branch(table, "side", "good", &err), &err);
    tl_table *side = open_table(l, "t$branch_side");
    put_as(side, "s", 1, "{'p':1,'k':7,'v':'s'}", false);
    tl_table_free(side);
    put_as(table, "u", 2, "{'p':1,'k':1,'v':'c'}", true);
    put_as(table, "u", 3, "{'p':2,'k':3,'v':'d'}", true);
    tl_expire_spec spec = {.retain_max = 1, .retain_min = 1, .older_than_ms = 0};
    assert_ok(tl_table_expire(table, &spec, NULL, &err), &err);
    return table;
}

static void assert_all_is_there(lake *l)
{
    assert_rows(l, "t", NULL, "{'p':1,'k':1,'v':'c'}\n{'p':2,'k':2,'v':'b'}\n{'p':2,'k':3,'v':'d'}");
    assert_rows(l, "t", "scan.tag-name=good", "{'p':1,'k':1,'v':'a'}\n{'p':2,'k':2,'v':'b'}");
    assert_rows(l, "t$branch_side", NULL, "{'p':1,'k':1,'v':'a'}\n{'p':1,'k':7,'v':'s'}\n{'p':2,'k':2,'v':'b'}");
}

static void leftovers_go_and_what_is_in_use_stays(void **state)
{
    (void)state;
    static const char *const producers[] = {"none", "input", "lookup"};
    static const char *const leftovers[] = {
        "/lake/d.db/t/p=1/bucket-0/data-left-0.parquet", "/lake/d.db/t/p=9/bucket-3/changelog-left-0.parquet", "/lake/d.db/t/manifest/manifest-left-0",
        "/lake/d.db/t/manifest/manifest-list-left-0",    "/lake/d.db/t/index/index-left-0",                    "/lake/d.db/t/statistics/stat-left",
        "/lake/d.db/t/snapshot/.snapshot-9.left.tmp",    "/lake/d.db/t/tag/.tag-x.left.tmp",                   "/lake/d.db/t/branch/.dropped-left/schema/schema-0"};
    for (size_t i = 0; i < TL_ARRAY_LEN(producers); i++) {
        char options[64];
        lake l = memory_lake();
        snprintf(options, sizeof options, "bucket=1,changelog-producer=%s", producers[i]);
        tl_table *table = busy_table(&l, options);
        assert_int_equal(count_orphans(table, -1000), 0);
        for (size_t k = 0; k < TL_ARRAY_LEN(leftovers); k++)
            drop_file(&l, leftovers[k]);
        assert_int_equal(count_orphans(table, 3600000), 0); /* too young */
        assert_int_equal(count_orphans(table, -1000), TL_ARRAY_LEN(leftovers));
        assert_int_equal(remove_orphans(table), TL_ARRAY_LEN(leftovers));
        assert_int_equal(count_orphans(table, -1000), 0);
        assert_int_equal(files_with(l.fs, "left"), 0);
        assert_all_is_there(&l);
        assert_sound(table);
        tl_table_free(table);
        close_lake(&l);
    }
}

static void nothing_is_an_orphan_where_what_is_in_use_cannot_be_read(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    tl_orphan *orphans = NULL;
    size_t n = 0;
    tl_table *table = busy_table(&l, "bucket=1");
    char **paths = NULL;
    walk_files(l.fs, "/lake/d.db/t/manifest", &paths, &n);
    assert_true(n > 0);
    assert_ok(tl_fs_remove(l.fs, paths[0], &err), &err);
    for (size_t i = 0; i < n; i++)
        tl_free(paths[i]);
    free(paths);
    size_t files = files_with(l.fs, "/");
    assert_int_not_equal(tl_table_remove_orphans(table, -1000, &orphans, &n, &err), TL_OK);
    assert_non_null(strstr(err.message, "nothing is an orphan"));
    assert_int_equal(files_with(l.fs, "/"), files);
    tl_table_free(table);
    close_lake(&l);
}

static void hints_are_mended(void **state)
{
    (void)state;
    static const struct {
        const char *latest, *earliest;
        bool mends_latest, mends_earliest;
    } cases[] = {{"77", "1", true, true}, {"x", "", true, true}};
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        lake l = memory_lake();
        tl_error err;
        tl_table *table = busy_table(&l, "bucket=1");
        tl_repair_report report = {0};
        assert_ok(tl_table_repair(table, 0, /* dry_run= */ false, &report, &err), &err); /* also where one was never written */
        tl_orphans_free(report.orphans, report.n_orphans);
        assert_ok(tl_fs_publish(l.fs, "/lake/d.db/t/snapshot/LATEST", (tl_bytes_view){(const uint8_t *)cases[i].latest, strlen(cases[i].latest)}, true,
                                &err),
                  &err);
        assert_ok(tl_fs_publish(l.fs, "/lake/d.db/t/snapshot/EARLIEST",
                                (tl_bytes_view){(const uint8_t *)cases[i].earliest, strlen(cases[i].earliest)}, true, &err),
                  &err);
        assert_ok(tl_table_repair(table, 0, /* dry_run= */ false, &report, &err), &err);
        assert_int_equal(report.latest, cases[i].mends_latest);
        assert_int_equal(report.earliest, cases[i].mends_earliest);
        tl_orphans_free(report.orphans, report.n_orphans);
        assert_ok(tl_table_repair(table, 0, /* dry_run= */ false, &report, &err), &err);
        assert_false(report.latest || report.earliest);
        tl_orphans_free(report.orphans, report.n_orphans);
        assert_all_is_there(&l);
        tl_table_free(table);
        close_lake(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leftovers_go_and_what_is_in_use_stays),
        cmocka_unit_test(nothing_is_an_orphan_where_what_is_in_use_cannot_be_read),
        cmocka_unit_test(hints_are_mended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
