/* Filters on values of maps (map_filter.h). */
#include "types/map_filter.h"

tl_status tl_map_filter_create(const tl_map_value *values, int32_t n_values, tl_predicate *predicate, tl_map_filter **out, tl_error *err)
{
    tl_map_filter *filter = tl_calloc(1, sizeof *filter);
    if (filter == NULL) {
        tl_predicate_free(predicate);
        return tl_nomem(err, "filter on maps");
    }
    filter->refs = 1;
    filter->predicate = predicate;
    filter->values = tl_calloc((size_t)n_values + 1, sizeof *filter->values);
    bool good = filter->values != NULL;
    for (int32_t i = 0; i < n_values && good; i++) {
        filter->values[i] = (tl_map_value){.column = values[i].column, .key = tl_strdup(values[i].key)};
        filter->n_values = i + 1;
        good = filter->values[i].key != NULL;
    }
    if (!good) {
        tl_map_filter_unref(filter);
        return tl_nomem(err, "filter on maps");
    }
    *out = filter;
    return TL_OK;
}

tl_map_filter *tl_map_filter_ref(tl_map_filter *filter)
{
    if (filter != NULL)
        __atomic_fetch_add(&filter->refs, 1, __ATOMIC_RELAXED);
    return filter;
}

void tl_map_filter_unref(tl_map_filter *filter)
{
    if (filter == NULL || __atomic_fetch_sub(&filter->refs, 1, __ATOMIC_ACQ_REL) > 1)
        return;
    for (int32_t i = 0; i < filter->n_values; i++)
        tl_free(filter->values[i].key);
    tl_free(filter->values);
    tl_predicate_free(filter->predicate);
    tl_free(filter);
}
