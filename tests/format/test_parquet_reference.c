/*
 * The Parquet writer against the reference: every Parquet file of the fixtures is read, written again, and must say the same in
 * its metadata in no more bytes.
 *
 * Known and wanted differences: floating point columns with a NaN get no bounds; INT96 gets a dictionary only where it saves
 * (parquet-mr counts 16 bytes a value instead of 12) and no bounds (parquet-mr gives them if both are equal); the deprecated
 * min and max are left out.
 */
#include "format/parquet/write_private.h"
#include "support/test.h"

static tl_error err;

static const char *fixtures_root(void)
{
    static const char *const places[] = {"fixtures", TL_SOURCE_DIR "/tests/fixtures", TL_SOURCE_DIR "/../shared/fixtures"};
    const char *root = getenv("TL_FIXTURES");
    for (size_t i = 0; root == NULL && i < TL_ARRAY_LEN(places); i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/manifest.json", places[i]);
        FILE *f = fopen(path, "r");
        if (f != NULL) {
            fclose(f);
            root = places[i];
        }
    }
    return root;
}

typedef struct parsed {
    tl_bytes bytes;
    tl_arena arena;
    tl_pq_file_meta meta;
} parsed;

static void parse_file(tl_fs *fs, const char *path, parsed *out)
{
    memset(out, 0, sizeof *out);
    assert_ok(tl_fs_read_all(fs, path, INT64_C(1) << 32, &out->bytes, &err), &err);
    size_t len = tl_read_le32(out->bytes.data + out->bytes.len - 8);
    tl_bytes_view footer = {out->bytes.data + out->bytes.len - 8 - len, len};
    assert_ok(tl_pq__read_file_meta(footer, &out->arena, &out->meta, &err), &err);
}

static void parsed_deinit(parsed *p)
{
    tl_bytes_deinit(&p->bytes);
    tl_arena_deinit(&p->arena);
}

static const char *compression_of(const parsed *file)
{
    if (file->meta.n_row_groups == 0)
        return "zstd";
    switch (file->meta.row_groups[0].columns[0].meta.codec) {
    case TL_PQ_UNCOMPRESSED:
        return "none";
    case TL_PQ_SNAPPY:
        return "snappy";
    case TL_PQ_GZIP:
        return "gzip";
    case TL_PQ_LZ4_RAW:
        return "lz4_raw";
    default:
        return "zstd";
    }
}

/** Read `from` and write its rows to `to`, all in one batch size. */
static void rewrite(tl_fs *from_fs, const char *from, int64_t bytes, tl_fs *to_fs, const char *to, const char *compression)
{
    const tl_type *row = NULL;
    assert_ok(tl_format_parquet.schema(from_fs, from, &row, &err), &err);
    tl_read_spec read = {.row_type = row};
    tl_reader *reader = NULL;
    assert_ok(tl_format_parquet.open(from_fs, from, bytes, &read, &reader, &err), &err);
    tl_write_spec write = {.row_type = row, .compression = compression, .compression_level = 1, .with_stats = true};
    tl_file_writer *writer = NULL;
    assert_ok(tl_format_parquet.create(to_fs, to, &write, &writer, &err), &err);
    for (;;) {
        tl_batch *batch = NULL;
        assert_ok(tl_reader_next(reader, &batch, &err), &err);
        if (batch == NULL)
            break;
        assert_ok(writer->ops->write(writer, batch, &err), &err);
        tl_batch_free(batch);
    }
    tl_reader_free(reader);
    tl_write_result result = {0};
    assert_ok(writer->ops->finish(writer, &result, &err), &err);
    writer->ops->free(writer);
    tl_write_result_deinit(&result);
    tl_type_unref(row);
}

/* ---- comparison ---- */

#define assert_same(a, b, what, path)                                                                                            \
    do {                                                                                                                         \
        if ((long long)(a) != (long long)(b))                                                                                    \
            fail_msg("%s: %s: reference %lld, ours %lld", path, what, (long long)(a), (long long)(b));                           \
    } while (0)

static void compare_element(const tl_pq_schema_element *a, const tl_pq_schema_element *b, const char *path)
{
    if (strcmp(a->name, b->name) != 0)
        fail_msg("%s: name '%s', ours '%s'", path, a->name, b->name);
    assert_same(a->has_type, b->has_type, a->name, path);
    if (a->has_type)
        assert_same(a->type, b->type, a->name, path);
    assert_same(a->type_length, b->type_length, a->name, path);
    assert_same(a->has_repetition, b->has_repetition, a->name, path);
    if (a->has_repetition)
        assert_same(a->repetition, b->repetition, a->name, path);
    assert_same(a->n_children, b->n_children, a->name, path);
    assert_same(a->converted, b->converted, a->name, path);
    assert_same(a->has_decimal, b->has_decimal, a->name, path);
    assert_same(a->scale, b->scale, a->name, path);
    assert_same(a->precision, b->precision, a->name, path);
    assert_same(a->has_field_id, b->has_field_id, a->name, path);
    assert_same(a->field_id, b->field_id, a->name, path);
    assert_same(a->logical.kind, b->logical.kind, a->name, path);
    assert_same(a->logical.adjusted_to_utc, b->logical.adjusted_to_utc, a->name, path);
    assert_same(a->logical.unit, b->logical.unit, a->name, path);
    assert_same(a->logical.bit_width, b->logical.bit_width, a->name, path);
    assert_same(a->logical.is_signed, b->logical.is_signed, a->name, path);
}

static bool is_nan(const tl_pq_column_meta *meta, tl_bytes_view v)
{
    float f = 0;
    double d = 0;
    if (meta->type == TL_PQ_FLOAT && v.len == 4)
        memcpy(&f, v.data, 4);
    if (meta->type == TL_PQ_DOUBLE && v.len == 8)
        memcpy(&d, v.data, 8);
    return f != f || d != d;
}

static uint32_t encoding_set(const tl_pq_column_meta *meta)
{
    uint32_t set = 0;
    for (int32_t i = 0; i < meta->n_encodings; i++)
        set |= 1u << meta->encodings[i];
    return set;
}

/** Equal, or zeros of different sign: the reference keeps the sign in the footer. */
static bool same_bound(const tl_pq_column_meta *meta, tl_bytes_view a, tl_bytes_view b)
{
    if (tl_bytes_equal(a, b))
        return true;
    double x = 1, y = 1;
    float f = 1, g = 1;
    if (meta->type == TL_PQ_DOUBLE && a.len == 8 && b.len == 8) {
        memcpy(&x, a.data, 8);
        memcpy(&y, b.data, 8);
    }
    if (meta->type == TL_PQ_FLOAT && a.len == 4 && b.len == 4) {
        memcpy(&f, a.data, 4);
        memcpy(&g, b.data, 4);
    }
    return (x == 0 && y == 0) || (f == 0 && g == 0);
}

static void compare_chunk(const tl_pq_column_chunk *a, const tl_pq_column_chunk *b, const char *path)
{
    const char *name = a->meta.path[a->meta.path_len - 1];
    assert_same(a->meta.type, b->meta.type, name, path);
    assert_same(a->meta.codec, b->meta.codec, name, path);
    assert_same(a->meta.num_values, b->meta.num_values, name, path);
    assert_same(a->meta.statistics.null_count, b->meta.statistics.null_count, name, path);
    bool has_nan = a->meta.statistics.has_max_value && (is_nan(&a->meta, a->meta.statistics.max_value) || is_nan(&a->meta, a->meta.statistics.min_value));
    bool wants_bounds = !has_nan && a->meta.type != TL_PQ_INT96;
    assert_same(a->meta.statistics.has_max_value && wants_bounds, b->meta.statistics.has_max_value, name, path);
    assert_same(a->meta.statistics.has_min_value && wants_bounds, b->meta.statistics.has_min_value, name, path);
    if (b->meta.statistics.has_max_value) {
        bool same = same_bound(&a->meta, a->meta.statistics.min_value, b->meta.statistics.min_value) &&
                    same_bound(&a->meta, a->meta.statistics.max_value, b->meta.statistics.max_value);
        if (!same)
            fail_msg("%s: %s: other bounds", path, name);
    }
    assert_same(a->column_index_length > 0, b->column_index_length > 0, name, path);
    assert_same(a->offset_index_length > 0, b->offset_index_length > 0, name, path);
    if (a->meta.type != TL_PQ_INT96)
        assert_same(encoding_set(&a->meta), encoding_set(&b->meta), name, path);
}

static void compare_files(const parsed *a, const parsed *b, const char *path)
{
    assert_same(a->meta.version, b->meta.version, "version", path);
    assert_same(a->meta.num_rows, b->meta.num_rows, "rows", path);
    assert_same(a->meta.n_schema, b->meta.n_schema, "schema elements", path);
    for (int32_t i = 0; i < a->meta.n_schema; i++)
        compare_element(&a->meta.schema[i], &b->meta.schema[i], path);
    assert_same(a->meta.n_column_orders, b->meta.n_column_orders, "column orders", path);
    if (a->meta.n_row_groups > 1)
        return; /* the table had an option that a file does not tell */
    assert_same(a->meta.n_row_groups, b->meta.n_row_groups, "row groups", path);
    for (int32_t g = 0; g < a->meta.n_row_groups; g++) {
        const tl_pq_row_group *x = &a->meta.row_groups[g], *y = &b->meta.row_groups[g];
        assert_same(x->num_rows, y->num_rows, "rows of a group", path);
        assert_same(x->n_columns, y->n_columns, "columns", path);
        for (int32_t c = 0; c < x->n_columns; c++)
            compare_chunk(&x->columns[c], &y->columns[c], path);
    }
    if (b->bytes.len > a->bytes.len)
        fail_msg("%s: %zu bytes, ours %zu", path, a->bytes.len, b->bytes.len);
}

/* ---- the walk ---- */

typedef struct totals {
    int files;
    int64_t reference_bytes, our_bytes;
} totals;

static void check_file(tl_fs *fs, const char *path, totals *sum)
{
    tl_fs *memory = NULL;
    parsed theirs, ours;
    parse_file(fs, path, &theirs);
    if (theirs.meta.created_by != NULL && strncmp(theirs.meta.created_by, "parquet-mr version 1.16.", 24) == 0) {
        assert_ok(tl_fs_memory(&memory, &err), &err);
        rewrite(fs, path, (int64_t)theirs.bytes.len, memory, "/f.parquet", compression_of(&theirs));
        parse_file(memory, "/f.parquet", &ours);
        compare_files(&theirs, &ours, path);
        sum->files++;
        sum->reference_bytes += (int64_t)theirs.bytes.len;
        sum->our_bytes += (int64_t)ours.bytes.len;
        parsed_deinit(&ours);
        tl_fs_unref(memory);
    }
    parsed_deinit(&theirs);
}

static void walk(tl_fs *fs, const char *dir, int depth, totals *sum)
{
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    assert_ok(tl_fs_list(fs, dir, &entries, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        const char *name = entries[i].name;
        size_t len = strlen(name);
        char *path = tl_path_join(dir, name);
        if (entries[i].stat.is_dir && depth < 10 && strcmp(name, "external") != 0)
            walk(fs, path, depth + 1, sum);
        else if (len > 8 && strcmp(name + len - 8, ".parquet") == 0 && entries[i].stat.bytes > 0) /* a failed write left 0 bytes */
            check_file(fs, path, sum);
        tl_free(path);
    }
    tl_dir_free(entries, n);
}

static void files_of_the_reference_are_written_the_same_and_no_larger(void **state)
{
    (void)state;
    const char *root = fixtures_root();
    if (root == NULL)
        skip();
    tl_fs *fs = NULL;
    totals sum = {0};
    assert_ok(tl_fs_local(&fs, &err), &err);
    walk(fs, root, 0, &sum);
    tl_fs_unref(fs);
    printf("%d files, %lld bytes by the reference, %lld here\n", sum.files, (long long)sum.reference_bytes, (long long)sum.our_bytes);
    assert_true(sum.files > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_of_the_reference_are_written_the_same_and_no_larger)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
