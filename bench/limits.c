/*
 * What the machine can do at best with the benchmark's input, on one thread: the floor below each workload. And what it costs more
 * to hand columns to another thread, in blocks that are used again, as a scan with one consumer does.
 *
 *   bench_limits ORDERS.bin FOLDER REPS
 *
 * One JSON line for each repetition of each step, with "rows" records (or files) and "user" and "wall" seconds for all of them.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "measure.h"
#include "records.h"

#define PAGE (1 << 20)
#define SMALL_FILES 200

typedef struct pair {
    uint64_t key;
    uint64_t at;
} pair;

static void *get(size_t n)
{
    void *p = malloc(n);
    if (p == NULL) {
        fprintf(stderr, "bench_limits: no memory for %zu bytes\n", n);
        exit(1);
    }
    memset(p, 0, n); /* its pages are there before a clock runs */
    return p;
}

static void done(const measure *start, const char *what, int rep, int64_t rows)
{
    measure_done(start, "limit", what, rep, ",\"rows\":%lld", (long long)rows);
}

/* Columns one behind the other; notes without their padding. Returns the bytes written. */
static size_t transpose(const order_record *r, int64_t n, uint8_t *out)
{
    uint8_t *at = out;
#define COLUMN(FIELD)                                      \
    for (int64_t i = 0; i < n; i++, at += sizeof r->FIELD) \
    memcpy(at, &r[i].FIELD, sizeof r->FIELD)
    COLUMN(order_id);
    COLUMN(amount);
    COLUMN(updated_at);
    COLUMN(city);
    COLUMN(broker);
    COLUMN(status);
    for (int k = 0; k < 8; k++)
        COLUMN(label[k]);
#undef COLUMN
    for (int64_t i = 0; i < n; at += r[i].note_len, i++)
        memcpy(at, r[i].note, r[i].note_len);
    return (size_t)(at - out);
}

/* Least significant byte first; passes in which all bytes are equal are left out. */
static pair *radix_sort(pair *a, pair *b, int64_t n)
{
    for (int shift = 0; shift < 64; shift += 8) {
        size_t count[256] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++)
            count[a[i].key >> shift & 255]++;
        if (count[a[0].key >> shift & 255] == (size_t)n)
            continue;
        for (int c = 0; c < 256; c++) {
            size_t here = count[c];
            count[c] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < n; i++)
            b[count[a[i].key >> shift & 255]++] = a[i];
        pair *t = a;
        a = b;
        b = t;
    }
    return a;
}

static void compression(const uint8_t *columns, size_t n, uint8_t *back, int rep, int64_t rows)
{
    size_t pages = (n + PAGE - 1) / PAGE, bound = ZSTD_compressBound(PAGE), *sizes = get(pages * sizeof *sizes);
    uint8_t *packed = get(pages * bound);
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_DCtx *d = ZSTD_createDCtx();
    measure start = measure_start();
    for (size_t p = 0; p < pages; p++)
        sizes[p] =
            ZSTD_compressCCtx(c, packed + p * bound, bound, columns + p * PAGE, n - p * PAGE < PAGE ? n - p * PAGE : PAGE, 1);
    done(&start, "zstd compress", rep, rows);
    start = measure_start();
    for (size_t p = 0; p < pages; p++)
        ZSTD_decompressDCtx(d, back + p * PAGE, PAGE, packed + p * bound, sizes[p]);
    done(&start, "zstd decompress", rep, rows);
    ZSTD_freeCCtx(c);
    ZSTD_freeDCtx(d);
    free(packed);
    free(sizes);
}

static void sorting(const records *r, uint8_t *out, int rep)
{
    const order_record *in = (const void *)r->data;
    pair *a = get((size_t)r->n * sizeof *a), *b = get((size_t)r->n * sizeof *b);
    for (int64_t i = 0; i < r->n; i++)
        a[i] = (pair){(uint64_t)in[i].order_id, (uint64_t)i};
    measure start = measure_start();
    const pair *sorted = radix_sort(a, b, r->n);
    done(&start, "radix sort", rep, r->n);
    start = measure_start();
    for (int64_t i = 0; i < r->n; i++)
        memcpy(out + (size_t)i * sizeof *in, in + sorted[i].at, sizeof *in);
    done(&start, "gather", rep, r->n);
    free(a);
    free(b);
}

/* ---- columns by the block, to this thread or another ---- */

#define BLOCK (1 << 19) /* about a batch */
#define BLOCKS 4

typedef struct handing {
    const uint8_t *from;
    size_t n, made, used; /* blocks */
    uint8_t *ring;
    pthread_mutex_t lock; /* guards made and used */
    pthread_cond_t moved;
} handing;

static void make_block(const handing *h, size_t i)
{
    memcpy(h->ring + i % BLOCKS * BLOCK, h->from + i * BLOCK, BLOCK);
}

static uint64_t sum_block(const handing *h, size_t i)
{
    const uint64_t *words = (const void *)(h->ring + i % BLOCKS * BLOCK);
    uint64_t sum = 0;
    for (size_t k = 0; k < BLOCK / sizeof *words; k++)
        sum += words[k];
    return sum;
}

/* Waits until `*count` is at least `least`, having said that this side has done one more in `*mine`. */
static void meet(handing *h, size_t *mine, const size_t *count, size_t least)
{
    pthread_mutex_lock(&h->lock);
    *mine += 1;
    pthread_cond_signal(&h->moved);
    while (*count < least)
        pthread_cond_wait(&h->moved, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

static void *make_blocks(void *of)
{
    handing *h = of;
    for (size_t i = 0; i < h->n; i++) {
        make_block(h, i);
        meet(h, &h->made, &h->used, i + 2 > BLOCKS ? i + 2 - BLOCKS : 0);
    }
    return NULL;
}

static void hand_over(const uint8_t *columns, size_t bytes, int rep, int64_t rows)
{
    handing h = {.from = columns, .n = bytes / BLOCK, .ring = get((size_t)BLOCK * BLOCKS), .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
    volatile uint64_t sum = 0;
    pthread_t maker;
    measure start = measure_start();
    for (size_t i = 0; i < h.n; i++) {
        make_block(&h, i);
        sum += sum_block(&h, i);
    }
    done(&start, "columns to the same thread", rep, rows);
    start = measure_start();
    if (pthread_create(&maker, NULL, make_blocks, &h) != 0)
        exit(1);
    pthread_mutex_lock(&h.lock);
    while (h.made == 0)
        pthread_cond_wait(&h.moved, &h.lock);
    pthread_mutex_unlock(&h.lock);
    for (size_t i = 0; i < h.n; i++) {
        sum += sum_block(&h, i);
        meet(&h, &h.used, &h.made, i + 2 < h.n ? i + 2 : h.n);
    }
    pthread_join(maker, NULL);
    done(&start, "columns to another thread", rep, rows);
    free(h.ring);
}

static void write_file(const char *path, const uint8_t *data, size_t n, int sync)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
    for (size_t at = 0; fd >= 0 && at < n;) {
        ssize_t wrote = write(fd, data + at, n - at < 4 * PAGE ? n - at : 4 * PAGE);
        if (wrote <= 0)
            break;
        at += (size_t)wrote;
    }
    if (fd < 0 || (sync && fdatasync(fd) != 0) || close(fd) != 0) {
        perror(path);
        exit(1);
    }
}

static void disk(const char *folder, const uint8_t *data, size_t n, int rep, int64_t rows)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/limits.tmp", folder);
    measure start = measure_start();
    write_file(path, data, n, 1);
    done(&start, "write and sync", rep, rows);
    unlink(path);
    start = measure_start();
    for (int i = 0; i < SMALL_FILES; i++) {
        snprintf(path, sizeof path, "%s/limits.%d", folder, i);
        write_file(path, data, 4096, 1);
    }
    done(&start, "write and sync 4 KiB files", rep, SMALL_FILES);
    for (int i = 0; i < SMALL_FILES; i++) {
        snprintf(path, sizeof path, "%s/limits.%d", folder, i);
        unlink(path);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: bench_limits ORDERS.bin FOLDER REPS\n");
        return 2;
    }
    records r = records_open(argv[1], 0);
    size_t n = (size_t)r.n * sizeof(order_record);
    uint8_t *columns = get(n), *back = get(n + PAGE);
    for (int rep = 0; rep < atoi(argv[3]); rep++) {
        measure start = measure_start();
        memcpy(back, r.data, n);
        done(&start, "memory copy", rep, r.n);
        start = measure_start();
        size_t used = transpose((const void *)r.data, r.n, columns);
        done(&start, "rows to columns", rep, r.n);
        compression(columns, used, back, rep, r.n);
        sorting(&r, back, rep);
        hand_over(columns, used, rep, r.n);
        disk(argv[2], columns, used, rep, r.n);
    }
    free(columns);
    free(back);
    return 0;
}
