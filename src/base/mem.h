/*
 * Memory: allocation with a fault hook, cleanup attributes, byte views, growable buffers, arenas.
 *
 * Every allocation of the library goes through tl_alloc() and friends, so that a test can let the n-th one fail.
 * Ownership follows names: create/free (heap), init/deinit (caller's storage), ref/unref (shared, immutable), dup, _take,
 * _view (see CONTRIBUTING.md).
 */
#ifndef TL_BASE_MEM_H
#define TL_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

/** malloc/calloc/realloc/free with the fault hook. NULL on failure; size 0 gives a unique pointer. */
void *tl_alloc(size_t bytes) __attribute__((malloc));
void *tl_calloc(size_t count, size_t bytes) __attribute__((malloc));
void *tl_realloc(void *ptr, size_t bytes);
void tl_free(void *ptr);
/** For column buffers: 64-byte aligned, small ones as malloc() does (16); released with tl_free(). */
void *tl_alloc_aligned(size_t bytes) __attribute__((malloc));
char *tl_strdup(const char *text);
char *tl_strndup(const char *text, size_t bytes);
void *tl_memdup(const void *data, size_t bytes);
/** printf into a new string (tl_free); NULL if out of memory. */
char *tl_strf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** Let the allocation number `nth` from now (1-based) fail, once; 0 switches off. Tests only; one thread. */
void tl_alloc_fail_at(uint64_t nth);
/** Allocations made since the last tl_alloc_fail_at(). */
uint64_t tl_alloc_count(void);

/** a * b and a + b with overflow check: true if it fits, result in *out. */
static inline bool tl_mul_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool tl_add_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

#define TL_CLEANUP(fn) __attribute__((cleanup(fn)))
/** Move a pointer out of a TL_CLEANUP variable. */
#define TL_STEAL(ptr)                                                                                                            \
    __extension__({                                                                                                              \
        __typeof__(ptr) tl_stolen_ = (ptr);                                                                                      \
        (ptr) = NULL;                                                                                                            \
        tl_stolen_;                                                                                                              \
    })
/** Define `static inline void NAME(TYPE **p)` that calls FREE(*p): the function for TL_CLEANUP. */
#define TL_DEFINE_CLEANUP(NAME, TYPE, FREE)                                                                                      \
    static inline void NAME(TYPE **ptr)                                                                                          \
    {                                                                                                                            \
        FREE(*ptr);                                                                                                              \
    }
static inline void tl_freep(void *ptr)
{
    tl_free(*(void **)ptr);
}

#define TL_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define TL_MIN(a, b) ((a) < (b) ? (a) : (b))
#define TL_MAX(a, b) ((a) > (b) ? (a) : (b))
#define TL_LIKELY(x) __builtin_expect(!!(x), 1)
#define TL_UNLIKELY(x) __builtin_expect(!!(x), 0)

/** A borrowed run of bytes; not NUL-terminated. */
typedef struct tl_bytes_view {
    const uint8_t *data;
    size_t len;
} tl_bytes_view;

static inline bool tl_bytes_equal(tl_bytes_view a, tl_bytes_view b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}
/** memcmp order, the shorter one first where one is a prefix. */
static inline int tl_bytes_compare(tl_bytes_view a, tl_bytes_view b)
{
    size_t len = TL_MIN(a.len, b.len);
    int c = len == 0 ? 0 : memcmp(a.data, b.data, len); /* empty views may have no data */
    return c != 0 ? c : (a.len > b.len) - (a.len < b.len);
}

/** Owned bytes; {NULL, 0} is empty. Released with tl_bytes_deinit(). */
typedef struct tl_bytes {
    uint8_t *data;
    size_t len;
} tl_bytes;

static inline tl_bytes_view tl_bytes_view_of(tl_bytes bytes)
{
    return (tl_bytes_view){bytes.data, bytes.len};
}
static inline void tl_bytes_deinit(tl_bytes *bytes)
{
    tl_free(bytes->data);
    *bytes = (tl_bytes){NULL, 0};
}
/** Copy of a view; TL_E_NOMEM without a message. */
tl_status tl_bytes_dup(tl_bytes_view view, tl_bytes *out);

/** Growable byte buffer. Zero-initialise; tl_buf_deinit() releases. Appends return TL_OK or TL_E_NOMEM. */
typedef struct tl_buf {
    uint8_t *data;
    size_t len;
    size_t cap;
} tl_buf;

void tl_buf_deinit(tl_buf *buf);
/** Make room for `extra` more bytes (geometric growth). */
tl_status tl_buf_reserve_slow(tl_buf *buf, size_t extra);
static inline tl_status tl_buf_reserve(tl_buf *buf, size_t extra)
{
    return TL_LIKELY(buf->cap - buf->len >= extra) ? TL_OK : tl_buf_reserve_slow(buf, extra);
}
static inline tl_status tl_buf_append(tl_buf *buf, const void *data, size_t bytes)
{
    TL_TRY(tl_buf_reserve(buf, bytes));
    if (bytes != 0)
        memcpy(buf->data + buf->len, data, bytes);
    buf->len += bytes;
    return TL_OK;
}
static inline tl_status tl_buf_append_byte(tl_buf *buf, uint8_t byte)
{
    return tl_buf_append(buf, &byte, 1);
}
static inline tl_status tl_buf_append_str(tl_buf *buf, const char *text)
{
    return tl_buf_append(buf, text, strlen(text));
}
tl_status tl_buf_appendf(tl_buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Hand the content over as a NUL-terminated string (the NUL is not counted); the buffer is empty afterwards. */
tl_status tl_buf_steal_str(tl_buf *buf, char **out);
/** Hand the content over; the buffer is empty afterwards. */
static inline tl_bytes tl_buf_steal(tl_buf *buf)
{
    tl_bytes bytes = {buf->data, buf->len};
    *buf = (tl_buf){NULL, 0, 0};
    return bytes;
}

/** Arena: many small pieces with one end. Zero-initialise; tl_arena_deinit() releases all. Not thread-safe. */
typedef struct tl_arena {
    struct tl_arena_block *blocks;
    size_t used_bytes; /* handed out, for budgets */
} tl_arena;

void tl_arena_deinit(tl_arena *arena);
/** Forget all pieces but keep the newest block, for the next round of the same work. */
void tl_arena_reset(tl_arena *arena);
/** 16-byte aligned, not zeroed; NULL if out of memory. */
void *tl_arena_alloc(tl_arena *arena, size_t bytes);
void *tl_arena_calloc(tl_arena *arena, size_t count, size_t bytes);
char *tl_arena_strdup(tl_arena *arena, const char *text);
char *tl_arena_strndup(tl_arena *arena, const char *text, size_t bytes);
char *tl_arena_strf(tl_arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Shorthand for the common failure. */
static inline tl_status tl_nomem(tl_error *err, const char *what)
{
    return tl_error_set(err, TL_E_NOMEM, "out of memory: %s", what);
}

#endif
