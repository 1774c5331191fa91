/* Splits and commit messages in the reference's wire form: bytes, round trips, hostile bytes. */
#include "table_support.h"

#include <xxhash.h>

static tl_bytes bytes_of(const char *text)
{
    return (tl_bytes){tl_memdup(text, strlen(text)), strlen(text)};
}

static tl_bytes no_partition(void)
{
    static const uint8_t row[12] = {0};
    return (tl_bytes){tl_memdup(row, sizeof row), sizeof row};
}

static char **strs(int32_t n, const char *a, const char *b)
{
    char **list = tl_calloc((size_t)n + 1, sizeof *list);
    if (n > 0)
        list[0] = tl_strdup(a);
    if (n > 1)
        list[1] = tl_strdup(b);
    return list;
}

static tl_simple_stats stats(int32_t n, int64_t first_count)
{
    tl_simple_stats s = {.min = bytes_of("least row"), .max = bytes_of("greatest row"), .n = n};
    s.null_counts = tl_calloc((size_t)n + 1, sizeof *s.null_counts);
    for (int32_t i = 0; i < n; i++)
        s.null_counts[i] = first_count + i;
    return s;
}

/* A file with every field set, or with every optional one absent. */
static tl_data_file *some_file(const char *name, bool full)
{
    tl_data_file *f = tl_data_file_create();
    f->name = tl_strdup(name);
    f->bytes = 123456789012;
    f->rows = 1000;
    f->min_key = bytes_of("min key");
    f->max_key = bytes_of("max key");
    f->key_stats = stats(1, 0);
    f->value_stats = stats(3, -1);
    f->min_seq = 5;
    f->max_seq = 1004;
    f->schema_id = 7;
    f->level = 3;
    f->n_extra_files = full ? 2 : 0;
    f->extra_files = strs(f->n_extra_files, "x.index", "y.changelog");
    if (!full)
        return f;
    f->creation_time_ms = 1700000000123;
    f->delete_rows = 4;
    f->embedded_index = bytes_of("index");
    f->file_source = 1;
    f->n_value_stats_cols = 2;
    f->value_stats_cols = strs(2, "a", "b");
    f->external_path = tl_strdup("/elsewhere/with spaces/\xc3\xa4");
    f->first_row_id = 99;
    f->n_write_cols = 1;
    f->write_cols = strs(1, "a", NULL);
    return f;
}

static void fill_list(tl_file_list *list, int n, const char *prefix)
{
    tl_error err;
    for (int i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s-%d.parquet", prefix, i);
        tl_data_file *file = some_file(name, i % 2 == 0);
        assert_ok(tl_file_list_add(list, file, &err), &err);
        tl_data_file_unref(file);
    }
}

static tl_split some_split(void)
{
    tl_split s = {.snapshot_id = 42, .partition = no_partition(), .bucket = 3, .total_buckets = 8, .raw = true};
    fill_list(&s.files, 3, "data");
    return s;
}

static tl_buf split_bytes(const tl_split *split)
{
    tl_buf out = {0};
    tl_error err;
    assert_ok(tl_split_serialize(split, "/lake/d.db/t/bucket-3", &out, &err), &err);
    return out;
}

static tl_commit_message some_message(void)
{
    tl_commit_message m = {.partition = no_partition(), .bucket = 1, .total_buckets = 4};
    fill_list(&m.new_files, 2, "new");
    fill_list(&m.deleted_files, 1, "deleted");
    fill_list(&m.changelog_files, 1, "changelog");
    fill_list(&m.compact_before, 3, "before");
    fill_list(&m.compact_after, 1, "after");
    return m;
}

static tl_buf message_bytes(const tl_commit_message *message)
{
    tl_buf out = {0};
    tl_error err;
    assert_ok(tl_commit_message_serialize(message, &out, &err), &err);
    return out;
}

/* The form was compared with bytes that the reference wrote; here it is kept from changing. */
static void the_bytes_stay_those_of_the_reference(void **state)
{
    (void)state;
    tl_split split = some_split();
    tl_commit_message message = some_message();
    tl_buf a = split_bytes(&split), b = message_bytes(&message);
    assert_int_equal(a.len, 1404);
    assert_true(XXH3_64bits(a.data, a.len) == UINT64_C(0xb07d15cce228426f));
    assert_int_equal(b.len, 3681);
    assert_true(XXH3_64bits(b.data, b.len) == UINT64_C(0x94a92b804d827e62));
    tl_buf_deinit(&a);
    tl_buf_deinit(&b);
    tl_split_deinit(&split);
    tl_commit_message_deinit(&message);
}

static void what_was_serialised_comes_back(void **state)
{
    (void)state;
    tl_split split = some_split(), again = {0};
    tl_error err;
    tl_buf bytes = split_bytes(&split);
    assert_ok(tl_split_deserialize((tl_bytes_view){bytes.data, bytes.len}, &again, &err), &err);
    assert_int_equal(again.snapshot_id, 42);
    assert_int_equal(again.bucket, 3);
    assert_int_equal(again.total_buckets, 8);
    assert_true(again.raw);
    assert_false(again.streaming);
    assert_int_equal(again.files.n, 3);
    assert_string_equal(again.files.items[0]->external_path, "/elsewhere/with spaces/\xc3\xa4");
    assert_null(again.files.items[1]->external_path);
    assert_int_equal(again.files.items[0]->delete_rows, 4);
    assert_int_equal(again.files.items[1]->delete_rows, TL_ABSENT);
    assert_int_equal(again.files.items[1]->n_write_cols, -1);
    assert_int_equal(again.files.items[0]->value_stats.null_counts[0], -1);
    tl_buf twice = split_bytes(&again);
    assert_int_equal(twice.len, bytes.len);
    assert_memory_equal(twice.data, bytes.data, bytes.len);
    tl_buf_deinit(&twice);
    tl_buf_deinit(&bytes);
    tl_split_deinit(&split);
    tl_split_deinit(&again);

    tl_commit_message message = some_message(), message_again = {0};
    message.base_kind = TL_BASE_HASHES;
    message.base = UINT64_C(0xfedcba9876543210);
    bytes = message_bytes(&message);
    assert_ok(tl_commit_message_deserialize((tl_bytes_view){bytes.data, bytes.len}, &message_again, &err), &err);
    assert_int_equal(message_again.base_kind, TL_BASE_HASHES);
    assert_true(message_again.base == UINT64_C(0xfedcba9876543210));
    twice = message_bytes(&message_again);
    assert_int_equal(twice.len, bytes.len);
    assert_memory_equal(twice.data, bytes.data, bytes.len);
    tl_buf_deinit(&twice);
    tl_buf_deinit(&bytes);
    tl_commit_message_deinit(&message);
    tl_commit_message_deinit(&message_again);
}

static void bytes_that_are_cut_off_or_go_on_are_refused(void **state)
{
    (void)state;
    tl_split split = some_split(), again = {0};
    tl_error err;
    tl_buf bytes = split_bytes(&split);
    for (size_t len = 0; len < bytes.len; len++) {
        uint8_t *exact = malloc(len + 1);
        memcpy(exact, bytes.data, len);
        assert_int_not_equal(tl_split_deserialize((tl_bytes_view){exact, len}, &again, &err), TL_OK);
        free(exact);
    }
    assert_int_equal(tl_buf_append_byte(&bytes, 0), TL_OK);
    assert_int_equal(tl_split_deserialize((tl_bytes_view){bytes.data, bytes.len}, &again, &err), TL_E_CORRUPT);
    tl_buf_deinit(&bytes);
    tl_split_deinit(&split);
}

/* Whatever comes: no crash, no leak, no allocation beyond what the bytes can justify. */
static void damaged_bytes_never_crash(void **state)
{
    (void)state;
    uint64_t rng = test_seed(5);
    tl_split split = some_split();
    tl_commit_message message = some_message();
    tl_buf a = split_bytes(&split), b = message_bytes(&message);
    tl_error err;
    for (int i = 0; i < 20000; i++) {
        tl_buf *from = i % 2 ? &a : &b;
        uint8_t *copy = malloc(from->len);
        memcpy(copy, from->data, from->len);
        for (int k = 0; k <= (int)(test_random(&rng) % 4); k++)
            copy[test_random(&rng) % from->len] = test_random(&rng) % 3 ? (uint8_t)test_random(&rng) : 0xff;
        size_t len = test_random(&rng) % 4 ? from->len : test_random(&rng) % (from->len + 1);
        tl_split s = {0};
        tl_commit_message m = {0};
        if (tl_split_deserialize((tl_bytes_view){copy, len}, &s, &err) == TL_OK)
            tl_split_deinit(&s);
        if (tl_commit_message_deserialize((tl_bytes_view){copy, len}, &m, &err) == TL_OK)
            tl_commit_message_deinit(&m);
        free(copy);
    }
    tl_buf_deinit(&a);
    tl_buf_deinit(&b);
    tl_split_deinit(&split);
    tl_commit_message_deinit(&message);
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    tl_split split = some_split();
    tl_buf bytes = split_bytes(&split);
    tl_error err;
    for (uint64_t at = 1;; at++) {
        tl_split again = {0};
        tl_buf out = {0};
        tl_alloc_fail_at(at);
        tl_status status = tl_split_deserialize((tl_bytes_view){bytes.data, bytes.len}, &again, &err);
        if (status == TL_OK)
            status = tl_split_serialize(&again, "b", &out, &err);
        bool past = tl_alloc_count() < at;
        tl_alloc_fail_at(0);
        assert_true(status == TL_OK || status == TL_E_NOMEM);
        assert_true(status == TL_OK || !past);
        tl_buf_deinit(&out);
        tl_split_deinit(&again);
        if (past)
            break;
    }
    tl_buf_deinit(&bytes);
    tl_split_deinit(&split);
}

/* A worker that gets a plan's splits as bytes reads the same rows. */
static void splits_of_a_plan_can_be_read_elsewhere(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "p STRING NOT NULL, k INT NOT NULL, v STRING", "p,k", "p", "bucket=2");
    tl_table *planner = open_table(&l, "t"), *worker = open_table(&l, "t");
    tl_error err;
    put(planner, "{'p':'x','k':1,'v':'a'}\n{'p':'y','k':2,'v':'b'}\n{'p':'x','k':3,'v':'c'}");
    put(planner, "{'p':'x','k':1,'v':'A'}");
    tl_scan_spec spec = {.limit = -1};
    tl_splits splits = {0};
    tl_buf text = {0};
    assert_ok(tl_table_plan(planner, &spec, &splits, &err), &err);
    for (size_t i = 0; i < splits.n; i++) {
        tl_buf bytes = split_bytes(&splits.items[i]);
        tl_split sent = {0};
        tl_reader *reader = NULL;
        assert_ok(tl_split_deserialize((tl_bytes_view){bytes.data, bytes.len}, &sent, &err), &err);
        assert_ok(tl_table_read_split(worker, &sent, &spec, &reader, &err), &err);
        assert_ok(drain(reader, false, &text, &err), &err);
        tl_reader_free(reader);
        tl_split_deinit(&sent);
        tl_buf_deinit(&bytes);
    }
    assert_int_equal(tl_buf_append_byte(&text, 0), TL_OK);
    char *sorted = sort_lines((const char *)text.data);
    assert_lines(sorted, "{'p':'x','k':1,'v':'A'}\n{'p':'y','k':2,'v':'b'}\n{'p':'x','k':3,'v':'c'}");
    free(sorted);
    tl_buf_deinit(&text);
    tl_splits_deinit(&splits);
    tl_table_free(planner);
    tl_table_free(worker);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_stay_those_of_the_reference),
        cmocka_unit_test(what_was_serialised_comes_back),
        cmocka_unit_test(bytes_that_are_cut_off_or_go_on_are_refused),
        cmocka_unit_test(damaged_bytes_never_crash),
        cmocka_unit_test(every_failing_allocation_is_survived),
        cmocka_unit_test(splits_of_a_plan_can_be_read_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
