/* The public API: arguments, options of older programs, exactly-once commits, work that is shared out, reads that follow. */
#include "api_support.h"

#include <errno.h>
#include <pthread.h>

static void names_and_missing_arguments_are_refused(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_lake *lake;
    tidelake_table *table;
    assert_fails(tidelake_open(NULL, &lake, &err), TL_E_INVALID, &err, "no warehouse");
    assert_fails(tidelake_open("", &lake, &err), TL_E_INVALID, &err, "no warehouse");
    for (size_t i = 0; i < 4; i++) {
        const char *const names[] = {"t", ".t", "db.", ""};
        assert_fails(tidelake_table_open(l.lake, names[i], NULL, 0, &table, &err), TL_E_INVALID, &err, "DATABASE.TABLE");
    }
    assert_fails(tidelake_table_open(l.lake, "db.t", NULL, 0, &table, &err), TL_E_NOT_FOUND, &err, "db.t");
    const tidelake_option broken[] = {{"bucket", NULL}};
    assert_fails(tidelake_table_open(l.lake, "db.t", broken, 1, &table, &err), TL_E_INVALID, &err, "option 0");
    /* An error object is not needed. */
    assert_int_equal(tidelake_table_open(l.lake, "db.t", NULL, 0, &table, NULL), TL_E_NOT_FOUND);
    /* Everything may be released that was never made. */
    tidelake_close(NULL);
    tidelake_table_close(NULL);
    tidelake_rows_free(NULL);
    tidelake_batch_free(NULL);
    tidelake_input_close(NULL);
    tidelake_writer_close(NULL);
    tidelake_printer_close(NULL);
    tidelake_free(NULL);
    api_lake_close(&l);
}

static void tables_are_listed_in_byte_order(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table_close(api_table(&l, "b.z", keyed_schema));
    tidelake_table_close(api_table(&l, "b.a", keyed_schema));
    tidelake_table_close(api_table(&l, "a.t", keyed_schema));
    char *names;
    assert_ok(tidelake_list_databases(l.lake, &names, &err), &err);
    assert_memory_equal(names, "a\0b\0", 5);
    tidelake_free(names);
    assert_ok(tidelake_list_tables(l.lake, "b", &names, &err), &err);
    assert_memory_equal(names, "a\0z\0", 5);
    tidelake_free(names);
    api_lake_close(&l);
}

/* A program that was built against an older header has shorter structs: fields that it does not know count as not given. */
static void options_of_older_programs_are_understood(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", keyed_schema);
    assert_ok(api_write(&l, table, "{\"k\":1,\"v\":\"a\"}\n{\"k\":2,\"v\":\"b\"}", NULL, NULL, NULL, &err), &err);

    const char *const columns[] = {"v"};
    tidelake_read_options read = TIDELAKE_READ_INIT;
    read.columns = columns;
    read.n_columns = 1;
    read.where = "[\"=\",\"k\",2]";
    read.limit = 0;
    read.struct_bytes = offsetof(tidelake_read_options, limit);
    assert_reads(table, &read, "{\"v\":\"b\"}\n");
    read.struct_bytes = offsetof(tidelake_read_options, where);
    assert_reads(table, &read, "{\"v\":\"a\"}\n{\"v\":\"b\"}\n");
    assert_reads(table, NULL, "{\"k\":1,\"v\":\"a\"}\n{\"k\":2,\"v\":\"b\"}\n");

    tidelake_write_options write = TIDELAKE_WRITE_INIT;
    write.overwrite = 1;
    write.struct_bytes = offsetof(tidelake_write_options, overwrite);
    assert_ok(api_write(&l, table, "{\"k\":3}", &write, NULL, NULL, &err), &err);
    assert_reads(table, NULL, "{\"k\":1,\"v\":\"a\"}\n{\"k\":2,\"v\":\"b\"}\n{\"k\":3,\"v\":null}\n");
    tidelake_table_close(table);
    api_lake_close(&l);
}

static void a_commit_that_is_repeated_is_harmless(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", keyed_schema);
    tidelake_write_options write = TIDELAKE_WRITE_INIT;
    write.commit_user = "job";
    tidelake_commit_options commit = TIDELAKE_COMMIT_INIT;
    commit.identifier = 7;
    tidelake_commit_result first, again;
    assert_ok(api_write(&l, table, "{\"k\":1,\"v\":\"a\"}", &write, &commit, &first, &err), &err);
    assert_int_equal(first.snapshots, 1);
    /* The job died after the commit and does not know: it writes and commits once more. */
    assert_ok(api_write(&l, table, "{\"k\":1,\"v\":\"a\"}", &write, &commit, &again, &err), &err);
    int64_t snapshot, records;
    assert_ok(tidelake_latest(table, &snapshot, NULL, &records, &err), &err);
    assert_int_equal(snapshot, first.snapshot_id);
    assert_int_equal(records, 1);
    char *report;
    size_t problems;
    assert_ok(tidelake_fsck(table, /* all_snapshots= */ 1, &report, &problems, &err), &err);
    assert_int_equal(problems, 0);
    tidelake_free(report);
    /* Nothing written: no snapshot. */
    assert_ok(api_write(&l, table, "", NULL, NULL, &again, &err), &err);
    assert_int_equal(again.snapshots, 0);
    assert_int_equal(again.snapshot_id, 0);
    tidelake_table_close(table);
    api_lake_close(&l);
}

/* One row, and the snapshots that its commit made. */
static int commit_row(api_lake *l, tidelake_table *table, tidelake_writer *writer, const char *row, int wait)
{
    tl_error err;
    tidelake_commit_options commit = TIDELAKE_COMMIT_INIT;
    tidelake_commit_result result;
    commit.wait_compaction = wait;
    assert_ok(api_write_with(l, table, writer, row, &err), &err);
    assert_ok(tidelake_writer_commit(writer, &commit, &result, &err), &err);
    return result.snapshots;
}

static int64_t records_in_files(tidelake_table *table)
{
    tl_error err;
    int64_t snapshot, records;
    assert_ok(tidelake_latest(table, &snapshot, NULL, &records, &err), &err);
    return records;
}

static void commits_wait_for_compactions_as_they_are_told(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", "{\"columns\":[{\"name\":\"k\",\"type\":\"INT\"},{\"name\":\"v\",\"type\":\"STRING\"}],"
                                                  "\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"1\",\"num-sorted-run.compaction-trigger\":\"2\"}}");
    tidelake_writer *writer;
    for (int threads = -1; threads <= 2; threads++) {
        tidelake_write_options write = TIDELAKE_WRITE_INIT;
        write.threads = threads;
        assert_ok(tidelake_writer_open(table, &write, &writer, &err), &err);
        /* A writer's first commit waits by default: there is one run before it but for the very first. */
        assert_int_equal(commit_row(&l, table, writer, "{\"k\":1,\"v\":\"a\"}", 0), threads == -1 ? 1 : 2);
        assert_int_equal(commit_row(&l, table, writer, "{\"k\":1,\"v\":\"b\"}", 1), 2);
        assert_int_equal(records_in_files(table), 1);
        for (int i = 0; i < 4; i++)
            (void)commit_row(&l, table, writer, "{\"k\":1,\"v\":\"c\"}", i % 2 - 1);
        (void)commit_row(&l, table, writer, "{\"k\":1,\"v\":\"d\"}", 1);
        (void)commit_row(&l, table, writer, "", 1); /* the one that began after what the last one waited for */
        assert_int_equal(records_in_files(table), 1);
        assert_reads(table, NULL, "{\"k\":1,\"v\":\"d\"}\n");
        (void)commit_row(&l, table, writer, "{\"k\":1,\"v\":\"e\"}", -1);
        tidelake_writer_close(writer); /* and whatever it is at is given up */
        assert_reads(table, NULL, "{\"k\":1,\"v\":\"e\"}\n");
    }
    char *report;
    size_t problems;
    assert_ok(tidelake_fsck(table, /* all_snapshots= */ 1, &report, &problems, &err), &err);
    assert_int_equal(problems, 0);
    tidelake_free(report);
    tidelake_table_close(table);
    api_lake_close(&l);
}

/* ---- Arrow ---- */

static void release_nothing(struct ArrowArray *array)
{
    array->release = NULL;
}

static void release_no_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

/* A struct of one INT column named `name`. */
typedef struct int_batch {
    struct ArrowSchema schema, child_schema, *schema_children[1];
    struct ArrowArray array, child, *children[1];
    const void *buffers[1], *child_buffers[2];
    int32_t values[3];
} int_batch;

static void make_int_batch(int_batch *b, const char *name)
{
    *b = (int_batch){.values = {1, 2, 3}};
    b->child_schema = (struct ArrowSchema){.format = "i", .name = name, .release = release_no_schema};
    b->schema_children[0] = &b->child_schema;
    b->schema = (struct ArrowSchema){
        .format = "+s", .name = "", .n_children = 1, .children = b->schema_children, .release = release_no_schema};
    b->child_buffers[1] = b->values;
    b->child = (struct ArrowArray){.length = 3, .n_buffers = 2, .buffers = b->child_buffers, .release = release_nothing};
    b->children[0] = &b->child;
    b->array = (struct ArrowArray){.length = 3,
                                   .n_buffers = 1,
                                   .buffers = b->buffers,
                                   .n_children = 1,
                                   .children = b->children,
                                   .release = release_nothing};
}

static void arrow_batches_are_written_and_always_released(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", "{\"columns\":[{\"name\":\"k\",\"type\":\"INT\"}]}");
    tidelake_writer *writer;
    assert_ok(tidelake_writer_open(table, NULL, &writer, &err), &err);
    int_batch b;
    const uint8_t kinds[] = {0, 0, 0}, wrong[] = {0, 4, 0};
    make_int_batch(&b, "k");
    assert_fails(tidelake_writer_write(writer, &b.array, &b.schema, wrong, &err), TL_E_INVALID, &err, "row 1 has the kind 4");
    assert_null(b.array.release);
    make_int_batch(&b, "x");
    assert_fails(tidelake_writer_write(writer, &b.array, &b.schema, NULL, &err), TL_E_INVALID, &err, "'k'");
    assert_null(b.array.release);
    make_int_batch(&b, "k");
    assert_ok(tidelake_writer_write(writer, &b.array, &b.schema, kinds, &err), &err);
    assert_ok(tidelake_writer_commit(writer, NULL, NULL, &err), &err);
    tidelake_writer_close(writer);
    assert_reads(table, NULL, "{\"k\":1}\n{\"k\":2}\n{\"k\":3}\n");

    struct ArrowSchema schema;
    assert_ok(tidelake_table_arrow_schema(table, &schema, &err), &err);
    assert_int_equal(schema.n_children, 1);
    assert_string_equal(schema.children[0]->name, "k");
    schema.release(&schema);
    tidelake_table_close(table);
    api_lake_close(&l);
}

static void a_stream_gives_the_rows_and_their_schema(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", keyed_schema);
    assert_ok(api_write(&l, table, "{\"k\":1,\"v\":\"a\"}\n{\"k\":2}", NULL, NULL, NULL, &err), &err);
    tidelake_rows *rows;
    struct ArrowArrayStream stream;
    assert_ok(tidelake_read(table, NULL, &rows, &err), &err);
    assert_ok(tidelake_rows_stream(rows, &stream, &err), &err);
    struct ArrowSchema schema;
    struct ArrowArray array;
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_string_equal(schema.children[0]->name, "k");
    schema.release(&schema);
    int64_t n = 0;
    for (;;) {
        assert_int_equal(stream.get_next(&stream, &array), 0);
        if (array.release == NULL)
            break;
        n += array.length;
        array.release(&array);
    }
    assert_int_equal(n, 2);
    stream.release(&stream);
    tidelake_table_close(table);
    api_lake_close(&l);
}

/* ---- shared work ---- */

static void prepared_messages_are_committed_or_removed(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", keyed_schema);
    tidelake_bytes *messages;
    size_t n;
    for (int aborted = 0; aborted < 2; aborted++) {
        tidelake_writer *writer;
        assert_ok(tidelake_writer_open(table, NULL, &writer, &err), &err);
        assert_ok(api_write_with(&l, table, writer, "{\"k\":1,\"v\":\"a\"}", &err), &err);
        assert_ok(tidelake_writer_prepare(writer, &messages, &n, &err), &err);
        tidelake_writer_close(writer);
        assert_int_equal(n, 1);
        if (aborted != 0)
            assert_ok(tidelake_abort_prepared(table, messages, n, &err), &err);
        else
            assert_ok(tidelake_commit_prepared(table, "me", messages, n, NULL, NULL, &err), &err);
        tidelake_free(messages);
    }
    assert_reads(table, NULL, "{\"k\":1,\"v\":\"a\"}\n");
    char command[160];
    snprintf(command, sizeof command, "test $(find %s -name 'data-*' | wc -l) -eq 1", l.folder);
    assert_int_equal(system(command), 0);
    tidelake_table_close(table);
    api_lake_close(&l);
}

/* Bytes come from other processes: whatever they are, the answer is an error or the work itself, never a crash. */
static void damaged_messages_and_splits_are_refused(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", keyed_schema);
    assert_ok(api_write(&l, table, "{\"k\":1,\"v\":\"a\"}", NULL, NULL, NULL, &err), &err);
    tidelake_bytes *splits;
    size_t n;
    assert_ok(tidelake_plan(table, NULL, &splits, &n, &err), &err);
    assert_int_equal(n, 1);
    uint64_t seed = test_seed(1);
    uint8_t *copy = malloc(splits[0].len);
    assert_non_null(copy);
    for (int i = 0; i < 2000; i++) {
        memcpy(copy, splits[0].data, splits[0].len);
        size_t len = i % 3 == 0 ? (size_t)(test_random(&seed) % splits[0].len) : splits[0].len;
        for (int k = 0; k < 1 + i % 4 && len > 0; k++)
            copy[test_random(&seed) % len] = (uint8_t)test_random(&seed);
        tidelake_rows *rows;
        if (tidelake_read_split(table, (tidelake_bytes){copy, len}, NULL, &rows, &err) == TL_OK) {
            tidelake_batch *batch;
            while (tidelake_rows_next(rows, &batch, &err) == TL_OK && batch != NULL)
                tidelake_batch_free(batch);
            tidelake_rows_free(rows);
        }
        assert_int_not_equal(tidelake_commit_prepared(table, "me", &(tidelake_bytes){copy, len}, 1, NULL, NULL, &err), TL_OK);
    }
    free(copy);
    tidelake_free(splits);
    assert_reads(table, NULL, "{\"k\":1,\"v\":\"a\"}\n");
    tidelake_table_close(table);
    api_lake_close(&l);
}

/* ---- following ---- */

static void *write_later(void *arg)
{
    api_lake *l = arg;
    tl_error err;
    tidelake_table *table;
    assert_ok(tidelake_table_open(l->lake, "db.t", NULL, 0, &table, &err), &err);
    usleep(50000);
    assert_ok(api_write(l, table, "{\"k\":2,\"v\":\"later\"}", NULL, NULL, NULL, &err), &err);
    tidelake_table_close(table);
    return NULL;
}

static void a_followed_read_sees_what_is_committed_meanwhile(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", keyed_schema);
    assert_ok(api_write(&l, table, "{\"k\":1,\"v\":\"a\"}", NULL, NULL, NULL, &err), &err);
    tidelake_changes_options changes = TIDELAKE_CHANGES_INIT;
    changes.next_snapshot = 1;
    changes.to_snapshot = 2;
    changes.follow = 1;
    changes.poll_ms = 5;
    tidelake_rows *rows;
    assert_ok(tidelake_changes(table, &changes, &rows, &err), &err);
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, write_later, &l), 0);
    tidelake_printer_options print = TIDELAKE_PRINTER_INIT;
    print.kinds = print.snapshots = 1;
    char *text;
    assert_ok(api_print(rows, &print, &text, &err), &err);
    assert_string_equal(
        text,
        "{\"_snapshot\":1,\"_kind\":\"+I\",\"k\":1,\"v\":\"a\"}\n{\"_snapshot\":2,\"_kind\":\"+I\",\"k\":2,\"v\":\"later\"}\n");
    tl_free(text);
    pthread_join(writer, NULL);
    tidelake_table_close(table);
    api_lake_close(&l);
}

static void a_read_of_changes_goes_on_at_its_position(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", keyed_schema);
    int64_t position = 0;
    for (int i = 1; i <= 3; i++) {
        char line[64];
        snprintf(line, sizeof line, "{\"k\":%d}", i);
        assert_ok(api_write(&l, table, line, NULL, NULL, NULL, &err), &err);
        tidelake_changes_options changes = TIDELAKE_CHANGES_INIT;
        const tidelake_option from_start[] = {{"scan.mode", "from-snapshot"}, {"scan.snapshot-id", "1"}};
        changes.options = from_start;
        changes.n_options = position == 0 ? 2 : 0;
        changes.next_snapshot = position;
        tidelake_rows *rows;
        tidelake_batch *batch;
        assert_ok(tidelake_changes(table, &changes, &rows, &err), &err);
        assert_ok(tidelake_rows_next(rows, &batch, &err), &err);
        assert_non_null(batch);
        assert_int_equal(tidelake_batch_rows(batch), 1);
        assert_int_equal(tidelake_batch_snapshot(batch), i);
        assert_int_equal(tidelake_batch_kind(batch, 0), 0);
        tidelake_batch_free(batch);
        assert_ok(tidelake_rows_next(rows, &batch, &err), &err);
        assert_null(batch);
        position = tidelake_changes_position(rows);
        assert_int_equal(position, i + 1);
        tidelake_rows_free(rows);
    }
    tidelake_table_close(table);
    api_lake_close(&l);
}

static void durations_are_understood_in_both_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"1 h", 3600000}, {"PT1H", 3600000}, {"P1D", 86400000}, {"P1DT2H3M4.5S", 93784500},
                {"30 s", 30000},  {"PT0S", 0},       {"250", 250}};
    static const char *const bad[] = {"", "P", "PT", "1 fortnight", "P1M", "PT1H1", "P99999999999999999D", "PT-1S", "soon"};
    for (size_t i = 0; i < TL_ARRAY_LEN(good); i++) {
        tl_error err;
        int64_t ms = -1;
        assert_ok(tidelake_parse_duration(good[i].text, &ms, &err), &err);
        assert_int_equal(ms, good[i].ms);
    }
    for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++) {
        tl_error err;
        int64_t ms = -1;
        if (tidelake_parse_duration(bad[i], &ms, &err) == TL_OK)
            fail_msg("'%s' was taken for %lld ms", bad[i], (long long)ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_missing_arguments_are_refused),
        cmocka_unit_test(tables_are_listed_in_byte_order),
        cmocka_unit_test(options_of_older_programs_are_understood),
        cmocka_unit_test(a_commit_that_is_repeated_is_harmless),
        cmocka_unit_test(commits_wait_for_compactions_as_they_are_told),
        cmocka_unit_test(arrow_batches_are_written_and_always_released),
        cmocka_unit_test(a_stream_gives_the_rows_and_their_schema),
        cmocka_unit_test(prepared_messages_are_committed_or_removed),
        cmocka_unit_test(damaged_messages_and_splits_are_refused),
        cmocka_unit_test(a_followed_read_sees_what_is_committed_meanwhile),
        cmocka_unit_test(a_read_of_changes_goes_on_at_its_position),
        cmocka_unit_test(durations_are_understood_in_both_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
