/*
 * Blocks that a thread gives back and takes again (private to base: behind tl_alloc() and tl_free()).
 */
#ifndef TL_BASE_SPARE_H
#define TL_BASE_SPARE_H

#include <stddef.h>

/** Sizes that are kept at hand. */
#define TL_SPARE_BYTES_MIN ((size_t)65)
#define TL_SPARE_BYTES_MAX ((size_t)16 << 10)

/** A block of at least `bytes`, from the thread's spare ones or from malloc(); NULL if there is no memory. */
void *tl_base__spare_take(size_t bytes);
/** The same with 64-byte alignment. */
void *tl_base__spare_take_aligned(size_t bytes);
/** Give back what tl_base__spare_take() or malloc() gave; NULL is fine. */
void tl_base__spare_give(void *block);
/** As realloc(). */
void *tl_base__spare_resize(void *block, size_t bytes);

#endif
