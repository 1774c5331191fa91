/* Rows deleted from append tables without deletion vectors: their files are written again without them, and all others stay as they are. */
#include "table_support.h"

#define APPEND "p STRING NOT NULL, k INT NOT NULL, v STRING"

static tl_status try_delete(tl_table *table, const char *where, void *ctx, tl_status (*written)(void *, tl_commit_messages *, tl_error *),
                            int64_t *n, tl_commit_result *result, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = where == NULL ? NULL : predicate_of(table->row_type, where);
    tl_delete_spec spec = {.finder = {.predicate = pred, .ctx = ctx}, .written = written};
    return tl_table_delete(table, &spec, n, result, err);
}

static int64_t delete_where(tl_table *table, const char *where)
{
    tl_error err;
    int64_t n = 0;
    tl_commit_result result;
    assert_ok(try_delete(table, where, NULL, NULL, &n, &result, &err), &err);
    assert_int_equal(result.snapshots, n > 0 ? 1 : 0);
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = latest_of(table);
    if (n > 0)
        assert_int_equal(latest->commit_kind, TL_COMMIT_OVERWRITE);
    return n;
}

/* Ten rows in three commits: k = 0…9, p = 'x' for even ones. */
static tl_table *ten_rows(lake *l, const char *partition, const char *options)
{
    create(l, "t", APPEND, NULL, partition, options);
    tl_table *table = open_with(l, "t", "write-only=true");
    put(table, "{'p':'x','k':0,'v':'a'}\n{'p':'y','k':1}\n{'p':'x','k':2,'v':'c'}\n{'p':'y','k':3,'v':'d'}");
    put(table, "{'p':'x','k':4,'v':'e'}\n{'p':'y','k':5,'v':'f'}\n{'p':'x','k':6}");
    put(table, "{'p':'y','k':7,'v':'h'}\n{'p':'x','k':8,'v':'i'}\n{'p':'y','k':9,'v':'j'}");
    tl_table_free(table);
    return open_table(l, "t");
}

static const struct {
    const char *partition, *options;
} tables[] = {
    {NULL, NULL},
    {"p", "file.format=avro"},
    {"p", "file.format=orc,target-file-size=1 b"},
    {NULL, "bucket=1,bucket-key=k"},
    {"p", "bucket=2,bucket-key=k,file-index.bloom-filter.columns=k,file-index.in-manifest-threshold=1 b"},
    {NULL, "row-tracking.enabled=true"},
};

static void deleted_rows_are_gone_and_snapshots_keep_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < TL_ARRAY_LEN(tables); i++) {
        lake l = memory_lake();
        tl_table *table = ten_rows(&l, tables[i].partition, tables[i].options);
        assert_int_equal(delete_where(table, "[\"in\",\"k\",[0,3,7]]"), 3);
        assert_int_equal(delete_where(table, "[\"in\",\"k\",[0,3,7]]"), 0);
        assert_int_equal(delete_where(table, "[\"isNull\",\"v\"]"), 2);
        assert_rows(&l, "t", NULL,
                    "{'p':'x','k':2,'v':'c'}\n{'p':'x','k':4,'v':'e'}\n{'p':'x','k':8,'v':'i'}\n{'p':'y','k':5,'v':'f'}\n{'p':'y','k':9,'v':'j'}");
        assert_sound(table);
        assert_int_equal(delete_where(table, "[\"=\",\"p\",\"x\"]"), 3);
        assert_rows(&l, "t", NULL, "{'p':'y','k':5,'v':'f'}\n{'p':'y','k':9,'v':'j'}");
        assert_rows(&l, "t", "scan.snapshot-id=4",
                    "{'p':'x','k':2,'v':'c'}\n{'p':'x','k':4,'v':'e'}\n{'p':'x','k':6,'v':null}\n{'p':'x','k':8,'v':'i'}\n"
                    "{'p':'y','k':1,'v':null}\n{'p':'y','k':5,'v':'f'}\n{'p':'y','k':9,'v':'j'}");
        assert_int_equal(delete_where(table, NULL), 2);
        assert_rows(&l, "t", NULL, "");
        assert_sound(table);
        tl_table_free(table);
        close_lake(&l);
    }
}

static void files_without_such_rows_stay(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_table *table = ten_rows(&l, "p", NULL);
    assert_int_equal(files_with(l.fs, "/data-"), 6);
    assert_int_equal(delete_where(table, "[\"=\",\"k\",4]"), 1); /* of a file with 6 */
    assert_int_equal(files_with(l.fs, "/data-"), 7);
    assert_int_equal(delete_where(table, "[\"in\",\"k\",[6,8]]"), 2); /* all rows of their files */
    assert_int_equal(delete_where(table, "[\"=\",\"p\",\"y\"]"), 5);
    assert_int_equal(files_with(l.fs, "/data-"), 7);
    assert_int_equal(delete_where(table, "[\">\",\"k\",0]"), 1);
    assert_int_equal(files_with(l.fs, "/data-"), 8);
    assert_rows(&l, "t", NULL, "{'p':'x','k':0,'v':'a'}");
    tl_table_free(table);
    close_lake(&l);
}

static void assert_scanned(lake *l, const char *want)
{
    tl_table *table = open_table(l, "t");
    tl_scan_spec spec = {.limit = -1};
    tl_reader *reader = NULL;
    tl_error err;
    tl_buf text = {0};
    assert_ok(tl_table_read(table, &spec, &reader, &err), &err);
    assert_ok(drain(reader, false, &text, &err), &err);
    assert_int_equal(tl_buf_append_byte(&text, 0), TL_OK);
    char *lines = quoted(want);
    assert_string_equal((const char *)text.data, lines);
    free(lines);
    tl_buf_deinit(&text);
    tl_reader_free(reader);
    tl_table_free(table);
}

/* Rows of a bucket keep their order: files between those that are written again part them. */
static void rows_of_a_bucket_stay_in_order(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL", NULL, NULL, "bucket=1,bucket-key=k");
    tl_table *table = open_with(&l, "t", "write-only=true");
    put(table, "{'k':9}\n{'k':1}\n{'k':8}");
    put(table, "{'k':2}\n{'k':7}");
    put(table, "{'k':3}\n{'k':6}\n{'k':4}");
    put(table, "{'k':5}\n{'k':0}");
    assert_int_equal(delete_where(table, "[\"in\",\"k\",[1,4,0]]"), 3);
    assert_scanned(&l, "{'k':9}\n{'k':8}\n{'k':2}\n{'k':7}\n{'k':3}\n{'k':6}\n{'k':5}\n");
    assert_int_equal(files_with(l.fs, "/data-"), 6); /* the last two became one */
    assert_sound(table);
    tl_table_free(table);
    close_lake(&l);
}

/* ---- races ---- */

typedef struct race {
    lake *l;
    const char *where; /* NULL: compact; "": add a row */
} race;

static tl_status others_were_faster(void *ctx, tl_commit_messages *out, tl_error *err)
{
    race *r = ctx;
    tl_table *table = open_table(r->l, "t");
    *out = (tl_commit_messages){0};
    if (r->where == NULL)
        assert_ok(tl_table_compact(table, NULL, /* full= */ true, NULL, NULL, err), err);
    else if (*r->where == '\0')
        put(table, "{'p':'x','k':4,'v':'new'}");
    else
        (void)delete_where(table, r->where);
    tl_table_free(table);
    return TL_OK;
}

static tl_status delete_beside(lake *l, const char *mine, const char *theirs)
{
    tl_error err;
    tl_table *table = open_table(l, "t");
    race r = {l, theirs};
    tl_status status = try_delete(table, mine, &r, others_were_faster, NULL, NULL, &err);
    assert_true(status == TL_OK || !err.retryable);
    assert_sound(table);
    tl_table_free(table);
    return status;
}

static void whoever_rewrites_beside_others_loses_no_change(void **state)
{
    (void)state;
    for (size_t i = 0; i < TL_ARRAY_LEN(tables); i++) {
        if (tables[i].options != NULL && strstr(tables[i].options, "bucket=2") != NULL)
            continue; /* the rows lie in different buckets */
        lake l = memory_lake();
        tl_table_free(ten_rows(&l, tables[i].partition, tables[i].options));
        /* Rows of one file, then a file that the other one compacts away; rows that come meanwhile stay. */
        assert_int_equal(delete_beside(&l, "[\"=\",\"k\",0]", "[\"=\",\"k\",2]"), TL_E_CONFLICT);
        assert_int_equal(delete_beside(&l, "[\"=\",\"k\",6]", NULL), TL_E_CONFLICT);
        assert_int_equal(delete_beside(&l, "[\"in\",\"k\",[0,4]]", ""), TL_OK);
        assert_rows(&l, "t", NULL,
                    "{'p':'x','k':4,'v':'new'}\n{'p':'x','k':6,'v':null}\n{'p':'x','k':8,'v':'i'}\n"
                    "{'p':'y','k':1,'v':null}\n{'p':'y','k':3,'v':'d'}\n{'p':'y','k':5,'v':'f'}\n{'p':'y','k':7,'v':'h'}\n{'p':'y','k':9,'v':'j'}");
        close_lake(&l);
    }
}

static void what_a_loser_wrote_is_removed(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_table_free(ten_rows(&l, NULL, NULL));
    assert_int_equal(files_with(l.fs, "/data-"), 3);
    assert_int_equal(delete_beside(&l, "[\"in\",\"k\",[0,4,7]]", "[\"in\",\"k\",[0,1,2]]"), TL_E_CONFLICT);
    assert_int_equal(files_with(l.fs, "/data-"), 4); /* the winner's */
    close_lake(&l);
}

/* ---- other tables ---- */

static void files_of_older_schemas_get_the_new_one(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    tl_table *old = ten_rows(&l, NULL, NULL);
    TL_CLEANUP(tl_type_unrefp) const tl_type *type = NULL;
    assert_ok(tl_type_parse((tl_bytes_view){(const uint8_t *)"INT", 3}, &type, &err), &err);
    tl_alter add = {.kind = TL_ALTER_ADD_COLUMN, .name = "n", .type = type};
    assert_ok(tl_table_alter(l.catalog, "d", "t", &add, 1, &err), &err);
    tl_table *table = open_table(&l, "t");
    put(table, "{'p':'z','k':50,'n':5}\n{'p':'z','k':51,'n':5}");
    /* Who does not know the column would lose it. */
    assert_int_equal(try_delete(old, "[\"=\",\"k\",50]", NULL, NULL, NULL, NULL, &err), TL_E_CONFLICT);
    assert_int_equal(delete_where(table, "[\"and\",[\">\",\"k\",0],[\"notIn\",\"k\",[3,51]]]"), 9);
    assert_rows(&l, "t", NULL, "{'p':'x','k':0,'v':'a','n':null}\n{'p':'y','k':3,'v':'d','n':null}\n{'p':'z','k':51,'v':null,'n':5}");
    assert_sound(table);
    tl_table_free(old);
    tl_table_free(table);
    close_lake(&l);
}

static void rows_keep_ids_and_numbers(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT", NULL, NULL, "row-tracking.enabled=true");
    tl_table *table = open_table(&l, "t");
    put(table, "{'k':1}\n{'k':2}\n{'k':3}");
    put(table, "{'k':4}\n{'k':5}");
    assert_int_equal(delete_where(table, "[\"in\",\"k\",[2,4]]"), 2);
    put(table, "{'k':6}");
    tl_table *tracked = open_table(&l, "t$row_tracking");
    char *got = read_where(tracked, NULL);
    assert_lines(got, "{'k':1,'_ROW_ID':0,'_SEQUENCE_NUMBER':1}\n{'k':3,'_ROW_ID':2,'_SEQUENCE_NUMBER':1}\n{'k':5,'_ROW_ID':4,'_SEQUENCE_NUMBER':2}\n"
                      "{'k':6,'_ROW_ID':5,'_SEQUENCE_NUMBER':4}");
    free(got);
    tl_table_free(tracked);
    tl_table_free(table);
    close_lake(&l);
}

static void rows_that_hang_together_are_not_deleted(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", "k INT", NULL, NULL, "row-tracking.enabled=true,data-evolution.enabled=true");
    create(&l, "keyed", "k INT NOT NULL", "k", NULL, "bucket=1");
    tl_table *table = open_table(&l, "t"), *keyed = open_table(&l, "keyed");
    put(table, "{'k':1}");
    assert_int_equal(try_delete(table, NULL, NULL, NULL, NULL, NULL, &err), TL_E_UNSUPPORTED);
    assert_int_equal(try_delete(keyed, NULL, NULL, NULL, NULL, NULL, &err), TL_E_INVALID);
    tl_table_free(table);
    tl_table_free(keyed);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deleted_rows_are_gone_and_snapshots_keep_them),
        cmocka_unit_test(files_without_such_rows_stay),
        cmocka_unit_test(rows_of_a_bucket_stay_in_order),
        cmocka_unit_test(whoever_rewrites_beside_others_loses_no_change),
        cmocka_unit_test(what_a_loser_wrote_is_removed),
        cmocka_unit_test(files_of_older_schemas_get_the_new_one),
        cmocka_unit_test(rows_keep_ids_and_numbers),
        cmocka_unit_test(rows_that_hang_together_are_not_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
