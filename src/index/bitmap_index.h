/* The two halves of the kind bitmap: bitmap_index.c reads (and tells the layout), bitmap_index_write.c writes. */
#ifndef TL_INDEX_BITMAP_INDEX_H
#define TL_INDEX_BITMAP_INDEX_H

#include "index/file_index_private.h"

bool tl_bitmap_index__holds(const tl_type *type, const char **why);
tl_status tl_bitmap_index__create(const tl_findex__type *type, const tl_options *options, tl_findex__writer **out, tl_error *err);
tl_status tl_bitmap_index__add(tl_findex__writer *writer, const tl_column *col, int64_t n, tl_error *err);
int64_t tl_bitmap_index__memory(const tl_findex__writer *writer);
tl_status tl_bitmap_index__finish(tl_findex__writer *writer, tl_buf *out, const char **why, tl_error *err);
void tl_bitmap_index__free(tl_findex__writer *writer);

#endif
