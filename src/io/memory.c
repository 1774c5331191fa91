/*
 * A file system in memory, for tests. It keeps synced and un-synced state apart: tl_fs__memory_crash() (via the fault file
 * system) goes back to what was synced, as a power cut would: bytes by the file's sync, names by their folder's. What was renamed or
 * removed stays so, as if that much had got to the disk.
 *
 * One flat map path -> node guarded by one lock; a node's bytes are appended to by one writer and read by many.
 */
#include <pthread.h>
#include <stdio.h>

#include "base/map.h"
#include "base/thread.h"
#include "io/io_private.h"
#include "io/memory.h"

typedef struct node {
    int refs; /* files that are open, plus 1 while it has a name; guarded by the lock */
    bool is_dir;
    tl_buf bytes;
    size_t synced; /* bytes that survive a crash */
    bool named;    /* its entry survives one: its folder was synced since */
    int64_t mtime_ms;
} node;

typedef struct memory_fs {
    tl_fs base;
    pthread_mutex_t lock; /* guards nodes and every node */
    tl_map nodes;         /* path -> node */
} memory_fs;

typedef struct memory_file {
    tl_file base;
    node *node;
} memory_file;

static void node_unref(node *nd)
{
    if (--nd->refs > 0)
        return;
    tl_buf_deinit(&nd->bytes);
    tl_free(nd);
}

static void memory_free(tl_fs *fs)
{
    memory_fs *mem = (memory_fs *)fs;
    size_t pos = 0;
    void *value;
    while (tl_map_next(&mem->nodes, &pos, NULL, &value))
        node_unref(value);
    tl_map_deinit(&mem->nodes);
    pthread_mutex_destroy(&mem->lock);
    tl_free(mem);
}

static node *lookup(memory_fs *mem, const char *path)
{
    return tl_map_get(&mem->nodes, path, strlen(path));
}

/* @locks mem->lock held. Folders above a path are made along with it. */
static tl_status add_node(memory_fs *mem, const char *path, bool is_dir, node **out)
{
    for (const char *p = path + 1; *p != '\0'; p++) {
        if (*p != '/' || tl_map_get(&mem->nodes, path, (size_t)(p - path)) != NULL)
            continue;
        node *parent = tl_calloc(1, sizeof *parent);
        if (parent == NULL)
            return TL_E_NOMEM;
        *parent = (node){.refs = 1, .is_dir = true, .mtime_ms = tl_clock_now_ms(tl_clock_system())};
        if (tl_map_put(&mem->nodes, path, (size_t)(p - path), parent, NULL) != TL_OK) {
            tl_free(parent);
            return TL_E_NOMEM;
        }
    }
    node *nd = tl_calloc(1, sizeof *nd);
    if (nd == NULL)
        return TL_E_NOMEM;
    *nd = (node){.refs = 1, .is_dir = is_dir, .mtime_ms = tl_clock_now_ms(tl_clock_system())};
    if (tl_map_put(&mem->nodes, path, strlen(path), nd, NULL) != TL_OK) {
        tl_free(nd);
        return TL_E_NOMEM;
    }
    *out = nd;
    return TL_OK;
}

static tl_status make_file(memory_fs *mem, const char *path, node *nd, tl_file **out, tl_error *err)
{
    memory_file *file = tl_calloc(1, sizeof *file);
    char *copy = tl_strdup(path);
    if (file == NULL || copy == NULL) {
        tl_free(file);
        tl_free(copy);
        return tl_nomem(err, path);
    }
    file->base.fs = tl_fs_ref(&mem->base);
    file->base.path = copy;
    file->node = nd;
    nd->refs++;
    *out = &file->base;
    return TL_OK;
}

static tl_status memory_open_read(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    memory_fs *mem = (memory_fs *)fs;
    pthread_mutex_lock(&mem->lock);
    node *nd = lookup(mem, path);
    tl_status status = nd == NULL || nd->is_dir ? tl_error_set(err, TL_E_NOT_FOUND, "no file '%s'", path) : make_file(mem, path, nd, out, err);
    pthread_mutex_unlock(&mem->lock);
    return status;
}

/* The folder of a path; the topmost are always there. */
static bool has_folder(memory_fs *mem, const char *path)
{
    const char *base = tl_path_base(path);
    return base <= path + 1 || tl_map_get(&mem->nodes, path, (size_t)(base - path - 1)) != NULL;
}

static tl_status memory_create(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    memory_fs *mem = (memory_fs *)fs;
    pthread_mutex_lock(&mem->lock);
    node *nd = NULL;
    tl_status status = TL_OK;
    if (lookup(mem, path) != NULL)
        status = tl_error_set(err, TL_E_EXISTS, "'%s' exists", path);
    else if (!has_folder(mem, path))
        status = tl_error_set(err, TL_E_NOT_FOUND, "no folder for '%s'", path);
    else if (add_node(mem, path, false, &nd) != TL_OK)
        status = tl_nomem(err, path);
    else if ((status = make_file(mem, path, nd, out, err)) != TL_OK)
        node_unref(tl_map_remove(&mem->nodes, path, strlen(path))); /* created whole or not at all */
    pthread_mutex_unlock(&mem->lock);
    if (status == TL_OK)
        tl_io__count_create();
    return status;
}

static tl_status memory_stat(tl_fs *fs, const char *path, tl_stat *out, tl_error *err)
{
    memory_fs *mem = (memory_fs *)fs;
    pthread_mutex_lock(&mem->lock);
    node *nd = lookup(mem, path);
    if (nd != NULL)
        *out = (tl_stat){nd->is_dir, (int64_t)nd->bytes.len, nd->mtime_ms, false};
    pthread_mutex_unlock(&mem->lock);
    return nd != NULL ? TL_OK : tl_error_set(err, TL_E_NOT_FOUND, "no file '%s'", path);
}

static bool is_child(tl_bytes_view path, const char *dir, size_t dir_len)
{
    return path.len > dir_len + 1 && memcmp(path.data, dir, dir_len) == 0 && path.data[dir_len] == '/' &&
           memchr(path.data + dir_len + 1, '/', path.len - dir_len - 1) == NULL;
}

static tl_status memory_list(tl_fs *fs, const char *path, tl_dir_entry **out, size_t *n, tl_error *err)
{
    memory_fs *mem = (memory_fs *)fs;
    pthread_mutex_lock(&mem->lock);
    size_t dir_len = strlen(path), count = 0, pos = 0;
    tl_dir_entry *entries = tl_alloc(mem->nodes.count * sizeof *entries);
    tl_status status = entries == NULL ? tl_nomem(err, path) : TL_OK;
    tl_bytes_view key;
    void *value;
    while (status == TL_OK && tl_map_next(&mem->nodes, &pos, &key, &value)) {
        if (!is_child(key, path, dir_len))
            continue;
        const node *nd = value;
        char *name = tl_strndup((const char *)key.data + dir_len + 1, key.len - dir_len - 1);
        if (name == NULL)
            status = tl_nomem(err, path);
        else
            entries[count++] = (tl_dir_entry){name, {nd->is_dir, (int64_t)nd->bytes.len, nd->mtime_ms, false}};
    }
    pthread_mutex_unlock(&mem->lock);
    if (status != TL_OK) {
        tl_dir_free(entries, count);
        return status;
    }
    *out = entries;
    *n = count;
    return TL_OK;
}

static tl_status memory_mkdirs(tl_fs *fs, const char *path, tl_error *err)
{
    memory_fs *mem = (memory_fs *)fs;
    pthread_mutex_lock(&mem->lock);
    node *nd = lookup(mem, path);
    tl_status status = TL_OK;
    if (nd == NULL && add_node(mem, path, true, &nd) != TL_OK)
        status = tl_nomem(err, path);
    else if (!nd->is_dir)
        status = tl_error_set(err, TL_E_EXISTS, "'%s' is a file", path);
    pthread_mutex_unlock(&mem->lock);
    return status;
}

static bool has_children(memory_fs *mem, const char *path)
{
    size_t pos = 0, len = strlen(path);
    tl_bytes_view key;
    while (tl_map_next(&mem->nodes, &pos, &key, NULL))
        if (is_child(key, path, len))
            return true;
    return false;
}

static tl_status memory_remove(tl_fs *fs, const char *path, tl_error *err)
{
    memory_fs *mem = (memory_fs *)fs;
    pthread_mutex_lock(&mem->lock);
    node *nd = lookup(mem, path);
    tl_status status = TL_OK;
    if (nd == NULL)
        status = tl_error_set(err, TL_E_NOT_FOUND, "no file '%s'", path);
    else if (nd->is_dir && has_children(mem, path))
        status = tl_error_set(err, TL_E_EXISTS, "folder '%s' is not empty", path);
    else
        node_unref(tl_map_remove(&mem->nodes, path, strlen(path)));
    pthread_mutex_unlock(&mem->lock);
    return status;
}

static bool is_below(tl_bytes_view path, const char *dir, size_t dir_len)
{
    return path.len >= dir_len && memcmp(path.data, dir, dir_len) == 0 && (path.len == dir_len || path.data[dir_len] == '/');
}

/* Paths of a node and everything below it. */
static tl_status tree_of(memory_fs *mem, const char *root, char ***out, size_t *n, tl_error *err)
{
    size_t pos = 0, root_len = strlen(root);
    tl_bytes_view key;
    char **paths = tl_calloc(mem->nodes.count, sizeof *paths);
    tl_status status = paths == NULL ? tl_nomem(err, root) : TL_OK;
    *n = 0;
    while (status == TL_OK && tl_map_next(&mem->nodes, &pos, &key, NULL)) {
        if (is_below(key, root, root_len) && (paths[(*n)++] = tl_strndup((const char *)key.data, key.len)) == NULL)
            status = tl_nomem(err, root);
    }
    *out = paths;
    return status;
}

static void forget_paths(char **paths, size_t n)
{
    for (size_t i = 0; paths != NULL && i < n; i++)
        tl_free(paths[i]);
    tl_free(paths);
}

/* A second name for the node of `path`. */
static tl_status link_node(memory_fs *mem, const char *path, const char *to, size_t from_len)
{
    TL_CLEANUP(tl_freep) char *new_path = tl_strf("%s%s", to, path + from_len);
    void *replaced = NULL;
    if (new_path == NULL || tl_map_put(&mem->nodes, new_path, strlen(new_path), lookup(mem, path), &replaced) != TL_OK)
        return TL_E_NOMEM;
    if (replaced != NULL) {
        lookup(mem, new_path)->named |= ((node *)replaced)->named; /* after a crash there is one of both, never none */
        node_unref(replaced);
    }
    return TL_OK;
}

/* @locks mem->lock held. Moves the node and, for a folder, everything below it: all or, without memory, nothing. */
static tl_status move_tree(memory_fs *mem, const char *from, const char *to, tl_error *err)
{
    char **paths = NULL;
    size_t n = 0, linked = 0, from_len = strlen(from);
    tl_status status = TL_OK;
    if (!lookup(mem, from)->is_dir) {
        status = link_node(mem, from, to, from_len);
        if (status == TL_OK)
            tl_map_remove(&mem->nodes, from, from_len);
        return status == TL_OK ? TL_OK : tl_nomem(err, from);
    }
    status = tree_of(mem, from, &paths, &n, err);
    while (status == TL_OK && linked < n && link_node(mem, paths[linked], to, from_len) == TL_OK)
        linked++;
    if (status == TL_OK && linked < n)
        status = tl_nomem(err, from);
    size_t to_len = strlen(to);
    for (size_t i = 0; i < linked; i++) {
        if (status == TL_OK) {
            tl_map_remove(&mem->nodes, paths[i], strlen(paths[i]));
            continue;
        }
        size_t pos = 0; /* back: the new names go, without memory for them */
        tl_bytes_view key;
        while (tl_map_next(&mem->nodes, &pos, &key, NULL)) {
            size_t rest = strlen(paths[i]) - from_len;
            if (key.len == to_len + rest && memcmp(key.data, to, to_len) == 0 && memcmp(key.data + to_len, paths[i] + from_len, rest) == 0) {
                tl_map_remove(&mem->nodes, key.data, key.len);
                break;
            }
        }
    }
    forget_paths(paths, n);
    return status;
}

static tl_status memory_rename(tl_fs *fs, const char *from, const char *to, bool replace, tl_error *err)
{
    memory_fs *mem = (memory_fs *)fs;
    pthread_mutex_lock(&mem->lock);
    tl_status status;
    if (lookup(mem, from) == NULL)
        status = tl_error_set(err, TL_E_NOT_FOUND, "no file '%s'", from);
    else if (!replace && lookup(mem, to) != NULL)
        status = tl_error_set(err, TL_E_EXISTS, "'%s' exists", to);
    else
        status = strcmp(from, to) == 0 ? TL_OK : move_tree(mem, from, to, err);
    pthread_mutex_unlock(&mem->lock);
    return status;
}

static tl_status memory_sync_dir(tl_fs *fs, const char *path, tl_error *err)
{
    (void)err;
    memory_fs *mem = (memory_fs *)fs;
    size_t pos = 0, dir_len = strcmp(path, "/") == 0 ? 0 : strlen(path);
    tl_bytes_view key;
    void *value;
    pthread_mutex_lock(&mem->lock);
    while (tl_map_next(&mem->nodes, &pos, &key, &value))
        if (is_child(key, path, dir_len))
            ((node *)value)->named = true;
    pthread_mutex_unlock(&mem->lock);
    return TL_OK;
}

static tl_status memory_file_size(tl_file *file, int64_t *out, tl_error *err)
{
    (void)err;
    memory_fs *mem = (memory_fs *)file->fs;
    pthread_mutex_lock(&mem->lock);
    *out = (int64_t)((memory_file *)file)->node->bytes.len;
    pthread_mutex_unlock(&mem->lock);
    return TL_OK;
}

static tl_status memory_read_at(tl_file *file, int64_t offset, void *buf, size_t bytes, tl_error *err)
{
    memory_fs *mem = (memory_fs *)file->fs;
    pthread_mutex_lock(&mem->lock);
    const tl_buf *content = &((memory_file *)file)->node->bytes;
    bool fits = offset >= 0 && (uint64_t)offset <= content->len && bytes <= content->len - (size_t)offset;
    if (fits && bytes != 0)
        memcpy(buf, content->data + offset, bytes);
    size_t len = content->len;
    pthread_mutex_unlock(&mem->lock);
    if (!fits)
        return tl_error_set(err, TL_E_CORRUPT, "'%s' ends at byte %zu, %zu bytes at %lld were asked for", file->path, len, bytes, (long long)offset);
    tl_io__count_read(bytes);
    return TL_OK;
}

static tl_status memory_write(tl_file *file, const void *data, size_t bytes, tl_error *err)
{
    memory_fs *mem = (memory_fs *)file->fs;
    pthread_mutex_lock(&mem->lock);
    tl_status status = tl_buf_append(&((memory_file *)file)->node->bytes, data, bytes);
    pthread_mutex_unlock(&mem->lock);
    if (status != TL_OK)
        return tl_nomem(err, file->path);
    tl_io__count_write(bytes);
    return TL_OK;
}

static tl_status memory_sync(tl_file *file, tl_error *err)
{
    (void)err;
    memory_fs *mem = (memory_fs *)file->fs;
    pthread_mutex_lock(&mem->lock);
    node *nd = ((memory_file *)file)->node;
    nd->synced = nd->bytes.len;
    pthread_mutex_unlock(&mem->lock);
    return TL_OK;
}

static tl_status memory_close(tl_file *file, tl_error *err)
{
    (void)err;
    memory_fs *mem = (memory_fs *)file->fs;
    pthread_mutex_lock(&mem->lock);
    node_unref(((memory_file *)file)->node);
    pthread_mutex_unlock(&mem->lock);
    tl_fs_unref(file->fs);
    tl_free(file->path);
    tl_free(file);
    return TL_OK;
}

static const tl_fs_ops memory_ops = {
    .free = memory_free,
    .open_read = memory_open_read,
    .create = memory_create,
    .stat = memory_stat,
    .list = memory_list,
    .mkdirs = memory_mkdirs,
    .remove = memory_remove,
    .rename = memory_rename,
    .sync_dir = memory_sync_dir,
    .file_size = memory_file_size,
    .read_at = memory_read_at,
    .write = memory_write,
    .sync = memory_sync,
    .close = memory_close,
};

tl_status tl_fs_memory(tl_fs **out, tl_error *err)
{
    memory_fs *mem = tl_calloc(1, sizeof *mem);
    if (mem == NULL)
        return tl_nomem(err, "file system");
    mem->base.ops = &memory_ops;
    mem->base.refs = 1;
    pthread_mutex_init(&mem->lock, NULL);
    tl_status status = tl_io__finished_create(&mem->base, err);
    if (status != TL_OK)
        tl_fs_unref(&mem->base);
    else
        *out = &mem->base;
    return status;
}

bool tl_fs__is_memory(const tl_fs *fs)
{
    return fs->ops == &memory_ops;
}

/* Whether a path is still there after a crash: its own name and those of all folders above it were synced. */
static bool survives(memory_fs *mem, tl_bytes_view path)
{
    for (size_t end = 1; end <= path.len; end++) {
        if (end < path.len && path.data[end] != '/')
            continue;
        const node *nd = tl_map_get(&mem->nodes, (const char *)path.data, end);
        if (nd == NULL || !nd->named)
            return false;
    }
    return true;
}

void tl_fs__memory_crash(tl_fs *fs)
{
    memory_fs *mem = (memory_fs *)fs;
    pthread_mutex_lock(&mem->lock);
    size_t pos = 0;
    void *value;
    while (tl_map_next(&mem->nodes, &pos, NULL, &value)) {
        node *nd = value;
        if (!nd->is_dir)
            nd->bytes.len = nd->synced;
    }
    pos = 0;
    tl_bytes_view key;
    while (tl_map_next(&mem->nodes, &pos, &key, &value)) {
        if (survives(mem, key))
            continue;
        tl_map_remove(&mem->nodes, key.data, key.len);
        node_unref(value);
        pos = 0; /* the map has moved */
    }
    pthread_mutex_unlock(&mem->lock);
}
