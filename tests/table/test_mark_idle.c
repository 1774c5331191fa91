/* Partitions that are marked done when nothing came for long enough. */
#include "table_support.h"

#define HOUR INT64_C(3600000)
#define DAY (24 * HOUR)
#define JAN_1 INT64_C(1704067200000) /* 2024-01-01 in UTC */

static bool is_marked(lake *l, const char *day)
{
    char part[64];
    snprintf(part, sizeof part, "/dt=%s/_SUCCESS", day);
    return files_with(l->fs, part) > 0;
}

static tl_idle_partitions *begin(tl_table *table, const char *pending, int64_t now)
{
    tl_idle_partitions *idle = NULL;
    tl_error err;
    assert_ok(tl_idle_partitions_create(table, pending, now, &idle, &err), &err);
    return idle;
}

static void note(tl_idle_partitions *idle, tl_table *table, const char *lines, int64_t now)
{
    tl_error err;
    tl_commit_messages messages = prepared(table, lines, /* full= */ false);
    assert_ok(tl_idle_partitions_note(idle, &messages, now, &err), &err);
    tl_table_abort(table, &messages);
    tl_commit_messages_deinit(&messages);
}

static void mark(tl_idle_partitions *idle, int64_t now, bool end)
{
    tl_error err;
    assert_ok(tl_idle_partitions_mark(idle, now, end, &err), &err);
}

/* Watermarks are compared with UTC, so that the zone of the machine does not matter. */
#define OPTIONS "partition.idle-time-to-done=1 h,partition.time-interval=1 d,partition.mark-done-action.mode=watermark"

static void partitions_wait_for_their_end_and_for_silence(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "dt STRING, k INT", NULL, "dt", OPTIONS);
    tl_table *table = open_table(&l, "t");
    tl_idle_partitions *idle = begin(table, NULL, 0);
    assert_true(tl_idle_partitions_by_watermark(idle));
    note(idle, table, "{'dt':'2024-01-01','k':1}\n{'dt':'2024-01-02','k':2}\n{'dt':'never','k':3}", JAN_1 + HOUR);
    mark(idle, JAN_1 + DAY + HOUR, false);
    assert_false(is_marked(&l, "2024-01-01"));
    mark(idle, JAN_1 + DAY + HOUR + 1, false);
    assert_true(is_marked(&l, "2024-01-01"));
    assert_false(is_marked(&l, "2024-01-02"));
    note(idle, table, "{'dt':'2024-01-02','k':2}", JAN_1 + 3 * DAY);
    mark(idle, JAN_1 + 3 * DAY + HOUR, false);
    assert_false(is_marked(&l, "2024-01-02"));
    mark(idle, JAN_1 + 3 * DAY + HOUR + 1, /* end= */ true); /* partition.end-input-to-done is false */
    assert_true(is_marked(&l, "2024-01-02"));
    assert_false(is_marked(&l, "never"));
    tl_idle_partitions_free(idle);
    tl_table_free(table);
    close_lake(&l);
}

static void those_that_wait_are_remembered(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", "dt STRING, h INT, k INT", NULL, "dt,h", OPTIONS ",partition.end-input-to-done=true");
    tl_table *table = open_table(&l, "t");
    tl_idle_partitions *first = begin(table, NULL, 0);
    char *text = NULL, *none = NULL;
    assert_ok(tl_idle_partitions_text(first, &none, &err), &err);
    assert_string_equal(none, "[]");
    note(first, table, "{'dt':'2024-01-01','h':1,'k':1}\n{'dt':'2024-01-01','h':2,'k':1}\n{'dt':'never','h':null,'k':1}", JAN_1);
    assert_ok(tl_idle_partitions_text(first, &text, &err), &err);
    tl_idle_partitions *again = begin(table, text, JAN_1 + 9 * DAY); /* as if they were written to now */
    mark(again, JAN_1 + 9 * DAY + HOUR, false);
    assert_int_equal(files_with(l.fs, "_SUCCESS"), 0);
    mark(again, JAN_1 + 9 * DAY + HOUR, /* end= */ true);
    assert_int_equal(files_with(l.fs, "_SUCCESS"), 2); /* the one without a time has gone with the first look */
    tl_free(text);
    tl_free(none);
    tl_idle_partitions_free(first);
    tl_idle_partitions_free(again);
    tl_table_free(table);
    close_lake(&l);
}

static void what_is_no_list_of_rows_is_refused(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "dt STRING, k INT", NULL, "dt", OPTIONS);
    create(&l, "off", "dt STRING, k INT", NULL, "dt", "partition.time-interval=1 d");
    tl_table *table = open_table(&l, "t"), *off = open_table(&l, "off");
    tl_idle_partitions *idle = NULL;
    tl_error err;
    static const char *const texts[] = {"", "{}", "[", "[1]", "[\"\"]", "[\"zz\"]", "[\"00\"]", "[\"00000001ff\"]", "[\"000000010000000000000000ffffffffffffffff\"]"};
    for (size_t i = 0; i < TL_ARRAY_LEN(texts); i++) {
        assert_int_not_equal(tl_idle_partitions_create(table, texts[i], 0, &idle, &err), TL_OK);
        assert_null(idle);
    }
    assert_null(begin(off, NULL, 0));
    tl_table_free(table);
    tl_table_free(off);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partitions_wait_for_their_end_and_for_silence),
        cmocka_unit_test(those_that_wait_are_remembered),
        cmocka_unit_test(what_is_no_list_of_rows_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
