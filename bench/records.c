/* Record files as Arrow batches. */
#include "records.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_COLUMNS 31

records records_open(const char *path, int wide)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) {
        perror(path);
        exit(1);
    }
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (data == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    return (records){data, st.st_size / (int64_t)(wide ? sizeof(wide_record) : sizeof(order_record)), wide};
}

/* ---- schema ---- */

typedef struct column_spec {
    char name[16];
    const char *type;
    const char *arrow;
} column_spec;

typedef struct specs {
    column_spec items[MAX_COLUMNS];
    int n;
} specs;

static void add(specs *s, const char *type, const char *arrow, const char *prefix, const char *name, int number)
{
    column_spec *c = &s->items[s->n++];
    c->type = type;
    c->arrow = arrow;
    int len = snprintf(c->name, sizeof c->name, "%s%s", prefix, name);
    if (number >= 0)
        snprintf(c->name + len, sizeof c->name - (size_t)len, "%d", number);
}

static specs order_specs(void)
{
    specs s = {.n = 0};
    add(&s, "BIGINT NOT NULL", "l", "", "order_id", -1);
    add(&s, "INT", "i", "", "city", -1);
    add(&s, "STRING", "u", "", "status", -1);
    add(&s, "STRING", "u", "", "broker", -1);
    add(&s, "DECIMAL(12, 2)", "d:12,2", "", "amount", -1);
    add(&s, "TIMESTAMP(3)", "tsm:", "", "updated_at", -1);
    add(&s, "STRING", "u", "", "note", -1);
    for (int i = 0; i < 8; i++)
        add(&s, "INT", "i", "", "label", i);
    return s;
}

/* k, then for each stream seq, 6 INT, 3 BIGINT, 3 or 2 DOUBLE, 2 STRING. */
static specs wide_specs(void)
{
    specs s = {.n = 0};
    add(&s, "BIGINT NOT NULL", "l", "", "k", -1);
    for (int g = 0; g < 2; g++) {
        const char *group = g == 0 ? "a" : "b";
        add(&s, "BIGINT", "l", "seq_", group, -1);
        for (int i = 0; i < 6; i++)
            add(&s, "INT", "i", group, "i", i);
        for (int i = 0; i < 3; i++)
            add(&s, "BIGINT", "l", group, "l", i);
        for (int i = 0; i < 3 - g; i++)
            add(&s, "DOUBLE", "g", group, "d", i);
        for (int i = 0; i < 2; i++)
            add(&s, "STRING", "u", group, "s", i);
    }
    return s;
}

const char *records_schema_json(int wide, int primary_key, const char *options)
{
    static char json[8192];
    specs s = wide ? wide_specs() : order_specs();
    size_t at = (size_t)snprintf(json, sizeof json, "{\"columns\":[");
    for (int i = 0; i < s.n; i++)
        at += (size_t)snprintf(json + at, sizeof json - at, "%s{\"name\":\"%s\",\"type\":\"%s\"}", i == 0 ? "" : ",", s.items[i].name,
                               s.items[i].type);
    at += (size_t)snprintf(json + at, sizeof json - at, "],\"primaryKeys\":[");
    if (primary_key)
        at += (size_t)snprintf(json + at, sizeof json - at, "\"%s\"", s.items[0].name);
    at += (size_t)snprintf(json + at, sizeof json - at, "],\"options\":{\"file.format\":\"parquet\"");
    for (int g = 0; wide && g < 2; g++) {
        at += (size_t)snprintf(json + at, sizeof json - at, ",\"fields.seq_%c.sequence-group\":\"", 'a' + g);
        for (int i = 1; i < s.n; i++)
            if (s.items[i].name[0] == 'a' + g)
                at += (size_t)snprintf(json + at, sizeof json - at, "%s%s", i == (g == 0 ? 2 : 17) ? "" : ",", s.items[i].name);
        at += (size_t)snprintf(json + at, sizeof json - at, "\"");
    }
    if (wide)
        at += (size_t)snprintf(json + at, sizeof json - at, ",\"merge-engine\":\"partial-update\"");
    snprintf(json + at, sizeof json - at, "%s}}", options);
    return json;
}

static void release_nothing(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

const struct ArrowSchema *records_arrow_schema(int wide)
{
    static specs s;
    static struct ArrowSchema root, children[MAX_COLUMNS], *pointers[MAX_COLUMNS];
    s = wide ? wide_specs() : order_specs();
    for (int i = 0; i < s.n; i++) {
        children[i] = (struct ArrowSchema){.format = s.items[i].arrow, .name = s.items[i].name, .release = release_nothing};
        children[i].flags = i == 0 ? 0 : ARROW_FLAG_NULLABLE;
        pointers[i] = &children[i];
    }
    root = (struct ArrowSchema){.format = "+s", .name = "", .n_children = s.n, .children = pointers, .release = release_nothing};
    return &root;
}

/* ---- rows ---- */

/* Everything of one batch in one piece of memory; buffers are cut off from `next` on. */
typedef struct batch_memory {
    struct ArrowArray children[MAX_COLUMNS];
    struct ArrowArray *pointers[MAX_COLUMNS];
    const void *buffers[MAX_COLUMNS + 1][3];
    int n_columns;
    int64_t rows;
    uint8_t *next;
} batch_memory;

static void release_child(struct ArrowArray *array)
{
    array->release = NULL;
}

static void release_batch(struct ArrowArray *array)
{
    free(array->private_data);
    array->release = NULL;
}

static void *cut(batch_memory *m, size_t bytes)
{
    void *piece = m->next;
    m->next += (bytes + 63) & ~(size_t)63;
    return piece;
}

static struct ArrowArray *column(batch_memory *m, int n_buffers)
{
    int i = m->n_columns++;
    m->children[i] = (struct ArrowArray){
        .length = m->rows, .n_buffers = n_buffers, .buffers = m->buffers[i], .release = release_child};
    m->pointers[i] = &m->children[i];
    return &m->children[i];
}

/* `size` bytes at `from` of each record. */
static void copy_column(batch_memory *m, const uint8_t *from, size_t stride, size_t size)
{
    uint8_t *to = cut(m, (size_t)m->rows * size);
    column(m, 2)->buffers[1] = to;
    for (int64_t i = 0; i < m->rows; i++, from += stride) {
        if (size == 4)
            memcpy(to + i * 4, from, 4);
        else
            memcpy(to + i * 8, from, 8);
    }
}

static void decimal_column(batch_memory *m, const order_record *r)
{
    __int128 *to = cut(m, (size_t)m->rows * 16);
    column(m, 2)->buffers[1] = to;
    for (int64_t i = 0; i < m->rows; i++)
        to[i] = r[i].amount;
}

typedef struct text {
    const char *data;
    int32_t len;
} text;

/* `room`: the longest text; texts are copied in pieces of 16 bytes, so the buffer is a bit longer. */
static void text_column(batch_memory *m, const void *r, text (*get)(const void *r, int64_t i), int room)
{
    int32_t *offsets = cut(m, (size_t)(m->rows + 1) * 4);
    char *to = cut(m, (size_t)m->rows * (size_t)room + 64);
    struct ArrowArray *a = column(m, 3);
    a->buffers[1] = offsets;
    a->buffers[2] = to;
    int32_t at = 0;
    for (int64_t i = 0; i < m->rows; i++) {
        text t = get(r, i);
        offsets[i] = at;
        memcpy(to + at, t.data, (size_t)t.len);
        at += t.len;
    }
    offsets[m->rows] = at;
}

static text status_of(const void *r, int64_t i)
{
    static const text names[8] = {{"CREATED", 7},   {"PAID", 4},      {"ASSIGNED", 8},  {"PICKED_UP", 9},
                                  {"DELIVERED", 9}, {"COMPLETED", 9}, {"CANCELLED", 9}, {"REFUNDED", 8}};
    return names[((const order_record *)r)[i].status & 7];
}

static char broker_names[10000][16];

static text broker_of(const void *r, int64_t i)
{
    return (text){broker_names[((const order_record *)r)[i].broker % 10000], 12};
}

static text note_of(const void *r, int64_t i)
{
    const order_record *o = &((const order_record *)r)[i];
    return (text){o->note, o->note_len};
}

static void label_column(batch_memory *m, const order_record *r, int k)
{
    int32_t *to = cut(m, (size_t)m->rows * 4);
    uint8_t *valid = cut(m, (size_t)(m->rows + 7) / 8);
    struct ArrowArray *a = column(m, 2);
    a->buffers[0] = valid;
    a->buffers[1] = to;
    a->null_count = -1;
    memset(valid, 0, (size_t)(m->rows + 7) / 8);
    for (int64_t i = 0; i < m->rows; i++) {
        valid[i / 8] |= (uint8_t)((~r[i].nulls >> k & 1) << (i % 8));
        memcpy(&to[i], &r[i].label[k], 4);
    }
}

static void order_columns(batch_memory *m, const order_record *r)
{
    const uint8_t *p = (const uint8_t *)r;
    if (broker_names[0][0] == 0)
        for (int i = 0; i < 10000; i++)
            snprintf(broker_names[i], sizeof broker_names[i], "broker_%05d", i);
    copy_column(m, p + offsetof(order_record, order_id), sizeof *r, 8);
    copy_column(m, p + offsetof(order_record, city), sizeof *r, 4);
    text_column(m, r, status_of, 9);
    text_column(m, r, broker_of, 12);
    decimal_column(m, r);
    copy_column(m, p + offsetof(order_record, updated_at), sizeof *r, 8);
    text_column(m, r, note_of, 48);
    for (int i = 0; i < 8; i++)
        label_column(m, r, i);
}

/* ---- wide rows ---- */

typedef struct wide_text {
    const wide_record *r;
    int stream;
    int which;
} wide_text;

static text wide_text_of(const void *r, int64_t i)
{
    const wide_text *w = r;
    const wide_record *o = &w->r[i];
    return (text){o->s[w->which], o->stream == w->stream ? o->s_len[w->which] : 0};
}

static void wide_columns(batch_memory *m, const wide_record *r)
{
    const uint8_t *p = (const uint8_t *)r;
    copy_column(m, p + offsetof(wide_record, k), sizeof *r, 8);
    for (int s = 0; s < 2; s++) {
        int first = m->n_columns;
        uint8_t *valid = cut(m, (size_t)(m->rows + 7) / 8);
        memset(valid, 0, (size_t)(m->rows + 7) / 8);
        for (int64_t i = 0; i < m->rows; i++)
            valid[i / 8] |= (uint8_t)((r[i].stream == s) << (i % 8));
        copy_column(m, p + offsetof(wide_record, seq), sizeof *r, 8);
        for (size_t i = 0; i < 6; i++)
            copy_column(m, p + offsetof(wide_record, i) + 4 * i, sizeof *r, 4);
        for (size_t i = 0; i < 3; i++)
            copy_column(m, p + offsetof(wide_record, l) + 8 * i, sizeof *r, 8);
        for (size_t i = 0; i < 3 - (size_t)s; i++)
            copy_column(m, p + offsetof(wide_record, d) + 8 * i, sizeof *r, 8);
        for (int i = 0; i < 2; i++)
            text_column(m, &(wide_text){r, s, i}, wide_text_of, 24);
        for (int i = first; i < m->n_columns; i++) {
            m->children[i].buffers[0] = valid;
            m->children[i].null_count = -1;
        }
    }
}

/* The input's pages shall not count as memory of the library: what was read is let go. */
static void forget(const uint8_t *data, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)data & ~(page - 1), end = ((uintptr_t)data + bytes) & ~(page - 1);
    if (end > start)
        madvise((void *)start, end - start, MADV_DONTNEED);
}

void records_batch(const records *r, int64_t from, int64_t n, struct ArrowArray *out)
{
    /* A row's values, validity bits and rounding are well below three times its record. */
    size_t record = r->wide ? sizeof(wide_record) : sizeof(order_record);
    batch_memory *m = aligned_alloc(64, (sizeof *m + (size_t)n * record * 3 + (1 << 16)) & ~(size_t)63);
    if (m == NULL) {
        perror("batch");
        exit(1);
    }
    memset(m, 0, sizeof *m);
    m->rows = n;
    m->next = (uint8_t *)m + ((sizeof *m + 63) & ~(size_t)63);
    if (r->wide)
        wide_columns(m, (const wide_record *)r->data + from);
    else
        order_columns(m, (const order_record *)r->data + from);
    forget(r->data + (size_t)from * record, (size_t)n * record);
    *out = (struct ArrowArray){.length = n,
                               .n_buffers = 1,
                               .buffers = m->buffers[MAX_COLUMNS],
                               .n_children = m->n_columns,
                               .children = m->pointers,
                               .release = release_batch,
                               .private_data = m};
}
