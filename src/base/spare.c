/*
 * Blocks that a thread gives back and takes again, in front of malloc().
 *
 * A commit of a few rows, a batch, a look-up make the same hundreds of blocks of 100 bytes to 16 KiB again and again: buffers of
 * pages, columns, dictionaries. glibc keeps seven blocks a size and thread at hand, and none of more than a KiB; the others are merged
 * with their neighbours, cut up again, and touched far away in memory for that. Here a thread keeps what it freed, by size, and
 * takes the block that is still in its cache. Larger ones are better with malloc(): kept, they cost more memory than they save time.
 *
 * Sizes are rounded up to four steps an octave: 80, 96, 112, 128, 160 … 16,384 bytes. What a block holds is asked of the allocator
 * (malloc_usable_size), so that any block of malloc() may be given here, and any block from here to free(). A thread keeps at most
 * OCTAVE_BYTES of each octave, 2 MiB in all, until it ends.
 *
 * Under sanitizers, and where the allocator cannot be asked, every block comes from malloc() and goes back to it: a use after free
 * must be seen.
 */
#include "base/spare.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(SANITIZED) || !defined(__linux__)
#define KEEPS_BLOCKS 0
#else
#define KEEPS_BLOCKS 1
#endif

#if KEEPS_BLOCKS

#include <malloc.h>

#define OCTAVES 8 /* from 65 bytes to 16 KiB */
#define OCTAVE_BYTES ((size_t)256 << 10)
#define ALIGNMENT 64

typedef struct spare_block {
    struct spare_block *next;
} spare_block;

typedef enum keeping { NOT_YET, KEEPING, ENDED } keeping;

/* Those of a thread: first those of any address, then those that are aligned. */
typedef struct spare_blocks {
    spare_block *lists[2][OCTAVES * 4];
    size_t bytes[OCTAVES];
    keeping state;
} spare_blocks;

static _Thread_local spare_blocks spare;
static pthread_key_t spare_key;
static pthread_once_t spare_once = PTHREAD_ONCE_INIT;
static bool has_key;

/* Size `step` (0 to 3) of an octave, which begins above 64 << octave. */
static inline size_t size_of(unsigned octave, unsigned step)
{
    return (size_t)(5 + step) << (octave + 4);
}

/* The smallest size that holds `bytes`. */
static inline unsigned class_for(size_t bytes)
{
    unsigned top = 63 - (unsigned)__builtin_clzll(bytes - 1); /* 6 for 65 to 128 */
    return (top - 6) * 4 + (unsigned)((bytes - 1) >> (top - 2) & 3);
}

static void free_all(void *arg)
{
    (void)arg;
    spare.state = ENDED; /* what other ends free after this goes to free() */
    for (size_t i = 0; i < 2 * (size_t)OCTAVES * 4; i++) {
        spare_block **list = &spare.lists[i / (OCTAVES * 4)][i % (OCTAVES * 4)];
        while (*list != NULL) {
            spare_block *block = *list;
            *list = block->next;
            free(block);
        }
    }
}

static void make_key(void)
{
    has_key = pthread_key_create(&spare_key, free_all) == 0;
}

/* Whether the thread may keep blocks: only if they will be freed with it. */
static bool may_keep(void)
{
    if (spare.state == NOT_YET) {
        pthread_once(&spare_once, make_key);
        spare.state = has_key && pthread_setspecific(spare_key, &spare) == 0 ? KEEPING : ENDED;
    }
    return spare.state == KEEPING;
}

static inline void *pop(bool aligned, unsigned which)
{
    spare_block *block = spare.lists[aligned][which];
    if (block != NULL) {
        spare.lists[aligned][which] = block->next;
        spare.bytes[which / 4] -= size_of(which / 4, which % 4);
    }
    return block;
}

static inline bool is_kept_size(size_t bytes)
{
    return bytes >= TL_SPARE_BYTES_MIN && bytes <= TL_SPARE_BYTES_MAX;
}

void *tl_base__spare_take(size_t bytes)
{
    if (!is_kept_size(bytes))
        return malloc(bytes == 0 ? 1 : bytes);
    unsigned which = class_for(bytes);
    void *block = pop(false, which);
    if (block == NULL)
        block = pop(true, which);
    return block != NULL ? block : malloc(size_of(which / 4, which % 4));
}

void *tl_base__spare_take_aligned(size_t bytes)
{
    if (!is_kept_size(bytes))
        return aligned_alloc(ALIGNMENT, bytes == 0 ? ALIGNMENT : (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    unsigned which = class_for(bytes);
    void *block = pop(true, which);
    size_t size = size_of(which / 4, which % 4);
    return block != NULL ? block : aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

void tl_base__spare_give(void *ptr)
{
    if (ptr == NULL)
        return;
    size_t bytes = malloc_usable_size(ptr);
    /* The largest size that fits in; what is larger than all of them is not kept. */
    if (bytes < size_of(0, 0) || bytes >= TL_SPARE_BYTES_MAX + TL_SPARE_BYTES_MAX / 4 || !may_keep()) {
        free(ptr);
        return;
    }
    unsigned which = class_for(bytes + 1) - 1;
    size_t size = size_of(which / 4, which % 4);
    if (spare.bytes[which / 4] + size > OCTAVE_BYTES) {
        free(ptr);
        return;
    }
    spare_block *block = ptr, **list = &spare.lists[(uintptr_t)ptr % ALIGNMENT == 0][which];
    block->next = *list;
    *list = block;
    spare.bytes[which / 4] += size;
}

void *tl_base__spare_resize(void *ptr, size_t bytes)
{
    if (ptr == NULL)
        return tl_base__spare_take(bytes);
    if (!is_kept_size(bytes))
        return realloc(ptr, bytes == 0 ? 1 : bytes);
    size_t had = malloc_usable_size(ptr);
    if (bytes <= had && bytes >= had / 2)
        return ptr;
    void *block = tl_base__spare_take(bytes);
    if (block == NULL)
        return NULL;
    memcpy(block, ptr, had < bytes ? had : bytes);
    tl_base__spare_give(ptr);
    return block;
}

#else

void *tl_base__spare_take(size_t bytes)
{
    return malloc(bytes == 0 ? 1 : bytes);
}

void *tl_base__spare_take_aligned(size_t bytes)
{
    return aligned_alloc(64, bytes == 0 ? 64 : (bytes + 63) / 64 * 64);
}

void tl_base__spare_give(void *block)
{
    free(block);
}

void *tl_base__spare_resize(void *block, size_t bytes)
{
    return realloc(block, bytes == 0 ? 1 : bytes);
}

#endif
