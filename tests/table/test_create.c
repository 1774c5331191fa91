/* Creating and altering tables: what is refused and why, what is put right, the schema that is published. */
#include "table_support.h"

typedef struct refusal {
    const char *columns, *keys, *partition, *options;
    const char *reason;
} refusal;

#define KV "k INT, v STRING"

static const refusal refusals[] = {
    /* names and keys */
    {"a INT, a INT", NULL, NULL, NULL, "must not contain duplicate fields"},
    {KV, "nope", NULL, NULL, "nope"},
    {KV, "k,k", NULL, NULL, "k"},
    {KV, NULL, "nope", NULL, "nope"},
    {KV, "k", "k", NULL, "should not be same with partition fields"},
    {"_KEY_k INT, v STRING", NULL, NULL, NULL, "cannot start with [_KEY_]"},
    {"_SEQUENCE_NUMBER INT", NULL, NULL, NULL, "cannot be exist in"},
    {"k ARRAY<INT>, v STRING", "k", NULL, NULL, "type ArrayType in primary key field k is unsupported"},
    {"p MAP<INT;INT>, v STRING", NULL, "p", NULL, "type MapType in partition field p is unsupported"},
    /* buckets */
    {KV, "k", NULL, "bucket=0", "number of buckets needs to be greater than 0"},
    {KV, "k", NULL, "bucket=-3", "number of buckets needs to be greater than 0"},
    {KV, NULL, NULL, "bucket=2", "should define a 'bucket-key' for bucketed append mode"},
    {KV, "k", NULL, "bucket=1,bucket-key=v", "Primary keys [k] should contains all bucket keys [v]"},
    {KV, NULL, NULL, "bucket=1,bucket-key=nope", "should contains all bucket keys"},
    {KV, NULL, NULL, "bucket=-1,bucket-key=k", "Cannot define 'bucket-key' with bucket = -1"},
    {"p INT, k INT, v INT", NULL, "p", "bucket=1,bucket-key=p", "should not in partition keys"},
    /* merge engines and changelogs */
    {KV, NULL, NULL, "changelog-producer=input", "Can not set changelog-producer on table without primary keys"},
    {KV, "k", NULL, "merge-engine=first-row,changelog-producer=input", "changelog-producer on FIRST_ROW merge engine"},
    {KV, "k", NULL, "merge-engine=first-row,sequence.field=v", "Do not support use sequence field on FIRST_ROW"},
    {KV, "k", NULL, "sequence.field=nope", "Sequence field: 'nope' can not be found in table schema"},
    {KV, "k", NULL, "sequence.field=v;v", "Sequence field 'v' is defined repeatedly"},
    {KV, "k", NULL, "rowkind.field=nope", "Rowkind field: 'nope' can not be found"},
    {KV, "k", NULL, "merge-engine=nope", "Expected one of"},
    {KV, "k", NULL, "merge-engine=partial-update,fields.v.sequence-group=nope", "Field nope can not be found"},
    {"k INT, g INT, h INT, v INT", "k", NULL,
     "merge-engine=partial-update,fields.g.sequence-group=v,fields.h.sequence-group=v", "defined repeatedly by multiple groups"},
    {KV, "k", NULL, "merge-engine=aggregation,fields.v.aggregate-function=median", "'median'"},
    {KV, "k", NULL, "merge-engine=partial-update,ignore-delete=true,partial-update.remove-record-on-delete=true",
     "have conflicting behavior"},
    {KV, "k", NULL, "changelog-producer=lookup,streaming-read-overwrite=true", "streaming-read-overwrite"},
    /* numbers and words */
    {KV, "k", NULL, "snapshot.num-retained.min=0", "should be at least 1"},
    {KV, "k", NULL, "snapshot.num-retained.min=5,snapshot.num-retained.max=4", "should not be larger than"},
    {KV, "k", NULL, "write-buffer-size=lots", "lots"},
    {KV, "k", NULL, "snapshot.time-retained=soon", "soon"},
    {KV, "k", NULL, "write-only=maybe", "maybe"},
    {KV, NULL, NULL, "file.format=nope", "nope"},
    {"t TIMESTAMP(9)", NULL, NULL, "file.format=avro", "Avro does not support"},
    /* features of their own */
    {KV, "k", NULL, "row-tracking.enabled=true", "Cannot define"},
    {KV, NULL, NULL, "data-evolution.enabled=true", "Data evolution config must enabled with row-tracking.enabled"},
    {KV, "k", NULL, "deletion-vectors.enabled=true,merge-engine=first-row", "does not need deletion vectors"},
    {KV, NULL, NULL, "partition.expiration-time=1d", "non-partitioned table"},
};

static void tables_that_the_reference_refuses_are_refused_with_its_reasons(void **state)
{
    (void)state;
    for (size_t i = 0; i < TL_ARRAY_LEN(refusals); i++) {
        const refusal *r = &refusals[i];
        lake l = memory_lake();
        tl_error err;
        char columns[128];
        strcpy(columns, r->columns);
        for (char *c = columns; *c != '\0'; c++)
            *c = *c == ';' ? ',' : *c;
        tl_status status = try_create(&l, "t", columns, r->keys, r->partition, r->options, &err);
        if (status == TL_OK || strstr(err.message, r->reason) == NULL)
            fail_msg("<%s> key %s, partition %s, options %s: got '%s', wanted '%s'", r->columns, r->keys, r->partition, r->options,
                     status == TL_OK ? "no error" : err.message, r->reason);
        assert_int_equal(files_with(l.fs, "/schema-"), 0);
        close_lake(&l);
    }
}

static void keys_become_not_null_and_fields_are_numbered(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "p INT, k INT, r ROW<a INT, b ARRAY<ROW<c INT>>>, v STRING", "p,k", "p", "bucket=1,file.compression=lz4");
    tl_table *table = open_table(&l, "t");
    const tl_table_schema *schema = tl_table_schema_of(table);
    static const int32_t ids[] = {0, 1, 2, 6};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(schema->row_type->fields[i].id, ids[i]);
        assert_int_equal(schema->row_type->fields[i].type->nullable, i >= 2);
    }
    assert_int_equal(schema->highest_field_id, 6);
    assert_int_equal(schema->id, 0);
    assert_string_equal(tl_table_option(table, "file.compression"), "lz4");
    tl_table_free(table);
    close_lake(&l);
}

static void keys_may_come_as_options(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", "p INT, k INT, v STRING", NULL, NULL, "primary-key=p;k,partition=p,bucket=1");
    tl_table *table = open_table(&l, "t");
    const tl_table_schema *schema = tl_table_schema_of(table);
    assert_int_equal(schema->n_primary_keys, 2);
    assert_int_equal(schema->n_partition_keys, 1);
    assert_null(tl_options_get(&schema->options, "primary-key"));
    assert_null(tl_options_get(&schema->options, "partition"));
    tl_table_free(table);
    assert_int_not_equal(try_create(&l, "u", KV, "k", NULL, "primary-key=k", &err), TL_OK);
    close_lake(&l);
}

static void a_name_is_taken_once(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", KV, NULL, NULL, NULL);
    assert_int_equal(try_create(&l, "t", KV, NULL, NULL, NULL, &err), TL_E_EXISTS);
    assert_int_not_equal(try_create(&l, "a$b", KV, NULL, NULL, NULL, &err), TL_OK);
    assert_int_not_equal(try_create(&l, "../x", KV, NULL, NULL, NULL, &err), TL_OK);
    close_lake(&l);
}

/* ---- dynamic options ---- */

static void dynamic_options_lie_over_the_stored_ones_but_not_over_what_never_changes(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_table *table = NULL;
    tl_error err;
    create(&l, "t", KV, "k", NULL, "bucket=1,file.compression=lz4");
    table = open_with(&l, "t", "file.compression=snappy");
    put(table, "{'k':1,'v':'a'}");
    assert_string_equal(tl_table_option(table, "file.compression"), "snappy");
    tl_table_free(table);
    assert_fails(try_open(&l, "t", "merge-engine=aggregation", &table, &err), TL_E_INVALID, &err, "merge-engine");
    assert_int_not_equal(try_open(&l, "t", "scan.snapshot-id=1,scan.tag-name=x", &table, &err), TL_OK);
    assert_int_equal(try_open(&l, "nope", NULL, &table, &err), TL_E_NOT_FOUND);
    assert_int_not_equal(try_open(&l, "t$nope", NULL, &table, &err), TL_OK);
    close_lake(&l);
}

static void features_that_are_not_there_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *columns, *keys, *partition, *options, *feature;
    } cases[] = {
        {KV, "k", NULL, "bucket=1,record-level.expire-time=1 h", "record-level"},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        lake l = memory_lake();
        tl_table *table = NULL;
        tl_commit_messages messages = {0};
        tl_error err = {TL_OK, 0, ""};
        create(&l, "t", cases[i].columns, cases[i].keys, cases[i].partition, cases[i].options);
        tl_status status = try_open(&l, "t", NULL, &table, &err);
        if (status == TL_OK)
            status = prepare_lines(table, "{'p':1,'k':1}", false, false, &messages, &err);
        tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
        tl_commit_result result;
        if (status == TL_OK)
            status = tl_table_commit(table, &spec, &messages, &result, &err);
        if (status != TL_E_UNSUPPORTED || strcasestr(err.message, cases[i].feature) == NULL)
            fail_msg("%s: %s: '%s'", cases[i].options, tl_status_name(status), err.message);
        tl_commit_messages_deinit(&messages);
        tl_table_free(table);
        close_lake(&l);
    }
}

/* ---- alter ---- */

static tl_status alter(lake *l, tl_alter change, tl_error *err)
{
    return tl_table_alter(l->catalog, "d", "t", &change, 1, err);
}

static void options_are_set_and_reset_unless_they_never_change(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", KV, "k", NULL, "bucket=1");
    /* nothing written yet: nearly all can change */
    assert_ok(alter(&l, (tl_alter){.kind = TL_ALTER_SET_OPTION, .name = "merge-engine", .value = "partial-update"}, &err), &err);
    assert_ok(alter(&l, (tl_alter){.kind = TL_ALTER_RESET_OPTION, .name = "merge-engine"}, &err), &err);
    tl_table *table = open_table(&l, "t");
    put(table, "{'k':1,'v':'a'}");
    assert_fails(alter(&l, (tl_alter){.kind = TL_ALTER_SET_OPTION, .name = "merge-engine", .value = "partial-update"}, &err),
                 TL_E_INVALID, &err, "Change 'merge-engine' is not supported yet");
    assert_fails(alter(&l, (tl_alter){.kind = TL_ALTER_SET_OPTION, .name = "primary-key", .value = "v"}, &err), TL_E_INVALID, &err,
                 "Change 'primary-key' is not supported yet");
    assert_fails(alter(&l, (tl_alter){.kind = TL_ALTER_SET_OPTION, .name = "bucket", .value = "-1"}, &err), TL_E_INVALID, &err,
                 "Cannot change bucket to -1");
    assert_fails(alter(&l, (tl_alter){.kind = TL_ALTER_SET_OPTION, .name = "sequence.field", .value = "nope"}, &err), TL_E_INVALID,
                 &err, "nope");
    assert_ok(alter(&l, (tl_alter){.kind = TL_ALTER_SET_OPTION, .name = "write-buffer-size", .value = "1 mb"}, &err), &err);
    assert_ok(alter(&l, (tl_alter){.kind = TL_ALTER_COMMENT, .value = "about"}, &err), &err);
    tl_table_free(table);
    table = open_table(&l, "t");
    assert_int_equal(tl_table_schema_of(table)->id, 4);
    assert_string_equal(tl_table_schema_of(table)->comment, "about");
    assert_string_equal(tl_table_option(table, "write-buffer-size"), "1 mb");
    tl_table_free(table);
    assert_rows(&l, "t", NULL, "{'k':1,'v':'a'}");
    close_lake(&l);
}

static void columns_come_go_move_and_are_renamed_and_old_files_follow(void **state)
{
    (void)state;
    for (int keyed = 0; keyed < 2; keyed++) {
        lake l = memory_lake();
        tl_error err;
        create(&l, "t", "k INT NOT NULL, v STRING, w INT", keyed ? "k" : NULL, NULL, keyed ? "bucket=1" : NULL);
        tl_table *table = open_table(&l, "t");
        put(table, "{'k':1,'v':'a','w':10}");
        tl_table_free(table);
        const tl_type *bigint = test_type("BIGINT");
        tl_alter changes[] = {
            {.kind = TL_ALTER_ADD_COLUMN, .name = "n", .type = bigint, .after = "k"},
            {.kind = TL_ALTER_RENAME_COLUMN, .name = "v", .value = "text"},
            {.kind = TL_ALTER_DROP_COLUMN, .name = "w"},
            {.kind = TL_ALTER_COLUMN_POSITION, .name = "text", .first = true},
        };
        assert_ok(tl_table_alter(l.catalog, "d", "t", changes, TL_ARRAY_LEN(changes), &err), &err);
        assert_rows(&l, "t", NULL, "{'text':'a','k':1,'n':null}");
        table = open_table(&l, "t");
        assert_int_equal(tl_table_schema_of(table)->row_type->fields[2].id, 3);
        put(table, "{'k':2,'text':'b','n':7}");
        tl_table_free(table);
        /* a column of an old name is a new column */
        assert_ok(alter(&l, (tl_alter){.kind = TL_ALTER_ADD_COLUMN, .name = "w", .type = bigint}, &err), &err);
        assert_rows(&l, "t", NULL, "{'text':'a','k':1,'n':null,'w':null}\n{'text':'b','k':2,'n':7,'w':null}");
        assert_rows(&l, "t", "scan.snapshot-id=1", "{'k':1,'v':'a','w':10}"); /* the past has its own schema */
        tl_type_unref(bigint);
        close_lake(&l);
    }
}

static void changes_of_columns_that_the_reference_refuses_are_refused(void **state)
{
    (void)state;
    const tl_type *int_type = test_type("INT"), *not_null = test_type("INT NOT NULL"), *array = test_type("ARRAY<INT>");
    const struct {
        tl_alter change;
        const char *reason;
    } cases[] = {
        {{.kind = TL_ALTER_DROP_COLUMN, .name = "k"}, "Cannot drop partition key or primary key: [k]"},
        {{.kind = TL_ALTER_DROP_COLUMN, .name = "p"}, "Cannot drop partition key or primary key: [p]"},
        {{.kind = TL_ALTER_DROP_COLUMN, .name = "nope"}, "Column nope does not exist"},
        {{.kind = TL_ALTER_RENAME_COLUMN, .name = "p", .value = "q"}, "Cannot rename partition column: [p]"},
        {{.kind = TL_ALTER_RENAME_COLUMN, .name = "v", .value = "n"}, "Column n already exists"},
        {{.kind = TL_ALTER_ADD_COLUMN, .name = "v", .type = int_type}, "Column v already exists"},
        {{.kind = TL_ALTER_ADD_COLUMN, .name = "w", .type = not_null}, "Column w cannot specify NOT NULL"},
        {{.kind = TL_ALTER_COLUMN_TYPE, .name = "p", .type = int_type}, "Cannot update partition column: [p]"},
        {{.kind = TL_ALTER_COLUMN_TYPE, .name = "v", .type = array}, "cannot be converted to"},
        {{.kind = TL_ALTER_COLUMN_NULLABLE, .name = "k", .nullable = true}, "Cannot change nullability of primary key"},
        {{.kind = TL_ALTER_ADD_COLUMN, .name = "w", .type = int_type, .after = "nope"}, "nope"},
    };
    lake l = memory_lake();
    create(&l, "t", "p INT, k INT, v STRING, n INT", "p,k", "p", "bucket=1");
    tl_table *table = open_table(&l, "t");
    put(table, "{'p':1,'k':1}");
    tl_table_free(table);
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        tl_error err = {TL_OK, 0, ""};
        tl_status status = alter(&l, cases[i].change, &err);
        if (status == TL_OK || strstr(err.message, cases[i].reason) == NULL)
            fail_msg("change %zu: got '%s', wanted '%s'", i, status == TL_OK ? "no error" : err.message, cases[i].reason);
    }
    assert_int_equal(files_with(l.fs, "/schema-"), 1);
    tl_type_unref(int_type);
    tl_type_unref(not_null);
    tl_type_unref(array);
    close_lake(&l);
}

static void defaults_are_written_where_nothing_was_given(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", "k INT, n INT, s STRING", NULL, NULL, NULL);
    assert_ok(alter(&l, (tl_alter){.kind = TL_ALTER_COLUMN_DEFAULT, .name = "n", .value = "5"}, &err), &err);
    assert_ok(alter(&l, (tl_alter){.kind = TL_ALTER_COLUMN_DEFAULT, .name = "s", .value = "none"}, &err), &err);
    assert_int_not_equal(alter(&l, (tl_alter){.kind = TL_ALTER_COLUMN_DEFAULT, .name = "n", .value = "five"}, &err), TL_OK);
    tl_table *table = open_table(&l, "t");
    put(table, "{'k':1}\n{'k':2,'n':6,'s':'x'}");
    tl_table_free(table);
    assert_rows(&l, "t", NULL, "{'k':1,'n':5,'s':'none'}\n{'k':2,'n':6,'s':'x'}");
    close_lake(&l);
}

/* ---- the table of options ---- */

static void every_option_is_described_once(void **state)
{
    (void)state;
    size_t n = 0;
    const tl_option_def *all = tl_option_all(&n);
    assert_true(n > 250);
    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(tl_option_find(all[i].key), &all[i]);
        assert_true(strlen(all[i].type) > 0);
        assert_true(strlen(all[i].description) > 0);
        assert_true(strlen(all[i].description) < 200);
        for (size_t j = i + 1; j < n; j++)
            assert_string_not_equal(all[i].key, all[j].key);
    }
    assert_string_equal(tl_option_find("write-buffer-size")->default_value, "192 mb");
    assert_true(tl_option_find("merge-engine")->immutable);
    assert_null(tl_option_find("nope"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_that_the_reference_refuses_are_refused_with_its_reasons),
        cmocka_unit_test(keys_become_not_null_and_fields_are_numbered),
        cmocka_unit_test(keys_may_come_as_options),
        cmocka_unit_test(a_name_is_taken_once),
        cmocka_unit_test(dynamic_options_lie_over_the_stored_ones_but_not_over_what_never_changes),
        cmocka_unit_test(features_that_are_not_there_are_named),
        cmocka_unit_test(options_are_set_and_reset_unless_they_never_change),
        cmocka_unit_test(columns_come_go_move_and_are_renamed_and_old_files_follow),
        cmocka_unit_test(changes_of_columns_that_the_reference_refuses_are_refused),
        cmocka_unit_test(defaults_are_written_where_nothing_was_given),
        cmocka_unit_test(every_option_is_described_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
