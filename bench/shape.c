/*
 * How the cost of a row depends on the shape of a table: rows of any number of columns, made in memory, are upserted, read,
 * compacted and read again.
 *
 *   bench_shape wh=FOLDER KEY=VALUE…
 *
 * rows, keys (how many different ones), key_bytes (8: BIGINT, more: STRING), columns (beside the key), buckets, commits,
 * threads, values (mixed, nulls: nine of ten; dictionary: 100 different; random: incompressible), order (random, sorted, hot:
 * nine of ten rows are of one key in a hundred). A JSON line for each step; what making the rows costs has been taken off
 * "user".
 */
#include <stdlib.h>
#include <string.h>

#include <tidelake/tidelake.h>

#include "measure.h"
#include "mix.h"
#include "words.h"

#define BATCH_ROWS 8192
#define MAX_COLUMNS 1024
#define TEXT_BYTES 20

typedef enum { MIXED, NULLS, DICTIONARY, RANDOM } values_kind;
typedef enum { ANYHOW, SORTED, HOT } order_kind;

typedef struct shape {
    int64_t rows;
    int64_t keys;
    int key_bytes;
    int columns;
    values_kind values;
    order_kind order;
} shape;

/* ---- schema: the key k, then c0 INT, c1 STRING, c2 DOUBLE, c3 BIGINT, c4 INT … ---- */

static const char *const sql_types[] = {"INT", "STRING", "DOUBLE", "BIGINT"};
static const char *const arrow_types[] = {"i", "u", "g", "l"};
static const int widths[] = {4, 0, 8, 8};

static char *schema_json(const shape *s, int buckets)
{
    char *json = malloc(256 + (size_t)s->columns * 48);
    int at = sprintf(json, "{\"columns\":[{\"name\":\"k\",\"type\":\"%s NOT NULL\"}", s->key_bytes == 8 ? "BIGINT" : "STRING");
    for (int c = 0; c < s->columns; c++)
        at += sprintf(json + at, ",{\"name\":\"c%d\",\"type\":\"%s\"}", c, sql_types[c % 4]);
    sprintf(json + at, "],\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"%d\"}}", buckets);
    return json;
}

static void release_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static const struct ArrowSchema *arrow_schema(const shape *s)
{
    static struct ArrowSchema root, children[MAX_COLUMNS + 1], *pointers[MAX_COLUMNS + 1];
    static char names[MAX_COLUMNS][8];
    children[0] = (struct ArrowSchema){.format = s->key_bytes == 8 ? "l" : "u", .name = "k", .release = release_schema};
    for (int c = 0; c < s->columns; c++) {
        snprintf(names[c], sizeof names[c], "c%d", c);
        children[c + 1] = (struct ArrowSchema){
            .format = arrow_types[c % 4], .name = names[c], .flags = ARROW_FLAG_NULLABLE, .release = release_schema};
    }
    for (int c = 0; c <= s->columns; c++)
        pointers[c] = &children[c];
    root = (struct ArrowSchema){
        .format = "+s", .name = "", .n_children = s->columns + 1, .children = pointers, .release = release_schema};
    return &root;
}

/* ---- rows ---- */

typedef struct memory {
    uint8_t *block;
    uint8_t *next;
    struct ArrowArray children[MAX_COLUMNS + 1];
    struct ArrowArray *pointers[MAX_COLUMNS + 1];
    const void *buffers[MAX_COLUMNS + 1][3];
    const void *none[1];
} memory;

static void release_column(struct ArrowArray *array)
{
    array->release = NULL;
}

static void release_rows(struct ArrowArray *array)
{
    memory *m = array->private_data;
    free(m->block);
    free(m);
    array->release = NULL;
}

static void *cut(memory *m, size_t bytes)
{
    void *piece = m->next;
    m->next += (bytes + 63) & ~(size_t)63;
    return piece;
}

static uint64_t key_of(const shape *s, int64_t row)
{
    uint64_t h = mix((uint64_t)row), keys = (uint64_t)s->keys;
    if (s->order == SORTED)
        return (uint64_t)row * keys / (uint64_t)s->rows;
    if (s->order == HOT && h % 10 != 0)
        return (h >> 8) % (keys / 100 + 1);
    return (h >> 8) % keys;
}

/* Ten letters of each 64 bits. */
static void letters(char *to, int n, uint64_t h)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (int i = 0; i < n; i++) {
        if (i % 10 == 0)
            h = mix(h);
        to[i] = alphabet[h >> (6 * (i % 10)) & 63];
    }
}

static void key_column(const shape *s, memory *m, int64_t from, int64_t n, const void **buffers)
{
    if (s->key_bytes == 8) {
        int64_t *to = cut(m, (size_t)n * 8);
        buffers[1] = to;
        for (int64_t i = 0; i < n; i++)
            to[i] = (int64_t)key_of(s, from + i);
        return;
    }
    int32_t *ends = cut(m, (size_t)(n + 1) * 4);
    char *to = cut(m, (size_t)n * (size_t)s->key_bytes);
    buffers[1] = ends;
    buffers[2] = to;
    ends[0] = 0;
    for (int64_t i = 0; i < n; i++, to += s->key_bytes) {
        memset(to, 'k', (size_t)s->key_bytes); /* keys share a long beginning, as keys of this length do */
        letters(to + s->key_bytes - 10, 10, key_of(s, from + i));
        ends[i + 1] = ends[i] + s->key_bytes;
    }
}

static uint64_t value_of(const shape *s, int64_t row, int column)
{
    uint64_t h = mix((uint64_t)row * 1031 + (uint64_t)column);
    return s->values == DICTIONARY ? h % 100 : s->values == RANDOM ? h : h % 1000000;
}

static int64_t null_bits(const shape *s, memory *m, int64_t from, int64_t n, int column, const void **buffers)
{
    if (s->values != NULLS)
        return 0;
    uint8_t *bits = cut(m, (size_t)(n + 7) / 8);
    int64_t nulls = 0;
    memset(bits, 0, (size_t)(n + 7) / 8);
    for (int64_t i = 0; i < n; i++) {
        int there = mix((uint64_t)(from + i) * 7 + (uint64_t)column) % 10 == 0;
        bits[i / 8] |= (uint8_t)(there << (i % 8));
        nulls += !there;
    }
    buffers[0] = bits;
    return nulls;
}

static void value_column(const shape *s, memory *m, int64_t from, int64_t n, int column, const void **buffers)
{
    if (widths[column % 4] == 4) {
        int32_t *to = cut(m, (size_t)n * 4);
        buffers[1] = to;
        for (int64_t i = 0; i < n; i++)
            to[i] = (int32_t)value_of(s, from + i, column);
    } else if (widths[column % 4] == 8) {
        uint64_t *to = cut(m, (size_t)n * 8);
        buffers[1] = to;
        for (int64_t i = 0; i < n; i++) {
            uint64_t v = value_of(s, from + i, column);
            double d = (double)v / 100;
            memcpy(&to[i], column % 4 == 2 ? (const void *)&d : (const void *)&v, 8);
        }
    } else {
        int32_t *ends = cut(m, (size_t)(n + 1) * 4);
        char *to = cut(m, (size_t)n * TEXT_BYTES);
        buffers[1] = ends;
        buffers[2] = to;
        ends[0] = 0;
        for (int64_t i = 0; i < n; i++) {
            letters(to + ends[i], TEXT_BYTES, value_of(s, from + i, column));
            ends[i + 1] = ends[i] + TEXT_BYTES;
        }
    }
}

static void make_rows(const shape *s, int64_t from, int64_t n, struct ArrowArray *out)
{
    memory *m = calloc(1, sizeof *m);
    size_t row = (size_t)s->key_bytes + 4 + (size_t)s->columns * (TEXT_BYTES + 5);
    m->block = m->next = aligned_alloc(64, ((size_t)n * row + (size_t)(s->columns + 1) * 256 + 127) & ~(size_t)63);
    for (int c = 0; c <= s->columns; c++) {
        const void **buffers = m->buffers[c];
        int64_t nulls = c == 0 ? 0 : null_bits(s, m, from, n, c - 1, buffers);
        if (c == 0)
            key_column(s, m, from, n, buffers);
        else
            value_column(s, m, from, n, c - 1, buffers);
        m->children[c] = (struct ArrowArray){.length = n, .null_count = nulls, .buffers = buffers, .release = release_column};
        m->children[c].n_buffers = buffers[2] == NULL ? 2 : 3;
        m->pointers[c] = &m->children[c];
    }
    *out = (struct ArrowArray){.length = n,
                               .n_buffers = 1,
                               .buffers = m->none,
                               .n_children = s->columns + 1,
                               .children = m->pointers,
                               .release = release_rows,
                               .private_data = m};
}

/* ---- steps ---- */

static void upsert(const shape *s, tidelake_table *table, int commits, int threads)
{
    tidelake_write_options options = TIDELAKE_WRITE_INIT;
    tidelake_writer *writer;
    options.threads = threads > 1 ? threads : -1;
    check(tidelake_writer_open(table, &options, &writer, &err));
    for (int k = 0; k < commits; k++) {
        int64_t to = s->rows * (k + 1) / commits;
        for (int64_t from = s->rows * k / commits; from < to; from += BATCH_ROWS) {
            struct ArrowArray rows;
            make_rows(s, from, to - from < BATCH_ROWS ? to - from : BATCH_ROWS, &rows);
            check(tidelake_writer_write(writer, &rows, arrow_schema(s), NULL, &err));
        }
        check(tidelake_writer_commit(writer, NULL, NULL, &err));
    }
    tidelake_writer_close(writer);
}

static double making(const shape *s)
{
    measure start = measure_start();
    for (int64_t from = 0; from < s->rows; from += BATCH_ROWS) {
        struct ArrowArray rows;
        make_rows(s, from, s->rows - from < BATCH_ROWS ? s->rows - from : BATCH_ROWS, &rows);
        rows.release(&rows);
    }
    return measure_start().user - start.user;
}

static int64_t read_all(tidelake_table *table, int threads)
{
    tidelake_read_options options = TIDELAKE_READ_INIT;
    tidelake_rows *rows;
    int64_t n = 0;
    options.threads = threads;
    check(tidelake_read(table, &options, &rows, &err));
    for (;;) {
        tidelake_batch *batch;
        check(tidelake_rows_next(rows, &batch, &err));
        if (batch == NULL)
            break;
        n += tidelake_batch_rows(batch);
        tidelake_batch_free(batch);
    }
    tidelake_rows_free(rows);
    return n;
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"mixed", "nulls", "dictionary", "random"}, *const orders[] = {"random", "sorted",
                                                                                                      "hot"};
    words_init("bench_shape", argv + (argc > 0));
    shape s = {
        .rows = number("rows", 1000000), .key_bytes = (int)number("key_bytes", 8), .columns = (int)number("columns", 10)};
    s.keys = number("keys", s.rows * 2 / 5);
    s.values = (values_kind)one_of("values", kinds, 4);
    s.order = (order_kind)one_of("order", orders, 3);
    if (s.rows < 1 || s.keys < 1 || s.columns < 0 || s.columns > MAX_COLUMNS || (s.key_bytes != 8 && s.key_bytes < 10)) {
        fprintf(stderr, "bench_shape: rows and keys from 1, columns to %d, key_bytes 8 or from 10\n", MAX_COLUMNS);
        return 2;
    }
    int threads = (int)number("threads", 1);
    tidelake_lake *lake;
    tidelake_table *table;
    char *json = schema_json(&s, (int)number("buckets", 4));
    check(tidelake_open(arg("wh", "."), &lake, &err));
    check(tidelake_drop_table(lake, "b.shape", 1, &err));
    check(tidelake_create_table(lake, "b.shape", json, 0, &err));
    free(json);
    double made = making(&s);
    measure start = measure_start();
    start.user += made;
    check(tidelake_table_open(lake, "b.shape", NULL, 0, &table, &err));
    upsert(&s, table, (int)number("commits", 10), threads);
    measure_done(&start, "shape", "upsert", 0, ",\"rows\":%lld", (long long)s.rows);
    start = measure_start();
    int64_t live = read_all(table, threads);
    measure_done(&start, "shape", "read", 0, ",\"rows\":%lld", (long long)live);
    start = measure_start();
    check(tidelake_compact(table, "bench", 1, threads > 1 ? threads : 0, NULL, &err));
    measure_done(&start, "shape", "full compaction", 0, ",\"rows\":%lld", (long long)live);
    start = measure_start();
    int64_t again = read_all(table, threads);
    measure_done(&start, "shape", "read compacted", 0, ",\"rows\":%lld", (long long)again);
    tidelake_table_close(table);
    tidelake_close(lake);
    if (again != live) {
        fprintf(stderr, "bench_shape: %lld rows before compaction, %lld after\n", (long long)live, (long long)again);
        return 1;
    }
    return 0;
}
