/*
 * Deletion vectors of append buckets: which index files change when files are compacted or rows deleted (Java:
 * AppendDeleteFileMaintainer, BucketedAppendDeleteFileMaintainer, AppendCompactCoordinator#packInDeletionVectorVMode).
 *
 * Tables with buckets have one index file for each, replaced as a whole. Without buckets a partition has several: those that
 * lose a vector are replaced by new ones with what is left of them.
 */
#include "lsm/lsm_private.h"

#include <stdlib.h>

/* ---- files by the index file of their vectors ---- */

void tl_lsm__file_groups_deinit(tl_lsm__file_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        tl_file_list_deinit(&groups->items[i]);
    tl_free(groups->items);
    *groups = (tl_lsm__file_groups){0};
}

/* Data file -> 1 + position of the index file with its vector. */
static tl_status map_to_index(const tl_index_list *indexes, tl_map *out, tl_error *err)
{
    for (size_t i = 0; i < indexes->n; i++) {
        for (int32_t r = 0; r < indexes->items[i]->n_ranges; r++) {
            const char *name = indexes->items[i]->ranges[r].data_file;
            if (tl_map_put(out, name, strlen(name), (void *)(uintptr_t)(i + 1), NULL) != TL_OK)
                return tl_nomem(err, "index files");
        }
    }
    return TL_OK;
}

static int compare_bytes(const void *a, const void *b)
{
    int64_t x = tl_lsm__list_bytes(a), y = tl_lsm__list_bytes(b);
    return (x > y) - (x < y);
}

tl_status tl_lsm__group_by_index(const tl_bucket_vectors *vectors, const tl_file_list *files, tl_lsm__file_groups *out, tl_file_list *rest,
                                 tl_error *err)
{
    if (vectors == NULL || vectors->indexes->n == 0)
        return tl_lsm__list_add_all(rest, files, err);
    tl_map index_of = {0};
    out->items = tl_calloc(vectors->indexes->n, sizeof *out->items);
    tl_status status = out->items == NULL ? tl_nomem(err, "index files") : map_to_index(vectors->indexes, &index_of, err);
    out->n = out->items == NULL ? 0 : vectors->indexes->n;
    for (size_t i = 0; i < files->n && status == TL_OK; i++) {
        const char *name = files->items[i]->name;
        uintptr_t at = (uintptr_t)tl_map_get(&index_of, name, strlen(name));
        status = tl_file_list_add(at == 0 ? rest : &out->items[at - 1], files->items[i], err);
    }
    tl_map_deinit(&index_of);
    if (status == TL_OK)
        qsort(out->items, out->n, sizeof *out->items, compare_bytes);
    return status;
}

/* ---- new index files ---- */

/* What changes: names of files as keys. */
typedef struct change {
    const tl_bucket_vectors *vectors;
    tl_map live;      /* data files that are there */
    tl_map touched;   /* data files whose old vectors do not count any more */
    tl_dv_set *next;  /* vectors to be written */
} change;

static tl_status put_names(tl_map *map, tl_data_file *const *files, size_t n, tl_error *err)
{
    static char mark;
    for (size_t i = 0; i < n; i++) {
        if (tl_map_put(map, files[i]->name, strlen(files[i]->name), &mark, NULL) != TL_OK)
            return tl_nomem(err, "index files");
    }
    return TL_OK;
}

static bool has(const tl_map *map, const char *name)
{
    return tl_map_get(map, name, strlen(name)) != NULL;
}

/* Vectors of an index file that stay. */
static tl_status keep_rest(const change *c, const tl_index_file *file, tl_error *err)
{
    for (int32_t r = 0; r < file->n_ranges; r++) {
        const char *name = file->ranges[r].data_file;
        TL_CLEANUP(tl_dv_unrefp) tl_dv *dv = NULL;
        if (has(&c->touched, name) || !has(&c->live, name))
            continue;
        TL_TRY(tl_dv_set_get(c->vectors->set, name, &dv, err));
        TL_TRY(tl_dv_set_put(c->next, name, dv, err));
    }
    return TL_OK;
}

static bool loses_a_vector(const change *c, const tl_index_file *file)
{
    for (int32_t r = 0; r < file->n_ranges; r++) {
        if (has(&c->touched, file->ranges[r].data_file))
            return true;
    }
    return false;
}

/* The new rows of each file, with those that were deleted before. */
static tl_status add_fresh(change *c, tl_dv_set *fresh, tl_error *err)
{
    static char mark;
    TL_CLEANUP(tl_freep) const char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_dv_set_names(fresh, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        TL_CLEANUP(tl_dv_unrefp) tl_dv *rows = NULL;
        TL_CLEANUP(tl_dv_unrefp) tl_dv *old = NULL;
        TL_CLEANUP(tl_dv_unrefp) tl_dv *both = NULL;
        TL_TRY(tl_dv_set_get(fresh, names[i], &rows, err));
        TL_TRY(tl_dv_set_get(c->vectors->set, names[i], &old, err));
        if (old != NULL)
            TL_TRY(tl_dv_union(rows, old, &both, err));
        TL_TRY(tl_dv_set_put(c->next, names[i], both != NULL ? both : rows, err));
        if (tl_map_put(&c->touched, names[i], strlen(names[i]), &mark, NULL) != TL_OK)
            return tl_nomem(err, "index files");
    }
    return TL_OK;
}

static tl_status write_change(const tl_lsm__bucket *bucket, const change *c, tl_index_list *fresh, tl_error *err)
{
    bool whole = !bucket->config->unaware_bucket;
    TL_CLEANUP(tl_freep) const char **names = NULL;
    tl_lsm__names index_names = {0};
    size_t n = 0;
    TL_TRY(tl_dv_set_names(c->next, &names, &n, err));
    if (n == 0 && !whole)
        return TL_OK;
    int64_t bytes_max = whole ? INT64_MAX : bucket->config->index_target_bytes;
    return tl_lsm__write_vectors(bucket, &index_names, c->next, names, n, bytes_max, fresh, err);
}

static tl_status apply_change(const tl_lsm__bucket *bucket, change *c, tl_index_list *fresh, tl_index_list *gone, tl_error *err)
{
    bool whole = !bucket->config->unaware_bucket;
    const tl_index_list *indexes = c->vectors->indexes;
    if (c->touched.count == 0)
        return TL_OK;
    for (size_t i = 0; i < indexes->n; i++) {
        if (!whole && !loses_a_vector(c, indexes->items[i]))
            continue;
        TL_TRY(keep_rest(c, indexes->items[i], err));
        if (!whole)
            TL_TRY(tl_index_list_add(gone, indexes->items[i], err));
    }
    return write_change(bucket, c, fresh, err);
}

tl_status tl_lsm__change_indexes(const tl_lsm__bucket *bucket, const tl_bucket_vectors *vectors, tl_data_file *const *files, size_t n_files,
                                 const tl_file_list *rewritten, tl_dv_set *fresh, tl_index_list *new_indexes, tl_index_list *gone_indexes,
                                 tl_error *err)
{
    change c = {.vectors = vectors};
    tl_status status = tl_dv_set_create(bucket->config->fs, &c.next, err);
    if (status == TL_OK)
        status = put_names(&c.live, files, n_files, err);
    if (status == TL_OK && rewritten != NULL)
        status = put_names(&c.touched, rewritten->items, rewritten->n, err);
    if (status == TL_OK && fresh != NULL)
        status = add_fresh(&c, fresh, err);
    if (status == TL_OK)
        status = apply_change(bucket, &c, new_indexes, gone_indexes, err);
    tl_map_deinit(&c.live);
    tl_map_deinit(&c.touched);
    tl_dv_set_unref(c.next);
    return status;
}

tl_status tl_append_delete(tl_lsm_config *config, tl_bytes_view partition, int32_t number, tl_data_file *const *files, size_t n_files,
                           const tl_bucket_vectors *vectors, tl_dv_set *fresh, tl_commit_message *msg, tl_error *err)
{
    tl_lsm__bucket *bucket = NULL;
    TL_TRY(tl_lsm__bucket_create(config, partition, number, &bucket, err));
    tl_status status = tl_bytes_dup(partition, &msg->partition);
    if (status != TL_OK)
        (void)tl_nomem(err, "commit message");
    msg->bucket = number;
    msg->total_buckets = config->total_buckets;
    if (status == TL_OK)
        status = tl_lsm__change_indexes(bucket, vectors, files, n_files, /* rewritten= */ NULL, fresh, &msg->new_indexes, &msg->deleted_indexes,
                                        err);
    if (status != TL_OK) {
        tl_commit_message_deinit(msg);
        *msg = (tl_commit_message){0};
    }
    tl_lsm__bucket_unref(bucket);
    return status;
}
