/* Tags that the table makes itself: names and snapshots as the reference's are for the same watermarks. */
#include "table_support.h"

/* 2024-01-01T00:00 and later, in minutes. */
#define DAY0 INT64_C(1704067200000)
static const int64_t minutes[] = {600, 1440, 1740, 2910, 2950, 9360, 10800, 12240};

static tl_table *table_with_tags(lake *l, const char *options)
{
    char text[512];
    snprintf(text, sizeof text, "bucket=-1,%s", options);
    create(l, "t", "k INT", NULL, NULL, text);
    tl_table *table = open_table(l, "t");
    for (size_t i = 0; i < TL_ARRAY_LEN(minutes); i++) {
        tl_commit_messages messages = prepared(table, "{'k':1}", false);
        tl_commit_spec spec = {.identifier = TL_COMMIT_BATCH, .watermark = DAY0 + minutes[i] * 60000};
        tl_error err;
        assert_ok(tl_table_commit(table, &spec, &messages, NULL, &err), &err);
        tl_commit_messages_deinit(&messages);
    }
    return table;
}

/* "name:snapshot …" of all tags. */
static void assert_tags(tl_table *table, const char *want)
{
    tl_tagged *tags = NULL;
    size_t n = 0;
    char got[1024] = "";
    tl_error err;
    assert_ok(tl_tags__snapshots(table, &tags, &n, &err), &err);
    for (size_t i = 0; i < n; i++)
        for (size_t t = 0; t < tags[i].n_names; t++)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s:%d", *got == '\0' ? "" : ", ", tags[i].names[t], (int)tags[i].snap->id);
    tl_tags__free(tags, n);
    assert_string_equal(got, want);
}

static void each_period_gets_its_tag(void **state)
{
    (void)state;
    static const struct {
        const char *options, *tags;
    } cases[] = {
        {"tag.automatic-creation=watermark", "2023-12-31:1, 2024-01-01:2, 2024-01-02:4, 2024-01-06:6, 2024-01-07:7, 2024-01-08:8"},
        {"tag.automatic-creation=watermark,tag.creation-delay=1h,tag.period-formatter=without_dashes",
         "20231231:1, 20240101:3, 20240102:5, 20240106:6, 20240107:7, 20240108:8"},
        {"tag.automatic-creation=watermark,tag.automatic-completion=true,tag.num-retained-max=3", "2024-01-03:6, 2024-01-04:7, 2024-01-05:8"},
        {"tag.automatic-creation=watermark,tag.creation-period=hourly,sink.watermark-time-zone=Asia/Kolkata,tag.num-retained-max=3",
         "2024-01-07 16:6, 2024-01-08 16:7, 2024-01-09 16:8"},
        {"tag.automatic-creation=watermark,tag.creation-period-duration=90min,tag.num-retained-max=2", "202401081030:7, 202401091030:8"},
        {"tag.automatic-creation=watermark,tag.default-time-retained=1h,write-only=true", ""},
        {"tag.automatic-creation=batch,tag.batch.customized-name=done", "done:8"},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        lake l = memory_lake();
        tl_table *table = table_with_tags(&l, cases[i].options);
        assert_tags(table, cases[i].tags);
        tl_table_free(table);
        table = open_table(&l, "t"); /* another job finds where it goes on */
        tl_error err;
        assert_ok(tl_table_trigger_tags(table, &err), &err);
        if (strstr(cases[i].options, "write-only") == NULL)
            assert_tags(table, cases[i].tags);
        assert_sound(table);
        tl_table_free(table);
        close_lake(&l);
    }
}

static void tags_go_when_their_time_is_over(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT", NULL, NULL, "bucket=-1");
    tl_table *table = open_table(&l, "t");
    tl_error err;
    char **expired = NULL;
    size_t n = 0;
    put(table, "{'k':1}");
    assert_ok(tl_table_create_tag(table, "brief", 0, -1, &err), &err);
    assert_ok(tl_table_create_tag(table, "long", 0, 3600000, &err), &err);
    assert_ok(tl_table_create_tag(table, "for-ever", 0, TL_ABSENT, &err), &err);
    put(table, "{'k':2}"); /* a commit looks at them */
    assert_tags(table, "for-ever:1, long:1");
    assert_ok(tl_table_expire_tags(table, TL_ABSENT, &expired, &n, &err), &err);
    assert_int_equal(n, 0);
    assert_ok(tl_table_expire_tags(table, tl_clock_now_ms(tl_clock_system()) + 1000, &expired, &n, &err), &err);
    assert_int_equal(n, 2);
    tl_names_free(expired, n);
    assert_tags(table, "");
    tl_table_free(table);
    close_lake(&l);
}

static void a_tag_moves_and_frees_what_only_it_kept(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1");
    tl_table *table = open_table(&l, "t");
    tl_error err;
    tl_expire_spec last = {.retain_max = 1, .retain_min = 1};
    int32_t n = 0;
    assert_int_equal(tl_table_replace_tag(table, "here", 0, TL_ABSENT, &err), TL_E_NOT_FOUND);
    put(table, "{'k':1,'v':'old'}");
    assert_ok(tl_table_create_tag(table, "here", 0, TL_ABSENT, &err), &err);
    put_as(table, NULL, TL_COMMIT_BATCH, "{'k':1,'v':'new'}", /* full= */ true);
    assert_ok(tl_table_expire(table, &last, &n, &err), &err);
    assert_rows(&l, "t", "scan.tag-name=here", "{'k':1,'v':'old'}");
    size_t before = files_with(l.fs, "/bucket-0/");
    assert_ok(tl_table_replace_tag(table, "here", 0, TL_ABSENT, &err), &err);
    assert_rows(&l, "t", "scan.tag-name=here", "{'k':1,'v':'new'}");
    assert_true(files_with(l.fs, "/bucket-0/") < before);
    assert_sound(table);
    tl_snapshot *first = NULL;
    assert_ok(tl_table_first_since(table, false, 0, &first, &err), &err);
    tl_snapshot *latest = latest_of(table);
    assert_int_equal(first->id, latest->id);
    tl_snapshot_free(latest);
    tl_snapshot_free(first);
    assert_int_equal(tl_table_first_since(table, true, 0, &first, &err), TL_E_NOT_FOUND);
    tl_table_free(table);
    close_lake(&l);
}

static void options_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"tag.automatic-creation=sometimes", "tag.automatic-creation=watermark,tag.creation-period=weekly",
                                        "tag.automatic-creation=watermark,tag.creation-delay=1d",
                                        "tag.automatic-creation=watermark,tag.creation-period-duration=0s",
                                        "tag.automatic-creation=process-time,sink.process-time-zone=Nowhere/Land"};
    lake l = memory_lake();
    for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++) {
        tl_error err;
        assert_int_not_equal(try_create(&l, "t", "k INT", NULL, NULL, wrong[i], &err), TL_OK);
    }
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_period_gets_its_tag),
        cmocka_unit_test(tags_go_when_their_time_is_over),
        cmocka_unit_test(a_tag_moves_and_frees_what_only_it_kept),
        cmocka_unit_test(options_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
