/*
 * Tidelake as a peer of the benchmark: the same work as java/Bench.java, through the public API with default options.
 *
 *   tidelake bench upsert|compact|scan|changelog|small|lookup|first|decode KEY=VALUE…
 *
 * Keys: data (record file), wh (warehouse), table (in database b), kind (orders, wide), pk (true, false), commits, threads,
 * each (true: every one of the threads reads splits and consumes them itself, as operators of an engine do, and as the Java program does),
 * opts (table options: a=b;c=d), cols (all, 3, pred; city, note: a filter on that column, the note of a row of data), skip (commits
 * that the table of `small` has already), what (row, count), n, keys, batch, passes (cold, warm), tier and memory_mb (of look-ups),
 * wait (all: every commit of `upsert` waits for its compactions; else the last), w and variant (printed), reps. For each repetition
 * one JSON line is printed. With one thread everything happens inside the calls; `small` has the default, a thread for compactions,
 * and waits for none.
 */
#include <ftw.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tidelake/tidelake.h>

#include "measure.h"
#include "records.h"
#include "words.h"

#define BATCH_ROWS 8192

static const char *table_name(const char *suffix)
{
    static char name[256];
    snprintf(name, sizeof name, "b.%s%s", arg("table", "t"), suffix);
    return name;
}

static const char *table_dir(const char *suffix)
{
    static char dirs[2][4096];
    static int turn;
    char *dir = dirs[turn ^= 1];
    snprintf(dir, sizeof dirs[0], "%s/b.db/%s%s", arg("wh", "."), arg("table", "t"), suffix);
    return dir;
}

static tidelake_lake *open_lake(void)
{
    tidelake_lake *lake;
    check(tidelake_open(arg("wh", "."), &lake, &err));
    return lake;
}

static int is_wide(void)
{
    return strcmp(arg("kind", "orders"), "wide") == 0;
}

/* ---- writing ---- */

/* The options that every table of the benchmark has, then the words of opts=, as JSON. */
static void make_table(tidelake_lake *lake, int pk)
{
    char options[2048], given[1024], *rest = NULL;
    size_t at = (size_t)snprintf(options, sizeof options, ",\"file.compression\":\"zstd\"");
    snprintf(given, sizeof given, ";%s", arg("opts", ""));
    if (strstr(given, ";bucket=") == NULL)
        at += (size_t)snprintf(options + at, sizeof options - at, ",\"bucket\":\"%s\"", pk ? "4" : "-1");
    for (char *pair = strtok_r(given, ";", &rest); pair != NULL; pair = strtok_r(NULL, ";", &rest)) {
        char *value = strchr(pair, '=');
        if (value == NULL)
            continue;
        *value++ = 0;
        at += (size_t)snprintf(options + at, sizeof options - at, ",\"%s\":\"%s\"", pair, value);
    }
    check(tidelake_drop_table(lake, table_name(""), 1, &err));
    check(tidelake_create_table(lake, table_name(""), records_schema_json(is_wide(), pk, options), 0, &err));
}

static void write_rows(tidelake_writer *writer, const records *r, int64_t from, int64_t to)
{
    for (int64_t n; from < to; from += n) {
        struct ArrowArray batch;
        n = to - from < BATCH_ROWS ? to - from : BATCH_ROWS;
        records_batch(r, from, n, &batch);
        check(tidelake_writer_write(writer, &batch, records_arrow_schema(r->wide), NULL, &err));
    }
}

typedef enum waiting { WAIT_DEFAULT, WAIT_LAST, WAIT_ALL } waiting;

/* Rows [from, from + rows) of the input in `commits` commits, and the seconds spent in each. */
static void load(tidelake_table *table, const records *r, int64_t from, int64_t rows, int commits, int threads, waiting wait, double *latencies)
{
    tidelake_write_options options = TIDELAKE_WRITE_INIT;
    tidelake_writer *writer;
    tidelake_commit_options commit = TIDELAKE_COMMIT_INIT;
    options.threads = threads == 1 ? -1 : threads;
    check(tidelake_writer_open(table, &options, &writer, &err));
    for (int i = 0; i < commits; i++) {
        double start = measure_now();
        write_rows(writer, r, from + rows * i / commits, from + rows * (i + 1) / commits);
        commit.wait_compaction = wait == WAIT_DEFAULT ? 0 : wait == WAIT_ALL || i + 1 == commits ? 1 : -1;
        check(tidelake_writer_commit(writer, &commit, NULL, &err));
        if (latencies != NULL)
            latencies[i] = measure_now() - start;
    }
    tidelake_writer_close(writer);
}

static void upsert(void)
{
    records r = records_open(arg("data", ""), is_wide());
    int pk = strcmp(arg("pk", "true"), "true") == 0;
    for (int rep = 0; rep < number("reps", 3); rep++) {
        tidelake_lake *lake = open_lake();
        tidelake_table *table;
        make_table(lake, pk);
        measure start = measure_start();
        check(tidelake_table_open(lake, table_name(""), NULL, 0, &table, &err));
        load(table, &r, 0, r.n, number("commits", 10), number("threads", 1), strcmp(arg("wait", "last"), "all") == 0 ? WAIT_ALL : WAIT_LAST, NULL);
        tidelake_table_close(table);
        measure_done(&start, arg("w", "W1"), arg("variant", ""), rep, ",\"rows\":%lld%s", (long long)r.n,
                     measure_files(table_dir("")));
        tidelake_close(lake);
    }
}

static void small(void)
{
    records r = records_open(arg("data", ""), 0);
    int commits = number("commits", 200), per = number("rows", 1000), skip = number("skip", 0);
    double *latencies = malloc(sizeof *latencies * (size_t)commits);
    for (int rep = 0; rep < number("reps", 3); rep++) {
        tidelake_lake *lake = open_lake();
        tidelake_table *table;
        if (skip == 0)
            make_table(lake, 1);
        measure start = measure_start();
        check(tidelake_table_open(lake, table_name(""), NULL, 0, &table, &err));
        load(table, &r, (int64_t)skip * per, (int64_t)commits * per, commits, number("threads", 0), WAIT_DEFAULT, latencies);
        tidelake_table_close(table);
        measure_done(&start, "W7", arg("variant", ""), rep, ",\"rows\":%d%s%s", commits * per,
                     measure_quantiles(latencies, commits), measure_files(table_dir("")));
        tidelake_close(lake);
    }
    free(latencies);
}

static void decode(void)
{
    records r = records_open(arg("data", ""), is_wide());
    for (int rep = 0; rep < number("reps", 3); rep++) {
        measure start = measure_start();
        for (int64_t from = 0; from < r.n; from += BATCH_ROWS) {
            struct ArrowArray batch;
            records_batch(&r, from, r.n - from < BATCH_ROWS ? r.n - from : BATCH_ROWS, &batch);
            batch.release(&batch);
        }
        measure_done(&start, "W0", "decode", rep, ",\"rows\":%lld", (long long)r.n);
    }
}

/* ---- compaction ---- */

static const char *copy_from, *copy_to;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static int copy_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    char to[4096], buffer[1 << 16];
    (void)at;
    snprintf(to, sizeof to, "%s%s", copy_to, path + strlen(copy_from));
    if (type == FTW_D)
        return mkdir(to, st->st_mode & 0777);
    FILE *in = fopen(path, "rb"), *out = fopen(to, "wb");
    for (size_t n; in != NULL && out != NULL && (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
        fwrite(buffer, 1, n, out);
    return in == NULL || out == NULL || fclose(in) != 0 || fclose(out) != 0;
}

static void compact(void)
{
    for (int rep = 0; rep < number("reps", 3); rep++) {
        copy_from = table_dir("");
        copy_to = table_dir("_c");
        nftw(copy_to, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        if (nftw(copy_from, copy_one, 16, FTW_PHYS) != 0) {
            perror(copy_to);
            exit(1);
        }
        tidelake_lake *lake = open_lake();
        tidelake_table *table;
        const tidelake_option option = {"write-only", "false"};
        int threads = number("threads", 1);
        measure start = measure_start();
        check(tidelake_table_open(lake, table_name("_c"), &option, 1, &table, &err));
        check(tidelake_compact(table, "bench", 1, threads > 1 ? threads : 0, NULL, &err));
        tidelake_table_close(table);
        measure_done(&start, "W2", arg("variant", ""), rep, "%s", measure_files(table_dir("_c")));
        tidelake_close(lake);
    }
}

/* ---- reading ---- */

typedef struct sums {
    int64_t rows;
    int64_t id;
    int64_t amount;
    int64_t rest;
} sums;

static int is_valid(const struct ArrowArray *a, int64_t i)
{
    const uint8_t *valid = a->null_count == 0 ? NULL : a->buffers[0];
    return valid == NULL || valid[i / 8] >> (i % 8) & 1;
}

/* No branch on nulls, as in a vectorised operator (and in the sums of the Python peers): what is behind one counts as 0. */
#define SUM(TYPE, EXPRESSION)                                                       \
    do {                                                                            \
        const TYPE *v = (const TYPE *)a->buffers[1] + a->offset;                    \
        bool nulls = a->null_count != 0 && a->buffers[0] != NULL;                   \
        int64_t i = 0, whole = nulls && a->offset % 8 != 0 ? 0 : a->length / 8 * 8; \
        for (; !nulls && i < whole; i++)                                            \
            sum += (int64_t)(EXPRESSION);                                           \
        while (i < whole) {                                                         \
            unsigned bits = ((const uint8_t *)a->buffers[0])[(a->offset + i) / 8];  \
            for (int64_t end = i + 8; i < end; i++, bits >>= 1)                     \
                sum += (int64_t)(EXPRESSION) & -(int64_t)(bits & 1);                \
        }                                                                           \
        for (; i < a->length; i++)                                                  \
            sum += is_valid(a, a->offset + i) ? (int64_t)(EXPRESSION) : 0;          \
    } while (0)

/* Every value is looked at, as an engine's operator would; the sums are those of the Java program. */
static void consume(const struct ArrowSchema *schema, const struct ArrowArray *batch, sums *s)
{
    s->rows += batch->length;
    for (int64_t c = 0; c < batch->n_children; c++) {
        const struct ArrowArray *a = batch->children[c];
        const char *format = schema->children[c]->format;
        int64_t sum = 0, *to = &s->rest;
        if (strcmp(format, "l") == 0) {
            to = strcmp(schema->children[c]->name, "order_id") == 0 ? &s->id : &s->rest;
            SUM(int64_t, v[i]);
        } else if (strcmp(format, "i") == 0) {
            SUM(int32_t, v[i]);
        } else if (strcmp(format, "g") == 0) {
            SUM(double, v[i]);
        } else if (format[0] == 'd') {
            to = &s->amount;
            SUM(__int128, v[i]);
        } else if (format[0] == 't') {
            SUM(int64_t, v[i] & 0xffff);
        } else {
            SUM(int32_t, v[i + 1] - v[i]);
        }
        *to += sum;
    }
}

static void drain(tidelake_rows *rows, sums *s)
{
    struct ArrowSchema schema;
    check(tidelake_rows_arrow_schema(rows, &schema, &err));
    for (;;) {
        tidelake_batch *batch;
        struct ArrowArray array;
        check(tidelake_rows_next(rows, &batch, &err));
        if (batch == NULL)
            break;
        check(tidelake_batch_arrow(batch, &array, &err));
        consume(&schema, &array, s);
        array.release(&array);
        tidelake_batch_free(batch);
    }
    schema.release(&schema);
    tidelake_rows_free(rows);
}

/* ---- threads that read and consume splits each for itself ---- */

typedef struct shared_scan {
    tidelake_table *table;
    const tidelake_read_options *options;
    const tidelake_bytes *splits;
    size_t n;
    atomic_size_t next;
} shared_scan;

typedef struct reading_thread {
    shared_scan *scan;
    sums sums;
    pthread_t thread;
} reading_thread;

static void *read_splits(void *of)
{
    reading_thread *t = of;
    for (size_t i; (i = atomic_fetch_add(&t->scan->next, 1)) < t->scan->n;) {
        tidelake_rows *rows;
        check(tidelake_read_split(t->scan->table, t->scan->splits[i], t->scan->options, &rows, &err));
        drain(rows, &t->sums);
    }
    return NULL;
}

static void drain_each(tidelake_table *table, const tidelake_read_options *options, sums *s)
{
    reading_thread threads[64] = {0};
    int n = options->threads < 64 ? options->threads : 64;
    tidelake_bytes *splits;
    tidelake_read_options of_split = *options;
    of_split.threads = 1;
    shared_scan scan = {.table = table, .options = &of_split};
    check(tidelake_plan(table, options, &splits, &scan.n, &err));
    scan.splits = splits;
    for (int i = 0; i < n; i++) {
        threads[i].scan = &scan;
        if (i > 0 && pthread_create(&threads[i].thread, NULL, read_splits, &threads[i]) != 0)
            exit(1);
    }
    read_splits(&threads[0]);
    for (int i = 0; i < n; i++) {
        if (i > 0)
            pthread_join(threads[i].thread, NULL);
        s->rows += threads[i].sums.rows;
        s->id += threads[i].sums.id;
        s->amount += threads[i].sums.amount;
        s->rest += threads[i].sums.rest;
    }
    tidelake_free(splits);
}

static const char *const three_columns[] = {"order_id", "city", "amount"};

/* The note of one row of the input; Bench.java has the same row. */
#define ROW_SOUGHT 12345

static const char *note_filter(char *out, size_t bytes)
{
    records r = records_open(arg("data", ""), 0);
    const order_record *row = (const order_record *)r.data + ROW_SOUGHT;
    snprintf(out, bytes, "[\"=\",\"note\",\"%.*s\"]", row->note_len, row->note);
    return out;
}

static void scan(void)
{
    const char *cols = arg("cols", "all");
    char variant[128], where[256];
    snprintf(variant, sizeof variant, "%s%s", arg("variant", ""), cols);
    for (int rep = 0; rep < number("reps", 3); rep++) {
        tidelake_lake *lake = open_lake();
        tidelake_table *table;
        tidelake_rows *rows;
        tidelake_read_options options = TIDELAKE_READ_INIT;
        options.threads = number("threads", 1);
        if (strcmp(cols, "3") == 0) {
            options.columns = three_columns;
            options.n_columns = 3;
        } else if (strcmp(cols, "pred") == 0) {
            options.where = "[\"and\",[\"=\",\"city\",7],[\"between\",\"amount\",\"20000.00\",\"40000.00\"]]";
        } else if (strcmp(cols, "city") == 0) {
            options.where = "[\"=\",\"city\",7]";
        } else if (strcmp(cols, "note") == 0) {
            options.where = note_filter(where, sizeof where);
        }
        sums s = {0};
        tidelake_io before = TIDELAKE_IO_INIT, after = TIDELAKE_IO_INIT;
        tidelake_io_count(&before);
        measure start = measure_start();
        check(tidelake_table_open(lake, table_name(""), NULL, 0, &table, &err));
        if (strcmp(arg("each", "false"), "true") == 0) {
            drain_each(table, &options, &s);
        } else {
            check(tidelake_read(table, &options, &rows, &err));
            drain(rows, &s);
        }
        tidelake_table_close(table);
        tidelake_io_count(&after);
        measure_done(&start, arg("w", "W3"), variant, rep,
                     ",\"rows\":%lld,\"sum_id\":%lld,\"sum_amount\":%lld,\"sum_rest\":%lld,\"read_bytes\":%lld", (long long)s.rows,
                     (long long)s.id, (long long)s.amount, (long long)s.rest, (long long)(after.read_bytes - before.read_bytes));
        tidelake_close(lake);
    }
}

static void changelog(void)
{
    char variant[128];
    snprintf(variant, sizeof variant, "%sread", arg("variant", ""));
    for (int rep = 0; rep < number("reps", 3); rep++) {
        tidelake_lake *lake = open_lake();
        tidelake_table *table;
        tidelake_rows *rows;
        tidelake_changes_options options = TIDELAKE_CHANGES_INIT;
        options.next_snapshot = 1;
        sums s = {0};
        measure start = measure_start();
        check(tidelake_table_open(lake, table_name(""), NULL, 0, &table, &err));
        check(tidelake_changes(table, &options, &rows, &err));
        drain(rows, &s);
        tidelake_table_close(table);
        measure_done(&start, "W5", variant, rep, ",\"rows\":%lld,\"sum_id\":%lld,\"sum_amount\":%lld", (long long)s.rows,
                     (long long)s.id, (long long)s.amount);
        tidelake_close(lake);
    }
}

/* ---- look-ups ---- */

/* java.util.Random, for keys that are those of the Java program. */
static uint64_t java_random;

static int64_t java_next(int bits)
{
    java_random = (java_random * UINT64_C(0x5DEECE66D) + 0xB) & ((UINT64_C(1) << 48) - 1);
    return (int64_t)(java_random >> (48 - bits));
}

static int64_t random_key(int64_t keys)
{
    int64_t high = java_next(26);
    return (int64_t)((double)((high << 27) + java_next(27)) * 0x1p-53 * (double)keys);
}

static void keep_key(struct ArrowArray *array)
{
    array->release = NULL; /* it lies in find() */
}

/* Rows of some keys, and their cities. */
static void find(tidelake_lookup *lookup, const struct ArrowSchema *schema, int64_t *ids, int64_t n, int64_t *hit, int64_t *sum)
{
    const void *buffers[] = {NULL, ids}, *no_buffer[] = {NULL};
    struct ArrowArray column = {.length = n, .n_buffers = 2, .buffers = buffers, .release = keep_key};
    struct ArrowArray *children[] = {&column};
    struct ArrowArray keys = {
        .length = n, .n_buffers = 1, .buffers = no_buffer, .n_children = 1, .children = children, .release = keep_key};
    struct ArrowArray found;
    tidelake_batch *answer;
    check(tidelake_lookup_find(lookup, &keys, schema, &answer, NULL, &err));
    check(tidelake_batch_arrow(answer, &found, &err));
    const struct ArrowArray *city = found.children[1];
    *hit += found.length;
    for (int64_t i = 0; i < found.length; i++)
        *sum += ((const int32_t *)city->buffers[1])[city->offset + i];
    found.release(&found);
    tidelake_batch_free(answer);
}

/* Four passes over `n` random keys, `batch` a call; the first is cold: it contains the opening. */
static void lookup_rep(tidelake_table *table, int rep, int64_t n, int batch, double *latencies)
{
    tidelake_lookup *lookup = NULL;
    tidelake_lookup_options options = TIDELAKE_LOOKUP_INIT;
    struct ArrowSchema schema;
    int64_t ids[BATCH_ROWS], keys = number("keys", 2000000);
    options.tier = (tidelake_lookup_tier)number("tier", TIDELAKE_LOOKUP_AUTO);
    options.memory_bytes = (int64_t)number("memory_mb", 1024) << 20;
    options.columns = three_columns;
    options.n_columns = strcmp(arg("cols", "all"), "3") == 0 ? 3 : 0;
    if (options.n_columns == 0)
        options.columns = NULL;
    for (int pass = 0; pass < 4; pass++) {
        int64_t hit = 0, sum = 0, calls = 0;
        measure start = measure_start();
        if (pass == 0) {
            check(tidelake_lookup_open(table, &options, &lookup, &err));
            check(tidelake_lookup_key_schema(lookup, &schema, &err));
        }
        java_random = (pass == 0 ? 42 : 43) ^ UINT64_C(0x5DEECE66D);
        for (int64_t done = 0; done < n; done += batch, calls++) {
            int64_t some = n - done < batch ? n - done : batch;
            for (int64_t i = 0; i < some; i++)
                ids[i] = random_key(keys);
            double before = measure_now();
            find(lookup, &schema, ids, some, &hit, &sum);
            latencies[calls] = measure_now() - before;
        }
        const char *name = pass == 0 ? "cold" : "warm";
        if (strcmp(arg("passes", name), name) != 0)
            continue;
        measure_done(&start, "W4", arg("variant", ""), rep,
                     ",\"pass\":%d,\"rows\":%lld,\"hit\":%lld,\"sum\":%lld,\"held_mb\":%lld%s", pass, (long long)n,
                     (long long)hit, (long long)sum, (long long)(tidelake_lookup_memory_bytes(lookup) >> 20),
                     measure_quantiles(latencies, (int)calls));
    }
    schema.release(&schema);
    tidelake_lookup_close(lookup);
}

static void lookup(void)
{
    int64_t n = number("n", 100000);
    int batch = number("batch", 1);
    double *latencies = malloc(sizeof *latencies * (size_t)n);
    for (int rep = 0; rep < number("reps", 3); rep++) {
        tidelake_lake *lake = open_lake();
        tidelake_table *table;
        check(tidelake_table_open(lake, table_name(""), NULL, 0, &table, &err));
        lookup_rep(table, rep, n, batch < BATCH_ROWS ? batch : BATCH_ROWS, latencies);
        tidelake_table_close(table);
        tidelake_close(lake);
    }
    free(latencies);
}

/* A whole process for one row, or for the number of rows. */
static void first(void)
{
    static const char *const no_columns[] = {NULL}, *const row_columns[] = {"order_id", "city", "status"};
    int count = strcmp(arg("what", "row"), "count") == 0;
    tidelake_lake *lake = open_lake();
    tidelake_table *table;
    tidelake_rows *rows;
    tidelake_read_options options = TIDELAKE_READ_INIT;
    options.columns = count ? no_columns : row_columns;
    options.n_columns = count ? 0 : 3;
    options.limit = count ? -1 : 1;
    sums s = {0};
    check(tidelake_table_open(lake, table_name(""), NULL, 0, &table, &err));
    check(tidelake_read(table, &options, &rows, &err));
    drain(rows, &s);
    printf("%lld\n", (long long)(count ? s.rows : s.id));
    tidelake_table_close(table);
    tidelake_close(lake);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } commands[] = {{"upsert", upsert}, {"compact", compact}, {"scan", scan},   {"changelog", changelog},
                    {"small", small},   {"lookup", lookup},   {"first", first}, {"decode", decode}};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    mallopt(M_ARENA_MAX, processors < 1 ? 1 : (int)processors); /* as the program and as docs/library.md advises */
    words_init("tidelake_bench", argv + (argc > 1 ? 2 : 1));
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            commands[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: tidelake bench upsert|compact|scan|changelog|small|lookup|first|decode KEY=VALUE…\n");
    return 2;
}
