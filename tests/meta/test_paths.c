/* Paths: where the files of a table lie, partition folders, hints and publishing. */
#include "fixture_tables.h"
#include "types/binary_row.h"

static tl_bytes_view view(const char *text)
{
    return (tl_bytes_view){(const uint8_t *)text, strlen(text)};
}

#define assert_path(expr, wanted)           \
    do {                                    \
        char *path_ = (expr);               \
        assert_string_equal(path_, wanted); \
        tl_free(path_);                     \
    } while (0)

static void metadata_of_a_branch_lies_in_its_folder(void **state)
{
    (void)state;
    tl_paths main_paths = {.table = "/w/t", .branch = "main"}, branch = {.table = "/w/t", .branch = "b"};
    assert_path(tl_paths_schema(&main_paths, 3), "/w/t/schema/schema-3");
    assert_path(tl_paths_snapshot(&main_paths, 12), "/w/t/snapshot/snapshot-12");
    assert_path(tl_paths_hint(&main_paths, "snapshot", "LATEST"), "/w/t/snapshot/LATEST");
    assert_path(tl_paths_schema(&branch, 0), "/w/t/branch/branch-b/schema/schema-0");
    assert_path(tl_paths_tag(&branch, "x"), "/w/t/branch/branch-b/tag/tag-x");
    assert_path(tl_paths_dir(&branch, "snapshot"), "/w/t/branch/branch-b/snapshot");
    assert_path(tl_paths_manifest(&branch, "manifest-1"), "/w/t/manifest/manifest-1");
    assert_path(tl_paths_dir(&branch, "manifest"), "/w/t/manifest");
}

static void buckets_lie_below_partition_and_data_folder(void **state)
{
    (void)state;
    tl_paths paths = {.table = "/w/t"};
    assert_path(tl_paths_bucket(&paths, NULL, "", 0), "/w/t/bucket-0");
    assert_path(tl_paths_bucket(&paths, NULL, "a=1/b=2", 7), "/w/t/a=1/b=2/bucket-7");
    assert_path(tl_paths_bucket(&paths, "data", "a=1", -2), "/w/t/data/a=1/bucket-postpone");
}

static void check_escape(const char *plain, const char *escaped)
{
    tl_buf buf = {0};
    char *text = NULL;
    assert_int_equal(tl_path_escape(view(plain), &buf), TL_OK);
    assert_int_equal(tl_buf_steal_str(&buf, &text), TL_OK);
    assert_string_equal(text, escaped);
    assert_int_equal(tl_path_unescape(view(text), &buf), TL_OK);
    tl_free(text);
    assert_int_equal(tl_buf_steal_str(&buf, &text), TL_OK);
    assert_string_equal(text, plain);
    tl_free(text);
}

static void path_components_are_escaped_as_the_reference_does(void **state)
{
    (void)state;
    check_escape("2024/01 x=y", "2024%2F01 x%3Dy");
    check_escape("a:b\\c*d?e", "a%3Ab%5Cc%2Ad%3Fe");
    check_escape("[x]{y}^\"#%'", "%5Bx%5D%7By%7D%5E%22%23%25%27");
    check_escape("\x01\x1f\x7f", "%01%1F%7F");
    check_escape("\xc3\xa4 \xe2\x82\xac~+&<>|", "\xc3\xa4 \xe2\x82\xac~+&<>|");
}

static void malformed_escapes_stay_as_they_are(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"%", "%"},       {"a%2", "a%2"}, {"%zz", "%zz"},     {"%2F", "/"},
                                           {"x%2f%", "x/%"}, {"%%41", "%A"}, {"%E4", "\xc3\xa4"}};
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        tl_buf buf = {0};
        char *text = NULL;
        assert_int_equal(tl_path_unescape(view(cases[i][0]), &buf), TL_OK);
        assert_int_equal(tl_buf_steal_str(&buf, &text), TL_OK);
        assert_string_equal(text, cases[i][1]);
        tl_free(text);
    }
}

/* ---- partition folders ---- */

static void check_partition(const char *type_text, const char *const *values, bool legacy, const char *wanted)
{
    tl_error err;
    const tl_type *type = NULL;
    tl_batch *batch = NULL;
    char *path = NULL;
    assert_ok(tl_type_parse(view(type_text), &type, &err), &err);
    assert_ok(tl_batch_create(type, 1, &batch, &err), &err);
    for (int32_t i = 0; i < type->n_fields; i++) {
        tl_builder *b = NULL;
        assert_ok(tl_builder_create(type->fields[i].type, &b, &err), &err);
        if (values[i] == NULL)
            assert_int_equal(tl_builder_null(b), TL_OK);
        else
            assert_int_equal(tl_builder_bytes(b, values[i], strlen(values[i])), TL_OK);
        assert_ok(tl_builder_finish(b, &batch->cols[i], &err), &err);
        tl_builder_free(b);
    }
    assert_ok(tl_partition_path(batch, "__DEFAULT_PARTITION__", legacy, &path, &err), &err);
    assert_string_equal(path, wanted);
    tl_free(path);
    tl_batch_free(batch);
    tl_type_unref(type);
}

static void null_and_blank_values_share_the_default_folder(void **state)
{
    (void)state;
    for (int legacy = 0; legacy < 2; legacy++) {
        check_partition("ROW<a STRING>", (const char *[]){NULL}, legacy, "a=__DEFAULT_PARTITION__");
        check_partition("ROW<a STRING>", (const char *[]){""}, legacy, "a=__DEFAULT_PARTITION__");
        check_partition("ROW<a STRING>", (const char *[]){" \t\xe3\x80\x80"}, legacy, "a=__DEFAULT_PARTITION__");
        check_partition("ROW<a STRING>", (const char *[]){"\xc2\xa0"}, legacy,
                        "a=\xc2\xa0"); /* a no-break space is not blank in Java */
        check_partition("ROW<a STRING, `b=c` STRING>", (const char *[]){"x/y", "z"}, legacy, "a=x%2Fy/b%3Dc=z");
        check_partition("ROW<>", NULL, legacy, "");
    }
}

typedef struct path_ctx {
    int found;
    tl_table_schema *schema;
    const tl_type *partition_type;
} path_ctx;

static const char *option(const path_ctx *t, const char *key, const char *fallback)
{
    const char *value = tl_options_get(&t->schema->options, key);
    return value != NULL ? value : fallback;
}

/* The file of a live entry must lie where we say. */
static void check_entry(tl_fs *fs, const char *table, const path_ctx *t, const tl_manifest_entry *entry)
{
    tl_error err;
    tl_paths paths = {.table = table};
    tl_batch *row = NULL;
    char *partition = NULL;
    bool there = false;
    assert_ok(tl_binary_row_decode(tl_bytes_view_of(entry->partition), t->partition_type, true, &row, &err), &err);
    assert_ok(tl_partition_path(row, option(t, "partition.default-name", "__DEFAULT_PARTITION__"),
                                strcmp(option(t, "partition.legacy-name", "true"), "true") == 0, &partition, &err),
              &err);
    char *dir = tl_paths_bucket(&paths, option(t, "data-file.path-directory", NULL), partition, entry->bucket);
    char *path = tl_path_join(dir, entry->file->name);
    assert_ok(tl_fs_exists(fs, path, &there, &err), &err);
    if (!there)
        fail_msg("no file %s", path);
    tl_free(path);
    tl_free(dir);
    tl_free(partition);
    tl_batch_free(row);
}

static tl_status read_list(tl_fs *fs, const tl_paths *paths, const char *name, int64_t bytes, tl_entries *out, tl_error *err)
{
    tl_manifest_list list = {0};
    tl_status status = tl_manifest_list_read(fs, paths, name, bytes, &list, err);
    for (size_t i = 0; i < list.n && status == TL_OK; i++)
        status = tl_manifest_read(fs, paths, list.items[i].name, list.items[i].bytes, NULL, NULL, out, err);
    tl_manifest_list_deinit(&list);
    return status;
}

static void check_snapshot_files(tl_fs *fs, const char *table, path_ctx *t)
{
    tl_error err;
    tl_paths paths = {.table = table};
    int64_t id = 0;
    tl_snapshot *snap = NULL;
    tl_entries entries = {0};
    assert_ok(tl_snapshot_latest_id(fs, &paths, &id, &err), &err);
    if (id == 0 || tl_snapshot_read(fs, &paths, id, &snap, &err) != TL_OK)
        return;
    tl_status status = read_list(fs, &paths, snap->base_manifest_list, snap->base_manifest_list_bytes, &entries, &err);
    if (status == TL_OK)
        status = read_list(fs, &paths, snap->delta_manifest_list, snap->delta_manifest_list_bytes, &entries, &err);
    if (status == TL_OK)
        assert_ok(tl_entries_merge(&entries, /* drop_deletes= */ true, &err), &err);
    for (size_t i = 0; i < entries.n && status == TL_OK; i++) {
        if (entries.items[i].file->external_path != NULL)
            continue;
        check_entry(fs, table, t, &entries.items[i]);
        t->found++;
    }
    tl_entries_deinit(&entries);
    tl_snapshot_free(snap);
}

static void check_table(tl_fs *fs, const char *table, void *ctx)
{
    path_ctx *t = ctx;
    tl_error err;
    tl_paths paths = {.table = table};
    int32_t columns[64];
    if (strstr(table, "/branch/") != NULL || tl_schema_latest(fs, &paths, &t->schema, &err) != TL_OK)
        return;
    for (int32_t i = 0; i < t->schema->n_partition_keys; i++)
        columns[i] = tl_type_field_index(t->schema->row_type, t->schema->partition_keys[i]);
    assert_ok(tl_type_project(t->schema->row_type, columns, t->schema->n_partition_keys, &t->partition_type, &err), &err);
    check_snapshot_files(fs, table, t);
    tl_type_unref(t->partition_type);
    tl_table_schema_unref(t->schema);
}

static void files_of_the_reference_lie_where_we_look(void **state)
{
    (void)state;
    path_ctx t = {0};
    each_fixture_table(check_table, &t);
    printf("%d data files found\n", t.found);
    assert_true(t.found > 500);
}

/* ---- hints and publishing ---- */

static tl_snapshot *snapshot(int64_t id)
{
    tl_error err;
    char text[300];
    snprintf(
        text, sizeof text,
        "{\"version\":3,\"id\":%lld,\"schemaId\":0,\"baseManifestList\":\"b\",\"deltaManifestList\":\"d\",\"commitUser\":\"u\","
        "\"commitIdentifier\":1,\"commitKind\":\"APPEND\",\"timeMillis\":5}",
        (long long)id);
    tl_snapshot *snap = NULL;
    assert_ok(tl_snapshot_parse(view(text), &snap, &err), &err);
    return snap;
}

static tl_status publish_snapshot(tl_fs *fs, const tl_paths *paths, const tl_snapshot *snap, tl_error *err)
{
    tl_staged staged = {0};
    tl_status status = tl_snapshot_stage(fs, paths, snap, &staged, err);
    if (status == TL_OK)
        status = tl_fs_flush(fs, err);
    if (status == TL_OK)
        status = tl_snapshot_publish(fs, paths, snap->id, &staged, err);
    tl_staged_deinit(fs, &staged);
    return status;
}

static void publish(tl_fs *fs, const tl_paths *paths, int64_t id)
{
    tl_error err;
    tl_snapshot *snap = snapshot(id);
    assert_ok(publish_snapshot(fs, paths, snap, &err), &err);
    tl_snapshot_free(snap);
}

static void assert_latest(tl_fs *fs, const tl_paths *paths, int64_t wanted)
{
    tl_error err;
    int64_t id = -1;
    assert_ok(tl_snapshot_latest_id(fs, paths, &id, &err), &err);
    assert_int_equal(id, wanted);
}

static void put(tl_fs *fs, const char *path, const char *text)
{
    tl_error err;
    assert_ok(tl_fs_publish(fs, path, view(text), /* replace= */ true, &err), &err);
}

static void hints_are_advice(void **state)
{
    (void)state;
    tl_error err;
    tl_fs *fs = NULL;
    int64_t id = -1;
    tl_paths paths = {.table = "/t"};
    assert_ok(tl_fs_memory(&fs, &err), &err);
    assert_latest(fs, &paths, 0);
    for (int64_t i = 1; i <= 11; i++)
        publish(fs, &paths, i);
    assert_latest(fs, &paths, 11);
    put(fs, "/t/snapshot/LATEST", "4"); /* stale: the next one exists */
    assert_latest(fs, &paths, 11);
    put(fs, "/t/snapshot/LATEST", "nonsense");
    assert_latest(fs, &paths, 11);
    put(fs, "/t/snapshot/LATEST", "99"); /* gone */
    assert_latest(fs, &paths, 11);
    put(fs, "/t/snapshot/.snapshot-12.uuid.tmp", "x");
    put(fs, "/t/snapshot/snapshot-12x", "x");
    put(fs, "/t/snapshot/snapshot-99999999999999999999", "x");
    assert_latest(fs, &paths, 11);
    assert_ok(tl_snapshot_earliest_id(fs, &paths, &id, &err), &err);
    assert_int_equal(id, 1);
    put(fs, "/t/snapshot/EARLIEST", "3");
    assert_ok(tl_snapshot_earliest_id(fs, &paths, &id, &err), &err);
    assert_int_equal(id, 3);
    put(fs, "/t/snapshot/EARLIEST", "30");
    assert_ok(tl_snapshot_earliest_id(fs, &paths, &id, &err), &err);
    assert_int_equal(id, 1);
    tl_fs_unref(fs);
}

static void a_snapshot_is_published_once(void **state)
{
    (void)state;
    tl_error err;
    tl_fs *fs = NULL;
    tl_paths paths = {.table = "/t"};
    assert_ok(tl_fs_memory(&fs, &err), &err);
    publish(fs, &paths, 1);
    tl_snapshot *snap = snapshot(1);
    assert_fails(publish_snapshot(fs, &paths, snap, &err), TL_E_CONFLICT, &err, "snapshot 1");
    assert_int_equal(err.retryable, 1);
    tl_snapshot_free(snap);
    assert_fails(tl_snapshot_read(fs, &paths, 2, &snap, &err), TL_E_NOT_FOUND, &err, "snapshot 2");
    tl_fs_unref(fs);
}

static void tags_are_listed_in_byte_order(void **state)
{
    (void)state;
    tl_error err;
    tl_fs *fs = NULL;
    tl_paths paths = {.table = "/t"};
    char **names = NULL;
    size_t n = 0;
    assert_ok(tl_fs_memory(&fs, &err), &err);
    tl_snapshot *snap = snapshot(5), *back = NULL;
    assert_ok(tl_tag_publish(fs, &paths, "b", snap, false, &err), &err);
    assert_ok(tl_tag_publish(fs, &paths, "a-1", snap, false, &err), &err);
    assert_fails(tl_tag_publish(fs, &paths, "b", snap, false, &err), TL_E_EXISTS, &err, "tag 'b'");
    assert_ok(tl_tag_publish(fs, &paths, "b", snap, true, &err), &err);
    assert_fails(tl_tag_publish(fs, &paths, "../b", snap, true, &err), TL_E_INVALID, &err, "../b");
    assert_fails(tl_tag_read(fs, &paths, "none", &back, &err), TL_E_NOT_FOUND, &err, "tag 'none'");
    assert_ok(tl_tag_read(fs, &paths, "b", &back, &err), &err);
    assert_int_equal(back->id, 5);
    assert_ok(tl_tag_list(fs, &paths, &names, &n, &err), &err);
    assert_int_equal(n, 2);
    assert_string_equal(names[0], "a-1");
    assert_string_equal(names[1], "b");
    tl_names_free(names, n);
    tl_snapshot_free(snap);
    tl_snapshot_free(back);
    tl_fs_unref(fs);
}

static void a_schema_is_published_once(void **state)
{
    (void)state;
    tl_error err;
    tl_fs *fs = NULL;
    tl_paths paths = {.table = "/t"};
    tl_table_schema *schema = NULL, *back = NULL;
    assert_ok(tl_fs_memory(&fs, &err), &err);
    assert_fails(tl_schema_latest(fs, &paths, &back, &err), TL_E_NOT_FOUND, &err, "/t");
    assert_ok(tl_table_schema_parse(view("{\"version\":3,\"id\":0,\"fields\":[],\"highestFieldId\":-1,\"comment\":\"c\"}"),
                                    &schema, &err),
              &err);
    assert_ok(tl_schema_publish(fs, &paths, schema, &err), &err);
    assert_fails(tl_schema_publish(fs, &paths, schema, &err), TL_E_CONFLICT, &err, "schema 0");
    schema->id = 10;
    assert_ok(tl_schema_publish(fs, &paths, schema, &err), &err);
    assert_ok(tl_schema_latest(fs, &paths, &back, &err), &err);
    assert_int_equal(back->id, 10);
    assert_string_equal(back->comment, "c");
    tl_table_schema_unref(back);
    tl_table_schema_unref(schema);
    tl_fs_unref(fs);
}

static void names_from_files_stay_inside(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool inside;
    } cases[] = {{"a", true},        {"data/files", true}, {"data/", true},  {"...", true},   {".hidden/x", true}, {"", false},       {"/", false},
                 {"/etc", false},    {"..", false},        {".", false},     {"a/..", false}, {"a/../b", false},   {"a//b", false},  {"./a", false}};
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++)
        assert_int_equal(tl_path_is_inside(cases[i].path), cases[i].inside);
    assert_true(tl_path_is_name((tl_bytes_view){(const uint8_t *)"data-0.orc", 10}));
    assert_false(tl_path_is_name((tl_bytes_view){(const uint8_t *)"a\0b", 3}));
    assert_false(tl_path_is_name((tl_bytes_view){(const uint8_t *)"a/b", 3}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_from_files_stay_inside),
        cmocka_unit_test(metadata_of_a_branch_lies_in_its_folder),
        cmocka_unit_test(buckets_lie_below_partition_and_data_folder),
        cmocka_unit_test(path_components_are_escaped_as_the_reference_does),
        cmocka_unit_test(malformed_escapes_stay_as_they_are),
        cmocka_unit_test(null_and_blank_values_share_the_default_folder),
        cmocka_unit_test(files_of_the_reference_lie_where_we_look),
        cmocka_unit_test(hints_are_advice),
        cmocka_unit_test(a_snapshot_is_published_once),
        cmocka_unit_test(tags_are_listed_in_byte_order),
        cmocka_unit_test(a_schema_is_published_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
