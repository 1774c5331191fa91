/*
 * File systems: local, in memory, fault injection. A path is absolute and without a scheme for local files.
 *
 * Publishing is atomic: a file made by tl_fs_publish() is there whole or not at all, and never replaces one that exists
 * unless asked. All functions are thread-safe; a tl_file is used by one thread for writing, by several for tl_file_read_at().
 */
#ifndef TL_IO_IO_H
#define TL_IO_IO_H

#include "base/mem.h"

typedef struct tl_fs tl_fs;
typedef struct tl_file tl_file;
typedef struct tl_finished tl_finished;

typedef struct tl_stat {
    bool is_dir;
    int64_t bytes;
    int64_t mtime_ms;
    bool is_special; /* neither file nor folder: a device, a pipe */
} tl_stat;

typedef struct tl_dir_entry {
    char *name; /* without the folder */
    tl_stat stat;
} tl_dir_entry;

typedef struct tl_fs_ops {
    void (*free)(tl_fs *fs);
    tl_status (*open_read)(tl_fs *fs, const char *path, tl_file **out, tl_error *err);
    /* New file for sequential writing. TL_E_EXISTS if it exists, TL_E_NOT_FOUND if its folder does not. */
    tl_status (*create)(tl_fs *fs, const char *path, tl_file **out, tl_error *err);
    tl_status (*stat)(tl_fs *fs, const char *path, tl_stat *out, tl_error *err); /* TL_E_NOT_FOUND */
    /* Entries in no order; a folder that is missing has none. Freed with tl_dir_free(). */
    tl_status (*list)(tl_fs *fs, const char *path, tl_dir_entry **out, size_t *n, tl_error *err);
    tl_status (*mkdirs)(tl_fs *fs, const char *path, tl_error *err); /* one folder; fine if it is there */
    tl_status (*remove)(tl_fs *fs, const char *path, tl_error *err); /* file or empty folder; a missing one is TL_E_NOT_FOUND */
    /* Files and folders; TL_E_EXISTS if the target exists and !replace. */
    tl_status (*rename)(tl_fs *fs, const char *from, const char *to, bool replace, tl_error *err);
    /* Make folder entries durable (fsync of the folder); a no-op where that has no meaning. */
    tl_status (*sync_dir)(tl_fs *fs, const char *path, tl_error *err);
    /* The same file or folder without symbolic links on the way; NULL: there are none here. */
    tl_status (*real_path)(tl_fs *fs, const char *path, char **out, tl_error *err);

    tl_status (*file_size)(tl_file *file, int64_t *out, tl_error *err);
    /* Exactly `bytes` bytes at `offset`; TL_E_CORRUPT ("ends at …") if the file is shorter. */
    tl_status (*read_at)(tl_file *file, int64_t offset, void *buf, size_t bytes, tl_error *err);
    tl_status (*write)(tl_file *file, const void *data, size_t bytes, tl_error *err);
    tl_status (*sync)(tl_file *file, tl_error *err);
    /* Begin to write what the file holds, so that sync() waits less; NULL: there is nothing to begin. */
    void (*start_sync)(tl_file *file);
    int sync_threads; /* how many sync() at a time pay; 0 and 1: one after the other */
    tl_status (*close)(tl_file *file, tl_error *err); /* frees also on failure */
    /* Whole file mapped for reading, NULL if this file system cannot; valid until close. */
    const uint8_t *(*map)(tl_file *file, int64_t *bytes);
    void (*release)(tl_file *file, int64_t offset, int64_t bytes); /* of what is mapped; NULL where nothing is */
} tl_fs_ops;

struct tl_fs {
    const tl_fs_ops *ops;
    int refs;
    tl_finished *finished; /* files and folders that wait for tl_fs_flush(); NULL: each file is synced when it is finished */
};
struct tl_file {
    tl_fs *fs; /* its ops serve the file */
    char *path; /* for messages */
};

tl_status tl_fs_local(tl_fs **out, tl_error *err);
tl_status tl_fs_memory(tl_fs **out, tl_error *err);
tl_fs *tl_fs_ref(tl_fs *fs);
void tl_fs_unref(tl_fs *fs);

tl_status tl_fs_open_read(tl_fs *fs, const char *path, tl_file **out, tl_error *err);
/** New file for sequential writing; the folders above it are made. */
tl_status tl_fs_create(tl_fs *fs, const char *path, tl_file **out, tl_error *err);
tl_status tl_fs_stat(tl_fs *fs, const char *path, tl_stat *out, tl_error *err);
/** Where a path leads when all symbolic links are followed; tl_free. TL_E_NOT_FOUND. */
tl_status tl_fs_real_path(tl_fs *fs, const char *path, char **out, tl_error *err);
tl_status tl_fs_exists(tl_fs *fs, const char *path, bool *out, tl_error *err);
tl_status tl_fs_list(tl_fs *fs, const char *path, tl_dir_entry **out, size_t *n, tl_error *err);
void tl_dir_free(tl_dir_entry *entries, size_t n);
/** A folder and all above it. Those that are new are durable after the next tl_fs_flush(). */
tl_status tl_fs_mkdirs(tl_fs *fs, const char *path, tl_error *err);
tl_status tl_fs_remove(tl_fs *fs, const char *path, tl_error *err);
/** Remove a tree; missing is fine. */
tl_status tl_fs_remove_all(tl_fs *fs, const char *path, tl_error *err);
tl_status tl_fs_rename(tl_fs *fs, const char *from, const char *to, bool replace, tl_error *err);
/** Make renames into and out of a folder durable. */
tl_status tl_fs_sync_dir(tl_fs *fs, const char *path, tl_error *err);
tl_status tl_file_size(tl_file *file, int64_t *out, tl_error *err);
tl_status tl_file_read_at(tl_file *file, int64_t offset, void *buf, size_t bytes, tl_error *err);
tl_status tl_file_write(tl_file *file, const void *data, size_t bytes, tl_error *err);
tl_status tl_file_sync(tl_file *file, tl_error *err);
tl_status tl_file_close(tl_file *file, tl_error *err); /* NULL is fine */
/**
 * Close a file that is complete, also on failure. It is durable when the next tl_fs_flush() of its file system has succeeded, at
 * the latest before anything is published through it.
 */
tl_status tl_file_finish(tl_file *file, tl_error *err);
/** Make every finished file durable, and its name: the entries of all folders that got new ones are synced, once each. A file that cannot be synced lets this fail, now and later, until it is removed. */
tl_status tl_fs_flush(tl_fs *fs, tl_error *err);
const uint8_t *tl_file_map(tl_file *file, int64_t *bytes);
/** A part of the mapping that will hardly be read again gives its memory back; reading it again costs a page fault, no more. */
void tl_file_release(tl_file *file, int64_t offset, int64_t bytes);

/** Whole file of at most `bytes_max` bytes (TL_E_LIMIT above). */
tl_status tl_fs_read_all(tl_fs *fs, const char *path, int64_t bytes_max, tl_bytes *out, tl_error *err);
/** Copy a file, into another file system perhaps; finished as tl_file_finish() says. TL_E_EXISTS. */
tl_status tl_fs_copy(tl_fs *from_fs, const char *from, tl_fs *to_fs, const char *to, tl_error *err);
/**
 * Write to `.NAME.UUID.tmp` beside it, flush (this and all finished files), then rename and sync the folder; TL_E_EXISTS if it
 * exists and !replace. Java: FileIO#tryToWriteAtomic.
 */
tl_status tl_fs_publish(tl_fs *fs, const char *path, tl_bytes_view content, bool replace, tl_error *err);
/** The two halves of it: what can fail without a trace, and the one step that counts. */
typedef struct tl_staged {
    char *temp;
    char *path;
} tl_staged;
/** Write the temporary file and finish it. Nothing is durable before tl_fs_flush(). */
tl_status tl_fs_stage(tl_fs *fs, const char *path, tl_bytes_view content, tl_staged *out, tl_error *err);
/** Rename and sync the folder. The caller has flushed since; tl_staged_deinit() afterwards in any case. */
tl_status tl_fs_publish_staged(tl_fs *fs, const tl_staged *staged, bool replace, tl_error *err);
void tl_staged_deinit(tl_fs *fs, tl_staged *staged); /* removes a temporary file that was not published */
/** Replace a small file in one step, readers see the old or the new one. Not durable: for hints that can be found out anew. */
tl_status tl_fs_replace_hint(tl_fs *fs, const char *path, tl_bytes_view content, tl_error *err);

/* Paths. */
char *tl_path_join(const char *a, const char *b); /* tl_free; NULL if out of memory */
const char *tl_path_base(const char *path);
/** "file:/a", "file:///a/" and "/a/" are all "/a"; other schemes and relative paths stay. tl_free; NULL if out of memory. */
char *tl_path_of_uri(const char *uri);
/** Escape and unescape of one component `key=value` of a partition's path: %XX for what has a meaning in paths; appended to `out`. */
tl_status tl_path_escape(tl_bytes_view text, tl_buf *out);
tl_status tl_path_unescape(tl_bytes_view text, tl_buf *out);

/*
 * Fault injection for tests: wraps another file system, counts its calls, and lets call number `at` fail in a chosen way.
 */
typedef enum tl_fault_kind {
    TL_FAULT_NONE,
    TL_FAULT_EIO,
    TL_FAULT_ENOSPC,
    TL_FAULT_SHORT_READ,
    TL_FAULT_TORN_WRITE, /* half of the bytes arrive, then EIO */
    TL_FAULT_CRASH       /* this and every later call fails; un-synced data of the memory file system is dropped */
} tl_fault_kind;
typedef struct tl_fault_plan {
    tl_fault_kind kind;
    uint64_t at;    /* 1-based number of the call; 0: never */
    uint64_t calls; /* calls so far (out) */
} tl_fault_plan;
/** `plan` must outlive the file system. */
tl_status tl_fs_fault(tl_fs *inner, tl_fault_plan *plan, tl_fs **out, tl_error *err);

/** Bytes and calls since the start of the process, for metrics and progress. */
typedef struct tl_io_counters {
    uint64_t read_bytes, read_calls, write_bytes, write_calls, files_created;
} tl_io_counters;
tl_io_counters tl_io_count(void);
/** A piece of a mapped file is about to be looked at: it counts as read, as it would without the mapping. */
void tl_io_count_mapped(size_t bytes);

#endif
