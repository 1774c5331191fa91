/* Shared by the file systems of this room. */
#ifndef TL_IO_PRIVATE_H
#define TL_IO_PRIVATE_H

#include "io/io.h"

/** Count traffic for tl_io_count(). */
void tl_io__count_read(size_t bytes);
void tl_io__count_write(size_t bytes);
void tl_io__count_create(void);

#endif
