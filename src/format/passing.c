/* See passing.h. */
#include "format/passing.h"

tl_status tl_format__next_passing(tl_reader *reader, tl_format__fill fill, const tl_predicate *predicate, const char *name, tl_batch **out,
                                  tl_error *err)
{
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        tl_status status = fill(reader, &batch, err);
        if (status == TL_OK && batch != NULL && predicate != NULL)
            status = tl_predicate_filter(predicate, &batch, err);
        if (status != TL_OK)
            return tl_error_wrap(err, status, "file '%s'", name);
        if (batch == NULL || batch->n_rows > 0) {
            *out = TL_STEAL(batch);
            return TL_OK;
        }
    }
}
