/*
 * The deletion vectors of a bucket's data files: where they lie, and those that were loaded. Java: DeletionVectorsIndexFile
 * (reading), BucketedDvMaintainer.
 */
#include "index/deletion_vector.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct slot {
    char *name;
    char *path; /* NULL: stored nowhere */
    int64_t offset, length, cardinality;
    tl_dv *dv; /* NULL: not loaded */
} slot;

struct tl_dv_set {
    atomic_int refs;
    pthread_mutex_t lock;
    tl_fs *fs;    /* ref held; NULL: not told yet. Guarded by lock */
    tl_map slots; /* name -> slot; guarded by lock */
};

static void slot_free(slot *s)
{
    if (s == NULL)
        return;
    tl_free(s->name);
    tl_free(s->path);
    tl_dv_unref(s->dv);
    tl_free(s);
}

tl_status tl_dv_set_create(tl_fs *fs, tl_dv_set **out, tl_error *err)
{
    tl_dv_set *set = tl_calloc(1, sizeof *set);
    if (set == NULL)
        return tl_nomem(err, "deletion vectors");
    atomic_init(&set->refs, 1);
    set->fs = fs == NULL ? NULL : tl_fs_ref(fs);
    pthread_mutex_init(&set->lock, NULL);
    *out = set;
    return TL_OK;
}

tl_dv_set *tl_dv_set_ref(tl_dv_set *set)
{
    if (set != NULL)
        atomic_fetch_add_explicit(&set->refs, 1, memory_order_relaxed);
    return set;
}

void tl_dv_set_unref(tl_dv_set *set)
{
    if (set == NULL || atomic_fetch_sub_explicit(&set->refs, 1, memory_order_acq_rel) > 1)
        return;
    size_t pos = 0;
    tl_bytes_view ignored;
    void *value;
    while (tl_map_next(&set->slots, &pos, &ignored, &value))
        slot_free(value);
    tl_map_deinit(&set->slots);
    pthread_mutex_destroy(&set->lock);
    if (set->fs != NULL)
        tl_fs_unref(set->fs);
    tl_free(set);
}

void tl_dv_set_use(tl_dv_set *set, tl_fs *fs)
{
    if (set == NULL)
        return;
    pthread_mutex_lock(&set->lock);
    if (set->fs == NULL)
        set->fs = tl_fs_ref(fs);
    pthread_mutex_unlock(&set->lock);
}

static slot *find(const tl_dv_set *set, const char *name)
{
    return tl_map_get(&set->slots, name, strlen(name));
}

/* Put a slot in, or take the name's out (`fresh` NULL). */
static tl_status replace(tl_dv_set *set, const char *name, slot *fresh, tl_error *err)
{
    void *old = NULL;
    pthread_mutex_lock(&set->lock);
    tl_status status = TL_OK;
    if (fresh == NULL)
        old = tl_map_remove(&set->slots, name, strlen(name));
    else
        status = tl_map_put(&set->slots, name, strlen(name), fresh, &old);
    pthread_mutex_unlock(&set->lock);
    slot_free(status == TL_OK ? old : fresh);
    return status == TL_OK ? TL_OK : tl_nomem(err, "deletion vectors");
}

static tl_status new_slot(const char *name, slot **out, tl_error *err)
{
    slot *s = tl_calloc(1, sizeof *s);
    if (s != NULL)
        s->name = tl_strdup(name);
    if (s == NULL || s->name == NULL) {
        slot_free(s);
        return tl_nomem(err, "deletion vectors");
    }
    *out = s;
    return TL_OK;
}

tl_status tl_dv_set_add(tl_dv_set *set, const char *data_file, const tl_dv_place *place, tl_error *err)
{
    slot *s = NULL;
    TL_TRY(new_slot(data_file, &s, err));
    s->offset = place->offset;
    s->length = place->length;
    s->cardinality = place->cardinality;
    s->path = tl_strdup(place->path);
    if (s->path == NULL) {
        slot_free(s);
        return tl_nomem(err, "deletion vectors");
    }
    return replace(set, data_file, s, err);
}

tl_status tl_dv_set_put(tl_dv_set *set, const char *data_file, const tl_dv *dv, tl_error *err)
{
    slot *s = NULL;
    if (dv == NULL)
        return replace(set, data_file, NULL, err);
    TL_TRY(new_slot(data_file, &s, err));
    s->dv = tl_dv_ref(dv);
    s->cardinality = tl_dv_count(dv);
    return replace(set, data_file, s, err);
}

/* The record and, of 32-bit ones, size and CRC around it: `length` and 8 more bytes, as far as the file reaches. */
static tl_status load(tl_fs *fs, const slot *s, tl_dv **out, tl_error *err)
{
    tl_file *file = NULL;
    int64_t file_bytes = 0;
    TL_CLEANUP(tl_freep) uint8_t *bytes = NULL;
    TL_TRY(tl_fs_open_read(fs, s->path, &file, err));
    tl_status status = tl_file_size(file, &file_bytes, err);
    if (status == TL_OK && (s->offset < 1 || s->length < 4 || s->offset > file_bytes - s->length))
        status = tl_error_set(err, TL_E_CORRUPT, "a vector of %lld bytes at byte %lld of %lld", (long long)s->length, (long long)s->offset,
                              (long long)file_bytes);
    int64_t n = TL_MIN(s->length + 8, file_bytes - s->offset);
    if (status == TL_OK && (bytes = tl_alloc((size_t)n)) == NULL)
        status = tl_nomem(err, "deletion vector");
    if (status == TL_OK)
        status = tl_file_read_at(file, s->offset, bytes, (size_t)n, err);
    (void)tl_file_close(file, NULL); /* nothing was written */
    return status == TL_OK ? tl_dv_decode((tl_bytes_view){bytes, (size_t)n}, s->length, out, err) : status;
}

tl_status tl_dv_set_get(tl_dv_set *set, const char *data_file, tl_dv **out, tl_error *err)
{
    tl_status status = TL_OK;
    *out = NULL;
    if (set == NULL)
        return TL_OK;
    pthread_mutex_lock(&set->lock);
    slot *s = find(set, data_file);
    if (s != NULL && s->dv == NULL && set->fs == NULL)
        status = tl_error_set(err, TL_E_INTERNAL, "deletion vector of '%s': no file system", data_file);
    else if (s != NULL && s->dv == NULL)
        status = tl_error_wrap(err, load(set->fs, s, &s->dv, err), "deletion vector of '%s' in '%s'", data_file, s->path);
    if (s != NULL && status == TL_OK)
        *out = tl_dv_ref(s->dv);
    pthread_mutex_unlock(&set->lock);
    return status;
}

bool tl_dv_set_has(tl_dv_set *set, const char *data_file)
{
    if (set == NULL)
        return false;
    pthread_mutex_lock(&set->lock);
    bool has = find(set, data_file) != NULL;
    pthread_mutex_unlock(&set->lock);
    return has;
}

bool tl_dv_set_place(tl_dv_set *set, const char *data_file, tl_dv_place *out)
{
    if (set == NULL)
        return false;
    pthread_mutex_lock(&set->lock);
    const slot *s = find(set, data_file);
    bool stored = s != NULL && s->path != NULL;
    if (stored)
        *out = (tl_dv_place){s->path, s->offset, s->length, s->cardinality};
    pthread_mutex_unlock(&set->lock);
    return stored;
}

int64_t tl_dv_set_count(tl_dv_set *set, const char *data_file)
{
    if (set == NULL)
        return 0;
    pthread_mutex_lock(&set->lock);
    const slot *s = find(set, data_file);
    int64_t count = s == NULL ? 0 : s->dv != NULL ? tl_dv_count(s->dv) : s->cardinality < 0 ? -1 : s->cardinality;
    pthread_mutex_unlock(&set->lock);
    return count;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

tl_status tl_dv_set_names(tl_dv_set *set, const char ***out, size_t *n, tl_error *err)
{
    pthread_mutex_lock(&set->lock);
    const char **names = tl_alloc((set->slots.count + 1) * sizeof *names);
    size_t pos = 0, found = 0;
    tl_bytes_view ignored;
    void *value;
    while (names != NULL && tl_map_next(&set->slots, &pos, &ignored, &value))
        names[found++] = ((const slot *)value)->name;
    pthread_mutex_unlock(&set->lock);
    if (names == NULL)
        return tl_nomem(err, "deletion vectors");
    qsort(names, found, sizeof *names, compare_names);
    *out = names;
    *n = found;
    return TL_OK;
}
