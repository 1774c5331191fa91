/*
 * Small tables for the tests of table/: made from text, filled with JSON lines, read back as sorted JSON lines.
 */
#ifndef TL_TESTS_TABLE_SUPPORT_H
#define TL_TESTS_TABLE_SUPPORT_H

#include "support/random_column.h"
#include "table/table_private.h"

typedef struct lake {
    tl_fs *fs;
    tl_catalog *catalog;
} lake;

static inline lake lake_at(tl_fs *fs, const char *root)
{
    lake l = {.fs = fs};
    tl_error err;
    assert_ok(tl_catalog_open(fs, root, &l.catalog, &err), &err);
    assert_ok(tl_catalog_create_database(l.catalog, "d", /* if_not_exists= */ true, &err), &err);
    return l;
}

static inline lake lake_on(tl_fs *fs)
{
    return lake_at(fs, "/lake");
}

static inline lake memory_lake(void)
{
    tl_fs *fs = NULL;
    tl_error err;
    assert_ok(tl_fs_memory(&fs, &err), &err);
    return lake_on(fs);
}

static inline void close_lake(lake *l)
{
    tl_catalog_close(l->catalog);
    tl_fs_unref(l->fs);
    *l = (lake){NULL, NULL};
}

/* ---- options and names from text ---- */

/* "a=1,b=2"; a comma in a value is written as ';'. */
static inline tl_options options_of(const char *text)
{
    tl_options opts = {0};
    char *copy = strdup(text == NULL ? "" : text), *save = NULL;
    for (char *part = strtok_r(copy, ",", &save); part != NULL; part = strtok_r(NULL, ",", &save)) {
        char *value = strchr(part, '=');
        assert_non_null(value);
        *value++ = '\0';
        for (char *c = value; *c != '\0'; c++)
            *c = *c == ';' ? ',' : *c;
        assert_int_equal(tl_options_set(&opts, part, value), TL_OK);
    }
    free(copy);
    return opts;
}

static inline char **names_of(const char *text, int32_t *n)
{
    char **names = NULL;
    size_t count = 0;
    tl_error err;
    *n = 0;
    if (text == NULL || *text == '\0')
        return NULL;
    assert_ok(tl_table__split_list(text, true, &names, &count, &err), &err);
    *n = (int32_t)count;
    return names;
}

static inline void forget_names(char **names, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        tl_free(names[i]);
    tl_free(names);
}

/* ---- tables ---- */

/* Columns as in ROW<…>; keys and partition as comma lists, or NULL. */
static inline tl_status try_create(lake *l, const char *name, const char *columns, const char *keys, const char *partition,
                                   const char *options, tl_error *err)
{
    char text[2048];
    snprintf(text, sizeof text, "ROW<%s> NOT NULL", columns);
    const tl_type *type = test_type(text);
    tl_options opts = options_of(options);
    tl_table_def def = {.row_type = type, .options = &opts};
    char **key_names = names_of(keys, &def.n_primary_keys), **partition_names = names_of(partition, &def.n_partition_keys);
    def.primary_keys = key_names;
    def.partition_keys = partition_names;
    tl_status status = tl_table_create(l->catalog, "d", name, &def, /* if_not_exists= */ false, err);
    forget_names(key_names, def.n_primary_keys);
    forget_names(partition_names, def.n_partition_keys);
    tl_options_deinit(&opts);
    tl_type_unref(type);
    return status;
}

static inline void create(lake *l, const char *name, const char *columns, const char *keys, const char *partition,
                          const char *options)
{
    tl_error err;
    assert_ok(try_create(l, name, columns, keys, partition, options, &err), &err);
}

static inline tl_status try_open(lake *l, const char *name, const char *options, tl_table **out, tl_error *err)
{
    tl_options opts = options_of(options);
    tl_status status = tl_table_open(l->catalog, "d", name, &opts, out, err);
    tl_options_deinit(&opts);
    return status;
}

static inline tl_table *open_with(lake *l, const char *name, const char *options)
{
    tl_table *table = NULL;
    tl_error err;
    assert_ok(try_open(l, name, options, &table, &err), &err);
    return table;
}

static inline tl_table *open_table(lake *l, const char *name)
{
    return open_with(l, name, NULL);
}

/* ---- rows ---- */

/* One JSON object a line, `_kind` as "-D" and the like. */
static inline tl_batch *batch_of(const tl_type *type, const char *lines)
{
    tl_arena arena = {0};
    tl_error err;
    tl_builder *cols[64];
    uint8_t *kinds = tl_alloc(strlen(lines) + 1);
    int64_t n = 0;
    assert_true(type->n_fields <= 64);
    for (int32_t c = 0; c < type->n_fields; c++)
        assert_ok(tl_builder_create(type->fields[c].type, &cols[c], &err), &err);
    while (*lines != '\0') {
        size_t len = strcspn(lines, "\n");
        const tl_json *row = NULL;
        if (len > 0) {
            assert_ok(tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)lines, len}, &row, &err), &err);
            for (int32_t c = 0; c < type->n_fields; c++)
                assert_ok(tl_text_read_json(tl_json_get(row, type->fields[c].name), type->fields[c].type, cols[c], &err), &err);
            const tl_json *kind = tl_json_get(row, "_kind");
            kinds[n] = TL_KIND_INSERT;
            assert_true(kind == NULL || tl_row_kind_parse(kind->text, &kinds[n]));
            n++;
        }
        lines += len + (lines[len] == '\n');
    }
    tl_batch *batch = NULL;
    assert_ok(tl_batch_create(type, n, &batch, &err), &err);
    for (int32_t c = 0; c < type->n_fields; c++) {
        assert_ok(tl_builder_finish(cols[c], &batch->cols[c], &err), &err);
        tl_builder_free(cols[c]);
    }
    batch->row_kind = kinds;
    tl_arena_deinit(&arena);
    return batch;
}

static inline int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines of a text in order; free(). */
static inline char *sort_lines(const char *text)
{
    size_t n = 0, cap = 1;
    for (const char *c = text; *c != '\0'; c++)
        cap += *c == '\n';
    char **lines = malloc(cap * sizeof *lines), *copy = strdup(text), *save = NULL, *out = calloc(1, strlen(text) + 2);
    for (char *line = strtok_r(copy, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
        lines[n++] = line;
    qsort(lines, n, sizeof *lines, compare_lines);
    char *at = out;
    for (size_t i = 0; i < n; i++)
        at += sprintf(at, "%s\n", lines[i]);
    free(lines);
    free(copy);
    return out;
}

static inline tl_status drain(tl_reader *reader, bool with_kinds, tl_buf *out, tl_error *err)
{
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        if (tl_text_append_json_lines(out, batch, 0, batch->n_rows, with_kinds, false) != TL_OK)
            return tl_nomem(err, "text");
    }
}

static inline tl_predicate *predicate_of(const tl_type *type, const char *json)
{
    tl_arena arena = {0};
    const tl_json *node = NULL;
    tl_predicate *pred = NULL;
    tl_error err;
    assert_ok(tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)json, strlen(json)}, &node, &err), &err);
    assert_ok(tl_predicate_from_json(node, type, &pred, &err), &err);
    tl_arena_deinit(&arena);
    return pred;
}

static inline tl_status try_read(tl_table *table, const char *where, bool with_kinds, tl_pool *pool, char **out, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = where == NULL ? NULL : predicate_of(tl_table_row_type(table), where);
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    tl_scan_spec spec = {.predicate = pred, .limit = -1, .with_kinds = with_kinds, .pool = pool};
    tl_buf text = {0};
    TL_TRY(tl_table_read(table, &spec, &reader, err));
    tl_status status = drain(reader, with_kinds, &text, err);
    if (status == TL_OK && tl_buf_append_byte(&text, 0) != TL_OK)
        status = tl_nomem(err, "text");
    if (status == TL_OK)
        *out = sort_lines((const char *)text.data);
    tl_buf_deinit(&text);
    return status;
}

/* Rows as sorted lines; free(). */
static inline char *read_where(tl_table *table, const char *where)
{
    char *text = NULL;
    tl_error err;
    assert_ok(try_read(table, where, false, NULL, &text, &err), &err);
    return text;
}

/* Lines in any order, compared as sets; `want` may be written with apostrophes for quotes. */
static inline void assert_lines(const char *got, const char *want)
{
    char *quoted = strdup(want);
    for (char *c = quoted; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    char *sorted = sort_lines(quoted);
    if (strcmp(got, sorted) != 0)
        fail_msg("got:\n%swanted:\n%s", got, sorted);
    free(sorted);
    free(quoted);
}

static inline void assert_rows(lake *l, const char *name, const char *options, const char *want)
{
    tl_table *table = open_with(l, name, options);
    char *got = read_where(table, NULL);
    assert_lines(got, want);
    free(got);
    tl_table_free(table);
}

/* ---- writing ---- */

static inline char *quoted(const char *lines)
{
    char *out = strdup(lines);
    for (char *c = out; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    return out;
}

static inline tl_status write_lines(tl_table *table, tl_table_writer *writer, const char *lines, tl_error *err)
{
    char *text = quoted(lines);
    tl_batch *batch = batch_of(tl_table_schema_of(table)->row_type, text);
    tl_status status = tl_table_writer_write(writer, batch, err);
    tl_batch_free(batch);
    free(text);
    return status;
}

/* Messages of one writer that gets these lines. */
static inline tl_status prepare_lines(tl_table *table, const char *lines, bool full, bool ignore_previous, tl_commit_messages *out,
                                      tl_error *err)
{
    tl_write_options options = {.ignore_previous = ignore_previous};
    tl_table_writer *writer = NULL;
    TL_TRY(tl_table_writer_create(table, &options, &writer, err));
    tl_status status = write_lines(table, writer, lines, err);
    if (status == TL_OK && full)
        status = tl_table_writer_compact(writer, true, err);
    if (status == TL_OK)
        status = tl_table_writer_prepare(writer, true, out, err);
    tl_table_writer_free(writer);
    return status;
}

static inline tl_commit_messages prepared(tl_table *table, const char *lines, bool full)
{
    tl_commit_messages messages = {0};
    tl_error err;
    assert_ok(prepare_lines(table, lines, full, false, &messages, &err), &err);
    return messages;
}

static inline tl_commit_spec batch_commit(const char *user, int64_t identifier)
{
    return (tl_commit_spec){.user = user, .identifier = identifier, .watermark = TL_ABSENT};
}

/* Write and commit; the table's own handle sees it afterwards. */
static inline tl_commit_result put_as(tl_table *table, const char *user, int64_t identifier, const char *lines, bool full)
{
    tl_commit_messages messages = prepared(table, lines, full);
    tl_commit_spec spec = batch_commit(user, identifier);
    tl_commit_result result = {0};
    tl_error err;
    assert_ok(tl_table_commit(table, &spec, &messages, &result, &err), &err);
    tl_commit_messages_deinit(&messages);
    return result;
}

static inline tl_commit_result put(tl_table *table, const char *lines)
{
    return put_as(table, NULL, TL_COMMIT_BATCH, lines, false);
}

/* ---- following ---- */

typedef struct follower {
    tl_table *table;
    tl_stream_scan *scan;
} follower;

static inline follower follow(lake *l, const char *options, int64_t next)
{
    follower f = {0};
    tl_options opts = options_of(options);
    tl_error err;
    assert_ok(tl_table_open_streaming(l->catalog, "d", "t", &opts, &f.table, &err), &err);
    assert_ok(tl_stream_scan_create(f.table, next, &f.scan, &err), &err);
    tl_options_deinit(&opts);
    return f;
}

static inline void unfollow(follower *f)
{
    tl_stream_scan_free(f->scan);
    tl_table_free(f->table);
}

/* The next plan's rows with kinds, or NULL if nothing is new. */
static inline char *next_changes(follower *f, int64_t *snapshot, bool *full)
{
    tl_splits splits = {0};
    tl_buf text = {0};
    bool ready = false;
    tl_error err;
    assert_ok(tl_stream_scan_plan(f->scan, &splits, &ready, snapshot, full, &err), &err);
    tl_scan_spec spec = {.limit = -1, .with_kinds = true};
    for (size_t i = 0; i < splits.n; i++) {
        TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
        assert_ok(tl_table_read_split(f->table, &splits.items[i], &spec, &reader, &err), &err);
        assert_ok(drain(reader, true, &text, &err), &err);
    }
    tl_splits_deinit(&splits);
    assert_int_equal(tl_buf_append_byte(&text, 0), TL_OK);
    char *sorted = ready ? sort_lines((const char *)text.data) : NULL;
    tl_buf_deinit(&text);
    return sorted;
}

/* ---- what lies on disk ---- */

/* Files below a folder, as paths; free each and the list. */
static inline void walk_files(tl_fs *fs, const char *dir, char ***paths, size_t *n)
{
    tl_dir_entry *entries = NULL;
    size_t count = 0;
    tl_error err;
    assert_ok(tl_fs_list(fs, dir, &entries, &count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        char *path = tl_path_join(dir, entries[i].name);
        if (entries[i].stat.is_dir) {
            walk_files(fs, path, paths, n);
            tl_free(path);
        } else {
            *paths = realloc(*paths, (*n + 1) * sizeof **paths);
            (*paths)[(*n)++] = path;
        }
    }
    tl_dir_free(entries, count);
}

/* How many files have `part` in their path. */
static inline size_t files_with(tl_fs *fs, const char *part)
{
    char **paths = NULL;
    size_t n = 0, hits = 0;
    walk_files(fs, "/lake", &paths, &n);
    for (size_t i = 0; i < n; i++) {
        hits += strstr(paths[i], part) != NULL;
        tl_free(paths[i]);
    }
    free(paths);
    return hits;
}

static inline void assert_sound(tl_table *table)
{
    tl_fsck_report report = {0};
    tl_error err;
    assert_ok(tl_table_fsck(table, true, &report, &err), &err);
    if (report.n_problems > 0)
        fail_msg("fsck: %s (and %zu more)", report.problems[0], report.n_problems - 1);
    tl_fsck_report_deinit(&report);
}

static inline tl_snapshot *latest_of(tl_table *table)
{
    tl_snapshot *snap = NULL;
    tl_error err;
    assert_ok(tl_table_latest_snapshot(table, &snap, &err), &err);
    assert_non_null(snap);
    return snap;
}

#endif
