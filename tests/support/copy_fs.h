/* Copies of file systems, for tests that go on from one state in many ways. */
#ifndef TL_TESTS_COPY_FS_H
#define TL_TESTS_COPY_FS_H

#include "io/io.h"
#include "support/test.h"

static inline void copy_file(tl_fs *from, tl_fs *to, const char *path)
{
    tl_error err;
    tl_bytes bytes = {0};
    tl_file *file = NULL;
    assert_ok(tl_fs_read_all(from, path, INT64_C(1) << 30, &bytes, &err), &err);
    assert_ok(tl_fs_create(to, path, &file, &err), &err);
    assert_ok(tl_file_write(file, bytes.data, bytes.len, &err), &err);
    assert_ok(tl_file_finish(file, &err), &err);
    tl_bytes_deinit(&bytes);
}

static inline void copy_tree(tl_fs *from, tl_fs *to, const char *dir)
{
    tl_error err;
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    assert_ok(tl_fs_list(from, dir, &entries, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        char *path = tl_path_join(dir, entries[i].name);
        assert_non_null(path);
        if (entries[i].stat.is_dir)
            copy_tree(from, to, path);
        else
            copy_file(from, to, path);
        tl_free(path);
    }
    tl_dir_free(entries, n);
}

/* What is in `dir`, all of it synced, in a file system in memory; the caller's. */
static inline tl_fs *copy_to_memory(tl_fs *from, const char *dir)
{
    tl_fs *copy = NULL;
    tl_error err;
    assert_ok(tl_fs_memory(&copy, &err), &err);
    copy_tree(from, copy, dir);
    assert_ok(tl_fs_flush(copy, &err), &err);
    return copy;
}

#endif
