/*
 * The readers of files of lines. The first byte chooses format, compression and options, the rest is the file. What comes must be columns
 * that keep their promises. Bytes that are no compressed file are also tried as they are.
 */
#include "fuzz/file_any.h"

static const tl_type *type_of(const char *text)
{
    const tl_type *type = NULL;
    if (tl_type_parse((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &type, NULL) != TL_OK)
        abort();
    return type;
}

static void set(tl_options *options, const char *key, const char *value)
{
    if (tl_options_set(options, key, value) != TL_OK)
        abort();
}

static void read_all(const tl_format *format, tl_fs *fs, const char *path, const tl_type *type, const tl_options *options, uint8_t choice)
{
    tl_reader *reader = NULL;
    tl_read_spec spec = {.row_type = type, .options = options, .batch_rows = choice & 1 ? 3 : 0, .with_row_numbers = (choice & 2) != 0};
    int64_t last = -1, rows = 0;
    if (format->open(fs, path, 0, &spec, &reader, NULL) == TL_OK) {
        for (tl_batch *batch = NULL; rows <= ANY_ROWS_MAX && tl_reader_next(reader, &batch, NULL) == TL_OK && batch != NULL;) {
            any_batch(batch, &spec, &last);
            rows += batch->n_rows;
            tl_batch_free(batch);
        }
    }
    tl_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tl_format *const formats[] = {&tl_format_csv, &tl_format_json, &tl_format_text, &tl_format_json};
    static const char *const types[] = {"ROW<s STRING, i INT, d DECIMAL(20, 3), t TIMESTAMP(9), dt DATE, tm TIME(3), b BYTES, f DOUBLE, c CHAR(3), o BOOLEAN>",
                                        "ROW<a ARRAY<ARRAY<INT>>, m MAP<STRING, ROW<x DECIMAL(5, 2), y STRING>>, s STRING, k MAP<DATE, BYTES>, v VECTOR<FLOAT, 2>>",
                                        "ROW<s STRING>", "ROW<s STRING, i TINYINT, l TIMESTAMP(3) WITH LOCAL TIME ZONE>"};
    static const char *const paths[] = {ANY_PATH, ANY_PATH ".gz", ANY_PATH ".zst", ANY_PATH ".bz2"};
    if (size == 0)
        return 0;
    uint8_t choice = data[0];
    tl_options options = {0};
    tl_fs *fs = NULL;
    const char *path = paths[choice >> 6];
    if (choice & 4) {
        set(&options, "csv.mode", choice & 8 ? "dropmalformed" : "failfast");
        set(&options, "json.ignore-parse-errors", "true");
        set(&options, "csv.include-header", "true");
    }
    if (choice & 8)
        set(&options, (choice & 3) == 2 ? "text.line-delimiter" : "lineSep", "aab");
    const tl_type *type = type_of(types[choice & 3]);
    if (tl_fs_memory(&fs, NULL) != TL_OK || tl_fs_publish(fs, path, (tl_bytes_view){data + 1, size - 1}, false, NULL) != TL_OK)
        abort();
    read_all(formats[choice & 3], fs, path, type, &options, choice >> 4);
    tl_type_unref(type);
    tl_options_deinit(&options);
    tl_fs_unref(fs);
    return 0;
}
