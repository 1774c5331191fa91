/* Reading a bucket: predicates, projections, kinds, partition columns, files of older schemas. */
#include "base/json.h"
#include "lsm_support.h"
#include "types/text.h"

/* ---- a bucket with overlapping levels ---- */

typedef struct world {
    tl_fs *fs;
    tl_lsm_config *config;
    tl_file_list live;
    rows content;
} world;

static const char *const options[] = {"bucket", "1", "num-sorted-run.compaction-trigger", "4", NULL};

static void put(rows *content, row r)
{
    for (size_t i = 0; i < content->n; i++) {
        if (compare_keys(&content->items[i], &r) != 0)
            continue;
        if (tl_kind_is_retract(r.kind))
            content->items[i] = content->items[--content->n];
        else
            content->items[i] = r;
        return;
    }
    if (!tl_kind_is_retract(r.kind))
        rows_add(content, r);
}

static world open_world(const char *const *with, int commits, uint64_t *rng)
{
    world w = {.fs = memory_fs()};
    tl_bucket_writer *writer = NULL;
    tl_error err;
    w.config = make_config_on(w.fs, with, /* keyed= */ true);
    assert_ok(tl_bucket_writer_create(w.config, NO_PARTITION, 0, 1, NULL, 0, NULL, &writer, &err), &err);
    for (int c = 0; c < commits; c++) {
        row list[300];
        tl_commit_message msg;
        for (int i = 0; i < 300; i++) {
            list[i] = (row){
                .k = (int32_t)(test_random(rng) % 400) + c * 60, .t = 1, .has_a = true, .a = (int64_t)(test_random(rng) % 10)};
            list[i].has_b = test_random(rng) % 5 != 0;
            list[i].b = list[i].has_b ? (int32_t)(test_random(rng) % 10) : 0;
            list[i].kind = test_random(rng) % 8 == 0 ? TL_KIND_DELETE : TL_KIND_INSERT;
            put(&w.content, list[i]);
        }
        tl_batch *batch = make_batch(w.config->schema->row_type, list, 300);
        assert_ok(tl_bucket_writer_write(writer, batch, &err), &err);
        assert_ok(tl_bucket_writer_prepare(writer, /* wait= */ true, &msg, &err), &err);
        apply_message(&w.live, &msg);
        tl_commit_message_deinit(&msg);
        tl_batch_free(batch);
    }
    tl_bucket_writer_free(writer);
    return w;
}

static void close_world(world *w)
{
    rows_free(&w->content);
    tl_file_list_deinit(&w->live);
    tl_lsm_config_unref(w->config);
    tl_fs_unref(w->fs);
}

static tl_predicate *parse_predicate(tl_arena *arena, const tl_type *type, const char *text)
{
    const tl_json *json = NULL;
    tl_predicate *pred = NULL;
    tl_error err;
    assert_ok(tl_json_parse(arena, (tl_bytes_view){(const uint8_t *)text, strlen(text)}, &json, &err), &err);
    assert_ok(tl_predicate_from_json(json, type, &pred, &err), &err);
    return pred;
}

typedef bool (*row_test)(const row *r);

static bool a_is_3(const row *r)
{
    return r->a == 3;
}
static bool key_range(const row *r)
{
    return r->k >= 100 && r->k < 150;
}
static bool key_and_value(const row *r)
{
    return r->k >= 100 && r->has_b && r->b > 5;
}
static bool key_or_value(const row *r)
{
    return r->k < 20 || (r->has_b && r->b == 2);
}
static bool b_is_null(const row *r)
{
    return !r->has_b;
}
static bool not_small(const row *r)
{
    return !(r->k < 300 && r->a < 9);
}

static bool all(const row *r)
{
    (void)r;
    return true;
}
static bool none(const row *r)
{
    (void)r;
    return false;
}

/* Few records pass the first, so that candidates are looked for and found; all pass the last but one, which gives that up. */
static const struct {
    const char *json;
    row_test test;
} predicates[] = {
    {"[\"=\", \"a\", 3]", a_is_3},
    {"[\"and\", [\">=\", \"k\", 100], [\"<\", \"k\", 150]]", key_range},
    {"[\"and\", [\">=\", \"k\", 100], [\">\", \"b\", \"b005\"]]", key_and_value},
    {"[\"or\", [\"<\", \"k\", 20], [\"=\", \"b\", \"b002\"]]", key_or_value},
    {"[\"isNull\", \"b\"]", b_is_null},
    {"[\"not\", [\"and\", [\"<\", \"k\", 300], [\"<\", \"a\", 9]]]", not_small},
    {"[\">=\", \"a\", -1000000]", all},
    {"[\"<\", \"a\", -1000000]", none},
};

static void check_predicates(world *w)
{
    for (size_t p = 0; p < TL_ARRAY_LEN(predicates); p++) {
        tl_arena arena = {0};
        tl_predicate *pred = parse_predicate(&arena, w->config->schema->row_type, predicates[p].json);
        tl_bucket_read_spec spec = {.predicate = pred};
        tl_reader *reader = NULL;
        rows got = {0}, want = {0};
        tl_error err;
        for (size_t i = 0; i < w->content.n; i++) {
            if (predicates[p].test(&w->content.items[i]))
                rows_add(&want, w->content.items[i]);
        }
        assert_ok(tl_bucket_read(w->config, NO_PARTITION, 0, w->live.items, w->live.n, &spec, &reader, &err), &err);
        drain(reader, &got);
        assert_same_rows(&got, &want, /* with_kinds= */ false);
        rows_free(&got);
        rows_free(&want);
        tl_predicate_free(pred);
        tl_arena_deinit(&arena);
    }
}

static void predicates_hold_for_merged_rows(void **state)
{
    (void)state;
    uint64_t rng = test_seed(3);
    static const char *const lookup[] = {"bucket", "1", "changelog-producer", "lookup", NULL};
    static const char *const write_only[] = {"bucket", "1", "write-only", "true", NULL};
    const char *const *all[] = {options, lookup, write_only};
    for (size_t i = 0; i < TL_ARRAY_LEN(all); i++) {
        for (int commits = 1; commits < 8; commits++) {
            world w = open_world(all[i], commits, &rng);
            check_predicates(&w);
            close_world(&w);
        }
    }
}

static void any_columns_can_be_read_in_any_order(void **state)
{
    (void)state;
    uint64_t rng = test_seed(4);
    static const int32_t lists[][3] = {{3, 0, -1}, {2, -1, -1}, {4, 3, 2}, {1, -1, -1}, {0, 1, -1}};
    tl_arena arena = {0};
    world w = open_world(options, 6, &rng);
    tl_predicate *pred = parse_predicate(&arena, w.config->schema->row_type, "[\"=\", \"a\", 3]");
    for (size_t l = 0; l < TL_ARRAY_LEN(lists); l++) {
        for (int with_pred = 0; with_pred < 2; with_pred++) {
            int32_t n = 0;
            while (n < 3 && lists[l][n] >= 0)
                n++;
            tl_bucket_read_spec spec = {.columns = lists[l], .n_columns = n, .predicate = with_pred ? pred : NULL};
            tl_reader *reader = NULL;
            tl_error err;
            size_t rows_got = 0, want = 0;
            for (size_t i = 0; i < w.content.n; i++)
                want += !with_pred || a_is_3(&w.content.items[i]);
            assert_ok(tl_bucket_read(w.config, NO_PARTITION, 0, w.live.items, w.live.n, &spec, &reader, &err), &err);
            for (;;) {
                tl_batch *batch = NULL;
                assert_ok(tl_reader_next(reader, &batch, &err), &err);
                if (batch == NULL)
                    break;
                assert_int_equal(batch->n_cols, n);
                assert_null(batch->row_kind);
                assert_null(batch->seq);
                for (int32_t c = 0; c < n; c++) {
                    assert_int_equal(batch->cols[c]->length, batch->n_rows);
                    assert_true(
                        tl_type_equal(batch->cols[c]->type, w.config->schema->row_type->fields[lists[l][c]].type, false));
                }
                rows_got += (size_t)batch->n_rows;
                tl_batch_free(batch);
            }
            tl_reader_free(reader);
            assert_int_equal(rows_got, want);
        }
    }
    tl_predicate_free(pred);
    tl_arena_deinit(&arena);
    close_world(&w);
}

static void deletes_show_when_asked_for(void **state)
{
    (void)state;
    static const char *const write_only[] = {"bucket", "1", "write-only", "true", NULL};
    world w = {.fs = memory_fs()};
    tl_bucket_writer *writer = NULL;
    tl_error err;
    rows got = {0};
    w.config = make_config_on(w.fs, write_only, true);
    for (int c = 0; c < 2; c++) {
        row list[2] = {{.k = 1, .t = 1, .kind = c == 0 ? TL_KIND_INSERT : TL_KIND_DELETE},
                       {.k = 2, .t = 1, .kind = TL_KIND_UPDATE_AFTER}};
        tl_commit_message msg;
        tl_batch *batch = make_batch(w.config->schema->row_type, list, 2);
        assert_ok(tl_bucket_writer_create(w.config, NO_PARTITION, 0, 1, w.live.items, w.live.n, NULL, &writer, &err), &err);
        assert_ok(tl_bucket_writer_write(writer, batch, &err), &err);
        assert_ok(tl_bucket_writer_prepare(writer, true, &msg, &err), &err);
        apply_message(&w.live, &msg);
        tl_commit_message_deinit(&msg);
        tl_batch_free(batch);
        tl_bucket_writer_free(writer);
    }
    tl_bucket_read_spec spec = {.keep_deletes = true, .with_seq = true};
    tl_reader *reader = NULL;
    assert_ok(tl_bucket_read(w.config, NO_PARTITION, 0, w.live.items, w.live.n, &spec, &reader, &err), &err);
    drain(reader, &got);
    assert_int_equal(got.n, 2);
    assert_int_equal(got.items[0].kind, TL_KIND_DELETE);
    assert_int_equal(got.items[0].seq, 2);
    assert_int_equal(got.items[1].kind, TL_KIND_UPDATE_AFTER);
    assert_int_equal(got.items[1].seq, 3);
    rows_free(&got);
    close_world(&w);
}

/* ---- partitions and older schemas: tables told as JSON ---- */

static tl_lsm_config *config_of_json(tl_fs *fs, const char *json, bool publish)
{
    tl_table_schema *schema = NULL;
    tl_lsm_config *config = NULL;
    tl_paths paths = {.table = "/t"};
    tl_error err;
    assert_ok(tl_table_schema_parse((tl_bytes_view){(const uint8_t *)json, strlen(json)}, &schema, &err), &err);
    if (publish)
        assert_ok(tl_schema_publish(fs, &paths, schema, &err), &err);
    assert_ok(tl_lsm_config_create(fs, &paths, schema, &config, &err), &err);
    tl_table_schema_unref(schema);
    return config;
}

/* Batch of one row out of JSON. */
static tl_batch *batch_of_json(const tl_type *type, const char *text)
{
    tl_batch *batch = NULL;
    tl_arena arena = {0};
    const tl_json *json = NULL;
    tl_error err;
    assert_ok(tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)text, strlen(text)}, &json, &err), &err);
    assert_ok(tl_batch_create(type, 1, &batch, &err), &err);
    for (int32_t c = 0; c < type->n_fields; c++) {
        tl_builder *builder = NULL;
        assert_ok(tl_builder_create(type->fields[c].type, &builder, &err), &err);
        const tl_json *value = tl_json_get(json, type->fields[c].name);
        if (tl_json_is_null(value))
            assert_int_equal(tl_builder_null(builder), TL_OK);
        else
            assert_ok(tl_text_read_json(value, type->fields[c].type, builder, &err), &err);
        assert_ok(tl_builder_finish(builder, &batch->cols[c], &err), &err);
        tl_builder_free(builder);
    }
    tl_arena_deinit(&arena);
    return batch;
}

static void write_json(tl_lsm_config *config, tl_bytes_view partition, tl_file_list *live, const char *const *lines, size_t n)
{
    tl_bucket_writer *writer = NULL;
    tl_commit_message msg;
    tl_error err;
    assert_ok(tl_bucket_writer_create(config, partition, 0, 1, live->items, live->n, NULL, &writer, &err), &err);
    for (size_t i = 0; i < n; i++) {
        tl_batch *batch = batch_of_json(config->schema->row_type, lines[i]);
        assert_ok(tl_bucket_writer_write(writer, batch, &err), &err);
        tl_batch_free(batch);
    }
    assert_ok(tl_bucket_writer_prepare(writer, true, &msg, &err), &err);
    apply_message(live, &msg);
    tl_commit_message_deinit(&msg);
    tl_bucket_writer_free(writer);
}

static void assert_reads(tl_lsm_config *config, tl_bytes_view partition, const tl_file_list *live, const char *pred_text,
                         const char *want)
{
    tl_arena arena = {0};
    tl_predicate *pred = pred_text == NULL ? NULL : parse_predicate(&arena, config->schema->row_type, pred_text);
    tl_bucket_read_spec spec = {.predicate = pred};
    tl_reader *reader = NULL;
    tl_buf text = {0};
    char *got = NULL;
    tl_error err;
    assert_ok(tl_bucket_read(config, partition, 0, live->items, live->n, &spec, &reader, &err), &err);
    for (;;) {
        tl_batch *batch = NULL;
        assert_ok(tl_reader_next(reader, &batch, &err), &err);
        if (batch == NULL)
            break;
        for (int64_t i = 0; i < batch->n_rows; i++) {
            assert_int_equal(tl_text_append_json_row(&text, batch, i, false, 0), TL_OK);
            assert_int_equal(tl_buf_append_byte(&text, '\n'), TL_OK);
        }
        tl_batch_free(batch);
    }
    assert_int_equal(tl_buf_steal_str(&text, &got), TL_OK);
    assert_string_equal(got, want);
    tl_free(got);
    tl_reader_free(reader);
    tl_predicate_free(pred);
    tl_arena_deinit(&arena);
}

#define FIELD(ID, NAME, TYPE) "{\"id\":" #ID ",\"name\":\"" NAME "\",\"type\":\"" TYPE "\"}"
#define SCHEMA(ID, FIELDS, PARTITIONS, KEYS)                                                                    \
    "{\"version\":3,\"id\":" #ID ",\"fields\":[" FIELDS "],\"highestFieldId\":9,\"partitionKeys\":[" PARTITIONS \
    "],\"primaryKeys\":[" KEYS "],\"options\":{\"bucket\":\"1\"}}"

static void partition_columns_come_from_the_partition(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    tl_lsm_config *config =
        config_of_json(fs,
                       SCHEMA(0, FIELD(0, "p", "STRING NOT NULL") "," FIELD(1, "k", "INT NOT NULL") "," FIELD(2, "v", "BIGINT"),
                              "\"p\"", "\"p\",\"k\""),
                       false);
    static const char *const lines[] = {"{\"p\":\"x\",\"k\":1,\"v\":10}", "{\"p\":\"x\",\"k\":2,\"v\":20}"};
    static const char *const again[] = {"{\"p\":\"x\",\"k\":1,\"v\":11}"};
    tl_file_list live = {0};
    tl_batch *key_row = batch_of_json(config->partition_type, "{\"p\":\"x\"}");
    tl_buf partition = {0};
    assert_int_equal(tl_binary_row_append(&partition, (const tl_column *const *)key_row->cols, 1, 0, 0, true), TL_OK);
    tl_bytes_view p = {partition.data, partition.len};
    write_json(config, p, &live, lines, 2);
    assert_int_equal(count_files(fs, "/t/p=x/bucket-0"), 1);
    /* The file says x; what counts is the manifest's row. */
    tl_batch *other = batch_of_json(config->partition_type, "{\"p\":\"y\"}");
    tl_buf renamed = {0};
    tl_error err;
    assert_int_equal(tl_binary_row_append(&renamed, (const tl_column *const *)other->cols, 1, 0, 0, true), TL_OK);
    assert_ok(tl_fs_rename(fs, "/t/p=x", "/t/p=y", false, &err), &err);
    tl_bytes_view y = {renamed.data, renamed.len};
    assert_reads(config, y, &live, NULL, "{\"p\":\"y\",\"k\":1,\"v\":10}\n{\"p\":\"y\",\"k\":2,\"v\":20}\n");
    assert_reads(config, y, &live, "[\"=\",\"p\",\"x\"]", "");
    assert_reads(config, y, &live, "[\"and\",[\"=\",\"p\",\"y\"],[\">\",\"v\",15]]", "{\"p\":\"y\",\"k\":2,\"v\":20}\n");
    write_json(config, y, &live, again, 1);
    assert_reads(config, y, &live, NULL, "{\"p\":\"y\",\"k\":1,\"v\":11}\n{\"p\":\"y\",\"k\":2,\"v\":20}\n");
    assert_reads(config, y, &live, "[\"=\",\"p\",\"x\"]", "");
    assert_reads(config, y, &live, "[\"or\",[\"=\",\"v\",10],[\"=\",\"p\",\"z\"]]", "");
    tl_buf_deinit(&partition);
    tl_buf_deinit(&renamed);
    tl_batch_free(key_row);
    tl_batch_free(other);
    tl_file_list_deinit(&live);
    tl_lsm_config_unref(config);
    tl_fs_unref(fs);
}

static void files_of_older_schemas_read_by_field_id(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    tl_lsm_config *old = config_of_json(
        fs, SCHEMA(0, FIELD(0, "k", "INT NOT NULL") "," FIELD(1, "a", "BIGINT") "," FIELD(2, "b", "STRING"), "", "\"k\""),
        true);
    /* a renamed to x, b dropped and another b added, c added */
    tl_lsm_config *now = config_of_json(
        fs,
        SCHEMA(1,
               FIELD(3, "b", "STRING") "," FIELD(0, "k", "INT NOT NULL") "," FIELD(1, "x", "BIGINT") "," FIELD(4, "c", "INT"),
               "", "\"k\""),
        true);
    tl_lsm_config *cast =
        config_of_json(fs, SCHEMA(2, FIELD(0, "k", "INT NOT NULL") "," FIELD(1, "a", "STRING"), "", "\"k\""), true);
    tl_lsm_config *no_cast =
        config_of_json(fs, SCHEMA(3, FIELD(0, "k", "INT NOT NULL") "," FIELD(1, "a", "BINARY(3)"), "", "\"k\""), true);
    static const char *const first[] = {"{\"k\":1,\"a\":10,\"b\":\"one\"}", "{\"k\":2,\"a\":20,\"b\":\"two\"}"};
    static const char *const second[] = {"{\"b\":\"new\",\"k\":2,\"x\":21,\"c\":7}"};
    tl_file_list live = {0};
    tl_error err;
    write_json(old, NO_PARTITION, &live, first, 2);
    assert_reads(now, NO_PARTITION, &live, NULL,
                 "{\"b\":null,\"k\":1,\"x\":10,\"c\":null}\n{\"b\":null,\"k\":2,\"x\":20,\"c\":null}\n");
    assert_reads(now, NO_PARTITION, &live, "[\"=\",\"x\",20]", "{\"b\":null,\"k\":2,\"x\":20,\"c\":null}\n");
    assert_reads(now, NO_PARTITION, &live, "[\"=\",\"b\",\"two\"]", "");
    write_json(now, NO_PARTITION, &live, second, 1);
    assert_reads(now, NO_PARTITION, &live, NULL,
                 "{\"b\":null,\"k\":1,\"x\":10,\"c\":null}\n{\"b\":\"new\",\"k\":2,\"x\":21,\"c\":7}\n");
    assert_reads(now, NO_PARTITION, &live, "[\"or\",[\"isNull\",\"c\"],[\"=\",\"k\",9]]",
                 "{\"b\":null,\"k\":1,\"x\":10,\"c\":null}\n");
    assert_reads(cast, NO_PARTITION, &live, NULL, "{\"k\":1,\"a\":\"10\"}\n{\"k\":2,\"a\":\"21\"}\n");
    assert_reads(cast, NO_PARTITION, &live, "[\"=\",\"a\",\"21\"]", "{\"k\":2,\"a\":\"21\"}\n");
    int32_t key_only = 0;
    tl_bucket_read_spec spec = {.columns = &key_only, .n_columns = 1}, all = {0};
    tl_reader *reader = NULL;
    tl_batch *batch = NULL;
    assert_ok(tl_files_read(no_cast, NO_PARTITION, 0, live.items, 1, &spec, &reader, &err), &err);
    assert_ok(tl_reader_next(reader, &batch, &err), &err); /* what cannot be read is not asked for */
    tl_batch_free(batch);
    tl_reader_free(reader);
    assert_ok(tl_files_read(no_cast, NO_PARTITION, 0, live.items, 1, &all, &reader, &err), &err);
    assert_fails(tl_reader_next(reader, &batch, &err), TL_E_UNSUPPORTED, &err, "column 'a': cannot cast from type");
    tl_reader_free(reader);
    tl_file_list_deinit(&live);
    tl_lsm_config_unref(old);
    tl_lsm_config_unref(now);
    tl_lsm_config_unref(cast);
    tl_lsm_config_unref(no_cast);
    tl_fs_unref(fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predicates_hold_for_merged_rows),
        cmocka_unit_test(any_columns_can_be_read_in_any_order),
        cmocka_unit_test(deletes_show_when_asked_for),
        cmocka_unit_test(partition_columns_come_from_the_partition),
        cmocka_unit_test(files_of_older_schemas_read_by_field_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
