/* Chain tables: partitions put together from an anchor in the snapshot branch and what the delta branch has since. */
#include "table_support.h"

#include "table/chain.h"

#define COLUMNS "dt STRING NOT NULL, k INT NOT NULL, s INT, v STRING"
#define CHAIN "chain-table.enabled=true,bucket=1,sequence.field=s,partition.timestamp-pattern=$dt,partition.timestamp-formatter=yyyyMMdd"

static void set_option(lake *l, const char *table, const char *key, const char *value)
{
    tl_alter change = {.kind = TL_ALTER_SET_OPTION, .name = key, .value = value};
    tl_error err;
    assert_ok(tl_table_alter(l->catalog, "d", table, &change, 1, &err), &err);
}

static void name_branches(lake *l)
{
    static const char *const tables[] = {"t", "t$branch_snap", "t$branch_delta"};
    for (size_t i = 0; i < TL_ARRAY_LEN(tables); i++) {
        set_option(l, tables[i], "scan.fallback-snapshot-branch", "snap");
        set_option(l, tables[i], "scan.fallback-delta-branch", "delta");
    }
}

static void make_branches(lake *l)
{
    static const char *const branches[] = {"snap", "delta"};
    tl_error err;
    for (size_t i = 0; i < TL_ARRAY_LEN(branches); i++) {
        tl_table *table = open_table(l, "t");
        assert_ok(tl_table_create_branch(table, branches[i], NULL, &err), &err);
        tl_table_free(table);
    }
}

static void put_into(lake *l, const char *name, const char *lines)
{
    tl_table *table = open_table(l, name);
    put(table, lines);
    tl_table_free(table);
}

static lake chain_lake(const char *columns, const char *keys, const char *partition, const char *options)
{
    lake l = memory_lake();
    create(&l, "t", columns, keys, partition, options);
    make_branches(&l);
    name_branches(&l);
    return l;
}

/* An anchor on the 10th, deltas before it, on it, behind it, behind a gap. */
static lake days(void)
{
    lake l = chain_lake(COLUMNS, "dt,k", "dt", CHAIN);
    put_into(&l, "t$branch_snap", "{'dt':'20250810','k':1,'s':1,'v':'a'}\n{'dt':'20250810','k':2,'s':1,'v':'a'}\n{'dt':'20250810','k':3,'s':9,'v':'a'}");
    put_into(&l, "t$branch_delta",
             "{'dt':'20250809','k':9,'s':1,'v':'early'}\n{'dt':'20250810','k':1,'s':9,'v':'hidden'}\n{'dt':'20250811','k':2,'s':2,'v':'b'}\n"
             "{'dt':'20250811','k':3,'s':2,'v':'late'}\n{'dt':'20250813','k':4,'s':3,'v':'c'}\n{'dt':'20250813','k':1,'s':4,'v':'x','_kind':'-D'}");
    return l;
}

static void assert_where(lake *l, const char *name, const char *where, const char *want)
{
    tl_table *table = open_table(l, name);
    char *got = read_where(table, where);
    assert_lines(got, want);
    free(got);
    tl_table_free(table);
}

#define DAY_9 "{'dt':'20250809','k':9,'s':1,'v':'early'}\n"
#define DAY_10 "{'dt':'20250810','k':1,'s':1,'v':'a'}\n{'dt':'20250810','k':2,'s':1,'v':'a'}\n{'dt':'20250810','k':3,'s':9,'v':'a'}\n"
#define DAY_11 "{'dt':'20250811','k':1,'s':1,'v':'a'}\n{'dt':'20250811','k':2,'s':2,'v':'b'}\n{'dt':'20250811','k':3,'s':9,'v':'a'}\n"
#define DAY_13 "{'dt':'20250813','k':2,'s':2,'v':'b'}\n{'dt':'20250813','k':3,'s':9,'v':'a'}\n{'dt':'20250813','k':4,'s':3,'v':'c'}\n"

static void a_partition_is_its_anchor_and_the_deltas_since(void **state)
{
    (void)state;
    lake l = days();
    assert_rows(&l, "t", NULL, DAY_9 DAY_10 DAY_11 DAY_13);
    assert_where(&l, "t", "[\"=\",\"dt\",\"20250811\"]", DAY_11);
    assert_where(&l, "t", "[\"=\",\"dt\",\"20250812\"]", ""); /* no branch has it */
    assert_rows(&l, "t$branch_snap", NULL, DAY_10);
    put_into(&l, "t$branch_snap", "{'dt':'20250812','k':8,'s':1,'v':'later anchor'}\n{'dt':'20250814','k':8,'s':1,'v':'too late'}");
    assert_where(&l, "t", "[\"=\",\"dt\",\"20250811\"]", DAY_11);
    assert_where(&l, "t", "[\"=\",\"dt\",\"20250813\"]", "{'dt':'20250813','k':4,'s':3,'v':'c'}\n{'dt':'20250813','k':8,'s':1,'v':'later anchor'}");
    close_lake(&l);
    l = days();
    put_into(&l, "t", "{'dt':'20250811','k':7,'s':1,'v':'own'}"); /* what the table itself has comes first */
    assert_rows(&l, "t", NULL, DAY_9 DAY_10 "{'dt':'20250811','k':7,'s':1,'v':'own'}\n" DAY_13);
    close_lake(&l);
}

/* A newer row that fails a filter hides an older one that passes, whatever partition it is of. */
static void filters_see_the_merged_rows(void **state)
{
    (void)state;
    lake l = days();
    assert_where(&l, "t", "[\"and\",[\"=\",\"v\",\"a\"],[\">\",\"dt\",\"20250810\"]]",
                 "{'dt':'20250811','k':1,'s':1,'v':'a'}\n{'dt':'20250811','k':3,'s':9,'v':'a'}\n{'dt':'20250813','k':3,'s':9,'v':'a'}");
    assert_where(&l, "t", "[\"=\",\"k\",2]",
                 "{'dt':'20250810','k':2,'s':1,'v':'a'}\n{'dt':'20250811','k':2,'s':2,'v':'b'}\n{'dt':'20250813','k':2,'s':2,'v':'b'}");
    assert_where(&l, "t$audit_log", "[\"and\",[\"=\",\"k\",1],[\"=\",\"dt\",\"20250813\"]]",
                 "{'rowkind':'-D','dt':'20250813','k':1,'s':4,'v':'x'}");
    assert_where(&l, "t$ro", NULL, "");
    tl_table *table = open_table(&l, "t"); /* counted without reading columns */
    tl_scan_spec spec = {.columns = (int32_t[]){0}, .n_columns = 0, .limit = -1};
    tl_reader *reader = NULL;
    tl_error err;
    int64_t n = 0;
    assert_ok(tl_table_read(table, &spec, &reader, &err), &err);
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        assert_ok(tl_reader_next(reader, &batch, &err), &err);
        if (batch == NULL)
            break;
        n += batch->n_rows;
    }
    assert_int_equal(n, 10);
    tl_reader_free(reader);
    tl_table_free(table);
    close_lake(&l);
}

/* Deltas count by the days or hours between: one whose name no step of the time leads to is left out, as in the reference. */
static void time_leads_from_the_anchor(void **state)
{
    (void)state;
    lake l = chain_lake("dt STRING NOT NULL, h INT NOT NULL, k INT NOT NULL, s INT", "dt,h,k", "dt,h",
                        "chain-table.enabled=true,bucket=1,sequence.field=s,partition.timestamp-pattern=$dt $h:00:00,"
                        "partition.timestamp-formatter=yyyyMMdd H:mm:ss");
    put_into(&l, "t$branch_snap", "{'dt':'20250810','h':22,'k':1,'s':1}");
    put_into(&l, "t$branch_delta", "{'dt':'20250810','h':23,'k':2,'s':1}\n{'dt':'20250811','h':0,'k':3,'s':1}\n{'dt':'20250810','h':2,'k':4,'s':1}");
    assert_rows(&l, "t", NULL,
                "{'dt':'20250810','h':22,'k':1,'s':1}\n{'dt':'20250810','h':23,'k':1,'s':1}\n{'dt':'20250810','h':23,'k':2,'s':1}\n"
                "{'dt':'20250811','h':0,'k':1,'s':1}\n{'dt':'20250811','h':0,'k':2,'s':1}\n{'dt':'20250811','h':0,'k':3,'s':1}\n"
                "{'dt':'20250810','h':2,'k':4,'s':1}");
    close_lake(&l);
    l = days();
    put_into(&l, "t$branch_delta", "{'dt':'soon','k':1,'s':1,'v':'x'}");
    assert_where(&l, "t", "[\"=\",\"dt\",\"20250811\"]", DAY_11);
    tl_table *table = open_table(&l, "t");
    char *rows = NULL;
    tl_error err;
    assert_fails(try_read(table, NULL, false, NULL, &rows, &err), TL_E_INVALID, &err, "dt=soon");
    tl_table_free(table);
    close_lake(&l);
}

/* Digits run together: where the hour begins cannot be told, and nothing is read that might be wrong. */
static void a_pattern_must_tell_where_values_end(void **state)
{
    (void)state;
    lake l = chain_lake("dt STRING NOT NULL, h INT NOT NULL, k INT NOT NULL, s INT", "dt,h,k", "dt,h",
                        "chain-table.enabled=true,bucket=1,sequence.field=s,partition.timestamp-pattern=$dt$h,partition.timestamp-formatter=yyyy-MM-ddH");
    tl_error err;
    char *rows = NULL;
    put_into(&l, "t$branch_snap", "{'dt':'2025-08-10','h':10,'k':1,'s':1}");
    put_into(&l, "t$branch_delta", "{'dt':'2025-08-10','h':13,'k':2,'s':1}");
    tl_table *table = open_table(&l, "t");
    assert_fails(try_read(table, NULL, false, NULL, &rows, &err), TL_E_INVALID, &err, "h=13");
    tl_table_free(table);
    close_lake(&l);
}

static void groups_have_chains_of_their_own(void **state)
{
    (void)state;
    lake l = chain_lake("r STRING, dt STRING, k INT NOT NULL, s INT", "r,dt,k", "r,dt", CHAIN ",chain-table.chain-partition-keys=dt");
    put_into(&l, "t$branch_snap", "{'r':'a','dt':'20250810','k':1,'s':1}\n{'r':'b','dt':'20250811','k':1,'s':1}");
    put_into(&l, "t$branch_delta", "{'r':'a','dt':'20250811','k':2,'s':1}\n{'r':'b','dt':'20250810','k':2,'s':1}\n{'r':'c','dt':'20250812','k':3,'s':1}");
    assert_rows(&l, "t", NULL,
                "{'r':'a','dt':'20250810','k':1,'s':1}\n{'r':'b','dt':'20250811','k':1,'s':1}\n{'r':'a','dt':'20250811','k':1,'s':1}\n"
                "{'r':'a','dt':'20250811','k':2,'s':1}\n{'r':'b','dt':'20250810','k':2,'s':1}\n{'r':'c','dt':'20250812','k':3,'s':1}");
    close_lake(&l);
}

/* The branches' schemas have the same columns under other numbers and ids. */
static void files_have_the_schema_of_their_branch(void **state)
{
    (void)state;
    lake l = days();
    tl_error err;
    static const char *const added[][3] = {{"t$branch_snap", "x", "y"}, {"t$branch_delta", "x", "y"}, {"t", "x", "y"}};
    TL_CLEANUP(tl_type_unrefp) const tl_type *type = test_type("INT");
    set_option(&l, "t$branch_snap", "snapshot.num-retained.max", "50");
    for (size_t i = 0; i < TL_ARRAY_LEN(added); i++) {
        for (int c = 1; c < 3; c++) {
            tl_alter change = {.kind = TL_ALTER_ADD_COLUMN, .name = added[i][c], .type = type};
            assert_ok(tl_table_alter(l.catalog, "d", added[i][0], &change, 1, &err), &err);
        }
    }
    put_into(&l, "t$branch_snap", "{'dt':'20250811','k':1,'s':1,'v':'new','x':1,'y':2}");
    put_into(&l, "t$branch_delta", "{'dt':'20250812','k':2,'s':1,'v':'new','x':3,'y':4}");
    assert_where(&l, "t", "[\"=\",\"dt\",\"20250812\"]",
                 "{'dt':'20250812','k':1,'s':1,'v':'new','x':1,'y':2}\n{'dt':'20250812','k':2,'s':1,'v':'new','x':3,'y':4}");
    assert_where(&l, "t", "[\"=\",\"dt\",\"20250810\"]",
                 "{'dt':'20250810','k':1,'s':1,'v':'a','x':null,'y':null}\n{'dt':'20250810','k':2,'s':1,'v':'a','x':null,'y':null}\n"
                 "{'dt':'20250810','k':3,'s':9,'v':'a','x':null,'y':null}");
    close_lake(&l);
}

static tl_status drop(lake *l, const char *name, const char *day, tl_error *err)
{
    tl_table *table = open_table(l, name);
    tl_options spec = {0};
    assert_int_equal(tl_options_set(&spec, "dt", day), TL_OK);
    tl_status status = tl_table_drop_partitions(table, &spec, 1, err);
    tl_options_deinit(&spec);
    tl_table_free(table);
    return status;
}

static tl_status overwrite_with(lake *l, const char *name, const char *lines, tl_error *err)
{
    tl_table *table = open_table(l, name);
    tl_commit_messages messages = {0};
    tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
    spec.overwrite = true;
    assert_ok(prepare_lines(table, lines, false, /* ignore_previous= */ true, &messages, err), err);
    tl_status status = tl_table_commit(table, &spec, &messages, NULL, err);
    tl_commit_messages_deinit(&messages);
    tl_table_free(table);
    return status;
}

/* What other partitions are read from stays; what the delta branch overwrites leaves the snapshot branch. */
static void commits_heed_the_chain(void **state)
{
    (void)state;
    lake l = days();
    tl_error err;
    assert_fails(drop(&l, "t$branch_snap", "20250810", &err), TL_E_CONFLICT, &err, "cannot be dropped");
    assert_fails(overwrite_with(&l, "t$branch_delta", "{'dt':'20250810','k':8,'s':1,'v':'o'}", &err), TL_E_CONFLICT, &err, "cannot be dropped");
    assert_rows(&l, "t", NULL, DAY_9 DAY_10 DAY_11 DAY_13);
    put_into(&l, "t$branch_snap", "{'dt':'20250813','k':5,'s':1,'v':'new anchor'}");
    assert_ok(overwrite_with(&l, "t$branch_delta", "{'dt':'20250813','k':8,'s':1,'v':'o'}", &err), &err);
    assert_rows(&l, "t$branch_snap", NULL, DAY_10);
    assert_where(&l, "t", "[\"=\",\"dt\",\"20250813\"]",
                 "{'dt':'20250813','k':1,'s':1,'v':'a'}\n{'dt':'20250813','k':2,'s':2,'v':'b'}\n{'dt':'20250813','k':3,'s':9,'v':'a'}\n"
                 "{'dt':'20250813','k':8,'s':1,'v':'o'}");
    put_into(&l, "t$branch_snap", "{'dt':'20250809','k':5,'s':1,'v':'older anchor'}");
    assert_ok(drop(&l, "t$branch_snap", "20250810", &err), &err); /* now an earlier one takes its place */
    assert_where(&l, "t", "[\"=\",\"dt\",\"20250810\"]", "{'dt':'20250810','k':1,'s':9,'v':'hidden'}\n{'dt':'20250810','k':5,'s':1,'v':'older anchor'}");
    close_lake(&l);
}

/* A delete takes away what another partition has: no compaction drops it. */
static void compactions_keep_deletes(void **state)
{
    (void)state;
    lake l = days();
    tl_error err;
    tl_table *table = open_table(&l, "t$branch_delta");
    tl_commit_result result = {0};
    assert_ok(tl_table_compact(table, NULL, /* full= */ true, NULL, &result, &err), &err);
    assert_int_equal(result.snapshots, 1);
    tl_table_free(table);
    assert_rows(&l, "t", NULL, DAY_9 DAY_10 DAY_11 DAY_13);
    table = open_table(&l, "t$branch_delta");
    tl_fsck_report report = {0};
    assert_ok(tl_table_fsck(table, true, &report, &err), &err);
    assert_int_equal(report.n_problems, 0);
    tl_fsck_report_deinit(&report);
    tl_table_free(table);
    close_lake(&l);
}

/* A split of a chain in the reference's own form, there and back; every shorter text of it is refused. */
static void splits_can_be_sent(void **state)
{
    (void)state;
    lake l = days();
    tl_table *table = open_table(&l, "t");
    tl_scan_spec spec = {.limit = -1};
    tl_splits splits = {0};
    tl_error err;
    tl_buf rows = {0};
    assert_ok(tl_table_plan(table, &spec, &splits, &err), &err);
    assert_int_equal(splits.n, 4);
    for (size_t i = 0; i < splits.n; i++) {
        tl_buf bytes = {0};
        tl_split none = {0};
        tl_splits one = {.n = 1, .items = tl_calloc(1, sizeof *one.items)};
        tl_reader *reader = NULL;
        assert_ok(tl_split_serialize(&splits.items[i], "unused", &bytes, &err), &err);
        for (size_t len = 0; len < bytes.len; len++)
            assert_int_not_equal(tl_split_deserialize((tl_bytes_view){bytes.data, len}, &none, &err), TL_OK);
        assert_ok(tl_split_deserialize((tl_bytes_view){bytes.data, bytes.len}, &one.items[0], &err), &err);
        assert_ok(tl_table_read_split(table, &one.items[0], &spec, &reader, &err), &err);
        assert_ok(drain(reader, false, &rows, &err), &err);
        tl_reader_free(reader);
        tl_free(one.items[0].places[0].branch); /* of no branch of the table */
        one.items[0].places[0].branch = tl_strdup("nowhere");
        assert_fails(tl_table_read_split(table, &one.items[0], &spec, &reader, &err), TL_E_CORRUPT, &err, "nowhere");
        tl_splits_deinit(&one);
        tl_buf_deinit(&bytes);
    }
    assert_int_equal(tl_buf_append_byte(&rows, 0), TL_OK);
    char *sorted = sort_lines((char *)rows.data);
    assert_lines(sorted, DAY_9 DAY_10 DAY_11 DAY_13);
    free(sorted);
    tl_buf_deinit(&rows);
    tl_table *plain = open_table(&l, "t$branch_delta");
    tl_reader *reader = NULL;
    assert_fails(tl_table_read_split(plain, &splits.items[0], &spec, &reader, &err), TL_E_INVALID, &err, "read from a chain table");
    tl_table_free(plain);
    tl_splits_deinit(&splits);
    tl_table_free(table);
    close_lake(&l);
}

static void what_is_not_complete_is_told(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    tl_commit_messages messages = {0};
    char *rows = NULL;
    create(&l, "t", COLUMNS, "dt,k", "dt", CHAIN);
    assert_rows(&l, "t", NULL, ""); /* its own rows alone */
    tl_table *table = open_table(&l, "t");
    assert_fails(prepare_lines(table, "{'dt':'20250810','k':1,'s':1,'v':'a'}", false, false, &messages, &err), TL_E_INVALID, &err,
                 "scan.fallback-snapshot-branch");
    tl_table_free(table);
    set_option(&l, "t", "scan.fallback-snapshot-branch", "snap");
    set_option(&l, "t", "scan.fallback-delta-branch", "delta");
    table = open_table(&l, "t");
    assert_fails(try_read(table, NULL, false, NULL, &rows, &err), TL_E_NOT_FOUND, &err, "'snap' does not exist");
    tl_table_free(table);
    make_branches(&l); /* which can be done all the same */
    name_branches(&l);
    assert_rows(&l, "t", NULL, "");
    close_lake(&l);
}

static void options_are_checked(void **state)
{
    (void)state;
    lake l = memory_lake();
    static const struct {
        const char *keys, *partition, *options, *message;
    } wrong[] = {
        {NULL, "dt", CHAIN ",bucket-key=k", "Primary key is required"},
        {"dt,k", NULL, CHAIN, "must be partition table"},
        {"dt,k", "dt", CHAIN ",bucket=-1", "Bucket number must be greater than 0"},
        {"dt,k", "dt", CHAIN ",changelog-producer=lookup", "Changelog producer must be none or input"},
        {"dt,k", "dt", CHAIN ",deletion-vectors.enabled=true", "deletion vector"},
        {"dt,k", "dt", "chain-table.enabled=true,bucket=1,partition.timestamp-formatter=yyyyMMdd", "timestamp pattern is required"},
        {"dt,k", "dt", "chain-table.enabled=true,bucket=1,partition.timestamp-pattern=$dt", "timestamp formatter is required"},
        {"dt,k", "dt", CHAIN ",chain-table.chain-partition-keys=k", "contiguous suffix"},
        {"dt,k,v", "dt,k", CHAIN ",chain-table.chain-partition-keys=dt", "contiguous suffix"},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++) {
        tl_error err;
        char name[16];
        snprintf(name, sizeof name, "w%zu", i);
        assert_fails(try_create(&l, name, COLUMNS, wrong[i].keys, wrong[i].partition, wrong[i].options, &err), TL_E_INVALID, &err, wrong[i].message);
    }
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_partition_is_its_anchor_and_the_deltas_since),
        cmocka_unit_test(filters_see_the_merged_rows),
        cmocka_unit_test(time_leads_from_the_anchor),
        cmocka_unit_test(a_pattern_must_tell_where_values_end),
        cmocka_unit_test(groups_have_chains_of_their_own),
        cmocka_unit_test(files_have_the_schema_of_their_branch),
        cmocka_unit_test(commits_heed_the_chain),
        cmocka_unit_test(compactions_keep_deletes),
        cmocka_unit_test(splits_can_be_sent),
        cmocka_unit_test(what_is_not_complete_is_told),
        cmocka_unit_test(options_are_checked),
    };
    return cmocka_run_group_tests_name("chain", tests, NULL, NULL);
}
