/*
 * One bucket's folder, names of its new files, and lists of files.
 */
#include "lsm/lsm_private.h"

#include <stdlib.h>
#include <strings.h>

#include "types/binary_row.h"

/* ---- bucket ---- */

static tl_status bucket_dir(tl_lsm__bucket *bucket, tl_error *err)
{
    const tl_lsm_config *config = bucket->config;
    char *partition_path = NULL;
    TL_TRY(tl_error_wrap(err,
                         tl_binary_row_decode(tl_bytes_view_of(bucket->partition), config->partition_type,
                                              /* with_arity= */ true, &bucket->partition_row, err),
                         "partition of bucket %d", bucket->bucket));
    TL_TRY(tl_partition_path(bucket->partition_row, config->partition_default_name, config->legacy_partition_names,
                             &partition_path, err));
    bucket->dir = tl_paths_bucket(&config->paths, config->data_dir, partition_path, bucket->bucket);
    tl_free(partition_path);
    return bucket->dir == NULL ? tl_nomem(err, "bucket path") : TL_OK;
}

tl_status tl_lsm__bucket_create(tl_lsm_config *config, tl_bytes_view partition, int32_t number, tl_lsm__bucket **out,
                                tl_error *err)
{
    tl_lsm__bucket *bucket = tl_calloc(1, sizeof *bucket);
    if (bucket == NULL)
        return tl_nomem(err, "bucket");
    atomic_init(&bucket->refs, 1);
    bucket->config = tl_lsm_config_ref(config);
    bucket->bucket = number;
    tl_status status = tl_bytes_dup(partition, &bucket->partition);
    if (status != TL_OK)
        status = tl_nomem(err, "bucket");
    else
        status = bucket_dir(bucket, err);
    if (status != TL_OK) {
        tl_lsm__bucket_unref(bucket);
        return status;
    }
    *out = bucket;
    return TL_OK;
}

tl_lsm__bucket *tl_lsm__bucket_ref(tl_lsm__bucket *bucket)
{
    atomic_fetch_add_explicit(&bucket->refs, 1, memory_order_relaxed);
    return bucket;
}

void tl_lsm__bucket_unref(tl_lsm__bucket *bucket)
{
    if (bucket == NULL || atomic_fetch_sub_explicit(&bucket->refs, 1, memory_order_acq_rel) > 1)
        return;
    tl_batch_free(bucket->partition_row);
    tl_bytes_deinit(&bucket->partition);
    tl_free(bucket->dir);
    tl_dv_set_unref(bucket->vectors);
    tl_lsm__recent_free(bucket->recent);
    tl_lsm_config_unref(bucket->config);
    tl_free(bucket);
}

char *tl_lsm__bucket_file_path(const tl_lsm__bucket *bucket, const tl_data_file *file)
{
    return file->external_path != NULL ? tl_path_of_uri(file->external_path) : tl_path_join(bucket->dir, file->name);
}

void tl_lsm__bucket_remove(const tl_lsm__bucket *bucket, const tl_data_file *file)
{
    char *path = tl_lsm__bucket_file_path(bucket, file);
    if (bucket->recent != NULL)
        tl_lsm__recent_forget(bucket->recent, file->name);
    if (path != NULL)
        (void)tl_fs_remove(bucket->config->fs, path, /* err= */ NULL); /* what stays is an orphan: harmless */
    for (int32_t i = 0; path != NULL && i < file->n_extra_files; i++) {
        TL_CLEANUP(tl_freep) char *extra = tl_strf("%.*s%s", (int)(tl_path_base(path) - path), path, file->extra_files[i]);
        if (extra != NULL)
            (void)tl_fs_remove(bucket->config->fs, extra, /* err= */ NULL); /* as above */
    }
    tl_free(path);
}

char *tl_data_file_path(const tl_lsm_config *config, tl_bytes_view partition, int32_t number, const tl_data_file *file)
{
    tl_lsm__bucket *bucket = NULL;
    if (tl_lsm__bucket_create((tl_lsm_config *)config, partition, number, &bucket, /* err= */ NULL) != TL_OK)
        return NULL;
    char *path = tl_lsm__bucket_file_path(bucket, file);
    tl_lsm__bucket_unref(bucket);
    return path;
}

char *tl_bucket_dir(const tl_lsm_config *config, tl_bytes_view partition, int32_t number)
{
    tl_lsm__bucket *bucket = NULL;
    if (tl_lsm__bucket_create((tl_lsm_config *)config, partition, number, &bucket, /* err= */ NULL) != TL_OK)
        return NULL;
    char *dir = tl_strdup(bucket->dir);
    tl_lsm__bucket_unref(bucket);
    return dir;
}

char *tl_lsm__index_path(const tl_lsm__bucket *bucket, const char *name)
{
    const tl_lsm_config *config = bucket->config;
    TL_CLEANUP(tl_freep) char *dir = config->index_in_data_dir ? tl_strdup(bucket->dir) : tl_paths_dir(&config->paths, "index");
    return dir == NULL ? NULL : tl_path_join(dir, name);
}

char *tl_index_path(const tl_lsm_config *config, tl_bytes_view partition, int32_t number, const char *name)
{
    tl_lsm__bucket *bucket = NULL;
    if (tl_lsm__bucket_create((tl_lsm_config *)config, partition, number, &bucket, /* err= */ NULL) != TL_OK)
        return NULL;
    char *path = tl_lsm__index_path(bucket, name);
    tl_lsm__bucket_unref(bucket);
    return path;
}

/* ---- names ---- */

/* Java: DataFilePathFactory#compressFileExtension; NULL: none. */
static const char *compression_extension(const char *compression)
{
    static const struct {
        const char *name;
        const char *extension;
    } known[] = {{"none", NULL},       {"gzip", "gz"}, {"bzip2", "bz2"}, {"deflate", "deflate"},
                 {"snappy", "snappy"}, {"lz4", "lz4"}, {"zstd", "zst"}};
    for (size_t i = 0; i < TL_ARRAY_LEN(known); i++) {
        if (strcasecmp(compression, known[i].name) == 0)
            return known[i].extension;
    }
    return compression[0] == 0 ? NULL : compression;
}

char *tl_data_file_name(const char *prefix, const char *uuid, int32_t number, const char *mark, const tl_format *format, const char *compression,
                        bool with_suffix)
{
    const char *codec = compression_extension(compression);
    if (format == &tl_format_csv || format == &tl_format_json) /* the codec last, as Hadoop finds it there */
        return tl_strf("%s%s-%d%s.%s%s%s", prefix, uuid, number, mark, format->name, codec == NULL ? "" : ".", codec == NULL ? "" : codec);
    /* Files of text do without, and so without compression. */
    if (!with_suffix || format == &tl_format_blob || tl_format_is_lines(format))
        codec = NULL;
    return tl_strf("%s%s-%d%s%s%s.%s", prefix, uuid, number, mark, codec == NULL ? "" : ".", codec == NULL ? "" : codec, format->name);
}

char *tl_lsm__names_next(tl_lsm__names *names, const tl_lsm_config *config, const tl_lsm__file_options *options)
{
    if (names->uuid[0] == 0)
        tl_uuid(names->uuid);
    const char *prefix = options->changelog ? config->changelog_prefix : config->data_prefix;
    bool by_level = options->format == &tl_format_csv || options->format == &tl_format_json;
    return tl_data_file_name(prefix, names->uuid, names->next++, options->vectors ? ".vector" : "", options->format, by_level ? options->compression : config->compression,
                             config->suffix_compression);
}

/* ---- lists ---- */

static tl_status list_reserve(tl_file_list *list, size_t extra, tl_error *err)
{
    if (list->cap - list->n >= extra)
        return TL_OK;
    size_t cap = TL_MAX(TL_MAX(8, list->cap * 2), list->n + extra);
    tl_data_file **items = tl_realloc(list->items, cap * sizeof(*items));
    if (items == NULL)
        return tl_nomem(err, "list of files");
    list->items = items;
    list->cap = cap;
    return TL_OK;
}

tl_status tl_file_list_add(tl_file_list *list, const tl_data_file *file, tl_error *err)
{
    TL_TRY(list_reserve(list, 1, err));
    list->items[list->n++] = tl_data_file_ref(file);
    return TL_OK;
}

void tl_file_list_deinit(tl_file_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        tl_data_file_unref(list->items[i]);
    tl_free(list->items);
    *list = (tl_file_list){NULL, 0, 0};
}

tl_status tl_lsm__list_add_all(tl_file_list *list, const tl_file_list *from, tl_error *err)
{
    TL_TRY(list_reserve(list, from->n, err)); /* all or nothing */
    for (size_t i = 0; i < from->n; i++)
        list->items[list->n++] = tl_data_file_ref(from->items[i]);
    return TL_OK;
}

int64_t tl_lsm__list_find(const tl_file_list *list, const tl_data_file *file)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->items[i] == file)
            return (int64_t)i;
    }
    return -1;
}

int64_t tl_lsm__list_find_name(const tl_file_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->items[i]->name, name) == 0)
            return (int64_t)i;
    }
    return -1;
}

void tl_lsm__list_remove_at(tl_file_list *list, size_t i)
{
    tl_data_file_unref(list->items[i]);
    memmove(&list->items[i], &list->items[i + 1], (list->n - i - 1) * sizeof(list->items[0]));
    list->n--;
}

int64_t tl_lsm__list_bytes(const tl_file_list *list)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < list->n; i++)
        bytes += list->items[i]->bytes;
    return bytes;
}

/* ---- commit messages ---- */

void tl_commit_message_deinit(tl_commit_message *msg)
{
    tl_bytes_deinit(&msg->partition);
    tl_file_list_deinit(&msg->new_files);
    tl_file_list_deinit(&msg->deleted_files);
    tl_file_list_deinit(&msg->changelog_files);
    tl_file_list_deinit(&msg->compact_before);
    tl_file_list_deinit(&msg->compact_after);
    tl_file_list_deinit(&msg->compact_changelog);
    tl_index_list_deinit(&msg->new_indexes);
    tl_index_list_deinit(&msg->deleted_indexes);
    tl_index_list_deinit(&msg->compact_new_indexes);
    tl_index_list_deinit(&msg->compact_deleted_indexes);
    tl_free(msg->vectors_base);
    msg->vectors_base = NULL;
}

bool tl_commit_message_empty(const tl_commit_message *msg)
{
    return msg->new_files.n + msg->deleted_files.n + msg->changelog_files.n + msg->compact_before.n + msg->compact_after.n +
               msg->compact_changelog.n + msg->new_indexes.n + msg->deleted_indexes.n + msg->compact_new_indexes.n +
               msg->compact_deleted_indexes.n ==
           0;
}

tl_merge_input tl_lsm__merge_input(const tl_file_list *run)
{
    tl_merge_input input = {.level = run->items[0]->level, .min_seq = INT64_MAX, .max_seq = INT64_MIN};
    for (size_t i = 0; i < run->n; i++) {
        input.min_seq = TL_MIN(input.min_seq, run->items[i]->min_seq);
        input.max_seq = TL_MAX(input.max_seq, run->items[i]->max_seq);
    }
    return input;
}
