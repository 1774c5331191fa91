/*
 * The levels of one bucket (Java: org.apache.paimon.mergetree.Levels).
 *
 * Level 0 holds one sorted run per file, newest first; each level above is one run of files with disjoint key ranges.
 */
#include "lsm/lsm_private.h"

/* Newest first. Writers at the same time may give equal numbers: then the names make the order definite. */
static int compare_level0(const tl_data_file *a, const tl_data_file *b)
{
    if (a->max_seq != b->max_seq)
        return a->max_seq > b->max_seq ? -1 : 1;
    if (a->min_seq != b->min_seq)
        return a->min_seq < b->min_seq ? -1 : 1;
    if (a->creation_time_ms != b->creation_time_ms)
        return a->creation_time_ms < b->creation_time_ms ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Level 0 is short and nearly sorted, since new files have the largest numbers. */
static void sort_level0(tl_file_list *files)
{
    for (size_t i = 1; i < files->n; i++) {
        tl_data_file *file = files->items[i];
        size_t j = i;
        for (; j > 0 && compare_level0(files->items[j - 1], file) > 0; j--)
            files->items[j] = files->items[j - 1];
        files->items[j] = file;
    }
}

static tl_status sort_level(const tl_lsm_config *config, tl_file_list *files, int32_t level, tl_error *err)
{
    if (level > 0 && config->pk_clustering)
        return TL_OK; /* ranges are of other columns, and may overlap */
    if (level > 0)
        return tl_lsm__sort_run(config, files, err);
    sort_level0(files);
    return TL_OK;
}

tl_status tl_lsm__levels_init(tl_lsm__levels *levels, const tl_lsm_config *config, tl_data_file *const *files, size_t n,
                              tl_error *err)
{
    int32_t n_levels = config->num_levels;
    for (size_t i = 0; i < n; i++) {
        if (files[i]->level < 0 || files[i]->level >= INT32_MAX - 1)
            return tl_error_set(err, TL_E_CORRUPT, "data file '%s' has level %d", files[i]->name, files[i]->level);
        n_levels = TL_MAX(n_levels, files[i]->level + 1);
    }
    levels->config = config;
    levels->levels = tl_calloc((size_t)n_levels, sizeof(*levels->levels));
    if (levels->levels == NULL)
        return tl_nomem(err, "levels");
    levels->n_levels = n_levels;
    for (size_t i = 0; i < n; i++)
        TL_TRY(tl_file_list_add(&levels->levels[files[i]->level], files[i], err));
    for (int32_t level = 0; level < n_levels; level++)
        TL_TRY(sort_level(config, &levels->levels[level], level, err));
    return TL_OK;
}

void tl_lsm__levels_deinit(tl_lsm__levels *levels)
{
    for (int32_t i = 0; i < levels->n_levels && levels->levels != NULL; i++)
        tl_file_list_deinit(&levels->levels[i]);
    tl_free(levels->levels);
    levels->levels = NULL;
    levels->n_levels = 0;
}

/* The level's files after the change, sorted and checked. */
static tl_status changed_level(const tl_lsm__levels *levels, int32_t level, const tl_file_list *before,
                               const tl_file_list *after, tl_file_list *out, tl_error *err)
{
    const tl_file_list *old = &levels->levels[level];
    for (size_t i = 0; i < old->n; i++) {
        if (before == NULL || tl_lsm__list_find(before, old->items[i]) < 0)
            TL_TRY(tl_file_list_add(out, old->items[i], err));
    }
    for (size_t i = 0; after != NULL && i < after->n; i++) {
        if (after->items[i]->level == level)
            TL_TRY(tl_file_list_add(out, after->items[i], err));
    }
    return sort_level(levels->config, out, level, err);
}

tl_status tl_lsm__levels_update(tl_lsm__levels *levels, const tl_file_list *before, const tl_file_list *after, tl_error *err)
{
    tl_file_list *changed = tl_calloc((size_t)levels->n_levels, sizeof(*changed));
    if (changed == NULL)
        return tl_nomem(err, "levels");
    tl_status status = TL_OK;
    for (int32_t level = 0; level < levels->n_levels && status == TL_OK; level++)
        status = changed_level(levels, level, before, after, &changed[level], err);
    for (int32_t level = 0; level < levels->n_levels; level++) {
        if (status == TL_OK) {
            tl_file_list old = levels->levels[level];
            levels->levels[level] = changed[level];
            changed[level] = old;
        }
        tl_file_list_deinit(&changed[level]);
    }
    tl_free(changed);
    return status;
}

int32_t tl_lsm__levels_run_count(const tl_lsm__levels *levels)
{
    int64_t count = (int64_t)levels->levels[0].n;
    for (int32_t i = 1; i < levels->n_levels; i++)
        count += levels->levels[i].n > 0;
    return (int32_t)TL_MIN(count, INT32_MAX);
}

int32_t tl_lsm__levels_highest(const tl_lsm__levels *levels)
{
    for (int32_t i = levels->n_levels - 1; i >= 0; i--) {
        if (levels->levels[i].n > 0)
            return i;
    }
    return -1;
}
