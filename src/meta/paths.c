/* Where the files of a table lie (format reference §1), and the names of numbered files. */
#include "meta/meta_private.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* Root of the metadata: the table's folder, or that of a branch. */
static char *metadata_path(const tl_paths *paths, const char *dir, const char *prefix, const char *name)
{
    if (paths->branch == NULL || strcmp(paths->branch, "main") == 0)
        return tl_strf("%s/%s%s%s%s", paths->table, dir, name != NULL ? "/" : "", prefix, name != NULL ? name : "");
    return tl_strf("%s/branch/branch-%s/%s%s%s%s", paths->table, paths->branch, dir, name != NULL ? "/" : "", prefix,
                   name != NULL ? name : "");
}

static char *numbered_path(const tl_paths *paths, const char *dir, const char *prefix, int64_t id)
{
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)id);
    return metadata_path(paths, dir, prefix, number);
}

char *tl_paths_schema(const tl_paths *paths, int64_t id)
{
    return numbered_path(paths, "schema", "schema-", id);
}

char *tl_paths_snapshot(const tl_paths *paths, int64_t id)
{
    return numbered_path(paths, "snapshot", "snapshot-", id);
}

char *tl_paths_changelog(const tl_paths *paths, int64_t id)
{
    return numbered_path(paths, "changelog", "changelog-", id);
}

char *tl_paths_hint(const tl_paths *paths, const char *dir, const char *name)
{
    return metadata_path(paths, dir, "", name);
}

char *tl_paths_tag(const tl_paths *paths, const char *name)
{
    return metadata_path(paths, "tag", "tag-", name);
}

/* Manifests, data files, index and statistics files belong to the table, whatever the branch. */
char *tl_paths_manifest(const tl_paths *paths, const char *name)
{
    return tl_strf("%s/manifest/%s", paths->table, name);
}

char *tl_paths_dir(const tl_paths *paths, const char *dir)
{
    static const char *const shared[] = {"manifest", "index", "statistics", "branch"};
    for (size_t i = 0; i < TL_ARRAY_LEN(shared); i++) {
        if (strcmp(dir, shared[i]) == 0)
            return tl_strf("%s/%s", paths->table, dir);
    }
    return metadata_path(paths, dir, "", NULL);
}

char *tl_paths_bucket(const tl_paths *paths, const char *data_dir, const char *partition_path, int32_t bucket)
{
    char name[24];
    if (bucket == -2)
        snprintf(name, sizeof name, "postpone");
    else
        snprintf(name, sizeof name, "%d", bucket);
    bool has_dir = data_dir != NULL && *data_dir != 0, has_partition = partition_path != NULL && *partition_path != 0;
    return tl_strf("%s/%s%s%s%sbucket-%s", paths->table, has_dir ? data_dir : "", has_dir ? "/" : "",
                   has_partition ? partition_path : "", has_partition ? "/" : "", name);
}

bool tl_meta__parse_id(const char *text, int64_t *out)
{
    int64_t v = 0;
    if (*text == 0)
        return false;
    for (; *text != 0; text++) {
        if (!isdigit((unsigned char)*text) || __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *text - '0', &v))
            return false;
    }
    *out = v;
    return true;
}

tl_status tl_meta__check_name(const char *kind, const char *name, tl_status status, tl_error *err)
{
    bool ok = *name != 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    for (const char *p = name; *p != 0; p++)
        ok = ok && *p != '/' && *p != '\\' && (unsigned char)*p >= 0x20 && *p != 0x7f;
    return ok ? TL_OK : tl_error_set(err, status, "%s '%.200s' is no valid file name", kind, name);
}

bool tl_path_is_name(tl_bytes_view name)
{
    bool dots = name.len <= 2 && name.len > 0 && name.data[0] == '.' && name.data[name.len - 1] == '.';
    return name.len > 0 && !dots && memchr(name.data, '/', name.len) == NULL && memchr(name.data, 0, name.len) == NULL;
}

bool tl_path_is_inside(const char *path)
{
    for (;;) {
        size_t len = strcspn(path, "/");
        if (!tl_path_is_name((tl_bytes_view){(const uint8_t *)path, len}))
            return false;
        if (path[len] == '\0' || path[len + 1] == '\0') /* a '/' at the end is fine */
            return true;
        path += len + 1;
    }
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

tl_status tl_meta__list_ids(tl_fs *fs, const tl_paths *paths, const char *dir, const char *prefix, int64_t **ids, size_t *n,
                            tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_paths_dir(paths, dir);
    if (path == NULL)
        return tl_nomem(err, dir);
    tl_dir_entry *entries = NULL;
    size_t n_entries = 0, found = 0, prefix_len = strlen(prefix);
    TL_TRY(tl_fs_list(fs, path, &entries, &n_entries, err));
    int64_t *out = tl_calloc(n_entries + 1, sizeof *out);
    for (size_t i = 0; i < n_entries && out != NULL; i++) {
        if (strncmp(entries[i].name, prefix, prefix_len) == 0)
            found += tl_meta__parse_id(entries[i].name + prefix_len, &out[found]);
    }
    tl_dir_free(entries, n_entries);
    if (out == NULL)
        return tl_nomem(err, dir);
    qsort(out, found, sizeof *out, compare_ids);
    *ids = out;
    *n = found;
    return TL_OK;
}
