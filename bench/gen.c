/*
 * Makes the benchmark's input: records (records.h) that are a function of their number, and beside them what a table of them
 * must hold.
 *
 *   bench_gen orders|wide OUT ROWS KEYS SEED
 *
 * OUT.json gets the checksums that a scan has to give, {"rows":…,"sum_id":…,"sum_amount":…,"sum_rest":…}: over the last record of
 * each key, and for `orders` under "append" also over all records.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mix.h"
#include "records.h"

static void text(char *p, int n, uint64_t h)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (int i = 0; i < n; i++) {
        if (i % 10 == 0)
            h = mix(h + (uint64_t)i);
        p[i] = alphabet[h >> (6 * (i % 10)) & 63];
    }
}

static order_record make_order(uint64_t seed, uint64_t r, uint64_t keys)
{
    order_record o = {0};
    uint64_t h = mix(seed ^ (r * 4)), h2 = mix(h), h3 = mix(h2), k = h % keys, hk = mix(k * 3 + 1);
    o.order_id = (int64_t)k;
    o.amount = (int64_t)(100 + h2 % 9999900);
    o.updated_at = INT64_C(1760000000000) + (int64_t)r * 20 + (int64_t)(h2 >> 60);
    o.city = (int32_t)(hk % 200);
    o.broker = (uint16_t)((hk >> 20) % 10000);
    o.status = (uint8_t)(h2 >> 40 & 7);
    for (int i = 0; i < 8; i++) {
        uint64_t x = h3 >> (8 * i) & 255;
        if (x < 77)
            o.nulls |= (uint8_t)(1 << i);
        else
            o.label[i] = (int32_t)(x - 77) % 100;
    }
    o.note_len = (uint8_t)(32 + (h2 >> 50) % 17);
    text(o.note, o.note_len, h3);
    return o;
}

static wide_record make_wide(uint64_t seed, uint64_t r, uint64_t keys)
{
    wide_record o = {0};
    uint64_t h = mix(seed ^ (r * 4)), h2 = mix(h);
    o.k = (int64_t)((h >> 1) % keys);
    o.stream = (uint8_t)(r & 1);
    o.seq = (int64_t)r - (int64_t)(h2 % 1000); /* some events arrive late */
    for (uint64_t i = 0; i < 6; i++)
        o.i[i] = (int32_t)(mix(h + i) % 1000000);
    for (uint64_t i = 0; i < 3; i++) {
        o.l[i] = (int64_t)(mix(h2 + i) >> 20);
        o.d[i] = (double)(mix(h2 + 9 + i) % 100000) / 100;
    }
    for (int i = 0; i < 2; i++) {
        o.s_len[i] = (uint8_t)(12 + (h2 >> (8 * i)) % 13);
        text(o.s[i], o.s_len[i], h2 + 77 + (uint64_t)i);
    }
    return o;
}

typedef struct sums {
    int64_t rows, id, amount, rest;
} sums;

static void add_order(sums *s, const order_record *o)
{
    static const int status_bytes[8] = {7, 4, 8, 9, 9, 9, 9, 8};
    s->rows++;
    s->id += o->order_id;
    s->amount += o->amount;
    s->rest += o->city + status_bytes[o->status] + 12 + (o->updated_at & 0xffff) + o->note_len;
    for (int i = 0; i < 8; i++)
        s->rest += o->label[i]; /* 0 where it is NULL */
}

static void print_sums(FILE *f, const sums *s)
{
    fprintf(f, "{\"rows\":%" PRId64 ",\"sum_id\":%" PRId64 ",\"sum_amount\":%" PRId64 ",\"sum_rest\":%" PRId64, s->rows, s->id, s->amount,
            s->rest);
}

static FILE *open_output(const char *path, const char *suffix)
{
    char name[4096];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    FILE *f = fopen(name, "wb");
    if (f == NULL) {
        perror(name);
        exit(1);
    }
    return f;
}

static void close_output(FILE *f)
{
    if (fclose(f) != 0) {
        perror("bench_gen");
        exit(1);
    }
}

static void generate_orders(const char *path, uint64_t rows, uint64_t keys, uint64_t seed)
{
    FILE *f = open_output(path, "");
    uint64_t *last = calloc(keys, sizeof *last); /* of each key: its last record + 1 */
    sums all = {0}, live = {0};
    if (last == NULL)
        exit(1);
    for (uint64_t r = 0; r < rows; r++) {
        order_record o = make_order(seed, r, keys);
        fwrite(&o, sizeof o, 1, f);
        add_order(&all, &o);
        last[o.order_id] = r + 1;
    }
    close_output(f);
    for (uint64_t k = 0; k < keys; k++) {
        if (last[k] > 0) {
            order_record o = make_order(seed, last[k] - 1, keys);
            add_order(&live, &o);
        }
    }
    free(last);
    f = open_output(path, ".json");
    print_sums(f, &live);
    fprintf(f, ",\"append\":");
    print_sums(f, &all);
    fprintf(f, "}}\n");
    close_output(f);
}

static void generate_wide(const char *path, uint64_t rows, uint64_t keys, uint64_t seed)
{
    FILE *f = open_output(path, "");
    uint8_t *seen = calloc(keys, 1);
    int64_t live = 0;
    if (seen == NULL)
        exit(1);
    for (uint64_t r = 0; r < rows; r++) {
        wide_record o = make_wide(seed, r, keys);
        fwrite(&o, sizeof o, 1, f);
        live += seen[o.k] == 0;
        seen[o.k] = 1;
    }
    free(seen);
    close_output(f);
    f = open_output(path, ".json");
    fprintf(f, "{\"rows\":%" PRId64 "}\n", live);
    close_output(f);
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: bench_gen orders|wide OUT ROWS KEYS SEED\n");
        return 2;
    }
    uint64_t rows = strtoull(argv[3], NULL, 10), keys = strtoull(argv[4], NULL, 10), seed = mix(strtoull(argv[5], NULL, 10));
    (strcmp(argv[1], "wide") == 0 ? generate_wide : generate_orders)(argv[2], rows, keys, seed);
    return 0;
}
