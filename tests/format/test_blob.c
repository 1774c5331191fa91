/* Blob files: the bytes that the reference writes, and what is said about files that are spoilt. */
#include "format/blob/blob_private.h"
#include "support/test.h"
#include "types/builder.h"

#define PATH "/t/data-1.blob"

/* What BlobFormatWriter of the reference makes of "hi", NULL, "" (written by the oracle). */
static const uint8_t reference_file[] = {
    0xcf, 0x11, 0x4e, 0x58, 'h',  'i', 0x12, 0, 0, 0, 0, 0, 0,    0,    0xdf, 0xb7, 0x35, 0x3b, /* 18 bytes */
    0xcf, 0x11, 0x4e, 0x58, 0x10, 0,   0,    0, 0, 0, 0, 0, 0x53, 0x7f, 0xdf, 0x03,             /* 16 bytes */
    0x24, 0x25, 0x22,                                                                           /* 18, -19, 17 */
    3,    0,    0,    0,    1,
};

static const tl_type *blob_row(void)
{
    const tl_type *type = NULL;
    tl_error err;
    assert_ok(tl_format_blob.schema(NULL, NULL, &type, &err), &err);
    return type;
}

static tl_fs *memory(void)
{
    tl_fs *fs = NULL;
    tl_error err;
    assert_ok(tl_fs_memory(&fs, &err), &err);
    return fs;
}

static tl_bytes write_values(const char *const *values, int64_t n)
{
    tl_error err;
    tl_fs *fs = memory();
    const tl_type *type = blob_row();
    tl_builder *builder = NULL;
    tl_file_writer *writer = NULL;
    tl_write_result result = {0};
    tl_bytes file = {0};
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    assert_ok(tl_builder_create(type->fields[0].type, &builder, &err), &err);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(values[i] == NULL ? tl_builder_null(builder) : tl_builder_bytes(builder, values[i], strlen(values[i])), TL_OK);
    assert_ok(tl_batch_create(type, n, &batch, &err), &err);
    assert_ok(tl_builder_finish(builder, &batch->cols[0], &err), &err);
    tl_write_spec spec = {.row_type = type};
    assert_ok(tl_format_blob.create(fs, PATH, &spec, &writer, &err), &err);
    assert_ok(writer->ops->write(writer, batch, &err), &err);
    assert_ok(writer->ops->finish(writer, &result, &err), &err);
    writer->ops->free(writer);
    assert_ok(tl_fs_read_all(fs, PATH, 1 << 20, &file, &err), &err);
    assert_int_equal(result.bytes, file.len);
    assert_int_equal(result.rows, n);
    tl_write_result_deinit(&result);
    tl_builder_free(builder);
    tl_type_unref(type);
    tl_fs_unref(fs);
    return file;
}

/* Rows of the file, or why there are none. */
static tl_status read_file(tl_bytes_view file, int64_t *rows, tl_error *err)
{
    tl_fs *fs = memory();
    const tl_type *type = blob_row();
    tl_reader *reader = NULL;
    tl_read_spec spec = {.row_type = type, .batch_rows = 2};
    assert_ok(tl_fs_publish(fs, PATH, file, false, err), err);
    tl_status status = tl_format_blob.open(fs, PATH, 0, &spec, &reader, err);
    *rows = 0;
    for (bool more = status == TL_OK; more;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        status = tl_reader_next(reader, &batch, err);
        more = status == TL_OK && batch != NULL;
        *rows += more ? batch->n_rows : 0;
    }
    tl_reader_free(reader);
    tl_type_unref(type);
    tl_fs_unref(fs);
    return status;
}

static void files_are_those_of_the_reference(void **state)
{
    (void)state;
    static const char *const values[] = {"hi", NULL, ""};
    tl_bytes file = write_values(values, 3);
    assert_int_equal(file.len, sizeof reference_file);
    assert_memory_equal(file.data, reference_file, file.len);
    int64_t rows = 0;
    tl_error err;
    assert_ok(read_file(tl_bytes_view_of(file), &rows, &err), &err);
    assert_int_equal(rows, 3);
    tl_bytes_deinit(&file);
    file = write_values(NULL, 0);
    assert_int_equal(file.len, 5);
    assert_ok(read_file(tl_bytes_view_of(file), &rows, &err), &err);
    assert_int_equal(rows, 0);
    tl_bytes_deinit(&file);
}

static void spoilt_files_are_told_with_place_and_reason(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t value;
        tl_status status;
        const char *message;
    } cases[] = {
        {0, 0, TL_E_CORRUPT, "row 0, byte 0: no record begins here"},
        {4, 'H', TL_E_CORRUPT, "row 0, byte 0: the record's checksum is wrong"},
        {6, 0x13, TL_E_CORRUPT, "row 0, byte 0: the record and the index tell different lengths"},
        {33, 0, TL_E_CORRUPT, "row 2, byte 18: the record's checksum is wrong"},
        {34, 0x1e, TL_E_CORRUPT, "row 0: a record of 15 bytes at byte 0 does not fit"},
        {36, 0x24, TL_E_CORRUPT, "row 2: a record of 17 bytes at byte 18 does not fit"},
        {36, 0xa2, TL_E_CORRUPT, "row 2: the index, byte 36, ends inside a length"},
        {37, 60, TL_E_CORRUPT, "an index of 60 bytes does not fit in a file of 42"},
        {40, 0x80, TL_E_CORRUPT, "does not fit in a file of 42"},
        {41, 2, TL_E_UNSUPPORTED, "version 2 of blob files"},
    };
    int64_t rows;
    tl_error err;
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        uint8_t file[sizeof reference_file];
        memcpy(file, reference_file, sizeof file);
        file[cases[i].at] = cases[i].value;
        assert_fails(read_file((tl_bytes_view){file, sizeof file}, &rows, &err), cases[i].status, &err, cases[i].message);
        assert_non_null(strstr(err.message, "data-1.blob"));
    }
    assert_fails(read_file((tl_bytes_view){reference_file, 4}, &rows, &err), TL_E_CORRUPT, &err, "4 bytes are no blob file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_those_of_the_reference),
        cmocka_unit_test(spoilt_files_are_told_with_place_and_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
