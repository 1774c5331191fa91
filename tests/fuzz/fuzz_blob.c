/*
 * The blob file reader. First byte even: any bytes as a file. Odd: a recipe, so that what lies behind magic numbers and checksums is
 * reached: values that must be read as they were written, in any batch size, and the same records under an index of any bytes.
 */
#include "fuzz/file_any.h"
#include "types/blob_descriptor.h"

#define PATH "/blob"
#define VALUES_MAX 64
#define VALUE_BYTES_MAX 300
#define INDEX_BYTES_MAX 64

typedef struct recipe {
    tl_batch *batch; /* one column */
    uint8_t index[INDEX_BYTES_MAX];
    size_t index_bytes;
    int64_t batch_rows;
} recipe;

static const tl_type *row_type(void)
{
    const tl_type *type = NULL;
    if (tl_format_blob.schema(NULL, NULL, &type, NULL) != TL_OK)
        abort();
    return type;
}

static recipe read_recipe(const tl_type *type, input in)
{
    recipe r = {.batch_rows = 1 + take_below(&in, 9)};
    tl_builder *builder = NULL;
    uint8_t value[VALUE_BYTES_MAX];
    int64_t n = take_below(&in, VALUES_MAX);
    if (tl_builder_create(type->fields[0].type, &builder, NULL) != TL_OK)
        abort();
    for (int64_t i = 0; i < n; i++) {
        uint32_t kind = take_below(&in, 4), len = kind == 0 ? 0 : take_below(&in, kind == 1 ? 8 : VALUE_BYTES_MAX);
        memset(value, (int)(i * 7), len);
        for (uint32_t b = 0; b < TL_MIN(len, 4); b++)
            value[b] = (uint8_t)take(&in, 1);
        if ((kind == 3 && len % 2 == 0 ? tl_builder_null(builder) : tl_builder_bytes(builder, value, len)) != TL_OK)
            abort();
    }
    if (tl_batch_create(type, n, &r.batch, NULL) != TL_OK || tl_builder_finish(builder, &r.batch->cols[0], NULL) != TL_OK)
        abort();
    tl_builder_free(builder);
    for (; in.size > 0 && r.index_bytes < INDEX_BYTES_MAX; r.index_bytes++)
        r.index[r.index_bytes] = (uint8_t)take(&in, 1);
    return r;
}

static void write_file(tl_fs *fs, const tl_type *type, const tl_batch *batch)
{
    tl_write_spec spec = {.row_type = type};
    tl_file_writer *writer = NULL;
    tl_write_result result = {0};
    tl_stat stat;
    if (tl_format_blob.create(fs, PATH, &spec, &writer, NULL) != TL_OK || writer->ops->write(writer, batch, NULL) != TL_OK ||
        writer->ops->finish(writer, &result, NULL) != TL_OK || result.rows != batch->n_rows || tl_fs_stat(fs, PATH, &stat, NULL) != TL_OK ||
        stat.bytes != result.bytes)
        abort();
    writer->ops->free(writer);
    tl_write_result_deinit(&result);
}

static void must_read(tl_fs *fs, const tl_type *type, const recipe *r)
{
    tl_read_spec spec = {.row_type = type, .batch_rows = r->batch_rows, .with_row_numbers = true};
    tl_reader *reader = NULL;
    int64_t row = 0;
    if (tl_format_blob.open(fs, PATH, 0, &spec, &reader, NULL) != TL_OK)
        abort();
    for (;;) {
        tl_batch *batch = NULL;
        if (tl_reader_next(reader, &batch, NULL) != TL_OK)
            abort();
        if (batch == NULL)
            break;
        for (int64_t i = 0; i < batch->n_rows; i++, row++) {
            const tl_column *got = batch->cols[0], *want = r->batch->cols[0];
            if (row >= want->length || batch->seq[i] != row || tl_col_is_null(got, i) != tl_col_is_null(want, row) ||
                (!tl_col_is_null(got, i) && !tl_bytes_equal(tl_col_bytes(got, i), tl_col_bytes(want, row))))
                abort();
        }
        tl_batch_free(batch);
    }
    if (row != r->batch->n_rows)
        abort();
    tl_reader_free(reader);
}

/* The records as they were written, then the recipe's bytes as their index. */
static void with_other_index(tl_fs *fs, const recipe *r)
{
    tl_bytes file = {0};
    tl_buf spoilt = {0};
    uint8_t end[5];
    if (tl_fs_read_all(fs, PATH, 1 << 20, &file, NULL) != TL_OK)
        abort();
    size_t records = file.len - 5 - tl_read_le32(file.data + file.len - 5);
    tl_write_le32(end, (uint32_t)r->index_bytes);
    end[4] = 1;
    if (tl_buf_append(&spoilt, file.data, records) != TL_OK || tl_buf_append(&spoilt, r->index, r->index_bytes) != TL_OK ||
        tl_buf_append(&spoilt, end, sizeof end) != TL_OK)
        abort();
    any_file(&tl_format_blob, spoilt.data, spoilt.len);
    tl_buf_deinit(&spoilt);
    tl_bytes_deinit(&file);
}

/* Any bytes as a descriptor: what can be read is written again as it was, but for bytes behind it and the version. */
static void as_descriptor(const uint8_t *data, size_t size)
{
    tl_blob_descriptor d, again;
    tl_buf written = {0};
    if (tl_blob_descriptor_read((tl_bytes_view){data, size}, &d, NULL) != TL_OK)
        return;
    if (tl_blob_descriptor_append(&d, &written) != TL_OK || written.len != TL_BLOB_DESCRIPTOR_BYTES + d.uri.len ||
        !tl_blob_is_descriptor((tl_bytes_view){written.data, written.len}))
        abort();
    if (tl_blob_descriptor_read((tl_bytes_view){written.data, written.len}, &again, NULL) != TL_OK || !tl_bytes_equal(again.uri, d.uri) ||
        again.offset != d.offset || again.length != d.length)
        abort();
    tl_buf_deinit(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    as_descriptor(data, size);
    if (size == 0 || data[0] % 2 == 0) {
        any_file(&tl_format_blob, data + (size > 0), size - (size > 0));
        return 0;
    }
    tl_fs *fs = NULL;
    const tl_type *type = row_type();
    recipe r = read_recipe(type, (input){data + 1, size - 1});
    if (tl_fs_memory(&fs, NULL) != TL_OK)
        abort();
    write_file(fs, type, r.batch);
    must_read(fs, type, &r);
    with_other_index(fs, &r);
    tl_fs_unref(fs);
    tl_batch_free(r.batch);
    tl_type_unref(type);
    return 0;
}
