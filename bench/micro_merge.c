/*
 * Nanoseconds per row of sorting a write buffer and of merging sorted runs, engine by engine.
 *
 *   micro_merge [RUNS [NAME]]
 *
 * Build by hand against the libraries of a Release build (tl_merge and below). NAME: only benchmarks
 * whose name has it. Data are made in memory before the clock starts. CPU time, best of three runs; "row" is an input row.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "merge/merge.h"
#include "types/builder.h"

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static tl_error err;
static const char *only = "";

static void check(tl_status status)
{
    if (status != TL_OK) {
        fprintf(stderr, "micro_merge: %s\n", err.message);
        exit(1);
    }
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const tl_type *parse_type(const char *text)
{
    const tl_type *type = NULL;
    check(tl_type_parse((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &type, &err));
    return type;
}

/* A value of the i-th row; keys (column 0) come from `key`. */
static void append(tl_builder *b, const tl_type *type, int64_t key, bool is_key, int null_percent)
{
    char text[64];
    if (!is_key && type->nullable && (int)(next_random() % 100) < null_percent) {
        check(tl_builder_null(b));
        return;
    }
    int64_t v = is_key ? key : (int64_t)(next_random() % 1000000);
    if (tl_type_phys(type) == TL_PHYS_BYTES) {
        int len = snprintf(text, sizeof text, is_key ? "key-%016llx" : "value %llu", (unsigned long long)v);
        check(tl_builder_bytes(b, text, (size_t)len));
    } else if (type->kind == TL_DOUBLE) {
        check(tl_builder_f64(b, (double)v));
    } else {
        check(tl_builder_int(b, v));
    }
}

static tl_batch *make_batch(const tl_type *type, const int64_t *keys, int64_t n, int64_t *seq, int null_percent)
{
    tl_batch *batch = NULL;
    check(tl_batch_create(type, n, &batch, &err));
    for (int32_t c = 0; c < type->n_fields; c++) {
        tl_builder *b = NULL;
        check(tl_builder_create(type->fields[c].type, &b, &err));
        for (int64_t i = 0; i < n; i++)
            append(b, type->fields[c].type, keys[i], c == 0, null_percent);
        check(tl_builder_finish(b, &batch->cols[c], &err));
        tl_builder_free(b);
    }
    batch->seq = tl_alloc((size_t)n * sizeof *batch->seq);
    for (int64_t i = 0; i < n; i++)
        batch->seq[i] = (*seq)++;
    return batch;
}

static const int32_t key_column = 0;

static tl_merge_engine *make_engine(const tl_type *type, const char *const *options)
{
    tl_options table = {0};
    tl_merge_engine *engine = NULL;
    for (; options != NULL && options[0] != NULL; options += 2)
        check(tl_options_set(&table, options[0], options[1]));
    check(tl_merge_engine_create(type, &key_column, 1, &table, &engine, &err));
    tl_options_deinit(&table);
    return engine;
}

/* ---- sorting ---- */

static void bench_sort(const char *name, const char *type_text, int64_t rows, uint64_t key_range, bool random)
{
    if (strstr(name, only) == NULL)
        return;
    const tl_type *type = parse_type(type_text);
    tl_merge_engine *engine = make_engine(type, NULL);
    int64_t seq = 0, *keys = malloc((size_t)TL_BATCH_ROWS * sizeof *keys), next = 0;
    uint32_t n_batches = (uint32_t)((rows + TL_BATCH_ROWS - 1) / TL_BATCH_ROWS);
    tl_batch **batches = malloc(n_batches * sizeof *batches);
    for (uint32_t b = 0; b < n_batches; b++) {
        for (int64_t i = 0; i < TL_BATCH_ROWS; i++)
            keys[i] = random ? (int64_t)(next_random() % key_range) : next++;
        batches[b] = make_batch(type, keys, TL_BATCH_ROWS, &seq, 0);
    }
    double best = 1e9;
    uint32_t n_groups = 0;
    for (int round = 0; round < 3; round++) {
        tl_rowref *refs = NULL;
        uint32_t *starts = NULL;
        double from = cpu_seconds();
        check(tl_merge_sort_groups(engine, &key_column, 1, (const tl_batch *const *)batches, n_batches, &refs, &starts,
                                   &n_groups, &err));
        double seconds = cpu_seconds() - from;
        best = seconds < best ? seconds : best;
        tl_free(refs);
        tl_free(starts);
    }
    printf("sort %-36s %8lld rows %8u groups %7.1f ns/row\n", name, (long long)n_batches * TL_BATCH_ROWS, n_groups,
           best / (double)n_batches / TL_BATCH_ROWS * 1e9);
    for (uint32_t b = 0; b < n_batches; b++)
        tl_batch_free(batches[b]);
    free(batches);
    free(keys);
    tl_merge_engine_unref(engine);
    tl_type_unref(type);
}

/* ---- merging ---- */

typedef struct run_batches {
    tl_batch **items;
    int32_t n;
} run_batches;

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A sorted run of `rows` rows; `stretch` keys in a row are its own. */
static run_batches make_run(const tl_type *type, int64_t rows, int run, int n_runs, int64_t stretch, int null_percent,
                            int64_t *seq)
{
    int64_t *keys = malloc((size_t)rows * sizeof *keys);
    for (int64_t i = 0; i < rows; i++)
        keys[i] = stretch > 0 ? (i / stretch * n_runs + run) * stretch + i % stretch
                              : (int64_t)(next_random() % (uint64_t)(rows * 2));
    qsort(keys, (size_t)rows, sizeof *keys, by_value);
    int64_t n = 0;
    for (int64_t i = 0; i < rows; i++) /* unique within the run */
        if (n == 0 || keys[n - 1] != keys[i])
            keys[n++] = keys[i];
    run_batches out = {malloc(((size_t)(n / TL_BATCH_ROWS) + 1) * sizeof *out.items), 0};
    for (int64_t from = 0; from < n; from += TL_BATCH_ROWS)
        out.items[out.n++] = make_batch(type, keys + from, TL_MIN(TL_BATCH_ROWS, n - from), seq, null_percent);
    free(keys);
    return out;
}

static tl_reader *read_run(const tl_type *type, const run_batches *run)
{
    tl_batch **batches = tl_alloc((size_t)(run->n + 1) * sizeof *batches);
    tl_reader *reader = NULL;
    for (int32_t b = 0; b < run->n; b++)
        check(tl_batch_slice(run->items[b], 0, run->items[b]->n_rows, &batches[b], &err));
    check(tl_reader_from_batches(type, batches, run->n, &reader, &err));
    return reader;
}

static void bench_merge(const char *name, const char *type_text, const char *const *options, int n_runs, int64_t rows,
                        int64_t stretch, int null_percent)
{
    if (strstr(name, only) == NULL)
        return;
    const tl_type *type = parse_type(type_text);
    tl_merge_engine *engine = make_engine(type, options);
    run_batches *runs = malloc((size_t)n_runs * sizeof *runs);
    int64_t seq = 0, total = 0, out_rows = 0;
    for (int r = 0; r < n_runs; r++) {
        runs[r] = make_run(type, rows, r, n_runs, stretch, null_percent, &seq);
        for (int32_t b = 0; b < runs[r].n; b++)
            total += runs[r].items[b]->n_rows;
    }
    double best = 1e9;
    for (int round = 0; round < 3; round++) {
        tl_merge_input *inputs = malloc((size_t)n_runs * sizeof *inputs);
        for (int r = 0; r < n_runs; r++)
            inputs[r] = (tl_merge_input){read_run(type, &runs[r]), 0};
        tl_merge_spec spec = {.engine = engine, .key_idx = &key_column, .n_keys = 1, .drop_deletes = true};
        tl_reader *reader = NULL;
        double from = cpu_seconds();
        check(tl_merge_open(type, &spec, inputs, n_runs, &reader, &err));
        out_rows = 0;
        for (;;) {
            tl_batch *batch = NULL;
            check(tl_reader_next(reader, &batch, &err));
            if (batch == NULL)
                break;
            out_rows += batch->n_rows;
            tl_batch_free(batch);
        }
        tl_reader_free(reader);
        double seconds = cpu_seconds() - from;
        best = seconds < best ? seconds : best;
        free(inputs);
    }
    printf("merge %-44s %2d runs %8lld rows -> %8lld %7.1f ns/row\n", name, n_runs, (long long)total, (long long)out_rows,
           best / (double)total * 1e9);
    for (int r = 0; r < n_runs; r++) {
        for (int32_t b = 0; b < runs[r].n; b++)
            tl_batch_free(runs[r].items[b]);
        free(runs[r].items);
    }
    free(runs);
    tl_merge_engine_unref(engine);
    tl_type_unref(type);
}

static char *wide_type(void)
{
    tl_buf buf = {0};
    char *text = NULL;
    tl_status status = tl_buf_append_str(&buf, "ROW<k BIGINT NOT NULL");
    for (int c = 0; c < 30 && status == TL_OK; c++)
        status = tl_buf_appendf(&buf, ", c%d %s", c, c % 3 == 0 ? "STRING" : c % 3 == 1 ? "BIGINT" : "DOUBLE");
    for (int g = 0; g < 3 && status == TL_OK; g++)
        status = tl_buf_appendf(&buf, ", g%d BIGINT", g);
    if (status != TL_OK || tl_buf_append_str(&buf, ">") != TL_OK || tl_buf_steal_str(&buf, &text) != TL_OK)
        exit(1);
    return text;
}

int main(int argc, char **argv)
{
    int n_runs = argc > 1 ? atoi(argv[1]) : 10;
    only = argc > 2 ? argv[2] : "";
    static const char five[] = "ROW<k BIGINT NOT NULL, a BIGINT, b DOUBLE, c STRING, d INT>";
    static const char text_key[] = "ROW<k STRING NOT NULL, a BIGINT, b DOUBLE, c STRING, d INT>";
    bench_sort("random BIGINT keys", "ROW<k BIGINT NOT NULL>", 500000, UINT64_MAX / 2, true);
    bench_sort("BIGINT keys of a small range", "ROW<k BIGINT NOT NULL>", 500000, 250000, true);
    bench_sort("rising BIGINT keys", "ROW<k BIGINT NOT NULL>", 500000, 1, false);
    bench_sort("random STRING keys", "ROW<k STRING NOT NULL>", 500000, UINT64_MAX / 2, true);
    bench_merge("deduplicate, 5 columns", five, NULL, n_runs, 200000, 0, 0);
    bench_merge("deduplicate, 5 columns, STRING key", text_key, NULL, n_runs, 200000, 0, 0);
    bench_merge("deduplicate, stretches of 10000", five, NULL, n_runs, 200000, 10000, 0);
    bench_merge("deduplicate, one run", five, NULL, 1, 1000000, 0, 0);
    const char *const sum[] = {"merge-engine",
                               "aggregation",
                               "fields.a.aggregate-function",
                               "sum",
                               "fields.b.aggregate-function",
                               "max",
                               "fields.d.aggregate-function",
                               "sum",
                               NULL};
    bench_merge("aggregation: sum, max, last, sum", five, sum, n_runs, 200000, 0, 0);
    char *wide = wide_type();
    const char *const partial[] = {"merge-engine", "partial-update", NULL};
    bench_merge("partial-update, 30 columns, 60 % NULL", wide, partial, n_runs, 50000, 0, 60);
    const char *const groups[] = {"merge-engine",
                                  "partial-update",
                                  "fields.g0.sequence-group",
                                  "c0,c1,c2,c3,c4,c5,c6,c7,c8,c9",
                                  "fields.g1.sequence-group",
                                  "c10,c11,c12,c13,c14,c15,c16,c17,c18,c19",
                                  "fields.g2.sequence-group",
                                  "c20,c21,c22,c23,c24,c25,c26,c27,c28,c29",
                                  NULL};
    bench_merge("partial-update, 30 columns in 3 groups", wide, groups, n_runs, 50000, 0, 60);
    tl_free(wide);
    return 0;
}
