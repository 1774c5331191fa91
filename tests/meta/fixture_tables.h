/* Walks the tables of the fixtures: folders that have a schema/ folder, branches included. */
#ifndef TL_TESTS_FIXTURE_TABLES_H
#define TL_TESTS_FIXTURE_TABLES_H

#include "meta/meta.h"
#include "support/test.h"

/** Folder of the fixtures (tests/interop/run unpacks them into the build folder); NULL if there are none. */
static inline const char *fixtures_root(void)
{
    static const char *const places[] = {"fixtures", TL_SOURCE_DIR "/tests/fixtures", TL_SOURCE_DIR "/../shared/fixtures"};
    const char *root = getenv("TL_FIXTURES");
    for (size_t i = 0; root == NULL && i < sizeof places / sizeof *places; i++) {
        FILE *f = NULL;
        char path[4096];
        snprintf(path, sizeof path, "%s/manifest.json", places[i]);
        if ((f = fopen(path, "r")) != NULL) {
            fclose(f);
            root = places[i];
        }
    }
    return root;
}

typedef void (*table_fn)(tl_fs *fs, const char *table, void *ctx);

static inline void walk_tables(tl_fs *fs, const char *dir, int depth, table_fn fn, void *ctx)
{
    tl_error err;
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    assert_ok(tl_fs_list(fs, dir, &entries, &n, &err), &err);
    bool is_table = false;
    for (size_t i = 0; i < n; i++)
        is_table = is_table || (entries[i].stat.is_dir && strcmp(entries[i].name, "schema") == 0);
    if (is_table)
        fn(fs, dir, ctx);
    for (size_t i = 0; i < n && depth < 8; i++) {
        bool is_bucket = depth > 0 && strncmp(entries[i].name, "bucket-", 7) == 0; /* not a case of that name */
        if (!entries[i].stat.is_dir || is_bucket)
            continue;
        char *path = tl_path_join(dir, entries[i].name);
        walk_tables(fs, path, depth + 1, fn, ctx);
        tl_free(path);
    }
    tl_dir_free(entries, n);
}

/** Call `fn` for every table of the fixtures; skips the test if there are no fixtures. */
static inline void each_fixture_table(table_fn fn, void *ctx)
{
    const char *root = fixtures_root();
    if (root == NULL)
        skip();
    tl_error err;
    tl_fs *fs = NULL;
    assert_ok(tl_fs_local(&fs, &err), &err);
    walk_tables(fs, root, 0, fn, ctx);
    tl_fs_unref(fs);
}

typedef void (*file_fn)(tl_fs *fs, const char *path, const char *name, tl_bytes_view content, void *ctx);

/** Call `fn` for the files of a folder of a table whose names begin with `prefix`. */
static inline void each_file(tl_fs *fs, const char *table, const char *dir, const char *prefix, file_fn fn, void *ctx)
{
    tl_error err;
    char *folder = tl_path_join(table, dir);
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    assert_ok(tl_fs_list(fs, folder, &entries, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        if (entries[i].stat.is_dir || strncmp(entries[i].name, prefix, strlen(prefix)) != 0)
            continue;
        char *path = tl_path_join(folder, entries[i].name);
        tl_bytes content = {0};
        assert_ok(tl_fs_read_all(fs, path, 1 << 28, &content, &err), &err);
        fn(fs, path, entries[i].name, tl_bytes_view_of(content), ctx);
        tl_bytes_deinit(&content);
        tl_free(path);
    }
    tl_dir_free(entries, n);
    tl_free(folder);
}

#endif
