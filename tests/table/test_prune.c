/*
 * Pruning never hides rows: a read with a predicate gives what a full read gives after the predicate, for random tables and
 * random predicates. And it does leave out files: by partition, bucket, key and value.
 */
#include "table_support.h"

/* ---- random tables ---- */

typedef struct shape {
    const char *columns;
    const char *keys;
    const char *partition;
    const char *options;
} shape;

#define VALUES                                                                                                                  \
    "i INT, b BIGINT, s STRING, d DOUBLE, f FLOAT, dec DECIMAL(9;2), dt DATE, ts TIMESTAMP(3), ts6 TIMESTAMP(6), bo BOOLEAN, "    \
    "bin BYTES, ti TINYINT, l ARRAY<INT>"

static const shape shapes[] = {
    {"k INT, " VALUES, NULL, NULL, NULL},
    {"k INT, " VALUES, NULL, NULL, "bucket=3,bucket-key=k"},
    {"k INT, " VALUES, NULL, NULL, "bucket=2,bucket-key=s;i,metadata.stats-mode=full"},
    {"k INT, " VALUES, NULL, NULL, "metadata.stats-mode=counts"},
    {"k INT, " VALUES, NULL, NULL, "metadata.stats-mode=none,fields.i.stats-mode=full"},
    {"k INT, " VALUES, NULL, NULL, "metadata.stats-mode=truncate(2),metadata.stats-dense-store=false"},
    {"k INT, " VALUES, NULL, NULL, "metadata.stats-keep-first-n-columns=4"},
    {"p INT, q STRING, k INT, " VALUES, NULL, "p,q", NULL},
    {"p DATE, k INT, " VALUES, NULL, "p", "bucket=2,bucket-key=k"},
    {"k INT NOT NULL, " VALUES, "k", NULL, "bucket=2"},
    {"k INT NOT NULL, " VALUES, "k", NULL, "bucket=1,changelog-producer=lookup"},
    {"k INT NOT NULL, j STRING NOT NULL, " VALUES, "k,j", NULL, "bucket=3,num-sorted-run.compaction-trigger=2"},
    {"k INT NOT NULL, " VALUES, "k", NULL, "bucket=1,merge-engine=partial-update,ignore-delete=true"},
    {"k INT NOT NULL, " VALUES, "k", NULL, "bucket=1,merge-engine=aggregation,fields.b.aggregate-function=sum"},
    {"k INT NOT NULL, " VALUES, "k", NULL, "bucket=2,merge-engine=first-row,changelog-producer=none"},
    {"k INT NOT NULL, " VALUES, "k", NULL, "bucket=1,sequence.field=b"},
    {"p INT NOT NULL, k INT NOT NULL, " VALUES, "p,k", "p", "bucket=2,bucket-key=k"},
    {"p STRING NOT NULL, k INT NOT NULL, " VALUES, "k,p", "p", "bucket=1,data-file.thin-mode=true"},
};

static const char *type_text(const char *columns, char *out)
{
    strcpy(out, columns);
    for (char *c = out; *c != '\0'; c++)
        *c = *c == ';' ? ',' : *c;
    return out;
}

static tl_column *random_column(const tl_type *type, bool narrow, int64_t n, uint64_t *rng)
{
    tl_builder *builder = NULL;
    tl_column *col = NULL;
    tl_error err;
    assert_ok(tl_builder_create(type, &builder, &err), &err);
    for (int64_t i = 0; i < n; i++) {
        if (narrow && type->kind == TL_INT)
            assert_int_equal(tl_builder_int(builder, (int64_t)(test_random(rng) % 12)), TL_OK);
        else
            test_random_value(builder, type, type->nullable ? 20 : 0, rng);
    }
    assert_ok(tl_builder_finish(builder, &col, &err), &err);
    tl_builder_free(builder);
    return col;
}

/* Keys and partitions come from few values, so that files of one key meet. */
static tl_batch *random_rows(const tl_type *type, int64_t n, uint64_t *rng)
{
    tl_batch *batch = NULL;
    tl_error err;
    assert_ok(tl_batch_create(type, n, &batch, &err), &err);
    for (int32_t c = 0; c < type->n_fields; c++)
        batch->cols[c] = random_column(type->fields[c].type, /* narrow= */ strlen(type->fields[c].name) == 1, n, rng);
    return batch;
}

static void fill(tl_table *table, int commits, uint64_t *rng)
{
    tl_error err;
    for (int i = 0; i < commits; i++) {
        tl_table_writer *writer = NULL;
        tl_commit_messages messages = {0};
        tl_commit_result result;
        tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
        tl_batch *batch = random_rows(tl_table_schema_of(table)->row_type, 1 + (int64_t)(test_random(rng) % 12), rng);
        assert_ok(tl_table_writer_create(table, NULL, &writer, &err), &err);
        assert_ok(tl_table_writer_write(writer, batch, &err), &err);
        if (table->bucket_mode == TL_BUCKETS_FIXED && test_random(rng) % 3 == 0)
            assert_ok(tl_table_writer_compact(writer, test_random(rng) % 2 == 0, &err), &err);
        assert_ok(tl_table_writer_prepare(writer, true, &messages, &err), &err);
        assert_ok(tl_table_commit(table, &spec, &messages, &result, &err), &err);
        tl_commit_messages_deinit(&messages);
        tl_table_writer_free(writer);
        tl_batch_free(batch);
    }
}

/* ---- random predicates ---- */

static bool comparable(const tl_type *type)
{
    return type->kind != TL_ARRAY;
}

/* A value of the column in the table, as a column of one row; NULL if that row has none. */
static tl_column *some_value(const tl_batch *rows, int32_t c, uint64_t *rng)
{
    int64_t at = (int64_t)(test_random(rng) % (uint64_t)rows->n_rows);
    tl_builder *builder = NULL;
    tl_column *value = NULL;
    tl_error err;
    if (tl_col_is_null(rows->cols[c], at))
        return NULL;
    assert_ok(tl_builder_create(rows->type->fields[c].type, &builder, &err), &err);
    assert_int_equal(tl_builder_copy(builder, rows->cols[c], at), TL_OK);
    assert_ok(tl_builder_finish(builder, &value, &err), &err);
    tl_builder_free(builder);
    return value;
}

static tl_column *some_values(const tl_batch *rows, int32_t c, int n, uint64_t *rng)
{
    tl_builder *builder = NULL;
    tl_column *values = NULL;
    tl_error err;
    assert_ok(tl_builder_create(rows->type->fields[c].type, &builder, &err), &err);
    for (int i = 0; i < n; i++) {
        tl_column *one = some_value(rows, c, rng);
        if (one == NULL)
            continue;
        assert_int_equal(tl_builder_copy(builder, one, 0), TL_OK);
        tl_column_unref(one);
    }
    assert_ok(tl_builder_finish(builder, &values, &err), &err);
    tl_builder_free(builder);
    return values;
}

static tl_predicate *random_leaf(const tl_batch *rows, uint64_t *rng)
{
    static const tl_pred_op ops[] = {TL_PRED_EQ, TL_PRED_EQ, TL_PRED_NE, TL_PRED_LT, TL_PRED_LE, TL_PRED_GT,
                                     TL_PRED_GE, TL_PRED_IN, TL_PRED_NOT_IN, TL_PRED_BETWEEN, TL_PRED_STARTS_WITH};
    tl_predicate *pred = NULL;
    tl_error err;
    int32_t c = (int32_t)(test_random(rng) % (uint64_t)rows->n_cols);
    const tl_type *type = rows->type->fields[c].type;
    tl_pred_op op = ops[test_random(rng) % TL_ARRAY_LEN(ops)];
    if (op == TL_PRED_STARTS_WITH && type->kind != TL_VARCHAR)
        op = TL_PRED_EQ;
    int n = op == TL_PRED_BETWEEN ? 2 : op == TL_PRED_IN || op == TL_PRED_NOT_IN ? 1 + (int)(test_random(rng) % 3) : 1;
    tl_column *literals = comparable(type) && test_random(rng) % 8 != 0 ? some_values(rows, c, n, rng) : NULL;
    if (literals == NULL || literals->length == 0 || (op == TL_PRED_BETWEEN && literals->length != 2)) {
        tl_column_unref(literals);
        literals = NULL;
        op = test_random(rng) % 2 == 0 ? TL_PRED_IS_NULL : TL_PRED_IS_NOT_NULL;
    }
    assert_ok(tl_predicate_leaf(op, c, literals, &pred, &err), &err);
    return pred;
}

static tl_predicate *random_predicate(const tl_batch *rows, int depth, uint64_t *rng)
{
    tl_error err;
    tl_predicate *pred = NULL;
    switch (depth == 0 ? 9 : test_random(rng) % 6) {
    case 0: {
        tl_predicate *child = random_predicate(rows, depth - 1, rng);
        assert_ok(tl_predicate_negate(child, &pred, &err), &err);
        return pred;
    }
    case 1:
    case 2:
    case 3: {
        tl_predicate *a = random_predicate(rows, depth - 1, rng), *b = random_predicate(rows, depth - 1, rng);
        assert_ok(tl_predicate_combine(test_random(rng) % 3 == 0 ? TL_PRED_OR : TL_PRED_AND, a, b, &pred, &err), &err);
        return pred;
    }
    default:
        return random_leaf(rows, rng);
    }
}

/* ---- the property ---- */

static tl_batch *read_batch(tl_table *table, const tl_predicate *pred, tl_pool *pool)
{
    tl_scan_spec spec = {.predicate = pred, .limit = -1, .pool = pool};
    tl_reader *reader = NULL;
    tl_batch *parts[256], *all = NULL;
    int32_t n = 0;
    tl_error err;
    assert_ok(tl_table_read(table, &spec, &reader, &err), &err);
    for (;;) {
        tl_batch *batch = NULL;
        assert_ok(tl_reader_next(reader, &batch, &err), &err);
        if (batch == NULL)
            break;
        assert_true(n < 256);
        parts[n++] = batch;
    }
    if (n > 0)
        assert_ok(tl_batch_concat((const tl_batch *const *)parts, n, &all, &err), &err);
    for (int32_t i = 0; i < n; i++)
        tl_batch_free(parts[i]);
    tl_reader_free(reader);
    return all;
}

static char *text_of(const tl_batch *batch)
{
    tl_buf text = {0};
    if (batch != NULL)
        assert_int_equal(tl_text_append_json_lines(&text, batch, 0, batch->n_rows, false, false), TL_OK);
    assert_int_equal(tl_buf_append_byte(&text, 0), TL_OK);
    char *sorted = sort_lines((const char *)text.data);
    tl_buf_deinit(&text);
    return sorted;
}

static tl_batch *filter(const tl_batch *rows, const tl_predicate *pred)
{
    uint32_t *sel = malloc((size_t)rows->n_rows * sizeof *sel);
    int64_t n = 0;
    tl_batch *out = NULL;
    tl_error err;
    assert_ok(tl_predicate_eval(pred, (const tl_column *const *)rows->cols, rows->n_rows, sel, &n, &err), &err);
    assert_ok(tl_batch_gather(rows, sel, n, &out, &err), &err);
    free(sel);
    return out;
}

static void check_shape(const shape *s, tl_pool *pool, uint64_t *rng)
{
    lake l = memory_lake();
    char columns[1024];
    create(&l, "t", type_text(s->columns, columns), s->keys, s->partition, s->options);
    tl_table *table = open_table(&l, "t");
    fill(table, 2 + (int)(test_random(rng) % 8), rng);
    tl_batch *all = read_batch(table, NULL, NULL);
    for (int i = 0; i < 60; i++) {
        tl_predicate *pred = random_predicate(all, 3, rng);
        tl_batch *want = filter(all, pred), *got = read_batch(table, pred, i % 2 == 0 ? pool : NULL);
        char *want_text = text_of(want), *got_text = text_of(got);
        if (strcmp(want_text, got_text) != 0)
            fail_msg("%s (%s), predicate %d: got\n%swanted\n%s", s->columns, s->options == NULL ? "" : s->options, i, got_text,
                     want_text);
        free(want_text);
        free(got_text);
        tl_batch_free(want);
        tl_batch_free(got);
        tl_predicate_free(pred);
    }
    tl_batch_free(all);
    tl_table_free(table);
    close_lake(&l);
}

static void a_pruned_read_gives_what_a_full_read_gives(void **state)
{
    (void)state;
    uint64_t rng = test_seed(7);
    tl_pool *pool = NULL;
    tl_error err;
    assert_ok(tl_pool_create(2, &pool, &err), &err);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < TL_ARRAY_LEN(shapes); i++)
            check_shape(&shapes[i], pool, &rng);
    }
    tl_pool_free(pool);
}

/* ---- what is left out ---- */

static size_t planned_files(tl_table *table, const char *where)
{
    tl_predicate *pred = predicate_of(tl_table_row_type(table), where);
    tl_scan_spec spec = {.predicate = pred, .limit = -1};
    tl_splits splits = {0};
    tl_error err;
    assert_ok(tl_table_plan(table, &spec, &splits, &err), &err);
    size_t files = 0;
    for (size_t i = 0; i < splits.n; i++)
        files += splits.items[i].files.n;
    tl_splits_deinit(&splits);
    tl_predicate_free(pred);
    return files;
}

static void files_of_other_partitions_are_not_planned(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "p INT, q STRING, k INT", NULL, "p,q", NULL);
    tl_table *table = open_table(&l, "t");
    put(table, "{'p':1,'q':'a','k':1}\n{'p':1,'q':'b','k':2}\n{'p':2,'q':'a','k':3}\n{'p':null,'q':'a','k':4}");
    assert_int_equal(planned_files(table, "[\"=\",\"p\",1]"), 2);
    assert_int_equal(planned_files(table, "[\"and\",[\"=\",\"p\",1],[\"=\",\"q\",\"b\"]]"), 1);
    assert_int_equal(planned_files(table, "[\"isNull\",\"p\"]"), 1);
    assert_int_equal(planned_files(table, "[\">\",\"p\",1]"), 1);
    assert_int_equal(planned_files(table, "[\"or\",[\"=\",\"p\",2],[\"=\",\"k\",4]]"), 2);
    tl_table_free(table);
    close_lake(&l);
}

static void other_buckets_are_not_planned_when_the_key_is_given(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=8");
    tl_table *table = open_table(&l, "t");
    put(table, "{'k':1}\n{'k':2}\n{'k':3}\n{'k':4}\n{'k':5}\n{'k':6}\n{'k':7}\n{'k':8}\n{'k':9}\n{'k':10}\n{'k':11}");
    assert_true(planned_files(table, "[\">\",\"k\",0]") > 4);
    assert_int_equal(planned_files(table, "[\"=\",\"k\",5]"), 1);
    assert_true(planned_files(table, "[\"in\",\"k\",[5,6]]") <= 2);
    tl_table_free(table);
    close_lake(&l);
}

static void values_prune_append_files_and_keys_prune_keyed_ones(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "a", "k INT, v INT", NULL, NULL, "write-only=true");
    create(&l, "b", "k INT NOT NULL, v INT", "k", NULL, "bucket=1,write-only=true");
    const char *names[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        tl_table *table = open_table(&l, names[i]);
        for (int c = 0; c < 4; c++) {
            char lines[128];
            snprintf(lines, sizeof lines, "{'k':%d,'v':%d}\n{'k':%d,'v':%d}", c * 10, c, c * 10 + 5, c);
            put(table, lines);
        }
        assert_int_equal(planned_files(table, "[\"=\",\"k\",15]"), 1);
        assert_int_equal(planned_files(table, "[\"between\",\"k\",5,15]"), 2);
        /* level 0 of a keyed table overlaps nothing here, but values of one file alone must not decide about a key */
        assert_int_equal(planned_files(table, "[\"=\",\"v\",2]"), i == 0 ? 1 : 4);
        tl_table_free(table);
    }
    tl_table *compacted = open_with(&l, "b", "write-only=false");
    tl_commit_result result;
    tl_error err;
    assert_ok(tl_table_compact(compacted, NULL, true, NULL, &result, &err), &err);
    assert_int_equal(planned_files(compacted, "[\"=\",\"v\",9]"), 0);
    assert_int_equal(planned_files(compacted, "[\"=\",\"v\",2]"), 1);
    tl_table_free(compacted);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pruned_read_gives_what_a_full_read_gives),
        cmocka_unit_test(files_of_other_partitions_are_not_planned),
        cmocka_unit_test(other_buckets_are_not_planned_when_the_key_is_given),
        cmocka_unit_test(values_prune_append_files_and_keys_prune_keyed_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
