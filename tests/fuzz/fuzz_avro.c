/* Avro files as batches: the file's own schema, then its rows. */
#include <stdlib.h>

#include "format/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PATH "/f.avro"
#define ROWS_MAX 100000 /* a few bytes may say "billions of empty rows" */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tl_fs *fs;
    const tl_type *type = NULL;
    tl_reader *reader = NULL;
    if (tl_fs_memory(&fs, NULL) != TL_OK || tl_fs_publish(fs, PATH, (tl_bytes_view){data, size}, false, NULL) != TL_OK)
        abort();
    if (tl_format_avro.schema(fs, PATH, &type, NULL) == TL_OK) {
        tl_read_spec spec = {.row_type = type};
        int64_t rows = 0;
        if (tl_format_avro.open(fs, PATH, (int64_t)size, &spec, &reader, NULL) == TL_OK) {
            while (rows < ROWS_MAX) {
                tl_batch *batch = NULL;
                if (tl_reader_next(reader, &batch, NULL) != TL_OK || batch == NULL)
                    break;
                for (int32_t i = 0; i < batch->n_cols; i++)
                    if (tl_column_check(batch->cols[i], NULL) != TL_OK)
                        abort();
                rows += batch->n_rows;
                tl_batch_free(batch);
            }
        }
        tl_reader_free(reader);
    }
    tl_type_unref(type);
    tl_fs_unref(fs);
    return 0;
}
