/*
 * A small table for the tests of lsm/: columns k INT, t STRING (the primary key), a BIGINT, b STRING, s INT; its rows as plain
 * structs; one bucket with the files that are live in it; reads into structs; checks of what files say about themselves.
 */
#ifndef TL_TESTS_LSM_SUPPORT_H
#define TL_TESTS_LSM_SUPPORT_H

#include "lsm/lsm_private.h"
#include "support/random_column.h"
#include "types/binary_row.h"

typedef struct row {
    int32_t k;
    int32_t t; /* text "tNNN" */
    bool has_a;
    int64_t a;
    bool has_b;
    int32_t b; /* text "bNNN" */
    bool has_s;
    int32_t s;
    uint8_t kind;
    int64_t seq;
} row;

typedef struct rows {
    row *items;
    size_t n;
    size_t cap;
} rows;

static inline void rows_add(rows *list, row r)
{
    if (list->n == list->cap) {
        list->cap = list->cap == 0 ? 64 : list->cap * 2;
        list->items = realloc(list->items, list->cap * sizeof(*list->items));
        assert_non_null(list->items);
    }
    list->items[list->n++] = r;
}

static inline void rows_free(rows *list)
{
    free(list->items);
    *list = (rows){NULL, 0, 0};
}

static inline int compare_keys(const row *a, const row *b)
{
    if (a->k != b->k)
        return a->k < b->k ? -1 : 1;
    return (a->t > b->t) - (a->t < b->t);
}

static inline int compare_rows(const void *x, const void *y)
{
    const row *a = x, *b = y;
    int c = compare_keys(a, b);
    if (c == 0)
        c = (a->has_a > b->has_a) - (a->has_a < b->has_a);
    if (c == 0)
        c = (a->a > b->a) - (a->a < b->a);
    if (c == 0)
        c = (a->has_b > b->has_b) - (a->has_b < b->has_b);
    if (c == 0)
        c = (a->b > b->b) - (a->b < b->b);
    if (c == 0)
        c = (a->has_s > b->has_s) - (a->has_s < b->has_s);
    if (c == 0)
        c = (a->s > b->s) - (a->s < b->s);
    return c != 0 ? c : (int)a->kind - (int)b->kind;
}

static inline bool same_values(const row *a, const row *b)
{
    row x = *a, y = *b;
    x.kind = y.kind = 0;
    return compare_rows(&x, &y) == 0;
}

static inline void print_row(const char *what, const row *r)
{
    printf("  %s: k=%d t=%d a=%s%lld b=%s%d s=%s%d kind=%s seq=%lld\n", what, r->k, r->t, r->has_a ? "" : "NULL ",
           (long long)r->a, r->has_b ? "" : "NULL ", r->b, r->has_s ? "" : "NULL ", r->s, tl_row_kind_text(r->kind),
           (long long)r->seq);
}

/* Equal as sets (both are sorted here). */
static inline void assert_same_rows(rows *got, rows *want, bool with_kinds)
{
    for (size_t i = 0; i < got->n && !with_kinds; i++)
        got->items[i].kind = 0;
    for (size_t i = 0; i < want->n && !with_kinds; i++)
        want->items[i].kind = 0;
    if (got->n > 0)
        qsort(got->items, got->n, sizeof(row), compare_rows);
    if (want->n > 0)
        qsort(want->items, want->n, sizeof(row), compare_rows);
    for (size_t i = 0; i < got->n || i < want->n; i++) {
        if (i < got->n && i < want->n && compare_rows(&got->items[i], &want->items[i]) == 0)
            continue;
        if (i < got->n)
            print_row("got", &got->items[i]);
        if (i < want->n)
            print_row("want", &want->items[i]);
        fail_msg("row %zu of %zu differs, %zu wanted", i, got->n, want->n);
    }
}

/* ---- batches ---- */

static inline const tl_type *table_type(void)
{
    return test_type("ROW<k INT NOT NULL, t STRING NOT NULL, a BIGINT, b STRING, s INT> NOT NULL");
}

static inline tl_column *make_column(const tl_type *type, const row *items, size_t n, int column)
{
    tl_builder *builder = NULL;
    tl_column *col = NULL;
    tl_error err;
    char text[16];
    assert_ok(tl_builder_create(type, &builder, &err), &err);
    for (size_t i = 0; i < n; i++) {
        const row *r = &items[i];
        tl_status status = TL_OK;
        bool has = column < 2 || (column == 2 && r->has_a) || (column == 3 && r->has_b) || (column == 4 && r->has_s);
        if (!has)
            status = tl_builder_null(builder);
        else if (column == 1 || column == 3)
            status = tl_builder_bytes(
                builder, text,
                (size_t)snprintf(text, sizeof text, "%c%03d", column == 1 ? 't' : 'b', column == 1 ? r->t : r->b));
        else
            status = tl_builder_int(builder, column == 0 ? r->k : column == 2 ? r->a : r->s);
        assert_int_equal(status, TL_OK);
    }
    assert_ok(tl_builder_finish(builder, &col, &err), &err);
    tl_builder_free(builder);
    return col;
}

static inline tl_batch *make_batch(const tl_type *type, const row *items, size_t n)
{
    tl_batch *batch = NULL;
    tl_error err;
    assert_ok(tl_batch_create(type, (int64_t)n, &batch, &err), &err);
    for (int c = 0; c < 5; c++)
        batch->cols[c] = make_column(type->fields[c].type, items, n, c);
    batch->row_kind = tl_alloc(n + 1);
    assert_non_null(batch->row_kind);
    for (size_t i = 0; i < n; i++)
        batch->row_kind[i] = items[i].kind;
    return batch;
}

static inline int32_t number_of(const tl_column *col, int64_t i)
{
    tl_bytes_view text = tl_col_bytes(col, i);
    int32_t n = 0;
    assert_true(text.len >= 4);
    for (size_t c = 1; c < text.len; c++)
        n = n * 10 + text.data[c] - '0';
    return n;
}

static inline row row_of(const tl_batch *batch, int64_t i)
{
    row r = {.k = tl_col_i32(batch->cols[0], i), .t = number_of(batch->cols[1], i)};
    r.has_a = !tl_col_is_null(batch->cols[2], i);
    r.a = r.has_a ? tl_col_i64(batch->cols[2], i) : 0;
    r.has_b = !tl_col_is_null(batch->cols[3], i);
    r.b = r.has_b ? number_of(batch->cols[3], i) : 0;
    r.has_s = !tl_col_is_null(batch->cols[4], i);
    r.s = r.has_s ? tl_col_i32(batch->cols[4], i) : 0;
    r.kind = tl_batch_kind(batch, i);
    r.seq = batch->seq == NULL ? 0 : batch->seq[i];
    return r;
}

/* All rows of a reader, which is freed. */
static inline void drain(tl_reader *reader, rows *out)
{
    tl_error err;
    for (;;) {
        tl_batch *batch = NULL;
        assert_ok(tl_reader_next(reader, &batch, &err), &err);
        if (batch == NULL)
            break;
        for (int64_t i = 0; i < batch->n_rows; i++)
            rows_add(out, row_of(batch, i));
        tl_batch_free(batch);
    }
    tl_reader_free(reader);
}

/* ---- table and bucket ---- */

#define NO_PARTITION ((tl_bytes_view){(const uint8_t[12]){0}, 12})

static inline tl_table_schema *make_schema(const char *const *options, const char *const *primary_keys, int n_keys)
{
    tl_json_writer w;
    tl_bytes json;
    tl_table_schema *schema = NULL;
    tl_error err;
    static const char *const names[] = {"k", "t", "a", "b", "s"};
    static const char *const types[] = {"INT NOT NULL", "STRING NOT NULL", "BIGINT", "STRING", "INT"};
    tl_json_writer_init(&w, false);
    tl_json_begin_object(&w);
    tl_json_key(&w, "version");
    tl_json_write_int(&w, 3);
    tl_json_key(&w, "id");
    tl_json_write_int(&w, 0);
    tl_json_key(&w, "fields");
    tl_json_begin_array(&w);
    for (int i = 0; i < 5; i++) {
        tl_json_begin_object(&w);
        tl_json_key(&w, "id");
        tl_json_write_int(&w, i);
        tl_json_key(&w, "name");
        tl_json_write_str(&w, names[i]);
        tl_json_key(&w, "type");
        tl_json_write_str(&w, types[i]);
        tl_json_end_object(&w);
    }
    tl_json_end_array(&w);
    tl_json_key(&w, "highestFieldId");
    tl_json_write_int(&w, 4);
    tl_json_key(&w, "partitionKeys");
    tl_json_begin_array(&w);
    tl_json_end_array(&w);
    tl_json_key(&w, "primaryKeys");
    tl_json_begin_array(&w);
    for (int i = 0; i < n_keys; i++)
        tl_json_write_str(&w, primary_keys[i]);
    tl_json_end_array(&w);
    tl_json_key(&w, "options");
    tl_json_begin_object(&w);
    for (int i = 0; options != NULL && options[2 * i] != NULL; i++) {
        tl_json_key(&w, options[2 * i]);
        tl_json_write_str(&w, options[2 * i + 1]);
    }
    tl_json_end_object(&w);
    tl_json_end_object(&w);
    json = tl_buf_steal(&w.out);
    tl_json_writer_deinit(&w);
    assert_ok(tl_table_schema_parse(tl_bytes_view_of(json), &schema, &err), &err);
    tl_bytes_deinit(&json);
    return schema;
}

/* Options: pairs ended by NULL. */
static inline tl_lsm_config *make_config_on(tl_fs *fs, const char *const *options, bool keyed)
{
    static const char *const keys[] = {"k", "t"};
    tl_table_schema *schema = make_schema(options, keys, keyed ? 2 : 0);
    tl_paths paths = {.table = "/t"};
    tl_lsm_config *config = NULL;
    tl_error err;
    assert_ok(tl_lsm_config_create(fs, &paths, schema, &config, &err), &err);
    tl_table_schema_unref(schema);
    tl_fs_unref(config->spill_fs);
    config->spill_fs = tl_fs_ref(fs);
    return config;
}

static inline tl_fs *memory_fs(void)
{
    tl_fs *fs = NULL;
    tl_error err;
    assert_ok(tl_fs_memory(&fs, &err), &err);
    return fs;
}

/* Apply a message to the live files, as commits do. */
static inline void apply_message(tl_file_list *live, const tl_commit_message *msg)
{
    tl_error err;
    assert_ok(tl_lsm__list_add_all(live, &msg->new_files, &err), &err);
    for (size_t i = 0; i < msg->compact_before.n; i++) {
        const tl_data_file *gone = msg->compact_before.items[i];
        size_t at = live->n;
        for (size_t j = 0; j < live->n; j++) {
            if (strcmp(live->items[j]->name, gone->name) == 0 && live->items[j]->level == gone->level)
                at = j;
        }
        if (at == live->n)
            fail_msg("file '%s' of level %d is deleted, but not live", gone->name, gone->level);
        tl_lsm__list_remove_at(live, at);
    }
    assert_ok(tl_lsm__list_add_all(live, &msg->compact_after, &err), &err);
}

static inline void read_live(tl_lsm_config *config, const tl_file_list *live, rows *out)
{
    tl_bucket_read_spec spec = {.with_kinds = true};
    tl_reader *reader = NULL;
    tl_error err;
    assert_ok(tl_bucket_read(config, NO_PARTITION, 0, live->items, live->n, &spec, &reader, &err), &err);
    drain(reader, out);
}

static inline void read_files(tl_lsm_config *config, const tl_file_list *files, rows *out)
{
    tl_bucket_read_spec spec = {.with_seq = config->n_keys > 0};
    tl_reader *reader = NULL;
    tl_error err;
    assert_ok(tl_files_read(config, NO_PARTITION, 0, files->items, files->n, &spec, &reader, &err), &err);
    drain(reader, out);
}

static inline row key_of(tl_lsm_config *config, tl_bytes key)
{
    tl_batch *batch = NULL;
    tl_error err;
    assert_ok(tl_binary_row_decode(tl_bytes_view_of(key), config->layout->key_type, true, &batch, &err), &err);
    row r = {.k = tl_col_i32(batch->cols[0], 0), .t = number_of(batch->cols[1], 0)};
    tl_batch_free(batch);
    return r;
}

/* What a file's entry says is what is in it. */
static inline void check_file(tl_lsm_config *config, const tl_data_file *file, bool changelog)
{
    tl_file_list one = {0};
    rows got = {0};
    tl_error err;
    tl_stat st;
    char *path = tl_data_file_path(config, NO_PARTITION, 0, file);
    assert_ok(tl_fs_stat(config->fs, path, &st, &err), &err);
    assert_int_equal(st.bytes, file->bytes);
    tl_free(path);
    assert_ok(tl_file_list_add(&one, file, &err), &err);
    read_files(config, &one, &got);
    assert_int_equal(got.n, file->rows);
    assert_true(got.n > 0);
    int64_t min = INT64_MAX, max = INT64_MIN, deletes = 0;
    for (size_t i = 0; i < got.n; i++) {
        min = TL_MIN(min, got.items[i].seq);
        max = TL_MAX(max, got.items[i].seq);
        deletes += tl_kind_is_retract(got.items[i].kind);
        if (i > 0)
            assert_true(compare_keys(&got.items[i - 1], &got.items[i]) < (changelog ? 1 : 0));
    }
    row min_key = key_of(config, file->min_key), max_key = key_of(config, file->max_key);
    assert_int_equal(compare_keys(&min_key, &got.items[0]), 0);
    assert_int_equal(compare_keys(&max_key, &got.items[got.n - 1]), 0);
    assert_int_equal(min, file->min_seq);
    assert_int_equal(max, file->max_seq);
    assert_int_equal(deletes, file->delete_rows);
    assert_int_equal(file->schema_id, config->schema->id);
    assert_int_equal(file->key_stats.n, 2);
    rows_free(&got);
    tl_file_list_deinit(&one);
}

static inline void check_message(tl_lsm_config *config, const tl_commit_message *msg)
{
    const tl_file_list *data[] = {&msg->new_files, &msg->compact_after};
    const tl_file_list *logs[] = {&msg->changelog_files, &msg->compact_changelog};
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < data[l]->n; i++) {
            check_file(config, data[l]->items[i], /* changelog= */ false);
            assert_true(l == 0 ? data[l]->items[i]->level == 0 : data[l]->items[i]->level > 0);
        }
        for (size_t i = 0; i < logs[l]->n; i++) {
            check_file(config, logs[l]->items[i], /* changelog= */ true);
            assert_int_equal(logs[l]->items[i]->file_source, 0);
        }
    }
}

/* Levels above 0 are disjoint. */
static inline void check_levels(tl_lsm_config *config, const tl_file_list *live)
{
    tl_lsm__levels levels = {0};
    tl_error err;
    assert_ok(tl_lsm__levels_init(&levels, config, live->items, live->n, &err), &err);
    tl_lsm__levels_deinit(&levels);
}

/* Every file in the bucket's folder is one of the lists'. */
static inline size_t count_files(tl_fs *fs, const char *dir)
{
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    tl_error err;
    assert_ok(tl_fs_list(fs, dir, &entries, &n, &err), &err);
    tl_dir_free(entries, n);
    return n;
}

#endif
