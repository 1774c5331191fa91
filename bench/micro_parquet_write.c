/*
 * Micro-benchmark of the Parquet writer: CPU time and bytes per row, averaged over the repetitions. The file system is in memory:
 * the system time is page faults of its and the writer's buffers.
 *
 *   micro_parquet_write [rows] [repetitions]
 *
 * Build by hand against the libraries of a Release build.
 *
 * `orders` is a file of a primary-key table as a flush writes it: the order-status stream of the shared benchmark (15 columns,
 * about 110 bytes a row; its generator's distributions), sorted by key, with the key and system columns before them. The
 * other lines are files of one column each, to tell what a type and an encoding cost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "format/format.h"
#include "types/builder.h"

#define BATCH_ROWS TL_BATCH_ROWS

static tl_error err;

static void check(tl_status status)
{
    if (status != TL_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
}

typedef struct cpu_time {
    double user, system; /* seconds */
} cpu_time;

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static cpu_time cpu_now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (cpu_time){seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ---- values ---- */

typedef void (*value_fn)(tl_builder *builder, int64_t row);

static void add_text(tl_builder *builder, uint64_t hash, size_t len)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char text[64];
    for (size_t i = 0; i < len; i++) {
        if (i % 10 == 0)
            hash = mix(hash + i);
        text[i] = alphabet[hash >> (6 * (i % 10)) & 63];
    }
    (void)tl_builder_bytes(builder, text, len);
}

/** Keys of one of four buckets' share of a commit: ascending, about every eighteenth. */
static int64_t order_key(int64_t row)
{
    return row * 18 + (int64_t)(mix((uint64_t)row) % 18);
}

static void order_id(tl_builder *builder, int64_t row)
{
    (void)tl_builder_int(builder, order_key(row));
}
static void sequence(tl_builder *builder, int64_t row)
{
    (void)tl_builder_int(builder, (int64_t)(mix((uint64_t)row * 7) % 500000));
}
static void zero(tl_builder *builder, int64_t row)
{
    (void)row;
    (void)tl_builder_int(builder, 0);
}
static void city(tl_builder *builder, int64_t row)
{
    (void)tl_builder_int(builder, (int64_t)(mix((uint64_t)order_key(row) * 3 + 1) % 200));
}
static void broker(tl_builder *builder, int64_t row)
{
    char text[32];
    int n = snprintf(text, sizeof text, "broker_%05d", (int)((mix((uint64_t)order_key(row) * 3 + 1) >> 20) % 10000));
    (void)tl_builder_bytes(builder, text, (size_t)n);
}
static void status(tl_builder *builder, int64_t row)
{
    static const char *const names[] = {"created", "paid", "assigned", "picked_up", "delivered", "closed", "cancelled", "refunded"};
    const char *name = names[mix((uint64_t)row) >> 40 & 7];
    (void)tl_builder_bytes(builder, name, strlen(name));
}
static void amount(tl_builder *builder, int64_t row)
{
    (void)tl_builder_int(builder, (int64_t)(100 + mix((uint64_t)row + 5) % 9999900));
}
static void updated_at(tl_builder *builder, int64_t row)
{
    uint64_t h = mix((uint64_t)row * 7);
    (void)tl_builder_int(builder, INT64_C(1760000000000) + (int64_t)(h % 500000) * 20 + (int64_t)(h >> 60));
}
static void note(tl_builder *builder, int64_t row)
{
    uint64_t h = mix((uint64_t)row + 11);
    add_text(builder, h, 32 + (size_t)((h >> 50) % 17));
}
static void label(tl_builder *builder, int64_t row)
{
    uint64_t x = mix((uint64_t)row * 11) & 255;
    if (x < 77)
        (void)tl_builder_null(builder);
    else
        (void)tl_builder_int(builder, (int64_t)(x - 77) % 100);
}
static void random_int(tl_builder *builder, int64_t row)
{
    (void)tl_builder_int(builder, (int32_t)mix((uint64_t)row));
}
static void random_double(tl_builder *builder, int64_t row)
{
    (void)tl_builder_f64(builder, (double)(mix((uint64_t)row) % 100000) / 100);
}
static void random_decimal(tl_builder *builder, int64_t row)
{
    (void)tl_builder_i128(builder, (tl_i128)mix((uint64_t)row) * 1000003);
}
static void random_timestamp(tl_builder *builder, int64_t row)
{
    (void)tl_builder_timestamp(builder, INT64_C(1760000000000) + row * 37, (int32_t)(mix((uint64_t)row) % 1000000));
}
static void coin(tl_builder *builder, int64_t row)
{
    (void)tl_builder_bool(builder, mix((uint64_t)row) & 1);
}
static void some_bigint(tl_builder *builder, int64_t row)
{
    if (mix((uint64_t)row) % 10 == 0)
        (void)tl_builder_null(builder);
    else
        (void)tl_builder_int(builder, (int64_t)mix((uint64_t)row + 1));
}
static void int_list(tl_builder *builder, int64_t row)
{
    for (uint64_t i = mix((uint64_t)row) % 5; i > 0; i--)
        (void)tl_builder_int(tl_builder_child(builder, 0), (int64_t)(mix((uint64_t)row + i) % 1000));
    (void)tl_builder_end(builder);
}
static void text_map(tl_builder *builder, int64_t row)
{
    for (uint64_t i = mix((uint64_t)row) % 4; i > 0; i--) {
        char key[16];
        int n = snprintf(key, sizeof key, "key%d", (int)i);
        (void)tl_builder_bytes(tl_builder_child(builder, 0), key, (size_t)n);
        (void)tl_builder_int(tl_builder_child(builder, 1), (int64_t)(mix((uint64_t)row + i) % 1000));
    }
    (void)tl_builder_end(builder);
}

/* ---- files ---- */

typedef struct column {
    const char *name;
    const char *type;
    value_fn add;
    int same_as; /* an earlier column whose buffers are shared, or -1 */
} column;

static const column orders[] = {
    {"_KEY_order_id", "BIGINT NOT NULL", order_id, -1},
    {"_SEQUENCE_NUMBER", "BIGINT NOT NULL", sequence, -1},
    {"_VALUE_KIND", "TINYINT NOT NULL", zero, -1},
    {"order_id", "BIGINT NOT NULL", order_id, 0},
    {"city", "INT", city, -1},
    {"status", "STRING", status, -1},
    {"broker", "STRING", broker, -1},
    {"amount", "DECIMAL(12, 2)", amount, -1},
    {"updated_at", "TIMESTAMP(3)", updated_at, -1},
    {"note", "STRING", note, -1},
    {"label0", "INT", label, -1},
    {"label1", "INT", label, -1},
    {"label2", "INT", label, -1},
    {"label3", "INT", label, -1},
    {"label4", "INT", label, -1},
    {"label5", "INT", label, -1},
    {"label6", "INT", label, -1},
    {"label7", "INT", label, -1},
};

static const column singles[] = {
    {"BIGINT, ascending", "BIGINT NOT NULL", order_id, -1},
    {"BIGINT, 10% null, unique", "BIGINT", some_bigint, -1},
    {"INT, unique", "INT", random_int, -1},
    {"INT, 200 values", "INT", city, -1},
    {"INT, 100 values, 30% null", "INT", label, -1},
    {"STRING, 8 values", "STRING", status, -1},
    {"STRING, 10000 values", "STRING", broker, -1},
    {"STRING, unique, 40 bytes", "STRING", note, -1},
    {"DECIMAL(12, 2)", "DECIMAL(12, 2)", amount, -1},
    {"DECIMAL(30, 2)", "DECIMAL(30, 2)", random_decimal, -1},
    {"DOUBLE, 100000 values", "DOUBLE", random_double, -1},
    {"TIMESTAMP(3)", "TIMESTAMP(3)", updated_at, -1},
    {"TIMESTAMP(9)", "TIMESTAMP(9)", random_timestamp, -1},
    {"BOOLEAN", "BOOLEAN", coin, -1},
    {"TINYINT, constant", "TINYINT NOT NULL", zero, -1},
    {"ARRAY<INT>, 2 elements", "ARRAY<INT>", int_list, -1},
    {"MAP<STRING, INT>, 1.5 entries", "MAP<STRING, INT>", text_map, -1},
};

static const tl_type *row_type(const column *columns, int n)
{
    tl_field *fields = calloc((size_t)n, sizeof *fields);
    for (int i = 0; i < n; i++) {
        check(tl_type_parse((tl_bytes_view){(const uint8_t *)columns[i].type, strlen(columns[i].type)}, &fields[i].type, &err));
        fields[i].name = (char *)(uintptr_t)columns[i].name;
        fields[i].id = i;
    }
    const tl_type *row = NULL;
    check(tl_type_create_row(false, fields, n, &row, &err));
    free(fields);
    return row;
}

static tl_batch *make_batch(const tl_type *row, const column *columns, int64_t from, int64_t rows)
{
    tl_batch *batch = NULL;
    check(tl_batch_create(row, rows, &batch, &err));
    for (int32_t i = 0; i < row->n_fields; i++) {
        if (columns[i].same_as >= 0) {
            batch->cols[i] = tl_column_ref(batch->cols[columns[i].same_as]);
            continue;
        }
        tl_builder *builder = NULL;
        check(tl_builder_create(row->fields[i].type, &builder, &err));
        for (int64_t r = 0; r < rows; r++)
            columns[i].add(builder, from + r);
        check(tl_builder_finish(builder, &batch->cols[i], &err));
        tl_builder_free(builder);
    }
    return batch;
}

static int64_t write_file(const tl_type *row, tl_batch **batches, int64_t n_batches, const char *compression)
{
    tl_fs *fs = NULL;
    tl_file_writer *writer = NULL;
    tl_write_result result = {0};
    tl_write_spec spec = {.row_type = row, .compression = compression, .compression_level = 1, .with_stats = true};
    check(tl_fs_memory(&fs, &err));
    check(tl_format_parquet.create(fs, "/f.parquet", &spec, &writer, &err));
    for (int64_t i = 0; i < n_batches; i++)
        check(writer->ops->write(writer, batches[i], &err));
    check(writer->ops->finish(writer, &result, &err));
    int64_t bytes = result.bytes;
    tl_write_result_deinit(&result);
    writer->ops->free(writer);
    tl_fs_unref(fs);
    return bytes;
}

static void run(const char *name, const column *columns, int n_columns, int64_t rows, int reps, const char *compression)
{
    const tl_type *row = row_type(columns, n_columns);
    int64_t n_batches = (rows + BATCH_ROWS - 1) / BATCH_ROWS;
    tl_batch **batches = calloc((size_t)n_batches, sizeof(tl_batch *));
    for (int64_t i = 0; i < n_batches; i++)
        batches[i] = make_batch(row, columns, i * BATCH_ROWS, TL_MIN(rows - i * BATCH_ROWS, BATCH_ROWS));
    int64_t bytes = write_file(row, batches, n_batches, compression); /* warm */
    cpu_time start = cpu_now();
    for (int rep = 0; rep < reps; rep++)
        bytes = write_file(row, batches, n_batches, compression);
    cpu_time end = cpu_now();
    double per_row = 1e9 / ((double)rows * reps);
    printf("%-32s %-5s %8.1f ns/row user %8.1f system %8.2f bytes/row\n", name, compression, (end.user - start.user) * per_row,
           (end.system - start.system) * per_row, (double)bytes / (double)rows);
    for (int64_t i = 0; i < n_batches; i++)
        tl_batch_free(batches[i]);
    free(batches);
    tl_type_unref(row);
}

int main(int argc, char **argv)
{
    int64_t rows = argc > 1 ? atoll(argv[1]) : 110000;
    int reps = argc > 2 ? atoi(argv[2]) : 20;
    run("orders", orders, TL_ARRAY_LEN(orders), rows, reps, "zstd");
    run("orders", orders, TL_ARRAY_LEN(orders), rows, reps, "none");
    for (size_t i = 0; i < TL_ARRAY_LEN(singles); i++) {
        run(singles[i].name, &singles[i], 1, rows, reps, "zstd");
        run(singles[i].name, &singles[i], 1, rows, reps, "none");
    }
    return 0;
}
