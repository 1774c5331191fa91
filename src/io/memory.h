/* What the fault file system asks of the one in memory. */
#ifndef TL_IO_MEMORY_H
#define TL_IO_MEMORY_H

#include "io/io.h"

bool tl_fs__is_memory(const tl_fs *fs);
/** Forget what was written but not synced, as a power cut does. */
void tl_fs__memory_crash(tl_fs *fs);

#endif
