/*
 * Avro data files of the fixtures: append tables read as the reference read them; every file written again has the
 * reference's schema text and the statistics that its manifest records.
 */
#include "fixture_tables.h"
#include "format/avro/avro.h"
#include "manifest_compare.h"
#include "types/binary_row.h"
#include "types/text.h"

#define COLUMNS_MAX 2000

typedef struct avro_ctx {
    int tables, files, rows, compared_tables, same_stats;
    char **lines;
    size_t n_lines, cap_lines;
    tl_table_schema *schema;
    const tl_type *file_type; /* of the table being read */
} avro_ctx;

/* ---- files ---- */

static tl_bytes_view header_schema(tl_bytes_view file)
{
    const uint8_t *from = memchr(file.data, '{', file.len), *to = memmem(file.data, file.len,
                                                                         "\x14"
                                                                         "avro.codec",
                                                                         11);
    return (tl_bytes_view){from, (size_t)(to - from)};
}

/* The columns of a table's file: all of them, after key, sequence number and kind in tables with a key (format reference §8).
 */
static const tl_type *file_type_of(const tl_table_schema *schema)
{
    tl_error err;
    static tl_field fields[COLUMNS_MAX];
    int32_t keys[64], n = 0, n_keys = tl_table_schema_trimmed_keys(schema, keys);
    const tl_type *bigint = NULL, *tinyint = NULL, *out = NULL;
    char names[64][256];
    assert_ok(tl_type_create(TL_BIGINT, false, 0, 0, &bigint, &err), &err);
    assert_ok(tl_type_create(TL_TINYINT, false, 0, 0, &tinyint, &err), &err);
    bool thin = tl_options_get(&schema->options, "data-file.thin-mode") != NULL;
    for (int32_t k = 0; k < n_keys && !thin; k++) {
        snprintf(names[k], sizeof names[k], "_KEY_%s", schema->row_type->fields[keys[k]].name);
        fields[n++] = (tl_field){.name = names[k], .type = schema->row_type->fields[keys[k]].type};
    }
    if (n_keys > 0) {
        fields[n++] = (tl_field){.name = (char *)"_SEQUENCE_NUMBER", .type = bigint};
        fields[n++] = (tl_field){.name = (char *)"_VALUE_KIND", .type = tinyint};
    }
    for (int32_t i = 0; i < schema->row_type->n_fields; i++)
        fields[n++] = schema->row_type->fields[i];
    assert_ok(tl_type_create_row(false, fields, n, &out, &err), &err);
    tl_type_unref(bigint);
    tl_type_unref(tinyint);
    return out;
}

static void keep_line(avro_ctx *t, const tl_batch *batch, int64_t i)
{
    tl_buf buf = {0};
    assert_int_equal(tl_text_append_json_row(&buf, batch, i, false, 0), TL_OK);
    if (t->n_lines == t->cap_lines) {
        t->cap_lines = t->cap_lines * 2 + 64;
        t->lines = realloc(t->lines, t->cap_lines * sizeof *t->lines);
    }
    assert_int_equal(tl_buf_steal_str(&buf, &t->lines[t->n_lines++]), TL_OK);
}

/* Statistics of the table's columns as the reference's writer stored them. */
static void check_stats(avro_ctx *t, const tl_data_file *file, const tl_write_result *result)
{
    tl_error err;
    const tl_type *row = t->schema->row_type;
    int32_t n = row->n_fields, first = t->file_type->n_fields - n, n_cols = -1;
    const tl_type *types[COLUMNS_MAX];
    const char *names[COLUMNS_MAX];
    tl_stats_spec specs[COLUMNS_MAX];
    const char *mode = tl_options_get(&t->schema->options, "metadata.stats-mode");
    if (file->value_stats.n == 0)
        return; /* without statistics, e.g. in the postpone bucket */
    for (int32_t i = 0; i < n; i++) {
        types[i] = row->fields[i].type;
        names[i] = row->fields[i].name;
        assert_ok(tl_stats_spec_parse(mode != NULL ? mode : "truncate(16)", &specs[i], &err), &err);
    }
    tl_simple_stats built = {0};
    char **cols = NULL;
    assert_ok(
        tl_simple_stats_build(types, names, result->stats + first, specs, n, /* dense= */ true, &built, &cols, &n_cols, &err),
        &err);
    assert_same_texts(cols, n_cols, file->value_stats_cols, file->n_value_stats_cols, "statistics columns");
    assert_same_stats(&built, &file->value_stats, file->name);
    t->same_stats++;
    tl_names_free(cols, n_cols > 0 ? (size_t)n_cols : 0);
    tl_simple_stats_deinit(&built);
}

static void rewrite(avro_ctx *t, const tl_data_file *file, tl_batch *const *batches, int n, tl_bytes_view was)
{
    tl_error err;
    tl_fs *memory = NULL;
    tl_file_writer *w = NULL;
    tl_write_result result = {0};
    tl_bytes is = {0};
    assert_ok(tl_fs_memory(&memory, &err), &err);
    tl_write_spec spec = {.row_type = t->file_type, .compression = "zstd", .compression_level = 1, .with_stats = true};
    assert_ok(tl_format_avro.create(memory, "/f", &spec, &w, &err), &err);
    for (int i = 0; i < n; i++)
        assert_ok(w->ops->write(w, batches[i], &err), &err);
    assert_ok(w->ops->finish(w, &result, &err), &err);
    w->ops->free(w);
    assert_ok(tl_fs_read_all(memory, "/f", 1 << 30, &is, &err), &err);
    assert_int_equal(is.len, result.bytes);
    tl_bytes_view a = header_schema(was), b = header_schema(tl_bytes_view_of(is));
    if (!tl_bytes_equal(a, b))
        fail_msg("%s\n%.*s\n%.*s", file->name, (int)a.len, (const char *)a.data, (int)b.len, (const char *)b.data);
    if (memmem(was.data, was.len, "zstandard", 9) != NULL && (is.len * 100 > was.len * 105 + 5000))
        fail_msg("%s: %zu bytes, the reference has %zu", file->name, is.len, was.len);
    check_stats(t, file, &result);
    tl_write_result_deinit(&result);
    tl_bytes_deinit(&is);
    tl_fs_unref(memory);
}

static void check_file(tl_fs *fs, avro_ctx *t, const char *path, const tl_data_file *file, bool keep_lines)
{
    tl_error err;
    tl_reader *reader = NULL;
    tl_bytes content = {0};
    tl_batch *batches[1000];
    int n = 0;
    int64_t rows = 0;
    assert_ok(tl_format_avro.open(fs, path, file->bytes, &(tl_read_spec){.row_type = t->file_type}, &reader, &err), &err);
    for (;; n++) {
        assert_ok(tl_reader_next(reader, &batches[n], &err), &err);
        if (batches[n] == NULL)
            break;
        rows += batches[n]->n_rows;
        for (int64_t i = 0; keep_lines && i < batches[n]->n_rows; i++)
            keep_line(t, batches[n], i);
    }
    tl_reader_free(reader);
    assert_int_equal(rows, file->rows);
    assert_ok(tl_fs_read_all(fs, path, 1 << 30, &content, &err), &err);
    rewrite(t, file, batches, n, tl_bytes_view_of(content));
    tl_bytes_deinit(&content);
    for (int i = 0; i < n; i++)
        tl_batch_free(batches[i]);
    t->files++;
    t->rows += (int)rows;
}

/* ---- tables ---- */

static bool ends_with(const char *text, const char *end)
{
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static tl_status live_entries(tl_fs *fs, const tl_paths *paths, tl_entries *out, tl_error *err)
{
    int64_t id;
    tl_snapshot *snap = NULL;
    TL_TRY(tl_snapshot_latest_id(fs, paths, &id, err));
    if (id == 0)
        return TL_E_NOT_FOUND;
    TL_TRY(tl_snapshot_read(fs, paths, id, &snap, err));
    tl_manifest_list list = {0};
    tl_status status = snap->index_manifest != NULL ? TL_E_UNSUPPORTED : TL_OK;
    if (status == TL_OK)
        status = tl_manifest_list_read(fs, paths, snap->base_manifest_list, snap->base_manifest_list_bytes, &list, err);
    if (status == TL_OK)
        status = tl_manifest_list_read(fs, paths, snap->delta_manifest_list, snap->delta_manifest_list_bytes, &list, err);
    for (size_t i = 0; i < list.n && status == TL_OK; i++)
        status = tl_manifest_read(fs, paths, list.items[i].name, list.items[i].bytes, NULL, NULL, out, err);
    tl_manifest_list_deinit(&list);
    tl_snapshot_free(snap);
    return status == TL_OK ? tl_entries_merge(out, true, err) : status;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The case's expected.jsonl lies three folders above the table; it holds sorted lines. */
static void compare_lines_with_expected(avro_ctx *t, const char *table)
{
    char path[4096];
    size_t k = 0;
    ssize_t len;
    char *line = NULL;
    size_t cap = 0;
    snprintf(path, sizeof path, "%s/../../../expected.jsonl", table);
    FILE *f = fopen(path, "r");
    qsort(t->lines, t->n_lines, sizeof *t->lines, compare_lines);
    while (f != NULL && (len = getline(&line, &cap, f)) > 0) {
        line[len - 1] = line[len - 1] == '\n' ? 0 : line[len - 1];
        if (k >= t->n_lines || strcmp(t->lines[k], line) != 0)
            fail_msg("%s, line %zu: %s", path, k + 1, k < t->n_lines ? t->lines[k] : "missing");
        k++;
    }
    if (f != NULL) {
        assert_int_equal(k, t->n_lines);
        fclose(f);
        t->compared_tables++;
    }
    free(line);
}

static void check_entries(tl_fs *fs, const char *table, avro_ctx *t, const tl_entries *entries)
{
    bool comparable = t->schema->n_primary_keys == 0 && ends_with(table, "/t"); /* a case's main table */
    for (size_t i = 0; i < entries->n; i++) /* one schema, Avro files of the table's own columns only */
        if (entries->items[i].file->schema_id != t->schema->id || !ends_with(entries->items[i].file->name, ".avro") ||
            entries->items[i].file->n_write_cols >= 0 || entries->items[i].partition.len > 12)
            return;
    t->tables += entries->n > 0;
    for (size_t i = 0; i < entries->n; i++) {
        tl_paths paths = {.table = table};
        char *dir = tl_paths_bucket(&paths, NULL, "", entries->items[i].bucket),
             *path = tl_path_join(dir, entries->items[i].file->name);
        check_file(fs, t, path, entries->items[i].file, comparable);
        tl_free(path);
        tl_free(dir);
    }
    if (comparable && entries->n > 0)
        compare_lines_with_expected(t, table);
    for (size_t i = 0; i < t->n_lines; i++)
        tl_free(t->lines[i]);
    t->n_lines = 0;
}

static void check_table(tl_fs *fs, const char *table, void *ctx)
{
    avro_ctx *t = ctx;
    tl_error err;
    tl_paths paths = {.table = table};
    tl_entries entries = {0};
    if (strstr(table, "branch") != NULL || tl_schema_latest(fs, &paths, &t->schema, &err) != TL_OK)
        return;
    const char *format = tl_options_get(&t->schema->options, "file.format");
    if (format != NULL && strcmp(format, "avro") == 0 && live_entries(fs, &paths, &entries, &err) == TL_OK) {
        t->file_type = file_type_of(t->schema);
        check_entries(fs, table, t, &entries);
        tl_type_unref(t->file_type);
    }
    tl_entries_deinit(&entries);
    tl_table_schema_unref(t->schema);
}

static void avro_tables_of_the_reference_are_read_and_written_again(void **state)
{
    (void)state;
    avro_ctx t = {0};
    each_fixture_table(check_table, &t);
    free(t.lines);
    printf("%d tables, %d files, %d rows; %d tables compared, %d statistics\n", t.tables, t.files, t.rows, t.compared_tables,
           t.same_stats);
    assert_true(t.files > 20);
    assert_true(t.compared_tables > 0);
    assert_true(t.same_stats > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(avro_tables_of_the_reference_are_read_and_written_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
