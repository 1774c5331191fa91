/* Which partitions expire, when, and in how many commits. What the reference does with each text is in the comments' cases. */
#include "base/log.h"
#include "table_support.h"

#define AGED "bucket=-1,partition.expiration-time=1d,partition.expiration-check-interval=0s"

static void quiet(void *ctx, tl_log_level level, const char *message)
{
    (void)level;
    assert_non_null(strstr(message, "never expire"));
    ++*(int *)ctx;
}

static int64_t snapshots_of(tl_table *table)
{
    tl_snapshot *snap = latest_of(table);
    int64_t id = snap->id;
    tl_snapshot_free(snap);
    return id;
}

static void texts_give_times_as_in_the_reference(void **state)
{
    (void)state;
    static const struct {
        const char *columns, *partition, *options, *rows, *stays;
    } cases[] = {
        {"dt STRING, k INT", "dt", "",
         "{'dt':'2020-01-05','k':1}\n{'dt':'2999-01-05','k':2}\n{'dt':null,'k':3}\n{'dt':'x','k':4}\n{'dt':'2020-1-5','k':5}\n"
         "{'dt':'2020-13-45','k':6}\n{'dt':'2020-01-05 25:61:61.5','k':7}\n{'dt':'2020-01-05T00:00:00','k':8}\n{'dt':'20200105','k':9}\n"
         "{'dt':'2020-01-05 10','k':10}\n{'dt':'2020-01-05 10:00:00.','k':11}\n{'dt':'-2020-01-05','k':12}\n{'dt':' 2020-01-05','k':13}",
         "{'dt':'2999-01-05','k':2}\n{'dt':null,'k':3}\n{'dt':'x','k':4}\n{'dt':'2020-01-05T00:00:00','k':8}\n{'dt':'20200105','k':9}\n"
         "{'dt':'2020-01-05 10','k':10}\n{'dt':'2020-01-05 10:00:00.','k':11}\n{'dt':' 2020-01-05','k':13}"},
        {"dt STRING, k INT", "dt", "partition.timestamp-formatter=yyyyMMdd",
         "{'dt':'20200105','k':1}\n{'dt':'2020-01-05','k':2}\n{'dt':'20200230','k':3}\n{'dt':'20209901','k':4}\n{'dt':'29990101','k':5}",
         "{'dt':'2020-01-05','k':2}\n{'dt':'20209901','k':4}\n{'dt':'29990101','k':5}"},
        {"d DATE, k INT", "d", "", "{'d':'2020-01-05','k':1}", "{'d':'2020-01-05','k':1}"}, /* 18266 is no time */
        {"y INT, m INT, h STRING, k INT", "y,m,h", "partition.timestamp-pattern=$y-$m-01 $h:00:00",
         "{'y':2020,'m':1,'h':'08','k':1}\n{'y':2020,'m':1,'h':null,'k':2}\n{'y':2999,'m':1,'h':'08','k':3}\n{'y':2020,'m':14,'h':'8','k':4}",
         "{'y':2020,'m':1,'h':null,'k':2}\n{'y':2999,'m':1,'h':'08','k':3}"},
        {"n INT, k INT", "n", "partition.timestamp-formatter=yyyyMMddHH,partition.expiration-max-num=2", /* the least texts go first */
         "{'n':2020010203,'k':1}\n{'n':2020010103,'k':2}\n{'n':2020010303,'k':3}\n{'n':20200103,'k':4}",
         "{'n':2020010303,'k':3}\n{'n':20200103,'k':4}"},
        {"dt STRING, k INT", "dt", "partition.expiration-strategy=update-time", "{'dt':'2020-01-05','k':1}", "{'dt':'2020-01-05','k':1}"},
        {"a STRING, dt STRING, k INT", "a,dt", "partition.timestamp-pattern=$dt", /* the reference cannot tell its commas from the value's */
         "{'a':'x,y','dt':'2020-01-05','k':1}\n{'a':'x','dt':'2999-01-05','k':2}", "{'a':'x','dt':'2999-01-05','k':2}"},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        lake l = memory_lake();
        char options[512];
        int warnings = 0;
        snprintf(options, sizeof options, "%s%s%s", AGED, *cases[i].options == '\0' ? "" : ",", cases[i].options);
        create(&l, "t", cases[i].columns, NULL, cases[i].partition, options);
        tl_table *table = open_table(&l, "t");
        tl_log_set(quiet, &warnings, TL_LOG_WARN);
        put(table, cases[i].rows);
        tl_log_set(NULL, NULL, TL_LOG_WARN);
        assert_true(warnings <= 1);
        assert_rows(&l, "t", NULL, cases[i].stays);
        assert_sound(table);
        tl_table_free(table);
        close_lake(&l);
    }
}

static void partitions_are_looked_at_when_it_is_time(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        int64_t snapshots; /* after one batch commit */
    } cases[] = {
        {"partition.expiration-check-interval=36500d", 1},
        {"partition.expiration-check-interval=36500d,end-input.check-partition-expire=true", 2},
        {"partition.expiration-check-interval=0s", 2},
        {"partition.expiration-check-interval=0s,write-only=true", 1},
        {"partition.expiration-check-interval=0s,partition.expiration-batch-size=1", 4},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        lake l = memory_lake();
        char options[256];
        snprintf(options, sizeof options, "bucket=-1,partition.expiration-time=1d,%s", cases[i].options);
        create(&l, "t", "dt STRING, k INT", NULL, "dt", options);
        tl_table *table = open_table(&l, "t");
        put(table, "{'dt':'2020-01-01','k':1}\n{'dt':'2020-01-02','k':2}\n{'dt':'2020-01-03','k':3}\n{'dt':'2999-01-03','k':4}");
        assert_int_equal(snapshots_of(table), cases[i].snapshots);
        char **dropped = NULL;
        size_t n = 0;
        tl_error err;
        assert_ok(tl_table_expire_partitions(table, NULL, &dropped, &n, &err), &err); /* asked for, it is always time */
        assert_int_equal(n, cases[i].snapshots == 1 ? 3 : 0);
        if (n > 0)
            assert_string_equal(dropped[0], "dt=2020-01-01");
        tl_names_free(dropped, n);
        assert_rows(&l, "t", NULL, "{'dt':'2999-01-03','k':4}");
        tl_table_free(table);
        close_lake(&l);
    }
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    assert_int_equal(try_create(&l, "a", "k INT", NULL, NULL, "bucket=-1,partition.expiration-time=1d", &err), TL_E_INVALID);
    assert_int_equal(try_create(&l, "b", "p STRING, k INT", NULL, "p", "bucket=-1,partition.expiration-strategy=never", &err), TL_E_INVALID);
    assert_non_null(strstr(err.message, "Unknown partitionExpireStrategy: never"));
    assert_int_equal(try_create(&l, "c", "p STRING, k INT", NULL, "p", "bucket=-1,partition.timestamp-formatter=yyyy-bb", &err), TL_E_INVALID);
    create(&l, "d", "p STRING, k INT", NULL, "p", "bucket=-1");
    tl_table *table = open_table(&l, "d");
    char **dropped = NULL;
    size_t n = 0;
    assert_int_equal(tl_table_expire_partitions(table, NULL, &dropped, &n, &err), TL_E_INVALID);
    tl_table_free(table);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_give_times_as_in_the_reference),
        cmocka_unit_test(partitions_are_looked_at_when_it_is_time),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
