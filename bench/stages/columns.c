/* Loops over columns: gathering, joining, filtering, printing and reading. Everything lies in the caches, as it does in a merge. */
#include <stdio.h>

#include "stage.h"
#include "types/predicate.h"
#include "types/text.h"

#define SRCS 8

typedef struct work {
    const tl_type *type;
    tl_column *srcs[SRCS];
    tl_rowref refs[STAGE_ROWS];
    uint32_t idx[STAGE_ROWS];
    uint32_t sel[STAGE_ROWS];
    tl_predicate *pred;
    const tl_json *json;
    tl_builder *builder;
    tl_buf buf;
} work;

static void gather_multi(void *ctx)
{
    work *w = ctx;
    tl_column *out;
    check(tl_column_gather_multi(w->type, (const tl_column *const *)w->srcs, w->refs, STAGE_ROWS, &out, &err));
    tl_column_unref(out);
}

static void gather(void *ctx)
{
    work *w = ctx;
    tl_column *out;
    check(tl_column_gather(w->srcs[0], w->idx, STAGE_ROWS, &out, &err));
    tl_column_unref(out);
}

static void concat(void *ctx)
{
    work *w = ctx;
    tl_column *out;
    check(tl_column_concat(w->type, (const tl_column *const *)w->srcs, SRCS, &out, &err));
    tl_column_unref(out);
}

static void filter(void *ctx)
{
    work *w = ctx;
    int64_t n;
    check(tl_predicate_eval(w->pred, (const tl_column *const *)w->srcs, STAGE_ROWS, w->sel, &n, &err));
}

static void print(void *ctx)
{
    work *w = ctx;
    w->buf.len = 0;
    for (int i = 0; i < STAGE_ROWS; i++)
        check(tl_text_append_json(&w->buf, w->srcs[0], i));
}

static void read(void *ctx)
{
    work *w = ctx;
    for (const tl_json *node = w->json->child; node != NULL; node = node->next)
        check(tl_text_read_json(node, w->type, w->builder, &err));
    tl_builder_truncate(w->builder, 0);
}

/* The JSON of a column as one list. */
static void make_json(work *w, tl_arena *arena)
{
    tl_buf text = {0};
    for (int i = 0; i < STAGE_ROWS; i++) {
        check(tl_buf_append_byte(&text, i == 0 ? '[' : ','));
        check(tl_text_append_json(&text, w->srcs[0], i));
    }
    check(tl_buf_append_byte(&text, ']'));
    check(tl_json_parse(arena, (tl_bytes_view){text.data, text.len}, &w->json, &err));
    check(tl_builder_create(w->type, &w->builder, &err));
}

static void of_type(const char *type_text, int null_percent)
{
    static work w;
    char what[64];
    tl_arena arena = {0};
    uint32_t at[SRCS] = {0};
    snprintf(what, sizeof what, "%s%s", type_text, null_percent > 0 ? ", a fifth NULL" : "");
    w = (work){.type = type_of(type_text)};
    for (int s = 0; s < SRCS; s++)
        w.srcs[s] = make_column(w.type, (values){.null_percent = null_percent}, s * STAGE_ROWS, STAGE_ROWS);
    for (int i = 0; i < STAGE_ROWS; i++) {
        uint32_t s = (uint32_t)(mix((uint64_t)i) % SRCS);
        w.refs[i] = (tl_rowref){s, at[s]++}; /* as a merge of sorted runs gives them */
        w.idx[i] = (uint32_t)(mix((uint64_t)i) % STAGE_ROWS);
    }
    int64_t bytes = tl_column_bytes(w.srcs[0]);
    make_json(&w, &arena);
    stage_run("gather runs", what, gather_multi, &w, STAGE_ROWS, bytes);
    stage_run("gather", what, gather, &w, STAGE_ROWS, bytes);
    stage_run("concat", what, concat, &w, STAGE_ROWS * SRCS, bytes * SRCS);
    stage_run("print JSON", what, print, &w, STAGE_ROWS, bytes);
    stage_run("read JSON", what, read, &w, STAGE_ROWS, (int64_t)w.json->raw.len);
    for (int s = 0; s < SRCS; s++)
        tl_column_unref(w.srcs[s]);
    tl_builder_free(w.builder);
    tl_buf_deinit(&w.buf);
    tl_type_unref(w.type);
    tl_arena_deinit(&arena);
}

static void of_filter(const char *row_text, const char *filter_json)
{
    static work w;
    tl_arena arena = {0};
    w = (work){.type = type_of(row_text)};
    w.srcs[0] = make_column(w.type->fields[0].type, (values){0}, 0, STAGE_ROWS);
    check(tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)filter_json, strlen(filter_json)}, &w.json, &err));
    check(tl_predicate_from_json(w.json, w.type, &w.pred, &err));
    stage_run("filter", filter_json, filter, &w, STAGE_ROWS, tl_column_bytes(w.srcs[0]));
    tl_predicate_free(w.pred);
    tl_column_unref(w.srcs[0]);
    tl_type_unref(w.type);
    tl_arena_deinit(&arena);
}

void stage_columns(void)
{
    static const char *const types[] = {"INT", "BIGINT", "DOUBLE", "DECIMAL(30, 2)", "STRING", "TIMESTAMP(3)", "ARRAY<INT>"};
    for (size_t t = 0; t < TL_ARRAY_LEN(types); t++)
        for (int nulls = 0; nulls <= 20; nulls += 20)
            of_type(types[t], nulls);
    of_filter("ROW<a INT>", "[\"<\",\"a\",1000000000]");
    of_filter("ROW<a BIGINT>", "[\"between\",\"a\",1000,5000000000000000]");
    of_filter("ROW<a DOUBLE>", "[\">\",\"a\",500000]");
    of_filter("ROW<a STRING>", "[\"=\",\"a\",\"a text 0123456789abcdef\"]");
    of_filter("ROW<a STRING>", "[\"in\",\"a\",[\"name-1\",\"name-2\"]]");
    of_filter("ROW<a STRING>", "[\"like\",\"a\",\"%99%\"]");
    of_filter("ROW<a INT>", "[\"or\",[\"<\",\"a\",100],[\">\",\"a\",1900000000]]");
}
