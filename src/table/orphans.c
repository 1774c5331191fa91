/*
 * Files in a table's folder that nothing refers to: what crashes, aborted writers and lost races leave behind. Java:
 * OrphanFilesClean, LocalOrphanFilesClean.
 *
 * A live file is never touched: candidates are listed first, only those older than the caller says (a writer may be about to commit
 * younger ones), and only then is read what is in use: every file that any manifest of any snapshot, tag or long-lived changelog of
 * any branch mentions, be it added or deleted. If some of that cannot be read, nothing is known to be unused and nothing is found.
 *
 * A format table knows of no file; there only hidden files that are named as writers name unfinished ones are orphans.
 */
#include "table/orphans.h"

#include <stdlib.h>

tl_status tl_search__branches(tl_search *s, tl_names *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *dir = tl_strf("%s/branch", s->path);
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    if (dir == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_list(s->fs, dir, &entries, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        if (entries[i].stat.is_dir && strncmp(entries[i].name, "branch-", strlen("branch-")) == 0)
            status = tl_names_add(out, entries[i].name + strlen("branch-"), err);
        TL_CLEANUP(tl_freep) char *child = tl_path_join(dir, entries[i].name);
        if (status == TL_OK && entries[i].stat.is_dir && strncmp(entries[i].name, ".dropped-", strlen(".dropped-")) == 0)
            status = child == NULL ? tl_nomem(err, "path") : tl_search__folder(s, child, TL_SEARCH_ALL, err);
    }
    tl_dir_free(entries, n);
    return status;
}

tl_status tl_search__each_branch(tl_search *s, const tl_names *branches, tl_status (*visit)(tl_search *, const tl_paths *, tl_error *), tl_error *err)
{
    tl_paths paths = {.table = s->path, .branch = NULL};
    TL_TRY(visit(s, &paths, err));
    for (size_t i = 0; i < branches->n; i++) {
        paths.branch = branches->items[i];
        TL_TRY(tl_error_wrap(err, visit(s, &paths, err), "branch '%s'", paths.branch));
    }
    return TL_OK;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const tl_orphan *)a)->path, ((const tl_orphan *)b)->path);
}

/* Of the candidates those that are not in use, by path; branches share folders, so that some come more than once. */
static void keep_orphans(tl_search *s)
{
    size_t n = 0;
    if (s->n > 0)
        qsort(s->items, s->n, sizeof *s->items, by_path);
    for (size_t i = 0; i < s->n; i++) {
        const char *name = tl_path_base(s->items[i].path);
        if (tl_name_set_has(&s->used, name, strlen(name)) || (n > 0 && strcmp(s->items[n - 1].path, s->items[i].path) == 0))
            tl_free(s->items[i].path);
        else
            s->items[n++] = s->items[i];
    }
    s->n = n;
}

void tl_orphans_free(tl_orphan *orphans, size_t n)
{
    for (size_t i = 0; orphans != NULL && i < n; i++)
        tl_free(orphans[i].path);
    tl_free(orphans);
}

void tl_search__deinit(tl_search *s)
{
    tl_name_set_deinit(&s->used);
    tl_orphans_free(s->items, s->n);
}

/* Everything that a snapshot, tag or changelog does not name. */
static tl_status find_unused(tl_search *s, tl_error *err)
{
    tl_names branches = {0};
    tl_status status = tl_search__branches(s, &branches, err);
    if (status == TL_OK)
        status = tl_search__each_branch(s, &branches, tl_search__metadata, err);
    if (status == TL_OK)
        status = tl_search__folder(s, s->path, TL_SEARCH_TABLE, err);
    if (status == TL_OK)
        status = tl_search__outside(s, &branches, err);
    if (status == TL_OK)
        status = tl_error_wrap(err, tl_search__each_branch(s, &branches, tl_search__uses, err), "what is in use cannot be told, so nothing is an orphan");
    tl_names_deinit(&branches);
    return status;
}

tl_status tl_table_find_orphans(tl_table *table, int64_t older_than_ms, tl_orphan **out, size_t *n, tl_error *err)
{
    if (table->folder == NULL || table->system != NULL)
        TL_TRY(tl_table__require_data(table, "look for its orphans", err));
    tl_search s = {.fs = table->fs, .path = table->path, .table = table, .older_than_ms = tl_clock_now_ms(tl_clock_system()) - older_than_ms};
    tl_status status = table->folder != NULL ? tl_search__unfinished(&s, err) : find_unused(&s, err);
    if (status == TL_OK) {
        keep_orphans(&s);
        *out = TL_STEAL(s.items);
        *n = s.n;
        s.n = 0;
    }
    tl_search__deinit(&s);
    return status;
}

/* Folders that are empty now: of dropped branches. Others may be about to get a file. */
static void remove_empty_folders(tl_table *table, const char *path)
{
    size_t root = strlen(table->path);
    const char *dropped = strstr(path + root, "/branch/.dropped-");
    if (dropped == NULL)
        return;
    TL_CLEANUP(tl_freep) char *dir = tl_strdup(path);
    for (char *slash = dir == NULL ? NULL : strrchr(dir, '/'); slash != NULL && slash - dir > dropped - path + (ptrdiff_t)strlen("/branch"); slash = strrchr(dir, '/')) {
        *slash = '\0';
        if (tl_fs_remove(table->fs, dir, NULL) != TL_OK)
            return; /* not empty */
    }
}

tl_status tl_table_remove_orphans(tl_table *table, int64_t older_than_ms, tl_orphan **out, size_t *n, tl_error *err)
{
    tl_orphan *found = NULL;
    size_t count = 0;
    TL_TRY(tl_table_find_orphans(table, older_than_ms, &found, &count, err));
    tl_status status = TL_OK;
    size_t removed = 0;
    for (; removed < count && status == TL_OK; removed++) {
        status = tl_fs_remove(table->fs, found[removed].path, err);
        if (status == TL_E_NOT_FOUND)
            status = TL_OK; /* somebody else cleans, too */
        if (status == TL_OK)
            remove_empty_folders(table, found[removed].path);
    }
    if (status != TL_OK) {
        tl_orphans_free(found, count);
        return status;
    }
    *out = found;
    *n = count;
    return TL_OK;
}
