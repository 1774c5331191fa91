/*
 * Fault injection: counts the calls that a real file system could refuse, and lets one of them fail as the plan says.
 * After TL_FAULT_CRASH every call fails, so that clean-up code of the "dead" process cannot tidy up after itself.
 */
#include <stdio.h>

#include "io/io_private.h"
#include "io/memory.h"

typedef struct fault_fs {
    tl_fs base;
    tl_fs *inner;
    tl_fault_plan *plan;
    bool crashed; /* atomic */
} fault_fs;

typedef struct fault_file {
    tl_file base;
    tl_file *inner;
} fault_file;

/* What happens to this call: TL_FAULT_NONE lets it through. */
static tl_fault_kind step(fault_fs *fs)
{
    if (__atomic_load_n(&fs->crashed, __ATOMIC_ACQUIRE))
        return TL_FAULT_CRASH;
    uint64_t call = __atomic_add_fetch(&fs->plan->calls, 1, __ATOMIC_RELAXED);
    if (call != fs->plan->at)
        return TL_FAULT_NONE;
    if (fs->plan->kind == TL_FAULT_CRASH) {
        __atomic_store_n(&fs->crashed, true, __ATOMIC_RELEASE);
        if (tl_fs__is_memory(fs->inner))
            tl_fs__memory_crash(fs->inner);
    }
    return fs->plan->kind;
}

static tl_status refuse(tl_fault_kind kind, const char *path, const char *what, tl_error *err)
{
    switch (kind) {
    case TL_FAULT_ENOSPC:
        return tl_error_set(err, TL_E_NOSPACE, "could not %s '%s': no space left on device (injected)", what, path);
    case TL_FAULT_CRASH:
        return tl_error_set(err, TL_E_IO, "could not %s '%s': the process is dead (injected)", what, path);
    default:
        return tl_error_set(err, TL_E_IO, "could not %s '%s': input/output error (injected)", what, path);
    }
}

#define FAULT_STEP(fs, path, what)                                                                                               \
    do {                                                                                                                         \
        tl_fault_kind kind_ = step((fault_fs *)(fs));                                                                            \
        if (kind_ != TL_FAULT_NONE)                                                                                              \
            return refuse(kind_, path, what, err);                                                                               \
    } while (0)

static tl_fs *inner_of(tl_fs *fs)
{
    return ((fault_fs *)fs)->inner;
}

static tl_file *inner_file(tl_file *file)
{
    return ((fault_file *)file)->inner;
}

static void fault_free(tl_fs *fs)
{
    tl_fs_unref(inner_of(fs));
    tl_free(fs);
}

static tl_status wrap_file(tl_fs *fs, const char *path, tl_file *inner, tl_file **out, tl_error *err)
{
    fault_file *file = tl_calloc(1, sizeof *file);
    char *copy = tl_strdup(path);
    if (file == NULL || copy == NULL) {
        tl_free(file);
        tl_free(copy);
        (void)tl_file_close(inner, NULL);
        return tl_nomem(err, path);
    }
    file->base.fs = tl_fs_ref(fs);
    file->base.path = copy;
    file->inner = inner;
    *out = &file->base;
    return TL_OK;
}

static tl_status fault_open_read(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    FAULT_STEP(fs, path, "open");
    tl_file *inner;
    TL_TRY(tl_fs_open_read(inner_of(fs), path, &inner, err));
    return wrap_file(fs, path, inner, out, err);
}

static tl_status fault_create(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    FAULT_STEP(fs, path, "create");
    tl_file *inner;
    TL_TRY(inner_of(fs)->ops->create(inner_of(fs), path, &inner, err)); /* missing folders are ours to make, each call counted */
    tl_status status = wrap_file(fs, path, inner, out, err);
    if (status != TL_OK)
        (void)tl_fs_remove(inner_of(fs), path, NULL); /* created whole or not at all */
    return status;
}

static tl_status fault_stat(tl_fs *fs, const char *path, tl_stat *out, tl_error *err)
{
    FAULT_STEP(fs, path, "look at");
    return tl_fs_stat(inner_of(fs), path, out, err);
}

static tl_status fault_real_path(tl_fs *fs, const char *path, char **out, tl_error *err)
{
    FAULT_STEP(fs, path, "look at");
    return tl_fs_real_path(inner_of(fs), path, out, err);
}

static tl_status fault_list(tl_fs *fs, const char *path, tl_dir_entry **out, size_t *n, tl_error *err)
{
    FAULT_STEP(fs, path, "list");
    return tl_fs_list(inner_of(fs), path, out, n, err);
}

static tl_status fault_mkdirs(tl_fs *fs, const char *path, tl_error *err)
{
    FAULT_STEP(fs, path, "make the folder");
    return inner_of(fs)->ops->mkdirs(inner_of(fs), path, err);
}

static tl_status fault_remove(tl_fs *fs, const char *path, tl_error *err)
{
    FAULT_STEP(fs, path, "remove");
    return tl_fs_remove(inner_of(fs), path, err);
}

static tl_status fault_rename(tl_fs *fs, const char *from, const char *to, bool replace, tl_error *err)
{
    FAULT_STEP(fs, from, "rename");
    return tl_fs_rename(inner_of(fs), from, to, replace, err);
}

static tl_status fault_sync_dir(tl_fs *fs, const char *path, tl_error *err)
{
    FAULT_STEP(fs, path, "sync the folder");
    return inner_of(fs)->ops->sync_dir(inner_of(fs), path, err);
}

static tl_status fault_file_size(tl_file *file, int64_t *out, tl_error *err)
{
    FAULT_STEP(file->fs, file->path, "look at");
    return tl_file_size(inner_file(file), out, err);
}

static tl_status fault_read_at(tl_file *file, int64_t offset, void *buf, size_t bytes, tl_error *err)
{
    tl_fault_kind kind = step((fault_fs *)file->fs);
    if (kind == TL_FAULT_SHORT_READ)
        return tl_error_set(err, TL_E_CORRUPT, "'%s' ends at byte %lld, %zu bytes at %lld were asked for (injected)", file->path,
                            (long long)offset + (long long)bytes / 2, bytes, (long long)offset);
    if (kind != TL_FAULT_NONE)
        return refuse(kind, file->path, "read", err);
    return tl_file_read_at(inner_file(file), offset, buf, bytes, err);
}

static tl_status fault_write(tl_file *file, const void *data, size_t bytes, tl_error *err)
{
    tl_fault_kind kind = step((fault_fs *)file->fs);
    if (kind == TL_FAULT_TORN_WRITE)
        (void)tl_file_write(inner_file(file), data, bytes / 2, NULL); /* the torn half may itself fail: then nothing arrived */
    if (kind != TL_FAULT_NONE)
        return refuse(kind, file->path, "write", err);
    return tl_file_write(inner_file(file), data, bytes, err);
}

static tl_status fault_sync(tl_file *file, tl_error *err)
{
    FAULT_STEP(file->fs, file->path, "sync");
    return tl_file_sync(inner_file(file), err);
}

static tl_status fault_close(tl_file *file, tl_error *err)
{
    tl_fault_kind kind = step((fault_fs *)file->fs);
    tl_status status = tl_file_close(inner_file(file), err);
    if (kind != TL_FAULT_NONE)
        status = refuse(kind, file->path, "close", err);
    tl_fs_unref(file->fs);
    tl_free(file->path);
    tl_free(file);
    return status;
}

static const tl_fs_ops fault_ops = {
    .free = fault_free,
    .open_read = fault_open_read,
    .create = fault_create,
    .stat = fault_stat,
    .list = fault_list,
    .mkdirs = fault_mkdirs,
    .remove = fault_remove,
    .rename = fault_rename,
    .sync_dir = fault_sync_dir,
    .real_path = fault_real_path,
    .file_size = fault_file_size,
    .read_at = fault_read_at,
    .write = fault_write,
    .sync = fault_sync,
    .close = fault_close,
};

tl_status tl_fs_fault(tl_fs *inner, tl_fault_plan *plan, tl_fs **out, tl_error *err)
{
    fault_fs *fs = tl_calloc(1, sizeof *fs);
    if (fs == NULL)
        return tl_nomem(err, "file system");
    fs->base.ops = &fault_ops;
    fs->base.refs = 1;
    fs->inner = tl_fs_ref(inner);
    fs->plan = plan;
    tl_status status = tl_io__finished_create(&fs->base, err);
    if (status != TL_OK)
        tl_fs_unref(&fs->base);
    else
        *out = &fs->base;
    return status;
}
