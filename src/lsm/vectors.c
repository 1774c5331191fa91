/*
 * Deletion vectors as a bucket's writer makes them: rows that compactions find replaced, and the index file that tells of all
 * vectors of the bucket (Java: BucketedDvMaintainer, DeletionFileWriter).
 *
 * A compaction collects what it does to vectors beside its files and hands over finished vectors; the writing thread puts them
 * into the bucket's set when it takes the result in, so that a compaction that fails leaves no trace. The next commit message
 * carries an index file with all vectors, if some changed.
 */
#include "lsm/lsm_private.h"

#include <stdlib.h>

#define INDEX_FILE_VERSION 1

/* ---- what a compaction deletes ---- */

typedef struct deleted_rows {
    tl_data_file *file; /* ref held */
    int64_t *rows;
    size_t n;
    size_t cap;
} deleted_rows;

struct tl_lsm__deletions {
    deleted_rows *items;
    size_t n;
    size_t cap;
};

tl_status tl_lsm__deletions_create(tl_lsm__deletions **out, tl_error *err)
{
    *out = tl_calloc(1, sizeof **out);
    return *out == NULL ? tl_nomem(err, "deletion vectors") : TL_OK;
}

void tl_lsm__deletions_free(tl_lsm__deletions *deletions)
{
    for (size_t i = 0; deletions != NULL && i < deletions->n; i++) {
        tl_data_file_unref(deletions->items[i].file);
        tl_free(deletions->items[i].rows);
    }
    if (deletions != NULL)
        tl_free(deletions->items);
    tl_free(deletions);
}

/* Look-ups go through a level's files in order: the file asked for is most often the last one. */
static tl_status rows_of(tl_lsm__deletions *d, const tl_data_file *file, deleted_rows **out, tl_error *err)
{
    for (size_t i = d->n; i-- > 0;) {
        if (d->items[i].file == file) {
            *out = &d->items[i];
            return TL_OK;
        }
    }
    if (d->n == d->cap) {
        size_t cap = TL_MAX(d->cap * 2, (size_t)8);
        deleted_rows *items = tl_realloc(d->items, cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "deletion vectors");
        d->items = items;
        d->cap = cap;
    }
    *out = &d->items[d->n++];
    **out = (deleted_rows){.file = tl_data_file_ref(file)};
    return TL_OK;
}

tl_status tl_lsm__deletions_add(tl_lsm__deletions *d, const tl_data_file *file, const int64_t *rows, size_t n, tl_error *err)
{
    deleted_rows *of = NULL;
    if (n == 0)
        return TL_OK;
    TL_TRY(rows_of(d, file, &of, err));
    if (of->cap - of->n < n) {
        size_t cap = TL_MAX(of->cap * 2, of->n + n);
        int64_t *grown = tl_realloc(of->rows, cap * sizeof *grown);
        if (grown == NULL)
            return tl_nomem(err, "deletion vectors");
        of->rows = grown;
        of->cap = cap;
    }
    memcpy(of->rows + of->n, rows, n * sizeof *rows);
    of->n += n;
    return TL_OK;
}

/* ---- changes of vectors ---- */

void tl_lsm__vector_changes_deinit(tl_lsm__vector_changes *changes)
{
    for (size_t i = 0; i < changes->n; i++) {
        tl_data_file_unref(changes->items[i].file);
        tl_dv_unref(changes->items[i].dv);
    }
    tl_free(changes->items);
    *changes = (tl_lsm__vector_changes){0};
}

static tl_status add_change(tl_lsm__vector_changes *changes, const tl_data_file *file, const tl_dv *dv, tl_error *err)
{
    if (changes->n == changes->cap) {
        size_t cap = TL_MAX(changes->cap * 2, (size_t)8);
        tl_lsm__vector_change *items = tl_realloc(changes->items, cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "deletion vectors");
        changes->items = items;
        changes->cap = cap;
    }
    changes->items[changes->n++] = (tl_lsm__vector_change){tl_data_file_ref(file), tl_dv_ref(dv)};
    return TL_OK;
}

tl_status tl_lsm__vector_gone(tl_dv_set *vectors, const tl_data_file *file, tl_lsm__vector_changes *out, tl_error *err)
{
    return tl_dv_set_has(vectors, file->name) ? add_change(out, file, NULL, err) : TL_OK;
}

static int compare_rows(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Ascending and without doubles, as rows of one section's look-ups come already. */
static void sort_rows(deleted_rows *of)
{
    bool sorted = true;
    size_t n = 0;
    for (size_t i = 1; i < of->n; i++)
        sorted &= of->rows[i - 1] < of->rows[i];
    if (sorted)
        return;
    qsort(of->rows, of->n, sizeof *of->rows, compare_rows);
    for (size_t i = 0; i < of->n; i++) {
        if (n == 0 || of->rows[i] != of->rows[n - 1])
            of->rows[n++] = of->rows[i];
    }
    of->n = n;
}

static tl_status change_of(const tl_lsm__bucket *bucket, deleted_rows *of, tl_lsm__vector_changes *out, tl_error *err)
{
    TL_CLEANUP(tl_dv_unrefp) tl_dv *old = NULL;
    TL_CLEANUP(tl_dv_unrefp) tl_dv *fresh = NULL;
    TL_CLEANUP(tl_dv_unrefp) tl_dv *both = NULL;
    sort_rows(of);
    TL_TRY(tl_dv_set_get(bucket->vectors, of->file->name, &old, err));
    TL_TRY(tl_dv_create(of->rows, of->n, bucket->config->deletion_vectors_64, &fresh, err));
    if (old != NULL)
        TL_TRY(tl_dv_union(old, fresh, &both, err));
    if (old != NULL && tl_dv_count(old) == tl_dv_count(both))
        return TL_OK;
    return add_change(out, of->file, both != NULL ? both : fresh, err);
}

tl_status tl_lsm__deletions_finish(tl_lsm__deletions *d, const tl_lsm__bucket *bucket, tl_lsm__vector_changes *out, tl_error *err)
{
    tl_status status = TL_OK;
    for (size_t i = 0; i < d->n && status == TL_OK; i++)
        status = tl_error_wrap(err, change_of(bucket, &d->items[i], out, err), "deletion vector of '%s'", d->items[i].file->name);
    return status;
}

/* ---- the bucket's vectors ---- */

tl_status tl_lsm__apply_vectors(tl_bucket_writer *base, const tl_lsm__vector_changes *changes, tl_error *err)
{
    for (size_t i = 0; i < changes->n; i++) {
        TL_TRY(tl_dv_set_put(base->bucket->vectors, changes->items[i].file->name, changes->items[i].dv, err));
        base->vectors_changed = true;
    }
    return TL_OK;
}

static tl_status add_range(tl_index_file *file, const char *data_file, int64_t offset, int32_t length, int64_t count, tl_error *err)
{
    char *name = tl_strdup(data_file);
    if (name == NULL)
        return tl_nomem(err, "index file");
    if (offset > INT32_MAX) {
        tl_free(name);
        return tl_error_set(err, TL_E_LIMIT, "deletion vectors of more than 2 GB in an index file");
    }
    file->ranges[file->n_ranges++] = (tl_dv_range){name, (int32_t)offset, length, count};
    return TL_OK;
}

/* Encode vectors from *at on, at least one, until the file is larger than `bytes_max`. */
static tl_status encode(tl_dv_set *vectors, const char *const *names, size_t n, size_t *at, int64_t bytes_max, tl_index_file *file,
                        tl_buf *out, tl_error *err)
{
    file->ranges = tl_calloc(n + 1, sizeof *file->ranges);
    if (file->ranges == NULL || tl_buf_append_byte(out, INDEX_FILE_VERSION) != TL_OK)
        return tl_nomem(err, "index file");
    file->n_ranges = 0;
    for (; *at < n && (file->n_ranges == 0 || (int64_t)out->len <= bytes_max); ++*at) {
        TL_CLEANUP(tl_dv_unrefp) tl_dv *dv = NULL;
        int64_t offset = (int64_t)out->len;
        int32_t length = 0;
        TL_TRY(tl_dv_set_get(vectors, names[*at], &dv, err));
        if (dv == NULL)
            continue;
        TL_TRY(tl_dv_encode(dv, out, &length, err));
        TL_TRY(add_range(file, names[*at], offset, length, tl_dv_count(dv), err));
    }
    return TL_OK;
}

static tl_status store(const tl_lsm__bucket *bucket, const char *name, tl_bytes_view content, tl_error *err)
{
    tl_file *file = NULL;
    tl_fs *fs = bucket->config->fs;
    TL_CLEANUP(tl_freep) char *path = tl_lsm__index_path(bucket, name);
    if (path == NULL)
        return tl_nomem(err, "index file");
    TL_TRY(tl_fs_create(fs, path, &file, err));
    tl_status status = tl_file_write(file, content.data, content.len, err);
    if (status == TL_OK)
        status = tl_file_finish(file, err);
    else
        (void)tl_file_close(file, NULL);
    if (status != TL_OK)
        (void)tl_fs_remove(fs, path, NULL); /* an orphan at worst */
    return status;
}

void tl_lsm__index_remove(const tl_lsm__bucket *bucket, const tl_index_file *file)
{
    TL_CLEANUP(tl_freep) char *path = tl_lsm__index_path(bucket, file->name);
    if (path != NULL)
        (void)tl_fs_remove(bucket->config->fs, path, NULL); /* an orphan at worst */
}

static tl_status write_one(const tl_lsm__bucket *bucket, tl_lsm__names *names, tl_dv_set *vectors, const char *const *files, size_t n,
                           size_t *at, int64_t bytes_max, tl_index_file *file, tl_error *err)
{
    tl_buf content = {0};
    if (names->uuid[0] == 0)
        tl_uuid(names->uuid);
    file->type = tl_strdup(TL_INDEX_DELETION_VECTORS);
    file->name = tl_strf("index-%s-%d", names->uuid, names->next++);
    tl_status status = file->type == NULL || file->name == NULL ? tl_nomem(err, "index file") : TL_OK;
    if (status == TL_OK)
        status = encode(vectors, files, n, at, bytes_max, file, &content, err);
    if (status == TL_OK)
        status = store(bucket, file->name, (tl_bytes_view){content.data, content.len}, err);
    file->bytes = (int64_t)content.len;
    file->rows = file->n_ranges;
    tl_buf_deinit(&content);
    return tl_error_wrap(err, status, "index file of bucket '%s'", bucket->dir);
}

tl_status tl_lsm__write_vectors(const tl_lsm__bucket *bucket, tl_lsm__names *names, tl_dv_set *vectors, const char *const *files, size_t n,
                                int64_t bytes_max, tl_index_list *out, tl_error *err)
{
    size_t at = 0, before = out->n;
    tl_status status = TL_OK;
    do {
        tl_index_file *file = tl_index_file_create();
        if (file == NULL) {
            status = tl_nomem(err, "index file");
            break;
        }
        status = write_one(bucket, names, vectors, files, n, &at, bytes_max, file, err);
        if (status == TL_OK) {
            status = tl_index_list_add(out, file, err);
            if (status != TL_OK)
                tl_lsm__index_remove(bucket, file);
        }
        tl_index_file_unref(file);
    } while (status == TL_OK && at < n);
    while (status != TL_OK && out->n > before) {
        tl_lsm__index_remove(bucket, out->items[--out->n]);
        tl_index_file_unref(out->items[out->n]);
    }
    return status;
}

/* The new index file is the bucket's from now on; the message tells which one it takes the place of. */
static tl_status advance_origin(tl_bucket_writer *base, tl_error *err)
{
    if (base->vectors_origin == NULL)
        return TL_OK;
    char *fresh = tl_strdup(base->compact_indexes.items[base->compact_indexes.n - 1]->name);
    if (fresh == NULL)
        return tl_nomem(err, "index file");
    tl_free(base->vectors_base);
    base->vectors_base = base->vectors_origin;
    base->vectors_origin = fresh;
    return TL_OK;
}

tl_status tl_lsm__prepare_vectors(tl_bucket_writer *base, tl_error *err)
{
    const char **files = NULL;
    size_t n = 0;
    if (!base->vectors_changed)
        return TL_OK;
    TL_TRY(tl_dv_set_names(base->bucket->vectors, &files, &n, err));
    /* One file for the bucket, whatever its size: it replaces the old one. Without vectors it is empty but there. */
    tl_status status =
        tl_lsm__write_vectors(base->bucket, &base->index_names, base->bucket->vectors, files, n, INT64_MAX, &base->compact_indexes, err);
    tl_free(files);
    TL_TRY(status);
    base->vectors_changed = false;
    return advance_origin(base, err);
}

/* A vector of a file that is not there any more is of no use to anybody. */
tl_status tl_lsm__drop_dead_vectors(tl_dv_set *vectors, tl_data_file *const *files, size_t n_files, tl_error *err)
{
    static char mark;
    const char **names = NULL;
    size_t n = 0;
    tl_map live = {0};
    TL_TRY(tl_dv_set_names(vectors, &names, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < n_files && n > 0 && status == TL_OK; i++) {
        if (tl_map_put(&live, files[i]->name, strlen(files[i]->name), &mark, NULL) != TL_OK)
            status = tl_nomem(err, "deletion vectors");
    }
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        if (tl_map_get(&live, names[i], strlen(names[i])) == NULL)
            status = tl_dv_set_put(vectors, names[i], NULL, err);
    }
    tl_map_deinit(&live);
    tl_free(names);
    return status;
}
