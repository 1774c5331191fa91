#include <zlib.h>

#include "connect/connect.h"
#include "support/test.h"
#include "types/text.h"

static tl_fs *fs;

static int open_fs(void **state)
{
    (void)state;
    tl_error err;
    assert_ok(tl_fs_memory(&fs, &err), &err);
    return 0;
}

static int close_fs(void **state)
{
    (void)state;
    tl_fs_unref(fs);
    return 0;
}

static void put(const char *path, const char *text)
{
    tl_error err;
    assert_ok(tl_fs_publish(fs, path, (tl_bytes_view){(const uint8_t *)text, strlen(text)}, true, &err), &err);
}

static const tl_type *type_of(const char *text)
{
    const tl_type *type;
    tl_error err;
    assert_ok(tl_type_parse((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &type, &err), &err);
    return type;
}

/* Options as "key=value;key=value". */
static void set_options(tl_options *options, const char *text)
{
    char *copy = tl_strdup(text);
    for (char *p = strtok(copy, ";"); p != NULL; p = strtok(NULL, ";")) {
        char *equals = strchr(p, '=');
        *equals = '\0';
        assert_int_equal(tl_options_set(options, p, equals + 1), TL_OK);
    }
    tl_free(copy);
}

/* All rows as JSON lines; reads `max_rows` at a time and, with `resume`, from a new source at its position after each batch. */
static tl_status read_all(const char *type_text, const char *options_text, int64_t max_rows, bool resume, char **out, tl_error *err)
{
    const tl_type *type = type_of(type_text);
    tl_options options = {0};
    set_options(&options, options_text);
    tl_connector_spec spec = {.fs = fs, .row_type = type, .options = &options};
    tl_source *source = NULL;
    tl_buf lines = {0};
    tl_status status = tl_source_open(&spec, NULL, &source, err);
    for (tl_source_state state = TL_SOURCE_ROWS; status == TL_OK && state == TL_SOURCE_ROWS;) {
        tl_batch *batch = NULL;
        status = tl_source_next(source, max_rows, &batch, &state, err);
        for (int64_t i = 0; status == TL_OK && batch != NULL && i < batch->n_rows; i++) {
            assert_int_equal(tl_text_append_json_row(&lines, batch, i, true, 0), TL_OK);
            assert_int_equal(tl_buf_append_byte(&lines, '\n'), TL_OK);
        }
        tl_batch_free(batch);
        if (status == TL_OK && resume) {
            tl_buf position = {0};
            char *text;
            assert_int_equal(tl_source_position(source, &position), TL_OK);
            assert_int_equal(tl_buf_steal_str(&position, &text), TL_OK);
            tl_source_free(source);
            source = NULL;
            status = tl_source_open(&spec, text, &source, err);
            tl_free(text);
        }
    }
    tl_source_free(source);
    tl_options_deinit(&options);
    tl_type_unref(type);
    if (status == TL_OK)
        assert_int_equal(tl_buf_steal_str(&lines, out), TL_OK);
    tl_buf_deinit(&lines);
    return status;
}

static void assert_rows(const char *type, const char *options, const char *want)
{
    for (int64_t max_rows = 1; max_rows < 100; max_rows *= 3) {
        for (int resume = 0; resume < 2; resume++) {
            tl_error err;
            char *got;
            assert_ok(read_all(type, options, max_rows, resume, &got, &err), &err);
            assert_string_equal(got, want);
            tl_free(got);
        }
    }
}

static void assert_refused(const char *type, const char *options, const char *part)
{
    tl_error err;
    char *got = NULL;
    assert_fails(read_all(type, options, 10, false, &got, &err), TL_E_INVALID, &err, part);
    tl_free(got);
}

static void json_lines_are_read_by_flinks_rules(void **state)
{
    (void)state;
    put("/d/a.json", "{\"i\":1,\"s\":\"x\",\"d\":1.005,\"t\":\"2024-02-29 12:00:00.5\",\"a\":[1,null],\"m\":{\"k\":2},\"b\":\"AAEC\"}\n"
                     "\n"
                     "{\"i\":\"42\",\"s\":{\"j\":1},\"d\":\"99999\",\"more\":0}\r\n"
                     "{\"s\":7,\"i\":1.9}");
    assert_rows("ROW<i INT, s STRING, d DECIMAL(5, 2), t TIMESTAMP(3), a ARRAY<INT>, m MAP<STRING, INT>, b BYTES>",
                "connector=filesystem;path=/d/a.json;format=json",
                "{\"_kind\":\"+I\",\"i\":1,\"s\":\"x\",\"d\":\"1.01\",\"t\":\"2024-02-29T12:00:00.500000000\",\"a\":[1,null],\"m\":[[\"k\",2]],\"b\":\"000102\"}\n"
                "{\"_kind\":\"+I\",\"i\":42,\"s\":\"{\\\"j\\\":1}\",\"d\":null,\"t\":null,\"a\":null,\"m\":null,\"b\":null}\n"
                "{\"_kind\":\"+I\",\"i\":1,\"s\":\"7\",\"d\":null,\"t\":null,\"a\":null,\"m\":null,\"b\":null}\n");
}

static void bad_records_name_file_record_and_column(void **state)
{
    (void)state;
    put("/bad/a.json", "{\"i\":1}\n{\"i\":\"x\"}\n{\"i\":3}\nnonsense\n[]\n");
    assert_refused("ROW<i INT>", "connector=filesystem;path=/bad;format=json", "file 'a.json' of '/bad': record 2: column 'i': cannot read \"x\" as INT");
    assert_rows("ROW<i INT>", "connector=filesystem;path=/bad;format=json;json.ignore-parse-errors=true",
                "{\"_kind\":\"+I\",\"i\":1}\n{\"_kind\":\"+I\",\"i\":null}\n{\"_kind\":\"+I\",\"i\":3}\n");
    assert_refused("ROW<i INT, j INT>", "connector=filesystem;path=/bad;format=json;json.fail-on-missing-field=true", "column 'j' is missing");
}

static void csv_keeps_quotes_and_empty_texts(void **state)
{
    (void)state;
    put("/c/x.csv", "1,\"a, \"\"b\"\"\nc\", 2.5\n2,,NA\n");
    assert_rows("ROW<i INT, s STRING, d DOUBLE>", "connector=filesystem;path=/c;format=csv;csv.null-literal=NA",
                "{\"_kind\":\"+I\",\"i\":1,\"s\":\"a, \\\"b\\\"\\nc\",\"d\":2.5}\n{\"_kind\":\"+I\",\"i\":2,\"s\":\"\",\"d\":null}\n");
    assert_refused("ROW<i INT, s STRING>", "connector=filesystem;path=/c;format=csv", "3 cells, the table has 2 columns");
    assert_refused("ROW<i INT, j INT, d STRING>", "connector=filesystem;path=/c;format=csv", "column 'j'");
}

static void change_events_become_rows_with_kinds(void **state)
{
    (void)state;
    static const char want[] = "{\"_kind\":\"+I\",\"k\":1,\"v\":\"a\"}\n{\"_kind\":\"-U\",\"k\":1,\"v\":\"a\"}\n"
                               "{\"_kind\":\"+U\",\"k\":1,\"v\":\"b\"}\n{\"_kind\":\"-D\",\"k\":1,\"v\":\"b\"}\n";
    put("/e/debezium", "{\"before\":null,\"after\":{\"k\":1,\"v\":\"a\"},\"op\":\"c\"}\n"
                       "{\"before\":{\"k\":1,\"v\":\"a\"},\"after\":{\"k\":1,\"v\":\"b\"},\"op\":\"u\"}\n"
                       "{\"before\":{\"k\":1,\"v\":\"b\"},\"after\":null,\"op\":\"d\"}\n");
    put("/e/canal", "{\"data\":[{\"k\":1,\"v\":\"a\"}],\"type\":\"INSERT\"}\n"
                    "{\"data\":[{\"k\":1,\"v\":\"b\"}],\"old\":[{\"v\":\"a\"}],\"type\":\"UPDATE\"}\n"
                    "{\"data\":[{\"k\":1,\"v\":\"b\"}],\"type\":\"DELETE\"}\n");
    put("/e/maxwell", "{\"data\":{\"k\":1,\"v\":\"a\"},\"type\":\"insert\"}\n"
                      "{\"data\":{\"k\":1,\"v\":\"b\"},\"old\":{\"v\":\"a\"},\"type\":\"update\"}\n"
                      "{\"data\":{\"k\":1,\"v\":\"b\"},\"type\":\"delete\"}\n");
    put("/e/ogg", "{\"after\":{\"k\":1,\"v\":\"a\"},\"op_type\":\"I\"}\n"
                  "{\"before\":{\"k\":1,\"v\":\"a\"},\"after\":{\"k\":1,\"v\":\"b\"},\"op_type\":\"U\"}\n"
                  "{\"before\":{\"k\":1,\"v\":\"b\"},\"op_type\":\"D\"}\n");
    static const char *const names[] = {"debezium", "canal", "maxwell", "ogg"};
    for (size_t i = 0; i < TL_ARRAY_LEN(names); i++) {
        char options[200];
        snprintf(options, sizeof options, "connector=filesystem;path=/e/%s;format=%s-json", names[i], names[i]);
        assert_rows("ROW<k INT, v STRING>", options, want);
    }
    put("/e2/x", "{\"before\":null,\"after\":{\"k\":1,\"v\":\"b\"},\"op\":\"u\"}\n");
    assert_refused("ROW<k INT, v STRING>", "connector=filesystem;path=/e2;format=debezium-json", "REPLICA IDENTITY FULL");
}

static void folders_are_read_by_name_without_hidden_files(void **state)
{
    (void)state;
    put("/f/b.json", "{\"i\":2}\n{\"i\":3}\n");
    put("/f/a.json", "{\"i\":1}\n");
    put("/f/.c.json", "{\"i\":9}\n");
    put("/f/sub/z.json", "{\"i\":4}\n");
    put("/f/empty.json", "");
    assert_rows("ROW<i INT>", "connector=filesystem;path=/f;format=json",
                "{\"_kind\":\"+I\",\"i\":1}\n{\"_kind\":\"+I\",\"i\":2}\n{\"_kind\":\"+I\",\"i\":3}\n{\"_kind\":\"+I\",\"i\":4}\n");
    assert_rows("ROW<i INT>", "connector=filesystem;path=/f;format=json;source.path.regex-pattern=/f/(a|sub/.*)\\.json",
                "{\"_kind\":\"+I\",\"i\":1}\n{\"_kind\":\"+I\",\"i\":4}\n");
    assert_rows("ROW<i INT>", "connector=filesystem;path=/f/a.json;format=json;source.path.regex-pattern=.*b.json", "");
}

static void gzip_files_are_decompressed(void **state)
{
    (void)state;
    uint8_t packed[400];
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    char text[] = "{\"i\":1}\n{\"i\":2}\n";
    z.next_in = (uint8_t *)text;
    z.avail_in = (unsigned)strlen(text);
    z.next_out = packed;
    z.avail_out = sizeof packed;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t len = z.total_out;
    deflateEnd(&z);
    tl_error err;
    assert_ok(tl_fs_publish(fs, "/z/a.json.gz", (tl_bytes_view){packed, len}, true, &err), &err);
    assert_rows("ROW<i INT>", "connector=filesystem;path=/z;format=json", "{\"_kind\":\"+I\",\"i\":1}\n{\"_kind\":\"+I\",\"i\":2}\n");
    for (size_t cut = 1; cut < len; cut++) { /* a cut file is an error, never fewer rows */
        assert_ok(tl_fs_publish(fs, "/z2/a.json.gz", (tl_bytes_view){packed, cut}, true, &err), &err);
        char *got = NULL;
        tl_status status = read_all("ROW<i INT>", "connector=filesystem;path=/z2;format=json", 10, false, &got, &err);
        assert_int_equal(status, TL_E_CORRUPT);
        tl_free(got);
    }
}

static void followed_folders_give_new_files_once(void **state)
{
    (void)state;
    const tl_type *type = type_of("ROW<i INT>");
    tl_options options = {0};
    set_options(&options, "connector=filesystem;path=/w;format=json;source.monitor-interval=1 ms");
    tl_connector_spec spec = {.fs = fs, .row_type = type, .options = &options};
    bool bounded;
    tl_error err;
    assert_ok(tl_connector_is_bounded(&spec, &bounded, &err), &err);
    assert_false(bounded);
    tl_source *source;
    assert_ok(tl_source_open(&spec, NULL, &source, &err), &err); /* the folder is not there yet */
    int64_t seen = 0;
    for (int round = 0; round < 5; round++) {
        char path[32], text[32];
        snprintf(path, sizeof path, "/w/%d.json", 9 - round); /* later files sort first */
        snprintf(text, sizeof text, "{\"i\":%d}\n", round);
        put(path, text);
        tl_sleep_ms(2);
        tl_source_state st;
        do {
            tl_batch *batch;
            assert_ok(tl_source_next(source, 10, &batch, &st, &err), &err);
            seen += batch == NULL ? 0 : batch->n_rows;
            tl_batch_free(batch);
        } while (st == TL_SOURCE_ROWS);
        assert_int_equal(st, TL_SOURCE_IDLE);
        assert_int_equal(seen, round + 1);
    }
    tl_source_free(source);
    tl_options_deinit(&options);
    tl_type_unref(type);
}

static void generated_rows_are_the_same_after_a_resume(void **state)
{
    (void)state;
    tl_error err;
    char *whole, *resumed;
    static const char type[] = "ROW<k BIGINT, n INT, s STRING, d DOUBLE>";
    static const char options[] = "connector=datagen;rows-per-second=1000000000;fields.k.kind=sequence;fields.k.start=5;fields.k.end=24;"
                                  "fields.n.min=1;fields.n.max=3;fields.s.length=5";
    assert_ok(read_all(type, options, 100, false, &whole, &err), &err);
    assert_ok(read_all(type, options, 3, true, &resumed, &err), &err);
    assert_string_equal(whole, resumed);
    assert_memory_equal(whole, "{\"_kind\":\"+I\",\"k\":5,", 20);
    size_t lines = 0;
    for (const char *p = whole; *p != '\0'; p++)
        lines += *p == '\n';
    assert_int_equal(lines, 20);
    tl_free(whole);
    tl_free(resumed);
}

/* Of every type, with the options that parts of columns have; the same rows however they are asked for. */
static void generated_values_keep_to_their_options(void **state)
{
    (void)state;
    tl_error err;
    char *whole, *resumed;
    static const char type[] = "ROW<r ROW<a INT, b STRING>, l ARRAY<DOUBLE>, m MAP<STRING, INT>, x MAP<BOOLEAN, INT>, ms MULTISET<TINYINT>, d DECIMAL(10, 2), v VARCHAR(12), "
                               "c CHAR(4), f FLOAT, n INT>";
    static const char options[] = "connector=datagen;number-of-rows=50;rows-per-second=1000000000;fields.r.a.min=3;fields.r.a.max=3;fields.r.b.length=2;fields.l.length=2;"
                                  "fields.l.element.min=1;fields.l.element.max=1;fields.m.length=20;fields.m.key.length=1;fields.m.value.min=7;fields.m.value.max=7;"
                                  "fields.ms.length=1;fields.ms.element.max=-128;fields.d.min=5;fields.d.max=5;fields.v.var-len=true;fields.f.min=2;fields.f.max=2;"
                                  "fields.n.null-rate=1";
    assert_ok(read_all(type, options, 100, false, &whole, &err), &err);
    assert_ok(read_all(type, options, 7, true, &resumed, &err), &err);
    assert_string_equal(whole, resumed);
    assert_memory_equal(whole, "{\"_kind\":\"+I\",\"r\":{\"a\":3,\"b\":\"", strlen("{\"_kind\":\"+I\",\"r\":{\"a\":3,\"b\":\""));
    assert_non_null(strstr(whole, "\"l\":[1,1],\"m\":[[\"0\",7],[\"1\",7],")); /* sixteen keys of one digit */
    assert_non_null(strstr(whole, "[\"f\",7]],\"x\":[[false,"));
    assert_non_null(strstr(whole, "\"ms\":[[-128,1]],\"d\":\"5.00\",\"v\":\""));
    assert_non_null(strstr(whole, ",\"f\":2,\"n\":null}\n"));
    tl_free(whole);
    tl_free(resumed);
}

static void a_batch_query_gets_its_rows_at_once(void **state)
{
    (void)state;
    const tl_type *type = type_of("ROW<k BIGINT, t TIMESTAMP(3)>");
    tl_options options = {0};
    set_options(&options, "connector=datagen;rows-per-second=1;number-of-rows=5000");
    tl_connector_spec spec = {.fs = fs, .row_type = type, .options = &options, .at_once = true};
    tl_error err;
    tl_source *source;
    tl_source_state st;
    tl_batch *batch;
    assert_ok(tl_source_open(&spec, NULL, &source, &err), &err);
    assert_ok(tl_source_next(source, 10000, &batch, &st, &err), &err);
    assert_int_equal(batch->n_rows, 5000);
    tl_batch_free(batch);
    assert_ok(tl_source_next(source, 10000, &batch, &st, &err), &err);
    assert_int_equal(st, TL_SOURCE_END);
    tl_source_free(source);
    tl_options_deinit(&options);
    tl_type_unref(type);
}

/* Rows of the history and rows from the position on are together the whole, wherever the position is. */
static void history_and_rest_are_the_whole(void **state)
{
    (void)state;
    put("/h/a.json", "{\"i\":1}\n{\"i\":2}\n");
    put("/h/b.json", "{\"i\":3}\n{\"i\":4}\n{\"i\":5}\n");
    const tl_type *type = type_of("ROW<i INT>");
    tl_options options = {0};
    set_options(&options, "connector=filesystem;path=/h;format=json");
    tl_connector_spec spec = {.fs = fs, .row_type = type, .options = &options};
    for (int64_t upto = 1; upto <= 5; upto++) {
        tl_error err;
        tl_source *source;
        tl_source_state st;
        tl_batch *batch;
        assert_ok(tl_source_open(&spec, NULL, &source, &err), &err);
        assert_ok(tl_source_next(source, upto, &batch, &st, &err), &err);
        assert_int_equal(batch->n_rows, upto);
        tl_batch_free(batch);
        tl_buf position = {0};
        char *text;
        assert_int_equal(tl_source_position(source, &position), TL_OK);
        assert_int_equal(tl_buf_steal_str(&position, &text), TL_OK);
        tl_source_free(source);
        assert_ok(tl_source_open_history(&spec, text, &source, &err), &err);
        assert_ok(tl_source_next(source, 100, &batch, &st, &err), &err);
        assert_int_equal(batch->n_rows, upto);
        for (int64_t i = 0; i < upto; i++)
            assert_int_equal(tl_col_i32(batch->cols[0], i), i + 1);
        tl_batch_free(batch);
        assert_ok(tl_source_next(source, 100, &batch, &st, &err), &err);
        assert_int_equal(st, TL_SOURCE_END);
        tl_source_free(source);
        tl_free(text);
    }
    tl_options_deinit(&options);
    tl_type_unref(type);
}

/* Columns that the files' records do not have; a batch holds rows of one file, a position is good in each of them. */
static void folders_and_files_give_columns(void **state)
{
    (void)state;
    static const char type_text[] = "ROW<d DATE, i INT, name STRING, size BIGINT, n INT>";
    static const char *const keys[] = {NULL, NULL, "file.name", "file.size", NULL};
    static const int32_t partition[] = {0, 4};
    put("/pt/d=2024-01-01/n=7/a.json", "{\"i\":1}\n{\"i\":2}\n");
    put("/pt/d=__DEFAULT_PARTITION__/n=%2D8/b.json", "{\"i\":3}\n");
    const tl_type *type = type_of(type_text);
    for (int64_t max_rows = 1; max_rows < 4; max_rows++) {
        tl_options options = {0};
        set_options(&options, "connector=filesystem;path=/pt;format=json");
        tl_connector_spec spec = {.fs = fs, .row_type = type, .options = &options, .metadata_keys = keys, .partition_key = partition, .n_partition_key = 2};
        tl_error err;
        tl_source *source;
        tl_source_state st = TL_SOURCE_ROWS;
        tl_buf lines = {0};
        assert_ok(tl_connector_validate(&spec, &err), &err);
        assert_ok(tl_source_open(&spec, NULL, &source, &err), &err);
        while (st == TL_SOURCE_ROWS) {
            tl_batch *batch = NULL;
            assert_ok(tl_source_next(source, max_rows, &batch, &st, &err), &err);
            if (batch != NULL)
                assert_int_equal(tl_text_append_json_lines(&lines, batch, 0, batch->n_rows, false, false), TL_OK);
            tl_batch_free(batch);
            tl_buf position = {0};
            char *text;
            assert_int_equal(tl_source_position(source, &position), TL_OK);
            assert_int_equal(tl_buf_steal_str(&position, &text), TL_OK);
            tl_source_free(source);
            assert_ok(tl_source_open(&spec, text, &source, &err), &err);
            tl_free(text);
        }
        tl_source_free(source);
        char *text;
        assert_int_equal(tl_buf_steal_str(&lines, &text), TL_OK);
        assert_string_equal(text, "{\"d\":\"2024-01-01\",\"i\":1,\"name\":\"a.json\",\"size\":16,\"n\":7}\n"
                                  "{\"d\":\"2024-01-01\",\"i\":2,\"name\":\"a.json\",\"size\":16,\"n\":7}\n"
                                  "{\"d\":null,\"i\":3,\"name\":\"b.json\",\"size\":8,\"n\":-8}\n");
        tl_free(text);
        tl_options_deinit(&options);
    }
    tl_type_unref(type);
}

static void wrong_folders_and_metadata_are_refused(void **state)
{
    (void)state;
    static const int32_t partition[] = {1};
    static const char *const unknown[] = {"value.source.timestamp", NULL}, *const not_text[] = {"file.name", NULL};
    put("/nofolder/a.json", "{\"i\":1}\n");
    put("/badfolder/n=x/a.json", "{\"i\":1}\n");
    const struct {
        const char *path, *const *keys, *part;
        int32_t n_partition;
    } cases[] = {
        {"path=/nofolder", NULL, "no folder 'n=...'", 1},
        {"path=/badfolder", NULL, "cannot read x as INT", 1},
        {"path=/nofolder", unknown, "no metadata 'value.source.timestamp'", 0},
        {"path=/nofolder", not_text, "'file.name' is of type STRING", 0},
    };
    const tl_type *type = type_of("ROW<i INT, n INT>");
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        tl_options options = {0};
        set_options(&options, "connector=filesystem;format=json");
        set_options(&options, cases[i].path);
        tl_connector_spec spec = {.fs = fs, .row_type = type, .options = &options, .metadata_keys = cases[i].keys, .partition_key = partition, .n_partition_key = cases[i].n_partition};
        tl_error err;
        tl_source *source = NULL;
        tl_source_state st;
        tl_batch *batch = NULL;
        tl_status status = tl_source_open(&spec, NULL, &source, &err);
        if (status == TL_OK)
            status = tl_source_next(source, 10, &batch, &st, &err);
        tl_source_free(source);
        assert_fails(status, TL_E_INVALID, &err, cases[i].part);
        tl_options_deinit(&options);
    }
    tl_type_unref(type);
}

static void unknown_options_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *options, *part;
    } cases[] = {
        {"connector=nope", "unknown connector 'nope'"},
        {"connector=filesystem;path=/d;format=xml", "unknown format 'xml'"},
        {"connector=filesystem;path=/d;format=json;sink.size=1;paths=x", "no option 'paths'"},
        {"connector=filesystem;path=/d;format=json;csv.quote-character='", "no option 'csv.quote-character'"},
        {"connector=filesystem;path=/d;format=json;json.timestamp-format.standard=RFC", "not SQL or ISO-8601"},
        {"connector=filesystem;path=/d;format=canal-json;canal-json.table.include=(", "is '(', which is no regular expression"},
    };
    const tl_type *type = type_of("ROW<i INT>");
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        tl_options options = {0};
        set_options(&options, cases[i].options);
        tl_connector_spec spec = {.fs = fs, .row_type = type, .options = &options};
        tl_error err;
        tl_source *source;
        tl_sink *sink;
        assert_fails(tl_connector_validate(&spec, &err), TL_E_INVALID, &err, cases[i].part);
        assert_fails(tl_source_open(&spec, NULL, &source, &err), TL_E_INVALID, &err, cases[i].part);
        assert_fails(tl_sink_open(&spec, NULL, &sink, &err), TL_E_INVALID, &err, cases[i].part);
        tl_options_deinit(&options);
    }
    tl_type_unref(type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_lines_are_read_by_flinks_rules),
        cmocka_unit_test(bad_records_name_file_record_and_column),
        cmocka_unit_test(csv_keeps_quotes_and_empty_texts),
        cmocka_unit_test(change_events_become_rows_with_kinds),
        cmocka_unit_test(folders_are_read_by_name_without_hidden_files),
        cmocka_unit_test(gzip_files_are_decompressed),
        cmocka_unit_test(followed_folders_give_new_files_once),
        cmocka_unit_test(generated_rows_are_the_same_after_a_resume),
        cmocka_unit_test(generated_values_keep_to_their_options),
        cmocka_unit_test(a_batch_query_gets_its_rows_at_once),
        cmocka_unit_test(history_and_rest_are_the_whole),
        cmocka_unit_test(folders_and_files_give_columns),
        cmocka_unit_test(wrong_folders_and_metadata_are_refused),
        cmocka_unit_test(unknown_options_are_refused),
    };
    return cmocka_run_group_tests(tests, open_fs, close_fs);
}
