/* Writers and readers that were there before ALTER TABLE. */
#include "table_support.h"

static void alter(lake *l, const char *name, const tl_alter *changes, size_t n)
{
    tl_error err;
    assert_ok(tl_table_alter(l->catalog, "d", name, changes, n, &err), &err);
}

static const tl_type *type_of(const char *text)
{
    tl_error err;
    const tl_type *type = NULL;
    assert_ok(tl_type_parse((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &type, &err), &err);
    return type;
}

/* An old handle writes beside a new one, often enough that it would compact; then it is asked to. */
static void write_beside(lake *l, const char *options, const char *keys, tl_status full_compaction)
{
    create(l, "t", "k INT NOT NULL, a INT", keys, NULL, options);
    tl_table *old = open_table(l, "t");
    put(old, "{'k':1,'a':1}");
    const tl_type *bigint = type_of("BIGINT"), *text = type_of("STRING");
    tl_alter changes[] = {{.kind = TL_ALTER_COLUMN_TYPE, .name = "a", .type = bigint}, {.kind = TL_ALTER_ADD_COLUMN, .name = "b", .type = text}};
    alter(l, "t", changes, 2);
    tl_table *fresh = open_table(l, "t");
    put(fresh, "{'k':2,'a':5000000000,'b':'kept'}");
    for (int i = 3; i < 12; i++) {
        char line[64];
        snprintf(line, sizeof line, "{'k':%d,'a':%d}", i % 4 + 3, i);
        put(old, line);
    }
    tl_commit_messages messages = {0};
    tl_error err;
    tl_status status = prepare_lines(old, "{'k':9,'a':9}", true, false, &messages, &err);
    if (full_compaction != TL_OK) {
        assert_fails(status, full_compaction, &err, "the table was altered");
    } else {
        assert_ok(status, &err);
    }
    tl_table_abort(old, &messages);
    tl_commit_messages_deinit(&messages);
    if (keys != NULL) {
        const char *rows = "{'k':1,'a':1,'b':null}\n{'k':2,'a':5000000000,'b':'kept'}\n{'k':3,'a':8,'b':null}\n{'k':4,'a':9,'b':null}\n"
                           "{'k':5,'a':10,'b':null}\n{'k':6,'a':11,'b':null}";
        assert_rows(l, "t", NULL, rows);
        put_as(fresh, NULL, TL_COMMIT_BATCH, "{'k':1,'a':2,'b':'x'}", true);
    } else {
        put_as(fresh, NULL, TL_COMMIT_BATCH, "{'k':1,'a':2,'b':'x'}", true);
        char *kept = read_where(fresh, "[\"isNotNull\",\"b\"]");
        assert_lines(kept, "{'k':2,'a':5000000000,'b':'kept'}\n{'k':1,'a':2,'b':'x'}");
        free(kept);
    }
    /* The old handle does not read what would not fit its types. */
    char *seen = NULL;
    assert_fails(try_read(old, NULL, false, NULL, &seen, &err), TL_E_UNSUPPORTED, &err, "another type now");
    assert_sound(fresh);
    tl_table_free(old);
    tl_table_free(fresh);
    tl_type_unref(bigint);
    tl_type_unref(text);
}

static void an_old_writer_leaves_new_files_alone(void **state)
{
    (void)state;
    lake l = memory_lake();
    write_beside(&l, "bucket=1,num-sorted-run.compaction-trigger=3", "k", TL_E_CONFLICT);
    close_lake(&l);
}

static void an_old_writer_of_an_append_table_leaves_new_files_alone(void **state)
{
    (void)state;
    lake l = memory_lake();
    write_beside(&l, "bucket=1,bucket-key=k,compaction.min.file-num=3", NULL, TL_OK);
    close_lake(&l);
}

/* Every commit of a lookup changelog compacts: the old writer cannot go on, and says so. */
static void an_old_writer_that_must_compact_ends(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, a INT", "k", NULL, "bucket=1,changelog-producer=lookup");
    tl_table *old = open_table(&l, "t");
    put(old, "{'k':1,'a':1}");
    const tl_type *text = type_of("STRING");
    tl_alter change = {.kind = TL_ALTER_ADD_COLUMN, .name = "b", .type = text};
    alter(&l, "t", &change, 1);
    put(old, "{'k':2,'a':2}"); /* nobody has written under the new schema yet */
    tl_table *fresh = open_table(&l, "t");
    put(fresh, "{'k':3,'a':3,'b':'x'}");
    tl_commit_messages messages = {0};
    tl_error err;
    assert_fails(prepare_lines(old, "{'k':4,'a':4}", false, false, &messages, &err), TL_E_CONFLICT, &err, "restart the job");
    tl_commit_messages_deinit(&messages);
    assert_rows(&l, "t", NULL, "{'k':1,'a':1,'b':null}\n{'k':2,'a':2,'b':null}\n{'k':3,'a':3,'b':'x'}");
    tl_table_free(old);
    tl_table_free(fresh);
    tl_type_unref(text);
    close_lake(&l);
}

/* Options, names and places are no reason: nothing is lost. */
static void an_old_writer_compacts_across_harmless_changes(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, a INT", "k", NULL, "bucket=1,changelog-producer=lookup");
    tl_table *old = open_table(&l, "t");
    tl_alter changes[] = {{.kind = TL_ALTER_SET_OPTION, .name = "snapshot.num-retained.max", .value = "30"},
                          {.kind = TL_ALTER_RENAME_COLUMN, .name = "a", .value = "z"},
                          {.kind = TL_ALTER_COLUMN_POSITION, .name = "z", .first = true}};
    alter(&l, "t", changes, 3);
    tl_table *fresh = open_table(&l, "t");
    put(fresh, "{'k':1,'z':1}");
    char *seen = read_where(old, NULL);
    assert_lines(seen, "{'k':1,'a':1}");
    free(seen);
    put_as(old, NULL, TL_COMMIT_BATCH, "{'k':2,'a':2}", true);
    assert_rows(&l, "t", NULL, "{'z':1,'k':1}\n{'z':2,'k':2}");
    assert_sound(fresh);
    tl_table_free(old);
    tl_table_free(fresh);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_writer_leaves_new_files_alone),
        cmocka_unit_test(an_old_writer_of_an_append_table_leaves_new_files_alone),
        cmocka_unit_test(an_old_writer_that_must_compact_ends),
        cmocka_unit_test(an_old_writer_compacts_across_harmless_changes),
    };
    return cmocka_run_group_tests_name("schema_change", tests, NULL, NULL);
}
