/*
 * The Parquet writer and reader in memory, type by type and encoding by encoding, without compression but where it is said; what
 * statistics cost is the difference of the lines with and without them.
 */
#include <stdio.h>

#include "format/format.h"
#include "stage.h"

#define BATCHES 16
#define ROWS (BATCHES * STAGE_ROWS)

typedef struct work {
    const tl_type *type;
    tl_batch *batches[BATCHES];
    tl_options options;
    const char *compression;
    bool with_stats;
    tl_fs *fs;
    int64_t file_bytes;
} work;

static void write_file(void *ctx)
{
    work *w = ctx;
    tl_file_writer *writer;
    tl_write_result result = {0};
    tl_write_spec spec = {.row_type = w->type, .compression = w->compression, .compression_level = 1, .options = &w->options, .with_stats = w->with_stats};
    (void)tl_fs_remove(w->fs, "/f.parquet", NULL); /* of the time before */
    check(tl_format_parquet.create(w->fs, "/f.parquet", &spec, &writer, &err));
    for (int i = 0; i < BATCHES; i++)
        check(writer->ops->write(writer, w->batches[i], &err));
    check(writer->ops->finish(writer, &result, &err));
    w->file_bytes = result.bytes;
    tl_write_result_deinit(&result);
    writer->ops->free(writer);
}

static void read_file(void *ctx)
{
    work *w = ctx;
    tl_read_spec spec = {.row_type = w->type};
    tl_reader *reader;
    check(tl_format_parquet.open(w->fs, "/f.parquet", 0, &spec, &reader, &err));
    for (;;) {
        tl_batch *batch;
        check(tl_reader_next(reader, &batch, &err));
        if (batch == NULL)
            break;
        tl_batch_free(batch);
    }
    tl_reader_free(reader);
}

static void of_column(const char *what, const char *type_text, values how, const char *key, const char *value, const char *compression)
{
    if (!is_wanted("encode", what) && !is_wanted("decode", what) && !is_wanted("statistics", what))
        return;
    char row_text[96];
    int64_t bytes = 0;
    snprintf(row_text, sizeof row_text, "ROW<c %s>", type_text);
    work w = {.type = type_of(row_text), .compression = compression, .with_stats = true};
    if (key != NULL)
        check(tl_options_set(&w.options, key, value));
    check(tl_fs_memory(&w.fs, &err));
    for (int i = 0; i < BATCHES; i++) {
        w.batches[i] = make_batch(w.type, how, (int64_t)i * STAGE_ROWS, STAGE_ROWS);
        bytes += batch_bytes(w.batches[i]);
    }
    stage_run("encode", what, write_file, &w, ROWS, bytes);
    if (key == NULL) {
        w.with_stats = false;
        stage_run("no statistics", what, write_file, &w, ROWS, bytes);
    }
    write_file(&w);
    stage_run("decode", what, read_file, &w, ROWS, bytes);
    for (int i = 0; i < BATCHES; i++)
        tl_batch_free(w.batches[i]);
    tl_options_deinit(&w.options);
    tl_fs_unref(w.fs);
    tl_type_unref(w.type);
}

void stage_parquet(void)
{
    static const char dictionary[] = "parquet.enable.dictionary", version[] = "parquet.writer.version";
    static const char *const types[] = {"BOOLEAN", "TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(12, 2)", "DECIMAL(30, 2)", "DATE", "TIMESTAMP(3)", "TIMESTAMP(9)", "STRING", "BYTES", "ARRAY<INT>", "MAP<STRING, INT>", "ROW<a INT, b STRING>"};
    char what[96];
    for (size_t i = 0; i < TL_ARRAY_LEN(types); i++) {
        of_column(types[i], types[i], (values){0}, NULL, NULL, "none");
        snprintf(what, sizeof what, "%s, zstd", types[i]);
        of_column(what, types[i], (values){0}, NULL, NULL, "zstd");
    }
    of_column("INT, dictionary of 200", "INT", (values){.distinct = 200}, NULL, NULL, "none");
    of_column("INT, dictionary of 200, a third NULL", "INT", (values){.distinct = 200, .null_percent = 33}, NULL, NULL, "none");
    of_column("STRING, dictionary of 8", "STRING", (values){.distinct = 8}, NULL, NULL, "none");
    of_column("STRING, dictionary of 10,000", "STRING", (values){.distinct = 10000}, NULL, NULL, "none");
    of_column("BIGINT, PLAIN", "BIGINT", (values){0}, dictionary, "false", "none");
    of_column("STRING, PLAIN", "STRING", (values){0}, dictionary, "false", "none");
    of_column("BIGINT, rising, v2 (DELTA_BINARY_PACKED)", "BIGINT", (values){.sorted = true}, version, "v2", "none");
    of_column("STRING, v2 (DELTA_BYTE_ARRAY)", "STRING", (values){0}, version, "v2", "none");
    of_column("BOOLEAN, v2 (RLE)", "BOOLEAN", (values){0}, version, "v2", "none");
}
