/* Schema, snapshot and tag files of the reference are read, and printed byte for byte as it prints them. */
#include "fixture_tables.h"

typedef struct tally {
    int read;
    int same; /* printed as they were */
} tally;

static bool is_external(const char *path)
{
    return strstr(path, "/external/") != NULL;
}

/* Files of older releases differ in keys that are no longer written; those of 1.4.2 must come out as they went in. */
static void check_text(const char *path, tl_bytes_view was, tl_bytes is, tally *t)
{
    bool same = tl_bytes_equal(was, tl_bytes_view_of(is));
    t->read++;
    t->same += same;
    if (!same && !is_external(path))
        fail_msg("%s\nwas: %.*s\nis:  %.*s", path, (int)was.len, (const char *)was.data, (int)is.len, (const char *)is.data);
}

static void check_schema(tl_fs *fs, const char *path, const char *name, tl_bytes_view content, void *ctx)
{
    (void)fs, (void)name;
    tl_error err;
    tl_table_schema *schema = NULL;
    tl_bytes text = {0};
    tl_status status = tl_table_schema_parse(content, &schema, &err);
    if (status == TL_E_UNSUPPORTED)
        return; /* types of later releases */
    if (status != TL_OK)
        fail_msg("%s: %s", path, err.message);
    assert_ok(tl_table_schema_format(schema, &text, &err), &err);
    check_text(path, content, text, ctx);
    tl_bytes_deinit(&text);
    tl_table_schema_unref(schema);
}

static void check_snapshot(tl_fs *fs, const char *path, const char *name, tl_bytes_view content, void *ctx)
{
    (void)fs, (void)name;
    tl_error err;
    tl_snapshot *snap = NULL, *copy = NULL;
    tl_bytes text = {0};
    if (tl_snapshot_parse(content, &snap, &err) != TL_OK)
        fail_msg("%s: %s", path, err.message);
    assert_ok(tl_snapshot_dup(snap, &copy, &err), &err);
    tl_snapshot_free(snap);
    assert_ok(tl_snapshot_format(copy, &text, &err), &err);
    check_text(path, content, text, ctx);
    tl_bytes_deinit(&text);
    tl_snapshot_free(copy);
}

static void check_table_schemas(tl_fs *fs, const char *table, void *ctx)
{
    each_file(fs, table, "schema", "schema-", check_schema, ctx);
}

static void check_table_snapshots(tl_fs *fs, const char *table, void *ctx)
{
    each_file(fs, table, "snapshot", "snapshot-", check_snapshot, ctx);
    each_file(fs, table, "changelog", "changelog-", check_snapshot, ctx);
    each_file(fs, table, "tag", "tag-", check_snapshot, ctx);
}

static void schemas_of_the_reference_are_printed_as_it_prints_them(void **state)
{
    (void)state;
    tally t = {0};
    each_fixture_table(check_table_schemas, &t);
    printf("%d schemas, %d the same\n", t.read, t.same);
    assert_true(t.read > 200);
}

static void snapshots_and_tags_of_the_reference_are_printed_as_it_prints_them(void **state)
{
    (void)state;
    tally t = {0};
    each_fixture_table(check_table_snapshots, &t);
    printf("%d snapshots and tags, %d the same\n", t.read, t.same);
    assert_true(t.read > 1000);
}

static void check_latest(tl_fs *fs, const char *table, void *ctx)
{
    (void)ctx;
    tl_error err;
    tl_paths paths = {.table = table};
    int64_t latest = -1, earliest = -1, *ids = NULL;
    size_t n = 0;
    assert_ok(tl_snapshot_latest_id(fs, &paths, &latest, &err), &err);
    assert_ok(tl_snapshot_earliest_id(fs, &paths, &earliest, &err), &err);
    assert_ok(tl_snapshot_list(fs, &paths, &ids, &n, &err), &err);
    assert_int_equal(latest, n == 0 ? 0 : ids[n - 1]);
    assert_int_equal(earliest, n == 0 ? 0 : ids[0]);
    tl_free(ids);
}

static void the_newest_and_oldest_snapshot_are_found(void **state)
{
    (void)state;
    each_fixture_table(check_latest, NULL);
}

/* ---- without fixtures ---- */

static tl_bytes_view view(const char *text)
{
    return (tl_bytes_view){(const uint8_t *)text, strlen(text)};
}

static tl_table_schema *parse_schema(const char *text)
{
    tl_error err;
    tl_table_schema *schema = NULL;
    assert_ok(tl_table_schema_parse(view(text), &schema, &err), &err);
    return schema;
}

static void old_schemas_get_the_defaults_of_their_time(void **state)
{
    (void)state;
    const char *fields = "\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"}],\"highestFieldId\":0,\"more\":[1,{}]";
    char text[512];
    snprintf(text, sizeof text, "{\"id\":0,%s}", fields);
    tl_table_schema *schema = parse_schema(text);
    assert_string_equal(tl_options_get(&schema->options, "bucket"), "1");
    assert_string_equal(tl_options_get(&schema->options, "file.format"), "orc");
    assert_int_equal(schema->time_ms, 0);
    tl_table_schema_unref(schema);
    snprintf(text, sizeof text, "{\"version\":2,\"id\":0,\"options\":{\"file.format\":\"avro\",\"x\":1},%s}", fields);
    schema = parse_schema(text);
    assert_null(tl_options_get(&schema->options, "bucket"));
    assert_string_equal(tl_options_get(&schema->options, "file.format"), "avro");
    assert_string_equal(tl_options_get(&schema->options, "x"), "1");
    tl_table_schema_unref(schema);
}

static void schemas_that_contradict_themselves_are_refused(void **state)
{
    (void)state;
    tl_error err;
    tl_table_schema *schema = NULL;
    assert_fails(tl_table_schema_parse(view("[]"), &schema, &err), TL_E_CORRUPT, &err, "no object");
    assert_fails(tl_table_schema_parse(view("{\"version\":3,\"id\":0}"), &schema, &err), TL_E_CORRUPT, &err, "fields");
    assert_fails(tl_table_schema_parse(view("{\"version\":4,\"id\":0,\"fields\":[],\"highestFieldId\":-1}"), &schema, &err),
                 TL_E_UNSUPPORTED, &err, "version 4");
    assert_fails(
        tl_table_schema_parse(view("{\"id\":0,\"fields\":[],\"highestFieldId\":0,\"primaryKeys\":[\"k\"]}"), &schema, &err),
        TL_E_CORRUPT, &err, "primary key 'k'");
    assert_fails(
        tl_table_schema_parse(view("{\"id\":0,\"fields\":[{\"id\":-7,\"name\":\"a\",\"type\":\"INT\"}],\"highestFieldId\":0}"),
                              &schema, &err),
        TL_E_CORRUPT, &err, "field id -7");
}

static void trimmed_keys_leave_partition_columns_out(void **state)
{
    (void)state;
    tl_table_schema *schema =
        parse_schema("{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT\"},{\"id\":1,\"name\":\"p\","
                     "\"type\":\"INT\"},{\"id\":2,\"name\":\"k\",\"type\":\"INT\"}],\"highestFieldId\":2,"
                     "\"partitionKeys\":[\"p\"],\"primaryKeys\":[\"p\",\"k\",\"a\"]}");
    int32_t keys[3];
    assert_int_equal(tl_table_schema_trimmed_keys(schema, keys), 2);
    assert_int_equal(keys[0], 2);
    assert_int_equal(keys[1], 0);
    tl_table_schema_unref(schema);
}

static void assert_ids(const tl_type *row, const char *wanted)
{
    tl_json_writer w;
    tl_json_writer_init(&w, false);
    tl_type_to_json(row, &w);
    assert_int_equal(tl_buf_append_byte(&w.out, 0), TL_OK);
    assert_string_equal((const char *)w.out.data, wanted);
    tl_json_writer_deinit(&w);
}

static const tl_type *assign(const char *text, int32_t *highest)
{
    tl_error err;
    const tl_type *plain = NULL, *out = NULL;
    assert_ok(tl_type_parse(view(text), &plain, &err), &err);
    assert_ok(tl_schema_assign_ids(plain, highest, &out, &err), &err);
    tl_type_unref(plain);
    return out;
}

static int32_t id_of(const tl_type *type, int32_t i)
{
    return type->fields[i].id;
}

/* The order that the reference showed (format reference §2). */
static void nested_rows_number_their_children_first(void **state)
{
    (void)state;
    int32_t highest = -1;
    const tl_type *row = assign("ROW<k INT, ro ROW<x INT, z ROW<a INT, b INT>, w INT>, e INT>", &highest);
    const tl_type *ro = row->fields[1].type, *z = ro->fields[1].type;
    assert_int_equal(highest, 7);
    assert_int_equal(id_of(row, 0), 0);
    assert_int_equal(id_of(row, 1), 1);
    assert_int_equal(id_of(ro, 0), 2);
    assert_int_equal(id_of(z, 0), 3);
    assert_int_equal(id_of(z, 1), 4);
    assert_int_equal(id_of(ro, 1), 5);
    assert_int_equal(id_of(ro, 2), 6);
    assert_int_equal(id_of(row, 2), 7);
    tl_type_unref(row);
}

static void an_added_column_goes_on_from_the_highest_id(void **state)
{
    (void)state;
    int32_t highest = 2;
    const tl_type *row = assign("ROW<n ROW<a ROW<b INT>>>", &highest);
    assert_int_equal(id_of(row, 0), 3);
    assert_int_equal(id_of(row->fields[0].type, 0), 5);
    assert_int_equal(id_of(row->fields[0].type->fields[0].type, 0), 4);
    assert_int_equal(highest, 5);
    tl_type_unref(row);
}

static void elements_take_no_ids_but_rows_below_them_do(void **state)
{
    (void)state;
    int32_t highest = 7;
    const tl_type *row = assign("ROW<aa ARRAY<MAP<INT, ARRAY<ROW<q INT>>>>, m MULTISET<STRING>>", &highest);
    assert_ids(row, "{\"type\":\"ROW\",\"fields\":[{\"id\":8,\"name\":\"aa\",\"type\":{\"type\":\"ARRAY\",\"element\":{"
                    "\"type\":\"MAP\",\"key\":"
                    "\"INT\",\"value\":{\"type\":\"ARRAY\",\"element\":{\"type\":\"ROW\",\"fields\":[{\"id\":9,\"name\":\"q\","
                    "\"type\":\"INT\"}]}}}}"
                    "},{\"id\":10,\"name\":\"m\",\"type\":{\"type\":\"MULTISET\",\"element\":\"STRING\"}}]}");
    assert_int_equal(highest, 10);
    tl_type_unref(row);
}

static tl_snapshot *minimal_snapshot(const char *extra)
{
    tl_error err;
    char text[1024];
    snprintf(
        text, sizeof text,
        "{\"version\":3,\"id\":1,\"schemaId\":0,\"baseManifestList\":\"b\",\"deltaManifestList\":\"d\",\"commitUser\":\"u\","
        "\"commitIdentifier\":9223372036854775807,\"commitKind\":\"APPEND\",\"timeMillis\":5%s}",
        extra);
    tl_snapshot *snap = NULL;
    assert_ok(tl_snapshot_parse(view(text), &snap, &err), &err);
    return snap;
}

static void assert_printed(const tl_snapshot *snap, const char *part)
{
    tl_error err;
    tl_bytes text = {0};
    assert_ok(tl_snapshot_format(snap, &text, &err), &err);
    if (memmem(text.data, text.len, part, strlen(part)) == NULL)
        fail_msg("%.*s\nhas no %s", (int)text.len, (const char *)text.data, part);
    tl_bytes_deinit(&text);
}

static void tags_carry_their_creation_time_and_retention(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"[2024,2,29,12,0]", "\"tagCreateTime\" : [ 2024, 2, 29, 12, 0 ]"},
        {"[2024,2,29,12,0,7]", "\"tagCreateTime\" : [ 2024, 2, 29, 12, 0, 7 ]"},
        {"[2024,2,29,12,0,0,5000001]", "\"tagCreateTime\" : [ 2024, 2, 29, 12, 0, 0, 5000001 ]"},
        {"[1969,12,31,23,59,59,999999999]", "\"tagCreateTime\" : [ 1969, 12, 31, 23, 59, 59, 999999999 ]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char extra[200];
        snprintf(extra, sizeof extra, ",\"tagCreateTime\":%s,\"tagTimeRetained\":86400.500000000", cases[i].in);
        tl_snapshot *snap = minimal_snapshot(extra);
        assert_int_equal(snap->tag_retained_ms, 86400500);
        assert_printed(snap, cases[i].out);
        assert_printed(snap, "\"tagTimeRetained\" : 86400.500000000\n");
        tl_snapshot_free(snap);
    }
}

static void absent_numbers_stay_absent(void **state)
{
    (void)state;
    tl_snapshot *snap = minimal_snapshot(",\"logOffsets\":{},\"changelogRecordCount\":null,\"properties\":{\"a\":\"b\"}");
    assert_true(snap->watermark == TL_ABSENT);
    assert_true(snap->next_row_id == TL_ABSENT);
    assert_true(snap->changelog_record_count == TL_ABSENT);
    assert_true(snap->base_manifest_list_bytes == TL_ABSENT);
    assert_int_equal(snap->commit_identifier, INT64_MAX);
    assert_string_equal(tl_options_get(&snap->properties, "a"), "b");
    tl_snapshot_free(snap);
}

static void snapshots_that_lack_something_are_refused_by_its_name(void **state)
{
    (void)state;
    tl_error err;
    tl_snapshot *snap = NULL;
    assert_fails(tl_snapshot_parse(view("{}"), &snap, &err), TL_E_CORRUPT, &err, "'id'");
    assert_fails(tl_snapshot_parse(view("{\"id\":1,\"schemaId\":0}"), &snap, &err), TL_E_CORRUPT, &err, "'baseManifestList'");
    assert_fails(tl_snapshot_parse(view("{\"id\":1,\"schemaId\":0,\"baseManifestList\":\"a\\u0000b\"}"), &snap, &err),
                 TL_E_CORRUPT, &err, "NUL");
    assert_fails(tl_snapshot_parse(view("{\"id\":1.5}"), &snap, &err), TL_E_CORRUPT, &err, "'id'");
    /* Names are joined to the table's folder and removed with the snapshot: nothing may lead out of it. */
    static const char *const outside[] = {"baseManifestList", "deltaManifestList", "changelogManifestList", "indexManifest", "statistics"};
    for (size_t i = 0; i < TL_ARRAY_LEN(outside); i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "{\"version\":3,\"id\":1,\"schemaId\":0,\"%s\":\"../../x\",\"baseManifestList\":\"a\",\"deltaManifestList\":\"b\","
                 "\"commitUser\":\"u\",\"commitIdentifier\":1,\"commitKind\":\"APPEND\",\"timeMillis\":1,\"totalRecordCount\":0,"
                 "\"deltaRecordCount\":0}",
                 outside[i]);
        if (i < 2) /* once only */
            memset(strstr(strstr(text, "../../x") + 7, outside[i]), 'z', 1);
        assert_fails(tl_snapshot_parse(view(text), &snap, &err), TL_E_CORRUPT, &err, i < 2 ? "" : "../../x");
    }
}

/* Every allocation fails once: an error, and nothing left behind (checked by the sanitizer). */
static void failing_allocations_leave_nothing_behind(void **state)
{
    (void)state;
    static const char schema_text[] =
        "{\"version\":2,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"INT NOT "
        "NULL\",\"description\":\"d\",\"defaultValue\":\"1\"},"
        "{\"id\":1,\"name\":\"r\",\"type\":{\"type\":\"ROW\",\"fields\":[{\"id\":2,\"name\":\"x\",\"type\":\"INT\"}]}},{\"id\":"
        "3,\"name\":\"m\","
        "\"type\":{\"type\":\"MAP\",\"key\":\"INT\",\"value\":{\"type\":\"ARRAY\",\"element\":\"STRING\"}}}],"
        "\"highestFieldId\":3,"
        "\"partitionKeys\":[\"a\"],\"primaryKeys\":[\"a\"],\"options\":{\"k\":\"v\"},\"comment\":\"c\"}";
    static const char snapshot_text[] =
        "{\"version\":3,\"id\":1,\"schemaId\":0,\"baseManifestList\":\"b\",\"deltaManifestList\":\"d\","
        "\"changelogManifestList\":\"c\","
        "\"indexManifest\":\"i\",\"commitUser\":\"u\",\"commitIdentifier\":1,\"commitKind\":\"COMPACT\",\"timeMillis\":5,"
        "\"statistics\":\"s\","
        "\"properties\":{\"a\":\"b\"},\"tagCreateTime\":[2024,1,1,1,1],\"tagTimeRetained\":1.5}";
    tl_error err;
    tl_bytes_view texts[2] = {view(schema_text), view(snapshot_text)};
    bool reached = true;
    for (uint64_t nth = 1; reached; nth++) {
        tl_table_schema *schema = NULL;
        tl_snapshot *snap = NULL, *copy = NULL;
        const tl_type *renumbered = NULL;
        tl_bytes a = {0}, b = {0};
        int32_t highest = -1;
        tl_alloc_fail_at(nth);
        tl_status status = tl_table_schema_parse(texts[0], &schema, &err);
        if (status == TL_OK)
            status = tl_schema_assign_ids(schema->row_type, &highest, &renumbered, &err);
        if (status == TL_OK)
            status = tl_table_schema_format(schema, &a, &err);
        if (status == TL_OK)
            status = tl_snapshot_parse(texts[1], &snap, &err);
        if (status == TL_OK)
            status = tl_snapshot_dup(snap, &copy, &err);
        if (status == TL_OK)
            status = tl_snapshot_format(copy, &b, &err);
        reached = tl_alloc_count() >= nth;
        tl_alloc_fail_at(0);
        assert_true(status == (reached ? TL_E_NOMEM : TL_OK));
        tl_bytes_deinit(&a);
        tl_bytes_deinit(&b);
        tl_snapshot_free(snap);
        tl_snapshot_free(copy);
        tl_type_unref(renumbered);
        tl_table_schema_unref(schema);
    }
}

/* Truncated and changed texts are read or refused, never worse. */
static void cut_or_changed_texts_are_refused_or_read(void **state)
{
    (void)state;
    uint64_t rng = test_seed(31);
    tl_snapshot *good = minimal_snapshot(
        ",\"properties\":{\"a\":\"b\"},\"tagCreateTime\":[2024,2,29,12,0,0,5000001],\"tagTimeRetained\":86400.5");
    tl_error err;
    tl_bytes text = {0};
    assert_ok(tl_snapshot_format(good, &text, &err), &err);
    for (int i = 0; i < 20000; i++) {
        uint8_t *bad = tl_memdup(text.data, text.len);
        size_t len = i % 3 == 0 ? test_random(&rng) % text.len : text.len;
        for (uint64_t flips = test_random(&rng) % 3; flips > 0 && len > 0; flips--)
            bad[test_random(&rng) % len] =
                (uint8_t)(test_random(&rng) % 2 ? test_random(&rng) : (uint64_t)"0123456789{}[],:\"-."[test_random(&rng) % 20]);
        tl_snapshot *snap = NULL;
        tl_bytes again = {0};
        if (tl_snapshot_parse((tl_bytes_view){bad, len}, &snap, &err) == TL_OK)
            assert_ok(tl_snapshot_format(snap, &again, &err), &err);
        tl_bytes_deinit(&again);
        tl_snapshot_free(snap);
        tl_free(bad);
    }
    tl_bytes_deinit(&text);
    tl_snapshot_free(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemas_of_the_reference_are_printed_as_it_prints_them),
        cmocka_unit_test(snapshots_and_tags_of_the_reference_are_printed_as_it_prints_them),
        cmocka_unit_test(the_newest_and_oldest_snapshot_are_found),
        cmocka_unit_test(old_schemas_get_the_defaults_of_their_time),
        cmocka_unit_test(schemas_that_contradict_themselves_are_refused),
        cmocka_unit_test(trimmed_keys_leave_partition_columns_out),
        cmocka_unit_test(nested_rows_number_their_children_first),
        cmocka_unit_test(an_added_column_goes_on_from_the_highest_id),
        cmocka_unit_test(elements_take_no_ids_but_rows_below_them_do),
        cmocka_unit_test(tags_carry_their_creation_time_and_retention),
        cmocka_unit_test(absent_numbers_stay_absent),
        cmocka_unit_test(snapshots_that_lack_something_are_refused_by_its_name),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
        cmocka_unit_test(cut_or_changed_texts_are_refused_or_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
