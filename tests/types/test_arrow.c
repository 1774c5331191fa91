/* Arrow: batches come back, other producers' layouts are understood, malformed ones refused. */
#include "types/arrow.h"
#include "values.h"

/* ---- there and back ---- */

static tl_batch *batch_of(const char *type_text, int64_t n, int null_percent, uint64_t *rng)
{
    tl_error err;
    char *row_text = NULL;
    assert_true(asprintf(&row_text, "ROW<x %s, y INT NOT NULL>", type_text) > 0);
    const tl_type *row = test_type(row_text);
    tl_batch *batch = NULL;
    assert_ok(tl_batch_create(row, n, &batch, &err), &err);
    for (int c = 0; c < 2; c++)
        batch->cols[c] = test_random_column(row->fields[c].type, n, null_percent, rng);
    tl_type_unref(row);
    free(row_text);
    return batch;
}

/* Timestamps of the random columns go beyond Arrow's nanoseconds. */
static void shorten_timestamps(tl_column *col)
{
    for (int64_t i = 0; i < col->length && col->phys == TL_PHYS_TS96; i++)
        ((tl_ts96 *)col->values)[i].millis %= 9000000000000;
    for (int32_t c = 0; c < col->n_children; c++)
        shorten_timestamps(col->children[c]);
}

static tl_batch *there_and_back(const tl_batch *batch)
{
    tl_error err;
    struct ArrowSchema schema;
    struct ArrowArray array;
    tl_batch *back = NULL;
    assert_ok(tl_arrow_export_schema(batch->type, &schema, &err), &err);
    assert_ok(tl_arrow_export_batch(batch, &array, &err), &err);
    assert_ok(tl_arrow_import_batch(&array, &schema, batch->type, &back, &err), &err);
    assert_null(array.release);
    schema.release(&schema);
    return back;
}

static void assert_same_batch(const tl_batch *a, const tl_batch *b)
{
    tl_error err;
    assert_int_equal(a->n_rows, b->n_rows);
    for (int32_t c = 0; c < a->n_cols; c++) {
        assert_ok(tl_column_check(b->cols[c], &err), &err);
        assert_int_equal(a->cols[c]->null_count, b->cols[c]->null_count);
        for (int64_t i = 0; i < a->n_rows; i++)
            assert_same_value(a->cols[c], i, b->cols[c], i);
    }
}

static void every_type_comes_back(void **state)
{
    (void)state;
    uint64_t rng = test_seed(51);
    for (size_t t = 0; t < TL_ARRAY_LEN(every_type); t++) {
        for (int round = 0; round < 6; round++) {
            tl_error err;
            tl_batch *batch = batch_of(every_type[t], (int64_t)(test_random(&rng) % 150), round % 2 * 25, &rng), *slice = NULL;
            for (int c = 0; c < 2; c++)
                shorten_timestamps(batch->cols[c]);
            int64_t from = batch->n_rows / 3 / 8 * 8;
            assert_ok(tl_batch_slice(batch, from, batch->n_rows - from, &slice, &err), &err);
            tl_batch *back = there_and_back(batch), *slice_back = there_and_back(slice);
            assert_same_batch(batch, back);
            tl_batch_free(batch);
            assert_same_batch(slice, slice_back);
            tl_batch_free(slice);
            tl_batch_free(back);
            tl_batch_free(slice_back);
        }
    }
}

/* Consumers may move children out: they outlive the batch's array, the batch and each other. */
static void children_moved_out_live_on(void **state)
{
    (void)state;
    uint64_t rng = test_seed(57);
    tl_error err;
    tl_batch *batch = batch_of("MAP<STRING NOT NULL, ROW<a INT, b STRING>>", 40, 25, &rng);
    struct ArrowArray array, child, entries, keys;
    assert_ok(tl_arrow_export_batch(batch, &array, &err), &err);
    tl_batch_free(batch);
    child = *array.children[0];
    array.children[0]->release = NULL;
    array.release(&array);
    assert_null(array.release);
    entries = *child.children[0];
    child.children[0]->release = NULL;
    child.release(&child);
    keys = *entries.children[0];
    entries.children[0]->release = NULL;
    entries.release(&entries);
    assert_int_equal(keys.n_buffers, 3);
    assert_true(((const int32_t *)keys.buffers[1])[keys.length] >= 0);
    keys.release(&keys);
    assert_null(keys.release);
}

static void schemas_come_back_as_far_as_arrow_can_tell(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"CHAR(3)", "STRING"},
        {"VARBINARY(5)", "BYTES"},
        {"TIME(3)", "TIME(3)"},
        {"TIMESTAMP(4) NOT NULL", "TIMESTAMP(6) NOT NULL"},
        {"TIMESTAMP(9) WITH LOCAL TIME ZONE", "TIMESTAMP(9) WITH LOCAL TIME ZONE"},
        {"DECIMAL(30, 4)", "DECIMAL(30, 4)"},
        {"MULTISET<STRING>", "MAP<STRING NOT NULL, INT NOT NULL>"},
        {"ARRAY<ROW<a DATE, b BOOLEAN NOT NULL>>", "ARRAY<ROW<a DATE, b BOOLEAN NOT NULL>>"},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        tl_error err;
        char text[200];
        snprintf(text, sizeof text, "ROW<x %s> NOT NULL", cases[i][0]);
        const tl_type *type = test_type(text), *back = NULL;
        snprintf(text, sizeof text, "ROW<x %s> NOT NULL", cases[i][1]);
        const tl_type *want = test_type(text);
        struct ArrowSchema schema;
        assert_ok(tl_arrow_export_schema(type, &schema, &err), &err);
        assert_ok(tl_arrow_import_schema(&schema, &back, &err), &err);
        schema.release(&schema);
        assert_true(tl_type_equal(back, want, true));
        tl_type_unref(type);
        tl_type_unref(back);
        tl_type_unref(want);
    }
}

static void timestamps_beyond_int64_nanoseconds_are_named(void **state)
{
    (void)state;
    tl_error err;
    const tl_type *row = test_type("ROW<t TIMESTAMP(9)>");
    tl_batch *batch = NULL;
    struct ArrowArray array;
    assert_ok(tl_batch_create(row, 2, &batch, &err), &err);
    batch->cols[0] = column_of(row->fields[0].type, "[\"2024-01-01T00:00:00\",\"9999-12-31T23:59:59.999999999\"]");
    assert_fails(tl_arrow_export_batch(batch, &array, &err), TL_E_INVALID, &err,
                 "column 't': row 1: timestamp 9999-12-31T23:59:59");
    tl_batch_free(batch);
    tl_type_unref(row);
}

/* ---- hand-made arrays of other producers ---- */

static void release_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static int arrays_released;

static void release_array(struct ArrowArray *array)
{
    arrays_released++;
    array->release = NULL;
}

/* A struct of one column; everything else lives in the test. */
typedef struct foreign {
    struct ArrowSchema schema, child_schema;
    struct ArrowSchema *schema_children[1];
    struct ArrowArray array, child;
    struct ArrowArray *children[1];
    const void *no_buffers[1];
    const void *buffers[6];
} foreign;

static void foreign_init(foreign *f, const char *format, int64_t length, int64_t n_buffers)
{
    *f = (foreign){0};
    f->child_schema =
        (struct ArrowSchema){.format = format, .name = "x", .flags = ARROW_FLAG_NULLABLE, .release = release_schema};
    f->schema_children[0] = &f->child_schema;
    f->schema = (struct ArrowSchema){
        .format = "+s", .name = "", .n_children = 1, .children = f->schema_children, .release = release_schema};
    f->child = (struct ArrowArray){
        .length = length, .null_count = -1, .n_buffers = n_buffers, .buffers = f->buffers, .release = release_array};
    f->children[0] = &f->child;
    f->array = (struct ArrowArray){.length = length,
                                   .n_buffers = 1,
                                   .buffers = f->no_buffers,
                                   .n_children = 1,
                                   .children = f->children,
                                   .release = release_array};
}

static tl_status foreign_import(foreign *f, const char *type_text, tl_batch **out, tl_error *err)
{
    char *row_text = NULL;
    assert_true(asprintf(&row_text, "ROW<x %s>", type_text) > 0);
    const tl_type *row = test_type(row_text);
    free(row_text);
    struct ArrowArray array = f->array;
    int released = arrays_released;
    tl_status status = tl_arrow_import_batch(&array, &f->schema, row, out, err);
    tl_type_unref(row);
    if (status != TL_OK)
        assert_int_equal(arrays_released, released + 1);
    return status;
}

/* The column's values as a JSON array. */
static void assert_imports(foreign *f, const char *type_text, const char *want)
{
    tl_error err;
    tl_batch *batch = NULL;
    int released = arrays_released;
    assert_ok(foreign_import(f, type_text, &batch, &err), &err);
    assert_ok(tl_column_check(batch->cols[0], &err), &err);
    tl_buf text = {0};
    for (int64_t i = 0; i < batch->n_rows; i++) {
        assert_int_equal(tl_buf_append_byte(&text, i == 0 ? '[' : ','), TL_OK);
        assert_int_equal(tl_text_append_json(&text, batch->cols[0], i), TL_OK);
    }
    assert_int_equal(tl_buf_append(&text, "]", 2), TL_OK);
    assert_string_equal((char *)text.data, want);
    tl_buf_deinit(&text);
    tl_batch_free(batch);
    assert_int_equal(arrays_released, released + 1);
}

static void assert_refused(foreign *f, const char *type_text, const char *part)
{
    tl_error err = {0};
    tl_batch *batch = NULL;
    if (foreign_import(f, type_text, &batch, &err) == TL_OK)
        fail_msg("accepted as %s, wanted: %s", type_text, part);
    if (strstr(err.message, part) == NULL)
        fail_msg("%s", err.message);
}

static void integers_of_other_widths_are_taken_if_they_fit(void **state)
{
    (void)state;
    foreign f;
    foreign_init(&f, "l", 3, 2);
    const int64_t longs[] = {1, 127, -128};
    f.buffers[1] = longs;
    assert_imports(&f, "TINYINT", "[1,127,-128]");
    assert_imports(&f, "BIGINT", "[1,127,-128]");
    assert_imports(&f, "DECIMAL(5, 2)", "[\"1.00\",\"127.00\",\"-128.00\"]");
    assert_refused(&f, "DECIMAL(4, 2)", "row 1: value 127 of Arrow type 'l' does not fit DECIMAL(4, 2)");
    const int64_t big[] = {1, 128, 0};
    f.buffers[1] = big;
    assert_refused(&f, "TINYINT", "column 'x': row 1: value 128");
    const uint8_t validity = 5;
    f.buffers[0] = &validity; /* what lies under a null may be anything */
    assert_imports(&f, "TINYINT", "[1,null,0]");
    assert_refused(&f, "TINYINT NOT NULL", "row 1: NULL in a column that is NOT NULL");
    const uint64_t unsigned_longs[] = {1, UINT64_MAX, 2};
    foreign_init(&f, "L", 3, 2);
    f.buffers[1] = unsigned_longs;
    assert_imports(&f, "DECIMAL(20, 0)", "[\"1\",\"18446744073709551615\",\"2\"]");
    assert_refused(&f, "BIGINT", "18446744073709551615");
    assert_refused(&f, "STRING", "cannot become STRING");
}

static void offsets_of_arrays_count_also_where_bits_are_not_aligned(void **state)
{
    (void)state;
    foreign f;
    foreign_init(&f, "b", 4, 2);
    const uint8_t validity[] = {0xb7}, bits[] = {0x2a};
    f.buffers[0] = validity;
    f.buffers[1] = bits;
    f.child.offset = 3;
    f.child.length = 4;
    assert_imports(&f, "BOOLEAN", "[null,false,true,null]");
    f.array.offset = 1;
    f.array.length = 3;
    assert_imports(&f, "BOOLEAN", "[false,true,null]");
}

static void misaligned_buffers_are_copied(void **state)
{
    (void)state;
    foreign f;
    foreign_init(&f, "i", 2, 2);
    const uint8_t bytes[] = {0, 1, 0, 0, 0, 2, 0, 0, 0};
    f.buffers[1] = bytes + 1;
    assert_imports(&f, "INT", "[1,2]");
}

static void strings_of_every_layout_are_taken(void **state)
{
    (void)state;
    foreign f;
    const char data[] = "abcdefghijklmnopqrstuvwxyz";
    const uint8_t validity = 5;
    const int32_t offsets[] = {1, 3, 6, 6};
    foreign_init(&f, "u", 3, 3);
    f.buffers[1] = offsets;
    f.buffers[2] = data;
    assert_imports(&f, "STRING", "[\"bc\",\"def\",\"\"]");
    f.buffers[0] = &validity; /* a null with content */
    assert_imports(&f, "STRING", "[\"bc\",null,\"\"]");
    const int64_t large[] = {1, 3, 6, 6};
    foreign_init(&f, "U", 3, 3);
    f.buffers[1] = large;
    f.buffers[2] = data;
    assert_imports(&f, "STRING", "[\"bc\",\"def\",\"\"]");
    f.buffers[0] = &validity;
    assert_imports(&f, "STRING", "[\"bc\",null,\"\"]");
    foreign_init(&f, "w:2", 3, 2);
    f.buffers[1] = data;
    assert_imports(&f, "BINARY(2)", "[\"6162\",\"6364\",\"6566\"]");
    f.buffers[0] = &validity;
    assert_imports(&f, "STRING", "[\"ab\",null,\"ef\"]");
    uint8_t views[48] = {3, 0, 0, 0, 'x', 'y', 'z'};
    const uint32_t second[] = {13, 0x64636261, 0, 0}, third[] = {14, 0, 0, 12};
    memcpy(views + 16, second, 16);
    memcpy(views + 32, third, 16);
    const int64_t sizes[] = {26};
    foreign_init(&f, "vu", 3, 4);
    f.buffers[1] = views;
    f.buffers[2] = data;
    f.buffers[3] = sizes;
    assert_imports(&f, "STRING", "[\"xyz\",\"abcdefghijklm\",\"mnopqrstuvwxyz\"]");
    const int64_t short_sizes[] = {25};
    f.buffers[3] = short_sizes;
    assert_refused(&f, "STRING", "beyond its data buffer");
}

static void text_must_be_utf8(void **state)
{
    (void)state;
    foreign f;
    const int32_t offsets[] = {0, 2, 4};
    foreign_init(&f, "u", 2, 3);
    f.buffers[1] = offsets;
    f.buffers[2] = "ok\xc3(";
    assert_refused(&f, "STRING", "row 1: a string is not valid UTF-8");
    assert_imports(&f, "BYTES", "[\"6f6b\",\"c328\"]");
}

static void dictionaries_are_looked_up(void **state)
{
    (void)state;
    foreign f;
    const int8_t indices[] = {1, 0, 1};
    const uint8_t validity = 5;
    const int32_t offsets[] = {0, 2, 5};
    const void *dictionary_buffers[] = {NULL, offsets, "nosky"};
    struct ArrowSchema dictionary_schema = {.format = "u", .release = release_schema};
    struct ArrowArray dictionary = {.length = 2, .n_buffers = 3, .buffers = dictionary_buffers, .release = release_array};
    foreign_init(&f, "c", 3, 2);
    f.buffers[1] = indices;
    f.child_schema.dictionary = &dictionary_schema;
    f.child.dictionary = &dictionary;
    assert_imports(&f, "STRING", "[\"sky\",\"no\",\"sky\"]");
    f.buffers[0] = &validity;
    assert_imports(&f, "STRING", "[\"sky\",null,\"sky\"]");
    dictionary.length = 1;
    assert_refused(&f, "STRING", "beyond its dictionary");
    f.child.dictionary = NULL;
    assert_refused(&f, "STRING", "dictionary");
    dictionary_schema.dictionary = &dictionary_schema;
    f.child.dictionary = &dictionary;
    assert_refused(&f, "STRING", "dictionary");
}

static void times_of_other_units_are_converted(void **state)
{
    (void)state;
    foreign f;
    const int64_t seconds[] = {-1, 1700000000};
    foreign_init(&f, "tss:", 2, 2);
    f.buffers[1] = seconds;
    assert_imports(&f, "TIMESTAMP(3)", "[\"1969-12-31T23:59:59.000000000\",\"2023-11-14T22:13:20.000000000\"]");
    assert_imports(&f, "TIMESTAMP(9)", "[\"1969-12-31T23:59:59.000000000\",\"2023-11-14T22:13:20.000000000\"]");
    assert_refused(&f, "TIMESTAMP(3) WITH LOCAL TIME ZONE", "without time zone");
    const int64_t nanos[] = {-1, 1700000000123456789};
    foreign_init(&f, "tsn:Europe/Berlin", 2, 2);
    f.buffers[1] = nanos;
    assert_imports(&f, "TIMESTAMP(9) WITH LOCAL TIME ZONE",
                   "[\"1969-12-31T23:59:59.999999999Z\",\"2023-11-14T22:13:20.123456789Z\"]");
    assert_imports(&f, "TIMESTAMP(3) WITH LOCAL TIME ZONE",
                   "[\"1969-12-31T23:59:59.999000000Z\",\"2023-11-14T22:13:20.123000000Z\"]");
    const int64_t huge[] = {0, INT64_MAX};
    foreign_init(&f, "tss:", 2, 2);
    f.buffers[1] = huge;
    assert_refused(&f, "TIMESTAMP(6)", "row 1: value 9223372036854775807");
    foreign_init(&f, "tdm", 2, 2);
    const int64_t days[] = {86400000, -86400000};
    f.buffers[1] = days;
    assert_imports(&f, "DATE", "[\"1970-01-02\",\"1969-12-31\"]");
    f.buffers[1] = seconds;
    assert_refused(&f, "DATE", "row 0");
    foreign_init(&f, "ttu", 2, 2);
    const int64_t micros[] = {3600123456, 86400000000};
    f.buffers[1] = micros;
    assert_refused(&f, "TIME(3)", "row 1");
    f.array.length = 1;
    assert_imports(&f, "TIME(3)", "[\"01:00:00.123\"]");
}

static void decimals_are_rescaled_if_nothing_is_lost(void **state)
{
    (void)state;
    foreign f;
    const tl_i128 values[] = {1230, -5};
    foreign_init(&f, "d:10,1", 2, 2);
    f.buffers[1] = values;
    assert_imports(&f, "DECIMAL(10, 3)", "[\"123.000\",\"-0.500\"]");
    assert_imports(&f, "DECIMAL(38, 1)", "[\"123.0\",\"-0.5\"]");
    assert_imports(&f, "DECIMAL(9, 1)", "[\"123.0\",\"-0.5\"]");
    assert_refused(&f, "DECIMAL(10, 0)", "row 1: value -0.5");
    const int64_t wide[] = {7, 0, 0, 0, -7, -1, -1, -1};
    foreign_init(&f, "d:40,0,256", 2, 2);
    f.buffers[1] = wide;
    assert_imports(&f, "DECIMAL(5, 0)", "[\"7\",\"-7\"]");
    const int32_t narrow[] = {7, -7};
    foreign_init(&f, "d:9,2,32", 2, 2);
    f.buffers[1] = narrow;
    assert_imports(&f, "DECIMAL(9, 2)", "[\"0.07\",\"-0.07\"]");
}

static void lists_of_every_layout_are_taken(void **state)
{
    (void)state;
    foreign f;
    const int32_t items[] = {1, 2, 3, 4, 5, 6};
    const void *item_buffers[] = {NULL, items};
    struct ArrowSchema item_schema = {.format = "i", .name = "item", .flags = ARROW_FLAG_NULLABLE, .release = release_schema};
    struct ArrowSchema *schema_children[] = {&item_schema};
    struct ArrowArray item = {.length = 6, .n_buffers = 2, .buffers = item_buffers, .release = release_array};
    struct ArrowArray *children[] = {&item};
    const int64_t large[] = {1, 3, 5, 6};
    const uint8_t validity = 5;
    foreign_init(&f, "+L", 3, 2);
    f.child_schema.n_children = f.child.n_children = 1;
    f.child_schema.children = schema_children;
    f.child.children = children;
    f.buffers[1] = large;
    assert_imports(&f, "ARRAY<INT>", "[[2,3],[4,5],[6]]");
    f.buffers[0] = &validity;
    assert_imports(&f, "ARRAY<INT>", "[[2,3],null,[6]]");
    item.length = 5;
    assert_refused(&f, "ARRAY<INT>", "shorter");
    item.length = 6;
    f.child_schema.format = "+w:2";
    f.child.n_buffers = 1;
    assert_imports(&f, "ARRAY<INT>", "[[1,2],null,[5,6]]");
    assert_imports(&f, "VECTOR<INT, 2>", "[[1,2],null,[5,6]]");
    assert_refused(&f, "VECTOR<INT, 3>", "2 elements in a VECTOR of 3");
    f.child_schema.format = "+w:3";
    assert_refused(&f, "ARRAY<INT>", "shorter");
    f.child_schema.format = "+w:2147483647";
    f.child.length = f.array.length = INT64_MAX / 4;
    assert_refused(&f, "ARRAY<INT>", "");
}

static void malformed_arrays_are_refused(void **state)
{
    (void)state;
    foreign f;
    const int32_t offsets[] = {0, 5, 2};
    foreign_init(&f, "u", 2, 3);
    f.buffers[1] = offsets;
    f.buffers[2] = "abcde";
    assert_refused(&f, "STRING", "offsets decrease");
    const int32_t negative[] = {-1, 0, 2};
    f.buffers[1] = negative;
    assert_refused(&f, "STRING", "negative offset");
    f.buffers[1] = NULL;
    assert_refused(&f, "STRING", "a buffer is missing");
    f.child.n_buffers = 2;
    assert_refused(&f, "STRING", "buffers are missing");
    f.child.n_buffers = 3;
    f.child.length = 1;
    assert_refused(&f, "STRING", "shorter");
    f.child.length = -1;
    assert_refused(&f, "STRING", "negative length");
    f.child.length = INT64_MAX;
    f.child.offset = 1;
    assert_refused(&f, "STRING", "negative length");
    f.array.n_children = 2;
    assert_refused(&f, "STRING", "children");
    f.array.n_children = 1;
    f.children[0] = NULL;
    assert_refused(&f, "STRING", "missing");
    foreign_init(&f, "u", 2, 3);
    f.child_schema.name = "other";
    assert_refused(&f, "STRING", "column 'x': it is not in the Arrow schema");
    static const char *const formats[] = {"",      "q",  "d:5", "d:5,2,77", "ts",   "tsq:", "+",
                                          "+ud:1", "+r", "tDs", "w:",       "w:-1", "+w:x", "e"};
    for (size_t i = 0; i < TL_ARRAY_LEN(formats); i++) {
        foreign_init(&f, formats[i], 2, 3);
        assert_refused(&f, "STRING", "has no counterpart");
    }
    foreign_init(&f, "+s", 2, 1);
    f.child_schema.n_children = 3;
    assert_refused(&f, "ROW<a INT>", "child 0 is missing");
    f.array.null_count = 1;
    f.no_buffers[0] = "\1";
    foreign_init(&f, "i", 2, 2);
    f.array.null_count = 1;
    f.no_buffers[0] = "\1";
    assert_refused(&f, "INT", "null as a whole");
}

static void endless_schemas_are_cut_off(void **state)
{
    (void)state;
    tl_error err;
    const tl_type *type = NULL;
    struct ArrowSchema loop = {.format = "+l", .name = "x", .n_children = 1, .release = release_schema};
    struct ArrowSchema *self[] = {&loop};
    loop.children = self;
    struct ArrowSchema root = {.format = "+s", .name = "", .n_children = 1, .children = self, .release = release_schema};
    assert_fails(tl_arrow_import_schema(&root, &type, &err), TL_E_LIMIT, &err, "deeper");
    assert_fails(tl_arrow_import_schema(&loop, &type, &err), TL_E_INVALID, &err, "must be a struct");
}

static void a_map_with_a_null_key_is_not_exported(void **state)
{
    (void)state;
    tl_error err;
    const tl_type *row = test_type("ROW<m MAP<STRING, INT>>");
    tl_batch *batch = NULL;
    struct ArrowArray array;
    assert_ok(tl_batch_create(row, 1, &batch, &err), &err);
    batch->cols[0] = column_of(row->fields[0].type, "[[[null,1]]]");
    assert_fails(tl_arrow_export_batch(batch, &array, &err), TL_E_INVALID, &err, "NULL key");
    tl_batch_free(batch);
    tl_type_unref(row);
}

/* ---- streams ---- */

static void streams_come_back_in_batches_of_bounded_size(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(52);
    tl_batch *large = batch_of("STRING", 10000, 10, &rng), *small = batch_of("STRING", 3, 10, &rng);
    tl_batch *copies[2] = {there_and_back(large), there_and_back(small)};
    const tl_type *type = tl_type_ref(large->type);
    tl_batch **batches = tl_alloc(2 * sizeof *batches);
    memcpy(batches, copies, sizeof copies);
    tl_reader *reader = NULL, *back = NULL;
    struct ArrowArrayStream stream;
    assert_ok(tl_reader_from_batches(type, batches, 2, &reader, &err), &err);
    assert_ok(tl_arrow_export_stream(reader, &stream, &err), &err);
    assert_ok(tl_arrow_import_stream(&stream, NULL, &back, &err), &err);
    assert_null(stream.release);
    assert_true(tl_type_equal(back->type, type, false));
    int64_t at = 0;
    for (;;) {
        tl_batch *batch = NULL;
        assert_ok(tl_reader_next(back, &batch, &err), &err);
        if (batch == NULL)
            break;
        assert_true(batch->n_rows <= TL_BATCH_ROWS);
        for (int64_t i = 0; i < batch->n_rows; i++, at++)
            assert_same_value(batch->cols[0], i, at < 10000 ? large->cols[0] : small->cols[0], at < 10000 ? at : at - 10000);
        tl_batch_free(batch);
    }
    assert_int_equal(at, 10003);
    tl_reader_free(back);
    tl_batch_free(large);
    tl_batch_free(small);
    tl_type_unref(type);
}

static tl_status fail_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    (void)reader;
    (void)out;
    return tl_error_set(err, TL_E_IO, "disk on fire");
}

static void fail_free(tl_reader *reader)
{
    tl_type_unref(reader->type);
    tl_free(reader);
}

static void errors_of_a_reader_pass_through_the_stream(void **state)
{
    (void)state;
    static const tl_reader_ops ops = {fail_next, fail_free};
    tl_error err;
    tl_reader *reader = tl_calloc(1, sizeof *reader), *back = NULL;
    struct ArrowArrayStream stream;
    tl_batch *batch = NULL;
    reader->ops = &ops;
    reader->type = test_type("ROW<a INT>");
    assert_ok(tl_arrow_export_stream(reader, &stream, &err), &err);
    assert_ok(tl_arrow_import_stream(&stream, NULL, &back, &err), &err);
    assert_fails(tl_reader_next(back, &batch, &err), TL_E_IO, &err, "disk on fire");
    tl_reader_free(back);
}

static void failing_allocations_leak_nothing(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(53);
    tl_batch *batch = batch_of("ROW<a MAP<STRING NOT NULL, BOOLEAN>, b ARRAY<DECIMAL(9, 2)>, c TIMESTAMP(9)>", 20, 20, &rng);
    shorten_timestamps(batch->cols[0]);
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        struct ArrowSchema schema = {0};
        struct ArrowArray array = {0};
        const tl_type *type = NULL;
        tl_batch *back = NULL;
        tl_alloc_fail_at(nth);
        tl_status status = tl_arrow_export_schema(batch->type, &schema, &err);
        if (status == TL_OK)
            status = tl_arrow_import_schema(&schema, &type, &err);
        if (status == TL_OK)
            status = tl_arrow_export_batch(batch, &array, &err);
        if (status == TL_OK)
            status = tl_arrow_import_batch(&array, &schema, type, &back, &err);
        tl_alloc_fail_at(0);
        failed = status != TL_OK;
        if (failed)
            assert_int_equal(status, TL_E_NOMEM);
        if (schema.release != NULL)
            schema.release(&schema);
        assert_null(array.release);
        tl_type_unref(type);
        tl_batch_free(back);
    }
    tl_batch_free(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_comes_back),
        cmocka_unit_test(children_moved_out_live_on),
        cmocka_unit_test(schemas_come_back_as_far_as_arrow_can_tell),
        cmocka_unit_test(timestamps_beyond_int64_nanoseconds_are_named),
        cmocka_unit_test(integers_of_other_widths_are_taken_if_they_fit),
        cmocka_unit_test(offsets_of_arrays_count_also_where_bits_are_not_aligned),
        cmocka_unit_test(misaligned_buffers_are_copied),
        cmocka_unit_test(strings_of_every_layout_are_taken),
        cmocka_unit_test(text_must_be_utf8),
        cmocka_unit_test(dictionaries_are_looked_up),
        cmocka_unit_test(times_of_other_units_are_converted),
        cmocka_unit_test(decimals_are_rescaled_if_nothing_is_lost),
        cmocka_unit_test(lists_of_every_layout_are_taken),
        cmocka_unit_test(malformed_arrays_are_refused),
        cmocka_unit_test(endless_schemas_are_cut_off),
        cmocka_unit_test(a_map_with_a_null_key_is_not_exported),
        cmocka_unit_test(streams_come_back_in_batches_of_bounded_size),
        cmocka_unit_test(errors_of_a_reader_pass_through_the_stream),
        cmocka_unit_test(failing_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
