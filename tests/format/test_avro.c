/* Avro containers as records: writer schemas of other shapes, the wire's corner cases, and hostile headers. */
#include "base/bits.h"
#include "format/avro/avro.h"
#include "support/test.h"

/* ---- the record type that the tests read ---- */

typedef struct inner {
    int64_t x;
    tl_bytes_view s;
} inner;
typedef struct outer {
    int64_t a;
    int64_t b;
    tl_bytes_view text;
    inner in;
    bool in_present;
    tl_avro_longs counts;
    tl_avro_longs ids;
    tl_avro_strs names;
    tl_avro_structs list;
} outer;

static const tl_avro_field inner_list[] = {
    {.name = "x", .kind = TL_AVRO_I64, .offset = offsetof(inner, x)},
    {.name = "s", .kind = TL_AVRO_STR, .nullable = true, .offset = offsetof(inner, s)},
};
static const tl_avro_record inner_record = {inner_list, 2, sizeof(inner)};
static const tl_avro_field outer_list[] = {
    {.name = "a", .kind = TL_AVRO_I32, .offset = offsetof(outer, a)},
    {.name = "b", .kind = TL_AVRO_I64, .nullable = true, .offset = offsetof(outer, b)},
    {.name = "text", .kind = TL_AVRO_STR, .nullable = true, .offset = offsetof(outer, text)},
    {.name = "in",
     .kind = TL_AVRO_RECORD,
     .nullable = true,
     .offset = offsetof(outer, in),
     .record = &inner_record,
     .present_offset = offsetof(outer, in_present)},
    {.name = "counts", .kind = TL_AVRO_NULL_I64S, .nullable = true, .offset = offsetof(outer, counts)},
    {.name = "ids", .kind = TL_AVRO_I32S, .nullable = true, .offset = offsetof(outer, ids)},
    {.name = "names", .kind = TL_AVRO_STRS, .nullable = true, .offset = offsetof(outer, names)},
    {.name = "list", .kind = TL_AVRO_NULL_RECORDS, .nullable = true, .offset = offsetof(outer, list), .record = &inner_record},
};
static const tl_avro_record outer_record = {outer_list, 8, sizeof(outer)};

/* ---- containers made by hand ---- */

static tl_bytes_view view(const char *text)
{
    return (tl_bytes_view){(const uint8_t *)text, strlen(text)};
}

static void put_long(tl_buf *buf, int64_t v)
{
    uint8_t bytes[10];
    assert_int_equal(tl_buf_append(buf, bytes, tl_varint_encode(tl_zigzag64(v), bytes)), TL_OK);
}

static void put_bytes(tl_buf *buf, tl_bytes_view v)
{
    put_long(buf, (int64_t)v.len);
    assert_int_equal(tl_buf_append(buf, v.data, v.len), TL_OK);
}

static void put_header(tl_buf *buf, const char *schema, const char *codec)
{
    assert_int_equal(tl_buf_append(buf, "Obj\x01", 4), TL_OK);
    put_long(buf, codec != NULL ? 2 : 1);
    put_bytes(buf, view("avro.schema"));
    put_bytes(buf, view(schema));
    if (codec != NULL) {
        put_bytes(buf, view("avro.codec"));
        put_bytes(buf, view(codec));
    }
    put_long(buf, 0);
    assert_int_equal(tl_buf_append(buf, "0123456789abcdef", 16), TL_OK);
}

static void put_block(tl_buf *buf, int64_t count, const void *data, size_t len)
{
    put_long(buf, count);
    put_long(buf, (int64_t)len);
    assert_int_equal(tl_buf_append(buf, data, len), TL_OK);
    assert_int_equal(tl_buf_append(buf, "0123456789abcdef", 16), TL_OK);
}

typedef struct opened {
    tl_buf file;
    tl_avro_records *records;
} opened;

static tl_status open_one(opened *o, const char *schema, const void *data, size_t len, tl_error *err)
{
    *o = (opened){{0}, NULL};
    put_header(&o->file, schema, NULL);
    put_block(&o->file, 1, data, len);
    return tl_avro_records_open((tl_bytes_view){o->file.data, o->file.len}, &outer_record, &o->records, err);
}

static void close_one(opened *o)
{
    tl_avro_records_free(o->records);
    tl_buf_deinit(&o->file);
}

static tl_status read_only(opened *o, outer *out, tl_error *err)
{
    bool more = false;
    tl_status status = tl_avro_records_next(o->records, out, &more, err);
    if (status == TL_OK)
        assert_true(more);
    return status;
}

#define RECORD(FIELDS) "{\"type\":\"record\",\"name\":\"r\",\"namespace\":\"n.s\",\"fields\":[" FIELDS "]}"

static void missing_fields_are_null_and_unknown_ones_are_passed_over(void **state)
{
    (void)state;
    tl_error err;
    opened o;
    outer r;
    const char *schema = RECORD(
        "{\"name\":\"u1\",\"type\":{\"type\":\"map\",\"values\":[\"null\",\"double\",\"string\"]}},"
        "{\"name\":\"text\",\"type\":[\"string\",\"null\"]},"
        "{\"name\":\"u2\",\"type\":{\"type\":\"fixed\",\"name\":\"F\",\"size\":3}},"
        "{\"name\":\"u3\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"B\"]}},"
        "{\"name\":\"u4\",\"type\":{\"type\":\"array\",\"items\":\"F\"}},"
        "{\"name\":\"u5\",\"type\":\"n.s.E\"},{\"name\":\"u6\",\"type\":\"boolean\"},{\"name\":\"u7\",\"type\":\"float\"},"
        "{\"name\":\"u8\",\"type\":{\"type\":\"array\",\"items\":\"null\"}},"
        "{\"name\":\"a\",\"type\":\"long\"}");
    static const uint8_t data[] = {/* u1: one block of two with its size, then the end */ 3,
                                   24,
                                   2,
                                   'k',
                                   2,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   2,
                                   'l',
                                   0,
                                   0,
                                   /* text */ 0,
                                   4,
                                   'h',
                                   'i',
                                   /* u2 */ 1,
                                   2,
                                   3,
                                   /* u3 */ 2,
                                   /* u4 */ 4,
                                   1,
                                   2,
                                   3,
                                   4,
                                   5,
                                   6,
                                   0,
                                   /* u5 */ 0,
                                   /* u6 */ 1,
                                   /* u7 */ 0,
                                   0,
                                   0,
                                   0,
                                   /* u8: a billion nulls */ 0x80,
                                   0xa8,
                                   0xd6,
                                   0xb9,
                                   0x07,
                                   0,
                                   /* a */ 13};
    assert_ok(open_one(&o, schema, data, sizeof data, &err), &err);
    assert_ok(read_only(&o, &r, &err), &err);
    assert_int_equal(r.a, -7);
    assert_true(r.b == TL_AVRO_ABSENT);
    assert_true(tl_bytes_equal(r.text, view("hi")));
    assert_false(r.in_present);
    assert_int_equal(r.counts.n, -1);
    assert_int_equal(r.ids.n, -1);
    assert_int_equal(r.names.n, -1);
    assert_int_equal(r.list.n, -1);
    close_one(&o);
}

static void arrays_come_in_any_number_of_blocks(void **state)
{
    (void)state;
    tl_error err;
    opened o;
    outer r;
    const char *schema = RECORD(
        "{\"name\":\"counts\",\"type\":{\"type\":\"array\",\"items\":[\"null\",\"long\"]}},"
        "{\"name\":\"names\",\"type\":[\"null\",{\"type\":\"array\",\"items\":\"string\"}]},"
        "{\"name\":\"list\",\"type\":{\"type\":\"array\",\"items\":[\"null\",{\"type\":\"record\",\"name\":\"i\",\"fields\":["
        "{\"name\":\"s\",\"type\":\"bytes\"},{\"name\":\"x\",\"type\":\"int\"}]}]}},{\"name\":\"a\",\"type\":\"int\"}");
    static const uint8_t data[] = {/* counts */ 2,
                                   2,
                                   10,
                                   3,
                                   4,
                                   0,
                                   2,
                                   1,
                                   0,
                                   /* names */ 2,
                                   2,
                                   2,
                                   'x',
                                   2,
                                   0,
                                   0,
                                   /* list */ 6,
                                   2,
                                   2,
                                   'p',
                                   4,
                                   0,
                                   2,
                                   0,
                                   6,
                                   0,
                                   /* a */ 2};
    assert_ok(open_one(&o, schema, data, sizeof data, &err), &err);
    assert_ok(read_only(&o, &r, &err), &err);
    assert_int_equal(r.a, 1);
    assert_int_equal(r.counts.n, 3);
    assert_int_equal(r.counts.items[0], 5);
    assert_true(r.counts.items[1] == TL_AVRO_ABSENT);
    assert_int_equal(r.counts.items[2], -1);
    assert_int_equal(r.names.n, 2);
    assert_int_equal(r.names.items[1].len, 0);
    assert_int_equal(r.list.n, 2); /* the null is left out */
    const inner *items = r.list.items;
    assert_int_equal(items[0].x, 2);
    assert_true(tl_bytes_equal(items[0].s, view("p")));
    assert_int_equal(items[1].x, 3);
    assert_int_equal(items[1].s.len, 0);
    close_one(&o);
}

static void old_files_have_a_union_around_the_record(void **state)
{
    (void)state;
    tl_error err;
    opened o;
    outer r;
    bool more = true;
    const char *schema = "[\"null\"," RECORD(
        "{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"in\",\"type\":[\"null\",{\"type\":\"record\",\"name\":\"q\","
        "\"fields\":[{\"name\":\"x\",\"type\":\"long\"}]}]}") "]";
    assert_ok(open_one(&o, schema, "\x02\x08\x02\x0a", 4, &err), &err);
    assert_ok(read_only(&o, &r, &err), &err);
    assert_int_equal(r.a, 4);
    assert_true(r.in_present);
    assert_int_equal(r.in.x, 5);
    assert_null(r.in.s.data);
    assert_ok(tl_avro_records_next(o.records, &r, &more, &err), &err);
    assert_false(more);
    close_one(&o);
    assert_ok(open_one(&o, schema, "\x00", 1, &err), &err);
    assert_fails(read_only(&o, &r, &err), TL_E_CORRUPT, &err, "record at byte 0");
    close_one(&o);
}

static void records_survive_writing_and_reading(void **state)
{
    (void)state;
    tl_error err;
    tl_fs *fs = NULL;
    tl_avro_writer *w = NULL;
    int64_t bytes = 0, counts[] = {1, TL_AVRO_ABSENT, INT64_MIN + 1, INT64_MAX}, ids[] = {INT32_MIN, INT32_MAX};
    tl_bytes_view names[] = {view("n\xc3\xa4"), view("")};
    inner items[] = {{7, view("s")}, {-7, {NULL, 0}}};
    assert_ok(tl_fs_memory(&fs, &err), &err);
    assert_ok(tl_avro_writer_create(fs, "/f", &outer_record, "zstd", 1, &w, &err), &err);
    for (int64_t i = 0; i < 20000; i++) {
        outer r = {.a = i,
                   .b = i % 2 ? TL_AVRO_ABSENT : i << 40,
                   .text = view("text"),
                   .in = {i, {NULL, 0}},
                   .in_present = i % 3 == 0};
        r.counts = (tl_avro_longs){counts, (int32_t)(i % 5)};
        r.ids = (tl_avro_longs){ids, i % 4 == 3 ? -1 : 2};
        r.names = (tl_avro_strs){names, i % 4 == 2 ? -1 : 2};
        r.list = (tl_avro_structs){items, (int32_t)(i % 3)};
        assert_ok(tl_avro_writer_append(w, &r, &err), &err);
    }
    assert_true(tl_avro_writer_bytes(w) > 0);
    assert_ok(tl_avro_writer_finish(w, &bytes, &err), &err);
    tl_avro_writer_free(w);
    tl_bytes file = {0};
    tl_avro_records *records = NULL;
    assert_ok(tl_fs_read_all(fs, "/f", 1 << 28, &file, &err), &err);
    assert_int_equal(file.len, bytes);
    assert_ok(tl_avro_records_open(tl_bytes_view_of(file), &outer_record, &records, &err), &err);
    for (int64_t i = 0; i < 20000; i++) {
        outer r;
        bool more;
        assert_ok(tl_avro_records_next(records, &r, &more, &err), &err);
        assert_true(more);
        assert_int_equal(r.a, i);
        assert_true(r.b == (i % 2 ? TL_AVRO_ABSENT : i << 40));
        assert_int_equal(r.in_present, i % 3 == 0);
        assert_int_equal(r.counts.n, i % 5);
        assert_memory_equal(r.counts.items, counts, (size_t)(i % 5) * sizeof *counts);
        assert_int_equal(r.ids.n, i % 4 == 3 ? -1 : 2);
        assert_int_equal(r.names.n, i % 4 == 2 ? -1 : 2);
        assert_int_equal(r.list.n, i % 3);
        if (i % 3 == 2)
            assert_null(((const inner *)r.list.items)[1].s.data);
    }
    tl_avro_records_free(records);
    tl_bytes_deinit(&file);
    tl_fs_unref(fs);
}

static void a_writer_that_is_not_finished_leaves_no_file(void **state)
{
    (void)state;
    tl_error err;
    tl_fs *fs = NULL;
    tl_avro_writer *w = NULL;
    bool there = true;
    outer r;
    assert_ok(tl_fs_memory(&fs, &err), &err);
    assert_ok(tl_avro_writer_create(fs, "/f", &outer_record, "null", 1, &w, &err), &err);
    tl_avro_record_clear(&outer_record, &r);
    assert_ok(tl_avro_writer_append(w, &r, &err), &err);
    tl_avro_writer_free(w);
    assert_ok(tl_fs_exists(fs, "/f", &there, &err), &err);
    assert_false(there);
    assert_fails(tl_avro_writer_create(fs, "/f", &outer_record, "lz4", 1, &w, &err), TL_E_INVALID, &err, "codec 'lz4'");
    tl_fs_unref(fs);
}

static void schemas_that_do_not_fit_are_refused_by_the_field(void **state)
{
    (void)state;
    static const struct {
        const char *schema;
        tl_status status;
        const char *part;
    } cases[] = {
        {RECORD("{\"name\":\"b\",\"type\":\"int\"}"), TL_E_CORRUPT, "no field 'a'"},
        {RECORD("{\"name\":\"a\",\"type\":\"string\"}"), TL_E_CORRUPT, "'a' has the unexpected type string"},
        {RECORD("{\"name\":\"a\",\"type\":[\"null\",\"int\",\"long\"]}"), TL_E_CORRUPT, "unexpected type union"},
        {RECORD("{\"name\":\"a\",\"type\":\"nothing\"}"), TL_E_CORRUPT, "unknown type 'nothing'"},
        {RECORD("{\"name\":\"a\"}"), TL_E_CORRUPT, "no name or type"},
        {RECORD("{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"z\",\"type\":[\"null\",\"r\"]}"), TL_E_UNSUPPORTED,
         "recursive type 'r'"},
        {RECORD("{\"name\":\"a\",\"type\":{\"type\":\"fixed\",\"name\":\"f\",\"size\":-1}}"), TL_E_CORRUPT, "valid size"},
        {RECORD("{\"name\":\"a\",\"type\":[]}"), TL_E_CORRUPT, "no branches"},
        {"\"int\"", TL_E_CORRUPT, "int where a record is expected"},
        {"{\"type\":\"record\",\"name\":\"r\"}", TL_E_CORRUPT, "no fields"},
        {"{", TL_E_CORRUPT, "Avro schema"},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        tl_error err;
        opened o;
        assert_fails(open_one(&o, cases[i].schema, "", 0, &err), cases[i].status, &err, cases[i].part);
        close_one(&o);
    }
}

static void schemas_nested_too_deep_are_refused(void **state)
{
    (void)state;
    tl_error err;
    opened o;
    tl_buf schema = {0};
    assert_int_equal(tl_buf_append_str(&schema, "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"a\",\"type\":"),
                     TL_OK);
    for (int i = 0; i < 300; i++)
        assert_int_equal(tl_buf_append_str(&schema, "{\"type\":\"array\",\"items\":"), TL_OK);
    assert_int_equal(tl_buf_append_str(&schema, "\"int\""), TL_OK);
    for (int i = 0; i < 300; i++)
        assert_int_equal(tl_buf_append_str(&schema, "}"), TL_OK);
    char *text = NULL;
    assert_int_equal(tl_buf_append_str(&schema, "}]}"), TL_OK);
    assert_int_equal(tl_buf_steal_str(&schema, &text), TL_OK);
    tl_status status = open_one(&o, text, "", 0, &err);
    assert_int_equal(status, TL_E_LIMIT);
    close_one(&o);
    tl_free(text);
}

/* Names make a schema of few bytes describe one of many: 2^60 records of nothing, which must not be walked. */
static void records_of_nothing_cost_nothing(void **state)
{
    (void)state;
    tl_error err;
    opened o;
    outer r;
    tl_buf schema = {0};
    char *text = NULL;
    assert_int_equal(tl_buf_append_str(&schema, "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"z\",\"type\":{"
                                                "\"type\":\"record\",\"name\":\"r0\",\"fields\":[]}}"),
                     TL_OK);
    for (int i = 1; i <= 60; i++)
        assert_int_equal(tl_buf_appendf(&schema,
                                        ",{\"name\":\"z%d\",\"type\":{\"type\":\"record\",\"name\":\"r%d\",\"fields\":[{"
                                        "\"name\":\"p\",\"type\":\"r%d\"},{\"name\":\"q\",\"type\":\"r%d\"}]}}",
                                        i, i, i - 1, i - 1),
                         TL_OK);
    assert_int_equal(tl_buf_append_str(&schema, ",{\"name\":\"a\",\"type\":\"int\"}]}"), TL_OK);
    assert_int_equal(tl_buf_steal_str(&schema, &text), TL_OK);
    assert_ok(open_one(&o, text, "\x06", 1, &err), &err);
    assert_ok(read_only(&o, &r, &err), &err);
    assert_int_equal(r.a, 3);
    close_one(&o);
    tl_free(text);
}

static void wrong_values_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *fields;
        const char *data;
        size_t len;
        const char *part;
    } cases[] = {
        {"{\"name\":\"a\",\"type\":\"long\"}", "\x80\x80\x80\x80\x20", 5, "'a'"}, /* beyond 32 bits */
        {"{\"name\":\"a\",\"type\":\"int\"}", "\x80", 1, "'a'"},                  /* truncated */
        {"{\"name\":\"a\",\"type\":[\"null\",\"int\"]}", "\x00", 1, "'a'"},       /* null */
        {"{\"name\":\"a\",\"type\":[\"null\",\"int\"]}", "\x04\x02", 2, "'a'"},   /* no such branch */
        {"{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"text\",\"type\":\"string\"}", "\x02\x0a\x61", 3, "'text'"},
        {"{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"text\",\"type\":\"string\"}", "\x02\x01\x61", 3,
         "'text'"}, /* negative length */
        {"{\"name\":\"a\",\"type\":\"int\"},{\"name\":\"names\",\"type\":{\"type\":\"array\",\"items\":\"string\"}}",
         "\x02\x7e\x00", 3, "'names'"},
        {"{\"name\":\"a\",\"type\":\"int\"}", "\x02\x02", 2, "after the last record"},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        tl_error err;
        opened o;
        outer r;
        char schema[512];
        bool more;
        snprintf(schema, sizeof schema, "{\"type\":\"record\",\"name\":\"r\",\"fields\":[%s]}", cases[i].fields);
        assert_ok(open_one(&o, schema, cases[i].data, cases[i].len, &err), &err);
        tl_status status = tl_avro_records_next(o.records, &r, &more, &err);
        if (status == TL_OK)
            status = tl_avro_records_next(o.records, &r, &more, &err);
        assert_fails(status, TL_E_CORRUPT, &err, cases[i].part);
        close_one(&o);
    }
}

static void broken_containers_are_refused(void **state)
{
    (void)state;
    tl_error err;
    tl_avro_records *records = NULL;
    outer r;
    bool more;
    const char *schema = RECORD("{\"name\":\"a\",\"type\":\"int\"}");
    assert_fails(tl_avro_records_open(view(""), &outer_record, &records, &err), TL_E_CORRUPT, &err, "header");
    assert_fails(tl_avro_records_open(view("PAR1xxxx"), &outer_record, &records, &err), TL_E_CORRUPT, &err, "magic");
    tl_buf file = {0};
    put_header(&file, schema, "lzo");
    assert_fails(tl_avro_records_open((tl_bytes_view){file.data, file.len}, &outer_record, &records, &err), TL_E_UNSUPPORTED,
                 &err, "codec 'lzo'");
    static const struct {
        int64_t count;
        int64_t bytes;
        const char *part;
    } blocks[] = {{1, -1, "the file ends"},       {1, 1000, "the file ends"}, {1, INT64_MAX, "the file ends"},
                  {5, 1, "5 records in 1 bytes"}, {-1, 1, "-1 records"},      {1, 2, "sync marker"}};
    for (size_t i = 0; i < TL_ARRAY_LEN(blocks); i++) {
        file.len = 0;
        put_header(&file, schema, "null");
        put_long(&file, blocks[i].count);
        put_long(&file, blocks[i].bytes);
        assert_int_equal(tl_buf_append(&file,
                                       "\x02"
                                       "0123456789abcdef.",
                                       18),
                         TL_OK);
        assert_ok(tl_avro_records_open((tl_bytes_view){file.data, file.len}, &outer_record, &records, &err), &err);
        assert_fails(tl_avro_records_next(records, &r, &more, &err), TL_E_CORRUPT, &err, blocks[i].part);
        tl_avro_records_free(records);
    }
    tl_buf_deinit(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_fields_are_null_and_unknown_ones_are_passed_over),
        cmocka_unit_test(arrays_come_in_any_number_of_blocks),
        cmocka_unit_test(old_files_have_a_union_around_the_record),
        cmocka_unit_test(records_survive_writing_and_reading),
        cmocka_unit_test(a_writer_that_is_not_finished_leaves_no_file),
        cmocka_unit_test(schemas_that_do_not_fit_are_refused_by_the_field),
        cmocka_unit_test(schemas_nested_too_deep_are_refused),
        cmocka_unit_test(records_of_nothing_cost_nothing),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(broken_containers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
