/*
 * The rows of files that are sorted by other columns ('pk-clustering-override'), in the order of their keys: for comparing two states, which
 * goes by key. They are sorted under the memory of a write buffer and read back from a temporary file.
 */
#include "lsm/lsm_private.h"

typedef struct sorted_reader {
    tl_reader base;
    tl_lsm_config *config; /* its file system and folder of temporary files */
    tl_lsm__spill *spill;
    tl_reader *inner;
} sorted_reader;

static tl_status sorted_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    TL_TRY(tl_reader_next(((sorted_reader *)reader)->inner, out, err));
    if (*out != NULL) {
        tl_free((*out)->seq); /* was needed to sort */
        (*out)->seq = NULL;
    }
    return TL_OK;
}

static void sorted_free(tl_reader *reader)
{
    sorted_reader *r = (sorted_reader *)reader;
    tl_reader_free(r->inner);
    tl_lsm__spill_free(r->spill);
    tl_type_unref(r->base.type);
    tl_lsm_config_unref(r->config);
    tl_free(r);
}

static const tl_reader_ops sorted_ops = {sorted_next, sorted_free};

static tl_status sort_all(tl_reader *rows, tl_lsm__sorter *sorter, tl_lsm__spill **out, tl_error *err)
{
    for (;;) {
        tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(rows, &batch, err));
        if (batch == NULL)
            return tl_lsm__sorter_spill(sorter, out, err);
        TL_TRY(tl_lsm__sorter_add(sorter, batch, err));
    }
}

tl_status tl_bucket_read_by_key(tl_lsm_config *config, tl_bytes_view partition, int32_t number, tl_data_file *const *files, size_t n_files,
                                tl_dv_set *vectors, tl_reader **out, tl_error *err)
{
    const tl_order by_key = {.kind = TL_ORDER_COLUMNS, .columns = config->key_idx, .n_columns = config->n_keys};
    const tl_bucket_read_spec spec = {.with_seq = true, .vectors = vectors};
    TL_CLEANUP(tl_reader_freep) tl_reader *rows = NULL;
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    tl_lsm__sorter *sorter = NULL;
    TL_TRY(tl_bucket_read(config, partition, number, files, n_files, &spec, &rows, err));
    sorted_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "read");
    r->base = (tl_reader){&sorted_ops, tl_type_ref(rows->type)};
    r->config = tl_lsm_config_ref(config);
    reader = &r->base;
    TL_TRY(tl_lsm__sorter_create(config, r->base.type, &by_key, /* scales= */ NULL, &sorter, err));
    tl_status status = sort_all(rows, sorter, &r->spill, err);
    tl_lsm__sorter_free(sorter);
    if (status == TL_OK)
        status = tl_lsm__spill_open(r->spill, r->base.type, &r->inner, err);
    TL_TRY(status);
    *out = TL_STEAL(reader);
    return TL_OK;
}
