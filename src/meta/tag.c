/* Tags: copies of a snapshot's JSON under a name (format reference §17). Java: TagManager. */
#include "meta/meta_private.h"

#include <stdlib.h>

static tl_status tag_path(const tl_paths *paths, const char *name, char **out, tl_error *err)
{
    TL_TRY(tl_meta__check_name("tag", name, TL_E_INVALID, err));
    *out = tl_paths_tag(paths, name);
    return *out == NULL ? tl_nomem(err, "tag") : TL_OK;
}

tl_status tl_tag_read(tl_fs *fs, const tl_paths *paths, const char *name, tl_snapshot **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = NULL;
    TL_TRY(tag_path(paths, name, &path, err));
    tl_bytes text = {0};
    tl_status status = tl_fs_read_all(fs, path, TL_META_JSON_BYTES_MAX, &text, err);
    if (status == TL_OK)
        status = tl_snapshot_parse(tl_bytes_view_of(text), out, err);
    tl_bytes_deinit(&text);
    return tl_error_wrap(err, status, "tag '%s'", name);
}

tl_status tl_tag_publish(tl_fs *fs, const tl_paths *paths, const char *name, const tl_snapshot *snap, bool replace,
                         tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = NULL;
    TL_TRY(tag_path(paths, name, &path, err));
    tl_bytes text = {0};
    TL_TRY(tl_snapshot_format(snap, &text, err));
    tl_status status = tl_fs_publish(fs, path, tl_bytes_view_of(text), replace, err);
    tl_bytes_deinit(&text);
    return tl_error_wrap(err, status, "tag '%s'", name);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

tl_status tl_tag_list(tl_fs *fs, const tl_paths *paths, char ***names, size_t *n, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *dir = tl_paths_dir(paths, "tag");
    tl_dir_entry *entries = NULL;
    size_t n_entries = 0, found = 0;
    if (dir == NULL)
        return tl_nomem(err, "tags");
    TL_TRY(tl_fs_list(fs, dir, &entries, &n_entries, err));
    char **out = tl_calloc(n_entries + 1, sizeof *out);
    bool ok = out != NULL;
    for (size_t i = 0; i < n_entries && ok; i++) {
        if (entries[i].stat.is_dir || strncmp(entries[i].name, "tag-", 4) != 0 || entries[i].name[4] == 0) /* tag-success-file is a folder */
            continue;
        ok = (out[found] = tl_strdup(entries[i].name + 4)) != NULL;
        found += ok;
    }
    tl_dir_free(entries, n_entries);
    if (!ok) {
        tl_names_free(out, found);
        return tl_nomem(err, "tags");
    }
    qsort(out, found, sizeof *out, compare_names);
    *names = out;
    *n = found;
    return TL_OK;
}
