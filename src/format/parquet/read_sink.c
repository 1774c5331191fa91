/* Sinks: dense values that grow, in the layout of a column's buffers, so that a full sink becomes a column without a copy. */
#include "format/parquet/read_private.h"

void tl_pq__sink_deinit(tl_pq_sink *sink)
{
    tl_free(sink->values);
    tl_free(sink->offsets);
    tl_free(sink->data);
    *sink = (tl_pq_sink){.width = sink->width};
}

static tl_status grow(uint8_t **buf, size_t used, size_t bytes, tl_error *err)
{
    uint8_t *fresh = tl_alloc_aligned(bytes + TL_PQ_SLACK);
    if (fresh == NULL)
        return tl_nomem(err, "column");
    if (*buf != NULL)
        memcpy(fresh, *buf, used);
    tl_free(*buf);
    *buf = fresh;
    return TL_OK;
}

tl_status tl_pq__sink_reserve(tl_pq_sink *sink, int64_t extra, tl_error *err)
{
    if (sink->cap - sink->len >= extra && (sink->offsets != NULL || sink->values != NULL))
        return TL_OK;
    if (extra > INT32_MAX || sink->len > INT32_MAX - extra)
        return tl_error_set(err, TL_E_LIMIT, "more than %d values in one batch", INT32_MAX);
    int64_t cap = sink->cap == 0 ? extra : TL_MAX(sink->len + extra, sink->cap * 2);
    size_t width = sink->width == 0 ? sizeof(int32_t) : (size_t)sink->width;
    if (sink->width != 0) {
        TL_TRY(grow(&sink->values, (size_t)sink->len * width, (size_t)cap * width, err));
    } else {
        bool is_new = sink->offsets == NULL;
        uint8_t *offsets = (uint8_t *)sink->offsets;
        tl_status status = grow(&offsets, is_new ? 0 : ((size_t)sink->len + 1) * width, ((size_t)cap + 1) * width, err);
        sink->offsets = (int32_t *)(void *)offsets;
        TL_TRY(status);
        if (is_new)
            sink->offsets[0] = 0;
    }
    sink->cap = cap;
    return TL_OK;
}

tl_status tl_pq__sink_reserve_data(tl_pq_sink *sink, int64_t extra, tl_error *err)
{
    if (sink->data_cap - sink->data_len >= extra && sink->data != NULL)
        return TL_OK;
    if (extra > TL_PQ_BATCH_BYTES_MAX || sink->data_len > TL_PQ_BATCH_BYTES_MAX - extra)
        return tl_error_set(err, TL_E_LIMIT, "strings of one batch take more than %lld bytes",
                            (long long)TL_PQ_BATCH_BYTES_MAX);
    int64_t cap = sink->data_cap == 0 ? extra : TL_MAX(sink->data_len + extra, sink->data_cap * 2);
    TL_TRY(grow(&sink->data, (size_t)sink->data_len, (size_t)cap, err));
    sink->data_cap = cap;
    return TL_OK;
}
