/* Records of Avro files put together by hand: what our writer never writes reads as well, or is refused at the right place. */
#include "base/bits.h"
#include "format/avro/rows_private.h"
#include "format/format.h"
#include "support/random_column.h"
#include "types/key.h"

enum { ROWS = 300 };

static const char schema_json[] =
    "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"},{\"name\":\"n\",\"type\":[\"int\",\"null\"]},"
    "{\"name\":\"l\",\"type\":[\"null\",\"long\"]},{\"name\":\"s\",\"type\":[\"string\",\"null\"]},"
    "{\"name\":\"d\",\"type\":[\"null\",{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":18,\"scale\":2}]},"
    "{\"name\":\"f\",\"type\":[\"double\",\"null\"]}]}";
static const char row_type_text[] = "ROW<id BIGINT NOT NULL, n INT, l BIGINT, s STRING, d DECIMAL(18, 2), f DOUBLE>";

typedef struct model_row {
    int64_t id, l, d;
    int32_t n;
    double f;
    char s[200];
    bool has[6];
} model_row;

static void put(tl_buf *buf, const void *data, size_t bytes)
{
    assert_int_equal(tl_buf_append(buf, data, bytes), TL_OK);
}

/* With some bytes more than it needs, as far as ten bytes go. */
static void put_long(tl_buf *buf, int64_t v, int padding)
{
    uint8_t bytes[10];
    size_t n = tl_varint_encode(tl_zigzag64(v), bytes);
    for (; padding > 0 && n < 10; padding--, n++) {
        bytes[n - 1] |= 0x80;
        bytes[n] = 0;
    }
    put(buf, bytes, n);
}

static void put_text(tl_buf *buf, const char *text)
{
    put_long(buf, (int64_t)strlen(text), 0);
    put(buf, text, strlen(text));
}

static int64_t some_long(uint64_t *rng)
{
    return (int64_t)test_random(rng) >> (test_random(rng) % 64);
}

static void put_decimal(tl_buf *buf, int64_t v, int bytes)
{
    uint8_t image[20];
    memset(image, v < 0 ? 0xff : 0, sizeof image);
    tl_write_be64(image + 12, (uint64_t)v);
    put_long(buf, bytes, 0);
    put(buf, image + 20 - bytes, (size_t)bytes);
}

static void put_row(tl_buf *buf, const model_row *m, uint64_t *rng)
{
    int padding = test_random(rng) % 3 == 0 ? (int)(test_random(rng) % 10) : 0;
    put_long(buf, m->id, padding);
    put_long(buf, !m->has[1], padding == 7 ? 1 : 0);
    if (m->has[1])
        put_long(buf, m->n, padding);
    put_long(buf, m->has[2], 0);
    if (m->has[2])
        put_long(buf, m->l, padding);
    put_long(buf, !m->has[3], 0);
    if (m->has[3]) {
        put_long(buf, (int64_t)strlen(m->s), padding);
        put(buf, m->s, strlen(m->s));
    }
    put_long(buf, m->has[4], 0);
    if (m->has[4])
        put_decimal(buf, m->d, 8 + (int)(test_random(rng) % 12));
    put_long(buf, !m->has[5], 0);
    if (m->has[5])
        put(buf, &m->f, 8);
}

static void make_model(model_row *m, uint64_t *rng)
{
    for (int i = 0; i < ROWS; i++) {
        m[i] = (model_row){.id = some_long(rng), .n = (int32_t)(some_long(rng) >> 32), .l = some_long(rng), .d = some_long(rng), .f = i / 7.0};
        for (int c = 0; c < 6; c++)
            m[i].has[c] = c == 0 || test_random(rng) % 4 != 0;
        memset(m[i].s, 'a' + i % 26, test_random(rng) % sizeof m[i].s);
    }
}

/* A file of one block. */
static tl_fs *make_file(const tl_buf *records, int64_t n)
{
    static const char sync[16] = "0123456789abcde";
    tl_error err;
    tl_fs *fs;
    tl_file *file;
    tl_buf buf = {0};
    put(&buf, "Obj\x01", 4);
    put_long(&buf, 1, 0);
    put_text(&buf, "avro.schema");
    put_text(&buf, schema_json);
    put_long(&buf, 0, 0);
    put(&buf, sync, 16);
    put_long(&buf, n, 0);
    put_long(&buf, (int64_t)records->len, 0);
    put(&buf, records->data, records->len);
    put(&buf, sync, 16);
    assert_ok(tl_fs_memory(&fs, &err), &err);
    assert_ok(tl_fs_create(fs, "/f", &file, &err), &err);
    assert_ok(tl_file_write(file, buf.data, buf.len, &err), &err);
    assert_ok(tl_file_finish(file, &err), &err);
    tl_buf_deinit(&buf);
    return fs;
}

static void assert_value(const tl_column *col, int64_t i, const model_row *m, int field)
{
    /* Beyond DECIMAL(18, 2)'s precision is NULL. */
    bool has = m->has[field] && (field != 4 || (m->d < INT64_C(1000000000000000000) && m->d > -INT64_C(1000000000000000000)));
    assert_int_equal(tl_col_is_null(col, i), !has);
    if (!has)
        return;
    if (field == 1)
        assert_int_equal(tl_col_i32(col, i), m->n);
    else if (field == 3)
        assert_true(tl_bytes_compare(tl_col_bytes(col, i), (tl_bytes_view){(const uint8_t *)m->s, strlen(m->s)}) == 0);
    else if (field == 5)
        assert_true(tl_col_f64(col, i) == m->f);
    else
        assert_true(tl_col_i64(col, i) == (field == 0 ? m->id : field == 2 ? m->l : m->d));
}

/* Read the columns whose bits are set. */
static tl_status read_some(tl_fs *fs, const tl_type *all, unsigned which, int64_t batch_rows, const model_row *m, tl_error *err)
{
    tl_field fields[6];
    int of[6], n = 0;
    for (int c = 0; c < 6; c++) {
        if (which >> c & 1)
            of[n] = c, fields[n++] = all->fields[c];
    }
    const tl_type *type;
    tl_reader *reader;
    assert_ok(tl_type_create_row(false, fields, n, &type, err), err);
    assert_ok(tl_format_avro.open(fs, "/f", 0, &(tl_read_spec){.row_type = type, .batch_rows = batch_rows}, &reader, err), err);
    tl_status status = TL_OK;
    for (int64_t row = 0; status == TL_OK;) {
        tl_batch *batch = NULL;
        status = tl_reader_next(reader, &batch, err);
        if (status != TL_OK || batch == NULL) {
            assert_true(status != TL_OK || row == ROWS);
            break;
        }
        for (int c = 0; c < n; c++) {
            assert_ok(tl_column_check(batch->cols[c], err), err);
            for (int64_t i = 0; i < batch->n_rows; i++)
                assert_value(batch->cols[c], i, &m[row + i], of[c]);
        }
        row += batch->n_rows;
        tl_batch_free(batch);
    }
    tl_reader_free(reader);
    tl_type_unref(type);
    return status;
}

static void any_form_of_a_value_is_read(void **state)
{
    (void)state;
    uint64_t rng = test_seed(31);
    static model_row m[ROWS];
    make_model(m, &rng);
    tl_buf records = {0};
    for (int i = 0; i < ROWS; i++)
        put_row(&records, &m[i], &rng);
    tl_fs *fs = make_file(&records, ROWS);
    const tl_type *type = test_type(row_type_text);
    tl_error err;
    for (unsigned which = 1; which < 64; which++)
        assert_ok(read_some(fs, type, which, which % 3 == 0 ? 7 : 4096, m, &err), &err);
    tl_type_unref(type);
    tl_buf_deinit(&records);
    tl_fs_unref(fs);
}

/* `bytes` stand where the field `at` of row 100 should: far from the block's end. */
static void refuse(const void *bytes, size_t n, int at, const char *message)
{
    static model_row m[ROWS];
    uint64_t rng = test_seed(32);
    tl_buf records = {0};
    tl_error err;
    make_model(m, &rng);
    for (int i = 0; i < ROWS; i++) {
        memset(m[i].has, i == 100, sizeof m[i].has);
        m[i].has[0] = true;
        if (i != 100) {
            put_row(&records, &m[i], &rng);
            continue;
        }
        put_long(&records, m[i].id, 0);
        for (int c = 1; c < at; c++) /* nulls before it, by their branches */
            put_long(&records, c % 2, 0);
        put(&records, bytes, n);
    }
    tl_fs *fs = make_file(&records, ROWS);
    const tl_type *type = test_type(row_type_text);
    assert_fails(read_some(fs, type, 63, 4096, m, &err), TL_E_CORRUPT, &err, message);
    tl_type_unref(type);
    tl_buf_deinit(&records);
    tl_fs_unref(fs);
}

static void wrong_values_are_refused(void **state)
{
    (void)state;
    refuse("\x00\xff\xff\xff\xff\x7f", 6, 1, "row 100: field 'n'");                        /* beyond 32 bits */
    refuse("\x04\x02", 2, 1, "row 100: field 'n'");                                        /* no such branch */
    refuse("\x01\x02", 2, 1, "row 100: field 'n'");                                        /* branch -1 */
    refuse("\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, 2, "row 100: field 'l'"); /* eleven bytes */
    refuse("\x00\x03", 2, 3, "row 100: field 's'");                                        /* length -2 */
    refuse("\x00\xfe\xff\xff\x7f", 5, 3, "row 100: field 's'");                            /* longer than the block */
    refuse("\x02\x12\x01\x02\x03\x04\x05\x06\x07\x08\x09", 11, 4, "row 100: field 'd'");   /* beyond 64 bits */
    refuse("\x02\x01", 2, 4, "row 100: field 'd'");                                        /* length -1 */
}

/* ---- four numbers at once ---- */

/* A field at the end of `buf`: a branch, and a number of so many bytes (0: null, -1: a branch that there is not). */
static int64_t put_field(tl_buf *buf, uint8_t value, int bytes, uint64_t *rng)
{
    int64_t v = bytes > 0 ? tl_unzigzag64(test_random(rng) >> (64 - 7 * TL_MIN(bytes, 9))) : 0;
    uint8_t branch = bytes > 0 ? value : bytes == 0 ? 2 - value : (uint8_t)(4 | test_random(rng));
    put(buf, &branch, 1);
    if (bytes > 0) {
        uint8_t plain[10];
        size_t least = tl_varint_encode(tl_zigzag64(v), plain);
        put_long(buf, v, bytes - (int)least);
    }
    return v;
}

/* Fields of up to `bytes_max` bytes: what is taken is right, and nothing is declined without a reason. */
static void check_fours(int bytes_max, uint64_t *rng)
{
    tl_error err;
    int64_t taken = 0;
    const tl_type *types[] = {test_type("INT"), test_type("BIGINT")};
    for (int round = 0; round < 3000; round++) {
        uint8_t validity = 0xff, value = test_random(rng) % 2 == 0 ? 0 : 2;
        tl_avro_sink sinks[4] = {0};
        tl_avro_step steps[4];
        tl_buf buf = {0};
        int64_t v[4];
        int bytes[4], longest = 0, row = (int)(test_random(rng) % 8);
        for (int i = 0; i < 4; i++) {
            bytes[i] = test_random(rng) % 200 == 0 ? -1 : (int)(test_random(rng) % (unsigned)(bytes_max + 1));
            longest = bytes[i] < 0 ? 99 : TL_MAX(longest, bytes[i]);
            v[i] = put_field(&buf, value, bytes[i], rng);
            bool is_long = test_random(rng) % 2 == 0, is_wanted = test_random(rng) % 3 != 0;
            assert_ok(tl_column_alloc(types[is_long], 8, &sinks[i].col, &err), &err);
            sinks[i].validity = &validity;
            tl_avro_step_kind kind = !is_wanted ? TL_AVRO_STEP_SKIP_NUMBER : is_long ? TL_AVRO_STEP_I64 : TL_AVRO_STEP_I32;
            steps[i] = (tl_avro_step){.kind = kind, .nullable = true, .value = value, .sink = is_wanted ? &sinks[i] : NULL};
        }
        size_t len = buf.len;
        uint8_t behind[32];
        memset(behind, (int)test_random(rng), sizeof behind);
        put(&buf, behind, sizeof behind);
        const uint8_t *next = tl_avro__take_four(buf.data, steps, row);
        assert_int_equal(next != NULL, longest <= 4 && len <= 15);
        taken += next != NULL;
        for (int i = 0; i < 4; i++) {
            const tl_column *col = sinks[i].col;
            if (next != NULL && steps[i].sink != NULL) {
                assert_true((steps[i].kind == TL_AVRO_STEP_I64 ? ((int64_t *)col->values)[row] : ((int32_t *)col->values)[row]) == v[i]);
                assert_int_equal(col->null_count, bytes[i] == 0);
                assert_true(bytes[i] != 0 || !tl_bit_get(&validity, row));
            }
            tl_column_unref(sinks[i].col);
        }
        if (next != NULL)
            assert_ptr_equal(next, buf.data + len);
        tl_buf_deinit(&buf);
    }
    assert_true(taken > 100);
    tl_type_unref(types[0]);
    tl_type_unref(types[1]);
}

static void four_numbers_are_those_of_one_after_the_other(void **state)
{
    (void)state;
    uint64_t rng = test_seed(33);
    if (!tl_avro__can_take_four())
        skip();
    check_fours(1, &rng);
    check_fours(3, &rng);
    check_fours(6, &rng);
}

/* Files with many such fields, and whatever columns are wanted of them. */
static void rows_of_many_numbers_come_back(void **state)
{
    (void)state;
    enum { COLUMNS = 11, N = 900 };
    tl_error err;
    tl_fs *fs;
    uint64_t rng = test_seed(34);
    const tl_type *type = test_type("ROW<a INT, b INT, c BIGINT, d INT, e INT, s STRING, f BIGINT, g INT, h INT, i BIGINT, j INT>");
    tl_batch *batch;
    assert_ok(tl_batch_create(type, N, &batch, &err), &err);
    for (int c = 0; c < COLUMNS; c++) {
        batch->cols[c] = test_random_column(type->fields[c].type, N, 30, &rng);
        for (int64_t i = 0; i < N; i++) /* small ones in the first rows, and for a long time */
            if (batch->cols[c]->phys == TL_PHYS_I32 && i < 700 && !tl_col_is_null(batch->cols[c], i))
                ((int32_t *)batch->cols[c]->values)[i] %= 1 << (7 * (1 + i % 3));
            else if (batch->cols[c]->phys == TL_PHYS_I64 && i < 700 && !tl_col_is_null(batch->cols[c], i))
                ((int64_t *)batch->cols[c]->values)[i] %= 1 << (7 * (1 + i % 3));
    }
    tl_file_writer *writer;
    tl_write_result result = {0};
    tl_options options = {0};
    assert_ok(tl_fs_memory(&fs, &err), &err);
    tl_write_spec spec = {.row_type = type, .compression = "zstd", .compression_level = 1, .options = &options};
    assert_ok(tl_format_avro.create(fs, "/f", &spec, &writer, &err), &err);
    assert_ok(writer->ops->write(writer, batch, &err), &err);
    assert_ok(writer->ops->finish(writer, &result, &err), &err);
    writer->ops->free(writer);
    tl_write_result_deinit(&result);
    for (int round = 0; round < 40; round++) {
        tl_field fields[COLUMNS];
        int of[COLUMNS], n = 0;
        for (int c = 0; c < COLUMNS; c++)
            if (round == 0 || test_random(&rng) % 2 == 0)
                of[n] = c, fields[n++] = type->fields[c];
        const tl_type *some;
        tl_reader *reader;
        tl_batch *got;
        assert_ok(tl_type_create_row(false, fields, n, &some, &err), &err);
        assert_ok(tl_format_avro.open(fs, "/f", 0, &(tl_read_spec){.row_type = some}, &reader, &err), &err);
        assert_ok(tl_reader_next(reader, &got, &err), &err);
        assert_int_equal(got->n_rows, N);
        for (int c = 0; c < n; c++) {
            assert_ok(tl_column_check(got->cols[c], &err), &err);
            for (int64_t i = 0; i < N; i++)
                assert_int_equal(tl_column_compare(batch->cols[of[c]], i, got->cols[c], i, false, true), 0);
        }
        tl_batch_free(got);
        tl_reader_free(reader);
        tl_type_unref(some);
    }
    tl_batch_free(batch);
    tl_type_unref(type);
    tl_fs_unref(fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_form_of_a_value_is_read),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(four_numbers_are_those_of_one_after_the_other),
        cmocka_unit_test(rows_of_many_numbers_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
