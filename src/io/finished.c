/*
 * Files that are complete but not yet durable. A commit writes a dozen small files before it publishes a snapshot that names
 * them: waiting for the disk after each one costs a journal commit and a flush of the device a file. Here they wait together:
 * tl_fs_flush() starts the writing of all of them and then waits for all, several at a time, so that they share both.
 *
 * A file that is on the disk is of no use if its name is not: POSIX promises the entry only after its folder was synced. So folders
 * that got entries, of files and of new folders, wait here, too, and are synced with the files, each once a flush.
 *
 * Every publication flushes first, so nothing that can be found by its name is ahead of what it refers to. A file whose sync
 * failed stays: every flush fails until it is removed, since the kernel tells of a lost page once only.
 */
#include "base/thread.h"
#include "io/io_private.h"

/* More files than this are synced as they come: descriptors are few, and one more file adds nothing to the waiting. */
#define FINISHED_MAX 64

typedef struct finished_file {
    tl_file *file; /* does not hold a reference to its file system, which would never be freed */
    tl_status status;
    tl_error *error; /* of its sync: NULL unless that failed, and if there was no memory to keep it */
} finished_file;

typedef struct waiting_folder {
    tl_fs *fs;
    char *path;
    tl_status status;
    tl_error *error; /* as of a file */
} waiting_folder;

struct tl_finished {
    pthread_mutex_t flushing; /* held during a flush: whoever publishes meanwhile waits for the files of both. Before `lock` */
    pthread_mutex_t lock;     /* guards n, and the files from those on that a flush has begun with */
    finished_file files[FINISHED_MAX];
    size_t n;
    waiting_folder *folders; /* that got entries since they were synced, each once; guarded by `lock` */
    size_t n_folders;
    tl_pool *pool; /* guarded by `flushing`; NULL before the first flush of several files */
    int threads;   /* of the pool: as many as the largest flush so far had use for */
};

/* An error is kept where it is needed: room for one in every place would be half a megabyte for each file system. */
static tl_error *keep_error(const tl_error *err)
{
    tl_error *kept = tl_alloc(sizeof *kept);
    if (kept != NULL)
        *kept = *err;
    return kept;
}

static tl_status give_error(tl_status status, const tl_error *kept, const char *path, tl_error *err)
{
    if (kept == NULL)
        return tl_error_set(err, status, "'%s' cannot be made durable", path);
    if (err != NULL)
        *err = *kept;
    return status;
}

tl_status tl_io__finished_create(tl_fs *fs, tl_error *err)
{
    tl_finished *finished = tl_calloc(1, sizeof *finished);
    if (finished == NULL)
        return tl_nomem(err, "file system");
    pthread_mutex_init(&finished->flushing, NULL);
    pthread_mutex_init(&finished->lock, NULL);
    fs->finished = finished;
    return TL_OK;
}

static void free_folders(waiting_folder *folders, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tl_free(folders[i].path);
        tl_free(folders[i].error);
    }
    tl_free(folders);
}

void tl_io__finished_free(tl_fs *fs)
{
    tl_finished *finished = fs->finished;
    if (finished == NULL)
        return;
    fs->refs = (int)finished->n + 1; /* closing takes one each */
    for (size_t i = 0; i < finished->n; i++) {
        (void)tl_file_close(finished->files[i].file, NULL); /* nothing was published that needs it */
        tl_free(finished->files[i].error);
    }
    free_folders(finished->folders, finished->n_folders);
    tl_pool_free(finished->pool);
    pthread_mutex_destroy(&finished->flushing);
    pthread_mutex_destroy(&finished->lock);
    tl_free(finished);
}

static tl_status sync_and_close(tl_file *file, tl_error *err)
{
    tl_status status = tl_file_sync(file, err);
    tl_status closed = tl_file_close(file, status == TL_OK ? err : NULL);
    return status != TL_OK ? status : closed;
}

/* @locks finished->lock held. */
static tl_status add_folder(tl_fs *fs, const char *dir, tl_error *err)
{
    tl_finished *finished = fs->finished;
    for (size_t i = 0; i < finished->n_folders; i++)
        if (strcmp(finished->folders[i].path, dir) == 0)
            return TL_OK;
    waiting_folder *grown = tl_realloc(finished->folders, (finished->n_folders + 1) * sizeof *grown);
    if (grown == NULL)
        return tl_nomem(err, dir);
    finished->folders = grown;
    char *path = tl_strdup(dir);
    if (path == NULL)
        return tl_nomem(err, dir);
    grown[finished->n_folders++] = (waiting_folder){.fs = fs, .path = path};
    return TL_OK;
}

tl_status tl_io__finished_entry(tl_fs *fs, const char *dir, tl_error *err)
{
    if (fs->finished == NULL)
        return TL_OK;
    pthread_mutex_lock(&fs->finished->lock);
    tl_status status = add_folder(fs, dir, err);
    pthread_mutex_unlock(&fs->finished->lock);
    return status;
}

tl_status tl_file_finish(tl_file *file, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *dir = tl_io__parent(file->path);
    tl_status status = dir == NULL ? tl_nomem(err, file->path) : tl_io__finished_entry(file->fs, dir, err);
    if (status == TL_OK)
        return tl_io__finish_unnamed(file, err);
    (void)tl_file_close(file, NULL);
    return status;
}

tl_status tl_io__finish_unnamed(tl_file *file, tl_error *err)
{
    tl_fs *fs = file->fs;
    tl_finished *finished = fs->finished;
    if (finished == NULL)
        return sync_and_close(file, err);
    pthread_mutex_lock(&finished->lock);
    bool takes = finished->n < FINISHED_MAX;
    if (takes)
        finished->files[finished->n++] = (finished_file){.file = file};
    pthread_mutex_unlock(&finished->lock);
    if (!takes)
        return sync_and_close(file, err); /* its name is for the flush */
    tl_fs_unref(fs); /* never the last: the caller has one */
    return TL_OK;
}

/* ---- flush ---- */

static tl_status sync_one(void *arg, tl_error *err)
{
    (void)err;
    finished_file *f = arg;
    tl_error own;
    if (f->status != TL_OK) /* what failed once is not tried again: a second sync would say that all is well */
        return TL_OK;
    f->status = tl_file_sync(f->file, &own);
    if (f->status != TL_OK)
        f->error = keep_error(&own);
    return TL_OK;
}

static tl_status sync_folder(void *arg, tl_error *err)
{
    (void)err;
    waiting_folder *f = arg;
    tl_error own;
    f->status = f->fs->ops->sync_dir(f->fs, f->path, &own);
    if (f->status == TL_E_NOT_FOUND) /* gone with all that was in it */
        f->status = TL_OK;
    if (f->status != TL_OK)
        f->error = keep_error(&own);
    return TL_OK;
}

/*
 * @locks finished->flushing held. A thread for each file and folder, up to the file system's number: those that have to wait for a thread
 * are late for the journal commit that the others share, and wait for one of their own.
 */
static void grow_pool(tl_fs *fs, size_t all)
{
    tl_finished *finished = fs->finished;
    int threads = (int)TL_MIN(all, (size_t)TL_MAX(fs->ops->sync_threads, 1));
    if (threads == 1 || threads <= finished->threads)
        return;
    tl_pool_free(TL_STEAL(finished->pool));
    finished->threads = tl_pool_create(threads, &finished->pool, NULL) == TL_OK ? threads : 0;
}

/* @locks finished->flushing held. The pool is only for speed: without one, all is synced one after the other. */
static void sync_all(tl_fs *fs, size_t n, waiting_folder *folders, size_t n_folders)
{
    tl_finished *finished = fs->finished;
    finished_file *files = finished->files;
    size_t all = n + n_folders, started = 0;
    if (all > 1 && fs->ops->start_sync != NULL) {
        for (size_t i = 0; i < n; i++)
            fs->ops->start_sync(files[i].file);
    }
    grow_pool(fs, all);
    tl_task_group *group = NULL;
    if (all > 1 && finished->pool != NULL && tl_task_group_create(finished->pool, &group, NULL) == TL_OK) {
        while (started < n && tl_task_group_run(group, sync_one, &files[started], NULL) == TL_OK)
            started++;
        while (started >= n && started < all && tl_task_group_run(group, sync_folder, &folders[started - n], NULL) == TL_OK)
            started++;
        (void)tl_task_group_wait(group, NULL); /* results are in the files and folders */
        tl_task_group_free(group);
    }
    for (size_t i = started; i < all; i++)
        (void)(i < n ? sync_one(&files[i], NULL) : sync_folder(&folders[i - n], NULL));
}

/* @locks finished->flushing held. Files whose names may not last have failed as those whose bytes may not. */
static void fail_all(tl_finished *finished, size_t n, const waiting_folder *folder)
{
    for (size_t i = 0; i < n; i++) {
        if (finished->files[i].status != TL_OK)
            continue;
        finished->files[i].status = folder->status;
        finished->files[i].error = folder->error == NULL ? NULL : keep_error(folder->error);
    }
}

/* @locks finished->flushing held. Lets go of the first n files but for those that failed; the first failure. */
static tl_status close_synced(tl_fs *fs, size_t n, tl_error *err)
{
    tl_finished *finished = fs->finished;
    tl_status status = TL_OK;
    pthread_mutex_lock(&finished->lock);
    size_t kept = 0;
    for (size_t i = 0; i < finished->n; i++) {
        finished_file *f = &finished->files[i];
        bool leaves = i < n && f->status == TL_OK;
        if (leaves) {
            tl_error own;
            (void)tl_fs_ref(fs);
            tl_status closed = tl_file_close(f->file, &own);
            if (closed != TL_OK && status == TL_OK)
                status = give_error(closed, &own, "", err);
            continue;
        }
        if (f->status != TL_OK && status == TL_OK)
            status = give_error(f->status, f->error, f->file->path, err);
        finished->files[kept++] = *f;
    }
    finished->n = kept;
    pthread_mutex_unlock(&finished->lock);
    return status;
}

tl_status tl_fs_flush(tl_fs *fs, tl_error *err)
{
    tl_finished *finished = fs->finished;
    if (finished == NULL)
        return TL_OK;
    pthread_mutex_lock(&finished->flushing);
    pthread_mutex_lock(&finished->lock);
    size_t n = finished->n, n_folders = finished->n_folders; /* those that come meanwhile stay behind them */
    waiting_folder *folders = TL_STEAL(finished->folders);
    finished->n_folders = 0;
    pthread_mutex_unlock(&finished->lock);
    sync_all(fs, n, folders, n_folders);
    tl_status status = TL_OK;
    for (size_t i = 0; i < n_folders && status == TL_OK; i++) {
        if (folders[i].status == TL_OK)
            continue;
        status = give_error(folders[i].status, folders[i].error, folders[i].path, err);
        fail_all(finished, n, &folders[i]);
    }
    free_folders(folders, n_folders);
    tl_status closed = close_synced(fs, n, status == TL_OK ? err : NULL);
    pthread_mutex_unlock(&finished->flushing);
    return status != TL_OK ? status : closed;
}

void tl_io__finished_forget(tl_fs *fs, const char *path)
{
    tl_finished *finished = fs->finished;
    if (finished == NULL)
        return;
    tl_file *gone = NULL;
    pthread_mutex_lock(&finished->flushing);
    pthread_mutex_lock(&finished->lock);
    for (size_t i = 0; i < finished->n && gone == NULL; i++) {
        if (strcmp(finished->files[i].file->path, path) != 0)
            continue;
        gone = finished->files[i].file;
        tl_free(finished->files[i].error);
        finished->n--;
        memmove(&finished->files[i], &finished->files[i + 1], (finished->n - i) * sizeof *finished->files);
    }
    pthread_mutex_unlock(&finished->lock);
    pthread_mutex_unlock(&finished->flushing);
    if (gone != NULL) {
        (void)tl_fs_ref(fs);
        (void)tl_file_close(gone, NULL); /* it goes */
    }
}
