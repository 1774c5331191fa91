/*
 * Nanoseconds per value of the loops over columns: gathering, joining, filtering, printing and reading.
 *
 *   micro_types [ROUNDS]
 *
 * Build by hand against the libraries of a Release build. Batches of TL_BATCH_ROWS rows, so everything lies in the caches, as
 * it does in a merge. CPU time, best of five runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "types/predicate.h"
#include "types/text.h"

#define ROWS TL_BATCH_ROWS
#define SRCS 8

static uint64_t state = 1;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static void check(tl_status status, const tl_error *err)
{
    if (status != TL_OK) {
        fprintf(stderr, "micro_types: %s\n", err->message);
        exit(1);
    }
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const tl_type *type_of(const char *text)
{
    const tl_type *type = NULL;
    tl_error err;
    check(tl_type_parse((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &type, &err), &err);
    return type;
}

/* Values as tables hold them: small numbers, short names, amounts. */
static tl_status append_value(tl_builder *b, const tl_type *type)
{
    char text[32];
    uint64_t r = next_random();
    switch (type->kind) {
    case TL_DOUBLE:
        return tl_builder_f64(b, (double)(r % 1000000) / 100);
    case TL_DECIMAL:
        return tl_builder_i128(b, r % 100000);
    case TL_TIMESTAMP:
        return tl_builder_timestamp(b, (int64_t)(r % 2000000000000), 0);
    case TL_VARCHAR:
        return tl_builder_bytes(b, text, (size_t)snprintf(text, sizeof text, "name-%llu", (unsigned long long)(r % 1000000)));
    default:
        return tl_builder_int(b, (int64_t)(r % 1000000));
    }
}

static tl_column *column(const tl_type *type, int null_percent)
{
    tl_builder *b = NULL;
    tl_column *col = NULL;
    tl_error err;
    check(tl_builder_create(type, &b, &err), &err);
    for (int i = 0; i < ROWS; i++)
        check(next_random() % 100 < (uint64_t)null_percent ? tl_builder_null(b) : append_value(b, type), &err);
    check(tl_builder_finish(b, &col, &err), &err);
    tl_builder_free(b);
    return col;
}

/* What a measurement works on. */
typedef struct work {
    const tl_type *type;
    tl_column *srcs[SRCS];
    tl_rowref refs[ROWS];
    uint32_t idx[ROWS];
    tl_predicate *pred;
    const tl_json *json;
    tl_builder *builder;
    tl_buf buf;
} work;

static void do_gather_multi(work *w)
{
    tl_column *out = NULL;
    tl_error err;
    check(tl_column_gather_multi(w->type, (const tl_column *const *)w->srcs, w->refs, ROWS, &out, &err), &err);
    tl_column_unref(out);
}

static void do_gather(work *w)
{
    tl_column *out = NULL;
    tl_error err;
    check(tl_column_gather(w->srcs[0], w->idx, ROWS, &out, &err), &err);
    tl_column_unref(out);
}

static void do_concat(work *w)
{
    tl_column *out = NULL;
    tl_error err;
    check(tl_column_concat(w->type, (const tl_column *const *)w->srcs, SRCS, &out, &err), &err);
    tl_column_unref(out);
}

static void do_filter(work *w)
{
    static uint32_t sel[ROWS];
    int64_t n;
    tl_error err;
    check(tl_predicate_eval(w->pred, (const tl_column *const *)w->srcs, ROWS, sel, &n, &err), &err);
}

static void do_print(work *w)
{
    tl_error err = {0};
    w->buf.len = 0;
    for (int i = 0; i < ROWS; i++)
        check(tl_text_append_json(&w->buf, w->srcs[0], i), &err);
}

static void do_read(work *w)
{
    tl_error err;
    for (const tl_json *node = w->json->child; node != NULL; node = node->next)
        check(tl_text_read_json(node, w->type, w->builder, &err), &err);
    tl_builder_truncate(w->builder, 0);
}

/* Best of five, per value of `values` at a time. */
static double measure(void (*fn)(work *), work *w, int rounds, int values)
{
    double best = 1e9;
    for (int run = 0; run < 5; run++) {
        double start = cpu_seconds();
        for (int r = 0; r < rounds; r++)
            fn(w);
        double ns = (cpu_seconds() - start) * 1e9 / rounds / values;
        best = ns < best ? ns : best;
    }
    return best;
}

/* The JSON of a column as one list. */
static void prepare_json(work *w, tl_arena *arena)
{
    tl_buf text = {0};
    tl_error err = {0};
    for (int i = 0; i < ROWS; i++) {
        check(tl_buf_append_byte(&text, i == 0 ? '[' : ','), &err);
        check(tl_text_append_json(&text, w->srcs[0], i), &err);
    }
    check(tl_buf_append_byte(&text, ']'), &err);
    check(tl_json_parse(arena, (tl_bytes_view){text.data, text.len}, &w->json, &err), &err);
    check(tl_builder_create(w->type, &w->builder, &err), &err);
}

static void bench_type(const char *type_text, int null_percent, int rounds)
{
    work w = {.type = type_of(type_text)};
    tl_arena arena = {0};
    for (int s = 0; s < SRCS; s++)
        w.srcs[s] = column(w.type, null_percent);
    uint32_t at[SRCS] = {0};
    for (int i = 0; i < ROWS; i++) {
        uint32_t s = (uint32_t)(next_random() % SRCS);
        w.refs[i] = (tl_rowref){s, at[s]++}; /* as a merge of sorted runs gives them */
        w.idx[i] = (uint32_t)(next_random() % ROWS);
    }
    prepare_json(&w, &arena);
    printf("%-16s %2d%% null   gather_multi %5.2f   gather %5.2f   concat %5.2f   print %5.1f   read %5.1f ns\n", type_text,
           null_percent, measure(do_gather_multi, &w, rounds, ROWS), measure(do_gather, &w, rounds, ROWS),
           measure(do_concat, &w, rounds / 4 + 1, ROWS * SRCS), measure(do_print, &w, rounds / 8 + 1, ROWS),
           measure(do_read, &w, rounds / 8 + 1, ROWS));
    for (int s = 0; s < SRCS; s++)
        tl_column_unref(w.srcs[s]);
    tl_builder_free(w.builder);
    tl_buf_deinit(&w.buf);
    tl_type_unref(w.type);
}

static void bench_filter(const char *row_text, const char *filter, int rounds)
{
    work w = {.type = type_of(row_text)};
    tl_arena arena = {0};
    tl_error err;
    w.srcs[0] = column(w.type->fields[0].type, 0);
    check(tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)filter, strlen(filter)}, &w.json, &err), &err);
    check(tl_predicate_from_json(w.json, w.type, &w.pred, &err), &err);
    printf("%-16s %-40s %5.2f ns\n", row_text, filter, measure(do_filter, &w, rounds, ROWS));
    tl_predicate_free(w.pred);
    tl_column_unref(w.srcs[0]);
    tl_type_unref(w.type);
    tl_arena_deinit(&arena);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 500;
    static const char *const types[] = {"INT", "BIGINT", "DOUBLE", "DECIMAL(30, 2)", "STRING", "TIMESTAMP(3)"};
    for (size_t t = 0; t < TL_ARRAY_LEN(types); t++)
        for (int nulls = 0; nulls <= 20; nulls += 20)
            bench_type(types[t], nulls, rounds);
    bench_filter("ROW<a INT>", "[\"<\",\"a\",500000]", rounds);
    bench_filter("ROW<a BIGINT>", "[\"between\",\"a\",1000,500000]", rounds);
    bench_filter("ROW<a DOUBLE>", "[\">\",\"a\",500]", rounds);
    bench_filter("ROW<a STRING>", "[\"=\",\"a\",\"name-12345\"]", rounds);
    bench_filter("ROW<a STRING>", "[\"in\",\"a\",[\"name-1\",\"name-2\"]]", rounds);
    bench_filter("ROW<a STRING>", "[\"like\",\"a\",\"%99%\"]", rounds);
    bench_filter("ROW<a INT>", "[\"or\",[\"<\",\"a\",100],[\">\",\"a\",900000]]", rounds);
    return 0;
}
