/* What all file systems share: dispatch, reference counts, whole-file reads, atomic publishing, paths, counters. */
#include <stdatomic.h>
#include <stdio.h>

#include "base/thread.h"
#include "io/io_private.h"

static struct {
    _Atomic uint64_t read_bytes, read_calls, write_bytes, write_calls, files_created;
} counters;

void tl_io__count_read(size_t bytes)
{
    atomic_fetch_add_explicit(&counters.read_bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&counters.read_calls, 1, memory_order_relaxed);
}

void tl_io__count_write(size_t bytes)
{
    atomic_fetch_add_explicit(&counters.write_bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&counters.write_calls, 1, memory_order_relaxed);
}

void tl_io__count_create(void)
{
    atomic_fetch_add_explicit(&counters.files_created, 1, memory_order_relaxed);
}

void tl_io_count_mapped(size_t bytes)
{
    tl_io__count_read(bytes);
}

tl_io_counters tl_io_count(void)
{
    return (tl_io_counters){atomic_load(&counters.read_bytes), atomic_load(&counters.read_calls), atomic_load(&counters.write_bytes),
                            atomic_load(&counters.write_calls), atomic_load(&counters.files_created)};
}

tl_fs *tl_fs_ref(tl_fs *fs)
{
    __atomic_add_fetch(&fs->refs, 1, __ATOMIC_RELAXED);
    return fs;
}

void tl_fs_unref(tl_fs *fs)
{
    if (fs == NULL || __atomic_sub_fetch(&fs->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    tl_io__finished_free(fs);
    fs->ops->free(fs);
}

tl_status tl_fs_open_read(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    return fs->ops->open_read(fs, path, out, err);
}

char *tl_io__parent(const char *path)
{
    const char *base = tl_path_base(path);
    size_t len = base > path ? (size_t)(base - path - 1) : 0;
    return len == 0 ? tl_strdup(base > path ? "/" : ".") : tl_strndup(path, len);
}

static tl_status parent_of(const char *path, char **out, tl_error *err)
{
    *out = tl_io__parent(path);
    return *out == NULL ? tl_nomem(err, "path") : TL_OK;
}

tl_status tl_fs_create(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    tl_status status = fs->ops->create(fs, path, out, err);
    if (status != TL_E_NOT_FOUND)
        return status;
    TL_CLEANUP(tl_freep) char *parent = NULL; /* missing, the rarer case */
    TL_TRY(parent_of(path, &parent, err));
    TL_TRY(tl_fs_mkdirs(fs, parent, err));
    return fs->ops->create(fs, path, out, err);
}

tl_status tl_fs_stat(tl_fs *fs, const char *path, tl_stat *out, tl_error *err)
{
    return fs->ops->stat(fs, path, out, err);
}

tl_status tl_fs_real_path(tl_fs *fs, const char *path, char **out, tl_error *err)
{
    *out = NULL;
    if (fs->ops->real_path != NULL)
        return fs->ops->real_path(fs, path, out, err);
    tl_stat stat;
    TL_TRY(tl_fs_stat(fs, path, &stat, err));
    *out = tl_strdup(path);
    return *out == NULL ? tl_nomem(err, path) : TL_OK;
}

tl_status tl_fs_exists(tl_fs *fs, const char *path, bool *out, tl_error *err)
{
    tl_stat stat;
    tl_status status = tl_fs_stat(fs, path, &stat, err);
    if (status != TL_OK && status != TL_E_NOT_FOUND)
        return status;
    *out = status == TL_OK;
    return TL_OK;
}

tl_status tl_fs_list(tl_fs *fs, const char *path, tl_dir_entry **out, size_t *n, tl_error *err)
{
    return fs->ops->list(fs, path, out, n, err);
}

void tl_dir_free(tl_dir_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tl_free(entries[i].name);
    tl_free(entries);
}

tl_status tl_fs_mkdirs(tl_fs *fs, const char *path, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *part = tl_strdup(path);
    if (part == NULL)
        return tl_nomem(err, path);
    size_t len = strlen(part), at = len; /* part[0, at) is there */
    for (bool there = false; at > 0; part[at] = '\0') {
        TL_TRY(tl_fs_exists(fs, part, &there, err));
        if (there)
            break;
        while (--at > 0 && part[at] != '/') {
        }
    }
    if (at == len)
        return fs->ops->mkdirs(fs, path, err); /* to hear it if that is a file */
    while (at < len) {
        at += at > 0 || path[0] == '/'; /* the slash */
        at += strcspn(path + at, "/");
        memcpy(part, path, at);
        part[at] = '\0';
        TL_TRY(fs->ops->mkdirs(fs, part, err));
        TL_CLEANUP(tl_freep) char *parent = NULL;
        TL_TRY(parent_of(part, &parent, err));
        TL_TRY(tl_io__finished_entry(fs, parent, err));
    }
    return TL_OK;
}

tl_status tl_fs_remove(tl_fs *fs, const char *path, tl_error *err)
{
    tl_io__finished_forget(fs, path);
    return fs->ops->remove(fs, path, err);
}

static tl_status remove_tree(tl_fs *fs, const char *path, int depth, tl_error *err)
{
    if (depth > 64)
        return tl_error_set(err, TL_E_LIMIT, "'%s' is nested deeper than 64 folders", path);
    tl_stat stat;
    tl_status status = tl_fs_stat(fs, path, &stat, err);
    if (status == TL_E_NOT_FOUND)
        return TL_OK;
    TL_TRY(status);
    if (stat.is_dir) {
        tl_dir_entry *entries;
        size_t n;
        TL_TRY(tl_fs_list(fs, path, &entries, &n, err));
        for (size_t i = 0; i < n && status == TL_OK; i++) {
            TL_CLEANUP(tl_freep) char *child = tl_path_join(path, entries[i].name);
            status = child == NULL ? tl_nomem(err, "path") : remove_tree(fs, child, depth + 1, err);
        }
        tl_dir_free(entries, n);
        TL_TRY(status);
    }
    status = tl_fs_remove(fs, path, err);
    return status == TL_E_NOT_FOUND ? TL_OK : status;
}

tl_status tl_fs_remove_all(tl_fs *fs, const char *path, tl_error *err)
{
    return remove_tree(fs, path, 0, err);
}

tl_status tl_fs_rename(tl_fs *fs, const char *from, const char *to, bool replace, tl_error *err)
{
    return fs->ops->rename(fs, from, to, replace, err);
}

tl_status tl_file_size(tl_file *file, int64_t *out, tl_error *err)
{
    return file->fs->ops->file_size(file, out, err);
}

tl_status tl_file_read_at(tl_file *file, int64_t offset, void *buf, size_t bytes, tl_error *err)
{
    return file->fs->ops->read_at(file, offset, buf, bytes, err);
}

tl_status tl_file_write(tl_file *file, const void *data, size_t bytes, tl_error *err)
{
    return file->fs->ops->write(file, data, bytes, err);
}

tl_status tl_file_sync(tl_file *file, tl_error *err)
{
    return file->fs->ops->sync(file, err);
}

tl_status tl_file_close(tl_file *file, tl_error *err)
{
    return file == NULL ? TL_OK : file->fs->ops->close(file, err);
}

const uint8_t *tl_file_map(tl_file *file, int64_t *bytes)
{
    return file->fs->ops->map == NULL ? NULL : file->fs->ops->map(file, bytes);
}

void tl_file_release(tl_file *file, int64_t offset, int64_t bytes)
{
    if (file->fs->ops->release != NULL)
        file->fs->ops->release(file, offset, bytes);
}

tl_status tl_fs_read_all(tl_fs *fs, const char *path, int64_t bytes_max, tl_bytes *out, tl_error *err)
{
    tl_file *file;
    TL_TRY(tl_fs_open_read(fs, path, &file, err));
    int64_t bytes = 0;
    uint8_t *data = NULL;
    tl_status status = tl_file_size(file, &bytes, err);
    if (status == TL_OK && bytes > bytes_max)
        status = tl_error_set(err, TL_E_LIMIT, "'%s' has %lld bytes, more than the limit of %lld", path, (long long)bytes, (long long)bytes_max);
    if (status == TL_OK && (data = tl_alloc((size_t)bytes)) == NULL)
        status = tl_nomem(err, path);
    if (status == TL_OK)
        status = tl_file_read_at(file, 0, data, (size_t)bytes, err);
    (void)tl_file_close(file, NULL); /* nothing was written */
    if (status != TL_OK) {
        tl_free(data);
        return status;
    }
    *out = (tl_bytes){data, (size_t)bytes};
    return TL_OK;
}

/* ---- publishing ---- */

void tl_staged_deinit(tl_fs *fs, tl_staged *staged)
{
    if (staged->temp != NULL)
        (void)tl_fs_remove(fs, staged->temp, NULL); /* an orphan at worst; missing if it was published */
    tl_free(staged->temp);
    tl_free(staged->path);
    *staged = (tl_staged){0};
}

/* A new file beside the path, not finished. */
static tl_status write_temp(tl_fs *fs, const char *path, tl_bytes_view content, tl_file **out, tl_staged *staged, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *parent = NULL;
    TL_TRY(parent_of(path, &parent, err));
    char uuid[37];
    tl_uuid(uuid);
    staged->path = tl_strdup(path);
    char *temp = staged->path == NULL ? NULL : tl_strf("%s/.%s.%s.tmp", parent, tl_path_base(path), uuid);
    if (temp == NULL)
        return tl_nomem(err, "path");
    tl_status status = tl_fs_create(fs, temp, out, err);
    if (status != TL_OK) {
        tl_free(temp);
        return status;
    }
    staged->temp = temp;
    status = tl_file_write(*out, content.data, content.len, err);
    if (status != TL_OK)
        (void)tl_file_close(*out, NULL); /* the error that counts is the one before */
    return status;
}

tl_status tl_fs_stage(tl_fs *fs, const char *path, tl_bytes_view content, tl_staged *out, tl_error *err)
{
    tl_staged staged = {0};
    tl_file *file = NULL;
    tl_status status = write_temp(fs, path, content, &file, &staged, err);
    if (status == TL_OK)
        status = tl_io__finish_unnamed(file, err);
    if (status != TL_OK)
        tl_staged_deinit(fs, &staged);
    else
        *out = staged;
    return status;
}

tl_status tl_fs_publish_staged(tl_fs *fs, const tl_staged *staged, bool replace, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *parent = NULL;
    TL_TRY(parent_of(staged->path, &parent, err));
    TL_TRY(tl_fs_rename(fs, staged->temp, staged->path, replace, err));
    return fs->ops->sync_dir(fs, parent, err);
}

tl_status tl_fs_publish(tl_fs *fs, const char *path, tl_bytes_view content, bool replace, tl_error *err)
{
    tl_staged staged = {0};
    TL_TRY(tl_fs_stage(fs, path, content, &staged, err));
    tl_status status = tl_fs_flush(fs, err);
    if (status == TL_OK)
        status = tl_fs_publish_staged(fs, &staged, replace, err);
    tl_staged_deinit(fs, &staged);
    return status;
}

tl_status tl_fs_replace_hint(tl_fs *fs, const char *path, tl_bytes_view content, tl_error *err)
{
    tl_staged staged = {0};
    tl_file *file = NULL;
    tl_status status = write_temp(fs, path, content, &file, &staged, err);
    if (status == TL_OK)
        status = tl_file_close(file, err);
    if (status == TL_OK)
        status = tl_fs_rename(fs, staged.temp, path, /* replace= */ true, err);
    tl_staged_deinit(fs, &staged);
    return status;
}

tl_status tl_fs_sync_dir(tl_fs *fs, const char *path, tl_error *err)
{
    return fs->ops->sync_dir(fs, path, err);
}

/* ---- copy ---- */

static tl_status copy_bytes(tl_file *in, int64_t bytes, tl_file *out, tl_error *err)
{
    const size_t piece = (size_t)1 << 20;
    TL_CLEANUP(tl_freep) uint8_t *buf = tl_alloc(piece);
    if (buf == NULL)
        return tl_nomem(err, "copy");
    for (int64_t at = 0; at < bytes;) {
        size_t n = (size_t)TL_MIN((int64_t)piece, bytes - at);
        TL_TRY(tl_file_read_at(in, at, buf, n, err));
        TL_TRY(tl_file_write(out, buf, n, err));
        at += (int64_t)n;
    }
    return TL_OK;
}

tl_status tl_fs_copy(tl_fs *from_fs, const char *from, tl_fs *to_fs, const char *to, tl_error *err)
{
    tl_file *in = NULL, *out = NULL;
    int64_t bytes = 0;
    TL_TRY(tl_fs_open_read(from_fs, from, &in, err));
    tl_status status = tl_file_size(in, &bytes, err);
    if (status == TL_OK)
        status = tl_fs_create(to_fs, to, &out, err);
    if (status == TL_OK)
        status = copy_bytes(in, bytes, out, err);
    if (status == TL_OK)
        status = tl_file_finish(out, err);
    else
        (void)tl_file_close(out, NULL); /* the failure is told already */
    (void)tl_file_close(in, NULL);      /* was only read */
    return status;
}

/* ---- paths ---- */

char *tl_path_join(const char *a, const char *b)
{
    size_t len = strlen(a);
    bool slash = len > 0 && a[len - 1] == '/';
    return tl_strf("%s%s%s", a, slash || len == 0 || *b == '\0' ? "" : "/", b);
}

char *tl_path_of_uri(const char *uri)
{
    const char *path = strncasecmp(uri, "file:", 5) == 0 ? uri + 5 : uri;
    while (path != uri && path[0] == '/' && path[1] == '/')
        path++;
    char *out = tl_strdup(path);
    for (size_t n = out == NULL ? 0 : strlen(out); n > 1 && out[n - 1] == '/'; n--)
        out[n - 1] = '\0';
    return out;
}

const char *tl_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}
