/* The local file system: POSIX calls. Renames that must not replace use renameat2(RENAME_NOREPLACE), else link + unlink. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/io_private.h"

typedef struct local_file {
    tl_file base;
    int fd;
    void *map;
    int64_t map_bytes;
} local_file;

static void local_free(tl_fs *fs)
{
    tl_free(fs);
}

static tl_status make_file(tl_fs *fs, const char *path, int fd, tl_file **out, tl_error *err)
{
    local_file *file = tl_calloc(1, sizeof *file);
    char *copy = tl_strdup(path);
    if (file == NULL || copy == NULL) {
        tl_free(file);
        tl_free(copy);
        close(fd);
        return tl_nomem(err, path);
    }
    file->base.fs = tl_fs_ref(fs);
    file->base.path = copy;
    file->fd = fd;
    *out = &file->base;
    return TL_OK;
}

static tl_status local_open_read(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return tl_error_errno(err, errno, "could not open '%s'", path);
    return make_file(fs, path, fd, out, err);
}

static tl_status local_mkdirs(tl_fs *fs, const char *path, tl_error *err)
{
    (void)fs; /* above it, all is there: tl_fs_mkdirs() goes down one by one */
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return tl_error_errno(err, errno, "could not make the folder '%s'", path);
    return TL_OK;
}

static tl_status local_create(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return tl_error_errno(err, errno, "could not create '%s'", path);
    tl_io__count_create();
    tl_status status = make_file(fs, path, fd, out, err);
    if (status != TL_OK)
        (void)unlink(path); /* created whole or not at all */
    return status;
}

static tl_stat stat_of(const struct stat *st)
{
    return (tl_stat){S_ISDIR(st->st_mode), st->st_size, (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000,
                     !S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode)};
}

static tl_status local_stat(tl_fs *fs, const char *path, tl_stat *out, tl_error *err)
{
    (void)fs;
    struct stat st;
    if (stat(path, &st) != 0)
        return tl_error_errno(err, errno, "could not look at '%s'", path);
    *out = stat_of(&st);
    return TL_OK;
}

static tl_status local_real_path(tl_fs *fs, const char *path, char **out, tl_error *err)
{
    (void)fs;
    char *real = realpath(path, NULL);
    if (real == NULL)
        return tl_error_errno(err, errno, "could not look at '%s'", path);
    *out = tl_strdup(real);
    free(real);
    return *out == NULL ? tl_nomem(err, path) : TL_OK;
}

static tl_status add_entry(tl_dir_entry **entries, size_t *n, size_t *cap, DIR *dir, const char *name)
{
    struct stat st;
    int fd = dirfd(dir);
    if (fd < 0 || fstatat(fd, name, &st, 0) != 0)
        return TL_OK; /* gone between readdir and stat: as if it had not been listed */
    if (*n == *cap) {
        size_t more = *cap == 0 ? 16 : *cap * 2;
        tl_dir_entry *grown = tl_realloc(*entries, more * sizeof *grown);
        if (grown == NULL)
            return TL_E_NOMEM;
        *entries = grown;
        *cap = more;
    }
    char *copy = tl_strdup(name);
    if (copy == NULL)
        return TL_E_NOMEM;
    (*entries)[(*n)++] = (tl_dir_entry){copy, stat_of(&st)};
    return TL_OK;
}

static tl_status local_list(tl_fs *fs, const char *path, tl_dir_entry **out, size_t *n, tl_error *err)
{
    (void)fs;
    DIR *dir = opendir(path);
    *out = NULL;
    *n = 0;
    if (dir == NULL)
        return errno == ENOENT ? TL_OK : tl_error_errno(err, errno, "could not list '%s'", path);
    size_t cap = 0;
    tl_status status = TL_OK;
    struct dirent *entry;
    errno = 0;
    while (status == TL_OK && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = add_entry(out, n, &cap, dir, entry->d_name);
        errno = 0;
    }
    if (status == TL_OK && errno != 0)
        status = tl_error_errno(err, errno, "could not list '%s'", path);
    else if (status != TL_OK)
        (void)tl_nomem(err, path);
    closedir(dir);
    if (status != TL_OK) {
        tl_dir_free(*out, *n);
        *out = NULL;
        *n = 0;
    }
    return status;
}

static tl_status local_remove(tl_fs *fs, const char *path, tl_error *err)
{
    (void)fs;
    if (remove(path) != 0)
        return tl_error_errno(err, errno, "could not remove '%s'", path);
    return TL_OK;
}

static int rename_noreplace(const char *from, const char *to)
{
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1 /* RENAME_NOREPLACE */) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (link(from, to) != 0) /* a file system without the flag */
        return -1;
    return unlink(from);
}

static tl_status local_rename(tl_fs *fs, const char *from, const char *to, bool replace, tl_error *err)
{
    (void)fs;
    if ((replace ? rename(from, to) : rename_noreplace(from, to)) != 0)
        return tl_error_errno(err, errno, "could not rename '%s' to '%s'", from, to);
    return TL_OK;
}

static tl_status local_sync_dir(tl_fs *fs, const char *path, tl_error *err)
{
    (void)fs;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return tl_error_errno(err, errno, "could not open '%s'", path);
    int rc = fsync(fd);
    int errnum = errno;
    close(fd);
    /* Some file systems cannot sync a folder (EINVAL): the rename itself is then as durable as they make it. */
    return rc == 0 || errnum == EINVAL ? TL_OK : tl_error_errno(err, errnum, "could not sync the folder '%s'", path);
}

static tl_status local_file_size(tl_file *file, int64_t *out, tl_error *err)
{
    struct stat st;
    if (fstat(((local_file *)file)->fd, &st) != 0)
        return tl_error_errno(err, errno, "could not look at '%s'", file->path);
    if (S_ISDIR(st.st_mode))
        return tl_error_set(err, TL_E_IO, "'%s' is a folder", file->path);
    *out = st.st_size;
    return TL_OK;
}

static tl_status local_read_at(tl_file *file, int64_t offset, void *buf, size_t bytes, tl_error *err)
{
    uint8_t *p = buf;
    size_t got = 0;
    while (got < bytes) {
        ssize_t n = pread(((local_file *)file)->fd, p + got, bytes - got, offset + (int64_t)got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tl_error_errno(err, errno, "could not read '%s' at byte %lld", file->path, (long long)offset + (long long)got);
        if (n == 0)
            return tl_error_set(err, TL_E_CORRUPT, "'%s' ends at byte %lld, %zu bytes at %lld were asked for", file->path,
                                (long long)offset + (long long)got, bytes, (long long)offset);
        got += (size_t)n;
    }
    tl_io__count_read(bytes);
    return TL_OK;
}

static tl_status local_write(tl_file *file, const void *data, size_t bytes, tl_error *err)
{
    const uint8_t *p = data;
    size_t done = 0;
    while (done < bytes) {
        ssize_t n = write(((local_file *)file)->fd, p + done, bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tl_error_errno(err, errno, "could not write '%s'", file->path);
        done += (size_t)n;
    }
    tl_io__count_write(bytes);
    return TL_OK;
}

static tl_status local_sync(tl_file *file, tl_error *err)
{
    if (fdatasync(((local_file *)file)->fd) != 0)
        return tl_error_errno(err, errno, "could not sync '%s'", file->path);
    return TL_OK;
}

static void local_start_sync(tl_file *file)
{
    (void)sync_file_range(((local_file *)file)->fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* the sync will tell what went wrong */
}

static tl_status local_close(tl_file *file, tl_error *err)
{
    local_file *local = (local_file *)file;
    if (local->map != NULL)
        munmap(local->map, (size_t)local->map_bytes);
    tl_status status = TL_OK;
    if (close(local->fd) != 0)
        status = tl_error_errno(err, errno, "could not close '%s'", file->path);
    tl_fs_unref(file->fs);
    tl_free(file->path);
    tl_free(file);
    return status;
}

static const uint8_t *local_map(tl_file *file, int64_t *bytes)
{
    local_file *local = (local_file *)file;
    if (local->map == NULL) {
        int64_t size = 0;
        if (local_file_size(file, &size, NULL) != TL_OK || size == 0)
            return NULL;
        void *map = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, local->fd, 0);
        if (map == MAP_FAILED)
            return NULL;
        local->map = map;
        local->map_bytes = size;
    }
    *bytes = local->map_bytes;
    return local->map;
}

static void local_release(tl_file *file, int64_t offset, int64_t bytes)
{
    const local_file *local = (const local_file *)file;
    int64_t page = sysconf(_SC_PAGESIZE);
    int64_t from = (offset + page - 1) / page * page, to = (offset + bytes) / page * page;
    if (local->map != NULL && from < to && to <= local->map_bytes)
        (void)madvise((uint8_t *)local->map + from, (size_t)(to - from), MADV_DONTNEED); /* clean pages: they are read again if need be */
}

static const tl_fs_ops local_ops = {
    .free = local_free,
    .open_read = local_open_read,
    .create = local_create,
    .stat = local_stat,
    .list = local_list,
    .mkdirs = local_mkdirs,
    .remove = local_remove,
    .rename = local_rename,
    .sync_dir = local_sync_dir,
    .real_path = local_real_path,
    .file_size = local_file_size,
    .read_at = local_read_at,
    .write = local_write,
    .sync = local_sync,
    .start_sync = local_start_sync,
    .sync_threads = 20,
    .close = local_close,
    .map = local_map,
    .release = local_release,
};

tl_status tl_fs_local(tl_fs **out, tl_error *err)
{
    tl_fs *fs = tl_calloc(1, sizeof *fs);
    if (fs == NULL)
        return tl_nomem(err, "file system");
    fs->ops = &local_ops;
    fs->refs = 1;
    tl_status status = tl_io__finished_create(fs, err);
    if (status != TL_OK)
        tl_fs_unref(fs);
    else
        *out = fs;
    return status;
}
