/* A file system that tells of every call before it is made: what others do between two steps is done by the hook. */
#ifndef TL_TESTS_HOOK_FS_H
#define TL_TESTS_HOOK_FS_H

#include "io/io.h"
#include "support/test.h"

typedef struct hook_fs {
    tl_fs base;
    tl_fs *inner;
    void (*before)(void *ctx, const char *call, const char *path); /* NULL: none */
    /* After a rename: what the caller is told instead of its outcome; NULL: the outcome. */
    tl_status (*renamed)(void *ctx, const char *to, tl_status status, tl_error *err);
    int64_t (*mtime)(void *ctx, const char *path, int64_t mtime_ms); /* the age of a file as it is to be seen; NULL: as it is */
    void *ctx;
} hook_fs;

static inline tl_fs *hook_call(tl_fs *fs, const char *call, const char *path)
{
    hook_fs *h = (hook_fs *)fs;
    if (h->before != NULL)
        h->before(h->ctx, call, path);
    return h->inner;
}

static inline void hook_free(tl_fs *fs)
{
    tl_fs_unref(((hook_fs *)fs)->inner);
    tl_free(fs);
}
static inline tl_status hook_open_read(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    return tl_fs_open_read(hook_call(fs, "open", path), path, out, err);
}
static inline tl_status hook_create(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    return tl_fs_create(hook_call(fs, "create", path), path, out, err);
}
static inline tl_status hook_stat(tl_fs *fs, const char *path, tl_stat *out, tl_error *err)
{
    hook_fs *h = (hook_fs *)fs;
    tl_status status = tl_fs_stat(hook_call(fs, "stat", path), path, out, err);
    if (status == TL_OK && h->mtime != NULL)
        out->mtime_ms = h->mtime(h->ctx, path, out->mtime_ms);
    return status;
}
static inline tl_status hook_list(tl_fs *fs, const char *path, tl_dir_entry **out, size_t *n, tl_error *err)
{
    hook_fs *h = (hook_fs *)fs;
    tl_status status = tl_fs_list(hook_call(fs, "list", path), path, out, n, err);
    for (size_t i = 0; status == TL_OK && h->mtime != NULL && i < *n; i++) {
        char *full = tl_path_join(path, (*out)[i].name);
        (*out)[i].stat.mtime_ms = h->mtime(h->ctx, full, (*out)[i].stat.mtime_ms);
        tl_free(full);
    }
    return status;
}
static inline tl_status hook_mkdirs(tl_fs *fs, const char *path, tl_error *err)
{
    return tl_fs_mkdirs(((hook_fs *)fs)->inner, path, err);
}
static inline tl_status hook_remove(tl_fs *fs, const char *path, tl_error *err)
{
    return tl_fs_remove(hook_call(fs, "remove", path), path, err);
}
static inline tl_status hook_rename(tl_fs *fs, const char *from, const char *to, bool replace, tl_error *err)
{
    hook_fs *h = (hook_fs *)fs;
    tl_status status = tl_fs_rename(hook_call(fs, "rename", to), from, to, replace, err);
    return h->renamed == NULL ? status : h->renamed(h->ctx, to, status, err);
}
static inline tl_status hook_sync_dir(tl_fs *fs, const char *path, tl_error *err)
{
    tl_fs *inner = ((hook_fs *)fs)->inner;
    return inner->ops->sync_dir(inner, path, err);
}

/* Takes a reference of `inner`; files belong to it. */
static inline hook_fs *hook_fs_create(tl_fs *inner)
{
    static tl_fs_ops ops; /* filled once, from the one thread of a test */
    ops = *inner->ops;
    ops.free = hook_free;
    ops.open_read = hook_open_read;
    ops.create = hook_create;
    ops.stat = hook_stat;
    ops.list = hook_list;
    ops.mkdirs = hook_mkdirs;
    ops.remove = hook_remove;
    ops.rename = hook_rename;
    ops.sync_dir = hook_sync_dir;
    hook_fs *h = tl_calloc(1, sizeof *h);
    assert_non_null(h);
    h->base.ops = &ops;
    h->base.refs = 1;
    h->inner = tl_fs_ref(inner);
    return h;
}

#endif
