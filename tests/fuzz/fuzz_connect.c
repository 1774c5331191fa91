/* Formats of connector tables: the first byte chooses format and columns, the rest is a file. */
#include <stdlib.h>

#include "connect/connect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const formats[] = {"json", "csv", "debezium-json", "canal-json", "maxwell-json", "ogg-json", "raw"};
static const char *const types[] = {
    "ROW<order_id BIGINT, status STRING, amount DECIMAL(10, 2), order_seq INT, order_time TIMESTAMP(3)>",
    "ROW<a ARRAY<INT>, m MAP<STRING, DOUBLE>, r ROW<x INT, y STRING>, b BYTES, d DATE, t TIME(3), f FLOAT, z BOOLEAN>",
    "ROW<s STRING>",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tl_fs *fs;
    const tl_type *type = NULL;
    if (size < 1)
        return 0;
    const char *format = formats[data[0] % TL_ARRAY_LEN(formats)], *text = types[data[0] / 16 % TL_ARRAY_LEN(types)];
    bool ignore = (data[0] & 0x80) != 0;
    tl_options options = {0};
    char key[64];
    snprintf(key, sizeof key, "%s.ignore-parse-errors", format);
    if (tl_fs_memory(&fs, NULL) != TL_OK || tl_fs_publish(fs, "/f", (tl_bytes_view){data + 1, size - 1}, false, NULL) != TL_OK ||
        tl_type_parse((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &type, NULL) != TL_OK ||
        tl_options_set(&options, "connector", "filesystem") != TL_OK || tl_options_set(&options, "path", "/f") != TL_OK ||
        tl_options_set(&options, "format", format) != TL_OK || (ignore && strcmp(format, "raw") != 0 && tl_options_set(&options, key, "true") != TL_OK))
        abort();
    tl_connector_spec spec = {.fs = fs, .row_type = type, .options = &options};
    tl_source *source = NULL;
    if (tl_source_open(&spec, NULL, &source, NULL) == TL_OK) {
        tl_source_state state = TL_SOURCE_ROWS;
        tl_batch *batch = NULL;
        while (state == TL_SOURCE_ROWS && tl_source_next(source, 100, &batch, &state, NULL) == TL_OK) {
            for (int32_t i = 0; batch != NULL && i < batch->n_cols; i++)
                if (tl_column_check(batch->cols[i], NULL) != TL_OK)
                    abort();
            tl_batch_free(batch);
            batch = NULL;
        }
    }
    tl_source_free(source);
    tl_options_deinit(&options);
    tl_type_unref(type);
    tl_fs_unref(fs);
    return 0;
}
