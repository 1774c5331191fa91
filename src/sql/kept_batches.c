/* Batches that a statement keeps until all that its query finds is known. */
#include "sql/commands.h"

tl_status tl_sql__batches_keep(tl_kept_batches *to, tl_batch **batch, tl_error *err)
{
    if (to->n == to->cap) {
        size_t cap = to->cap == 0 ? 64 : to->cap * 2;
        tl_batch **items = tl_realloc(to->items, cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "rows");
        to->items = items;
        to->cap = cap;
    }
    to->items[to->n++] = TL_STEAL(*batch);
    return TL_OK;
}

void tl_sql__batches_deinit(tl_kept_batches *batches)
{
    for (size_t i = 0; i < batches->n; i++)
        tl_batch_free(batches->items[i]);
    tl_free(batches->items);
    *batches = (tl_kept_batches){0};
}
