/*
 * All stages, or those whose lines hold one of the words:
 *
 *   bench_stages [WORD…]
 */
#include "stage.h"

#include "base/thread.h"

#include <stdio.h>
#include <time.h>

tl_error err;
static char **words;

void check(tl_status status)
{
    if (status == TL_OK)
        return;
    fprintf(stderr, "bench_stages: %s\n", err.message);
    exit(1);
}

const tl_type *type_of(const char *text)
{
    const tl_type *type = NULL;
    check(tl_type_parse((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &type, &err));
    return type;
}

/* ---- data ---- */

static void append_elements(tl_builder *builder, const tl_type *type, uint64_t v)
{
    uint64_t n = type->kind == TL_ROW ? 1 : mix(v) % 5;
    for (uint64_t i = 0; i < n; i++)
        for (int32_t c = 0; c < type->n_fields; c++)
            append_value(tl_builder_child(builder, c), type->fields[c].type, mix(v + i) % 1000);
    check(tl_builder_error(builder, tl_builder_end(builder), &err));
}

void append_value(tl_builder *builder, const tl_type *type, uint64_t v)
{
    char text[64];
    tl_status status = TL_OK;
    switch (tl_type_phys(type)) {
    case TL_PHYS_BOOL:
        status = tl_builder_bool(builder, v & 1);
        break;
    case TL_PHYS_F32:
        status = tl_builder_f32(builder, (float)(v % 1000000) / 100);
        break;
    case TL_PHYS_F64:
        status = tl_builder_f64(builder, (double)(v % 100000000) / 100);
        break;
    case TL_PHYS_I128:
        status = tl_builder_i128(builder, (tl_i128)(v >> 1) * 1000003);
        break;
    case TL_PHYS_TS96:
        status = tl_builder_timestamp(builder, INT64_C(1760000000000) + (int64_t)(v % 1000000007), (int32_t)(v % 1000000));
        break;
    case TL_PHYS_BYTES:
        status = tl_builder_bytes(builder, text, (size_t)snprintf(text, sizeof text, "%.*s%016llx", (int)(v % 24), "a text of several words …", (unsigned long long)v));
        break;
    case TL_PHYS_LIST:
    case TL_PHYS_MAP:
    case TL_PHYS_ROW:
        append_elements(builder, type, v);
        break;
    default:
        status = tl_builder_int(builder, type->kind == TL_TINYINT ? (int8_t)v : type->kind == TL_SMALLINT ? (int16_t)v : type->kind == TL_BIGINT ? (int64_t)(v >> 16) : (int64_t)(v % 2000000000));
    }
    check(tl_builder_error(builder, status, &err));
}

tl_column *make_column(const tl_type *type, values how, int64_t from, int64_t rows)
{
    tl_builder *builder;
    tl_column *col;
    check(tl_builder_create(type, &builder, &err));
    for (int64_t i = from; i < from + rows; i++) {
        uint64_t v = how.sorted ? (uint64_t)i * 7 : how.distinct == 0 ? mix((uint64_t)i) : mix(mix((uint64_t)i) % how.distinct);
        if (mix((uint64_t)i * 3) % 100 < (uint64_t)how.null_percent)
            check(tl_builder_null(builder));
        else
            append_value(builder, type, v);
    }
    check(tl_builder_finish(builder, &col, &err));
    tl_builder_free(builder);
    return col;
}

tl_batch *make_batch(const tl_type *row_type, values how, int64_t from, int64_t rows)
{
    tl_batch *batch;
    check(tl_batch_create(row_type, rows, &batch, &err));
    for (int32_t c = 0; c < row_type->n_fields; c++) {
        const tl_type *type = row_type->fields[c].type;
        values own = how;
        if (!type->nullable)
            own.null_percent = 0;
        batch->cols[c] = make_column(type, own, from + c * INT64_C(1000000007), rows);
    }
    return batch;
}

int64_t batch_bytes(const tl_batch *batch)
{
    int64_t bytes = 0;
    for (int32_t c = 0; c < batch->n_cols; c++)
        bytes += tl_column_bytes(batch->cols[c]);
    return bytes;
}

/* ---- time ---- */

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return (uint64_t)tl_monotonic_ns();
#endif
}

/* Ticks of the time stamp counter a second. */
static double tick_rate(void)
{
    static double rate;
    if (rate == 0) {
        int64_t start = tl_monotonic_ns();
        uint64_t from = ticks();
        while (tl_monotonic_ns() - start < 20000000) {
        }
        rate = (double)(ticks() - from) / ((double)(tl_monotonic_ns() - start) * 1e-9);
    }
    return rate;
}

bool is_wanted(const char *stage, const char *what)
{
    for (char **w = words; *w != NULL; w++) {
        if (strstr(stage, *w) != NULL || strstr(what, *w) != NULL)
            return true;
    }
    return words[0] == NULL;
}

void stage_run(const char *stage, const char *what, void (*fn)(void *ctx), void *ctx, int64_t rows, int64_t bytes)
{
    if (!is_wanted(stage, what))
        return;
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        int64_t calls = 0;
        double start = cpu_seconds(), took = 0;
        do {
            fn(ctx);
            calls++;
            took = cpu_seconds() - start;
        } while (took < 0.02);
        best = TL_MIN(best, took / (double)calls);
    }
    printf("%-13s %-52s %9.2f ns/row", stage, what, best * 1e9 / (double)rows);
    if (bytes > 0)
        printf(" %8.3f bytes/cycle", (double)bytes / (best * tick_rate()));
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    words = argv + (argc > 0);
    stage_columns();
    stage_keys();
    stage_merge();
    stage_parquet();
    stage_compress();
    stage_lookup();
    return 0;
}
