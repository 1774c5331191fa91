#include <pthread.h>
#include <stdatomic.h>

#include "base/bits.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "support/test.h"

static void murmur_is_the_references(void **state)
{
    (void)state;
    /* Format reference §7: the bucket hash of an INT key 1. */
    static const uint8_t row[16] = {[8] = 1};
    assert_int_equal((int32_t)tl_murmur32_words(row, sizeof row, 42), 1465514398);
}

static void varints_round_trip_and_stop_at_the_end(void **state)
{
    (void)state;
    static const uint64_t values[] = {0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX};
    for (size_t i = 0; i < TL_ARRAY_LEN(values); i++) {
        uint8_t bytes[10];
        size_t n = tl_varint_encode(values[i], bytes);
        uint64_t back;
        assert_int_equal(tl_varint_decode(bytes, bytes + n, &back), n);
        assert_true(back == values[i]);
        assert_int_equal(tl_varint_decode(bytes, bytes + n - 1, &back), 0);
    }
}

static void bitmaps_copy_between_any_positions(void **state)
{
    (void)state;
    uint64_t rnd = test_seed(1);
    for (int round = 0; round < 500; round++) {
        uint8_t src[32], dst[32], want[32];
        for (size_t i = 0; i < sizeof src; i++) {
            src[i] = (uint8_t)test_random(&rnd);
            dst[i] = want[i] = (uint8_t)test_random(&rnd);
        }
        int64_t from = (int64_t)(test_random(&rnd) % 100), to = (int64_t)(test_random(&rnd) % 100), n = (int64_t)(test_random(&rnd) % 120);
        int64_t ones = 0;
        for (int64_t i = 0; i < n; i++) {
            tl_bit_put(want, to + i, tl_bit_get(src, from + i));
            ones += tl_bit_get(src, from + i);
        }
        tl_bitmap_copy(dst, to, src, from, n);
        assert_memory_equal(dst, want, sizeof dst);
        assert_int_equal(tl_bitmap_count(src, from, n), ones);
    }
}

static void a_map_survives_many_removals(void **state)
{
    (void)state;
    tl_map map = {0};
    int values[1000];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 1000; i++)
            assert_int_equal(tl_map_put(&map, &i, sizeof i, &values[i], NULL), TL_OK);
        assert_int_equal(map.count, 1000);
        for (int i = 0; i < 1000; i++)
            assert_ptr_equal(tl_map_remove(&map, &i, sizeof i), &values[i]);
        int absent = -1;
        assert_null(tl_map_get(&map, &absent, sizeof absent));
    }
    tl_map_deinit(&map);
}

static void options_keep_order_and_replace(void **state)
{
    (void)state;
    tl_options options = {0}, copy = {0};
    assert_int_equal(tl_options_set(&options, "a", "1"), TL_OK);
    assert_int_equal(tl_options_set(&options, "b", "2"), TL_OK);
    assert_int_equal(tl_options_set(&options, "a", "3"), TL_OK);
    assert_int_equal(tl_options_dup(&options, &copy), TL_OK);
    assert_true(tl_options_remove(&options, "a"));
    assert_null(tl_options_get(&options, "a"));
    assert_string_equal(copy.keys[0], "a");
    assert_string_equal(tl_options_get(&copy, "a"), "3");
    tl_options_deinit(&options);
    tl_options_deinit(&copy);
}

static void an_allocation_fails_when_told(void **state)
{
    (void)state;
    tl_alloc_fail_at(2);
    void *first = tl_alloc(8), *second = tl_alloc(8), *third = tl_alloc(8);
    tl_alloc_fail_at(0);
    assert_non_null(first);
    assert_null(second);
    assert_non_null(third);
    tl_free(first);
    tl_free(third);
}

/* Blocks of any size, filled from end to end with what tells them apart. */
enum { HELD = 400 };
typedef struct held_block {
    uint8_t *data;
    size_t bytes;
    uint8_t mark;
} held_block;

static bool all_are(const uint8_t *data, size_t bytes, uint8_t mark)
{
    size_t others = 0;
    for (size_t i = 0; i < bytes; i++)
        others += data[i] != mark;
    return others == 0;
}

static void release_checked(held_block *b)
{
    assert_true(all_are(b->data, b->bytes, b->mark));
    tl_free(b->data);
    *b = (held_block){0};
}

static void hold(held_block *b, uint64_t *rnd)
{
    size_t bytes = test_random(rnd) % ((size_t)1 << (4 + test_random(rnd) % 14)) + 1; /* up to 128 KiB, most of them small */
    int how = b->data != NULL ? (int)(test_random(rnd) % 4) : 1 + (int)(test_random(rnd) % 3);
    if (b->data != NULL && how != 0)
        release_checked(b);
    size_t kept = TL_MIN(b->bytes, bytes);
    if (how == 0)
        b->data = tl_realloc(b->data, bytes);
    else
        b->data = how == 1 ? tl_alloc(bytes) : how == 2 ? tl_alloc_aligned(bytes) : tl_calloc(1, bytes);
    assert_non_null(b->data);
    assert_true(how == 0 ? all_are(b->data, kept, b->mark) : how != 3 || all_are(b->data, bytes, 0));
    assert_true(how != 2 || bytes <= 512 || (uintptr_t)b->data % 64 == 0);
    b->bytes = bytes;
    b->mark = (uint8_t)test_random(rnd);
    memset(b->data, b->mark, bytes);
}

static void *release_all(void *arg)
{
    held_block *blocks = arg;
    uint64_t rnd = 7;
    for (int i = 0; i < HELD; i++)
        release_checked(&blocks[i]);
    for (int i = 0; i < 4 * HELD; i++) /* out of what the other thread made */
        hold(&blocks[i % HELD], &rnd);
    return NULL;
}

static void a_block_has_one_owner_at_a_time(void **state)
{
    (void)state;
    static held_block blocks[HELD];
    uint64_t rnd = test_seed(3);
    for (int i = 0; i < 20 * HELD; i++)
        hold(&blocks[test_random(&rnd) % HELD], &rnd);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, release_all, blocks), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (int i = 0; i < HELD; i++)
        release_checked(&blocks[i]);
}

static void wrapped_errors_read_from_outside_in(void **state)
{
    (void)state;
    tl_error err;
    tl_status status = tl_error_set(&err, TL_E_CORRUPT, "block %d", 3);
    status = tl_error_wrap(&err, status, "manifest '%s'", "m-0");
    assert_int_equal(status, TL_E_CORRUPT);
    assert_string_equal(err.message, "manifest 'm-0': block 3");
}

typedef struct sum_task {
    tl_pool *pool;
    int depth;
    _Atomic int *count;
} sum_task;

static tl_status count_leaves(void *arg, tl_error *err)
{
    sum_task *t = arg;
    if (t->depth == 0) {
        (*t->count)++;
        return TL_OK;
    }
    sum_task children[3];
    tl_task_group *group;
    TL_TRY(tl_task_group_create(t->pool, &group, err));
    for (int i = 0; i < 3; i++) {
        children[i] = (sum_task){t->pool, t->depth - 1, t->count};
        TL_TRY(tl_task_group_run(group, count_leaves, &children[i], err));
    }
    tl_status status = tl_task_group_wait(group, err);
    tl_task_group_free(group);
    return status;
}

static void nested_groups_do_not_deadlock(void **state)
{
    (void)state;
    tl_pool *pool;
    tl_error err;
    assert_ok(tl_pool_create(2, &pool, &err), &err);
    _Atomic int count = 0;
    sum_task root = {pool, 5, &count};
    assert_ok(count_leaves(&root, &err), &err);
    assert_int_equal(count, 243);
    tl_pool_free(pool);
}

static tl_status note_thread(void *arg, tl_error *err)
{
    (void)err;
    *(pthread_t *)arg = pthread_self();
    return TL_OK;
}

static tl_status wait_until_set(void *arg, tl_error *err)
{
    (void)err;
    while (!atomic_load((atomic_bool *)arg))
        tl_sleep_ms(1);
    return TL_OK;
}

static void a_group_is_finished_however_busy_the_pool_is(void **state)
{
    (void)state;
    enum { FIRST, BUSY, MINE, LAST, GROUPS };
    tl_pool *pool;
    tl_error err;
    tl_task_group *groups[GROUPS];
    pthread_t ran_in[GROUPS] = {0};
    atomic_bool go_on = false;
    assert_ok(tl_pool_create(1, &pool, &err), &err);
    for (int i = 0; i < GROUPS; i++)
        assert_ok(tl_task_group_create(pool, &groups[i], &err), &err);
    assert_ok(tl_task_group_run(groups[BUSY], wait_until_set, &go_on, &err), &err);
    for (int round = 0; round < 2; round++) { /* from the end of the queue, too */
        assert_ok(tl_task_group_run(groups[FIRST], note_thread, &ran_in[FIRST], &err), &err);
        assert_ok(tl_task_group_run(groups[MINE], note_thread, &ran_in[MINE], &err), &err);
        if (round == 0)
            assert_ok(tl_task_group_run(groups[LAST], note_thread, &ran_in[LAST], &err), &err);
        ran_in[MINE] = 0;
        assert_ok(tl_task_group_finish(groups[MINE], &err), &err);
        assert_true(pthread_equal(ran_in[MINE], pthread_self()));
        assert_int_equal(tl_task_group_pending(groups[FIRST]), round + 1);
        assert_int_equal(tl_task_group_pending(groups[LAST]), 1);
    }
    atomic_store(&go_on, true);
    for (int i = 0; i < GROUPS; i++) {
        assert_ok(tl_task_group_finish(groups[i], &err), &err); /* whoever it is that does it */
        tl_task_group_free(groups[i]);
    }
    tl_pool_free(pool);
}

static void a_share_of_a_pool_runs_in_the_caller_until_there_are_threads(void **state)
{
    (void)state;
    tl_pool *pool, *share;
    tl_error err;
    assert_ok(tl_pool_create(2, &pool, &err), &err);
    assert_ok(tl_pool_share(pool, &share, &err), &err);
    for (int threads = 1; threads <= 2; threads++) {
        tl_task_group *group;
        pthread_t ran_in = pthread_self();
        tl_pool_share_set(share, threads);
        assert_int_equal(tl_pool_threads(share), threads);
        assert_ok(tl_task_group_create(share, &group, &err), &err);
        assert_ok(tl_task_group_run(group, note_thread, &ran_in, &err), &err);
        while (tl_task_group_pending(group) > 0) /* does not help, as waiting would */
            tl_sleep_ms(1);
        assert_true((pthread_equal(ran_in, pthread_self()) != 0) == (threads == 1));
        tl_task_group_free(group);
    }
    tl_pool_free(share);
    tl_pool_free(pool);
}

static tl_status always_fails(void *arg, tl_error *err)
{
    return tl_error_set(err, TL_E_IO, "task %d", *(int *)arg);
}

static void the_first_failure_of_a_group_is_told(void **state)
{
    (void)state;
    tl_pool *pool;
    tl_error err;
    int number = 7;
    assert_ok(tl_pool_create(2, &pool, &err), &err);
    tl_task_group *group;
    assert_ok(tl_task_group_create(pool, &group, &err), &err);
    assert_ok(tl_task_group_run(group, always_fails, &number, &err), &err);
    assert_fails(tl_task_group_wait(group, &err), TL_E_IO, &err, "task 7");
    tl_task_group_free(group);
    tl_pool_free(pool);
}

static atomic_int at_tasks, most_at_tasks;

static tl_status stay_a_while(void *arg, tl_error *err)
{
    (void)arg, (void)err;
    int now = atomic_fetch_add(&at_tasks, 1) + 1, most = atomic_load(&most_at_tasks);
    while (now > most && !atomic_compare_exchange_weak(&most_at_tasks, &most, now))
        continue;
    tl_sleep_ms(2);
    atomic_fetch_sub(&at_tasks, 1);
    return TL_OK;
}

/* Who waits helps, in the place of one of the pool's threads. */
static void a_pool_is_never_at_more_tasks_than_it_has_threads(void **state)
{
    (void)state;
    tl_error err;
    for (int threads = 1; threads <= 3; threads++) {
        tl_pool *pool;
        tl_task_group *group;
        atomic_store(&most_at_tasks, 0);
        assert_ok(tl_pool_create(threads, &pool, &err), &err);
        assert_ok(tl_task_group_create(pool, &group, &err), &err);
        for (int i = 0; i < 12; i++)
            assert_ok(tl_task_group_run(group, stay_a_while, NULL, &err), &err);
        assert_ok(tl_task_group_wait(group, &err), &err);
        assert_in_range(atomic_load(&most_at_tasks), 1, threads);
        tl_task_group_free(group);
        tl_pool_free(pool);
    }
}

static void lists_have_their_pieces_without_blanks(void **state)
{
    (void)state;
    static const struct {
        const char *list, *pieces; /* each in brackets */
    } cases[] = {{NULL, ""}, {"", ""}, {"a", "[a]"}, {" a , b\t,c", "[a][b][c]"}, {"a,,b", "[a][][b]"}, {"a,", "[a]"}, {" ", "[]"}, {",a b", "[][a b]"}};
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        char got[64] = "";
        size_t n = 0;
        tl_bytes_view piece;
        for (const char *at = cases[i].list; tl_list_next(&at, &piece);)
            n += (size_t)snprintf(got + n, sizeof got - n, "[%.*s]", (int)piece.len, (const char *)piece.data);
        assert_string_equal(got, cases[i].pieces);
    }
    assert_true(tl_list_has("id, name", "name"));
    assert_false(tl_list_has("id, names", "name"));
    assert_false(tl_list_has("id, name", "nam"));
    assert_false(tl_list_has(NULL, "name"));
}

/* Asked of Java: each is what new String(bytes, UTF_8) makes of it; '?' is U+FFFD. */
static void any_bytes_become_the_text_that_java_makes(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},           {"abc", "abc"},         {"\xc3\xa9", "\xc3\xa9"}, {"\xff" "A\xf0\x9f\x98", "?A?"}, {"\xf0\x9f\x98" "A", "?A"},
        {"\xc0\x80", "??"}, {"\xed\xa0\x80", "?"}, {"\xe2\x82" "A", "?A"},  {"\xe0\x80" "A", "??A"},        {"\xf4\x90\x80\x80", "????"},
        {"\xe2\xf0", "??"}, {"\xf0\x9f\xe2\x82\xac", "?\xe2\x82\xac"},        {"\xc3\xc3\xa9", "?\xc3\xa9"},
        {"\xed\xbf\xbf" "A", "?A"}, {"eight bytes \x80 and more", "eight bytes ? and more"},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        tl_buf got = {0}, want = {0};
        assert_int_equal(tl_utf8_append(&got, (tl_bytes_view){(const uint8_t *)cases[i][0], strlen(cases[i][0])}), TL_OK);
        for (const char *c = cases[i][1]; *c != '\0'; c++)
            assert_int_equal(*c == '?' ? tl_buf_append(&want, "\xef\xbf\xbd", 3) : tl_buf_append(&want, c, 1), TL_OK);
        assert_int_equal(got.len, want.len);
        assert_true(got.len == 0 || memcmp(got.data, want.data, got.len) == 0);
        assert_true(tl_utf8_valid((tl_bytes_view){got.data, got.len}));
        tl_buf_deinit(&got);
        tl_buf_deinit(&want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(murmur_is_the_references),
        cmocka_unit_test(varints_round_trip_and_stop_at_the_end),
        cmocka_unit_test(bitmaps_copy_between_any_positions),
        cmocka_unit_test(a_map_survives_many_removals),
        cmocka_unit_test(options_keep_order_and_replace),
        cmocka_unit_test(an_allocation_fails_when_told),
        cmocka_unit_test(a_block_has_one_owner_at_a_time),
        cmocka_unit_test(wrapped_errors_read_from_outside_in),
        cmocka_unit_test(nested_groups_do_not_deadlock),
        cmocka_unit_test(a_group_is_finished_however_busy_the_pool_is),
        cmocka_unit_test(a_share_of_a_pool_runs_in_the_caller_until_there_are_threads),
        cmocka_unit_test(the_first_failure_of_a_group_is_told),
        cmocka_unit_test(any_bytes_become_the_text_that_java_makes),
        cmocka_unit_test(lists_have_their_pieces_without_blanks),
        cmocka_unit_test(a_pool_is_never_at_more_tasks_than_it_has_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
