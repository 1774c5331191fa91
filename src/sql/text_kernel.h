/* What the kernels of text functions share. Private to sql/. */
#ifndef TL_SQL_TEXT_KERNEL_H
#define TL_SQL_TEXT_KERNEL_H

#include "sql/bind.h"

static inline tl_status nomem(tl_kernel *k)
{
    return tl_nomem(k->err, "batch");
}

/* Appends to the batch's text, or returns from the kernel. */
#define APPEND(K, DATA, BYTES)                               \
    do {                                                     \
        if (tl_buf_append(&(K)->text, DATA, BYTES) != TL_OK) \
            return nomem(K);                                 \
    } while (0)

/** Text argument a of row i. */
static inline tl_bytes_view arg(const tl_kernel *k, int32_t a, int64_t i)
{
    return tl_vec_bytes(&k->args[a], i);
}

#endif
