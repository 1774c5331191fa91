/* Shared by the file systems of this room. */
#ifndef TL_IO_PRIVATE_H
#define TL_IO_PRIVATE_H

#include "io/io.h"

/** Count traffic for tl_io_count(). */
void tl_io__count_read(size_t bytes);
void tl_io__count_write(size_t bytes);
void tl_io__count_create(void);

/** Files and folders that wait to be made durable: finished.c. */
tl_status tl_io__finished_create(tl_fs *fs, tl_error *err);
void tl_io__finished_free(tl_fs *fs);
/** As tl_file_finish() for a file that is renamed before anyone looks for it: its present name need not last. */
tl_status tl_io__finish_unnamed(tl_file *file, tl_error *err);
/** A folder has an entry that the next flush must make durable. */
tl_status tl_io__finished_entry(tl_fs *fs, const char *dir, tl_error *err);
char *tl_io__parent(const char *path); /* "/" or "." if it has none; NULL: out of memory */
void tl_io__finished_forget(tl_fs *fs, const char *path); /* its file is about to be removed */

#endif
