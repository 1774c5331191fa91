/* BinaryRow out of any bytes. Input: a byte for the type, then the row; a row that decodes must encode and decode to the same.
 */
#include "types/binary_row.h"
#include "types/key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const types[] = {
    "ROW<a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DATE, i TIME(3)>",
    "ROW<a DECIMAL(5, 2), b DECIMAL(30, 5), c TIMESTAMP(3), d TIMESTAMP(6), e TIMESTAMP(9)>",
    "ROW<a STRING, b BYTES, c CHAR(3)>",
    "ROW<a ARRAY<INT>, b ARRAY<STRING>, c ARRAY<DECIMAL(30, 2)>, d ARRAY<ARRAY<BOOLEAN>>>",
    "ROW<a MAP<STRING, INT>, b MULTISET<STRING>, c ROW<x INT, y ARRAY<ROW<z STRING>>>>",
    "ROW<a VARIANT, b BLOB>",
    "ROW<a VECTOR<INT, 2>, b VECTOR<BOOLEAN, 5>, c ARRAY<VECTOR<DOUBLE, 1>>>",
};

static void check_again(const tl_batch *batch, const tl_type *type)
{
    tl_error err;
    tl_buf buf = {0};
    tl_batch *back = NULL;
    if (tl_binary_row_append(&buf, (const tl_column *const *)batch->cols, batch->n_cols, 0, 0, true) != TL_OK ||
        tl_binary_row_decode((tl_bytes_view){buf.data, buf.len}, type, true, &back, &err) != TL_OK)
        __builtin_trap();
    for (int32_t c = 0; c < batch->n_cols; c++)
        if (tl_column_check(batch->cols[c], &err) != TL_OK || !tl_column_equal(batch->cols[c], 0, back->cols[c], 0))
            __builtin_trap();
    tl_batch_free(back);
    tl_buf_deinit(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tl_error err;
    const tl_type *type = NULL;
    tl_batch *batch = NULL;
    if (size < 1)
        return 0;
    const char *text = types[data[0] % TL_ARRAY_LEN(types)];
    if (tl_type_parse((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &type, &err) != TL_OK)
        __builtin_trap();
    if (tl_binary_row_decode((tl_bytes_view){data + 1, size - 1}, type, (data[0] & 0x80) != 0, &batch, &err) == TL_OK)
        check_again(batch, type);
    tl_batch_free(batch);
    tl_type_unref(type);
    return 0;
}
