/*
 * Benchmark of buckets, without table and commit: the shared benchmark's order-status stream (15 columns, about 110 bytes a
 * row, keys at random) and its wide stream (30 columns, two sequence groups), split over 4 buckets.
 *
 *   bench_buckets DIR WORK [ROWS [KEYS [COMMITS]]]
 *
 * WORK: write-only, compacting, full (write-only, then a full compaction), read (write-only, then reads before and after it),
 * lookup, full-changelog, none (as lookup but without a changelog), partial, spill (write-only with a small buffer).
 * Times are of the calls alone: making rows and splitting them is not counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "../mix.h"
#include "lsm/lsm_private.h"
#include "types/binary_row.h"

#define BUCKETS 4
#define BATCH_ROWS 8192

static tl_error err;

static void check(tl_status status)
{
    if (status != TL_OK) {
        fprintf(stderr, "bench_buckets: %s\n", err.message);
        exit(1);
    }
}

/* ---- clock ---- */

typedef struct span {
    double user;
    double wall;
} span;

static span now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (span){(double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6, (double)tl_monotonic_ns() / 1e9};
}

static void add_since(span *total, span start)
{
    span end = now();
    total->user += end.user - start.user;
    total->wall += end.wall - start.wall;
}

static void report(const char *what, span s, int64_t rows)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%-34s %8.2f s user %8.2f s wall %8.2f us/row user %6ld MB peak\n", what, s.user, s.wall,
           s.user * 1e6 / (double)rows, usage.ru_maxrss / 1024);
    fflush(stdout);
}

/* ---- rows ---- */

typedef void (*fill_fn)(tl_builder **b, uint64_t row, uint64_t keys);

static void add_text(tl_builder *b, size_t len, uint64_t hash)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char text[64];
    for (size_t i = 0; i < len; i++) {
        if (i % 10 == 0)
            hash = mix(hash + i);
        text[i] = alphabet[hash >> (6 * (i % 10)) & 63];
    }
    (void)tl_builder_bytes(b, text, len);
}

static void fill_order(tl_builder **b, uint64_t row, uint64_t keys)
{
    static const char *const names[] = {"created",   "paid",   "assigned",  "picked_up",
                                        "delivered", "closed", "cancelled", "refunded"};
    uint64_t h = mix(row * 4), h2 = mix(h), h3 = mix(h2), k = h % keys, hk = mix(k * 3 + 1);
    const char *name = names[h2 >> 40 & 7];
    char text[32];
    (void)tl_builder_int(b[0], (int64_t)k);
    (void)tl_builder_int(b[1], (int64_t)(hk % 200));
    (void)tl_builder_bytes(b[2], name, strlen(name));
    (void)tl_builder_bytes(b[3], text, (size_t)snprintf(text, sizeof text, "broker_%05d", (int)((hk >> 20) % 10000)));
    (void)tl_builder_int(b[4], (int64_t)(100 + h2 % 9999900));
    (void)tl_builder_int(b[5], INT64_C(1760000000000) + (int64_t)row * 20 + (int64_t)(h2 >> 60));
    add_text(b[6], 32 + (size_t)((h2 >> 50) % 17), h3);
    for (int i = 0; i < 8; i++) {
        uint64_t x = h3 >> (8 * i) & 255;
        (void)(x < 77 ? tl_builder_null(b[7 + i]) : tl_builder_int(b[7 + i], (int64_t)(x - 77) % 100));
    }
}

/* k, then per stream: seq, 6 INT, 3 BIGINT, 3 DOUBLE, 2 STRING less one: 30 columns with a second key-like column. */
static void fill_wide(tl_builder **b, uint64_t row, uint64_t keys)
{
    uint64_t h = mix(row * 4), h2 = mix(h);
    int stream = (int)(row & 1);
    (void)tl_builder_int(b[0], (int64_t)((h >> 1) % keys));
    for (int s = 0; s < 2; s++) {
        tl_builder **c = b + 1 + s * 15;
        if (s != stream) {
            for (int i = 0; i < 15; i++)
                (void)tl_builder_null(c[i]);
            continue;
        }
        (void)tl_builder_int(c[0], (int64_t)row - (int64_t)(h2 % 1000));
        for (int i = 0; i < 6; i++)
            (void)tl_builder_int(c[1 + i], (int64_t)(mix(h + (uint64_t)i) % 1000000));
        for (int i = 0; i < 3; i++)
            (void)tl_builder_int(c[7 + i], (int64_t)(mix(h2 + (uint64_t)i) >> 20));
        for (int i = 0; i < 3; i++)
            (void)tl_builder_f64(c[10 + i], (double)(mix(h2 + 9 + (uint64_t)i) % 100000) / 100);
        for (int i = 0; i < 2; i++)
            add_text(c[13 + i], 12 + (size_t)((h2 >> (8 * i)) % 13), h2 + 77 + (uint64_t)i);
    }
}

/* ---- the table ---- */

typedef struct table {
    tl_fs *fs;
    tl_lsm_config *config;
    tl_pool *pool;
    tl_bucket_writer *writers[BUCKETS];
    tl_file_list live[BUCKETS];
    fill_fn fill;
    uint64_t next_row;
    uint64_t keys;
    span spent;
    int64_t rows;
    size_t changelog_files;
} table;

#define NO_PARTITION ((tl_bytes_view){(const uint8_t[12]){0}, 12})

static void json_field(tl_buf *json, int id, const char *name, const char *type)
{
    (void)tl_buf_appendf(json, "%s{\"id\":%d,\"name\":\"%s\",\"type\":\"%s\"}", id == 0 ? "" : ",", id, name, type);
}

static void order_fields(tl_buf *json)
{
    static const char *const fields[][2] = {{"order_id", "BIGINT NOT NULL"},
                                            {"city", "INT"},
                                            {"status", "STRING"},
                                            {"broker", "STRING"},
                                            {"amount", "DECIMAL(12, 2)"},
                                            {"updated_at", "TIMESTAMP(3)"},
                                            {"note", "STRING"}};
    char name[16];
    for (int i = 0; i < 15; i++) {
        snprintf(name, sizeof name, "label%d", i - 7);
        json_field(json, i, i < 7 ? fields[i][0] : name, i < 7 ? fields[i][1] : "INT");
    }
}

static void wide_fields(tl_buf *json)
{
    static const char *const types[] = {"BIGINT", "INT",    "INT",    "INT",    "INT",    "INT",    "INT",   "BIGINT",
                                        "BIGINT", "BIGINT", "DOUBLE", "DOUBLE", "DOUBLE", "STRING", "STRING"};
    char name[16];
    json_field(json, 0, "k", "BIGINT NOT NULL");
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "%c%d", 'a' + i / 15, i % 15);
        json_field(json, i + 1, name, types[i % 15]);
    }
}

static void open_table(table *t, const char *dir, const char *options, bool wide)
{
    tl_buf json = {0};
    tl_table_schema *schema = NULL;
    tl_paths paths = {.table = dir};
    (void)tl_buf_append_str(&json, "{\"version\":3,\"id\":0,\"fields\":[");
    (wide ? wide_fields : order_fields)(&json);
    (void)tl_buf_appendf(&json, "],\"highestFieldId\":40,\"partitionKeys\":[],\"primaryKeys\":[\"%s\"],\"options\":{%s}}",
                         wide ? "k" : "order_id", options);
    check(tl_table_schema_parse((tl_bytes_view){json.data, json.len}, &schema, &err));
    check(tl_fs_local(&t->fs, &err));
    check(tl_fs_remove_all(t->fs, dir, &err));
    check(tl_lsm_config_create(t->fs, &paths, schema, &t->config, &err));
    t->fill = wide ? fill_wide : fill_order;
    tl_table_schema_unref(schema);
    tl_buf_deinit(&json);
}

static void open_writers(table *t)
{
    for (int b = 0; b < BUCKETS; b++)
        check(tl_bucket_writer_create(t->config, NO_PARTITION, b, BUCKETS, t->live[b].items, t->live[b].n, t->pool,
                                      &t->writers[b], &err));
}

static void close_writers(table *t)
{
    for (int b = 0; b < BUCKETS; b++)
        tl_bucket_writer_free(TL_STEAL(t->writers[b]));
}

static void apply(table *t, int b, tl_commit_message *msg)
{
    tl_file_list *live = &t->live[b];
    check(tl_lsm__list_add_all(live, &msg->new_files, &err));
    for (size_t i = 0; i < msg->compact_before.n; i++) {
        for (size_t j = 0; j < live->n; j++) {
            if (strcmp(live->items[j]->name, msg->compact_before.items[i]->name) == 0 &&
                live->items[j]->level == msg->compact_before.items[i]->level) {
                tl_lsm__list_remove_at(live, j);
                break;
            }
        }
    }
    check(tl_lsm__list_add_all(live, &msg->compact_after, &err));
    t->changelog_files += msg->compact_changelog.n;
    tl_commit_message_deinit(msg);
}

static tl_batch *make_batch(table *t, int64_t n)
{
    const tl_type *type = t->config->schema->row_type;
    tl_builder *builders[64];
    tl_batch *batch = NULL;
    for (int32_t c = 0; c < type->n_fields; c++)
        check(tl_builder_create(type->fields[c].type, &builders[c], &err));
    for (int64_t i = 0; i < n; i++)
        t->fill(builders, t->next_row++, t->keys);
    check(tl_batch_create(type, n, &batch, &err));
    for (int32_t c = 0; c < type->n_fields; c++) {
        check(tl_builder_finish(builders[c], &batch->cols[c], &err));
        tl_builder_free(builders[c]);
    }
    return batch;
}

static void write_batch(table *t, const tl_batch *batch)
{
    int32_t buckets[BATCH_ROWS];
    const tl_column *key = batch->cols[0];
    check(tl_bucket_assign(TL_BUCKET_DEFAULT, &key, 1, batch->n_rows, BUCKETS, buckets, &err));
    for (int b = 0; b < BUCKETS; b++) {
        uint32_t rows[BATCH_ROWS];
        int64_t n = 0;
        tl_batch *part = NULL;
        for (int64_t i = 0; i < batch->n_rows; i++) {
            if (buckets[i] == b)
                rows[n++] = (uint32_t)i;
        }
        check(tl_batch_gather(batch, rows, n, &part, &err));
        span start = now();
        check(tl_bucket_writer_write(t->writers[b], part, &err));
        add_since(&t->spent, start);
        tl_batch_free(part);
    }
}

static void commit_rows(table *t, int64_t rows, bool full)
{
    for (int64_t done = 0; done < rows; done += BATCH_ROWS) {
        tl_batch *batch = make_batch(t, TL_MIN(BATCH_ROWS, rows - done));
        write_batch(t, batch);
        tl_batch_free(batch);
    }
    span start = now();
    for (int b = 0; b < BUCKETS; b++) {
        tl_commit_message msg;
        if (full)
            check(tl_bucket_writer_compact(t->writers[b], true, &err));
        check(tl_bucket_writer_prepare(t->writers[b], true, &msg, &err));
        apply(t, b, &msg);
    }
    add_since(&t->spent, start);
    t->rows += rows;
}

/* ---- works ---- */

static void compact_all(table *t)
{
    span spent = {0};
    int64_t rows = 0;
    span start = now();
    for (int b = 0; b < BUCKETS; b++) {
        tl_commit_message msg;
        for (size_t i = 0; i < t->live[b].n; i++)
            rows += t->live[b].items[i]->rows;
        check(tl_bucket_writer_compact(t->writers[b], true, &err));
        check(tl_bucket_writer_prepare(t->writers[b], true, &msg, &err));
        apply(t, b, &msg);
    }
    add_since(&spent, start);
    report("full compaction (rows read)", spent, rows);
}

static void read_all(table *t, const char *what, const int32_t *columns, int32_t n)
{
    span spent = {0};
    int64_t rows = 0, bytes = 0;
    span start = now();
    for (int b = 0; b < BUCKETS; b++) {
        tl_bucket_read_spec spec = {.columns = columns, .n_columns = n};
        tl_reader *reader = NULL;
        check(tl_bucket_read(t->config, NO_PARTITION, b, t->live[b].items, t->live[b].n, &spec, &reader, &err));
        for (;;) {
            tl_batch *batch = NULL;
            check(tl_reader_next(reader, &batch, &err));
            if (batch == NULL)
                break;
            rows += batch->n_rows;
            bytes += tl_batch_bytes(batch);
            tl_batch_free(batch);
        }
        tl_reader_free(reader);
    }
    add_since(&spent, start);
    report(what, spent, rows);
    printf("    %lld rows, %lld bytes\n", (long long)rows, (long long)bytes);
}

static void read_both(table *t, const char *all, const char *three)
{
    static const int32_t columns[] = {0, 1, 4};
    read_all(t, all, NULL, 0);
    read_all(t, three, columns, 3);
}

static const struct work {
    const char *name;
    const char *options;
    bool wide;
} works[] = {
    {"write-only", "\"bucket\":\"4\",\"write-only\":\"true\"", false},
    {"compacting", "\"bucket\":\"4\"", false},
    {"full", "\"bucket\":\"4\",\"num-sorted-run.compaction-trigger\":\"1000\",\"num-levels\":\"6\"", false},
    {"read", "\"bucket\":\"4\",\"num-sorted-run.compaction-trigger\":\"1000\",\"num-levels\":\"6\"", false},
    {"lookup", "\"bucket\":\"4\",\"changelog-producer\":\"lookup\"", false},
    {"full-changelog", "\"bucket\":\"4\",\"changelog-producer\":\"full-compaction\"", false},
    {"none", "\"bucket\":\"4\"", false},
    {"partial",
     "\"bucket\":\"4\",\"merge-engine\":\"partial-update\",\"fields.a0.sequence-group\":\"a1,a2,a3,a4,a5,a6,a7,a8,a9,a10,a11,"
     "a12,a13,a14\","
     "\"fields.b0.sequence-group\":\"b1,b2,b3,b4,b5,b6,b7,b8,b9,b10,b11,b12,b13,b14\"",
     true},
    {"spill", "\"bucket\":\"4\",\"write-only\":\"true\",\"write-buffer-size\":\"8 mb\"", false},
};

static const struct work *find_work(const char *name)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(works); i++) {
        if (strcmp(works[i].name, name) == 0)
            return &works[i];
    }
    fprintf(stderr, "bench_buckets: unknown work '%s'\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: bench_buckets DIR WORK [ROWS [KEYS [COMMITS]]]\n");
        return 2;
    }
    const struct work *work = find_work(argv[2]);
    int64_t rows = argc > 3 ? atoll(argv[3]) : 5000000, keys = argc > 4 ? atoll(argv[4]) : 2000000;
    int64_t commits = argc > 5 ? atoll(argv[5]) : 10;
    table t = {.keys = (uint64_t)keys};
    open_table(&t, argv[1], work->options, work->wide);
    open_writers(&t);
    for (int64_t c = 0; c < commits; c++)
        commit_rows(&t, rows / commits, /* full= */ false);
    int64_t bytes = 0, files = 0;
    for (int b = 0; b < BUCKETS; b++) {
        bytes += tl_lsm__list_bytes(&t.live[b]);
        files += (int64_t)t.live[b].n;
    }
    report(work->name, t.spent, t.rows);
    printf("    %lld files, %lld MB live, %zu changelog files\n", (long long)files, (long long)(bytes >> 20),
           t.changelog_files);
    if (strcmp(work->name, "read") == 0)
        read_both(&t, "read before, all columns", "read before, 3 columns");
    if (strcmp(work->name, "read") == 0 || strcmp(work->name, "full") == 0)
        compact_all(&t);
    if (strcmp(work->name, "read") == 0)
        read_both(&t, "read after, all columns", "read after, 3 columns");
    close_writers(&t);
    for (int b = 0; b < BUCKETS; b++)
        tl_file_list_deinit(&t.live[b]);
    tl_lsm_config_unref(t.config);
    tl_fs_unref(t.fs);
    return 0;
}
