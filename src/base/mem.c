#include "base/mem.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/spare.h"

/* Fault hook: one relaxed load on the usual path. */
static _Atomic uint64_t fail_at;
static _Atomic uint64_t alloc_count;

static bool alloc_must_fail(void)
{
    uint64_t at = atomic_load_explicit(&fail_at, memory_order_relaxed);
    if (TL_LIKELY(at == 0))
        return false;
    return atomic_fetch_add(&alloc_count, 1) + 1 == at;
}

void tl_alloc_fail_at(uint64_t nth)
{
    atomic_store(&alloc_count, 0);
    atomic_store(&fail_at, nth);
}

uint64_t tl_alloc_count(void)
{
    return atomic_load(&alloc_count);
}

void *tl_alloc(size_t bytes)
{
    return alloc_must_fail() ? NULL : tl_base__spare_take(bytes);
}

void *tl_calloc(size_t count, size_t bytes)
{
    size_t total = 0;
    if (alloc_must_fail())
        return NULL;
    if (!tl_mul_size(count, bytes, &total) || total > TL_SPARE_BYTES_MAX)
        return calloc(count, bytes);
    void *block = tl_base__spare_take(total);
    if (block != NULL)
        memset(block, 0, total);
    return block;
}

void *tl_realloc(void *ptr, size_t bytes)
{
    return alloc_must_fail() ? NULL : tl_base__spare_resize(ptr, bytes);
}

void tl_free(void *ptr)
{
    tl_base__spare_give(ptr);
}

/* Blocks of up to this many bytes are not aligned: glibc's aligned_alloc() is slow, and there is nothing to gain. */
#define SMALL_BYTES 512

void *tl_alloc_aligned(size_t bytes)
{
    if (alloc_must_fail() || bytes > SIZE_MAX - 64)
        return NULL;
    return bytes <= SMALL_BYTES ? tl_base__spare_take(bytes) : tl_base__spare_take_aligned(bytes);
}

void *tl_memdup(const void *data, size_t bytes)
{
    void *copy = tl_alloc(bytes);
    if (copy != NULL && bytes != 0)
        memcpy(copy, data, bytes);
    return copy;
}

char *tl_strndup(const char *text, size_t bytes)
{
    char *copy = tl_alloc(bytes + 1);
    if (copy != NULL) {
        if (bytes != 0)
            memcpy(copy, text, bytes);
        copy[bytes] = '\0';
    }
    return copy;
}

char *tl_strdup(const char *text)
{
    return tl_strndup(text, strlen(text));
}

char *tl_strf(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = tl_alloc((size_t)len + 1);
    if (text != NULL) {
        va_start(args, fmt);
        vsnprintf(text, (size_t)len + 1, fmt, args);
        va_end(args);
    }
    return text;
}

tl_status tl_bytes_dup(tl_bytes_view view, tl_bytes *out)
{
    uint8_t *copy = tl_memdup(view.data, view.len);
    if (copy == NULL)
        return TL_E_NOMEM;
    *out = (tl_bytes){copy, view.len};
    return TL_OK;
}

void tl_buf_deinit(tl_buf *buf)
{
    tl_free(buf->data);
    *buf = (tl_buf){NULL, 0, 0};
}

tl_status tl_buf_reserve_slow(tl_buf *buf, size_t extra)
{
    size_t need;
    if (!tl_add_size(buf->len, extra, &need) || need > SIZE_MAX / 2)
        return TL_E_NOMEM;
    size_t cap = buf->cap < 64 ? 64 : buf->cap;
    while (cap < need)
        cap *= 2;
    uint8_t *data;
    if (cap > TL_SPARE_BYTES_MAX) {
        data = tl_realloc(buf->data, cap);
        if (data == NULL)
            return TL_E_NOMEM;
    } else {
        data = tl_alloc(cap);
        if (data == NULL)
            return TL_E_NOMEM;
        if (buf->len > 0)
            memcpy(data, buf->data, buf->len); /* realloc() would copy what the buffer had room for */
        tl_free(buf->data);
    }
    buf->data = data;
    buf->cap = cap;
    return TL_OK;
}

tl_status tl_buf_appendf(tl_buf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    TL_TRY(tl_buf_reserve(buf, (size_t)len + 1));
    va_start(args, fmt);
    vsnprintf((char *)buf->data + buf->len, (size_t)len + 1, fmt, args);
    va_end(args);
    buf->len += (size_t)len;
    return TL_OK;
}

tl_status tl_buf_steal_str(tl_buf *buf, char **out)
{
    TL_TRY(tl_buf_append_byte(buf, 0));
    *out = (char *)buf->data;
    *buf = (tl_buf){NULL, 0, 0};
    return TL_OK;
}

/* Arena blocks double from 4 KiB to 1 MiB; a larger piece gets a block of its own. */
struct tl_arena_block {
    struct tl_arena_block *next;
    size_t used;
    size_t cap;
    _Alignas(16) uint8_t bytes[];
};

void tl_arena_deinit(tl_arena *arena)
{
    struct tl_arena_block *block = arena->blocks;
    while (block != NULL) {
        struct tl_arena_block *next = block->next;
        tl_free(block);
        block = next;
    }
    *arena = (tl_arena){NULL, 0};
}

void tl_arena_reset(tl_arena *arena)
{
    struct tl_arena_block *keep = arena->blocks;
    if (keep == NULL)
        return;
    *arena = (tl_arena){keep->next, 0};
    tl_arena_deinit(arena);
    keep->next = NULL;
    keep->used = 0;
    arena->blocks = keep;
}

void *tl_arena_alloc(tl_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    struct tl_arena_block *block = arena->blocks;
    if (block == NULL || block->cap - block->used < bytes) {
        size_t cap = block == NULL ? 4096 : TL_MIN(block->cap * 2, (size_t)1 << 20);
        cap = TL_MAX(cap, bytes);
        struct tl_arena_block *fresh = tl_alloc(sizeof *fresh + cap);
        if (fresh == NULL)
            return NULL;
        fresh->next = block;
        fresh->used = 0;
        fresh->cap = cap;
        arena->blocks = block = fresh;
    }
    void *piece = block->bytes + block->used;
    block->used += bytes;
    arena->used_bytes += bytes;
    return piece;
}

void *tl_arena_calloc(tl_arena *arena, size_t count, size_t bytes)
{
    size_t total;
    if (!tl_mul_size(count, bytes, &total))
        return NULL;
    void *piece = tl_arena_alloc(arena, total);
    if (piece != NULL)
        memset(piece, 0, total);
    return piece;
}

char *tl_arena_strndup(tl_arena *arena, const char *text, size_t bytes)
{
    char *copy = tl_arena_alloc(arena, bytes + 1);
    if (copy != NULL) {
        if (bytes != 0)
            memcpy(copy, text, bytes);
        copy[bytes] = '\0';
    }
    return copy;
}

char *tl_arena_strdup(tl_arena *arena, const char *text)
{
    return tl_arena_strndup(arena, text, strlen(text));
}

char *tl_arena_strf(tl_arena *arena, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = tl_arena_alloc(arena, (size_t)len + 1);
    if (text != NULL) {
        va_start(args, fmt);
        vsnprintf(text, (size_t)len + 1, fmt, args);
        va_end(args);
    }
    return text;
}
