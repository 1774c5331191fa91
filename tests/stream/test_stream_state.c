/* What operators keep: rows that wait, heaps and lists by time, rankings, bags of values; each against a plain model. */
#include <stdlib.h>

#include "stream/keys.h"
#include "stream/ranking.h"
#include "stream/row_buffer.h"
#include "stream/time_heap.h"
#include "stream/time_list.h"
#include "stream/value_bag.h"
#include "stream/value_set.h"
#include "support/test.h"

static const tl_type *row_type(void)
{
    tl_error err;
    const tl_type *type, *row;
    assert_ok(tl_type_create(TL_BIGINT, true, 0, 0, &type, &err), &err);
    tl_field fields[2] = {{.name = (char *)"v", .id = 0, .type = type}, {.name = (char *)"n", .id = 1, .type = type}};
    assert_ok(tl_type_create_row(false, fields, 2, &row, &err), &err);
    tl_type_unref(type);
    return row;
}

/* Rows (v, n) with n counting up from `first`. */
static tl_batch *batch_of(const tl_type *type, const int64_t *v, int64_t n, int64_t first)
{
    tl_error err;
    tl_batch *batch;
    assert_ok(tl_batch_create(type, n, &batch, &err), &err);
    for (int c = 0; c < 2; c++)
        assert_ok(tl_column_alloc(type->fields[c].type, n, &batch->cols[c], &err), &err);
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)batch->cols[0]->values)[i] = v[i];
        ((int64_t *)batch->cols[1]->values)[i] = first + i;
    }
    return batch;
}

static int64_t number_of(const tl_row_buffer *rows, tl_rowref ref)
{
    return tl_col_i64(tl_row_buffer_column(rows, ref, 1), ref.row);
}

static void buffers_keep_rows_until_they_are_let_go(void **state)
{
    (void)state;
    enum { BATCH = 5000, BATCHES = 40 };
    uint64_t rnd = test_seed(41);
    tl_error err;
    const tl_type *type = row_type();
    tl_row_buffer rows = {0};
    tl_ref_list alive = {0};
    int64_t *numbers = calloc(BATCH * BATCHES, sizeof *numbers), *v = calloc(BATCH, sizeof *v);
    uint32_t *sel = calloc(BATCH, sizeof *sel);
    int compactions = 0;
    for (int b = 0; b < BATCHES; b++) {
        tl_batch *batch = batch_of(type, v, BATCH, (int64_t)b * BATCH);
        for (uint32_t i = 0; i < BATCH; i++)
            sel[i] = i;
        uint32_t chunk;
        assert_ok(tl_row_buffer_add(&rows, batch, sel, BATCH, &chunk, &err), &err);
        tl_batch_free(batch);
        int64_t kept = 0;
        for (int64_t i = 0; i < alive.n; i++) {
            bool is_new = numbers[i] >= (int64_t)(b - 1) * BATCH; /* of which few stay, those for long */
            if (is_new ? test_random(&rnd) % 10 != 0 : test_random(&rnd) % 50 == 0) {
                tl_row_buffer_release(&rows, alive.refs[i]);
                continue;
            }
            alive.refs[kept] = alive.refs[i];
            numbers[kept++] = numbers[i];
        }
        alive.n = kept;
        for (uint32_t i = 0; i < BATCH; i++) {
            numbers[alive.n] = (int64_t)b * BATCH + i;
            assert_int_equal(tl_ref_list_add(&alive, &(tl_rowref){chunk, i}, 1), TL_OK);
        }
        if (tl_row_buffer_is_sparse(&rows)) {
            tl_rowref **refs = calloc((size_t)alive.n, sizeof *refs);
            for (int64_t i = 0; i < alive.n; i++)
                refs[i] = &alive.refs[i];
            assert_ok(tl_row_buffer_compact(&rows, refs, alive.n, &err), &err);
            assert_int_equal(rows.rows, alive.n);
            free(refs);
            compactions++;
        }
        assert_int_equal(rows.alive, alive.n);
        for (int64_t i = 0; i < alive.n; i++)
            assert_int_equal(number_of(&rows, alive.refs[i]), numbers[i]);
    }
    for (int64_t i = 0; i < alive.n; i++)
        tl_row_buffer_release(&rows, alive.refs[i]);
    assert_int_equal(rows.rows, 0);
    assert_int_equal(rows.n, 0); /* the memory has gone with the last row */
    assert_true(compactions > 0);
    tl_row_buffer_deinit(&rows);
    tl_free(alive.refs);
    free(numbers);
    free(v);
    free(sel);
    tl_type_unref(type);
}

static void heaps_and_lists_give_times_in_order(void **state)
{
    (void)state;
    uint64_t rnd = test_seed(42);
    tl_time_heap heap = {0};
    tl_time_list list = {0};
    int64_t count[64] = {0};
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 40; i++) {
            int64_t time = (int64_t)(test_random(&rnd) % 64);
            assert_int_equal(tl_time_heap_push(&heap, time, NULL, (tl_rowref){0, (uint32_t)(round * 40 + i)}), TL_OK);
            int64_t *value = tl_time_list_at(&list, time, sizeof *value);
            assert_non_null(value);
            assert_int_equal(*value, count[time]); /* 0 when the time is new or was dropped */
            *value = ++count[time];
        }
        int64_t until = (int64_t)(test_random(&rnd) % 64), last = -1;
        uint32_t last_row = 0;
        while (tl_time_heap_is_due(&heap, until)) {
            tl_time_entry e = tl_time_heap_pop(&heap);
            assert_true(e.time >= last && e.time <= until);
            assert_true(e.time > last || e.row.row > last_row); /* equal times in order of arrival */
            last = e.time;
            last_row = e.row.row;
            count[e.time]--;
        }
        size_t n = tl_time_list_count(&list, until - 1);
        for (size_t i = 0; i < list.n; i++) {
            assert_int_equal(list.items[i].time <= until, i < n);
            assert_true(i == 0 || list.items[i - 1].time < list.items[i].time);
            assert_true(i < n || *(int64_t *)list.items[i].value == count[list.items[i].time]);
            if (i < n)
                tl_free(list.items[i].value);
        }
        for (int64_t t = 0; t <= until; t++)
            assert_int_equal(count[t], 0);
        tl_time_list_drop(&list, n);
    }
    tl_free(heap.entries);
    for (size_t i = 0; i < list.n; i++)
        tl_free(list.items[i].value);
    tl_time_list_deinit(&list);
}

/* Values in order; where they are equal by number, or the other way round. */
static bool stands_before(int64_t v, int64_t n, int64_t other_v, int64_t other_n, bool newest_first)
{
    return v != other_v ? v > other_v : newest_first ? n > other_n : n < other_n;
}

static void check_ranking(bool newest_first, int64_t limit, uint64_t rnd)
{
    enum { ROWS = 300 };
    tl_error err;
    const tl_type *type = row_type();
    tl_row_buffer rows = {0};
    const tl_sort_key key = {.column = 0, .descending = true};
    const tl_rank_order order = {&rows, &key, 1, newest_first};
    tl_ranking ranking = {0};
    int64_t v[ROWS];
    bool there[ROWS] = {false};
    for (int64_t i = 0; i < ROWS; i++) {
        v[i] = (int64_t)(test_random(&rnd) % 20);
        tl_batch *batch = batch_of(type, &v[i], 1, i);
        uint32_t chunk, zero = 0;
        tl_rowref dropped;
        bool has_dropped;
        assert_ok(tl_row_buffer_add(&rows, batch, &zero, 1, &chunk, &err), &err);
        tl_batch_free(batch);
        there[i] = true;
        assert_int_equal(tl_ranking_insert(&order, &ranking, (tl_rowref){chunk, 0}, limit, &dropped, &has_dropped), TL_OK);
        if (has_dropped) {
            there[number_of(&rows, dropped)] = false;
            tl_row_buffer_release(&rows, dropped);
        }
        if (limit > ROWS && test_random(&rnd) % 4 == 0) { /* take one back, there or not */
            int64_t k = (int64_t)(test_random(&rnd) % (uint64_t)(i + 1));
            tl_batch *old = batch_of(type, &v[k], 1, k);
            tl_rowref removed;
            assert_int_equal(tl_ranking_remove(&order, &ranking, old, 0, &removed), there[k]);
            if (there[k]) {
                assert_int_equal(number_of(&rows, removed), k);
                tl_row_buffer_release(&rows, removed);
            }
            there[k] = false;
            tl_batch_free(old);
        }
        int64_t n = 0;
        for (int64_t k = 0; k <= i; k++)
            n += there[k];
        assert_int_equal(ranking.n, n);
        for (int64_t k = 1; k < n; k++) {
            int64_t a = number_of(&rows, ranking.rows[k - 1]), b = number_of(&rows, ranking.rows[k]);
            assert_true(there[a] && there[b] && stands_before(v[a], a, v[b], b, newest_first));
        }
        if (limit <= ROWS && n == limit) /* nothing that fell off is better than what stayed */
            for (int64_t k = 0; k <= i; k++) {
                int64_t last = number_of(&rows, ranking.rows[n - 1]);
                assert_true(there[k] || k == last || stands_before(v[last], last, v[k], k, newest_first));
            }
    }
    tl_free(ranking.rows);
    tl_row_buffer_deinit(&rows);
    tl_type_unref(type);
}

static void rankings_are_in_order_and_keep_the_best(void **state)
{
    (void)state;
    check_ranking(false, INT64_MAX, test_seed(43));
    check_ranking(true, INT64_MAX, test_seed(44));
    check_ranking(false, 5, test_seed(45));
    check_ranking(true, 1, test_seed(46));
}

static void ordered_bags_remember_each_arrival(void **state)
{
    (void)state;
    uint64_t rnd = test_seed(47);
    tl_value_bag bag = {.ordered = true};
    uint8_t model[400];
    size_t n_model = 0;
    for (int round = 0; round < 1000; round++) {
        uint8_t value = (uint8_t)(test_random(&rnd) % 7);
        int64_t was, now;
        const tl_bytes_view bytes = {&value, 1};
        size_t at = 0;
        while (at < n_model && model[at] != value)
            at++;
        bool remove = at < n_model && (n_model > 300 || test_random(&rnd) % 2 == 0);
        assert_int_equal(tl_value_bag_add(&bag, bytes, bytes, remove ? -1 : 1, &was, &now), TL_OK);
        assert_int_equal(now - was, remove ? -1 : 1);
        if (remove) { /* the oldest of its kind goes */
            memmove(model + at, model + at + 1, n_model - at - 1);
            n_model--;
        } else {
            model[n_model++] = value;
        }
        tl_bag_item *items;
        size_t n;
        assert_int_equal(tl_value_bag_list(&bag, &items, &n), TL_OK);
        assert_int_equal(n, n_model);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(items[i].value->row.data[0], model[i]);
        tl_free(items);
        if (round % 3 == 0) { /* sometimes asked, so that known and forgotten extremes both occur */
            uint8_t least = 255, greatest = 0;
            for (size_t i = 0; i < n_model; i++) {
                least = TL_MIN(least, model[i]);
                greatest = TL_MAX(greatest, model[i]);
            }
            for (int k = 0; k < 2; k++) {
                const tl_bag_value *extreme = tl_value_bag_extreme(&bag, k == 1);
                assert_int_equal(extreme == NULL, n_model == 0);
                assert_true(extreme == NULL || extreme->row.data[0] == (k == 1 ? greatest : least));
            }
        }
        const tl_bag_value *first = tl_value_bag_end(&bag, false), *last = tl_value_bag_end(&bag, true);
        assert_int_equal(first == NULL, n_model == 0);
        if (n_model > 0) {
            assert_int_equal(first->row.data[0], model[0]);
            assert_int_equal(last->row.data[0], model[n_model - 1]);
        }
    }
    tl_value_bag_deinit(&bag);
}

/* Numbers and texts side by side against counts in an array; what comes is taken back later, in the end all of it. */
static void sets_know_which_values_are_there(void **state)
{
    (void)state;
    enum { VALUES = 500 };
    uint64_t rnd = test_seed(48);
    tl_value_set numbers = {0}, texts = {0}, only_added = {0};
    int64_t model[VALUES] = {0};
    bool ever[VALUES] = {false};
    for (int round = 0; round < 60000; round++) {
        size_t v = (size_t)(test_random(&rnd) % VALUES);
        int64_t delta = round > 40000 ? (model[v] > 0 ? -1 : model[v] < 0) : test_random(&rnd) % 2 == 0 ? 1 : -1;
        bool was, now, text_was, text_now, added_was, added_now;
        char text[32];
        int len = v == 1 ? 0 : snprintf(text, sizeof text, "value %zu", v);
        if (delta == 0)
            continue;
        assert_int_equal(tl_value_set_add_number(&numbers, v * UINT64_C(0x100000001), delta, true, &was, &now), TL_OK);
        assert_int_equal(tl_value_set_add_bytes(&texts, (tl_bytes_view){(const uint8_t *)text, (size_t)len}, delta, true, &text_was, &text_now), TL_OK);
        assert_int_equal(tl_value_set_add_number(&only_added, v, 1, false, &added_was, &added_now), TL_OK);
        assert_true(was == (model[v] > 0) && text_was == was && added_was == ever[v]);
        model[v] += delta;
        ever[v] = true;
        assert_true(now == (model[v] > 0) && text_now == now && added_now);
    }
    size_t there = 0;
    for (size_t v = 0; v < VALUES; v++)
        there += model[v] != 0;
    assert_int_equal(texts.n, there);
    assert_int_equal(numbers.n + (model[0] != 0), there);
    assert_true(texts.bytes.len < 64 * 1024); /* the room of what went is used again */
    tl_value_set_deinit(&numbers);
    tl_value_set_deinit(&texts);
    tl_value_set_deinit(&only_added);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_keep_rows_until_they_are_let_go),
        cmocka_unit_test(heaps_and_lists_give_times_in_order),
        cmocka_unit_test(rankings_are_in_order_and_keep_the_best),
        cmocka_unit_test(ordered_bags_remember_each_arrival),
        cmocka_unit_test(sets_know_which_values_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
