/* The two halves of the kind range-bitmap: range_bitmap.c reads (and tells the layout), range_bitmap_write.c writes. */
#ifndef TL_INDEX_RANGE_BITMAP_H
#define TL_INDEX_RANGE_BITMAP_H

#include "index/file_index_private.h"

tl_status tl_range_bitmap__create(const tl_findex__type *type, const tl_options *options, tl_findex__writer **out, tl_error *err);
tl_status tl_range_bitmap__add(tl_findex__writer *writer, const tl_column *col, int64_t n, tl_error *err);
int64_t tl_range_bitmap__memory(const tl_findex__writer *writer);
tl_status tl_range_bitmap__finish(tl_findex__writer *writer, tl_buf *out, const char **why, tl_error *err);
void tl_range_bitmap__free(tl_findex__writer *writer);

#endif
