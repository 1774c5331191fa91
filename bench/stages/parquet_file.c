/*
 * Scan speed of the Parquet reader: nanoseconds per row, over all columns and column by column.
 *
 *   bench_parquet_file [--columns] [--rounds N] [--threads N] [--where JSON] FILE
 *
 * The file is read N times (default 5) and the best
 * round counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "format/format.h"

typedef struct options {
    const char *path;
    const char *where;
    int rounds;
    int threads;
    bool by_column;
} options;

/* CPU time of the process: what other programs on the machine do does not count, threads do. */
static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static tl_status scan(tl_fs *fs, const options *o, const tl_type *type, const tl_predicate *pred, tl_pool *pool, int64_t *rows,
                      tl_error *err)
{
    tl_read_spec spec = {.row_type = type, .pool = pool, .predicate = pred, .exact = pred != NULL};
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_format_parquet.open(fs, o->path, 0, &spec, &reader, err));
    *rows = 0;
    for (;;) {
        tl_batch *batch;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        *rows += batch->n_rows;
        tl_batch_free(batch);
    }
}

static tl_status measure(tl_fs *fs, const options *o, const tl_type *type, const tl_predicate *pred, tl_pool *pool,
                         const char *name, tl_error *err)
{
    int64_t rows = 0, wall = INT64_MAX, cpu = INT64_MAX;
    for (int i = 0; i < o->rounds; i++) {
        int64_t wall_start = tl_monotonic_ns(), cpu_start = cpu_ns();
        TL_TRY(scan(fs, o, type, pred, pool, &rows, err));
        int64_t cpu_taken = cpu_ns() - cpu_start, wall_taken = tl_monotonic_ns() - wall_start;
        cpu = TL_MIN(cpu, cpu_taken);
        wall = TL_MIN(wall, wall_taken);
    }
    printf("%-24s %10lld rows %10.3f ms %9.2f ns/row (CPU %.2f)\n", name, (long long)rows, (double)wall / 1e6,
           (double)wall / (double)TL_MAX(rows, 1), (double)cpu / (double)TL_MAX(rows, 1));
    return TL_OK;
}

static tl_status run(tl_fs *fs, const options *o, tl_pool *pool, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *type = NULL;
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = NULL;
    TL_TRY(tl_format_parquet.schema(fs, o->path, &type, err));
    if (o->where != NULL) {
        tl_arena arena = {0};
        const tl_json *json;
        tl_status status = tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)o->where, strlen(o->where)}, &json, err);
        if (status == TL_OK)
            status = tl_predicate_from_json(json, type, &pred, err);
        tl_arena_deinit(&arena);
        TL_TRY(status);
    }
    TL_TRY(measure(fs, o, type, pred, pool, "all columns", err));
    for (int32_t i = 0; o->by_column && i < type->n_fields; i++) {
        TL_CLEANUP(tl_type_unrefp) const tl_type *one = NULL;
        TL_TRY(tl_type_project(type, &i, 1, &one, err));
        TL_TRY(measure(fs, o, one, NULL, pool, type->fields[i].name, err));
    }
    return TL_OK;
}

int main(int argc, char **argv)
{
    options o = {.rounds = 5};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--columns") == 0)
            o.by_column = true;
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            o.rounds = atoi(argv[++i]);
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            o.threads = atoi(argv[++i]);
        else if (strcmp(argv[i], "--where") == 0 && i + 1 < argc)
            o.where = argv[++i];
        else
            o.path = argv[i];
    }
    if (o.path == NULL) {
        fprintf(stderr, "usage: bench_parquet_file [--columns] [--rounds N] [--threads N] [--where JSON] FILE\n");
        return 2;
    }
    tl_error err = {0};
    tl_fs *fs = NULL;
    tl_pool *pool = NULL;
    tl_status status = tl_fs_local(&fs, &err);
    if (status == TL_OK && o.threads > 0)
        status = tl_pool_create(o.threads, &pool, &err);
    if (status == TL_OK)
        status = run(fs, &o, pool, &err);
    tl_pool_free(pool);
    tl_fs_unref(fs);
    if (status != TL_OK)
        fprintf(stderr, "bench_parquet_file: %s\n", err.message);
    return status == TL_OK ? 0 : 1;
}
