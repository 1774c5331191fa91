/*
 * Files of lines. What the reference (1.4.2) makes of the same bytes was asked of the oracle, tests/interop/lines.py asks it again over
 * whole tables; here are the places where these parsers differ from others, and what is said of malformed lines.
 */
#include "format/format.h"
#include "support/test.h"
#include "types/text.h"

#define ROW "ROW<i INT, s STRING, d DECIMAL(5, 2), b BYTES>"

typedef struct sample {
    const tl_format *format;
    const char *options; /* key=value, split by | */
    const char *type;
    const char *content;
    const char *rows;  /* JSON lines */
    const char *error; /* instead of them */
} sample;

static tl_options options_of(const char *text)
{
    tl_options options = {0};
    char copy[512];
    snprintf(copy, sizeof copy, "%s", text == NULL ? "" : text);
    for (char *save = NULL, *part = strtok_r(copy, "|", &save); part != NULL; part = strtok_r(NULL, "|", &save)) {
        char *equals = strchr(part, '=');
        *equals = 0;
        assert_int_equal(tl_options_set(&options, part, equals + 1), TL_OK);
    }
    return options;
}

static const tl_type *type_of(const char *text)
{
    const tl_type *type = NULL;
    tl_error err;
    assert_ok(tl_type_parse((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &type, &err), &err);
    return type;
}

static tl_fs *memory(void)
{
    tl_fs *fs = NULL;
    tl_error err;
    assert_ok(tl_fs_memory(&fs, &err), &err);
    return fs;
}

/* The rows of a file as JSON lines. */
static tl_status read_lines(tl_fs *fs, const char *path, const sample *s, tl_buf *out, tl_error *err)
{
    const tl_type *type = type_of(s->type);
    tl_options options = options_of(s->options);
    tl_reader *reader = NULL;
    tl_read_spec spec = {.row_type = type, .options = &options, .batch_rows = 2, .with_row_numbers = true};
    tl_status status = s->format->open(fs, path, 0, &spec, &reader, err);
    int64_t last = -1;
    for (bool more = status == TL_OK; more;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        status = tl_reader_next(reader, &batch, err);
        more = status == TL_OK && batch != NULL;
        for (int64_t i = 0; more && i < batch->n_rows; i++) {
            assert_true(batch->seq[i] > last);
            last = batch->seq[i];
            assert_int_equal(tl_text_append_json_row(out, batch, i, false, 0), TL_OK);
            assert_int_equal(tl_buf_append_byte(out, '\n'), TL_OK);
        }
    }
    assert_int_equal(tl_buf_append_byte(out, 0), TL_OK);
    tl_reader_free(reader);
    tl_options_deinit(&options);
    tl_type_unref(type);
    return status;
}

static void check(const sample *s)
{
    tl_fs *fs = memory();
    tl_buf rows = {0};
    tl_error err;
    assert_ok(tl_fs_publish(fs, "/t/part-0", (tl_bytes_view){(const uint8_t *)s->content, strlen(s->content)}, false, &err), &err);
    tl_status status = read_lines(fs, "/t/part-0", s, &rows, &err);
    if (s->error != NULL) {
        assert_fails(status, TL_E_CORRUPT, &err, s->error);
        assert_non_null(strstr(err.message, "part-0"));
    } else {
        assert_ok(status, &err);
        assert_string_equal((const char *)rows.data, s->rows);
    }
    tl_buf_deinit(&rows);
    tl_fs_unref(fs);
}

#define TWO "ROW<a STRING, b STRING>"
#define BOTH(A, B) "{\"a\":" A ",\"b\":" B "}\n"

static void csv_is_cut_as_by_the_reference(void **state)
{
    (void)state;
    static const sample samples[] = {
        {&tl_format_csv, NULL, TWO, "x,y\n\n  \nz\n", BOTH("\"x\"", "\"y\"") BOTH("null", "null") BOTH("null", "null") BOTH("\"z\"", "null"), NULL},
        {&tl_format_csv, NULL, TWO, "\xef\xbb\xbfx,y\r\nz,w\rq,r", BOTH("\"x\"", "\"y\"") BOTH("\"z\"", "\"w\"") BOTH("\"q\"", "\"r\""), NULL},
        {&tl_format_csv, NULL, TWO, "\"a,\"\"b\",\"c\\\"d\"\n", BOTH("\"a,\\\"b\"", "\"c\\\"d\""), NULL},
        {&tl_format_csv, NULL, TWO, "abc\"d\"ef,g\n", BOTH("\"abc\\\"d\\\"ef\"", "\"g\""), NULL},
        {&tl_format_csv, NULL, TWO, "a\\b,\"open\nrest\n", BOTH("\"ab\"", "null") BOTH("\"rest\"", "null"), NULL},
        {&tl_format_csv, NULL, TWO, "a,  \"b\"\n", BOTH("\"a\"", "\"b\""), NULL},
        {&tl_format_csv, "csv.include-header=true|csv.field-delimiter=;|csv.null-literal=NULL|csv.quote-character='", TWO, "a;b\n'x;y';NULL\n;\n",
         BOTH("\"x;y\"", "null") BOTH("\"\"", "\"\""), NULL},
        {&tl_format_csv, "lineSep=$$|seq=:", TWO, "x:y$$z$:\n$$$", BOTH("\"x\"", "\"y\"") BOTH("\"z$\"", "\"\\n\"") BOTH("\"$\"", "null"), NULL},
        {&tl_format_csv, NULL, TWO, "a\xff" "b,\xe2\x82\n", BOTH("\"a\xef\xbf\xbd" "b\"", "\"\xef\xbf\xbd\""), NULL},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(samples); i++)
        check(&samples[i]);
}

#define NONE_OF "{\"i\":null,\"s\":null,\"d\":null,\"b\":null}\n"

static void malformed_csv_follows_the_mode(void **state)
{
    (void)state;
    static const sample samples[] = {
        {&tl_format_csv, NULL, ROW, "1,a,1.005,AP8=\nx,a,1,\n2,a,z,AP8\n",
         "{\"i\":1,\"s\":\"a\",\"d\":\"1.01\",\"b\":\"00ff\"}\n" NONE_OF "{\"i\":2,\"s\":\"a\",\"d\":null,\"b\":null}\n", NULL},
        {&tl_format_csv, "csv.mode=DropMalformed", ROW, "x\n2147483648\n3,a,1234,AP8\n", "{\"i\":3,\"s\":\"a\",\"d\":null,\"b\":\"00ff\"}\n", NULL},
        {&tl_format_csv, "csv.mode=failfast", ROW, "1\n2,a,1..5\n", NULL, "line 2: column 'd': '1..5' is no DECIMAL(5, 2)"},
        {&tl_format_csv, "csv.mode=failfast", ROW, "1\n2,a,1,A=PP\n", NULL, "line 2: column 'b': 'A=PP' is no BYTES"},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(samples); i++)
        check(&samples[i]);
}

#define NESTED "ROW<a ARRAY<INT>, m MAP<INT, STRING>, r ROW<x DATE, y BOOLEAN>>"

static void json_is_read_as_by_the_reference(void **state)
{
    (void)state;
    static const sample samples[] = {
        {&tl_format_json, NULL, ROW, "{\"s\":7,\"i\":\"5\",\"d\":1.10,\"z\":[]} trailing\nnull\n{\"s\":1e2,\"i\":-0}\n{\"s\":{\"q\":1}}\n",
         "{\"i\":5,\"s\":\"7\",\"d\":\"1.10\",\"b\":null}\n{\"i\":0,\"s\":\"100.0\",\"d\":null,\"b\":null}\n"
         "{\"i\":null,\"s\":\"\",\"d\":null,\"b\":null}\n", NULL},
        {&tl_format_json, NULL, NESTED, "{\"a\":[1,null,\"2\"],\"m\":{\"1\":\"a\",\"2\":null,\"1\":\"c\"},\"r\":{\"x\":\"2020-02-30\",\"y\":\"TRUE\"}}",
         NULL, "line 1: column 'r': 'x': \"2020-02-30\" is no DATE"},
        {&tl_format_json, NULL, NESTED, "{\"a\":[1,null,\"2\"],\"m\":{\"1\":\"a\",\"2\":null,\"1\":\"c\"},\"r\":{\"x\":\"2020-02-29\",\"y\":\"TRUE\"}}",
         "{\"a\":[1,null,2],\"m\":[[1,\"c\"],[2,null]],\"r\":{\"x\":\"2020-02-29\",\"y\":true}}\n", NULL},
        {&tl_format_json, NULL, ROW, "{\"i\":1}\n\n", NULL, "line 2"},
        {&tl_format_json, NULL, ROW, "[1]\n", NULL, "line 1: is no JSON object"},
        {&tl_format_json, NULL, ROW, "{\"i\":1.5}\n", NULL, "line 1: column 'i': 1.5 is no INT"},
        {&tl_format_json, NULL, NESTED, "{\"m\":{\"x\":1}}\n", NULL, "line 1: column 'm': the key 'x'"},
        {&tl_format_json, "json.ignore-parse-errors=true", NESTED, "{\n[]\n{\"a\":{},\"m\":{\"x\":1,\"2\":3},\"r\":{\"x\":\"?\",\"y\":1}}\n",
         "{\"a\":null,\"m\":[[2,\"3\"]],\"r\":{\"x\":null,\"y\":false}}\n", NULL},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(samples); i++)
        check(&samples[i]);
}

static tl_batch *two_rows(const tl_type *type)
{
    tl_batch *batch = NULL;
    tl_error err;
    assert_ok(tl_batch_create(type, 2, &batch, &err), &err);
    for (int32_t c = 0; c < type->n_fields; c++) {
        tl_builder *builder = NULL;
        assert_ok(tl_builder_create(type->fields[c].type, &builder, &err), &err);
        assert_int_equal(tl_builder_bytes(builder, c == 0 ? "say \"x\", y" : "p", c == 0 ? 10 : 1), TL_OK);
        assert_int_equal(tl_builder_null(builder), TL_OK);
        assert_ok(tl_builder_finish(builder, &batch->cols[c], &err), &err);
        tl_builder_free(builder);
    }
    return batch;
}

static void write_file(tl_fs *fs, const char *path, const sample *s, const char *compression, tl_error *err, tl_status *status)
{
    const tl_type *type = type_of(s->type);
    tl_options options = options_of(s->options);
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = two_rows(type);
    tl_file_writer *writer = NULL;
    tl_write_result result = {0};
    tl_write_spec spec = {.row_type = type, .options = &options, .with_stats = true, .compression = compression};
    *status = s->format->create(fs, path, &spec, &writer, err);
    if (*status == TL_OK) {
        assert_ok(writer->ops->write(writer, batch, err), err);
        assert_ok(writer->ops->finish(writer, &result, err), err);
        assert_int_equal(result.rows, 2);
        assert_int_equal(result.stats[0].null_count, 1);
        tl_write_result_deinit(&result);
        writer->ops->free(writer);
    }
    tl_options_deinit(&options);
    tl_type_unref(type);
}

static void files_are_written_as_by_the_reference(void **state)
{
    (void)state;
    static const sample samples[] = {
        {&tl_format_csv, NULL, TWO, "\"say \\\"x\\\", y\",p\n,\n", NULL, NULL},
        {&tl_format_csv, "csv.include-header=true|csv.null-literal=-|csv.line-delimiter=\r\n", TWO, "a,b\r\n\"say \\\"x\\\", y\",p\r\n-,-\r\n", NULL, NULL},
        {&tl_format_json, NULL, TWO, "{\"a\":\"say \\\"x\\\", y\",\"b\":\"p\"}\n{\"a\":null,\"b\":null}\n", NULL, NULL},
        {&tl_format_text, "text.line-delimiter=;", "ROW<a STRING>", "say \"x\", y;;", NULL, NULL},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(samples); i++) {
        tl_fs *fs = memory();
        tl_error err;
        tl_status status;
        tl_bytes file = {0};
        write_file(fs, "/t/f.csv", &samples[i], "none", &err, &status);
        assert_ok(status, &err);
        assert_ok(tl_fs_read_all(fs, "/t/f.csv", 1 << 20, &file, &err), &err);
        assert_int_equal(file.len, strlen(samples[i].content));
        assert_memory_equal(file.data, samples[i].content, file.len);
        tl_bytes_deinit(&file);
        tl_fs_unref(fs);
    }
}

static void names_say_how_files_are_compressed(void **state)
{
    (void)state;
    static const sample s = {&tl_format_json, NULL, TWO, NULL, NULL, NULL};
    static const char *const paths[] = {"/t/f.json.gz", "/t/f.json.bz2", "/t/f.json.deflate", "/t/f.json.zst"};
    tl_fs *fs = memory();
    tl_error err;
    tl_status status;
    for (size_t i = 0; i < TL_ARRAY_LEN(paths); i++) {
        tl_buf rows = {0};
        tl_bytes file = {0};
        write_file(fs, paths[i], &s, NULL, &err, &status);
        assert_ok(status, &err);
        assert_ok(read_lines(fs, paths[i], &s, &rows, &err), &err);
        assert_string_equal((const char *)rows.data, "{\"a\":\"say \\\"x\\\", y\",\"b\":\"p\"}\n{\"a\":null,\"b\":null}\n");
        assert_ok(tl_fs_read_all(fs, paths[i], 1 << 20, &file, &err), &err);
        assert_ok(tl_fs_remove(fs, paths[i], &err), &err);
        assert_ok(tl_fs_publish(fs, paths[i], (tl_bytes_view){file.data, file.len / 2}, false, &err), &err);
        assert_fails(read_lines(fs, paths[i], &s, &rows, &err), TL_E_CORRUPT, &err, tl_path_base(paths[i]));
        tl_bytes_deinit(&file);
        tl_buf_deinit(&rows);
    }
    write_file(fs, "/t/f.json.snappy", &s, NULL, &err, &status);
    assert_fails(status, TL_E_UNSUPPORTED, &err, "not with 'snappy'");
    write_file(fs, "/t/f.json", &s, "lzo", &err, &status);
    assert_fails(status, TL_E_UNSUPPORTED, &err, "not with 'lzo'");
    tl_fs_unref(fs);
}

static void types_and_options_are_checked(void **state)
{
    (void)state;
    static const struct {
        sample s;
        const char *message;
    } cases[] = {
        {{&tl_format_csv, NULL, "ROW<a INT, b ARRAY<INT>>", NULL, NULL, NULL}, "Unsupported data type for CSV format: column 'b'"},
        {{&tl_format_json, NULL, "ROW<a ROW<b VARIANT>>", NULL, NULL, NULL}, "Unsupported data type for JSON format: column 'a'"},
        {{&tl_format_text, NULL, TWO, NULL, NULL, NULL}, "Text format only supports a single string column"},
        {{&tl_format_csv, "csv.quote-character=,", TWO, NULL, NULL, NULL}, "separator and quote character cannot be the same"},
        {{&tl_format_csv, "csv.mode=strict", TWO, NULL, NULL, NULL}, "must be permissive, dropmalformed or failfast"},
        {{&tl_format_csv, "csv.field-delimiter=\xc2\xa6", TWO, NULL, NULL, NULL}, "must begin with an ASCII character"},
        {{&tl_format_text, "text.line-delimiter=", "ROW<a STRING>", NULL, NULL, NULL}, "the line delimiter is empty"},
    };
    tl_fs *fs = memory();
    tl_error err;
    assert_ok(tl_fs_publish(fs, "/t/f", (tl_bytes_view){(const uint8_t *)"a", 1}, false, &err), &err);
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        tl_buf rows = {0};
        assert_fails(read_lines(fs, "/t/f", &cases[i].s, &rows, &err), TL_E_INVALID, &err, cases[i].message);
        tl_buf_deinit(&rows);
    }
    tl_fs_unref(fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_is_cut_as_by_the_reference),        cmocka_unit_test(malformed_csv_follows_the_mode),
        cmocka_unit_test(json_is_read_as_by_the_reference),      cmocka_unit_test(files_are_written_as_by_the_reference),
        cmocka_unit_test(names_say_how_files_are_compressed),    cmocka_unit_test(types_and_options_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
