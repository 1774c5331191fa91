/* Shared by the file systems of this room. */
#ifndef TL_IO_PRIVATE_H
#define TL_IO_PRIVATE_H

#include "io/io.h"

/** Count traffic for tl_io_count(). */
void tl_io__count_read(size_t bytes);
void tl_io__count_write(size_t bytes);
void tl_io__count_create(void);

/** Files that wait to be made durable: finished.c. */
tl_status tl_io__finished_create(tl_fs *fs, tl_error *err);
void tl_io__finished_free(tl_fs *fs);
void tl_io__finished_forget(tl_fs *fs, const char *path); /* its file is about to be removed */

#endif
