/*
 * Fuzz target of the Parquet reader: the input is a file. Its own schema is read, then all rows in several ways.
 * Built with clang -fsanitize=fuzzer,address,undefined.
 */
#include <stdlib.h>

#include "format/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PATH "/f.parquet"
/* A few bytes may say "billions of nulls", and rightly so. */
#define ROWS_MAX 200000

static void read_rows(tl_fs *fs, const tl_type *type, uint8_t choice)
{
    tl_error err;
    tl_reader *reader = NULL;
    tl_predicate *pred = NULL;
    if ((choice & 1) != 0 && type->n_fields > 0)
        (void)tl_predicate_leaf(TL_PRED_IS_NOT_NULL, 0, NULL, &pred, &err);
    tl_read_spec spec = {
        .row_type = type, .predicate = pred, .exact = (choice & 2) != 0, .batch_rows = (choice & 4) != 0 ? 7 : 0};
    int64_t rows = 0;
    if (tl_format_parquet.open(fs, PATH, 0, &spec, &reader, &err) == TL_OK) {
        for (;;) {
            tl_batch *batch = NULL;
            if (tl_reader_next(reader, &batch, &err) != TL_OK || batch == NULL)
                break;
            for (int32_t i = 0; i < batch->n_cols; i++)
                if (tl_column_check(batch->cols[i], &err) != TL_OK)
                    abort();
            rows += batch->n_rows;
            tl_batch_free(batch);
            if (rows > ROWS_MAX)
                break;
        }
    }
    tl_reader_free(reader);
    tl_predicate_free(pred);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tl_error err;
    tl_fs *fs = NULL;
    const tl_type *type = NULL;
    if (tl_fs_memory(&fs, &err) != TL_OK || tl_fs_publish(fs, PATH, (tl_bytes_view){data, size}, false, &err) != TL_OK)
        abort();
    if (tl_format_parquet.schema(fs, PATH, &type, &err) == TL_OK) {
        for (uint8_t choice = 0; choice < 8; choice += 3)
            read_rows(fs, type, choice);
        tl_type_unref(type);
    }
    tl_fs_unref(fs);
    return 0;
}
