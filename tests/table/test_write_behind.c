/*
 * Rows that are gathered beside the caller, one batch behind (write_behind.c): what is committed is what was accepted, in order, whoever
 * gathers it and whatever fails.
 *
 * Each batch of a sum adds 1 to every key, so that one that is lost or doubled shows in every row; each batch of updates is
 * another's by its values, so that order shows.
 */
#include <stdatomic.h>

#include "table_support.h"

#define ROWS 24000 /* 288 KB: enough to be left behind */
#define BATCHES 5

static tl_batch *numbers(const tl_type *type, int64_t value, int64_t null_at)
{
    tl_batch *batch = NULL;
    tl_error err;
    assert_ok(tl_batch_create(type, ROWS, &batch, &err), &err);
    for (int c = 0; c < 2; c++)
        assert_ok(tl_column_alloc(type->fields[c].type, ROWS, &batch->cols[c], &err), &err);
    for (int64_t i = 0; i < ROWS; i++) {
        ((int32_t *)batch->cols[0]->values)[i] = (int32_t)i;
        ((int64_t *)batch->cols[1]->values)[i] = value;
    }
    if (null_at >= 0) {
        tl_column *k = batch->cols[0];
        assert_non_null(k->validity = tl_alloc(ROWS / 8));
        memset(k->validity, 0xff, ROWS / 8);
        k->validity[null_at / 8] = (uint8_t)~(1 << null_at % 8);
        k->null_count = 1;
    }
    return batch;
}

static tl_status put_numbers(tl_table *table, tl_table_writer *writer, int64_t value, tl_error *err)
{
    tl_batch *batch = numbers(tl_table_row_type(table), value, -1);
    tl_status status = tl_table_writer_write(writer, batch, err);
    tl_batch_free(batch);
    return status;
}

static tl_table *open_numbers(lake *l, const char *name, const char *options)
{
    create(l, name, "k INT NOT NULL, v BIGINT", "k", NULL, options);
    return open_table(l, name);
}

static tl_table_writer *writer_on(tl_table *table, tl_pool *pool)
{
    tl_write_options options = {.pool = pool};
    tl_table_writer *writer = NULL;
    tl_error err;
    assert_ok(tl_table_writer_create(table, &options, &writer, &err), &err);
    return writer;
}

static void commit_messages(tl_table *table, tl_commit_messages *messages)
{
    tl_commit_spec spec = batch_commit("w", 1);
    tl_commit_result result = {0};
    tl_error err;
    assert_ok(tl_table_commit(table, &spec, messages, &result, &err), &err);
    tl_commit_messages_deinit(messages);
}

/* Every key has this value. */
static void assert_values(tl_table *table, int64_t value)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    tl_scan_spec spec = {.limit = -1};
    tl_error err;
    int64_t rows = 0;
    assert_ok(tl_table_read(table, &spec, &reader, &err), &err);
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        assert_ok(tl_reader_next(reader, &batch, &err), &err);
        if (batch == NULL)
            break;
        for (int64_t i = 0; i < batch->n_rows; i++)
            assert_int_equal(((const int64_t *)batch->cols[1]->values)[i], value);
        rows += batch->n_rows;
    }
    assert_int_equal(rows, ROWS);
}

static tl_pool *pool_of(int threads)
{
    tl_pool *pool = NULL;
    tl_error err;
    assert_ok(tl_pool_create(threads, &pool, &err), &err);
    return pool;
}

static tl_status hold_up(void *arg, tl_error *err)
{
    (void)err;
    while (atomic_load((atomic_bool *)arg))
        tl_sleep_ms(1);
    return TL_OK;
}

static void write_values(tl_table *table, tl_pool *pool, atomic_bool *held, tl_commit_messages *out)
{
    tl_table_writer *writer = writer_on(table, pool);
    tl_error err;
    for (int i = 1; i <= BATCHES; i++)
        assert_ok(put_numbers(table, writer, i, &err), &err);
    atomic_store(held, false);
    assert_ok(tl_table_writer_prepare(writer, true, out, &err), &err);
    tl_table_writer_free(writer);
}

/* Rows, sequence numbers and order are as without a pool. `busy`: no thread of the pool gets to gather anything, the caller must. */
static void write_in_order(bool busy)
{
    lake l = memory_lake();
    tl_pool *pool = pool_of(2);
    tl_table *tables[] = {open_numbers(&l, "alone", "bucket=3"), open_numbers(&l, "beside", "bucket=3")};
    tl_commit_messages messages[2] = {{0}, {0}};
    tl_task_group *group = NULL;
    atomic_bool held = busy;
    tl_error err;
    write_values(tables[0], NULL, &held, &messages[0]);
    atomic_store(&held, busy);
    assert_ok(tl_task_group_create(pool, &group, &err), &err);
    for (int i = 0; i < 2; i++)
        assert_ok(tl_task_group_run(group, hold_up, &held, &err), &err);
    write_values(tables[1], pool, &held, &messages[1]);
    tl_task_group_free(group);
    assert_int_equal(messages[0].n, 3);
    assert_int_equal(messages[1].n, 3);
    for (size_t i = 0; i < 3; i++) {
        const tl_data_file *a = messages[0].items[i].new_files.items[0], *b = messages[1].items[i].new_files.items[0];
        assert_int_equal(messages[0].items[i].bucket, messages[1].items[i].bucket);
        assert_int_equal(a->rows, b->rows);
        assert_int_equal(a->min_seq, b->min_seq);
        assert_int_equal(a->max_seq, b->max_seq);
    }
    for (int t = 0; t < 2; t++) {
        commit_messages(tables[t], &messages[t]);
        assert_values(tables[t], BATCHES);
        tl_table_free(tables[t]);
    }
    tl_pool_free(pool);
    close_lake(&l);
}

static void rows_come_in_order_and_whole(void **state)
{
    (void)state;
    write_in_order(/* busy= */ false);
    write_in_order(/* busy= */ true);
}

static void a_batch_is_refused_by_the_call_that_brings_it(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_pool *pool = pool_of(2);
    tl_table *table = open_numbers(&l, "t", "bucket=3");
    tl_table_writer *writer = writer_on(table, pool);
    const tl_type *type = tl_table_row_type(table);
    tl_commit_messages messages = {0};
    tl_error err;
    tl_batch *with_null = numbers(type, 2, 77), *of_no_kind = numbers(type, 3, -1);
    of_no_kind->row_kind = tl_calloc(ROWS, 1);
    of_no_kind->row_kind[ROWS - 1] = TL_KIND_DELETE + 1;
    assert_ok(put_numbers(table, writer, 1, &err), &err);
    assert_int_equal(tl_table_writer_write(writer, with_null, &err), TL_E_INVALID);
    assert_string_equal(err.message, "Cannot write null to non-null column(k)");
    assert_int_equal(tl_table_writer_write(writer, of_no_kind, &err), TL_E_INVALID);
    assert_string_equal(err.message, "row kind 4 is unknown");
    assert_ok(tl_table_writer_prepare(writer, true, &messages, &err), &err);
    tl_table_writer_free(writer);
    commit_messages(table, &messages);
    assert_values(table, 1);
    tl_batch_free(with_null);
    tl_batch_free(of_no_kind);
    tl_table_free(table);
    tl_pool_free(pool);
    close_lake(&l);
}

static void a_writer_that_is_closed_takes_what_stayed_behind_with_it(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_pool *pool = pool_of(2);
    tl_table *table = open_numbers(&l, "t", "bucket=3");
    tl_table_writer *writer = writer_on(table, pool);
    tl_error err;
    assert_ok(put_numbers(table, writer, 1, &err), &err);
    tl_table_writer_free(writer);
    tl_table_free(table);
    tl_pool_free(pool);
    close_lake(&l);
}

/* A call that fails is made once more. False: the writer has failed for good. */
static bool write_all(tl_table_writer *writer, const tl_batch *ones, tl_commit_messages *messages)
{
    tl_error err;
    tl_status status = TL_OK;
    for (int i = 0; status == TL_OK && i < BATCHES; i++) {
        status = tl_table_writer_write(writer, ones, &err);
        if (status != TL_OK)
            status = tl_table_writer_write(writer, ones, &err);
    }
    if (status == TL_OK && tl_table_writer_prepare(writer, true, messages, &err) != TL_OK)
        status = tl_table_writer_prepare(writer, true, messages, &err);
    return status == TL_OK;
}

/* Allocation number `nth` fails; how many there were. */
static uint64_t write_with_fault(lake *l, tl_pool *pool, uint64_t nth, int *finished)
{
    tl_table *table = open_numbers(l, "t", "bucket=3,merge-engine=aggregation,fields.v.aggregate-function=sum");
    tl_table_writer *writer = writer_on(table, pool);
    tl_batch *ones = numbers(tl_table_row_type(table), 1, -1);
    tl_commit_messages messages = {0};
    tl_error err;
    tl_alloc_fail_at(nth);
    bool whole = write_all(writer, ones, &messages);
    uint64_t count = tl_alloc_count();
    tl_alloc_fail_at(0);
    tl_table_writer_free(writer);
    tl_batch_free(ones);
    if (whole) {
        commit_messages(table, &messages);
        assert_values(table, BATCHES);
        ++*finished;
    }
    tl_table_free(table);
    assert_ok(tl_table_drop(l->catalog, "d", "t", /* if_exists= */ false, &err), &err);
    return count;
}

static void no_batch_is_lost_or_doubled_for_want_of_memory(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_pool *pool = pool_of(2);
    int finished = 0;
    uint64_t n = write_with_fault(&l, pool, UINT64_MAX, &finished); /* none, to count them */
    assert_int_equal(finished, 1);
    for (uint64_t nth = 1; nth <= n; nth += n / 50)
        (void)write_with_fault(&l, pool, nth, &finished);
    assert_true(finished > 1); /* some of them a second try mends */
    tl_pool_free(pool);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_in_order_and_whole),
        cmocka_unit_test(a_batch_is_refused_by_the_call_that_brings_it),
        cmocka_unit_test(a_writer_that_is_closed_takes_what_stayed_behind_with_it),
        cmocka_unit_test(no_batch_is_lost_or_doubled_for_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
