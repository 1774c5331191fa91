/*
 * A whole table with damaged files: the bytes say which table, what is changed in which of its files, and what is done with the
 * table then. Anything may fail; nothing may crash, hang, or write, rename or remove outside the table's folder.
 */
#include "fuzz/input.h"
#include "support/lake_model.h"

#include <sys/random.h>
#include <time.h>

#include "base/log.h"

#define ROOT "/lake/d.db/t"
#define FILES_MAX 400
#define EDITS_MAX 6
#define COMMITS 3 /* few: nearly all of the time goes into reading their manifests */

/* Names hold random numbers: the same ones in each run, so that an input always means the same. In place of the C library's. */
static uint64_t random_state;

ssize_t getrandom(void *buf, size_t bytes, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)buf)[i] = (uint8_t)(test_random(&random_state) >> 32);
    return (ssize_t)bytes;
}

/* Nobody else is here that waiting would be good for (a hint that is damaged, a commit of another). */
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)wanted;
    if (left != NULL)
        *left = (struct timespec){0};
    return 0;
}

/* ---- a file system that tells what leaves the table's folder ---- */

typedef struct guard_fs {
    tl_fs base;
    tl_fs *inner;
} guard_fs;

static void check_inside(const char *path)
{
    size_t n = strlen(ROOT);
    bool inside = strncmp(path, ROOT, n) == 0 && (path[n] == '/' || path[n] == '\0');
    for (const char *p = path; inside && (p = strstr(p, "/..")) != NULL; p += 3)
        inside = p[3] != '/' && p[3] != '\0';
    if (!inside) {
        fprintf(stderr, "outside the table: '%s'\n", path);
        abort();
    }
}

static tl_fs *inner(tl_fs *fs)
{
    return ((guard_fs *)fs)->inner;
}

static void guard_free(tl_fs *fs)
{
    tl_fs_unref(inner(fs));
    tl_free(fs);
}

static tl_status guard_open_read(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    return tl_fs_open_read(inner(fs), path, out, err);
}

static tl_status guard_create(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    check_inside(path);
    return tl_fs_create(inner(fs), path, out, err);
}

static tl_status guard_stat(tl_fs *fs, const char *path, tl_stat *out, tl_error *err)
{
    return tl_fs_stat(inner(fs), path, out, err);
}

static tl_status guard_list(tl_fs *fs, const char *path, tl_dir_entry **out, size_t *n, tl_error *err)
{
    return tl_fs_list(inner(fs), path, out, n, err);
}

static tl_status guard_mkdirs(tl_fs *fs, const char *path, tl_error *err)
{
    return tl_fs_mkdirs(inner(fs), path, err);
}

static tl_status guard_remove(tl_fs *fs, const char *path, tl_error *err)
{
    check_inside(path);
    return tl_fs_remove(inner(fs), path, err);
}

static tl_status guard_rename(tl_fs *fs, const char *from, const char *to, bool replace, tl_error *err)
{
    check_inside(from);
    check_inside(to);
    return tl_fs_rename(inner(fs), from, to, replace, err);
}

static tl_status guard_sync_dir(tl_fs *fs, const char *path, tl_error *err)
{
    return inner(fs)->ops->sync_dir(inner(fs), path, err);
}

/* Files are the inner file system's own. */
static tl_fs *guard(tl_fs *fs)
{
    static const tl_fs_ops ops = {.free = guard_free,       .open_read = guard_open_read, .create = guard_create,
                                  .stat = guard_stat,       .list = guard_list,           .mkdirs = guard_mkdirs,
                                  .remove = guard_remove,   .rename = guard_rename,       .sync_dir = guard_sync_dir};
    guard_fs *g = tl_calloc(1, sizeof *g);
    *g = (guard_fs){{.ops = &ops, .refs = 1}, tl_fs_ref(fs)};
    return &g->base;
}

/* ---- the tables, made once ---- */

static const table_kind kinds[] = {
    {.name = "keyed",
     .engine = ENGINE_DEDUPLICATE,
     .partitioned = true,
     .options = {"bucket", "1", "changelog-producer", "lookup", "manifest.compression", "null", "file.format", "avro", "file.compression",
                 "null"}},
    {.name = "append",
     .engine = ENGINE_APPEND,
     .partitioned = true,
     .options = {"bucket", "-1", "manifest.compression", "null", "compaction.min.file-num", "2"}},
    {.name = "orc", .engine = ENGINE_SUM, .options = {"bucket", "2", "merge-engine", "aggregation", "fields.v.aggregate-function", "sum",
                                                      "file.format", "orc", "file.compression", "none", "manifest.format", "parquet"}},
};

typedef struct base_table {
    size_t n;
    char *paths[FILES_MAX];
    tl_bytes contents[FILES_MAX];
    size_t n_meta; /* the first ones are metadata */
} base_table;

static base_table bases[TL_ARRAY_LEN(kinds)];

static void collect(tl_fs *fs, const char *dir, base_table *base, bool meta)
{
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    assert_int_equal(tl_fs_list(fs, dir, &entries, &n, NULL), TL_OK);
    for (size_t i = 0; i < n; i++) {
        char *path = tl_path_join(dir, entries[i].name);
        bool is_data = strstr(path, "bucket-") != NULL;
        if (entries[i].stat.is_dir) {
            collect(fs, path, base, meta);
            tl_free(path);
        } else if (is_data == !meta && base->n < FILES_MAX) {
            base->paths[base->n] = path;
            assert_int_equal(tl_fs_read_all(fs, path, 1 << 24, &base->contents[base->n], NULL), TL_OK);
            base->n++;
        } else {
            tl_free(path);
        }
    }
    tl_dir_free(entries, n);
}

static void make_base(const table_kind *kind, base_table *base)
{
    tl_fs *fs = NULL;
    tl_catalog *catalog = NULL;
    tl_table *table = NULL;
    tl_commit_result result = {0};
    tl_error err;
    assert_ok(tl_fs_memory(&fs, &err), &err);
    assert_ok(tl_catalog_open(fs, "/lake", &catalog, &err), &err);
    assert_ok(tl_catalog_create_database(catalog, "d", true, &err), &err);
    assert_ok(create_table(catalog, kind, &err), &err);
    assert_ok(open_table(catalog, NULL, NULL, &table, &err), &err);
    for (int c = 1; c <= COMMITS; c++) {
        rows list = {0};
        for (int i = 0; i < 6; i++)
            rows_add(&list, (row){.p = kind->partitioned ? i % 2 : 0, .k = c + i, .v = c * 10 + i, .s = i});
        assert_ok(commit_rows(table, kind, &list, "writer", c, NULL, &result, &err), &err);
        rows_free(&list);
        if (c == 2)
            assert_ok(tl_table_create_tag(table, "good", 0, TL_ABSENT, &err), &err);
    }
    assert_ok(tl_table_create_branch(table, "side", "good", &err), &err);
    assert_ok(tl_table_consumer_set(table, "reader", 2, &err), &err);
    collect(fs, ROOT, base, true);
    base->n_meta = base->n;
    collect(fs, ROOT, base, false);
    tl_table_free(table);
    tl_catalog_close(catalog);
    tl_fs_unref(fs);
}

/* ---- damage ---- */

static const char *const odd_texts[] = {"../../outside", "..", ".", "/lake/outside", "../../../outside/x", "9223372036854775807", "-1", "\\u0000",
                                        "\"", "{", "[", "null", "1e999", "a/b", "18446744073709551616", "0"};

static void replace(tl_buf *buf, size_t at, size_t len, const void *with, size_t with_len)
{
    tl_buf out = {0};
    assert_int_equal(tl_buf_append(&out, buf->data, at), TL_OK);
    assert_int_equal(tl_buf_append(&out, with, with_len), TL_OK);
    assert_int_equal(tl_buf_append(&out, buf->data + at + len, buf->len - at - len), TL_OK);
    tl_buf_deinit(buf);
    *buf = out;
}

/* A token of JSON, or a name of the same length in a binary file, becomes another one. */
static void swap_token(tl_buf *buf, size_t at, input *in)
{
    const char *text = odd_texts[take_below(in, TL_ARRAY_LEN(odd_texts))];
    size_t end;
    while (at < buf->len && !(buf->data[at] >= '0' && buf->data[at] <= 'z'))
        at++;
    for (end = at; end < buf->len && (buf->data[end] == '-' || buf->data[end] == '.' || (buf->data[end] >= '0' && buf->data[end] <= 'z'));)
        end++;
    if (take_below(in, 2) == 0) {
        replace(buf, at, end - at, text, strlen(text));
    } else if (end > at) { /* lengths in front stay true */
        memcpy(buf->data + at, text, TL_MIN(end - at, strlen(text)));
    }
}

static void edit(tl_buf *buf, input *in)
{
    uint8_t bytes[17];
    size_t at = buf->len == 0 ? 0 : take(in, 2) % (buf->len + 1), len, n;
    switch (take_below(in, 6)) {
    case 0:
    case 1:
        swap_token(buf, at, in);
        break;
    case 2:
        if (at < buf->len)
            buf->data[at] = (uint8_t)take(in, 1);
        break;
    case 3:
        if (at < buf->len)
            buf->data[at] ^= (uint8_t)(1u << take_below(in, 8));
        break;
    case 4:
        buf->len = at;
        break;
    default:
        n = take_below(in, sizeof bytes);
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)take(in, 1);
        len = take_below(in, 20);
        len = TL_MIN(buf->len - at, len);
        replace(buf, at, len, bytes, n);
    }
}

static tl_fs *damaged(const base_table *base, input *in)
{
    tl_fs *fs = NULL;
    tl_buf files[FILES_MAX];
    bool gone[FILES_MAX] = {false};
    assert_int_equal(tl_fs_memory(&fs, NULL), TL_OK);
    memset(files, 0, sizeof files);
    for (size_t i = 0; i < base->n; i++)
        assert_int_equal(tl_buf_append(&files[i], base->contents[i].data, base->contents[i].len), TL_OK);
    for (uint32_t e = 1 + take_below(in, EDITS_MAX); e > 0; e--) {
        size_t i = take_below(in, 4) == 0 ? take_below(in, (uint32_t)base->n) : take_below(in, (uint32_t)base->n_meta);
        uint32_t how = take_below(in, 12);
        if (how == 0) {
            gone[i] = true;
        } else if (how == 1) {
            size_t other = take_below(in, (uint32_t)base->n);
            files[i].len = 0;
            assert_int_equal(tl_buf_append(&files[i], base->contents[other].data, base->contents[other].len), TL_OK);
        } else {
            edit(&files[i], in);
        }
    }
    for (size_t i = 0; i < base->n; i++) {
        tl_file *file = NULL;
        assert_true(gone[i] || (tl_fs_create(fs, base->paths[i], &file, NULL) == TL_OK &&
                                tl_file_write(file, files[i].data, files[i].len, NULL) == TL_OK && tl_file_close(file, NULL) == TL_OK));
        tl_buf_deinit(&files[i]);
    }
    assert_int_equal(tl_fs_publish(fs, "/lake/outside", (tl_bytes_view){(const uint8_t *)"x", 1}, false, NULL), TL_OK);
    return fs;
}

/* ---- what is done with it ---- */

static void read_some(tl_catalog *catalog, const char *name, const char *key, const char *value)
{
    tl_options dynamic = {0};
    tl_table *table = NULL;
    if (key != NULL)
        assert_int_equal(tl_options_set(&dynamic, key, value), TL_OK);
    if (tl_table_open(catalog, "d", name, &dynamic, &table, NULL) == TL_OK) {
        tl_scan_spec spec = {.limit = -1};
        tl_reader *reader = NULL;
        if (tl_table_read(table, &spec, &reader, NULL) == TL_OK) {
            tl_batch *batch = NULL;
            for (int n = 0; n < 100 && tl_reader_next(reader, &batch, NULL) == TL_OK && batch != NULL; n++) {
                for (int32_t c = 0; c < batch->n_cols; c++)
                    assert_int_equal(tl_column_check(batch->cols[c], NULL), TL_OK);
                tl_batch_free(batch);
                batch = NULL;
            }
            tl_batch_free(batch);
        }
        tl_reader_free(reader);
    }
    tl_table_free(table);
    tl_options_deinit(&dynamic);
}

static void follow(tl_table *table)
{
    tl_stream_scan *scan = NULL;
    bool ready = true;
    if (tl_stream_scan_create(table, 1, &scan, NULL) == TL_OK) {
        for (int n = 0; n < 20 && ready; n++) {
            tl_splits splits = {0};
            rows changes = {0};
            int64_t id;
            bool full;
            if (tl_stream_scan_plan(scan, &splits, &ready, &id, &full, NULL) != TL_OK)
                ready = false;
            (void)read_splits(table, &splits, &changes, NULL); /* may fail */
            rows_free(&changes);
            tl_splits_deinit(&splits);
        }
    }
    tl_stream_scan_free(scan);
}

static void act(tl_table *table, const table_kind *kind, uint32_t what, int number)
{
    tl_fsck_report report = {0};
    tl_commit_result result = {0};
    tl_expire_spec expire = {.retain_max = 1, .retain_min = 1, .older_than_ms = 0};
    rows list = {0};
    rows_add(&list, (row){.k = number, .v = number});
    switch (what) {
    case 0:
        follow(table);
        break;
    case 1:
        if (tl_table_fsck(table, true, &report, NULL) == TL_OK)
            tl_fsck_report_deinit(&report);
        break;
    case 2:
        (void)commit_rows(table, kind, &list, "writer", COMMITS + number % 3, NULL, &result, NULL);
        break;
    case 3:
        (void)tl_table_compact(table, NULL, true, NULL, &result, NULL);
        break;
    case 4:
        (void)tl_table_expire(table, &expire, NULL, NULL);
        break;
    case 5:
        (void)tl_table_rollback(table, 0, "good", NULL);
        break;
    case 6:
        (void)tl_table_rollback(table, 2, NULL, NULL);
        break;
    case 7:
        (void)tl_table_delete_tag(table, "good", NULL);
        break;
    case 8:
        (void)tl_table_create_tag(table, "new", 0, TL_ABSENT, NULL);
        break;
    case 9:
        (void)tl_table_delete_branch(table, "side", NULL);
        break;
    default:
        (void)tl_table_create_branch(table, "new", "good", NULL);
    }
    rows_free(&list);
}

static const char *const reads[][3] = {{"t", NULL, NULL},
                                       {"t", "scan.snapshot-id", "2"},
                                       {"t", "scan.tag-name", "good"},
                                       {"t", "incremental-between", "1,3"},
                                       {"t", "scan.timestamp-millis", "99999999999999"},
                                       {"t$branch_side", NULL, NULL},
                                       {"t$audit_log", NULL, NULL},
                                       {"t$snapshots", NULL, NULL},
                                       {"t$schemas", NULL, NULL},
                                       {"t$files", NULL, NULL},
                                       {"t$manifests", NULL, NULL},
                                       {"t$partitions", NULL, NULL},
                                       {"t$tags", NULL, NULL},
                                       {"t$branches", NULL, NULL},
                                       {"t$consumers", NULL, NULL},
                                       {"t$ro", NULL, NULL},
                                       {"t$file_key_ranges", NULL, NULL},
                                       {"t$options", NULL, NULL}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, size};
    uint32_t k = take_below(&in, TL_ARRAY_LEN(kinds));
    tl_catalog *catalog = NULL;
    tl_table *table = NULL;
    random_state = k;
    if (bases[k].n == 0) {
        tl_log_set(NULL, NULL, TL_LOG_ERROR);
        make_base(&kinds[k], &bases[k]);
    }
    random_state = 100;
    /* Mostly one read or one action: what comes after finds the same damage. At times several, one after the other. */
    uint32_t plan = take_below(&in, 16), n_views = plan == 15 ? 2 : plan % 2, n_actions = plan == 15 ? 3 : 1 - plan % 2;
    uint32_t actions[3] = {take_below(&in, 11), take_below(&in, 11), take_below(&in, 11)};
    uint32_t views[2] = {take_below(&in, TL_ARRAY_LEN(reads)), take_below(&in, TL_ARRAY_LEN(reads))};
    tl_fs *fs = damaged(&bases[k], &in), *guarded = guard(fs);
    if (tl_catalog_open(guarded, "/lake", &catalog, NULL) == TL_OK) {
        for (uint32_t i = 0; i < n_views; i++)
            read_some(catalog, reads[views[i]][0], reads[views[i]][1], reads[views[i]][2]);
        if (n_actions > 0 && open_table(catalog, NULL, NULL, &table, NULL) == TL_OK)
            for (uint32_t i = 0; i < n_actions; i++)
                act(table, &kinds[k], actions[i], (int)i);
        tl_table_free(table);
        tl_catalog_close(catalog);
    }
    tl_fs_unref(guarded);
    tl_fs_unref(fs);
    return 0;
}
