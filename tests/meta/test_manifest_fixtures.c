/*
 * Every manifest and manifest list of the fixtures is read; those in Avro are written again into memory, as Avro and as Parquet,
 * read back and compared: entries, the metas that the list records for them, and the schema text of the container. Index manifests
 * alike.
 */
#include "fixture_tables.h"
#include "format/avro/avro.h"
#include "manifest_compare.h"

typedef struct table_ctx {
    const char *path;
    tl_fs *fs;
    tl_fs *memory;
    const tl_type *partition_type;
    tl_manifest_list metas; /* of all lists */
    int indexes, hashes, vectors; /* index manifests; hash indexes and deletion vectors in them */
    int manifests, lists, entries, checked_metas, same_schema, same_size, orc;
} table_ctx;

static bool is_orc(tl_bytes_view content)
{
    return content.len > 3 && memcmp(content.data, "ORC", 3) == 0;
}

static bool is_avro(tl_bytes_view content)
{
    return content.len > 4 && memcmp(content.data, "Obj\x01", 4) == 0;
}

static tl_manifest_writer memory_writer(const table_ctx *t)
{
    tl_manifest_writer w = {
        .fs = t->memory, .paths = {.table = "/t"}, .partition_type = t->partition_type, .target_bytes = 8 << 20};
    strcpy(w.uuid, "00000000-0000-0000-0000-000000000000");
    strcpy(w.compression, "zstd");
    w.zstd_level = 1;
    return w;
}

/* The schema JSON at the head of a container: up to the codec's key. */
static tl_bytes_view header_schema(tl_bytes_view file)
{
    const uint8_t *from = memchr(file.data, '{', file.len), *to = memmem(file.data, file.len,
                                                                         "\x14"
                                                                         "avro.codec",
                                                                         11);
    return (tl_bytes_view){from, (size_t)(to - from)};
}

static bool same_schema_text(const table_ctx *t, const char *name, tl_bytes_view was)
{
    tl_error err;
    tl_bytes is = {0};
    tl_paths paths = {.table = "/t"};
    char *path = tl_paths_manifest(&paths, name);
    assert_ok(tl_fs_read_all(t->memory, path, 1 << 28, &is, &err), &err);
    bool same = tl_bytes_equal(header_schema(was), header_schema(tl_bytes_view_of(is)));
    tl_bytes_deinit(&is);
    tl_free(path);
    return same;
}

static void forget_memory(const table_ctx *t)
{
    tl_error err;
    assert_ok(tl_fs_remove_all(t->memory, "/t", &err), &err);
}

/* ---- lists ---- */

static void rewrite_list(table_ctx *t, const tl_manifest_list *list, tl_bytes_view content)
{
    tl_error err;
    tl_manifest_writer w = memory_writer(t);
    char *name = NULL;
    int64_t bytes = 0;
    tl_manifest_list again = {0};
    assert_ok(tl_manifest_list_write(&w, list->items, list->n, &name, &bytes, &err), &err);
    assert_ok(tl_manifest_list_read(t->memory, &w.paths, name, bytes, &again, &err), &err);
    assert_int_equal(again.n, list->n);
    for (size_t i = 0; i < list->n; i++) {
        assert_same_summary(&list->items[i], &again.items[i]);
        assert_string_equal(list->items[i].name, again.items[i].name);
        assert_int_equal(list->items[i].bytes, again.items[i].bytes);
    }
    bool same = same_schema_text(t, name, content);
    t->same_schema += same;
    t->same_size += same && bytes == (int64_t)content.len;
    if (same && list->n == 0 && memmem(content.data, content.len, "zstandard", 9) != NULL)
        assert_int_equal(bytes, content.len);
    tl_free(name);
    tl_manifest_list_deinit(&again);
    forget_memory(t);
}

static void rewrite_list_as_parquet(const table_ctx *t, const tl_manifest_list *list)
{
    tl_error err;
    tl_manifest_writer w = memory_writer(t);
    w.format = TL_MANIFEST_PARQUET;
    char *name = NULL;
    int64_t bytes = 0;
    tl_manifest_list again = {0};
    assert_ok(tl_manifest_list_write(&w, list->items, list->n, &name, &bytes, &err), &err);
    assert_ok(tl_manifest_list_read(t->memory, &w.paths, name, bytes, &again, &err), &err);
    assert_int_equal(again.n, list->n);
    for (size_t i = 0; i < list->n; i++) {
        assert_same_summary(&list->items[i], &again.items[i]);
        assert_string_equal(list->items[i].name, again.items[i].name);
    }
    tl_free(name);
    tl_manifest_list_deinit(&again);
    forget_memory(t);
}

static void check_list(tl_fs *fs, const char *path, const char *name, tl_bytes_view content, void *ctx)
{
    (void)path;
    table_ctx *t = ctx;
    tl_error err;
    tl_paths paths = {.table = t->path};
    tl_manifest_list list = {0};
    tl_status status = tl_manifest_list_read(fs, &paths, name, (int64_t)content.len, &list, &err);
    t->orc += is_orc(content);
    if (status == TL_E_UNSUPPORTED && !is_avro(content))
        return;
    if (status != TL_OK)
        fail_msg("%s: %s", t->path, err.message);
    t->lists++;
    if (is_avro(content)) {
        rewrite_list(t, &list, content);
        rewrite_list_as_parquet(t, &list);
    }
    for (size_t i = 0; i < list.n; i++) { /* kept for the manifests */
        if (t->metas.n == t->metas.cap) {
            t->metas.cap = t->metas.cap * 2 + 16;
            t->metas.items = tl_realloc(t->metas.items, t->metas.cap * sizeof *t->metas.items);
        }
        t->metas.items[t->metas.n++] = list.items[i];
    }
    tl_free(list.items);
}

/* ---- manifests ---- */

/* What the reference recorded about the manifest, if some list names it. */
static const tl_manifest_meta *recorded(const table_ctx *t, const char *name)
{
    for (size_t i = 0; i < t->metas.n; i++)
        if (strcmp(t->metas.items[i].name, name) == 0)
            return &t->metas.items[i];
    return NULL;
}

static void rewrite_manifest(table_ctx *t, const char *name, const tl_entries *entries, tl_bytes_view content)
{
    tl_error err;
    tl_manifest_writer w = memory_writer(t);
    tl_manifest_list metas = {0};
    tl_entries again = {0};
    assert_ok(tl_manifest_write(&w, entries->items, entries->n, &metas, &err), &err);
    assert_int_equal(metas.n, 1);
    assert_ok(tl_manifest_read(t->memory, &w.paths, metas.items[0].name, metas.items[0].bytes, NULL, NULL, &again, &err), &err);
    assert_int_equal(again.n, entries->n);
    for (size_t i = 0; i < again.n; i++)
        assert_same_entry(&entries->items[i], &again.items[i]);
    bool same = same_schema_text(t, metas.items[0].name, content);
    t->same_schema += same;
    const tl_manifest_meta *was = recorded(t, name);
    if (same && was != NULL) {
        if (strstr(t->path, "/external/") != NULL && was->min_row_id == TL_ABSENT) /* releases before 1.4 do not record it */
            metas.items[0].min_row_id = metas.items[0].max_row_id = TL_ABSENT;
        assert_same_summary(was, &metas.items[0]);
        t->checked_metas++;
    }
    tl_entries_deinit(&again);
    tl_manifest_list_deinit(&metas);
    forget_memory(t);
}

static void rewrite_manifest_as_parquet(const table_ctx *t, const tl_entries *entries)
{
    tl_error err;
    tl_manifest_writer w = memory_writer(t);
    w.format = TL_MANIFEST_PARQUET;
    tl_manifest_list metas = {0};
    tl_entries again = {0};
    assert_ok(tl_manifest_write(&w, entries->items, entries->n, &metas, &err), &err);
    assert_int_equal(metas.n, 1);
    assert_ok(tl_manifest_read(t->memory, &w.paths, metas.items[0].name, metas.items[0].bytes, NULL, NULL, &again, &err), &err);
    assert_int_equal(again.n, entries->n);
    for (size_t i = 0; i < again.n; i++)
        assert_same_entry(&entries->items[i], &again.items[i]);
    tl_entries_deinit(&again);
    tl_manifest_list_deinit(&metas);
    forget_memory(t);
}

static void check_manifest(tl_fs *fs, const char *path, const char *name, tl_bytes_view content, void *ctx)
{
    (void)path;
    table_ctx *t = ctx;
    tl_error err;
    if (strncmp(name, "manifest-list-", 14) == 0)
        return;
    tl_paths paths = {.table = t->path};
    tl_entries entries = {0};
    const tl_manifest_meta *was = recorded(t, name);
    if (was != NULL)
        assert_int_equal(was->bytes, content.len);
    tl_status status = tl_manifest_read(fs, &paths, name, (int64_t)content.len, NULL, NULL, &entries, &err);
    t->orc += is_orc(content);
    if (status == TL_E_UNSUPPORTED && !is_avro(content))
        return;
    if (status != TL_OK)
        fail_msg("%s: %s", t->path, err.message);
    t->manifests++;
    t->entries += (int)entries.n;
    if (was != NULL)
        assert_int_equal(entries.n, was->added + was->deleted);
    if (is_avro(content)) {
        rewrite_manifest(t, name, &entries, content);
        rewrite_manifest_as_parquet(t, &entries);
    }
    tl_entries_deinit(&entries);
}

/* ---- index manifests ---- */

static void assert_same_index(const tl_index_entry *a, const tl_index_entry *b)
{
    const tl_index_file *f = a->file, *g = b->file;
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->bucket, b->bucket);
    assert_true(tl_bytes_equal(tl_bytes_view_of(a->partition), tl_bytes_view_of(b->partition)));
    assert_same_text(f->type, g->type, "index entry");
    assert_same_text(f->name, g->name, "index entry");
    assert_same_text(f->external_path, g->external_path, "index entry");
    assert_int_equal(f->bytes, g->bytes);
    assert_int_equal(f->rows, g->rows);
    assert_int_equal(f->n_ranges, g->n_ranges);
    for (int32_t i = 0; i < f->n_ranges; i++) {
        assert_same_text(f->ranges[i].data_file, g->ranges[i].data_file, "index entry");
        assert_int_equal(f->ranges[i].offset, g->ranges[i].offset);
        assert_int_equal(f->ranges[i].bytes, g->ranges[i].bytes);
        assert_int_equal(f->ranges[i].cardinality, g->ranges[i].cardinality);
    }
    assert_int_equal(f->has_global, g->has_global);
    assert_int_equal(f->row_start, g->row_start);
    assert_int_equal(f->row_end, g->row_end);
    assert_int_equal(f->field_id, g->field_id);
    assert_int_equal(f->n_extra_fields, g->n_extra_fields);
    for (int32_t i = 0; i < f->n_extra_fields; i++)
        assert_int_equal(f->extra_fields[i], g->extra_fields[i]);
    assert_int_equal(f->global_meta.data == NULL, g->global_meta.data == NULL);
    assert_true(tl_bytes_equal(tl_bytes_view_of(f->global_meta), tl_bytes_view_of(g->global_meta)));
}

/* The schema text of a container is compared if there was one. */
static void rewrite_index(const table_ctx *t, tl_manifest_format format, const tl_index_entries *entries, tl_bytes_view was)
{
    tl_error err;
    tl_manifest_writer w = memory_writer(t);
    w.format = format;
    tl_index_entries again = {0};
    char *name = NULL;
    assert_ok(tl_index_manifest_write(&w, entries->items, entries->n, &name, &err), &err);
    assert_string_equal(name, "index-manifest-00000000-0000-0000-0000-000000000000-0");
    assert_ok(tl_index_manifest_read(t->memory, &w.paths, name, &again, &err), &err);
    assert_int_equal(again.n, entries->n);
    for (size_t i = 0; i < again.n; i++)
        assert_same_index(&entries->items[i], &again.items[i]);
    if (was.data != NULL)
        assert_true(same_schema_text(t, name, was));
    tl_index_entries_deinit(&again);
    tl_free(name);
    forget_memory(t);
}

static void check_index(tl_fs *fs, const char *path, const char *name, tl_bytes_view content, void *ctx)
{
    (void)path;
    table_ctx *t = ctx;
    tl_error err;
    tl_paths paths = {.table = t->path};
    tl_index_entries entries = {0};
    tl_status status = tl_index_manifest_read(fs, &paths, name, &entries, &err);
    if (status != TL_OK)
        fail_msg("%s: %s", t->path, err.message);
    bool today = is_avro(content) && strstr(t->path, "/external/") == NULL; /* older releases have fewer fields */
    rewrite_index(t, TL_MANIFEST_AVRO, &entries, today ? content : (tl_bytes_view){0});
    rewrite_index(t, TL_MANIFEST_PARQUET, &entries, (tl_bytes_view){0});
    rewrite_index(t, TL_MANIFEST_ORC, &entries, (tl_bytes_view){0});
    t->indexes++;
    for (size_t i = 0; i < entries.n; i++) {
        t->hashes += strcmp(entries.items[i].file->type, TL_INDEX_HASH) == 0;
        t->vectors += TL_MAX(entries.items[i].file->n_ranges, 0);
    }
    tl_index_entries_deinit(&entries);
}

/* No table of the fixtures has a global index. */
static void global_indexes_are_kept(void **state)
{
    (void)state;
    tl_error err;
    table_ctx t = {0};
    tl_index_entries entries = {0};
    assert_ok(tl_fs_memory(&t.memory, &err), &err);
    for (int i = 0; i < 3; i++) {
        tl_index_file *file = tl_index_file_create();
        file->type = tl_strdup("btree");
        file->name = tl_strf("btree-%d", i);
        file->has_global = i > 0;
        file->row_end = i * 100;
        file->field_id = i;
        if (i == 2) {
            file->extra_fields = tl_calloc(2, sizeof *file->extra_fields);
            file->extra_fields[1] = 7;
            file->n_extra_fields = 2;
            assert_int_equal(tl_bytes_dup((tl_bytes_view){(const uint8_t *)"meta", 4}, &file->global_meta), TL_OK);
        }
        assert_ok(tl_index_entries_add(&entries, TL_ENTRY_ADD, (tl_bytes_view){(const uint8_t *)"\0\0\0\0", 4}, i, file, &err), &err);
        tl_index_file_unref(file);
    }
    static const tl_manifest_format formats[] = {TL_MANIFEST_AVRO, TL_MANIFEST_PARQUET, TL_MANIFEST_ORC};
    for (size_t i = 0; i < TL_ARRAY_LEN(formats); i++)
        rewrite_index(&t, formats[i], &entries, (tl_bytes_view){0});
    tl_index_entries_deinit(&entries);
    tl_fs_unref(t.memory);
}

/* ---- tables ---- */

static const tl_type *partition_type(tl_fs *fs, const char *table)
{
    tl_error err;
    tl_paths paths = {.table = table};
    tl_table_schema *schema = NULL;
    const tl_type *type = NULL;
    int32_t columns[64];
    tl_status status = tl_schema_latest(fs, &paths, &schema, &err);
    if (status != TL_OK)
        return NULL;
    for (int32_t i = 0; i < schema->n_partition_keys; i++)
        columns[i] = tl_type_field_index(schema->row_type, schema->partition_keys[i]);
    assert_ok(tl_type_project(schema->row_type, columns, schema->n_partition_keys, &type, &err), &err);
    tl_table_schema_unref(schema);
    return type;
}

static void check_table(tl_fs *fs, const char *table, void *ctx)
{
    table_ctx *t = ctx;
    t->path = table;
    t->fs = fs;
    t->partition_type = partition_type(fs, table);
    if (t->partition_type == NULL)
        return;
    each_file(fs, table, "manifest", "manifest-list-", check_list, t);
    each_file(fs, table, "manifest", "manifest-", check_manifest, t);
    each_file(fs, table, "manifest", "index-manifest-", check_index, t);
    tl_manifest_list_deinit(&t->metas);
    tl_type_unref(t->partition_type);
}

static void manifests_of_the_reference_are_read_and_written_again(void **state)
{
    (void)state;
    tl_error err;
    table_ctx t = {0};
    if (fixtures_root() == NULL)
        skip();
    assert_ok(tl_fs_memory(&t.memory, &err), &err);
    each_fixture_table(check_table, &t);
    tl_fs_unref(t.memory);
    printf("%d lists, %d manifests with %d entries; %d with today's schema, %d lists of the same size, %d metas compared; %d "
           "in ORC\n",
           t.lists, t.manifests, t.entries, t.same_schema, t.same_size, t.checked_metas, t.orc);
    printf("%d index manifests, %d hash indexes, %d deletion vectors\n", t.indexes, t.hashes, t.vectors);
    assert_true(t.hashes > 10 && t.vectors > 50);
    assert_true(t.lists > 2000);
    assert_true(t.manifests > 900);
    assert_true(t.same_schema > 2500);
    assert_true(t.checked_metas > 800);
}

static void an_empty_manifest_list_has_the_reference_s_size(void **state)
{
    (void)state;
    tl_error err;
    tl_field none = {0};
    table_ctx t = {0};
    assert_ok(tl_fs_memory(&t.memory, &err), &err);
    assert_ok(tl_type_create_row(false, &none, 0, &t.partition_type, &err), &err);
    tl_manifest_writer w = memory_writer(&t);
    char *name = NULL;
    int64_t bytes = 0;
    assert_ok(tl_manifest_list_write(&w, NULL, 0, &name, &bytes, &err), &err);
    assert_string_equal(name, "manifest-list-00000000-0000-0000-0000-000000000000-0");
    assert_int_equal(bytes, 1006);
    tl_free(name);
    tl_type_unref(t.partition_type);
    tl_fs_unref(t.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manifests_of_the_reference_are_read_and_written_again),
        cmocka_unit_test(global_indexes_are_kept),
        cmocka_unit_test(an_empty_manifest_list_has_the_reference_s_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
